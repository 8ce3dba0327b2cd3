"""Attention and its gradients by tensor cores, without the matrix of scores (FlashAttention-2; Dao 2023).

A warp has 16 rows of a head in registers and goes through the other side's columns a tile at a time: scores are products of its
rows and the tile, which `cp.async` brings to shared memory while the tile before is worked on. A score stays with the thread that
the instruction gives it to; that is also where the next product wants it, so probabilities are multiplied from registers.
Four passes differ in who is a row and what is added up:

    forward         rows are queries, columns keys     sums of probability * V, with a running maximum and sum of each row
    gradient of V   rows are keys, columns queries     sums of probability * grad
    gradient of Q   rows are queries, columns keys     sums of slope * K
    gradient of K   rows are keys, columns queries     sums of slope * Q

where a score's slope is probability * (grad . V - grad . out). Exponentials are of base 2, and so are scores.

Operands must lie in lines of whole 16 bytes: `attention.py` asks before it chooses this, and has the descriptor.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy import float32, inf, int64, uint32, uint64

from ...elementtypes import bindings, itemsize, same
from ...intrinsics import bits_of, float_of, fmax, offset
from ...threads import Prepared
from ...vectormath import log
from ..compiler import compile_kernel, cuda, prepare
from ..environment import SMALL
from ..gemm.tensorcores import STEP, Form
from ..runtime import runtime
from ..warps import (
    await_groups_but_one,
    commit_copies,
    copy_async,
    exponential2,
    lane_across,
    load_matrices,
    load_matrices_transposed,
    multiply_bfloat16,
    multiply_float16,
    multiply_tf32,
    packed_bfloat16,
    packed_float16,
    rounded_to_tf32,
    shared_address,
    warp_barrier,
)
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

FORMS = dict(bfloat16=Form(2, multiply_bfloat16), float16=Form(2, multiply_float16), float32=Form(4, multiply_tf32, True))
T = float32
INT = np.int32
load = store = same
LOG2E, LN2 = float32(1.4426950408889634), float32(0.6931471805599453)
MASKED = False                                           # whether there is a mask
WARPS = 2 if SMALL else 8
ROWS = 16 * WARPS                                        # of a block
TILES = (16,) if SMALL else (64, 32, 16)                 # columns that a block takes at a time
WORDS = 12288                                            # of shared memory, two tiles of both operands
LARGEST = {2: 128, 4: 64}                                # depths and widths that registers hold, by bytes of an element


class Pass(NamedTuple):
    """What a kernel adds up: where in the descriptor the strides are of its rows and columns and of the result, whether rows are
    keys, and whether slopes of scores are added up or probabilities."""
    first_rows: int
    second_rows: int
    first_columns: int
    second_columns: int
    out: int
    keys_are_rows: bool
    slopes: bool


PASSES = dict(forward=Pass(Q, Q, K, V, OUT, False, False), grad_q=Pass(Q, GRAD, K, V, GRAD_Q, False, True),
              grad_k=Pass(K, V, Q, GRAD, GRAD_K, True, True), grad_v=Pass(K, K, Q, GRAD, GRAD_V, True, False))


# ---------------------------------------------------------------- what a thread does
def halves_at(x, place):
    return uint32(uint32(x[place]) | uint32(uint32(x[place + 1]) << uint32(16)))


def float_at(x, place):
    return uint32(bits_of(x[place]))


word_at = halves_at
PER_WORD = 2                                             # elements


def fragment(x, start, step, row, rows, word, count):
    """What a thread has of 16 rows and eight words of the depth: of a row and the one eight below, a word and the one four on."""
    at, below = start + row * step + word * PER_WORD, start + (row + 8) * step + word * PER_WORD
    near, far = word * PER_WORD < count, (word + 4) * PER_WORD < count
    return (word_at(x, at) if row < rows and near else uint32(0), word_at(x, below) if row + 8 < rows and near else uint32(0),
            word_at(x, at + 4 * PER_WORD) if row < rows and far else uint32(0),
            word_at(x, below + 4 * PER_WORD) if row + 8 < rows and far else uint32(0))


CHUNK, ITEMSIZE = 8, 2                                   # elements that a copy of 16 bytes brings, and the bytes of each


def copy_line(source, start, step, tile, place, e, outer, inner, outer_end, inner_end, line, pitch):
    """Bring chunk number `e` of a slice: lines of `line` elements that are `step` apart in memory, the first of them number `outer`
    from element `inner` on, of which there are `outer_end` of `inner_end` elements; in shared memory `pitch` words apart."""
    number = e // (line // CHUNK)
    at = e - number * (line // CHUNK)
    there, inside = outer + number, inner + at * CHUNK
    count = min(max(inner_end - inside, int64(0)), int64(CHUNK)) if there < outer_end else int64(0)
    begin = start + there * step + inside if count > 0 else int64(0)
    copy_async(shared_address(tile, place + number * pitch + at * 4), offset(source, begin), count * ITEMSIZE)


def gathered(tile, place, first, second):
    """Words at a place of shared memory, and so many and so many words further."""
    return (uint32(tile[uint64(place)]), uint32(tile[uint64(place + first)]), uint32(tile[uint64(place + second)]),
            uint32(tile[uint64(place + first + second)]))


def shown(x, mask, q, descriptor, batch, head, query, key):
    """A score as the mask leaves it; -inf where the query does not see the key."""
    if key >= descriptor[KEYS] or (descriptor[CAUSAL] and key > query):
        return T(-inf)
    if MASKED and query < descriptor[QUERIES]:
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


# ---------------------------------------------------------------- the source
class Sizes(NamedTuple):
    """What a kernel is compiled for: padded depth and width, bytes of an element, and columns of a tile."""
    depth: int
    width: int
    itemsize: int
    tile: int

    def words(self, size):
        return size * self.itemsize // 4

    def pitch(self, size):
        """Words from column to column in shared memory, so that eight of them are in different banks."""
        return self.words(size) + 4

    @property
    def buffer(self):
        return self.tile * (self.pitch(self.depth) + self.pitch(self.width))


def _four(text):
    """Four numbers of a thread, two of one row and two of the row eight below: `#` is the number's place, `@` that of its row and
    `%` that of its column."""
    return "(" + ", ".join(text.replace("#", str(i)).replace("@", str(i // 2)).replace("%", str(i % 2)) for i in range(4)) + ")"


def _copies(sizes, number, turn, head):
    """A tile of both operands of the columns, of a head of theirs."""
    yield f"far = begin + {number} % per * {sizes.tile}"
    place = 0
    for name, size, end in (("first", sizes.depth, "DEPTH"), ("second", sizes.width, "WIDTH")):
        at, chunks = f"{name.upper()}_COLUMNS", sizes.tile * size * sizes.itemsize // 16
        yield f"start = batch * descriptor[{at}] + {head} * descriptor[{at} + 1]"
        for e in range(0, chunks, 32 * WARPS):
            guard = f"if me < {chunks - e}: " if chunks - e < 32 * WARPS else ""
            yield (f"{guard}copy_line({name}_columns, start, descriptor[{at} + 2], cells, {turn} * {sizes.buffer} + {place}, "
                   f"me + {e}, far, int64(0), column_count, descriptor[{end}], {size}, {sizes.pitch(size)})")
        place += sizes.tile * sizes.pitch(size)


def _scores(sizes, sums, rows, size, place):
    """Products of the rows' words and a tile's columns, which lie along the depth."""
    load = "rounded_to_tf32({})" if sizes.itemsize == 4 else "{}"
    yield from (f"{sums}{n} = ZEROS" for n in range(sizes.tile // 8))
    for step in range(sizes.words(size) // STEP):
        for n in range(0, sizes.tile // 8, 2):
            at = f"({8 * n} + (matrix >> 1) * 8 + eight) * {sizes.pitch(size)} + {STEP * step} + (matrix & 1) * 4"
            yield "b = " + load.format(f"load_matrices(shared_address(cells, now + {place} + {at}))")
            yield from (f"{sums}{n + k} = multiply({rows}{step}, (b[{2 * k}], b[{2 * k + 1}]), {sums}{n + k})" for k in range(2))


def _added(sizes, size, place):
    """Products of what is in place of scores and a tile's columns, whose sums are those of the result. In tf32 a step of the depth
    has four even columns and then four odd ones, which is where a thread has its own."""
    halves = sizes.itemsize == 2
    for j in range(0, sizes.tile // 8, 2 if halves else 1):
        if halves:
            yield "a = " + "({})".format(", ".join(f"packed(p{n}[{i}], p{n}[{i + 1}])" for n in (j, j + 1) for i in (0, 2)))
        else:
            yield f"a = rounded_to_tf32(({', '.join(f'uint32(bits_of(p{j}[{i}]))' for i in (0, 2, 1, 3))}))"
        for e in range(0, size // 8, 2):
            if halves:
                at = f"({8 * j} + (matrix & 1) * 8 + eight) * {sizes.pitch(size)} + {4 * e} + (matrix >> 1) * 4"
                yield f"b = load_matrices_transposed(shared_address(cells, now + {place} + {at}))"
            else:
                at = f"({8 * j} + 2 * word) * {sizes.pitch(size)} + {8 * e} + group"
                yield f"b = rounded_to_tf32(gathered(cells, now + {place} + {at}, {sizes.pitch(size)}, 8))"
            yield from (f"o{e + k} = multiply(a, (b[{2 * k}], b[{2 * k + 1}]), o{e + k})" for k in range(2))


def _shown(sizes, keys_are_rows):
    """Scores of base 2, without those that the query does not see."""
    yield from (f"x{n} = {_four(f'T(x{n}[#] * scale2)')}" for n in range(sizes.tile // 8))
    yield "if edge:"
    for n in range(sizes.tile // 8):
        row, column = "top + 8 * @", f"at + {8 * n} + 2 * word + %"
        query, key = (column, row) if keys_are_rows else (row, column)
        yield f"    x{n} = " + _four(f"shown(x{n}[#], mask, first_rows, descriptor, batch, query_head, {query}, {key})")


def _probabilities(sizes, size):
    """Of the forward pass: exponentials, and what was added up before in their scale."""
    count = sizes.tile // 8
    for row in range(2):
        yield f"highest{row} = best{row}"
        yield from (f"highest{row} = fmax(highest{row}, fmax(x{n}[{2 * row}], x{n}[{2 * row + 1}]))" for n in range(count))
        yield f"highest{row} = largest_of_row(highest{row})"
        yield f"shift{row} = T(0) if highest{row} == T(-inf) else highest{row}"            # -inf - -inf would be NaN
        yield f"shrink{row} = exponential2(T(best{row} - shift{row}))"
        yield f"best{row} = highest{row}"
    yield from (f"p{n} = {_four(f'exponential2(T(x{n}[#] - shift@))')}" for n in range(count))
    for row in range(2):
        yield f"total{row} = T(total{row} * shrink{row})"
        yield from (f"total{row} = T(total{row} + p{n}[{2 * row}] + p{n}[{2 * row + 1}])" for n in range(count))
    yield from (f"o{e} = {_four(f'T(o{e}[#] * shrink@)')}" for e in range(size // 8))


def _again(sizes, shape):
    """Of the gradients: the same probabilities, and slopes."""
    place = "%" if shape.keys_are_rows else "@"
    for n in range(sizes.tile // 8):
        for i in range(2 * shape.keys_are_rows):
            query = f"at + {8 * n + i} + 2 * word"
            yield f"lse{i} = T(of_query(lse, descriptor, batch, query_head, {query}, inf) * LOG2E)"
            if shape.slopes:
                yield f"dot{i} = of_query(dots, descriptor, batch, query_head, {query}, 0)"
        yield f"p{n} = " + _four(f"exponential2(T(x{n}[#] - lse{place}))")
        if shape.slopes:
            yield f"p{n} = " + _four(f"T(p{n}[#] * (t{n}[#] - dot{place}))")


def _written(forward, slopes, size, end):
    """The result through shared memory, so that a warp's lanes have neighbouring columns."""
    factors = ["inverse0", "inverse1"] if forward else ["scale"] * 2 if slopes else ["T(1)"] * 2
    for half in range(2):
        for e in range(size // 8):
            for q in range(2):
                yield f"cells[uint64(mine + {8 * e + q})] = uint32(bits_of(T(o{e}[{2 * half + q}] * {factors[half]})))"
        yield from ("warp_barrier()", "for row in range(8):",
                    f"    at = first + 16 * warp + {8 * half} + row",
                    "    if at < row_count:",
                    "        line = line_of(out, descriptor, OUT_PLACE, batch, head, at)",
                    f"        for c in range(lane, descriptor[{end}], 32):",
                    f"            line[c] = store(float_of(INT(cells[uint64(staged + row * {size + 8} + (row >> 2) + c)])))",
                    "warp_barrier()")


def _tile(sizes, shape, forward, size):
    """What is done with a tile."""
    second = sizes.tile * sizes.pitch(sizes.depth)
    yield from _scores(sizes, "x", "f", sizes.depth, 0)
    yield from _shown(sizes, shape.keys_are_rows)
    if shape.slopes:
        yield from _scores(sizes, "t", "g", sizes.width, second)
    yield from _probabilities(sizes, size) if forward else _again(sizes, shape)
    yield from _added(sizes, size, 0 if shape.slopes else second)


def _start(sizes, shape, forward, size):
    """What a warp has in registers before the first tile."""
    operands = ("first", "f", sizes.depth, "DEPTH"), ("second", "g", sizes.width, "WIDTH")
    for name, letter, extent, end in operands[:1 + shape.slopes]:
        at = f"{name.upper()}_ROWS"
        yield f"start = batch * descriptor[{at}] + head * descriptor[{at} + 1]"
        for step in range(sizes.words(extent) // STEP):
            words = f"fragment({name}_rows, start, descriptor[{at} + 2], top, row_count, word + {STEP * step}, descriptor[{end}])"
            yield f"{letter}{step} = " + (f"rounded_to_tf32({words})" if sizes.itemsize == 4 else words)
    yield from (f"o{e} = ZEROS" for e in range(size // 8))
    for row in range(2):
        if forward:
            yield f"best{row}, total{row} = T(-inf), T(0)"
        elif not shape.keys_are_rows:
            yield f"lse{row} = T(of_query(lse, descriptor, batch, head, top + {8 * row}, inf) * LOG2E)"
            yield f"dot{row} = of_query(dots, descriptor, batch, head, top + {8 * row}, 0)"


def _end_of_forward():
    for row in range(2):
        yield from (f"total{row} = sum_of_row(total{row})", f"inverse{row} = T(0) if total{row} == T(0) else T(T(1) / total{row})",
                    f"if word == 0 and top + {8 * row} < row_count:",
                    f"    lse[place * row_count + top + {8 * row}] = T(inf) if total{row} == T(0) else "
                    f"T(best{row} * LN2 + log(total{row}))")


def _source(sizes, shape, forward, has_mask):
    """The kernel of a pass, with what is done for each matrix written out (see ../gemm/tiles.py)."""
    indented = lambda lines, by: [" " * by + line for line in lines]
    size, end = (sizes.depth, "DEPTH") if shape.slopes else (sizes.width, "WIDTH")
    keys = shape.keys_are_rows
    rows, columns = ("KEYS", "QUERIES") if keys else ("QUERIES", "KEYS")
    column_head = "(head * descriptor[GROUP] + {} // per)" if keys else "head // descriptor[GROUP]"
    copies = [_copies(sizes, number, turn, column_head.format(number))
              for number, turn in (("first_tile", "0"), ("next_tile", "(1 - turn)"))]
    outside = (f"first + {ROWS} > row_count", f"first + {ROWS - 1} > at") if keys else (
        f"at + {sizes.tile} > column_count", f"at + {sizes.tile - 1} > first")
    return "\n".join([
        "def attend(first_rows, second_rows, first_columns, second_columns, mask, lse, dots, out, descriptor):",
        f"    cells = cuda.shared.array({max(2 * sizes.buffer, WARPS * 8 * (size + 8))}, uint32, 16)",
        "    me = int64(cuda.threadIdx.x)",
        "    lane, warp = me & 31, me >> 5",
        "    eight, matrix, group, word = lane & 7, lane >> 3, lane >> 2, lane & 3",
        f"    staged = warp * {8 * (size + 8)}",
        # rows from the fifth on are a word further, in the banks between those of the first four
        f"    mine = staged + group * {size + 8} + (group >> 2) + 2 * word",
        f"    row_count, column_count = descriptor[{rows}], descriptor[{columns}]",
        "    scale = float_of(INT(descriptor[SCALE]))",
        "    scale2 = T(scale * LOG2E)",
        f"    heads = descriptor[HEADS]{' // descriptor[GROUP]' if keys else ''}",
        f"    blocks = (row_count + {ROWS - 1}) // {ROWS}",
        "    item = int64(cuda.blockIdx.x)",
        "    while item < descriptor[BATCH] * heads * blocks:",
        "        place = item // blocks",
        "        batch, head = place // heads, place % heads",
        f"        first = (item - place * blocks) * {ROWS}",
        "        top = first + 16 * warp + group",
        "        begin, end = int64(0), column_count",
        "        if descriptor[CAUSAL]:",
        f"            {f'begin = first // {sizes.tile} * {sizes.tile}' if keys else f'end = min(end, first + {ROWS})'}",
        f"        per = max((end - begin + {sizes.tile - 1}) // {sizes.tile}, int64(0))",
        f"        count = per{' * descriptor[GROUP]' if keys else ''}",
        *indented(_start(sizes, shape, forward, size), 8),
        "        number, turn, first_tile = int64(0), int64(0), int64(0)",
        "        if count > 0:",
        *indented(copies[0], 12),
        "        commit_copies()",
        "        while number < count:",
        "            next_tile = number + 1",
        "            if next_tile < count:",
        *indented(copies[1], 16),
        "            commit_copies()",
        "            await_groups_but_one()",
        "            cuda.syncthreads()",
        f"            now, at = turn * {sizes.buffer}, begin + number % per * {sizes.tile}",
        f"            query_head = {column_head.format('number') if keys else 'head'}",
        # whether some score of the block and the tile is not seen
        f"            edge = {has_mask} or {outside[0]} or (descriptor[CAUSAL] and {outside[1]})",
        *indented(_tile(sizes, shape, forward, size), 12),
        "            cuda.syncthreads()",
        "            number, turn = next_tile, 1 - turn",
        *indented(_end_of_forward() if forward else (), 8),
        *indented(_written(forward, shape.slopes, size, end), 8),
        "        cuda.syncthreads()",                    # before the next tiles go where results were
        "        item += cuda.gridDim.x"]) + "\n"


# ---------------------------------------------------------------- kernels
def padded(size):
    """The number of elements that a kernel is compiled for."""
    return max(16, 1 << (size - 1).bit_length())


def sizes_for(dtype, depth, width, slopes=False) -> Any:
    """What a pass is compiled for, or None where it would be more than registers hold; slopes take registers of half as many
    columns."""
    item, depth, width = itemsize(dtype), padded(depth), padded(width)
    if dtype not in FORMS or max(depth, width) > LARGEST[item]:
        return None
    tile = next(tile for tile in TILES if 2 * Sizes(depth, width, item, tile).buffer <= WORDS)
    return Sizes(depth, width, item, max(tile // 2, 16) if slopes else tile)


@functools.cache
def attention_kernel(name, dtype, sizes, has_mask):
    """The kernel of a pass, which takes (rows, their second operand, columns, their second operand, mask, logarithms of sums, dots
    of gradient and result, result)."""
    shape, form, halves = PASSES[name], FORMS[dtype], sizes.itemsize == 2
    names = dict(bindings(dtype), INT=np.int32, MASKED=has_mask, multiply=form.multiply, CHUNK=16 // sizes.itemsize,
                 ITEMSIZE=sizes.itemsize, PER_WORD=4 // sizes.itemsize, word_at=halves_at if halves else float_at,
                 packed=packed_float16 if dtype == "float16" else packed_bfloat16)
    scope = dict(globals(), ZEROS=(float32(0),) * 4, FIRST_ROWS=shape.first_rows, SECOND_ROWS=shape.second_rows,
                 OUT_PLACE=shape.out, FIRST_COLUMNS=shape.first_columns, SECOND_COLUMNS=shape.second_columns, cuda=cuda, log=log,
                 bits_of=bits_of, float_of=float_of, uint64=uint64, copy_line=copy_line, gathered=gathered, inf=inf,
                 await_groups_but_one=await_groups_but_one, commit_copies=commit_copies, exponential2=exponential2,
                 load_matrices=load_matrices, load_matrices_transposed=load_matrices_transposed, rounded_to_tf32=rounded_to_tf32,
                 shared_address=shared_address, warp_barrier=warp_barrier, SCALE=SCALE, line_of=line_of,
                 DEPTH=DEPTH, GROUP=GROUP)
    scope.update(names)
    exec(compile(_source(sizes, shape, name == "forward", has_mask), f"<attention, {name}, of {sizes}>", "exec"), scope)
    kinds = (dtype + "*",) * 4 + ("uint8*", "float32*", "float32*", dtype + "*", "int64*")
    return compile_kernel(scope["attend"], kinds, names, "float32", threads=32 * WARPS)


def grad_dots(out, grad, dots, descriptor):
    """grad . out of each query: a warp each."""
    heads, queries = descriptor[HEADS], descriptor[QUERIES]
    me = int64(cuda.threadIdx.x)
    lane, number = me & 31, int64(cuda.blockIdx.x) * WARPS + (me >> 5)
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
        number += int64(cuda.gridDim.x) * WARPS


# ---------------------------------------------------------------- planners
def takes(dtype, batch, heads, group, queries, keys, depth, width, scale, causal, strides, mask, mask_strides):
    """Whether rows lie so that 16 bytes can be copied at once, registers hold them, and there are enough to fill matrices."""
    if dtype not in FORMS or sizes_for(dtype, depth, width) is None or min(queries, keys) < 16:
        return False
    item = itemsize(dtype)
    return depth * item % 4 == width * item % 4 == 0 and all(step * item % 16 == 0 for each in strides for step in each)


class _Forward:
    """A call with the addresses of `attention.plan_attention`."""

    __slots__ = ("made",)

    def __init__(self, made):
        self.made = made

    def __call__(self, q, k, v, mask, state, out, lse, workspace, descriptor):
        self.made.call(q, q, k, v, mask, lse, 0, out, descriptor)


class _Gradients:
    """The same of `plan_attention_grad`, with scratch memory of this call's own: a number of each query."""

    __slots__ = ("dots", "passes", "nbytes", "device")

    def __init__(self, dots, passes, nbytes, device):
        self.dots, self.passes, self.nbytes, self.device = dots, passes, nbytes, device

    def __call__(self, q, k, v, mask, state, out, lse, grad, grad_q, grad_k, grad_v, workspace, descriptor):
        owner, dots = runtime().allocate(self.nbytes, self.device)
        self.dots.call(out, grad, dots, descriptor)
        for_q, for_k, for_v = self.passes
        for_q.call(q, grad, k, v, mask, lse, dots, grad_q, descriptor)
        for_k.call(k, v, q, grad, mask, lse, dots, grad_k, descriptor)
        for_v.call(k, k, q, grad, mask, lse, dots, grad_v, descriptor)          # the owner gives the memory back in stream order


def _plan(name, arguments, row, device):
    dtype, batch, heads, group, queries, keys, depth, width, *_, mask, _ = arguments
    shape = PASSES[name]
    kernel = attention_kernel(name, dtype, sizes_for(dtype, depth, width, shape.slopes), mask is not None)
    blocks = batch * heads // group * -(-keys // ROWS) if shape.keys_are_rows else batch * heads * -(-queries // ROWS)
    return prepare(kernel, row, blocks, device)


def plan_forward(arguments, device) -> Prepared:
    """Attention by tensor cores, from the arguments of `plan_attention`."""
    made = _plan("forward", arguments, describe(*arguments), device)
    return Prepared(_Forward(made), made.descriptor, 0, made)


def plan_gradients(arguments, device) -> Prepared:
    """Its gradients, from those of `plan_attention_grad`."""
    dtype, batch, heads, _, queries, *_ = arguments
    row = describe(*arguments)
    kinds = dtype + "*", dtype + "*", "float32*", "int64*"
    kernel = compile_kernel(grad_dots, kinds, bindings(dtype), "float32", threads=32 * WARPS)
    dots = prepare(kernel, row, -(-batch * heads * queries // WARPS), device)
    passes = [_plan(name, arguments, row, device) for name in ("grad_q", "grad_k", "grad_v")]
    return Prepared(_Gradients(dots, passes, 4 * batch * heads * queries, device), dots.descriptor, 0, (dots, passes))
