"""Sums and means of the rows of a table that bags of indices name: each row is read where it lies and added to its bag's sum."""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import same
from ...intrinsics import offset
from ..shared.elements import prepare_parts, shares, typed

T = float32
load = store = same
GRAIN = 20_000


def sum_bags(table, index, starts, out, status, descriptor):
    """descriptor: first bag, stop, all bags, indices, rows of the table, its width, whether means are wanted. A bag goes on to
    where the
    next one starts. status: the number of the first bad index, from 1 on, or -1 where a bag starts before the one before it."""
    bags, count, rows, width, mean = descriptor[2], descriptor[3], descriptor[4], descriptor[5], descriptor[6]
    for bag in range(descriptor[0], descriptor[1]):
        if bag + 1 < bags and starts[bag + 1] < starts[bag]:
            status[0] = -1
            return
        first = min(max(starts[bag], int64(0)), count)
        stop = min(max(starts[bag + 1], first), count) if bag + 1 < bags else count
        total = offset(out, bag * width)
        for j in range(width):
            total[j] = T(0)
        for i in range(first, stop):
            row = int64(index[i])
            if row < 0 or row >= rows:
                status[0] = i + 1
                return
            a = offset(table, row * width)
            for j in range(width):
                total[j] += a[j]
        if mean != 0 and stop > first:
            scale = T(1) / T(stop - first)
            for j in range(width):
                total[j] *= scale


def plan_sum_bags(dtype: str, index_dtype: str, bags: int, count: int, rows: int, width: int, mean: bool):
    """Addresses: table (rows, width), index (count), starts (bags) int64, out (bags, width), status."""
    kernel = typed(sum_bags, dtype, ("element*", index_dtype + "*", "int64*", "element*", "int64*", "int64*"))
    work = count * (width + 8)
    parts = shares(bags, work, GRAIN)
    return prepare_parts(kernel, [(start, stop, bags, count, rows, width, int(mean)) for start, stop in parts],
                         [(0,) * 5] * len(parts), work)
