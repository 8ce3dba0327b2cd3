"""Views of sparse tensors, which have memory of their own: dimensions swapped, picked from and added; `cat` and `index_select`."""
from __future__ import annotations

from ..autograd.api import grad as gradients_of
from ..autograd.graph import GraphNode, Recorded, recording
from ..autograd.modes import enable_grad, modes
from ..layout import wrap_dim
from ..ops.creation.fill import full, zeros
from ..ops.creation.ranges import arange
from ..ops.index.index_select import index_add, index_select, index_values
from ..ops.index.mask import nonzero
from ..ops.index.rearrange import repeat_interleave
from ..ops.pointwise import comparison
from ..ops.reduce import reductions
from ..ops.shape.join import cat
from ..ops.shape.slicing import narrow, select
from ..ops.shape.view_scatter import select_scatter, slice_scatter
from ..ops.shape.views import permute, squeeze, unsqueeze
from ..ops.sort.order import sort
from ..ops.sort.scan import cumsum
from ..ops.sort.search import searchsorted
from ..tensor import alias
from .conversions import as_kind, of_batch, transposed
from .coo import LINEAR, PERMUTE, coo, coordinates, entries, like, stacked, takes_all, through
from .handler import VIEWS, refusal, rule
from .layouts import is_sparse


def view(*names):
    return rule(*names, among=VIEWS)


def _coordinates_only(function):
    """A view of COO tensors: compressed ones become such."""
    def of_any(x, *arguments):
        return function(as_kind(x, "sparse_coo"), *arguments)
    return of_any


# ---------------------------------------------------------------- gradients of all elements
_CAT, _SELECT, _SLICE, _INDEX_SELECT, _UNSQUEEZE = [
    Recorded(name) for name in ("cat", "select", "slice", "index_select", "unsqueeze")]
LINEAR.update((_CAT, _SELECT, _SLICE, _INDEX_SELECT, _UNSQUEEZE))


def _gradients(tensors, grad, again, adjoint):
    """The gradients of a call's tensors: of a dense gradient by `adjoint`, of a sparse one those of the stored elements, of which
    the call is made `again`."""
    if not is_sparse(grad):
        return adjoint(*tensors)
    with enable_grad():
        given = [like(t, t.memory.parts[-1].detach().requires_grad_()) for t in tensors]
        result = again(*given)
    return tuple(gradients_of([result], given, [grad], create_graph=modes.grad))


@_CAT.derivative
def _cat_vjp(node, grad, *tensors):
    dim = node.attributes
    def parts(*tensors):
        extents = [t.layout.shape[dim] for t in tensors]
        return tuple([narrow(grad, dim, sum(extents[:i]), n) for i, n in enumerate(extents)])
    return _gradients(tensors, grad, lambda *again: _cat(None, *again, dim), parts)


@_SELECT.derivative
def _select_vjp(node, grad, x):
    dim, index = node.attributes
    return _gradients((x,), grad, lambda x: _select(x, dim, index),
                      lambda x: (select_scatter(_zeros(x), grad, dim, index),))


@_SLICE.derivative
def _slice_vjp(node, grad, x):
    dim, *bounds = node.attributes
    return _gradients((x,), grad, lambda x: _slice(x, dim, *bounds),
                      lambda x: (slice_scatter(_zeros(x), grad, dim, *bounds),))


@_INDEX_SELECT.derivative
def _index_select_vjp(node, grad, x, index):
    dim = node.attributes
    return *_gradients((x,), grad, lambda x: _index_select(None, x, index, dim),
                       lambda x: (index_add(_zeros(x), dim, index, grad),)), None


@_UNSQUEEZE.derivative
def _unsqueeze_vjp(node, grad):
    return (squeeze(grad, node.attributes),)


def _of_all(x):
    """Whether a gradient of all elements of a tensor is wanted."""
    return recording(x) and x.layout.kind == "sparse_coo" and takes_all(x.node)


def _zeros(x):
    return zeros(x.layout.shape, dtype=x.layout.dtype, device=x.layout.device)


# ---------------------------------------------------------------- order
@PERMUTE.derivative
def _permute_vjp(node, grad):
    """Of a gradient that is sparse or dense."""
    dims = node.attributes
    return (permute(grad, [dims.index(d) for d in range(len(dims))]),)


