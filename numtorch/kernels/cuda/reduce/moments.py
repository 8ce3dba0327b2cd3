"""Variance and standard deviation on a GPU: a block for each output.

Each thread reads its share twice, for its mean and for the squared deviations from it; the shares are combined in shared
memory by halves, with the CPU's formula (kernels/cpu/reduce/moments.py). The descriptor is the reductions'.
"""
from __future__ import annotations

import functools

import numpy as np
from numpy import float32, float64, int64

from ...cpu.reduce.moments import WRITES, write_variance
from ...cpu.reduce.traversal import HEADER, position
from ...elementtypes import CONVERSIONS, compute_type, same
from ...families.reductions import merge_moments
from ...intrinsics import float_of, offset
from ..compiler import compile_kernel, cuda
from ..environment import THREADS

T = OUT = float32
W = float64
load = store = same
write = write_variance


def element(x, q, descriptor):
    """Element number `q` of those that an output is made of, where `x` is at the first."""
    n = descriptor[0]
    r = q // n
    return W(T(load(x[position(r, descriptor, HEADER + 3 * descriptor[6], descriptor[8], 2, 1) + (q - r * n) * descriptor[1]])))


def moments_of_share(x, start, count, descriptor):
    """How many elements a thread has, their mean and their squared deviations from it."""
    mine, total, squares = W(0), W(0), W(0)
    q = start
    while q < count:
        mine += W(1)
        total += element(x, q, descriptor)
        q += THREADS
    mean = total / max(mine, W(1))
    q = start
    while q < count:
        deviation = element(x, q, descriptor) - mean
        squares += deviation * deviation
        q += THREADS
    return mine, mean, squares


def moments_blocks(x, out, descriptor):
    columns, count, correction = descriptor[2], descriptor[7] * descriptor[0], float_of(descriptor[10])
    counts = cuda.shared.array(THREADS, W)
    means = cuda.shared.array(THREADS, W)
    squares = cuda.shared.array(THREADS, W)
    me = int64(cuda.threadIdx.x)
    o = int64(cuda.blockIdx.x)
    while o < descriptor[5] * columns:
        k = o // columns
        first = position(k, descriptor, HEADER, descriptor[6], 3, 2) + (o - k * columns) * descriptor[3]
        target = position(k, descriptor, HEADER, descriptor[6], 3, 1) + (o - k * columns) * descriptor[4]
        counts[me], means[me], squares[me] = moments_of_share(offset(x, first), me, count, descriptor)
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if me < half:
                other = me + half
                counts[me], means[me], squares[me] = merge_moments(counts[me], means[me], squares[me], counts[other], means[other],
                                                                   squares[other])
            cuda.syncthreads()
            half //= 2
        if me == 0:
            write(out, target, counts[0], means[0], squares[0], correction)
        cuda.syncthreads()
        o += cuda.gridDim.x


@functools.cache
def moments_kernel(kind, dtype, out_dtype):
    """The kernel of a variance or deviation of one dtype."""
    compute = compute_type(out_dtype)
    names = dict(T=np.dtype(compute).type, OUT=np.dtype(compute).type,
                 load=CONVERSIONS[dtype][0],
                 store=CONVERSIONS[out_dtype][1], write=WRITES[kind])
    return compile_kernel(moments_blocks, (dtype + "*", out_dtype + "*", "int64*"), names, compute)
