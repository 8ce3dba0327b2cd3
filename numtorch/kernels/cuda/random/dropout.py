"""Dropout on a GPU: a thread has two counters of the stream, each of which gives words for four elements. The mask is the CPU's."""
from __future__ import annotations

from numpy import float32, int32, int64, uint8, uint64

from ...cpu.random import dropout as host
from ...cpu.random.dropout import DROPPED, SCALE, SHIFT
from ...cpu.random.philox import ELEMENTS, LIMIT, PHILOX_LANES, block
from ...elementtypes import same
from ...intrinsics import local_array, local_like, select
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATE
from ..shared.lines import scalar
from .philox import COUNTERS, DRAWN, counters_of, first_element

T, INT = float32, int32
load = store = same


def dropout_counters(x, out, mask, state, descriptor):
    """All elements are asked for before the first is written."""
    n, limit, seed, begin = descriptor[ELEMENTS], uint64(descriptor[LIMIT]), state[0], state[1]
    scale, shift, dropped = scalar(descriptor, SCALE), scalar(descriptor, SHIFT), scalar(descriptor, DROPPED)
    words, kept = local_like(x, DRAWN), local_array(uint8, DRAWN)
    first = int64(cuda.blockIdx.x) * (COUNTERS * THREADS) + cuda.threadIdx.x
    if first_element(first, 128) >= n:
        return
    for u in range(COUNTERS):
        i = first_element(first + u * THREADS, 128)
        for k in range(4):
            words[4 * u + k] = x[min(i + k * PHILOX_LANES, n - 1)]
    for u in range(COUNTERS):
        k = 4 * u
        for word in block(seed, uint64(begin + first + u * THREADS), 0):
            kept[k] = uint8(word < limit)
            k += 1
    for u in range(COUNTERS):
        i = first_element(first + u * THREADS, 128)
        for k in range(4):
            if i + k * PHILOX_LANES < n:
                mask[i + k * PHILOX_LANES] = kept[4 * u + k]
                out[i + k * PHILOX_LANES] = store(select(kept[4 * u + k] != 0, load(words[4 * u + k]) * scale + shift, dropped))


plan_dropout = in_parallel(host.plan_dropout, {host.dropout_elements: Form(
    dropout_counters, lambda row: -(-counters_of(row[ELEMENTS], 128) // COUNTERS), scalars=(SCALE, SHIFT, DROPPED),
    divisors=lambda row: ())}, read={3: STATE})
