"""Pooling: the largest or the mean of each window, and maxima put back where they came from."""
from __future__ import annotations

from ...nn import functional as F
from ...ops.creation.fill import empty
from .module import Layer


class Pooling(Layer):
    """Windows of two or three dimensions, whose numbers Torch7 gives one by one: `kernel`, `stride` and `padding` are (T,) H, W."""

    ceil_mode = False

    def _windows(self, kernel, stride, padding):
        """Set the numbers, each under its own name; the stride is the kernel where it is None or 0."""
        for letter, values in zip(("k", "d", "pad"), (kernel, [d or k for d, k in zip(stride, kernel)], padding)):
            for axis, number in zip("THW"[-len(kernel):], values):
                setattr(self, letter + axis, number)
        self._axes = "THW"[-len(kernel):]

    def _numbers(self, letter, axes=None):
        return tuple([getattr(self, letter + axis) for axis in axes or self._axes])

    def ceil(self):
        """Let the last window hang over the edge.

        Returns:
            This module.
        """
        self.ceil_mode = True
        return self

    def floor(self):
        """Leave out a last window that would hang over the edge.

        Returns:
            This module.
        """
        self.ceil_mode = False
        return self

    def _shown(self):
        axes = self._axes.replace("HW", "WH")
        inside = "x".join(map(str, self._numbers("k", axes))), ",".join(map(str, self._numbers("d", axes)))
        padding = [",".join(map(str, self._numbers("pad", axes)))] if any(self._numbers("pad")) else []
        return f"({', '.join([*inside, *padding])})"


class SpatialMaxPooling(Pooling):
    """The largest of each window of images, (N, C, H, W) or (C, H, W).

    Attributes:
        indices: where in its plane each maximum of the last run is.

    Example:
        >>> module = nn.SpatialMaxPooling(2, 2)
        >>> module, module.forward(torch.ones(1, 3, 8, 8)).shape
        (nn.SpatialMaxPooling(2x2, 2,2), torch.Size([1, 3, 4, 4]))
    """

    _pool = staticmethod(F.max_pool2d)

    def __init__(self, kW, kH, dW=None, dH=None, padW=0, padH=0):
        super().__init__()
        self._windows((kH, kW), (dH, dW), (padH, padW))

    def _pooled(self, input, return_indices):
        return self._pool(input, self._numbers("k"), self._numbers("d"), self._numbers("pad"), ceil_mode=self.ceil_mode,
                          return_indices=return_indices)

    def formula(self, input):
        return self._pooled(input, False)

    @property
    def indices(self):
        """Where in its plane each maximum of the last run is, int64; RuntimeError before the first."""
        return self._pooled(self._last(), True)[1]

    def _last(self):
        """The last input."""
        if self._record is None:
            raise RuntimeError(f"{type(self).__name__}: there are places after forward only")
        return self._record.leaves.detach()


class VolumetricMaxPooling(SpatialMaxPooling):
    """The largest of each window of films, (N, C, T, H, W) or (C, T, H, W).

    Example:
        >>> nn.VolumetricMaxPooling(2, 2, 2).forward(torch.ones(1, 3, 4, 8, 8)).shape
        torch.Size([1, 3, 2, 4, 4])
    """

    _pool = staticmethod(F.max_pool3d)

    def __init__(self, kT, kW, kH, dT=None, dW=None, dH=None, padT=0, padW=0, padH=0):
        Pooling.__init__(self)
        self._windows((kT, kH, kW), (dT, dH, dW), (padT, padH, padW))


class TemporalMaxPooling(Layer):
    """The largest of each window of a sequence of frames, (N, T, C) or (T, C).

    Example:
        >>> nn.TemporalMaxPooling(2).forward(torch.ones(1, 10, 4)).shape
        torch.Size([1, 5, 4])
    """

    def __init__(self, kW, dW=None):
        super().__init__()
        self.kW, self.dW = kW, dW or kW

    def formula(self, input):
        return F.max_pool1d(input.transpose(-1, -2), self.kW, self.dW).transpose(-1, -2)

    def _shown(self):
        return f"({self.kW}, {self.dW})"


