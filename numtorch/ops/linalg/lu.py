"""LU factorisations, by a kernel of our own (NumPy has none), and what they tell of singular matrices; the derivative is a formula
of triangular solves."""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...dtypes import int32, int64
from ...layout import Layout, broadcast_shapes
from ...tensor import Tensor, empty
from ..core.arguments import check_truths
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..core.status import has_values, run_finding
from ..creation.fill import eye, zeros
from ..index.gather_scatter import gather
from ..index.triangles import tril, triu
from ..memory.assign import filled
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import check_outs, into, into_all_exactly, into_exactly
from ..pointwise.functions import where
from ..shape.join import cat
from ..shape.slicing import narrow
from ..shape.views import expand, reshape
from . import lapack
from .solve import inv, solve
from .triangular import solve_triangular

LU_FACTOR = Primitive("linalg_lu_factor", samples="T[3, 3];")
LU_ORDER = Primitive("linalg_lu_order", samples="int32([2, 3, 3]); 3, True")

LU = namedtuple("linalg_lu", "P L U")
Factors = namedtuple("linalg_lu_factor", "LU pivots")
FactorsEx = namedtuple("linalg_lu_factor_ex", "LU pivots info")
Unpacked = namedtuple("lu_unpack", "P L U")
InverseEx = namedtuple("linalg_inv_ex", "inverse info")
SolveEx = namedtuple("linalg_solve_ex", "result info")


# ---------------------------------------------------------------- factors
def _factored(name, a, pivot):
    lapack.matrices(name, a)
    if not pivot:
        raise RuntimeError(f"linalg.{name}: LU without pivoting is not implemented on the CPU")
    return _lu_factor(a)


@LU_FACTOR.planned
def _plan_lu_factor(layout):
    lapack.check("lu_factor", layout)
    *batch, m, n = layout.shape
    prepared = kernels(layout.device, "linalg.lu").plan_factor(layout.dtype.kernel, prod(batch), m, n) if layout.numel else None
    return prepared, lapack.each(layout, min(m, n), dtype=int32), lapack.each(layout, dtype=int32)


@LU_FACTOR.run
def _lu_factor(plan, A: Tensor):
    """LU, the pivots, and the number of the first that is 0."""
    prepared, *others = plan
    lu, pivots, info = clone(contiguous(A.detach())), empty(others[0]), empty(others[1])
    if prepared is not None:
        prepared.call(lu.address, pivots.address, info.address, prepared.descriptor)
    else:
        info = filled(info.layout, 0)
    LU_FACTOR.recorded(lu, (A,), (pivots,), A.layout.shape[-2:], saves_result=True)
    return lu, pivots, info


@LU_FACTOR.derivative
def _vjp(node, grad, pivots, lu):
    """P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H for square ones; what lies beyond the square is solved for first."""
    m, n = node.attributes
    k = min(m, n)
    square = lu[..., :k, :k]
    lower, upper = tril(square, -1) + eye(k, dtype=lu.layout.dtype, device=lu.layout.device), triu(square)
    by_square, inner = grad[..., :k, :k], None
    left, right = lower.mH @ tril(by_square, -1), triu(by_square) @ upper.mH
    if m > n:
        below, by_below = lu[..., k:, :], grad[..., k:, :]
        right = right - below.mH @ by_below
    elif n > m:
        beyond, by_beyond = lu[..., :, k:], grad[..., :, k:]
        left = left - by_beyond @ beyond.mH
    inner = solve_triangular(lower.mH, tril(left, -1) + triu(right), upper=True, unitriangular=True)
    out = solve_triangular(upper.mH, inner, upper=False, left=False)
    if m > n:
        out = cat([out, solve_triangular(upper.mH, by_below, upper=False, left=False)], -2)
    elif n > m:
        out = cat([out, solve_triangular(lower.mH, by_beyond, upper=True, unitriangular=True)], -1)
    return (_exchanged(out, pivots, back=True),)


def _exchanged(x, pivots, back=False):
    """x with its rows in the order that the factors have (P^H x), or `back` in that of A (P x)."""
    if not layout_of("lu_unpack", pivots, "LU_pivots", 2).numel or not x.layout.numel:
        return x
    if not pivots.layout.ndim:
        raise _no_pivots(pivots.layout, x.layout.shape[-2])
    order = _order(contiguous(pivots), x.layout.shape[-2], back)
    shape = (*broadcast_shapes(order.layout.shape[:-2], x.layout.shape[:-2]), *x.layout.shape[-2:])
    return gather(expand(x, shape), -2, expand(order, shape))


