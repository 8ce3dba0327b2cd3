"""The gradient of a convolution for its weight, as matrix products over the places of all images.

Two forms. `weight_totals` reads the padded image in place through offsets and multiplies it by the transposed gradient:
features are the lanes, and threads share the images, each with its own totals. It suits few channels and large images.
`weight_blocks` has channels as lanes: a block of them is turned over once, after which the rows of a panel for any tap are
whole vectors of it, zeros where the tap is outside. Threads share the channels, so no totals are added up, which for the
large weights of small images took as long as the products.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from .. import threads
from ..intrinsics import as_pointer, offset
from .convimage import (
    CHANNELS,
    X_COLUMNS,
    X_DEPTH,
    X_ROWS,
    aligned,
    clear,
    copy_vector,
    forward_image,
    index_table,
    kernel_for,
    micro,
    pad_images,
    tile_names,
)
from .convpanel import block_start, edges, sequence
from .tile import ACCUMULATE, multiply_tile, transpose_tile

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32
WIDE_VECTORS, WIDE_ROWS, NARROW_ROWS, PLANE = 4, 6, 12, 4160

CHUNK = 256                                              # places that are multiplied at once
TOTALS_BYTES = 600_000                                   # of a block of channels, in the second-level cache
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win, some 20 µs


def _multiply_indirect(max_rows, vectors, width, plane, rows, depth, left, row_offsets, column_offsets, right, out,
                       out_row):
    """out[rows, vectors * width] += left @ right; max_rows, vectors, width and plane are literals, depth at least 1.

    Element (i, k) of left is left[row_offsets[i] + column_offsets[k]]; element (k, j * width + l) of right is
    right[j * plane + k * width + l].
    """
    for i in range(rows):
        for j in range(vectors * width):
            total = out[i * out_row + j]
            for k in range(depth):
                total += left[row_offsets[i] + column_offsets[k]] * right[j // width * plane + k * width + j % width]
            out[i * out_row + j] = total


multiply_indirect = micro(_multiply_indirect, "multiply_indirect")


# ---------------------------------------------------------------- features as lanes
def _transpose_gradient(grad, positions, rows, first, count, panel):
    """panel[p * WIDTH + r] = grad[r * positions + first + p], where rows that are absent repeat row 0."""
    whole = count - count % WIDTH
    for p in range(0, whole, WIDTH):
        transpose_tile(WIDTH, WIDTH, offset(grad, first + p), positions, rows, offset(panel, p * WIDTH))
    for p in range(whole, count):
        for r in range(WIDTH):
            panel[p * WIDTH + r] = grad[(r if r < rows else 0) * positions + first + p]


def weight_totals(grad_out, x, workspace, walk):
    """totals[group, k, feature] over items first..end of images * groups, for k of first_tap..end_tap."""
    table = as_pointer(walk[4], walk)
    rows, groups, positions, depth, first_tap, end_tap = walk[5], walk[6], walk[7], walk[8], walk[9], walk[10]
    columns = walk[11]
    row_offsets, column_offsets = as_pointer(walk[12], walk), as_pointer(walk[13], walk)
    totals, scratch = offset(workspace, walk[15]), offset(workspace, walk[16])
    panel = offset(scratch, walk[14])
    channel_size = table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    clear(scratch, walk[14])
    for group in range(groups):
        clear(offset(totals, (group * depth + first_tap) * columns), (end_tap - first_tap) * columns)
    for item in range(walk[0], walk[1]):
        pad_images(offset(x, item * table[CHANNELS] * channel_size), scratch, table, int64(1), walk[2], walk[3])
        out = offset(totals, item % groups * depth * columns)
        grad = offset(grad_out, item * rows * positions)
        for first in range(0, positions, CHUNK):
            count = min(CHUNK, positions - first)
            places = offset(column_offsets, first)
            column = int64(0)
            while column < columns:
                vectors = WIDE_VECTORS if columns - column >= WIDE_VECTORS * WIDTH else 1
                for v in range(vectors):
                    at = column + v * WIDTH
                    if at < rows:
                        present = min(rows - at, WIDTH)
                        _transpose_gradient(offset(grad, at * positions), positions, present, first, count,
                                            offset(panel, v * PLANE))
                    else:
                        clear(offset(panel, v * PLANE), count * WIDTH)
                most = WIDE_ROWS if vectors > 1 else NARROW_ROWS
                blocks = (end_tap - first_tap + most - 1) // most
                block = (end_tap - first_tap + blocks - 1) // blocks
                for k in range(first_tap, end_tap, block):
                    target, height_of_block = offset(out, k * columns + column), min(block, end_tap - k)
                    if vectors > 1:
                        multiply_indirect(WIDE_ROWS, WIDE_VECTORS, WIDTH, PLANE, height_of_block, count, scratch,
                                          offset(row_offsets, k), places, panel, target, columns)
                    else:
                        multiply_indirect(NARROW_ROWS, 1, WIDTH, PLANE, height_of_block, count, scratch,
                                          offset(row_offsets, k), places, panel, target, columns)
                column += vectors * WIDTH


def add_totals(totals, grad_weight, walk):
    """Add up the parts' totals, from (part, group, k, feature) to (group, feature, k), for feature blocks first..end of
    all groups. A block is as wide as a cache line, so that each line is read once."""
    rows, depth, columns, copies, size, blocks = walk[2], walk[3], walk[4], walk[5], walk[6], walk[7]
    for at in range(walk[0], walk[1]):
        group, first = at // blocks, at % blocks * WIDTH
        count = min(rows - first, WIDTH)
        source = offset(totals, group * depth * columns + first)
        out = offset(grad_weight, (group * rows + first) * depth)
        for k in range(depth):
            for row in range(count):
                total = source[k * columns + row]
                for copy in range(1, copies):
                    total += source[copy * size + k * columns + row]
                out[row * depth + k] = total


def plan_totals(dtype, shape):
    """Features as lanes."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    image, offsets, steps = forward_image(shape, dtype)
    places = index_table(np.arange(shape.out[0])[:, None, None] * steps[0] + np.arange(shape.out[1])[:, None] * steps[1]
                         + np.arange(shape.out[2]))
    depth, rows, groups, items = len(offsets), shape.features // shape.groups, shape.groups, shape.images * shape.groups
    vectors = -(-rows // names["WIDTH"])
    if vectors % names["WIDE_VECTORS"] == names["WIDE_VECTORS"] - 1:
        vectors += 1
    columns = vectors * names["WIDTH"]
    total = aligned(groups * depth * columns)
    scratch = image.elements + aligned(names["WIDE_VECTORS"] * names["PLANE"] + names["WIDTH"])
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    if items >= parts:
        cuts, copies = [(a, b, 0, depth) for a, b in pairwise(edges(items, parts))], parts
    else:
        parts, copies = min(parts, depth), 1
        cuts = [(0, items, a, b) for a, b in pairwise(edges(depth, parts))]
    descriptors = [(first, end, low // shape.taps, -(-high // shape.taps), image.table.ctypes.data, rows, groups, shape.places,
                    depth, low, high, columns, offsets.ctypes.data, places.ctypes.data, image.elements,
                    part * total if copies > 1 else 0, copies * total + part * scratch)
                   for part, (first, end, low, high) in enumerate(cuts)]
    sums = threads.prepare(kernel_for(weight_totals, dtype), descriptors, [(0, 0, 0)] * parts, release_lock=threaded)
    blocks = -(-rows // names["WIDTH"])
    add_parts = min(parts, groups * blocks) if rows * groups * depth > 20_000 else 1
    add = threads.prepare(kernel_for(add_totals, dtype), [(first, end, rows, depth, columns, copies, total, blocks)
                                                          for first, end in pairwise(edges(groups * blocks, add_parts))],
                          [(0, 0)] * add_parts)
    arguments = ("grad_out, x, grad_weight, workspace", "grad_out, x, workspace", "workspace, grad_weight")
    return sequence(sums, add, arguments, (copies * total + parts * scratch) * size, (image, offsets, places))


# ---------------------------------------------------------------- channels as lanes
# The descriptor.
FIRST, END, UNITS, GROUPS, IMAGES, CHANNELS_A_GROUP, BLOCKS, FEATURES, X_PLACES, PLACES, TAPS = range(11)
SIDE, SOURCES, PANEL_SPACE, LEFT_SPACE, TOTALS, SCRATCH, ROW_BLOCKS = range(11, 18)


def _turn(source, stride, present, count, rows, out):
    """out[p * rows_of_tile + r] = source[r * stride + p] for p < count; `rows` says which of the tile's two heights."""
    p = int64(0)
    while p < count:
        if count >= WIDTH:
            p = min(p, count - WIDTH)                    # the last block overlaps the one before
            if rows == ROWS:
                transpose_tile(ROWS, WIDTH, offset(source, p), stride, present, offset(out, p * ROWS))
            else:
                transpose_tile(COLUMNS, WIDTH, offset(source, p), stride, present, offset(out, p * COLUMNS))
            p += WIDTH
        else:
            for r in range(present):
                out[p * rows + r] = source[r * stride + p]
            p += 1


def weight_blocks(grad_out, x, grad_weight, workspace, walk):
    """The gradient for units first..end: runs of channel blocks of all groups."""
    features, channels, taps, x_places, places = walk[FEATURES], walk[CHANNELS_A_GROUP], walk[TAPS], walk[X_PLACES], walk[PLACES]
    blocks, images, groups, side, row_blocks = walk[BLOCKS], walk[IMAGES], walk[GROUPS], walk[SIDE], walk[ROW_BLOCKS]
    turned = offset(workspace, walk[SCRATCH])            # (block, image, place, COLUMNS), and a row of zeros at the end
    panel, left = offset(turned, walk[PANEL_SPACE]), offset(turned, walk[LEFT_SPACE])
    totals = offset(turned, walk[TOTALS])                # (block, tap, feature, COLUMNS)
    sources = as_pointer(walk[SOURCES], walk)
    block_size, left_size = side * x_places * COLUMNS, ROWS * CHUNK + WIDTH
    zeros = offset(panel, -COLUMNS)
    clear(zeros, COLUMNS)
    for unit in range(walk[FIRST], walk[END]):
        group, start = unit // walk[UNITS], unit % walk[UNITS] * blocks * COLUMNS
        here = min(channels - start, blocks * COLUMNS)   # channels of this unit
        for image in range(0, images, side):
            present = min(side, images - image)
            for block in range(0, here, COLUMNS):
                for i in range(present):
                    _turn(offset(x, (((image + i) * groups + group) * channels + start + block) * x_places), x_places,
                          min(here - block, COLUMNS), x_places, int64(COLUMNS),
                          offset(turned, block // COLUMNS * block_size + i * x_places * COLUMNS))
            for first in range(0, places, CHUNK):
                count = min(CHUNK, places - first)       # of each image
                for block in range(row_blocks):
                    row = block_start(block, row_blocks, features)
                    height = block_start(block + 1, row_blocks, features) - row
                    for i in range(present):
                        _turn(offset(grad_out, (((image + i) * groups + group) * features + row) * places + first), places,
                              height, count, int64(ROWS), offset(left, block * left_size + i * count * ROWS))
                for block in range(0, here, COLUMNS):
                    for tap in range(taps):
                        for i in range(present):
                            source = offset(turned, block // COLUMNS * block_size + i * x_places * COLUMNS)
                            for p in range(count):
                                at = sources[tap * places + first + p]
                                row_of_x = offset(source, at * COLUMNS) if at >= 0 else zeros
                                for v in range(VECTORS):
                                    copy_vector(WIDTH, offset(row_of_x, v * WIDTH),
                                                offset(panel, (i * count + p) * COLUMNS + v * WIDTH))
                        out = offset(totals, (block // COLUMNS * taps + tap) * features * COLUMNS)
                        for part in range(row_blocks):
                            row = block_start(part, row_blocks, features)
                            height = block_start(part + 1, row_blocks, features) - row
                            multiply_tile(ROWS, VECTORS, WIDTH, MASKED, height, present * count, offset(left, part * left_size),
                                          int64(1), int64(ROWS), panel, int64(COLUMNS), offset(out, row * COLUMNS),
                                          int64(COLUMNS), int64(COLUMNS), T(1), T(1), totals,
                                          int64(ACCUMULATE if image > 0 or first > 0 else 0))
        for feature in range(features):
            to = offset(grad_weight, ((group * features + feature) * channels + start) * taps)
            for block in range(0, here, COLUMNS):
                width = min(here - block, COLUMNS)
                for tap in range(taps):
                    source = offset(totals, ((block // COLUMNS * taps + tap) * features + feature) * COLUMNS)
                    if taps == 1:
                        for c in range(width):
                            to[block + c] = source[c]
                    else:
                        for c in range(width):
                            to[(block + c) * taps + tap] = source[c]


def _sources(shape):
    """Where each tap finds each place of the output in the input, or -1 outside."""
    axes = []
    for size, kernel, stride, padding, dilation, out in zip(shape.size, shape.kernel, shape.stride, shape.padding, shape.dilation,
                                                            shape.out):
        at = np.arange(kernel)[:, None] * dilation - padding + np.arange(out) * stride
        axes.append(np.where((at >= 0) & (at < size), at, -1))
    d, h, w = (axis.reshape([n if i == number else 1 for n in axis.shape for i in range(3)]) for number, axis in enumerate(axes))
    inside = (d >= 0) & (h >= 0) & (w >= 0)
    return index_table(np.where(inside, (d * shape.size[1] + h) * shape.size[2] + w, -1))


def plan_blocks(dtype, shape):
    """Channels as lanes."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    columns, rows = names["COLUMNS"], names["ROWS"]
    groups, channels, features, taps = shape.groups, shape.channels // shape.groups, shape.features // shape.groups, shape.taps
    x_places, places = math.prod(shape.size), shape.places
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    every = -(-channels // columns)
    blocks = min(max(1, TOTALS_BYTES // (features * taps * columns * size)), -(-every // (-(-parts // groups))))
    units = -(-every // blocks)
    side = max(1, min(shape.images, CHUNK // places))
    row_blocks = -(-features // rows)
    turned = aligned(blocks * side * x_places * columns + columns)
    panel = aligned(CHUNK * columns + names["WIDTH"])
    left = aligned(row_blocks * (rows * CHUNK + names["WIDTH"]))
    totals = aligned(blocks * taps * features * columns)
    scratch = turned + panel + left + totals
    sources = _sources(shape)
    parts = min(parts, groups * units)
    descriptors = [(first, end, units, groups, shape.images, channels, blocks, features, x_places, places, taps, side,
                    sources.ctypes.data, turned, turned + panel, turned + panel + left, part * scratch, row_blocks)
                   for part, (first, end) in enumerate(pairwise(edges(groups * units, parts)))]
    prepared = threads.prepare(kernel_for(weight_blocks, dtype), descriptors, [(0,) * 4] * parts, release_lock=threaded)
    return threads.Prepared(prepared.call, prepared.walk, parts * scratch * size, (prepared, sources))
