"""The largest of regions on a GPU: a thread a region. Where regions lie stands in the descriptor, which is the host's."""
from __future__ import annotations

from math import isnan

from numpy import float32, inf, int64

from ...cpu.pool import max_region as host
from ...cpu.pool.max_region import (
    COLUMNS,
    DEPTH,
    HEIGHT,
    PLANES,
    ROWS,
    SLICES,
    STEP_D,
    STEP_H,
    STEP_W,
    TABLES,
    WIDTH,
)
from ...cpu.pool.window import NOWHERE
from ...elementtypes import same
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel

T = float32
load = store = same


def max_regions(x, out, indices, descriptor):
    depth, height, width = descriptor[DEPTH], descriptor[HEIGHT], descriptor[WIDTH]
    slices, rows, columns = descriptor[SLICES], descriptor[ROWS], descriptor[COLUMNS]
    first_d, first_h = offset(descriptor, TABLES), offset(descriptor, TABLES + 2 * slices)
    first_w = offset(descriptor, TABLES + 2 * slices + 2 * rows)
    o = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while o < descriptor[PLANES] * slices * rows * columns:
        line = o // columns
        column, image_line = o - line * columns, line // rows
        row, plane = line - image_line * rows, image_line // slices
        piece = image_line - plane * slices
        image = offset(x, plane * depth * height * width)
        best, at = T(-inf), NOWHERE
        for d in range(first_d[piece], first_d[slices + piece], descriptor[STEP_D]):
            for h in range(first_h[row], first_h[rows + row], descriptor[STEP_H]):
                for w in range(first_w[column], first_w[columns + column], descriptor[STEP_W]):
                    place = (d * height + h) * width + w
                    value = load(image[place])
                    if value > best or at < 0 or isnan(value):       # the last NaN is reported, as in PyTorch
                        best, at = value, place
        out[o] = store(best)
        indices[o] = at
        o += int64(cuda.gridDim.x) * THREADS


plan_max_region = in_parallel(host.plan_max_region, {host.max_region: Form(
    max_regions, lambda row: row[PLANES] * row[SLICES] * row[ROWS] * row[COLUMNS])})
