"""Factorisations by cuSOLVER, where it is installed: LAPACK's routines under LAPACK's names, on many matrices each.

Matrices lie one after another in column-major order, without gaps: the tensors' own memory is that of the transposed matrices
(`ops/linalg/columns.py` says where that is used and where copies are made). Results stand in place of operands. `info` has an int32
for each matrix: 0, or what LAPACK says there. A call is refused while a graph is captured.
"""
from __future__ import annotations

import ctypes
import functools

from ...binding import ScalarBody
from ...elementtypes import itemsize, same
from ...threads import Prepared
from ..libraries import has, require, scratch, using
from ..move.words import plan_move
from ..pointwise.pointwise import plan_pointwise

require("cusolverDn", "cublas")

KINDS = {"float32": ("s", 0, "float32"), "float64": ("d", 1, "float64"),       # BLAS's letter, cudaDataType, of real results
         "complex64": ("c", 4, "float32"), "complex128": ("z", 5, "float64")}
LOWER, UPPER = 0, 1                                      # cublasFillMode_t
SOLVER, BLAS = "cusolverDn", "cublas"
MOST = 256                                               # planned routines of each name that are kept
BATCHED = 128                                            # extent up to which a routine for many matrices at once is faster
JACOBI = 32                                              # extent up to which gesvdjBatched takes matrices


def _planned(call) -> Prepared:
    return Prepared(call, 0, 0, None)


def _columns(dtype, matrices, m, n, device):
    """Copies of m by n matrices, from rows that lie side by side to columns that do, and back."""
    rows, columns = (m * n, n, 1), (m * n, 1, m)
    return (plan_move(itemsize(dtype), (matrices, m, n), rows, columns, device),
            plan_move(itemsize(dtype), (matrices, m, n), columns, rows, device))


def in_rows(planned, dtype: str, matrices: int, m: int, n: int, device: int):
    """A routine that works in place of its first operand, for m by n matrices whose rows lie side by side."""
    to, back = _columns(dtype, matrices, m, n, device)
    nbytes = matrices * m * n * itemsize(dtype)

    def call(a, *others):
        owner, room = scratch(nbytes, device)
        to.call(a, room, to.descriptor)
        planned.call(room, *others)
        back.call(room, a, back.descriptor)
        del owner
    return Prepared(call, planned.descriptor, 0, (planned, to, back))


@functools.lru_cache(MOST)
def plan_potrf(dtype: str, matrices: int, n: int, upper: bool, device: int = 0):
    """Cholesky factors of so many (`matrices`) n by n matrices, in the triangle that is read, the one above the diagonal if
    `upper`.

    Addresses: a, info (the first minor that is not positive definite, from 1).
    """
    letter, kind, _ = KINDS[dtype]
    fill, apart = UPPER if upper else LOWER, n * n * itemsize(dtype)

    def call(a, info, descriptor):
        with using(SOLVER, device, "a Cholesky factorisation") as use:
            if matrices > 1 and n <= BATCHED:
                table = use.addresses(a, apart, matrices)
                use(f"{letter}potrf_batched", fill, n, table, n, info, matrices)
            else:
                use.generic("xpotrf", matrices, lambda i: ((use.params, fill, n, kind, a + i * apart, n, kind), info + 4 * i))
    return _planned(call)


@functools.lru_cache(MOST)
def plan_getrf(dtype: str, matrices: int, m: int, n: int, device: int = 0):
    """L and U of so many (`matrices`) m by n matrices.

    Addresses: a, pivots (matrices, min(m, n)) int32 counting rows from 1, info (the first pivot that is 0, from 1).
    """
    letter = KINDS[dtype][0]
    apart, least = m * n * itemsize(dtype), min(m, n)

    def call(a, pivots, info, descriptor):
        if matrices > 1 and m == n <= BATCHED:
            with using(BLAS, device, "an LU factorisation") as use:
                table = use.addresses(a, apart, matrices)
                use(f"{letter}getrf_batched", n, table, n, pivots, info, matrices)
            return
        with using(SOLVER, device, "an LU factorisation") as use:
            room = use.scratch(use(f"{letter}getrf_buffer_size", m, n, a, m) * itemsize(dtype))
            for i in range(matrices):
                use(f"{letter}getrf", m, n, a + i * apart, m, room, pivots + 4 * least * i, info + 4 * i)
    return _planned(call)


@functools.lru_cache(MOST)
def plan_getrs(dtype: str, matrices: int, n: int, k: int, transposed: bool, device: int = 0):
    """The X with A X = B (or A^T X = B if `transposed`), from what getrf gives of so many (`matrices`).

    Addresses: lu, pivots, b (n by k).
    """
    letter = KINDS[dtype][0]
    of_a, of_b = n * n * itemsize(dtype), n * k * itemsize(dtype)

    def call(lu, pivots, b, descriptor):
        if matrices > 1 and n <= BATCHED:
            with using(BLAS, device, "a solution") as use:
                table = use.addresses(lu, of_a, matrices)
                sides = use.addresses(b, of_b, matrices)
                wrong = ctypes.c_int(0)                  # an argument's number; of the host's memory
                use(f"{letter}getrs_batched", int(transposed), n, k, table, n, pivots, sides, n, ctypes.addressof(wrong), matrices)
            return
        with using(SOLVER, device, "a solution") as use:
            info = use.scratch(4)
            for i in range(matrices):
                use(f"{letter}getrs", int(transposed), n, k, lu + i * of_a, n, pivots + 4 * n * i, b + i * of_b, n, info)
    return _planned(call)


