"""Memory that ends where an array begins and ends: what reads or writes beyond it ends the process."""
import ctypes
import mmap
import sys

import numpy as np
import pytest

PAGE = mmap.PAGESIZE
fenced_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect through the C library")


class Fenced:
    """A copy of an array between two pages that nobody may touch: its end is at the second, or its beginning at the first."""

    def __init__(self, array, at_end):
        whole = -(-array.nbytes // PAGE) * PAGE
        self.memory = mmap.mmap(-1, whole + 2 * PAGE)
        start = np.frombuffer(self.memory, np.uint8).ctypes.data
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        before = whole - array.nbytes if at_end else 0
        self.array = np.frombuffer(self.memory, np.uint8)[PAGE + before:PAGE + before + array.nbytes]
        self.array = self.array.view(array.dtype).reshape(array.shape)
        self.array[...] = array
        self.address = start + PAGE + before
        self.fences = protect, (start, start + PAGE + whole)
        assert all(protect(fence, PAGE, 0) == 0 for fence in self.fences[1])

    def __del__(self):
        protect, fences = self.fences
        for fence in fences:
            protect(fence, PAGE, mmap.PROT_READ | mmap.PROT_WRITE)
