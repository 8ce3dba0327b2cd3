"""Sums into memory of which several elements may lie in one place, on a GPU: a thread an element, which is added by an atomic. So
sums of floats may differ in their last bits from one call to the next.

Descriptor: elements, dimensions; then per dimension (innermost first) its extent and the strides of target and source. In elements.
"""
from __future__ import annotations

import math

import numpy as np
from numpy import float32, int64

from ...elementtypes import bindings, is_complex, real_type, same
from ...intrinsics import offset
from ...loopnest import merge
from ...threads import NOTHING, Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..shared.atomics import NATIVE, add_at, replaced
from ..shared.elements import launch, typed

ELEMENTS, DIMS, HEADER = range(3)
EXTENT, TARGET_STEP, SOURCE_STEP, DIM = range(4)
T = float32
load = store = same


def sum_of(x, y):
    return T(x + y)


def either(x, y):
    return T(x | y)


combine = sum_of


def combine_at(target, value):
    old = target[0]
    while not replaced(target, old, store(combine(load(old), load(value)))):
        old = target[0]


put_at = combine_at


def add_elements(target, source, descriptor):
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[ELEMENTS]:
        rest, there, here = e, int64(0), int64(0)
        for d in range(descriptor[DIMS]):
            entry = offset(descriptor, HEADER + DIM * d)
            before = rest // entry[EXTENT]
            at = rest - before * entry[EXTENT]
            there, here, rest = there + at * entry[TARGET_STEP], here + at * entry[SOURCE_STEP], before
        put_at(offset(target, there), source[here])
        e += int64(cuda.gridDim.x) * THREADS


def plan_add_overlapping(dtype: str, shape: tuple, strides: tuple, source_strides: tuple, *, device: int = 0) -> Prepared:
    if is_complex(dtype):                                # two numbers an element
        dtype, shape = real_type(dtype), (*shape, 2)
        strides, source_strides = ((*[2 * s for s in each], 1) for each in (strides, source_strides))
    extents, steps = merge(shape, [strides, source_strides])
    if not math.prod(extents):
        return NOTHING
    row = [math.prod(extents), len(extents)]
    for extent, step in zip(reversed(extents), reversed(steps)):
        row += [extent, *step]
    bound = bindings(dtype)
    by_instruction = bound["load"] is same and np.dtype(bound["T"]).name in NATIVE
    kernel = typed(add_elements, dtype, ("element*", "element*", "int64*"), put_at=add_at if by_instruction else combine_at,
                   combine=either if dtype == "bool" else sum_of)
    return launch(kernel, row, row[ELEMENTS], device)
