"""Constraints of the slices or parts of a dimension, each of its own."""
from __future__ import annotations

from collections.abc import Sequence

from ...ops.shape.join import cat, stack
from .constraint import Constraint


class _Joined(Constraint):
    """Of several constraints, along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self):
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value):
        if not -value.ndim <= self.dim < value.ndim:
            raise AssertionError(f"dim {self.dim} out of range for value with {value.ndim} dimensions")


class _Stack(_Joined):
    """A constraint for each slice of a dimension.

    Args:
        cseq: the constraints.
        dim: the dimension, 0 by default.

    Raises:
        AssertionError: what are no constraints.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import constraints
        >>> constraints.stack([constraints.positive, constraints.real]).check(torch.tensor([-1., -1.]))
        tensor([False,  True])
    """

    @property
    def event_dim(self):
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        self._check_dim(value)
        return stack([c.check(value.select(self.dim, i)) for i, c in enumerate(self.cseq)], self.dim)


class _Cat(_Joined):
    """A constraint for each part of a dimension.

    Args:
        cseq: the constraints.
        dim: the dimension, 0 by default.
        lengths: of the parts; 1 each when None.

    Raises:
        AssertionError: what are no constraints, or another number of lengths.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import constraints
        >>> constraints.cat([constraints.positive, constraints.real], lengths=[2, 1]).check(torch.tensor([-1., 1., -1.]))
        tensor([False,  True,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    @property
    def event_dim(self):
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        self._check_dim(value)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return cat([c.check(value.narrow(self.dim, start, length))
                     for c, start, length in zip(self.cseq, starts, self.lengths)], self.dim)
