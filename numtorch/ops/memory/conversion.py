"""`Tensor.to` and the methods that are short for it: another dtype, another device, another order in memory."""
from __future__ import annotations

import importlib

from ...devices import cpu
from ...dtypes import as_dtype, get_default_dtype
from ...dtypes import dtype as dtype_class
from ...layout import format_of
from ...layout import memory_format as memory_format_class
from ...tensor import Tensor
from ..core.backends import placed
from ..core.operands import layout_of, method
from .copies import cast as cast_to
from .copies import clone, contiguous, copied, to_dtype
from .copies import to_device as copy_to_device


@method
def to(self, *args, dtype=None, device=None, non_blocking: bool = False, copy: bool = False, memory_format=None) -> Tensor:
    """This tensor with another dtype, on another device, or as another tensor has them.

    Args:
        args: a dtype, a device, a device and a dtype, or a tensor to follow; then `non_blocking` and `copy`.
        dtype, device: the same by name.
        non_blocking: do not wait for copies between a GPU and pinned memory.
        copy: make a new tensor even when nothing changes.
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Returns:
        The tensor itself where nothing changes, else a copy through which gradients pass.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).to(torch.int64)
        tensor([1])
    """
    if len(args) == 1 and type(args[0]) is dtype_class and dtype is device is memory_format is None and not copy:
        return to_dtype(self, args[0])
    flags = [value for value in args if isinstance(value, bool)]
    if flags:
        if args[0] is flags[0]:
            raise TypeError("to(): argument 'device' (position 1) must be torch.device, not bool")
        non_blocking, copy = flags[0], flags[1] if len(flags) > 1 else copy
    for value in args:
        if isinstance(value, memory_format_class):
            memory_format = value
        elif isinstance(value, str):
            device = value
        elif isinstance(value, Tensor):
            dtype, device = value.layout.dtype, value.layout.device
        elif isinstance(value, dtype_class) or value in (float, int, bool, complex):
            dtype = value
        elif value is not None and not isinstance(value, bool):
            device = value
    out = self
    if device is not None:
        out = copy_to_device(out, placed(device), not non_blocking)
    if dtype is not None:
        out = to_dtype(out, as_dtype(dtype))
    if memory_format is not None and memory_format != "preserve_format":
        if out is not self:
            out = contiguous(out, memory_format)
        elif (format_of(self.layout) or "contiguous_format") != memory_format:
            out = copied(self, memory_format)
    return clone(out) if copy and out is self else out


def _type(self, dtype=None, non_blocking: bool = False, *, memory_format=None):
    """This tensor's type as its name, or this tensor with another dtype.

    Args:
        dtype: a dtype, a tensor type or its name, or `torch.Tensor` for the default dtype; None asks for the name.
        non_blocking: as in PyTorch; without a meaning.
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Raises:
        ValueError: a name that is none of a type.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).type(), torch.tensor([1.7]).type(torch.int64)
        ('torch.FloatTensor', tensor([1]))
    """
    if dtype is None:
        sparse = "sparse." if self.layout.kind == "sparse_coo" else ""
        return f"torch.{'cuda.' if self.is_cuda else ''}{sparse}{self.layout.dtype.title}Tensor"
    on_cuda = getattr(dtype, "is_cuda", None)            # which only tensor types have
    if isinstance(dtype, str):
        place, _, name = dtype.rpartition(".")
        kind = next((kind for kind in dtype_class.by_name.values() if name == f"{kind.title}Tensor"), None)
        if kind is None or place not in ("torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"):
            raise ValueError(f"invalid type: '{dtype}'")
        dtype, on_cuda = kind, ".cuda" in place
    elif dtype is Tensor:
        dtype, on_cuda = get_default_dtype(), False
    where = self.layout.device if on_cuda in (None, self.is_cuda) else placed("cuda") if on_cuda else cpu
    return to(self, where, getattr(dtype, "dtype", dtype), memory_format=memory_format)


method(_type, "type")


def _cast_method(name, target):
    def cast(self, memory_format=None) -> Tensor:
        out = self if self.layout.dtype is target else cast_to(self, target)
        return out if memory_format is None or memory_format == "preserve_format" else contiguous(out, memory_format)
    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"""This tensor as {target.name}: itself where it is so, else a copy through which gradients pass.

    Args:
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([0, 1]).{name}().dtype
        torch.{target.name}
    """
    method(cast)


CASTS = {name: dtype_class.by_name[kind] for name, kind in {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32", "long": "int64",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "chalf": "complex32", "cfloat": "complex64",
    "cdouble": "complex128"}.items()}
for _name, _dtype in CASTS.items():
    _cast_method(_name, _dtype)


@method
def type_as(self, other) -> Tensor:
    """This tensor with the dtype and device of another.

    Args:
        other: whose they are.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).type_as(torch.tensor([1]))
        tensor([1])
    """
    have, wanted = self.layout, layout_of("type_as", other, "other")
    return to_dtype(self, wanted.dtype) if have.device is wanted.device else self.to(other)


def _to_cpu(self, memory_format=None) -> Tensor:
    """This tensor in host memory: itself where it is there.

    Args:
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.]).cpu().device
        device(type='cpu')
    """
    return copy_to_device(self, cpu) if memory_format is None else to(self, cpu, memory_format=memory_format)


method(_to_cpu, "cpu")


def _to_cuda(self, device=None, non_blocking: bool = False, memory_format=None) -> Tensor:
    """This tensor on a CUDA device: itself where it is there.

    Args:
        device: which, as a number, a name or a `torch.device`; the current one when None.
        non_blocking: do not wait for copies from pinned memory.
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> torch.zeros(2).cuda().device                 # doctest: +SKIP
        device(type='cuda', index=0)
    """
    return to(self, "cuda" if device is None else device, non_blocking=non_blocking, memory_format=memory_format)


method(_to_cuda, "cuda")


@method
def to_device(self, device, /, *, stream=None) -> Tensor:
    """This tensor on another device: the array API standard's name for `to(device)`.

    Args:
        device: a device or its name.
        stream: None; a device has one stream.

    Raises:
        ValueError: another stream.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2).to_device("cpu")
        tensor([1., 1.])
    """
    if stream is not None:
        raise ValueError(f"to_device: expected stream to be None, got {stream!r}")
    return to(self, device)


def _array_namespace(self, *, api_version=None):
    """The array API standard's functions, for programs that take arrays of any library: `numtorch.array_api`.

    Raises:
        ValueError: a version of the standard that there is not.
    """
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__: expected a version of the array API standard up to 2024.12, got {api_version!r}")
    return importlib.import_module("numtorch.array_api")


Tensor.__array_namespace__ = _array_namespace
