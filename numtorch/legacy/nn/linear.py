"""Layers of weights: products, sums, distances to learned points, and rows of a table."""
from __future__ import annotations

import math
from typing import Any

from ...nn import functional as F
from ...ops.creation.ranges import arange
from ...ops.linalg.matmul import bmm, matmul, mm
from ...ops.nn.embedding import embedding_renorm_
from .module import Layer, Weighted


class Linear(Weighted):
    """x weight^T + bias.

    Example:
        >>> module = nn.Linear(3, 2)
        >>> module, module.forward(torch.ones(4, 3)).shape
        (nn.Linear(3 -> 2), torch.Size([4, 2]))
    """

    def __init__(self, inputSize, outputSize, bias=True):
        super().__init__()
        self._make(inputSize, weight=(outputSize, inputSize), bias=(outputSize,) if bias else None)

    def formula(self, input, weight, bias=None):
        return F.linear(input, weight, bias)

    untracked = ("weight",)                              # most of what a network's gradients are: the product itself adds to them

    def _add_untracked(self, input, gradOutput, scale):
        gradient, expected = self.gradWeight, (*input.layout.shape[:-1], self.weight.layout.shape[0])
        if gradient is None:
            return
        if gradOutput.layout.shape != expected:
            raise RuntimeError(f"Mismatch in shape: Linear expected a gradOutput of {list(expected)}, got {list(gradOutput.shape)}")
        if len(expected) != 2:
            gradOutput, input = gradOutput.reshape(-1, expected[-1]), input.reshape(-1, input.layout.shape[-1])
        gradient.addmm_(gradOutput.t(), input if input.node is None else input.detach(), alpha=scale)

    def _shown(self):
        outputs, inputs = self.weight.shape
        return f"({inputs} -> {outputs})" + ("" if self.bias is not None else " without bias")


class PartialLinear(Weighted):
    """A linear layer of which some outputs may be chosen, so that only they are computed and learn.

    Example:
        >>> module = nn.PartialLinear(3, 5).setPartition(torch.tensor([4, 0]))
        >>> module.forward(torch.ones(2, 3)).shape, module.resetPartition().forward(torch.ones(2, 3)).shape
        (torch.Size([2, 2]), torch.Size([2, 5]))
    """

    def __init__(self, inputsize, outputsize, bias=True):
        super().__init__()
        self.inputsize, self.outputsize = inputsize, outputsize
        self._make(inputsize, weight=(outputsize, inputsize), bias=(1, outputsize) if bias else None)
        self.resetPartition()

    def setPartition(self, indices):
        """Choose outputs.

        Args:
            indices: which, counted from 0.

        Returns:
            This module.
        """
        self.partition, self._record = indices.long(), None
        return self

    def resetPartition(self):
        """Compute all outputs again.

        Returns:
            This module.
        """
        return self.setPartition(arange(self.outputsize))

    def reset(self, stdv=None):
        if stdv is None:                                 # the rows were those of a lookup table, and the bias was zeros
            self.weight.normal_()
            if self.bias is not None:
                self.bias.zero_()
            return self
        return super().reset(stdv)

    def formula(self, input, weight, bias=None):
        chosen = None if bias is None else bias.index_select(1, self.partition).reshape(-1)
        return F.linear(input, weight.index_select(0, self.partition), chosen)

    def _shown(self):
        return f"({self.inputsize} -> {self.outputsize})" + ("" if self.bias is not None else " without bias")


