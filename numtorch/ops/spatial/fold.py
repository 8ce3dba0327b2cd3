"""The windows of images as columns of a matrix, and columns added up to images again."""
from __future__ import annotations

from ...kernels.families.windows import output_sizes
from ...layout import Layout
from ...tensor import Tensor, view_of
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..memory.assign import filled
from ..shape.join import stack
from ..shape.pad import pad
from ..shape.slicing import UNFOLD, narrow, slice_view
from ..shape.view_tape import AS_STRIDED, add_into, make_part, make_view
from ..shape.views import reshape, squeeze, unsqueeze
from .windows import check_window, dense, pair

FOLD = Primitive("fold", samples="T[1, 4, 4]; (3, 3), ((2, 2), (1, 1), (0, 0), (1, 1)), (3, 3), 2, 2")


def _options(name, kernel_size, dilation, padding, stride):
    kernel, dilation, padding, stride = [pair(v, name) for v in (kernel_size, dilation, padding, stride)]
    check_window(name, kernel, stride, padding, dilation)
    return kernel, dilation, padding, stride


def _columns(name, height, width, kernel, dilation, stride):
    rows, columns = output_sizes((height, width), kernel, stride, (0, 0), dilation)
    if rows < 1 or columns < 1:
        raise RuntimeError(f"{name}: expected windows of {kernel} with dilation {dilation} to fit into {[height, width]}")
    return rows, columns


def unfold(input, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The windows of images as columns of a matrix.

    Args:
        input: (N, C, H, W) or (C, H, W).
        kernel_size, dilation, stride: a number or (height, width).
        padding: the same, zeros at both ends.

    Returns:
        (N, C * KH * KW, L) or (C * KH * KW, L), where L is the number of windows: the product of (H + 2 padding - dilation
        (kernel_size - 1) - 1) // stride + 1 and the same of W.

    Raises:
        RuntimeError: another number of dimensions, a window without elements, or none that fits.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.unfold(torch.arange(9.).view(1, 3, 3), 2)
        tensor([[0., 1., 3., 4.],
                [1., 2., 4., 5.],
                [3., 4., 6., 7.],
                [4., 5., 7., 8.]])
    """
    kernel, dilation, padding, stride = _options("unfold", kernel_size, dilation, padding, stride)
    (kh, kw), (dh, dw), (ph, pw), (sh, sw) = kernel, dilation, padding, stride
    if layout_of("unfold", input).ndim not in (3, 4):
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
                           f"input, but got: {list(input.layout.shape)} (unfold)")
    x = pad(input, (pw, pw, ph, ph)) if ph or pw else input
    x = x if x.layout.ndim == 4 else unsqueeze(x, 0)
    n, c, height, width = x.layout.shape
    rows, columns = _columns("unfold", height, width, kernel, dilation, stride)

    if x.layout.handler is not None:                     # whose strides are not known: one view for each element of the window
        tall, wide = (rows - 1) * sh + 1, (columns - 1) * sw + 1
        parts = [slice_view(slice_view(x, 2, i * dh, i * dh + tall, sh), 3, j * dw, j * dw + wide, sw)
                 for i in range(kh) for j in range(kw)]
        out = reshape(stack(parts, 2), n, c * kh * kw, rows * columns)
        return out if input.layout.ndim == 4 else squeeze(out, 0)

    def windows(layout):
        image, channel, down, across = layout.strides
        return Layout.of(layout.dtype, (n, c, kh, kw, rows, columns),
                         (image, channel, dh * down, dw * across, sh * down, sw * across), layout.device), 0
    out = reshape(make_part(x, UNFOLD, windows), n, c * kh * kw, rows * columns)
    return out if input.layout.ndim == 4 else squeeze(out, 0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """Columns added up to images, each element where `unfold` would have taken it from.

    Args:
        input: (N, C * KH * KW, L) or (C * KH * KW, L).
        output_size: (H, W) or one number for both.
        kernel_size, dilation, padding, stride: as of `unfold`, whose L has to be the input's.

    Returns:
        (N, C, H, W) or (C, H, W).

    Raises:
        RuntimeError: extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> columns = torch.nn.functional.unfold(torch.ones(1, 3, 3), 2)
        >>> torch.nn.functional.fold(columns, 3, 2)
        tensor([[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]])
    """
    options = kernel, dilation, padding, stride = _options("fold", kernel_size, dilation, padding, stride)
    size = pair(output_size, "fold: output_size")
    if layout_of("fold", input).ndim not in (2, 3):
        raise RuntimeError(f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero "
                           f"dimensions for input, but got: {list(input.layout.shape)} (fold)")
    taps = kernel[0] * kernel[1]
    if input.layout.shape[-2] % taps:
        raise RuntimeError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={input.layout.shape[-2]} and kernel_size={kernel} (fold)")
    padded = size[0] + 2 * padding[0], size[1] + 2 * padding[1]
    rows, columns = _columns("fold", padded[0], padded[1], kernel, dilation, stride)
    if input.layout.shape[-1] != rows * columns:
        raise RuntimeError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                           f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding "
                           f"blocks {rows} * {columns} = {rows * columns}, but got input.size(2)={input.layout.shape[-1]}.")
    x = input if input.layout.ndim == 3 else unsqueeze(input, 0)
    out = _fold(x, size, options, padded, rows, columns)
    return out if input.layout.ndim == 3 else squeeze(out, 0)


FEW_COLUMNS = 1 << 13                                    # elements that are added one after another, by one call for all taps


@FOLD.composed
def _fold(x: Tensor, size, options, padded, rows, columns):
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
            make_view(total, (places, i * dh * down + j * dw), AS_STRIDED).add_(source[:, :, i, j])
    return _cropped(x, total, size, options)


def _cropped(x, total, size, options):
    ph, pw = options[2]
    out = narrow(narrow(total, 2, ph, size[0]), 3, pw, size[1])
    out = dense(out) if ph or pw else out
    return FOLD.recorded(out, (x,), (), options)


@FOLD.derivative
def _fold_vjp(node, grad):
    return (unfold(grad, *node.attributes),)

