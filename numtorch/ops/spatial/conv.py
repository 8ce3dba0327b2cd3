"""Convolution over one, two and three dimensions, and its transpose.

A convolution, its gradient for the input and its gradient for the weight are three ops, each linear in both arguments, so the
derivatives of each are the two others and gradients of any order need no more code.
"""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_, float32, uint8
from ...kernels.families.windows import output_sizes
from ...layout import Layout, contiguous_format, format_of, formatted
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout, integer
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..memory.copies import contiguous, copy_elements
from ..reduce.reduce_op import SUM
from ..shape.pad import pad
from ..shape.views import reshape, squeeze
from .exact import convolve_integers, of_complex, transpose_integers
from .windows import batched, dense, pair

CONVOLUTION = Primitive("convolution",
                        samples=("T[1, 2, 5, 5], T[2, 2, 3, 3], T[2]; ((1, 1), (1, 1), (1, 1), 1)",
                                 "T[1, 2, 6], T[2, 1, 3], None; ((2,), (0,), (1,), 2)"))
CONVOLUTION_INPUT_GRAD = Primitive("convolution_input_grad",
                                   samples="T[1, 2, 4], T[2, 1, 3], None; (1, 1, 9), ((2,), (0,), (1,), 1), None")
CONVOLUTION_WEIGHT_GRAD = Primitive("convolution_weight_grad",
                                    samples="T[1, 2, 4], T[1, 1, 9]; (2, 1, 3), ((2,), (0,), (1,), 1), None")


def _scratch(prepared, device):
    """Where a kernel may write while it runs: a tensor to hold on to, and its address."""
    if not prepared.workspace:
        return None, 0
    memory = empty(Layout.of(uint8, (prepared.workspace,), None, device))
    return memory, memory.address


# ---------------------------------------------------------------- convolution
class Window(tuple):
    """(stride, padding, dilation, groups) of a convolution, the first three a number for each dimension."""

    __slots__ = ()


def _check_convolution(name, x, w, bias, window):
    stride, padding, dilation, groups = window
    if x.dtype is bool_:
        raise NotImplementedError(f'"{name}" not implemented for \'Bool\'')
    if x.dtype is not w.dtype:
        raise RuntimeError(f"Input type ({x.dtype.name}) and weight type ({w.dtype.name}) should be the same ({name})")
    if bias is not None and bias.dtype is not x.dtype:
        raise RuntimeError(f"Input type ({x.dtype.name}) and bias type ({bias.dtype.name}) should be the same ({name})")
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
    if x.ndim != w.ndim:
        raise RuntimeError(f"{name}: expected a weight of {x.ndim} dimensions, got {list(w.shape)}")
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


def _output_shape(x_shape, w_shape, window):
    stride, padding, dilation, _ = window
    return (x_shape[0], w_shape[0], *output_sizes(x_shape[2:], w_shape[2:], stride, padding, dilation))


def _check_gradient(name, grad, other, x_shape, w_shape, window):
    """Raise RuntimeError for the gradient of no convolution of these shapes, or for one of another dtype than the other operand."""
    if not len(x_shape) == len(w_shape) == grad.ndim or x_shape[1] != w_shape[1] * window[3] or w_shape[0] % window[3]:
        raise RuntimeError(f"{name}: no convolution of {list(x_shape)} by a weight of size {list(w_shape)} in {window[3]} groups")
    expect_layout(name, "grad", grad, _output_shape(x_shape, w_shape, window), other.dtype)


def _format(first, second):
    """The memory format of the results of two layouts, or None: channels last if either is."""
    return format_of(first) or format_of(second)


