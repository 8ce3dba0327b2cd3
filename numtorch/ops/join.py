"""Tensors put together and rearranged by copying: cat, stack, repeat, flip, roll, triangles, diagonals, grids."""
from __future__ import annotations

import warnings

import numpy as np

from .. import layout as algebra
from ..autograd.graph import GraphNode, recording
from ..dtypes import int64, promote_types
from ..exchange import make
from ..layout import Layout, as_shape, contiguous_strides, wrap_dim, wrap_dims
from ..tensor import Tensor, empty
from . import comparison
from .arithmetic import where
from .copy import clone, copy_, filled, plan_copy, register, to_dtype
from .creation import arange
from .gather import index_values
from .op import method, new_plan_table
from .view import expand, narrow, place, reshape, select, transpose, unsqueeze


# ---------------------------------------------------------------- cat and stack
class _JoinPlan:
    """What a cat or stack of given layouts must know: the result's layout, and for each tensor the copy that puts it there."""

    __slots__ = ("out", "parts", "pieces", "dtypes")


_joins = new_plan_table()


def _tensors_of(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for place_in_list, each in enumerate(tensors):
        if not isinstance(each, Tensor):
            raise TypeError(f"expected Tensor as element {place_in_list} in argument 0, but got {type(each).__name__}")
    return tensors


def _common(layouts):
    """The promoted dtype and the one device of several layouts."""
    kind, device = layouts[0].dtype, layouts[0].device
    for layout in layouts[1:]:
        kind = promote_types(kind, layout.dtype)
        if layout.device is not device:
            raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {device} and "
                               f"{layout.device}!")
    return kind, device


def _plan_cat(layouts, dim):
    for position, layout in enumerate(layouts):
        if not layout.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    real = [each for each in layouts if each.shape != (0,)] or layouts       # empty vectors go along with anything
    first = real[0]
    dim = wrap_dim(dim, first.ndim)
    total = 0
    for position, layout in enumerate(layouts):
        if layout.shape == (0,) and first.shape != (0,):
            continue
        if layout.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {layout.ndim}")
        for d, (n, m) in enumerate(zip(first.shape, layout.shape)):
            if d != dim and n != m:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for "
                                   f"tensor number {position} in the list.")
        total += layout.shape[dim]
    kind, device = _common(layouts)
    shape = first.shape[:dim] + (total,) + first.shape[dim + 1:]
    pieces, start = [], 0
    for layout in layouts:
        if layout.shape == (0,) and first.shape != (0,):
            pieces.append(None)
            continue
        pieces.append((dim, start, layout.shape[dim]))
        start += layout.shape[dim]
    return _plan_join(layouts, Layout.of(kind, shape, None, device), pieces, narrow)


def _plan_stack(layouts, dim):
    for position, layout in enumerate(layouts):
        if layout.shape != layouts[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(layouts[0].shape)} at entry 0 and "
                               f"{list(layout.shape)} at entry {position}")
    kind, device = _common(layouts)
    shape = layouts[0].shape
    dim = wrap_dim(dim, len(shape) + 1)
    out = Layout.of(kind, shape[:dim] + (len(layouts),) + shape[dim:], None, device)
    return _plan_join(layouts, out, [(dim, i) for i in range(len(layouts))], select)


def _plan_join(layouts, out, pieces, view):
    plan = _JoinPlan()
    plan.out, plan.pieces, plan.dtypes = out, pieces, [each.dtype for each in layouts]
    plan.parts = []
    for position, (layout, piece) in enumerate(zip(layouts, pieces)):
        if layout.numel:
            region, offset = getattr(algebra, view.__name__)(out, *piece)
            plan.parts.append((position, offset * out.dtype.itemsize, plan_copy(layout, region)))
    return plan


def _join(title, plan_for, vjp, tensors, dim):
    key = (title, dim, *[t.layout for t in tensors])
    plan = _joins.get(key)
    if plan is None:
        plan = _joins.keep(key, plan_for([t.layout for t in tensors], dim))
    out = empty(plan.out)
    address = out.address
    for position, offset, prepared in plan.parts:
        prepared.call(tensors[position].address, address + offset, prepared.walk)
    for each in tensors:
        if each.node is not None:
            if recording(each) and plan.out.dtype.category >= 2:
                out.node = GraphNode(title, tuple([t.node for t in tensors]), (), vjp, plan)
            break
    return out


def _cat_vjp(node, grad):
    return _cut(node, grad, narrow)


def _stack_vjp(node, grad):
    return _cut(node, grad, select)


