"""What a captured call takes its memory from: blocks of its own, used again as its tensors die, as in eager calls. How long each of
these lives is written down, and `pack` gives each that is dead at the end its place in one block."""
from __future__ import annotations

import bisect
import ctypes
from sys import getrefcount
from typing import Any

from ...devices import cpu
from ...finalisers import LAST
from ...storage import ALIGNMENT, Storage, _new_block, _unversioned, mode

_EVER = 1 << 60


def offsets_of(sizes, first, last) -> tuple[list[int], int]:
    """Places in one block, such that what lives at one time does not overlap: the largest first, each at the lowest place that is
    free (Pisarchyk and Lee 2020, greedy by size).

    Args:
        sizes: bytes of each.
        first, last: the times from which and to which each lives.

    Returns:
        The offsets, and the bytes of the block.
    """
    placed: list[tuple] = []                             # in order of place: where each begins and ends, and when
    offsets, end = [0] * len(sizes), 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        size, born, dead, offset = sizes[i], first[i], last[i], 0
        for low, high, since, until in placed:
            if since <= dead and born <= until:
                if offset + size <= low:
                    break
                offset = max(offset, high)
        offsets[i] = offset
        bisect.insort(placed, (offset, offset + size, born, dead))
        end = max(end, offset + size)
    return offsets, end


class Life:
    """A storage of a captured call.

    Attributes:
        address, size: of it.
        born, dead: the numbers of the items (capture.py) before which it was taken and let go.
        moved: where it is in a replay.
    """

    __slots__ = ("address", "size", "born", "dead", "moved")

    def __init__(self, address, size, born) -> None:
        self.address, self.size, self.born, self.dead, self.moved = address, size, born, _EVER, None


class Memory:
    """The blocks of one program.

    Attributes:
        blocks: (address, bytes, owner) of each.
        lives: of all storages, by the addresses of their blocks, in order.
        items: what is written down of the call; its length is the time.
        captured: bytes of all blocks before they were packed.
        before: bytes of the program of which passes made this one; 0 where none did.
        alive: the storages that are in use, by identity, as (address, bytes).
        elsewhere: whether memory of another device was asked for.
    """

    def __init__(self) -> None:
        self.blocks: list[tuple] = []
        self.lives: dict[int, list[Life]] = {}
        self.items: list = []
        self.captured = self.before = 0
        self.free: dict[int, list] = {}
        self.alive: dict[int, tuple] = {}
        self.elsewhere, self.open = False, True

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks."""
        return sum(size for _, size, _ in self.blocks)

    def take(self, like) -> Storage:
        """A storage of as many bytes as another.

        Args:
            like: the storage that an eager call would have.
        """
        if like.device is not cpu:
            self.elsewhere = True
            return like
        size = max(-(-like.nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        waiting = self.free.get(size)
        if waiting:
            owner, address = waiting.pop()
        else:
            owner, address = _new_block(size)
            self.blocks.append((address, size, owner))
        storage = (InferenceStorage if mode.inference else CapturedStorage)(address, like.nbytes, owner)
        storage.home, storage.size, storage.life = self, size, Life(address, size, len(self.items))
        self.lives.setdefault(address, []).append(storage.life)
        self.alive[id(storage)] = address, size
        return storage

    def pack(self) -> None:
        """Give what is dead by now its place in one block, and let go of those that nothing is left in."""
        self.captured = self.nbytes
        lives = [life for block in self.lives.values() for life in block]
        moving = [life for life in lives if life.dead != _EVER]
        offsets, size = offsets_of([life.size for life in moving], [life.born for life in moving],
                                   [life.dead - 1 for life in moving])
        staying = {life.address for life in lives if life.dead == _EVER}
        self.blocks = [block for block in self.blocks if block[0] in staying]
        if size:
            owner, start = _new_block(size)
            self.blocks.append((start, size, owner))
            for life, offset in zip(moving, offsets):
                life.moved = start + offset

    def release(self, addresses) -> None:
        """Let go of blocks.

        Args:
            addresses: theirs, of tensors that get memory of their own at each replay.
        """
        self.blocks[:] = [block for block in self.blocks if block[0] not in addresses]

    def moved(self, block: int, word: int, time: int) -> Any:
        """Where a word points in a replay that pointed into a block at some time of the call; None where nothing lived there then.

        Args:
            block: the block's address.
            word: the word.
            time: the number of the item that it is of.
        """
        for life in self.lives[block]:
            if life.born <= time < life.dead:
                return word if life.moved is None else life.moved + word - block
        return None

    def poison(self) -> None:
        """Fill all blocks with NaN."""
        for address, size, _ in self.blocks:
            ctypes.memset(address, 255, size)

    def close(self) -> None:
        """Give out nothing any more, and take nothing back."""
        self.open = False
        self.free.clear()


class CapturedStorage(Storage):
    """Memory that a captured call made a tensor in."""

    __slots__ = ("home", "size", "life")

    def __del__(self):
        home = self.home
        if home.alive.pop(id(self), None) is not None and home.open and getrefcount(self) <= LAST:
            self.life.dead = len(home.items)
            home.free.setdefault(self.size, []).append((self.owner, self.address))


InferenceStorage = _unversioned(CapturedStorage)
