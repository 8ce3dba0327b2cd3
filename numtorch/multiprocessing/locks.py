"""Locks, semaphores, events, conditions and barriers: words in shared memory, with the methods of Python's.

They have no names and no descriptors, so none is left behind. A lock whose holder dies is free again within a second: Python's
would stay locked for good. What it guarded may be half done then; `acquire` says so by nothing, as little as after an exception.
"""
from __future__ import annotations

import ctypes
import os
import threading
import time
from multiprocessing.context import assert_spawning
from multiprocessing.synchronize import Barrier as _Barrier

from ..shared import system
from ..shared.blocks import Block, allocate, found_again
from ..shared.heap import heap

SLICE = 0.2                                              # seconds after which a waiter looks whether the holder lives
MOST = 2 ** 31 - 1


def _rebuild(kind, handle, options):
    self = kind.__new__(kind)
    self._begin(found_again(heap(), *handle), **options)
    return self


class _Word:
    """A value in shared memory that processes wait for."""

    _options: dict = {}

    def _begin(self, block: Block, **options):
        self._block, self._heap, self._options = block, block.heap, options
        self._words = (ctypes.c_int64 * 4).from_address(block.address)       # the value, who holds it, how often it changed
        self._change = block.address + 16
        for name, value in options.items():
            setattr(self, "_" + name, value)

    def _make(self, value, **options):
        block = allocate(64)
        ctypes.memset(block.address, 0, 64)
        self._begin(block, **options)
        self._words[0] = value

    def _reduce_shared(self, pickler):
        assert_spawning(self)
        pickler.blocks.append(self._block)
        return _rebuild, (type(self), self._block.handle(), self._options)

    def __reduce__(self):
        raise RuntimeError(f"{type(self).__name__} objects should only be shared between processes through inheritance, with "
                           f"numtorch.multiprocessing's processes")

    def _seen(self):
        return self._words[2] & 0xffffffff

    def _say(self, count=MOST):
        """Tell those who wait that something changed. Runs in `critical`, or where only this process writes."""
        self._words[2] += 1
        system.wake(self._change, count)

    def _wait(self, attempt, timeout):
        """Until `attempt()`, in `critical`, is true: whether that was within so many seconds."""
        end = None if timeout is None else time.monotonic() + max(0.0, timeout)
        while True:
            seen = self._seen()
            if self._heap.critical(attempt):
                return True
            left = SLICE if end is None else end - time.monotonic()
            if left <= 0:
                return False
            system.wait_for_change(self._change, seen, min(left, SLICE))


class Semaphore(_Word):
    """A number of permits that processes take and give back.

    Args:
        value: how many there are at first.
    """

    def __init__(self, value=1, *, ctx=None):
        self._make(value, most=MOST)

    def _take(self):
        if self._words[0] <= 0:
            return False
        self._words[0] -= 1
        return True

    def acquire(self, block=True, timeout=None):
        """Take a permit; whether there was one, after `timeout` seconds at most."""
        return self._wait(self._take, timeout if block else 0)

    def _give(self):
        if self._words[0] >= self._most:
            return False
        self._words[0] += 1
        self._say(1)
        return True

    def release(self):
        """Give a permit back.

        Raises:
            ValueError: more than there may be.
        """
        if not self._heap.critical(self._give):
            raise ValueError("semaphore or lock released too many times")

    def get_value(self):
        """How many permits there are, at this moment."""
        return self._words[0]

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exception):
        self.release()


class BoundedSemaphore(Semaphore):
    """A semaphore with never more permits than at first."""

    def __init__(self, value=1, *, ctx=None):
        self._make(value, most=value)


