"""Convolution: of images, of films, of sequences; transposed, with a table of connections, or with weights for each place."""
from __future__ import annotations

import math

from ...nn import functional as F
from ...ops.creation.fill import zeros
from ...ops.creation.ranges import arange
from ...ops.linalg.matmul import bmm
from ...ops.random.draws import randperm
from ...ops.shape.join import cat, stack
from .module import Weighted


def windows(kernel, stride=None, *, padding=(), more=()) -> str:
    """How windows are written behind a name: "3x3, 2,2, 1,1", widths before heights, without what is as usual.

    Args:
        kernel: the extents.
        stride: how far apart they begin.
        padding: zeros at both ends.
        more: numbers of which none is written where all are 0.
    """
    groups = [list(group) for group in (stride, padding, more) if group]
    while len(groups) > 1 and not any(groups[-1]):
        groups.pop()
    if len(groups) == 1 and all(number == 1 for number in groups[0]):
        groups.pop()
    return ", ".join(["x".join(map(str, kernel)), *[",".join(map(str, group)) for group in groups]])


class SpatialConvolution(Weighted):
    """Convolution of images, (N, C, H, W) or (C, H, W).

    Example:
        >>> module = nn.SpatialConvolution(3, 8, 5, 5, 2, 2)
        >>> module, module.forward(torch.ones(1, 3, 9, 9)).shape
        (nn.SpatialConvolution(3 -> 8, 5x5, 2,2), torch.Size([1, 8, 3, 3]))
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None):
        super().__init__()
        self.nInputPlane, self.nOutputPlane, self.kW, self.kH, self.dW, self.dH = nInputPlane, nOutputPlane, kW, kH, dW, dH
        self.padW, self.padH = padW, padW if padH is None else padH
        self._make(kW * kH * nInputPlane, weight=self._weight_size(), bias=(nOutputPlane,))

    def _weight_size(self):
        return self.nOutputPlane, self.nInputPlane, self.kH, self.kW

    def formula(self, input, weight, bias=None):
        return F.conv2d(input, weight, bias, (self.dH, self.dW), (self.padH, self.padW))

    def _shown(self):
        inside = windows((self.kW, self.kH), (self.dW, self.dH), padding=(self.padW, self.padH))
        return f"({self.nInputPlane} -> {self.nOutputPlane}, {inside})" + ("" if self.bias is not None else " without bias")


class SpatialDilatedConvolution(SpatialConvolution):
    """Convolution of images by windows with holes (Yu and Koltun 2016).

    Example:
        >>> nn.SpatialDilatedConvolution(3, 8, 3, 3, dilationH=2).forward(torch.ones(1, 3, 9, 9)).shape
        torch.Size([1, 8, 5, 5])
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, dilationH=1, dilationW=None):
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)
        self.dilationH, self.dilationW = dilationH, dilationH if dilationW is None else dilationW

    def formula(self, input, weight, bias=None):
        return F.conv2d(input, weight, bias, (self.dH, self.dW), (self.padH, self.padW), (self.dilationH, self.dilationW))

    def _shown(self):
        return super()._shown().replace(")", f", {self.dilationW},{self.dilationH})")


def _adjustment(target, kernel, padding, stride):
    """What to add to the extents of a transposed convolution's output so that they are the target's."""
    return tuple([(n + 2 * p - k) % s for n, k, p, s in zip(target.shape[-len(kernel):], kernel, padding, stride)])


class SpatialFullConvolution(SpatialConvolution):
    """Transposed convolution of images, (N, C, H, W) or (C, H, W); given a table [images, target], the output has the target's
    height and width.

    Raises:
        ValueError: an adjustment that is not below the stride.

    Example:
        >>> nn.SpatialFullConvolution(3, 8, 4, 4, 2, 2, 1).forward(torch.ones(1, 3, 5, 5)).shape
        torch.Size([1, 8, 10, 10])
    """

    def __init__(self, nInputPlane, nOutputPlane, kW, kH, dW=1, dH=1, padW=0, padH=None, adjW=0, adjH=0):
        if adjW > dW - 1 or adjH > dH - 1:
            raise ValueError("adjW and adjH must be smaller than self.dW - 1 and self.dH - 1 respectively")
        self.adjW, self.adjH = adjW, adjH
        super().__init__(nInputPlane, nOutputPlane, kW, kH, dW, dH, padW, padH)

    def _weight_size(self):
        return self.nInputPlane, self.nOutputPlane, self.kH, self.kW

    def formula(self, input, weight, bias=None):
        kernel, stride, padding, added = (self.kH, self.kW), (self.dH, self.dW), (self.padH, self.padW), (self.adjH, self.adjW)
        if isinstance(input, list):
            input, target = input
            added = _adjustment(target, kernel, padding, stride)
        return F.conv_transpose2d(input, weight, bias, stride, padding, added)

    def _shown(self):
        inside = windows((self.kW, self.kH), (self.dW, self.dH), padding=(self.padW, self.padH), more=(self.adjW, self.adjH))
        return f"({self.nInputPlane} -> {self.nOutputPlane}, {inside})" + ("" if self.bias is not None else " without bias")


