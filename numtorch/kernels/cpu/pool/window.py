"""Max and average pooling over the last two axes of (N, C, H, W), forward and backward.

Every kernel works on whole planes: a part of the work is a range of the N * C planes, so threads never meet in memory.
A maximum and its place stay in registers, and no branch depends on the data; averages are summed tap by tap over a
block of a row, which LLVM vectorises. Each is about twice as fast as the other form would be.
Windows of convolutions are in `conv/conv.py`.

A planner returns a `Prepared`; its addresses are only those it lists, since pooling needs no workspace.
"""
from __future__ import annotations

import functools
from itertools import pairwise
from math import isnan

from numpy import float32, inf, int32, int64

from ... import threads
from ...compiler import compile_kernel
from ...elementtypes import CONVERTED, bindings, itemsize, same
from ...families.windows import end_inside, first_inside, output_sizes
from ...intrinsics import (
    fmax,
    local_array,
    offset,
    select,
)
from ..move.words import take_every

T = float32                                              # the compute type, bound by the planner


def plus(x, y):
    return x + y


load = store = same
combine, START, MEAN = plus, float32(0), True            # what windows are reduced by, bound by the planner
IN_PLACE, one_row = False, same                          # whether rows may be read as numbers where they lie, likewise

BLOCK, SPAN = 512, 1024                                  # outputs of a row, and inputs, that are summed at once, on the stack
LANES = 16                                               # elements in the longest vector
READ, WRITTEN = SPAN + 4 * LANES, BLOCK + LANES          # and those that vectors reach
I, BEYOND = int32, int32((1 << 31) - 1)                  # what places in windows are counted in, and one after all others; likewise
NOWHERE = int64(-1)                                      # the place of the maximum of a window that lies in the padding
SPLIT_WORK = 10_000                                      # taps above which two threads win

# the descriptor: planes and their sizes, the result's rows and columns; the windows; whether padding counts in a mean, and what to
# divide by instead, or 0
PLANES, HEIGHT, WIDTH, ROWS, COLUMNS = range(5)
KERNEL_H, KERNEL_W, STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, COUNT_PADDING, OVERRIDE = range(5, 15)
GRAD_COUNT_PADDING, GRAD_OVERRIDE = DILATION_H, DILATION_W       # of a mean's gradient, whose descriptor has no dilation
INPUTS, OUTPUTS = HEIGHT, WIDTH                          # of the gradient of a maximum: elements of a plane, and of the result's


# ---------------------------------------------------------------- maximum
def look_down(best, at, image, start, count):
    """Of a row from `start` on, what is above the largest of the rows before it, and where that is."""
    for i in range(count):
        value = load(image[start + i])
        wins = (value > best[i]) | isnan(value)          # the last NaN is reported, as in PyTorch
        best[i], at[i] = select(wins, value, best[i]), select(wins, start + i, at[i])


def is_before(value, where, largest, place):
    """Whether a maximum goes before another one: the larger, of equals the first, and the last NaN before all."""
    return (value > largest) | ((value == largest) & (where < place)) | (isnan(value) & ((largest == largest) | (where > place)))


def _look_down_rows(best, at, image, rows, step, place, count):
    """The largest of each column of rows that are `step` apart, and its place: `place` is the first one's."""
    place = I(place)
    for i in range(count):
        best[i], at[i] = load(image[i]), I(place + I(i))
    for row in range(1, rows):
        below, place = offset(image, row * step), I(place + I(step))
        for i in range(count):
            value = load(below[i])
            wins = (value > best[i]) | isnan(value)      # the last NaN is reported, as in PyTorch
            best[i], at[i] = select(wins, value, best[i]), select(wins, I(place + I(i)), at[i])


def _look_across(largest, places, best, at, count):
    for i in range(count):
        value, where = best[i], at[i]
        wins = is_before(value, where, largest[i], places[i])
        largest[i], places[i] = select(wins, value, largest[i]), select(wins, where, places[i])


def _write_maxima(out, indices, largest, places, corner, count):
    for i in range(count):
        out[i] = store(largest[i])
        indices[i] = select(places[i] == BEYOND, NOWHERE, corner + int64(places[i]))


