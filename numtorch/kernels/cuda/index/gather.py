"""Gather, scatter, embedding and their gradients on a GPU: a thread an element of the result or of what is written.

Plans and descriptors are the host's (kernels/cpu/index/traversal.py): positions, each with a run of elements. A write looks at all
indices in a launch of its own first, so that a bad one leaves everything as it was. Elements that meet in one place are combined by
atomics, so that sums of floats may differ in their last bits from one call to the next; which of several plain values stays there
is not determined.
"""
from __future__ import annotations

import functools

import numpy as np
from numpy import float32, int64

from ...cpu.index import gather as host
from ...cpu.index.traversal import HEADER
from ...elementtypes import same
from ...intrinsics import as_pointer, offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import STATUS, TABLE
from ..shared.atomics import NATIVE, add_at, replaced

T = float32
load = store = same
put_one = host.overwrite


def place_of(position, dims, sizes, strides):
    """The element offset of a position in an array of these strides."""
    place = int64(0)
    for back in range(dims):
        d = dims - 1 - back
        size = sizes[d]
        before = position // size
        place += (position - before * size) * strides[d]
        position = before
    return place


def start_of(position, index, more, descriptor):
    """Where a position's run starts in x, and whether all its indices are good."""
    dims = descriptor[2]
    sizes = offset(descriptor, HEADER)
    start, good = place_of(position, dims, sizes, offset(sizes, dims)), True
    entry = offset(sizes, 3 * dims)
    value = int64(index[place_of(position, dims, sizes, offset(entry, 3))])
    good = value >= entry[1] and value < entry[0]
    start += (value + ((value >> 63) & entry[0])) * entry[2]
    for k in range(1, descriptor[3]):
        entry = offset(entry, 3 + dims)
        value = as_pointer(more[k - 1], more)[place_of(position, dims, sizes, offset(entry, 3))]
        good = good and value >= entry[1] and value < entry[0]
        start += (value + ((value >> 63) & entry[0])) * entry[2]
    return start, good


def take_elements(x, index, more, out, status, descriptor):
    dims, run = descriptor[2], descriptor[4]
    sizes = offset(descriptor, HEADER)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[1] * run:
        position = e // run
        j = e - position * run
        start, good = start_of(position, index, more, descriptor)
        if good:
            out[place_of(position, dims, sizes, offset(sizes, 2 * dims)) + j * descriptor[6]] = x[start + j * descriptor[5]]
        else:
            status[0] = position + 1
        e += int64(cuda.gridDim.x) * THREADS


def check_positions(x, index, more, values, status, descriptor):
    position = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while position < descriptor[1]:
        _, good = start_of(position, index, more, descriptor)
        if not good:
            status[0] = position + 1
        position += int64(cuda.gridDim.x) * THREADS


def overwrite_at(target, value):
    target[0] = value


def combine_at(target, value):
    old = target[0]
    while not replaced(target, old, put_one(old, value)):
        old = target[0]


put_at = overwrite_at


def put_elements(x, index, more, values, status, descriptor):
    dims, run = descriptor[2], descriptor[4]
    sizes = offset(descriptor, HEADER)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[1] * run and status[0] == 0:
        position = e // run
        j = e - position * run
        start, _ = start_of(position, index, more, descriptor)
        place = place_of(position, dims, sizes, offset(sizes, 2 * dims)) + j * descriptor[6]
        put_at(offset(x, start + j * descriptor[5]), values[place])
        e += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
def _way_to_put(row, bound):
    """How an element is combined with what is there, of what the host's kernel binds."""
    if "combine" not in bound:
        return dict(put_at=overwrite_at, put_one=host.overwrite)
    if bound["combine"] is host.add and np.dtype(bound["T"]).name in NATIVE and bound["load"] is same:
        return dict(put_at=add_at)
    return dict(put_at=combine_at)


def _elements(row):
    return row[1] * row[4]


_forms = {**dict.fromkeys(host.READERS.values(), Form(take_elements, _elements)),
          **dict.fromkeys(host.WRITERS.values(),
                          Form(put_elements, _elements, _way_to_put, first=Form(check_positions, lambda row: row[1])))}
_device = functools.partial(in_parallel, forms=_forms, host={4: STATUS}, read={2: TABLE})


plan_index = _device(host.plan_index)
plan_index_put = _device(host.plan_index_put)
plan_index_select = _device(host.plan_index_select)
plan_index_write = _device(host.plan_index_write)
plan_embedding = _device(host.plan_embedding)
plan_embedding_grad = _device(host.plan_embedding_grad)
plan_gather = _device(host.plan_gather)
plan_scatter = _device(host.plan_scatter)
