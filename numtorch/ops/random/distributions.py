"""Poisson, binomial and von Mises numbers. Like all draws they are a function of a stream's seed and position."""
from __future__ import annotations

from ...dtypes import float32, float64
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes
from ..core.backends import device_with, kernels
from ..core.generator import claim
from ..core.operands import layout_of
from ..core.primitive import Draw, derivative_of
from ..memory.copies import contiguous, to_device, to_dtype
from ..shape.views import expand
from .draws import _state

_POISSON = Draw("poisson", "How many events there are.", ("input", "generator"), samples="T[2, 3];")
_BINOMIAL = Draw("binomial", "How many trials succeed.", ("count", "prob", "generator"), samples="T([4, 5]), T([0.5, 0.2]);")
_VON_MISES = Draw("von_mises", "Angles of density proportional to exp(concentration cos(x - loc)).",
                  ("loc", "concentration", "generator"),
                  samples="T[3], T[3];")


class DrawPlan:
    """The layout that a kernel reads its operands in and writes, the kernel, and the result's dtype and device."""

    __slots__ = ("layout", "prepared", "dtype", "device")

    def __init__(self, kind, layouts, family, dtype=None):
        shape, first = broadcast_shapes(*[layout.shape for layout in layouts]), layouts[0]
        expect_dtypes(kind, first.dtype, "float")
        self.dtype, self.device, where = first.dtype, first.device, device_with(first.device, family)
        compute = dtype or (first.dtype if first.dtype in (float32, float64) else float32)
        self.layout = Layout.of(compute, shape, None, where)
        planner = getattr(kernels(where, family), f"plan_{kind}")
        self.prepared = planner(compute.kernel, self.layout.numel) if self.layout.numel else NOTHING

    def operand(self, x):
        """A tensor as the kernel reads it."""
        x = to_dtype(to_device(x.detach() if x.node is not None else x, self.layout.device), self.layout.dtype)
        return contiguous(x if x.layout.shape == self.layout.shape else expand(x, self.layout.shape))

    def draw(self, tensors, generator):
        """What the kernel draws, and its status."""
        out, (words, address) = empty(self.layout), _state.words
        operands = [self.operand(x) for x in tensors]
        claim(generator, words, self.layout.numel)
        self.prepared.call(*[x.address for x in operands], out.address, address, self.prepared.descriptor)
        status, words[2] = words[2], 0
        return out, status

    def result(self, x):
        """What the kernel wrote, in the dtype and on the device of the call."""
        return to_device(to_dtype(x, self.dtype), self.device)


def poisson(input, generator=None) -> Tensor:
    """How many events there are, for each element the rate at which they come. Its gradient is 0.

    Args:
        input: the rates (*), floating point, not negative.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*) of the input's dtype.

    Raises:
        NotImplementedError: rates that are not floating point.
        RuntimeError: a negative rate.

    Example:
        >>> import numtorch as torch
        >>> torch.poisson(torch.zeros(3))
        tensor([0., 0., 0.])
    """
    layout_of("poisson", input)
    return _POISSON.draw((input,), (), generator)


@_POISSON.planned
def _plan_poisson(layout):
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"poisson_cpu" not implemented for \'{layout.dtype.title}\'')
    return DrawPlan("poisson", (layout,), "random.rejection")


def _draw_poisson(plan, input, generator):
    out, status = plan.draw((input,), generator)
    if status:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    out = plan.result(out)
    return _POISSON.recorded(out, (input,), (), (input.layout.shape,))


_POISSON.execute = _draw_poisson


def binomial(count, prob, generator=None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`, elementwise. Its gradient is 0.

    Args:
        count: (*) floating point; what is below 0 counts as 0, and a part of a trial as none.
        prob: (*) of the same dtype; what is below 0 counts as 0, what is above 1 as 1; the shapes broadcast.
        generator: where the random numbers come from; the default one when None.

    Returns:
        The broadcast shape of both, of their dtype.

    Raises:
        ValueError: a count that is not floating point.
        RuntimeError: two dtypes, or shapes that do not broadcast together.

    Example:
        >>> import numtorch as torch
        >>> torch.binomial(torch.tensor([10., 4.]), torch.tensor([1., 0.]))
        tensor([10.,  0.])
    """
    layout_of("binomial", count, "count"), layout_of("binomial", prob, "prob", 2)
    return _BINOMIAL.draw((count, prob), (), generator)


@_BINOMIAL.planned
def _plan_binomial(first, second):
    if not first.dtype.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {first.dtype.title}")
    if first.dtype is not second.dtype:
        raise RuntimeError(f"Found dtype {second.dtype.title} but expected {first.dtype.title} (binomial)")
    return DrawPlan("binomial", (first, second), "random.rejection")


def _draw_binomial(plan, count, prob, generator):
    out = plan.result(plan.draw((count, prob), generator)[0])
    return _BINOMIAL.recorded(out, (count, prob), (), (count.layout.shape, prob.layout.shape))


_BINOMIAL.execute = _draw_binomial


def von_mises(loc, concentration, generator=None) -> Tensor:
    """Angles in [-pi, pi) of density proportional to exp(concentration cos(x - loc)), without a gradient.

    Args:
        loc, concentration: of one shape (*) and dtype, floating point; concentrations are above 0.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*) of their dtype.
    """
    return _VON_MISES.draw((loc, concentration), (), generator)


_VON_MISES.planned(lambda *layouts: DrawPlan("von_mises", layouts, "random.rejection"))
_VON_MISES.execute = lambda plan, loc, concentration, generator: plan.result(plan.draw((loc, concentration), generator)[0])


@derivative_of(_POISSON, _BINOMIAL)
def _no_slope(node, grad):
    return tuple(grad.new_zeros(shape) if node.needs(i) else None for i, shape in enumerate(node.attributes))