class VolumetricConvolution(Weighted):
    """Convolution of films, (N, C, T, H, W) or (C, T, H, W).

    Example:
        >>> nn.VolumetricConvolution(3, 8, 2, 3, 3).forward(torch.ones(1, 3, 4, 9, 9)).shape
        torch.Size([1, 8, 3, 7, 7])
    """

    def __init__(self, nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=None, padH=None):
        super().__init__()
        self.nInputPlane, self.nOutputPlane, self.kT, self.kW, self.kH = nInputPlane, nOutputPlane, kT, kW, kH
        self.dT, self.dW, self.dH, self.padT = dT, dW, dH, padT
        self.padW = padT if padW is None else padW
        self.padH = self.padW if padH is None else padH
        self._make(kT * kW * kH * nInputPlane, weight=self._weight_size(), bias=(nOutputPlane,))

    def _weight_size(self):
        return self.nOutputPlane, self.nInputPlane, self.kT, self.kH, self.kW

    def formula(self, input, weight, bias=None):
        return F.conv3d(input, weight, bias, (self.dT, self.dH, self.dW), (self.padT, self.padH, self.padW))

    def _shown(self):
        inside = windows((self.kT, self.kW, self.kH), (self.dT, self.dW, self.dH), padding=(self.padT, self.padW, self.padH))
        return f"({self.nInputPlane} -> {self.nOutputPlane}, {inside})" + ("" if self.bias is not None else " without bias")


class VolumetricFullConvolution(VolumetricConvolution):
    """Transposed convolution of films, (N, C, T, H, W) or (C, T, H, W); given a table [films, target], the output has the target's
    extents.

    Raises:
        RuntimeError: an adjustment that is not below the stride.

    Example:
        >>> nn.VolumetricFullConvolution(3, 8, 2, 2, 2, 2, 2, 2).forward(torch.ones(1, 3, 2, 4, 4)).shape
        torch.Size([1, 8, 4, 8, 8])
    """

    def __init__(self, nInputPlane, nOutputPlane, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=0, padH=0, adjT=0, adjW=0, adjH=0):
        if adjT > dT - 1 or adjW > dW - 1 or adjH > dH - 1:
            raise RuntimeError("adjW, adjH and adjT must be smaller than self.dW - 1,  self.dH - 1 and self.dT - 1 respectively")
        self.adjT, self.adjW, self.adjH = adjT, adjW, adjH
        super().__init__(nInputPlane, nOutputPlane, kT, kW, kH, dT, dW, dH, padT, padW, padH)

    def _weight_size(self):
        return self.nInputPlane, self.nOutputPlane, self.kT, self.kH, self.kW

    def formula(self, input, weight, bias=None):
        kernel, stride, padding = (self.kT, self.kH, self.kW), (self.dT, self.dH, self.dW), (self.padT, self.padH, self.padW)
        added = self.adjT, self.adjH, self.adjW
        if isinstance(input, list):
            input, target = input
            added = _adjustment(target, kernel, padding, stride)
        return F.conv_transpose3d(input, weight, bias, stride, padding, added)


class TemporalConvolution(Weighted):
    """Convolution of sequences of frames, (N, T, C) or (T, C).

    Example:
        >>> nn.TemporalConvolution(4, 8, 3).forward(torch.ones(1, 10, 4)).shape
        torch.Size([1, 8, 8])
    """

    def __init__(self, inputFrameSize, outputFrameSize, kW, dW=1):
        super().__init__()
        self.inputFrameSize, self.outputFrameSize, self.kW, self.dW = inputFrameSize, outputFrameSize, kW, dW
        self._make(kW * inputFrameSize, weight=(outputFrameSize, inputFrameSize * kW), bias=(outputFrameSize,))

    def formula(self, input, weight, bias=None):
        return F.linear(input.unfold(-2, self.kW, self.dW).transpose(-1, -2).flatten(-2), weight, bias)

    def _shown(self):
        return f"({self.inputFrameSize} -> {self.outputFrameSize}, {windows((self.kW,), (self.dW,))})"


