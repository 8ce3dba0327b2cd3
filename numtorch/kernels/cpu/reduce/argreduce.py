"""The index of the first largest or smallest element; a NaN counts as both. With its value too, for `max(dim)`.

Rows: the extreme of each block of 2048 by vector maxima, and a look for it in the winning block alone. Columns: an
extreme and its index per column on the stack, replaced by selection. Few columns go by blocks as rows do, with as many rows side
by side as fill vectors; columns of few elements that do not lie side by side are brought there.

The descriptor is traversal.py's, with the reduced dimensions in logical order: an index counts row-major over them.
"""
from __future__ import annotations

import functools
import math

import numpy as np
from numpy import float32, int32, int64

from ...compiler import compile_kernel
from ...elementtypes import CONVERSIONS, itemsize, same, scalar_type
from ...intrinsics import fmax, fmin, local_array, offset, select
from ...threads import Prepared, prepare
from .traversal import (
    BLOCK_COLUMNS,
    COLUMNS,
    FOLD,
    FOLDED,
    HEADER,
    KEPT,
    KEPT_DIMS,
    LENGTH,
    OUT_STEP,
    REDUCED,
    REDUCED_DIMS,
    SHORT,
    STEP,
    WORTH_RELEASING,
    X_STEP,
    nest_in_order,
    position,
    split_kept,
    wanted_parts,
)

T = float32
load = same
BLOCK = 2048
LONG_ROWS = 16                   # of folded columns make a block: of two columns 128 rows each, so BLOCK in all


def larger(a, b):
    return select(a > b, a, b)


def smaller(a, b):
    return select(a < b, a, b)


def above(a, b):
    return a > b


def below(a, b):
    return a < b


combine, beats = larger, above


def block_extreme(x, n, step):
    best = T(load(x[0]))
    if step == 1:
        for i in range(n):
            best = T(combine(best, T(load(x[i]))))
    else:
        for i in range(n):
            best = T(combine(best, T(load(x[i * step]))))
    return best


def find(x, n, step, best):
    """Where `best`, or a NaN if it is one, first stands."""
    at = int32(n)
    if best == best:
        for i in range(n):
            at = min(at, select(T(load(x[i * step])) == best, int32(i), int32(BLOCK)))
    else:
        for i in range(n):
            v = T(load(x[i * step]))
            at = min(at, select(v != v, int32(i), int32(BLOCK)))
    return int64(at)


def first_extreme(x, descriptor):
    """The row-major index of the extreme of one row."""
    n, step, reduced, reduced_dims = descriptor[LENGTH], descriptor[STEP], descriptor[REDUCED], descriptor[REDUCED_DIMS]
    entry = HEADER + 3 * descriptor[KEPT_DIMS]
    best = T(load(x[0]))
    best_row = best_block = int64(0)
    for r in range(reduced):
        a = offset(x, position(r, descriptor, entry, reduced_dims, 2, 1))
        for i in range(0, n, BLOCK):
            if best == best:
                extreme = block_extreme(offset(a, i * step), min(n - i, BLOCK), step)
                if beats(extreme, best) or extreme != extreme:
                    best, best_row, best_block = extreme, r, i
    a = offset(x, position(best_row, descriptor, entry, reduced_dims, 2, 1) + best_block * step)
    return best_row * n + best_block + find(a, min(n - best_block, BLOCK), step, best)


def index_rows(x, indices, descriptor):
    columns, x_step, out_step = descriptor[COLUMNS], descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims = descriptor[KEPT], descriptor[KEPT_DIMS]
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            indices[target + j * out_step] = first_extreme(offset(x, first + j * x_step), descriptor)


def extreme_rows(x, values, indices, descriptor):
    """As index_rows, over one reduced dimension, with the values."""
    step, columns, x_step = descriptor[STEP], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, kept, kept_dims = descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            a = offset(x, first + j * x_step)
            at = first_extreme(a, descriptor)
            indices[target + j * out_step] = at
            values[target + j * out_step] = a[at * step]


