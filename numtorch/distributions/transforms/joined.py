"""Transforms of the slices or parts of a dimension, each by one of its own."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ops.shape.join import cat, stack
from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from .transform import Transform


class _Joined(Transform):
    """Of several transforms, along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _call(self, x):
        return self._together([t(piece) for t, piece in zip(self.transforms, self._pieces(x))])

    def _inverse(self, y):
        return self._together([t.inv(piece) for t, piece in zip(self.transforms, self._pieces(y))])

    def log_abs_det_jacobian(self, x, y):
        return self._together([t.log_abs_det_jacobian(*pair)
                               for t, *pair in zip(self.transforms, self._pieces(x), self._pieces(y))])

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)


class StackTransform(_Joined):
    """A transform for each slice of a dimension.

    Args:
        tseq: as many transforms as there are slices.
        dim: the dimension.
        cache_size: 1 to keep the latest argument and result.

    Raises:
        AssertionError: what are no transforms, or another number of slices.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import ExpTransform, StackTransform, identity_transform
        >>> StackTransform([ExpTransform(), identity_transform])(torch.zeros(2))
        tensor([1., 0.])
    """

    def _with_cache(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    def _pieces(self, z):
        """What each transform gets of a tensor."""
        if not -z.ndim <= self.dim < z.ndim:
            raise AssertionError(f"dim {self.dim} out of range for tensor with {z.ndim} dimensions")
        if z.shape[self.dim] != len(self.transforms):
            raise AssertionError(f"x.size({self.dim}) = {z.shape[self.dim]} must equal len(transforms) {len(self.transforms)}")
        return z.unbind(self.dim)

    def _together(self, pieces):
        return stack(pieces, self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CatTransform(_Joined):
    """A transform for each part of a dimension.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: of the parts, in order; 1 each when None.
        cache_size: 1 to keep the latest argument and result.

    Raises:
        AssertionError: what are no transforms, another number of lengths, or a dimension that is not as long as they together.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import CatTransform, ExpTransform, identity_transform
        >>> CatTransform([ExpTransform(), identity_transform], lengths=[2, 1])(torch.zeros(3))
        tensor([1., 1., 0.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> Any:
        """How long the dimension is."""
        return sum(self.lengths)

    def _with_cache(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, z):
        if not -z.ndim <= self.dim < z.ndim:
            raise AssertionError(f"dim {self.dim} out of range for tensor with {z.ndim} dimensions")
        if z.shape[self.dim] != self.length:
            raise AssertionError(f"x.size({self.dim}) = {z.shape[self.dim]} must equal length {self.length}")
        return z.split(self.lengths, self.dim)

    def _together(self, pieces):
        return cat(pieces, self.dim)

    def log_abs_det_jacobian(self, x, y):
        result = [_sum_rightmost(t.log_abs_det_jacobian(*pair), self.event_dim - t.event_dim)
                 for t, *pair in zip(self.transforms, self._pieces(x), self._pieces(y))]
        dim = (self.dim - x.ndim if self.dim >= 0 else self.dim) + self.event_dim
        return cat(result, dim) if dim < 0 else sum(result)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)
