"""Pooling layers."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _MaxPool(Module):
    function = None

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices: bool = False, ceil_mode: bool = False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        return type(self).function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                                   self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
                f"ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPool):
    """The largest element of each window of (N, C, L) or (C, L)."""

    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest element of each window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, padding, dilation: a number or (height, width); the stride is the kernel's size when None.
        return_indices: also return where in its plane each maximum is.
        ceil_mode: let the last window hang over the edge.
    """

    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest element of each window of (N, C, D, H, W) or (C, D, H, W). Arguments as in two dimensions."""

    function = staticmethod(F.max_pool3d)


class AvgPool1d(Module):
    """The mean of each window of (N, C, L) or (C, L)."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True):
        super().__init__()
        self.kernel_size, self.stride = (kernel_size,) if isinstance(kernel_size, int) else kernel_size, stride
        self.stride = self.kernel_size if stride is None else (stride,) if isinstance(stride, int) else stride
        self.padding = (padding,) if isinstance(padding, int) else padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, padding: a number or (height, width); the stride is the kernel's size when None.
        ceil_mode: let the last window hang over the edge.
        count_include_pad: whether padding counts as zeros in the mean.
        divisor_override: divide by this instead of the window's size.
    """

    function = staticmethod(F.avg_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return type(self).function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                                   self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W). Arguments as in two dimensions."""

    function = staticmethod(F.avg_pool3d)


class _LPPool(Module):
    function = None

    def __init__(self, norm_type: float, kernel_size, stride=None, ceil_mode: bool = False):
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input):
        return type(self).function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPool):
    """(sum x^p)^(1/p) over each window of (N, C, L) or (C, L)."""

    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """(sum x^p)^(1/p) over each window of (N, C, H, W) or (C, H, W)."""

    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """(sum x^p)^(1/p) over each window of (N, C, D, H, W) or (C, D, H, W)."""

    function = staticmethod(F.lp_pool3d)


class _MaxUnpool(Module):
    function, dims = None, 0

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        every = lambda v: (v,) * self.dims if isinstance(v, int) else tuple(v)
        self.kernel_size, self.padding = every(kernel_size), every(padding)
        self.stride = self.kernel_size if stride is None else every(stride)

    def forward(self, input, indices, output_size=None):
        return type(self).function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Maxima put back to where `MaxPool1d` found them, zeros elsewhere."""

    function, dims = staticmethod(F.max_unpool1d), 1


class MaxUnpool2d(_MaxUnpool):
    """Maxima put back to where `MaxPool2d` found them, zeros elsewhere."""

    function, dims = staticmethod(F.max_unpool2d), 2


class MaxUnpool3d(_MaxUnpool):
    """Maxima put back to where `MaxPool3d` found them, zeros elsewhere."""

    function, dims = staticmethod(F.max_unpool3d), 3


class _Adaptive(Module):
    function = None

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return type(self).function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """Means of windows chosen so that the result has `output_size` places."""

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """Means of windows chosen so that the result has `output_size`: a number or (height, width), None keeping an extent."""

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """Means of windows chosen so that the result has `output_size`: a number or (depth, height, width), None keeping an extent."""

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMax(_Adaptive):
    def __init__(self, output_size, return_indices: bool = False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """Maxima of windows chosen so that the result has `output_size` places; with `return_indices` also where they are."""

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """Maxima of windows chosen so that the result has `output_size`; with `return_indices` also where they are."""

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMax):
    """Maxima of windows chosen so that the result has `output_size`; with `return_indices` also where they are."""

    function = staticmethod(F.adaptive_max_pool3d)


class _FractionalMaxPool(Module):
    """Max pooling by any ratio, of windows placed at random (Graham 2014). Arguments as for the function."""

    dims, function = 2, None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False, _random_samples=None):
        super().__init__()
        name, dims = type(self).__name__, self.dims
        self.kernel_size = _tuple(kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _tuple(output_size, dims)
        self.output_ratio = None if output_ratio is None else _tuple(output_ratio, dims)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return type(self).function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                                   self._random_samples)


def _tuple(value, dims):
    return tuple(value) if hasattr(value, "__iter__") else (value,) * dims


class FractionalMaxPool2d(_FractionalMaxPool):
    """Fractional max pooling of images (N, C, H, W) or (C, H, W); arguments as for `functional.fractional_max_pool2d`."""

    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Fractional max pooling of volumes (N, C, D, H, W) or (C, D, H, W); arguments as for `functional.fractional_max_pool3d`."""

    dims, function = 3, staticmethod(F.fractional_max_pool3d)
