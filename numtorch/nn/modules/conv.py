"""Convolutions."""
from __future__ import annotations

import math

from ...ops.creation import fill
from ...ops.spatial.conv import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from ...ops.spatial.windows import pair
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .tuples import _pair, _single, _triple  # noqa: F401 — where subclasses import them from, as in PyTorch

_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share. `dims` says over how many dimensions, `function` what they compute."""

    dims: int
    function = None
    transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype,
                 output_padding=0) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
            if padding == "same" and max(pair(stride, "stride", self.dims)) != 1:
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{padding_mode}'")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = in_channels, out_channels, groups, padding_mode
        self.kernel_size, self.stride = pair(kernel_size, "kernel_size", self.dims), pair(stride, "stride", self.dims)
        self.dilation = pair(dilation, "dilation", self.dims)
        self.padding = padding if isinstance(padding, str) else pair(padding, "padding", self.dims)
        self.output_padding = pair(output_padding, "output_padding", self.dims)
        self._reversed_padding_repeated_twice = self._both_sides()
        outer, inner = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(fill.empty(outer, inner // groups, *self.kernel_size, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(fill.empty(out_channels, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Give all parameters first values anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan = math.prod(self.weight.layout.shape[1:])
            if fan:
                init.uniform_(self.bias, -1 / math.sqrt(fan), 1 / math.sqrt(fan))

    def _own(self):
        own = self._parameters
        return (own["weight"], own["bias"]) if "weight" in own else (self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        """The convolution with other parameters, which subclasses make of their own: PyTorch's name."""
        if self.padding_mode == "zeros":
            return type(self).function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)
        return type(self).function(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input):
        return self._conv_forward(input, *self._own())

    def _both_sides(self):
        """The padding as `pad` takes it: the last dimension first, before and after."""
        if self.padding == "valid":
            return [0] * 2 * self.dims
        if self.padding == "same":
            totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size)]
            return [n for t in reversed(totals) for n in (t // 2, t - t // 2)]
        return [p for p in reversed(self.padding) for _ in range(2)]

    def extra_repr(self):
        none = (0,) * self.dims
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != none:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self.dims:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != none:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_ConvNd):
    """Cross-correlation of sequences with learned kernels, and a bias.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number.
        padding: the same, at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: what the padding holds: "zeros", "reflect" (the mirror image), "replicate" (the edge) or "circular" (the
            other end).
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C_out, C / groups, K), uniform within 1 / sqrt(C / groups * K), as is
        bias: (C_out), or None.

    Shape:
        (N, C, L) or (C, L) -> (N, C_out, L_out) or (C_out, L_out).
        L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1.

    Raises:
        ValueError: channels that `groups` does not divide, or another padding or padding mode.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Conv1d(2, 4, 3, padding=1)(torch.zeros(1, 2, 8)).shape
        torch.Size([1, 4, 8])
    """

    dims, function = 1, staticmethod(conv1d)

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device,
                         dtype)


class Conv2d(_ConvNd):
    """Cross-correlation of images with learned kernels, and a bias.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number or (height, width).
        padding: the same, at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: what the padding holds: "zeros", "reflect" (the mirror image), "replicate" (the edge) or "circular" (the
            other end).
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C_out, C / groups, KH, KW), uniform within 1 / sqrt(C / groups * KH * KW), as is
        bias: (C_out), or None.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C_out, H_out, W_out) or (C_out, H_out, W_out).
        H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1, and W likewise.

    Raises:
        ValueError: channels that `groups` does not divide, or another padding or padding mode.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Conv2d(3, 6, 5, stride=2)(torch.zeros(1, 3, 28, 28)).shape
        torch.Size([1, 6, 12, 12])
    """

    dims, function = 2, staticmethod(conv2d)

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device,
                         dtype)


