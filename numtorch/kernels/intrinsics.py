"""What kernel bodies may use beyond ordinary Python: one Python twin each, whose compiled form is LLVM IR.

A kernel body calls these as functions. When it is compiled, the compiler puts the Numba intrinsic of the same name
(from `codegen/lowering.py`, imported only then) in their place; under `NUMBA_DISABLE_JIT=1` and in the CUDA simulator the twins
below run. Both must mean the same.
"""
from __future__ import annotations

import ctypes
import functools
import importlib
import math
import sys

import numpy as np

from .pointers import PYTHON_KERNELS, Pointer, element_type


class Intrinsic:
    """A Python function that has a hand-written compiled form in `module`, under the same name."""

    def __init__(self, twin, module="numtorch.kernels.codegen.lowering"):
        self.twin, self.name, self.module = twin, twin.__name__, module
        self.__doc__ = twin.__doc__

    def __call__(self, *args):
        return self.twin(*args)

    def lower(self):
        return getattr(importlib.import_module(self.module), self.name)

    def __repr__(self):
        return f"<intrinsic {self.name}>"


def intrinsic(twin):
    return Intrinsic(twin)


# ---------------------------------------------------------------- numbers
@functools.cache
def _fma():
    """C's: to be exact with Python's own numbers, which have none before 3.13, takes fractions, and fifty times as long."""
    function = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fma
    function.argtypes, function.restype = [ctypes.c_double] * 3, ctypes.c_double
    return function


@intrinsic
def fma(x, y, z):
    """x * y + z, rounded once."""
    if isinstance(x, np.float32):
        return np.float32(np.float64(x) * np.float64(y) + np.float64(z))
    return type(z)(_fma()(x, y, z))


@intrinsic
def copysign(x, y):
    """|x| with the sign of y."""
    return np.copysign(x, y)


@intrinsic
def floor(x):
    return np.floor(x)


@intrinsic
def ceil(x):
    return np.ceil(x)


@intrinsic
def trunc(x):
    return np.trunc(x)


@intrinsic
def rint(x):
    """The nearest integer, ties to even."""
    return np.rint(x)


@intrinsic
def sqrt(x):
    with np.errstate(all="ignore"):
        return np.sqrt(x)


@intrinsic
def fabs(x):
    return np.abs(x)


@intrinsic
def fmax(x, y):
    """The larger; NaN if either is NaN. Vectorises as a reduction, which compare-and-select does not."""
    return np.maximum(x, y)


@intrinsic
def fmin(x, y):
    """The smaller; NaN if either is NaN."""
    return np.minimum(x, y)


@intrinsic
def divide(x, y):
    """x / y of integers of one type towards zero. The caller has seen to it that y is not 0, nor -1: both end the process."""
    whole = abs(int(x)) // abs(int(y))
    return type(x)(-whole if (x < 0) != (y < 0) else whole)


@intrinsic
def select(condition, x, y):
    """x where the condition holds, else y; both are evaluated, and no branch is made."""
    return x if condition else y


_INTEGER = {np.dtype(np.float32): np.int32, np.dtype(np.float64): np.int64}
_FLOAT = {np.dtype(np.int32): np.float32, np.dtype(np.int64): np.float64}


@intrinsic
def bits_of(x):
    """The bits of a float32 or float64 as an int32 or int64."""
    x = np.asarray(x)
    return x.view(_INTEGER[x.dtype])[()]


@intrinsic
def float_of(bits):
    """The float32 or float64 that has these int32 or int64 bits."""
    bits = np.asarray(bits)
    return bits.view(_FLOAT[bits.dtype])[()]


@intrinsic
def scale_by_power(x, n):
    """x * 2**n, with gradual underflow and overflow to infinity."""
    with np.errstate(all="ignore"):
        return np.ldexp(x, np.int32(n))


# ---------------------------------------------------------------- 16-bit floats: stored as words, computed in float32
@intrinsic
def half_to_float(word):
    return np.float32(np.asarray(word, np.uint16).view(np.float16)[()])


@intrinsic
def float_to_half(x):
    with np.errstate(all="ignore"):
        return np.float16(x).view(np.uint16)


@intrinsic
def bfloat16_to_float(word):
    return np.asarray(np.uint32(word) << np.uint32(16), np.uint32).view(np.float32)[()]


@intrinsic
def float_to_bfloat16(x):
    """Round to nearest even; NaN stays a quiet NaN."""
    x = np.float32(x)
    if math.isnan(x):
        return np.uint16(0x7FC0)
    bits = int(np.asarray(x).view(np.uint32)[()])
    return np.uint16(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF)


@intrinsic
def halves_to_complex(word):
    """A complex32, the real part in its lower half, as a complex64."""
    real, imag = np.asarray(word, np.uint32).reshape(1).view(np.float16)
    return np.complex64(complex(real, imag))


@intrinsic
def complex_to_halves(x):
    with np.errstate(all="ignore"):
        return np.array([x.real, x.imag], np.float16).view(np.uint32)[0]


# ---------------------------------------------------------------- memory
@intrinsic
def as_pointer(address, like):
    """The integer `address` as a pointer of the type of `like`."""
    return Pointer(address, like.dtype)


@intrinsic
def address_of(pointer):
    """A pointer's address as an integer."""
    return pointer.address


@intrinsic
def offset(pointer, elements):
    """The pointer moved on by a number of elements."""
    return Pointer(pointer.address + int(elements) * pointer.dtype.itemsize, pointer.dtype)


@intrinsic
def transpose_block(source, stride, target, step):
    """target[j * step + i] = source[i * stride + j] for 8 x 8 elements."""
    for i in range(8):
        for j in range(8):
            target[j * step + i] = source[i * stride + j]


@intrinsic
def local_like(pointer, count):
    """`count` (a literal) uninitialised elements of the pointee's type on the stack of this call."""
    return _Local(np.empty(count, pointer.dtype))


@intrinsic
def local_array(dtype, count):
    """`count` (a literal) uninitialised elements of the scalar type `dtype` on the stack of this call."""
    return _Local(np.empty(count, dtype))


class _Local(Pointer):
    __slots__ = ("array",)

    def __init__(self, array):
        super().__init__(array.ctypes.data, array.dtype)
        self.array = array


@intrinsic
def call_native(address, arguments, count):
    """Call the kernel whose native code is at `address` with `count` words from the pointer `arguments`."""
    PYTHON_KERNELS[int(address)](*[int(arguments[i]) for i in range(int(count))])


@intrinsic
def call_c(address, a, b, c):
    """Call the C function at `address` with three words and give back the word it returns."""
    raise NotImplementedError("kernels that run as Python call no C functions")


# ---------------------------------------------------------------- words that several threads use, in one order for all of them
@intrinsic
def atomic_load(pointer):
    """pointer[0]."""
    return pointer[0]


@intrinsic
def atomic_store(pointer, value):
    """pointer[0] = value."""
    pointer[0] = value


@intrinsic
def atomic_add(pointer, value):
    """pointer[0] += value. Returns what was there before."""
    before = pointer[0]
    pointer[0] = before + value
    return before


@intrinsic
def compare_exchange(pointer, expected, value):
    """pointer[0] = value where it is `expected`. Returns whether it was."""
    if pointer[0] != expected:
        return False
    pointer[0] = value
    return True


@intrinsic
def pause():
    """Let the processor's other thread, or its clock, have a moment."""


def pointee(name: str):
    """A null pointer to `name`, to give `as_pointer` a type in Python."""
    return Pointer(0, element_type(name))
