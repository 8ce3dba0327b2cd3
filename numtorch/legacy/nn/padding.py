"""Padding of images and films at all sides."""
from __future__ import annotations

from ...nn import functional as F
from .module import Layer


class SpatialZeroPadding(Layer):
    """Images, (N, C, H, W), with zeros around them, or cut where a number is negative.

    Raises:
        RuntimeError: an input of other dimensions, or of which nothing is left.

    Example:
        >>> nn.SpatialZeroPadding(1, 2, 0, -1).forward(torch.ones(1, 1, 2, 2))
        tensor([[[[0., 1., 1., 0., 0.]]]])
    """

    _mode, _dimensions = "constant", 4

    def __init__(self, pad_l, pad_r=None, pad_t=None, pad_b=None):
        super().__init__()
        self.pad_l = pad_l
        self.pad_r, self.pad_t, self.pad_b = [pad_l if pad is None else pad for pad in (pad_r, pad_t, pad_b)]

    def _sides(self):
        return self.pad_l, self.pad_r, self.pad_t, self.pad_b

    def formula(self, input):
        if input.dim() != self._dimensions:
            raise RuntimeError(f"{type(self).__name__}: expected {self._dimensions} dimensions, got {list(input.shape)}")
        return F.pad(input, self._sides(), self._mode)

    def _shown(self):
        return f"({', '.join(map(str, self._sides()))})"


class SpatialReflectionPadding(SpatialZeroPadding):
    """Images, (N, C, H, W), reflected at their edges.

    Example:
        >>> nn.SpatialReflectionPadding(1, 1, 0, 0).forward(torch.tensor([[[[1., 2.]]]]))
        tensor([[[[2., 1., 2., 1.]]]])
    """

    _mode = "reflect"


class SpatialReplicationPadding(SpatialZeroPadding):
    """Images, (N, C, H, W), with their edges repeated.

    Example:
        >>> nn.SpatialReplicationPadding(1, 1, 0, 0).forward(torch.tensor([[[[1., 2.]]]]))
        tensor([[[[1., 1., 2., 2.]]]])
    """

    _mode = "replicate"


class VolumetricReplicationPadding(SpatialZeroPadding):
    """Films, (N, C, T, H, W), with their edges repeated.

    Example:
        >>> nn.VolumetricReplicationPadding(1).forward(torch.ones(1, 1, 2, 3, 4)).shape
        torch.Size([1, 1, 4, 5, 6])
    """

    _mode, _dimensions = "replicate", 5

    def __init__(self, pleft, pright=None, ptop=None, pbottom=None, pfront=None, pback=None):
        Layer.__init__(self)
        self.pleft = pleft
        self.pright, self.ptop, self.pbottom, self.pfront, self.pback = [
            pleft if pad is None else pad for pad in (pright, ptop, pbottom, pfront, pback)]

    def _sides(self):
        return self.pleft, self.pright, self.ptop, self.pbottom, self.pfront, self.pback
