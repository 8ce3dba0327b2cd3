"""Vector times matrix: y[N] = act(alpha * x[K] @ B[K, N] + beta * y + bias), batched.

Each element of B is used once, so only the order in which memory is read matters: along the rows of B, adding multiples
of eight at a time to the sums (`_along_rows`), or along its columns when those are contiguous, four dot products at a
time (`_along_columns`, which takes a few vectors at a time too). A matrix times a column vector is the transposed product.
"""
from __future__ import annotations

from numpy import float32, int64

from ..intrinsics import offset
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
    WORDS,
    K,
    M,
    N,
    compile_for,
    copy_bias,
    float_scalar,
    prepare,
    same,
    space,
    split,
)
from .tile import ACCUMULATE, COLUMN_BIAS, RELU, ROW_BIAS

T = float32
load = store = same
scalar = float_scalar


def _finish(sums, count, out, out_step, alpha, beta, bias, flags):
    zero = T(0)
    for j in range(count):
        x = alpha * sums[j]
        if flags & ACCUMULATE:
            x += beta * load(out[j * out_step])
        if flags & COLUMN_BIAS:
            x += bias[j]
        if flags & ROW_BIAS:
            x += bias[0]
        if flags & RELU:
            x = zero if x < zero else x
        out[j * out_step] = store(x)


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


def _along_rows(a, b, c, bias, workspace, walk):
    columns, depth, step = walk[N], walk[K], walk[A_COLUMN]
    flags, alpha, beta = walk[FLAGS], scalar(walk, ALPHA), scalar(walk, BETA)
    left, right = (b, a) if walk[SWAP] else (a, b)
    copy_bias(walk, bias, workspace)
    x = offset(workspace, walk[RIGHT_SPACE])
    sums = offset(workspace, walk[SUM_SPACE])
    for index in range(walk[BATCH]):
        vector = offset(left, index * walk[A_BATCH])
        matrix = offset(right, index * walk[B_BATCH])
        out = offset(c, index * walk[C_BATCH])
        for k in range(depth):
            x[k] = load(vector[k * step])
        for j in range(0, columns, walk[COLUMN_BLOCK]):
            width = min(columns - j, walk[COLUMN_BLOCK])
            _add_rows(x, offset(matrix, j * walk[B_COLUMN]), walk[B_ROW], walk[B_COLUMN], depth, width, sums)
            _finish(sums, width, offset(out, j * walk[C_COLUMN]), walk[C_COLUMN], alpha, beta,
                    offset(workspace, j if flags & COLUMN_BIAS else 0), flags)


def _along_columns(a, b, c, bias, workspace, walk):
    rows, columns, depth, step, stride = walk[M], walk[N], walk[K], walk[A_COLUMN], walk[B_COLUMN]
    flags, alpha, beta = walk[FLAGS], scalar(walk, ALPHA), scalar(walk, BETA)
    left, right = (b, a) if walk[SWAP] else (a, b)
    copy_bias(walk, bias, workspace)
    vectors = offset(workspace, walk[RIGHT_SPACE])
    sums = offset(workspace, walk[SUM_SPACE])
    for index in range(walk[BATCH]):
        matrix = offset(right, index * walk[B_BATCH])
        for i in range(rows):
            vector, x = offset(left, index * walk[A_BATCH] + i * walk[A_ROW]), offset(vectors, i * depth)
            for k in range(depth):
                x[k] = load(vector[k * step])
        j = int64(0)
        while j + 4 <= columns:
            c0 = offset(matrix, j * stride)
            c1, c2, c3 = offset(c0, stride), offset(c0, 2 * stride), offset(c0, 3 * stride)
            for i in range(rows):
                x, total = offset(vectors, i * depth), offset(sums, i * columns + j)
                s0 = s1 = s2 = s3 = T(0)
                for k in range(depth):
                    factor = x[k]
                    s0 = T(s0 + load(c0[k]) * factor)
                    s1 = T(s1 + load(c1[k]) * factor)
                    s2 = T(s2 + load(c2[k]) * factor)
                    s3 = T(s3 + load(c3[k]) * factor)
                total[0], total[1], total[2], total[3] = s0, s1, s2, s3
            j += 4
        while j < columns:
            c0 = offset(matrix, j * stride)
            for i in range(rows):
                x, s0 = offset(vectors, i * depth), T(0)
                for k in range(depth):
                    s0 = T(s0 + load(c0[k]) * x[k])
                sums[i * columns + j] = s0
            j += 1
        for i in range(rows):
            _finish(offset(sums, i * columns), columns, offset(c, index * walk[C_BATCH] + i * walk[C_ROW]), walk[C_COLUMN], alpha,
                    beta, offset(workspace, i if flags & ROW_BIAS else 0), flags)


_SERIAL_ELEMENTS = 80_000                                # of B: 300x300 took 6.5 us on one thread and 5.0 on two, 256x256 3.4
_COLUMN_BLOCK = 4096                                     # sums that stay in the first-level cache


def are_dots(problem):
    """Whether a product of integers is few vectors times columns that lie along the depth. Floats of these are turned over in
    registers and multiplied in tiles; integers, turned over one by one, take longer up to so many rows: 4x1024x4096 of int8 in 0.4
    ms instead of 4, and 16x4096x1024 of int16 in 1.2 instead of 4.5."""
    few = 24 if problem.item < 4 and problem.k * problem.n > 1 << 20 else 12
    return problem.kind in "iu" and problem.a[1] == problem.b[0] == 1 and min(problem.m, problem.n) <= few


def plan(problem):
    """The prepared call for a problem of one row or column, or of which `are_dots` holds."""
    if problem.n < problem.m:
        problem.transpose()
    dot = problem.b[0] == 1 and (problem.b[1] != 1 or problem.m > 1)
    parts = split(problem, problem.m, 16, _SERIAL_ELEMENTS)
    block = problem.n if dot else min(problem.n, _COLUMN_BLOCK)
    spaces = space(max(problem.m, problem.n) if problem.bias else 0, problem.m * problem.k, problem.m * block)
    load, store = WORDS.get(problem.dtype, (same, same))
    kernel = compile_for(_along_columns if dot else _along_rows, problem, load=load, store=store)
    return prepare(kernel, problem, parts, (0, 0, block, 0), (0, spaces[1], spaces[2]), spaces[3])
