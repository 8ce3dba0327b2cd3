"""Products of 16-bit floats by tensor cores: `mma.sync` on matrices that `ldmatrix` takes from shared memory, to where `cp.async`
brings the next slice of the depth meanwhile.

A block makes a tile of C by warps, each a part of it in registers: 64 x 32 elements, as 4 x 4 matrices of 16 x 8. Slices of A and B
lie in shared memory as they lie in memory, along the depth or across it, with 8 words between lines, so that the eight rows of a
matrix are in different banks; `ldmatrix` transposes what lies the other way. The copy fills what is outside of A or B with zeros.

Strides across lines, and the addresses themselves, must be multiples of 16 bytes: `gemm.py` asks before it chooses this.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy import float32, int64, uint16

from ...elementtypes import bindings
from ...intrinsics import offset
from ..compiler import compile_kernel, cuda
from ..environment import THREADS
from ..warps import (
    await_groups_but_one,
    commit_copies,
    copy_async,
    load_matrices,
    load_matrices_transposed,
    multiply_bfloat16,
    multiply_float16,
    shared_address,
)
from .tiles import ALL_TILES, SIZE_K, SIZE_M, SIZE_N, TILES, TILES_N, float_scalar, header, put

CHUNK = 8                                                # words that a copy brings, and between lines in shared memory
DTYPES = dict(bfloat16=multiply_bfloat16, float16=multiply_float16)


class Warps(NamedTuple):
    """How a block divides its tile: warps down and across, matrices of 16 x 8 that each has down and across (an even number), and
    the depth of a slice."""
    down: int
    across: int
    rows: int
    columns: int
    depth: int

    @property
    def tall(self):
        return self.down * self.rows * 16

    @property
    def wide(self):
        return self.across * self.columns * 8

    @property
    def threads(self):
        return 32 * self.down * self.across


LARGE, SMALL = Warps(2, 4, 4, 4, 32), Warps(2, 4, 2, 2, 32)


def copy_line(source, start, step, tile, place, e, outer, inner, outer_end, inner_end, line):
    """Bring chunk number `e` of a slice: lines of `line` words that are `step` apart in memory, the first of them number `outer`
    from word `inner` on, of which there are `outer_end` of `inner_end` words."""
    number = e // (line // CHUNK)
    at = (e - number * (line // CHUNK)) * CHUNK
    there, inside = outer + number, inner + at
    count = min(max(inner_end - inside, int64(0)), int64(CHUNK)) if there < outer_end else int64(0)
    begin = start + there * step + inside if count > 0 else int64(0)
    copy_async(shared_address(tile, place + number * (line + CHUNK) + at), offset(source, begin), count * 2)


def _source(warps, a_along, b_along, threads):
    """The kernel, with what is done for each matrix written out (see tiles.py)."""
    tall, wide, depth = warps.tall, warps.wide, warps.depth
    a_lines, a_line = (tall, depth) if a_along else (depth, tall)
    b_lines, b_line = (wide, depth) if b_along else (depth, wide)
    a_size, b_size = a_lines * (a_line + CHUNK), b_lines * (b_line + CHUNK)
    sums = [(r, s) for r in range(warps.rows) for s in range(warps.columns)]

    def copies(first, turn):
        lines = []
        for name, along, edge, lines_of, line, size, end in (("a", a_along, "top", a_lines, a_line, a_size, "SIZE_M"),
                                                             ("b", b_along, "left", b_lines, b_line, b_size, "SIZE_N")):
            outer, inner = (edge, first) if along else (first, edge)
            ends = (f"descriptor[{end}]", "descriptor[SIZE_K]") if along else ("descriptor[SIZE_K]", f"descriptor[{end}]")
            for e in range(0, lines_of * line // CHUNK, threads):
                lines.append(f"copy_line({name}, {name}_start, descriptor[{name.upper()}_STEP], {name}_tile, {turn} * {size}, "
                             f"me + {e}, {outer}, {inner}, {ends[0]}, {ends[1]}, {line})")
        return lines

    lines = ["def product_warps(a, b, c, bias, descriptor):",
             f"    a_tile = cuda.shared.array({2 * a_size}, uint16)",
             f"    b_tile = cuda.shared.array({2 * b_size}, uint16)",
             "    me = int64(cuda.threadIdx.x)",
             "    lane, warp = me & 31, me >> 5",
             f"    down, across = warp // {warps.across} * {16 * warps.rows}, warp % {warps.across} * {8 * warps.columns}",
             "    eight, matrix = lane & 7, lane >> 3",
             "    tile = int64(cuda.blockIdx.x)",
             "    while tile < descriptor[ALL_TILES]:",
             "        image = tile // descriptor[TILES]",
             "        place = tile - image * descriptor[TILES]",
             f"        top, left = place // descriptor[TILES_N] * {tall}, place % descriptor[TILES_N] * {wide}",
             "        a_start, b_start = image * descriptor[A_BATCH], image * descriptor[B_BATCH]",
             *[f"        s{r}_{s} = ZEROS" for r, s in sums],
             "        first, turn = int64(0), int64(0)",
             *["        " + line for line in copies("first", "turn")],
             "        commit_copies()",
             "        while first < descriptor[SIZE_K]:",
             f"            ahead = first + {depth}",
             "            if ahead < descriptor[SIZE_K]:",
             *["                " + line for line in copies("ahead", "(1 - turn)")],
             "            commit_copies()",
             "            await_groups_but_one()",
             "            cuda.syncthreads()"]
    for k in range(0, depth, 16):
        for r in range(warps.rows):
            at = (f"(down + {16 * r} + (matrix & 1) * 8 + eight) * {a_line + CHUNK} + {k} + (matrix >> 1) * 8" if a_along else
                  f"({k} + (matrix >> 1) * 8 + eight) * {a_line + CHUNK} + down + {16 * r} + (matrix & 1) * 8")
            load = "load_matrices" if a_along else "load_matrices_transposed"
            lines.append(f"            a{r} = {load}(shared_address(a_tile, turn * {a_size} + {at}))")
        for s in range(0, warps.columns, 2):
            at = (f"(across + {8 * s} + (matrix >> 1) * 8 + eight) * {b_line + CHUNK} + {k} + (matrix & 1) * 8" if b_along else
                  f"({k} + (matrix & 1) * 8 + eight) * {b_line + CHUNK} + across + {8 * s} + (matrix >> 1) * 8")
            load = "load_matrices" if b_along else "load_matrices_transposed"
            lines.append(f"            b{s} = {load}(shared_address(b_tile, turn * {b_size} + {at}))")
        for r, s in sums:
            pair, half = s - s % 2, 2 * (s % 2)
            lines.append(f"            s{r}_{s} = multiply(a{r}, (b{pair}[{half}], b{pair}[{half + 1}]), s{r}_{s})")
    lines += ["            cuda.syncthreads()",
              "            first, turn = ahead, 1 - turn",
              "        group, pair = lane >> 2, (lane & 3) * 2"]
    for r, s in sums:
        for q in range(4):
            lines.append(f"        put(s{r}_{s}[{q}], c, bias, image, top + down + {16 * r + 8 * (q // 2)} + group, "
                         f"left + across + {8 * s + q % 2} + pair, descriptor)")
    lines.append("        tile += cuda.gridDim.x")
    return "\n".join(lines) + "\n"


@functools.cache
def warp_kernel(dtype, warps, along, place_c, places):
    """The kernel of a dtype and a tile; `along`: whether A and B lie along the depth. `places`: where in the descriptor the strides
    between lines and matrices of A and B are."""
    names = dict(bindings(dtype), W=float32, INT=np.int32, scalar=float_scalar, place_c=place_c, multiply=DTYPES[dtype])
    scope = dict(globals(), ALL_TILES=ALL_TILES, TILES=TILES, TILES_N=TILES_N, SIZE_K=SIZE_K, SIZE_M=SIZE_M, SIZE_N=SIZE_N,
                 uint16=uint16, cuda=cuda, put=put, load_matrices=load_matrices, load_matrices_transposed=load_matrices_transposed,
                 commit_copies=commit_copies, await_groups_but_one=await_groups_but_one)
    scope.update(names, ZEROS=(float32(0),) * 4, **dict(zip(("A_STEP", "A_BATCH", "B_STEP", "B_BATCH"), places)))
    exec(compile(_source(warps, *along, warps.threads), f"<product by warps of {warps}>", "exec"), scope)
    return compile_kernel(scope["product_warps"], (dtype + "*",) * 4 + ("int64*",), names, "float32")


def warps_for(m, n, batch):
    """The tile: the larger where there are enough of them."""
    return LARGE if -(-m // LARGE.tall) * -(-n // LARGE.wide) * batch >= 132 else SMALL


def describe(m, n, k, batch, warps, *epilogue):
    """The descriptor's header for a tile, and how many there are."""
    class _Tile(NamedTuple):
        rows: int
        columns: int
        row_threads: int = 1
        column_threads: int = 1
    return header(m, n, k, batch, _Tile(warps.tall, warps.wide), *epilogue)


def takes(dtype, problem):
    """Whether a product's operands lie so that 16 bytes can be copied at once, and it is large enough to fill matrices."""
    if dtype not in DTYPES or THREADS != LARGE.threads or min(problem.m, problem.n, problem.k) < 16:
        return False
    lines = []
    for (outer, inner), step in zip((problem.a, problem.b), problem.batch_strides):
        if 1 not in (outer, inner):
            return False
        lines += [inner if outer == 1 else outer, step]
    return all(each % CHUNK == 0 for each in lines)
