"""Pooling: maxima and means of windows over the last dimensions of (N, C, L) and (N, C, H, W), and what windows share.

A plan is made of the options as a caller gives them and of the input as it is, with a batch dimension or without; for the kernels,
one dimension is two with a height of 1. Regions of other kinds are in region_pool.py, convolutions in conv.py.
"""
from __future__ import annotations

from functools import partial
from math import prod
from operator import is_not

from ...autograd.graph import GraphNode, recording
from ...dtypes import int64
from ...kernels.families.windows import output_sizes
from ...kernels.planning import planning
from ...layout import Layout, contiguous_format, format_of, formatted, ints, is_sequence
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, truth
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import layout_of
from ..core.primitive import Primitive, derivative_of, miss
from ..memory.assign import filled
from ..memory.copies import contiguous, in_format
from ..memory.resize import into_exactly
from ..reduce.extremes import max as maximum
from ..reduce.reductions import amax, mean
from ..shape.views import reshape, unsqueeze


class Pooling(Primitive):
    """A primitive of one tensor and options, called by `pooled`."""

    def __init__(self, name):
        super().__init__(name, parameters=("input",))
        self.required = frozenset((0,))


MAX_POOL = {dims: Pooling(f"max_pool{dims}d_with_indices") for dims in (1, 2, 3)}
ADAPTIVE_MAX_POOL = {dims: Pooling(f"adaptive_max_pool{dims}d") for dims in (1, 2, 3)}
AVG_POOL = {dims: Pooling(f"avg_pool{dims}d") for dims in (1, 2)}
ADAPTIVE_AVG_POOL = {dims: Pooling(f"adaptive_avg_pool{dims}d") for dims in (1, 2, 3)}
MAX_POOL_GRAD, AVG_POOL_GRAD = Primitive("max_pool_grad"), Primitive("avg_pool_grad")

LONG = 8                                                 # elements: windows side by side that are as long are summed as rows


def pair(value, name: str, length: int = 2) -> tuple:
    """A number for every axis, or one for all. Raises TypeError or RuntimeError for anything else."""
    if type(value) is int:
        return (value,) * length
    if not is_sequence(value):
        if hasattr(value, "__index__"):
            return ints((value,), name) * length
        raise TypeError(f"{name}: expected an int or a tuple of ints, got {type(value).__name__}")
    values = ints(value, name)
    if len(values) == 1:
        return values * length
    if len(values) != length:
        raise RuntimeError(f"{name}: expected one number or {length}, got {list(values)}")
    return values


def dense(x, order=contiguous_format):
    """x for a kernel: row-major, or in the order of another memory format, and without its history where it is copied."""
    return x if x.layout.contiguous and order is contiguous_format else contiguous(x.detach(), order)


def batched(name, input, dims):
    """The input with a batch dimension, and whether it came without one. Raises RuntimeError for other dimensions."""
    ndim = layout_of(name, input).ndim
    if ndim == dims + 2:
        return input, False
    if ndim == dims + 1:
        return unsqueeze(input, 0), True
    raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                       f"{list(input.layout.shape)}")


def hashable(*options) -> tuple:
    """Options that may be lists as what plans are found by."""
    return tuple([tuple(v) if is_sequence(v) and type(v) is not str else v for v in options])


def pooled(primitive, input, *options):
    """The call of a pooling, with its options as they were given."""
    try:
        plan = primitive.plans.get((input.layout, *options))
    except (AttributeError, TypeError):                  # no tensor, or a list
        plan = None
    if plan is None:
        plain = hashable(*options)
        if isinstance(input, Tensor) and input.layout.dtype.category == 1:
            made = later["pool_integers"](primitive, input, plain)
            if made is not None:
                return made
        return pooled(primitive, input, *plain) if any(map(is_not, plain, options)) else miss(primitive, (input,), options)
    return primitive.execute(plan, input, *options)


# ---------------------------------------------------------------- what is common to all windows
def extents(name, layout, dims):
    """The extents of an input, batched or not, before its last `dims`, and these. Raises RuntimeError for other inputs."""
    if layout.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                           f"{list(layout.shape)}")
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{name}" not implemented for \'{layout.dtype.title}\': expected a floating-point dtype')
    return layout.shape[:-dims], layout.shape[-dims:]


def check_channels(name, layout, dims):
    """Raises RuntimeError for images without channels: only the batch may be empty."""
    if 0 in layout.shape[-dims - 1:]:
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got: {list(layout.shape)}")


def check_window(name, kernel, stride, padding, dilation):
    """Raises RuntimeError for what is no window: it would lead a kernel outside its memory."""
    for what, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{what} should be greater than zero, but got {list(values)} ({name})")
    if max(*kernel, *stride, *dilation) >= 1 << 31:
        raise RuntimeError(f"value cannot be converted to type int without overflow: {list(kernel + stride + dilation)} ({name})")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)} ({name})")


