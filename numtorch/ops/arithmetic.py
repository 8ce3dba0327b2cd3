"""Arithmetic records: sums, products, quotients, powers, extremes and choices, elementwise."""
from __future__ import annotations

from math import hypot
from types import SimpleNamespace

from ..kernels import vectormath
from ..kernels.intrinsics import select
from ..tensor import Tensor
from .expression import Apply, Expression, define_operators
from .pointwise import pointwise

# kinds of dtypes that formulas have no meaning for, as PyTorch has it
NOT_BOOL = {"bool": ""}
UNORDERED = {"complex": ""}
FLOATS_AND_COMPLEX = {"bool": "", "integer": ""}
REAL_NUMBERS = {"bool": "", "complex": ""}
FLOATS = {"bool": "", "integer": "", "complex": ""}

@pointwise(bool_operands=("condition",), methods=False)
def where(condition, x, y):
    """x where the condition holds, else y, elementwise. `condition` is bool; x and y are promoted to one dtype."""
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
    """x * y, elementwise."""
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
def _(grad, y, out):
    return grad / conj(y), -grad * conj(out) / conj(y)


@pointwise(refuses={"bool": "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, "
                            "use the `~` or `logical_not()` operator instead."})
def neg(x):
    """-x, elementwise."""
    return -x


@neg.derivative
def _(grad):
    return -grad


@pointwise(methods=False, refuses={"bool": "The `+` operator, on a bool tensor is not supported."})
def positive(x):
    """+x, elementwise."""
    return x


@positive.derivative
def _(grad):
    return grad


@pointwise(kind="float")
def reciprocal(x):
    """1 / x, elementwise."""
    return 1 / x


@reciprocal.derivative
def _(grad, out):
    return -grad * conj(out * out)


@pointwise
def square(x):
    """x * x, elementwise."""
    return x * x


@square.derivative
def _(grad, x):
    return grad * conj(x) * 2


@pointwise(refuses=REAL_NUMBERS, divisor="y")
def floor_divide(x, y):
    """floor(x / y), elementwise."""
    return x // y


@floor_divide.overload("float")
def _(x, y):
    return floor_(x / y)


floor_, trunc_ = vectormath.floor, vectormath.trunc


@floor_divide.derivative
def _(grad):
    return grad * 0, grad * 0


