"""Changes of shape as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class Flatten(Module):
    """Dimensions from `start_dim` to `end_dim` merged into one.

    Args:
        start_dim, end_dim: the first and the last of them; all but the batch by default.

    Shape:
        (N, *) -> (N, the product of *), by default.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Flatten()(torch.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """A dimension split into several.

    Args:
        dim: which.
        unflattened_size: their extents, of which one may be -1 for what is left.

    Shape:
        (*, N, *) -> (*, *unflattened_size, *).

    Raises:
        RuntimeError: in the call, extents whose product is another.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Unflatten(1, (2, -1))(torch.zeros(5, 6)).shape
        torch.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """The windows of images as columns of a matrix.

    Args:
        kernel_size, dilation, stride: a number or (height, width).
        padding: the same, zeros at both ends.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C * KH * KW, L) or (C * KH * KW, L), where L is the number of windows: the product of (H +
            2 padding - dilation (kernel_size - 1) - 1) // stride + 1 and the same of W.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Unfold(2)(torch.arange(9.).view(1, 3, 3)).shape
        torch.Size([4, 4])
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Columns added up to images, each element where `Unfold` would have taken it from.

    Args:
        output_size: (H, W) or one number for both.
        kernel_size, dilation, padding, stride: as of `Unfold`, whose L has to be the input's.

    Shape:
        (N, C * KH * KW, L) or (C * KH * KW, L) -> (N, C, H, W) or (C, H, W).

    Raises:
        RuntimeError: in the call, extents that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Fold(3, 2)(torch.nn.Unfold(2)(torch.ones(1, 3, 3)))
        tensor([[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]])
    """

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation, self.padding, self.stride = (output_size, kernel_size, dilation, padding,
                                                                                       stride)

    def forward(self, input):
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")
