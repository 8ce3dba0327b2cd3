"""Factorisations of matrices and their derivatives: Cholesky, QR, singular values, eigenvalues.

LAPACK factorises; each derivative is a formula of other ops, so it can be differentiated again. Formulas: Giles, "An extended
collection of matrix derivative results", 2008; Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018;
for complex matrices as in PyTorch's FunctionsManual.cpp.
"""
from __future__ import annotations

from collections import namedtuple

import numpy as np

from ...autograd.graph import GraphNode, attach_outputs, recording
from ...dtypes import int32
from ...exchange import make
from ...tensor import Tensor
from ..core.operands import method
from ..core.primitive import Primitive
from ..creation.fill import eye, zeros
from ..index.triangles import diag_embed
from ..memory.resize import into, into_all
from ..pointwise.complexparts import real
from ..pointwise.functions import where
from . import lapack
from .solve import solve
from .triangular import solve_triangular

_CHOLESKY = Primitive("linalg_cholesky")
_QR = Primitive("linalg_qr")
_SVD = Primitive("linalg_svd")
_EIGH = Primitive("linalg_eigh")
_EIG = Primitive("linalg_eig")

CholeskyEx = namedtuple("linalg_cholesky_ex", "L info")
QR = namedtuple("linalg_qr", "Q R")
SVD = namedtuple("linalg_svd", "U S Vh")
Eigh = namedtuple("linalg_eigh", "eigenvalues eigenvectors")
Eig = namedtuple("linalg_eig", "eigenvalues eigenvectors")
OldSVD = namedtuple("svd", ["U", "S", "V"])
OldQR = namedtuple("qr", ["Q", "R"])


def _record(primitive, x, results, attributes=None):
    """Put the results of a factorisation of x behind it; they are what its derivative needs."""
    if recording(x):
        node = GraphNode(primitive, (x.node,), (), attributes, outputs=len(results))
        node.save_results(results)
        if len(results) == 1:
            results[0].node = node
        else:
            attach_outputs(node, results)
    return results


def _skew(x):
    return x - x.mH


def _gaps(values):
    """The differences of all values, column's less row's, with ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + diag_embed(values.detach() * 0 + 1)


# ---------------------------------------------------------------- Cholesky
def _cholesky(array):
    """NumPy's factor, which it gives of NaN too."""
    factor = lapack.run("cholesky", np.linalg.cholesky, array)
    if np.isnan(np.diagonal(factor, 0, -2, -1)).any():
        raise lapack.LinAlgError("linalg.cholesky: The factorization could not be completed because the input is not "
                                 "positive-definite.")
    return factor


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
    lapack.matrices("cholesky", A, square=True)
    source = lapack.array(A)
    if upper:
        source = np.conj(np.swapaxes(source, -1, -2))
    result, = lapack.tensors([_cholesky(source)], A.layout.dtype)
    result, = _record(_CHOLESKY, A, [result])
    return into(out, result.mH if upper else result)


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
    lapack.matrices("cholesky_ex", A, square=True)
    *batch, n, _ = A.layout.shape
    try:
        return into_all(out, CholeskyEx(cholesky(A, upper=upper), zeros(batch, dtype=int32)))
    except lapack.LinAlgError:
        if check_errors:
            raise
    each = lapack.array(A.mH if upper else A).reshape(-1, n, n)
    info = make([_first_minor(matrix) for matrix in each], int32).reshape(batch)
    wrong = (info > 0).reshape(*batch, 1, 1)
    result = cholesky(where(wrong, eye(n, dtype=A.layout.dtype), A), upper=upper)
    return into_all(out, CholeskyEx(where(wrong, float("nan"), result), info))


def _first_minor(matrix):
    """The order of the first leading minor that is not positive definite, by halving; 0 where all are."""
    def factorises(order):
        try:
            _cholesky(matrix[:order, :order])
        except lapack.LinAlgError:
            return False
        return True
    if factorises(len(matrix)):
        return 0
    good, bad = 0, len(matrix)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if factorises(middle) else (good, middle)
    return bad


@_CHOLESKY.derivative
def _cholesky_vjp(node, grad):
    lower, = node.result_tensors()
    inner = (lower.mH @ grad).tril()
    inner = inner - diag_embed(inner.diagonal(0, -2, -1)) * 0.5
    found = solve_triangular(lower.mH, inner, upper=True)
    found = solve_triangular(lower, found, upper=False, left=False)           # L^-H inner L^-1
    return ((found + found.mH) * 0.5,)


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
    lapack.matrices("qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    found = lapack.run("qr", np.linalg.qr, lapack.array(A), mode)
    kind = A.layout.dtype
    results = lapack.tensors([np.empty(0), found] if mode == "r" else found, kind)
    return into_all(out, QR(*_record(_QR, A, results, (mode, *A.layout.shape[-2:]))))


@_QR.derivative
def _qr_vjp(node, grads):
    mode, rows, columns = node.attributes
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
                           "linalg.qr(A, mode='reduced')")
    if mode == "complete" and rows > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    q, r = node.result_tensors()
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


# ---------------------------------------------------------------- singular values
def svd(A, full_matrices: bool = True, *, driver=None, out=None) -> SVD:
    """A as U diag(S) Vh, with orthonormal columns in U and rows in Vh, and S falling.

    The derivative is that of the first k singular vectors, and is finite where no two singular values are equal.

    Args:
        A: (*, m, n).
        full_matrices: whether U is (*, m, m) and Vh (*, n, n); else (*, m, k) and (*, k, n) with k = min(m, n).
        driver: taken for PyTorch's sake; it is for CUDA.
        out: three tensors to write the results to.

    Returns:
        (U, S, Vh), with S (*, k), real.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
        tensor([2., 1.])
    """
    lapack.matrices("svd", A)
    results = lapack.svd("svd", A, full_matrices)
    return into_all(out, SVD(*_record(_SVD, A, results, min(A.layout.shape[-2:]))))


