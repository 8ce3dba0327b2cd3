"""Steps under `differentiable=True`: what they give can be differentiated by gradients, states, and options that are tensors.

A rule's formula is computed on whole tensors by ops, which are recorded, where other steps are one kernel call.
"""
from __future__ import annotations

import functools
from types import FunctionType

from ..autograd.modes import enable_grad
from ..dtypes import float64
from ..exchange.arrays import raw_array
from ..exchange.construction import make
from ..kernels import intrinsics
from ..ops.memory.copies import clone
from ..ops.pointwise.arithmetic import abs as absolute
from ..ops.pointwise.bounds import maximum
from ..ops.pointwise.complexparts import view_as_complex, view_as_real
from ..ops.pointwise.elementary import sqrt
from ..ops.pointwise.functions import where
from ..tensor import Tensor
from .batches import Batch


def step(optimizer) -> None:
    """A step of each parameter that has a gradient.

    Args:
        optimizer: the `RuleOptimizer`.

    Raises:
        NotImplementedError: a sparse gradient.
        RuntimeError: a parameter that is a leaf and requires grad, as any write that is recorded.
    """
    with enable_grad():
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    _step_of(optimizer, parameter, group)


def _step_of(optimizer, parameter, group):
    rule, grad, name = optimizer.rule(group), parameter.grad, type(optimizer).__name__
    if grad.layout.handler is not None:
        raise NotImplementedError(f"{name}: differentiable steps of sparse gradients are not supported")
    batch = Batch()
    batch.fresh = optimizer.begin(parameter, group)
    state = optimizer.state[parameter] if rule.states or optimizer.counts else {}
    batch.counts = {count: raw_array(state[count]).reshape(1) for count in optimizer.counts}
    sign, decay, shrink, *coefficients = (*optimizer.shared(group), *optimizer.coefficients(group, batch))
    written = [parameter, *[state[each] for each in rule.states]]
    # the formula keeps what it is given, so that is never what is written
    p, g, *states = [clone(view_as_real(t) if t.is_complex() else t) for t in (parameter, grad, *written[1:])]
    results = on_tensors(rule.formula)(p * shrink, g * sign + p * decay, *states, *coefficients)
    for target, result in zip(written, results if isinstance(results, tuple) else (results,), strict=True):
        target.copy_(view_as_complex(result) if target.is_complex() else result)


def _select(condition, x, y):
    """`where`, whose numbers are of double precision."""
    return where(condition, x if isinstance(x, Tensor) else make(x, float64, "cpu"), y)


_OPS = {intrinsics.fabs: absolute, intrinsics.fmax: maximum, intrinsics.sqrt: sqrt, intrinsics.select: _select}


@functools.cache
def on_tensors(formula: FunctionType) -> FunctionType:
    """A formula of scalars as one of tensors.

    Args:
        formula: it, and what it calls, of what `_OPS` has.
    """
    scope = dict(formula.__globals__)
    for name in formula.__code__.co_names:
        value = scope.get(name)
        if type(value) is FunctionType:
            scope[name] = on_tensors(value)
        elif type(value) is intrinsics.Intrinsic:
            scope[name] = _OPS[value]
    return FunctionType(formula.__code__, scope, formula.__name__)
