"""Coordinates in order on a GPU: a thread a key, a column of a segment, or a row."""
from __future__ import annotations

from numpy import float32, int64

from ...cpu.sparse import coalesce as host
from ...cpu.sparse.coalesce import COUNT, DIMS, NUMBERS, POINTERS, ROWS, SEGMENTS, STEPS, STOP, WIDTH
from ...elementtypes import same
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATUS

T = float32
load = store = same


def key_of(indices, i, descriptor):
    key = int64(0)
    for d in range(descriptor[DIMS]):
        key += indices[d * descriptor[COUNT] + i] * descriptor[STEPS + d]
    return key


def write_keys(indices, keys, unsorted, descriptor):
    """`unsorted` is 0 before, and 1 after where some key is not above the one before it."""
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[COUNT]:
        key = key_of(indices, i, descriptor)
        keys[i] = key
        if i > 0 and key <= key_of(indices, i - 1, descriptor):
            unsorted[0] = 1
        i += int64(cuda.gridDim.x) * THREADS


def sum_segments(x, order, starts, out, descriptor):
    count, width = descriptor[SEGMENTS], descriptor[WIDTH]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < count * width:
        segment = e // width
        j, stop = e - segment * width, descriptor[ROWS]
        if segment + 1 < count:
            stop = starts[segment + 1]
        total = x[order[starts[segment]] * width + j]
        for i in range(starts[segment] + 1, stop):       # rounded to an element each time, as on the host
            total = store(load(total) + load(x[order[i] * width + j]))
        out[e] = total
        e += int64(cuda.gridDim.x) * THREADS


def write_pointers(rows, pointers, descriptor):
    r = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while r <= descriptor[POINTERS]:
        low, high = int64(0), descriptor[NUMBERS]
        while low < high:
            middle = (low + high) // 2
            if rows[middle] < r:
                low = middle + 1
            else:
                high = middle
        pointers[r] = low
        r += int64(cuda.gridDim.x) * THREADS


def write_rows(pointers, rows, descriptor):
    r = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while r < descriptor[STOP]:
        for i in range(pointers[r], pointers[r + 1]):
            rows[i] = r
        r += int64(cuda.gridDim.x) * THREADS


plan_keys = in_parallel(host.plan_keys, {host.write_keys: Form(write_keys, lambda row: row[COUNT])}, host={2: STATUS})
plan_sum_segments = in_parallel(host.plan_sum_segments, {host.sum_segments: Form(
    sum_segments, lambda row: row[SEGMENTS] * row[WIDTH])})
plan_pointers = in_parallel(host.plan_pointers, {host.write_pointers: Form(write_pointers, lambda row: row[POINTERS] + 1)})
plan_rows = in_parallel(host.plan_rows, {host.write_rows: Form(write_rows, lambda row: row[STOP])})
