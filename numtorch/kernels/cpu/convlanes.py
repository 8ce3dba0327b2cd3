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

import numpy as np
from numpy import float32, inf, int64

from .. import threads
from ..intrinsics import as_pointer, local_array, offset
from .convimage import Geometry, aligned, copy_run, copy_vector, index_table, kernel_for, micro, tile_names
from .convpanel import edges, sequence
from .tile import copy_row, transpose_tile

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED, PLACES_A_RUN, RUNS_TURNED, LANES = 16, 1, 7, 2, 32

IMAGE_BYTES = 1 << 20                                    # of padded images at a time, in the second-level cache
WEIGHT_BYTES = 1 << 20                                   # beyond, a weight is packed block by block, as it is used
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win, some 20 µs


def _multiply_places(longest, runs, vectors, width, run, parts, part_step, depth, image, starts, stride, offsets, right,
                     first, first_row, lowest, out, result, plane, span):
    """out[i, f] = rectify(first[i * first_row + f] + sum over k of image[place of i + offsets[k]] * right[k, f]) for i < runs * run
    and f < vectors * width, where place number r * run + i is starts[r] + i * stride; k takes `depth` numbers from 0, part_step,
    2 * part_step...; `parts` times.

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
                out[(r * run + i) * lanes + f] = type(total)(0) if total < lowest else total


def _store_turned(width, runs, pitch, source, run, features, out, plane, targets, end):
    """out[f * plane + targets[r] + i] = source[(r * run + i) * pitch + f] for f < features, at most `width`, r < runs and i < run.

    width, runs and pitch are literals; runs * run is at most `width`, of which many source has rows. The compiled form writes a
    whole vector of places where those before `end` leave room.
    """
    for f in range(min(features, width)):
        for r in range(runs):
            for i in range(run):
                out[f * plane + targets[r] + i] = source[(r * run + i) * pitch + f]


def _micro(twin, name):
    intrinsic = micro(twin, name)
    intrinsic.module = "numtorch.kernels.cpu.convlanetile"
    return intrinsic


multiply_places = _micro(_multiply_places, "multiply_places")
store_turned = _micro(_store_turned, "store_turned")

# The descriptor.
FIRST, END, FIRST_BLOCK, END_BLOCK, GROUPS, IMAGES, SIDE, SLABS, FEATURES, CHANNELS = range(10)
KERNEL_ROWS, KERNEL_COLUMNS, RUN, STRIDE, HAS_BIAS, RELU_FLAG, OUT_DEPTHS, OUT_ROWS, OUT_COLUMNS, OUT_PLANE = range(10, 20)
X_ROW, X_DEPTH, X_CHANNEL, ROW_STEP, DEPTH_STEP, CHANNEL_STEP, IMAGE_STEP = range(20, 27)
SLAB_TABLE, LINE_TABLE, OFFSETS, W_ORDER, W_ROW, W_BASE, W_BASES, W_RUN, W_GROUP, W_LIMIT = range(27, 37)
PACKED_GROUP, PACK_INSIDE, LEFT_SPACE, SCRATCH, BLOCKS = range(37, 42)

# A slab's words: its planes, rows and columns of places, each the first and how many; the source's that they see; how many zeros
# are before a row, and how long it is with zeros.
S_DEPTH, S_DEPTHS, S_ROW, S_ROWS, S_COLUMN, S_COLUMNS = range(6)
S_X_DEPTH, S_X_DEPTHS, S_X_ROW, S_X_ROWS, S_X_COLUMN, S_X_COLUMNS, S_BEFORE, S_LENGTH, S_WORDS = range(6, 15)
# A line's words, of planes and then of rows of the output: the source's line under tap 0, the first tap inside, how many.
L_SOURCE, L_TAP, L_TAPS, L_WORDS = range(4)


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


def _lanes_row(images, columns, lanes, image, source, parts, part_step, depth, offsets, weight, bias, lowest, features, out, target,
               end, walk):
    """All places of one row of a slab in all images, for one block of features."""
    starts, targets, limits, tile = local_array(int64, 4), local_array(int64, 4), local_array(int64, 4), local_array(T, 512)
    run, stride, plane, image_step = walk[RUN], walk[STRIDE], walk[OUT_PLANE], walk[IMAGE_STEP]
    out_step = walk[GROUPS] * walk[FEATURES] * plane
    in_row = (columns + run - 1) // run
    runs, number, i = int64(4 if lanes == WIDTH else 2), int64(0), int64(0)
    total = images * in_row
    done = int64(0)
    while done < total:
        for r in range(runs):
            column = min(i * run, columns - run)         # the last run overlaps the one before
            starts[r], targets[r] = number * image_step + source + column * stride, number * out_step + target + column
            limits[r] = number * out_step + end
            if done + r < total - 1:                     # beyond, the last run is repeated
                i += 1
                if i == in_row:
                    i = int64(0)
                    number += 1
        done += runs
        if lanes == WIDTH:
            multiply_places(PLACES_A_RUN, 4, 1, WIDTH, run, parts, part_step, depth, image, starts, stride, offsets, weight, bias,
                            int64(0), lowest, tile, offset(out, targets[0]), plane, targets[runs - 1] - targets[0] + run - 1)
        else:
            multiply_places(PLACES_A_RUN, 2, 2, WIDTH, run, parts, part_step, depth, image, starts, stride, offsets, weight, bias,
                            int64(0), lowest, tile, offset(out, targets[0]), plane, targets[runs - 1] - targets[0] + run - 1)
        for first in range(0, runs, RUNS_TURNED):
            for lane in range(0, min(features, lanes), WIDTH):
                if lanes == WIDTH:
                    store_turned(WIDTH, RUNS_TURNED, WIDTH, offset(tile, first * run * WIDTH), run, features, out, plane,
                                 offset(targets, first), limits[first])
                else:
                    store_turned(WIDTH, RUNS_TURNED, LANES, offset(tile, first * run * LANES + lane), run, features - lane,
                                 offset(out, lane * plane), plane, offset(targets, first), limits[first])


def convolve_lanes(x, weight, bias, out, workspace, walk):
    """Units first..end of (group, images side by side, slab), of each feature blocks first_block..end_block."""
    groups, slabs, features, channels = walk[GROUPS], walk[SLABS], walk[FEATURES], walk[CHANNELS]
    offsets, depths = as_pointer(walk[OFFSETS], walk), as_pointer(walk[LINE_TABLE], walk)
    lines = offset(depths, walk[OUT_DEPTHS] * L_WORDS)
    image = offset(workspace, walk[SCRATCH])
    left = offset(image, walk[LEFT_SPACE])
    start = local_array(T, 64)
    lowest = T(0) if walk[RELU_FLAG] != 0 else T(-inf)
    depth = walk[W_BASES] * walk[W_RUN]
    tap_row = channels * walk[KERNEL_COLUMNS]
    tap_plane = walk[KERNEL_ROWS] * tap_row
    blocks_of_images = (walk[IMAGES] + walk[SIDE] - 1) // walk[SIDE]
    for unit in range(walk[FIRST], walk[END]):
        slab, item = offset(as_pointer(walk[SLAB_TABLE], walk), unit % slabs * S_WORDS), unit // slabs
        group, first = item // blocks_of_images, item % blocks_of_images * walk[SIDE]
        images = min(walk[SIDE], walk[IMAGES] - first)
        slab_end = ((slab[S_DEPTH] + slab[S_DEPTHS] - 1) * walk[OUT_ROWS] + slab[S_ROW] + slab[S_ROWS] - 1) * walk[OUT_COLUMNS] \
            + slab[S_COLUMN] + slab[S_COLUMNS]
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
                    k = plane[L_TAP] * tap_plane + line[L_TAP] * tap_row
                    parts, terms = plane[L_TAPS], line[L_TAPS] * tap_row
                    if terms == tap_plane:               # neighbouring planes of taps are one part
                        parts, terms = min(parts, int64(1)), parts * terms
                    if terms == 0:
                        parts = int64(0)
                    target = (z * walk[OUT_ROWS] + y) * walk[OUT_COLUMNS] + slab[S_COLUMN]
                    _lanes_row(images, slab[S_COLUMNS], lanes, image, source, parts, tap_plane, terms, offset(offsets, k),
                               offset(packed, k * lanes), start, lowest, number, to, target, slab_end, walk)


# ---------------------------------------------------------------- planning
_AXIS = ("size", "kernel", "stride", "padding", "dilation", "out")


def _lines(size, kernel, stride, padding, dilation, out):
    """For each line of the output: the source's line under tap 0, the first tap inside the source, and how many are."""
    lines = []
    for source in range(-padding, out * stride - padding, stride):
        first, end = (min(max(-(n // dilation), 0), kernel) for n in (source, source - size))
        lines.append((source, first, max(end - first, 0)))
    return lines


def _seen(lines, size, kernel, stride, padding, dilation):
    """The source's lines that (first, count) lines of the output see, as (first, count)."""
    first, count = lines
    low = max(first * stride - padding, 0)
    return low, max(min((first + count - 1) * stride - padding + (kernel - 1) * dilation + 1, size) - low, 0)


def _slabs(shape: Geometry, axis, number):
    """Cut the places along an axis. Returns the table, and the most planes, rows and columns of a padded source."""
    words, most = [], [0, 0, 0]
    for low, high in pairwise(edges(shape.out[axis], number)):
        places = [(low, high - low) if a == axis else (0, n) for a, n in enumerate(shape.out)]
        seen = [_seen(places[a], shape.size[a], shape.kernel[a], shape.stride[a], shape.padding[a], shape.dilation[a])
                for a in range(3)]
        first, count = places[2]
        length = (count - 1) * shape.stride[2] + (shape.kernel[2] - 1) * shape.dilation[2] + 1
        before = min(max(shape.padding[2] - first * shape.stride[2], 0), length)
        words.append([*places[0], *places[1], *places[2], *seen[0], *seen[1], seen[2][0], min(seen[2][1], length - before), before,
                      length])
        most = [max(most[0], seen[0][1]), max(most[1], seen[1][1]), max(most[2], length)]
    return index_table(words), most


def _steps(most, channels, width, size):
    """How far channels, rows, planes and images of padded sources are apart. All channels of a row lie side by side, since k takes
    them in turn: the processor then foresees what will be read, which gains 4 in 100."""
    depths, rows, length = most
    row = (-(-(channels * length + width) * size // 64) | 1) * 64 // size        # an odd number of lines: 2^n would share sets
    return length, row, row * rows, row * rows * depths


def _is_heavy(dtype, shape):
    features, depth = shape.features // shape.groups, shape.channels // shape.groups * shape.taps
    return features * depth * np.dtype(dtype).itemsize > WEIGHT_BYTES


def _tiling(dtype, shape):
    """Runs in a row of places, the places of one, the runs of a tile, and how many images to take together: all if a weight
    that exceeds the cache is then read once; else of those that fit the fewest whose tiles are fullest."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    number = -(-shape.out[2] // names["PLACES_A_RUN"])
    runs = 2 if shape.features // shape.groups > names["WIDTH"] else 4
    fit = IMAGE_BYTES // (_steps(_slabs(shape, 0, 1)[1], shape.channels // shape.groups, names["WIDTH"], size)[3] * size)
    if _is_heavy(dtype, shape) and shape.images <= 2 * fit:
        side = shape.images
    else:
        def waste(side):
            return sum(-(-n * number // runs) * runs for n in (side,) * (shape.images // side) + (shape.images % side,))
        side = min(range(1, min(max(fit, 1), shape.images, 16) + 1), key=lambda side: (waste(side), side))
    return number, -(-shape.out[2] // number), runs, side


def speed(dtype, shape):
    """GF/s to expect: 165 of full tiles, where a tile takes as long besides as 20 more terms; a single vector's take 85 in 100."""
    names = tile_names(dtype)
    width, features, depth = names["WIDTH"], shape.features // shape.groups, shape.channels // shape.groups * shape.taps
    whole, rest = divmod(features, 2 * width)
    vectors = 2 * whole + (0 if rest == 0 else 1 / 0.85 if rest <= width else 2)
    in_row, run, runs, side = _tiling(dtype, shape)
    whole, rest = divmod(shape.images, side)
    tiles = whole * -(-side * in_row // runs) + -(-rest * in_row // runs)
    places = tiles * runs * run / (shape.images * shape.out[2])
    inside = 1.0
    for axis in (0, 1):
        lines = _lines(*(getattr(shape, name)[axis] for name in _AXIS))
        inside *= sum(taps for _, _, taps in lines) / (len(lines) * shape.kernel[axis])
    return 165 * features / (vectors * width * places * max(inside, 1e-3)) * depth / (depth + 20)


def _plan(dtype, shape, order, weight, bias, relu, arguments):
    """Launches that pack the weight, then multiply.

    Args:
        shape: of the correlation; paddings may be negative.
        order: of each element of a feature's weights, its k.
        weight: how far apart features are, how far apart runs of neighbouring k, how many runs, how long, and the groups.
    """
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    lanes, width = names["LANES"], names["WIDTH"]
    groups, channels, features = shape.groups, shape.channels // shape.groups, shape.features // shape.groups
    blocks, depth = -(-features // lanes), channels * shape.taps
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    _, run, _, side = _tiling(dtype, shape)
    axis = next((a for a in range(3) if shape.out[a] > 1), 2)

    def elements(number):
        return _steps(_slabs(shape, axis, number)[1], channels, width, size)[3]
    items = -(-shape.images // side) * groups
    inside = _is_heavy(dtype, shape) and items == 1 and blocks >= parts
    number = 1 if inside else min(max(elements(1) * side * size // IMAGE_BYTES, 1), shape.out[axis])
    if not inside:
        while number < shape.out[axis] and elements(number) * side * size > IMAGE_BYTES:
            number += 1
        while number < shape.out[axis] and items * number % parts and items * number < 8 * parts:
            number += 1
    slabs, most = _slabs(shape, axis, number)
    channel_step, row_step, depth_step, image_step = _steps(most, channels, width, size)
    places = [np.arange(k) * d for k, d in zip(shape.kernel, shape.dilation)]
    offsets = index_table(places[0][:, None, None, None] * depth_step + places[1][:, None, None] * row_step
                          + np.arange(channels)[:, None] * channel_step + places[2])
    lines = index_table([line for a in (0, 1) for line in _lines(*(getattr(shape, name)[a] for name in _AXIS))])
    units = items * number
    if inside:
        cuts = [(0, units, *cut) for cut in pairwise(edges(blocks, parts))]
    else:
        parts = min(parts, units)
        cuts = [(*cut, 0, blocks) for cut in pairwise(edges(units, parts))]
    packed = 0 if inside else aligned(blocks * lanes * depth)
    left = aligned(side * image_step + row_step + 2 * width)
    scratch = left + (aligned(lanes * depth) if inside else 0)
    plane = math.prod(shape.out)
    row_stride, base_stride, bases, length, group_stride = weight
    descriptors = [(first, end, first_block, end_block, groups, shape.images, side, number, features, channels, shape.kernel[1],
                    shape.kernel[2], run, shape.stride[2], int(bias), int(relu), *shape.out, plane, shape.size[2],
                    shape.size[1] * shape.size[2], math.prod(shape.size), row_step, depth_step, channel_step, image_step,
                    slabs.ctypes.data, lines.ctypes.data, offsets.ctypes.data, order.ctypes.data, row_stride, base_stride, bases,
                    length, group_stride, groups * group_stride, packed, int(inside), left, packed * groups + part * scratch,
                    blocks)
                   for part, (first, end, first_block, end_block) in enumerate(cuts)]
    keep = (slabs, lines, offsets, order)
    multiply = threads.prepare(kernel_for(convolve_lanes, dtype), descriptors, [(0,) * 5] * parts, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if inside:
        return threads.Prepared(multiply.call, multiply.walk, workspace, (multiply, keep))
    pack_parts = min(parts, groups * blocks) if packed * groups > 100_000 else 1
    pack = threads.prepare(kernel_for(pack_lanes, dtype), [(first, end, *descriptors[0][2:])
                                                           for first, end in pairwise(edges(groups * blocks, pack_parts))],
                           [(0, 0)] * pack_parts)
    return sequence(pack, multiply, arguments, workspace, keep)


def _order(shape, turned):
    """The k of each (channel, tap), of the taps turned round where `turned`."""
    channels = shape.channels // shape.groups
    taps = [np.arange(k)[::-1] if turned else np.arange(k) for k in shape.kernel]
    plane, row, column = taps[0][:, None, None], taps[1][:, None], taps[2]
    return index_table(((plane * shape.kernel[1] + row) * channels + np.arange(channels)[:, None, None, None]) * shape.kernel[2]
                       + column)


def plan_forward(dtype, shape, bias, relu):
    depth = shape.channels // shape.groups * shape.taps
    arguments = "x, weight, bias, out, workspace"
    return _plan(dtype, shape, _order(shape, False), (depth, 0, 1, depth, shape.features // shape.groups * depth), bias, relu,
                 (arguments, "weight, workspace", arguments))


def turned_round(shape):
    """The correlation of the output's gradient with the weight turned round, which for stride 1 is the input's."""
    padding = tuple(d * (k - 1) - p for d, k, p in zip(shape.dilation, shape.kernel, shape.padding))
    return Geometry(shape.images, shape.features, shape.out, shape.channels, shape.kernel, (1, 1, 1), padding, shape.dilation,
                    shape.groups, shape.size)


def plan_input_grad(dtype, shape, bias=False):
    """Of stride 1."""
    channels, features, taps = shape.channels // shape.groups, shape.features // shape.groups, shape.taps
    turned = turned_round(shape)
    arguments = "grad_out, weight, bias, grad_x, workspace"
    weight = (taps, channels * taps, features, taps, features * channels * taps)
    return _plan(dtype, turned, _order(turned, True), weight, bias, False, (arguments, "weight, workspace", arguments))
