"""Special functions: erf, erfc, erfcx, erfinv, lgamma, digamma. tools/minimax.py says what each polynomial approximates."""
from __future__ import annotations

import math

from ..intrinsics import copysign, fabs, fma, rint, select, sqrt
from . import coefficients as c
from . import tabled
from .elementary import (
    INFINITY,
    NAN,
    ByMachine,
    ByPrecision,
    Elementary,
    body32,
    body64,
    both,
    by_scipy,
    constant,
    polynomial,
    scale,
)
from .exponential import exp_parts, log
from .power import exp_two_floats, tabled_exp_closely
from .trigonometric import cos_of, quadrant, sin_of

erf_polynomial = polynomial("erf_polynomial", c.ERF)
erf_tail_polynomial = polynomial("erf_tail_polynomial", c.ERF_TAIL)
erfc_polynomial = polynomial("erfc_polynomial", c.ERFC)
ERF_ONE = constant(4.0, 6.0)                             # beyond, erf rounds to 1


# ---------------------------------------------------------------- error functions
def _erf(x):
    """Error function."""
    a = fabs(x)
    square = a * a
    small = fma(erf_polynomial(square), a, a)
    a = select(a > ERF_ONE, ERF_ONE, a)
    n, p = exp_parts(-a * erf_tail_polynomial(a))
    return copysign(select(a < 0.91, small, 1.0 - scale(1.0 + p, n)), x)


LARGEST = constant(3.4028234663852886e38, 1.7976931348623157e308)
ERFC_ZERO = constant(10.5, 27.5)                         # beyond, erfc is zero
ERFC_ONE = constant(2.0 ** -26, 2.0 ** -55)              # below, erfc rounds to 1


def _erfc(x):
    """1 - erf(x), accurate where that is small, by exp(-x**2) P(t) / (x + 4) with t = 2 x / (x + 4) - 1."""
    a = fabs(x)
    b = select(a > ERFC_ZERO, ERFC_ZERO, a)
    w = 1.0 / (b + 4.0)
    square = b * b
    y = exp_two_floats(-square, -fma(b, b, -square)) * (erfc_polynomial(fma(b + b, w, -1.0)) * w)
    y = select(a < ERFC_ONE, 1.0, select(x < 0.0, 2.0 - y, y))
    return select(x == x, y, x)


ROOT_OF_PI = constant(1 / math.sqrt(math.pi))
ROOT_OF_PI_LOW = constant(-2.9317691711098796e-08, 7.66772980658294e-18)      # what its rounding lacks
erfc_far_polynomial = polynomial("erfc_far_polynomial", c.ERFC_FAR)


def _erfc_far(x):
    """The same beyond the tables' reach, by exp(-x**2) (1 / sqrt(pi) + P(1 / x**2) / x**2) / x, with the quotient in two floats."""
    a = fabs(x)
    b = select(a > ERFC_ZERO, ERFC_ZERO, a)
    w = 1.0 / b
    z = w * w
    p = erfc_far_polynomial(z)
    h = fma(p, z, ROOT_OF_PI)
    h_low = fma(p, z, ROOT_OF_PI - h) + ROOT_OF_PI_LOW
    q = h * w
    low = fma(h, w, -q) + fma(h, fma(-w, b, 1.0), h_low) * w
    square = b * b
    e = tabled_exp_closely(-square, -fma(b, b, -square))
    y = fma(e, q, e * low)
    return select(x < 0.0, 2.0 - y, y)


erfcx_polynomial = polynomial("erfcx_polynomial", c.ERFCX)
exp_of_square = ByMachine(exp_two_floats, tabled_exp_closely)


def _erfcx(x):
    """exp(x**2) erfc(x): what erfc has beside its exponential; below 0 by 2 exp(x**2) - erfcx(-x)."""
    a = fabs(x)
    b = select(a > LARGEST, LARGEST, a)
    w = 1.0 / (b + 4.0)
    y = select(a > LARGEST, 0.0, select(a < ERFC_ONE, 1.0, erfcx_polynomial(fma(b, w + w, -1.0)) * w))
    square = x * x
    e = exp_of_square(square, fma(x, x, -square))
    return select(x < 0.0, fma(2.0, e, -y), y)


