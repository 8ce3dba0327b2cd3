"""Lists and dicts of parameters."""
from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any

from ...tensor import Tensor
from ..parameter import Parameter
from .container import pairs_of
from .module import Module


class _ParameterRepr(Module):
    """What lists and dicts of parameters print."""

    def extra_repr(self):
        lines = []
        for name, value in self._named():
            if isinstance(value, Tensor):
                kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
                place = f" ({value.device})" if value.device.type == "cuda" else ""
                size = "x".join(map(str, value.shape))
                lines.append(f"  ({name}): {kind} containing: [{self._type_of(value)} of size {size}{place}]")
            else:
                lines.append(f"  ({name}): Object of type: {type(value).__name__}")
        return "\n".join(lines)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} should not be called.")


class ParameterList(_ParameterRepr):
    """A list of parameters, which the module that holds it finds.

    Args:
        values: any iterable; tensors become parameters, other things are kept as they are. None is empty.

    Example:
        >>> import numtorch as torch
        >>> scales = torch.nn.ParameterList([torch.ones(2), torch.ones(3)])
        >>> [tuple(p.shape) for p in scales.parameters()]
        [(2,), (3,)]
    """

    def __init__(self, values=None) -> None:
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def _named(self):
        return enumerate(self)

    @staticmethod
    def _type_of(tensor):
        return tensor.dtype

    def _name(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(self._size)[index]])
        return getattr(self, self._name(index))

    def __setitem__(self, index, value):
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add a parameter at the end, and return this list.

        Args:
            value: a tensor becomes a parameter.
        """
        setattr(self, str(self._size), _as_parameter(value))
        self._size += 1
        return self

    def extend(self, values):
        """Add parameters at the end, and return this list.

        Args:
            values: any iterable but a tensor; tensors become parameters.

        Raises:
            TypeError: anything else.
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterDict(_ParameterRepr):
    """Parameters by name, which the module that holds it finds.

    Args:
        parameters: a dict, or pairs of names and values; tensors become parameters, other things are kept as they are. None is
            empty.

    Example:
        >>> import numtorch as torch
        >>> weights = torch.nn.ParameterDict({"left": torch.ones(2), "right": torch.ones(3)})
        >>> weights["right"].requires_grad, list(weights)
        (True, ['left', 'right'])
    """

    def __init__(self, parameters=None) -> None:
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def _named(self):
        return self.items()

    @staticmethod
    def _type_of(tensor):
        return tensor.type()

    @staticmethod
    def _name(key):
        if not isinstance(key, str):
            raise TypeError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}')")
        return key

    def __getitem__(self, key):
        return getattr(self, self._name(key))

    def __setitem__(self, key, value):
        self._keys[self._name(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The names."""
        return self._keys.keys()

    def values(self):
        """The parameters."""
        return (self[k] for k in self._keys)

    def items(self):
        """Pairs of names and parameters."""
        return ((k, self[k]) for k in self._keys)

    def pop(self, key):
        """Take a parameter out and return it.

        Args:
            key: its name.

        Raises:
            AttributeError: there is none.
        """
        value = self[key]
        del self[key]
        return value

    def update(self, parameters):
        """Add parameters, in place of those of the same names.

        Args:
            parameters: an OrderedDict, another ParameterDict, or pairs of names and values; those of a plain dict come in the order
                of their names, as in PyTorch.

        Raises:
            TypeError: not an iterable, or of something that is none; a name that is no string.
            ValueError: of something else than pairs.
        """
        if hasattr(parameters, "items"):
            ordered = isinstance(parameters, (OrderedDict, ParameterDict))
            parameters = parameters.items() if ordered else sorted(parameters.items())
        for key, value in pairs_of("ParameterDict", parameters):
            self[key] = value

    def clear(self):
        """Take all parameters out."""
        for key in list(self._keys):
            del self[key]

    def popitem(self):
        """Take the last parameter out and return its name and it.

        Raises:
            KeyError: there is none.
        """
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key, default=None):
        """The parameter of that name.

        Args:
            key: its name.
            default: given back where there is none.
        """
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        """The parameter of that name, or else the default, which is then put in.

        Args:
            key: its name.
            default: what to put in where there is none.
        """
        if key not in self:
            self[key] = default
        return self[key]

    def copy(self):
        """Another dict of the same parameters."""
        return type(self)(self)

    def fromkeys(self, keys, default=None):
        """A new dict in which all names have one value.

        Args:
            keys: the names.
            default: the value.
        """
        return type(self)((key, default) for key in keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __or__(self, other):
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other):
        joined = other.copy()
        joined.update(self)
        return joined

    def __ior__(self, other):
        self.update(other)
        return self
