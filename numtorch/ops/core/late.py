"""Functions of later rooms that earlier ones call: entered where they are written, looked up by name when they are called."""
from __future__ import annotations

from collections.abc import Callable

later: dict[str, Callable] = {}


def provide(function):
    """Decorator: let earlier rooms call a function as `later["its name"]`."""
    later[function.__name__] = function
    return function


def entered(table, names):
    """Decorator: put a function into a table under each of the names."""
    def add(function):
        table.update(dict.fromkeys(names, function))
        return function
    return add
