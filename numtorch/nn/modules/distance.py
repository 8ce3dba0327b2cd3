"""Distances and similarities of pairs, as modules."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension.

    Args:
        p: the norm's order.
        eps: added to every difference, against a slope that is not defined at 0.
        keepdim: leave the last dimension with extent 1.

    Shape:
        Two of (*, D), which broadcast -> (*), or (*, 1) with `keepdim`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.PairwiseDistance()(torch.tensor([[3., 4.]]), torch.tensor([0., 0.]))
        tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between x1 and x2 along a dimension.

    Args:
        dim: along which vectors lie; 1 by default.
        eps: the least length that is divided by.

    Shape:
        Two of (*, D, *), which broadcast -> (*, *).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.CosineSimilarity()(torch.tensor([[3., 4.]]), torch.tensor([[4., 3.]]))
        tensor([0.9600])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
