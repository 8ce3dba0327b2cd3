"""Dropout of elements and of whole planes."""
from __future__ import annotations

from ...ops.creation.fill import empty, zeros
from .module import Layer


class Dropout(Layer):
    """Elements set to 0 at random in training, the others scaled up for it (Srivastava et al. 2014).

    Attributes:
        noise: the factors of the last run.

    Example:
        >>> module = nn.Dropout(0.5)
        >>> sorted(set(module.forward(torch.ones(100)).tolist()))
        [0.0, 2.0]
        >>> module.evaluate()
        >>> module.forward(torch.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p, self.inplace, self.noise = p, inplace, zeros(0)

    def setp(self, p):
        """Set the share that is dropped.

        Args:
            p: from 0 to 1.
        """
        self.p = p

    def _draw(self, input, shape):
        """1 for what stays and 0 for what is dropped."""
        return empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1 - self.p)

    def updateOutput(self, input):
        if self.train and self.p > 0:
            self.noise = self._draw(input, input.shape).div_(1 - self.p)
        return super().updateOutput(input)

    def formula(self, input):
        return input * self.noise if self.train and self.p > 0 else input

    def _shown(self):
        return f"({self.p:.4f})"


class SpatialDropout(Dropout):
    """Planes of (N, C, H, W) set to 0 at random in training; afterwards all are scaled down (Tompson et al. 2014).

    Raises:
        RuntimeError: an input of other dimensions.

    Example:
        >>> module = nn.SpatialDropout(0.5)
        >>> module.evaluate()
        >>> module.forward(torch.ones(1, 1, 1, 2))
        tensor([[[[0.5000, 0.5000]]]])
    """

    _dimensions = 4

    def __init__(self, p=0.5):
        super().__init__(p)

    def updateOutput(self, input):
        if input.dim() != self._dimensions:
            raise RuntimeError(f"{type(self).__name__}: expected {self._dimensions} dimensions, got {list(input.shape)}")
        if self.train:
            self.noise = self._draw(input, input.shape[:2] + (1,) * (input.dim() - 2))
        return Layer.updateOutput(self, input)

    def formula(self, input):
        return input * (self.noise if self.train else 1 - self.p)


class VolumetricDropout(SpatialDropout):
    """Planes of (N, C, T, H, W) set to 0 at random in training; afterwards all are scaled down.

    Raises:
        RuntimeError: an input of other dimensions.

    Example:
        >>> module = nn.VolumetricDropout(0.5)
        >>> module.evaluate()
        >>> module.forward(torch.ones(1, 1, 1, 1, 2)).flatten()
        tensor([0.5000, 0.5000])
    """

    _dimensions = 5
