"""The handwritten digits that come with the package (see README.md here for their source and licence)."""
from __future__ import annotations

import gzip
from importlib.resources import files

import numpy as np

from ..exchange.construction import from_numpy
from ..tensor import Tensor


def digits() -> tuple[Tensor, Tensor]:
    """1797 handwritten digits of 8 by 8 pixels.

    Returns:
        images (1797, 1, 8, 8) of float32 from 0 to 1, and their classes (1797) as int64.

    Example:
        >>> from numtorch.data import digits
        >>> images, labels = digits()
        >>> images.shape, labels[:3]
        (torch.Size([1797, 1, 8, 8]), tensor([0, 1, 2]))
    """
    with files(__package__).joinpath("digits.csv.gz").open("rb") as packed, gzip.open(packed, "rt") as text:
        rows = np.loadtxt(text, np.int64, delimiter=",")
    images = (rows[:, :64] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return from_numpy(images), from_numpy(np.ascontiguousarray(rows[:, 64]))


def digits_split(test_share: float = 0.2, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The digits in random order, divided into a training and a test part.

    Args:
        test_share: which part of each class is for testing, so that both parts hold all classes alike.
        seed: of the order.

    Returns:
        Training images (N, 1, 8, 8) and labels (N), test images and labels, as `digits` gives them.

    Raises:
        ValueError: `test_share` is not between 0 and 1.

    Example:
        >>> import numtorch as torch
        >>> [tuple(part.shape) for part in torch.data.digits_split(test_share=0.25)]
        [(1350, 1, 8, 8), (1350,), (447, 1, 8, 8), (447,)]
    """
    if not 0 < test_share < 1:
        raise ValueError(f"digits_split: expected test_share between 0 and 1, got {test_share}")
    images, labels = digits()
    order = np.random.default_rng(seed).permutation(labels.layout.numel)
    classes = labels.numpy()[order]
    rank = np.zeros(len(order))                          # where each example stands among those of its class, from 0 to 1
    for kind in range(10):
        members = np.flatnonzero(classes == kind)
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    test, training = order[rank < test_share], order[rank >= test_share]
    pixels, names = images.numpy(), labels.numpy()
    return from_numpy(pixels[training]), from_numpy(names[training]), from_numpy(pixels[test]), from_numpy(names[test])
