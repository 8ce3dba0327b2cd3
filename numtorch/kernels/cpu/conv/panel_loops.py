"""The loops of convolution by panels (`panel.py`): weights and panels of the padded image packed for the register tile, and their
products."""
from __future__ import annotations

from numpy import float32, int64

from ...intrinsics import as_pointer, local_array, offset
from ..micro.tile import ACCUMULATE, copy_row, multiply_tile, transpose_tile
from .image import (
    CHANNELS,
    IMAGE_STEP,
    X_COLUMNS,
    X_DEPTH,
    X_IMAGE,
    X_ROWS,
    clear,
    copy_vector,
    pad_images,
    scatter_run,
)

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32

# The descriptor.
FIRST, END, FIRST_BLOCK, END_BLOCK, BLOCKS, M, OUT_PLANE, GROUPS, IMAGES, SIDE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
IMAGE_TABLE, PHASE_TABLE, PHASES, PANELS, FLAGS, SCATTER = 10, 11, 12, 13, 14, 15
CHUNK, W_FEATURES, GROUPED_PANELS, GROUPED_BLOCKS = 16, 17, 18, 19
W_PLACE, W_ROW, W_GROUP, W_RUN, W_LIMIT, W_PACKED = 20, 21, 22, 23, 24, 25
PANEL_SPACE, TILE_SPACE, LEFT_SPACE, SCRATCH, W_FEATURE = 26, 27, 28, 29, 30
IN_PLACE, PACKED_BEFORE, PACKED_INSIDE = 0, 1, 2         # where the weight is taken from

# A phase's words: its first panel, the depth, offsets and places in the weight of each k, where its packed weight starts,
# rows of places and their width, where each row starts in the image and in the output, and the output's column step.
P_PANEL, P_DEPTH, P_OFFSETS, P_TAPS, P_PACKED, P_ROWS, P_WIDTH, P_SOURCES, P_TARGETS, P_STEP, P_WORDS = range(11)


