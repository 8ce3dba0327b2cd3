"""gather and scatter: along one dimension, an index for every element."""
from __future__ import annotations

from ..autograd.graph import GraphNode, recording
from ..layout import Layout, broadcast_shapes, wrap_dim
from ..tensor import Tensor, empty, number
from . import arithmetic
from .backends import kernels
from .copy import clone, copy_, filled, register, to_dtype
from .gather import apart, at_least_1d, begin_write, check_index, end_write, finish, out_of_place, run_indexed, same_dtype
from .op import as_operand, method, new_plan_table
from .view import expand, place, reshape, unsqueeze

_gather_plans = new_plan_table()


def _plan_gather(layout, dim, index, out):
    if not index.numel:
        return (None,)
    return (kernels(layout.device, "gather").plan_gather(layout.dtype.itemsize, dim, layout.shape, layout.strides, index.shape,
                                                         index.strides, out.strides, index.dtype.kernel),)


def _check_gathered(name, shape, index, dim, ndim):
    if index.layout.ndim != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    for d, (n, m) in enumerate(zip(index.layout.shape, shape)):
        if d != dim and n > m:
            raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.layout.shape)} to be no larger "
                               f"than self {list(shape)} apart from dimension {dim}")


@method
def gather(input, dim, index, *, sparse_grad: bool = False, out=None) -> Tensor:
    """Elements along a dimension, one for each index: `out[i][j] = input[index[i][j]][j]` for dim 0.

    Args:
        index: of as many dimensions as `input`, no larger than it but along `dim`; int64.

    Raises:
        RuntimeError: the shapes do not fit, or a wrong dtype. IndexError: an index out of bounds.
    """
    check_index("gather", index)
    dim = wrap_dim(dim, input.layout.ndim)
    if index.layout.numel == 0:
        return finish(out, empty(Layout.of(input.layout.dtype, index.layout.shape, None, input.layout.device)))
    x, places = at_least_1d(input), at_least_1d(index)
    _check_gathered("input", x.layout.shape, places, dim, x.layout.ndim)
    key = (x.layout, dim, places.layout)
    result = empty(Layout.of(x.layout.dtype, places.layout.shape, None, x.layout.device))
    found = _gather_plans.get(key)
    if found is None:
        found = _gather_plans.keep(key, _plan_gather(x.layout, dim, places.layout, result.layout))
    run_indexed(found[0], x, (places,), result, ((dim, x.layout.shape[dim]),))
    if recording(x) and x.layout.dtype.category >= 2:
        result.node = GraphNode("gather", (x.node,), (places,), _gather_vjp, (x.layout, dim))
    return finish(out, result if index.layout.ndim else reshape(result, ()))


def _gather_vjp(node, grad):
    layout, dim = node.constants
    return (scatter_add_(filled(layout.dense(grad.layout.dtype), 0), dim, node.tensors()[0], grad),)


_scatter_plans = new_plan_table()


def _scatter_(name, self, dim, index, source, how):
    """self[index[i][j]][j] = source[i][j], or combined with it, for dim 0."""
    check_index(name, index)
    dim = wrap_dim(dim, self.layout.ndim)
    source = as_operand(name, source)
    if source.layout.weak or (source.layout.ndim == 0 and index.layout.ndim):
        source = expand(to_dtype(source, self.layout.dtype), index.layout.shape)
    same_dtype(name, self, source)
    if not index.layout.numel:
        return self
    target, places, values = (at_least_1d(t) for t in (self, index, source))
    _check_gathered("self", target.layout.shape, places, dim, target.layout.ndim)
    if values.layout.ndim != places.layout.ndim or any(n > m for n, m in zip(places.layout.shape, values.layout.shape)):
        raise RuntimeError(f"Expected index {list(index.layout.shape)} to be no larger than src {list(source.layout.shape)}")
    graph = begin_write(name, target, values)
    places, values = apart(places, target), apart(values, target)
    key = (target.layout, dim, places.layout, values.layout, how)
    prepared = _scatter_plans.get(key)
    if prepared is None:
        prepared = _scatter_plans.keep(key, kernels(target.layout.device, "gather").plan_scatter(
            target.layout.dtype.kernel, dim, target.layout.shape, target.layout.strides, places.layout.shape, places.layout.strides,
            values.layout.strides, how, places.layout.dtype.kernel))
    run_indexed(prepared, target, (places,), values, ((dim, target.layout.shape[dim]),))
    end_write(name, target, graph, (values,), (places,), _scatter_vjp, (dim, values.layout, how))
    return self


