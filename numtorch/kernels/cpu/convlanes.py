"""Convolution with features as lanes: places are broadcast from the image where they lie, and nothing of it is packed.

A register tile is four runs of up to seven places by a vector of features, or two by two vectors. For every k it loads the
weights of its features, packed as (k, feature), and broadcasts each place's element of the padded image: 17 loads for 28
multiply-adds, where a panel (`convpanel.py`) is first copied. Its sums are turned into planes at the end, which a deep sum
hides. This is how oneDNN's direct kernels go (Georganas et al., "Anatomy of high-performance deep learning convolutions on
SIMD architectures", 2018).

k counts kernel plane, kernel row, channel and kernel column, in this order, so that the taps that reach a line of the output
are neighbours: those in padding above, below, before and behind it are not multiplied (a tenth of all for 7 x 7).

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy import float32, inf, int64

from .. import threads
from ..intrinsics import as_pointer, local_array, offset
from .convaxes import forward_axis, gradient_axis
from .convimage import Geometry, aligned, copy_run, copy_vector, edges, index_table, kernel_for, micro, sequence, tile_names
from .tile import copy_row, transpose_tile

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED, PLACES_A_RUN, RUNS_TURNED, LANES = 16, 1, 7, 2, 32

IMAGE_BYTES = 1 << 20                                    # of padded images at a time, in the second-level cache
WEIGHT_BYTES = 1 << 20                                   # beyond, a weight is packed block by block, as it is used
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win, some 20 µs


def _multiply_places(longest, runs, vectors, width, run, parts, part_step, depth, image, starts, stride, offsets, right,
                     first, first_row, lowest, out, out_row, result, plane, span):
    """out[i * out_row + f] = rectify(first[i * first_row + f] + sum over k of image[place of i + offsets[k]] * right[k, f]) for
    i < runs * run and f < vectors * width, where place number r * run + i is starts[r] + i * stride; k takes `depth` numbers from
    0, part_step, 2 * part_step...; `parts` times.

    longest, runs, vectors and width are literals; run is at most `longest`, itself at most 7. depth is at least 1. What is below
    `lowest` becomes 0. `result` is where the sums will go, features `plane` apart, each to `span` more elements.
    """
    lanes = vectors * width
    for r in range(runs):
        for i in range(run):
            for f in range(lanes):
                total = first[(r * run + i) * first_row + f]
                for part in range(parts):
                    for k in range(part * part_step, part * part_step + depth):
                        total += image[starts[r] + i * stride + offsets[k]] * right[k * lanes + f]
                out[(r * run + i) * out_row + f] = type(total)(0) if total < lowest else total


def _multiply_sliding(longest, runs, width, run, parts, part_step, groups, image, starts, offsets, right, first, lowest, out,
                      out_row):
    """As `_multiply_places` for one vector of features and a stride of 1, where `groups` of three k, each finding the element after
    the one before, share what they load."""
    _multiply_places(longest, runs, 1, width, run, parts, part_step, 3 * groups, image, starts, 1, offsets, right, first, 0, lowest,
                     out, out_row, out, 0, 0)


def _store_turned(width, runs, pitch, source, run, features, out, plane, targets, ends):
    """out[f * plane + targets[r] + i] = source[(r * run + i) * pitch + f] for f < features, at most `width`, r < runs and i < run,
    before ends[r].

    width, runs and pitch are literals; runs * run is at most `width`, of which many source has rows. The compiled form writes a
    whole vector of places where those before ends[0] leave room.
    """
    for f in range(min(features, width)):
        for r in range(runs):
            for i in range(run):
                if targets[r] + i < ends[r]:
                    out[f * plane + targets[r] + i] = source[(r * run + i) * pitch + f]


def _micro(twin, name):
    intrinsic = micro(twin, name)
    intrinsic.module = "numtorch.kernels.cpu.convlanetile"
    return intrinsic


multiply_places = _micro(_multiply_places, "multiply_places")
multiply_sliding = _micro(_multiply_sliding, "multiply_sliding")
store_turned = _micro(_store_turned, "store_turned")

# The descriptor.
FIRST, END, FIRST_BLOCK, END_BLOCK, GROUPS, IMAGES, SIDE, SLABS, FEATURES, CHANNELS = range(10)
KERNEL_ROWS, CLASSES, RUN, STEP, HAS_BIAS, RELU_FLAG, OUT_DEPTHS, OUT_ROWS, OUT_COLUMNS, OUT_PLANE = range(10, 20)
X_ROW, X_DEPTH, X_CHANNEL, ROW_STEP, DEPTH_STEP, CHANNEL_STEP, IMAGE_STEP = range(20, 27)
SLAB_TABLE, LINE_TABLE, OFFSETS, W_ORDER, W_ROW, W_BASE, W_BASES, W_RUN, W_GROUP, W_LIMIT = range(27, 37)
PACKED_GROUP, PACK_INSIDE, LEFT_SPACE, SCRATCH, BLOCKS, CLASS_TABLE, SLIDING = range(37, 44)

# A slab's words: its planes, rows and columns of places, each the first and how many; the source's that they see; how many zeros
# are before a row, and how long it is with zeros.
S_DEPTH, S_DEPTHS, S_ROW, S_ROWS, S_COLUMN, S_COLUMNS = range(6)
S_X_DEPTH, S_X_DEPTHS, S_X_ROW, S_X_ROWS, S_X_COLUMN, S_X_COLUMNS, S_BEFORE, S_LENGTH, S_WORDS = range(6, 15)
# A line's words, of planes and then of rows of the output: the source's line under the first tap of its class, the first tap
# inside, how many. A class's, of columns: its first k, its taps in a row of the kernel, and where its first place starts in a row
# of the image.
L_SOURCE, L_TAP, L_TAPS, L_WORDS = range(4)
C_FIRST, C_TAPS, C_START, C_WORDS = range(4)


# ---------------------------------------------------------------- the weight
def _pack_lanes(weight, skipped, present, lanes, walk, out):
    """out[k * lanes + l] = weight[l * W_ROW + place of k], rows l that are absent repeating row 0."""
    turned, order = local_array(T, 1040), as_pointer(walk[W_ORDER], walk)
    row_stride, run = walk[W_ROW], walk[W_RUN]
    for base in range(walk[W_BASES]):
        for j in range(0, run, WIDTH):
            at = skipped + base * walk[W_BASE] + j
            source, count = offset(weight, at), min(run - j, WIDTH)
            if at + (present - 1) * row_stride + WIDTH <= walk[W_LIMIT]:
                if lanes == WIDTH:
                    transpose_tile(WIDTH, WIDTH, source, row_stride, present, turned)
                else:
                    transpose_tile(LANES, WIDTH, source, row_stride, present, turned)
            else:
                for i in range(count):
                    for lane in range(lanes):
                        turned[i * lanes + lane] = source[(lane if lane < present else 0) * row_stride + i]
            for i in range(count):
                to = offset(out, order[base * run + j + i] * lanes)
                for lane in range(0, lanes, WIDTH):
                    copy_vector(WIDTH, offset(turned, i * lanes + lane), offset(to, lane))


def _lanes_of(features, block):
    """A block has two vectors of features, the last may have one."""
    return int64(WIDTH) if features - block * LANES <= WIDTH else int64(LANES)


def pack_lanes(weight, packed, walk):
    """Feature blocks first..end of groups * blocks."""
    features, blocks = walk[FEATURES], walk[BLOCKS]
    depth = walk[W_BASES] * walk[W_RUN]
    for at in range(walk[FIRST], walk[END]):
        group, block = at // blocks, at % blocks
        _pack_lanes(weight, group * walk[W_GROUP] + block * LANES * walk[W_ROW], min(features - block * LANES, LANES),
                    _lanes_of(features, block), walk, offset(packed, group * walk[PACKED_GROUP] + block * LANES * depth))


# ---------------------------------------------------------------- places
def _copy_slab(x, image, slab, walk):
    """Copy what a slab's places see of each channel of an image: rows with their padding, no lines of padding."""
    before, count, length = slab[S_BEFORE], slab[S_X_COLUMNS], slab[S_LENGTH]
    for channel in range(walk[CHANNELS]):
        for z in range(slab[S_X_DEPTHS]):
            plane = channel * walk[X_CHANNEL] + (z + slab[S_X_DEPTH]) * walk[X_DEPTH]
            source = offset(x, plane + slab[S_X_ROW] * walk[X_ROW] + slab[S_X_COLUMN])
            to = offset(image, channel * walk[CHANNEL_STEP] + z * walk[DEPTH_STEP])
            for y in range(slab[S_X_ROWS]):
                line, there = offset(source, y * walk[X_ROW]), offset(to, y * walk[ROW_STEP])
                for i in range(before):
                    there[i] = T(0)
                if MASKED != 0:                          # what is written beyond the row, the next row overwrites
                    for i in range(0, count, WIDTH):
                        copy_row(1, WIDTH, MASKED, offset(line, i), count - i, offset(there, before + i))
                else:
                    copy_run(line, offset(there, before), count)
                for i in range(before + count, length):
                    there[i] = T(0)


