"""Factorisations of symmetric and Hermitian indefinite matrices, by a kernel of our own (NumPy has none), and what they solve."""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...autograd.graph import recording
from ...dtypes import int32
from ...layout import broadcast_shapes, contiguous_format
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, expect_layout
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..core.status import has_values
from ..index.triangles import tril
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import into_all_exactly, into_exactly
from ..shape.views import expand
from . import lapack

LDL_FACTOR = Primitive("linalg_ldl_factor", samples="T([[2, 1], [1, 4]]); False")
LDL_SOLVE = Primitive("linalg_ldl_solve", samples="T([[2, 1], [1, 4]]), int32([1, 2]), T[2, 3]; False")

Factors = namedtuple("linalg_ldl_factor", "LD pivots")
FactorsEx = namedtuple("linalg_ldl_factor_ex", "LD pivots info")


def ldl_factor(A, *, hermitian: bool = False, out=None) -> Factors:
    """L and D of A = P L D L^T P^T in one tensor, and the rows that were exchanged, by Bunch and Kaufman: A may be indefinite.

    Args:
        A: (*, n, n), without a gradient, whose lower triangle is read.
        hermitian: whether complex A are Hermitian, so that L^H stands for L^T; else they are symmetric.
        out: a pair of tensors to write the results to.

    Returns:
        (LD, pivots), as LAPACK's sytrf has them: D's blocks on the diagonal and L below it, and (*, n) int32 counting rows from 1,
        both of a block of two rows negative.

    Raises:
        LinAlgError: a block of D is 0, so that the factors could not be used to solve.
        NotImplementedError: A requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> A = torch.tensor([[0., 2.], [2., 0.]])
        >>> LD, pivots = torch.linalg.ldl_factor(A)
        >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[4.], [2.]]))
        tensor([[1.],
                [2.]])
    """
    return into_all_exactly("ldl_factor", out, Factors(*ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2]))


def ldl_factor_ex(A, *, hermitian: bool = False, check_errors: bool = False, out=None) -> FactorsEx:
    """`ldl_factor` that does not raise: `info` says where it would have.

    Args:
        A, hermitian: as for `linalg.ldl_factor`.
        check_errors: whether to raise after all.
        out: three tensors to write the results to.

    Returns:
        (LD, pivots, info), `info` (*) int32: 0, or the number of the first block of D that is 0, from 1.

    Raises:
        LinAlgError: with `check_errors`, a block of D is 0.
        NotImplementedError: A requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.ldl_factor_ex(torch.zeros(2, 2)).info
        tensor(1, dtype=torch.int32)
    """
    check_truths("linalg.ldl_factor_ex", hermitian=hermitian, check_errors=check_errors)
    lapack.matrices("ldl_factor_ex", A, square=True)
    if recording(A):
        raise NotImplementedError("the derivative for 'linalg_ldl_factor_ex' is not implemented.")
    ld, pivots, info = _ldl_factor(A, hermitian)
    if check_errors and has_values(info) and bool((info > 0).any()):
        at = next(i for i in info.reshape(-1).tolist() if i)
        raise lapack.LinAlgError(f"linalg.ldl_factor: block {at} of D is zero and using it on ldl_solve would result in a division "
                                 f"by zero.")
    return into_all_exactly("ldl_factor_ex", out, FactorsEx(ld, pivots, info))


@LDL_FACTOR.planned
def _plan_ldl_factor(layout, hermitian):
    lapack.check("ldl_factor", layout, square=True)
    *batch, n, _ = layout.shape
    prepared = kernels(layout.device, "linalg.ldl").plan_ldl(layout.dtype.kernel, prod(batch), n, hermitian)
    return prepared, lapack.each(layout, n, dtype=int32), lapack.each(layout, dtype=int32)


@LDL_FACTOR.run
def _ldl_factor(plan, A: Tensor, hermitian: bool):
    prepared, *others = plan
    ld, pivots, info = tril(A.detach()), empty(others[0]), empty(others[1])
    prepared.call(ld.address, pivots.address, info.address, prepared.descriptor)
    return ld, pivots, info


