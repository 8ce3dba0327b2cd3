"""The Python array API standard 2024.12 over tensors: `x.__array_namespace__()`, or `from numtorch import array_api as xp`.

creation: arrays made, and dtypes. elementwise: from tables. manipulation: other shapes, joined, picked. reductions: sums, places,
order, sets. linalg, fft: the two extensions. promotion: dtypes of results. info: what may be asked.

Functions take and give tensors. They differ from those of `numtorch` in what the standard says otherwise: names and `axis`,
arguments by position only, sums of integers in their own kind, and dtypes that are found from dtypes alone: an array without
dimensions counts like any other, and arrays of integers do not mix with arrays of floats. Tensors stay what they are, so that
operators (`x + y`) follow PyTorch's promotion, and `x.size` is PyTorch's method.

https://data-apis.org/array-api/2024.12
"""
from __future__ import annotations

from math import e, inf, nan, pi

from ..dtypes import (
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..tensor import Tensor
from . import creation, elementwise, fft, linalg, manipulation, promotion, reductions
from .creation import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .info import Information
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *  # noqa: F403
from .promotion import isdtype, result_type
from .reductions import *  # noqa: F403

__array_api_version__ = "2024.12"

bool = bool_
newaxis = None

__all__ = ["Tensor", "__array_api_version__", "__array_namespace_info__", "bool", "complex64", "complex128", "e", "fft", "float32",
           "float64", "inf", "int8", "int16", "int32", "int64", "isdtype", "linalg", "matmul", "matrix_transpose", "nan", "newaxis",
           "pi", "promotion", "result_type", "tensordot", "uint8", "uint16", "uint32", "uint64", "vecdot"]
__all__ += creation.__all__ + elementwise.__all__ + manipulation.__all__ + reductions.__all__


def __array_namespace_info__() -> Information:
    """What programs may ask of the namespace: its devices, dtypes and defaults."""
    return Information()