def replace(best, index, x, width, x_step, here):
    """Where a row's element beats its column's best, or is its first NaN, take it."""
    if x_step == 1:
        for j in range(width):
            v, old = T(load(x[j])), best[j]
            better = beats(v, old) | ((v != v) & (old == old))
            best[j] = select(better, v, old)
            index[j] = select(better, here, index[j])
    else:
        for j in range(width):
            v, old = T(load(x[j * x_step])), best[j]
            better = beats(v, old) | ((v != v) & (old == old))
            best[j] = select(better, v, old)
            index[j] = select(better, here, index[j])


def find_short(x, best, index, width, n, step, x_step):
    """Columns of up to SHORT elements, 64 brought side by side at a time: 100 000 rows of 8 take a ninth of gathering."""
    tile = local_array(T, 768)                           # 64 * SHORT
    place = local_array(int32, 64)
    for first in range(0, width, 64):
        count = min(width - first, 64)
        extreme = offset(best, first)
        for j in range(count):
            row = offset(x, (first + j) * x_step)
            for i in range(n):
                tile[i * 64 + j] = T(load(row[i * step]))
        for j in range(64):
            extreme[j] = tile[j]
            place[j] = int32(0)
        for i in range(1, n):
            line = offset(tile, i * 64)
            for j in range(64):
                v, old = line[j], extreme[j]
                better = beats(v, old) | ((v != v) & (old == old))
                extreme[j] = select(better, v, old)
                place[j] = select(better, int32(i), place[j])
        for j in range(count):
            index[first + j] = int64(place[j])


def block_extremes(x, wide, width, rows, fold):
    """The extremes of `width` columns over `rows` rows, into the front of `wide`."""
    long, count = fold * width, rows * width
    first = min(long, count)
    for j in range(first):
        wide[j] = T(load(x[j]))
    for start in range(long, count, long):
        row = offset(x, start)
        for j in range(min(long, count - start)):
            wide[j] = T(combine(wide[j], T(load(row[j]))))
    left = min(fold, rows)
    while left > 1:
        half = (left + 1) // 2
        other = offset(wide, half * width)
        for j in range((left - half) * width):
            wide[j] = T(combine(wide[j], other[j]))
        left = half


def find_folded(x, best, index, width, n, fold):
    """Few columns of many elements that are neighbours in memory: (262144, 3) takes 0.05 of the time by `replace`."""
    wide = local_array(T, FOLDED)                        # which what lies side by side does not exceed
    block = LONG_ROWS * fold
    for start in range(0, n, block):
        a = offset(x, start * width)
        block_extremes(a, wide, width, min(n - start, block), fold)
        for j in range(width):
            v = wide[j]
            if start == 0 or (best[j] == best[j] and (beats(v, best[j]) or v != v)):
                best[j] = v
                index[j] = start
    for j in range(width):
        start = index[j]
        index[j] = start + find(offset(x, start * width + j), min(n - start, block), width, best[j])


def find_columns(x, best, index, width, descriptor):
    """The row-major index of the extreme of each column."""
    n, step, x_step = descriptor[LENGTH], descriptor[STEP], descriptor[X_STEP]
    reduced, reduced_dims, fold = descriptor[REDUCED], descriptor[REDUCED_DIMS], descriptor[FOLD]
    if reduced == 1 and fold > 1 and (width <= 16 or n >= 4 * LONG_ROWS * fold):    # few rows are faster as they are
        find_folded(x, best, index, width, n, fold)
        return
    if reduced == 1 and n <= SHORT and x_step != 1:
        find_short(x, best, index, width, n, step, x_step)
        return
    entry = HEADER + 3 * descriptor[KEPT_DIMS]
    for j in range(width):
        best[j] = T(load(x[j * x_step]))
        index[j] = 0
    for r in range(reduced):
        a = offset(x, position(r, descriptor, entry, reduced_dims, 2, 1))
        for i in range(n):
            replace(best, index, offset(a, i * step), width, x_step, r * n + i)


