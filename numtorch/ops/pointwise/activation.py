"""Activations as formulas."""
from __future__ import annotations

import math

from ...kernels import vectormath
from .arithmetic import FLOATS, FLOATS_AND_COMPLEX, REAL_NUMBERS, UNORDERED, conj, linked, where
from .elementary import erf, exp, expm1, log1p, tanh
from .pointwise import pointwise

SQRT_HALF, INV_SQRT_2PI, SQRT_2_OVER_PI = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi), math.sqrt(2 / math.pi)
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805      # Klambauer et al. 2017, section 2


@pointwise(refuses={"bool": "Boolean inputs not supported for relu", "complex": ""})
def relu(x):
    """max(x, 0), elementwise; NaN stays.

    Example:
        >>> import numtorch as torch
        >>> torch.relu(torch.tensor([-2., 0., 3.]))
        tensor([0., 0., 3.])
    """
    return where(x <= 0, 0, x)


@relu.derivative
def _(grad, out):
    return linked(where(out <= 0, 0, grad), out)         # second derivatives are 0, not missing; likewise below


@pointwise(kind="float", cost=6, scalars=vectormath.sigmoid)
def sigmoid(x):
    """Logistic function 1 / (1 + exp(-x)), elementwise; within 3 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.sigmoid(torch.tensor([-2., 0., 2.]))
        tensor([0.1192, 0.5000, 0.8808])
    """


@sigmoid.overload("complex")
def _(x):
    return 1 / (1 + exp(-x))


@sigmoid.derivative
def _(grad, out):
    return grad * conj(out * (1 - out))


@pointwise(methods=False, refuses=FLOATS)
def leaky_relu(x, *, negative_slope=0.01):
    """x where positive, negative_slope * x elsewhere (Maas et al. 2013).

    Args:
        negative_slope: the slope below 0.

    Example:
        >>> import numtorch as torch
        >>> torch.leaky_relu(torch.tensor([-2., 0., 3.]), 0.1)
        tensor([-0.2000,  0.0000,  3.0000])
    """
    return where(x > 0, x, x * negative_slope)


@leaky_relu.derivative
def _(grad, x, negative_slope):
    return linked(where(x > 0, grad, grad * negative_slope), x)


@pointwise(methods=False, refuses=FLOATS)
def prelu(x, weight):
    """x where positive, weight * x elsewhere (He et al. 2015)."""
    return where(x > 0, x, x * weight)


@prelu.derivative
def _(grad, x, weight):
    return linked(grad * where(x > 0, 1, weight), x), grad * where(x > 0, 0, x)


@pointwise(kind="float", cost=6, methods=False, refuses=FLOATS)
def elu(x, *, alpha=1.0):
    """x where positive, alpha * (exp(x) - 1) elsewhere (Clevert et al. 2016).

    Args:
        alpha: minus the limit below 0.

    Example:
        >>> import numtorch as torch
        >>> torch.elu(torch.tensor([-2., 0., 3.]))
        tensor([-0.8647,  0.0000,  3.0000])
    """
    return where(x > 0, x, alpha * expm1(x))


@elu.derivative
def _(grad, x, alpha):
    return where(x > 0, grad, grad * alpha * exp(where(x < 0, x, 0)))      # nothing that overflows, and no bend at 0, as in PyTorch


@pointwise(kind="float", cost=6, methods=False, refuses=FLOATS)
def celu(x, *, alpha=1.0):
    """x where positive, alpha * (exp(x / alpha) - 1) elsewhere (Barron 2017).

    Args:
        alpha: minus the limit below 0.
    """
    return where(x > 0, x, alpha * expm1(x / alpha))


@celu.derivative
def _(grad, x, alpha):
    return where(x > 0, grad, grad * exp(where(x < 0, x, 0) / alpha))


@pointwise(kind="float", cost=6, methods=False, refuses=FLOATS)
def selu(x):
    """Scaled elu whose activations keep mean 0 and variance 1 (Klambauer et al. 2017).

    1.0507 * (x where positive, 1.67326 * (exp(x) - 1) elsewhere).

    Example:
        >>> import numtorch as torch
        >>> torch.selu(torch.tensor([-2., 0., 3.]))
        tensor([-1.5202,  0.0000,  3.1521])
    """
    return SELU_SCALE * where(x > 0, x, SELU_ALPHA * expm1(x))


