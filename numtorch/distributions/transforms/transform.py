"""Transform, and transforms made of others: its inverse, several in a row, one over more dimensions."""
from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from ...ops.creation.fill import zeros_like
from ...tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost, lazy_property


class Transform:
    """A function of tensors that may have an inverse, and knows how it stretches volumes.

    A subclass has `_call` and `_inverse`, `log_abs_det_jacobian` where it is bijective, and the attributes below. With a cache, the
    inverse of the latest result is its argument itself, without rounding and as the same tensor.

    Args:
        cache_size: 1 to keep the latest pair of argument and result, 0 (the default) for none.

    Attributes:
        domain, codomain: the constraints that arguments and results satisfy.
        bijective: whether there is one argument for each result.
        sign: 1 or -1 as it rises or falls, where it is a bijection of numbers.
        inv: the inverse, a Transform whose inverse is this one.

    Raises:
        ValueError: another `cache_size`.

    Example:
        >>> import numtorch as torch
        >>> class Double(torch.distributions.transforms.Transform):
        ...     domain = codomain = torch.distributions.constraints.real
        ...     def _call(self, x):
        ...         return 2 * x
        ...     def _inverse(self, y):
        ...         return y / 2
        >>> double = Double()
        >>> double(torch.tensor(3.)), double.inv(torch.tensor(3.))
        (tensor(6.), tensor(1.5000))
    """

    bijective: Any = False

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Any = None

    def __getstate__(self):
        """Without the inverse, which refers back to this."""
        return {**self.__dict__, "_inv": None}

    @property
    def domain(self) -> Any:
        """The constraint that arguments satisfy."""
        raise NotImplementedError

    @property
    def codomain(self) -> Any:
        """The constraint that results satisfy."""
        raise NotImplementedError

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions make one argument and one result."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 or -1 as the transform rises or falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """This transform with another size of the cache.

        Args:
            cache_size: 0 or 1.
        """
        return self if self._cache_size == cache_size else self._with_cache(cache_size)

    def _with_cache(self, cache_size):
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None                                      # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the absolute determinant of d y / d x.

        Args:
            x: arguments (*, event).
            y: their results.

        Returns:
            (*).
        """
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of the result.

        Args:
            shape: that of an argument.
        """
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of an argument.

        Args:
            shape: that of the result.
        """
        return shape

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class OfOneKind(Transform):
    """A transform without parameters: all of the class are equal."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))

    __hash__ = None                                      # type: ignore[assignment]


class _InverseTransform(Transform):
    """The inverse of a transform, which does the work."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self):
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None                                      # type: ignore[assignment]

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    Args:
        parts: the transforms, the first one first.
        cache_size: whether each keeps its latest argument and result, 0 or 1.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import AffineTransform, ComposeTransform, ExpTransform
        >>> rising = ComposeTransform([ExpTransform(), AffineTransform(1.0, 2.0)])
        >>> rising(torch.tensor(0.)), rising.inv(torch.tensor(3.))
        (tensor(3.), tensor(0.))
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and list(self.parts) == list(other.parts)

    __hash__ = None                                      # type: ignore[assignment]

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _over(self.parts[0].domain, event_dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _over(self.parts[-1].codomain, event_dim)

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _with_cache(self, cache_size):
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return zeros_like(x)
        xs = [x]
        for part in self.parts[:-1]:
            xs.append(part(xs[-1]))
        xs.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, x, y in zip(self.parts, xs[:-1], xs[1:]):
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, y), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _over(constraint, event_dim):
    """A constraint of events of so many dimensions."""
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of events of more dimensions: the volumes of all its events make one.

    Args:
        base_transform: what it does.
        reinterpreted_batch_ndims: how many more of the last dimensions make one event.
        cache_size: whether it keeps its latest argument and result, 0 or 1.

    Raises:
        ValueError: a call on a tensor of fewer dimensions.

    Example:
        >>> import numtorch as torch
        >>> rows = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
        >>> x = torch.tensor([1., 2.])
        >>> rows.log_abs_det_jacobian(x, rows(x))
        tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _with_cache(self, cache_size):
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        if x.ndim < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.ndim < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"
