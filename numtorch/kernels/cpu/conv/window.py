"""Direct convolution for few features a group, depthwise above all: nothing is packed but the weight.

A register tile is a few features by four vectors of places, one in each of four rows of the output (or side by side in one
row); for every k = (channel, tap) it loads its vectors from the padded image and multiplies each by every feature's
weight. With few features that beats packing a panel, whose elements would be used too seldom. Of one feature, seven rows
share what they load: a vector of the image is multiplied by all weights of a column of taps. The gradient for a
depthwise weight is a dot product for every tap, all taps at once.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise, zip_longest

import numpy as np
from numpy import float32, inf, int64

from ... import threads
from ...intrinsics import as_pointer, offset
from .image import (
    CHANNELS,
    X_COLUMNS,
    X_DEPTH,
    X_IMAGE,
    X_ROWS,
    aligned,
    clear,
    edges,
    forward_image,
    index_table,
    kernel_for,
    micro,
    pad_images,
    scatter_run,
    tile_names,
)
from .panel import forward_phases, input_phases

T = float32                                              # these are bound by `tile_names`
WIDTH = 16
ALONE = 1                                                # whether a group has one feature
FEATURES, LINES, DOTS = 6, 4, 12                         # of a register tile; `FEATURES * LINES` sums
TALL_LINES, TALL = 7, (3, 5, 7)                          # rows that share their loads, and of which kernels

SPLIT_WORK = 400_000                                     # multiply-adds above which two threads win


def _multiply_window(most, lines, width, features, depth, image, distance, offsets, weights, starts, lowest, out, out_feature,
                     out_distance, count):
    """out[f * out_feature + v * out_distance + i] = rectify(starts[f] + sum over k of weights[k * most + f] *
    image[offsets[k] + v * distance + i]) for i < count, for `features` f and `lines` v; what is below `lowest` becomes 0.

    most, lines and width are literals; depth is at least 1.
    """
    for f in range(features):
        for v in range(lines):
            for i in range(min(count, width)):
                total = starts[f]
                for k in range(depth):
                    total += weights[k * most + f] * image[offsets[k] + v * distance + i]
                out[f * out_feature + v * out_distance + i] = type(total)(0) if total < lowest else total


def _multiply_rows(tall, lines, most, width, image, distance, wide, tap_step, weights, start, lowest, out, out_distance, count):
    """As `_multiply_window` for one feature, by tall * wide taps: rows of taps are `distance` apart in the image, as rows of places
    are, and columns `tap_step`; weights[(y * wide + x) * most].

    tall, lines, most and width are literals; wide is at least 1.
    """
    for v in range(lines):
        for i in range(min(count, width)):
            total = start
            for x in range(wide):
                for y in range(tall):
                    total += weights[(y * wide + x) * most] * image[(v + y) * distance + x * tap_step + i]
            out[v * out_distance + i] = type(total)(0) if total < lowest else total


def _multiply_pairs(most, lines, width, image, distance, depth, offsets, weights, odd_depth, odd_offsets, odd_weights, start, out,
                    out_distance, count):
    """As `_multiply_window` for one feature and two sets of k, whose results take turns: `count` of both together."""
    for v in range(lines):
        for i in range(min(count, 2 * width)):
            total = start
            for k in range(odd_depth if i % 2 else depth):
                at, factor = (odd_offsets[k], odd_weights[k * most]) if i % 2 else (offsets[k], weights[k * most])
                total += factor * image[at + v * distance + i // 2]
            out[v * out_distance + i] = total


def _multiply_dots(most, width, taps, segments, number, grad, image, offsets, sums):
    """sums[t * width + i] += grad[a + i] * image[b + offsets[t] + i] over segments (a, b, count), for i < count.

    most and width are literals; taps and number are at least 1.
    """
    for s in range(number):
        for t in range(taps):
            for i in range(min(segments[s * 3 + 2], width)):
                sums[t * width + i] += grad[segments[s * 3] + i] * image[segments[s * 3 + 1] + offsets[t] + i]


multiply_window = micro(_multiply_window, "multiply_window")
multiply_rows = micro(_multiply_rows, "multiply_rows")
multiply_pairs = micro(_multiply_pairs, "multiply_pairs")
multiply_dots = micro(_multiply_dots, "multiply_dots")

# The descriptor.
FIRST, END, IMAGES, GROUPS, ROWS_OF_WEIGHT, W_ROW, W_GROUP, OUT_PLANE, HAS_BIAS, RELU_FLAG = range(10)
IMAGE_TABLE, PHASE_TABLE, PHASES, WEIGHT_SPACE, STARTS_SPACE, ROW_SPACE, SCRATCH = range(10, 17)

# A phase's words: the depth, offsets and places in the weight of each k, where its packed weight starts, its planes, rows
# and columns, how far apart planes and rows are in the image and planes, rows and columns in the output, its first place, and
# whether the next phase has the places between its own, and both are computed together; for `multiply_rows` how tall the kernel
# is (0: of another shape), how wide, and how far apart its columns are.
P_DEPTH, P_OFFSETS, P_TAPS, P_PACKED, P_PLANES, P_ROWS, P_COLUMNS, P_X_PLANE, P_X_ROW = range(9)
P_PLANE, P_ROW, P_COLUMN, P_PLACE, P_PAIRED, P_TALL, P_WIDE, P_TAP_STEP, P_WORDS = range(9, 18)


def _fill_rows(out, features, out_plane, phase, starts, lowest):
    """A phase without taps: its places are the bias."""
    for f in range(features):
        value = T(0) if starts[f] < lowest else starts[f]
        for plane in range(phase[P_PLANES]):
            for row in range(phase[P_ROWS]):
                to = offset(out, f * out_plane + plane * phase[P_PLANE] + row * phase[P_ROW])
                for i in range(phase[P_COLUMNS]):
                    to[i * phase[P_COLUMN]] = value


def _window_block(lines, image, distance, depth, offsets, weights, starts, lowest, rows, height, out, out_plane, out_line, step,
                  count, spare):
    """One register tile of every block of features: `lines` (a literal) vectors of `count` places, `distance` apart."""
    first = int64(0)
    while first < rows:
        features, to = min(rows - first, height), offset(out, first * out_plane)
        if step == 1:
            multiply_window(FEATURES, lines, WIDTH, features, depth, image, distance, offsets, weights, offset(starts, first),
                            lowest, to, out_plane, out_line, count)
        else:
            multiply_window(FEATURES, lines, WIDTH, features, depth, image, distance, offsets, weights, offset(starts, first),
                            lowest, spare, int64(LINES * WIDTH), int64(WIDTH), count)
            for f in range(features):
                for line in range(lines):
                    scatter_run(offset(spare, (f * LINES + line) * WIDTH), offset(to, f * out_plane + line * out_line), step, count)
        weights = offset(weights, depth * FEATURES)
        first += height


def _window_plane(image, phase, packed, starts, lowest, rows, height, out, out_plane, spare, descriptor):
    """One plane of places, four rows at a time."""
    lines, columns, x_row, out_line, step = phase[P_ROWS], phase[P_COLUMNS], phase[P_X_ROW], phase[P_ROW], phase[P_COLUMN]
    depth, offsets, weights = phase[P_DEPTH], as_pointer(phase[P_OFFSETS], descriptor), offset(packed, phase[P_PACKED])
    line = int64(0)
    while line < lines:
        if lines >= LINES:
            line = min(line, lines - LINES)              # the last four rows overlap those before
        for column in range(0, columns, WIDTH):
            count = min(columns - column, WIDTH)
            source, to = offset(image, line * x_row + column), offset(out, line * out_line + column * step)
            if lines >= LINES:
                _window_block(LINES, source, x_row, depth, offsets, weights, starts, lowest, rows, height, to, out_plane, out_line,
                              step, count, spare)
            else:
                _window_block(1, source, x_row, depth, offsets, weights, starts, lowest, rows, height, to, out_plane, out_line,
                              step, count, spare)
        line += LINES if lines >= LINES else 1


def _tall_plane(image, phase, packed, start, lowest, out, descriptor):
    """One plane of places of one feature, seven rows at a time: depthwise 7 x 7 takes twice as long four rows at a time, each
    loading for itself."""
    lines, columns, x_row, out_line = phase[P_ROWS], phase[P_COLUMNS], phase[P_X_ROW], phase[P_ROW]
    tall, wide, tap_step = phase[P_TALL], phase[P_WIDE], phase[P_TAP_STEP]
    image, weights = offset(image, as_pointer(phase[P_OFFSETS], descriptor)[0]), offset(packed, phase[P_PACKED])
    line = int64(0)
    while line < lines:
        line = min(line, lines - TALL_LINES)             # the last rows overlap those before
        for column in range(0, columns, WIDTH):
            source, to, count = offset(image, line * x_row + column), offset(out, line * out_line + column), columns - column
            if tall == 3:
                multiply_rows(3, TALL_LINES, FEATURES, WIDTH, source, x_row, wide, tap_step, weights, start, lowest, to, out_line,
                              count)
            elif tall == 5:
                multiply_rows(5, TALL_LINES, FEATURES, WIDTH, source, x_row, wide, tap_step, weights, start, lowest, to, out_line,
                              count)
            else:
                multiply_rows(7, TALL_LINES, FEATURES, WIDTH, source, x_row, wide, tap_step, weights, start, lowest, to, out_line,
                              count)
        line += TALL_LINES


def _pairs_plane(image, phase, packed, start, out, descriptor):
    """One plane of places of a phase and the next, which take turns along the columns; of one feature."""
    lines, x_row, out_line, odd = phase[P_ROWS], phase[P_X_ROW], phase[P_ROW], offset(phase, P_WORDS)
    depth, offsets, weights = phase[P_DEPTH], as_pointer(phase[P_OFFSETS], descriptor), offset(packed, phase[P_PACKED])
    odd_depth, odd_offsets, odd_weights = odd[P_DEPTH], as_pointer(odd[P_OFFSETS], descriptor), offset(packed, odd[P_PACKED])
    columns = phase[P_COLUMNS] + odd[P_COLUMNS]
    line = int64(0)
    while line < lines:
        if lines >= LINES:
            line = min(line, lines - LINES)              # the last four rows overlap those before
        for column in range(0, columns, 2 * WIDTH):
            source, to = offset(image, line * x_row + column // 2), offset(out, line * out_line + column)
            if lines >= LINES:
                multiply_pairs(FEATURES, LINES, WIDTH, source, x_row, depth, offsets, weights, odd_depth, odd_offsets, odd_weights,
                               start, to, out_line, columns - column)
            else:
                multiply_pairs(FEATURES, 1, WIDTH, source, x_row, depth, offsets, weights, odd_depth, odd_offsets, odd_weights,
                               start, to, out_line, columns - column)
        line += LINES if lines >= LINES else 1


def _window_line(image, phase, packed, starts, lowest, rows, height, out, out_plane, spare, descriptor):
    """One long row of places, four vectors at a time."""
    columns, lane = phase[P_COLUMNS], int64(WIDTH)
    depth, offsets, weights = phase[P_DEPTH], as_pointer(phase[P_OFFSETS], descriptor), offset(packed, phase[P_PACKED])
    column = int64(0)
    while column < columns:
        if columns >= LINES * WIDTH:
            column = min(column, columns - LINES * WIDTH)
            _window_block(LINES, offset(image, column), lane, depth, offsets, weights, starts, lowest, rows, height,
                          offset(out, column), out_plane, lane, int64(1), lane, spare)
            column += LINES * WIDTH
        else:
            _window_block(1, offset(image, column), lane, depth, offsets, weights, starts, lowest, rows, height,
                          offset(out, column), out_plane, lane, int64(1), min(columns - column, WIDTH), spare)
            column += WIDTH


def _pack_weights(weight, rows, height, row_stride, phases, number, descriptor, packed):
    """Blocks of `height` rows as (k, FEATURES), for every phase."""
    for p in range(number):
        phase = offset(phases, p * P_WORDS)
        depth, taps = phase[P_DEPTH], as_pointer(phase[P_TAPS], descriptor)
        out = offset(packed, phase[P_PACKED])
        for first in range(0, rows, height):
            for f in range(min(rows - first, height)):
                source = offset(weight, (first + f) * row_stride)
                for k in range(depth):
                    out[k * FEATURES + f] = source[taps[k]]
            out = offset(out, depth * FEATURES)


def windows(x, weight, bias, out, workspace, descriptor):
    """Items first..end of (group, image)."""
    images, groups, rows, out_plane = descriptor[IMAGES], descriptor[GROUPS], descriptor[ROWS_OF_WEIGHT], descriptor[OUT_PLANE]
    table, phases = as_pointer(descriptor[IMAGE_TABLE], descriptor), as_pointer(descriptor[PHASE_TABLE], descriptor)
    image = offset(workspace, descriptor[SCRATCH])
    packed, starts = offset(image, descriptor[WEIGHT_SPACE]), offset(image, descriptor[STARTS_SPACE])
    spare = offset(image, descriptor[ROW_SPACE])
    channel_size = table[CHANNELS] * table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    lowest = T(0) if descriptor[RELU_FLAG] != 0 else T(-inf)
    clear(image, descriptor[WEIGHT_SPACE])
    blocks = (rows + FEATURES - 1) // FEATURES
    height = (rows + blocks - 1) // blocks               # of a block: 5 and 5 of ten features, not 6 and 4
    held = int64(-1)
    for item in range(descriptor[FIRST], descriptor[END]):
        group, number = item // images, item % images
        if group != held:
            _pack_weights(offset(weight, group * descriptor[W_GROUP]), rows, height, descriptor[W_ROW], phases, descriptor[PHASES],
                          descriptor, packed)
            for f in range(rows):
                starts[f] = bias[group * rows + f] if descriptor[HAS_BIAS] != 0 else T(0)
            held = group
        pad_images(offset(x, number * table[X_IMAGE] + group * channel_size), image, table, int64(1))
        p = int64(0)
        while p < descriptor[PHASES]:
            phase = offset(phases, p * P_WORDS)
            to = offset(out, (number * groups + group) * rows * out_plane + phase[P_PLACE])
            if ALONE and phase[P_PAIRED] != 0:
                for plane in range(phase[P_PLANES]):
                    _pairs_plane(offset(image, plane * phase[P_X_PLANE]), phase, packed, starts[0],
                                 offset(to, plane * phase[P_PLANE]), descriptor)
                p += 1
            elif phase[P_DEPTH] == 0:
                _fill_rows(to, rows, out_plane, phase, starts, lowest)
            else:
                for plane in range(phase[P_PLANES]):
                    source, there = offset(image, plane * phase[P_X_PLANE]), offset(to, plane * phase[P_PLANE])
                    if ALONE and phase[P_TALL] != 0:
                        _tall_plane(source, phase, packed, starts[0], lowest, there, descriptor)
                    elif phase[P_ROWS] == 1 and phase[P_COLUMN] == 1:
                        _window_line(source, phase, packed, starts, lowest, rows, height, there, out_plane, spare, descriptor)
                    else:
                        _window_plane(source, phase, packed, starts, lowest, rows, height, there, out_plane, spare, descriptor)
            p += 1


# The descriptor of the gradient for weights, with the segments of places that are multiplied and their number.
D_FIRST, D_END, D_IMAGES, D_FEATURES, D_SPREAD, D_TAPS, D_PLACES, D_NUMBER = range(8)
D_IMAGE_TABLE, D_OFFSETS, D_SEGMENTS, D_SCRATCH, D_IMAGE_SIZE = range(8, 13)


def depthwise_weight(grad_out, x, grad_weight, workspace, descriptor):
    """The gradient for the weights of features first..end, where every feature has one channel."""
    images, features, spread = descriptor[D_IMAGES], descriptor[D_FEATURES], descriptor[D_SPREAD]
    taps, places, number = descriptor[D_TAPS], descriptor[D_PLACES], descriptor[D_NUMBER]
    table, offsets = as_pointer(descriptor[D_IMAGE_TABLE], descriptor), as_pointer(descriptor[D_OFFSETS], descriptor)
    segments = as_pointer(descriptor[D_SEGMENTS], descriptor)
    image = offset(workspace, descriptor[D_SCRATCH])
    sums = offset(image, descriptor[D_IMAGE_SIZE])
    channel_size = table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    clear(image, descriptor[D_IMAGE_SIZE])
    for feature in range(descriptor[D_FIRST], descriptor[D_END]):
        clear(sums, taps * WIDTH)
        for n in range(images):
            pad_images(offset(x, n * table[X_IMAGE] + feature // spread * channel_size), image, table, int64(1))
            for tap in range(0, taps, DOTS):
                multiply_dots(DOTS, WIDTH, min(taps - tap, DOTS), segments, number,
                              offset(grad_out, (n * features + feature) * places), image, offset(offsets, tap),
                              offset(sums, tap * WIDTH))
        for tap in range(taps):
            total = T(0)
            for i in range(WIDTH):
                total += sums[tap * WIDTH + i]
            grad_weight[feature * taps + tap] = total


# ---------------------------------------------------------------- planning
def _in_order(phase):
    """The offsets and taps of a phase, as they lie in the image."""
    pairs = sorted(zip(phase.offsets.tolist(), phase.taps.tolist()))
    return index_table([at for at, _ in pairs]), index_table([tap for _, tap in pairs])


def _tall(phase, offsets):
    """How tall and wide the kernel of one feature is whose rows are as far apart as those of places, and by how much its columns
    are; zeros if it is none for `multiply_rows`."""
    if phase.out[1] < TALL_LINES or phase.target_steps[2] != 1:
        return 0, 0, 0
    for tall in TALL:
        wide, rest = divmod(len(offsets), tall)
        if wide and not rest:
            step = int(offsets[1] - offsets[0]) if wide > 1 else 0
            grid = offsets[0] + np.arange(tall)[:, None] * phase.source_steps[1] + np.arange(wide) * step
            if np.array_equal(grid.ravel(), offsets):
                return tall, wide, step
    return 0, 0, 0


def _plan_windows(dtype, shape, image, phases, rows, weight, out_plane, bias, relu):
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    words, keep, packed, line = [], [], 0, shape.size[2]
    for phase, following in zip_longest(phases, phases[1:]):
        depth = len(phase.offsets)
        paired = following is not None and rows == 1 and phase.target_steps[2] == 2 and depth and len(following.offsets) \
            and line > 1 and phase.target % line == 0 and following.target == phase.target + 1
        offsets, taps = _in_order(phase)
        words.append((depth, offsets.ctypes.data, taps.ctypes.data, packed, *phase.out, *phase.source_steps, *phase.target_steps,
                      phase.target, int(bool(paired)), *(_tall(phase, offsets) if rows == 1 else (0, 0, 0))))
        keep += [offsets, taps]
        packed += aligned(-(-rows // FEATURES) * FEATURES * depth)
    table = index_table(words)
    items = shape.images * shape.groups
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = min(threads.get_num_threads() if threaded else 1, items)
    starts = image.elements + packed
    spare = starts + aligned(rows)
    scratch = spare + FEATURES * LINES * names["WIDTH"]
    descriptors = [(first, end, shape.images, shape.groups, rows, weight[0], weight[1], out_plane, int(bias), int(relu),
                    image.table.ctypes.data, table.ctypes.data, len(phases), image.elements, starts, spare, part * scratch)
                   for part, (first, end) in enumerate(pairwise(edges(items, parts)))]
    kernel = kernel_for(windows, dtype, ALONE=int(rows == 1))
    prepared = threads.prepare(kernel, descriptors, release_lock=threaded)
    return prepared.with_workspace(parts * scratch * size, image, table, keep)


def plan_forward(dtype, shape, bias, relu):
    image, phases, weight = forward_phases(dtype, shape)
    return _plan_windows(dtype, shape, image, phases, shape.features // shape.groups, weight, shape.places, bias, relu)


def plan_input_grad(dtype, shape, bias=False):
    image, phases, weight = input_phases(dtype, shape)
    return _plan_windows(dtype, shape, image, phases, shape.channels // shape.groups, weight, math.prod(shape.size), bias, False)


def plan_depthwise_weight(dtype, shape):
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    width = names["WIDTH"]
    image, offsets, steps = forward_image(shape, dtype)
    planes, rows, columns = shape.out
    z, y, c = np.meshgrid(np.arange(planes), np.arange(rows), np.arange(0, columns, width), indexing="ij")
    segments = index_table(np.stack([((z * rows + y) * columns + c).ravel(), (z * steps[0] + y * steps[1] + c).ravel(),
                                     np.where(columns - c < width, columns - c, width).ravel()], 1))
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = min(threads.get_num_threads() if threaded else 1, shape.features)
    scratch = image.elements + aligned(shape.taps * width)
    descriptors = [(first, end, shape.images, shape.features, shape.features // shape.groups, shape.taps, shape.places,
                    len(segments) // 3, image.table.ctypes.data, offsets.ctypes.data, segments.ctypes.data, part * scratch,
                    image.elements)
                   for part, (first, end) in enumerate(pairwise(edges(shape.features, parts)))]
    prepared = threads.prepare(kernel_for(depthwise_weight, dtype), descriptors, release_lock=threaded)
    return prepared.with_workspace(parts * scratch * size, image, offsets, segments)
