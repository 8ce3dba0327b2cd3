"""Pooling in three dimensions, adaptive pooling, power averages, unpooling and folding.

Means are linear maps along each axis (`resample.py`); maxima have a kernel of their own that is told where regions lie. One and
two dimensions of equal windows, and how a plan of maxima is run, are in `window.py`.
"""
from __future__ import annotations

from math import prod

from ..autograd.graph import GraphNode, recording
from ..dtypes import int64
from ..layout import Layout
from ..tensor import Tensor, view_of
from .activation import relu
from .arithmetic import abs as absolute
from .arithmetic import mul, sign
from .backends import kernels
from .copy import filled
from .op import registry
from .pad import pad
from .power import pow as power
from .resample import apply, region_maps, window_maps
from .view import add_into, make_view, narrow, reshape, squeeze, unsqueeze
from .window import (
    MaxPlan,
    MeanPlan,
    avg_pool1d,
    avg_pool2d,
    dense,
    extents,
    maxima,
    means,
    pair,
    plan_max,
    plan_mean,
    planned,
    windows,
)


# ---------------------------------------------------------------- maxima
def _equal_regions(inputs, outputs):
    return tuple((i * inputs // outputs, -(-(i + 1) * inputs // outputs)) for i in range(outputs))


def _window_regions(inputs, outputs, kernel, stride, padding, dilation):
    """(first, end) of each window within the input."""
    regions = []
    for i in range(outputs):
        start = i * stride - padding
        end = min(start + (kernel - 1) * dilation + 1, inputs)
        regions.append((start if start >= 0 else start % dilation, end))
    return tuple(regions)


def _plan_regions(layout, lead, sizes, regions, dilation, rows=None):
    """The plan of maxima of regions along the last dimensions."""
    plan, dims = MaxPlan(layout, lead, [len(r) for r in regions], rows), len(sizes)
    if plan.out.numel:
        whole = (((0, 1),),) * (3 - dims)
        plan.prepared = kernels(layout.device, "maxregion").plan_max_region(
            layout.dtype.kernel, prod(lead), (1,) * (3 - dims) + sizes, whole + regions, (1,) * (3 - dims) + dilation)
    return plan


# ---------------------------------------------------------------- adaptive
def _adaptive_sizes(name, sizes, output_size, layout):
    given = tuple(output_size) if hasattr(output_size, "__iter__") else (output_size,) * len(sizes)
    if len(given) != len(sizes):
        raise RuntimeError(f"{name}: expected {len(sizes)} output sizes, got {list(given)}")
    counts = tuple(n if o is None else o for o, n in zip(given, sizes))
    if min(counts) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, got {list(counts)}")
    if min(sizes) == 0:
        raise RuntimeError(f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                           f"{list(layout.shape)}")
    return counts


def _divisor_window(sizes, counts):
    """The window that divides the last dimensions, one or two, into equal parts, or None."""
    if len(sizes) > 2 or not all(counts) or any(n % o for n, o in zip(sizes, counts)):
        return None
    return tuple(n // o for n, o in zip(sizes, counts))


def _plan_adaptive_max(layout, name, dims, output_size):
    lead, sizes = extents(name, layout, dims)
    counts = _adaptive_sizes(name, sizes, output_size, layout)
    kernel = _divisor_window(sizes, counts)
    if kernel is not None and max(counts) > 1:
        return plan_max(layout, name, dims, kernel, kernel, 0, 1, False)
    rows = (*lead, prod(sizes)) if counts == (1,) * dims else None   # one window a plane: 7 times as fast as a row
    return _plan_regions(layout, lead, sizes, tuple(map(_equal_regions, sizes, counts)), (1,) * dims, rows)


def _plan_adaptive_mean(layout, name, dims, output_size):
    lead, sizes = extents(name, layout, dims)
    counts = _adaptive_sizes(name, sizes, output_size, layout)
    kernel = _divisor_window(sizes, counts) or (sizes if counts == (1,) * dims else None)
    return region_maps(sizes, counts) if kernel is None else plan_mean(layout, name, dims, kernel, kernel, 0, False, True, None)


def _adaptive_max(input, output_size, return_indices, dims):
    return maxima(input, planned(_plan_adaptive_max, input.layout, f"adaptive_max_pool{dims}d", dims, output_size), return_indices)


def _adaptive_average(input, output_size, dims):
    return _averages(input, planned(_plan_adaptive_mean, input.layout, f"adaptive_avg_pool{dims}d", dims, output_size))


def _averages(input, plan):
    return means(input, plan) if type(plan) is MeanPlan else apply(input, plan)


def adaptive_avg_pool1d(input, output_size) -> Tensor:
    """Means of windows chosen so that the result has `output_size` places."""
    return _adaptive_average(input, output_size, 1)


def adaptive_avg_pool2d(input, output_size) -> Tensor:
    """Means of windows chosen so that the result has `output_size` (a number or (height, width); None keeps an extent)."""
    return _adaptive_average(input, output_size, 2)


def adaptive_avg_pool3d(input, output_size) -> Tensor:
    """Means of windows chosen so that the result has `output_size` (a number or (depth, height, width); None keeps an extent)."""
    return _adaptive_average(input, output_size, 3)


def adaptive_max_pool1d(input, output_size, return_indices: bool = False):
    """Maxima of windows chosen so that the result has `output_size` places; with `return_indices` also where they are."""
    return _adaptive_max(input, output_size, return_indices, 1)


def adaptive_max_pool2d(input, output_size, return_indices: bool = False):
    """Maxima of windows chosen so that the result has `output_size`; with `return_indices` also where they are."""
    return _adaptive_max(input, output_size, return_indices, 2)


def adaptive_max_pool3d(input, output_size, return_indices: bool = False):
    """Maxima of windows chosen so that the result has `output_size`; with `return_indices` also where they are."""
    return _adaptive_max(input, output_size, return_indices, 3)


# ---------------------------------------------------------------- windows in three dimensions
def _plan_max3d(layout, kernel_size, stride, padding, dilation, ceil_mode):
    lead, sizes = extents("max_pool3d", layout, 3)
    options, counts = windows("max_pool3d", lead, sizes, kernel_size, stride, padding, dilation, ceil_mode,
                              kernels(layout.device, "window").pool_output_size)
    return _plan_regions(layout, lead, sizes, tuple(map(_window_regions, sizes, counts, *options)), options[3])


def _plan_mean3d(layout, kernel_size, stride, padding, ceil_mode, count_include_pad, divides):
    lead, sizes = extents("avg_pool3d", layout, 3)
    (kernel, stride, padding, _), counts = windows("avg_pool3d", lead, sizes, kernel_size, stride, padding, 1, ceil_mode,
                                                   kernels(layout.device, "window").pool_output_size)
    return window_maps(sizes, counts, kernel, stride, padding, bool(count_include_pad), divides)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W); with `return_indices` also where it is.

    Args:
        kernel_size, stride, padding, dilation: a number or (depth, height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge.
    """
    return maxima(input, planned(_plan_max3d, input.layout, kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W). Arguments as for `avg_pool2d`."""
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    maps = planned(_plan_mean3d, input.layout, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override is None)
    out = apply(input, maps)
    return out if divisor_override is None else out / divisor_override


# ---------------------------------------------------------------- powers
def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, dims):
    kernel = (kernel_size,) * dims if isinstance(kernel_size, int) else tuple(kernel_size)
    average = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[dims]
    out = average(power(input, norm_type), kernel, stride or None, 0, ceil_mode)
    return power(mul(mul(sign(out), relu(absolute(out))), prod(kernel)), 1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum x^p)^(1/p) over each window of (N, C, L) or (C, L)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum x^p)^(1/p) over each window of (N, C, H, W) or (C, H, W)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum x^p)^(1/p) over each window of (N, C, D, H, W) or (C, D, H, W)."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


