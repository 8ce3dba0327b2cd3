"""What every convolution kernel shares: padded copies of images. The sizes of a convolution are in families/windows.py.

All convolutions run over three dimensions; one and two have leading extents of 1. An image is copied into a zero-padded
buffer whose columns are split by stride phase, so that neighbouring outputs read neighbouring elements whatever the
stride, and no kernel tests for edges.
"""
from __future__ import annotations

import functools
import math

import numpy as np
from numpy import float32, int64

from ...compiler import compile_kernel
from ...families.windows import end_inside, first_inside
from ...intrinsics import Intrinsic, offset
from ..micro.tile import copy_row, host_tile

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED = 16, 1



def _copy_vector(width, source, out):
    """Copy `width` (a literal) elements with one load and one store."""
    for i, value in enumerate([source[i] for i in range(width)]):
        out[i] = value


def _gather_pairs(width, source, out, count):
    """out[i] = source[2 * i] for i < count, at most `width` (a literal)."""
    for i in range(min(count, width)):
        out[i] = source[2 * i]


def _scatter_pairs(width, source, out, count):
    """out[2 * i] = source[i] for i < count, at most `width` (a literal)."""
    for i in range(min(count, width)):
        out[2 * i] = source[i]


def micro(twin, name):
    """A primitive of `tile_ir.py`, by its Python twin."""
    twin.__name__ = name
    return Intrinsic(twin, module="numtorch.kernels.cpu.conv.tile_ir")


copy_vector = micro(_copy_vector, "copy_vector")
gather_pairs = micro(_gather_pairs, "gather_pairs")
scatter_pairs = micro(_scatter_pairs, "scatter_pairs")


# ---------------------------------------------------------------- the padded image
# The words of an image's table.
CHANNELS, X_IMAGE, X_DEPTH, X_ROWS, X_COLUMNS = 0, 1, 2, 3, 4
PAD_DEPTH, PAD_ROWS, PAD_COLUMNS, DEPTHS, ROWS_PADDED, COLUMNS_PADDED = 5, 6, 7, 8, 9, 10
SAMPLE_DEPTH, SAMPLE_ROWS, SAMPLE_COLUMNS, PHASES, CHANNEL_STEP, IMAGE_STEP = 11, 12, 13, 14, 15, 16


def copy_run(source, out, count):
    """Copy neighbouring elements, `count` of them and no more."""
    if count >= WIDTH:
        for i in range(0, count - WIDTH + 1, WIDTH):
            copy_vector(WIDTH, offset(source, i), offset(out, i))
        copy_vector(WIDTH, offset(source, count - WIDTH), offset(out, count - WIDTH))
    else:
        for i in range(count):
            out[i] = source[i]


def strided_run(source, out, step, count):
    """Copy elements `step` apart to neighbouring places."""
    if step == 1:
        copy_run(source, out, count)
    elif step == 2:
        for i in range(0, count, WIDTH):
            gather_pairs(WIDTH, offset(source, i * 2), offset(out, i), count - i)
    else:
        for i in range(count):
            out[i] = source[i * step]


def scatter_run(source, out, step, count):
    """Copy neighbouring elements to places `step` apart."""
    if step == 1:
        copy_run(source, out, count)
    elif step == 2:
        for i in range(0, count, WIDTH):
            scatter_pairs(WIDTH, offset(source, i), offset(out, i * 2), count - i)
    else:
        for i in range(count):
            out[i * step] = source[i]


def _pad_phase(source, out, table, channels, phase, first_line, end_line):
    """Copy one phase of the columns of every channel of an image, as far as it falls into padded rows first_line..end_line."""
    height, width, padded_rows = table[X_ROWS], table[X_COLUMNS], table[ROWS_PADDED]
    depth_step, row_step, step = table[SAMPLE_DEPTH], table[SAMPLE_ROWS], table[SAMPLE_COLUMNS]
    first_row = max(first_inside(-table[PAD_ROWS], row_step), first_line)
    end_row = min(end_inside(-table[PAD_ROWS], row_step, height, padded_rows), end_line)
    first_plane = first_inside(-table[PAD_DEPTH], depth_step)
    end_plane = end_inside(-table[PAD_DEPTH], depth_step, table[X_DEPTH], table[DEPTHS])
    shift = phase - table[PAD_COLUMNS]
    first = first_inside(shift, step)
    count = end_inside(shift, step, width, table[COLUMNS_PADDED]) - first
    length = table[PHASES] * table[COLUMNS_PADDED]
    for channel in range(channels):
        for z in range(first_plane, end_plane):
            plane = ((channel * table[X_DEPTH] + z * depth_step - table[PAD_DEPTH]) * height - table[PAD_ROWS]) * width
            begin = offset(source, plane + first * step + shift)
            there = offset(out, channel * table[CHANNEL_STEP] + z * padded_rows * length + phase * table[COLUMNS_PADDED] + first)
            for row in range(first_row, end_row):
                line, to = offset(begin, row * row_step * width), offset(there, row * length)
                if step == 1 and MASKED != 0:            # zeros beyond the row fall on padding, or on what comes next
                    for i in range(0, count, WIDTH):
                        copy_row(1, WIDTH, MASKED, offset(line, i), count - i, offset(to, i))
                else:
                    strided_run(line, to, step, count)


