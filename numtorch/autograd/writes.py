"""What is noted of writes in place, for backward to find: version, op, in anomaly mode the source line, and who views what."""
from __future__ import annotations

import sys
import traceback
import weakref

from .modes import modes


class _Traced(str):
    """The name of an op that wrote in anomaly mode, with the source line. The next writer's name takes its place."""

    __slots__ = ("line",)


def source_line() -> str:
    """Where the user's code is now: the innermost frame outside this package."""
    package = __name__.split(".")[0]
    frame = innermost = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals.get("__name__"), package):
        frame = frame.f_back
    return "".join(traceback.format_list(traceback.extract_stack(frame or innermost, limit=1)))


def _is_ours(module, package):
    """Whether a frame's module belongs to the package; functions made of source text (an op's) have no module name."""
    return module is None or module == package or module.startswith(package + ".")


def check_mode(storage, op_name) -> None:
    """Raise RuntimeError for a write outside of inference mode to what was made in it."""
    if storage.inference and not modes.inference:
        raise RuntimeError(f"Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a "
                           f"normal tensor before doing inplace update. ({op_name})")


def mark_written(storage, op_name) -> None:
    """Note an in-place write, before it: the version counter, the op, and in anomaly mode the line."""
    check_mode(storage, op_name)
    storage.version += 1
    storage.writer = op_name
    if modes.anomaly:
        storage.writer = _Traced(op_name)
        storage.writer.line = source_line()


def note_view(source, view, origin=None) -> None:
    """Let writes to a tensor or to this view of it be noticed by the other. `origin` says why the view's own history is not that of
    a view op, if it is not."""
    view._base = base = source if source._base is None else source._base
    views = base.__dict__.setdefault("_views", [])
    if len(views) >= 32 and not len(views) & (len(views) - 1):             # at powers of two, drop the dead
        views[:] = [v for v in views if v() is not None]
    views.append(weakref.ref(view))
    if origin is not None:
        view._origin = origin
