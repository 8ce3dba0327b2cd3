"""Marks for NVIDIA's profilers, which see them where the `nvtx` package is installed; elsewhere they are nothing."""
from __future__ import annotations

import contextlib
import itertools

try:
    import nvtx as _nvtx
except ImportError:
    _nvtx = None

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]
_open: list = []
_started: dict = {}                                      # what the package calls a range, by what its caller does
_numbers = itertools.count(1)


def range_push(msg) -> int:
    """Begin a named range, and return how many there are around it.

    Args:
        msg: its name.
    """
    if _nvtx is not None:
        _nvtx.push_range(str(msg))
    _open.append(msg)
    return len(_open) - 1


def range_pop() -> int:
    """End the innermost range, and return how many are left; -1 where there was none."""
    if not _open:
        return -1
    if _nvtx is not None:
        _nvtx.pop_range()
    _open.pop()
    return len(_open)


def range_start(msg) -> int:
    """Begin a named range that may end anywhere, in another thread too, and return what `range_end` takes.

    Args:
        msg: its name.
    """
    number = next(_numbers)
    _started[number] = None if _nvtx is None else _nvtx.start_range(str(msg))
    return number


def range_end(range_id: int) -> None:
    """End a range.

    Args:
        range_id: what `range_start` gave.
    """
    started = _started.pop(range_id, None)
    if started is not None:
        _nvtx.end_range(started)


def mark(msg) -> None:
    """A named moment.

    Args:
        msg: its name.
    """
    if _nvtx is not None:
        _nvtx.mark(str(msg))


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    """Context manager: a named range.

    Args:
        msg: its name, which is formatted with the other arguments.
        args, kwargs: of `str.format`.
    """
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