def index_one(x, indices, descriptor):
    """Where there is one element to choose from. `x` may be of any dtype."""
    columns, out_step, kept, kept_dims = descriptor[COLUMNS], descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    for k in range(kept):
        row = offset(indices, position(k, descriptor, HEADER, kept_dims, 3, 1))
        for j in range(columns):
            row[j * out_step] = 0


def index_columns(x, indices, descriptor):
    columns, x_step, out_step = descriptor[COLUMNS], descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims = descriptor[KEPT], descriptor[KEPT_DIMS]
    best = local_array(T, BLOCK_COLUMNS)
    index = local_array(int64, BLOCK_COLUMNS)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for c in range(0, columns, BLOCK_COLUMNS):
            width = min(columns - c, BLOCK_COLUMNS)
            find_columns(offset(x, first + c * x_step), best, index, width, descriptor)
            for j in range(width):
                indices[target + (c + j) * out_step] = index[j]


def extreme_columns(x, values, indices, descriptor):
    step, columns, x_step = descriptor[STEP], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, kept, kept_dims = descriptor[OUT_STEP], descriptor[KEPT], descriptor[KEPT_DIMS]
    best = local_array(T, BLOCK_COLUMNS)
    index = local_array(int64, BLOCK_COLUMNS)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for c in range(0, columns, BLOCK_COLUMNS):
            width = min(columns - c, BLOCK_COLUMNS)
            a = offset(x, first + c * x_step)
            find_columns(a, best, index, width, descriptor)
            for j in range(width):
                indices[target + (c + j) * out_step] = index[j]
                values[target + (c + j) * out_step] = a[j * x_step + index[j] * step]


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(kind, dtype, columns_form, with_values):
    compute = np.dtype(scalar_type(dtype)).name
    floating, largest = compute.startswith("float"), kind in ("argmax", "max")
    names = dict(T=np.dtype(compute).type,
                 load=CONVERSIONS[dtype][0],
                 combine=(fmax if largest else fmin) if floating else larger if largest else smaller,
                 beats=above if largest else below)
    function = ((index_rows, index_columns), (extreme_rows, extreme_columns))[with_values][columns_form]
    outputs = (dtype + "*", "int64*") if with_values else ("int64*",)
    return compile_kernel(function, (dtype + "*", *outputs, "int64*"), names, compute)


def _plan(kind, dtype, shape, strides, axes, out_strides, with_values):
    descriptor = nest_in_order(shape, strides, axes, out_strides)
    columns_form = descriptor.columns_form()
    one = descriptor.reduction == 1 and not with_values
    kernel = compile_kernel(index_one, ("int64*",) * 3) if one else _kernel(kind, dtype, columns_form, with_values)
    elements = math.prod(shape)
    parts = wanted_parts(elements)
    shared = split_kept(descriptor, parts, columns_form) if parts > 1 else None
    if not shared:
        return prepare(kernel, [descriptor.descriptor()], release_lock=elements > WORTH_RELEASING)
    sizes = (itemsize(dtype), 8) if with_values else (8,)
    return prepare(kernel, [part.descriptor() for part, *_ in shared],
                   [(x * itemsize(dtype), *[out * size for size in sizes]) for _, out, x in shared])


def plan_argreduce(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int | None,
                   out_strides: tuple) -> Prepared:
    """Prepare the index (int64) of the first extreme along `axis`, called with the addresses of input and indices.

    Args:
        kind: "argmax" or "argmin".
        dtype: a real dtype's name.
        shape, strides: the input's, in elements; the reduced part is not empty.
        axis: the reduced dimension, or None for all of them, indexed row-major.
        out_strides: the output's strides along `shape` (that of a reduced dimension is not looked at).
    """
    axes = tuple(range(len(shape))) if axis is None else (axis,)
    return _plan(kind, dtype, shape, strides, axes, out_strides, False)


def plan_extreme_with_index(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int,
                            out_strides: tuple) -> Prepared:
    """Prepare the first extreme along `axis` and its index, called with the addresses of input, values and indices.

    Args:
        kind: "max" or "min".
        out_strides: the strides of both outputs along `shape`.
    """
    return _plan(kind, dtype, shape, strides, (axis,), out_strides, True)
