"""Coordinates of stored elements: one key each, whose order is that of the elements, sums of elements of one key, and where rows
begin among sorted ones."""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import same
from ...intrinsics import offset
from ..shared.elements import prepare_parts, shares, typed

T = float32
load = store = same
GRAIN = 20_000

# descriptors: a part; of keys, all coordinates, dimensions, the part's number, then what a step along each dimension adds; of sums,
# all segments, rows and their width; of pointers, row numbers and rows
FIRST, STOP, COUNT, DIMS, PART, STEPS = range(6)
SEGMENTS, ROWS, WIDTH = range(STOP + 1, STOP + 4)
NUMBERS, POINTERS = range(2)


def write_keys(indices, keys, unsorted, descriptor):
    """keys[i] = the row-major place of the i-th coordinates, and whether some key is not above the one before it."""
    n, dims = descriptor[COUNT], descriptor[DIMS]
    before = int64(-1)
    descends = int64(0)
    for i in range(max(descriptor[FIRST] - 1, int64(0)), descriptor[STOP]):
        key = int64(0)
        for d in range(dims):
            key += indices[d * n + i] * descriptor[STEPS + d]
        if i >= descriptor[FIRST]:
            keys[i] = key
        if key <= before:
            descends = int64(1)
        before = key
    unsorted[descriptor[PART]] = descends


def sum_segments(x, order, starts, out, descriptor):
    """out[s] = the sum of the rows of x that a segment of `order` names: from starts[s] on, to where the next one begins."""
    count, n, width = descriptor[SEGMENTS], descriptor[ROWS], descriptor[WIDTH]
    for s in range(descriptor[FIRST], descriptor[STOP]):
        total = offset(out, s * width)
        stop = starts[s + 1] if s + 1 < count else n
        first = offset(x, order[starts[s]] * width)
        for j in range(width):
            total[j] = first[j]
        for i in range(starts[s] + 1, stop):
            a = offset(x, order[i] * width)
            for j in range(width):
                total[j] = store(load(total[j]) + load(a[j]))


def write_pointers(rows, pointers, descriptor):
    """pointers[r] = how many of the sorted row numbers are below r."""
    n, count = descriptor[NUMBERS], descriptor[POINTERS]
    r = int64(0)
    for i in range(n):
        while r <= rows[i]:
            pointers[r] = i
            r += 1
    while r <= count:
        pointers[r] = n
        r += 1


def write_rows(pointers, rows, descriptor):
    """rows[i] = the row of element i."""
    for r in range(descriptor[FIRST], descriptor[STOP]):
        for i in range(pointers[r], pointers[r + 1]):
            rows[i] = r


def plan_keys(n: int, steps):
    """The row-major place of each column of indices, the j-th of which counts steps[j], and whether they are in ascending order.
    Returns the call and how many parts it has.

    Addresses: indices (dimensions, n) int64, keys (n) int64, a word for each part: 1 where some key is not above the one before,
    else 0.
    """
    parts = shares(n, 2 * n, GRAIN)
    kernel = typed(write_keys, "int64", ("int64*", "int64*", "int64*", "int64*"))
    rows = [(start, stop, n, len(steps), part, *steps) for part, (start, stop) in enumerate(parts)]
    return prepare_parts(kernel, rows, 2 * n), len(parts)


def plan_sum_segments(dtype: str, segments: int, n: int, width: int):
    """out[s] = the sum of rows order[i] of x, for i from starts[s] up to starts[s + 1] or n. No segment is empty.

    Addresses: x (n, width), order (n) int64, starts (segments) int64, out (segments, width).
    """
    kernel = typed(sum_segments, dtype, ("element*", "int64*", "int64*", "element*", "int64*"))
    parts = shares(segments, n * width, GRAIN)
    return prepare_parts(kernel, [(start, stop, segments, n, width) for start, stop in parts], n * width)


def plan_pointers(n: int, rows: int):
    """pointers[r] = how many row numbers are below r. Addresses: row numbers (n) int64 in order, pointers (rows + 1) int64."""
    return prepare_parts(typed(write_pointers, "int64", ("int64*", "int64*", "int64*")), [(n, rows)], n + rows)


def plan_rows(n: int, rows: int):
    """The row of each element, from where rows begin. Addresses: pointers (rows + 1) int64, row numbers (n) int64."""
    parts = shares(rows, n + rows, GRAIN)
    return prepare_parts(typed(write_rows, "int64", ("int64*", "int64*", "int64*")), [(start, stop) for start, stop in parts],
                         n + rows)
