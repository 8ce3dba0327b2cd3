"""CUDA without a GPU: kernels as Python in the simulator that comes with Numba, "device memory" in the host's.

It runs a block's threads as Python threads that take turns at barriers, so it is for tests on a handful of elements.
There are two devices, so that mixing them can be tested. Every access is checked: a kernel that is given a host address, or
one of another device, or that leaves its block of memory, raises IndexError where a GPU would crash or read rubbish.
"""
from __future__ import annotations

import ctypes
import threading
import weakref

import numpy as np

from ..pointers import Pointer
from .environment import THREADS

ALIGNMENT = 256                                          # as the driver's allocator has it


class DevicePointer(Pointer):
    """A pointer into a block of device memory, `start` to `end`, that does not leave it."""

    __slots__ = ("start", "end")

    def __init__(self, address, dtype, start, end):
        super().__init__(address, dtype)
        self.start, self.end = start, end

    def _view(self, index):
        at = self.address + int(index) * self.dtype.itemsize
        if not self.start <= at <= self.end - self.dtype.itemsize:
            raise IndexError(f"a kernel went to byte {at - self.start} of a block of {self.end - self.start}")
        return super()._view(index)


def _offset(pointer, elements):
    return DevicePointer(pointer.address + int(elements) * pointer.dtype.itemsize, pointer.dtype, pointer.start, pointer.end)


def _moved(pointer, nbytes):
    return DevicePointer(pointer.address + int(nbytes), pointer.dtype, pointer.start, pointer.end)


def _as_pointer(address, like):
    machine, index = _running
    try:
        start, end = machine.block_of(int(address), index)
    except IndexError:                                   # just behind a block, say: may be made, not followed
        start = end = 0
    return DevicePointer(address, like.dtype, start, end)


def _local_array(dtype, count):
    return _Local(np.empty(count, dtype))


def _local_like(pointer, count):
    return _Local(np.empty(count, pointer.dtype))


class _Local(DevicePointer):
    """Memory of one thread."""

    __slots__ = ("array",)

    def __init__(self, array):
        start = array.ctypes.data
        super().__init__(start, array.dtype, start, start + array.nbytes)
        self.array = array


# of intrinsics, where pointers into device memory need another
TWINS = {"offset": _offset, "moved": _moved, "as_pointer": _as_pointer, "local_array": _local_array,
         "local_like": _local_like}
_running: list = [None, 0]                               # the simulator and the device that a kernel runs on


class Simulator:
    """See runtime.py for what these mean."""

    count = 2

    def __init__(self):
        self.one_at_a_time = threading.Lock()            # Numba's simulator has one grid
        self.memory = [weakref.WeakValueDictionary() for _ in range(self.count)]     # (start, end) -> block, by device

    def describe(self, index):
        return "Numba CUDA simulator", (0, 0)

    def allocate(self, nbytes, index):
        block = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = block.ctypes.data + -block.ctypes.data % ALIGNMENT
        self.memory[index][start, start + nbytes] = block
        return block, start

    def block_of(self, address, index):
        """Where the block that an address of a device lies in starts and ends. Raises IndexError for other memory."""
        if not address:
            return 0, 0                                  # null: may be passed, not followed
        for start, end in list(self.memory[index]):
            if start <= address < end:
                return start, end
        raise IndexError(f"address {address:#x} is not in the memory of cuda:{index}")

    def copy(self, target, source, nbytes, index):
        inside = [(address, end) for blocks in self.memory for start, end in list(blocks) for address in (target, source)
                  if start <= address < end]
        if not inside or any(address + nbytes > end for address, end in inside):
            raise IndexError(f"a copy of {nbytes} bytes is not within the memory of a device")
        ctypes.memmove(target, source, nbytes)

    def launcher(self, kernel, index, grid):
        def call(*words):
            pointers = [w if kind is None else DevicePointer(w, kind, *self.block_of(w, index))
                        for w, kind in zip(words, kernel.kinds, strict=True)]
            with self.one_at_a_time:
                _running[:] = self, index
                kernel.python[grid, THREADS](*pointers)
        return call

    def synchronize(self, index):
        """Kernels have run when their call returns."""