class Lock(_Word):
    """A lock that one process or thread has at a time. Any may release it."""

    _recursive = False

    def __init__(self, *, ctx=None):
        self._make(0)

    def _begin(self, block, **options):
        super()._begin(block, **options)
        self._mine = (0, 0, 0)                           # process, thread, how often

    def _take(self):
        words, home = self._words, self._heap
        holder = words[1]
        if holder and (holder == home.member + 1 or home.lives(holder - 1, words[3])):
            return False
        words[3] = home.birth(home.member)               # before the number: another process may have it later
        words[1] = home.member + 1
        return True

    def _is_mine(self):
        return self._mine[:2] == (os.getpid(), threading.get_ident()) and bool(self._words[1])

    def acquire(self, block=True, timeout=None):
        """Take the lock; whether it could be had, after `timeout` seconds at most."""
        if self._recursive and self._is_mine():
            self._mine = (*self._mine[:2], self._mine[2] + 1)
            return True
        taken = self._wait(self._take, timeout if block else 0)
        if taken:
            self._mine = (os.getpid(), threading.get_ident(), 1)
        return taken

    def _give(self):
        if not self._words[1]:
            return False
        self._words[1] = 0
        self._say(1)
        return True

    def release(self):
        """Let go of the lock.

        Raises:
            ValueError: nobody has it.
            AssertionError: another thread has it, of an RLock.
        """
        if self._recursive:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._mine[2] > 1:
                self._mine = (*self._mine[:2], self._mine[2] - 1)
                return
        self._mine = (0, 0, 0)
        if not self._heap.critical(self._give):
            raise ValueError("semaphore or lock released too many times")

    def locked(self):
        """Whether somebody has it, at this moment."""
        return bool(self._words[1])

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exception):
        self.release()


class RLock(Lock):
    """A lock that whoever has it may take again."""

    _recursive = True


class Event(_Word):
    """A flag that processes wait for."""

    def __init__(self, *, ctx=None):
        self._make(0)

    def is_set(self):
        """Whether the flag is up."""
        return bool(self._words[0])

    def _raise(self, value):
        self._words[0] = value
        self._say()

    def set(self):
        """Put the flag up: whoever waits goes on."""
        self._heap.critical(self._raise, 1)

    def clear(self):
        """Take the flag down."""
        self._heap.critical(self._raise, 0)

    def wait(self, timeout=None):
        """Wait for the flag; whether it was up within `timeout` seconds."""
        return self.is_set() or self._wait(self.is_set, timeout)


class Condition(_Word):
    """A lock, and a place to wait until another process says that something changed.

    Args:
        lock: the lock; an RLock of its own when None.
    """

    def __init__(self, lock=None, *, ctx=None):
        lock = lock or RLock()
        self._make(0, lock=lock)
        self._begin(self._block, lock=lock)

    def _begin(self, block, **options):
        super()._begin(block, **options)
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self):
        return self._lock.__enter__()

    def __exit__(self, *exception):
        self._lock.release()

    def wait(self, timeout=None):
        """Let go of the lock, wait to be notified for so many seconds at most, and take the lock again. Whether it was notified;
        now and then that is true for nothing, so look whether what you wait for is so."""
        assert self._lock._is_mine(), "must acquire() condition before using wait()"
        times, seen = self._lock._mine[2], self._seen()
        for _ in range(times):
            self._lock.release()
        try:
            end = None if timeout is None else time.monotonic() + timeout
            while self._seen() == seen:
                left = SLICE if end is None else end - time.monotonic()
                if left <= 0:
                    return False
                system.wait_for_change(self._change, seen, min(left, SLICE))
            return True
        finally:
            for _ in range(times):
                self._lock.acquire()

    def notify(self, n=1):
        """Have up to `n` of those who wait go on."""
        assert self._lock._is_mine(), "lock is not owned"
        self._heap.critical(self._say, n)

    def notify_all(self):
        """Have all who wait go on."""
        self.notify(MOST)

    def wait_for(self, predicate, timeout=None):
        """Wait until `predicate()` is true; what it gave last, after `timeout` seconds at most."""
        end = None if timeout is None else time.monotonic() + timeout
        result = predicate()
        while not result:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            self.wait(left)
            result = predicate()
        return result


class Barrier(_Barrier):
    """A place where so many processes wait for one another."""
