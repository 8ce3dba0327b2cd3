"""Max and average pooling over the last two axes of (N, C, H, W), forward and backward.

Every kernel works on whole planes: a part of the work is a range of the N * C planes, so threads never meet in memory.
A maximum and its place stay in registers, and no branch depends on the data; averages are summed tap by tap over a
block of a row, which LLVM vectorises. Each is about twice as fast as the other form would be.
Windows of convolutions are in `conv.py`.

A planner returns a `Prepared`; its addresses are only those it lists, since pooling needs no workspace.
"""
from __future__ import annotations

import functools
from itertools import pairwise
from math import isnan

import numpy as np
from numpy import float32, inf, int64

from .. import threads
from ..compiler import compile_kernel
from ..intrinsics import bfloat16_to_float, float_to_bfloat16, float_to_half, fmax, half_to_float, local_array, offset, select

T = float32                                              # the compute type, bound by the planner


def keep(x):
    """How a float32 or float64 is loaded and stored: as it is."""
    return x


load = store = keep

LAYOUTS = {                                              # dtype: bytes, and how kernels compute, load and store
    "float32": (4, dict(T=np.float32, load=keep, store=keep)),
    "float64": (8, dict(T=np.float64, load=keep, store=keep)),
    "float16": (2, dict(T=np.float32, load=half_to_float, store=float_to_half)),
    "bfloat16": (2, dict(T=np.float32, load=bfloat16_to_float, store=float_to_bfloat16)),
}
BLOCK = 128                                              # outputs of a row that are summed at once, on the stack
SPLIT_WORK = 10_000                                      # taps above which two threads win: some 15 µs


# ---------------------------------------------------------------- which outputs a tap serves
def first_inside(shift, stride):
    """The first i >= 0 with i * stride + shift >= 0."""
    if shift >= 0:
        return int64(0)
    return (stride - 1 - shift) // stride


def end_inside(shift, stride, size, count):
    """One past the last i < count with i * stride + shift < size."""
    if (count - 1) * stride + shift < size:              # nearly always, and it spares a division
        return count
    room = size - 1 - shift
    if room < 0:
        return int64(0)
    return min(count, room // stride + 1)


def pool_output_size(size: int, kernel: int, stride: int, padding: int, dilation: int = 1,
                     ceil_mode: bool = False) -> int:
    """How many windows fit along an axis. With `ceil_mode` the last may hang over the right edge, but must start inside
    the input or its left padding, as in PyTorch."""
    count = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


# ---------------------------------------------------------------- maximum
def max_pool(x, out, indices, walk):
    planes, height, width, rows, columns = walk[0], walk[1], walk[2], walk[3], walk[4]
    kernel_h, kernel_w, stride_h, stride_w = walk[5], walk[6], walk[7], walk[8]
    pad_h, pad_w, dilation_h, dilation_w = walk[9], walk[10], walk[11], walk[12]
    for line in range(planes * rows):
        plane, row = line // rows, line % rows
        image = offset(x, plane * height * width)
        top = row * stride_h - pad_h
        first_h, end_h = first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)
        for column in range(columns):
            left = column * stride_w - pad_w
            first_w, end_w = first_inside(left, dilation_w), end_inside(left, dilation_w, width, kernel_w)
            best = T(-inf)
            place = (top + first_h * dilation_h) * width + left + first_w * dilation_w
            for tap_h in range(first_h, end_h):
                start = (top + tap_h * dilation_h) * width + left
                for tap_w in range(first_w, end_w):
                    at = start + tap_w * dilation_w
                    value = load(image[at])
                    wins = (value > best) | isnan(value)             # the last NaN is reported, as in PyTorch
                    best, place = select(wins, value, best), select(wins, at, place)
            out[line * columns + column] = store(best)
            indices[line * columns + column] = place


def _raise(best, x, stride, count):
    for i in range(count):
        best[i] = fmax(best[i], load(x[i * stride]))