@_SVD.derivative
def _svd_vjp(node, grads):
    u, s, vh = node.result_tensors()
    by_u, by_s, by_vh = grads
    k = node.attributes
    u, vh = u[..., :k], vh[..., :k, :]
    by_u = None if by_u is None else by_u[..., :k]
    by_vh = None if by_vh is None else by_vh[..., :k, :]
    inner = diag_embed(s * 0 if by_s is None else by_s).to(u.dtype)
    gaps = None if by_u is None and by_vh is None else _gaps(s * s)
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    if by_u is not None:
        turn = _skew(u.mH @ by_u)
        inner = inner + turn / gaps * row
        if u.dtype.is_complex:
            inner = inner + diag_embed(turn.diagonal(0, -2, -1) / (s * 2)) - diag_embed(turn.diagonal(0, -2, -1) * s)
    if by_vh is not None:
        turn = _skew(vh @ by_vh.mH)
        turn = turn - diag_embed(turn.diagonal(0, -2, -1)) if u.dtype.is_complex else turn
        inner = inner + column * (turn / gaps)
    found = u @ inner @ vh
    if by_u is not None and u.shape[-2] > k:
        outside = by_u / row
        found = found + (outside - u @ (u.mH @ outside)) @ vh
    if by_vh is not None and vh.shape[-1] > k:
        outside = by_vh / column
        found = found + u @ (outside - (outside @ vh.mH) @ vh)
    return (found,)


def svdvals(A, *, driver=None, out=None) -> Tensor:
    """The singular values of matrices, falling.

    Args:
        A: (*, m, n).
        driver: taken for PyTorch's sake; it is for CUDA.
        out: a tensor to write the result to.

    Returns:
        (*, min(m, n)), real.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [1., 0.]]))
        tensor([2., 1.])
    """
    lapack.matrices("svdvals", A)
    if recording(A):
        return into(out, svd(A, False).S)
    values = lapack.run("svd", np.linalg.svd, lapack.array(A), False, False)
    return into(out, lapack.tensors([values], A.layout.dtype.to_real())[0])


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
    _triangle(A, UPLO)
    values, vectors = lapack.run("eigh", np.linalg.eigh, lapack.array(A), UPLO.upper())
    kind = A.layout.dtype
    results = [*lapack.tensors([values], kind.to_real()), *lapack.tensors([vectors], kind)]
    return into_all(out, Eigh(*_record(_EIGH, A, results)))


def _triangle(A, UPLO):
    lapack.matrices("eigh", A, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


@_EIGH.derivative
def _eigh_vjp(node, grads):
    values, vectors = node.result_tensors()
    by_values, by_vectors = grads
    inner = diag_embed(values * 0 if by_values is None else by_values).to(vectors.dtype)
    if by_vectors is not None:
        turn = vectors.mH @ by_vectors
        turn = (turn - turn.mH) / 2                      # what keeps the vectors orthonormal; so the gradient is Hermitian as A is
        turn = turn - diag_embed(turn.diagonal(0, -2, -1))
        inner = inner + turn / _gaps(values)
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
    _triangle(A, UPLO)
    if recording(A):
        return into(out, eigh(A, UPLO).eigenvalues)
    values = lapack.run("eigh", np.linalg.eigvalsh, lapack.array(A), UPLO.upper())
    return into(out, lapack.tensors([values], A.layout.dtype.to_real())[0])


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
    lapack.matrices("eig", A, square=True)
    found = lapack.run("eig", np.linalg.eig, lapack.array(A))
    results = lapack.tensors(found, A.layout.dtype.to_complex())
    return into_all(out, Eig(*_record(_EIG, A, results, A.layout.dtype)))


@_EIG.derivative
def _eig_vjp(node, grads):
    values, vectors = node.result_tensors()
    by_values, by_vectors = grads
    inner = diag_embed(values * 0 if by_values is None else by_values)
    if by_vectors is not None:
        turn = vectors.mH @ by_vectors
        turn = turn - vectors.mH @ (vectors * real(turn.diagonal(0, -2, -1)).unsqueeze(-2))
        turn = turn - diag_embed(turn.diagonal(0, -2, -1))
        inner = inner + turn / _gaps(values.conj())
    found = solve(vectors.mH, inner @ vectors.mH)
    return (found if node.attributes.is_complex else real(found),)


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
    lapack.matrices("eigvals", A, square=True)
    if recording(A):
        return into(out, eig(A).eigenvalues)
    found = lapack.run("eig", np.linalg.eigvals, lapack.array(A))
    return into(out, lapack.tensors([found], A.layout.dtype.to_complex())[0])


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
    return cholesky(input, upper=upper, out=out)


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
    return into_all(out, OldQR(*qr(input, "reduced" if some else "complete")))


def old_svd(input, some: bool = True, compute_uv: bool = True, *, out=None) -> OldSVD:
    """U, S and V (not its adjoint, as `torch.linalg.svd` gives).

    Args:
        input: (*, m, n).
        some: k = min(m, n) singular vectors rather than all.
        compute_uv: False for zeros as U and V.
        out: three tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[0., 2.], [1., 0.]]).svd().S
        tensor([2., 1.])
    """
    u, s, vh = svd(input, not some)
    if not compute_uv:
        u, vh = u.detach() * 0, vh.detach() * 0
    return into_all(out, OldSVD(u, s, vh.mH))


for _name, _function in (("cholesky", old_cholesky), ("qr", old_qr), ("svd", old_svd)):
    method(_function, _name)
