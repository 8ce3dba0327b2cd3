"""A caching allocator of device memory: what is freed is given out again, in the order of its stream, without a word to the device.

Memory comes from the driver in segments of whole megabytes, which are cut into blocks. A block that is freed belongs to its
stream again at once: whatever that stream is told from then on comes after what it was told before. A block that other streams were
told to use (`use_on`) waits until they have got there. Freed blocks are kept by their size, since a program asks for the same sizes
again and again; they are joined with their neighbours when no block is large enough. The driver gets memory back only by `release`,
or when it has no more: that waits for the device. Sizes are PyTorch's: blocks of whole 512 bytes, small ones in segments of 2 MiB,
middling ones in segments of 20 MiB, large ones in their own.
"""
from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections import deque

UNIT, SMALL, MIDDLE = 512, 1 << 20, 10 << 20             # bytes of which blocks are multiples; up to which they are small, middling
SMALL_SEGMENT, SEGMENT, WHOLE = 2 << 20, 20 << 20, 2 << 20


class _Block:
    """A piece of a segment. `before` and `behind` are its neighbours there."""

    __slots__ = ("address", "size", "pool", "before", "behind", "free", "streams")

    def __init__(self, address, size, pool, before=None, behind=None):
        self.address, self.size, self.pool, self.before, self.behind = address, size, pool, before, behind
        self.free, self.streams = False, None


class Held:
    """A block that somebody has; it goes back when this dies.

    Attributes:
        address, size: where it is, and its bytes.
    """

    __slots__ = ("address", "size", "_block", "_returned", "__weakref__")

    def __init__(self, block, returned):
        self.address, self.size, self._block, self._returned = block.address, block.size, block, returned

    def __del__(self):
        self._returned.append(self._block)               # a finaliser may run anywhere, also inside the allocator

    def use_on(self, stream) -> None:
        """Say that another stream is told to use it."""
        self._block.streams = (self._block.streams or set()) | {stream}


class _Pool:
    """The free blocks of a stream, small or large, by size and address; and by size those that have not been joined."""

    __slots__ = ("stream", "small", "order", "blocks", "kept")

    def __init__(self, stream, small):
        self.stream, self.small, self.order, self.blocks, self.kept = stream, small, [], {}, {}

    def add(self, block):
        block.free = True
        insort(self.order, (block.size, block.address))
        self.blocks[block.address] = block

    def take(self, block):
        block.free = False
        del self.order[bisect_left(self.order, (block.size, block.address))], self.blocks[block.address]