# ---------------------------------------------------------------- unpooling
def _max_unpool(input, indices, kernel_size, stride, padding, output_size, dims):
    name = f"max_unpool{dims}d"
    if indices.layout.dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.layout.dtype} ({name})")
    if indices.layout.shape != input.layout.shape or input.layout.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.layout.shape)}) but got "
                           f"indices tensor with shape: {list(indices.layout.shape)} ({name})")
    kernel, padding = pair(kernel_size, f"{name}: kernel_size", dims), pair(padding, f"{name}: padding", dims)
    stride = pair(stride, f"{name}: stride", dims) if stride else kernel
    extents = input.layout.shape[-dims:]
    usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(extents, stride, padding, kernel)]
    sizes = tuple(usual)
    if output_size is not None:
        sizes = tuple(output_size)[-dims:]
        if len(tuple(output_size)) not in (dims, input.layout.ndim):
            raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                             f"'{len(tuple(output_size))}'")
        for size, middle, step in zip(sizes, usual, stride):
            if not middle - step < size < middle + step:
                raise ValueError(f'invalid output_size "{list(sizes)}" (dim must be between {middle - step} and {middle + step})')
    lead, plane = input.layout.shape[:-dims], prod(sizes)
    places = reshape(indices, *lead, -1)
    base = filled(Layout.of(input.layout.dtype, (*lead, plane), None, input.layout.device), 0)
    try:
        out = registry["scatter"].function(base, -1, places, reshape(input, *lead, -1))
    except RuntimeError:                                 # the shapes fit, so it is an index
        raise RuntimeError(f"Found an invalid max index: {places.max().item()} (output volumes are of size {list(sizes)}) "
                           f"({name})") from None
    return reshape(out, *lead, *sizes)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool1d` found them, zeros elsewhere."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool2d` found them, zeros elsewhere."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool3d` found them, zeros elsewhere."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


