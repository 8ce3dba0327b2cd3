"""Sampling of (N, C, H, W) at the positions of (N, OH, OW, 2), and its gradients for image and positions.

The pixels and weights of a block of positions are found once and serve all channels; then every channel is a loop of gathers.
How positions become pixels is compiled in: two modes, three paddings and two conventions for the corners. What lies outside
has weight 0 and is not multiplied, so that no NaN or infinity comes from a pixel that was not asked for.

float32 and float64. A planner returns a `Prepared`, to be run with the addresses it lists.
"""
from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from ... import threads
from ...compiler import compile_kernel
from ...intrinsics import floor, local_array, offset, rint, select

T = float32                                              # these are bound by `_kernel`
NEAREST, PADDING, ALIGNED = 0, 0, 0
ZEROS, REFLECTION = 0, 2                                 # 1 takes the border

BLOCK = 64                                               # positions at a time: their pixels and weights stay on the stack
FOUR_BLOCKS = 4 * BLOCK                                  # a position has four corners
SPLIT_WORK = 10_000                                      # gathered pixels above which two threads win

# the descriptor: a part's blocks of positions of all images (of the gradient for images, planes); channels of one and its size;
# positions and blocks of them
FIRST, STOP, CHANNELS, HEIGHT, WIDTH, POINTS, BLOCKS = range(7)


def _place(position, extent):
    """A position between -1 and 1 as a place among the pixels of an axis, and the derivative of that."""
    size, half = T(extent), T(0.5)
    last = size - T(1)
    slope = (last if ALIGNED != 0 else size) * half
    place = (position + T(1)) * slope - (T(0) if ALIGNED != 0 else half)
    if PADDING == REFLECTION:
        low, span = (T(0) if ALIGNED != 0 else -half), (last if ALIGNED != 0 else size)
        span = max(span, T(1))                           # of a single pixel, where the border's clamp decides
        distance = place - low
        slope = select(distance < T(0), -slope, slope)
        distance = select(distance < T(0), -distance, distance)
        flips = floor(distance / span)
        rest = distance - flips * span
        odd = flips - T(2) * floor(flips * half) > half
        slope = select(odd, -slope, slope)
        place = select(odd, span - rest, rest) + low
    if PADDING != ZEROS:
        slope = select(place <= T(0), T(0), select(place >= last, T(0), slope))
        place = select(place < T(0), T(0), select(place > last, last, place))
    return place, slope


def pair_of(position, extent):
    """The two pixels along an axis that a position lies between, their weights, and the weights' derivatives."""
    place, slope = _place(position, extent)
    low, last = rint(place) if NEAREST != 0 else floor(place), T(extent - 1)
    high, part = low + T(1), T(0) if NEAREST != 0 else place - low
    has_low, has_high = (low >= T(0)) & (low <= last), (high >= T(0)) & (high <= last)       # false for NaN
    first, second = int64(select(has_low, low, T(0))), int64(select(has_high, high, T(0)))
    return (first, second, select(has_low, T(1) - part, T(0)), select(has_high, part, T(0)), select(has_low, -slope, T(0)),
            select(has_high, slope, T(0)))


def _corners(grid, count, height, width, pixels, weights):
    """The four pixels around each of `count` positions, or the nearest, and their weights."""
    for p in range(count):
        x0, x1, left, right, _, _ = pair_of(grid[2 * p], width)
        y0, y1, upper, lower, _, _ = pair_of(grid[2 * p + 1], height)
        pixels[p], weights[p] = y0 * width + x0, upper * left
        if NEAREST == 0:
            pixels[BLOCK + p], weights[BLOCK + p] = y0 * width + x1, upper * right
            pixels[2 * BLOCK + p], weights[2 * BLOCK + p] = y1 * width + x0, lower * left
            pixels[3 * BLOCK + p], weights[3 * BLOCK + p] = y1 * width + x1, lower * right


