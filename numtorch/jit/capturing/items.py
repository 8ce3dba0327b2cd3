"""What is written down of a call that is watched: launches, what Python does beside them, and what keeps it from being replayed."""
from __future__ import annotations

from typing import Any, NamedTuple

from ...tensor import Tensor


class Break(NamedTuple):
    """What keeps a call from being replayed: what it is, and the user's file and line; `outer` is the line of the captured function
    itself, 0 where it is not known; `passing` is what the next call may be without."""

    what: str
    file: str
    line: int
    outer: int = 0
    passing: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Launch(NamedTuple):
    """A call of a kernel: the words that are addresses of this thread's own are already those of the program."""

    native: int
    words: tuple
    tables: list                                         # (place, entries) of the words that are tables of Python's
    status: Any                                          # None, or the place of the address of words that must be 0 afterwards
    statuses: int                                        # how many these are
    complaint: Any                                       # what says what is wrong where it is not


class Entry(NamedTuple):
    """A word of such a table."""

    word: int
    moves: bool                                          # whether it is a tensor's address


class Write(NamedTuple):
    """What Python writes, in words of 64 bits. Memory has whole ones, so the last may be filled up."""

    address: int
    words: tuple


class Check(NamedTuple):
    """A word that Python looks at, and complains about where it is not 0."""

    address: int
    complaint: Any


class Truth(NamedTuple):
    """A byte that is 0 or 1, by which Python decides: `if mask.any():`. The program has the one case, and looks whether it is that
    one; where it is another, the call is made in another way, so nothing that lasts may have been written by then."""

    address: int
    value: int
    complaint: Any


class Complaint:
    """A call of this package that raises what is wrong, once its tensors hold what they held.

    Args:
        function: it; None where a truth value is another one than it was (`Truth`).
        arguments: by name; tensors are kept as address and layout only.
        early: whether nothing has been written yet that lasts, so that the call can be made once more instead.
        gradients: of leaves of the tape that have others by then than before the call.
    """

    def __init__(self, function, arguments, early: bool, gradients: dict | None = None) -> None:
        self.function, self.early = function, early
        self.arguments = {name: _described(value) for name, value in arguments.items()}
        self.gradients = {leaf: _described(grad) for leaf, grad in (gradients or {}).items()}


class Described(NamedTuple):
    """A tensor as address and layout."""

    address: int
    layout: Any


def _described(value):
    if isinstance(value, Tensor):
        return Described(value.address, value.layout)
    if isinstance(value, (list, tuple)):
        return [_described(each) for each in value]
    return value
