"""Linear systems, inverses and determinants, by LAPACK's LU; derivatives are formulas of the same ops."""
from __future__ import annotations

from collections import namedtuple

from ...dtypes import bool_, finfo
from ...exchange.scalars import number
from ...layout import Layout, broadcast_shapes
from ...tensor import Tensor
from ..core.arguments import check_truths, expect_layout, real
from ..core.operands import method
from ..core.primitive import Primitive
from ..core.status import has_values
from ..creation.fill import eye, zeros_like
from ..index.triangles import tril, triu
from ..memory.resize import check_outs, into, into_all_exactly, into_exactly
from ..pointwise.complexparts import complex as complex_of
from ..pointwise.complexparts import imag
from ..pointwise.elementary import log
from ..pointwise.functions import where
from ..reduce.reductions import norm
from . import lapack
from .svd import svd

SOLVE = Primitive("linalg_solve", samples="T([[2, 1], [1, 4]]), T[2, 3];")
INV = Primitive("linalg_inv", samples="T([[2, 1], [1, 4]]);")
DET = Primitive("linalg_det", samples="T([[2, 1], [1, 4]]);")
SLOGDET = Primitive("linalg_slogdet", samples="T([[2, 1], [1, 4]]);")
COFACTORS = Primitive("linalg_cofactors", samples="T([[2, 1], [1, 4]]);")
COFACTORS_GRAD = Primitive("linalg_cofactors_grad")
PINV = Primitive("linalg_pinv", samples="T[3, 2]; None, None, False")

Slogdet = namedtuple("linalg_slogdet", "sign logabsdet")
Lstsq = namedtuple("linalg_lstsq", "solution residuals rank singular_values")


def fitting(x, shape):
    """A gradient summed to the shape that was broadcast."""
    return x if x.layout.shape == shape else x.sum_to_size(*shape)


# ---------------------------------------------------------------- systems
def solve(A, B, *, left: bool = True, out=None) -> Tensor:
    """The X with A X = B, by an LU factorisation.

    Args:
        A: (*, n, n).
        B: (*, n, k); or (n) or (*, n), one column a matrix.
        left: whether A stands on the left; else X A = B.
        out: a tensor to write the result to.

    Returns:
        Of the shape of B, its leading dimensions broadcast with A's.

    Raises:
        LinAlgError: a matrix is singular.
        RuntimeError: shapes that do not fit, or dtypes that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.solve(torch.tensor([[2., 0.], [0., 4.]]), torch.tensor([2., 2.]))
        tensor([1.0000, 0.5000])
    """
    check_truths("linalg.solve", left=left)
    lapack.matrices("solve", A, square=True)
    lapack.right_hand_side("solve", A, B)
    vector = B.layout.ndim == 1 or B.layout.shape == A.layout.shape[:-1]
    if vector:
        result = solve(A, B.unsqueeze(-1)).squeeze(-1) if left else solve(A.mT, B.unsqueeze(-1)).squeeze(-1)
        return into_exactly("solve", out, result)
    if not left:
        return into_exactly("solve", out, solve(A.mT, B.mT).mT)
    return into_exactly("solve", out, _solve(A, B))


@SOLVE.planned
def _plan_solve(a, b):
    lapack.check("solve", a, square=True)
    expect_layout("linalg.solve", "B", b, None, a.dtype)
    if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        raise RuntimeError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B ({a.shape[-2]}x{a.shape[-1]} and "
                           f"{b.shape[-2] if b.ndim > 1 else 0}x{b.shape[-1]})")
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (Layout.of(a.dtype, (*batch, *b.shape[-2:]), None, a.device),)


@SOLVE.run
def _solve(plan, A: Tensor, B: Tensor):
    result, = lapack.compute("solve", plan, "solve", A, B, batch=plan[0].shape[:-2])
    return SOLVE.recorded(result, (A, B), (A,), (A.layout.shape, B.layout.shape), saves_result=True)


@SOLVE.derivative
def _solve_vjp(node, grad, a, x):
    by_b = solve(a.mH, grad)
    return (fitting(-(by_b @ x.mH), node.attributes[0]) if node.needs(0) else None,
            fitting(by_b, node.attributes[1]) if node.needs(1) else None)


