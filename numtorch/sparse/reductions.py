"""Sums, norms and softmax of sparse tensors, over the elements that they store."""
from __future__ import annotations

from ..autograd.graph import GraphNode, Recorded, recording
from ..dtypes import as_dtype, int64
from ..layout import wrap_dim, wrap_dims
from ..ops.creation.fill import full, zeros
from ..ops.index.index_select import index_add, index_values
from ..ops.index.scatter_reduce import scatter_reduce
from ..ops.memory.copies import to_dtype
from ..ops.nn.softmax import log_softmax as dense_log_softmax
from ..ops.nn.softmax import softmax as dense_softmax
from ..ops.pointwise.elementary import exp, log
from ..ops.reduce import reductions
from ..ops.shape.views import expand, reshape
from ..ops.sort.unique import unique
from ..tensor import Tensor
from .conversions import as_kind
from .coo import coalesce, coo, coordinates, entries, like, stacked, takes_all, to_coo, to_dense, values_of
from .handler import refusal, rule
from .layouts import COO, expect, is_sparse
from .pattern import keys_of

_SPARSE_SUM = Recorded("sparse_sum")


@_SPARSE_SUM.derivative
def _as_it_is(node, grad):
    return (grad,)


_SUM_OF_ALL = Recorded("sum")


@_SUM_OF_ALL.derivative
def _everywhere(node, grad):
    return (expand(grad, node.attributes),)


@rule("sum")
def sum_of(primitive, x, dims=None, keepdim=False, options=()):
    """The sum over all dimensions, dense; over some of them sparse, where a sparse one is left."""
    layout = x.layout
    axes = wrap_dims(dims, layout.ndim)
    if dims is None or (len(axes) == layout.ndim and not keepdim):
        if recording(x) and takes_all(x.node):
            out = sum_of(primitive, x.detach(), dims, keepdim, options)
            out.node = GraphNode(_SUM_OF_ALL, (x.node,), (), layout.shape)
            return out
        _, values = entries(x)
        return reductions.sum(values)
    if layout.kind != "sparse_coo":
        result = sum_of(primitive, to_coo(x), dims, keepdim)
        return as_kind(result, layout.kind) if keepdim and layout.is_matrix else result
    x, values = entries(coalesce(x))
    inside = [d for d in axes if d < layout.sparse_dim]
    dense = tuple([1 + d - layout.sparse_dim for d in axes if d >= layout.sparse_dim])
    values = reductions.sum(values, dense, keepdim) if dense else values
    if values.layout.dtype.category < 2:
        values = to_dtype(values, int64)
    if not inside:
        return coo(x.memory.parts[0], values, _without(layout.shape, axes, keepdim), True, "sparse_sum")
    if len(inside) == layout.sparse_dim:                 # nothing is left to index
        result = reductions.sum(values, 0)
        return reshape(result, _without(layout.shape, axes, True)) if keepdim else result
    rows = list(coordinates(x))
    if keepdim:
        for d in inside:
            rows[d] = full((values.layout.shape[0],), 0, dtype=int64, device=values.layout.device)
    else:
        rows = [row for d, row in enumerate(rows) if d not in inside]
    return coalesce(coo(stacked(rows), values, _without(layout.shape, axes, keepdim)), _SPARSE_SUM)


def _without(shape, axes, keepdim):
    return [1 if d in axes else n for d, n in enumerate(shape) if keepdim or d not in axes]


@rule("norm")
def _norm(primitive, x, dims=None, keepdim=False, options=()):
    if dims is not None and len(wrap_dims(dims, x.layout.ndim)) != x.layout.ndim:
        raise refusal("norm over some dimensions", x)
    return primitive.run(values_of(entries(coalesce(x) if x.layout.kind == "sparse_coo" else x)[0]), None, False, options)


@rule("any")
def _any(primitive, x, dims=None, keepdim=False, options=()):
    if dims is not None:
        raise refusal("any over some dimensions", x)
    return reductions.any(values_of(coalesce(x) if x.layout.kind == "sparse_coo" else x))


def _along(x, dim, dtype, logarithm):
    """Softmax over what is stored along a dimension: what is not stored counts as minus infinity."""
    expect(x, COO, "log_softmax" if logarithm else "softmax")
    layout = x.layout
    dim = wrap_dim(dim, layout.ndim)
    x, values = entries(coalesce(x))
    if dtype is not None:
        values = to_dtype(values, as_dtype(dtype))
    if not values.layout.dtype.is_floating_point:
        raise NotImplementedError(f'"softmax" not implemented for \'{values.layout.dtype.title}\'')
    name = "sparse_log_softmax" if logarithm else "sparse_softmax"
    if dim >= layout.sparse_dim:
        return like(x, (dense_log_softmax if logarithm else dense_softmax)(values, 1 + dim - layout.sparse_dim), name)
    others = [d for d in range(layout.sparse_dim) if d != dim]
    rows = coordinates(x)
    if others:
        keys, _ = keys_of(stacked([rows[d] for d in others]), [layout.shape[d] for d in others])
        _, pools = unique(keys, return_inverse=True)
    else:
        pools = full((values.layout.shape[0],), 0, dtype=int64, device=values.layout.device)
    if not values.layout.numel:
        return like(x, values, name)
    count = int(reductions.amax(pools).item()) + 1
    shape = (count, *values.layout.shape[1:])
    spread = expand(reshape(pools, (-1, *(1,) * (values.layout.ndim - 1))), values.layout.shape)
    least = full(shape, float("-inf"), dtype=values.layout.dtype, device=values.layout.device)
    values = values - index_values(scatter_reduce(least, 0, spread, values.detach(), "amax"), (0,), (pools,))
    powers = exp(values)
    nothing = zeros(shape, dtype=values.layout.dtype, device=values.layout.device)
    sums = index_values(index_add(nothing, 0, pools, powers), (0,), (pools,))
    return like(x, values - log(sums) if logarithm else powers / sums, name)


def softmax(input, dim, *, dtype=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension, over the elements that are stored.

    Args:
        input: a COO tensor.
        dim: the dimension along which the results sum to 1.
        dtype: convert to this first.

    Raises:
        RuntimeError: another layout.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.softmax(torch.eye(2).to_sparse(), 1).to_dense()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return _along(input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None) -> Tensor:
    """The logarithm of `softmax`.

    Args:
        input: a COO tensor.
        dim: the dimension along which the exponentials sum to 1.
        dtype: convert to this first.

    Raises:
        RuntimeError: another layout.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.log_softmax(torch.ones(1, 2).to_sparse(), 1).values()
        tensor([-0.6931, -0.6931])
    """
    return _along(input, dim, dtype, True)


def sum(input, dim=None, dtype=None) -> Tensor:
    """The sum of a sparse tensor: over all dimensions a number, over some of them sparse where a sparse one is left.

    Args:
        input: a sparse tensor.
        dim: an int or several; all dimensions when None.
        dtype: convert to this first.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0).to_dense()
        tensor([1., 1.])
    """
    if not isinstance(input, Tensor) or input.layout.kind == "strided":
        raise RuntimeError("sparse.sum: expected a sparse tensor")
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    if not is_sparse(input):                             # one sample of a map, whose sum is dense where nothing is left to index
        result = reductions.sum(input, dim)
        return result if getattr(result.layout, "sparse_dim", 0) else to_dense(result)
    return reductions.sum(entries(input)[1]) if dim is None else reductions.sum(input, dim)
