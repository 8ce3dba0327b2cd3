"""`torch.cond` in a trace (controlflow.py): a script with both branches, which looks at an element, so that the graph calls it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from .kinds import kind_of
from .scripts import script
from .texts import functions_of


def scripted_branches(true_fn: Callable, false_fn: Callable, operands: tuple | list) -> Any:
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