def whole_vectors(n):
    return (n + (LANES - 1)) & -LANES


def _take_strided(source, out, count, stride):
    """Every element at a step of `stride`, side by side; of steps of 2 and 3 up to whole vectors, which are shuffled."""
    if stride == 2:
        for i in range(0, count, LANES):
            take_every(offset(source, 2 * i), offset(out, i), LANES, 2, False)
    elif stride == 3:
        for i in range(0, count, LANES):
            take_every(offset(source, 3 * i), offset(out, i), LANES, 3, False)
    else:
        for i in range(count):
            out[i] = source[i * stride]


def max_pool(x, out, indices, descriptor):
    """The largest of each column of a row of windows first, then of these the largest of each window.

    Both over whole vectors, also of rows that are shorter: what a vector reads of the next row no window looks at, and what it
    writes there the next row writes over. Only at the very end are rows taken as they are. The columns of several rows of windows,
    also of several planes, stand in a row as far as they fit. Places are counted from the corner of a row's first window, in 32
    bits where that is enough, and padding has the place BEYOND, and so never wins. Windows of 3x3 over planes of 14x14 take 4 times
    as long one element after another, and over planes of 56x56 twice as long with places of 64 bits.

    Blocks are as in `reduce_windows`."""
    planes, height, width = descriptor[PLANES], descriptor[HEIGHT], descriptor[WIDTH]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[KERNEL_H], descriptor[KERNEL_W], descriptor[STRIDE_H], descriptor[STRIDE_W]
    pad_h, pad_w, dilation_h, dilation_w = descriptor[PAD_H], descriptor[PAD_W], descriptor[DILATION_H], descriptor[DILATION_W]
    best, at = local_array(T, READ), local_array(I, READ)
    largest, places = local_array(T, WRITTEN), local_array(I, WRITTEN)
    apart, apart_at = local_array(T, BLOCK), local_array(I, BLOCK)
    taps = min(kernel_w, (SPAN - 1) // dilation_w + 1)
    longest = min(int64(BLOCK), (SPAN - 1 - (taps - 1) * dilation_w) // stride_w + 1)
    pitch = ((min(columns, longest) - 1) * stride_w + (taps - 1) * dilation_w + stride_w) // stride_w         # of rows, in windows
    together, step = int64(1), dilation_h * width
    if columns <= longest:
        together = max(min(SPAN // (pitch * stride_w), (BLOCK - columns) // pitch + 1), together)
    for group in range(0, planes * rows, together):
        lines = min(planes * rows - group, together)
        for begin in range(0, columns, longest):
            block = min(columns - begin, longest)
            count = (lines - 1) * pitch + block
            for i in range(whole_vectors(count)):
                largest[i], places[i] = T(-inf), BEYOND
            for tap in range(0, kernel_w, taps):
                some = min(taps, kernel_w - tap)
                left = begin * stride_w + tap * dilation_w - pad_w
                wide = (block - 1) * stride_w + (some - 1) * dilation_w + 1
                before = min(max(-left, int64(0)), wide)
                span = max(min(left + wide, width) - (left + before), int64(0))
                for line in range(lines):
                    plane, row = (group + line) // rows, (group + line) % rows
                    image, end = offset(x, plane * height * width), (planes - plane) * height * width
                    top = row * stride_h - pad_h
                    first_h, end_h = first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)
                    highest, there = offset(best, line * pitch * stride_w), offset(at, line * pitch * stride_w)
                    start = (top + first_h * dilation_h) * width + left + before
                    place = first_h * step + tap * dilation_w + before
                    seen = span if first_h < end_h else int64(0)
                    if start + (end_h - first_h - 1) * step + whole_vectors(seen) <= end:
                        _look_down_rows(offset(highest, before), offset(there, before), offset(image, start), end_h - first_h, step,
                                        place, whole_vectors(seen))
                    else:
                        _look_down_rows(offset(highest, before), offset(there, before), offset(image, start), end_h - first_h, step,
                                        place, seen)
                    for i in range(before):
                        highest[i], there[i] = T(-inf), BEYOND
                    for i in range(before + seen, wide):
                        highest[i], there[i] = T(-inf), BEYOND
                for tap_w in range(some):
                    values, where = offset(best, tap_w * dilation_w), offset(at, tap_w * dilation_w)
                    if stride_w > 1:
                        _take_strided(values, apart, count, stride_w)
                        _take_strided(where, apart_at, count, stride_w)
                        values, where = apart, apart_at
                    _look_across(largest, places, values, where, whole_vectors(count))
            for line in range(lines):
                done = (group + line) * columns + begin
                corner = ((group + line) % rows * stride_h - pad_h) * width + begin * stride_w - pad_w
                values, where = offset(largest, line * pitch), offset(places, line * pitch)
                if done + whole_vectors(block) <= planes * rows * columns:
                    _write_maxima(offset(out, done), offset(indices, done), values, where, corner, whole_vectors(block))
                else:
                    _write_maxima(offset(out, done), offset(indices, done), values, where, corner, block)


def max_pool_grad(grad_out, indices, grad_x, descriptor):
    planes, inputs, outputs = descriptor[PLANES], descriptor[INPUTS], descriptor[OUTPUTS]
    zero = store(T(0))
    for plane in range(planes):
        image = offset(grad_x, plane * inputs)
        for i in range(inputs):
            image[i] = zero
        for i in range(plane * outputs, (plane + 1) * outputs):
            at = indices[i]
            if 0 <= at < inputs:                         # NOWHERE has no gradient
                image[at] = store(load(image[at]) + load(grad_out[i]))


# ---------------------------------------------------------------- maxima and means without places
def _combine_rows(row, image, step, rows, count):
    """Of rows that are `step` apart, each column combined."""
    if rows == 1:
        for i in range(count):
            row[i] = load(image[i])
    else:
        below = offset(image, step)
        for i in range(count):
            row[i] = combine(load(image[i]), load(below[i]))
    for r in range(2, rows):
        below = offset(image, r * step)
        for i in range(count):
            row[i] = combine(row[i], load(below[i]))


def as_it_lies(row, x):
    return x


def copied_only(row, x):
    return row


def _combine_taps(total, row, count):
    for i in range(count):
        total[i] = combine(total[i], row[i])


def _combine_two(total, row, other, count):
    for i in range(count):
        total[i] = combine(row[i], other[i])


def _write_reduced(out, total, count, rows_covered, begin, kernel, stride, padding, size, include_padding, override):
    for i in range(count):
        value = total[i]
        if MEAN:
            covered = rows_covered * span_covered(begin + i, kernel, stride, padding, size, include_padding)
            value /= T(select(override != 0, override, covered))
        out[i] = store(value)


def span_covered(at, kernel, stride, padding, size, include_padding):
    """How many places window number `at` covers along one axis, of the padded input or of the input."""
    start = at * stride - padding
    end = min(start + kernel, size + padding)
    if include_padding == 0:
        start, end = max(start, int64(0)), min(end, size)
    return end - start


def _combine_line(strip, x, line, left, wide, descriptor):
    """Columns left..left + wide of the input's rows that a line of the result covers, combined; START where they are padding."""
    planes, height, width, rows = descriptor[PLANES], descriptor[HEIGHT], descriptor[WIDTH], descriptor[ROWS]
    kernel_h, stride_h, pad_h, dilation_h = descriptor[KERNEL_H], descriptor[STRIDE_H], descriptor[PAD_H], descriptor[DILATION_H]
    before = min(max(-left, int64(0)), wide)
    span = max(min(left + wide, width) - (left + before), int64(0))
    plane, top, step = line // rows, line % rows * stride_h - pad_h, dilation_h * width
    image, end = offset(x, plane * height * width), (planes - plane) * height * width
    first_h, end_h = first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)
    seen = span if first_h < end_h else int64(0)
    start = (top + first_h * dilation_h) * width + left + before
    if start + (end_h - first_h - 1) * step + whole_vectors(seen) <= end:
        _combine_rows(offset(strip, before), offset(image, start), step, end_h - first_h, whole_vectors(seen))
    else:
        _combine_rows(offset(strip, before), offset(image, start), step, end_h - first_h, seen)
    for i in range(before):
        strip[i] = START
    for i in range(before + seen, wide):
        strip[i] = START


def reduce_windows(x, out, descriptor):
    """Windows of a row of the result at once: rows of the input are combined first, over whole vectors, and of what they leave the
    columns. `combine` is the maximum or the sum; with MEAN the result is divided. Short rows are taken as in `max_pool`; padding is
    START.

    A block of the result is as long as what it looks at fits in `row`; of a window wider than that, a piece is looked at at a time.
    """
    planes, height, width = descriptor[PLANES], descriptor[HEIGHT], descriptor[WIDTH]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[KERNEL_H], descriptor[KERNEL_W], descriptor[STRIDE_H], descriptor[STRIDE_W]
    pad_h, pad_w, dilation_w = descriptor[PAD_H], descriptor[PAD_W], descriptor[DILATION_W]
    include_padding, override = descriptor[COUNT_PADDING], descriptor[OVERRIDE]
    total, apart, row = local_array(T, WRITTEN), local_array(T, BLOCK), local_array(T, READ)
    taps = min(kernel_w, (SPAN - 1) // dilation_w + 1)
    longest = min(int64(BLOCK), (SPAN - 1 - (taps - 1) * dilation_w) // stride_w + 1)
    pitch = ((min(columns, longest) - 1) * stride_w + (taps - 1) * dilation_w + stride_w) // stride_w         # of rows, in windows
    together = int64(1)
    overhangs = (columns - 1) * stride_w + (kernel_w - 1) * dilation_w >= width                # into the next row
    in_place = IN_PLACE and kernel_h == 1 and pad_h == 0 and pad_w == 0 and kernel_w == taps and stride_h == 1 and not overhangs
    if columns <= longest:
        if in_place and width % stride_w == 0:
            pitch = width // stride_w
        together = max(min(SPAN // (pitch * stride_w), (BLOCK - columns) // pitch + 1), together)
    in_place = in_place and (together == 1 or pitch * stride_w == width)
    for group in range(0, planes * rows, together):
        lines = min(planes * rows - group, together)
        for begin in range(0, columns, longest):
            block = min(columns - begin, longest)
            count = (lines - 1) * pitch + block
            two_first = stride_w == 1 and taps > 1
            if not two_first:
                for i in range(whole_vectors(count)):
                    total[i] = START
            for tap in range(0, kernel_w, taps):
                some = min(taps, kernel_w - tap)
                left = begin * stride_w + tap * dilation_w - pad_w
                wide = (block - 1) * stride_w + (some - 1) * dilation_w + 1
                first = group * width + left
                reach = whole_vectors(count) * stride_w + (some - 1) * dilation_w
                as_they_lie = in_place and first + reach <= planes * height * width
                for line in range(0 if as_they_lie else lines):
                    _combine_line(offset(row, line * pitch * stride_w), x, group + line, left, wide, descriptor)
                source = one_row(row, offset(x, first)) if as_they_lie else row
                if two_first and tap == 0:
                    _combine_two(total, source, offset(source, dilation_w), whole_vectors(count))
                for tap_w in range(2 if two_first and tap == 0 else 0, some):
                    values = offset(source, tap_w * dilation_w)
                    if stride_w > 1:
                        _take_strided(values, apart, count, stride_w)
                        values = apart
                    _combine_taps(total, values, whole_vectors(count))
            for line in range(lines):
                done = (group + line) * columns + begin
                covered = span_covered((group + line) % rows, kernel_h, stride_h, pad_h, height, include_padding)
                target, values = offset(out, done), offset(total, line * pitch)
                if done + whole_vectors(block) <= planes * rows * columns:
                    _write_reduced(target, values, whole_vectors(block), covered, begin, kernel_w, stride_w, pad_w, width,
                                   include_padding, override)
                else:
                    _write_reduced(target, values, block, covered, begin, kernel_w, stride_w, pad_w, width,
                                   include_padding, override)


def _spread(row, share, stride, count):
    for i in range(count):
        row[i * stride] += share[i]


def avg_pool_grad(grad_out, grad_x, descriptor):
    """Each output's share spread over the columns of its window, and what a row of windows spread so added to every row of the
    input that it covers. Blocks are as in `reduce_windows`."""
    planes, height, width = descriptor[PLANES], descriptor[HEIGHT], descriptor[WIDTH]
    rows, columns = descriptor[ROWS], descriptor[COLUMNS]
    kernel_h, kernel_w, stride_h, stride_w = descriptor[KERNEL_H], descriptor[KERNEL_W], descriptor[STRIDE_H], descriptor[STRIDE_W]
    pad_h, pad_w = descriptor[PAD_H], descriptor[PAD_W]
    include_padding, override = descriptor[GRAD_COUNT_PADDING], descriptor[GRAD_OVERRIDE]
    share, row = local_array(T, BLOCK), local_array(T, SPAN)
    taps = min(kernel_w, int64(SPAN))
    longest = min(int64(BLOCK), (SPAN - taps) // stride_w + 1)
    for i in range(planes * height * width):
        grad_x[i] = store(T(0))
    for line in range(planes * rows):
        plane, image_row = line // rows, line % rows
        image = offset(grad_x, plane * height * width)
        top = image_row * stride_h - pad_h
        first_h, end_h = first_inside(top, 1), end_inside(top, 1, height, kernel_h)
        rows_covered = span_covered(image_row, kernel_h, stride_h, pad_h, height, include_padding)
        for begin in range(0, columns, longest):
            block = min(columns - begin, longest)
            for i in range(block):
                covered = rows_covered * span_covered(begin + i, kernel_w, stride_w, pad_w, width, include_padding)
                share[i] = load(grad_out[line * columns + begin + i]) / T(select(override != 0, override, covered))
            for tap in range(0, kernel_w, taps):
                some = min(taps, kernel_w - tap)
                left = begin * stride_w + tap - pad_w
                low = max(left, int64(0))
                span = min(left + (block - 1) * stride_w + some, width) - low
                for i in range(span):
                    row[i] = T(0)
                for tap_w in range(some):
                    shift = left + tap_w
                    first = first_inside(shift, stride_w)
                    count = end_inside(shift, stride_w, width, block) - first
                    target = offset(row, first * stride_w + shift - low)
                    if stride_w == 1:
                        _spread(target, offset(share, first), int64(1), count)
                    elif stride_w == 2:
                        _spread(target, offset(share, first), int64(2), count)
                    else:
                        _spread(target, offset(share, first), stride_w, count)
                for tap_h in range(first_h, end_h):
                    below = offset(image, (top + tap_h) * width + low)
                    for i in range(span):
                        below[i] = store(load(below[i]) + row[i])


# ---------------------------------------------------------------- planners
@functools.lru_cache(None)
def _kernel(function, dtype, pointers, kind):
    names = bindings(dtype)
    if kind == "far places":
        names.update(I=int64, BEYOND=int64((1 << 63) - 1))
    if kind in ("mean", "maximum"):
        names.update(combine=plus if kind == "mean" else fmax, START=names["T"](0 if kind == "mean" else -inf), MEAN=kind == "mean",
                     IN_PLACE=dtype not in CONVERTED, one_row=copied_only if dtype in CONVERTED else as_it_lies)
    interleave = int(function in (max_pool, reduce_windows))         # there is one vector of a short row
    return compile_kernel(function, (*pointers, "int64*"), names, interleave=interleave)


def prepare_planes(function, dtype, pointers, planes, sizes, strides, work, kind=None):
    """Split the planes; `strides` is what one plane adds to each address, in bytes."""
    parts = min(threads.get_num_threads(), planes) if work > SPLIT_WORK else 1
    edges = [planes * part // parts for part in range(parts + 1)]
    rows = [(end - begin, *sizes) for begin, end in pairwise(edges)]
    offsets = [tuple(begin * stride for stride in strides) for begin in edges[:-1]]
    return threads.prepare(_kernel(function, dtype, pointers, kind), rows, offsets, release_lock=work > SPLIT_WORK)


def _farthest_place(kernel, dilation, width):
    """At most how far from its row's first window's corner an element of a window is, or a vector beyond it."""
    return kernel[0] * dilation[0] * width + kernel[1] * dilation[1] + READ


def plan_max_pool2d(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1), ceil_mode=False) -> threads.Prepared:
    """The largest of each window of x (N, C, H, W), and where it is. NaN propagates, and the last one is reported.

    Addresses: x, out, indices (int64): both (N, C, OH, OW); indices count within an H * W plane, and are -1 for a window that lies
    in the padding.

    Args:
        dtype: `"float32"`, `"float64"`, `"float16"` or `"bfloat16"`.
        kernel, stride, padding, dilation: (height, width).
        ceil_mode: see `families.windows.output_size`.
    """
    rows, columns = output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = itemsize(dtype), dtype + "*"
    work = N * C * rows * columns * kernel[0] * kernel[1]
    far = _farthest_place(kernel, dilation, W) >> 31
    return prepare_planes(max_pool, dtype, (pointer, pointer, "int64*"), N * C,
                 (H, W, rows, columns, *kernel, *stride, *padding, *dilation),
                 (H * W * size, rows * columns * size, rows * columns * 8), work, "far places" if far else "places")


def plan_max_pool2d_values(dtype, N, C, H, W, kernel, stride, padding, dilation=(1, 1), ceil_mode=False) -> threads.Prepared:
    """The largest of each window without its place. Addresses: x, out.

    Args:
        N, C, H, W, kernel, stride, padding, dilation, ceil_mode: as for `plan_max_pool2d`.
    """
    rows, columns = output_sizes((H, W), kernel, stride, padding, dilation, ceil_mode)
    size, pointer = itemsize(dtype), dtype + "*"
    return prepare_planes(reduce_windows, dtype, (pointer, pointer), N * C,
                 (H, W, rows, columns, *kernel, *stride, *padding, *dilation, 0, 0), (H * W * size, rows * columns * size),
                 N * C * rows * columns * kernel[0] * kernel[1] // 4, "maximum")


def plan_max_pool_grad(dtype, planes, inputs, outputs) -> threads.Prepared:
    """Each output's gradient, added to the input that was the maximum, of planes with so many `inputs` and `outputs`.

    Addresses: grad_out, indices of the forward call, grad_x, which is written whole.
    """
    size, pointer = itemsize(dtype), dtype + "*"
    return prepare_planes(max_pool_grad, dtype, (pointer, "int64*", pointer), planes, (inputs, outputs),
                 (outputs * size, outputs * 8, inputs * size), planes * (inputs // 4 + outputs))


def plan_avg_pool2d(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                    divisor_override=None) -> threads.Prepared:
    """The mean of each window of x (N, C, H, W). Addresses: x, out (N, C, OH, OW).

    Args:
        kernel, stride, padding: (height, width).
        ceil_mode: see `families.windows.output_size`.
        count_include_pad: whether padding counts as zeros in the mean.
        divisor_override: divide by this instead of the window's size.
    """
    rows, columns = output_sizes((H, W), kernel, stride, padding, (1, 1), ceil_mode)
    size, pointer = itemsize(dtype), dtype + "*"
    return prepare_planes(reduce_windows, dtype, (pointer, pointer), N * C,
                 (H, W, rows, columns, *kernel, *stride, *padding, 1, 1, int(count_include_pad), divisor_override or 0),
                 (H * W * size, rows * columns * size), N * C * rows * columns * kernel[0] * kernel[1], "mean")


def plan_avg_pool2d_grad(dtype, N, C, H, W, kernel, stride, padding, ceil_mode=False, count_include_pad=True,
                         divisor_override=None) -> threads.Prepared:
    """Each output's gradient, spread evenly over its window. Addresses: grad_out, grad_x.

    Args:
        N, C, H, W, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override: as for `plan_avg_pool2d`.
    """
    rows, columns = output_sizes((H, W), kernel, stride, padding, (1, 1), ceil_mode)
    size, pointer = itemsize(dtype), dtype + "*"
    return prepare_planes(avg_pool_grad, dtype, (pointer, pointer), N * C,
                 (H, W, rows, columns, *kernel, *stride, *padding, int(count_include_pad), divisor_override or 0),
                 (rows * columns * size, H * W * size), N * C * rows * columns * kernel[0] * kernel[1])
