"""Arithmetic records: sums, products, quotients, signs and choices, elementwise."""
from __future__ import annotations

from math import hypot
from types import SimpleNamespace

from ...kernels import vectormath
from ...kernels.intrinsics import select
from ...tensor import Tensor
from ..core.expression import Apply, Expression, define_operators
from .pointwise import pointwise

# kinds of dtypes that formulas have no meaning for, as PyTorch has it
NOT_BOOL = {"bool": ""}
UNORDERED = {"complex": ""}
FLOATS_AND_COMPLEX = {"bool": "", "integer": ""}
REAL_NUMBERS = {"bool": "", "complex": ""}
FLOATS = {"bool": "", "integer": "", "complex": ""}

@pointwise(bool_operands=("condition",), methods=False)
def where(condition, x, y):
    """x where the condition holds, else y, elementwise."""
    return select(condition, x, y)


@where.derivative
def _(grad, condition):
    return 0, where(condition, grad, 0), where(condition, 0, grad)


@pointwise(methods=False)
def conj_physical(x):
    """Complex conjugate, elementwise; a copy for real numbers."""
    return x


@conj_physical.overload("complex")
def _(x):
    return x.conjugate()


@conj_physical.derivative
def _(grad):
    return conj_physical(grad)


def conj(x):
    """The complex conjugate; a real tensor itself. In formulas it stands for `conj_physical`, which LLVM drops for reals."""
    if isinstance(x, Expression):
        return Apply(_CONJ, (x,))
    return conj_physical(x) if isinstance(x, Tensor) and x.layout.dtype.is_complex else x


_CONJ = SimpleNamespace(name="conj", function=conj)
conj.scalar = conj_physical.scalar


@pointwise(kind="real", methods=False)
def real_part(x):
    """Real part, elementwise."""
    return x


@real_part.overload("complex")
def _(x):
    return x.real


@real_part.derivative
def _(grad):
    return grad


@pointwise
def add(x, y):
    """x + y, elementwise."""
    return x + y


@add.overload("bool")
def _(x, y):
    return x | y


@add.derivative
def _(grad):
    return grad, grad


@pointwise(methods=False, refuses=NOT_BOOL)
def add_scaled(x, y, *, alpha=1):
    """x + alpha * y, elementwise, in one pass."""
    return x + alpha * y


@add_scaled.derivative
def _(grad, alpha):
    return grad, grad * conj(alpha)


