"""Divergences of distributions of two families: minus the entropy of p, less the mean of log q under p. Infinite where p has
numbers that q has not."""
from __future__ import annotations

import math

from ...ops.creation.fill import full_like
from ...ops.pointwise.functions import where
from ..bernoulli import Bernoulli, ContinuousBernoulli
from ..binomial import Binomial, Poisson
from ..dirichlet import Beta
from ..exponential import Exponential, Laplace
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..normal import Normal
from ..pareto import Pareto
from ..uniform import Uniform
from ..utils import euler_constant
from .registry import register_kl


def _infinite_like(tensor):
    return full_like(tensor, math.inf)


# Where p is, q is not: a parameter of p that has its shape.
for _kind, _parameter, _others in (
        (Beta, "concentration1", (Pareto,)),
        (ContinuousBernoulli, "probs", (Pareto,)),
        (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
        (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
        (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
        (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
        (Poisson, "rate", (Bernoulli, Binomial))):
    for _other in _others:
        register_kl(_kind, _other)(lambda p, q, name=_parameter: _infinite_like(getattr(p, name)))


def _against_normal(entropy, mean, variance, q):
    """By the first two moments of p."""
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * (variance + (mean - q.loc).square()) / q.scale.square() - entropy


def _against_gamma(entropy, mean, mean_log, q):
    return q.concentration.lgamma() - q.concentration * q.rate.log() - (q.concentration - 1) * mean_log + q.rate * mean - entropy


def _x_log_x(x):
    return x.xlogy(x)


# ---------------------------------------------------------------- counts
@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ---------------------------------------------------------------- on [0, 1]
@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    a = p.concentration1
    return _against_gamma(p.entropy(), p.mean, a.digamma() - (a + p.concentration0).digamma(), q)


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Exponential, Normal)
@register_kl(Uniform, Normal)
def _kl_by_moments_normal(p, q):
    return _against_normal(p.entropy(), p.mean, p.variance, q)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    return where((q.low > 0) | (q.high < 1), math.inf, -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    """Infinite as in PyTorch: for a uniform distribution that begins or ends where p does, too."""
    return where((q.low >= 0) | (q.high <= 1), math.inf, -p.entropy() + (q.high - q.low).log())


# ---------------------------------------------------------------- above 0
@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    return ratio + q.concentration * (euler_constant - ratio.log()) + q.concentration.lgamma() - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, place = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - place + place.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    a, product, place = p.concentration, p.rate * q.scale, q.loc / q.scale
    own = (a - 1) * a.digamma() - a.lgamma() - a
    return own + product.log() + a / product + place.exp() * (1 + product.reciprocal()).pow(-a) - place


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    product = p.scale * q.rate
    result = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    mean = p.alpha * p.scale / (p.alpha - 1)
    result = _against_gamma(p.entropy(), mean, p.scale.log() + p.alpha.reciprocal(), q)
    return where(p.alpha <= 1, math.inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    mean = p.alpha * p.scale / (p.alpha - 1)
    variance = p.alpha * (p.scale / (p.alpha - 1)).square() / (p.alpha - 2)
    return where(p.alpha <= 2, math.inf, _against_normal(p.entropy(), mean, variance, q))


# ---------------------------------------------------------------- on the whole line
@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    variance, between = (p.scale / q.scale).square(), (p.loc - q.loc) / q.scale
    return between + (0.5 * variance - between).exp() - 0.5 * variance.log() - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    distance = p.loc - q.loc
    z = distance / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.square()).exp() + distance * (math.sqrt(0.5) * z).erf()
    return mean_distance / q.scale - (p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))


# ---------------------------------------------------------------- from low to high
def _mean_log(low, high):
    """The mean of log(x) over an interval."""
    return (_x_log_x(high) - _x_log_x(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    result = (a.lgamma() + b.lgamma() - (a + b).lgamma() - p.entropy() - (a - 1) * _mean_log(p.low, p.high)
             - (b - 1) * _mean_log(1 - p.high, 1 - p.low))
    return where((p.high > 1) | (p.low < 0), math.inf, result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    """Infinite as in PyTorch: for a uniform distribution that begins or ends where q does, too."""
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return where((p.high >= 1) | (p.low <= 0), math.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    return where(p.low < 0, math.inf, q.rate * p.mean - ((p.high - p.low) * q.rate).log())


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    return where(p.low < 0, math.inf, _against_gamma(p.entropy(), p.mean, _mean_log(p.low, p.high), q))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    share, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return share.log() + 0.5 * (high + low) - share * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    result = (q.alpha + 1) * _mean_log(p.low, p.high) - (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    return where(p.low < q.scale, math.inf, result)
