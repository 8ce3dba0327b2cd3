"""Factorisations of matrices and their derivatives: Cholesky, QR, eigenvalues. `svd.py` has singular values.

LAPACK factorises; each derivative is a formula of other ops, so it can be differentiated again. Formulas: Giles, "An extended
collection of matrix derivative results", 2008; Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018;
for complex matrices as in PyTorch's FunctionsManual.cpp.
"""
from __future__ import annotations

from collections import namedtuple

from ...autograd.graph import recording
from ...dtypes import int32
from ...layout import Layout
from ...tensor import Tensor
from ..core.arguments import check_truths
from ..core.operands import method
from ..core.primitive import Primitive
from ..creation.fill import eye, zeros
from ..index.triangles import diag_embed
from ..memory.resize import into, into_all, into_all_exactly, into_exactly
from ..pointwise.complexparts import real
from ..pointwise.functions import where
from . import lapack
from .solve import solve
from .svd import gaps
from .triangular import solve_triangular

CHOLESKY = Primitive("linalg_cholesky", samples="T([[4, 1, 0], [1, 3, 1], [0, 1, 2]]); False")
LINALG_QR = Primitive("linalg_qr", samples="T[3, 2]; 'reduced'")
CHOLESKY_INFO = Primitive("linalg_cholesky_info", samples="T([[4, 1, 0], [1, 3, 1], [0, 1, 2]]); False")
EIGH = Primitive("linalg_eigh", samples="T([[2, 1], [1, 4]]); 'L'")
EIGVALSH = Primitive("linalg_eigvalsh", samples="T([[2, 1], [1, 4]]); 'L'")
EIG = Primitive("linalg_eig", samples="T([[2, 1], [0, 1]]);")
EIGVALS = Primitive("linalg_eigvals", samples="T([[2, 1], [0, 1]]);")

CholeskyEx = namedtuple("linalg_cholesky_ex", "L info")
QR = namedtuple("linalg_qr", "Q R")
Eigh = namedtuple("linalg_eigh", "eigenvalues eigenvectors")
Eig = namedtuple("linalg_eig", "eigenvalues eigenvectors")
OldQR = namedtuple("qr", ["Q", "R"])


# ---------------------------------------------------------------- Cholesky
def cholesky(A, *, upper: bool = False, out=None) -> Tensor:
    """The lower triangular L with A = L L^H, of Hermitian positive-definite matrices.

    Args:
        A: (*, n, n); its lower triangle is read (with `upper`, its upper one).
        upper: whether to give L^H.
        out: a tensor to write the result to.

    Raises:
        LinAlgError: a matrix is not positive definite.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.cholesky(torch.tensor([[4., 2.], [2., 5.]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    result = _lower(A, upper)
    return into_exactly("cholesky", out, result.mH if upper else result)


@CHOLESKY.planned
def _plan_cholesky(layout, upper):
    lapack.check("cholesky", layout, square=True)
    return (layout.dense(),)


@CHOLESKY.run
def _lower(plan, A: Tensor, upper: bool):
    """The lower factor; `upper` says which triangle is read."""
    return lapack.record(CHOLESKY, A, lapack.compute("cholesky", plan, "cholesky", A, upper=upper))[0]


def cholesky_ex(A, *, upper: bool = False, check_errors: bool = False, out=None) -> CholeskyEx:
    """`linalg.cholesky` and, for each matrix, whether it is positive definite.

    Args:
        A, upper: as for `linalg.cholesky`.
        check_errors: whether to raise where one is not.
        out: a pair of tensors to write the results to.

    Returns:
        (L, info): NaN for a matrix that is not, and (*) int32: 0, or the order of its first leading minor that is not, from 1.

    Raises:
        LinAlgError: with `check_errors`, a matrix is not positive definite.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.cholesky_ex(torch.tensor([[1., 2.], [2., 1.]])).info
        tensor(2, dtype=torch.int32)
    """
    check_truths("linalg.cholesky_ex", upper=upper, check_errors=check_errors)
    lapack.matrices("cholesky_ex", A, square=True)
    *batch, n, _ = A.layout.shape
    if check_errors or A.layout.handler is None:         # a trace is run with matrices that may be others
        try:
            result = CholeskyEx(cholesky(A, upper=upper), zeros(batch, dtype=int32, device=A.layout.device))
            return into_all_exactly("cholesky_ex", out, result)
        except lapack.LinAlgError:
            if check_errors:
                raise
    info = _info(A.detach(), upper)
    wrong = (info > 0).reshape(*batch, 1, 1)
    result = cholesky(where(wrong, eye(n, dtype=A.layout.dtype, device=A.layout.device), A), upper=upper)
    return into_all_exactly("cholesky_ex", out, CholeskyEx(where(wrong, float("nan"), result), info))


@CHOLESKY_INFO.planned
def _plan_info(layout, upper):
    lapack.check("cholesky_ex", layout, square=True)
    return (lapack.each(layout, dtype=int32),)


@CHOLESKY_INFO.run
def _info(plan, A: Tensor, upper: bool):
    """The order of each matrix's first leading minor that is not positive definite, or 0."""
    return lapack.compute("cholesky_ex", plan, "minors", A, upper=upper)[0]