class Bilinear(Weighted):
    """x1 weight_k x2 + bias_k for each output k, of the table [x1, x2].

    Raises:
        RuntimeError: no table of two matrices with the same number of rows.

    Example:
        >>> nn.Bilinear(2, 3, 4).forward([torch.ones(5, 2), torch.ones(5, 3)]).shape
        torch.Size([5, 4])
    """

    def __init__(self, inputSize1, inputSize2, outputSize, bias=True):
        super().__init__()
        self.gradInput = []
        self._make(inputSize1, weight=(outputSize, inputSize1, inputSize2), bias=(outputSize,) if bias else None)

    def formula(self, input, weight, bias=None):
        if not isinstance(input, list) or [x.dim() for x in input] != [2, 2]:
            raise RuntimeError("Bilinear: expected a table of two matrices")
        return F.bilinear(*input, weight, bias)

    def _shown(self):
        outputs, first, second = self.weight.shape
        return f"({first}x{second} -> {outputs})" + ("" if self.bias is not None else " without bias")


class Add(Weighted):
    """x + bias, of the shape of one of a batch, or one number.

    Raises:
        ValueError: a scalar of another size than 1.

    Example:
        >>> nn.Add(3).forward(torch.ones(2, 3)).shape
        torch.Size([2, 3])
    """

    def __init__(self, inputSize, scalar=False):
        super().__init__()
        if scalar and inputSize != 1:
            raise ValueError(f"Add: expected a size of 1 for a scalar, got {inputSize}")
        size = (inputSize,) if isinstance(inputSize, int) else tuple(inputSize)
        self.scalar = scalar
        self._make(size[0], bias=size)

    def formula(self, input, bias):
        return input + (bias if self.scalar or input.shape == bias.shape else bias.reshape(input.shape[1:]))


class Mul(Weighted):
    """x * weight, one number.

    Example:
        >>> module = nn.Mul()
        >>> _ = module.weight.fill_(3)
        >>> module.forward(torch.ones(2))
        tensor([3., 3.])
    """

    def __init__(self):
        super().__init__()
        self._make(1, weight=(1,))

    def formula(self, input, weight):
        return input * weight


class CMul(Weighted):
    """x * weight, of the shape of one of a batch, which is given as extents or as one `Size`.

    Example:
        >>> nn.CMul(3, 4).forward(torch.ones(2, 3, 4)).shape
        torch.Size([2, 3, 4])
    """

    def __init__(self, *args):
        super().__init__()
        self.size = tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args
        self._make(math.prod(self.size), weight=self.size)

    def formula(self, input, weight):
        return (input.reshape(input.size(0), -1) * weight.reshape(1, -1)).view(input.shape)


class Euclidean(Weighted):
    """Distances of a batch of vectors to learned points, the columns of the weight.

    Example:
        >>> module = nn.Euclidean(2, 1)
        >>> _ = module.weight.zero_()
        >>> module.forward(torch.tensor([[3., 4.]]))
        tensor([[5.]])
    """

    def __init__(self, inputSize, outputSize):
        super().__init__()
        self._make(inputSize, weight=(inputSize, outputSize))

    def formula(self, input, weight):
        return (input.unsqueeze(-1) - weight).norm(2, -2)


class WeightedEuclidean(Weighted):
    """Distances to learned points, the columns of the weight, with a learned factor for each coordinate in `diagCov`.

    Example:
        >>> module = nn.WeightedEuclidean(2, 1)
        >>> _ = module.weight.zero_(), module.diagCov.fill_(2)
        >>> module.forward(torch.tensor([[3., 4.]]))
        tensor([[10.]])
    """

    parameter_names = ("weight", "diagCov")
    diagCov: Any
    gradDiagCov: Any

    def __init__(self, inputSize, outputSize):
        super().__init__()
        self._make(outputSize, weight=(inputSize, outputSize), diagCov=(inputSize, outputSize))

    def reset(self, stdv=None):
        super().reset(stdv)
        self.diagCov.fill_(1)
        return self

    def formula(self, input, weight, diagCov):
        return ((input.unsqueeze(-1) - weight) * diagCov).norm(2, -2)


