"""Depthwise convolution with channels as lanes, for images whose rows would leave most of a vector empty.

The planes of as many channels as a vector has lanes are transposed, so that a vector is one place of all of them. Seven places of
a row then stay in registers, and each tap multiplies them by its own weights; taps in padding above and below are not multiplied.
The gradient for the weight is the same with the roles of taps and places exchanged. Turning planes there and back takes as long as
some 15 taps do, and so it pays for small planes only: 7 x 7 places filled 7 lanes of 16. Images whose channels are last lie so
already (`depthwise_last.py`).

float32 and float64, one and two dimensions. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import accumulate, pairwise

import numpy as np
from numpy import float32, inf, int64

from ... import threads
from ...intrinsics import as_pointer, local_array, offset
from ..micro.tile import transpose_tile
from .image import aligned, clear, copy_vector, edges, index_table, kernel_for, micro, tile_names
from .lane_loops import store_transposed

T = float32                                              # these are bound by `tile_names`
WIDTH = 16
RUN = 7                                                  # places, or taps, that stay in registers

LEAST_CHANNELS, MOST_PLACES = 8, 4096
SHORT_LINE, LONG_KERNEL, LARGE_KERNEL = 12, 15, 25       # places of a row, taps of one, and of a kernel of several rows
SPLIT_WORK = 100_000                                     # multiply-adds above which two threads win


def _multiply_channels(longest, width, run, distance, depth, image, offsets, weights, first, first_row, lowest, out, out_row):
    """out[r * out_row + i] = rectify(first[r * first_row + i] + sum over k of image[offsets[k] + r * distance + i] *
    weights[k * width + i]) for r < run and i < width; what is below `lowest` becomes 0.

    longest and width are literals; run is at most `longest`, depth at least 1.
    """
    for r in range(run):
        for i in range(width):
            total = first[r * first_row + i]
            for k in range(depth):
                total += image[offsets[k] + r * distance + i] * weights[k * width + i]
            out[r * out_row + i] = type(total)(0) if total < lowest else total


multiply_channels = micro(_multiply_channels, "multiply_channels")

# The descriptor.
FIRST, END, IMAGES, CHANNELS, X_LINES, X_LINE, PITCH, BEFORE, OUT_LINES, OUT_LINE, STEP = range(11)
LINE_TABLE, OFFSETS, IMAGE_SPACE, FLAT_SPACE, SUMS_SPACE, PACKED_SPACE, SCRATCH, OTHERS, HAS_BIAS, RELU_FLAG = range(11, 21)


def to_lanes(source, pitch, present, count, limit, out):
    """out[p * WIDTH + lane] = source[lane * pitch + p] for p < count, and more; lanes that are absent repeat lane 0. `limit`
    elements may be read."""
    p = int64(0)
    while p < count:
        if (present - 1) * pitch + p + WIDTH <= limit:
            transpose_tile(WIDTH, WIDTH, offset(source, p), pitch, present, offset(out, p * WIDTH))
            p += WIDTH
        elif count >= WIDTH:
            p = count - WIDTH                            # the last block overlaps the one before
        else:
            for lane in range(WIDTH):
                out[p * WIDTH + lane] = source[(lane if lane < present else 0) * pitch + p]
            p += 1


def from_lanes(source, present, count, out):
    """out[lane * count + p] = source[p * WIDTH + lane] for p < count."""
    targets, ends = local_array(int64, 4), local_array(int64, 4)
    ends[0] = count
    for p in range(0, count, WIDTH):
        targets[0] = p
        store_transposed(WIDTH, 1, WIDTH, offset(source, p * WIDTH), min(count - p, WIDTH), present, out, count, targets, ends)


def _image_to_lanes(x, plane, present, limit, flat, image, descriptor):
    """The channels' planes, transposed, into the interior of the padded image."""
    columns, pitch = descriptor[X_LINE], descriptor[PITCH]
    to_lanes(x, plane, present, plane, limit, flat)
    for y in range(descriptor[X_LINES]):
        line, to = offset(flat, y * columns * WIDTH), offset(image, (y * pitch + descriptor[BEFORE]) * WIDTH)
        for i in range(columns):
            copy_vector(WIDTH, offset(line, i * WIDTH), offset(to, i * WIDTH))


