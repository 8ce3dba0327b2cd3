"""L D L^H of symmetric or Hermitian indefinite matrices, with blocks of one and two rows in D.

Which rows are exchanged is Bunch and Kaufman's choice (1977; LAPACK's sytf2 and hetf2 for lower triangles, and their format: in a
block of two, both pivots are negative).
"""
from __future__ import annotations

from numpy import float64

from ...elementtypes import same
from ...intrinsics import offset
from ..shared.elements import prepare_parts, typed
from .lu import magnitude, magnitude_of_parts, subtract, swap_rows

T = float64
ALPHA = 0.6403882032022076       # (1 + sqrt(17)) / 8, which bounds the growth of elements best
MATRICES, ROWS, COLUMNS = range(3)    # of the descriptor; right-hand sides are columns


def conjugated(x):
    return x.conjugate()


size, mirrored = magnitude, same


def exchange(x, k, p, n):
    """Swap rows and columns k < p of what is left of a lower triangle, from column k on."""
    for i in range(p + 1, n):
        kept = x[i * n + k]
        x[i * n + k] = x[i * n + p]
        x[i * n + p] = kept
    for j in range(k + 1, p):
        kept = x[j * n + k]
        x[j * n + k] = mirrored(x[p * n + j])
        x[p * n + j] = mirrored(kept)
    x[p * n + k] = mirrored(x[p * n + k])
    kept = x[k * n + k]
    x[k * n + k] = x[p * n + p]
    x[p * n + p] = kept


def choose(x, k, n):
    """The row to exchange with, and how many rows the block has: 0 where the column is all zeros."""
    here, most, place = size(x[k * n + k]), size(T(0)), k
    for i in range(k + 1, n):
        magnitude = size(x[i * n + k])
        if magnitude > most:
            most, place = magnitude, i
    if max(here, most) == 0:
        return k, 0
    if here >= most * ALPHA:
        return k, 1
    beside = size(T(0))
    for j in range(k, place):
        beside = max(beside, size(x[place * n + j]))
    for i in range(place + 1, n):
        beside = max(beside, size(x[i * n + place]))
    if here >= most * ALPHA * (most / beside):
        return k, 1
    return place, 1 if size(x[place * n + place]) >= beside * ALPHA else 2


def factor(a, pivots, info, descriptor):
    n = descriptor[ROWS]
    for matrix in range(descriptor[MATRICES]):
        x, chosen = offset(a, matrix * n * n), offset(pivots, matrix * n)
        info[matrix] = 0
        k = 0
        while k < n:
            place, rows = choose(x, k, n)
            chosen[k] = place + 1
            if rows == 0:
                if info[matrix] == 0:
                    info[matrix] = k + 1
                k += 1
            elif rows == 1:
                if place != k:
                    exchange(x, k, place, n)
                pivot = x[k * n + k]
                for i in range(k + 1, n):
                    share = x[i * n + k] / pivot
                    for j in range(k + 1, i + 1):
                        x[i * n + j] -= share * mirrored(x[j * n + k])
                for i in range(k + 1, n):
                    x[i * n + k] = x[i * n + k] / pivot
                k += 1
            else:
                chosen[k] = chosen[k + 1] = -(place + 1)
                if place != k + 1:
                    exchange(x, k + 1, place, n)
                    kept = x[(k + 1) * n + k]
                    x[(k + 1) * n + k] = x[place * n + k]
                    x[place * n + k] = kept
                below = x[(k + 1) * n + k]
                p, q = x[k * n + k] / mirrored(below), x[(k + 1) * n + k + 1] / below
                t = T(1) / (p * q - T(1))
                for j in range(k + 2, n):
                    first, second = x[j * n + k], x[j * n + k + 1]
                    by_first = (first * q - second) * t / mirrored(below)
                    by_second = (second * p - first) * t / below
                    for i in range(j, n):
                        x[i * n + j] -= x[i * n + k] * mirrored(by_first) + x[i * n + k + 1] * mirrored(by_second)
                    x[j * n + k], x[j * n + k + 1] = by_first, by_second
                k += 2


def solve(a, pivots, b, descriptor):
    n, m = descriptor[ROWS], descriptor[COLUMNS]
    for matrix in range(descriptor[MATRICES]):
        x, chosen, y = offset(a, matrix * n * n), offset(pivots, matrix * n), offset(b, matrix * n * m)
        k = 0
        while k < n:                                     # P L, and D
            if chosen[k] > 0:
                swap_rows(y, k, chosen[k] - 1, m, m)
                for i in range(k + 1, n):
                    subtract(offset(y, i * m), offset(y, k * m), x[i * n + k], m)
                for j in range(m):
                    y[k * m + j] = y[k * m + j] / x[k * n + k]
                k += 1
            else:
                swap_rows(y, k + 1, -chosen[k] - 1, m, m)
                for i in range(k + 2, n):
                    subtract(offset(y, i * m), offset(y, k * m), x[i * n + k], m)
                    subtract(offset(y, i * m), offset(y, (k + 1) * m), x[i * n + k + 1], m)
                below = x[(k + 1) * n + k]
                p, q = x[k * n + k] / mirrored(below), x[(k + 1) * n + k + 1] / below
                t = T(1) / (p * q - T(1))
                for j in range(m):
                    first, second = y[k * m + j] / mirrored(below), y[(k + 1) * m + j] / below
                    y[k * m + j] = (q * first - second) * t
                    y[(k + 1) * m + j] = (p * second - first) * t
                k += 2
        k = n - 1
        while k >= 0:                                    # L^H P^T
            rows = 1 if chosen[k] > 0 else 2
            for c in range(k - rows + 1, k + 1):
                for i in range(k + 1, n):
                    subtract(offset(y, c * m), offset(y, i * m), mirrored(x[i * n + c]), m)
            swap_rows(y, k, abs(chosen[k]) - 1, m, m)
            k -= rows


def _named(dtype, hermitian):
    complex_too = dtype.startswith("complex")
    return dict(size=magnitude_of_parts if complex_too else magnitude, mirrored=conjugated if complex_too and hermitian else same)


def plan_ldl(dtype: str, matrices: int, n: int, hermitian: bool):
    """L and D with A = L D L^H where `hermitian`, else L D L^T, of contiguous (matrices, n, n) in place of their lower triangles;
    the upper ones are not read. Exchanges as LAPACK's sytrf has them.

    Addresses: a, pivots (matrices, n) int32, info (matrices) int32: the first block that is 0, from 1, or 0.
    """
    kernel = typed(factor, dtype, ("element*", "int32*", "int32*", "int64*"), **_named(dtype, hermitian))
    return prepare_parts(kernel, [(matrices, n)], 0)


def plan_ldl_solve(dtype: str, matrices: int, n: int, k: int, hermitian: bool):
    """The solutions in place of contiguous right-hand sides (matrices, n, k), by what `plan_ldl` left, `hermitian` as there.

    Addresses: LD (matrices, n, n), pivots int32, b.
    """
    kernel = typed(solve, dtype, ("element*", "int32*", "element*", "int64*"), **_named(dtype, hermitian))
    return prepare_parts(kernel, [(matrices, n, k)], 0)
