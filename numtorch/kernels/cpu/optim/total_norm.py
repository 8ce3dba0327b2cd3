"""The norm of many tensors' elements together, and their scaling by it: one pass each over a table of addresses.

The table is as an optimiser's (`optim.py`): a row for each tensor, of its address and its number of elements, cut among the
threads. Terms are joined in the compute type within a block and in float64 between blocks, parts and tensors.
"""
from __future__ import annotations

from numpy import float32, float64, inf, int64

from ...elementtypes import same
from ...intrinsics import as_pointer, fabs, fmax, fmin, local_array, offset, sqrt
from ...pointers import element_type
from ...vectormath import pow as power
from ..shared.elements import prepare_parts, typed
from .optim import END, FIRST, START, STOP, table_parts

T = W = float32                                          # W: the stored word
load = store = same
NORM_BLOCK = 2048
PARTS = 0                                                # whose terms the second kernel joins: its descriptor


def add(x, y):
    return x + y


def square(x, order):
    return x * x


def magnitude(x, order):
    return fabs(x)


def raised(x, order):
    return power(fabs(x), order)


def whole_root(total, order):
    return total


def square_root(total, order):
    return sqrt(total)


def any_root(total, order):
    return wide_power(total, float64(1) / order)


norm_term, norm_join, norm_root, wide_power = square, add, square_root, power.scalar("float64")
NORM_FIRST = 0.0                                              # what is joined to the first term
NORMS = {2.0: (square, add, square_root), 1.0: (magnitude, add, whole_root), inf: (magnitude, fmax, whole_root),
         -inf: (magnitude, fmin, whole_root)}


def part_norm(table, order, out, descriptor):
    """out[0] = the joined terms of a part."""
    like = local_array(W, 1)
    exponent = T(order[0])
    total = float64(NORM_FIRST)
    for row in range(descriptor[FIRST], descriptor[STOP]):
        entry = offset(table, 2 * row)
        start = descriptor[START] if row == descriptor[FIRST] else int64(0)
        stop = descriptor[END] if row == descriptor[STOP] - 1 else entry[1]
        x = offset(as_pointer(entry[0], like), start)
        for first in range(0, stop - start, NORM_BLOCK):
            block = T(NORM_FIRST)
            for i in range(first, min(first + NORM_BLOCK, stop - start)):
                block = norm_join(block, norm_term(load(x[i]), exponent))
            total = norm_join(total, float64(block))
    out[0] = total


def whole_norm(parts, order, out, descriptor):
    """out[0] = the norm, from the parts' joined terms."""
    total = float64(NORM_FIRST)
    for part in range(descriptor[PARTS]):
        total = norm_join(total, parts[part])
    out[0] = store(T(norm_root(total, order[0])))


def scale_all(table, norm, bound, descriptor):
    """Every element times min(1, bound / (norm + 1e-6)); where that is 1, nothing is read or written."""
    like = local_array(W, 1)
    factor = T(bound[0]) / (load(norm[0]) + T(1e-6))
    if factor >= T(1):
        return
    for row in range(descriptor[FIRST], descriptor[STOP]):
        entry = offset(table, 2 * row)
        start = descriptor[START] if row == descriptor[FIRST] else int64(0)
        stop = descriptor[END] if row == descriptor[STOP] - 1 else entry[1]
        x = offset(as_pointer(entry[0], like), start)
        for i in range(stop - start):
            x[i] = store(load(x[i]) * factor)


def plan_total_norm(dtype: str, numels, order: float):
    """Plan the norm of all elements of contiguous tensors of so many (`numels`) each: (sum |x|^order)^(1 / order); of an infinite
    order the largest or the least magnitude.

    Returns:
        A kernel and one that follows it. Addresses of the first: table int64 (rows, 2) of address and numel, `order` as float64,
            and its workspace of a float64 a part; of the second: that workspace, the order, and where the norm goes.
    """
    rows = table_parts(list(numels))
    terms, joined, root = NORMS.get(order, (raised, add, any_root))
    names: dict = dict(W=element_type(dtype).type, norm_term=terms, norm_join=joined, norm_root=root,
                 NORM_FIRST=inf if order == -inf else 0.0)
    first = prepare_parts(typed(part_norm, dtype, ("int64*", "float64*", "float64*", "int64*"), **names), rows, sum(numels),
                          [(0, 0, 8 * part) for part in range(len(rows))])
    first.workspace = 8 * len(rows)
    return first, prepare_parts(typed(whole_norm, dtype, ("float64*", "float64*", "element*", "int64*"), **names), [(len(rows),)],
                                1)


def plan_scale_all(dtype: str, numels):
    """Plan scaling contiguous tensors of so many elements (`numels`) down to a bound: x * min(1, bound / (norm + 1e-6)).

    Addresses: table int64 (rows, 2) of address and numel, the norm, the bound as float64.
    """
    names: dict = dict(W=element_type(dtype).type)
    kernel = typed(scale_all, dtype, ("int64*", "element*", "float64*", "int64*"), **names)
    rows = table_parts(list(numels))
    return prepare_parts(kernel, rows, sum(numels))
