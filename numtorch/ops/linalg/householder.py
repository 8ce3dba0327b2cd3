"""Orthogonal matrices as products of Householder reflections, the form in which LAPACK's QR leaves them.

H_i = I - tau_i v_i v_i^H, v_i the i-th column below a 1 on the diagonal. Their product is I - V T V^H with an upper triangular T
(Schreiber and Van Loan 1989), here T = (I + D S)^-1 D from D = diag(tau) and S, what of V^H V is above the diagonal (the UT
transform of Joffrain et al. 2006). These are products and one triangular system, so gradients of any order come by themselves.
"""
from __future__ import annotations

from collections import namedtuple

from ...autograd.graph import recording
from ...tensor import Tensor
from ..core.arguments import check_truths
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..creation.fill import eye
from ..index.triangles import diag_embed, tril, triu
from ..memory.resize import into, into_all, into_exactly
from . import lapack
from .triangular import solve_triangular

GEQRF = Primitive("geqrf", samples="T[3, 2];")

Geqrf = namedtuple("geqrf", ["a", "tau"])


def _identity(like, rows, columns):
    return eye(rows, columns, dtype=like.layout.dtype, device=like.layout.device)


def _reflections(input, tau):
    """V and T."""
    k = tau.layout.shape[-1]
    v = tril(input[..., :k], -1) + _identity(input, input.layout.shape[-2], k)
    above = triu(v.mH @ v, 1)
    return v, solve_triangular(_identity(tau, k, k) + tau.unsqueeze(-1) * above, diag_embed(tau), upper=True)


def _check(name, input, tau):
    """Raise for what is no set of reflections."""
    for x in (input, tau):
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}(): expected Tensors, got {type(x).__name__}")
    shape, given = input.layout.shape, tau.layout.shape
    if len(shape) < 2:
        raise RuntimeError(f"torch.{name}: input must have at least 2 dimensions.")
    if len(given) != len(shape) - 1:
        raise RuntimeError(f"torch.{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to "
                           f"{len(given)} and input.ndim is equal to {len(shape)}")
    if given[:-1] != shape[:-2]:
        raise RuntimeError(f"torch.{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
                           f"{list(given[:-1])}")
    if input.layout.dtype is not tau.layout.dtype:
        raise RuntimeError(f"torch.{name}: tau dtype {tau.layout.dtype.title} does not match input dtype "
                           f"{input.layout.dtype.title}")
    lapack.matrices(name.removeprefix("linalg."), input)


@method
def geqrf(input, *, out=None) -> Geqrf:
    """The QR factorisation as LAPACK leaves it: R, and below it the reflections whose product is Q.

    Args:
        input: (*, m, n), without a gradient.
        out: a pair of tensors to write the results to.

    Returns:
        (a, tau): (*, m, n), R on and above the diagonal and the reflections' vectors below it; and (*, min(m, n)) their factors.

    Raises:
        NotImplementedError: an input that requires a gradient; `torch.linalg.qr` has one.
        RuntimeError: fewer than two dimensions, or no floating point or complex numbers.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[3., 0.], [4., 5.]])
        >>> a, tau = torch.geqrf(x)
        >>> torch.allclose(torch.orgqr(a, tau) @ a.triu(), x, atol=1e-5)
        True
    """
    return into_all("geqrf", out, Geqrf(*_geqrf(input)))


@GEQRF.planned
def _plan_geqrf(layout):
    if layout.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    lapack.check("geqrf", layout)
    return layout.dense(), lapack.each(layout, min(layout.shape[-2:]))


@GEQRF.run
def _geqrf(plan, input: Tensor):
    if recording(input):
        raise NotImplementedError("the derivative for 'geqrf' is not implemented.")
    return lapack.compute("qr", plan, "geqrf", input)


def householder_product(A, tau, *, out=None) -> Tensor:
    """The first columns of a product of Householder reflections: Q of what `geqrf` gives.

    Args:
        A: (*, m, n) with n <= m: the vectors, of each what is below the diagonal.
        tau: (*, k) with k <= n: their factors.
        out: a tensor to write the result to.

    Returns:
        (*, m, n).

    Raises:
        RuntimeError: shapes that do not fit, or dtypes that differ.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[3., 0.], [4., 5.]])
        >>> a, tau = torch.geqrf(x)
        >>> torch.allclose(torch.linalg.householder_product(a, tau) @ a.triu(), x, atol=1e-6)
        True
    """
    _check("linalg.householder_product", A, tau)
    m, n = A.layout.shape[-2:]
    if m < n:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if n < tau.layout.shape[-1]:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    v, t = _reflections(A, tau)
    return into(out, _identity(A, m, n) - v @ (t @ v[..., :n, :].mH))


@method
def orgqr(input, input2, *, out=None) -> Tensor:
    """`torch.linalg.householder_product` under its older name.

    Args:
        input: (*, m, n): the vectors.
        input2: (*, k): their factors.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.orgqr(torch.tensor([[0.], [1.]]), torch.tensor([1.]))
        tensor([[ 0.],
                [-1.]])
    """
    return householder_product(input, input2, out=out)


@method
def ormqr(input, tau, other, left: bool = True, transpose: bool = False, *, out=None) -> Tensor:
    """The square matrix Q, a product of Householder reflections, times another, without Q being written.

    Args:
        input: (*, m, k): the vectors, as `geqrf` gives them.
        tau: (*, min(m, k)): their factors.
        other: (*, m, n), or (*, n, m) where Q stands on the right.
        left: whether Q stands on the left.
        transpose: whether to take Q^H for Q.
        out: a tensor to write the result to.

    Returns:
        Of the shape of `other`.

    Raises:
        RuntimeError: shapes that do not fit, or dtypes that differ.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[3., 0.], [4., 5.]])
        >>> a, tau = torch.geqrf(x)
        >>> torch.allclose(torch.ormqr(a, tau, a.triu()), x, atol=1e-6)
        True
    """
    check_truths("ormqr", left=left, transpose=transpose)
    _check("ormqr", input, tau)
    if layout_of("ormqr", other, "other", 3).ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    m, side = input.layout.shape[-2], -2 if left else -1
    if other.layout.shape[side] != m:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau.layout.shape[-1] != min(m, input.layout.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if other.layout.shape[:-2] != input.layout.shape[:-2]:
        raise RuntimeError(f"torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got "
                           f"{list(other.layout.shape[:-2])}")
    if other.layout.dtype is not input.layout.dtype:
        raise RuntimeError(f"torch.ormqr: Expected input and other to have the same dtype, but input has dtype "
                           f"{input.layout.dtype.title} and other has dtype {other.layout.dtype.title}")
    v, t = _reflections(input, tau)
    t = t.mH if transpose else t
    return into_exactly("ormqr", out, other - (v @ (t @ (v.mH @ other)) if left else ((other @ v) @ t) @ v.mH))
