"""Gamma and Dirichlet numbers, with gradients by implicit reparameterisation (kernels/cpu/random/gamma.py says how).

PyTorch has these under names with an underscore; the distributions of `numtorch.distributions` are made of them.
"""
from __future__ import annotations

from ...dtypes import finfo, float64
from ...tensor import Tensor, empty
from ..core.operands import layout_of
from ..core.primitive import Draw, Primitive, derivative_of, miss
from ..pointwise.elementary import exp
from ..pointwise.functions import clamp
from ..reduce import reductions
from .distributions import DrawPlan

_STANDARD_GAMMA = Draw("_standard_gamma", "Gamma numbers of the given shapes and rate 1.", ("self", "generator"),
                       samples="T[2, 3];")
_SAMPLE_DIRICHLET = Draw("_sample_dirichlet", "Dirichlet numbers over the last dimension.", ("self", "generator"),
                         samples="T[2, 3];")
_STANDARD_GAMMA_GRAD = Primitive("_standard_gamma_grad", "Slopes of gamma numbers.", ("self", "output"), samples="T[3], T[3];")
_DIRICHLET_GRAD = Primitive("_dirichlet_grad", "Slopes of beta numbers x, over 1 - x.", ("x", "alpha", "total"),
                            samples="T([0.2, 0.5]), T[2], T([2, 3]);")

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
    _floating("_standard_gamma", self)
    return _STANDARD_GAMMA.draw((self,), (), generator)


_STANDARD_GAMMA.planned(lambda layout: DrawPlan("gamma", (layout,), "random.gamma"))


def _draw_gamma(plan, self, generator):
    out = plan.result(plan.draw((self,), generator)[0])
    return _STANDARD_GAMMA.recorded(out, (self,), (self,), saves_result=True)


_STANDARD_GAMMA.execute = _draw_gamma


@_STANDARD_GAMMA.derivative
def _gamma_vjp(node, grad, shapes, numbers):
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
    _floating("_sample_dirichlet", self)
    return _SAMPLE_DIRICHLET.draw((self,), (), generator)


_SAMPLE_DIRICHLET.planned(lambda layout: DrawPlan("log_gamma", (layout,), "random.gamma", float64))


def _draw_dirichlet(plan, self, generator):
    logs, _ = plan.draw((self,), generator)
    parts = exp(logs - reductions.amax(logs, -1, True)) if self.layout.numel else logs
    limits = finfo(self.layout.dtype)
    out = clamp(plan.result(parts / reductions.sum(parts, -1, True)), limits.tiny, 1 - limits.eps / 2)
    return _SAMPLE_DIRICHLET.recorded(out, (self,), (self,), saves_result=True)


_SAMPLE_DIRICHLET.execute = _draw_dirichlet


@_SAMPLE_DIRICHLET.derivative
def _dirichlet_vjp(node, grad, shapes, x):
    """A part moves as a beta number does, and the others make room in proportion."""
    total = reductions.sum(shapes, -1, True).expand_as(shapes)
    return (dirichlet_grad(x, shapes, total) * (grad - reductions.sum(x * grad, -1, True)),)


# ---------------------------------------------------------------- slopes
def _slopes(primitive, kind):
    """A kernel of gamma.py over tensors of one dtype, whose shapes broadcast."""
    @primitive.planned
    def plan(*layouts):
        first = layouts[0]
        for other in layouts[1:]:
            if other.dtype is not first.dtype:
                raise RuntimeError(f"Found dtype {other.dtype.title} but expected {first.dtype.title} ({primitive.name})")
        return DrawPlan(kind, layouts, "random.gamma")

    def slopes(*tensors):
        for place, (tensor, argument) in enumerate(zip(tensors, primitive.parameters), 1):
            _floating(primitive.name, tensor, argument, place)
        plan = primitive.plans.get(tuple([t.layout for t in tensors]))
        return miss(primitive, tensors) if plan is None else primitive.execute(plan, *tensors)

    def execute(plan, *tensors):
        out, operands = empty(plan.layout), [plan.operand(t) for t in tensors]
        plan.prepared.call(*[x.address for x in operands], out.address, plan.prepared.descriptor)
        out = plan.result(out)
        return primitive.recorded(out, tensors)
    primitive.execute = execute
    return slopes


_gamma_slopes, _beta_slopes = _slopes(_STANDARD_GAMMA_GRAD, "gamma_slope"), _slopes(_DIRICHLET_GRAD, "beta_slope")


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
    return _gamma_slopes(self, output)


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
    return _beta_slopes(x, alpha, total)


@derivative_of(_STANDARD_GAMMA_GRAD, _DIRICHLET_GRAD)
def _no_second_derivative(node, grad):
    raise NotImplementedError(f"the derivative for '{node.primitive.name}' is not implemented.")

