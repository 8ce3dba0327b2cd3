"""Layers that make images larger, and that move channels to pixels and back."""
from __future__ import annotations

from .. import functional as F
from .module import Module


class Upsample(Module):
    """Images made larger or smaller by interpolation.

    Args:
        size: the new extents, or one for all; or
        scale_factor: what to multiply the extents with, one number or one for each.
        mode: "nearest", "linear" (3-D input), "bilinear", "bicubic" (4-D) or "trilinear" (5-D).
        align_corners: whether the centres of the corner pixels stay where they are; else the outer edges do. Not of "nearest".
        recompute_scale_factor: compute positions from the extents, and not from `scale_factor`.

    Shape:
        (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> the same with the new extents, floor(extent * scale_factor).

    Raises:
        ValueError: in the call, options that do not go together.
        NotImplementedError: in the call, a mode that the input's dimensions do not have.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1., 2.]]]))
        tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(self, size=None, scale_factor=None, mode: str = "nearest", align_corners=None,
                 recompute_scale_factor=None) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        self.scale_factor = tuple(float(f) for f in scale_factor) if isinstance(scale_factor, tuple) else \
            float(scale_factor) if scale_factor else None
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             recompute_scale_factor=self.recompute_scale_factor)

    def extra_repr(self):
        what = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Images made larger; each new pixel is the nearest old one.

    Args:
        size: (H_out, W_out), or one number for both; or
        scale_factor: what to multiply the extents with.

    Shape:
        (N, C, H, W) -> (N, C, H_out, W_out).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1., 2.]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Images made larger by bilinear interpolation, the centres of the corner pixels staying where they are.

    Args:
        size: (H_out, W_out), or one number for both; or
        scale_factor: what to multiply the extents with.

    Shape:
        (N, C, H, W) -> (N, C, H_out, W_out).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1., 3.]]]]))
        tensor([[[[1., 2., 3.]]]])
    """

    def __init__(self, size=None, scale_factor=None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Groups of channels become pixels (Shi et al. 2016).

    Args:
        upscale_factor: r.

    Shape:
        (*, C r^2, H, W) -> (*, C, H r, W r).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.PixelShuffle(2)(torch.arange(4).view(4, 1, 1))
        tensor([[[0, 1],
                 [2, 3]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self):
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels become channels: the inverse of `PixelShuffle`.

    Args:
        downscale_factor: r.

    Shape:
        (*, C, H r, W r) -> (*, C r^2, H, W).

    Example:
        >>> import numtorch as torch
        >>> torch.nn.PixelUnshuffle(2)(torch.arange(4).view(1, 2, 2)).flatten()
        tensor([0, 1, 2, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self):
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels dealt out over groups in turn (Zhang et al. 2018).

    Args:
        groups: how many; it divides the channels.

    Shape:
        (N, C, *) -> the same shape: channel g + groups * i is what i + C / groups * g was.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.ChannelShuffle(2)(torch.arange(4).view(1, 4, 1)).flatten()
        tensor([0, 2, 1, 3])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input):
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self):
        return f"groups={self.groups}"
