"""What a captured call returns, such that a replay can return it: tensors, constants, containers that are made anew for both, and
whatever was there before, which is returned itself."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from ...layout import Size
from ...tensor import Tensor
from .reach import is_constant

HOLE = object()                                          # where a result has something that differs from call to call


class NotCaptured(Exception):
    """A captured call cannot be replayed: why."""


class Known(NamedTuple):
    """A container that the function reaches."""

    value: Any


class Given(NamedTuple):
    """A container among the arguments: the keys that lead to it from (args, kwargs)."""

    path: tuple


def containers(given) -> dict[int, Given]:
    """The lists and dicts among arguments, by identity.

    Args:
        given: the call's (args, kwargs).
    """
    found, pending = dict[int, Given](), [((), given)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, (list, dict)) and len(path) > 1:            # not kwargs, which is another dict in each call
            found.setdefault(id(value), Given(path))
        if isinstance(value, (list, tuple, dict)):
            pending += [((*path, key), each) for key, each in (value.items() if isinstance(value, dict) else enumerate(value))]
    return found


def opened(result, given, seen) -> tuple[Any, list]:
    """A result with `HOLE` where a replay puts something, and what that is: tensors, `Known` and `Given`.

    Args:
        result: what the call returned.
        given: its (args, kwargs).
        seen: the objects that the function reaches, by identity.

    Raises:
        NotCaptured: a replay would return another object than the call, or one object twice.
    """
    passed, made, leaves = containers(given), set[int](), list[Any]()

    def open_one(value):
        kind = type(value)
        if isinstance(value, Tensor):
            leaves.append(value)
            return HOLE
        if kind in (list, dict, OrderedDict):
            if id(value) in seen or id(value) in passed:
                leaves.append(Known(value) if id(value) in seen else passed[id(value)])
                return HOLE
            if id(value) in made:
                raise NotCaptured(f"it returns one {kind.__name__} twice")
            made.add(id(value))
            parts = [open_one(each) for each in (value if kind is list else value.values())]
            return parts if kind is list else kind(zip(value, parts))
        if kind is tuple or kind is Size:
            return kind([open_one(each) for each in value])
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return kind(*[open_one(each) for each in value])
        if is_constant(value) or id(value) in seen:
            return value
        raise NotCaptured(f"it returns an object that it makes ({kind.__name__})")

    return open_one(result), leaves
