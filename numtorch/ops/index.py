"""`x[...]`, read and written: ints, slices, None, `...`, bools, index tensors and masks, in any mix.

An index is worked off in two stages. The basic part (ints, slices, None, `...`) is pure geometry: a view, whose layout is
remembered on the tensor's layout under the index with its ints left out, so that `x[i, :]` in a loop is found again. Index
tensors and masks then index that view (ops/gather.py): their dimensions take the place of those they index when these are
neighbours, else they come first. An int is always basic, which is where PyTorch's `x[0, :, [1, 2]]` differs from NumPy's.
"""
from __future__ import annotations

import operator

from ..autograd.modes import modes
from ..autograd.writes import mark_written
from ..dtypes import bool_, int32, int64, uint8
from ..exchange import make
from ..layout import Layout
from ..scalars import check_fits, number
from ..tensor import Tensor, view_of
from ..viewalgebra import expand as expand_layout
from ..viewalgebra import try_view, view_function
from . import comparison, reduce
from .assign import copy_
from .copy import clone, contiguous, copy_elements, to_dtype
from .gather import fit_value, index_values, put_values
from .mask import masked_scatter_, nonzero, replace_where, select_true
from .op import method, register
from .parts import unbind
from .view import reshape, reshape_vjp, unsqueeze
from .viewing import make_view, separate

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


def _find_row(layout, index):
    below, extent, stride = layout.views.get(_ROW) or row(layout)
    if 0 <= index < extent:
        return below, index * stride
    if -extent <= index < 0:
        return below, (index + extent) * stride
    raise IndexError(f"index {index} is out of bounds for dimension 0 with size {extent}")


def _find_rows(layout, index):
    if not layout.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    start, count, step = _range(index, layout.shape[0])
    found = layout.views.get(("rows", count, step)) or rows(layout, count, step)
    return found, start * layout.strides[0] if count else 0


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
        if not hasattr(item, "__len__"):
            if not hasattr(item, "__index__"):
                raise IndexError(f"{_ALLOWED} (got {type(item).__name__})")
            pattern.append(int)
            numbers.append(operator.index(item))
            return
        item = _as_index(item)
    layout = item.layout
    kind = layout.dtype
    if layout.ndim == 0 and kind.category <= 1:
        if kind is bool_ or kind is uint8:
            pattern.append(bool)
            tensors.append(_always if item.item() else _never)
        else:
            pattern.append(int)
            numbers.append(item.item())
    elif kind is bool_ or kind is uint8:
        pattern.append(("mask", layout.shape))
        tensors.append(item)
    elif kind is int64 or kind is int32:
        pattern.append(Tensor)
        tensors.append(item)
    else:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _as_index(items):
    """A list, range or array as an index tensor; an empty one as a vector of no indices."""
    made = make(list(items) if isinstance(items, range) else items)
    return to_dtype(made, int64) if not made.layout.numel and not hasattr(items, "dtype") else made


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


def _find(layout, index):
    """The basic part of an index: ((layout, offset), dimensions of the index tensors and masks, these)."""
    pattern, numbers, tensors = _read(index if type(index) is tuple else _as_tuple(index))
    below, offset, ints, advanced = layout.views.get(("basic", pattern)) or basic(layout, pattern)
    for value, (dim, extent, stride) in zip(numbers, ints) if ints else ():
        if not 0 <= value < extent:
            if not -extent <= value < 0:
                raise IndexError(f"index {value} is out of bounds for dimension {dim} with size {extent}")
            value += extent
        offset += value * stride
    return (below, offset if below.numel else 0), advanced, tensors


def _part(x, found, tracked):
    """The view that the basic part makes: x itself when that is all of it."""
    if found[0] is x.layout and not found[1]:
        return x
    return make_view(x, found, "slice") if tracked else view_of(x, *found)


def _as_indices(tensors, device):
    """Index tensors of one dtype: masks become the places where they hold."""
    out = []
    for each in tensors:
        if each.layout.device is not device:
            each = each.to(device)
        if each.layout.dtype is bool_ or each.layout.dtype is uint8:
            out += nonzero(each, as_tuple=True)
        else:
            out.append(each if len(tensors) == 1 or each.layout.dtype is int64 else to_dtype(each, int64))
    return out


def _whole_mask(tensors, layout):
    """The mask, when the index is a mask of the view's own shape and nothing else."""
    if len(tensors) == 1 and tensors[0].layout.shape == layout.shape and tensors[0].layout.device is layout.device \
            and (tensors[0].layout.dtype is bool_ or tensors[0].layout.dtype is uint8):
        mask = tensors[0]
        return contiguous(mask if mask.layout.dtype is bool_ else comparison.ne(mask, 0))
    return None


def _is_plain_index(index, layout):
    """Whether `x[index]` is the everyday case of one int64 index tensor."""
    of_index = index.layout
    return of_index.dtype is int64 and of_index.ndim and layout.ndim and of_index.device is layout.device


