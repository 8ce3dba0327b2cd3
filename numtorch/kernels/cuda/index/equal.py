"""Equality, bounds and membership on a GPU: a thread an element.

What is looked for goes to a word of the host's, which is 0 before a call: whoever finds it writes 1, and nobody looks further.
"""
from __future__ import annotations

from numpy import int64

from ...cpu.index import equal as host
from ...cpu.index.equal import ELEMENTS, END, FEW, LEAST, TESTS
from ...elementtypes import same
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATUS

load = same


def differs(x, y, out, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS] and out[0] == 0:
        if load(x[i]) != load(y[i]):
            out[0] = 1
        i += int64(cuda.gridDim.x) * THREADS


def beyond(index, out, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS] and out[0] == 0:
        value = int64(index[i])
        if value < descriptor[LEAST] or value >= descriptor[END]:
            out[0] = 1
        i += int64(cuda.gridDim.x) * THREADS


def outside_unit(x, out, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS] and out[0] == 0:
        value = load(x[i])
        if not (value >= 0 and value <= 1):
            out[0] = 1
        i += int64(cuda.gridDim.x) * THREADS


def among(x, tests, out, descriptor):
    """The tests are in order where they are more than FEW; NaN, which comes last, equals nothing."""
    count = descriptor[TESTS]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        value, found = load(x[i]), False
        if count > FEW:
            low, high = int64(0), count
            while low < high:
                middle = (low + high) // 2
                if load(tests[middle]) < value:
                    low = middle + 1
                else:
                    high = middle
            found = low < count and load(tests[min(low, count - 1)]) == value
        else:
            for j in range(count):
                found = found or load(tests[j]) == value
        out[i] = found
        i += int64(cuda.gridDim.x) * THREADS


def _elements(row):
    return row[ELEMENTS]


plan_among = in_parallel(host.plan_among, {host.among: Form(among, _elements)})
plan_differs = in_parallel(host.plan_differs, {host.differs: Form(differs, _elements)}, host={2: STATUS})
plan_beyond = in_parallel(host.plan_beyond, {host.beyond: Form(beyond, _elements)}, host={1: STATUS})
plan_outside_unit = in_parallel(host.plan_outside_unit, {host.outside_unit: Form(outside_unit, _elements)}, host={1: STATUS})
