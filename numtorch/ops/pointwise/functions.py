"""Public functions that take more than their elementwise record: a factor, a rounding mode, bounds that may be left out; other
names of records; conjugates."""
from __future__ import annotations

from ...tensor import Tensor
from ...viewalgebra import check_matrices
from ..core.arguments import scalar
from ..core.derived import formula_of, same_as
from ..core.late import later
from ..core.operands import as_operand, layout_of, method, result_type
from ..core.overloads import numbers_first
from ..memory.resize import into_exactly
from . import arithmetic, bounds, power

ONE = 1                                                  # what is equal to it, True and 1.0, may be refused


def add(input, other, *deprecated, alpha=1, out=None) -> Tensor:
    """input + alpha * other, elementwise.

    Args:
        input, other: tensors or numbers, broadcast with each other, of any dtype.
        alpha: the factor of `other`; of bools, whether it counts.
        out: a tensor to write the result into.
        deprecated: `add(input, alpha, other)`, the order of old programs, is taken too.

    Returns:
        Of the shape the operands broadcast to and the dtype they promote to.

    Raises:
        RuntimeError: shapes that do not broadcast; a fraction as `alpha` of integers; `out` cannot hold the result's dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.add(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=0.5)
        tensor([ 6., 12.])
    """
    if deprecated:
        return numbers_first(add, (input, other, *deprecated), {"alpha": alpha}, out=out)
    if alpha is ONE:
        return arithmetic.add(input, other, out=out)
    alpha = _factor("add", input, other, alpha)
    if alpha == 1:
        return arithmetic.add(input, other, out=out)
    if result_type(input, other).category == 0:
        return arithmetic.add(input, _where_it_counts(other, alpha), out=out)
    return arithmetic.add_scaled(input, other, alpha, out=out)


def _where_it_counts(other, alpha):
    """alpha * other of bools."""
    return other if alpha else arithmetic.mul(as_operand("add", other), False)


def _bool_among(*operands):
    return any(as_operand("sub", t).layout.dtype.category == 0 for t in operands)


def _factor(name, input, other, alpha):
    """A factor as Python's number. Raises RuntimeError for one that would make fractions of integers, or complex numbers of real
    ones, and for a bool."""
    alpha = scalar(name, "alpha", alpha)
    if type(alpha) is not int:
        category = result_type(input, other).category
        if type(alpha) is float and category < 2:
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
        if type(alpha) is complex and category < 3:
            raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
        if type(alpha) is bool and category != 0:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha


def sub(input, other, *deprecated, alpha=1, out=None) -> Tensor:
    """input - alpha * other, elementwise.

    Args:
        input, other: tensors or numbers, broadcast with each other; not bools.
        alpha: the factor of `other`.
        out: a tensor to write the result into.
        deprecated: `sub(input, alpha, other)`, the order of old programs, is taken too.

    Returns:
        Of the shape the operands broadcast to and the dtype they promote to.

    Raises:
        RuntimeError: bools; shapes that do not broadcast; a fraction as `alpha` of integers; `out` cannot hold the result's dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.sub(torch.tensor([1., 2.]), torch.tensor([10., 20.]), alpha=0.5)
        tensor([-4., -8.])
    """
    if deprecated:
        return numbers_first(sub, (input, other, *deprecated), {"alpha": alpha}, out=out)
    if alpha is ONE:
        return arithmetic.sub(input, other, out=out)
    alpha = _factor("sub", input, other, alpha)
    if alpha == 1 or _bool_among(input, other):
        return arithmetic.sub(input, other, out=out)     # which refuses bools
    return arithmetic.add_scaled(input, other, -alpha, out=out)


@formula_of(add)
def _add_in_formulas(input, other, alpha=1):
    return input + other if alpha == 1 else arithmetic.add_scaled(input, other, alpha)


@formula_of(sub)
def _sub_in_formulas(input, other, alpha=1):
    return input - other if alpha == 1 else arithmetic.add_scaled(input, other, -alpha)


