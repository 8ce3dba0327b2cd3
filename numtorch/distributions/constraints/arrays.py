"""Constraints of vectors and matrices."""
from __future__ import annotations

from typing import Any

from ...dtypes import bool_, finfo
from ...ops.core.status import has_values
from ...ops.creation.fill import full
from ...ops.linalg.factorise import cholesky_ex, eigvalsh
from ...ops.linalg.matrices import vector_norm
from ...ops.reduce.query import isclose
from .constraint import Constraint


# ---------------------------------------------------------------- vectors
class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Vectors of counts, with a sum of at most a bound.

    Args:
        upper_bound: the number of draws.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([[1., 2.], [2., 2.]]))
        tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---------------------------------------------------------------- matrices
class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.shape[-1] * 10
        unit = ((vector_norm(value.detach(), dim=-1) - 1).abs() <= tolerance).all(-1)
        return super().check(value) & unit


def _fails(mask):
    """Whether a mask is known not to hold everywhere: of samples of `vmap` it is not known."""
    return has_values(mask) and not mask.all()


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return symmetric if _fails(symmetric) else symmetric & (eigvalsh(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return symmetric if _fails(symmetric) else symmetric & (cholesky_ex(value).info == 0)
