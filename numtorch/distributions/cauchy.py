"""Distributions with long tails around a place: Cauchy, the absolute value of it, and Student's t."""
from __future__ import annotations

import math

from ..ops.creation.data import as_tensor
from ..ops.creation.fill import full, zeros_like
from ..ops.pointwise.functions import where
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Chi2
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import _standard_normal, broadcast_all, drawn_like

__all__ = ["Cauchy", "HalfCauchy", "StudentT"]


def _everywhere(law, value):
    return full(law._extended_shape(), value, dtype=law.scale.dtype, device=law.scale.device)


class Cauchy(Distribution):
    """Cauchy's distribution, which has no mean.

    Args:
        loc: the median.
        scale: half of the width at half of the height, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Cauchy(torch.tensor(0.), 1.0).cdf(torch.tensor(1.))
        tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Cauchy, _instance, batch_shape, ("loc", "scale"))

    @property
    def mean(self):
        return _everywhere(self, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return _everywhere(self, math.inf)

    def rsample(self, sample_shape=()):
        angles = (drawn_like(self.loc, self._extended_shape(sample_shape), "uniform", 0.0, 1.0) - 0.5) * math.pi
        return self.loc + self.scale * angles.tan()

    def log_prob(self, value):
        self._validate(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value):
        self._validate(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(TransformedDistribution):
    """The absolute value of a Cauchy number around 0.

    Args:
        scale: of that number, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a scale that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.HalfCauchy(torch.tensor(1.)).cdf(torch.tensor(1.))
        tensor(0.5000)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the Cauchy number."""
        return self.base_dist.scale

    @property
    def mean(self):
        return _everywhere(self, math.inf)

    @property
    def mode(self):
        return zeros_like(self.scale)

    @property
    def variance(self):
        return self.base_dist.variance

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        self._validate(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._validate(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class StudentT(Distribution):
    """Student's t: a normal number over the root of a chi-squared one and its degrees of freedom.

    Args:
        df: the degrees of freedom, above 0.
        loc: the place, 0 by default.
        scale: the width, above 0; 1 by default.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.StudentT(torch.tensor([1., 4.])).variance
        tensor([nan, 2.])
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Tensor | float, loc: Tensor | float = 0.0, scale: Tensor | float = 1.0,
                 validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)
        self._chi2 = Chi2(self.df)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(StudentT, _instance, batch_shape, ("df", "loc", "scale"), _chi2=self._chi2.expand(batch_shape))

    @property
    def mean(self):
        return where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = self.df > 2
        df = where(finite, self.df, 3.0)
        return where(finite, self.scale.square() * df / (df - 2), where(self.df > 1, math.inf, math.nan).to(self.df.dtype))

    def rsample(self, sample_shape=()):
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * normal * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value):
        self._validate(value)
        df = self.df
        y = (value - self.loc) / self.scale
        log_normalizer = (self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma()
                          - (0.5 * (df + 1.0)).lgamma())
        return -0.5 * (df + 1.0) * (y.square() / df).log1p() - log_normalizer

    def entropy(self):
        half, next_half = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - next_half.lgamma()
        return self.scale.log() + next_half * (next_half.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
