"""Stable sort along the middle axis of (outer, R, inner) data on a GPU.

Each element becomes an unsigned key whose order is the wanted one, as on the CPU (kernels/cpu/sort/sort.py): NaN is the greatest.
Lines of up to a tile go through a bitonic network of keys and positions in shared memory, a launch in all. Longer ones are sorted
by a digit of the key at a time, the last one first (least significant digit): blocks count the digits of their tiles, counts are
added up over the tiles before, and elements are moved to where those with a smaller digit, and those with the same one that came
before, leave off.

A warp numbers its elements of one digit by the lanes that have it (`lanes_alike`), one load at a time, so that equal ones stay in
order.
"""
from __future__ import annotations

import functools
import itertools

import numpy as np
from numpy import float32, int32, int64, uint32, uint64

from ...cpu.sort.sort import key_float32, key_float64, key_int64, key_uint64
from ...elementtypes import CONVERSIONS, bindings, compute_type, itemsize, same
from ...intrinsics import bfloat16_to_float, local_array, offset
from ...threads import NOTHING, Prepared
from ..compiler import compile_kernel, cuda, prepare
from ..environment import MOST_BLOCKS, SMALL, THREADS
from ..shared.atomics import add_to_shared
from ..shared.lines import WARP, begin_of
from ..warps import barrier, count_bits, lane_before, lanes_alike, shared_address, warp_barrier

T, KEY = float32, uint32
load = store = same
TILE = 8 if SMALL else 1024                              # words that a block sorts in shared memory
BITS = 2 if SMALL else 8                                 # of a digit
DIGITS = THREADS                                         # 2^BITS: a thread each
ITEMS = 3 if SMALL else 12                               # elements of a tile of a longer line that a thread has
WARPS = THREADS // WARP
COUNTERS = WARPS * DIGITS
LOWEST = 0

# the descriptor: lines, their length and how far apart neighbours are; of whole lines, the words of one, the mask that complements
# the keys, how many elements are written, the last key of all, which power of two the words are; of digits, the tiles of a line,
# the digit's first bit, the mask, how many elements are written and how far apart
LINES, LENGTH, INNER, WORDS, MASK, COUNT, LAST_KEY, WORD_BITS = range(8)
TILES, SHIFT, DIGIT_MASK, WRITTEN, WRITTEN_INNER = range(INNER + 1, INNER + 6)


# ---------------------------------------------------------------- keys
def key_of_float32(x):
    return uint32(key_float32(x))


def key_of_integer(x):
    """Of an integer of up to 32 bits, its distance from the least."""
    return uint32(int64(x) - int64(LOWEST))


def key_itself(x):
    return x


key = key_of_float32


def keys_of(dtype: str):
    """What kernels bind for keys of a dtype's elements; the type of the keys; and the first bit that they may differ in, and the
    last one."""
    compute, size = np.dtype(compute_type(dtype)), itemsize(dtype)
    if compute.kind == "f" and compute.itemsize < 8:
        low = 0 if size == 4 else 16 if CONVERSIONS[dtype][0] is bfloat16_to_float else 8    # of a half 13 bits
        return dict(key=key_of_float32, KEY=uint32), "uint32", low, 32
    if size == 8:
        function = {"f": key_float64, "i": key_int64}.get(compute.kind, key_uint64)
        return dict(key=function, KEY=uint64), "uint64", 0, 64
    lowest = 0 if dtype == "bool" or compute.kind == "u" else int(np.iinfo(dtype).min)
    return dict(key=key_of_integer, LOWEST=lowest, KEY=uint32), "uint32", 0, 8 * size


# ---------------------------------------------------------------- lines of a tile
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


