"""Normalisation as formulas over other ops: batch, layer, instance, group, root mean square."""
from __future__ import annotations

import math

from ..autograd.modes import no_grad
from ..ops import reduce
from ..ops.arithmetic import add, mul, sub
from ..ops.elementary import rsqrt
from ..ops.view import reshape
from ..tensor import Tensor


def _standardised(x, dims, eps):
    """x with mean 0 and variance 1 over dims."""
    variance = reduce.var(x, dims, keepdim=True, correction=0)
    return mul(sub(x, reduce.mean(x, dims, keepdim=True)), rsqrt(add(variance, eps)))


def _affine(x, weight, bias):
    if weight is not None:
        x = mul(x, weight)
    return x if bias is None else add(x, bias)


def _by_channel(tensor, ndim):
    """A vector over channels in a shape that broadcasts along dimension 1."""
    return None if tensor is None else reshape(tensor, (1, -1) + (1,) * (ndim - 2))


def _blend(running, value, momentum):
    with no_grad():
        running.copy_(running * (1 - momentum) + value.detach().reshape(running.layout.shape) * momentum)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias for each channel (dimension 1) of (N, C, ...).

    Args:
        running_mean, running_var: statistics over time, (C) or None; used when not `training`, updated when it is.
        weight, bias: (C) or None.
        training: take the statistics of this batch.
        momentum: the share of this batch in the running statistics.

    Raises:
        ValueError: a channel of a single value in training.
        RuntimeError: vectors of another length than C.
    """
    layout = input.layout
    if layout.ndim < 2:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got {list(layout.shape)}")
    for name, vector in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if vector is not None and vector.layout.numel != layout.shape[1]:
            raise RuntimeError(f"{name} should contain {layout.shape[1]} elements not {vector.layout.numel}")
    weight, bias = _by_channel(weight, layout.ndim), _by_channel(bias, layout.ndim)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        scale = rsqrt(add(_by_channel(running_var, layout.ndim), eps))
        return _affine(mul(sub(input, _by_channel(running_mean, layout.ndim)), scale), weight, bias)
    count = layout.numel // max(layout.shape[1], 1)
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    dims = (0, *range(2, layout.ndim))
    mean = reduce.mean(input, dims, keepdim=True)
    variance = reduce.var(input, dims, keepdim=True, correction=0)
    if running_mean is not None:
        _blend(running_mean, mean, momentum)
        _blend(running_var, variance.detach() * (count / (count - 1)), momentum)
    return _affine(mul(sub(input, mean), rsqrt(add(variance, eps))), weight, bias)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose extents are `normalized_shape`.

    Raises:
        RuntimeError: the input's last extents are others.
    """
    shape = _normalized(input, normalized_shape)
    return _affine(_standardised(input, tuple(range(-len(shape), 0)), eps), weight, bias)


def _normalized(input, normalized_shape):
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if input.layout.shape[-len(shape):] != shape or not shape:
        raise RuntimeError(f"Given normalized_shape={list(shape)}, expected input with shape [*, {', '.join(map(str, shape))}], "
                           f"but got "
                           f"input of size{list(input.layout.shape)}")
    return shape


def rms_norm(input, normalized_shape, weight=None, eps=None) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimensions (Zhang and Sennrich 2019); eps is the dtype's when None."""
    shape = _normalized(input, normalized_shape)
    if eps is None:
        eps = {"float64": 2.0 ** -52, "float16": 2.0 ** -10, "bfloat16": 2.0 ** -7}.get(input.layout.dtype.name, 2.0 ** -23)
    square = reduce.mean(mul(input, input), tuple(range(-len(shape), 0)), keepdim=True)
    return _affine(mul(input, rsqrt(add(square, eps))), weight, None)


def group_norm(input, num_groups: int, weight=None, bias=None, eps: float = 1e-5) -> Tensor:
    """Standardised over each of `num_groups` groups of channels of (N, C, ...), then scaled and shifted by channel.

    Raises:
        RuntimeError: the groups do not divide the channels.
    """
    shape = input.layout.shape
    if len(shape) < 2 or shape[1] % num_groups:
        raise RuntimeError(f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(shape)} and "
                           f"num_groups={num_groups}")
    grouped = reshape(input, shape[0], num_groups, math.prod(shape[1:]) // num_groups)
    out = reshape(_standardised(grouped, -1, eps), shape)
    return _affine(out, _by_channel(weight, len(shape)), _by_channel(bias, len(shape)))


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Standardised over each channel of each example of (N, C, ...), then scaled and shifted by channel."""
    ndim = input.layout.ndim
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    dims = tuple(range(2, ndim))
    if running_mean is not None:
        _blend(running_mean, reduce.mean(reduce.mean(input, dims), 0), momentum)
        _blend(running_var, reduce.mean(reduce.var(input, dims), 0), momentum)
    return _affine(_standardised(input, dims, eps), _by_channel(weight, ndim), _by_channel(bias, ndim))
