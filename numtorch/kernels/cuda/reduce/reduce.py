"""Reductions on a GPU: what they mean and how memory is walked is the CPU's (kernels/cpu/reduce/reduce.py, traversal.py).

Two kernels. *Lines* gives an output some threads, from one to a block or several: they go along its runs of evenly spaced elements,
neighbours by 16 bytes a load. *Columns* is for outputs that lie side by side where what is reduced does not: a thread has a few
neighbouring ones, of every so many rows. Threads load from four places before they combine what they loaded, so that enough bytes
are under way. Several blocks an output leave partial results in scratch memory, which a second launch reduces. As on the CPU,
accumulation is in `T` over 2048 elements and in `W` across. Variance is in moments.py.

The descriptor is the CPU's, with the number of blocks an output in the place of `fold`, and more words behind it.
"""
from __future__ import annotations

import functools
import math

from numpy import float32, float64, int64, uint32

from ...cpu.reduce.moments import WRITES
from ...cpu.reduce.reduce import BLOCK, _Kernels, value
from ...cpu.reduce.traversal import (
    COLUMNS,
    COUNT,
    FOLD,
    HEADER,
    KEPT,
    KEPT_DIMS,
    LENGTH,
    OUT_STEP,
    PARAMETER,
    REDUCED,
    REDUCED_DIMS,
    STEP,
    X_STEP,
    Nest,
    nest,
)
from ...elementtypes import itemsize, real_type, same
from ...families.reductions import NORMS, total
from ...intrinsics import address_of, divide, float_of, local_array, local_like, offset, select
from ...threads import Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import SMALL, THREADS
from ..runtime import runtime
from ..shared.lines import WARP, WIDE, joining
from ..shared.vectors import load_vector, vectors_of
from ..warps import barrier
from .moments import MomentKernels

T = float32
W = OUT = float64
IDENTITY = 0

# where the descriptor says how many blocks an output has; and behind it how far apart their results are, how many threads go along
# a run together, how many of the output's blocks do; in columns how many threads lie side by side, and whether all rows begin at
# vectors if the first one does
PARTS = FOLD
PART_STEP, SPAN, ALONG, ACROSS, EVEN = range(5)

LANES = 1                                                # threads of an output, in lines
WIDTH, SIZE = 4, 4                                       # neighbouring elements that a thread loads at once; bytes of one
LOADS, WORDS = 4, 16                                     # places that a thread loads from before it combines; elements
CELLS = THREADS * WIDTH
COLUMN_WIDTH = 4                                         # neighbouring columns of a thread at most
GRAIN = 16                                               # elements that make a thread of one more block worth its while
FILLED = 4 if SMALL else 1056                            # blocks that fill a large GPU: eight of each of 132 multiprocessors
MANY = 8 if SMALL else 4096                              # outputs that fill it with a warp each
store, finish = same, total


def combine(a, b):
    return a + b


def shift_of(x, exponent):
    """What `lift` takes beside an element of the output whose first element x is at."""
    return T(exponent)


# ---------------------------------------------------------------- places
def whole_part32(a, b):
    """a // b of numbers below 2^31."""
    return int64(divide(uint32(a), uint32(b)))


def whole_part64(a, b):
    return divide(a, b)


whole_part = whole_part32


def place(index, descriptor, entry, dims, width, column):
    """`position` without divisions of 64 bits where there need be none."""
    at = int64(0)
    for d in range(dims):
        e = entry + d * width
        rest = whole_part(index, descriptor[e])
        at += (index - rest * descriptor[e]) * descriptor[e + column]
        index = rest
    return at


def tail_of(descriptor):
    """Where the words are that are not the CPU's."""
    return HEADER + 3 * descriptor[KEPT_DIMS] + 2 * descriptor[REDUCED_DIMS]


def run_of(r, descriptor):
    """Where run number r of an output's elements begins."""
    return place(r, descriptor, HEADER + 3 * descriptor[KEPT_DIMS], descriptor[REDUCED_DIMS], 2, 1)


# ---------------------------------------------------------------- lines
def fetch_vector(words, at, x):
    """Neighbours from x on to `words` from place `at` on."""
    loaded = load_vector(x, WIDTH)
    for i in range(WIDTH):
        words[at + i] = loaded[i]


def fetch_one(words, at, x):
    words[at] = x[0]


fetch = fetch_vector