@functools.lru_cache(MOST)
def plan_geqrf(dtype: str, matrices: int, m: int, n: int, device: int = 0):
    """R of m by n matrices, and below it Householder reflections. Addresses: a, tau (matrices, min(m, n)), info."""
    kind, size = KINDS[dtype][1], itemsize(dtype)

    def call(a, tau, info, descriptor):
        with using(SOLVER, device, "a QR factorisation") as use:
            use.generic("xgeqrf", matrices, lambda i: (
                (use.params, m, n, kind, a + i * m * n * size, m, kind, tau + i * min(m, n) * size, kind), info + 4 * i))
    return _planned(call)


@functools.lru_cache(MOST)
def plan_orgqr(dtype: str, matrices: int, m: int, n: int, k: int, device: int = 0):
    """The first n columns of the product of k reflections of m elements. Addresses: a (m by n), the reflections in its first
    columns; tau (matrices, k), info."""
    name, size = KINDS[dtype][0] + ("ungqr" if dtype.startswith("complex") else "orgqr"), itemsize(dtype)

    def call(a, tau, info, descriptor):
        with using(SOLVER, device, "a QR factorisation") as use:
            length = use(f"{name}_buffer_size", m, n, k, a, m, tau)
            room = use.scratch(length * size)
            for i in range(matrices):
                use(name, m, n, k, a + i * m * n * size, m, tau + i * k * size, room, length, info + 4 * i)
    return _planned(call)


@functools.lru_cache(MOST)
def plan_syevd(dtype: str, matrices: int, n: int, upper: bool, vectors: bool, device: int = 0):
    """Eigenvalues, rising, of so many (`matrices`) n by n Hermitian matrices, of which one triangle is read, the upper one if
    `upper`.

    Addresses: a, then the eigenvectors if `vectors`; values (matrices, n), real; info (not 0 where they did not converge).
    """
    _, kind, real = KINDS[dtype]
    of_values, fill, size = KINDS[real][1], UPPER if upper else LOWER, itemsize(dtype)

    def call(a, values, info, descriptor):
        with using(SOLVER, device, "an eigendecomposition") as use:
            if matrices > 1 and has(SOLVER, "xsyev_batched_buffer_size"):
                given = int(vectors), fill, n, kind, a, n, of_values, values, kind
                on_device, on_host = use("xsyev_batched_buffer_size", use.params, *given, matrices)
                room = use.scratch(on_device)
                beside = ctypes.create_string_buffer(max(on_host, 1))
                use("xsyev_batched", use.params, *given, room, on_device, ctypes.addressof(beside), on_host, info, matrices)
            else:
                use.generic("xsyevd", matrices, lambda i: (
                    (use.params, int(vectors), fill, n, kind, a + i * n * n * size, n, of_values, values + i * n * itemsize(real),
                     kind), info + 4 * i))
    return _planned(call)


@functools.lru_cache(MOST)
def plan_gesvdj(dtype: str, matrices: int, m: int, n: int, vectors: bool, full: bool, device: int = 0):
    """Singular values, falling, of m by n matrices, by Jacobi's rotations. a is lost.

    Addresses: a; values (matrices, min(m, n)), real; u, m by m or (not `full`) m by min(m, n), and v (not its adjoint), n by n or n
    by min(m, n), which are null where no `vectors` are asked for; info (not 0 where they did not converge).
    """
    letter, _, real = KINDS[dtype]
    size, k = itemsize(dtype), min(m, n)
    at_once = matrices > 1 and max(m, n) <= JACOBI and (m == n or full or not vectors)
    of_u, of_v = (m * (m if full else k) * size, n * (n if full else k) * size) if vectors else (0, 0)

    def call(a, values, u, v, info, descriptor):
        with using(SOLVER, device, "a singular value decomposition") as use:
            params = use.module.create_gesvdj_info()
            try:
                economy = () if at_once else (int(not full),)
                name, count = f"{letter}gesvdj" + "_batched" * at_once, (matrices,) * at_once
                given = int(vectors), *economy, m, n
                length = use(f"{name}_buffer_size", *given, a, m, values, u, m, v, n, params, *count)
                room = use.scratch(length * size)
                for i in range(1 if at_once else matrices):
                    use(name, *given, a + i * m * n * size, m, values + i * k * itemsize(real), u + i * of_u, m, v + i * of_v, n,
                        room, length, info + 4 * i, params, *count)
            finally:
                use.module.destroy_gesvdj_info(params)
    return _planned(call)


