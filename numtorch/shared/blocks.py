"""Blocks of shared memory: taken, held by this process, found again by those who are told of them."""
from __future__ import annotations

import contextlib

from ..finalisers import Finaliser
from . import system
from .heap import Heap, heap
from .tables import AGAIN, ALONE, BACKED, BLOCK, CAPACITY, CHANNEL, GENERATION, IN_SEGMENT, KIND, LARGE, NEXT_ID, OWNER, PLACE


class Hold:
    """A hold of this process on a block, until nothing refers to it."""

    __slots__ = ("number", "end")

    def __init__(self, heap, number):
        self.number, self.end = number, Finaliser(_drop, heap, number)


def _drop(heap, number):
    heap.drop(number)


class Block:
    """A block of shared memory that this process holds. Handles that come lead to it by a weak reference.

    Attributes:
        heap, number, generation: which record, and which use of it.
        address, nbytes: where it is in this process, and what was asked for.
        warm: whether its memory is there, and this process's, from an earlier use.
    """

    __slots__ = ("heap", "number", "generation", "address", "nbytes", "hold", "mapping", "before", "warm", "__weakref__")

    def handle(self):
        """What finds the block in another process that holds it."""
        return self.number, self.generation, self.nbytes


def size_class(nbytes: int) -> int:
    """The bytes that a block of the same list has: multiples of 64, and four sizes between powers of two from 512 up."""
    if nbytes <= 512:
        return max(64, -(-nbytes // 64) * 64)
    step = 1 << (nbytes - 1).bit_length() - 3
    return -(-nbytes // step) * step


def allocate(nbytes: int) -> Block:
    """A new block of this process, whose bytes may be anything."""
    block = _allocate(nbytes)
    if nbytes > LARGE and not block.warm:
        _fill(block, system.back, nbytes)
    return block


def _fill(block, function, *arguments):
    """Have memory for a large block, by a function of the file and a place in it. Where there is none, again when what nobody holds
    has been given back."""
    home = block.heap
    place = home.records[block.number * 8 + PLACE]
    with contextlib.suppress(system.SharedMemoryLimit):
        return function(home.fd, place, *arguments)
    home.critical(home.sweep, True)
    return function(home.fd, place, *arguments)


def _allocate(nbytes):
    """A block; of a large one that is not warm the memory may be missing, which `system.write` finds as well."""
    home = heap()
    if nbytes > LARGE:
        return home.critical(_take_large, home, nbytes)
    size, limited = size_class(nbytes), False
    while True:
        try:
            result = home.alone(_take, home, size, nbytes)
        except system.SharedMemoryLimit:
            if limited:
                raise
            result, limited = None, True
        if result is not None:
            break
        home.critical(_refill, home, size, limited)
    if home.dropped or home.wants_sweep:
        home.tidy()
    return result


def allocate_copy(address: int, nbytes: int) -> Block:
    """A new block with a copy of what lies at an address."""
    block = _allocate(nbytes)
    if nbytes > LARGE and not block.warm:
        _fill(block, system.write, address, nbytes)
    else:
        system.copy(block.address, address, nbytes)
    return block


def allocate_over(address: int, nbytes: int, owner) -> Block:
    """A new block with a copy of what lies at an address, and in its place: whole pages of memory that are their owner's."""
    block = allocate_copy(address, nbytes)
    block.heap.alone(_put_over, block, address, owner)
    return block


def _put_over(block, address, owner):
    home, record = block.heap, block.number * 8
    place, capacity = home.records[record + PLACE], home.records[record + CAPACITY]
    block.mapping = home.mappings[place] = system.MappingOver(home.fd, place, capacity, address, owner)
    block.address = address


def _take(home: Heap, size, nbytes):
    """A block of this process's segments, or None where there is none. The caller has `local`."""
    records, free = home.records, home.free.get(size)
    if free:
        number = free.pop()
    elif home.ids and home.top + size <= home.end and home.taken < max(256, home.kept) \
            and home.taken_bytes < max(LARGE, home.kept_bytes):
        if home.top + size > home.backed:
            _back_to(home, home.top + size)
        number = home.ids.pop()
        record = number * 8
        records[record + PLACE], records[record + CAPACITY], records[record + IN_SEGMENT] = home.top, size, home.segment
        home.top += size
        home.taken += 1
        home.taken_bytes += size
    else:
        return None
    return _begin(home, number, nbytes)


def _back_to(home, place):
    """Have memory up to a place in the segment, and a little more: that there is none is said here, and not by a signal when
    something is written there. The caller has `local`."""
    place = min(home.end, max(place, home.backed + BACKED))
    system.back(home.fd, home.backed, place - home.backed)
    home.backed = place


def _begin(home, number, nbytes):
    """Hold a block that has a place. Its kind is written last: from then on it is somebody's."""
    block, record = Block(), number * 8
    home.records[record + GENERATION] += 1
    block.number, block.generation, block.nbytes = number, home.records[record + GENERATION], nbytes
    block.mapping, block.address = home.mapping_of(number)
    block.before, block.warm = None, False
    block.heap, block.hold = home, held(home, number)
    home.records[record + KIND] = BLOCK
    home.blocks[number, block.generation] = block
    return block


def _refill(home, size, force):
    """Sweep, and take more of what is then missing. Runs in `critical`."""
    home.settle()
    home.sweep(force)
    if home.free.get(size):
        return
    if not home.ids:
        home.more_ids()
    if home.top + size > home.end:
        home.new_segment()
        if not home.ids:
            home.more_ids()


def _take_large(home, nbytes):
    home.settle()
    records, capacity = home.records, -(-nbytes // system.PAGE) * system.PAGE
    again = home.reserve.takes_again(capacity)
    number = home.reserve.find(capacity) if again else None
    if number is None:
        if not home.ids:
            home.more_ids()
        number = home.ids.pop()
        record = number * 8
        records[record + PLACE], records[record + CAPACITY] = home.place(capacity), capacity
        records[record + IN_SEGMENT] = AGAIN if again else ALONE
    block = _begin(home, number, nbytes)
    block.warm = again and home.reserve.keep(number, block.mapping)
    return block


def still_held(names, besides: bool = False) -> list[bool]:
    """Whether a block is in use, for each (number, generation): by a process that lives, or by a letter that waits for one.

    Args:
        besides: whether holds of this process do not count.
    """
    home = heap()
    return home.critical(_still_held, home, names, besides)


def _still_held(home, names, besides):
    home.settle()
    home._bury(True)
    used = home.used(home.header[NEXT_ID], home.member if besides else None)
    return [number < len(used) and bool(used[number]) and home.records[number * 8 + GENERATION] == generation
            for number, generation in names]


def found_again(home: Heap, number: int, generation: int, nbytes: int) -> Block:
    """The block that a handle names. This process holds it already, by what brought the handle.

    Raises:
        RuntimeError: the block was given back: the handle was used without being held.
    """
    return home.alone(_find, home, number, generation, nbytes)


def _find(home, number, generation, nbytes):
    block = home.blocks.get((number, generation))
    if block is not None:
        return block
    record = number * 8
    if not home.row[number] or home.records[record + GENERATION] != generation or home.records[record + KIND] != BLOCK:
        raise RuntimeError("shared memory: a tensor's handle came without its memory, which was given back; send tensors through "
                           "numtorch.multiprocessing")
    block = Block()
    block.number, block.generation, block.nbytes, block.before, block.warm = number, generation, nbytes, None, False
    block.mapping, block.address = home.mapping_of(number)
    if home.records[record + IN_SEGMENT] == AGAIN:
        home.reserve.keep(number, block.mapping)
    block.heap, block.hold = home, held(home, number)
    home.blocks[number, generation] = block
    return block


def new_channel_record(home: Heap) -> Hold:
    """A record that is a channel's, which this process holds. Runs in `critical`."""
    home.settle()
    if not home.ids:
        home.more_ids()
    number = home.ids.pop()
    record = number * 8
    home.records[record + GENERATION] += 1
    for word in range(8):
        if word not in (KIND, GENERATION, OWNER):
            home.records[record + word] = 0
    hold = held(home, number)
    home.records[record + KIND] = CHANNEL
    return hold


def held(home: Heap, number: int) -> Hold:
    """One hold more on a record that this process holds, or that nobody has yet. Runs in `alone` or `critical`."""
    home.claim(number)
    return Hold(home, number)
