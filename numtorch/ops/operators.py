"""Python's operators on tensors, and what the tape's engine needs of arithmetic."""
from __future__ import annotations

from ..autograd.engine import arithmetic as engine_arithmetic
from ..tensor import Tensor
from . import arithmetic, comparison, copy, creation, join, power, reduce, writing
from .mask import replace_where
from .op import as_operand, method, registry, result_type
from .resize import into


def _reversed(function):
    def operator(self, other):
        return function(as_operand(function.__name__, other), self)
    return operator


_BINARY = {"add": arithmetic.add, "sub": arithmetic.sub, "mul": arithmetic.mul, "truediv": arithmetic.div,
           "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "and": comparison.bitwise_and,
           "or": comparison.bitwise_or, "xor": comparison.bitwise_xor, "lshift": comparison.bitwise_left_shift,
           "rshift": comparison.bitwise_right_shift}
_COMMUTATIVE = {"add", "mul", "and", "or", "xor"}

for _name, _function in _BINARY.items():
    setattr(Tensor, f"__{_name}__", _function)
    setattr(Tensor, f"__r{_name}__", _function if _name in _COMMUTATIVE else _reversed(_function))
    setattr(Tensor, f"__i{_name}__", _function.op.inplace)
for _name in ("lt", "le", "gt", "ge"):
    setattr(Tensor, f"__{_name}__", getattr(comparison, _name))
Tensor.__pow__ = power.pow
Tensor.__rpow__ = lambda self, other: power.pow(as_operand("pow", other), self)
Tensor.__ipow__ = power.pow_of.op.inplace
Tensor.__neg__ = arithmetic.neg
Tensor.__abs__ = arithmetic.abs


def _invert(self):
    if self.layout.dtype.category > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return comparison.bitwise_not(self)


Tensor.__invert__ = _invert


def _equality(function, otherwise):
    def operator(self, other):
        """Elementwise for tensors and numbers; identity for anything else, so that tensors live in lists and dicts."""
        if other is None or isinstance(other, (str, list, tuple, dict)):
            return otherwise
        return function(self, other)
    return operator


Tensor.__eq__ = _equality(comparison.eq, False)
Tensor.__ne__ = _equality(comparison.ne, True)


# ---------------------------------------------------------------- the public forms that take more than the record
def add(input, other, *, alpha=1, out=None) -> Tensor:
    """input + alpha * other, elementwise."""
    if alpha == 1:
        return arithmetic.add(input, other, out=out)
    _check_factor(input, other, alpha)
    return arithmetic.add_scaled(input, other, alpha, out=out)


def _check_factor(input, other, alpha):
    """Raise RuntimeError for a fraction as a factor of integers, which would make them floating-point numbers."""
    if type(alpha) is float and result_type(input, other).category < 2:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def sub(input, other, *, alpha=1, out=None) -> Tensor:
    """input - alpha * other, elementwise."""
    if alpha == 1:
        return arithmetic.sub(input, other, out=out)
    _check_factor(input, other, alpha)
    return arithmetic.add_scaled(input, other, -alpha, out=out)


