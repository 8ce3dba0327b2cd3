"""What kernels find wrong while Python goes on: an index that is out of bounds is said by whatever waits for the device next, as in
PyTorch, whose kernels assert it. To wait for each call that has indices would cost a training step more than its kernels do.

A call takes a word of the device's memory that is 0, or has one of its own, and its kernels leave there what they find. The words
are read when the host waits for something else. Under `NUMTORCH_CUDA_LAUNCH_BLOCKING=1` and in the simulator the host reads a
call's status after the call (serial.py).
"""
from __future__ import annotations

import ctypes
import threading

WORDS = 256                                              # calls that may be out; then the host waits for all


class Word:
    """A word of a device's memory where a kernel of a program leaves what it finds wrong, in each run; 0 until then.

    Attributes:
        owner: what keeps the memory, which the host reads when the program may be gone.
        address, index: the memory, and the device.
        name: of the kernel.
        told: whether it is among the calls that are out.
    """

    __slots__ = ("owner", "address", "index", "name", "told")

    def __init__(self, owner, address, index, name):
        self.owner, self.address, self.index, self.name, self.told = owner, address, index, name, False

    def clear(self, machine) -> None:
        """Write 0."""
        zero = ctypes.c_int64()
        machine.copy(self.address, ctypes.addressof(zero), 8, self.index)

    def wrong(self, number) -> IndexError:
        """The exception for what it holds."""
        return IndexError(f"an index is out of bounds: number {number - 1} of a call of {self.name} on cuda:{self.index}")

    def taken(self, machine) -> int:
        """What it holds, once the device has done what it was told; it is 0 afterwards. For machines that report nothing later."""
        found = ctypes.c_int64()
        machine.copy(ctypes.addressof(found), self.address, 8, self.index)
        if found.value:
            self.clear(machine)
        return found.value


class Reports:
    """The words of one device.

    Args:
        machine, index: the machine and the device.
    """

    __slots__ = ("machine", "index", "calls", "_lock", "_owner", "_address", "_read", "_count")

    def __init__(self, machine, index):
        self.machine, self.index = machine, index
        self.calls: list = []                            # of each that is out: stream, kernel, what it is about, its own word
        self._lock, self._owner, self._address, self._count = threading.Lock(), None, 0, 0
        self._read = (ctypes.c_int64 * WORDS)()

    def word(self, stream, kernel) -> int:
        """The address of a word for a call of a kernel, on a stream of the driver's."""
        if len(self.calls) == WORDS:
            self.machine.synchronize(self.index)
        with self._lock:
            if not self._address:
                self._owner, self._address = self.machine.allocate(8 * WORDS, self.index)
                self._clear()
            self.calls.append([stream, kernel, None, None])
            return self._address + 8 * (len(self.calls) - 1)

    def expect(self, stream, tensor, function) -> None:
        """Read the word at the start of a tensor, or a `Word`, later, too: `function(word)` is the exception where it is not 0."""
        if len(self.calls) == WORDS:
            self.machine.synchronize(self.index)
        with self._lock:
            if type(tensor) is not Word:
                self.calls.append([stream, "", function, tensor])
            elif not tensor.told:
                tensor.told = True
                self.calls.append([stream, tensor.name, function, tensor])

    def explain(self, function) -> None:
        """Say what the last call is about: `function(word)` gives the exception for what its kernels find."""
        if self.calls and self.calls[-1][2] is None:
            self.calls[-1][2] = function

    def fetch(self, stream) -> None:
        """Tell a stream to bring the words, before the host waits for it."""
        with self._lock:
            self._count, read, copy = len(self.calls), ctypes.addressof(self._read), self.machine.driver.cuMemcpyAsync
            if self._address:
                copy(read, self._address, 8 * self._count, stream)
            for place, (*_, tensor) in enumerate(self.calls):
                if tensor is not None:
                    copy(read + 8 * place, tensor.address, 8, stream)

    def look(self, stream=None) -> None:
        """Raise what the words say: of calls on a stream that the host has waited for, or on all."""
        with self._lock:
            wrong = next((place for place in range(self._count) if self._read[place]), None)
            if wrong is None:
                if self._count == len(self.calls) and (stream is None or all(call[0] == stream for call in self.calls)):
                    self._end()
                return
            (_, kernel, function, _), word = self.calls[wrong], self._read[wrong]
            self.machine.driver.cuCtxSynchronize()       # the words of all calls are used again
            for *_, own in self._end():
                if type(own) is Word:
                    own.clear(self.machine)
            if self._address:
                self._clear()
        try:
            error = None if function is None else function(word)
        except AssertionError:                           # other indices are there by now
            error = None
        raise error or IndexError(f"an index is out of bounds: number {word - 1} of a call of {kernel} on cuda:{self.index}")

    def _end(self):
        ended, self.calls = self.calls, []
        for *_, own in ended:
            if type(own) is Word:
                own.told = False
        return ended

    def _clear(self):
        ctypes.memset(self._read, 0, 8 * WORDS)
        self.machine.driver.cuMemcpyAsync(self._address, ctypes.addressof(self._read), 8 * WORDS, 0)
        self.machine.driver.cuStreamSynchronize(0)
