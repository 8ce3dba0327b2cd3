"""The standard's `linalg`: matrices in the last two axes of stacks."""
from __future__ import annotations

import math
from typing import NamedTuple

from .. import linalg as numtorch_linalg
from ..layout import broadcast_shapes, wrap_dim
from ..ops.core.operands import layout_of
from ..ops.creation.fill import full
from ..ops.linalg import matmul as matmul_module
from ..ops.linalg.einsum import tensordot as contract
from ..ops.linalg.solve import slogdet as sign_and_logdet
from ..ops.memory.conversion import to_dtype
from ..ops.pointwise.arithmetic import mul
from ..ops.pointwise.functions import conj
from ..ops.reduce.query import broadcast_tensors
from ..ops.reduce.reductions import sum as sum_of
from ..ops.shape.slicing import diagonal as diagonal_of
from ..ops.shape.views import movedim, reshape
from ..tensor import Tensor
from .manipulation import matrix_transpose
from .promotion import arrays, default_of

__all__ = ["cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
           "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace",
           "vecdot", "vector_norm"]


class Eigh(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class QR(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class Slogdet(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class SVD(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


# ---------------------------------------------------------------- products
def matmul(x1, x2, /) -> Tensor:
    """The product of matrices, of stacks of them, or with vectors."""
    return matmul_module.matmul(*arrays(x1, x2))


def outer(x1, x2, /) -> Tensor:
    """All products of the elements of two vectors."""
    return matmul_module.outer(*arrays(x1, x2))


def tensordot(x1, x2, /, *, axes=2) -> Tensor:
    """Sums of products over axes of both: the last and the first so many, or those named."""
    return contract(*arrays(x1, x2), axes)


def vecdot(x1, x2, /, *, axis: int = -1) -> Tensor:
    """Sums of products of conjugated elements of `x1` with those of `x2` along an axis.

    Raises:
        ValueError: different extents.
    """
    x1, x2 = arrays(x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: expected equal extents along the axis, got {x1.shape[axis]} and {x2.shape[axis]}")
    x1, x2 = broadcast_tensors(movedim(x1, axis, -1), movedim(x2, axis, -1))
    return to_dtype(sum_of(mul(conj(x1), x2), -1), x1.dtype)


def cross(x1, x2, /, *, axis: int = -1) -> Tensor:
    """Cross products of vectors of three elements along an axis.

    Raises:
        ValueError: another extent.
    """
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(f"cross: expected three elements along the axis, got {x1.shape[axis]} and {x2.shape[axis]}")
    return numtorch_linalg.cross(*broadcast_tensors(*arrays(x1, x2)), dim=axis)


# ---------------------------------------------------------------- matrices
def cholesky(x, /, *, upper: bool = False) -> Tensor:
    """The triangle L with L L^H = x, or its adjoint if `upper`."""
    return numtorch_linalg.cholesky(x, upper=upper)


def det(x, /) -> Tensor:
    """Determinants."""
    return numtorch_linalg.det(x)


def slogdet(x, /) -> Slogdet:
    """The signs of determinants, and the logarithms of their absolute values."""
    return Slogdet(*sign_and_logdet(x))


def eigh(x, /) -> Eigh:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices."""
    return Eigh(*numtorch_linalg.eigh(x))


def eigvalsh(x, /) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices."""
    return numtorch_linalg.eigvalsh(x)


def inv(x, /) -> Tensor:
    """Inverses."""
    return numtorch_linalg.inv(x)


def pinv(x, /, *, rtol=None) -> Tensor:
    """Pseudo-inverses; singular values up to `rtol` times the largest count as zero."""
    return numtorch_linalg.pinv(x, rtol=_relative(x, rtol))


def matrix_rank(x, /, *, rtol=None) -> Tensor:
    """How many singular values are larger than `rtol` times the largest."""
    return numtorch_linalg.matrix_rank(x, rtol=_relative(x, rtol))


def _relative(x, rtol):
    """A tolerance as a tensor for each matrix, or None."""
    return rtol if rtol is None or isinstance(rtol, float) else full((), rtol, dtype=x.real.dtype) if not isinstance(
        rtol, Tensor) else rtol


def matrix_power(x, n: int, /) -> Tensor:
    """Matrices times themselves, n times; their inverses for negative n."""
    return numtorch_linalg.matrix_power(x, n)


def qr(x, /, *, mode: str = "reduced") -> QR:
    """Matrices as products of orthonormal columns and upper triangles.

    Args:
        x: (..., M, N).
        mode: "reduced" or "complete".
    """
    return QR(*numtorch_linalg.qr(x, mode))


def solve(x1, x2, /) -> Tensor:
    """X with x1 X = x2; `x2` is a vector only where it has one axis."""
    x1, x2 = arrays(x1, x2)
    if x2.ndim == 1:
        return numtorch_linalg.solve(x1, x2)
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return numtorch_linalg.solve(x1.expand(*batch, *x1.shape[-2:]), x2.expand(*batch, *x2.shape[-2:]))


def svd(x, /, *, full_matrices: bool = True) -> SVD:
    """Singular values, with the matrices between which they stand."""
    return SVD(*numtorch_linalg.svd(x, full_matrices=full_matrices))


def svdvals(x, /) -> Tensor:
    """Singular values, the largest first."""
    return numtorch_linalg.svdvals(x)


def diagonal(x, /, *, offset: int = 0) -> Tensor:
    """Diagonals of the last two axes."""
    return diagonal_of(x, offset, -2, -1)


def trace(x, /, *, offset: int = 0, dtype=None) -> Tensor:
    """Sums of the diagonals of the last two axes."""
    kind = dtype or default_of(layout_of("trace", x).dtype)
    return to_dtype(sum_of(to_dtype(diagonal(x, offset=offset), kind), -1), kind)      # int64 has the bits of uint64's sum


# ---------------------------------------------------------------- norms
def matrix_norm(x, /, *, keepdims: bool = False, ord="fro") -> Tensor:
    """Norms of matrices: "fro", "nuc", 1, 2, inf, and their negatives."""
    return numtorch_linalg.matrix_norm(x, ord, keepdim=keepdims)


def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord=2) -> Tensor:
    """(sum |x|^ord)^(1/ord) over axes; over all elements when None."""
    if axis is None:
        result = numtorch_linalg.vector_norm(reshape(x, -1), ord)
        return reshape(result, [1] * x.ndim) if keepdims else result
    axes = tuple(sorted({wrap_dim(a, x.ndim) for a in ((axis,) if isinstance(axis, int) else axis)}))
    if not axes:
        return numtorch_linalg.vector_norm(reshape(x, [*x.shape, 1]), ord, -1)
    rest = [d for d in range(x.ndim) if d not in axes]
    moved = movedim(x, axes, tuple(range(x.ndim - len(axes), x.ndim)))
    rows = reshape(moved, [*[x.shape[d] for d in rest], math.prod(x.shape[a] for a in axes)])
    result = numtorch_linalg.vector_norm(rows, ord, -1)
    return reshape(result, [1 if d in axes else n for d, n in enumerate(x.shape)]) if keepdims else result
