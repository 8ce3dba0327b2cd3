"""Places of extremes on a GPU, gone through as sums are (reduce.py): an output has lines of threads, or neighbouring outputs
columns.

What goes first is a NaN, then the extreme, then the first of equals, so it does not matter who compares whom. Where several blocks
have an output, the number of the extreme of each goes to scratch memory, and a second launch compares these.

The descriptor is that of reduce.py, whose reduced dimensions keep their order; of the second launch the CPU's, and then how many
candidates an output has.
"""
from __future__ import annotations

import functools
from math import prod

import numpy as np
from numpy import float32, int64

from ...cpu.reduce import argreduce as host
from ...cpu.reduce.argreduce import above, below
from ...cpu.reduce.reduce import _identity
from ...cpu.reduce.traversal import (
    COLUMNS,
    HEADER,
    KEPT,
    KEPT_DIMS,
    LENGTH,
    OUT_STEP,
    REDUCED,
    STEP,
    X_STEP,
    nest_in_order,
)
from ...elementtypes import CONVERSIONS, itemsize, same, scalar_type
from ...intrinsics import address_of, local_array, local_like, offset, select
from ...threads import Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import THREADS
from ..runtime import runtime
from ..serial import on_device
from ..shared.lines import WARP
from ..shared.vectors import vectors_of
from ..warps import barrier, lane_across
from .reduce import (
    ACROSS,
    ALONG,
    CELLS,
    EVEN,
    LOADS,
    PART_STEP,
    PARTS,
    SIZE,
    SPAN,
    WIDTH,
    WORDS,
    Walk,
    fetch,
    fetch_columns,
    place,
    run_of,
    tail_of,
    whole_part,
)

T = float32
load, beats = same, above
LANES, VALUES, LAST = THREADS, False, 0                  # threads of an output; what is before nothing
BESIDE, CANDIDATES, APART = 9, 10, 11                    # of the second launch: how far outputs are apart, candidates, these apart
SHORT = 64                                               # candidates that one thread compares by itself
WIDEST = 4                                               # elements that are loaded at once


def first_of(o, descriptor):
    """Where output `o` starts in the input."""
    columns = descriptor[COLUMNS]
    k = whole_part(o, columns)
    return place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 2) + (o - k * columns) * descriptor[X_STEP]


def target_of(o, descriptor):
    """Where output `o` goes."""
    columns = descriptor[COLUMNS]
    k = whole_part(o, columns)
    return place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 1) + (o - k * columns) * descriptor[OUT_STEP]


def wins(v, at, best, index):
    """Whether element number `at` goes before number `index`."""
    if v != v:
        return best == best or at < index
    return best == best and (beats(v, best) or (v == best and at < index))


def place_of(q, descriptor):
    """Where element number q of an output is."""
    n = descriptor[LENGTH]
    r = whole_part(q, n)
    return run_of(r, descriptor) + (q - r * n) * descriptor[STEP]


def first_of_two(best, index, other, at):
    """Which of two elements goes before the other; one whose number is below 0 is none."""
    if at >= 0 and (index < 0 or wins(other, at, best, index)):
        return other, at
    return best, index


