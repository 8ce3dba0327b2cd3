"""What a reduction is: how it is planned for a layout and dimensions, run and recorded, its gradient, and a record for each.

`reductions.py` has the functions that users call.
"""
from __future__ import annotations

from ...autograd.graph import GraphNode, Node
from ...autograd.modes import PLAIN, modes
from ...dtypes import bool_, int64, uint8
from ...layout import Layout, wrap_dims
from ...tensor import bare, empty, view_of
from ...viewalgebra import expand as expand_layout
from ...viewalgebra import try_view
from ..core.arguments import KINDS, expect_dtypes, truth
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import PlanTable, Primitive, miss, nothing_to_do
from ..memory.copies import to_dtype
from ..pointwise import arithmetic, comparison
from ..pointwise.complexparts import real
from ..pointwise.power import pow
from ..shape.join import cat
from ..shape.views import expand, reshape


class _ReducePlan:
    """What a reduction must know once its input's layout and its dimensions are known."""

    __slots__ = ("key", "layout", "options", "out", "prepared", "call", "descriptor", "axes", "kept_shape", "count", "spread",
                 "summed", "differentiable")


class ReduceOp(Primitive):
    """A reduction. `kind` names its kernel; `result(dtype) -> dtype` says what it returns of the dtypes of some kinds; `vjp(node,
    grad, *saved)` is its gradient; `options` are those of its sample."""

    def __init__(self, kind, result, vjp, saves_input=False, saves_result=False, empty_error=None, kinds=KINDS, options=()):
        super().__init__(kind, None, ("input",), __name__, [f"T[2, 3]; {dims}, True, {options}" for dims in (1, None)])
        self.kind, self.result = kind, result
        if vjp is not None:
            self.derivative(vjp)
        self.saves_input, self.saves_result, self.empty_error, self.kinds = saves_input, saves_result, empty_error, kinds

    def key_of(self, layout, dims=None, keepdim=False, options=()):
        """The layout alone for reductions over everything."""
        return layout if dims is None and not keepdim and not options else (layout, dims, keepdim, options)

    def plan(self, layout, dims=None, keepdim=False, options=()):
        plan = _ReducePlan()
        plan.key, plan.layout, plan.options = self.key_of(layout, dims, keepdim, options), layout, dict(options)
        plan.spread, plan.summed = {}, PlanTable()
        expect_dtypes(self.name, layout.dtype, *self.kinds)
        out_dtype = self.result(layout.dtype)
        if dims is not None and layout.ndim > 64:
            raise RuntimeError(f"{self.name}(): only tensors with up to 64 dims are supported, got {layout.ndim}")
        truth(self.name, "keepdim", keepdim)
        plan.axes = wrap_dims(dims, layout.ndim)
        if not layout.ndim:
            plan.axes = ()                               # dims 0 and -1 of a 0-dim tensor are valid and mean nothing
        plan.kept_shape = tuple(1 if i in plan.axes else n for i, n in enumerate(layout.shape))
        shape = plan.kept_shape if keepdim else tuple(n for i, n in enumerate(layout.shape) if i not in plan.axes)
        plan.count = 1
        for axis in plan.axes:
            plan.count *= layout.shape[axis]
        if self.empty_error and layout.numel == 0 and dims is None:
            raise RuntimeError(f"a{self.name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               f"reduction dim with the 'dim' argument.")
        if self.empty_error and plan.count == 0 and 0 not in plan.kept_shape:
            axis = next(a for a in plan.axes if not layout.shape[a])
            raise IndexError(f"a{self.name}(): Expected reduction dim {axis} to have non-zero size: {self.empty_error}")
        plan.out = Layout.of(out_dtype, shape, None, layout.device)
        kept = Layout.of(out_dtype, plan.kept_shape, None, layout.device)
        strides = tuple(0 if i in plan.axes else s for i, s in enumerate(kept.strides))
        plan.differentiable = self.vjp is not None and out_dtype.category >= 2
        plan.prepared, plan.call, plan.descriptor = None, nothing_to_do, 0
        if plan.out.numel:
            prepared = plan.prepared = kernels(layout.device, "reduce.reduce").plan_reduce(
                self.kind, layout.dtype.kernel, out_dtype.kernel, layout.shape,
                layout.strides, plan.axes, strides, **plan.options)
            plan.call, plan.descriptor = prepared.call, prepared.descriptor
        return plan

    def execute(self, plan, *call):
        return self.run(*call)                           # which knows the plan by now

    def run(self, x, dims=None, keepdim=False, options=()):
        """Reduce x over dims (all, when None)."""
        layout = layout_of(self.name, x)
        plan = self.plans.get(layout if dims is None and keepdim is False and not options else (layout, dims, keepdim, options))
        if plan is None or (keepdim is not False and keepdim is not True):
            return miss(self, (x,), (dims, keepdim, options))
        out = empty(plan.out)
        plan.call(x.address, out.address, plan.descriptor)
        if x.node is not None and plan.differentiable:
            recording = modes.recording
            if not recording:
                return out
            if recording == PLAIN and self is SUM:
                node = out.node = SumNode()
                node.edges, node.extras, node.saved, node.attributes = (x.node,), None, (), plan.key
                return out
            node = out.node = GraphNode(self, (x.node,), (x,) if self.saves_input else (), plan.key)
            if self.saves_result:
                node.save_results([out])
        return out


# ---------------------------------------------------------------- gradients
def _spread(plan, grad):
    """The result's gradient in the input's shape, without copying."""
    if not modes.grad:
        expanded = plan.spread.get(grad.layout)
        if expanded is not None:
            return view_of(grad, expanded, 0)
        kept = try_view(grad.layout, plan.kept_shape)
        if kept is not None and len(plan.spread) < 16:
            expanded = plan.spread[grad.layout] = expand_layout(kept[0], plan.layout.shape)[0]
            return view_of(grad, expanded, 0)
    if grad.layout.shape != plan.kept_shape:
        grad = reshape(grad, plan.kept_shape)
    return expand(grad, plan.layout.shape) if plan.kept_shape != plan.layout.shape else grad


def _typed(plan, grad):
    dtype = plan.layout.dtype
    if grad.layout.dtype is not dtype:
        if grad.layout.dtype.is_complex and not dtype.is_complex:
            grad = real(grad)
        grad = to_dtype(grad, dtype)
    return grad


class SumNode(Node):
    """A recorded sum. Its backward expands the gradient without asking anything that was known the last time, which `_sum_vjp`
    does."""

    __slots__ = ("attributes",)
    name = GraphNode.name

    def backward(self, grad):
        plan = _sum_plan(self.attributes)
        known = plan and plan.summed.get(grad.layout)
        if known is None:
            spread, = _sum_vjp(self, grad)
            if spread.memory is grad.memory:
                SUM.plan_at(self.attributes).summed.keep(grad.layout, spread.layout)
            return spread,
        spread = bare()
        spread.memory, spread.address, spread.layout, spread.node = grad.memory, grad.address, known, None
        return spread,

    def differentiable_backward(self, grad):
        return _sum_vjp(self, grad)

    def title(self):
        return "sum"

    def result_layout(self):
        return SUM.result_layout(self)


def _sum_vjp(node, grad):
    plan = SUM.plan_at(node.attributes)
    return (_typed(plan, _spread(plan, grad)),)


def _nansum_vjp(node, grad, x):
    plan = NANSUM.plan_at(node.attributes)
    return (_typed(plan, arithmetic.where(comparison.isnan(x), 0, _spread(plan, grad))),)


def _mean_vjp(node, grad):
    plan = MEAN.plan_at(node.attributes)
    return (_typed(plan, _spread(plan, arithmetic.div(grad, plan.count))),)


def _prod_vjp(node, grad, x):
    """The product of all the others: by division where nothing is 0, and where a single element is 0 for that one."""
    plan = PROD.plan_at(node.attributes)
    is_zero = comparison.eq(x, 0)
    if modes.grad and x.node is not None and is_zero.any():
        return (_typed(plan, _spread(plan, grad) * arithmetic.conj(_others(x, plan.axes))),)
    others = arithmetic.where(is_zero, 1, x)
    product = reshape(prod_all(others, plan.axes), plan.kept_shape)
    zeros = reshape(count_zeros(x, plan.axes), plan.kept_shape)
    by_division = product / others
    alone = arithmetic.where(comparison.logical_and(is_zero, comparison.eq(zeros, 1)), product, 0)
    return (_typed(plan, _spread(plan, grad) * arithmetic.conj(arithmetic.where(comparison.eq(zeros, 0), by_division, alone))),)


def _others(x, axes):
    """The product of all the others, from running products of both sides: their gradients know what a 0 hides."""
    order = [d for d in range(x.layout.ndim) if d not in axes] + list(axes)
    moved = x.permute(order)
    rows = moved.reshape(*moved.layout.shape[:x.layout.ndim - len(axes)], -1)
    count, one = rows.layout.shape[-1], rows.new_ones((*rows.layout.shape[:-1], 1))
    before = rows.narrow(-1, 0, count - 1).cumprod(-1)
    behind = rows.narrow(-1, 1, count - 1).flip(-1).cumprod(-1).flip(-1)
    result = cat([one, before], -1) * cat([behind, one], -1)
    return result.reshape(moved.layout.shape).permute([order.index(d) for d in range(x.layout.ndim)])


def prod_all(x, axes):
    return PROD.run(x, axes)


def count_zeros(x, axes):
    return SUM.run(to_dtype(comparison.eq(x, 0), int64), axes)


def _extreme_vjp(node, grad, x, result):
    """Shared evenly among the elements that reach the extreme, or that are NaN where it is."""
    plan = node.primitive.plan_at(node.attributes)
    hits = comparison.coincides(x, reshape(result, plan.kept_shape).detach())
    share = reshape(grad, plan.kept_shape) / reshape(SUM.run(to_dtype(hits, plan.layout.dtype), plan.axes), plan.kept_shape)
    return (arithmetic.where(hits, share, 0),)           # not a product with the hits: infinite gradients would be NaN elsewhere


def _var_vjp(node, grad, x):
    return (_slope_of_variance(node, grad * 2.0, x),)


def _std_vjp(node, grad, x, result):
    """Where it is 0 its slope, which has no limit, is taken for 0, as PyTorch's is."""
    still = comparison.eq(result, 0)
    return (_slope_of_variance(node, arithmetic.where(still, 0, grad / arithmetic.where(still, 1, result)), x),)


def _slope_of_variance(node, grad, x):
    """Half of it, times a gradient."""
    plan = node.primitive.plan_at(node.attributes)
    freedom = plan.count - plan.options["correction"]
    scale = 1.0 / freedom if freedom > 0 else float("nan")
    mean = reshape(MEAN.run(x, plan.axes), plan.kept_shape)
    return _typed(plan, arithmetic.scaled_distance(x, mean, reshape(grad * scale, plan.kept_shape)))


def _norm_vjp(node, grad, x, result):
    """d|x|_p/dx = sign(x) (|x| / |x|_p)^(p-1), and 0 where the norm is 0."""
    plan = NORM.plan_at(node.attributes)
    p = plan.options["exponent"]
    spread, size = _spread(plan, grad), reshape(result, plan.kept_shape)
    if p == 0:
        return (spread * 0 * x,)
    if p == 1:
        return (spread * arithmetic.sgn(x),)
    if p in (float("inf"), float("-inf")):
        hits = to_dtype(comparison.eq(arithmetic.abs(x), size.detach()), plan.layout.dtype)
        return (spread * arithmetic.sgn(x) * (hits / reshape(SUM.run(hits, plan.axes), plan.kept_shape)),)
    nonzero = comparison.ne(size, 0)
    safe = arithmetic.where(nonzero, size, 1)
    if p == 2:
        slope = x / safe
    else:
        ratio = arithmetic.abs(x) / safe
        if p < 2:                                        # at 0 a power of it is infinite, or its slope: the sign there is 0
            ratio = arithmetic.where(comparison.eq(ratio, 0), 1, ratio)
        slope = arithmetic.sgn(x) * pow(ratio, p - 1)
    return (arithmetic.where(nonzero, spread * slope, 0),)


# ---------------------------------------------------------------- records
_ORDERED, _INEXACT = ("bool", "integer", "float"), ("float", "complex")


def _same(dtype):
    return dtype


def _wide_integers(dtype):
    return int64 if dtype.category < 2 else dtype


def _size(dtype):
    return dtype.to_real()


def _truth(dtype):
    return uint8 if dtype is uint8 else bool_            # as PyTorch's masks were, before it had bool


SUM = ReduceOp("sum", _wide_integers, _sum_vjp)
SumNode.primitive, _sum_plan = SUM, SUM.plans.get
NANSUM = ReduceOp("nansum", _wide_integers, _nansum_vjp, saves_input=True)
PROD = ReduceOp("prod", _wide_integers, _prod_vjp, saves_input=True)
MEAN = ReduceOp("mean", _same, _mean_vjp, kinds=_INEXACT)
MAX = ReduceOp("max", _same, _extreme_vjp, True, True, "the maximum of nothing is undefined", _ORDERED)
MIN = ReduceOp("min", _same, _extreme_vjp, True, True, "the minimum of nothing is undefined", _ORDERED)
ANY = ReduceOp("any", _truth, None)
ALL = ReduceOp("all", _truth, None)
VAR = ReduceOp("var", _same, _var_vjp, saves_input=True, kinds=("float",), options=(("correction", 1),))
STD = ReduceOp("std", _same, _std_vjp, saves_input=True, saves_result=True, kinds=("float",), options=(("correction", 1),))
NORM = ReduceOp("norm", _size, _norm_vjp, saves_input=True, saves_result=True, kinds=_INEXACT, options=(("exponent", 2.0),))
COUNT = ReduceOp("count_nonzero", lambda d: int64, None)
