"""What warps ask of memory in the simulator of a GPU: bank conflicts in shared memory, and sectors of global memory.

A warp's access is what its lanes ask for at one place of the source, each for the same time: the threads run one after another, so
their accesses are put together by place (with the calls that led there) and by how often a thread had been there since the block's
last barrier. Shared memory has 32 banks of four bytes; what a warp asks of one bank in different words comes one after another, of
as many lanes at a time as ask for 128 bytes together. Global memory comes in sectors of 32 bytes.
"""
from __future__ import annotations

import sys
from collections import defaultdict
from typing import NamedTuple

import numpy as np

BANKS, WORD, SECTOR = 32, 4, 32                          # of shared memory, bytes of a bank's word, bytes of a sector


def bank_conflicts(asked, nbytes):
    """How many times longer a warp's access to shared memory takes than if no two lanes met: lanes, and the bytes at which they read
    or write."""
    groups = defaultdict(list)
    for lane, place in asked:
        groups[lane * max(nbytes, WORD) // (BANKS * WORD)].append(place)
    taken = 0
    for group in groups.values():
        words = {word for place in group for word in range(place // WORD, (place + nbytes - 1) // WORD + 1)}
        taken += max(np.bincount([word % BANKS for word in words]))
    return taken / len(groups)


def sectors(places, nbytes):
    """How many sectors a warp's access to global memory touches, and how many would hold what it asks for."""
    touched = {sector for place in places for sector in range(place // SECTOR, (place + nbytes - 1) // SECTOR + 1)}
    return len(touched), -(-len(set(places)) * nbytes // SECTOR)


class Counts(NamedTuple):
    """Of one kernel: the most that an access to shared memory takes, and sectors that reads and writes of global memory touch for
    each that would hold what they ask for; and the line that each is at, the worst."""
    shared: float
    reads: float
    writes: float
    where: dict


class Accesses:
    """Notes accesses of kernels that are launched, from when it is made; `counts()` are those since it was last asked."""

    def __init__(self):
        from numtorch.kernels.cuda import simulator
        from numtorch.kernels.cuda.turns import Block, running
        self.running, self.noted, self.times, self.waits = running, defaultdict(list), defaultdict(int), defaultdict(int)
        wait = Block.wait

        def waiting(block):
            self.waits[block, block.current.number] += 1
            wait(block)
        Block.wait = waiting
        place_of, note, arrays = simulator.DevicePointer._place, self._note, simulator._Shared

        self.silent = False

        def with_none_noted(function, *arguments):
            self.silent = True
            found = function(*arguments)
            self.silent = False
            return found

        def seen(pointer, index):
            if type(pointer) is simulator.DevicePointer and running() is not None and not self.silent:
                access = sys._getframe(1)
                note("writes" if access.f_code.co_name == "__setitem__" else "reads", pointer.address + int(index) * pointer.dtype.itemsize,
                     pointer.dtype.itemsize, access.f_back)
            return place_of(pointer, index)

        class Shared(np.ndarray):
            def __getitem__(self, index):
                note("shared", int(index) * self.itemsize, self.itemsize, sys._getframe(1))
                return self.view(np.ndarray)[index]

            def __setitem__(self, index, value):
                note("shared", int(index) * self.itemsize, self.itemsize, sys._getframe(1))
                self.view(np.ndarray)[index] = value

        def array(self, shape, dtype, alignment=None):
            caller = sys._getframe(1)
            place = caller.f_code, caller.f_lineno
            if place not in self.arrays:
                kind = simulator.as_dtype(dtype) if isinstance(dtype, simulator.Type) else dtype
                count = shape or self.dynamic // np.dtype(kind).itemsize
                self.arrays[place] = simulator.shared_memory(count, np.dtype(kind), alignment).view(Shared)
            return self.arrays[place]

        def copy_async(target, source, nbytes):
            """Sixteen bytes at once, on both sides."""
            words, at = target
            note("shared", at * words.itemsize, 16, sys._getframe(1))
            if nbytes:
                note("reads", source.address, 16, sys._getframe(1))
            with_none_noted(warps.copy_async.twin, (words.view(np.ndarray), at), source, nbytes)

        def vector(what, twin):
            """A tuple of neighbours, or how many of them there are: 16 bytes at once."""
            def access(pointer, values):
                nbytes = (values if isinstance(values, int) else len(values)) * pointer.dtype.itemsize
                for start in range(0, nbytes, 16):
                    note(what, pointer.address + start, min(nbytes, 16), sys._getframe(1))
                return with_none_noted(twin, pointer, values)
            return access

        def at_once(twin, nbytes):
            """An instruction that takes a place of shared memory, and so many bytes there."""
            def call(address, *more):
                words, at = address
                note("shared", at * words.itemsize, nbytes, sys._getframe(1))
                return twin((words.view(np.ndarray), at), *more)
            return call

        def put_rows(address, sums, pitch):
            """Two words at once, of a row and of the row eight below in turn."""
            words, at = address
            for place in range(0, len(sums), 2):
                note("shared", (at + 8 * (place // 4) + place % 4 // 2 * 8 * pitch) * words.itemsize, 8, sys._getframe(1))
            warps.put_rows.twin((words.view(np.ndarray), at), sums, pitch)

        def store_words(pointer, words):
            note("writes", pointer.address, 16, sys._getframe(1))
            with_none_noted(warps.store_words.twin, pointer, words)

        from numtorch.kernels.cuda import warps
        from numtorch.kernels.cuda.shared import vectors
        def sixteen(what, twin):
            """Elements of 16 bytes, of memory or of shared memory."""
            def access(memory, index, *values):
                if isinstance(memory, np.ndarray):
                    note("shared", int(index) * memory.itemsize, 16, sys._getframe(1))
                    return twin(memory.view(np.ndarray), index, *values)
                note(what, memory.address + int(index) * memory.dtype.itemsize, 16, sys._getframe(1))
                return with_none_noted(twin, memory, index, *values)
            return access

        simulator.DevicePointer._place, arrays.array = seen, array
        simulator.TWINS.update(neighbours=sixteen("reads", warps.neighbours.twin),
                               put_neighbours=sixteen("writes", warps.put_neighbours.twin))
        simulator.TWINS.update(load_vector=vector("reads", vectors.load_vector.twin), store_vector=vector("writes", vectors.store_vector.twin))
        simulator.TWINS.update(copy_async=copy_async, put_rows=put_rows, store_words=store_words, **{
            name: at_once(getattr(warps, name).twin, nbytes) for name, nbytes in dict(
                load_matrices=16, load_matrices_transposed=16, shared_words=16, shared_pair=8, shared_word=4, copy_word_async=4).items()})

    def _note(self, what, place, nbytes, frame):
        block, calls, line = self.running(), [], (frame.f_code.co_name, frame.f_lineno)
        while not frame.f_code.co_filename.startswith("<numtorch simulated kernel"):  # the function around every kernel (compiler.py)
            calls.append((frame.f_code, frame.f_lineno))  # not f_lasti, which changes as the interpreter specialises
            frame = frame.f_back
        number, calls = block.current.number, tuple(calls)
        since = self.waits[block, number]
        self.times[block, number, calls, since] += 1
        key = calls[-1][0].co_name, what, line, nbytes, block, number // 32, calls, since, self.times[block, number, calls, since]
        self.noted[key].append((number % 32, place))

    def counts(self):
        """`Counts` of each kernel, by name. What a descriptor holds is read by all lanes and counts as one sector of one."""
        worst, touched, least = defaultdict(lambda: (1.0, None)), defaultdict(lambda: [0, 0]), defaultdict(lambda: defaultdict(lambda: [0, 0]))
        for (kernel, what, line, nbytes, *_), asked in self.noted.items():
            if what == "shared":
                worst[kernel] = max(worst[kernel], (bank_conflicts(asked, nbytes), line), key=lambda each: each[0])
            else:
                places = [place for _, place in asked]
                for sums in (touched[kernel, what], least[kernel][what, line]):
                    for k, count in enumerate(sectors(places, nbytes)):
                        sums[k] += count
        names = {key[0] for key in self.noted}
        self.noted.clear()
        self.times.clear()
        self.waits.clear()
        ratio = lambda sums: sums[0] / max(sums[1], 1)
        return {kernel: Counts(worst[kernel][0], ratio(touched[kernel, "reads"]), ratio(touched[kernel, "writes"]), {
            "shared": worst[kernel][1], **{f"{what} {line}": ratio(sums) for (what, line), sums in least[kernel].items() if ratio(sums) > 1.5}})
            for kernel in sorted(names)}
