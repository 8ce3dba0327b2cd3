"""What programs are made from: arrays in many memory orders. A printed program carries these functions with it."""
from __future__ import annotations

import numpy as np


def from_numpy(torch):
    """A library's from_numpy. PyTorch takes no negative strides, and is given twice as long ones: of neither are the elements dense, and both
    can be seen in the same other shapes."""
    def convert(values):
        negative = torch.__name__ == "torch" and min(values.strides, default=0) < 0
        return torch.from_numpy(np.stack([values, values], -1)[..., 0] if negative else values)
    return convert


def array(seed, shape, dtype="float32", order="C"):
    """A random array.

    Args:
        seed: of its values. Those of an odd seed are multiples of a half, so that some are equal.
        order: of its memory: "C", "F", "gapped" (every second element of a larger one), "reversed" (negative strides).
    """
    rng = np.random.default_rng(seed)
    if 0 in shape:                                       # the larger array of which it is a part may be of any size
        order = "C"
    if order == "gapped":
        return _plain(array(seed, tuple(2 * n + 1 for n in shape), dtype)[tuple(slice(1, None, 2) for _ in shape)])
    if order == "reversed":
        return _plain(array(seed, shape, dtype)[tuple(slice(None, None, -1) for _ in shape)])
    if dtype == "bool":
        values = rng.random(shape) < 0.5
    elif np.dtype(dtype).kind in "iu":
        values = rng.integers(0 if dtype[0] == "u" else -9, 10, shape)
    else:
        values = rng.uniform(-2, 2, shape)
        if np.dtype(dtype).kind == "c":
            values = values + 1j * rng.uniform(-2, 2, shape)
        if seed % 2:
            values = np.round(2 * values) / 2
    return _plain(np.asarray(values).astype(dtype, order=order))


def _plain(values):
    """The array, with the usual strides where every order is the same."""
    return values.copy().reshape(-1).reshape(values.shape) if values.flags.c_contiguous else values


def indices(seed, shape, stop, start=0):
    """Random places in a dimension, as int64."""
    return np.random.default_rng(seed).integers(start, stop, shape)


def distinct(seed, count, stop):
    """Random places in a dimension, none twice."""
    return np.random.default_rng(seed).permutation(stop)[:count]
