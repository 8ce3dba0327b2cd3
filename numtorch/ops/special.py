"""Records of `torch.special`: incomplete gamma functions, the normal distribution's functions.

Sums and continued fractions: Abramowitz and Stegun, "Handbook of mathematical functions", 6.5 and 7.1.
"""
from __future__ import annotations

import math

from ..autograd.graph import recording
from ..tensor import Tensor
from .arithmetic import FLOATS, UNORDERED, where
from .elementary import PI, erfc, exp, lgamma, log, log1p, sqrt
from .op import method, result_type
from .part import Part
from .pointwise import pointwise
from .resize import into

SQRT2, SQRT_PI, SQRT_2PI = math.sqrt(2), math.sqrt(PI), math.sqrt(2 * PI)


# ---------------------------------------------------------------- incomplete gamma functions
@Part
def gamma_series(a, x):
    """The sum of x^n / ((a + 1) ... (a + n)), for x below a + 1."""
    term = a * 0 + 1
    total = term
    k = 1
    while k < 2000 and x < a + 1:
        term = term * x / (a + k)
        total = total + term
        k += 1
        if term < total * 1e-17:
            break
    return total


@Part
def gamma_fraction(a, x):
    """The continued fraction of the upper function by Lentz's method, for x from a + 1 on."""
    if x < a + 1:
        return a * 0 + 1
    b = x + 1 - a
    c = b * 0 + 1e30
    d = 1 / b
    found = d
    k = 1
    while k < 2000:
        step = k * (a - k)
        b = b + 2
        d = 1 / (step * d + b)
        c = b + step / c
        found = found * c * d
        k += 1
        if abs(c * d - 1) < 1e-16:
            break
    return found


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False, differentiable=False)
def gamma_share(a, x, upper):
    """The lower or upper regularised incomplete gamma function, elementwise."""
    front = exp(where(x > 0, a * log(where(x > 0, x, 1)), 0) - x - lgamma(a))
    below = where(x < a + 1, front * gamma_series(a, x) / a, 1 - front * gamma_fraction(a, x))
    above = where(x < a + 1, 1 - front * gamma_series(a, x) / a, front * gamma_fraction(a, x))
    inside = where(a == 0, where(upper > 0, 0, 1), where(upper > 0, above, below))
    at_edge = where(x == 0, where(upper > 0, 1, 0), inside)
    infinite = where(x - x != x - x, where(upper > 0, 0, 1), at_edge)
    return where(((a > 0) & (x >= 0)) | ((a == 0) & (x > 0)), infinite, (x - x) / (x - x))


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False)
def gamma_share_of(x, a, upper):
    """`gamma_share` as a function of x, which has a derivative."""
    return gamma_share(a, x, upper)


@gamma_share_of.derivative
def _(grad, x, a, upper):
    return grad * where(upper > 0, -1, 1) * exp((a - 1) * log(x) - x - lgamma(a)), 0, 0


