"""Pooling on a GPU: a thread for a few windows, and for the gradients a thread for each element that is written.

Descriptors are the host's (kernels/cpu/pool/window.py). The gradient of a maximum is sent to its place by atomics, since windows
may share it; that of a mean is gathered from the windows that cover an element.
"""
from __future__ import annotations

from math import isnan

from numpy import float32, inf, int32, int64, uint32

from ...cpu.pool import window as host
from ...cpu.pool.window import (
    COLUMNS,
    COUNT_PADDING,
    DILATION_H,
    DILATION_W,
    GRAD_COUNT_PADDING,
    GRAD_OVERRIDE,
    HEIGHT,
    INPUTS,
    KERNEL_H,
    KERNEL_W,
    NOWHERE,
    OUTPUTS,
    OVERRIDE,
    PAD_H,
    PAD_W,
    PLANES,
    ROWS,
    STRIDE_H,
    STRIDE_W,
    WIDTH,
    plus,
    span_covered,
)
from ...elementtypes import same
from ...intrinsics import local_array, offset, select
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add
from ..shared.coordinates import quotient31 as quotient

T, N, P = float32, uint32, int32
load = store = same
combine, START, MEAN = plus, float32(0), True            # as on the host: what windows are reduced by

DIVISORS = OVERRIDE + 1                                  # where those of a line and of a plane of the result stand
PLANE_DIVISOR, GRAD_DIVISORS = OUTPUTS + 1, GRAD_OVERRIDE + 1    # and those of the gradients
WINDOWS = 4                                              # of a thread, an element of each of which is under way at once


def number_of_windows(descriptor):
    return N(N(descriptor[PLANES]) * N(N(descriptor[ROWS]) * N(descriptor[COLUMNS])))


def windows_of(first, n, starts, tops, lefts, descriptor):
    """Of a thread's windows, where their planes start, and the row and the column at which they begin."""
    rows, columns = N(descriptor[ROWS]), N(descriptor[COLUMNS])
    for u in range(WINDOWS):
        o = min(N(first + N(u * THREADS)), N(n - N(1)))
        line = quotient(o, descriptor[DIVISORS])
        plane = quotient(line, descriptor[DIVISORS + 1])
        starts[u] = int64(plane) * (descriptor[HEIGHT] * descriptor[WIDTH])
        tops[u] = P(P(N(line - N(plane * rows))) * P(descriptor[STRIDE_H]) - P(descriptor[PAD_H]))
        lefts[u] = P(P(N(o - N(line * columns))) * P(descriptor[STRIDE_W]) - P(descriptor[PAD_W]))


def element_of(image, row, column, height, width):
    """An element of a plane, whether it is one, and its place; the first stands for one in the padding."""
    inside = row >= 0 and row < height and column >= 0 and column < width
    place = select(inside, P(row * width + column), P(0))
    return load(image[place]), inside, place


def max_pool_windows(x, out, indices, descriptor):
    starts, tops, lefts = local_array(int64, WINDOWS), local_array(P, WINDOWS), local_array(P, WINDOWS)
    best, at = local_array(T, WINDOWS), local_array(P, WINDOWS)
    height, width = P(descriptor[HEIGHT]), P(descriptor[WIDTH])
    n = number_of_windows(descriptor)
    first = N(N(N(cuda.blockIdx.x) * N(WINDOWS * THREADS)) + N(cuda.threadIdx.x))
    if first >= n:
        return
    windows_of(first, n, starts, tops, lefts, descriptor)
    for u in range(WINDOWS):
        best[u], at[u] = T(-inf), P(NOWHERE)
    for tap_h in range(descriptor[KERNEL_H]):
        for tap_w in range(descriptor[KERNEL_W]):
            down, across = P(tap_h * descriptor[DILATION_H]), P(tap_w * descriptor[DILATION_W])
            for u in range(WINDOWS):
                value, inside, place = element_of(offset(x, starts[u]), P(tops[u] + down), P(lefts[u] + across), height, width)
                wins = inside and (value > best[u] or at[u] < 0 or isnan(value))     # the last NaN is reported, as in PyTorch
                best[u], at[u] = select(wins, value, best[u]), select(wins, place, at[u])
    for u in range(WINDOWS):
        o = N(first + N(u * THREADS))
        if o < n:
            out[o] = store(best[u])
            indices[o] = int64(at[u])