@view("permute")
def _permute(x, dims):
    layout = x.layout
    dims = [wrap_dim(d, layout.ndim) for d in dims]
    if recording(x):
        out = _permute(x.detach(), dims)
        out.node = GraphNode(PERMUTE, (x.node,), (), tuple(dims))
        return out
    if layout.kind != "sparse_coo":
        swapped = list(range(layout.ndim))
        if dims == swapped:
            return alias(x)
        swapped[layout.batch], swapped[layout.batch + 1] = layout.batch + 1, layout.batch
        if dims != swapped:
            raise refusal("permute of other dimensions than rows and columns", x)
        return transposed(x)
    inside = layout.sparse_dim
    if any((d < inside) != (i < inside) for i, d in enumerate(dims)):
        raise RuntimeError("permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only "
                           "transpositions within sparse and dense dimensions are supported.")
    if dims == list(range(layout.ndim)):
        return alias(x)
    x, values = entries(x)
    rows = coordinates(x)
    indices = stacked([rows[d] for d in dims[:inside]]) if inside else x.memory.parts[0]
    if layout.dense_dim:
        values = permute(values, (0, *[1 + d - inside for d in dims[inside:]])).contiguous()
    kept = dims[:inside] == list(range(inside)) and x.memory.coalesced
    return coo(indices, values, [layout.shape[d] for d in dims], kept, "permute")


@view("transpose")
def _transpose(x, a, b):
    layout = x.layout
    a, b = wrap_dim(a, layout.ndim), wrap_dim(b, layout.ndim)
    if layout.kind == "sparse_coo" and (a < layout.sparse_dim) != (b < layout.sparse_dim):
        raise RuntimeError(f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {layout.sparse_dim}, d0: {a}, "
                           f"d1: {b}")
    dims = list(range(layout.ndim))
    if dims:
        dims[a], dims[b] = dims[b], dims[a]
    return _permute(x, dims)


# ---------------------------------------------------------------- parts
def _kept(x, values, kept, indices, shape, name):
    """The elements whose numbers are `kept`."""
    return coo(index_select(indices, 1, kept), index_values(values, (0,), (kept,)), shape, x.memory.coalesced, name)


@view("select")
def _select(x, dim, index):
    dim = wrap_dim(dim, x.layout.ndim)
    index += x.layout.shape[dim] if index < 0 else 0
    if x.layout.kind != "sparse_coo":
        if dim < x.layout.batch:
            return of_batch(x, dim, index)
        x = as_kind(x, "sparse_coo")
    layout = x.layout
    if _of_all(x) and (layout.sparse_dim > 1 or dim >= layout.sparse_dim):
        return through(x, _SELECT, lambda x: _select(x, dim, index), (x,), (dim, index))
    shape = layout.shape[:dim] + layout.shape[dim + 1:]
    x, values = entries(x)
    indices = x.memory.parts[0]
    if dim >= layout.sparse_dim:
        return coo(indices, select(values, 1 + dim - layout.sparse_dim, index).contiguous(), shape, x.memory.coalesced, "select")
    kept = nonzero(comparison.eq(indices[dim], index))[:, 0]
    if layout.sparse_dim == 1:                           # nothing is left to index
        picked = index_values(values, (0,), (kept,))
        return reductions.sum(picked, 0, dtype=picked.layout.dtype)      # as elements that are stored twice add up elsewhere
    rest = [d for d in range(layout.sparse_dim) if d != dim]
    return _kept(x, values, kept, stacked([indices[d] for d in rest]), shape, "select")


@view("slice_dim")
@_coordinates_only
def _slice(x, dim, start, stop, step):
    layout = x.layout
    dim = wrap_dim(dim, layout.ndim)
    start, stop, step = slice(start, stop, step).indices(layout.shape[dim])
    if step < 0:
        raise ValueError("step must be greater than zero")
    count = len(range(start, stop, step))
    shape = (*layout.shape[:dim], count, *layout.shape[dim + 1:])
    if shape == layout.shape:
        return alias(x)
    if _of_all(x):
        return through(x, _SLICE, lambda x: _slice(x, dim, start, stop, step), (x,), (dim, start, stop, step))
    x, values = entries(x)
    indices = x.memory.parts[0]
    if dim >= layout.sparse_dim:
        place = 1 + dim - layout.sparse_dim
        picked = index_select(values, place, arange(start, start + count * step, step, device=values.layout.device))
        return coo(indices, picked, shape, x.memory.coalesced, "slice")
    along = indices[dim]
    inside = comparison.logical_and(comparison.ge(along, start), comparison.lt(along, stop))
    if step > 1:
        inside = comparison.logical_and(inside, comparison.eq((along - start) % step, 0))
    rows = list(coordinates(x))
    rows[dim] = (along - start) // step
    return _kept(x, values, nonzero(inside)[:, 0], stacked(rows), shape, "slice")


@view("narrow")
def _narrow(x, dim, start, length):
    start += x.layout.shape[wrap_dim(dim, x.layout.ndim)] if start < 0 else 0
    return _slice(x, dim, start, start + length, 1)


