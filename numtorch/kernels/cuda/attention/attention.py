"""Attention on a GPU without the matrix of scores: softmax(scale * Q @ K^T + mask) @ V and its gradients, after FlashAttention (Dao
et al. 2022).

A block has `LINES` queries and `LANES` threads for each. It goes through the keys a tile at a time: scores of the tile go to
shared memory, each thread making those of every `LANES`-th key; then the running maximum and sum of each query (Milakov,
Gimelshein 2018), exponentials in place of scores, and their products with V, of which a thread has every `LANES`-th column in
registers, `SUMS` of them at a time. The logarithm of the sum of exponentials is kept; from it the backward kernels make the same
probabilities again: one goes through the keys of each block of queries for Q's gradient, the other through the queries of each
block of keys for those of K and V.

Dropout takes the host's kernels (../serial.py), whose draws are by blocks of the host's.

This is for every dtype; of 16 bits, and of float32 that may be rounded, tensor cores make the products (tensorcores.py).
"""
from __future__ import annotations

import functools

import numpy as np
from numpy import float32, inf, int64

from ...cpu.attention import attention as host
from ...elementtypes import bindings, compute_type, same
from ...intrinsics import float_of, fmax, local_array, select
from ...threads import Prepared
from ...vectormath import exp, log
from ..compiler import compile_kernel, cuda, prepare
from ..environment import SMALL, THREADS
from ..gemm.choice import Choice
from ..serial import STATE, on_device
from . import tensorcores
from .descriptor import (
    BATCH,
    CAUSAL,
    DEPTH,
    GRAD,
    GRAD_K,
    GRAD_Q,
    GRAD_V,
    GROUP,
    HEADS,
    KEYS,
    MASK,
    OUT,
    QUERIES,
    SCALE,
    WIDTH,
    K,
    Q,
    V,
    describe,
    line_of,
    masked,
)

T = float32                                              # the compute type
INT = np.int32
load = store = same
LANES = 2 if SMALL else 16                               # threads of a line, a query's or a key's
LINES = THREADS // LANES
TILE = 4 if SMALL else 32                                # keys or queries that a block takes at a time
CELLS = LINES * TILE
SUMS = 2 if SMALL else 8                                 # columns that a thread has in registers


def dot(a, b, count):
    total = T(0)
    for i in range(count):
        total += load(a[i]) * load(b[i])
    return total


