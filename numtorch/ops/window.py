"""Pooling: maxima and means of windows over the last dimensions of (N, C, L) and (N, C, H, W), and what windows share.

One dimension runs as two with a height of 1; inputs without a batch dimension get one of extent 1. Convolutions are in conv.py.
"""
from __future__ import annotations

from ..autograd.graph import GraphNode, recording
from ..dtypes import int64
from ..layout import Layout
from ..tensor import Tensor, empty
from .backends import kernels
from .copy import contiguous
from .op import new_plan_table, registry
from .reduce import amax, mean
from .view import reshape, squeeze, unsqueeze

_plans = new_plan_table()

LONG = 8                                                 # windows side by side are summed as rows: of 60, 17 µs for 230


def pair(value, name: str, length: int = 2) -> tuple:
    """A number for every axis, or one for all. Raises TypeError or RuntimeError for anything else."""
    if type(value) is int:
        return (value,) * length
    if not hasattr(value, "__iter__"):
        if hasattr(value, "__index__"):
            return (value.__index__(),) * length
        raise TypeError(f"{name}: expected an int or a tuple of ints, got {type(value).__name__}")
    values = tuple([v.__index__() for v in value])
    if len(values) == 1:
        return values * length
    if len(values) != length:
        raise RuntimeError(f"{name}: expected one number or {length}, got {list(values)}")
    return values


def dense(x):
    """x for a kernel: row-major, without its history."""
    return x if x.layout.contiguous else contiguous(x.detach())


def batched(name, input, dims):
    """The input with a batch dimension, and whether it came without one. Raises RuntimeError for other dimensions."""
    ndim = input.layout.ndim
    if ndim == dims + 2:
        return input, False
    if ndim == dims + 1:
        return unsqueeze(input, 0), True
    raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                       f"{list(input.layout.shape)}")


# ---------------------------------------------------------------- pooling
def _check_pool(name, layout, kernel, stride, padding, dilation):
    if not layout.dtype.is_floating_point:
        raise RuntimeError(f'"{name}" not implemented for \'{layout.dtype.name.capitalize()}\': expected a floating-point dtype')
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got kH: {kernel[0]} kW: {kernel[1]} ({name})")
    if min(stride) <= 0:
        raise RuntimeError(f"stride should not be zero ({name}: got {stride})")
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got dilationH: {dilation[0]} dilationW: {dilation[1]}")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)}")
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={max(padding)}, "
                           f"kernel_size={kernel} ({name})")


def _pooled(name, layout, kernel, stride, padding, dilation, ceil_mode):
    _check_pool(name, layout, kernel, stride, padding, dilation)
    count = kernels(layout.device, "window").pool_output_size
    sizes = [count(*axis, ceil_mode) for axis in zip(layout.shape[2:], kernel, stride, padding, dilation)]
    if min(sizes) < 1:
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, layout.shape[1:]))}). Calculated output size: "
                           f"({layout.shape[1]}x{sizes[0]}x{sizes[1]}). Output size is too small")
    return Layout.of(layout.dtype, (*layout.shape[:2], *sizes), None, layout.device)


def _pool_plan(kind, layout, options):
    """The result's layout and the forward and backward kernels of a pooling."""
    key = (kind, layout, options)
    plan = _plans.get(key)
    if plan is None:
        kernel, stride, padding, dilation, ceil_mode, *rest = options
        out = _pooled(kind, layout, kernel, stride, padding, dilation, ceil_mode)
        module = kernels(layout.device, "window")
        sizes = (layout.dtype.kernel, *layout.shape, kernel, stride, padding)
        if kind != "avg_pool2d":
            sizes = (*sizes, dilation, ceil_mode)
        else:
            sizes = (*sizes, ceil_mode, *rest)
        prepared = (None, None)
        if out.numel:
            backward = None if kind == "max_pool2d_values" else getattr(module, f"plan_{kind}_grad")(*sizes)
            prepared = (getattr(module, f"plan_{kind}")(*sizes), backward)
        plan = _plans.keep(key, (out, *prepared))
    return plan


def _max_pool(x, options):
    out_layout, prepared, _ = _pool_plan("max_pool2d", x.layout, options)
    out, indices = empty(out_layout), empty(out_layout.dense(int64))
    if prepared is not None:
        prepared.call(dense(x).address, out.address, indices.address, prepared.walk)
    if recording(x):
        out.node = GraphNode("max_pool2d_with_indices", (x.node,), (indices,), _max_pool_vjp, (x.layout, options))
    return out, indices


def _max_values(x, options):
    """The maxima alone, unrecorded."""
    out_layout, prepared, _ = _pool_plan("max_pool2d_values", x.layout, options)
    out = empty(out_layout)
    if prepared is not None:
        prepared.call(dense(x).address, out.address, prepared.walk)
    return out


def _max_pool_vjp(node, grad):
    indices, = node.tensors()
    return (_max_pool_grad(grad, indices, *node.constants),)


def _max_pool_grad(grad, indices, x_layout, options):
    _, _, prepared = _pool_plan("max_pool2d", x_layout, options)
    out = empty(x_layout.dense())
    if prepared is None:
        return registry["zeros_like"].function(out)
    prepared.call(dense(grad).address, indices.address, out.address, prepared.walk)
    if recording(grad):
        out.node = GraphNode("max_pool2d_grad", (grad.node,), (indices,), _max_pool_grad_vjp)
    return out


