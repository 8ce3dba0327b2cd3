"""Large blocks that wait for their owner.

Fresh pages cost more than what is copied into them: they are found, put into the file and mapped one by one. A process that takes
large blocks of a size again and again finds the pages of one that was dropped, still in its memory, and only copies. Such a block
waits for a second, wherever it was dropped; all others are given back at once.
"""
from __future__ import annotations

import _thread
import time

import numpy as np

from .system import Mapping
from .tables import AGAIN, BLOCK, CAPACITY, DROPPED, IN_SEGMENT, KIND, NEXT_ID, ORPHAN, OWNER, PLACE, WAITING

KEPT = 1.0                                               # seconds


class Reserve:
    """What a member of a family knows of large blocks that are used again.

    Args:
        heap: its heap.
    """

    def __init__(self, heap) -> None:
        self.heap = heap
        self.takes: dict[int, float] = {}                # when a large block of so many bytes was taken last, the longest ago first
        self.mappings: dict[int, tuple[int, Mapping]] = {}           # places and mappings of blocks that are used again
        self.watches = self.must_watch = False           # whether a thread gives back what waits too long, and whether one has to

    def takes_again(self, capacity: int) -> bool:
        """Whether this process took a large block of this size a moment ago; it takes one now."""
        now = time.monotonic()
        last, self.takes[capacity] = self.takes.pop(capacity, -KEPT), now
        for other, when in list(self.takes.items()):
            if now - when <= KEPT:
                break
            del self.takes[other]
        return now - last <= KEPT

    def find(self, capacity: int) -> int | None:
        """The block of this size that waits for this process, the one dropped last; its mapping is the heap's again. Runs in
        `critical`."""
        home = self.heap
        table = home.all_records[:home.header[NEXT_ID]]
        mine = (table[:, KIND] == WAITING) & (table[:, OWNER] == home.member + 1)
        numbers = np.flatnonzero(mine & (table[:, CAPACITY] == capacity))
        if not len(numbers):
            return None
        number = int(numbers[table[numbers, DROPPED].argmax()])
        if number in self.mappings:
            place, mapping = self.mappings[number]
            home.mappings[place] = mapping
        return number

    def keep(self, number: int, mapping: Mapping) -> bool:
        """Keep the mapping of a block that is used again, and with it what the processor knows of its pages. Whether it was kept
        already."""
        place = self.heap.records[number * 8 + PLACE]
        kept = self.mappings.get(number)
        if kept is not None and kept[0] == place:
            return kept[1] is mapping
        self._forget()
        self.mappings[number] = place, mapping
        return False

    def _forget(self):
        """Keep no mappings of what was given back."""
        records = self.heap.records
        for number, (place, _) in list(self.mappings.items()):
            record = number * 8
            there = records[record + KIND] in (BLOCK, WAITING) and records[record + IN_SEGMENT] == AGAIN
            if not there or records[record + PLACE] != place:
                del self.mappings[number]

    def part(self, table, lost, force) -> np.ndarray:
        """Have those of the lost large blocks wait whose owners take such again. Returns which to give back: the others, and what
        has waited long enough. Runs in `critical`."""
        now, owned = int(time.monotonic() * 1000), table[:, OWNER] != ORPHAN
        again = lost & owned & (table[:, IN_SEGMENT] == AGAIN)
        if again.any():
            table[again, DROPPED] = now
            table[again, KIND] = WAITING
            self.must_watch = not force
        late = (table[:, KIND] == WAITING) & (force | ~owned | (now - table[:, DROPPED] > KEPT * 1000))
        return np.flatnonzero((lost & ~again) | late)

    def watch(self) -> None:
        """Have a thread give back what waits too long."""
        self.must_watch = False
        if self.watches:
            return
        self.watches = True
        try:
            _thread.start_new_thread(self._release_later, ())
        except RuntimeError:                             # there can be no more threads
            self.watches = False
            self.heap.critical(self.heap.sweep, True)

    def finish(self) -> None:
        """This process is about to end, and its thread with it."""
        if self.watches:
            self.heap.critical(self.heap.sweep, True)

    def _release_later(self):
        waiting = True
        while waiting:
            time.sleep(KEPT)
            waiting = not self.heap.ended and self.heap.critical(self._release)

    def _release(self):
        """What waited long enough is given back. Returns whether there is more. Runs in `critical`."""
        self.heap.sweep()
        self._forget()
        self.watches = bool((self.heap.all_records[:self.heap.header[NEXT_ID], KIND] == WAITING).any())
        return self.watches
