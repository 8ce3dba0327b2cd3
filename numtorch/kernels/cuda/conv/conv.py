"""Convolution on a GPU: products in tiles (gemm/tiles.py) one of whose operands is read from the image where it lies.

Forward, the depth of the product runs over a group's channels and the kernel's taps, and its columns over places: B[k, j] is the
image's element under tap k of place j. The gradient for the input has features and taps as its depth and the image's places as its
columns; that for the weight has places of all images as its depth, and channels and taps as its columns. Nothing is copied or
padded: what lies outside of the image is 0.

The functions below are the elements; a batch's number is that of an image and a group (for the weight's gradient of a group).
"""
from __future__ import annotations

from ...families.windows import geometry
from ...threads import NOTHING, Prepared
from ..compiler import prepare
from ..gemm.tiles import ELEMENTS, RECTIFIED, ROW_BIAS, SIZE_K, SIZE_M, SIZE_N, header, load, tile_for, tile_kernel

# What the elements' functions read: counts, then sizes of the image, the kernel and the result along three axes, and the window.
GROUPS, IMAGES, TAPS, INSIDE, PLACES, SIZE, KERNEL, OUT, STRIDE, PADDING, DILATION = (
    ELEMENTS, ELEMENTS + 1, ELEMENTS + 2, ELEMENTS + 3, ELEMENTS + 4, ELEMENTS + 5, ELEMENTS + 8, ELEMENTS + 11, ELEMENTS + 14,
    ELEMENTS + 17, ELEMENTS + 20)


def takes_channels_last(dtype, x_shape, w_shape, stride, padding, dilation, groups, gradient=None, device=0) -> bool:
    """Never: images whose channels are last are copied."""
    return False


def along_axis(place, extents, axis, descriptor):
    """Which step of an axis a place or a tap is; `extents`: where in the descriptor its three sizes are."""
    if axis == 2:
        return place % descriptor[extents + 2]
    rest = place // descriptor[extents + 2]
    return rest % descriptor[extents + 1] if axis == 1 else rest // descriptor[extents + 1]


def under_tap(place, tap, descriptor):
    """The place in the image that is under a tap of a place of the result, or -1 outside of it."""
    at = 0
    for axis in range(3):
        x = (along_axis(place, OUT, axis, descriptor) * descriptor[STRIDE + axis] - descriptor[PADDING + axis]
             + along_axis(tap, KERNEL, axis, descriptor) * descriptor[DILATION + axis])
        if x < 0 or x >= descriptor[SIZE + axis]:
            return -1
        at = at * descriptor[SIZE + axis] + x
    return at


def seen_through(place, tap, descriptor):
    """The place of the result of which a tap is over a place of the image, or -1 for none."""
    at = 0
    for axis in range(3):
        reach = (along_axis(place, SIZE, axis, descriptor) + descriptor[PADDING + axis]
                 - along_axis(tap, KERNEL, axis, descriptor) * descriptor[DILATION + axis])
        out = reach // descriptor[STRIDE + axis]
        if reach < 0 or out * descriptor[STRIDE + axis] != reach or out >= descriptor[OUT + axis]:
            return -1
        at = at * descriptor[OUT + axis] + out
    return at


# ---------------------------------------------------------------- forward: features x places, over channels and taps
def weight_row(a, image, i, k, descriptor):
    return load(a[(image % descriptor[GROUPS] * descriptor[SIZE_M] + i) * descriptor[SIZE_K] + k])


def image_under(b, image, k, j, descriptor):
    channel = k // descriptor[TAPS]
    at = under_tap(j, k - channel * descriptor[TAPS], descriptor)
    channels = descriptor[SIZE_K] // descriptor[TAPS]
    return load(b[(image * channels + channel) * descriptor[INSIDE] + max(at, 0)]) * (at >= 0)


def bias_of_group(image, i, descriptor):
    return image % descriptor[GROUPS] * descriptor[SIZE_M] + i


def feature_place(image, i, j, descriptor):
    return (image * descriptor[SIZE_M] + i) * descriptor[SIZE_N] + j


