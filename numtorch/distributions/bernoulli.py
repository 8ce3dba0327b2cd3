"""Bernoulli's distribution, and a continuous relative of it on [0, 1]."""
from __future__ import annotations

import math

from ..autograd.modes import no_grad
from ..nn.losses import binary_cross_entropy_with_logits
from ..ops.creation.fill import ones_like, zeros_like
from ..ops.pointwise.functions import where
from ..ops.random.draws import bernoulli, rand
from ..tensor import Tensor
from . import constraints
from .distribution import ExponentialFamily
from .probabilities import ByProbabilities
from .utils import broadcast_all, clamp_probs, holds, lazy_property, logits_to_probs

__all__ = ["Bernoulli", "ContinuousBernoulli"]


class Bernoulli(ByProbabilities, ExponentialFamily):
    """1 with probability `probs`, else 0.

    Args:
        probs: the probability of 1, in [0, 1].
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both, none, or a probability outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> coin = torch.distributions.Bernoulli(torch.tensor([0.25]))
        >>> coin.log_prob(torch.tensor([1.])).exp()
        tensor([0.2500])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        self._parametrise(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Bernoulli, _instance, batch_shape, ("probs", "logits"))

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        return self._counted(2, expand)

    @property
    def _natural_params(self):
        return (self.probs.logit(),)

    def _log_normalizer(self, x):
        return x.exp().log1p()


class ContinuousBernoulli(ByProbabilities, ExponentialFamily):
    """Numbers in [0, 1] of density proportional to probs ** x (1 - probs) ** (1 - x).

    Loaiza-Ganem and Cunningham, "The continuous Bernoulli: fixing a pervasive error in variational autoencoders", 2019. Around a
    probability of a half, where the formulas divide 0 by 0, their Taylor series is taken.

    Args:
        probs: in [0, 1], moved into (0, 1).
        logits: log(probs / (1 - probs)), in its place.
        lims: between which probabilities the series is taken.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both, none, or a probability outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.1, 0.5])).mean
        tensor([0.3301, 0.5000])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 lims: tuple[float, float] = (0.499, 0.501), validate_args: bool | None = None) -> None:
        self._parametrise(probs, logits)
        if probs is not None:
            if validate_args is not None and not holds(self.arg_constraints["probs"].check(self.probs)):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(ContinuousBernoulli, _instance, batch_shape, ("probs", "logits"), _lims=self._lims)

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _by(self, formula, series):
        """A formula of the probabilities, or near a half its series in their distance from it."""
        away = (self.probs <= self._lims[0]) | (self.probs > self._lims[1])
        return where(away, formula(where(away, self.probs, self._lims[0])), series(self.probs - 0.5))

    def _cont_bern_log_norm(self):
        def formula(p):
            below = p <= 0.5
            log_gap = where(below, (-2.0 * where(below, p, 0.0)).log1p(), (2.0 * where(below, 1.0, p) - 1.0).log())
            return ((-p).log1p() - p.log()).abs().log() - log_gap
        return self._by(formula, lambda d: math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * d * d) * d * d)

    @property
    def mean(self):
        return self._by(lambda p: p / (2.0 * p - 1.0) + 1.0 / ((-p).log1p() - p.log()),
                        lambda d: 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * d * d) * d)

    @property
    def variance(self):
        return self._by(lambda p: p * (p - 1.0) / (1.0 - 2.0 * p).square() + 1.0 / ((-p).log1p() - p.log()).square(),
                        lambda d: 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * d * d) * d * d)

    def rsample(self, sample_shape=()):
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value):
        self._validate(value)
        result = self._by(lambda p: (p.pow(value) * (1.0 - p).pow(1.0 - value) + p - 1.0) / (2.0 * p - 1.0), lambda d: value)
        return where(value <= 0.0, zeros_like(value), where(value >= 1.0, ones_like(value), result))

    def icdf(self, value):
        return self._by(lambda p: ((value * (2.0 * p - 1.0) - p).log1p() - (-p).log1p()) / (p.log() - (-p).log1p()),
                        lambda d: value)

    def entropy(self):
        log_probs0 = (-self.probs).log1p()
        return self.mean * (log_probs0 - self.probs.log()) - self._cont_bern_log_norm() - log_probs0

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        away = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        safe = where(away, x, self._lims[0] - 0.5)
        series = 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0
        return where(away, safe.expm1().abs().log() - safe.abs().log(), series)
