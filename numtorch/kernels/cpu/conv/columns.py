"""The gradient for the input of an unpadded convolution: a product over the output's places, then a sum for each input place.

As a correlation the gradient multiplies its padding: 12 x 12 places where there were 8 x 8. Here weight^T @ grad_out gives
what each tap contributes for each place of the output, several small images side by side, and every vector of the input
adds up the pieces that reach it, which tables list.

float32 and float64, stride 1. The planner here takes a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from ... import threads
from ...intrinsics import as_pointer, offset
from ..micro.tile import copy_row, multiply_tile
from .image import aligned, clear, copy_run, edges, index_table, kernel_for, micro, tile_names
from .panel import images_side_by_side
from .panel_loops import block_start

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32

PRODUCT_BYTES = 512 << 10                                # of the products at a time, in the second-level cache
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win


def _sum_pieces(width, number, pieces, source, start, out, count):
    """out[i] = start + the sum over pieces (at, lanes) of source[at + i] where bit i of `lanes` is set, for i < count.

    width is a literal; number is at least 1.
    """
    for i in range(min(count, width)):
        total = start
        for k in range(number):
            if pieces[2 * k + 1] >> i & 1:
                total += source[pieces[2 * k] + i]
        out[i] = total


sum_pieces = micro(_sum_pieces, "sum_pieces")

# The descriptor.
FIRST, END, BLOCKS_OF_IMAGES, CHUNKS, IMAGES, SIDE, GROUPS, CHANNELS, FEATURES, TAPS, PLACES, X_PLACES = range(12)
PITCH, CHUNK, HAS_BIAS, LINE_TABLE, LINES, PIECES, LEFT_SPACE, RIGHT_SPACE, SCRATCH, BLOCKS = range(12, 22)


def _pack_chunk(weight, stride, features, rows, blocks, out):
    """Row blocks of weight^T, each as (feature, ROWS)."""
    for block in range(blocks):
        first = block_start(block, blocks, rows)
        height = block_start(block + 1, blocks, rows) - first
        to = offset(out, block * (ROWS * features + WIDTH))
        for feature in range(features):
            source = offset(weight, feature * stride + first)
            if MASKED != 0:
                for row in range(0, height, WIDTH):
                    copy_row(1, WIDTH, MASKED, offset(source, row), height - row, offset(to, feature * ROWS + row))
            else:
                for row in range(height):
                    to[feature * ROWS + row] = source[row]


def columns_to_input(grad_out, weight, bias, grad_x, workspace, descriptor):
    """Items first..end of (group, block of images, chunk of channels)."""
    chunks, side, groups = descriptor[CHUNKS], descriptor[SIDE], descriptor[GROUPS]
    channels, features = descriptor[CHANNELS], descriptor[FEATURES]
    taps, places, x_places = descriptor[TAPS], descriptor[PLACES], descriptor[X_PLACES]
    pitch, blocks = descriptor[PITCH], descriptor[BLOCKS]
    lines, pieces = as_pointer(descriptor[LINE_TABLE], descriptor), as_pointer(descriptor[PIECES], descriptor)
    products = offset(workspace, descriptor[SCRATCH] + WIDTH)  # a piece may begin before its row
    left = offset(workspace, descriptor[SCRATCH] + descriptor[LEFT_SPACE])
    right = offset(workspace, descriptor[SCRATCH] + descriptor[RIGHT_SPACE])
    block_size = ROWS * features + WIDTH
    clear(right, features * pitch)
    held_group, held_images = int64(-1), int64(-1)
    for item in range(descriptor[FIRST], descriptor[END]):
        chunk, block_of_images = item % chunks, item // chunks
        group, first_image = block_of_images // descriptor[BLOCKS_OF_IMAGES], block_of_images % descriptor[BLOCKS_OF_IMAGES] * side
        images = min(side, descriptor[IMAGES] - first_image)
        if group != held_group:
            for c in range(chunks):
                start = c * descriptor[CHUNK]
                _pack_chunk(offset(weight, (group * features * channels + start) * taps), channels * taps, features,
                            min(descriptor[CHUNK], channels - start) * taps, blocks, offset(left, c * blocks * block_size))
            held_group = group
        if block_of_images != held_images:
            for i in range(images):
                source = offset(grad_out, ((first_image + i) * groups + group) * features * places)
                for feature in range(features):
                    copy_run(offset(source, feature * places), offset(right, feature * pitch + i * places), places)
            held_images = block_of_images
        start = chunk * descriptor[CHUNK]
        present = min(descriptor[CHUNK], channels - start)
        rows = present * taps
        for block in range(blocks):
            row = block_start(block, blocks, rows)
            height = block_start(block + 1, blocks, rows) - row
            if height > 0:
                for column in range(0, images * places, COLUMNS):
                    multiply_tile(ROWS, VECTORS, WIDTH, MASKED, height, features,
                                  offset(left, (chunk * blocks + block) * block_size), int64(1), int64(ROWS), offset(right, column),
                                  pitch, offset(products, row * pitch + column), pitch, int64(COLUMNS), T(1), T(1), bias, int64(0))
        for i in range(images):
            for c in range(present):
                channel = group * channels + start + c
                shift = bias[channel] if descriptor[HAS_BIAS] != 0 else T(0)
                source = offset(products, c * taps * pitch + i * places)
                out = offset(grad_x, ((first_image + i) * groups * channels + channel) * x_places)
                for number in range(descriptor[LINES]):
                    line = offset(lines, number * 4)
                    sum_pieces(WIDTH, line[1], offset(pieces, line[0] * 2), source, shift, offset(out, line[2]), line[3])


# ---------------------------------------------------------------- planning
def efficiency(dtype, shape):
    """As `conv.py` means it. To write and to read again what is summed costs as much as 8 more features."""
    features = shape.features // shape.groups
    places = max(shape.places, tile_names(dtype)["COLUMNS"] / max(shape.images, 1))
    return 0.94 * features / (features + 8) * shape.places / places if features >= 4 else 0


def pays_for_few(dtype, shape):
    """Whether this suits few channels better than one product (`unfold.py`), for which small images are copied side by side."""
    small = shape.out[1] > 1 and shape.places <= 1024
    return small and shape.stride == (1, 1, 1) and (dtype == "float32" or not any(shape.padding))


def _pieces(shape, pitch, width):
    """Tables of the vectors of an input plane, (first piece, pieces, place, lanes), and of pieces, (place in the products of a
    channel, bits of the lanes)."""
    lines, pieces = [], []
    taps = [[(k, k * d) for k in range(n)] for n, d in zip(shape.kernel, shape.dilation)]
    for z in range(shape.size[0]):
        depths = [(k, z + shape.padding[0] - s) for k, s in taps[0] if 0 <= z + shape.padding[0] - s < shape.out[0]]
        for y in range(shape.size[1]):
            rows = [(k, y + shape.padding[1] - s) for k, s in taps[1] if 0 <= y + shape.padding[1] - s < shape.out[1]]
            for x in range(0, shape.size[2], width):
                first, count = len(pieces), min(width, shape.size[2] - x)
                for kx, shift in taps[2]:
                    column = x + shape.padding[2] - shift
                    low, high = max(-column, 0), min(shape.out[2] - column, count)
                    if low < high:
                        pieces += [(((kz * shape.kernel[1] + ky) * shape.kernel[2] + kx) * pitch
                                    + (oz * shape.out[1] + oy) * shape.out[2] + column, (1 << high) - (1 << low))
                                   for kz, oz in depths for ky, oy in rows]
                if len(pieces) == first:
                    pieces.append((0, 0))
                lines.append((first, len(pieces) - first, (z * shape.size[1] + y) * shape.size[2] + x, count))
    return index_table(lines), index_table(pieces)


def plan_input_grad(dtype, shape, bias=False):
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    columns, width = names["COLUMNS"], names["WIDTH"]
    groups, channels, features, taps = shape.groups, shape.channels // shape.groups, shape.features // shape.groups, shape.taps
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    side = images_side_by_side(shape, shape.places, channels * taps * shape.places * size, columns, PRODUCT_BYTES)
    side = min(side, max(shape.images * groups // parts, 1))
    pitch = -(-side * shape.places // columns) * columns
    pitch = (-(-pitch // 16) | 1) * 16                   # an odd number of lines
    chunk = min(max(PRODUCT_BYTES // (taps * pitch * size), 1), channels)
    chunk = -(-channels // -(-channels // chunk))
    images, chunks = -(-shape.images // side), -(-channels // chunk)
    blocks = -(-chunk * taps // names["ROWS"])
    left_at = aligned(chunk * taps * pitch + columns) + 2 * width
    right_at = left_at + aligned(chunks * blocks * (names["ROWS"] * features + width))
    scratch = right_at + aligned(features * pitch + columns)
    lines, pieces = _pieces(shape, pitch, width)
    items = groups * images * chunks
    parts = min(parts, items)
    descriptors = [(first, end, images, chunks, shape.images, side, groups, channels, features, taps, shape.places,
                    math.prod(shape.size), pitch, chunk, int(bias), lines.ctypes.data, len(lines) // 4, pieces.ctypes.data,
                    left_at, right_at, part * scratch, blocks) for part, (first, end) in enumerate(pairwise(edges(items, parts)))]
    prepared = threads.prepare(kernel_for(columns_to_input, dtype), descriptors, release_lock=threaded)
    return prepared.with_workspace(parts * scratch * size, lines, pieces)
