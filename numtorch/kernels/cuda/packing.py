"""Kernels for a GPU that is not here, to be packed: a machine that compiles what it is told to launch, and runs nothing.

Its memory is the host's and holds zeros, so that what Python reads of it is some result. The machine code goes to a store of its
own inside of this process's (../targets/crosscompile.py), under keys that do not say which versions of the compiler made it.
"""
from __future__ import annotations

import ctypes

from .. import store
from ..targets import crosscompile
from ..targets.architectures import ARCHITECTURES
from .simulator import Simulator


class Packing(Simulator):
    """See runtime.py for what the methods mean.

    Args:
        architecture: a name of `ARCHITECTURES`.
    """

    def __init__(self, architecture):
        super().__init__()
        self.architecture, self.count = architecture, 1

    def describe(self, index):
        return f"any {self.architecture}", ARCHITECTURES[self.architecture]

    def allocate(self, nbytes, index):
        held, address = super().allocate(nbytes, index)
        ctypes.memset(address, 0, nbytes)
        return held, address

    def launcher(self, kernel, index, grid):
        code = kernel.assembled(ARCHITECTURES[self.architecture])
        store.save(kernel.packed_key(self.architecture), code, crosscompile.directory())
        return _nothing


def _nothing(*words):
    pass
