# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
from numtorch.attached import CholeskyEx as _CholeskyEx
from numtorch.attached import Eig as _Eig
from numtorch.attached import Eigh as _Eigh
from numtorch.attached import Factors as _Factors
from numtorch.attached import FactorsEx as _FactorsEx
from numtorch.attached import InverseEx as _InverseEx
from numtorch.attached import LU as _LU
from numtorch.attached import Lstsq as _Lstsq
from numtorch.attached import QR as _QR
from numtorch.attached import SVD as _SVD
from numtorch.attached import Slogdet as _Slogdet
from numtorch.attached import SolveEx as _SolveEx
from numtorch.ops.linalg.lapack import LinAlgError as LinAlgError
from numtorch.types import Dims as _Dims
from numtorch.types import Operand as _Operand
from numtorch.types import Scalar as _Scalar

def cholesky(A: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with A = L L^H, of Hermitian positive-definite matrices."""
def cholesky_ex(A: Tensor, *, upper: _bool = False, check_errors: _bool = False, out: _Any = None) -> _CholeskyEx:
    """`linalg.cholesky` and, for each matrix, whether it is positive definite."""
def cond(A: Tensor, p: _Scalar | None = None, *, out: Tensor | None = None) -> Tensor:
    """How much solving with a matrix can enlarge an error: norm(A) * norm(inv(A))."""
def cross(input: Tensor, other: _Operand, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The vector products of vectors of three elements along `dim`."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinants of square matrices."""
def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
def eig(A: Tensor, *, out: _Any = None) -> _Eig:
    """Eigenvalues and eigenvectors (columns of norm 1) of square matrices, both complex."""
def eigh(A: Tensor, UPLO: _str = 'L', *, out: _Any = None) -> _Eigh:
    """Eigenvalues (rising) and eigenvectors (columns) of symmetric or Hermitian matrices."""
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of square matrices."""
def eigvalsh(A: Tensor, UPLO: _str = 'L', *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, rising."""
def householder_product(A: Tensor, tau: _Any, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder reflections: Q of what `geqrf` gives."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverses of square matrices."""
def inv_ex(A: Tensor, *, check_errors: _bool = False, out: _Any = None) -> _InverseEx:
    """The inverses of square matrices and, for each, whether there is one."""
def ldl_factor(A: Tensor, *, hermitian: _bool = False, out: _Any = None) -> _Factors:
    """L and D of A = P L D L^T P^T in one tensor, and the rows that were exchanged, by Bunch and Kaufman: A may be indefinite."""
def ldl_factor_ex(A: Tensor, *, hermitian: _bool = False, check_errors: _bool = False, out: _Any = None) -> _FactorsEx:
    """`ldl_factor` that does not raise: `info` says where it would have."""
def ldl_solve(LD: _Any, pivots: Tensor, B: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X with A X = B, from what `ldl_factor` gives of A."""
def lstsq(A: Tensor, B: Tensor, rcond: _Scalar | None = None, *, driver: _str | None = None, out: _Any = None) -> _Lstsq:
    """The X that makes the norm of A X - B least, and of those the least, by the singular values of A."""
def lu(A: Tensor, *, pivot: _bool = True, out: _Any = None) -> _LU:
    """The factorisation A = P L U into a permutation, a lower triangle with ones on its diagonal and an upper triangle."""
def lu_factor(A: Tensor, *, pivot: _bool = True, out: _Any = None) -> _Factors:
    """L and U of A = P L U in one tensor, without the ones on L's diagonal, and the rows that were exchanged."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: _Any = None) -> _FactorsEx:
    """`lu_factor` that does not raise: `info` says where it would have."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = True, adjoint: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X with A X = B (or X A = B, or with `adjoint` A^H in place of A), from what `lu_factor` gives of A."""
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with NumPy's rules: vectors are rows or columns, and batch dimensions broadcast."""
def matrix_exp(input: Tensor) -> Tensor:
    """The sum of A^k / k!, of square matrices."""
def matrix_norm(A: Tensor, ord: _Any = 'fro', dim: _Dims = ..., keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """A norm of matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """Square matrices times themselves, n times; inverted first for a negative n."""
def matrix_rank(A: Tensor, tol: _Scalar | None = None, hermitian: _bool = False, *, atol: _Scalar | None = None, rtol: _Scalar | None = None, out: Tensor | None = None) -> Tensor:
    """How many singular values of each matrix are above max(atol, rtol * the largest)."""
def multi_dot(tensors: _Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest operations; the first and last may be vectors."""
def norm(A: Tensor, ord: _Any = None, dim: _Dims | None = None, keepdim: _bool = False, *, out: Tensor | None = None, dtype: _dtype | None = None) -> Tensor:
    """The norm of vectors or matrices: of a vector where `dim` is an int or A has one dimension, else of a matrix."""
def pinv(A: Tensor, rcond: _Scalar | None = None, *, atol: _Scalar | None = None, rtol: _Scalar | None = None, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """Moore and Penrose's inverses of matrices, by their singular values."""
def qr(A: Tensor, mode: _str = 'reduced', *, out: _Any = None) -> _QR:
    """A as an orthogonal (unitary) Q times an upper triangular R, as (Q, R)."""
def slogdet(A: Tensor, *, out: _Any = None) -> _Slogdet:
    """The sign (of complex matrices, the phase) of determinants, and the logarithm of their absolute values."""
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """The X with A X = B, by an LU factorisation."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False, out: _Any = None) -> _SolveEx:
    """`linalg.solve` and, for each matrix, whether it has a solution."""
def solve_triangular(A: Tensor, B: Tensor, *, upper: _bool, left: _bool = True, unitriangular: _bool = False, out: Tensor | None = None) -> Tensor:
    """The X with A X = B (or X A = B), of the triangle of A that `upper` names."""
def svd(A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None, out: _Any = None) -> _SVD:
    """A as U diag(S) Vh, with orthonormal columns in U and rows in Vh, and S falling."""
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values of matrices, falling."""
def tensorinv(A: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a map from its last dimensions to its first `ind`."""
def tensorsolve(A: Tensor, B: Tensor, dims: _Dims | None = None, *, out: Tensor | None = None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B."""
def vander(x: Tensor, *, N: _int | None = None) -> Tensor:
    """The powers 0 to N-1 of each element of vectors, in rows (Vandermonde's matrix)."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """The sums of products along a dimension, the first conjugated."""
def vector_norm(x: Tensor, ord: _Any = 2, dim: _Dims | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None) -> Tensor:
    """(sum |x|^ord)^(1/ord) over dimensions."""
