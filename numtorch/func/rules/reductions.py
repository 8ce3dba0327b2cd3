"""Batching rules of reductions, running sums and order: their dimensions are counted behind the samples'."""
from __future__ import annotations

from ...ops.pointwise.arithmetic import mul
from ...ops.sort.order import median as median_of
from ...ops.sort.order import nanmedian
from ..batching import rule
from .sizes import all_batched, along, call, dims_behind


@rule("sum", "nansum", "prod", "mean", "max", "min", "any", "all", "var", "std", "norm", "count_nonzero")
def reduction(level, primitive, values, has, attributes):
    value, (dims, keepdim, *options) = values[0], attributes
    ndim = value.layout.ndim - 1
    result = dims_behind(dims, ndim)
    if not ndim:
        return call(primitive, (value.unsqueeze(1),), (1, False, *options))
    return call(primitive, (value,), (result, keepdim, *options))


def _along(first):
    """The rule of primitives whose dimension is attribute `first`, and whose results have it too."""
    def apply(level, primitive, values, has, attributes):
        value, dim, added = along(values[0], attributes[first])
        result = call(primitive, (value,), (*attributes[:first], dim, *attributes[first + 1:]))
        if not added:
            return result
        parts = [r.squeeze(1) if r.layout.ndim > 1 else r for r in (result if isinstance(result, tuple) else (result,))]
        return parts[0] if not isinstance(result, tuple) else type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return apply


rule("softmax", "log_softmax", "sort", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "median_along", "nanmedian_along",
     "mode", "normalize", "max_along", "min_along")(_along(0))
rule("topk", "kthvalue")(_along(1))


@rule("argmax", "argmin")
def place_of(level, primitive, values, has, attributes):
    """Of all elements, the place among them in row-major order."""
    value, (dim, keepdim) = values[0], attributes
    if dim is not None or value.layout.ndim == 1:
        return _along(0)(level, primitive, values, has, (0 if dim is None else dim, keepdim))
    result = call(primitive, (value.flatten(1),), (1, False))
    return result.reshape(-1, *(1,) * (value.layout.ndim - 1)) if keepdim else result


@rule("median")
def median_of_all(level, primitive, values, has, attributes):
    skip_nan, = attributes
    rows = values[0].flatten(1) if values[0].layout.ndim > 1 else values[0].unsqueeze(1)
    return (nanmedian if skip_nan else median_of)(rows, 1)[0]


@rule("softmax_grad", "log_softmax_grad", "recurrence")
def two_along(level, primitive, values, has, attributes):
    tensors, dim = all_batched(level, values, has), attributes[0]
    moved = [(None, None, False) if t is None else along(t, dim) for t in tensors]
    result = call(primitive, [t for t, _, _ in moved], (moved[0][1], *attributes[1:]))
    return result.squeeze(1) if moved[0][2] else result


@rule("logsumexp")
def logsumexp(level, primitive, values, has, attributes):
    value, (dims, keepdim) = values[0], attributes
    if value.layout.ndim == 1:
        return mul(value, 1)
    return call(primitive, (value,), (dims_behind(dims, value.layout.ndim - 1), keepdim))


@rule("searchsorted")
def searchsorted(level, primitive, values, has, attributes):
    edges, x = values
    if has[0]:
        lead = x.layout.shape[1:-1] if has[1] else x.layout.shape[:-1]
        if edges.layout.ndim == 2 and lead:              # one row of edges a sample, for values of more dimensions
            x = x if has[1] else level.all_samples(x)
            return call(primitive, (edges, x.flatten(1)), attributes).reshape(x.layout.shape)
        x, edges = (x, edges) if has[1] else (level.all_samples(x), edges)
        if x.layout.ndim < edges.layout.ndim:
            return call(primitive, (edges, x.unsqueeze(-1)), attributes).squeeze(-1)
        return call(primitive, (edges.contiguous(), x.contiguous()), attributes)
    if edges.layout.ndim == 1:
        return call(primitive, (edges, x), attributes)
    return call(primitive, (level.all_samples(edges).contiguous(), x), attributes)
