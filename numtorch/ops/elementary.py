"""Elementary and special functions: exponentials, logarithms, trigonometry, roots, rounding, erf and gamma."""
from __future__ import annotations

import math

from ..kernels import vectormath
from ..tensor import Tensor
from .arithmetic import FLOATS, REAL_NUMBERS, conj, where
from .pointwise import pointwise

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
LN2, LN10, PI = math.log(2), math.log(10), math.pi
pow_, floor_ = vectormath.pow, vectormath.floor


def _elementary(name, doc, cost=6.0, **options):
    """An op whose scalar code is the elementary function of the same name."""
    def body(x):
        raise NotImplementedError
    body.__name__, body.__doc__, body.__module__ = name, doc, __name__
    return pointwise(kind="float", cost=cost, scalars=getattr(vectormath, name), **options)(body)


exp = _elementary("exp", "e to the power x, elementwise.", 4)
log = _elementary("log", "Natural logarithm, elementwise.")
sqrt = _elementary("sqrt", "Square root, elementwise.", 3)
sin = _elementary("sin", "Sine of x in radians, elementwise.", 8)
cos = _elementary("cos", "Cosine of x in radians, elementwise.", 8)
tan = _elementary("tan", "Tangent of x in radians, elementwise.", 12)
tanh = _elementary("tanh", "Hyperbolic tangent, elementwise.")
exp2 = _elementary("exp2", "2 to the power x, elementwise.", 4)
expm1 = _elementary("expm1", "exp(x) - 1, exact for small x, elementwise.")
log2 = _elementary("log2", "Logarithm to base 2, elementwise.")
log10 = _elementary("log10", "Logarithm to base 10, elementwise.")
log1p = _elementary("log1p", "log(1 + x), exact for small x, elementwise.")
sinh = _elementary("sinh", "Hyperbolic sine, elementwise.")
cosh = _elementary("cosh", "Hyperbolic cosine, elementwise.")
asin = _elementary("asin", "Inverse sine in radians, elementwise.", 8)
acos = _elementary("acos", "Inverse cosine in radians, elementwise.", 8)
atan = _elementary("atan", "Inverse tangent in radians, elementwise.", 8)
asinh = _elementary("asinh", "Inverse hyperbolic sine, elementwise.", 10)
acosh = _elementary("acosh", "Inverse hyperbolic cosine, elementwise.", 10)
atanh = _elementary("atanh", "Inverse hyperbolic tangent, elementwise.", 10)
rsqrt = _elementary("rsqrt", "1 / sqrt(x), elementwise.", 3)
erf = _elementary("erf", "Error function, elementwise.", 8)
erfc = _elementary("erfc", "1 - erf(x), exact for large x, elementwise.", 10)
erfinv = _elementary("erfinv", "Inverse of the error function, elementwise.", 10)
lgamma = _elementary("lgamma", "Logarithm of |gamma(x)|, elementwise.", 20)
digamma = _elementary("digamma", "Derivative of lgamma, elementwise.", 20)


@exp.derivative
def _(grad, out):
    return grad * conj(out)


@log.derivative
def _(grad, x):
    return grad / conj(x)


@pointwise(kind="float", cost=3, methods=False, refuses=FLOATS)
def deviation(variance):
    """Square root of a variance. Where that is 0 its slope, which has no limit, is taken for 0, as PyTorch's is."""
    return sqrt(variance)


@deviation.derivative
def _(grad, out):
    return where(out == 0, 0, grad / (2 * where(out == 0, 1, out)))


@sqrt.derivative
def _(grad, out):
    return grad / (conj(out) * 2)


@sin.derivative
def _(grad, x):
    return grad * conj(cos(x))


@cos.derivative
def _(grad, x):
    return -grad * conj(sin(x))


@tan.derivative
def _(grad, out):
    return grad * conj(1 + out * out)


@tanh.derivative
def _(grad, out):
    return grad * conj(1 - out * out)


@exp2.derivative
def _(grad, out):
    return grad * conj(out) * LN2


@expm1.derivative
def _(grad, out):
    return grad * conj(out + 1)


@log2.derivative
def _(grad, x):
    return grad / conj(x * LN2)


@log10.derivative
def _(grad, x):
    return grad / conj(x * LN10)


@log1p.derivative
def _(grad, x):
    return grad / conj(x + 1)


@sinh.derivative
def _(grad, x):
    return grad * conj(cosh(x))


@cosh.derivative
def _(grad, x):
    return grad * conj(sinh(x))


@asin.derivative
def _(grad, x):
    return grad * conj(rsqrt(1 - x * x))


@acos.derivative
def _(grad, x):
    return -grad * conj(rsqrt(1 - x * x))


@atan.derivative
def _(grad, x):
    return grad / conj(1 + x * x)


