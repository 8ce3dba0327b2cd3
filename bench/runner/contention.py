"""Is the machine busy with something else? A calibration loop that every thread runs between cases.

Each thread does a fixed piece of work and reads two clocks around it: the wall's, and its own of processor time. Alone they
agree (1.00 was measured); where others want the same processors, the thread waits while only the wall's clock runs. What it
does *not* do is let the system place the threads or compare with the fastest time seen: on an idle machine two threads that
wake together share a processor until they are balanced, and the mean of a loop's wall time was 1.7 times its best; so each
thread is held to a processor of its own. How far the processor's own speed varied is kept apart from it.
"""
from __future__ import annotations

import hashlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

PIECES, PIECE_BYTES = 12, 1 << 20                        # 10 ms in all: who has slept may run for a first time slice of some 3 ms
REST_SECONDS = 2e-3                                      # idle threads of the sides' pools spin for a while before they sleep
BUSY, UNSTEADY = 1.15, 1.5


class Contention:
    """What `threads` threads lost to others, over all checks so far.

    Attributes:
        wall, processor: seconds the work took by the two clocks.
        speeds: seconds of processor time of each piece.
    """

    def __init__(self, threads):
        self.threads = threads
        self.wall = self.processor = 0.0
        self.speeds = []
        self._block = bytes(PIECE_BYTES)
        self._together = threading.Barrier(threads)
        self._processors = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def _work(self, number):
        if self._processors:                             # else two threads that wake together may share one for a while
            os.sched_setaffinity(0, {self._processors[number % len(self._processors)]})      # 0 is this thread
        self._together.wait()
        pieces = []
        for _ in range(PIECES):
            wall, processor = time.perf_counter(), time.thread_time()
            hashlib.sha256(self._block).digest()         # without the interpreter's lock
            pieces.append((time.perf_counter() - wall, time.thread_time() - processor))
        return pieces

    def check(self) -> float:
        """Do the work on every thread; how many times the processor time it took by the wall's clock."""
        time.sleep(REST_SECONDS)
        with ThreadPoolExecutor(self.threads) as pool:   # no thread is left: compiled functions wait until there is no other
            pieces = [p for done in pool.map(self._work, range(self.threads)) for p in done]
        wall, processor = (sum(p[i] for p in pieces) for i in (0, 1))
        self.wall += wall
        self.processor += processor
        self.speeds += [p[1] for p in pieces]
        return wall / processor

    @property
    def waiting(self) -> float:
        """Wall time over processor time: 1 on a machine of one's own."""
        return self.wall / self.processor if self.processor else 1.0

    @property
    def unsteadiness(self) -> float:
        """The median piece's processor time over the fastest's: how far the processor was from its best."""
        return float(np.median(self.speeds) / min(self.speeds)) if self.speeds else 1.0

    def notes(self) -> list[str]:
        """What must be said, if anything."""
        lines = []
        if self.waiting > BUSY:
            lines.append("**The machine was busy with something else meanwhile** (a calibration loop took "
                         f"{self.waiting:.2f} times its processor time): the figures are not to be relied on.")
        if self.unsteadiness > UNSTEADY:
            lines.append(f"The processor ran unsteadily (a fixed loop took {self.unsteadiness:.1f} times its best in the median, "
                         "by processor time): clocks that turbo, or neighbours on the same host. Ratios suffer less than times.")
        return lines
