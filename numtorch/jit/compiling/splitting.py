"""A function split where it cannot be captured, as PyTorch's graph breaks split one.

The statements in which a call did what no replay can (breaks) run as they are. What stands between them becomes functions of its
own, *pieces*, which are compiled: they take the variables that they read, and return those that are read elsewhere. The rest of the
function, the *frame*, calls them; both have the user's file and lines. A statement like `return f(x).item()` is divided too, into
what computes `f(x)` and what reads it.

A piece is made only of what means the same in a function of its own: variables that are certainly there, no jumps out of it, no
functions that keep variables. The source is read from the file, and must compile to the byte code of the function at hand.
"""
from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable
from typing import Any

from ...nn.modules import module as modules
from ...nn.modules.module import Module
from ...tensor import Tensor

_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)
_NEVER = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal, ast.Match)
_FRAMES = {"super", "__class__", "locals", "vars", "dir", "eval", "exec"}        # whose meaning depends on the function
_WORK = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign)
_READING = {"item", "tolist", "numpy"}
_NUMBERS = {"float", "int", "bool"}
_OF_CODE = ("co_name", "co_firstlineno", "co_code", "co_names", "co_varnames", "co_freevars")
_PLAIN = (Tensor, int, float, bool, str, type(None))


def code_of(function) -> Any:
    """The code object of what is called, or None.

    Args:
        function: a function, a method or a module.
    """
    return getattr(_plain(function), "__code__", None)


def _plain(function):
    """The Python function that a call of something runs."""
    if isinstance(function, Module):
        own = "forward" in vars(function) or type(function).__call__ is not Module.__call__
        return None if own else inspect.getattr_static(type(function), "forward", None)
    if isinstance(function, types.MethodType):
        return function.__func__
    return function if isinstance(function, types.FunctionType) else None


def split(function, lines: Iterable[int], compiled: Callable) -> Callable | None:
    """What is called in the place of a function, or None where it is not split.

    Args:
        function: a function, a method or a module.
        lines: those of its own in which something cannot be captured.
        compiled: makes a compiled function of a piece.
    """
    plain = _plain(function)
    if type(plain) is not types.FunctionType or not lines:
        return None
    try:
        frame = _Splitter(plain, set(lines), compiled).frame()
    except (OSError, SyntaxError):                       # the source is not there
        return None
    if frame is None:
        return None
    known = plain.__code__, plain.__defaults__, plain.__kwdefaults__

    def is_same():
        now = _plain(function)
        return now is plain and all(a is b for a, b in zip(known, (now.__code__, now.__defaults__, now.__kwdefaults__)))

    def called(*args, **kwargs):
        if not is_same():
            return function(*args, **kwargs)
        if isinstance(function, Module):
            if function._hooks is not None or modules._before or modules._after or modules._behind:
                return function(*args, **kwargs)
            return frame(function, *args, **kwargs)
        if isinstance(function, types.MethodType):
            return frame(function.__self__, *args, **kwargs)
        return frame(*args, **kwargs)
    called.pieces = list(frame.pieces.values())  # type: ignore[attr-defined]
    return called


class Piece:
    """Statements of a function as a compiled one.

    Args:
        function: of the variables that they read; it returns those that they give.
        compiled: makes a compiled function of it.
        ends: whether it ends the function, so that what it returns is the function's result.
    """

    def __init__(self, function, compiled, ends: bool) -> None:
        self.function, self.call, self.ends = function, compiled(function), ends
        self.line = function.__code__.co_firstlineno

    def __call__(self, *args):
        results = self.call(*args)
        if not self.ends and self.call is not self.function and not _is_plain(results):
            self.call = self.function                    # a list that is there already would be another one in a replay
        return results

    def launches(self) -> int:
        """How many kernels its replay of last launches, with those in backward."""
        launches = 0
        for kind in getattr(self.call, "_kinds", {}).values():
            if kind.replays:
                launches = kind.replays[0].launches
            elif kind.recording is not None and kind.recording.programs:
                program = kind.recording.programs[0]
                launches = program.forward.replay.launches + program.backward.replay.launches
        return launches


def _is_plain(value) -> bool:
    return isinstance(value, _PLAIN) or (type(value) is tuple and all(map(_is_plain, value)))


# ---------------------------------------------------------------- names
def _names(nodes, context) -> set:
    """The names that statements or expressions read or write, without those of comprehensions."""
    names: set = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, context):
                names.add(node.id)
            continue
        if isinstance(node, ast.AugAssign) and context is ast.Load and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        if context is ast.Store and isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        if context is ast.Store and isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        if isinstance(node, _COMPREHENSIONS):
            bound = _names([g.target for g in node.generators], ast.Store)
            names |= _names(ast.iter_child_nodes(node), context) - bound
            continue
        pending += ast.iter_child_nodes(node)
    return names


