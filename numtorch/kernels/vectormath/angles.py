"""Tangents and inverses of trigonometric functions from tables in registers, for processors with AVX-512.

All leave what there is beside the nearest of 16 directions, tangents by tan(a + b) = (sin a + cos a tan b) / (cos a - sin a tan b).
It is below 0.1, where five terms do. The quotients come of 14-bit estimates: a division would occupy its unit for 16 cycles, as
long as all of a tangent takes (of float64 it would take 1.28 times as long, atan 1.36 times), and so would a root (asin 1.45
times).
"""
from __future__ import annotations

import math

import numpy as np

from ..intrinsics import bits_of, copysign, fabs, fma, select
from . import coefficients as c
from . import entries
from .elementary import ROUND_MAGIC, ByPrecision, Int, body32, body64, both, constant, polynomial
from .instructions import fma_down, reciprocal_estimate, root_estimate
from .roots import correction as root_correction
from .settled import settle_tan
from .tabled import tables


# ---------------------------------------------------------------- quotients
def _quotient32(a, d):
    """a / d but for the last bit, where both are finite and d is not 0. -0.0 stays."""
    y = reciprocal_estimate(d)
    q = a * y
    return fma(-fma(d, q, -a), y, q)


def _quotient64(a, d):
    y = reciprocal_estimate(d)
    y = fma(fma(-d, y, 1.0), y, y)
    q = a * y
    return fma(-fma(d, q, -a), y, q)


quotient = ByPrecision(body32(_quotient32), body64(_quotient64))

# ---------------------------------------------------------------- tangent
PER_STEP = constant(16 / math.pi)
# pi / 16 as a sum of three floats, each rounded down: a negative one would make 0.0 of -0.0
STEP_1 = constant(0.19634953141212463, 0.19634954084936207)
STEP_2 = constant(9.437236769826995e-09, 7.654042494670956e-18)
STEP_3 = constant(6.737878162447206e-16, 1.3535708424023924e-33)
tan_sine = tables("tan_sine", entries.TAN_SINE)
tan_cosine = tables("tan_cosine", entries.TAN_COSINE)
tan_short = polynomial("tan_short", c.TAN_SHORT)


def _tan(x):
    """Tangent of x in radians. The sine of 0 is -0.0 in the table, so that -0.0 stays."""
    shifted = fma(x, PER_STEP, ROUND_MAGIC)
    n = shifted - ROUND_MAGIC
    b = fma(-n, STEP_3, fma(-n, STEP_2, fma(-n, STEP_1, x)))
    square = b * b
    t = fma(tan_short(square) * square, b, b)
    sine, cosine = tan_sine(bits_of(shifted)), tan_cosine(bits_of(shifted))
    return settle_tan(x, quotient(fma(cosine, t, sine), fma(-sine, t, cosine)))


# ---------------------------------------------------------------- its inverse
ATAN_SHIFT = ByPrecision(np.int32(22), np.int64(51))           # moves the exponent and one bit more to the lowest places
ATAN_LEAST, ATAN_MOST = constant(0.0625), constant(15.0)       # within the first and the last of 16 intervals
ATAN_FLAT = constant(2.0 ** 60)                                # beyond, atan rounds to pi / 2
atan_tangent = tables("atan_tangent", entries.ATAN_TANGENT)
atan_angle = tables("atan_angle", entries.ATAN_ANGLE)
atan_short = polynomial("atan_short", c.ATAN_SHORT)


def _atan(x):
    """Inverse tangent, in radians: the entry c near |x|, and the angle from there. The last c is so large that only it counts."""
    a = fabs(x)
    a = select(a > ATAN_FLAT, ATAN_FLAT, a)
    b = select(a > ATAN_MOST, ATAN_MOST, a)
    entry = Int(bits_of(select(b > ATAN_LEAST, b, ATAN_LEAST)) >> ATAN_SHIFT)
    tangent = atan_tangent(entry)
    t = quotient(a - tangent, fma(a, tangent, 1.0))
    square = t * t
    return copysign(atan_angle(entry) + fma(atan_short(square) * square, t, t), x)


# ---------------------------------------------------------------- inverse sine and cosine
ASIN_SCALE = constant(15.5, 7.5)                               # steps of the tables in 1, |x| - sqrt(1 - x**2) going from -1 to 1
ASIN_WHOLE = constant(2.0 ** 23 + 16, 2.0 ** 52 + 8)           # rounding down what this is added to gives the nearest step
NEARLY_ZERO = constant(2.0 ** -60, 2.0 ** -300)
PI = constant(math.pi)
asin_sine = tables("asin_sine", entries.ASIN_SINE)
asin_cosine = tables("asin_cosine", entries.ASIN_COSINE)
asin_angle = tables("asin_angle", entries.ASIN_ANGLE)
acos_angle = tables("acos_angle", entries.ACOS_ANGLE)
asin_short = polynomial("asin_short", c.ASIN_SHORT)


def _place_and_cosine(x):
    """(place of the entry c nearest to asin(|x|), its cosine sqrt(1 - x**2)). sin - cos of an angle in [0, pi/2] grows by 1 to 1.4
    for 1, so even steps of that are nearly even ones of the angle."""
    rest = fma(-x, x, 1.0)
    y = root_estimate(rest + NEARLY_ZERO)
    root = rest * y
    root = fma(root, root_correction(fma(root, y, -1.0)), root)
    return bits_of(fma_down(fabs(x) - root, ASIN_SCALE, ASIN_WHOLE)), root


def _asin_of_short(t):
    square = t * t
    return fma(asin_short(square) * square, t, t)


place_and_cosine, asin_of_short = both(_place_and_cosine), both(_asin_of_short)


def _asin(x):
    """Inverse sine, in radians: c and the angle beside it, whose sine is |x| cos c - sqrt(1 - x**2) sin c. Of the two products the
    one that is rounded is the one that is small where the angle is."""
    place, root = place_and_cosine(x)
    t = fma(-root, asin_sine(place), fabs(x) * asin_cosine(place))
    return copysign(asin_angle(place) + asin_of_short(t), x)


def _acos(x):
    """Inverse cosine, in radians."""
    place, root = place_and_cosine(x)
    t = fma(fabs(x), asin_cosine(place), -(root * asin_sine(place)))
    y = acos_angle(place) - asin_of_short(t)
    return select(x < 0.0, PI - y, y)


tan, atan, asin, acos = both(_tan), both(_atan), both(_asin), both(_acos)
