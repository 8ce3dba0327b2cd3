"""Dropout on a GPU: a thread for each counter of the stream, which gives the words of four elements. The mask is the CPU's."""
from __future__ import annotations

from numpy import float32, int32, int64, uint8, uint32, uint64

from ...cpu.random import dropout as host
from ...cpu.random.philox import PHILOX_LANES, block
from ...elementtypes import same
from ...intrinsics import local_array, select
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATE
from ..shared.lines import scalar
from .philox import counters_of

T, INT, N = float32, int32, uint32
load = store = same


def dropout_counters(x, out, mask, state, descriptor):
    """All elements are asked for before the first is written."""
    n, limit = descriptor[0], uint64(descriptor[2])
    scale, shift, dropped = scalar(descriptor, 3), scalar(descriptor, 4), scalar(descriptor, 5)
    values = local_array(T, 4)
    number = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    first = int64(number) // PHILOX_LANES * 128 + int64(number) % PHILOX_LANES
    if first >= n:
        return
    for k in range(4):
        values[k] = load(x[min(first + k * PHILOX_LANES, n - 1)])
    i, k = first, 0
    for word in block(state[0], uint64(state[1] + int64(number)), 0):
        if i < n:
            kept = word < limit
            mask[i] = uint8(kept)
            out[i] = store(select(kept, values[k] * scale + shift, dropped))
        i += PHILOX_LANES
        k += 1


plan_dropout = in_parallel(host.plan_dropout, {host.dropout_elements: Form(
    dropout_counters, lambda row: counters_of(row[0], 128), scalars=(3, 4, 5), divisors=lambda row: ())}, read={3: STATE})
