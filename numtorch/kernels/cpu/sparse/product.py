"""Compressed rows times a dense matrix, and products sampled at the elements of compressed rows.

A row of a product is added up in registers, up to four vectors at a time: what the row's elements name of the dense matrix is read
once, and the sums are written once. Of the columns that fill no vector the rest of it is masked.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import same
from ...intrinsics import Intrinsic, offset
from ..shared.elements import VECTOR_LANES, prepare_parts, typed

T = float32
load = store = same
AT_ONCE = 4                                              # vectors of columns whose sums are in registers together

# descriptors: a part; of products, the table's columns and from one of its rows (of a vector, elements) to the next; of samples,
# the length of a row, and from one row of a and of b to the next
FIRST, STOP, WIDTH, STEP = range(4)
LENGTH, A_STEP, B_STEP = range(STOP + 1, STOP + 4)


def _fold_named_rows(values, columns, first, stop, table, step, target, vectors, lanes):
    """target[j] = the sum over elements of values[i] * table[columns[i], j], for `vectors` times `lanes` columns."""
    _fold_named_columns(values, columns, first, stop, table, step, target, vectors * lanes, lanes)


def _fold_named_columns(values, columns, first, stop, table, step, target, count, lanes):
    """The same for `count` columns, at most `lanes`."""
    for j in range(int(count)):
        total = table[0] * 0
        for i in range(int(first), int(stop)):
            total = total + values[i] * table[columns[i] * step + j]
        target[j] = total


_fold_named_rows.__name__, _fold_named_columns.__name__ = "fold_named_rows", "fold_named_columns"
fold_named_rows, fold_named_columns = [Intrinsic(f, module="numtorch.kernels.cpu.sparse.fold_ir")
                                       for f in (_fold_named_rows, _fold_named_columns)]


def multiply_rows(pointers, columns, values, table, out, descriptor):
    """out[r] = the sum of the rows of `table` that row r's elements name, times these."""
    width, step = descriptor[WIDTH], descriptor[STEP]
    for r in range(descriptor[FIRST], descriptor[STOP]):
        first, stop = pointers[r], pointers[r + 1]
        target = offset(out, r * width)
        j = int64(0)
        while j + AT_ONCE * VECTOR_LANES <= width:
            part = offset(target, j)
            fold_named_rows(values, columns, first, stop, offset(table, j), step, part, AT_ONCE, VECTOR_LANES)
            j += AT_ONCE * VECTOR_LANES
        while j + VECTOR_LANES <= width:
            part = offset(target, j)
            fold_named_rows(values, columns, first, stop, offset(table, j), step, part, 1, VECTOR_LANES)
            j += VECTOR_LANES
        if j < width:
            part = offset(target, j)
            fold_named_columns(values, columns, first, stop, offset(table, j), step, part, width - j, VECTOR_LANES)


def multiply_vector(pointers, columns, values, vector, out, descriptor):
    """The same for one column: four sums side by side, as one would wait for itself."""
    step = descriptor[STEP]
    for r in range(descriptor[FIRST], descriptor[STOP]):
        i, stop = pointers[r], pointers[r + 1]
        a, b, c, d = T(0), T(0), T(0), T(0)
        while i + 4 <= stop:
            a += values[i] * vector[columns[i] * step]
            b += values[i + 1] * vector[columns[i + 1] * step]
            c += values[i + 2] * vector[columns[i + 2] * step]
            d += values[i + 3] * vector[columns[i + 3] * step]
            i += 4
        while i < stop:
            a += values[i] * vector[columns[i] * step]
            i += 1
        out[r] = (a + b) + (c + d)


def multiply_rows_plainly(pointers, columns, values, table, out, descriptor):
    """`multiply_rows` for dtypes without vectors of their own, such as complex numbers."""
    width, step = descriptor[WIDTH], descriptor[STEP]
    for r in range(descriptor[FIRST], descriptor[STOP]):
        target = offset(out, r * width)
        for k in range(width):
            target[k] = T(0)
        for i in range(pointers[r], pointers[r + 1]):
            value = values[i]
            row = offset(table, columns[i] * step)
            for k in range(width):
                target[k] += value * row[k]


def sample_products(rows, columns, a, b, out, descriptor):
    """out[i] = row rows[i] of a times row columns[i] of b."""
    n, a_step, b_step = descriptor[LENGTH], descriptor[A_STEP], descriptor[B_STEP]
    for i in range(descriptor[FIRST], descriptor[STOP]):
        x, y = offset(a, rows[i] * a_step), offset(b, columns[i] * b_step)
        total = T(0)
        for k in range(n):
            total += x[k] * y[k]
        out[i] = total


def plan_multiply_rows(dtype: str, index_dtype: str, edges, width: int, step: int, nnz: int):
    """Compressed rows times a table: out[r] = the sum of values[i] * table[columns[i]] for i from pointers[r] up to pointers[r +
    1].

    Addresses: pointers (rows + 1) of int64, columns (nnz), values (nnz), table (any, width), out (rows, width).

    Args:
        index_dtype: that of the columns, int32 or int64.
        edges: the rows at which parts begin, and their end.
        step: elements from one row of the table to the next.
    """
    vectors = dtype in ("float32", "float64")
    signature = ("int64*", index_dtype + "*", "element*", "element*", "element*", "int64*")
    kernel = multiply_vector if width == 1 and vectors else multiply_rows if vectors else multiply_rows_plainly
    parts = list(zip(edges[:-1], edges[1:]))
    return prepare_parts(typed(kernel, dtype, signature), [(start, stop, width, step) for start, stop in parts], nnz * width)


def plan_sample_products(dtype: str, parts, length: int, a_step: int, b_step: int):
    """out[i] = the sum of a[rows[i]] * b[columns[i]], whose rows are `a_step` and `b_step` elements apart.

    Addresses: rows (nnz) and columns (nnz) of int64, a (any, length), b (any, length), out (nnz).

    Args:
        parts: pairs of the first element of a part and the one behind its last.
    """
    kernel = typed(sample_products, dtype, ("int64*", "int64*", "element*", "element*", "element*", "int64*"))
    return prepare_parts(kernel, [(start, stop, length, a_step, b_step) for start, stop in parts], parts[-1][1] * length)