def _slopes(grid, count, height, width, pixels, across, down):
    """The four pixels around each position, and the derivatives of their weights."""
    for p in range(count):
        x0, x1, left, right, left_slope, right_slope = pair_of(grid[2 * p], width)
        y0, y1, upper, lower, upper_slope, lower_slope = pair_of(grid[2 * p + 1], height)
        pixels[p], across[p], down[p] = y0 * width + x0, upper * left_slope, upper_slope * left
        pixels[BLOCK + p], across[BLOCK + p], down[BLOCK + p] = y0 * width + x1, upper * right_slope, upper_slope * right
        pixels[2 * BLOCK + p], across[2 * BLOCK + p], down[2 * BLOCK + p] = y1 * width + x0, lower * left_slope, lower_slope * left
        pixels[3 * BLOCK + p], across[3 * BLOCK + p], down[3 * BLOCK + p] = y1 * width + x1, lower * right_slope, \
            lower_slope * right


def scaled(weight, value):
    return select(weight == T(0), T(0), weight * value)


def sample(x, grid, out, descriptor):
    """Blocks first..end of positions of all images."""
    channels, height, width = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH]
    points, blocks = descriptor[POINTS], descriptor[BLOCKS]
    pixels, weights, total = local_array(int64, FOUR_BLOCKS), local_array(T, FOUR_BLOCKS), local_array(T, BLOCK)
    for item in range(descriptor[FIRST], descriptor[STOP]):
        image, first = item // blocks, item % blocks * BLOCK
        count = min(points - first, BLOCK)
        _corners(offset(grid, (image * points + first) * 2), count, height, width, pixels, weights)
        for channel in range(image * channels, (image + 1) * channels):
            source, to = offset(x, channel * height * width), offset(out, channel * points + first)
            if NEAREST != 0:
                for p in range(count):
                    total[p] = scaled(weights[p], source[pixels[p]])
            else:
                for p in range(count):
                    upper = scaled(weights[p], source[pixels[p]]) + scaled(weights[BLOCK + p], source[pixels[BLOCK + p]])
                    total[p] = upper + scaled(weights[2 * BLOCK + p], source[pixels[2 * BLOCK + p]]) \
                        + scaled(weights[3 * BLOCK + p], source[pixels[3 * BLOCK + p]])
            for p in range(count):
                to[p] = total[p]


def sample_to_image(grad_out, grid, grad_x, descriptor):
    """The gradient for planes first..end: channels of all images."""
    channels, height, width, points = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH], descriptor[POINTS]
    pixels, weights = local_array(int64, FOUR_BLOCKS), local_array(T, FOUR_BLOCKS)
    plane = descriptor[FIRST]
    while plane < descriptor[STOP]:
        image = plane // channels
        end = min((image + 1) * channels, descriptor[STOP])
        to = offset(grad_x, plane * height * width)
        for i in range((end - plane) * height * width):
            to[i] = T(0)
        for first in range(0, points, BLOCK):
            count = min(points - first, BLOCK)
            _corners(offset(grid, (image * points + first) * 2), count, height, width, pixels, weights)
            for channel in range(plane, end):
                source, to = offset(grad_out, channel * points + first), offset(grad_x, channel * height * width)
                for p in range(count):
                    to[pixels[p]] += scaled(weights[p], source[p])
                    if NEAREST == 0:
                        to[pixels[BLOCK + p]] += scaled(weights[BLOCK + p], source[p])
                        to[pixels[2 * BLOCK + p]] += scaled(weights[2 * BLOCK + p], source[p])
                        to[pixels[3 * BLOCK + p]] += scaled(weights[3 * BLOCK + p], source[p])
        plane = end


