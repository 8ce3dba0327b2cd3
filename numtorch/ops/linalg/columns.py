"""Factorisations on a device with LAPACK's routines (the family `linalg.lapack`): functions of tensors under the names that
`lapack.py` lists.

The routines take matrices in column-major order, in which a contiguous tensor's matrices are transposed. Most take them so: the
lower triangle of A is then the upper one of A^T, whose Cholesky factor lies as A's does, A X = B is solved by the factors of A^T,
and singular vectors change sides. Copies in the other order are made where that is not so: of eigenvectors, Q, right-hand sides.
"""
from __future__ import annotations

from math import prod

from ...dtypes import int32
from ...layout import Layout, contiguous_format
from ...tensor import empty
from ..core.backends import kernels
from ..creation.fill import eye, zeros
from ..creation.ranges import arange
from ..index.rearrange import roll
from ..index.triangles import tril, triu
from ..memory.copies import clone, contiguous
from ..pointwise.complexparts import complex as complex_of
from ..pointwise.complexparts import imag
from ..pointwise.elementary import log
from ..pointwise.functions import where
from ..shape.views import expand


class Failed(Exception):
    """A factorisation that does not exist, in PyTorch's words."""


class Undecided(Exception):
    """A factorisation that did not converge, at which the host is to look."""


def _run(routine, x, extents, *operands):
    """Call one of the family's routines on x's matrices; what it says of each."""
    layout = x.layout
    info = empty(Layout.of(int32, layout.shape[:-2], None, layout.device))
    planner = getattr(kernels(layout.device, "linalg.lapack"), f"plan_{routine}")
    plan = planner(layout.dtype.kernel, prod(layout.shape[:-2]), *extents)
    plan.call(*[0 if t is None else t.address for t in operands], info.address, plan.descriptor)
    return info


def _first(info):
    """What stands in a message before what was found of the first matrix that has no factors, and what; None where all have."""
    found = info.reshape(-1).tolist()
    at = next((i for i, code in enumerate(found) if code), None)
    return None if at is None else (f"(Batch element {at}): " if info.layout.ndim else "", found[at])


def _converged(info):
    if _first(info) is not None:
        raise Undecided


def _copy(x):
    """x's matrices one after another, to be written over."""
    return clone(x, memory_format=contiguous_format)


def _new(x, *shape, dtype=None):
    return empty(Layout.of(dtype or x.layout.dtype, (*x.layout.shape[:-2], *shape), None, x.layout.device))


# ---------------------------------------------------------------- Cholesky, QR
def _lower(A, upper):
    factor = contiguous(tril(A.mH if upper else A))
    return factor, _run("potrf", factor, (factor.layout.shape[-1], True), factor)


def cholesky(A, upper):
    factor, info = _lower(A, upper)
    found = _first(info)
    if found is not None:
        raise Failed(f"linalg.cholesky: {found[0]}The factorization could not be completed because the input is not "
                     f"positive-definite (the leading minor of order {found[1]} is not positive-definite).")
    return [factor]


def minors(A, upper):
    return [_lower(A, upper)[1]]


def _reflected(A):
    """R and the reflections as columns, so of the shape of A's transposes; and their factors."""
    m, n = A.layout.shape[-2:]
    a, tau = _copy(A.mT), _new(A, min(m, n))
    _run("geqrf", a, (m, n), a, tau)
    return a, tau


def qr(A, mode):
    m, n = A.layout.shape[-2:]
    k = min(m, n)
    a, tau = _reflected(A)
    wide = m if mode == "complete" else k
    r = contiguous(triu(a.mT[..., :wide, :]))
    if mode == "r":
        return [empty(Layout.of(A.layout.dtype, (0,), None, A.layout.device)), r]
    if wide <= n:
        q = a if wide == n else _copy(a[..., :wide, :])
    else:
        q = zeros(*A.layout.shape[:-2], wide, m, dtype=A.layout.dtype, device=A.layout.device)
        q[..., :n, :].copy_(a)
    _run("orgqr", q, (m, wide, k), q, tau)
    return [contiguous(q.mT), r]


def geqrf(A):
    a, tau = _reflected(A)
    return [contiguous(a.mT), tau]


# ---------------------------------------------------------------- eigenvalues, singular values
def _eigh(A, upper, vectors):
    a, values = _copy(A), _new(A, A.layout.shape[-1], dtype=A.layout.dtype.to_real())
    _converged(_run("syevd", a, (A.layout.shape[-1], not upper, vectors), a, values))
    return values, a                                     # of the conjugate of A, one a row


