"""A few of the largest or smallest eigenpairs of large symmetric matrices, from products with them alone.

Knyazev, "Toward the optimal preconditioned eigensolver", 2001: each step finds the best combinations of what is held, its residuals
and the last step's directions. These are made orthonormal by the eigenvectors of their products (Stathopoulos and Wu 2002, SVQB),
twice, and what depends on the others is dropped, so that small steps do no harm.
"""
from __future__ import annotations

from itertools import count

from ...autograd.graph import GraphNode, attach_outputs, recording
from ...autograd.modes import no_grad
from ...dtypes import finfo
from ...tensor import Tensor, empty
from ..core.operands import layout_of
from ..core.primitive import Primitive
from ..core.status import has_values
from ..creation.fill import eye
from ..index.triangles import diag_embed
from ..random.draws import randn
from ..reduce.reductions import norm
from ..shape.join import cat, stack
from . import lapack
from .factorise import eigh
from .solve import solve

LOBPCG = Primitive("lobpcg", samples="T([[2, 1, 0], [1, 4, 1], [0, 1, 9]]), None, T[3, 1], None; 1, 1000, 1e-13, True")


def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues and their vectors of symmetric A, or of A x = e B x, by LOBPCG.

    First derivatives and higher ones are those of exact eigenpairs, finite where the eigenvalue is simple.

    Args:
        A: (*, m, m), symmetric and real.
        k: how many; as many as X has columns, or 1, when None.
        B: (*, m, m), symmetric positive definite; the identity when None.
        X: (*, m, n) vectors to start from, n at least k and at most m / 3; random ones when None.
        n: how many random ones; k when None.
        iK: (*, m, m), about the inverse of A: a preconditioner.
        niter: how many steps at most; 1000 when None, no limit when negative.
        tol: how large a residual may be relative to the norms of A and its vector, at least 10 epsilons of the dtype; the root of
            epsilon when None.
        largest: whether the largest are wanted (so when None), or the smallest.
        method, ortho_iparams, ortho_fparams, ortho_bparams: taken for PyTorch's sake.
        tracker: None; there is none here.

    Returns:
        (E, X): (*, k), the largest first (or the smallest), and (*, m, k) with X^T B X the identity.

    Raises:
        ValueError: m below 3 n, or fewer vectors than k.
        NotImplementedError: a tracker, complex matrices, or a gradient of B or iK, or of A beside B.

    Example:
        >>> import numtorch as torch
        >>> A = torch.diag(torch.arange(1., 13.))
        >>> E, X = torch.lobpcg(A, k=2)
        >>> E.round()
        tensor([12., 11.])
    """
    lapack.matrices("lobpcg", A, square=True)
    if tracker is not None:
        raise NotImplementedError("lobpcg: there is no tracker")
    for name, given in (("B", B), ("iK", iK)):
        if given is not None:
            layout_of("lobpcg", given, name)
    if recording(*[t for t in (B, iK) if t is not None]) or (B is not None and recording(A)):
        raise NotImplementedError("lobpcg: the derivative is implemented for A without B only")
    *batch, m, _ = A.layout.shape
    if X is not None:
        n = layout_of("lobpcg", X, "X", 4).shape[-1]
    k = (1 if X is None else n) if k is None else k
    n = k if n is None else n
    if m < 3 * n:
        raise ValueError(f"LPBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
                         f"requested eigenpairs (={n})")
    if not 0 < k <= n:
        raise ValueError(f"lobpcg: expected 1 <= k <= n, got k={k} and n={n}")
    eps = finfo(A.layout.dtype).eps
    tol = eps ** 0.5 if tol is None else max(tol, 10 * eps)                    # smaller residuals are rounding
    start = randn(*batch, m, n, dtype=A.layout.dtype, device=A.layout.device) if X is None else X
    return _eigenpairs(A, B, start, iK, k, 1000 if niter is None else niter, tol, largest is not False)


@LOBPCG.planned
def _plan(a, b, x, preconditioner, k, niter, tol, largest):
    lapack.check("lobpcg", a, square=True)
    if a.dtype.is_complex:
        raise NotImplementedError("lobpcg: complex matrices are not implemented")
    return lapack.each(a, k), lapack.each(a, a.shape[-1], k)


@LOBPCG.run
def _eigenpairs(plan, A: Tensor, B: Tensor | None, X: Tensor, iK: Tensor | None, k, niter, tol, largest):
    if not has_values(A):
        results = [empty(layout) for layout in plan]
    else:
        batch, steps = A.layout.shape[:-2], range(niter) if niter >= 0 else count()
        with no_grad():
            each = [t if t is None else t.expand(*batch, *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (A, B, iK, X)]
            pairs = [_pairs([None if t is None else t[i] for t in each], k, steps, tol, largest)
                     for i in range(each[0].layout.shape[0])]
            results = [stack(part).reshape(layout.shape) for part, layout in zip(zip(*pairs), plan)] if pairs else [
                empty(layout) for layout in plan]
    if recording(A):
        node = GraphNode(LOBPCG, (A.node, None, None, None), (A,), None, outputs=2)
        node.save_results(results)
        attach_outputs(node, results)
    return tuple(results)


def _pairs(given, k, steps, tol, largest):
    """Those of one matrix: of A, B, the preconditioner and the vectors to start from."""
    a, b, preconditioner, x = given

    def times_b(y):
        return y if b is None else b @ y

    def best(s, n):
        """The n wanted Rayleigh-Ritz values in a space, and how their vectors are made of its basis."""
        values, vectors = eigh(s.mT @ (a @ s))
        return (values.flip(0)[:n], vectors.flip(1)[:, :n]) if largest else (values[:n], vectors[:, :n])

    scale_a, scale_b = norm(a @ x) / norm(x), norm(times_b(x)) / norm(x)
    x = _orthonormal(x, times_b)
    n, moved = x.shape[1], None
    values, rotation = best(x, n)
    x = x @ rotation
    for _ in steps:
        rest = a @ x - times_b(x) * values
        errors = norm(rest, dim=0) / (norm(x, dim=0) * (scale_a + values.abs() * scale_b))
        if not bool((errors[:k] >= tol).any()):          # NaN where A and its values are 0
            break
        step = rest if preconditioner is None else preconditioner @ rest
        outside = step if moved is None else cat([step, moved], 1)
        for _ in range(2):                               # the second time takes away what rounding left
            outside = outside - x @ (x.mT @ times_b(outside))
            outside = _orthonormal(outside, times_b)
        if not outside.shape[1]:                         # the residuals are nothing but rounding
            break
        values, rotation = best(cat([x, outside], 1), n)
        moved = outside @ rotation[n:]
        x = x @ rotation[:n] + moved
    return values[:k], x[:, :k]


def _orthonormal(y, times_b):
    """A basis of what the columns span, orthonormal by B; shorter where they depend on each other."""
    product = y.mT @ times_b(y)
    size = product.diagonal().clamp(min=0).sqrt()
    y, size = y[:, size > 0], size[size > 0]
    if not y.shape[1]:
        return y
    y = y / size
    values, vectors = eigh(y.mT @ times_b(y))
    kept = values > values.max() * finfo(y.dtype).eps * y.shape[1]
    return (y @ vectors[:, kept]) / values[kept].sqrt()


@LOBPCG.derivative
def _vjp(node, grads, a, values, vectors):
    """X diag(gE) X^T - sum_i (A - e_i)^+ g_i x_i^T, the pseudo-inverses by systems bordered with the vectors."""
    by_values, by_vectors = grads
    by_a = 0 if by_values is None else vectors @ diag_embed(by_values) @ vectors.mT
    if by_vectors is not None:
        rows, by_rows = vectors.mT.unsqueeze(-2), by_vectors.mT.unsqueeze(-1)
        shifted = a.unsqueeze(-3) - values.unsqueeze(-1).unsqueeze(-1) * eye(
            a.layout.shape[-1], dtype=a.layout.dtype, device=a.layout.device)
        corner = by_rows[..., :1, :] * 0
        bordered = cat([cat([shifted, rows.mT], -1), cat([rows, corner], -1)], -2)
        by_a = by_a - (solve(bordered, cat([by_rows, corner], -2))[..., :-1, :] @ rows).sum(-3)
    return by_a, None, None, None
