"""pow: exp(y log|x|) with the logarithm and its product with y in two floats each.

The result's relative error is |y log x| times that of the logarithm, and |y log x| reaches 104 (float32) or 745
(float64), so the logarithm needs ten bits more than a float has.
"""
from __future__ import annotations

import numpy as np

from ..intrinsics import bits_of, copysign, fabs, fma, select, trunc
from . import coefficients as c
from . import entries, tabled
from .elementary import (
    INFINITY,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    NAN,
    ROUND_MAGIC,
    ROUND_MAGIC_BITS,
    ByMachine,
    ByPrecision,
    Elementary,
    Int,
    both,
    constant,
    polynomial,
    scale,
)
from .exponential import EXP_HIGH, EXP_LOW, expm1_polynomial, log_split
from .instructions import exponent_of, mantissa_of, scale_by_floor, within

TWO_THIRDS = constant(np.float32(2 / 3), 2 / 3)
TWO_THIRDS_LOW = constant(2 / 3 - float(np.float32(2 / 3)), 3.700743415417188e-17)
atanh5_polynomial = polynomial("atanh5_polynomial", c.ATANH5)


def _log_two_floats(x):
    """(high, low) with high + low = log(x): 2 s + s**3 (2/3 + z Q(z)), s = f / (2 + f), z = s**2, in two floats."""
    f, e = log_split(x)
    d = 2.0 + f
    d_low = f - (d - 2.0)
    reciprocal = 1.0 / d
    s = f * reciprocal
    s_low = fma(-s, d_low, fma(-s, d, f)) * reciprocal
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * s * s_low
    q = atanh5_polynomial(z)
    t = fma(q, z, TWO_THIRDS)
    t_low = fma(q, z, TWO_THIRDS - t) + fma(q, z_low, TWO_THIRDS_LOW)
    u = z * t
    u_low = fma(z, t, -u) + fma(z, t_low, z_low * t)
    v = s * u
    v_low = fma(s, u, -v) + fma(s, u_low, s_low * u)
    twice = s + s
    high = twice + v
    low = ((twice - high) + v) + (s_low + s_low + v_low)
    whole = e * LN2_HIGH
    total = whole + high
    low = ((whole - total) + high) + fma(e, LN2_LOW, low)
    high = total + low
    return high, (total - high) + low


def _exp_two_floats(x, low):
    """exp(x + low)."""
    low = select(x > EXP_HIGH, 0.0, select(x < EXP_LOW, 0.0, low))
    x = select(x > EXP_HIGH, EXP_HIGH, x)
    x = select(x < EXP_LOW, EXP_LOW, x)
    shifted = fma(x, LOG2_E, ROUND_MAGIC)
    rounded = shifted - ROUND_MAGIC
    r = fma(rounded, -LN2_HIGH, x)
    r = r + fma(rounded, -LN2_LOW, low)
    p = fma(expm1_polynomial(r), r * r, r)
    return scale(1.0 + p, Int(bits_of(shifted) - ROUND_MAGIC_BITS))


log_two_floats, exp_two_floats = both(_log_two_floats), both(_exp_two_floats)


# ---------------------------------------------------------------- for processors with AVX-512
POW_SHIFT = ByPrecision(np.int32(18), np.int64(47))      # moves the mantissa's first five bits to the lowest places
pow_inverse = tabled.tables("pow_inverse", entries.POW_INVERSE)
pow_high = tabled.tables("pow_high", entries.POW_HIGH)
pow_low = tabled.tables("pow_low", entries.POW_LOW)
log_third = polynomial("log_third", c.LOG_THIRD)


