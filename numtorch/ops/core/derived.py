"""Formulas of users, read: what they were made of when they were written, as expressions, and their derivatives.

A derivative that is not written follows from those of the ops that a formula calls, by the chain rule from the result back to the
arguments (reverse accumulation: Griewank and Walther, Evaluating Derivatives, 2008, section 3.2). Where a formula branches, it is
that of the branch taken.
"""
from __future__ import annotations

import functools
import types as pytypes

from ...dtypes import float64
from ...exchange.construction import make
from ...kernels.binding import ScalarBody
from ...kernels.sources import compile_source
from .expression import Apply, Expression, Symbol, symbols, trace_branches
from .primitive import is_ours, registry


# ---------------------------------------------------------------- functions that are no record
def formula_of(*functions):
    """Decorator: what functions that are made of several ops mean inside of a formula, where numbers are all there is."""
    def add(formula):
        for function in functions:
            function.formula, function.scalar = formula, functools.lru_cache(None)(functools.partial(ScalarBody, formula))
        return formula
    return add


def same_as(record, *functions):
    """Functions with the arguments of a record, which they are in a formula."""
    for function in functions:
        function.formula, function.scalar = record, record.scalar


# ---------------------------------------------------------------- names
def frozen(function):
    """A function with the globals and closed-over values that it has now: what they are assigned later changes no kernel.

    Names that are not there yet are looked up when they are first needed, and then stay.
    """
    return _frozen(function, {})


class Names(dict):
    """The globals of a frozen function. What was missing then is taken from where it was written when it is first looked for."""

    def __init__(self, names, source):
        super().__init__(names)
        self.source = source

    def __contains__(self, name):
        if not super().__contains__(name) and name in self.source:
            self[name] = self.source[name]
        return super().__contains__(name)


def _frozen(function, known):
    if function in known:
        return known[function]
    code = function.__code__
    scope = Names({"__name__": function.__module__, "__builtins__": function.__globals__.get("__builtins__", __builtins__)},
                 function.__globals__)
    closure = tuple(pytypes.CellType(cell.cell_contents) for cell in function.__closure__ or ()) or None
    made = known[function] = pytypes.FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__, made.__doc__, made.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    made.__qualname__ = function.__qualname__
    made.__dict__.update(vars(function))
    for name in code.co_names:
        if name in function.__globals__:
            value = function.__globals__[name]
            scope[name] = _frozen(value, known) if _is_plain(value) else value
    return made


def _is_plain(value):
    """Whether a value is a function that its user wrote, and no op."""
    return isinstance(value, pytypes.FunctionType) and not hasattr(value, "scalar") and not is_ours(value.__module__)


# ---------------------------------------------------------------- expressions
def expression_of(op):
    """What a formula gives for symbols: an expression, or None where it cannot be read (it calls compiled code)."""
    body, count = _readable(op.body, {}), len(op.operands)

    def positional(*values):
        return body(*values[:count], **dict(zip(op.numbers, values[count:])))

    try:
        return trace_branches(positional, [Symbol(n) for n in op.parameters], registry["where"].function)
    except (TypeError, AttributeError, NameError, RecursionError):
        return None


def _readable(function, known):
    """A function whose names stand for what takes expressions: formulas for functions made of several ops, ops for `math`'s."""
    if function in known:
        return known[function]
    scope = {"__builtins__": function.__globals__.get("__builtins__", __builtins__), "__name__": function.__module__}
    code = function.__code__
    cells = [_in_expressions(cell.cell_contents, code, known) for cell in function.__closure__ or ()]
    closure = tuple(map(pytypes.CellType, cells)) or None
    known[function] = made = pytypes.FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    for name in code.co_names:
        if name in function.__globals__:
            scope[name] = _in_expressions(function.__globals__[name], code, known)
    return made


def _in_expressions(value, code, known):
    if isinstance(value, pytypes.ModuleType):
        stand_in = pytypes.ModuleType(value.__name__)
        stand_in.__dict__.update({n: _in_expressions(vars(value)[n], code, known) for n in code.co_names
                                  if n in vars(value) and vars(value)[n] is not value})
        return stand_in
    if hasattr(value, "formula"):
        return value.formula if hasattr(value.formula, "op") else _readable(value.formula, known)
    if getattr(value, "__module__", None) in ("math", "cmath") or type(value).__name__ == "ufunc":
        op = registry.get(_SPELLED.get(value.__name__, value.__name__))
        return op.function if op is not None and hasattr(op, "operands") else value
    return _readable(value, known) if _is_plain(value) else value