def pad_lines(x, out, table, images, first_line, end_line):
    """Copy the part of neighbouring images that falls into padded rows first_line..end_line of their zeroed places."""
    for image in range(images):
        for phase in range(table[PHASES]):
            _pad_phase(offset(x, image * table[X_IMAGE]), offset(out, image * table[IMAGE_STEP]), table, table[CHANNELS], phase,
                       first_line, end_line)


def pad_images(x, out, table, images):
    """Copy neighbouring images into the interior of their zeroed places."""
    pad_lines(x, out, table, images, int64(0), table[ROWS_PADDED])


def clear(pointer, count):
    for i in range(count):
        pointer[i] = T(0)


# ---------------------------------------------------------------- planning
def aligned(elements):
    return -(-int(elements) // 16) * 16


def edges(total, parts):
    return [total * part // parts for part in range(parts + 1)]


def edges_of_panels(shape, side, places, parts, columns):
    """`edges` of the panels of all items, `side` images each, that gives the parts as many that hold something: the last block of
    images may be smaller, and so its items (16 x 32 x 28 x 28 by 3 x 3 takes 0.9 of the time so on two threads)."""
    whole, rest = divmod(shape.images - 1, side)
    panels, fewer = -(-places * side // columns), -(-places * (rest + 1) // columns)
    full = whole * shape.groups * panels
    result = []
    for at in edges(full + shape.groups * fewer, parts):
        item, number = divmod(max(at - full, 0), fewer)
        result.append(min(at, full) + item * panels + number)
    return result


def index_table(values):
    return np.ascontiguousarray(values, np.int64).ravel()


@functools.lru_cache(None)
def tile_names(dtype):
    """The register tile, under the names by which kernels know it."""
    tile = host_tile(np.dtype(dtype).itemsize)
    run = min(7 if tile.rows > 6 else 3, tile.width)     # places that stay in registers, and can be transposed
    return dict(T=np.dtype(dtype).type, ROWS=tile.rows, VECTORS=tile.vectors, WIDTH=tile.width, MASKED=int(tile.masked),
                COLUMNS=tile.columns, LANES=2 * tile.width, PLACES_A_RUN=run, RUNS_TRANSPOSED=min(tile.width // run, 2),
                SHORT_RUN=3 if run == 7 else 0)


@functools.lru_cache(None)
def kernel_for(function, dtype, **names):
    """The kernel of a function for a dtype; `names` say what of it this kernel needs."""
    pointers = function.__code__.co_argcount - 1
    return compile_kernel(function, (dtype + "*",) * pointers + ("int64*",), {**tile_names(dtype), **names})


class Image:
    """The padded buffer of the images of one group: its table, its steps and how much scratch it takes.

    Args:
        channels: of the group; `x_image` elements lie between images.
        size, padding: of the source.
        padded: extents of the buffer, the last in columns of one phase.
        sample: how far apart in the source neighbouring places of the buffer are.
        phases: how many residues of the columns are kept.
        images: how many lie side by side.
    """

    def __init__(self, dtype, channels, x_image, size, padding, padded, sample, phases, images):
        self.channels, self.images = channels, images
        self.row_step = phases * int(padded[2])
        self.depth_step = self.row_step * int(padded[1])
        lines = -(-self.depth_step * int(padded[0]) * np.dtype(dtype).itemsize // 64) | 1        # odd, or channels of 2^n bytes
        self.channel_step = lines * 64 // np.dtype(dtype).itemsize                               # would share a few cache sets
        self.image_step = self.channel_step * channels
        self.elements = aligned(images * self.image_step + tile_names(dtype)["WIDTH"])           # a vector may reach beyond
        self.table = index_table([channels, x_image, *size, *padding, *padded, *sample, phases, self.channel_step,
                                  self.image_step])


def forward_image(shape, dtype, images=1):
    """The image that taps and places of the forward pass index; the offset of each k = (channel, tap); and by how much
    neighbouring places differ, down and across rows."""
    taps = [np.arange(k) * d for k, d in zip(shape.kernel, shape.dilation)]
    sample, step = [], []
    for axis in (0, 1):                                  # a single tap sees only every stride-th row
        single = shape.kernel[axis] == 1
        sample.append(shape.stride[axis] if single else 1)
        step.append(1 if single else shape.stride[axis])
    stride = shape.stride[2]
    padded = [(shape.out[axis] - 1) * step[axis] + taps[axis][-1] + 1 for axis in (0, 1)]
    padded.append(shape.out[2] + taps[2][-1] // stride)
    channels = shape.channels // shape.groups
    image = Image(dtype, channels, shape.channels * math.prod(shape.size), shape.size, shape.padding, padded,
                  (*sample, stride), int((taps[2] % stride).max()) + 1, images)
    offsets = (np.arange(channels)[:, None, None, None] * image.channel_step + taps[0][:, None, None] * image.depth_step
               + taps[1][:, None] * image.row_step + taps[2] % stride * int(padded[2]) + taps[2] // stride)
    return image, index_table(offsets), (step[0] * image.depth_step, step[1] * image.row_step)