def correlate_channels(x, weight, bias, out, workspace, descriptor):
    """Blocks first..end of channels. Each line of places has in the table: its first tap, how many, where its places start."""
    images, channels, taps = descriptor[IMAGES], descriptor[CHANNELS], descriptor[OTHERS]
    plane, places = descriptor[X_LINES] * descriptor[X_LINE], descriptor[OUT_LINES] * descriptor[OUT_LINE]
    columns = descriptor[OUT_LINE]
    lines, offsets = as_pointer(descriptor[LINE_TABLE], descriptor), as_pointer(descriptor[OFFSETS], descriptor)
    step = descriptor[STEP]
    scratch = offset(workspace, descriptor[SCRATCH])
    image, flat = offset(scratch, descriptor[IMAGE_SPACE]), offset(scratch, descriptor[FLAT_SPACE])
    sums = offset(scratch, descriptor[SUMS_SPACE])
    packed, start = offset(scratch, descriptor[PACKED_SPACE]), local_array(T, 64)
    lowest = T(0) if descriptor[RELU_FLAG] != 0 else T(-inf)
    clear(image, descriptor[X_LINES] * descriptor[PITCH] * WIDTH)
    for block in range(descriptor[FIRST], descriptor[END]):
        channel = block * WIDTH
        present = min(channels - channel, int64(WIDTH))
        to_lanes(offset(weight, channel * taps), taps, present, taps, (channels - channel) * taps, packed)
        for lane in range(WIDTH):
            start[lane] = bias[channel + lane] if descriptor[HAS_BIAS] != 0 and lane < present else T(0)
        for number in range(images):
            at = number * channels + channel
            _image_to_lanes(offset(x, at * plane), plane, present, (images * channels - at) * plane, flat, image, descriptor)
            for y in range(descriptor[OUT_LINES]):
                line = offset(lines, y * 3)
                weights, own = offset(packed, line[0] * WIDTH), offset(offsets, line[0])
                for column in range(0, columns, RUN):
                    run, to = min(columns - column, int64(RUN)), offset(sums, (y * columns + column) * WIDTH)
                    if line[1] > 0:
                        multiply_channels(RUN, WIDTH, run, step, line[1], offset(image, line[2] + column * step), own, weights,
                                          start, int64(0), lowest, to, int64(WIDTH))
                    else:
                        for i in range(run * WIDTH):
                            value = start[i % WIDTH]
                            to[i] = lowest if value < lowest else value      # NaN stays
            from_lanes(sums, present, places, offset(out, at * places))


def channels_weight(grad_out, x, grad_weight, workspace, descriptor):
    """The gradient for the weights of blocks first..end of channels. Each line of taps has in the table: the first place where it
    is inside, how many, where its first tap finds the first place of all."""
    images, channels, taps = descriptor[IMAGES], descriptor[CHANNELS], descriptor[OUT_LINES] * descriptor[OUT_LINE]
    plane, places, columns = descriptor[X_LINES] * descriptor[X_LINE], descriptor[OTHERS], descriptor[OUT_LINE]
    lines, offsets = as_pointer(descriptor[LINE_TABLE], descriptor), as_pointer(descriptor[OFFSETS], descriptor)
    step = descriptor[STEP]
    scratch = offset(workspace, descriptor[SCRATCH])
    image, flat = offset(scratch, descriptor[IMAGE_SPACE]), offset(scratch, descriptor[FLAT_SPACE])
    totals = offset(scratch, descriptor[SUMS_SPACE])
    transposed = offset(scratch, descriptor[PACKED_SPACE])
    clear(image, descriptor[X_LINES] * descriptor[PITCH] * WIDTH)
    for block in range(descriptor[FIRST], descriptor[END]):
        channel = block * WIDTH
        present = min(channels - channel, int64(WIDTH))
        clear(totals, taps * WIDTH)
        for number in range(images):
            at = number * channels + channel
            _image_to_lanes(offset(x, at * plane), plane, present, (images * channels - at) * plane, flat, image, descriptor)
            to_lanes(offset(grad_out, at * places), places, present, places, (images * channels - at) * places, transposed)
            for y in range(descriptor[OUT_LINES]):
                line = offset(lines, y * 3)
                if line[1] > 0:
                    for column in range(0, columns, RUN):
                        to = offset(totals, (y * columns + column) * WIDTH)
                        multiply_channels(RUN, WIDTH, min(columns - column, int64(RUN)), step, line[1],
                                          offset(image, line[2] + column * step), offset(offsets, line[0]),
                                          offset(transposed, line[0] * WIDTH), to, int64(WIDTH), T(-inf), to, int64(WIDTH))
        from_lanes(totals, present, taps, offset(grad_weight, channel * taps))


# ---------------------------------------------------------------- planning
def suits(shape):
    """Whether every channel has one feature, of planes and not of volumes, that fit the second-level cache transposed."""
    return shape.groups == shape.channels == shape.features >= LEAST_CHANNELS and shape.size[0] == shape.kernel[0] == 1 \
        and not shape.padding[0] and max(math.prod(shape.size), shape.places) <= MOST_PLACES


def pays(shape, out):
    """Whether places of `out` are faster so than by vectors of a row: rows that leave most of a vector empty, long kernels along
    single lines."""
    return suits(shape) and (out[2] <= SHORT_LINE or (out[1] == 1 and shape.taps >= LONG_KERNEL))