erfinv_polynomial = polynomial("erfinv_polynomial", c.ERFINV)
erfinv_middle = polynomial("erfinv_middle", c.ERFINV_MIDDLE)
erfinv_tail = polynomial("erfinv_tail", c.ERFINV_TAIL).float64


def _erfinv_outer32(s):
    return erfinv_middle(s - 3.25)


def _erfinv_outer64(s):
    return select(s < 4.04, erfinv_middle(s - 3.25), erfinv_tail(s - 5.0))


erfinv_outer = ByPrecision(body32(_erfinv_outer32), body64(_erfinv_outer64))


def _erfinv(x):
    """Inverse of erf on (-1, 1)."""
    a = fabs(x)
    w = -log((1.0 - a) * (1.0 + a))
    ratio = select(w < 6.0, erfinv_polynomial(w - 3.0), erfinv_outer(sqrt(w)))
    return select(a == 1.0, copysign(INFINITY, x), x * ratio)


# ---------------------------------------------------------------- gamma function
lgamma_one_rest = polynomial("lgamma_one_rest", [row[1:] for row in c.LGAMMA_ONE])
lgamma_rest = polynomial("lgamma_rest", [row[1:] for row in c.LGAMMA])
LGAMMA_ONE, LGAMMA = [constant(*[row[0] for row in rows]) for rows in (c.LGAMMA_ONE, c.LGAMMA)]
lgamma_middle = polynomial("lgamma_middle", c.LGAMMA_MIDDLE)
LGAMMA_MIDDLE = constant(-0.12078224122524261, -0.12078223763524522)      # lgamma(3/2)
LGAMMA_MIDDLE_LOW = constant(3.5899973924005753e-09, -4.1797047492946264e-18)
stirling_polynomial = polynomial("stirling_polynomial", c.STIRLING)
digamma_polynomial = polynomial("digamma_polynomial", c.DIGAMMA)
STIRLING_CONSTANT = constant((math.log(2 * math.pi) - 1) / 2)
PI = constant(math.pi)


def _lgamma_positive(a):
    """log(gamma(a)), a >= 0: moved into [1.5, 2.5) by gamma(a + 1) = a gamma(a), or from 8 up by Stirling's series. Between 0.5 and
    2.5 there are polynomials alone: moved from below 1.5, log(a) would cancel most of the other, which left 9 ulp."""
    b = select(a < 1.5, 2.0, a)
    down = 1.0
    for _ in range(6):
        step = b >= 2.5
        b = select(step, b - 1.0, b)
        down = down * select(step, b, 1.0)
    large = a >= 8.0
    logarithm = log(select(large, a, select(a < 0.5, a * (a + 1.0), down)))
    y = select(a < 0.5, a, select(a < 1.5, a - 1.0, b - 2.0))   # exactly
    one = (a >= 0.5) & (a < 1.25)
    rest = select(one, lgamma_one_rest(y), lgamma_rest(y))
    near = fma(y, select(one, LGAMMA_ONE, LGAMMA), y * y * rest) + select(a < 0.5, -logarithm, logarithm)
    t = a - 1.5
    middle = LGAMMA_MIDDLE + fma(t, lgamma_middle(t), LGAMMA_MIDDLE_LOW)
    near = select(fabs(t) <= 0.25, middle, near)
    inverse = 1.0 / select(large, a, 8.0)
    less = logarithm - 1.0
    far = fma(a, less, fma(stirling_polynomial(inverse * inverse), inverse, fma(-0.5, less, STIRLING_CONSTANT)))
    return select(large, select(a > LARGEST, a, far), near)


lgamma_positive = both(_lgamma_positive)


def _sin_cos_pi(a):
    """(sin(pi d), cos(pi d)) where d is a less the nearest whole number."""
    d = a - rint(a)
    n, r, low = quadrant(PI * fabs(d))
    swap = fabs(d) > 0.25
    sine, cosine = sin_of(r, low), cos_of(r, low)
    return copysign(select(swap, cosine, sine), d), select(swap, -sine, cosine)


