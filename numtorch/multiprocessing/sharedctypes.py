"""Values and arrays of C types in the family's memory. Python's lie in files in /dev/shm, one descriptor each."""
from __future__ import annotations

import ctypes
from multiprocessing.sharedctypes import rebuild_ctype, synchronized, typecode_to_type

from ..shared.blocks import Block, allocate, found_again
from ..shared.heap import heap


class _Memory:
    """What Python's `rebuild_ctype` makes a C type's object over."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def create_memoryview(self):
        """The block's bytes."""
        return memoryview((ctypes.c_char * self.block.nbytes).from_address(self.block.address)).cast("B")

    def _reduce_shared(self, pickler):
        pickler.blocks.append(self.block)
        return _rebuild, self.block.handle()


def _rebuild(*handle):
    return _Memory(found_again(heap(), *handle))


def _zeros(kind):
    block = allocate(ctypes.sizeof(kind))
    ctypes.memset(block.address, 0, block.nbytes)
    return rebuild_ctype(kind, _Memory(block), None)


def RawValue(typecode_or_type, *args):
    """A C type's object, made with `args`. Nothing keeps processes from writing at the same time."""
    made = _zeros(typecode_to_type.get(typecode_or_type, typecode_or_type))
    made.__init__(*args)
    return made


def RawArray(typecode_or_type, size_or_initializer):
    """An array of a C type: so many zeros, or these values. Nothing keeps processes from writing at the same time."""
    kind = typecode_to_type.get(typecode_or_type, typecode_or_type)
    if isinstance(size_or_initializer, int):
        return _zeros(kind * size_or_initializer)
    made = _zeros(kind * len(size_or_initializer))
    made.__init__(*size_or_initializer)
    return made


def locked(made, lock, ctx):
    """A C type's object with a lock: one of its own when True or None, none when False."""
    if lock is False:
        return made
    if lock is True or lock is None:
        lock = ctx.RLock()
    if not hasattr(lock, "acquire"):
        raise AttributeError(f"{lock!r} has no method 'acquire'")
    return synchronized(made, lock, ctx)
