"""Stable sort and argsort over the middle axis of (outer, R, inner) data; choosing among elements is in topk.py.

Each element becomes an unsigned key whose order is the wanted one (NaN greatest, -0.0 equal to 0.0; complemented to
descend). Up to 96 keys of a single row are ranked: a key's place is how many are smaller, which compares every pair, but
sixteen at a time and without a branch. More go through a least-significant-digit radix sort of words: the upper half of a word
is the key's leading 32 significant bits below the row's range, the lower half its position. So a digit that all keys share
costs nothing, integers of a small range take one or two passes, and float64 as many as float32; the few keys that agree in
these 32 bits are then sorted by the rest.

Columns (inner > 1) are copied eight at a time to scratch memory, and are rows there.

Rows or columns of up to 256 elements go eight at a time through a sorting network (Batcher's merge exchange, Knuth, The Art of
Computer Programming, 5.2.2, algorithm M): its exchanges are the same whatever the keys are, so each is two instructions for all
eight. A word of it is a key above its position, so that no two are equal; keys of 64 bits have their positions beside them.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int64, uint32, uint64

from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import Intrinsic, address_of, as_pointer, bits_of, local_array, local_like, offset, transpose_block
from ..shared.elements import prepare_parts, shares, typed

T = float32
load = store = same
GRAIN = 2_000                    # elements that make a thread worth waking
RANKED = 96                      # keys up to which comparing all pairs wins
TILE = 8                         # columns that are copied to scratch memory together: half a cache line of float32
LOW = uint64(0xFFFFFFFF)
WIDE = 7                         # rows of more than RANKED that are together before the network wins
LONGEST = 256                    # elements that go through the network
LINE = 8                         # words of an element of each of eight rows: 16 where keys need all their bits

# the descriptor: of (outer, R, inner), the columns to do, and the mask that complements the keys
OUTER, LENGTH, INNER, COLUMNS, MASK = range(5)


# ---------------------------------------------------------------- keys
def key_float32(x):
    if x != x:
        return uint64(0xFFFFFFFF)
    bits = uint64(uint32(bits_of(x))) if x != T(0) else uint64(0)
    return bits ^ (uint64(0xFFFFFFFF) if bits >> uint64(31) else uint64(0x80000000))


def key_float64(x):
    if x != x:
        return uint64(0xFFFFFFFFFFFFFFFF)
    bits = uint64(bits_of(x)) if x != T(0) else uint64(0)
    return bits ^ (uint64(0xFFFFFFFFFFFFFFFF) if bits >> uint64(63) else uint64(0x8000000000000000))


def key_small_integer(x):
    return uint64(int64(x) + int64(0x80000000))


def key_int64(x):
    return uint64(x) ^ uint64(0x8000000000000000)


def key_uint64(x):
    return uint64(x)


key = key_float32


def make_keys(row, keys, n, mask):
    for i in range(n):
        keys[i] = key(load(row[i])) ^ mask


def column_tile(x, scratch, n, inner, width):
    """The first `width` columns of x (n, inner), one after another."""
    for i in range(n):
        row = offset(x, i * inner)
        for c in range(width):
            scratch[c * n + i] = row[c]


# ---------------------------------------------------------------- the order of keys
def key_range(keys, n):
    """The least key, and how many bits the others are above it."""
    least = keys[0]
    greatest = keys[0]
    for i in range(n):
        least = min(least, keys[i])
        greatest = max(greatest, keys[i])
    span = greatest - least
    bits = int64(0)
    while bits < 64 and (span >> uint64(bits)) != uint64(0):
        bits += 1
    return least, bits


def rank(keys, i, n):
    """How many of n keys are before the one at i; equal ones by position."""
    here = keys[i]
    before = int64(0)
    for j in range(i):
        before += int64(keys[j] <= here)
    behind = offset(keys, i + 1)
    for j in range(n - 1 - i):
        before += int64(behind[j] < here)
    return before


def rank_sort(keys, order, n):
    for i in range(n):
        order[rank(keys, i, n)] = uint64(i)


def radix_sort(words, other, counts, n, digits):
    """Sorts by that many bytes above bit 32, into `words` (returns 0) or into `other` (returns 1)."""
    for i in range(digits * 256):
        counts[i] = 0
    for i in range(n):
        word = words[i] >> uint64(32)
        for d in range(digits):
            counts[d * 256 + int64((word >> uint64(8 * d)) & uint64(255))] += 1
    swapped = int64(0)
    for d in range(digits):
        shift = uint64(32 + 8 * d)
        count = offset(counts, d * 256)
        if count[int64((words[0] >> shift) & uint64(255))] == n:
            continue
        total = int64(0)
        for digit in range(256):
            here = count[digit]
            count[digit] = total
            total += here
        for i in range(n):
            word = words[i]
            digit = int64((word >> shift) & uint64(255))
            place = count[digit]
            count[digit] = place + 1
            other[place] = word
        words, other = other, words
        swapped = int64(1) - swapped
    return swapped


def insertion_sort(words, n):
    for i in range(1, n):
        moving = words[i]
        j = int64(i)
        while j > 0 and words[j - 1] > moving:
            words[j] = words[j - 1]
            j -= 1
        words[j] = moving


def settle(keys, order, other, counts, n, least, mask):
    """Sorts the runs of words whose keys agree above `mask` by what is below it."""
    i = int64(0)
    while i < n:
        upper = order[i] >> uint64(32)
        stop = i + 1
        while stop < n and order[stop] >> uint64(32) == upper:
            stop += 1
        size = stop - i
        if size > 1:
            run = offset(order, i)
            for r in range(size):
                position = run[r] & LOW
                run[r] = (((keys[int64(position)] - least) & mask) << uint64(32)) | position
            if size <= 32:
                insertion_sort(run, size)
            elif radix_sort(run, other, counts, size, 4) == 1:
                for r in range(size):
                    run[r] = other[r]
        i = stop


def order_of(keys, words, other, counts, n):
    """Sorts: where the keys' positions, in order, stand in the lower halves of words."""
    if n <= RANKED:
        rank_sort(keys, words, n)
        return words
    least, bits = key_range(keys, n)
    shift = max(bits - 32, int64(0))
    for i in range(n):
        words[i] = (((keys[i] - least) >> uint64(shift)) << uint64(32)) | uint64(i)
    order, spare = words, other
    if radix_sort(words, other, counts, n, min((bits + 7) // 8, int64(4))) == 1:
        order, spare = other, words
    if shift > 0:
        settle(keys, order, spare, counts, n, least, (uint64(1) << uint64(shift)) - uint64(1))
    return order


# ---------------------------------------------------------------- eight rows at a time
def _exchange_words(a, b):
    """Eight words at a, and eight at b: the smaller ones go to a."""
    for c in range(8):
        if a[c] > b[c]:
            a[c], b[c] = b[c], a[c]


def _exchange_pairs(a, b):
    """As exchange_words for keys, each with its position eight words on, which decides between equal ones."""
    for c in range(8):
        if (a[c], a[8 + c]) > (b[c], b[8 + c]):
            a[c], b[c] = b[c], a[c]
            a[8 + c], b[8 + c] = b[8 + c], a[8 + c]


_exchange_words.__name__, _exchange_pairs.__name__ = "exchange_words", "exchange_pairs"
exchange_words = Intrinsic(_exchange_words, module="numtorch.kernels.cpu.sort.exchange_ir")
exchange_pairs = Intrinsic(_exchange_pairs, module="numtorch.kernels.cpu.sort.exchange_ir")
exchange = exchange_words


def make_line(row, line, i, width, apart, mask):
    for c in range(width):
        here = key(load(row[c * apart])) ^ mask
        if LINE == 8:
            line[c] = (here << uint64(16)) | uint64(i)
        else:
            line[c] = here
            line[8 + c] = uint64(i)


def make_lines(x, words, n, step, width, apart, mask):
    """Words in the order of the elements of `width` rows, which lie `apart`, their elements `step` apart."""
    done = int64(0)
    if step == 1 and width == TILE:                      # a block is moved in registers: single elements take a fifth longer
        block = local_like(x, 64)
        while done + 8 <= n:
            transpose_block(offset(x, done), apart, block, int64(8))
            for i in range(8):
                make_line(offset(block, 8 * i), offset(words, (done + i) * LINE), done + i, 8, 1, mask)
            done += 8
    for i in range(done, n):
        make_line(offset(x, i * step), offset(words, i * LINE), i, width, apart, mask)


def position_at(words, i, c):
    """Where the element that is i-th in order stood in row c."""
    return int64(words[i * LINE + c] & uint64(0xFFFF)) if LINE == 8 else int64(words[i * LINE + 8 + c])


def sort_lines(words, n):
    top = int64(1)
    while 2 * top < n:
        top *= 2
    p = top if n > 1 else int64(0)
    while p > 0:
        q, r, d = top, int64(0), p
        while True:
            for first in range(r, n - d, 2 * p):
                for i in range(first, min(first + p, n - d)):
                    exchange(offset(words, i * LINE), offset(words, (i + d) * LINE))
            if q == p:
                break
            q, r, d = q // 2, p, q - p
        p //= 2


# ---------------------------------------------------------------- kernels
# The workspace holds three words an element of a row, and with columns a tile of elements.
def sort_row(row, values, indices, keys, counts, n, step, mask):
    make_keys(row, keys, n, mask)
    order = order_of(keys, offset(keys, n), offset(keys, 2 * n), counts, n)
    for i in range(n):
        position = int64(order[i] & LOW)
        values[i * step] = row[position]
        indices[i * step] = position


def by_lines(n, width):
    """Whether the network takes less time than sorting `width` rows one by one."""
    return width >= (2 if n <= RANKED else WIDE) and n <= LONGEST


def sort(x, values, indices, workspace, descriptor):
    outer, n, inner = descriptor[OUTER], descriptor[LENGTH], descriptor[INNER]
    columns, mask = descriptor[COLUMNS], uint64(descriptor[MASK])
    counts = local_array(int64, 1024)
    tile = as_pointer(address_of(workspace) + 24 * n, x)
    groups, rows, apart = outer, columns, int64(1)
    if inner == 1:
        groups, rows, apart = int64(1), outer, n
    for o in range(groups):
        for first in range(0, rows, TILE):
            start = o * n * inner + first * apart
            width = min(rows - first, int64(TILE))
            source, value, index = offset(x, start), offset(values, start), offset(indices, start)
            if by_lines(n, width):
                make_lines(source, workspace, n, inner, width, apart, mask)
                sort_lines(workspace, n)
                for i in range(n):
                    for c in range(width):
                        position = position_at(workspace, i, c)
                        value[i * inner + c * apart] = source[position * inner + c * apart]
                        index[i * inner + c * apart] = position
                continue
            if inner > 1:
                column_tile(source, tile, n, inner, width)
                source = tile
            for c in range(width):
                at = c * apart
                sort_row(offset(source, c * n), offset(value, at), offset(index, at), workspace, counts, n, inner, mask)


# ---------------------------------------------------------------- planners
def key_of(dtype):
    """The function that makes keys of a dtype's elements, and the bytes of a key: of uint32, 33 bits."""
    compute = np.dtype(compute_type(dtype))
    if compute.kind == "f":
        return (key_float64, 8) if compute.itemsize == 8 else (key_float32, 4)
    if compute.itemsize == 8:
        return (key_int64, 8) if compute.kind == "i" else (key_uint64, 8)
    return key_small_integer, 5


def complement(digits, descending):
    """The mask that turns the order of keys round."""
    return 0 if not descending else (1 << 8 * digits) - 1 if digits < 8 else -1


def split_rows(outer, R, inner, grain):
    """Rows of (outer, R, inner) data split among threads: each part's outer rows and columns, and the first of both."""
    work = outer * R * inner
    if outer > 1 or inner == 1:
        return [(stop - start, inner, start, 0) for start, stop in shares(outer, work, grain, TILE if R <= RANKED else 1)]
    return [(outer, stop - start, 0, start) for start, stop in shares(inner, work, grain, multiple=TILE)]


def line_of(digits):
    """The names of a kernel that sorts lines of keys of this many bytes."""
    return dict(LINE=16, exchange=exchange_pairs) if digits == 8 else {}


def line_bytes(R, digits):
    """What one part needs for the lines of eight rows, where they may be sorted together."""
    return 8 * R * line_of(digits).get("LINE", LINE) if R <= LONGEST else 0


def scratch_bytes(R, inner, words, size):
    """What one part needs: 64-bit words for each element of a row, and a tile where rows are columns."""
    return 8 * words + (TILE * R * size if inner > 1 else 0)


def plan_sort(dtype: str, outer: int, R: int, inner: int, descending: bool = False):
    """x sorted over R, from the greatest element on if `descending`, and where each was; stable, and NaN is the greatest.

    Addresses: x (outer, R, inner), values and indices (int64) of the same shape, workspace. Values must not be x.

    Raises:
        RuntimeError: more than 2**32 elements in a row.
    """
    if R >= 2**32:
        raise RuntimeError(f"sort: expected fewer than 2**32 elements along the dimension, got {R}")
    function, digits = key_of(dtype)
    kernel = typed(sort, dtype, ("element*", "element*", "int64*", "uint64*", "int64*"), key=function, **line_of(digits))
    size, mask = itemsize(dtype), complement(digits, descending)
    parts = split_rows(outer, R, inner, GRAIN)
    rows = [(count, R, inner, columns, mask) for count, columns, *_ in parts]
    starts = [row * R * inner + column for *_, row, column in parts]
    offsets = [(start * size, start * size, start * 8) for start in starts]
    return prepare_parts(kernel, rows, outer * R * inner, offsets, worth_releasing=3_000,
                         workspace=max(scratch_bytes(R, inner, 3 * R, size), line_bytes(R, digits)))
