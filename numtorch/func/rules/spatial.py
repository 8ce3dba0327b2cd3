"""Batching rules of convolution, pooling and resampling.

Samples are further images, or where each has weights of its own further groups.
"""
from __future__ import annotations

from ...layout import Layout, formatted
from ...ops.pointwise.activation import relu
from ...ops.spatial.conv import CONVOLUTION, Window
from ..batching import rule
from .sizes import all_batched, call, joined, parted


def _as_images(level, primitive, values, has, attributes):
    """Samples of images are images."""
    value = values[0]
    return parted(call(primitive, (joined(value),), attributes), level.size)


rule("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool1d", "adaptive_max_pool2d",
     "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d",
     "resample", "fold")(_as_images)


@rule("pixel_shuffle", "pixel_unshuffle")
def among_leading(level, primitive, values, has, attributes):
    return call(primitive, values, attributes)


rule("channel_shuffle", "local_response_norm")(_as_images)


@rule("grid_sampler")
def grid_sampler(level, primitive, values, has, attributes):
    images, grids = all_batched(level, values, has)
    return parted(call(primitive, (joined(images), joined(grids)), attributes), level.size)


# ---------------------------------------------------------------- convolution
def _grouped(window, size):
    stride, padding, dilation, groups = window
    return Window((stride, padding, dilation, groups * size))


def _side_by_side(x):
    """(samples, N, C, ...) as (N, samples * C, ...)."""
    return x.transpose(0, 1).flatten(1, 2)


def _apart(x, size):
    """(N, samples * C, ...) as (samples, N, C, ...)."""
    return x.unflatten(1, (size, -1)).transpose(0, 1)


def _with_bias(out, bias, each):
    behind = (1,) * (out.layout.ndim - 3)
    return out + (bias.reshape(bias.layout.shape[0], 1, -1, *behind) if each else bias.reshape(-1, *behind))


@rule("convolution")
def convolution(level, primitive, values, has, attributes):
    x, weight, bias = values
    window, = attributes
    if not has[1]:
        if bias is not None and has[2]:
            x = x if has[0] else level.all_samples(x)
            return _with_bias(parted(call(primitive, (joined(x), weight, None), attributes), level.size), bias, True)
        return parted(call(primitive, (joined(x), weight, bias), attributes), level.size)
    size, kernels = level.size, joined(weight)
    if has[0] or window[3] > 1:
        x = _side_by_side(x if has[0] else level.all_samples(x))
        window = _grouped(window, size)
    out = _apart(call(primitive, (x, kernels, None), (window,)), size)
    return out if bias is None else _with_bias(out, bias, has[2])


@rule("convolution_relu")
def convolution_relu(level, primitive, values, has, attributes):
    return relu(convolution(level, CONVOLUTION, values, has, attributes))


@rule("convolution_input_grad")
def convolution_input_grad(level, primitive, values, has, attributes):
    grad, weight, bias = values
    x_shape, window, *rest = attributes
    size = level.size
    if bias is not None and has[2]:
        out = convolution_input_grad(level, primitive, (grad, weight, None), has[:2] + [False], attributes) if any(has[:2]) else \
            call(primitive, (grad, weight, None), attributes).unsqueeze(0)
        return _with_bias(out, bias, True)
    if not has[1]:
        images = joined(grad)
        return parted(call(primitive, (images, weight, bias), ((images.layout.shape[0], *x_shape[1:]), window, *rest)), size)
    grad = _side_by_side(grad if has[0] else level.all_samples(grad))
    shape = (x_shape[0], x_shape[1] * size, *x_shape[2:])
    out = _apart(call(primitive, (grad, joined(weight), None), (shape, _grouped(window, size), *rest)), size)
    return out if bias is None else _with_bias(out, bias, False)


@rule("convolution_weight_grad")
def convolution_weight_grad(level, primitive, values, has, attributes):
    grad, x = all_batched(level, values, has)
    w_shape, window, *rest = attributes
    size = level.size
    out = call(primitive, (_side_by_side(grad), _side_by_side(x)),
               ((w_shape[0] * size, *w_shape[1:]), _grouped(window, size), *rest))
    return out.unflatten(0, (size, -1))


def _wide(layout, order, level):
    """The layout of all samples: further images."""
    shape = layout.shape
    return formatted(Layout.of(layout.dtype, (level.size * shape[0], *shape[1:]), None, layout.device), order)


def _in_order(value, order):
    return joined(value).contiguous(memory_format=order)


@rule("max_pool_grad")
def max_pool_grad(level, primitive, values, has, attributes):
    source, dims, dilated, order = attributes
    out = call(primitive, [_in_order(v, order) for v in all_batched(level, values, has)],
               (_wide(source, order, level), dims, dilated, order))
    return out.reshape(level.size, *source.shape)


@rule("avg_pool_grad")
def avg_pool_grad(level, primitive, values, has, attributes):
    source, dims, order, options = attributes
    out = call(primitive, (_in_order(values[0], order),), (_wide(source, order, level), dims, order, options))
    return out.reshape(level.size, *source.shape)
