"""Exponentials, logarithms and error functions from tables in registers, for processors with AVX-512.

Tables of 16 or 32 entries leave so small an argument that the polynomials have half the terms (Tang, "Table-driven
implementation of the exponential function", 1989, and "... of the logarithm function", 1990). The instructions that split
and scale floats also do what the portable forms in exponential.py must do by comparing: infinities, zeros, denormals and
NaN need no code of their own. A float32 exp is 11 instructions where the portable one has 17.

The error functions are polynomials by pieces, whose coefficients are looked up too; each costs two instructions, so the pieces
cover what arguments mostly are, and `beyond` takes vectors with any lane out of their reach aside.
"""
from __future__ import annotations

import numpy as np

from ..intrinsics import bits_of, copysign, fabs, float_of, fma, select
from ..sources import compile_source
from . import coefficients as c
from . import entries
from . import piecewise as piecewise_tables
from .elementary import (
    EXPM1_TINY,
    FRACTION_BITS,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    ROUND_MAGIC,
    ByPrecision,
    Int,
    body32,
    body64,
    both,
    constant,
    polynomial,
    split_polynomial,
)
from .instructions import (
    beside_sixteenth,
    beyond,
    exponent_of,
    fma_down,
    mantissa_of,
    reciprocal_estimate,
    scale_by_floor,
    table,
    within,
)

SIXTEENTHS_MAGIC = constant(786432.0, 422212465065984.0)     # 1.5 * 2**19, 1.5 * 2**48: adding it rounds to 1/16
WITHIN_ENTRY = constant(0.035)                               # above every |r| that a finite x leaves


def tables(name, values) -> ByPrecision:
    return ByPrecision(table(name + "32", values[0], np.float32), table(name + "64", values[1], np.float64))


# ---------------------------------------------------------------- exponentials
exp_entry = tables("exp_entry", entries.EXP_TABLE)
exp_short = polynomial("exp_short", c.EXP_SHORT)
exp2_short = polynomial("exp2_short", c.EXP2_SHORT)


def _exp(x):
    """e**x = 2**k (1 + (exp(r) - 1)) with k in sixteenths. Where x is out of range, so is k, and r is made harmless.

    In float64 14 instructions for the two ports that compute."""
    shifted = fma(x, LOG2_E, SIXTEENTHS_MAGIC)
    k = shifted - SIXTEENTHS_MAGIC
    r = within(fma(k, -LN2_LOW, fma(k, -LN2_HIGH, x)), WITHIN_ENTRY)
    p = fma(exp_short(r), r * r, r)
    root = exp_entry(bits_of(shifted))
    return scale_by_floor(fma(root, p, root), k)


exp = both(_exp)


def _exp2(x):
    """2**x, exact for whole x."""
    shifted = x + SIXTEENTHS_MAGIC
    k = shifted - SIXTEENTHS_MAGIC
    r = beside_sixteenth(x)
    root = exp_entry(bits_of(shifted))
    return scale_by_floor(fma(root, r * exp2_short(r), root), k)


LN2_REST = constant(-1.904654299957768e-09, 2.3190468138462996e-17)     # ln(2) less the nearest float
EXPM1_LOW, EXPM1_HIGH = constant(-20.0, -40.0), constant(89.0, 710.0)      # beyond, exp(x) - 1 is -1, or infinite
exp_half = tables("exp_half", [[v / 2 for v in row] for row in entries.EXP_TABLE])
exp_tail = tables("exp_tail", entries.EXP_TAIL)
expm1_short = polynomial("expm1_short", c.EXPM1_SHORT)


def _half_expm1(x):
    """(exp(x) - 1) / 2 = (s - 1/2) + s (exp(r) - 1) with s half a power of two times an entry. s - 1/2 and r are exact; what they
    lack is added last, so that the sum is rounded once: at the second entry half of it cancels. The exponential may be infinite."""
    shifted = fma(x, LOG2_E, SIXTEENTHS_MAGIC)
    k = shifted - SIXTEENTHS_MAGIC
    r = fma(k, -LN2, x)
    entry = bits_of(shifted)
    less = fma(k, -LN2_REST, exp_tail(entry))
    rest = fma(fma(expm1_short(r), r, less), r, less)
    s = scale_by_floor(exp_half(entry), k)
    high = fma(s, r, s - 0.5)
    return high + fma(s, rest, fma(s, r, (s - 0.5) - high))