@selu.derivative
def _(grad, x):
    return grad * SELU_SCALE * where(x > 0, 1, SELU_ALPHA * exp(where(x < 0, x, 0)))


@pointwise(kind="float", cost=10, methods=False, refuses=FLOATS, scalars=vectormath.gelu)
def gelu(x):
    """x * Phi(x), with Phi the normal distribution function (Hendrycks and Gimpel 2016).

    Example:
        >>> import numtorch as torch
        >>> torch.gelu(torch.tensor([-1., 0., 1.]))
        tensor([-0.1587,  0.0000,  0.8413])
    """


@gelu.derivative
def _(grad, x):
    return grad * (0.5 * (1 + erf(x * SQRT_HALF)) + x * exp(-0.5 * x * x) * INV_SQRT_2PI)


@pointwise(kind="float", cost=8, methods=False, refuses=FLOATS)
def gelu_tanh(x):
    """gelu by its tanh approximation."""
    return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


@gelu_tanh.derivative
def _(grad, x):
    t = tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x))
    return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * SQRT_2_OVER_PI * (1 + 0.134145 * x * x))


@pointwise(kind="float", cost=6, methods=False, refuses=FLOATS_AND_COMPLEX)
def silu(x):
    """x * sigmoid(x), elementwise (Elfwing et al. 2017).

    Example:
        >>> import numtorch as torch
        >>> torch.silu(torch.tensor([-1., 0., 1.]))
        tensor([-0.2689,  0.0000,  0.7311])
    """
    return x * sigmoid(x)


@silu.derivative
def _(grad, x):
    return grad * conj(sigmoid(x) * (1 + x * (1 - sigmoid(x))))


@pointwise(kind="float", cost=6, methods=False, refuses=FLOATS)
def gated(x, gate):
    """x * sigmoid(gate), elementwise."""
    return x * sigmoid(gate)


@gated.derivative
def _(grad, x, gate):
    return grad * sigmoid(gate), grad * x * sigmoid(gate) * (1 - sigmoid(gate))


@pointwise(kind="float", cost=12, methods=False, refuses=FLOATS)
def mish(x):
    """x * tanh(softplus(x)), elementwise (Misra 2019).

    Example:
        >>> import numtorch as torch
        >>> torch.mish(torch.tensor([-1., 0., 1.]))
        tensor([-0.3034,  0.0000,  0.8651])
    """
    return x * tanh(softplus(x, 1.0, 20.0))


@mish.derivative
def _(grad, x):
    t = tanh(softplus(x, 1.0, 20.0))
    return grad * (t + x * (1 - t * t) * sigmoid(x))


@pointwise(kind="float", cost=8, methods=False, refuses=FLOATS)
def softplus(x, *, beta=1.0, threshold=20.0):
    """log(1 + exp(beta * x)) / beta, a smooth relu, and x itself where beta * x exceeds the threshold.

    Args:
        beta: how sharply it bends.
        threshold: from where on the curve is taken for straight.

    Example:
        >>> import numtorch as torch
        >>> torch.softplus(torch.tensor([-1., 0., 30.]))
        tensor([ 0.3133,  0.6931, 30.0000])
    """
    return where(x * beta > threshold, x, log1p(exp(where(x * beta > threshold, 0, x * beta))) / beta)


@softplus.derivative
def _(grad, x, beta, threshold):
    return where(x * beta > threshold, grad, grad * sigmoid(x * beta))


@pointwise(kind="float", cost=8, methods=False, refuses=FLOATS)
def logsigmoid(x):
    """log(sigmoid(x)), elementwise, exact for large |x|.

    Example:
        >>> import numtorch as torch
        >>> torch.logsigmoid(torch.tensor([-100., 0., 2.]))
        tensor([-100.0000,   -0.6931,   -0.1269])
    """
    return where(x < 0, x, 0) - log1p(exp(where(x < 0, x, -x)))


@logsigmoid.derivative
def _(grad, x):
    return grad * sigmoid(-x)


