"""The standard's elementwise functions, made from two tables: of one array, and of two."""
from __future__ import annotations

from ..ops.creation.fill import full, zeros_like
from ..ops.memory.conversion import to_dtype
from ..ops.memory.copies import clone
from ..ops.pointwise import arithmetic, comparison, complexparts, elementary, floats, functions, power, real_functions, rounding
from ..ops.pointwise import bounds as limits
from ..ops.reduce.query import broadcast_tensors
from ..tensor import Tensor
from .promotion import arrays, isdtype

__all__ = ["clip", "expm1", "floor_divide", "round", "sign", "tanh"]

_OF_ONE = {
    "abs": arithmetic.abs, "acos": elementary.acos, "acosh": elementary.acosh, "asin": elementary.asin, "asinh": elementary.asinh,
    "atan": elementary.atan, "atanh": elementary.atanh, "bitwise_invert": comparison.bitwise_not, "conj": functions.conj,
    "cos": elementary.cos, "cosh": elementary.cosh, "exp": elementary.exp,
    "isfinite": comparison.isfinite, "isinf": comparison.isinf, "isnan": comparison.isnan, "log": elementary.log,
    "log1p": elementary.log1p, "log2": elementary.log2, "log10": elementary.log10, "logical_not": comparison.logical_not,
    "negative": arithmetic.neg, "positive": functions.positive, "reciprocal": arithmetic.reciprocal,
    "signbit": comparison.signbit, "sin": elementary.sin, "sinh": elementary.sinh, "square": arithmetic.square,
    "sqrt": elementary.sqrt, "tan": elementary.tan, "real": complexparts.real, "imag": complexparts.imag,
}
_OF_INTEGERS_ITSELF = {"ceil": rounding.ceil, "floor": rounding.floor, "trunc": rounding.trunc}
_OF_TWO = {
    "add": functions.add, "atan2": elementary.atan2, "bitwise_and": comparison.bitwise_and,
    "bitwise_left_shift": comparison.bitwise_left_shift, "bitwise_or": comparison.bitwise_or,
    "bitwise_right_shift": comparison.bitwise_right_shift, "bitwise_xor": comparison.bitwise_xor, "copysign": elementary.copysign,
    "divide": functions.div, "equal": comparison.eq, "greater": comparison.gt,
    "greater_equal": comparison.ge, "hypot": real_functions.hypot, "less": comparison.lt, "less_equal": comparison.le,
    "logaddexp": real_functions.logaddexp, "logical_and": comparison.logical_and, "logical_or": comparison.logical_or,
    "logical_xor": comparison.logical_xor, "maximum": limits.maximum, "minimum": limits.minimum, "multiply": arithmetic.mul,
    "nextafter": floats.nextafter, "not_equal": comparison.ne, "pow": power.pow, "remainder": arithmetic.remainder,
    "subtract": functions.sub,
}


def _of_one(name, op):
    def function(x, /) -> Tensor:
        return op(x)
    return _named(function, name)


def _of_integers_itself(name, op):
    def function(x, /) -> Tensor:
        return clone(x) if x.dtype.category < 2 else op(x)
    return _named(function, name)


def _of_two(name, op):
    def function(x1, x2, /) -> Tensor:
        return op(*arrays(x1, x2))
    return _named(function, name)


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The standard's `{name}`, elementwise."
    __all__.append(name)
    return function


for _make, _table in ((_of_one, _OF_ONE), (_of_integers_itself, _OF_INTEGERS_ITSELF), (_of_two, _OF_TWO)):
    globals().update({_name: _make(_name, _op) for _name, _op in _table.items()})


def round(x, /) -> Tensor:
    """The nearest integer, the even one of two."""
    if x.dtype.category == 3:
        return _of_parts(rounding.round, x)
    return clone(x) if x.dtype.category < 2 else rounding.round(x)


def floor_divide(x1, x2, /) -> Tensor:
    """The greatest integer up to x1 / x2; beside infinities that of the quotient, which PyTorch's is not."""
    x1, x2 = arrays(x1, x2)
    result = arithmetic.floor_divide(x1, x2)
    if x1.dtype.category < 2:
        return result
    endless = comparison.logical_or(comparison.isinf(x1), comparison.isinf(x2))
    return functions.where(endless, rounding.floor(functions.div(x1, x2)), result)


def _of_parts(function, x) -> Tensor:
    """A function of the real and of the imaginary part."""
    return complexparts.complex(function(complexparts.real(x)), function(complexparts.imag(x)))


def expm1(x, /) -> Tensor:
    """exp(x) - 1; of a complex number with an infinite real part as exp has it, where PyTorch's is NaN."""
    result = elementary.expm1(x)
    if not isdtype(x.dtype, "complex floating"):
        return result
    return functions.where(comparison.isinf(complexparts.real(x)), functions.sub(elementary.exp(x), 1), result)


def tanh(x, /) -> Tensor:
    """The hyperbolic tangent; beside an infinite real part the imaginary one is a zero of its own sign."""
    result = elementary.tanh(x)
    if not isdtype(x.dtype, "complex floating"):
        return result
    real, imag = complexparts.real(x), complexparts.imag(x)
    far = comparison.logical_and(comparison.isinf(real), comparison.isfinite(imag))
    limit = complexparts.complex(complexparts.real(result), elementary.copysign(zeros_like(imag), imag))
    return functions.where(far, limit, result)


def sign(x, /) -> Tensor:
    """-1, 0 or 1; of a complex number x / |x|; NaN of NaN."""
    if isdtype(x.dtype, "complex floating"):
        return functions.where(comparison.eq(x, 0), zeros_like(x), arithmetic.sgn(x))       # without the signs of a zero's parts
    result = arithmetic.sign(x)
    return functions.where(comparison.isnan(x), x, result) if x.dtype.category == 2 else result


def clip(x, /, min=None, max=None) -> Tensor:
    """Elements held between `min` and `max`, numbers or arrays, in the dtype of `x`."""
    bounds = [b if b is None or isinstance(b, Tensor) else full((), b, dtype=x.dtype, device=x.device) for b in (min, max)]
    shaped = [t for t in (x, *bounds) if t is not None]
    held, *rest = broadcast_tensors(*shaped)
    rest = [to_dtype(t, x.dtype) for t in rest]
    low = rest.pop(0) if min is not None else None
    high = rest.pop(0) if max is not None else None
    held = clone(held) if low is None else limits.maximum(held, low)
    return held if high is None else limits.minimum(held, high)
