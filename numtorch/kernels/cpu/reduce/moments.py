"""Variance and standard deviation along rows and columns. The root is taken in the wide type: it may fit where its square does not.

A block is read twice while it is in the cache: for its mean, then for the deviations from it and their squares. The plain
deviations sum to what rounding took from the mean, and correct both (the corrected two-pass algorithm of Chan, Golub
and LeVeque, Algorithms for computing the sample variance, 1983). Blocks are combined in the wide type by the same
authors' formula (Updating formulae, 1979). No step subtracts large numbers, so data far from zero keep their variance.

The descriptor is traversal.py's; its first parameter is the correction. Partial results are (count, mean, sum of
squared deviations), side by side.
"""
from __future__ import annotations

import functools
from math import sqrt

import numpy as np
from numpy import float32, float64, inf

from ...compiler import compile_kernel
from ...elementtypes import CONVERSIONS, compute_type, same
from ...families.reductions import merge_moments
from ...intrinsics import float_of, local_array, offset, select
from .traversal import (
    BLOCK_COLUMNS,
    COLUMNS,
    HEADER,
    KEPT,
    KEPT_DIMS,
    LENGTH,
    OUT_STEP,
    PARAMETER,
    REDUCED,
    REDUCED_DIMS,
    STEP,
    X_STEP,
    position,
)

T = OUT = float32
W = float64
load = store = same
BLOCK = 2048                     # elements that are accumulated in T before they are carried to W
BLOCK_ROWS = 32                  # by BLOCK_COLUMNS: 64 KiB of float32, in L2 when it is read again


def write_variance(out, index, count, mean, squares, correction):
    out[index] = store(OUT(squares / max(count - W(correction), W(0))))


def write_deviation(out, index, count, mean, squares, correction):
    out[index] = store(OUT(sqrt(squares / max(count - W(correction), W(0)))))


def write_moments(out, index, count, mean, squares, correction):
    out[3 * index] = count
    out[3 * index + 1] = mean
    out[3 * index + 2] = squares


WRITES = {"var": write_variance, "std": write_deviation}
write = write_variance


def block_sum(x, n, step):
    result = T(0)
    if step == 1:
        for i in range(n):
            result += T(load(x[i]))
        return W(result)
    whole = W(0)
    for i in range(n):                                   # serially: in the dtype itself they might round the same way each time
        whole += W(T(load(x[i * step])))
    return whole


def block_deviations(x, n, step, mean):
    """The sums of squared and of plain deviations from a rounded mean."""
    squares = T(0)
    residual = T(0)
    if step == 1:
        for i in range(n):
            d = T(load(x[i])) - mean
            squares += d * d
            residual += d
        return W(squares), W(residual)
    all_squares = W(0)
    all_residual = W(0)
    for i in range(n):
        d = T(load(x[i * step])) - mean
        all_squares += W(d * d)
        all_residual += W(d)
    return all_squares, all_residual


def block_moments(x, n, step):
    """Mean and squared deviations of a block, from the rounded mean and what rounding took from it."""
    center = T(block_sum(x, n, step) * (W(1) / W(n)))
    spread, residual = block_deviations(x, n, step, center)
    if not spread < W(inf):
        return wide_moments(x, n, step)
    shift = residual * (W(1) / W(n))
    return W(center) + shift, spread - shift * residual


def wide_moments(x, n, step):
    """Mean and squared deviations of a block whose sums do not fit the dtype, by updates that add no large numbers (Welford,
    Note on a method for calculating corrected sums of squares and products, 1962)."""
    mean = W(0)
    squares = W(0)
    for i in range(n):
        value = W(T(load(x[i * step])))
        delta = value - mean
        mean += delta / W(i + 1)
        squares += delta * (value - mean)
    return mean, squares


def contiguous_moments(x, n):
    """Mean and squared deviations of n > 0 numbers one after another."""
    mean, squares = block_moments(x, min(n, BLOCK), 1)
    for i in range(BLOCK, n, BLOCK):
        size = min(n - i, BLOCK)
        more_mean, more_squares = block_moments(offset(x, i), size, 1)
        _, mean, squares = merge_moments(W(i), mean, squares, W(size), more_mean, more_squares)
    return mean, squares


def moments_rows(x, out, descriptor):
    n, step, columns = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS]
    x_step, out_step = descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims, reduced, reduced_dims = descriptor[KEPT], descriptor[KEPT_DIMS], descriptor[REDUCED], descriptor[REDUCED_DIMS]
    correction = float_of(descriptor[PARAMETER])
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            count = mean = squares = W(0)
            for r in range(reduced):
                a = offset(x, first + j * x_step + position(r, descriptor, HEADER + 3 * kept_dims, reduced_dims, 2, 1))
                for i in range(0, n, BLOCK):
                    b = offset(a, i * step)
                    size = min(n - i, BLOCK)
                    block_mean, block_squares = block_moments(b, size, step)
                    count, mean, squares = merge_moments(count, mean, squares, W(size), block_mean, block_squares)
            write(out, target + j * out_step, count, mean, squares, correction)


