"""Places of extremes on a GPU: lines of threads, each of which has every so many of an output's elements.

An output has a block, or a thread where its elements are few or where neighbouring outputs lie side by side. Where outputs are too
few to fill the device, each has several lines: the number of the extreme of each goes to scratch memory, and a second launch
compares these. What goes first is a NaN, then the extreme, then the first of equals, so it does not matter who compares whom.

The descriptor is the CPU's, with the lines of an output in the place of `fold`, and then how many candidates an output has.
"""
from __future__ import annotations

import functools
from math import prod

import numpy as np
from numpy import float32, int64

from ...cpu.reduce import argreduce as host
from ...cpu.reduce.argreduce import above, below, nest_in_order
from ...cpu.reduce.traversal import HEADER, Nest, position
from ...elementtypes import CONVERSIONS, same, scalar_type
from ...intrinsics import offset
from ...threads import Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import MAX_BLOCKS, SMALL, THREADS
from ..runtime import runtime
from ..serial import on_device
from ..shared.lines import WIDE
from ..warps import barrier
from .reduce import PARTS

T = float32
load, beats = same, above
LANES, VALUES = 1, False
CANDIDATES = 10                                          # where the descriptor says how many there are
GRAIN = 4 if SMALL else 64                               # elements that make another line worth its launch
SHORT = 64                                               # elements that one thread takes by itself


def first_of(o, descriptor):
    """Where output `o` starts in the input."""
    columns = descriptor[2]
    k = o // columns
    return position(k, descriptor, HEADER, descriptor[6], 3, 2) + (o - k * columns) * descriptor[3]


def target_of(o, descriptor):
    """Where output `o` goes."""
    columns = descriptor[2]
    k = o // columns
    return position(k, descriptor, HEADER, descriptor[6], 3, 1) + (o - k * columns) * descriptor[4]


def wins(v, at, best, index):
    """Whether element number `at` goes before number `index`."""
    if v != v:
        return best == best or at < index
    return best == best and (beats(v, best) or (v == best and at < index))


def place_of(q, descriptor):
    """Where element number q of an output is."""
    n = descriptor[0]
    r = q // n
    return position(r, descriptor, HEADER + 3 * descriptor[6], descriptor[8], 2, 1) + (q - r * n) * descriptor[1]


def every_element(picks, o, q, outputs):
    return q


def picked_before(picks, o, q, outputs):
    return picks[q * outputs + o]


def picked_target(o, part, outputs, descriptor):
    """Partial results stand by lines, so that neighbouring outputs are neighbours."""
    return part * outputs + o


def final_target(o, part, outputs, descriptor):
    return target_of(o, descriptor)


candidate, target = every_element, final_target


def extreme_lines(x, picks, values, indices, descriptor):
    best_of = cuda.shared.array(THREADS, T)
    index_of = cuda.shared.array(THREADS, int64)
    outputs, parts, count = descriptor[5] * descriptor[2], descriptor[PARTS], descriptor[CANDIDATES]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < outputs * parts:
        b = first + me // LANES
        part = b // outputs
        o = b - part * outputs
        best, index = T(0), int64(-1)
        if part < parts:
            a = offset(x, first_of(o, descriptor))
            q = part * LANES + lane
            while q < count:
                at = candidate(picks, o, q, outputs)
                v = T(load(a[place_of(at, descriptor)]))
                if index < 0 or wins(v, at, best, index):
                    best, index = v, at
                q += parts * LANES
        best_of[me], index_of[me] = best, index
        half = LANES // 2
        while half > 0:
            barrier()
            other = me + half
            if lane < half and index_of[other] >= 0 and wins(best_of[other], index_of[other], best_of[me], index_of[me]):
                best_of[me], index_of[me] = best_of[other], index_of[other]
            half //= 2
        if lane == 0 and part < parts:
            to = target(o, part, outputs, descriptor)
            indices[to] = index_of[me]
            if VALUES:
                values[to] = x[first_of(o, descriptor) + place_of(index_of[me], descriptor)]
        if LANES > 1:
            barrier()
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(kind, dtype, lanes, with_values, **names):
    compute = np.dtype(scalar_type(dtype))
    names = dict(names, T=compute.type, load=CONVERSIONS[dtype][0], LANES=lanes, VALUES=with_values,
                 beats=above if kind in ("argmax", "max") else below)
    return compile_kernel(extreme_lines, (dtype + "*", "int64*", dtype + "*", "int64*", "int64*"), names, compute.name)


def _lines(descriptor: Nest):
    """How many threads a line has, and how many lines an output should."""
    outputs, count = max(descriptor.outputs, 1), descriptor.reduction
    side_by_side = bool(descriptor.kept) and descriptor.kept[-1][2] == 1 and 2 * descriptor.kept[-1][0] > WIDE
    if count <= SHORT or (side_by_side and descriptor.reduced[-1][1] != 1):
        return 1, min(MAX_BLOCKS * THREADS // outputs, count // GRAIN)
    return THREADS, min(MAX_BLOCKS // outputs, count // (THREADS * GRAIN))


class _Lines:
    """One launch, or one for lines and one that compares what they found, by way of scratch memory of this call's own. Called with
    input, values where they are wanted, and indices."""

    __slots__ = ("device", "first", "last", "nbytes")

    def __init__(self, last, first=None, nbytes=0, device=0):
        self.last, self.first, self.nbytes, self.device = last, first, nbytes, device

    def __call__(self, x, *results):
        values, indices, _ = results if len(results) == 3 else (0, *results)
        if self.first is None:
            self.last.call(x, 0, values, indices, self.last.descriptor)
            return
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        self.first.call(x, 0, 0, scratch, self.first.descriptor)
        self.last.call(x, scratch, values, indices, self.last.descriptor)      # the owner gives it back after this in stream order


def _plan(kind, dtype, shape, strides, axes, out_strides, with_values, device):
    descriptor = nest_in_order(shape, strides, axes, out_strides)

    def launched(lanes, parts, candidates, values, **names):
        row = descriptor.descriptor()
        row[PARTS], row[CANDIDATES] = parts, candidates
        return prepare(_kernel(kind, dtype, lanes, values, **names), row, -(-descriptor.outputs * parts * lanes // THREADS), device)

    lanes, parts = _lines(descriptor)
    if parts < 2:
        only = launched(lanes, 1, descriptor.reduction, with_values)
        return Prepared(_Lines(only), only.descriptor, 0, only)
    first = launched(lanes, parts, descriptor.reduction, False, target=picked_target)
    last = launched(1 if parts <= SHORT else THREADS, 1, parts, with_values, candidate=picked_before)
    return Prepared(_Lines(last, first, 8 * descriptor.outputs * parts, device), last.descriptor, 0, (first, last))


def plan_argreduce(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int | None, out_strides: tuple,
                   device: int = 0) -> Prepared:
    """Prepare the index of the first extreme; arguments and addresses are those of the CPU's `plan_argreduce`."""
    axes = tuple(range(len(shape))) if axis is None else (axis,)
    if prod(shape[a] for a in axes) == 1:                # of any dtype
        return on_device(host.plan_argreduce)(kind, dtype, shape, strides, axis, out_strides, device=device)
    return _plan(kind, dtype, shape, strides, axes, out_strides, False, device)


def plan_extreme_with_index(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int, out_strides: tuple,
                            device: int = 0) -> Prepared:
    """Prepare the first extreme and its index; arguments and addresses are those of the CPU's `plan_extreme_with_index`."""
    return _plan(kind, dtype, shape, strides, (axis,), out_strides, True, device)
