"""Convolutions of images whose channels are last, as they lie: a kernel of one element is one product over the places of all
images, which are copied together where there are strides; depthwise ones have channels as lanes (`depthwise_last.py`), and
others features (`lanes.py`); the gradient for their weights is a product with what every tap finds, whose copy needs no turning
where channels are last.

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses. Weights are row-major.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int64

from ... import threads
from ...intrinsics import offset
from ...program import sequence
from ..gemm.gemm import plan_gemm
from ..micro.tile import copy_row
from . import depthwise_last, lanes, winograd
from .image import aligned, copy_run, kernel_for, tile_names
from .product import SPLIT_ELEMENTS, copy_in_parts, cuts_places

T = float32                                              # these are bound by `tile_names`
WIDTH, MASKED = 16, 1

BLOCK_BYTES, MOST_PLACES = 1 << 20, 4096                 # of what taps find, of a part: in the second-level cache

LEAST_RESULTS = 12                                       # channels or features that are worth a vector


def is_product(shape):
    """A kernel of one element that sees every element once."""
    return shape.taps == 1 and shape.groups == 1 and shape.stride == (1, 1, 1) and not any(shape.padding)


FIRST, END, CHANNELS, PLANES, LINES, ACROSS, STEP_DEEP, STEP_DOWN, STEP, X_DEEP, X_DOWN, X_WIDE = range(12)


def gather_places(x, out, descriptor):
    """out[image, place] = x[image, place * stride], of all channels, for lines first..end of all images."""
    channels = descriptor[CHANNELS]
    for unit in range(descriptor[FIRST], descriptor[END]):
        y, rest = unit % descriptor[LINES], unit // descriptor[LINES]
        z, image = rest % descriptor[PLANES], rest // descriptor[PLANES]
        plane = image * descriptor[X_DEEP] + z * descriptor[STEP_DEEP]
        line = (plane * descriptor[X_DOWN] + y * descriptor[STEP_DOWN]) * descriptor[X_WIDE]
        source, to = offset(x, line * channels), offset(out, unit * descriptor[ACROSS] * channels)
        for column in range(descriptor[ACROSS]):
            copy_run(offset(source, column * descriptor[STEP] * channels), offset(to, column * channels), channels)


K_RUNS, K_RUN, K_DEEP, K_DOWN, PAD_DEEP, PAD_DOWN, PAD, APART_DEEP, APART_DOWN, APART, ORIGIN = range(12, 23)


def gather_windows(x, out, descriptor):
    """out[place, (tap, channel)] = what the tap finds, for lines first..end of all images; `ORIGIN` is the first line in out. A row
    of the kernel is so many runs of neighbouring taps."""
    channels, run, columns = descriptor[CHANNELS], descriptor[K_RUN], descriptor[ACROSS]
    length = columns * descriptor[K_DEEP] * descriptor[K_DOWN] * descriptor[K_RUNS] * run * channels
    for unit in range(descriptor[FIRST], descriptor[END]):
        y, rest = unit % descriptor[LINES], unit // descriptor[LINES]
        z, image = rest % descriptor[PLANES], rest // descriptor[PLANES]
        to, left = offset(out, (unit - descriptor[ORIGIN]) * length), length
        for column in range(columns):
            for i in range(descriptor[K_DEEP]):
                plane = z * descriptor[STEP_DEEP] - descriptor[PAD_DEEP] + i * descriptor[APART_DEEP]
                for j in range(descriptor[K_DOWN]):
                    row = y * descriptor[STEP_DOWN] - descriptor[PAD_DOWN] + j * descriptor[APART_DOWN]
                    line = (image * descriptor[X_DEEP] + plane) * descriptor[X_DOWN] + row
                    source = offset(x, line * descriptor[X_WIDE] * channels)
                    for t in range(descriptor[K_RUNS]):
                        at = column * descriptor[STEP] - descriptor[PAD] + t * descriptor[APART]
                        before = min(max(-at, int64(0)), run)
                        end = max(min(descriptor[X_WIDE] - at, run), before)
                        if plane < 0 or plane >= descriptor[X_DEEP] or row < 0 or row >= descriptor[X_DOWN]:
                            before, end = run, run
                        for e in range(before * channels):
                            to[e] = T(0)
                        if before < end:
                            there, count = offset(source, (at + before) * channels), (end - before) * channels
                            if MASKED != 0 and count <= WIDTH and left - before * channels >= WIDTH:     # zeros fall on what comes
                                copy_row(1, WIDTH, MASKED, there, count, offset(to, before * channels))
                            else:
                                copy_run(there, offset(to, before * channels), count)
                        for e in range(end * channels, run * channels):
                            to[e] = T(0)
                        to = offset(to, run * channels)
                        left -= run * channels


W_TAPS, W_PARTS, W_PART_STEP = range(CHANNELS + 1, CHANNELS + 4)


def order_weight(sums, grad_weight, descriptor):
    """From (part, feature, tap, channel) to (feature, channel, tap), for features first..end: the sums of all parts."""
    channels, taps = descriptor[CHANNELS], descriptor[W_TAPS]
    parts, part_step = descriptor[W_PARTS], descriptor[W_PART_STEP]
    for feature in range(descriptor[FIRST], descriptor[END]):
        source, to = offset(sums, feature * channels * taps), offset(grad_weight, feature * channels * taps)
        for channel in range(channels):
            for tap in range(taps):
                total = source[tap * channels + channel]
                for part in range(1, parts):
                    total += source[part * part_step + tap * channels + channel]
                to[channel * taps + tap] = total


def _gathering(dtype, shape):
    """The copy of the places that a kernel of one element sees, and the bytes they take."""
    elements = shape.images * shape.places * shape.channels
    lines = shape.images * shape.out[0] * shape.out[1]
    return copy_in_parts(gather_places, dtype, lines, elements, (shape.channels, *shape.out, *shape.stride, *shape.size)), \
        -(-elements * np.dtype(dtype).itemsize // 64) * 64


def suits(dtype, shape, gradient):
    """Whether the planners here take it: what Winograd's method computes (`winograd.py`) is faster by way of copies."""
    if is_product(shape) or depthwise_last.suits(dtype, shape):
        return True
    if gradient != "input" and cuts_places(shape):
        return True
    if gradient == "weight":
        return _pays_windows(shape)
    results = shape.channels if gradient else shape.features
    return shape.groups == 1 and results >= LEAST_RESULTS and not winograd.suits(dtype, shape) and (
        not gradient or shape.stride[2] <= 2)


