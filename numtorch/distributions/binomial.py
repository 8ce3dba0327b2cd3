"""Counts: of successes (Binomial, Multinomial), of failures before them (Geometric, NegativeBinomial), of events (Poisson)."""
from __future__ import annotations

import math

from ..autograd.modes import no_grad
from ..dtypes import finfo
from ..layout import Size
from ..nn.losses import binary_cross_entropy_with_logits
from ..ops.creation.fill import ones_like, tensor, zeros_like
from ..ops.pointwise.activation import logsigmoid
from ..ops.pointwise.functions import where
from ..ops.random.distributions import binomial, poisson
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution, ExponentialFamily
from .gamma import Gamma
from .probabilities import ByProbabilities
from .utils import broadcast_all, drawn_like, holds, lazy_property

__all__ = ["Binomial", "Geometric", "Multinomial", "NegativeBinomial", "Poisson"]


class Binomial(ByProbabilities):
    """How many of `total_count` trials succeed.

    Args:
        total_count: the number of trials, 1 by default; not negative.
        probs: the probability of each success, in [0, 1].
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or one that is not allowed.
        NotImplementedError: the entropy, or all values, of several numbers of trials.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.arange(3.)).exp()
        tensor([0.2500, 0.5000, 0.2500])
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Tensor | int = 1, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        count, = self._parametrise(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Binomial, _instance, batch_shape, ("total_count", "probs", "logits"))

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._validate(value)
        n, logits = self.total_count, self.logits
        choices = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # log(1 + exp(logits)), whose slope at 0 is a half
        log_normalizer = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2 + (-logits.abs()).exp().log1p()
        return value * logits + choices - n * log_normalizer

    def _one_count(self, name):
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count

    def entropy(self):
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        return self._counted(1 + self._one_count("enumerate_support"), expand)


class NegativeBinomial(ByProbabilities):
    """How many successes there are before `total_count` failures.

    Args:
        total_count: the number of failures, not negative; it need not be whole.
        probs: the probability of each success, in [0, 1).
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or one that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.NegativeBinomial(1.0, torch.tensor(0.5)).log_prob(torch.arange(3.)).exp()
        tensor([0.5000, 0.2500, 0.1250])
    """

    arg_constraints = {"total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0),
                       "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Tensor | float, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        count, = self._parametrise(probs, logits, total_count)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(NegativeBinomial, _instance, batch_shape, ("total_count", "probs", "logits"))

    @property
    def mean(self):
        return self.total_count * self.logits.exp()

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        """A Poisson number of such a rate is one of these."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape=()):
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        self._validate(value)
        n = self.total_count
        choices = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return n * logsigmoid(-self.logits) + value * logsigmoid(self.logits) + choices.masked_fill(n + value == 0.0, 0.0)


class Geometric(ByProbabilities):
    """How many failures there are before the first success.

    Args:
        probs: the probability of success, in (0, 1].
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both, none, or a probability outside (0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Geometric(torch.tensor(0.5)).log_prob(torch.arange(3.)).exp()
        tensor([0.5000, 0.2500, 0.1250])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        self._parametrise(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not holds(self.probs > 0):
            p = self.probs
            raise ValueError(f"Expected parameter probs ({type(p).__name__} of shape {tuple(p.shape)}) of distribution {self!r} "
                             f"to be positive but found invalid values:\n{p.detach()[~(p > 0)]}")

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Geometric, _instance, batch_shape, ("probs", "logits"))

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        with no_grad():
            u = drawn_like(self.probs, self._extended_shape(sample_shape), "uniform", finfo(self.probs.dtype).tiny, 1.0)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._validate(value)
        value, probs = broadcast_all(value, self.probs)
        failure = where((probs == 1) & (value == 0), 0, probs)     # no failures cost nothing, where none are possible too
        return value * (-failure).log1p() + self.probs.log()

    def entropy(self):
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Poisson(ExponentialFamily):
    """How many events there are that come at a rate.

    Args:
        rate: the mean, not negative.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a negative rate.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Poisson(torch.tensor(1.)).log_prob(torch.arange(3.)).exp()
        tensor([0.3679, 0.3679, 0.1839])
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.rate, = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Poisson, _instance, batch_shape, ("rate",))

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._validate(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self):
        return (self.rate.log(),)

    def _log_normalizer(self, x):
        return x.exp()


class Multinomial(Distribution):
    """How often each of K classes comes in `total_count` draws.

    Args:
        total_count: the number of draws, an int; 1 by default.
        probs: (*, K) not negative, of any sum above 0.
        logits: (*, K) logarithms of them, in their place.
        validate_args: whether arguments and values are checked.

    Raises:
        NotImplementedError: several numbers of draws.
        ValueError: both of `probs` and `logits`, none, or one that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Multinomial(2, torch.tensor([1., 1.])).log_prob(torch.tensor([1., 1.])).exp()
        tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        categorical = self._categorical.expand(batch_shape)
        return self._expanded(Multinomial, _instance, batch_shape, (), total_count=self.total_count, _categorical=categorical,
                              _binomial=self._binomial.expand(categorical.probs.shape))

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, ones_like(drawn)).type_as(self.probs)

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        logits = where((value == 0) & (logits == -math.inf), 0.0, logits)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self):
        n = tensor(self.total_count, dtype=self.probs.dtype, device=self.probs.device)
        values = self._binomial.enumerate_support(expand=False)[1:]
        rest = (self._binomial.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + rest
