"""Attention and its gradients by tensor cores, without the matrix of scores (FlashAttention-2; Dao 2023).

A warp has 16 or 32 rows of a head in registers and goes through the other side's columns a tile at a time: scores are products of
its rows and the tile, which `cp.async` brings to shared memory while the tile before is worked on. A score stays with the thread
that the instruction gives it to; that is also where the next product wants it, so probabilities are multiplied from registers.
Passes differ in who is a row and what is added up:

    forward                 rows are queries, columns keys     sums of probability * V, with a maximum and a sum of each row
    gradient of Q           rows are queries, columns keys     sums of slope * K
    gradients of K and V    rows are keys, columns queries     sums of slope * Q and of probability * grad

where a score's slope is probability * (grad . V - grad . out). Where registers do not hold the sums of both, the last is two
passes. Exponentials are of base 2, and the scale of scores is multiplied in the same instruction that subtracts the maximum. What
was added up is put into the scale of a new maximum only where that is more than 2⁸ times as large: until then probabilities are
above 1, and their sum says by how much.

Tiles lie in shared memory in lines of 128 bytes, swizzled as ../gemm/tensorcores.py says: a column has a line of each panel of 128
bytes. Operands must lie in lines of whole 16 bytes: `attention.py` asks before it chooses this. passes.py writes the source.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy import float32, inf, int32, int64, uint32

from ...elementtypes import bindings, itemsize, same
from ...intrinsics import address_of, bits_of, float_of, fmax, offset, select
from ...sources import compile_source
from ...threads import Prepared
from ...vectormath import log
from ..compiler import compile_kernel, cuda, prepare
from ..environment import SMALL
from ..gemm.tensorcores import CHUNK, FORMS, pitch, put_chunk
from ..runtime import runtime
from ..warps import (
    await_groups,
    bytes_within,
    commit_copies,
    copy_async,
    copy_word_async,
    exponential2,
    further,
    lane_across,
    load_matrices,
    load_matrices_transposed,
    packed_bfloat16,
    packed_float16,
    put_rows,
    rounded_to_tf32,
    shared_address,
    shared_pair,
    shared_word,
    warp_barrier,
)
from .descriptor import (
    BATCH,
    CAUSAL,
    DEPTH,
    GRAD,
    GROUP,
    HEADS,
    KEYS,
    OUT,
    QUERIES,
    SCALE,
    WIDTH,
    describe,
    line_of,
    masked,
)
from .fragments import (
    exponentials_of_columns,
    exponentials_of_rows,
    maxima_of_rows,
    seen_above,
    seen_below,
    slopes_of_columns,
    slopes_of_rows,
    sums_of_rows,
    times_rows,
)
from .passes import PASSES, ROWS, Sizes, source

T = float32
INT = np.int32
load = store = same
LOG2E, LN2 = float32(1.4426950408889634), float32(0.6931471805599453)
TILES = (16, 16) if SMALL else (64, 32)                  # columns that a block takes at a time; the second where a pass has slopes
LARGEST = {2: 128, 4: 64}                                # depths and widths that registers hold, by bytes of an element
TOGETHER = 128                                           # bytes of a row up to which registers hold the sums for keys and values
GRAD_WARPS = 2 if SMALL else 8                           # of a block that makes dots of gradients
GROWTH = float32(8)                                      # by how much a maximum grows, in powers of two, before sums follow
LEAST = float32(1e-30)                                   # a scale of 0, so that -inf stays what it is


# ---------------------------------------------------------------- what a thread does
def halves_at(x, place):
    return uint32(uint32(x[place]) | uint32(uint32(x[place + 1]) << uint32(16)))


def float_at(x, place):
    return uint32(bits_of(x[place]))


word_at = halves_at
PER_WORD, PER_STORE = 2, 8                               # elements
NO_BIASES = (float32(0),) * 8


def fragment(x, start, step, row, rows, word, count, sign):
    """What a thread has of 16 rows and eight words of the depth: of a row and the one eight below, a word and the one four on.
    `sign`: the bits that are flipped."""
    at, below = start + row * step + word * PER_WORD, start + (row + 8) * step + word * PER_WORD
    near, far = word * PER_WORD < count, (word + 4) * PER_WORD < count
    return (uint32(word_at(x, at) ^ sign) if row < rows and near else uint32(0),
            uint32(word_at(x, below) ^ sign) if row + 8 < rows and near else uint32(0),
            uint32(word_at(x, at + 4 * PER_WORD) ^ sign) if row < rows and far else uint32(0),
            uint32(word_at(x, below + 4 * PER_WORD) ^ sign) if row + 8 < rows and far else uint32(0))


def shown(x, mask, q, descriptor, batch, head, query, key):
    """A score as the mask leaves it; -inf where the query does not see the key."""
    if key >= descriptor[KEYS] or (descriptor[CAUSAL] and key > query):
        return T(-inf)
    if query < descriptor[QUERIES]:
        return T(x + masked(mask, q, descriptor, batch, head, query, key) * LOG2E)
    return x


def of_query(values, descriptor, batch, head, query, otherwise):
    """A number of each query of each head."""
    if query < descriptor[QUERIES]:
        return values[(batch * descriptor[HEADS] + head) * descriptor[QUERIES] + query]
    return T(otherwise)


def largest_of_row(x):
    x = fmax(x, lane_across(x, 1))
    return fmax(x, lane_across(x, 2))


def sum_of_row(x):
    x = T(x + lane_across(x, 1))
    return T(x + lane_across(x, 2))


def put_line(x, address, count, lean):
    """Write 16 bytes of a row that are in shared memory, as far as there are elements; at once where that may be."""
    if lean:
        put_chunk(x, address, True, count, 0, T(1), NO_BIASES)
    else:
        for c in range(min(count, PER_STORE)):
            x[c] = store(T(float_of(INT(shared_word(further(address, 4 * c))))))


# ---------------------------------------------------------------- kernels
def padded(size):
    """The number of elements that a kernel is compiled for."""
    return max(16, 1 << (size - 1).bit_length())


def sizes_for(dtype, depth, width, shape=PASSES["forward"]) -> Any:
    """What a pass is compiled for, or None where it would be more than registers hold."""
    item, depth, width = itemsize(dtype), padded(depth), padded(width)
    if dtype not in FORMS or max(depth, width) > LARGEST[item]:
        return None
    short = item == 2 and max(depth, width) <= 64
    tile = TILES[0 if not shape.slopes or (shape.keys_are_rows and short) else 1]
    return Sizes(depth, width, item, tile, 2 if short and not shape.keys_are_rows else 1)


@functools.cache
def attention_kernel(name, dtype, sizes, has_mask):
    """The kernel of a pass, which takes (rows, their second operand, columns, their second operand, mask, logarithms of sums, dots
    of gradient and result, sums of probabilities, sums of slopes)."""
    shape, form, halves = PASSES[name], FORMS[dtype], sizes.itemsize == 2
    pack = packed_float16 if dtype == "float16" else packed_bfloat16
    names = dict(bindings(dtype), INT=np.int32, add_products=form.multiply, PER_STORE=CHUNK // sizes.itemsize,
                 PER_WORD=4 // sizes.itemsize, word_at=halves_at if halves else float_at,
                 packed=pack, pair_of=pack, NO_BIASES=(float32(0),) * (CHUNK // sizes.itemsize))
    zeros = lambda size: (float32(0),) * (sizes.rows * size // 2)
    scope = dict(globals(), exponentials_of_columns=exponentials_of_columns, exponentials_of_rows=exponentials_of_rows,
                 maxima_of_rows=maxima_of_rows, seen_above=seen_above, seen_below=seen_below, slopes_of_columns=slopes_of_columns,
                 slopes_of_rows=slopes_of_rows, sums_of_rows=sums_of_rows, times_rows=times_rows,
                 int32=int32, offset=offset, put_line=put_line,
                 SCORES=zeros(sizes.tile), WIDE=zeros(sizes.width), DEEP=zeros(sizes.depth),
                 SIGN=uint32(0x80008000 if halves else 0x80000000), FIRST_ROWS=shape.first_rows, SECOND_ROWS=shape.second_rows,
                 FIRST_COLUMNS=shape.first_columns, SECOND_COLUMNS=shape.second_columns, cuda=cuda, log=log, inf=inf, int64=int64,
                 address_of=address_of, await_groups=await_groups, bits_of=bits_of, bytes_within=bytes_within,
                 commit_copies=commit_copies, copy_async=copy_async, copy_word_async=copy_word_async, float_of=float_of,
                 exponential2=exponential2, load_matrices=load_matrices, load_matrices_transposed=load_matrices_transposed,
                 put_rows=put_rows, rounded_to_tf32=rounded_to_tf32, select=select, shared_pair=shared_pair,
                 shared_address=shared_address, shared_word=shared_word, warp_barrier=warp_barrier, SCALE=SCALE, line_of=line_of,
                 DEPTH=DEPTH, GROUP=GROUP)
    scope.update(names)
    text = source(sizes, shape, name == "forward", has_mask, sizes.itemsize)
    compile_source(text, f"attention, {name}", scope)
    kinds = (dtype + "*",) * 4 + ("uint8*", "float32*", "float32*", dtype + "*", dtype + "*", "int64*")
    shared = max(2 * sizes.stage, sizes.warps * 64 * pitch(max(sizes.depth, sizes.width) // 8))
    return compile_kernel(scope["attend"], kinds, names, "float32", threads=sizes.threads, shared=shared)


def grad_dots(out, grad, dots, descriptor):
    """grad . out of each query: a warp each."""
    heads, queries = descriptor[HEADS], descriptor[QUERIES]
    me = int64(cuda.threadIdx.x)
    lane, number = me & 31, int64(cuda.blockIdx.x) * GRAD_WARPS + (me >> 5)
    while number < descriptor[BATCH] * heads * queries:
        place = number // queries
        batch, head, query = place // heads, place % heads, number % queries
        result, slope = line_of(out, descriptor, OUT, batch, head, query), line_of(grad, descriptor, GRAD, batch, head, query)
        total = T(0)
        for i in range(lane, descriptor[WIDTH], 32):
            total = T(total + load(result[i]) * load(slope[i]))
        total = sum_of_row(T(total + lane_across(total, 16)))
        total = T(total + lane_across(total, 4))
        dots[number] = T(total + lane_across(total, 8))
        number += int64(cuda.gridDim.x) * GRAD_WARPS


# ---------------------------------------------------------------- planners
def takes(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides):
    """Whether rows lie so that 16 bytes can be copied at once, registers hold them, and there are enough to fill matrices."""
    if dtype not in FORMS or sizes_for(dtype, depth, width) is None or min(queries, keys) < 16:
        return False
    item = itemsize(dtype)
    return depth * item % 4 == width * item % 4 == 0 and all(step * item % 16 == 0 for each in strides for step in each)


def for_keys(dtype, depth, width):
    """The passes that make the gradients of keys and values."""
    return ("grad_kv",) if max(depth, width) * itemsize(dtype) <= TOGETHER else ("grad_k", "grad_v")


class _Forward:
    """A call with the addresses of `attention.plan_attention`."""

    __slots__ = ("made",)

    def __init__(self, made):
        self.made = made

    def __call__(self, q, k, v, mask, state, out, lse, workspace, descriptor):
        self.made.call(q, q, k, v, mask, lse, 0, out, 0, descriptor)


class _Gradients:
    """The same of `plan_attention_grad`, with scratch memory of this call's own: a number of each query."""

    __slots__ = ("dots", "passes", "nbytes", "device")

    def __init__(self, dots, passes, nbytes, device):
        self.dots, self.passes, self.nbytes, self.device = dots, passes, nbytes, device

    def __call__(self, q, k, v, mask, state, out, lse, grad, grad_q, grad_k, grad_v, workspace, descriptor):
        owner, dots = runtime().allocate(self.nbytes, self.device)
        self.dots.call(out, grad, dots, descriptor)
        for_q, *for_kv = self.passes                     # the owner gives the memory back in stream order
        for_q.call(q, grad, k, v, mask, lse, dots, 0, grad_q, descriptor)
        for each in for_kv:
            each.call(k, v, q, grad, mask, lse, dots, grad_v, grad_k, descriptor)


