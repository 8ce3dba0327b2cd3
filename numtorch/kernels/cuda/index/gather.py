"""Gather, scatter, embedding and their gradients on a GPU: a thread has two vectors of 16 bytes of the result where runs
consist of them, else four elements of it, or of what is written.

Plans and descriptors are the host's (kernels/cpu/index/traversal.py): positions, each with a run of elements. A write looks at all
indices in a launch of its own first, so that a bad one leaves everything as it was. Elements that meet in one place are combined by
atomics, so that sums of floats may differ in their last bits from one call to the next; which of several plain values stays there
is not determined.
"""
from __future__ import annotations

import functools

import numpy as np
from numpy import float32, int64, uint8, uint32

from ...cpu.index import gather as host
from ...cpu.index.traversal import ARRAYS, DIMS, HEADER, LEAST, OTHER_STEP, RUN, SIZE, STEP, STOP, STRIDES, X_STEP
from ...elementtypes import same
from ...intrinsics import address_of, as_pointer, local_array, local_like, offset, select
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..serial import TABLE
from ..shared.atomics import NATIVE, add_at, replaced
from ..shared.coordinates import quotient31 as quotient
from ..shared.vectors import VECTOR, load_vector, store_vector, vectors_of

T, N = float32, uint32
load = store = same
put_one = host.overwrite
WIDTH = 1                                                # elements of a run that a thread has side by side
ITEMS = 4                                                # such, a block apart; of vectors two
RUN_DIVISOR, SIZE_DIVISORS = 1, 2                        # behind the host's descriptor and WIDTH


def extra_words(descriptor):
    """What stands behind the host's descriptor: WIDTH, and the divisors of a run of so many and of the sizes."""
    dims = descriptor[DIMS]
    return offset(descriptor, HEADER + 3 * dims + descriptor[ARRAYS] * (STRIDES + dims))


def add_places(positions, places_a, places_b, places_c, a, b, c, descriptor):
    """Add the element offsets of ITEMS positions in arrays of three sets of strides. The first dimension needs no division."""
    sizes, words, d = offset(descriptor, HEADER), offset(extra_words(descriptor), SIZE_DIVISORS), descriptor[DIMS] - 1
    rests = local_array(N, ITEMS)
    for u in range(ITEMS):
        rests[u] = positions[u]
    while d > 0:
        size, word, step_a, step_b, step_c = N(sizes[d]), words[d], a[d], b[d], c[d]
        for u in range(ITEMS):
            before = quotient(rests[u], word)
            j = int64(N(rests[u] - N(before * size)))
            places_a[u] += j * step_a
            places_b[u] += j * step_b
            places_c[u] += j * step_c
            rests[u] = before
        d -= 1
    for u in range(ITEMS):
        j = int64(rests[u])
        places_a[u] += j * a[0]
        places_b[u] += j * b[0]
        places_c[u] += j * c[0]


def find_starts(positions, starts, others, good, index, more, descriptor):
    """Where the runs of ITEMS positions start in x and in the other array, and whether all their indices are good."""
    dims = descriptor[DIMS]
    strides = offset(descriptor, HEADER + dims)
    entry, places, unused = offset(strides, 2 * dims), local_array(int64, ITEMS), local_array(int64, ITEMS)
    for u in range(ITEMS):
        starts[u], others[u], places[u], unused[u] = 0, 0, 0, 0
    add_places(positions, starts, others, places, strides, offset(strides, dims), offset(entry, STRIDES), descriptor)
    size, least, step = entry[SIZE], entry[LEAST], entry[STEP]
    for u in range(ITEMS):
        value = int64(index[places[u]])
        good[u] = value >= least and value < size
        starts[u] += (value + ((value >> 63) & size)) * step
    for k in range(1, descriptor[ARRAYS]):
        entry, further = offset(entry, STRIDES + dims), as_pointer(more[k - 1], more)
        for u in range(ITEMS):
            places[u] = 0
        strides = offset(entry, STRIDES)
        add_places(positions, places, unused, unused, strides, strides, strides, descriptor)
        for u in range(ITEMS):
            value = further[places[u]]
            good[u] = good[u] and value >= entry[LEAST] and value < entry[SIZE]
            starts[u] += (value + ((value >> 63) & entry[SIZE])) * entry[STEP]


