"""Gather, scatter, embedding and their gradients on a GPU: a thread an element of the result, or 16 bytes of it where runs consist
of them, or an element of what is written.

Plans and descriptors are the host's (kernels/cpu/index/traversal.py): positions, each with a run of elements. A write looks at all
indices in a launch of its own first, so that a bad one leaves everything as it was. Elements that meet in one place are combined by
atomics, so that sums of floats may differ in their last bits from one call to the next; which of several plain values stays there
is not determined.
"""
from __future__ import annotations

import functools

import numpy as np
from numpy import float32, int64, uint32

from ...cpu.index import gather as host
from ...cpu.index.traversal import HEADER
from ...elementtypes import same
from ...intrinsics import address_of, as_pointer, offset
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
WIDTH = 1                                                # elements of a run that a thread has


def extra_words(descriptor):
    """What stands behind the host's descriptor: WIDTH, and the divisors of a run of so many and of the sizes."""
    dims = descriptor[2]
    return offset(descriptor, HEADER + 3 * dims + descriptor[3] * (3 + dims))


def places_of(position, sizes, words, a, b, c, dims):
    """The element offsets of a position in arrays of three sets of strides. The first dimension needs no division."""
    place_a, place_b, place_c = int64(0), int64(0), int64(0)
    rest, d = N(position), dims - 1
    while d > 0:
        before = quotient(rest, words[d])
        j = int64(N(rest - N(before * N(sizes[d]))))
        place_a += j * a[d]
        place_b += j * b[d]
        place_c += j * c[d]
        rest = before
        d -= 1
    j = int64(rest)
    return place_a + j * a[0], place_b + j * b[0], place_c + j * c[0]


def starts_of(position, index, more, descriptor):
    """Where a position's run starts in x and in the other array, and whether all its indices are good."""
    dims = descriptor[2]
    sizes, words = offset(descriptor, HEADER), offset(extra_words(descriptor), 2)
    strides, entry = offset(sizes, dims), offset(sizes, 3 * dims)
    start, other, place = places_of(position, sizes, words, strides, offset(strides, dims), offset(entry, 3), dims)
    value = int64(index[place])
    good = value >= entry[1] and value < entry[0]
    start += (value + ((value >> 63) & entry[0])) * entry[2]
    for k in range(1, descriptor[3]):
        entry = offset(entry, 3 + dims)
        place, _, _ = places_of(position, sizes, words, offset(entry, 3), offset(entry, 3), offset(entry, 3), dims)
        value = as_pointer(more[k - 1], more)[place]
        good = good and value >= entry[1] and value < entry[0]
        start += (value + ((value >> 63) & entry[0])) * entry[2]
    return start, other, good


def take_elements(x, index, more, out, status, descriptor):
    """A vector of a run where runs consist of them, else an element."""
    words, positions = extra_words(descriptor), descriptor[1]
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    position = quotient(e, words[1])
    if position >= positions:
        return
    j = int64(N(e - N(position * N(descriptor[4] // WIDTH)))) * WIDTH
    start, other, good = starts_of(position, index, more, descriptor)
    source, target = offset(x, start + j * descriptor[5]), offset(out, other + j * descriptor[6])
    if not good:
        status[0] = int64(position) + 1
    elif WIDTH == 1:
        target[0] = source[0]
    elif (address_of(source) | address_of(target)) & (VECTOR - 1) == 0:
        store_vector(target, load_vector(source, WIDTH))
    else:
        for k in range(WIDTH):
            target[k] = source[k]


def check_positions(x, index, more, values, status, descriptor):
    position = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    if position < descriptor[1]:
        _, _, good = starts_of(position, index, more, descriptor)
        if not good:
            status[0] = int64(position) + 1


def overwrite_at(target, value):
    target[0] = value


def combine_at(target, value):
    old = target[0]
    while not replaced(target, old, put_one(old, value)):
        old = target[0]


put_at = overwrite_at


def put_elements(x, index, more, values, status, descriptor):
    words, positions = extra_words(descriptor), descriptor[1]
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    position = quotient(e, words[1])
    if position < positions and status[0] == 0:
        j = int64(N(e - N(position * N(descriptor[4]))))
        start, other, _ = starts_of(position, index, more, descriptor)
        put_at(offset(x, start + j * descriptor[5]), values[other + j * descriptor[6]])


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
    dims, arrays, run = row[2], row[3], row[4:7]
    entries = [row[HEADER + 3 * dims + k * (3 + dims) + 2] for k in range(arrays)]
    width = vectors_of(np.dtype(bound["T"]).itemsize) if tuple(run[1:]) == (1, 1) else 1
    multiples = [run[0], *row[HEADER + dims:HEADER + 3 * dims], *entries]
    return [width if not any(n % width for n in multiples) else 1]


def _divisors(row):
    dims = row[2]
    return [row[4] // row[-1], *row[HEADER:HEADER + dims]]


def _form(function, threads, names=lambda row, bound: {}, more=lambda row, bound: [1], **options):
    return Form(function, threads, names, divisors=_divisors, more=more, **options)


_take = _form(take_elements, lambda row: row[1] * row[4] // row[-1], lambda row, bound: dict(WIDTH=row[-1]), _width)
_put = _form(put_elements, lambda row: row[1] * row[4], _way_to_put, first=_form(check_positions, lambda row: row[1]))
_forms = {**dict.fromkeys(host.READERS.values(), _take), **dict.fromkeys(host.WRITERS.values(), _put)}
_device = functools.partial(in_parallel, forms=_forms, read={2: TABLE}, report=4)


plan_index = _device(host.plan_index)
plan_index_put = _device(host.plan_index_put)
plan_index_select = _device(host.plan_index_select)
plan_index_write = _device(host.plan_index_write)
plan_embedding = _device(host.plan_embedding)
plan_embedding_grad = _device(host.plan_embedding_grad)
plan_gather = _device(host.plan_gather)
plan_scatter = _device(host.plan_scatter)
