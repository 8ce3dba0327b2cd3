"""Pooling of images whose channels are last on a GPU: a thread a window of a channel, and for the gradients as in window.py.

Neighbouring threads have neighbouring channels. Descriptors are the host's (kernels/cpu/pool/channels_last.py).
"""
from __future__ import annotations

from math import isnan

from numpy import float32, inf, int64

from ...cpu.pool import channels_last as host
from ...cpu.pool.channels_last import divisor_of
from ...cpu.pool.window import NOWHERE
from ...elementtypes import same
from ...families.windows import end_inside, first_inside
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add

T = float32
load = store = same
put_at = add_at


def max_pool_windows(x, out, indices, descriptor):
    height, width, channels, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[6], descriptor[7]
    dilation_h, dilation_w = descriptor[14], descriptor[15]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * rows * columns * channels:
        number = o // channels
        line = number // columns
        plane = line // rows
        row, column = line - plane * rows, number - line * columns
        top, left = row * descriptor[10] - descriptor[12], column * descriptor[11] - descriptor[13]
        image = offset(x, plane * height * width * channels + o - number * channels)
        best, at = T(-inf), NOWHERE
        for i in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, descriptor[8])):
            for j in range(first_inside(left, dilation_w), end_inside(left, dilation_w, width, descriptor[9])):
                place = (top + i * dilation_h) * width + left + j * dilation_w
                value = load(image[place * channels])
                if value > best or at < 0 or isnan(value):       # the last NaN is reported, as in PyTorch
                    best, at = value, place
        out[o] = store(best)
        indices[o] = at
        o += int64(cuda.gridDim.x) * THREADS


def clear_images(grad_out, indices, grad_x, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * descriptor[1] * descriptor[3]:
        grad_x[i] = store(T(0))
        i += int64(cuda.gridDim.x) * THREADS


def max_pool_grad_windows(grad_out, indices, grad_x, descriptor):
    inputs, outputs, channels = descriptor[1], descriptor[2], descriptor[3]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * outputs * channels:
        place, at = o // channels, indices[o]
        if 0 <= at < inputs:                             # NOWHERE has no gradient
            put_at(offset(grad_x, (place // outputs * inputs + at) * channels + o - place * channels), grad_out[o])
        o += int64(cuda.gridDim.x) * THREADS


def mean_windows(x, out, descriptor):
    height, width, channels, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[6], descriptor[7]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * rows * columns * channels:
        number = o // channels
        line = number // columns
        plane = line // rows
        row, column = line - plane * rows, number - line * columns
        top, left = row * descriptor[10] - descriptor[12], column * descriptor[11] - descriptor[13]
        image = offset(x, plane * height * width * channels + o - number * channels)
        total, share = T(0), T(1) / T(divisor_of(row, column, descriptor))
        for y in range(max(top, int64(0)), min(top + descriptor[8], height)):
            for at in range(max(left, int64(0)), min(left + descriptor[9], width)):
                total += load(image[(y * width + at) * channels]) * share
        out[o] = store(total)
        o += int64(cuda.gridDim.x) * THREADS


def mean_grad_elements(grad_out, grad_x, descriptor):
    height, width, channels, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[6], descriptor[7]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * height * width * channels:
        number = i // channels
        line = number // width
        plane = line // height
        y, at = line - plane * height + descriptor[12], number - line * width + descriptor[13]
        grads = offset(grad_out, plane * rows * columns * channels + i - number * channels)
        total = T(0)
        for row in range(max((y - descriptor[8]) // descriptor[10] + 1, int64(0)), min(y // descriptor[10] + 1, rows)):
            for column in range(max((at - descriptor[9]) // descriptor[11] + 1, int64(0)), min(at // descriptor[11] + 1, columns)):
                total += load(grads[(row * columns + column) * channels]) * (T(1) / T(divisor_of(row, column, descriptor)))
        grad_x[i] = store(total)
        i += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
def _windows(row):
    return row[0] * row[3] * row[6] * row[7]


plan_max_pool2d = in_parallel(host.plan_max_pool2d, {host.max_pool_last: Form(max_pool_windows, _windows)})
plan_max_pool_grad = in_parallel(host.plan_max_pool_grad, {host.max_pool_grad_last: Form(
    max_pool_grad_windows, lambda row: row[0] * row[2] * row[3], way_to_add,
    first=Form(clear_images, lambda row: row[0] * row[1] * row[3]))})
plan_avg_pool2d = in_parallel(host.plan_avg_pool2d, {host.avg_pool_last: Form(mean_windows, _windows)})
plan_avg_pool2d_grad = in_parallel(host.plan_avg_pool2d_grad, {host.avg_pool_grad_last: Form(
    mean_grad_elements, lambda row: row[0] * row[1] * row[2] * row[3])})