half_expm1 = both(_half_expm1)


def _expm1(x):
    """e**x - 1, accurate near 0."""
    bounded = select(x > EXPM1_HIGH, EXPM1_HIGH, x)
    return select(fabs(x) < EXPM1_TINY, x, 2.0 * half_expm1(select(bounded < EXPM1_LOW, EXPM1_LOW, bounded)))


# ---------------------------------------------------------------- quotients
LARGEST_ERROR = constant(1e-3)                               # above that of an estimate


def _correction32(e):
    """1 / (1 - e) - 1."""
    return fma(e, e, e)


def _correction64(e):
    return fma(e, fma(e, e, e), e)


correction = ByPrecision(body32(_correction32), body64(_correction64))


def _reciprocal(d):
    """1 / d but for the last bit or two: a division takes 16 cycles, this 3. Where d is infinite the estimate is the result."""
    y = reciprocal_estimate(d)
    return fma(y, correction(within(fma(-d, y, 1.0), LARGEST_ERROR)), y)


reciprocal = both(_reciprocal)


def _sigmoid(x):
    """1 / (1 + exp(-x))."""
    return reciprocal(1.0 + exp(-x))


# ---------------------------------------------------------------- logarithms
STEPS = constant(31.0, 15.0)                                 # from the entry of 1 to that of 2
LARGEST_SHIFT = constant(160.0, 1100.0)


def _logarithm(name, inverses, logarithms, short):
    """(parts, log1p_short, log) to the base that the tables are for: log(x) = s + r + r**2 P(r) with r = (m / c - 1) log(e).
    c is the nearest entry, not that of the mantissa's first bits: |r| is half as large, a term less in float64."""
    unit, two = constant(*[row[-1] for row in inverses]), constant(*[row[-2] for row in logarithms])     # log(e) and log(2)
    inverse, entry = tables(name + "_inverse", inverses), tables(name + "_entry", logarithms)
    short = split_polynomial(name + "_short", short)

    def parts(x):
        """(s, r, unit / c)."""
        m = mantissa_of(x)
        place = bits_of(fma(m, STEPS, ROUND_MAGIC))
        over = inverse(place)
        return fma(exponent_of(x), two, entry(place)), fma(m, over, -unit), over

    def log1p_short(r):
        square = r * r
        return fma(short(r, square), square, r)

    parts, log1p_short = both(parts), both(log1p_short)

    def logarithm(x):
        """Logarithm from the entry nearest to x's mantissa."""
        s, r, _ = parts(x)
        return s + log1p_short(r)

    return parts, log1p_short, both(logarithm)


log_parts, log1p_short, log = _logarithm("log", entries.LOG_INVERSE, entries.LOG_TABLE, c.LOG_SHORT)
log2 = _logarithm("log2", entries.LOG2_INVERSE, entries.LOG2_TABLE, c.LOG2_SHORT)[2]
LOG10_2_HIGH, LOG10_2_LOW = [constant(*[row[-2] for row in rows]) for rows in (entries.LOG10_HIGH, entries.LOG10_LOW)]
LOG10_E = constant(*[row[-1] for row in entries.LOG10_INVERSE])
log10_inverse = tables("log10_inverse", entries.LOG10_INVERSE)
log10_high = tables("log10_high", entries.LOG10_HIGH)
log10_low = tables("log10_low", entries.LOG10_LOW)
log10_short = split_polynomial("log10_short", c.LOG10_SHORT)


def _log10(x):
    """Base-10 logarithm, exact for powers of ten: what is rounded is all small but the last sum."""
    m, e = mantissa_of(x), exponent_of(x)
    place = bits_of(fma(m, STEPS, ROUND_MAGIC))
    r = fma(m, log10_inverse(place), -LOG10_E)
    square = r * r
    tail = fma(log10_short(r, square), square, r)
    return fma(e, LOG10_2_HIGH, log10_high(place)) + (tail + fma(e, LOG10_2_LOW, log10_low(place)))