def _lanes_row(images, columns, lanes, image, source, plane, line, weight, bias, lowest, features, out, target, end, walk):
    """All places of one row of a slab in all images, for one block of features. Classes of columns take turns in a tile."""
    starts, targets, limits = local_array(int64, 4), local_array(int64, 8), local_array(int64, 8)
    there, tile, offsets = local_array(int64, 4), local_array(T, 1024), as_pointer(walk[OFFSETS], walk)
    run, step, out_plane, classes = walk[RUN], walk[STEP], walk[OUT_PLANE], walk[CLASSES]
    kinds = as_pointer(walk[CLASS_TABLE], walk)
    out_step = walk[GROUPS] * walk[FEATURES] * out_plane
    in_row = (columns + run - 1) // run
    runs, number, i = int64(4 if lanes == WIDTH else 2), int64(0), int64(0)
    total = images * in_row
    done = int64(0)
    while done < total:
        for r in range(runs):
            column = min(i * run, columns - run)         # the last run overlaps the one before
            starts[r] = number * walk[IMAGE_STEP] + source + column * step
            for c in range(classes):                     # the places of all classes lie side by side
                targets[r * classes + c] = number * out_step + target + column * classes + c * run
                limits[r * classes + c] = number * out_step + end
            if done + r < total - 1:                     # beyond, the last run is repeated
                i += 1
                if i == in_row:
                    i = int64(0)
                    number += 1
        done += runs
        span = targets[runs * classes - 1] - targets[0] + run - 1
        for c in range(classes):
            kind = offset(kinds, c * C_WORDS)
            tap_row = walk[CHANNELS] * kind[C_TAPS]
            tap_plane = walk[KERNEL_ROWS] * tap_row
            k = kind[C_FIRST] + plane[L_TAP] * tap_plane + line[L_TAP] * tap_row
            parts, terms = plane[L_TAPS], line[L_TAPS] * tap_row
            if terms == tap_plane:                       # neighbouring planes of taps are one part
                parts, terms = min(parts, int64(1)), parts * terms
            if terms == 0:
                parts = int64(0)
            for r in range(4):
                there[r] = starts[min(r, runs - 1)] + kind[C_START]
            if lanes == WIDTH and walk[SLIDING] != 0:
                multiply_sliding(PLACES_A_RUN, 4, WIDTH, run, parts, tap_plane, terms // 3, image, there, offset(offsets, k),
                                 offset(weight, k * WIDTH), bias, lowest, tile, int64(WIDTH))
            elif lanes == WIDTH:
                multiply_places(PLACES_A_RUN, 4, 1, WIDTH, run, parts, tap_plane, terms, image, there, step, offset(offsets, k),
                                offset(weight, k * WIDTH), bias, int64(0), lowest, offset(tile, c * WIDTH), classes * WIDTH,
                                offset(out, targets[0]), out_plane, span)
            else:
                multiply_places(PLACES_A_RUN, 2, 2, WIDTH, run, parts, tap_plane, terms, image, there, step, offset(offsets, k),
                                offset(weight, k * LANES), bias, int64(0), lowest, offset(tile, c * LANES), classes * LANES,
                                offset(out, targets[0]), out_plane, span)
        for first in range(0, runs * classes, RUNS_TURNED):
            for lane in range(0, min(features, lanes), WIDTH):
                if lanes == WIDTH:
                    store_turned(WIDTH, RUNS_TURNED, WIDTH, offset(tile, first * run * WIDTH), run, features, out, out_plane,
                                 offset(targets, first), offset(limits, first))
                else:
                    store_turned(WIDTH, RUNS_TURNED, LANES, offset(tile, first * run * LANES + lane), run, features - lane,
                                 offset(out, lane * out_plane), out_plane, offset(targets, first), offset(limits, first))