class _Plan:
    """A kernel and its result's layout. 16-bit floats are widened, computed in float32 and rounded once. Images of another memory
    format are copied to and from row-major ones where the kernels do not take them as they lie.

    Attributes:
        orders: the memory formats in which the kernel takes its first and second operand.
        window: that of a convolution, with steps no longer than its padded input.
    """

    __slots__ = ("out", "prepared", "result", "widened", "orders", "window")

    def __init__(self, planner, dtype, device, shape, memory_format, *arguments):
        expect_dtypes(planner.removeprefix("plan_"), dtype, "float")
        self.widened = dtype.itemsize == 2
        compute = float32 if self.widened else dtype
        self.out = Layout.of(compute, shape, None, device)
        self.result = Layout.of(dtype, shape, None, device)
        module, self.orders, options = kernels(device, "conv.conv"), (contiguous_format, contiguous_format), {}
        if memory_format is not None:
            self.result = formatted(self.result, memory_format)
            by_input, by_weight = planner.endswith("input_grad"), planner.endswith("weight_grad")
            gradient = "input" if by_input else "weight" if by_weight else None
            if self.result.numel and module.takes_channels_last(compute.kernel, *arguments[:6], gradient):
                options["channels_last"] = True
                self.orders = (memory_format, memory_format if by_weight else contiguous_format)
            if not self.widened and (self.result.contiguous or (options and not by_weight)):
                self.out = self.result
            elif options and not by_weight:
                self.out = formatted(self.out, memory_format)
        self.prepared = getattr(module, planner)(compute.kernel, *arguments, **options) if self.result.numel else None

    def run(self, first, second, bias=None, with_bias=True):
        out = empty(self.out)
        prepared = self.prepared
        if prepared is not None:
            first, second = self.operand(first, self.orders[0]), self.operand(second, self.orders[1])
            memory, address = _scratch(prepared, self.out.device)
            if with_bias:
                bias = None if bias is None else self.operand(bias, contiguous_format)
                prepared.call(first.address, second.address, 0 if bias is None else bias.address, out.address, address,
                              prepared.descriptor)
            else:
                prepared.call(first.address, second.address, out.address, address, prepared.descriptor)
        if self.out is not self.result:
            result = empty(self.result)
            copy_elements(out, result)
            return result
        return out

    def operand(self, x, order):
        if self.widened:
            wide = empty(formatted(x.layout.dense(float32), order))
            copy_elements(x, wide)
            return wide
        return dense(x) if order is contiguous_format else contiguous(x.detach(), order)


@CONVOLUTION.planned
def plan_convolution(x, w, bias, window, activation=None):
    """A convolution of layouts, whose kernel may go on with `activation`, `"relu"`."""
    _check_convolution(f"conv{x.ndim - 2}d", x, w, bias, window)
    beyond = [max(1, size + 2 * p) for size, p in zip(x.shape[2:], window[1])]
    window = Window((tuple(map(min, window[0], beyond)), *window[1:]))     # else gradients go through each place within a step
    plan = _Plan("plan_convolution", x.dtype, x.device, _output_shape(x.shape, w.shape, window), _format(x, w), x.shape, w.shape,
                 *window, bias is not None, *(() if activation is None else (activation,)))
    plan.window = window
    return plan


@CONVOLUTION.run
def convolution(plan, input: Tensor, weight: Tensor, bias: Tensor | None, window):
    """The convolution op, of (N, C, *sizes) with (O, C / groups, *kernel)."""
    out = plan.run(input, weight, bias)
    if recording(input, weight, bias):
        edges = (input.node, weight.node) if bias is None else (input.node, weight.node, bias.node)
        out.node = GraphNode(CONVOLUTION, edges, (input, weight), plan.window)
    return out


@CONVOLUTION.derivative
def _convolve_vjp(node, grad, input, weight):
    window, kept = node.attributes, _format(input.layout, weight.layout)
    by_x = convolution_input_grad(grad, weight, None, input.layout.shape, window, kept) if node.needs(0) else None
    by_w = convolution_weight_grad(grad, input, weight.layout.shape, window, kept) if node.needs(1) else None
    return (by_x, by_w) if len(node.edges) == 2 else (by_x, by_w, _bias_grad(grad) if node.needs(2) else None)


def _bias_grad(grad):
    return SUM.run(grad, (0, *range(2, grad.layout.ndim)))


@CONVOLUTION_INPUT_GRAD.planned
def _plan_input_grad(grad, w, bias, x_shape, window, memory_format):
    _check_gradient("convolution_input_grad", grad, w, x_shape, w.shape, window)
    if bias is not None:
        expect_layout("convolution_input_grad", "bias", bias, x_shape[1:2], grad.dtype)
    return _Plan("plan_convolution_input_grad", grad.dtype, grad.device, x_shape, memory_format, x_shape, w.shape, *window,
                 bias is not None)


@CONVOLUTION_INPUT_GRAD.run
def convolution_input_grad(plan, grad: Tensor, weight: Tensor, bias: Tensor | None, x_shape, window, memory_format=None):
    """The gradient of a convolution for its input, of shape `x_shape`: also the transposed convolution of `grad`."""
    out = plan.run(grad, weight, bias)
    if recording(grad, weight, bias):
        edges = (grad.node, weight.node) if bias is None else (grad.node, weight.node, bias.node)
        out.node = GraphNode(CONVOLUTION_INPUT_GRAD, edges, (grad, weight), window)
    return out


@CONVOLUTION_INPUT_GRAD.derivative
def _input_grad_vjp(node, u, grad, weight):
    window, kept = node.attributes, _format(grad.layout, weight.layout)
    by_grad = convolution(u, weight, None, window) if node.needs(0) else None
    by_w = convolution_weight_grad(grad, u, weight.layout.shape, window, kept) if node.needs(1) else None
    return (by_grad, by_w) if len(node.edges) == 2 else (by_grad, by_w, _bias_grad(u) if node.needs(2) else None)


