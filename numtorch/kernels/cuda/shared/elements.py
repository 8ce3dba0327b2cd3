"""Kernels compiled for one element type, and plans of several launches, on a GPU."""
from __future__ import annotations

import functools
import struct

import numpy as np

from ...elementtypes import bindings, compute_type
from ...threads import NOTHING, Prepared
from ..compiler import compile_kernel, prepare
from ..environment import THREADS


def integer_of(compute: str):
    """What bits of a compute type's floats are kept as."""
    return np.int64 if compute in ("float64", "complex128") else np.int32


def scalar_bits(value: float, compute: str) -> int:
    """A float as the integer that `lines.scalar` reads in kernels of this compute type."""
    wide = compute == "float64"
    return struct.unpack("<q" if wide else "<i", struct.pack("<d" if wide else "<f", value))[0]


@functools.cache
def typed(function, dtype: str, signature: tuple, **names):
    """The kernel of `function` for elements of `dtype`; arguments as for the CPU's `typed`."""
    compute = compute_type(dtype)
    places = {"element*": dtype + "*", "compute*": compute + "*"}
    names = {**bindings(dtype), "INT": integer_of(compute), **names}
    return compile_kernel(function, tuple(places.get(s, s) for s in signature), names, compute)


def launch(kernel, row, threads: int, device: int) -> Prepared:
    """A kernel's launch for a descriptor and so many threads that have work."""
    return prepare(kernel, row, -(-threads // THREADS), device)


class _InTurn:
    """Launches one after another: (prepared, which of the call's addresses it takes)."""

    __slots__ = ("launches",)

    def __init__(self, launches):
        self.launches = launches

    def __call__(self, *addresses):
        for prepared, places in self.launches:
            prepared.call(*[addresses[place] for place in places], prepared.descriptor)


def in_turn(*launches) -> Prepared:
    """Launches as one call.

    Args:
        launches: (prepared, the places of its addresses among the call's).
    """
    return Prepared(_InTurn(launches), 0, 0, launches) if launches else NOTHING