@pointwise(kind="operands", methods=False, refuses=REAL_NUMBERS)
def hardtanh(x, *, min_val=-1.0, max_val=1.0):
    """x held between min_val and max_val.

    Args:
        min_val, max_val: the bounds.

    Example:
        >>> import numtorch as torch
        >>> torch.hardtanh(torch.tensor([-2., 0.5, 3.]))
        tensor([-1.0000,  0.5000,  1.0000])
    """
    return where(x < min_val, min_val, where(x > max_val, max_val, x))


@hardtanh.derivative
def _(grad, x, min_val, max_val):
    return linked(where((x <= min_val) | (x >= max_val), 0, grad), x)


@pointwise(kind="float", methods=False, refuses=FLOATS)
def hardsigmoid(x):
    """x / 6 + 1/2 held between 0 and 1 (Courbariaux et al. 2015).

    Example:
        >>> import numtorch as torch
        >>> torch.hardsigmoid(torch.tensor([-4., 0., 1.5]))
        tensor([0.0000, 0.5000, 0.7500])
    """
    return where(x <= -3, 0, where(x >= 3, 1, x / 6 + 0.5))


@hardsigmoid.derivative
def _(grad, x):
    return where((x > -3) & (x < 3), grad / 6, 0)


@pointwise(kind="float", methods=False, refuses=FLOATS)
def hardswish(x):
    """x * hardsigmoid(x) (Howard et al. 2019).

    Example:
        >>> import numtorch as torch
        >>> torch.hardswish(torch.tensor([-4., 1.5, 4.]))
        tensor([0.0000, 1.1250, 4.0000])
    """
    return where(x <= -3, 0, where(x >= 3, x, x * (x + 3) / 6))


@hardswish.derivative
def _(grad, x):
    return grad * where(x <= -3, 0, where(x >= 3, 1, x / 3 + 0.5))


@pointwise(kind="float", methods=False, refuses=UNORDERED)
def softsign(x):
    """x / (1 + |x|), elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.softsign(torch.tensor([-1., 0., 3.]))
        tensor([-0.5000,  0.0000,  0.7500])
    """
    return x / (1 + abs(x))


@softsign.derivative
def _(grad, x):
    return grad / ((1 + abs(x)) * (1 + abs(x)))


@pointwise(kind="operands", methods=False, refuses=REAL_NUMBERS)
def threshold(x, *, threshold, value):
    """x where it exceeds the threshold, else value.

    Args:
        threshold: the number to exceed.
        value: what stands in the place of the others.

    Example:
        >>> import numtorch as torch
        >>> torch.threshold(torch.tensor([-1., 0.5, 3.]), 0.5, 20.)
        tensor([20., 20.,  3.])
    """
    return where(x <= threshold, value, x)


@threshold.derivative
def _(grad, x, threshold):
    return linked(where(x <= threshold, 0, grad), x)


@pointwise(methods=False, refuses=FLOATS)
def softshrink(x, *, lambd=0.5):
    """x moved towards 0 by lambd, and 0 where it is nearer.

    Args:
        lambd: the distance, not negative.
    """
    return where(x > lambd, x - lambd, where(x < -lambd, x + lambd, x * 0))


@softshrink.derivative
def _(grad, x, lambd):
    return linked(where((x >= -lambd) & (x <= lambd), 0, grad), x)


@pointwise(kind="float", cost=7, methods=False)
def tanhshrink(x):
    """x - tanh(x), elementwise."""
    return x - tanh(x)


@tanhshrink.derivative
def _(grad, x):
    return grad * conj(tanh(x) * tanh(x))


@pointwise(methods=False, refuses=FLOATS)
def hardshrink(x, *, lambd=0.5):
    """x, and 0 where |x| is at most lambd.

    Args:
        lambd: the distance from 0 within which all becomes 0, not negative.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-1., 0.3, 2.]).hardshrink()
        tensor([-1.,  0.,  2.])
    """
    return where((x >= -lambd) & (x <= lambd), 0, x)


@hardshrink.derivative
def _(grad, x, lambd):
    return linked(where((x >= -lambd) & (x <= lambd), 0, grad), x)
