"""The few largest singular values and vectors, from products with random vectors.

Halko, Martinsson and Tropp, "Finding structure with randomness", 2011: subspace iteration (4.4), and the
factorisation of what is left (5.1).
"""
from __future__ import annotations

from ...tensor import Tensor
from ..core.operands import layout_of
from ..random.draws import randn
from ..reduce.reductions import mean
from . import lapack
from .factorise import qr
from .svd import svd


def svd_lowrank(A, q=6, niter=2, M=None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V with A about U diag(S) V^H, of a rank that is much below A's extents.

    The numbers drawn are those of the default generator. Differentiable, where no two of the singular values are equal.

    Args:
        A: (*, m, n).
        q: how many singular values, at most all of them, min(m, n); a few more than wanted make these exact. 6 when None.
        niter: steps of subspace iteration: the error of a singular value falls with the (4 niter + 2)-th power of its ratio to the
            next. 2 when None.
        M: taken away from A, (*, m, n) or broadcast to it.

    Returns:
        (U, S, V): (*, m, q), (*, q) falling, and (*, n, q), with min(m, n) in place of a q above it.

    Raises:
        RuntimeError: a negative q, or no matrices of floating-point or complex numbers.

    Example:
        >>> import numtorch as torch
        >>> x = torch.arange(20.).reshape(5, 4)                # of rank 2
        >>> U, S, V = torch.svd_lowrank(x, q=2)
        >>> torch.allclose(U * S @ V.T, x, atol=1e-3)
        True
    """
    lapack.matrices("svd_lowrank", A)
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    m, n = A.layout.shape[-2:]
    if q < 0:
        raise RuntimeError(f"svd_lowrank: q must not be negative, got {q}")
    if M is not None:
        layout_of("svd_lowrank", M, "M", 4)
    rest = A if M is None else A - M
    tall = rest if m >= n else rest.mH
    *batch, _, width = tall.layout.shape
    basis = qr(tall @ randn(*batch, width, min(q, m, n), dtype=A.layout.dtype, device=A.layout.device)).Q
    for _ in range(niter):
        basis = qr(tall @ qr(tall.mH @ basis).Q).Q
    u, s, vh = svd(basis.mH @ tall, False)
    u, v = basis @ u, vh.mH
    return (u, s, v) if m >= n else (v, s, u)


def pca_lowrank(A, q=None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The principal components of rows: `svd_lowrank` of A less the mean of its rows.

    Args:
        A: (*, m, n): m samples of n features.
        q: how many components; min(6, m, n) when None.
        center: whether to take away the mean.
        niter: steps of subspace iteration.

    Returns:
        (U, S, V): V (*, n, q) holds the principal directions, S**2 / (m - 1) the variances along them; A @ V is A in q features.

    Raises:
        ValueError: q that is negative or above min(m, n), or a negative niter.
        RuntimeError: no matrices of floating-point or complex numbers.

    Example:
        >>> import numtorch as torch
        >>> points = torch.tensor([[0., 1.], [1., 3.], [2., 5.], [3., 7.]])
        >>> U, S, V = torch.pca_lowrank(points)
        >>> (V[1, 0] / V[0, 0]).round(decimals=3)              # along the line of slope 2
        tensor(2.)
    """
    lapack.matrices("pca_lowrank", A)
    most = min(A.layout.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={most}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - mean(A, -2, keepdim=True) if center else A, q, niter)
