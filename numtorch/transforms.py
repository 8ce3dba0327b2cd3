"""Images made ready: plain functions over tensors (C, H, W) or batches (N, C, H, W), and over NumPy images (H, W), (H, W, C) or
(N, H, W, C), which give NumPy images again. Random ones draw anew for each image of a batch.

To name arguments beforehand there is `functools.partial`, and `compose` puts functions one after another; both can be pickled.
"""
from __future__ import annotations

import functools

import numpy as np

from .dtypes import float32
from .exchange.construction import from_numpy, make
from .nn.functional import pad as pad_edges
from .ops.creation.ranges import arange
from .ops.pointwise.functions import where
from .ops.random.draws import rand, randint
from .ops.shape.join import stack
from .tensor import Tensor


class compose:
    """Functions one after another.

    Args:
        transforms: each is given what the one before returned.

    Example:
        >>> import numtorch as torch
        >>> from functools import partial
        >>> from numtorch import transforms as T
        >>> prepare = T.compose(partial(T.pad, padding=1), T.hflip)
        >>> prepare(torch.ones(1, 2, 2)).shape
        torch.Size([1, 4, 4])
    """

    def __init__(self, *transforms) -> None:
        self.transforms = transforms

    def __call__(self, images):
        for transform in self.transforms:
            images = transform(images)
        return images

    def __repr__(self) -> str:
        return f"compose({', '.join(getattr(t, '__name__', repr(t)) for t in self.transforms)})"


def _channels_first(name, images):
    """A NumPy image as a tensor (C, H, W), or several as (N, C, H, W)."""
    if images.ndim not in (2, 3, 4) or images.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected NumPy images (H, W), (H, W, C) or (N, H, W, C) of numbers, got {images.shape} of "
                        f"{images.dtype}")
    images = np.expand_dims(images, 2) if images.ndim == 2 else images
    return from_numpy(np.ascontiguousarray(np.moveaxis(images, -1, -3)))


def _images(function):
    """A function over tensors, which takes NumPy images too."""
    name = function.__name__

    @functools.wraps(function)
    def call(images, *args, **kwargs):
        if isinstance(images, Tensor):
            if images.dim() < 3:
                raise ValueError(f"{name}: expected images (C, H, W) or (N, C, H, W), got {tuple(images.shape)}")
            return function(images, *args, **kwargs)
        if not isinstance(images, np.ndarray):
            raise TypeError(f"{name}: expected a tensor or a NumPy image, got {type(images).__name__}")
        result = np.moveaxis(function(_channels_first(name, images), *args, **kwargs).numpy(), -3, -1)
        return result[..., 0] if images.ndim == 2 else result
    return call


def to_tensor(images) -> Tensor:
    """NumPy images as tensors, channels first; bytes become float32 from 0 to 1.

    Args:
        images: (H, W), (H, W, C) or (N, H, W, C).

    Returns:
        (C, H, W) or (N, C, H, W).

    Raises:
        TypeError: something else.

    Example:
        >>> import numpy
        >>> from numtorch import transforms as T
        >>> T.to_tensor(numpy.full((2, 2, 3), 255, numpy.uint8)).shape
        torch.Size([3, 2, 2])
    """
    if not isinstance(images, np.ndarray):
        raise TypeError(f"to_tensor: expected a NumPy image, got {type(images).__name__}")
    tensor = _channels_first("to_tensor", images)
    return tensor / 255 if images.dtype == np.uint8 else tensor


@_images
def normalize(images, mean, std):
    """Subtract each channel's mean and divide by its deviation.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        mean, std: a number for each channel, or one for all.

    Raises:
        ValueError: other numbers of them than channels, or a deviation of zero.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.normalize(torch.tensor([[[0.0, 1.0]]]), mean=0.5, std=0.25)
        tensor([[[-2.,  2.]]])
    """
    dtype = images.dtype if images.is_floating_point() else float32
    mean, std = (make(value, dtype=dtype).reshape(-1, 1, 1) for value in (mean, std))
    channels = images.shape[-3]
    if any(len(value) not in (1, channels) for value in (mean, std)):
        raise ValueError(f"normalize: expected one number, or one for each of {channels} channels, got {len(mean)} means and "
                         f"{len(std)} deviations")
    if (std == 0).any():
        raise ValueError("normalize: expected deviations that are not zero")
    return (images - mean) / std


@_images
def hflip(images):
    """Left and right exchanged.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.hflip(torch.tensor([[[1, 2, 3]]]))
        tensor([[[3, 2, 1]]])
    """
    return images.flip(-1)


@_images
def vflip(images):
    """Top and bottom exchanged.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.vflip(torch.tensor([[[1], [2]]])).flatten()
        tensor([2, 1])
    """
    return images.flip(-2)


