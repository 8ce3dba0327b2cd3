"""Modules made of modules. Lists and dicts of parameters are in parametercontainer.py."""
from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .module import Module


def _numbered(module, index):
    """The child number `index`, counted from the end when negative, by the name it has."""
    count = len(module._modules)
    index = operator.index(index)
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of range")
    return next(islice(module._modules, index % count, None))


def pairs_of(name, pairs):
    """The names and values that a dict of modules or parameters is given, each checked before it is put in."""
    if not isinstance(pairs, Iterable):
        raise TypeError(f"{name}.update should be called with an iterable of key/value pairs, but got {type(pairs).__name__}")
    pair: Any
    for place, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{place} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{place} has length {len(pair)}; 2 is required")
        yield pair


class _Numbered(Module):
    """Modules whose names are their places."""

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._part(index)
        return self._modules[_numbered(self, index)]

    def __setitem__(self, index, module):
        setattr(self, _numbered(self, index), module)

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [_numbered(self, index)]
        for name in names:
            delattr(self, name)
        self._modules = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())


def _times(times):
    """How often a Sequential is repeated."""
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {Sequential}")
    return times


class Sequential(_Numbered):
    """Modules called one after the other.

    Args:
        args: modules, named "0", "1" and so on; or one OrderedDict of names and modules.

    What the first module takes -> what the last one gives. Places, slices, sums and multiples are those of a list.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=4, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(number), module) for number, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def _part(self, places):
        return type(self)(OrderedDict(list(self._modules.items())[places]))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(list(other))

    def __mul__(self, times):
        return Sequential(*list(self) * _times(times))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self.extend(list(self) * (_times(times) - 1))

    def append(self, module):
        """Add a module at the end, and return this one.

        Args:
            module: what to add.
        """
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before another, and return this one.

        Args:
            index: the place it will have; negative from the end.
            module: what to add.

        Raises:
            IndexError: no such place.
            AssertionError: not a Module.
        """
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        return self

    def extend(self, modules):
        """Add modules at the end, and return this one.

        Args:
            modules: any iterable of them.
        """
        for module in modules:
            self.append(module)
        return self

    def pop(self, key):
        """Take a module out and return it.

        Args:
            key: its place.

        Raises:
            IndexError: there is none.
        """
        module = self[key]
        del self[key]
        return module


class ModuleList(_Numbered):
    """A list of modules, which are found as children.

    Args:
        modules: any iterable of them; none when None.

    Example:
        >>> import numtorch as torch
        >>> layers = torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
        >>> len(layers), len(list(layers.parameters()))
        (3, 6)
    """

    def __init__(self, modules=None) -> None:
        super().__init__()
        self.extend(modules or ())

    def _part(self, places):
        return type(self)(list(self._modules.values())[places])

    def __contains__(self, module):
        return any(m is module for m in self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def append(self, module):
        """Add a module at the end, and return this one.

        Args:
            module: what to add.
        """
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before another.

        Args:
            index: the place it will have, as in `list.insert`.
            module: what to add.
        """
        modules = list(self)
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def extend(self, modules):
        """Add modules at the end, and return this one.

        Args:
            modules: any iterable of them.

        Raises:
            TypeError: not an iterable.
        """
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

    def pop(self, key):
        """Take a module out and return it.

        Args:
            key: its place.

        Raises:
            IndexError: there is none.
        """
        module = self[key]
        del self[key]
        return module

    def __repr__(self):
        """Equal neighbours are printed once, with how many there are."""
        runs = []
        for number, module in enumerate(self):
            text = repr(module).replace("\n", "\n  ")
            if runs and runs[-1][2] == text:
                runs[-1][1] = number
            else:
                runs.append([number, number, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name, which are found as children.

    Args:
        modules: a dict, or pairs of names and modules; none when None.

    Example:
        >>> import numtorch as torch
        >>> heads = torch.nn.ModuleDict({"small": torch.nn.Linear(2, 1), "large": torch.nn.Linear(2, 8)})
        >>> list(heads), heads["large"].out_features
        (['small', 'large'], 8)
    """

    def __init__(self, modules=None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Take a module out and return it.

        Args:
            key: its name.

        Raises:
            KeyError: there is none.
        """
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """Pairs of names and modules."""
        return self._modules.items()

    def update(self, modules):
        """Add modules, in place of those of the same names.

        Args:
            modules: a dict, or pairs of names and modules.

        Raises:
            TypeError: not an iterable, or of something that is none.
            ValueError: of something else than pairs.
        """
        for key, module in pairs_of("ModuleDict", modules.items() if hasattr(modules, "items") else modules):
            self[key] = module
