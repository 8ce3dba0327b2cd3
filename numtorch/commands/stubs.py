"""What type checkers and editors see of what is attached and generated: `python -m numtorch stubs` writes the `.pyi` files.

Ops come from records and are attached to Tensor when the package is imported, where no checker can follow. A stub is made of the
functions themselves: names, order and defaults of arguments from their signatures, types from their annotations. An argument
without one has the type that its name has in all of PyTorch (argumenttypes.py), where that is one, else Any. `attached.pyi` holds
a class with all that Tensor is given, from which Tensor inherits in the eyes of a checker only (tensor.py), and results' types.
"""
from __future__ import annotations

import ast
import importlib
import inspect
import math
import sys
from pathlib import Path

import numtorch

from .. import types
from ..ops.core.return_types import Pair
from ..tensor import Tensor
from .argumenttypes import FLAGS, MEANS, OVERLOADS, RETURNS

NAMESPACES = ("numtorch", "numtorch.fft", "numtorch.linalg", "numtorch.random", "numtorch.special", "numtorch.nn.functional")
ATTACHED = "numtorch.attached"

# Types are imported under other names: `float`, `dtype` or `Size` may be a dtype, a method or a property where they are used.
_HEAD = """# Written by `python -m numtorch stubs` (numtorch/commands/stubs.py) from the functions: change those, not this.
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable as _Callable, Iterator as _Iterator, Sequence as _Sequence
from typing import Any as _Any, Literal as _Literal, NamedTuple as _NamedTuple, overload as _overload

from numpy import ndarray as _ndarray
from numtorch.dtypes import dtype as _dtype
from numtorch.tensor import Tensor as Tensor
"""
_WORDS = {"Tensor": "Tensor", "Any": "_Any", "bool": "_bool", "complex": "_complex", "float": "_float", "int": "_int",
          "str": "_str", "ndarray": "_ndarray[_Any, _Any]", "dtype": "_dtype", "Callable": "_Callable[..., _Any]",
          "Iterator": "_Iterator", "Sequence": "_Sequence", "memoryview": "memoryview", "list": "list", "dict": "dict",
          "tuple": "tuple"}
_OF_OBJECT = ("__format__", "__repr__", "__str__", "__reduce_ex__")     # as `object` has them


