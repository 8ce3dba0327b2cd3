"""Batching rules of indexing, gathering and scattering, and of what rearranges: samples are one more dimension to index."""
from __future__ import annotations

from ...dtypes import bool_, int64
from ...layout import Layout, broadcast_shapes, wrap_dim
from ...ops.core.primitive import registry
from ...ops.core.status import has_values
from ...ops.creation.ranges import arange
from ...ops.memory.copies import to_dtype
from ...ops.pointwise.arithmetic import where
from ..batching import aligned, rule, writing
from .sizes import all_batched, along, call

_INDEX = registry["index"]


# ---------------------------------------------------------------- index tensors
def _shapes(indices, has):
    return broadcast_shapes(*[i.layout.shape[1:] if h else i.layout.shape for i, h in zip(indices, has)])


def _with_samples(level, indices, has):
    """The indices of all samples, and before them which sample each is of; and how many dimensions a sample's have."""
    rank = len(_shapes(indices, has))
    each = [to_dtype(aligned(i, rank) if h else i, int64) for i, h in zip(indices, has)]
    return [arange(level.size, device=each[0].layout.device).reshape(-1, *(1,) * rank), *each], rank


def _first(dims):
    """Where the dimensions of index tensors stand: in the place of those they index where these are neighbours, else first."""
    return dims[0] if _are_neighbours(dims) else 0


def _are_neighbours(dims):
    return dims == tuple(range(dims[0], dims[0] + len(dims)))


def _moved(x, rank, first, back=False):
    """The dimensions of index tensors, which come behind the samples, moved to where they stand in a sample; or back."""
    if not first or not rank:
        return x
    here, there = tuple(range(1, 1 + rank)), tuple(range(1 + first, 1 + first + rank))
    return x.movedim(there, here) if back else x.movedim(here, there)


@rule("index")
def index(level, primitive, values, has, attributes):
    (x, *indices), (dims, kind) = values, attributes
    if has[0]:
        dims = tuple([wrap_dim(d, x.layout.ndim - 1) for d in dims])
        if not any(has[1:]) and _are_neighbours(dims):
            return call(primitive, values, (tuple([d + 1 for d in dims]), kind))
        each, rank = _with_samples(level, indices, has[1:])
        return _moved(call(primitive, (x, *each), ((0, *[d + 1 for d in dims]), kind)), rank, _first(dims))
    dims = tuple([wrap_dim(d, x.layout.ndim) for d in dims])
    rank = len(_shapes(indices, has[1:]))
    result = call(primitive, (x, *[aligned(i, rank) if h else i for i, h in zip(indices, has[1:])]), (dims, kind))
    return result.movedim(_first(dims), 0)


@rule("index_backward")
def index_backward(level, primitive, values, has, attributes):
    (grad, *indices), (layout, dims) = values, attributes
    each, rank = _with_samples(level, indices, has[1:])
    grad = _moved(grad if has[0] else level.all_samples(grad), rank, _first(dims), back=True)
    whole = Layout.of(layout.dtype, (level.size, *layout.shape), None, layout.device)
    return call(primitive, (grad, *each), (whole, (0, *[d + 1 for d in dims])))


@rule("index_select")
def index_select(level, primitive, values, has, attributes):
    (x, places), (dim,) = values, attributes
    if has[1]:
        ndim = x.layout.ndim - has[0]
        if not ndim:
            return index(level, _INDEX, [x.unsqueeze(-1), places], has, ((0,), "index_select")).reshape(level.size)
        places = places if places.layout.ndim > 1 else places.unsqueeze(1)
        return index(level, _INDEX, [x, places], has, ((wrap_dim(dim, ndim),), "index_select"))
    x, dim, added = along(x, dim)
    result = call(primitive, (x, places), (dim,))
    return result.squeeze(1) if added else result


@writing("index_fill")
def index_fill(level, primitive, values, has, attributes):
    """What is filled counts once, however often the index names it: chosen by a mask."""
    (x, source, places), ndim = values, values[0].layout.ndim - 1
    dim = wrap_dim(attributes[0][0], ndim)
    extent = x.layout.shape[dim + 1]
    places = places.reshape(level.size, -1) if has[2] else places.reshape(-1)
    if has_values(places) and bool(((places >= extent) | (places < -extent)).any()):
        raise IndexError(f"index_fill: index out of bounds for dimension {dim} with size {extent}")
    every = arange(extent, device=x.layout.device)
    mask = ((places % extent).unsqueeze(-1) == every).any(-2) if extent else places.new_zeros((extent,), dtype=bool_)
    mask = mask.reshape(-1 if has[2] else 1, *(1,) * dim, extent, *(1,) * (ndim - 1 - dim))
    x.copy_(where(mask, aligned(source, ndim) if has[1] else source, x))


