"""The largest k, the k-th and the median on a GPU.

A block has a line, whose keys (sort.py) it looks at a digit at a time, from the first one on: how many have each digit says which
digit the element with so many before it has, and the rest is looked for among those that have it. Equal keys are told apart by the
digits of their positions. Of the largest k, all up to the k-th are then put in order by comparing each with all. A few very long
lines, and many that are chosen, are sorted whole.
"""
from __future__ import annotations

from numpy import float32, int32, int64, uint32

from ...elementtypes import same
from ...intrinsics import offset
from ...threads import NOTHING, Prepared
from ..compiler import cuda, prepare
from ..environment import MOST_BLOCKS, SMALL, THREADS
from ..shared.atomics import add_to_shared
from ..shared.lines import WARP, begin_of, joined
from ..warps import barrier, count_bits, lanes_alike, shared_address
from .sort import BITS, DIGITS, KEY, WARPS, _kernel, _Unused, key_of_float32, keys_of, plan_first_in_order, scanned

T = float32
load = store = same
key = key_of_float32
LANES, BYTES, CELLS = THREADS, 4, 2 * WARPS             # of a line; of a key; shared numbers of warps
CHOSEN = 4 if SMALL else 512                             # of the largest that are put in order in shared memory
LONG, FEW = (16, 2) if SMALL else (1 << 15, 32)          # elements and lines: longer ones are sorted where there are fewer
MEDIAN, MEDIAN_OF_NUMBERS = -1, -2                       # in the place of how many elements are before the one that is wanted

# the descriptor: lines, their length and how far apart neighbours are, the mask that complements the keys, how many are before the
# last one that is written, how many are written, the first bit of keys, and of the positions' last digit
LINES, LENGTH, INNER, MASK, RANK, COUNT, LOWEST_BIT, PLACE_BITS = range(8)


def count_candidates(x, table, n, inner, mask, shift, prefix, by_position, place_shift, place_prefix, me):
    """Of the elements whose digits until now are known, how many have each next digit."""
    table[me] = 0
    barrier()
    first = int64(0)
    while first < n:
        r = min(first + me, n - 1)
        word = key(load(x[r * inner])) ^ mask
        digit = uint32(DIGITS)
        if first + me < n:
            if by_position:
                if (word >> KEY(shift)) == prefix and (r >> (place_shift + BITS)) == place_prefix:
                    digit = uint32((r >> place_shift) & (DIGITS - 1))
            elif shift + BITS >= 8 * BYTES or (word >> KEY(shift + BITS)) == prefix:
                digit = uint32((word >> KEY(shift)) & KEY(DIGITS - 1))
        alike = lanes_alike(digit)                       # one of a warp's equal digits is added to shared memory
        if digit < uint32(DIGITS) and count_bits(uint32(alike & uint32((int64(1) << (me % WARP)) - 1))) == 0:
            add_to_shared(shared_address(table, int64(digit)), int32(count_bits(alike)))
        first += THREADS
    barrier()


def next_digit(table, cells, found, rank, me):
    """The digit of the element with `rank` candidates before it, the rank among those with this digit, and how many these are."""
    count = int64(table[me])
    through, _ = scanned(cells, count, me)
    if through - count <= rank and rank < through:
        found[0], found[1], found[2] = me, rank - (through - count), count
    barrier()
    return found[0], found[1], found[2]


