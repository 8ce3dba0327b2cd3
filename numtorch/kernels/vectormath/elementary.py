"""What the functions of this package are made of: one source for both precisions, constants, polynomials.

A body is ordinary Python over scalars without branches: both sides of every choice are computed and `select` takes one,
so that LLVM's loop vectoriser turns a loop over it into vector code. A body may name things that differ between float32
and float64 (`ByPrecision`): the compiler resolves each by the compute type, as it resolves an op named in a formula.
"""
from __future__ import annotations

import math

import numpy as np

from ..binding import DISABLE_JIT, ScalarBody
from ..intrinsics import float_of, fma, scale_by_power
from ..sources import compile_source
from ..targets.processor import name_and_features


class ByPrecision:
    """A name in a body that stands for one thing in float32 code and for another in float64 code."""

    __slots__ = ("float32", "float64")

    def __init__(self, float32, float64):
        self.float32, self.float64 = float32, float64

    def scalar(self, compute: str):
        if compute == "float32":
            return self.float32
        if compute == "float64":
            return self.float64
        raise TypeError(f"expected float32 or float64, got {compute}")


class Elementary:
    """An elementary function: a scalar body for each float type, and its meaning on Python numbers.

    Args:
        name: what it is called.
        python: the function of Python or NumPy scalars that says what is computed.
        body: the function compiled for float32 and float64.
        complex_body: the function compiled for complex64 and complex128, if there is one.
    """

    def __init__(self, name, python, body, complex_body=None):
        self.name, self.python, self.complex_body = name, python, complex_body
        self.real = body if isinstance(body, ByPrecision) else both(body)
        self.__doc__ = self.real.float64.function.__doc__

    def __call__(self, *args):
        return self.python(*args)

    def __repr__(self):
        return f"<elementary {self.name}>"

    def scalar(self, compute: str) -> ScalarBody:
        """The body for a compute type.

        Raises:
            TypeError: the function has no form for that type.
        """
        if compute in ("float32", "float64"):
            return self.real.scalar(compute)
        if compute in ("complex64", "complex128") and self.complex_body is not None:
            return ScalarBody(self.complex_body, "float32" if compute == "complex64" else "float64", "float")
        accepted = "float32, float64 or complex" if self.complex_body else "float32 or float64"
        raise TypeError(f"{self.name}: expected {accepted}, got {compute}")


def by_scipy(name):
    """The meaning of a function on Python numbers that SciPy has."""
    def python(x):
        import scipy.special
        return getattr(scipy.special, name)(x)
    return python


def body32(function) -> ScalarBody:
    return ScalarBody(function, "float32", "float")


def body64(function) -> ScalarBody:
    return ScalarBody(function, "float64", "float")


def both(function) -> ByPrecision:
    """One source for both precisions."""
    return ByPrecision(body32(function), body64(function))


class MachineBody(ScalarBody):
    """A body for the host's instruction set; `portable` is what other targets compile."""

    __slots__ = ("portable",)

    def __init__(self, body, portable):
        super().__init__(body.function, body.compute, body.literals)
        self.portable = portable


def has_avx512() -> bool:
    features = {} if DISABLE_JIT else name_and_features()[1]
    return all(features.get(name) for name in ("avx512f", "avx512vl", "avx512dq"))


class ByMachine(ByPrecision):
    """A body that has another form where the processor has AVX-512 (see instructions.py).

    Args:
        portable: the form for every processor, CUDA and Python.
        avx512: the form with AVX-512's instructions; either may have one precision only (None for the other).
    """

    __slots__ = ("avx512",)

    def __init__(self, portable, avx512):
        super().__init__(portable.float32, portable.float64)
        self.avx512 = avx512

    def scalar(self, compute):
        portable = super().scalar(compute)
        special = self.avx512.scalar(compute) if has_avx512() else None
        return portable if special is None else MachineBody(special, portable)


def constant(float32, float64=None) -> ByPrecision:
    return ByPrecision(np.float32(float32), float(float32 if float64 is None else float64))


# ---------------------------------------------------------------- polynomials
def _estrin(coefficients, argument, level=0):
    """Estrin's scheme as an expression: its depth is the logarithm of the length, so long polynomials do not wait."""
    if len(coefficients) == 1:
        return coefficients[0]
    pairs = [f"fma({high}, {argument}, {low})" for low, high in zip(coefficients[::2], coefficients[1::2])]
    if len(coefficients) % 2:
        pairs.append(coefficients[-1])
    return _estrin(pairs, f"x{2 << level}", level + 1)