@pointwise(refuses={"bool": "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                            "`logical_xor()` operator instead.",
                    "a bool": "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                              "mask, use the `~` or `logical_not()` operator instead."})
def sub(x, y):
    """x - y, elementwise."""
    return x - y


@sub.derivative
def _(grad):
    return grad, -grad


@pointwise
def mul(x, y):
    """x * y, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.mul(torch.tensor([[1.], [2.]]), torch.tensor([10., 20., 30.]))
        tensor([[10., 20., 30.],
                [20., 40., 60.]])
    """
    return x * y


@mul.overload("bool")
def _(x, y):
    return x & y


@mul.derivative
def _(grad, x, y):
    return grad * conj(y), grad * conj(x)


@pointwise(kind="float")
def div(x, y):
    """x / y, elementwise; integers divide as floating-point numbers."""
    return x / y


@div.derivative
def _(grad, x, y):
    return grad / conj(y), -grad * conj(x / y) / conj(y)     # not by the result, which may be written after, as in PyTorch


@pointwise(refuses={"bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                            "use the `~` or `logical_not()` operator instead."})
def neg(x):
    """-x, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.neg(torch.tensor([1., -2., 0.]))
        tensor([-1.,  2., -0.])
    """
    return -x


@neg.derivative
def _(grad):
    return -grad


@pointwise(methods=False)
def linked(x, y):
    """x, whose gradient goes to y too, and is 0 there: what was chosen by y depends on it, if only by steps."""
    return x


@linked.derivative
def _(grad):
    return grad, 0


@pointwise(methods=False, refuses={"bool": "The `+` operator, on a bool tensor is not supported."})
def positive(x):
    """+x, elementwise."""
    return x


@positive.derivative
def _(grad):
    return grad


@pointwise(kind="float")
def reciprocal(x):
    """1 / x, elementwise: infinite for 0.

    Example:
        >>> import numtorch as torch
        >>> torch.reciprocal(torch.tensor([2., -4., 0.]))
        tensor([ 0.5000, -0.2500,     inf])
    """
    return 1 / x


@reciprocal.derivative
def _(grad, out):
    return -grad * conj(out * out)


@pointwise(kind="power")
def square(x):
    """x * x, elementwise; bools become int64, as in `x ** 2`.

    Example:
        >>> import numtorch as torch
        >>> torch.square(torch.tensor([-3, 1, 2]))
        tensor([9, 1, 4])
    """
    return x * x


@square.derivative
def _(grad, x):
    return grad * conj(x) * 2


@pointwise(refuses=REAL_NUMBERS, divisor="y")
def floor_divide(x, y):
    """floor(x / y), elementwise: rounded down, as Python's //.

    Example:
        >>> import numtorch as torch
        >>> torch.floor_divide(torch.tensor([7, -7]), 2)
        tensor([ 3, -4])
    """
    return x // y


@floor_divide.overload("integer")
def _(x, y):
    return quotient(x, y)


@floor_divide.overload("float")
def _(x, y):
    part = fmod_(x, y)                                   # x / y rounded first would make 1 // 0.1 ten: it is nine, as in Python
    whole = (x - part) / y
    whole = where((part != 0) & ((part < 0) != (y < 0)), whole - 1, whole)
    down = floor_(whole)
    return where(y == 0, x / y, where(whole == 0, copysign_(0, x / y), where(whole - down > 0.5, down + 1, down)))


quotient, truncated_quotient, modulus = vectormath.quotient, vectormath.truncated_quotient, vectormath.modulus
floor_, trunc_, copysign_ = vectormath.floor, vectormath.trunc, vectormath.copysign


@floor_divide.derivative
def _(grad):
    return 0, 0


@pointwise(methods=False, refuses=REAL_NUMBERS, divisor="y")
def trunc_divide(x, y):
    """trunc(x / y), elementwise, rounding towards zero."""
    return truncated_quotient(x, y)


@trunc_divide.overload("float")
def _(x, y):
    return trunc_(x / y)


@trunc_divide.derivative
def _(grad):
    return 0, 0


@pointwise(cost=2, refuses=REAL_NUMBERS, divisor="y")
def remainder(x, y):
    """x - y * floor(x / y), elementwise: the remainder with the sign of the divisor, as Python's %.

    Example:
        >>> import numtorch as torch
        >>> torch.remainder(torch.tensor([7., -7.]), 4)
        tensor([3., 1.])
    """
    return x % y


@remainder.overload("integer")
def _(x, y):
    return modulus(x, y)


@remainder.overload("float")
def _(x, y):
    return remainder_(x, y)


remainder_, fmod_ = vectormath.remainder, vectormath.fmod


@remainder.derivative
def _(grad, x, y):
    return grad, -grad * floor_divide(x, y)


@pointwise(cost=2, refuses=REAL_NUMBERS, divisor="y")
def fmod(x, y):
    """x - y * trunc(x / y), elementwise: the remainder with the sign of the dividend, as C's fmod.

    Example:
        >>> import numtorch as torch
        >>> torch.fmod(torch.tensor([7., -7.]), 4)
        tensor([ 3., -3.])
    """
    return x - trunc_divide(x, y) * y


@fmod.overload("float")
def _(x, y):
    return fmod_(x, y)


@fmod.derivative
def _(grad, x, y):
    return grad, -grad * trunc_divide(x, y)


@pointwise(kind="real", refuses=NOT_BOOL)
def abs(x):
    """Absolute value, elementwise; the modulus of complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([-1., 2.]).abs(), torch.tensor([3 + 4j]).abs()
        (tensor([1., 2.]), tensor([5.]))
    """
    return where(x < 0, -x, x)


absolute_ = vectormath.absolute


@abs.overload("float")
def _(x):
    return absolute_(x)


@abs.overload("complex")
def _(x):
    return hypot(x.real, x.imag)


@abs.derivative
def _(grad, x):
    return grad * sgn(x)


@pointwise(refuses={"complex": "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
                               "torch.sgn instead."})
def sign(x):
    """-1, 0 or 1 by the sign, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.sign(torch.tensor([-0.5, 0., 7.]))
        tensor([-1.,  0.,  1.])
    """
    return where(x > 0, 1, where(x < 0, -1, 0))


@sign.overload("bool")
def _(x):
    return x


@sign.derivative
def _(grad):
    return 0


@pointwise
def sgn(x):
    """The sign of real numbers, x / |x| of complex ones, elementwise; 0 for 0.

    Example:
        >>> import numtorch as torch
        >>> torch.sgn(torch.tensor([3 + 4j, 0j]))
        tensor([0.6000+0.8000j, 0.0000+0.0000j])
    """
    return where(x > 0, 1, where(x < 0, -1, 0))


@sgn.overload("bool")
def _(x):
    return x


@sgn.overload("complex")
def _(x):
    size = absolute_(x)
    return where(size == 0, x, complex(x.real / size, x.imag / size))        # x / size would divide by a complex number


@sgn.derivative
def _(grad, x, out):
    return where(x == 0, 0, (grad - out * real_part(grad * conj(out))) / abs(where(x == 0, 1, x)))


@pointwise(refuses=FLOATS_AND_COMPLEX)
def lerp(x, end, weight):
    """x + weight * (end - x), from whichever end is nearer, elementwise.

    Args:
        weight: 0 gives `input`, 1 gives `end`; a tensor or number, broadcast with the others.

    Example:
        >>> import numtorch as torch
        >>> torch.lerp(torch.tensor([0., 10.]), torch.tensor([4., 20.]), 0.25)
        tensor([ 1.0000, 12.5000])
    """
    return where(weight < 0.5, x + weight * (end - x), end - (end - x) * (1 - weight))


@lerp.overload("complex")
def _(x, end, weight):
    return x + weight * (end - x)


@lerp.derivative
def _(grad, x, end, weight):
    return grad * conj(1 - weight), grad * conj(weight), grad * conj(end - x)


@pointwise(kind="operands", refuses=NOT_BOOL)
def addcmul(x, y, z, *, value=1):
    """x + value * y * z, elementwise.

    Args:
        value: the factor of the product, cut off to an integer beside integers.

    Example:
        >>> import numtorch as torch
        >>> torch.addcmul(torch.tensor([1., 2.]), torch.tensor([3., 4.]), torch.tensor([10., 10.]), value=0.5)
        tensor([16., 22.])
    """
    return x + value * y * z


@addcmul.derivative
def _(grad, y, z, value):
    return grad, grad * conj(z * value), grad * conj(y * value)


@pointwise(kind="float", refuses=FLOATS_AND_COMPLEX)
def addcdiv(x, y, z, *, value=1):
    """x + value * y / z, elementwise.

    Args:
        value: the factor of the quotient.

    Example:
        >>> import numtorch as torch
        >>> torch.addcdiv(torch.tensor([1., 2.]), torch.tensor([3., 4.]), torch.tensor([2., 8.]), value=2)
        tensor([4., 3.])
    """
    return x + value * y / z


@addcdiv.derivative
def _(grad, y, z, value):
    return grad, grad * conj(value / z), -grad * conj(value * y / (z * z))


@pointwise(refuses=NOT_BOOL, methods=False)
def scaled_distance(x, y, factor):
    """(x - y) * factor, elementwise: what a variance sends back, in one pass."""
    return (x - y) * factor


@scaled_distance.derivative
def _(grad, x, y, factor):
    return grad * conj(factor), -grad * conj(factor), grad * conj(x - y)


define_operators({"add": add.op, "sub": sub.op, "mul": mul.op, "truediv": div.op, "neg": neg.op, "abs": abs.op, "mod": remainder.op,
                  "floordiv": floor_divide.op})
