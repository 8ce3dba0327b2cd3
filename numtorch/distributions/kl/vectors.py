"""Divergences of normal vectors, and of distributions made of others."""
from __future__ import annotations

from ...layout import broadcast_shapes
from ...ops.index.triangles import diag_embed
from ...ops.linalg.triangular import solve_triangular
from ..independent import Independent
from ..multivariate_normal import LowRankMultivariateNormal, MultivariateNormal, half_log_det, mahalanobis
from ..transformed_distribution import TransformedDistribution
from ..utils import _sum_rightmost
from .registry import kl_divergence, register_kl


def _squares(matrices):
    """The trace of X X^T."""
    return matrices.square().sum((-2, -1))


def _solved(factor, matrices):
    """L^-1 X, for batches that broadcast."""
    batch = broadcast_shapes(factor.shape[:-2], matrices.shape[:-2])
    return solve_triangular(factor.expand(batch + factor.shape[-2:]), matrices.expand(batch + matrices.shape[-2:]), upper=False)


def _check_events(p, q, kind):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {kind} Normals with different event shapes cannot be computed")


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "Multivariate")
    own, other = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    moments = _squares(_solved(other, own)) + mahalanobis(other, q.loc - p.loc)
    return half_log_det(other) - half_log_det(own) + 0.5 * (moments - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate")
    other = q._unbroadcasted_scale_tril
    trace = (_squares(_solved(other, p._unbroadcasted_cov_factor))
             + _squares(_solved(other, diag_embed(p._unbroadcasted_cov_diag.sqrt()))))
    return 0.5 * (2 * half_log_det(other) - p._log_det() + trace + mahalanobis(other, q.loc - p.loc) - p.event_shape[0])


def _against_low_rank(log_det, trace, p, q):
    """`trace(factor)` is that of X X^T for X = F times a factor of the covariance of p."""
    return 0.5 * (q._log_det() - log_det + trace + q._mahalanobis(q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "(Low Rank) Multivariate")
    own = p._unbroadcasted_scale_tril
    trace = _squares(own * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)) - _squares(q._whitened() @ own)
    return _against_low_rank(2 * half_log_det(own), trace, p, q)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _check_events(p, q, "Low Rank Multivariate")
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    other, whitened = q._unbroadcasted_cov_diag, q._whitened()
    trace = ((diagonal / other).sum(-1) + _squares(factor * other.rsqrt().unsqueeze(-1))
             - _squares(whitened * diagonal.sqrt().unsqueeze(-2)) - _squares(whitened @ factor))
    return _against_low_rank(p._log_det(), trace, p, q)


# ---------------------------------------------------------------- made of others
@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
