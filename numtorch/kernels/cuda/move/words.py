"""Copies of elements that are not looked into, as words of their size, on a GPU.

Where neighbours of the one side are not neighbours of the other, a block brings a tile of 32 x 32 to shared memory along the lines
of the source, and takes it from there along those of the target, so that neighbouring threads read and write neighbours. Its lines
are a bank longer than they need be: a column of the tile is in different banks. All other copies are pointwise.
"""
from __future__ import annotations

from math import prod

from numpy import int32, int64

from ...binding import ScalarBody
from ...cpu.shared.elements import WORDS
from ...elementtypes import same
from ...intrinsics import offset
from ...loopnest import merge, transposed
from ...pointers import element_type
from ...threads import Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import SMALL, THREADS
from ..pointwise.pointwise import plan_pointwise

W = int32                                                # the word
TILE = 2 if SMALL else 32                                # words of a tile's line, and its lines
PITCH = TILE + 1                                         # words from line to line
CELLS = TILE * PITCH
LINES = THREADS // TILE                                  # that a block reads or writes at once
ALL, OF_MATRIX, DOWN, WIDTH, HEIGHT, X_LINE, OUT_LINE, DIMS = range(8)          # the descriptor, as said below


def transpose_tiles(x, out, descriptor):
    """descriptor: tiles in all, of a matrix and down one; the source's columns and lines; from line to line of the source, and of
    the target; further dimensions, and of each, innermost first, its extent and the steps of source and target."""
    cells = cuda.shared.array(CELLS, W)
    me = int64(cuda.threadIdx.x)
    line = me // TILE
    lane = me - line * TILE
    width, height = descriptor[WIDTH], descriptor[HEIGHT]
    tile = int64(cuda.blockIdx.x)
    while tile < descriptor[ALL]:
        rest = tile // descriptor[OF_MATRIX]
        place = tile - rest * descriptor[OF_MATRIX]
        across = place // descriptor[DOWN]
        left, top = across * TILE, (place - across * descriptor[DOWN]) * TILE
        source, target = int64(0), int64(0)
        for d in range(descriptor[DIMS]):
            e = DIMS + 1 + 3 * d
            q = rest // descriptor[e]
            j = rest - q * descriptor[e]
            rest = q
            source += j * descriptor[e + 1]
            target += j * descriptor[e + 2]
        a, b = offset(x, source), offset(out, target)
        for k in range(line, TILE, LINES):
            if left + lane < width and top + k < height:
                cells[k * PITCH + lane] = a[(top + k) * descriptor[X_LINE] + left + lane]
        cuda.syncthreads()
        for k in range(line, TILE, LINES):
            if left + k < width and top + lane < height:
                b[(left + k) * descriptor[OUT_LINE] + top + lane] = cells[lane * PITCH + k]
        cuda.syncthreads()
        tile += cuda.gridDim.x


def plan_move(size: int, shape: tuple, strides: tuple, out_strides: tuple, device: int = 0) -> Prepared:
    word = WORDS.get(size, "complex128")
    extents, steps = merge(shape, [strides, out_strides])
    if steps:
        across = transposed(extents, steps, 1, TILE)
        if across is not None:
            return _plan_tiles(size, word, across[0], across[1], device)
    return plan_pointwise(ScalarBody(same, word), (word,), (word,), tuple(extents), list(zip(*steps)) or [(), ()], compute=(word,),
                          device=device)


def _plan_tiles(size, word, extents, steps, device):
    """In tiles: the source is contiguous along the dimension before the last, the target along the last."""
    *rest, width, height = extents
    *rest_steps, (_, out_line), (x_line, _) = steps
    down = -(-height // TILE)
    matrix = -(-width // TILE) * down
    row = [matrix * prod(rest), matrix, down, width, height, x_line, out_line, len(rest)]
    for extent, both in zip(reversed(rest), reversed(rest_steps)):
        row += [extent, *both]
    pitch = TILE + max(1, 4 // size)
    names = dict(W=element_type(word).type, PITCH=pitch, CELLS=TILE * pitch)
    kernel = compile_kernel(transpose_tiles, (word + "*", word + "*", "int64*"), names)
    return prepare(kernel, row, row[ALL], device)
