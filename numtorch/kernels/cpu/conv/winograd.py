"""Convolution by 3 x 3 with stride 1 in 16 multiplications for 4 outputs instead of 36.

Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, "Fast algorithms for convolutional neural networks", 2015):
tiles of 4 x 4 elements, two apart, and the kernels are transformed by additions; their products, summed over channels, are
16 matrix products; and each is transformed back to 2 x 2 outputs. The transforms only add and halve: the error is 1.2 (64
channels) to 3 times (512) that of the direct sum, of some 2e-7. The gradient for the input is the same with the kernels
flipped.

Tiles are the places of a convolution by 4 x 4 of stride 2, so they are found and panelled as in `panel.py`.
float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy import float32, inf, int64

from ... import threads
from ...families.windows import Geometry
from ...intrinsics import as_pointer, local_array, offset
from ...program import sequence
from ..micro.tile import multiply_tile, transpose_tile
from .image import (
    CHANNEL_STEP,
    CHANNELS,
    IMAGE_STEP,
    ROWS_PADDED,
    X_COLUMNS,
    X_DEPTH,
    X_IMAGE,
    X_ROWS,
    aligned,
    clear,
    edges,
    edges_of_panels,
    forward_image,
    kernel_for,
    micro,
    pad_lines,
    tile_names,
)
from .panel import images_side_by_side
from .panel_loops import block_start, images_of_panels

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32

CHUNK_ELEMENTS = 400_000                                 # of transformed tiles and their products, in the second-level cache
IMAGE_BYTES = 4 << 20                                    # images side by side: each is read once, the weight for every panel
# Products of channels a tile from which threads share features, not tiles: each then reads the weight it has transformed itself. On
# two processors without a cache in common 1 x 256 x 14 x 14 to 256 takes twice as long when both read all of it, on two that share
# one 0.93 times. For 1 x 64 x 28 x 28 every thread would transform all tiles, which takes 1.14 times as long.
WEIGHTS_A_TILE = 400
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win


def _winograd_input(width, image, offsets, out, step, count):
    """out[e * step + i] = (B^T d B)[e] for the i < count tiles d[e] = image[offsets[e] + i]; width is a literal."""
    for i in range(min(count, width)):
        d = [[image[offsets[4 * r + c] + i] for c in range(4)] for r in range(4)]
        rows = [[d[0][c] - d[2][c] for c in range(4)], [d[1][c] + d[2][c] for c in range(4)],
                [d[2][c] - d[1][c] for c in range(4)], [d[1][c] - d[3][c] for c in range(4)]]
        for r, row in enumerate(rows):
            for c, value in enumerate((row[0] - row[2], row[1] + row[2], row[2] - row[1], row[1] - row[3])):
                out[(4 * r + c) * step + i] = value


def _winograd_weight(width, source, pitch, flipped, out, step):
    """out[e * step + i] = (G g G^T)[e] for `width` kernels g[t] = source[t * pitch + i], or g[8 - t] when `flipped`."""
    for i in range(width):
        g = [[source[((8 - 3 * r - c) if flipped else 3 * r + c) * pitch + i] for c in range(3)] for r in range(3)]
        half = type(g[0][0])(0.5)
        rows = [g[0], [half * (g[0][c] + g[1][c] + g[2][c]) for c in range(3)],
                [half * (g[0][c] - g[1][c] + g[2][c]) for c in range(3)], g[2]]
        for r, row in enumerate(rows):
            for c, value in enumerate((row[0], half * (row[0] + row[1] + row[2]), half * (row[0] - row[1] + row[2]), row[2])):
                out[(4 * r + c) * step + i] = value


def _winograd_output(width, sums, step, bias, lowest, out, out_row, rows, columns):
    """The 2 x 2 outputs A^T m A + bias of `width` tiles m[e] = sums[e * step + i], as far as there are `rows` and `columns`;
    what is below `lowest` becomes 0."""
    for i in range(width):
        m = [[sums[(4 * r + c) * step + i] for c in range(4)] for r in range(4)]
        lines = [[m[0][c] + m[1][c] + m[2][c] for c in range(4)], [m[1][c] - m[2][c] - m[3][c] for c in range(4)]]
        for r, line in enumerate(lines[:rows]):
            for c, value in enumerate((line[0] + line[1] + line[2], line[1] - line[2] - line[3])):
                if 2 * i + c < columns:
                    value = value + bias
                    out[r * out_row + 2 * i + c] = type(value)(0) if value < lowest else value


winograd_input = micro(_winograd_input, "winograd_input")
winograd_weight = micro(_winograd_weight, "winograd_weight")
winograd_output = micro(_winograd_output, "winograd_output")

# The descriptor.
FIRST, END, PANELS, GROUPS, IMAGES, SIDE, M, BLOCKS, TOGETHER, IMAGE_TABLE, OFFSETS = range(11)
TILE_ROWS, TILE_COLUMNS, ROW_STEP, OUT_ROWS, OUT_COLUMNS, HAS_BIAS, RELU_FLAG = range(11, 18)
W_ROW, W_COLUMN, W_GROUP, W_FLIPPED, W_LIMIT, ELEMENT_SIZE, GROUP_SIZE = range(18, 25)
TILES_SPACE, SUMS_SPACE, SCRATCH, FIRST_BLOCK, END_BLOCK = range(25, 30)


def transform_weight(weight, packed, descriptor):
    """Row blocks first..end of groups * blocks: each as (k, ROWS), in every of the 16 elements."""
    rows, blocks = descriptor[M], descriptor[BLOCKS]
    depth = as_pointer(descriptor[IMAGE_TABLE], descriptor)[CHANNELS]
    transposed = local_array(T, 512)
    for at in range(descriptor[FIRST], descriptor[END]):
        group, block = at // blocks, at % blocks
        start = block_start(block, blocks, rows)
        height = block_start(block + 1, blocks, rows) - start
        first = group * descriptor[W_GROUP] + start * descriptor[W_ROW]
        out = offset(packed, group * descriptor[GROUP_SIZE] + block * (ROWS * depth + WIDTH))
        for k in range(depth):
            source = offset(weight, first + k * descriptor[W_COLUMN])
            for tap in range(0, 9, WIDTH):
                if first + k * descriptor[W_COLUMN] + (height - 1) * descriptor[W_ROW] + tap + WIDTH <= descriptor[W_LIMIT]:
                    transpose_tile(ROWS, WIDTH, offset(source, tap), descriptor[W_ROW], height, offset(transposed, tap * ROWS))
                else:
                    for i in range(tap, min(tap + WIDTH, 9)):
                        for row in range(ROWS):
                            transposed[i * ROWS + row] = source[min(row, height - 1) * descriptor[W_ROW] + i]
            for row in range(0, ROWS, WIDTH):
                winograd_weight(WIDTH, offset(transposed, row), int64(ROWS), descriptor[W_FLIPPED], offset(out, k * ROWS + row),
                                descriptor[ELEMENT_SIZE])


def _locate(first, count, sources, columns, lengths, descriptor):
    """Cut tiles first..first + count where their rows end, and into vectors. Returns how many pieces there are; of each, the
    number of its first tile, its column in the panel and its length."""
    width = descriptor[TILE_COLUMNS]
    pieces, column, start = int64(0), int64(0), first % width
    while column < count:
        length = min(width - start, count - column, WIDTH)
        sources[pieces], columns[pieces], lengths[pieces] = first + column, column, length
        pieces += 1
        column += length
        start += length
        if start == width:
            start = int64(0)
    return pieces


def _transform_tiles(image, table, offsets, first, count, descriptor, panel):
    """A panel (16 elements, channels, COLUMNS) of the tiles first..first + count of the images side by side."""
    channels, width, height = table[CHANNELS], descriptor[TILE_COLUMNS], descriptor[TILE_ROWS]
    channel_step, step = table[CHANNEL_STEP], channels * COLUMNS + WIDTH
    sources, columns, lengths = local_array(int64, 64), local_array(int64, 64), local_array(int64, 64)
    if count < COLUMNS:                                  # what nobody wrote may be subnormal, and then is 50 times as slow
        clear(panel, 16 * step)
    pieces = _locate(first, count, sources, columns, lengths, descriptor)
    for piece in range(pieces):
        row = sources[piece] // width
        sources[piece] = (row // height * table[IMAGE_STEP] + row % height * descriptor[ROW_STEP] + sources[piece] % width)
    for channel in range(channels):
        source, to = offset(image, channel * channel_step), offset(panel, channel * COLUMNS)
        for piece in range(pieces):
            winograd_input(WIDTH, offset(source, sources[piece]), offsets, offset(to, columns[piece]), step, lengths[piece])


def _store_tiles(sums, bias, out, out_image, first, count, descriptor):
    """Transform a panel's sums (16 elements, rows, COLUMNS) to outputs."""
    rows, blocks, width, height = descriptor[M], descriptor[BLOCKS], descriptor[TILE_COLUMNS], descriptor[TILE_ROWS]
    out_rows, out_columns = descriptor[OUT_ROWS], descriptor[OUT_COLUMNS]
    lowest = T(0) if descriptor[RELU_FLAG] != 0 else T(-inf)
    targets, columns = local_array(int64, 64), local_array(int64, 64)
    lengths, lines = local_array(int64, 64), local_array(int64, 64)
    pieces = _locate(first, count, targets, columns, lengths, descriptor)
    for piece in range(pieces):
        row, start = targets[piece] // width, targets[piece] % width * 2
        line = row % height * 2
        targets[piece] = row // height * out_image + line * out_columns + start
        lengths[piece], lines[piece] = min(out_columns - start, lengths[piece] * 2), min(out_rows - line, int64(2))
    for feature in range(block_start(descriptor[FIRST_BLOCK], blocks, rows), block_start(descriptor[END_BLOCK], blocks, rows)):
        shift = bias[feature] if descriptor[HAS_BIAS] != 0 else T(0)
        source, to = offset(sums, feature * COLUMNS), offset(out, feature * out_rows * out_columns)
        for piece in range(pieces):
            winograd_output(WIDTH, offset(source, columns[piece]), rows * COLUMNS + WIDTH, shift, lowest,
                            offset(to, targets[piece]), out_columns, lines[piece], lengths[piece])


