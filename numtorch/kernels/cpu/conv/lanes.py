"""Convolution with features as lanes: places are broadcast from the image where they lie, and nothing of it is packed.

A register tile is four runs of up to seven places by a vector of features, or two by two vectors. For every k it loads the
weights of its features, packed as (k, feature), and broadcasts each place's element of the padded image: 17 loads for 28
multiply-adds, where a panel (`panel.py`) is first copied. Its sums are transposed into planes at the end, which a deep sum
hides. This is how oneDNN's direct kernels go (Georganas et al., "Anatomy of high-performance deep learning convolutions on
SIMD architectures", 2018).

k counts kernel plane, kernel row, channel and kernel column, in this order, so that the taps that reach a line of the output
are neighbours: those in padding above, below, before and behind it are not multiplied (a tenth of all for 7 x 7). Where runs of
a row do not fill tiles, several rows are taken together and the sums kept in memory, and then taps in padding beside the image
can be left out too (a third of all for 3 x 3 of 33 columns, dilated by 12).

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ... import threads
from ...families.windows import Geometry
from ...program import sequence
from .axes import forward_axis, gradient_axis
from .image import aligned, edges, index_table, kernel_for, tile_names
from .lane_loops import convolve_lanes, pack_lanes

IMAGE_BYTES = 1 << 20                                    # of padded images at a time, in the second-level cache
# The same beside a weight beyond WEIGHT_BYTES, which every slab reads again: in rows, each with 24 rows around it,
# 2 x 2048 x 33 x 33 by 3 x 3 to 256, dilated by 12, takes 1.7 times as long, 2 x 512 x 33 x 33, dilated by 6, 1.3 times.
HEAVY_IMAGE_BYTES = 16 << 20
WEIGHT_BYTES = 1 << 20                                   # beyond, a weight is packed block by block, as it is used
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win
SUMS_BYTES = 12_000                                      # of the sums of rows together, and
CHUNK = 192                                              # of the depth that rows share, in the first-level cache
DEEP, ROWS, ROWS_APART = range(3)                        # a tile of a row in one go; rows together; and without what is padding


class Correlation(NamedTuple):
    """What is to be summed.

    Args:
        images, channels, features, groups: the source's and the result's, each of a group.
        axes: planes, rows and columns.
        weight: how far apart the weights of features are, of groups and of channels.
    """
    images: int
    channels: int
    features: int
    groups: int
    axes: tuple
    weight: tuple

    @property
    def depth(self):
        return self.channels * math.prod(len(axis.taps) for axis in self.axes)

    @property
    def columns(self):
        """Places of a class in a row."""
        return -(-self.axes[2].out // len(self.axes[2].classes))


def _axes(make, shape):
    return tuple(make(*axis) for axis in zip(shape.size, shape.kernel, shape.stride, shape.padding, shape.dilation, shape.out))


def forward_sums(shape: Geometry) -> Correlation:
    channels, features = shape.channels // shape.groups, shape.features // shape.groups
    return Correlation(shape.images, channels, features, shape.groups, _axes(forward_axis, shape),
                       (channels * shape.taps, features * channels * shape.taps, shape.taps))


def gradient_sums(shape: Geometry) -> Correlation:
    """Of the gradient for the input, whose columns have at most two classes."""
    channels, features = shape.channels // shape.groups, shape.features // shape.groups
    return Correlation(shape.images, features, channels, shape.groups, _axes(gradient_axis, shape),
                       (shape.taps, features * channels * shape.taps, channels * shape.taps))


def _slabs(sums, axis, number):
    """Cut the places along an axis. Returns the table, and the most planes, rows and columns of a padded source."""
    words, most = [], [0, 0, 0]
    extents = [sums.axes[0].out, sums.axes[1].out, sums.columns]
    for low, high in pairwise(edges(extents[axis], number)):
        places = [(low, high - low) if a == axis else (0, n) for a, n in enumerate(extents)]
        depths, rows = (sums.axes[a].seen(*places[a]) for a in (0, 1))
        first, end = sums.axes[2].span(*places[2])
        length, before = end - first, min(max(-first, 0), end - first)
        count = max(min(end, sums.axes[2].size) - max(first, 0), 0)
        words.append([*places[0], *places[1], *places[2], *depths, *rows, max(first, 0), count, before, length])
        most = [max(most[0], depths[1]), max(most[1], rows[1]), max(most[2], length)]
    return index_table(words), most


def _steps(most, channels, width, size):
    """How far channels, rows, planes and images of padded sources are apart. All channels of a row lie side by side, since k takes
    them in turn: the processor then foresees what will be read, which gains 4 in 100."""
    depths, rows, length = most
    row = (-(-(channels * length + width) * size // 64) | 1) * 64 // size        # an odd number of lines: 2^n would share sets
    return length, row, row * rows, row * rows * depths


def _is_heavy(dtype, sums):
    return sums.features * sums.depth * np.dtype(dtype).itemsize > WEIGHT_BYTES


def _tiling(dtype, sums):
    """Runs in a row of places, the places of one, the runs of a tile, and how many images to take together: all if a weight
    that exceeds the cache is then read once; else of those that fit the fewest whose tiles are fullest."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    number = -(-sums.columns // names["PLACES_A_RUN"])
    runs = 2 if sums.features > names["WIDTH"] else 4
    fit = IMAGE_BYTES // max(_steps(_slabs(sums, 0, 1)[1], sums.channels, names["WIDTH"], size)[3] * size, 1)
    if _is_heavy(dtype, sums) and sums.images <= 2 * fit:
        side = sums.images
    else:
        def waste(side):
            return sum(-(-n * number // runs) * runs for n in (side,) * (sums.images // side) + (sums.images % side,))
        side = min(range(1, min(max(fit, 1), sums.images, 16) + 1), key=lambda side: (waste(side), side))
    return number, -(-sums.columns // number), runs, side


def _kinds(sums, form):
    """The taps of a row of the kernel that are multiplied together, as (the first, how many, class, where its first place starts,
    its places that find one inside, from and to): those of a class, or each one apart."""
    kinds, axis = [], sums.axes[2]
    for number, (first, taps, start) in enumerate(axis.classes):
        if form != ROWS_APART:
            kinds.append((first, taps, number, start, 0, sums.columns))
            continue
        for tap in range(first, first + taps):
            shifted = start + axis.shifts[tap]
            kinds.append((tap, 1, number, start, max(-(shifted // axis.step), 0),
                          min((axis.size - 1 - shifted) // axis.step + 1, sums.columns)))
    return kinds


def _chunk(sums, kinds):
    """The channels of which rows share the weights."""
    return max(1, min(sums.channels, CHUNK // max(taps for _, taps, *_ in kinds)))


def _cost(dtype, sums, form):
    """How many terms of a feature are computed in a group, or how many take as long. A tile takes as long besides as 20; rows
    together take up their sums again for each chunk of the depth, but fill tiles with the runs of several."""
    in_row, run, runs, side = _tiling(dtype, sums)
    whole, rest = divmod(sums.images, side)
    terms, lines = sums.channels, sums.axes[0].out * sums.axes[1].out
    for axis in sums.axes[:2]:
        terms *= sum(taps for _, _, taps in axis.lines())
    tiled = (whole * -(-side * in_row // runs) + -(-rest * in_row // runs)) * runs * run
    total, kinds = 20 * lines * len(sums.axes[2].classes) * tiled, _kinds(sums, form)
    if form == DEEP:
        return total + terms * len(sums.axes[2].taps) * tiled
    for _, taps, _, _, low, high in kinds:
        in_row = -(-max(high - low, 0) // tile_names(dtype)["PLACES_A_RUN"])
        if taps and in_row:
            again = 1.03 + 2.5 / (_chunk(sums, kinds) * taps)
            total += again * terms * taps * sums.images * in_row * -(-(high - low) // in_row)
    return total


def _slides(sums):
    """Whether neighbouring places and taps share what they load."""
    return sums.axes[2].step == 1 and len(sums.axes[2].classes) == 1 and list(sums.axes[2].shifts) == [0, 1, 2]


def _form(dtype, sums):
    """Which way to go: 2 x 64 x 8 x 16 x 16 by 3 x 3 x 3 to 128, whose rows have three runs where a tile takes two, needs 0.8 of
    the time of DEEP in ROWS, and 0.74 in ROWS_APART; 1 x 512 x 33 x 33 by 3 x 3, dilated by 12, 0.9 and 0.75."""
    names = tile_names(dtype)
    row = (sums.columns + names["PLACES_A_RUN"]) * len(sums.axes[2].classes) * names["LANES"] * np.dtype(dtype).itemsize
    if (_slides(sums) and sums.features <= names["WIDTH"]) or row > SUMS_BYTES:
        return DEEP
    return min((DEEP, ROWS, ROWS_APART), key=lambda form: _cost(dtype, sums, form) * (1 if form == DEEP else 1.02))


def efficiency(dtype, sums, multiply_adds):
    """The share of its time in which so many multiply-adds are done (`conv.py`); tiles of a single vector get 0.85 of it."""
    width = tile_names(dtype)["WIDTH"]
    whole, rest = divmod(sums.features, 2 * width)
    vectors = 2 * whole + (0 if rest == 0 else 1 / 0.85 if rest <= width else 2)
    return 1.03 * multiply_adds / max(sums.groups * vectors * width * _cost(dtype, sums, _form(dtype, sums)), 1)


def _cut_images(dtype, sums, side, items, parts, inside):
    """Slabs of images that fit the cache and share work evenly.

    Args:
        side: images that lie side by side.
        items: blocks of such images, of all groups.
        parts: threads.
        inside: whether the weight is packed inside the loops, in which case an image is one slab.

    Returns:
        The table of slabs, the size of the largest, and how many an image has.
    """
    extents = (sums.axes[0].out, sums.axes[1].out, sums.columns)
    axis = next((a for a in range(3) if extents[a] > 1), 2)
    if inside:
        return *_slabs(sums, axis, 1), 1
    size, width = np.dtype(dtype).itemsize, tile_names(dtype)["WIDTH"]
    most_bytes = HEAVY_IMAGE_BYTES if _is_heavy(dtype, sums) else IMAGE_BYTES

    def used(number):
        return _steps(_slabs(sums, axis, number)[1], sums.channels, width, size)[3] * side * size
    number = min(max(used(1) // most_bytes, 1), extents[axis])
    while number < extents[axis] and used(number) > most_bytes:
        number += 1
    while number < extents[axis] and items * number % parts and items * number < 8 * parts:
        number += 1
    return *_slabs(sums, axis, number), number


def _depth_tables(sums, kinds, depth_step, row_step, channel_step, column_step):
    """What each k of the sums reads: k counts kind of columns, plane, row, channel and column of the kernel.

    Args:
        kinds: of columns, as `_kinds` gives them.
        depth_step, row_step, channel_step, column_step: in elements of the padded image.

    Returns:
        The offset in the image of each k, the k of each of a feature's weights, and a row of words for each kind.
    """
    planes, rows, columns = sums.axes
    words, offsets = [], []
    order = np.empty((sums.channels, *(len(a.taps) for a in sums.axes)), np.int64)
    lowest = min((start for _, taps, start in columns.classes if taps), default=0)
    for first, taps, number_of_class, start, low, high in kinds:
        own = slice(first, first + taps)
        words.append((sum(map(len, offsets)), taps, (start - lowest) * column_step if taps else 0, number_of_class, low, high))
        shifts = (np.array(planes.shifts)[:, None, None, None] * depth_step + np.array(rows.shifts)[:, None, None] * row_step
                  + np.arange(sums.channels)[:, None] * channel_step
                  + np.array(columns.shifts[own], np.int64) * column_step).ravel()
        k = (words[-1][0] + np.arange(len(shifts))).reshape(len(planes.taps), len(rows.taps), sums.channels, taps)
        order[:, np.array(planes.taps)[:, None, None], np.array(rows.taps)[:, None], np.array(columns.taps[own], np.int64)] = \
            k.transpose(2, 0, 1, 3)
        offsets.append(shifts)
    return index_table(np.concatenate(offsets)), index_table(order), index_table(words)


def _plan(dtype, sums, multiply_adds, bias, relu, arguments, last=False):
    """Launches that pack the weight, then multiply. `last`: of one group of images whose channels are, as the results' are then."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    lanes, width = names["LANES"], names["WIDTH"]
    groups, channels, features, depth = sums.groups, sums.channels, sums.features, sums.depth
    planes, rows, columns = sums.axes
    blocks = -(-features // lanes)
    threaded = multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    _, run, _, side = _tiling(dtype, sums)
    items = -(-sums.images // side) * groups
    inside = _is_heavy(dtype, sums) and items == 1 and blocks >= parts
    slabs, most, number = _cut_images(dtype, sums, side, items, parts, inside)
    channel_step, row_step, depth_step, image_step = _steps(most, channels, width, size)
    each, channel_step = (channels, 1) if last else (1, channel_step)                # elements from column to column
    form = _form(dtype, sums)
    kinds = _kinds(sums, form)
    offsets, order, kind_table = _depth_tables(sums, kinds, depth_step, row_step, channel_step, each)
    lines = index_table([line for a in (planes, rows) for line in a.lines()])
    units = items * number
    if inside:
        cuts = [(0, units, *cut) for cut in pairwise(edges(blocks, parts))]
    else:
        parts = min(parts, units)
        cuts = [(*cut, 0, blocks) for cut in pairwise(edges(units, parts))]
    packed = 0 if inside else aligned(blocks * lanes * depth)
    left = aligned(side * image_step + row_step + 2 * width + names["PLACES_A_RUN"] * columns.step * each)   # places beyond a row
    sums_at = left + (aligned(lanes * depth) if inside else 0)
    row_places = 0 if form == DEEP else sums.columns + names["PLACES_A_RUN"]         # some beyond a row are computed
    row = side * row_places * len(columns.classes) * lanes
    rows_together = max(1, min(SUMS_BYTES // max(row * size, 1), rows.out, 64))
    scratch = sums_at + aligned(rows_together * row + width * lanes)
    row_stride, group_stride, channel_stride = sums.weight
    taps = depth // channels
    # neighbouring weights of a feature: all of them, or those of a channel
    run_of_weights = (0, 1, depth) if channel_stride == taps else (channel_stride, channels, taps)
    descriptors = [(first, end, first_block, end_block, groups, sums.images, side, number, features, channels, len(rows.taps),
                    len(columns.classes), run, columns.step * each, int(bias), int(relu), planes.out, rows.out, columns.out,
                    planes.out * rows.out * columns.out, columns.size * each, rows.size * columns.size * each,
                    planes.size * rows.size * columns.size, row_step, depth_step, channel_step, image_step, slabs.ctypes.data,
                    lines.ctypes.data, offsets.ctypes.data, order.ctypes.data, row_stride, *run_of_weights, group_stride,
                    groups * group_stride, packed, int(inside), left, packed * groups + part * scratch, blocks,
                    kind_table.ctypes.data, len(kinds), int(_slides(sums) and form == DEEP and not last), row_places, sums_at,
                    _chunk(sums, kinds), rows_together, int(last))
                   for part, (first, end, first_block, end_block) in enumerate(cuts)]
    keep = (slabs, lines, offsets, order, kind_table)
    multiply = threads.prepare(kernel_for(convolve_lanes, dtype), descriptors, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if inside:
        return multiply.with_workspace(workspace, keep)
    pack_parts = min(parts, groups * blocks) if packed * groups > 100_000 else 1
    pack = threads.prepare(kernel_for(pack_lanes, dtype), [(first, end, *descriptors[0][2:])
                                                           for first, end in pairwise(edges(groups * blocks, pack_parts))])
    return sequence(arguments, [(pack, "weight, workspace"), (multiply, arguments)], workspace, keep)


def plan_forward(dtype, shape, bias, relu, last=False):
    return _plan(dtype, forward_sums(shape), shape.multiply_adds, bias, relu, "x, weight, bias, out, workspace", last)


def plan_input_grad(dtype, shape, bias=False, last=False):
    """Of a stride of at most 2 along the columns."""
    return _plan(dtype, gradient_sums(shape), shape.multiply_adds, bias, False, "grad_out, weight, bias, grad_x, workspace", last)
