"""Records of `torch.special`: incomplete gamma functions, the normal distribution's functions.

Sums and continued fractions: Abramowitz and Stegun, "Handbook of mathematical functions", 6.5 and 7.1.
"""
from __future__ import annotations

import math

from ...autograd.graph import recording
from ...kernels import vectormath
from ...kernels.vectormath.elementary import constant, polynomial
from ...tensor import Tensor
from ..core.operands import layout_of, method, result_type
from ..core.subfunction import Subfunction
from ..memory.resize import into
from .arithmetic import FLOATS, UNORDERED, where
from .elementary import PI, erfc, exp, lgamma, log, log1p, sqrt
from .pointwise import pointwise

SQRT2, SQRT_PI, SQRT_2PI = math.sqrt(2), math.sqrt(PI), math.sqrt(2 * PI)


# ---------------------------------------------------------------- incomplete gamma functions
ENOUGH = constant(1e-8, 1e-17)                           # a part that no longer counts
LARGE = constant(1e9, 1e75)                              # products of four such numbers are finite
FURTHEST = 2000                                          # terms; x = a = 10**4 takes 800


# Temme's uniform expansion (1979; DLMF 8.12): the powers of eta that a**0, a**-1, a**-2 and a**-3 are multiplied by
ratio_0, ratio_1, ratio_2, ratio_3 = [polynomial(f"gamma_ratio_{k}", row, row) for k, row in enumerate((
    (-0.3333333333333333, 0.08333333333333333, -0.014814814814814815, 0.0011574074074074073, 0.0003527336860670194,
     -0.0001787551440329218, 3.919263178522438e-05, -2.185448510679992e-06, -1.85406221071516e-06, 8.296711340953087e-07,
     -1.7665952736826078e-07, 6.707853543401498e-09, 1.0261809784240309e-08, -4.382036018453353e-09),
    (-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596, 0.00020576131687242798,
     -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06),
    (0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06),
    (0.0006494341563786008, 0.00022947209362139917)))]


@pointwise(kind="float", cost=40, refuses=FLOATS, methods=False, differentiable=False)
def gamma_front(a, x):
    """x**a exp(-x) / gamma(a), elementwise: for large a by Stirling's series, without the cancellation of lgamma(a)."""
    large = a > 20
    b = where(large, a, 20)
    rest, u = (x - b) / b, 1 / (b * b)
    stirling = (1 - (1 - (2 - (3 - 140 * u / 33) * u / 2) * u / 7) * u / 30) / (12 * b)
    small = b * (log1p(rest) - rest) - stirling
    power = where(x > 0, a * log(where(x > 0, x, 1)), 0) - x - lgamma(a)
    return where(large, sqrt(b / (2 * PI)), 1) * exp(where(large, small, power))


@Subfunction
def gamma_series(a, x):
    """The sum of x^n / ((a + 1) ... (a + n)), for x below a + 1."""
    term = a * 0 + 1
    total = term
    divisor = a + 1
    k = 0
    while k < FURTHEST:
        term = term * (x / divisor)
        total = total + term
        divisor = divisor + 1
        k += 1
        if not term > total * ENOUGH:
            break
    return total


@Subfunction
def gamma_fraction(a, x):
    """The continued fraction of the upper function, for x from a + 1 on: numerators and denominators by their recurrences, which
    have no divisions (Lentz's method has two that wait for each other, and took 3 times as long)."""
    if x > LARGE:
        return 1 / (x + 1 - a)
    y, z = 1 - a, x + 2 - a
    p_before, p = x * 0 + 1, x + 1
    q_before, q = x, z * x
    k = 0
    while k < FURTHEST:
        k += 1
        y, z = y + 1, z + 2
        step = y * k
        p_next, q_next = p * z - p_before * step, q * z - q_before * step
        change, size = abs(p * q_next - p_next * q), abs(p_next * q)
        p_before, p, q_before, q = p, p_next, q, q_next
        if abs(p) > LARGE or abs(q) > LARGE:
            p_before, p, q_before, q = p_before / LARGE, p / LARGE, q_before / LARGE, q / LARGE
        if not change > size * ENOUGH:
            break
    return p / q


