"""The sum or the mean of an elementwise op, as losses have it: one kernel forward, one backward, and one node.

Used where all operands lie alike in float32 or float64; anything else is the op and then the reduction.
"""
from __future__ import annotations

import functools

from ...autograd.graph import Node, extras_of, freed_error, restore, save
from ...autograd.modes import RARE, modes
from ...autograd.nodenames import ATEN, node_name
from ...autograd.writes import source_line
from ...exchange.arrays import raw_array
from ...exchange.scalars import number
from ...kernels.binding import ScalarBody
from ...kernels.sources import compile_source
from ...layout import Layout
from ...storage import ring_for, take
from ...tensor import Tensor, constants, empty, kept
from ..core.backends import has_kernels, kernels
from ..core.expression import evaluate
from ..core.operands import no_tensor_among
from ..core.primitive import handler_of
from ..shape.views import expand
from .reduce_op import MEAN, SUM


class _TotalPlan:
    """How one op's terms are summed for operands of certain layouts; `first` is None where that takes two ops.

    Attributes:
        option: the op's number as a tensor, or None.
        out, ring: the result's layout and memory.
        first, last, scratch: the kernel, and where threads share the work, the one that adds their sums and its memory.
        scale: what each term's gradient is multiplied by, as a tensor of one number.
        backward: by whether each operand needs a gradient, the kernel.
    """

    __slots__ = ("op", "mean", "inputs", "option", "layout", "out", "first", "last", "scratch", "scale", "backward")

    def __init__(self, op, mean, x, y, option):
        self.op, self.mean, self.layout, self.first, self.backward = op, mean, x, None, {}
        self.option = None if option is None else number(option)
        self.inputs = (x, y) if option is None else (x, y, self.option.layout)
        if mean and x.dtype.category < 2 and y.dtype.category < 2:
            op._dtypes(self.inputs)                      # of what the terms cannot be made of, they say so
            raise RuntimeError(f"mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                               f"dtype. Got: {x.dtype.title} ({op.name})")
        fused = (x is y and x.handler is None and x.contiguous and x.numel and x.dtype.name in ("float32", "float64")
                 and has_kernels(x.device, "pointwise.total"))
        if not fused or (op.derivative_body is not None and "out" in op.derivative_names):
            return
        self.out = Layout.of(x.dtype, (), None, x.device)
        self.first, self.last = kernels(x.device, "pointwise.total").plan_total(
            op.scalar(x.dtype.name), tuple(l.dtype.kernel for l in self.inputs), "cc" if option is None else "ccb", x.numel,
            cost=op.cost, mean=mean)
        self.scratch = None if self.last is None else ring_for(self.first.workspace)
        self.scale = kept(self.out)
        constants.add(self.scale.memory)
        raw_array(self.scale)[...] = 1 / x.numel if mean else 1

    def plan_backward(self, wanted):
        """The fused kernel of the wanted gradients, of the first operand, the second or both."""
        op, layout, compute = self.op, self.layout, self.layout.dtype.name
        zeros = (0,) * layout.ndim
        results = tuple(i for i, needed in enumerate(wanted) if needed)
        strides = [zeros, zeros, layout.strides, layout.strides, *[zeros for _ in self.inputs[2:]]]
        prepared = self.backward[wanted] = kernels(layout.device, "pointwise.pointwise").plan_pointwise(
            _backward_body(op, compute), (compute, compute, *[l.dtype.kernel for l in self.inputs]), (compute,) * len(results),
            layout.shape, strides + [layout.strides] * len(results), compute=(compute,) * (2 + len(op.parameters)),
            results=results, cost=op.cost + 1)
        return prepared

    def composed(self, function, x, y):
        terms = function(x, y) if self.option is None else function(x, y, self.option)
        return (MEAN if self.mean else SUM).run(terms)


@functools.lru_cache(256)
def _backward_body(op, compute):
    """An op's derivative times `scale`, made once."""
    arguments = ", ".join("grad * scale" if n == "grad" else n for n in op.derivative_names)
    scope = dict(formula=ScalarBody(op.derivative_body, compute))
    text = f"def backward({', '.join(['grad', 'scale', *op.parameters])}):\n    return formula({arguments})\n"
    compile_source(text, "derivative", scope)
    return ScalarBody(scope.pop("backward"), compute)


class TotalNode(Node):
    """A recorded sum or mean of an elementwise op. `saved` holds both operands, each followed by its version."""

    __slots__ = ("plan",)

    def name(self):
        loss = self.plan.op.name
        return node_name(loss if loss in ATEN else f"{loss}_{'mean' if self.plan.mean else 'sum'}")

    def title(self):
        return self.plan.op.name

    @property
    def primitive(self):
        return self.plan.op

    @property
    def attributes(self):
        return "mean" if self.plan.mean else "sum"

    def result_layout(self):
        return self.plan.out

    def saved_names(self):
        return self.plan.op.parameters[:2]

    def saved_layouts(self):
        return [kept.layout for kept in self.saved[::2]] if self.saved else []

    def tensors(self):
        if self.saved is None:
            raise freed_error()
        x, x_version, y, y_version = self.saved
        return restore(x, x_version, self), restore(y, y_version, self)

    def backward(self, grad):
        plan = self.plan
        x, y = self.tensors()
        by_x, by_y = self.edges
        wanted = by_x is not None, by_y is not None
        kernel = plan.backward.get(wanted) or plan.plan_backward(wanted)
        if plan.option is None and by_y is None:         # the usual loss, without a list of words
            out = empty(plan.layout)
            kernel.call(grad.address, plan.scale.address, x.address, y.address, out.address, kernel.descriptor)
            return out, None
        words = [grad.address, plan.scale.address, x.address, y.address]
        if plan.option is not None:
            words.append(plan.option.address)
        if by_x is not None:
            by_x = empty(plan.layout)
            words.append(by_x.address)
        if by_y is not None:
            by_y = empty(plan.layout)
            words.append(by_y.address)
        kernel.call(*words, kernel.descriptor)
        return by_x, by_y

    def differentiable_backward(self, grad):
        plan, op = self.plan, self.plan.op
        values = dict(zip(op.parameters, (*self.tensors(), plan.option)), grad=grad * plan.scale)
        wanted = [i for i, edge in enumerate(self.edges) if edge is not None]
        gradients = [None, None]
        for index, gradient in zip(wanted, evaluate([op.gradients[i] for i in wanted], values)):
            gradients[index] = gradient if gradient.layout.shape == plan.layout.shape else expand(gradient, plan.layout.shape)
        return gradients


def _plan(op, x, y, option, mean):
    """Kept among the plans of the op, except of special layouts, which are never in a table."""
    if not (isinstance(x, Tensor) and isinstance(y, Tensor)):
        raise no_tensor_among(op.name, input=x, target=y)
    plan = _TotalPlan(op, mean, x.layout, y.layout, option)
    return plan if handler_of((x, y)) else op.plans.keep((x.layout, y.layout, option, mean), plan)


def total(function, x: Tensor, y: Tensor, option=None, *, mean: bool) -> Tensor:
    """The sum or mean over all elements of an elementwise op of two operands.

    Args:
        function: the op's function, such as `loss.squared_error`.
        x, y: its operands.
        option: the op's number, where it has one.
        mean: the mean, rather than the sum.
    """
    try:
        plan = function.op.plans.get((x.layout, y.layout, option, mean))
    except AttributeError:
        plan = None
    if plan is None:
        plan = _plan(function.op, x, y, option, mean)
    first = plan.first
    if first is None:
        return plan.composed(function, x, y)
    out = empty(plan.out)
    scratch = None if plan.last is None else take(plan.scratch)
    target = out.address if scratch is None else scratch.address
    if option is None:
        first.call(x.address, y.address, target, first.descriptor)
    else:
        first.call(x.address, y.address, plan.option.address, target, first.descriptor)
    if scratch is not None:
        plan.last.call(target, out.address, plan.last.descriptor)
    x_node, y_node = x.node, y.node
    if x_node is not None or y_node is not None:
        recording = modes.recording
        if recording:
            node = out.node = TotalNode()
            node.plan, node.edges, node.extras = plan, (x_node, y_node), None
            node.saved = x, x.memory.version, y, y.memory.version
            if recording == RARE:
                node.saved = save(x), x.memory.version, save(y), y.memory.version
                if modes.anomaly:
                    extras_of(node).trace = source_line()
    return out
