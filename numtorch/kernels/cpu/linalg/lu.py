"""LU factorisation with partial pivoting, in place and row by row.

Eight columns are factored at a time, and then subtracted from every row right of them in one pass (the blocked form of LAPACK's
getrf, in Golub and Van Loan, "Matrix computations", 3.2): a row is read and written once for eight multiplications of each element.
"""
from __future__ import annotations

from numpy import float64, int64

from ...elementtypes import itemsize
from ...intrinsics import offset
from ..shared.elements import part_offsets, prepare_parts, shares, typed

T = float64
BLOCK = 8
GRAIN = 20_000                   # multiplications

MATRICES, ROWS, COLUMNS = range(3)                       # of the descriptor
EXCHANGES, BACK = range(ROWS + 1, ROWS + 3)              # of that of exchanges, which may be undone


def magnitude(x):
    """What pivots are chosen by: LAPACK's |re| + |im| for complex numbers."""
    return abs(x)


def magnitude_of_parts(x):
    return abs(x.real) + abs(x.imag)


size = magnitude


def swap_rows(x, a, b, n, stride):
    for j in range(n):
        kept = x[a * stride + j]
        x[a * stride + j] = x[b * stride + j]
        x[b * stride + j] = kept


def subtract(row, above, factor, n):
    """row -= factor * above."""
    for j in range(n):
        row[j] -= factor * above[j]


def subtract_eight(row, x, f, n, stride, apart):
    """row -= the sum of eight rows of x, `stride` apart, times eight factors, `apart` apart."""
    f0, f1, f2, f3 = f[0], f[apart], f[2 * apart], f[3 * apart]
    f4, f5, f6, f7 = f[4 * apart], f[5 * apart], f[6 * apart], f[7 * apart]
    x1, x2, x3, x4 = offset(x, stride), offset(x, 2 * stride), offset(x, 3 * stride), offset(x, 4 * stride)
    x5, x6, x7 = offset(x, 5 * stride), offset(x, 6 * stride), offset(x, 7 * stride)
    for j in range(n):
        row[j] -= (f0 * x[j] + f1 * x1[j]) + (f2 * x2[j] + f3 * x3[j]) + (f4 * x4[j] + f5 * x5[j]) + (f6 * x6[j] + f7 * x7[j])


def factor(a, pivots, info, descriptor):
    m, n = descriptor[ROWS], descriptor[COLUMNS]
    least = min(m, n)
    for matrix in range(descriptor[MATRICES]):
        x, chosen = offset(a, matrix * m * n), offset(pivots, matrix * least)
        info[matrix] = 0
        for first in range(0, least, BLOCK):
            stop = min(first + BLOCK, least)
            for k in range(first, stop):
                best, place = size(x[k * n + k]), k
                for i in range(k + 1, m):
                    magnitude = size(x[i * n + k])
                    if magnitude > best:
                        best, place = magnitude, i
                chosen[k] = place + 1
                if place != k:
                    swap_rows(x, k, place, n, n)
                pivot = x[k * n + k]
                if pivot == T(0):
                    if info[matrix] == 0:
                        info[matrix] = k + 1
                    continue
                above = offset(x, k * n + k + 1)
                for i in range(k + 1, m):
                    share = x[i * n + k] / pivot
                    x[i * n + k] = share
                    subtract(offset(x, i * n + k + 1), above, share, stop - k - 1)
            if stop == n:
                continue
            for k in range(first, stop):                 # the block's own rows, right of it
                for i in range(k + 1, stop):
                    subtract(offset(x, i * n + stop), offset(x, k * n + stop), x[i * n + k], n - stop)
            for i in range(stop, m):
                if stop - first == BLOCK:
                    subtract_eight(offset(x, i * n + stop), offset(x, first * n + stop), offset(x, i * n + first), n - stop, n, 1)
                else:
                    for k in range(first, stop):
                        subtract(offset(x, i * n + stop), offset(x, k * n + stop), x[i * n + k], n - stop)


def order(pivots, permutation, status, descriptor):
    m, least = descriptor[ROWS], descriptor[EXCHANGES]
    for matrix in range(descriptor[MATRICES]):
        chosen, rows = offset(pivots, matrix * least), offset(permutation, matrix * m)
        for i in range(m):
            rows[i] = i
        for step in range(least):
            i = least - 1 - step if descriptor[BACK] else step
            other = int64(chosen[i]) - 1
            if other < 0 or other >= m:
                status[0] = 1
                return
            kept = rows[i]
            rows[i] = rows[other]
            rows[other] = kept


def plan_order(dtype: str, matrices: int, rows: int, exchanges: int, back: bool):
    """Which row each comes from when rows are exchanged one after another, or exchanged `back`; at most `rows` exchanges.

    Addresses: pivots (matrices, exchanges), rows counted from 1; the result, (matrices, rows) int64; status, 1 where there is no
    such row.
    """
    kernel = typed(order, dtype, ("element*", "int64*", "int64*", "int64*"))
    return prepare_parts(kernel, [(matrices, rows, exchanges, back)], 0)


def plan_factor(dtype: str, matrices: int, rows: int, columns: int):
    """L and U of contiguous (matrices, rows, columns) in place of them, rows exchanged for the largest pivots. A column without a
    pivot is left as it is.

    Addresses: a; pivots (matrices, min(rows, columns)) int32, the rows (from 1) that each row was exchanged with; info (matrices)
    int32: the first pivot that is 0, from 1, or 0.
    """
    kernel = typed(factor, dtype, ("element*", "int32*", "int32*", "int64*"),
                   size=magnitude_of_parts if dtype.startswith("complex") else magnitude)
    work, least = matrices * rows * columns * min(rows, columns), min(rows, columns)
    parts = shares(matrices, work, GRAIN)
    offsets = part_offsets(parts, rows * columns * itemsize(dtype), least * 4, 4)
    return prepare_parts(kernel, [(stop - start, rows, columns) for start, stop in parts], work, offsets)
