"""Distribution: what all distributions share. ExponentialFamily: those whose entropy follows from their normaliser."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..autograd.api import grad as gradients
from ..autograd.modes import no_grad
from ..layout import Size
from ..tensor import Tensor
from . import constraints
from .utils import _sum_rightmost, holds, lazy_property

__all__ = ["Distribution", "ExponentialFamily"]


class Distribution:
    """A batch of distributions of one kind.

    A sample has the shape `sample_shape + batch_shape + event_shape`: the batch are distributions with other parameters, and an
    event is what one of them draws.

    Args:
        batch_shape, event_shape: the two shapes, () by default.
        validate_args: whether parameters and values are checked, as the class says when None.

    Attributes:
        has_rsample: whether gradients go through samples.
        has_enumerate_support: whether all values can be listed.

    Raises:
        ValueError: a parameter that its constraint does not allow.

    Example:
        >>> import numtorch as torch
        >>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
        >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
        (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
        >>> isinstance(normal, torch.distributions.Distribution)
        True
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and values are checked where `validate_args` is not given; as long as Python runs without -O, yes.

        Args:
            value: True or False.

        Raises:
            ValueError: anything else.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (),
                 validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _validate_parameters(self):
        try:
            allowed = self.arg_constraints
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                          f"distribution with `validate_args=False` to turn off validation.", stacklevel=4)
            return
        for name, constraint in allowed.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue                                 # it follows from the parameter that was given
            value = getattr(self, name)
            if not holds(constraint.check(value)):
                raise ValueError(f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                                 f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n"
                                 f"{value}")

    # ---------------------------------------------------------------- shapes
    @property
    def batch_shape(self) -> Size:
        """The shape of the batch: how many distributions there are."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of what one of them draws."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions as a larger batch, without copies of parameters.

        Args:
            batch_shape: the new shape, to which the batch broadcasts.
            _instance: what a subclass has made already.
        """
        raise NotImplementedError

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                                      f"must also define a custom .expand() method.")
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls, instance, batch_shape, names, **others):
        """What `expand` of a class returns: those of the parameters `names` that it has for a larger batch, `others` as given."""
        new = self._get_checked_instance(cls, instance)
        batch_shape = Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[len(self._batch_shape):]))
        new.__dict__.update(others)
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    # ---------------------------------------------------------------- what is known of it
    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What each parameter must satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """What samples satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of the shape `batch_shape + event_shape`."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ---------------------------------------------------------------- draws
    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, through which no gradient goes.

        Args:
            sample_shape: how many, () for one.

        Returns:
            `sample_shape + batch_shape + event_shape`.
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples, through which gradients go to the parameters.

        Args:
            sample_shape: how many, () for one.

        Returns:
            `sample_shape + batch_shape + event_shape`.

        Raises:
            NotImplementedError: the samples have no gradient (`has_rsample` says so).
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`, in older programs.

        Args:
            n: how many.
        """
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    # ---------------------------------------------------------------- functions of values
    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value.

        Args:
            value: of a shape that broadcasts with `batch_shape + event_shape`.
        """
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of what is not above a value.

        Args:
            value: of a shape that broadcasts with `batch_shape + event_shape`.
        """
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number at which `cdf` is a value.

        Args:
            value: probabilities.
        """
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values, along a new first dimension.

        Args:
            expand: whether they are repeated for the whole batch; its dimensions have extent 1 otherwise.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy of each distribution of the batch, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _validate_sample(self, value):
        """Raise ValueError for a value that is no sample."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.ndim - len(self._event_shape)
        if value.shape[start:] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.")
        expected = self._batch_shape + self._event_shape
        for have, want in zip(reversed(value.shape), reversed(expected)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                          f"with `validate_args=False` to turn off validation.", stacklevel=4)
            return
        if not holds(support.check(value)):
            raise ValueError(f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                             f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}")

    def _validate(self, value):
        """`_validate_sample`, where values are checked."""
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        shown = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{n}: {v if v.numel() == 1 else v.size()}' for n, v in shown)})"


class ExponentialFamily(Distribution):
    """A distribution of density exp(t(x) . theta - F(theta) + k(x)), theta being its natural parameters.

    Its entropy is F(theta) - theta . grad F(theta) - E[k(x)] (Nielsen and Nock, "Entropies and cross-entropies of exponential
    families", 2010), where a subclass has no shorter formula. A subclass says `_natural_params`,
    `_log_normalizer(*natural_params)` and `_mean_carrier_measure`.

    Args:
        batch_shape, event_shape, validate_args: as for `Distribution`.

    Example:
        >>> import numtorch as torch
        >>> law = torch.distributions.Exponential(2.0)
        >>> torch.distributions.ExponentialFamily.entropy(law).item() - law.entropy().item()
        0.0
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy of each distribution of the batch, in nats."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        slopes = gradients(normalizer.sum(), parameters, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes):
            result = result - _sum_rightmost(parameter * slope, parameter.ndim - len(self._batch_shape))
        return result
