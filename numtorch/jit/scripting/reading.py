"""A Python function as a tree of a script's grammar. No name of the user's is left in it: constants stand there as they are,
functions by the path under which everybody has them (`torch.relu`), and others of the user's as `__torch__.name`, which become
scripts too."""

from __future__ import annotations

import ast
import builtins
import collections
import contextlib
import copy
import inspect
import keyword
import math
import numbers
import os
import types
import warnings
from typing import Any

from ...devices import device
from ...dtypes import dtype
from ...nn.modules.module import Module
from ...tensor import Tensor
from .. import is_scripting
from ..graphs.scriptmodules import ScriptFunction
from ..tracing.freezing import is_tracing, tracing_state
from . import vocabulary
from .classes import is_script_class
from .enumerations import is_enumeration
from .forking import fork, wait
from .formulas import ops_of
from .grammar import ADVICE, EXPRESSIONS, STATEMENTS, decided, dotted, function_of, refuse_node, refused
from .kinds import (
    ANY,
    UNIT,
    Kind,
    annotate,
    declarations,
    is_interface,
    is_named_tuple,
    parse_kind,
    said_kind,
    script_isinstance,
)
from .problems import NotSupportedError, Source, refuse

_NO_SOURCE = "the source of {} is not there, from which a script is read"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def source_of(function: Any, name: str) -> tuple[Source, ast.FunctionDef]:
    """The source of a function, and its tree with the lines of its file.

    Args:
        function: it.
        name: for people.

    Raises:
        OSError: there is no source.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        raise OSError(f"jit.script: {_NO_SOURCE.format(name)}") from None
    text, first = "".join(lines), max(first, 1)
    source = Source(inspect.getsourcefile(function) or "?", name, text.split("\n"), first)
    nested = text[:1].isspace()                          # in a block, in which comments and long strings may begin further left
    tree: Any = None
    for comments in (True, False):                       # which need not be those of types, or stand where those do
        with contextlib.suppress(SyntaxError):
            tree = ast.parse(f"if True:\n{text}" if nested else text, type_comments=comments).body[0]
            tree = ast.increment_lineno(tree.body[0], first - 2) if nested else ast.increment_lineno(tree, first - 1)
            break
    if not isinstance(tree, ast.FunctionDef):
        refuse(source, tree, ADVICE[ast.AsyncFunctionDef if isinstance(tree, ast.AsyncFunctionDef) else ast.Lambda],
               NotSupportedError)
    return source, tree


class Reader:
    """Reads one function.

    Args:
        function: it.
        unit: is given each Python function that it calls and each class of named tuples.
        method: whether its first argument is a module, or an object.
        names: what further names stand for, as that of a class that is being made.
        constants: attributes of its first argument that never change, by which conditions are decided.
    """

    def __init__(self, function, unit, method=False, names=None, constants=None) -> None:
        self.function, self.unit, self.method, self.names = function, unit, method, names or {}
        self.constants: dict[str, Any] = constants or {}
        self.source, self.tree = source_of(function, function.__name__)
        code = function.__code__
        self.outer = dict(zip(code.co_freevars, function.__closure__ or ()))

    def read(self) -> ast.FunctionDef:
        """The tree."""
        tree, given = self.tree, self.tree.args
        if given.vararg or given.kwarg:
            refuse(
                self.source,
                given.vararg or given.kwarg,
                "a script has no variable number of arguments: name each, or take a list",
                NotSupportedError,
            )
        names = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        self.locals = {each.arg for each in names} | {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.itself = names[0].arg if self.method and names else None
        commented, _ = self._comment(len(names) - self.method)
        arguments = ast.arguments([], [], None, [], [], None, [])
        for number, each in enumerate(names):
            if each.arg == self.itself and number == 0:
                arguments.args.append(ast.copy_location(ast.arg("self", None), each))
                continue
            kind = self.kind(commented[number - self.method]) if commented else self._said(each)
            target = arguments.kwonlyargs if each in given.kwonlyargs else arguments.args
            target.append(ast.copy_location(ast.arg(each.arg, None if kind is None else _written(kind)), each))
        for value in self.function.__defaults__ or ():
            arguments.defaults.append(literal(value, self.unit) or self._complain(value, tree))
        for each in given.kwonlyargs:
            defaults = self.function.__kwdefaults__ or {}
            arguments.kw_defaults.append(literal(defaults[each.arg], self.unit) or self._complain(defaults[each.arg], each)
                                         if each.arg in defaults else None)
        result = self.result()
        body = tree.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
            body = body[1:]                              # its docstring
        return ast.copy_location(function_of(
            self.function.__name__, arguments, self._block(body), None if result is None else _written(result)), tree)

    def _comment(self, count):
        """What a comment `# type: (Tensor, int) -> Tensor` says of arguments and result: `(...)` where each argument has a comment
        of its own, and nothing of a result without `->`."""
        text = self.tree.type_comment
        if not text:
            return None, None
        try:
            said: Any = ast.parse(text if "->" in text else f"{text} -> None", mode="func_type")
        except SyntaxError:
            refuse(self.source, self.tree, f"the comment `# type: {text}` says no types: write `# type: (Tensor, int) -> Tensor`")
        result = said.returns if "->" in text else None
        if len(said.argtypes) == 1 and isinstance(said.argtypes[0], ast.Constant) and said.argtypes[0].value is Ellipsis:
            return None, result
        if len(said.argtypes) != count:
            refuse(self.source, self.tree, f"the comment says the types of {len(said.argtypes)} arguments, and there are {count}")
        return said.argtypes, result

    def result(self) -> Kind | None:
        """The type that the function says it returns; None where it says none."""
        given = self.tree.args
        _, commented = self._comment(len([*given.posonlyargs, *given.args, *given.kwonlyargs]) - self.method)
        if commented is not None:
            return self.kind(commented)
        return None if self.tree.returns is None else self.kind(self.tree.returns, self.function.__annotations__.get("return"))

    def _said(self, argument) -> Kind | None:
        """The type of an argument, by its annotation or by a comment in its line; `Any` where overloads say several."""
        declared = [each.__annotations__.get(argument.arg) for each in declarations(self.function)]
        if any(each != declared[0] for each in declared):
            return ANY
        if argument.annotation is not None:
            return self.kind(argument.annotation, self.function.__annotations__.get(argument.arg))
        try:
            return None if not argument.type_comment else self.kind(ast.parse(argument.type_comment, mode="eval").body)
        except SyntaxError:
            return refuse(self.source, argument, f"the comment `# type: {argument.type_comment}` says no type")

    def kind(self, node, value=None) -> Kind:
        """The type that an annotation says.

        Args:
            node: it.
            value: what Python made of it, where names are not there any more.
        """
        try:
            return parse_kind(_Canonical(self._named_object).visit(copy.deepcopy(node)), self._named)
        except (ValueError, SyntaxError) as error:
            known = None if value is None else said_kind(value, self.unit.mentioned_class)
            return known or refuse(self.source, node if hasattr(node, "lineno") else self.tree, str(error))

    def _named(self, node):
        """The type of a named tuple, of objects of the user's, or of another name for a type; None for nothing."""
        value = self._named_object(node)
        return None if value is None else said_kind(value, self.unit.mentioned_class)

    # ------------------------------------------------------------ statements
    def _block(self, statements):
        result: list = []
        for statement in statements:
            try:
                if isinstance(statement, ast.If):
                    test = self._expression(statement.test)
                    known = self._known(test)
                    if known is not None:                # what is not for scripts is not read
                        result += self._block(statement.body if known else statement.orelse)
                        continue
                    made: Any = ast.If(test, self._block(statement.body) or [ast.Pass()], self._block(statement.orelse))
                else:
                    made = self._statement(statement)
            except RuntimeError as error:                # types may say that it is never reached
                if isinstance(error, RecursionError):
                    raise
                made = refused(error)
            result.append(ast.copy_location(made, statement))
            if isinstance(made, ast.Assert) and self._known(made.test) is False:
                break                                    # what follows is not for scripts either
        return result

    def _statement(self, statement) -> Any:
        """A statement other than `if`."""
        if not isinstance(statement, STATEMENTS):
            refuse_node(self.source, statement)
        if isinstance(statement, (ast.For, ast.While)):
            if statement.orelse:
                refuse(self.source, statement, "`else` of a loop is not in a script: set a variable before `break`",
                       NotSupportedError)
            body = self._block(statement.body) or [ast.Pass()]
            return ast.While(self._expression(statement.test), body, []) if isinstance(statement, ast.While) else \
                ast.For(self._expression(statement.target), self._expression(statement.iter), body, [])
        if isinstance(statement, ast.With):
            return ast.With([ast.withitem(self._expression(item.context_expr), None if item.optional_vars is None else
                                          self._expression(item.optional_vars)) for item in statement.items],
                            self._block(statement.body) or [ast.Pass()])
        if isinstance(statement, ast.AnnAssign) and statement.value is not None and is_interface(
                self._named_object(statement.annotation)):
            return ast.Assign([self._expression(statement.target)], self._expression(statement.value))
        if isinstance(statement, ast.AnnAssign):
            return ast.AnnAssign(self._expression(statement.target), _written(self.kind(statement.annotation)),
                                 None if statement.value is None else self._expression(statement.value), statement.simple)
        return type(statement)(**{name: self._part(value) for name, value in ast.iter_fields(statement) if name != "type_comment"})

    def _known(self, test):
        """What a condition is that was decided when the script was made."""
        if isinstance(test, ast.Constant) and isinstance(test.value, bool):
            return test.value
        if isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "self":
            return self.constants.get(test.attr) if self.itself is not None else None
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            known = self._known(test.operand)
            return None if known is None else not known
        return decided(test, self._known) if isinstance(test, ast.BoolOp) else None

    # ------------------------------------------------------------ expressions
    def _part(self, value):
        if isinstance(value, list):
            return [self._part(each) for each in value]
        if isinstance(value, ast.expr):
            return self._expression(value)
        if isinstance(value, ast.AST):
            return type(value)(**{name: self._part(each) for name, each in ast.iter_fields(value)})
        return value

    def _expression(self, node) -> Any:
        if not isinstance(node, (*EXPRESSIONS, ast.GeneratorExp)):
            refuse_node(self.source, node)
        if isinstance(node, ast.Name) and node.id in self.locals:
            return ast.copy_location(ast.Name("self" if node.id == self.itself else node.id, node.ctx), node)
        if isinstance(node, (ast.Name, ast.Attribute)) and self._is_outer(node):
            return self._embed(self._object(node), node)
        if isinstance(node, ast.Call):
            return ast.copy_location(self._call(node), node)
        if isinstance(node, ast.BoolOp):
            return ast.copy_location(self._logical(node), node)
        if isinstance(node, ast.GeneratorExp):           # nothing comes between its elements
            return self._expression(ast.copy_location(ast.ListComp(node.elt, node.generators), node))
        if isinstance(node, ast.IfExp) and (known := self._known(self._expression(node.test))) is not None:
            return self._expression(node.body if known else node.orelse)
        made = type(node)(**{name: self._part(value) for name, value in ast.iter_fields(node)})
        return ast.copy_location(made, node)

    def _logical(self, node):
        """`and` or `or`, of which nothing is read behind what decides it."""
        parts: list = []
        for each in node.values:
            parts.append(self._expression(each))
            if self._known(parts[-1]) is isinstance(node.op, ast.Or):
                break
        return ast.BoolOp(node.op, parts) if len(parts) > 1 else parts[0]

    def _call(self, node):
        target = self._object(node.func) if self._is_outer(node.func) else None
        if any(target is asked for asked in (is_scripting, is_tracing, tracing_state)):
            return ast.Constant(target is is_scripting)
        if target is annotate and len(node.args) == 2:
            return ast.Call(
                ast.Name("annotate", ast.Load()), [_written(self.kind(node.args[0])), self._expression(node.args[1])], []
            )
        if (target is isinstance or target is script_isinstance) and len(node.args) == 2:
            kinds = ast.Tuple([kind for each in _flat(node.args[1]) for kind in self._classes(each)], ast.Load())
            return ast.Call(ast.Name("isinstance", ast.Load()), [self._expression(node.args[0]), kinds], [])
        if target in (hasattr, getattr) and len(node.args) >= 2 and isinstance(node.args[1], ast.Constant) and not node.keywords:
            name, owner = str(node.args[1].value), self._expression(node.args[0])
            if target is hasattr:
                return ast.Call(ast.Name("hasattr", ast.Load()), [owner, ast.Constant(name)], [])
            if len(node.args) == 2:
                return ast.Attribute(owner, name, ast.Load()) if name.isidentifier() and not keyword.iskeyword(name) else \
                    ast.Call(ast.Name("getattr", ast.Load()), [owner, ast.Constant(name)], [])
            return ast.Call(ast.Name("getattr", ast.Load()), [owner, ast.Constant(name), self._expression(node.args[2])], [])
        if target is fork:
            if not node.args or isinstance(node.args[0], ast.Starred):
                refuse(self.source, node, "fork() takes the function that is called, and what it is called with")
            called = ast.copy_location(ast.Call(node.args[0], node.args[1:], node.keywords), node)
            return ast.Call(dotted("torch.jit.fork"), [self._expression(called)], [])
        if target is wait:
            return ast.Call(dotted("torch.jit.wait"), [self._expression(each) for each in node.args], [])
        if target is super:
            refuse(self.source, node, "super() is not in a script: give the other class's method a name of its own, and call it",
                   NotSupportedError)
        if any(keyword.arg is None for keyword in node.keywords):
            refuse(self.source, node, "`**` in a call is not in a script: name each argument", NotSupportedError)
        return ast.Call(self._expression(node.func), [self._expression(each) for each in node.args],
                        [ast.keyword(each.arg, self._expression(each.value)) for each in node.keywords])

    def _classes(self, node) -> list:
        """What `isinstance` asks for: a class of this package's modules as `torch.nn.name`, or types."""
        value = self._named_object(node) if self._is_outer(node) else None
        if isinstance(value, type) and vocabulary.is_library(value):
            return [dotted(f"torch.nn.{value.__name__}")]
        return list(map(dotted, ("int", "float", "bool", "complex"))) if value is numbers.Number else [_written(self.kind(node))]

    # ------------------------------------------------------------ names of the user's
    def _is_outer(self, node):
        """Whether an expression is a name from outside of the function, or an attribute of such a module or class."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id not in self.locals

    def _named_object(self, node):
        """What stands under a name of an annotation, which need not be there; None for nothing."""
        if isinstance(node, ast.Attribute):
            return getattr(self._named_object(node.value), node.attr, None)
        name = getattr(node, "id", "")
        if name in self.names:
            return self.names[name]
        if name in self.outer:
            try:
                return self.outer[name].cell_contents
            except ValueError:
                return None
        return self.function.__globals__.get(name)

    def _object(self, node):
        if isinstance(node, ast.Name):
            name = node.id
            if name in self.names:
                return self.names[name]
            if name in self.outer:
                try:
                    return self.outer[name].cell_contents
                except ValueError:
                    return refuse(self.source, node, f"undefined value {name}")
            if name in self.function.__globals__:
                return self.function.__globals__[name]
            if hasattr(builtins, name):
                return getattr(builtins, name)
            return refuse(self.source, node, f"undefined value {name}")
        owner = self._object(node.value)
        if not isinstance(owner, (types.ModuleType, type)) and not hasattr(owner, node.attr):
            return refuse(self.source, node, f"{type(owner).__name__} has no attribute {node.attr}")
        try:
            return getattr(owner, node.attr)
        except AttributeError:
            return refuse(self.source, node, f"{getattr(owner, '__name__', owner)} has no attribute {node.attr}")

    def _embed(self, value, node):
        path = _path(value)
        if path is not None:
            return ast.copy_location(dotted(path), node)
        if isinstance(value, types.FunctionType):
            value = vars(value).get("__original_fn", value)                  # of script_if_tracing
        if isinstance(value, (types.FunctionType, ScriptFunction)):
            if isinstance(value, types.FunctionType) and not ops_of(value) and \
                    value.__code__.co_filename.startswith((_PACKAGE, "<numtorch ")):
                refuse(self.source, node, f"{ast.unparse(node)} is not for scripts: call it outside, or in a function under "
                       "@torch.jit.ignore", NotSupportedError)
            owner = self._object(node.value) if isinstance(node, ast.Attribute) else None
            try:
                path = f"{UNIT}.{self.unit.add(value, {owner.__name__: owner} if is_script_class(owner) else None)}"
            except OSError:
                refuse(self.source, node, _NO_SOURCE.format(value.__name__), NotSupportedError)
            return ast.copy_location(dotted(path), node)
        if is_named_tuple(value):
            return ast.copy_location(dotted(str(self.unit.fields(value).result)), node)
        if is_enumeration(value):
            return ast.copy_location(dotted(str(self.unit.enumeration(value).result)), node)
        if is_script_class(value):
            return ast.copy_location(dotted(str(self.unit.script_class(value).result)), node)
        return ast.copy_location(literal(value, self.unit) or self._complain(value, node), node)

    def _complain(self, value, node):
        what = ast.unparse(node) if isinstance(node, ast.expr) else "a default"
        if isinstance(value, Tensor):
            advice = f"{what} is a tensor from outside: give it as an argument, or make it a buffer of a module"
        elif isinstance(value, Module):
            advice = f"{what} is a module from outside: make it a submodule, and script the module that has it"
        elif isinstance(value, type):
            advice = f"objects of class {value.__name__} are not in a script: use modules, tuples or dicts"
        elif isinstance(value, types.ModuleType):
            advice = f"the module {value.__name__} is no value"
        else:
            advice = (
                f"python value of type '{type(value).__name__}' cannot be used as a value: {what}. Put it into a function under "
                "@torch.jit.ignore"
            )
        refuse(self.source, node, advice, NotSupportedError)


def _flat(node) -> list:
    """The types in a tuple or a union of types, in which may be others."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_flat(node.left), *_flat(node.right)]
    outer = getattr(node.value, "attr", getattr(node.value, "id", "")) if isinstance(node, ast.Subscript) else ""
    if outer in ("Union", "Optional"):
        return [*_flat(node.slice), *([ast.Constant(None)] if outer == "Optional" else [])]
    return [each for part in node.elts for each in _flat(part)] if isinstance(node, ast.Tuple) else [node]


