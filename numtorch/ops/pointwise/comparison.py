"""Comparisons, predicates, logic and bits, elementwise. None of these has a gradient."""
from __future__ import annotations

from ...kernels.vectormath import copysign as copysign_
from ..core.expression import Expression, define_operators
from .arithmetic import UNORDERED, where
from .pointwise import pointwise


@pointwise(kind="comparison")
def eq(x, y):
    """x == y, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.eq(torch.tensor([1., 2., torch.nan]), torch.tensor([1., 3., torch.nan]))
        tensor([ True, False, False])
    """
    return x == y


@pointwise(kind="comparison")
def ne(x, y):
    """x != y, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.ne(torch.tensor([1., 2., torch.nan]), torch.tensor([1., 3., torch.nan]))
        tensor([False,  True,  True])
    """
    return x != y


@pointwise(kind="comparison", methods=False)
def coincides(x, y):
    """Whether x == y or both are NaN, elementwise."""
    return (x == y) | ((x != x) & (y != y))


@pointwise(kind="comparison", refuses=UNORDERED)
def lt(x, y):
    """x < y, elementwise; no comparison with NaN holds.

    Example:
        >>> import numtorch as torch
        >>> torch.lt(torch.tensor([1., 2., torch.nan]), 2)
        tensor([ True, False, False])
    """
    return x < y


@pointwise(kind="comparison", refuses=UNORDERED)
def le(x, y):
    """x <= y, elementwise; no comparison with NaN holds.

    Example:
        >>> import numtorch as torch
        >>> torch.le(torch.tensor([1., 2., torch.nan]), 2)
        tensor([ True,  True, False])
    """
    return x <= y


@pointwise(kind="comparison", refuses=UNORDERED)
def gt(x, y):
    """x > y, elementwise; no comparison with NaN holds.

    Example:
        >>> import numtorch as torch
        >>> torch.gt(torch.tensor([1., 2., torch.nan]), 1)
        tensor([False,  True, False])
    """
    return x > y


@pointwise(kind="comparison", refuses=UNORDERED)
def ge(x, y):
    """x >= y, elementwise; no comparison with NaN holds.

    Example:
        >>> import numtorch as torch
        >>> torch.ge(torch.tensor([1., 2., torch.nan]), 2)
        tensor([False,  True, False])
    """
    return x >= y


@pointwise(kind="logical")
def logical_and(x, y):
    """Whether both are non-zero, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.logical_and(torch.tensor([0, 1, 2]), torch.tensor([1, 0, 3]))
        tensor([False, False,  True])
    """
    return x & y


@pointwise(kind="logical")
def logical_or(x, y):
    """Whether either is non-zero, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.logical_or(torch.tensor([0, 1, 0]), torch.tensor([1, 0, 0]))
        tensor([ True,  True, False])
    """
    return x | y


@pointwise(kind="logical")
def logical_xor(x, y):
    """Whether just one is non-zero, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.logical_xor(torch.tensor([0, 1, 2]), torch.tensor([1, 0, 3]))
        tensor([ True,  True, False])
    """
    return x ^ y


@pointwise(kind="logical")
def logical_not(x):
    """Whether x is zero, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.logical_not(torch.tensor([0, 1, 2]))
        tensor([ True, False, False])
    """
    return x == False                                    # noqa: E712  (`not` would branch)


@pointwise(kind="bitwise")
def bitwise_and(x, y):
    """The bits that both have, elementwise; `and` for bools.

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_and(torch.tensor([0b110, 5]), torch.tensor([0b011, 4]))
        tensor([2, 4])
    """
    return x & y


@pointwise(kind="bitwise")
def bitwise_or(x, y):
    """The bits that either has, elementwise; `or` for bools.

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_or(torch.tensor([0b110, 5]), torch.tensor([0b011, 4]))
        tensor([7, 5])
    """
    return x | y


@pointwise(kind="bitwise")
def bitwise_xor(x, y):
    """The bits that just one has, elementwise; `!=` for bools.

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_xor(torch.tensor([0b110, 5]), torch.tensor([0b011, 4]))
        tensor([5, 1])
    """
    return x ^ y


@pointwise(kind="bitwise")
def bitwise_not(x):
    """Every bit inverted, elementwise: -x - 1 for signed integers, `not` for bools.

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_not(torch.tensor([0, 5, -1]))
        tensor([-1, -6,  0])
    """
    return ~x


@bitwise_not.overload("bool")
def _(x):
    return x == False                                    # noqa: E712


@pointwise(kind="bitwise", refuses={"bool": ""})
def bitwise_left_shift(x, y):
    """x shifted left by y bits, elementwise: x * 2**y.

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_left_shift(torch.tensor([1, 5]), torch.tensor([4, 1]))
        tensor([16, 10])
    """
    return where((y < 0) | (y > 63), 0, x << y)          # what the processor would take as y % 64


@pointwise(kind="bitwise", refuses={"bool": ""})
def bitwise_right_shift(x, y):
    """x shifted right by y bits, keeping the sign, elementwise: floor(x / 2**y).

    Example:
        >>> import numtorch as torch
        >>> torch.bitwise_right_shift(torch.tensor([16, -5]), torch.tensor([4, 1]))
        tensor([ 1, -3])
    """
    return where((y < 0) | (y > 63), x >> 63, x >> y)


@pointwise(kind="comparison")
def isnan(x):
    """Whether x is not a number, elementwise; of a complex number, whether a part is not.

    Example:
        >>> import numtorch as torch
        >>> torch.isnan(torch.tensor([1., torch.nan, torch.inf]))
        tensor([False,  True, False])
    """
    return x != x


@pointwise(kind="comparison")
def isinf(x):
    """Whether x is plus or minus infinity, elementwise; of a complex number, whether a part is.

    Example:
        >>> import numtorch as torch
        >>> torch.isinf(torch.tensor([1., torch.nan, -torch.inf]))
        tensor([False, False,  True])
    """
    return (x == x) & ((x * 0) != (x * 0))


@isinf.overload("complex")
def _(x):
    a, b = x.real, x.imag
    return ((a == a) & ((a - a) != (a - a))) | ((b == b) & ((b - b) != (b - b)))


@pointwise(kind="comparison")
def isfinite(x):
    """Whether x is neither infinite nor NaN, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.isfinite(torch.tensor([1., torch.nan, -torch.inf]))
        tensor([ True, False, False])
    """
    return (x * 0) == (x * 0)


@pointwise(kind="comparison", refuses=UNORDERED)
def signbit(x):
    """Whether x is below zero or -0.0, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.signbit(torch.tensor([1., -2., -0.0]))
        tensor([False,  True,  True])
    """
    return x < 0


@signbit.overload("float")
def _(x):
    return copysign_(1, x) < 0


define_operators({"and": bitwise_and.op, "or": bitwise_or.op, "xor": bitwise_xor.op})
for _name, _op in dict(lt=lt, le=le, gt=gt, ge=ge, eq=eq, ne=ne).items():
    setattr(Expression, f"__{_name}__", lambda self, other, op=_op.op: op.function(self, other))
Expression.__hash__ = object.__hash__                    # defining == took it away
