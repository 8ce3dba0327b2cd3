"""Pooling by means of windows over the last dimensions of (N, C, L) and (N, C, H, W); other regions are in region_pool.py."""
from __future__ import annotations

from functools import partial
from math import prod

from ...autograd.graph import GraphNode, recording
from ...layout import Layout, contiguous_format, format_of, formatted, ints
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout, truth
from ..core.backends import kernels
from ..core.primitive import Primitive, derivative_of
from ..memory.assign import filled
from ..memory.copies import in_format
from ..memory.resize import into_exactly
from ..reduce.reductions import mean
from ..shape.views import reshape
from .windows import Pooling, check_channels, dense, extents, in_two, pooled, side_by_side, windows

AVG_POOL = {dims: Pooling(f"avg_pool{dims}d", f"T{[1, 2] + [5] * dims}; 2, None, 0, False, True, None") for dims in (1, 2)}
ADAPTIVE_AVG_POOL = {dims: Pooling(f"adaptive_avg_pool{dims}d", f"T{[1, 2] + [5] * dims}; 2") for dims in (1, 2, 3)}
AVG_POOL_GRAD = Primitive("avg_pool_grad",
                          samples="T[1, 2, 2]; T[1, 2, 5].layout, 1, contiguous_format, ((2,), (2,), (0,), False, True, None)")


class MeanPlan:
    """A pooling of means: the result's layout, the kernel, and what nodes know: the input's layout, `dims`, the memory format of
    the kernels and the options; or the shape of an input whose last dimension is a window."""

    __slots__ = ("primitive", "out", "prepared", "rows", "format", "order", "kept")

    def __init__(self, dims, source, out, options, rows):
        self.primitive, self.out, self.rows = AVG_POOL.get(dims), out, rows
        self.format, self.order = format_of(source), contiguous_format
        if self.format is not None and rows is None:     # as they lie, by the kernels for channels that are last
            self.order, self.out = self.format, formatted(out, self.format)
        self.kept, self.prepared = (source, dims, self.order, options), None
        if out.numel and rows is None:
            self.prepared = _mean_kernel("plan_avg_pool2d", *self.kept)


def _mean_kernel(planner, source, dims, order, options):
    """What a planner makes of a pooling of means: over two axes, of images in row-major order or with channels that are last."""
    *window, ceil_mode, count_include_pad, divisor = options
    images, family = source.shape, "pool.channels_last"
    if order is contiguous_format:
        images, family = (prod(source.shape[:-dims]), 1, *(1,) * (2 - dims), *source.shape[-dims:]), "pool.window"
    return getattr(kernels(source.device, family), planner)(source.dtype.kernel, *images, *in_two(window, dims), ceil_mode,
                                                            count_include_pad, divisor)


def plan_mean(dims, layout, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    name = f"avg_pool{dims}d"
    if divisor_override is not None:
        divisor_override, = ints((divisor_override,), f"{name}: divisor_override")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    lead, sizes = extents(name, layout, dims)
    options, counts = windows(name, lead, sizes, kernel_size, stride, padding, 1, ceil_mode)
    rows = None
    if divisor_override is None:
        whole = options[0] == sizes and not any(options[2])          # one window a plane: 7 times as fast as a mean
        rows = (*lead, prod(sizes)) if whole else side_by_side(lead, sizes, options)
    return MeanPlan(dims, layout, Layout.of(layout.dtype, (*lead, *counts), None, layout.device),
                    (*options[:3], ceil_mode, truth(name, "count_include_pad", count_include_pad), divisor_override), rows)


def means(plan, x, *options):
    """The means that a plan takes of x."""
    if plan.rows is not None:
        return in_format(reshape(mean(reshape(x, plan.rows), -1), plan.out.shape), plan.format)
    out = empty(plan.out)
    if plan.prepared is not None:
        source = dense(x, plan.order)
        plan.prepared.call(source.address, out.address, plan.prepared.descriptor)
    out = in_format(out, plan.format)
    if x.node is not None and recording(x):
        out.node = GraphNode(plan.primitive, (x.node,), (), plan.kept)
    return out


def _plan_avg_pool(dims, layout, *options):
    check_channels(f"avg_pool{dims}d", layout, dims)
    return plan_mean(dims, layout, *options)


for _dims in AVG_POOL:
    AVG_POOL[_dims].planned(partial(_plan_avg_pool, _dims))
    AVG_POOL[_dims].execute = means


@derivative_of(*AVG_POOL.values())
def _mean_vjp(node, grad):
    return (_mean_grad(grad, *node.attributes),)


@AVG_POOL_GRAD.planned
def _plan_mean_grad(grad, source, dims, order, options):
    lead, sizes = extents("avg_pool_grad", source, dims)
    kernel, stride, padding, ceil_mode, *_ = options
    _, counts = windows("avg_pool_grad", lead, sizes, kernel, stride, padding, 1, ceil_mode)
    expect_layout("avg_pool_grad", "grad", grad, (*lead, *counts), source.dtype)
    prepared = _mean_kernel("plan_avg_pool2d_grad", source, dims, order, options) if grad.numel else None
    return prepared, formatted(source, order), format_of(source)


@AVG_POOL_GRAD.run
def _mean_grad(plan, grad: Tensor, source, dims, order, options):
    prepared, layout, memory_format = plan
    if prepared is None:
        return filled(source.dense(), 0)
    out, incoming = empty(layout), dense(grad, order)
    prepared.call(incoming.address, out.address, prepared.descriptor)
    out = in_format(out, memory_format)
    return AVG_POOL_GRAD.recorded(out, (grad,), (), (dims, options))


@AVG_POOL_GRAD.derivative
def _mean_grad_vjp(node, u):
    dims, options = node.attributes
    return (pooled(AVG_POOL[dims], u, *options),)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None, *, out=None) -> Tensor:
    """The mean of each window.

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point.
        kernel_size, stride: a number or (height, width); the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.
        divisor_override: divide by this instead of the window's size.
        out: a tensor to write the result to.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out), with H_out = (H + 2 padding - kernel_size) // stride + 1, and W likewise.

    Raises:
        RuntimeError: options or extents that do not fit.
        NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.avg_pool2d(torch.arange(16.).view(1, 4, 4), 2)
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """
    try:
        plan = AVG_POOL[2].plans.get((input.layout, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))
    except (AttributeError, TypeError):
        plan = None
    if plan is None:
        result = pooled(AVG_POOL[2], input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    else:
        result = means(plan, input)
    return result if out is None else into_exactly("avg_pool2d", out, result)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window.

    Args:
        input: (N, C, L) or (C, L), of floating point.
        kernel_size, stride: a number; the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.

    Returns:
        (N, C, L_out) or (C, L_out), with L_out = (L + 2 padding - kernel_size) // stride + 1.

    Raises:
        RuntimeError: options or extents that do not fit.
        NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.avg_pool1d(torch.tensor([[1., 3., 2., 4.]]), 2)
        tensor([[2., 3.]])
    """
    try:
        plan = AVG_POOL[1].plans.get((input.layout, kernel_size, stride, padding, ceil_mode, count_include_pad, None))
    except (AttributeError, TypeError):
        plan = None
    if plan is None:
        return pooled(AVG_POOL[1], input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)
    return means(plan, input)
