"""Convolutions as matrix products whose other side is copied to (channel and tap, place) first: im2col, and col2im on the way back.

What a copy costs is shared by all features, and a product of full depth runs at its own pace whatever the kernel, stride and
dilation (Chellapilla et al., "High performance convolutional neural networks for document processing", 2006). So this is for
what leaves the direct kernels without work: the input's gradient of few channels, whose tiles have a row for each of them,
strides that scatter results, and deep sums of float64. The copy is of a block of places at a time, in the second-level cache.

float32 and float64, one group. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy import float32, int64

from ... import threads
from ...families.windows import end_inside, first_inside
from ...intrinsics import as_pointer, local_array, offset
from ...program import sequence
from ..gemm.gemm import plan_gemm
from ..micro.tile import copy_row
from .axes import gradient_axis
from .columns import sum_pieces
from .image import aligned, index_table, micro, scatter_run, strided_run
from .product import FEW_PLACES, PLACES, copy_in_parts, cuts_patches, gather_planes, gradient_product, planes, scatter_planes

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED = 16, 1

BLOCK_BYTES = 1 << 20                                    # of a copied block, in the second-level cache
ALL_LANES = -1                                           # of a piece
MOST_TAPS = 1024                                         # that may meet in a place of the input
FEW_CHANNELS = 4
LEAST_FEATURES = 4                                       # whose product pays for the copy of patches
MARGIN = 32                                              # elements around scratch memory that whole vectors may reach

# The descriptor: the units first..end, images of a block, the pitch of its rows; then for each of three dimensions the sizes, the
# output's places of the block, the kernel, stride, padding and dilation, which of the input's places the block reaches, and the
# first that no block did before.
FIRST, END, IMAGES, PITCH, CHANNELS, TAPS, HAS_BIAS, ENTRIES, CLASSES, DIM, DIM_WORDS = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
SIZE, OUT_FIRST, OUT_END, KERNEL, STRIDE, PADDING, DILATION, X_FIRST, X_END, FRESH = range(10)


def _copy_places(source, to, step, count):
    if step == 1 and MASKED != 0:                        # zeros beyond the row fall on what comes next
        for i in range(0, count, WIDTH):
            copy_row(1, WIDTH, MASKED, offset(source, i), count - i, offset(to, i))
    else:
        strided_run(source, to, step, count)


def gather_taps(x, out, descriptor):
    """out[(channel, tap) * pitch + image * places + place] = what the tap finds there, for rows first..end."""
    deep, down, wide = offset(descriptor, DIM), offset(descriptor, DIM + DIM_WORDS), offset(descriptor, DIM + 2 * DIM_WORDS)
    planes, lines, columns = deep[OUT_END] - deep[OUT_FIRST], down[OUT_END] - down[OUT_FIRST], wide[OUT_END] - wide[OUT_FIRST]
    size = deep[SIZE] * down[SIZE] * wide[SIZE]
    for row in range(descriptor[FIRST], descriptor[END]):
        channel, tap = row // descriptor[TAPS], row % descriptor[TAPS]
        tap_x, rest = tap % wide[KERNEL], tap // wide[KERNEL]
        tap_y, tap_z = rest % down[KERNEL], rest // down[KERNEL]
        shift = wide[OUT_FIRST] * wide[STRIDE] + tap_x * wide[DILATION] - wide[PADDING]
        before = min(first_inside(shift, wide[STRIDE]), columns)
        inside = max(end_inside(shift, wide[STRIDE], wide[SIZE], columns) - before, int64(0))
        to = offset(out, row * descriptor[PITCH])
        for image in range(descriptor[IMAGES]):
            source = offset(x, (image * descriptor[CHANNELS] + channel) * size)
            for plane in range(planes):
                z = (deep[OUT_FIRST] + plane) * deep[STRIDE] + tap_z * deep[DILATION] - deep[PADDING]
                for line in range(lines):
                    y = (down[OUT_FIRST] + line) * down[STRIDE] + tap_y * down[DILATION] - down[PADDING]
                    zeros, count = before, inside
                    if z < 0 or z >= deep[SIZE] or y < 0 or y >= down[SIZE]:
                        zeros, count = columns, int64(0)
                    for i in range(zeros):
                        to[i] = T(0)
                    if count > 0:
                        _copy_places(offset(source, (z * down[SIZE] + y) * wide[SIZE] + shift + zeros * wide[STRIDE]),
                                     offset(to, zeros), wide[STRIDE], count)
                    for i in range(zeros + count, columns):
                        to[i] = T(0)
                    to = offset(to, columns)


def _starts_of_line(starts, z, y, deep, down, kernel_columns, columns, pitch):
    """Where in the sums the rows of taps begin that reach line (z, y) of the input; returns how many."""
    planes, lines, number = deep[OUT_END] - deep[OUT_FIRST], down[OUT_END] - down[OUT_FIRST], int64(0)
    for tap_z in range(deep[KERNEL]):
        at_z = z + deep[PADDING] - tap_z * deep[DILATION]
        plane = at_z // deep[STRIDE] - deep[OUT_FIRST]
        if at_z >= 0 and plane >= 0 and plane < planes and at_z % deep[STRIDE] == 0:
            for tap_y in range(down[KERNEL]):
                at_y = y + down[PADDING] - tap_y * down[DILATION]
                row = at_y // down[STRIDE] - down[OUT_FIRST]
                if at_y >= 0 and row >= 0 and row < lines and at_y % down[STRIDE] == 0:
                    starts[number] = (tap_z * down[KERNEL] + tap_y) * kernel_columns * pitch + (plane * lines + row) * columns
                    number += 1
    return number


def _pieces_at_edge(pieces, entries, own, own_end, starts, number, ahead, q, columns, count, pitch):
    """The pieces of a vector of `count` places of which some taps are outside, each with a mask of the places that it reaches; at
    least one, which may reach none. Returns how many."""
    taken = int64(0)
    for entry in range(own, own_end):
        first = ahead + entries[2 * entry + 1]
        left, right = max(-first, int64(0)), min(columns - first, count)
        if left < right:
            for i in range(number):
                pieces[2 * taken] = starts[i] + entries[2 * entry] * pitch + first - q
                pieces[2 * taken + 1] = (int64(1) << right) - (int64(1) << left)
                taken += 1
    if taken == 0:
        pieces[0], pieces[1], taken = -q, int64(0), int64(1)
    return taken


def fold_taps(sums, bias, x, descriptor):
    """The way back, for lines first..end of (image, channel, plane, line): each place of the input adds up what its taps have, and
    what is there already, or the channel's bias where no block was before."""
    deep, down, wide = offset(descriptor, DIM), offset(descriptor, DIM + DIM_WORDS), offset(descriptor, DIM + 2 * DIM_WORDS)
    planes, lines, columns = deep[OUT_END] - deep[OUT_FIRST], down[OUT_END] - down[OUT_FIRST], wide[OUT_END] - wide[OUT_FIRST]
    x_planes, x_lines, step = deep[X_END] - deep[X_FIRST], down[X_END] - down[X_FIRST], wide[STRIDE]
    entries, classes = as_pointer(descriptor[ENTRIES], descriptor), as_pointer(descriptor[CLASSES], descriptor)
    starts, pieces, at_edge, run = local_array(int64, 1024), local_array(int64, 2048), local_array(int64, 2048), local_array(T, 64)
    for unit in range(descriptor[FIRST], descriptor[END]):
        y, rest = down[X_FIRST] + unit % x_lines, unit // x_lines
        z, rest = deep[X_FIRST] + rest % x_planes, rest // x_planes
        image, channel = rest // descriptor[CHANNELS], rest % descriptor[CHANNELS]
        source = offset(sums, channel * descriptor[TAPS] * descriptor[PITCH] + image * planes * lines * columns)
        line = offset(x, ((rest * deep[SIZE] + z) * down[SIZE] + y) * wide[SIZE])
        shift = bias[channel] if descriptor[HAS_BIAS] != 0 else T(0)
        fresh = wide[FRESH] if z >= deep[FRESH] and y >= down[FRESH] else wide[SIZE]
        number = _starts_of_line(starts, z, y, deep, down, wide[KERNEL], columns, descriptor[PITCH])
        for remainder in range(step):
            first = first_inside(remainder - wide[X_FIRST], step)
            end = end_inside(remainder, step, wide[X_END], wide[X_END])
            own, own_end = classes[remainder], classes[remainder + 1]
            low, high, inside = int64(0), end, int64(0)     # where every tap is inside, the pieces of all vectors are the same
            for entry in range(own, own_end):
                ahead = entries[2 * entry + 1] - wide[OUT_FIRST]
                low, high = max(low, -ahead), min(high, columns - ahead)
                for i in range(number):
                    pieces[2 * inside] = starts[i] + entries[2 * entry] * descriptor[PITCH] + ahead
                    pieces[2 * inside + 1] = ALL_LANES
                    inside += 1
            for q in range(first, end, WIDTH):
                count, taken, own_pieces, begin = min(end - q, WIDTH), inside, pieces, offset(source, q)
                if q < low or q + count > high or inside == 0:
                    own_pieces = at_edge
                    taken = _pieces_at_edge(at_edge, entries, own, own_end, starts, number, q - wide[OUT_FIRST], q, columns, count,
                                            descriptor[PITCH])
                to = offset(line, q * step + remainder)
                if q * step + remainder >= fresh:
                    if step == 1:
                        sum_pieces(WIDTH, taken, own_pieces, begin, shift, to, count)
                    else:
                        sum_pieces(WIDTH, taken, own_pieces, begin, shift, run, count)
                        scatter_run(run, to, step, count)
                else:
                    sum_pieces(WIDTH, taken, own_pieces, begin, T(0), run, count)
                    for i in range(count):
                        run[i] += to[i * step] if (q + i) * step + remainder < fresh else shift
                    scatter_run(run, to, step, count)


