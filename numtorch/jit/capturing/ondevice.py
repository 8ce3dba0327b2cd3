"""What a captured call launches on a CUDA device, and the graph of the driver's that launches it again.

The device makes the launches of the watched call as ever, and tells of each (kernels/cuda/capture.py). What copies to or from the
host, waits, or uses another stream is a break: a graph would leave it out. Words of the host's memory that kernels read are copied
before the graph runs: an optimiser's table and coefficients, a random stream's counters, tables of addresses.

A program's launches are nodes one after another. Words that differ from call to call, of arguments, results and gradients, are
written into the nodes when they have changed: what is freed is given out again, so in a loop they mostly have not.
"""
from __future__ import annotations

import ctypes
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from ...kernels.cuda.capture import watching
from ...kernels.cuda.reports import Word
from ...kernels.cuda.runtime import runtime
from ...kernels.program import CONSTANT
from ...kernels.threads import prepared_on

_ZERO = ctypes.c_int64()
VECTOR = 16                                              # bytes that a thread of a GPU loads at once
_KERNELS = str(Path(__file__).resolve().parents[2] / "kernels")


class DeviceLaunch(NamedTuple):
    """A kernel that a device was told to run."""

    launch: Any                                          # the runtime's, which has the `kernel` and the `index` of the device
    words: tuple


class Upload(NamedTuple):
    """Words of the host's memory that are copied to a device's before its kernels run."""

    target: int
    source: int                                          # an address, or 0 for a table of `entries`
    entries: Any                                         # None, or each word, and whether it is an address
    nbytes: int


class Said(NamedTuple):
    """A word of a device's memory in which a kernel leaves what it finds wrong."""

    address: int
    index: int                                           # of the device
    name: str                                            # of the kernel


class OnDevice:
    """The watcher of the devices' launches in one call.

    Args:
        stop: `stop(what, frame)` notes what keeps the call from being replayed.
        items: where launches are written down.
        source: `source(addresses, place, nbytes, frame)` says where words of the host's come from, as (source, entries) of
            `Upload`, or None.
        pause, resume: called around what is not part of the call.
        hold: has nothing else where a storage of the call is.

    Attributes:
        held: owners of memory that was given meanwhile, by address, but for that of tensors.
        launching: whether a launch is being made.
    """

    def __init__(self, stop, items, source, pause, resume, hold) -> None:
        self.stop, self.items, self.source, self.pause, self.resume, self.hold = stop, items, source, pause, resume, hold
        self.held, self.launching, self.before = {}, False, None
        self.word: Any = None                            # that of the call that is being made

    def __enter__(self):
        self.before = watching.get(threading.get_ident())
        watching[threading.get_ident()] = self
        return self

    def __exit__(self, *error):
        if self.before is None:
            del watching[threading.get_ident()]
        else:
            watching[threading.get_ident()] = self.before

    def launch(self, launch, words):
        self.pause()
        self.launching = True
        try:
            launch(*words)
        finally:
            self.launching = False
            self.resume()
        self.items.append(DeviceLaunch(launch, words))

    def upload(self, target, addresses, place, nbytes):
        frame: Any = sys._getframe(1)
        while frame.f_code.co_filename.startswith(_KERNELS):
            frame = frame.f_back
        found = self.source(addresses, place, nbytes, frame)
        if found is None:
            self.stop("a kernel reads or writes the host's memory", frame)
        else:
            self.items.append(Upload(target, *found, nbytes))

    def keep(self, owner):
        self.held[owner.address] = owner

    # ------------------------------------------------------------ what kernels find wrong
    def report(self, index, kernel):
        self.pause()
        machine = runtime()
        self.word = Word(*machine.allocate(8, index), index, kernel)
        self.word.clear(machine)
        self.resume()
        self.items.append(Said(self.word.address, index, kernel))
        return self.word.address

    def reported(self, status):
        self.pause()
        machine, word = runtime(), self.word
        if not machine.expect(word.index, word, None):
            machine.copy(status, word.address, 8, word.index)
        self.resume()

    def clear(self, tensor):
        self.pause()
        self.hold(tensor.memory)                         # the host looks at it when the program has run
        zero, index = ctypes.addressof(_ZERO), tensor.layout.device.index
        runtime().copy(tensor.address, zero, 8, index)
        self.items.append(Upload(tensor.address, zero, None, 8))
        self.resume()

    def expect(self, tensor, function):
        self.pause()
        machine, index, found = runtime(), tensor.layout.device.index, ctypes.c_int64()
        self.items.append(Said(tensor.address, index, "a loss"))
        if not machine.expect(index, tensor, function):
            machine.copy(ctypes.addressof(found), tensor.address, 8, index)
        self.resume()
        if found.value:
            raise function(found.value)

    def refuse(self, what):
        self.stop(f"on a device, {what}", sys._getframe(1))


