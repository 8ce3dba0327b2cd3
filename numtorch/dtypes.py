"""Element types and PyTorch's promotion rules.

A `dtype` says what an element means, how it is stored (`storage`, a NumPy dtype; float16 and bfloat16 are 16-bit words,
and complex32 is one of 32 bits), and how
kernels read, compute, add up and write it: this is the one table of that, from which `kernels/elementtypes.py` makes what kernels
are bound to. Nothing here knows of memory, layouts or tensors.
"""
from __future__ import annotations

import functools
import math

import numpy as np

_CATEGORY = {"bool": 0, "int": 1, "float": 2, "complex": 3}
_TITLES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
           "int16": "Short", "int8": "Char", "uint8": "Byte", "complex32": "ComplexHalf",
           "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


class dtype:
    """An element type, such as `float32`. Instances are singletons; compare them with `is` or `==`.

    Attributes:
        name: `"float32"`.
        itemsize: bytes an element takes.
        is_floating_point, is_complex, is_signed: what kind of number it is, from the `kind` and `signed` that it is made with.
        numpy: the NumPy dtype of the same meaning (`None` for bfloat16 and complex32, which NumPy lacks).
        storage: the NumPy dtype of the stored word.
        title: PyTorch's name for it in messages, such as `"Float"`.
        category: 0 bool, 1 integer, 2 floating point, 3 complex; promotion looks at it first.
        significand: of a floating-point dtype that NumPy lacks, its bits without the exponent's, which is that of `compute`.
        kernel, compute: what it is called in kernels, and what they compute in.
        accumulate: in what long sums of the compute type are carried.
        load, store: the intrinsics that make the compute type of a stored word and the other way round; None where the word is it.

    Example:
        >>> import numtorch as torch
        >>> torch.float16.itemsize, torch.uint8.is_signed
        (2, False)
    """

    __slots__ = ("name", "itemsize", "is_floating_point", "is_complex", "is_signed", "numpy", "storage", "category",
                 "kernel", "compute", "accumulate", "load", "store", "title", "significand")
    by_name: dict[str, dtype] = {}

    def __init__(self, name: str, kind: str, itemsize: int, signed: bool = True, storage: str | None = None, *,
                 compute: str | None = None, accumulate: str | None = None, load: str | None = None,
                 store: str | None = None, significand: int | None = None) -> None:
        self.name, self.itemsize, self.category = name, itemsize, _CATEGORY[kind]
        self.is_floating_point, self.is_complex = kind == "float", kind == "complex"
        self.is_signed, self.significand = signed, significand
        own = np.sctypeDict.get(name)                    # other packages add theirs: ml_dtypes, which JAX imports, a bfloat16
        self.numpy = np.dtype(own) if own is not None and own.__module__ == "numpy" else None
        self.storage = np.dtype(storage or name)
        self.kernel = name                               # the pointee's name in a kernel signature
        self.compute, self.load, self.store = compute or name, load, store
        self.accumulate = accumulate or self.compute
        self.title = _TITLES.get(name, name.capitalize().replace("Ui", "UI"))
        dtype.by_name[name] = self

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_real(self) -> dtype:
        """The real dtype of a complex one's parts; itself otherwise.

        Example:
            >>> import numtorch as torch
            >>> torch.complex64.to_real(), torch.int8.to_real()
            (torch.float32, torch.int8)
        """
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this dtype; complex64 for bfloat16 and integers.

        Example:
            >>> import numtorch as torch
            >>> torch.float64.to_complex()
            torch.complex128
        """
        return {float16: complex32, float64: complex128}.get(self.to_real(), complex64)


def _by_name(name):
    return dtype.by_name[name]


bool_ = dtype("bool", "bool", 1, signed=False)
uint8 = dtype("uint8", "int", 1, signed=False)
int8 = dtype("int8", "int", 1)
int16 = dtype("int16", "int", 2)
int32 = dtype("int32", "int", 4, accumulate="int64")
int64 = dtype("int64", "int", 8)
uint16 = dtype("uint16", "int", 2, signed=False)
uint32 = dtype("uint32", "int", 4, signed=False)
uint64 = dtype("uint64", "int", 8, signed=False)
float16 = dtype("float16", "float", 2, storage="uint16", compute="float32", accumulate="float64",
                load="half_to_float", store="float_to_half")
bfloat16 = dtype("bfloat16", "float", 2, storage="uint16", compute="float32", accumulate="float64",
                 load="bfloat16_to_float", store="float_to_bfloat16", significand=8)
float32 = dtype("float32", "float", 4, accumulate="float64")
float64 = dtype("float64", "float", 8)
complex32 = dtype("complex32", "complex", 4, storage="uint32", compute="complex64", accumulate="complex128",
                  load="halves_to_complex", store="complex_to_halves")
complex64 = dtype("complex64", "complex", 8, accumulate="complex128")
complex128 = dtype("complex128", "complex", 16)

ALL = tuple(dtype.by_name.values())

_from_numpy = {d.numpy: d for d in ALL if d.numpy is not None}


def from_numpy(numpy_dtype) -> dtype:
    """The dtype of a NumPy array's elements. Raises TypeError for what no tensor can hold."""
    numpy_dtype = np.dtype(numpy_dtype)
    kind = _from_numpy.get(numpy_dtype)
    if kind is None:
        if numpy_dtype.name == "bfloat16":               # ml_dtypes' extension type
            return bfloat16
        supported = ", ".join(d.name for d in ALL if d.numpy is not None)
        raise TypeError(f"can't convert np.ndarray of type {numpy_dtype}. The only supported types are: {supported}.")
    return kind


