"""LAPACK's names from before `torch.linalg`, with the arguments and results that scripts of those years know.

PyTorch has taken them back. B comes before A where a system A X = B is solved, and triangles are upper ones unless said otherwise.
"""
from __future__ import annotations

from typing import NamedTuple

from ...tensor import Tensor
from ..core.operands import layout_of, method
from ..creation.fill import empty
from ..pointwise.complexparts import view_as_real
from ..pointwise.functions import where
from ..shape.join import cat
from . import factorise, lu, matrices, solve, triangular
from .householder import geqrf
from .triangular import TriangularSolve


class Solution(NamedTuple):
    """X of A X = B, and the factors of A."""

    solution: Tensor
    LU: Tensor


class LeastSquares(NamedTuple):
    """X of the least squares of A X - B, with what is left of B below it, and the factors of A."""

    solution: Tensor
    QR: Tensor


class Eigen(NamedTuple):
    """Eigenvalues, and eigenvectors or nothing."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def gesv(B, A) -> Solution:
    """`torch.linalg.solve(A, B)` under LAPACK's name, with the LU factors of A.

    Args:
        B: (*, n, k).
        A: (*, n, n).

    Example:
        >>> import numtorch as torch
        >>> torch.gesv(torch.tensor([[4.], [8.]]), torch.tensor([[2., 0.], [0., 4.]])).solution
        tensor([[2.],
                [2.]])
    """
    layout_of("gesv", B, "B")
    return Solution(solve.solve(A, B), lu.lu_factor(A)[0])


def gels(B, A) -> LeastSquares:
    """`torch.linalg.lstsq(A, B)` under LAPACK's name. Of more rows than columns, what the solution leaves of B stands below it: its
    squares add up to the residual.

    Args:
        B: (m, k).
        A: (m, n), of full rank.

    Returns:
        (solution (max(m, n), k), QR: A's factors as `geqrf` packs them). What stands below X, and these, have no gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.gels(torch.tensor([[1.], [3.]]), torch.tensor([[1.], [1.]])).solution[:1].round()
        tensor([[2.]])
    """
    rows, columns = layout_of("gels", A, "A").shape[-2:]
    solution, factors = solve.lstsq(A, B).solution, geqrf(A.detach())[0]
    if rows > columns:
        Q = factorise.qr(A.detach(), mode="complete")[0]
        solution = cat((solution, (Q.mH @ B.detach())[..., columns:, :]), -2)
    return LeastSquares(solution, factors)


def symeig(input, eigenvectors: bool = False, upper: bool = True) -> Eigen:
    """`torch.linalg.eigh` under its older name.

    Args:
        input: (*, n, n), of which one triangle is read.
        eigenvectors: whether these are wanted too; else the second result has no elements.
        upper: the upper triangle, else the lower one.

    Example:
        >>> import numtorch as torch
        >>> torch.symeig(torch.tensor([[2., 0.], [0., 1.]]))[0]
        tensor([1., 2.])
    """
    half = "U" if upper else "L"
    if eigenvectors:
        return Eigen(*factorise.eigh(input, half))
    return Eigen(factorise.eigvalsh(input, half), empty((0,), dtype=input.layout.dtype, device=input.layout.device))


def eig(input, eigenvectors: bool = False) -> Eigen:
    """The eigenvalues of a real square matrix as rows (real part, imaginary part), as before `torch.linalg.eig`.

    Args:
        input: (n, n), real.
        eigenvectors: whether these are wanted too, as columns: the real and the imaginary part one after the other where two
            eigenvalues are conjugate. Else the second result has no elements.

    Example:
        >>> import numtorch as torch
        >>> torch.eig(torch.tensor([[2., 0.], [0., 1.]]))[0]
        tensor([[2., 0.],
                [1., 0.]])
    """
    values, vectors = factorise.eig(input)
    if not eigenvectors:
        return Eigen(view_as_real(values), empty((0,), dtype=input.layout.dtype, device=input.layout.device))
    return Eigen(view_as_real(values), where(values.imag < 0, -vectors.imag, vectors.real))


def potrf(input, upper: bool = True) -> Tensor:
    """`torch.linalg.cholesky` under LAPACK's name.

    Args:
        input: (*, n, n), positive definite.
        upper: the upper factor, else the lower one.

    Example:
        >>> import numtorch as torch
        >>> torch.potrf(torch.tensor([[4.]]))
        tensor([[2.]])
    """
    return factorise.cholesky(input, upper=upper)


def potri(input, upper: bool = True) -> Tensor:
    """`torch.cholesky_inverse` under LAPACK's name.

    Args:
        input: (*, n, n), a Cholesky factor.
        upper: the upper one, else the lower one.

    Example:
        >>> import numtorch as torch
        >>> torch.potri(torch.tensor([[2.]]))
        tensor([[0.2500]])
    """
    return triangular.cholesky_inverse(input, upper)


def potrs(B, input, upper: bool = True) -> Tensor:
    """`torch.cholesky_solve` under LAPACK's name.

    Args:
        B: (*, n, k).
        input: (*, n, n), a Cholesky factor of A.
        upper: the upper one, else the lower one.

    Example:
        >>> import numtorch as torch
        >>> torch.potrs(torch.tensor([[8.]]), torch.tensor([[2.]]))
        tensor([[2.]])
    """
    return triangular.cholesky_solve(B, input, upper)


def trtrs(B, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> TriangularSolve:
    """`torch.triangular_solve` under LAPACK's name.

    Args:
        B: (*, n, k).
        A: (*, n, n).
        upper: the upper triangle, else the lower one.
        transpose: A^T X = B instead.
        unitriangular: whether A's diagonal is to be taken for ones.

    Example:
        >>> import numtorch as torch
        >>> torch.trtrs(torch.tensor([[8.]]), torch.tensor([[2.]]))[0]
        tensor([[4.]])
    """
    return triangular.triangular_solve(B, A, upper, transpose, unitriangular)


def btrifact(A, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """`torch.linalg.lu_factor` under its older name: the LU factors of matrices, and the pivots.

    Args:
        A: (*, n, n).
        pivot: whether rows are exchanged.

    Example:
        >>> import numtorch as torch
        >>> torch.btrifact(torch.tensor([[[2.]]]))[0]
        tensor([[[2.]]])
    """
    return lu.lu_factor(A, pivot=pivot)[:2]


def btrifact_with_info(A, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """`btrifact`, and for each matrix 0, or the number of the first pivot that is zero.

    Args:
        A: (*, n, n).
        pivot: whether rows are exchanged.

    Example:
        >>> import numtorch as torch
        >>> torch.btrifact_with_info(torch.tensor([[[2.]]]))[2]
        tensor([0], dtype=torch.int32)
    """
    return lu.lu_factor_ex(A, pivot=pivot)[:3]


def matrix_rank(input, tol=None, symmetric: bool = False) -> Tensor:
    """`torch.linalg.matrix_rank` under its older name.

    Args:
        input: (*, m, n).
        tol: singular values up to it count as zero; by the largest one when None.
        symmetric: whether the matrix is symmetric.

    Example:
        >>> import numtorch as torch
        >>> torch.matrix_rank(torch.tensor([[1., 1.], [1., 1.]]))
        tensor(1)
    """
    return matrices.matrix_rank(input, tol, hermitian=symmetric)


for _function in (gesv, gels, symeig, eig, potrf, potri, potrs, trtrs, btrifact, btrifact_with_info):
    method(_function)
method(gesv, "solve")
method(gels, "lstsq")
method(lu.old_lu_solve, "btrisolve")
