"""Division of integers: quotients rounded down or towards zero, and what remains.

Processors divide integers one by one, in 10 to 20 cycles; floats they divide by vectors. A float division's result differs from the
exact quotient by less than that does from the next whole number, where the operands have half as many bits as the float's fraction:
8 and 16 bits are divided as float32, 32 bits as float64. Quotients of int32 take a sixteenth of the time.
"""
from __future__ import annotations

import numpy as np

from ..binding import ScalarBody
from ..intrinsics import divide, floor, select, trunc


def _by_floats(integer, wide, float_):
    """The three functions for an integer type, by way of a float type."""
    def down(x, y):
        return integer(wide(floor(float_(x) / float_(y))))

    def to_zero(x, y):
        return integer(wide(trunc(float_(x) / float_(y))))

    def rest(x, y):
        return integer(x - integer(wide(floor(float_(x) / float_(y)))) * y)
    return down, to_zero, rest


def _to_zero(x, y):
    """By one division, where Numba's // takes two and branches, and twice as long."""
    opposite = y == -1                                   # which the processor refuses for the least number
    return select(opposite, -x, divide(x, select(opposite, 1, y)))


to_zero = ScalarBody(_to_zero, "int64")


def _down(x, y):
    whole = to_zero(x, y)
    return select((whole * y != x) & ((x < 0) != (y < 0)), whole - 1, whole)


def _rest(x, y):
    return x % y


_FLOATS = {1: (np.int32, np.float32), 2: (np.int32, np.float32), 4: (np.int64, np.float64)}


class _Division:
    """One of the three by an integer type; the divisor must not be 0."""

    def __init__(self, which, by_integers):
        self.which, self.by_integers, self.bodies = which, by_integers, {}

    def __call__(self, x, y):
        return self.by_integers(x, y)

    def scalar(self, compute: str) -> ScalarBody:
        """The body for a compute type; for 64 bits by the processor's own division."""
        if compute not in self.bodies:
            dtype = np.dtype(compute)
            by_floats = _FLOATS.get(dtype.itemsize)
            function = _by_floats(dtype.type, *by_floats)[self.which] if by_floats else self.by_integers
            self.bodies[compute] = ScalarBody(function, compute)
        return self.bodies[compute]


quotient, truncated_quotient, modulus = _Division(0, _down), _Division(1, _to_zero), _Division(2, _rest)
