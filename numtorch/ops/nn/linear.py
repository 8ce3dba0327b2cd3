"""linear: the product with a transposed weight plus a bias, one kernel forward and one for each gradient."""
from __future__ import annotations

from ...autograd.graph import GraphNode
from ...autograd.modes import PLAIN, modes
from ...layout import Layout
from ...tensor import Tensor, empty, new
from ..core.backends import kernels
from ..core.primitive import PlanTable, Primitive, miss
from ..linalg.matmul import Product, check_operands, kernel_dtype, matmul, mm
from ..memory.copies import contiguous
from ..memory.resize import into_exactly
from ..pointwise import arithmetic
from ..reduce.reduce_op import SUM
from ..shape.views import expand, reshape, transpose

LINEAR = Primitive("linear", samples=("T[2, 3], T[4, 3], T[4];", "T[2, 3], T[4, 3], None;"))
_plan_for = LINEAR.plans.get                             # looked up once: a thirtieth of a small call


class _LinearPlan(Product):
    """A planned linear map.

    Attributes:
        key: the layouts of the input, the weight and the bias.
        gradients: plans of the backward by the gradient's layout.
    """

    __slots__ = ("gradients", "key")


@LINEAR.planned
def _plan(x, weight, bias):
    check_operands("linear", x, weight)
    if bias is not None:
        check_operands("linear", x, bias)
    if x.ndim == 0:
        raise RuntimeError("both arguments to linear need to be at least 1D, but they are 0D and 2D")
    if weight.ndim != 2:
        raise RuntimeError(f"linear(): expected a weight of 1 or 2 dimensions, got {weight.ndim}")
    if x.shape[-1:] != weight.shape[1:]:
        rows = x.numel // x.shape[-1] if x.shape[-1] else 0
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({rows}x{x.shape[-1]} and "
                           f"{weight.shape[1]}x{weight.shape[0]})")
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != weight.shape[0]):
        raise RuntimeError(f"linear(): expected a bias of shape [{weight.shape[0]}], got {list(bias.shape)}")
    flat = _flat(x)
    out = Layout.of(x.dtype, (*x.shape[:-1], weight.shape[0]), None, x.device)
    plan = _LinearPlan(out, kernels(x.device, "gemm.gemm").plan_gemm(
        flat.shape[0], weight.shape[0], weight.shape[1], kernel_dtype(x), flat.strides, weight.strides[::-1],
        (weight.shape[0], 1), bias=None if bias is None else "column", bias_stride=1 if bias is None else bias.strides[0]))
    plan.key, plan.gradients = (x, weight, bias), PlanTable()
    return plan


def _flat(layout):
    """A layout as rows; one that is not 2-dim must be contiguous."""
    if layout.ndim == 2:
        return layout
    rows = 1
    for extent in layout.shape[:-1]:
        rows *= extent
    return Layout.of(layout.dtype, (rows, layout.shape[-1]), None, layout.device)


def linear(input, weight, bias=None, *, out=None) -> Tensor:
    """input @ weight.T + bias, in one kernel.

    Args:
        input: (*, in_features).
        weight: (out_features, in_features), or (in_features).
        bias: (out_features), anything that broadcasts to the result, or None.
        out: a tensor to write the result to.

    Returns:
        (*, out_features), or (*) with a vector.

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.linear(torch.tensor([[1., 2.]]), torch.tensor([[3., 4.]]), torch.tensor([10.]))
        tensor([[21.]])
    """
    if out is not None:
        return into_exactly("linear", out, linear(input, weight, bias))
    try:
        plan = _plan_for((input.layout, weight.layout, None if bias is None else bias.layout))
    except AttributeError:
        plan = None
    if plan is None:
        return _first_call(input, weight, bias)
    out = plan.run(input, weight, bias)
    node, weight_node, bias_node = input.node, weight.node, None if bias is None else bias.node
    if node is None and weight_node is None and bias_node is None:
        return out
    recording = modes.recording
    if recording and plan.out.dtype.category >= 2:
        saved = (None if weight_node is None else input, None if node is None else weight)
        if recording != PLAIN:
            out.node = GraphNode(LINEAR, (node, weight_node, bias_node), saved, plan.key)
            return out
        made = out.node = new(LinearNode)
        made.primitive, made.attributes, made.outputs, made.extras = LINEAR, plan.key, 1, None
        made.edges = (node, weight_node, bias_node)
        made.saved = saved, (input.memory.version, weight.memory.version), ()
    return out


@LINEAR.run
def _again(plan, input: Tensor, weight: Tensor, bias: Tensor | None):
    return linear(input, weight, bias)                   # the plan is in the table


