"""What one thread does with a word of memory that others may write at the same time.

Intrinsics: PTX in ../lowering.py, and Python twins for the simulator, one thread at a time.
"""
from __future__ import annotations

import functools
import threading

import numpy as np

from ...elementtypes import same
from ...intrinsics import Intrinsic

_instruction = functools.partial(Intrinsic, module="numtorch.kernels.cuda.lowering")
_one_at_a_time = threading.Lock()

NATIVE = ("float32", "float64", "int32", "int64")        # elements that are added by one instruction


@_instruction
def add_at(target, value):
    """target[0] += value, of a NATIVE type."""
    with _one_at_a_time:
        target[0] = target[0] + value


@_instruction
def add_to_shared(address, value):
    """Add an int32 to a word of shared memory, whose `shared_address` this is."""
    array, at = address
    with _one_at_a_time:
        array[at] += value


@_instruction
def replaced(target, old, new):
    """Put `new` where `old` is, of a word of up to 64 bits; whether it was, bit by bit. Of a byte it may be false for no
    reason, so ask again."""
    with _one_at_a_time:
        current = target[0]
        if current.tobytes() == np.asarray(old).astype(current.dtype).tobytes():
            target[0] = new
            return True
    return False


load = store = same


def add_stored_at(target, value):
    """target[0] += value, of elements that are not NATIVE."""
    old = target[0]
    while not replaced(target, old, store(load(old) + load(value))):
        old = target[0]


def way_to_add(row, bound):
    """`put_at` for elements of what a kernel of the host binds."""
    return dict(put_at=add_at if np.dtype(bound["T"]).name in NATIVE and bound["load"] is same else add_stored_at)
