"""Pooling in three dimensions, adaptive pooling and power averages.

Means are linear maps along each axis (`resample.py`); maxima have a kernel of their own that is told where regions lie. One and
two dimensions of equal windows are in `max_pool.py`, with how a plan of maxima is run, and in `average_pool.py`.
"""
from __future__ import annotations

import math
from functools import lru_cache, partial
from math import prod

from ...dtypes import int64
from ...layout import ints, is_sequence
from ...tensor import Tensor
from ..core.arguments import check_truths, integer
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import layout_of
from ..memory.resize import into_exactly
from ..pointwise.activation import relu
from ..pointwise.arithmetic import abs as absolute
from ..pointwise.arithmetic import mul, sign
from ..pointwise.power import pow as power
from .average_pool import ADAPTIVE_AVG_POOL, MeanPlan, avg_pool1d, avg_pool2d, means, plan_mean
from .max_pool import ADAPTIVE_MAX_POOL, MAX_POOL, MaxPlan, max_pool1d, max_pool2d, plan_max
from .resample import apply, region_maps, window_maps
from .windows import check_channels, extents, hashable, pooled, windows


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


def _plan_regions(primitive, layout, lead, sizes, regions, dilation, rows=None):
    """The plan of maxima of regions along the last dimensions."""
    plan, dims = MaxPlan(primitive, layout, lead, [len(r) for r in regions], dilation, rows), len(sizes)
    if plan.out.numel:
        whole = (((0, 1),),) * (3 - dims)
        plan.prepared = kernels(layout.device, "pool.max_region").plan_max_region(
            layout.dtype.kernel, prod(lead), (1,) * (3 - dims) + sizes, whole + regions, (1,) * (3 - dims) + dilation)
    return plan


# ---------------------------------------------------------------- adaptive
def _adaptive_sizes(name, sizes, output_size, layout):
    given = tuple(output_size) if is_sequence(output_size) else (output_size,) * len(sizes)
    if len(given) != len(sizes):
        raise RuntimeError(f"{name}: expected {len(sizes)} output sizes, got {list(given)}")
    counts = ints([n if o is None else o for o, n in zip(given, sizes)], f"{name}: output_size")
    if min(counts) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0, got {list(counts)}")
    if min(sizes) == 0:
        raise RuntimeError(f"{name}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                           f"{list(layout.shape)}")
    return counts


def _check_dims(dims, layout, output_size):
    """What PyTorch's Python asks where several output sizes are given, before its kernels look."""
    if dims > 1 and is_sequence(output_size) and layout.ndim <= dims:
        raise ValueError(f"Input dimension should be at least {dims + 1}")


def _divisor_window(sizes, counts):
    """The window that divides the last dimensions, one or two, into equal parts, or None."""
    if len(sizes) > 2 or not all(counts) or any(n % o for n, o in zip(sizes, counts)):
        return None
    return tuple(n // o for n, o in zip(sizes, counts))


def _plan_adaptive_max(dims, layout, output_size, return_indices):
    name, primitive = f"adaptive_max_pool{dims}d", ADAPTIVE_MAX_POOL[dims]
    _check_dims(dims, layout, output_size)
    if 0 in layout.shape[1:]:                            # of images without a batch, the channels may be none
        raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                           f"{list(layout.shape)}")
    lead, sizes = extents(name, layout, dims)
    counts = _adaptive_sizes(name, sizes, output_size, layout)
    kernel = _divisor_window(sizes, counts)
    if kernel is not None and max(counts) > 1:
        return plan_max(primitive, name, dims, layout, kernel, kernel, 0, 1, False, return_indices)
    rows = (*lead, prod(sizes)) if counts == (1,) * dims else None   # one window a plane: 7 times as fast as a row
    return _plan_regions(primitive, layout, lead, sizes, tuple(map(_equal_regions, sizes, counts)), (1,) * dims, rows)


for _dims, _primitive in ADAPTIVE_MAX_POOL.items():
    _primitive.planned(partial(_plan_adaptive_max, _dims))


def _plan_adaptive_mean(dims, layout, output_size):
    """The plan of means of equal windows, or the maps to means of other regions."""
    name = f"adaptive_avg_pool{dims}d"
    _check_dims(dims, layout, output_size)
    _, sizes = extents(name, layout, dims)
    counts = _adaptive_sizes(name, sizes, output_size, layout)
    kernel = _divisor_window(sizes, counts) or (sizes if counts == (1,) * dims else None)
    return region_maps(sizes, counts) if kernel is None else plan_mean(dims, layout, kernel, kernel, 0, False, True, None)


def _averages(plan, x, output_size):
    return means(plan, x) if type(plan) is MeanPlan else apply(x, plan)


for _dims, _primitive in ADAPTIVE_AVG_POOL.items():
    _primitive.planned(partial(_plan_adaptive_mean, _dims))
    _primitive.execute = _averages


def adaptive_avg_pool1d(input, output_size) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, L) or (C, L), of floating point.
        output_size: the number of windows L_out.

    Returns:
        (N, C, L_out) or (C, L_out). Window i spans elements floor(i L / L_out) to ceil((i + 1) L / L_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1., 3., 2., 4., 6.]]), 2)
        tensor([[2., 4.]])
    """
    return pooled(ADAPTIVE_AVG_POOL[1], input, output_size)


def adaptive_avg_pool2d(input, output_size) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point.
        output_size: (H_out, W_out) or one number for both; None keeps an extent.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out). Window i spans elements floor(i H / H_out) to ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(16.).view(1, 4, 4), (1, 2))
        tensor([[[6.5000, 8.5000]]])
    """
    return pooled(ADAPTIVE_AVG_POOL[2], input, output_size)