sin_cos_pi = both(_sin_cos_pi)


def _lgamma(x):
    """log|gamma(x)|; for negative x by gamma(x) gamma(-x) = -pi / (x sin(pi x))."""
    a = fabs(x)
    y = lgamma_positive(a)
    sine, cosine = sin_cos_pi(select(x < 0.0, a, 0.5))
    reflected = log(PI / (a * fabs(sine))) - y
    reflected = select(a > LARGEST, a, select(sine == 0.0, INFINITY, reflected))
    return select(x < 0.0, select(a < 1e-30, y, reflected), select(x == x, y, x))


digamma_near = polynomial("digamma_near", c.DIGAMMA_NEAR)
DIGAMMA_ZERO = constant(1.4616321325302124, 1.4616321449683622)       # and what its rounding lacks
DIGAMMA_ZERO_LOW = constant(1.2438149938918909e-08, 9.549995429965697e-17)


def _digamma(x):
    """Derivative of lgamma: below 4 from [1, 2), where its zero is a factor, else by Stirling's series; for negative x by
    digamma(x) = digamma(-x) - 1/x + pi / tan(-pi x)."""
    a = fabs(x)
    shift = a < 8.0
    b = select(shift, a, 1.0)
    s = b * (b + 5.0)                                    # (b + 1)(b + 4) = s + 4, (b + 2)(b + 3) = s + 6
    fourfold = fma(2.0, b, 5.0) * fma(2.0, s, 10.0) / ((s + 4.0) * (s + 6.0))
    moved = select(shift, a + 5.0, a)
    inverse = 1.0 / moved
    z = inverse * inverse
    y = log(moved) - fma(digamma_polynomial(z), z, 0.5 * inverse)
    y = y - select(shift, fourfold + 1.0 / b, 0.0)       # 1/b + 1/(b + 1) + ... + 1/(b + 4)
    d = select(a < 1.0, a + 1.0, select(a < 2.0, a, select(a < 3.0, a - 1.0, a - 2.0)))
    above = select(a < 1.0, -1.0, select(a < 2.0, 0.0, select(a < 3.0, 1.0, d + d + 1.0)))      # 1/d + 1/(d + 1) from 3 to 4
    below = select(a < 1.0, a, select(a < 3.0, d, d * (d + 1.0)))
    y = select(a < 4.0, fma((d - DIGAMMA_ZERO) - DIGAMMA_ZERO_LOW, digamma_near(d - 1.5), above / below), y)
    sine, cosine = sin_cos_pi(select(x < 0.0, a, 0.5))
    reflected = y + 1.0 / a + PI * cosine / sine
    y = select(x < 0.0, select(sine == 0.0, NAN, reflected), y)
    y = select(x == 0.0, -copysign(INFINITY, x), y)
    return select(x == x, y, x)


erf = Elementary("erf", by_scipy("erf"), ByMachine(both(_erf), tabled.erf))
SQRT_HALF = constant(math.sqrt(0.5))


def _gelu(x):
    """x times the normal distribution function."""
    return x * 0.5 * (1.0 + erf(x * SQRT_HALF))


def _gelu_of_number(x):
    return x * 0.5 * (1.0 + math.erf(x * math.sqrt(0.5)))


gelu = Elementary("gelu", _gelu_of_number, ByMachine(both(_gelu), ByPrecision(tabled.gelu32, None)))
erfc = Elementary("erfc", by_scipy("erfc"),
                  ByMachine(both(_erfc), tabled.erfc_by(both(_erfc_far))))
erfcx = Elementary("erfcx", by_scipy("erfcx"), _erfcx)
portable_erfinv = both(_erfinv)
erfinv = Elementary("erfinv", by_scipy("erfinv"),
                    ByMachine(portable_erfinv, ByPrecision(tabled.erfinv32, tabled.erfinv64_by(portable_erfinv.float64))))
lgamma = Elementary("lgamma", by_scipy("gammaln"), _lgamma)
digamma = Elementary("digamma", by_scipy("digamma"), _digamma)
