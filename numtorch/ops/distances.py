"""Distances of all pairs of points."""
from __future__ import annotations

from ..tensor import Tensor
from .reduce import norm
from .triangle import triu_indices


def cdist(x1, x2, p: float = 2.0, compute_mode=None) -> Tensor:
    """The p-norms of the differences of all points of one set and all of another.

    Args:
        x1: (*, P, M). x2: (*, R, M), whose leading dimensions broadcast with those of x1.
        compute_mode: PyTorch's choice of a way; taken, and not needed.

    Returns:
        (*, P, R).

    Raises:
        RuntimeError: fewer than two dimensions, points of two sizes, or a negative p.
    """
    for position, x in enumerate((x1, x2), 1):
        if x.layout.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, X{position} got: {x.layout.ndim}D")
    if x1.layout.shape[-1] != x2.layout.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.layout.shape[-1]} X2: "
                           f"{x2.layout.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


def pdist(input, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of every two rows of a matrix (N, M): (N (N - 1) / 2), as `triu_indices` counts them."""
    if input.layout.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.layout.ndim}D")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    count = input.layout.shape[0]
    first, second = triu_indices(count, count, 1).unbind()
    return norm(input.index_select(0, first) - input.index_select(0, second), p, -1)
