"""`jit.CompilationUnit`: functions of a text. It is compiled, so that there are functions, which are read as those of the user's
are; none of it ever runs as Python."""
from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import math
import sys
import textwrap
import types
from collections.abc import Callable
from typing import Any

from .modules import ScriptedFunction
from .problems import NotSupportedError, Source, not_too_deep, refuse
from .units import Unit

_numbers = itertools.count(1)


class CompilationUnit:
    """Functions of a text, in the subset of Python that scripts are written in. They may call each other, and functions of where
    the text stands.

    Args:
        lang: the text: definitions of functions, and nothing else. `torch` and `math` are there.
        _frames_up: how many frames above the caller's the names are that the text may use.

    Raises:
        RuntimeError: the text has something else, or types that do not fit.
        NotSupportedError: what is not in the subset.

    Example:
        >>> import numtorch as torch
        >>> unit = torch.jit.CompilationUnit('''
        ... def doubled(x):
        ...     return 2 * x
        ... def power(x, n: int = 2):
        ...     for _ in range(n):
        ...         x = doubled(x)
        ...     return x
        ... ''')
        >>> unit.power(torch.ones(2), 3)
        tensor([8., 8.])
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptedFunction] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: Callable[[str], Any] | None = None, _frames_up: int = 0) -> None:
        """Add the functions of a text, which may call those that are there.

        Args:
            lang: the text.
            rcb: what a name stands for that is not defined in the text; by default, where this is called.
            _frames_up: as the class has it.

        Raises:
            RuntimeError: a function of such a name is there, and as for the class.
        """
        frame = sys._getframe(1 + _frames_up)
        look = rcb or {**vars(builtins), **frame.f_globals, **frame.f_locals}.get
        made = functions_of(lang)
        for name in made:
            if name in self._functions:
                raise RuntimeError(f"method '{name}' already defined.")
        known = {**self._functions, **{name: function for name, (function, _) in made.items()}}
        for function, tree in made.values():
            names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - known.keys()
            found = {name: value for name in names if (value := look(name)) is not None}
            function.__globals__.update({"torch": sys.modules[__name__.partition(".")[0]], "math": math, **found, **known})
        unit = Unit()
        with not_too_deep("jit.CompilationUnit"):
            scripts = {name: unit.functions[unit.add(function)].ready() for name, (function, _) in made.items()}
            unit.check_classes()
        self._functions.update({name: ScriptedFunction(script) for name, script in scripts.items()})

    def __getattr__(self, name):
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")


def functions_of(text):
    """The functions of a text with their trees, by name.

    Args:
        text: it.

    Raises:
        RuntimeError, NotSupportedError: it does not parse, or has something else.
    """
    text = textwrap.dedent(text)
    file = f"<script text {next(_numbers)}>"
    lines = text.split("\n")
    try:
        tree = ast.parse(text, file)
        code = compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise RuntimeError(f"jit.CompilationUnit: the text does not parse: {error}") from None
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    codes = {each.co_firstlineno: each for each in code.co_consts if isinstance(each, types.CodeType)}
    made: dict[str, Any] = {}
    for each in tree.body:
        source = Source(file, getattr(each, "name", "the text"), lines)
        if not isinstance(each, ast.FunctionDef) or each.decorator_list:
            refuse(source, each, "the text of a CompilationUnit has functions without decorators, and nothing else",
                   NotSupportedError)
        if each.name in made:
            raise RuntimeError(f"method '{each.name}' already defined.")
        function = types.FunctionType(codes[each.lineno], {"__builtins__": {}}, each.name)
        function.__defaults__ = tuple([_default(source, value) for value in each.args.defaults])
        function.__kwdefaults__ = {argument.arg: _default(source, value) for argument, value in
                                   zip(each.args.kwonlyargs, each.args.kw_defaults) if value is not None}
        made[each.name] = function, each
    return made


def _default(source, node):
    """The value of an argument's default."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return refuse(source, node, "a default is a literal", NotSupportedError)