def inv(A, *, out=None) -> Tensor:
    """The inverses of square matrices.

    Args:
        A: (*, n, n).
        out: a tensor to write the result to.

    Raises:
        LinAlgError: a matrix is singular.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.inv(torch.tensor([[2., 0.], [0., 4.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return into_exactly("inv", out, _inv(A))


@INV.planned
def _plan_inv(layout):
    lapack.check("inv", layout, square=True)
    return (layout.dense(),)


@INV.run
def _inv(plan, A: Tensor):
    return lapack.record(INV, A, lapack.compute("inv", plan, "inv", A))[0]


@INV.derivative
def _inv_vjp(node, grad, inverse):
    adjoint = inverse.mH
    return (-(adjoint @ grad @ adjoint),)


# ---------------------------------------------------------------- determinants
def det(A, *, out=None) -> Tensor:
    """The determinants of square matrices.

    Args:
        A: (*, n, n).
        out: a tensor to write the result to.

    Returns:
        (*)

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.det(torch.tensor([[2., 1.], [0., 4.]]))
        tensor(8.)
    """
    return into_exactly("det", out, _det(A))


@DET.planned
def _plan_det(layout):
    lapack.check("det", layout, square=True)
    return (lapack.each(layout),)


@DET.run
def _det(plan, A: Tensor):
    result, = lapack.compute("det", plan, "det", A)
    return DET.recorded(result, (A,), (A,), saves_result=True)


@DET.derivative
def _det_vjp(node, grad, a, value):
    if not has_values(value) or bool((value.detach() != 0).all()):
        return ((grad * value.conj()).unsqueeze(-1).unsqueeze(-1) * inv(a).mH,)
    return (grad.unsqueeze(-1).unsqueeze(-1) * _cofactors(a),)


@COFACTORS.composed
def _cofactors(a: Tensor):
    """The conjugates of the gradient of det, which exist where no inverse does: by singular values and vectors."""
    u, s, vh = svd(a.detach())
    n = s.layout.shape[-1]
    others = where(eye(n, dtype=bool_, device=s.layout.device), 1.0, s.unsqueeze(-2)).prod(-1)
    result = (det(u) * det(vh)).unsqueeze(-1).unsqueeze(-1) * ((u * others.unsqueeze(-2)) @ vh)
    return COFACTORS.recorded(result, (a,), (a, u, s, vh))


@COFACTORS.derivative
def _cofactors_vjp(node, grad, a, u, s, vh):
    """det's second derivative at U S V^H, in the basis of the singular vectors: with P[i, j] the product of all singular values but
    i and j, that of diagonal elements i and j is P[i, j], that of elements [i, j] and [j, i] is -P[i, j]; all others are 0."""
    u = u + COFACTORS_GRAD.function(a)                   # they are constants as far as the tape knows
    n = s.layout.shape[-1]
    one = eye(n, dtype=bool_, device=s.layout.device)
    pairs = where(one, 0.0, where(one.unsqueeze(-2) | one.unsqueeze(-3), 1.0, s.unsqueeze(-2).unsqueeze(-2)).prod(-1))
    inner = u.mH @ grad @ vh.mH
    diagonal = pairs.to(inner.dtype) @ inner.diagonal(0, -2, -1).unsqueeze(-1)
    inner = where(one, diagonal, -pairs * inner.mT).conj()
    return ((det(u) * det(vh)).unsqueeze(-1).unsqueeze(-1) * (u @ inner @ vh),)


@COFACTORS_GRAD.composed
def _end(a: Tensor):
    """Zeros, of which no derivative goes on."""
    return COFACTORS_GRAD.recorded(zeros_like(a.detach()), (a,), ())


@COFACTORS_GRAD.derivative
def _no_further(node, grad):
    raise NotImplementedError("linalg.det: derivatives of singular matrices are there up to the second")


def slogdet(A, *, out=None) -> Slogdet:
    """The sign (of complex matrices, the phase) of determinants, and the logarithm of their absolute values.

    Args:
        A: (*, n, n).
        out: a pair of tensors to write the results to.

    Returns:
        (sign, logabsdet), each (*); 0 and -inf of a singular matrix.

    Example:
        >>> import numtorch as torch
        >>> sign, size = torch.linalg.slogdet(torch.tensor([[2., 0.], [0., -4.]]))
        >>> sign, size.exp()
        (tensor(-1.), tensor(8.))
    """
    return into_all_exactly("slogdet", out, Slogdet(*_slogdet(A)))


@SLOGDET.planned
def _plan_slogdet(layout):
    lapack.check("slogdet", layout, square=True)
    return lapack.each(layout), lapack.each(layout, dtype=layout.dtype.to_real())


@SLOGDET.run
def _slogdet(plan, A: Tensor):
    return lapack.record(SLOGDET, A, lapack.compute("slogdet", plan, "slogdet", A), saved=(A,))


@SLOGDET.derivative
def _slogdet_vjp(node, grads, a, sign, size):
    by_sign, by_size = grads
    by_size = size * 0 if by_size is None else by_size
    if a.layout.dtype.is_complex:
        turn = size * 0 if by_sign is None else -imag(by_sign.conj() * sign)
        by_size = complex_of(by_size, turn)
    return (by_size.unsqueeze(-1).unsqueeze(-1) * inv(a).mH,)


@method
def logdet(input) -> Tensor:
    """The logarithms of the determinants of square matrices; NaN for a negative one, -inf for 0.

    Args:
        input: (*, n, n).

    Example:
        >>> import numtorch as torch
        >>> torch.logdet(torch.tensor([[2., 0.], [0., 4.]]))
        tensor(2.0794)
    """
    sign, size = slogdet(input)
    return size + log(sign)


# ---------------------------------------------------------------- least squares
def pinv(A, rcond=None, *, atol=None, rtol=None, hermitian: bool = False, out=None) -> Tensor:
    """Moore and Penrose's inverses of matrices, by their singular values.

    Args:
        A: (*, m, n).
        rcond: an older name of rtol.
        atol, rtol: singular values up to max(atol, rtol * the largest) count as 0; rtol is max(m, n) times the dtype's epsilon
            where neither is given.
        hermitian: whether A is Hermitian: then only its lower triangle is read.
        out: a tensor to write the result to.

    Returns:
        (*, n, m).

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.pinv(torch.tensor([[2., 0.], [0., 0.]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    check_truths("linalg.pinv", hermitian=hermitian)
    lapack.matrices("pinv", A, square=hermitian)
    atol, rtol = [t if t is None or isinstance(t, Tensor) else number(float(real("linalg.pinv", argument, t)))
                  for argument, t in (("atol", atol), ("rtol", rcond if rtol is None else rtol))]
    return into(out, _pinv(A, atol, rtol, hermitian)[0])


@PINV.composed
def _pinv(A: Tensor, atol: Tensor | None, rtol: Tensor | None, hermitian=False):
    """The inverse, the singular values, and which of them count."""
    whole = A.detach()
    if hermitian:
        half = tril(whole) - 0.5 * tril(triu(whole))     # of the diagonal the real part counts
        whole = half + half.mH
    u, s, vh = svd(whole, False)
    keep = s > tolerance(A, s, atol, rtol)
    result = (vh.mH * where(keep, 1 / s, 0.0).unsqueeze(-2)) @ u.mH
    PINV.recorded(result, (A,), (A,), saves_result=True)
    return result, s, keep


def tolerance(A, s, atol, rtol):
    """Up to where singular values count as 0, as PyTorch has it: (*, 1)."""
    if rtol is None:
        rtol = max(A.layout.shape[-2:]) * finfo(s.layout.dtype).eps
        if isinstance(atol, Tensor) and not atol.layout.weak:
            rtol = where(atol > 0, 0.0, rtol)
        elif atol is not None and float(atol) > 0:
            rtol = 0.0
    largest = s.narrow(-1, 0, 1) if s.layout.shape[-1] else s.new_zeros((*s.layout.shape[:-1], 1))
    if atol is None and not isinstance(rtol, Tensor):
        return largest * rtol
    atol, rtol = (0.0 if t is None else t.unsqueeze(-1) if isinstance(t, Tensor) and t.layout.ndim else t for t in (atol, rtol))
    relative = rtol * largest
    return where(relative < atol, atol, relative)


@PINV.derivative
def _pinv_vjp(node, grad, a, p):
    ph, gh = p.mH, grad.mH
    if a.layout.shape[-2] <= a.layout.shape[-1]:
        k = gh @ p
        kph = k @ ph
        return (-(p @ k).mH + kph - (a @ p) @ kph + (ph @ p) @ (gh - k @ a),)
    k = p @ gh
    phk = ph @ k
    return (-(k @ p).mH + (gh - a @ k) @ p @ ph + phk - (phk @ p) @ a,)


def _bound(driver, rcond, kind):
    """The relative bound of singular values as LAPACK's routine takes it: "gels" takes A to be of full rank, "gelsy" keeps the
    largest one, and to "gelsd" a bound of 1 is none."""
    if driver == "gels":
        return None
    if rcond < 1 or driver == "gelss":
        return rcond
    return 1 - finfo(kind).eps if driver == "gelsy" else finfo(kind).eps


def lstsq(A, B, rcond=None, *, driver=None, out=None) -> Lstsq:
    """The X that makes the norm of A X - B least, and of those the least, by the singular values of A.

    Args:
        A: (*, m, n).
        B: (*, m, k).
        rcond: singular values up to rcond times the largest count as 0; max(m, n) times the dtype's epsilon when None. "gels"
            takes A to be of full rank.
        driver: LAPACK's routine "gelsy" (also when None), "gels", "gelss" or "gelsd": it decides what comes with the solution.
        out: a tuple of four tensors to write the results to.

    Returns:
        solution (*, n, k), residuals (*, k), rank (*), singular_values (*, min(m, n)). Residuals are empty with "gelsy", where
        m <= n, or where A lacks full rank; the rank is empty with "gels", singular values with it and "gelsy".

    Raises:
        RuntimeError: another driver.

    Example:
        >>> import numtorch as torch
        >>> A = torch.tensor([[1., 0.], [0., 2.], [0., 0.]])
        >>> torch.linalg.lstsq(A, torch.tensor([[1.], [4.], [3.]])).solution
        tensor([[1.],
                [2.]])
    """
    lapack.matrices("lstsq", A)
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}")
    rows, columns = A.layout.shape[-2:]
    if rcond is not None:
        rcond = _bound(driver, real("linalg.lstsq", "rcond", rcond), A.layout.dtype)
    inverse, s, keep = _pinv(A, None, rcond)
    solution, rank = inverse @ B, keep.sum(-1)
    result = A.new_empty((0,), dtype=s.layout.dtype)
    if driver != "gelsy" and rows > columns and (not has_values(rank) or (rank == columns).all()):
        rest = norm(A @ solution - B, 2, -2)
        result = rest * rest
    solved = Lstsq(solution, result, rank.new_empty((0,)) if driver == "gels" else rank,
                   s if driver in ("gelss", "gelsd") else s.new_empty((0,)))
    if out is None:
        return solved
    check_outs("lstsq", out, len(solved))
    return Lstsq(*[into(o, r) for o, r in zip(out[:2], solved)],
                 *[into_exactly("lstsq", o, r) for o, r in zip(out[2:], solved[2:])])


# ---------------------------------------------------------------- PyTorch's older names
def old_det(input) -> Tensor:
    """`torch.linalg.det` under its older name.

    Args:
        input: (*, n, n).

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[2., 1.], [0., 4.]]).det()
        tensor(8.)
    """
    return det(input)


def old_slogdet(input, *, out=None) -> Slogdet:
    """`torch.linalg.slogdet` under its older name.

    Args:
        input: (*, n, n).
        out: a pair of tensors to write the results to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[2., 0.], [0., -4.]]).slogdet().sign
        tensor(-1.)
    """
    return slogdet(input, out=out)


method(old_det, "det")
method(old_slogdet, "slogdet")


@method
def inverse(input, *, out=None) -> Tensor:
    """`torch.linalg.inv` under its older name.

    Args:
        input: (*, n, n).
        out: a tensor to write the result to.

    Raises:
        LinAlgError: a matrix is singular.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[2., 0.], [0., 4.]]).inverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    return inv(input, out=out)


@method
def pinverse(input, rcond: float = 1e-15) -> Tensor:
    """`torch.linalg.pinv` under its older name.

    Args:
        input: (*, m, n).
        rcond: singular values up to this times the largest count as 0.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[2., 0.], [0., 0.]]).pinverse()
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    return pinv(input, rcond)
