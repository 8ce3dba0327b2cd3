"""Comparisons, predicates, logic and bits, elementwise. None of these has a gradient."""
from __future__ import annotations

from ..kernels.vectormath import copysign as copysign_
from .arithmetic import UNORDERED
from .expression import Expression, define_operators
from .pointwise import pointwise


@pointwise(kind="comparison")
def eq(x, y):
    """x == y, elementwise, as bools."""
    return x == y


@pointwise(kind="comparison")
def ne(x, y):
    """x != y, elementwise, as bools."""
    return x != y


@pointwise(kind="comparison", refuses=UNORDERED)
def lt(x, y):
    """x < y, elementwise, as bools."""
    return x < y


@pointwise(kind="comparison", refuses=UNORDERED)
def le(x, y):
    """x <= y, elementwise, as bools."""
    return x <= y


@pointwise(kind="comparison", refuses=UNORDERED)
def gt(x, y):
    """x > y, elementwise, as bools."""
    return x > y


@pointwise(kind="comparison", refuses=UNORDERED)
def ge(x, y):
    """x >= y, elementwise, as bools."""
    return x >= y


@pointwise(kind="logical")
def logical_and(x, y):
    """Whether both are non-zero, elementwise."""
    return x & y


@pointwise(kind="logical")
def logical_or(x, y):
    """Whether either is non-zero, elementwise."""
    return x | y


@pointwise(kind="logical")
def logical_xor(x, y):
    """Whether just one is non-zero, elementwise."""
    return x ^ y


@pointwise(kind="logical")
def logical_not(x):
    """Whether x is zero, elementwise."""
    return x == False                                    # noqa: E712  (`not` would branch)


@pointwise(kind="bitwise")
def bitwise_and(x, y):
    """Bitwise and, elementwise, of integers or bools."""
    return x & y


@pointwise(kind="bitwise")
def bitwise_or(x, y):
    """Bitwise or, elementwise, of integers or bools."""
    return x | y


@pointwise(kind="bitwise")
def bitwise_xor(x, y):
    """Bitwise exclusive or, elementwise, of integers or bools."""
    return x ^ y


@pointwise(kind="bitwise")
def bitwise_not(x):
    """Every bit inverted, elementwise; logical not for bools."""
    return ~x


@bitwise_not.overload("bool")
def _(x):
    return x == False                                    # noqa: E712


@pointwise(kind="bitwise", refuses={"bool": ""})
def bitwise_left_shift(x, y):
    """x shifted left by y bits, elementwise."""
    return x << y


@pointwise(kind="bitwise", refuses={"bool": ""})
def bitwise_right_shift(x, y):
    """x shifted right by y bits, keeping the sign, elementwise."""
    return x >> y


@pointwise(kind="comparison")
def isnan(x):
    """Whether x is not a number, elementwise."""
    return x != x


@pointwise(kind="comparison")
def isinf(x):
    """Whether x is plus or minus infinity, elementwise."""
    return (x == x) & ((x - x) != (x - x))


@isinf.overload("complex")
def _(x):
    a, b = x.real, x.imag
    return ((a == a) & ((a - a) != (a - a))) | ((b == b) & ((b - b) != (b - b)))


@pointwise(kind="comparison")
def isfinite(x):
    """Whether x is neither infinite nor NaN, elementwise."""
    return (x - x) == (x - x)


@pointwise(kind="comparison", refuses=UNORDERED)
def signbit(x):
    """Whether x is below zero or -0.0, elementwise."""
    return x < 0


@signbit.overload("float")
def _(x):
    return copysign_(1, x) < 0


define_operators({"and": bitwise_and.op, "or": bitwise_or.op, "xor": bitwise_xor.op})
for _name, _op in dict(lt=lt, le=le, gt=gt, ge=ge, eq=eq, ne=ne).items():
    setattr(Expression, f"__{_name}__", lambda self, other, op=_op.op: op.function(self, other))
Expression.__hash__ = object.__hash__                    # defining == took it away
