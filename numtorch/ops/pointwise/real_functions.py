"""Elementwise records of real numbers: logarithms of sums and odds, units of angles, what is infinite, integers' divisors."""
from __future__ import annotations

import math

from ...dtypes import finfo
from ...kernels import vectormath
from ...tensor import Tensor
from ..core.derived import formula_of
from ..core.late import later
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import not_a_tensor
from ..memory.copies import contiguous
from ..memory.resize import into_exactly
from .activation import sigmoid
from .arithmetic import FLOATS, FLOATS_AND_COMPLEX, UNORDERED, abs, conj, mul, where
from .bounds import clamp_high, clamp_low, maximum
from .elementary import LN2, PI, cos, exp, exp2, log, log1p, sin, sqrt
from .functions import sub
from .pointwise import pointwise

floor_ = vectormath.floor
NAN, INFINITY = math.nan, math.inf


# ---------------------------------------------------------------- logarithms
@pointwise(kind="float", cost=12, refuses=FLOATS_AND_COMPLEX)
def logaddexp(x, y):
    """log(exp(x) + exp(y)), elementwise, without overflow.

    Example:
        >>> import numtorch as torch
        >>> torch.logaddexp(torch.tensor([0., 1000.]), torch.tensor([0., 1000.]))
        tensor([6.9315e-01, 1.0007e+03])
    """
    return where(x == y, x + LN2, maximum(x, y) + log1p(exp(-abs(x - y))))


@logaddexp.derivative
def _(grad, x, y):
    apart = where(x == y, 0, 1.0 * x - 1.0 * y)          # an operand may be bool, of which tensors are not subtracted
    return grad * conj(sigmoid(apart)), grad * conj(sigmoid(-apart))


@logaddexp.overload("complex")
def _(x, y):
    below = x.real < y.real
    low, high, below_zero = where(below, x, y), where(below, y, x), x.real < -x.real       # literals are complex here
    return where((x.real == y.real) & ((x.real - x.real) != 0), where(below_zero, low, log(exp(low) + exp(high))),
                 high + log1p(exp(low - high)))


@pointwise(kind="float", cost=12, refuses=FLOATS)
def logaddexp2(x, y):
    """log2(2**x + 2**y), elementwise, without overflow.

    Example:
        >>> import numtorch as torch
        >>> torch.logaddexp2(torch.tensor([0., 1000.]), torch.tensor([0., 1000.]))
        tensor([1.0000e+00, 1.0010e+03])
    """
    return where(x == y, x + 1, maximum(x, y) + log1p(exp(-abs(x - y) * LN2)) / LN2)


@logaddexp2.derivative
def _(grad, x, y):
    apart = where(x == y, 0, 1.0 * x - 1.0 * y) * LN2
    return grad * sigmoid(apart), grad * sigmoid(-apart)


@pointwise(kind="float", cost=8, refuses=UNORDERED)
def xlogy(x, y):
    """x * log(y), elementwise, and 0 where x is 0 and y is a number.

    Example:
        >>> import numtorch as torch
        >>> torch.xlogy(torch.tensor([0., 2.]), torch.tensor([0., torch.e]))
        tensor([0., 2.])
    """
    return where(y != y, y, where(x == 0, 0, x * log(y)))


@xlogy.derivative
def _(grad, x, y):
    return xlogy(grad, where((x == 0) & (y <= 0), 1, y)), grad * x / y


@pointwise(kind="float", cost=8, refuses=UNORDERED, methods=False)
def logit_of(x):
    """log(x / (1 - x)), elementwise."""
    return log(x / (1 - x))


@logit_of.derivative
def _(grad, x):
    return grad / where(x * (1 - x) < 0, NAN, x * (1 - x))


@method
def logit(input, eps=None, *, out=None) -> Tensor:
    """log(input / (1 - input)), elementwise: the inverse of `sigmoid`.

    Args:
        input: (*), between 0 and 1; infinite at 0 and 1, NaN outside.
        eps: where given, numbers are held in [eps, 1 - eps] first.
        out: a tensor to write the result into.

    Raises:
        NotImplementedError: complex numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.logit(torch.tensor([0.5, 0.9, 1.])), torch.logit(torch.tensor([1.]), eps=0.1)
        (tensor([0.0000, 2.1972,    inf]), tensor([2.1972]))
    """
    return logit_of(_held(input, eps), out=out)


