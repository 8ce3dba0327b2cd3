"""The uniform distribution, and Kumaraswamy's, which is made of it."""
from __future__ import annotations

import math

from ..ops.creation.fill import ones_like, zeros_like
from ..ops.pointwise.functions import where
from ..ops.random.draws import rand
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy", "Uniform"]


class Uniform(Distribution):
    """Numbers in [low, high), each as probable as the other.

    Args:
        low: the lower bound.
        high: the upper bound, above it.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: bounds that are not in order.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Uniform(torch.tensor(1.), 3.0).log_prob(torch.tensor(2.)).exp()
        tensor(0.5000)
    """

    has_rsample = True

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @property
    def arg_constraints(self):
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Uniform, _instance, batch_shape, ("low", "high"))

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return math.nan * self.high

    @property
    def stddev(self):
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        return (self.high - self.low).square() / 12

    def rsample(self, sample_shape=()):
        u = rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        self._validate(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value):
        self._validate(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Kumaraswamy(TransformedDistribution):
    """Numbers in [0, 1] much like those of Beta: (1 - u ** (1 / concentration0)) ** (1 / concentration1) of a uniform number u.

    Args:
        concentration1, concentration0: above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Kumaraswamy(torch.tensor(1.), 1.0).mean
        tensor(0.5000)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None) -> None:
        a, b = self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(Uniform(zeros_like(b), ones_like(b), validate_args=validate_args),
                         [PowerTransform(b.reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(a.reciprocal())],
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1, new.concentration0 = self.concentration1.expand(batch_shape), self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, new)

    def _moment(self, n):
        first, b = 1 + n / self.concentration1, self.concentration0
        return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return where((b < 1) | (a < 1), math.nan, log_mode).exp()

    @property
    def variance(self):
        return self._moment(2) - self.mean.square()

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * ((b + 1).digamma() + euler_constant) - a.log() - b.log()