class Cosine(Weighted):
    """Cosines of the angles between a batch of vectors and learned ones, the rows of the weight.

    Example:
        >>> module = nn.Cosine(2, 1)
        >>> _ = module.weight.fill_(1)
        >>> module.forward(torch.tensor([[2., 2.]]))
        tensor([[1.0000]])
    """

    def __init__(self, inputSize, outputSize):
        super().__init__()
        self._make(outputSize, weight=(outputSize, inputSize))

    def formula(self, input, weight):
        return F.linear(input / (input.norm(2, -1, True) + 1e-12), weight / (weight.norm(2, -1, True) + 1e-12))


class LookupTable(Weighted):
    """Rows of the weight at indices, (L) or (N, L), counted from 0.

    Raises:
        RuntimeError: indices of other dimensions.
        IndexError: an index out of range.

    Example:
        >>> module = nn.LookupTable(5, 2)
        >>> module.forward(torch.tensor([[4, 0, 0]])).shape
        torch.Size([1, 3, 2])
    """

    def __init__(self, nIndex, nOutput, paddingValue=-1, maxNorm=None, normType=None):
        super().__init__()
        self.paddingValue, self.maxNorm, self.normType, self.shouldScaleGradByFreq = paddingValue, maxNorm, normType, False
        self._make(1, weight=(nIndex, nOutput))

    def accUpdateOnly(self):
        """Do without `gradWeight`, for `backwardUpdate` only.

        Returns:
            This module.
        """
        self.gradWeight = None
        return self

    def setPadding(self, paddingValue):
        """Set the row without a gradient.

        Args:
            paddingValue: which; -1 for none.

        Returns:
            This module.
        """
        self.paddingValue = paddingValue
        return self

    def setMaxNorm(self, maxNorm):
        """Set the largest norm of a row.

        Args:
            maxNorm: the norm; None for any.

        Returns:
            This module.
        """
        self.maxNorm = maxNorm
        return self

    def setNormType(self, normType):
        """Set the order of that norm.

        Args:
            normType: the order.

        Returns:
            This module.
        """
        self.normType = normType
        return self

    def scaleGradByFreq(self):
        """Divide the gradient of a row by how often its index occurs.

        Returns:
            This module.
        """
        self.shouldScaleGradByFreq = True
        return self

    def reset(self, stdv=None):
        self.weight.normal_(0, 1 if stdv is None else stdv)
        return self

    def updateOutput(self, input):
        if input.dim() not in (1, 2):
            raise RuntimeError(f"LookupTable: expected a vector or a matrix of indices, got {list(input.shape)}")
        if self.maxNorm is not None:
            embedding_renorm_(self.weight, input, self.maxNorm, self.normType or 2)
        return super().updateOutput(input)

    def formula(self, input, weight):
        padding = None if self.paddingValue is None or self.paddingValue < 0 else self.paddingValue
        return F.embedding(input.long(), weight, padding, scale_grad_by_freq=self.shouldScaleGradByFreq)


class MM(Layer):
    """The product of two matrices, or of two batches of them.

    Example:
        >>> nn.MM(transB=True).forward([torch.ones(2, 3), torch.ones(4, 3)]).shape
        torch.Size([2, 4])
    """

    def __init__(self, transA=False, transB=False):
        super().__init__()
        self.gradInput, self.transA, self.transB = [], transA, transB

    def formula(self, input):
        a, b = input
        a, b = a.transpose(-1, -2) if self.transA else a, b.transpose(-1, -2) if self.transB else b
        return mm(a, b) if a.dim() == 2 else bmm(a, b)


class MV(Layer):
    """The product of a matrix and a vector, or of batches of them.

    Example:
        >>> nn.MV().forward([torch.ones(5, 2, 3), torch.ones(5, 3)]).shape
        torch.Size([5, 2])
    """

    def __init__(self, trans=False):
        super().__init__()
        self.gradInput, self.trans = [], trans

    def formula(self, input):
        matrix, vector = input
        return matmul(matrix.transpose(-1, -2) if self.trans else matrix, vector.unsqueeze(-1)).squeeze(-1)
