"""Vectors of length one on a GPU: lines (../shared/lines.py), each read for its length and for the result. Formulas are the host's
(kernels/cpu/norm/unit_norm.py), squares are summed in the compute type."""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.norm import unit_norm as host
from ...cpu.norm.unit_norm import EPS, INNER, LENGTH, OUTER
from ...elementtypes import same
from ...intrinsics import fmax, offset, sqrt
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import begin_of, joined, lanes_for, scalar

T, INT = float32, int32
load = store = same
LANES = 1


def dot(x, y, cells, present, n, inner, me, lane):
    """The sum of products of the elements of two lines."""
    total = T(0)
    if present:
        for i in range(lane, n, LANES):
            total += load(x[i * inner]) * load(y[i * inner])
    return joined(cells, total, me, lane)


def unit_lines(x, out, lengths, descriptor):
    cells = cuda.shared.array(THREADS, T)
    n, inner, eps = descriptor[LENGTH], descriptor[INNER], scalar(descriptor, EPS)
    count = descriptor[OUTER] * inner
    me = int64(cuda.threadIdx.x)
    lane, first = me % LANES, int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < count:
        line = first + me // LANES
        start = begin_of(min(line, count - 1), n, inner)
        a, b = offset(x, start), offset(out, start)
        length = sqrt(dot(a, a, cells, line < count, n, inner, me, lane))
        if line < count:
            if lane == 0:
                lengths[line] = length
            scale = T(1) / fmax(length, eps)
            for i in range(lane, n, LANES):
                b[i * inner] = store(load(a[i * inner]) * scale)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def unit_grad_lines(grad, x, lengths, grad_x, descriptor):
    cells = cuda.shared.array(THREADS, T)
    n, inner, eps = descriptor[LENGTH], descriptor[INNER], scalar(descriptor, EPS)
    count = descriptor[OUTER] * inner
    me = int64(cuda.threadIdx.x)
    lane, first = me % LANES, int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < count:
        line = first + me // LANES
        start = begin_of(min(line, count - 1), n, inner)
        g, a, b = offset(grad, start), offset(x, start), offset(grad_x, start)
        along = dot(g, a, cells, line < count, n, inner, me, lane)
        if line < count:
            length = lengths[line]
            scale = T(1) / fmax(length, eps)
            slope = along * scale * scale * scale
            if length < eps or length == T(0):
                slope = T(0)
            for i in range(lane, n, LANES):
                b[i * inner] = store(load(g[i * inner]) * scale - load(a[i * inner]) * slope)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def _lines(row):
    return row[OUTER] * row[INNER] * lanes_for(row[LENGTH], row[INNER])


def _lanes(row, bound):
    return dict(LANES=lanes_for(row[LENGTH], row[INNER]))


def _form(function):
    return Form(function, _lines, _lanes, scalars=(EPS,))


plan_unit = in_parallel(host.plan_unit, dict.fromkeys((host.unit_rows, host.unit_columns), _form(unit_lines)))
plan_unit_grad = in_parallel(host.plan_unit_grad, dict.fromkeys((host.unit_grad_rows, host.unit_grad_columns),
                                                                _form(unit_grad_lines)))
