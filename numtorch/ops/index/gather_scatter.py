"""gather and scatter: an index for every element along one dimension, read, written and added."""
from __future__ import annotations

from functools import partial

from ...autograd.graph import GraphNode, recording
from ...autograd.writes import mark_written
from ...exchange.scalars import number
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, expect_layout, numpy_keywords, required_dim
from ..core.backends import kernels
from ..core.late import provide
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of, miss, primitives
from ..memory.assign import filled
from ..memory.copies import clone
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh, share_memory
from ..pointwise import arithmetic
from ..shape.view_tape import place
from ..shape.views import expand, reshape, unsqueeze
from . import widened
from .index_op import (
    apart,
    begin_write,
    beyond,
    check_index,
    check_index_dtypes,
    end_write,
    look_first,
    number_like,
    out_of_place,
    run_indexed,
    same_dtype,
)

_GATHER = Primitive("gather", samples="T[2, 3], int64([[0, 2], [1, 1]]); 1")
_SCATTER, _SCATTER_ADD, SCATTER_REDUCE = primitives(
    "scatter", "scatter_add", "scatter_reduce", samples=("T[2, 3], int64([[0, 2], [1, 0]]), T[2, 2]; 1, None",
                                                         "T[2, 3], int64([[0, 0], [1, 0]]), T[2, 2]; 1, 'add'")).values()


class _Plan:
    """The kernel (None for nothing to do), the dimension, what to say of a bad index, and a gather's result."""

    __slots__ = ("prepared", "dim", "bounds", "out", "wide")


def at_least_1d(layout):
    """Shape and strides; one element for a 0-dim tensor."""
    return (layout.shape, layout.strides) if layout.ndim else ((1,), (1,))


def _plan_of(name, layout, index, dim):
    """A plan without its kernel, and the checks that gather and scatter share."""
    plan = _Plan()
    plan.dim, plan.prepared, plan.wide = wrap_dim(dim, layout.ndim), NOTHING, False
    shape, wanted = at_least_1d(layout)[0], at_least_1d(index)[0]
    plan.bounds = ((plan.dim, shape[plan.dim], 0),)
    if index.numel:
        check_index_dtypes(name, (index,))
        if len(wanted) != len(shape):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {'input' if name == 'gather' else 'self'} "
                               f"tensor")
        for d, (n, m) in enumerate(zip(wanted, shape)):
            if d != plan.dim and n > m:
                raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.shape)} to be no "
                                   f"larger than self {list(shape)} apart from dimension {plan.dim}")
    return plan


# ---------------------------------------------------------------- gather
@_GATHER.planned
def _plan_gather(layout, index, dim):
    plan = _plan_of("gather", layout, index, dim)
    plan.out = Layout.of(layout.dtype, index.shape, None, layout.device)
    if index.numel:
        plan.prepared = kernels(layout.device, "index.gather").plan_gather(
            layout.dtype.itemsize, plan.dim, *at_least_1d(layout), *at_least_1d(index), at_least_1d(plan.out)[1],
            index.dtype.kernel)
    return plan


@method
def gather(input, dim=None, index=None, *, axis=None, sparse_grad: bool = False, out=None) -> Tensor:
    """Elements along a dimension, one for each index: `out[i][j] = input[index[i][j]][j]` for dim 0.

    Args:
        input: of any dtype.
        dim, axis: the dimension along which to pick, under PyTorch's name or NumPy's.
        index: of as many dimensions as `input`, no larger than it but along `dim`; int64 or int32.
        sparse_grad: taken for PyTorch's sake; gradients are dense.
        out: a tensor to write the result to.

    Returns:
        Of the shape of `index`.

    Raises:
        RuntimeError: the shapes do not fit, a wrong dtype, or an index that is negative or out of bounds.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).gather(1, torch.tensor([[0, 0], [1, 0]]))
        tensor([[1, 1],
                [4, 3]])
    """
    try:
        plan = _GATHER.plans.get((input.layout, index.layout, dim))
    except AttributeError:
        plan = None
    if plan is None or dim.__class__ is not int or (sparse_grad is not False and sparse_grad is not True):
        if dim is None:
            dim = required_dim("gather", axis)
        check_truths("gather", sparse_grad=sparse_grad)
        layout_of("gather", input), check_index("gather", index)
        result = miss(_GATHER, (input, index), (dim,))
    else:
        result = _gathered(plan, input, index, dim)
    return result if out is None else into_exactly("gather", out, result, input, index)


