"""Vector times matrix: y[N] = act(alpha * x[K] @ B[K, N] + beta * y + bias), batched.

Each element of B is used once, so only the order in which memory is read matters: along the rows of B, adding multiples of eight at
a time to the sums (`_along_rows`; of a narrow B, with the sums in registers), or along its columns when those are contiguous, four
dot products at a time (`_along_columns`, which takes a few vectors together too). A matrix times a column vector is the transposed
product.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import CONVERSIONS
from ...intrinsics import offset
from ..micro.tile import COLUMN_BIAS, host_tile, sum_rows
from .product import (
    A_BATCH,
    A_COLUMN,
    A_ROW,
    ALPHA,
    B_BATCH,
    B_COLUMN,
    B_ROW,
    BATCH,
    BETA,
    C_BATCH,
    C_COLUMN,
    C_ROW,
    COLUMN_BLOCK,
    FLAGS,
    RIGHT_SPACE,
    SUM_SPACE,
    SWAP,
    K,
    M,
    N,
    compile_for,
    copy_bias,
    finish,
    float_scalar,
    prepare,
    same,
    space,
    split,
)

T = float32
load = store = same
scalar = float_scalar


def _add_rows(x, row, stride, column, depth, width, sums):
    """sums[j] = sum over k of x[k] * row[k * stride + j * column]."""
    for j in range(width):
        sums[j] = T(0)
    k = int64(0)
    while k + 8 <= depth and column == 1:
        x0, x1, x2, x3, x4, x5, x6, x7 = x[k], x[k + 1], x[k + 2], x[k + 3], x[k + 4], x[k + 5], x[k + 6], x[k + 7]
        r0 = offset(row, k * stride)
        r1, r2, r3, r4 = offset(r0, stride), offset(r0, 2 * stride), offset(r0, 3 * stride), offset(r0, 4 * stride)
        r5, r6, r7 = offset(r0, 5 * stride), offset(r0, 6 * stride), offset(r0, 7 * stride)
        for j in range(width):
            sums[j] += (((x0 * load(r0[j]) + x1 * load(r1[j])) + (x2 * load(r2[j]) + x3 * load(r3[j])))
                        + ((x4 * load(r4[j]) + x5 * load(r5[j])) + (x6 * load(r6[j]) + x7 * load(r7[j]))))
        k += 8
    while k < depth:
        r0 = offset(row, k * stride)
        x0 = x[k]
        if column == 1:
            for j in range(width):
                sums[j] += x0 * load(r0[j])
        else:
            for j in range(width):
                sums[j] += x0 * load(r0[j * column])
        k += 1


VECTORS, W = 1, 16                                       # of a narrow matrix's row; bound by compile_kernel


def _add_narrow_rows(x, row, stride, column, depth, width, sums):
    """The same for few columns, which lie side by side, with their sums in registers: 10000x10 in 0.4 of the time."""
    sum_rows(VECTORS, W, x, row, stride, depth, width, sums)


add_rows = _add_rows


def _along_rows(a, b, c, bias, workspace, descriptor):
    columns, depth, step = descriptor[N], descriptor[K], descriptor[A_COLUMN]
    flags, alpha, beta = descriptor[FLAGS], scalar(descriptor, ALPHA), scalar(descriptor, BETA)
    left, right = (b, a) if descriptor[SWAP] else (a, b)
    copy_bias(descriptor, bias, workspace)
    x = offset(workspace, descriptor[RIGHT_SPACE])
    sums = offset(workspace, descriptor[SUM_SPACE])
    for index in range(descriptor[BATCH]):
        vector = offset(left, index * descriptor[A_BATCH])
        matrix = offset(right, index * descriptor[B_BATCH])
        out = offset(c, index * descriptor[C_BATCH])
        for k in range(depth):
            x[k] = load(vector[k * step])
        for j in range(0, columns, descriptor[COLUMN_BLOCK]):
            width = min(columns - j, descriptor[COLUMN_BLOCK])
            add_rows(x, offset(matrix, j * descriptor[B_COLUMN]), descriptor[B_ROW], descriptor[B_COLUMN], depth, width, sums)
            finish(sums, 0, offset(out, j * descriptor[C_COLUMN]), 0, descriptor[C_COLUMN], 1, width, alpha, beta,
                   offset(workspace, j if flags & COLUMN_BIAS else 0), flags)


def _dot_products(c0, stride, columns, vectors, rows, depth, sums, pitch):
    """sums[i * pitch + j] of vector i and column j, up to four columns. Two vectors share what is loaded of four columns, 6 loads
    for 8 multiply-adds, in 0.85 to 0.9 of the time of one at a time."""
    c1, c2, c3 = offset(c0, stride), offset(c0, 2 * stride), offset(c0, 3 * stride)
    i = int64(0)
    while columns == 4 and i + 2 <= rows:
        x, y, total = offset(vectors, i * depth), offset(vectors, (i + 1) * depth), offset(sums, i * pitch)
        s0 = s1 = s2 = s3 = t0 = t1 = t2 = t3 = T(0)
        for k in range(depth):
            s, t = x[k], y[k]
            e0, e1, e2, e3 = load(c0[k]), load(c1[k]), load(c2[k]), load(c3[k])
            s0, s1, s2, s3 = T(s0 + e0 * s), T(s1 + e1 * s), T(s2 + e2 * s), T(s3 + e3 * s)
            t0, t1, t2, t3 = T(t0 + e0 * t), T(t1 + e1 * t), T(t2 + e2 * t), T(t3 + e3 * t)
        total[0], total[1], total[2], total[3] = s0, s1, s2, s3
        total = offset(total, pitch)
        total[0], total[1], total[2], total[3] = t0, t1, t2, t3
        i += 2
    while columns == 4 and i < rows:
        x, total = offset(vectors, i * depth), offset(sums, i * pitch)
        s0 = s1 = s2 = s3 = T(0)
        for k in range(depth):
            s = x[k]
            s0, s1, s2, s3 = T(s0 + load(c0[k]) * s), T(s1 + load(c1[k]) * s), T(s2 + load(c2[k]) * s), T(s3 + load(c3[k]) * s)
        total[0], total[1], total[2], total[3] = s0, s1, s2, s3
        i += 1
    while i < rows:
        x, total = offset(vectors, i * depth), offset(sums, i * pitch)
        for j in range(columns):
            column, s0 = offset(c0, j * stride), T(0)
            for k in range(depth):
                s0 = T(s0 + load(column[k]) * x[k])
            total[j] = s0
        i += 1


def _along_columns(a, b, c, bias, workspace, descriptor):
    rows, columns, depth, step, stride = descriptor[M], descriptor[N], descriptor[K], descriptor[A_COLUMN], descriptor[B_COLUMN]
    flags, alpha, beta = descriptor[FLAGS], scalar(descriptor, ALPHA), scalar(descriptor, BETA)
    left, right = (b, a) if descriptor[SWAP] else (a, b)
    copy_bias(descriptor, bias, workspace)
    vectors = offset(workspace, descriptor[RIGHT_SPACE])
    sums = offset(workspace, descriptor[SUM_SPACE])
    for index in range(descriptor[BATCH]):
        matrix = offset(right, index * descriptor[B_BATCH])
        for i in range(rows):
            vector, x = offset(left, index * descriptor[A_BATCH] + i * descriptor[A_ROW]), offset(vectors, i * depth)
            for k in range(depth):
                x[k] = load(vector[k * step])
        j = int64(0)
        while j < columns:
            _dot_products(offset(matrix, j * stride), stride, min(columns - j, int64(4)), vectors, rows, depth, offset(sums, j),
                          columns)
            j += 4
        finish(sums, columns, offset(c, index * descriptor[C_BATCH]), descriptor[C_ROW], descriptor[C_COLUMN], rows, columns, alpha,
               beta, workspace, flags)


_SERIAL_ELEMENTS = 80_000                                # of B, from which two threads are faster than one
NARROW = 16                                              # columns whose sums are in registers
_COLUMN_BLOCK = 4096                                     # sums that stay in the first-level cache


_SHARED_BYTES = 32 << 10                                 # of the vectors, which every column meets in the first-level cache


def are_dots(problem):
    """Whether a product is few vectors times columns that lie along the depth.

    A tile would leave most lanes of its vectors empty for them. From five vectors on dot products win for long float32 columns
    only. Integers would be transposed one by one, so more of them are.
    """
    few, many = sorted((problem.m, problem.n))
    if problem.kind in "iu":
        return problem.a[1] == problem.b[0] == 1 and few <= (24 if problem.item < 4 and problem.k * problem.n > 1 << 20 else 12)
    along = (problem.a[1] if problem.m > problem.n else problem.b[0]) == 1 and many >= 32 and problem.k >= 64
    long = problem.compute == "float32" and problem.k >= 512 and few * problem.k * 4 <= _SHARED_BYTES
    return problem.dtype == problem.compute and along and few <= (8 if long else 4)


def plan(problem):
    """The prepared call for a problem of one row or column, or of which `are_dots` holds."""
    if problem.n < problem.m:
        problem.transpose()
    dot = problem.b[0] == 1 and (problem.b[1] != 1 or problem.m > 1 or problem.n == 1)
    parts = split(problem, problem.m, 16, _SERIAL_ELEMENTS)
    block = problem.n if dot else min(problem.n, _COLUMN_BLOCK)
    spaces = space(max(problem.m, problem.n) if problem.bias else 0, problem.m * problem.k, problem.m * block)
    load, store = CONVERSIONS[problem.dtype]
    narrow = not dot and problem.n <= NARROW and problem.b[1] == 1 and problem.k >= 8 * NARROW and \
        problem.kind == "f" and problem.dtype == problem.compute
    names: dict = {}
    if narrow:
        names = dict(add_rows=_add_narrow_rows, VECTORS=-(-problem.n // host_tile(problem.item).width))
    kernel = compile_for(_along_columns if dot else _along_rows, problem, load=load, store=store, **names)
    return prepare(kernel, problem, parts, (0, 0, block, 0, 0), (0, spaces[1], spaces[2]), spaces[3])
