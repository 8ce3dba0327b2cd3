"""The operands of a convolution as a product in tiles (gemm/tiles.py): what brings slices of them, and where results are.

No element asks for a division. Forward and for the input, a thread has one place, and the descriptor has an entry for each step
of the depth (`Seen`): how far the element is from the first, and how far along axes, so that what is outside of the image is
known. For the weight, a thread has some channels and taps, and goes on from place to place (`Under`).
"""
from __future__ import annotations

from typing import Any, NamedTuple

from numpy import int32, int64, uint32

from ...intrinsics import divide, offset
from ..environment import SMALL
from ..gemm.tiles import ELEMENTS, NUMBER, SIZE_K, SIZE_M, SIZE_N, W, read
from ..serial import moved

# What the operands read: counts, then sizes of the image, the kernel and the result along three axes, and the window.
IMAGES, CHANNELS, FEATURES, TAPS, INSIDE, PLACES, SIZE, KERNEL, OUT, STRIDE, PADDING, DILATION = (
    ELEMENTS, ELEMENTS + 1, ELEMENTS + 2, ELEMENTS + 3, ELEMENTS + 4, ELEMENTS + 5, ELEMENTS + 6, ELEMENTS + 9, ELEMENTS + 12,
    ELEMENTS + 15, ELEMENTS + 18, ELEMENTS + 21)
# Strides of the weight as A, of rows, the depth and groups, and of the result, of rows and images; pieces of the depth, the depth
# of one and of all; phases, words of each; bytes of an element; and then the entries, at an even place: two of them are loaded at
# once.
A_ROW, A_DEEP, A_STEP, C_ROW, C_IMAGE, PIECES, SPAN, WHOLE, PHASES, PHASE, NBYTES = range(ELEMENTS + 24, ELEMENTS + 35)
ENTRIES = ELEMENTS + 36
NOWHERE = -(1 << 30)                                     # a coordinate that is outside of any image
AXES = 2                                                 # of images


def place_of(number, extents, descriptor):
    """The image of a place of all, and its three coordinates there; the sizes of axes are at `extents`."""
    deep, high, wide = NUMBER(descriptor[extents]), NUMBER(descriptor[extents + 1]), NUMBER(descriptor[extents + 2])
    lines = divide(NUMBER(number), wide)
    layers = divide(lines, high)
    image = divide(layers, deep)
    return (int64(image), int32(int64(layers) - int64(image) * deep), int32(int64(lines) - int64(layers) * high),
            int32(int64(NUMBER(number)) - int64(lines) * wide))


def place_at(z, y, x, extents, descriptor):
    return (z * descriptor[extents + 1] + y) * descriptor[extents + 2] + x


# ---------------------------------------------------------------- forward, and for the input: places and entries
def under_window(images, group, j, descriptor):
    """Where the first tap of place j of the result is: an address, which may lie before the image, and coordinates; there is one
    phase."""
    number, z, y, x = place_of(j, OUT, descriptor)
    z = int32(z * descriptor[STRIDE] - descriptor[PADDING])
    y = int32(y * descriptor[STRIDE + 1] - descriptor[PADDING + 1])
    x = int32(x * descriptor[STRIDE + 2] - descriptor[PADDING + 2])
    channels = divide(descriptor[SIZE_K], descriptor[TAPS])
    first = (number * descriptor[CHANNELS] + group * channels) * descriptor[INSIDE]
    return offset(images, first + place_at(z, y, x, SIZE, descriptor)), z, y, x, int64(0)