def _gathered(plan, input, index, dim):
    result = empty(plan.out)
    run_indexed(plan.prepared, input, (index,), result, plan.bounds, beyond)
    if input.node is not None and recording(input) and result.layout.dtype.category >= 2:
        result.node = GraphNode(_GATHER, (input.node,), (index,), (input.layout, plan.dim))
    return result


_GATHER.execute = _gathered


@_GATHER.derivative
def _gather_vjp(node, grad, index):
    layout, dim = node.attributes
    return (into_fresh(scatter_add_, filled(layout.dense(grad.layout.dtype), 0), dim, index, grad),)


# ---------------------------------------------------------------- scatter
def _plan_scatter(primitive, layout, index, source, dim, how):
    plan = _plan_of(primitive.name, layout, index, dim)
    expect_layout(primitive.name, "src", source, None, layout.dtype)
    if index.numel:
        plan.wide, layout, source = widened.layouts(layout, source, how)
        places, values = at_least_1d(index), at_least_1d(source)
        if source.ndim == 0 and index.ndim:
            steps = (0,) * index.ndim
        elif len(values[0]) != len(places[0]) or any(n > m for n, m in zip(places[0], values[0])):
            raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than src {list(source.shape)}")
        else:
            steps = values[1]
        plan.prepared = kernels(layout.device, "index.gather").plan_scatter(
            layout.dtype.kernel, plan.dim, *at_least_1d(layout), *places, steps, how, index.dtype.kernel)
    return plan


def scatter_into(primitive, self, dim, index, source, how):
    """self[index[i][j]][j] = source[i][j], or combined with it, for dim 0."""
    if not isinstance(source, Tensor) or source.layout.weak:
        source = number_like(primitive.name, source, self.layout)
    if share_memory(source, self) or (isinstance(index, Tensor) and share_memory(index, self)):
        index, source = apart(index, self), apart(source, self)      # before it is planned: a copy may lie differently
    try:
        plan = primitive.plans.get((self.layout, index.layout, source.layout, dim, how))
    except AttributeError:
        plan = None
    if plan is None or dim.__class__ is not int:
        check_index(primitive.name, index), same_dtype(primitive.name, self, source)
        return miss(primitive, (self, index, source), (dim, how))
    return _write_scattered(primitive, plan, self, index, source, dim, how)


def _write_scattered(primitive, plan, self, index, source, dim, how):
    if not index.layout.numel:                           # nothing is written, nor counted as a write
        return self
    storage = self.memory
    plain = self.node is None and source.node is None and self.layout.contiguous and not storage.inference
    graph = False if plain else begin_write(primitive.name, self, source)
    look_first(self, (index,), plan.bounds, index.layout.numel, beyond)
    (widened.run if plan.wide else run_indexed)(plan.prepared, self, (index,), source, plan.bounds, beyond)
    if plain:
        mark_written(storage, primitive.name + "_")
        return self
    return end_write(primitive, self, graph, (source,), (index,), (plan.dim, source.layout, how))


for _primitive in (_SCATTER, _SCATTER_ADD, SCATTER_REDUCE):
    _primitive.plan, _primitive.execute = partial(_plan_scatter, _primitive), partial(_write_scattered, _primitive)


@derivative_of(_SCATTER, _SCATTER_ADD)
def _scatter_vjp(node, grad, places):
    dim, source, how = node.attributes
    by_target = by_source = None
    if how not in (None, "add"):
        raise NotImplementedError(f"scatter with reduce='{how}' is not differentiable; expected None or 'add', or scatter_reduce")
    if node.needs(0):
        by_target = grad if how == "add" else scatter_into(_SCATTER, clone(grad), dim, places, number(0), None)
    if node.needs(1):
        by_source = to_source(gather(grad, dim, places), source, places)
    return by_target, by_source


def to_source(grad, source, places):
    """The gradient of the part of a source that an index names, as one of the whole source."""
    if source.shape == places.layout.shape:
        return grad
    if not source.ndim:
        return grad.sum()
    region = Layout.of(source.dtype, places.layout.shape, source.dense().strides, source.device)
    return place(grad, source.dense(), region, 0)


