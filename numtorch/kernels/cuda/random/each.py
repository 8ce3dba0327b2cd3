"""Draws whose elements have streams of their own on a GPU: a thread does for each what the host's kernel does for a single one."""
from __future__ import annotations

from numpy import int64

from ...cpu.random.philox import ELEMENTS, FIRST
from ...intrinsics import local_like, offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATE


def body(*addresses):
    """The host's kernel, bound by the planner."""


def draw_by_one(a, out, state, descriptor):
    one = local_like(descriptor, 2)
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        one[ELEMENTS], one[FIRST] = 1, i
        body(offset(a, i), offset(out, i), state, one)
        i += int64(cuda.gridDim.x) * THREADS


def draw_by_two(a, b, out, state, descriptor):
    one = local_like(descriptor, 2)
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        one[ELEMENTS], one[FIRST] = 1, i
        body(offset(a, i), offset(b, i), offset(out, i), state, one)
        i += int64(cuda.gridDim.x) * THREADS


def slope_of_two(a, b, out, descriptor):
    one = local_like(descriptor, 1)
    one[ELEMENTS] = 1
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        body(offset(a, i), offset(b, i), offset(out, i), one)
        i += int64(cuda.gridDim.x) * THREADS


def slope_of_three(a, b, c, out, descriptor):
    one = local_like(descriptor, 1)
    one[ELEMENTS] = 1
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        body(offset(a, i), offset(b, i), offset(c, i), offset(out, i), one)
        i += int64(cuda.gridDim.x) * THREADS


def of_each(planner, kernel, by):
    """A planner of the host whose `kernel` takes elements and their first one's number, with a thread an element, which does `by`.
    Those that draw take the generator's state behind the elements, which is of the host's memory."""
    state = {draw_by_one: {2: STATE}, draw_by_two: {3: STATE}}.get(by)
    return in_parallel(planner, {kernel: Form(by, lambda row: row[ELEMENTS], lambda row, bound: dict(body=kernel))}, host=state)
