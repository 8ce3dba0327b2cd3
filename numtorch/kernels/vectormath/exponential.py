"""Exponentials, logarithms, hyperbolic functions and their inverses.

exp reduces x to n ln(2) + r with |r| <= ln(2)/2 (Cody and Waite, "Software Manual for the Elementary Functions", 1980);
log takes x = 2**e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). The coefficients come from tools/minimax.py.
"""
from __future__ import annotations

import math

import numpy as np

from ..intrinsics import bits_of, copysign, fabs, float_of, fma, select, sqrt
from . import coefficients as c
from . import tabled
from .elementary import (
    EXPM1_TINY,
    FRACTION_BITS,
    INFINITY,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    NAN,
    ROUND_MAGIC,
    ROUND_MAGIC_BITS,
    SMALLEST_NORMAL,
    ByMachine,
    ByPrecision,
    Elementary,
    Float,
    Int,
    body32,
    body64,
    both,
    constant,
    polynomial,
    power_of_two,
    scale,
)

expm1_polynomial = polynomial("expm1_polynomial", c.EXPM1)
exp2m1_polynomial = polynomial("exp2m1_polynomial", c.EXP2M1)


# ---------------------------------------------------------------- exponentials
def _exp_parts(x):
    """(n, exp(r) - 1) where x = n ln(2) + r."""
    shifted = fma(x, LOG2_E, ROUND_MAGIC)
    n = Int(bits_of(shifted) - ROUND_MAGIC_BITS)
    rounded = shifted - ROUND_MAGIC
    r = fma(rounded, -LN2_LOW, fma(rounded, -LN2_HIGH, x))
    return n, fma(expm1_polynomial(r), r * r, r)


exp_parts = both(_exp_parts)
EXP_HIGH = constant(89.0, 710.0)                         # beyond, exp is infinite
EXP_LOW = constant(-104.5, -746.0)                       # beyond, exp is zero


def _exp(x):
    """e**x."""
    x = select(x > EXP_HIGH, EXP_HIGH, x)
    x = select(x < EXP_LOW, EXP_LOW, x)
    n, p = exp_parts(x)
    return scale(1.0 + p, n)


exp = Elementary("exp", np.exp, ByMachine(both(_exp), tabled.exp))


def _logistic(x):
    with np.errstate(all="ignore"):
        return 1 / (1 + np.exp(-x))


def _sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


EXP2_HIGH = constant(129.0, 1025.0)
EXP2_LOW = constant(-151.0, -1076.0)


def _exp2(x):
    """2**x, exact for whole x."""
    x = select(x > EXP2_HIGH, EXP2_HIGH, x)
    x = select(x < EXP2_LOW, EXP2_LOW, x)
    shifted = x + ROUND_MAGIC
    r = x - (shifted - ROUND_MAGIC)
    p = fma(exp2m1_polynomial(r), r * r, r * LN2)
    return scale(1.0 + p, Int(bits_of(shifted) - ROUND_MAGIC_BITS))


EXPM1_LOW = constant(-20.0, -40.0)                       # beyond, exp(x) - 1 rounds to -1


def _expm1(x):
    """e**x - 1, accurate near 0."""
    bounded = select(x > EXP_HIGH, EXP_HIGH, x)
    bounded = select(bounded < EXPM1_LOW, EXPM1_LOW, bounded)
    shifted = fma(bounded, LOG2_E, ROUND_MAGIC)
    n = Int(bits_of(shifted) - ROUND_MAGIC_BITS)
    rounded = shifted - ROUND_MAGIC
    first = fma(rounded, -LN2_HIGH, bounded)
    r = fma(rounded, -LN2_LOW, first)
    rest = fma(expm1_polynomial(r), r * r, fma(rounded, -LN2_LOW, first - r))
    half = power_of_two(Int(n - Int(1)))                 # 2**128 would already be infinite where e**x is not
    high = fma(half, r, half - 0.5)
    y = 2.0 * (high + fma(half, rest, fma(half, r, (half - 0.5) - high)))       # rounded once: 1.0 ulp, where half * p had 2.1
    return select(fabs(x) < EXPM1_TINY, x, y)