def _horner(coefficients):
    expression = coefficients[-1]
    for c in coefficients[-2::-1]:
        expression = f"fma({expression}, x, {c})"
    return expression


HORNER_TERMS = 8                                         # up to here the depth does not matter


def _polynomial_function(name, coefficients):
    """A function of x that evaluates the polynomial, written out with its coefficients as literals."""
    literals = [repr(float(c)) for c in coefficients]
    if len(literals) <= HORNER_TERMS:
        lines = [f"    return {_horner(literals)}"]
    else:
        powers = [1 << k for k in range(1, (len(literals) - 1).bit_length())]
        lines = [f"    x{p} = {'x * x' if p == 2 else f'x{p // 2} * x{p // 2}'}" for p in powers]
        lines.append(f"    return {_estrin(literals, 'x')}")
    scope = {"fma": fma, "__name__": __name__}
    compile_source(f"def {name}(x):\n" + "\n".join(lines), "polynomial", scope)
    return scope[name]


def _split_polynomial_function(name, coefficients):
    """A function of x and its square: even and odd terms by themselves, which halves the depth and costs nothing."""
    def horner(terms):
        expression = repr(float(terms[-1]))
        for c in terms[-2::-1]:
            expression = f"fma({expression}, square, {float(c)!r})"
        return expression

    scope = {"fma": fma, "__name__": __name__}
    odd, even = horner(coefficients[1::2]), horner(coefficients[::2])
    compile_source(f"def {name}(x, square):\n    return fma({odd}, x, {even})\n", "polynomial", scope)
    return scope[name]


def polynomial(name, coefficients, written=_polynomial_function) -> ByPrecision:
    """The polynomial with the given coefficients, constant term first: float32's and float64's, or None where one has none."""
    return ByPrecision(*[row and body(written(name + bits, row))
                         for bits, body, row in zip(("32", "64"), (body32, body64), coefficients)])


def split_polynomial(name, coefficients) -> ByPrecision:
    """The same as a function of its argument and the argument's square."""
    return polynomial(name, coefficients, _split_polynomial_function)


# ---------------------------------------------------------------- the format
Int = ByPrecision(np.int32, np.int64)
SIGN_MASK = ByPrecision(np.int32(-2 ** 31), np.int64(-2 ** 63))
Float = ByPrecision(np.float32, np.float64)
FRACTION_BITS = ByPrecision(np.int32(23), np.int64(52))
BIAS = ByPrecision(np.int32(127), np.int64(1023))
ROUND_MAGIC = constant(12582912.0, 6755399441055744.0)   # 1.5 * 2**23, 1.5 * 2**52: adding it rounds to an integer
ROUND_MAGIC_BITS = ByPrecision(np.int32(0x4B400000), np.int64(0x4338000000000000))
SMALLEST_NORMAL = constant(2.0 ** -126, 2.0 ** -1022)
INFINITY = constant(np.inf)
NAN = constant(np.nan)
LN2, LOG2_E = constant(math.log(2)), constant(math.log2(math.e))
LN2_HIGH = constant(0.693145751953125, 6.93147180369123816490e-01)          # ends in zeros: n * LN2_HIGH is exact
LN2_LOW = constant(1.42860682030941723212e-06, 1.90821492927058770002e-10)
EXPM1_TINY = constant(1e-9, 1e-18)                       # below, exp(x) - 1 is x, also where half of that would be rounded


def _power_of_two(n):
    """2**n for n within the normal range."""
    return float_of(Int(Int(n + BIAS) << FRACTION_BITS))


power_of_two = both(_power_of_two)


def _scale_in_two_steps(x, n):
    """x * 2**n, rounded once: the first factor never leaves the normal range."""
    half = Int(n >> Int(1))
    return x * power_of_two(half) * power_of_two(Int(n - half))


class _Scale(ByPrecision):
    """x * 2**n. AVX-512 has an instruction for it; without it `llvm.ldexp` becomes slow code or a library call."""

    def scalar(self, compute):
        if has_avx512():
            return scale_by_power
        return super().scalar(compute)


scale = _Scale(body32(_scale_in_two_steps), body64(_scale_in_two_steps))
