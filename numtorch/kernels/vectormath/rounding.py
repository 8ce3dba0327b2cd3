"""Functions that are one instruction or a few: roots, signs, rounding, remainders."""
from __future__ import annotations

import numpy as np

from .. import intrinsics
from ..intrinsics import bits_of, float_of, fma, select
from . import roots
from .elementary import INFINITY, SIGN_MASK, ByMachine, Elementary, Int, both
from .settled import settle_fmod

_ceil, _copysign, _fabs, _floor = intrinsics.ceil, intrinsics.copysign, intrinsics.fabs, intrinsics.floor
_rint, _root, _trunc = intrinsics.rint, intrinsics.sqrt, intrinsics.trunc


def _sqrt_body(x):
    """Square root, correctly rounded."""
    return _root(x)


def _rsqrt_body(x):
    """1 / sqrt(x)."""
    return 1.0 / _root(x)


def _floor_body(x):
    """The largest whole number that is not above x."""
    return _floor(x)


def _ceil_body(x):
    """The smallest whole number that is not below x."""
    return _ceil(x)


def _trunc_body(x):
    """x without its fraction."""
    return _trunc(x)


def _round_body(x):
    """The nearest whole number, ties to even."""
    return _rint(x)


def _abs_body(x):
    """|x|."""
    return _fabs(x)


def _copysign_body(x, y):
    """|x| with the sign of y. By their bits: of a double's sign in half a number, LLVM asks a rounding that no library has."""
    return float_of(Int(bits_of(x) ^ Int(Int(bits_of(x) ^ bits_of(y)) & SIGN_MASK)))


def _reciprocal_root(x):
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(x)


def _fmod_body(x, y):
    """x - y n with n = x / y cut to a whole number: exact, with the sign of x. Large quotients go to the C library."""
    a, b = _fabs(x), _fabs(y)
    r = fma(-_trunc(a / b), b, a)             # the rounded quotient is at most one off
    r = select(r < 0.0, r + b, r)
    r = select(r < b, r, r - b)
    r = select(b < INFINITY, r, select(a < INFINITY, a, y - y))
    return settle_fmod(x, y, _copysign(select(y == y, r, y), x))


def _remainder_body(x, y):
    """x - y n with n = floor(x / y): the sign of y, as Python's %."""
    r = fmod(x, y)
    return select(r == 0.0, _copysign(r, y), select((r < 0.0) != (y < 0.0), r + y, r))


sqrt = Elementary("sqrt", np.sqrt, ByMachine(both(_sqrt_body), roots.sqrt))
rsqrt = Elementary("rsqrt", _reciprocal_root, ByMachine(both(_rsqrt_body), roots.rsqrt))
floor = Elementary("floor", np.floor, _floor_body)
ceil = Elementary("ceil", np.ceil, _ceil_body)
trunc = Elementary("trunc", np.trunc, _trunc_body)
round = Elementary("round", np.rint, _round_body)
absolute = Elementary("abs", np.abs, _abs_body)
copysign = Elementary("copysign", np.copysign, _copysign_body)
fmod = Elementary("fmod", np.fmod, _fmod_body)
remainder = Elementary("remainder", np.remainder, _remainder_body)
