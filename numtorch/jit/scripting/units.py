"""The functions and methods that belong together: each is read, checked and made when it is first asked for."""
from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import types
from typing import Any

from ...nn.modules.container import Sequential
from ...nn.modules.module import Module
from ..graphs.graph import free_name
from ..graphs.scriptmodules import ScriptFunction, ScriptModule
from ..tracing.freezing import keeping
from ..tracing.scriptcalls import call_of_script
from .checking.statements import Checker
from .classes import ScriptClass, is_script_class
from .enumerations import Enumeration, is_enumeration
from .formulas import formula, ops_of
from .keeping import kept_call
from .kinds import TENSOR, UNIT, Fields, Kind, accepts, annotations_of, is_named_tuple, kind_of, said_kind
from .listing import listed
from .problems import NotSupportedError, Source, refuse
from .reading import Reader, literal, source_of
from .vocabulary import CONTAINERS

MODIFIER = "_numtorch_script"                            # what a decorator says of a function: "ignore", "unused", "export"
_BASES = (Module, ScriptModule, *CONTAINERS)             # whose methods are no scripts, but for what a Sequential computes


class Script:
    """One function or method.

    Args:
        unit: what it belongs to.
        name: its own.
        source: where its tree is from.
        tree: it.
        owner: the module or class that its `self` is of.

    Attributes:
        function: what is run.
        arguments: (name, type) of each, without `self`.
        places: the names of those that may be given by place.
        result: the type of what it returns.
        looks, writes, assigns: what else it does (checking/effects.py).
    """

    looks = writes = assigns = False
    python: Any = None                                   # the user's function, where this was made of one
    is_property = False                                  # whether it is run where the attribute of its name is read

    def __init__(self, unit: Unit, name: str, source: Source, tree: ast.FunctionDef, owner: Any = None) -> None:
        self.__name__ = name
        self.unit, self.name, self.source, self.tree, self.owner = unit, name, source, tree, owner
        self.function: Any = None
        self.made: Any = None
        self.checking = False

    @property
    def code(self) -> str:
        """The function in the subset's grammar, which reads back."""
        return ast.unparse(self.tree) + "\n"

    @property
    def graph(self) -> Any:
        """What it does, with blocks for loops and conditions."""
        return listed(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(args, kwargs)

    def __deepcopy__(self, memo):
        return self                                      # it is given the module that it is called on

    def ready(self, caller=None, node=None) -> Script:
        """This script, checked and made."""
        if self.function is not None:
            return self
        if self.checking:
            refuse(caller.source if caller else self.source, node or self.tree,
                   f"{self.name} calls itself, which no script does: write a loop", NotSupportedError)
        self.checking = True
        try:
            checker = Checker(self.source, self.tree, self.unit, self.owner)
            self.made = checker.check()
        finally:
            self.checking = False
        self.arguments, self.result, self.with_default = checker.arguments, checker.result, checker.with_default
        self.looks, self.writes, self.assigns = checker.looks, checker.writes, checker.assigns
        self.places = [each.arg for each in self.tree.args.args][self.owner is not None:]
        module = ast.fix_missing_locations(ast.Module([self.made], []))
        scope = checker.names
        exec(compile(module, self.source.file, "exec"), scope)         # of nodes that the checker made
        self.function = scope.pop(self.tree.name)
        self.function.__qualname__ = self.name
        self.function.script = self                      # for whoever goes through what it calls (native/staging.py)
        return self

    def run(self, args: tuple, kwargs: dict, function: Any = None) -> Any:
        """Call it, after a look at its arguments.

        Args:
            args, kwargs: of the call.
            function: what the user called, where this is no method.

        Raises:
            RuntimeError: one is missing, or is of another type.
        """
        given = args if self.owner is None else args[1:]
        places = self.places
        if len(given) > len(places):
            raise RuntimeError(f"{self.name}() expected at most {len(places)} argument(s) but received {len(given)} argument(s)")
        if kwargs:
            for name in kwargs:
                if name not in dict(self.arguments) or name in places[:len(given)]:
                    raise RuntimeError(f"{self.name}() got an unknown or a repeated argument '{name}'")
        values = {**dict(zip(places, given)), **kwargs}
        for name, kind in self.arguments:
            if name in values:
                if not accepts(kind, values[name]):
                    raise RuntimeError(
                        f"{self.name}() Expected a value of type '{kind}' for argument '{name}' but instead found type "
                        f"'{kind_of(values[name]) if kind_of(values[name]).name != 'Any' else type(values[name]).__name__}'."
                    )
            elif name not in self.with_default:
                raise RuntimeError(f"{self.name}() is missing value for argument '{name}'.")
        trace = keeping()
        called = None if trace is None else kept_call(trace, self, args, kwargs, function)
        return self.function(*args, **kwargs) if called is None else call_of_script(trace, called)


class Python:
    """A function that a script calls and that stays Python.

    Args:
        name: of it.
        function: it.
        result: the type of what it returns.
    """

    arguments: Any = None
    is_property = False
    looks = writes = assigns = True                      # it may

    def __init__(self, name: str, function: Any, result: Kind) -> None:
        self.name, self.function, self.result = name, function, result


class TracedFunction:
    """A traced function, or one from a file, that a script calls.

    Args:
        name: of it.
        function: it.
        result: the type of what it returns.
    """

    arguments: Any = None
    looks = assigns = False                              # what it calls in turn does, or does not

    def __init__(self, name: str, function: ScriptFunction, result: Kind) -> None:
        self.name, self.function, self.result = name, function, result

    @property
    def writes(self) -> bool:
        return bool(self.function.graph.writes)


class Unused:
    """A function that a script only seems to call.

    Args:
        name: of it.
        result: the type that it would return.
    """

    arguments: Any = None
    is_property = looks = writes = assigns = False

    def __init__(self, name: str, result: Kind) -> None:
        self.name, self.result = name, result

        def function(*args, **kwargs):
            raise RuntimeError(f"{name} is marked as unused (torch.jit.unused), and is called in a script")
        self.function = function


class Unit:
    """Functions by name, and modules whose methods are scripts."""

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}
        self.known: dict[int, tuple[Any, str]] = {}      # names of functions that were read
        self.called: set[str] = set()                    # names of functions that were asked for
        self.origins: dict[int, Module] = {}             # modules of the user's by those that were made of them

    # ------------------------------------------------------------ functions
    def add(self, function: Any, names: dict[str, Any] | None = None) -> str:
        """The name under which a function is called as `__torch__.name`.

        Args:
            function: a Python function, or what `script` or `trace` returned.
            names: what further names stand for in it.
        """
        function = getattr(function, "__original_fn", function)              # of script_if_tracing
        script = getattr(function, "_script", None)
        if script is not None and script.python is not None:
            function = script.python
        if id(function) in self.known:
            return self.known[id(function)][1]
        name = free_name(function.__name__ if function.__name__.isidentifier() else "traced", self.functions)
        with self._registered(function, name):
            self.functions[name] = \
                TracedFunction(name, function, script.result if script is not None else Kind("Any")) \
                if isinstance(function, ScriptFunction) else formula(name, function) if ops_of(function) else \
                self._marked(function, name) or self._read(function, name, names=names)
        return name

    @contextlib.contextmanager
    def _registered(self, value, name):
        """While what a function or class of the user's becomes is made, and after that unless it cannot be."""
        self.known[id(value)] = value, name
        try:
            yield
        except (OSError, RuntimeError):                  # which may stand in what is never reached
            del self.known[id(value)]
            self.functions.pop(name, None)
            raise

    def fields(self, kind: Any) -> Fields:
        """A class of named tuples, as a type of scripts.

        Args:
            kind: the class. Fields without a type are tensors.

        Raises:
            NotSupportedError: the type of a field is none of a script.
        """
        if id(kind) in self.known:
            return self.functions[self.known[id(kind)][1]]
        said = annotations_of(kind)
        arguments = []
        for name in kind._fields:
            field_kind = TENSOR if name not in said else said_kind(said[name], self.known_class)
            if field_kind is None:
                raise NotSupportedError(f"jit.script: {kind.__name__}.{name} is annotated with {said[name]!r}, which is no type of "
                                        f"a script")
            arguments.append((name, field_kind))
        name = free_name(kind.__name__, self.functions)
        self.known[id(kind)] = kind, name
        made = self.functions[name] = Fields(name, kind, arguments)
        return made

    def script_class(self, kind: type) -> ScriptClass:
        """A class of the user's, as a type of scripts.

        Args:
            kind: the class.

        Raises:
            NotSupportedError: the type of an attribute is none of a script.
        """
        if id(kind) in self.known:
            return self.functions[self.known[id(kind)][1]]
        name = free_name(kind.__name__, self.functions)
        with self._registered(kind, name):
            made = self.functions[name] = ScriptClass(self, name, kind)
            for attribute, said in annotations_of(kind).items():
                if isinstance(said, str):                # as names mean where its methods are
                    reader = Reader(vars(kind)["__init__"], self, True, {kind.__name__: kind})
                    kind_of_attribute: Any = reader.kind(ast.Constant(said))
                else:
                    kind_of_attribute = said_kind(said, self.mentioned_class)
                if kind_of_attribute is None:
                    raise NotSupportedError(f"jit.script: {kind.__name__}.{attribute} is annotated with {said!r}, which is no type "
                                            f"of a script")
                made.declared[attribute] = kind_of_attribute
        return made

    def known_class(self, value: Any) -> Kind | None:
        """The type that a class of the user's is, which is used; None for anything else.

        Args:
            value: the class, or anything.
        """
        kind = self.mentioned_class(value)
        return None if kind is None else self.use(kind)

    def use(self, kind: Kind) -> Kind:
        """A type that something has: its classes are checked, and stand in files. Others are only in what is never reached.

        Args:
            kind: it, which is returned.
        """
        for each in kind.of:
            if isinstance(each, Kind):
                self.use(each)
            elif isinstance(each, ScriptClass) and each.name not in self.called:
                self.called.add(each.name)
                for declared in each.declared.values():
                    self.use(declared)
        return kind

    def mentioned_class(self, value: Any) -> Kind | None:
        """The type that a class of the user's is, which a function names; None for anything else.

        Args:
            value: the class, or anything.
        """
        return self.fields(value).result if is_named_tuple(value) else \
            self.enumeration(value).result if is_enumeration(value) else \
            self.script_class(value).result if is_script_class(value) else None

    def enumeration(self, members: type) -> Enumeration:
        """An enumeration of the user's, as a type of scripts.

        Args:
            members: the class.

        Raises:
            NotSupportedError: its values are of several types.
        """
        if id(members) not in self.known:
            name = free_name(members.__name__, self.functions)
            self.functions[name] = Enumeration(name, members)
            self.known[id(members)] = members, name
        return self.functions[self.known[id(members)][1]]

    def member(self, path: str) -> tuple[Any, Kind] | None:
        """What `__torch__.path` is where that is of an enumeration, with its type; None where it is not.

        Args:
            path: the enumeration's name, and what follows.
        """
        name, _, rest = path.partition(".")
        found = self.functions.get(name)
        return found.constant(rest) if isinstance(found, Enumeration) else None

    def named(self, node: ast.expr) -> Kind | None:
        """The type that `__torch__.name` is, or None.

        Args:
            node: an annotation.
        """
        callee = self.functions.get(getattr(node, "attr", "")) if getattr(getattr(node, "value", None), "id", "") == UNIT else None
        return self.use(callee.result) if isinstance(callee, (Enumeration, Fields, ScriptClass)) else None

    def check_classes(self) -> None:
        """Check all methods of all classes that are used, and of those that these use."""
        checked: set[str] = set()
        while pending := [each for name, each in self.functions.items()
                          if isinstance(each, ScriptClass) and name in self.called - checked]:
            for each in pending:
                checked.add(each.name)
                each.check()

    def _marked(self, function, name, owner=None):
        mark = getattr(function, MODIFIER, None)
        if mark not in ("ignore", "unused"):
            return None
        try:
            result = Reader(function, self, owner is not None).result() or TENSOR
        except (OSError, RuntimeError):                  # no source is needed, nor types of a script
            result = said_kind(function.__annotations__.get("return", "Tensor"), self.known_class) or TENSOR
        return Python(name, function, result) if mark == "ignore" else Unused(name, result)

    def text_of(self, value: Any) -> str | None:
        """The text that gives a plain value in a script; None where there is none.

        Args:
            value: it.
        """
        made = literal(value, self)
        return None if made is None else ast.unparse(made)

    def text_method(self, text: str, owner: Any) -> Script:
        """A method of a text.

        Args:
            text: as `Script.code` gives it.
            owner: the class that it is a method of.
        """
        return parsed(self, text, f"<script {owner.name}>", owner)

    def read_method(self, function: Any, name: str, owner: Any) -> Any:
        """A method as a script, or as what its decorator says.

        Args:
            function: it.
            name: its own.
            owner: the module or class that it is a method of.
        """
        return self._marked(function, name, owner) or self._read(function, name, owner)

    def _read(self, function, name, owner=None, names=None):
        final = vars(owner).get("_final", ()) if isinstance(owner, Module) else ()
        constants = {each: value for each in final if isinstance(value := vars(owner).get(each), bool)}
        reader = Reader(function, self, owner is not None, owner.names if isinstance(owner, ScriptClass) else names, constants)
        self.functions.setdefault(name, None) if owner is None else None
        tree = reader.read()
        tree.name = name
        result = Script(self, name, reader.source, tree, owner)
        result.python, result.__doc__ = function, function.__doc__
        return result

    def function(self, caller, node, name: str) -> Any:
        """What `__torch__.name` is.

        Args:
            caller: the checker that asks.
            node: where.
            name: of it.
        """
        callee = self.functions.get(name)
        if isinstance(callee, ScriptClass):
            self.use(callee.result)
        self.called.add(name)
        if callee is None:
            refuse(caller.source, node, f"there is no function {name}" if name not in self.functions else
                   f"{name} calls itself, which no script does: write a loop", NotSupportedError)
        if isinstance(callee, Enumeration):
            refuse(caller.source, node, f"{name}(...) is not in a script: write a member, as {next(iter(callee.members))}",
                   NotSupportedError)
        return callee.ready(caller, node) if isinstance(callee, (Script, ScriptClass)) else callee

    def reached(self) -> dict[str, Any]:
        """The functions and types that checked scripts use, by name: others stand where types say that nothing comes."""
        return {name: each for name, each in self.functions.items()
                if name in self.called or isinstance(each, (Enumeration, Fields))
                or isinstance(getattr(each, "made", None), ast.AST)}

    # ------------------------------------------------------------ methods
    def method(self, module: Module, name: str) -> Any:
        """The script that a module's method is, made now if need be; None where it has no such one.

        Args:
            module: one that was made here, or any.
            name: of the method.
        """
        scripts = vars(module).get("_scripts")
        if scripts is None:
            return None
        script = scripts.get(name)
        if script is None:
            origin = self.origins.get(id(module))
            function = getattr(type(origin), name, None) if origin is not None else None
            if isinstance(bound := vars(origin).get(name) if origin is not None else None, types.MethodType):
                function = bound.__func__                # put in its place
            is_property = isinstance(function, property)
            function = function.fget if isinstance(function, property) else function
            if not isinstance(function, types.FunctionType) or (
                    function is not Sequential.forward and any(function is getattr(base, name, None) for base in _BASES)):
                return None
            script = scripts[name] = self.read_method(function, name, module)
            script.is_property = is_property
            if hasattr(type(module), "_in_front"):
                module._in_front()  # type: ignore[operator]
        return script.ready() if isinstance(script, Script) else script

    def take(self, module: Module, name: str) -> bool:
        """Have a module hold what the one it was made of holds under a name, where that is of a class of the user's that scripts
        know. It is taken when a script first asks for it: what none asks for need not be for scripts.

        Args:
            module: one that was made here, or any.
            name: of the attribute.
        """
        value = getattr(self.origins.get(id(module)), name, None)
        kind = self.known_class(type(value))
        if kind is not None:
            own = vars(module)
            own[name] = value
            own["_plain"].add(name)
            own["_declared"].setdefault(name, kind)
        return kind is not None

    def static_method(self, module: Module, name: str) -> str | None:
        """The path of the function that a static method of a module's class is, which is an attribute of the module from then on.

        Args:
            module: one that was made here, or any.
            name: of the method.
        """
        value = inspect.getattr_static(type(self.origins.get(id(module))), name, None)
        if not isinstance(value, staticmethod):
            return None
        path = vars(module)["_functions"][name] = f"{UNIT}.{self.add(value.__func__)}"
        return path


def parsed(unit: Unit, text: str, file: str, owner: Any = None) -> Script:
    """A script of a text.

    Args:
        unit: what it belongs to.
        text: as `Script.code` gives it.
        file: what to call it in errors.
        owner: the module or class that its `self` is of.

    Raises:
        ValueError: the text is not one function.
    """
    try:
        tree = ast.parse(text).body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"the text of a script does not parse: {error}") from None
    if len(tree) != 1 or not isinstance(tree[0], ast.FunctionDef):
        raise ValueError("the text of a script is one function")
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    return Script(unit, tree[0].name, Source(file, tree[0].name, text.split("\n")), tree[0], owner)


__all__ = ["MODIFIER", "Python", "Script", "TracedFunction", "Unit", "Unused", "parsed", "source_of"]
