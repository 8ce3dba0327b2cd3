"""Whether a gradient is its holder's alone, so that it may be kept or added to in place: reference counts say so."""
from __future__ import annotations

from sys import getrefcount

from ..storage import Storage
from ..tensor import wrap


def _references(tensor):
    """The reference counts of a tensor and of its storage, as seen from a function two calls away from the holder."""
    return getrefcount(tensor), getrefcount(tensor.memory)


def _seen_from_caller(tensor):
    return _references(tensor)


def _calibrate():
    """What `_references` counts for a tensor that only its holder and one caller know (this differs between Pythons)."""
    storage = Storage(0, 0, None)
    tensor = wrap(storage, 0, None)
    del storage
    return _seen_from_caller(tensor)


_TENSOR, _STORAGE = _calibrate()


def owned(grad, layout=None) -> bool:
    """Whether a gradient that the caller was handed by its only holder may be kept or added to in place.

    True when no other tensor, view, array or list refers to it or to its memory, and it is of `layout`, row-major when None.
    """
    tensor, storage = _references(grad)
    return tensor <= _TENSOR + 1 and storage <= _STORAGE + grad.memory.pooled \
        and (grad.layout.contiguous if layout is None else grad.layout is layout)
