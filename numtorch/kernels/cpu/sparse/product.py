"""Compressed rows times a dense matrix, and products sampled at the elements of compressed rows.

A row of a product is added up in registers, up to four vectors at a time: what the row's elements name of the dense matrix is read
once, and the sums are written once. Columns that fill no vector are added up in memory.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import Intrinsic, offset
from ..shared.elements import VECTOR_LANES, prepare_parts, typed

T = float32
load = store = same
WIDE = 4 * VECTOR_LANES                                  # columns that are added up in registers at once


def _fold_named_rows(values, places, columns, first, stop, table, step, target, width, lanes):
    """target[j] = the sum over elements of values[places[i]] * table[columns[i], j], for `width` columns, a multiple of `lanes`."""
    for j in range(width):
        total = values[0] * 0
        for i in range(int(first), int(stop)):
            total = total + values[places[i]] * table[columns[i] * step + j]
        target[j] = total


_fold_named_rows.__name__ = "fold_named_rows"
fold_named_rows = Intrinsic(_fold_named_rows, module="numtorch.kernels.cpu.sparse.fold_ir")


def multiply_rows(pointers, columns, places, values, table, out, descriptor):
    """out[r] = the sum of the rows of `table` that row r's elements name, times these. descriptor: first row, stop, columns, from
    one
    row of the table to the next.

    Element i's value is values[places[i]].
    """
    width, step = descriptor[2], descriptor[3]
    for r in range(descriptor[0], descriptor[1]):
        first, stop = pointers[r], pointers[r + 1]
        target = offset(out, r * width)
        j = int64(0)
        while j + WIDE <= width:
            part = offset(target, j)
            fold_named_rows(values, places, columns, first, stop, offset(table, j), step, part, WIDE, VECTOR_LANES)
            j += WIDE
        while j + VECTOR_LANES <= width:
            part = offset(target, j)
            fold_named_rows(values, places, columns, first, stop, offset(table, j), step, part, VECTOR_LANES, VECTOR_LANES)
            j += VECTOR_LANES
        if width == 1:
            total = T(0)
            for i in range(first, stop):
                total += values[places[i]] * table[columns[i] * step]
            target[0] = total
        elif j < width:
            for k in range(j, width):
                target[k] = T(0)
            for i in range(first, stop):
                value = values[places[i]]
                row = offset(table, columns[i] * step)
                for k in range(j, width):
                    target[k] += value * row[k]


def multiply_rows_plainly(pointers, columns, places, values, table, out, descriptor):
    """The same for dtypes without vectors of their own, such as complex numbers."""
    width, step = descriptor[2], descriptor[3]
    for r in range(descriptor[0], descriptor[1]):
        target = offset(out, r * width)
        for k in range(width):
            target[k] = T(0)
        for i in range(pointers[r], pointers[r + 1]):
            value = values[places[i]]
            row = offset(table, columns[i] * step)
            for k in range(width):
                target[k] += value * row[k]


def sample_products(rows, columns, a, b, out, descriptor):
    """out[i] = row rows[i] of a times row columns[i] of b. descriptor: first element, stop, length of a row, steps from one row of
    a
    to the next and of b."""
    n, a_step, b_step = descriptor[2], descriptor[3], descriptor[4]
    for i in range(descriptor[0], descriptor[1]):
        x, y = offset(a, rows[i] * a_step), offset(b, columns[i] * b_step)
        total = T(0)
        for k in range(n):
            total += x[k] * y[k]
        out[i] = total


def plan_multiply_rows(dtype: str, edges, width: int, step: int, nnz: int):
    """Addresses: pointers (rows + 1), columns (nnz), places (nnz) of int64, values (nnz), table (any, width), out (rows, width).

    Args:
        edges: the rows at which parts begin, and their end.
        step: elements from one row of the table to the next.
    """
    vectors = dtype in ("float32", "float64")
    signature = ("int64*", "int64*", "int64*", "element*", "element*", "element*", "int64*")
    kernel = typed(multiply_rows, dtype, signature, WIDE=256 // itemsize(dtype)) if vectors else typed(
        multiply_rows_plainly, dtype, signature)
    parts = list(zip(edges[:-1], edges[1:]))
    return prepare_parts(kernel, [(start, stop, width, step) for start, stop in parts], [(0,) * 6] * len(parts), nnz * width)


def plan_sample_products(dtype: str, parts, length: int, a_step: int, b_step: int):
    """Addresses: rows (nnz) and columns (nnz) of int64, a (any, length), b (any, length), out (nnz)."""
    kernel = typed(sample_products, dtype, ("int64*", "int64*", "element*", "element*", "element*", "int64*"))
    return prepare_parts(kernel, [(start, stop, length, a_step, b_step) for start, stop in parts], [(0,) * 5] * len(parts),
                         parts[-1][1] * length)
