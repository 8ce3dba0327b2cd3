"""Systems with a triangular matrix, and those that a Cholesky factor makes two such of.

The kernel substitutes; derivatives are formulas of the same ops.
"""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...layout import broadcast_shapes, contiguous_format
from ...tensor import Tensor
from ..core.arguments import check_truths, expect_layout
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..creation.fill import eye
from ..index.triangles import tril, triu
from ..memory.copies import clone, contiguous
from ..memory.resize import into, into_all_exactly, into_exactly
from ..shape.views import expand
from . import lapack
from .solve import fitting

SOLVE_TRIANGULAR = Primitive("linalg_solve_triangular", samples="T([[2, 1], [0, 4]]), T[2, 3]; True, False")
SUBSTITUTE = Primitive("linalg_substitute_", samples="T[2, 3], T([[2, 1], [0, 4]]); True, False")

TriangularSolve = namedtuple("triangular_solve", "solution cloned_coefficient")


def solve_triangular(A, B, *, upper: bool, left: bool = True, unitriangular: bool = False, out=None) -> Tensor:
    """The X with A X = B (or X A = B), of the triangle of A that `upper` names.

    Args:
        A: (*, n, n), of which the other triangle is not read.
        B: (*, n, k), or (*, k, n) where not `left`.
        upper: the upper triangle, else the lower one.
        left: whether A stands on the left.
        unitriangular: whether A's diagonal is to be taken for ones.
        out: a tensor to write the result to.

    Returns:
        Of the shape of B, its leading dimensions broadcast with A's; infinite or NaN where an element of the diagonal is 0.

    Raises:
        RuntimeError: shapes that do not fit, or dtypes that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.solve_triangular(torch.tensor([[2., 1.], [0., 4.]]), torch.tensor([[4.], [8.]]), upper=True)
        tensor([[1.],
                [2.]])
    """
    check_truths("linalg.solve_triangular", upper=upper, left=left, unitriangular=unitriangular)
    lapack.matrices("solve_triangular", A, square=True)
    lapack.right_hand_side("solve_triangular", A, B)
    if B.layout.ndim < 2 or B.layout.shape[-2 if left else -1] != A.layout.shape[-1]:
        raise RuntimeError(f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
                           f"({A.layout.shape[-2]}x{A.layout.shape[-1]} and {'x'.join(map(str, B.layout.shape[-2:]))})")
    if left:
        return into_exactly("solve_triangular", out, _solved(A, B, bool(upper), bool(unitriangular)))
    return into_exactly("solve_triangular", out, _solved(A.mT, B.mT, not upper, bool(unitriangular)).mT)


@SOLVE_TRIANGULAR.planned
def _plan_solve(a, b, upper, unit):
    """The leading dimensions of the solution."""
    lapack.check("solve_triangular", a, square=True)
    if b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"linalg.solve_triangular: expected A of shape (*, n, n) and B of shape (*, n, k), got {list(a.shape)} "
                           f"and {list(b.shape)}")
    expect_layout("linalg.solve_triangular", "B", b, None, a.dtype)
    return broadcast_shapes(a.shape[:-2], b.shape[:-2])


@SOLVE_TRIANGULAR.run
def _solved(batch, A: Tensor, B: Tensor, upper, unit):
    x = B if B.layout.shape[:-2] == batch else expand(B, (*batch, *B.layout.shape[-2:]))
    x = clone(x if x.node is None else x.detach(), memory_format=contiguous_format)
    if x.layout.numel:
        _by_halves(A.detach() if A.node is not None else A, x, batch, upper, unit)
    return SOLVE_TRIANGULAR.recorded(x, (A, B), (A,), (A.layout.shape, B.layout.shape, upper, unit), saves_result=True)


def _by_halves(a, x, batch, upper, unit):
    """x becomes the solution: by substitution, or of one half of the rows and then of the other."""
    n = x.layout.shape[-2]
    if n > kernels(a.layout.device, "linalg.triangular").HALVED and x.layout.shape[-1] > 1:
        half = n // 2
        first, then = (slice(half, None), slice(half)) if upper else (slice(half), slice(half, None))
        _by_halves(a[..., first, first], x[..., first, :], batch, upper, unit)
        x[..., then, :].sub_(a[..., then, first] @ x[..., first, :])
        _by_halves(a[..., then, then], x[..., then, :], batch, upper, unit)
    elif _step(a.layout, batch) is None:
        _substitute(x, contiguous(expand(a, (*batch, n, n))), upper, unit)
    else:
        _substitute(x, a, upper, unit)