def ldl_solve(LD, pivots, B, *, hermitian: bool = False, out=None) -> Tensor:
    """The X with A X = B, from what `ldl_factor` gives of A.

    Args:
        LD, pivots: (*, n, n), without a gradient, and (*, n).
        B: (*, n, k), its leading dimensions broadcast with those of LD.
        hermitian: as it was for `ldl_factor`.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: shapes that do not fit, or dtypes that differ.
        NotImplementedError: LD requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> factors = torch.linalg.ldl_factor(torch.tensor([[2., 0.], [0., -4.]]))
        >>> torch.linalg.ldl_solve(*factors, torch.tensor([[2.], [2.]]))
        tensor([[ 1.0000],
                [-0.5000]])
    """
    lapack.matrices("ldl_solve", LD, square=True)
    if recording(LD):
        raise NotImplementedError("the derivative for 'linalg_ldl_solve' is not implemented for LD, only for B.")
    if layout_of("linalg.ldl_solve", pivots, "pivots", 2).dtype.category != 1:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.layout.dtype.title}")
    return into_exactly("ldl_solve", out, _ldl_solve(LD, to_dtype(pivots, int32), B, hermitian))


@LDL_SOLVE.planned
def _plan_ldl_solve(ld, pivots, b, hermitian):
    lapack.check("ldl_solve", ld, square=True)
    if pivots.shape != ld.shape[:-1]:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
                           f"shape {list(pivots.shape)} instead")
    expect_layout("torch.linalg.ldl_solve", "pivots", pivots, None, int32)
    if b.dtype is not ld.dtype:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected LD and B to have the same dtype, but found LD of type "
                           f"{ld.dtype.title} and B of type {b.dtype.title} instead")
    n = ld.shape[-1]
    if b.ndim < 2 or b.shape[-2] != n:
        raise RuntimeError(f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {n} by {n} but each b matrix "
                           f"is {' by '.join(map(str, b.shape[-2:]))}")
    batch, device = broadcast_shapes(ld.shape[:-2], b.shape[:-2]), b.device
    return batch, kernels(device, "linalg.ldl").plan_ldl_solve(ld.dtype.kernel, prod(batch), n, b.shape[-1], hermitian)


@LDL_SOLVE.run
def _ldl_solve(plan, LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool):
    batch, prepared = plan
    n, k = B.layout.shape[-2:]
    factors, chosen = contiguous(expand(LD.detach(), (*batch, n, n))), contiguous(expand(pivots, (*batch, n)))
    _check_pivots(chosen, n)
    x = clone(expand(B.detach(), (*batch, n, k)), memory_format=contiguous_format)
    prepared.call(factors.address, chosen.address, x.address, prepared.descriptor)
    return LDL_SOLVE.recorded(x, (None, None, B), (LD, pivots), (B.layout.shape, hermitian))


def _check_pivots(pivots, n):
    """Raise for pivots with which the kernel would leave its memory: rows that there are not, and negative ones not in pairs."""
    for chosen in pivots.reshape(-1, n).tolist() if n and has_values(pivots) else ():
        k = 0
        while k < n:
            rows = 1 if chosen[k] > 0 else 2
            if not 1 <= abs(chosen[k]) <= n or (rows == 2 and (k + 1 == n or chosen[k + 1] != chosen[k])):
                raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots between 1 and {n}, and negative ones in pairs, but "
                                   f"got {chosen}")
            k += rows


@LDL_SOLVE.derivative
def _vjp(node, grad, ld, pivots):
    shape, hermitian = node.attributes
    if hermitian:
        by_b = _ldl_solve(ld, pivots, grad, hermitian)
    else:                                                # A^-H is the conjugate of A^-1 where A is symmetric
        by_b = _ldl_solve(ld, pivots, grad.conj(), hermitian).conj()
    return None, None, by_b if by_b.layout.shape == shape else by_b.sum_to_size(*shape)