def through_windows(slopes, group, j, descriptor):
    """Where the window is whose first tap is over place j of the image, and the place's phase: what is left of it by the stride."""
    number, z, y, x = place_of(j, SIZE, descriptor)
    z = int32(z + descriptor[PADDING])
    y = int32(y + descriptor[PADDING + 1])
    x = int32(x + descriptor[PADDING + 2])
    above = divide(z, int32(descriptor[STRIDE]))
    down = divide(y, int32(descriptor[STRIDE + 1]))
    across = divide(x, int32(descriptor[STRIDE + 2]))
    phase = place_at(z - above * descriptor[STRIDE], y - down * descriptor[STRIDE + 1], x - across * descriptor[STRIDE + 2], STRIDE,
                     descriptor)
    features = divide(descriptor[SIZE_K], descriptor[TAPS])
    first = (number * descriptor[FEATURES] + group * features) * descriptor[PLACES]
    return offset(slopes, first + place_at(above, down, across, OUT, descriptor)), above, down, across, phase


def seen(elements, entry, third, z, y, x, deep, high, wide):
    """The element so many bytes on as an entry says; 0 outside of these sizes."""
    nbytes, axes = entry
    inside = (uint32(int32(y + int32(axes))) < high) & (uint32(int32(x + int32(axes >> 32))) < wide)
    if AXES == 3:
        inside &= uint32(int32(z + int32(third[0]))) < deep
    return W(read(moved(elements, nbytes)[0])) if inside else W(0)


class Seen(NamedTuple):
    """Brings slices of what is under windows, or of the windows over what is: `begin_at` says where a column's are. Where there
    is one phase, a thread's columns have the same entries, so it has a few of them and fewer steps."""
    begin_at: Any
    extents: int
    axes: int
    phases: bool
    along: bool = False
    width: int = 1

    registers, parts = 40, 1 if SMALL else 4

    def names(self):
        return dict(begin_at=self.begin_at, AXES=self.axes)

    @property
    def words(self):
        """Of an entry."""
        return 2 * (self.axes - 1)

    def _columns(self, side):
        return sorted({side.apart(e)[0] for e in side.loads})

    def _lists(self, side):
        return range(len(self._columns(side)) if self.phases else 1)

    def begin(self, side, edge):
        sizes = ", ".join(f"uint32(descriptor[{self.extents + axis}])" for axis in range(3))
        lines = [f"deep, high, wide = {sizes}"]
        for u, columns in enumerate(self._columns(side)):
            column = f"{edge} + min(int32(b_row + {columns}), b_edge)"
            lines.append(f"b_from{u}, z{u}, y{u}, x{u}, phase{u} = begin_at(b, image, {column}, descriptor)")
        return lines + [f"entries{u} = offset(descriptor, ENTRIES + phase{u} * descriptor[PHASE] + b_step * {self.words})"
                        for u in self._lists(side)]

    def fetch(self, side, first):
        lines = []
        for e in side.loads:
            columns, steps = side.apart(e)
            u = self._columns(side).index(columns)
            entry, third = f"entry{u if self.phases else 0}_{steps}", f"third{u if self.phases else 0}_{steps}"
            if self.phases or u == 0:
                for k, name in enumerate((entry, third)[:self.axes - 1]):
                    lines.append(f"{name} = neighbours(entries{u}, {steps * self.words + 2 * k})")
            given = f"{entry}, {third if self.axes == 3 else entry}, z{u}, y{u}, x{u}"
            lines.append(f"b{e} = seen(b_from{u}, {given}, deep, high, wide)")
        return lines

    def advance(self, side):
        return [f"entries{u} = offset(entries{u}, {side.depth * self.words})" for u in self._lists(side)]


class Listed(NamedTuple):
    """Brings slices of the weight for the input, whose steps of the depth are features and taps; behind the phases the descriptor
    has how far each is."""
    along: bool = True
    width: int = 1

    registers, parts = 0, 1

    def names(self):
        return {}

    def begin(self, side, edge):
        return ["features = divide(descriptor[SIZE_K], descriptor[TAPS])",
                "listed = offset(descriptor, ENTRIES + descriptor[PHASES] * descriptor[PHASE] + a_step)",
                f"a_from = offset(a, (image * features * descriptor[SIZE_M] + {edge}) * descriptor[TAPS])",
                *[f"a_at{e} = min(int32(a_row + {side.apart(e)[0]}), a_edge) * descriptor[TAPS]" for e in side.loads]]

    def fetch(self, side, first):
        lines = []
        for e in side.loads:
            steps = side.apart(e)[1]
            value = f"W(read(a_from[a_at{e} + listed[{steps}]]))"
            lines.append(f"a{e} = {value}" + (f" if a_step + {steps} >= missing else W(0)" if first else ""))
        return lines

    def advance(self, side):
        return [f"listed = offset(listed, {side.depth})"]


