"""Softmax and its kind as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _AlongDim(Module):
    function = None

    def __init__(self, dim=None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return type(self).function(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) / sum(exp(x)) along a dimension.

    Args:
        dim: along which the results sum to 1. None chooses 0 for 0, 1 or 3 dimensions and else 1, with a warning.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Softmax(0)(torch.tensor([0., 0.]))
        tensor([0.5000, 0.5000])
    """

    function = staticmethod(F.softmax)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along a dimension, exact where softmax is all but 0.

    Args:
        dim: as for `Softmax`.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LogSoftmax(0)(torch.tensor([0., 200.]))
        tensor([-200.,    0.])
    """

    function = staticmethod(F.log_softmax)


class Softmin(_AlongDim):
    """softmax(-x) along a dimension.

    Args:
        dim: as for `Softmax`.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Softmin(0)(torch.tensor([0., 200.]))
        tensor([1., 0.])
    """

    function = staticmethod(F.softmin)


class Softmax2d(Module):
    """softmax over the channels of images, at each pixel.

    Shape:
        (N, C, H, W) or (C, H, W) -> the same shape.

    Raises:
        ValueError: in the call, another number of dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
        tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        if input.layout.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.layout.ndim}D instead")
        return F.softmax(input, -3)
