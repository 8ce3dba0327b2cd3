"""The loops of convolution with features as lanes (`lanes.py`): weights packed for them, images copied with their padding, and
a row of places at a time multiplied and transposed into planes.

A tile goes through the whole depth of its sums in registers; or several rows of places go through a piece of the depth together,
their sums in memory. `lanes.py` chooses.
"""
from __future__ import annotations

from numpy import float32, inf, int64

from ...intrinsics import as_pointer, local_array, offset
from ..micro.tile import copy_row, transpose_tile
from .image import copy_run, copy_vector, micro

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED, PLACES_A_RUN, RUNS_TRANSPOSED, LANES = 16, 1, 7, 2, 32


def _multiply_places(longest, runs, vectors, width, run, parts, part_step, depth, image, starts, stride, offsets, right,
                     first, first_row, lowest, out, out_row, rows, result, plane, span):
    """out[n * out_row + f] = rectify(first[n * first_row + f] + sum over k of image[place of n + offsets[k]] * right[k, f]) for
    f < vectors * width and each n = rows[r] + i, r < runs and i < run, whose place is starts[r] + i * stride; k takes `depth`
    numbers from 0, part_step, 2 * part_step...; `parts` times.

    longest, runs, vectors and width are literals; run is at most `longest`, itself at most 7. depth is at least 1. What is below
    `lowest` becomes 0. All of `first` is read before `out` is written. `result` is where the sums will go, features `plane` apart,
    each to `span` more elements.
    """
    lanes, totals = vectors * width, []
    for r in range(runs):
        for i in range(run):
            for f in range(lanes):
                total = first[(rows[r] + i) * first_row + f]
                for part in range(parts):
                    for k in range(part * part_step, part * part_step + depth):
                        total += image[starts[r] + i * stride + offsets[k]] * right[k * lanes + f]
                totals.append(((rows[r] + i) * out_row + f, type(total)(0) if total < lowest else total))
    for at, total in totals:
        out[at] = total


def _multiply_sliding(longest, runs, width, run, parts, part_step, groups, image, starts, offsets, right, first, lowest, out,
                      out_row, rows):
    """As `_multiply_places` for one vector of features and a stride of 1, where `groups` of three k, each finding the element after
    the one before, share what they load."""
    _multiply_places(longest, runs, 1, width, run, parts, part_step, 3 * groups, image, starts, 1, offsets, right, first, 0, lowest,
                     out, out_row, rows, out, 0, 0)


def _store_transposed(width, runs, pitch, source, run, features, out, plane, targets, ends):
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
    intrinsic.module = "numtorch.kernels.cpu.conv.lane_tile_ir"
    return intrinsic


multiply_places = _micro(_multiply_places, "multiply_places")
multiply_sliding = _micro(_multiply_sliding, "multiply_sliding")
store_transposed = _micro(_store_transposed, "store_transposed")

# The descriptor.
FIRST, END, FIRST_BLOCK, END_BLOCK, GROUPS, IMAGES, SIDE, SLABS, FEATURES, CHANNELS = range(10)
KERNEL_ROWS, CLASSES, RUN, STEP, HAS_BIAS, RELU_FLAG, OUT_DEPTHS, OUT_ROWS, OUT_COLUMNS, OUT_PLANE = range(10, 20)
X_ROW, X_DEPTH, X_CHANNEL, ROW_STEP, DEPTH_STEP, CHANNEL_STEP, IMAGE_STEP = range(20, 27)
SLAB_TABLE, LINE_TABLE, OFFSETS, W_ORDER, W_ROW, W_BASE, W_BASES, W_RUN, W_GROUP, W_LIMIT = range(27, 37)
PACKED_GROUP, PACK_INSIDE, LEFT_SPACE, SCRATCH, BLOCKS, KIND_TABLE, KINDS, SLIDING = range(37, 45)
ROW_PLACES, SUMS_SPACE, CHUNK, ROWS_TOGETHER, LAST = range(45, 50)

