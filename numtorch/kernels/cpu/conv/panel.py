"""Convolution as a matrix product whose panels are packed straight from a padded image: no im2col buffer.

The right operand at (k, place) is `image[offsets[k] + row_sources[row] + column]`, where k counts channel and tap, and the places
of several small images can lie side by side. `panel_loops.py` packs panels of it for the register tile of `micro/tile.py`, in the
order of loops of Goto and van de Geijn ("Anatomy of high-performance matrix multiplication", 2008). It is the forward pass; and,
over the gradient of the output with the weight's roles exchanged, the gradient for the input, once for each stride phase of the
input.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ... import threads
from ...program import sequence
from ..micro.tile import RELU, ROW_BIAS
from .image import Image, aligned, edges, edges_of_panels, forward_image, index_table, kernel_for, tile_names
from .panel_loops import IN_PLACE, P_WORDS, PACKED_BEFORE, PACKED_INSIDE, correlate, pack_weight

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
    multiply = threads.prepare(kernel_for(correlate, dtype), descriptors, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if not packed:
        return multiply.with_workspace(workspace, keep)
    pack_parts = min(parts, groups * blocks) if packed * groups > 100_000 else 1
    pack = threads.prepare(kernel_for(pack_weight, dtype), [(first, end, *descriptors[0][2:])
                                                            for first, end in pairwise(edges(groups * blocks, pack_parts))])
    return sequence(arguments, [(pack, "weight, workspace"), (multiply, arguments)], workspace, keep)


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
        "x, weight, bias, out, workspace")


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
    return _plan_correlation(dtype, shape, image, phases, shape.channels // shape.groups, (*weight, shape.taps if unstrided else 1),
                             places, ROW_BIAS if bias else 0, False, "grad_out, weight, bias, grad_x, workspace")