@CHOLESKY.derivative
def _cholesky_vjp(node, grad, lower):
    inner = (lower.mH @ grad).tril()
    inner = inner - diag_embed(inner.diagonal(0, -2, -1)) * 0.5
    by_a = solve_triangular(lower.mH, inner, upper=True)
    by_a = solve_triangular(lower, by_a, upper=False, left=False)             # L^-H inner L^-1
    return ((by_a + by_a.mH) * 0.5,)


# ---------------------------------------------------------------- QR
def qr(A, mode: str = "reduced", *, out=None) -> QR:
    """A as an orthogonal (unitary) Q times an upper triangular R, as (Q, R).

    Args:
        A: (*, m, n).
        mode: "reduced" for Q (*, m, k) and R (*, k, n) with k = min(m, n), "complete" for Q (*, m, m), or "r" for R alone.
        out: a pair of tensors to write the results to.

    Raises:
        RuntimeError: another mode; in backward, mode "r", or "complete" with more rows than columns.

    Example:
        >>> import numtorch as torch
        >>> Q, R = torch.linalg.qr(torch.tensor([[3., 0.], [4., 5.]]))
        >>> torch.allclose(Q @ R, torch.tensor([[3., 0.], [4., 5.]]), atol=1e-6), R.abs()
        (True, tensor([[5., 4.],
                [0., 3.]]))
    """
    return into_all_exactly("qr", out, QR(*_qr(A, mode)))


@LINALG_QR.planned
def _plan_qr(layout, mode):
    lapack.check("qr", layout)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    m, n = layout.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    q = Layout.of(layout.dtype, (0,), None, layout.device) if mode == "r" else lapack.each(layout, m, k)
    return q, lapack.each(layout, k, n)


@LINALG_QR.run
def _qr(plan, A: Tensor, mode):
    return lapack.record(LINALG_QR, A, lapack.compute("qr", plan, "qr", A, mode=mode), (mode, *A.layout.shape[-2:]))


@LINALG_QR.derivative
def _qr_vjp(node, grads, q, r):
    mode, rows, columns = node.attributes
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced')")
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    by_q, by_r = grads
    by_q = q * 0 if by_q is None else by_q
    by_r = r * 0 if by_r is None else by_r
    if rows >= columns:
        return (_square_qr(q, r, by_q, by_r),)
    rest, by_rest = r[..., rows:], by_r[..., rows:]                # the columns that R has beyond the square: Q^H A
    first = _square_qr(q, r[..., :rows], by_q + q @ rest @ by_rest.mH, by_r[..., :rows])
    return (_joined(first, q @ by_rest),)


def _joined(a, b):
    return a.new_zeros((*a.shape[:-1], a.shape[-1] + b.shape[-1])).slice_scatter(a, -1, 0, a.shape[-1]).slice_scatter(
        b, -1, a.shape[-1], None)


def _square_qr(q, r, by_q, by_r):
    inner = (by_r @ r.mH - q.mH @ by_q).triu()
    diagonal = real(inner.diagonal(0, -2, -1))
    inner = inner + inner.mH - diag_embed(diagonal)
    return solve_triangular(r.mH, by_q + q @ inner, upper=False, left=False)


# ---------------------------------------------------------------- eigenvalues
def eigh(A, UPLO: str = "L", *, out=None) -> Eigh:
    """Eigenvalues (rising) and eigenvectors (columns) of symmetric or Hermitian matrices.

    The derivative is that of all of A, and with respect to the vectors is finite where no two eigenvalues are equal.

    Args:
        A: (*, n, n).
        UPLO: "L" to read the lower triangle, "U" the upper one.
        out: a pair of tensors to write the results to.

    Returns:
        (eigenvalues, eigenvectors): (*, n), real, and (*, n, n).

    Raises:
        RuntimeError: another `UPLO`.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.eigh(torch.tensor([[2., 1.], [1., 2.]])).eigenvalues
        tensor([1., 3.])
    """
    return into_all_exactly("eigh", out, Eigh(*_eigh(A, UPLO)))