class Stub:
    """One `.pyi` file in the making."""

    def __init__(self, module: str):
        self.module = module
        self.lines: list[str] = []
        self.taken: set[str] = set()                     # import statements
        self.results: dict[str, tuple] = {}              # the fields of named tuples

    # ---------------------------------------------------------------- types
    def type(self, text, scope=None) -> str:
        """An annotation in a stub's words. `scope` is where its other names are looked up."""
        tree = ast.parse(text if isinstance(text, str) else getattr(text, "__name__", "None"), mode="eval")
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = _WORDS.get(node.id) or self._class(node.id, (scope or {}).get(node.id))
        return ast.unparse(tree)

    def _class(self, name, kind) -> str:
        """The name by which this stub knows a class of the package, or one of `types`."""
        source, original = getattr(kind, "__module__", ""), name
        if kind is None and name in types.__all__:
            source = types.__name__
        elif hasattr(kind, "_fields") and kind is not Pair:
            source, original = ATTACHED, name.lstrip("_")
            self.results[original] = kind._fields
        elif not source.startswith("numtorch"):
            raise TypeError(f"{self.module}: a stub cannot say {name}")
        if source == self.module:
            return original
        self.taken.add(f"from {source} import {original} as _{original}")
        return "_" + original

    def _argument(self, function, name, parameter) -> str:
        if parameter.annotation is not parameter.empty:
            result = self.type(parameter.annotation, inspect.unwrap(function).__globals__)
        else:
            meaning = MEANS.get(f"{name}.{parameter.name}") or MEANS.get(parameter.name)
            if isinstance(parameter.default, (bool, str)) and meaning is None:
                meaning = type(parameter.default).__name__
            if parameter.kind is parameter.VAR_POSITIONAL and meaning == "Sequence[Tensor]":
                meaning = "TensorOrTensors"              # `f(a, b)` and `f([a, b])`
            result = self.type(meaning or "Any", vars(numtorch))
        return f"{result} | None" if parameter.default is None and result != "_Any" and not result.endswith("None") else result

    def _result(self, function, name) -> str:
        if name in RETURNS:
            return self.type(RETURNS[name])
        if hasattr(function, "op"):
            return "Tensor"
        function = inspect.unwrap(function)
        if "return" not in function.__annotations__:
            raise TypeError(f"{function.__module__}.{name}: say what it returns, by an annotation")
        return self.type(function.__annotations__["return"], function.__globals__)

    # ---------------------------------------------------------------- signatures
    def _signature(self, function, name, parameters, result, of_class, literal=None) -> str:
        """`(arguments) -> result`; `literal` gives some arguments types of their own."""
        parts, last = [], None
        for parameter in parameters:
            if last is parameter.POSITIONAL_ONLY and parameter.kind is not last:
                parts.append("/")
            if parameter.kind is parameter.KEYWORD_ONLY and last not in (parameter.kind, parameter.VAR_POSITIONAL):
                parts.append("*")
            stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
            default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
            kind = (literal or {}).get(parameter.name) or self._argument(function, name, parameter)
            if parameter.name == "out" and result != "Tensor":
                kind = "_Any"                            # several tensors, as the result
            parts.append("self" if of_class and not parts else f"{stars}{parameter.name}: {kind}{default}")
            last = parameter.kind
        return f"({', '.join(parts)}) -> {result}"

    def _by_hand(self, text, of_class) -> str:
        """A signature of `OVERLOADS` in a stub's words."""
        definition = ast.parse(f"def f{text}: ...").body[0]
        arguments = definition.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg])):
            argument.annotation = ast.parse(self.type(ast.unparse(argument.annotation), {"Pair": Pair}), mode="eval").body
        if of_class:
            arguments.args[0] = ast.arg("self")
        return f"({ast.unparse(arguments)}) -> {self.type(ast.unparse(definition.returns), {'Pair': Pair})}"

    def _signatures(self, function, name, of_class) -> list:
        """One signature, or several where the result depends on an argument."""
        if name in OVERLOADS:
            return [self._by_hand(text, of_class) for text in OVERLOADS[name]]
        parameters = _parameters(function)
        flags = [p for p in parameters if p.name in FLAGS]
        if not flags:
            return [self._signature(function, name, parameters, self._result(function, name), of_class)]
        without, given = [self.type(text) for text in FLAGS[flags[0].name]]
        result = [self._signature(function, name, parameters, without, of_class, {p.name: "_Literal[False]" for p in flags})]
        if len(flags) == 1:
            flag = flags[0].replace(kind=inspect.Parameter.KEYWORD_ONLY, default=inspect.Parameter.empty)
            others = sorted([*[p for p in parameters if p.name != flag.name], flag], key=lambda p: p.kind)
            result.append(self._signature(function, name, others, given, of_class, {flag.name: "_Literal[True]"}))
        return [*result, self._signature(function, name, parameters, "_Any", of_class)]

    # ---------------------------------------------------------------- what is written
    def function(self, function, name, of_class=False) -> None:
        """A function, or a method."""
        indent, doc = "    " * of_class, _first_line(function)
        signatures = self._signatures(function, name, of_class)
        mark = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        for signature in signatures:
            self.lines += [f"{indent}@_overload"] if len(signatures) > 1 else []
            self.lines += [f"{indent}def {name}{signature}:{'' if doc else ' ...'}{mark}"]
            self.lines += [f"{indent}    {doc}"] if doc else []
            doc = ""

    def property(self, value, name) -> None:
        """A property of Tensor."""
        kind, doc = self._result(value.fget, name), _first_line(value)
        self.lines += ["    @property", f"    def {name}(self) -> {kind}:{'' if doc else ' ...'}"]
        self.lines += [f"        {doc}"] if doc else []
        if value.fset is not None:
            self.lines += [f"    @{name}.setter", f"    def {name}(self, value: {kind}) -> None: ..."]

    def value(self, value, name) -> None:
        """What is no function: a module, a class of the package, or a constant."""
        if inspect.ismodule(value):
            package, _, original = value.__name__.rpartition(".")
            self.taken.add(f"from {package} import {original} as {name}")
        elif inspect.isclass(value) and value.__module__.startswith("numtorch"):
            original = next(n for n, v in vars(importlib.import_module(value.__module__)).items() if v is value)
            self.taken.add(f"from {value.__module__} import {original} as {name}")
        else:
            kind = type(value)
            self.lines.append(f"{name}: {'None' if value is None else self.type(kind, {kind.__name__: kind})}")

    def text(self) -> str:
        """The whole file."""
        return "\n".join([_HEAD + "".join([f"{line}\n" for line in sorted(self.taken)]), *self.lines, ""])


