"""Masks over contiguous data: counting, selecting and writing the elements where one holds, and their coordinates.

Where more than an eighth of a mask holds, elements are written whether it does or not, and the place moves on only where it
does: a branch on a random mask costs eight times as much. Counting first keeps the last of these writes inside.
"""
from __future__ import annotations

from math import prod

from numpy import int64

from ...intrinsics import local_array, offset
from ..shared.elements import WORDS, prepare_parts, shares, typed

GRAIN = 10_000                   # elements that make a thread worth waking
COLUMNS = 512                    # whose places are at hand

# descriptors: elements of the mask, words that each of the other array has; of coordinates a part's elements, and the mask's sizes
ELEMENTS, WORDS_EACH = range(2)
FIRST, STOP, DIMS, SIZES = range(4)


def number_true(mask, n):
    total = int64(0)
    for i in range(n):
        total += int64(mask[i] != 0)
    return total


def count_true(mask, count, descriptor):
    count[0] = number_true(mask, descriptor[ELEMENTS])


def select_true(x, mask, out, descriptor):
    n, words = descriptor[ELEMENTS], descriptor[WORDS_EACH]
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


def fill_true(x, mask, source, descriptor):
    words = descriptor[WORDS_EACH]
    taken = int64(0)
    for i in range(descriptor[ELEMENTS]):
        if mask[i] != 0:
            for word in range(words):
                x[i * words + word] = source[taken * words + word]
            taken += 1


def true_columns(row, out, first, count, prefix, places, dims, left):
    """The coordinates of the true elements among `count` of a row, from column `first` on; `left` of them still fit, in up to three
    dims. Returns how many there are."""
    filled = int64(0)
    if dims == 1:
        for j in range(count):
            if filled < left:
                out[filled] = first + j
                filled += int64(row[j] != 0)
    elif dims == 2:
        for j in range(count):
            if filled < left:
                out[2 * filled] = prefix[0]
                out[2 * filled + 1] = first + j
                filled += int64(row[j] != 0)
    elif dims == 3:
        for j in range(count):
            if filled < left:
                out[3 * filled] = prefix[0]
                out[3 * filled + 1] = prefix[1]
                out[3 * filled + 2] = first + j
                filled += int64(row[j] != 0)
    else:
        for start in range(0, count, COLUMNS):
            width = min(count - start, int64(COLUMNS))
            selected = int64(0)
            for j in range(width):
                places[selected] = first + start + j
                selected += int64(row[start + j] != 0)
            for d in range(dims - 1):
                place, value = offset(out, filled * dims + d), prefix[d]
                for k in range(selected):
                    place[k * dims] = value
            place = offset(out, filled * dims + dims - 1)
            for k in range(selected):
                place[k * dims] = places[k]
            filled += selected
    return filled


def few_true_columns(row, out, first, count, prefix, dims):
    filled = int64(0)
    for j in range(count):
        if row[j] != 0:
            place = offset(out, filled * dims)
            for d in range(dims - 1):
                place[d] = prefix[d]
            if dims > 0:
                place[dims - 1] = first + j
            filled += 1
    return filled


def coordinates_of_true(mask, out, descriptor):
    """Where its coordinates go a part finds by counting what is true before it: it reads a byte where it writes 8 for each dim."""
    start, stop, dims = descriptor[FIRST], descriptor[STOP], descriptor[DIMS]
    sizes = offset(descriptor, SIZES)
    last = sizes[dims - 1] if dims > 0 else int64(1)
    filled = number_true(mask, start)
    end = filled + number_true(offset(mask, start), stop - start)
    many = (end - filled) * 8 > stop - start
    prefix, places = local_array(int64, 64), local_array(int64, COLUMNS)
    rest = start // max(last, int64(1))
    for back in range(1, dims):
        d = dims - 1 - back
        prefix[d] = rest % sizes[d]
        rest = rest // sizes[d]
    at = start
    column = start % max(last, int64(1))
    while at < stop:
        count = min(last - column, stop - at)
        if many:
            filled += true_columns(offset(mask, at), offset(out, filled * dims), column, count, prefix, places, dims,
                                   end - filled)
        else:
            filled += few_true_columns(offset(mask, at), offset(out, filled * dims), column, count, prefix, dims)
        at += count
        column = int64(0)
        d = dims - 2
        if d >= 0:
            prefix[d] += 1
        while d > 0 and prefix[d] == sizes[d]:
            prefix[d] = 0
            d -= 1
            prefix[d] += 1


# ---------------------------------------------------------------- planners
def plan_count_nonzero(n: int):
    """How many elements of a mask hold. Addresses: mask (n) of bool, count int64."""
    return prepare_parts(typed(count_true, "bool", ("element*", "int64*", "int64*")), [(n,)], n)


def plan_nonzero(shape):
    """Coordinates of the true elements of a contiguous mask of this shape, in order. Addresses: mask, out (count, dims) int64."""
    n = prod(shape)
    kernel = typed(coordinates_of_true, "bool", ("element*", "int64*", "int64*"))
    parts = shares(n, n, GRAIN)
    return prepare_parts(kernel, [(start, stop, len(shape), *shape) for start, stop in parts], n)


def _masked(function, size, n):
    kernel = typed(function, WORDS[min(size, 8)], ("element*", "bool*", "element*", "int64*"))
    return prepare_parts(kernel, [(n, 2 if size == 16 else 1)], n)


def plan_masked_select(size: int, n: int):
    """out = x[mask]. Addresses: x (n), mask (n) of bool, out (count); contiguous, of elements of `size` bytes."""
    return _masked(select_true, size, n)


def plan_masked_scatter(size: int, n: int):
    """x[mask] = source, in order. Addresses: x (n), mask (n) of bool, source (count or more); contiguous, of elements of `size`
    bytes.
    """
    return _masked(fill_true, size, n)