class CachingAllocator:
    """The memory of one device.

    Args:
        obtain: `obtain(nbytes)` gives the address of so much of the device's memory; raises MemoryError.
        give_back: `give_back(address)`, once the device has done all it was told.
        record: `record(stream)` gives an event.
        reached: `reached(event)` says whether it has been reached.

    Attributes:
        reserved, peak, obtained: bytes and segments that the driver has given: now, at most since `reset_peak`, and altogether
            since `reset_obtained`; `before` is what it had given by then.
        retries, failures: how often, since, the driver had no more until cached segments went back to it, and even then.
    """

    def __init__(self, obtain, give_back, record, reached):
        self._obtain, self._give_back, self._record, self._reached = obtain, give_back, record, reached
        self._lock, self._pools = threading.Lock(), {}
        self._returned: deque = deque()                  # blocks that were freed since the last call
        self._waiting: deque = deque()                   # (events, block): until other streams are done
        self._segments: dict[int, int] = {}              # bytes by address
        self.reserved, self.peak = [0, 0], [0, 0]
        self.reset_obtained()

    def allocate(self, nbytes, stream) -> Held:
        """A block for what a stream will be told to do. Raises MemoryError."""
        size = (nbytes + UNIT - 1) // UNIT * UNIT or UNIT
        with self._lock:
            if self._returned or self._waiting:
                self._collect()
            pool = self._pools.get((stream, size <= SMALL))
            if pool is None:
                pool = self._pools[stream, size <= SMALL] = _Pool(stream, size <= SMALL)
            kept = pool.kept.get(size)
            if kept:
                return Held(kept.pop(), self._returned)
            block = self._fitting(size, pool)
            if block is None and pool.kept:
                self._join_kept(pool)
                block = self._fitting(size, pool)
            if block is None:
                block = self._new_segment(size, pool)
            rest = block.size - size
            if rest >= UNIT if pool.small else rest > SMALL:
                behind = _Block(block.address + size, rest, pool, block, block.behind)
                if block.behind is not None:
                    block.behind.before = behind
                block.size, block.behind = size, behind
                pool.add(behind)
            return Held(block, self._returned)

    def _fitting(self, size, pool):
        """The smallest free block that is large enough, or None."""
        at = bisect_left(pool.order, (size, 0))
        if at == len(pool.order):
            return None
        block = pool.blocks[pool.order[at][1]]
        pool.take(block)
        return block

    def _new_segment(self, size, pool):
        nbytes = SMALL_SEGMENT if pool.small else SEGMENT if size < MIDDLE else -(-size // WHOLE) * WHOLE
        try:
            address = self._obtain(nbytes)
        except MemoryError:
            self._release()
            self.retries += 1
            try:
                address = self._obtain(nbytes)
            except MemoryError:
                self.failures += 1
                raise
        self._segments[address] = nbytes
        for which, amount in enumerate((nbytes, 1)):
            self.reserved[which] += amount
            self.obtained[which] += amount
            self.peak[which] = max(self.peak[which], self.reserved[which])
        return _Block(address, nbytes, pool)

    # ------------------------------------------------------------ blocks come back
    def _collect(self):
        while self._returned:
            block = self._returned.popleft()
            others = block.streams and {s for s in block.streams if s != block.pool.stream}
            block.streams = None
            if others:
                self._waiting.append(([self._record(stream) for stream in others], block))
            else:
                self._keep(block)
        for _ in range(len(self._waiting)):
            events, block = self._waiting.popleft()
            if all(self._reached(event) for event in events):
                self._keep(block)
            else:
                self._waiting.append((events, block))

    def _keep(self, block):
        kept = block.pool.kept.get(block.size)
        if kept is None:
            kept = block.pool.kept[block.size] = []
        kept.append(block)

    def _join_kept(self, pool):
        kept, pool.kept = pool.kept, {}
        for blocks in kept.values():
            for block in blocks:
                self._join(block)

    def _join(self, block):
        """Put a block among the free ones, as one with free neighbours."""
        pool = block.pool
        if block.before is not None and block.before.free:
            pool.take(block.before)
            block.before.size, block.before.behind = block.before.size + block.size, block.behind
            block = block.before
            if block.behind is not None:
                block.behind.before = block
        behind = block.behind
        if behind is not None and behind.free:
            pool.take(behind)
            block.size, block.behind = block.size + behind.size, behind.behind
            if block.behind is not None:
                block.behind.before = block
        pool.add(block)

    def _release(self):
        self._collect()
        for pool in self._pools.values():
            self._join_kept(pool)
            for block in list(pool.blocks.values()):
                if block.before is None and block.behind is None:
                    pool.take(block)
                    self._give_back(block.address)
                    self.reserved[0] -= self._segments.pop(block.address)
                    self.reserved[1] -= 1

    def release(self) -> None:
        """Give segments of which nothing is used back to the driver."""
        with self._lock:
            self._release()

    def reset_peak(self) -> None:
        """Count the most that the driver has given anew."""
        self.peak = list(self.reserved)

    def reset_obtained(self) -> None:
        """Count anew what the driver gives altogether, and how often it has no more."""
        self.obtained, self.before, self.retries, self.failures = [0, 0], list(self.reserved), 0, 0

    def segment_of(self, address) -> tuple[int, int]:
        """Where the segment that an address lies in begins, and its bytes. Raises LookupError for memory of others."""
        for start, nbytes in list(self._segments.items()):
            if start <= address < start + nbytes:
                return start, nbytes
        raise LookupError(f"address {address:#x} is of no segment")
