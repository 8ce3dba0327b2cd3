"""The distributions of extreme values: Gumbel of largest ones, Weibull of smallest ones."""
from __future__ import annotations

import math

from ..dtypes import finfo
from ..ops.creation.fill import full_like, ones_like
from ..tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel", "Weibull"]


class Gumbel(TransformedDistribution):
    """Gumbel's distribution: loc - scale log(-log(u)) of a uniform number u.

    Args:
        loc: the mode.
        scale: above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Gumbel(torch.tensor(0.), 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        base = Uniform(full_like(self.loc, limits.tiny), full_like(self.loc, 1 - limits.eps), validate_args=validate_args)
        super().__init__(base, _twice_log(self.loc, self.scale), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Gumbel, _instance)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return super().expand(batch_shape, new)

    def log_prob(self, value):
        self._validate(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * euler_constant

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev.square()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


def _twice_log(loc, scale):
    """loc - scale log(-log(u))."""
    return [ExpTransform().inv, AffineTransform(0, -ones_like(scale)), ExpTransform().inv, AffineTransform(loc, -scale)]


class Weibull(TransformedDistribution):
    """Weibull's distribution: scale * x ** (1 / concentration) of an exponential number x.

    Args:
        scale: above 0.
        concentration: the shape, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Weibull(torch.tensor(1.), 2.0).mean
        tensor(0.8862)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(ones_like(self.scale), validate_args=validate_args),
                         [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)],
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Weibull, _instance)
        for name in ("scale", "concentration", "concentration_reciprocal"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return super().expand(batch_shape, new)

    def _moment(self, n):
        return (1 + n * self.concentration_reciprocal).lgamma().exp()

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration_reciprocal

    @property
    def variance(self):
        return self.scale.square() * (self._moment(2) - self._moment(1).square())

    def entropy(self):
        return euler_constant * (1 - self.concentration_reciprocal) + (self.scale * self.concentration_reciprocal).log() + 1
