"""Memory that is more than a place: pinned, which GPUs read and write by themselves, and in use by several streams.

Where there is no GPU there is no pinned memory either, and what asks for it gets ordinary memory.
"""
from __future__ import annotations

import importlib

from ...devices import cpu
from ...layout import Layout, kept_strides
from ...tensor import Tensor, wrap
from ..core.late import later, provide
from ..core.operands import method


def owner_of(storage):
    """What gave a storage its memory, which an alias has from another storage."""
    owner = storage.owner
    while hasattr(owner, "owner"):
        owner = owner.owner
    return owner


def is_pinned_storage(storage) -> bool:
    """Whether a GPU reads the memory by itself."""
    return storage.device is cpu and hasattr(owner_of(storage), "use_on")


@provide
def pinned(layout) -> Tensor:
    """A tensor of a layout on the host in pinned memory, with what happens to be there."""
    storage = later["pinned_storage_cuda"](layout.nbytes)
    return wrap(storage, storage.address, layout)


def can_pin() -> bool:
    """Whether there is a GPU."""
    return importlib.import_module("numtorch.cuda").is_available()


@method
def pin_memory(self, device=None) -> Tensor:
    """This tensor in pinned memory, from which copies to a GPU need not wait (`non_blocking=True`); itself where it is so, or
    where there is no GPU.

    Args:
        device: as in PyTorch; without a meaning.

    Raises:
        RuntimeError: the tensor is not in host memory.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).pin_memory()
        tensor([0., 0.])
    """
    if self.layout.device is not cpu:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned_storage(self.memory) or not can_pin():
        return self
    layout = self.layout
    return pinned(Layout.of(layout.dtype, layout.shape, kept_strides(layout))).copy_(self)


@method
def is_pinned(self, device=None) -> bool:
    """Whether the memory is pinned.

    Args:
        device: as in PyTorch; without a meaning.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(1).is_pinned()
        False
    """
    return is_pinned_storage(self.memory)


@method
def record_stream(self, stream) -> None:
    """Say that a stream uses this tensor's memory beside the one it was made in: it is given to others only when the stream has
    done what it was told by then.

    Args:
        stream: a `torch.cuda.Stream`.

    Raises:
        RuntimeError: the tensor is not on a GPU.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2, device="cuda")            # doctest: +SKIP
        >>> x.record_stream(torch.cuda.current_stream()) # doctest: +SKIP
    """
    if self.layout.device.type != "cuda":
        raise RuntimeError(f"record_stream: expected a tensor on a CUDA device, got one on {self.layout.device}")
    owner_of(self.memory).use_on(stream.handle)
