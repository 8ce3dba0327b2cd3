"""CUDA without a GPU: kernels as Python, "device memory" in the host's.

A block's threads take turns at barriers (turns.py), so it is for tests on a handful of elements.
There are two devices, so that mixing them can be tested. Every access is checked: a kernel that is given a host address, or
one of another device, that leaves its block of memory or goes to a word that is not aligned, raises IndexError where a GPU would
crash or read rubbish.
"""
from __future__ import annotations

import bisect
import ctypes
import itertools
import os
import sys
import threading
import time
import weakref

import numpy as np
from numba import cuda
from numba.core.types import Type
from numba.np.numpy_support import as_dtype

from ..pointers import Pointer, as_stored
from .caching import CachingAllocator
from .capture import Capture, active, capturable, keep
from .driver import PROPERTIES
from .environment import THREADS
from .filememory import FileMemory, opened
from .handles import Handle
from .turns import Block, Dim3, running

DEVICES, MEMORY = 2, 1 << 30                             # how many there are, and the bytes of each


class DevicePointer(Pointer):
    """A pointer into a block of device memory, `start` to `end`, that does not leave it."""

    __slots__ = ("start", "end", "words", "first")

    def __init__(self, address, dtype, start, end, words=None, first=0):
        self.address, self.dtype, self.start, self.end = address, dtype, start, end
        self.words, self.first = words, first            # the block as an array, once it is followed, and which element this is

    def _place(self, index):
        """The number of an element in the block's `words`. Raises IndexError where it is not in the block."""
        if self.words is None:
            self._open()
        place = self.first + int(index)
        if not 0 <= place < len(self.words):
            raise IndexError(f"a kernel went to byte {self.address + int(index) * self.dtype.itemsize - self.start} of a block of "
                             f"{self.end - self.start}")
        return place

    def _open(self):
        at, size = self.address - self.start, self.dtype.itemsize
        if self.address % self.dtype.alignment:
            raise IndexError(f"a kernel went to byte {at} of a block, where no {self.dtype.name} begins")
        self.first, before = divmod(at, size)
        count = max(self.end - self.start - before, 0) // size
        self.words = np.frombuffer((ctypes.c_char * (count * size)).from_address(self.start + before), self.dtype, count)

    def __getitem__(self, index):
        place = self._place(index)
        return self.words[place]

    def __setitem__(self, index, value):
        place = self._place(index)
        if type(value) is self.dtype.type:
            self.words[place] = value
        else:
            self.words[place] = as_stored(value, self.dtype)


def _offset(pointer, elements):
    elements = int(elements)
    return DevicePointer(pointer.address + elements * pointer.dtype.itemsize, pointer.dtype, pointer.start, pointer.end,
                         pointer.words, pointer.first + elements)


def _moved(pointer, nbytes):
    return DevicePointer(pointer.address + int(nbytes), pointer.dtype, pointer.start, pointer.end)


def _as_pointer(address, like):
    machine, index = _running
    try:
        start, end = machine.block_of(int(address), index)
    except IndexError:                                   # just behind a block, say: may be made, not followed
        start = end = 0
    return DevicePointer(int(address), like.dtype, start, end)


def _local_array(dtype, count):
    return _Local(np.empty(count, dtype))


def _local_like(pointer, count):
    return _Local(np.empty(count, pointer.dtype))


class _Local(DevicePointer):
    """Memory of one thread."""

    __slots__ = ("array",)

    def __init__(self, array):
        start = array.ctypes.data
        super().__init__(start, array.dtype, start, start + array.nbytes, array)
        self.array = array


# of intrinsics, where pointers into device memory need another
TWINS = {"offset": _offset, "moved": _moved, "as_pointer": _as_pointer, "local_array": _local_array,
         "local_like": _local_like}
_running: list = [None, 0]                               # the simulator and the device that a kernel runs on


