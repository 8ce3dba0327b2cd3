"""Evenly spaced numbers and powers on a GPU: a thread an element."""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.shared import ranges as host
from ...cpu.shared.ranges import ELEMENTS, HALF, LAST, raise_base
from ...elementtypes import same
from ...intrinsics import local_like, offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel

T = V = float32
store = same


def count_elements(start, end, step, out, descriptor):
    low, high, apart = start[0], end[0], step[0]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        if i < descriptor[HALF]:
            out[i] = store(T(low + V(i) * apart))
        else:
            out[i] = store(T(high - V(descriptor[LAST] - i) * apart))
        i += int64(cuda.gridDim.x) * THREADS


def raise_elements(base, exponents, out, descriptor):
    one = local_like(descriptor, 1)
    one[ELEMENTS] = 1
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        raise_base(base, offset(exponents, i), offset(out, i), one)
        i += int64(cuda.gridDim.x) * THREADS


def _elements(row):
    return row[ELEMENTS]


# the base, and where numbers start, end and step, are the host's
plan_powers = in_parallel(host.plan_powers, {host.raise_base: Form(raise_elements, _elements)}, read={0: 8})
plan_count = in_parallel(host.plan_count, {host.count_evenly: Form(count_elements, _elements)}, read={0: 8, 1: 8, 2: 8})
