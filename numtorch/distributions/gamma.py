"""Gamma and what is made of it: chi-squared, inverse gamma, the quotient of Fisher and Snedecor."""
from __future__ import annotations

import math

from ..dtypes import finfo
from ..ops.creation.data import as_tensor
from ..ops.pointwise.functions import where
from ..ops.pointwise.special import igamma
from ..ops.random.gamma import standard_gamma
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import broadcast_all

__all__ = ["Chi2", "FisherSnedecor", "Gamma", "InverseGamma"]


class Gamma(ExponentialFamily):
    """Positive numbers of density proportional to x ** (concentration - 1) exp(-rate x).

    Args:
        concentration: the shape, above 0.
        rate: above 0; the mean is concentration / rate.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Gamma(torch.tensor([2., 3.]), 2.0).mean
        tensor([1.0000, 1.5000])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Gamma, _instance, batch_shape, ("concentration", "rate"))

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.square()

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)     # never 0; the gradient is what it was
        return value

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._validate(value)
        return (self.concentration.xlogy(self.rate) + (self.concentration - 1).xlogy(value) - self.rate * value
                - self.concentration.lgamma())

    def cdf(self, value):
        self._validate(value)
        return igamma(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    Args:
        df: degrees of freedom, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a `df` that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Chi2(torch.tensor(3.)).mean
        tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(Chi2, _instance))

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2


class InverseGamma(TransformedDistribution):
    """1 / x of a gamma number x.

    Args:
        concentration: the shape, above 0.
        rate: above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.InverseGamma(torch.tensor(3.), 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        """The shape."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma number."""
        return self.base_dist.rate

    @property
    def mean(self):
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The quotient of two chi-squared numbers, each over its degrees of freedom.

    Args:
        df1, df2: the degrees of freedom, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a parameter that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.FisherSnedecor(torch.tensor(3.), 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(FisherSnedecor, _instance, batch_shape, ("df1", "df2"), _gamma1=self._gamma1.expand(batch_shape),
                              _gamma2=self._gamma2.expand(batch_shape))

    @property
    def mean(self):
        df2 = where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def mode(self):
        return where(self.df1 <= 2, math.nan, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2))

    @property
    def variance(self):
        df2 = where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2.square() * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).square() * (df2 - 4))

    def rsample(self, sample_shape=()):
        tiny = finfo(self.df1.dtype).tiny
        return (self._gamma1.rsample(sample_shape) / self._gamma2.rsample(sample_shape).clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._validate(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        beta = half1.lgamma() + half2.lgamma() - (half1 + half2).lgamma()
        return half1 * ratio.log() + (half1 - 1) * value.log() - (half1 + half2) * (ratio * value).log1p() - beta