def find_elements(first, n, positions, within, starts, others, good, index, more, descriptor):
    """Of ITEMS elements from a number on, a block apart, whose runs are of `run` words: their positions, where their runs start,
    and where they are in these."""
    run, word = N(descriptor[RUN] // WIDTH), extra_words(descriptor)[RUN_DIVISOR]
    for u in range(ITEMS):
        e = min(N(first + N(u * THREADS)), N(n - N(1)))
        positions[u] = quotient(e, word)
        within[u] = int64(N(e - N(positions[u] * run))) * WIDTH
    find_starts(positions, starts, others, good, index, more, descriptor)


def take_elements(x, index, more, out, status, descriptor):
    """Two vectors of runs where these consist of them, else ITEMS elements; all are asked for before the first is written."""
    n, run_x, run_out = N(descriptor[STOP] * (descriptor[RUN] // WIDTH)), descriptor[X_STEP], descriptor[OTHER_STEP]
    first = N(N(N(cuda.blockIdx.x) * N(ITEMS * THREADS)) + N(cuda.threadIdx.x))
    if first >= n:
        return
    positions, within, good = local_array(N, ITEMS), local_array(int64, ITEMS), local_array(uint8, ITEMS)
    starts, others, words = local_array(int64, ITEMS), local_array(int64, ITEMS), local_like(x, ITEMS)
    find_elements(first, n, positions, within, starts, others, good, index, more, descriptor)
    for u in range(ITEMS):
        if good[u] == 0:
            status[0] = int64(positions[u]) + 1
    if WIDTH == 1:
        for u in range(ITEMS):
            if good[u] != 0:
                words[u] = x[starts[u] + within[u] * run_x]
        for u in range(ITEMS):
            if good[u] != 0 and N(first + N(u * THREADS)) < n:
                out[others[u] + within[u] * run_out] = words[u]
    else:
        second = good[1] != 0 and N(first + N(THREADS)) < n
        source, target = offset(x, select(good[0] != 0, starts[0] + within[0], int64(0))), offset(out, others[0] + within[0])
        further, beside = offset(x, select(good[1] != 0, starts[1] + within[1], int64(0))), offset(out, others[1] + within[1])
        if (address_of(source) | address_of(target) | address_of(further) | address_of(beside)) & (VECTOR - 1) == 0:
            vector, other = load_vector(source, WIDTH), load_vector(further, WIDTH)
            if good[0] != 0:
                store_vector(target, vector)
            if second:
                store_vector(beside, other)
        else:
            for k in range(WIDTH):
                if good[0] != 0:
                    target[k] = source[k]
                if second:
                    beside[k] = further[k]


def check_positions(x, index, more, values, status, descriptor):
    n = N(descriptor[STOP])
    first = N(N(N(cuda.blockIdx.x) * N(ITEMS * THREADS)) + N(cuda.threadIdx.x))
    if first >= n:
        return
    positions, good = local_array(N, ITEMS), local_array(uint8, ITEMS)
    starts, others = local_array(int64, ITEMS), local_array(int64, ITEMS)
    for u in range(ITEMS):
        positions[u] = min(N(first + N(u * THREADS)), N(n - N(1)))
    find_starts(positions, starts, others, good, index, more, descriptor)
    for u in range(ITEMS):
        if good[u] == 0:
            status[0] = int64(positions[u]) + 1


def overwrite_at(target, value):
    target[0] = value


def combine_at(target, value):
    old = target[0]
    while not replaced(target, old, put_one(old, value)):
        old = target[0]


put_at = overwrite_at


def put_elements(x, index, more, values, status, descriptor):
    n, run_x, run_values = N(descriptor[STOP] * descriptor[RUN]), descriptor[X_STEP], descriptor[OTHER_STEP]
    first = N(N(N(cuda.blockIdx.x) * N(ITEMS * THREADS)) + N(cuda.threadIdx.x))
    if first >= n or status[0] != 0:
        return
    positions, within, good = local_array(N, ITEMS), local_array(int64, ITEMS), local_array(uint8, ITEMS)
    starts, others, words = local_array(int64, ITEMS), local_array(int64, ITEMS), local_like(values, ITEMS)
    find_elements(first, n, positions, within, starts, others, good, index, more, descriptor)
    for u in range(ITEMS):
        words[u] = values[others[u] + within[u] * run_values]
    for u in range(ITEMS):
        if N(first + N(u * THREADS)) < n:
            put_at(offset(x, starts[u] + within[u] * run_x), words[u])


# ---------------------------------------------------------------- planners
def _way_to_put(row, bound):
    """How an element is combined with what is there, of what the host's kernel binds."""
    if "combine" not in bound:
        return dict(put_at=overwrite_at, put_one=host.overwrite)
    if bound["combine"] is host.add and np.dtype(bound["T"]).name in NATIVE and bound["load"] is same:
        return dict(put_at=add_at)
    return dict(put_at=combine_at)


def _width(row, bound):
    """How many elements of a run a thread takes at once: such as divide it, and all steps to runs."""
    dims, arrays, run = row[DIMS], row[ARRAYS], row[RUN:HEADER]
    entries = [row[HEADER + 3 * dims + k * (STRIDES + dims) + STEP] for k in range(arrays)]
    width = vectors_of(np.dtype(bound["T"]).itemsize) if tuple(run[1:]) == (1, 1) else 1
    multiples = [run[0], *row[HEADER + dims:HEADER + 3 * dims], *entries]
    return [width if not any(n % width for n in multiples) else 1]


def _divisors(row):
    dims = row[DIMS]
    return [row[RUN] // row[-1], *row[HEADER:HEADER + dims]]


def _form(function, elements, names=lambda row, bound: {}, more=lambda row, bound: [1], **options):
    """The form of a kernel for so many elements, of the descriptor with the width behind it."""
    items = lambda row: ITEMS if row[-1] == 1 else 2
    bound_names = lambda row, bound: {**names(row, bound), "ITEMS": items(row)}
    return Form(function, lambda row: -(-elements(row) // items(row)), bound_names, divisors=_divisors, largest=elements, more=more,
                **options)


_take = _form(take_elements, lambda row: row[STOP] * row[RUN] // row[-1], lambda row, bound: dict(WIDTH=row[-1]), _width)
_put = _form(put_elements, lambda row: row[STOP] * row[RUN], _way_to_put, first=_form(check_positions, lambda row: row[STOP]))
_forms = {**dict.fromkeys(host.READERS.values(), _take), **dict.fromkeys(host.WRITERS.values(), _put)}
_device = functools.partial(in_parallel, forms=_forms, read={2: TABLE}, report=4)


plan_index = _device(host.plan_index)
plan_index_put = _device(host.plan_index_put)
plan_embedding_grad = _device(host.plan_embedding_grad)
plan_gather = _device(host.plan_gather)
plan_scatter = _device(host.plan_scatter)
