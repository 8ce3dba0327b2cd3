"""Dropout on a GPU: a thread for each counter of the stream, which gives the words of four elements. The mask is the CPU's."""
from __future__ import annotations

from numpy import float32, int32, int64, uint8, uint64

from ...cpu.random import dropout as host
from ...cpu.random.philox import PHILOX_LANES, block
from ...elementtypes import same
from ...intrinsics import select
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATE
from ..shared.lines import scalar
from .philox import counters_of

T, INT = float32, int32
load = store = same


def dropout_counters(x, out, mask, state, descriptor):
    n, limit = descriptor[0], uint64(descriptor[2])
    scale, shift, dropped = scalar(descriptor, 3), scalar(descriptor, 4), scalar(descriptor, 5)
    number = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while number < (n + 127) // 128 * PHILOX_LANES:
        words = block(state[0], uint64(state[1] + number), 0)
        i = number // PHILOX_LANES * 128 + number % PHILOX_LANES
        for word in words:
            if i < n:
                kept = word < limit
                mask[i] = uint8(kept)
                out[i] = store(select(kept, load(x[i]) * scale + shift, dropped))
            i += PHILOX_LANES
        number += int64(cuda.gridDim.x) * THREADS


plan_dropout = in_parallel(host.plan_dropout, {host.dropout_elements: Form(
    dropout_counters, lambda row: counters_of(row[0], 128), scalars=(3, 4, 5))}, read={3: STATE})
