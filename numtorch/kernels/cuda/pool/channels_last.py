"""Pooling of images whose channels are last on a GPU: a thread a window of a channel, and for the gradients as in window.py.

Neighbouring threads have neighbouring channels. Descriptors are the host's (kernels/cpu/pool/channels_last.py).
"""
from __future__ import annotations

from math import isnan

from numpy import float32, inf, int64, uint32

from ...cpu.pool import channels_last as host
from ...cpu.pool.channels_last import (
    CHANNELS,
    COLUMNS,
    DILATION_H,
    DILATION_W,
    END,
    HEIGHT,
    IMAGES,
    INPUTS,
    KERNEL_H,
    KERNEL_W,
    OUTPUTS,
    OVERRIDE,
    PAD_H,
    PAD_W,
    ROWS,
    STRIDE_H,
    STRIDE_W,
    WIDTH,
    divisor_of,
)
from ...cpu.pool.window import NOWHERE
from ...elementtypes import same
from ...families.windows import end_inside, first_inside
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add
from ..shared.coordinates import quotient31 as quotient

T, N = float32, uint32
load = store = same
put_at = add_at
DIVISORS, GRAD_DIVISORS = OVERRIDE + 1, END + 1          # where they stand behind the host's descriptor


def places_of(o, channels, columns, rows, words):
    """Of an element of an image with channels last, its plane, row, column and channel. words: the divisors of these three."""
    number = quotient(o, words[0])
    line = quotient(number, words[1])
    plane = quotient(line, words[2])
    return (int64(plane), int64(N(line - N(plane * N(rows)))), int64(N(number - N(line * N(columns)))),
            int64(N(o - N(number * N(channels)))))


def max_pool_windows(x, out, indices, descriptor):
    """Behind the host's descriptor are the divisors of channels, columns and rows of the result."""
    height, width, channels = descriptor[HEIGHT], descriptor[WIDTH], descriptor[CHANNELS]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    dilation_h, dilation_w = descriptor[DILATION_H], descriptor[DILATION_W]
    o = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    plane, row, column, channel = places_of(o, channels, columns, rows, offset(descriptor, DIVISORS))
    if plane < descriptor[IMAGES]:
        top, left = row * descriptor[STRIDE_H] - descriptor[PAD_H], column * descriptor[STRIDE_W] - descriptor[PAD_W]
        image = offset(x, plane * height * width * channels + channel)
        best, at = T(-inf), NOWHERE
        for i in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, descriptor[KERNEL_H])):
            for j in range(first_inside(left, dilation_w), end_inside(left, dilation_w, width, descriptor[KERNEL_W])):
                place = (top + i * dilation_h) * width + left + j * dilation_w
                value = load(image[place * channels])
                if value > best or at < 0 or isnan(value):       # the last NaN is reported, as in PyTorch
                    best, at = value, place
        out[o] = store(best)
        indices[o] = at


def max_pool_grad_windows(grad_out, indices, grad_x, descriptor):
    """Behind the host's descriptor are the divisors of channels, of places of the result, and of 1."""
    inputs, outputs, channels = descriptor[INPUTS], descriptor[OUTPUTS], descriptor[CHANNELS]
    o = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    plane, _, _, channel = places_of(o, channels, outputs, 1, offset(descriptor, GRAD_DIVISORS))
    if plane < descriptor[IMAGES]:
        at = indices[o]
        if 0 <= at < inputs:                             # NOWHERE has no gradient
            put_at(offset(grad_x, (plane * inputs + at) * channels + channel), grad_out[o])


def mean_windows(x, out, descriptor):
    height, width, channels = descriptor[HEIGHT], descriptor[WIDTH], descriptor[CHANNELS]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    o = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    plane, row, column, channel = places_of(o, channels, columns, rows, offset(descriptor, DIVISORS))
    if plane < descriptor[IMAGES]:
        top, left = row * descriptor[STRIDE_H] - descriptor[PAD_H], column * descriptor[STRIDE_W] - descriptor[PAD_W]
        image = offset(x, plane * height * width * channels + channel)
        total, share = T(0), T(1) / T(divisor_of(row, column, descriptor))
        for y in range(max(top, int64(0)), min(top + descriptor[KERNEL_H], height)):
            for at in range(max(left, int64(0)), min(left + descriptor[KERNEL_W], width)):
                total += load(image[(y * width + at) * channels]) * share
        out[o] = store(total)


def mean_grad_elements(grad_out, grad_x, descriptor):
    """Behind the host's descriptor are the divisors of channels, columns and rows of x, and of both strides."""
    height, width, channels = descriptor[HEIGHT], descriptor[WIDTH], descriptor[CHANNELS]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    words = offset(descriptor, DIVISORS)
    i = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    plane, y, at, channel = places_of(i, channels, width, height, words)
    if plane < descriptor[IMAGES]:
        y, at = y + descriptor[PAD_H], at + descriptor[PAD_W]
        grads = offset(grad_out, plane * rows * columns * channels + channel)
        total = T(0)
        for row in range(quotient(max(y - descriptor[KERNEL_H] + descriptor[STRIDE_H], int64(0)), words[3]),
                         min(int64(quotient(y, words[3])) + 1, rows)):
            for column in range(quotient(max(at - descriptor[KERNEL_W] + descriptor[STRIDE_W], int64(0)), words[4]),
                                min(int64(quotient(at, words[4])) + 1, columns)):
                total += load(grads[(row * columns + column) * channels]) * (T(1) / T(divisor_of(row, column, descriptor)))
        grad_x[i] = store(total)


# ---------------------------------------------------------------- planners
def _windows(function):
    return Form(function, lambda row: row[IMAGES] * row[CHANNELS] * row[ROWS] * row[COLUMNS],
                divisors=lambda row: (row[CHANNELS], row[COLUMNS], row[ROWS]))


plan_max_pool2d = in_parallel(host.plan_max_pool2d, {host.max_pool_last: _windows(max_pool_windows)})
plan_max_pool_grad = in_parallel(host.plan_max_pool_grad, {host.max_pool_grad_last: Form(
    max_pool_grad_windows, lambda row: row[IMAGES] * row[OUTPUTS] * row[CHANNELS], way_to_add,
    cleared=lambda row: row[IMAGES] * row[INPUTS] * row[CHANNELS], divisors=lambda row: (row[CHANNELS], row[OUTPUTS], 1))})
plan_avg_pool2d = in_parallel(host.plan_avg_pool2d, {host.avg_pool_last: _windows(mean_windows)})
plan_avg_pool2d_grad = in_parallel(host.plan_avg_pool2d_grad, {host.avg_pool_grad_last: Form(
    mean_grad_elements, lambda row: row[IMAGES] * row[HEIGHT] * row[WIDTH] * row[CHANNELS],
    divisors=lambda row: (row[CHANNELS], row[WIDTH], row[HEIGHT], row[STRIDE_H], row[STRIDE_W]))})
