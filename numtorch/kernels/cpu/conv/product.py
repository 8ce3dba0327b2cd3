"""Convolutions that are a matrix product: of a kernel that sees each element of the input at most once.

A kernel of one element multiplies the places of the input, as (channel, place), by the weight; where images are small those of
several lie side by side, since 7 x 7 places fill three vectors and one element of a fourth, and the weight is then read, and
transposed, once. A kernel as large as its stride cuts the input into patches, as (place, channel and tap). What is not there
already is copied to where the product wants it, or from where the product leaves it, a small part of the time of a deep product.

float32 and float64, one group, no padding. The planners here take a `Geometry`; `conv.py` chooses.
"""
from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from ... import threads
from ...intrinsics import local_array, offset
from ...program import sequence
from ..gemm.gemm import plan_gemm
from ..micro.tile import copy_row, transpose_tile
from .image import aligned, copy_run, edges, kernel_for, scatter_run, strided_run, tile_names

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED = 16, 1

PLACES = 512                                             # of images side by side, from which more are nothing to a product
# Places of one image from which its own product is better: the result of many features need not be copied apart (256 x 28 x 28 by
# 512 in steps of 2 takes 1.1 times as long three images side by side), nor for the weight's gradient the output's gradient together
# (1.2 times).
ALONE, ALONE_WEIGHT = 150, 100
DEEP_PLACES = 2048                                       # where they are summed over
LONG_TAPS = 8                                            # in a row, from which patches are copied fast enough
SHORT_TAPS = 3                                           # and on the way back, for which there is no fast other way
FEW_PLACES, DEEP_FEATURES = 256, 256                     # of a product that is computed as its transpose
SPLIT_ELEMENTS = 40_000                                  # copied, from which two threads win

# The descriptor of copied planes.
FIRST, END, IMAGES, CHANNELS, PITCH, PLACES_OF_IMAGE, LINES_DEEP, LINES, ACROSS, STEP_DEEP, STEP_DOWN, STEP = range(12)
PLANE, HAS_BIAS = 12, 13


def gather_planes(x, out, descriptor):
    """out[c * pitch + image * places + place] = x[image, c, place * stride], for channels first..end."""
    places, lines, columns = descriptor[PLACES_OF_IMAGE], descriptor[LINES], descriptor[ACROSS]
    for channel in range(descriptor[FIRST], descriptor[END]):
        for image in range(descriptor[IMAGES]):
            source = offset(x, (image * descriptor[CHANNELS] + channel) * descriptor[PLANE])
            to = offset(out, channel * descriptor[PITCH] + image * places)
            for z in range(descriptor[LINES_DEEP]):
                for y in range(lines):
                    strided_run(offset(source, z * descriptor[STEP_DEEP] + y * descriptor[STEP_DOWN]),
                                offset(to, (z * lines + y) * columns),
                                descriptor[STEP], columns)


def scatter_planes(source, bias, x, descriptor):
    """x[image, c, place * stride] = source[c * pitch + image * places + place], for channels first..end; bias[c] or 0 elsewhere."""
    places, lines, columns = descriptor[PLACES_OF_IMAGE], descriptor[LINES], descriptor[ACROSS]
    for channel in range(descriptor[FIRST], descriptor[END]):
        shift = bias[channel] if descriptor[HAS_BIAS] != 0 else T(0)
        for image in range(descriptor[IMAGES]):
            start = offset(source, channel * descriptor[PITCH] + image * places)
            to = offset(x, (image * descriptor[CHANNELS] + channel) * descriptor[PLANE])
            if places != descriptor[PLANE]:
                for i in range(descriptor[PLANE]):
                    to[i] = shift
            for z in range(descriptor[LINES_DEEP]):
                for y in range(lines):
                    scatter_run(offset(start, (z * lines + y) * columns),
                                offset(to, z * descriptor[STEP_DEEP] + y * descriptor[STEP_DOWN]),
                                descriptor[STEP], columns)


T_ROWS, T_COUNT, T_PITCH = range(END + 1, END + 4)       # of what is transposed