def adaptive_avg_pool3d(input, output_size) -> Tensor:
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point.
        output_size: (D_out, H_out, W_out) or one number for all; None keeps an extent.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out). Window i spans elements floor(i H / H_out) to ceil((i + 1) H /
        H_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_avg_pool3d(torch.arange(8.).view(1, 2, 2, 2), 1)
        tensor([[[[3.5000]]]])
    """
    return pooled(ADAPTIVE_AVG_POOL[3], input, output_size)


def adaptive_max_pool1d(input, output_size, return_indices: bool = False):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, L) or (C, L), of floating point.
        output_size: the number of windows L_out.
        return_indices: also return where in its row each maximum is.

    Returns:
        (N, C, L_out) or (C, L_out); or a pair of that and int64 places in the flattened row. Window i spans elements floor(i L /
        L_out) to ceil((i + 1) L / L_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1., 3., 2., 4., 6.]]), 2)
        tensor([[3., 6.]])
    """
    return pooled(ADAPTIVE_MAX_POOL[1], input, output_size, return_indices)


def adaptive_max_pool1d_pair(input, output_size) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and where in its row it is, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, L) or (C, L), of floating point.
        output_size: the number of windows L_out.

    Returns:
        (N, C, L_out) or (C, L_out), and int64 places of the same shape. `nn.functional.adaptive_max_pool1d` gives the first alone.

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.adaptive_max_pool1d(torch.tensor([[1., 3., 2., 4., 6.]]), 2)
        (tensor([[3., 6.]]), tensor([[1, 4]]))
    """
    return pooled(ADAPTIVE_MAX_POOL[1], input, output_size, True)


def adaptive_max_pool2d(input, output_size, return_indices: bool = False):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point.
        output_size: (H_out, W_out) or one number for both; None keeps an extent.
        return_indices: also return where in its plane each maximum is.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out); or a pair of that and int64 places in the flattened plane. Window i spans
        elements floor(i H / H_out) to ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(16.).view(1, 4, 4), (1, 2))
        tensor([[[13., 15.]]])
    """
    return pooled(ADAPTIVE_MAX_POOL[2], input, output_size, return_indices)


