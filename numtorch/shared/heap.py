"""The heap of a family: one anonymous file with its tables, and the sweep that finds what nobody holds.

The file begins with the tables, which every member maps: a header, the members, a record for each block, and the holds, a row of
bytes for each member. From `DATA` on lies the blocks' memory. A place in the file is never used twice (there are 2**62 bytes of
it); what is no longer used is a hole, which takes no memory.

One lock guards every step that moves a block from holder to holder: a lock of the file's first byte, which the kernel takes from a
process that dies. Inside, records are written so that each store leaves the tables valid. Two things need no lock: a member's
dropping of its own hold, and taking a block from a segment that it owns itself.
"""
from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import os
import threading
import time
import weakref
from collections import deque

import numpy as np

from ..kernels.forks import survive_fork
from . import system
from .filelocks import FAMILY, LOCK_FAMILY, UNLOCK_FAMILY, is_locked, lives, locks_of
from .reserve import Reserve
from .system import Mapping, back, punch
from .tables import (
    ALONE,
    BIRTH,
    BLOCK,
    BLOCKS,
    CAPACITY,
    CHANNEL,
    DATA,
    FIRST,
    FREE,
    GONE,
    HOLDS,
    IN_SEGMENT,
    IN_USE,
    KIND,
    LARGE,
    MEMBER_TABLE,
    MEMBERS,
    NEXT,
    NEXT_ID,
    NEXT_PLACE,
    ORPHAN,
    OWNER,
    PLACE,
    PROCESS,
    RECORDS,
    RESERVED,
    SEGMENT,
    SEGMENTS,
    SINCE,
    TABLES,
)