@CONVOLUTION_WEIGHT_GRAD.planned
def _plan_weight_grad(grad, x, w_shape, window, memory_format):
    _check_gradient("convolution_weight_grad", grad, x, x.shape, w_shape, window)
    return _Plan("plan_convolution_weight_grad", grad.dtype, grad.device, w_shape, memory_format, x.shape, w_shape, *window)


@CONVOLUTION_WEIGHT_GRAD.run
def convolution_weight_grad(plan, grad: Tensor, input: Tensor, w_shape, window, memory_format=None):
    """The gradient of a convolution for its weight, of shape `w_shape`."""
    out = plan.run(grad, input, with_bias=False)
    if recording(grad, input):
        out.node = GraphNode(CONVOLUTION_WEIGHT_GRAD, (grad.node, input.node), (grad, input), window)
    return out


@CONVOLUTION_WEIGHT_GRAD.derivative
def _weight_grad_vjp(node, u, grad, input):
    window = node.attributes
    return (convolution(input, u, None, window) if node.needs(0) else None,
            convolution_input_grad(grad, u, None, input.layout.shape, window) if node.needs(1) else None)


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
        input = pad(input, [n for t in reversed(totals) for n in (0, t % 2)])
    return tuple(t // 2 for t in totals), input


def _convolution(name, dims, input, weight, bias, stride, padding, dilation, groups):
    if layout_of(name, weight, "weight", 2).ndim != dims + 2:
        raise RuntimeError(f"{name}: expected a weight of {dims + 2} dimensions, got {list(weight.layout.shape)}")
    x, unbatched = batched(name, input, dims)
    stride = (stride,) * dims if type(stride) is int else pair(stride, name + ": stride", dims)
    dilation = (dilation,) * dims if type(dilation) is int else pair(dilation, name + ": dilation", dims)
    padding, x = _padding(name, padding, x, weight, stride, dilation, dims)
    groups = groups if type(groups) is int else integer(name, "groups", groups)
    window = Window((stride, padding, dilation, groups))
    out = convolution(x, weight, bias, window) if x.layout.dtype.category == 2 else _of_others(name, x, weight, bias, window)
    return squeeze(out, 0) if unbatched else out


def _of_others(name, x, weight, bias, window):
    """Convolutions of integers and complex numbers."""
    _check_convolution(name, x.layout, weight.layout, None if bias is None else layout_of(name, bias, "bias", 3), window)
    if x.layout.dtype.is_complex:
        return of_complex(lambda x, w: convolution(x, w, None, window), x, weight, bias)
    return convolve_integers(x, weight, bias, window)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    """Cross-correlation of sequences: each result is the sum of a window's elements times a kernel's, and a bias.

    Args:
        input: (N, C, L) or (C, L), of any dtype but bool.
        weight: (C_out, C / groups, K), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number.
        padding: the same, zeros at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, L_out) or (C_out, L_out), with L_out = (L + 2 padding - dilation (K - 1) - 1) // stride + 1.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv1d(torch.tensor([[1., 2., 4.]]), torch.tensor([[[1., -1.]]]))
        tensor([[-1., -2.]])
    """
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    """Cross-correlation of images: each result is the sum of a window's elements times a kernel's, and a bias.

    Args:
        input: (N, C, H, W) or (C, H, W), of any dtype but bool.
        weight: (C_out, C / groups, KH, KW), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number or (height, width).
        padding: the same, zeros at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, H_out, W_out) or (C_out, H_out, W_out), with H_out = (H + 2 padding - dilation (KH - 1) - 1) // stride + 1, and
        W likewise.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv2d(torch.ones(1, 3, 3), torch.ones(1, 1, 2, 2))
        tensor([[[4., 4.],
                 [4., 4.]]])
    """
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups: int = 1) -> Tensor:
    """Cross-correlation of volumes: each result is the sum of a window's elements times a kernel's, and a bias.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of any dtype but bool.
        weight: (C_out, C / groups, KD, KH, KW), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number or (depth, height, width).
        padding: the same, zeros at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out), with H_out = (H + 2 padding - dilation (KH - 1) - 1) //
        stride + 1, and D and W likewise.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv3d(torch.ones(1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2))
        tensor([[[[8.]]]])
    """
    return _convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def _check_transposed(name, x, w, bias, window, output_padding):
    stride, padding, dilation, groups = window
    if x.dtype is bool_:
        raise NotImplementedError(f'"{name}" not implemented for \'Bool\'')
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(output_padding) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if x.shape[1] != w.shape[0] or w.shape[0] % groups:
        raise RuntimeError(f"Given transposed=1, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
                           f"{w.shape[0]} channels, but got {x.shape[1]} channels instead")
    for other, title in ((w, "weight"), (bias, "bias")):
        if other is not None and other.dtype is not x.dtype:
            raise RuntimeError(f"Input type ({x.dtype.name}) and {title} type ({other.dtype.name}) should be the same ({name})")
    if bias is not None and bias.shape != (w.shape[1] * groups,):
        raise RuntimeError(f"Given transposed=1, weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
                           f"{w.shape[1] * groups} elements, but got bias of size {list(bias.shape)} instead")
    if min(w.shape[2:]) < 1:
        raise RuntimeError(f"{name}: kernel size should be greater than zero, but got weight of size {list(w.shape)}")
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation)):
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got output_padding: "
                           f"{output_padding}, stride: {stride}, dilation: {dilation}")