# ---------------------------------------------------------------- logarithms
SQRT_HALF_BITS = ByPrecision(np.int32(0x3F3504F3), np.int64(0x3FE6A09E667F3BCD))
DENORMAL_SCALE = constant(2.0 ** 24, 2.0 ** 54)
DENORMAL_EXPONENT = constant(24.0, 54.0)
log_polynomial = polynomial("log_polynomial", c.LOG).float32
atanh_polynomial = polynomial("atanh_polynomial", c.ATANH)


def _log_split(x):
    """(f, e) with x = 2**e (1 + f) for positive finite x."""
    denormal = x < SMALLEST_NORMAL
    bits = bits_of(select(denormal, x * DENORMAL_SCALE, x))
    e = Int(Int(bits - SQRT_HALF_BITS) >> FRACTION_BITS)
    m = float_of(Int(bits - Int(e << FRACTION_BITS)))
    return m - 1.0, Float(e) - select(denormal, DENORMAL_EXPONENT, 0.0)


def _log_tail32(f, half_square):
    """log(1 + f) - f + f**2 / 2."""
    return log_polynomial(f) * f * (f * f)


def _log_tail64(f, half_square):
    """log(1 + f) - f + f**2 / 2 = s (f**2 / 2 + z P(z)) with s = f / (2 + f), z = s**2, for 2 s = f - s f."""
    s = f / (2.0 + f)
    z = s * s
    return s * fma(atanh_polynomial(z), z, half_square)


log_split = both(_log_split)
log_tail = ByPrecision(body32(_log_tail32), body64(_log_tail64))


def _log_special(x, y):
    """y, or what the logarithm of a zero, negative, infinite or NaN x is."""
    y = select(x < INFINITY, y, x)
    y = select(x < 0.0, NAN, y)
    return select(x == 0.0, -INFINITY, y)


log_special = both(_log_special)


def _log(x):
    """Natural logarithm."""
    f, e = log_split(x)
    half_square = 0.5 * f * f
    tail = fma(e, LN2_LOW, log_tail(f, half_square))
    return log_special(x, fma(e, LN2_HIGH, f - (half_square - tail)))


def _log1p(x):
    """log(1 + x), accurate near 0."""
    u = 1.0 + x
    lost = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))         # u + lost is 1 + x exactly
    f, e = log_split(u)
    lost = select(e > 60.0, 0.0, lost) * power_of_two(Int(-select(e > 60.0, 0.0, e)))
    corrected = f + lost
    half_square = 0.5 * corrected * corrected
    tail = fma(e, LN2_LOW, log_tail(corrected, half_square)) + (lost - (corrected - f))
    y = fma(e, LN2_HIGH, corrected - (half_square - tail))
    return select(fabs(x) < EXPM1_TINY, x, log_special(u, y))


LOG2_E_HIGH = constant(np.float32(math.log2(math.e)), math.log2(math.e))
LOG2_E_LOW = constant(1.925963e-08, 2.0355273740931033e-17)
LOG10_E_HIGH = constant(np.float32(math.log10(math.e)), math.log10(math.e))
LOG10_E_LOW = constant(-1.010305e-08, 1.098319650216765e-17)
LOG10_2_HIGH = constant(np.float32(math.log10(2)), math.log10(2))
LOG10_2_LOW = constant(-1.4320989e-08, -2.8037281277851704e-18)


def _log_scaled(x, unit_high, unit_low, two_high, two_low):
    """log(x) * unit where two is log(2) * unit: both products keep their rounding error until the end."""
    f, e = log_split(x)
    half_square = 0.5 * f * f
    high = f - half_square
    low = ((f - high) - half_square) + log_tail(f, half_square)
    y = high * unit_high
    y_low = fma(high, unit_high, -y) + fma(high, unit_low, low * unit_high)
    whole = e * two_high
    whole_low = fma(e, two_high, -whole) + e * two_low
    total = whole + y
    lost = select(e == 0.0, 0.0, y - (total - whole))
    return log_special(x, total + (lost + (y_low + whole_low)))


log_scaled = both(_log_scaled)


def _log2(x):
    """Base-2 logarithm, exact for powers of two."""
    return log_scaled(x, LOG2_E_HIGH, LOG2_E_LOW, 1.0, 0.0)


def _log10(x):
    """Base-10 logarithm."""
    return log_scaled(x, LOG10_E_HIGH, LOG10_E_LOW, LOG10_2_HIGH, LOG10_2_LOW)


