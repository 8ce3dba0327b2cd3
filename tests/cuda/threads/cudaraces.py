"""Which accesses of a simulated kernel's threads are in no order on a GPU: what compute-sanitizer's racecheck says of shared memory, and
the same of a device's memory, where blocks meet too.

The simulator runs one thread at a time, so that a race shows in a result by luck alone. Here each access is held against the ones
before it of the same bytes: two threads of a block are in order where a barrier of the block, or of their warp, lies between; threads
of two blocks never are. Additions and exchanges that are atomic have an order of their own. A write that leaves what was there, as a
status is written by whoever finds something, changes nothing for anybody.
"""
from __future__ import annotations

import linecache
import sys

import numpy as np

ATOMIC = ("add_at", "add_to_shared", "replaced")         # twins by name (shared/atomics.py)
INSIDE = __name__, *(f"numtorch.kernels.cuda.{name}" for name in ("warps", "shared.vectors", "shared.atomics"))      # of twins


class _Cell:
    """Two bytes of memory: who wrote them last, and who has read them since, by thread."""

    __slots__ = ("written", "read")

    def __init__(self):
        self.written, self.read = None, {}


class Races:
    """Notes accesses of kernels that are launched, from when it is made.

    Attributes:
        found: what met, as (kernel, the two lines of its source), and whether in one block or in two.
    """

    def __init__(self):
        from numtorch.kernels.cuda import simulator
        from numtorch.kernels.cuda.shared import atomics
        from numtorch.kernels.cuda.turns import Block, running
        self.running, self.found, self.cells, self.alive, self.atomic, self.kernel = running, {}, {}, [], False, ""
        self._follow_barriers(Block)
        self._follow_launches(simulator)
        self._follow_memory(simulator)
        for name in ATOMIC:
            simulator.TWINS[name] = self._atomic(getattr(atomics, name).twin)

    # ------------------------------------------------------------ what is followed
    def _follow_barriers(self, block_class):
        """A thread's clock is how often it has waited for the block, and then for its warp."""
        wait, exchange = block_class.wait, block_class.exchange

        def waiting(block):
            thread = block.current.number
            block.clocks[thread] = block.clocks.get(thread, (0, 0))[0] + 1, 0
            wait(block)

        def exchanging(block, value):
            if value is None:                            # a barrier; what lanes hand over by an exchange orders no memory
                thread = block.current.number
                before, more = block.clocks.get(thread, (0, 0))
                block.clocks[thread] = before, more + 1
            return exchange(block, value)
        block_class.wait, block_class.exchange = waiting, exchanging

    def _follow_launches(self, simulator):
        launch, made = simulator.Simulated._launch, simulator.Block

        def launched(kernel, *arguments):
            self.cells.clear()
            self.alive.clear()
            self.kernel = getattr(kernel.function, "__name__", "kernel")
            launch(kernel, *arguments)

        def block(*arguments):
            found = made(*arguments)
            found.clocks = {}
            return found
        simulator.Simulated._launch, simulator.Block = launched, block

    def _follow_memory(self, simulator):
        races, place_of = self, simulator.DevicePointer._place

        def seen(pointer, index):
            place = place_of(pointer, index)
            if type(pointer) is simulator.DevicePointer and races.running() is not None:
                access, size = sys._getframe(1), pointer.dtype.itemsize
                new = access.f_locals.get("value") if access.f_code.co_name == "__setitem__" else None
                if new is None:
                    races._note(pointer.address + int(index) * size, size, False, access.f_back)
                elif not _same(pointer.words[place], new):
                    races._note(pointer.address + int(index) * size, size, True, access.f_back)
            return place

        class Shared(np.ndarray):
            def __getitem__(self, index):
                races._note(*self._bytes(index), False, sys._getframe(1))
                return self.view(np.ndarray)[index]

            def __setitem__(self, index, value):
                plain = self.view(np.ndarray)
                if not _same(plain[index], value):
                    races._note(*self._bytes(index), True, sys._getframe(1))
                plain[index] = value

            def _bytes(self, index):
                if isinstance(index, slice):
                    return self.start + index.start * self.itemsize, (index.stop - index.start) * self.itemsize
                return self.start + int(index) * self.itemsize, self.itemsize

        def array(shared, shape, dtype, alignment=None):
            caller = sys._getframe(1)
            place = caller.f_code, caller.f_lineno
            if place not in shared.arrays:
                kind = simulator.as_dtype(dtype) if isinstance(dtype, simulator.Type) else np.dtype(dtype)
                made = simulator.shared_memory(shape or shared.dynamic // kind.itemsize, kind, alignment)
                shared.arrays[place] = made.view(Shared)
                shared.arrays[place].start = made.ctypes.data
                races.alive.append(made)                 # the next block's memory is elsewhere
            return shared.arrays[place]

        simulator.DevicePointer._place, simulator._Shared.array = seen, array
        for name in ("local_array", "local_like"):
            simulator.TWINS[name] = self._kept(simulator.TWINS[name])

    def _kept(self, twin):
        """A thread's own memory is not another's as long as the launch lasts."""
        def local(*arguments):
            self.alive.append(twin(*arguments))
            return self.alive[-1]
        return local

    def _atomic(self, twin):
        def call(*arguments):
            self.atomic = True
            try:
                return twin(*arguments)
            finally:
                self.atomic = False
        return call

    # ------------------------------------------------------------ what meets
    def _note(self, address, nbytes, writes, frame):
        block = self.running()
        thread = block.current.number
        while frame.f_globals["__name__"] in INSIDE:
            frame = frame.f_back
        mine = (block.number, thread, block.clocks.get(thread, (0, 0)), self.atomic, (frame.f_code, frame.f_lineno))
        for key in range(address >> 1, (address + nbytes + 1) >> 1) if nbytes > 1 else (~address,):
            cell = self.cells.get(key)
            if cell is None:
                cell = self.cells[key] = _Cell()
            if cell.written is not None and _unordered(cell.written, mine, block.lanes):
                self._meet(cell.written, mine, "write", "write" if writes else "read")
            if writes:
                for other in cell.read.values():
                    if _unordered(other, mine, block.lanes):
                        self._meet(other, mine, "read", "write")
                cell.written, cell.read = mine, {}
            else:
                cell.read[block.number, thread] = mine

    def _meet(self, one, other, first, second):
        lines = [f"{what}: {linecache.getline(code.co_filename, line).strip()}" for what, (code, line) in ((first, one[4]), (second, other[4]))]
        self.found.setdefault((self.kernel, *sorted(lines)), "two blocks" if one[0] != other[0] else "a block")


def _same(old, new):
    """Whether a write leaves what is there."""
    old = np.asarray(old)
    with np.errstate(all="ignore"):
        return old.tobytes() == np.broadcast_to(np.asarray(new).astype(old.dtype), old.shape).tobytes()


def _unordered(one, other, lanes):
    (block, thread, clock, atomic, _), (own_block, own_thread, own_clock, own_atomic, _) = one, other
    if atomic or own_atomic or (block == own_block and thread == own_thread):
        return False                                     # an atomic operation reads again what it found changed
    if block != own_block:
        return True
    return clock[0] == own_clock[0] and (thread // lanes != own_thread // lanes or clock[1] == own_clock[1])