def reduce_run(x, start, apart, n, step, shift):
    """What a thread has of a run of n elements: vectors number `start`, `start + apart` and so on, and as many of the elements
    before the first whole vector and behind the last."""
    wide, head = W(IDENTITY), int64(0)
    if WIDTH > 1:
        head = min((WIDTH - (address_of(x) // SIZE) % WIDTH) % WIDTH, n)
    vectors = (n - head) // WIDTH
    body, spacing = offset(x, head), WIDTH * step
    words, sums = local_like(x, WORDS), local_array(T, WIDTH)
    v = start
    while v < vectors:
        stop = min(vectors, v + BLOCK * apart)
        for i in range(WIDTH):
            sums[i] = T(IDENTITY)
        while v < stop:                                  # behind the end the last one is loaded again, and not combined
            for k in range(LOADS):
                fetch(words, k * WIDTH, offset(body, min(v + k * apart, vectors - 1) * spacing))
            for k in range(LOADS):
                for i in range(WIDTH):
                    sums[i] = select(v < stop, T(combine(sums[i], value(words[k * WIDTH + i], shift))), sums[i])
                v += apart
        for i in range(WIDTH):
            wide = W(combine(wide, W(sums[i])))
    if WIDTH > 1:
        e = start
        while e < n - vectors * WIDTH:
            i = e if e < head else e + vectors * WIDTH
            wide = W(combine(wide, W(value(x[i], shift))))
            e += apart
    return wide


def combine_wide(a, b):
    return W(combine(a, b))


combined = joining(combine_wide)                         # what the threads of an output have


def reduce_lines(x, out, descriptor):
    """LANES threads an output and block."""
    cells = cuda.shared.array(THREADS, W)
    n, step, columns, x_step = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS], descriptor[X_STEP]
    out_step, runs, parts, tail = descriptor[OUT_STEP], descriptor[REDUCED], descriptor[PARTS], tail_of(descriptor)
    exponent, divisor = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
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
        result = W(IDENTITY)
        if task < tasks and n > 0:
            a = offset(x, place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 2) + o * x_step)
            shift = shift_of(a, exponent)
            group = whole_part(part, along)
            r, begin = group * abreast + run, (part - group * along) * span + start
            while r < runs:
                share = reduce_run(offset(a, run_of(r, descriptor)), begin, along * span, n, step, shift)
                result = W(combine(result, share))
                r += whole_part(parts, along) * abreast
        result = combined(cells, result, me, lane)
        if task < tasks and lane == 0:
            to = place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 1) + o * out_step + part * part_step
            out[to] = store(OUT(finish(result, exponent, divisor)))
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- columns
def fetch_columns(words, at, x, width, aligned):
    """The elements of so many columns to `words`."""
    if WIDTH > 1 and aligned:
        fetch(words, at, x)
    else:
        for i in range(WIDTH):
            if i < width:
                words[at + i] = x[i]


def add_column_run(wide, x, start, apart, n, step, shifts, width, aligned):
    """Combine every `apart`-th row of a run of n."""
    words, sums = local_like(x, WORDS), local_array(T, WIDTH)
    q = start
    while q < n:
        stop = min(n, q + BLOCK * apart)
        for i in range(WIDTH):
            sums[i] = T(IDENTITY)
        while q < stop:
            for k in range(LOADS):
                fetch_columns(words, k * WIDTH, offset(x, min(q + k * apart, n - 1) * step), width, aligned)
            for k in range(LOADS):
                for i in range(WIDTH):
                    sums[i] = select(q < stop, T(combine(sums[i], value(words[k * WIDTH + i], shifts[i]))), sums[i])
                q += apart
        for i in range(WIDTH):
            wide[i] = W(combine(wide[i], W(sums[i])))


