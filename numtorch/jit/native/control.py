"""Programs with loops and conditions: the form between a script's tree and C, on one page.

A program is a list of statements. What has no conditions in it is a *piece*: launches of kernels, one after the other, as any
captured call has them. Around pieces stand statements of numbers, which are known only when the library runs:

    Let v3 = int.add(v2, 1)                 a number of others; where that fails (overflow, division by zero), the program ends
    Set v2 = v3                             a variable that is set in several places
    Load v4 = float32 at PLACE              a number that is an element of a tensor
    Put PLACE = int64 v3                    the other way round: for launches that read the number
    Point 0 = PLACE + v3 * 256              where a view lies whose index is a number
    Move PLACE <- PLACE, 64 bytes           a tensor that a loop or both ends of a condition leave in one place
    Give 1 = v3                             a result that is a number
    If v5: ... else: ...
    Loop: ...                               for ever; what leaves it is
    Block 2: ... Leave 2 ...                goes to the end of the block around it: `break`, `continue`, an early `return`
    Fail 16                                 ends the program with a code: `assert`, `raise`
    Finish                                  ends it

Places are addresses while a script is staged, and then what these point into (`words.py`). Numbers are of three kinds, `int` (of 64
bits), `float` (double) and `bool`; what can be done with them, in Python and in C, is one table (`arithmetic.py`). A variable set
once is as good as a name in static single assignment; loops and conditions have variables of their own for what they leave.

`staging.py` makes this form of a script, `controlsource.py` C of the form; `listing` shows it.
"""
from __future__ import annotations

from typing import Any, NamedTuple

FIRST_MESSAGE = 16                                       # the code of the first of a script's own errors


class NeedsValue(Exception):
    """Python wants to know a number that is known only when the library runs."""


class Number:
    """A number that is known only when the library runs.

    Args:
        name: the variable that it is in.
        kind: `int`, `float` or `bool`.
        value: what it may be, for the kernels that run while a script is staged.
    """

    __slots__ = ("name", "kind", "value")

    def __init__(self, name: str, kind: str, value: Any) -> None:
        self.name, self.kind, self.value = name, kind, value

    def __repr__(self):
        return self.name

    def _unknown(self, *args):
        raise NeedsValue

    __bool__ = __int__ = __float__ = __index__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown  # type: ignore
    __hash__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __format__ = __str__ = _unknown    # type: ignore
    __round__ = __abs__ = __neg__ = __trunc__ = __floor__ = __ceil__ = _unknown


class Output(NamedTuple):
    """The memory of a result, as a place."""

    number: int


class Piece(NamedTuple):
    """Launches: items of a capture, then the number of the piece."""

    content: Any


class Let(NamedTuple):
    target: Number
    operation: str
    operands: tuple


class Set(NamedTuple):
    target: Number
    source: Any


class Load(NamedTuple):
    target: Number
    dtype: str
    place: Any


class Put(NamedTuple):
    place: Any
    dtype: str
    source: Any


class Point(NamedTuple):
    pointer: int
    place: Any
    index: Any
    stride: int


class Move(NamedTuple):
    target: Any
    source: Any
    size: int


class Give(NamedTuple):
    output: int
    source: Any


class If(NamedTuple):
    test: Number
    then: list
    otherwise: list


class Loop(NamedTuple):
    body: list


class Block(NamedTuple):
    label: int
    body: list


class Leave(NamedTuple):
    label: int


class Fail(NamedTuple):
    code: int


class Finish(NamedTuple):
    pass


def inner(statement: Any) -> tuple[list, ...]:
    """The lists of statements that a statement has.

    Args:
        statement: it; or a list of statements, which stands for them.
    """
    if isinstance(statement, list):
        return (statement,)
    if isinstance(statement, If):
        return statement.then, statement.otherwise
    return (statement.body,) if isinstance(statement, (Loop, Block)) else ()


def left(statements: list) -> set[int]:
    """The blocks that statements leave, but those that end with it anyway.

    Args:
        statements: a program, simplified.
    """
    labels: set[int] = set()
    for each in statements:
        if isinstance(each, Leave):
            labels.add(each.label)
        for part in inner(each):
            labels |= left(part)
    return labels


def simplified(statements: list) -> list:
    """The same program without lists in lists, blocks that nothing leaves, pieces beside pieces or without launches, and conditions
    without effect.

    Args:
        statements: the program.
    """
    made: list = []
    for each in statements:
        if isinstance(each, list):
            made += simplified(each)
        elif isinstance(each, Piece):
            if not isinstance(each.content, list):
                made.append(each)
            elif made and isinstance(made[-1], Piece) and each.content:
                made[-1] = Piece(made[-1].content + each.content)
            elif each.content:
                made.append(each)
        elif isinstance(each, If):
            then, otherwise = simplified(each.then), simplified(each.otherwise)
            if then or otherwise:
                made.append(If(each.test, then, otherwise))
        elif isinstance(each, Loop):
            made.append(Loop(simplified(each.body)))
        elif isinstance(each, Block):
            body = simplified(each.body)
            while body and isinstance(body[-1], Leave) and body[-1].label == each.label:
                body.pop()
            if each.label in left(body):
                made.append(Block(each.label, body))
            else:
                made += body
        else:
            made.append(each)
    return made


def outline(statements: list) -> list:
    """What a program decides, and with which numbers, without what is done to tensors. It is equal where two programs go the same
    ways for the same numbers.

    Args:
        statements: the program, simplified.
    """
    made: list = []
    for each in statements:
        if isinstance(each, (Piece, Move)):
            continue
        if isinstance(each, If):
            parts = outline(each.then), outline(each.otherwise)
            if any(parts):
                made.append(("If", each.test.name, *parts))
        elif isinstance(each, Loop):
            made.append(("Loop", outline(each.body)))
        elif isinstance(each, Block):
            made.append(("Block", each.label, outline(each.body)))
        elif isinstance(each, Point):
            made.append(("Point", each.pointer, repr(each.index)))
        elif isinstance(each, (Load, Put)):
            made.append((type(each).__name__, *map(repr, each._replace(place=None))))
        else:
            made.append((type(each).__name__, *map(repr, each)))
    return made


def listing(statements: list, depth: int = 0) -> str:
    """A program as text, for people to read.

    Args:
        statements: it.
        depth: of its first lines.
    """
    lines = []
    for each in statements:
        margin = "  " * depth
        if isinstance(each, If):
            lines += [f"{margin}If {each.test!r}:", listing(each.then, depth + 1)]
            if each.otherwise:
                lines += [f"{margin}else:", listing(each.otherwise, depth + 1)]
        elif isinstance(each, (Loop, Block)):
            lines += [margin + ("Loop:" if isinstance(each, Loop) else f"Block {each.label}:"), listing(each.body, depth + 1)]
        elif isinstance(each, Let):
            lines.append(f"{margin}Let {each.target!r} = {each.operation}({', '.join(map(repr, each.operands))})")
        else:
            lines.append(margin + type(each).__name__ + " " + ", ".join(map(repr, each)))
    return "\n".join(line for line in lines if line)