# ---------------------------------------------------------------- kernels as Python
class _Shared:
    """A block's shared memory: an array for each line of the source that asks for one. All bits are ones, a NaN of floats, so that
    what is read too early shows. An array of 0 elements is the dynamic shared memory, of `dynamic` bytes."""

    def __init__(self, dynamic=0):
        self.arrays, self.dynamic = {}, dynamic

    def array(self, shape, dtype, alignment=None):
        caller = sys._getframe(1)
        place = caller.f_code, caller.f_lineno
        if place not in self.arrays:
            kind = as_dtype(dtype) if isinstance(dtype, Type) else np.dtype(dtype)
            self.arrays[place] = shared_memory(shape or self.dynamic // kind.itemsize, kind, alignment)
        return self.arrays[place]


def shared_memory(count, dtype, alignment):
    """An array that is aligned to so many bytes, by default an element's, and to no more."""
    alignment, nbytes = alignment or dtype.alignment, count * dtype.itemsize
    room = np.full(nbytes + 2 * alignment, 0xFF, np.uint8)
    start = (alignment - room.ctypes.data) % (2 * alignment)
    return room[start:start + nbytes].view(dtype)


class _Grid:
    """What `cuda` is while a kernel runs; what changes as blocks and threads take turns is set by these.

    Attributes:
        gridDim, blockDim, blockIdx, threadIdx, shared: as in CUDA.
    """

    def __init__(self, grid, block):
        self.gridDim, self.blockDim = Dim3(*grid), Dim3(*block)

    def syncthreads(self):
        running().wait()


class Simulated:
    """A kernel in Python, launched as `kernel[blocks, threads](*arguments)`, where each is a number or up to three.

    Raises:
        what the first thread to fail raises, which the message names as CUDA's registers do (`tid`, `ctaid`); RuntimeError where
        some wait for the block and others for their warps.

    Args:
        shared: bytes of dynamic shared memory of a block.
    """

    def __init__(self, function, shared=0):
        self.function, self.shared = function, shared

    def __getitem__(self, shape):
        grid, block = ((*size, 1, 1)[:3] if isinstance(size, tuple) else (size, 1, 1) for size in shape)
        return lambda *arguments: self._launch(grid, block, arguments)

    def _launch(self, shape, block, arguments):
        grid, scope = _Grid(shape, block), self.function.__globals__
        swapped = {name: value for name, value in scope.items() if value is cuda}
        scope.update(dict.fromkeys(swapped, grid))
        try:
            for z, y, x in itertools.product(*map(range, shape[::-1])):
                grid.blockIdx, grid.shared = Dim3(x, y, z), _Shared(self.shared)
                Block(lambda: self.function(*arguments), grid, grid.blockIdx, block).run()
        finally:
            scope.update(swapped)


# ---------------------------------------------------------------- the machine
class _Opened:
    """A segment of another process's device memory."""

    __slots__ = ("memory", "address", "__weakref__")

    def __init__(self, memory):
        self.memory, self.address = memory, memory.array.ctypes.data


class _Program:
    """Launches, each with its words."""

    def __init__(self, launches):
        self.launches = [[launch, words] for launch, words in launches]

    def set(self, place, words):
        self.launches[place][1] = words

    def run(self):
        for launch, words in self.launches:
            launch(*words)


class _Streams(threading.local):
    """A thread's current streams by device."""

    def __init__(self):
        self.current = {}


class _Blocks:
    """The blocks of a device's memory, found by any address in them as long as somebody holds them."""

    def __init__(self):
        self.held, self.ends, self.starts = weakref.WeakValueDictionary(), {}, []
        self.changing = threading.Lock()

    def add(self, start, end, held):
        with self.changing:
            if len(self.starts) > 2 * len(self.held) + 64:            # most are of blocks that nobody holds any more
                self.starts = sorted(self.held.keys())
                self.ends = {each: self.ends[each] for each in self.starts}
            if start not in self.ends:
                bisect.insort(self.starts, start)
            self.ends[start], self.held[start] = end, held

    def find(self, address):
        """(start, end) of the block that an address lies in, or None."""
        starts = self.starts
        for place in range(bisect.bisect_right(starts, address) - 1, -1, -1):
            if starts[place] in self.held:               # those before it end before it begins
                found = starts[place], self.ends[starts[place]]
                return found if address < found[1] else None
        return None


class Simulator:
    """See runtime.py for what these mean."""

    def __init__(self):
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        there = {str(index) for index in range(DEVICES)}
        named = list(itertools.takewhile(lambda d: d.strip() in there, (visible or "").split(",")))
        self.names = sorted(there) if visible is None else list(dict.fromkeys(d.strip() for d in named))
        self.count = len(self.names)
        self.streams, self.made = _Streams(), itertools.count(1)
        self.one_at_a_time = threading.Lock()            # one block runs at a time
        self.memory = [_Blocks() for _ in range(self.count)]
        self.segments: list[dict] = [{} for _ in range(self.count + 1)]              # address -> memory, by device; then the host's
        self.allocators = [self._allocator(index, MEMORY) for index in range(self.count)]
        self.pinned = self._allocator(self.count, sys.maxsize)

    def describe(self, index):
        return "CUDA simulator", (0, 0)

    def _allocator(self, index, limit):
        segments = self.segments[index]

        def obtain(nbytes):
            if nbytes > limit - sum(len(memory.array) for memory in segments.values()):
                raise MemoryError
            memory = FileMemory(nbytes)
            segments[memory.array.ctypes.data] = memory
            return memory.array.ctypes.data
        return CachingAllocator(obtain, segments.pop, lambda stream: self.record(stream, False, False), self.reached)

    def allocator(self, index):
        return self.allocators[index]

    def allocate(self, nbytes, index):
        held = self.allocators[index].allocate(nbytes, self.current(index))
        self.memory[index].add(held.address, held.address + nbytes, held)
        keep(held)
        return held, held.address

    def host_memory(self, nbytes):
        held = self.pinned.allocate(nbytes, None)
        return held, held.address

    def block_of(self, address, index):
        """Where the block that an address of a device lies in starts and ends. Raises IndexError for other memory."""
        if not address:
            return 0, 0                                  # null: may be passed, not followed
        found = self.memory[index].find(address)
        if found is not None:
            return found
        raise IndexError(f"address {address:#x} is not in the memory of cuda:{index}")

    def copy(self, target, source, nbytes, index, wait=True):
        inside = [(address, blocks.find(address)) for blocks in self.memory for address in (target, source)]
        ends = [(address, found[1]) for address, found in inside if found is not None]
        if not ends or any(address + nbytes > end for address, end in ends):
            raise IndexError(f"a copy of {nbytes} bytes is not within the memory of a device")
        ctypes.memmove(target, source, nbytes)

    def copy_between(self, target, source, nbytes, index, origin):
        self.copy(target, source, nbytes, index)

    def launcher(self, kernel, index, grid):
        def launch(*words):
            pointers = [w if kind is None else DevicePointer(w, kind, *self.block_of(w, index))
                        for w, kind in zip(words, kernel.kinds, strict=True)]
            with self.one_at_a_time:
                _running[:] = self, index
                kernel.python[grid, kernel.threads](*pointers)
        launch.kernel, launch.index = kernel, index
        return capturable(launch)

    def program(self, index, launches):
        return _Program(launches)

    def report(self, index, kernel):
        """The host reads what a call reports after the call, and after the replay of one that is captured."""
        return 0 if active[0] is None else active[0].report(self, index, kernel)

    def explain(self, index, function):
        if active[0] is not None:
            active[0].explain(function)

    def expect(self, index, tensor, function):
        if active[0] is not None:
            active[0].expect(tensor, function)
        return active[0] is not None

    def synchronize(self, index):
        """Kernels have run when their call returns."""

    def memory_info(self, index):
        return MEMORY - self.allocators[index].reserved[0], MEMORY

    def properties(self, index):
        return {**dict.fromkeys(PROPERTIES, 0), "multi_processor_count": 1, "warp_size": THREADS, "max_threads_per_block": THREADS}

    def begin_capture(self, index):
        active[0] = capture = Capture()
        return capture

    def end_capture(self, capture):
        active[0] = None

    def reaches(self, index, other):
        return True

    # ------------------------------------------------------------ other processes
    def identity(self, index):
        return b"simulated " + self.names[index].encode()

    def memory_handle(self, address, index):
        start, _ = self.allocators[index].segment_of(address)
        return self.segments[index][start].handle, address - start

    def open_memory(self, handle, index):
        mapping = _Opened(opened(handle))
        self.memory[index].add(mapping.address, mapping.address + len(mapping.memory.array), mapping)
        return mapping

    def event_handle(self, index):
        return b""

    def wait_handle(self, handle, index):
        """What the other process told its device before has been done."""

    # ------------------------------------------------------------ streams: (device, number); an event is when it was recorded
    def new_stream(self, index, priority):
        return Handle(index, next(self.made))

    def first_stream(self, index):
        return Handle(index, 0)

    def current(self, index):
        return self.streams.current.get(index) or self.first_stream(index)

    def use(self, index, stream):
        self.streams.current[index] = stream

    def record(self, stream, timing, blocking):
        return time.perf_counter()

    def milliseconds(self, first, last):
        return (last - first) * 1e3

    def wait(self, stream, event):
        """What was told before has been done."""

    def finish(self, stream):
        """All has been done."""

    def idle(self, stream):
        return True

    def await_event(self, event):
        """It has been reached."""

    def reached(self, event):
        return True
