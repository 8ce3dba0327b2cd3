"""Python's stand-in for a typed pointer.

Kernels take pointers. Compiled, they are raw addresses. Under `NUMBA_DISABLE_JIT=1` and in the CUDA simulator the same
function bodies run as Python, and `Pointer` gives them `p[i]`, `p[i] = v` and `p + offset` on real memory.
"""
from __future__ import annotations

import ctypes

import numpy as np

from .. import dtypes

PYTHON_KERNELS: dict[int, object] = {}                   # address -> callable, where kernels run as Python
_WORDS = {d.name: d.storage if d.category else np.dtype(np.uint8) for d in dtypes.ALL}         # a bool is a byte


def element_type(name: str) -> np.dtype:
    """The NumPy dtype of the words that a pointer to `name` reads."""
    return _WORDS[name]


def as_stored(value, dtype):
    """A value as C stores it: wrapped and rounded in silence."""
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)


class Pointer:
    """`address` seen as an array of `dtype` without an end, as C sees it."""

    __slots__ = ("address", "dtype")

    def __init__(self, address: int, dtype):
        self.address, self.dtype = int(address), np.dtype(dtype)

    def _view(self, index):
        raw = (ctypes.c_char * self.dtype.itemsize).from_address(self.address + int(index) * self.dtype.itemsize)
        return np.frombuffer(raw, self.dtype, 1)

    def __getitem__(self, index):
        return self._view(index)[0]

    def __setitem__(self, index, value):
        self._view(index)[0] = as_stored(value, self.dtype)
