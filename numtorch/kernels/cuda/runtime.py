"""The machine that CUDA kernels run on: a GPU, or the simulator when the environment has `NUMBA_ENABLE_CUDASIM=1`, or one that
packs them for another machine when it has a `NUMTORCH_CUDA_ARCHITECTURE` (packing.py).

All offer the same few things, and everything above uses only these; `index` is a device's number:

    count                                       devices there are
    describe(index)                             (name, compute capability)
    allocate(nbytes, index)                     (owner, address): memory that lives as long as its owner (caching.py)
    allocator(index), pinned                    what gives that, and host memory that the device reads by itself
    host_memory(nbytes)                         (owner, address) of the latter
    copy(target, source, nbytes, index, wait)   between host and device or within the device, by address
    copy_between(target, source, nbytes, index, origin)     to one device from another
    launcher(kernel, index, grid)               call(*words), which runs a kernel on `grid` blocks of its threads
    synchronize(index)                          wait for what the device was told to do
    memory_info(index), properties(index)       (free, all) bytes; what the driver says of a device, by the names in driver.py
    reaches(index, other)                       whether a device reads another's memory
    report(index, kernel)                       the address of a word of the device's that is 0, for what a call finds wrong, which
                                                is raised by what waits for the device next; or 0, where the host reads it at once
    explain(index, function)                    `function(word)` is the exception for what the call before finds (reports.py)
    expect(index, tensor, function)             the same for a word at the start of a tensor; whether it is raised later
    begin_capture(index), end_capture(capture)  between them launches are noted and not made (capture.py)

    program(index, launches)                    (launch, words) pairs, which `run()` makes in the current stream, and of which
                                                `set(place, words)` gives one other words

for tensors that several processes see (cuda/sharing.py):

    identity(index)                             bytes that name a device in every process
    memory_handle(address, index)               (bytes by which others open a segment of this process, where in it the address lies)
    open_memory(handle, index)                  a segment of another process from its `address` on, as long as the result lives
    event_handle(index)                         bytes by which others wait for what the current stream was told
    wait_handle(handle, index)                  have the current stream wait for that

and for streams, which are handles: `new_stream(index, priority)`, `first_stream(index)`, `current(index)` in this thread and
`use(index, stream)`, `finish(stream)`, `idle(stream)`; `record(stream, timing, blocking)` gives an event, `wait(stream, event)`,
`reached(event)`, `await_event(event)`, `milliseconds(event, event)`.

What a stream is told, it does in that order; launches, copies and memory go to the current one. `copy` returns when the host's side
of it may be used again, unless it is told not to wait. `allocate` raises MemoryError.
"""
from __future__ import annotations

import functools
import os
import weakref
from importlib.util import find_spec

import numpy as np

from ..targets import architectures
from .environment import SIMULATED, Unavailable


@functools.cache
def runtime():
    """The process's machine. Raises Unavailable."""
    if _forked[0]:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                           "'spawn' start method")
    packed = architectures.chosen()
    if packed is not None:
        from .packing import Packing
        return Packing(packed)
    if SIMULATED:
        from .simulator import Simulator
        return Simulator()
    if find_spec("numba_cuda") is None:
        raise Unavailable("No module named 'numba_cuda'; install numtorch[cuda]", missing="numba_cuda")
    from .gpu import Gpu
    machine = Gpu()
    import numba_cuda  # noqa: F401  - what `numba.cuda` then is; the one that comes with Numba is too old
    return machine


_forked = [False]                                        # whether this process is a forked child of one that had a machine


def _after_fork():
    if runtime.cache_info().currsize:
        _forked[0] = True
        runtime.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def upload(words, index: int):
    """A row of 64-bit integers in the memory of a device: its owner and address."""
    row = np.array(words, np.int64)
    owner, address = runtime().allocate(row.nbytes, index)
    runtime().copy(address, row.ctypes.data, row.nbytes, index)
    uploaded[address] = owner
    return owner, address


uploaded: weakref.WeakValueDictionary = weakref.WeakValueDictionary()    # what owns such a row, by its address
