"""Sorting on a GPU: Batcher's bitonic network (Knuth, The Art of Computer Programming, 5.3.4) on words of a key and a position.

The keys are the host's (kernels/cpu/sort/sort.py): unsigned numbers in the wanted order, NaN greatest. Equal keys are in order of
position, so that the sort is stable. A line is filled up to a power of two with words that are after all others. Exchanges up to
the size of a tile are made in shared memory, many in one launch; those over longer distances are a launch each.
"""
from __future__ import annotations

from numpy import float32, int64, uint64

from ...cpu.sort.sort import complement, key_float32, key_of
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import NOTHING, Prepared
from ..compiler import cuda
from ..environment import SMALL, THREADS
from ..shared.elements import launch, typed
from ..shared.lines import begin_of

T = float32
load = store = same
key = key_float32
TILE = 8 if SMALL else 1024                              # words that a block sorts in shared memory
LAST = uint64(0xFFFFFFFFFFFFFFFF)
MEDIAN, MEDIAN_OF_NUMBERS = -1, -2                       # in the place of the first element that is written


def make_words(x, keys, positions, descriptor):
    """descriptor: lines, n, inner, words of a line, mask that complements the keys."""
    lines, n, inner, words, mask = descriptor[0], descriptor[1], descriptor[2], descriptor[3], uint64(descriptor[4])
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < lines * words:
        line = e // words
        r = e - line * words
        word = LAST
        if r < n:
            word = key(load(x[begin_of(line, n, inner) + r * inner])) ^ mask
        keys[e] = word
        positions[e] = r
        e += int64(cuda.gridDim.x) * THREADS


def first_of_pair(pair, distance):
    """The lower place of pair number `pair` of those that are so far apart."""
    block = pair // distance
    return 2 * distance * block + (pair - block * distance)


def exchange(keys, positions, i, j, ascending):
    """Put the words at i and j in order."""
    before, behind = keys[i], keys[j]
    first, second = positions[i], positions[j]
    wrong = before > behind or (before == behind and first > second)
    if wrong == ascending:
        keys[i] = behind
        keys[j] = before
        positions[i] = second
        positions[j] = first


def sort_tiles(keys, positions, descriptor):
    """The stages from one length of sorted runs to another, as far as their exchanges stay in a tile. descriptor: all words, words
    of a line, of a tile, first and last length."""
    tile_keys = cuda.shared.array(TILE, uint64)
    tile_positions = cuda.shared.array(TILE, int64)
    words, size = descriptor[1], descriptor[2]
    me = int64(cuda.threadIdx.x)
    start = int64(cuda.blockIdx.x) * size
    while start < descriptor[0]:
        for i in range(me, size, THREADS):
            tile_keys[i] = keys[start + i]
            tile_positions[i] = positions[start + i]
        length = descriptor[3]
        while length <= descriptor[4]:
            distance = min(length, size) // 2
            while distance > 0:
                cuda.syncthreads()
                for pair in range(me, size // 2, THREADS):
                    i = first_of_pair(pair, distance)
                    exchange(tile_keys, tile_positions, i, i + distance, ((start + i) % words) & length == 0)
                distance //= 2
            length *= 2
        cuda.syncthreads()
        for i in range(me, size, THREADS):
            keys[start + i] = tile_keys[i]
            positions[start + i] = tile_positions[i]
        start += int64(cuda.gridDim.x) * size


def exchange_far(keys, positions, descriptor):
    """descriptor: all words, words of a line, length of sorted runs, distance."""
    pair = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while pair < descriptor[0] // 2:
        i = first_of_pair(pair, descriptor[3])
        exchange(keys, positions, i, i + descriptor[3], (i % descriptor[1]) & descriptor[2] == 0)
        pair += int64(cuda.gridDim.x) * THREADS


def nan_count(x, line_positions, n, inner):
    """How many elements of a sorted line are NaN, which are last."""
    nans = int64(0)
    while nans < n:
        value = load(x[line_positions[n - 1 - nans] * inner])
        if value == value:
            break
        nans += 1
    return nans


def write_sorted(x, positions, values, indices, descriptor):
    """descriptor: lines, n, inner, words of a line, first element that is written, how many."""
    n, inner, words, first, count = descriptor[1], descriptor[2], descriptor[3], descriptor[4], descriptor[5]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[0] * count:
        row = e // inner
        outer = row // count
        line, r = outer * inner + (e - row * inner), row - outer * count
        a, order = offset(x, begin_of(line, n, inner)), offset(positions, line * words)
        if first < 0:
            nans = nan_count(a, order, n, inner)
            r = n - nans if nans > 0 and first == MEDIAN else max((n - nans - 1) // 2, int64(0))
        else:
            r += first
        at = order[r]
        values[e] = a[at * inner]
        indices[e] = at
        e += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
class _Sorting:
    """The launches of a sort, whose words are in the call's scratch memory."""

    __slots__ = ("between", "first", "last", "nbytes")

    def __init__(self, first, between, last, nbytes):
        self.first, self.between, self.last, self.nbytes = first, between, last, nbytes

    def __call__(self, x, values, indices, workspace, descriptor):
        keys, positions = workspace, workspace + self.nbytes
        self.first.call(x, keys, positions, self.first.descriptor)
        for each in self.between:
            each.call(keys, positions, each.descriptor)
        self.last.call(x, positions, values, indices, self.last.descriptor)


def plan_chosen(dtype, outer, R, inner, descending, first, count, device):
    """Plan a sort of which elements first .. first + count - 1 are written, or the median of each line.

    Addresses: x (outer, R, inner), values and indices (outer, count, inner), workspace.
    """
    lines = outer * inner
    if not lines * R:
        return NOTHING
    function, digits = key_of(dtype)
    words = max(2, 1 << (R - 1).bit_length())
    size, total = min(words, TILE), lines * words
    make = typed(make_words, dtype, ("element*", "uint64*", "int64*", "int64*"), key=function)
    tiles, far = (typed(kernel, "int64", ("uint64*", "int64*", "int64*")) for kernel in (sort_tiles, exchange_far))
    write = typed(write_sorted, dtype, ("element*", "int64*", "element*", "int64*", "int64*"))

    def in_tiles(shortest, longest):
        return launch(tiles, [total, words, size, shortest, longest], total // size * THREADS, device)

    between, length = [in_tiles(2, size)], 2 * size
    while length <= words:
        distance = length // 2
        while distance >= size:
            between.append(launch(far, [total, words, length, distance], total // 2, device))
            distance //= 2
        between.append(in_tiles(length, length))
        length *= 2
    begin = launch(make, [lines, R, inner, words, complement(digits, descending)], total, device)
    end = launch(write, [lines, R, inner, words, first, count], lines * count, device)
    return Prepared(_Sorting(begin, between, end, 8 * total), 0, 16 * total, (begin, between, end))


def plan_sort(dtype: str, outer: int, R: int, inner: int, descending: bool = False, device: int = 0):
    """Sorted values and where they were, stable; NaN is the greatest. Addresses: x (outer, R, inner), values and indices (int64) of
    the same shape, workspace. Values must not be x.

    Raises:
        RuntimeError: more than 2**32 elements in a row.
    """
    if R >= 2**32:
        raise RuntimeError(f"sort: expected fewer than 2**32 elements along the dimension, got {R}")
    return plan_chosen(dtype, outer, R, inner, descending, 0, R, device)
