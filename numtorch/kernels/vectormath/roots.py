"""Square roots from AVX-512's 14-bit estimates, for processors that have it: the root itself occupies the divider 15 cycles.

With y near 1/sqrt(x) and e = x y**2 - 1, 1/sqrt(x) = y (1 + e)**(-1/2) = y (1 - e/2 + 3/8 e**2 - 5/16 e**3 + ...).
"""
from __future__ import annotations

from ..intrinsics import copysign, fma, select
from .elementary import NAN, ByPrecision, body32, body64, both, constant
from .instructions import exponent_of, root_estimate, root_mantissa_of, scale_by_floor, within


def _correction32(e):
    """(1 + e)**(-1/2) - 1."""
    return fma(e, 0.375, -0.5) * e


def _correction64(e):
    return fma(fma(e, -0.3125, 0.375), e, -0.5) * e


correction = ByPrecision(body32(_correction32), body64(_correction64))
LARGEST_ERROR = constant(1e-3)


def _rsqrt(x):
    """1 / sqrt(x). Where x is 0 or infinite the estimate is the result, and e must only not be NaN, nor positive."""
    y = root_estimate(x)
    e = within(fma(x * y, y, -1.0), LARGEST_ERROR)
    return fma(y, correction(e), y)


def _sqrt(x):
    """Square root, correctly rounded: of the mantissa, whose residual x - s**2 is exact (Markstein, "Computation of elementary
    functions on the IBM RISC System/6000 processor", 1990)."""
    m = root_mantissa_of(x)
    y = root_estimate(m)
    s = m * y
    p = correction(fma(s, y, -1.0))
    s = fma(s, p, s)
    half = fma(y, p, y) * 0.5
    s = fma(fma(-s, s, m), half, s)
    s = copysign(scale_by_floor(s, fma(exponent_of(x), 0.5, 0.5)), x)
    return select(x < 0.0, NAN, s)                           # -inf has a mantissa of 1


sqrt, rsqrt = both(_sqrt), both(_rsqrt)
