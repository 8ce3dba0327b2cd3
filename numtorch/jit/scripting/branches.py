"""Conditions as functions: `torch.cond`. Both branches stay in a trace, as a script that looks at an element and is called by the
graph; elsewhere Python's `if` does the same."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...func.levels import Wrapping
from ...nn.modules.module import Module
from ...ops.pointwise.functions import where
from ...tensor import Tensor
from ...tree import flatten, unflatten
from ..tracing.freezing import keeping
from .kinds import kind_of
from .scripts import script
from .texts import functions_of

__all__ = ["cond"]


def cond(pred: Tensor | bool | int | float, true_fn: Callable, false_fn: Callable, operands: tuple | list = ()) -> Any:
    """What one of two functions gives.

    It is `true_fn(*operands) if pred else false_fn(*operands)`, and is differentiated and compiled as that. In a trace
    (`torch.jit.trace`) both branches stay, where they are modules or functions that can be scripts. In `vmap`, where samples go
    different ways, both are computed for all.

    Args:
        pred: a tensor of one element, or a number.
        true_fn, false_fn: functions of the operands, which return the same structure of tensors of the same shapes and dtypes.
        operands: tensors, in tuples, lists and dicts.

    Raises:
        RuntimeError: another `pred`, branches that cannot be called, or operands that are no tensors.

    Example:
        >>> import numtorch as torch
        >>> def halved(x):
        ...     return x / 2
        >>> x = torch.tensor([3.0, 5.0])
        >>> torch.cond(x.sum() > 4, halved, torch.neg, (x,))
        tensor([1.5000, 2.5000])
    """
    if isinstance(pred, (bool, int, float)):
        return (true_fn if pred else false_fn)(*operands)
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)) or not all(isinstance(each, Tensor) for each in flatten(operands)[0]):
        raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, "
                           f"but got {operands}.")
    if isinstance(pred.layout, Wrapping) and not pred.layout.has_values:
        return _chosen(pred.reshape(()), true_fn(*operands), false_fn(*operands))
    if keeping() is not None:                            # a trace is made, whose graph calls scripts
        script = _scripted(true_fn, false_fn, operands)
        if script is not None:
            return script(pred, *operands)
    return (true_fn if pred else false_fn)(*operands)


def _chosen(pred, one, other):
    """The results of one branch for the samples where `pred` holds, and of the other elsewhere."""
    (ones, form), (others, other_form) = flatten(one), flatten(other)
    if form != other_form:
        raise RuntimeError("cond: both branches must return the same structure of tensors in vmap")
    return unflatten([where(pred, a, b) for a, b in zip(ones, others)], form)


def _scripted(true_fn: Callable, false_fn: Callable, operands: tuple | list) -> Any:
    """A script that is called with a truth value and operands, and gives what one of two functions does. None where they can be no
    scripts, or are not of one type.

    Args:
        true_fn, false_fn: functions or modules.
        operands: examples.
    """
    names = [f"x{i}" for i in range(len(operands))]
    typed = ", ".join(["self", "pred", *[f"{name}: {kind_of(each)}" for name, each in zip(names, operands)]])
    given = ", ".join(names)
    text = f"def forward({typed}):\n    if bool(pred):\n        return self.true_fn({given})\n    return self.false_fn({given})\n"
    function, _ = functions_of(text)["forward"]
    module = type("cond", (Module,), {"forward": function})()
    module.true_fn, module.false_fn = true_fn, false_fn
    try:
        return script(module)
    except (RuntimeError, TypeError, OSError):
        return None
