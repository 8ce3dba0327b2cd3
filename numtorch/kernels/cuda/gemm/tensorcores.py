"""Products by tensor cores, of 16-bit floats and of float32 rounded to tf32: `mma.sync` on matrices that `ldmatrix` takes from
shared memory, to where `cp.async` brings the next slice of the depth meanwhile.

A block makes a tile of C by warps, each a part of it in registers: up to 64 x 32 elements, as matrices of 16 x 8. Slices of A and B
lie in shared memory as they lie in memory, along the depth or across it, with some words between lines, so that the eight lines
of a matrix are in different banks; `ldmatrix` transposes what lies the other way, of 16 bits, and words of tf32 are gathered. The
copy fills what is outside of A or B with zeros. A step of the depth is eight words of 32 bits in every dtype, so their places are
the same ones.

Sums go to C through shared memory, eight rows of a warp at a time, so that its lanes have neighbouring columns.

Strides across lines, and the addresses themselves, must be multiples of 16 bytes: `gemm.py` asks before it chooses this.
"""
from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy import float32, int64, uint32, uint64

from ...elementtypes import bindings
from ...intrinsics import bits_of, float_of, offset
from ..compiler import compile_kernel, cuda
from ..environment import SMALL
from ..warps import (
    await_groups_but_one,
    commit_copies,
    copy_async,
    load_matrices,
    load_matrices_transposed,
    multiply_bfloat16,
    multiply_float16,
    multiply_tf32,
    rounded_to_tf32,
    shared_address,
    warp_barrier,
)
from .tiles import ALL_TILES, SIZE_K, SIZE_M, SIZE_N, TILES, TILES_N, float_scalar, header, put

STEP, SLICE = 8, 16                                      # words of the depth that an instruction multiplies, and of a slice
CHUNK, ITEMSIZE = 8, 2                                   # elements that a copy of 16 bytes brings, and the bytes of each
ROW = 40                                                 # words from row to row of the sums that go to C
STAGED = 8 * ROW


class Form(NamedTuple):
    """How a dtype is multiplied: bytes of an element, the instruction, and whether operands are rounded before."""
    itemsize: int
    multiply: Any
    rounded: bool = False


FORMS = dict(bfloat16=Form(2, multiply_bfloat16), float16=Form(2, multiply_float16), float32=Form(4, multiply_tf32, True))


class Warps(NamedTuple):
    """How a block divides its tile: warps down and across, and matrices of 16 x 8 that each has down; across it has `COLUMNS`."""
    down: int
    across: int
    rows: int

    @property
    def tall(self):
        return self.down * self.rows * 16

    @property
    def wide(self):
        return self.across * COLUMNS * 8

    @property
    def threads(self):
        return 32 * self.down * self.across


COLUMNS = 4
LARGEST, SMALLEST = (Warps(2, 1, 1),) * 2 if SMALL else (Warps(2, 4, 4), Warps(4, 2, 1))