# A slab's words: its planes, rows and columns of places, each the first and how many; the source's that they see; how many zeros
# are before a row, and how long it is with zeros.
S_DEPTH, S_DEPTHS, S_ROW, S_ROWS, S_COLUMN, S_COLUMNS = range(6)
S_X_DEPTH, S_X_DEPTHS, S_X_ROW, S_X_ROWS, S_X_COLUMN, S_X_COLUMNS, S_BEFORE, S_LENGTH, S_WORDS = range(6, 15)
# A line's words, of planes and then of rows of the output: the source's line under the first tap of its class, the first tap
# inside, how many. A kind's, of taps of a class of columns that are multiplied together: its first k, how many of them are in a
# row of the kernel, where the class's first place starts in a row of the image, the class, and which of its places, first to end,
# find one inside.
L_SOURCE, L_TAP, L_TAPS, L_WORDS = range(4)
C_FIRST, C_TAPS, C_START, C_CLASS, C_LOW, C_HIGH, C_WORDS = range(7)


# ---------------------------------------------------------------- the weight
def _pack_lanes(weight, skipped, present, lanes, descriptor, out):
    """out[k * lanes + l] = weight[l * W_ROW + place of k], rows l that are absent repeating row 0."""
    transposed, order = local_array(T, 1040), as_pointer(descriptor[W_ORDER], descriptor)
    row_stride, run = descriptor[W_ROW], descriptor[W_RUN]
    for base in range(descriptor[W_BASES]):
        for j in range(0, run, WIDTH):
            at = skipped + base * descriptor[W_BASE] + j
            source, count = offset(weight, at), min(run - j, WIDTH)
            if at + (present - 1) * row_stride + WIDTH <= descriptor[W_LIMIT]:
                if lanes == WIDTH:
                    transpose_tile(WIDTH, WIDTH, source, row_stride, present, transposed)
                else:
                    transpose_tile(LANES, WIDTH, source, row_stride, present, transposed)
            else:
                for i in range(count):
                    for lane in range(lanes):
                        transposed[i * lanes + lane] = source[(lane if lane < present else 0) * row_stride + i]
            for i in range(count):
                to = offset(out, order[base * run + j + i] * lanes)
                for lane in range(0, lanes, WIDTH):
                    copy_vector(WIDTH, offset(transposed, i * lanes + lane), offset(to, lane))


def _lanes_of(features, block):
    """A block has two vectors of features, the last may have one."""
    return int64(WIDTH) if features - block * LANES <= WIDTH else int64(LANES)


def pack_lanes(weight, packed, descriptor):
    """Feature blocks first..end of groups * blocks."""
    features, blocks = descriptor[FEATURES], descriptor[BLOCKS]
    depth = descriptor[W_BASES] * descriptor[W_RUN]
    for at in range(descriptor[FIRST], descriptor[END]):
        group, block = at // blocks, at % blocks
        _pack_lanes(weight, group * descriptor[W_GROUP] + block * LANES * descriptor[W_ROW], min(features - block * LANES, LANES),
                    _lanes_of(features, block), descriptor, offset(packed,
                                                                   group * descriptor[PACKED_GROUP] + block * LANES * depth))


# ---------------------------------------------------------------- places
def _copy_slab(x, image, slab, descriptor):
    """Copy what a slab's places see of each channel of an image: rows with their padding, no lines of padding. Where channels are
    last, a row is of all of them."""
    each, channels = (descriptor[CHANNELS], int64(1)) if descriptor[LAST] != 0 else (int64(1), descriptor[CHANNELS])
    before, count, length = slab[S_BEFORE] * each, slab[S_X_COLUMNS] * each, slab[S_LENGTH] * each
    for channel in range(channels):
        for z in range(slab[S_X_DEPTHS]):
            plane = channel * descriptor[X_CHANNEL] + (z + slab[S_X_DEPTH]) * descriptor[X_DEPTH]
            source = offset(x, plane + slab[S_X_ROW] * descriptor[X_ROW] + slab[S_X_COLUMN] * each)
            to = offset(image, channel * descriptor[CHANNEL_STEP] + z * descriptor[DEPTH_STEP])
            for y in range(slab[S_X_ROWS]):
                line, there = offset(source, y * descriptor[X_ROW]), offset(to, y * descriptor[ROW_STEP])
                for i in range(before):
                    there[i] = T(0)
                if MASKED != 0:                          # what is written beyond the row, the next row overwrites
                    for i in range(0, count, WIDTH):
                        copy_row(1, WIDTH, MASKED, offset(line, i), count - i, offset(there, before + i))
                else:
                    copy_run(line, offset(there, before), count)
                for i in range(before + count, length):
                    there[i] = T(0)


