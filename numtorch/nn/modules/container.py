"""Modules made of modules, and lists and dicts of parameters."""
from __future__ import annotations

from collections import OrderedDict
from itertools import islice

from ...tensor import Tensor
from ..parameter import Parameter
from .module import Module


def _numbered(module, index):
    """The child number `index`, counted from the end when negative, by the name it has."""
    count = len(module._modules)
    index = index.__index__()
    if not -count <= index < count:
        raise IndexError(f"index {index} is out of range")
    return next(islice(module._modules, index % count, None))


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

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())


class Sequential(_Numbered):
    """Modules called one after the other: `Sequential(a, b)` or `Sequential(OrderedDict(first=a, second=b))`.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=4, bias=True)
          (1): ReLU()
        )
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named = args[0].items()
        else:
            named = ((str(number), module) for number, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _part(self, places):
        return type(self)(OrderedDict(list(self._modules.items())[places]))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before another."""
        modules = list(self)
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}
        return self

    def extend(self, modules):
        """Add modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, index):
        """Take a module out and return it."""
        module = self[index]
        del self[index]
        return module


class ModuleList(_Numbered):
    """A list of modules, which are found as children."""

    def __init__(self, modules=None):
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
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before another."""
        modules = list(self)
        modules.insert(index, module)
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def extend(self, modules):
        """Add modules at the end."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in modules:
            self.append(module)
        return self

    def pop(self, index):
        """Take a module out and return it."""
        module = self[index]
        del self[index]
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
    """Modules by name, which are found as children."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key):
        """Take a module out and return it."""
        return self._modules.pop(key)

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()

    def update(self, modules):
        """Add modules from a dict or from (name, module) pairs."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"ModuleDict.update should be called with an iterable of key/value pairs, but got "
                            f"{type(modules).__name__}")
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


class _ParameterRepr(Module):
    """What lists and dicts of parameters print."""

    def extra_repr(self):
        lines = []
        for name, value in self._named():
            if isinstance(value, Tensor):
                kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
                lines.append(f"({name}): {kind} containing: [{value.dtype} of size {'x'.join(map(str, value.shape))}]")
            else:
                lines.append(f"({name}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_ParameterRepr):
    """A list of parameters (tensors become parameters), which the module that holds it finds."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _named(self):
        return [(str(i), self[i]) for i in range(self._size)]

    def _name(self, index):
        index = index.__index__()
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(self._size)[index]])
        return getattr(self, self._name(index))

    def __setitem__(self, index, value):
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add a parameter at the end."""
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values):
        """Add parameters at the end."""
        for value in values:
            self.append(value)
        return self


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterDict(_ParameterRepr):
    """Parameters by name (tensors become parameters), which the module that holds it finds."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def _named(self):
        return self.items()

    def __getitem__(self, key):
        return getattr(self, str(self._known(key)))

    def _known(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return key

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, str(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[self._known(key)]
        delattr(self, str(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def values(self):
        return [self[k] for k in self._keys]

    def items(self):
        return [(k, self[k]) for k in self._keys]

    def pop(self, key):
        """Take a parameter out and return it."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters):
        """Add parameters from a dict or from (name, parameter) pairs."""
        for key, value in parameters.items() if hasattr(parameters, "items") else parameters:
            self[key] = value
