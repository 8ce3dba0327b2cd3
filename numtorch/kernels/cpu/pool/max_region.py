"""Maxima over regions of the last three axes of (planes, D, H, W), for windows in three dimensions and adaptive pooling.

Where regions lie along an axis stands in tables, so that windows of any stride, padding and dilation and regions of unequal
extents are one kernel. The gradient is that of `window.py`: indices count within a plane. In one and two dimensions, windows of
one size are faster there.
"""
from __future__ import annotations

import math

from numpy import float32, inf, int64

from ...elementtypes import itemsize, same
from ...intrinsics import local_array, offset, select
from .window import NOWHERE, is_before, look_down, prepare_planes

T = float32                                              # the compute type, bound by the planner
load = store = same
SPAN = 256                                               # columns that are looked at at once, on the stack

# the descriptor: planes, extents of the input, of the output, dilations; then first and end of each region along D, H and W
PLANES, DEPTH, HEIGHT, WIDTH, SLICES, ROWS, COLUMNS, STEP_D, STEP_H, STEP_W, TABLES = range(11)


def max_region(x, out, indices, descriptor):
    """The largest of each column comes first, whole vectors of columns at once, and of these the largest of each region, and of
    equals the first: 3 times as fast as one element after another, each of which waits for the last. Of long rows, SPAN columns at
    a time.
    """
    planes, depth, height, width = descriptor[PLANES], descriptor[DEPTH], descriptor[HEIGHT], descriptor[WIDTH]
    slices, rows, columns = descriptor[SLICES], descriptor[ROWS], descriptor[COLUMNS]
    step_d, step_h, step_w = descriptor[STEP_D], descriptor[STEP_H], descriptor[STEP_W]
    first_d, first_h = offset(descriptor, TABLES), offset(descriptor, TABLES + 2 * slices)
    first_w = offset(descriptor, TABLES + 2 * slices + 2 * rows)
    best, at = local_array(T, SPAN), local_array(int64, SPAN)
    for line in range(planes * slices * rows):
        plane, piece, row = line // (slices * rows), line // rows % slices, line % rows
        image = offset(x, plane * depth * height * width)
        values, places = offset(out, line * columns), offset(indices, line * columns)
        corner = (first_d[piece] * height + first_h[row]) * width
        inside = first_d[piece] < first_d[slices + piece] and first_h[row] < first_h[rows + row]
        for column in range(columns):
            seen = inside and first_w[column] < first_w[columns + column]
            values[column], places[column] = store(T(-inf)), corner + first_w[column] if seen else NOWHERE
        for low in range(0, width, SPAN):
            span = min(width - low, int64(SPAN))
            for i in range(span):
                best[i], at[i] = T(-inf), corner + low + i
            for d in range(first_d[piece], first_d[slices + piece], step_d):
                for h in range(first_h[row], first_h[rows + row], step_h):
                    look_down(best, at, image, (d * height + h) * width + low, span)
            for column in range(columns):
                begin, end = first_w[column], min(first_w[columns + column], low + span)
                if begin < low:
                    begin += (low - begin + step_w - 1) // step_w * step_w
                largest, place = load(values[column]), places[column]
                for w in range(begin - low, end - low, step_w):
                    value, where = best[w], at[w]
                    wins = is_before(value, where, largest, place)
                    largest, place = select(wins, value, largest), select(wins, where, place)
                values[column], places[column] = store(largest), place


def plan_max_region(dtype, planes, sizes, regions, dilation=(1, 1, 1)):
    """The largest of each region of (planes, *sizes), and where it is, as `window.plan_max_pool2d` has it.

    Addresses: x, out, indices (int64).

    Args:
        regions: for each of the three axes, a list of (first, end) of its regions, within the input.
        dilation: the step from one element of a region to the next along each axis.
    """
    counts = [len(r) for r in regions]
    tables = [value for axis in regions for side in (0, 1) for value in (region[side] for region in axis)]
    size, pointer = itemsize(dtype), dtype + "*"
    outputs, inputs = math.prod(counts), math.prod(sizes)
    work = planes * math.prod(sum(max(e - f, 1) for f, e in axis) for axis in regions)
    return prepare_planes(max_region, dtype, (pointer, pointer, "int64*"), planes, (*sizes, *counts, *dilation, *tables),
                       (inputs * size, outputs * size, outputs * 8), work)
