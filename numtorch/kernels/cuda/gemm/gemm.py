"""Products on a GPU: `plan_gemm` as the CPU has it, in tiles (tiles.py) or by tensor cores (tensorcores.py). float32 is exact, but
where the program allows tf32 (../../precision.py); 16-bit floats are summed in float32."""
from __future__ import annotations

from types import SimpleNamespace

from numpy import int32, int64

from ...cpu.gemm.product import Problem
from ...elementtypes import itemsize
from ...threads import NOTHING, Prepared
from ..compiler import prepare
from ..shared.elements import launch
from . import depth, tensorcores, tiles, warpgroups
from .choice import Choice, later
from .tiles import ADDED, COLUMN_BIAS, ELEMENTS, RECTIFIED, ROW_BIAS, SCALED, accumulator, bits, header, tile_for, tile_kernel

# What the elements' functions read: strides of A, B and C, along rows, columns and the batch.
A_ROW, A_COLUMN, A_STEP, B_ROW, B_COLUMN, B_STEP, C_ROW, C_COLUMN, C_STEP = range(ELEMENTS, ELEMENTS + 9)
A_PLACES, B_PLACES = (A_ROW, A_COLUMN, A_STEP), (B_COLUMN, B_ROW, B_STEP)


FURTHEST = 1 << 22                                       # a stride of whose multiples within a tile 32 bits hold


def strided_column(image, j, descriptor):
    return image * descriptor[C_STEP] + j * descriptor[C_COLUMN]


def strided_row(descriptor):
    return descriptor[C_ROW]


def strided_c(image, i, j, descriptor):
    return image * descriptor[C_STEP] + i * descriptor[C_ROW] + j * descriptor[C_COLUMN]