def _lines_under(low, high, number, end, table, descriptor):
    """The padded rows that the tiles of panels number..end need: of images low..high all, of a single one those under them (of two
    threads at 1 x 64 x 56 x 56 each its half)."""
    if high - low > 1:
        return int64(0), table[ROWS_PADDED]
    width, tiles = descriptor[TILE_COLUMNS], descriptor[TILE_ROWS] * descriptor[TILE_COLUMNS]
    first, last = max(number * COLUMNS - low * tiles, int64(0)), min(end * COLUMNS - low * tiles, tiles) - 1
    return first // width * 2, last // width * 2 + 4


def _clear_lines(image, low, high, first_line, end_line, table, descriptor):
    """Zeros where these rows of images low..high are to stand."""
    row_step = descriptor[ROW_STEP] // 2
    for plane in range(low * table[CHANNELS], high * table[CHANNELS]):
        clear(offset(image, plane * table[CHANNEL_STEP] + first_line * row_step), (end_line - first_line) * row_step + WIDTH)


def winograd(x, weight, bias, out, workspace, descriptor):
    """Panels first..end of tiles over items (blocks of images, groups), for blocks of features."""
    rows, blocks, groups, panels = descriptor[M], descriptor[BLOCKS], descriptor[GROUPS], descriptor[PANELS]
    table, offsets = as_pointer(descriptor[IMAGE_TABLE], descriptor), as_pointer(descriptor[OFFSETS], descriptor)
    image = offset(workspace, descriptor[SCRATCH])
    tiles, sums = offset(image, descriptor[TILES_SPACE]), offset(image, descriptor[SUMS_SPACE])
    depth = table[CHANNELS]
    channel_size = depth * table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    out_plane = descriptor[OUT_ROWS] * descriptor[OUT_COLUMNS]
    image_tiles = descriptor[TILE_ROWS] * descriptor[TILE_COLUMNS]
    tiles_step, sums_step = depth * COLUMNS + WIDTH, rows * COLUMNS + WIDTH      # a line apart from a power of 2
    tiles_size, sums_size = 16 * tiles_step, 16 * sums_step
    one_item = (descriptor[END] - 1) // panels == descriptor[FIRST] // panels
    if not one_item:
        clear(image, descriptor[TILES_SPACE])
    held = int64(-1)
    at = descriptor[FIRST]
    while at < descriptor[END]:
        item, number = at // panels, at % panels
        group, first_image = item % groups, item // groups * descriptor[SIDE]
        images = min(descriptor[SIDE], descriptor[IMAGES] - first_image)
        if item != held:
            end = min(panels, number + descriptor[END] - at)
            low, high = images_of_panels(number, end, image_tiles, images)
            first_line, end_line = _lines_under(low, high, number, end, table, descriptor)
            if one_item:
                _clear_lines(image, low, high, first_line, end_line, table, descriptor)
            source = offset(x, (first_image + low) * table[X_IMAGE] + group * channel_size)
            pad_lines(source, offset(image, low * table[IMAGE_STEP]), table, high - low, first_line, end_line)
            held = item
        total = images * image_tiles
        live = (total + COLUMNS - 1) // COLUMNS          # panels, in the last block of images fewer
        if number >= live:
            at += panels - number
            continue
        together = min(descriptor[TOGETHER], live - number, descriptor[END] - at)
        for p in range(together):
            first = (number + p) * COLUMNS
            _transform_tiles(image, table, offsets, first, min(total - first, COLUMNS), descriptor, offset(tiles, p * tiles_size))
        for element in range(16):
            for block in range(descriptor[FIRST_BLOCK], descriptor[END_BLOCK]):
                row = block_start(block, blocks, rows)
                left = offset(workspace,
                              group * descriptor[GROUP_SIZE] + element * descriptor[ELEMENT_SIZE] + block * (ROWS * depth + WIDTH))
                for p in range(together):
                    multiply_tile(ROWS, VECTORS, WIDTH, MASKED, block_start(block + 1, blocks, rows) - row, depth, left, int64(1),
                                  int64(ROWS), offset(tiles, p * tiles_size + element * tiles_step), int64(COLUMNS),
                                  offset(sums, p * sums_size + element * sums_step + row * COLUMNS), int64(COLUMNS), int64(COLUMNS),
                                  T(1), T(1), bias, int64(0))
        for p in range(together):
            first = (number + p) * COLUMNS
            _store_tiles(offset(sums, p * sums_size), offset(bias, group * rows),
                         offset(out, (first_image * groups + group) * rows * out_plane), groups * rows * out_plane, first,
                         min(total - first, COLUMNS), descriptor)
        at += together


