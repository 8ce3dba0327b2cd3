"""Python's operators on tensors."""
from __future__ import annotations

import numpy as np

from ...scalars import number
from ...tensor import Tensor
from ..core.operands import as_operand
from . import arithmetic, comparison, power
from .calling import as_operator


def _reversed(function):
    def operator(self, other) -> Tensor:
        other = number(other) if not isinstance(other, (Tensor, np.ndarray)) else other
        return NotImplemented if other is None else function(as_operand(function.__name__, other), self)
    return operator


_BINARY = {"add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
           "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "and": comparison.bitwise_and,
           "or": comparison.bitwise_or, "xor": comparison.bitwise_xor, "lshift": comparison.bitwise_left_shift,
           "rshift": comparison.bitwise_right_shift}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}

for _name, _function in _BINARY.items():
    setattr(Tensor, f"__{_name}__", as_operator(_function))
    setattr(Tensor, f"__r{_name}__", as_operator(_function) if _name in _COMMUTATIVE else _reversed(_function))
    setattr(Tensor, f"__i{_name}__", as_operator(_function.op.inplace))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", as_operator(getattr(comparison, _name)))
Tensor.__rdiv__ = Tensor.__rtruediv__                    # Python 2's name, which PyTorch keeps
Tensor.__pow__ = as_operator(power.pow, pow_of=as_operator(power.pow_of))
Tensor.__rpow__ = _reversed(power.pow)
Tensor.__ipow__ = as_operator(power.pow_of.op.inplace)
Tensor.__neg__ = arithmetic.neg
Tensor.__abs__ = arithmetic.abs


def _invert(self) -> Tensor:
    if self.layout.dtype.category > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return comparison.bitwise_not(self)


Tensor.__invert__ = _invert


def _equality(function, otherwise):
    def operator(self, other) -> Tensor:
        """Elementwise for tensors and numbers; identity for anything else, so that tensors live in lists and dicts."""
        if other is None or isinstance(other, (str, list, tuple, dict)):
            return otherwise
        return function(self, other)
    return operator


Tensor.__eq__ = _equality(as_operator(comparison.eq), False)
Tensor.__ne__ = _equality(as_operator(comparison.ne), True)