def alignment(tensors, leaves) -> list[int]:
    """How tensors, and gradients of leaves, lie in the words that kernels load at once, which decides on what is launched.

    Args:
        tensors, leaves: them.
    """
    return [each.address % VECTOR for each in (*tensors, *[leaf.grad for leaf in leaves if leaf.grad is not None])]


class DeviceProgram:
    """Launches on a device that a replay makes at once.

    Args:
        block: the replay's words that differ from call to call.
        blocks, keep: what it has memory from (memory.py), and what else it keeps.
    """

    def __init__(self, block, blocks, keep) -> None:
        self.block, self.blocks, self.keep, self.index, self.stream = block, blocks, keep, None, None
        self.uploads: list = []                          # (target, source, bytes)
        self.entries: list = []                          # (table, place, argument, offset)
        self.launches: list = []                         # (launch, words as (argument, offset))
        self.graph: Any = None
        self.moving: list = []                           # places of launches with words that differ
        self.last: list = []                             # `block` in the last run
        self.words: list = []                            # of what its kernels find wrong

    def write(self, item: DeviceLaunch | Upload, word_of) -> bool:
        """Add a launch, or words of the host's memory that launches read. False for a launch on another device.

        Args:
            item: it.
            word_of: how the program has a word that is an address, as [argument, offset, 0].
        """
        if isinstance(item, Upload):
            self._upload(item, word_of)
            return True
        if isinstance(item, Said):
            argument, address, _ = word_of(item.address)
            self.words.append(Word((self.blocks, self.keep), address, item.index, item.name))
            return argument == CONSTANT
        launch, words = item
        self.keep += [launch, *prepared_on(words[-1])]
        given = [[CONSTANT, word] if kind is None else word_of(word)[:2] for word, kind in zip(words, launch.kernel.kinds)]
        self.launches.append((launch, given))
        self.index = launch.index if self.index is None else self.index
        return launch.index == self.index

    def _upload(self, item, word_of):
        word_of(item.target)                             # whose owner is kept
        source = item.source
        if item.entries is not None:
            table = (ctypes.c_int64 * len(item.entries))(*[word for word, _ in item.entries])
            source = ctypes.addressof(table)
            self.keep.append(table)
            for place, (word, moves) in enumerate(item.entries):
                if moves:
                    argument, table[place], _ = word_of(word)
                    if argument != CONSTANT:
                        self.entries.append((table, place, argument, table[place]))
        self.uploads.append((item.target, source, item.nbytes))

    def _words(self, words):
        return [offset if argument == CONSTANT else offset + self.block[argument] for argument, offset in words]

    def _change_stream(self, machine, stream):
        """Go on in another stream, behind what the last one was told: both use the program's memory."""
        if self.stream is not None:
            machine.wait(stream, machine.record(self.stream, False, False))
        self.stream = stream
        for owner in [*[owner for _, _, owner, _ in self.blocks], *self.keep]:
            while hasattr(owner, "owner"):
                owner = owner.owner
            if hasattr(owner, "use_on"):
                owner.use_on(stream)

    def __call__(self) -> None:
        machine = runtime()
        stream = machine.current(self.index)
        if stream != self.stream:
            self._change_stream(machine, stream)
        for table, place, argument, offset in self.entries:
            table[place] = offset + self.block[argument]
        for target, source, nbytes in self.uploads:
            machine.copy(target, source, nbytes, self.index, False)
        if self.graph is None:
            self.graph = machine.program(self.index, [(launch, self._words(words)) for launch, words in self.launches])
            self.moving = [place for place, (_, words) in enumerate(self.launches) if any(a != CONSTANT for a, _ in words)]
        elif self.block[:] != self.last:
            for place in self.moving:
                words = self.launches[place][1]
                if any(a != CONSTANT and self.block[a] != self.last[a] for a, _ in words):
                    self.graph.set(place, self._words(words))
        self.last = self.block[:]
        self.graph.run()
        found = [(word, word.taken(machine)) for word in self.words if not machine.expect(self.index, word, None)]
        for word, number in found:
            if number:
                raise word.wrong(number)
