"""Vectors divided by their length, along the middle axis of contiguous (outer, R, inner) data.

    out = x / max(|x|, eps)            grad_x = (grad - out * sum(grad * out)) / |x|, or grad / eps where |x| < eps

Squares are summed in blocks of the compute type, blocks in float64. Without `inner` the kernels run along rows, with it 256
columns at a time.
"""
from __future__ import annotations

from numpy import float32, float64, int64

from ...elementtypes import itemsize, same
from ...intrinsics import float_of, fmax, local_array, offset, sqrt
from ..shared.elements import bits, prepare_parts, shares, typed, wide
from .norm import squares_of

T = float32
W = float64
load = store = same
BLOCK_COLUMNS = 256
BLOCK_ROWS = 128
GRAIN = 30_000

# the descriptor: of (outer, R, inner), of whose inner COLUMNS are to be done
OUTER, LENGTH, COLUMNS, INNER, EPS = range(5)


def unit_rows(x, out, lengths, descriptor):
    rows, n, eps = descriptor[OUTER], descriptor[LENGTH], float_of(descriptor[EPS])
    for row in range(rows):
        a = offset(x, row * n)
        b = offset(out, row * n)
        length = sqrt(squares_of(a, n))
        lengths[row] = T(length)
        scale = T(W(1) / fmax(length, eps))
        for i in range(n):
            b[i] = store(load(a[i]) * scale)


def unit_grad_rows(grad, x, lengths, grad_x, descriptor):
    rows, n, eps = descriptor[OUTER], descriptor[LENGTH], float_of(descriptor[EPS])
    for row in range(rows):
        g = offset(grad, row * n)
        a = offset(x, row * n)
        gx = offset(grad_x, row * n)
        along = W(0)
        for i in range(0, n, 2048):
            p = offset(g, i)
            q = offset(a, i)
            part = T(0)
            for j in range(min(n - i, 2048)):
                part += load(p[j]) * load(q[j])
            along += W(part)
        length = W(lengths[row])
        scale = W(1) / fmax(length, eps)
        slope = along * scale * scale * scale
        if length < eps or length == W(0):
            slope = W(0)
        factor, minus = T(scale), T(slope)
        for i in range(n):
            gx[i] = store(load(g[i]) * factor - load(a[i]) * minus)


def add_products(x, y, total, part, n, step, width):
    """total = the sum of x * y down each column."""
    for j in range(width):
        total[j] = W(0)
    for start in range(0, n, BLOCK_ROWS):
        for j in range(width):
            part[j] = T(0)
        for r in range(start, min(start + BLOCK_ROWS, n)):
            a, b = offset(x, r * step), offset(y, r * step)
            for j in range(width):
                part[j] += load(a[j]) * load(b[j])
        for j in range(width):
            total[j] += W(part[j])


def unit_columns(x, out, lengths, descriptor):
    n, step, eps = descriptor[LENGTH], descriptor[INNER], float_of(descriptor[EPS])
    part = local_array(T, BLOCK_COLUMNS)
    total = local_array(W, BLOCK_COLUMNS)
    for o in range(descriptor[OUTER]):
        for first in range(0, descriptor[COLUMNS], BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), descriptor[COLUMNS] - first)
            base = o * n * step + first
            kept = offset(lengths, o * step + first)
            add_products(offset(x, base), offset(x, base), total, part, n, step, width)
            for j in range(width):
                length = sqrt(total[j])
                kept[j] = T(length)
                part[j] = T(W(1) / fmax(length, eps))
            for r in range(n):
                row = offset(x, base + r * step)
                result = offset(out, base + r * step)
                for j in range(width):
                    result[j] = store(load(row[j]) * part[j])


def unit_grad_columns(grad, x, lengths, grad_x, descriptor):
    n, step, eps = descriptor[LENGTH], descriptor[INNER], float_of(descriptor[EPS])
    part = local_array(T, BLOCK_COLUMNS)
    factor = local_array(T, BLOCK_COLUMNS)
    along = local_array(W, BLOCK_COLUMNS)
    for o in range(descriptor[OUTER]):
        for first in range(0, descriptor[COLUMNS], BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), descriptor[COLUMNS] - first)
            base = o * n * step + first
            kept = offset(lengths, o * step + first)
            add_products(offset(grad, base), offset(x, base), along, part, n, step, width)
            for j in range(width):
                length = W(kept[j])
                scale = W(1) / fmax(length, eps)
                slope = along[j] * scale * scale * scale
                if length < eps or length == W(0):
                    slope = W(0)
                factor[j] = T(scale)
                part[j] = T(slope)
            for r in range(n):
                g = offset(grad, base + r * step)
                row = offset(x, base + r * step)
                gx = offset(grad_x, base + r * step)
                for j in range(width):
                    gx[j] = store(load(g[j]) * factor[j] - load(row[j]) * part[j])


def _plan(rows_kernel, columns_kernel, dtype, outer, R, inner, eps):
    backward = rows_kernel is unit_grad_rows
    signature = ("element*", "element*", "compute*") + ("element*",) * backward + ("int64*",)
    kernel = typed(rows_kernel if inner == 1 else columns_kernel, dtype, signature)
    work, size = outer * R * inner, itemsize(dtype)
    over_outer = inner == 1 or outer > 1
    rows, offsets = [], []
    for start, stop in shares(outer, work, GRAIN) if over_outer else shares(inner, work, GRAIN, multiple=64):
        rows.append((stop - start, R, inner, inner, bits(eps)) if over_outer else (outer, R, stop - start, inner, bits(eps)))
        place = start * R * inner * size if over_outer else start * size
        lengths = start * (inner if over_outer else 1) * wide(dtype)
        offsets.append((place, place, lengths) + (place,) * backward)
    return prepare_parts(kernel, rows, work, offsets)


def plan_unit(dtype: str, outer: int, R: int, inner: int, eps: float):
    """Vectors over R of contiguous (outer, R, inner) divided by their length, or by eps where that is larger.

    Addresses: x, out, lengths (outer, inner) of the compute type.
    """
    return _plan(unit_rows, unit_columns, dtype, outer, R, inner, eps)


def plan_unit_grad(dtype: str, outer: int, R: int, inner: int, eps: float):
    """Its gradient (the module's formula); outer, R, inner and eps are the forward call's.

    Addresses: grad, x, lengths of the forward call, grad_x.
    """
    return _plan(unit_grad_rows, unit_grad_columns, dtype, outer, R, inner, eps)
