"""Von Mises's distribution of angles."""
from __future__ import annotations

import math

from ..autograd.modes import no_grad
from ..ops.pointwise.bessel import i0e, i1e
from ..ops.random import distributions as draws
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles in [-pi, pi) of density proportional to exp(concentration cos(x - loc)).

    Args:
        loc: where they gather.
        concentration: how closely, above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a concentration that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.VonMises(torch.tensor(0.), torch.tensor(1.)).log_prob(torch.tensor(0.))
        tensor(-1.0738)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(VonMises, _instance, batch_shape, ("loc", "concentration"))

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return draws.von_mises(self.loc.expand(shape), self.concentration.expand(shape))

    def log_prob(self, value):
        self._validate(value)
        k = self.concentration                           # i0e(k) is exp(-k) times the normaliser
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()
