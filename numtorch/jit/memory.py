"""What a captured call takes its memory from: blocks of its own, used again as its tensors die, as in eager calls."""
from __future__ import annotations

import ctypes
from sys import getrefcount

from ..devices import cpu
from ..finalisers import LAST
from ..storage import ALIGNMENT, Storage, _new_block


class Memory:
    """The blocks of one program.

    Attributes:
        blocks: (address, bytes, owner) of each.
        alive: the storages that are in use, by identity, as (address, bytes).
        elsewhere: whether memory of another device was asked for.
    """

    def __init__(self) -> None:
        self.blocks: list[tuple] = []
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
        storage = CapturedStorage(address, like.nbytes, owner)
        storage.home, storage.size = self, size
        self.alive[id(storage)] = address, size
        return storage

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

    __slots__ = ("home", "size")

    def __del__(self):
        home = self.home
        if home.alive.pop(id(self), None) is not None and home.open and getrefcount(self) <= LAST:
            home.free.setdefault(self.size, []).append((self.owner, self.address))
