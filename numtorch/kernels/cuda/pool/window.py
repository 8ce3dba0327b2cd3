"""Pooling on a GPU: a thread for each window, and for the gradients a thread for each element that is written.

Descriptors are the host's (kernels/cpu/pool/window.py). The gradient of a maximum is sent to its place by atomics, since windows
may share it; that of a mean is gathered from the windows that cover an element.
"""
from __future__ import annotations

from math import isnan

from numpy import float32, inf, int64

from ...cpu.pool import window as host
from ...cpu.pool.window import NOWHERE, plus, span_covered
from ...elementtypes import same
from ...families.windows import end_inside, first_inside
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at, way_to_add

T = float32
load = store = same
combine, START, MEAN = plus, float32(0), True            # as on the host: what windows are reduced by


def max_pool_windows(x, out, indices, descriptor):
    height, width, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[4]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[5], descriptor[6], descriptor[7], descriptor[8]
    dilation_h, dilation_w = descriptor[11], descriptor[12]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * rows * columns:
        line = o // columns
        plane = line // rows
        top, left = (line - plane * rows) * stride_h - descriptor[9], (o - line * columns) * stride_w - descriptor[10]
        image = offset(x, plane * height * width)
        best, at = T(-inf), NOWHERE
        for tap_h in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)):
            for tap_w in range(first_inside(left, dilation_w), end_inside(left, dilation_w, width, kernel_w)):
                place = (top + tap_h * dilation_h) * width + left + tap_w * dilation_w
                value = load(image[place])
                if value > best or at < 0 or isnan(value):       # the last NaN is reported, as in PyTorch
                    best, at = value, place
        out[o] = store(best)
        indices[o] = at
        o += int64(cuda.gridDim.x) * THREADS


def reduced_windows(x, out, descriptor):
    height, width, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[4]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[5], descriptor[6], descriptor[7], descriptor[8]
    dilation_h, dilation_w, include_padding, override = descriptor[11], descriptor[12], descriptor[13], descriptor[14]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * rows * columns:
        line = o // columns
        plane = line // rows
        row, column = line - plane * rows, o - line * columns
        top, left = row * stride_h - descriptor[9], column * stride_w - descriptor[10]
        image = offset(x, plane * height * width)
        total = START
        for tap_h in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)):
            for tap_w in range(first_inside(left, dilation_w), end_inside(left, dilation_w, width, kernel_w)):
                total = combine(total, load(image[(top + tap_h * dilation_h) * width + left + tap_w * dilation_w]))
        if MEAN:
            covered = override
            if override == 0:
                covered = (span_covered(row, kernel_h, stride_h, descriptor[9], height, include_padding)
                           * span_covered(column, kernel_w, stride_w, descriptor[10], width, include_padding))
            total /= T(covered)
        out[o] = store(total)
        o += int64(cuda.gridDim.x) * THREADS


def clear_planes(grad_out, indices, grad_x, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * descriptor[1]:
        grad_x[i] = store(T(0))
        i += int64(cuda.gridDim.x) * THREADS


put_at = add_at


def max_pool_grad_windows(grad_out, indices, grad_x, descriptor):
    inputs, outputs = descriptor[1], descriptor[2]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[0] * outputs:
        at = indices[o]
        if 0 <= at < inputs:                             # NOWHERE has no gradient
            put_at(offset(grad_x, o // outputs * inputs + at), grad_out[o])
        o += int64(cuda.gridDim.x) * THREADS


def avg_pool_grad_elements(grad_out, grad_x, descriptor):
    height, width, rows, columns = descriptor[1], descriptor[2], descriptor[3], descriptor[4]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[5], descriptor[6], descriptor[7], descriptor[8]
    pad_h, pad_w, include_padding, override = descriptor[9], descriptor[10], descriptor[11], descriptor[12]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[0] * height * width:
        line = i // width
        plane = line // height
        y, column = line - plane * height + pad_h, i - line * width + pad_w
        total = T(0)
        for row in range(max(y - kernel_h + stride_h, int64(0)) // stride_h, min(y // stride_h + 1, rows)):
            covered = span_covered(row, kernel_h, stride_h, pad_h, height, include_padding)
            for at in range(max(column - kernel_w + stride_w, int64(0)) // stride_w, min(column // stride_w + 1, columns)):
                share = override
                if override == 0:
                    share = covered * span_covered(at, kernel_w, stride_w, pad_w, width, include_padding)
                total += load(grad_out[(plane * rows + row) * columns + at]) / T(share)
        grad_x[i] = store(total)
        i += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
def _windows(row):
    return row[0] * row[3] * row[4]


plan_max_pool2d = in_parallel(host.plan_max_pool2d, {host.max_pool: Form(max_pool_windows, _windows)})
plan_max_pool2d_values = in_parallel(host.plan_max_pool2d_values, {host.reduce_windows: Form(reduced_windows, _windows)})
plan_max_pool_grad = in_parallel(host.plan_max_pool_grad, {host.max_pool_grad: Form(
    max_pool_grad_windows, lambda row: row[0] * row[2], way_to_add, first=Form(clear_planes, lambda row: row[0] * row[1]))})
plan_avg_pool2d = in_parallel(host.plan_avg_pool2d, {host.reduce_windows: Form(reduced_windows, _windows)})
plan_avg_pool2d_grad = in_parallel(host.plan_avg_pool2d_grad, {host.avg_pool_grad: Form(
    avg_pool_grad_elements, lambda row: row[0] * row[1] * row[2])})