# ---------------------------------------------------------------- for the weight: steps of the depth are places of all images
def group_of(image, descriptor):
    """A batch's number is a group's and a piece's of the depth."""
    return divide(image, descriptor[PIECES])


def depth_of_piece(image, descriptor):
    piece = image - group_of(image, descriptor) * descriptor[PIECES]
    return min(descriptor[SPAN], descriptor[WHOLE] - piece * descriptor[SPAN])


def first_place(image, step, missing, descriptor):
    """The image and the place of a step of a piece's first slice, which may be before the first image."""
    piece = image - group_of(image, descriptor) * descriptor[PIECES]
    whole = piece * descriptor[SPAN] + step + missing * (descriptor[PLACES] - 1)
    number = divide(whole, descriptor[PLACES])
    return number - missing, whole - number * descriptor[PLACES]


class Slopes(NamedTuple):
    """Brings slices of the result's gradient: a row is a feature. `turns`: "if" where a slice meets one end of an image at most,
    else "while"."""
    turns: str
    along: bool = True
    width: int = 1

    registers, parts = 8, 1

    def names(self):
        return {}

    def begin(self, side, edge):
        return ["places, turn_a = descriptor[PLACES], (descriptor[FEATURES] - 1) * descriptor[PLACES]",
                "number, a_place = first_place(image, a_step, missing, descriptor)",
                "feature = number * descriptor[FEATURES] + group_of(image, descriptor) * descriptor[SIZE_M]",
                f"a_from = offset(a, (feature + {edge}) * places + a_place)",
                *[f"a_at{e} = INDEX(INDEX(min(int32(a_row + {side.apart(e)[0]}), a_edge)) * INDEX(places))" for e in side.loads]]

    def fetch(self, side, first):
        inside = " if a_step >= missing else W(0)" if first else ""
        return [f"a{e} = W(read(a_from[a_at{e}])){inside}" for e in side.loads]

    def advance(self, side):
        return [f"a_place, a_from = a_place + {side.depth}, offset(a_from, {side.depth})",
                f"{self.turns} a_place >= places:",
                "    a_place, a_from = a_place - places, offset(a_from, turn_a)"]


def tap_of(channel, tap, descriptor):
    """Where a channel under a tap is seen from a window's first tap: in bytes, and along axes."""
    _, z, y, x = place_of(tap, KERNEL, descriptor)
    z = int32(z * descriptor[DILATION])
    y = int32(y * descriptor[DILATION + 1])
    x = int32(x * descriptor[DILATION + 2])
    return (channel * descriptor[INSIDE] + place_at(z, y, x, SIZE, descriptor)) * descriptor[NBYTES], z, y, x


def within(z, y, x, deep, high, wide):
    """Whether coordinates are within these sizes."""
    inside = (uint32(int32(y)) < high) & (uint32(int32(x)) < wide)
    return inside & (uint32(int32(z)) < deep) if AXES == 3 else inside