def as_dtype(value) -> dtype:
    """`value` as a dtype: one of ours, or Python's `float` and `complex` (of 64-bit numbers, whatever the default dtype), `int`,
    `bool`."""
    if isinstance(value, dtype):
        return value
    kind = {bool: bool_, int: int64, float: float64, complex: complex128}.get(value)
    if kind is None:
        raise TypeError(f"dtype must be a torch.dtype, not {type(value).__name__} ({value!r})")
    return kind


# ---------------------------------------------------------------- the default
_default = [float32]
_default_listeners: list = []


def get_default_dtype() -> dtype:
    """The dtype that floating-point literals become; float32 unless `set_default_dtype` changed it.

    Example:
        >>> import numtorch as torch
        >>> torch.get_default_dtype()
        torch.float32
    """
    return _default[0]


def set_default_dtype(d) -> None:
    """Make a dtype that which floating-point literals become, and integers in operations that need floating point.

    Args:
        d: a floating-point dtype.

    Raises:
        TypeError: any other.

    Example:
        >>> import numtorch as torch
        >>> torch.set_default_dtype(torch.float64)
        >>> torch.tensor(1.0).dtype
        torch.float64
        >>> torch.set_default_dtype(torch.float32)
    """
    if not (isinstance(d, dtype) and d.is_floating_point):
        raise TypeError(f"only floating-point types are supported as the default type, got {d!r}")
    if d is not _default[0]:
        _default[0] = d
        for listener in _default_listeners:
            listener()


def on_default_dtype_change(listener) -> None:
    """Have `listener()` called after the default dtype changes: what was decided by the old one must be forgotten."""
    _default_listeners.append(listener)


# ---------------------------------------------------------------- promotion
# PyTorch's lattice: within signed integers and floats the wider one wins; uint8 with a signed integer goes to the next
# wider signed one; any integer yields to any float, any float to any complex that can hold its precision.
_LATE_UNSIGNED = (uint16, uint32, uint64)