@pointwise(methods=False, refuses=REAL_NUMBERS, divisor="y")
def trunc_divide(x, y):
    """trunc(x / y), elementwise, rounding towards zero."""
    return where((x < 0) != (y < 0), -(abs(x) // abs(y)), abs(x) // abs(y))


@trunc_divide.overload("float")
def _(x, y):
    return trunc_(x / y)


@trunc_divide.derivative
def _(grad):
    return grad * 0, grad * 0


@pointwise(cost=2, refuses=REAL_NUMBERS, divisor="y")
def remainder(x, y):
    """x - y * floor(x / y): the remainder with the sign of the divisor, as Python's %."""
    return x % y


@remainder.overload("float")
def _(x, y):
    return remainder_(x, y)


remainder_, fmod_ = vectormath.remainder, vectormath.fmod


@remainder.derivative
def _(grad, x, y):
    return grad, -grad * floor_divide(x, y)


@pointwise(cost=2, refuses=REAL_NUMBERS, divisor="y")
def fmod(x, y):
    """The remainder with the sign of the dividend, as C's fmod."""
    return x - trunc_divide(x, y) * y


@fmod.overload("float")
def _(x, y):
    return fmod_(x, y)


@fmod.derivative
def _(grad, x, y):
    return grad, -grad * trunc_divide(x, y)


@pointwise(kind="real", refuses=NOT_BOOL)
def abs(x):
    """Absolute value, elementwise; the modulus of complex numbers."""
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
    """-1, 0 or 1 by the sign, elementwise."""
    return where(x > 0, 1, where(x < 0, -1, 0))


@sign.overload("bool")
def _(x):
    return x


@sign.derivative
def _(grad):
    return grad * 0


@pointwise
def sgn(x):
    """x / |x| for complex numbers (0 for 0), the sign for real ones."""
    return where(x > 0, 1, where(x < 0, -1, 0))


@sgn.overload("bool")
def _(x):
    return x


@sgn.overload("complex")
def _(x):
    size = hypot(x.real, x.imag)
    return where(size == 0, x, x / size)


@sgn.derivative
def _(grad, x, out):
    return where(x == 0, 0, (grad - out * real_part(grad * conj(out))) / abs(x))


@pointwise(refuses={"complex": "maximum not implemented for complex tensors."})
def maximum(x, y):
    """The larger of x and y, elementwise; NaN where either is NaN."""
    return where((x > y) | (x != x), x, y)


@maximum.derivative
def _(grad, x, y):
    tie = where(x == y, 0.5, 0)
    return grad * where(x > y, 1, tie), grad * where(x < y, 1, tie)


@pointwise(refuses={"complex": "minimum not implemented for complex tensors."})
def minimum(x, y):
    """The smaller of x and y, elementwise; NaN where either is NaN."""
    return where((x < y) | (x != x), x, y)


@minimum.derivative
def _(grad, x, y):
    tie = where(x == y, 0.5, 0)
    return grad * where(x < y, 1, tie), grad * where(x > y, 1, tie)


@pointwise(refuses={"complex": "fmax not implemented for complex tensors."})
def fmax(x, y):
    """The larger of x and y, elementwise; the number where the other is NaN."""
    return where((x > y) | (y != y), x, y)


@fmax.derivative
def _(grad, x, y):
    first = (x >= y) | (y != y)
    return where(first, grad, 0), where(first, 0, grad)


@pointwise(refuses={"complex": "fmin not implemented for complex tensors."})
def fmin(x, y):
    """The smaller of x and y, elementwise; the number where the other is NaN."""
    return where((x < y) | (y != y), x, y)


@fmin.derivative
def _(grad, x, y):
    first = (x <= y) | (y != y)
    return where(first, grad, 0), where(first, 0, grad)


@pointwise(methods=False, refuses=REAL_NUMBERS)
def clamp_both(x, low, high):
    """x held between low and high; NaN stays."""
    return minimum(maximum(x, low), high)


@clamp_both.derivative
def _(grad, x, low, high):
    by_low, by_high = where((x < low) & (low < high), grad, 0), where((x > high) | (low > high), grad, 0)
    return where((x >= low) & (x <= high), grad, 0), by_low, by_high


@pointwise(methods=False, refuses=UNORDERED)
def clamp_low(x, low):
    """x, but at least low."""
    return maximum(x, low)


@clamp_low.derivative
def _(grad, x, low):
    return where(x >= low, grad, 0), where(x < low, grad, 0)


@pointwise(methods=False, refuses=UNORDERED)
def clamp_high(x, high):
    """x, but at most high."""
    return minimum(x, high)


@clamp_high.derivative
def _(grad, x, high):
    return where(x <= high, grad, 0), where(x > high, grad, 0)


@pointwise(refuses=FLOATS_AND_COMPLEX)
def lerp(start, end, weight):
    """start + weight * (end - start), from whichever end is nearer, elementwise."""
    return where(weight < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight))


@lerp.overload("complex")
def _(start, end, weight):
    return start + weight * (end - start)


@lerp.derivative
def _(grad, start, end, weight):
    return grad * conj(1 - weight), grad * conj(weight), grad * conj(end - start)


@pointwise(refuses=NOT_BOOL)
def addcmul(x, y, z, *, value=1):
    """x + value * y * z, elementwise."""
    return x + value * y * z


@addcmul.derivative
def _(grad, y, z, value):
    return grad, grad * conj(z * value), grad * conj(y * value)


@pointwise(kind="float", refuses=FLOATS_AND_COMPLEX)
def addcdiv(x, y, z, *, value=1):
    """x + value * y / z, elementwise."""
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