def max_values(x, out, walk):
    """Maxima without their places, a block of a row at once: 5 times as fast, for what will not be differentiated."""
    planes, height, width, rows, columns = walk[0], walk[1], walk[2], walk[3], walk[4]
    kernel_h, kernel_w, stride_h, stride_w = walk[5], walk[6], walk[7], walk[8]
    pad_h, pad_w, dilation_h, dilation_w = walk[9], walk[10], walk[11], walk[12]
    best = local_array(T, BLOCK)
    for line in range(planes * rows):
        plane, row = line // rows, line % rows
        image = offset(x, plane * height * width)
        top = row * stride_h - pad_h
        for begin in range(0, columns, BLOCK):
            block = min(columns - begin, BLOCK)
            for i in range(block):
                best[i] = T(-inf)
            for tap_h in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)):
                for tap_w in range(kernel_w):
                    shift = begin * stride_w + tap_w * dilation_w - pad_w
                    first = first_inside(shift, stride_w)
                    count = end_inside(shift, stride_w, width, block) - first
                    source = offset(image, (top + tap_h * dilation_h) * width + first * stride_w + shift)
                    if stride_w == 1:
                        _raise(offset(best, first), source, int64(1), count)
                    elif stride_w == 2:
                        _raise(offset(best, first), source, int64(2), count)
                    else:
                        _raise(offset(best, first), source, stride_w, count)
            for i in range(block):
                out[line * columns + begin + i] = store(best[i])


def max_pool_grad(grad_out, indices, grad_x, walk):
    planes, inputs, outputs = walk[0], walk[1], walk[2]
    zero = store(T(0))
    for plane in range(planes):
        image = offset(grad_x, plane * inputs)
        for i in range(inputs):
            image[i] = zero
        for i in range(plane * outputs, (plane + 1) * outputs):
            at = indices[i]
            image[at] = store(load(image[at]) + load(grad_out[i]))


# ---------------------------------------------------------------- average
def _add(total, x, stride, count):
    for i in range(count):
        total[i] += load(x[i * stride])


def _spread(grad_x, share, stride, count):
    for i in range(count):
        grad_x[i * stride] = store(load(grad_x[i * stride]) + share[i])


def _divisor(at, kernel, stride, padding, size, include_padding):
    """How many places window number `at` covers along one axis, of the padded input or of the input."""
    start = at * stride - padding
    end = min(start + kernel, size + padding)
    if include_padding == 0:
        start, end = max(start, int64(0)), min(end, size)
    return end - start


def avg_pool(x, out, walk):
    planes, height, width, rows, columns = walk[0], walk[1], walk[2], walk[3], walk[4]
    kernel_h, kernel_w, stride_h, stride_w = walk[5], walk[6], walk[7], walk[8]
    pad_h, pad_w, include_padding, override = walk[9], walk[10], walk[11], walk[12]
    total = local_array(T, BLOCK)
    for line in range(planes * rows):
        plane, row = line // rows, line % rows
        image = offset(x, plane * height * width)
        top = row * stride_h - pad_h
        rows_covered = _divisor(row, kernel_h, stride_h, pad_h, height, include_padding)
        for begin in range(0, columns, BLOCK):
            block = min(columns - begin, BLOCK)
            for i in range(block):
                total[i] = T(0)
            for tap_h in range(first_inside(top, 1), end_inside(top, 1, height, kernel_h)):
                for tap_w in range(kernel_w):
                    shift = begin * stride_w + tap_w - pad_w
                    first = first_inside(shift, stride_w)
                    count = end_inside(shift, stride_w, width, block) - first
                    source = offset(image, (top + tap_h) * width + first * stride_w + shift)
                    if stride_w == 1:
                        _add(offset(total, first), source, int64(1), count)
                    elif stride_w == 2:
                        _add(offset(total, first), source, int64(2), count)
                    else:
                        _add(offset(total, first), source, stride_w, count)
            for i in range(block):
                covered = rows_covered * _divisor(begin + i, kernel_w, stride_w, pad_w, width, include_padding)
                out[line * columns + begin + i] = store(total[i] / T(select(override != 0, override, covered)))


def avg_pool_grad(grad_out, grad_x, walk):
    planes, height, width, rows, columns = walk[0], walk[1], walk[2], walk[3], walk[4]
    kernel_h, kernel_w, stride_h, stride_w = walk[5], walk[6], walk[7], walk[8]
    pad_h, pad_w, include_padding, override = walk[9], walk[10], walk[11], walk[12]
    share = local_array(T, BLOCK)
    for i in range(planes * height * width):
        grad_x[i] = store(T(0))
    for line in range(planes * rows):
        plane, row = line // rows, line % rows
        image = offset(grad_x, plane * height * width)
        top = row * stride_h - pad_h
        rows_covered = _divisor(row, kernel_h, stride_h, pad_h, height, include_padding)
        for begin in range(0, columns, BLOCK):
            block = min(columns - begin, BLOCK)
            for i in range(block):
                covered = rows_covered * _divisor(begin + i, kernel_w, stride_w, pad_w, width, include_padding)
                share[i] = load(grad_out[line * columns + begin + i]) / T(select(override != 0, override, covered))
            for tap_h in range(first_inside(top, 1), end_inside(top, 1, height, kernel_h)):
                for tap_w in range(kernel_w):
                    shift = begin * stride_w + tap_w - pad_w
                    first = first_inside(shift, stride_w)
                    count = end_inside(shift, stride_w, width, block) - first
                    target = offset(image, (top + tap_h) * width + first * stride_w + shift)
                    if stride_w == 1:
                        _spread(target, offset(share, first), int64(1), count)
                    elif stride_w == 2:
                        _spread(target, offset(share, first), int64(2), count)
                    else:
                        _spread(target, offset(share, first), stride_w, count)


