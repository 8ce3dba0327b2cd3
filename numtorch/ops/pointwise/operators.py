"""Python's operators on tensors."""
from __future__ import annotations

import numpy as np

from ...exchange.scalars import number
from ...tensor import Tensor
from ..core.operands import as_operand
from . import arithmetic, comparison, power
from .calling import as_operator, first_operation


def _check_left(op, other):
    """Raise TypeError for an array on the left, as PyTorch does: `array += tensor` comes here too when NumPy gives it up, and would
    leave the array as it is and make its name a tensor's."""
    if isinstance(other, np.ndarray):
        sign = _SIGNS[op.name]
        raise TypeError(f"unsupported operand type(s) for {sign}: 'numpy.ndarray' and 'Tensor' ({op.name}: expected a tensor or a "
                        f"number on the left; write torch.from_numpy(array) {sign} tensor, or array {sign} tensor.numpy())")


def _first_reflected(op, args, out):
    _check_left(op, args[1])
    return first_operation(op, args, out)


def _reversed(function, op):
    def operator(self, other) -> Tensor:
        _check_left(op, other)
        other = number(other) if not isinstance(other, (Tensor, np.ndarray)) else other
        return NotImplemented if other is None else function(as_operand(function.__name__, other), self)
    return operator


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "floor_divide": "//", "remainder": "%", "pow": "**", "bitwise_and": "&",
          "bitwise_or": "|", "bitwise_xor": "^", "bitwise_left_shift": "<<", "bitwise_right_shift": ">>"}
_BINARY = {"add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
           "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "and": comparison.bitwise_and,
           "or": comparison.bitwise_or, "xor": comparison.bitwise_xor, "lshift": comparison.bitwise_left_shift,
           "rshift": comparison.bitwise_right_shift}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}

for _name, _function in _BINARY.items():
    setattr(Tensor, f"__{_name}__", as_operator(_function))
    setattr(Tensor, f"__r{_name}__", as_operator(_function, first_call=_first_reflected) if _name in _COMMUTATIVE
            else _reversed(_function, _function.op))
    setattr(Tensor, f"__i{_name}__", as_operator(_function.op.inplace))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", as_operator(getattr(comparison, _name)))
_quotient = Tensor.__rtruediv__


def _reversed_quotient(self, other) -> Tensor:
    """A number over this tensor. Of an array on the left, PyTorch makes a product with the reciprocal."""
    return arithmetic.reciprocal(self) * other if isinstance(other, np.ndarray) else _quotient(self, other)


Tensor.__rtruediv__ = _reversed_quotient
Tensor.__rdiv__ = Tensor.__rtruediv__                    # Python 2's name, which PyTorch keeps
Tensor.__pow__ = as_operator(power.pow, pow_of=as_operator(power.pow_of))
Tensor.__rpow__ = _reversed(power.pow, power.pow_of.op)
Tensor.__ipow__ = as_operator(power.pow_in_place, written_power=as_operator(power.written_power))
Tensor.__neg__ = arithmetic.neg
Tensor.__abs__ = arithmetic.abs


def _invert(self) -> Tensor:
    if self.layout.dtype.category > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return comparison.bitwise_not(self)


Tensor.__invert__ = _invert


def _equality(function, otherwise):
    def operator(self, other) -> Tensor:
        """Elementwise for tensors, arrays and numbers; identity for anything else, so that tensors live in lists and dicts."""
        if other is None or isinstance(other, (str, list, tuple, dict)):
            return otherwise
        return function(self, as_operand(function.__name__, other) if isinstance(other, np.ndarray) else other)
    return operator


Tensor.__eq__ = _equality(as_operator(comparison.eq), False)
Tensor.__ne__ = _equality(as_operator(comparison.ne), True)
