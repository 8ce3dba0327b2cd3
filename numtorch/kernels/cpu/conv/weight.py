"""The gradient of a convolution for its weight, as matrix products over the places of all images.

Two forms. `weight_totals` reads the padded image in place and multiplies it by the transposed gradient: features are the lanes,
neighbouring taps of a kernel's row what `lanes.py` calls a run of places, and threads share the images, each with its own totals,
or the taps. It suits few channels and large images.
`weight_blocks` has channels as lanes: a block of them is transposed once, after which the rows of a panel for any tap are whole
vectors of it, zeros where the tap is outside. Threads share the channels, so no totals are added up, which for the large weights of
small images take as long as the products.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy import float32, inf, int64

from ... import threads
from ...intrinsics import as_pointer, local_array, offset
from ...program import sequence
from ..micro.tile import ACCUMULATE, multiply_tile, transpose_tile
from .image import (
    CHANNELS,
    X_COLUMNS,
    X_DEPTH,
    X_ROWS,
    Image,
    aligned,
    clear,
    copy_vector,
    edges,
    index_table,
    kernel_for,
    pad_images,
    tile_names,
)
from .lane_loops import multiply_places
from .panel_loops import block_start

T = float32                                              # these are bound by `tile_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32
LANES, PLACES_A_RUN, SHORT_RUN = 32, 7, 3

CHUNK = 256                                              # places that are multiplied at once
WEIGHT_BYTES = 1 << 20                                   # of a weight that stays in the second-level cache
TOTALS_BYTES = 600_000                                   # of a block of channels, in the second-level cache
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win


# ---------------------------------------------------------------- features as lanes
# The descriptor.
T_FIRST, T_END, T_FIRST_RUN, T_END_RUN, T_IMAGE_TABLE, T_FEATURES, T_GROUPS, T_PLACES, T_RUNS, T_RUN, T_STEP = range(11)
T_STARTS, T_OFFSETS, T_IMAGE_SPACE, T_TOTALS, T_SCRATCH, T_SIZE, T_INSIDE, T_PLANE, T_CHUNK = range(11, 20)
# Of each run, which planes of places, and which places of one, are inside the image under it.
I_DEPTH, I_END_DEPTH, I_PLACE, I_END_PLACE, I_WORDS = range(5)


def _transpose_gradient(grad, places, rows, first, count, lanes, panel):
    """panel[p * lanes + r] = grad[r * places + first + p], where rows that are absent repeat row 0."""
    whole = count - count % WIDTH
    for p in range(0, whole, WIDTH):
        if lanes == WIDTH:
            transpose_tile(WIDTH, WIDTH, offset(grad, first + p), places, rows, offset(panel, p * WIDTH))
        else:
            transpose_tile(LANES, WIDTH, offset(grad, first + p), places, rows, offset(panel, p * LANES))
    for p in range(whole, count):
        for r in range(lanes):
            panel[p * lanes + r] = grad[(r if r < rows else 0) * places + first + p]


def _add_products(image, depth, first, count, panel, lanes, totals, descriptor):
    """totals[r * run + i, lane] += sum over places of image * panel, for runs r of taps in a row of the kernel; of `count` places
    of plane `depth` from `first`, those where the taps are inside."""
    starts, rows, run = local_array(int64, 4), local_array(int64, 4), descriptor[T_RUN]
    step, end_run = descriptor[T_STEP], descriptor[T_END_RUN]
    row_starts = as_pointer(descriptor[T_STARTS], descriptor)
    places = offset(as_pointer(descriptor[T_OFFSETS], descriptor), depth * descriptor[T_PLANE])
    r = descriptor[T_FIRST_RUN]
    for i in range(4):
        rows[i] = i * run
    while r < end_run:
        taken = int64(2)
        if lanes == WIDTH or (run <= SHORT_RUN and end_run - r > 2):
            taken = int64(4)
        low, high = first + count, first
        for i in range(taken):                           # beyond the last run, it is repeated; its sums go to spare rows
            number = min(r + i, end_run - 1)
            inside = offset(as_pointer(descriptor[T_INSIDE], descriptor), number * I_WORDS)
            starts[i] = row_starts[number]
            if inside[I_DEPTH] <= depth and depth < inside[I_END_DEPTH]:
                low, high = max(min(low, inside[I_PLACE]), first), min(max(high, inside[I_END_PLACE]), first + count)
        to, right, offsets = offset(totals, r * run * lanes), offset(panel, (low - first) * lanes), offset(places, low)
        here = high - low
        r += taken
        if here <= 0:
            continue
        if lanes == WIDTH:
            multiply_places(PLACES_A_RUN, 4, 1, WIDTH, run, int64(1), int64(0), here, image, starts, step, offsets, right, to,
                            lanes, T(-inf), to, lanes, rows, to, int64(0), int64(0))
        elif taken == 4:
            multiply_places(SHORT_RUN, 4, 2, WIDTH, run, int64(1), int64(0), here, image, starts, step, offsets, right, to,
                            lanes, T(-inf), to, lanes, rows, to, int64(0), int64(0))
        else:
            multiply_places(PLACES_A_RUN, 2, 2, WIDTH, run, int64(1), int64(0), here, image, starts, step, offsets, right, to,
                            lanes, T(-inf), to, lanes, rows, to, int64(0), int64(0))


def weight_totals(grad_out, x, workspace, descriptor):
    """totals[group, block of features, tap, lane] over items first..end of images * groups, for runs first_run..end_run of taps."""
    table, rows = as_pointer(descriptor[T_IMAGE_TABLE], descriptor), descriptor[T_FEATURES]
    groups, places = descriptor[T_GROUPS], descriptor[T_PLACES]
    run, first_run, end_run, size = descriptor[T_RUN], descriptor[T_FIRST_RUN], descriptor[T_END_RUN], descriptor[T_SIZE]
    totals, image = offset(workspace, descriptor[T_TOTALS]), offset(workspace, descriptor[T_SCRATCH])
    panel = offset(image, descriptor[T_IMAGE_SPACE])
    channel_size = table[X_DEPTH] * table[X_ROWS] * table[X_COLUMNS]
    clear(image, descriptor[T_IMAGE_SPACE])
    for group in range(groups):
        for block in range(0, rows, LANES):
            lanes = int64(WIDTH) if rows - block <= WIDTH else int64(LANES)
            to = offset(totals, group * size + block * descriptor[T_RUNS] * run)
            clear(offset(to, first_run * run * lanes), (end_run - first_run) * run * lanes)
    for item in range(descriptor[T_FIRST], descriptor[T_END]):
        pad_images(offset(x, item * table[CHANNELS] * channel_size), image, table, int64(1))
        for depth in range(places // descriptor[T_PLANE]):
            for first in range(0, descriptor[T_PLANE], descriptor[T_CHUNK]):
                count = min(descriptor[T_CHUNK], descriptor[T_PLANE] - first)
                for block in range(0, rows, LANES):
                    lanes, present = int64(LANES), min(rows - block, LANES)
                    if present <= WIDTH:
                        lanes = int64(WIDTH)
                    _transpose_gradient(offset(grad_out, (item * rows + block) * places), places, present,
                                        depth * descriptor[T_PLANE] + first,
                                        count, lanes, panel)
                    _add_products(image, depth, first, count, panel, lanes,
                                  offset(totals, item % groups * size + block * descriptor[T_RUNS] * run), descriptor)


# Of what adds totals up.
S_FIRST, S_END, S_ROWS, S_DEPTH, S_TAPS, S_COPIES, S_SIZE, S_HALVES, S_PLACES, S_GROUP_SIZE = range(10)


def add_totals(totals, grad_weight, descriptor):
    """Add up the parts' totals, from (part, group, block, tap, lane) to (group, feature, k), for half blocks first..end of all
    groups. A half block is as wide as a cache line, so that each line is read once."""
    rows, depth, taps = descriptor[S_ROWS], descriptor[S_DEPTH], descriptor[S_TAPS]
    copies, size, halves = descriptor[S_COPIES], descriptor[S_SIZE], descriptor[S_HALVES]
    places, group_size = as_pointer(descriptor[S_PLACES], descriptor), descriptor[S_GROUP_SIZE]
    for at in range(descriptor[S_FIRST], descriptor[S_END]):
        group, first = at // halves, at % halves * WIDTH
        count, block = min(rows - first, WIDTH), first // LANES * LANES
        lanes = int64(WIDTH) if rows - block <= WIDTH else int64(LANES)
        source = offset(totals, group * group_size + block * taps + first - block)
        out = offset(grad_weight, (group * rows + first) * depth)
        for k in range(depth):
            line = offset(source, places[k] * lanes)
            for row in range(count):
                total = line[row]
                for copy in range(1, copies):
                    total += line[copy * size + row]
                out[row * depth + k] = total


_AXIS = "size", "kernel", "stride", "padding", "dilation", "out"


def _inside(size, kernel, stride, padding, dilation, out):
    """For each tap, the first place of the output where it is inside, and the first after that where it is not."""
    firsts = [max(-((tap * dilation - padding) // stride), 0) for tap in range(kernel)]
    return [(first, max(min((size - 1 + padding - tap * dilation) // stride + 1, out), first)) for tap, first in enumerate(firsts)]


def _plain_image(dtype, shape):
    """The padded image with its columns in order; where each run of taps in a row of the kernel starts, how long it is, and where
    it is inside; where each place of the output starts; and which of the taps, run by run, each k is."""
    longest = tile_names(dtype)["PLACES_A_RUN"]
    single = [k == 1 for k in shape.kernel]              # a single tap sees only every stride-th element
    step = [1 if one else s for one, s in zip(single, shape.stride)]
    padded = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(shape.out, step, shape.kernel, shape.dilation)]
    pieces = -(-shape.kernel[2] // longest)
    run = -(-shape.kernel[2] // pieces)
    channels = shape.channels // shape.groups
    image = Image(dtype, channels, shape.channels * math.prod(shape.size), shape.size, shape.padding, padded,
                  [s if one else 1 for one, s in zip(single, shape.stride)], 1, 1)
    image.elements += aligned((pieces * run - shape.kernel[2]) * shape.dilation[2])      # what a run has beyond is multiplied too
    plane, row = (np.arange(k) * d for k, d in zip(shape.kernel[:2], shape.dilation))
    starts = index_table(plane[:, None, None, None] * image.depth_step + row[:, None, None] * image.row_step
                         + np.arange(channels)[:, None] * image.channel_step + np.arange(pieces) * run * shape.dilation[2])
    depths, rows = (_inside(*(getattr(shape, name)[axis] for name in _AXIS)) for axis in (0, 1))
    inside = index_table([(*depth, row[0] * shape.out[2], row[1] * shape.out[2]) for depth in depths for row in rows
                          for _ in range(channels * pieces)])
    places = index_table(np.arange(shape.out[0])[:, None, None] * step[0] * image.depth_step
                         + np.arange(shape.out[1])[:, None] * step[1] * image.row_step + np.arange(shape.out[2]) * step[2])
    lines = np.arange(shape.kernel[0] * shape.kernel[1]) * channels + np.arange(channels)[:, None]
    return image, starts, run, inside, places, index_table(lines[:, :, None] * pieces * run + np.arange(shape.kernel[2]))


def _parts(shape):
    return threads.get_num_threads() if shape.multiply_adds > SPLIT_WORK else 1


def efficiency_of_totals(dtype, shape):
    """As `conv.py` means it, of tiles that at least ten taps fill; others get 0.8 of that. In multiply-adds, for an element of
    float32: a weight that comes back for each image costs 4, 20 where it exceeds the second-level cache; the threads' totals 72 to
    add up, 320 where the features of a vector lie in the same set of the cache; the output's gradient 17.6 to transpose."""
    width = tile_names(dtype)["WIDTH"]
    features, parts, sums = shape.features // shape.groups, _parts(shape), shape.images * shape.places
    pieces = -(-shape.kernel[2] // tile_names(dtype)["PLACES_A_RUN"])
    run = -(-shape.kernel[2] // pieces)
    full = 1.03 if run * (4 if run <= SHORT_RUN else 2) >= 10 else 0.81
    size = np.dtype(dtype).itemsize
    image = 20 if features * shape.channels * shape.taps * size > WEIGHT_BYTES else 4
    depth = shape.channels // shape.groups * shape.taps
    added = 320 if size * depth % 4096 == 0 and width > 8 else 72
    inside = math.prod(sum(end - first for first, end in _inside(*(getattr(shape, name)[axis] for name in _AXIS)))
                       / (shape.kernel[axis] * shape.out[axis]) for axis in (0, 1))      # lines of padding are not multiplied
    spent = sums / parts * (inside / full + 17.6 / depth) + (image * shape.images / parts + added) * size / 4
    return sums / spent * features / (-(-features // width) * width) * shape.kernel[2] / (pieces * run)


def efficiency_of_blocks(dtype, shape):
    """The same of full blocks, evenly shared, of which each element of float32 costs 64 multiply-adds to write."""
    columns, parts, sums = tile_names(dtype)["COLUMNS"], _parts(shape), shape.images * shape.places
    channels, (blocks, units) = shape.channels // shape.groups, _units(dtype, shape, parts)
    longest = -(-units * shape.groups // parts) * blocks * columns
    return sums / (1.01 * sums + 16 * np.dtype(dtype).itemsize) * channels * shape.groups / longest


def plan_totals(dtype, shape):
    """Features as lanes."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    image, starts, run, inside, offsets, order = _plain_image(dtype, shape)
    plane = shape.out[1] * shape.out[2]
    rows, groups, items = shape.features // shape.groups, shape.groups, shape.images * shape.groups
    runs, depth = -(-len(starts) // 4) * 4, len(order)   # with spare ones, since four are added to at a time
    group_size = aligned(-(-rows // names["WIDTH"]) * names["WIDTH"] * runs * run)
    total = groups * group_size
    scratch = image.elements + aligned(names["LANES"] * CHUNK + names["WIDTH"])
    threaded, parts = shape.multiply_adds > SPLIT_WORK, _parts(shape)
    # the work of an element: 0.9 where the parts' totals are added up, 0.5 where each part copies all images
    adding, copying = 0.9 * shape.features * depth, 0.5 * shape.images * (
        shape.channels * math.prod(shape.size) + shape.features * shape.places)
    if items >= parts and adding < copying:
        cuts, copies = [(a, b, 0, len(starts)) for a, b in pairwise(edges(items, parts))], parts
    else:
        parts, copies = min(parts, runs // 4), 1
        cuts = [(0, items, 4 * a, min(4 * b, len(starts))) for a, b in pairwise(edges(runs // 4, parts))]
    descriptors = [(first, end, low, high, image.table.ctypes.data, rows, groups, shape.places, runs, run, shape.dilation[2],
                    starts.ctypes.data, offsets.ctypes.data, image.elements, part * total if copies > 1 else 0,
                    copies * total + part * scratch, group_size, inside.ctypes.data, plane,
                    -(-plane // -(-plane // CHUNK))) for part, (first, end, low, high) in enumerate(cuts)]
    sums = threads.prepare(kernel_for(weight_totals, dtype), descriptors, release_lock=threaded)
    halves = -(-rows // names["WIDTH"])
    add_parts = min(parts, groups * halves) if rows * groups * depth > 20_000 else 1
    add = threads.prepare(kernel_for(add_totals, dtype), [(first, end, rows, depth, runs * run, copies, total, halves,
                                                           order.ctypes.data, group_size)
                                                          for first, end in pairwise(edges(groups * halves, add_parts))])
    return sequence("grad_out, x, grad_weight, workspace", [(sums, "grad_out, x, workspace"), (add, "workspace, grad_weight")],
                    (copies * total + parts * scratch) * size, (image, starts, inside, offsets, order))


# ---------------------------------------------------------------- channels as lanes
# The descriptor.
FIRST, END, UNITS, GROUPS, IMAGES, CHANNELS_A_GROUP, BLOCKS, FEATURES, X_PLACES, PLACES, TAPS = range(11)
SIDE, SOURCES, PANEL_SPACE, LEFT_SPACE, TOTALS, SCRATCH, ROW_BLOCKS = range(11, 18)


def _transpose(source, stride, present, count, rows, out):
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


def weight_blocks(grad_out, x, grad_weight, workspace, descriptor):
    """The gradient for units first..end: runs of channel blocks of all groups."""
    features, channels, taps = descriptor[FEATURES], descriptor[CHANNELS_A_GROUP], descriptor[TAPS]
    x_places, places = descriptor[X_PLACES], descriptor[PLACES]
    blocks, images, groups = descriptor[BLOCKS], descriptor[IMAGES], descriptor[GROUPS]
    side, row_blocks = descriptor[SIDE], descriptor[ROW_BLOCKS]
    transposed = offset(workspace, descriptor[SCRATCH])            # (block, image, place, COLUMNS), and a row of zeros at the end
    panel, left = offset(transposed, descriptor[PANEL_SPACE]), offset(transposed, descriptor[LEFT_SPACE])
    totals = offset(transposed, descriptor[TOTALS])                # (block, tap, feature, COLUMNS)
    sources = as_pointer(descriptor[SOURCES], descriptor)
    block_size, left_size = side * x_places * COLUMNS, ROWS * CHUNK + WIDTH
    zeros = offset(panel, -COLUMNS)
    clear(zeros, COLUMNS)
    for unit in range(descriptor[FIRST], descriptor[END]):
        group, start = unit // descriptor[UNITS], unit % descriptor[UNITS] * blocks * COLUMNS
        here = min(channels - start, blocks * COLUMNS)   # channels of this unit
        for image in range(0, images, side):
            present = min(side, images - image)
            for block in range(0, here, COLUMNS):
                for i in range(present):
                    _transpose(offset(x, (((image + i) * groups + group) * channels + start + block) * x_places), x_places,
                               min(here - block, COLUMNS), x_places, int64(COLUMNS),
                               offset(transposed, block // COLUMNS * block_size + i * x_places * COLUMNS))
            for first in range(0, places, CHUNK):
                count = min(CHUNK, places - first)       # of each image
                for block in range(row_blocks):
                    row = block_start(block, row_blocks, features)
                    height = block_start(block + 1, row_blocks, features) - row
                    for i in range(present):
                        _transpose(offset(grad_out, (((image + i) * groups + group) * features + row) * places + first), places,
                                   height, count, int64(ROWS), offset(left, block * left_size + i * count * ROWS))
                for block in range(0, here, COLUMNS):
                    for tap in range(taps):
                        for i in range(present):
                            source = offset(transposed, block // COLUMNS * block_size + i * x_places * COLUMNS)
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


def _units(dtype, shape, parts):
    """Blocks of channels that are taken together, and how many such units a group has: about as many for each part."""
    columns, features = tile_names(dtype)["COLUMNS"], shape.features // shape.groups
    every = -(-shape.channels // shape.groups // columns)
    most = max(1, TOTALS_BYTES // (features * shape.taps * columns * np.dtype(dtype).itemsize))
    share, units = -(-parts // shape.groups), -(-every // most)
    blocks = -(-every // min(-(-units // share) * share, every))
    return blocks, -(-every // blocks)


def plan_blocks(dtype, shape):
    """Channels as lanes."""
    names, size = tile_names(dtype), np.dtype(dtype).itemsize
    columns, rows = names["COLUMNS"], names["ROWS"]
    groups, channels, features, taps = shape.groups, shape.channels // shape.groups, shape.features // shape.groups, shape.taps
    x_places, places = math.prod(shape.size), shape.places
    threaded, parts = shape.multiply_adds > SPLIT_WORK, _parts(shape)
    blocks, units = _units(dtype, shape, parts)
    side = max(1, min(shape.images, CHUNK // places))
    row_blocks = -(-features // rows)
    transposed = aligned(blocks * side * x_places * columns + columns)
    panel = aligned(CHUNK * columns + names["WIDTH"])
    left = aligned(row_blocks * (rows * CHUNK + names["WIDTH"]))
    totals = aligned(blocks * taps * features * columns)
    scratch = transposed + panel + left + totals
    sources = _sources(shape)
    parts = min(parts, groups * units)
    descriptors = [(first, end, units, groups, shape.images, channels, blocks, features, x_places, places, taps, side,
                    sources.ctypes.data, transposed, transposed + panel, transposed + panel + left, part * scratch, row_blocks)
                   for part, (first, end) in enumerate(pairwise(edges(groups * units, parts)))]
    prepared = threads.prepare(kernel_for(weight_blocks, dtype), descriptors, release_lock=threaded)
    return prepared.with_workspace(parts * scratch * size, sources)
