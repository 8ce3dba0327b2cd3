"""Normalisation: of batches, across planes, and by the surroundings of each place."""
from __future__ import annotations

from ...nn import functional as F
from ...ops.creation.fill import empty, ones, zeros
from .elementwise import root
from .module import Layer


class BatchNormalization(Layer):
    """Each feature of (N, C) with the mean and variance of its batch taken out, or, after training, running ones (Ioffe and Szegedy
    2015).

    Attributes:
        running_mean, running_var: the running statistics.

    Raises:
        RuntimeError: an input of other dimensions, or other features.

    Example:
        >>> nn.BatchNormalization(1, affine=False).forward(torch.tensor([[1.], [3.]]))
        tensor([[-1.0000],
                [ 1.0000]])
    """

    nDim = 2
    _counting = False                                    # whether a run is one of `forward`, which the running statistics see

    def __init__(self, nOutput, eps=1e-5, momentum=0.1, affine=True):
        super().__init__()
        self.affine, self.eps, self.momentum = affine, eps, momentum
        self.running_mean, self.running_var = zeros(nOutput), ones(nOutput)
        self.weight, self.bias = (empty(nOutput), empty(nOutput)) if affine else (None, None)
        self.gradWeight, self.gradBias = (zeros(nOutput), zeros(nOutput)) if affine else (None, None)
        self.reset()

    def reset(self, stdv=None):
        if self.affine:
            self.weight.uniform_()
            self.bias.zero_()
        self.running_mean.zero_()
        self.running_var.fill_(1)

    def updateOutput(self, input):
        if input.dim() != self.nDim:
            raise RuntimeError(f"only mini-batch supported ({self.nDim}D tensor), got {input.dim()}D tensor instead")
        if input.size(1) != self.running_mean.numel():
            raise RuntimeError(f"got {input.size(1)}-feature tensor, expected {self.running_mean.numel()}")
        self._counting = True
        try:
            return super().updateOutput(input)
        finally:
            self._counting = False

    def formula(self, input, weight=None, bias=None):
        running = (self.running_mean, self.running_var) if self._counting or not self.train else (None, None)
        return F.batch_norm(input, *running, weight, bias, self.train, self.momentum, self.eps)


class SpatialBatchNormalization(BatchNormalization):
    """As `BatchNormalization`, for the planes of images, (N, C, H, W).

    Example:
        >>> nn.SpatialBatchNormalization(3).forward(torch.randn(2, 3, 4, 4)).shape
        torch.Size([2, 3, 4, 4])
    """

    nDim = 4


class VolumetricBatchNormalization(BatchNormalization):
    """As `BatchNormalization`, for the planes of films, (N, C, T, H, W).

    Example:
        >>> nn.VolumetricBatchNormalization(3).forward(torch.randn(2, 3, 2, 4, 4)).shape
        torch.Size([2, 3, 2, 4, 4])
    """

    nDim = 5


class SpatialCrossMapLRN(Layer):
    """Images, (N, C, H, W), over a power of the squares of neighbouring planes (Krizhevsky et al. 2012).

    Example:
        >>> nn.SpatialCrossMapLRN(3, alpha=3.0, beta=1.0).forward(torch.ones(1, 3, 1, 1)).flatten()
        tensor([0.3333, 0.2500, 0.3333])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def formula(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)


class SpatialSubtractiveNormalization(Layer):
    """Images, (N, C, H, W), less the weighted mean of the surroundings, over all planes (Jarrett et al. 2009).

    Raises:
        ValueError: a kernel that is neither a vector nor a matrix, or of even extents.

    Example:
        >>> nn.SpatialSubtractiveNormalization(3).forward(torch.ones(1, 3, 12, 12)).abs().max().item() < 1e-5
        True
    """

    def __init__(self, nInputPlane=1, kernel=None):
        super().__init__()
        kernel = ones(9, 9) if kernel is None else kernel.clone()
        if kernel.dim() not in (1, 2) or any(extent % 2 == 0 for extent in kernel.shape):
            raise ValueError(f"{type(self).__name__}: expected a vector or a matrix of odd extents, got {list(kernel.shape)}")
        self.nInputPlane, self.kernel = nInputPlane, kernel

    def _surroundings(self, input):
        """The weighted mean of the surroundings of each place, (N, 1, H, W); beyond the edges is nothing."""
        kernel = self.kernel.type(input.dtype)
        kernel = kernel if kernel.dim() == 2 else kernel.reshape(-1, 1) * kernel
        weight = (kernel / (kernel.sum() * self.nInputPlane)).expand(1, self.nInputPlane, *kernel.shape)
        return F.conv2d(input, weight, None, padding=(kernel.size(0) // 2, kernel.size(1) // 2))

    def _share(self, input):
        """How much of the surroundings lies inside."""
        return self._surroundings(ones(1, *input.shape[1:], dtype=input.dtype, device=input.device))

    def formula(self, input):
        return input - self._surroundings(input) / self._share(input)


class SpatialDivisiveNormalization(SpatialSubtractiveNormalization):
    """Images, (N, C, H, W), over the root of the weighted mean square of the surroundings, over all planes, where that exceeds a
    threshold (Jarrett et al. 2009).

    Example:
        >>> nn.SpatialDivisiveNormalization(3).forward(torch.full((1, 3, 12, 12), 2.))[0, 0, 6, 6]
        tensor(1.0000)
    """

    def __init__(self, nInputPlane=1, kernel=None, threshold=1e-4, thresval=None):
        super().__init__(nInputPlane, kernel)
        self.threshold, self.thresval = threshold, threshold if thresval is None else thresval

    def formula(self, input):
        deviation = root(self._surroundings(input.square())) / self._share(input)
        return input / F.threshold(deviation, self.threshold, self.thresval)


class SpatialContrastiveNormalization(SpatialDivisiveNormalization):
    """Subtractive normalisation, then divisive (Jarrett et al. 2009).

    Example:
        >>> nn.SpatialContrastiveNormalization(3).forward(torch.rand(1, 3, 12, 12)).shape
        torch.Size([1, 3, 12, 12])
    """

    def __init__(self, nInputPlane=1, kernel=None, threshold=1e-4, thresval=1e-4):
        super().__init__(nInputPlane, kernel, threshold, thresval or threshold)

    def formula(self, input):
        return super().formula(SpatialSubtractiveNormalization.formula(self, input))
