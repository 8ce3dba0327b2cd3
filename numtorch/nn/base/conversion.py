"""Moving a module's parameters and buffers to other devices, and casting them to other dtypes."""
from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd.graph import Leaf
from ...autograd.modes import no_grad
from ...devices import device as as_device
from ...dtypes import bfloat16, float16, float32, float64
from ...dtypes import dtype as dtype_class
from ...ops.creation.fill import empty_like
from ...tensor import Tensor, lie_as

if TYPE_CHECKING:
    from typing_extensions import Self


class Conversion:
    """What a Module can do about the memory of its tensors. Each method changes them in place and returns the module."""

    def _apply(self, fn, recurse=True):
        """Replace every parameter's and buffer's memory (and that of gradients) by `fn` of it. Parameters stay the same objects."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for parameter in self._parameters.values():
                if parameter is not None:
                    _convert(parameter, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, dtype=None, device=None, non_blocking: bool = False, memory_format=None) -> Self:
        """Move or cast parameters and buffers; a dtype applies to those of floating point and complex dtypes only.

        Args:
            args: a dtype, a device, both, or a tensor to follow.
            dtype, device: the same by name.
            non_blocking: do not wait for copies between a GPU and pinned memory.
            memory_format: accepted; layouts stay.

        Returns:
            This module.

        Raises:
            TypeError: the dtype is neither floating-point nor complex.

        Example:
            >>> import numtorch as torch
            >>> torch.nn.Linear(2, 2).to(torch.float64).weight.dtype
            torch.float64
        """
        for value in args:
            if isinstance(value, Tensor):
                dtype, device = value.layout.dtype, value.layout.device
            elif isinstance(value, dtype_class):
                dtype = value
            elif value is not None and not isinstance(value, bool):
                device = as_device(value)
            elif isinstance(value, bool):
                non_blocking = value
        if dtype is not None and dtype.category < 2:
            raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
        return self._apply(lambda t: t.to(device=device, dtype=dtype if t.layout.dtype.category >= 2 else None,
                                          non_blocking=non_blocking))

    def share_memory(self) -> Self:
        """Move parameters, their gradients and buffers to memory that other processes can see (`numtorch.multiprocessing`). They
        stay the same objects, and all views of them go along.

        Returns:
            This module.

        Example:
            >>> import numtorch as torch
            >>> layer = torch.nn.Linear(2, 2)
            >>> layer.share_memory().weight.is_shared()
            True
        """
        from ...shared.storages import base_of, share
        tensors = [*self.parameters(), *self.buffers()]
        tensors += [t.grad for t in tensors if t.grad is not None]
        share([base_of(t.memory) for t in tensors])
        return self

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.layout.dtype.is_floating_point else t)

    def float(self) -> Self:
        """Floating-point parameters and buffers as float32. Returns this module."""
        return self._cast(float32)

    def double(self) -> Self:
        """Floating-point parameters and buffers as float64. Returns this module."""
        return self._cast(float64)

    def half(self) -> Self:
        """Floating-point parameters and buffers as float16. Returns this module."""
        return self._cast(float16)

    def bfloat16(self) -> Self:
        """Floating-point parameters and buffers as bfloat16. Returns this module."""
        return self._cast(bfloat16)

    def type(self, dst_type) -> Self:
        """All parameters and buffers as another dtype.

        Args:
            dst_type: the dtype.

        Returns:
            This module.

        Raises:
            RuntimeError: integers for a parameter that is learned.
        """
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self) -> Self:
        """Everything in host memory. Returns this module."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device=None) -> Self:
        """Everything on a CUDA device.

        Args:
            device: which; the current one when None.

        Returns:
            This module.
        """
        return self._apply(lambda t: t.cuda(device))

    def to_empty(self, *, device, recurse: bool = True) -> Self:
        """Everything on a device, with uninitialised memory laid out as it was.

        Args:
            device: which.
            recurse: the modules below too.

        Returns:
            This module.
        """
        return self._apply(lambda t: empty_like(t, device=device), recurse)


def _convert(parameter, fn):
    """Give a parameter, and its gradient, the memory of what `fn` makes of them."""
    for tensor in (parameter, parameter.grad):
        if tensor is None:
            continue
        bare = tensor.detach()
        made = fn(bare)
        if made is not bare:
            if tensor.requires_grad and made.layout.dtype.category < 2:
                raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
            lie_as(tensor, made)
            if type(tensor.node) is Leaf:
                tensor.node.lie_as(made.layout)