class _Canonical(ast.NodeTransformer):
    """Annotations in which the names of `typing` are its own, whatever a program calls them.

    Args:
        named: what a name stands for.
    """

    def __init__(self, named):
        self.named = named

    def visit_Name(self, node):
        value = self.named(node)
        name = getattr(value, "_name", None)
        return ast.copy_location(ast.Name(name, ast.Load()), node) if isinstance(name, str) and not getattr(
            value, "__args__", ()) and getattr(value, "__module__", "") == "typing" else node


def _written(kind):
    """A type as an annotation."""
    return ast.parse(str(kind), mode="eval").body


def _path(value):
    """The name that a value has for everybody."""
    try:
        if id(value) in vocabulary.paths():
            return f"torch.{vocabulary.paths()[id(value)]}"
    except TypeError:
        return None
    name = getattr(value, "__name__", None)
    if isinstance(value, (type, types.BuiltinFunctionType)) and name is not None:
        if any(known.get(name) is value for known in (vocabulary.BUILTINS, vocabulary.EXCEPTIONS, vocabulary.WARNINGS)):
            return name
        if vocabulary.MATH.get(name) is value:
            return f"math.{name}"
    if value is device:
        return "torch.device"
    if value is warnings.warn:
        return "warn"
    if value is collections.OrderedDict:                 # whose order every dict has
        return "dict"
    if name == "record_function" and value.__module__ == "numtorch.profiler.recording":
        return "torch.profiler.record_function"
    if isinstance(value, type) and issubclass(value, Exception):           # of the user's: raised as what it is derived from
        return next((base.__name__ for base in value.__mro__ if vocabulary.EXCEPTIONS.get(base.__name__) is base), None)
    for name, known in vocabulary.constants().items():
        if known is value and not isinstance(value, float):
            return f"torch.{name}"
    return None


def literal(value: Any, unit: Any) -> Any:
    """A plain value as an expression of a script; None where it is not plain.

    Args:
        value: it.
        unit: is given the classes of members of enumerations.
    """
    if value is None or value is Ellipsis or type(value) in (bool, int, str):
        return ast.Constant(value)
    if type(value) is float:
        if math.isfinite(value):
            return ast.Constant(value)
        name = dotted("torch.nan" if value != value else "torch.inf")
        return name if value != -math.inf else ast.UnaryOp(ast.USub(), name)
    if type(value) in (tuple, list):
        parts = [literal(each, unit) for each in value]
        return None if None in parts else (ast.Tuple if type(value) is tuple else ast.List)(parts, ast.Load())
    if type(value) is dict:
        keys, values = [literal(each, unit) for each in value], [literal(each, unit) for each in value.values()]
        return None if None in (*keys, *values) else ast.Dict(keys, values)
    if is_enumeration(type(value)):
        return dotted(f"{unit.enumeration(type(value)).result}.{value.name}")
    if isinstance(value, dtype):
        return dotted(_path(value))
    return ast.Call(dotted("torch.device"), [ast.Constant(str(value))], []) if isinstance(value, device) else None