def _is_plain_mask(of_index, layout):
    """Whether an index tensor of a layout is the everyday mask, over the first dimensions of the tensor or all of them."""
    return of_index.dtype is bool_ and of_index.shape == layout.shape[:of_index.ndim] and of_index.contiguous and of_index.ndim \
        and of_index.device is layout.device


def _over_all(mask, layout):
    """A mask over the first dimensions as one that broadcasts over all."""
    have = mask.layout
    if have.ndim == layout.ndim:
        return mask
    return view_of(mask, try_view(have, have.shape + (1,) * (layout.ndim - have.ndim))[0], 0)


def _is_int(of_index):
    """Whether an index tensor of a layout stands for an int."""
    return not of_index.ndim and of_index.dtype is int64


_INT = {int}


# ---------------------------------------------------------------- x[index]
def getitem(self, index) -> Tensor:
    """The part of a tensor that an index names: a view for ints, slices, None and `...`; a copy where index tensors or masks
    take part.

    Raises:
        IndexError: out of bounds, too many indices, a mask of another shape, or something that is not an index.
        ValueError: a slice with a step that is not positive.
    """
    if self.node is not None:
        self = separate(self)
    kind, layout = type(index), self.layout
    if kind is int:
        return make_view(self, _find_row(layout, index), "select")
    if kind is slice:
        return make_view(self, _find_rows(layout, index), "slice")
    if kind is list and index and set(map(type, index)) == _INT:
        kind, index = Tensor, make(index, device=layout.device)
    if kind is Tensor:
        if _is_plain_index(index, layout):
            return index_values(self, (0,), (index,))
        if _is_int(index.layout):
            return make_view(self, _find_row(layout, index.item()), "select")
        if _is_plain_mask(index.layout, layout):
            if index.layout.ndim == layout.ndim:
                return select_true(self, index)
            return index_values(self, tuple(range(index.layout.ndim)), nonzero(index, as_tuple=True))
    if index is None:
        return unsqueeze(self, 0)
    found, dims, tensors = _find(layout, index)
    if not tensors:
        if found[0].numel == layout.numel:               # all of it, in its order: the gradient needs no place in zeros
            return make_view(self, found, "slice", reshape_vjp, layout.shape)
        return make_view(self, found, "slice")
    part = _part(self, found, self.node is not None and modes.grad)
    mask = _whole_mask(tensors, part.layout)
    if mask is not None:
        return select_true(part, mask)
    return index_values(part, dims, _as_indices(tensors, layout.device))


# ---------------------------------------------------------------- x[index] = value
def setitem(self, index, value) -> None:
    """Write a tensor or number, broadcast, to the part of a tensor that an index names.

    Raises:
        IndexError, ValueError: as for reading.
        RuntimeError: the value does not broadcast to that part.
        TypeError: the value is neither a tensor nor a number.
    """
    if isinstance(value, Tensor):
        source = value
    else:
        source = number(value)
        if source is None:
            raise TypeError(f"can't assign a {type(value).__name__} to a {self.type()}")
        check_fits(value, self.layout.dtype)
    kind, layout = type(index), self.layout
    if kind is Tensor:
        if _is_int(index.layout):
            kind, index = int, index.item()
        elif value is not source and _is_plain_mask(index.layout, layout):
            replace_where.op.inplace(self, _over_all(index, layout), _in_dtype(value, source, layout.dtype))
            return
    elif index is Ellipsis:
        _assign(self, (layout, 0), source)
        return
    if kind is int:
        _assign(self, _find_row(layout, index), source)
        return
    if kind is slice:
        _assign(self, _find_rows(layout, index), source)
        return
    if kind is list and index and set(map(type, index)) == _INT:
        kind, index = Tensor, make(index, device=layout.device)
    if kind is Tensor and _is_plain_index(index, layout):
        put_values(self, (0,), (index,), _in_dtype(value, source, layout.dtype), False)
        return
    found, dims, tensors = _find(layout, index)
    if not tensors:
        _assign(self, found, source)
        return
    if source.layout.device is not layout.device:
        source = source.to(layout.device)
    source = _in_dtype(value, source, layout.dtype)
    part = _part(self, found, True)
    mask = _whole_mask(tensors, part.layout)
    if mask is None:
        put_values(part, dims, _as_indices(tensors, layout.device), source, False)
    elif source.layout.numel == 1:
        source = to_dtype(source, layout.dtype)
        replace_where.op.inplace(part, mask, reshape(source, ()) if source.layout.ndim else source)
    else:
        _put_masked(part, mask, source)


_constants: dict = {}                                    # recent numbers as 0-dim tensors, by value and dtype


def _in_dtype(value, source, dtype):
    """What is assigned: a tensor as it is, a number in the dtype of its target."""
    if value is source or not source.layout.weak:
        return source
    key = (type(value), value if value else str(value), dtype)       # 0.0 equals -0.0
    found = _constants.get(key)
    if found is None:
        if len(_constants) >= 256:
            _constants.clear()
        found = _constants[key] = to_dtype(source, dtype)
    return found