def _scatter_vjp(node, grad):
    dim, source, how = node.constants
    places, = node.tensors()
    by_target = by_source = None
    if how not in (None, "add"):
        raise NotImplementedError(f"scatter with reduce='{how}' is not differentiable; expected None or 'add'")
    if node.needs(0):
        by_target = grad if how == "add" else _scatter_("scatter", clone(grad), dim, places, number(0), None)
    if node.needs(1):
        by_source = gather(grad, dim, places)
        if source.shape != places.layout.shape:          # the part of src that was used
            region = Layout.of(source.dtype, places.layout.shape, source.dense().strides, source.device)
            by_source = place(by_source, source.dense(), region, 0)
    return by_target, by_source


_SCATTER_REDUCTIONS = {None: None, "add": "add", "multiply": "multiply"}
_REDUCTIONS = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


@method
def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    """Write `src` (a tensor, or a number) to the places along a dimension that `index` names, and return this tensor.

    Args:
        reduce: None to overwrite, "add" or "multiply" to combine.

    Raises:
        RuntimeError: the shapes or dtypes do not fit. IndexError: an index out of bounds.
    """
    if reduce not in _SCATTER_REDUCTIONS:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter_("scatter", self, dim, index, value if src is None else src, _SCATTER_REDUCTIONS[reduce])


@method
def scatter_add_(self, dim, index, src):
    """Add `src` at the places along a dimension that `index` names, and return this tensor."""
    return _scatter_("scatter_add", self, dim, index, src, "add")


@method
def scatter_reduce_(self, dim, index, src, reduce, *, include_self: bool = True):
    """Combine `src` into the places along a dimension that `index` names, and return this tensor.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin"; only "sum" and "mean" have gradients.
        include_self: whether the elements that were there before count.
    """
    if reduce not in _REDUCTIONS and reduce != "mean":
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if not include_self:
        start = {"prod": 1, "amax": _lowest(self.layout.dtype), "amin": _highest(self.layout.dtype)}.get(reduce, 0)
        scatter_(self, dim, index, start)
    _scatter_("scatter_reduce", self, dim, index, src, "add" if reduce == "mean" else _REDUCTIONS[reduce])
    if reduce == "mean":
        ones = filled(self.layout.dense(), 1 if include_self else 0)
        hits = scatter_add_(ones, dim, index, filled(src.layout.dense(), 1))
        count = arithmetic.clamp_low(hits, 1)
        copy_(self, self / count if self.layout.dtype.category >= 2 else arithmetic.floor_divide(self, count))
    return self


def _lowest(dtype):
    return float("-inf") if dtype.category == 2 else _integer_limits(dtype)[0]


def _highest(dtype):
    return float("inf") if dtype.category == 2 else _integer_limits(dtype)[1]


def _integer_limits(dtype):
    bits = dtype.itemsize * 8
    return (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if dtype.is_signed else (0, 2 ** bits - 1)


scatter = out_of_place(scatter_, "scatter")
scatter_add = out_of_place(scatter_add_, "scatter_add")
scatter_reduce = out_of_place(scatter_reduce_, "scatter_reduce")


@register
def value_selecting_backward(grad, dim, indices, shape, keepdim):
    """The gradient of picking one element along a dimension: `grad` at `indices` in zeros of `shape`."""
    if not shape:
        return reshape(grad, ())
    if not keepdim:
        grad, indices = unsqueeze(grad, dim), unsqueeze(indices, dim)
    zeros = filled(Layout.of(grad.layout.dtype, tuple(shape), None, grad.layout.device), 0)
    return scatter_(zeros, dim, indices, grad)


@method
def take_along_dim(input, indices, dim=None, *, out=None) -> Tensor:
    """`gather`, with `input` and `indices` broadcast against each other but along `dim`; flattened without a dim."""
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1), out=out)
    if input.layout.ndim != indices.layout.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                           f"{input.layout.ndim} dimensions for input, and {indices.layout.ndim} dimensions for indices")
    dim = wrap_dim(dim, input.layout.ndim)
    common = list(broadcast_shapes(*[s[:dim] + (1,) + s[dim + 1:] for s in (input.layout.shape, indices.layout.shape)]))
    shapes = [(*common[:dim], t.layout.shape[dim], *common[dim + 1:]) for t in (input, indices)]
    return gather(expand(input, shapes[0]), dim, expand(indices, shapes[1]), out=out)
