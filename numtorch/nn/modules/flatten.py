"""Changes of shape as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class Flatten(Module):
    """Dimensions from `start_dim` to `end_dim` merged into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Dimension `dim` split into `unflattened_size`, in which one extent may be -1."""

    def __init__(self, dim: int, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """The windows of (N, C, H, W) as columns (N, C * KH * KW, positions)."""

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class _Pad(Module):
    """Padding of the last `dims` dimensions; a number pads every side."""

    dims, mode = 1, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * 2 * self.dims if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """Padding of the last dimension with a value."""

    def __init__(self, padding, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """Padding of the last two dimensions with a value."""

    dims = 2


class ZeroPad1d(_Pad):
    """Padding of the last dimension with zeros."""


class ZeroPad2d(_Pad):
    """Padding of the last two dimensions with zeros."""

    dims = 2


class ReflectionPad1d(_Pad):
    """Padding of the last dimension with its mirror image."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """Padding of the last two dimensions with their mirror image."""

    dims = 2


class ReplicationPad1d(_Pad):
    """Padding of the last dimension with its first and last element."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """Padding of the last two dimensions with their edges."""

    dims = 2
