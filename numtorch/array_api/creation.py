"""The standard's functions that make arrays, and those about dtypes."""
from __future__ import annotations

from typing import NamedTuple

from .. import dtypes
from ..devices import device as device_type
from ..dtypes import dtype as dtype_type
from ..dtypes import get_default_dtype, int64
from ..exchange.construction import from_dlpack as import_dlpack
from ..ops.creation import data, fill, ranges
from ..ops.index.triangles import tril as lower
from ..ops.index.triangles import triu as upper
from ..ops.memory.conversion import to
from ..ops.memory.copies import clone
from ..ops.shape.join import meshgrid as mesh
from ..tensor import Tensor
from .promotion import promoted_dtype

__all__ = ["arange", "asarray", "astype", "can_cast", "empty", "empty_like", "eye", "finfo", "from_dlpack", "full", "full_like",
           "iinfo", "linspace", "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like"]


def asarray(obj, /, *, dtype=None, device=None, copy=None) -> Tensor:
    """An array of numbers, sequences, buffers or of another array, which is copied if `copy` is True, and never where False."""
    if isinstance(obj, Tensor):
        result = to(obj, *[a for a in (dtype, device) if a is not None]) if dtype is not None or device is not None else obj
        if copy is False and result.memory is not obj.memory:
            raise ValueError("asarray: this dtype or device takes a copy, and copy=False allows none")
        return clone(result) if copy and result.memory is obj.memory else result
    if copy is False and not hasattr(obj, "__dlpack__") and not hasattr(obj, "__array_interface__"):
        raise ValueError(f"asarray: a {type(obj).__name__} has to be copied, and copy=False allows no copy")
    return data.asarray(obj, dtype=dtype, device=device, copy=copy)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None) -> Tensor:
    """Numbers from `start` (0 where only `stop` is given) to before `stop`, `step` apart."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) / step <= 0:                       # PyTorch refuses a step away from the stop
        whole = all(isinstance(n, int) for n in (start, stop, step))
        return fill.empty((0,), dtype=dtype or (int64 if whole else get_default_dtype()), device=device)
    return ranges.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num: int, *, dtype=None, device=None, endpoint: bool = True) -> Tensor:
    """`num` numbers from `start` to `stop`, at equal distances; `stop` is the last of them, or one step beyond it."""
    if endpoint:
        return ranges.linspace(start, stop, num, dtype=dtype, device=device)
    return ranges.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def eye(n_rows: int, n_cols=None, /, *, k: int = 0, dtype=None, device=None) -> Tensor:
    """Ones on the k-th diagonal, zeros elsewhere."""
    columns, kind = n_rows if n_cols is None else n_cols, dtype or get_default_dtype()
    out = fill.zeros((n_rows, columns), dtype=kind, device=device)
    if -n_rows < k < columns:
        out.diagonal(k).fill_(1)
    return out


def from_dlpack(x, /, *, device=None, copy=None) -> Tensor:
    """An array over the memory of another library's, through DLPack; copied if `copy` is True."""
    return import_dlpack(x, device=device, copy=copy)


def meshgrid(*arrays, indexing: str = "xy") -> list[Tensor]:
    """The coordinates of a grid, from those along its edges: an array for each dimension."""
    return list(mesh(*arrays, indexing=indexing)) if arrays else []


def empty(shape, *, dtype=None, device=None) -> Tensor:
    """An array of uninitialised elements."""
    return fill.empty(shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None) -> Tensor:
    """An array of zeros."""
    return fill.zeros(shape, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None) -> Tensor:
    """An array of ones."""
    return fill.ones(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None) -> Tensor:
    """An array whose every element is `fill_value`."""
    return fill.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None) -> Tensor:
    """An array of uninitialised elements, of the shape of `x` and, unless given, its dtype and device."""
    return fill.empty_like(x, dtype=dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None) -> Tensor:
    """An array of zeros, of the shape of `x` and, unless given, its dtype and device."""
    return fill.zeros_like(x, dtype=dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None) -> Tensor:
    """An array of ones, of the shape of `x` and, unless given, its dtype and device."""
    return fill.ones_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None) -> Tensor:
    """An array whose every element is `fill_value`, of the shape of `x` and, unless given, its dtype and device."""
    return fill.full_like(x, fill_value, dtype=dtype, device=device)


def tril(x, /, *, k: int = 0) -> Tensor:
    """A copy with zeros above the k-th diagonal of the last two dimensions."""
    return lower(x, k)


def triu(x, /, *, k: int = 0) -> Tensor:
    """A copy with zeros below the k-th diagonal of the last two dimensions."""
    return upper(x, k)


# ---------------------------------------------------------------- dtypes
def astype(x, dtype, /, *, copy: bool = True, device=None) -> Tensor:
    """An array in another dtype; with `copy=False` itself where it has it.

    Raises:
        TypeError: complex numbers into real ones.
    """
    if x.dtype.category == 3 and dtype.category not in (0, 3):
        raise TypeError(f"astype: {x.dtype} into {dtype} would drop the imaginary parts; take real(x)")
    result = to(x, dtype) if device is None else to(x, device, dtype)
    return clone(result) if copy and result.memory is x.memory else result


def can_cast(from_, to, /) -> bool:
    """Whether promotion leads from one dtype, or an array's, to another."""
    kind = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promoted_dtype(kind, to) is to
    except TypeError:
        return False


class FloatLimits(NamedTuple):
    """What `finfo` gives; of complex dtypes, the limits of their parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype_type


class IntegerLimits(NamedTuple):
    """What `iinfo` gives."""

    bits: int
    max: int
    min: int
    dtype: dtype_type


def finfo(type, /) -> FloatLimits:
    """The limits of a dtype of floats, or of an array's."""
    kind = type.dtype if isinstance(type, Tensor) else type
    result = dtypes.finfo(kind)
    return FloatLimits(result.bits, result.eps, result.max, result.min, result.smallest_normal, dtype_type.by_name[result.dtype])


def iinfo(type, /) -> IntegerLimits:
    """The limits of a dtype of integers, or of an array's."""
    kind = type.dtype if isinstance(type, Tensor) else type
    result = dtypes.iinfo(kind)
    return IntegerLimits(result.bits, result.max, result.min, kind)


def device(name) -> device_type:
    """A device by its name."""
    return device_type(name)