@EIGH.planned
def _plan_eigh(layout, UPLO):
    lapack.check("eigh", layout, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return lapack.each(layout, layout.shape[-1], dtype=layout.dtype.to_real()), layout.dense()


@EIGH.run
def _eigh(plan, A: Tensor, UPLO: str):
    return lapack.record(EIGH, A, lapack.compute("eigh", plan, "eigh", A, upper=UPLO in "Uu"))


@EIGH.derivative
def _eigh_vjp(node, grads, values, vectors):
    by_values, by_vectors = grads
    inner = diag_embed(values * 0 if by_values is None else by_values).to(vectors.dtype)
    if by_vectors is not None:
        turn = vectors.mH @ by_vectors
        turn = (turn - turn.mH) / 2                      # what keeps the vectors orthonormal; so the gradient is Hermitian as A is
        turn = turn - diag_embed(turn.diagonal(0, -2, -1))
        inner = inner + turn / gaps(values)
    return (vectors @ inner @ vectors.mH,)


def eigvalsh(A, UPLO: str = "L", *, out=None) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, rising.

    Args:
        A: (*, n, n).
        UPLO: "L" to read the lower triangle, "U" the upper one.
        out: a tensor to write the result to.

    Returns:
        (*, n), real.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.eigvalsh(torch.tensor([[2., 1.], [1., 2.]]))
        tensor([1., 3.])
    """
    result = eigh(A, UPLO).eigenvalues if isinstance(A, Tensor) and recording(A) else _eigvalsh(A, UPLO)
    return into_exactly("eigvalsh", out, result)


@EIGVALSH.planned
def _plan_eigvalsh(layout, UPLO):
    return _plan_eigh(layout, UPLO)[:1]


@EIGVALSH.run
def _eigvalsh(plan, A: Tensor, UPLO: str):
    return lapack.compute("eigh", plan, "eigvalsh", A, upper=UPLO in "Uu")[0]


def eig(A, *, out=None) -> Eig:
    """Eigenvalues and eigenvectors (columns of norm 1) of square matrices, both complex.

    Args:
        A: (*, n, n).
        out: a pair of tensors to write the results to.

    Returns:
        (eigenvalues, eigenvectors): (*, n) and (*, n, n).

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.eig(torch.tensor([[2., 0.], [0., 3.]])).eigenvalues
        tensor([2.+0.j, 3.+0.j])
    """
    return into_all("linalg_eig", out, Eig(*_eig(A)))


@EIG.planned
def _plan_eig(layout):
    lapack.check("eig", layout, square=True)
    kind = layout.dtype.to_complex()
    return lapack.each(layout, layout.shape[-1], dtype=kind), lapack.each(layout, *layout.shape[-2:], dtype=kind)


@EIG.run
def _eig(plan, A: Tensor):
    return lapack.record(EIG, A, lapack.compute("eig", plan, "eig", A), A.layout.dtype)


@EIG.derivative
def _eig_vjp(node, grads, values, vectors):
    by_values, by_vectors = grads
    inner = diag_embed(values * 0 if by_values is None else by_values)
    if by_vectors is not None:
        turn = vectors.mH @ by_vectors
        turn = turn - vectors.mH @ (vectors * real(turn.diagonal(0, -2, -1)).unsqueeze(-2))
        turn = turn - diag_embed(turn.diagonal(0, -2, -1))
        inner = inner + turn / gaps(values.conj())
    by_a = solve(vectors.mH, inner @ vectors.mH)
    return (by_a if node.attributes.is_complex else real(by_a),)


def eigvals(A, *, out=None) -> Tensor:
    """The eigenvalues of square matrices.

    Args:
        A: (*, n, n).
        out: a tensor to write the result to.

    Returns:
        (*, n), complex.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.eigvals(torch.tensor([[2., 0.], [0., 3.]]))
        tensor([2.+0.j, 3.+0.j])
    """
    return into(out, eig(A).eigenvalues if isinstance(A, Tensor) and recording(A) else _eigvals(A))


@EIGVALS.planned
def _plan_eigvals(layout):
    lapack.check("eigvals", layout, square=True)
    return _plan_eig(layout)[:1]


@EIGVALS.run
def _eigvals(plan, A: Tensor):
    return lapack.compute("eig", plan, "eigvals", A)[0]


# ---------------------------------------------------------------- PyTorch's older names
def old_cholesky(input, upper: bool = False, *, out=None) -> Tensor:
    """`torch.linalg.cholesky` under its older name.

    Args:
        input: (*, n, n).
        upper: whether to give L^H.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[4., 2.], [2., 5.]]).cholesky()
        tensor([[2., 0.],
                [1., 2.]])
    """
    return into(out, cholesky(input, upper=upper))


def old_qr(input, some: bool = True, *, out=None) -> OldQR:
    """`torch.linalg.qr` under its older name.

    Args:
        input: (*, m, n).
        some: mode "reduced", else "complete".
        out: a pair of tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[3., 0.], [4., 5.]]).qr().R.abs()
        tensor([[5., 4.],
                [0., 3.]])
    """
    check_truths("qr", some=some)
    return into_all_exactly("qr", out, OldQR(*qr(input, "reduced" if some else "complete")))


method(old_cholesky, "cholesky")
method(old_qr, "qr")