def _cut(node, grad, view):
    plan = node.constants
    return [_typed(view(grad, *piece), kind) if piece is not None and node.needs(position) else None
            for position, (piece, kind) in enumerate(zip(plan.pieces, plan.dtypes))]


def _typed(grad, kind):
    if grad.layout.dtype.is_complex and not kind.is_complex:
        grad = grad.real
    return to_dtype(grad, kind)


def _finish(out, result):
    return result if out is None else copy_(out, result.detach())


@register
def cat(tensors, dim: int = 0, *, out=None) -> Tensor:
    """Tensors one after another along a dimension; their other extents must agree. Dtypes are promoted.

    Raises:
        ValueError: no tensors. RuntimeError: the shapes do not fit. TypeError: something that is not a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)])
        tensor([[0., 0.],
                [1., 1.],
                [1., 1.]])
    """
    if not _tensors_of("cat", tensors):
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return _finish(out, _join("cat", _plan_cat, _cat_vjp, tensors, dim))


concat = concatenate = cat


@register
def stack(tensors, dim: int = 0, *, out=None) -> Tensor:
    """Tensors of one shape along a new dimension.

    Raises:
        RuntimeError: no tensors, or shapes that differ. TypeError: something that is not a tensor.
    """
    if not _tensors_of("stack", tensors):
        raise RuntimeError("stack expects a non-empty TensorList")
    return _finish(out, _join("stack", _plan_stack, _stack_vjp, tensors, dim))


def atleast_1d(*tensors):
    """Tensors with at least one dimension. One tensor, or a tuple for several."""
    return _each(lambda x: x if x.layout.ndim else reshape(x, 1), tensors)


def atleast_2d(*tensors):
    """Tensors with at least two dimensions; vectors become rows."""
    return _each(lambda x: x if x.layout.ndim > 1 else reshape(x, 1, -1), tensors)


def atleast_3d(*tensors):
    """Tensors with at least three dimensions; vectors become (1, n, 1), matrices (n, m, 1)."""
    return _each(lambda x: x if x.layout.ndim > 2 else unsqueeze(atleast_2d(x), -1), tensors)


