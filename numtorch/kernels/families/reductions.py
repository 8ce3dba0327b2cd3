"""What a reduction means: the formulas that kernels are made of, and which of them each kind of reduction takes.

Elements are accumulated in `T` over blocks and in `W` across them. Of a NaN among them the result is NaN.
"""
from __future__ import annotations

import math
from typing import NamedTuple

from numpy import float32, float64

from ..intrinsics import halves_to_complex, select
from ..vectormath import pow

T, W = float32, float64


def real_part(x):
    return x.real


def modulus(x):
    return abs(x)


def nonzero(x):
    return x != 0


def nonzero_half(word):
    return (word & 0x7FFF) != 0


def real_half(word):
    return halves_to_complex(word).real


def modulus_of_halves(word):
    return abs(halves_to_complex(word))


def nonzero_halves(word):
    return (word & 0x7FFF7FFF) != 0


def unchanged(x, exponent):
    return x


def present(x, exponent):
    return select(x == x, x, T(0))


def magnitude(x, exponent):
    return abs(x)


def squared(x, exponent):
    return x * x


def powered(x, exponent):
    return pow(abs(x), exponent)


def not_zero(x, exponent):
    return x != 0


def add(a, b):
    return a + b


def multiply(a, b):
    return a * b


def larger(a, b):
    return select(a > b, a, b)


def smaller(a, b):
    return select(a < b, a, b)


def either(a, b):
    return a | b


def both(a, b):
    return a & b


def total(x, exponent, count):
    return x


def opposite(x, exponent, count):
    return x == 0


def average(x, exponent, count):
    return x / count


def square_root(x, exponent, count):
    return math.sqrt(x)


def root(x, exponent, count):
    return x ** (1.0 / exponent)


class Reduction(NamedTuple):
    """One kind of reduction. `identity` is what nothing reduces to; `compute` a type that no dtype decides."""
    lift: object
    combine: object
    identity: object
    finish: object = total
    compute: str = ""


KINDS = {
    "sum": Reduction(unchanged, add, 0),
    "nansum": Reduction(present, add, 0),
    "mean": Reduction(unchanged, add, 0, average),
    "prod": Reduction(unchanged, multiply, 1),
    "max": Reduction(unchanged, larger, "lowest"),
    "min": Reduction(unchanged, smaller, "highest"),
    "any": Reduction(unchanged, either, 0, total, "uint8"),
    "all": Reduction(unchanged, both, 1, total, "uint8"),
    "not_all": Reduction(unchanged, both, 1, opposite, "uint8"),
    "count_nonzero": Reduction(unchanged, add, 0, total, "int32"),
    "sum_squares": Reduction(squared, add, 0),
    "norm": Reduction(powered, add, 0, root),
    "norm0": Reduction(not_zero, add, 0),
    "norm1": Reduction(magnitude, add, 0),
    "norm2": Reduction(squared, add, 0, square_root),
    "norminf": Reduction(magnitude, larger, 0),
    "norm-inf": Reduction(magnitude, smaller, "highest"),
}

# orders that have a form of their own
NORMS = {0.0: "norm0", 1.0: "norm1", 2.0: "norm2", math.inf: "norminf", -math.inf: "norm-inf"}


# ---------------------------------------------------------------- moments
def merge_moments(count, mean, squares, more, more_mean, more_squares):
    """Count, mean and squared deviations of two sets together."""
    if count == W(0):                                    # not by the formula: an infinite square times 0 is NaN
        return more, more_mean, more_squares
    if more == W(0):
        return count, mean, squares
    together = count + more
    delta = more_mean - mean
    share = more / together
    return together, mean + delta * share, squares + (more_squares + delta * delta * count * share)
