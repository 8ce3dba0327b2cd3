"""Sampling of images at points on a GPU: a thread an element of the result, or for the gradient of positions a thread a position.

The gradient of the image goes to its pixels by atomics. How positions become pixels is the host's
(kernels/cpu/pool/grid_sample.py).
"""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.pool import grid_sample as host
from ...cpu.pool.grid_sample import BLOCKS, CHANNELS, HEIGHT, POINTS, STOP, WIDTH, pair_of, scaled
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.atomics import add_at

T = float32
NEAREST = 0


def sample_elements(x, grid, out, descriptor):
    channels, height, width, points = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH], descriptor[POINTS]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[STOP] // descriptor[BLOCKS] * channels * points:
        plane = o // points
        point = plane // channels * points + o - plane * points
        x0, x1, left, right, _, _ = pair_of(grid[2 * point], width)
        y0, y1, upper, lower, _, _ = pair_of(grid[2 * point + 1], height)
        source = offset(x, plane * height * width)
        total = scaled(upper * left, source[y0 * width + x0])
        if NEAREST == 0:
            total += scaled(upper * right, source[y0 * width + x1])
            total = total + scaled(lower * left, source[y1 * width + x0]) + scaled(lower * right, source[y1 * width + x1])
        out[o] = total
        o += int64(cuda.gridDim.x) * THREADS


def sample_to_image(grad_out, grid, grad_x, descriptor):
    channels, height, width, points = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH], descriptor[POINTS]
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[STOP] * points:
        plane = o // points
        point = plane // channels * points + o - plane * points
        x0, x1, left, right, _, _ = pair_of(grid[2 * point], width)
        y0, y1, upper, lower, _, _ = pair_of(grid[2 * point + 1], height)
        to, value = offset(grad_x, plane * height * width), grad_out[o]
        if upper * left != T(0):
            add_at(offset(to, y0 * width + x0), upper * left * value)
        if NEAREST == 0:
            if upper * right != T(0):
                add_at(offset(to, y0 * width + x1), upper * right * value)
            if lower * left != T(0):
                add_at(offset(to, y1 * width + x0), lower * left * value)
            if lower * right != T(0):
                add_at(offset(to, y1 * width + x1), lower * right * value)
        o += int64(cuda.gridDim.x) * THREADS


def sample_to_grid(grad_out, x, grid, grad_grid, descriptor):
    channels, height, width, points = descriptor[CHANNELS], descriptor[HEIGHT], descriptor[WIDTH], descriptor[POINTS]
    p = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while p < descriptor[STOP] // descriptor[BLOCKS] * points:
        image = p // points
        x0, x1, left, right, left_slope, right_slope = pair_of(grid[2 * p], width)
        y0, y1, upper, lower, upper_slope, lower_slope = pair_of(grid[2 * p + 1], height)
        across, down = T(0), T(0)
        for channel in range(image * channels, (image + 1) * channels):
            source, grad = offset(x, channel * height * width), grad_out[channel * points + p - image * points]
            a, b = source[y0 * width + x0], source[y0 * width + x1]
            c, d = source[y1 * width + x0], source[y1 * width + x1]
            across += grad * (scaled(upper * left_slope, a) + scaled(upper * right_slope, b) + scaled(lower * left_slope, c)
                              + scaled(lower * right_slope, d))
            down += grad * (scaled(upper_slope * left, a) + scaled(upper_slope * right, b) + scaled(lower_slope * left, c)
                            + scaled(lower_slope * right, d))
        grad_grid[2 * p] = across
        grad_grid[2 * p + 1] = down
        p += int64(cuda.gridDim.x) * THREADS


def _of_channels(row):
    return row[STOP] // row[BLOCKS] * row[CHANNELS] * row[POINTS]


plan_sample = in_parallel(host.plan_sample, {host.sample: Form(sample_elements, _of_channels)})
plan_sample_image_grad = in_parallel(host.plan_sample_image_grad, {host.sample_to_image: Form(
    sample_to_image, lambda row: row[STOP] * row[POINTS], cleared=lambda row: row[STOP] * row[HEIGHT] * row[WIDTH])})
plan_sample_grid_grad = in_parallel(host.plan_sample_grid_grad, {host.sample_to_grid: Form(
    sample_to_grid, lambda row: row[STOP] // row[BLOCKS] * row[POINTS])})