def _lanes_row(images, columns, lanes, image, source, plane, line, weight, bias, lowest, features, out, target, end, descriptor):
    """All places of one row of a slab in all images, for one block of features. Classes of columns take turns in a tile."""
    starts, targets, limits = local_array(int64, 4), local_array(int64, 8), local_array(int64, 8)
    there, rows = local_array(int64, 4), local_array(int64, 4)
    tile, offsets = local_array(T, 1024), as_pointer(descriptor[OFFSETS], descriptor)
    run, step = descriptor[RUN], descriptor[STEP]
    classes, kinds = descriptor[CLASSES], as_pointer(descriptor[KIND_TABLE], descriptor)
    out_step, place_step, feature_step = _out_steps(descriptor)
    in_row = (columns + run - 1) // run
    runs, number, i = int64(4 if lanes == WIDTH else 2), int64(0), int64(0)
    total = images * in_row
    done = int64(0)
    for r in range(4):
        rows[r] = r * run
    while done < total:
        for r in range(runs):
            column = min(i * run, columns - run)         # the last run overlaps the one before
            starts[r] = number * descriptor[IMAGE_STEP] + source + column * step
            for c in range(classes):                     # the places of all classes lie side by side
                targets[r * classes + c] = number * out_step + target + column * classes + c * run
                limits[r * classes + c] = number * out_step + end
            if done + r < total - 1:                     # beyond, the last run is repeated
                i += 1
                if i == in_row:
                    i = int64(0)
                    number += 1
        done += runs
        span, result = targets[runs * classes - 1] - targets[0] + run - 1, offset(out, targets[0] * place_step)
        plane_step = feature_step
        if descriptor[LAST] != 0:                              # a line of each place, and then its second
            span, plane_step = int64(WIDTH), place_step
        for c in range(classes):
            kind = offset(kinds, c * C_WORDS)
            tap_row = descriptor[CHANNELS] * kind[C_TAPS]
            tap_plane = descriptor[KERNEL_ROWS] * tap_row
            k = kind[C_FIRST] + plane[L_TAP] * tap_plane + line[L_TAP] * tap_row
            parts, terms = plane[L_TAPS], line[L_TAPS] * tap_row
            if terms == tap_plane:                       # neighbouring planes of taps are one part
                parts, terms = min(parts, int64(1)), parts * terms
            if terms == 0:
                parts = int64(0)
            for r in range(4):
                there[r] = starts[min(r, runs - 1)] + kind[C_START]
            if lanes == WIDTH and descriptor[SLIDING] != 0:
                multiply_sliding(PLACES_A_RUN, 4, WIDTH, run, parts, tap_plane, terms // 3, image, there, offset(offsets, k),
                                 offset(weight, k * WIDTH), bias, lowest, tile, int64(WIDTH), rows)
            elif lanes == WIDTH:
                multiply_places(PLACES_A_RUN, 4, 1, WIDTH, run, parts, tap_plane, terms, image, there, step, offset(offsets, k),
                                offset(weight, k * WIDTH), bias, int64(0), lowest, offset(tile, c * WIDTH), classes * WIDTH, rows,
                                result, plane_step, span)
            else:
                multiply_places(PLACES_A_RUN, 2, 2, WIDTH, run, parts, tap_plane, terms, image, there, step, offset(offsets, k),
                                offset(weight, k * LANES), bias, int64(0), lowest, offset(tile, c * LANES), classes * LANES, rows,
                                result, plane_step, span)
        _store_runs(tile, runs * classes, run, lanes, features, out, targets, limits, descriptor)


