"""`NUMTORCH_DEBUG_MEMORY=poison`: blocks that are full of a pattern, so that what is read before it is written shows."""
from __future__ import annotations

import numpy as np

# Read as float16, bfloat16, float32 or float64 it is NaN, as an integer of 2, 4 or 8 bytes one that no program means.
POISON = np.uint16(0x7FF9)


def poisoned_block(nbytes):
    """A block full of POISON: its owner and its address, a multiple of 64."""
    owner = np.full((nbytes + 64) // 2 + 1, POISON)
    address = owner.ctypes.data
    return owner, address + -address % 64
