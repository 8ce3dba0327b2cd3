"""Continuous relaxations of drawing classes, with gradients: of two (RelaxedBernoulli), of K (RelaxedOneHotCategorical).

Maddison, Mnih and Teh, "The concrete distribution", 2017; Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax",
2017.
"""
from __future__ import annotations

import math

from ..layout import Size
from ..ops.creation.data import as_tensor
from ..ops.random.draws import rand
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .probabilities import ByProbabilities
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


def _uniform_inside(shape, like):
    return clamp_probs(rand(shape, dtype=like.dtype, device=like.device))


class LogitRelaxedBernoulli(ByProbabilities):
    """The logit of a relaxed Bernoulli number.

    Args:
        temperature: above 0; towards 0 the numbers come to be 0 and 1.
        probs: the probability of 1, in [0, 1].
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or a probability outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
        >>> LogitRelaxedBernoulli(torch.tensor(1.), torch.tensor([0.5])).log_prob(torch.zeros(1))
        tensor([-1.3863])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        self._parametrise(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(LogitRelaxedBernoulli, _instance, batch_shape, ("probs", "logits"), temperature=self.temperature)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = _uniform_inside(shape, probs)
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._validate(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return as_tensor(self.temperature).log() + difference - 2 * difference.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that are near 0 and 1 as a Bernoulli number is there, with a gradient.

    Args:
        temperature: above 0; towards 0 the numbers come to be 0 and 1.
        probs: the probability of 1, in [0, 1].
        logits: log(probs / (1 - probs)), in its place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or a probability outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), torch.tensor([0.1, 0.9])).rsample().shape
        torch.Size([2])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | float | None = None, logits: Tensor | float | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from 0 and 1 numbers are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self.base_dist.probs


class ExpRelaxedCategorical(Distribution):
    """The logarithm of a relaxed vector of a class.

    Args:
        temperature: above 0; towards 0 one element comes to be 0, the logarithm of 1.
        probs: (*, K) not negative, of any sum above 0.
        logits: (*, K) logarithms of them, in their place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or one that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions.relaxed_bernoulli import ExpRelaxedCategorical
        >>> ExpRelaxedCategorical(torch.tensor(1.), torch.ones(2)).rsample().exp().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector                    # the exponentials are on the simplex
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(ExpRelaxedCategorical, _instance, batch_shape, (), temperature=self.temperature,
                              _categorical=self._categorical.expand(batch_shape))

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    def rsample(self, sample_shape=()):
        gumbels = -(-_uniform_inside(self._extended_shape(sample_shape), self.logits).log()).log()
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        self._validate(value)
        k = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        scores = (scores - scores.logsumexp(-1, keepdim=True)).sum(-1)
        return scores + math.lgamma(k) + (k - 1) * as_tensor(self.temperature).log()


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors on the simplex of K that are near its corners as one of K classes is there, with a gradient.

    Args:
        temperature: above 0; towards 0 the vectors come to be corners.
        probs: (*, K) not negative, of any sum above 0.
        logits: (*, K) logarithms of them, in their place.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: both of `probs` and `logits`, none, or one that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(4)).rsample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Tensor, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args), ExpTransform(),
                         validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(RelaxedOneHotCategorical, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far from the corners vectors are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs
