"""Constraint, and constraints that other things decide: other parameters, or another constraint."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor import Tensor


class Constraint:
    """What a value may be.

    Attributes:
        is_discrete: whether there are gaps between such values. event_dim: how many of the last dimensions make one value.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.positive.check(torch.tensor([1., -1.]))
        tensor([ True, False])
    """

    is_discrete: Any = False
    event_dim: Any = 0
    _shown: tuple[str, ...] = ()                         # attributes that the name is printed with

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is such a value.

        Args:
            value: (*, event).

        Returns:
            (*) bools.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"


# ---------------------------------------------------------------- constraints that other things decide
class _Dependent(Constraint):
    """One that other parameters decide."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> _Dependent:
        return _Dependent(is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
                          event_dim=self._event_dim if event_dim is NotImplemented else event_dim)

    def check(self, value):
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that is a constraint of instances, and one that depends where the class is asked.

    Args:
        fn: what computes it; a decorator where it is left out.
        is_discrete, event_dim: of the constraint, as far as they are known beforehand.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.is_dependent(torch.distributions.Uniform.support)
        True
        >>> torch.distributions.Uniform(0.0, 1.0).support
        Interval(lower_bound=0.0, upper_bound=1.0)
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Callable[..., Any]) -> Any:   # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether other parameters decide a constraint, so that it cannot be checked by itself.

    Args:
        constraint: any.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.dependent)
        True
    """
    return isinstance(constraint, _Dependent)


def _must_be_constraint(value):
    if not isinstance(value, Constraint):
        raise AssertionError(f"base_constraint must be a Constraint, got {type(value).__name__}")


class _IndependentConstraint(Constraint):
    """One that all elements along more of the last dimensions satisfy.

    Args:
        base_constraint: that of the elements.
        reinterpreted_batch_ndims: how many more dimensions make one event.

    Raises:
        AssertionError: no constraint, or less than 0 dimensions.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import constraints
        >>> constraints.independent(constraints.positive, 1).check(torch.tensor([[1., 2.], [1., -2.]]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        _must_be_constraint(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}")
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.ndim < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        return result.reshape(result.shape[:result.ndim - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What all components of a mixture allow.

    Args:
        base_constraint: that of the components, whose batch has one dimension more.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.MixtureSameFamilyConstraint(torch.distributions.constraints.positive).check(
        ...     torch.tensor([1., -1.]))
        tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        _must_be_constraint(base_constraint)
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Whether each event is such a value for all components.

        Args:
            value: (*, event).
        """
        if value.ndim < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.ndim}")
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape(result.shape[:value.ndim - self.event_dim] + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"