@asinh.derivative
def _(grad, x):
    return grad * conj(rsqrt(x * x + 1))


@acosh.derivative
def _(grad, x):
    return grad * conj(rsqrt(x - 1) * rsqrt(x + 1))


@atanh.derivative
def _(grad, x):
    return grad / conj(1 - x * x)


@rsqrt.derivative
def _(grad, out):
    return -0.5 * grad * conj(out * out * out)


@erf.derivative
def _(grad, x):
    return grad * TWO_OVER_SQRT_PI * exp(-x * x)


@erfc.derivative
def _(grad, x):
    return -grad * TWO_OVER_SQRT_PI * exp(-x * x)


@erfinv.derivative
def _(grad, out):
    return grad * exp(out * out) / TWO_OVER_SQRT_PI


@lgamma.derivative
def _(grad, x):
    return grad * digamma(x)


@digamma.derivative
def _(grad, x):
    return grad * trigamma(x)


@pointwise(kind="float", cost=200, methods=False, differentiable=False)
def zeta(s, q):
    """Hurwitz's zeta function, the sum of (q + k)**-s over k >= 0, for s > 1 and q > 0, elementwise."""
    w = q + 8                                            # eight terms, and the Euler-Maclaurin formula for the others
    u = 1 / (w * w)
    tail = s / 12 * (1 - (s + 1) * (s + 2) * u / 60 * (1 - (s + 3) * (s + 4) * u / 42 * (1 - (s + 5) * (s + 6) * u / 40 * (
        1 - (s + 7) * (s + 8) * u * 0.025252525252525252 * (1 - (s + 9) * (s + 10) * u * 0.025311355311355311)))))
    total = (pow_(q, -s) + pow_(q + 1, -s) + pow_(q + 2, -s) + pow_(q + 3, -s) + pow_(q + 4, -s) + pow_(q + 5, -s) + pow_(q + 6, -s)
             + pow_(q + 7, -s) + pow_(w, -s) * (w / (s - 1) + 0.5 + tail / w))
    return where(s < 1, (s - s) / (s - s), total)        # the sum does not converge there


@pointwise(kind="float", cost=200)
def trigamma(x):
    """Derivative of digamma, elementwise, reflected to the right half of the line."""
    right = zeta(2, where(x < 0.5, 1 - x, x))
    slope = PI / sin(PI * x)
    return where(x < 0.5, slope * slope - right, right)


@trigamma.derivative
def _(grad, x):
    return grad * polygamma_of(x, 2)


@pointwise(kind="float", cost=200, methods=False)
def polygamma_of(x, n):
    """The n-th derivative of digamma for n > 1 and x > 0."""
    return where(n - 2 * floor_(n / 2) == 0, -1, 1) * exp(lgamma(n + 1)) * zeta(n + 1, x)


@polygamma_of.derivative
def _(grad, x, n):
    return grad * polygamma_of(x, n + 1), 0


def polygamma(n: int, input, *, out=None) -> Tensor:
    """The n-th derivative of digamma, elementwise; for n > 1 of positive numbers.

    Raises:
        RuntimeError: a negative n.
    """
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return digamma(input, out=out) if n == 0 else trigamma(input, out=out) if n == 1 else polygamma_of(input, n, out=out)


Tensor.polygamma = lambda self, n: polygamma(n, self)


@pointwise(kind="float", cost=10, scalars=vectormath.atan2)
def atan2(y, x):
    """Angle of the point (x, y) in radians between -pi and pi, elementwise."""


@atan2.derivative
def _(grad, y, x):
    return grad * x / (x * x + y * y), -grad * y / (x * x + y * y)


@pointwise(kind="float", scalars=vectormath.copysign)
def copysign(x, y):
    """|x| with the sign of y, elementwise."""


@copysign.derivative
def _(grad, x, out):
    return grad * copysign(1, out) * copysign(1, x), grad * 0


def _rounding(name, doc):
    """A step function: integers stay as they are, and the gradient is zero."""
    def body(x):
        return x
    body.__name__, body.__doc__, body.__module__ = name, doc, __name__
    function = pointwise(refuses=REAL_NUMBERS)(body)
    rounded = getattr(vectormath, name)

    @function.overload("float")
    def _(x):
        return rounded(x)

    @function.derivative
    def _(grad):
        return grad * 0
    return function


floor = _rounding("floor", "The largest integer not above x, elementwise.")
ceil = _rounding("ceil", "The smallest integer not below x, elementwise.")
trunc = _rounding("trunc", "x without its fraction, elementwise.")
round_to_even = _rounding("round", "The nearest integer, ties to even, elementwise.")


@pointwise(refuses=FLOATS)
def frac(x):
    """x - trunc(x): the fraction, with the sign of x, elementwise."""
    return x - trunc(x)


@frac.derivative
def _(grad):
    return grad