def transpose_rows(source, out, descriptor):
    """out[r * pitch + i] = source[i * rows + r], for blocks first..end of a vector of rows."""
    rows, count, pitch = descriptor[T_ROWS], descriptor[T_COUNT], descriptor[T_PITCH]
    tile = local_array(T, 1040)
    for first in range(descriptor[FIRST] * WIDTH, min(descriptor[END] * WIDTH, rows), WIDTH):
        height = min(rows - first, WIDTH)
        for i in range(0, count, WIDTH):
            present, block = min(count - i, WIDTH), offset(source, i * rows + first)
            if height == WIDTH:
                transpose_tile(WIDTH, WIDTH, block, rows, present, tile)
            else:
                for k in range(height):
                    for place in range(present):
                        tile[k * WIDTH + place] = block[place * rows + k]
            for k in range(height):
                copy_run(offset(tile, k * WIDTH), offset(out, (first + k) * pitch + i), present)


# The descriptor of copied patches: the units first..end, the channels, the kernel, the places, and the input's sizes.
P_FIRST, P_END, P_CHANNELS, K_DEEP, K_DOWN, K_WIDE, O_DEEP, O_DOWN, O_WIDE, X_DEEP, X_DOWN, X_WIDE, P_BIAS = range(13)


def _copy_taps(source, out, count, following):
    """A patch's taps of a row. What `following` says comes behind may be overwritten."""
    if MASKED != 0 and following and count <= WIDTH:
        copy_row(1, WIDTH, MASKED, source, count, out)
    else:
        copy_run(source, out, count)


def gather_patches(x, out, descriptor):
    """out[place, (channel, tap)] for rows of places first..end of all images."""
    channels, deep, down, wide = descriptor[P_CHANNELS], descriptor[K_DEEP], descriptor[K_DOWN], descriptor[K_WIDE]
    line, plane = descriptor[X_WIDE], descriptor[X_WIDE] * descriptor[X_DOWN]
    spare = (WIDTH + wide - 1) // wide                   # rows of taps that a vector beyond the last of them would reach
    for unit in range(descriptor[P_FIRST], descriptor[P_END]):
        y, rest = unit % descriptor[O_DOWN], unit // descriptor[O_DOWN]
        z, image = rest % descriptor[O_DEEP], rest // descriptor[O_DEEP]
        to = offset(out, unit * descriptor[O_WIDE] * channels * deep * down * wide)
        left = descriptor[O_WIDE] * channels * deep * down
        for column in range(descriptor[O_WIDE]):
            for channel in range(channels):
                for i in range(deep):
                    source = offset(x, ((image * channels + channel) * descriptor[X_DEEP] + z * deep + i) * plane
                                    + y * down * line + column * wide)
                    for j in range(down):
                        _copy_taps(offset(source, j * line), to, wide, left > spare)
                        to = offset(to, wide)
                        left -= 1


