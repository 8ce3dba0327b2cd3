"""Captures: launches that are noted instead of made, to be made again and again.

While a capture is on, what runtimes launch goes to its list and does not run, and the memory that they give is kept for as long as
the capture is, since the launches name it. What waits for a device, or copies to and from the host, cannot be captured and raises.
What kernels find wrong at a replay, an index that is out of bounds, is said as for calls: by what waits for the device next.

A call that `numtorch.compile` captures runs as it would: what it launches is made, and its *watcher* is told (jit/capturing).
"""
from __future__ import annotations

import contextlib
import ctypes
from threading import get_ident

from .reports import Word


class Capture:
    """Launches in order, as (function, words), and the memory that they name. A driver that captures has its own (gpu.py).

    Attributes:
        source: `source(address)` gives for words of the host's that a launch reads what writes them anew before each replay, to an
            address of the device; None for those that nothing does.
        uploads: these, called with nothing.
        found: the words where launches leave what they find wrong, each with what explains it, or None.
    """

    __slots__ = ("kept", "launches", "source", "uploads", "found")

    def __init__(self):
        self.launches: list = []
        self.kept: list = []
        self.uploads: list = []
        self.found: list = []
        self.source = {}.get

    def replay(self):
        for upload in self.uploads:
            upload()
        for launch, words in self.launches:
            launch(*words)

    # ------------------------------------------------------------ what kernels find wrong: see runtime.py
    def report(self, machine, index, kernel):
        word = Word(*machine.allocate(8, index), index, kernel)
        word.clear(machine)
        self.found.append([word, None])
        return word.address

    def explain(self, function):
        if self.found and self.found[-1][1] is None:
            self.found[-1][1] = function

    def expect(self, tensor, function):
        self.found.append([Word(tensor, tensor.address, tensor.layout.device.index, "a loss"), function])

    def look(self, machine):
        """Have what waits for the device next raise what a replay finds wrong; raise it where machines report nothing later."""
        now = [entry for entry in self.found if not machine.expect(entry[0].index, *entry)]
        taken = [(number, *entry) for entry in now if (number := entry[0].taken(machine))]
        for number, word, function in taken:
            raise word.wrong(number) if function is None else function(number)


active: list[Capture | None] = [None]                    # the one that is on; there is one at a time


watching: dict = {}                                      # what is told of a thread's launches, by thread


def watcher():
    """What is told of this thread's launches, or None. It has

    launch(launch, words)                       make a launch, and note it
    upload(target, addresses, place, nbytes)    words of the host's memory are copied to the device's `target`, for a call that has
                                                them among its addresses
    pause(), resume()                           around what is not of the call
    keep(owner)                                 memory that was given just now
    report(index, kernel)                       the address of a word where a kernel leaves what is wrong,
    reported(status)                            and that it has been called: what is said later is not copied to its status
    clear(tensor)                               there is 0 at the start of a tensor, where a kernel leaves what is wrong,
    expect(tensor, function)                    for which `function(word)` is the exception
    refuse(what)                                what a program of launches would leave out
    """
    return watching.get(get_ident())


class _Unsaid:
    """A watcher that lets everything be, and has nobody told of what kernels find wrong."""

    def __init__(self, machine):
        self.machine, self.zero, self.words = machine, ctypes.c_int64(), []

    def launch(self, launch, words):
        launch(*words)

    def report(self, index, kernel):
        owner, address = self.machine.allocate(8, index)
        self.words.append(owner)
        self.machine.copy(address, ctypes.addressof(self.zero), 8, index)
        return address

    def clear(self, tensor):
        self.machine.copy(tensor.address, ctypes.addressof(self.zero), 8, tensor.layout.device.index)

    def nothing(self, *what):
        """Do nothing."""

    upload = pause = resume = keep = refuse = reported = expect = nothing


@contextlib.contextmanager
def unsaid(machine):
    """Inside, this thread's calls are made for what they leave, and nobody is told of what their kernels find wrong.

    Args:
        machine: as runtime.py has it.
    """
    thread = get_ident()
    before = watching.get(thread)
    watching[thread] = _Unsaid(machine)
    try:
        yield
    finally:
        if before is None:
            del watching[thread]
        else:
            watching[thread] = before


def refuse(what) -> None:
    """Raise RuntimeError while a capture is on, for what waits for a device. A watcher notes it."""
    note(what)
    if active[0] is not None:
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({what})")


def note(what) -> None:
    """Tell this thread's watcher of what a program of launches would leave out."""
    watch = watcher()
    if watch is not None:
        watch.refuse(what)


def keep(owner) -> None:
    """Memory that was given just now."""
    watch = watcher()
    if watch is not None:
        watch.keep(owner)
    if active[0] is not None:
        active[0].kept.append(owner)


def capturable(launch):
    """A launch as a function of its words that a capture notes instead."""
    def call(*words):
        capture = active[0]
        if watching and (watch := watcher()) is not None:
            watch.launch(launch, words)
        elif capture is None:
            launch(*words)
        else:
            capture.launches.append((launch, words))
    return call
