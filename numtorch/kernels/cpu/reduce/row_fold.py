"""Rows and columns reduced in registers.

Eight rows at once: each into a vector, and the eight vectors into one by halves.

A row by itself ends in as many shuffles as its vector has halvings, one waiting for the other: of 100 float32 numbers that takes
longer than adding them up. Eight rows share them: 23 instructions instead of 64.

A strip of neighbouring columns is added up without storing what has been added so far: (32, 64, 64) over dim 1 in 0.7 of the time.
"""
from __future__ import annotations

from ...elementtypes import same
from ...intrinsics import Intrinsic, bfloat16_to_float, half_to_float

ROWS = 8
COMBINES = ("add", "multiply", "larger", "smaller")
LIFTS = ("unchanged", "magnitude", "squared")
LOADS = (same, half_to_float, bfloat16_to_float)


def _fold_rows(x, step, n, target, lanes, combine, lift, identity):
    """target[r] = of 8 rows, `step` apart, the combination of n lifted elements each.

    The last vector of a row is the one that ends with it: of rows shorter than a vector it begins before them.

    Args:
        lanes: elements of a vector, a constant.
        combine, lift: which of COMBINES, and which of LIFTS and 3 times which of LOADS, constants.
        identity: what the elements are combined with that are not a row's.
    """
    for r in range(ROWS):
        target[r] = _combined([x[r * step + i] for i in range(n)], combine, lift, identity)


def _fold_columns(x, step, n, target, columns, lanes, combine, lift, identity):
    """target[j] = of `columns` columns, a constant multiple of `lanes`, the combination of n lifted elements, `step` apart."""
    for j in range(columns):
        target[j] = _combined([x[r * step + j] for r in range(n)], combine, lift, identity)


def _combined(values, combine, lift, identity):
    result = identity
    for word in values:
        value = LOADS[lift // 3](word)
        v = (value, abs(value), value * value)[lift % 3]
        if combine < 2:
            result = result * v if combine else result + v
        elif v != v or (v > result if combine == 2 else v < result):
            result = v
    return result


_fold_rows.__name__ = "fold_rows"
fold_rows = Intrinsic(_fold_rows, module="numtorch.kernels.cpu.reduce.row_fold_ir")
_fold_columns.__name__ = "fold_columns"
fold_columns = Intrinsic(_fold_columns, module="numtorch.kernels.cpu.reduce.row_fold_ir")
