"""A block's threads as Python, one at a time: each runs until it waits for the others or ends.

Numba's simulator lets them run as the system likes and looks without pause whether all wait, which takes longer than the kernel.
Here they are greenlets, which hand over in less time than a line of Python takes, and a kernel without barriers is one loop. The
order is drawn anew at every barrier, from a fixed seed: where a barrier is missing, some thread soon reads what another has yet to
write, or has written over. What lies between two barriers is not interrupted: an addition to memory passes for an atomic one.

What `cuda` is in a kernel is in simulator.py.
"""
from __future__ import annotations

import functools
import itertools
import random
from contextvars import copy_context
from typing import NamedTuple

from ...extras import required

WARP, SMALL_BLOCK = 32, 4                                # threads of a warp; of small blocks, in which half of them are a warp
_running: list = [None]                                  # the block that runs
_draw = random.Random(0)


@functools.cache
def _library():
    return required("greenlet", "the CUDA simulator", "simulator")


class Dim3(NamedTuple):
    """Where a thread is in its block, or a block in its grid."""
    x: int
    y: int
    z: int


class _Thread:
    """A thread of the block: where it is, and the greenlet in which it waits."""
    __slots__ = ("greenlet", "index", "number")

    def __init__(self, number, index):
        self.number, self.index, self.greenlet = number, Dim3(*index), None


class Block:
    """One block of a launch.

    Args:
        body: what each thread calls.
        grid: what `cuda` is in it; its `threadIdx` is set before each turn.
        number: the block's, as (x, y, z).
        shape: threads along x, y and z.
    """

    def __init__(self, body, grid, number, shape):
        self.body, self.grid, self.number = body, grid, number
        self.new = [_Thread(k, (x, y, z)) for k, (z, y, x) in enumerate(itertools.product(*map(range, shape[::-1])))]
        self.size = self.living = len(self.new)
        self.lanes = WARP if self.size != SMALL_BLOCK else self.size // 2
        self.current, self.error, self.greenlets = None, None, _library()
        self.launcher = self.greenlets.getcurrent()
        self.ready, self.waiting, self.warps = [], [], {}
        _draw.shuffle(self.new)                          # here and in `ready` the last is the next

    def run(self):
        """All threads to their ends. Raises what one of them raises."""
        before, _running[0] = _running[0], self
        try:
            while self.living and self.error is None:
                self._resume()
            in_warps = itertools.chain.from_iterable(waiting for waiting, _ in self.warps.values())
            for thread in (*self.ready, *self.waiting, *in_warps):               # another one raised: they end where they are
                thread.greenlet.throw()
        finally:
            _running[0] = before
        if self.error is not None:
            raise self.error[0].with_traceback(self.error[1])

    def _resume(self):
        """Let a thread run until it waits or all have."""
        if self.new:
            starting = self.greenlets.greenlet(self._run_new_threads)
            starting.gr_context = copy_context()
            starting.switch()
            return
        if not self.ready and len(self.waiting) == self.living:
            self.ready, self.waiting = self.waiting, []
            _draw.shuffle(self.ready)
        if self.ready:
            thread = self.ready.pop()
            self._take(thread)
            thread.greenlet.switch()
        else:
            self.error = RuntimeError(f"{len(self.waiting)} threads of block {list(self.number)} wait for the block, and "
                                      f"{self.living - len(self.waiting)} for their warps"), None

    def _run_new_threads(self):
        """Threads that have not begun, one after another: one that waits, and goes on, goes on with what is left of them then."""
        while self.new and self.error is None:
            thread = self.new.pop()
            self._take(thread)
            try:
                self.body()
            except Exception as error:
                self._fail(thread, error)
            self.living -= 1

    def _fail(self, thread, error):
        at = f"tid={list(thread.index)} ctaid={list(self.number)}"
        self.error = type(error)(f"{at}: {error}" if str(error) else at), error.__traceback__

    def _take(self, thread):
        self.current, self.grid.threadIdx = thread, thread.index

    def _pause(self):
        """Let others run until this thread is resumed."""
        self.current.greenlet = self.greenlets.getcurrent()
        self.launcher.switch()

    def wait(self):
        """The barrier of a block: for all of its threads that have not ended."""
        self.waiting.append(self.current)
        self._pause()

    def exchange(self, value):
        """The barrier of a warp: what each of them gave, by lane, and the lane of the one that asks."""
        warp, lane = divmod(self.current.number, self.lanes)
        waiting, given = self.warps.setdefault(warp, ([], {}))
        given[lane] = value
        if len(given) < min(self.lanes, self.size - self.lanes * warp):
            waiting.append(self.current)
            self._pause()
        else:
            del self.warps[warp]
            self.ready += waiting
        return given, lane


def running():
    """The block that runs."""
    return _running[0]
