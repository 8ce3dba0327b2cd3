"""Layouts: what shape a tensor has and how its elements lie in memory, without the memory.

`Layout(dtype, shape, strides, device)` is immutable and interned: equal layouts are the same object, so plans are found
by identity. Strides and offsets count elements; they may be zero, negative or overlapping. What a view makes of a layout is in
`viewalgebra.py`.
"""
from __future__ import annotations

import functools
import math
import threading
import weakref
from collections import deque
from operator import index as as_index

from .devices import cpu, device
from .dtypes import dtype
from .kernels.forks import survive_fork


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple that prints as `torch.Size([2, 3])`; slices and sums of it are Sizes.

    Args:
        iterable: the extents.

    Raises:
        TypeError: an extent that is not an integer.

    Example:
        >>> import numtorch as torch
        >>> shape = torch.zeros(2, 3).shape
        >>> shape, shape == (2, 3), shape[1:], shape.numel()
        (torch.Size([2, 3]), True, torch.Size([3]), 6)
    """

    __slots__ = ()

    def __new__(cls, iterable=()):
        try:
            return tuple.__new__(cls, [n if type(n) is int else int(as_index(n)) for n in iterable])
        except TypeError as problem:
            raise TypeError(f"torch.Size() takes an iterable of 'int': {problem}") from None

    def numel(self) -> int:
        """How many elements a tensor of this shape has.

        Example:
            >>> import numtorch as torch
            >>> torch.Size((2, 3)).numel()
            6
        """
        count = 1
        for extent in self:
            count *= extent
        return count

    def __repr__(self):
        return f"torch.Size({list(self)})"

    def __getitem__(self, index):
        result = tuple.__getitem__(self, index)
        return tuple.__new__(Size, result) if isinstance(index, slice) else result

    def __add__(self, other):
        return Size(tuple(self) + tuple(other))


_COUNTABLE = 1 << 63
MOST_LAYOUTS = 16384


class Layout:
    """How a tensor's elements lie in memory. Make one with `Layout.of`, which interns it.

    Attributes:
        dtype, device, shape, strides: what it was made of; strides in elements.
        size: the shape as users see it.
        weak: this is a Python number, which yields to any tensor of its own kind in promotion.
        ndim, numel, nbytes: dimensions, elements, and bytes that the elements alone take.
        contiguous: row-major without gaps.
    """

    __slots__ = ("dtype", "device", "shape", "size", "strides", "weak", "ndim", "numel", "nbytes", "contiguous", "views", "ring",
                 "__weakref__")
    handler = None                                       # what takes over calls on special layouts (ops/core/primitive.py)
    transformed = False                                  # takes part in a transform of torch.func
    has_values = True                                    # of which a check could ask
    instead_of_memory = "please use `to_dense()`"        # where a special layout's address was asked for
    kind = "strided"                                     # the name of the `memory_layout` that users see
    _interned: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
    _lock = survive_fork(threading.Lock())
    _most = MOST_LAYOUTS                                 # layouts at which views are forgotten
    _recent: deque = deque(maxlen=512)                   # kept alive: results come and go, and layouts are slow to make

    @staticmethod
    def of(dtype: dtype, shape: tuple, strides: tuple | None = None, device: device = cpu, weak: bool = False) -> Layout:
        """The one layout with these properties; row-major when no strides are given.

        Raises:
            RuntimeError: kernels could not count the elements, or without strides the bytes, in 64 bits.
        """
        dense = strides is None
        if dense:
            strides = contiguous_strides(shape)
        key = (dtype, shape, strides, device, weak)
        layout = Layout._interned.get(key)
        if layout is None:
            shape, strides = ints(shape), ints(strides)  # kernels believe them: a float would be an address
            numel = math.prod(shape)
            if dense and numel * dtype.itemsize >= _COUNTABLE:
                raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
            if numel >= _COUNTABLE:
                raise RuntimeError(f"numel: integer multiplication overflow, of sizes={list(shape)}")
            if max(strides, default=0) >= _COUNTABLE:
                raise RuntimeError(f"Stride calculation overflowed, of sizes={list(shape)}")
            key = (dtype, shape, strides, device, weak)
            with Layout._lock:
                layout = Layout._interned.get(key)
                if layout is None:
                    layout = object.__new__(Layout)
                    layout.dtype, layout.shape, layout.strides, layout.device, layout.weak = key
                    layout.size = Size(shape)
                    layout.ndim, layout.numel = len(shape), numel
                    layout.nbytes = numel * dtype.itemsize
                    layout.contiguous = _is_contiguous(shape, strides)
                    layout.views, layout.ring = {}, None
                    Layout._interned[key] = layout
                    Layout._recent.append(layout)
            if len(Layout._interned) > Layout._most:
                Layout._forget_views()
        return layout

    @staticmethod
    def _forget_views():
        """Have no layout know its views. Layouts know each other by them, in cycles that reference counts alone do not free."""
        for layout in list(Layout._interned.values()):
            layout.views.clear()
        Layout._most = max(MOST_LAYOUTS, 2 * len(Layout._interned))

    def with_dtype(self, dtype: dtype) -> Layout:
        """The same shape and strides with another dtype."""
        return Layout.of(dtype, self.shape, self.strides, self.device)

    def dense(self, dtype: dtype | None = None) -> Layout:
        """Row-major, with the same shape (and dtype, unless one is given)."""
        dense = self.views.get(("dense", dtype))
        if dense is None:
            dense = self.views["dense", dtype] = Layout.of(dtype or self.dtype, self.shape, None, self.device)
        return dense

    def extent(self) -> tuple[int, int]:
        """The lowest and one past the highest element offset that the layout reaches; (0, 0) when it has no elements."""
        if self.numel == 0:
            return 0, 0
        low = sum(s * (n - 1) for n, s in zip(self.shape, self.strides) if s < 0)
        return low, 1 + sum(s * (n - 1) for n, s in zip(self.shape, self.strides) if s > 0)

    def overlaps_itself(self) -> bool:
        """Whether two indices may share an element. Exact for the layouts that views make; errs towards True."""
        if self.numel == 0:
            return False
        reach = 0
        for stride, extent in sorted((abs(s), n) for n, s in zip(self.shape, self.strides) if n > 1):
            if stride <= reach:
                return True
            reach += stride * (extent - 1)
        return False

    def non_overlapping_and_dense(self) -> bool:
        """Whether the elements fill a block of memory exactly, in some order of the dimensions."""
        if self.numel == 0:
            return True
        step = 1
        for stride, extent in sorted((s, n) for n, s in zip(self.shape, self.strides) if n != 1):
            if stride != step:
                return False
            step *= extent
        return True

    def __str__(self):
        return f"torch.{self.kind}"                      # all that PyTorch says of one

    def __repr__(self):
        where = "" if self.device is cpu else f", device='{self.device}'"
        return f"Layout({self.dtype.name}, shape={self.shape}, strides={self.strides}{where}{', weak' if self.weak else ''})"

    def __reduce__(self):
        return Layout.of, (self.dtype, self.shape, self.strides, self.device, self.weak)


@functools.lru_cache(1 << 12)
def contiguous_strides(shape: tuple) -> tuple:
    """Row-major strides in elements; extents of zero count as one, as in PyTorch."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent if extent > 1 else 1
    return tuple(reversed(strides))