def _promote(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if a.category > b.category or (a.category == b.category and a.itemsize > b.itemsize):
        a, b = b, a                                      # b is the stronger kind, or the wider of one kind
    if b.category == 1:
        if a.category == 0:
            return b
        if a in _LATE_UNSIGNED or b in _LATE_UNSIGNED:
            if not (a.is_signed or b.is_signed):
                return b
            raise RuntimeError(f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
                               f"{a.name} and {b.name}")
        if a is uint8 or b is uint8:
            other = b if a is uint8 else a
            return int16 if other is int8 else other
        return b
    if b.category == 2:
        if a.category < 2:
            return b
        return float32 if {a, b} == {float16, bfloat16} else b
    if b.category == 3 and a.category == 2:
        return complex128 if a is float64 else complex64 if b is complex32 and a is not float16 else b
    return b


_promotions: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to, by PyTorch's table.

    Args:
        type1, type2: dtypes.

    Raises:
        RuntimeError: for uint16, uint32 or uint64 with a signed integer, which have no common type.

    Example:
        >>> import numtorch as torch
        >>> torch.promote_types(torch.uint8, torch.int8), torch.promote_types(torch.int64, torch.float16)
        (torch.int16, torch.float16)
    """
    promoted = _promotions.get((type1, type2))
    if promoted is None:
        promoted = _promotions[type1, type2] = _promote(type1, type2)
    return promoted


def can_cast(source: dtype, target: dtype) -> bool:
    """Whether a result of one dtype may be written into another: its kind (bool, integer, float, complex) may rise, not fall.

    Args:
        source, target: dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
        (True, False)
    """
    if source.category > target.category:
        return False
    return not (source.category > 0 and target.category == 0)


# ---------------------------------------------------------------- limits
class finfo:
    """Limits of a floating-point dtype, or of a complex one's parts.

    Args:
        type: the dtype; the default one when None.

    Attributes:
        bits: how many it takes.
        eps: the distance from 1 to the next greater number.
        max, min: the greatest finite number and its negative.
        tiny, smallest_normal: the least positive number of full precision.
        resolution: 10 to the minus of the decimal digits that are exact.
        dtype: the dtype's name.

    Raises:
        TypeError: an integer dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.finfo(torch.float16).max, torch.finfo(torch.float16).eps
        (65504.0, 0.0009765625)
    """

    __slots__ = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")

    def __new__(cls, type: dtype | None = None):
        d = (type or get_default_dtype()).to_real()
        limits = _limits.get(d)
        if limits is None:
            limits = object.__new__(cls)
            limits._measure(d)
            _limits[d] = limits
        return limits

    def _measure(self, d):
        if not d.is_floating_point:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                            f"'{d.name}'")
        self.dtype, self.bits = d.name, d.itemsize * 8
        info = np.finfo(d.numpy or d.compute)
        self.eps, self.max, self.tiny, digits = float(info.eps), float(info.max), float(info.tiny), info.precision
        if d.significand is not None:
            self.eps = 2.0 ** (1 - d.significand)
            self.max, digits = (2.0 - self.eps) * 2.0 ** (info.maxexp - 1), int((d.significand - 1) * math.log10(2))
        self.resolution = 10.0 ** -digits
        self.min, self.smallest_normal = -self.max, self.tiny

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})")


_limits: dict[object, finfo] = {}                        # of dtypes, and of names that shortfloats.py has


@functools.cache
def integer_limits(dtype) -> tuple[int, int]:
    """The least and the greatest number that an integer dtype holds."""
    bits = dtype.itemsize * 8
    return (-1 << bits - 1, (1 << bits - 1) - 1) if dtype.is_signed else (0, (1 << bits) - 1)


class iinfo:
    """Limits of an integer dtype.

    Args:
        type: the dtype.

    Attributes:
        bits: how many it takes.
        max, min: the greatest and the least number.
        dtype: the dtype's name.

    Raises:
        TypeError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.iinfo(torch.int8).min, torch.iinfo(torch.int8).max
        (-128, 127)
    """

    __slots__ = ("bits", "max", "min", "dtype")

    def __init__(self, type: dtype) -> None:
        if type.category != 1:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{type.name}'")
        self.dtype, self.bits, (self.min, self.max) = type.name, type.itemsize * 8, integer_limits(type)

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