# ---------------------------------------------------------------- hyperbolic functions
TANH_ONE = constant(10.0, 22.0)                          # beyond, tanh rounds to 1
tanh_polynomial = polynomial("tanh_polynomial", c.TANH)


def _tanh(x):
    """Hyperbolic tangent: 1 - 2 / (exp(2|x|) + 1), near 0 a polynomial."""
    a = fabs(x)
    square = a * a
    small = fma(tanh_polynomial(square), square * a, a)
    a = select(a > TANH_ONE, TANH_ONE, a)
    n, p = exp_parts(a + a)
    power = power_of_two(n)
    large = 1.0 - 2.0 / fma(power, p, power + 1.0)
    return copysign(select(a < 0.5625, small, large), x)


SINH_TINY = constant(1e-5, 1e-10)
HYPERBOLIC_LIMIT = constant(89.6, 710.7)                 # sinh and cosh are infinite, the quarter below is not


def _sinh(x):
    """Hyperbolic sine: (t + t / (t + 1)) / 2 with t = exp(|x|) - 1, kept as a quarter so that it cannot overflow."""
    a = fabs(x)
    n, p = exp_parts(select(a > HYPERBOLIC_LIMIT, HYPERBOLIC_LIMIT, a))
    power = power_of_two(Int(n - Int(2)))
    quarter = fma(power, p, power - 0.25)
    y = 2.0 * (quarter + quarter / fma(4.0, quarter, 1.0))
    return select(a < SINH_TINY, x, copysign(y, x))


def _cosh(x):
    """Hyperbolic cosine: q + 1 / (4 q) with q = exp(|x|) / 2."""
    a = fabs(x)
    n, p = exp_parts(select(a > HYPERBOLIC_LIMIT, HYPERBOLIC_LIMIT, a))
    power = power_of_two(Int(n - Int(2)))
    quarter = fma(power, p, power)
    return fma(2.0, quarter, 0.125 / quarter)


LARGE = constant(2.0 ** 40, 2.0 ** 100)                  # its square is finite, and log(1 + LARGE) is log(LARGE)
ASINH_TINY = constant(1e-5, 1e-10)


def _asinh(x):
    """Inverse hyperbolic sine: log1p(a + a**2 / (1 + sqrt(1 + a**2))), log(a) + log(2) for large a."""
    a = fabs(x)
    large = a > LARGE
    b = select(large, 1.0, a)
    square = b * b
    y = log1p(select(large, a, b + square / (1.0 + sqrt(1.0 + square)))) + select(large, LN2, 0.0)
    return select(a < ASINH_TINY, x, copysign(y, x))


def _acosh(x):
    """Inverse hyperbolic cosine: log1p(t + sqrt(2 t + t**2)) with t = x - 1, log(x) + log(2) for large x."""
    large = x > LARGE
    t = select(large, 1.0, x) - 1.0
    y = log1p(select(large, x, t + sqrt(fma(t, t, t + t)))) + select(large, LN2, 0.0)
    return select(x < 1.0, NAN, y)


def _atanh(x):
    """Inverse hyperbolic tangent: log1p(2 a / (1 - a)) / 2."""
    a = fabs(x)
    return select(a < ASINH_TINY, x, copysign(0.5 * log1p((a + a) / (1.0 - a)), x))


sigmoid = Elementary("sigmoid", _logistic, ByMachine(both(_sigmoid), tabled.sigmoid))
exp2 = Elementary("exp2", np.exp2, ByMachine(both(_exp2), tabled.exp2))
expm1 = Elementary("expm1", np.expm1, ByMachine(both(_expm1), tabled.expm1))
log = Elementary("log", np.log, ByMachine(both(_log), tabled.log))
log2 = Elementary("log2", np.log2, ByMachine(both(_log2), tabled.log2))
log10 = Elementary("log10", np.log10, ByMachine(both(_log10), tabled.log10))
log1p = Elementary("log1p", np.log1p, ByMachine(both(_log1p), tabled.log1p))
sinh = Elementary("sinh", np.sinh, _sinh)
cosh = Elementary("cosh", np.cosh, _cosh)
tanh = Elementary("tanh", np.tanh, ByMachine(both(_tanh), tabled.tanh))
asinh = Elementary("asinh", np.arcsinh, _asinh)
acosh = Elementary("acosh", np.arccosh, _acosh)
atanh = Elementary("atanh", np.arctanh, _atanh)