def first_of_line(best_of, index_of, best, index, me, lane):
    """What the threads of an output have found, compared."""
    mask = min(LANES, WARP) // 2
    while mask > 0:
        best, index = first_of_two(best, index, lane_across(best, mask), lane_across(index, mask))
        mask //= 2
    if LANES > WARP:
        if me % WARP == 0:
            best_of[me // WARP], index_of[me // WARP] = best, index
        barrier()
        first = (me - lane) // WARP
        best, index = best_of[first], index_of[first]
        for warp in range(1, LANES // WARP):
            best, index = first_of_two(best, index, best_of[first + warp], index_of[first + warp])
        barrier()
    return best, index


def before_all_but(v, best):
    """Whether an element goes before all until now, which are before it in number."""
    return best == best and not (v == best or beats(best, v))


def first_of_run(x, base, start, apart, n, step, best, index):
    """The first of what a thread has of a run of n elements, the first of which has number `base`, and of what it had before."""
    head = int64(0)
    if WIDTH > 1:
        head = min((WIDTH - (address_of(x) // SIZE) % WIDTH) % WIDTH, n)
    vectors = (n - head) // WIDTH
    body, spacing = offset(x, head), WIDTH * step
    words, v = local_like(x, WORDS), start
    if index < 0 and v < vectors:
        best, index = T(LAST), base + head + v * WIDTH
    while v < vectors:
        for k in range(LOADS):
            fetch(words, k * WIDTH, offset(body, min(v + k * apart, vectors - 1) * spacing))
        for k in range(LOADS):
            at = base + head + min(v, vectors - 1) * WIDTH           # the last one again is not before itself
            for i in range(WIDTH):
                value = T(load(words[k * WIDTH + i]))
                sooner = before_all_but(value, best)
                best, index = select(sooner, value, best), select(sooner, at + i, index)
            v += apart
    if WIDTH > 1:
        e = start
        while e < n - vectors * WIDTH:
            i = e if e < head else e + vectors * WIDTH
            best, index = first_of_two(best, index, T(load(x[i])), base + i)
            e += apart
    return best, index


def extreme_lines(x, values, indices, descriptor):
    best_of = cuda.shared.array(THREADS, T)
    index_of = cuda.shared.array(THREADS, int64)
    n, step, columns = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS]
    x_step, out_step = descriptor[X_STEP], descriptor[OUT_STEP]
    runs, parts, tail = descriptor[REDUCED], descriptor[PARTS], tail_of(descriptor)
    part_step, span, along = descriptor[tail + PART_STEP], descriptor[tail + SPAN], descriptor[tail + ALONG]
    tasks = descriptor[KEPT] * columns * parts
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    run = whole_part(lane, span)
    start, abreast = lane - run * span, whole_part(LANES, span)
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < tasks:
        task = first + me // LANES
        output = whole_part(min(task, tasks - 1), parts)
        part, k = min(task, tasks - 1) - output * parts, whole_part(output, columns)
        o = output - k * columns
        best, index = T(LAST), int64(-1)
        a = offset(x, place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 2) + o * x_step)
        if task < tasks:
            group = whole_part(part, along)
            r, begin = group * abreast + run, (part - group * along) * span + start
            while r < runs:
                best, index = first_of_run(offset(a, run_of(r, descriptor)), r * n, begin, along * span, n, step, best, index)
                r += whole_part(parts, along) * abreast
        best, index = first_of_line(best_of, index_of, best, index, me, lane)
        if task < tasks and lane == 0:
            to = place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 1) + o * out_step + part * part_step
            indices[to] = index
            if VALUES:
                values[to] = a[place_of(index, descriptor)]
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def extreme_columns(x, values, indices, descriptor):
    best_of = cuda.shared.array(CELLS, T)
    index_of = cuda.shared.array(CELLS, int64)
    n, step, columns, out_step = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS], descriptor[OUT_STEP]
    runs, parts, tail = descriptor[REDUCED], descriptor[PARTS], tail_of(descriptor)
    part_step, span, along = descriptor[tail + PART_STEP], descriptor[tail + SPAN], descriptor[tail + ALONG]
    across, even = descriptor[tail + ACROSS], descriptor[tail + EVEN]
    groups = whole_part(columns + across * WIDTH - 1, across * WIDTH)
    me = int64(cuda.threadIdx.x)
    row = whole_part(me, across)
    run = whole_part(row, span)
    abreast = whole_part(THREADS, across * span)
    words, best, index = local_like(x, WORDS), local_array(T, WIDTH), local_array(int64, WIDTH)
    task = int64(cuda.blockIdx.x)
    while task < descriptor[KEPT] * groups * parts:
        group = whole_part(task, parts)
        part, k = task - group * parts, whole_part(group, groups)
        column = ((group - k * groups) * across + me - row * across) * WIDTH
        width = min(columns - column, int64(WIDTH))
        a = offset(x, place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 2) + column)
        aligned = even != 0 and width == WIDTH and address_of(a) % (WIDTH * SIZE) == 0
        band = whole_part(part, along)
        r = band * abreast + run
        q = (part - band * along) * span + row - run * span
        for i in range(WIDTH):
            best[i], index[i] = T(LAST), r * n + q if r < runs and q < n else int64(-1)
        while r < runs and width > 0:
            b, q = offset(a, run_of(r, descriptor)), (part - band * along) * span + row - run * span
            while q < n:
                for j in range(LOADS):
                    fetch_columns(words, j * WIDTH, offset(b, min(q + j * along * span, n - 1) * step), width, aligned)
                for j in range(LOADS):
                    for i in range(WIDTH):
                        value = T(load(words[j * WIDTH + i]))
                        sooner = q < n and before_all_but(value, best[i])
                        best[i], index[i] = select(sooner, value, best[i]), select(sooner, r * n + q, index[i])
                    q += along * span
            r += whole_part(parts, along) * abreast
        for i in range(WIDTH):
            best_of[i * THREADS + me], index_of[i * THREADS + me] = best[i], index[i]
        half = THREADS // 2
        while half >= across:
            barrier()
            if me < half:
                for i in range(WIDTH):
                    here = i * THREADS + me
                    there = here + half
                    best_of[here], index_of[here] = first_of_two(best_of[here], index_of[here], best_of[there], index_of[there])
            half //= 2
        if row == 0:
            to = place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 1) + column * out_step + part * part_step
            for i in range(WIDTH):
                if i < width:
                    at = index_of[i * THREADS + me]
                    indices[to + i * out_step] = at
                    if VALUES:
                        values[to + i * out_step] = a[place_of(at, descriptor) + i]
        barrier()
        task += cuda.gridDim.x