def div(input, other, *, rounding_mode=None, out=None) -> Tensor:
    """input / other, elementwise, rounded where `rounding_mode` says so.

    Args:
        input, other: tensors or numbers, broadcast with each other, of any dtype; for a rounded quotient integers or floats.
        rounding_mode: None, "trunc" (towards 0, as C's division of integers) or "floor" (down, as Python's //).
        out: a tensor to write the result into.

    Returns:
        Of the shape the operands broadcast to and the dtype they promote to; integers and bools give the default dtype where
        nothing is rounded.

    Raises:
        NotImplementedError: bools or complex numbers with a `rounding_mode`.
        RuntimeError: shapes that do not broadcast; another `rounding_mode`; integers divided by a 0 and rounded; `out` cannot hold
            the result's dtype.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([7, -7])
        >>> x.div(2), x.div(2, rounding_mode="trunc"), x.div(2, rounding_mode="floor")
        (tensor([ 3.5000, -3.5000]), tensor([ 3, -3]), tensor([ 3, -4]))
    """
    return _quotient(rounding_mode)(input, other, out=out)


_QUOTIENTS = {None: arithmetic.div, "floor": arithmetic.floor_divide, "trunc": arithmetic.trunc_divide}


def _quotient(rounding_mode):
    if rounding_mode not in _QUOTIENTS:
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'")
    return _QUOTIENTS[rounding_mode]


def clamp(input, min=None, max=None, *, out=None) -> Tensor:
    """Elements held between `min` and `max`; NaN stays. Where `min` exceeds `max`, `max` comes out.

    Args:
        input: (*), real.
        min, max: numbers or tensors, broadcast with `input`; either may be None. They promote with `input`.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: neither bound is given; shapes that do not broadcast.
        NotImplementedError: complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-2., 0.5, 3.]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
    """
    if min is not None and max is not None:
        return bounds.clamp_both(input, min, max, out=out)
    if min is not None:
        return bounds.clamp_low(input, min, out=out)
    if max is not None:
        return bounds.clamp_high(input, max, out=out)
    raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


@formula_of(clamp)
def _clamp_in_formulas(input, min=None, max=None):
    if min is not None:                                  # one question a line, which Numba answers before it types what follows
        if max is not None:
            return bounds.clamp_both(input, min, max)
        return bounds.clamp_low(input, min)
    if max is not None:
        return bounds.clamp_high(input, max)
    return input


def where(condition, input=None, other=None, *, out=None):
    """input where the condition holds, else other, elementwise; of the condition alone, the indices where it holds.

    Args:
        condition: bools (or uint8), broadcast with the others.
        input, other: tensors or numbers, broadcast with each other; None for the indices.
        out: a tensor to write the result into.

    Returns:
        Of the dtype that `input` and `other` promote to; or `condition.nonzero(as_tuple=True)`.

    Raises:
        RuntimeError: a condition of another dtype; shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([-1., 2.])
        >>> torch.where(x > 0, x, 0.0), torch.where(x > 0)
        (tensor([0., 2.]), (tensor([1]),))
    """
    if input is None and other is None:
        return later["nonzero"](condition, as_tuple=True)
    return arithmetic.where(condition, input, other, out=out)


def _with_alpha(name, inplace, sign):
    scaled = arithmetic.add_scaled.op.inplace

    def method(self, other, *deprecated, alpha=1) -> Tensor:
        if deprecated:
            return numbers_first(method, (self, other, *deprecated), {"alpha": alpha})
        if alpha is ONE:
            return inplace(self, other)
        alpha = _factor(name + "_", self, other, alpha)
        if alpha == 1 or (sign < 0 and _bool_among(self, other)):      # a bool is refused by what subtracts without a factor
            return inplace(self, other)
        if self.layout.dtype.category == 0:
            return inplace(self, _where_it_counts(other, alpha))
        return scaled(self, other, sign * alpha)
    method.__name__ = method.__qualname__ = name + "_"
    method.__doc__ = f"""In-place form of `{name}`: writes the result into this tensor and returns it.

    Args:
        other: tensor or number, broadcast to this tensor.
        alpha: the factor of `other`.
        deprecated: `{name}_(alpha, other)`, the order of old programs, is taken too.

    Raises:
        RuntimeError: the result does not fit into the tensor, or the tensor is a leaf that requires a gradient.
    """
    return method


def _div_(self, other, *, rounding_mode=None) -> Tensor:
    """In-place form of `div`: writes the result into this tensor and returns it.

    Args:
        other: tensor or number, broadcast to this tensor.
        rounding_mode: None, "trunc" or "floor", as of `div`.

    Raises:
        RuntimeError: the result does not fit into the tensor (integers without a `rounding_mode`), or the tensor is a leaf that
            requires a gradient.
    """
    return _quotient(rounding_mode).op.inplace(self, other)