@SUBSTITUTE.planned
def _plan_substitute(x, a, upper, unit):
    lapack.check("substitute_", a, square=True)
    batch, (n, k) = x.shape[:-2], x.shape[-2:]
    expect_layout("linalg_substitute_", "A", a, (*a.shape[:-2], n, n), x.dtype)
    of_a, of_x = (_step(a, batch), *a.strides[-2:]), (_step(x, batch), x.strides[-2])
    return kernels(a.device, "linalg.triangular").plan_substitute(a.dtype.kernel, prod(batch), n, k, of_a, of_x, upper, unit)


@SUBSTITUTE.run
def _substitute(prepared, x: Tensor, a: Tensor, upper, unit):
    """In place, where a's matrices lie at one stride."""
    prepared.call(a.address, x.address, prepared.descriptor)


def _step(layout, batch):
    """How far apart a tensor's matrices lie, 0 where there is one for all; None where that is not one number."""
    sizes, strides = layout.shape[:-2], layout.strides[:-2]
    if prod(sizes) == 1:
        return 0
    if sizes != batch or any(s != n * t for s, n, t in zip(strides, sizes[1:], strides[1:])):
        return None
    return strides[-1]


@SOLVE_TRIANGULAR.derivative
def _vjp(node, grad, a, x):
    of_a, of_b, upper, unit = node.attributes
    by_b = solve_triangular(a.mH, grad, upper=not upper, unitriangular=unit)
    by_a = None
    if node.needs(0):
        by_a = fitting((triu if upper else tril)(-(by_b @ x.mH), (1 if upper else -1) if unit else 0), of_a)
    return by_a, fitting(by_b, of_b) if node.needs(1) else None


# ---------------------------------------------------------------- from Cholesky factors, and an older name

def cholesky_solve(input, input2, upper: bool = False, *, out=None) -> Tensor:
    """The X with A X = B, given A's Cholesky factor.

    Args:
        input: B, (*, n, k).
        input2: the factor L, (*, n, n), whose lower triangle is read.
        upper: whether it is the upper factor, L^H, whose upper triangle is read.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> A = torch.tensor([[4., 2.], [2., 5.]])
        >>> torch.cholesky_solve(torch.tensor([[8.], [12.]]), torch.linalg.cholesky(A))
        tensor([[1.],
                [2.]])
    """
    check_truths("cholesky_solve", upper=upper)
    layout_of("cholesky_solve", input2, "input2", 2)
    lower, above = (input2.mH, input2) if upper else (input2, input2.mH)
    return into(out, solve_triangular(above, solve_triangular(lower, input, upper=False), upper=True))


def cholesky_inverse(input, upper: bool = False, *, out=None) -> Tensor:
    """The inverse of A, given its Cholesky factor.

    Args:
        input: the factor L, (*, n, n), whose lower triangle is read.
        upper: whether it is the upper factor, L^H, whose upper triangle is read.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.cholesky_inverse(torch.tensor([[2., 0.], [0., 4.]]))
        tensor([[0.2500, 0.0000],
                [0.0000, 0.0625]])
    """
    check_truths("cholesky_inverse", upper=upper)
    layout = layout_of("cholesky_inverse", input)
    lower = input.mH if upper else input
    inverse = solve_triangular(lower, eye(layout.shape[-1], dtype=layout.dtype, device=layout.device), upper=False)
    return into(out, inverse.mH @ inverse)


def triangular_solve(input, A, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *,
                     out=None) -> TriangularSolve:
    """`torch.linalg.solve_triangular` under its older name, as (solution, cloned_coefficient), the latter a copy of A.

    Args:
        input: B, (*, n, k).
        A: (*, n, n).
        upper: the upper triangle, else the lower one.
        transpose: A^T X = B instead.
        unitriangular: whether A's diagonal is to be taken for ones.
        out: a pair of tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch.triangular_solve(torch.tensor([[4.], [8.]]), torch.tensor([[2., 1.], [0., 4.]])).solution
        tensor([[1.],
                [2.]])
    """
    check_truths("triangular_solve", upper=upper, transpose=transpose, unitriangular=unitriangular)
    if transpose:
        A, upper = A.mT, not upper
    result = TriangularSolve(solve_triangular(A, input, upper=upper, unitriangular=unitriangular), A.clone())
    return into_all_exactly("triangular_solve", out, result)


for _function in (cholesky_inverse, cholesky_solve, triangular_solve):
    method(_function)