class Under(NamedTuple):
    """Brings slices of the images for the weight: a column is a channel under a tap. Where a tile's columns are under one tap,
    which then go through channels first, it is asked once for all whether that is outside of the image. `turns`: "if" where a
    slice meets one end of a line at most, else "while"."""
    axes: int
    one_tap: bool
    turns: str
    along: bool = True
    width: int = 1

    registers, parts = 50, 1

    def names(self):
        return dict(AXES=self.axes)

    def begin(self, side, edge):
        lines = ["deep, high, wide = uint32(descriptor[SIZE]), uint32(descriptor[SIZE + 1]), uint32(descriptor[SIZE + 2])",
                 "number, b_place = first_place(image, b_step, missing, descriptor)",
                 "channels = divide(descriptor[SIZE_N], descriptor[TAPS])",
                 "number = number * descriptor[CHANNELS] + group_of(image, descriptor) * channels",
                 "here = offset(b, number * descriptor[INSIDE])",
                 "number, z, y, x = place_of(b_place, OUT, descriptor)",
                 "to_image, size = descriptor[CHANNELS] * descriptor[INSIDE], int64(1)"]
        for axis, name in reversed(list(enumerate("zyx"))):
            lines += [f"{name}_step, {name}_first = int32(descriptor[STRIDE + {axis}]), int32(-descriptor[PADDING + {axis}])",
                      f"{name}_end = int32({name}_first + descriptor[OUT + {axis}] * {name}_step)",
                      f"{name} = int32({name} * {name}_step + {name}_first)",
                      # from place to place, and from behind an axis' last back to its first
                      f"{name}_next, {name}_back = {name}_step * size, ({name}_first - {name}_end) * size",
                      f"here, size = offset(here, {name} * size), size * descriptor[SIZE + {axis}]"]
        for e in side.loads:
            lines += [f"column = {edge} + min(int32(b_row + {side.apart(e)[0]}), b_edge)",
                      f"outer = divide(column, {'channels' if self.one_tap else 'descriptor[TAPS]'})",
                      f"inner = column - outer * {'channels' if self.one_tap else 'descriptor[TAPS]'}",
                      f"b_at{e}, z{e}, y{e}, x{e} = tap_of({'inner, outer' if self.one_tap else 'outer, inner'}, descriptor)"]
        return lines

    def fetch(self, side, first):
        lines = []
        for e in side.loads:
            if e == 0 or not self.one_tap:
                there = " and b_step >= missing" if first else ""
                lines.append(f"inside = within(z + z{e}, y + y{e}, x + x{e}, deep, high, wide){there}")
            lines.append(f"b{e} = W(read(moved(here, b_at{e})[0])) if inside else W(0)")
        return lines

    def advance(self, side):
        return [f"x, here = int32(x + {side.depth} * x_step), offset(here, {side.depth} * x_next)",
                f"{self.turns} x >= x_end:",
                "    x, y, here = int32(x + x_first - x_end), int32(y + y_step), offset(here, y_next + x_back)",
                "    if y >= y_end:",
                "        y, z, here = int32(y + y_first - y_end), int32(z + z_step), offset(here, z_next + y_back)",
                "        if z >= z_end:",
                "            z, here = int32(z + z_first - z_end), offset(here, to_image + z_back)"]


# ---------------------------------------------------------------- where results are
def column_of_images(image, j, descriptor):
    """Where the first row's column j is: a place of one of the images, in a group of its features or channels."""
    places = descriptor[C_ROW]
    number = int64(divide(NUMBER(j), NUMBER(places)))
    return number * descriptor[C_IMAGE] + image * descriptor[SIZE_M] * places + j - number * places


def row_of_images(descriptor):
    return descriptor[C_ROW]


def bias_of_group(image, i, descriptor):
    return image * descriptor[SIZE_M] + i


def column_of_weight(image, j, descriptor):
    """Where the first row's column j is, of a piece's sums or of the weight."""
    group = group_of(image, descriptor)
    piece = image - group * descriptor[PIECES]
    return (piece * descriptor[FEATURES] + group * descriptor[SIZE_M]) * descriptor[SIZE_N] + j


def column_under_tap(image, j, descriptor):
    """The same where columns go through channels first."""
    channels = divide(descriptor[SIZE_N], descriptor[TAPS])
    tap = divide(j, channels)
    return column_of_weight(image, (j - tap * channels) * descriptor[TAPS] + tap, descriptor)
