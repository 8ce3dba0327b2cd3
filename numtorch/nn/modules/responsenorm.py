"""Local response norm as a module, under both of its names."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class _ResponseNorm(Module):
    """The formula, for both."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(_ResponseNorm):
    """x / (k + alpha * mean of squares over `size` neighbouring channels)^beta (Krizhevsky et al. 2012).

    Args:
        size: how many channels, half of them on each side; beyond the ends they count as 0.
        alpha, beta, k: of the formula.

    Shape:
        (N, C, *) -> the same shape, with at least one more dimension than channels.

    Raises:
        ValueError: in the call, fewer than 3 dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.LocalResponseNorm(2, alpha=2.0, beta=1.0)(torch.ones(1, 3, 1)).flatten()
        tensor([0.5000, 0.3333, 0.3333])
    """


class CrossMapLRN2d(_ResponseNorm):
    """`LocalResponseNorm` under the name it had in Lua.

    Args:
        size: how many channels, half of them on each side; beyond the ends they count as 0.
        alpha, beta, k: of the formula.

    Shape:
        (N, C, H, W) -> the same shape.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CrossMapLRN2d(2, alpha=2.0, beta=1.0)(torch.ones(1, 3, 1, 1)).flatten()
        tensor([0.5000, 0.3333, 0.3333])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)
