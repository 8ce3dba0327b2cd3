"""Windows that move over images: how many fit, which of them a tap serves, and the sizes of a convolution."""
from __future__ import annotations

import math
from typing import NamedTuple

from numpy import int64


# ---------------------------------------------------------------- which outputs a tap serves
def first_inside(shift, stride):
    """The first i >= 0 with i * stride + shift >= 0."""
    if shift >= 0:
        return int64(0)
    return (stride - 1 - shift) // stride


def end_inside(shift, stride, size, count):
    """One past the last i < count with i * stride + shift < size."""
    if (count - 1) * stride + shift < size:              # nearly always, and it spares a division
        return count
    room = size - 1 - shift
    if room < 0:
        return int64(0)
    return min(count, room // stride + 1)


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """How many windows fit along an axis. With `ceil_mode` the last may hang over the right edge, but must start inside
    the input or its left padding, as in PyTorch."""
    count = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode=False) -> tuple:
    """The same along several axes."""
    return tuple([output_size(*axis, ceil_mode) for axis in zip(sizes, kernel, stride, padding, dilation)])


# ---------------------------------------------------------------- the sizes of a convolution
class Geometry(NamedTuple):
    """Sizes of one convolution; every tuple is (depth, height, width)."""
    images: int
    channels: int
    size: tuple
    features: int
    kernel: tuple
    stride: tuple
    padding: tuple
    dilation: tuple
    groups: int
    out: tuple

    @property
    def taps(self):
        return math.prod(self.kernel)

    @property
    def places(self):
        return math.prod(self.out)

    @property
    def multiply_adds(self):
        return self.images * self.features * self.places * (self.channels // self.groups) * self.taps


def geometry(x_shape, w_shape, stride, padding, dilation, groups) -> Geometry:
    """The sizes for an input (N, C, *sizes) and a weight (O, C / groups, *kernel) of one to three dimensions."""
    def three(values, one):
        return (one,) * (3 - len(values)) + tuple(values)
    size, kernel = three(x_shape[2:], 1), three(w_shape[2:], 1)
    stride, padding, dilation = three(stride, 1), three(padding, 0), three(dilation, 1)
    out = output_sizes(size, kernel, stride, padding, dilation)
    return Geometry(x_shape[0], x_shape[1], size, w_shape[0], kernel, stride, padding, dilation, groups, out)
