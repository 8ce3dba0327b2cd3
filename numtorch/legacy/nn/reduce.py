"""One number for many: sums and extremes along a dimension, norms, and distances of pairs."""
from __future__ import annotations

from .module import Layer


class Sum(Layer):
    """The sum along a dimension, or the mean.

    Example:
        >>> nn.Sum(1).forward(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([3., 7.])
    """

    def __init__(self, dimension=0, sizeAverage=False):
        super().__init__()
        self.dimension, self.sizeAverage = dimension, sizeAverage

    def formula(self, input):
        keep = input.dim() == 1                          # a vector becomes a vector of one: every tensor had a dimension
        return input.mean(self.dimension, keep) if self.sizeAverage else input.sum(self.dimension, keep)


class Mean(Sum):
    """The mean along a dimension.

    Example:
        >>> nn.Mean(1).forward(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([1.5000, 3.5000])
    """

    def __init__(self, dimension):
        super().__init__(dimension, True)


class Max(Layer):
    """The largest along a dimension; its gradient goes to one element.

    Example:
        >>> nn.Max(1).forward(torch.tensor([[1., 2.], [4., 3.]]))
        tensor([2., 4.])
    """

    def __init__(self, dimension=0):
        super().__init__()
        self.dimension = dimension

    def formula(self, input):
        return input.max(self.dimension, input.dim() == 1)[0]


class Min(Max):
    """The smallest along a dimension; its gradient goes to one element.

    Example:
        >>> nn.Min(1).forward(torch.tensor([[1., 2.], [4., 3.]]))
        tensor([1., 3.])
    """

    def formula(self, input):
        return input.min(self.dimension, input.dim() == 1)[0]


class Normalize(Layer):
    """Rows of (N, C) over their norms.

    Raises:
        ValueError: an order that is not positive.
        RuntimeError: an input that is no matrix.

    Example:
        >>> nn.Normalize(2).forward(torch.tensor([[3., 4.]]))
        tensor([[0.6000, 0.8000]])
    """

    def __init__(self, p, eps=1e-10):
        super().__init__()
        if p <= 0:
            raise ValueError(f"Normalize: expected a positive order, got {p}")
        self.p, self.eps = p, eps

    def formula(self, input):
        if input.dim() != 2:
            raise RuntimeError(f"Normalize: expected a matrix, got {list(input.shape)}")
        size = input.abs()
        if self.p == float("inf"):
            return input / (size.max(1, True)[0] + self.eps)
        return input / (size.pow(self.p).sum(1, True) + self.eps).pow(1 / self.p)

    def _shown(self):
        return f"({self.p})"


class DotProduct(Layer):
    """Products of the rows of two matrices, summed.

    Example:
        >>> nn.DotProduct().forward([torch.ones(2, 3), torch.ones(2, 3)])
        tensor([3., 3.])
    """

    def __init__(self):
        super().__init__()
        self.gradInput = []

    def formula(self, input):
        first, second = input
        return (first * second).sum(-1, first.dim() == 1)


class CosineDistance(DotProduct):
    """Cosines of the angles between the rows of two matrices.

    Example:
        >>> nn.CosineDistance().forward([torch.ones(1, 4), torch.tensor([[1., 0., 0., 0.]])])
        tensor([0.5000])
    """

    def formula(self, input):
        first, second = input
        lengths = (first.square().sum(-1, first.dim() == 1) + 1e-12) * (second.square().sum(-1, first.dim() == 1) + 1e-12)
        return super().formula(input) / lengths.sqrt()


class PairwiseDistance(DotProduct):
    """Distances of the rows of two matrices.

    Example:
        >>> nn.PairwiseDistance(2).forward([torch.zeros(1, 2), torch.tensor([[3., 4.]])])
        tensor([5.])
    """

    def __init__(self, p):
        super().__init__()
        self.norm = p

    def formula(self, input):
        first, second = input
        return (first - second).norm(self.norm, -1, first.dim() == 1)