def _merge_pairs(width, even, odd, start, out, count):
    """out[2 * i] = start + even[i] and out[2 * i + 1] = start + odd[i] for i < count, at most `width` (a literal)."""
    for i in range(min(count, width)):
        out[2 * i], out[2 * i + 1] = start + even[i], start + odd[i]


merge_pairs = micro(_merge_pairs, "merge_pairs")


def merge_taps(sums, bias, x, descriptor):
    """As `fold_taps` for patches two columns wide, of which no two meet: each place of the input takes what its tap has. For planes
    first..end of (image, channel, plane)."""
    deep, down, wide = offset(descriptor, DIM), offset(descriptor, DIM + DIM_WORDS), offset(descriptor, DIM + 2 * DIM_WORDS)
    planes, lines, columns = deep[OUT_END] - deep[OUT_FIRST], down[OUT_END] - down[OUT_FIRST], wide[OUT_END] - wide[OUT_FIRST]
    x_planes, pitch = deep[X_END] - deep[X_FIRST], descriptor[PITCH]
    for unit in range(descriptor[FIRST], descriptor[END]):
        z, rest = deep[X_FIRST] + unit % x_planes, unit // x_planes
        image, channel = rest // descriptor[CHANNELS], rest % descriptor[CHANNELS]
        plane, tap = z // deep[STRIDE] - deep[OUT_FIRST], channel * descriptor[TAPS] + z % deep[STRIDE] * down[KERNEL] * 2
        source = offset(sums, tap * pitch + (image * planes + plane) * lines * columns)
        out = offset(x, (rest * deep[SIZE] + z) * down[SIZE] * wide[SIZE])
        shift, row, tap_y = bias[channel] if descriptor[HAS_BIAS] != 0 else T(0), int64(0), int64(0)
        for y in range(down[X_FIRST], down[X_END]):
            line, end = offset(out, y * wide[SIZE]), wide[X_FIRST]
            if plane < planes and row < lines:
                even = offset(source, tap_y * 2 * pitch + row * columns)
                odd, to = offset(even, pitch), offset(line, end)
                for i in range(0, columns, WIDTH):
                    merge_pairs(WIDTH, offset(even, i), offset(odd, i), shift, offset(to, 2 * i), columns - i)
                end += 2 * columns
            for i in range(end, wide[X_END]):
                line[i] = shift
            tap_y += 1
            if tap_y == down[STRIDE]:
                tap_y = int64(0)
                row += 1