_SCATTER_REDUCTIONS = {None: None, "add": "add", "multiply": "multiply"}


@method
@numpy_keywords
def scatter_(self, dim, index, src=None, value=None, *, reduce=None) -> Tensor:
    """Write to the places along a dimension that `index` names, `self[index[i][j]][j] = src[i][j]` for dim 0; returns this tensor.

    Args:
        dim: the dimension along which places are named.
        index: of as many dimensions as this tensor, no larger than it but along `dim`, nor than `src`; int64 or int32.
        src: a tensor of this one's dtype, or a number.
        value: a number, instead of `src`.
        reduce: None to overwrite, "add" or "multiply" to combine.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or an index is negative or out of bounds.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 4.]])
        >>> x.scatter_(1, torch.tensor([[1], [0]]), 9.0)
        tensor([[1., 9.],
                [9., 4.]])
    """
    if reduce not in _SCATTER_REDUCTIONS:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return scatter_into(_SCATTER, self, dim, index, value if src is None else src, _SCATTER_REDUCTIONS[reduce])


@method
def scatter_add_(self, dim=None, index=None, src=None, *, axis=None) -> Tensor:
    """Add at the places along a dimension that `index` names, `self[index[i][j]][j] += src[i][j]` for dim 0; returns this tensor.

    Args:
        dim, index, src: as for `scatter_`; at equal places all are added.
        axis: NumPy's name for `dim`.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or an index is negative or out of bounds.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.scatter_add_(0, torch.tensor([2, 2]), torch.tensor([7., 8.]))
        tensor([ 1.,  2., 18.])
    """
    return scatter_into(_SCATTER_ADD, self, required_dim("scatter_add_", axis) if dim is None else dim, index, src, "add")


scatter = out_of_place(scatter_, "scatter")
scatter_add = out_of_place(scatter_add_, "scatter_add")


# ---------------------------------------------------------------- on top of these
@provide
def value_selecting_backward(grad, dim, indices, shape, keepdim):
    """The gradient of picking one element along a dimension: `grad` at `indices` in zeros of `shape`."""
    if not shape:
        return reshape(grad, ())
    if not keepdim:
        grad, indices = unsqueeze(grad, dim), unsqueeze(indices, dim)
    zeros = filled(Layout.of(grad.layout.dtype, tuple(shape), None, grad.layout.device), 0)
    return into_fresh(scatter_, zeros, dim, indices, grad)


@method
@numpy_keywords
def take_along_dim(input, indices, dim=None, *, out=None) -> Tensor:
    """`gather`, with `input` and `indices` broadcast against each other but along `dim`; of flattened tensors without a dim.

    Args:
        input: of any dtype.
        indices: of as many dimensions, int64 or int32; as in PyTorch they are taken modulo the dimension's size.
        dim: the dimension along which to pick; None for the flattened tensors. out: a tensor to write the result to.

    Raises:
        RuntimeError: numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[3, 1], [2, 4]])
        >>> x.take_along_dim(x.argsort(1), 1)
        tensor([[1, 3],
                [2, 4]])
    """
    layouts = layout_of("take_along_dim", input), layout_of("take_along_dim", indices, "indices", 2)
    if dim is None:
        return take_along_dim(reshape(input, -1), reshape(indices, -1), 0, out=out)
    if layouts[0].ndim != layouts[1].ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                           f"{input.layout.ndim} dimensions for input, and {indices.layout.ndim} dimensions for indices")
    dim = wrap_dim(dim, input.layout.ndim)
    if input.layout.ndim and input.layout.shape[dim]:
        indices = arithmetic.remainder(indices, input.layout.shape[dim])
    mine, theirs = input.layout.shape, indices.layout.shape
    if mine[:dim] == theirs[:dim] and mine[dim + 1:] == theirs[dim + 1:]:
        return gather(input, dim, indices, out=out)
    common = list(broadcast_shapes(*[s[:dim] + (1,) + s[dim + 1:] for s in (input.layout.shape, indices.layout.shape)]))
    shapes = [(*common[:dim], t.layout.shape[dim], *common[dim + 1:]) for t in (input, indices)]
    return gather(expand(input, shapes[0]), dim, expand(indices, shapes[1]), out=out)
