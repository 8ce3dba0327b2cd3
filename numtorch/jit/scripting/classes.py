"""Classes of the user's as types of scripts: their attributes are those that `__init__` sets, their methods are scripts.

In Python the class stays as it is, and what a script makes are objects of it. A file holds the methods' text: what a loaded script
makes are objects of a class of that name, which has these methods.
"""
from __future__ import annotations

import ast
import dataclasses
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
_COMPARISONS = {ast.Eq: "==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
SPECIAL = frozenset(("__init__", "__post_init__", "__call__", "__len__", "__getitem__", "__contains__",       # names with a meaning
                     *OPERATORS.values()))


def is_script_class(value: Any) -> bool:
    """Whether a value is a class whose objects can be in a script: the user's, without bases, with an `__init__` of its own."""
    written = vars(value) if type(value) is type else {}
    return bool(written) and value.__bases__ == (object,) and not is_ours(value.__module__) and \
        isinstance(written.get("__init__"), types.FunctionType)


def _generated(function) -> bool:
    """Whether `dataclass` wrote a method, of which there is no source."""
    return function.__code__.co_filename == "<string>"


def _dataclass_method(made: ScriptClass, name: str) -> str:
    """The text of a method that `dataclass` wrote."""
    fields = dataclasses.fields(made.python)             # type: ignore[arg-type]
    if name != "__init__":
        sign = next(said for kind, said in _COMPARISONS.items() if OPERATORS[kind] == name)
        ours, theirs = [f"({''.join(f'{one}.{each.name}, ' for each in fields if each.compare)})" for one in ("self", "other")]
        return f"def {name}(self, other: {made.result}) -> bool:\n    return {ours} {sign} {theirs}"
    if vars(made.python)["__dataclass_params__"].frozen:
        raise NotSupportedError(f"jit.script: {made.name} is frozen, and __init__ sets attributes: use a named tuple")
    arguments, lines = [], []
    for each in fields:
        default = "" if each.default is dataclasses.MISSING else made.unit.text_of(each.default)
        if default is None or each.default_factory is not dataclasses.MISSING or each.kw_only:
            raise NotSupportedError(f"jit.script: {made.name}.{each.name} has a default that is made anew for each object, or no "
                                    "value of a script, or is given by name only: write the class's __init__ out")
        if each.init:
            arguments.append(f", {each.name}: {made.declared[each.name]}" + (f"={default}" if default else ""))
        if each.init or default:
            lines.append(f"    self.{each.name} = {each.name if each.init else default}")
    if made.method("__post_init__") is not None:
        lines.append("    self.__post_init__()")
    return f"def __init__(self{''.join(arguments)}):\n" + "\n".join(lines or ["    pass"])


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
            function = self.shared[name] = self.unit.add(value.__func__, self.names)
            self.unit.called.add(function)
            return None
        function = value.fget if isinstance(value, property) else value
        if not isinstance(function, types.FunctionType):
            return None
        if name.startswith("__") and name not in SPECIAL:
            return None
        script = self.methods[name] = self.unit.text_method(_dataclass_method(self, name), self) if _generated(function) else \
            self.unit.read_method(function, name, self)
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