# ---------------------------------------------------------------- planning
class _Block(NamedTuple):
    """Images first_image.. (so many), and which places of the output along each dimension."""
    first_image: int
    images: int
    places: tuple

    @property
    def count(self):
        return self.images * math.prod(end - first for first, end in self.places)


def _blocks(dtype, shape):
    """Small images side by side, or pieces of one image along its first dimension of several places."""
    depth, size = shape.channels * shape.taps, np.dtype(dtype).itemsize
    most = max(BLOCK_BYTES // (depth * size), PLACES)
    whole = tuple((0, n) for n in shape.out)
    if shape.places <= most:
        side = max(1, min(shape.images, PLACES // shape.places))
        side = -(-shape.images // -(-shape.images // side))
        return [_Block(first, min(side, shape.images - first), whole) for first in range(0, shape.images, side)]
    axis = next(a for a in range(3) if shape.out[a] > 1)
    line = shape.places // shape.out[axis]
    number = min(-(-shape.places // most), shape.out[axis])
    step = -(-shape.out[axis] // number)
    if line == 1:
        step = -(-step // 16) * 16
    return [_Block(image, 1, tuple((first, min(first + step, n)) if a == axis else (0, n) for a, n in enumerate(shape.out)))
            for image in range(shape.images) for first in range(0, shape.out[axis], step)]


def suits(shape):
    return shape.groups == 1 and shape.taps <= MOST_TAPS


def cuts_pairs(shape):
    """Whether the kernel cuts the input into patches two columns wide, which need not be added up."""
    return cuts_patches(shape) and shape.kernel[2] == 2


def pays_forward(dtype, shape):
    """Of strides, whose other forms read or copy lines for little: lines of many features, kernels two wide as large as their
    stride. Of planes only float64 gains."""
    if not suits(shape) or shape.stride[2] == 1:
        return False
    if shape.kernel == shape.stride and shape.kernel[2] == 2:
        return True
    flat = shape.out[0] == shape.out[1] == 1
    return shape.features >= (256 if flat else 512) and (flat or dtype == "float64")


def pays_input_grad(shape):
    """Of few channels, for which tiles have few rows: where enough features share what is added up of each tap, twice as many of
    strides and volumes, and else windows are faster, of which a thread takes whole images. Of strides also where a weight that
    others transpose serves few places."""
    if not suits(shape):
        return False
    places = shape.images * shape.places
    if cuts_pairs(shape):
        return shape.features >= LEAST_FEATURES
    if shape.channels <= FEW_CHANNELS:
        features = (20 if max(shape.stride) > 1 or shape.out[0] > 1 else 10) * shape.channels
        return places >= 32 and shape.features >= (16 if shape.images < threads.get_num_threads() else max(16, features))
    flat = shape.out[0] == shape.out[1] == 1
    if flat and shape.stride[2] == 1:
        return shape.features >= 128 and places <= 100
    far = shape.stride[2] > 2 or flat                    # of planes in steps of 2, features as lanes gain from 196
    return shape.stride[2] > 1 and shape.features >= 256 and places <= (1000 if far else 64) and (
        shape.stride[2] > 2 or shape.taps < 16 or places <= 16)


def efficiency_of_weight(dtype, shape):
    """Of the gradient for the weight, as `conv.py` means it: each of its elements costs 14.4 multiply-adds to write, one of the
    output's gradient 12 to read, and what is copied 24, or 64 where it leaves the cache or images lie side by side."""
    if not suits(shape):
        return 0
    size, places = np.dtype(dtype).itemsize, min(shape.images * shape.places, PLACES)
    far = shape.channels * shape.taps * min(shape.places, PLACES) * size > 2 * BLOCK_BYTES
    copied = 64 if far or (shape.images > 1 and shape.places < PLACES) else 24
    return 1 / (1.03 + 14.4 / places + 12 / (shape.channels * shape.taps) + copied / shape.features)


def _pitch(places):
    return (-(-(places + 16) // 16) | 1) * 16            # an odd number of lines, and a vector more than there are places


def _reached(shape, block, axis):
    """The input's places along an axis that a block reaches, or that nobody would write else, and the first that no block before
    it did."""
    (first, end), size = block.places[axis], shape.size[axis]

    def reach(last):
        end = last * shape.stride[axis] - shape.padding[axis] + (shape.kernel[axis] - 1) * shape.dilation[axis] + 1
        return min(max(end, 0), size)
    if first == 0:
        low = fresh = 0
    else:
        fresh = reach(first - 1)
        low = min(max(first * shape.stride[axis] - shape.padding[axis], 0), fresh)
    return low, size if end == shape.out[axis] else max(reach(end - 1), fresh), fresh


class _Unfolded:
    """The launches of one of the three forms, block after block.

    Args:
        arguments: of the call.
        moving: by name, the elements of an image, and whether a block starts at its first place there.
        rooms: by name, elements of scratch memory; `{own}` is the workspace of a product.
    """

    def __init__(self, dtype, shape, arguments, moving, rooms_of):
        self.dtype, self.shape, self.arguments, self.moving = dtype, shape, arguments, moving
        self.blocks = _blocks(dtype, shape)
        self.depth = shape.channels * shape.taps
        self.pitch = max(_pitch(block.count) for block in self.blocks)
        self.rooms, self.known = rooms_of(self.depth * self.pitch, shape.features * self.pitch), {}

    def once(self, key, make):
        """What `make` makes, the same for blocks of a size."""
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def gather(self, block):
        def make():
            return copy_in_parts(gather_taps, self.dtype, self.depth, self.depth * block.count, self.descriptor(block))
        return self.once(("gather", *block[1:]), make), "{x}, {right}"

    def fold(self, block, bias):
        def make():
            reached = [_reached(self.shape, block, axis) for axis in range(3)]
            planes, lines = (end - first for first, end, _ in reached[:2])
            units = block.images * self.shape.channels * planes
            if cuts_pairs(self.shape):
                return copy_in_parts(merge_taps, self.dtype, units, self.depth * block.count,
                                     self.descriptor(block, reached, bias=bias))
            axis = gradient_axis(*(getattr(self.shape, name)[2] for name in ("size", "kernel", "stride", "padding", "dilation",
                                                                             "out")))
            entries = index_table([(tap, source + axis.shifts[first + i]) for first, count, source in axis.classes
                                   for i, tap in enumerate(axis.taps[first:first + count])] or [(0, 0)])
            classes = index_table([*(first for first, _, _ in axis.classes), len(axis.taps)])
            prepared = copy_in_parts(fold_taps, self.dtype, units * lines, self.depth * block.count,
                                     self.descriptor(block, reached, (entries.ctypes.data, classes.ctypes.data), bias))
            return prepared.with_workspace(0, entries, classes)
        return self.once(("fold", *block[1:]), make), "{sums}, bias, {grad_x}"

    def descriptor(self, block, reached=((0, 0, 0),) * 3, tables=(0, 0), bias=False):
        shape = self.shape
        words = [block.images, self.pitch, shape.channels, shape.taps, int(bias), *tables]
        for axis in range(3):
            words += [shape.size[axis], *block.places[axis], shape.kernel[axis], shape.stride[axis], shape.padding[axis],
                      shape.dilation[axis], *reached[axis]]
        return words

    def beside(self, block, kernel):
        """The copy between the features' planes of several images and those side by side."""
        return self.once((kernel, block.images), lambda: planes(kernel, self.dtype, block.images, self.shape.features,
                                                                self.shape.out, self.shape.out, (1, 1, 1), self.pitch))

    def product(self, *problem, **options):
        return self.once((problem, options.get("beta")), lambda: plan_gemm(*problem, **options))

    def plan(self, launches_of):
        item, names, space, launches = np.dtype(self.dtype).itemsize, {}, 0, []
        for name, elements in self.rooms.items():        # a piece may begin before its row
            names[name], space = f"workspace + {space + MARGIN * item}", space + aligned(elements + 2 * MARGIN) * item
        names["own"] = f"workspace + {space}"
        for number, block in enumerate(self.blocks):
            (z, _), (y, _), (column, _) = block.places
            place = (z * self.shape.out[1] + y) * self.shape.out[2] + column
            names.update({name: f"{name} + {(block.first_image * size + place * starts) * item}"
                          for name, (size, starts) in self.moving.items()})
            launches += [(prepared, given.format(**names)) for prepared, given in launches_of(block, number)]
        return sequence(self.arguments, launches, space + max(prepared.workspace for prepared, _ in launches))


def plan_forward(dtype, shape, bias, relu):
    O, P, depth = shape.features, shape.places, shape.channels * shape.taps
    form = _Unfolded(dtype, shape, "x, weight, bias, out, workspace",
                     dict(x=(shape.channels * math.prod(shape.size), False), out=(O * P, True)),
                     lambda taps, sums: dict(right=taps, sums=sums))

    def launches(block, number):
        row, to = (form.pitch, "{sums}") if block.images > 1 else (P, "{out}")
        product = form.product(O, block.count, depth, dtype, (depth, 1), (form.pitch, 1), (row, 1), bias="row" if bias else None,
                               activation="relu" if relu else None)
        result = [form.gather(block), (product, f"weight, {{right}}, {to}, bias, {{own}}")]
        return result if block.images == 1 else [*result, (form.beside(block, scatter_planes), "{sums}, 0, {out}")]
    return form.plan(launches)


def plan_input_grad(dtype, shape, bias=False):
    O, P, depth = shape.features, shape.places, shape.channels * shape.taps
    form = _Unfolded(dtype, shape, "grad_out, weight, bias, grad_x, workspace",
                     dict(grad_out=(O * P, True), grad_x=(shape.channels * math.prod(shape.size), False)),
                     lambda taps, sums: dict(sums=taps, beside=sums, transposed=depth * FEW_PLACES))

    def launches(block, number):
        row, grad = (form.pitch, "{beside}") if block.images > 1 else (P, "{grad_out}")
        product = form.once(("product", block.count), lambda: gradient_product(dtype, depth, block.count, O, row, form.pitch, grad))
        result = [*[(prepared, given.replace("bias", "0")) for prepared, given in product], form.fold(block, bias)]
        return result if block.images == 1 else [(form.beside(block, gather_planes), "{grad_out}, {beside}"), *result]
    return form.plan(launches)


def plan_weight_grad(dtype, shape):
    O, P, depth = shape.features, shape.places, shape.channels * shape.taps
    form = _Unfolded(dtype, shape, "grad_out, x, grad_weight, workspace",
                     dict(grad_out=(O * P, True), x=(shape.channels * math.prod(shape.size), False)),
                     lambda taps, sums: dict(right=taps, left=sums))

    def launches(block, number):
        row, grad = (form.pitch, "{left}") if block.images > 1 else (P, "{grad_out}")
        product = form.product(O, depth, block.count, dtype, (row, 1), (1, form.pitch), (depth, 1), beta=1.0 if number else 0.0)
        result = [form.gather(block), (product, f"{grad}, {{right}}, grad_weight, 0, {{own}}")]
        return result if block.images == 1 else [(form.beside(block, gather_planes), "{grad_out}, {left}"), *result]
    return form.plan(launches)
