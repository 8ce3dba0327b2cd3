"""Channels: letters on their way, first in, first out, from any members of a family to any.

A letter is a block: the numbers of the blocks that it refers to, and bytes. A channel is a record that names its first and last
letter. What waits in it needs no process: the sender may end. There is nothing to tear or to leave locked: a letter is in the
channel from one store on, and out of it from another.

The bell is a descriptor that can be read while letters wait (an eventfd, or a pipe). It is rung before a letter is put into an
empty channel and silenced after the last is taken, both under the family's lock: it may ring for nothing, and never fails to.
"""
from __future__ import annotations

import ctypes
import os
import select
import time

from ..finalisers import Finaliser
from . import system
from .blocks import Block, allocate, held, new_channel_record
from .heap import heap
from .tables import BLOCKS, CHANNEL, FIRST, GENERATION, KIND, LAST, MOST_LETTERS, NEXT, PENDING, SEQUENCE


class Bell:
    """A descriptor that can be read while there is something to look for."""

    def __init__(self, ends=None):
        try:
            self.ends = ends or ((os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK),) if hasattr(os, "eventfd") else os.pipe())
        except OSError as error:
            raise system.limit(error, 0) from None
        self.end = Finaliser(_close, self.ends)
        for end in self.ends:
            os.set_blocking(end, False)

    def ring(self):
        try:
            os.write(self.ends[-1], b"\1\0\0\0\0\0\0\0")
        except BlockingIOError:                          # a pipe that is full rings
            pass

    def silence(self):
        try:
            while len(os.read(self.ends[0], 4096)) == 4096:          # more may be in a pipe
                pass
        except BlockingIOError:
            pass

    def wait(self, timeout) -> bool:
        """Wait until it rings, for so many seconds or, where None, forever."""
        poller = select.poll()
        poller.register(self.ends[0], select.POLLIN)
        return bool(poller.poll(None if timeout is None else max(0, timeout * 1000)))

    def over(self, timeout) -> bool:
        """Wait until it rings (False), or will never ring again (True), for so many seconds at most."""
        poller = select.poll()
        poller.register(self.ends[0], select.POLLIN)
        result = poller.poll(None if timeout is None else max(0, timeout * 1000))
        return bool(result) and not result[0][1] & select.POLLIN


def _close(ends, close=os.close):                        # the module may be gone before its last bell
    for end in ends:
        close(end)


class NoBell:
    """For a channel whose receivers are told by other means."""

    ends = ()

    def ring(self):
        """Nothing."""

    def silence(self):
        """Nothing."""


class Letter:
    """What was taken from a channel: the bytes, and holds on the letter and on what it refers to, until nothing refers to this."""

    __slots__ = ("numbers", "bytes", "mapping", "end")

    def __init__(self, heap):
        self.numbers, self.bytes, self.mapping = [], None, None
        self.end = Finaliser(_let_go, heap, self.numbers)


def _let_go(heap, numbers):
    for number in numbers:
        heap.drop(number)


class Full(Exception):
    """A channel has as many letters as it may."""


def key_of(number: int, generation: int) -> int:
    """A word that names a letter and no other after it."""
    return generation << 20 | number