# ---------------------------------------------------------------- for the input: channels x its places, over features and taps
def weight_column(a, image, i, k, descriptor):
    feature = k // descriptor[TAPS]
    features = descriptor[SIZE_K] // descriptor[TAPS]
    row = (image % descriptor[GROUPS] * features + feature) * descriptor[SIZE_M] + i
    return load(a[row * descriptor[TAPS] + (k - feature * descriptor[TAPS])])


def slope_through(b, image, k, j, descriptor):
    feature = k // descriptor[TAPS]
    at = seen_through(j, k - feature * descriptor[TAPS], descriptor)
    features = descriptor[SIZE_K] // descriptor[TAPS]
    return load(b[(image * features + feature) * descriptor[PLACES] + max(at, 0)]) * (at >= 0)


# ---------------------------------------------------------------- for the weight: features x (channels, taps), over all places
def slope_at(a, image, i, k, descriptor):
    number = k // descriptor[PLACES]
    row = (number * descriptor[GROUPS] + image) * descriptor[SIZE_M] + i
    return load(a[row * descriptor[PLACES] + (k - number * descriptor[PLACES])])


def image_at(b, image, k, j, descriptor):
    number, channel = k // descriptor[PLACES], j // descriptor[TAPS]
    at = under_tap(k - number * descriptor[PLACES], j - channel * descriptor[TAPS], descriptor)
    channels = descriptor[SIZE_N] // descriptor[TAPS]
    return load(b[((number * descriptor[GROUPS] + image) * channels + channel) * descriptor[INSIDE] + max(at, 0)]) * (at >= 0)


# ---------------------------------------------------------------- planners
class _Ordered:
    """A call whose addresses are those of a convolution, given to the tiles as A, B, C and bias."""

    __slots__ = ("call", "order")

    def __init__(self, call, order):
        self.call, self.order = call, order

    def __call__(self, *addresses):
        self.call(*[addresses[place] if place >= 0 else 0 for place in self.order], addresses[-1])


def _plan(dtype, shape, sizes, batch, elements, along, order, flags, device):
    m, n, k = sizes
    if not (m and n and batch):
        return NOTHING
    tile = tile_for(m, n, batch)
    row, tiles = header(m, n, k, batch, tile, flags)
    inside = shape.size[0] * shape.size[1] * shape.size[2]
    row += [shape.groups, shape.images, shape.taps, inside, shape.places, *shape.size, *shape.kernel, *shape.out, *shape.stride,
            *shape.padding, *shape.dilation]
    made = prepare(tile_kernel(dtype, tile, elements, along), row, tiles, device)
    return Prepared(_Ordered(made.call, order), made.descriptor, 0, made)


def plan_convolution(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, activation=None, *,
                     channels_last=False, device=0) -> Prepared:
    """Convolution. Run with (x, weight, bias or 0, out, workspace). The arguments are those of the CPU's `plan_convolution`."""
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    features, depth = shape.features // groups, shape.channels // groups * shape.taps
    flags = (ROW_BIAS if bias else 0) | (RECTIFIED if activation == "relu" else 0)
    return _plan(dtype, shape, (features, shape.places, depth), shape.images * groups,
                 (weight_row, image_under, feature_place, bias_of_group), (True, False), (1, 0, 3, 2), flags, device)


def plan_convolution_input_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, *, channels_last=False,
                                device=0) -> Prepared:
    """Gradient for the input, or with a bias of shape (C,) a transposed convolution. Run with (grad_out, weight, bias or 0, grad_x,
    workspace)."""
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    inside = shape.size[0] * shape.size[1] * shape.size[2]
    return _plan(dtype, shape, (shape.channels // groups, inside, shape.features // groups * shape.taps), shape.images * groups,
                 (weight_column, slope_through, feature_place, bias_of_group), (True, False), (1, 0, 3, 2), ROW_BIAS if bias else 0,
                 device)


def plan_convolution_weight_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, *, channels_last=False,
                                 device=0) -> Prepared:
    """Gradient for the weight. Run with (grad_out, x, grad_weight, workspace)."""
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    sizes = shape.features // groups, shape.channels // groups * shape.taps, shape.images * shape.places
    return _plan(dtype, shape, sizes, groups,
                 (slope_at, image_at, feature_place), (True, True), (0, 1, 2, -1), 0, device)