_SPELLED = {"fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh"}


# ---------------------------------------------------------------- derivatives
def derive(op):
    """The gradients of an op by all its parameters, as expressions of `grad`, the parameters and `out`.

    Raises:
        NotImplementedError: the formula cannot be read, or an op in it has no derivative.
    """
    if not isinstance(op.expression, Expression):
        raise NotImplementedError(f"the derivative for '{op.name}' is not implemented, and its formula cannot be read, which its "
                                  f"derivative could follow from. Write it: @{op.name}.derivative")
    sums: dict = {id(op.expression): Symbol("grad")}
    by_name = {}
    add = registry["add"].function
    for value in reversed(_in_order(op.expression)):
        grad = sums.get(id(value))
        if grad is None:
            continue
        if isinstance(value, Symbol):
            by_name[value.name] = grad if value.name not in by_name else add(by_name[value.name], grad)
            continue
        for argument, part in zip(value.args, _through(value, grad, op)):
            if isinstance(argument, Expression) and isinstance(part, Expression):
                before = sums.get(id(argument))
                sums[id(argument)] = part if before is None else add(before, part)
    return tuple(by_name.get(name, 0) for name in op.parameters)


def _in_order(expression):
    """All parts of an expression, each once, arguments before what is made of them."""
    ordered, seen, stack = [], set(), [(expression, False)]
    while stack:
        value, done = stack.pop()
        if done:
            ordered.append(value)
        elif isinstance(value, Expression) and id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack += [(a, False) for a in getattr(value, "args", ())]
    return ordered


def _through(value, grad, whole):
    """The gradients of the arguments of one op in an expression."""
    inner = value.op
    if inner.name == "conj":
        return (inner.function(grad),)
    if not inner.differentiable:                         # it changes in steps
        return ()
    names = dict(zip(inner.parameters, value.args))
    names["grad"], names["out"] = grad, Symbol("out") if value is whole.expression else value
    known: dict = {}
    return tuple(_substituted(gradient, names, known) for gradient in inner.gradients)


def _substituted(expression, names, known):
    """An expression of what names stand for; an op of numbers alone is the number that it gives."""
    if isinstance(expression, Symbol):
        return names[expression.name]
    if not isinstance(expression, Apply):
        return expression
    if id(expression) not in known:
        arguments = tuple(_substituted(a, names, known) for a in expression.args)
        known[id(expression)] = Apply(expression.op, arguments) if any(isinstance(a, Expression) for a in arguments) else \
            expression.op.function(*[make(a, dtype=float64 if type(a) is float else None) for a in arguments]).item()
    return known[id(expression)]


def as_function(expressions, names):
    """A function of numbers that returns what expressions say, each part computed once."""
    scope, known, lines = {}, {name: name for name in names}, []

    def written(value):
        if isinstance(value, Symbol):
            return value.name
        if not isinstance(value, Apply):
            scope.setdefault(f"c{len(scope)}", value)
            return next(n for n, v in scope.items() if v is value)
        if id(value) not in known:
            arguments = ", ".join(map(written, value.args))
            function = f"f{len(scope)}"
            scope[function] = value.op.function
            known[id(value)] = f"v{len(lines)}"
            lines.append(f"    v{len(lines)} = {function}({arguments})")
        return known[id(value)]

    results = ", ".join(map(written, expressions))
    source = "\n".join([f"def derivative({', '.join(names)}):", *lines, f"    return {results}"])
    compile_source(source, "derivative", scope)
    return scope.pop("derivative")


def derived(op):
    """(function, its arguments' names, expressions) of a derivative that nobody wrote."""
    expressions = derive(op)
    names = sorted(frozenset().union(*map(symbols, expressions)) | {"grad"}, key=["grad", *op.parameters, "out"].index)
    return as_function(expressions, names), names, expressions
