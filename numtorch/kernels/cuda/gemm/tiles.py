"""Tiles of a product on a GPU, for products and for convolutions, which differ in where elements are.

A block makes a tile of C: for each slice of the depth it brings a tile of A and one of B to shared memory, and each thread adds
`ROWS * COLUMNS` products a step in registers. A thread's rows and columns are `ROW_THREADS` and `COLUMN_THREADS` apart, so that
the threads of a warp read neighbouring words of shared memory (no bank twice) and write neighbouring elements of C. Where they
bring neighbours along the depth, what they write lies in as many rows of shared memory; these are so much longer than the tile that
it is in different banks. The next slice is loaded to registers while this one is multiplied, and the two slices of shared memory
take turns: one barrier a slice.

Kernels are compiled for a `Tile`, and bind `element_a`, `element_b` and `place_c`: what A[i, k] and B[k, j] are for a batch's
number, and where C[i, j] is.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy import float32, int32, int64, uint64

from ...elementtypes import bindings, compute_type, is_small_integer, same
from ...intrinsics import float_of
from ..compiler import compile_kernel, cuda
from ..environment import SMALL, THREADS

# The descriptor: sizes, tiles along rows and columns and in all; the epilogue; and then what the elements' functions read.
SIZE_M, SIZE_N, SIZE_K, TILES_N, TILES, ALL_TILES, EPILOGUE, ALPHA, BETA, BIAS_STEP, ELEMENTS = 0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 12
SCALED, ADDED, COLUMN_BIAS, ROW_BIAS, RECTIFIED = 1, 2, 4, 8, 16

W = T = float32
INT = int32
load = store = same
ROWS, COLUMNS, DEPTH, ROW_THREADS, COLUMN_THREADS = 8, 8, 8, 16, 16
TILE_M, TILE_N = ROWS * ROW_THREADS, COLUMNS * COLUMN_THREADS
PITCH_A, PITCH_B = TILE_M + 4, TILE_N + 4                # elements of shared memory from step to step of the depth
A_WORDS, B_WORDS = 2 * DEPTH * PITCH_A, 2 * DEPTH * PITCH_B
A_ALONG = B_ALONG = True


def float_scalar(descriptor, at):
    return float_of(INT(descriptor[at]))


def integer_scalar(descriptor, at):
    return W(descriptor[at])


def complex_scalar(descriptor, at):
    return W(complex(float_of(INT(descriptor[at])), float_of(INT(descriptor[at + 1]))))


def bits(value, kind):
    """A scalar as two words of the descriptor: of its real and its imaginary part the bits in the dtype that sums have."""
    work = np.dtype(kind)
    if work.kind in "iu":
        return [int(value), 0]
    part = {"float32": np.float32, "complex64": np.float32}.get(work.name, np.float64)
    parts = np.array([complex(value).real, complex(value).imag], part)
    return parts.view(np.int32 if part is np.float32 else np.int64).tolist()


def above_zero(x):
    return W(0) if x < W(0) else x


scalar, rectify = float_scalar, above_zero


BANKED = 128                                             # bytes of shared memory that a warp reads or writes at once


class Tile(NamedTuple):
    """How a block divides its tile: elements of C a thread has, threads along rows and columns, and the depth of a slice."""
    rows: int
    columns: int
    row_threads: int
    column_threads: int
    depth: int

    @property
    def tall(self):
        return self.rows * self.row_threads

    @property
    def wide(self):
        return self.columns * self.column_threads

    def names(self, itemsize):
        """What the kernel's constants are, for sums of so many bytes."""
        m, n = self.tall, self.wide
        apart = max(1, BANKED // itemsize // self.depth)
        a, b = 2 * self.depth * (m + apart), 2 * self.depth * (n + apart)
        return dict(ROWS=self.rows, COLUMNS=self.columns, ROW_THREADS=self.row_threads, COLUMN_THREADS=self.column_threads,
                    DEPTH=self.depth, TILE_M=m, TILE_N=n, PITCH_A=m + apart, PITCH_B=n + apart, A_WORDS=a, B_WORDS=b,
                    A_SHARED=a + 1, B_SHARED=b + 1)


# By the tile's size, the largest first. In the simulator the same with the few threads that it has.
TILES_OF = [Tile(2, 2, 2, 2, 2), Tile(1, 1, 2, 2, 4)] if SMALL else [Tile(8, 8, 16, 16, 8), Tile(4, 4, 16, 16, 16),
                                                                        Tile(2, 2, 16, 16, 16)]
TOGETHER = 4                                             # steps of the depth that are written out
FILLED = 1 if SMALL else 132                             # tiles that keep every multiprocessor of a large GPU at work


def tile_for(m, n, batch):
    """The largest tile of which there are enough, and that is not mostly beyond C."""
    for tile in TILES_OF:
        if -(-m // tile.tall) * -(-n // tile.wide) * batch >= FILLED and 2 * m > tile.tall and 2 * n > tile.wide:
            return tile
    return TILES_OF[-1]


def element_a(a, image, i, k, descriptor):
    return load(a[i * descriptor[ELEMENTS] + k])


def element_b(b, image, k, j, descriptor):
    return load(b[k * descriptor[ELEMENTS] + j])


def place_c(image, i, j, descriptor):
    return i * descriptor[SIZE_N] + j


def row_and_step(e, tall, along):
    """Of a tile of `tall` rows, which row and which step of the depth a thread loads as its element number `e`."""
    if along:
        row = e // DEPTH
        return row, e - row * DEPTH
    step = e // tall
    return e - step * tall, step


def fetch_a(a, e, image, top, first, descriptor):
    """Element number `e` of A's slice that begins at depth `first`; 0 outside of A."""
    row, step = row_and_step(e, TILE_M, A_ALONG)
    i, k = top + row, first + step
    inside = i < descriptor[SIZE_M] and k < descriptor[SIZE_K] and step < DEPTH and row < TILE_M
    return W(element_a(a, image, i, k, descriptor)) if inside else W(0)


def fetch_b(b, e, image, left, first, descriptor):
    """The same of B's."""
    column, step = row_and_step(e, TILE_N, B_ALONG)
    j, k = left + column, first + step
    inside = j < descriptor[SIZE_N] and k < descriptor[SIZE_K] and step < DEPTH and column < TILE_N
    return W(element_b(b, image, k, j, descriptor)) if inside else W(0)


def place_a(e, turn):
    """Where that element is in shared memory; behind what is read for one that is none."""
    row, step = row_and_step(e, TILE_M, A_ALONG)
    return (turn * DEPTH + step) * PITCH_A + row if step < DEPTH and row < TILE_M else A_WORDS


def place_b(e, turn):
    column, step = row_and_step(e, TILE_N, B_ALONG)
    return (turn * DEPTH + step) * PITCH_B + column if step < DEPTH and column < TILE_N else B_WORDS


def bias_row(image, i, descriptor):
    """Which row of the bias is added to row i of a batch's number."""
    return i


def finish(total, c, at, bias, image, i, j, descriptor):
    """What is written for a sum: alpha * sum + beta * C + bias, rectified."""
    flags = descriptor[EPILOGUE]
    x = total
    if flags & SCALED:
        x = W(x * scalar(descriptor, ALPHA))
    if flags & ADDED:
        x = W(x + W(scalar(descriptor, BETA) * load(c[at])))
    if flags & COLUMN_BIAS:
        x = W(x + load(bias[j * descriptor[BIAS_STEP]]))
    if flags & ROW_BIAS:
        x = W(x + load(bias[bias_row(image, i, descriptor) * descriptor[BIAS_STEP]]))
    if flags & RECTIFIED:
        x = rectify(x)
    return x


def put(total, c, bias, image, i, j, descriptor):
    """Write an element of C, if it is one."""
    if i < descriptor[SIZE_M] and j < descriptor[SIZE_N]:
        at = place_c(image, i, j, descriptor)
        c[at] = store(T(finish(total, c, at, bias, image, i, j, descriptor)))


def _source(tile):
    """The kernel of a tile. Its sums are variables, and what is done for each of them is written out: an array would be indexed in
    a loop, which the compiler leaves rolled from some size on, and lie in memory. Places in shared memory are unsigned: signed ones
    may count from the end, and would be compared with 0 before each load."""
    loads_a, loads_b = (range(-(-tile.depth * lines // THREADS)) for lines in (tile.tall, tile.wide))
    sums = [(r, s) for r in range(tile.rows) for s in range(tile.columns)]

    def fetched(depth):
        a = [f"            a{e} = fetch_a(a, me + {e} * THREADS, image, top, {depth}, descriptor)" for e in loads_a]
        return a + [f"            b{e} = fetch_b(b, me + {e} * THREADS, image, left, {depth}, descriptor)" for e in loads_b]

    def multiplied(ahead):
        return [f"                a_at = (turn * DEPTH + step + {ahead}) * PITCH_A + down",
                f"                b_at = (turn * DEPTH + step + {ahead}) * PITCH_B + across",
                *[f"                r{r} = a_tile[uint64(a_at + {r} * ROW_THREADS)]" for r in range(tile.rows)],
                *[f"                c{s} = b_tile[uint64(b_at + {s} * COLUMN_THREADS)]" for s in range(tile.columns)],
                *[f"                s{r}_{s} = W(s{r}_{s} + r{r} * c{s})" for r, s in sums]]

    together = min(TOGETHER, tile.depth)
    lines = ["def product_tiles(a, b, c, bias, descriptor):",
             "    a_tile = cuda.shared.array(A_SHARED, W)",
             "    b_tile = cuda.shared.array(B_SHARED, W)",
             "    me = int64(cuda.threadIdx.x)",
             "    down = me // COLUMN_THREADS",
             "    across = me - down * COLUMN_THREADS",
             "    tile = int64(cuda.blockIdx.x)",
             "    while tile < descriptor[ALL_TILES]:",
             "        image = tile // descriptor[TILES]",
             "        place = tile - image * descriptor[TILES]",
             "        top = place // descriptor[TILES_N] * TILE_M",
             "        left = place % descriptor[TILES_N] * TILE_N",
             *[f"        s{r}_{s} = W(0)" for r, s in sums],
             "        first = int64(0)",
             "        if first < descriptor[SIZE_K]:",
             *fetched("first"),
             "        turn = int64(0)",
             "        while first < descriptor[SIZE_K]:",
             *[f"            a_tile[uint64(place_a(me + {e} * THREADS, turn))] = a{e}" for e in loads_a],
             *[f"            b_tile[uint64(place_b(me + {e} * THREADS, turn))] = b{e}" for e in loads_b],
             "            cuda.syncthreads()",
             "            first += DEPTH",
             "            if first < descriptor[SIZE_K]:",
             *["    " + line for line in fetched("first")],
             f"            for step in range(0, DEPTH, {together}):",
             *[line for ahead in range(together) for line in multiplied(ahead)],
             "            turn = 1 - turn",
             "        cuda.syncthreads()",                # before the next tile's slices go where this one's were
             *[f"        put(s{r}_{s}, c, bias, image, top + down + {r} * ROW_THREADS, left + across + {s} * COLUMN_THREADS, "
               "descriptor)"
               for r, s in sums],
             "        tile += cuda.gridDim.x"]
    return "\n".join(lines) + "\n"


INTEGERS = {"float32": np.int32, "complex64": np.int32}     # of the size of the parts


def accumulator(dtype):
    """The dtype that a product of `dtype` is summed in."""
    return "int32" if is_small_integer(dtype) and dtype != "uint16" else compute_type(dtype)


def integer_of(work):
    """What the bits of a sum's parts are kept as."""
    return INTEGERS.get(work, np.int64)


@functools.cache
def tile_kernel(dtype, tile, elements, along=(True, True)):
    """The kernel of a dtype, a tile and the functions (element_a, element_b, place_c, bias_row), the last where it is not the row's
    number; `along`: whether neighbouring threads load neighbours along the depth of A and of B."""
    work = np.dtype(accumulator(dtype))
    forms = dict(zip(("element_a", "element_b", "place_c", "bias_row"), elements))
    names = dict(tile.names(work.itemsize), **bindings(dtype), W=work.type, INT=integer_of(work.name), A_ALONG=along[0],
                 B_ALONG=along[1], scalar={"f": float_scalar, "c": complex_scalar}.get(work.kind, integer_scalar), **forms)
    if work.kind == "c":
        names["rectify"] = same
    scope = dict(globals(), int64=int64, uint64=uint64, cuda=cuda)
    exec(compile(_source(tile), f"<product in tiles of {tile}>", "exec"), scope)
    return compile_kernel(scope["product_tiles"], (dtype + "*",) * 4 + ("int64*",), names, work.name)


def header(m, n, k, batch, tile, epilogue=0, alpha=(0, 0), beta=(0, 0), bias_step=1):
    """The descriptor as far as `ELEMENTS`, and how many tiles there are."""
    across = -(-n // (tile.columns * tile.column_threads))
    tiles = -(-m // (tile.rows * tile.row_threads)) * across
    return [m, n, k, across, tiles, tiles * batch, epilogue, *alpha, *beta, bias_step], tiles * batch