def compare_picks(x, picks, values, indices, descriptor):
    """The first of the candidates of each output, which stand beside one another's or one after another."""
    best_of = cuda.shared.array(THREADS, T)
    index_of = cuda.shared.array(THREADS, int64)
    outputs, count = descriptor[KEPT] * descriptor[COLUMNS], descriptor[CANDIDATES]
    apart, beside = descriptor[APART], descriptor[BESIDE]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < outputs:
        o = first + me // LANES
        best, index = T(LAST), int64(-1)
        a = offset(x, first_of(min(o, outputs - 1), descriptor))
        q = lane
        while o < outputs and q < count:
            at = picks[q * apart + o * beside]
            best, index = first_of_two(best, index, T(load(a[place_of(at, descriptor)])), at)
            q += LANES
        best, index = first_of_line(best_of, index_of, best, index, me, lane)
        if o < outputs and lane == 0:
            indices[target_of(o, descriptor)] = index
            if VALUES:
                values[target_of(o, descriptor)] = a[place_of(index, descriptor)]
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(function, kind, dtype, with_values, **names):
    compute = np.dtype(scalar_type(dtype))
    largest = kind in ("argmax", "max")
    names = dict(names, T=compute.type, load=CONVERSIONS[dtype][0], VALUES=with_values, beats=above if largest else below,
                 LAST=_identity("lowest" if largest else "highest", compute.name))
    arrays = ("int64*", dtype + "*", "int64*") if function is compare_picks else (dtype + "*", "int64*")
    return compile_kernel(function, (dtype + "*", *arrays, "int64*"), names, compute.name)


class _Found:
    """One launch, or one for the parts of outputs and one that compares what they found, by way of scratch memory of this call's
    own. Called with input, values where they are wanted, and indices."""

    __slots__ = ("device", "first", "last", "nbytes")

    def __init__(self, first, last=None, nbytes=0, device=0):
        self.first, self.last, self.nbytes, self.device = first, last, nbytes, device

    def __call__(self, x, *results):
        values, indices, _ = results if len(results) == 3 else (0, *results)
        if self.last is None:
            self.first.call(x, values, indices, self.first.descriptor)
            return
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        self.first.call(x, 0, scratch, self.first.descriptor)
        self.last.call(x, scratch, values, indices, self.last.descriptor)      # the owner gives it back after this in stream order


def _plan(kind, dtype, shape, strides, axes, out_strides, with_values, device):
    descriptor = nest_in_order(shape, strides, axes, out_strides)
    walk = Walk(descriptor, 1 if dtype == "bool" else min(vectors_of(itemsize(dtype)), WIDEST))
    function = extreme_columns if walk.columns else extreme_lines

    def launched(descriptor, part_step, with_values):
        row = walk.row(descriptor, (0.0, 0.0), part_step)
        return prepare(_kernel(function, kind, dtype, with_values, **walk.names(itemsize(dtype))), row, walk.work, device)

    if walk.parts < 2:
        only = launched(descriptor, 0, with_values)
        return Prepared(_Found(only), only.descriptor, 0, only)
    partial, part_step, _ = walk.partial()
    first = launched(partial, part_step, False)
    row = descriptor.descriptor()
    row[BESIDE], row[CANDIDATES], row[APART] = (1, walk.parts, part_step) if walk.columns else (walk.parts, walk.parts, 1)
    lanes = 1 if walk.parts <= SHORT else THREADS
    kernel = _kernel(compare_picks, kind, dtype, with_values, LANES=lanes, whole_part=walk.dividing())
    last = prepare(kernel, row, -(-descriptor.outputs * lanes // THREADS), device)
    return Prepared(_Found(first, last, 8 * descriptor.outputs * walk.parts, device), first.descriptor, 0, (first, last))


def plan_argreduce(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int | None, out_strides: tuple,
                   device: int = 0) -> Prepared:
    axes = tuple(range(len(shape))) if axis is None else (axis,)
    if prod(shape[a] for a in axes) == 1:                # of any dtype
        return on_device(host.plan_argreduce)(kind, dtype, shape, strides, axis, out_strides, device=device)
    return _plan(kind, dtype, shape, strides, axes, out_strides, False, device)


def plan_extreme_with_index(kind: str, dtype: str, shape: tuple, strides: tuple, axis: int, out_strides: tuple,
                            device: int = 0) -> Prepared:
    return _plan(kind, dtype, shape, strides, (axis,), out_strides, True, device)
