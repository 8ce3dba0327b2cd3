"""From constraints to transforms of unconstrained numbers into what satisfies them: `biject_to` and `transform_to`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """For each kind of constraint, what makes a transform onto it.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.distributions import biject_to, constraints
        >>> biject_to(constraints.positive)(torch.tensor(0.))
        tensor(1.)
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Callable[[Any], Any] | None = None) -> Any:
        """Say which transform belongs to a constraint; a decorator of `factory` when that is left out.

        Args:
            constraint: a subclass of Constraint, or an instance that stands for it.
            factory: makes the transform from a constraint of that class.

        Raises:
            TypeError: what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()                         # bijections, with a log_abs_det_jacobian: for densities
transform_to = ConstraintRegistry()                      # whatever is good for optimisation


def _of_both(*kinds):
    def add(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory
    return add


@_of_both(constraints.real)
def _real(constraint):
    return transforms.identity_transform


@_of_both(constraints.positive, constraints.nonnegative)
def _above(constraint):
    if isinstance(constraint.lower_bound, Number) and constraint.lower_bound == 0:
        return transforms.ExpTransform()
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)])


@_of_both(constraints.less_than)
def _below(constraint):
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)])


@_of_both(constraints.interval, constraints.half_open_interval)
def _between(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, Number) and low == 0 and isinstance(high, Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@_of_both(constraints.corr_cholesky)
def _corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda constraint: transforms.PositiveDefiniteTransform())


def _of_parts(registry):
    """Constraints made of others take the transforms of those from the same registry."""
    registry.register(constraints.independent, lambda constraint: transforms.IndependentTransform(
        registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims))
    registry.register(constraints.cat, lambda constraint: transforms.CatTransform(
        [registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths))
    registry.register(constraints.stack, lambda constraint: transforms.StackTransform(
        [registry(c) for c in constraint.cseq], constraint.dim))


_of_parts(biject_to)
_of_parts(transform_to)
