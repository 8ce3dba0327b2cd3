"""The normal distribution and what is made of it: its logarithm's, its absolute value's, and one on the simplex."""
from __future__ import annotations

import math

from ..ops.creation.fill import zeros_like
from ..ops.pointwise.functions import where
from ..tensor import Tensor
from . import constraints
from .distribution import ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, ExpTransform, StickBreakingTransform
from .utils import _standard_normal, broadcast_all

__all__ = ["HalfNormal", "LogNormal", "LogisticNormal", "Normal"]


class Normal(ExponentialFamily):
    """The normal (Gaussian) distribution.

    Args:
        loc: the mean.
        scale: the standard deviation, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0, or a mean that is NaN.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Normal(0.0, torch.tensor([1., 2.])).log_prob(torch.tensor(0.))
        tensor([-0.9189, -1.6121])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Normal, _instance, batch_shape, ("loc", "scale"))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale.square()

    def rsample(self, sample_shape=()):
        return self.loc + self.scale * _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)

    def log_prob(self, value):
        self._validate(value)
        return -(value - self.loc).square() / (2 * self.scale.square()) - self.scale.log() - 0.5 * math.log(2 * math.pi)

    def cdf(self, value):
        self._validate(value)
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())

    def icdf(self, value):
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self):
        precision = self.scale.square().reciprocal()
        return self.loc * precision, -0.5 * precision

    def _log_normalizer(self, x, y):
        return -0.25 * x.square() / y + 0.5 * (-math.pi / y).log()


class LogNormal(TransformedDistribution):
    """Positive numbers whose logarithm is normal.

    Args:
        loc, scale: mean and standard deviation of the logarithm.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.LogNormal(torch.tensor(0.), 1.0).mean
        tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(LogNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale.square() / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        square = self.scale.square()
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class HalfNormal(TransformedDistribution):
    """The absolute value of a normal number around 0.

    Args:
        scale: the standard deviation of that number, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.HalfNormal(torch.tensor(1.)).mean
        tensor(0.7979)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfNormal, _instance))

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the normal number."""
        return self.base_dist.scale

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self):
        return zeros_like(self.scale)

    @property
    def variance(self):
        return self.scale.square() * (1 - 2 / math.pi)

    def log_prob(self, value):
        self._validate(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._validate(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class LogisticNormal(TransformedDistribution):
    """K normal numbers, moved onto the simplex of K + 1 by breaking a stick.

    Args:
        loc, scale: mean and standard deviation of the normal numbers, (*, K).
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.LogisticNormal(torch.zeros(3), 1.0).sample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(LogisticNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The mean of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """Their standard deviation."""
        return self.base_dist.base_dist.scale
