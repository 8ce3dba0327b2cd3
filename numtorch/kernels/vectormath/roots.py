"""Square roots from AVX-512's 14-bit estimates, for processors that have it: those of float64 occupy the divider for as long as
three times these instructions take. Those of float32 are left to the divider, which works beside the rest of a formula; only their
reciprocals, which would occupy it twice, are here.

With y near 1/sqrt(x) and e = x y**2 - 1, 1/sqrt(x) = y (1 + e)**(-1/2) = y (1 - e/2 + 3/8 e**2 - 5/16 e**3 + ...).
"""
from __future__ import annotations

from ..intrinsics import fma
from .elementary import ByPrecision, body32, body64, both, constant
from .instructions import root_estimate, settle_root, within


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


def _sqrt64(x):
    """Square root, correctly rounded: the residual x - s**2 is exact (Markstein, "Computation of elementary functions on the IBM
    RISC System/6000 processor", 1990). Infinities and what is nearly 0 go to the processor's instruction."""
    y = root_estimate(x)
    s = x * y
    p = correction(fma(s, y, -1.0))
    s = fma(s, p, s)
    half = fma(y, p, y) * 0.5
    return settle_root(x, fma(fma(-s, s, x), half, s))


sqrt, rsqrt = ByPrecision(None, body64(_sqrt64)), both(_rsqrt)
