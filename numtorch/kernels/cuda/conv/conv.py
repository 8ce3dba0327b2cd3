"""Convolution on a GPU: products in tiles (gemm/tiles.py) one of whose operands is read from the image where it lies
(operands.py).

Forward, the depth of the product runs over a group's channels and the kernel's taps, and its columns over the places of all
images: B[k, j] is the image's element under tap k of place j. The gradient for the input has features and taps as its depth and
the images' places as its columns; that for the weight has places of all images as its depth, and channels and taps as its
columns, and shares the depth (gemm/depth.py). Nothing is copied or padded: what lies outside of the image is 0. A batch's number
is that of a group.
"""
from __future__ import annotations

import itertools
import math

import numpy as np
from numpy import int32, int64

from ...elementtypes import itemsize
from ...families.windows import geometry
from ...threads import NOTHING, Prepared
from ..compiler import prepare
from ..environment import SMALL
from ..gemm import depth, tiles
from ..gemm.choice import Choice, later
from ..gemm.gemm import FURTHEST, plan_gemm
from ..gemm.tiles import NARROW, RECTIFIED, ROW_BIAS, Elements, Strided, accumulator, header, tile_for, tile_kernel, width_of
from ..shared.elements import launch
from . import operands
from .operands import A_DEEP, A_ROW, A_STEP, NOWHERE, OUT, SIZE, Listed, Seen, Slopes, Under

COST = 8                                                 # instructions for an element of an image that a thread brings
LARGE_IMAGE = 8 if SMALL else 512                        # places


def takes_channels_last(dtype, x_shape, w_shape, stride, padding, dilation, groups, gradient=None, device=0) -> bool:
    """Never: images whose channels are last are copied."""
    return False


# ---------------------------------------------------------------- entries of steps of the depth
def _corners(planes, kernel, dilation):
    """(plane, z, y, x) of each step of a depth of so many planes by the kernel's taps, from a window's corner."""
    plane, *axes = np.indices((planes, *kernel)).reshape(4, -1)
    return plane, [axis * apart for axis, apart in zip(axes, dilation)]


def _entries(distance, axes, missing, count):
    """Words of `Seen`: as many of nothing first as a slice has missing steps."""
    z, y, x = axes
    words = [distance, x << 32 | y & 0xFFFFFFFF, z, np.zeros_like(z)][:2 if count == 2 else 4]
    nothing = [0, NOWHERE & 0xFFFFFFFF, 0, 0][:len(words)]
    return nothing * missing + np.stack(words, 1).ravel().tolist()


def _flat(axes, size):
    z, y, x = axes
    return (z * size[1] + y) * size[2] + x


def _forward_entries(shape, channels, missing, axes, nbytes):
    plane, corner = _corners(channels, shape.kernel, shape.dilation)
    return _entries((plane * math.prod(shape.size) + _flat(corner, shape.size)) * nbytes, corner, missing, axes)


