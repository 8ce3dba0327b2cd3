"""Pooling whose windows follow from the size of the result: adaptive, and fractional."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _Adaptive(Module):
    function = None

    def __init__(self, output_size) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return type(self).function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_Adaptive):
    """Means of windows."""


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: the number of windows L_out.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L_out) or (C, L_out). Window i spans elements floor(i L / L_out) to ceil((i + 1) L / L_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1., 3., 2., 4., 6.]]))
        tensor([[2., 4.]])
    """

    function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: (H_out, W_out) or one number for both; None keeps an extent.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out). Window i spans elements floor(i H / H_out) to
            ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveAvgPool2d((1, 2))(torch.arange(16.).view(1, 4, 4))
        tensor([[[6.5000, 8.5000]]])
    """

    function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: (D_out, H_out, W_out) or one number for all; None keeps an extent.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out). Window i spans elements floor(i
            H / H_out) to ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveAvgPool3d(1)(torch.arange(8.).view(1, 2, 2, 2))
        tensor([[[[3.5000]]]])
    """

    function = staticmethod(F.adaptive_avg_pool3d)


class _AdaptiveMaxPoolNd(_Adaptive):
    def __init__(self, output_size, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return type(self).function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: the number of windows L_out.
        return_indices: also return where in its row each maximum is.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L_out) or (C, L_out). Window i spans elements floor(i L / L_out) to ceil((i + 1) L / L_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1., 3., 2., 4., 6.]]))
        tensor([[3., 6.]])
    """

    function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: (H_out, W_out) or one number for both; None keeps an extent.
        return_indices: also return where in its plane each maximum is.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out). Window i spans elements floor(i H / H_out) to
            ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveMaxPool2d((1, 2))(torch.arange(16.).view(1, 4, 4))
        tensor([[[13., 15.]]])
    """

    function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each window, of windows chosen so that the result has a given size.

    Args:
        output_size: (D_out, H_out, W_out) or one number for all; None keeps an extent.
        return_indices: also return where in its volume each maximum is.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out). Window i spans elements floor(i
            H / H_out) to ceil((i + 1) H / H_out).

    Raises:
        RuntimeError: in the call, sizes or extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AdaptiveMaxPool3d(1)(torch.arange(8.).view(1, 2, 2, 2))
        tensor([[[[7.]]]])
    """

    function = staticmethod(F.adaptive_max_pool3d)


class _FractionalMaxPool(Module):
    """Max pooling by any ratio, of windows placed at random (Graham 2014). Arguments as for the function."""

    dims, function = 2, None

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices: bool = False,
                 _random_samples=None) -> None:
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
    """The largest element of each window, of windows 1 or 2 apart at random so that extents shrink by any ratio (Graham 2014).

    Args:
        kernel_size: the windows' extent, a number or (height, width).
        output_size: (H_out, W_out) or one number for all; or else
        output_ratio: what to multiply the input's extents by, one number or 2, in (0, 1).
        return_indices: also return where in its plane each maximum is.
        _random_samples: (N, C, 2) numbers in [0, 1) that place the windows; drawn when None.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H_out, W_out) or (C, H_out, W_out).

    Raises:
        ValueError: neither a size nor a ratio or both, or a ratio outside (0, 1).
        RuntimeError: in the call, windows that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.FractionalMaxPool2d(2, output_size=6)(torch.zeros(1, 9, 9)).shape
        torch.Size([1, 6, 6])
    """

    function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest element of each window, of windows 1 or 2 apart at random so that extents shrink by any ratio (Graham 2014).

    Args:
        kernel_size: the windows' extent, a number or (depth, height, width).
        output_size: (D_out, H_out, W_out) or one number for all; or else
        output_ratio: what to multiply the input's extents by, one number or 3, in (0, 1).
        return_indices: also return where in its volume each maximum is.
        _random_samples: (N, C, 3) numbers in [0, 1) that place the windows; drawn when None.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).

    Raises:
        ValueError: neither a size nor a ratio or both, or a ratio outside (0, 1).
        RuntimeError: in the call, windows that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.zeros(1, 5, 5, 5)).shape
        torch.Size([1, 3, 3, 3])
    """

    dims, function = 3, staticmethod(F.fractional_max_pool3d)