class Channel:
    """Letters on their way.

    Args:
        most: how many may wait; 0 for any number.
        bell: what says that letters wait; one of its own when None.
    """

    def __init__(self, most: int = 0, bell: Bell | NoBell | None = None) -> None:
        self.heap = heap()
        self.bell = bell or Bell()
        self.room = Bell() if most else None
        self.hold = self.heap.critical(new_channel_record, self.heap)
        self.record = self.hold.number * 8
        self.heap.records[self.record + MOST_LETTERS] = most
        if self.room is not None:
            self.room.ring()

    @classmethod
    def existing(cls, number, bell, room):
        """A channel that another process made; this one holds it already, by what brought its number."""
        self = cls.__new__(cls)
        self.heap = heap()
        self.hold = self.heap.alone(held, self.heap, number)
        self.record, self.bell, self.room = number * 8, bell, room
        return self

    def name(self) -> tuple[int, int]:
        """What says which channel it is, as long as somebody holds it."""
        return self.hold.number, self.heap.records[self.record + GENERATION]

    @classmethod
    def named(cls, name, bell):
        """A channel by its name, or None where nobody holds it any more."""
        home, (number, generation) = heap(), name

        def hold():
            records, record = home.records, number * 8
            if not 0 < number < BLOCKS or records[record + KIND] != CHANNEL or records[record + GENERATION] != generation:
                return None
            return held(home, number)
        result = home.critical(hold)
        return result and cls.existing(number, bell, None)

    def beside(self, bell: Bell) -> Channel:
        """The same channel with another end of its bell."""
        return Channel.existing(self.hold.number, bell, None)

    # ------------------------------------------------------------ sending
    def write(self, data, blocks=(), channels=()) -> Block:
        """A letter with these bytes (buffers one after another) that refers to blocks and channels, not yet sent."""
        numbers = [b.number for b in blocks] + [c.hold.number for c in channels]
        head = 16 + 8 * len(numbers)
        sizes = [len(d) for d in data]
        letter = allocate(head + sum(sizes))
        address = letter.address
        (ctypes.c_int64 * (2 + len(numbers))).from_address(address)[:] = [len(numbers), *numbers, sum(sizes)]
        address += head
        for piece, size in zip(data, sizes):
            if size:
                ctypes.memmove(address, (ctypes.c_char * size).from_buffer(piece) if not isinstance(piece, bytes) else piece, size)
            address += size
        return letter

    def send(self, letter: Block, timeout=None) -> None:
        """Put a letter in. The sender holds it, and all it refers to, until then.

        Raises:
            Full: there was no room for so many seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while not self.heap.critical(self._push, letter.number):
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise Full
            self.room.wait(left)

    def _push(self, letter):
        """Runs in `critical`."""
        records, channel = self.heap.records, self.record
        most, first, last = records[channel + MOST_LETTERS], records[channel + FIRST], records[channel + LAST]
        if most and self._count() >= most:
            self.room.silence()
            return False
        records[letter * 8 + NEXT] = 0
        if not first:
            self.bell.ring()
            records[letter * 8 + SEQUENCE] = 0
            records[channel + LAST] = letter
            records[channel + PENDING] += 1
            records[channel + FIRST] = letter            # from here on it is sent
        else:
            last = self._last()
            records[letter * 8 + SEQUENCE] = records[last * 8 + SEQUENCE] + 1
            records[channel + PENDING] += 1
            records[last * 8 + NEXT] = letter            # from here on it is sent
            records[channel + LAST] = letter
        return True

    def _last(self):
        """The last letter. A sender that was killed may have put one behind the one that is written down."""
        records = self.heap.records
        last = records[self.record + LAST]
        while records[last * 8 + NEXT]:
            last = records[last * 8 + NEXT]
        return last

    # ------------------------------------------------------------ receiving
    def receive(self, timeout=None, note=None) -> Letter | None:
        """The next letter, or None where none came for so many seconds.

        Args:
            note: a word in shared memory, where the letter's `key` is written before it leaves the channel: who received it can
                then be found out even if that process dies at once.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            letter = Letter(self.heap)
            if self.heap.critical(self._pop, letter, note):
                return letter
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return None
            self.bell.wait(left)

    def _pop(self, letter, note=None):
        """Runs in `critical`."""
        home = self.heap
        records, channel = home.records, self.record
        number = records[channel + FIRST]
        if not number:
            self.bell.silence()
            return False
        letter.mapping, address = home.mapping_of(number)
        count = ctypes.c_int64.from_address(address).value
        for each in (number, *(ctypes.c_int64 * count).from_address(address + 8)):
            home.claim(each)
            letter.numbers.append(each)
        size = ctypes.c_int64.from_address(address + 8 + 8 * count).value
        letter.bytes = memoryview((ctypes.c_char * size).from_address(address + 16 + 8 * count)).cast("B")
        if note is not None:
            note[0] = key_of(number, records[number * 8 + GENERATION])
        following = records[number * 8 + NEXT]
        if following and records[channel + LAST] == number:          # a sender was killed before it wrote down what it sent
            records[channel + LAST] = following
        records[channel + FIRST] = following             # from here on it is received
        if not following and self.bell is not None:
            self.bell.silence()
        if self.room is not None:
            self.room.ring()
        return True

    def _count(self):
        records, channel = self.heap.records, self.record
        first = records[channel + FIRST]
        return records[self._last() * 8 + SEQUENCE] - records[first * 8 + SEQUENCE] + 1 if first else 0

    def waiting(self) -> set:
        """The key of each letter that waits."""
        return self.heap.critical(self._waiting)

    def _waiting(self):
        records = self.heap.records
        return {key_of(letter, records[letter * 8 + GENERATION]) for letter in self.heap.letters(self.hold.number)}

    def __len__(self):
        return self.heap.critical(self._count)

    def __bool__(self):
        return True

    def empty(self) -> bool:
        """Whether no letter waits."""
        return not self.heap.records[self.record + FIRST]

    @property
    def most(self) -> int:
        """How many letters may wait; 0 for any number."""
        return self.heap.records[self.record + MOST_LETTERS]

    def pending(self) -> int:
        """How many letters were sent and not yet `done`."""
        return self.heap.records[self.record + PENDING]

    def done(self) -> bool:
        """Count a letter as dealt with. False where there was none."""
        return self.heap.critical(self._done)

    def _done(self):
        left = self.pending()
        if left:
            self.heap.records[self.record + PENDING] = left - 1
        return bool(left)
