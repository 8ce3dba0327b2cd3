"""Scripts as what a library is made of: for any number of rows, where each row of the results is computed of that row of the
arguments.

A function without conditions does the same for all rows, so trying it on an example says whether rows are computed of their own
(batching.py). A script decides. Where it reads no element, it decides by numbers that it is given, which all rows share. Then two
things are to be shown:

- For blocks and for single rows it goes the same ways: the statements of both are the same, but for what is done to tensors
  (`control.outline`). A script that counts the rows (`n > x.shape[0]`) has other numbers in them.
- On every way a row's tensors are computed of that row. Staging goes through both ends of every condition, so the tensors that
  variables hold wherever a way ends are compared: of a block, and of its rows alone. Once more the other rows are NaN, which
  is then in whatever looks at them, in a sum times 0 too; and far larger and far smaller, for what compares.
"""
from __future__ import annotations

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ...testing import assert_close
from ..scripting.kinds import FLOAT
from ..scripting.problems import NotSupportedError
from ..scripting.units import Script
from .batching import OTHERS, only, varied
from .control import listing, outline, simplified
from .evaluating import TooLarge
from .scripted import MOST_WAYS, Staged, gone_through
from .staging import Findings, Stager
from .words import Data

# What the numbers among the arguments are while rows are tried, beside the example's, of each kind. With those of the second list
# only NaN is looked for, as rounding would hide what is compared.
_NUMBERS = {"int": 7, "float": 0.7, "bool": True}, {"int": -3, "float": -3.5, "bool": False}
_LARGE_NUMBERS = {"int": 1 << 40, "float": 1e12, "bool": True}, {"int": -1 << 40, "float": -1e12, "bool": False}


class ScriptProgram:
    """What a library is made of.

    Args:
        script: a function.
        first: what it is given before its arguments: its module.
        args: tensors and numbers.

    Attributes:
        plans: for blocks of rows, the largest first, each with how many.
        pieces: the steps of each piece of these.
        inputs, outputs: layouts, and of numbers their kinds.
        fixed: why the number of rows cannot be another one, or None.
        messages: of the script's own errors.
    """

    least_rows = 1                                       # where their number is free: numbers and errors are those of a block

    def __init__(self, script: Script, first: tuple, args: tuple) -> None:
        self.data, self.pieces = Data(), list[list]()
        wanted = dict(script.arguments)
        given = tuple([float(each) if not isinstance(each, Tensor) and wanted.get(name) == FLOAT else each
                       for name, each in zip(script.places, args)])
        tensor = next((each for each in args if isinstance(each, Tensor) and each.dim()), None)
        self.batch = 1 if tensor is None else tensor.shape[0]
        self.inputs = [each.layout if isinstance(each, Tensor) else type(each).__name__ for each in given]
        with no_grad():
            whole = Staged(script, first, given, self.data, self.pieces)
            self.outputs, self.messages = whole.outputs, whole.messages
            self.plans = [(self.batch, whole)]
            self.fixed = _why_fixed(whole, script, first, given, self.batch)
            if self.fixed is None:
                self.plans.append((1, Staged(script, first, _row(given, 0), self.data, self.pieces)))

    @property
    def pointers(self) -> int:
        """How many are set at run time."""
        return max(plan.pointers for _, plan in self.plans)

    @property
    def workspace(self) -> int:
        """Bytes that a call needs."""
        return max(plan.workspace for _, plan in self.plans)

    def __str__(self) -> str:
        return listing(self.plans[0][1].statements)


def _why_fixed(whole, script, first, given, batch):
    """Why a script's rows are not computed one by one, or None."""
    tensors = [each for each in given if isinstance(each, Tensor)]
    if batch < 2 or not tensors:
        return "the example has no two rows"
    if any(each.shape[:1] != (batch,) for each in tensors):
        return "not all arguments have the rows as their first dimension"
    if any(each.shape[:1] != (batch,) for each in whole.outputs if not isinstance(each, str)):
        return "not all results have the rows as their first dimension"
    if whole.element_read_at is not None:
        at, node = whole.element_read_at
        return f"line {node.lineno} of {at.name} reads an element, which may be another row's"
    try:
        single = _learnt(script, first, _row(given, 0), known := Findings())
        if outline(simplified(single.program)) != outline(whole.statements) or single.messages != whole.messages:
            return "what the script decides depends on how many rows there are"
        if [each if isinstance(each, str) else tuple(each.shape[1:]) for each in single.results or ()] != \
                [each if isinstance(each, str) else tuple(each.shape[1:]) for each in whole.outputs]:
            return "the sizes of results depend on how many rows there are"
        _try_rows(lambda args, known: _held(script, first, args, known), whole.known, known, given, batch)
    except AssertionError:
        return "a row's result depends on other rows"
    except (NotSupportedError, TooLarge) as error:
        return f"it does not take a single row ({str(error).splitlines()[0].strip().removeprefix('export_native: ')})"
    return None


def _try_rows(held, known_whole, known_single, given, batch):
    """Compare what is computed of a block of rows and of single ones. Raises AssertionError where that differs."""
    varying = tuple([varied(each) if isinstance(each, Tensor) else each for each in given])
    for choice in (None, *_NUMBERS, *_LARGE_NUMBERS):
        args = varying if choice is None else tuple([each if isinstance(each, Tensor) else choice[type(each).__name__]
                                                     for each in varying])
        is_exact = choice not in _LARGE_NUMBERS
        whole = held(args, known_whole) if is_exact else []
        for row in {0, batch // 2, batch - 1}:
            alone = held(_row(args, row), known_single)
            beside = [held(tuple([only(each, row, other) if isinstance(each, Tensor) else each for each in args]), known_whole)
                      for other in (OTHERS if is_exact else OTHERS[:1])]
            for tensors in [whole, *beside] if is_exact else beside:
                if len(tensors) != len(alone):
                    raise AssertionError
                for block, single in zip(tensors, alone):
                    of_row = _row_of(block, single, row, batch)
                    if is_exact:
                        tolerance = {"rtol": 1e-3, "atol": 1e-4} if _is_floating(single) else {"rtol": 0, "atol": 0}
                        assert_close(of_row, single, **tolerance, equal_nan=True)
                    elif _is_floating(single) and (of_row.isnan() & ~single.isnan()).any():
                        raise AssertionError


def _is_floating(tensor):
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _learnt(script: Script, first: tuple, given: tuple, known: Findings) -> Stager:
    """Go through a script until nothing more turns out."""
    for _ in range(MOST_WAYS):
        stager = gone_through(script, first, given, known)
        if stager is not None:
            return stager
    raise AssertionError


def _held(script, first, given, known):
    held: list = []
    if gone_through(script, first, given, known, held=held) is None:
        raise AssertionError                             # other elements have it go another way
    return [tensor for tensors in held for tensor in tensors]


def _row(given, row):
    return tuple([each[row:row + 1].contiguous() if isinstance(each, Tensor) else each for each in given])


def _row_of(block, single, row, batch):
    """What a tensor that was computed of a block holds for one row; all of it, where it is of the same shape for a single row."""
    differing = [dim for dim, (a, b) in enumerate(zip(block.shape, single.shape)) if a != b]
    if block.dim() != single.dim() or len(differing) > 1:
        raise AssertionError
    if not differing:
        return block
    dim, = differing
    size = single.shape[dim]
    if block.shape[dim] != batch * size:
        raise AssertionError
    return block.narrow(dim, row * size, size)
