"""What a thread does with all the numbers that it has of a warp's sums: a tuple, of matrices of 16 x 8 below and beside each other
four numbers each, two of a row and two of the row eight below (../warps.py).

Intrinsics: LLVM IR in fragments_ir.py, and Python twins for the simulator. A kernel could write these out; the compiler would take
several times as long over it.
"""
from __future__ import annotations

import functools

import numpy as np

from ...intrinsics import Intrinsic, fmax

_instruction = functools.partial(Intrinsic, module="numtorch.kernels.cuda.attention.fragments_ir")


def places(count, rows):
    """(row, column) of each of `count` numbers, with `rows` matrices below each other: the row's number among the `2 * rows` that a
    thread has, and the column from its first one on."""
    across = count // rows
    return [(2 * (place // across) + place % 4 // 2, 8 * (place % across // 4) + place % 2) for place in range(count)]


def _of_columns(column):
    """The number of a column among those that a thread has."""
    return column // 8 * 2 + column % 2


def _by_rows(x, rows):
    found: list = [[] for _ in range(2 * rows)]
    for value, (row, _) in zip(x, places(len(x), rows)):
        found[row].append(value)
    return found


@_instruction
def maxima_of_rows(x, rows):
    """The largest number of each row; NaN where one is. `rows`, a literal: matrices below each other."""
    return tuple(functools.reduce(fmax.twin, row) for row in _by_rows(x, rows))


@_instruction
def sums_of_rows(x, rows):
    """The sum of each row."""
    return tuple(np.float32(sum(row)) for row in _by_rows(x, rows))


@_instruction
def times_rows(x, factors):
    """Each number by the factor of its row."""
    return tuple(np.float32(value * factors[row]) for value, (row, _) in zip(x, places(len(x), len(factors) // 2)))


@_instruction
def seen_below(x, limits):
    """-inf for columns from the limit of their row on."""
    return tuple(value if column < limits[row] else np.float32(-np.inf)
                 for value, (row, column) in zip(x, places(len(x), len(limits) // 2)))


@_instruction
def seen_above(x, limits):
    """-inf for columns before the limit of their row."""
    return tuple(value if column >= limits[row] else np.float32(-np.inf)
                 for value, (row, column) in zip(x, places(len(x), len(limits) // 2)))


@_instruction
def exponentials_of_rows(x, unit, shifts):
    """2 to the power of each number times the unit, less the shift of its row."""
    return tuple(np.exp2(np.float32(np.float32(value * unit) - shifts[row]))
                 for value, (row, _) in zip(x, places(len(x), len(shifts) // 2)))


@_instruction
def exponentials_of_columns(x, unit, shifts):
    """The same with a shift of each column."""
    rows = len(x) // (2 * len(shifts))
    return tuple(np.exp2(np.float32(np.float32(value * unit) - shifts[_of_columns(column)]))
                 for value, (_, column) in zip(x, places(len(x), rows)))


@_instruction
def slopes_of_rows(x, t, dots):
    """x * (t - dot), with a dot of each row."""
    return tuple(np.float32(p * np.float32(s - dots[row])) for p, s, (row, _) in zip(x, t, places(len(x), len(dots) // 2)))


@_instruction
def slopes_of_columns(x, t, dots):
    """The same with a dot of each column."""
    rows = len(x) // (2 * len(dots))
    return tuple(np.float32(p * np.float32(s - dots[_of_columns(column)])) for p, s, (_, column) in zip(x, t, places(len(x), rows)))
