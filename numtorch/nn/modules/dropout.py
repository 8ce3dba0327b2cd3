"""Dropout layers. In evaluation they pass their input on."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class Dropout(Module):
    """Each element set to 0 with probability p in training, the others divided by 1 - p.

    Raises:
        ValueError: p is outside [0, 1].
    """

    function = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return type(self).function(input, self.p, self.training, self.inplace)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels of (N, C, L)."""

    function = staticmethod(F.dropout1d)


class Dropout2d(Dropout):
    """Dropout of whole channels of (N, C, H, W)."""

    function = staticmethod(F.dropout2d)


class Dropout3d(Dropout):
    """Dropout of whole channels of (N, C, D, H, W)."""

    function = staticmethod(F.dropout3d)


class AlphaDropout(Dropout):
    """Dropout that keeps mean 0 and variance 1, for networks of `SELU`."""

    function = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels of (N, C, ...)."""

    function = staticmethod(F.feature_alpha_dropout)
