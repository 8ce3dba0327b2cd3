"""A product's depth shared by blocks on a GPU: where C has too few tiles to keep the device at work and the depth is long, as for
the gradients of weights, pieces of the depth are products of a batch into scratch memory, and a second launch adds them up and
finishes C.
"""
from __future__ import annotations

import functools

from numpy import float32, int64

from ...elementtypes import bindings, itemsize
from ..compiler import compile_kernel, cuda
from ..environment import SMALL, THREADS
from ..runtime import runtime
from .tiles import ELEMENTS, LARGE, SIZE_M, SIZE_N, accumulator, float_scalar, integer_of, put, tile_for

W = float32
PIECES = ELEMENTS + 9                                    # behind the strides: how many pieces of the depth there are
SHORTEST = 4 if SMALL else 256                           # depth of a piece
WANTED = 4 if SMALL else 264                             # tiles that keep every multiprocessor of a large GPU at work, twice
# Cycles of the second launch, and bytes that it adds up in one; in the simulator it is always worth it.
SECOND, BANDWIDTH = -1 << 40 if SMALL else 8000, 1500


def pieces_of(problem, tile, chunk) -> int:
    """Into how many equal pieces of whole chunks the depth is cut for tensor cores, for tiles no larger than `tile`."""
    if problem.batch != 1:
        return 1
    count = -(-problem.m // tile.tall) * -(-problem.n // tile.wide)
    most = min(WANTED // count, problem.k // SHORTEST)
    return next((pieces for pieces in range(most, 1, -1) if problem.k % (pieces * chunk) == 0), 1)


def pieces_in_tiles(problem, dtype) -> int:
    """Into how many equal pieces the depth is cut for products in tiles (tiles.py), if that and the second launch take less time.
    The pieces are of their sums' dtype, so those of 16-bit floats are whole."""
    m, n, k, work = problem.m, problem.n, problem.k, accumulator(dtype)
    if problem.batch != 1 or not _in_pieces(dtype, work):
        return 1

    def cycles(pieces):
        tile = tile_for(m, n, pieces, itemsize(work))
        adding = SECOND + m * n * (pieces + 1) * itemsize(work) / BANDWIDTH if pieces > 1 else 0
        return tile.cycles(m, n, pieces, itemsize(work)) * k / pieces + adding
    most = min(2 * WANTED // (-(-m // LARGE.tall) * -(-n // LARGE.wide)), k // SHORTEST)
    return min((pieces for pieces in range(1, most + 1) if k % pieces == 0), key=cycles, default=1)


def _in_pieces(dtype, work):
    return work in ("float32", "float64") and itemsize(dtype) != 2


def spans(count, k, tile, dtype, wanted):
    """The depth of a piece, in whole slices, and how many there are, the last of which may be shorter: for `count` tiles, of
    which so many are wanted."""
    most = max(1, min(wanted // count, k // SHORTEST)) if _in_pieces(dtype, accumulator(dtype)) else 1
    span = -(-k // most // tile.depth) * tile.depth
    return span, -(-k // span) if span else 1


def add_pieces(partial, c, bias, descriptor):
    """A thread an element of C."""
    m, n = descriptor[SIZE_M], descriptor[SIZE_N]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < m * n:
        total = W(0)
        for piece in range(descriptor[PIECES]):
            total += partial[piece * m * n + e]
        put(total, c, bias, int64(0), e // n, e % n, descriptor)
        e += int64(cuda.gridDim.x) * THREADS


@functools.cache
def adding_kernel(dtype, place_c):
    """The kernel that adds the pieces of a product of this dtype up, of which the epilogue is told as of tiles."""
    meaning = bindings(dtype)
    work = accumulator(dtype)
    names = dict(meaning, W=meaning["T"], INT=integer_of(work), place_c=place_c, scalar=float_scalar)
    return compile_kernel(add_pieces, (work + "*", dtype + "*", dtype + "*", "int64*"), names, work)


class InPieces:
    """The two launches, with scratch memory of this call's own."""

    __slots__ = ("device", "first", "last", "nbytes")

    def __init__(self, first, last, nbytes, device):
        self.first, self.last, self.nbytes, self.device = first, last, nbytes, device

    def __call__(self, a, b, c, bias, descriptor):
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        self.first.call(a, b, scratch, 0, self.first.descriptor)
        self.last.call(scratch, c, bias, descriptor)     # the owner gives the memory back after this in stream order