def _log1p(x):
    """log(1 + x), accurate near 0: what rounding 1 + x lost is added to r."""
    u = 1.0 + x
    back = u - 1.0
    lost = within((1.0 - (u - back)) + (x - back), 1.0)
    s, r, inverse = log_parts(u)
    lost = scale_by_floor(lost, within(-exponent_of(u), LARGEST_SHIFT))
    return copysign(s + log1p_short(fma(lost, inverse, r)), x)


# ---------------------------------------------------------------- polynomials by pieces
def piecewise(name, tables, slope=False) -> ByPrecision:
    """A function of (bits, r): the polynomial in r whose coefficients are the entries at `bits` of a table for each power.

    Args:
        name: what it is called.
        tables: float32's of each power, and float64's; None where it is for the other alone.
        slope: the tables lack a term r.
    """
    return ByPrecision(*[rows and body(_polynomial_of_tables(name, bits, rows, dtype, slope)) for bits, dtype, body, rows in zip(
        (32, 64), (np.float32, np.float64), (body32, body64), tables)])


def _polynomial_of_tables(name, bits, rows, dtype, slope):
    scope = {f"c{power}": table(f"{name}_{power}_{bits}", row, dtype) for power, row in enumerate(rows)}
    expression = f"c{len(rows) - 1}(bits)"
    for power in range(len(rows) - 2, 0 if slope else -1, -1):
        expression = f"fma({expression}, r, c{power}(bits))"
    if slope:
        expression = f"fma({expression}, r, r) + c0(bits)"
    scope.update(fma=fma, __name__=__name__)
    compile_source(f"def {name}(bits, r):\n    return {expression}\n", "polynomial by pieces", scope)
    return scope[name]


erf_pieces = piecewise("erf_pieces", piecewise_tables.ERF_PIECES, slope=True)
ERF_STEP = constant(1 / 8, 51 / 128)
ERF_PER_STEP = constant(8.0, 128 / 51)
ERF_ONE = constant(3.93, 6.1)                              # beyond, erf rounds to 1


def _erf(x):
    """Error function, from the nearest centre's polynomial."""
    a = fabs(x)
    a = select(a > ERF_ONE, ERF_ONE, a)
    shifted = fma(a, ERF_PER_STEP, ROUND_MAGIC)
    r = fma(shifted - ROUND_MAGIC, -ERF_STEP, a)
    return copysign(erf_pieces(bits_of(shifted), r), x)


erf_far = both(_erf)
erf_near = piecewise("erf_near", piecewise_tables.ERF_NEAR).float64
erf_centre = table("erf_centre_64", piecewise_tables.ERF_NEAR_CENTRE[1], np.float64)
ERF_STEPS, ERF_FEWER, WHOLE = 1.92, -0.0475, 2.0 ** 52       # z (1.92 - 0.0475 z) is the interval's number
ERF_FAR = 11.74                                              # where its intervals end: |x| = 3.42


def _erf64(x):
    """The same by x P(z), z = x**2, while the pieces reach: they grow with z, and have three coefficients less. 27 instructions, of
    which 11 look up; even steps of |x| would take 29."""
    z = x * x
    place = bits_of(fma_down(z, fma(z, ERF_FEWER, ERF_STEPS), WHOLE))
    return beyond(x, z, ERF_FAR, x * erf_near(place, fma(x, x, -erf_centre(place))), erf_far)


gelu_pieces = piecewise("gelu_pieces", piecewise_tables.GELU_PIECES).float32
GELU_STEP, GELU_PER_STEP = 23 / 256, 256 / 23
GELU_ONE = 2.8                                             # beyond, it rounds to x or 0