def formatted(layout: Layout, memory_format: str) -> Layout:
    """The dense layout of the same shape in a memory format: channels last, the strides kept where they are dense, or row-major.

    Raises:
        RuntimeError: channels last of another number of dimensions.
        TypeError: no memory format.
    """
    ordered = layout.views.get(("formatted", memory_format))
    if ordered is None:
        strides = None
        if memory_format not in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"):
            raise TypeError(f"argument 'memory_format' must be torch.memory_format, not {type(memory_format).__name__} "
                            f"({memory_format!r})")
        if memory_format in ("channels_last", "channels_last_3d"):
            ndim = 4 if memory_format == "channels_last" else 5
            if layout.ndim != ndim:
                raise RuntimeError(f"required rank {ndim} tensor to use {memory_format} format")
            n, c, *rest = layout.shape
            *steps, innermost = contiguous_strides((n, *rest, c))
            strides = (steps[0], innermost, *steps[1:])
        elif memory_format == "preserve_format":
            strides = kept_strides(layout)
        ordered = layout.views["formatted", memory_format] = Layout.of(layout.dtype, layout.shape, strides, layout.device)
    return ordered


def kept_strides(layout: Layout) -> tuple | None:
    """The strides of a copy that keeps the order in memory, without gaps; None for row-major."""
    return layout.strides if layout.non_overlapping_and_dense() else shared_strides([layout], layout.shape)


