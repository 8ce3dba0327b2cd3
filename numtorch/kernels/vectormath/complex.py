"""Complex forms of the elementary functions, by formulas over their real forms.

The real functions named here are those of the parts' precision. Near branch points and for parts that overflow the formulas are
as accurate as their real parts, not more (Kahan, "Branch cuts for complex elementary functions", 1987, says what more would take).
"""
from __future__ import annotations

from ..intrinsics import copysign, fabs, fma, select, sqrt
from .elementary import INFINITY, both, constant
from .exponential import cosh, exp, exp2, expm1, log, log1p, sinh, tanh
from .trigonometric import atan2, cos, sin

LOG_10 = constant(2.302585092994046)
LOG_2 = constant(0.6931471805599453)


def of_parts(real, imag):
    return complex(real, imag)


def _hypotenuse(x, y):
    """sqrt(x**2 + y**2) by the larger times sqrt(1 + ratio**2), which cannot overflow early; infinite where either is."""
    a, b = fabs(x), fabs(y)
    large, small = select(a > b, a, b), select(a > b, b, a)
    ratio = small / select(large > 0.0, large, 1.0)
    size = large * sqrt(1.0 + ratio * ratio)
    return select(a == INFINITY, a, select(b == INFINITY, b, size))


def _magnitude(z):
    return hypotenuse(z.real, z.imag)


hypotenuse, magnitude = both(_hypotenuse), both(_magnitude)


def complex_abs(z):
    return magnitude(z)


def _turns_nowhere(size, angle):
    """Whether an angle is infinite or NaN and the size beside it is infinite: C99's Annex G has values there that products lose."""
    return (angle - angle != 0.0) & (fabs(size) == INFINITY)


turns_nowhere = both(_turns_nowhere)


def _power_parts(size, exponent, angle):
    """size (cos angle + i sin angle), where the size is a power of this exponent."""
    nowhere = turns_nowhere(exponent, angle)
    imaginary = select(nowhere & (size == 0.0), copysign(size, angle), size * sin(angle))
    return select(nowhere, size, size * cos(angle)), select(angle == 0.0, angle, imaginary)


power_parts = both(_power_parts)


def complex_exp(z):
    """e**re (cos im + i sin im)."""
    a, b = power_parts(exp(z.real), z.real, z.imag)
    return complex(a, b)


def _log_magnitude(z):
    """log|z|; beside the unit circle log(1 + (|z|**2 - 1)) / 2, with the squares and their sum in two floats each."""
    a, b = fabs(z.real), fabs(z.imag)
    large, small = select(a > b, a, b), select(a > b, b, a)
    size = hypotenuse(a, b)
    square, other = large * large, small * small
    less = square - 1.0
    lost = (square - (less + 1.0)) + fma(large, large, -square) + fma(small, small, -other)
    beside = 0.5 * log1p((less + other) + lost)
    return select((size > 0.5) & (size < 2.0), beside, log(size))


log_magnitude = both(_log_magnitude)


def complex_log(z):
    """log|z| + i arg z."""
    return complex(log_magnitude(z), atan2(z.imag, z.real))


def complex_log2(z):
    return complex(log_magnitude(z) / LOG_2, atan2(z.imag, z.real) / LOG_2)


def complex_log10(z):
    return complex(log_magnitude(z) / LOG_10, atan2(z.imag, z.real) / LOG_10)


def _root_parts(z):
    """(u, v) = sqrt(z): u**2 = (|z| + |re|) / 2 and 2 u v = im, turned where re is negative."""
    a, b = fabs(z.real), fabs(z.imag)
    u = select(b == INFINITY, b, sqrt(0.5 * magnitude(z) + 0.5 * a))
    v = select(u == 0.0, 0.0, 0.5 * b / select(u == 0.0, 1.0, u))
    v = select(b == INFINITY, b, v)
    return select(z.real < 0.0, v, u), copysign(select(z.real < 0.0, u, v), z.imag)


root_parts = both(_root_parts)


def complex_sqrt(z):
    u, v = root_parts(z)
    return complex(u, v)


def complex_rsqrt(z):
    """The conjugate of sqrt(z) over |z|; no number where z is 0, as 1 / sqrt(0) is none."""
    u, v = root_parts(z)
    size = magnitude(z)
    finite = select(size == INFINITY, 0.0, select(size == 0.0, size / size, -v / size))
    return complex(select(size == INFINITY, 0.0, select(size == 0.0, INFINITY, u / size)), finite)