def sort_tiles(x, values, indices, descriptor):
    """Whole lines, as many as a tile has room for. A line is filled up to a power of two with words that are after all others."""
    keys = cuda.shared.array(TILE, KEY)
    positions = cuda.shared.array(TILE, int32)
    lines, n, inner, words = descriptor[LINES], descriptor[LENGTH], descriptor[INNER], descriptor[WORDS]
    count, mask, me = descriptor[COUNT], KEY(descriptor[MASK]), int64(cuda.threadIdx.x)
    together, bits = TILE >> descriptor[WORD_BITS], descriptor[WORD_BITS]
    first = int64(cuda.blockIdx.x) * together
    while first < lines:
        for i in range(me, TILE, THREADS):
            line = first + (i >> bits)
            r = i & (words - 1)
            positions[i] = r
            keys[i] = KEY(descriptor[LAST_KEY])
            if line < lines and r < n:
                keys[i] = key(load(x[begin_of(line, n, inner) + r * inner])) ^ mask
        length = int64(2)
        while length <= words:
            distance = length // 2
            while distance > 0:
                barrier()
                for pair in range(me, TILE // 2, THREADS):
                    i = 2 * pair - (pair & (distance - 1))
                    exchange(keys, positions, i, i + distance, i & (words - 1) & length == 0)
                distance //= 2
            length *= 2
        barrier()
        for i in range(me, TILE, THREADS):
            line, r = first + (i >> bits), i & (words - 1)
            if line < lines and r < count:
                a, to = offset(x, begin_of(line, n, inner)), begin_of(line, count, inner) + r * inner
                values[to] = a[positions[i] * inner]
                indices[to] = positions[i]
        first += int64(cuda.gridDim.x) * together


# ---------------------------------------------------------------- digits
def scanned(cells, value, me):
    """The sum of a number over the threads before this one and itself, and over all."""
    lane, distance = me % WARP, 1
    while distance < WARP:
        other = lane_before(value, distance)
        if lane >= distance:
            value += other
        distance *= 2
    if lane == WARP - 1:
        cells[me // WARP] = value
    barrier()
    total = int64(0)
    for warp in range(WARPS):
        if warp == me // WARP:
            value += total
        total += cells[warp]
    barrier()
    return value, total


def position_itself(positions, at, r):
    return uint32(r)


def position_kept(positions, at, r):
    return positions[at]


position_of = position_itself


def count_digits(x, counts, descriptor):
    """How many elements of each tile have each digit, by line, digit and tile."""
    table = cuda.shared.array(DIGITS, int32)
    n, inner, tiles = descriptor[LENGTH], descriptor[INNER], descriptor[TILES]
    shift, mask = KEY(descriptor[SHIFT]), KEY(descriptor[DIGIT_MASK])
    me = int64(cuda.threadIdx.x)
    line = int64(cuda.blockIdx.x) // tiles
    tile = int64(cuda.blockIdx.x) - line * tiles
    table[me] = 0
    barrier()
    a = offset(x, begin_of(line, n, inner))
    for i in range(ITEMS):
        r = (tile * ITEMS + i) * THREADS + me
        if r < n:
            digit = ((key(load(a[r * inner])) ^ mask) >> shift) & KEY(DIGITS - 1)
            add_to_shared(shared_address(table, int64(digit)), int32(1))
    barrier()
    counts[(line * DIGITS + me) * tiles + tile] = uint32(table[me])


def add_up_counts(counts, totals, descriptor):
    """A block a line and digit: its tiles' counts become how many are in the tiles before."""
    cells = cuda.shared.array(WARPS, int64)
    tiles, me = descriptor[TILES], int64(cuda.threadIdx.x)
    row, before, first = offset(counts, int64(cuda.blockIdx.x) * tiles), int64(0), int64(0)
    while first < tiles:
        count = int64(0)
        if first + me < tiles:
            count = int64(row[first + me])
        through, total = scanned(cells, count, me)
        if first + me < tiles:
            row[first + me] = uint32(before + through - count)
        before += total
        first += THREADS
    if me == 0:
        totals[int64(cuda.blockIdx.x)] = uint32(before)


def put_word(source, keys, positions, values, indices, to, word, position, inner, count):
    keys[to] = word
    positions[to] = position


def put_element(source, keys, positions, values, indices, to, word, position, inner, count):
    """Of the last digit what is asked for: the first `count` elements of a line."""
    if to < count:
        values[to * inner] = source[int64(position) * inner]
        indices[to * inner] = int64(position)


put_sorted = put_word


def move_by_digits(x, positions, counts, totals, source, keys_out, positions_out, values, indices, descriptor):
    """Elements of a tile to where they belong by a digit."""
    cells = cuda.shared.array(WARPS, int64)
    starts = cuda.shared.array(DIGITS, int64)
    counters = cuda.shared.array(COUNTERS, int32)
    n, inner, tiles = descriptor[LENGTH], descriptor[INNER], descriptor[TILES]
    shift, mask = KEY(descriptor[SHIFT]), KEY(descriptor[DIGIT_MASK])
    me = int64(cuda.threadIdx.x)
    lane = me % WARP
    mine = me // WARP * DIGITS
    line = int64(cuda.blockIdx.x) // tiles
    tile = int64(cuda.blockIdx.x) - line * tiles
    words, ranks = local_array(KEY, ITEMS), local_array(int32, ITEMS)
    a, first = offset(x, begin_of(line, n, inner)), tile * ITEMS * THREADS + me // WARP * ITEMS * WARP + lane
    for i in range(ITEMS):
        words[i] = key(load(a[min(first + i * WARP, n - 1) * inner])) ^ mask
    for i in range(WARPS):
        counters[i * DIGITS + me] = 0
    total = int64(totals[line * DIGITS + me])
    through, _ = scanned(cells, total, me)               # with barriers
    starts[me] = through - total + int64(counts[(line * DIGITS + me) * tiles + tile])
    for i in range(ITEMS):
        digit = uint32((words[i] >> shift) & KEY(DIGITS - 1))
        there = first + i * WARP < n
        alike = lanes_alike(digit if there else uint32(DIGITS))
        before = count_bits(uint32(alike & uint32((int64(1) << lane) - 1)))
        at = mine + int64(digit)
        known = counters[at]
        ranks[i] = known + int32(before)
        warp_barrier()
        if there and before == 0:
            counters[at] = known + int32(count_bits(alike))
        warp_barrier()
    barrier()
    running = int32(0)
    for warp in range(WARPS):
        count = counters[warp * DIGITS + me]
        counters[warp * DIGITS + me] = running
        running += count
    barrier()
    inner, count = descriptor[WRITTEN_INNER], descriptor[WRITTEN]
    b, c, to = offset(source, begin_of(line, n, inner)), line * n, begin_of(line, count, inner)
    for i in range(ITEMS):
        r = first + i * WARP
        if r < n:
            digit = int64((words[i] >> shift) & KEY(DIGITS - 1))
            put_sorted(b, offset(keys_out, c), offset(positions_out, c), offset(values, to), offset(indices, to),
                       starts[digit] + counters[mine + digit] + ranks[i], words[i], position_of(positions, c + r, r), inner, count)


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(function, dtype, signature, **names):
    places = {"element*": dtype + "*"}
    return compile_kernel(function, tuple(places.get(s, s) for s in signature), {**bindings(dtype), **names}, compute_type(dtype))


class _ByDigits:
    """The launches of a sort of long lines, whose keys, positions and counts are in the call's scratch memory."""

    __slots__ = ("passes", "places")

    def __init__(self, passes, places):
        self.passes, self.places = passes, places

    def __call__(self, x, values, indices, workspace, descriptor):
        words, other_words, positions, other_positions, counts, totals = [workspace + place for place in self.places]
        source = x
        for count, add, move in self.passes:
            count.call(source, counts, count.descriptor)
            add.call(counts, totals, add.descriptor)
            move.call(source, positions, counts, totals, x, words, other_positions, values, indices, move.descriptor)
            source, words, other_words = words, other_words, words
            positions, other_positions = other_positions, positions


def plan_by_digits(dtype, outer, R, inner, descending, count, device):
    """Plan the same of long lines: (outer, R, inner), descending, count. Addresses: as for `plan_first_in_order`."""
    names, kind, low, high = keys_of(dtype)
    lines, tiles = outer * inner, -(-R // (ITEMS * THREADS))
    shifts, passes = range(low, high, BITS), []
    moved = "element*", "uint32*", "uint32*", "uint32*", dtype + "*", kind + "*", "uint32*", dtype + "*", "int64*", "int64*"
    sizes = [itemsize(kind) * lines * R] * 2 + [4 * lines * R] * 2 + [4 * lines * DIGITS * tiles, 4 * lines * DIGITS]
    *places, nbytes = itertools.accumulate([-(-size // 16) * 16 for size in sizes], initial=0)

    def launched(function, dtype, signature, row, blocks, **names):
        return prepare(_kernel(function, dtype, signature, **names), row, blocks, device, most=MOST_BLOCKS)

    for shift in shifts:
        first, last = shift == shifts[0], shift == shifts[-1]
        stored = dtype if first else kind
        bound = names if first else dict(key=key_itself, KEY=names["KEY"])
        row = [lines, R, inner if first else 1, tiles, shift, -1 if descending and first else 0, count, inner]
        move = dict(bound, position_of=position_itself if first else position_kept, put_sorted=put_element if last else put_word)
        passes.append((
            launched(count_digits, stored, ("element*", "uint32*", "int64*"), row, lines * tiles, **bound),
            launched(add_up_counts, "uint32", ("uint32*", "uint32*", "int64*"), row, lines * DIGITS),
            launched(move_by_digits, stored, moved, row, lines * tiles, **move)))
    return Prepared(_ByDigits(passes, places), 0, nbytes, passes)


def plan_first_in_order(dtype, outer, R, inner, descending, count, device):
    """Plan a sort over R, from the greatest element on if `descending`, of which the first `count` elements of each line are
    written.

    Addresses: x (outer, R, inner), values and indices (outer, count, inner), workspace.
    """
    lines = outer * inner
    if not lines * R:
        return NOTHING
    if R > TILE:
        return plan_by_digits(dtype, outer, R, inner, descending, count, device)
    names, kind, _, high = keys_of(dtype)
    words = max(2, 1 << (R - 1).bit_length())
    kernel = _kernel(sort_tiles, dtype, ("element*", "element*", "int64*", "int64*"), **names)
    row = [lines, R, inner, words, -1 if descending else 0, count, -1, words.bit_length() - 1]
    made = prepare(kernel, row, -(-lines // (TILE // words)), device)
    return Prepared(_Unused(made), 0, 0, made)


class _Unused:
    """A call that is given scratch memory which it does not need."""

    __slots__ = ("made",)

    def __init__(self, made):
        self.made = made

    def __call__(self, x, values, indices, workspace, descriptor):
        self.made.call(x, values, indices, self.made.descriptor)


def plan_sort(dtype: str, outer: int, R: int, inner: int, descending: bool = False, device: int = 0):
    if R >= 2**32:
        raise RuntimeError(f"sort: expected fewer than 2**32 elements along the dimension, got {R}")
    return plan_first_in_order(dtype, outer, R, inner, descending, R, device)