def reduce_columns(x, out, descriptor):
    """A block has every so many of a range of rows of neighbouring columns."""
    cells = cuda.shared.array(CELLS, W)
    n, step, columns, out_step = descriptor[LENGTH], descriptor[STEP], descriptor[COLUMNS], descriptor[OUT_STEP]
    runs, parts, tail = descriptor[REDUCED], descriptor[PARTS], tail_of(descriptor)
    exponent, divisor = float_of(descriptor[PARAMETER]), float_of(descriptor[COUNT])
    part_step, span, along = descriptor[tail + PART_STEP], descriptor[tail + SPAN], descriptor[tail + ALONG]
    across, even = descriptor[tail + ACROSS], descriptor[tail + EVEN]
    groups = whole_part(columns + across * WIDTH - 1, across * WIDTH)
    me = int64(cuda.threadIdx.x)
    row = whole_part(me, across)
    run = whole_part(row, span)
    abreast = whole_part(THREADS, across * span)
    shifts, wide = local_array(T, WIDTH), local_array(W, WIDTH)
    task = int64(cuda.blockIdx.x)
    while task < descriptor[KEPT] * groups * parts:
        group = whole_part(task, parts)
        part, k = task - group * parts, whole_part(group, groups)
        column = ((group - k * groups) * across + me - row * across) * WIDTH
        width = min(columns - column, int64(WIDTH))
        a = offset(x, place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 2) + column)
        aligned = even != 0 and width == WIDTH and address_of(a) % (WIDTH * SIZE) == 0
        for i in range(WIDTH):
            wide[i] = W(IDENTITY)
            if i < width:
                shifts[i] = shift_of(offset(a, i), exponent)
        band = whole_part(part, along)
        r, begin = band * abreast + run, (part - band * along) * span + row - run * span
        while r < runs and width > 0:
            add_column_run(wide, offset(a, run_of(r, descriptor)), begin, along * span, n, step, shifts, width, aligned)
            r += whole_part(parts, along) * abreast
        for i in range(WIDTH):
            cells[i * THREADS + me] = wide[i]
        half = THREADS // 2
        while half >= across:
            barrier()
            if me < half:
                for i in range(WIDTH):
                    cells[i * THREADS + me] = W(combine(cells[i * THREADS + me], cells[i * THREADS + me + half]))
            half //= 2
        if row == 0:
            to = place(k, descriptor, HEADER, descriptor[KEPT_DIMS], 3, 1) + column * out_step + part * part_step
            for i in range(WIDTH):
                if i < width:
                    out[to + i * out_step] = store(OUT(finish(cells[i * THREADS + me], exponent, divisor)))
        barrier()
        task += cuda.gridDim.x


# ---------------------------------------------------------------- planners
class _Walked:
    """Kernels of one reduction of one dtype, by how they walk."""

    def __call__(self, stage, walk):
        bound = walk.names(itemsize(self.wide if stage == "last" else self.dtype))
        key = stage, walk.columns, *bound.values()
        kernel = self.compiled.get(key)
        if kernel is None:
            names, compute, signature = self.meaning(stage)
            function = reduce_columns if walk.columns else reduce_lines
            kernel = self.compiled[key] = compile_kernel(function, signature, {**names, **bound}, compute)
        return kernel

    def vector(self, stage):
        """How many elements a stage loads at once at most."""
        stored = self.wide if stage == "last" else self.dtype
        return 1 if "complex" in stored + self.compute or stored == "bool" else min(vectors_of(itemsize(stored)), self.widest)


class CudaKernels(_Walked, _Kernels):
    """What they mean is the CPU's."""
    widest = 16


class CudaMomentKernels(_Walked, MomentKernels):
    widest = 4


cuda_kernels, moment_kernels = functools.cache(CudaKernels), functools.cache(CudaMomentKernels)


def power_from(n: int) -> int:
    """The least power of two that is not below n."""
    return 1 << (n - 1).bit_length()


