"""pow: exp(y log|x|) with the logarithm and its product with y in two floats each.

The result's relative error is |y log x| times that of the logarithm, and |y log x| reaches 104 (float32) or 745
(float64), so the logarithm needs ten bits more than a float has.
"""
from __future__ import annotations

import numpy as np

from ..intrinsics import bits_of, fabs, fma, select, trunc
from . import coefficients as c
from .elementary import (
    INFINITY,
    LN2_HIGH,
    LN2_LOW,
    NAN,
    ROUND_MAGIC,
    ROUND_MAGIC_BITS,
    Elementary,
    Int,
    both,
    constant,
    polynomial,
    scale,
)
from .exponential import EXP_HIGH, EXP_LOW, LOG2_E, expm1_polynomial, log_split

TWO_THIRDS = constant(np.float32(2 / 3), 2 / 3)
TWO_THIRDS_LOW = constant(2 / 3 - float(np.float32(2 / 3)), 3.700743415417188e-17)
atanh5_polynomial = polynomial("atanh5_polynomial", c.ATANH532, c.ATANH564)


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


pow = Elementary("pow", np.power, _pow)