def div(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """input / other, elementwise; rounded with `rounding_mode` "trunc" (towards zero) or "floor"."""
    if rounding_mode is None:
        return arithmetic.div(input, other, out=out)
    if rounding_mode == "floor":
        return arithmetic.floor_divide(input, other, out=out)
    if rounding_mode == "trunc":
        return arithmetic.trunc_divide(input, other, out=out)
    raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")


def clamp(input, min=None, max=None, *, out=None) -> Tensor:
    """Elements held between `min` and `max` (numbers or tensors); either may be None. NaN stays.

    Raises:
        RuntimeError: neither bound is given.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-2., 0.5, 3.]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min is not None and max is not None:
        return arithmetic.clamp_both(input, min, max, out=out)
    if min is not None:
        return arithmetic.clamp_low(input, min, out=out)
    if max is not None:
        return arithmetic.clamp_high(input, max, out=out)
    raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def where(condition, input=None, other=None, *, out=None):
    """input where the condition holds, else other; with the condition alone, the indices where it holds.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([-1., 2.])
        >>> torch.where(x > 0, x, 0.0)
        tensor([0., 2.])
    """
    if input is None and other is None:
        return registry["nonzero"].function(condition, as_tuple=True)
    return arithmetic.where(condition, input, other, out=out)


def _with_alpha(inplace, sign):
    scaled = arithmetic.add_scaled.op.inplace

    def method(self, other, *, alpha=1):
        return inplace(self, other) if alpha == 1 else scaled(self, other, sign * alpha)
    method.__doc__ = inplace.__doc__
    return method


def _clamp_(self, min=None, max=None):
    """In-place form of `clamp`."""
    if min is not None and max is not None:
        return arithmetic.clamp_both.op.inplace(self, min, max)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return arithmetic.clamp_low.op.inplace(self, min) if max is None else arithmetic.clamp_high.op.inplace(self, max)


def masked_fill(input, mask, value) -> Tensor:
    """`value` where the mask holds, the tensor's own element elsewhere.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., -2.]).masked_fill(torch.tensor([False, True]), 0.0)
        tensor([1., 0.])
    """
    return copy.to_dtype(replace_where(input, mask, value), input.layout.dtype)


def _masked_fill_(self, mask, value):
    """In-place form of `masked_fill`."""
    kind = type(value)
    if self.layout.dtype.category >= {int: 1, float: 2}.get(kind, 4):
        return replace_where.op.inplace(self, mask, value)
    return copy.copy_(self, masked_fill(self, mask, value))


for _public, _record in ((add, arithmetic.add), (sub, arithmetic.sub), (div, arithmetic.div), (where, arithmetic.where)):
    _public.scalar = _record.scalar                      # in a formula they mean their records
    _public.op = _record.op

Tensor.add, Tensor.sub, Tensor.div = add, sub, div
Tensor.add_, Tensor.sub_ = _with_alpha(arithmetic.add.op.inplace, 1), _with_alpha(arithmetic.sub.op.inplace, -1)
method(power.pow)
method(power.pow_of.op.inplace, "pow_")
method(clamp)
method(_clamp_, "clamp_")
method(clamp, "clip")
method(_clamp_, "clip_")
method(masked_fill)
method(_masked_fill_, "masked_fill_")
method(lambda self, condition, other: arithmetic.where(condition, self, other), "where")
for _alias, _name in {"subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "absolute": "abs",
                      "true_divide": "div",
                      "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "arccos": "acos",
                      "arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
                      "arctanh": "atanh", "fix": "trunc"}.items():
    method(getattr(Tensor, _name), _alias)


def positive(input) -> Tensor:
    """+input, which is the tensor itself. Raises RuntimeError for bools."""
    if input.layout.dtype.category == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


Tensor.__pos__ = method(positive)


# ---------------------------------------------------------------- conjugates
def conj(input) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    return arithmetic.conj_physical(input) if input.layout.dtype.is_complex else input


def conj_physical(input, *, out=None) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    if input.layout.dtype.is_complex:
        return arithmetic.conj_physical(input, out=out)
    return into(out, input)


method(conj)
method(conj_physical)
method(arithmetic.conj_physical.op.inplace, "conj_physical_")
Tensor.mH = property(lambda self: conj(Tensor.mT.fget(self)))
Tensor.H = property(lambda self: conj(Tensor.T.fget(self)))
method(lambda self: self.mH, "adjoint")
method(lambda self: False, "is_conj")                    # conjugates are computed when they are asked for
method(lambda self: self, "resolve_conj")


# ---------------------------------------------------------------- the engine's share
engine_arithmetic.add = arithmetic.add
engine_arithmetic.add_ = arithmetic.add.op.inplace
engine_arithmetic.stack = join.stack
engine_arithmetic.clone = lambda t: copy.clone(t, memory_format="contiguous_format")


_ones: dict = {}                                         # the gradient that backward starts with, by layout


def _root_gradient(tensor):
    """Ones for a scalar result. Kept, since every step asks for them; made anew should a hook have written to them."""
    found = _ones.get(tensor.layout)
    if found is None or found.storage.version:
        if len(_ones) >= 64:
            _ones.clear()
        layout = tensor.layout
        found = _ones[layout] = creation.ones(layout.shape, dtype=layout.dtype, device=layout.device)
    return found


engine_arithmetic.ones_like = _root_gradient
engine_arithmetic.zeros_like = creation.zeros_like
engine_arithmetic.zeros = lambda layout: copy.filled(layout.dense(), 0)
engine_arithmetic.check_inplace_allowed, engine_arithmetic.rebase_history = writing.check_inplace_allowed, writing.rebase_history
engine_arithmetic.has_nan = lambda t: bool(reduce.any(comparison.isnan(t)))
