"""Pareto's distribution, and the generalised one of what exceeds a threshold."""
from __future__ import annotations

import math

from ..ops.creation.fill import full_like
from ..ops.pointwise.functions import where
from ..ops.random.draws import rand
from ..ops.reduce.query import isclose
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

__all__ = ["GeneralizedPareto", "Pareto"]


class Pareto(TransformedDistribution):
    """Numbers above `scale` of density proportional to x ** (-alpha - 1).

    Args:
        scale: the least number, above 0.
        alpha: above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Pareto(torch.tensor(1.), 2.0).mean
        tensor(2.)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args=validate_args), [ExpTransform(), AffineTransform(0, self.scale)],
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Pareto, _instance)
        new.scale, new.alpha = self.scale.expand(batch_shape), self.alpha.expand(batch_shape)
        return super().expand(batch_shape, new)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.square() * a / ((a - 1).square() * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class GeneralizedPareto(Distribution):
    """What exceeds a threshold: 1 - cdf = (1 + concentration z) ** (-1 / concentration) of z = (x - loc) / scale.

    Exponential for a concentration of 0, bounded above for negative ones.

    Args:
        loc: the threshold.
        scale: above 0.
        concentration: the shape.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, torch.tensor([0., 0.5])).mean
        tensor([1., 2.])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, concentration: Tensor | float,
                 validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(GeneralizedPareto, _instance, batch_shape, ("loc", "scale", "concentration"))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def _by(self, exponential, slope, formula):
        """A formula of the concentration, or around 0 the line of what the exponential distribution has there."""
        c = self.concentration
        zero = isclose(c, full_like(c, 0.0))
        return where(zero, exponential + c * slope, formula(where(zero, 1.0, c)))

    def _z(self, x):
        return (x - self.loc) / self.scale

    @property
    def mean(self):
        valid = self.concentration < 1
        return where(valid, self.loc + self.scale / (1 - where(valid, self.concentration, 0.5)), math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        valid = self.concentration < 0.5
        c = where(valid, self.concentration, 0.25)
        return where(valid, self.scale.square() / ((1 - c).square() * (1 - 2 * c)), math.nan)

    def rsample(self, sample_shape=()):
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value):
        self._validate(value)
        z = self._z(value)

        def formula(c):
            power = 1 / c + 1
            return where(power == 0, 0.0, power * (c * z).log1p())     # uniform, for a concentration of -1
        return -self.scale.log() - self._by(z, z - z.square() / 2, formula)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of what is above a value.

        Args:
            value: of a shape that broadcasts with `batch_shape`.
        """
        self._validate(value)
        z = self._z(value)
        return self._by(-z, z.square() / 2, lambda c: -(c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`.

        Args:
            value: of a shape that broadcasts with `batch_shape`.
        """
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def icdf(self, value):
        log_above = (-value).log1p()
        return self.loc + self.scale * self._by(-log_above, log_above.square() / 2, lambda c: (-c * log_above).expm1() / c)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