def lies_in(layout: Layout, memory_format: str) -> bool:
    """Whether the elements lie in the order of a memory format, which is of one rank; strides of extents of 1 do not matter."""
    if memory_format not in ("channels_last", "channels_last_3d"):
        return layout.contiguous
    if layout.ndim != (4 if memory_format == "channels_last" else 5):
        return False
    expected = 1
    for d in (1, *range(layout.ndim - 1, 1, -1), 0):
        if layout.shape[d] != 1 and layout.strides[d] != expected:
            return False
        expected *= layout.shape[d]
    return True


def format_of(layout: Layout) -> str | None:
    """The memory format that results keep: "channels_last", "channels_last_3d", or None for row-major, and where strides leave it
    open (PyTorch's `suggest_memory_format`)."""
    views = layout.views
    if "format" not in views:
        views["format"] = {4: "channels_last", 5: "channels_last_3d"}[layout.ndim] if _is_channels_last(layout) else None
    return views["format"]


def _is_channels_last(layout):
    if layout.ndim not in (4, 5) or layout.strides[1] == 0 or layout.numel == 0:
        return False
    least = 0
    for d in (1, *range(layout.ndim - 1, 1, -1), 0):
        stride = layout.strides[d]
        if stride < least or (d == 0 and least == layout.strides[1]):
            return False
        least = stride * max(layout.shape[d], 1)
    return True


def _is_contiguous(shape, strides):
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent == 0:
            return True
        if extent != 1 and stride != step:
            return 0 in shape
        step *= extent
    return True