def convolve_lanes(x, weight, bias, out, workspace, walk):
    """Units first..end of (group, images side by side, slab), of each feature blocks first_block..end_block."""
    groups, slabs, features, channels = walk[GROUPS], walk[SLABS], walk[FEATURES], walk[CHANNELS]
    depths, classes = as_pointer(walk[LINE_TABLE], walk), walk[CLASSES]
    lines = offset(depths, walk[OUT_DEPTHS] * L_WORDS)
    image = offset(workspace, walk[SCRATCH])
    left = offset(image, walk[LEFT_SPACE])
    start = local_array(T, 64)
    lowest = T(0) if walk[RELU_FLAG] != 0 else T(-inf)
    depth = walk[W_BASES] * walk[W_RUN]
    blocks_of_images = (walk[IMAGES] + walk[SIDE] - 1) // walk[SIDE]
    for unit in range(walk[FIRST], walk[END]):
        slab, item = offset(as_pointer(walk[SLAB_TABLE], walk), unit % slabs * S_WORDS), unit // slabs
        group, first = item // blocks_of_images, item % blocks_of_images * walk[SIDE]
        images = min(walk[SIDE], walk[IMAGES] - first)
        slab_end = ((slab[S_DEPTH] + slab[S_DEPTHS] - 1) * walk[OUT_ROWS] + slab[S_ROW] + slab[S_ROWS] - 1) * walk[OUT_COLUMNS] \
            + min((slab[S_COLUMN] + slab[S_COLUMNS]) * classes, walk[OUT_COLUMNS])
        for i in range(images):
            _copy_slab(offset(x, ((first + i) * groups + group) * channels * walk[X_CHANNEL]), offset(image, i * walk[IMAGE_STEP]),
                       slab, walk)
        for block in range(walk[FIRST_BLOCK], walk[END_BLOCK]):
            lanes, number = _lanes_of(features, block), min(features - block * LANES, LANES)
            packed = offset(workspace, group * walk[PACKED_GROUP] + block * LANES * depth)
            if walk[PACK_INSIDE] != 0:
                packed = left
                _pack_lanes(weight, group * walk[W_GROUP] + block * LANES * walk[W_ROW], number, lanes, walk, left)
            for f in range(LANES):
                start[f] = bias[group * features + block * LANES + f] if walk[HAS_BIAS] != 0 and f < number else T(0)
            to = offset(out, ((first * groups + group) * features + block * LANES) * walk[OUT_PLANE])
            for z in range(slab[S_DEPTH], slab[S_DEPTH] + slab[S_DEPTHS]):
                plane = offset(depths, z * L_WORDS)
                for y in range(slab[S_ROW], slab[S_ROW] + slab[S_ROWS]):
                    line = offset(lines, y * L_WORDS)
                    source = (plane[L_SOURCE] - slab[S_X_DEPTH]) * walk[DEPTH_STEP] \
                        + (line[L_SOURCE] - slab[S_X_ROW]) * walk[ROW_STEP]
                    target = (z * walk[OUT_ROWS] + y) * walk[OUT_COLUMNS] + slab[S_COLUMN] * classes
                    _lanes_row(images, slab[S_COLUMNS], lanes, image, source, plane, line, packed, start, lowest, number, to,
                               target, slab_end, walk)