def _first_call(input, weight, bias):
    """A call without a plan: of a vector as weight by another op, of a bias that is no row in two steps, of rows that do not
    follow each other on a copy."""
    if isinstance(input, Tensor) and isinstance(weight, Tensor):
        if weight.layout.ndim == 1:
            out = matmul(input, weight)
            return out if bias is None else arithmetic.add(out, bias)
        if isinstance(bias, Tensor) and bias.layout.shape != weight.layout.shape[:1]:
            check_operands("linear", input.layout, bias.layout)
            out = linear(input, weight)
            return arithmetic.add(out, expand(bias, out.layout.shape))
        if input.layout.ndim != 2 and not input.layout.contiguous:
            return linear(contiguous(input), weight, bias)
    return miss(LINEAR, (input, weight, bias))


# ---------------------------------------------------------------- gradients
class _Gradients:
    """The kernels of a linear map's gradients for one layout of the incoming gradient, each planned when first wanted."""

    __slots__ = ("inputs", "grad", "by_input", "by_weight", "by_bias")

    def __init__(self, plan, grad):
        self.inputs, self.grad = plan.key[:2], _flat(grad)           # the plan has this
        self.by_input = self.by_weight = self.by_bias = None

    def for_input(self):
        x, weight = self.inputs
        self.by_input = _product(self.grad, weight, x.dense())
        return self.by_input

    def for_weight(self):
        x, weight = self.inputs
        grad = self.grad
        transposed = Layout.of(grad.dtype, grad.shape[::-1], grad.strides[::-1], grad.device)
        self.by_weight = _product(transposed, _flat(x), weight.dense())
        return self.by_weight

    def for_bias(self):
        self.by_bias = SUM.planned_for((self.grad,), (0, False, ()))
        return self.by_bias


def _product(a, b, out):
    """a @ b into the memory of `out`, which may have other dimensions."""
    return Product(out, kernels(a.device, "gemm.gemm").plan_gemm(a.shape[0], b.shape[1], a.shape[1], kernel_dtype(a), a.strides,
                                                            b.strides, (b.shape[1], 1)))


class LinearNode(GraphNode):
    """A recorded linear map whose backward calls its kernels directly: by ops it takes twice as long for small layers."""

    __slots__ = ()

    def backward(self, grad):
        saved, plan = self.saved, _plan_for(self.attributes)
        kernels = (plan and plan.gradients.get(grad.layout)) or self._kernels(grad.layout)
        if saved is None or kernels is None:
            return super().backward(grad)
        (x, weight), (x_version, weight_version), _ = saved
        if (x is not None and x.memory.version != x_version) or (weight is not None and weight.memory.version != weight_version):
            return super().backward(grad)                # which says who changed what
        by_input, by_weight, by_bias = self.edges
        if by_input is not None:
            by_input = (kernels.by_input or kernels.for_input()).run(grad, weight)
        if by_weight is not None:
            by_weight = (kernels.by_weight or kernels.for_weight()).run(grad, x)
        if by_bias is not None:
            bias = kernels.by_bias or kernels.for_bias()
            by_bias = empty(bias.out)
            bias.call(grad.address, by_bias.address, bias.descriptor)
        return by_input, by_weight, by_bias

    def _kernels(self, layout):
        """The kernels for a layout of the gradient seen for the first time; None where it is done by ops."""
        if layout.dtype.is_complex or (layout.ndim != 2 and not layout.contiguous):
            return None
        plan = LINEAR.plan_at(self.attributes)
        return plan.gradients.keep(layout, _Gradients(plan, layout))

    def differentiable_backward(self, grad):
        return super().backward(grad)


@LINEAR.derivative
def _linear_vjp(node, grad, input, weight):
    """The gradients by ops, which are recorded under `create_graph`."""
    by_input, by_weight, by_bias = node.edges
    flat = grad
    if grad.layout.ndim != 2:
        flat = reshape(grad, (-1, grad.layout.shape[-1]) if grad.layout.numel else (0, grad.layout.shape[-1]))
    if by_input is not None:
        by_input = matmul(grad, arithmetic.conj_physical(weight) if weight.layout.dtype.is_complex else weight)
    if by_weight is not None:
        rows = input if input.layout.ndim == 2 else reshape(input, (flat.layout.shape[0], input.layout.shape[-1]))
        by_weight = mm(transpose(flat, 0, 1), arithmetic.conj(rows))
    if by_bias is not None:
        by_bias = SUM.run(flat, 0)
    return by_input, by_weight, by_bias
