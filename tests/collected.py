"""What tests of memory share: the collector is off, what is alive is counted, and what only a collector would free is found."""
from __future__ import annotations

import gc
import os

import pytest

import numtorch as torch
from numtorch.autograd.graph import Node
from numtorch.kernels.debugmemory import MODE
from numtorch.storage import Storage

recycles = pytest.mark.skipif(bool(MODE), reason="nothing is recycled with NUMTORCH_DEBUG_MEMORY")


@pytest.fixture(autouse=True, scope="module")
def what_was_there_is_not_looked_at():
    """A process that has compiled a thousand kernels has millions of objects: each collection of them would take a second."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def collector_off():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf(*values):
    return torch.tensor([float(v) for v in values], requires_grad=True)


def ours() -> int:
    """How many nodes and tensors there are."""
    return sum(issubclass(type(o), (Node, torch.Tensor)) for o in gc.get_objects())     # isinstance would wake dead proxies


def cycles() -> list:
    """The names of what of ours only the collector can free, which it then does."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        found = [o.name() if issubclass(type(o), Node) else type(o).__name__ for o in gc.garbage
                 if issubclass(type(o), (Node, torch.Tensor, Storage))]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
    gc.collect()
    return found


def resident() -> int:
    """Bytes of memory this process has in use; 0 where the system does not say."""
    if not os.path.exists("/proc/self/statm"):
        return 0
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
