"""AVX-512's instructions for mathematical functions, as intrinsics: mantissas, exponents, scaling, estimates, tables in registers.

They cost what an addition costs (measured on Emerald Rapids: two a cycle; the estimates one in two cycles), where a division
takes 13 and a gather from a table 8. Bodies that name them are chosen by `ByMachine`; elsewhere the portable ones run.
"""
from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np

from ..intrinsics import Intrinsic, fma
from .ranges import ROOT_RANGE

MODULE = "numtorch.kernels.vectormath.avx512"


def _instruction(twin):
    return Intrinsic(twin, MODULE)


@_instruction
def exponent_of(x):
    """floor(log2|x|) as a float, denormals included; -inf for 0, inf for inf."""
    if x == 0:
        return type(x)(-math.inf)
    return type(x)(math.frexp(x)[1] - 1) if math.isfinite(x) else abs(x)


@_instruction
def mantissa_of(x):
    """|x| / 2**exponent_of(x) in [1, 2); 1 for 0 and inf, NaN for negative x."""
    if x == 0 or x == math.inf:
        return type(x)(1)
    return type(x)(math.frexp(x)[0] * 2) if x > 0 and math.isfinite(x) else type(x)(math.nan)


@_instruction
def scale_by_floor(x, k):
    """x * 2**floor(k) for a float k of any size, rounded once."""
    if not math.isfinite(k):
        return x + k if k != k or k > 0 else x * type(x)(0)
    with np.errstate(all="ignore"):
        return np.ldexp(x, int(max(-5000, min(5000, math.floor(k)))))


@_instruction
def within(x, bound):
    """x where |x| <= bound, else the bound with x's sign; for the NaN of an invalid operation, minus the bound."""
    return -bound if x != x else np.copysign(min(abs(x), bound), x)


@_instruction
def beside_sixteenth(x):
    """x less the nearest multiple of 1/16; 0 for infinities."""
    return x - np.rint(x * type(x)(16)) * type(x)(1 / 16) if x - x == 0 else type(x)(0) if x == x else x


@_instruction
def fma_down(x, y, z):
    """x * y + z, rounded to the float below."""
    nearest = fma(x, y, z)
    if not math.isfinite(nearest):
        return nearest
    above = Fraction(float(nearest)) > Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    return np.nextafter(nearest, type(nearest)(-math.inf)) if above else nearest


def _to_14_bits(x):
    mantissa, exponent = math.frexp(x)
    return type(x)(math.ldexp(round(mantissa * 2 ** 14), exponent - 14)) if math.isfinite(x) else x


@_instruction
def reciprocal_estimate(x):
    """1 / x to 14 bits."""
    with np.errstate(all="ignore"):
        return _to_14_bits(type(x)(1) / x)


@_instruction
def root_estimate(x):
    """1 / sqrt(x) to 14 bits."""
    with np.errstate(all="ignore"):
        return _to_14_bits(type(x)(1) / np.sqrt(x))


@_instruction
def settle_root(x, y):
    """y, or the square root of a float64 x that is 0 or out of `ROOT_RANGE`."""
    low, high = ROOT_RANGE
    with np.errstate(all="ignore"):
        return y if low <= x <= high else np.sqrt(x)


@_instruction
def beyond(x, t, bound, y, slow):
    """y, or slow(x) where t exceeds the bound."""
    return slow(x) if t > bound else y


TABLES = {}                                              # by name: (values, NumPy type), for the lowering


def table(name, values, dtype):
    """A function of integer bits: `values[bits % len(values)]`, from one, two or four registers.

    The intrinsic's name holds a hash of the values, since a kernel's fingerprint sees of an intrinsic only its name.
    """
    values = tuple(dtype(v) for v in values)

    def entry(bits):
        return values[int(bits) % len(values)]

    entry.__name__ = f"{name}_{hashlib.sha256(np.array(values).tobytes()).hexdigest()[:12]}"
    TABLES[entry.__name__] = values
    return Intrinsic(entry, MODULE)
