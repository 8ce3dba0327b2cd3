"""`torch.ops.aten`: ATen's names and overloads, leading to our functions.

    torch.ops.aten.add.Tensor(a, b)
    torch.ops.aten.convolution(x, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)

names     which of ATen's names are functions of ours, and how their arguments are ordered there
forms     those that are made of several

Arguments stand in ATen's order. Reductions of losses are 0, 1 and 2 for "none", "mean" and "sum". An overload compares equal to the
function that it leads to, so that lists of ops (`torch.utils.checkpoint.create_selective_checkpoint_contexts`) may hold either.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numtorch

from .forms import FORMS, derived
from .names import DIFFERENTIATED, DIRECT, ORDERED

__all__ = ["Overload", "Packet"]

_REDUCTIONS = ("none", "mean", "sum")


class Overload:
    """One form of an op of ATen's.

    Attributes:
        function: what it leads to.
        overloadpacket: the op.
    """

    def __init__(self, packet: Packet, overload: str, function: Callable) -> None:
        self.overloadpacket, self.function, self._overloadname = packet, function, overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self.__doc__ = function.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:
            args = kwargs.pop("self"), *args
        return self.function(*args, **kwargs)

    def name(self) -> str:
        """The name as ATen writes it, such as "aten::add.Tensor".

        Example:
            >>> import numtorch as torch
            >>> torch.ops.aten.add.Tensor.name(), torch.ops.aten.mm.default.name()
            ('aten::add.Tensor', 'aten::mm')
        """
        return f"aten::{self.__name__.removesuffix('.default')}"

    def __eq__(self, other):
        return self is other or self.function is other

    def __hash__(self):
        return hash(self.function)

    def __repr__(self):
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


class Packet:
    """An op of ATen's with its overloads, which are its attributes; called itself it takes the first that the arguments fit."""

    def __init__(self, name: str, functions: dict[str, Callable]) -> None:
        self.__name__ = name
        self._overloads = {overload: Overload(self, overload, function) for overload, function in functions.items()}

    def overloads(self) -> list[str]:
        """The names of its overloads.

        Example:
            >>> import numtorch as torch
            >>> torch.ops.aten.squeeze.overloads()
            ['default', 'dim', 'dims']
        """
        return list(self._overloads)

    def __getattr__(self, name):
        try:
            return self.__dict__["_overloads"][name]
        except KeyError:
            raise AttributeError(f"The underlying op of 'aten.{self.__name__}' has no overload name '{name}'") from None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:
            args = kwargs.pop("self"), *args
        *others, last = dict.fromkeys(each.function for each in self._overloads.values())
        for function in others:
            try:
                return function(*args, **kwargs)
            except TypeError:
                continue
        return last(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"

    def __str__(self):
        return f"aten.{self.__name__}"


# ---------------------------------------------------------------- from names to functions
_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


def _in(place, path):
    """What a dotted path leads to; None where there is nothing."""
    for part in path.split("."):
        place = getattr(place, part, None)
    return place if callable(place) else None


def _function(name):
    """Our function of the same arguments."""
    for prefix, namespace in _PREFIXES.items():
        if name.startswith(prefix):
            function = _in(numtorch, f"{namespace}.{name.removeprefix(prefix)}")
            if function is not None:
                return function
    for place in (numtorch, numtorch.nn.functional, numtorch.Tensor):
        function = _in(place, name)
        if function is not None:
            return function
    return None


def _ordered(row):
    """A function of ATen's arguments, of a row of the table."""
    path, *words = row.split()
    function = _in(numtorch, path)
    assert function is not None, path
    pairs = [word.partition("=") for word in words]
    order = [theirs for theirs, _, _ in pairs]
    means = {theirs: ours or theirs for theirs, _, ours in pairs}
    dropped = {theirs for theirs in order if theirs.startswith("-")}

    @functools.wraps(function)
    def reordered(*args, **kwargs):
        if len(args) > len(order):
            raise TypeError(f"{path}() takes {len(order)} arguments in ATen's order, {len(args)} were given")
        given = {**dict(zip(order, args)), **kwargs}
        given = {means.get(name, name): value for name, value in given.items() if not {name, f"-{name}"} & dropped}
        if type(given.get("reduction")) is int:
            given["reduction"] = _REDUCTIONS[given["reduction"]]
        first = means[order[0]]
        return function(given.pop(first), **given) if first in given else function(**given)
    return reordered


_OVERLOADS = {name: group.split() for group, names in DIRECT.items() for name in names.split()}
_packets: dict[str, Packet] = {}


def _functions(name):
    """The overloads of one of ATen's names, as far as they are here."""
    overloads = {}
    if name in ORDERED:
        overloads["default"] = _ordered(ORDERED[name])
    for key, row in ORDERED.items():
        if key.startswith(f"{name}."):
            overloads[key.removeprefix(f"{name}.")] = _ordered(row)
    overloads.update(FORMS.get(name, {}))
    if name.endswith("_backward") and name.removesuffix("_backward") in DIFFERENTIATED:
        overloads["default"] = derived(__getattr__(name.removesuffix("_backward")))
    if name in _OVERLOADS:
        direct = _function(name)
        overloads.update({overload: direct for overload in _OVERLOADS[name] if overload not in overloads})
    return overloads


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    if name not in _packets:
        functions = _functions(name)
        if not functions:
            instead = "the ops are functions of numtorch and methods of its tensors" if _function(name) is None else \
                f"call numtorch's own {name}, whose arguments stand in another order"
            raise AttributeError(f"numtorch has no torch.ops.aten.{name}: {instead}")
        _packets[name] = Packet(name, functions)
    return _packets[name]
