"""Batches of products so small that what a tile needs to start costs more than the product: C[M, N] = A[M, K] @ B[K, N].

Rotations of points, 2 x 2 blocks, scores of one vector against another. The sizes of B are constants of the kernel, so that B is in
registers while A's rows pass it: products of 4 x 4 take 0.4 of the time of tiles, those of 2 x 2 and dot products of 16 elements a
tenth.
"""
from __future__ import annotations

from numpy import float32

from ... import threads
from ...intrinsics import local_like, offset
from .product import (
    A_BATCH,
    A_COLUMN,
    A_ROW,
    B_BATCH,
    B_COLUMN,
    B_ROW,
    BATCH,
    C_BATCH,
    C_ROW,
    SWAP,
    K,
    M,
    compile_for,
    prepare,
    share,
)

T = float32
DEPTH, COLUMNS, SIZE, CONTIGUOUS = 4, 4, 16, 1           # of B, and whether its rows are; bound by compile_kernel


def _products(a, b, c, bias, workspace, descriptor):
    row_step, step, right_row, right_column = descriptor[A_ROW], descriptor[A_COLUMN], descriptor[B_ROW], descriptor[B_COLUMN]
    left, matrices = (b, a) if descriptor[SWAP] else (a, b)
    right = local_like(b, SIZE)
    for index in range(descriptor[BATCH]):
        matrix = offset(matrices, index * descriptor[B_BATCH])
        for k in range(DEPTH):
            for j in range(COLUMNS):
                if CONTIGUOUS:
                    right[k * COLUMNS + j] = matrix[k * right_row + j]
                else:
                    right[k * COLUMNS + j] = matrix[k * right_row + j * right_column]
        for i in range(descriptor[M]):
            row = offset(left, index * descriptor[A_BATCH] + i * row_step)
            out = offset(c, index * descriptor[C_BATCH] + i * descriptor[C_ROW])
            for j in range(COLUMNS):
                total = T(row[0] * right[j])
                for k in range(1, DEPTH):
                    total = T(total + row[k * step] * right[k * COLUMNS + j])
                out[j] = total


def _dots(a, b, c, bias, workspace, descriptor):
    step, right_step = descriptor[A_COLUMN], descriptor[B_ROW]
    left, right = (b, a) if descriptor[SWAP] else (a, b)
    for index in range(descriptor[BATCH]):
        x, y = offset(left, index * descriptor[A_BATCH]), offset(right, index * descriptor[B_BATCH])
        total = T(0)
        if step == 1 and right_step == 1:
            for k in range(descriptor[K]):
                total = T(total + x[k] * y[k])
        else:
            for k in range(descriptor[K]):
                total = T(total + x[k * step] * y[k * right_step])
        c[index * descriptor[C_BATCH]] = total


LARGEST, LARGEST_RIGHT = 8, 32                           # size; elements of B: of 6 x 6, tiles are as fast, of 8 x 8 twice
LEAST_BATCH = 8
LONGEST_DOT = 256                                        # several sums at once pay from there on
# Multiply-adds a thread, with what a product costs beside them
SERIAL_WORK, PRODUCT = 60_000, 24


def pays(problem):
    """Whether a batch is one of tiny products, with nothing added to them."""
    plain = problem.kind == "f" and problem.dtype == problem.compute and not problem.flags and not problem.bias
    if not plain or problem.batch < LEAST_BATCH or not problem.k:
        return False
    if problem.m == problem.n == 1:
        return problem.k <= LONGEST_DOT
    return max(problem.m, problem.n, problem.k) <= LARGEST and problem.k * problem.n <= LARGEST_RIGHT


def plan(problem):
    """The prepared call for a problem of which `pays` holds, with unit column stride of C."""
    dots = problem.m == problem.n == 1
    count = problem.max_parts or threads.get_num_threads()
    work = problem.batch * (problem.m * problem.n * problem.k + PRODUCT)
    parts = [(batch, (0, problem.m), (0, problem.n)) for batch in share(problem.batch, min(count, max(1, work // SERIAL_WORK)), 1)]
    names = {} if dots else dict(DEPTH=problem.k, COLUMNS=problem.n, SIZE=problem.k * problem.n, CONTIGUOUS=int(problem.b[1] == 1))
    return prepare(compile_for(_dots if dots else _products, problem, **names), problem, parts, (0, 0, 0, 0, 0), (0, 0, 0), 0)
