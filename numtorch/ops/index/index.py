"""`x[...]`, read and written: ints, slices, None, `...`, bools, index tensors and masks, in any mix.

What an index stands for is found in ops/index/pattern.py: a view for its basic part, which index tensors and masks then index
(ops/index/index_select.py): their dimensions take the place of those they index when these are neighbours, else they come first. An
int is always basic, which is where PyTorch's `x[0, :, [1, 2]]` differs from NumPy's.
"""
from __future__ import annotations

from collections.abc import Iterator

from ...autograd.modes import modes
from ...autograd.writes import mark_written
from ...dtypes import bfloat16, bool_, float16
from ...exchange.construction import make
from ...exchange.scalars import check_fits, number
from ...tensor import Tensor, view_of
from ...viewalgebra import expand as expand_layout
from ..core.arguments import check_truths
from ..core.operands import method
from ..memory.assign import copy_
from ..memory.copies import clone, contiguous, copy_elements, to_dtype
from ..memory.writing import check_inplace_allowed, into_fresh, share_memory
from ..pointwise import comparison
from ..reduce import reductions
from ..shape.slicing import SELECT, SLICE
from ..shape.split import unbind
from ..shape.view_tape import make_part, make_view
from ..shape.views import VIEW, reshape, unsqueeze
from .index_op import number_like
from .index_select import fit_value, index_values, put_values
from .mask import masked_scatter_, nonzero, replace_where, select_true
from .pattern import (
    as_indices,
    basic_part,
    find_basic,
    find_row,
    find_rows,
    is_int,
    is_plain_index,
    is_plain_mask,
    over_all,
    row,
    whole_mask,
)

_INT = {int}


# ---------------------------------------------------------------- x[index]
def getitem(self, index) -> Tensor:
    """The part of a tensor that an index names: a view for ints, slices, None and `...`; a copy where index tensors or masks
    take part.

    Raises:
        IndexError: out of bounds, too many indices, a mask of another shape, or something that is not an index.
        ValueError: a slice with a step that is not positive.
    """
    kind, layout = type(index), self.layout
    if self.node is not None and not layout.contiguous and layout.overlaps_itself():
        return _of_shared_memory(self, index)
    if kind is int:
        return make_view(self, find_row(layout, index), SELECT)
    if kind is slice:
        return make_view(self, find_rows(layout, index), SLICE)
    if kind is list and index and set(map(type, index)) == _INT:
        kind, index = Tensor, make(index, device=layout.device)
    if kind is Tensor:
        if is_plain_index(index, layout):
            return index_values(self, (0,), (index,))
        if is_int(index.layout):
            return make_view(self, find_row(layout, index.item()), SELECT)
        if is_plain_mask(index.layout, layout):
            if index.layout.ndim == layout.ndim:
                return select_true(self, index)
            return index_values(self, tuple(range(index.layout.ndim)), nonzero(index, as_tuple=True))
    if index is None:
        return unsqueeze(self, 0)
    basic, dims, tensors = find_basic(layout, index)
    if not tensors:
        if basic[0].numel == layout.numel:               # all of it, in its order: the gradient needs no place in zeros
            return make_view(self, basic, VIEW, layout.shape)
        return make_view(self, basic, SLICE)
    part = basic_part(self, basic, self.node is not None and modes.grad)
    mask = whole_mask(tensors, part.layout)
    if mask is not None:
        return select_true(part, mask)
    return index_values(part, dims, as_indices(tensors, layout.device))


