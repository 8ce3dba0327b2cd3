"""Dropout: random bits, the mask and the result in one pass.

A chunk of 128 elements takes the 128 words that Philox gives for its number (philox.py), so the mask depends on seed, offset
and element alone, not on threads. What is dropped becomes a constant (0, or alpha dropout's value), the rest is scaled and shifted.
"""
from __future__ import annotations

from numpy import float32, int64, uint8, uint64

from ...elementtypes import itemsize, same
from ...intrinsics import float_of, local_array, offset, select
from ..shared.elements import bits, part_offsets, prepare_parts, shares, typed
from .philox import ELEMENTS, FIRST, LIMIT, PHILOX_LANES, philox

T = float32
load = store = same
GRAIN = 8_000

SCALE, SHIFT, DROPPED = range(LIMIT + 1, LIMIT + 4)      # of the descriptor, behind a fill's: what is put for the dropped, last


def dropout_elements(x, out, mask, state, descriptor):
    words = local_array(uint64, 128)
    n = descriptor[ELEMENTS]
    limit = uint64(descriptor[LIMIT])
    scale, shift, dropped = T(float_of(descriptor[SCALE])), T(float_of(descriptor[SHIFT])), T(float_of(descriptor[DROPPED]))
    counter = state[1] + descriptor[FIRST] * PHILOX_LANES
    for first in range(0, n, 128):
        philox(words, state[0], counter)
        count = min(int64(128), n - first)
        a = offset(x, first)
        kept = offset(mask, first)
        result = offset(out, first)
        for i in range(count):
            kept[i] = uint8(words[i] < limit)
        for i in range(count):
            result[i] = store(select(words[i] < limit, load(a[i]) * scale + shift, dropped))
        counter += PHILOX_LANES


def plan_dropout(dtype: str, n: int, keep: float, scale: float, shift: float = 0.0, dropped: float = 0.0, first: int = 0):
    """x * scale + shift with probability `keep` (to 2^-32), else `dropped`. Of more elements than these, they are those from the
    chunk `first` on.

    Addresses: x (n), out (n), mask (n) of bool, state (philox.py). Moves the offset by `random.counters_used(n)`.
    """
    kernel = typed(dropout_elements, dtype, ("element*", "element*", "bool*", "int64*", "int64*"))
    parts, size = shares(n, n, GRAIN, multiple=128), itemsize(dtype)
    numbers = round(keep * 2**32), bits(scale), bits(shift), bits(dropped)
    rows = [(stop - start, first + start // 128, *numbers) for start, stop in parts]
    return prepare_parts(kernel, rows, n, part_offsets(parts, size, size, 1, 0))
