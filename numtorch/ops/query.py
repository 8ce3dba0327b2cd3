"""Questions about tensors that give a Python answer, and comparisons of whole tensors."""
from __future__ import annotations

from .. import layout as algebra
from ..devices import cpu
from ..tensor import Size, Tensor
from . import comparison, reduce, view
from .backends import kernels
from .indexed import run_comparing
from .op import method, new_plan_table


def broadcast_shapes(*shapes):
    """The shape that all of these broadcast to. Raises RuntimeError when they do not."""
    return Size(algebra.broadcast_shapes(*[(s,) if isinstance(s, int) else tuple(s) for s in shapes]))


def broadcast_tensors(*tensors):
    """Views of the tensors, all of the shape they broadcast to."""
    shape = algebra.broadcast_shapes(*[x.layout.shape for x in tensors])
    return tuple([view.expand(x, *shape) for x in tensors])


def is_tensor(obj):
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input):
    """Whether a tensor's dtype is floating point."""
    return input.dtype.is_floating_point


def is_complex(input):
    """Whether a tensor's dtype is complex."""
    return input.dtype.is_complex


def numel(input):
    """The number of elements of a tensor."""
    return input.layout.numel


_comparisons = new_plan_table()


def equal(input, other):
    """Whether two tensors have the same shape and elements."""
    layout = input.layout
    if layout is other.layout and layout.contiguous and layout.numel and layout.device is cpu:
        plan = _comparisons.get(layout)
        if plan is None:
            kind = layout.dtype
            plan = _comparisons.keep(layout, kernels(cpu, "equal").plan_differs(
                kind.to_real().kernel, layout.numel * (1 + kind.is_complex)))
        return not run_comparing(*plan, input, other)
    return layout.shape == other.layout.shape and reduce.all(comparison.eq(input, other)).item()


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |input - other| <= atol + rtol * |other| everywhere."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where |input - other| <= atol + rtol * |other|; infinities are close to themselves."""
    if input.layout.dtype.name == "bool" and other.layout.dtype.name == "bool":
        return input == other                            # there is nothing between two truths
    near = (input - other).abs() <= atol + (other * rtol).abs()
    close = (input == other) | (comparison.isfinite(input) & comparison.isfinite(other) & near)
    return close | (comparison.isnan(input) & comparison.isnan(other)) if equal_nan else close


method(equal)
method(allclose)
method(isclose)
