"""Programs for any number of rows: where each row of the results is computed of that row of the arguments, a program for many rows
and one for a single row do for all."""
from __future__ import annotations

import math
from typing import Any

from ...autograd.modes import no_grad
from ...tensor import Tensor
from ...testing import assert_close
from ...tree import tensors_in
from .recording import RecordedCall, record
from .words import Data

ROWS = 8                                                 # that are tried alone
OTHERS = math.nan, 1e6, -1e6                             # what other rows hold, for sums and for comparisons with them


class CallProgram:
    """What a library is made of.

    Attributes:
        plans: for blocks of rows, the largest first, each with how many.
        fixed: why the number of rows cannot be another one, or None.
        data: what the library holds.
    """

    pointers = 0                                         # that are set at run time
    least_rows = 0                                       # of a call, where their number is free
    messages: tuple = ()                                 # of errors of its own

    def __init__(self, function: Any, args: tuple) -> None:
        self.data = Data()
        batch = args[0].shape[0] if args and args[0].dim() else 1
        self.plans: list[tuple[int, RecordedCall]] = [(batch, record(function, args, self.data))]
        self.fixed = why_fixed(function, args, batch)
        if self.fixed is None:
            self.plans.append((1, record(function, tuple([arg[:1].contiguous() for arg in args]), self.data)))

    @property
    def batch(self) -> int:
        """The rows of the example."""
        return self.plans[0][0]

    @property
    def pieces(self) -> list:
        """The steps of each plan."""
        return [plan.steps for _, plan in self.plans]

    @property
    def inputs(self) -> list:
        """The layouts of arguments."""
        return self.plans[0][1].inputs

    @property
    def outputs(self) -> list:
        """The layouts of results."""
        return self.plans[0][1].outputs

    @property
    def workspace(self) -> int:
        """Bytes that a call needs."""
        return max(plan.workspace for _, plan in self.plans)


def why_fixed(function: Any, args: tuple, batch: int) -> str | None:
    """Why a function's rows are not computed one by one, or None: that is tried, with rows alone and in another order.

    Args:
        function: of tensors.
        args: tensors.
        batch: rows of the first.
    """
    if batch < 2:
        return "the example has no two rows"
    if any(not arg.dim() or arg.shape[0] != batch for arg in args):
        return "not all arguments have the rows as their first dimension"
    with no_grad():
        trial = [varied(arg) for arg in args]
        whole = list(tensors_in(function(*trial)))
        if any(not each.dim() or each.shape[0] != batch for each in whole):
            return "not all results have the rows as their first dimension"
        try:
            _compare(function(*[arg.flip(0) for arg in trial]), [each.flip(0) for each in whole])
            for row in {*range(min(batch, ROWS)), batch - 1}:
                _compare(function(*[arg[row:row + 1].contiguous() for arg in trial]), [each[row:row + 1] for each in whole])
            for other in OTHERS:
                beside = tensors_in(function(*[only(arg, 0, other) for arg in trial]))
                _compare([each[:1] for each in beside], [each[:1] for each in whole])
        except AssertionError:
            return "a row's result depends on other rows"
        except Exception as error:                       # whatever the function finds wrong with a single row
            return f"it does not take a single row ({type(error).__name__})"
    return None


def varied(arg):
    """An argument of which no two rows are the same, where its elements are not indices."""
    if not arg.dtype.is_floating_point:
        return arg
    steps = arg.new_ones(arg.shape).flatten().cumsum(0).remainder(1.7).view(arg.shape)
    return arg + steps


def only(tensor: Tensor, row: int, other: float) -> Tensor:
    """A tensor with another number in all rows but one, where its elements are no indices."""
    if not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        return tensor
    result = tensor.new_full(tensor.shape, other)
    result[row] = tensor[row]
    return result


def _compare(results, expected):
    for a, b in zip(tensors_in(results), expected, strict=True):
        assert_close(
            a, b, rtol=1e-3 if a.dtype.is_floating_point else 0, atol=1e-4 if a.dtype.is_floating_point else 0, equal_nan=True
        )
