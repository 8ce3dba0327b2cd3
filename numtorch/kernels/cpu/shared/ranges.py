"""Evenly spaced numbers, `arange` and `linspace`, and powers of one base, `logspace`."""
from __future__ import annotations

from numpy import float32, float64, int64

from ...binding import ScalarBody
from ...elementtypes import itemsize, same
from ...intrinsics import floor, fma
from ...vectormath import pow as power
from .elements import part_offsets, prepare_parts, shares, typed

T = V = float32
store = same
GRAIN = 16_000                   # two threads take 0.85 of the time at twice as many

# the descriptor: elements of a part; of numbers, the first one's place, where they are counted from the end, and the last one's
# place
ELEMENTS, FIRST, HALF, LAST = range(4)


def count_evenly(start, end, step, out, descriptor):
    """Elements before `half` are counted from the start, the others back from the end, so that both ends are exact."""
    n, first, half, last = descriptor[ELEMENTS], descriptor[FIRST], descriptor[HALF], descriptor[LAST]
    low, high, apart = start[0], end[0], step[0]
    near = min(max(half - first, int64(0)), n)
    for i in range(near):
        out[i] = store(T(low + V(first + i) * apart))
    for i in range(near, n):
        out[i] = store(T(high - V(last - first - i) * apart))


# ---------------------------------------------------------------- powers
def whole_power(base, exponent):
    """`base` to a whole number by squaring, in pairs of numbers (Dekker 1971) whose error of 2**-104 a step leaves what can be
    exact exact: `power` has 10**15 off by its last bit. Infinity or 0 where a factor on the way is."""
    high, low = base * 0 + 1, base * 0
    square, rest = base, base * 0
    left = abs(exponent)
    while left > 0:
        half = floor(left * 0.5)
        if left != half + half:
            product = high * square
            low = fma(high, square, -product) + (high * rest + low * square)
            high = product + low
            low = low - (high - product)
        product = square * square
        rest = fma(square, square, -product) + 2 * square * rest
        square = product + rest
        rest = rest - (square - product)
        left = half
    if exponent >= 0:
        return high + low
    inverse = 1 / high
    return inverse + inverse * (fma(-inverse, high, high * 0 + 1) - inverse * low)


by_squaring = whole_power
_BY_SQUARING = ScalarBody(whole_power, "float64")        # as written: a kernel's own sums may be rearranged


def raise_base(base, exponents, out, descriptor):
    """out = base ** exponents. Whole powers of ordinary size are made by squaring, the others by `power`."""
    n, b = descriptor[ELEMENTS], base[0]
    for i in range(n):
        out[i] = power(b, exponents[i])
    for i in range(n):
        exponent = exponents[i]
        if exponent == floor(exponent) and T(1e-280) < abs(out[i]) < T(1e280):
            out[i] = by_squaring(b, exponent)


def plan_powers(n: int):
    """Addresses: the base (one), exponents (n), out (n), all float64."""
    kernel = typed(raise_base, "float64", ("element*",) * 3 + ("int64*",), by_squaring=_BY_SQUARING)
    return prepare_parts(kernel, [(n,)], 20 * n)


# ---------------------------------------------------------------- numbers
def plan_count(dtype: str, numbers: str, n: int, half: int):
    """`n` numbers. Addresses: start, end, step (one each, of dtype `numbers`: int64 or float64), out (n).

    Args:
        half: how many of them are counted from the start; n for `arange`.
    """
    kernel = typed(count_evenly, dtype, (numbers + "*",) * 3 + ("element*", "int64*"), V=float64 if numbers == "float64" else int64)
    parts = shares(n, n, GRAIN)
    return prepare_parts(kernel, [(stop - start, start, half, n - 1) for start, stop in parts], n,
                         part_offsets(parts, 0, 0, 0, itemsize(dtype)))
