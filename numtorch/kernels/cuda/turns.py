"""A block's threads as Python, one at a time: each runs until it waits for the others or ends.

Numba's simulator lets them run as the system likes and looks without pause whether all wait, which takes longer than the kernel.
Here a thread that waits hands over to the next one, and a kernel without barriers is one loop in the thread that launched it. The
order is drawn anew at every barrier, from a fixed seed: where a barrier is missing, some thread soon reads what another has yet to
write, or has written over. What lies between two barriers is not interrupted: an addition to memory passes for an atomic one.

What `cuda` is in a kernel is in simulator.py.
"""
from __future__ import annotations

import _thread
import itertools
import random
from typing import NamedTuple

WARP, SMALL_BLOCK = 32, 4                                # threads of a warp; of small blocks, in which half of them are a warp
_running: list = [None]                                  # the block that runs
_draw = random.Random(0)


class Dim3(NamedTuple):
    """Where a thread is in its block, or a block in its grid."""
    x: int
    y: int
    z: int


class _Thread:
    """A thread of the block: where it is, and the lock that the system thread running it waits for."""
    __slots__ = ("index", "number", "resumed")

    def __init__(self, number, index):
        self.number, self.index, self.resumed = number, Dim3(*index), None


class _Abandoned(BaseException):
    """Another thread of the block raised: this one goes no further."""


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
        self.current, self.error, self.ended = None, None, _locked()
        self.ready, self.waiting, self.warps = [], [], {}
        _draw.shuffle(self.new)                          # here and in `ready` the last is the next

    def run(self):
        """All threads to their ends, in this system thread and as many more as wait at once. Raises what one of them raises."""
        before, _running[0] = _running[0], self
        try:
            self._run_new_threads()
            self.ended.acquire()
        finally:
            _running[0] = before
        if self.error is not None:
            raise self.error[0].with_traceback(self.error[1])

    def _run_new_threads(self):
        """Threads that have not begun, until there are none or this system thread's own was told to wait for the rest of them."""
        while self.new:
            thread = self.new.pop()
            if self.error is None:
                self._take(thread)
                try:
                    self.body()
                except _Abandoned:
                    pass
                except Exception as error:
                    self._fail(thread, error)
            self.living -= 1
        self._hand_over()

    def _fail(self, thread, error):
        at = f"tid={list(thread.index)} ctaid={list(self.number)}"
        self.error = type(error)(f"{at}: {error}" if str(error) else at), error.__traceback__

    def _take(self, thread):
        self.current, self.grid.threadIdx = thread, thread.index

    def _hand_over(self):
        """Let another thread go on, or whoever started the block."""
        if self.new:
            _thread.start_new_thread(self._run_new_threads, ())
            return
        if self.error is not None:                       # those that wait end where they are
            self.ready += [*self.waiting, *itertools.chain.from_iterable(waiting for waiting, _ in self.warps.values())]
            self.waiting, self.warps = [], {}
        elif not self.ready and len(self.waiting) == self.living:
            self.ready, self.waiting = self.waiting, []
            _draw.shuffle(self.ready)
        if self.ready:
            self.ready.pop().resumed.release()
        elif self.living == 0:
            self.ended.release()
        else:
            self.error = RuntimeError(f"{len(self.waiting)} threads of block {list(self.number)} wait for the block, and "
                                      f"{self.living - len(self.waiting)} for their warps"), None
            self._hand_over()

    def _pause(self):
        """Let others run until this thread is resumed."""
        thread = self.current
        thread.resumed = thread.resumed or _locked()
        self._hand_over()
        thread.resumed.acquire()
        self._take(thread)
        if self.error is not None:
            raise _Abandoned

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


def _locked():
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


def running():
    """The block that runs."""
    return _running[0]
