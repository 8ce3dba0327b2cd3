"""Pooling by maxima of windows over the last dimensions of (N, C, L) and (N, C, H, W); other regions are in region_pool.py."""
from __future__ import annotations

from functools import partial
from math import prod

from ...autograd.graph import GraphNode, recording
from ...dtypes import int64
from ...kernels.planning import planning
from ...layout import Layout, contiguous_format, format_of, formatted
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout
from ..core.backends import kernels
from ..core.primitive import Primitive, derivative_of
from ..memory.assign import filled
from ..memory.copies import in_format
from ..reduce.extremes import max as maximum
from ..reduce.reductions import amax
from ..shape.views import reshape
from .windows import Pooling, check_channels, dense, extents, in_two, pooled, side_by_side, windows

MAX_POOL = {dims: Pooling(f"max_pool{dims}d_with_indices", f"T{[1, 2] + [5] * dims}; 2, None, 0, 1, False, True")
            for dims in (1, 2, 3)}
ADAPTIVE_MAX_POOL = {dims: Pooling(f"adaptive_max_pool{dims}d", f"T{[1, 2] + [5] * dims}; 2, True") for dims in (1, 2, 3)}
MAX_POOL_GRAD = Primitive("max_pool_grad",
                          samples="T[1, 2, 2], int64([[[0, 3], [1, 2]]]); T[1, 2, 5].layout, 1, False, contiguous_format")


class MaxPlan:
    """A pooling of maxima: the result's layout and the kernels that find them, with their places or alone.

    Attributes:
        primitive: what is recorded.
        source, dims: the input's layout, and how many dimensions have windows.
        format: the memory format of results, or None; `kernels` of channels that are last, where there are such, keep it.
        planner: the kernels' planners and what they are given.
        prepared, values: run with (x, out, indices) and (x, out); planned when a call first needs them.
        kept: what nodes know: the input's layout, `dims`, `dilated` and the memory format of the kernels.
        rows: the shape of an input whose last dimension is a window, where that is so.
        dilated: whether a window may have all its elements in the padding: its maximum is -inf, and its place NOWHERE.
    """

    __slots__ = ("primitive", "source", "dims", "out", "places", "planner", "prepared", "values", "rows", "dilated", "format",
                 "order", "kept")

    def __init__(self, primitive, source, lead, counts, dilation, rows=None):
        self.primitive = primitive
        self.source, self.dims, self.rows, self.dilated = source, len(counts), rows, max(dilation) > 1
        self.format = format_of(source) if source.ndim == len(counts) + 2 else None
        self.out = Layout.of(source.dtype, (*lead, *counts), None, source.device)
        self.places, self.order = self.out.dense(int64), contiguous_format
        self.planner = self.prepared = self.values = None
        self.kept = source, self.dims, self.dilated, self.order

    def take_as_it_lies(self, *arguments):
        """Plan the kernel for channels that are last."""
        self.order = self.format
        self.out, self.places = formatted(self.out, self.order), formatted(self.places, self.order)
        self.prepared = kernels(self.source.device, "pool.channels_last").plan_max_pool2d(*arguments)
        self.kept = self.source, self.dims, self.dilated, self.order

    def kernel(self, with_places):
        """The kernel that finds places, too, or only maxima."""
        prepared = self.prepared if with_places else self.values
        if prepared is None:
            module, arguments = self.planner
            prepared = (module.plan_max_pool2d if with_places else module.plan_max_pool2d_values)(*arguments)
            if not planning.does_nothing:
                setattr(self, "prepared" if with_places else "values", prepared)
        return prepared


