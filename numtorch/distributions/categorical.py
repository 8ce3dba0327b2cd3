"""One of K classes, as its index or as a vector with a 1 at it."""
from __future__ import annotations

import math

from ..dtypes import finfo, int64
from ..layout import Size
from ..ops.creation.fill import eye, full
from ..ops.nn.embedding import one_hot
from ..ops.random.draws import multinomial
from ..ops.reduce.query import broadcast_tensors
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .probabilities import ByProbabilities, check_one

__all__ = ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"]


class Categorical(ByProbabilities):
    """The index of one of K classes.

    Args:
        probs: (*, K) not negative, of any sum above 0.
        logits: (*, K) logarithms of them, in their place.
        validate_args: whether arguments and values are checked.

    Attributes:
        probs: with the sum 1. logits: their logarithms.

    Raises:
        ValueError: both, none, a number, or probabilities that are not allowed.

    Example:
        >>> import numtorch as torch
        >>> weather = torch.distributions.Categorical(torch.tensor([1., 3.]))
        >>> weather.probs, weather.log_prob(torch.tensor(1)).exp()
        (tensor([0.2500, 0.7500]), tensor(0.7500))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        check_one(probs, logits)
        if probs is not None:
            if probs.ndim < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            if logits.ndim < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Categorical, _instance, batch_shape, ("probs", "logits"))

    @property
    def _num_events(self):
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self):
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self):
        return self.probs.argmax(-1)

    variance = mean                                      # classes are no numbers

    def sample(self, sample_shape=()):
        rows = self.probs.detach().reshape(-1, self._num_events)
        drawn = multinomial(rows, Size(sample_shape).numel(), True)
        return drawn.t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._validate(value)
        value, logits = broadcast_tensors(value.to(int64).unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        return self._counted(self._num_events, expand, int64)


class OneHotCategorical(Distribution):
    """One of K classes, as a vector with a 1 at its index.

    Args:
        probs: (*, K) not negative, of any sum above 0.
        logits: (*, K) logarithms of them, in their place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both, none, a number, or probabilities that are not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.OneHotCategorical(torch.tensor([0., 1., 0.])).sample()
        tensor([0., 1., 0.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(OneHotCategorical, _instance, batch_shape, (), _categorical=self._categorical.expand(batch_shape))

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._vectors(self.probs.argmax(-1))

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def _vectors(self, indices):
        return one_hot(indices, self._event_shape[0]).to(self.probs.dtype)

    def sample(self, sample_shape=()):
        return self._vectors(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._validate(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n,) + self._batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples have the gradient of the probabilities.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic neurons for conditional computation",
    2013.

    Args:
        probs, logits, validate_args: as for `OneHotCategorical`.

    Example:
        >>> import numtorch as torch
        >>> probs = torch.tensor([0., 1.], requires_grad=True)
        >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample()
        tensor([0., 1.], grad_fn=<AddBackward0>)
    """

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