def _out_steps(descriptor):
    """How far apart the places of neighbouring images are in the output, counted in places; and how far places and features."""
    if descriptor[LAST] != 0:
        return descriptor[OUT_PLANE], descriptor[FEATURES], int64(1)
    return descriptor[GROUPS] * descriptor[FEATURES] * descriptor[OUT_PLANE], int64(1), descriptor[OUT_PLANE]


def _store_runs(tile, runs, run, lanes, features, out, targets, limits, descriptor):
    """Bring runs of places, of one block of features, to the output: transposed into its planes, or as they are where channels are
    last."""
    out_plane, present = descriptor[OUT_PLANE], min(features, lanes)
    if descriptor[LAST] != 0:
        for r in range(runs):
            for i in range(min(run, limits[r] - targets[r])):
                copy_run(offset(tile, (r * run + i) * lanes), offset(out, (targets[r] + i) * descriptor[FEATURES]), present)
        return
    for first in range(0, runs, RUNS_TRANSPOSED):
        for lane in range(0, present, WIDTH):
            if lanes == WIDTH:
                store_transposed(WIDTH, RUNS_TRANSPOSED, WIDTH, offset(tile, first * run * WIDTH), run, features, out, out_plane,
                                 offset(targets, first), offset(limits, first))
            else:
                store_transposed(WIDTH, RUNS_TRANSPOSED, LANES, offset(tile, first * run * LANES + lane), run, features - lane,
                                 offset(out, lane * out_plane), out_plane, offset(targets, first), offset(limits, first))