class TemporalSubSampling(Weighted):
    """The sum of each window of a sequence of frames, (N, T, C) or (T, C), times a weight and plus a bias for each element.

    Example:
        >>> nn.TemporalSubSampling(4, 3).forward(torch.ones(1, 10, 4)).shape
        torch.Size([1, 8, 4])
    """

    def __init__(self, inputFrameSize, kW, dW=1):
        super().__init__()
        self.inputFrameSize, self.kW, self.dW = inputFrameSize, kW, dW
        self._make(kW, weight=(inputFrameSize,), bias=(inputFrameSize,))

    def formula(self, input, weight, bias):
        return input.unfold(-2, self.kW, self.dW).sum(-1) * weight + bias

    def _shown(self):
        return f"({self.inputFrameSize}, {windows((self.kW,), (self.dW,))})"


class SpatialSubSampling(Weighted):
    """The sum of each window of images, (N, C, H, W) or (C, H, W), times a weight and plus a bias for each plane (LeCun et al.
    1998).

    Example:
        >>> nn.SpatialSubSampling(3, 2, 2, 2, 2).forward(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    def __init__(self, nInputPlane, kW, kH, dW=1, dH=1):
        super().__init__()
        self.nInputPlane, self.kW, self.kH, self.dW, self.dH = nInputPlane, kW, kH, dW, dH
        self._make(kW * kH, weight=(nInputPlane,), bias=(nInputPlane,))

    def formula(self, input, weight, bias):
        sums = F.avg_pool2d(input, (self.kH, self.kW), (self.dH, self.dW), divisor_override=1)
        return sums * weight.reshape(-1, 1, 1) + bias.reshape(-1, 1, 1)

    def _shown(self):
        return f"({self.nInputPlane}, {windows((self.kW, self.kH), (self.dW, self.dH))})"


class SpatialConvolutionLocal(Weighted):
    """Convolution of images, (N, C, H, W) or (C, H, W), with weights of its own at each place.

    Raises:
        RuntimeError: windows that do not fit, or images of another size.

    Example:
        >>> nn.SpatialConvolutionLocal(3, 8, 9, 9, 3, 3).forward(torch.ones(1, 3, 9, 9)).shape
        torch.Size([1, 8, 7, 7])
    """

    def __init__(self, nInputPlane, nOutputPlane, iW, iH, kW, kH, dW=1, dH=1, padW=0, padH=None):
        super().__init__()
        self.nInputPlane, self.nOutputPlane, self.iW, self.iH, self.kW, self.kH = nInputPlane, nOutputPlane, iW, iH, kW, kH
        self.dW, self.dH, self.padW, self.padH = dW, dH, padW, padW if padH is None else padH
        self.oW, self.oH = (2 * self.padW + iW - kW) // dW + 1, (2 * self.padH + iH - kH) // dH + 1
        if self.oW < 1 or self.oH < 1:
            raise RuntimeError(f"SpatialConvolutionLocal: expected windows that fit into {iH}x{iW}, got {kH}x{kW}")
        self._make(kW * kH * nInputPlane, weight=(self.oH, self.oW, nOutputPlane, nInputPlane, kH, kW),
                   bias=(nOutputPlane, self.oH, self.oW))

    def formula(self, input, weight, bias):
        if input.dim() not in (3, 4) or tuple(input.shape[-3:]) != (self.nInputPlane, self.iH, self.iW):
            raise RuntimeError(f"Given input size: ({'x'.join(map(str, input.shape))}) inconsistent with expected input size: "
                               f"({self.nInputPlane}x{self.iH}x{self.iW}).")
        images = input if input.dim() == 4 else input.unsqueeze(0)
        seen = F.unfold(images, (self.kH, self.kW), padding=(self.padH, self.padW), stride=(self.dH, self.dW))
        places = bmm(seen.permute(2, 0, 1), weight.reshape(self.oH * self.oW, self.nOutputPlane, -1).transpose(1, 2))
        out = places.permute(1, 2, 0).reshape(-1, *bias.shape) + bias
        return out if input.dim() == 4 else out.squeeze(0)

    def _shown(self):
        inside = windows((self.kW, self.kH), (self.dW, self.dH), padding=(self.padW, self.padH))
        return f"({self.nInputPlane} -> {self.nOutputPlane}, {self.iW}x{self.iH}, {inside})"


class maps:
    """Tables of connections for `SpatialConvolutionMap`: (K, 2), the input plane and the output plane of each kernel.

    Example:
        >>> import numtorch as torch
        >>> torch.legacy.nn.SpatialConvolutionMap.maps.full(1, 2)
        tensor([[0., 0.],
                [0., 1.]])
    """

    @staticmethod
    def full(nin, nout):
        """Each input plane with each output plane.

        Args:
            nin, nout: how many there are.
        """
        return stack([arange(nin).repeat(nout), arange(nout).repeat_interleave(nin)], 1).float()

    @staticmethod
    def oneToOne(nfeat):
        """Each input plane with the output plane of its number.

        Args:
            nfeat: how many there are.
        """
        return stack([arange(nfeat)] * 2, 1).float()

    @staticmethod
    def random(nin, nout, nto):
        """Each output plane with some input planes drawn at random, all of them as often as can be.

        Args:
            nin, nout: how many there are.
            nto: how many input planes an output plane is connected with.
        """
        rounds = -(-nout // (nin // nto))
        drawn = cat([randperm(nin)[:nin // nto * nto] for _ in range(rounds)])
        return stack([drawn[:nout * nto], arange(nout).repeat_interleave(nto)], 1).float()


class SpatialConvolutionMap(Weighted):
    """Convolution of images, (N, C, H, W) or (C, H, W), where a table says which planes are connected.

    Example:
        >>> module = nn.SpatialConvolutionMap(nn.SpatialConvolutionMap.maps.oneToOne(3), 3, 3)
        >>> module.forward(torch.ones(1, 3, 8, 8)).shape, module.weight.shape
        (torch.Size([1, 3, 6, 6]), torch.Size([3, 3, 3]))
    """

    maps = maps

    def __init__(self, conMatrix, kW, kH, dW=1, dH=1):
        super().__init__()
        self.connTable, self.kW, self.kH, self.dW, self.dH = conMatrix, kW, kH, dW, dH
        self.nInputPlane, self.nOutputPlane = [int(count) + 1 for count in conMatrix.max(0)[0].tolist()]
        self._make(kW * kH, weight=(len(conMatrix), kH, kW), bias=(self.nOutputPlane,))

    def reset(self, stdv=None):
        if stdv is not None:
            return super().reset(stdv)
        ends = self.connTable[:, 1].long()
        fans = self.kW * self.kH * ends.bincount(minlength=self.nOutputPlane).clamp(min=1)
        bounds = fans.to(self.bias.dtype).rsqrt()        # each output plane has as many numbers in a sum as it has connections
        self.weight.uniform_(-1, 1).mul_(bounds[ends].reshape(-1, 1, 1))
        self.bias.uniform_(-1, 1).mul_(bounds)
        return self

    def _dense(self, weight, first, second, planes):
        """The kernels among all pairs of planes, with zeros where there is no connection."""
        table = self.connTable.long()
        blank = zeros(math.prod(planes), self.kH * self.kW, dtype=weight.dtype, device=weight.device)
        pairs = table[:, first] * planes[1] + table[:, second]
        return blank.index_add(0, pairs, weight.flatten(1)).view(*planes, self.kH, self.kW)

    def formula(self, input, weight, bias):
        return F.conv2d(input, self._dense(weight, 1, 0, (self.nOutputPlane, self.nInputPlane)), bias, (self.dH, self.dW))

    def _shown(self):
        return f"({self.nInputPlane} -> {self.nOutputPlane}, {windows((self.kW, self.kH), (self.dW, self.dH))})"


class SpatialFullConvolutionMap(SpatialConvolutionMap):
    """Transposed convolution of images, (N, C, H, W) or (C, H, W), where a table says which planes are connected.

    Example:
        >>> module = nn.SpatialFullConvolutionMap(nn.SpatialConvolutionMap.maps.full(3, 2), 3, 3)
        >>> module.forward(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 2, 10, 10])
    """

    def formula(self, input, weight, bias):
        return F.conv_transpose2d(input, self._dense(weight, 0, 1, (self.nInputPlane, self.nOutputPlane)), bias, (self.dH, self.dW))