def _plan(name, arguments, row, device):
    dtype, batch, heads, group, queries, keys, depth, width, *_, mask, _ = arguments
    shape = PASSES[name]
    kernel = attention_kernel(name, dtype, sizes_for(dtype, depth, width, shape), mask is not None)
    blocks = batch * heads // group * -(-keys // ROWS) if shape.keys_are_rows else batch * heads * -(-queries // ROWS)
    return prepare(kernel, row, blocks, device)


def plan_forward(arguments, device) -> Prepared:
    """Attention by tensor cores, from the arguments of `plan_attention`."""
    made = _plan("forward", arguments, describe(*arguments), device)
    return Prepared(_Forward(made), made.descriptor, 0, made)


def plan_gradients(arguments, device) -> Prepared:
    """Its gradients, from those of `plan_attention_grad`."""
    dtype, batch, heads, _, queries, _, depth, width, *_ = arguments
    row = describe(*arguments)
    kinds = dtype + "*", dtype + "*", "float32*", "int64*"
    kernel = compile_kernel(grad_dots, kinds, bindings(dtype), "float32", threads=32 * GRAD_WARPS)
    dots = prepare(kernel, row, -(-batch * heads * queries // GRAD_WARPS), device)
    passes = [_plan(name, arguments, row, device) for name in ("grad_q", *for_keys(dtype, depth, width))]
    return Prepared(_Gradients(dots, passes, 4 * batch * heads * queries, device), dots.descriptor, 0, (dots, passes))