def _each(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple([function(x) for x in (tensors[0] if len(tensors) == 1 else tensors)])


def hstack(tensors, *, out=None) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 for vectors."""
    tensors = atleast_1d(tuple(tensors))
    return cat(tensors, 0 if tensors[0].layout.ndim == 1 else 1, out=out)


def vstack(tensors, *, out=None) -> Tensor:
    """Tensors below each other; vectors are rows."""
    return cat(atleast_2d(tuple(tensors)), 0, out=out)


row_stack = vstack


def dstack(tensors, *, out=None) -> Tensor:
    """Tensors along dimension 2."""
    return cat(atleast_3d(tuple(tensors)), 2, out=out)


def column_stack(tensors, *, out=None) -> Tensor:
    """Tensors side by side; vectors are columns."""
    return cat([x if x.layout.ndim > 1 else reshape(x, -1, 1) for x in tensors], 1, out=out)


# ---------------------------------------------------------------- repeating
@method
def repeat(self, *repeats):
    """This tensor `repeats[i]` times along dimension i; extra repeats are new leading dimensions.

    Raises:
        RuntimeError: fewer repeats than dimensions, or a negative one.
    """
    repeats = as_shape(repeats, "repeat")
    shape = (1,) * (len(repeats) - self.layout.ndim) + self.layout.shape
    if len(repeats) < self.layout.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    final = tuple(n * r for n, r in zip(shape, repeats))
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(final)}: {list(final)}")
    paired = [e for n in shape for e in (1, n)]
    wide = [e for r, n in zip(repeats, shape) for e in (r, n)]
    return reshape(clone(expand(reshape(self, paired), wide), memory_format="contiguous"), final)


@method
def tile(input, *dims):
    """Like `repeat`, with fewer repeats than dimensions allowed: they are for the last ones."""
    dims = as_shape(dims, "tile")
    return repeat(input, *(1,) * (input.layout.ndim - len(dims)), *dims)


@method
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None) -> Tensor:
    """Each element (or each slice of `dim`) several times in a row.

    Args:
        repeats: how often: an int, or an int64 tensor with a count for each. Alone, `input` is such a tensor and what comes
            back are the positions.
        dim: the dimension; the tensor is flattened when None.

    Raises:
        RuntimeError: negative counts, or not one for each slice.
    """
    if repeats is None:
        return make(np.repeat(np.arange(input.layout.numel), _counts(input)))
    if dim is None:
        input, dim = reshape(input, -1), 0
    dim = wrap_dim(dim, input.layout.ndim)
    size = input.layout.shape[dim]
    if not isinstance(repeats, Tensor) or repeats.layout.numel == 1:
        times = int(repeats)
        if times < 0:
            raise RuntimeError("Repeats must be non-negative")
        shape = input.layout.shape
        wide = expand(unsqueeze(input, dim + 1), *shape[:dim + 1], times, *shape[dim + 1:])
        return reshape(clone(wide, memory_format="contiguous"), *shape[:dim], size * times, *shape[dim + 1:])
    counts = _counts(repeats)
    if counts.size != size:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
                           f"input.size({dim}) = {size}")
    return index_values(input, (dim,), (make(np.repeat(np.arange(size), counts), device=input.layout.device),))


def _counts(repeats):
    if repeats.layout.ndim != 1 or repeats.layout.dtype.category != 1:
        raise RuntimeError("repeat_interleave only accepts 1D vector of integers as repeat")
    counts = repeats.cpu().numpy()
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


# ---------------------------------------------------------------- turning
_moves = new_plan_table()


def _plan_move(layout, parts):
    """`parts` are pairs of views, of the source and of a dense result: (byte offsets of the two, the copy) of each."""
    size = layout.dtype.itemsize
    return layout.dense(), [(a * size, b * size, plan_copy(source, target)) for (source, a), (target, b) in parts if target.numel]


def _moved(x, title, parts_of, vjp, *constants):
    """A dense tensor of x's shape made of views of x: `parts_of(layout, *constants)` are pairs of views, of x and the result."""
    key = (title, x.layout, *constants)
    found = _moves.get(key)
    if found is None:
        found = _moves.keep(key, _plan_move(x.layout, parts_of(x.layout, *constants)))
    layout, parts = found
    out = empty(layout)
    for a, b, prepared in parts:
        prepared.call(x.address + a, out.address + b, prepared.walk)
    if x.node is not None and recording(x) and layout.dtype.category >= 2:
        out.node = GraphNode(title, (x.node,), (), vjp, constants)
    return out


@method
def flip(input, *dims) -> Tensor:
    """The order of elements reversed along dimensions."""
    dims = wrap_dims(as_shape(dims, "flip"), input.layout.ndim)
    return _moved(input, "flip", _flip_parts, _flip_vjp, dims)


def _flip_parts(layout, dims):
    source, offset = layout, 0
    for d in dims if layout.ndim else ():
        source, more = algebra.slice_dim(source, d, None, None, -1)
        offset += more
    return [((source, offset), (layout.dense(), 0))]


def _flip_vjp(node, grad):
    return (flip(grad, *node.constants),)


@method
def fliplr(input) -> Tensor:
    """Columns in reverse order."""
    return flip(input, 1)


@method
def flipud(input) -> Tensor:
    """Rows in reverse order."""
    return flip(input, 0)


@method
def rot90(input, k: int = 1, dims=(0, 1)) -> Tensor:
    """Turned by k quarter turns in the plane of two dimensions, from the first towards the second."""
    a, b = (wrap_dim(d, input.layout.ndim) for d in dims)
    k %= 4
    if k == 0:
        return clone(input)
    if k == 2:
        return flip(input, a, b)
    return flip(transpose(input, a, b), a) if k == 1 else transpose(flip(input, a), a, b)


@method
def roll(input, shifts, dims=None) -> Tensor:
    """Elements moved `shifts` places on along `dims`, those pushed off the end coming in at the start; flattened without dims.

    Raises:
        RuntimeError: not one shift for each dimension.
    """
    shifts = (shifts,) if isinstance(shifts, int) else tuple(shifts)
    dims = () if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
    if not dims and len(shifts) == 1:
        return reshape(roll(reshape(input, -1), shifts[0], 0), input.layout.shape)
    if len(shifts) != len(dims) or not shifts:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    for shift, dim in zip(shifts, dims):
        input = _roll(input, shift, wrap_dim(dim, input.layout.ndim))
    return input


def _roll(x, shift, dim):
    size = x.layout.shape[dim] if x.layout.ndim else 1
    return _moved(x, "roll", _roll_parts, _roll_vjp, shift % size if size else 0, dim)


def _roll_parts(layout, shift, dim):
    target = layout.dense()
    if not shift:
        return [((layout, 0), (target, 0))]
    size = layout.shape[dim]
    return [(algebra.narrow(layout, dim, a, n), algebra.narrow(target, dim, b, n))
            for a, b, n in ((0, shift, size - shift), (size - shift, 0, shift))]


def _roll_vjp(node, grad):
    shift, dim = node.constants
    return (_roll(grad, -shift, dim),)


# ---------------------------------------------------------------- triangles and diagonals
_triangles = new_plan_table()
_SMALL_MASK = 1 << 16                                    # elements of a triangle's mask that is worth keeping


def _triangle(rows, columns, last, device):
    """A bool mask of the elements on and below the diagonal `last` above the main one."""
    key = (rows, columns, last, device)
    found = _triangles.get(key)
    if found is None:
        found = comparison.le(arange(columns, device=device), unsqueeze(arange(rows, device=device), 1) + last)
        if found.layout.numel <= _SMALL_MASK:
            _triangles.keep(key, found)
    return found


def _check_matrix(name, x):
    if x.layout.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")


@method
def tril(input, diagonal: int = 0, *, out=None) -> Tensor:
    """The lower triangle of matrices, 0 above the diagonal `diagonal` above the main one."""
    _check_matrix("tril", input)
    rows, columns = input.layout.shape[-2:]
    mask = _triangle(rows, columns, diagonal, input.layout.device)
    return _finish(out, where(mask, input, _zero(input)))


@method
def triu(input, diagonal: int = 0, *, out=None) -> Tensor:
    """The upper triangle of matrices, 0 below the diagonal `diagonal` above the main one."""
    _check_matrix("triu", input)
    rows, columns = input.layout.shape[-2:]
    mask = _triangle(rows, columns, diagonal - 1, input.layout.device)
    return _finish(out, where(mask, _zero(input), input))


def _zero(x):
    return filled(Layout.of(x.layout.dtype, (), None, x.layout.device), 0)


def _in_place(function):
    def inplace(self, diagonal: int = 0):
        return copy_(self, function(self, diagonal))
    inplace.__doc__ = f"In-place form of `{function.__name__}`."
    method(inplace, function.__name__ + "_")


_in_place(tril)
_in_place(triu)


def _triangle_indices(keep, row, col, offset, dtype, device):
    return make(np.stack(np.nonzero(keep(np.arange(col) - np.arange(row)[:, None], offset))), dtype=dtype or int64, device=device)


def tril_indices(row, col, offset: int = 0, *, dtype=None, device=None) -> Tensor:
    """Row and column (2, count) of every element in the lower triangle of a row x col matrix."""
    return _triangle_indices(np.less_equal, row, col, offset, dtype, device)


def triu_indices(row, col, offset: int = 0, *, dtype=None, device=None) -> Tensor:
    """Row and column (2, count) of every element in the upper triangle of a row x col matrix."""
    return _triangle_indices(np.greater_equal, row, col, offset, dtype, device)


@method
def diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in dimensions dim1 and dim2, zero but for a diagonal, which the last dimension of `input` holds."""
    ndim = input.layout.ndim + 1
    a, b = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = input.layout.shape[-1] + (offset if offset >= 0 else -offset)
    others = iter(input.layout.shape[:-1])
    shape = tuple(size if d in (a, b) else next(others) for d in range(ndim))
    base = Layout.of(input.layout.dtype, shape, contiguous_strides(shape), input.layout.device)
    return place(input, base, *algebra.diagonal(base, offset, a, b))


@method
def diag(input, diagonal: int = 0) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix.

    Raises:
        RuntimeError: neither a vector nor a matrix.
    """
    if input.layout.ndim == 1:
        return diag_embed(input, diagonal)
    if input.layout.ndim == 2:
        return clone(input.diagonal(diagonal))
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.layout.ndim}D")


@method
def diagflat(input, offset: int = 0) -> Tensor:
    """A matrix with all elements of a tensor as its diagonal."""
    return diag_embed(reshape(input, -1), offset)


# ---------------------------------------------------------------- grids
def meshgrid(*tensors, indexing=None):
    """Views of vectors expanded to the grid that they span.

    Args:
        indexing: "ij" (the first tensor runs along dimension 0; default) or "xy" (along dimension 1).
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2)
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for each in tensors:
        if each.layout.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape "
                               f"{list(each.layout.shape)}")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.layout.numel for t in tensors)
    grids = [expand(reshape(t, *[-1 if i == d else 1 for i in range(len(shape))]), shape) for d, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors) -> Tensor:
    """All combinations of the elements of vectors, one a row; a single vector is itself."""
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(g, -1) for g in meshgrid(*tensors, indexing="ij")], 1)
