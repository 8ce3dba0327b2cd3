"""Where a call has effects on Python: the lines of the function after which what it reaches is not what it was."""
from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..capturing.items import Break
from ..capturing.reach import Unfollowed

EFFECT = "it has an effect on Python"
MOST = 512                                               # comparisons in a call: loops may have many turns


class Effects:
    """The lines of one call of a function that have effects.

    Args:
        code: the function's own code object, or None.
        state: notes what a call reaches: `state()` gives a function that says what of it has changed since, or None.

    Attributes:
        breaks: the lines, with what has changed there.
    """

    def __init__(self, code: Any, state: Callable[[], Callable[[], str | None]]) -> None:
        self.code, self.state = code, state
        self.breaks: list[Break] = []
        self.frame, self.line, self.compared = None, 0, 0

    @contextlib.contextmanager
    def located(self) -> Iterator[None]:
        """While the function is called. Nothing is noted without a code object, or where a debugger is told of lines already."""
        if self.code is None or sys.gettrace() is not None:
            yield
            return
        self.changed = self.state()
        sys.settrace(self._on_call)
        try:
            yield
        finally:
            sys.settrace(None)
            self.frame = None

    def _on_call(self, frame, event, _):
        if self.frame is not None or frame.f_code is not self.code:
            return None
        self.frame, self.line = frame, frame.f_lineno
        return self._on_line

    def _on_line(self, frame, event, _):
        what, self.compared = self.changed(), self.compared + 1
        try:
            if what is not None:
                self.breaks.append(Break(f"{EFFECT}: {what}", self.code.co_filename, self.line, self.line))
                self.changed = self.state()
            self.line, more = frame.f_lineno, self.compared < MOST
        except Unfollowed:                               # what is there now cannot be compared
            more = False
        if not more:
            sys.settrace(None)
            frame.f_trace = None
        return self._on_line if more else None
