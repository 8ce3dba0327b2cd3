"""Poisson, binomial and von Mises numbers. Like all draws they are a function of a stream's seed and position."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...devices import cpu
from ...dtypes import float32, float64
from ...layout import broadcast_shapes
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.generator import claim
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of, new_plan_table
from ..memory.copies import contiguous, to_device, to_dtype
from ..shape.views import expand
from .draws import _state

_BINOMIAL = Primitive("binomial")

_POISSON = Primitive("poisson")

_plans = new_plan_table()


def draw(kind, operands, generator, family="random.rejection"):
    """A draw from contiguous operands of one layout, and the kernel's status."""
    layout = operands[0].layout
    prepared = _plans.get((kind, layout))
    if prepared is None and layout.numel:
        prepared = getattr(kernels(cpu, family), f"plan_{kind}")(layout.dtype.kernel, layout.numel)
        _plans.keep((kind, layout), prepared)
    out = empty(layout)
    words, address = _state.words
    claim(generator, words, layout.numel)
    if prepared is not None:
        prepared.call(*[x.address for x in operands], out.address, address, prepared.walk)
    status, words[2] = words[2], 0
    return out, status


def operand(x, shape):
    """An operand for a kernel: float32 or float64, on the CPU, dense."""
    kind = x.layout.dtype
    x = to_device(x.detach() if x.node is not None else x, cpu)
    x = x if kind is float32 or kind is float64 else to_dtype(x, float32)
    return contiguous(x if x.layout.shape == shape else expand(x, shape))


def result(x, kind, device):
    return to_device(x if x.layout.dtype is kind else to_dtype(x, kind), device)


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
    layout = layout_of("poisson", input)
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"poisson_cpu" not implemented for \'{layout.dtype.title}\'')
    out, status = draw("poisson", (operand(input, layout.shape),), generator)
    if status:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    out = result(out, layout.dtype, layout.device)
    if recording(input):
        out.node = GraphNode(_POISSON, (input.node,), (), (layout.shape,))
    return out


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
    first, second = layout_of("binomial", count, "count"), layout_of("binomial", prob, "prob", 2)
    if not first.dtype.is_floating_point:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {first.dtype.title}")
    if first.dtype is not second.dtype:
        raise RuntimeError(f"Found dtype {second.dtype.title} but expected {first.dtype.title} (binomial)")
    shape = broadcast_shapes(first.shape, second.shape)
    out, _ = draw("binomial", (operand(count, shape), operand(prob, shape)), generator)
    out = result(out, first.dtype, first.device)
    if recording(count, prob):
        out.node = GraphNode(_BINOMIAL, (count.node, prob.node), (), (first.shape, second.shape))
    return out


def von_mises(loc, concentration, generator=None) -> Tensor:
    """Angles in [-pi, pi) of density proportional to exp(concentration cos(x - loc)), without a gradient.

    Args:
        loc, concentration: of one shape (*) and dtype, floating point; concentrations are above 0.
        generator: where the random numbers come from; the default one when None.

    Returns:
        (*) of their dtype.
    """
    shape, kind, device = loc.layout.shape, loc.layout.dtype, loc.layout.device
    out, _ = draw("von_mises", (operand(loc, shape), operand(concentration, shape)), generator)
    return result(out, kind, device)


@derivative_of(_POISSON, _BINOMIAL)
def _no_slope(node, grad):
    return tuple(grad.new_zeros(shape) if node.needs(i) else None for i, shape in enumerate(node.attributes))
