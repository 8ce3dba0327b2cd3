"""The vectorised forms' answers where they reach, the C library's beyond (compiled in lowering.py, by whole vectors)."""
from __future__ import annotations

import numpy as np

from ..intrinsics import Intrinsic
from .ranges import LIMITS, QUOTIENT32, QUOTIENT64

MODULE = "numtorch.kernels.vectormath.lowering"


def _settle(name, function):
    def settle(x, y):
        return type(y)(function(np.float64(x))) if abs(x) > LIMITS[name][not isinstance(x, np.float32)] else y
    settle.__name__ = f"settle_{name}"
    return Intrinsic(settle, MODULE)


def _settle_fmod(x, y, r):
    limit = QUOTIENT32 if isinstance(x, np.float32) else QUOTIENT64
    return type(r)(np.fmod(x, y)) if abs(x) > limit * abs(y) else r


_settle_fmod.__name__ = "settle_fmod"
settle_sin, settle_cos, settle_tan = _settle("sin", np.sin), _settle("cos", np.cos), _settle("tan", np.tan)
settle_fmod = Intrinsic(_settle_fmod, MODULE)
