"""The order of a matrix's rows by their first elements, then their second ones, and so on: a merge sort of the rows' numbers from
pairs up, which compares two rows no further than to where they differ."""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import same
from ..shared.elements import prepare_parts, typed

T = float32
load = store = same
ROWS, WIDTH = range(2)           # of the descriptor


def comes_before(x, a, b, width):
    """Whether row a is less than row b. NaN is above all numbers."""
    for j in range(width):
        p, q = load(x[a * width + j]), load(x[b * width + j])
        if p < q:
            return True
        if p != q and (p == p or q == q):                # p is greater, or one of them is NaN
            return p == p and q != q
    return False


def order_rows(x, order, scratch, descriptor):
    """Rows that are equal keep their order."""
    rows, width = descriptor[ROWS], descriptor[WIDTH]
    for i in range(rows):
        order[i] = int64(i)
    source, target = order, scratch
    length = int64(1)
    merges = int64(0)
    while length < rows:
        for start in range(0, rows, 2 * length):
            middle, stop = min(start + length, rows), min(start + 2 * length, rows)
            i, j = int64(start), middle
            for place in range(start, stop):
                if j >= stop or (i < middle and not comes_before(x, source[j], source[i], width)):
                    target[place] = source[i]
                    i += 1
                else:
                    target[place] = source[j]
                    j += 1
        source, target = target, source
        length *= 2
        merges += 1
    if merges % 2 == 1:
        for i in range(rows):
            order[i] = scratch[i]


def plan_order_rows(dtype: str, rows: int, width: int):
    """The order of rows by their first elements, then their second ones, and so on; NaN is the greatest, and equal rows keep their
    order.

    Addresses: x (rows, width), order (rows) and as much scratch memory, both int64.
    """
    kernel = typed(order_rows, dtype, ("element*", "int64*", "int64*", "int64*"))
    return prepare_parts(kernel, [(rows, width)], rows * max(1, rows.bit_length()) * 4)
