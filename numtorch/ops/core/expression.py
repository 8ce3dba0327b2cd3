"""Formulas as expressions.

A derivative is an ordinary Python function. Called once with `Symbol`s instead of numbers it leaves a small graph, from which
the rest is read off: which inputs each gradient needs (only those are saved), which gradient is just `grad` passed on
(no kernel, no copy), and, with `create_graph`, which ops to run on tensors for the gradients that are wanted, and no others.
"""
from __future__ import annotations

MOST_BRANCHES = 8                                        # conditions on one way through a formula


class Fork(BaseException):
    """A formula that asks for a condition's truth, which both ways have."""

    def __init__(self, condition):
        super().__init__()
        self.condition = condition


_taken: list = []                                        # the answers to the conditions asked so far, of each formula being traced


class Expression:
    """A value in a formula: a named argument (`Symbol`) or an op applied to values (`Apply`)."""

    __slots__ = ()

    def __bool__(self):
        if not _taken:
            raise TypeError("a formula cannot branch on a value: it runs on whole rows at once. Choose with where(condition, x, y)")
        if not _taken[-1]:
            raise Fork(self)
        return _taken[-1].pop()

    def __iter__(self):
        raise TypeError("a value in a formula is a scalar and cannot be unpacked")


class Symbol(Expression):
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


class Apply(Expression):
    __slots__ = ("op", "args")

    def __init__(self, op, args):
        self.op, self.args = op, args

    def __repr__(self):
        return f"{self.op.name}({', '.join(map(repr, self.args))})"


def trace(function, names) -> tuple:
    """The expressions that a formula returns, one for each input it has a gradient for."""
    result = function(*[Symbol(n) for n in names])
    return result if isinstance(result, tuple) else (result,)


def trace_branches(function, arguments, where, answers=()):
    """What a formula that may branch returns for expressions: where two ways part, `where(condition, one, other)`.

    Raises:
        TypeError: more than MOST_BRANCHES conditions on one way, as of a loop that ends by a value.
    """
    _taken.append(list(reversed(answers)))
    try:
        return function(*arguments)
    except Fork as fork:
        condition = fork.condition
    finally:
        _taken.pop()
    if len(answers) == MOST_BRANCHES:
        raise TypeError(f"a formula that branches on more than {MOST_BRANCHES} conditions in a row is not followed")
    one, other = (trace_branches(function, arguments, where, (*answers, answer)) for answer in (True, False))
    if isinstance(one, tuple):
        return tuple(where(condition, a, b) for a, b in zip(one, other))
    return where(condition, one, other)


def symbols(expression) -> frozenset:
    """The names an expression depends on."""
    if isinstance(expression, Symbol):
        return frozenset((expression.name,))
    if isinstance(expression, Apply):
        return frozenset().union(*[symbols(a) for a in expression.args])
    return frozenset()


def evaluate(expressions, values: dict) -> list:
    """The expressions' values, each shared part computed once, with ops applied to what `values` holds for the names."""
    known = {}
    return [_value(e, values, known) for e in expressions]


def _value(expression, values, known):
    """Not nested in `evaluate`: a closure that calls itself is a cycle, and would keep the tensors until the collector runs."""
    if isinstance(expression, Symbol):
        return values[expression.name]
    if not isinstance(expression, Apply):
        return expression
    if id(expression) not in known:
        known[id(expression)] = expression.op.function(*[_value(a, values, known) for a in expression.args])
    return known[id(expression)]


def define_operators(operators: dict) -> None:
    """Give expressions Python's operators: `{"add": op, ...}` for `__add__` and `__radd__`, unary ones by `{"neg": op}`."""
    def binary(op, reverse):
        return (lambda self, other: Apply(op, (other, self))) if reverse else (lambda self, other: Apply(op, (self, other)))

    for name, op in operators.items():
        if op.arity == 1:
            setattr(Expression, f"__{name}__", lambda self, op=op: Apply(op, (self,)))
        else:
            setattr(Expression, f"__{name}__", binary(op, False))
            setattr(Expression, f"__r{name}__", binary(op, True))