def complex_exp2(z):
    a, b = power_parts(exp2(z.real), z.real, LOG_2 * z.imag)
    return complex(a, b)


def complex_expm1(z):
    """e**re cos(im) - 1 + i e**re sin(im), with cos(im) - 1 = -2 sin(im / 2)**2."""
    half = sin(0.5 * z.imag)
    return complex(expm1(z.real) * cos(z.imag) - 2.0 * half * half, select(z.imag == 0.0, z.imag, exp(z.real) * sin(z.imag)))


def complex_log1p(z):
    """log|1 + z| + i arg(1 + z), near 0 by |1 + z|**2 - 1."""
    size = hypotenuse(1.0 + z.real, z.imag)
    beside = 0.5 * log1p(fma(z.real, 2.0 + z.real, z.imag * z.imag))
    return complex(select((size > 0.5) & (size < 2.0), beside, log(size)), atan2(z.imag, 1.0 + z.real))


def _sinh_parts(x, y):
    """sinh(x + i y) = sinh(x) cos(y) + i cosh(x) sin(y)."""
    lost = (y - y != 0.0) & ((x == 0.0) | (fabs(x) == INFINITY))
    return select(lost, select(x == 0.0, x, fabs(x)), sinh(x) * cos(y)), select(y == 0.0, y, cosh(x) * sin(y))


def _cosh_parts(x, y):
    """cosh(x + i y) = cosh(x) cos(y) + i sinh(x) sin(y)."""
    flat = (y == 0.0) | ((y - y != 0.0) & (x == 0.0))
    zero = copysign(1.0, x) * copysign(0.0, y)
    return select(turns_nowhere(x, y), fabs(x), cosh(x) * cos(y)), select(flat, zero, sinh(x) * sin(y))


sinh_parts, cosh_parts = both(_sinh_parts), both(_cosh_parts)


def complex_sin(z):
    """-i sinh(i z)."""
    a, b = sinh_parts(z.imag, z.real)
    return complex(b, a)


def complex_cos(z):
    """cosh(i z)."""
    a, b = cosh_parts(-z.imag, z.real)
    return complex(a, b)


def complex_sinh(z):
    a, b = sinh_parts(z.real, z.imag)
    return complex(a, b)


def complex_cosh(z):
    a, b = cosh_parts(z.real, z.imag)
    return complex(a, b)


def _tanh_parts(x, y):
    """tanh(x + i y) = (t (1 + s**2) + i s (1 - t**2)) / (1 + t**2 s**2), t = tanh x, s = tan y, both sides times cos(y)**2."""
    t, sine, cosine = tanh(x), sin(y), cos(y)
    below = cosine * cosine + t * t * sine * sine
    inverse_cosh = 1.0 / cosh(x)
    nowhere = turns_nowhere(x, y)
    lost = nowhere | ((y - y != 0.0) & (x == 0.0))
    imaginary = select(nowhere, copysign(0.0, y), sine * cosine * inverse_cosh * inverse_cosh / below)
    return select(lost, t, t / below), select(y == 0.0, y, imaginary)


tanh_parts = both(_tanh_parts)


def complex_tanh(z):
    a, b = tanh_parts(z.real, z.imag)
    return complex(a, b)


def complex_tan(z):
    """-i tanh(i z)."""
    a, b = tanh_parts(z.imag, z.real)
    return complex(b, a)


def complex_pow(z, w):
    """exp(w log z); 1 for w = 0, 0 for z = 0 and a positive real part of w."""
    size = log_magnitude(z)
    angle = atan2(z.imag, z.real)
    grown = exp(w.real * size - w.imag * angle)
    phase = w.imag * size + w.real * angle
    if w.real == 0.0 and w.imag == 0.0:
        return complex(exp(0.0 * w.real), 0.0 * w.imag)
    if z.real == 0.0 and z.imag == 0.0 and w.real > 0.0:
        return complex(0.0 * w.real, 0.0 * w.imag)
    return complex(grown * cos(phase), grown * sin(phase))


FORMS = {name.removeprefix("complex_"): function for name, function in dict(globals()).items() if name.startswith("complex_")}
