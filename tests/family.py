"""What this process's family uses of shared memory."""
from __future__ import annotations

import gc
import os

import pytest

from numtorch.kernels.debugmemory import MODE
from numtorch.shared.heap import heap
from numtorch.shared.tables import ALONE, BLOCK, CAPACITY, CHANNEL, IN_SEGMENT, KIND, NEXT_ID

in_place = pytest.mark.skipif(bool(MODE), reason="blocks of NUMTORCH_DEBUG_MEMORY are no whole pages, and move")
METHODS = ("fork", "spawn", "forkserver")
MB = 1 << 20


def in_use():
    """(blocks, channels, bytes of large blocks) that anybody of this family uses."""
    gc.collect()
    home = heap()
    home.critical(lambda: (home.settle(), home.sweep(True)))
    table = home.all_records[:home.header[NEXT_ID]]
    blocks = table[table[:, KIND] == BLOCK]
    return len(blocks), int((table[:, KIND] == CHANNEL).sum()), int(blocks[blocks[:, IN_SEGMENT] <= ALONE, CAPACITY].sum())


def memory():
    """Bytes that the family's file takes."""
    return os.fstat(heap().fd).st_blocks * 512
