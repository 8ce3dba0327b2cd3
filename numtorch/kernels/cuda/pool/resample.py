"""Resampling on a GPU: a thread an element of the result, which gathers what it needs; so do gradients, whose maps are transposed.

The tables are in the device's memory from the time of planning, so that a call waits for nothing.
"""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.pool import resample as host
from ...cpu.pool.resample import COLUMNS, DEPTH, HEIGHT, PLANES, ROWS, SLICES, TAPS_D, TAPS_H, TAPS_W, WIDTH
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..runtime import runtime

T = float32
load = store = same


def summed_column(x, indices, weights, h_table, plane, piece, row, column, descriptor):
    """Of the input rows that an output row needs, the weighted sum at a column."""
    depth, height, width = descriptor[DEPTH], descriptor[HEIGHT], descriptor[WIDTH]
    slices, rows = descriptor[SLICES], descriptor[ROWS]
    total, fresh = T(0), True
    for a in range(descriptor[TAPS_D]):
        weight_d = weights[a * slices + piece]
        for b in range(descriptor[TAPS_H]):
            weight = weight_d * weights[h_table + b * rows + row]
            if weight != T(0):
                at = (plane * depth + indices[a * slices + piece]) * height + indices[h_table + b * rows + row]
                value = weight * load(x[at * width + column])
                total = value if fresh else total + value
                fresh = False
    return total


def resample_elements(x, out, indices, weights, scratch, descriptor):
    slices, rows, columns, taps_w = descriptor[SLICES], descriptor[ROWS], descriptor[COLUMNS], descriptor[TAPS_W]
    h_table = descriptor[TAPS_D] * slices
    w_table = h_table + descriptor[TAPS_H] * rows
    w_indices, w_weights = offset(indices, w_table), offset(weights, w_table)
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[PLANES] * slices * rows * columns:
        line = i // columns
        column, image = i - line * columns, line // rows
        row, plane = line - image * rows, image // slices
        piece = image - plane * slices
        if taps_w == 0:
            total = summed_column(x, indices, weights, h_table, plane, piece, row, column, descriptor)
        else:
            total = T(0)
            for k in range(taps_w):
                weight = w_weights[k * columns + column]
                if weight != T(0):
                    at = int64(w_indices[k * columns + column])
                    total += weight * summed_column(x, indices, weights, h_table, plane, piece, row, at, descriptor)
        out[i] = store(total)
        i += int64(cuda.gridDim.x) * THREADS


class _WithTables:
    """A call whose tables are in the device's memory."""

    __slots__ = ("call", "tables")

    def __init__(self, call, tables):
        self.call, self.tables = call, tables

    def __call__(self, x, out, indices, weights, scratch, descriptor):
        self.call(x, out, *self.tables, 0, descriptor)


_planned = in_parallel(host.plan_resample, {host.resample: Form(
    resample_elements, lambda row: row[PLANES] * row[SLICES] * row[ROWS] * row[COLUMNS])})


def plan_resample(dtype, planes, sizes, maps, device: int = 0) -> host.Resampling:
    """The tables that a call is given are not looked at."""
    plan, machine = _planned(dtype, planes, sizes, maps, device=device), runtime()
    owners, addresses = zip(*[machine.allocate(max(table.nbytes, 1), device) for table in (plan.indices, plan.weights)])
    for table, address in zip((plan.indices, plan.weights), addresses):
        if table.nbytes:
            machine.copy(address, table.ctypes.data, table.nbytes, device)
    prepared = plan.prepared
    plan.prepared = Prepared(_WithTables(prepared.call, addresses), prepared.descriptor, 0, (prepared, owners))
    return plan
