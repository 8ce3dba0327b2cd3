"""Convolution as a matrix product whose panels are packed straight from a padded image: no im2col buffer.

One image and group is copied into a zero-padded buffer whose columns are split by stride phase, so that neighbouring
outputs read neighbouring elements whatever the stride. Then the right operand at (k, position) is
`image[offsets[k] + position_row * step + position_column]`, where k counts channel and tap. `correlate` packs panels of
it for the register tile of `tile.py`. It is the forward pass; and, over the gradient of the output with the weight's
roles exchanged, the gradient for the input, once for each stride phase of the input. `weight_totals` multiplies the
same image, read in place through the offsets, by the transposed gradient.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses between these and direct loops.
"""
from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from .. import threads
from ..compiler import compile_kernel
from ..intrinsics import Intrinsic, as_pointer, local_array, offset
from .tile import ACCUMULATE, RELU, ROW_BIAS, host_tile, host_vector, multiply_tile, transpose_tile
from .window import end_inside, first_inside

T = float32                                              # these are bound by `_names`
ROWS, VECTORS, WIDTH, MASKED, COLUMNS = 14, 2, 16, 1, 32
WIDE_VECTORS, WIDE_ROWS, NARROW_ROWS = 4, 6, 12
CHUNK, PLANE = 256, 4160

DEPTH = 256                                              # of a packed panel: 32 KB with 32 float32 columns
FEW_PANELS = 8                                           # up to here threads share rows, and the weight is not packed
SPLIT_WORK = 1_000_000                                   # multiply-adds above which two threads win, some 20 µs


def _copy_vector(width, source, out):
    """Copy `width` (a literal) elements with one load and one store."""
    for i, value in enumerate([source[i] for i in range(width)]):
        out[i] = value


