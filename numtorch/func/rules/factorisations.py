"""Batching rules of what takes batches of matrices or rows as they come: samples are further ones in front."""
from __future__ import annotations

from ..batching import aligned, rule
from .sizes import all_batched, call


def _in_front(level, primitive, values, has, attributes):
    return call(primitive, values, attributes)


rule("linalg_inv", "linalg_det", "linalg_slogdet", "linalg_cholesky", "linalg_cholesky_info", "linalg_qr", "linalg_eigh",
     "linalg_eigvalsh", "linalg_eig", "linalg_eigvals", "linalg_svd", "linalg_svdvals", "linalg_lu_factor", "linalg_lu_order",
     "linalg_ldl_factor", "linalg_cofactors", "linalg_cofactors_grad", "geqrf")(_in_front)


@rule("linalg_pinv")
def pinv(level, primitive, values, has, attributes):
    """The tolerances are broadcast with the matrices' leading dimensions."""
    a, *limits = values
    a = a if has[0] else level.all_samples(a)
    ndim = max([a.layout.ndim - 3, *[t.layout.ndim - h for t, h in zip(limits, has[1:]) if t is not None]])
    limits = [aligned(t, ndim) if h else t for t, h in zip(limits, has[1:])]
    return call(primitive, (aligned(a, ndim + 2), *limits), attributes)


@rule("complex", "frexp", "nextafter", "_standard_gamma_grad", "_dirichlet_grad")
def elementwise(level, primitive, values, has, attributes):
    ndim = max(v.layout.ndim - h for v, h in zip(values, has))
    return call(primitive, [aligned(v, ndim) if h else v for v, h in zip(values, has)])


@rule("linalg_ldl_solve")
def ldl_solve(level, primitive, values, has, attributes):
    """The pivots have a dimension less than the factors, and B's leading dimensions are broadcast with those of both."""
    ld, pivots, b = all_batched(level, values, has)
    ndim = max(ld.layout.ndim, b.layout.ndim) - 1
    return call(primitive, (aligned(ld, ndim), aligned(pivots, ndim - 1), aligned(b, ndim)), attributes)


@rule("linalg_solve_triangular")
def solve_triangular(level, primitive, values, has, attributes):
    a, b = all_batched(level, values, has)
    ndim = max(a.layout.ndim, b.layout.ndim) - 1
    return call(primitive, (aligned(a, ndim), aligned(b, ndim)), attributes)


@rule("linalg_solve")
def solve(level, primitive, values, has, attributes):
    """What is solved for is a vector where it has a dimension less than the matrices."""
    a, b = all_batched(level, values, has)
    if b.layout.ndim == a.layout.ndim - 1:
        return call(primitive, (a, b.unsqueeze(-1)), attributes).squeeze(-1)
    ndim = max(a.layout.ndim, b.layout.ndim) - 1
    return call(primitive, (aligned(a, ndim), aligned(b, ndim)), attributes)


@rule("fft_c2c", "fft_r2c", "fft_c2r")
def transform(level, primitive, values, has, attributes):
    value, (dims, *rest) = values[0], attributes
    ndim = value.layout.ndim - 1
    behind = tuple([d if d < 0 else d + 1 for d in dims])
    return call(primitive, (value,), (behind if ndim else dims, *rest))