# ---------------------------------------------------------------- planning
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


def speed(dtype, sums, multiply_adds):
    """GF/s to expect of so many multiply-adds: 165 of full tiles, where a tile takes as long besides as 20 more terms; a single
    vector's take 85 in 100."""
    width = tile_names(dtype)["WIDTH"]
    whole, rest = divmod(sums.features, 2 * width)
    vectors = 2 * whole + (0 if rest == 0 else 1 / 0.85 if rest <= width else 2)
    in_row, run, runs, side = _tiling(dtype, sums)
    whole, rest = divmod(sums.images, side)
    tiles = whole * -(-side * in_row // runs) + -(-rest * in_row // runs)
    terms = sums.channels * len(sums.axes[2].taps)       # of all classes together
    for axis in sums.axes[:2]:
        terms *= sum(taps for _, _, taps in axis.lines())
    lines = sums.axes[0].out * sums.axes[1].out * len(sums.axes[2].classes)
    return 165 * multiply_adds / max(sums.groups * vectors * width * tiles * runs * run * (terms + 20 * lines), 1)


def _plan(dtype, sums, multiply_adds, bias, relu, arguments):
    """Launches that pack the weight, then multiply."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    lanes, width = names["LANES"], names["WIDTH"]
    groups, channels, features, depth = sums.groups, sums.channels, sums.features, sums.depth
    planes, rows, columns = sums.axes
    blocks = -(-features // lanes)
    threaded = multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    _, run, _, side = _tiling(dtype, sums)
    extents = (planes.out, rows.out, sums.columns)
    axis = next((a for a in range(3) if extents[a] > 1), 2)

    def elements(number):
        return _steps(_slabs(sums, axis, number)[1], channels, width, size)[3]
    items = -(-sums.images // side) * groups
    inside = _is_heavy(dtype, sums) and items == 1 and blocks >= parts
    number = 1 if inside else min(max(elements(1) * side * size // IMAGE_BYTES, 1), extents[axis])
    if not inside:
        while number < extents[axis] and elements(number) * side * size > IMAGE_BYTES:
            number += 1
        while number < extents[axis] and items * number % parts and items * number < 8 * parts:
            number += 1
    slabs, most = _slabs(sums, axis, number)
    channel_step, row_step, depth_step, image_step = _steps(most, channels, width, size)

    # k counts class of columns, plane, row, channel and column of the kernel
    offsets, order, classes = [], np.empty((channels, *(len(a.taps) for a in sums.axes)), np.int64), []
    lowest = min((start for _, taps, start in columns.classes if taps), default=0)
    for first, taps, start in columns.classes:
        own = slice(first, first + taps)
        classes.append((sum(map(len, offsets)), taps, start - lowest if taps else 0))
        shifts = (np.array(planes.shifts)[:, None, None, None] * depth_step + np.array(rows.shifts)[:, None, None] * row_step
                  + np.arange(channels)[:, None] * channel_step + np.array(columns.shifts[own], np.int64)).ravel()
        k = (classes[-1][0] + np.arange(len(shifts))).reshape(len(planes.taps), len(rows.taps), channels, taps)
        order[:, np.array(planes.taps)[:, None, None], np.array(rows.taps)[:, None], np.array(columns.taps[own], np.int64)] = \
            k.transpose(2, 0, 1, 3)
        offsets.append(shifts)
    offsets, order, classes = index_table(np.concatenate(offsets)), index_table(order), index_table(classes)
    lines = index_table([line for a in (planes, rows) for line in a.lines()])
    units = items * number
    if inside:
        cuts = [(0, units, *cut) for cut in pairwise(edges(blocks, parts))]
    else:
        parts = min(parts, units)
        cuts = [(*cut, 0, blocks) for cut in pairwise(edges(units, parts))]
    packed = 0 if inside else aligned(blocks * lanes * depth)
    left = aligned(side * image_step + row_step + 2 * width)
    scratch = left + (aligned(lanes * depth) if inside else 0)
    row_stride, group_stride, channel_stride = sums.weight
    taps = depth // channels
    sliding = columns.step == 1 and len(columns.classes) == 1 and list(columns.shifts) == [0, 1, 2]
    # neighbouring weights of a feature: all of them, or those of a channel
    run_of_weights = (0, 1, depth) if channel_stride == taps else (channel_stride, channels, taps)
    descriptors = [(first, end, first_block, end_block, groups, sums.images, side, number, features, channels, len(rows.taps),
                    len(columns.classes), run, columns.step, int(bias), int(relu), planes.out, rows.out, columns.out,
                    planes.out * rows.out * columns.out, columns.size, rows.size * columns.size,
                    planes.size * rows.size * columns.size, row_step, depth_step, channel_step, image_step, slabs.ctypes.data,
                    lines.ctypes.data, offsets.ctypes.data, order.ctypes.data, row_stride, *run_of_weights, group_stride,
                    groups * group_stride, packed, int(inside), left, packed * groups + part * scratch, blocks, classes.ctypes.data,
                    int(sliding))
                   for part, (first, end, first_block, end_block) in enumerate(cuts)]
    keep = (slabs, lines, offsets, order, classes)
    multiply = threads.prepare(kernel_for(convolve_lanes, dtype), descriptors, [(0,) * 5] * parts, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if inside:
        return threads.Prepared(multiply.call, multiply.walk, workspace, (multiply, keep))
    pack_parts = min(parts, groups * blocks) if packed * groups > 100_000 else 1
    pack = threads.prepare(kernel_for(pack_lanes, dtype), [(first, end, *descriptors[0][2:])
                                                           for first, end in pairwise(edges(groups * blocks, pack_parts))],
                           [(0, 0)] * pack_parts)
    return sequence(arguments[0], [(pack, arguments[1]), (multiply, arguments[2])], workspace, keep)


def plan_forward(dtype, shape, bias, relu):
    arguments = "x, weight, bias, out, workspace"
    return _plan(dtype, forward_sums(shape), shape.multiply_adds, bias, relu, (arguments, "weight, workspace", arguments))


def plan_input_grad(dtype, shape, bias=False):
    """Of a stride of at most 2 along the columns."""
    arguments = "grad_out, weight, bias, grad_x, workspace"
    return _plan(dtype, gradient_sums(shape), shape.multiply_adds, bias, False, (arguments, "weight, workspace", arguments))
