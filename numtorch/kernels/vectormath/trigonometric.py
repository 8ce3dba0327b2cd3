"""Trigonometric functions and their inverses.

sin and cos take whole half-turns off x, so that one polynomial does: that of cos too would cost more than longer arguments do
(22 instructions where quarter-turns take 33). tan takes off quarter-turns. Either way fma(-n, pi, x) is exact: its result is a
multiple of the last bit of pi and below 2. That holds until n outgrows the rounding constant (|x| = 2**21, 2**48); beyond,
`settle_*` takes the C library's answer, tested for whole vectors at a time.
"""
from __future__ import annotations

import math

import numpy as np

from ..intrinsics import bits_of, copysign, fabs, float_of, fma, select, sqrt
from . import angles
from . import coefficients as c
from .elementary import INFINITY, NAN, ROUND_MAGIC, SIGN_MASK, ByMachine, ByPrecision, Elementary, Int, both, constant, polynomial
from .instructions import fma_down
from .settled import settle_cos, settle_sin, settle_tan

TWO_OVER_PI = constant(2 / math.pi)
ONE_OVER_PI = constant(1 / math.pi)
# pi as a sum of three floats, each rounded down: a negative one would make 0.0 of -0.0
PI_1 = constant(3.141592502593994, math.pi)
PI_2 = constant(1.5099578831723193e-07, 1.224646799147353e-16)
PI_3 = constant(1.078060505991553e-14, 2.1657133478438278e-32)
HALF_PI_1 = constant(np.float32(math.pi / 2), math.pi / 2)      # and pi/2
HALF_PI_2 = constant(-4.371138828673793e-08, 6.123233995736766e-17)
HALF_PI_3 = constant(-1.7151244994428829e-15, -1.4973849048591698e-33)
SIGN_SHIFT = ByPrecision(np.int32(31), np.int64(63))     # moves the last bit to the sign
sin_polynomial = polynomial("sin_polynomial", c.SIN)
half_turn_polynomial = polynomial("half_turn_polynomial", c.SIN_HALF_TURN)
cos_polynomial = polynomial("cos_polynomial", c.COS)


def _quadrant(a):
    """(n, r, r_low) with a = n pi/2 + r + r_low; only the last two bits of n count."""
    shifted = fma(a, TWO_OVER_PI, ROUND_MAGIC)
    n = shifted - ROUND_MAGIC
    first = fma(-n, HALF_PI_1, a)
    product = n * HALF_PI_2
    r = first - product
    back = r - first
    low = (first - (r - back)) - (product + back)
    low = low - fma(n, HALF_PI_2, -product)
    return bits_of(shifted), r, fma(-n, HALF_PI_3, low)


def _sin_of(r, low):
    square = r * r
    return r + fma(sin_polynomial(square) * square, r, low)


def _cos_of(r, low):
    square = r * r
    half = 0.5 * square
    one = 1.0 - half
    return one + (((1.0 - one) - half) + fma(square * square, cos_polynomial(square), -r * low))


quadrant, sin_of, cos_of = both(_quadrant), both(_sin_of), both(_cos_of)


def _quadrant_and_parts(x):
    """(n, sin(r), cos(r)) with x = n pi/2 + r, in one float: 1.5 ulp where `quadrant` gives 1, for two thirds of the work."""
    shifted = fma(x, TWO_OVER_PI, ROUND_MAGIC)
    n = shifted - ROUND_MAGIC
    r = fma(-n, HALF_PI_3, fma(-n, HALF_PI_2, fma(-n, HALF_PI_1, x)))
    square = r * r
    sine = fma(sin_polynomial(square) * square, r, r)
    return bits_of(shifted), sine, fma(square, fma(square, cos_polynomial(square), -0.5), 1.0)


quadrant_and_parts = both(_quadrant_and_parts)


def _sin_beside(n, x, bits):
    """sin(x - n pi), negated where the last bit of `bits` is set. The fma of 0.0 keeps -0.0, which that of r would not."""
    r = fma(-n, PI_3, fma(-n, PI_2, fma(-n, PI_1, x)))
    square = r * r
    y = fma(fma(half_turn_polynomial(square), square, 0.0), r, r)
    return float_of(Int(bits_of(y) ^ Int(bits << SIGN_SHIFT)))


sin_beside = both(_sin_beside)


def _sin(x):
    """Sine of x in radians."""
    shifted = fma(x, ONE_OVER_PI, ROUND_MAGIC)
    return settle_sin(x, sin_beside(shifted - ROUND_MAGIC, x, bits_of(shifted)))


def _cos(x):
    """Cosine of x in radians, from the nearest zero: (-1)**n sin((n + 1/2) pi - x)."""
    shifted = fma(x, ONE_OVER_PI, -0.5) + ROUND_MAGIC
    return settle_cos(x, sin_beside(-0.5 - (shifted - ROUND_MAGIC), -x, bits_of(shifted)))


