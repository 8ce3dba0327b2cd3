"""Reductions on a GPU: what they mean and how memory is walked is the CPU's (kernels/cpu/reduce/reduce.py, reducewalk.py).

Three kernels: *rows* gives each output a thread, for short reductions; *blocks* gives it one or more blocks, whose threads
combine their results in shared memory by halves; *columns* gives blocks to neighbouring outputs together, so that neighbouring
threads read neighbours where the reduced elements are far apart. Several blocks an output leave partial results in scratch
memory, which a second kernel reduces. As on the CPU, accumulation is in `T` over 2048 elements and in `W` across.
Variance is in moments.py.

The descriptor is the CPU's, with the number of blocks an output in the place of `fold`.
"""
from __future__ import annotations

import functools
import math

from numpy import float32, float64, int64

from ...cpu.reduce.moments import WRITES
from ...cpu.reduce.reduce import BLOCK, _Kernels, value
from ...cpu.reduce.traversal import HEADER, Nest, nest, position
from ...elementtypes import real_type, same
from ...families.reductions import NORMS, total
from ...intrinsics import float_of, offset
from ...threads import Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import MAX_BLOCKS, THREADS
from ..runtime import runtime
from ..shared.lines import WIDE
from .moments import moments_kernel

T = float32
W = OUT = float64
IDENTITY = 0
PARTS = 9                                                # where the descriptor says how many blocks an output has
SHORT = 64                                               # reduced elements that one thread takes by itself
DOWN = THREADS // WIDE                                   # threads of an output that shares a block with its neighbours
GRAIN = 16                                               # elements that make a thread of one more block worth its while
store, finish = same, total


def combine(a, b):
    return a + b


def accumulate(x, start, count, stride, descriptor, exponent):
    """Every stride-th of `count` elements from number `start` on, where `x` is at the first of them all."""
    n, step = descriptor[0], descriptor[1]
    entry, dims = HEADER + 3 * descriptor[6], descriptor[8]
    wide, part, pending = W(IDENTITY), T(IDENTITY), 0
    q = start
    while q < count:
        r = q // n
        part = T(combine(part, value(x[position(r, descriptor, entry, dims, 2, 1) + (q - r * n) * step], exponent)))
        pending += 1
        if pending == BLOCK:
            wide, part, pending = W(combine(wide, W(part))), T(IDENTITY), 0
        q += stride
    return W(combine(wide, W(part)))


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


def reduce_rows(x, out, descriptor):
    outputs, count = descriptor[5] * descriptor[2], descriptor[7] * descriptor[0]
    exponent, divisor = float_of(descriptor[10]), float_of(descriptor[11])
    step = int64(cuda.gridDim.x) * cuda.blockDim.x
    o = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    while o < outputs:
        result = accumulate(offset(x, first_of(o, descriptor)), 0, count, 1, descriptor, exponent)
        out[target_of(o, descriptor)] = store(OUT(finish(result, exponent, divisor)))
        o += step


def reduce_blocks(x, out, descriptor):
    outputs, count, parts = descriptor[5] * descriptor[2], descriptor[7] * descriptor[0], descriptor[PARTS]
    exponent, divisor = float_of(descriptor[10]), float_of(descriptor[11])
    results = cuda.shared.array(THREADS, W)
    me = int64(cuda.threadIdx.x)
    b = int64(cuda.blockIdx.x)
    while b < outputs * parts:
        o = b // parts
        part = b - o * parts
        results[me] = accumulate(offset(x, first_of(o, descriptor)), part * THREADS + me, count, parts * THREADS, descriptor,
                                 exponent)
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if me < half:
                results[me] = W(combine(results[me], results[me + half]))
            cuda.syncthreads()
            half //= 2
        if me == 0:
            out[target_of(o, descriptor) + part] = store(OUT(finish(results[0], exponent, divisor)))
        b += cuda.gridDim.x


def reduce_columns(x, out, descriptor):
    """A block has WIDE neighbouring outputs, a column of threads each."""
    outputs, count, parts = descriptor[5] * descriptor[2], descriptor[7] * descriptor[0], descriptor[PARTS]
    exponent, divisor = float_of(descriptor[10]), float_of(descriptor[11])
    results = cuda.shared.array(THREADS, W)
    me = int64(cuda.threadIdx.x)
    row = me // WIDE
    groups = (outputs + WIDE - 1) // WIDE
    b = int64(cuda.blockIdx.x)
    while b < groups * parts:
        group = b // parts
        part = b - group * parts
        o = group * WIDE + me - row * WIDE
        if o < outputs:
            start = part * DOWN + row
            results[me] = accumulate(offset(x, first_of(o, descriptor)), start, count, parts * DOWN, descriptor, exponent)
        half = THREADS // 2
        while half >= WIDE:
            cuda.syncthreads()
            if me < half and o < outputs:
                results[me] = W(combine(results[me], results[me + half]))
            half //= 2
        if row == 0 and o < outputs:
            out[target_of(o, descriptor) + part] = store(OUT(finish(results[me], exponent, divisor)))
        cuda.syncthreads()
        b += cuda.gridDim.x