def reduced_windows(x, out, descriptor):
    starts, tops, lefts = local_array(int64, WINDOWS), local_array(P, WINDOWS), local_array(P, WINDOWS)
    totals = local_array(T, WINDOWS)
    height, width = P(descriptor[HEIGHT]), P(descriptor[WIDTH])
    n = number_of_windows(descriptor)
    first = N(N(N(cuda.blockIdx.x) * N(WINDOWS * THREADS)) + N(cuda.threadIdx.x))
    if first >= n:
        return
    windows_of(first, n, starts, tops, lefts, descriptor)
    for u in range(WINDOWS):
        totals[u] = START
    for tap_h in range(descriptor[KERNEL_H]):
        for tap_w in range(descriptor[KERNEL_W]):
            down, across = P(tap_h * descriptor[DILATION_H]), P(tap_w * descriptor[DILATION_W])
            for u in range(WINDOWS):
                value, inside, _ = element_of(offset(x, starts[u]), P(tops[u] + down), P(lefts[u] + across), height, width)
                totals[u] = combine(totals[u], select(inside, value, START))
    for u in range(WINDOWS):
        o = N(first + N(u * THREADS))
        if o < n:
            total = totals[u]
            if MEAN:
                covered = descriptor[OVERRIDE]
                if covered == 0:
                    covered = (extent_covered(tops[u], descriptor[KERNEL_H], descriptor[PAD_H], descriptor[HEIGHT],
                                              descriptor[COUNT_PADDING])
                               * extent_covered(lefts[u], descriptor[KERNEL_W], descriptor[PAD_W], descriptor[WIDTH],
                                                descriptor[COUNT_PADDING]))
                total /= T(covered)
            out[o] = store(total)


def extent_covered(start, kernel, padding, size, include_padding):
    """How many places a window that begins at `start` covers along one axis, of the padded input or of the input."""
    end = min(start + kernel, size + padding)
    return end - start if include_padding != 0 else min(end, size) - max(int64(start), int64(0))


put_at = add_at


def max_pool_grad_windows(grad_out, indices, grad_x, descriptor):
    o = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    plane = int64(quotient(o, descriptor[PLANE_DIVISOR]))
    if plane < descriptor[PLANES]:
        at = indices[o]
        if 0 <= at < descriptor[INPUTS]:                 # NOWHERE has no gradient
            put_at(offset(grad_x, plane * descriptor[INPUTS] + at), grad_out[o])


def avg_pool_grad_elements(grad_out, grad_x, descriptor):
    """Behind the host's descriptor are the divisors of a line, of a plane's lines, and of both strides."""
    height, width, rows, columns = descriptor[HEIGHT], descriptor[WIDTH], descriptor[ROWS], descriptor[COLUMNS]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[KERNEL_H], descriptor[KERNEL_W], descriptor[STRIDE_H], descriptor[STRIDE_W]
    pad_h, pad_w = descriptor[PAD_H], descriptor[PAD_W]
    include_padding, override = descriptor[GRAD_COUNT_PADDING], descriptor[GRAD_OVERRIDE]
    words = offset(descriptor, GRAD_DIVISORS)
    i = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    line = quotient(i, words[0])
    plane = quotient(line, words[1])
    if plane < descriptor[PLANES]:
        y, column = int64(N(line - N(plane * N(height)))) + pad_h, int64(N(i - N(line * N(width)))) + pad_w
        grads, total = offset(grad_out, int64(plane) * rows * columns), T(0)
        for row in range(quotient(max(y - kernel_h + stride_h, int64(0)), words[2]), min(int64(quotient(y, words[2])) + 1, rows)):
            covered = span_covered(row, kernel_h, stride_h, pad_h, height, include_padding)
            for at in range(quotient(max(column - kernel_w + stride_w, int64(0)), words[3]),
                            min(int64(quotient(column, words[3])) + 1, columns)):
                share = override
                if override == 0:
                    share = covered * span_covered(at, kernel_w, stride_w, pad_w, width, include_padding)
                total += load(grads[row * columns + at]) / T(share)
        grad_x[i] = store(total)


# ---------------------------------------------------------------- planners
def _windows(function):
    """The form of a kernel whose threads have WINDOWS each."""
    return Form(function, lambda row: -(-row[PLANES] * row[ROWS] * row[COLUMNS] // WINDOWS),
                more=lambda row, bound: [0] * (DIVISORS - len(row)), divisors=lambda row: (row[COLUMNS], row[ROWS]),
                largest=lambda row: row[PLANES] * max(row[HEIGHT] * row[WIDTH], row[ROWS] * row[COLUMNS]))


plan_max_pool2d = in_parallel(host.plan_max_pool2d, {host.max_pool: _windows(max_pool_windows)})
_reduced = {host.reduce_windows: _windows(reduced_windows)}
plan_max_pool2d_values = in_parallel(host.plan_max_pool2d_values, _reduced)
plan_max_pool_grad = in_parallel(host.plan_max_pool_grad, {host.max_pool_grad: Form(
    max_pool_grad_windows, lambda row: row[PLANES] * row[OUTPUTS], way_to_add, cleared=lambda row: row[PLANES] * row[INPUTS],
    divisors=lambda row: (row[OUTPUTS],))})
plan_avg_pool2d = in_parallel(host.plan_avg_pool2d, _reduced)
plan_avg_pool2d_grad = in_parallel(host.plan_avg_pool2d_grad, {host.avg_pool_grad: Form(
    avg_pool_grad_elements, lambda row: row[PLANES] * row[HEIGHT] * row[WIDTH],
    divisors=lambda row: (row[WIDTH], row[HEIGHT], row[STRIDE_H], row[STRIDE_W]))})