class SpatialMaxUnpooling(Layer):
    """Maxima where a pooling module found them, and zeros elsewhere.

    Raises:
        ValueError: a module whose windows overlap or leave gaps, or of another kind.

    Example:
        >>> pooling, x = nn.SpatialMaxPooling(2, 2), torch.tensor([[[1., 2.], [4., 3.]]])
        >>> nn.SpatialMaxUnpooling(pooling).forward(pooling.forward(x))
        tensor([[[0., 0.],
                 [4., 0.]]])
    """

    _kind, _unpool = SpatialMaxPooling, staticmethod(F.max_unpool2d)

    def __init__(self, poolingModule):
        super().__init__()
        if type(poolingModule) is not self._kind or poolingModule._numbers("k") != poolingModule._numbers("d"):
            raise ValueError(f"{type(self).__name__}: expected a {self._kind.__name__} whose windows are side by side, got "
                             f"{poolingModule!r}")
        self.pooling = poolingModule

    def formula(self, input):
        pooling = self.pooling
        return self._unpool(input, pooling.indices, pooling._numbers("k"), pooling._numbers("d"), pooling._numbers("pad"),
                            pooling._last().shape)

    def _shown(self):
        return f" associated to {self.pooling!r}"


class VolumetricMaxUnpooling(SpatialMaxUnpooling):
    """Maxima of films where a pooling module found them, and zeros elsewhere.

    Raises:
        ValueError: a module whose windows overlap or leave gaps, or of another kind.

    Example:
        >>> pooling, x = nn.VolumetricMaxPooling(2, 2, 2), torch.rand(1, 2, 4, 4)
        >>> nn.VolumetricMaxUnpooling(pooling).forward(pooling.forward(x)).shape
        torch.Size([1, 2, 4, 4])
    """

    _kind, _unpool = VolumetricMaxPooling, staticmethod(F.max_unpool3d)


class SpatialAveragePooling(Pooling):
    """The mean of each window of images, (N, C, H, W) or (C, H, W); the sum where `divide` is False.

    Example:
        >>> nn.SpatialAveragePooling(2, 2, 2, 2).forward(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 4, 4])
    """

    count_include_pad = divide = True

    def __init__(self, kW, kH, dW=1, dH=1, padW=0, padH=0):
        super().__init__()
        self._windows((kH, kW), (dH, dW), (padH, padW))

    def setCountIncludePad(self):
        """Count padding as zeros.

        Returns:
            This module.
        """
        self.count_include_pad = True
        return self

    def setCountExcludePad(self):
        """Leave padding out of the mean.

        Returns:
            This module.
        """
        self.count_include_pad = False
        return self

    def formula(self, input):
        mean = F.avg_pool2d(input, self._numbers("k"), self._numbers("d"), self._numbers("pad"), self.ceil_mode,
                            self.count_include_pad)
        return mean if self.divide else mean * (self.kW * self.kH)


class VolumetricAveragePooling(Pooling):
    """The mean of each window of films, (N, C, T, H, W) or (C, T, H, W).

    Example:
        >>> nn.VolumetricAveragePooling(2, 2, 2).forward(torch.ones(1, 3, 4, 8, 8)).shape
        torch.Size([1, 3, 2, 4, 4])
    """

    def __init__(self, kT, kW, kH, dT=None, dW=None, dH=None):
        super().__init__()
        self._windows((kT, kH, kW), (dT, dH, dW), (0, 0, 0))

    def formula(self, input):
        return F.avg_pool3d(input, self._numbers("k"), self._numbers("d"), ceil_mode=self.ceil_mode)


