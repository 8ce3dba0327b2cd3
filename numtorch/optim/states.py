"""The dicts that optimisers made of rules keep their states in: a write of somebody else's is counted, so that a step, which keeps
the addresses of what they hold, asks one number whether it still holds that. They are pickled and copied as Python's own."""
from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..storage import moves


class State(dict):
    """What an optimiser keeps for one parameter."""

    __slots__ = ()

    def __reduce__(self):
        return dict, (dict(self),)


class States(defaultdict):
    """The states of all parameters; one that is asked for first is empty."""

    __slots__ = ()

    def __init__(self, states=()) -> None:
        super().__init__(dict)
        for key, value in dict(states).items():
            defaultdict.__setitem__(self, key, State(value) if type(value) is dict else value)

    def __missing__(self, key):
        state = State()
        defaultdict.__setitem__(self, key, state)
        return state

    def __reduce__(self):
        return defaultdict, (dict,), None, None, iter(self.items())

    def __copy__(self):
        return defaultdict(dict, self)

    copy = __copy__

    def __repr__(self) -> str:
        return repr(defaultdict(dict, self))


def keep(state: dict, name: str, value: Any) -> None:
    """Write an entry of a parameter's state as its optimiser does, which is not counted.

    Args:
        state: any dict.
        name, value: the entry.
    """
    dict.__setitem__(state, name, value)


def _counted(kind, name):
    method = getattr(kind, name)

    def write(self, *args, **kwargs):
        moves[0] += 1
        return method(self, *args, **kwargs)
    write.__name__, write.__qualname__, write.__doc__ = name, f"{kind.__name__}.{name}", method.__doc__
    setattr(kind, name, write)


for _kind in (State, States):
    for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
        _counted(_kind, _name)
