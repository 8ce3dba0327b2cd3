"""Max and average pooling of images whose channels are last: the channels of a place are a row, and a window a few rows.

No element is moved across a vector, as it is in `window.py` for planes: a maximum, its place or a sum is kept for each of a block
of channels while the window's places are walked. Threads share the images, or of a single image the channels. The planners are
those of `window.py`, run with the same addresses.
"""
from __future__ import annotations

from itertools import pairwise

from numpy import float32, inf, int64

from ... import threads
from ...compiler import compile_kernel
from ...elementtypes import bindings, itemsize, same
from ...families.windows import end_inside, first_inside, output_sizes
from ...intrinsics import local_array, offset, select
from .window import NOWHERE, SPLIT_WORK, span_covered

T = float32                                              # the compute type, bound by the planner
load = store = same

BLOCK = 128                                              # channels at a time, on the stack

# the descriptor: the image's sizes, the channels that are to be done, and the result's rows and columns; all of the windows
IMAGES, HEIGHT, WIDTH, CHANNELS, FIRST, END, ROWS, COLUMNS = range(8)
KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W = range(8, 16)
COUNT_PADDING, OVERRIDE = DILATION_H, DILATION_W         # of means, which have no dilation; OVERRIDE is their divisor, or 0
INPUTS, OUTPUTS = HEIGHT, WIDTH                          # of a maximum's gradient: places of the input and of the result


def _start(best, at, row, place, count):
    for i in range(count):
        best[i], at[i] = load(row[i]), place


def _look(best, at, row, place, count):
    for i in range(count):
        value = load(row[i])
        wins = (value > best[i]) | (value != value)      # the last NaN is reported, as in PyTorch
        best[i], at[i] = select(wins, value, best[i]), select(wins, place, at[i])


def max_pool_last(x, out, indices, descriptor):
    images, height, width = descriptor[IMAGES], descriptor[HEIGHT], descriptor[WIDTH]
    channels, rows, columns = descriptor[CHANNELS], descriptor[ROWS], descriptor[COLUMNS]
    best, at = local_array(T, BLOCK), local_array(int64, BLOCK)
    for number in range(images * rows * columns):
        column, rest = number % columns, number // columns
        top, left = rest % rows * descriptor[STRIDE_H] - descriptor[PAD_H], column * descriptor[STRIDE_W] - descriptor[PAD_W]
        image = rest // rows * height * width
        first_h = first_inside(top, descriptor[DILATION_H])
        end_h = end_inside(top, descriptor[DILATION_H], height, descriptor[KERNEL_H])
        first_w = first_inside(left, descriptor[DILATION_W])
        end_w = end_inside(left, descriptor[DILATION_W], width, descriptor[KERNEL_W])
        for channel in range(descriptor[FIRST], descriptor[END], BLOCK):
            count, fresh = min(descriptor[END] - channel, BLOCK), True
            for i in range(first_h, end_h):
                for j in range(first_w, end_w):
                    place = (top + i * descriptor[DILATION_H]) * width + left + j * descriptor[DILATION_W]
                    row = offset(x, (image + place) * channels + channel)
                    if fresh:
                        _start(best, at, row, place, count)
                    else:
                        _look(best, at, row, place, count)
                    fresh = False
            to = number * channels + channel
            for i in range(count):
                out[to + i], indices[to + i] = store(T(-inf) if fresh else best[i]), NOWHERE if fresh else at[i]


def max_pool_grad_last(grad_out, indices, grad_x, descriptor):
    inputs, outputs, channels = descriptor[INPUTS], descriptor[OUTPUTS], descriptor[CHANNELS]
    for image in range(descriptor[IMAGES]):
        to = offset(grad_x, image * inputs * channels)
        for place in range(inputs):
            for c in range(descriptor[FIRST], descriptor[END]):
                to[place * channels + c] = store(T(0))
        for place in range(image * outputs, (image + 1) * outputs):
            for c in range(descriptor[FIRST], descriptor[END]):
                at = indices[place * channels + c]
                if 0 <= at < inputs:                     # NOWHERE has no gradient
                    to[at * channels + c] = store(load(to[at * channels + c]) + load(grad_out[place * channels + c]))


def _add_scaled(total, row, factor, fresh, count):
    if fresh:
        for i in range(count):
            total[i] = load(row[i]) * factor
    else:
        for i in range(count):
            total[i] += load(row[i]) * factor


def divisor_of(row, column, descriptor):
    """What the sum of a window is divided by."""
    if descriptor[OVERRIDE] != 0:
        return descriptor[OVERRIDE]
    high = span_covered(row, descriptor[KERNEL_H], descriptor[STRIDE_H], descriptor[PAD_H], descriptor[HEIGHT],
                        descriptor[COUNT_PADDING])
    return high * span_covered(column, descriptor[KERNEL_W], descriptor[STRIDE_W], descriptor[PAD_W], descriptor[WIDTH],
                               descriptor[COUNT_PADDING])


def avg_pool_last(x, out, descriptor):
    images, height, width = descriptor[IMAGES], descriptor[HEIGHT], descriptor[WIDTH]
    channels, rows, columns = descriptor[CHANNELS], descriptor[ROWS], descriptor[COLUMNS]
    total, divisor, share = local_array(T, BLOCK), int64(1), T(1)
    for number in range(images * rows * columns):
        column, rest = number % columns, number // columns
        row, image = rest % rows, rest // rows * height * width
        top, left = row * descriptor[STRIDE_H] - descriptor[PAD_H], column * descriptor[STRIDE_W] - descriptor[PAD_W]
        wanted = divisor_of(row, column, descriptor)
        if wanted != divisor:
            divisor, share = wanted, T(1) / T(wanted)
        for channel in range(descriptor[FIRST], descriptor[END], BLOCK):
            count, fresh = min(descriptor[END] - channel, BLOCK), True
            for y in range(max(top, int64(0)), min(top + descriptor[KERNEL_H], height)):
                for at in range(max(left, int64(0)), min(left + descriptor[KERNEL_W], width)):
                    _add_scaled(total, offset(x, (image + y * width + at) * channels + channel), share, fresh, count)
                    fresh = False
            for i in range(count):
                out[number * channels + channel + i] = store(T(0) if fresh else total[i])


