"""The exponential distribution, on one side (Exponential) and on both (Laplace)."""
from __future__ import annotations

from ..dtypes import finfo
from ..ops.creation.fill import zeros_like
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .utils import broadcast_all, drawn_like

__all__ = ["Exponential", "Laplace"]


class Exponential(ExponentialFamily):
    """Waiting times for events that come at a rate: density rate exp(-rate x).

    Args:
        rate: above 0; the mean is 1 / rate.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a rate that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Exponential(torch.tensor(2.)).mean
        tensor(0.5000)
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Exponential, _instance, batch_shape, ("rate",))

    @property
    def mean(self):
        return self.rate.reciprocal()

    @property
    def mode(self):
        return zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        return drawn_like(self.rate, self._extended_shape(sample_shape), "exponential", 1.0) / self.rate

    def log_prob(self, value):
        self._validate(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._validate(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -(-x).log()


class Laplace(Distribution):
    """Density exp(-|x - loc| / scale) / (2 scale).

    Args:
        loc: the mean.
        scale: the mean distance from it, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Laplace(torch.tensor(0.), 1.0).log_prob(torch.tensor(2.))
        tensor(-2.6931)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Laplace, _instance, batch_shape, ("loc", "scale"))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return 2 * self.scale.square()

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=()):
        u = drawn_like(self.loc, self._extended_shape(sample_shape), "uniform", finfo(self.loc.dtype).eps - 1, 1.0)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value):
        self._validate(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._validate(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value):
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()
