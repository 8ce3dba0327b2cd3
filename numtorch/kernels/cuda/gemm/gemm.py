"""Products on a GPU: `plan_gemm` as the CPU has it, in tiles (tiles.py) or by tensor cores (tensorcores.py). float32 is exact, but
where the program allows tf32 (../../precision.py); 16-bit floats are summed in float32."""
from __future__ import annotations

from types import SimpleNamespace

from ...cpu.gemm.product import Problem
from ...elementtypes import itemsize
from ...threads import NOTHING, Prepared
from ..compiler import prepare
from ..shared.elements import launch
from . import depth, tensorcores, tiles
from .choice import Choice
from .tiles import ADDED, COLUMN_BIAS, ELEMENTS, RECTIFIED, ROW_BIAS, SCALED, accumulator, bits, header, load, tile_for, tile_kernel

# What the elements' functions read: strides of A, B and C, along rows, columns and the batch.
A_ROW, A_COLUMN, A_STEP, B_ROW, B_COLUMN, B_STEP, C_ROW, C_COLUMN, C_STEP = range(ELEMENTS, ELEMENTS + 9)


def strided_a(a, image, i, k, descriptor):
    return load(a[image * descriptor[A_STEP] + i * descriptor[A_ROW] + k * descriptor[A_COLUMN]])


def strided_b(b, image, k, j, descriptor):
    return load(b[image * descriptor[B_STEP] + k * descriptor[B_ROW] + j * descriptor[B_COLUMN]])


def strided_c(image, i, j, descriptor):
    return image * descriptor[C_STEP] + i * descriptor[C_ROW] + j * descriptor[C_COLUMN]


def plan_gemm(M, N, K, dtype, a_strides, b_strides, c_strides, *, batch=1, batch_strides=(0, 0, 0), bias=None, bias_stride=1,
              activation=None, alpha=1.0, beta=0.0, max_parts=None, device=0) -> Prepared:
    """Plan C[M, N] = act(alpha * A[M, K] @ B[K, N] + beta * C + bias), for each of a batch. The arguments are those of the CPU's
    `plan_gemm`; run it with the same five addresses. There is no workspace.

    Args:
        max_parts: of no consequence here.
        device: the index of the device.
    """
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
    made = _shared_or_whole(problem, dtype, epilogue, _in_tiles, tiles.TILES_OF[0], 1, device)
    if tensorcores.takes(dtype, problem):
        chunk = 16 // itemsize(dtype)
        by_warps = lambda: _shared_or_whole(problem, dtype, epilogue, _by_warps, tensorcores.LARGEST, chunk, device)
        made = Choice(made, by_warps, dtype == "float32", (0, 1)).prepared()
    return Prepared(_Swapped(made.call) if problem.swap else _Direct(made.call), made.descriptor, 0, made)


def _strides(problem):
    a, b, c = problem.batch_strides
    return [*problem.a, a, *problem.b, b, *problem.c, c]


def _shared_or_whole(problem, dtype, epilogue, plan, tile, chunk, device):
    """A product by `plan`, or as many as there are pieces of its depth, of whole chunks, and their sum."""
    pieces = depth.pieces_of(problem, dtype, tile, chunk)
    if pieces == 1:
        return plan(problem, dtype, dtype, epilogue, device)
    work, (m, n, span) = accumulator(dtype), (problem.m, problem.n, problem.k // pieces)
    part = SimpleNamespace(m=m, n=n, k=span, batch=pieces, a=problem.a, b=problem.b, c=(n, 1), bias_stride=0,
                           batch_strides=(span * problem.a[1], span * problem.b[0], m * n))
    first = plan(part, dtype, work, (0, 1.0, 0.0), device)
    row, _ = header(m, n, problem.k, 1, tiles.TILES_OF[0], *_epilogue(epilogue, work), problem.bias_stride)
    last = launch(depth.adding_kernel(dtype, strided_c), row + [*_strides(problem), pieces], m * n, device)
    return Prepared(depth.InPieces(first, last, pieces * m * n * itemsize(work), device), last.descriptor, 0, (first, last))


def _epilogue(epilogue, work):
    flags, alpha, beta = epilogue
    return flags, bits(alpha, work), bits(beta, work)


def _in_tiles(problem, dtype, out, epilogue, device):
    """The product of tiles that threads divide; `out` is the dtype of C, which here is that of A and B."""
    tile = tile_for(problem.m, problem.n, problem.batch)
    row, count = header(problem.m, problem.n, problem.k, problem.batch, tile, *_epilogue(epilogue, accumulator(dtype)),
                        problem.bias_stride)
    along = abs(problem.a[1]) <= abs(problem.a[0]), abs(problem.b[0]) < abs(problem.b[1])
    return prepare(tile_kernel(dtype, tile, (strided_a, strided_b, strided_c), along), row + _strides(problem), count, device)


def _by_warps(problem, dtype, out, epilogue, device):
    """The product by tensor cores."""
    warps = tensorcores.warps_for(problem.m, problem.n, problem.batch)
    row, count = tensorcores.describe(problem.m, problem.n, problem.k, problem.batch, warps, *_epilogue(epilogue, "float32"),
                                      problem.bias_stride)
    along = problem.a[1] == 1, problem.b[0] == 1
    places = A_ROW if along[0] else A_COLUMN, A_STEP, B_COLUMN if along[1] else B_ROW, B_STEP
    return prepare(tensorcores.warp_kernel(dtype, out, warps, along, strided_c, places), row + _strides(problem), count, device)


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
