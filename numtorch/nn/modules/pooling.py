"""Pooling of windows that are all alike. Those that follow from the size of the result are in adaptivepooling.py."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _MaxPoolNd(Module):
    function = None

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        return type(self).function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                                   self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        kernel_size, stride, dilation: a number; the stride is the kernel's size when None.
        padding: the same, of -inf at both ends; at most half the kernel's size.
        return_indices: also return where in its row each maximum is, for `MaxUnpool1d`.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L_out) or (C, L_out).
        L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1.
        With `return_indices` a pair of that and int64 places of its shape.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MaxPool1d(2)(torch.tensor([[1., 3., 2., 4.]]))
        tensor([[3., 4.]])
    """

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        kernel_size, stride, dilation: a number or (height, width); the stride is the kernel's size when None.
        padding: the same, of -inf at both ends; at most half the kernel's size.
        return_indices: also return where in its plane each maximum is, for `MaxUnpool2d`.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out).
        H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1, and W likewise.
        With `return_indices` a pair of that and int64 places of its shape.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MaxPool2d(2)(torch.arange(16.).view(1, 4, 4))
        tensor([[[ 5.,  7.],
                 [13., 15.]]])
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window.

    Args:
        kernel_size, stride, dilation: a number or (depth, height, width); the stride is the kernel's size when None.
        padding: the same, of -inf at both ends; at most half the kernel's size.
        return_indices: also return where in its volume each maximum is, for `MaxUnpool3d`.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).
        H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1, and D and W likewise.
        With `return_indices` a pair of that and int64 places of its shape.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.MaxPool3d(2)(torch.arange(8.).view(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    function = staticmethod(F.max_pool3d)


class _AvgPoolNd(Module):
    """What the means of windows share: what each computes is its `function`."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override=None) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return type(self).function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                                   self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window.

    Args:
        kernel_size, stride: a number; the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L_out) or (C, L_out).
        L_out = (L + 2 padding - kernel_size) // stride + 1.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AvgPool1d(2)(torch.tensor([[1., 3., 2., 4.]]))
        tensor([[2., 3.]])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        Module.__init__(self)
        self.kernel_size, self.stride = (kernel_size,) if isinstance(kernel_size, int) else kernel_size, stride
        self.stride = self.kernel_size if stride is None else (stride,) if isinstance(stride, int) else stride
        self.padding = (padding,) if isinstance(padding, int) else padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool2d(_AvgPoolNd):
    """The mean of each window.

    Args:
        kernel_size, stride: a number or (height, width); the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.
        divisor_override: divide by this instead of the window's size.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out).
        H_out = (H + 2 padding - kernel_size) // stride + 1, and W likewise.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AvgPool2d(2)(torch.arange(16.).view(1, 4, 4))
        tensor([[[ 2.5000,  4.5000],
                 [10.5000, 12.5000]]])
    """

    function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of each window.

    Args:
        kernel_size, stride: a number or (depth, height, width); the stride is the kernel's size when None.
        padding: the same, at both ends; at most half the kernel's size.
        ceil_mode: let the last window hang over the edge: round up in the formula below, while the window begins inside.
        count_include_pad: whether padding counts as zeros in the mean, or not at all.
        divisor_override: divide by this instead of the window's size.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).
        H_out = (H + 2 padding - kernel_size) // stride + 1, and D and W likewise.

    Raises:
        RuntimeError: in the call, options or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AvgPool3d(2)(torch.arange(8.).view(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    function = staticmethod(F.avg_pool3d)


class _LPPoolNd(Module):
    function = None

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return type(self).function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        norm_type: p.
        kernel_size, stride: a number; the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L_out) or (C, L_out).
        L_out = (L - kernel_size) // stride + 1.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3., 4., 0., 2.]]))
        tensor([[5., 2.]])
    """

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        norm_type: p.
        kernel_size, stride: a number or (height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out).
        H_out = (H - kernel_size) // stride + 1, and W likewise.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 2, 2))
        tensor([[[2.]]])
    """

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """(sum of x^p)^(1/p) over each window: with p = 1 a sum, with infinity the largest magnitude.

    Args:
        norm_type: p.
        kernel_size, stride: a number or (depth, height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge; what it lacks is made up for as in a mean.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).
        H_out = (H - kernel_size) // stride + 1, and D and W likewise.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 2, 2, 2))
        tensor([[[[2.8284]]]])
    """

    function = staticmethod(F.lp_pool3d)


class _MaxUnpoolNd(Module):
    function, dims = None, 0

    def __init__(self, kernel_size, stride=None, padding=0) -> None:
        super().__init__()
        every = lambda v: (v,) * self.dims if isinstance(v, int) else tuple(v)
        self.kernel_size, self.padding = every(kernel_size), every(padding)
        self.stride = self.kernel_size if stride is None else every(stride)

    def forward(self, input, indices, output_size=None):
        return type(self).function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Maxima put back to where `MaxPool1d` found them, zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.

    Shape:
        Maxima and their places, both (N, C, L) or (C, L), and perhaps `output_size`: the extents of what was pooled, with or
        without N and C, where several pool to the same -> (N, C, L_out) or (C, L_out).
        L_out = (L - 1) stride - 2 padding + kernel_size.

    Raises:
        RuntimeError: in the call, places that are not int64, of another shape or out of range.
        ValueError: in the call, an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 3., 2., 4.]])
        >>> maxima, places = torch.nn.MaxPool1d(2, return_indices=True)(x)
        >>> torch.nn.MaxUnpool1d(2)(maxima, places)
        tensor([[0., 3., 0., 4.]])
    """

    function, dims = staticmethod(F.max_unpool1d), 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Maxima put back to where `MaxPool2d` found them, zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.

    Shape:
        Maxima and their places, both (N, C, H, W) or (C, H, W), and perhaps `output_size`: the extents of what was pooled, with or
        without N and C, where several pool to the same -> (N, C, H_out, W_out) or (C, H_out, W_out).
        H_out = (H - 1) stride - 2 padding + kernel_size, and W likewise.

    Raises:
        RuntimeError: in the call, places that are not int64, of another shape or out of range.
        ValueError: in the call, an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[[1., 2.], [4., 3.]]])
        >>> maxima, places = torch.nn.MaxPool2d(2, return_indices=True)(x)
        >>> torch.nn.MaxUnpool2d(2)(maxima, places)
        tensor([[[0., 0.],
                 [4., 0.]]])
    """

    function, dims = staticmethod(F.max_unpool2d), 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Maxima put back to where `MaxPool3d` found them, zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.

    Shape:
        Maxima and their places, both (N, C, D, H, W) or (C, D, H, W), and perhaps `output_size`: the extents of what was pooled,
        with or without N and C, where several pool to the same -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).
        H_out = (H - 1) stride - 2 padding + kernel_size, and D and W likewise.

    Raises:
        RuntimeError: in the call, places that are not int64, of another shape or out of range.
        ValueError: in the call, an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[[[1., 2.], [4., 3.]], [[0., 0.], [0., 0.]]]])
        >>> maxima, places = torch.nn.MaxPool3d(2, return_indices=True)(x)
        >>> torch.nn.MaxUnpool3d(2)(maxima, places)
        tensor([[[[0., 0.],
                  [4., 0.]],
        <BLANKLINE>
                 [[0., 0.],
                  [0., 0.]]]])
    """

    function, dims = staticmethod(F.max_unpool3d), 3
