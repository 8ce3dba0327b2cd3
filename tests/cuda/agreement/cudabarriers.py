"""Which barriers of kernels the simulator of a GPU misses when they are taken away: each should change a result."""
from __future__ import annotations

import os
import re
import sys

import numpy as np
from daily import is_todays

PARTS = 4                                                # of the barriers, of which one is tried each day; all with NUMTORCH_TEST_ALL=1
ROUNDS = 4                                               # orders of threads are drawn, and not each shows what is missing


def _place():
    """Where a kernel's source waits: function, line and file."""
    frame = sys._getframe(2)
    while frame.f_code.co_name in ("barrier", "syncthreads"):
        frame = frame.f_back
    file = os.path.basename(frame.f_code.co_filename)
    return f"{frame.f_code.co_name}:{frame.f_lineno} in {re.sub(' [0-9a-f]{8}>$', '>', file)}"       # generated text by what it is for


class Barriers:
    """The barriers that bodies come by, each of which can be taken away.

    Attributes:
        bodies: names of bodies by barrier.
        missing: the barrier that is not waited at.
        seconds: how long bodies take, which says what to try first.
    """

    def __init__(self):
        from numtorch.kernels.cuda.turns import Block
        self.bodies, self.missing, self.name, self.seconds = {}, None, None, {}
        wait = Block.wait

        def waiting(block):
            place = _place()
            if place != self.missing:
                self.bodies.setdefault(place, {})[self.name] = None
                wait(block)
        Block.wait = waiting

    def unseen(self, run, results):
        """Those of the day's barriers without which all bodies give what they gave: `run(name)` again, beside `results[name]`, lists
        of arrays."""
        found = []
        for place, names in [each for each in sorted(self.bodies.items()) if is_todays(each[0], PARTS)]:
            self.missing = place
            quickest = sorted(names, key=lambda name: self.seconds.get(name, 0))
            if not any(_differs(run, name, results[name]) for _ in range(ROUNDS) for name in quickest):
                found.append(place)
        self.missing = None
        return found


def _differs(run, name, expected):
    try:
        return not all(a is b or (a.shape == b.shape and np.allclose(a, b, 1e-2, 1e-2, equal_nan=True))
                       for a, b in zip(run(name), expected, strict=True))
    except (IndexError, RuntimeError, MemoryError):      # a position or a size that was read too early
        return True
