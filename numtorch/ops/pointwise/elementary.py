"""Elementary and special functions: exponentials, logarithms, trigonometry, roots, erf and gamma."""
from __future__ import annotations

import math

from ...kernels import vectormath
from ...tensor import Tensor
from ..core.arguments import integer
from .arithmetic import UNORDERED, conj, sign, where
from .pointwise import pointwise

TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
LN2, LN10, PI = math.log(2), math.log(10), math.pi
pow_, floor_, round_ = vectormath.pow, vectormath.floor, vectormath.round


def _elementary(name, doc, cost=6.0, **options):
    """An op whose scalar code is the elementary function of the same name."""
    def body(x):
        raise NotImplementedError
    body.__name__, body.__doc__, body.__module__ = name, doc, __name__
    return pointwise(kind="float", cost=cost, scalars=getattr(vectormath, name), **options)(body)


exp = _elementary("exp", """e to the power x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([0., 1., -torch.inf]).exp()
        tensor([1.0000, 2.7183, 0.0000])
    """, 4)
log = _elementary("log", """Natural logarithm, elementwise: minus infinity of 0, NaN below.

    Example:
        >>> import numtorch as torch
        >>> torch.log(torch.tensor([1., torch.e, 0., -1.]))
        tensor([0., 1., -inf, nan])
    """)
sqrt = _elementary("sqrt", """Square root, elementwise: NaN below 0, exact where the root is a number of the dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.sqrt(torch.tensor([9., 2., -1.]))
        tensor([3.0000, 1.4142,    nan])
    """, 3)
sin = _elementary("sin", """Sine of x in radians, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.sin(torch.tensor([0., torch.pi / 6, torch.pi / 2]))
        tensor([0.0000, 0.5000, 1.0000])
    """, 8)
cos = _elementary("cos", """Cosine of x in radians, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.cos(torch.tensor([0., torch.pi / 3, torch.pi]))
        tensor([ 1.0000,  0.5000, -1.0000])
    """, 8)
tan = _elementary("tan", """Tangent of x in radians, elementwise; within 3 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.tan(torch.tensor([0., torch.pi / 4, 1.5]))
        tensor([ 0.0000,  1.0000, 14.1014])
    """, 12)
tanh = _elementary("tanh", """Hyperbolic tangent, elementwise: between -1 and 1.

    Example:
        >>> import numtorch as torch
        >>> torch.tanh(torch.tensor([-torch.inf, 0., 0.5]))
        tensor([-1.0000,  0.0000,  0.4621])
    """)
exp2 = _elementary("exp2", """2 to the power x, elementwise; exact for integers.

    Example:
        >>> import numtorch as torch
        >>> torch.exp2(torch.tensor([-1., 0.5, 10.]))
        tensor([5.0000e-01, 1.4142e+00, 1.0240e+03])
    """, 4)
expm1 = _elementary("expm1", """exp(x) - 1, elementwise, without the cancellation near 0.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(1e-8)
        >>> torch.expm1(x), torch.exp(x) - 1
        (tensor(1.0000e-08), tensor(0.))
    """)
log2 = _elementary("log2", """Logarithm to base 2, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.log2(torch.tensor([0.25, 1., 10.]))
        tensor([-2.0000,  0.0000,  3.3219])
    """)
log10 = _elementary("log10", """Logarithm to base 10, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.log10(torch.tensor([0.01, 1., 2000.]))
        tensor([-2.0000,  0.0000,  3.3010])
    """)
log1p = _elementary("log1p", """log(1 + x), elementwise, without the loss of digits near 0.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(1e-8)
        >>> torch.log1p(x), torch.log(1 + x)
        (tensor(1.0000e-08), tensor(0.))
    """)
sinh = _elementary("sinh", """Hyperbolic sine, (exp(x) - exp(-x)) / 2, elementwise; within 2.5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.sinh(torch.tensor([-1., 0., 2.]))
        tensor([-1.1752,  0.0000,  3.6269])
    """)
cosh = _elementary("cosh", """Hyperbolic cosine, (exp(x) + exp(-x)) / 2, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.cosh(torch.tensor([-1., 0., 2.]))
        tensor([1.5431, 1.0000, 3.7622])
    """)
asin = _elementary("asin", """Inverse sine in radians, elementwise: between -pi/2 and pi/2, NaN outside [-1, 1]; within 2.5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.asin(torch.tensor([-1., 0.5, 2.]))
        tensor([-1.5708,  0.5236,     nan])
    """, 8)
acos = _elementary("acos", """Inverse cosine in radians, elementwise: between 0 and pi, NaN outside [-1, 1]; within 2 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.acos(torch.tensor([-1., 0.5, 2.]))
        tensor([3.1416, 1.0472,    nan])
    """, 8)
atan = _elementary("atan", """Inverse tangent in radians, elementwise: between -pi/2 and pi/2.

    Example:
        >>> import numtorch as torch
        >>> torch.atan(torch.tensor([-torch.inf, 0., 1.]))
        tensor([-1.5708,  0.0000,  0.7854])
    """, 8)
