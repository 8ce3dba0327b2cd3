"""Top-k and the k-th element over the middle axis of (outer, R, inner) data, without sorting it. Keys and tiles are sort.py's.

The k-th key of short rows is found by sorting several together, of others by counting: how many keys have each value of their
leading 11 bits says which value the k-th has; only the keys with that value are looked at again, with the next 11 bits.

Top-k reads blocks of 64 keys and, by one vector comparison, passes over those with nothing below the k-th best so far. Up to
32 are kept in order as they come. More are collected in a buffer, which is cut back to its k best when it is full.
"""
from __future__ import annotations

from numpy import float32, int64, uint64

from ...elementtypes import itemsize, same
from ...intrinsics import address_of, as_pointer, local_array, offset
from ..shared.elements import prepare_parts, typed
from .sort import (
    COLUMNS,
    INNER,
    LENGTH,
    LOW,
    OUTER,
    RANKED,
    TILE,
    by_lines,
    column_tile,
    complement,
    key_float32,
    key_of,
    key_range,
    line_bytes,
    line_of,
    make_keys,
    make_lines,
    order_of,
    position_at,
    rank,
    scratch_bytes,
    sort_lines,
    split_rows,
)
from .sort import GRAIN as SORTED_GRAIN

T = float32
load = store = same
key = key_float32
GRAIN = 8_000
BLOCK = 64
FEW = 32                         # kept in order while reading
BUFFER = 4096
DIGIT = 11

# descriptors: sort's words but the mask; then of one element, how many are before it (-1: the median), whether that skips NaN; of
# several, how many, the buffer's elements, and the mask that complements the keys
RANK, SKIP_NAN = range(COLUMNS + 1, COLUMNS + 3)
COUNT, ROOM, MASK = range(COLUMNS + 1, COLUMNS + 4)


# ---------------------------------------------------------------- the k-th key
def kth_by_rank(keys, n, k):
    """The position of the key with k before it."""
    for i in range(n):
        if rank(keys, i, n) == k:
            return int64(i)
    return int64(0)


def kth_key(keys, spare, counts, n, k):
    """The key with k before it in order, and how many of these are equal to it."""
    least, bits = key_range(keys, n)
    digit_bits = int64(8) if n < 4096 else int64(DIGIT)
    digit_mask = (uint64(1) << uint64(digit_bits)) - uint64(1)
    shift = max(bits - digit_bits, int64(0))
    source, left = keys, n
    while True:
        for digit in range(int64(1) << digit_bits):
            counts[digit] = 0
        for i in range(left):
            counts[int64(((source[i] - least) >> uint64(shift)) & digit_mask)] += 1
        chosen = int64(0)
        while counts[chosen] <= k:
            k -= counts[chosen]
            chosen += 1
        kept = int64(0)
        wanted = uint64(chosen)
        for i in range(left):
            word = source[i]
            if ((word - least) >> uint64(shift)) & digit_mask == wanted:
                spare[kept] = word
                kept += 1
        source, left = spare, kept
        if shift == 0 or left == 1:
            return spare[0], k
        shift = max(shift - digit_bits, int64(0))


def kth_position(keys, spare, counts, n, k):
    if n <= RANKED:
        return kth_by_rank(keys, n, k)
    kth, equal = kth_key(keys, spare, counts, n, k)
    for i in range(n):
        if keys[i] == kth:
            if equal == 0:
                return int64(i)
            equal -= 1
    return int64(0)


def nan_count(row, n):
    """How many elements are NaN, and the first of them."""
    total = int64(0)
    for i in range(n):
        x = load(row[i])
        total += int64(x != x)
    first = int64(0)
    if total > 0:
        while load(row[first]) == load(row[first]):
            first += 1
    return total, first


