"""Convolution of (N, C, L) and (N, C, H, W), its transpose, and constant padding.

A convolution, its gradient for the input and its gradient for the weight are three ops, each linear in both arguments, so the
derivatives of each are the two others and gradients of any order need no more code. One dimension runs as two with
a height of 1.
"""
from __future__ import annotations

from ..autograd.graph import GraphNode, recording
from ..dtypes import uint8
from ..layout import Layout
from ..tensor import Tensor, empty
from .backends import kernels
from .copy import register
from .op import new_plan_table, registry
from .reduce import SUM
from .view import narrow, place, reshape, squeeze, unsqueeze
from .window import batched, dense, pair

_plans = new_plan_table()


def _scratch(prepared, device):
    """Where a kernel may write while it runs: a tensor to hold on to, and its address."""
    if not prepared.workspace:
        return None, 0
    memory = empty(Layout.of(uint8, (prepared.workspace,), None, device))
    return memory, memory.address


# ---------------------------------------------------------------- convolution
class Window(tuple):
    """(stride, padding, dilation, groups) of a convolution, the first three as (height, width)."""

    __slots__ = ()


def _check_convolution(name, x, w, bias, window):
    stride, padding, dilation, groups = window
    if not x.dtype.is_floating_point:
        raise RuntimeError(f'"{name}" not implemented for \'{x.dtype.name.capitalize()}\': expected a floating-point dtype')
    if x.dtype is not w.dtype:
        raise RuntimeError(f"Input type ({x.dtype.name}) and weight type ({w.dtype.name}) should be the same ({name})")
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"Input type ({x.dtype.name}) and bias type ({bias.dtype.name}) should be the same ({name})")
    if x.device is not w.device:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {x.device} and "
                           f"{w.device}! "
                           f"(when checking arguments for {name})")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    features = w.shape[0]
    if features % groups or features < groups:
        raise RuntimeError(f"Given groups={groups}, expected weight to be at least {groups} at dimension 0 and divisible by it, "
                           f"but got "
                           f"weight of size {list(w.shape)} instead")
    if x.shape[1] != w.shape[1] * groups:
        raise RuntimeError(f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
                           f"{w.shape[1] * groups} channels, but got {x.shape[1]} channels instead")
    if bias is not None and bias.shape != (features,):
        raise RuntimeError(f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with {features} elements, "
                           f"but got "
                           f"bias of size {list(bias.shape)} instead")
    padded = [n + 2 * p for n, p in zip(x.shape[2:], padding)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:])]
    if any(n < r for n, r in zip(padded, reach)) or min(w.shape[2:]) < 1:
        raise RuntimeError(f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
                           f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size")


def _sizes(x_shape, w_shape, window):
    """The arguments every convolution's planner takes."""
    return (*x_shape, w_shape[0], *w_shape[2:], *window)


def _output_shape(x_shape, w_shape, window):
    stride, padding, dilation, _ = window
    return (x_shape[0], w_shape[0], *[(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in
                                      zip(x_shape[2:], padding, dilation, w_shape[2:], stride)])


def _convolve(x, w, bias, window):
    """The convolution op, of (N, C, H, W) with (O, C / groups, KH, KW)."""
    key = (x.layout, w.layout, None if bias is None else bias.layout, window)
    plan = _plans.get(key)
    if plan is None:
        layout = x.layout
        _check_convolution("conv2d", layout, w.layout, None if bias is None else bias.layout, window)
        prepared = kernels(layout.device, "conv").plan_conv2d(
            layout.dtype.kernel, *_sizes(layout.shape, w.layout.shape, window), bias=bias is not None)
        plan = _plans.keep(key, (prepared, Layout.of(layout.dtype, _output_shape(layout.shape, w.layout.shape, window), None,
                                                     layout.device)))
    prepared, layout = plan
    out = empty(layout)
    if layout.numel:
        source, weight = dense(x), dense(w)
        shift = None if bias is None else dense(bias)
        memory, address = _scratch(prepared, layout.device)
        prepared.call(source.address, weight.address, 0 if shift is None else shift.address, out.address, address, prepared.walk)
    if recording(x, w, bias):
        if bias is None:
            out.node = GraphNode("convolution", (x.node, w.node), (x, w), _convolve_vjp, window)
        else:
            out.node = GraphNode("convolution", (x.node, w.node, bias.node), (x, w), _convolve_vjp, window)
    return out


def _convolve_vjp(node, grad):
    x, w = node.tensors()
    window = node.constants
    by_x = conv2d_input_grad(grad, w, x.layout.shape, window) if node.needs(0) else None
    by_w = conv2d_weight_grad(grad, x, w.layout.shape, window) if node.needs(1) else None
    if len(node.edges) == 2:
        return by_x, by_w
    return by_x, by_w, SUM.run(grad, (0, 2, 3)) if node.needs(2) else None


def _run_gradient(kind, planner, grad, other, shape, sizes):
    """A gradient's kernel: (grad, other) -> a tensor of `shape`."""
    key = (kind, grad.layout, other.layout, sizes)
    plan = _plans.get(key)
    if plan is None:
        layout = Layout.of(other.layout.dtype, shape, None, other.layout.device)
        prepared = getattr(kernels(layout.device, "conv"), planner)(layout.dtype.kernel, *sizes)
        plan = _plans.keep(key, (prepared, layout))
    prepared, layout = plan
    out = empty(layout)
    if layout.numel:
        incoming, second = dense(grad), dense(other)
        memory, address = _scratch(prepared, layout.device)
        prepared.call(incoming.address, second.address, out.address, address, prepared.walk)
    return out


def conv2d_input_grad(grad, w, x_shape, window) -> Tensor:
    """The gradient of a convolution for its input, of shape `x_shape`: also the transposed convolution of `grad` with w."""
    out = _run_gradient("input", "plan_conv2d_input_grad", grad, w, x_shape, _sizes(x_shape, w.layout.shape, window))
    if recording(grad, w):
        out.node = GraphNode("conv2d_input_grad", (grad.node, w.node), (grad, w), _input_grad_vjp, window)
    return out


def _input_grad_vjp(node, u):
    grad, w = node.tensors()
    window = node.constants
    return (_convolve(u, w, None, window) if node.needs(0) else None,
            conv2d_weight_grad(grad, u, w.layout.shape, window) if node.needs(1) else None)


def conv2d_weight_grad(grad, x, w_shape, window) -> Tensor:
    """The gradient of a convolution for its weight, of shape `w_shape`."""
    out = _run_gradient("weight", "plan_conv2d_weight_grad", grad, x, w_shape, _sizes(x.layout.shape, w_shape, window))
    if recording(grad, x):
        out.node = GraphNode("conv2d_weight_grad", (grad.node, x.node), (grad, x), _weight_grad_vjp, window)
    return out


def _weight_grad_vjp(node, u):
    grad, x = node.tensors()
    window = node.constants
    return (_convolve(x, u, None, window) if node.needs(0) else None,
            conv2d_input_grad(grad, u, x.layout.shape, window) if node.needs(1) else None)


def _padding(name, padding, input, weight, stride, dilation, dims):
    """Padding as numbers, and the input, padded itself where "same" needs more on one side."""
    if not isinstance(padding, str):
        return pair(padding, name + ": padding", dims), input
    if padding == "valid":
        return (0,) * dims, input
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: {padding!r}; {name} expects 'valid' or 'same'")
    if max(stride) > 1:
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for d, k in zip(dilation, weight.layout.shape[2:])]
    if any(t % 2 for t in totals):
        input = constant_pad(input, [(0, 0)] * (input.layout.ndim - dims) + [(0, t % 2) for t in totals])
    return tuple(t // 2 for t in totals), input


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    """Two-dimensional cross-correlation.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (O, C / groups, KH, KW).
        bias: (O) or None.
        stride, dilation: a number or (height, width).
        padding: the same, or "valid" (none) or "same" (the output has the input's size).
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, O, OH, OW) with OH = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.
    """
    if weight.layout.ndim != 4:
        raise RuntimeError(f"conv2d: expected a weight of 4 dimensions, got {list(weight.layout.shape)}")
    x, unbatched = batched("conv2d", input, 2)
    stride, dilation = pair(stride, "conv2d: stride"), pair(dilation, "conv2d: dilation")
    padding, x = _padding("conv2d", padding, x, weight, stride, dilation, 2)
    out = _convolve(x, weight, bias, Window((stride, padding, dilation, groups)))
    return squeeze(out, 0) if unbatched else out


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    """One-dimensional cross-correlation of (N, C, L) or (C, L) with (O, C / groups, K). Arguments as for `conv2d`."""
    if weight.layout.ndim != 3:
        raise RuntimeError(f"conv1d: expected a weight of 3 dimensions, got {list(weight.layout.shape)}")
    x, unbatched = batched("conv1d", input, 1)
    stride, dilation = pair(stride, "conv1d: stride", 1), pair(dilation, "conv1d: dilation", 1)
    padding, x = _padding("conv1d", padding, x, weight, stride, dilation, 1)
    window = Window(((1, *stride), (0, *padding), (1, *dilation), groups))
    out = squeeze(_convolve(unsqueeze(x, 2), unsqueeze(weight, 2), bias, window), 2)
    return squeeze(out, 0) if unbatched else out


def _transposed(x, weight, bias, window, output_padding):
    stride, padding, dilation, groups = window
    layout, w = x.layout, weight.layout
    if layout.shape[1] != w.shape[0]:
        raise RuntimeError(f"Given transposed=1, weight of size {list(w.shape)}, expected input{list(layout.shape)} to have "
                           f"{w.shape[0]} "
                           f"channels, but got {layout.shape[1]} channels instead")
    if layout.dtype is not w.dtype:
        raise RuntimeError(f"Input type ({layout.dtype.name}) and weight type ({w.dtype.name}) should be the same "
                           f"(conv_transpose2d)")
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got output_padding: "
                           f"{output_padding}, "
                           f"stride: {stride}, dilation: {dilation}")
    sizes = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, s, p, d, k, o in
             zip(layout.shape[2:], stride, padding, dilation, w.shape[2:], output_padding)]
    if min(sizes) < 1:
        raise RuntimeError(f"Given input size per channel: {list(layout.shape[2:])}. Calculated output size per channel: {sizes}. "
                           f"Output "
                           f"size is too small")
    out = conv2d_input_grad(x, weight, (layout.shape[0], w.shape[1] * groups, *sizes), window)
    return out if bias is None else out + reshape(bias, (1, -1, 1, 1))


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1) -> Tensor:
    """The transpose of `conv2d`: what its gradient does to the output's gradient.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (C, O / groups, KH, KW).
        output_padding: rows and columns added to the result, to choose among the sizes that convolve to the input's.
    """
    x, unbatched = batched("conv_transpose2d", input, 2)
    window = Window((pair(stride, "conv_transpose2d: stride"), pair(padding, "conv_transpose2d: padding"),
                     pair(dilation, "conv_transpose2d: dilation"), groups))
    out = _transposed(x, weight, bias, window, pair(output_padding, "conv_transpose2d: output_padding"))
    return squeeze(out, 0) if unbatched else out


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1) -> Tensor:
    """The transpose of `conv1d`, of (N, C, L) or (C, L) with (C, O / groups, K). Arguments as for `conv_transpose2d`."""
    x, unbatched = batched("conv_transpose1d", input, 1)
    window = Window(((1, *pair(stride, "conv_transpose1d: stride", 1)), (0, *pair(padding, "conv_transpose1d: padding", 1)),
                     (1, *pair(dilation, "conv_transpose1d: dilation", 1)), groups))
    output_padding = (0, *pair(output_padding, "conv_transpose1d: output_padding", 1))
    out = squeeze(_transposed(unsqueeze(x, 2), unsqueeze(weight, 2), bias, window, output_padding), 2)
    return squeeze(out, 0) if unbatched else out


# ---------------------------------------------------------------- padding
def constant_pad(input, widths, value=0) -> Tensor:
    """`input` with (before, after) elements of `value` added along each dimension; negative numbers cut elements off."""
    for dim, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            extent = input.layout.shape[dim]
            length = extent + min(before, 0) + min(after, 0)
            if length < 0:
                raise RuntimeError(f"narrow(): length must be non-negative. (pad: dimension {dim} of extent {extent} cannot lose "
                                   f"{-before} "
                                   f"and {-after} elements)")
            input = narrow(input, dim, max(-before, 0), length)
    widths = [(max(b, 0), max(a, 0)) for b, a in widths]
    if not any(b or a for b, a in widths):
        return input
    source = input.layout
    base = Layout.of(source.dtype, tuple(b + n + a for n, (b, a) in zip(source.shape, widths)), None, source.device)
    offset = sum(b * s for (b, _), s in zip(widths, base.strides))
    region = Layout.of(source.dtype, source.shape, base.strides, source.device)
    if value == 0:
        return place(input, base, region, offset)
    outside = place(registry["ones_like"].function(input.detach()), base, region, offset) == 0
    return registry["where"].function(outside, value, place(input, base, region, offset))


register(conv2d)
