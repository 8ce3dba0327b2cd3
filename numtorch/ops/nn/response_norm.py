"""Local response norm: a kernel forward and a kernel backward, and the formula for gradients of gradients."""
from __future__ import annotations

import math

from ...autograd.graph import recording
from ...dtypes import float32, int64
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..memory.copies import contiguous, to_dtype
from ..pointwise.arithmetic import add, div, floor_divide, mul, sub
from ..pointwise.power import pow
from ..shape.pad import pad
from ..shape.slicing import narrow

LOCAL_RESPONSE_NORM = Primitive("local_response_norm", samples="T[1, 3, 2]; 2, 0.1, 0.75, 1.0")
LOCAL_RESPONSE_NORM_GRAD = Primitive("local_response_norm_grad",
                                     samples="T[1, 3, 2], T[1, 3, 2], T[1, 3, 2]; 2, 0.1, 0.75, 1.0")
_KERNELS = "float32", "float64"


@LOCAL_RESPONSE_NORM.planned
class _Plan:
    __slots__ = ("out", "forward")

    def __init__(self, layout, size, alpha, beta, k):
        shape = layout.shape
        if len(shape) < 3:
            raise ValueError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
        expect_dtypes("local_response_norm", layout.dtype, *_KERNELS)
        if size < 1:
            raise RuntimeError(f"local_response_norm: expected a window of at least one channel, got size={size}")
        self.out = layout.dense()
        self.forward = kernels(layout.device, "norm.response_norm").plan_response_norm(*_settings(layout, size, alpha, beta, k))


def _settings(layout, *window):
    return layout.dtype.compute, layout.shape[0], layout.shape[1], math.prod(layout.shape[2:]), *window


def local_response_norm(input, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha * mean of squares over `size` neighbouring channels)^beta (Krizhevsky et al. 2012).

    Args:
        input: (N, C, *), of floating point or int64 and at least three dimensions.
        size: how many channels, half of them on each side; beyond the ends they count as 0.
        alpha, beta, k: of the formula.

    Returns:
        The input's shape and dtype; of int64, whose mean is a whole number, the default dtype.

    Raises:
        ValueError: an input of fewer than 3 dimensions.
        RuntimeError: a size below 1, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.local_response_norm(torch.ones(1, 3, 1), 2, alpha=2.0, beta=1.0).flatten()
        tensor([0.5000, 0.3333, 0.3333])
    """
    dtype = layout_of("local_response_norm", input).dtype
    if dtype.itemsize == 2 and dtype.is_floating_point:  # sums over windows would be rounded at every step
        return to_dtype(_normed(to_dtype(input, float32), size, alpha, beta, k), dtype)
    if dtype is int64 and input.layout.ndim > 2 and size > 0:
        mean = floor_divide(_window_sum(mul(input, input), size // 2, (size - 1) // 2), size)
        return div(input, pow(add(mul(mean, alpha), k), beta))
    return _normed(input, size, alpha, beta, k)


@LOCAL_RESPONSE_NORM.run
def _normed(plan, input: Tensor, size: int, alpha: float, beta: float, k: float):
    if not plan.out.numel:
        return input
    out, divisor = empty(plan.out), empty(plan.out)
    x = input if input.layout.contiguous else contiguous(input.detach())
    plan.forward.call(x.address, out.address, divisor.address, plan.forward.descriptor)
    return LOCAL_RESPONSE_NORM.recorded(out, (input,), (input, divisor), (size, alpha, beta, k))


@LOCAL_RESPONSE_NORM.derivative
def _vjp(node, grad, input, divisor):
    if recording(input, grad):
        return (_composed_gradient(input, grad, *node.attributes),)
    return (_gradient(grad, input, divisor, *node.attributes),)


@LOCAL_RESPONSE_NORM_GRAD.planned
def _plan_gradient(grad, input, divisor, size, alpha, beta, k):
    expect_dtypes("local_response_norm_grad", input.dtype, *_KERNELS)
    for name, other in (("grad", grad), ("divisor", divisor)):
        expect_layout("local_response_norm_grad", name, other, input.shape, input.dtype)
    module = kernels(input.device, "norm.response_norm")
    return input.dense(), module.plan_response_norm_grad(*_settings(input, size, alpha, beta, k))


@LOCAL_RESPONSE_NORM_GRAD.run
def _gradient(plan, grad: Tensor, input: Tensor, divisor: Tensor, size: int, alpha: float, beta: float, k: float):
    layout, prepared = plan
    out = empty(layout)
    x, grad = [t if t.layout.contiguous else contiguous(t) for t in (input.detach(), grad)]
    prepared.call(grad.address, x.address, divisor.address, out.address, prepared.descriptor)
    return out


def _window_sum(x, before, after):
    """The sum over the channels from `before` below each to `after` above it."""
    channels = x.layout.shape[1]
    padded = pad(x, (0, 0) * (x.layout.ndim - 2) + (before, after))
    total = narrow(padded, 1, 0, channels)
    for start in range(1, before + after + 1):
        total = add(total, narrow(padded, 1, start, channels))
    return total


def _composed_gradient(x, grad, size, alpha, beta, k):
    before, after = size // 2, (size - 1) // 2
    share = alpha / size
    divisor = add(mul(_window_sum(mul(x, x), before, after), share), k)
    scaled = mul(grad, pow(divisor, -beta))
    spread = _window_sum(div(mul(scaled, x), divisor), after, before)
    return sub(scaled, mul(mul(x, spread), 2 * share * beta))