asinh = _elementary("asinh", """Inverse hyperbolic sine, log(x + sqrt(x * x + 1)), elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.asinh(torch.tensor([-1., 0., 1000.]))
        tensor([-0.8814,  0.0000,  7.6009])
    """, 10)
acosh = _elementary("acosh", """Inverse hyperbolic cosine, log(x + sqrt(x * x - 1)), elementwise: NaN below 1.

    Example:
        >>> import numtorch as torch
        >>> torch.acosh(torch.tensor([0.5, 1., 1000.]))
        tensor([   nan, 0.0000, 7.6009])
    """, 10)
atanh = _elementary("atanh", """Inverse hyperbolic tangent, log((1 + x) / (1 - x)) / 2, elementwise: NaN outside [-1, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.atanh(torch.tensor([0.5, 1., 2.]))
        tensor([0.5493,    inf,    nan])
    """, 10)
rsqrt = _elementary("rsqrt", """1 / sqrt(x), elementwise: infinity of 0, NaN below.

    Example:
        >>> import numtorch as torch
        >>> torch.rsqrt(torch.tensor([0., 4., -1.]))
        tensor([   inf, 0.5000,    nan])
    """, 3)
erf = _elementary("erf", """Error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.erf(torch.tensor([-1., 0., 0.5, 3.]))
        tensor([-0.8427,  0.0000,  0.5205,  1.0000])
    """, 8, refuses=UNORDERED)
erfc = _elementary("erfc", """1 - erf(x), elementwise, without the cancellation for large x; within 5 ulp, 2 with AVX-512.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor(5.)
        >>> torch.erfc(x), 1 - torch.erf(x)
        (tensor(1.5375e-12), tensor(0.))
    """, 10, refuses=UNORDERED)
erfinv = _elementary("erfinv", """Inverse of the error function, elementwise: infinite at -1 and 1, NaN outside.

    Example:
        >>> import numtorch as torch
        >>> torch.erfinv(torch.tensor([-1., 0., 0.5]))
        tensor([  -inf, 0.0000, 0.4769])
    """, 10, refuses=UNORDERED)
lgamma = _elementary("lgamma", """Logarithm of |gamma(x)|, elementwise: infinite at 0 and the integers below; within 3 ulp above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.lgamma(torch.tensor([0.5, 1., 5.])).exp()
        tensor([ 1.7725,  1.0000, 24.0000])
    """, 20, refuses=UNORDERED)
digamma = _elementary("digamma", """Derivative of lgamma, gamma'(x) / gamma(x), elementwise; within 5 ulp above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.digamma(torch.tensor([0.5, 1., 100.]))
        tensor([-1.9635, -0.5772,  4.6002])
    """, 20, refuses=UNORDERED)


@exp.derivative
def _(grad, out):
    return grad * conj(out)


@log.derivative
def _(grad, x):
    return grad / conj(x)


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
def _(grad, x):                                          # not by the result, which may be written in place
    y = erfinv(x)
    return grad * exp(y * y) / TWO_OVER_SQRT_PI


@lgamma.derivative
def _(grad, x):
    return grad * digamma(x)


@digamma.derivative
def _(grad, x):
    return grad * trigamma(x)


@pointwise(kind="float", cost=200, methods=False, differentiable=False, refuses=UNORDERED)
def zeta_right(s, q):
    """The Hurwitz zeta function for s > 1 and q >= 0: eight terms, and the Euler-Maclaurin formula for the others."""
    w = q + 8
    u = 1 / (w * w)
    tail = s / 12 * (1 - (s + 1) * (s + 2) * u / 60 * (1 - (s + 3) * (s + 4) * u / 42 * (1 - (s + 5) * (s + 6) * u / 40 * (
        1 - (s + 7) * (s + 8) * u * 0.025252525252525252 * (1 - (s + 9) * (s + 10) * u * 0.025311355311355311)))))
    return (pow_(q, -s) + pow_(q + 1, -s) + pow_(q + 2, -s) + pow_(q + 3, -s) + pow_(q + 4, -s) + pow_(q + 5, -s) + pow_(q + 6, -s)
            + pow_(q + 7, -s) + pow_(w, -s) * (w / (s - 1) + 0.5 + tail / w))


@pointwise(kind="float", cost=600, methods=False, refuses=UNORDERED)
def zeta(s, q):
    """The Hurwitz zeta function, the sum of (q + k)**-s over k >= 0, elementwise: infinite for s = 1, NaN below.

    Left of 0 it is infinite at integers, and NaN for what is no integer s. Elsewhere there, the terms with a positive base are the
    sum from that base on, and the finitely many others the difference of two such sums. The gradient by s has no such formula: NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.special.zeta(torch.tensor([2., 4.]), 1.)
        tensor([1.6449, 1.0823])
    """
    left = q <= 0
    place = q - round_(q)                                # exact, as q - floor(q) is not just below 0
    small = where(place < 0, -place, place)
    below, above = where(place < 0, small, 1 - small), where(place < 0, 1 - small, small)
    sign = where(s - 2 * floor_(s / 2) == 0, 1, -1)
    others = zeta_right(s, where(left, below, 1)) - zeta_right(s, where(left, 1 - q, 1))
    total = zeta_right(s, where(left, above, q)) + where(left, sign * others, 0)
    total = where(left & (s != floor_(s)), (s - s) / (s - s), total)
    total = where(left & (q == floor_(q)), 1 / (s - s), total)
    return where(s > 1, total, where(s == 1, 1 / (s - s), (s - s) / (s - s)))        # the sum does not converge there