class Operand(NamedTuple):
    """A or B in shared memory: its name, whether it lies along the depth, rows or columns of a tile, and bytes of an element."""
    name: str
    along: bool
    extent: int
    itemsize: int

    @property
    def depth(self):
        return SLICE * 4 // self.itemsize

    @property
    def lines(self):
        return self.extent if self.along else self.depth

    @property
    def line(self):
        return self.depth if self.along else self.extent

    @property
    def pitch(self):
        """Words from line to line: multiples of 16 bytes, in banks of their own for eight lines, or four of gathered words."""
        return self.line * self.itemsize // 4 + (8 if self.itemsize == 4 and not self.along else 4)

    @property
    def words(self):
        return self.lines * self.pitch

    def copies(self, first, turn, threads):
        """The statements by which a thread brings its part of the slice that begins at `first`."""
        edge, end = ("top", "SIZE_M") if self.name == "a" else ("left", "SIZE_N")
        outer, inner = (edge, first) if self.along else (first, edge)
        ends = (f"descriptor[{end}]", "descriptor[SIZE_K]") if self.along else ("descriptor[SIZE_K]", f"descriptor[{end}]")
        line, chunks = self.line, self.lines * self.line * self.itemsize // 16
        for e in range(0, chunks, threads):
            guard = f"if me < {chunks - e}: " if chunks - e < threads else ""
            yield (f"{guard}copy_line({self.name}, {self.name}_start, descriptor[{self.name.upper()}_STEP], {self.name}_tile, "
                   f"{turn} * {self.words}, me + {e}, {outer}, {inner}, {', '.join(ends)}, {line}, {self.pitch})")

    def matrices(self, at, step):
        """Four matrices of 8 x 8 words, of rows or columns `at` and 8 further, and of `step` and half a step further: of A those of
        one step come first, of B those of the same columns."""
        edge, outer, deep = "across", "(matrix >> 1)", "(matrix & 1)"
        if self.name == "a":
            edge, outer, deep = "down", deep, outer
        tile, turn = f"{self.name}_tile", f"turn * {self.words}"
        if self.along:
            place = f"({edge} + {at} + {outer} * 8 + eight) * {self.pitch} + {step} + {deep} * 4"
            return f"load_matrices(shared_address({tile}, {turn} + {place}))"
        if self.itemsize == 2:
            place = f"({2 * step} + {deep} * 8 + eight) * {self.pitch} + ({edge} + {at} + {outer} * 8 >> 1)"
            return f"load_matrices_transposed(shared_address({tile}, {turn} + {place}))"
        steps = (8, 4 * self.pitch) if self.name == "a" else (4 * self.pitch, 8)
        return f"gathered({tile}, {turn} + ({step} + word) * {self.pitch} + {edge} + {at} + group, {steps[0]}, {steps[1]})"


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


def _multiplied(a, b, rows, rounded):
    """The statements of a slice's products, written out for each matrix (see tiles.py)."""
    load = "rounded_to_tf32({})" if rounded else "{}"
    for step in range(0, SLICE, STEP):
        for r in range(rows):
            yield f"a{r} = " + load.format(a.matrices(16 * r, step))
        for s in range(0, COLUMNS, 2):
            yield f"b{s} = " + load.format(b.matrices(8 * s, step))
        for r in range(rows):
            for s in range(COLUMNS):
                pair, half = s - s % 2, 2 * (s % 2)
                yield f"s{r}_{s} = multiply(a{r}, (b{pair}[{half}], b{pair}[{half + 1}]), s{r}_{s})"


def _put(rows):
    """The statements by which a warp writes its sums to C."""
    for r in range(rows):
        for half in range(2):
            for s in range(COLUMNS):
                for q in range(2):
                    yield f"a_tile[uint64(mine + {8 * s + q})] = bits_of(s{r}_{s}[{2 * half + q}])"
            yield from ("warp_barrier()", "for row in range(8):",
                        f"    put(float_of(INT(a_tile[uint64(staged + row * {ROW} + (row >> 2) + lane)])), c, bias, image, "
                        f"top + down + {16 * r + 8 * half} + row, left + across + lane, descriptor)",
                        "warp_barrier()")