def _held(x, eps):
    """x in [eps, 1 - eps]; where that is empty, what is below eps is eps, and all else 1 - eps. A NaN is no bound."""
    if eps is None or eps != eps:
        return x
    if eps <= 0.5:
        return clamp_high(clamp_low(x, eps), 1 - eps)
    return where(x < eps, eps, where(x > 1 - eps, 1 - eps, x))


@formula_of(logit)
def _logit_in_formulas(input, eps=None):
    if eps is None:
        return logit_of(input)
    return logit_of(clamp_high(clamp_low(input, eps), 1 - eps))


# ---------------------------------------------------------------- lengths and angles
@pointwise(kind="float", cost=4, refuses=FLOATS)
def hypot(x, y):
    """sqrt(x * x + y * y), elementwise, without overflow on the way.

    Example:
        >>> import numtorch as torch
        >>> torch.hypot(torch.tensor([3., 1e30]), torch.tensor([4., 1e30]))
        tensor([5.0000e+00, 1.4142e+30])
    """
    large, small = where(abs(x) > abs(y), abs(x), abs(y)), where(abs(x) > abs(y), abs(y), abs(x))
    large = where(abs(x) == INFINITY, abs(x), large)     # beside NaN too: IEEE 754 has hypot(inf, NaN) = inf
    ratio = small / where(large == 0, 1, large)
    return where((large - large) == (large - large), large * sqrt(1 + ratio * ratio), large)


@hypot.derivative
def _(grad, x, y, out):
    return grad * where(out == 0, 0, x / out), grad * where(out == 0, 0, y / out)


@pointwise(kind="float", refuses=UNORDERED)
def deg2rad(x):
    """Degrees as radians, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.deg2rad(torch.tensor([180., -90.]))
        tensor([ 3.1416, -1.5708])
    """
    return x * (PI / 180)


@deg2rad.derivative
def _(grad):
    return grad * (PI / 180)


@pointwise(kind="float", refuses=UNORDERED)
def rad2deg(x):
    """Radians as degrees, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.rad2deg(torch.tensor([torch.pi, 1.]))
        tensor([180.0000,  57.2958])
    """
    return x * (180 / PI)


@rad2deg.derivative
def _(grad):
    return grad * (180 / PI)


@pointwise(kind="float", cost=12)
def sinc(x):
    """sin(pi x) / (pi x), and 1 for 0, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.sinc(torch.tensor([0., 0.5, 1.5]))
        tensor([ 1.0000,  0.6366, -0.2122])
    """
    return where(x == 0, 1, sin(PI * x) / (PI * where(x == 0, 1, x)))


@sinc.derivative
def _(grad, x):
    near = abs(x) < abs(x - x + 0.25)                    # there the two terms cancel. A bare 0.25 would be complex, like x
    small, angle = PI * where(near, x, 0), PI * where(near, 1, x)
    s = small * small
    series = -small / 3 * (1 - s / 10 * (1 - s / 28 * (1 - s / 54 * (1 - s / 88 * (1 - s / 130 * (1 - s / 180))))))
    return grad * conj(PI * where(near, series, (cos(angle) * angle - sin(angle)) / (angle * angle)))