def score(q, k, mask, descriptor, batch, head, query, key):
    """The score of a query and a key; -inf where the one does not see the other."""
    if query >= descriptor[QUERIES] or key >= descriptor[KEYS] or (descriptor[CAUSAL] and key > query):
        return T(-inf)
    total = dot(line_of(q, descriptor, Q, batch, head, query), line_of(k, descriptor, K, batch, head // descriptor[GROUP], key),
                descriptor[DEPTH])
    total *= float_of(INT(descriptor[SCALE]))
    return T(total + masked(mask, q, descriptor, batch, head, query, key)) if descriptor[MASK] else total


def keys_of(descriptor, first):
    """The keys that a block of queries sees."""
    return min(descriptor[KEYS], first + LINES) if descriptor[CAUSAL] else descriptor[KEYS]


# ---------------------------------------------------------------- forward
def attention(q, k, v, mask, out, lse, descriptor):
    heads, queries, width = descriptor[HEADS], descriptor[QUERIES], descriptor[WIDTH]
    cells = cuda.shared.array(CELLS, T)
    sums = local_array(T, SUMS)
    me = int64(cuda.threadIdx.x)
    line = me // LANES
    lane = me - line * LANES
    mine = line * TILE
    blocks = (queries + LINES - 1) // LINES
    item = int64(cuda.blockIdx.x)
    while item < descriptor[BATCH] * heads * blocks:
        place = item // blocks
        batch, head = place // heads, place % heads
        first = (item - place * blocks) * LINES
        query = first + line
        columns = int64(0)
        while columns < width:                           # more than registers hold are a pass of their own
            best, total = T(-inf), T(0)
            for s in range(SUMS):
                sums[s] = T(0)
            start = int64(0)
            while start < keys_of(descriptor, first):
                for c in range(lane, TILE, LANES):
                    cells[mine + c] = score(q, k, mask, descriptor, batch, head, query, start + c)
                cuda.syncthreads()
                highest = best
                for c in range(TILE):
                    highest = fmax(highest, cells[mine + c])
                shift = select(highest == T(-inf), T(0), highest)        # -inf - -inf would be NaN
                cuda.syncthreads()
                for c in range(lane, TILE, LANES):
                    cells[mine + c] = exp(cells[mine + c] - shift)
                cuda.syncthreads()
                shrink = exp(best - shift)
                total *= shrink
                for s in range(SUMS):
                    sums[s] *= shrink
                for c in range(min(int64(TILE), descriptor[KEYS] - start)):
                    p = cells[mine + c]
                    total += p
                    row = line_of(v, descriptor, V, batch, head // descriptor[GROUP], start + c)
                    for s in range(SUMS):
                        column = columns + s * LANES + lane
                        if column < width:
                            sums[s] += p * load(row[column])
                best = highest
                cuda.syncthreads()
                start += TILE
            if query < queries:
                inverse = select(total == T(0), T(0), T(1) / total)
                row = line_of(out, descriptor, OUT, batch, head, query)
                for s in range(SUMS):
                    column = columns + s * LANES + lane
                    if column < width:
                        row[column] = store(T(sums[s] * inverse))
                if lane == 0 and columns == 0:
                    lse[place * queries + query] = select(total == T(0), T(inf), best + log(total))
            columns += SUMS * LANES
        item += cuda.gridDim.x


# ---------------------------------------------------------------- backward
def slope_of_score(v, out, grad, descriptor, batch, head, query, key):
    """What a score's probability is multiplied by in its gradient: grad . (V[key] - out)."""
    line = line_of(grad, descriptor, GRAD, batch, head, query)
    return dot(line, line_of(v, descriptor, V, batch, head // descriptor[GROUP], key), descriptor[WIDTH]) - dot(
        line, line_of(out, descriptor, OUT, batch, head, query), descriptor[WIDTH])


def probability(q, k, mask, lse, descriptor, batch, head, query, key):
    s = score(q, k, mask, descriptor, batch, head, query, key)
    return T(0) if s == T(-inf) else exp(s - lse[(batch * descriptor[HEADS] + head) * descriptor[QUERIES] + query])


def attention_grad_q(q, k, v, mask, out, lse, grad, grad_q, descriptor):
    heads, queries, depth = descriptor[HEADS], descriptor[QUERIES], descriptor[DEPTH]
    cells = cuda.shared.array(CELLS, T)
    sums = local_array(T, SUMS)
    me = int64(cuda.threadIdx.x)
    line = me // LANES
    lane = me - line * LANES
    mine = line * TILE
    blocks = (queries + LINES - 1) // LINES
    item = int64(cuda.blockIdx.x)
    while item < descriptor[BATCH] * heads * blocks:
        place = item // blocks
        batch, head = place // heads, place % heads
        first = (item - place * blocks) * LINES
        query = first + line
        columns = int64(0)
        while columns < depth:
            for s in range(SUMS):
                sums[s] = T(0)
            start = int64(0)
            while start < keys_of(descriptor, first):
                for c in range(lane, TILE, LANES):
                    p = probability(q, k, mask, lse, descriptor, batch, head, query, start + c)
                    cells[mine + c] = p if p == T(0) else p * slope_of_score(v, out, grad, descriptor, batch, head, query,
                                                                             start + c)
                cuda.syncthreads()
                for c in range(min(int64(TILE), descriptor[KEYS] - start)):
                    row = line_of(k, descriptor, K, batch, head // descriptor[GROUP], start + c)
                    for s in range(SUMS):
                        column = columns + s * LANES + lane
                        if column < depth:
                            sums[s] += cells[mine + c] * load(row[column])
                cuda.syncthreads()
                start += TILE
            if query < queries:
                row = line_of(grad_q, descriptor, GRAD_Q, batch, head, query)
                for s in range(SUMS):
                    column = columns + s * LANES + lane
                    if column < depth:
                        row[column] = store(T(sums[s] * float_of(INT(descriptor[SCALE]))))
            columns += SUMS * LANES
        item += cuda.gridDim.x


def attention_grad_kv(q, k, v, mask, out, lse, grad, grad_k, grad_v, descriptor):
    """Blocks of keys, through the queries of all heads that share them: first K's gradient by columns, then V's."""
    queries, depth, width, group = descriptor[QUERIES], descriptor[DEPTH], descriptor[WIDTH], descriptor[GROUP]
    sources = descriptor[HEADS] // group
    cells = cuda.shared.array(CELLS, T)
    sums = local_array(T, SUMS)
    me = int64(cuda.threadIdx.x)
    line = me // LANES
    lane = me - line * LANES
    mine = line * TILE
    blocks = (descriptor[KEYS] + LINES - 1) // LINES
    item = int64(cuda.blockIdx.x)
    while item < descriptor[BATCH] * sources * blocks:
        place = item // blocks
        batch, source = place // sources, place % sources
        first = (item - place * blocks) * LINES
        key = first + line
        columns = int64(0)
        while columns < depth + width:
            of_k = columns < depth
            begin = columns if of_k else columns - depth
            end = depth if of_k else width
            for s in range(SUMS):
                sums[s] = T(0)
            for head in range(source * group, (source + 1) * group):
                start = first // TILE * TILE if descriptor[CAUSAL] else int64(0)
                while start < queries:
                    for c in range(lane, TILE, LANES):
                        p = probability(q, k, mask, lse, descriptor, batch, head, start + c, key)
                        if of_k and p != T(0):
                            p *= slope_of_score(v, out, grad, descriptor, batch, head, start + c, key)
                        cells[mine + c] = p
                    cuda.syncthreads()
                    for c in range(min(int64(TILE), queries - start)):
                        row = line_of(q, descriptor, Q, batch, head, start + c) if of_k else \
                            line_of(grad, descriptor, GRAD, batch, head, start + c)
                        for s in range(SUMS):
                            column = begin + s * LANES + lane
                            if column < end:
                                sums[s] += cells[mine + c] * load(row[column])
                    cuda.syncthreads()
                    start += TILE
            if key < descriptor[KEYS]:
                row = line_of(grad_k, descriptor, GRAD_K, batch, source, key) if of_k else \
                    line_of(grad_v, descriptor, GRAD_V, batch, source, key)
                factor = float_of(INT(descriptor[SCALE])) if of_k else T(1)
                for s in range(SUMS):
                    column = begin + s * LANES + lane
                    if column < end:
                        row[column] = store(T(sums[s] * factor))
            columns = min(columns + SUMS * LANES, depth) if of_k else columns + SUMS * LANES
        item += cuda.gridDim.x


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(function, words, dtype):
    compute = compute_type(dtype)
    kinds = {"x": dtype, "c": compute, "b": "uint8"}
    names = dict(bindings(dtype), INT=np.int32 if compute == "float32" else np.int64)
    return compile_kernel(function, (*(kinds[w] + "*" for w in words), "int64*"), names, compute)


class _Forward:
    """A call with the addresses of the CPU's, of which the generator's state and the workspace are none."""

    __slots__ = ("kernel",)

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, q, k, v, mask, state, out, lse, workspace, descriptor):
        self.kernel.call(q, k, v, mask, out, lse, descriptor)


class _Backward:
    """The two launches of the gradients."""

    __slots__ = ("for_kv", "for_q")

    def __init__(self, for_q, for_kv):
        self.for_q, self.for_kv = for_q, for_kv

    def __call__(self, q, k, v, mask, state, out, lse, grad, grad_q, grad_k, grad_v, workspace, descriptor):
        self.for_q.call(q, k, v, mask, out, lse, grad, grad_q, self.for_q.descriptor)
        self.for_kv.call(q, k, v, mask, out, lse, grad, grad_k, grad_v, self.for_kv.descriptor)


counters_used = host.counters_used
_dropped = on_device(host.plan_attention, {4: STATE - 8})
_dropped_grad = on_device(host.plan_attention_grad, {4: STATE - 8})
plan_attention_kept = on_device(host.plan_attention_kept, {0: STATE - 8})


def plan_attention(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                   mask_strides=(0, 0, 0, 0), dropout=0.0, device=0) -> Prepared:
    """Plan softmax(scale * Q @ K^T + mask) @ V. The arguments and addresses are those of the CPU's `plan_attention`."""
    sizes = dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides
    if dropout:
        return _dropped(*sizes, dropout, device=device)
    blocks = batch * heads * -(-queries // LINES)
    made = prepare(_kernel(attention, "xxxbxc", dtype), describe(*sizes), blocks, device)
    made = Prepared(_Forward(made), made.descriptor, 0, made)
    if tensorcores.takes(*sizes):
        made = Choice(made, lambda: tensorcores.plan_forward(sizes, device), dtype == "float32", (0, 1, 2)).prepared()
    return made


def plan_attention_grad(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask=None,
                        mask_strides=(0, 0, 0, 0), dropout=0.0, device=0) -> Prepared:
    """Plan the gradients. The arguments and addresses are those of the CPU's `plan_attention_grad`."""
    sizes = dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides
    if dropout:
        return _dropped_grad(*sizes, dropout, device=device)
    row = describe(*sizes)
    for_q = prepare(_kernel(attention_grad_q, "xxxbxcxx", dtype), row, batch * heads * -(-queries // LINES), device)
    for_kv = prepare(_kernel(attention_grad_kv, "xxxbxcxxx", dtype), row, batch * heads // group * -(-keys // LINES), device)
    made = Prepared(_Backward(for_q, for_kv), for_q.descriptor, 0, (for_q, for_kv))
    if tensorcores.takes(*sizes):
        made = Choice(made, lambda: tensorcores.plan_gradients(sizes, device), dtype == "float32", (0, 1, 2, 7)).prepared()
    return made