@Subfunction
def gamma_uniform(a, x):
    """The lower function below a + 1, the upper one from there on, for large a."""
    rest = (x - a) / a
    half = rest - log1p(rest)                            # eta**2 / 2
    eta = where(rest < 0, -1, 1) * sqrt(2 * half)
    series = ratio_0(eta) + (ratio_1(eta) + (ratio_2(eta) + ratio_3(eta) / a) / a) / a
    side = where(x < a + 1, -1, 1)
    return erfc(side * eta * sqrt(a / 2)) / 2 + side * series * exp(-a * half) / sqrt(2 * PI * a)


@Subfunction
def gamma_part(a, x, front):
    """The lower function below a + 1, the upper one from there on: where either is the smaller one."""
    if not (a > 0 and x > 0 and front > 0):
        return x * 0
    if a > 10000:
        return gamma_uniform(a, x)
    return front * gamma_series(a, x) / a if x < a + 1 else front * gamma_fraction(a, x)


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False, differentiable=False)
def gamma_share(a, x, front, upper):
    """The lower or upper regularised incomplete gamma function, elementwise; front is `gamma_front(a, x)`."""
    part = gamma_part(a, x, front)
    share = where((upper > 0) == (x < a + 1), 1 - part, part)
    edge = where(upper > 0, where(x == 0, 1, 0), where(x == 0, 0, 1))
    inside = where((a == 0) | (x == 0) | (x - x != x - x), edge, share)
    return where(((a > 0) & (x >= 0)) | ((a == 0) & (x > 0)), inside, (x - x) / (x - x))


@pointwise(kind="float", cost=200, refuses=FLOATS, methods=False)
def gamma_share_of(x, a, front, upper):
    """`gamma_share` as a function of x, which has a derivative."""
    return gamma_share(a, x, front, upper)


@gamma_share_of.derivative
def _(grad, x, a, upper):
    return grad * where(upper > 0, -1, 1) * exp((a - 1) * log(x) - x - lgamma(a)), 0, 0, 0


def _incomplete(name, upper, doc, example):
    def function(input, other, *, out=None) -> Tensor:
        layout_of(name, input), layout_of(name, other, "other", 2)
        if recording(input):
            raise NotImplementedError(f"the derivative for '{name}: input' is not implemented.")
        if result_type(input, other).category < 2:
            raise NotImplementedError(f'"{name}" not implemented for \'{result_type(input, other).title}\'')
        return gamma_share_of(other, input, gamma_front(input, other), upper, out=out)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}, elementwise.

    A series where `other` is below `input` + 1, a continued fraction elsewhere.

    Args:
        input: the exponent, not negative; without a gradient.
        other: the bound of the integral, not negative, broadcast with `input`; NaN comes out below 0 of either.
        out: a tensor to write the result into.

    Raises:
        TypeError: a number in place of a tensor.
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
@pointwise(kind="float", cost=12, refuses=UNORDERED, methods=False, scalars=vectormath.erfcx)
def erfcx(x):
    """exp(x**2) erfc(x), elementwise, which does not vanish for large x; within 5 ulp.

    Example:
        >>> import numtorch as torch
        >>> torch.special.erfcx(torch.tensor([0., 1., 100.]))
        tensor([1.0000, 0.4276, 0.0056])
    """


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
    return grad * inverse_mills(x)


@pointwise(kind="float", cost=40, refuses=UNORDERED, methods=False)
def inverse_mills(x):
    """The normal density over the normal distribution function: how much faster than linearly log(ndtr(x)) rises."""
    return (2 / SQRT_2PI) / erfcx(-x / SQRT2)


@inverse_mills.derivative
def _(grad, x, out):
    return -grad * out * where(out == 0, 0, x + out)


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
    return xlog1py(grad, where((x == 0) & (y <= -1), 0, y)), grad * x / (y + 1)