def chosen_position(row, keys, counts, n, k, skip):
    """The position of the k-th element of a row, or for k < 0 of its median."""
    if k < 0:
        nans, first = nan_count(row, n)
        if nans > 0 and skip == 0:
            return first
        k = max((n - nans - 1) // 2, int64(0))
    make_keys(row, keys, n, uint64(0))
    return kth_position(keys, offset(keys, n), counts, n, k)


def chosen_in_lines(source, words, c, n, step, apart, k, skip):
    """As chosen_position, of row c of sorted lines."""
    if k < 0:
        nans = int64(0)                                  # which are last
        while nans < n:
            v = load(source[position_at(words, n - 1 - nans, c) * step + c * apart])
            if v == v:
                break
            nans += 1
        k = n - nans if nans > 0 and skip == 0 else max((n - nans - 1) // 2, int64(0))
    return position_at(words, k, c)


def kth(x, values, indices, workspace, descriptor):
    outer, n, inner, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[INNER], descriptor[COLUMNS]
    k, skip = descriptor[RANK], descriptor[SKIP_NAN]
    counts = local_array(int64, 2048)
    tile = as_pointer(address_of(workspace) + 16 * n, x)
    groups, rows, apart = outer, columns, int64(1)
    if inner == 1:
        groups, rows, apart = int64(1), outer, n
    for o in range(groups):
        for first in range(0, rows, TILE):
            source = offset(x, o * n * inner + first * apart)
            out = o * inner + first
            width = min(rows - first, int64(TILE))
            lines = n <= RANKED and by_lines(n, width)    # longer ones are counted as fast
            if lines:
                make_lines(source, workspace, n, inner, width, apart, uint64(0))
                sort_lines(workspace, n)
            elif inner > 1:
                column_tile(source, tile, n, inner, width)
                source = tile
            for c in range(width):
                if lines:
                    position = chosen_in_lines(source, workspace, c, n, inner, apart, k, skip)
                    values[out + c] = source[position * inner + c * apart]
                else:
                    row = offset(source, c * n)
                    position = chosen_position(row, workspace, counts, n, k, skip)
                    values[out + c] = row[position]
                indices[out + c] = position


# ---------------------------------------------------------------- the best k
def hits(block, n, limit):
    total = int64(0)
    for i in range(n):
        total += int64(block[i] <= limit)
    return total


def few_best(row, keys, positions, block, n, k, mask):
    """The k smallest keys of a row in order, equal ones by position."""
    filled = int64(0)
    limit = ~uint64(0)
    for first in range(0, n, BLOCK):
        size = min(n - first, int64(BLOCK))
        make_keys(offset(row, first), block, size, mask)
        if hits(block, size, limit) == 0:
            continue
        for i in range(size):
            moving = block[i]
            if moving > limit:
                continue
            j = min(filled, k - 1)                       # the last of the k makes room
            while j > 0 and keys[j - 1] > moving:
                keys[j] = keys[j - 1]
                positions[j] = positions[j - 1]
                j -= 1
            keys[j] = moving
            positions[j] = uint64(first + i)
            filled = min(filled + 1, k)
            if filled == k:
                if keys[k - 1] == uint64(0):
                    return
                limit = keys[k - 1] - uint64(1)


def cut_back(keys, positions, spare, counts, n, k):
    """Moves the k smallest keys to the front, equal ones by position, in order of position. Returns the greatest of them."""
    greatest, equal = kth_key(keys, spare, counts, n, k - 1)
    equal += 1                                           # of those equal to the greatest, this many belong to the k
    kept = int64(0)
    for i in range(n):
        word = keys[i]
        if word < greatest or (word == greatest and equal > 0):
            if word == greatest:
                equal -= 1
            keys[kept] = word
            positions[kept] = positions[i]
            kept += 1
    return greatest


def many_best(row, keys, positions, spare, counts, block, n, k, room, mask):
    """The k smallest keys of a row, by position."""
    filled = int64(0)
    limit = ~uint64(0)
    for first in range(0, n, BLOCK):
        size = min(n - first, int64(BLOCK))
        make_keys(offset(row, first), block, size, mask)
        if hits(block, size, limit) == 0:
            continue
        for i in range(size):
            if block[i] <= limit:
                keys[filled] = block[i]
                positions[filled] = uint64(first + i)
                filled += 1
        if filled > room - BLOCK:
            greatest = cut_back(keys, positions, spare, counts, filled, k)
            filled = k
            if greatest == uint64(0):
                return
            limit = greatest - uint64(1)
    if filled > k:
        cut_back(keys, positions, spare, counts, filled, k)


def topk(x, values, indices, workspace, descriptor):
    outer, n, inner, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[INNER], descriptor[COLUMNS]
    k, room, mask = descriptor[COUNT], descriptor[ROOM], uint64(descriptor[MASK])
    counts = local_array(int64, 2048)
    block = local_array(uint64, 64)
    positions = offset(workspace, room)
    words = offset(workspace, 2 * room)
    tile = as_pointer(address_of(workspace) + 32 * room, x)
    for o in range(outer):
        for first in range(0, columns, TILE):
            start = o * n * inner + first
            out = o * k * inner + first
            width = min(columns - first, int64(TILE))
            rows = offset(x, start)
            if inner > 1:
                column_tile(rows, tile, n, inner, width)
                rows = tile
            for c in range(width):
                row = offset(rows, c * n)
                order = words
                if k <= FEW:
                    few_best(row, workspace, positions, block, n, k, mask)
                    for i in range(k):
                        words[i] = uint64(i)
                else:
                    many_best(row, workspace, positions, words, counts, block, n, k, room, mask)
                    order = order_of(workspace, words, offset(words, room), counts, k)
                for i in range(k):
                    position = int64(positions[int64(order[i] & LOW)])
                    values[out + c + i * inner] = row[position]
                    indices[out + c + i * inner] = position


# ---------------------------------------------------------------- planners
def _plan(function, dtype, outer, R, inner, k, words, tail):
    key_function, digits = key_of(dtype)
    kernel = typed(function, dtype, ("element*", "element*", "int64*", "uint64*", "int64*"), key=key_function, **line_of(digits))
    size = itemsize(dtype)
    parts = split_rows(outer, R, inner, SORTED_GRAIN if function is kth and R <= RANKED else GRAIN)
    rows = [(count, R, inner, columns, *tail) for count, columns, *_ in parts]
    offsets = []
    for *_, row, column in parts:
        out = row * k * inner + column
        offsets.append(((row * R * inner + column) * size, out * size, out * 8))
    workspace = max(scratch_bytes(R, inner, words, size), line_bytes(R, digits) if function is kth else 0)
    return prepare_parts(kernel, rows, outer * R * inner, offsets, worth_releasing=5_000, workspace=workspace)


def plan_topk(dtype: str, outer: int, R: int, inner: int, k: int, descending: bool = True):
    """The k largest in order (the smallest, if not `descending`) and where they were; 0 < k <= R.

    Addresses: x (outer, R, inner), values (outer, k, inner), indices (outer, k, inner) int64, workspace.
    """
    room = FEW if k <= FEW else min(R, max(BUFFER, 4 * k)) + BLOCK
    return _plan(topk, dtype, outer, R, inner, k, 4 * room, (k, room, complement(key_of(dtype)[1], descending)))


def plan_kth(dtype: str, outer: int, R: int, inner: int, k: int):
    """The element with k before it in order, NaN greatest, and where it was; 0 <= k < R.

    Addresses: x (outer, R, inner), values (outer, inner), indices (outer, inner) int64, workspace.
    """
    return _plan(kth, dtype, outer, R, inner, 1, 2 * R, (k, 0))


def plan_median(dtype: str, outer: int, R: int, inner: int, skip_nan: bool):
    """The lower median over R: of the numbers, or the first NaN where there is one and not `skip_nan`, and where it was.

    Addresses: as for `plan_kth`, whose shapes (outer, R, inner) are meant.
    """
    return _plan(kth, dtype, outer, R, inner, 1, 2 * R, (-1, int(skip_nan)))
