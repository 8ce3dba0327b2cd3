"""Dropout layers. In evaluation they pass their input on."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _DropoutNd(Module):
    """What all of them share: what each computes is its `function`."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Each element set to 0 with probability p in training, the others divided by 1 - p (Srivastava et al. 2014).

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Raises:
        ValueError: p is outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> layer = torch.nn.Dropout(0.5)
        >>> sorted(set(layer(torch.ones(1000)).tolist())), layer.eval()(torch.ones(3))
        ([0.0, 2.0], tensor([1., 1., 1.]))
    """

    function = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Whole channels of sequences set to 0 with probability p in training, the others divided by 1 - p (Tompson et al. 2015).

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        (N, C, L) or (C, L) -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Dropout1d(0.5)(torch.ones(1, 50, 3)).std(-1).max()
        tensor(0.)
    """

    function = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Whole channels of images set to 0 with probability p in training, the others divided by 1 - p (Tompson et al. 2015).

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        (N, C, H, W) -> the same shape; (N, C, L) too, with a warning, as in PyTorch.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Dropout2d(0.5)(torch.ones(1, 50, 1, 3)).std(-1).max()
        tensor(0.)
    """

    function = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Whole channels of volumes set to 0 with probability p in training, the others divided by 1 - p (Tompson et al. 2015).

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Dropout3d(0.5)(torch.ones(1, 50, 1, 1, 3)).std(-1).max()
        tensor(0.)
    """

    function = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Elements set to selu's negative limit with probability p in training, then all scaled and shifted so that mean 0 and
    variance 1 stay (Klambauer et al. 2017).

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        Any shape -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.AlphaDropout(0.5).eval()(torch.tensor([-1., 1.]))
        tensor([-1.,  1.])
    """

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Args:
        p: the probability.
        inplace: write the result into the input.

    Shape:
        (N, C, *) -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.FeatureAlphaDropout(0.5)(torch.ones(1, 50, 3)).std(-1).max()
        tensor(0.)
    """

    function = staticmethod(F.feature_alpha_dropout)