WHOLE = constant(2.0 ** 23, 2.0 ** 52)                   # adding it and rounding down leaves what is below an integer


def _cos_rounding_down(x):
    """The same with n the whole half-turns in |x|: two instructions less where rounding is the instruction's own."""
    a = fabs(x)
    shifted = fma_down(a, ONE_OVER_PI, WHOLE)
    return settle_cos(x, sin_beside((WHOLE - 0.5) - shifted, -a, bits_of(shifted)))


def _tan(x):
    """Tangent of x in radians: sine over cosine."""
    n, sine, cosine = quadrant_and_parts(fabs(x))
    even = Int(n & Int(1)) == Int(0)
    y = select(even, sine, -cosine) / select(even, cosine, sine)
    return settle_tan(x, float_of(Int(bits_of(y) ^ Int(bits_of(x) & SIGN_MASK))))


# ---------------------------------------------------------------- inverses
HALF_PI = constant(np.float32(math.pi / 2), math.pi / 2)
PI = constant(np.float32(math.pi), math.pi)
PI_LOW = constant(-8.742278e-08, 1.2246467991473532e-16)
QUARTER_PI = constant(np.float32(math.pi / 4), math.pi / 4)
TAN_PI_8 = constant(math.tan(math.pi / 8))
TAN_3_PI_8 = constant(math.tan(3 * math.pi / 8))
asin_polynomial = polynomial("asin_polynomial", c.ASIN)
atan_polynomial = polynomial("atan_polynomial", c.ATAN)


def _atan_positive(y, x):
    """The angle of the point (x, y) in the first quadrant, from the nearest of 0, pi/4 and pi/2, with one division."""
    steep = y > TAN_3_PI_8 * x
    middle = y > TAN_PI_8 * x
    above = select(steep, -x, select(middle, y - x, y))
    below = select(steep, y, select(middle, y + x, x))
    t = above / below
    z = t * t
    angle = fma(atan_polynomial(z) * z, t, t)
    base = select(steep, HALF_PI, select(middle, QUARTER_PI, 0.0))
    low = select(steep, 0.5 * PI_LOW, select(middle, 0.25 * PI_LOW, 0.0))
    return base + (angle + low)


atan_positive = both(_atan_positive)


def _atan(x):
    """Inverse tangent, in radians."""
    a = fabs(x)
    y = atan_positive(a, 1.0)
    return copysign(select(x == x, y, x), x)


HUGE = constant(2.0 ** 126, 2.0 ** 1022)
SMALL = constant(2.0 ** -100, 2.0 ** -960)
GROWTH = constant(2.0 ** 60, 2.0 ** 120)


def _atan2(y, x):
    """Angle of the point (x, y) in radians, from -pi to pi."""
    a, b = fabs(y), fabs(x)
    larger = select(a > b, a, b)
    factor = select(larger > HUGE, 0.25, select(larger < SMALL, GROWTH, 1.0))       # sums stay finite, products normal
    both_infinite = select(a == INFINITY, b, 0.0) == INFINITY
    both_zero = a + b == 0.0
    p = select(both_infinite, 1.0, a * factor)
    q = select(both_infinite, 1.0, select(both_zero, 1.0, b * factor))
    angle = atan_positive(p, q)
    angle = select(bits_of(x) < Int(0), PI - (angle - PI_LOW), angle)
    return copysign(select(a + b == a + b, angle, NAN), y)


def _asin(x):
    """Inverse sine, in radians; near 1 by pi/2 - 2 asin(sqrt((1 - x) / 2))."""
    a = fabs(x)
    outer = a > 0.5
    z = select(outer, 0.5 * (1.0 - a), x * x)
    t = select(outer, sqrt(z), a)
    y = fma(asin_polynomial(z) * z, t, t)
    return copysign(select(outer, HALF_PI - (y + y - 0.5 * PI_LOW), y), x)


def _acos(x):
    """Inverse cosine, in radians."""
    a = fabs(x)
    outer = a > 0.5
    z = select(outer, 0.5 * (1.0 - a), x * x)
    t = select(outer, sqrt(z), a)
    y = fma(asin_polynomial(z) * z, t, t)
    near = select(x > 0.0, y + y, PI - (y + y - PI_LOW))
    return select(outer, near, HALF_PI - (copysign(y, x) - 0.5 * PI_LOW))


sin = Elementary("sin", np.sin, _sin)
cos = Elementary("cos", np.cos, ByMachine(both(_cos), both(_cos_rounding_down)))
tan = Elementary("tan", np.tan, ByMachine(both(_tan), angles.tan))
asin = Elementary("asin", np.arcsin, ByMachine(both(_asin), angles.asin))
acos = Elementary("acos", np.arccos, ByMachine(both(_acos), angles.acos))
atan = Elementary("atan", np.arctan, ByMachine(both(_atan), angles.atan))
atan2 = Elementary("atan2", np.arctan2, _atan2)
