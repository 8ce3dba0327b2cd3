"""Constraints of numbers."""
from __future__ import annotations

from typing import Any

from .constraint import Constraint


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _IntegerInterval(Constraint):
    """Whole numbers between two bounds.

    Args:
        lower_bound, upper_bound: numbers or tensors, allowed themselves.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([0.0, 0.5, 3.0]))
        tensor([ True, False, False])
    """

    is_discrete = True
    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    is_discrete = True
    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value                            # not NaN


class _Above(Constraint):
    _shown = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _GreaterThan(_Above):
    """Numbers above a bound.

    Args:
        lower_bound: a number or a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.greater_than(1).check(torch.tensor([1.0, 2.0]))
        tensor([False,  True])
    """

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from a bound on.

    Args:
        lower_bound: a number or a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.greater_than_eq(1).check(torch.tensor([0.0, 1.0]))
        tensor([False,  True])
    """

    def check(self, value):
        return self.lower_bound <= value


class _LessThan(Constraint):
    """Numbers below a bound.

    Args:
        upper_bound: a number or a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.less_than(1).check(torch.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    _shown = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class _Between(Constraint):
    _shown = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _Interval(_Between):
    """Numbers between two bounds.

    Args:
        lower_bound, upper_bound: numbers or tensors, allowed themselves.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.interval(0, 1).check(torch.tensor([1.0, 2.0]))
        tensor([ True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from a bound on, below another one.

    Args:
        lower_bound, upper_bound: numbers or tensors.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
        tensor([ True, False])
    """

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)
