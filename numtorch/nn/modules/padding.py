"""Padding as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _Pad(Module):
    """Padding of the last `dims` dimensions; a number pads every side."""

    dims, mode = 1, "constant"

    def __init__(self, padding) -> None:
        super().__init__()
        self.padding = (padding,) * 2 * self.dims if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """The last dimension padded with a value.

    Args:
        padding: how many elements on each side: a number for all, or (before, after). Negative ones cut off.
        value: the number that is put there.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L + before + after), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConstantPad1d((1, 0), -1.0)(torch.tensor([[1., 2., 3.]]))
        tensor([[-1.,  1.,  2.,  3.]])
    """


class ConstantPad2d(_ConstantPadNd):
    """The last two dimensions padded with a value.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom). Negative ones cut off.
        value: the number that is put there.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConstantPad2d(1, -1.0)(torch.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[-1., -1., -1., -1.],
                 [-1.,  1.,  2., -1.],
                 [-1.,  3.,  4., -1.],
                 [-1., -1., -1., -1.]]])
    """

    dims = 2


class ConstantPad3d(_ConstantPadNd):
    """The last three dimensions padded with a value.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom, front, back). Negative ones cut
            off.
        value: the number that is put there.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D + front + back, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ConstantPad3d(1, -1.0)(torch.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    dims = 3


class ZeroPad1d(ConstantPad1d):
    """The last dimension padded with zeros.

    Args:
        padding: how many elements on each side: a number for all, or (before, after). Negative ones cut off.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L + before + after), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ZeroPad1d((1, 0))(torch.tensor([[1., 2., 3.]]))
        tensor([[0., 1., 2., 3.]])
    """

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """The last two dimensions padded with zeros.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom). Negative ones cut off.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ZeroPad2d(1)(torch.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[0., 0., 0., 0.],
                 [0., 1., 2., 0.],
                 [0., 3., 4., 0.],
                 [0., 0., 0., 0.]]])
    """

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """The last three dimensions padded with zeros.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom, front, back). Negative ones cut
            off.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D + front + back, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ZeroPad3d(1)(torch.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    def __init__(self, padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """The last dimension padded with the mirror image, edges left out.

    Args:
        padding: how many elements on each side: a number for all, or (before, after); less than the extent. Negative ones cut off.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L + before + after), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReflectionPad1d(2)(torch.tensor([[1., 2., 3.]]))
        tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """


class ReflectionPad2d(_ReflectionPadNd):
    """The last two dimensions padded with the mirror image, edges left out.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom); less than the extent. Negative
            ones cut off.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H + top + bottom, W + left + right), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReflectionPad2d(1)(torch.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The last three dimensions padded with the mirror image, edges left out.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom, front, back); less than the
            extent. Negative ones cut off.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D + front + back, H + top + bottom, W + left + right), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReflectionPad3d(1)(torch.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    dims = 3


class _ReplicationPadNd(_Pad):
    mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """The last dimension padded with the edges.

    Args:
        padding: how many elements on each side: a number for all, or (before, after). Negative ones cut off.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L + before + after), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReplicationPad1d((1, 0))(torch.tensor([[1., 2., 3.]]))
        tensor([[1., 1., 2., 3.]])
    """


class ReplicationPad2d(_ReplicationPadNd):
    """The last two dimensions padded with the edges.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom). Negative ones cut off.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReplicationPad2d(1)(torch.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[1., 1., 2., 2.],
                 [1., 1., 2., 2.],
                 [3., 3., 4., 4.],
                 [3., 3., 4., 4.]]])
    """

    dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The last three dimensions padded with the edges.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom, front, back). Negative ones cut
            off.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D + front + back, H + top + bottom, W + left + right), or without N.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ReplicationPad3d(1)(torch.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    dims = 3


class _CircularPadNd(_Pad):
    mode = "circular"

    def forward(self, input):
        if input.dim() not in (self.dims + 1, self.dims + 2):
            raise ValueError(f"expected {self.dims + 1}D or {self.dims + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """The last dimension padded with the other end.

    Args:
        padding: how many elements on each side: a number for all, or (before, after); at most the extent. Negative ones cut off.

    Shape:
        (N, C, L) or (C, L) -> (N, C, L + before + after), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.
        ValueError: there, an input of other dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CircularPad1d((1, 0))(torch.tensor([[1., 2., 3.]]))
        tensor([[3., 1., 2., 3.]])
    """


class CircularPad2d(_CircularPadNd):
    """The last two dimensions padded with the other end.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom); at most the extent. Negative ones
            cut off.

    Shape:
        (N, C, H, W) or (C, H, W) -> (N, C, H + top + bottom, W + left + right), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.
        ValueError: there, an input of other dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CircularPad2d(1)(torch.tensor([[[1., 2.], [3., 4.]]]))
        tensor([[[4., 3., 4., 3.],
                 [2., 1., 2., 1.],
                 [4., 3., 4., 3.],
                 [2., 1., 2., 1.]]])
    """

    dims = 2


class CircularPad3d(_CircularPadNd):
    """The last three dimensions padded with the other end.

    Args:
        padding: how many elements on each side: a number for all, or (left, right, top, bottom, front, back); at most the extent.
            Negative ones cut off.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> (N, C, D + front + back, H + top + bottom, W + left + right), or without N.

    Raises:
        RuntimeError: in the call, a padding that is too wide.
        ValueError: there, an input of other dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CircularPad3d(1)(torch.ones(1, 2, 2, 2)).shape
        torch.Size([1, 4, 4, 4])
    """

    dims = 3