def _randomly(images, flipped, p, generator):
    if images.dim() == 3:
        return flipped(images) if rand((), generator=generator).item() < p else images
    chosen = rand(images.shape[:-3], generator=generator) < p
    return where(chosen.reshape(*images.shape[:-3], 1, 1, 1), flipped(images), images)


@_images
def random_hflip(images, p: float = 0.5, generator=None):
    """Left and right exchanged, or not.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        p: with which probability.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.random_hflip(torch.tensor([[[1, 2, 3]]]), p=1.0)
        tensor([[[3, 2, 1]]])
    """
    return _randomly(images, hflip, p, generator)


@_images
def random_vflip(images, p: float = 0.5, generator=None):
    """Top and bottom exchanged, or not.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        p: with which probability.
        generator: whose random numbers to use; the default one's when None.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.random_vflip(torch.tensor([[[1], [2]]]), p=0.0).flatten()
        tensor([1, 2])
    """
    return _randomly(images, vflip, p, generator)


@_images
def pad(images, padding, fill: float = 0, mode: str = "constant"):
    """A border around images.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        padding: pixels at each edge; or (left and right, top and bottom); or (left, top, right, bottom).
        fill: what a constant border holds.
        mode: "constant", "reflect", "replicate" or "circular".

    Raises:
        ValueError: `padding` is none of these.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.pad(torch.ones(1, 1, 1), (1, 0))
        tensor([[[0., 1., 0.]]])
    """
    edges = (padding,) if isinstance(padding, int) else tuple(padding)
    if len(edges) not in (1, 2, 4):
        raise ValueError(f"pad: expected padding to be 1, 2 or 4 numbers, got {len(edges)}")
    left, top, right, bottom = edges * (4 // len(edges))
    return pad_edges(images, (left, right, top, bottom), mode, fill) if mode == "constant" \
        else pad_edges(images, (left, right, top, bottom), mode)


def _sizes(name, images, size):
    height, width = (size, size) if isinstance(size, int) else size
    if not 0 < height <= images.shape[-2] or not 0 < width <= images.shape[-1]:
        raise ValueError(f"{name}: expected a size within {tuple(images.shape[-2:])}, got {(height, width)}")
    return height, width


@_images
def crop(images, top: int, left: int, height: int, width: int):
    """A part of images.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        top, left: where it begins.
        height, width: of it.

    Raises:
        ValueError: it reaches out of the image.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.crop(torch.arange(9).reshape(1, 3, 3), 1, 1, 2, 2)
        tensor([[[4, 5],
                 [7, 8]]])
    """
    if not 0 <= top <= images.shape[-2] - height or not 0 <= left <= images.shape[-1] - width:
        raise ValueError(f"crop: expected a part within {tuple(images.shape[-2:])}, got {(height, width)} from {(top, left)}")
    return images[..., top:top + height, left:left + width]


@_images
def center_crop(images, size):
    """The middle of images.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        size: of the part: (height, width), or one number for both.

    Raises:
        ValueError: the image is smaller.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.center_crop(torch.arange(9).reshape(1, 3, 3), 1)
        tensor([[[4]]])
    """
    height, width = _sizes("center_crop", images, size)
    return crop(images, (images.shape[-2] - height) // 2, (images.shape[-1] - width) // 2, height, width)


@_images
def random_crop(images, size, padding=0, generator=None):
    """A part of images at a random place.

    Args:
        images: (C, H, W) or (N, C, H, W), or NumPy images.
        size: of the part: (height, width), or one number for both.
        padding: a border of zeros around the image before, as for `pad`.
        generator: whose random numbers to use; the default one's when None.

    Raises:
        ValueError: the image is smaller.

    Example:
        >>> import numtorch as torch
        >>> from numtorch import transforms as T
        >>> T.random_crop(torch.zeros(8, 3, 32, 32), 32, padding=4).shape
        torch.Size([8, 3, 32, 32])
    """
    images = pad(images, padding) if padding else images
    height, width = _sizes("random_crop", images, size)
    batch = images.unsqueeze(0) if images.dim() == 3 else images
    tops, lefts = (randint(extent + 1, (len(batch),), generator=generator)
                   for extent in (images.shape[-2] - height, images.shape[-1] - width))
    if images.dim() > 3 and images.node is None:
        windows = batch.unfold(-2, height, 1).unfold(-2, width, 1)        # a view of all places: (N, C, tops, lefts, height, width)
        return windows.movedim((-4, -3), (1, 2))[arange(len(batch)), tops, lefts]
    parts = [batch[i, ..., t:t + height, l:l + width] for i, (t, l) in enumerate(zip(tops.tolist(), lefts.tolist()))]
    return parts[0] if images.dim() == 3 else stack(parts)               # a gradient of that view would be as large as all of it


__all__ = ["center_crop", "compose", "crop", "hflip", "normalize", "pad", "random_crop", "random_hflip", "random_vflip",
           "to_tensor", "vflip"]
