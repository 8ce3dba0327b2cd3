"""Lines of numbers that some threads of a block share: which line a thread has, and what they join in shared memory.

A line has `LANES` threads, each with every LANES-th of its elements: all of a block where it is long, a part of one where it is
short. Lines that are side by side in memory have one thread each, so that neighbouring threads read neighbours.
"""
from __future__ import annotations

from numpy import float32, int32

from ...intrinsics import float_of, fmax
from ..environment import SMALL, THREADS
from ..warps import barrier
from .atomics import add_at

T, INT = float32, int32
LANES = 1
FEW = THREADS // 2 if SMALL else 16                      # threads of a short line
LONG = 4 if SMALL else 256                               # elements from which a line has a block


def lanes_for(n: int, inner: int) -> int:
    """How many threads have a line of n elements that are `inner` apart."""
    return 1 if inner > 1 else THREADS if n >= LONG else FEW


def scalar(descriptor, at):
    """A float of a descriptor, which holds its bits."""
    return T(float_of(INT(descriptor[at])))


def highest_of(cells, me, lane):
    """What the threads of a line have, joined: the largest."""
    half = LANES // 2
    while half > 0:
        barrier()
        if lane < half:
            cells[me] = fmax(cells[me], cells[me + half])
        half //= 2
    barrier()
    return cells[me - lane]


def total_of(cells, me, lane):
    """What the threads of a line have, joined: the sum."""
    half = LANES // 2
    while half > 0:
        barrier()
        if lane < half:
            cells[me] += cells[me + half]
        half //= 2
    barrier()
    return cells[me - lane]


def joined(cells, value, me, lane):
    """The sum of a value over the threads of a line, after which the cells are free again."""
    cells[me] = value
    total = total_of(cells, me, lane)
    barrier()
    return total


def add_total_at(target, cells, value, me):
    """Add the sum of a value over the threads of a block, which is the line, to a word of memory."""
    cells[me] = value
    total = total_of(cells, me, me)
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