# ---------------------------------------------------------------- the weight
def block_start(block, blocks, rows):
    """Blocks of rows are of even heights, which the register tile computes without repeating a row."""
    return min((rows + 1) // 2 * block // blocks * 2, rows)


def _pack_block(source, row_stride, limit, height, taps, run, first, end, out):
    """out[(k - first) * ROWS + r] = source[r * row_stride + taps[k]]; taps lie side by side in runs of `run`, and `limit`
    elements may be read."""
    k = first
    while k < end:
        inside = min(run - k % run, end - k)
        back = WIDTH - inside
        if back > 0 and k - first >= back and k % run >= back:
            k -= back                                    # the last vector of a run overlaps the one before
            inside = int64(WIDTH)
        to = offset(out, (k - first) * ROWS)
        if end - k >= WIDTH and taps[k] + (height - 1) * row_stride + WIDTH <= limit and inside * 2 >= WIDTH:
            transpose_tile(ROWS, WIDTH, offset(source, taps[k]), row_stride, height, to)
            k += min(inside, int64(WIDTH))
        elif row_stride == 1 and MASKED != 0:
            for i in range(inside):
                for row in range(0, height, WIDTH):
                    copy_row(1, WIDTH, MASKED, offset(source, taps[k + i] + row), height - row, offset(to, i * ROWS + row))
            k += inside
        else:
            for i in range(inside):
                tap = taps[k + i]
                for row in range(height):
                    to[i * ROWS + row] = source[row * row_stride + tap]
            k += inside


def _pack_all_phases(source, limit, height, block, packed, descriptor):
    """As `_pack_block` for all of k and every phase, whose taps take turns: a feature's taps are transposed together."""
    transposed = local_array(T, 1024)                        # MOST_TAPS and a vector more, of ROWS each
    row_stride, features, feature_stride = descriptor[W_ROW], descriptor[W_FEATURES], descriptor[W_FEATURE]
    phases = as_pointer(descriptor[PHASE_TABLE], descriptor)
    for feature in range(features):
        start = offset(source, feature * feature_stride)
        for tap in range(0, row_stride, WIDTH):
            to = offset(transposed, tap * ROWS)
            if feature * feature_stride + (height - 1) * row_stride + tap + WIDTH <= limit:
                transpose_tile(ROWS, WIDTH, offset(start, tap), row_stride, height, to)
            else:
                for i in range(min(row_stride - tap, WIDTH)):
                    for row in range(height):
                        to[i * ROWS + row] = start[row * row_stride + tap + i]
        for number in range(descriptor[PHASES]):
            phase = offset(phases, number * P_WORDS)
            taps, served = as_pointer(phase[P_TAPS], descriptor), phase[P_DEPTH] // features
            out = offset(packed, phase[P_PACKED] + block * (ROWS * phase[P_DEPTH] + WIDTH) + feature * served * ROWS)
            for i in range(served):
                for row in range(ROWS):
                    out[i * ROWS + row] = transposed[taps[i] * ROWS + row]


def pack_weight(weight, packed, descriptor):
    """Row blocks first..end of groups * blocks, each as (k, ROWS), for every phase."""
    rows, blocks = descriptor[M], descriptor[BLOCKS]
    phases = as_pointer(descriptor[PHASE_TABLE], descriptor)
    for at in range(descriptor[FIRST], descriptor[END]):
        group, block = at // blocks, at % blocks
        start = block_start(block, blocks, rows)
        height = block_start(block + 1, blocks, rows) - start
        skipped = group * descriptor[W_GROUP] + start * descriptor[W_ROW]
        out = offset(packed, group * descriptor[W_PACKED])
        if descriptor[W_FEATURES] > 0:
            _pack_all_phases(offset(weight, skipped), descriptor[W_LIMIT] - skipped, height, block, out, descriptor)
        else:
            for number in range(descriptor[PHASES]):
                phase = offset(phases, number * P_WORDS)
                depth = phase[P_DEPTH]
                _pack_block(offset(weight, skipped), descriptor[W_ROW], descriptor[W_LIMIT] - skipped, height,
                            as_pointer(phase[P_TAPS], descriptor),
                            descriptor[W_RUN], int64(0), depth, offset(out, phase[P_PACKED] + block * (ROWS * depth + WIDTH)))


# ---------------------------------------------------------------- panels
def _locate(phase, first, count, sources, targets, descriptor):
    """Cut places first..first + count where their rows end. Returns how many vectors are to be copied; into `sources` and
    `targets` goes from where and to which column."""
    width, row_sources = phase[P_WIDTH], as_pointer(phase[P_SOURCES], descriptor)
    copies, column = int64(0), int64(0)
    row, start = first // width, first % width
    while column < count:
        length = min(width - start, count - column)
        source = row_sources[row] + start
        for i in range(0, length, WIDTH):
            sources[copies], targets[copies] = source + i, column + i
            copies += 1
        column += length
        row += 1
        start = int64(0)
    return copies


def _pack_panel(image, offsets, first, end, sources, targets, copies, panel):
    """Pack rows first..end. Each copy is a whole vector; what it writes beyond its share, the next copy overwrites."""
    start = offset(image, sources[0])
    if copies == 1:
        for k in range(first, end):
            copy_vector(WIDTH, offset(start, offsets[k]), offset(panel, (k - first) * COLUMNS))
    elif copies == 2:
        second, to = offset(image, sources[1]), targets[1]
        for k in range(first, end):
            row, at = offset(panel, (k - first) * COLUMNS), offsets[k]
            copy_vector(WIDTH, offset(start, at), row)
            copy_vector(WIDTH, offset(second, at), offset(row, to))
    elif copies == 3:
        second, to = offset(image, sources[1]), targets[1]
        third, there = offset(image, sources[2]), targets[2]
        for k in range(first, end):
            row, at = offset(panel, (k - first) * COLUMNS), offsets[k]
            copy_vector(WIDTH, offset(start, at), row)
            copy_vector(WIDTH, offset(second, at), offset(row, to))
            copy_vector(WIDTH, offset(third, at), offset(row, there))
    else:
        for k in range(first, end):
            row = offset(panel, (k - first) * COLUMNS)
            source = offset(image, offsets[k])
            for i in range(copies):
                copy_vector(WIDTH, offset(source, sources[i]), offset(row, targets[i]))


def _store_panel(tile, first_row, end_row, out, out_plane, phase, first, count, descriptor):
    """Bring a panel's sums from its own buffer to their places in the output."""
    width, step, row_targets = phase[P_WIDTH], phase[P_STEP], as_pointer(phase[P_TARGETS], descriptor)
    column, row, start = int64(0), first // width, first % width
    while column < count:
        length = min(width - start, count - column)
        place = row_targets[row] + start * step
        for i in range(first_row, end_row):
            scatter_run(offset(tile, i * COLUMNS + column), offset(out, i * out_plane + place), step, length)
        column += length
        row += 1
        start = int64(0)


def images_of_panels(first, end, places, images):
    """The range of images whose places are in panels first..end."""
    return first * COLUMNS // places, min((end * COLUMNS + places - 1) // places, images)


def _pack_panels(scratch, phase, number, together, k, end, total, panel, descriptor):
    """Panels number.. of a phase, for a chunk of the depth."""
    sources, targets = local_array(int64, 64), local_array(int64, 64)
    for p in range(together):
        first = (number + p) * COLUMNS
        if first < total:
            copies = _locate(phase, first, min(total - first, COLUMNS), sources, targets, descriptor)
            to = offset(panel, p * descriptor[CHUNK] * COLUMNS)
            if total - first < COLUMNS:                  # what nobody wrote may be subnormal, and then is 50 times as slow
                clear(to, descriptor[CHUNK] * COLUMNS)
            _pack_panel(scratch, as_pointer(phase[P_OFFSETS], descriptor), k, end, sources, targets, copies, to)


def _pack_blocks(weight, group, phase, first, end_block, k, end, packed_left, descriptor):
    """Blocks of rows of a group's weight, for a chunk of the depth."""
    rows, blocks = descriptor[M], descriptor[BLOCKS]
    for block in range(first, end_block):
        row = block_start(block, blocks, rows)
        skipped = group * descriptor[W_GROUP] + row * descriptor[W_ROW]
        _pack_block(offset(weight, skipped), descriptor[W_ROW], descriptor[W_LIMIT] - skipped,
                    block_start(block + 1, blocks, rows) - row, as_pointer(phase[P_TAPS], descriptor), descriptor[W_RUN], k, end,
                    offset(packed_left, (block - first) * (ROWS * descriptor[CHUNK] + WIDTH)))


def _needs_tile(first, count, image_rows, descriptor):
    """Whether a panel's results go by way of a tile: their places in the output are of two images, or no neighbours, or fewer than
    vectors without a mask store."""
    last = first + max(count, 1) - 1
    return descriptor[SCATTER] != 0 or first // image_rows != last // image_rows or (MASKED == 0 and count < COLUMNS)


def _multiply_block(left, left_row, left_column, panel, depth, block, phase, number, together, total, image_rows, bias, mode, out,
                    tiles, descriptor):
    """A block of rows of the weight by `together` panels from `number` of a phase, to their places in the output or to tiles."""
    rows, blocks, width = descriptor[M], descriptor[BLOCKS], phase[P_WIDTH]
    row_targets = as_pointer(phase[P_TARGETS], descriptor)
    row = block_start(block, blocks, rows)
    height = block_start(block + 1, blocks, rows) - row
    for p in range(together):
        first = (number + p) * COLUMNS
        count = min(total - first, COLUMNS)
        to, pitch = offset(out, row_targets[first // width] + first % width), descriptor[OUT_PLANE]
        if _needs_tile(first, count, image_rows, descriptor):
            to, pitch = offset(tiles, p * rows * COLUMNS), int64(COLUMNS)
        if count > 0:
            multiply_tile(ROWS, VECTORS, WIDTH, MASKED, height, depth, left, left_row, left_column,
                          offset(panel, p * descriptor[CHUNK] * COLUMNS), COLUMNS, offset(to, row * pitch), pitch, count,
                          T(1), T(1), offset(bias, row), mode)


def correlate(x, weight, bias, out, workspace, descriptor):
    """Panels first..end over items (blocks of images, groups), phases and places; of each, row blocks
    first_block..end_block."""
    rows, blocks, groups = descriptor[M], descriptor[BLOCKS], descriptor[GROUPS]
    panels, out_plane = descriptor[PANELS], descriptor[OUT_PLANE]
    table, phases = as_pointer(descriptor[IMAGE_TABLE], descriptor), as_pointer(descriptor[PHASE_TABLE], descriptor)
    scratch = offset(workspace, descriptor[SCRATCH])
    panel, tiles = offset(scratch, descriptor[PANEL_SPACE]), offset(scratch, descriptor[TILE_SPACE])
    packed_left = offset(scratch, descriptor[LEFT_SPACE])
    first_block, end_block, weight_place = descriptor[FIRST_BLOCK], descriptor[END_BLOCK], descriptor[W_PLACE]
    first_row, end_row = block_start(first_block, blocks, rows), block_start(end_block, blocks, rows)
    channel_size = table[CHANNELS] * table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    clear(scratch, descriptor[PANEL_SPACE])
    held, number_of_phase = int64(-1), int64(0)
    at = descriptor[FIRST]
    while at < descriptor[END]:
        item, number = at // panels, at % panels
        group, image = item % groups, item // groups * descriptor[SIDE]
        images = min(descriptor[SIDE], descriptor[IMAGES] - image)
        if item != held:
            low, high = int64(0), images
            if descriptor[PHASES] == 1:
                low, high = images_of_panels(number, min(panels, number + descriptor[END] - at), phases[P_ROWS] * phases[P_WIDTH],
                                             images)
            pad_images(offset(x, (image + low) * table[X_IMAGE] + group * channel_size), offset(scratch, low * table[IMAGE_STEP]),
                       table, high - low)
            held, number_of_phase = item, int64(0)
        while number >= phases[(number_of_phase + 1) * P_WORDS + P_PANEL]:
            number_of_phase += 1
        phase = offset(phases, number_of_phase * P_WORDS)
        number -= phase[P_PANEL]
        depth, image_rows = phase[P_DEPTH], phase[P_ROWS] * phase[P_WIDTH]           # places of one image
        total = images * image_rows
        together = min(descriptor[GROUPED_PANELS], phase[P_WORDS + P_PANEL] - phase[P_PANEL] - number, descriptor[END] - at)
        group_weight = offset(weight, group * descriptor[W_GROUP])
        group_out = offset(out, (image * groups + group) * rows * out_plane)

        k = int64(0)
        while k == 0 or k < depth:
            end = min(k + descriptor[CHUNK], depth)
            _pack_panels(scratch, phase, number, together, k, end, total, panel, descriptor)
            mode = (ACCUMULATE if k > 0 else 0) | (descriptor[FLAGS] if end == depth else 0)
            for block_group in range(first_block, end_block, descriptor[GROUPED_BLOCKS]):
                last_block = min(block_group + descriptor[GROUPED_BLOCKS], end_block)
                if weight_place == PACKED_INSIDE:
                    _pack_blocks(weight, group, phase, block_group, last_block, k, end, packed_left, descriptor)
                for block in range(block_group, last_block):
                    left = offset(group_weight, block_start(block, blocks, rows) * descriptor[W_ROW] + k)
                    left_row, left_column = descriptor[W_ROW], int64(1)
                    if weight_place == PACKED_BEFORE:
                        left_row, left_column = int64(1), int64(ROWS)
                        left = offset(workspace, group * descriptor[W_PACKED] + phase[P_PACKED] + block * (ROWS * depth + WIDTH)
                                      + k * ROWS)
                    elif weight_place == PACKED_INSIDE:
                        left_row, left_column = int64(1), int64(ROWS)
                        left = offset(packed_left, (block - block_group) * (ROWS * descriptor[CHUNK] + WIDTH))
                    _multiply_block(left, left_row, left_column, panel, end - k, block, phase, number, together, total, image_rows,
                                    offset(bias, group * rows), mode, group_out, tiles, descriptor)
            k = max(end, int64(1))

        for p in range(together):
            first = (number + p) * COLUMNS
            count = min(total - first, COLUMNS)
            if _needs_tile(first, count, image_rows, descriptor):
                _store_panel(offset(tiles, p * rows * COLUMNS), first_row, end_row, group_out, out_plane, phase, first, count,
                             descriptor)
        at += together
