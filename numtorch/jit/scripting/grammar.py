"""The statements and expressions of a script, and what to write instead of others."""
from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .problems import Source, UnsupportedNodeError, refuse

STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Break, ast.Continue, ast.Return,
              ast.Pass, ast.Assert, ast.Raise, ast.With, ast.Delete)
EXPRESSIONS = (
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Dict,
    ast.List,
    ast.Tuple,
    ast.ListComp,
    ast.DictComp,
    ast.Compare,
    ast.Call,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Starred,
    ast.Name,
    ast.Slice,
)
_ASKED = ("isinstance", "hasattr", "len")                # calls that do nothing
ADVICE: dict[type, str] = {
    ast.Try: "try/except is not in a script: test with `if` for what may go wrong, or put it under @torch.jit.ignore",
    ast.Lambda: "lambdas are not in a script: write a function with `def` beside this one",
    ast.FunctionDef: "functions inside of functions are not in a script: write it beside this one",
    ast.AsyncFunctionDef: "a script is not async: write `def`",
    ast.ClassDef: "classes inside of functions are not in a script: write a module, or a tuple",
    ast.Import: "imports are not in a script: import at the top of the file",
    ast.ImportFrom: "imports are not in a script: import at the top of the file",
    ast.Global: "global variables are not in a script: give the value as an argument, and return it",
    ast.Nonlocal: "variables of other functions are not in a script: give the value as an argument, and return it",
    ast.Yield: "generators are not in a script: append to a list, and return it",
    ast.YieldFrom: "generators are not in a script: append to a list, and return it",
    ast.Await: "a script is not async",
    ast.NamedExpr: "`:=` is not in a script: assign on a line of its own",
    ast.Set: "sets are not in a script: use a list, or a dict",
    ast.SetComp: "sets are not in a script: use a list, or a dict",
    ast.GeneratorExp: "generators are not in a script: write a list, with [ ]",
    ast.Match: "`match` is not in a script: write `if` and `elif`",
    ast.AsyncFor: "a script is not async",
    ast.AsyncWith: "a script is not async",
}


def refuse_node(source: Source, node: ast.AST):
    """Raise what a node is, and what to write instead."""
    advice = ADVICE.get(type(node), f"{type(node).__name__} is not in a script")
    refuse(source, node, advice, UnsupportedNodeError)


def check_form(source: Source, tree: ast.FunctionDef) -> None:
    """Raise where a function has a node that is not in the grammar."""
    for statement in ast.walk(tree):
        if statement is not tree and isinstance(statement, (ast.stmt, ast.expr)) and \
                not isinstance(statement, (*STATEMENTS, *EXPRESSIONS)):
            refuse_node(source, statement)


def refused(error: Exception) -> ast.stmt:
    """What stands for a statement that is not in the subset: only where types do not say that it is never reached is that an error.

    Args:
        error: raised when the statement is checked.
    """
    made: Any = ast.Raise(ast.Call(ast.Name("NotImplementedError", ast.Load()), [ast.Constant(str(error).partition(":\n")[0])], []))
    made.refused = error
    return made


def decided(node: ast.BoolOp, known: Callable[[ast.expr], bool | None]) -> bool | None:
    """What `and` or `or` is, where one of its parts decides that and no call stands before it, which would not be made.

    Args:
        node: it.
        known: what a part is, or None.
    """
    decisive = isinstance(node.op, ast.Or)
    result: bool | None = not decisive
    for each in node.values:
        value = known(each)
        if value is decisive:
            return decisive
        if value is None:
            if any(isinstance(part, ast.Call) and getattr(part.func, "id", "") not in _ASKED for part in ast.walk(each)):
                return None
            result = None
    return result


def dotted(path: str) -> ast.expr:
    """A path such as `torch.relu` as an expression."""
    first, *rest = path.split(".")
    result: ast.expr = ast.Name(first, ast.Load())
    for name in rest:
        result = ast.Attribute(result, name, ast.Load())
    return result


def function_of(name: str, arguments: ast.arguments, body: list, result: ast.expr | None = None) -> ast.FunctionDef:
    """A definition.

    Args:
        name: its own.
        arguments: its.
        body: statements.
        result: the annotation of what it returns.
    """
    made: Any = ast.FunctionDef(name, arguments, body, [], result)
    made.type_params = []                                # which Python has from 3.12 on
    return made
