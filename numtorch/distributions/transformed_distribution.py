"""A distribution whose numbers are those of another one, transformed."""
from __future__ import annotations

from collections.abc import Sequence

from ..autograd.modes import no_grad
from ..layout import Size
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """What transforms make of another distribution's numbers. The density is that of the base, over how volumes are stretched:
    log p(y) = log p(x) - log |det(dy / dx)|.

    Args:
        base_distribution: where the numbers come from.
        transforms: a Transform or a list of them, the first one first.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: what are no transforms, or a base of fewer dimensions than their events have.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import ExpTransform, Normal, TransformedDistribution
        >>> TransformedDistribution(Normal(0.0, 1.0), ExpTransform()).log_prob(torch.tensor(1.))
        tensor(-0.9189)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}

    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform],
                 validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        whole = ComposeTransform(transforms)
        domain_dims, codomain_dims = whole.domain.event_dim, whole.codomain.event_dim
        if len(shape) < domain_dims:
            raise ValueError(f"base_distribution needs to have shape with size at least {domain_dims}, but got {shape}.")
        out_shape = Size(whole.forward_shape(shape))
        expanded = Size(whole.inverse_shape(out_shape))
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[:len(expanded) - base_dims])
        if domain_dims > base_dims:
            base_distribution = Independent(base_distribution, domain_dims - base_dims)
        self.base_dist = base_distribution
        cut = len(out_shape) - max(codomain_dims, base_dims + codomain_dims - domain_dims)
        super().__init__(out_shape[:cut], out_shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        shape = Size(batch_shape) + self._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        base = self.base_dist.expand(shape[:len(shape) - len(self.base_dist.event_shape)])
        return self._expanded(TransformedDistribution, _instance, batch_shape, (), base_dist=base, transforms=self.transforms)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self._event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def _transformed(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape=()):
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        self._validate(value)
        event_dim, stretched, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            stretched = stretched + _sum_rightmost(transform.log_abs_det_jacobian(x, y), event_dim - transform.domain.event_dim)
            y = x
        return _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape)) - stretched

    def _monotonize_cdf(self, value):
        """The share above where the transforms fall together."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