# ---------------------------------------------------------------- dimensions of extent 1
@view("unsqueeze")
@_coordinates_only
def _unsqueeze(x, dim):
    layout = x.layout
    dim = wrap_dim(dim, layout.ndim + 1)
    if _of_all(x):
        return through(x, _UNSQUEEZE, lambda x: _unsqueeze(x, dim), (), dim)
    shape = (*layout.shape[:dim], 1, *layout.shape[dim:])
    x, values = entries(x)
    if dim > layout.sparse_dim:
        return coo(x.memory.parts[0], unsqueeze(values, 1 + dim - layout.sparse_dim), shape, x.memory.coalesced, "unsqueeze")
    rows = list(coordinates(x))
    rows.insert(dim, full((values.layout.shape[0],), 0, dtype=x.memory.parts[0].layout.dtype, device=values.layout.device))
    return coo(stacked(rows), values, shape, x.memory.coalesced, "unsqueeze")


@view("squeeze")
@_coordinates_only
def _squeeze(x, dims):
    shape = x.layout.shape
    chosen = range(len(shape)) if dims is None else [wrap_dim(d, len(shape)) for d in dims]
    for dim in sorted([d for d in chosen if shape[d] == 1], reverse=True):
        x = _select(x, dim, 0)
    return x


# ---------------------------------------------------------------- joined, and picked by index
@rule("cat")
def _cat(primitive, *arguments):
    *tensors, dim = arguments
    _check_joined(tensors)
    first = tensors[0].layout
    dim = wrap_dim(dim, first.ndim)
    for i, t in enumerate(tensors):
        if t.layout.sparse_dim != first.sparse_dim or t.layout.ndim != first.ndim or any(
                a != b for d, (a, b) in enumerate(zip(t.layout.shape, first.shape)) if d != dim):
            raise RuntimeError(f"All tensors must have the same shape: {list(first.shape)} (except in the concatenating "
                               f"dimension), but found shape: {list(t.layout.shape)} at position {i}")
    if any(map(_of_all, tensors)):
        out = _cat(primitive, *[t.detach() for t in tensors], dim)
        out.node = GraphNode(_CAT, [t.node if recording(t) else None for t in tensors], tensors, dim)
        return out
    pairs = [entries(t) for t in tensors]
    shape = list(first.shape)
    shape[dim] = sum(t.layout.shape[dim] for t in tensors)
    indices, values, before = [], [], 0
    for (t, v) in pairs:
        rows = list(coordinates(t))
        if dim < first.sparse_dim:
            rows[dim] = rows[dim] + before
        else:
            behind = shape[dim] - before - t.layout.shape[dim]
            place = 1 + dim - first.sparse_dim
            v = cat([_blank(v, place, before), v, _blank(v, place, behind)], place)
        before += t.layout.shape[dim]
        indices.append(stacked(rows))
        values.append(v)
    return coo(cat(indices, 1), cat(values, 0), shape, False, "cat")


def _check_joined(tensors):
    for place, each in enumerate(tensors):
        if each.layout.kind != "sparse_coo":
            raise RuntimeError(f"Concatenating sparse tensors, but a {each.layout.kind} tensor was found at position {place}.")


def _blank(values, place, extent):
    shape = list(values.layout.shape)
    shape[place] = extent
    return full(shape, 0, dtype=values.layout.dtype, device=values.layout.device)


@rule("stack")
def _stack(primitive, *arguments):
    *tensors, dim = arguments
    _check_joined(tensors)
    dim = wrap_dim(dim, tensors[0].layout.ndim + 1)
    return cat([_unsqueeze(t, dim) for t in tensors], dim)


@rule("index_select")
def _index_select(primitive, x, index, dim):
    if x.layout.kind != "sparse_coo":
        raise refusal("index_select", x)
    layout = x.layout
    dim = wrap_dim(dim, layout.ndim)
    if _of_all(x):
        out = _index_select(primitive, x.detach(), index, dim)
        out.node = GraphNode(_INDEX_SELECT, (x.node, None), (x, index), dim)
        return out
    shape = (*layout.shape[:dim], index.layout.numel, *layout.shape[dim + 1:])
    x, values = entries(x)
    indices = x.memory.parts[0]
    if dim >= layout.sparse_dim:
        return coo(indices, index_select(values, 1 + dim - layout.sparse_dim, index), shape, x.memory.coalesced, "index_select")
    if index.layout.numel and not (0 <= reductions.amin(index).item() and reductions.amax(index).item() < layout.shape[dim]):
        raise IndexError(f"index_select(): index out of range for dimension {dim} of size {layout.shape[dim]}")
    ordered, order = sort(index)
    first = searchsorted(ordered, indices[dim].contiguous())
    counts = searchsorted(ordered, indices[dim].contiguous(), right=True) - first
    kept = repeat_interleave(counts)                     # each element as often as the index names its place
    begins = cumsum(counts, 0) - counts
    within = arange(kept.layout.numel, device=kept.layout.device) - index_select(begins, 0, kept)
    rows = [index_select(row, 0, kept) for row in coordinates(x)]
    rows[dim] = index_select(order, 0, index_select(first, 0, kept) + within)
    return coo(stacked(rows), index_values(values, (0,), (kept,)), shape, False, "index_select")
