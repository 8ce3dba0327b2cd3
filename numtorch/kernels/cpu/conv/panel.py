"""Convolution as a matrix product whose panels are packed straight from a padded image: no im2col buffer.

The right operand at (k, place) is `image[offsets[k] + row_sources[row] + column]`, where k counts channel and tap, and the
places of several small images can lie side by side. `correlate` packs panels of it for the register tile of `micro/tile.py`,
in the order of loops of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008). It is the
forward pass; and, over the gradient of the output with the weight's roles exchanged, the gradient for the input, once
for each stride phase of the input.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy import float32, int64

from ... import threads
from ...intrinsics import as_pointer, local_array, offset
from ...program import sequence
from ..micro.tile import ACCUMULATE, RELU, ROW_BIAS, copy_row, multiply_tile, transpose_tile
from .image import (
    CHANNELS,
    IMAGE_STEP,
    X_COLUMNS,
    X_DEPTH,
    X_IMAGE,
    X_ROWS,
    Image,
    aligned,
    clear,
    copy_vector,
    edges,
    edges_of_panels,
    forward_image,
    index_table,
    kernel_for,
    pad_images,
    scatter_run,
    tile_names,
)

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32

DEPTH = 256                                              # of a packed panel: 32 KB with 32 float32 columns
FEW_PANELS = 4                                           # up to here a weight is used in place
SMALL_GROUP = 8                                          # panels that follow one another: rows of the output are written so much
                                                         # at a time, which one panel alone is a cache miss
GROUP_PANELS = 32                                        # of a weight that exceeds the cache: read once for so many panels
GROUP_BLOCKS = 8                                         # and packed so many blocks of rows at a time
PACK_INSIDE_BYTES = 600_000                              # such a weight is packed inside the loops, at a block's first use
IMAGE_BYTES = 2 << 20                                    # images side by side stay in the second-level cache
MOST_TAPS = 49                                           # of a strided gradient whose weight is transposed at once
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win

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
        depth, width = phase[P_DEPTH], phase[P_WIDTH]
        image_rows = phase[P_ROWS] * width               # places of one image
        total = images * image_rows
        row_targets = as_pointer(phase[P_TARGETS], descriptor)
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
                    row = block_start(block, blocks, rows)
                    height = block_start(block + 1, blocks, rows) - row
                    left, left_row, left_column = offset(group_weight, row * descriptor[W_ROW] + k), descriptor[W_ROW], int64(1)
                    if weight_place == PACKED_BEFORE:
                        left_row, left_column = int64(1), int64(ROWS)
                        left = offset(workspace, group * descriptor[W_PACKED] + phase[P_PACKED] + block * (ROWS * depth + WIDTH)
                                      + k * ROWS)
                    elif weight_place == PACKED_INSIDE:
                        left_row, left_column = int64(1), int64(ROWS)
                        left = offset(packed_left, (block - block_group) * (ROWS * descriptor[CHUNK] + WIDTH))
                    for p in range(together):
                        first = (number + p) * COLUMNS
                        count = min(total - first, COLUMNS)
                        to, pitch = offset(group_out, row_targets[first // width] + first % width), out_plane
                        if _needs_tile(first, count, image_rows, descriptor):
                            to, pitch = offset(tiles, p * rows * COLUMNS), int64(COLUMNS)
                        if count > 0:
                            multiply_tile(ROWS, VECTORS, WIDTH, MASKED, height, end - k, left, left_row, left_column,
                                          offset(panel, p * descriptor[CHUNK] * COLUMNS), COLUMNS, offset(to, row * pitch), pitch,
                                          count, T(1), T(1), offset(bias, group * rows + row), mode)
            k = max(end, int64(1))

        for p in range(together):
            first = (number + p) * COLUMNS
            count = min(total - first, COLUMNS)
            if _needs_tile(first, count, image_rows, descriptor):
                _store_panel(offset(tiles, p * rows * COLUMNS), first_row, end_row, group_out, out_plane, phase, first, count,
                             descriptor)
        at += together


# ---------------------------------------------------------------- planning
def images_side_by_side(shape, places, bytes_an_image, columns, limit=IMAGE_BYTES):
    """How many small images share panels: so many that the fewest panels are needed, as far as they fit the cache."""
    def panels(side):
        whole, rest = divmod(shape.images, side)
        return whole * -(-places * side // columns) + -(-places * rest // columns)
    most = min(shape.images, max(limit // bytes_an_image, 1))
    return min(range(1, most + 1), key=lambda side: (panels(side) > 1.02 * panels(most), side)) if most > 1 else 1


class Phase:
    """One correlation of stride 1: the places of an image, what each k reads, and where results go.

    Args:
        out: (depth, height, width) of its places.
        offsets, taps: of each k, in the image and in the weight.
        source_steps: how far apart in the image neighbouring planes and rows of places are; `target_steps` in the output,
            columns too; `target` is the first place there.
    """

    def __init__(self, out, offsets, taps, source_steps, target_steps, target):
        self.out, self.offsets, self.taps = out, offsets, taps
        self.source_steps, self.target_steps, self.target = source_steps, target_steps, target
        self.places = math.prod(out)

    def rows(self, images, image_steps):
        """Where each row of places of `images` starts in the image and in the output."""
        tables = []
        for steps, image_step, start in ((self.source_steps, image_steps[0], 0), (self.target_steps, image_steps[1], self.target)):
            tables.append(index_table(start + np.arange(images)[:, None, None] * image_step
                                      + np.arange(self.out[0])[:, None] * steps[0] + np.arange(self.out[1]) * steps[1]))
        return tables


class _Placement(NamedTuple):
    """Where the weight is read, and how many panels and blocks of rows are multiplied between two reads of it."""

    place: int
    panels: int
    blocks: int


def _placement(panels, items, groups, blocks, contiguous, heavy, at_once) -> _Placement:
    """A weight that few panels use stays where it is; one that exceeds the cache serves many panels at a time, and is packed inside
    the loops unless a block's phases are transposed together."""
    if contiguous and panels <= FEW_PANELS and items * panels <= FEW_PANELS * groups:
        place, together, blocks_together = IN_PLACE, panels, blocks
    elif heavy:
        place = PACKED_BEFORE if at_once else PACKED_INSIDE
        together, blocks_together = min(GROUP_PANELS, panels), min(GROUP_BLOCKS, blocks)
    else:
        place, together, blocks_together = PACKED_BEFORE, min(SMALL_GROUP, panels), blocks
    return _Placement(place, -(-panels // -(-panels // together)) if panels else 1, blocks_together)


def _phase_table(phases, image, image_step, columns, packed_sizes):
    """The table of all phases, how many panels they have, and the arrays that it refers to."""
    words, keep, panels, packed = [], [], 0, 0
    for phase, size in zip(phases, packed_sizes):
        sources, targets = phase.rows(image.images, (image.image_step, image_step))
        words += [panels, len(phase.offsets), phase.offsets.ctypes.data, phase.taps.ctypes.data, packed,
                  phase.out[0] * phase.out[1], phase.out[2], sources.ctypes.data, targets.ctypes.data, phase.target_steps[2]]
        keep += [phase.offsets, phase.taps, sources, targets]
        panels += -(-phase.places * image.images // columns)
        packed += size
    return index_table([*words, panels, *[0] * (P_WORDS - 1)]), panels, keep


def _shares(shape, phases, side, work, blocks, columns, parts, heavy):
    """What each part takes, as (first panel, end, first block of rows, end): rows where there are many and each part's panels would
    read all of a heavy weight, or panels are too few to be shared evenly; else panels."""
    by_rows = parts > 1 and blocks >= parts and (heavy or work < 8 * parts) and \
        (blocks % parts == 0 or work % parts or blocks >= 8 * parts)
    if by_rows:
        return [(0, work, *cut) for cut in pairwise(edges(blocks, parts))]
    parts = min(parts, work)
    ends = edges_of_panels(shape, side, phases[0].places, parts, columns) if len(phases) == 1 else edges(work, parts)
    return [(*cut, 0, blocks) for cut in pairwise(ends)]


def _plan_correlation(dtype, shape, image, phases, rows, weight, out_plane, flags, contiguous, arguments):
    """Launches that pack the weight, then multiply.

    Args:
        rows: of the weight's matrix in a group.
        weight: row stride, group stride and run of the weight's matrix.
        out_plane: elements of the output a row.
        contiguous: whether a row of the weight's matrix is contiguous, so that it can be used in place.
    """
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    columns, row_stride, group_stride, run = names["COLUMNS"], *weight
    groups, side = shape.groups, image.images
    items = -(-shape.images // side) * groups
    threaded = shape.multiply_adds > SPLIT_WORK
    scattered = any(p.target_steps[2] != 1 or p.target_steps[1] != p.out[2] or p.places != out_plane for p in phases)
    blocks = -(-rows // names["ROWS"])
    deepest = max((len(p.offsets) for p in phases), default=0)
    chunks = max(1, -(-deepest * size * columns // (DEPTH * 128)))
    chunk = max(-(-deepest // chunks), 1)
    chunk = min(-(-chunk // run) * run, deepest) if not contiguous and deepest else chunk
    packed_sizes = [aligned(blocks * (names["ROWS"] * len(p.offsets) + names["WIDTH"])) for p in phases]
    table, panels, keep = _phase_table(phases, image, groups * rows * out_plane, columns, packed_sizes)

    at_once = len(phases) > 1 and 4 <= shape.taps <= MOST_TAPS
    heavy = rows * deepest * size > PACK_INSIDE_BYTES
    place, together, blocks_together = _placement(panels, items, groups, blocks, contiguous, heavy, at_once)
    packed = sum(packed_sizes) if place == PACKED_BEFORE else 0
    cuts = _shares(shape, phases, side, items * panels, blocks, columns, threads.get_num_threads() if threaded else 1, heavy)
    parts = len(cuts)
    panel_at = image.elements
    tile_at = panel_at + aligned(together * chunk * columns + names["WIDTH"])
    left_at = tile_at + (aligned(together * rows * columns) if scattered or side > 1 or not names["MASKED"] else 0)
    scratch = left_at + (aligned(blocks_together * (names["ROWS"] * chunk + names["WIDTH"])) if place == PACKED_INSIDE else 0)
    descriptors = []
    for part, (first, end, first_block, end_block) in enumerate(cuts):
        descriptors.append((first, end, first_block, end_block, blocks, rows, out_plane, groups, shape.images, side,
                            image.table.ctypes.data, table.ctypes.data, len(phases), panels, flags, int(scattered),
                            chunk, shape.features // groups if at_once else 0, together, blocks_together, place,
                            row_stride, group_stride, run,
                            math.prod(shape.kernel) * shape.features * shape.channels // groups, packed,
                            panel_at, tile_at, left_at, packed * groups + part * scratch,
                            shape.channels // groups * shape.taps))
    keep = (keep, table, image)
    multiply = threads.prepare(kernel_for(correlate, dtype), descriptors, [(0,) * 5] * parts, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if not packed:
        return multiply.with_workspace(workspace, keep)
    pack_parts = min(parts, groups * blocks) if packed * groups > 100_000 else 1
    pack = threads.prepare(kernel_for(pack_weight, dtype), [(first, end, *descriptors[0][2:])
                                                            for first, end in pairwise(edges(groups * blocks, pack_parts))],
                           [(0, 0)] * pack_parts)
    return sequence(arguments[0], [(pack, arguments[1]), (multiply, arguments[2])], workspace, keep)


def forward_phases(dtype, shape, side=1):
    """The image of the forward pass, its one phase, and the weight's row and group strides."""
    image, offsets, steps = forward_image(shape, dtype, side)
    depth = len(offsets)
    phase = Phase(shape.out, offsets, index_table(np.arange(depth)), steps, (shape.out[1] * shape.out[2], shape.out[2], 1), 0)
    return image, [phase], (depth, shape.features // shape.groups * depth)


def plan_forward(dtype, shape, bias, relu):
    image, _, weight = forward_phases(dtype, shape)
    side = images_side_by_side(shape, shape.places, image.elements * np.dtype(dtype).itemsize, tile_names(dtype)["COLUMNS"])
    image, phases, weight = forward_phases(dtype, shape, side)
    flags = (ROW_BIAS if bias else 0) | (RELU if relu else 0)
    return _plan_correlation(
        dtype, shape, image, phases, shape.features // shape.groups, (*weight, weight[0]), shape.places, flags, True,
        ("x, weight, bias, out, workspace", "weight, workspace", "x, weight, bias, out, workspace"))


def _remainders(size, kernel, stride, padding, dilation):
    """For each remainder of an input place by the stride: it, how many such places, its taps, and their shifts."""
    phases = []
    for remainder in range(min(stride, size)):
        taps = np.array([k for k in range(kernel) if (remainder + padding - k * dilation) % stride == 0], np.int64)
        shifts = (remainder + padding - taps * dilation) // stride
        phases.append((remainder, -(-(size - remainder) // stride), taps, shifts))
    return phases


def input_phases(dtype, shape, side=1):
    """Input place stride * q + r meets output place q + (r + padding - tap * dilation) / stride, where that is whole: a
    correlation of stride 1 for each r. The image of the output's gradient, the phases, and the weight's row and group
    strides."""
    axes = [_remainders(*axis) for axis in zip(shape.size, shape.kernel, shape.stride, shape.padding, shape.dilation)]
    before = [int(max([0, *(-p[3].min() for p in axis if len(p[2]))])) for axis in axes]
    padded = [margin + max([1, *(int(p[3].max()) + p[1] for p in axis if len(p[2]))]) for axis, margin in zip(axes, before)]
    features, channels = shape.features // shape.groups, shape.channels // shape.groups
    image = Image(dtype, features, shape.features * shape.places, shape.out, before, padded, (1, 1, 1), 1, side)
    feature = np.arange(features)[:, None, None, None] * channels * shape.taps
    row, plane = shape.size[2], shape.size[1] * shape.size[2]
    steps = (shape.stride[0] * plane, shape.stride[1] * row, shape.stride[2])
    phases = []
    for z, depth, tap_d, shift_d in axes[0]:
        for y, height, tap_h, shift_h in axes[1]:
            for x, width, tap_w, shift_w in axes[2]:
                offsets = (np.arange(features)[:, None, None, None] * image.channel_step
                           + (shift_d[:, None, None] + before[0]) * image.depth_step
                           + (shift_h[:, None] + before[1]) * image.row_step + shift_w + before[2])
                taps = feature + (tap_d[:, None, None] * shape.kernel[1] + tap_h[:, None]) * shape.kernel[2] + tap_w
                phases.append(Phase((depth, height, width), index_table(offsets), index_table(taps),
                                    (image.depth_step, image.row_step), steps, z * plane + y * row + x))
    return image, phases, (shape.taps, features * channels * shape.taps)


def plan_input_grad(dtype, shape, bias=False):
    """The gradient for the input, which with a bias is a transposed convolution."""
    unstrided, places = shape.stride == (1, 1, 1), math.prod(shape.size)
    image, phases, weight = input_phases(dtype, shape)
    side = images_side_by_side(shape, max(phases[0].places, 1), image.elements * np.dtype(dtype).itemsize,
                                tile_names(dtype)["COLUMNS"])
    if side > 1:
        image, phases, weight = input_phases(dtype, shape, side)
    arguments = "grad_out, weight, bias, grad_x, workspace"
    return _plan_correlation(dtype, shape, image, phases, shape.channels // shape.groups, (*weight, shape.taps if unstrided else 1),
                             places, ROW_BIAS if bias else 0, False, (arguments, "weight, workspace", arguments))
