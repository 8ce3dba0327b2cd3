"""Fractional max pooling (Graham 2014): windows of one size whose distances are 1 or 2 apart at random, so that the extents shrink
by any ratio. Every channel of every image has windows of its own; they are looked up by their places."""
from __future__ import annotations

from math import prod

from ...dtypes import int64
from ...tensor import Tensor
from ..core.operands import layout_of
from ..creation.ranges import arange
from ..index.gather_scatter import gather
from ..memory.copies import to_dtype
from ..pointwise.rounding import trunc
from ..random.draws import rand
from ..reduce.extremes import argmax
from ..shape.join import cat
from ..shape.views import expand, reshape, unsqueeze
from .windows import pair


def _sizes(name, dims, input, kernel_size, output_size, output_ratio):
    """The kernel's and the result's extents, checked against the input's."""
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if layout_of(name, input).ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.layout.shape)}")
    extents = input.layout.shape[-dims:]
    kernel = pair(kernel_size, f"{name}: kernel_size", dims)
    if output_size is None:
        ratio = (output_ratio,) * dims if isinstance(output_ratio, (int, float)) else tuple(output_ratio)
        output_size = tuple([int(n * r) for n, r in zip(extents, ratio)])
    counts = pair(output_size, f"{name}: output_size", dims)
    for n, k, count in zip(extents, kernel, counts):
        if k <= 0 or count <= 0 or count + k - 1 > n:
            raise RuntimeError(f"{name}: pool size {k} and output size {count} do not fit an input of extent {n}, in a tensor "
                               f"of size {list(input.layout.shape)}")
    return extents, kernel, counts


def _starts(samples, extent, size, count):
    """Where the windows of each (image, channel) begin: (N, C, count). The last one ends with the input."""
    last = extent - size
    device = samples.layout.device
    at_end = expand(arange(1, device=device) + last, (*samples.layout.shape, 1))
    if count == 1:
        return at_end
    alpha = last / (count - 1)
    moved = trunc((unsqueeze(samples, -1) + arange(count - 1, dtype=samples.layout.dtype, device=device)) * alpha)
    return cat([to_dtype(moved - unsqueeze(trunc(samples * alpha), -1), int64), at_end], -1)


def fractional_max_pool(name, dims, input, kernel_size, output_size, output_ratio, return_indices, samples):
    """The largest element of each window, and with `return_indices` its place among those of the plane."""
    extents, kernel, counts = _sizes(name, dims, input, kernel_size, output_size, output_ratio)
    x = input if input.layout.ndim == dims + 2 else unsqueeze(input, 0)
    batch, channels = x.layout.shape[:2]
    if samples is None:
        samples = rand(batch, channels, dims, dtype=x.layout.dtype, device=x.layout.device)
    else:
        given = layout_of(name, samples, "_random_samples", 6).shape
        if len(given) != 3 or given[0] < batch or given[1] < channels or given[2] != dims:
            raise RuntimeError(f"{name}: expected _random_samples of shape {[batch, channels, dims]}, or of more images or "
                               f"channels, got {list(given)}")
        samples = samples[:batch, :channels]
    places, order = None, range(dims) if dims == 3 else (1, 0)       # PyTorch's samples of planes have the width's first
    for d, (extent, size, count) in enumerate(zip(extents, kernel, counts)):
        starts = _starts(samples[..., order[d]], extent, size, count)
        along = unsqueeze(starts, -1) + arange(size, device=starts.layout.device)
        # (N, C, count, size), spread over the dimensions of counts, then sizes
        shape = [batch, channels, *(1,) * (2 * dims)]
        shape[2 + d], shape[2 + dims + d] = count, size
        along = reshape(along, shape)
        places = along if places is None else places * extent + along
    windows = reshape(places, (batch, channels, prod(counts), prod(kernel)))
    flat = reshape(x, (batch, channels, prod(extents)))
    seen = gather(flat.detach(), 2, reshape(windows, (batch, channels, prod(counts) * prod(kernel))))
    best = argmax(reshape(seen, windows.layout.shape), -1, keepdim=True)
    chosen = reshape(gather(windows, 3, best), (batch, channels, prod(counts)))
    shape = (*input.layout.shape[:-dims], *counts)
    out = reshape(gather(flat, 2, chosen), shape)
    return (out, reshape(chosen, shape)) if return_indices else out


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False,
                          _random_samples=None) -> Tensor:
    """The largest element of each window, of windows at distances that vary at random so that extents shrink by any ratio (Graham
    2014).

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point.
        kernel_size: the windows' extent, a number or (height, width).
        output_size: (H_out, W_out) or one number for all; or else
        output_ratio: what to multiply the input's extents by, one number or 2, in (0, 1).
        return_indices: also return where in its plane each maximum is.
        _random_samples: (N, C, 2) numbers in [0, 1) that place the windows, or more of which those are the first; drawn when None.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out); or a pair of that and int64 places in the flattened plane.

    Raises:
        ValueError: neither a size nor a ratio.
        RuntimeError: windows that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.fractional_max_pool2d(torch.zeros(1, 9, 9), 2, output_size=6).shape
        torch.Size([1, 6, 6])
    """
    return fractional_max_pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices,
                               _random_samples)


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False,
                          _random_samples=None) -> Tensor:
    """The largest element of each window, of windows at distances that vary at random so that extents shrink by any ratio (Graham
    2014).

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point.
        kernel_size: the windows' extent, a number or (depth, height, width).
        output_size: (D_out, H_out, W_out) or one number for all; or else
        output_ratio: what to multiply the input's extents by, one number or 3, in (0, 1).
        return_indices: also return where in its volume each maximum is.
        _random_samples: (N, C, 3) numbers in [0, 1) that place the windows, or more of which those are the first; drawn when None.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out); or a pair of that and int64 places in the flattened volume.

    Raises:
        ValueError: neither a size nor a ratio.
        RuntimeError: windows that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.fractional_max_pool3d(torch.zeros(1, 5, 5, 5), 2, output_size=3).shape
        torch.Size([1, 3, 3, 3])
    """
    return fractional_max_pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices,
                               _random_samples)