@functools.lru_cache(MOST)
def plan_geev(dtype: str, matrices: int, n: int, vectors: bool, device: int = 0):
    """Eigenvalues of square matrices and, if `vectors`, their right eigenvectors, as LAPACK leaves them: of real matrices, a column
    and the next are the real and the imaginary part of a pair's. a is lost.

    Addresses: a; values (matrices, n), complex; v, of a's type; info.

    Raises:
        NotImplementedError: the installed version has no geev.
    """
    if not has(SOLVER, "xgeev_buffer_size"):
        raise NotImplementedError("this version of cuSOLVER has no Xgeev")
    _, kind, real = KINDS[dtype]
    of_values, size = KINDS[real][1] + 4, itemsize(dtype)

    def call(a, values, v, info, descriptor):
        with using(SOLVER, device, "an eigendecomposition") as use:
            use.generic("xgeev", matrices, lambda i: (
                (use.params, 0, int(vectors), n, kind, a + i * n * n * size, n, of_values, values + i * 2 * n * itemsize(real),
                 kind, 0, n, kind, v + i * n * n * size * vectors, n, kind), info + 4 * i))
    return _planned(call)


@functools.lru_cache(MOST)
def plan_sytrf(dtype: str, matrices: int, n: int, device: int = 0):
    """L and D of symmetric (not Hermitian) matrices, whose lower triangle is read.

    Addresses: a, pivots (matrices, n) int32, info (the first block that is 0, from 1).
    """
    letter, size = KINDS[dtype][0], itemsize(dtype)

    def call(a, pivots, info, descriptor):
        with using(SOLVER, device, "an LDL factorisation") as use:
            length = use(f"{letter}sytrf_buffer_size", n, a, n)
            room = use.scratch(length * size)
            for i in range(matrices):
                use(f"{letter}sytrf", LOWER, n, a + i * n * n * size, n, pivots + 4 * n * i, room, length, info + 4 * i)
    return _planned(call)


@functools.lru_cache(MOST)
def plan_sytrs(dtype: str, matrices: int, n: int, k: int, device: int = 0):
    """The X with A X = B in place of B, from what sytrf gives of so many (`matrices`).

    Addresses: ld (n by n), pivots int32, b (n by k); here the rows of both lie side by side.
    """
    kind, size = KINDS[dtype][1], itemsize(dtype)
    factors, (to, back) = _columns(dtype, matrices, n, n, device)[0], _columns(dtype, matrices, n, k, device)
    wide = plan_pointwise(ScalarBody(same, "int64"), ("int32",), ("int64",), (matrices * n,), [(1,), (1,)], compute=("int64",),
                          device=device)

    def call(ld, pivots, b, descriptor):
        with using(SOLVER, device, "a solution") as use:
            a, x, rows, info = map(use.scratch, (matrices * n * n * size, matrices * n * k * size, matrices * n * 8, 4))
            factors.call(ld, a, factors.descriptor)
            to.call(b, x, to.descriptor)
            wide.call(pivots, rows, wide.descriptor)
            use.generic("xsytrs", matrices, lambda i: (
                (LOWER, n, k, kind, a + i * n * n * size, n, rows + 8 * n * i, kind, x + i * n * k * size, n), info))
            back.call(x, b, back.descriptor)
    return Prepared(call, 0, 0, (factors, to, back, wide))


@functools.lru_cache(MOST)
def plan_trsm(dtype: str, matrices: int, n: int, k: int, of_a: tuple, of_x: tuple, upper: bool, unit: bool, device: int = 0):
    """What `plan_substitute` of triangular.py does, with its addresses and arguments (matrices, n, k, of_a, of_x, upper, unit), by
    cuBLAS: X A^T = B for the transposes, as which x lies there. Triangles of which neither rows nor columns lie side by side are
    copied first.
    """
    letter, size = KINDS[dtype][0], itemsize(dtype)
    step, row, column = of_a
    dense = None
    if n > 1 and not ((column == 1 and row >= n) or (row == 1 and column >= n)):
        dense = plan_move(size, (matrices, n, n), of_a, (n * n, n, 1), device)
        step, row, column = n * n, n, 1
    by_rows = column == 1 and row >= n                   # then what cuBLAS sees there is A^T
    given = 1, int(upper != by_rows), int(not by_rows), int(unit), k, n
    one = (ctypes.c_double * 2)(1.0) if dtype in ("float64", "complex128") else (ctypes.c_float * 2)(1.0)
    along, below = max(row if by_rows else column, n), max(of_x[1], k)

    def call(a, x, descriptor):
        with using(BLAS, device, "a triangular system") as use:
            room = a
            if dense is not None:
                room = use.scratch(matrices * n * n * size)
                dense.call(a, room, dense.descriptor)
            if matrices > 1 and n <= BATCHED:
                triangles = use.addresses(room, step * size, matrices)
                sides = use.addresses(x, of_x[0] * size, matrices)
                use(f"{letter}trsm_batched", *given, ctypes.addressof(one), triangles, along, sides, below, matrices)
            else:
                for i in range(matrices):
                    use(f"{letter}trsm", *given, ctypes.addressof(one), room + i * step * size, along, x + i * of_x[0] * size,
                        below)
    return Prepared(call, 0, 0, dense)
