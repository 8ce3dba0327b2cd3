"""Complex forms of the elementary functions, by formulas over their real forms.

The real functions named here are those of the parts' precision. Near branch points and for parts that overflow the formulas are
as accurate as their real parts, not more (Kahan, "Branch cuts for complex elementary functions", 1987, says what more would take).
"""
from __future__ import annotations

from ..intrinsics import copysign, fabs, select, sqrt
from .elementary import INFINITY, both, constant
from .exponential import cosh, exp, log, sinh, tanh
from .trigonometric import atan2, cos, sin

LOG_10 = constant(2.302585092994046)
LOG_2 = constant(0.6931471805599453)


def _magnitude(z):
    """|z| by the larger part times sqrt(1 + ratio**2), which cannot overflow early."""
    a, b = fabs(z.real), fabs(z.imag)
    large, small = select(a > b, a, b), select(a > b, b, a)
    ratio = small / select(large > 0.0, large, 1.0)
    y = large * sqrt(1.0 + ratio * ratio)
    return select(large == INFINITY, large, y)


magnitude = both(_magnitude)


def complex_abs(z):
    return magnitude(z)


def complex_exp(z):
    """e**re (cos im + i sin im)."""
    size = exp(z.real)
    imag = select(z.imag == 0.0, z.imag, size * sin(z.imag))
    return complex(size * cos(z.imag), imag)


def complex_log(z):
    """log|z| + i arg z."""
    return complex(log(magnitude(z)), atan2(z.imag, z.real))


def complex_log2(z):
    return complex(log(magnitude(z)) / LOG_2, atan2(z.imag, z.real) / LOG_2)


def complex_log10(z):
    return complex(log(magnitude(z)) / LOG_10, atan2(z.imag, z.real) / LOG_10)


def complex_sqrt(z):
    """u + i v with u**2 = (|z| + |re|) / 2 and 2 u v = im, turned where re is negative."""
    a, b = fabs(z.real), fabs(z.imag)
    u = sqrt(0.5 * magnitude(z) + 0.5 * a)
    v = select(u > 0.0, 0.5 * b / select(u > 0.0, u, 1.0), 0.0)
    return complex(select(z.real < 0.0, v, u), copysign(select(z.real < 0.0, u, v), z.imag))


def complex_sin(z):
    return complex(sin(z.real) * cosh(z.imag), cos(z.real) * sinh(z.imag))


def complex_cos(z):
    return complex(cos(z.real) * cosh(z.imag), -sin(z.real) * sinh(z.imag))


def complex_sinh(z):
    return complex(sinh(z.real) * cos(z.imag), cosh(z.real) * sin(z.imag))


def complex_cosh(z):
    return complex(cosh(z.real) * cos(z.imag), sinh(z.real) * sin(z.imag))


def _tanh_parts(x, y):
    """tanh(x + i y) = (t (1 + s**2) + i s (1 - t**2)) / (1 + t**2 s**2), t = tanh x, s = tan y, both sides times cos(y)**2."""
    t, sine, cosine = tanh(x), sin(y), cos(y)
    below = cosine * cosine + t * t * sine * sine
    inverse_cosh = 1.0 / cosh(x)
    return t / below, sine * cosine * inverse_cosh * inverse_cosh / below


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
    size = log(magnitude(z))
    angle = atan2(z.imag, z.real)
    grown = exp(w.real * size - w.imag * angle)
    turned = w.imag * size + w.real * angle
    if w.real == 0.0 and w.imag == 0.0:
        return complex(exp(0.0 * w.real), 0.0 * w.imag)
    if z.real == 0.0 and z.imag == 0.0 and w.real > 0.0:
        return complex(0.0 * w.real, 0.0 * w.imag)
    return complex(grown * cos(turned), grown * sin(turned))


FORMS = {name.removeprefix("complex_"): function for name, function in dict(globals()).items() if name.startswith("complex_")}
