"""What a variance or deviation means to the kernels of reductions (reduce.py).

Of the elements' deviations from the output's first element, the sum and the sum of squares are accumulated in float64, as the two
parts of a complex number, so that they are two sums as any. Far from zero little cancels: the first element is one of those that
vary, so the squares are at most as many times too large as there are elements, of 2^53.
"""
from __future__ import annotations

from math import sqrt

import numpy as np
from numpy import complex128, float32

from ...elementtypes import CONVERSIONS, compute_type, same
from ...families.reductions import add

T = float32
load = same


def first_element(x, correction):
    """What deviations are from."""
    return T(load(x[0]))


def deviation_and_square(x, first):
    deviation = x.real - first.real
    return complex(deviation, deviation * deviation)


def unchanged_pair(x, first):
    return x


def both_sums(sums, correction, count):
    return sums


def variance(sums, correction, count):
    squares, freedom = sums.imag - sums.real * (sums.real / count), count - correction
    if squares < 0.0:
        squares = 0.0
    if freedom < 0.0:
        freedom = 0.0
    return squares / freedom


def deviation(sums, correction, count):
    return sqrt(variance(sums, correction, count))


FINISHES = {"var": variance, "std": deviation}


class MomentKernels:
    """As `_Kernels` of cpu/reduce/reduce.py. Partial results are pairs of sums."""
    compute, wide, partial = "float64", "complex128", 16

    def __init__(self, kind, dtype, out_dtype):
        self.kind, self.dtype, self.out_dtype, self.compiled = kind, dtype, out_dtype, {}

    def meaning(self, stage):
        last, first = stage == "last", stage == "first"
        out_dtype = self.wide if first else self.out_dtype
        out = complex128 if first else np.dtype(compute_type(out_dtype)).type
        names = dict(T=complex128, W=complex128, OUT=out, IDENTITY=0, combine=add,
                     load=same if last else CONVERSIONS[self.dtype][0], lift=unchanged_pair if last else deviation_and_square,
                     shift_of=first_element, finish=both_sums if first else FINISHES[self.kind], store=CONVERSIONS[out_dtype][1])
        return names, None, ((self.wide if last else self.dtype) + "*", out_dtype + "*", "int64*")