def _gelu32(x):
    """x Phi(x) = h + |h| erf(sqrt(2) |h|), h = x / 2: five coefficients where a relatively precise erf has six, no signs and no
    scaling. The formula with erf takes 1.4 times as long."""
    h = 0.5 * x
    a = fabs(h)
    b = select(a > GELU_ONE, GELU_ONE, a)
    shifted = fma(b, GELU_PER_STEP, ROUND_MAGIC)
    r = fma(shifted - ROUND_MAGIC, -GELU_STEP, b)
    return -fma(-a, gelu_pieces(bits_of(shifted), r), -h)   # and not fma(a, ..., h): zeros have the sign of x


gelu32 = body32(_gelu32)
erfc_pieces = piecewise("erfc_pieces", piecewise_tables.ERFC_PIECES)
ERFC_STEP = constant(1 / 8, 7 / 32)
ERFC_PER_STEP = constant(8.0, 32 / 7)
ERFC_FAR = constant(3.937, 3.39)                           # just before the pieces end: the end itself would round to the first


def erfc_by(far):
    """1 - erf(x), from the nearest centre's polynomial; beyond the pieces by `far`."""
    def erfc(x):
        a = fabs(x)
        shifted = fma(a, ERFC_PER_STEP, ROUND_MAGIC)
        r = fma(shifted - ROUND_MAGIC, -ERFC_STEP, a)
        y = erfc_pieces(bits_of(shifted), r)
        return beyond(x, a, ERFC_FAR, select(x < 0.0, 2.0 - y, y), far)
    return both(erfc)


erfinv_octaves = piecewise("erfinv_octaves", piecewise_tables.ERFINV_OCTAVES)
HALF_OCTAVE, ONE_BITS = np.int64(2 ** 51 - 1), np.int64(0x3FF0000000000000)
ERFINV_FAR = -0.00586                                      # where the octaves end


def _erfinv32(x):
    """Inverse of erf on (-1, 1): x P(u), u = 1 - x**2, a polynomial in the mantissa for each exponent of u."""
    u = fma(-x, x, 1.0)
    return x * erfinv_octaves(Int(bits_of(u) >> FRACTION_BITS), mantissa_of(u) - 1.5)


def erfinv64_by(far):
    """The same, two polynomials an octave, of -u; beyond them by `far`."""
    def erfinv(x):
        below = fma(x, x, -1.0)
        bits = bits_of(below)
        r = float_of(bits & HALF_OCTAVE | ONE_BITS) - 1.25
        return beyond(x, below, ERFINV_FAR, x * erfinv_octaves(bits >> np.int64(51), r), far)
    return body64(erfinv)


erfinv32 = body32(_erfinv32)


# ---------------------------------------------------------------- hyperbolic tangent
tanh_pieces = piecewise("tanh_pieces", piecewise_tables.TANH_PIECES).float32
TANH_STEP, TANH_PER_STEP = 19 / 64, 64 / 19
TANH_ONE = 9.3                                               # beyond, tanh rounds to 1


def _tanh32(x):
    """Hyperbolic tangent, from the nearest centre's polynomial."""
    a = fabs(x)
    a = select(a > TANH_ONE, TANH_ONE, a)
    shifted = fma(a, TANH_PER_STEP, ROUND_MAGIC)
    r = fma(shifted - ROUND_MAGIC, -TANH_STEP, a)
    return copysign(tanh_pieces(bits_of(shifted), r), x)


TANH64_ONE = 20.0


def _tanh64(x):
    """Hyperbolic tangent: h / (h + 1), h = (exp(2|x|) - 1) / 2."""
    a = fabs(x)
    a = select(a > TANH64_ONE, TANH64_ONE, a)
    above = half_expm1(a + a)
    below = above + 1.0
    y = reciprocal_estimate(below)
    y = fma(fma(-below, y, 1.0), y, y)                       # to 28 bits
    t = above * y
    left = fma(-above, t, above - t)                         # without what rounding `below` lost
    return copysign(fma(left, y, t), x)


exp2, expm1, log1p, log10 = both(_exp2), both(_expm1), both(_log1p), both(_log10)
erf = ByPrecision(erf_far.float32, body64(_erf64))
tanh, sigmoid = ByPrecision(body32(_tanh32), body64(_tanh64)), both(_sigmoid)