def _transposed(name, dims, input, weight, bias, stride, padding, output_padding, groups, dilation):
    if layout_of(name, weight, "weight", 2).ndim != dims + 2:
        raise RuntimeError(f"{name}: expected a weight of {dims + 2} dimensions, got {list(weight.layout.shape)}")
    x, unbatched = batched(name, input, dims)
    stride, padding = pair(stride, name + ": stride", dims), pair(padding, name + ": padding", dims)
    dilation, output_padding = pair(dilation, name + ": dilation", dims), pair(output_padding, name + ": output_padding", dims)
    groups = groups if type(groups) is int else integer(name, "groups", groups)
    window = Window((stride, padding, dilation, groups))
    layout, w = x.layout, weight.layout
    _check_transposed(name, layout, w, None if bias is None else layout_of(name, bias, "bias", 3), window, output_padding)
    sizes = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, s, p, d, k, o in
             zip(layout.shape[2:], stride, padding, dilation, w.shape[2:], output_padding)]
    if min(sizes) < 1:
        raise RuntimeError(f"Given input size per channel: {list(layout.shape[2:])}. Calculated output size per channel: {sizes}. "
                           f"Output size is too small")
    if layout.dtype.is_complex:
        rest = (stride, padding, output_padding, groups, dilation)
        out = of_complex(lambda x, w: _transposed(name, dims, x, w, None, *rest), x, weight, bias)
    elif layout.dtype.category == 1:
        out = transpose_integers(x, weight, bias, window, sizes)
    elif all(o < s for o, s in zip(output_padding, stride)):
        out = convolution_input_grad(x, weight, bias, (layout.shape[0], w.shape[1] * groups, *sizes), window, _format(layout, w))
    else:                                                # the convolution of the result would have more windows than x has elements
        whole = _transposed(name, dims, x, weight, None, stride, 0, 0, groups, dilation)
        ends = [(p, o - p) for p, o in zip(reversed(padding), reversed(output_padding))]
        whole = pad(whole, [n for _, more in ends for n in (0, max(more, 0))])      # before it is cut, which may leave nothing
        out = pad(whole, [n for p, more in ends for n in (-p, min(more, 0))])
        out = out if bias is None else out + reshape(bias, -1, *(1,) * dims)
    return squeeze(out, 0) if unbatched else out


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1) -> Tensor:
    """The transpose of `conv1d`, which its gradient is: each element adds a kernel times itself to the result.

    Args:
        input: (N, C, L) or (C, L), of any dtype but bool.
        weight: (C, C_out / groups, K), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number, of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, L_out) or (C_out, L_out), with L_out = (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv_transpose1d(torch.tensor([[1., 2.]]), torch.tensor([[[1., 10.]]]), stride=2)
        tensor([[ 1., 10.,  2., 20.]])
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1) -> Tensor:
    """The transpose of `conv2d`, which its gradient is: each element adds a kernel times itself to the result.

    Args:
        input: (N, C, H, W) or (C, H, W), of any dtype but bool.
        weight: (C, C_out / groups, KH, KW), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number or (height, width), of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, H_out, W_out) or (C_out, H_out, W_out), with H_out = (H - 1) stride - 2 padding + dilation (KH - 1) +
        output_padding + 1, and W likewise.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 2, 2), torch.ones(1, 1, 2, 2))
        tensor([[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]])
    """
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups: int = 1, dilation=1) -> Tensor:
    """The transpose of `conv3d`, which its gradient is: each element adds a kernel times itself to the result.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W), of any dtype but bool.
        weight: (C, C_out / groups, KD, KH, KW), of the same dtype.
        bias: (C_out) or None.
        stride, dilation: a number or (depth, height, width), of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.

    Returns:
        (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out), with H_out = (H - 1) stride - 2 padding + dilation (KH -
        1) + output_padding + 1, and D and W likewise.

    Raises:
        RuntimeError: shapes, dtypes or options that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2))
        tensor([[[[1., 1.],
                  [1., 1.]],
        <BLANKLINE>
                 [[1., 1.],
                  [1., 1.]]]])
    """
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