def _of_shared_memory(x, index):
    """The same for a recorded tensor of which several elements share memory."""
    _, dims, tensors = find_basic(x.layout, index)
    return getitem(contiguous(x), index) if tensors else make_part(x, SLICE, lambda layout: find_basic(layout, index)[0])


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
        try:
            check_fits(value, self.layout.dtype)
        except RuntimeError:                             # 16 bits have an infinity for it, though fills refuse it, as in PyTorch
            if self.layout.dtype not in (float16, bfloat16) or type(value) is complex:
                raise
    kind, layout = type(index), self.layout
    if kind is Tensor:
        if is_int(index.layout):
            kind, index = int, index.item()
        elif value is not source and is_plain_mask(index.layout, layout):
            replace_where.op.inplace(self, over_all(index, layout), _in_dtype(value, source, layout.dtype))
            return
    elif index is Ellipsis:
        _assign(self, (layout, 0), source)
        return
    if kind is int:
        _assign(self, find_row(layout, index), source)
        return
    if kind is slice:
        _assign(self, find_rows(layout, index), source)
        return
    if kind is list and index and set(map(type, index)) == _INT:
        kind, index = Tensor, make(index, device=layout.device)
    if kind is Tensor and is_plain_index(index, layout):
        put_values(self, (0,), (index,), _in_dtype(value, source, layout.dtype), False)
        return
    basic, dims, tensors = find_basic(layout, index)
    if not tensors:
        _assign(self, basic, source)
        return
    if source.layout.device is not layout.device:
        source = source.to(layout.device)
    source = _in_dtype(value, source, layout.dtype)
    part = basic_part(self, basic, True)
    mask = whole_mask(tensors, part.layout)
    if mask is None:
        put_values(part, dims, as_indices(tensors, layout.device), source, False)
    elif source.layout.numel == 1:
        source = number_like("index_put_", source, layout)
        replace_where.op.inplace(part, mask, reshape(source, ()) if source.layout.ndim else source)
    else:
        _put_masked(part, mask, source)


_constants: dict = {}                                    # recent numbers as 0-dim tensors, by value and dtype


def _in_dtype(value, source, dtype):
    """What is assigned: a tensor as it is, a number in the dtype of its target."""
    if value is source or not source.layout.weak:
        return source
    key = (type(value), value if value else str(value), dtype)       # 0.0 equals -0.0
    constant = _constants.get(key)
    if constant is None:
        if len(_constants) >= 256:
            _constants.clear()
        constant = _constants[key] = to_dtype(source, dtype)
    return constant


def _put_masked(part, mask, source):
    if source.layout.dtype is not part.layout.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {part.layout.dtype.name} for the "
                           f"destination and {source.layout.dtype.name} for the source.")
    count = int(reductions.count_nonzero(mask).item())
    fit_value(source, (count,))
    if count:
        masked_scatter_(part, mask, source)


def _assign(x, place, source):
    """Write to a view of x."""
    layout, offset = place
    if source.layout.shape != layout.shape and source.layout.ndim > layout.ndim:
        source = _without_leading_ones(source, layout.shape)
    if layout.handler is not None or source.layout.handler is not None:
        if not getattr(layout.handler, "assignable", True):
            raise TypeError("Cannot assign to a sparse tensor")
        copy_(make_view(x, place, SLICE), source)
        return
    if (modes.grad and (x.node is not None or source.node is not None)) or not x.layout.contiguous \
            or share_memory(source, x) or source.layout.device is not layout.device or x.layout.weak:
        target = make_view(x, place, SLICE)
        itself = source.address == target.address and source.layout is layout and source.memory is x.memory
        if itself and _same_history(source, target):     # `x[i] += y` ends by assigning x[i] to itself
            mark_written(x.memory, "copy_")
        else:
            copy_(target, source)
        return
    if source.layout.shape != layout.shape and source.layout.ndim:
        expand_layout(source.layout, layout.shape)       # raises unless it broadcasts
    mark_written(x.memory, "copy_")
    copy_elements(source, view_of(x, layout, offset))


def _same_history(source, target):
    """Whether what shares memory also has one origin on the tape: views of one tensor do, a detached tensor does not."""
    if not modes.grad or (source.node is None and target.node is None):
        return True
    check_inplace_allowed(target, "copy")
    base = target._base
    return base is not None and (source is base or source._base is base)


def _without_leading_ones(source, shape):
    extra = source.layout.ndim - len(shape)
    return reshape(source, source.layout.shape[extra:]) if all(n == 1 for n in source.layout.shape[:extra]) else source


