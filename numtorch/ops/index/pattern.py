"""What an index stands for: from `x[...]` to a view of x and the index tensors that pick from it.

An index is read as a hashable pattern with its ints left out. The basic part (ints, slices, None, `...`) is pure geometry: a
view, whose layout is remembered on the tensor's layout under the pattern, so that `x[i, :]` in a loop is found again. Index
tensors and masks stand for dimensions of that view.
"""
from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping, Set

from ...devices import cpu
from ...dtypes import bool_, int32, int64, uint8
from ...exchange.construction import make
from ...layout import Layout
from ...tensor import Tensor, view_of
from ...viewalgebra import select, slice_dim, unsqueeze, view_function
from ..memory.copies import contiguous, to_dtype
from ..pointwise import comparison
from ..shape.slicing import SLICE
from ..shape.view_tape import make_view
from ..shape.views import view
from .mask import nonzero

_ROW = ("row",)


# ---------------------------------------------------------------- one int, one slice
@view_function
def row(layout):
    """What `x[i]` is for any i: its layout, the extent, the stride."""
    if not layout.ndim:
        raise IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                         "0-dim tensor to a number")
    return Layout.of(layout.dtype, layout.shape[1:], layout.strides[1:], layout.device), layout.shape[0], layout.strides[0]


@view_function
def rows(layout, count, step):
    """What `x[a:b:step]` is when it has `count` rows."""
    return Layout.of(layout.dtype, (count, *layout.shape[1:]), (layout.strides[0] * step, *layout.strides[1:]), layout.device)


def find_row(layout, index):
    """The layout and the offset of `x[index]` for an int."""
    known = layout.views.get(_ROW)
    if known is None:
        if layout.handler is not None:
            return select(layout, 0, index)
        known = row(layout)
    below, extent, stride = known
    if 0 <= index < extent:
        return below, index * stride
    if -extent <= index < 0:
        return below, (index + extent) * stride
    raise IndexError(f"index {index} is out of bounds for dimension 0 with size {extent}")


def find_rows(layout, index):
    """The layout and the offset of `x[index]` for a slice."""
    if not layout.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start, count, step = _range(index, layout.shape[0])
    below = layout.views.get(("rows", count, step))
    if below is None:
        if layout.handler is not None:
            return slice_dim(layout, 0, index.start, index.stop, index.step)
        below = rows(layout, count, step)
    return below, start * layout.strides[0] if count else 0


def _range(index, extent):
    """A slice as (start, count, step)."""
    start, stop, step = index.indices(extent)
    if step < 0:
        raise ValueError("step must be greater than zero")
    return start, (stop - start + step - 1) // step if stop > start else 0, step


# ---------------------------------------------------------------- reading an index
_ALLOWED = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
_always, _never = make([0]), make([], dtype=int64)


def _read(index):
    """An index as a hashable pattern, the ints that it leaves out, and its index tensors and masks."""
    pattern, numbers, tensors = [], [], []
    for item in index:
        kind = type(item)
        if kind is int:
            pattern.append(int)
            numbers.append(item)
        elif kind is slice:
            start, stop, step = item.start, item.stop, item.step
            plain = (start is None or type(start) is int) and (stop is None or type(stop) is int) and step is None
            pattern.append((start, stop, step) if plain else _bounds(item))
        elif item is None or item is Ellipsis:
            pattern.append(item)
        elif kind is bool:
            pattern.append(bool)
            tensors.append(_always if item else _never)
        else:
            _read_other(item, pattern, numbers, tensors)
    return tuple(pattern), numbers, tensors


