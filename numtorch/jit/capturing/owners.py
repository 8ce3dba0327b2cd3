"""Whose a code object is: the user's, the standard library's, or this package's."""
from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from ... import storage
from ...kernels.events import SILENT_KIND, events

PACKAGE = str(Path(__file__).resolve().parents[2])
SILENT, OURS, USERS, STANDARDS, LEGACY = range(SILENT_KIND, SILENT_KIND + 5)
SILENT_FILES = [f"{PACKAGE}/{name}" for name in ("jit/", "kernels/entries.py", "kernels/events.py", "kernels/cuda/")]
TOLD: set = set()                                        # this package's code objects whose own calls matter, too
APART: set = set()                                       # those of functions that calls run by, of which nothing is captured
_STANDARD = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_ADDRESSES = os.path.join("numpy", "_core", "_internal.py")         # which says where an array is
_MAKING_BLOCKS = {storage._new_block.__code__, storage.address_of.__code__}
_kinds: dict = {}                                        # by identity, with the code object, so that it stays another's


def kind_of(code, scope) -> int:
    """Whose a code object is. From now on Python tells of its calls what may matter (kernels/events.py).

    Args:
        code: it.
        scope: the globals that it runs with.
    """
    known = _kinds.get(id(code))
    if known is None:
        file, module = code.co_filename, str(scope.get("__name__", ""))
        if file.startswith(tuple(SILENT_FILES)) or file.endswith(_ADDRESSES) or code in _MAKING_BLOCKS:
            kind = SILENT
        elif file.startswith(PACKAGE + "/legacy/"):
            kind = LEGACY
        elif file.startswith((PACKAGE + "/", "<numtorch ")):
            kind = OURS
        elif file.startswith("<frozen ") or module.partition(".")[0] == "numpy" or module.startswith("namedtuple_") or (
                file.startswith(_STANDARD) and "site-packages" not in file):
            kind = STANDARDS
        else:
            kind = USERS
        known = _kinds[id(code)] = kind, code
        events.know_code(code, kind, kind != OURS or code in TOLD or code in APART)
    return known[0]


def kind_of_frame(frame) -> int:
    """Whose the code is that runs in a frame."""
    return kind_of(frame.f_code, frame.f_globals)


def users_line(frame) -> tuple[str, int]:
    """The file and line of the user's innermost code.

    Args:
        frame: where it was called from.
    """
    last = frame
    while frame is not None:
        last = frame
        if kind_of_frame(frame) == USERS:
            break
        frame = frame.f_back
    return last.f_code.co_filename, last.f_lineno


def caller(frame, codes, reach: int = 4):
    """The frame of one of some codes among those that called one, or None where these end or after some steps.

    Args:
        frame: the one that was called.
        codes: code objects.
        reach: the steps.
    """
    for _ in range(reach):
        frame = frame.f_back
        if frame is None or frame.f_code in codes:
            return frame
    return None