@zeta.derivative
def _(grad, s, q):
    return grad * ((s - s) / (s - s)), -grad * s * zeta(s + 1, q)


@pointwise(kind="float", cost=12, methods=False, refuses=UNORDERED)
def trigamma(x):
    """Derivative of digamma, elementwise, reflected to the right half of the line; within 4 ulp.

    Below 8 the sum of (x + k)**-2 over k < 8 and the function at x + 8, which has its series in 1 / x.
    """
    right = where(x < 0.5, 1 - x, x)
    near = right < 8
    b = where(near, right, 1)
    p, q, r, s = b * (b + 7), (b + 1) * (b + 6), (b + 2) * (b + 5), (b + 3) * (b + 4)
    low, high = p * q, r * s                             # 1/u**2 + 1/v**2 = ((u + v)**2 - 2 u v) / (u v)**2; u + v is 2 b + 7
    ends = (2 * b + 7) * (2 * b + 7)
    above = ((ends - 2 * p) * q * q + (ends - 2 * q) * p * p) / (low * low) + \
        ((ends - 2 * r) * s * s + (ends - 2 * s) * r * r) / (high * high)
    v = 1 / where(near, right + 8, right)
    z = v * v
    series = 1 / 6 - z * (1 / 30 - z * (1 / 42 - z * (1 / 30 - z * (5 / 66 - z * (691 / 2730 - z * (7 / 6 - z * (
        3617 / 510 - z * (43867 / 798))))))))
    result = where(near, above, 0) + (v + z * (0.5 + v * series))
    slope = PI / sin(PI * (x - round_(x)))
    return where(x < 0.5, slope * slope - result, result)


@trigamma.derivative
def _(grad, x):
    return grad * polygamma_of(x, 2)


@pointwise(kind="float", cost=200, methods=False, refuses=UNORDERED)
def polygamma_of(x, n):
    """The n-th derivative of digamma for n > 1."""
    return where(n - 2 * floor_(n / 2) == 0, -1, 1) * exp(lgamma(n + 1)) * zeta(n + 1, x)


@polygamma_of.derivative
def _(grad, x, n):
    return grad * polygamma_of(x, n + 1), 0


def polygamma(n: int, input, *, out=None) -> Tensor:
    """The n-th derivative of digamma, elementwise.

    digamma itself for n = 0, reflected to the right half of the line for n = 1, (-1)**(n + 1) n! zeta(n + 1, input) above.

    Args:
        n: the order, not negative.
        input: (*), real.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: a negative n.

    Example:
        >>> import numtorch as torch
        >>> torch.polygamma(1, torch.tensor([1., 0.5]))
        tensor([1.6449, 4.9348])
    """
    n = integer("polygamma", "n", n)
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return digamma(input, out=out) if n == 0 else trigamma(input, out=out) if n == 1 else polygamma_of(input, n, out=out)


def _polygamma(self, n: int) -> Tensor:
    """The n-th derivative of digamma, elementwise: `torch.polygamma(n, self)`.

    Args:
        n: the order, not negative.

    Raises:
        RuntimeError: a negative n.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 0.5]).polygamma(1)
        tensor([1.6449, 4.9348])
    """
    return polygamma(n, self)


Tensor.polygamma = _polygamma


@pointwise(kind="float", cost=10, scalars=vectormath.atan2, refuses=UNORDERED)
def atan2(y, x):
    """Angle of the point (x, y) in radians, elementwise: between -pi and pi, by the signs of both.

    Example:
        >>> import numtorch as torch
        >>> torch.atan2(torch.tensor([1., 1., -1.]), torch.tensor([1., -1., 0.]))
        tensor([ 0.7854,  2.3562, -1.5708])
    """


@atan2.derivative
def _(grad, y, x):
    apart = where((x == 0) & (y == 0), 1, x * x + y * y)   # at the origin, which has no angle, PyTorch's gradients are 0
    return grad * x / apart, -grad * y / apart


@pointwise(kind="float", scalars=vectormath.copysign, refuses=UNORDERED)
def copysign(x, y):
    """|x| with the sign of y, elementwise, of zeros and NaN too.

    Example:
        >>> import numtorch as torch
        >>> torch.copysign(torch.tensor([1., -2., 3.]), torch.tensor([-0., 1., -1.]))
        tensor([-1.,  2., -3.])
    """


@copysign.derivative
def _(grad, x, out):
    return where(x == 0, 0, grad * sign(out) * sign(x)), 0