def scatter_patches(patches, bias, x, descriptor):
    """The way back, for planes first..end of all images' channels; bias[channel] is added, and stands where no patch is."""
    channels, deep, down, wide = descriptor[P_CHANNELS], descriptor[K_DEEP], descriptor[K_DOWN], descriptor[K_WIDE]
    line, taps = descriptor[X_WIDE], channels * deep * down * wide
    covered = descriptor[O_WIDE] * wide
    for unit in range(descriptor[P_FIRST], descriptor[P_END]):
        image, channel = unit // channels, unit % channels
        shift = bias[channel] if descriptor[P_BIAS] != 0 else T(0)
        for z in range(descriptor[X_DEEP]):
            for y in range(descriptor[X_DOWN]):
                to = offset(x, ((unit * descriptor[X_DEEP] + z) * descriptor[X_DOWN] + y) * line)
                there = int64(0)
                if z < descriptor[O_DEEP] * deep and y < descriptor[O_DOWN] * down:
                    there = covered
                    row = ((image * descriptor[O_DEEP] + z // deep) * descriptor[O_DOWN] + y // down) * descriptor[O_WIDE]
                    source = offset(patches, row * taps + ((channel * deep + z % deep) * down + y % down) * wide)
                    for column in range(descriptor[O_WIDE]):
                        _copy_taps(offset(source, column * taps), offset(to, column * wide), wide,
                                   column * wide + WIDTH <= line)
                    if descriptor[P_BIAS] != 0:
                        for i in range(covered):
                            to[i] += shift
                for i in range(there, line):
                    to[i] = shift


# ---------------------------------------------------------------- planning
def cuts_places(shape):
    """Whether it is a kernel of one element, that sees an element at most once."""
    return shape.taps == 1 and shape.groups == 1 and not any(shape.padding)


def cuts_patches(shape, least=1):
    """Whether the kernel is as large as its stride, and so cuts the input into patches, and has `least` taps in a row."""
    return shape.kernel == shape.stride and shape.kernel[2] >= least and shape.groups == 1 and not any(shape.padding) and all(
        d == 1 or k == 1 for d, k in zip(shape.dilation, shape.kernel))


def covers(shape):
    """Whether the kernel covers the image: a linear layer, one row an image."""
    return shape.kernel == shape.size and shape.places == 1 and shape.groups == 1 and not any(shape.padding)


def efficiency(shape):
    """Of the forward pass of patches, as `conv.py` means it: to copy an element costs as much as 24 multiply-adds, to begin a row
    of a patch 240, and to write a result 32."""
    return 1 / (1 + (24 + 240 / shape.kernel[2]) / shape.features + 32 / (shape.channels * shape.taps))


def pays_side_by_side(dtype, shape, transposed):
    """Whether images of an unstrided kernel of one element are better laid side by side (`plan_forward`, or `plan_input_grad` where
    `transposed`) than multiplied one by one: those fill vectors badly where they are small, and a weight is transposed for each,
    which takes long where its columns lie in the same sets of the cache."""
    if shape.images == 1:
        return False
    width, places = tile_names(dtype)["WIDTH"], shape.places
    again = 0 if not transposed else 10 if shape.channels * np.dtype(dtype).itemsize % 1024 else 40
    alone = places / (-(-places // width) * width) / (1 + again / places)
    return 1 / (1 + 32 / shape.channels + 32 / shape.features) > alone


def copy_in_parts(kernel, dtype, count, elements, row):
    """A copy, shared among threads by its `count` units: `row` is the descriptor after first and end."""
    parts = min(threads.get_num_threads(), count) if elements > SPLIT_ELEMENTS else 1
    return threads.prepare(kernel_for(kernel, dtype), [(first, end, *row) for first, end in pairwise(edges(count, parts))],
                           release_lock=elements > 1 << 20)


def transposes(count, features):
    """Whether weight^T @ grad_out of few places is faster as its transpose, in which the weight is read as it lies, and transposed
    then: 2048 x 49 by 512 deep takes 0.4 of the time so, of float64 0.55."""
    return count <= FEW_PLACES and features >= DEEP_FEATURES


def gradient_product(dtype, rows, count, features, step, pitch, grad, bias=False):
    """The launches of weight^T @ grad_out for `count` places, whose features are `step` apart in `grad`, into `{sums}` of a pitch;
    where it `transposes`, by way of `{transposed}`."""
    if not transposes(count, features):
        product = plan_gemm(rows, count, features, dtype, (1, rows), (step, 1), (pitch, 1), bias="row" if bias else None)
        return [(product, f"weight, {grad}, {{sums}}, bias, {{own}}")]
    product = plan_gemm(count, rows, features, dtype, (1, step), (rows, 1), (rows, 1), bias="column" if bias else None)
    width = tile_names(dtype)["WIDTH"]
    return [(product, f"{grad}, weight, {{transposed}}, bias, {{own}}"),
            (copy_in_parts(transpose_rows, dtype, -(-rows // width), rows * count, (rows, count, pitch)), "{transposed}, {sums}")]


def plan_input_grad_of_few(dtype, shape, bias):
    """Of a kernel of one element that sees every element once, of one image that `transposes`."""
    space = aligned(shape.channels * shape.places) * np.dtype(dtype).itemsize
    launches = gradient_product(dtype, shape.channels, shape.places, shape.features, shape.places, shape.places, "grad_out", bias)
    own = f"workspace + {space}"
    return sequence("grad_out, weight, bias, grad_x, workspace",
                    [(prepared, given.format(transposed="workspace", sums="grad_x", own=own)) for prepared, given in launches],
                    space + max(prepared.workspace for prepared, _ in launches))


def planes(kernel, dtype, images, channels, size, out, stride, pitch, bias=False):
    """The copy between images (N, channels, *size) and (channel, place), for every stride-th place."""
    places, plane = math.prod(out), math.prod(size)
    lines = (1, 1, places, 0, 0, 1) if stride == (1, 1, 1) else (*out, stride[0] * size[1] * size[2], stride[1] * size[2],
                                                                 stride[2])
    return copy_in_parts(kernel, dtype, channels, images * channels * plane,
                 (images, channels, pitch, places, *lines, plane, int(bias)))


def _patches(kernel, dtype, shape, images, bias=False):
    """The copy between images and patches."""
    channels, count = shape.channels, images * (shape.out[0] * shape.out[1] if kernel is gather_patches else shape.channels)
    return copy_in_parts(kernel, dtype, count, images * channels * math.prod(shape.size),
                 (channels, *shape.kernel, *shape.out, *shape.size, int(bias)))


def _gathering(dtype, shape, images, pitch):
    """The copy of so many images to the product's right side."""
    if cuts_places(shape):
        return planes(gather_planes, dtype, images, shape.channels, shape.size, shape.out, shape.stride, pitch)
    return _patches(gather_patches, dtype, shape, images)


def _in_blocks(dtype, shape, side, arguments, moving, rooms, launches_of):
    """The launches for a block of images after another, as one call.

    Args:
        side: images of a block.
        arguments: of the call.
        moving: by name, elements of an image for those arguments that move on with the blocks.
        rooms: by name, elements of scratch memory.
        launches_of: the launches for so many images, when told too whether others came before: pairs of a `Prepared` and the text
            of what it is given, with what moves and rooms in braces; `{own}` is the workspace of a product.
    """
    item, names, space = np.dtype(dtype).itemsize, {}, 0
    for name, elements in rooms.items():
        names[name], space = f"workspace + {space}", space + aligned(elements) * item
    names["own"], launches, known = f"workspace + {space}", [], {}
    for first in range(0, shape.images, side):
        block = min(side, shape.images - first), first > 0
        if block not in known:
            known[block] = launches_of(*block)
        names.update({name: f"{name} + {first * size * item}" for name, size in moving.items()})
        launches += [(prepared, given.format(**names)) for prepared, given in known[block]]
    return sequence(arguments, launches, space + max(prepared.workspace for prepared, _ in launches))


def _sizes(shape, most):
    """Features, places of an image, depth of the weight's matrix, images of a block, and the pitch of their places: an odd number
    of lines, since rows 4 KB apart would share sets of the cache."""
    whole = max(1, min(shape.images, -(-most // shape.places)))
    side = -(-shape.images // -(-shape.images // whole))
    return shape.features, shape.places, shape.channels * shape.taps, side, (-(-side * shape.places // 16) | 1) * 16


def plan_forward(dtype, shape, bias, relu):
    alone = cuts_places(shape) and shape.places >= ALONE and shape.features >= shape.channels
    O, P, depth, side, pitch = _sizes(shape, 1 if alone else PLACES)
    patches, arguments, relu = not cuts_places(shape), "x, weight, bias, out, workspace", "relu" if relu else None
    if covers(shape):
        product = plan_gemm(shape.images, O, depth, dtype, (depth, 1), (1, depth), (O, 1), bias="column" if bias else None,
                            activation=relu)
        return sequence(arguments, [(product, "x, weight, out, bias, workspace")], product.workspace)

    def launches(images, further):
        product = plan_gemm(O, images * P, depth, dtype, (depth, 1), (1, depth) if patches else (pitch, 1),
                            (pitch if side > 1 else P, 1), bias="row" if bias else None, activation=relu)
        gather = _gathering(dtype, shape, images, pitch), "{x}, {right}"
        if side == 1:
            return [gather, (product, "weight, {right}, {out}, bias, {own}")]
        scatter = planes(scatter_planes, dtype, images, O, shape.out, shape.out, (1, 1, 1), pitch)
        return [gather, (product, "weight, {right}, {sums}, bias, {own}"), (scatter, "{sums}, 0, {out}")]
    return _in_blocks(dtype, shape, side, arguments, dict(x=shape.channels * math.prod(shape.size), out=O * P),
                      dict(right=side * P * depth if patches else depth * pitch, sums=O * pitch if side > 1 else 0), launches)


def plan_input_grad(dtype, shape, bias=False):
    O, P, depth, side, pitch = _sizes(shape, PLACES)
    arguments = "grad_out, weight, bias, grad_x, workspace"
    if covers(shape) and not bias:
        product = plan_gemm(shape.images, depth, O, dtype, (O, 1), (depth, 1), (depth, 1))
        return sequence(arguments, [(product, "grad_out, weight, grad_x, 0, workspace")], product.workspace)

    def launches(images, further):
        step, gather = P, []
        if side > 1:
            step = pitch
            gather = [(planes(gather_planes, dtype, images, O, shape.out, shape.out, (1, 1, 1), pitch), "{grad_out}, {beside}")]
        grad = "{beside}" if side > 1 else "{grad_out}"
        if cuts_places(shape):
            product = gradient_product(dtype, depth, images * P, O, step, pitch, grad, bias)
            scatter = planes(scatter_planes, dtype, images, depth, shape.size, shape.out, shape.stride, pitch, bias)
            return [*gather, *product, (scatter, "{sums}, bias, {grad_x}")]
        product = plan_gemm(images * P, depth, O, dtype, (1, step), (depth, 1), (depth, 1))
        scatter = _patches(scatter_patches, dtype, shape, images, bias)
        return [*gather, (product, f"{grad}, weight, {{sums}}, 0, {{own}}"), (scatter, "{sums}, bias, {grad_x}")]
    return _in_blocks(dtype, shape, side, arguments, dict(grad_out=O * P, grad_x=shape.channels * math.prod(shape.size)),
                      dict(beside=O * pitch if side > 1 else 0, sums=depth * pitch if cuts_places(shape) else side * P * depth,
                           transposed=depth * min(side * P, FEW_PLACES)),
                      launches)


def plan_weight_grad(dtype, shape):
    O, P, depth, side, pitch = _sizes(shape, 1 if cuts_places(shape) and shape.places >= ALONE_WEIGHT else DEEP_PLACES)
    patches, arguments = not cuts_places(shape), "grad_out, x, grad_weight, workspace"
    if covers(shape):
        product = plan_gemm(O, depth, shape.images, dtype, (1, O), (depth, 1), (depth, 1))
        return sequence(arguments, [(product, "grad_out, x, grad_weight, 0, workspace")], product.workspace)

    def launches(images, further):
        gather = _gathering(dtype, shape, images, pitch), "{x}, {right}"
        product = plan_gemm(O, depth, images * P, dtype, (pitch if side > 1 else P, 1), (depth, 1) if patches else (1, pitch),
                            (depth, 1), beta=1.0 if further else 0.0)
        if side == 1:
            return [gather, (product, "{grad_out}, {right}, grad_weight, 0, {own}")]
        beside = planes(gather_planes, dtype, images, O, shape.out, shape.out, (1, 1, 1), pitch), "{grad_out}, {left}"
        return [beside, gather, (product, "{left}, {right}, grad_weight, 0, {own}")]
    return _in_blocks(dtype, shape, side, arguments, dict(grad_out=O * P, x=shape.channels * math.prod(shape.size)),
                      dict(left=O * pitch if side > 1 else 0, right=side * P * depth if patches else depth * pitch), launches)