class SpatialLPPooling(Pooling):
    """The norm of each window of images, (N, C, H, W) or (C, H, W).

    Example:
        >>> nn.SpatialLPPooling(3, 2, 2, 2).forward(torch.ones(1, 3, 4, 4))[0, 0]
        tensor([[2., 2.],
                [2., 2.]])
    """

    def __init__(self, nInputPlane, pnorm, kW, kH, dW=None, dH=None):
        super().__init__()
        self.pnorm = pnorm
        self._windows((kH, kW), (dH, dW), (0, 0))

    def formula(self, input):
        return F.lp_pool2d(input, self.pnorm, self._numbers("k"), self._numbers("d"))


class SpatialAdaptiveMaxPooling(Layer):
    """The largest of each of as many windows as are asked for, of images, (N, C, H, W) or (C, H, W).

    Example:
        >>> nn.SpatialAdaptiveMaxPooling(3, 2).forward(torch.ones(1, 3, 8, 8)).shape
        torch.Size([1, 3, 2, 3])
    """

    def __init__(self, w, h):
        super().__init__()
        self.w, self.h = w, h

    def formula(self, input):
        return F.adaptive_max_pool2d(input, (self.h, self.w))

    def _shown(self):
        return f"({self.w}, {self.h})"


class SpatialFractionalMaxPooling(Layer):
    """The largest of each window of images, (N, C, H, W), whose windows are placed at random (Graham 2014).

    Raises:
        ValueError: windows below 2, or a ratio that is not between 0 and 1.

    Example:
        >>> nn.SpatialFractionalMaxPooling(2, 2, 0.5, 0.5).forward(torch.ones(1, 3, 9, 9)).shape
        torch.Size([1, 3, 4, 4])
    """

    def __init__(self, poolSizeW, poolSizeH, arg1, arg2):
        super().__init__()
        if poolSizeW < 2 or poolSizeH < 2 or arg1 <= 0 or arg2 <= 0 or (arg1 < 1) != (arg2 < 1):
            raise ValueError(f"SpatialFractionalMaxPooling: expected windows of at least 2 and two sizes or two ratios, got "
                             f"{poolSizeW}, {poolSizeH}, {arg1}, {arg2}")
        self.poolSizeW, self.poolSizeH, self.randomSamples, self.newRandomPool = poolSizeW, poolSizeH, None, False
        self.outW, self.outH = (None, None) if arg1 < 1 else (arg1, arg2)
        self.ratioW, self.ratioH = (arg1, arg2) if arg1 < 1 else (None, None)

    def fixPoolingRegions(self, val=True):
        """Keep the windows where they are from one run to the next.

        Args:
            val: False to place them anew each time again.

        Returns:
            This module.
        """
        self.newRandomPool = val
        return self

    def updateOutput(self, input):
        shape = (*input.shape[:2], 2)
        if not self.newRandomPool or self.randomSamples is None or self.randomSamples.shape != shape:
            self.randomSamples = empty(shape, dtype=input.dtype, device=input.device).uniform_()
        return super().updateOutput(input)

    def formula(self, input):
        size = (self.outH, self.outW) if self.outH else (int(input.size(2) * self.ratioH), int(input.size(3) * self.ratioW))
        return F.fractional_max_pool2d(input, (self.poolSizeH, self.poolSizeW), size, _random_samples=self.randomSamples)

    def _shown(self):
        return f"({self.outW or self.ratioW}x{self.outH or self.ratioH}, {self.poolSizeW}, {self.poolSizeH})"


class SpatialUpSamplingNearest(Layer):
    """Images, (N, C, H, W), with each element several times in both directions.

    Raises:
        ValueError: a factor that is no whole number or below 1.

    Example:
        >>> nn.SpatialUpSamplingNearest(2).forward(torch.ones(1, 3, 4, 4)).shape
        torch.Size([1, 3, 8, 8])
    """

    def __init__(self, scale):
        super().__init__()
        if scale < 1 or scale % 1:
            raise ValueError(f"SpatialUpSamplingNearest: expected a whole number of at least 1, got {scale}")
        self.scale_factor = scale

    def formula(self, input):
        return F.interpolate(input, scale_factor=self.scale_factor, mode="nearest")

    def _shown(self):
        return f"({self.scale_factor})"
