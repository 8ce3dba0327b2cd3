"""A number taken apart into coordinates cheaply: a division of 31 bits is a multiplication and a shift.

Hardware divides integers by some twenty instructions, of 64 bits by a hundred, for each element and dimension. So a planner puts a
word beside each extent, `divisor(extent, narrow)`, and binds three names of kernels (`numbers`): `quotient(n, word)`, `N`, which
is the type of numbers, and `P`, that of places, which may be negative. Numba makes 64 bits of any sum or product of these, and LLVM
32 again where they are converted back. Where something is beyond 31 bits, `quotient` divides and the word is the extent.
"""
from __future__ import annotations

from numpy import int32, int64, uint32, uint64

from ...intrinsics import divide
from ..environment import SMALL

NARROW = 64 if SMALL else 1 << 31                        # what numbers and extents are below


def divisor(extent: int, narrow: bool = True) -> int:
    """The word that `quotient` takes for an extent: a multiplier in its lower half and a shift in its upper one (Granlund and
    Montgomery, "Division by invariant integers using multiplication", 1994)."""
    if not narrow:
        return extent
    shift = (extent - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - extent) // extent + 1) | shift << 32


def quotient31(n, word):
    """n // extent, of an n below 2^31."""
    high = uint32((uint64(uint32(n)) * uint64(uint32(word & 0xFFFFFFFF))) >> uint64(32))
    return uint32(uint32(high + uint32(n)) >> uint32(word >> 32))


def quotient63(n, word):
    return divide(int64(n), int64(word))


def numbers(narrow: bool) -> dict:
    """What kernels bind for numbers of 31 bits, or for larger ones."""
    return dict(quotient=quotient31, N=uint32, P=int32) if narrow else dict(quotient=quotient63, N=int64, P=int64)
