"""The machine that CUDA kernels run on: a GPU, or the simulator when the environment has `NUMBA_ENABLE_CUDASIM=1`.

Both offer the same few things, and everything above uses only these; `index` is a device's number:

    count                                       devices there are
    describe(index)                             (name, compute capability)
    allocate(nbytes, index)                     (owner, address): memory that lives as long as its owner
    copy(target, source, nbytes, index)         between host and device or within the device, by address
    launcher(kernel, index, grid)               call(*words), which runs a kernel on `grid` blocks of `THREADS`
    synchronize(index)                          wait for what the device was told to do

What a device is told, it does in that order (one stream a device). `copy` returns when the host's side of it may be used again.
"""
from __future__ import annotations

import functools

import numpy as np

from .environment import SIMULATED, Unavailable


@functools.cache
def runtime():
    """The process's machine. Raises Unavailable."""
    if SIMULATED:
        from .simulator import Simulator
        return Simulator()
    try:
        import numba_cuda  # noqa: F401  - what `numba.cuda` then is; the one that comes with Numba is too old

        from .gpu import Gpu
    except ImportError as error:
        raise Unavailable(f"{error}; install numtorch[cuda]", missing=error.name) from None
    return Gpu()


def upload(words, index: int):
    """A row of 64-bit integers in the memory of a device: its owner and address."""
    row = np.array(words, np.int64)
    owner, address = runtime().allocate(row.nbytes, index)
    runtime().copy(address, row.ctypes.data, row.nbytes, index)
    return owner, address