def _tabled_log_two_floats(x):
    """(high, low) with high + low = log(x): e log(2) + log(c) + log(1 + r), where r = m / c - 1 and the first sum are exact.
    Infinite where x is 0 or infinite."""
    m, e = mantissa_of(x), exponent_of(x)
    entry = Int(bits_of(m) >> POW_SHIFT)
    r = fma(m, pow_inverse(entry), -1.0)
    whole = fma(e, LN2_HIGH, pow_high(entry))
    total = whole + r
    low = (whole - total) + r + fma(e, LN2_LOW, pow_low(entry))
    half = -0.5 * r
    square = half * r
    high = total + square
    low = low + ((total - high) + square) + fma(half, r, -square)
    low = within(fma(square * r, log_third(r), low), 1.0)        # not NaN where high is infinite
    x = high + low
    return x, (high - x) + low


def _tabled_exp_two_floats(x, low):
    """exp(x + low). Where x is out of range, what is left of it and of low is made harmless."""
    shifted = fma(x, LOG2_E, tabled.SIXTEENTHS_MAGIC)
    k = shifted - tabled.SIXTEENTHS_MAGIC
    r = within(fma(k, -LN2_HIGH, x) + fma(k, -LN2_LOW, low), tabled.WITHIN_ENTRY)
    p = fma(tabled.exp_short(r), r * r, r)
    root = tabled.exp_entry(bits_of(shifted))
    return scale_by_floor(fma(root, p, root), k)


def _tabled_exp_closely(x, low):
    """The same within 0.6 ulp, where that has 1.1: what the table's entries lack is added."""
    shifted = fma(x, LOG2_E, tabled.SIXTEENTHS_MAGIC)
    k = shifted - tabled.SIXTEENTHS_MAGIC
    r = within(fma(k, -LN2_HIGH, x) + fma(k, -LN2_LOW, low), tabled.WITHIN_ENTRY)
    place = bits_of(shifted)
    root = tabled.exp_entry(place)
    return scale_by_floor(fma(root, fma(tabled.exp_short(r), r * r, r + tabled.exp_tail(place)), root), k)


tabled_log_two_floats, tabled_exp_two_floats = both(_tabled_log_two_floats), both(_tabled_exp_two_floats)
tabled_exp_closely = both(_tabled_exp_closely)


def _tabled_pow(x, y):
    """x to the power y. What zeros and infinities give comes of their logarithms."""
    a = fabs(x)
    high, low = tabled_log_two_floats(a)
    product = y * high
    result = tabled_exp_two_floats(product, fma(y, high, -product) + y * low)
    result = select(a == 1.0, select(y == y, 1.0, y), result)
    whole = trunc(y) == y
    half = 0.5 * y
    result = select(whole & (trunc(half) != half), copysign(result, x), result)
    result = select((x < 0.0) & (a < INFINITY) & (trunc(y) != y), NAN, result)
    return select((y == 0.0) | (x == 1.0), 1.0, result)


def _pow(x, y):
    """x to the power y, with the special values of C's pow."""
    a = fabs(x)
    high, low = log_two_floats(a)
    special = select(a == 0.0, -INFINITY, INFINITY)
    extreme = special * select(a == 0.0, 1.0, select(a == INFINITY, 1.0, 0.0))      # NaN for ordinary a
    high = select(extreme == extreme, extreme, high)
    product = y * high
    product_low = fma(y, high, -product) + y * low
    finite = fabs(product) < INFINITY
    result = exp_two_floats(product, select(finite, select(extreme == extreme, 0.0, product_low), 0.0))
    result = select(a == 1.0, 1.0, result)               # where y is infinite, the product is NaN

    whole = trunc(y) == y
    half = 0.5 * y
    odd = select(trunc(half) == half, 0.0, select(whole, 1.0, 0.0)) > 0.0
    negative = bits_of(x) < Int(0)
    signed = select(odd, -result, result)
    fractional = select(a == 0.0, result, select(a == INFINITY, result, NAN))
    result = select(negative, select(whole, signed, fractional), result)
    nan = x + y
    nan = select(x == x, select(y == y, 0.0, NAN), NAN)
    result = select(nan == nan, result, NAN)
    return select(y == 0.0, 1.0, select(x == 1.0, 1.0, result))


pow = Elementary("pow", np.power, ByMachine(both(_pow), both(_tabled_pow)))