# ---------------------------------------------------------------- planning
def _tiling(shape: Geometry) -> Geometry:
    """The convolution whose places are the tiles."""
    return shape._replace(kernel=(1, 4, 4), stride=(1, 2, 2), dilation=(1, 1, 1),
                          out=(1, -(-shape.out[1] // 2), -(-shape.out[2] // 2)))


def _gradient_geometry(shape: Geometry) -> Geometry:
    """The convolution of the output's gradient that gives the input's."""
    return Geometry(shape.images, shape.features, shape.out, shape.channels, shape.kernel, shape.stride,
                    (0, 2 - shape.padding[1], 2 - shape.padding[2]), shape.dilation, shape.groups, shape.size)


def suits(dtype, shape) -> bool:
    """Whether this takes less time than the direct sum: float32, a kernel of 3 x 3, enough channels to multiply and enough
    tiles to make up for transforming the weight, one for 2000 of its channels times features."""
    tiles = shape.images * -(-shape.out[1] // 2) * -(-shape.out[2] // 2)
    return (dtype == "float32" and shape.kernel == (1, 3, 3) and shape.stride == (1, 1, 1) and shape.dilation == (1, 1, 1)
            and shape.size[0] == 1 and shape.padding[0] == 0 and max(shape.padding) <= 2
            and min(shape.channels, shape.features) // shape.groups >= 32
            and tiles >= max(40, shape.channels * shape.features // shape.groups ** 2 / 2000))


def _plan(dtype, shape, weight, flipped, bias, relu, arguments):
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    tiling = _tiling(shape)
    columns, tile_count = names["COLUMNS"], tiling.places
    depth, rows, groups = shape.channels // shape.groups, shape.features // shape.groups, shape.groups
    image, _, _ = forward_image(tiling, dtype)
    side = images_side_by_side(shape, tile_count, image.elements * size, columns, IMAGE_BYTES)
    image, offsets, steps = forward_image(tiling, dtype, side)
    items, panels, blocks = -(-shape.images // side) * groups, -(-tile_count * side // columns), -(-rows // names["ROWS"])
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    by_features = groups == 1 and blocks >= parts > 1 and depth * rows >= WEIGHTS_A_TILE * tile_count * shape.images
    parts = parts if by_features else min(parts, items * panels)
    together = max(CHUNK_ELEMENTS // (16 * columns * (depth + rows)), 4)
    together = -(-panels // -(-panels // together))
    element_size = (aligned(blocks * (names["ROWS"] * depth + names["WIDTH"])) // 16 | 1) * 16
    packed = 16 * element_size * groups
    tiles_at = image.elements
    sums_at = tiles_at + aligned(together * 16 * (depth * columns + names["WIDTH"]))
    scratch = sums_at + aligned(together * 16 * (rows * columns + names["WIDTH"]) + names["WIDTH"])
    block_cuts = list(pairwise(edges(groups * blocks, parts)))
    if by_features:
        cuts = [(0, items * panels, *cut) for cut in block_cuts]
    else:
        cuts = [(*cut, 0, blocks) for cut in pairwise(edges_of_panels(shape, side, tile_count, parts, columns))]
    limit = math.prod(shape.kernel) * shape.features * shape.channels // groups
    descriptors = [(first, end, panels, groups, shape.images, side, rows, blocks, together, image.table.ctypes.data,
                    offsets.ctypes.data, tiling.out[1], tiling.out[2], steps[1], shape.out[1], shape.out[2], int(bias), int(relu),
                    *weight, int(flipped), limit, element_size, 16 * element_size, tiles_at, sums_at, packed + part * scratch,
                    first_block, end_block) for part, (first, end, first_block, end_block) in enumerate(cuts)]
    multiply = threads.prepare(kernel_for(winograd, dtype), descriptors, release_lock=threaded)
    pack = threads.prepare(kernel_for(transform_weight, dtype), [(first, end, *descriptors[0][2:]) for first, end in block_cuts])
    return sequence(arguments, [(pack, "weight, workspace"), (multiply, arguments)], (packed + parts * scratch) * size,
                    (image, offsets))


def plan_forward(dtype, shape, bias, relu):
    depth, rows = shape.channels // shape.groups, shape.features // shape.groups
    return _plan(dtype, shape, (depth * 9, 9, rows * depth * 9), False, bias, relu, "x, weight, bias, out, workspace")


def plan_input_grad(dtype, shape, bias=False):
    channels, features = shape.channels // shape.groups, shape.features // shape.groups
    return _plan(dtype, _gradient_geometry(shape), (9, channels * 9, features * channels * 9), True, bias, False,
                 "grad_out, weight, bias, grad_x, workspace")
