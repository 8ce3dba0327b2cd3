"""Complex forms of the inverse trigonometric and hyperbolic functions.

asin and acos are those of Hull, Fairgrieve and Tang ("Implementing the complex arcsine and arccosine functions using exception
handling", ACM TOMS 23, 1997), which keep their digits up to the branch points; atanh is Kahan's ("Branch cuts for complex
elementary functions", 1987). The others are these of turned arguments. Signs of zeros say on which side of a branch cut one is.
"""
from __future__ import annotations

import math

from ..intrinsics import copysign, fabs, sqrt
from .complex import hypotenuse
from .elementary import INFINITY, LN2, both, constant
from .exponential import atanh, log, log1p
from .trigonometric import acos, asin, atan, atan2

HALF_PI, PI = constant(math.pi / 2), constant(math.pi)
EPSILON = constant(2.0 ** -24, 2.0 ** -53)
LARGE = constant(2.0 ** 50, 2.0 ** 500)                  # squares of what is larger may overflow
BENT, GROWN = 0.6417, 1.5                                # where cancellation calls for longer formulas (the paper's choice)


def _sine_parts(x, y):
    """(Re asin, Re acos, |Im|) of x + i y for x, y >= 0."""
    if x == 0.0 and y != y:
        return x, HALF_PI, y
    if x > LARGE or y > LARGE:
        return atan2(x, y), atan2(y, x), log(hypotenuse(0.5 * x, 0.5 * y)) + 2.0 * LN2
    above, beside = x + 1.0, fabs(x - 1.0)
    if x == x and (y <= EPSILON * beside or y == 0.0):   # on the real axis, as far as can be seen
        if x < 1.0:
            return asin(x), acos(x), y / sqrt(above * beside)
        root = sqrt(above * beside)
        return HALF_PI, y / root if y > 0.0 else y, log1p(beside + root)
    r, s = hypotenuse(above, y), hypotenuse(x - 1.0, y)
    a = 0.5 * (r + s)
    b = x / a
    # a - 1 and a - x without cancellation
    less = 0.5 * (y * (y / (r + above)) + (y * (y / (s + beside)) if x < 1.0 else s + beside))
    height = log(a + sqrt((a - 1.0) * (a + 1.0))) if a > GROWN else log1p(less + sqrt(less * (a + 1.0)))
    if b <= BENT:
        return asin(b), acos(b), height
    if x <= 1.0:
        side = sqrt(0.5 * (a + x) * (y * (y / (r + above)) + (s + beside)))
    else:
        side = y * sqrt(0.5 * ((a + x) / (r + above) + (a + x) / (s + beside)))
    return atan2(x, side), atan2(side, x), height


def _tangent_parts(x, y):
    """(Re, Im) of atanh(x + i y) for x, y >= 0."""
    if x == 0.0:
        return x, atan(y)
    if y == 0.0 and x <= 1.0:
        return atanh(x), y
    if x > LARGE or y > LARGE:                           # Re is x / |z|**2
        size = hypotenuse(x, y)
        known = y == y and (x == x or y == INFINITY)
        return 0.0 if size == INFINITY else x / size / size, HALF_PI if known else x + y
    beside = x - 1.0
    square = beside * beside + y * y
    if x == 1.0 and y < EPSILON:
        return 0.5 * (LN2 - log(y)), 0.5 * atan2(2.0, -y)
    return 0.25 * log1p(4.0 * (x / square)), 0.5 * atan2(2.0 * y, -beside * (x + 1.0) - y * y)


sine_parts, tangent_parts = both(_sine_parts), both(_tangent_parts)


def complex_asin(z):
    a, b, height = sine_parts(fabs(z.real), fabs(z.imag))
    return complex(copysign(a, z.real), copysign(height, z.imag))


def complex_acos(z):
    a, b, height = sine_parts(fabs(z.real), fabs(z.imag))
    return complex(PI - b if copysign(1.0, z.real) < 0.0 else b, copysign(height, -z.imag))


def complex_asinh(z):
    """-i asin(i z)."""
    a, b, height = sine_parts(fabs(z.imag), fabs(z.real))
    return complex(copysign(height, z.real), copysign(a, z.imag))


def complex_acosh(z):
    """i acos(z) or -i acos(z), whichever lies on the right."""
    a, b, height = sine_parts(fabs(z.real), fabs(z.imag))
    return complex(height, copysign(PI - b if copysign(1.0, z.real) < 0.0 else b, z.imag))


def complex_atanh(z):
    a, b = tangent_parts(fabs(z.real), fabs(z.imag))
    return complex(copysign(a, z.real), copysign(b, z.imag))


def complex_atan(z):
    """-i atanh(i z)."""
    a, b = tangent_parts(fabs(z.imag), fabs(z.real))
    return complex(copysign(b, z.real), copysign(a, z.imag))


FORMS = {name.removeprefix("complex_"): function for name, function in dict(globals()).items() if name.startswith("complex_")}