def _gradient_entries(shape, features, missing, axes, nbytes):
    """Of each phase: which windows have a place under a tap, if the stride leads to one; then how far features and taps of the
    weight are."""
    plane, corner = _corners(features, shape.kernel, shape.dilation)
    words = []
    for phase in itertools.product(*map(range, shape.stride)):
        met = np.logical_and.reduce([(p - t) % s == 0 for p, t, s in zip(phase, corner, shape.stride)])
        z, y, x = ((p - t) // s for p, t, s in zip(phase, corner, shape.stride))
        distance = np.where(met, plane * shape.places + _flat((z, y, x), shape.out), 0)
        words += _entries(distance * nbytes, (z, np.where(met, y, NOWHERE), x), missing, axes)
    tap = np.arange(features * shape.taps) % shape.taps
    return words + [0] * missing + (plane * (shape.channels // shape.groups) * shape.taps + tap).tolist()


# ---------------------------------------------------------------- planners
class _Ordered:
    """A call whose addresses are those of a convolution, given to the tiles as A, B, C and bias."""

    __slots__ = ("call", "order")

    def __init__(self, call, order):
        self.call, self.order = call, order

    def __call__(self, *addresses):
        self.call(*[addresses[place] if place >= 0 else 0 for place in self.order], addresses[-1])


def _ordered(made, order):
    return Prepared(_Ordered(made.call, order), made.descriptor, 0, made)


def _sixteen_at_once(plan, dtype, depth, places):
    """`plan(width, wide)` for addresses that allow it: A's lines, which are so deep, and the result's, of so many places."""
    width = width_of(dtype)
    deep, wide = depth % width == 0, places % width == 0
    if width == 1 or not (deep or wide):
        return plan(1)
    return Choice(later(lambda: plan(1)), lambda: plan(width if deep else 1, wide), False, (0,) * deep + (2,) * wide).prepared()


def _by_points(shape, dtype):
    """Whether each place sees itself alone, so that there is a product for each image, which is large beside a tile; of 16-bit
    floats, which tensor cores multiply, an eighth as large."""
    alone = shape.taps == shape.groups == 1 and set(shape.stride) == {1} and set(shape.padding) == {0}
    return alone and shape.places >= (LARGE_IMAGE // 8 if itemsize(dtype) == 2 else LARGE_IMAGE)


def _index(places):
    """What the places of all images are divided as."""
    return int32 if places < 1 << 31 else int64


def _axes(shape):
    """How many axes there are to look at: images have two, volumes three."""
    return 2 if shape.size[0] == shape.kernel[0] == shape.out[0] == 1 and shape.padding[0] == 0 else 3


def _row(shape, dtype, weight=(0, 0, 0), result=(0, 0), pieces=(1, 0, 0), phases=(1, 0)):
    """What operands read: see there."""
    inside = math.prod(shape.size)
    row = [shape.images, shape.channels, shape.features, shape.taps, inside, shape.places, *shape.size, *shape.kernel, *shape.out,
           *shape.stride, *shape.padding, *shape.dilation, *weight, *result, *pieces, *phases, itemsize(dtype)]
    return row + [0] * (operands.ENTRIES - tiles.ELEMENTS - len(row))


def plan_convolution(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, activation=None, *,
                     channels_last=False, device=0) -> Prepared:
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    features, channels, axes = shape.features // groups, shape.channels // groups, _axes(shape)
    m, n, k = features, shape.images * shape.places, channels * shape.taps
    if not (m and n):
        return NOTHING
    if _by_points(shape, dtype):
        steps = 0, shape.channels * shape.places, m * shape.places
        made = plan_gemm(m, shape.places, k, dtype, (k, 1), (shape.places, 1), (shape.places, 1), batch=shape.images,
                         batch_strides=steps, bias="row" if bias else None, activation=activation, device=device)
        return _ordered(made, (1, 0, 3, 2, -1))
    tile = tile_for(m, n, groups, itemsize(accumulator(dtype)), COST)
    flags = (ROW_BIAS if bias else 0) | (RECTIFIED if activation == "relu" else 0)
    row, count = header(m, n, k, groups, tile, flags)
    row += _row(shape, dtype, (k, 1, m * k), (shape.places, shape.features * shape.places))
    row += _forward_entries(shape, channels, -k % tile.depth, axes, itemsize(dtype))

    def plan(width, wide=False):
        a, b = Strided((A_ROW, A_DEEP, A_STEP), True, width), Seen(operands.under_window, SIZE, axes, False)
        elements = Elements(a, b, wide, operands.column_of_images, operands.row_of_images, operands.bias_of_group)
        return prepare(tile_kernel(dtype, tile, elements, index=_index(n)), row, count, device)

    made = _sixteen_at_once(plan, dtype, k, shape.places)
    return _ordered(made, (1, 0, 3, 2))


def plan_convolution_input_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, *, channels_last=False,
                                device=0) -> Prepared:
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    features, channels, inside, axes = shape.features // groups, shape.channels // groups, math.prod(shape.size), _axes(shape)
    m, n, k = channels, shape.images * inside, features * shape.taps
    if not (m and n):
        return NOTHING
    if _by_points(shape, dtype):
        steps = 0, shape.features * inside, m * inside
        made = plan_gemm(m, inside, k, dtype, (1, m), (inside, 1), (inside, 1), batch=shape.images, batch_strides=steps,
                         bias="row" if bias else None, device=device)
        return _ordered(made, (1, 0, 3, 2, -1))
    tile = tile_for(m, n, groups, itemsize(accumulator(dtype)), COST)
    row, count = header(m, n, k, groups, tile, ROW_BIAS if bias else 0)
    missing = -k % tile.depth
    phases = math.prod(shape.stride), (k + missing) * 2 * (axes - 1)
    row += _row(shape, dtype, result=(inside, shape.channels * inside), phases=phases)
    row += _gradient_entries(shape, features, missing, axes, itemsize(dtype))

    def plan(width, wide=False):
        seen = Seen(operands.through_windows, OUT, axes, phases[0] > 1)
        elements = Elements(Listed(), seen, wide, operands.column_of_images, operands.row_of_images, operands.bias_of_group)
        return prepare(tile_kernel(dtype, tile, elements, index=_index(n)), row, count, device)

    return _ordered(_sixteen_at_once(plan, dtype, 1, inside), (1, 0, 3, 2))


def plan_convolution_weight_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, *, channels_last=False,
                                 device=0) -> Prepared:
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    channels = shape.channels // groups
    m, n, k = shape.features // groups, channels * shape.taps, shape.images * shape.places
    if not (m and n):
        return NOTHING
    work = accumulator(dtype)
    tile = tile_for(m, n, max(groups, depth.WANTED), itemsize(work), COST // 2 if channels % NARROW == 0 else COST)
    one_tap = channels % tile.wide == 0
    wanted = tiles.PROCESSORS * tile.resident(itemsize(work), 90)
    span, pieces = depth.spans(-(-m // tile.tall) * -(-n // tile.wide) * groups, k, tile, dtype, wanted)
    row, count = header(m, n, k, groups * pieces, tile)
    row += _row(shape, dtype, pieces=(pieces, span, k))
    column = operands.column_under_tap if one_tap else operands.column_of_weight
    wide = pieces > 1 and not one_tap and n % width_of(work) == 0
    turns = "if" if shape.out[2] >= tile.depth else "while"
    elements = Elements(Slopes(turns), Under(_axes(shape), one_tap, turns), wide, column, bias_row=operands.bias_of_group,
                        depth_of=operands.depth_of_piece)
    index = int64 if shape.places > FURTHEST else _index(k)
    first = prepare(tile_kernel(dtype, tile, elements, work if pieces > 1 else dtype, index), row, count, device)
    if pieces == 1:
        return _ordered(first, (0, 1, 2, -1))
    total = shape.features * n
    row, _ = header(shape.features, n, k, 1, tile)
    last = launch(depth.adding_kernel(dtype, tiles.place_c), row + [0] * 9 + [pieces], total, device)
    made = Prepared(depth.InPieces(first, last, pieces * total * itemsize(work), device), last.descriptor, 0, (first, last))
    return _ordered(made, (0, 1, 2, -1))