class Walk:
    """How a reduction goes through its elements: what its kernel binds, its words, and the blocks that work.

    Args:
        descriptor: the nest.
        vector: how many neighbours may be loaded at once.
        most: how many blocks an output may have.

    Attributes:
        columns: whether outputs are neighbours where what is reduced is not.
        parts: blocks of an output.
        work: blocks of all.
    """

    def __init__(self, descriptor: Nest, vector: int, most: int = FILLED):
        self.nest, self.most, rows = descriptor, most, descriptor.reduction
        n, step = descriptor.reduced[-1] if descriptor.reduced else (1, 1)
        columns, _, x_step = descriptor.kept[-1] if descriptor.kept else (1, 0, 0)
        self.columns = columns > 1 and x_step == 1 and step != 1 and rows > 0
        if self.columns:
            self._by_columns(columns, n, rows, min(vector, COLUMN_WIDTH))
        else:
            self._by_lines(n, rows, vector if step == 1 and n >= 2 * vector else 1)

    def _by_columns(self, columns, n, rows, width):
        self.lanes, self.width = THREADS, width
        across = min(power_from(-(-columns // width)), WIDE)
        while across < THREADS and across * width < columns and THREADS // across * LOADS > rows:
            across *= 2
        groups, down = self.nest.outputs // columns * -(-columns // (across * width)), THREADS // across
        self._share(n, rows, down, groups, 1)
        steps = [k[2] for k in self.nest.kept[:-1]] + [r[1] for r in self.nest.reduced]
        self.words += [across, int(all(each % width == 0 for each in steps))]

    def _by_lines(self, n, rows, width):
        self.width, outputs = width, self.nest.outputs
        few = THREADS // WARP                            # threads of a short line
        self.lanes = (1 if rows <= 2 * few else few if rows <= 16 * few else
                      WARP if rows <= 64 * WARP or (outputs >= MANY and rows <= 512 * WARP) else THREADS)
        self._share(n, rows, self.lanes, -(-outputs * self.lanes // THREADS), width)

    def _share(self, n, rows, lanes, blocks, width):
        """Runs of n elements among so many threads of a block, and among the blocks of an output."""
        runs = rows // max(n, 1)
        span = lanes if runs == 1 else min(lanes, power_from(-(-n // (LOADS * width))))
        self.parts, along = 1, 1
        if self.lanes == THREADS:
            self.parts = max(1, min(self.most, FILLED // max(blocks, 1), rows // (lanes * GRAIN)))
            if runs < self.parts * (lanes // span):
                along = max(1, min(self.parts, n // (span * width)))
                self.parts = along * max(1, min(self.parts // along, -(-runs // (lanes // span))))
        self.work, self.words = blocks * self.parts, [span, along]

    def dividing(self):
        """How numbers of outputs and elements are divided."""
        numbers = self.nest.outputs * self.parts, self.nest.reduction
        return whole_part32 if max(numbers) + THREADS * LOADS * self.width < 1 << 31 else whole_part64

    def names(self, size: int) -> dict:
        """What kernels bind, for elements of so many bytes."""
        return dict(WIDTH=self.width, SIZE=size, WORDS=LOADS * self.width, CELLS=THREADS * self.width, LANES=self.lanes,
                    fetch=fetch_vector if self.width > 1 else fetch_one, whole_part=self.dividing())

    def row(self, descriptor, parameters, part_step):
        """The descriptor for a nest that is walked like this, with its own outputs."""
        row = descriptor.descriptor(parameters)
        row[PARTS] = self.parts
        return [*row, part_step, *self.words]

    def partial(self):
        """The nest with room for what each block of an output finds, how far apart these are, and how far the outputs of one
        block."""
        kept, outputs = self.nest.kept, self.nest.outputs
        part_step, out_step = (outputs, 1) if self.columns else (1, self.parts)
        dense = [out_step * math.prod(k[0] for k in kept[i + 1:]) for i in range(len(kept))]
        return Nest([(n, s, x) for (n, _, x), s in zip(kept, dense)], self.nest.reduced), part_step, dense

    def prepare(self, kernels, stage, descriptor, parameters, part_step, device):
        """The launch of a stage."""
        return prepare(kernels(stage, self), self.row(descriptor, parameters, part_step), self.work, device)


class TwoStages:
    """Several blocks an output: partial results into scratch memory of this call's own, then their reduction."""

    __slots__ = ("first", "last", "nbytes", "device")

    def __init__(self, first, last, nbytes, device):
        self.first, self.last, self.nbytes, self.device = first, last, nbytes, device

    def __call__(self, x, out, descriptor):
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        self.first.call(x, scratch, descriptor)
        self.last.call(scratch, out, self.last.descriptor)     # the owner gives the scratch back after this in stream order


def prepare_stages(kernels, descriptor, parameters, device):
    """One launch, or one that leaves partial results, outputs or an output's parts side by side, and one that reduces these."""
    walk = Walk(descriptor, kernels.vector("whole"))
    parts, outputs = walk.parts, descriptor.outputs
    if parts < 2:
        return walk.prepare(kernels, "whole", descriptor, parameters, 0, device)
    partial, part_step, dense = walk.partial()
    first = walk.prepare(kernels, "first", partial, parameters, part_step, device)
    rest = Nest([(n, out, s) for (n, out, _), s in zip(descriptor.kept, dense)], [(parts, part_step)])
    last = Walk(rest, kernels.vector("last"), most=1).prepare(kernels, "last", rest, parameters, 0, device)
    stages = TwoStages(first, last, outputs * parts * kernels.partial, device)
    return Prepared(stages, first.descriptor, 0, (first, last))


def plan_reduce(kind: str, dtype: str, out_dtype: str, shape: tuple, strides: tuple, axes: tuple, out_strides: tuple, *,
                correction: float = 1, exponent: float = 2.0, device: int = 0) -> Prepared:
    if kind == "norm":
        kind = NORMS.get(float(exponent), kind)
    if kind in WRITES:
        parameters = float(correction), float(math.prod(shape[a] for a in axes))
        return prepare_stages(moment_kernels(kind, dtype, out_dtype), nest(shape, strides, axes, out_strides), parameters, device)
    if kind in ("sum", "mean") and dtype == out_dtype and dtype.startswith("complex"):
        part = real_type(dtype)                          # a complex sum is two sums of reals
        return plan_reduce(kind, part, part, (*shape, 2), (*[2 * s for s in strides], 1), axes,
                           (*[2 * s for s in out_strides], 1), device=device)
    if out_dtype == "bool":
        kind = {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(kind, kind)
    parameters = (float(exponent), float(math.prod(shape[a] for a in axes)))
    return prepare_stages(cuda_kernels(kind, dtype, out_dtype), nest(shape, strides, axes, out_strides), parameters, device)