def _store_rows(sums, images, first_row, end_row, lanes, places, target, lowest, features, out, end, descriptor):
    """Rows of sums by lanes, with the activation, to rows of the features in `out`; a row has `places` places."""
    targets, limits = local_array(int64, 4), local_array(int64, 4)
    run, out_step = int64(WIDTH // RUNS_TRANSPOSED), _out_steps(descriptor)[0]
    pitch = descriptor[ROW_PLACES] * descriptor[CLASSES]
    for y in range(first_row, end_row):
        for number in range(images):
            for place in range(0, places, WIDTH):
                tile = offset(sums, (((y - first_row) * images + number) * pitch + place) * lanes)
                if descriptor[RELU_FLAG] != 0:
                    for i in range(WIDTH * lanes):
                        tile[i] = T(0) if tile[i] < lowest else tile[i]
                for r in range(RUNS_TRANSPOSED):
                    targets[r] = number * out_step + target + y * descriptor[OUT_COLUMNS] + place + r * run
                    limits[r] = number * out_step + end
                    if descriptor[LAST] != 0:                  # and not more than the row
                        limits[r] = min(limits[r], targets[r] - r * run + min(places - place, int64(WIDTH)))
                _store_runs(tile, int64(RUNS_TRANSPOSED), run, lanes, features, out, targets, limits, descriptor)


def _lanes_rows(images, z, first_row, end_row, lanes, image, slab, weight, bias, lowest, features, out, end, sums, descriptor):
    """The same for rows first..end of a plane, in pieces of the depth, a row of taps of a few channels, whose weights all rows find
    in the first-level cache; added up in `sums`. Of each kind of taps only for the places of a row that find one inside."""
    starts, rows, own_rows = local_array(int64, 4), local_array(int64, 4), local_array(int64, 64)
    offsets, kinds = as_pointer(descriptor[OFFSETS], descriptor), as_pointer(descriptor[KIND_TABLE], descriptor)
    step, classes, row_places = descriptor[STEP], descriptor[CLASSES], descriptor[ROW_PLACES]
    pitch, columns, channels = classes * lanes, slab[S_COLUMNS], descriptor[CHANNELS]
    plane = offset(as_pointer(descriptor[LINE_TABLE], descriptor), z * L_WORDS)
    lines = offset(as_pointer(descriptor[LINE_TABLE], descriptor), descriptor[OUT_DEPTHS] * L_WORDS)
    source = (plane[L_SOURCE] - slab[S_X_DEPTH]) * descriptor[DEPTH_STEP] - slab[S_X_ROW] * descriptor[ROW_STEP]
    target = z * descriptor[OUT_ROWS] * descriptor[OUT_COLUMNS] + slab[S_COLUMN] * classes
    runs = int64(4 if lanes == WIDTH else 2)
    for n in range((end_row - first_row) * images * row_places * classes):
        for lane in range(0, lanes, WIDTH):
            copy_vector(WIDTH, offset(bias, lane), offset(sums, n * lanes + lane))
    for taps in range(plane[L_TAP] * descriptor[KERNEL_ROWS], (plane[L_TAP] + plane[L_TAPS]) * descriptor[KERNEL_ROWS]):
        tap, height = taps % descriptor[KERNEL_ROWS], int64(0)
        for y in range(first_row, end_row):
            line = offset(lines, y * L_WORDS)
            if line[L_TAP] <= tap and tap < line[L_TAP] + line[L_TAPS]:
                own_rows[height] = y
                height += 1
        for channel in range(0, channels if height > 0 else 0, descriptor[CHUNK]):
            for which in range(descriptor[KINDS]):
                kind = offset(kinds, which * C_WORDS)
                low, high = max(kind[C_LOW] - slab[S_COLUMN], int64(0)), min(kind[C_HIGH] - slab[S_COLUMN], columns)
                if low >= high or kind[C_TAPS] == 0:
                    continue
                k = kind[C_FIRST] + (taps * channels + channel) * kind[C_TAPS]
                depth = min(channels - channel, descriptor[CHUNK]) * kind[C_TAPS]
                in_row = (high - low + PLACES_A_RUN - 1) // PLACES_A_RUN
                run = (high - low + in_row - 1) // in_row
                low = max(min(low, columns - in_row * run), int64(0))        # the more are in the padding, or beyond the row
                number, row, i, done, total = int64(0), int64(0), int64(0), int64(0), height * images * in_row
                own = offset(sums, kind[C_CLASS] * lanes)
                while done < total:
                    for r in range(4):
                        if r < runs:
                            y, column = own_rows[row], low + i * run
                            starts[r] = number * descriptor[IMAGE_STEP] + source \
                                + lines[y * L_WORDS + L_SOURCE] * descriptor[ROW_STEP] + column * step + kind[C_START]
                            rows[r] = ((y - first_row) * images + number) * row_places + column
                            if done + r < total - 1:     # beyond, the last run is repeated
                                i += 1
                                if i == in_row:
                                    i = int64(0)
                                    number += 1
                                if number == images:
                                    number = int64(0)
                                    row += 1
                    done += runs
                    if lanes == WIDTH:
                        multiply_places(PLACES_A_RUN, 4, 1, WIDTH, run, int64(1), int64(0), depth, image, starts, step,
                                        offset(offsets, k), offset(weight, k * WIDTH), own, pitch, T(-inf), own, pitch, rows, own,
                                        int64(0), int64(0))
                    else:
                        multiply_places(PLACES_A_RUN, 2, 2, WIDTH, run, int64(1), int64(0), depth, image, starts, step,
                                        offset(offsets, k), offset(weight, k * LANES), own, pitch, T(-inf), own, pitch, rows, own,
                                        int64(0), int64(0))
    _store_rows(sums, images, first_row, end_row, lanes, columns * classes, target, lowest, features, out, end, descriptor)


def convolve_lanes(x, weight, bias, out, workspace, descriptor):
    """Units first..end of (group, images side by side, slab), of each feature blocks first_block..end_block."""
    groups, slabs, features, channels = descriptor[GROUPS], descriptor[SLABS], descriptor[FEATURES], descriptor[CHANNELS]
    depths, classes = as_pointer(descriptor[LINE_TABLE], descriptor), descriptor[CLASSES]
    lines = offset(depths, descriptor[OUT_DEPTHS] * L_WORDS)
    image = offset(workspace, descriptor[SCRATCH])
    left, sums = offset(image, descriptor[LEFT_SPACE]), offset(image, descriptor[SUMS_SPACE])
    start = local_array(T, 64)
    lowest = T(0) if descriptor[RELU_FLAG] != 0 else T(-inf)
    depth = descriptor[W_BASES] * descriptor[W_RUN]
    blocks_of_images = (descriptor[IMAGES] + descriptor[SIDE] - 1) // descriptor[SIDE]
    for unit in range(descriptor[FIRST], descriptor[END]):
        slab, item = offset(as_pointer(descriptor[SLAB_TABLE], descriptor), unit % slabs * S_WORDS), unit // slabs
        group, first = item // blocks_of_images, item % blocks_of_images * descriptor[SIDE]
        images = min(descriptor[SIDE], descriptor[IMAGES] - first)
        last_row = (slab[S_DEPTH] + slab[S_DEPTHS] - 1) * descriptor[OUT_ROWS] + slab[S_ROW] + slab[S_ROWS] - 1
        slab_end = last_row * descriptor[OUT_COLUMNS] \
            + min((slab[S_COLUMN] + slab[S_COLUMNS]) * classes, descriptor[OUT_COLUMNS])
        for i in range(images):
            _copy_slab(offset(x, ((first + i) * groups + group) * channels * descriptor[X_CHANNEL]),
                       offset(image, i * descriptor[IMAGE_STEP]),
                       slab, descriptor)
        for block in range(descriptor[FIRST_BLOCK], descriptor[END_BLOCK]):
            lanes, number = _lanes_of(features, block), min(features - block * LANES, LANES)
            packed = offset(workspace, group * descriptor[PACKED_GROUP] + block * LANES * depth)
            if descriptor[PACK_INSIDE] != 0:
                packed = left
                _pack_lanes(weight, group * descriptor[W_GROUP] + block * LANES * descriptor[W_ROW], number, lanes, descriptor,
                            left)
            for f in range(LANES):
                start[f] = bias[group * features + block * LANES + f] if descriptor[HAS_BIAS] != 0 and f < number else T(0)
            to = offset(out, first * groups * features * descriptor[OUT_PLANE]
                        + (group * features + block * LANES) * _out_steps(descriptor)[2])
            for z in range(slab[S_DEPTH], slab[S_DEPTH] + slab[S_DEPTHS]):
                plane = offset(depths, z * L_WORDS)
                if descriptor[ROW_PLACES] != 0:
                    for y in range(slab[S_ROW], slab[S_ROW] + slab[S_ROWS], descriptor[ROWS_TOGETHER]):
                        end_row = min(y + descriptor[ROWS_TOGETHER], slab[S_ROW] + slab[S_ROWS])
                        _lanes_rows(images, z, y, end_row, lanes, image, slab, packed, start, lowest, number, to, slab_end, sums,
                                    descriptor)
                    continue
                for y in range(slab[S_ROW], slab[S_ROW] + slab[S_ROWS]):
                    line = offset(lines, y * L_WORDS)
                    source = (plane[L_SOURCE] - slab[S_X_DEPTH]) * descriptor[DEPTH_STEP] \
                        + (line[L_SOURCE] - slab[S_X_ROW]) * descriptor[ROW_STEP]
                    target = (z * descriptor[OUT_ROWS] + y) * descriptor[OUT_COLUMNS] + slab[S_COLUMN] * classes
                    _lanes_row(images, slab[S_COLUMNS], lanes, image, source, plane, line, packed, start, lowest, number, to,
                               target, slab_end, descriptor)
