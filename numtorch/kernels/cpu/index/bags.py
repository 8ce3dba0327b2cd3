"""Sums and means of the rows of a table that bags of indices name: each row is read where it lies and added to its bag's sum."""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import same
from ...intrinsics import offset
from ..shared.elements import prepare_parts, shares, typed

T = float32
load = store = same
GRAIN = 20_000

# the descriptor: a part's bags, all bags, indices, rows of the table, its width, whether means are wanted
FIRST, STOP, BAGS, COUNT, ROWS, WIDTH, MEAN = range(7)


def sum_bags(table, index, starts, out, status, descriptor):
    """A bag goes on to where the next one starts."""
    bags, count, rows, width, mean = descriptor[BAGS], descriptor[COUNT], descriptor[ROWS], descriptor[WIDTH], descriptor[MEAN]
    if bags > 0 and (starts[0] != 0 or starts[bags - 1] > count):
        status[0] = -1
        return
    for bag in range(descriptor[FIRST], descriptor[STOP]):
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
    """out[b] = the sum of table[index[i]] for i from starts[b] up to starts[b + 1], of the last bag up to `count`; with `mean`
    their mean. An empty bag's is 0.

    Addresses: table (rows, width), index (count) of `index_dtype`, starts (bags) int64, out (bags, width), status: 0 before the
    call; after it 1 + the place of an index that is not in [0, rows), or -1 where the first bag does not start at 0, the last one
    starts behind `count`, or a bag before the one before it.
    """
    kernel = typed(sum_bags, dtype, ("element*", index_dtype + "*", "int64*", "element*", "int64*", "int64*"))
    work = count * (width + 8)
    parts = shares(bags, work, GRAIN)
    return prepare_parts(kernel, [(start, stop, bags, count, rows, width, int(mean)) for start, stop in parts], work)
