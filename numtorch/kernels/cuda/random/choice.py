"""Draws in proportion to weights, and permutations, on a GPU.

The weights of each row become running sums (../scan/scan.py); then each draw is a thread that looks for its place among them, with
the words that it has in the host's stream. A permutation is a chain of exchanges, each of which waits for the one before: the host
makes it, and it is copied.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, float64, inf, int64

from ...cpu.random import philox as host
from ...cpu.random.philox import CLASSES, DRAWS, PHILOX_LANES, ROWS, block, first_above
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import NOTHING, Prepared
from ..capture import refuse
from ..compiler import cuda
from ..environment import THREADS
from ..runtime import runtime
from ..scan.scan import plan_scan
from ..serial import STATE, staged
from ..shared.atomics import replaced
from ..shared.elements import launch, typed
from ..warps import barrier

T = float32
load = store = same
PER_CHUNK = 64                                           # draws that take PHILOX_LANES counters


def weight_of(x, stride, r):
    return float64(load(x[r * stride]))


def plus(x, stride, before, after):
    return before + after


def put_sum(x, sums, unused, stride, r, total):
    sums[r * stride] = total


def mark_first(target, value):
    """The least of the values marked, where 0 stands for none."""
    old = target[0]
    while (old == 0 or value < old) and not replaced(target, old, value):
        old = target[0]


def check_rows(weights, lasts, state, descriptor):
    """A block a row: the last class that can be drawn; status 1 + the first row's number that has a bad weight, or no good one."""
    cells = cuda.shared.array(THREADS, int64)
    rows, classes = descriptor[ROWS], descriptor[CLASSES]
    me = int64(cuda.threadIdx.x)
    row = int64(cuda.blockIdx.x)
    while row < rows:
        last = int64(-1)
        for c in range(me, classes, THREADS):
            weight = T(load(weights[row * classes + c]))
            if not (weight >= T(0) and weight < T(inf)):
                last = classes
            elif weight > T(0):
                last = max(last, int64(c))
        cells[me] = last
        half = int64(THREADS // 2)
        while half > 0:
            barrier()
            if me < half:
                cells[me] = max(cells[me], cells[me + half])
            half //= 2
        if me == 0:
            lasts[row] = cells[0]
            if cells[0] < 0 or cells[0] == classes:
                mark_first(offset(state, 2), row + 1)
        barrier()
        row += cuda.gridDim.x


def choose(sums, lasts, out, state, descriptor):
    """A thread a draw: the first class whose running sum is above u * total."""
    rows, classes, draws = descriptor[ROWS], descriptor[CLASSES], descriptor[DRAWS]
    chunks = (draws + PER_CHUNK - 1) // PER_CHUNK
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < rows * draws and state[2] == 0:
        row = i // draws
        draw = i - row * draws
        place = draw % PER_CHUNK
        counter = state[1] + (row * chunks + draw // PER_CHUNK) * PHILOX_LANES + place % PHILOX_LANES
        a, b, c, d = block(state[0], counter, 0)
        if place >= PHILOX_LANES:
            a, c = b, d
        above = offset(sums, row * classes)
        target = float64((a << np.uint64(21)) ^ (c >> np.uint64(11))) * 1.1102230246251565e-16 * above[classes - 1]
        out[i] = first_above(above, target, lasts[row])
        i += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
class _Multinomial:
    """Running sums and last classes are in scratch memory of this call's own."""

    __slots__ = ("check", "choose", "classes", "device", "rows", "scan")

    def __init__(self, rows, classes, scan, check, choose, device):
        self.rows, self.classes, self.scan, self.check, self.choose, self.device = rows, classes, scan, check, choose, device

    def __call__(self, weights, out, state, workspace, _):
        owner, sums = runtime().allocate(8 * self.rows * (self.classes + 1), self.device)
        lasts = sums + 8 * self.rows * self.classes
        self.scan.call(weights, sums, sums, self.scan.descriptor)
        self.check.call(weights, lasts, state, self.check.descriptor)
        self.choose.call(sums, lasts, out, state, self.choose.descriptor)      # the owner gives it back after this in stream order


def plan_multinomial(dtype: str, rows: int, classes: int, draws: int, device: int = 0):
    """The workspace is not looked at."""
    scan = plan_scan(dtype, rows, classes, 1, False, device, "float64*", "float64", out="float64*", step=plus, START=0,
                     element=weight_of, put=put_sum)
    if scan is NOTHING:
        return NOTHING
    row = [rows, classes, draws]
    check = launch(typed(check_rows, dtype, ("element*", "int64*", "int64*", "int64*")), row, rows * THREADS, device)
    chosen = launch(typed(choose, dtype, ("float64*", "int64*", "int64*", "int64*", "int64*")), row, rows * draws, device)
    call = _Multinomial(rows, classes, scan, check, chosen, device)
    return staged(Prepared(call, 0, 0, (scan, check, chosen)), {2: STATE}, device)


class _FromHost:
    """What a kernel of the host writes, copied to the device."""

    __slots__ = ("device", "n", "prepared")

    def __init__(self, prepared, n, device):
        self.prepared, self.n, self.device = prepared, n, device

    def __call__(self, out, state, _):
        refuse("a permutation, which the host makes")
        made = np.empty(self.n, np.int64)
        self.prepared.call(made.ctypes.data, state, self.prepared.descriptor)
        runtime().copy(out, made.ctypes.data, made.nbytes, self.device)


def plan_randperm(n: int, device: int = 0):
    """The host's permutation."""
    if not n:
        return NOTHING
    prepared = host.plan_randperm(n)
    return Prepared(_FromHost(prepared, n, device), 0, 0, prepared)
