"""What a captured call takes its memory from: blocks of its own, used again as its tensors die, as in eager calls. How long each of
these lives is written down, and `pack` gives each that is dead at the end its place in one block."""
from __future__ import annotations

import bisect
from sys import getrefcount
from typing import Any

from ...devices import cpu
from ...finalisers import LAST
from ...storage import ALIGNMENT, Storage, _allocation, _LargeStorage, _new_block, _unversioned, mode
from .contents import put_bytes

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
        device: where that is.
        born, dead: the numbers of the items (capture.py) before which it was taken and let go.
        moved: where it is in a replay.
    """

    __slots__ = ("address", "size", "device", "born", "dead", "moved")

    def __init__(self, address, size, born, device=cpu) -> None:
        self.address, self.size, self.device, self.born, self.dead, self.moved = address, size, device, born, _EVER, None


class Memory:
    """The blocks of one program.

    Args:
        on_device: what watches launches on devices (ondevice.py), whose memory is followed; None where there is no such watch.

    Attributes:
        blocks: (address, bytes, owner, device) of each.
        lives: of all storages, by the addresses of their blocks, in order.
        items: what is written down of the call; its length is the time.
        captured: bytes of all blocks before they were packed.
        before: bytes of the program of which passes made this one; 0 where none did.
        alive: the storages that are in use, by identity, as (address, bytes).
        elsewhere: whether memory of another device was asked for, where that is not followed.
    """

    def __init__(self, on_device: Any = None) -> None:
        self.on_device = on_device
        self.blocks: list[tuple] = []
        self.lives: dict[int, list[Life]] = {}
        self.items: list = []
        self.captured = self.before = 0
        self.free: dict[tuple, list] = {}
        self.alive: dict[int, tuple] = {}
        self.elsewhere, self.open = False, True

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks."""
        return sum(size for _, size, _, _ in self.blocks)

    def take(self, like) -> Storage:
        """A storage of as many bytes as another.

        Args:
            like: the storage that an eager call would have.
        """
        device = like.device
        if device is not cpu and self.on_device is None:
            self.elsewhere = True
            return like
        if isinstance(like, CapturedStorage) and like.home is self:          # memory without a ring is asked for twice
            return like
        size = max(-(-like.nbytes // ALIGNMENT) * ALIGNMENT, ALIGNMENT)
        room = size if device is cpu else max(like.nbytes, 1)        # the simulator knows where what was asked for ends
        waiting = self.free.get((room, device))
        if waiting:
            owner, address = waiting.pop()
        else:
            owner, address = like.owner, like.address
            if device is not cpu:
                self.on_device.held.pop(address, None)
            elif isinstance(like, _LargeStorage) and not like.pooled:
                owner = like                             # nobody else's, and of pages that are there already
            else:
                owner, address = _new_block(size)
            self.blocks.append((address, size, owner, device))
        storage = (InferenceStorage if mode.inference else CapturedStorage)(address, like.nbytes, owner, device)
        storage.home, storage.size, storage.life = self, room, Life(address, size, len(self.items), device)
        self.lives.setdefault(address, []).append(storage.life)
        self.alive[id(storage)] = address, size
        return storage

    def hold(self, storage) -> None:
        """Have nothing else where a storage of the program is, though its tensors may die.

        Args:
            storage: it.
        """
        self.alive.pop(id(storage), None)

    def pack(self) -> None:
        """Give what is dead by now its place in one block, and let go of those that nothing is left in."""
        self.captured = self.nbytes
        lives = [life for block in self.lives.values() for life in block]
        staying = {life.address for life in lives if life.dead == _EVER}
        self.blocks = [block for block in self.blocks if block[0] in staying]
        for device in {life.device: None for life in lives}:
            moving = [life for life in lives if life.dead != _EVER and life.device is device]
            offsets, size = offsets_of([life.size for life in moving], [life.born for life in moving],
                                       [life.dead - 1 for life in moving])
            if size:
                owner, start = _new_block(size) if device is cpu else _block_on(device, size)
                self.blocks.append((start, size, owner, device))
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
        for address, size, _, device in self.blocks:
            put_bytes(address, b"\xff" * size, device)

    def close(self) -> None:
        """Give out nothing any more, and take nothing back."""
        self.open, self.on_device = False, None          # which leads to all that the call did
        self.free.clear()


def _block_on(device, size):
    storage = _allocation(device)(size)
    return storage.owner, storage.address


class CapturedStorage(Storage):
    """Memory that a captured call made a tensor in."""

    __slots__ = ("home", "size", "life")

    def __del__(self):
        home = self.home
        if home.alive.pop(id(self), None) is not None and home.open and getrefcount(self) <= LAST:
            self.life.dead = len(home.items)
            home.free.setdefault((self.size, self.device), []).append((self.owner, self.address))


InferenceStorage = _unversioned(CapturedStorage)