@writing("index_put", "index_add", "index_copy", "index_reduce", "put")
def put(level, primitive, values, has, attributes):
    (x, source, *indices), (dims, reduce, kind) = values, attributes
    dims = tuple([wrap_dim(d, x.layout.ndim - 1) for d in dims])
    shape, rest = _shapes(indices, has[2:]), [n for d, n in enumerate(x.layout.shape[1:]) if d not in dims]
    first = _first(dims)
    each, rank = _with_samples(level, indices, has[2:])
    source = (source if has[1] else level.all_samples(source)).to(x.layout.dtype)
    source = aligned(source, len(rest) + rank).expand(level.size, *rest[:first], *shape, *rest[first:])
    call(primitive, (x, _moved(source, rank, first, back=True), *each), ((0, *[d + 1 for d in dims]), reduce, kind))


# ---------------------------------------------------------------- gather and scatter
@rule("gather")
def gather(level, primitive, values, has, attributes):
    x, places = all_batched(level, values, has)
    x, dim, added = along(x, attributes[0])
    if places.layout.ndim == 1:
        return call(primitive, (x, places.unsqueeze(1)), (dim,)).squeeze(1)
    return call(primitive, (x, places), (dim,))


@rule("scatter_reduced")
def combined(level, primitive, values, has, attributes):
    x, places, source = all_batched(level, values, has)
    dim, *rest = attributes
    if x.layout.ndim > 1:
        return call(primitive, (x, places, source), (wrap_dim(dim, x.layout.ndim - 1) + 1, *rest))
    places, source = [t if t.layout.ndim > 1 else t.unsqueeze(1) for t in (places, source)]
    return call(primitive, (x.unsqueeze(1), places, source), (1, *rest)).squeeze(1)


@writing("scatter", "scatter_add", "scatter_reduce")
def scatter(level, primitive, values, has, attributes):
    (x, places, source), (dim, how) = values, attributes
    places = places if has[1] else level.all_samples(places)
    if has[2]:
        source = aligned(source, places.layout.ndim - 1).expand(places.layout.shape) if source.layout.ndim == 1 else source
    elif source.layout.ndim:
        source = level.all_samples(source)
    if x.layout.ndim == 1:
        x, places = x.unsqueeze(1), places if places.layout.ndim > 1 else places.unsqueeze(1)
        source = source.unsqueeze(1) if source.layout.ndim == 1 else source
    call(primitive, (x, places, source), (wrap_dim(dim, x.layout.ndim - 1) + 1, how))


# ---------------------------------------------------------------- rearranged
@rule("flip")
def flip(level, primitive, values, has, attributes):
    value = values[0]
    return call(primitive, (value,), (tuple([wrap_dim(d, value.layout.ndim - 1) + 1 for d in attributes[0]]),)) \
        if value.layout.ndim > 1 else value.clone()


@rule("roll")
def roll(level, primitive, values, has, attributes):
    value, (shifts, dims) = values[0], attributes
    if dims is None or dims == ():
        return value.flatten(1).roll(shifts, 1).reshape(value.layout.shape) if value.layout.ndim > 1 else value.clone()
    return value.roll(shifts, tuple([wrap_dim(d, value.layout.ndim - 1) + 1 for d in ((dims,) if isinstance(dims, int) else dims)]))


@rule("repeat")
def repeat(level, primitive, values, has, attributes):
    value, counts = values[0], attributes[0]
    return call(primitive, (aligned(value, len(counts)),), ((1, *counts),))


@rule("repeat_interleave")
def repeat_interleave(level, primitive, values, has, attributes):
    times, dim = attributes
    return call(primitive, values, (times, dim + 1))


@rule("tril", "triu")
def triangle(level, primitive, values, has, attributes):
    return call(primitive, values, attributes)


@rule("diag_embed")
def diag_embed(level, primitive, values, has, attributes):
    offset, first, second = attributes
    ndim = values[0].layout.ndim
    return call(primitive, values, (offset, wrap_dim(first, ndim) + 1, wrap_dim(second, ndim) + 1))


@rule("trace")
def trace(level, primitive, values, has, attributes):
    return values[0].diagonal(0, 1, 2).sum(1)
