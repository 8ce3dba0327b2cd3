"""How kernels divide complex numbers. Imported only when something must be compiled, since it imports Numba.

Numba's own division follows CPython: by 0 it raises, which in a kernel means that everything after that element is left unwritten.
This is Smith's ("Algorithm 116: complex division", 1962), which PyTorch and NumPy use too, without a branch, so that rows of it
become vectors. By 0 it gives what the parts divided by 0 give.
"""
from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.cpython.numbers import complex_div_impl

in_kernels = [False]                                     # whether what Numba compiles now is ours; users' functions divide as ever


def _divide(context, builder, signature, values):
    if not in_kernels[0]:
        return complex_div_impl(context, builder, signature, values)
    numerator, denominator = (context.make_complex(builder, kind, value) for kind, value in zip(signature.args, values))
    a, b, c, d = numerator.real, numerator.imag, denominator.real, denominator.imag
    zero = ir.Constant(a.type, 0.0)
    fabs = cgutils.get_or_insert_function(builder.module, ir.FunctionType(a.type, [a.type]),
                                          f"llvm.fabs.{'f32' if isinstance(a.type, ir.FloatType) else 'f64'}")
    wide = builder.fcmp_ordered(">=", builder.call(fabs, [c]), builder.call(fabs, [d]))
    large, small = builder.select(wide, c, d), builder.select(wide, d, c)
    nothing = builder.fcmp_ordered("==", large, zero)
    large = builder.select(nothing, zero, large)         # -0 too: PyTorch divides by its absolute value
    ratio = builder.select(nothing, zero, builder.fdiv(small, large))
    x, y = builder.select(wide, a, b), builder.select(wide, b, a)
    below = builder.fadd(large, builder.fmul(small, ratio))
    crossed = builder.fsub(y, builder.fmul(x, ratio))
    result = context.make_complex(builder, signature.return_type)
    result.real = builder.fdiv(builder.fadd(x, builder.fmul(y, ratio)), below)
    result.imag = builder.fdiv(builder.select(wide, crossed, builder.fneg(crossed)), below)
    return result._getvalue()


for _operator in (operator.truediv, operator.itruediv):
    lower_builtin(_operator, types.Complex, types.Complex)(_divide)
