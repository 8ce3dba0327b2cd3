"""Powers. `x ** 2` and its like are exact products; the rest is one record."""
from __future__ import annotations

import numpy as np

from ...dtypes import bool_
from ...exchange.scalars import python_number
from ...kernels import vectormath
from ...tensor import Tensor
from ..core.derived import formula_of
from ..core.expression import define_operators
from ..core.operands import as_operand, method, result_dtype
from ..core.tensor_operands import check_tensors
from ..memory.copies import clone
from .arithmetic import NOT_BOOL, conj, positive, reciprocal, square, where
from .elementary import log, rsqrt, sqrt
from .pointwise import pointwise

pow_ = vectormath.pow


@pointwise(cost=8, name="pow", methods=False, refuses=NOT_BOOL)
def pow_of(x, exponent):
    """x to the power exponent, elementwise."""
    return pow_(x, exponent)


written_power = pow_of.op.inplace


@pow_of.overload("integer")
def _(x, y):
    return integer_power(x, y)


def integer_power(x, y):
    """Square and multiply; 0 for negative exponents of anything but 1 and -1."""
    if y < 0:
        return x if x == -1 and y % 2 else where(x == 1, x, where(x == -1, x * x, x * 0))
    result = x * 0 + 1
    while y > 0:
        if y & 1:
            result = result * x
        x = x * x
        y = y >> 1
    return result


@pow_of.derivative
def _(grad, x, exponent, out):
    lower = where(exponent == 0, 1, exponent - 1)        # not -1: the second derivative at x = 0 would be 0 * inf
    by_base = where(exponent == 0, 0, grad * conj(exponent * pow_of(x, lower)))
    at_zero = (x == 0) & ((out == 0) | (exponent == 0))  # it is >= 0 there, without an order that complex numbers lack
    by_exponent = grad * conj(out * log(where(at_zero, 1, x)))
    return by_base, by_exponent


@pointwise(name="cube", methods=False, refuses=NOT_BOOL)
def cube(x):
    """x * x * x, elementwise."""
    return x * x * x


@cube.derivative
def _(grad, x):
    return grad * conj(x * x) * 3


# A power keeps its base for the derivative, and not its result as `sqrt` does: so the result may be written over.
@pointwise(kind="float", name="pow_half", methods=False)
def pow_half(x):
    """x to the power 0.5, elementwise: the root, of -0.0 and -inf too, as PyTorch takes it here."""
    return sqrt(x)


@pow_half.derivative
def _(grad, x):
    return grad * conj(rsqrt(x)) * 0.5


@pointwise(kind="float", name="pow_minus_half", methods=False)
def pow_minus_half(x):
    """x to the power -0.5, elementwise."""
    return rsqrt(x)


@pow_minus_half.derivative
def _(grad, x):
    return grad * conj(rsqrt(x) / x) * -0.5


@pointwise(kind="float", name="pow_minus_one", methods=False)
def pow_minus_one(x):
    """x to the power -1, elementwise."""
    return reciprocal(x)


@pow_minus_one.derivative
def _(grad, x):
    return -grad * conj(reciprocal(x * x))


_EXACT_POWERS = {1: positive, 2: square, 3: cube}
_FLOAT_POWERS = {-1: pow_minus_one, 0.5: pow_half, -0.5: pow_minus_half}


def _check_base(input):
    """Raise RuntimeError for integers to a negative integer power, which are fractions."""
    if isinstance(input, Tensor) and input.dtype.category < 2:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


def pow(input, exponent, *, out=None) -> Tensor:
    """`input` to the power `exponent`, elementwise; either may be a number.

    Exponents 1, 2 and 3 are products, -1, 0.5 and -0.5 a reciprocal and roots.

    Args:
        input, exponent: tensors or numbers, broadcast with each other; not both bools.
        out: a tensor to write the result into.

    Returns:
        A tensor of the promoted dtype.

    Raises:
        NotImplementedError: both are bools.
        RuntimeError: an integer tensor with a negative integer exponent; shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> torch.pow(x, 2), torch.pow(2, x)
        (tensor([1., 4., 9.]), tensor([2., 4., 8.]))
    """
    kind = type(exponent)
    if kind is not Tensor:
        if kind is not int and kind is not float and isinstance(exponent, np.generic):
            exponent = python_number(exponent)
            kind = type(exponent)
        if kind is int and exponent < 0:
            _check_base(input)
        if kind is bool and isinstance(input, Tensor) and input.dtype is bool_ and out is None:
            return clone(input) if exponent else input.new_ones(input.layout.shape)
        if (kind is int or kind is float) and isinstance(input, Tensor) and input.dtype.category and out is None \
                and (kind is int or input.dtype.category >= 2):                                  # bools become integers first
            shortcut = _EXACT_POWERS.get(exponent) or (_FLOAT_POWERS.get(exponent) if input.dtype.category == 2 else None)
            if shortcut is not None:
                return shortcut(input)
    return pow_of(input, exponent, out=out)


def pow_in_place(input, exponent) -> Tensor:
    """In-place form of `pow`: writes the result into this tensor and returns it.

    Args:
        input: (*), written.
        exponent: a tensor or number that broadcasts to it.

    Raises:
        RuntimeError: as `pow`, or the result's dtype does not go into the input's.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3.]).pow_(2)
        tensor([1., 4., 9.])
    """
    kind = type(exponent)
    if (kind is int or (kind is not Tensor and kind is not float and isinstance(exponent, np.integer))) and exponent < 0:
        _check_base(input)
    return written_power(input, exponent)


@formula_of(pow)
def _pow_in_formulas(input, exponent):
    return pow_of(input, exponent)


define_operators({"pow": pow_of.op})


@method
def float_power(input, exponent, *, out=None) -> Tensor:
    """input to the power exponent, elementwise, computed in float64 (complex numbers in complex128).

    Args:
        input, exponent: tensors or numbers, broadcast with each other, of any dtype.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.float_power(torch.tensor([2, 3]), -1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    operands = [as_operand("float_power", value) for value in (input, exponent)]
    check_tensors("pow", ("input", "exponent"), [o.layout for o in operands])
    kind = result_dtype([o.layout for o in operands])
    kind = "complex128" if kind.is_complex else "float64"
    by_name = type(operands[0].layout.dtype).by_name[kind]
    if isinstance(out, Tensor) and out.layout.dtype is not by_name:
        raise RuntimeError(f"the output given to float_power has dtype {out.layout.dtype.title} but the operation's result "
                           f"requires dtype {by_name.title}")
    base, power = [o.to(by_name) if not o.layout.weak or i == 0 else o for i, o in enumerate(operands)]
    return pow(base, power, out=out)
