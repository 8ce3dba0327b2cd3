"""Elements added around the edges of a tensor: a value, its mirror image, its edges, or its other end.

Rows of the result are written one after another: where the row lies in the source is decided for each outer dimension once, the
middle is copied, and only the ends look at the mode. Elements are words of their size; complex ones are two.
"""
from __future__ import annotations

from math import prod

from numpy import float32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import offset
from ..shared.elements import WORDS, part_offsets, prepare_parts, shares, typed
from .rows import move_alone, vectors

T = float32                                              # what a gradient is added up in, bound by the planner
load = store = same
WIDE = 1                                                 # words of an element; bound by the planner

CONSTANT, REFLECT, REPLICATE, CIRCULAR = int64(0), int64(1), int64(2), int64(3)
MODES = {"constant": 0, "reflect": 1, "replicate": 2, "circular": 3}
STEPS = (0, -1, 0, 1)                                    # along the source, from place to place outside of it, by mode

NOWHERE = int64(-1 << 63)                                # strides may be negative, and so places before the first element
GRAIN = 32_000                                           # elements: two threads take 0.8 of the time at twice as many

# the descriptor: a part's rows of the result, the mode, the ends and the middle of a row, outer dims; then for each of these,
# innermost first, its extent in the result, elements before, extent and stride (in words) in the source. An end has so many
# elements, the first one's place in the source, and the step from each to the next
FIRST, STOP, MODE, LEFT, MIDDLE, RIGHT, DIMS, HEAD = 0, 1, 2, 3, 6, 8, 11, 12
COUNT, PLACE, STEP = range(3)
MIDDLE_PLACE, MIDDLE_COUNT = range(2)
EXTENT, BEFORE, SOURCE_EXTENT, STRIDE, DIM = range(5)
PLANES, X_WORDS, OUT_WORDS, FORM = range(4)              # of a gradient: planes, a plane's words in x and in the result, its rows


def source_of(i, extent, mode):
    """Which of `extent` elements stands at place i, counted from the first; -1 for none."""
    if 0 <= i < extent:
        return i
    if mode == REFLECT:
        return -i if i < 0 else 2 * (extent - 1) - i
    if mode == REPLICATE:
        return int64(0) if i < 0 else extent - 1
    if mode == CIRCULAR:
        return i + extent if i < 0 else i - extent
    return int64(-1)


def outer_place(descriptor, block, mode):
    """Where the source of a block of rows begins, by all outer dims but the innermost; NOWHERE where it is all padding."""
    rest = block
    at = int64(0)
    for d in range(1, descriptor[DIMS]):
        dim = offset(descriptor, HEAD + DIM * d)
        i = source_of(rest % dim[EXTENT] - dim[BEFORE], dim[SOURCE_EXTENT], mode)
        at = NOWHERE if i < 0 or at == NOWHERE else at + i * dim[STRIDE]
        rest = rest // dim[EXTENT]
    return at


def copy_end(source, out, end):
    """An end of a row."""
    for k in range(end[COUNT]):
        for w in range(WIDE):
            out[k * WIDE + w] = source[(end[PLACE] + k * end[STEP]) * WIDE + w]


def pad_rows(x, value, out, descriptor):
    """An end in constant mode is read from `value`, in steps of 0. Nothing in a row depends on the mode, and WIDE is a constant."""
    mode, left, middle, right = descriptor[MODE], offset(descriptor, LEFT), offset(descriptor, MIDDLE), offset(descriptor, RIGHT)
    inner, width = offset(descriptor, HEAD), left[COUNT] + middle[MIDDLE_COUNT] + right[COUNT]
    row = descriptor[FIRST]
    while row < descriptor[STOP]:
        block = row // inner[EXTENT]
        base = outer_place(descriptor, block, mode)
        end = min(descriptor[STOP], (block + 1) * inner[EXTENT])
        while row < end:
            i = source_of(row - block * inner[EXTENT] - inner[BEFORE], inner[SOURCE_EXTENT], mode)
            b = offset(out, row * width * WIDE)
            row += 1
            if base == NOWHERE or i < 0:
                for k in range(width):
                    for w in range(WIDE):
                        b[k * WIDE + w] = value[w]
                continue
            a = offset(x, base + i * inner[STRIDE])
            around = value if mode == CONSTANT else a
            copy_end(around, b, left)
            target = offset(b, left[COUNT] * WIDE)
            move_alone(offset(a, middle[MIDDLE_PLACE] * WIDE), target, middle[MIDDLE_COUNT] * WIDE)
            copy_end(around, offset(target, middle[MIDDLE_COUNT] * WIDE), right)


def add_end(grads, sums, end):
    """What `copy_end` copied, back to where it came from."""
    for k in range(end[COUNT]):
        for w in range(WIDE):
            i = (end[PLACE] + k * end[STEP]) * WIDE + w
            sums[i] = store(load(sums[i]) + load(grads[k * WIDE + w]))


