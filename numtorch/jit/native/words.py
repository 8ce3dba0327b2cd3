"""What the words of a program's launches point into: arguments, the program's own memory, weights, the descriptors of plans."""
from __future__ import annotations

import ctypes
import gc
import types
from collections import deque
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from ...kernels import compiler
from ...kernels.threads import all_prepared
from ...layout import Layout
from ...storage import Storage
from ...tensor import Tensor
from ..capturing.places import Spans, alive, extents, version

CONSTANT, DATA, WORKSPACE = range(3)                     # bases; behind them inputs, then outputs
INPUTS = 3
SMALL_INTEGER = 1 << 16                                  # no address is as small
ALIGNMENT = 64


class NotExportable(Exception):
    """A word that nobody knows, or something that no library does."""


class Word(NamedTuple):
    """A word of a launch: an offset from a base."""

    base: int
    offset: int

    def moved(self, by: int) -> Word:
        return Word(self.base, self.offset + by)


_NOT_PLANS = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.CodeType, type, compiler.Kernel, str, Layout)


def _arrays(prepared):
    """The NumPy arrays that prepared kernels keep, by address: descriptors, and tables that descriptors have the addresses of."""
    arrays: dict = {}
    pending, seen = list(prepared), set()
    while pending:
        each = pending.pop()
        if id(each) in seen or isinstance(each, _NOT_PLANS):
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            if each.nbytes:
                arrays[each.ctypes.data] = each
        else:
            pending += gc.get_referents(each)
    return arrays


class Data:
    """What a library holds: weights and descriptors.

    Attributes:
        content: its bytes.
        relocations: where these have the address of a place among them, with that place.
    """

    def __init__(self) -> None:
        self.content = bytearray()
        self.relocations: dict[int, int] = {}
        self.placed: dict[int, Word] = {}                # of what is there already, by identity
        self.keep: list = []                             # so that none of these is another thing later


class Memory:
    """All memory that a captured call's words may point into.

    Args:
        blocks: the program's own, as (address, bytes, owner).
        inputs: its arguments.
        versions: of all storages before the call.
        data: what the library holds so far; weights and descriptors are added.

    Attributes:
        workspace: how many bytes the program wants.
    """

    def __init__(self, blocks, inputs, versions, data: Data) -> None:
        self.data = data
        self.inputs = Spans([(*extents(tensor), (tensor, i)) for i, tensor in enumerate(inputs) if isinstance(tensor, Tensor)])
        self.places = Spans([])                          # memory that has a word already
        self.versions, self.workspace = versions, 0
        self.blocks = Spans([(address, size, self.reserve(size)) for address, size, *_ in blocks])
        storages = alive()
        dummy = Storage(1 << 62, 8, None)
        ring = deque([dummy])                            # a storage that nobody has but its ring
        storages.append(dummy)
        dummy = None
        self.storages = Spans([(s.address, s.nbytes, s) for s in storages if s.nbytes])
        del storages
        self.unused = getrefcount(self.storages.find(ring[0].address)[2])
        self.starts = _arrays(all_prepared())
        self.arrays = Spans([(address, array.nbytes, array) for address, array in self.starts.items()])
        self.scratch: dict[int, Word] = {}
        self.copies: list[tuple[Word, Word, int]] = []   # what the workspace begins with

    def reserve(self, size: int) -> int:
        """The offset of so many further bytes of the workspace."""
        at = self.workspace
        self.workspace += -(-size // ALIGNMENT) * ALIGNMENT
        return at

    def words_of(self, count: int) -> Word:
        """So many words of the workspace."""
        return Word(WORKSPACE, self.reserve(8 * count))

    def _embed(self, kept, address, size):
        """Bytes of an object's memory that the library holds from now on."""
        data = self.data
        if id(kept) not in data.placed:
            data.content += b"\0" * (-len(data.content) % ALIGNMENT)
            place = data.placed[id(kept)] = Word(DATA, len(data.content))
            data.content += ctypes.string_at(address, size)
            data.keep.append(kept)
            if isinstance(kept, np.ndarray) and kept.dtype == np.int64:
                self._relocate(place.offset, address, size)
        return data.placed[id(kept)]

    def _relocate(self, place, address, size):
        """Tables that a table has the addresses of are embedded too. An address is that of a kept array's first element."""
        for i, word in enumerate(self.read(address, size // 8)):
            if word >= SMALL_INTEGER and word in self.starts:
                table = self.starts[word]
                self.data.relocations[place + 8 * i] = self._embed(table, word, table.nbytes).offset

    def _own(self, kept, address, size):
        """Memory of a plan's, which its kernel may read and write: a part of the workspace that begins with what is there now."""
        if id(kept) not in self.scratch:
            self.scratch[id(kept)] = Word(WORKSPACE, self.reserve(size))
            self.copies.append((self.scratch[id(kept)], self._embed(kept, address, size), size))
        return self.scratch[id(kept)]

    def descriptor(self, address: int) -> Word:
        """Where a descriptor is, which kernels only read.

        Raises:
            NotExportable: nobody keeps it.
        """
        span = self.arrays.find(address)
        if span is None:
            raise NotExportable("a kernel runs on a description that nobody keeps")
        return self._embed(span[2], span[0], span[1]).moved(address - span[0])

    def locate(self, word: int) -> Word:
        """Where a word points into.

        Raises:
            NotExportable: into nothing that is known.
        """
        if 0 <= word < SMALL_INTEGER:
            return Word(CONSTANT, word)
        span = self.places.find(word)
        if span is not None:
            return span[2].moved(word - span[0])
        span = self.inputs.find(word)
        if span is not None:
            tensor, number = span[2]
            return Word(INPUTS + number, word - tensor.address)
        span = self.blocks.find(word)
        if span is not None:
            return Word(WORKSPACE, span[2] + word - span[0])
        span = self.arrays.find(word)
        if span is not None:
            return self._own(span[2], span[0], span[1]).moved(word - span[0])
        span = self.storages.find(word)
        if span is None:
            raise NotExportable("a kernel is given memory that is no tensor's")
        free = span[2].pooled and getrefcount(span[2]) <= self.unused
        start, size, storage = span
        if free:                                         # scratch memory: nobody keeps anything there
            if id(storage) not in self.scratch:
                self.scratch[id(storage)] = Word(WORKSPACE, self.reserve(size))
            return self.scratch[id(storage)].moved(word - start)
        if version(storage) != self.versions.get(id(storage), 0):
            raise NotExportable("it writes to a tensor that was there before, such as a running mean: call eval(), or return the "
                                "tensor")
        return self._embed(storage, start, size).moved(word - start)

    def read(self, address: int, count: int) -> list[int]:
        """Words that a plan has written down."""
        return list((ctypes.c_int64 * count).from_address(address))

    def array_at(self, address: int) -> Any:
        """The words from an address to the end of the plan's array there."""
        span = self.arrays.find(address)
        if span is None:
            raise NotExportable("a kernel runs on a description that nobody keeps")
        return self.read(address, (span[0] + span[1] - address) // 8)