def _multiply_indirect(max_rows, vectors, width, plane, rows, depth, left, row_offsets, column_offsets, right, out,
                       out_row):
    """out[rows, vectors * width] += left @ right; max_rows, vectors, width and plane are literals, depth at least 1.

    Element (i, k) of left is left[row_offsets[i] + column_offsets[k]]; element (k, j * width + l) of right is
    right[j * plane + k * width + l].
    """
    for i in range(rows):
        for j in range(vectors * width):
            total = out[i * out_row + j]
            for k in range(depth):
                total += left[row_offsets[i] + column_offsets[k]] * right[j // width * plane + k * width + j % width]
            out[i * out_row + j] = total


def _micro(twin, name):
    twin.__name__ = name
    return Intrinsic(twin, module="numtorch.kernels.cpu.convtile")


copy_vector = _micro(_copy_vector, "copy_vector")
multiply_indirect = _micro(_multiply_indirect, "multiply_indirect")


# ---------------------------------------------------------------- the padded image
def _copy_row(source, out, count):
    if count >= WIDTH:
        for i in range(0, count - WIDTH + 1, WIDTH):
            copy_vector(WIDTH, offset(source, i), offset(out, i))
        copy_vector(WIDTH, offset(source, count - WIDTH), offset(out, count - WIDTH))
    else:
        for i in range(count):
            out[i] = source[i]


def _pad(x, image, walk):
    """Copy channels into the interior of a zeroed (channels, padded rows, phases, padded columns) buffer."""
    first_channel, end_channel, height, width = walk[2], walk[3], walk[4], walk[5]
    pad_top, pad_left, padded_rows, phases, padded_columns = walk[6], walk[7], walk[8], walk[9], walk[10]
    first_row, end_row = first_inside(-pad_top, 1), end_inside(-pad_top, 1, height, padded_rows)
    for channel in range(first_channel, end_channel):
        for row in range(first_row, end_row):
            source = offset(x, (channel * height + row - pad_top) * width)
            out = offset(image, (channel * padded_rows + row) * phases * padded_columns)
            for phase in range(phases):
                shift = phase - pad_left
                first = first_inside(shift, phases)
                count = end_inside(shift, phases, width, padded_columns) - first
                if phases == 1:
                    _copy_row(offset(source, first + shift), offset(out, first), count)
                else:
                    start, to = first * phases + shift, phase * padded_columns + first
                    for i in range(count):
                        out[to + i] = source[start + i * phases]


def _clear(pointer, count):
    for i in range(count):
        pointer[i] = T(0)


# ---------------------------------------------------------------- forward, and the gradient for the input
def pack_weight(weight, packed, walk):
    """Row blocks first..end of groups * blocks, each as (k, ROWS), for every phase."""
    rows, row_stride, group_stride, block_rows, blocks = walk[2], walk[3], walk[4], walk[5], walk[6]
    group_size, phases = walk[7], as_pointer(walk[8], walk)
    for at in range(walk[0], walk[1]):
        group, block = at // blocks, at % blocks
        source = offset(weight, group * group_stride + block * block_rows * row_stride)
        height = min(block_rows, rows - block * block_rows)
        for phase in range(walk[9]):
            depth = phases[phase * 8 + 1]
            taps = as_pointer(phases[phase * 8 + 7], walk)
            out = offset(packed, group * group_size + phases[phase * 8 + 5] + block * ROWS * depth)
            for k in range(depth):
                tap = taps[k]
                for row in range(height):
                    out[k * ROWS + row] = source[row * row_stride + tap]


def _pack_panel(image, offsets, first, end, sources, targets, copies, panel):
    """Pack rows first..end. Each copy is a whole vector; what it writes beyond its share, the next copy overwrites."""
    if copies == 2:
        source, to = offset(image, sources[1]), targets[1]
        start = offset(image, sources[0])
        for k in range(first, end):
            row = offset(panel, (k - first) * COLUMNS)
            copy_vector(WIDTH, offset(start, offsets[k]), row)
            copy_vector(WIDTH, offset(source, offsets[k]), offset(row, to))
    else:
        for k in range(first, end):
            row = offset(panel, (k - first) * COLUMNS)
            source = offset(image, offsets[k])
            for i in range(copies):
                copy_vector(WIDTH, offset(source, sources[i]), offset(row, targets[i]))


def correlate(x, weight, bias, out, workspace, walk):
    """Panels first..end over images, groups, phases and positions; of each, row blocks first_block..end_block."""
    panels, rows, step = walk[11], walk[12], walk[13]
    groups, out_plane, to_row, to_column, flags, scattered = walk[14], walk[15], walk[16], walk[17], walk[18], walk[19]
    scratch, group_size = offset(workspace, walk[25]), walk[22]
    panel, tile = offset(scratch, walk[20]), offset(scratch, walk[21])
    block_rows, phases = walk[23], as_pointer(walk[24], walk)
    first_block, end_block, in_place, row_stride, group_stride = walk[26], walk[27], walk[28], walk[29], walk[30]
    first_row, end_row = first_block * block_rows, min(end_block * block_rows, rows)
    channels = walk[3]
    sources, targets = local_array(int64, 64), local_array(int64, 64)
    places = local_array(int64, 64)
    _clear(scratch, walk[20])
    held, phase = int64(-1), int64(0)
    for at in range(walk[0], walk[1]):
        item, number = at // panels, at % panels
        if item != held:
            _pad(offset(x, item * channels * walk[4] * walk[5]), scratch, walk)
            held, phase = item, int64(0)
        while number >= phases[phase * 8 + 8]:
            phase += 1
        group = item % groups
        depth, height, width = phases[phase * 8 + 1], phases[phase * 8 + 2], phases[phase * 8 + 3]
        offsets = as_pointer(phases[phase * 8 + 4], walk)
        if in_place != 0:
            left, left_row, left_column = offset(weight, group * group_stride), row_stride, int64(1)
            block_step = block_rows * row_stride
        else:
            left = offset(workspace, group * group_size + phases[phase * 8 + 5])
            left_row, left_column, block_step = int64(1), int64(ROWS), ROWS * depth
        first = (number - phases[phase * 8]) * COLUMNS
        count = min(height * width - first, COLUMNS)

        copies, column = int64(0), int64(0)
        while column < count:                            # cut the panel's columns where a row of positions ends
            y, z = (first + column) // width, (first + column) % width
            length = min(width - z, count - column)
            for i in range(0, length, WIDTH):
                sources[copies], targets[copies] = y * step + z + i, column + i
                copies += 1
            if scattered != 0:
                for i in range(length):
                    places[column + i] = phases[phase * 8 + 6] + y * to_row + (z + i) * to_column
            column += length

        image_out = offset(out, item * rows * out_plane)
        to, pitch = offset(image_out, first), out_plane
        if scattered != 0 or (MASKED == 0 and count < COLUMNS):
            to, pitch = tile, int64(COLUMNS)
        chunks = max(1, (depth + DEPTH // 2) // DEPTH)
        chunk = (depth + chunks - 1) // chunks
        for k in range(0, max(depth, 1), max(chunk, 1)):
            end = min(k + chunk, depth)
            _pack_panel(scratch, offsets, k, end, sources, targets, copies, panel)
            mode = (ACCUMULATE if k > 0 else 0) | (flags if end == depth else 0)
            for block in range(first_block, end_block):
                row = block * block_rows
                multiply_tile(ROWS, VECTORS, WIDTH, MASKED, min(block_rows, rows - row), end - k,
                              offset(left, block * block_step + k * left_column), left_row, left_column, panel, COLUMNS,
                              offset(to, row * pitch), pitch, count, T(1), T(1), offset(bias, group * rows + row), mode)
        if scattered != 0:
            for row in range(first_row, end_row):
                for i in range(count):
                    image_out[row * out_plane + places[i]] = tile[row * COLUMNS + i]
        elif MASKED == 0 and count < COLUMNS:
            for row in range(first_row, end_row):
                for i in range(count):
                    image_out[row * out_plane + first + i] = tile[row * COLUMNS + i]


# ---------------------------------------------------------------- the gradient for the weight
def _transpose_gradient(grad, positions, rows, first, count, panel):
    """panel[p * WIDTH + r] = grad[r * positions + first + p], where rows that are absent repeat row 0."""
    whole = count - count % WIDTH
    for p in range(0, whole, WIDTH):
        transpose_tile(WIDTH, WIDTH, offset(grad, first + p), positions, rows, offset(panel, p * WIDTH))
    for p in range(whole, count):
        for r in range(WIDTH):
            panel[p * WIDTH + r] = grad[(r if r < rows else 0) * positions + first + p]


def weight_totals(grad_out, x, workspace, walk):
    """totals[group, k, feature] over items first..end of images * groups, for k of first_tap..end_tap."""
    channels, height, width = walk[11], walk[4], walk[5]
    rows, groups, positions, depth, first_tap, end_tap = walk[12], walk[13], walk[14], walk[15], walk[16], walk[17]
    columns = walk[18]
    row_offsets, column_offsets = as_pointer(walk[19], walk), as_pointer(walk[20], walk)
    totals, scratch = offset(workspace, walk[22]), offset(workspace, walk[23])
    panel = offset(scratch, walk[21])
    _clear(scratch, walk[21])
    for group in range(groups):
        _clear(offset(totals, (group * depth + first_tap) * columns), (end_tap - first_tap) * columns)
    for item in range(walk[0], walk[1]):
        _pad(offset(x, item * channels * height * width), scratch, walk)
        out = offset(totals, item % groups * depth * columns)
        grad = offset(grad_out, item * rows * positions)
        for first in range(0, positions, CHUNK):
            count = min(CHUNK, positions - first)
            places = offset(column_offsets, first)
            column = int64(0)
            while column < columns:
                vectors = WIDE_VECTORS if columns - column >= WIDE_VECTORS * WIDTH else 1
                for v in range(vectors):
                    at = column + v * WIDTH
                    if at < rows:
                        present = min(rows - at, WIDTH)
                        _transpose_gradient(offset(grad, at * positions), positions, present, first, count,
                                            offset(panel, v * PLANE))
                most = WIDE_ROWS if vectors > 1 else NARROW_ROWS
                blocks = (end_tap - first_tap + most - 1) // most
                block = (end_tap - first_tap + blocks - 1) // blocks
                for k in range(first_tap, end_tap, block):
                    target, height_of_block = offset(out, k * columns + column), min(block, end_tap - k)
                    if vectors > 1:
                        multiply_indirect(WIDE_ROWS, WIDE_VECTORS, WIDTH, PLANE, height_of_block, count, scratch,
                                          offset(row_offsets, k), places, panel, target, columns)
                    else:
                        multiply_indirect(NARROW_ROWS, 1, WIDTH, PLANE, height_of_block, count, scratch,
                                          offset(row_offsets, k), places, panel, target, columns)
                column += vectors * WIDTH


def weight_grad(totals, grad_weight, walk):
    """Add up the parts' totals, from (part, group, k, feature) to (group, feature, k), for feature blocks first..end of
    all groups. A block is as wide as a cache line, so that each line is read once."""
    rows, depth, columns, copies, size, blocks = walk[2], walk[3], walk[4], walk[5], walk[6], walk[7]
    for at in range(walk[0], walk[1]):
        group, first = at // blocks, at % blocks * WIDTH
        count = min(rows - first, WIDTH)
        source = offset(totals, group * depth * columns + first)
        out = offset(grad_weight, (group * rows + first) * depth)
        for k in range(depth):
            for row in range(count):
                total = source[k * columns + row]
                for copy in range(1, copies):
                    total += source[copy * size + k * columns + row]
                out[row * depth + k] = total


# ---------------------------------------------------------------- planners
@functools.lru_cache(None)
def _names(dtype):
    tile = host_tile(np.dtype(dtype).itemsize)
    wide = 4 if host_vector()[1] == 32 else 2
    return dict(T=np.dtype(dtype).type, ROWS=tile.rows, VECTORS=tile.vectors, WIDTH=tile.width, MASKED=int(tile.masked),
                COLUMNS=tile.columns, WIDE_VECTORS=wide, WIDE_ROWS=6, NARROW_ROWS=12, PLANE=(CHUNK + 4) * tile.width)


@functools.lru_cache(None)
def _kernel(function, dtype):
    pointers = function.__code__.co_argcount - 1
    return compile_kernel(function, (dtype + "*",) * pointers + ("int64*",), _names(dtype))


def _edges(total, parts):
    return [total * part // parts for part in range(parts + 1)]


def _aligned(elements):
    return -(-elements // 16) * 16


def _table(values):
    return np.ascontiguousarray(values, np.int64).ravel()


class _Image:
    """The padded, phase-split buffer of one image and group: its sizes and how much scratch it takes."""

    def __init__(self, channels, height, width, pad_top, pad_left, rows, phases, columns, width_of_vector):
        self.channels = channels
        self.row_step = phases * columns
        self.sizes = (height, width, pad_top, pad_left, rows, phases, columns)
        self.plane = rows * phases * columns
        self.elements = _aligned(channels * self.plane + width_of_vector)            # a vector may reach beyond the end


def _forward_image(shape, dtype):
    """The image that taps and positions of the forward pass index, and the offset of each k = (channel, tap)."""
    tap_rows = np.arange(shape.kernel_h) * shape.dilation_h
    tap_columns = np.arange(shape.kernel_w) * shape.dilation_w
    channels = shape.channels // shape.groups
    image = _Image(channels, shape.height, shape.width, shape.pad_h, shape.pad_w,
                   (shape.rows - 1) * shape.stride_h + tap_rows[-1] + 1, shape.stride_w,
                   shape.columns + tap_columns[-1] // shape.stride_w, _names(dtype)["WIDTH"])
    columns = image.sizes[-1]
    taps = (tap_rows[:, None] * image.row_step + tap_columns % shape.stride_w * columns + tap_columns // shape.stride_w)
    return image, _table(np.arange(channels)[:, None] * image.plane + taps.ravel())


def _sequence(first, second, arguments, workspace, keep):
    """Two launches, one after the other. `arguments` picks each launch's addresses from the caller's."""
    first_call, first_walk, second_call, second_walk = first.call, first.walk, second.call, second.walk
    scope = dict(first=first_call, second=second_call, a=first_walk, b=second_walk)
    exec(f"def call({arguments[0]}, walk):\n    first({arguments[1]}, a)\n    second({arguments[2]}, b)\n", scope)
    return threads.Prepared(scope["call"], 0, workspace, (first, second, keep))


def _plan_correlation(dtype, shape, image, step, phases, rows, row_stride, group_stride, out_plane, to, flags,
                      contiguous, arguments):
    """Launches that pack the weight, then multiply.

    Args:
        step: how far apart in the image neighbouring rows of positions are.
        phases: for each, the positions' height and width, offsets in the image and in the weight, and the first place
            in the output.
        rows: of the weight's matrix in a group; row i of group g starts at i * row_stride + g * group_stride.
        out_plane: elements of the output a row; `to` is how far apart its places are, down and across, or None.
        contiguous: whether a row of the weight's matrix is contiguous, so that it can be used in place.
    """
    names, size = _names(dtype), np.dtype(dtype).itemsize
    items, groups = shape.images * shape.groups, shape.groups
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    panels = sum(-(-p[0] * p[1] // names["COLUMNS"]) for p in phases)
    by_rows = items * panels < FEW_PANELS * parts and rows >= parts * names["ROWS"]
    blocks = -(-rows // names["ROWS"])
    block_rows = -(-rows // (-(-blocks // parts) * parts if by_rows else blocks))
    blocks = -(-rows // block_rows)
    table, keep, panels, packed = [], [], 0, 0
    for height, width, offsets, taps, place in phases:
        depth = len(offsets)
        table += [panels, depth, height, width, offsets.ctypes.data, packed, place, taps.ctypes.data]
        keep += [offsets, taps]
        panels += -(-height * width // names["COLUMNS"])
        packed += _aligned(blocks * names["ROWS"] * depth)
    table = _table([*table, panels])
    scattered = int(to is not None)
    deepest = min(max((len(p[2]) for p in phases), default=0), 2 * DEPTH)
    panel_at = image.elements
    tile_at = panel_at + _aligned(deepest * names["COLUMNS"] + names["WIDTH"])
    scratch = tile_at + _aligned(rows * names["COLUMNS"])
    in_place = int(contiguous and items * panels <= FEW_PANELS * groups)
    if in_place:
        packed = 0
    if by_rows:
        cuts = [(0, items * panels, *blocks_of_part) for blocks_of_part in pairwise(_edges(blocks, parts))]
    else:
        parts = min(parts, items * panels)
        cuts = [(*panels_of_part, 0, blocks) for panels_of_part in pairwise(_edges(items * panels, parts))]
    common = (0, image.channels, *image.sizes, panels, rows, step, groups, out_plane, *(to or (0, 0)), flags, scattered,
              panel_at, tile_at, packed, block_rows, table.ctypes.data)
    descriptors = [(first, end, *common, packed * groups + part * scratch, first_block, end_block, in_place, row_stride,
                    group_stride)
                   for part, (first, end, first_block, end_block) in enumerate(cuts)]
    multiply = threads.prepare(_kernel(correlate, dtype), descriptors, [(0,) * 5] * parts, release_lock=threaded)
    workspace = (packed * groups + parts * scratch) * size
    if in_place:
        return threads.Prepared(multiply.call, multiply.walk, workspace, (multiply, table, keep))
    pack_parts = parts if packed * groups > 50_000 else 1
    pack = threads.prepare(_kernel(pack_weight, dtype), [
        (first, end, rows, row_stride, group_stride, block_rows, blocks, packed, table.ctypes.data, len(phases))
        for first, end in pairwise(_edges(groups * blocks, pack_parts))], [(0, 0)] * pack_parts)
    return _sequence(pack, multiply, arguments, workspace, (table, keep))


def plan_forward(dtype, shape, bias, relu):
    image, offsets = _forward_image(shape, dtype)
    depth = len(offsets)
    rows = shape.features // shape.groups
    phases = [(shape.rows, shape.columns, offsets, _table(np.arange(depth)), 0)]
    flags = (ROW_BIAS if bias else 0) | (RELU if relu else 0)
    return _plan_correlation(
        dtype, shape, image, shape.stride_h * image.row_step, phases, rows, depth, rows * depth,
        shape.rows * shape.columns, None, flags, True,
        ("x, weight, bias, out, workspace", "weight, workspace", "x, weight, bias, out, workspace"))


def _input_phases(size, kernel, stride, padding, dilation):
    """For each remainder of an input place by the stride: it, how many such places, its taps, and their shifts."""
    phases = []
    for remainder in range(min(stride, size)):
        taps = np.array([k for k in range(kernel) if (remainder + padding - k * dilation) % stride == 0], np.int64)
        shifts = (remainder + padding - taps * dilation) // stride
        phases.append((remainder, -(-(size - remainder) // stride), taps, shifts))
    return phases


def plan_input_grad(dtype, shape):
    """Input place stride * q + r meets output place q + (r + padding - tap * dilation) / stride, where that is whole: a
    correlation of stride 1 for each r."""
    down = _input_phases(shape.height, shape.kernel_h, shape.stride_h, shape.pad_h, shape.dilation_h)
    across = _input_phases(shape.width, shape.kernel_w, shape.stride_w, shape.pad_w, shape.dilation_w)
    top = max([0, *(-p[3].min() for p in down if len(p[2]))])
    left = max([0, *(-p[3].min() for p in across if len(p[2]))])
    rows = top + max([1, *(p[3].max() + p[1] for p in down if len(p[2]))])
    columns = left + max([1, *(p[3].max() + p[1] for p in across if len(p[2]))])
    features, channels = shape.features // shape.groups, shape.channels // shape.groups
    image = _Image(features, shape.rows, shape.columns, int(top), int(left), int(rows), 1, int(columns),
                   _names(dtype)["WIDTH"])
    taps = shape.kernel_h * shape.kernel_w
    feature = np.arange(features)[:, None, None]
    phases = []
    for row, height, tap_h, shift_h in down:
        for column, width, tap_w, shift_w in across:
            offsets = feature * image.plane + (shift_h[:, None] + top) * image.row_step + shift_w + left
            where = feature * channels * taps + tap_h[:, None] * shape.kernel_w + tap_w
            phases.append((height, width, _table(offsets), _table(where), row * shape.width + column))
    to = None if shape.stride_h == shape.stride_w == 1 else (shape.stride_h * shape.width, shape.stride_w)
    return _plan_correlation(
        dtype, shape, image, image.row_step, phases, channels, taps, features * channels * taps,
        shape.height * shape.width, to, 0, False,
        ("grad_out, weight, grad_x, workspace", "weight, workspace", "grad_out, weight, 0, grad_x, workspace"))


def plan_weight_grad(dtype, shape):
    names, size = _names(dtype), np.dtype(dtype).itemsize
    image, offsets = _forward_image(shape, dtype)
    places = _table(np.arange(shape.rows)[:, None] * shape.stride_h * image.row_step + np.arange(shape.columns))
    depth, rows, groups, items = len(offsets), shape.features // shape.groups, shape.groups, shape.images * shape.groups
    taps = shape.kernel_h * shape.kernel_w
    vectors = -(-rows // names["WIDTH"])
    if vectors % names["WIDE_VECTORS"] == names["WIDE_VECTORS"] - 1:
        vectors += 1
    columns = vectors * names["WIDTH"]
    total = _aligned(groups * depth * columns)
    scratch = image.elements + _aligned(names["WIDE_VECTORS"] * names["PLANE"] + names["WIDTH"])
    threaded = shape.multiply_adds > SPLIT_WORK
    parts = threads.get_num_threads() if threaded else 1
    if items >= parts:
        cuts, copies = [(a, b, 0, depth) for a, b in pairwise(_edges(items, parts))], parts
    else:
        parts, copies = min(parts, depth), 1
        cuts = [(0, items, a, b) for a, b in pairwise(_edges(depth, parts))]
    positions = shape.rows * shape.columns
    descriptors = [(first, end, low // taps, -(-high // taps), *image.sizes, image.channels, rows, groups, positions,
                    depth, low, high, columns, offsets.ctypes.data, places.ctypes.data, image.elements,
                    part * total if copies > 1 else 0, copies * total + part * scratch)
                   for part, (first, end, low, high) in enumerate(cuts)]
    sums = threads.prepare(_kernel(weight_totals, dtype), descriptors, [(0, 0, 0)] * parts, release_lock=threaded)
    blocks = -(-rows // names["WIDTH"])
    add_parts = min(parts, groups * blocks) if rows * groups * depth > 20_000 else 1
    add = threads.prepare(_kernel(weight_grad, dtype), [(first, end, rows, depth, columns, copies, total, blocks)
                                                        for first, end in pairwise(_edges(groups * blocks, add_parts))],
                          [(0, 0)] * add_parts)
    arguments = ("grad_out, x, grad_weight, workspace", "grad_out, x, workspace", "workspace, grad_weight")
    return _sequence(sums, add, arguments, (copies * total + parts * scratch) * size, (offsets, places))