def plan_max(primitive, name, dims, layout, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    lead, sizes = extents(name, layout, dims)
    options, counts = windows(name, lead, sizes, kernel_size, stride, padding, dilation, ceil_mode)
    plan = MaxPlan(primitive, layout, lead, counts, options[3], side_by_side(lead, sizes, options))
    if plan.out.numel and plan.format == "channels_last":
        plan.take_as_it_lies(layout.dtype.kernel, *layout.shape, *options, ceil_mode)
    elif plan.out.numel:
        arguments = (layout.dtype.kernel, prod(lead), 1, *(1,) * (2 - dims), *sizes, *in_two(options, dims), ceil_mode)
        plan.planner = kernels(layout.device, "pool.window"), arguments
    return plan


def maxima(plan, x, *options):
    """The maxima that a plan finds in x, and where they are in their planes if the last option says so."""
    tracked, return_indices = recording(x), options[-1]
    if plan.rows is not None and plan.out.numel and not return_indices:
        rows = reshape(x, plan.rows)
        return in_format(reshape(maximum(rows, -1)[0] if tracked else amax(rows, -1), plan.out.shape), plan.format)
    if plan.planner is not None and not (return_indices or tracked):
        out, source, prepared = empty(plan.out), dense(x), plan.kernel(False)
        prepared.call(source.address, out.address, prepared.descriptor)
        return in_format(out, plan.format)
    out, indices = empty(plan.out), empty(plan.places)
    if plan.out.numel:
        source, prepared = dense(x, plan.order), plan.kernel(True)
        prepared.call(source.address, out.address, indices.address, prepared.descriptor)
    out = in_format(out, plan.format)
    if tracked:
        out.node = GraphNode(plan.primitive, (x.node,), (indices,), plan.kept)
    return (out, in_format(indices, plan.format)) if return_indices else out


def _plan_max_pool(dims, layout, *options):
    check_channels(f"max_pool{dims}d", layout, dims)
    return plan_max(MAX_POOL[dims], f"max_pool{dims}d", dims, layout, *options)


for _dims in (1, 2):
    MAX_POOL[_dims].planned(partial(_plan_max_pool, _dims))
for _primitive in (*MAX_POOL.values(), *ADAPTIVE_MAX_POOL.values()):
    _primitive.execute = maxima


@derivative_of(*MAX_POOL.values(), *ADAPTIVE_MAX_POOL.values())
def _max_vjp(node, grad, indices):
    return (_max_grad(grad, indices, *node.attributes),)


@MAX_POOL_GRAD.planned
def _plan_max_grad(grad, indices, source, dims, dilated, order):
    """The kernel, the layout that it writes, and the memory format of the result, or None."""
    expect_layout("max_pool_grad", "grad", grad, (*source.shape[:-dims], *grad.shape[-dims:]), source.dtype)
    expect_layout("max_pool_grad", "indices", indices, grad.shape, int64)
    memory_format = format_of(source) if source.ndim == dims + 2 else None
    out, (lead, sizes), places = formatted(source, order), (source.shape[:-dims], source.shape[-dims:]), prod(grad.shape[-dims:])
    if not grad.numel:
        return None, out, memory_format
    if order is not contiguous_format:
        module, arguments = kernels(source.device, "pool.channels_last"), (*lead, prod(sizes), places)
    else:
        module, arguments = kernels(source.device, "pool.window"), (prod(lead), prod(sizes), places)
    return module.plan_max_pool_grad(source.dtype.kernel, *arguments), out, memory_format


@MAX_POOL_GRAD.run
def _max_grad(plan, grad: Tensor, indices: Tensor, source, dims, dilated, order):
    prepared, layout, memory_format = plan
    if prepared is None:
        return filled(source.dense(), 0)
    out, incoming = empty(layout), dense(grad, order)
    prepared.call(incoming.address, indices.address, out.address, prepared.descriptor)
    out = in_format(out, memory_format)
    return MAX_POOL_GRAD.recorded(out, (grad,), (indices,), (dims, dilated))


@MAX_POOL_GRAD.derivative
def _max_grad_vjp(node, u, indices):
    """Each output's gradient went to one input, so what comes back is that input's."""
    dims, dilated = node.attributes
    lead, places = u.layout.shape[:-dims], indices
    if dilated:
        places = indices.clamp(min=0)
    picked = reshape(reshape(u, *lead, -1).gather(-1, reshape(places, *lead, -1)), indices.layout.shape)
    return (picked.masked_fill(indices < 0, 0) if dilated else picked,)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window.

    Args:
        input: (N, C, H, W) or (C, H, W), of floating point or of integers.
        kernel_size, stride, dilation: a number or (height, width); the stride is the kernel's size when None.
        padding: the same, of the least number there is, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        return_indices: also return where in its plane each maximum is.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out), with H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1, and
        W likewise; or a pair of that and int64 places in the flattened plane.

    Raises:
        RuntimeError: options or extents that do not fit.
        NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.max_pool2d(torch.arange(16.).view(1, 4, 4), 2, return_indices=True)
        (tensor([[[ 5.,  7.],
                 [13., 15.]]]), tensor([[[ 5,  7],
                 [13, 15]]]))
    """
    try:
        plan = MAX_POOL[2].plans.get((input.layout, kernel_size, stride, padding, dilation, ceil_mode, return_indices))
    except (AttributeError, TypeError):
        plan = None
    if plan is None:
        return pooled(MAX_POOL[2], input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return maxima(plan, input, return_indices)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window.

    Args:
        input: (N, C, L) or (C, L), of floating point; of integers where the places are asked for.
        kernel_size, stride, dilation: a number; the stride is the kernel's size when None.
        padding: the same, of the least number there is, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        return_indices: also return where in its row each maximum is.

    Returns:
        (N, C, L_out) or (C, L_out), with L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1; or a pair of that
        and int64 places in the flattened row.

    Raises:
        RuntimeError: options or extents that do not fit.
        NotImplementedError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.max_pool1d(torch.tensor([[1., 3., 2., 4.]]), 2, return_indices=True)
        (tensor([[3., 4.]]), tensor([[1, 3]]))
    """
    try:
        plan = MAX_POOL[1].plans.get((input.layout, kernel_size, stride, padding, dilation, ceil_mode, return_indices))
    except (AttributeError, TypeError):
        plan = None
    if plan is None:
        return pooled(MAX_POOL[1], input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)
    return maxima(plan, input, return_indices)