def sample_to_grid(grad_out, x, grid, grad_grid, descriptor):
    """The gradient for blocks first..end of positions of all images, of the mode that interpolates."""
    channels, height, width = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH]
    points, blocks = descriptor[POINTS], descriptor[BLOCKS]
    pixels, across, down = local_array(int64, FOUR_BLOCKS), local_array(T, FOUR_BLOCKS), local_array(T, FOUR_BLOCKS)
    to_x, to_y = local_array(T, BLOCK), local_array(T, BLOCK)
    for item in range(descriptor[FIRST], descriptor[STOP]):
        image, first = item // blocks, item % blocks * BLOCK
        count = min(points - first, BLOCK)
        _slopes(offset(grid, (image * points + first) * 2), count, height, width, pixels, across, down)
        for p in range(count):
            to_x[p] = to_y[p] = T(0)
        for channel in range(image * channels, (image + 1) * channels):
            source, grad = offset(x, channel * height * width), offset(grad_out, channel * points + first)
            for p in range(count):
                a, b = source[pixels[p]], source[pixels[BLOCK + p]]
                c, d = source[pixels[2 * BLOCK + p]], source[pixels[3 * BLOCK + p]]
                to_x[p] += grad[p] * (scaled(across[p], a) + scaled(across[BLOCK + p], b)
                                      + scaled(across[2 * BLOCK + p], c) + scaled(across[3 * BLOCK + p], d))
                to_y[p] += grad[p] * (scaled(down[p], a) + scaled(down[BLOCK + p], b)
                                      + scaled(down[2 * BLOCK + p], c) + scaled(down[3 * BLOCK + p], d))
        to = offset(grad_grid, (image * points + first) * 2)
        for p in range(count):
            to[2 * p], to[2 * p + 1] = to_x[p], to_y[p]


# ---------------------------------------------------------------- planning
@functools.lru_cache(None)
def _kernel(function, dtype, nearest, padding, aligned):
    names = dict(T=np.dtype(dtype).type, NEAREST=int(nearest), PADDING=("zeros", "border", "reflection").index(padding),
                 ALIGNED=int(aligned))
    return compile_kernel(function, (dtype + "*",) * (function.__code__.co_argcount - 1) + ("int64*",), names)


def _plan(function, dtype, shape, points, options, items, blocks):
    images, channels, height, width = shape
    threaded = images * channels * points > SPLIT_WORK
    parts = max(min(threads.get_num_threads() if threaded else 1, items), 1)
    edges = [items * part // parts for part in range(parts + 1)]
    return threads.prepare(_kernel(function, dtype, *options),
                           [(first, end, channels, height, width, points, blocks) for first, end in pairwise(edges)],
                           [(0,) * (function.__code__.co_argcount - 1)] * parts, release_lock=threaded)


def plan_sample(dtype, shape, points, nearest, padding, aligned) -> threads.Prepared:
    """Images sampled at positions from -1 to 1 along each axis, by the nearest pixel or between four.

    Addresses: x (N, C, H, W), grid (N, points, 2): each position's column and row, out (N, C, points).

    Args:
        dtype: `"float32"` or `"float64"`.
        shape: (N, C, H, W) of the image.
        points: positions in each image.
        nearest: take the nearest pixel, else interpolate between four.
        padding: what lies outside: `"zeros"`, `"border"` or `"reflection"`.
        aligned: whether -1 and 1 are the centres of the corner pixels, not their outer edges.
    """
    blocks = -(-points // BLOCK)
    return _plan(sample, dtype, shape, points, (nearest, padding, aligned), shape[0] * blocks, blocks)


def plan_sample_image_grad(dtype, shape, points, nearest, padding, aligned) -> threads.Prepared:
    """The gradient for the image. Addresses: grad_out, grid, grad_x, which is written whole.

    Args:
        shape, points, nearest, padding, aligned: as for `plan_sample`.
    """
    return _plan(sample_to_image, dtype, shape, points, (nearest, padding, aligned), shape[0] * shape[1], 0)


def plan_sample_grid_grad(dtype, shape, points, padding, aligned) -> threads.Prepared:
    """The gradient for the positions, only where four pixels are interpolated. Addresses: grad_out, x, grid, grad_grid.

    Args:
        shape, points, padding, aligned: as for `plan_sample`.
    """
    blocks = -(-points // BLOCK)
    return _plan(sample_to_grid, dtype, shape, points, (False, padding, aligned), shape[0] * blocks, blocks)
