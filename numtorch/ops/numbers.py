"""More elementwise records of real numbers: logarithms of sums, angles' units, parts of numbers, and integers' divisors."""
from __future__ import annotations

import builtins

from ..dtypes import finfo
from ..kernels import vectormath
from ..tensor import Tensor
from .arithmetic import FLOATS, UNORDERED, clamp_high, clamp_low, maximum, sub, where
from .elementary import LN2, PI, cos, exp, exp2, log, log1p, round_to_even, sin, sqrt
from .op import as_operand, method, result_dtype
from .pointwise import pointwise
from .power import pow
from .resize import into

floor_ = vectormath.floor


# ---------------------------------------------------------------- logarithms
@pointwise(kind="float", cost=12, refuses=FLOATS)
def logaddexp(x, y):
    """log(exp(x) + exp(y)) without overflow, elementwise."""
    return where(x == y, x + LN2, maximum(x, y) + log1p(exp(-abs(x - y))))


@logaddexp.derivative
def _(grad, x, out):
    share = exp(where(x == out, 0, x - out))
    return grad * share, grad * (1 - share)


@pointwise(kind="float", cost=12, refuses=FLOATS)
def logaddexp2(x, y):
    """log2(2**x + 2**y) without overflow, elementwise."""
    return where(x == y, x + 1, maximum(x, y) + log1p(exp(-abs(x - y) * LN2)) / LN2)


@logaddexp2.derivative
def _(grad, x, out):
    share = exp(where(x == out, 0, x - out) * LN2)
    return grad * share, grad * (1 - share)


@pointwise(kind="float", cost=8, refuses=UNORDERED)
def xlogy(x, y):
    """x * log(y), and 0 where x is 0 and y is a number, elementwise."""
    return where(y != y, y, where(x == 0, 0, x * log(y)))


@xlogy.derivative
def _(grad, x, y):
    return grad * where(x == 0, 0, log(y)), grad * x / y


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def logit_of(x):
    """log(x / (1 - x)), elementwise."""
    return log(x / (1 - x))


@logit_of.derivative
def _(grad, x):
    return grad / (x * (1 - x))


@method
def logit(input, eps=None, *, out=None) -> Tensor:
    """log(x / (1 - x)), elementwise, of numbers held in [eps, 1 - eps] where `eps` is given."""
    return logit_of(input if eps is None else clamp_high(clamp_low(input, eps), 1 - eps), out=out)


# ---------------------------------------------------------------- lengths and angles
@pointwise(kind="float", cost=4, refuses=FLOATS)
def hypot(x, y):
    """sqrt(x * x + y * y), elementwise, without overflow on the way."""
    large, small = where(abs(x) > abs(y), abs(x), abs(y)), where(abs(x) > abs(y), abs(y), abs(x))
    ratio = where(large == 0, 0, small / where(large == 0, 1, large))
    return where((large - large) == (large - large), large * sqrt(1 + ratio * ratio), large)


@hypot.derivative
def _(grad, x, y, out):
    return grad * where(out == 0, 0, x / out), grad * where(out == 0, 0, y / out)


@pointwise(kind="float", refuses=UNORDERED)
def deg2rad(x):
    """Degrees as radians, elementwise."""
    return x * (PI / 180)


@deg2rad.derivative
def _(grad):
    return grad * (PI / 180)


@pointwise(kind="float", refuses=UNORDERED)
def rad2deg(x):
    """Radians as degrees, elementwise."""
    return x * (180 / PI)


@rad2deg.derivative
def _(grad):
    return grad * (180 / PI)


@pointwise(kind="float", cost=12, refuses=UNORDERED)
def sinc(x):
    """sin(pi x) / (pi x), and 1 for 0, elementwise."""
    return where(x == 0, 1, sin(PI * x) / (PI * where(x == 0, 1, x)))


@sinc.derivative
def _(grad, x):
    angle = PI * where(x == 0, 1, x)
    return grad * where(x == 0, 0, (cos(angle) * angle - sin(angle)) / (angle * where(x == 0, 1, x)))


# ---------------------------------------------------------------- steps and replacements
@pointwise(refuses=UNORDERED)
def heaviside(x, values):
    """0 below 0, 1 above, `values` at 0, elementwise."""
    return where(x == 0, values, where(x < 0, x * 0, where(x > 0, x * 0 + 1, x)))


@heaviside.derivative
def _(grad):
    return grad * 0, grad * 0


@pointwise(methods=False, refuses={"bool": "", "integer": "", "complex": ""})
def replace_nonfinite(x, *, nan=0.0, posinf=0.0, neginf=0.0):
    """Numbers instead of NaN and the infinities, elementwise."""
    return where(x != x, nan, where((x - x) == (x - x), x, where(x > 0, posinf, neginf)))


@replace_nonfinite.derivative
def _(grad, x):
    return where((x - x) == (x - x), grad, 0)