def _parameters(function) -> list:
    """What a function takes. One made of another takes that one's arguments, but for those it settles or has itself."""
    own = list(inspect.signature(function).parameters.values())
    made_of = getattr(function, "arguments_of", None)
    if made_of is None:
        return own
    taken = [p for p in inspect.signature(made_of).parameters.values() if p.name not in ("out", "inplace", "return_indices")]
    return taken + [p for p in own if p.name == "out"]


def _shown(default) -> str:
    """A default, where it is a plain value."""
    finite = default is None or type(default) in (bool, int, str) or (type(default) is float and math.isfinite(default))
    return repr(default) if finite else "..."


def _first_line(function) -> str:
    """The first line of a docstring, as a docstring."""
    line = (function.__doc__ or "").strip().split("\n")[0].replace("\\", "\\\\")
    return f'"""{line}{" " * line.endswith(chr(34))}"""' if line else ""


def _names(module) -> list:
    """What a namespace offers."""
    names = set(getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"])
    if module is numtorch:
        names |= module._METHODS | module._LATE.keys()
        names |= {"__version__", "autograd", *module._SUBMODULES}
        names = {n for n in names if not inspect.ismodule(getattr(module, n)) or n in ("autograd", *module._SUBMODULES)}
    return sorted(names)


def files() -> dict:
    """The stubs: {path inside the package: text}."""
    attached, texts = Stub(ATTACHED), {}
    attached.lines.append("class Attached:")
    for name, value in sorted(vars(Tensor).items()):
        function = value.fget if isinstance(value, property) else value
        module = str(getattr(function, "__module__", None))
        if not inspect.isfunction(function) or name in _OF_OBJECT or name[0] == "_" != name[1] \
                or module == Tensor.__module__ or not module.startswith("numtorch."):        # a user's record, or Tensor's own
            continue
        if isinstance(value, property):
            attached.property(value, name)
        else:
            attached.function(value, name, of_class=True)
    for module in NAMESPACES:
        stub, namespace = Stub(module), importlib.import_module(module)
        for name in _names(namespace):
            value = getattr(namespace, name)
            (stub.function if inspect.isfunction(value) else stub.value)(value, name)
        attached.results.update(stub.results)
        texts["/".join(module.split(".")[1:] or ["__init__"]) + ".pyi"] = stub.text()
    for name, fields in sorted(attached.results.items()):
        attached.lines += ["", f"class {name}(_NamedTuple):", *[f"    {field}: Tensor" for field in fields]]
    texts["attached.pyi"] = attached.text()
    return texts


def write() -> int:
    """Write the stubs into the checkout that the package is run from. Returns the exit status: 1 where it is installed."""
    package = Path(numtorch.__file__).parent
    if not (package.parent / "pyproject.toml").exists():
        print(f"python -m numtorch stubs: {package} is installed, and what pip put there stays as it is. "
              "Run this in a checkout of numtorch.", file=sys.stderr)
        return 1
    for path, text in files().items():
        (package / path).write_text(text)
    return 0