def plan_gemm(M, N, K, dtype, a_strides, b_strides, c_strides, *, batch=1, batch_strides=(0, 0, 0), bias=None, bias_stride=1,
              activation=None, alpha=1.0, beta=0.0, max_parts=None, device=0) -> Prepared:
    """There is no workspace, and `max_parts` is of no consequence."""
    if not (M and N and batch):
        return NOTHING
    problem = Problem((M, N, K), dtype, a_strides, b_strides, c_strides, batch, batch_strides, bias, bias_stride, activation,
                      alpha, beta)
    problem.join_batch()
    if abs(problem.c[1]) > abs(problem.c[0]):            # neighbouring threads write neighbouring columns
        problem.transpose()
    flags = ((SCALED if alpha != 1 else 0) | (ADDED if beta != 0 else 0) | (RECTIFIED if activation == "relu" else 0)
             | {"column": COLUMN_BIAS, "row": ROW_BIAS}.get(problem.bias, 0))
    epilogue = flags, alpha, beta
    in_tiles = lambda: _shared_or_whole(problem, dtype, epilogue, _in_tiles, depth.pieces_in_tiles(problem, dtype), device)
    if tensorcores.takes(dtype, problem):
        pieces = depth.pieces_of(problem, tensorcores.LARGEST, 16 // itemsize(dtype))
        by_warps = lambda: _shared_or_whole(problem, dtype, epilogue, _by_warps, pieces, device)
        rounds = dtype == "float32"                      # and exact by default
        made = Choice(in_tiles() if rounds else later(in_tiles), by_warps, rounds, (0, 1)).prepared()
    else:
        made = in_tiles()
    return Prepared(_Swapped(made.call) if problem.swap else _Direct(made.call), made.descriptor, 0, made)


def _strides(problem):
    a, b, c = problem.batch_strides
    return [*problem.a, a, *problem.b, b, *problem.c, c]


def _shared_or_whole(problem, dtype, epilogue, plan, pieces, device):
    """A product by `plan`, or as many as there are pieces of its depth, and their sum."""
    if pieces == 1:
        return plan(problem, dtype, dtype, epilogue, device)
    work, (m, n, span) = accumulator(dtype), (problem.m, problem.n, problem.k // pieces)
    part = SimpleNamespace(m=m, n=n, k=span, batch=pieces, a=problem.a, b=problem.b, c=(n, 1), bias_stride=0,
                           batch_strides=(span * problem.a[1], span * problem.b[0], m * n))
    first = plan(part, dtype, work, (0, 1.0, 0.0), device)
    row, _ = header(m, n, problem.k, 1, tiles.LARGE, *_epilogue(epilogue, work), problem.bias_stride)
    last = launch(depth.adding_kernel(dtype, strided_c), row + [*_strides(problem), pieces], m * n, device)
    return Prepared(depth.InPieces(first, last, pieces * m * n * itemsize(work), device), last.descriptor, 0, (first, last))


def _epilogue(epilogue, work):
    flags, alpha, beta = epilogue
    return flags, bits(alpha, work), bits(beta, work)


def _in_tiles(problem, dtype, out, epilogue, device):
    """The product of tiles that threads divide; `out` is the dtype of C, which here is that of A and B. Where operands lie so
    that 16 bytes can be brought at once, they are where their addresses are multiples of 16 too."""
    work = accumulator(dtype)
    tile = tile_for(problem.m, problem.n, problem.batch, itemsize(work))
    row, count = header(problem.m, problem.n, problem.k, problem.batch, tile, *_epilogue(epilogue, work), problem.bias_stride)
    far = max(map(abs, (*problem.a, *problem.b))) > FURTHEST
    along = abs(problem.a[1]) <= abs(problem.a[0]), abs(problem.b[0]) < abs(problem.b[1])

    def plan(width, wide=False):
        a, b = (tiles.Strided(places, each, width) for places, each in zip((A_PLACES, B_PLACES), along))
        elements = tiles.Elements(a, b, wide, strided_column, strided_row)
        kernel = tile_kernel(dtype, tile, elements, index=int64 if far else int32)
        return prepare(kernel, row + _strides(problem), count, device)

    width, (step_a, step_b, step_c) = tiles.width_of(dtype), problem.batch_strides
    a = _in_sixteens(width, *problem.a[::-1 if along[0] else 1], problem.k if along[0] else problem.m, step_a)
    b = _in_sixteens(width, *problem.b[::1 if along[1] else -1], problem.k if along[1] else problem.n, step_b)
    if width == 1 or not (a and b):
        return plan(1)
    wide = _in_sixteens(width, *problem.c[::-1], problem.n, step_c) and not epilogue[0] & (SCALED | ADDED)
    return Choice(later(lambda: plan(1)), lambda: plan(width, wide), False, (0, 1, 2) if wide else (0, 1)).prepared()


def _in_sixteens(width, near, far, size, step):
    """Whether lines of so many elements are neighbours and whole 16 bytes, which hold `width`, and as far apart."""
    return near == 1 and not any(number % width for number in (far, size, step))


def _by_warps(problem, dtype, out, epilogue, device):
    """The product by tensor cores."""
    warps = warpgroups.warps_for(dtype, problem.m, problem.n, problem.batch, device)
    row, count = tensorcores.describe(problem.m, problem.n, problem.k, problem.batch, warps, *_epilogue(epilogue, "float32"),
                                      problem.bias_stride)
    along = problem.a[1] == 1, problem.b[0] == 1
    places = (A_ROW if along[0] else A_COLUMN, A_STEP, B_COLUMN if along[1] else B_ROW, B_STEP, C_ROW, C_COLUMN, C_STEP)
    return prepare(warpgroups.kernel_for(dtype, out, warps, along, strided_c, places), row + _strides(problem), count, device)


class _Direct:
    """A call with the five addresses of a product, of which the workspace is none."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __call__(self, a, b, c, bias, workspace, descriptor):
        self.call(a, b, c, bias, descriptor)


class _Swapped(_Direct):
    """The same of the transposed product."""

    __slots__ = ()

    def __call__(self, a, b, c, bias, workspace, descriptor):
        self.call(b, a, c, bias, descriptor)
