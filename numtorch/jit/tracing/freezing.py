"""What a trace freezes: values that come to Python while one is made."""
from __future__ import annotations

import contextlib
import sys
import threading
import warnings
from typing import Any


class TracerWarning(UserWarning):
    """What a trace has frozen: the graph has one case of what the function decides each time."""


_tracing = threading.local()


def is_tracing() -> bool:
    """Whether a trace is made, in this thread.

    Example:
        >>> import numtorch as torch
        >>> torch.jit.is_tracing()
        False
    """
    return getattr(_tracing, "depth", 0) > 0


def tracing_state() -> bool | None:
    """True while a trace is made, else None: `torch._C._get_tracing_state`."""
    return is_tracing() or None


@contextlib.contextmanager
def tracing(keeping: Any = None):
    """While a trace is made.

    Args:
        keeping: it, where its graph calls scripts that look at elements; None where these are run as they are.
    """
    before = getattr(_tracing, "keeping", None)
    _tracing.depth, _tracing.keeping = getattr(_tracing, "depth", 0) + 1, keeping
    try:
        yield
    finally:
        _tracing.depth, _tracing.keeping = _tracing.depth - 1, before


def keeping() -> Any:
    """The trace whose graph calls scripts, or None."""
    return getattr(_tracing, "keeping", None)


_ASKED = {"item": "a Python number", "tolist": "a Python list", "numpy": "a NumPy array", "_as_bool": "a Python boolean",
          "_as_int": "a Python integer", "_as_float": "a Python float", "_asking": "random numbers that are drawn once",
          "region": "a part of rows whose number depends on values",
          "backward": "the size of a gradient, which depends on values,",
          **dict.fromkeys(("a_size", "asked_size"), "a size, which depends on values,")}


def warn_frozen(x, trace) -> None:
    """Warn that a value of a traced tensor came to Python.

    Args:
        x: the tensor; None where there is none, as where random numbers were drawn.
        trace: the trace.
    """
    frame, depth, asked = sys._getframe(1), 1, None
    while frame is not None and (frame.f_globals.get("__name__", "").startswith("numtorch.") or
                                 frame.f_code.co_filename.startswith("<numtorch ")):            # a generated function
        asked = _ASKED.get(frame.f_code.co_name, asked)
        frame, depth = frame.f_back, depth + 1
    warnings.warn(f"Converting a tensor to {asked or 'Python values'} might cause the trace to be incorrect. We can't record the "
                  f"data flow of Python values, so this value will be treated as a constant in the future. This means that the "
                  f"trace might not generalize to other inputs!", TracerWarning, stacklevel=depth + 1)