def _no_pivots(layout, rows):
    return RuntimeError(f"expected pivots (*, n) of torch.int32, as torch.linalg.lu_factor gives them, no more than the {rows} "
                        f"rows, got {list(layout.shape)} of {layout.dtype}")


@LU_ORDER.planned
def _plan_order(layout, rows, back):
    *batch, exchanges = layout.shape
    if layout.dtype is not int32 or exchanges > rows:
        raise _no_pivots(layout, rows)
    prepared = kernels(layout.device, "linalg.lu").plan_order(layout.dtype.kernel, prod(batch), rows, exchanges, back)
    return prepared, Layout.of(int64, (*batch, rows, 1), None, layout.device)


@LU_ORDER.run
def _order(plan, pivots: Tensor, rows, back):
    """Where each row comes from once the exchanges are made, or `back`, undone."""
    prepared, layout = plan
    order = empty(layout)
    if run_finding(prepared, 1, pivots, order):
        raise RuntimeError(f"pivots passed to lu_unpack and lu_solve must be between 1 and LU.size(-2) = {rows} inclusive. Did you "
                           f"properly pass the result of lu_factor?")
    return order


def lu_factor(A, *, pivot: bool = True, out=None) -> Factors:
    """L and U of A = P L U in one tensor, without the ones on L's diagonal, and the rows that were exchanged.

    Args:
        A: (*, m, n).
        pivot: only True on the CPU.
        out: a pair of tensors to write the results to.

    Returns:
        (LU, pivots): (*, m, n), and (*, min(m, n)) int32 counting rows from 1.

    Raises:
        RuntimeError: a pivot is 0, so that the factors could not be used to solve.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 4.]])).LU
        tensor([[4.0000, 4.0000],
                [0.2500, 1.0000]])
    """
    lu, pivots, info = lu_factor_ex(A, pivot=pivot, check_errors=False)
    if not has_values(info):
        return into_all_exactly("lu_factor", out, Factors(lu, pivots))
    failed = info.tolist() if info.layout.ndim == 1 else reshape(info, info.layout.numel).tolist()
    at = next((i for i in failed if i), 0)
    if at:
        raise RuntimeError(f"torch.linalg.lu_factor: U[{at},{at}] is zero and using it on lu_solve would result in a division by "
                           f"zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
                           f"linalg.lu_factor_ex(A, pivot)")
    return into_all_exactly("lu_factor", out, Factors(lu, pivots))


def lu_factor_ex(A, *, pivot: bool = True, check_errors: bool = False, out=None) -> FactorsEx:
    """`lu_factor` that does not raise: `info` says where it would have.

    Args:
        A: (*, m, n).
        pivot: only True on the CPU.
        check_errors: whether to raise after all.
        out: three tensors to write the results to.

    Returns:
        (LU, pivots, info), `info` (*) int32: 0, or the number of the first pivot that is 0, from 1.

    Raises:
        LinAlgError: with `check_errors`, a pivot is 0.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.lu_factor_ex(torch.tensor([[1., 2.], [2., 4.]])).info
        tensor(2, dtype=torch.int32)
    """
    check_truths("linalg.lu_factor_ex", pivot=pivot, check_errors=check_errors)
    lu, pivots, info = _factored("lu_factor", A, pivot)
    if check_errors and has_values(info) and bool((info > 0).any()):
        raise lapack.LinAlgError("linalg.lu_factor_ex: a pivot is zero.")
    return into_all_exactly("lu_factor_ex", out, FactorsEx(lu, pivots, info))


def inv_ex(A, *, check_errors: bool = False, out=None) -> InverseEx:
    """The inverses of square matrices and, for each, whether there is one.

    Args:
        A: (*, n, n).
        check_errors: whether to raise where there is none.
        out: a pair of tensors to write the results to.

    Returns:
        (inverse, info): NaN for a singular matrix, and (*) int32: 0, or the number of its first pivot that is 0, from 1.

    Raises:
        LinAlgError: with `check_errors`, a matrix is singular.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.inv_ex(torch.tensor([[1., 2.], [2., 4.]])).info
        tensor(2, dtype=torch.int32)
    """
    check_truths("linalg.inv_ex", check_errors=check_errors)
    layout_of("linalg_inv_ex", A, "A")
    return into_all_exactly("inv_ex", out, InverseEx(*_with_info("inv_ex", inv, A, check_errors, 2)))