def _certain(statement) -> set:
    """The names that are there after a statement, wherever it went."""
    if isinstance(statement, ast.If):
        one, other = (set().union(*map(_certain, body)) if body else set() for body in (statement.body, statement.orelse))
        return one & other
    if isinstance(statement, ast.With):
        return set()                                     # its manager may hold an exception back
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return _names(targets, ast.Store) if getattr(statement, "value", None) is not None else set()
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _names([statement], ast.Store)
    return set()


def _codes(code):
    """A code object, and those of the functions inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)


def _alike(a, b) -> bool:
    """Whether two code objects do the same in the same lines."""
    if isinstance(a, types.CodeType) and isinstance(b, types.CodeType):
        return all(getattr(a, name) == getattr(b, name) for name in _OF_CODE) and len(a.co_consts) == len(b.co_consts) and all(
            map(_alike, a.co_consts, b.co_consts))
    return repr(a) == repr(b)


def _jumps(node, loop=False) -> bool:
    """Whether a statement leaves what it stands in: `return`, or `break` and `continue` of a loop outside."""
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, (ast.Break, ast.Continue)):
        return not loop
    if isinstance(node, (ast.For, ast.While)):
        return any(_jumps(each, True) for each in node.body) or any(_jumps(each, loop) for each in node.orelse)
    return any(_jumps(each, loop) for each in ast.iter_child_nodes(node))


def _arguments(names) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])


class _Splitter:
    def __init__(self, function, lines, compiled) -> None:
        self.function, self.lines, self.compiled = function, lines, compiled
        self.code = function.__code__
        self.locals = {*self.code.co_varnames, *self.code.co_cellvars}
        self.pieces: dict[str, Piece] = {}
        self.values = 0

    def frame(self):
        """The function with its pieces called, or None."""
        lines, _ = inspect.findsource(self.code)         # of a decorated function, not what it wraps
        whole = compile("".join(lines), self.code.co_filename, "exec", self.code.co_flags & _FUTURE, True)
        if not any(_alike(code, self.code) for code in _codes(whole)):
            return None                                  # the file has changed, or somebody has changed the function
        source, first = inspect.getsourcelines(self.code)
        tree = ast.parse(textwrap.dedent("".join(source)))
        ast.increment_lineno(tree, first - 1)
        self.tree = tree.body[0]
        if not isinstance(self.tree, ast.FunctionDef):
            return None
        self.tree.decorator_list, self.tree.returns = [], None
        arguments = self.tree.args
        self.parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
                           *[a for a in (arguments.vararg, arguments.kwarg) if a is not None]]
        for each in self.parameters:
            each.annotation = None
        arguments.defaults = [ast.copy_location(ast.Constant(None), self.tree) for _ in arguments.defaults]
        arguments.kw_defaults = [None if each is None else ast.copy_location(ast.Constant(None), self.tree)
                                 for each in arguments.kw_defaults]
        if any(isinstance(node, _NEVER) or (isinstance(node, _NESTED) and _names([node], ast.Load) & self.locals)
               for statement in self.tree.body for node in ast.walk(statement)):
            return None
        self.tree.body = self._body(self.tree.body, {each.arg for each in self.parameters})
        if not self.pieces:
            return None
        frame = self._function(self.tree, {name: types.CellType(piece) for name, piece in self.pieces.items()})
        frame.pieces = self.pieces  # type: ignore[attr-defined]
        frame.__defaults__, frame.__kwdefaults__ = self.function.__defaults__, self.function.__kwdefaults__
        return frame

    # ------------------------------------------------------------ statements
    def _body(self, body, certain, looping=False):
        """Statements with their pieces as calls.

        Args:
            body: they.
            certain: the variables that are there before.
            looping: whether they may run more than once.
        """
        certain, result, run = set(certain), [], []

        def flush():
            if run:
                result.extend(self._piece(run, certain, looping))
                certain.update(*map(_certain, run))
                run.clear()

        for statement in body:
            broken = self._is_broken(statement)
            computing = self._divided(statement) if broken else None
            if computing is not None:
                run.append(computing)
            if not broken and self._is_apart(statement):
                run.append(statement)
                continue
            flush()
            if isinstance(statement, (ast.If, ast.With, ast.For, ast.While)) and broken:
                inside = certain | (_names([statement.target], ast.Store) if isinstance(statement, ast.For) else set())
                again = looping or isinstance(statement, (ast.For, ast.While))
                statement.body = self._body(statement.body, inside, again)
                if not isinstance(statement, ast.With):
                    statement.orelse = self._body(statement.orelse, certain, looping)
            result.append(statement)
            certain = {*certain, *_certain(statement)} - _names([statement], ast.Del)
        flush()
        return result

    def _is_broken(self, node):
        return any(node.lineno <= line <= node.end_lineno for line in self.lines)

    def _divided(self, statement):
        """What computes the value that a statement reads, put before it; None where that is nothing of its own."""
        field = "test" if isinstance(statement, (ast.If, ast.Assert)) else "value"
        if field == "value" and not (isinstance(statement, (ast.Return, ast.Assign, ast.Expr)) or (
                isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name))):
            return None
        value = getattr(statement, field)
        if field == "test":
            holder, place = statement, field
        elif not isinstance(value, ast.Call):
            return None
        elif isinstance(value.func, ast.Attribute) and value.func.attr in _READING and not value.args:
            holder, place = value.func, "value"
        elif isinstance(value.func, ast.Name) and value.func.id in _NUMBERS and len(value.args) == 1:
            holder, place = value, "args"
        else:
            return None
        inner = holder.args[0] if place == "args" else getattr(holder, place)
        if isinstance(inner, ast.Starred) or not any(isinstance(node, _WORK) for node in ast.walk(inner)) or \
                not self._is_broken(value):
            return None
        name = f"_value_{self.values}"
        self.values += 1
        self.locals.add(name)
        loaded: Any = ast.copy_location(ast.Name(name, ast.Load()), inner)
        if place == "args":
            holder.args = [loaded]
        else:
            setattr(holder, place, loaded)
        return ast.copy_location(ast.Assign([ast.copy_location(ast.Name(name, ast.Store()), inner)], inner), inner)

    def _is_apart(self, statement):
        """Whether a statement means the same in a function of its own."""
        jumps = not isinstance(statement, ast.Return) and _jumps(statement)
        return not jumps and not _names([statement], ast.Load) & _FRAMES and not any(
            isinstance(node, (ast.Delete, ast.Try)) for node in ast.walk(statement))

    # ------------------------------------------------------------ pieces
    def _piece(self, run, certain, looping):
        """A call of the piece that some statements become; the statements where they become none."""
        if not any(isinstance(node, _WORK) for statement in run for node in ast.walk(statement)):
            return list(run)
        inputs, known = [], set(certain)
        own: set = set()
        for statement in run:
            inputs += sorted((_names([statement], ast.Load) & self.locals) - own)
            own |= _certain(statement)
        within = {id(node) for statement in run for node in ast.walk(statement)}
        elsewhere = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name) and id(node) not in within]
        read = {node.id for node in elsewhere if not isinstance(node.ctx, ast.Store)} | {
            node.target.id for node in ast.walk(self.tree) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
        read |= {name for name in self.locals if name.startswith("_value_")}     # what reads them may not stand in the tree yet
        written = {node.id for node in elsewhere if isinstance(node.ctx, (ast.Store, ast.Del))}
        if looping:                                      # what it reads may be what it wrote the last time
            read |= set(inputs)
            written |= _names(run, ast.Store)
        outputs = sorted(_names(run, ast.Store) & self.locals & read)
        inputs = list(dict.fromkeys([*inputs, *[name for name in outputs if name not in own]]))
        if any(name in written for name in inputs if name not in known):
            return list(run)                             # a variable that may be there or not
        inputs = [name for name in inputs if name in known]
        if any(name not in own and name not in known for name in outputs):
            return list(run)
        ends = isinstance(run[-1], ast.Return)
        name, here = f"_piece_{len(self.pieces)}", run[0]

        def at(node, where=here):
            return ast.fix_missing_locations(ast.copy_location(node, where))
        given = [] if ends else [at(ast.Return(ast.Tuple([ast.Name(each, ast.Load()) for each in outputs], ast.Load())), run[-1])]
        function = ast.FunctionDef(self.tree.name, _arguments(inputs), [*run, *given], [], None)
        function.type_params = []  # type: ignore[attr-defined]
        self.pieces[name] = Piece(self._function(at(function)), self.compiled, ends)
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(each, ast.Load()) for each in inputs], [])
        if ends:
            return [at(ast.Return(call))]
        if not outputs:
            return [at(ast.Expr(call))]
        return [at(ast.Assign([ast.Tuple([ast.Name(each, ast.Store()) for each in outputs], ast.Store())], call))]

    # ------------------------------------------------------------ functions
    def _compiled(self, tree, variables):
        """The code of a function that has variables of functions around it."""
        around = ast.FunctionDef("around", _arguments(variables), [tree], [], None)
        around.type_params = []  # type: ignore[attr-defined]
        whole = ast.fix_missing_locations(ast.Module([ast.copy_location(around, tree)], []))
        code = compile(whole, self.code.co_filename, "exec", self.code.co_flags & _FUTURE, True)
        outer = next(each for each in code.co_consts if isinstance(each, types.CodeType))
        return next(each for each in outer.co_consts if isinstance(each, types.CodeType) and each.co_name == tree.name)

    def _function(self, tree, more=None):
        cells = {**dict(zip(self.code.co_freevars, self.function.__closure__ or ())), **(more or {})}
        code = self._compiled(tree, list(cells))
        if hasattr(code, "co_qualname"):                 # from Python 3.11 on
            code = code.replace(co_qualname=self.code.co_qualname)
        return types.FunctionType(code, self.function.__globals__, self.function.__name__, None,
                                  tuple(cells[name] for name in code.co_freevars))


_FUTURE = __import__("__future__").annotations.compiler_flag
__all__ = ["code_of", "split"]