class Conv3d(_ConvNd):
    """Cross-correlation of volumes with learned kernels, and a bias.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number or (depth, height, width).
        padding: the same, at both ends; or "valid" for none, or "same" for results of the input's size, with a stride of 1.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: what the padding holds: "zeros", "reflect" (the mirror image), "replicate" (the edge) or "circular" (the
            other end).
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C_out, C / groups, KD, KH, KW), uniform within 1 / sqrt(C / groups * KD * KH * KW), as is
        bias: (C_out), or None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out).
        H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1, and D and W likewise.

    Raises:
        ValueError: channels that `groups` does not divide, or another padding or padding mode.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Conv3d(2, 4, 2)(torch.zeros(1, 2, 4, 4, 4)).shape
        torch.Size([1, 4, 3, 3, 3])
    """

    dims, function = 3, staticmethod(conv3d)

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, dilation=1, groups: int = 1,
                 bias: bool = True, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device,
                         dtype)


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size, stride=1, padding=0, output_padding=0, groups: int = 1,
                 bias: bool = True, dilation=1, padding_mode: str = "zeros", device=None, dtype=None) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device,
                         dtype, output_padding)

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """How much is added at one side for the wanted size. Subclasses that call the function themselves ask it."""
        if output_size is None:
            return self.output_padding
        sizes, dilation = tuple(output_size)[-num_spatial_dims:], dilation or (1,) * num_spatial_dims
        least = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in
                 zip(input.layout.shape[-num_spatial_dims:], stride, padding, dilation, kernel_size)]
        extra = tuple(n - low for n, low in zip(sizes, least))
        if any(not 0 <= e < s for e, s in zip(extra, stride)):
            raise ValueError(f"requested an output size of {list(sizes)}, but valid sizes range from {least} to "
                             f"{[low + s - 1 for low, s in zip(least, stride)]} (for an input of {list(input.layout.shape)})")
        return extra

    def forward(self, input, output_size=None):
        weight, bias = self._own()
        extra = self.output_padding if output_size is None else self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, self.dims, self.dilation)
        return type(self).function(input, weight, bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d`: it takes a convolution's output shape to its input shape, as the gradient does.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number, of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: only "zeros".
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C, C_out / groups, K), uniform within 1 / sqrt(C_out / groups * K), as is
        bias: (C_out), or None.

    Shape:
        (N, C, L) or (C, L) -> (N, C_out, L_out) or (C_out, L_out).
        L_out = (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1.
        A call with `output_size` finds the output padding itself.

    Raises:
        ValueError: channels that `groups` does not divide, another padding mode, or in the call a size that cannot be.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConvTranspose1d(2, 4, 4, stride=2, padding=1)(torch.zeros(1, 2, 8)).shape
        torch.Size([1, 4, 16])
    """

    dims, function = 1, staticmethod(conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`: it takes a convolution's output shape to its input shape, as the gradient does.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number or (height, width), of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: only "zeros".
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C, C_out / groups, KH, KW), uniform within 1 / sqrt(C_out / groups * KH * KW), as is
        bias: (C_out), or None.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C_out, H_out, W_out) or (C_out, H_out, W_out).
        H_out = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1, and W likewise.
        A call with `output_size` finds the output padding itself.

    Raises:
        ValueError: channels that `groups` does not divide, another padding mode, or in the call a size that cannot be.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConvTranspose2d(2, 4, 4, stride=2, padding=1)(torch.zeros(1, 2, 8, 8)).shape
        torch.Size([1, 4, 16, 16])
    """

    dims, function = 2, staticmethod(conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`: it takes a convolution's output shape to its input shape, as the gradient does.

    Args:
        in_channels, out_channels: C and C_out, multiples of `groups`.
        kernel_size, stride, dilation: a number or (depth, height, width), of the convolution.
        padding: the same; it takes elements off both ends.
        output_padding: the same; elements added at the end, to choose among the sizes that convolve to the input's. Less than
            stride or dilation.
        groups: how many blocks of channels are convolved apart.
        bias: whether to add one.
        padding_mode: only "zeros".
        device, dtype: of the parameters; the defaults when None.

    Attributes:
        weight: (C, C_out / groups, KD, KH, KW), uniform within 1 / sqrt(C_out / groups * KD * KH * KW), as is
        bias: (C_out), or None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C_out, D_out, H_out, W_out) or (C_out, D_out, H_out, W_out).
        H_out = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1, and D and W likewise.
        A call with `output_size` finds the output padding itself.

    Raises:
        ValueError: channels that `groups` does not divide, another padding mode, or in the call a size that cannot be.
        RuntimeError: in the call, shapes or dtypes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConvTranspose3d(2, 4, 2, stride=2)(torch.zeros(1, 2, 4, 4, 4)).shape
        torch.Size([1, 4, 8, 8, 8])
    """

    dims, function = 3, staticmethod(conv_transpose3d)