def rank_wanted(x, cells, n, inner, wanted, me):
    """How many elements are before the one that is wanted."""
    if wanted >= 0:
        return wanted
    nans = int64(0)
    for r in range(me, n, THREADS):
        value = load(x[r * inner])
        nans += int64(value != value)
    nans = joined(cells, nans, me, me)
    return n - nans if nans > 0 and wanted == MEDIAN else max((n - nans - 1) // 2, int64(0))


def choose_in_lines(x, values, indices, descriptor):
    table = cuda.shared.array(DIGITS, int32)
    cells = cuda.shared.array(CELLS, int64)
    found = cuda.shared.array(3, int64)
    words = cuda.shared.array(CHOSEN, KEY)
    positions = cuda.shared.array(CHOSEN, uint32)
    lines, n, inner = descriptor[LINES], descriptor[LENGTH], descriptor[INNER]
    mask, count = KEY(descriptor[MASK]), descriptor[COUNT]
    me = int64(cuda.threadIdx.x)
    line = int64(cuda.blockIdx.x)
    while line < lines:
        a, to = offset(x, begin_of(line, n, inner)), begin_of(line, count, inner)
        rank = rank_wanted(a, cells, n, inner, descriptor[RANK], me)
        prefix, shift, more = KEY(0), int64(8 * BYTES), n
        while shift > descriptor[LOWEST_BIT] and (shift == 8 * BYTES or more > rank + 1 or (count == 1 and more > 1)):
            shift -= BITS
            count_candidates(a, table, n, inner, mask, shift, prefix, False, int64(0), int64(0), me)
            digit, rank, more = next_digit(table, cells, found, rank, me)
            prefix = KEY((prefix << KEY(BITS)) | KEY(digit))
        place_shift, place_prefix = descriptor[PLACE_BITS], int64(0)
        while place_shift > 0 and (more > rank + 1 or (count == 1 and more > 1)):
            place_shift -= BITS
            count_candidates(a, table, n, inner, mask, shift, prefix, True, place_shift, place_prefix, me)
            digit, rank, more = next_digit(table, cells, found, rank, me)
            place_prefix = place_prefix * DIGITS + digit
        mine = int64(0)
        for r in range(me, n, THREADS):
            word = (key(load(a[r * inner])) ^ mask) >> KEY(shift)
            chosen = word == prefix and (r >> place_shift) <= place_prefix
            if count == 1:
                if chosen and (r >> place_shift) == place_prefix:
                    values[to], indices[to] = a[r * inner], r
            elif chosen or word < prefix:
                mine += 1
        if count > 1:
            through, _ = scanned(cells, mine, me)
            slot = through - mine
            for r in range(me, n, THREADS):
                whole = key(load(a[r * inner])) ^ mask
                word = whole >> KEY(shift)
                if word < prefix or (word == prefix and (r >> place_shift) <= place_prefix):
                    words[slot], positions[slot] = whole, uint32(r)
                    slot += 1
            barrier()
            for k in range(me, count, THREADS):
                word, position, before = words[k], positions[k], int64(0)
                for other in range(count):
                    before += int64(words[other] < word or (words[other] == word and positions[other] < position))
                values[to + before * inner], indices[to + before * inner] = a[int64(position) * inner], int64(position)
        line += cuda.gridDim.x


def _plan(dtype, outer, R, inner, descending, rank, count, device):
    lines = outer * inner
    if not lines * R:
        return NOTHING
    names, kind, low, high = keys_of(dtype)
    kernel = _kernel(choose_in_lines, dtype, ("element*", "element*", "int64*", "int64*"), BYTES=high // 8, LANES=THREADS, **names)
    digits = -(-(R - 1).bit_length() // BITS)
    mask = 0 if not descending else (1 << high) - 1 if high < 64 else -1
    made = prepare(kernel, [lines, R, inner, mask, rank, count, low, digits * BITS], lines, device, most=MOST_BLOCKS)
    return Prepared(_Unused(made), 0, 0, made)


def plan_topk(dtype: str, outer: int, R: int, inner: int, k: int, descending: bool = True, device: int = 0):
    if k > CHOSEN or (R > LONG and outer * inner < FEW):
        return plan_first_in_order(dtype, outer, R, inner, descending, k, device)
    return _plan(dtype, outer, R, inner, descending, k - 1, k, device)


def plan_kth(dtype: str, outer: int, R: int, inner: int, k: int, device: int = 0):
    return _plan(dtype, outer, R, inner, False, k, 1, device)


def plan_median(dtype: str, outer: int, R: int, inner: int, skip_nan: bool, device: int = 0):
    return _plan(dtype, outer, R, inner, False, MEDIAN_OF_NUMBERS if skip_nan else MEDIAN, 1, device)
