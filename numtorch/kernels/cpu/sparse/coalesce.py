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


def write_keys(indices, keys, unsorted, descriptor):
    """keys[i] = the row-major place of the i-th coordinates, and whether some key is not above the one before it.

    descriptor: first, stop, coordinates, dimensions, the part's number, then what a step along each dimension adds.
    """
    n, dims = descriptor[2], descriptor[3]
    before = int64(-1)
    descends = int64(0)
    for i in range(max(descriptor[0] - 1, int64(0)), descriptor[1]):
        key = int64(0)
        for d in range(dims):
            key += indices[d * n + i] * descriptor[5 + d]
        if i >= descriptor[0]:
            keys[i] = key
        if key <= before:
            descends = int64(1)
        before = key
    unsorted[descriptor[4]] = descends


def sum_segments(x, order, starts, out, descriptor):
    """out[s] = the sum of the rows of x that a segment of `order` names: from starts[s] on, to where the next one begins.

    descriptor: first segment, stop, all segments, rows, width.
    """
    count, n, width = descriptor[2], descriptor[3], descriptor[4]
    for s in range(descriptor[0], descriptor[1]):
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
    """pointers[r] = how many of the sorted row numbers are below r. descriptor: row numbers, rows."""
    n, count = descriptor[0], descriptor[1]
    r = int64(0)
    for i in range(n):
        while r <= rows[i]:
            pointers[r] = i
            r += 1
    while r <= count:
        pointers[r] = n
        r += 1


def write_rows(pointers, rows, descriptor):
    """rows[i] = the row of element i. descriptor: first row, stop."""
    for r in range(descriptor[0], descriptor[1]):
        for i in range(pointers[r], pointers[r + 1]):
            rows[i] = r


def plan_keys(n: int, steps):
    """Addresses: indices (dimensions, n) int64, keys (n) int64, a word a part. Returns the call and its parts."""
    parts = shares(n, 2 * n, GRAIN)
    kernel = typed(write_keys, "int64", ("int64*", "int64*", "int64*", "int64*"))
    rows = [(start, stop, n, len(steps), part, *steps) for part, (start, stop) in enumerate(parts)]
    return prepare_parts(kernel, rows, [(0, 0, 0)] * len(parts), 2 * n), len(parts)


def plan_sum_segments(dtype: str, segments: int, n: int, width: int):
    """Addresses: x (n, width), order (n) int64, starts (segments) int64, out (segments, width)."""
    kernel = typed(sum_segments, dtype, ("element*", "int64*", "int64*", "element*", "int64*"))
    parts = shares(segments, n * width, GRAIN)
    return prepare_parts(kernel, [(start, stop, segments, n, width) for start, stop in parts], [(0,) * 4] * len(parts), n * width)


def plan_pointers(n: int, rows: int):
    """Addresses: row numbers (n) int64 in order, pointers (rows + 1) int64."""
    return prepare_parts(typed(write_pointers, "int64", ("int64*", "int64*", "int64*")), [(n, rows)], None, n + rows)


def plan_rows(n: int, rows: int):
    """Addresses: pointers (rows + 1) int64, row numbers (n) int64."""
    parts = shares(rows, n + rows, GRAIN)
    return prepare_parts(typed(write_rows, "int64", ("int64*", "int64*", "int64*")), [(start, stop) for start, stop in parts],
                         [(0, 0)] * len(parts), n + rows)
