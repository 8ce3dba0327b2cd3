"""Masks over contiguous data: counting, selecting and writing the elements where one holds, and their coordinates.

Where more than an eighth of a mask holds, elements are written whether it does or not, and the place moves on only where it
does: a branch on a random mask costs eight times as much. Counting first keeps the last of these writes inside.
"""
from __future__ import annotations

from numpy import int64

from ..intrinsics import local_array, offset
from .elements import WORDS, prepare_parts, typed


def number_true(mask, n):
    total = int64(0)
    for i in range(n):
        total += int64(mask[i] != 0)
    return total


def count_true(mask, count, walk):
    count[0] = number_true(mask, walk[0])


def select_true(x, mask, out, walk):
    n, words = walk[0], walk[1]
    total = number_true(mask, n)
    filled = int64(0)
    if words == 1 and total * 8 > n:
        i = int64(0)
        while filled < total:
            out[filled] = x[i]
            filled += int64(mask[i] != 0)
            i += 1
        return
    for i in range(n):
        if mask[i] != 0:
            for word in range(words):
                out[filled * words + word] = x[i * words + word]
            filled += 1


def fill_true(x, mask, source, walk):
    words = walk[1]
    taken = int64(0)
    for i in range(walk[0]):
        if mask[i] != 0:
            for word in range(words):
                x[i * words + word] = source[taken * words + word]
            taken += 1


def true_columns(row, out, last, prefix, dims, left):
    """The coordinates of a row's true elements, in one or two dims; `left` of them still fit. Returns how many there are."""
    filled = int64(0)
    if dims == 1:
        for j in range(last):
            if filled < left:
                out[filled] = j
                filled += int64(row[j] != 0)
    else:
        for j in range(last):
            if filled < left:
                out[2 * filled] = prefix[0]
                out[2 * filled + 1] = j
                filled += int64(row[j] != 0)
    return filled


def few_true_columns(row, out, last, prefix, dims):
    filled = int64(0)
    for j in range(last):
        if row[j] != 0:
            place = offset(out, filled * dims)
            for d in range(dims - 1):
                place[d] = prefix[d]
            if dims > 0:
                place[dims - 1] = j
            filled += 1
    return filled


def coordinates_of_true(mask, out, walk):
    """walk: elements, dims, sizes."""
    n, dims = walk[0], walk[1]
    last = walk[1 + dims] if dims > 0 else int64(1)
    total = number_true(mask, n)
    filled = int64(0)
    prefix = local_array(int64, 64)
    for first in range(0, n, max(last, int64(1))):
        rest = first // last
        for back in range(1, dims):
            d = dims - 1 - back
            prefix[d] = rest % walk[2 + d]
            rest = rest // walk[2 + d]
        if (dims == 1 or dims == 2) and total * 8 > n:
            filled += true_columns(offset(mask, first), offset(out, filled * dims), last, prefix, dims, total - filled)
        else:
            filled += few_true_columns(offset(mask, first), offset(out, filled * dims), last, prefix, dims)


# ---------------------------------------------------------------- planners
def plan_count_nonzero(n: int):
    """Addresses: mask (n) of bool, count int64."""
    return prepare_parts(typed(count_true, "bool", ("element*", "int64*", "int64*")), [(n,)], None, n)


def plan_nonzero(shape):
    """Coordinates of a contiguous mask's true elements. Addresses: mask, out (count, dims) int64."""
    n = 1
    for size in shape:
        n *= size
    kernel = typed(coordinates_of_true, "bool", ("element*", "int64*", "int64*"))
    return prepare_parts(kernel, [(n, len(shape), *shape)], None, n)


def _masked(function, size, n):
    kernel = typed(function, WORDS[min(size, 8)], ("element*", "bool*", "element*", "int64*"))
    return prepare_parts(kernel, [(n, 2 if size == 16 else 1)], None, n)


def plan_masked_select(size: int, n: int):
    """Addresses: x (n), mask (n) of bool, out (count); contiguous."""
    return _masked(select_true, size, n)


def plan_masked_scatter(size: int, n: int):
    """x[mask] = source in order. Addresses: x (n), mask (n) of bool, source (count or more); contiguous."""
    return _masked(fill_true, size, n)
