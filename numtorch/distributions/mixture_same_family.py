"""Mixtures of distributions of one family."""
from __future__ import annotations

from ..autograd.modes import no_grad
from ..layout import Size
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of K distributions of a family, drawn anew for each sample.

    Args:
        mixture_distribution: which one, a Categorical over K.
        component_distribution: the K distributions, as the last dimension of a batch.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: no such distributions, or batches that do not go together.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import Categorical, MixtureSameFamily, Normal
        >>> two = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1., 1.]), 1.0))
        >>> two.mean, two.variance
        (tensor(0.), tensor(2.))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    has_rsample = False

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                                 f"`component_distribution.batch_shape`({batch})")
        k, components = mixture_distribution.param_shape[-1], component_distribution.batch_shape[-1]
        if k != components:
            raise ValueError(f"`mixture_distribution component` ({k}) does not equal `component_distribution.batch_shape[-1]` "
                             f"({components})")
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = Size(batch_shape)
        components = self._component_distribution.expand(batch_shape + self._component_distribution.batch_shape[-1:])
        return self._expanded(MixtureSameFamily, _instance, batch_shape, (), _component_distribution=components,
                              _mixture_distribution=self._mixture_distribution.expand(batch_shape))

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """Which component is drawn."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _pad(self, x):
        """With a dimension of components."""
        return x.unsqueeze(-1 - len(self._event_shape))

    def _weighted(self, x):
        """The sum over components, by how probable each is."""
        probs = self.mixture_distribution.probs
        probs = probs.reshape(probs.shape + (1,) * len(self._event_shape))
        return (probs * x).sum(-1 - len(self._event_shape))

    @property
    def mean(self):
        return self._weighted(self.component_distribution.mean)

    @property
    def variance(self):
        components = self.component_distribution
        return self._weighted(components.variance) + self._weighted((components.mean - self._pad(self.mean)).square())

    def cdf(self, x):
        """The probability of what is not above a value.

        Args:
            x: of a shape that broadcasts with `batch_shape`.
        """
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        """The logarithm of the density, or of the probability, at a value.

        Args:
            x: of a shape that broadcasts with `batch_shape + event_shape`.
        """
        self._validate(x)
        return (self.component_distribution.log_prob(self._pad(x)) + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape=()):
        with no_grad():
            dim = len(sample_shape) + len(self._batch_shape)
            drawn = self.component_distribution.sample(sample_shape)
            chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            chosen = chosen.reshape(chosen.shape + (1,) * (1 + len(self._event_shape)))
            return drawn.gather(dim, chosen.expand(drawn.shape[:dim] + (1,) + self._event_shape)).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
