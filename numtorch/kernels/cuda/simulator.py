"""CUDA without a GPU: kernels as Python in the simulator that comes with Numba, "device memory" in the host's.

It runs a block's threads as Python threads that take turns at barriers, so it is for tests on a handful of elements.
There are two devices, so that mixing them can be tested; addresses are real, so a wrong one is as fatal as on a GPU.
"""
from __future__ import annotations

import ctypes
import threading

import numpy as np

from .environment import THREADS

ALIGNMENT = 256                                          # as the driver's allocator has it


class Simulator:
    """See runtime.py for what these mean."""

    count = 2

    def __init__(self):
        self.one_at_a_time = threading.Lock()            # the simulator has one grid

    def describe(self, index):
        return "Numba CUDA simulator", (0, 0)

    def allocate(self, nbytes, index):
        block = np.empty(nbytes + ALIGNMENT, np.uint8)
        return block, block.ctypes.data + -block.ctypes.data % ALIGNMENT

    def copy(self, target, source, nbytes, index):
        ctypes.memmove(target, source, nbytes)

    def launcher(self, kernel, index, grid):
        def call(*words):
            with self.one_at_a_time:
                kernel.python[grid, THREADS](*kernel.arguments(words))
        return call

    def synchronize(self, index):
        """Kernels have run when their call returns."""
