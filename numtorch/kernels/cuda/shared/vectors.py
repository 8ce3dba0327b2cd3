"""Neighbouring elements that a thread reads or writes at once, of up to 16 bytes an instruction.

Intrinsics: LLVM IR in ../lowering.py, and Python twins for the simulator.
"""
from __future__ import annotations

import functools

from ...intrinsics import Intrinsic

VECTOR = 16                                              # bytes that one instruction moves at most

_instruction = functools.partial(Intrinsic, module="numtorch.kernels.cuda.lowering")


def _aligned(pointer, count):
    """Raise IndexError where a GPU would: at an address that is no multiple of the vector's bytes."""
    if pointer.address % min(count * pointer.dtype.itemsize, VECTOR):
        raise IndexError(f"a vector of {count} {pointer.dtype.name} does not begin at {pointer.address:#x}")


@_instruction
def load_vector(pointer, count):
    """The tuple of `count` (a literal) elements at an address that is a multiple of their bytes, or of VECTOR."""
    _aligned(pointer, count)
    return tuple(pointer[k] for k in range(count))


@_instruction
def store_vector(pointer, values):
    """Write a tuple of elements to such an address."""
    _aligned(pointer, len(values))
    for k, value in enumerate(values):
        pointer[k] = value


def vectors_of(size: int) -> int:
    """How many elements of `size` bytes are a vector."""
    return max(VECTOR // size, 1)

