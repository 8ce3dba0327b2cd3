"""What has to be done when nothing refers to something any more: memory given back, a hold let go, a descriptor closed.

A plain `__del__` is no place for that. The garbage collector calls those of all objects of a cycle first, and only then sees
whether anything refers to them still: a generator's `finally` in the same cycle, or a `__del__` of the user's, then uses, and
may keep, what was given back already. A weak reference, too, leads to an object while its `__del__` runs, and
another thread may follow it.

A finaliser is therefore a part of what it is for, has no weak references, and is hidden from the collector: it ends when what
refers to it is taken apart, and never before. Where each call counts (`storage.py`), a `__del__` looks at `LAST` instead.
"""
from __future__ import annotations

import contextlib
import ctypes
import gc
from sys import getrefcount

_hide = ctypes.pythonapi.PyObject_GC_UnTrack
_hide.argtypes, _hide.restype = [ctypes.py_object], None


class Finaliser:
    """What calls a function when nothing refers to it any more.

    Args:
        function: what is called, in any thread and at any point.
        arguments: its arguments. They live until then, and must not lead to what the finaliser is a part of.

    Example:
        >>> end = Finaliser(print, "gone")
        >>> del end
        gone
    """

    __slots__ = ("function", "arguments")

    def __init__(self, function, *arguments) -> None:
        self.function, self.arguments = function, arguments
        _hide(self)

    def __del__(self):
        self.function(*self.arguments)


class _Last:
    """Notes what getrefcount says in a `__del__` of what nothing else refers to."""

    def __del__(self):
        _last.append(getrefcount(self))


_last: list = []
_Last()
LAST = _last.pop()                                       # a `__del__` that sees more is the garbage collector's, and not the end


@contextlib.contextmanager
def without_collector():
    """Inside, cyclic garbage waits."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