def _put_masked(part, mask, source):
    if source.layout.dtype is not part.layout.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {part.layout.dtype.name} for the "
                           f"destination and {source.layout.dtype.name} for the source.")
    count = int(reduce.count_nonzero(mask).item())
    fit_value(source, (count,), "indexing result")
    if count:
        masked_scatter_(part, mask, source)


def _assign(x, found, source):
    """Write to a view of x."""
    layout, offset = found
    if source.layout.shape != layout.shape and source.layout.ndim > layout.ndim:
        source = _without_leading_ones(source, layout.shape)
    if (modes.grad and (x.node is not None or source.node is not None)) or not x.layout.contiguous \
            or source.storage is x.storage or source.layout.device is not layout.device or x.layout.weak:
        target = make_view(x, found, "slice")
        if not (source.address == target.address and source.layout is layout and source.storage is x.storage):
            copy_(target, source)                        # `x[i] += y` ends by assigning x[i] to itself
        return
    if source.layout.shape != layout.shape and source.layout.ndim:
        from_shape(source.layout, layout.shape)
    mark_written(x.storage, "copy_")
    copy_elements(source, view_of(x, layout, offset))


def from_shape(layout, shape):
    """Raise RuntimeError unless a layout broadcasts to `shape`."""
    expand_layout(layout, shape)


def _without_leading_ones(source, shape):
    extra = source.layout.ndim - len(shape)
    return reshape(source, source.layout.shape[extra:]) if all(n == 1 for n in source.layout.shape[:extra]) else source


# ---------------------------------------------------------------- index_put
def _put_indices(self, indices):
    dims, found = [], []
    for item in indices:
        if item is not None and not isinstance(item, Tensor):
            raise TypeError(f"index_put_(): expected a tuple of Tensors as indices, got {type(item).__name__}")
    (_, _), dims, found = _find(self.layout, tuple([slice(None) if i is None else _with_dims(i) for i in indices]))
    if not found:
        raise IndexError("index_put_(): expected at least one index tensor")
    return dims, _as_indices(found, self.layout.device)


def _with_dims(index):
    return index if index.layout.ndim or index.layout.dtype is bool_ else reshape(index, 1)


@register
@method
def index_put_(self, indices, values, accumulate: bool = False):
    """Write values to where index tensors or masks point, and return this tensor.

    Args:
        indices: a tuple of index tensors or masks, one for each of the first dimensions; None leaves one out.
        values: broadcast to the indexed shape, of this tensor's dtype.
        accumulate: add instead; places named more than once get every addition.

    Raises:
        RuntimeError: `values` does not broadcast to the indexed shape or has another dtype.
        IndexError: an index out of bounds.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.index_put_((torch.tensor([0, 0]),), torch.tensor([10., 20.]), accumulate=True)
        tensor([31.,  2.,  3.])
    """
    dims, found = _put_indices(self, indices)
    return put_values(self, dims, found, values, accumulate)


@register
@method
def index_put(input, indices, values, accumulate: bool = False):
    """A copy of this tensor after `index_put_`: with `values` at the places that indices name.

    Args:
        input: the tensor that is copied.
        indices: a tuple of integer tensors, broadcast with each other, one for each of the first dimensions; or of bools.
        values: what is put there, broadcast to the places; of the same dtype.
        accumulate: add to what is there, each place as often as it is named.

    Raises:
        IndexError: an index beyond its dimension.
        RuntimeError: values that do not fit, or of another dtype.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2, 2)
        >>> x.index_put((torch.tensor([0, 1]), torch.tensor([1, 1])), torch.tensor([5., 6.]))
        tensor([[0., 5.],
                [0., 6.]])
    """
    return index_put_(clone(input), indices, values, accumulate)


# ---------------------------------------------------------------- as a sequence
def _iterate(self):
    """The slices along the first dimension, one after another."""
    if not self.layout.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if self.node is not None and modes.grad:
        return iter(unbind(self))
    below, extent, stride = row(self.layout)
    return (make_view(self, (below, i * stride), "select") for i in range(extent))


def _reversed(self):
    """The slices along the first dimension from the last to the first; a 0-dim tensor itself."""
    return self if not self.layout.ndim else self[list(range(self.layout.shape[0]))[::-1]]


def _contains(self, element):
    """Whether any element equals a number or tensor (broadcast)."""
    if not isinstance(element, Tensor) and number(element) is None:
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool(reduce.any(comparison.eq(self, element)).item())


def _delitem(self, index):
    raise TypeError("Tensor does not support deleting items")


Tensor.__getitem__, Tensor.__setitem__, Tensor.__delitem__ = getitem, setitem, _delitem
Tensor.__iter__, Tensor.__reversed__, Tensor.__contains__ = _iterate, _reversed, _contains