# ---------------------------------------------------------------- planners
class CudaKernels(_Kernels):
    """The kernels of one reduction of one dtype: what they mean is the CPU's, how they walk is not."""

    def __call__(self, stage, function):
        kernel = self.compiled.get((stage, function))
        if kernel is None:
            names, compute, signature = self.meaning(stage)
            kernel = self.compiled[stage, function] = compile_kernel(function, signature, names, compute)
        return kernel


cuda_kernels = functools.cache(CudaKernels)


def _row(descriptor: Nest, parameters, parts=1):
    row = descriptor.descriptor(parameters)
    row[PARTS] = parts
    return row


def _together(descriptor: Nest) -> bool:
    """Whether blocks have neighbouring outputs: where these are neighbours in memory, and not what is reduced, and more than half
    as many as a block has."""
    if not (descriptor.kept and descriptor.reduced):
        return False
    extent, _, step = descriptor.kept[-1]
    return step == 1 and 2 * extent > WIDE and abs(descriptor.reduced[-1][1]) != 1


def _blocks(descriptor: Nest):
    """The kernel for long reductions, how many blocks have all outputs once, and how many threads an output has in one."""
    if _together(descriptor):
        return reduce_columns, -(-descriptor.outputs // WIDE), DOWN
    return reduce_blocks, descriptor.outputs, THREADS


def _plan(kernels, stage, descriptor, parameters, device):
    """One launch: a thread an output, or blocks."""
    function, work, _ = _blocks(descriptor) if descriptor.reduction > SHORT else (reduce_rows, -(-descriptor.outputs // THREADS), 1)
    return prepare(kernels(stage, function), _row(descriptor, parameters), work, device)


class TwoStages:
    """Several blocks an output: partial results into scratch memory of this call's own, then their reduction."""

    __slots__ = ("first", "last", "nbytes", "device")

    def __init__(self, first, last, nbytes, device):
        self.first, self.last, self.nbytes, self.device = first, last, nbytes, device

    def __call__(self, x, out, descriptor):
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        self.first.call(x, scratch, descriptor)
        self.last.call(scratch, out, self.last.descriptor)     # the owner gives the scratch back after this in stream order


def plan_reduce(kind: str, dtype: str, out_dtype: str, shape: tuple, strides: tuple, axes: tuple, out_strides: tuple, *,
                correction: float = 1, exponent: float = 2.0, device: int = 0) -> Prepared:
    """Prepare a reduction on a device. The arguments are those of the CPU's `plan_reduce`."""
    if kind == "norm":
        kind = NORMS.get(float(exponent), kind)
    if kind in WRITES:
        descriptor, kernel = nest(shape, strides, axes, out_strides), moments_kernel(kind, dtype, out_dtype)
        return prepare(kernel, _row(descriptor, (float(correction), 0.0)), descriptor.outputs, device)
    if kind in ("sum", "mean") and dtype == out_dtype and dtype.startswith("complex"):
        part = real_type(dtype)                          # a complex sum is two sums of reals
        return plan_reduce(kind, part, part, (*shape, 2), (*[2 * s for s in strides], 1), axes,
                           (*[2 * s for s in out_strides], 1), device=device)
    if out_dtype == "bool":
        kind = {"sum": "any", "max": "any", "prod": "all", "min": "all"}.get(kind, kind)
    parameters = (float(exponent), float(math.prod(shape[a] for a in axes)))
    descriptor, kernels = nest(shape, strides, axes, out_strides), cuda_kernels(kind, dtype, out_dtype)
    function, blocks, threads = _blocks(descriptor)
    parts = min(MAX_BLOCKS // max(blocks, 1), descriptor.reduction // (threads * GRAIN))
    if parts < 2:
        return _plan(kernels, "whole", descriptor, parameters, device)
    dense = [parts * math.prod(k[0] for k in descriptor.kept[i + 1:]) for i in range(len(descriptor.kept))]
    partial = Nest([(n, s, x) for (n, _, x), s in zip(descriptor.kept, dense)], descriptor.reduced)
    first = prepare(kernels("first", function), _row(partial, parameters, parts), blocks * parts, device)
    rest = Nest([(n, out, s) for (n, out, _), s in zip(descriptor.kept, dense)], [(parts, 1)])
    last = _plan(kernels, "last", rest, parameters, device)
    stages = TwoStages(first, last, descriptor.outputs * parts * kernels.partial, device)
    return Prepared(stages, first.descriptor, 0, (first, last))