def _bounds(item):
    try:
        return tuple([None if b is None else operator.index(b) for b in (item.start, item.stop, item.step)])
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _read_other(item, pattern, numbers, tensors):
    if not isinstance(item, Tensor):
        if getattr(item, "shape", None) == ():           # NumPy's numbers and 0-dim arrays
            item = item.item()
        if isinstance(item, bool):
            pattern.append(bool)
            tensors.append(_always if item else _never)
            return
        if not hasattr(item, "__len__") or isinstance(item, (Set, Mapping)):
            if not hasattr(item, "__index__"):
                raise IndexError(f"{_ALLOWED} (got {type(item).__name__})")
            pattern.append(int)
            numbers.append(operator.index(item))
            return
        item = _as_index(item)
    layout = item.layout
    kind = layout.dtype
    if layout.ndim == 0 and kind.category <= 1 and layout.has_values:
        if kind is bool_ or kind is uint8:
            pattern.append(bool)
            tensors.append(_always if item.item() else _never)
        else:
            pattern.append(int)
            numbers.append(item.item())
    elif kind is bool_ or kind is uint8:
        if kind is uint8:
            warnings.warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.", UserWarning,
                          stacklevel=5)
        pattern.append(("mask", layout.shape))
        tensors.append(item)
    elif kind is int64 or kind is int32:
        pattern.append(Tensor)
        tensors.append(item)
    else:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _as_index(items):
    """A list, range or array as an index tensor; an empty one as a vector of no indices. Floats are cut off, as in PyTorch."""
    try:
        made = make(list(items) if isinstance(items, range) else items)
    except ValueError as error:
        raise error if "too many dimensions" not in str(error) else TypeError(f"{_ALLOWED} (got {error})") from None
    kind = made.layout.dtype
    if kind.is_complex:
        raise TypeError(f"'complex' object cannot be interpreted as an integer: {_ALLOWED}")
    if kind.is_floating_point and not bool(comparison.isfinite(made).all()):
        raise RuntimeError(f"value cannot be converted to type int64 without overflow: {_ALLOWED}")
    return to_dtype(made, int64) if kind.is_floating_point or not (made.layout.numel or hasattr(items, "dtype")) else made


def _as_tuple(index):
    """An index as a tuple. A list stands for one where it holds anything but numbers."""
    if isinstance(index, list) and len(index) < 32 \
            and any(i is None or i is Ellipsis or isinstance(i, (slice, Tensor, list, tuple)) for i in index):
        return tuple(index)
    return (index,)


# ---------------------------------------------------------------- the basic part
@view_function
def basic(layout, pattern):
    """The view that a pattern makes.

    Returns:
        Its layout, its offset without what the ints add, (dimension, extent, stride) of each int, and the dimensions of
        the view that index tensors and masks stand for.
    """
    uses = [_dims_used(p) for p in pattern]
    rest = layout.ndim - sum(uses)
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {layout.ndim}")
    shape, strides, offset, ints, advanced, masks = [], [], 0, [], [], []
    dim, filled = 0, False
    for entry, used in zip(pattern, uses):
        if entry is int:
            ints.append((dim, layout.shape[dim], layout.strides[dim]))
        elif entry is None or entry is bool:
            if entry is bool:
                advanced.append(len(shape))
            shape.append(1)
            strides.append(layout.shape[dim] * layout.strides[dim] if dim < layout.ndim else 1)
        elif entry is Ellipsis:
            used, filled = 0 if filled else rest, True   # a second `...` stands for no dimensions
            shape += layout.shape[dim:dim + used]
            strides += layout.strides[dim:dim + used]
        elif entry is Tensor or entry[0] == "mask":
            if entry is not Tensor:
                masks.append((len(shape), entry[1]))
            advanced += range(len(shape), len(shape) + used)
            shape += layout.shape[dim:dim + used]
            strides += layout.strides[dim:dim + used]
        else:
            start, count, step = _range(slice(*entry), layout.shape[dim])
            shape.append(count)
            strides.append(layout.strides[dim] * step)
            offset += start * layout.strides[dim] if count else 0
        dim += used
    shape += layout.shape[dim:]
    strides += layout.strides[dim:]
    for first, mask in masks:
        _check_mask(mask, shape, first)
    return Layout.of(layout.dtype, tuple(shape), tuple(strides), layout.device), offset, tuple(ints), tuple(advanced)


def _dims_used(entry):
    if entry is None or entry is Ellipsis or entry is bool:
        return 0
    return 1 if entry is int or entry is Tensor or entry[0] != "mask" else len(entry[1])


def _check_mask(mask, shape, first):
    for d, n in enumerate(mask):
        if n != shape[first + d]:
            raise IndexError(f"The shape of the mask {list(mask)} at index {d} does not match the shape of the indexed tensor "
                             f"{shape} at index {first + d}")