def _max_pool_grad_vjp(node, u):
    """Each output's gradient went to one input, so what comes back is that input's."""
    indices, = node.tensors()
    planes = u.layout.shape[:2]
    flat = reshape(u, *planes, -1)
    return (reshape(flat.gather(2, reshape(indices, *planes, -1)), indices.layout.shape),)


def _avg_pool(x, options):
    out_layout, prepared, _ = _pool_plan("avg_pool2d", x.layout, options)
    out = empty(out_layout)
    if prepared is not None:
        prepared.call(dense(x).address, out.address, prepared.walk)
    if recording(x):
        out.node = GraphNode("avg_pool2d", (x.node,), (), _avg_pool_vjp, (x.layout, options))
    return out


def _avg_pool_vjp(node, grad):
    return (_avg_pool_grad(grad, *node.constants),)


def _avg_pool_grad(grad, x_layout, options):
    _, _, prepared = _pool_plan("avg_pool2d", x_layout, options)
    out = empty(x_layout.dense())
    if prepared is None:
        return registry["zeros_like"].function(out)
    prepared.call(dense(grad).address, out.address, prepared.walk)
    if recording(grad):
        out.node = GraphNode("avg_pool2d_grad", (grad.node,), (), lambda node, u: (_avg_pool(u, node.constants),), options)
    return out


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window of (N, C, H, W) or (C, H, W); with `return_indices` also where in its plane it is.

    Args:
        kernel_size, stride, padding, dilation: a number or (height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge.

    Returns:
        values, or (values, int64 indices into the flattened plane).
    """
    x, unbatched = batched("max_pool2d", input, 2)
    kernel = pair(kernel_size, "max_pool2d: kernel_size")
    options = (kernel, pair(stride, "max_pool2d: stride") if stride else kernel, pair(padding, "max_pool2d: padding"),
               pair(dilation, "max_pool2d: dilation"), bool(ceil_mode))
    return _maxima(x, options, unbatched, return_indices)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode: bool = False, return_indices: bool = False):
    """The largest element of each window of (N, C, L) or (C, L); with `return_indices` also where it is. Arguments as in two
    dimensions."""
    x, unbatched = batched("max_pool1d", input, 1)
    kernel = (1, *pair(kernel_size, "max_pool1d: kernel_size", 1))
    options = (kernel, (1, *pair(stride, "max_pool1d: stride", 1)) if stride else kernel,
               (0, *pair(padding, "max_pool1d: padding", 1)),
               (1, *pair(dilation, "max_pool1d: dilation", 1)), bool(ceil_mode))
    if not (return_indices or recording(x)) and _side_by_side(x, options):
        out = amax(reshape(x, *x.layout.shape[:2], -1, kernel[1]), 3)
        return squeeze(out, 0) if unbatched else out
    found = _maxima(unsqueeze(x, 2), options, False, return_indices)
    found = [squeeze(t, 2) for t in (found if return_indices else (found,))]
    found = [squeeze(t, 0) for t in found] if unbatched else found
    return tuple(found) if return_indices else found[0]


def _side_by_side(x, options):
    """Whether the windows of (N, C, L) are its parts, and long enough to be reduced as rows."""
    kernel, stride, padding, dilation, *_ = options
    extent, length = x.layout.shape[2], kernel[1]
    return (length >= LONG and stride == kernel and padding == (0, 0) and dilation == (1, 1) and extent > 0
            and extent % length == 0 and x.layout.numel > 0 and x.layout.dtype.is_floating_point)


def _maxima(x, options, unbatched, return_indices):
    if not return_indices and not recording(x):
        out = _max_values(x, options)
        return squeeze(out, 0) if unbatched else out
    found = _max_pool(x, options)
    if unbatched:
        found = squeeze(found[0], 0), squeeze(found[1], 0)
    return found if return_indices else found[0]


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
               divisor_override=None) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, padding: a number or (height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge.
        count_include_pad: whether padding counts as zeros in the mean.
        divisor_override: divide by this instead of the window's size.
    """
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    x, unbatched = batched("avg_pool2d", input, 2)
    kernel = pair(kernel_size, "avg_pool2d: kernel_size")
    options = (kernel, pair(stride, "avg_pool2d: stride") if stride else kernel, pair(padding, "avg_pool2d: padding"), (1, 1),
               bool(ceil_mode), bool(count_include_pad), divisor_override)
    if kernel == x.layout.shape[2:] and options[2] == (0, 0) and divisor_override is None and x.layout.dtype.is_floating_point:
        out = mean(x, (2, 3), keepdim=True)              # one window: 7 times as fast
    else:
        out = _avg_pool(x, options)
    return squeeze(out, 0) if unbatched else out


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L). Arguments as for `avg_pool2d`."""
    x, unbatched = batched("avg_pool1d", input, 1)
    kernel = (1, *pair(kernel_size, "avg_pool1d: kernel_size", 1))
    options = (kernel, (1, *pair(stride, "avg_pool1d: stride", 1)) if stride else kernel,
               (0, *pair(padding, "avg_pool1d: padding", 1)),
               (1, 1), bool(ceil_mode), bool(count_include_pad), None)
    if _side_by_side(x, options):
        out = mean(reshape(x, *x.layout.shape[:2], -1, kernel[1]), 3)
    else:
        out = squeeze(_avg_pool(unsqueeze(x, 2), options), 2)
    return squeeze(out, 0) if unbatched else out

