"""Functions that are one instruction or a few: roots, signs, rounding."""
from __future__ import annotations

import math

import numpy as np

from .. import intrinsics
from .elementary import Elementary

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
    """|x| with the sign of y."""
    return _copysign(x, y)


def _abs_complex(z):
    """|z|, by the larger part times sqrt(1 + ratio**2), which cannot overflow."""
    a, b = _fabs(z.real), _fabs(z.imag)
    large, small = max(a, b), min(a, b)
    ratio = small / large if large > 0.0 else large * 0.0
    return large * _root(1.0 + ratio * ratio) if large < math.inf else large


def _reciprocal_root(x):
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(x)


sqrt = Elementary("sqrt", np.sqrt, _sqrt_body)
rsqrt = Elementary("rsqrt", _reciprocal_root, _rsqrt_body)
floor = Elementary("floor", np.floor, _floor_body)
ceil = Elementary("ceil", np.ceil, _ceil_body)
trunc = Elementary("trunc", np.trunc, _trunc_body)
round = Elementary("round", np.rint, _round_body)
absolute = Elementary("abs", np.abs, _abs_body)
copysign = Elementary("copysign", np.copysign, _copysign_body)
