"""Modified Bessel functions of orders 0 and 1, and these times exp(-|x|).

Up to 8 a polynomial in x**2, whose terms are all positive, beyond that one in 1 / x of what is left of the function without its
exp(x) / sqrt(x) (Abramowitz and Stegun, "Handbook of mathematical functions", 9.6.10 and 9.7.1). tools/minimax.py makes them.
Summing the series until it stands still is a loop that cannot be vectorised, and takes thirty times as long.
"""
from __future__ import annotations

import math

from ..intrinsics import copysign, fabs, select
from . import coefficients as c
from .elementary import Elementary, by_scipy, constant, polynomial
from .exponential import exp
from .rounding import rsqrt

i0_near, i0_far = polynomial("i0_near", c.I0), polynomial("i0_far", c.I0_FAR)
i1_near, i1_far = polynomial("i1_near", c.I1), polynomial("i1_far", c.I1_FAR)
NEAR = constant(8.0)                                     # to 12 float64 has 4 terms less but 9 ulp: x**2's error counts x / 2 fold
MOST = constant(100.0, 750.0)                            # beyond, both are infinite
SHIFT = constant(8.0)                                    # taken off before exp and in the polynomials: exp(x) is infinite first
UNSHIFT = constant(math.exp(-8))


def _i0(x):
    """The modified Bessel function of order 0."""
    a = fabs(x)
    b = select(a > MOST, MOST, a)
    return select(a <= NEAR, i0_near(x * x), exp(b - SHIFT) * (i0_far(1.0 / b) * rsqrt(b)))


def _i0e(x):
    """exp(-|x|) times that."""
    a = fabs(x)
    return select(a <= NEAR, i0_near(x * x) * exp(-a), i0_far(1.0 / a) * rsqrt(a) * UNSHIFT)


def _i1(x):
    """The modified Bessel function of order 1."""
    a = fabs(x)
    b = select(a > MOST, MOST, a)
    return select(a <= NEAR, x * i1_near(x * x), copysign(exp(b - SHIFT) * (i1_far(1.0 / b) * rsqrt(b)), x))


def _i1e(x):
    """exp(-|x|) times that."""
    a = fabs(x)
    return select(a <= NEAR, x * i1_near(x * x) * exp(-a), copysign(i1_far(1.0 / a) * rsqrt(a) * UNSHIFT, x))


i0, i0e, i1, i1e = [Elementary(body.__name__[1:], by_scipy(body.__name__[1:]), body) for body in (_i0, _i0e, _i1, _i1e)]
