"""What kernels are bound to for each element type, made of the table in `numtorch/dtypes.py`.

A kernel generic over its element type names `T` (what it computes in), `load` (a stored word as a `T`) and `store` (the other way
round).
"""
from __future__ import annotations

import numpy as np

from .. import dtypes
from . import intrinsics
from .pointers import element_type

_TYPES = dtypes.dtype.by_name


def same(x):
    """How a word is loaded and stored that is what kernels compute in."""
    return x


def _intrinsic(name):
    return same if name is None else getattr(intrinsics, name)


CONVERSIONS = {name: (_intrinsic(kind.load), _intrinsic(kind.store)) for name, kind in _TYPES.items()}       # load and store
CONVERTED = tuple(name for name, kind in _TYPES.items() if kind.load)          # whose words are something else: of 16-bit floats
FLOATING = tuple(name for name, kind in _TYPES.items() if kind.category >= 2)


def compute_type(name: str) -> str:
    """The type that elements are computed in."""
    return _TYPES[name].compute


def accumulate_type(name: str) -> str:
    """The type in which long sums of elements are carried."""
    return _TYPES[name].accumulate


def is_complex(name: str) -> bool:
    """Whether elements are complex numbers."""
    return _TYPES[name].is_complex


def real_type(name: str) -> str:
    """The type of a complex number's parts; of others the type itself."""
    return _TYPES[name].to_real().name


def is_small_integer(name: str) -> bool:
    """Whether 2048 of them add up within an int32; a bool too."""
    return _TYPES[name].category < 2 and _TYPES[name].itemsize < 4


def itemsize(name: str) -> int:
    """Bytes of a stored element."""
    return element_type(name).itemsize


def scalar_type(name: str) -> type:
    """NumPy's type of what elements are computed in, in which a bool is a byte."""
    return element_type(compute_type(name)).type


def bindings(name: str) -> dict:
    """`T`, `load` and `store` for an element type."""
    load, store = CONVERSIONS[name]
    return dict(T=scalar_type(name), load=load, store=store)


def numpy_type(name: str) -> type:
    """NumPy's type of values of a compute type: np.bool_ for bools."""
    return np.bool_ if name == "bool" else scalar_type(name)