# ---------------------------------------------------------------- windows as columns
def _columns(height, width, kernel, dilation, stride):
    rows, columns = [(n - d * (k - 1) - 1) // s + 1 for n, k, d, s in zip((height, width), kernel, dilation, stride)]
    if rows < 1 or columns < 1:
        raise RuntimeError(f"unfold: expected windows of {kernel} with dilation {dilation} to fit into {[height, width]}")
    return rows, columns


def unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The windows of (N, C, H, W) as columns: (N, C * KH * KW, positions)."""
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = [pair(v, "unfold") for v in (kernel_size, dilation, padding, stride)]
    if input.layout.ndim not in (3, 4):
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {list(input.layout.shape)} (unfold)")
    x = pad(input, (pw, pw, ph, ph)) if ph or pw else input
    x = x if x.layout.ndim == 4 else unsqueeze(x, 0)
    layout = x.layout
    n, c, height, width = layout.shape
    rows, columns = _columns(height, width, (kh, kw), (dh, dw), (sh, sw))
    image, channel, down, across = layout.strides
    windows = Layout.of(layout.dtype, (n, c, kh, kw, rows, columns),
                        (image, channel, dh * down, dw * across, sh * down, sw * across), layout.device)
    out = reshape(make_view(x, (windows, 0), "unfold"), n, c * kh * kw, rows * columns)
    return out if input.layout.ndim == 4 else squeeze(out, 0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """Columns (N, C * KH * KW, positions) added up to (N, C, H, W), each where `unfold` would have taken it from."""
    options = [pair(v, "fold") for v in (kernel_size, dilation, padding, stride)]
    size = pair(output_size, "fold: output_size")
    if input.layout.ndim not in (2, 3):
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {list(input.layout.shape)} (fold)")
    kernel, dilation, padding, stride = options
    taps = kernel[0] * kernel[1]
    if input.layout.shape[-2] % taps:
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={input.layout.shape[-2]} and kernel_size={kernel} (fold)")
    padded = size[0] + 2 * padding[0], size[1] + 2 * padding[1]
    rows, columns = _columns(padded[0], padded[1], kernel, dilation, stride)
    if input.layout.shape[-1] != rows * columns:
        raise RuntimeError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                           f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding "
                           f"blocks {rows} * {columns} = {rows * columns}, but got input.size(2)={input.layout.shape[-1]}.")
    x = input if input.layout.ndim == 3 else unsqueeze(input, 0)
    out = _fold(x, size, options, padded, rows, columns)
    return out if input.layout.ndim == 3 else squeeze(out, 0)


FEW_COLUMNS = 1 << 13                                    # elements that are added one after another, by one call for all taps


def _fold(x, size, options, padded, rows, columns):
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = options
    source = x.detach()
    n, c = x.layout.shape[0], x.layout.shape[1] // (kh * kw)
    source = reshape(source, n, c, kh, kw, rows, columns)
    total = filled(Layout.of(x.layout.dtype, (n, c, *padded), None, x.layout.device), 0)
    image, channel, down, _ = total.layout.strides
    if source.layout.numel <= FEW_COLUMNS:
        taps = Layout.of(x.layout.dtype, source.layout.shape, (image, channel, dh * down, dw, sh * down, sw), x.layout.device)
        add_into(view_of(total, taps, 0), source)
        return _cropped(x, total, size, options)
    places = Layout.of(x.layout.dtype, (n, c, rows, columns), (image, channel, sh * down, sw), x.layout.device)
    for i in range(kh):
        for j in range(kw):
            make_view(total, (places, i * dh * down + j * dw), "fold").add_(source[:, :, i, j])
    return _cropped(x, total, size, options)


def _cropped(x, total, size, options):
    ph, pw = options[2]
    out = narrow(narrow(total, 2, ph, size[0]), 3, pw, size[1])
    out = dense(out) if ph or pw else out
    if recording(x):
        out.node = GraphNode("fold", (x.node,), (), lambda node, grad: (unfold(grad, *node.constants),), options)
    return out

