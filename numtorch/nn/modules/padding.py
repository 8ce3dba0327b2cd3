"""Padding as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


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


class _ConstantPad(_Pad):
    def __init__(self, padding, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Padding of the last dimension with a value."""


class ConstantPad2d(_ConstantPad):
    """Padding of the last two dimensions with a value."""

    dims = 2


class ConstantPad3d(_ConstantPad):
    """Padding of the last three dimensions with a value."""

    dims = 3


class ZeroPad1d(_Pad):
    """Padding of the last dimension with zeros."""


class ZeroPad2d(_Pad):
    """Padding of the last two dimensions with zeros."""

    dims = 2


class ZeroPad3d(_Pad):
    """Padding of the last three dimensions with zeros."""

    dims = 3


class ReflectionPad1d(_Pad):
    """Padding of the last dimension with its mirror image."""

    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Padding of the last two dimensions with their mirror image."""

    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """Padding of the last three dimensions with their mirror image."""

    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """Padding of the last dimension with its edges."""

    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Padding of the last two dimensions with their edges."""

    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """Padding of the last three dimensions with their edges."""

    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """Padding of the last dimension with its other end."""

    mode = "circular"


class CircularPad2d(_Pad):
    """Padding of the last two dimensions with their other ends."""

    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """Padding of the last three dimensions with their other ends."""

    dims, mode = 3, "circular"