def moments_columns(x, out, descriptor):
    n, step, columns = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS]
    x_step, out_step = descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims, reduced, reduced_dims = descriptor[KEPT], descriptor[KEPT_DIMS], descriptor[REDUCED], descriptor[REDUCED_DIMS]
    correction = float_of(descriptor[PARAMETER])
    center = local_array(T, BLOCK_COLUMNS)
    spread = local_array(T, BLOCK_COLUMNS)
    residual = local_array(T, BLOCK_COLUMNS)
    mean = local_array(W, BLOCK_COLUMNS)
    squares = local_array(W, BLOCK_COLUMNS)
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for c in range(0, columns, BLOCK_COLUMNS):
            width = min(columns - c, BLOCK_COLUMNS)
            for j in range(width):
                mean[j] = W(0)
                squares[j] = W(0)
            count = W(0)
            for r in range(reduced):
                a = offset(x, first + c * x_step + position(r, descriptor, HEADER + 3 * kept_dims, reduced_dims, 2, 1))
                for i in range(0, n, BLOCK_ROWS):
                    rows = min(n - i, BLOCK_ROWS)
                    block_columns(offset(a, i * step), center, spread, residual, rows, step, width, x_step)
                    together = count + W(rows)
                    share = W(rows) / together
                    if overflown(spread, width):
                        merge_wide_columns(offset(a, i * step), mean, squares, count, rows, step, width, x_step)
                    else:
                        for j in range(width):
                            shift = W(residual[j]) / W(rows)
                            delta = W(center[j]) + shift - mean[j]
                            mean[j] += delta * share
                            apart = select(count == W(0), W(0), delta)
                            squares[j] += W(spread[j]) - shift * W(residual[j]) + apart * delta * (count * share)
                    count = together
            for j in range(width):
                write(out, target + (c + j) * out_step, count, mean[j], squares[j], correction)


def block_columns(x, center, spread, residual, rows, step, width, x_step):
    """Per column of a few rows: the rounded mean, and the sums of squared and of plain deviations from it."""
    for j in range(width):
        center[j] = T(0)
        spread[j] = T(0)
        residual[j] = T(0)
    for r in range(0, rows - 1, 2):                      # two rows at once: half the traffic of the accumulators
        a = offset(x, r * step)
        b = offset(a, step)
        if x_step == 1:
            for j in range(width):
                center[j] += T(load(a[j])) + T(load(b[j]))
        else:
            for j in range(width):
                center[j] += T(load(a[j * x_step])) + T(load(b[j * x_step]))
    if rows % 2 != 0:
        a = offset(x, (rows - 1) * step)
        for j in range(width):
            center[j] += T(load(a[j * x_step]))
    scale = T(1) / T(rows)
    for j in range(width):
        center[j] *= scale
    for r in range(0, rows - 1, 2):
        a = offset(x, r * step)
        b = offset(a, step)
        if x_step == 1:
            for j in range(width):
                d = T(load(a[j])) - center[j]
                e = T(load(b[j])) - center[j]
                spread[j] += d * d + e * e
                residual[j] += d + e
        else:
            for j in range(width):
                d = T(load(a[j * x_step])) - center[j]
                e = T(load(b[j * x_step])) - center[j]
                spread[j] += d * d + e * e
                residual[j] += d + e
    if rows % 2 != 0:
        a = offset(x, (rows - 1) * step)
        for j in range(width):
            d = T(load(a[j * x_step])) - center[j]
            spread[j] += d * d
            residual[j] += d


def overflown(sums, n):
    """Whether one of the sums is infinite or NaN."""
    finite = 0
    for j in range(n):
        finite += sums[j] < T(inf)
    return finite != n


def merge_wide_columns(x, mean, squares, count, rows, step, width, x_step):
    """Take a few rows, of which some column's sums do not fit the dtype, into the moments of `count` rows."""
    for j in range(width):
        more_mean, more_squares = wide_moments(offset(x, j * x_step), rows, step)
        _, mean[j], squares[j] = merge_moments(count, mean[j], squares[j], W(rows), more_mean, more_squares)


def merge_parts(x, out, descriptor):
    """The variance from partial results, a few for each output."""
    n, step, columns = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS]
    x_step, out_step = descriptor[X_STEP], descriptor[OUT_STEP]
    kept, kept_dims = descriptor[KEPT], descriptor[KEPT_DIMS]
    correction = float_of(descriptor[PARAMETER])
    for k in range(kept):
        first = position(k, descriptor, HEADER, kept_dims, 3, 2)
        target = position(k, descriptor, HEADER, kept_dims, 3, 1)
        for j in range(columns):
            count = mean = squares = W(0)
            for i in range(n):
                part = offset(x, 3 * (first + j * x_step + i * step))
                count, mean, squares = merge_moments(count, mean, squares, part[0], part[1], part[2])
            write(out, target + j * out_step, count, mean, squares, correction)


class _Kernels:
    """The kernels of a variance or deviation of one dtype, as `traversal.plan_stages` asks for them."""
    partial = 24

    def __init__(self, kind, dtype, out_dtype):
        self.kind, self.dtype, self.out_dtype, self.made = kind, dtype, out_dtype, {}

    def abreast(self, stage):
        return False

    def __call__(self, stage, columns_form, descriptors):
        key = stage, columns_form
        if key not in self.made:
            self.made[key] = self._compiled(*key)
        return self.made[key]

    def _compiled(self, stage, columns_form):
        compute = compute_type(self.out_dtype)
        names = dict(T=np.dtype(compute).type, OUT=np.dtype(compute).type,
                     load=CONVERSIONS[self.dtype][0],
                     store=CONVERSIONS[self.out_dtype][1],
                     write=write_moments if stage == "first" else WRITES[self.kind])
        function = merge_parts if stage == "last" else moments_columns if columns_form else moments_rows
        source = "float64" if stage == "last" else self.dtype
        target = "float64" if stage == "first" else self.out_dtype
        return compile_kernel(function, (source + "*", target + "*", "int64*"), names, compute)


moments_kernels = functools.cache(_Kernels)