def solve_ex(A, B, *, left: bool = True, check_errors: bool = False, out=None) -> SolveEx:
    """`linalg.solve` and, for each matrix, whether it has a solution.

    Args:
        A, B, left: as for `linalg.solve`.
        check_errors: whether to raise where there is none.
        out: a pair of tensors to write the results to.

    Returns:
        (result, info): NaN for a singular matrix, and (*) int32: 0, or the number of its first pivot that is 0, from 1.

    Raises:
        LinAlgError: with `check_errors`, a matrix is singular.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.solve_ex(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 2.])).result
        tensor([1.0000, 0.5000])
    """
    check_truths("linalg.solve_ex", left=left, check_errors=check_errors)
    lapack.matrices("solve_ex", A, square=True)
    vector = layout_of("linalg_solve_ex", B, "B", 2).ndim == 1 or B.layout.shape == A.layout.shape[:-1]
    result = SolveEx(*_with_info("solve_ex", lambda a: solve(a, B, left=left), A, check_errors, 1 if vector else 2))
    return into_all_exactly("solve_ex", out, result)


def _with_info(name, function, A, check_errors, ndim):
    """A function of matrices, whose results have `ndim` dimensions each: NaN for singular ones."""
    if check_errors or A.layout.handler is None:         # a trace is run with matrices that may be others
        try:
            return function(A), zeros(A.layout.shape[:-2], dtype=int32, device=A.layout.device)
        except lapack.LinAlgError:
            if check_errors:
                at = next(i for i in reshape(lu_factor_ex(A.detach()).info, -1).tolist() if i)
                raise lapack.LinAlgError(f"linalg.{name}: The diagonal element {at} is zero, the inversion could not be completed "
                                         f"because the input matrix is singular.") from None
    info = lu_factor_ex(A.detach()).info
    singular = reshape(info > 0, (*info.layout.shape, 1, 1))
    result = function(where(singular, eye(A.layout.shape[-1], dtype=A.layout.dtype, device=A.layout.device), A))
    return where(singular if ndim == 2 else singular.squeeze(-1), float("nan"), result), info


def lu_unpack(LU_data, LU_pivots, unpack_data: bool = True, unpack_pivots: bool = True, *, out=None) -> Unpacked:
    """(P, L, U) of what `lu_factor` returns.

    Args:
        LU_data, LU_pivots: (*, m, n) and (*, min(m, n)) int32.
        unpack_data: False for an empty L and U.
        unpack_pivots: False for an empty P.
        out: three tensors to write the results to.

    Returns:
        (*, m, m), (*, m, k) and (*, k, n) with k = min(m, n).

    Example:
        >>> import numtorch as torch
        >>> factors = torch.linalg.lu_factor(torch.tensor([[1., 2.], [4., 4.]]))
        >>> torch.lu_unpack(*factors).L
        tensor([[1.0000, 0.0000],
                [0.2500, 1.0000]])
    """
    check_truths("lu_unpack", unpack_data=unpack_data, unpack_pivots=unpack_pivots)
    *batch, m, n = layout_of("lu_unpack", LU_data, "LU_data").shape
    k, kind = min(m, n), dict(dtype=LU_data.layout.dtype, device=LU_data.layout.device)
    if unpack_data:
        lower = tril(LU_data if n == k else narrow(LU_data, -1, 0, k), -1) + eye(m, k, **kind)
        upper = triu(LU_data if m == k else narrow(LU_data, -2, 0, k))
    else:
        lower = upper = zeros(0, **kind)
    if unpack_pivots:
        p = _exchanged(expand(eye(m, **kind), (*batch, m, m)), LU_pivots, back=True)
    else:
        p = zeros(0, **kind)
    return into_all_exactly("lu_unpack", out, Unpacked(p, lower, upper))


