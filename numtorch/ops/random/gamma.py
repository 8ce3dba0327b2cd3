"""Gamma and Dirichlet numbers, with gradients by implicit reparameterisation (kernels/cpu/random/gamma.py says how).

PyTorch has these under names with an underscore; the distributions of `numtorch.distributions` are made of them.
"""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...devices import cpu
from ...dtypes import finfo, float64
from ...layout import broadcast_shapes
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of, new_plan_table
from ..memory.copies import to_device, to_dtype
from ..pointwise.elementary import exp
from ..pointwise.functions import clamp
from ..reduce import reductions
from .distributions import draw, operand, result

_STANDARD_GAMMA = Primitive("_standard_gamma", "Gamma numbers of the given shapes and rate 1.", ("self", "generator"))
_SAMPLE_DIRICHLET = Primitive("_sample_dirichlet", "Dirichlet numbers over the last dimension.", ("self", "generator"))
_STANDARD_GAMMA_GRAD = Primitive("_standard_gamma_grad", "Slopes of gamma numbers.", ("self", "output"))
_DIRICHLET_GRAD = Primitive("_dirichlet_grad", "Slopes of beta numbers x, over 1 - x.", ("x", "alpha", "total"))

_plans = new_plan_table()


def _floating(name, value, argument="self", position=1):
    layout = layout_of(name, value, argument, position)
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{name}" not implemented for \'{layout.dtype.title}\'')
    return layout


def standard_gamma(self, generator=None) -> Tensor:
    """Gamma numbers of the given shapes and rate 1, at least the least normal number of their dtype.

    Args:
        self: the shapes (*), floating point, not negative. A gradient goes to them, to first order.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*) of the dtype of `self`.

    Raises:
        NotImplementedError: shapes that are not floating point.

    Example:
        >>> import numtorch as torch
        >>> bool((torch._standard_gamma(torch.full((100,), 2.0)) > 0).all())
        True
    """
    layout = _floating("_standard_gamma", self)
    out, _ = draw("gamma", (operand(self, layout.shape),), generator, "random.gamma")
    out = result(out, layout.dtype, layout.device)
    if recording(self):
        out.node = GraphNode(_STANDARD_GAMMA, (self.node,), (self,))
        out.node.save_results([out])
    return out


@_STANDARD_GAMMA.derivative
def _gamma_vjp(node, grad):
    shapes, = node.tensors()
    numbers, = node.result_tensors()
    return (grad * standard_gamma_grad(shapes, numbers),)


def sample_dirichlet(self, generator=None) -> Tensor:
    """Rows of positive numbers with the sum 1, of density proportional to the product of `x ** (self - 1)`.

    They are gamma numbers over their sum, in logarithms, so that shapes near 0 give a row with one 1 rather than 0 / 0.

    Args:
        self: (*, K), floating point, above 0. A gradient goes to them, to first order.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*, K) of the dtype of `self`, each above 0 and below 1.

    Raises:
        NotImplementedError: shapes that are not floating point.

    Example:
        >>> import numtorch as torch
        >>> torch._sample_dirichlet(torch.tensor([1., 2., 3.])).sum().round(decimals=3)
        tensor(1.)
    """
    layout = _floating("_sample_dirichlet", self)
    logs, _ = draw("log_gamma", (to_dtype(operand(self, layout.shape), float64),), generator, "random.gamma")
    parts = exp(logs - reductions.amax(logs, -1, True)) if layout.numel else logs
    limits = finfo(layout.dtype)
    out = result(parts / reductions.sum(parts, -1, True), layout.dtype, cpu)
    out = to_device(clamp(out, limits.tiny, 1 - limits.eps / 2), layout.device)
    if recording(self):
        out.node = GraphNode(_SAMPLE_DIRICHLET, (self.node,), (self,))
        out.node.save_results([out])
    return out


@_SAMPLE_DIRICHLET.derivative
def _dirichlet_vjp(node, grad):
    """A part moves as a beta number does, and the others make room in proportion."""
    shapes, = node.tensors()
    x, = node.result_tensors()
    total = reductions.sum(shapes, -1, True).expand_as(shapes)
    return (dirichlet_grad(x, shapes, total) * (grad - reductions.sum(x * grad, -1, True)),)


# ---------------------------------------------------------------- slopes
def _slopes(primitive, tensors):
    """A kernel of gamma.py over tensors of one dtype, whose shapes broadcast."""
    layouts = [_floating(primitive.name, t, argument, place)
               for place, (t, argument) in enumerate(zip(tensors, primitive.parameters), 1)]
    first = layouts[0]
    for other in layouts[1:]:
        if other.dtype is not first.dtype:
            raise RuntimeError(f"Found dtype {other.dtype.title} but expected {first.dtype.title} ({primitive.name})")
    shape = broadcast_shapes(*[layout.shape for layout in layouts])
    operands = [operand(t, shape) for t in tensors]
    layout = operands[0].layout
    prepared = _plans.get((primitive, layout))
    if prepared is None and layout.numel:
        name = {_STANDARD_GAMMA_GRAD: "plan_gamma_slope", _DIRICHLET_GRAD: "plan_beta_slope"}[primitive]
        prepared = getattr(kernels(cpu, "random.gamma"), name)(layout.dtype.kernel, layout.numel)
        _plans.keep((primitive, layout), prepared)
    out = empty(layout)
    if prepared is not None:
        prepared.call(*[x.address for x in operands], out.address, prepared.walk)
    out = result(out, first.dtype, first.device)
    if recording(*tensors):
        out.node = GraphNode(primitive, tuple(t.node for t in tensors), ())
    return out


def standard_gamma_grad(self, output) -> Tensor:
    """How gamma numbers move with their shapes, where their shares of the distribution stay.

    Args:
        self: the shapes (*).
        output: the numbers (*), of the same dtype; the shapes broadcast.

    Returns:
        d output / d self, 0 where a number or a shape is not above 0.

    Raises:
        RuntimeError: two dtypes, or shapes that do not broadcast together.

    Example:
        >>> import numtorch as torch
        >>> torch._standard_gamma_grad(torch.tensor([1.0, 100.0]), torch.tensor([0.6931, 100.0]))
        tensor([0.9680, 1.0017])
    """
    return _slopes(_STANDARD_GAMMA_GRAD, (self, output))


def dirichlet_grad(x, alpha, total) -> Tensor:
    """How beta numbers move with their first shape, over what is left above them.

    Args:
        x: the numbers (*), between 0 and 1.
        alpha: the first shapes (*), to which the slopes belong.
        total: the sums of both shapes (*); all three are of one dtype, and the shapes broadcast.

    Returns:
        (d x / d alpha) / (1 - x), 0 where x is not above 0 or a shape is not.

    Raises:
        RuntimeError: two dtypes, or shapes that do not broadcast together.

    Example:
        >>> import numtorch as torch
        >>> torch._dirichlet_grad(torch.tensor(0.5), torch.tensor(1.0), torch.tensor(2.0))
        tensor(0.6931)
    """
    return _slopes(_DIRICHLET_GRAD, (x, alpha, total))


@derivative_of(_STANDARD_GAMMA_GRAD, _DIRICHLET_GRAD)
def _no_second_derivative(node, grad):
    raise NotImplementedError(f"the derivative for '{node.primitive.name}' is not implemented.")

