"""Two-dimensional convolution of (N, C, H, W) by (O, C / groups, KH, KW), and its two gradients.

Here are the public planners and the general form, direct convolution tap by tap over a row of outputs, for any dtype. A
part of its work is a range of the planes that it alone writes, so threads never meet in memory. float32 and float64 go
to the matrix form in `convpanel.py`, 2 to 20 times as fast; but the weight gradient only with several features a group.

A planner returns a `Prepared`, to be run with the addresses it lists; the last is always the workspace's (0 when
`Prepared.workspace` is 0).
"""
from __future__ import annotations

import functools
from itertools import pairwise
from typing import NamedTuple

from numpy import float32

from .. import threads
from ..compiler import compile_kernel
from ..intrinsics import offset, select
from . import convpanel
from .window import LAYOUTS, end_inside, first_inside, keep

T = float32                                              # the compute type, bound by the planner
load = store = keep

SPLIT_WORK = 200_000                                     # multiply-adds above which two threads win, some 40 µs


def conv_output_size(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places a kernel has along an axis."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


class Geometry(NamedTuple):
    """Sizes of one convolution, in the order in which kernels find them in their descriptor."""
    images: int
    channels: int
    height: int
    width: int
    features: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    pad_h: int
    pad_w: int
    dilation_h: int
    dilation_w: int
    groups: int
    rows: int
    columns: int

    @property
    def multiply_adds(self):
        return (self.images * self.features * self.rows * self.columns * (self.channels // self.groups) * self.kernel_h
                * self.kernel_w)


def geometry(N, C, H, W, O, KH, KW, stride, padding, dilation, groups) -> Geometry:
    sizes = [conv_output_size(*axis) for axis in zip((H, W), (KH, KW), stride, padding, dilation)]
    return Geometry._make((N, C, H, W, O, KH, KW, *stride, *padding, *dilation, groups, *sizes))


# ---------------------------------------------------------------- direct convolution
def _accumulate(total, x, scale, stride, count):
    for i in range(count):
        total[i] += scale * load(x[i * stride])


def _scatter(total, grad, scale, stride, count):
    for i in range(count):
        total[i * stride] += scale * load(grad[i])


def _dot(grad, x, stride, count):
    total = T(0)
    for i in range(count):
        total += load(grad[i]) * load(x[i * stride])
    return total


def direct(x, weight, bias, out, total, walk):
    """Output planes first..end of N * O; `total` has room for one row."""
    first_plane, end_plane, has_bias, relu = walk[0], walk[1], walk[2], walk[3]
    channels, height, width, features = walk[5], walk[6], walk[7], walk[8]
    kernel_h, kernel_w, stride_h, stride_w = walk[9], walk[10], walk[11], walk[12]
    pad_h, pad_w, dilation_h, dilation_w = walk[13], walk[14], walk[15], walk[16]
    groups, rows, columns = walk[17], walk[18], walk[19]
    depth = channels // groups
    for plane in range(first_plane, end_plane):
        image, feature = plane // features, plane % features
        channel = feature // (features // groups) * depth
        start = load(bias[feature]) if has_bias != 0 else T(0)
        for row in range(rows):
            for i in range(columns):
                total[i] = start
            top = row * stride_h - pad_h
            for c in range(depth):
                for tap_h in range(first_inside(top, dilation_h), end_inside(top, dilation_h, height, kernel_h)):
                    line = ((image * channels + channel + c) * height + top + tap_h * dilation_h) * width
                    taps = ((feature * depth + c) * kernel_h + tap_h) * kernel_w
                    for tap_w in range(kernel_w):
                        shift = tap_w * dilation_w - pad_w
                        first = first_inside(shift, stride_w)
                        count = end_inside(shift, stride_w, width, columns) - first
                        source = offset(x, line + first * stride_w + shift)
                        scale = load(weight[taps + tap_w])
                        if stride_w == 1:
                            _accumulate(offset(total, first), source, scale, 1, count)
                        else:
                            _accumulate(offset(total, first), source, scale, stride_w, count)
            to = (plane * rows + row) * columns
            for i in range(columns):
                value = total[i]
                out[to + i] = store(select((relu != 0) & (value < T(0)), T(0), value))


def direct_input_grad(grad_out, weight, grad_x, total, walk):
    """Input planes first..end of N * C; `total` has room for one row."""
    first_plane, end_plane = walk[0], walk[1]
    channels, height, width, features = walk[5], walk[6], walk[7], walk[8]
    kernel_h, kernel_w, stride_h, stride_w = walk[9], walk[10], walk[11], walk[12]
    pad_h, pad_w, dilation_h, dilation_w = walk[13], walk[14], walk[15], walk[16]
    groups, rows, columns = walk[17], walk[18], walk[19]
    depth, spread = channels // groups, features // groups
    for plane in range(first_plane, end_plane):
        image, channel = plane // channels, plane % channels
        group, c = channel // depth, channel % depth
        for line in range(height):
            for i in range(width):
                total[i] = T(0)
            for tap_h in range(kernel_h):
                reach = line + pad_h - tap_h * dilation_h
                row = reach // stride_h
                if row * stride_h != reach or row < 0 or row >= rows:
                    continue
                for feature in range(group * spread, (group + 1) * spread):
                    source = ((image * features + feature) * rows + row) * columns
                    taps = ((feature * depth + c) * kernel_h + tap_h) * kernel_w
                    for tap_w in range(kernel_w):
                        shift = tap_w * dilation_w - pad_w
                        first = first_inside(shift, stride_w)
                        count = end_inside(shift, stride_w, width, columns) - first
                        target = offset(total, first * stride_w + shift)
                        scale = load(weight[taps + tap_w])
                        if stride_w == 1:
                            _scatter(target, offset(grad_out, source + first), scale, 1, count)
                        else:
                            _scatter(target, offset(grad_out, source + first), scale, stride_w, count)
            to = (plane * height + line) * width
            for i in range(width):
                grad_x[to + i] = store(total[i])


def direct_weight_grad(grad_out, x, grad_weight, walk):
    """Weight planes first..end of O * C / groups."""
    first_plane, end_plane = walk[0], walk[1]
    images, channels, height, width, features = walk[4], walk[5], walk[6], walk[7], walk[8]
    kernel_h, kernel_w, stride_h, stride_w = walk[9], walk[10], walk[11], walk[12]
    pad_h, pad_w, dilation_h, dilation_w = walk[13], walk[14], walk[15], walk[16]
    groups, rows, columns = walk[17], walk[18], walk[19]
    depth = channels // groups
    for plane in range(first_plane, end_plane):
        feature = plane // depth
        channel = feature // (features // groups) * depth + plane % depth
        for tap_h in range(kernel_h):
            shift_h = tap_h * dilation_h - pad_h
            first_row, end_row = first_inside(shift_h, stride_h), end_inside(shift_h, stride_h, height, rows)
            for tap_w in range(kernel_w):
                shift = tap_w * dilation_w - pad_w
                first = first_inside(shift, stride_w)
                count = end_inside(shift, stride_w, width, columns) - first
                total = T(0)
                for image in range(images):
                    for row in range(first_row, end_row):
                        grad = offset(grad_out, ((image * features + feature) * rows + row) * columns + first)
                        line = (image * channels + channel) * height + row * stride_h + shift_h
                        source = offset(x, line * width + first * stride_w + shift)
                        if stride_w == 1:
                            total += _dot(grad, source, 1, count)
                        else:
                            total += _dot(grad, source, stride_w, count)
                grad_weight[(plane * kernel_h + tap_h) * kernel_w + tap_w] = store(total)


@functools.lru_cache(None)
def _direct_kernel(function, dtype, pointers, row):
    names = LAYOUTS[dtype][1]
    scratch = (names["T"].__name__ + "*",) if row else ()
    return compile_kernel(function, (dtype + "*",) * pointers + scratch + ("int64*",), names)


def _plan_direct(function, dtype, shape, planes, pointers, row=0, flags=(0, 0)):
    """Split the planes that are written. `row` is the length of the row of totals that each part keeps, or 0."""
    work = shape.multiply_adds
    parts = min(threads.get_num_threads(), planes) if work > SPLIT_WORK else 1
    edges = [planes * part // parts for part in range(parts + 1)]
    rows = [(begin, end, *flags, *shape) for begin, end in pairwise(edges)]
    row_bytes = -(-row * LAYOUTS[dtype][1]["T"](0).itemsize // 64) * 64
    offsets = [(0,) * pointers + ((part * row_bytes,) if row else ()) for part in range(parts)]
    kernel = _direct_kernel(function, dtype, pointers, bool(row))
    prepared = threads.prepare(kernel, rows, offsets, workspace=parts * row_bytes, release_lock=work > SPLIT_WORK)
    return prepared if row else _with_unused_workspace(prepared)


def _with_unused_workspace(prepared):
    """For a kernel that needs none: drops the workspace's address, which callers always pass."""
    call = prepared.call
    return threads.Prepared(lambda *words: call(*words[:-2], words[-1]), prepared.walk, 0, prepared)


# ---------------------------------------------------------------- planners
FEW_FEATURES = 4                                         # a depthwise weight gradient is 2 times as fast direct


def _as_panels(dtype, shape):
    return dtype in ("float32", "float64") and shape.multiply_adds > 0


def plan_conv2d(dtype, N, C, H, W, O, KH, KW, stride, padding, dilation, groups, bias=False,
                activation=None) -> threads.Prepared:
    """Convolution. Run with (x, weight, bias or 0, out, workspace).

    Args:
        dtype: `"float32"`, `"float64"`, `"float16"` or `"bfloat16"`.
        N, C, H, W: the input's shape.
        O, KH, KW: the weight's shape is (O, C / groups, KH, KW), the output's (N, O, OH, OW).
        stride, padding, dilation: (height, width).
        bias: whether there is a bias of shape (O,).
        activation: None or `"relu"`.
    """
    shape = geometry(N, C, H, W, O, KH, KW, stride, padding, dilation, groups)
    if _as_panels(dtype, shape):
        return convpanel.plan_forward(dtype, shape, bias, activation == "relu")
    return _plan_direct(direct, dtype, shape, N * O, 4, shape.columns, (int(bias), int(activation == "relu")))


def plan_conv2d_input_grad(dtype, N, C, H, W, O, KH, KW, stride, padding, dilation, groups) -> threads.Prepared:
    """Gradient for the input. Run with (grad_out, weight, grad_x, workspace). Sizes as for `plan_conv2d`."""
    shape = geometry(N, C, H, W, O, KH, KW, stride, padding, dilation, groups)
    if _as_panels(dtype, shape):
        return convpanel.plan_input_grad(dtype, shape)
    return _plan_direct(direct_input_grad, dtype, shape, N * C, 3, W)


def plan_conv2d_weight_grad(dtype, N, C, H, W, O, KH, KW, stride, padding, dilation, groups) -> threads.Prepared:
    """Gradient for the weight. Run with (grad_out, x, grad_weight, workspace). Sizes as for `plan_conv2d`."""
    shape = geometry(N, C, H, W, O, KH, KW, stride, padding, dilation, groups)
    if _as_panels(dtype, shape) and O // groups >= FEW_FEATURES:
        return convpanel.plan_weight_grad(dtype, shape)
    return _plan_direct(direct_weight_grad, dtype, shape, O * (C // groups), 3)