def find_basic(layout, index):
    """The basic part of an index: ((layout, offset), dimensions of the index tensors and masks, these)."""
    pattern, numbers, tensors = _read(index if type(index) is tuple else _as_tuple(index))
    known = layout.views.get(("basic", pattern))
    if known is None:
        if layout.handler is not None:
            return *_step_by_step(layout, pattern, iter(numbers)), tensors
        known = basic(layout, pattern)
    below, offset, ints, advanced = known
    for value, (dim, extent, stride) in zip(numbers, ints) if ints else ():
        if not 0 <= value < extent:
            if not -extent <= value < 0:
                raise IndexError(f"index {value} is out of bounds for dimension {dim} with size {extent}")
            value += extent
        offset += value * stride
    return (below, offset if below.numel else 0), advanced, tensors


def _step_by_step(layout, pattern, numbers):
    """The basic part as one view after another, for special layouts: ((layout, 0), dimensions of the index tensors and masks)."""
    rest = layout.ndim - sum([_dims_used(p) for p in pattern])
    if rest < 0:
        raise IndexError(f"too many indices for tensor of dimension {layout.ndim}")
    dim, advanced = 0, []
    for entry in pattern:
        if entry is int:
            layout, _ = select(layout, dim, next(numbers))
            continue
        if entry is None or entry is bool:
            layout, _ = unsqueeze(layout, dim)
        if entry is Ellipsis:
            dim, rest = dim + rest, 0                    # a second `...` stands for no dimensions
            continue
        used = max(_dims_used(entry), 1)
        if entry is bool or entry is Tensor or (entry is not None and entry[0] == "mask"):
            if type(entry) is tuple:
                _check_mask(entry[1], layout.shape, dim)
            advanced += range(dim, dim + used)
        elif entry is not None and entry != (None, None, None):
            layout, _ = slice_dim(layout, dim, *entry)
        dim += used
    return (layout, 0), tuple(advanced)


def basic_part(x, place, tracked):
    """The view that the basic part makes: x itself when that is all of it."""
    if place[0] is x.layout and not place[1]:
        return x
    return make_view(x, place, SLICE) if tracked or x.layout.handler is not None else view_of(x, *place)


def as_indices(tensors, device):
    """Index tensors of one dtype: masks become the places where they hold; the host's go along with any device."""
    out = []
    for each in tensors:
        if each.layout.device is not device:
            if each.layout.device is not cpu:
                raise RuntimeError(f"indices should be either on cpu or on the same device as the indexed tensor ({device}), "
                                   f"got one on {each.layout.device}")
            each = each.to(device)
        if each.layout.dtype is bool_ or each.layout.dtype is uint8:
            out += nonzero(each, as_tuple=True)
        else:
            out.append(each if len(tensors) == 1 or each.layout.dtype is int64 else to_dtype(each, int64))
    return out


def whole_mask(tensors, layout):
    """The mask, when the index is a mask of the view's own shape and nothing else."""
    if len(tensors) == 1 and tensors[0].layout.shape == layout.shape and tensors[0].layout.device is layout.device \
            and (tensors[0].layout.dtype is bool_ or tensors[0].layout.dtype is uint8):
        mask = tensors[0]
        return contiguous(mask if mask.layout.dtype is bool_ else comparison.ne(mask, 0))
    return None


def is_plain_index(index, layout):
    """Whether `x[index]` is the everyday case of one int64 index tensor."""
    of_index = index.layout
    return of_index.dtype is int64 and of_index.ndim and layout.ndim and of_index.device is layout.device


def is_plain_mask(of_index, layout):
    """Whether an index tensor of a layout is the everyday mask, over the first dimensions of the tensor or all of them."""
    return of_index.dtype is bool_ and of_index.shape == layout.shape[:of_index.ndim] and of_index.contiguous and of_index.ndim \
        and of_index.device is layout.device


def over_all(mask, layout):
    """A mask over the first dimensions as one that broadcasts over all."""
    have = mask.layout
    if have.ndim == layout.ndim:
        return mask
    return view(mask, have.shape + (1,) * (layout.ndim - have.ndim))


def is_int(of_index):
    """Whether an index tensor of a layout stands for an int, which those of samples of `vmap` do not: each has its own."""
    return not of_index.ndim and of_index.dtype is int64 and of_index.has_values