def _source(warps, a, b, rounded):
    """The kernel of two operands."""
    indented = lambda lines, by: [" " * by + line for line in lines]
    return "\n".join([
        "def product_warps(a, b, c, bias, descriptor):",
        f"    a_tile = cuda.shared.array({max(2 * a.words, warps.threads // 32 * STAGED)}, uint32, 16)",
        f"    b_tile = cuda.shared.array({2 * b.words}, uint32, 16)",
        "    me = int64(cuda.threadIdx.x)",
        "    lane, warp = me & 31, me >> 5",
        f"    down, across = warp // {warps.across} * {16 * warps.rows}, warp % {warps.across} * {8 * COLUMNS}",
        "    eight, matrix, group, word = lane & 7, lane >> 3, lane >> 2, lane & 3",
        f"    staged = warp * {STAGED}",
        # rows from the fifth on are a word further, in the banks between those of the first four
        f"    mine = staged + group * {ROW} + (group >> 2) + 2 * word",
        "    tile = int64(cuda.blockIdx.x)",
        "    while tile < descriptor[ALL_TILES]:",
        "        image = tile // descriptor[TILES]",
        "        place = tile - image * descriptor[TILES]",
        f"        top, left = place // descriptor[TILES_N] * {warps.tall}, place % descriptor[TILES_N] * {warps.wide}",
        "        a_start, b_start = image * descriptor[A_BATCH], image * descriptor[B_BATCH]",
        *[f"        s{r}_{s} = ZEROS" for r in range(warps.rows) for s in range(COLUMNS)],
        "        first, turn = int64(0), int64(0)",
        *indented((line for each in (a, b) for line in each.copies("first", "turn", warps.threads)), 8),
        "        commit_copies()",
        "        while first < descriptor[SIZE_K]:",
        f"            ahead = first + {a.depth}",
        "            if ahead < descriptor[SIZE_K]:",
        *indented((line for each in (a, b) for line in each.copies("ahead", "(1 - turn)", warps.threads)), 16),
        "            commit_copies()",
        "            await_groups_but_one()",
        "            cuda.syncthreads()",
        *indented(_multiplied(a, b, warps.rows, rounded), 12),
        "            cuda.syncthreads()",
        "            first, turn = ahead, 1 - turn",
        *indented(_put(warps.rows), 8),
        "        cuda.syncthreads()",                    # before the next tile's slices go where sums were
        "        tile += cuda.gridDim.x"]) + "\n"


@functools.cache
def warp_kernel(dtype, out, warps, along, place_c, places):
    """The kernel of a dtype and a tile; `out`: the dtype of C; `along`: whether A and B lie along the depth. `places`: where in the
    descriptor the strides between lines and matrices of A and B are."""
    form = FORMS[dtype]
    a, b = Operand("a", along[0], warps.tall, form.itemsize), Operand("b", along[1], warps.wide, form.itemsize)
    names = dict(bindings(out), W=float32, INT=np.int32, scalar=float_scalar, place_c=place_c, multiply=form.multiply,
                 CHUNK=16 // form.itemsize, ITEMSIZE=form.itemsize)
    scope = dict(globals(), ALL_TILES=ALL_TILES, TILES=TILES, TILES_N=TILES_N, SIZE_K=SIZE_K, SIZE_M=SIZE_M, SIZE_N=SIZE_N,
                 cuda=cuda, put=put, load_matrices=load_matrices, load_matrices_transposed=load_matrices_transposed,
                 bits_of=bits_of, commit_copies=commit_copies, await_groups_but_one=await_groups_but_one, warp_barrier=warp_barrier,
                 rounded_to_tf32=rounded_to_tf32, float_of=float_of)
    scope.update(names, ZEROS=(float32(0),) * 4, **dict(zip(("A_STEP", "A_BATCH", "B_STEP", "B_BATCH"), places)))
    exec(compile(_source(warps, a, b, form.rounded), f"<product by warps of {warps}>", "exec"), scope)
    kinds = dtype, dtype, out, out
    return compile_kernel(scope["product_warps"], tuple(kind + "*" for kind in kinds) + ("int64*",), names, "float32",
                          threads=warps.threads)


def warps_for(m, n, batch):
    """The tile: the larger where there are enough of them."""
    return LARGEST if -(-m // LARGEST.tall) * -(-n // LARGEST.wide) * batch >= 132 else SMALLEST


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
    if dtype not in FORMS or min(problem.m, problem.n, problem.k) < 16:
        return False
    lines = []
    for (outer, inner), step in zip((problem.a, problem.b), problem.batch_strides):
        if 1 not in (outer, inner):
            return False
        lines += [inner if outer == 1 else outer, step]
    return all(each * FORMS[dtype].itemsize % 16 == 0 for each in lines)