# ---------------------------------------------------------------- index_put
def _put_indices(self, indices):
    dims, tensors = [], []
    for item in indices:
        if item is not None and not isinstance(item, Tensor):
            raise TypeError(f"index_put_(): expected a tuple of Tensors as indices, got {type(item).__name__}")
    (_, _), dims, tensors = find_basic(self.layout, tuple([slice(None) if i is None else _with_dims(i) for i in indices]))
    if not tensors:
        raise IndexError("index_put_(): expected at least one index tensor")
    return dims, as_indices(tensors, self.layout.device)


def _with_dims(index):
    return index if index.layout.ndim or index.layout.dtype is bool_ else reshape(index, 1)


@method
def index_put_(self, indices, values, accumulate: bool = False) -> Tensor:
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
    check_truths("index_put_", accumulate=accumulate)
    dims, tensors = _put_indices(self, indices)
    return put_values(self, dims, tensors, values, accumulate)


@method
def index_put(input, indices, values, accumulate: bool = False) -> Tensor:
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
    check_truths("index_put", accumulate=accumulate)
    return into_fresh(index_put_, clone(input), indices, values, accumulate)


# ---------------------------------------------------------------- as a sequence
def _iterate(self) -> Iterator[Tensor]:
    """The slices along the first dimension, one after another."""
    if not self.layout.ndim:
        raise TypeError("iteration over a 0-d tensor")
    if (self.node is not None and modes.grad) or self.layout.handler is not None:
        return iter(unbind(self))
    below, extent, stride = row(self.layout)
    return (make_view(self, (below, i * stride), SELECT) for i in range(extent))


def _reversed(self) -> Tensor:
    """The slices along the first dimension from the last to the first; a 0-dim tensor itself."""
    return self if not self.layout.ndim else self[list(range(self.layout.shape[0]))[::-1]]


def _contains(self, element) -> bool:
    """Whether any element equals a number or tensor (broadcast)."""
    if not isinstance(element, Tensor) and number(element) is None:
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool(reductions.any(comparison.eq(self, element)).item())


def _delitem(self, index) -> None:
    raise TypeError("Tensor does not support deleting items")


Tensor.__getitem__, Tensor.__setitem__, Tensor.__delitem__ = getitem, setitem, _delitem
Tensor.__iter__, Tensor.__reversed__, Tensor.__contains__ = _iterate, _reversed, _contains


def _within(input, indices):
    pairs = zip(indices, input.layout.shape)
    return tuple([index if index is None else index.clamp(-extent, extent - 1) for index, extent in pairs])


def _unsafe_masked_index(input, mask, indices, fill) -> Tensor:
    """The elements that indices name where a mask holds, and a number elsewhere, whatever the indices are there.

    Args:
        input: (*).
        mask: of bools, as the indices are broadcast.
        indices: integer tensors or None, one for each of the first dimensions.
        fill: the number.

    Example:
        >>> import numtorch as torch
        >>> torch._unsafe_masked_index(torch.tensor([1, 2]), torch.tensor([True, False]), [torch.tensor([1, 9])], 0)
        tensor([2, 0])
    """
    if not input.layout.numel:
        return input.new_full(mask.layout.shape, fill)
    selected = input[tuple([slice(None) if index is None else index for index in _within(input, indices)])]
    return selected.masked_fill(~mask, fill)


def _unsafe_masked_index_put_accumulate(input, mask, indices, values) -> Tensor:
    """A copy with values added at the places that indices name, where a mask holds.

    Args:
        input: (*).
        mask: of bools, as the indices are broadcast.
        indices: integer tensors or None, one for each of the first dimensions.
        values: what is added.

    Example:
        >>> import numtorch as torch
        >>> x, mask = torch.tensor([1, 2]), torch.tensor([True, False])
        >>> torch._unsafe_masked_index_put_accumulate(x, mask, [torch.tensor([1, 9])], torch.tensor([5, 5]))
        tensor([1, 7])
    """
    if not input.layout.numel:
        return input.clone()
    return index_put(input, _within(input, indices), values.masked_fill(~mask, 0), True)