# ---------------------------------------------------------------- planners
@functools.lru_cache(None)
def _kernel(function, dtype, pointers):
    names = LAYOUTS[dtype][1]
    return compile_kernel(function, (*pointers, "int64*"), names)


def _plan(function, dtype, pointers, planes, sizes, strides, work):
    """Split the planes; `strides` is what one plane adds to each address, in bytes."""
    parts = min(threads.get_num_threads(), planes) if work > SPLIT_WORK else 1
    edges = [planes * part // parts for part in range(parts + 1)]
    rows = [(end - begin, *sizes) for begin, end in pairwise(edges)]
    offsets = [tuple(begin * stride for stride in strides) for begin in edges[:-1]]
    return threads.prepare(_kernel(function, dtype, pointers), rows, offsets, release_lock=work > SPLIT_WORK)


def _output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode):
    return [pool_output_size(*axis, ceil_mode) for axis in zip(sizes, kernel, stride, padding, dilation)]


def plan_max_pool2d(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1), ceil_mode=False) -> threads.Prepared:
    """Maximum of each window and where it is. Run with (x, out, indices).

    Args:
        dtype: `"float32"`, `"float64"`, `"float16"` or `"bfloat16"`.
        kernel, stride, padding, dilation: (height, width).
        ceil_mode: see `pool_output_size`.

    x is (N, C, H, W); out and the int64 indices, which count within an H * W plane, are (N, C, OH, OW). NaN propagates.
    """
    rows, columns = _output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = LAYOUTS[dtype][0], dtype + "*"
    work = N * C * rows * columns * kernel[0] * kernel[1]
    return _plan(max_pool, dtype, (pointer, pointer, "int64*"), N * C,
                 (H, W, rows, columns, *kernel, *stride, *padding, *dilation),
                 (H * W * size, rows * columns * size, rows * columns * 8), work)


def plan_max_pool2d_values(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1), ceil_mode=False) -> threads.Prepared:
    """Maximum of each window. Run with (x, out); otherwise as `plan_max_pool2d`."""
    rows, columns = _output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = LAYOUTS[dtype][0], dtype + "*"
    return _plan(max_values, dtype, (pointer, pointer), N * C, (H, W, rows, columns, *kernel, *stride, *padding, *dilation),
                 (H * W * size, rows * columns * size), N * C * rows * columns * kernel[0] * kernel[1] // 4)


def plan_max_pool2d_grad(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1),
                         ceil_mode=False) -> threads.Prepared:
    """Sends each output's gradient to the input that was the maximum. Run with (grad_out, indices, grad_x)."""
    rows, columns = _output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = LAYOUTS[dtype][0], dtype + "*"
    return _plan(max_pool_grad, dtype, (pointer, "int64*", pointer), N * C, (H * W, rows * columns),
                 (rows * columns * size, rows * columns * 8, H * W * size), N * C * (H * W // 4 + rows * columns))


def _plan_average(function, dtype, N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    rows, columns = _output_sizes((H, W), kernel, stride, padding, (1, 1), ceil_mode)
    size, pointer = LAYOUTS[dtype][0], dtype + "*"
    sizes = (H, W, rows, columns, *kernel, *stride, *padding, int(count_include_pad), divisor_override or 0)
    strides = (H * W * size, rows * columns * size)
    return _plan(function, dtype, (pointer, pointer), N * C, sizes, strides if function is avg_pool else strides[::-1],
                 N * C * rows * columns * kernel[0] * kernel[1])


def plan_avg_pool2d(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                    divisor_override=None) -> threads.Prepared:
    """Mean of each window. Run with (x, out).

    Args:
        kernel, stride, padding: (height, width).
        count_include_pad: whether padding counts as zeros in the mean.
        divisor_override: divide by this instead of the window's size.
    """
    return _plan_average(avg_pool, dtype, N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad,
                         divisor_override)


def plan_avg_pool2d_grad(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                         divisor_override=None) -> threads.Prepared:
    """Spreads each output's gradient evenly over its window. Run with (grad_out, grad_x)."""
    return _plan_average(avg_pool_grad, dtype, N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad,
                         divisor_override)
