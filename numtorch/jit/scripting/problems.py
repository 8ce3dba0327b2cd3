"""Errors at the user's line."""
from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator


class NotSupportedError(RuntimeError):
    """What a script does is not in the subset of Python that scripts are written in."""


class UnsupportedNodeError(NotSupportedError):
    """A statement or an expression of Python that scripts do not have."""


class Source:
    """Where a tree comes from.

    Args:
        file: its file.
        name: the function's.
        lines: its lines.
        first: the number of the first in the file.
    """

    def __init__(self, file: str, name: str, lines: list[str], first: int = 1) -> None:
        self.file, self.name, self.lines, self.first = file, name, lines, first

    def at(self, node: ast.AST | None) -> str:
        """A node's line with a mark below it, as Python's own errors have it."""
        number = getattr(node, "lineno", None)
        if number is None or not self.first <= number < self.first + len(self.lines):
            return f'  File "{self.file}", in {self.name}'
        line = self.lines[number - self.first]
        start = getattr(node, "col_offset", 0)
        end = node.end_col_offset if getattr(node, "end_lineno", None) == number else len(line)
        mark = " " * start + "~" * max(1, (end or len(line)) - start)
        return f'  File "{self.file}", line {number}, in {self.name}\n    {line}\n    {mark} <--- HERE'


def refuse(source: Source, node: ast.AST | None, message: str, kind: type[Exception] = RuntimeError):
    """Raise what is wrong, and where.

    Args:
        source: of the tree.
        node: the part of it.
        message: what is wrong.
        kind: the exception's class.
    """
    raise kind(f"{message}:\n{source.at(node)}") from None


@contextlib.contextmanager
def not_too_deep(what: str) -> Iterator[None]:
    """Say in a sentence that functions call each other, or expressions stand in each other, deeper than Python goes.

    Args:
        what: is done with them.
    """
    try:
        yield
    except RecursionError:
        raise NotSupportedError(
            f"{what}: functions that call each other, or expressions in each other, are nested too deeply for Python "
            f"(sys.getrecursionlimit() is {sys.getrecursionlimit()}): write a loop, or fewer levels"
        ) from None
