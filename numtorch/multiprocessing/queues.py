"""Queues: channels of pickled values, with the methods of Python's queues."""
from __future__ import annotations

import time
from multiprocessing.context import assert_spawning
from multiprocessing.reduction import DupFd
from queue import Empty
from queue import Full as QueueFull

from ..shared.channel import Bell, Channel, Full
from .transfer import read, write


def _send_bell(bell):
    return None if bell is None else [DupFd(end) for end in bell.ends]


def _existing_bell(ends):
    return None if ends is None else Bell(tuple([end.detach() for end in ends]))


def _rebuild(kind, number, bell, room):
    self = kind.__new__(kind)
    self._channel = Channel.existing(number, _existing_bell(bell), _existing_bell(room))
    self._closed = False
    return self


class SimpleQueue:
    """Values from any process of the family to any, in order.

    A value is in the queue when `put` returns, and stays there whatever becomes of the process: there is no thread that sends
    later.
    """

    def __init__(self, *, ctx=None):
        self._channel, self._closed = Channel(), False

    def _reduce_shared(self, pickler):
        assert_spawning(self)
        channel = self._channel
        pickler.channels.append(channel)
        return _rebuild, (type(self), channel.hold.number, _send_bell(channel.bell), _send_bell(channel.room))

    def __reduce__(self):
        raise RuntimeError(f"{type(self).__name__} objects should only be shared between processes through inheritance, with "
                           f"numtorch.multiprocessing's processes")

    def _check(self):
        if self._closed:
            raise ValueError(f"Queue {self!r} is closed")

    def put(self, obj):
        """Put a value in. Tensors move to shared memory and are sent as handles.

        Args:
            obj: anything that can be pickled.
        """
        self._check()
        letter, kept = write(self._channel, obj)
        self._channel.send(letter)
        del kept

    def get(self):
        """Take the next value out; wait for it."""
        self._check()
        return read(self._channel.receive())

    def empty(self):
        """Whether there is nothing in it, at this moment."""
        return self._channel.empty()

    def close(self):
        """Say that this process is done with it."""
        self._closed = True


class Queue(SimpleQueue):
    """A queue with the methods of `queue.Queue`.

    Args:
        maxsize: how many values may wait; 0 for any number.
    """

    def __init__(self, maxsize=0, *, ctx=None):
        self._channel, self._closed = Channel(max(0, maxsize)), False

    def put(self, obj, block=True, timeout=None):
        """Put a value in.

        Args:
            obj: anything that can be pickled.
            block: whether to wait for room.
            timeout: for how many seconds; None for any number.

        Raises:
            queue.Full: there was no room.
        """
        self._check()
        letter, kept = write(self._channel, obj)
        try:
            self._channel.send(letter, timeout if block else 0)
        except Full:
            raise QueueFull from None
        del kept

    def get(self, block=True, timeout=None):
        """Take the next value out.

        Args:
            block: whether to wait for it.
            timeout: for how many seconds; None for any number.

        Raises:
            queue.Empty: nothing came.
        """
        self._check()
        letter = self._channel.receive(timeout if block else 0)
        if letter is None:
            raise Empty
        return read(letter)

    def put_nowait(self, obj):
        """`put` without waiting."""
        self.put(obj, False)

    def get_nowait(self):
        """`get` without waiting."""
        return self.get(False)

    def qsize(self):
        """How many values wait, at this moment."""
        return len(self._channel)

    def full(self):
        """Whether there is no room, at this moment."""
        most = self._channel.most
        return bool(most) and len(self._channel) >= most

    def join_thread(self):
        """Nothing: a value is sent when `put` returns."""

    def cancel_join_thread(self):
        """Nothing: a process may end with values of its in the queue, which keep."""


class JoinableQueue(Queue):
    """A queue that counts what has been dealt with."""

    def task_done(self):
        """Say that a value taken out has been dealt with.

        Raises:
            ValueError: more often than values were put in.
        """
        if not self._channel.done():
            raise ValueError("task_done() called too many times")

    def join(self):
        """Wait until everything put in has been dealt with."""
        while self._channel.pending():
            time.sleep(0.001)