def eigh(A, upper):
    values, rows = _eigh(A, upper, True)
    return [values, contiguous(rows.mH)]


def eigvalsh(A, upper):
    return [_eigh(A, upper, False)[0]]


def _eig(A, vectors):
    n, kind = A.layout.shape[-1], A.layout.dtype.to_complex()
    a, values, rows = _copy(A.mT), _new(A, n, dtype=kind), _new(A, n, n) if vectors else None
    _converged(_run("geev", a, (n, vectors), a, values, rows))
    return values, rows


def eig(A):
    values, rows = _eig(A, True)
    if not A.layout.dtype.is_complex:                    # of a pair the real part, and then the imaginary part of the first
        turn = imag(values).unsqueeze(-1)
        rows = complex_of(where(turn < 0, roll(rows, 1, -2), rows),
                          where(turn > 0, roll(rows, -1, -2), where(turn < 0, -rows, 0.0)))
    return [values, contiguous(rows.mT)]


def eigvals(A):
    return [_eig(A, False)[0]]


def _svd(A, vectors, full):
    m, n = A.layout.shape[-2:]
    k = min(m, n)
    u, v = (_new(A, n if full else k, n), _new(A, m if full else k, m)) if vectors else (None, None)
    s = _new(A, k, dtype=A.layout.dtype.to_real())
    _converged(_run("gesvdj", A, (n, m, vectors, full), a := _copy(A), s, u, v))
    del a
    return s, u, v                                       # A^T = U S V^H, so A = V* S U^T; one vector a row


def svd(A, full):
    s, u, v = _svd(A, True, full)
    return [contiguous(v.mH), s, u]


def svdvals(A):
    return [_svd(A, False, False)[0]]


# ---------------------------------------------------------------- systems and determinants
def _factors(A):
    """L and U of the transposes, the pivots, and what was found."""
    lu, pivots = _copy(A), _new(A, A.layout.shape[-1], dtype=int32)
    n = A.layout.shape[-1]
    return lu, pivots, _run("getrf", lu, (n, n), lu, pivots)


def _solved(lu, pivots, b, transposed):
    """The solutions in place of b, whose matrices lie transposed."""
    k, n = b.layout.shape[-2:]
    batch = b.layout.shape[:-2]
    plan = kernels(b.layout.device, "linalg.lapack").plan_getrs(b.layout.dtype.kernel, prod(batch), n, k, transposed)
    lu, pivots = contiguous(expand(lu, (*batch, n, n))), contiguous(expand(pivots, (*batch, n)))
    plan.call(lu.address, pivots.address, b.address, plan.descriptor)
    return b


def solve(A, B, batch):
    lu, pivots, info = _factors(A)
    found = _first(info)
    if found is not None:
        raise Failed(f"torch.linalg.solve: {found[0]}The solver failed because the input matrix is singular.")
    n, k = B.layout.shape[-2:]
    return [contiguous(_solved(lu, pivots, _copy(expand(B.mT, (*batch, k, n))), True).mT)]


def inv(A):
    lu, pivots, info = _factors(A)
    found = _first(info)
    if found is not None:
        raise Failed(f"linalg.inv: {found[0]}The diagonal element {found[1]} is zero, the inversion could not be completed because "
                     f"the input matrix is singular.")
    one = eye(A.layout.shape[-1], dtype=A.layout.dtype, device=A.layout.device)
    return [_solved(lu, pivots, _copy(expand(one, A.layout.shape)), False)]


def _diagonal(A):
    """What the determinant is the product of, its sign without that, and whether it is 0."""
    lu, pivots, info = _factors(A)
    exchanges = (pivots != arange(1, A.layout.shape[-1] + 1, device=A.layout.device)).sum(-1)
    return lu.diagonal(0, -2, -1), 1 - 2 * (exchanges % 2), info > 0


def det(A):
    diagonal, sign, singular = _diagonal(A)
    return [where(singular, 0.0, diagonal.prod(-1) * sign).to(A.layout.dtype)]


def slogdet(A):
    diagonal, sign, singular = _diagonal(A)
    sizes = diagonal.abs()
    return [where(singular, 0.0, (diagonal / sizes).prod(-1) * sign).to(A.layout.dtype),
            where(singular, float("-inf"), log(sizes).sum(-1)).to(A.layout.dtype.to_real())]