@method
def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
    """Numbers instead of NaN (0 when None) and of the infinities (the dtype's largest and lowest when None)."""
    kind = input.layout.dtype
    if not kind.is_floating_point:
        return input.clone() if out is None else into(out, input)
    most = finfo(kind).max
    return replace_nonfinite(input, nan=0.0 if nan is None else nan, posinf=most if posinf is None else posinf,
                             neginf=-most if neginf is None else neginf, out=out)


@pointwise(kind="comparison", refuses=UNORDERED)
def isposinf(x):
    """Whether x is plus infinity, elementwise."""
    return (x > 0) & ((x - x) != (x - x))


@pointwise(kind="comparison", refuses=UNORDERED)
def isneginf(x):
    """Whether x is minus infinity, elementwise."""
    return (x < 0) & ((x - x) != (x - x))


@pointwise(kind="comparison")
def isreal(x):
    """Whether x has no imaginary part, elementwise."""
    return (x == x) | (x != x)


@isreal.overload("complex")
def _(x):
    return x.imag == 0


# ---------------------------------------------------------------- powers and divisors
@pointwise(kind="float", cost=8, refuses=UNORDERED)
def ldexp(x, exponent):
    """x * 2**exponent, elementwise."""
    return x * exp2(exponent)


@ldexp.derivative
def _(grad, x, exponent):
    return grad * exp2(exponent), grad * x * exp2(exponent) * LN2


@pointwise(kind="bitwise", cost=40, refuses={"bool": ""})
def gcd(x, y):
    """The greatest common divisor of integers, elementwise; not negative."""
    return common_divisor(x, y)


def common_divisor(x, y):
    """Euclid's algorithm."""
    while y != 0:
        x, y = y, x - x // y * y
    return -x if x < 0 else x


@pointwise(kind="bitwise", cost=40, refuses={"bool": ""})
def lcm(x, y):
    """The least common multiple of integers, elementwise; not negative."""
    return common_multiple(x, y)


def common_multiple(x, y):
    divisor = common_divisor(x, y)
    found = x if divisor == 0 else x // divisor * y
    return -found if found < 0 else found


@method
def float_power(input, exponent, *, out=None) -> Tensor:
    """`input` to the power `exponent` in float64 (or complex128), elementwise."""
    operands = [as_operand("float_power", value) for value in (input, exponent)]
    kind = result_dtype([o.layout for o in operands])
    kind = "complex128" if kind.is_complex else "float64"
    by_name = type(operands[0].layout.dtype).by_name[kind]
    base, power = [o.to(by_name) if not o.layout.weak or i == 0 else o for i, o in enumerate(operands)]
    return pow(base, power, out=out)


def round(input, *, decimals: int = 0, out=None) -> Tensor:
    """The nearest integer, ties to even, elementwise; or the nearest number of so many decimals (tens, where negative).

    Example:
        >>> import numtorch as torch
        >>> torch.round(torch.tensor([2.5, 1.255]), decimals=1)
        tensor([2.5000, 1.3000])
    """
    if not decimals:
        return round_to_even(input, out=out)
    if not input.layout.dtype.is_floating_point:
        raise NotImplementedError(f'"round_vml_cpu" not implemented for \'{input.layout.dtype.title}\' with decimals')
    scale = 10.0 ** builtins.abs(decimals)
    found = round_to_even(input * scale) / scale if decimals > 0 else round_to_even(input / scale) * scale
    return into(out, found)


round.op, round.scalar = round_to_even.op, round_to_even.scalar          # in a formula it means the record
Tensor.round = round


# ---------------------------------------------------------------- other names
@method
def clamp_min(input, min, *, out=None) -> Tensor:
    """Elements, but at least `min`."""
    return clamp_low(input, min, out=out)


@method
def clamp_max(input, max, *, out=None) -> Tensor:
    """Elements, but at most `max`."""
    return clamp_high(input, max, out=out)


method(clamp_low.op.inplace, "clamp_min_")
method(clamp_high.op.inplace, "clamp_max_")


def rsub(input, other, *, alpha=1) -> Tensor:
    """other - alpha * input, elementwise."""
    return sub(as_operand("rsub", other), input if alpha == 1 else input * alpha)


for _alias, _name in {"multiply_": "mul_", "divide_": "div_", "true_divide_": "div_", "subtract_": "sub_", "negative_": "neg_",
                      "absolute_": "abs_", "greater_": "gt_", "greater_equal_": "ge_", "less_": "lt_", "less_equal_": "le_",
                      "not_equal_": "ne_", "arccos_": "acos_", "arcsin_": "asin_", "arctan_": "atan_", "arctan2_": "atan2_",
                      "arcsinh_": "asinh_", "arccosh_": "acosh_", "arctanh_": "atanh_", "fix_": "trunc_"}.items():
    if hasattr(Tensor, _name) and not hasattr(Tensor, _alias):
        method(getattr(Tensor, _name), _alias)
