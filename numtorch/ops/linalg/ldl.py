"""Factorisations of symmetric and Hermitian indefinite matrices, by a kernel of our own (NumPy has none), and what they solve."""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...autograd.graph import GraphNode, recording
from ...dtypes import int32
from ...layout import Layout, broadcast_shapes, contiguous_format
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, new_plan_table
from ..index.triangles import tril
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import into, into_all
from ..shape.views import expand
from . import lapack

_LINALG_LDL_SOLVE = Primitive("linalg_ldl_solve")

Factors = namedtuple("linalg_ldl_factor", "LD pivots")
FactorsEx = namedtuple("linalg_ldl_factor_ex", "LD pivots info")
_plans = new_plan_table()


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
    return into_all(out, Factors(*ldl_factor_ex(A, hermitian=hermitian, check_errors=True)[:2]))


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
    lapack.matrices("ldl_factor_ex", A, square=True)
    if recording(A):
        raise NotImplementedError("the derivative for 'linalg_ldl_factor_ex' is not implemented.")
    layout, *batch = A.layout, *A.layout.shape[:-2]
    n = layout.shape[-1]
    ld = tril(A.detach())
    pivots, info = empty(Layout.of(int32, (*batch, n))), empty(Layout.of(int32, tuple(batch)))
    key = "factor", layout, bool(hermitian)
    plan = _plans.get(key) or _plans.keep(key, kernels(layout.device, "linalg.ldl").plan_ldl(
        layout.dtype.kernel, prod(batch), n, bool(hermitian)))
    plan.call(ld.address, pivots.address, info.address, plan.walk)
    if check_errors and bool((info > 0).any()):
        at = next(i for i in info.reshape(-1).tolist() if i)
        raise lapack.LinAlgError(f"linalg.ldl_factor: block {at} of D is zero and using it on ldl_solve would result in a division "
                                 f"by zero.")
    return into_all(out, FactorsEx(ld, pivots, info))


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
    if layout_of("linalg.ldl_solve", pivots, "pivots", 2).shape != LD.layout.shape[:-1]:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
                           f"shape {list(pivots.layout.shape)} instead")
    if pivots.layout.dtype.category != 1:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {pivots.layout.dtype.title}")
    if layout_of("linalg.ldl_solve", B, "B", 3).dtype is not LD.layout.dtype:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected LD and B to have the same dtype, but found LD of type "
                           f"{LD.layout.dtype.title} and B of type {B.layout.dtype.title} instead")
    n = LD.layout.shape[-1]
    if B.layout.ndim < 2 or B.layout.shape[-2] != n:
        raise RuntimeError(f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {n} by {n} but each b matrix "
                           f"is {' by '.join(map(str, B.layout.shape[-2:]))}")
    return into(out, _solved(LD, to_dtype(pivots, int32), B, bool(hermitian)))


def _solved(ld, pivots, b, hermitian):
    n, k = b.layout.shape[-2:]
    batch = broadcast_shapes(ld.layout.shape[:-2], b.layout.shape[:-2])
    factors, chosen = contiguous(expand(ld.detach(), (*batch, n, n))), contiguous(expand(pivots, (*batch, n)))
    _check_pivots(chosen, n)
    x = clone(expand(b.detach(), (*batch, n, k)), memory_format=contiguous_format)
    key = "solve", x.layout, hermitian
    plan = _plans.get(key) or _plans.keep(key, kernels(x.layout.device, "linalg.ldl").plan_ldl_solve(
        x.layout.dtype.kernel, prod(batch), n, k, hermitian))
    plan.call(factors.address, chosen.address, x.address, plan.walk)
    if recording(b):
        x.node = GraphNode(_LINALG_LDL_SOLVE, (b.node,), (ld, pivots), (b.layout.shape, hermitian))
    return x


def _check_pivots(pivots, n):
    """Raise for pivots with which the kernel would leave its memory: rows that there are not, and negative ones not in pairs."""
    for chosen in pivots.reshape(-1, n).tolist() if n else ():
        k = 0
        while k < n:
            rows = 1 if chosen[k] > 0 else 2
            if not 1 <= abs(chosen[k]) <= n or (rows == 2 and (k + 1 == n or chosen[k + 1] != chosen[k])):
                raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots between 1 and {n}, and negative ones in pairs, but "
                                   f"got {chosen}")
            k += rows


@_LINALG_LDL_SOLVE.derivative
def _vjp(node, grad):
    ld, pivots = node.tensors()
    shape, hermitian = node.attributes
    if not hermitian:                                    # A^-H is the conjugate of A^-1 where A is symmetric
        found = _solved(ld, pivots, grad.conj(), hermitian).conj()
    else:
        found = _solved(ld, pivots, grad, hermitian)
    return (found if found.layout.shape == shape else found.sum_to_size(*shape),)
