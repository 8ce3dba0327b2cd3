"""Classes of the user's as types of scripts: their attributes are those that `__init__` sets, their methods are scripts.

In Python the class stays as it is, and what a script makes are objects of it. A file holds the methods' text: what a loaded script
makes are objects of a class of that name, which has these methods.
"""
from __future__ import annotations

import ast
import types
from typing import Any

from ...ops.core.primitive import is_ours
from .kinds import Kind, accepts
from .problems import NotSupportedError
from .vocabulary import is_plain

OPERATORS: dict[type, str] = {
    ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__", ast.Pow: "__pow__", ast.MatMult: "__matmul__", ast.Eq: "__eq__", ast.NotEq: "__ne__",
    ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__", ast.GtE: "__ge__",
}
SPECIAL = frozenset(("__init__", "__len__", "__getitem__", "__contains__", *OPERATORS.values()))      # names with a meaning


def is_script_class(value: Any) -> bool:
    """Whether a value is a class whose objects can be in a script: the user's, without bases, with an `__init__` written out
    (a dataclass with `init=False` too)."""
    written = vars(value) if type(value) is type else {}
    return bool(written) and value.__bases__ == (object,) and not is_ours(value.__module__) and \
        isinstance(written.get("__init__"), types.FunctionType) and \
        ("__dataclass_params__" not in written or not written["__dataclass_params__"].init)


def _generated(function) -> bool:
    """Whether `dataclass` wrote a method, of which there is no source."""
    return function.__code__.co_filename == "<string>"


class ScriptClass:
    """A class.

    Args:
        unit: what it belongs to.
        name: under which the unit's scripts have it.
        python: the user's class; None for one from a file.

    Attributes:
        result: the type of its objects.
        declared: the types that the class's body says of attributes.
        constants: the plain values in it.
        attributes: the types of what `__init__` sets, as far as it was checked.
        methods: scripts by name; `shared`, the unit's functions that static methods are, by the methods' names.
        function: makes an object; `arguments`, `places` and `with_default` are its, as a script's.
    """

    def __init__(self, unit: Any, name: str, python: type | None = None) -> None:
        self.unit, self.name, self.python = unit, name, python
        self.result = Kind("Object", (self,))
        self.declared: dict[str, Kind] = {}
        self.constants: dict[str, Any] = {}
        self.attributes: dict[str, Kind] = {}
        self.methods: dict[str, Any] = {}
        self.shared: dict[str, str] = {}
        self.made: Any = type(name, (), {}) if python is None else python
        self.names = {} if python is None else {python.__name__: python}       # what its methods may call it
        if python is not None:
            self.constants = {key: value for key, value in vars(python).items()
                              if not key.startswith("__") and is_plain(value) and not isinstance(value, (list, dict))
                              and key not in vars(python).get("__dataclass_fields__", ())}     # those are defaults of attributes

    # ------------------------------------------------------------ what it has
    def read(self) -> None:
        """Read all methods of the user's class."""
        for name in list(vars(self.made)) if self.python is not None else ():
            self.method(name)

    def method(self, name: str) -> Any:
        """A method, which need not be checked yet; None where there is none.

        Args:
            name: of it.
        """
        if name in self.methods or self.python is None:
            return self.methods.get(name)
        value = vars(self.python).get(name)
        if isinstance(value, staticmethod):
            self.shared[name] = self.unit.add(value.__func__, self.names)
            return None
        function = value.fget if isinstance(value, property) else value
        if not isinstance(function, types.FunctionType):
            return None
        if name.startswith("__") and (name not in SPECIAL or _generated(function)):
            return None
        script = self.methods[name] = self.unit.read_method(function, name, self)
        script.is_property = isinstance(value, property)
        return script

    def attribute(self, name: str) -> Kind | None:
        """The type of an attribute that objects have; None where they have none of this name.

        Args:
            name: of it.
        """
        begin = self.method("__init__")
        if begin is not None and not begin.checking:
            begin.ready()
        return self.attributes.get(name)

    def ready(self, caller: Any = None, node: Any = None) -> ScriptClass:
        """This class, of which objects can be made."""
        begin = self.method("__init__")
        if begin is None:
            raise NotSupportedError(f"jit.script: {self.name} has no __init__, which says what its objects hold")
        begin.ready(caller, node)
        self.arguments, self.places, self.with_default = begin.arguments, begin.places, begin.with_default
        return self

    def check(self) -> None:
        """Check all methods."""
        self.ready()
        self.read()
        for each in list(self.methods.values()):
            if hasattr(each, "ready"):
                each.ready()
        for name, each in self.methods.items() if self.python is None else ():
            setattr(self.made, name, property(each.function) if each.is_property else each.function)
        for name, function in self.shared.items() if self.python is None else ():
            setattr(self.made, name, staticmethod(self.unit.functions[function].function))

    # ------------------------------------------------------------ objects
    def function(self, *args: Any, **kwargs: Any) -> Any:
        made = object.__new__(self.made)
        self.methods["__init__"].function(made, *args, **kwargs)
        return made

    def accepts(self, value: Any) -> bool:
        """Whether a value is an object of this class, or of that of its name where this one is from a file.

        Args:
            value: it.
        """
        if not isinstance(value, self.made) and (self.python is not None or type(value).__name__ != self.made.__name__):
            return False
        return all(hasattr(value, name) and accepts(kind, getattr(value, name)) for name, kind in self.attributes.items())