def _clamp_(self, min=None, max=None) -> Tensor:
    """In-place form of `clamp`: writes the result into this tensor and returns it.

    Args:
        min, max: numbers or tensors, broadcast to this tensor; either may be None.

    Raises:
        RuntimeError: neither bound is given; the result does not fit into the tensor, or the tensor is a leaf that requires a
            gradient.
    """
    if min is not None and max is not None:
        return bounds.clamp_both.op.inplace(self, min, max)
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    return bounds.clamp_low.op.inplace(self, min) if max is None else bounds.clamp_high.op.inplace(self, max)


for _public, _record in ((add, arithmetic.add), (sub, arithmetic.sub), (div, arithmetic.div), (where, arithmetic.where)):
    _public.op = _record.op
same_as(arithmetic.div, div)
same_as(arithmetic.where, where)

Tensor.add, Tensor.sub, Tensor.div = add, sub, div
Tensor.div_ = _div_
Tensor.add_, Tensor.sub_ = _with_alpha("add", arithmetic.add.op.inplace, 1), _with_alpha("sub", arithmetic.sub.op.inplace, -1)
method(power.pow)
method(power.pow_in_place, "pow_")
method(clamp)
method(_clamp_, "clamp_")
method(clamp, "clip")
method(_clamp_, "clip_")


def _where(self, condition, other) -> Tensor:
    """This tensor's elements where the condition holds, else those of `other`: `torch.where(condition, self, other)`.

    Args:
        condition: bools (or uint8), broadcast with the others.
        other: tensor or number, broadcast with this tensor.

    Raises:
        RuntimeError: a condition of another dtype; shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([-1., 2.])
        >>> x.where(x > 0, 0.0)
        tensor([0., 2.])
    """
    return arithmetic.where(condition, self, other)


method(_where, "where")
for _alias, _name in {"subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "absolute": "abs",
                      "true_divide": "div",
                      "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "arccos": "acos",
                      "arcsin": "asin", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
                      "arctanh": "atanh"}.items():
    method(getattr(Tensor, _name), _alias)


def positive(input) -> Tensor:
    """+input: the tensor itself.

    Args:
        input: (*), not bools.

    Raises:
        RuntimeError: bools.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., -2.])
        >>> torch.positive(x) is x
        True
    """
    if layout_of("positive", input).dtype.category == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@formula_of(positive)
def _positive_in_formulas(input):
    return input


Tensor.__pos__ = method(positive)


# ---------------------------------------------------------------- conjugates
def conj(input) -> Tensor:
    """The complex conjugate, which is computed at once; a real tensor itself.

    Args:
        input: (*), of any dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.conj(torch.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    return arithmetic.conj_physical(input) if layout_of("conj", input).dtype.is_complex else input


def conj_physical(input, *, out=None) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor itself.

    Args:
        input: (*), of any dtype.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.conj_physical(torch.tensor([1 + 2j]))
        tensor([1.-2.j])
    """
    if layout_of("conj_physical", input).dtype.is_complex:
        return arithmetic.conj_physical(input, out=out)
    return into_exactly("conj_physical", out, input)


method(conj)
method(conj_physical)
method(arithmetic.conj_physical.op.inplace, "conj_physical_")


def _conjugated(transposed, name):
    def function(self) -> Tensor:
        check_matrices(self.layout, f"tensor.{name}", name == "mH")
        return conj(transposed.fget(self))
    return property(function, doc=f"""The conjugate of `{name.replace("H", "T")}`, computed when asked for.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1 + 1j, 2j]]).{name}
        tensor([[1.-1.j],
                [0.-2.j]])
    """)


Tensor.mH, Tensor.H = _conjugated(Tensor.mT, "mH"), _conjugated(Tensor.T, "H")


def adjoint(input) -> Tensor:
    """The conjugate of the transposed matrices: `mH`.

    Args:
        input: (..., M, N).

    Returns:
        (..., N, M).

    Raises:
        RuntimeError: one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.adjoint(torch.tensor([[1 + 1j, 2j]]))
        tensor([[1.-1.j],
                [0.-2.j]])
    """
    check_matrices(layout_of("adjoint", input), "adjoint")
    return input.mH


def is_conj(input) -> bool:
    """False: conjugates are computed when they are asked for.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1j]).conj().is_conj()
        False
    """
    return False


def resolve_conj(input) -> Tensor:
    """The tensor itself, since conjugates are computed when they are asked for.

    Args:
        input: any tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1j]).resolve_conj()
        tensor([0.+1.j])
    """
    return input


for _function in (adjoint, is_conj, resolve_conj):
    method(_function)