def lu(A, *, pivot: bool = True, out=None) -> LU:
    """The factorisation A = P L U into a permutation, a lower triangle with ones on its diagonal and an upper triangle.

    Args:
        A: (*, m, n).
        pivot: only True on the CPU.
        out: three tensors to write the results to.

    Returns:
        (P, L, U): (*, m, m), (*, m, k) and (*, k, n) with k = min(m, n).

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.lu(torch.tensor([[1., 2.], [4., 4.]])).U
        tensor([[4., 4.],
                [0., 1.]])
    """
    check_truths("linalg.lu", pivot=pivot)
    return into_all_exactly("lu", out, LU(*lu_unpack(*_factored("lu", A, pivot)[:2])))


def lu_solve(LU, pivots, B, *, left: bool = True, adjoint: bool = False, out=None) -> Tensor:
    """The X with A X = B (or X A = B, or with `adjoint` A^H in place of A), from what `lu_factor` gives of A.

    Args:
        LU, pivots: (*, n, n) and (*, n).
        B: (*, n, k), or (*, k, n) where not `left`.
        left, adjoint: which of the equations.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: pivots that are not int32 or count no row, shapes that do not fit, or dtypes that differ.

    Example:
        >>> import numtorch as torch
        >>> factors = torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]]))
        >>> torch.linalg.lu_solve(*factors, torch.tensor([[2.], [2.]]))
        tensor([[1.0000],
                [0.5000]])
    """
    check_truths("linalg.lu_solve", left=left, adjoint=adjoint)
    lapack.matrices("lu_solve", LU, square=True)
    if layout_of("linalg_lu_solve", pivots, "pivots", 2).dtype is not int32:
        raise RuntimeError(f"linalg.lu_solve: Expected pivots to be a Tensor of torch.int32. Got {pivots.layout.dtype.title}")
    if layout_of("linalg_lu_solve", B, "B", 3).dtype is not LU.layout.dtype:
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
                           f"{LU.layout.dtype.title} and B of type {B.layout.dtype.title} instead")
    if not left:                                         # X A = B is A^H X^H = B^H
        return into_exactly("lu_solve", out, lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH)
    n = LU.layout.shape[-1]
    if B.layout.ndim < 2 or B.layout.shape[-2] != n:
        raise RuntimeError(f"linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and "
                           f"{'x'.join(map(str, B.layout.shape[-2:]))})")
    if adjoint:
        inner = solve_triangular(LU.mH, B, upper=False)
        result = _exchanged(solve_triangular(LU.mH, inner, upper=True, unitriangular=True), pivots, back=True)
        return into_exactly("lu_solve", out, result)
    inner = solve_triangular(LU, _exchanged(B, pivots), upper=False, unitriangular=True)
    return into_exactly("lu_solve", out, solve_triangular(LU, inner, upper=True))


# ---------------------------------------------------------------- older names
def old_lu_solve(input, LU_data, LU_pivots, *, out=None) -> Tensor:
    """`torch.linalg.lu_solve` with the right-hand side first.

    Args:
        input: (*, n, k).
        LU_data, LU_pivots: (*, n, n) and (*, n), as `lu_factor` gives them.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> factors = torch.linalg.lu_factor(torch.tensor([[2., 0.], [0., 4.]]))
        >>> torch.tensor([[2.], [2.]]).lu_solve(*factors)
        tensor([[1.0000],
                [0.5000]])
    """
    return lu_solve(LU_data, LU_pivots, input, out=out)


def old_lu(A, pivot: bool = True, get_infos: bool = False, out=None) -> tuple[Tensor, ...]:
    """`torch.linalg.lu_factor_ex` under its older name: it does not raise where a pivot is 0.

    Args:
        A: (*, m, n).
        pivot: only True on the CPU.
        get_infos: whether to give `info` too.
        out: tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [4., 4.]]).lu()[0]
        tensor([[4.0000, 4.0000],
                [0.2500, 1.0000]])
    """
    check_truths("lu", pivot=pivot)
    results = tuple(lu_factor_ex(A, pivot=pivot))[:3 if get_infos else 2]
    if out is None:
        return results
    check_outs("lu", out, len(results))
    return tuple(into(o, to_dtype(r, o.layout.dtype)) for o, r in zip(out, results))


method(old_lu_solve, "lu_solve")
method(old_lu, "lu")