def _pays_windows(shape):
    """Whether what taps find is copied for the weight's gradient, instead of turning both images over. Of strides, where it is at
    most some two copies of the image: 64 x 112 x 112 by 3 x 3 in steps of 2 to 128 takes 0.73 of the time so, 96 x 56 x 56 by 2 x 2
    half, but 3 channels 1.55. In steps of 1 two threads lose what one gains: 64 x 56 x 56 by 3 x 3 takes 0.83 of the time on one,
    and 1.2 on two."""
    return shape.groups == 1 and max(shape.stride) > 1 and shape.taps <= 9 and shape.channels >= 16 and shape.features >= 32


def plan_forward(dtype, shape, bias, relu):
    if not cuts_places(shape):
        return lanes.plan_forward(dtype, shape, bias, relu, True) if shape.groups == 1 else \
            depthwise_last.plan_forward(dtype, shape, bias, relu)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, O, C, dtype, (C, 1), (1, C), (O, 1), bias="column" if bias else None,
                        activation="relu" if relu else None)
    if is_product(shape):
        return sequence("x, weight, bias, out, workspace", [(product, "x, weight, out, bias, workspace")], product.workspace)
    gather, space = _gathering(dtype, shape)
    launches = [(gather, "x, workspace"), (product, f"workspace, weight, out, bias, workspace + {space}")]
    return sequence("x, weight, bias, out, workspace", launches, space + product.workspace)


def plan_input_grad(dtype, shape, bias=False):
    if not is_product(shape):
        return lanes.plan_input_grad(dtype, shape, bias, True) if shape.groups == 1 else \
            depthwise_last.plan_input_grad(dtype, shape, bias)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, C, O, dtype, (O, 1), (C, 1), (C, 1), bias="column" if bias else None)
    return sequence("grad_out, weight, bias, grad_x, workspace", [(product, "grad_out, weight, grad_x, bias, workspace")],
                    product.workspace)


def plan_weight_grad(dtype, shape):
    if not cuts_places(shape):
        return (_plan_windows if shape.groups == 1 else depthwise_last.plan_weight_grad)(dtype, shape)
    C, O = shape.channels, shape.features
    product = plan_gemm(O, C, shape.images * shape.places, dtype, (1, O), (C, 1), (C, 1))
    if is_product(shape):
        return sequence("grad_out, x, grad_weight, workspace", [(product, "grad_out, x, grad_weight, 0, workspace")],
                        product.workspace)
    gather, space = _gathering(dtype, shape)
    launches = [(gather, "x, workspace"), (product, f"grad_out, workspace, grad_weight, 0, workspace + {space}")]
    return sequence("grad_out, x, grad_weight, workspace", launches, space + product.workspace)


def _plan_windows(dtype, shape):
    """The gradient for the weight, from what every tap finds for a block of lines after another. Threads have lines and sums of
    their own: two that share the rows of a product of 64 features take 0.75 of the time of one."""
    O, item, line = shape.features, np.dtype(dtype).itemsize, shape.out[2]
    depth, lines, width = shape.channels * shape.taps, shape.images * shape.out[0] * shape.out[1], tile_names(dtype)["WIDTH"]
    parts = min(threads.get_num_threads(), lines) if lines * line * depth > SPLIT_ELEMENTS else 1
    high = max(1, min(lines // parts, BLOCK_BYTES // (line * depth * item), MOST_PLACES // line))        # lines of a part
    room, part_step = aligned(parts * high * line * depth + width) * item, aligned(O * depth)
    sums, workspace, products, launches = parts * part_step * item, 0, {}, []
    runs = (1, shape.kernel[2]) if shape.dilation[2] == 1 else (shape.kernel[2], 1)
    first = 0
    while first < lines:
        share = min(high, (lines - first) // parts)
        known = (share, parts, first > 0) if share else (lines - first, 1, True)         # fewer lines than parts are left
        if known not in products:
            places = known[0] * line
            products[known] = plan_gemm(O, depth, places, dtype, (1, O), (depth, 1), (depth, 1), beta=float(known[2]),
                                        batch=known[1], batch_strides=(places * O, places * depth, part_step))
        rows = [(first + part * known[0], first + (part + 1) * known[0], shape.channels, *shape.out, *shape.stride, *shape.size,
                 *runs, *shape.kernel[:2], *shape.padding, *shape.dilation, first) for part in range(known[1])]
        gather = threads.prepare(kernel_for(gather_windows, dtype), rows, release_lock=known[1] > 1)
        workspace, grad = max(workspace, products[known].workspace), f"grad_out + {first * line * O * item}"
        launches += [(gather, f"x, workspace + {sums}"),
                     (products[known], f"{grad}, workspace + {sums}, workspace, 0, workspace + {sums + room}")]
        first += known[0] * known[1]
    order = copy_in_parts(order_weight, dtype, O, O * depth, (shape.channels, shape.taps, parts, part_step))
    return sequence("grad_out, x, grad_weight, workspace", [*launches, (order, "workspace, grad_weight")], sums + room + workspace)