def pad_rows_grad(grad_out, grad_x, descriptor):
    """Each element's gradient added to that of the element it was copied from."""
    form = offset(descriptor, FORM)
    mode, left, middle, right = form[MODE], offset(form, LEFT), offset(form, MIDDLE), offset(form, RIGHT)
    inner, width = offset(form, HEAD), left[COUNT] + middle[MIDDLE_COUNT] + right[COUNT]
    for plane in range(descriptor[PLANES]):
        grads, sums = offset(grad_out, plane * descriptor[OUT_WORDS]), offset(grad_x, plane * descriptor[X_WORDS])
        for k in range(descriptor[X_WORDS]):
            sums[k] = store(T(0))
        for block in range(form[STOP] // inner[EXTENT]):
            base = outer_place(form, block, mode)
            for row in range(inner[EXTENT]):
                b = offset(grads, (block * inner[EXTENT] + row) * width * WIDE)
                a = offset(sums, base + source_of(row - inner[BEFORE], inner[SOURCE_EXTENT], mode) * inner[STRIDE])
                add_end(b, a, left)
                source, target = offset(b, left[COUNT] * WIDE), offset(a, middle[MIDDLE_PLACE] * WIDE)
                for k in range(middle[MIDDLE_COUNT] * WIDE):
                    target[k] = store(load(target[k]) + load(source[k]))
                add_end(offset(source, middle[MIDDLE_COUNT] * WIDE), a, right)


# ---------------------------------------------------------------- planners
def _dims(shape, strides, widths):
    """For each dimension, innermost first: its extent in the result, elements before, extent and stride in the source. Outer ones
    without padding that lie one after another become one, and there is one at least."""
    dims: list = []
    for extent, stride, (before, after) in zip(reversed(shape), reversed(strides), reversed(widths)):
        if len(dims) > 1 and before == after == 0 and dims[-1][0] == dims[-1][2] and dims[-1][1] == 0 \
                and stride == dims[-1][2] * dims[-1][3]:
            dims[-1] = (extent * dims[-1][0], 0, extent * dims[-1][2], dims[-1][3])
        else:
            dims.append((before + extent + after, before, extent, stride))
    return dims + [(1, 0, 1, 0)] * (2 - len(dims))


def _form(start, stop, words, mode, dims):
    """The descriptor of `pad_rows`."""
    code, (width, before, n, _) = MODES[mode], dims[0]
    left = min(max(before, 0), width)
    middle = max(left, min(before + n, width)) - left
    ends = [(count, max(source_of(place - before, n, code), 0), STEPS[code])
            for count, place in ((left, 0), (width - left - middle, left + middle))]
    outer = [number for out, ahead, extent, stride in dims[1:] for number in (out, ahead, extent, stride * words)]
    return [start, stop, code, *ends[0], left - before, middle, *ends[1], len(dims) - 1, *outer]


def plan_pad(mode: str, size: int, shape: tuple, strides: tuple, widths: tuple):
    """x with elements added around its edges. Addresses: x (its last dim of stride 1), the value, out, dense.

    Args:
        mode: a key of `MODES`.
        size: bytes of an element.
        shape, strides: of x.
        widths: (before, after) for each dimension; negative ones cut off.
    """
    words = 2 if size == 16 else 1
    dims = _dims(shape, strides, widths)
    rows = prod(dim[0] for dim in dims[1:])
    work = rows * dims[0][0]
    parts = shares(rows, work, GRAIN)
    kernel = typed(pad_rows, WORDS[min(size, 8)], ("element*", "element*", "element*", "int64*"), WIDE=words, **vectors(size))
    return prepare_parts(kernel, [_form(start, stop, words, mode, dims) for start, stop in parts], work)


def plan_pad_grad(mode: str, dtype: str, words: int, shape: tuple, widths: tuple):
    """Each element's gradient added to that of the element it was copied from. Addresses: grad_out, grad_x, both dense; for the
    modes in which every element is one of x.

    Args:
        dtype, words: how an element is stored: as one number, or a complex one as two.
        mode, shape, widths: as for `plan_pad`.
    """
    still = next((d for d, width in enumerate(widths) if width != (0, 0)), 0)        # dims before: planes that never meet
    planes, inside, around = prod(shape[:still]), shape[still:], widths[still:]
    strides = [prod(inside[d + 1:]) for d in range(len(inside))]
    dims = _dims(inside, strides, around)
    rows = prod(dim[0] for dim in dims[1:])
    plane, wide = prod(inside) * words, rows * dims[0][0] * words
    kernel = typed(pad_rows_grad, dtype, ("element*", "element*", "int64*"), WIDE=words)
    parts = shares(planes, planes * wide, GRAIN)
    return prepare_parts(kernel, [[stop - start, plane, wide, *_form(0, rows, words, mode, dims)] for start, stop in parts],
                         planes * wide, part_offsets(parts, wide * itemsize(dtype), plane * itemsize(dtype)))