# ---------------------------------------------------------------- arguments: dimensions and shapes
def wrap_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front. Raises IndexError, as PyTorch words it, when it is out of range."""
    if type(dim) is int and 0 <= dim < ndim:
        return dim
    if type(dim) is not int:
        if getattr(dim, "ndim", None) or not hasattr(dim, "__index__"):
            raise TypeError(f"dimension: expected an int, got {type(dim).__name__}")
        dim = as_int(dim)
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})")
    return dim + bound if dim < 0 else dim


def wrap_dims(dims, ndim: int) -> tuple:
    """A dim, several, or None for all, as distinct dims counted from the front."""
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(wrapped)) != len(wrapped):
        repeated = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return wrapped


def as_int(n) -> int:
    """What counts as an integer, as one. A truth value, in a tensor or not, does not: where it stands for one, an option has
    slipped."""
    if type(n) is bool or (hasattr(n, "layout") and n.layout.dtype.category == 0):
        raise TypeError("expected an int, got bool")
    return int(as_index(n))


def is_sequence(value) -> bool:
    """Whether an argument is several values rather than one: a tuple or a list, as in PyTorch, and nothing else that can be run
    through. Generators are empty when they are looked at again, dictionaries are a mistake, and so may arrays be."""
    return isinstance(value, (tuple, list))


def ints(values, name="shape") -> tuple:
    """Numbers as Python ints. Raises TypeError, in the name of what they are for, where one is not an integer."""
    if type(values) is tuple:
        for n in values:
            if type(n) is not int:
                break
        else:
            return values
    try:
        if not is_sequence(values):
            raise TypeError("expected a tuple or a list")
        return tuple([n if type(n) is int else as_int(n) for n in values])
    except TypeError:
        wrong = values
        if is_sequence(values):
            wrong = next((n for n in values if type(n) is bool or not hasattr(n, "__index__")), values)
        raise TypeError(f"{name}: expected integers, got {type(wrong).__name__} ({wrong!r})") from None


def as_shape(args, name="shape") -> tuple:
    """`f(2, 3)`, `f((2, 3))` and `f([2, 3])` all as (2, 3). Raises TypeError for what is not an int."""
    if len(args) == 1 and type(args[0]) is not int and is_sequence(args[0]):
        args = args[0]
    return ints(args, name)


def plain_dims(dims, name="dim"):
    """Dimensions as what a plan is found by: None, an int, or a tuple of ints. Raises TypeError for what is equal to an int and is
    none, such as 0.0 and False: it would find the plan of the int."""
    if type(dims) is int or dims is None:
        return dims
    return ints(dims, name) if type(dims) is tuple or is_sequence(dims) else ints((dims,), name)[0]


def broadcast_shapes(*shapes) -> tuple:
    """The shape that all broadcast to.

    Raises:
        RuntimeError: two extents of one dimension differ and neither is 1. The last such dimension is named, as in PyTorch: shapes
            are aligned at their ends, where what is wrong is easiest to see.
    """
    ndim = max(map(len, shapes), default=0)
    out = [1] * ndim
    for shape in shapes:
        for i in range(1, len(shape) + 1):
            extent = shape[-i]
            if extent != 1:
                if out[-i] not in (1, extent):
                    raise RuntimeError(f"The size of tensor a ({out[-i]}) must match the size of tensor b ({extent}) "
                                       f"at non-singleton dimension {ndim - i}")
                out[-i] = extent
    return tuple(out)


def shared_strides(layouts, shape) -> tuple | None:
    """The dense strides of a result that several inputs are broadcast to, or None for row-major: its dimensions lie in the order of
    the inputs', the first that tells any two apart deciding (PyTorch's `TensorIterator::reorder_dimensions`)."""
    known = []
    for layout in layouts:
        shift = len(shape) - layout.ndim
        if layout.ndim and not (layout.contiguous and layout.shape == shape and not known):
            known.append([0] * shift + [0 if n == 1 != shape[shift + d] else abs(s)
                                        for d, (n, s) in enumerate(zip(layout.shape, layout.strides))])
        elif layout.ndim:
            return None                                  # the first is row-major, and stretched nowhere

    def after(a, b):
        for strides in known:
            if strides[a] and strides[b]:
                if strides[a] != strides[b]:
                    return 1 if strides[a] > strides[b] else -1
                if shape[a] > shape[b]:
                    return 1
        return 0
    order = list(range(len(shape) - 1, -1, -1))          # the innermost first
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            compared = after(order[before], order[at])
            if compared < 0:
                break
            if compared > 0:
                order[before], order[at] = order[at], order[before]
                at = before
    strides, step = [0] * len(shape), 1
    for d in order:
        strides[d] = step
        step *= max(shape[d], 1)
    result = tuple(strides)
    return None if result == contiguous_strides(shape) else result


def broadcast_strides(layout, shape) -> tuple:
    """A layout's strides for walking `shape`, to which it broadcasts: 0 along stretched dimensions."""
    shift = len(shape) - layout.ndim
    return (0,) * shift + tuple(0 if n == 1 else s for n, s in zip(layout.shape, layout.strides))


# ---------------------------------------------------------------- PyTorch's names for orders in memory
class _MemoryLayoutType(type):
    def __instancecheck__(cls, value):
        return type(value) is cls or isinstance(value, Layout)


class memory_layout(metaclass=_MemoryLayoutType):
    """PyTorch's `torch.layout`: a name for kinds of tensors, `strided` or sparse. A tensor's own layout equals that of its kind.

    Args:
        name: such as "strided".

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).layout == torch.strided
        True
    """

    __slots__ = ("name",)
    kind = property(lambda self: self.name, doc="What a tensor's own layout has it as too.")

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"

    def __eq__(self, other):
        return self is other or (isinstance(other, Layout) and other.kind == self.name)

    def __hash__(self):
        return hash(self.name)


class memory_format(str):
    """PyTorch's `torch.memory_format`: an order of the dimensions in memory, such as `torch.channels_last`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
        >>> x.shape, x.stride()
        (torch.Size([1, 2, 3, 4]), (24, 1, 8, 2))
    """

    __slots__ = ()

    def __repr__(self):
        return f"torch.{self}"


strided = memory_layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
