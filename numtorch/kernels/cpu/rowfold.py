"""Eight rows reduced at once: each into a vector, and the eight vectors into one by halves.

A row by itself ends in as many shuffles as its vector has halvings, one waiting for the other: of 100 float32 numbers that took
longer than adding them up. Eight rows share them: 23 instructions instead of 64.
"""
from __future__ import annotations

from ..intrinsics import Intrinsic

ROWS = 8
COMBINES = ("add", "multiply", "larger", "smaller")
LIFTS = ("unchanged", "magnitude", "squared")


def _fold_rows(x, step, n, target, lanes, combine, lift, identity):
    """target[r] = of 8 rows, `step` apart, the combination of n lifted elements each.

    The last vector of a row is the one that ends with it: of rows shorter than a vector it begins before them.

    Args:
        lanes: elements of a vector, a constant.
        combine, lift: which of COMBINES and LIFTS, constants.
        identity: what the elements are combined with that are not a row's.
    """
    for r in range(ROWS):
        row = [x[r * step + i] for i in range(n)]
        row = [(v, abs(v), v * v)[lift] for v in row]
        result = identity
        for v in row:
            if combine == 0:
                result = result + v
            elif combine == 1:
                result = result * v
            elif combine == 2:
                result = v if v > result or v != v else result
            else:
                result = v if v < result or v != v else result
        target[r] = result


_fold_rows.__name__ = "fold_rows"
fold_rows = Intrinsic(_fold_rows, module="numtorch.kernels.cpu.rowfoldvector")