class Heap:
    """This process's place in its family.

    Attributes:
        fd, locks: the file, and this process's locks of it.
        member: this process's number in the family.
        records, row: the records' words, and this member's holds.
        local: taken by a thread before the family's lock.
    """

    def __init__(self, fd: int) -> None:
        self.fd, self.locks = fd, locks_of(fd)
        self.size = os.fstat(fd).st_size
        self.tables = Mapping(self.fd, 0, TABLES)
        whole = memoryview((ctypes.c_char * HOLDS).from_address(self.tables.address)).cast("B")
        self.header = whole[:MEMBER_TABLE].cast("q")
        self.records = whole[RECORDS:RECORDS + BLOCKS * 64].cast("q")
        holds = memoryview((ctypes.c_char * (MEMBERS * BLOCKS)).from_address(self.tables.address + HOLDS)).cast("B")
        self.rows = [holds[m * BLOCKS:(m + 1) * BLOCKS] for m in range(MEMBERS)]
        self.all_holds = np.frombuffer(holds, np.uint8).reshape(MEMBERS, BLOCKS)
        self.all_records = np.frombuffer(self.records, np.int64).reshape(BLOCKS, 8)
        self.members = np.frombuffer(whole[MEMBER_TABLE:MEMBER_TABLE + MEMBERS * 64], np.int64).reshape(MEMBERS, 8)
        self.local = survive_fork(threading.RLock())
        self.claims: dict[int, int] = {}                 # how often this process holds a block
        self.blocks: weakref.WeakValueDictionary = weakref.WeakValueDictionary()     # (block, generation): what holds it here
        self.dropped: deque = deque()                    # holds that finalisers let go
        self.free: dict[int, list] = {}                  # blocks of this process's segments that nobody holds, by size
        self.gone: list[int] = []                        # records whose memory this process gives back
        self.reserve = Reserve(self)                     # large blocks that wait for their owners
        self.ids: list[int] = []                         # records without memory that this process may use
        self.segment = self.top = self.end = 0           # where the next small block comes from
        self.backed = 0                                  # up to where the file has memory for that
        self.mappings: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
        self.recent: deque = deque(maxlen=8)             # mappings that are worth keeping
        self.taken = self.taken_bytes = 0                # since the last sweep
        self.kept = self.kept_bytes = 0                  # blocks that the last sweep found in use, of this process's segments
        self.looked = 0.0                                # when the dead were last looked for
        self.wants_sweep = self.ended = self.inside = False
        self.member, self.child = -1, None
        self.member = self.critical(self._join, self.locks.take)
        self.row = self.rows[self.member]
        atexit.register(self.finish)

    def finish(self):
        """The interpreter is about to take its modules apart, and the kernel then lets go of what this process holds."""
        self.reserve.finish()
        self.ended = True

    # ------------------------------------------------------------ the lock
    def critical(self, body, *arguments):
        """Run `body` while no other process or thread does the same.

        An exception from a signal's handler cannot come between the last step and the unlocking: Python looks for signals after
        calls, and `fcntl` is the next one. Finalisers, which might want shared memory too, wait: there is no garbage collection.
        """
        try:
            with self.local:
                if self.inside:                          # a signal's handler, or a step within a step
                    return body(*arguments)
                collecting = gc.isenabled()
                try:
                    gc.disable()
                    self.inside = True
                    fcntl.fcntl(self.locks.fd, self.locks.wait, LOCK_FAMILY)
                    return body(*arguments)
                finally:
                    fcntl.fcntl(self.locks.fd, self.locks.set, UNLOCK_FAMILY)
                    self.inside = False
                    if self.gone:
                        self._give_back()
                    if self.reserve.must_watch:
                        self.reserve.watch()
                    if collecting:
                        gc.enable()
        finally:
            if self.dropped:
                self._settle_for_others()

    def alone(self, body, *arguments):
        """Run `body` while no other thread of this process does the same, or `critical`. What other processes do is no matter."""
        try:
            with self.local:
                collecting = gc.isenabled() and not self.inside
                try:
                    gc.disable()
                    return body(*arguments)
                finally:
                    if collecting:
                        gc.enable()
        finally:
            if self.dropped:
                self._settle_for_others()

    def _settle_for_others(self):
        """Settle what other threads dropped meanwhile, which did not wait for this one."""
        if not self.local._is_owned():
            self.tidy()

    # ------------------------------------------------------------ members
    def _join(self, take, parent=None):
        """Take a number in the family, which `take(number)` locks if it can. Runs in `critical`."""
        for attempt in range(2):
            for member in np.flatnonzero(self.members[:, IN_USE] == 0).tolist():
                back(self.fd, HOLDS + member * BLOCKS, self.header[NEXT_ID] or 1)
                if not take(member):
                    continue
                np.frombuffer(self.rows[member], np.uint8)[:self.header[NEXT_ID]] = 0
                if parent is not None:
                    count = self.header[NEXT_ID]
                    self.rows[member][:count] = self.rows[parent][:count]
                entry = self.members[member]
                entry[PROCESS], entry[SINCE] = os.getpid(), int(time.time())
                entry[BIRTH] += 1
                entry[IN_USE] = 1
                return member
            self._bury(force=True)
        raise system.SharedMemoryLimit(f"shared memory: a family has at most {MEMBERS} processes at a time")

    def living(self) -> list[int]:
        """The numbers of the family's members, some of which may have died since the last sweep."""
        return np.flatnonzero(self.members[:, IN_USE]).tolist()

    def birth(self, member) -> int:
        """Which of the processes that had a member's number in turn it is."""
        return int(self.members[member, BIRTH])

    def lives(self, member, birth) -> bool:
        """Whether a process that had a number is still there. Runs in `critical`."""
        return member == self.member or (self.birth(member) == birth and self._is_there(member))

    def _is_there(self, member):
        """Whether another member's number is locked by it, or for it."""
        return self.locks.promises(member) or lives(self.locks.fd, member)

    def _bury(self, force=False):
        """Take what dead members held and owned from them. Runs in `critical`."""
        now = time.monotonic()
        if not force and now - self.looked < 0.02:
            return
        self.looked = now
        count = self.header[NEXT_ID]
        for member in self.living():
            if member == self.member or self._is_there(member):
                continue
            table = self.all_records[:count]
            theirs = table[:, OWNER] == member + 1
            table[theirs & (table[:, KIND] == RESERVED), KIND] = FREE
            table[theirs, OWNER] = ORPHAN
            self.all_holds[member, :count] = 0
            self.members[member, IN_USE] = 0

    # ------------------------------------------------------------ forks
    def before_fork(self):
        """Make the child a member before it exists, holding what this process holds."""
        self.local.acquire()
        self.locks.before_fork()
        self.settle()
        fcntl.fcntl(self.locks.fd, self.locks.wait, LOCK_FAMILY)
        try:
            self.child = self._join(self.locks.promise, self.member)
            self.child_birth = self.birth(self.child)
        finally:
            fcntl.fcntl(self.locks.fd, self.locks.set, UNLOCK_FAMILY)

    def after_fork_in_parent(self):
        self.child = None
        try:
            self.locks.after_fork_in_parent()
        finally:
            self.local.release()

    def after_fork_in_child(self):
        self.inside = False
        self.free, self.ids, self.gone = {}, [], []      # those are the parent's
        self.reserve = Reserve(self)                     # what waits is the parent's
        self.segment = self.top = self.end = self.backed = 0
        self.taken = self.taken_bytes = self.kept = self.kept_bytes = 0
        self.member, self.child = self.child, None
        self.locks.after_fork_in_child(self.member)
        if self.member is None:                          # there was a limit: this process belongs to no family
            self.ended = True
            return
        self.row = self.rows[self.member]
        self.critical(self._begin)

    def _begin(self):
        """Be the member that was promised. Runs in `critical`."""
        entry = self.members[self.member]
        if entry[BIRTH] != self.child_birth or not entry[IN_USE]:        # what it had from its parent may be another's by now
            os.write(2, b"numtorch: a process ends, whose parent was killed before it had begun\n")
            os._exit(1)
        entry[PROCESS] = os.getpid()

    # ------------------------------------------------------------ holds of this process
    def claim(self, block: int) -> None:
        """Hold a block once more. The caller has `local`, and somebody holds the block already."""
        self.claims[block] = self.claims.get(block, 0) + 1
        self.row[block] = 1

    def drop(self, block: int) -> None:
        """Hold a block once less. Finalisers may call this anywhere."""
        if self.ended:
            return
        self.dropped.append(block)
        if not self.local._is_owned():                   # else whoever has it looks afterwards
            self.tidy()

    def settle(self) -> None:
        """Let go of what finalisers dropped. The caller has `local`."""
        claims, dropped = self.claims, self.dropped
        while dropped:
            block = dropped.popleft()
            count = claims[block] - 1
            if count:
                claims[block] = count
            else:
                del claims[block]
                self.row[block] = 0
                if (self.records[block * 8 + IN_SEGMENT] <= ALONE or self.records[block * 8 + KIND] == CHANNEL) \
                        and not self._is_held_elsewhere(block):
                    self.wants_sweep = True              # large ones are given back at once, and what nobody will receive

    def _is_held_elsewhere(self, block):
        """Whether another member holds a block: it will look for the next one then. Each lets go before it looks, and a call of the
        kernel is between, so of two that let go at once one sees that the other has."""
        for member in self.living():
            row = self.rows[member]
            if member != self.member and row[block] and self._is_there(member) and row[block]:
                return True
        return False

    def tidy(self) -> None:
        """Settle what was dropped, if no other thread is about to, and sweep if that may give much back. It never waits for
        another thread: this one may have a lock that the other, which forks, waits for."""
        while self.dropped or self.wants_sweep:
            if not self.local.acquire(blocking=False):
                return
            try:
                self.settle()
                if self.wants_sweep:
                    self.wants_sweep = False
                    self.critical(self.sweep)
            finally:
                self.local.release()

    # ------------------------------------------------------------ what nobody holds
    def letters(self, channel):
        """The letters that wait in a channel, first to last. Runs in `critical`."""
        letter = self.records[channel * 8 + FIRST]
        while letter:
            yield letter
            letter = self.records[letter * 8 + NEXT]

    def contents(self, letter):
        """The blocks that a letter refers to."""
        mapping, address = self.mapping_of(letter)
        count = ctypes.c_int64.from_address(address).value
        result = list((ctypes.c_int64 * count).from_address(address + 8))
        del mapping                                      # not before: the memory goes with it
        return result

    def used(self, count, besides=None):
        """For each block whether it is in use; what a member `besides` the others holds does not count. Runs in `critical`."""
        members = [member for member in self.living() if member != besides]
        records, used = self.records, self.all_holds[members, :count].any(axis=0)
        channels = np.flatnonzero(used & (self.all_records[:count, KIND] == CHANNEL)).tolist()
        while channels:
            for letter in self.letters(channels.pop()):
                used[letter] = True
                for block in self.contents(letter):
                    if not used[block]:
                        used[block] = True
                        if records[block * 8 + KIND] == CHANNEL:
                            channels.append(block)
        return used

    def sweep(self, force=False) -> None:
        """Free what is not in use. Runs in `critical`.

        Kinds are read before holds: a member that takes a block of its own meanwhile sets its hold first and then the kind.
        """
        self._bury(force)
        count = self.header[NEXT_ID]
        table = self.all_records[:count]
        kinds = table[:, KIND].copy()
        is_locked(self.locks.fd, FAMILY)                 # a call of the kernel between the two orders them on any processor
        in_use = self.used(count)
        owner = self.member + 1
        mine = table[:, OWNER] == owner
        lost = ((kinds == BLOCK) | (kinds == CHANNEL)) & ~in_use
        for block in np.flatnonzero(lost & mine & (table[:, IN_SEGMENT] > ALONE) & (kinds == BLOCK)).tolist():
            table[block, KIND] = RESERVED
            self.free.setdefault(int(table[block, CAPACITY]), []).append(block)
        for block in np.flatnonzero(lost & (kinds == CHANNEL)).tolist():
            table[block, KIND] = FREE
        self._take_back(table, self.reserve.part(table, lost & (kinds == BLOCK) & (table[:, IN_SEGMENT] <= ALONE), force))
        orphans = table[:, OWNER] == ORPHAN
        if orphans.any():
            table[lost & orphans & (kinds == BLOCK), KIND] = FREE
            occupied = set(table[(table[:, KIND] == BLOCK), IN_SEGMENT].tolist())
            empty = [s for s in np.flatnonzero(orphans & (table[:, KIND] == SEGMENTS)).tolist() if s not in occupied]
            self._take_back(table, [*empty, *np.flatnonzero(orphans & (table[:, KIND] == GONE)).tolist()])
        used = mine & (table[:, KIND] == BLOCK)
        self.kept, self.kept_bytes = int(np.count_nonzero(used)), 0
        for capacity in table[used, CAPACITY].tolist():
            self.kept_bytes += capacity
        self.taken = self.taken_bytes = 0
        self._release_segments(table)
        if len(self.ids) > 1024:
            for block in self.ids[1024:]:
                table[block, KIND] = FREE
            del self.ids[1024:]
        there = np.flatnonzero(table[:, KIND])
        self.header[NEXT_ID] = int(there[-1]) + 1 if len(there) else 1

    def _take_back(self, table, blocks):
        """Have this process give back the memory of blocks, after the sweep."""
        for block in blocks:
            table[block, OWNER] = self.member + 1
            table[block, KIND] = GONE
            self.gone.append(int(block))

    def _give_back(self):
        """Give back the memory that the last sweep found. That takes long for large ones, and other processes need not wait."""
        while self.gone:
            record = self.gone[-1] * 8
            if self.records[record + KIND] == GONE and self.records[record + OWNER] == self.member + 1:
                punch(self.fd, self.records[record + PLACE], self.records[record + CAPACITY])
                self.records[record + KIND] = FREE
            self.gone.pop()

    def _release_segments(self, table):
        """Give back the memory of this process's segments in which no block is in use."""
        segments = np.flatnonzero((table[:, OWNER] == self.member + 1) & (table[:, KIND] == SEGMENTS)).tolist()
        occupied = set(table[table[:, KIND] == BLOCK, IN_SEGMENT].tolist())
        empty = [s for s in segments if s not in occupied and not (s == self.segment and self.top - table[s, PLACE] <= LARGE)]
        if not empty:
            return
        gone = set(empty)
        for size, blocks in list(self.free.items()):
            self.ids += [b for b in blocks if table[b, IN_SEGMENT] in gone]
            self.free[size] = [b for b in blocks if table[b, IN_SEGMENT] not in gone]
        for segment in empty:
            punch(self.fd, int(table[segment, PLACE]), SEGMENT)
            if segment == self.segment:
                self.top = self.backed = int(table[segment, PLACE])
            else:
                table[segment, KIND] = RESERVED
                self.ids.append(segment)

    # ------------------------------------------------------------ records and memory
    def more_ids(self, wanted=64) -> None:
        """Take free records for this process. Runs in `critical`."""
        count = self.header[NEXT_ID] or 1                # no block has the number 0
        chosen = np.flatnonzero(self.all_records[1:count, KIND] == FREE)[:wanted].tolist()
        chosen = [c + 1 for c in chosen]
        if not chosen:
            chosen = list(range(count, min(count + wanted, BLOCKS)))
            if not chosen:
                raise system.SharedMemoryLimit(f"shared memory: a family has at most {BLOCKS} shared tensors at a time; join small "
                                               f"ones into one before they are shared")
            back(self.fd, RECORDS + count * 64, len(chosen) * 64)
            for member in self.living():                 # which may get to hold them
                back(self.fd, HOLDS + member * BLOCKS + count, len(chosen))
        for block in chosen:
            self.records[block * 8 + OWNER] = self.member + 1
            self.records[block * 8 + KIND] = RESERVED
        self.header[NEXT_ID] = max(count, chosen[-1] + 1)
        self.ids += reversed(chosen)

    def place(self, size: int) -> int:
        """Where in the file `size` bytes can lie. Runs in `critical`."""
        place = self.header[NEXT_PLACE] or DATA
        if place + size > self.size:
            raise system.SharedMemoryLimit(f"shared memory: what a family shares takes at most {self.size} bytes in its life: the "
                                           f"file system allows no larger files; start the program anew")
        self.header[NEXT_PLACE] = place + size
        return place

    def new_segment(self) -> None:
        """Have a new segment for small blocks. Runs in `critical`."""
        if not self.ids:
            self.more_ids()
        segment, place = self.ids.pop(), self.place(SEGMENT)
        record = segment * 8
        self.records[record + PLACE], self.records[record + CAPACITY] = place, SEGMENT
        self.records[record + KIND] = SEGMENTS
        self.segment, self.top, self.end, self.backed = segment, place, place + SEGMENT, place

    def mapping_of(self, block: int):
        """(mapping, address) of a block: the memory is there as long as the mapping."""
        records, record = self.records, block * 8
        place, segment = records[record + PLACE], records[record + IN_SEGMENT]
        start, size = (records[segment * 8 + PLACE], SEGMENT) if segment > ALONE else (place, records[record + CAPACITY])
        mapping = self.mappings.get(start)
        if mapping is None:
            mapping = self.mappings[start] = Mapping(self.fd, start, size)
        if segment > ALONE:
            if not (self.recent and self.recent[-1] is mapping):
                self.recent.append(mapping)
        return mapping, mapping.address + (place - start)


_heap: list[Heap] = []                                   # this process's, once it has one


def heap() -> Heap:
    """This process's heap; it starts a family where it has none."""
    if _heap:
        return _heap[-1]
    with _starting:
        if not _heap:
            fd = system.anonymous_file()
            try:
                back(fd, 0, MEMBER_TABLE + MEMBERS * 64)
                _heap.append(Heap(fd))
            except BaseException:
                os.close(fd)
                raise
    return _heap[-1]


def join(fd: int) -> None:
    """Belong to the family whose file `fd` is from now on, which is to stay open."""
    with _starting:
        if not any(os.path.sameopenfile(fd, each.fd) for each in _heap[-1:]):
            _heap.append(Heap(fd))


def finish() -> None:
    """This process is about to end by `os._exit`, which calls nothing."""
    for each in _heap:
        each.finish()


def _before_fork():
    for each in _heap:
        each.before_fork()


def _after_fork_in_parent():
    for each in reversed(_heap):
        each.after_fork_in_parent()


def _after_fork_in_child():
    for each in _heap:
        each.after_fork_in_child()
    _heap[:] = [each for each in _heap if not each.ended]


_starting = survive_fork(threading.Lock())
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