def windows(name, lead, sizes, kernel_size, stride, padding, dilation, ceil_mode):
    """A window's options as tuples of `len(sizes)`, and how many windows there are along each axis."""
    dims = len(sizes)
    kernel, padding, dilation = [pair(v, f"{name}: {what}", dims) for v, what in
                                 ((kernel_size, "kernel_size"), (padding, "padding"), (dilation, "dilation"))]
    stride = kernel if stride is None or (type(stride) in (tuple, list) and not stride) else pair(stride, f"{name}: stride", dims)
    check_window(name, kernel, stride, padding, dilation)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={kernel} "
                           f"({name})")
    check_truths(name, ceil_mode=ceil_mode)
    counts = output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode)
    if min(counts) < 1:
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, lead[-1:] + sizes))}). Calculated output size: "
                           f"({'x'.join(map(str, lead[-1:] + counts))}). Output size is too small ({name})")
    return (kernel, stride, padding, dilation), counts


def _in_two(options, dims):
    """Options of one dimension as those of two with a height of 1."""
    return options if dims == 2 else [(least, *option) for least, option in zip((1, 1, 0, 1), options)]


def _side_by_side(lead, sizes, options):
    """The shape that has windows of one dimension as rows, where they are its parts and long enough to be reduced as such."""
    (length, *more), stride, padding, dilation = options
    if more or length < LONG or stride != (length,) or padding != (0,) or dilation != (1,) or sizes[0] % length:
        return None
    return (*lead, sizes[0] // length, length)


# ---------------------------------------------------------------- maxima
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
    plan = MaxPlan(primitive, layout, lead, counts, options[3], _side_by_side(lead, sizes, options))
    if plan.out.numel and plan.format == "channels_last":
        plan.take_as_it_lies(layout.dtype.kernel, *layout.shape, *options, ceil_mode)
    elif plan.out.numel:
        arguments = (layout.dtype.kernel, prod(lead), 1, *(1,) * (2 - dims), *sizes, *_in_two(options, dims), ceil_mode)
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
def _max_vjp(node, grad):
    indices, = node.tensors()
    return (_max_grad(grad, indices, *node.attributes),)


@MAX_POOL_GRAD.planned
def _plan_max_grad(grad, indices, source, dims, dilated, order):
    """The kernel, the layout that it writes, and the memory format of the result, or None."""
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
    if recording(grad):
        out.node = GraphNode(MAX_POOL_GRAD, (grad.node,), (indices,), (dims, dilated))
    return out


@MAX_POOL_GRAD.derivative
def _max_grad_vjp(node, u):
    """Each output's gradient went to one input, so what comes back is that input's."""
    indices, = node.tensors()
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


# ---------------------------------------------------------------- means
class MeanPlan:
    """A pooling of means: the result's layout, the kernel, and what nodes know: the input's layout, `dims`, the memory format of
    the kernels, their family and what their planners are told; or the shape of an input whose last dimension is a window."""

    __slots__ = ("primitive", "out", "prepared", "rows", "format", "order", "kept")

    def __init__(self, dims, source, out, arguments, rows):
        self.primitive, self.out, self.rows = AVG_POOL.get(dims), out, rows
        self.format, self.order, family = format_of(source), contiguous_format, "pool.window"
        if self.format is not None and rows is None:     # as they lie, by the kernels for channels that are last
            self.order, family, self.out = self.format, "pool.channels_last", formatted(out, self.format)
            arguments = (arguments[0], *source.shape, *arguments[5:])
        self.kept, self.prepared = (source, dims, self.order, family, arguments), None
        if out.numel and rows is None:
            self.prepared = kernels(source.device, family).plan_avg_pool2d(*arguments)


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
        rows = (*lead, prod(sizes)) if whole else _side_by_side(lead, sizes, options)
    kernel, stride, padding, _ = _in_two(options, dims)
    return MeanPlan(dims, layout, Layout.of(layout.dtype, (*lead, *counts), None, layout.device),
                    (layout.dtype.kernel, prod(lead), 1, *(1,) * (2 - dims), *sizes, kernel, stride, padding, ceil_mode,
                     truth(name, "count_include_pad", count_include_pad), divisor_override), rows)


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
def _plan_mean_grad(grad, source, dims, order, family, arguments):
    prepared = kernels(source.device, family).plan_avg_pool2d_grad(*arguments) if grad.numel else None
    return prepared, formatted(source, order), format_of(source)


@AVG_POOL_GRAD.run
def _mean_grad(plan, grad: Tensor, source, dims, order, family, arguments):
    prepared, layout, memory_format = plan
    if prepared is None:
        return filled(source.dense(), 0)
    out, incoming = empty(layout), dense(grad, order)
    prepared.call(incoming.address, out.address, prepared.descriptor)
    out = in_format(out, memory_format)
    if recording(grad):
        out.node = GraphNode(AVG_POOL_GRAD, (grad.node,), (), (dims, arguments[-6:]))
    return out


@AVG_POOL_GRAD.derivative
def _mean_grad_vjp(node, u):
    dims, (kernel, stride, padding, *rest) = node.attributes
    return (pooled(AVG_POOL[dims], u, kernel[-dims:], stride[-dims:], padding[-dims:], *rest),)


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
