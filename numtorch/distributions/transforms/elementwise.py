"""Transforms of numbers one by one."""
from __future__ import annotations

import math
from typing import Any

from ...dtypes import finfo
from ...layout import broadcast_shapes
from ...ops.creation.fill import full_like
from ...ops.pointwise.activation import softplus
from ...tensor import Tensor
from .. import constraints
from ..utils import Number, broadcast_all, lazy_property
from .transform import OfOneKind, Transform


class ExpTransform(OfOneKind):
    """exp(x).

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.ExpTransform()(torch.tensor(1.))
        tensor(2.7183)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x ** exponent, of positive x.

    Args:
        exponent: a number or a tensor that broadcasts with x.
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.PowerTransform(torch.tensor(2.)).inv(torch.tensor(9.))
        tensor(3.)
    """

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.exponent, = broadcast_all(exponent)

    def _with_cache(self, cache_size):
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool((self.exponent == other.exponent).all())

    __hash__ = None                                      # type: ignore[assignment]

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _inside(probs):
    """Probabilities moved into the open interval, so that logarithms of them and of what they leave are finite."""
    limits = finfo(probs.dtype)
    return probs.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x):
    return _inside(x.sigmoid())


class SigmoidTransform(OfOneKind):
    """1 / (1 + exp(-x)), never 0 nor 1.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.SigmoidTransform()(torch.tensor(0.))
        tensor(0.5000)
    """

    domain, codomain = constraints.real, constraints.unit_interval
    bijective, sign = True, 1

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(OfOneKind):
    """log(1 + exp(x)), and x above 20.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.SoftplusTransform()(torch.tensor(0.))
        tensor(0.6931)
    """

    domain, codomain = constraints.real, constraints.positive
    bijective, sign = True, 1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(OfOneKind):
    """tanh(x). A cache makes its inverse exact where results round to 1.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.TanhTransform()(torch.tensor(1.))
        tensor(0.7616)
    """

    domain, codomain = constraints.real, constraints.interval(-1.0, 1.0)
    bijective, sign = True, 1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))     # log(1 - tanh(x) ** 2), without the difference


class AbsTransform(OfOneKind):
    """|x|, whose inverse gives the number above 0.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.AbsTransform()(torch.tensor(-2.))
        tensor(2.)
    """

    domain, codomain = constraints.real, constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale * x.

    Args:
        loc, scale: numbers or tensors that broadcast with x.
        event_dim: how many of the last dimensions make one event, 0 by default.
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.))
        tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def _with_cache(self, cache_size):
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = None                                      # type: ignore[assignment]

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape, scale = x.shape, self.scale
        result = full_like(x, math.log(abs(scale))) if isinstance(scale, Number) else scale.abs().log()
        if self.event_dim:
            result = result.reshape(result.shape[:-self.event_dim] + (-1,)).sum(-1)
            shape = shape[:-self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape):
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


def _same(a, b):
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else equal


class CumulativeDistributionTransform(Transform):
    """The share of a distribution below x: uniform, where x comes from it.

    Args:
        distribution: one with `cdf`, `icdf` and `log_prob`.
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> share = torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))
        >>> share(torch.tensor(0.))
        tensor(0.5000)
    """

    bijective, sign = True, 1
    codomain = constraints.unit_interval

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def _with_cache(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