def adaptive_max_pool3d(input, output_size, return_indices: bool = False):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point.
        output_size: (D_out, H_out, W_out) or one number for all; None keeps an extent.
        return_indices: also return where in its volume each maximum is.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out); or a pair of that and int64 places in the flattened volume. Window
        i spans elements floor(i H / H_out) to ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: sizes or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 1)
        tensor([[[[7.]]]])
    """
    return pooled(ADAPTIVE_MAX_POOL[3], input, output_size, return_indices)


# ---------------------------------------------------------------- windows in three dimensions
@MAX_POOL[3].planned
def _plan_max3d(layout, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    check_channels("max_pool3d", layout, 3)
    lead, sizes = extents("max_pool3d", layout, 3)
    options, counts = windows("max_pool3d", lead, sizes, kernel_size, stride, padding, dilation, ceil_mode)
    return _plan_regions(MAX_POOL[3], layout, lead, sizes, tuple(map(_window_regions, sizes, counts, *options)), options[3])


@lru_cache(1024, typed=True)
def _means3d(lead, sizes, kernel_size, stride, padding, ceil_mode, count_include_pad, divides):
    (kernel, stride, padding, _), counts = windows("avg_pool3d", lead, sizes, kernel_size, stride, padding, 1, ceil_mode)
    return window_maps(sizes, counts, kernel, stride, padding, count_include_pad, divides)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point or of integers.
        kernel_size, stride, dilation: a number or (depth, height, width); the stride is the kernel's size when None.
        padding: the same, of the least number there is, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        return_indices: also return where in its volume each maximum is.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), with H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) //
        stride + 1, and D and W likewise; or a pair of that and int64 places in the flattened volume.

    Raises:
        RuntimeError: options or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.max_pool3d(torch.arange(8.).view(1, 2, 2, 2), 2, return_indices=True)
        (tensor([[[[7.]]]]), tensor([[[[7]]]]))
    """
    return pooled(MAX_POOL[3], input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None, *, out=None) -> Tensor:
    """The mean of each window.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point.
        kernel_size, stride: a number or (depth, height, width); the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.
        divisor_override: divide by this instead of the window's size.
        out: a tensor to write the result to.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), with H_out = (H + 2 padding - kernel_size) // stride + 1, and D
        and W likewise.

    Raises:
        RuntimeError: options or extents that do not fit, or another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.avg_pool3d(torch.arange(8.).view(1, 2, 2, 2), 2)
        tensor([[[[3.5000]]]])
    """
    if divisor_override is not None:
        divisor_override = integer("avg_pool3d", "divisor_override", divisor_override)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    check_truths("avg_pool3d", ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    layout, window = layout_of("avg_pool3d", input), hashable(kernel_size, stride, padding)
    if layout.dtype is int64:
        result = later["average_integers"]("avg_pool3d", 3, input, *window, ceil_mode, count_include_pad, divisor_override)
        return into_exactly("avg_pool3d", out, result)
    check_channels("avg_pool3d", layout, 3)
    lead, sizes = extents("avg_pool3d", layout, 3)
    result = apply(input, _means3d(lead, sizes, *window, ceil_mode, count_include_pad, divisor_override is None))
    return into_exactly("avg_pool3d", out, result if divisor_override is None else result / divisor_override)


# ---------------------------------------------------------------- powers
def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, dims):
    kernel = (kernel_size,) * dims if isinstance(kernel_size, int) else tuple(kernel_size)
    if norm_type in (math.inf, -math.inf):               # the largest magnitude, or the smallest
        most = {1: max_pool1d, 2: max_pool2d, 3: max_pool3d}[dims]
        out = most(mul(absolute(input), math.copysign(1, norm_type)), kernel, stride, 0, 1, ceil_mode)
        return mul(out, math.copysign(1, norm_type))
    average = {1: avg_pool1d, 2: avg_pool2d, 3: avg_pool3d}[dims]
    out = average(power(input, norm_type), kernel, stride, 0, ceil_mode)
    return power(mul(mul(sign(out), relu(absolute(out))), prod(kernel)), 1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        input: (N, C, L) or (C, L), of floating point.
        norm_type: p.
        kernel_size, stride: a number; the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Returns:
        (N, C, L_out) or (C, L_out), with L_out = (L - kernel_size) // stride + 1.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.lp_pool1d(torch.tensor([[3., 4., 0., 2.]]), 2, 2)
        tensor([[5., 2.]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point.
        norm_type: p.
        kernel_size, stride: a number or (height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out), with H_out = (H - kernel_size) // stride + 1, and W likewise.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 2), 2, 2)
        tensor([[[2.]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode: bool = False) -> Tensor:
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of floating point.
        norm_type: p.
        kernel_size, stride: a number or (depth, height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), with H_out = (H - kernel_size) // stride + 1, and D and W
        likewise.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 2, 2)
        tensor([[[[2.8284]]]])
    """
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)
