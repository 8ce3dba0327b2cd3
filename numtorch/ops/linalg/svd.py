"""Singular values and vectors of matrices, by LAPACK, and their derivatives.

Formulas: Giles, "An extended collection of matrix derivative results", 2008; Walter and Lehmann, "Algorithmic differentiation of
linear algebra functions", 2018; for complex matrices as in PyTorch's FunctionsManual.cpp.
"""
from __future__ import annotations

from collections import namedtuple

from ...autograd.graph import recording
from ...tensor import Tensor
from ..core.arguments import check_truths, text
from ..core.operands import method
from ..core.primitive import Primitive
from ..index.triangles import diag_embed
from ..memory.resize import into_all_exactly, into_exactly
from . import lapack

LINALG_SVD = Primitive("linalg_svd", samples="T[3, 2]; False")
SVDVALS = Primitive("linalg_svdvals", samples="T[3, 2];")

SVD = namedtuple("linalg_svd", "U S Vh")
OldSVD = namedtuple("svd", ["U", "S", "V"])


def _check_driver(name, driver):
    """cuSOLVER has several; what computes here has one."""
    if driver is not None:
        text(f"linalg.{name}", "driver", driver)
        raise RuntimeError(f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER "
                           f"backend.")


def svd(A, full_matrices: bool = True, *, driver=None, out=None) -> SVD:
    """A as U diag(S) Vh, with orthonormal columns in U and rows in Vh, and S falling.

    The derivative is that of the first k singular vectors, and is finite where no two singular values are equal.

    Args:
        A: (*, m, n).
        full_matrices: whether U is (*, m, m) and Vh (*, n, n); else (*, m, k) and (*, k, n) with k = min(m, n).
        driver: None; others are for CUDA.
        out: three tensors to write the results to.

    Returns:
        (U, S, Vh), with S (*, k), real.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.svd(torch.tensor([[0., 2.], [1., 0.]])).S
        tensor([2., 1.])
    """
    _check_driver("svd", driver)
    return into_all_exactly("svd", out, SVD(*_svd(A, full_matrices)))


@LINALG_SVD.planned
def _plan_svd(layout, full):
    lapack.check("svd", layout)
    m, n = layout.shape[-2:]
    k = min(m, n)
    return (lapack.each(layout, m, m if full else k), lapack.each(layout, k, dtype=layout.dtype.to_real()),
            lapack.each(layout, n if full else k, n))


@LINALG_SVD.run
def _svd(plan, A: Tensor, full: bool):
    results = lapack.compute("svd", plan, "svd", A, full=full)
    return lapack.record(LINALG_SVD, A, results, min(A.layout.shape[-2:]))


@LINALG_SVD.derivative
def _svd_vjp(node, grads, u, s, vh):
    by_u, by_s, by_vh = grads
    k = node.attributes
    u, vh = u[..., :k], vh[..., :k, :]
    by_u = None if by_u is None else by_u[..., :k]
    by_vh = None if by_vh is None else by_vh[..., :k, :]
    inner = diag_embed(s * 0 if by_s is None else by_s).to(u.dtype)
    apart = None if by_u is None and by_vh is None else gaps(s * s)
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    if by_u is not None:
        turn = _skew(u.mH @ by_u)
        inner = inner + turn / apart * row
        if u.dtype.is_complex:
            inner = inner + diag_embed(turn.diagonal(0, -2, -1) / (s * 2)) - diag_embed(turn.diagonal(0, -2, -1) * s)
    if by_vh is not None:
        turn = _skew(vh @ by_vh.mH)
        turn = turn - diag_embed(turn.diagonal(0, -2, -1)) if u.dtype.is_complex else turn
        inner = inner + column * (turn / apart)
    by_a = u @ inner @ vh
    if by_u is not None and u.shape[-2] > k:
        outside = by_u / row
        by_a = by_a + (outside - u @ (u.mH @ outside)) @ vh
    if by_vh is not None and vh.shape[-1] > k:
        outside = by_vh / column
        by_a = by_a + u @ (outside - (outside @ vh.mH) @ vh)
    return (by_a,)


def svdvals(A, *, driver=None, out=None) -> Tensor:
    """The singular values of matrices, falling.

    Args:
        A: (*, m, n).
        driver: None; others are for CUDA.
        out: a tensor to write the result to.

    Returns:
        (*, min(m, n)), real.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.svdvals(torch.tensor([[0., 2.], [1., 0.]]))
        tensor([2., 1.])
    """
    _check_driver("svdvals", driver)
    return into_exactly("svdvals", out, svd(A, False).S if isinstance(A, Tensor) and recording(A) else _svdvals(A))


@SVDVALS.planned
def _plan_svdvals(layout):
    lapack.check("svdvals", layout)
    return _plan_svd(layout, False)[1:2]


@SVDVALS.run
def _svdvals(plan, A: Tensor):
    return lapack.compute("svd", plan, "svdvals", A)[0]


def _skew(x):
    return x - x.mH


def gaps(values):
    """The differences of all values, column's less row's, with ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + diag_embed(values.detach() * 0 + 1)


# ---------------------------------------------------------------- PyTorch's older name
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
    check_truths("svd", some=some, compute_uv=compute_uv)
    u, s, vh = svd(input, not some)
    if not compute_uv:
        u, vh = u.detach() * 0, vh.detach() * 0
    return into_all_exactly("svd", out, OldSVD(u, s, vh.mH))


method(old_svd, "svd")