def pays_for_weight(shape):
    """The same of the gradient for the weight, to which kernels of many taps come too."""
    large = shape.out[1] > 1 and shape.stride == (1, 1, 1) and shape.taps >= LARGE_KERNEL
    return suits(shape) and (shape.out[2] <= SHORT_LINE or large)


def _inside(first, step, count, size):
    """For which i in 0..count `first + step * i` is in 0..size: the first, and how many."""
    inside = [i for i in range(count) if 0 <= first + step * i < size]
    return (inside[0], len(inside)) if inside else (0, 0)


class _Axes:
    """Place p of the result finds at tap k of a line, or of a row of it, the source's place stride * p + start + tap_step * k."""

    def __init__(self, dtype, source, out, kernel, stride, start, tap_step):
        self.source, self.out, self.kernel, self.stride, self.start, self.tap_step = source, out, kernel, stride, start, tap_step
        self.width = tile_names(dtype)["WIDTH"]
        ends = [start[1] + stride[1] * p + tap_step[1] * k for p in (0, out[1] - 1) for k in (0, kernel[1] - 1)]
        self.before = max(0, -min(ends))
        self.pitch = self.before + max(max(ends) + 1, source[1])

    def place(self, line, column):
        """Where a place of the source starts in the padded image."""
        return (line * self.pitch + column + self.before) * self.width


def _plan(dtype, kernel, shape, axes, outer, inner, step, lines, offsets, others, flags, work):
    """Threads share the blocks of channels.

    Args:
        outer, inner: lines, and of each the columns, of what is summed for; of taps or places there are `others`.
    """
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    width, blocks = names["WIDTH"], -(-shape.channels // names["WIDTH"])
    parts = min(threads.get_num_threads(), blocks) if work > SPLIT_WORK else 1
    lengths = [axes.source[0] * axes.pitch * width,
               *(width * (n + 2 * width) for n in (math.prod(axes.source), outer * inner, others))]
    starts = [0, *accumulate(map(aligned, lengths))]
    lines, offsets = index_table(lines), index_table(offsets)
    rows = [(first, end, shape.images, shape.channels, *axes.source, axes.pitch, axes.before, outer, inner, step * width,
             lines.ctypes.data, offsets.ctypes.data, *starts[:4], part * starts[4], others, *flags)
            for part, (first, end) in enumerate(pairwise(edges(blocks, parts)))]
    prepared = threads.prepare(kernel_for(kernel, dtype), rows, release_lock=work > SPLIT_WORK)
    return prepared.with_workspace(parts * starts[4] * size, lines, offsets)


def _plan_correlation(dtype, shape, axes, bias, relu):
    lines = []
    for y in range(axes.out[0]):
        line = axes.stride[0] * y + axes.start[0]
        first, count = _inside(line, axes.tap_step[0], axes.kernel[0], axes.source[0])
        lines.append((first * axes.kernel[1], count * axes.kernel[1], axes.place(line, axes.start[1])))
    offsets = [(axes.tap_step[0] * k * axes.pitch + axes.tap_step[1] * j) * axes.width for k in range(axes.kernel[0])
               for j in range(axes.kernel[1])]
    return _plan(dtype, correlate_channels, shape, axes, *axes.out, axes.stride[1], lines, offsets, shape.taps,
                 (int(bias), int(relu)), shape.multiply_adds)


def plan_forward(dtype, shape, bias, relu):
    axes = _Axes(dtype, shape.size[1:], shape.out[1:], shape.kernel[1:], shape.stride[1:], [-p for p in shape.padding[1:]],
                 shape.dilation[1:])
    return _plan_correlation(dtype, shape, axes, bias, relu)


def plan_input_grad(dtype, shape, bias=False):
    """Of a stride of 1."""
    axes = _Axes(dtype, shape.out[1:], shape.size[1:], shape.kernel[1:], (1, 1), shape.padding[1:],
                 [-d for d in shape.dilation[1:]])
    return _plan_correlation(dtype, shape, axes, bias, False)


def plan_weight_grad(dtype, shape):
    axes = _Axes(dtype, shape.size[1:], shape.out[1:], shape.kernel[1:], shape.stride[1:], [-p for p in shape.padding[1:]],
                 shape.dilation[1:])
    lines = []
    for k in range(axes.kernel[0]):
        line = axes.start[0] + axes.tap_step[0] * k
        first, count = _inside(line, axes.stride[0], axes.out[0], axes.source[0])
        lines.append((first * axes.out[1], count * axes.out[1], axes.place(line, axes.start[1])))
    offsets = [(axes.stride[0] * y * axes.pitch + axes.stride[1] * x) * axes.width for y in range(axes.out[0])
               for x in range(axes.out[1])]
    return _plan(dtype, channels_weight, shape, axes, *axes.kernel, axes.tap_step[1], lines, offsets, shape.places,
                 (0, 0), shape.multiply_adds)
