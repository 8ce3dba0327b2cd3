"""What a kernel finds wrong in a replay, raised as the op would have raised it."""
from __future__ import annotations

from traceback import walk_tb
from typing import Any

from ...kernels.program import CONSTANT
from ...ops.memory.copies import clone
from ...storage import Storage
from ...tensor import wrap
from .items import Described
from .steps import Draw


class Again(Exception):
    """A kernel has found something wrong, and nothing that lasts has been written: the call is to be made as it is, which raises
    at the user's line, or goes on where the user catches that."""


class Differs(Again):
    """A truth value is another one than in the call that was captured, and nothing that lasts has been written: the call is to be
    made by another program, or as it is."""


def described(value, word) -> tuple:
    """An argument of what complains, with tensors as where to find them.

    Args:
        value: it, as `Complaint` has it.
        word: how a program has a word of memory.
    """
    if isinstance(value, Described):
        return "tensor", word(value.address) if value.layout.numel else [CONSTANT, 0, 0], value.layout
    if isinstance(value, list):
        return "list", [described(each, word) for each in value], None
    return "value", value, None


def complain(replay, complaints) -> None:
    """Raise what is wrong.

    Args:
        replay: the program in which it is.
        complaints: those of the step in which it is.

    Raises:
        Again: the call is to be made once more; `Differs` where a truth value is another one.
    """
    complaint = complaints[complaints[0].progress.value]
    if complaint.early:
        for step in replay.steps:                        # what was drawn is drawn anew
            if type(step) is tuple and step[3] is complaints:
                raise Differs if complaint.function is None else Again
            if type(step) is Draw:
                step.take_back()
    for leaf, grad in complaint.gradients.items():
        value = _restored(grad, replay.block)
        leaf.grad = None if value is None else clone(value)
    complaint.function(**{name: _restored(value, replay.block) for name, value in complaint.resolved.items()})
    raise RuntimeError("a kernel found a bad index in a compiled function")


def _restored(value, block) -> Any:
    kind, value, layout = value
    if kind == "tensor":
        argument, offset, _ = value
        address = offset + (block[argument] if argument != CONSTANT else 0)
        return wrap(Storage(address, layout.nbytes, None), address, layout)
    if kind == "list":
        return [_restored(each, block) for each in value]
    return value


def complained(error: BaseException) -> bool:
    """Whether an error is a complaint of a replay, behind whose kernel nothing was run."""
    return any(frame.f_code is complain.__code__ for frame, _ in walk_tb(error.__traceback__))