def _incomplete(name, upper, doc, example):
    def function(input, other, *, out=None) -> Tensor:
        if isinstance(input, Tensor) and recording(input):
            raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")
        if result_type(input, other).category < 2:
            raise NotImplementedError(f'"{name}" not implemented for \'{result_type(input, other).title}\'')
        return gamma_share_of(other, input, upper, out=out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}, elementwise.

    A series where `other` is below `input` + 1, a continued fraction elsewhere (Lentz's method).

    Args:
        input: the exponent, not negative; without a gradient.
        other: the bound of the integral, not negative, broadcast with `input`; NaN comes out below 0 of either.
        out: a tensor to write the result into.

    Raises:
        NotImplementedError: integers, bools or complex numbers; an `input` that requires a gradient.
        RuntimeError: shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.{name}(torch.tensor([1., 2.]), torch.tensor([1., 1.]))
        {example}
    """
    return method(function)


igamma = _incomplete("igamma", 0.0, "The regularised lower incomplete gamma function P(input, other)",
                     "tensor([0.6321, 0.2642])")
igammac = _incomplete("igammac", 1.0, "The regularised upper incomplete gamma function Q(input, other)",
                      "tensor([0.3679, 0.7358])")


@method
def mvlgamma(input, p: int, *, out=None) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p, elementwise.

    p (p - 1) / 4 log(pi) + the sum of lgamma(input - j / 2) over j = 0 ... p - 1.

    Args:
        input: (*), real, above (p - 1) / 2.
        p: the dimension.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: p below 1.

    Example:
        >>> import numtorch as torch
        >>> torch.mvlgamma(torch.tensor([2., 3.]), 2)
        tensor([0.4516, 1.5502])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    total = lgamma(input)
    for j in range(1, p):
        total = total + lgamma(input - j / 2)
    return into(out, total + p * (p - 1) / 4 * math.log(PI))


# ---------------------------------------------------------------- the normal distribution, and entropies
@Part
def erfcx_fraction(x):
    """The continued fraction of sqrt(pi) exp(x^2) erfc(x), for x from 2 on: 60 steps leave 1e-18."""
    found = x * 1
    k = 60
    while k > 0 and x >= 2:
        found = x + 0.5 * k / found
        k -= 1
    return 1 / where(x < 2, x * 0 + 1, found)


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def erfcx(x):
    """exp(x**2) erfc(x), elementwise, which does not vanish for large x.

    Example:
        >>> import numtorch as torch
        >>> torch.special.erfcx(torch.tensor([0., 1., 100.]))
        tensor([1.0000, 0.4276, 0.0056])
    """
    return where(x < 2, exp(x * x) * erfc(x), erfcx_fraction(x) / SQRT_PI)


@erfcx.derivative
def _(grad, x, out):
    return grad * (2 * x * out - 2 / SQRT_PI)


@pointwise(kind="float", cost=12, refuses=UNORDERED, methods=False)
def ndtr(x):
    """The share of the standard normal distribution below x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.special.ndtr(torch.tensor([-1., 0., 1.96]))
        tensor([0.1587, 0.5000, 0.9750])
    """
    return erfc(x * (-1 / SQRT2)) * 0.5


@ndtr.derivative
def _(grad, x):
    return grad * exp(x * x * -0.5) / SQRT_2PI


@pointwise(kind="float", cost=60, refuses=UNORDERED, methods=False)
def log_ndtr(x):
    """log(ndtr(x)), elementwise, exact where ndtr(x) is 0.

    Example:
        >>> import numtorch as torch
        >>> torch.special.log_ndtr(torch.tensor([-50., 0., 2.]))
        tensor([-1.2548e+03, -6.9315e-01, -2.3013e-02])
    """
    return where(x < -1, log(erfcx(-x / SQRT2) * 0.5) - x * x * 0.5, log1p(erfc(x / SQRT2) * -0.5))


@log_ndtr.derivative
def _(grad, x):
    return grad * (2 / SQRT_2PI) / erfcx(-x / SQRT2)


def ratio_near(r):
    """Of the quotients of polynomials by Wichura (1988, "Algorithm AS 241"), that for shares from 0.075 to 0.925."""
    above = ((((((2509.0809287301226727 * r + 33430.575583588128105) * r + 67265.770927008700853) * r + 45921.953931549871457) * r
               + 13731.693765509461125) * r + 1971.5909503065514427) * r + 133.14166789178437745) * r + 3.387132872796366608
    below = ((((((5226.495278852545925 * r + 28729.085735721942674) * r + 39307.89580009271061) * r + 21213.794301586595867) * r
               + 5394.1960214247511077) * r + 687.1870074920579083) * r + 42.313330701600911252) * r + 1
    return above / below


def ratio_middle(r):
    """That for shares down to exp(-25)."""
    above = ((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r + 0.24178072517745061177) * r
                + 1.27045825245236838258) * r + 3.64784832476320460504) * r + 5.7694972214606914055) * r
             + 4.6303378461565452959) * r + 1.42343711074968357734
    below = ((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r + 0.0151986665636164571966) * r
                + 0.14810397642748007459) * r + 0.68976733498510000455) * r + 1.6763848301838038494) * r
             + 2.05319162663775882187) * r + 1
    return above / below


def ratio_far(r):
    """That for smaller ones."""
    above = ((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 0.0012426609473880784386) * r
                + 0.026532189526576123093) * r + 0.29656057182850489123) * r + 1.7848265399172913358) * r
             + 5.4637849111641143699) * r + 6.6579046435011037772
    below = ((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r + 1.8463183175100546818e-5) * r
                + 7.868691311456132591e-4) * r + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
             + 0.59983220655588793769) * r + 1
    return above / below


@pointwise(kind="float", cost=30, refuses=UNORDERED, methods=False)
def ndtri(x):
    """The number below which a share x of the standard normal distribution lies, elementwise: the inverse of `ndtr`.

    Wichura (1988), "Algorithm AS 241". Infinite at 0 and 1, NaN outside.

    Example:
        >>> import numtorch as torch
        >>> torch.special.ndtri(torch.tensor([0., 0.5, 0.975]))
        tensor([  -inf, 0.0000, 1.9600])
    """
    q = x - 0.5
    share = where(q < 0, x, 1 - x)
    r = sqrt(-log(where(share > 0, share, 0.5)))
    tail = where(r <= 5, ratio_middle(r - 1.6), ratio_far(r - 5))
    found = where(abs(q) <= 0.425, q * ratio_near(0.180625 - q * q), where(q < 0, -tail, tail))
    return where(share > 0, found, where(share == 0, q / abs(share), (share - share) / (share - share)))


@ndtri.derivative
def _(grad, out):
    return grad * SQRT_2PI * exp(out * out * 0.5)


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def entr(x):
    """-x log(x), elementwise; 0 for 0, minus infinity below.

    Example:
        >>> import numtorch as torch
        >>> torch.special.entr(torch.tensor([0., 0.5, -1.]))
        tensor([0.0000, 0.3466,   -inf])
    """
    return where(x > 0, -x * log(x), where(x == 0, 0, where(x < 0, -1 / where(x < 0, 0, 1), x)))


@entr.derivative
def _(grad, x):
    return grad * (-1 - log(x))


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def xlog1py(x, y):
    """x * log1p(y), elementwise, and 0 where x is 0 and y is a number.

    Example:
        >>> import numtorch as torch
        >>> torch.special.xlog1py(torch.tensor([0., 2.]), torch.tensor([-1., 1e-8]))
        tensor([0.0000e+00, 2.0000e-08])
    """
    return where(y != y, y, where(x == 0, 0, x * log1p(y)))


@xlog1py.derivative
def _(grad, x, y):
    return grad * where(x == 0, 0, log1p(y)), grad * x / (y + 1)