def avg_pool_grad_last(grad_out, grad_x, descriptor):
    """Each place of the input adds up its shares of the windows that cover it."""
    images, height, width = descriptor[IMAGES], descriptor[HEIGHT], descriptor[WIDTH]
    channels, rows, columns = descriptor[CHANNELS], descriptor[ROWS], descriptor[COLUMNS]
    total, divisor, share = local_array(T, BLOCK), int64(1), T(1)
    for number in range(images * height * width):
        at, rest = number % width, number // width
        y, image = rest % height, rest // height * rows * columns
        low_row = max((y + descriptor[PAD_H] - descriptor[KERNEL_H]) // descriptor[STRIDE_H] + 1, int64(0))
        low_column = max((at + descriptor[PAD_W] - descriptor[KERNEL_W]) // descriptor[STRIDE_W] + 1, int64(0))
        for channel in range(descriptor[FIRST], descriptor[END], BLOCK):
            count, fresh = min(descriptor[END] - channel, BLOCK), True
            for row in range(low_row, min((y + descriptor[PAD_H]) // descriptor[STRIDE_H] + 1, rows)):
                for column in range(low_column, min((at + descriptor[PAD_W]) // descriptor[STRIDE_W] + 1, columns)):
                    wanted = divisor_of(row, column, descriptor)
                    if wanted != divisor:
                        divisor, share = wanted, T(1) / T(wanted)
                    _add_scaled(total, offset(grad_out, (image + row * columns + column) * channels + channel), share, fresh, count)
                    fresh = False
            for i in range(count):
                grad_x[number * channels + channel + i] = store(T(0) if fresh else total[i])


# ---------------------------------------------------------------- planners
def _plan(function, dtype, pointers, images, channels, steps, before, after, work):
    """Parts of the images, each `steps` bytes of the addresses, or of the channels where images are fewer than threads."""
    parts = threads.get_num_threads() if work > SPLIT_WORK else 1
    kernel = compile_kernel(function, (*pointers, "int64*"), bindings(dtype))
    if images >= parts:
        edges = [images * part // parts for part in range(parts + 1)]
        rows = [(end - first, *before, channels, 0, channels, *after) for first, end in pairwise(edges)]
        offsets = [tuple(first * step for step in steps) for first in edges[:-1]]
    else:
        parts = min(parts, -(-channels // 16))
        edges = [channels * part // parts // 16 * 16 for part in range(parts)] + [channels]
        rows = [(images, *before, channels, first, end, *after) for first, end in pairwise(edges)]
        offsets = [(0,) * len(pointers)] * parts
    return threads.prepare(kernel, rows, offsets, release_lock=work > SPLIT_WORK)


def plan_max_pool2d(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1), ceil_mode=False) -> threads.Prepared:
    """As `window.plan_max_pool2d`, with its addresses and arguments (N, C, H, W, kernel, stride, padding, dilation, ceil_mode)."""
    rows, columns = output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = itemsize(dtype) * C, dtype + "*"
    places = rows * columns
    return _plan(max_pool_last, dtype, (pointer, pointer, "int64*"), N, C, (H * W * size, places * size, places * C * 8),
                 (H, W), (rows, columns, *kernel, *stride, *padding, *dilation), N * C * places * kernel[0] * kernel[1])


def plan_max_pool_grad(dtype, N, C, inputs, outputs) -> threads.Prepared:
    """As `window.plan_max_pool_grad`, with its addresses, of N images of C channels with so many `inputs` and `outputs` of each."""
    size, pointer = itemsize(dtype) * C, dtype + "*"
    return _plan(max_pool_grad_last, dtype, (pointer, "int64*", pointer), N, C, (outputs * size, outputs * C * 8, inputs * size),
                 (inputs, outputs), (), N * C * (inputs // 4 + outputs))


def _plan_mean(function, given, taken, dtype, N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override):
    counts = output_sizes((H, W), kernel, stride, padding, (1, 1), ceil_mode)
    size, pointer, places = itemsize(dtype) * C, dtype + "*", {"input": H * W, "result": counts[0] * counts[1]}
    return _plan(function, dtype, (pointer, pointer), N, C, (places[given] * size, places[taken] * size), (H, W),
                 (*counts, *kernel, *stride, *padding, int(count_include_pad), divisor_override or 0),
                 N * C * places["result"] * kernel[0] * kernel[1])


def plan_avg_pool2d(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                    divisor_override=None) -> threads.Prepared:
    """As `window.plan_avg_pool2d`, with its addresses and arguments (N, C, H, W, kernel, stride, padding, ceil_mode,
    count_include_pad, divisor_override)."""
    return _plan_mean(avg_pool_last, "input", "result", dtype, N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad,
                      divisor_override)


def plan_avg_pool2d_grad(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                         divisor_override=None) -> threads.Prepared:
    """As `window.plan_avg_pool2d_grad`, with its addresses and arguments (N, C, H, W, kernel, stride, padding, ceil_mode,
    count_include_pad, divisor_override)."""
    return _plan_mean(avg_pool_grad_last, "result", "input", dtype, N, C, H, W, kernel, stride, padding, ceil_mode,
                      count_include_pad, divisor_override)
