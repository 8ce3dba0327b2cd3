"""Elementary functions of floats that LLVM vectorises: exp, log, tanh, sin, erf, pow, and so on.

Each is an `Elementary`: call it on a Python number, or name it in a kernel or an op's formula and the compiler puts
`scalar(compute)` there.

elementary                           what they are made of: one source for both precisions
exponential, trigonometric, power    by theme; special, bessel, rounding, and quotient of integers
complex, complexinverse              of complex numbers
tabled, angles, roots                forms for AVX-512; instructions and avx512, what these take of it
settled, lowering                    vector forms where they reach, and beyond; ranges says how far that is
coefficients, entries, piecewise     polynomials, tables and polynomials by pieces, which tools/minimax.py writes
"""
from . import complex as _complex
from . import complexinverse as _complexinverse
from .bessel import i0, i0e, i1, i1e
from .elementary import Elementary as Elementary
from .exponential import acosh, asinh, atanh, cosh, exp, exp2, expm1, log, log1p, log2, log10, sigmoid, sinh, tanh
from .power import pow
from .quotient import modulus as modulus
from .quotient import quotient as quotient
from .quotient import truncated_quotient as truncated_quotient
from .rounding import absolute, ceil, copysign, floor, fmod, remainder, round, rsqrt, sqrt, trunc
from .special import digamma, erf, erfc, erfcx, erfinv, gelu, lgamma
from .trigonometric import acos, asin, atan, atan2, cos, sin, tan

FUNCTIONS = {f.name: f for f in (
    exp, exp2, expm1, log, log2, log10, log1p, sigmoid, sinh, cosh, tanh, asinh, acosh, atanh,
    sin, cos, tan, asin, acos, atan, atan2, pow,
    sqrt, rsqrt, floor, ceil, trunc, round, absolute, copysign, fmod, remainder,
    erf, erfc, erfcx, erfinv, gelu, lgamma, digamma, i0, i0e, i1, i1e)}

for _name, _form in {**_complex.FORMS, **_complexinverse.FORMS}.items():
    FUNCTIONS[_name].complex_body = _form