# ---------------------------------------------------------------- steps and replacements
@pointwise(refuses={"complex": "heaviside is not yet implemented for complex tensors."})
def heaviside(x, values):
    """0 below 0 and for NaN, 1 above, `values` at 0, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.heaviside(torch.tensor([-1., 0., 2.]), torch.tensor([0.5]))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return where(x == 0, values, where(x > 0, 1, 0))


@heaviside.derivative
def _(grad):
    return 0, 0


@pointwise(methods=False, refuses={"bool": "", "integer": "", "complex": ""})
def replace_nonfinite(x, *, nan=0.0, posinf=0.0, neginf=0.0):
    """Numbers instead of NaN and the infinities, elementwise."""
    return where(x != x, nan, where((x - x) == (x - x), x, where(x > 0, posinf, neginf)))


@replace_nonfinite.derivative
def _(grad, x):
    return where((x - x) == (x - x), grad, 0)


@method
def nan_to_num(input, nan=None, posinf=None, neginf=None, *, out=None) -> Tensor:
    """Numbers instead of NaN and of the infinities, elementwise; of complex numbers in either part. A copy of integers.

    Args:
        input: (*), of any dtype.
        nan: what NaN becomes, 0 when None.
        posinf, neginf: what the infinities become, the dtype's largest and lowest number when None.
        out: a tensor to write the result into.

    Example:
        >>> import numtorch as torch
        >>> torch.nan_to_num(torch.tensor([torch.nan, torch.inf, -torch.inf, 1.]), posinf=9.)
        tensor([ 0.0000e+00,  9.0000e+00, -3.4028e+38,  1.0000e+00])
    """
    kind = layout_of("nan_to_num", input).dtype
    if kind.is_complex:
        parts = nan_to_num(later["view_as_real"](input), nan, posinf, neginf)
        return into_exactly("nan_to_num", out, later["view_as_complex"](contiguous(parts)))
    if not kind.is_floating_point:
        if out is None:
            return mul(input, True)                      # in memory like any elementwise result
        return into_exactly("nan_to_num", out, input)
    most = finfo(kind).max
    return replace_nonfinite(input, nan=0.0 if nan is None else nan, posinf=most if posinf is None else posinf,
                             neginf=-most if neginf is None else neginf, out=out)


@formula_of(nan_to_num)
def _nan_to_num_in_formulas(input, nan=0.0, posinf=3.4028234663852886e38, neginf=-3.4028234663852886e38):
    replaced = where(input != input, nan, input)
    return where(replaced - replaced == 0, replaced, where(replaced > 0, posinf, neginf))


@pointwise(kind="comparison", refuses={"complex": "isposinf does not support complex inputs."})
def isposinf(x):
    """Whether x is plus infinity, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.isposinf(torch.tensor([torch.inf, -torch.inf, 1.]))
        tensor([ True, False, False])
    """
    return (x > 0) & ((x * 0) != (x * 0))


@pointwise(kind="comparison", refuses={"complex": "isneginf does not support complex inputs."})
def isneginf(x):
    """Whether x is minus infinity, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.isneginf(torch.tensor([torch.inf, -torch.inf, 1.]))
        tensor([False,  True, False])
    """
    return (x < 0) & ((x * 0) != (x * 0))


@pointwise(kind="comparison")
def isreal(x):
    """Whether x has no imaginary part, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.isreal(torch.tensor([1 + 0j, 1j]))
        tensor([ True, False])
    """
    return (x == x) | (x != x)


@isreal.overload("complex")
def _(x):
    return x.imag == 0


# ---------------------------------------------------------------- powers and divisors
@pointwise(kind="float", cost=8)
def ldexp(x, y):
    """x * 2**y, elementwise.

    Example:
        >>> import numtorch as torch
        >>> torch.ldexp(torch.tensor([1., 0.75]), torch.tensor([3, -1]))
        tensor([8.0000, 0.3750])
    """
    return x * exp2(y)


@ldexp.derivative
def _(grad, x, y):
    factor = conj(exp2(y))
    return grad * factor, grad * conj(x) * factor * LN2


@pointwise(kind="bitwise", cost=40, refuses={"bool": ""})
def gcd(x, y):
    """The greatest common divisor of integers, elementwise; not negative. Euclid's algorithm.

    Example:
        >>> import numtorch as torch
        >>> torch.gcd(torch.tensor([12, 7, 0]), torch.tensor([18, 5, -4]))
        tensor([6, 1, 4])
    """
    return common_divisor(x, y)


def common_divisor(x, y):
    """Euclid's algorithm."""
    while y != 0:
        x, y = y, x - x // y * y
    return -x if x < 0 else x


@pointwise(kind="bitwise", cost=40, refuses={"bool": ""})
def lcm(x, y):
    """The least common multiple of integers, elementwise; not negative.

    Example:
        >>> import numtorch as torch
        >>> torch.lcm(torch.tensor([12, 7, 0]), torch.tensor([18, 5, -4]))
        tensor([36, 35,  0])
    """
    return common_multiple(x, y)


def common_multiple(x, y):
    divisor = common_divisor(x, y)
    result = x if divisor == 0 else x // divisor * y
    return -result if result < 0 else result


def rsub(input, other, *, alpha=1) -> Tensor:
    """other - alpha * input, elementwise.

    Args:
        input: (*), not bools.
        other: tensor or number, broadcast with `input`.
        alpha: the factor of `input`.

    Raises:
        RuntimeError: bools; shapes that do not broadcast; a fraction as `alpha` of integers.

    Example:
        >>> import numtorch as torch
        >>> torch.rsub(torch.tensor([1., 2.]), 10)
        tensor([9., 8.])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("rsub", input)
    return sub(as_operand("rsub", other), input, alpha=alpha)


@formula_of(rsub)
def _rsub_in_formulas(input, other, alpha=1):
    return other - alpha * input
