"""Lines of numbers that some threads of a block share: which line a thread has, and what they join in shared memory.

A line has `LANES` threads, each with every LANES-th of its elements: all of a block where it is long, a part of one where it is
short. Lines that are side by side in memory have one thread each, so that neighbouring threads read neighbours.
"""
from __future__ import annotations

from numpy import float32, int32

from ...intrinsics import float_of, fmax
from ..environment import SMALL, THREADS
from ..warps import WARP as FULL_WARP
from ..warps import barrier, lane_across
from .atomics import add_at

T, INT = float32, int32
LANES = 1
FEW = THREADS // 2 if SMALL else 16                      # threads of a short line
LONG = 4 if SMALL else 256                               # elements from which a line has a block
WARP = THREADS // 2 if SMALL else FULL_WARP              # threads that join numbers without shared memory


def lanes_for(n: int, inner: int) -> int:
    """How many threads have a line of n elements that are `inner` apart."""
    return 1 if inner > 1 else THREADS if n >= LONG else FEW


def scalar(descriptor, at):
    """A float of a descriptor, which holds its bits."""
    return T(float_of(INT(descriptor[at])))


def joined(cells, value, me, lane):
    """The sum of a value over the threads of a line, after which the cells are free again."""
    mask = min(LANES, WARP) // 2
    while mask > 0:
        value = value + lane_across(value, mask)
        mask //= 2
    if LANES > WARP:                                     # of each warp one
        if me % WARP == 0:
            cells[me // WARP] = value
        barrier()
        first = (me - lane) // WARP
        value = cells[first]
        for warp in range(1, LANES // WARP):
            value = value + cells[first + warp]
        barrier()
    return value


def joined_highest(cells, value, me, lane):
    """The same of the largest."""
    mask = min(LANES, WARP) // 2
    while mask > 0:
        value = fmax(value, lane_across(value, mask))
        mask //= 2
    if LANES > WARP:
        if me % WARP == 0:
            cells[me // WARP] = value
        barrier()
        first = (me - lane) // WARP
        value = cells[first]
        for warp in range(1, LANES // WARP):
            value = fmax(value, cells[first + warp])
        barrier()
    return value


def add_total_at(target, cells, value, me):
    """Add the sum of a value over the threads of a block, which is the line, to a word of memory."""
    total = joined(cells, value, me, me)
    if me == 0:
        add_at(target, total)


def begin_of(line, n, inner):
    """Where a line's first element is."""
    place = line // inner
    return place * n * inner + (line - place * inner)


# ---------------------------------------------------------------- columns
COLUMNS = 1                                              # side by side, one for each of as many neighbouring threads
WIDE = 2 if SMALL else 32                                # of them where neighbouring threads are to read neighbouring columns


def column_total(cells, value, me):
    """The sum of a value over the threads of a column, after which the cells are free again."""
    cells[me] = value
    half = THREADS // 2
    while half >= COLUMNS:
        barrier()
        if me < half:
            cells[me] += cells[me + half]
        half //= 2
    barrier()
    total = cells[me % COLUMNS]
    barrier()
    return total
