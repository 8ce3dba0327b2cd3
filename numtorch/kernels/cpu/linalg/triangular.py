"""Triangular systems by substitution, in place of the right-hand sides and a row of them at a time.

Each row takes away the ones found before it, eight at a time, so that it is read and written once for eight multiplications of each
element; large systems are halved around products instead (ops/linalg/triangular.py). A single right-hand side goes along the rows
of the matrix, as dot products, or down its columns, whichever lie side by side.
"""
from __future__ import annotations

from numpy import float64

from ...elementtypes import itemsize
from ...intrinsics import offset
from ..shared.elements import part_offsets, prepare_parts, shares, typed
from .lu import GRAIN, subtract, subtract_eight

T = float64
HALVED = 96                      # extent from which systems are halved, and products do most of the work

# the descriptor: matrices, their rows, right-hand sides; strides of a and of x; which triangle, and whether its diagonal is ones
MATRICES, ROWS, COLUMNS, A_MATRIX, A_ROW, A_COLUMN, X_MATRIX, X_ROW, UPPER, UNIT = range(10)


def dot(a, x, n):
    """The sum of n products, in eight parts that are one vector."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = T(0)
    j = 0
    while j + 8 <= n:
        s0 += a[j] * x[j]
        s1 += a[j + 1] * x[j + 1]
        s2 += a[j + 2] * x[j + 2]
        s3 += a[j + 3] * x[j + 3]
        s4 += a[j + 4] * x[j + 4]
        s5 += a[j + 5] * x[j + 5]
        s6 += a[j + 6] * x[j + 6]
        s7 += a[j + 7] * x[j + 7]
        j += 8
    total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    while j < n:
        total += a[j] * x[j]
        j += 1
    return total


def substitute_one(m, x, n, row, column, upper, unit):
    """A single right-hand side."""
    for step in range(n):
        i, first, stop = step, 0, step
        if upper:
            i, first, stop = n - 1 - step, n - step, n
        value = x[i]
        if row != 1:
            along = offset(m, i * row + first * column)
            if column == 1:
                value -= dot(along, offset(x, first), stop - first)
            else:
                for j in range(stop - first):
                    value -= along[j * column] * x[first + j]
        if not unit:
            value = value / m[i * row + i * column]
        x[i] = value
        if row == 1:                                     # from those that are still to be found
            first, stop = (0, i) if upper else (i + 1, n)
            subtract(offset(x, first), offset(m, first + i * column), value, stop - first)


def substitute(a, x, descriptor):
    n, k, stride = descriptor[ROWS], descriptor[COLUMNS], descriptor[X_ROW]
    row, column = descriptor[A_ROW], descriptor[A_COLUMN]
    for matrix in range(descriptor[MATRICES]):
        m, solution = offset(a, matrix * descriptor[A_MATRIX]), offset(x, matrix * descriptor[X_MATRIX])
        if k == 1 and stride == 1:
            substitute_one(m, solution, n, row, column, descriptor[UPPER], descriptor[UNIT])
            continue
        for step in range(n):
            i, first, stop = step, 0, step
            if descriptor[UPPER]:
                i, first, stop = n - 1 - step, n - step, n
            mine = offset(solution, i * stride)
            j = first
            while j + 8 <= stop:
                subtract_eight(mine, offset(solution, j * stride), offset(m, i * row + j * column), k, stride, column)
                j += 8
            while j < stop:
                subtract(mine, offset(solution, j * stride), m[i * row + j * column], k)
                j += 1
            if not descriptor[UNIT]:
                pivot = m[i * row + i * column]
                for j in range(k):
                    mine[j] = mine[j] / pivot


def plan_substitute(dtype: str, matrices: int, n: int, k: int, of_a, of_x, upper: bool, unit: bool):
    """X with A X = B in place of B, for a triangle of each A; the other is not read. Addresses: a, x.

    Args:
        matrices, n, k: how many, their extent, and the right-hand sides of each.
        of_a, of_x: strides in elements, of matrices, rows and columns, and of matrices and rows; columns of x lie side by side.
        upper: which triangle.
        unit: whether the diagonal is ones, and not read.
    """
    kernel = typed(substitute, dtype, ("element*", "element*", "int64*"))
    work = matrices * n * n * k // 2
    parts = shares(matrices, work, GRAIN)
    offsets = part_offsets(parts, of_a[0] * itemsize(dtype), of_x[0] * itemsize(dtype))
    return prepare_parts(kernel, [(stop - start, n, k, *of_a, *of_x, upper, unit) for start, stop in parts], work, offsets)
