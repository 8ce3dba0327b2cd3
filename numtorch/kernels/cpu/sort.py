"""Stable sort, argsort and top-k over the middle axis of contiguous (outer, R, inner) data.

Each row's elements become unsigned keys whose order is the wanted one (NaN greatest, -0.0 equal to 0.0; complemented to
descend). Keys and positions then go through a least-significant-digit radix sort, 8 bits a pass, which is stable and
linear; a digit that all keys share costs nothing. Up to 32 elements are sorted by insertion. Top-k of up to 32 keeps the best
in order while it reads; a larger one first finds the k-th key by counting digits from the top, and sorts only what is not
above it.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int64, uint32, uint64

from ..intrinsics import bits_of, local_array, offset
from .elements import compute_type, itemsize, prepare_parts, same, shares, typed

T = float32
load = store = same
GRAIN = 4_000


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


key = key_float32


# ---------------------------------------------------------------- sorting keys with their positions
def insertion_sort(keys, positions, n):
    for i in range(1, n):
        moving = keys[i]
        position = positions[i]
        j = int64(i)
        while j > 0 and keys[j - 1] > moving:
            keys[j] = keys[j - 1]
            positions[j] = positions[j - 1]
            j -= 1
        keys[j] = moving
        positions[j] = position


def insert_smallest(keys, positions, n, k):
    """The k smallest of n keys in order, equal ones by position, to the front of both. 0 < k < n."""
    for i in range(n):
        moving = keys[i]
        if i >= k and moving >= keys[k - 1]:
            continue
        j = min(int64(i), k - 1)                         # the last of the k makes room
        while j > 0 and keys[j - 1] > moving:
            keys[j] = keys[j - 1]
            positions[j] = positions[j - 1]
            j -= 1
        keys[j] = moving
        positions[j] = uint64(i)


def radix_sort(keys, positions, other_keys, other_positions, counts, n, digits):
    """Sorts into `keys` and `positions` (returns 0) or into the other two (returns 1)."""
    for i in range(digits * 256):
        counts[i] = 0
    for i in range(n):
        word = keys[i]
        for d in range(digits):
            counts[d * 256 + int64((word >> uint64(8 * d)) & uint64(255))] += 1
    swapped = int64(0)
    for d in range(digits):
        shift = uint64(8 * d)
        count = offset(counts, d * 256)
        if count[int64((keys[0] >> shift) & uint64(255))] == n:
            continue
        total = int64(0)
        for digit in range(256):
            here = count[digit]
            count[digit] = total
            total += here
        for i in range(n):
            digit = int64((keys[i] >> shift) & uint64(255))
            place = count[digit]
            count[digit] = place + 1
            other_keys[place] = keys[i]
            other_positions[place] = positions[i]
        keys, other_keys = other_keys, keys
        positions, other_positions = other_positions, positions
        swapped = int64(1) - swapped
    return swapped


def keep_smallest(keys, positions, counts, n, k, digits):
    """Moves the k smallest keys to the front, equal ones by position. 0 < k < n."""
    prefix = uint64(0)
    left = k                                             # how many are still wanted among the keys with this prefix
    for back in range(digits):
        shift = uint64(8 * (digits - 1 - back))
        for digit in range(256):
            counts[digit] = 0
        for i in range(n):
            word = keys[i] >> shift
            if word >> uint64(8) == prefix:
                counts[int64(word & uint64(255))] += 1
        digit = int64(0)
        while counts[digit] < left:
            left -= counts[digit]
            digit += 1
        prefix = (prefix << uint64(8)) | uint64(digit)
    kept = int64(0)
    for i in range(n):
        word = keys[i]
        if word < prefix or (word == prefix and left > 0):
            if word == prefix:
                left -= 1
            positions[kept] = positions[i]
            keys[kept] = word
            kept += 1


def sort(x, values, indices, workspace, walk):
    """walk: outer, R, inner, how many to keep, digits, mask that complements the keys."""
    outer, n, inner, k, digits = walk[0], walk[1], walk[2], walk[3], walk[4]
    mask = uint64(walk[5])
    counts = local_array(int64, 2048)
    other_keys = offset(workspace, n)
    positions = offset(workspace, 2 * n)
    other_positions = offset(workspace, 3 * n)
    if n == 0 or k == 0:
        return
    for o in range(outer):
        for column in range(inner):
            source = offset(x, o * n * inner + column)
            out = o * k * inner + column
            for i in range(n):
                workspace[i] = key(load(source[i * inner])) ^ mask
                positions[i] = uint64(i)
            swapped = int64(0)
            if k < n and k > 32:
                keep_smallest(workspace, positions, counts, n, k, digits)
            if k < n and k <= 32:
                insert_smallest(workspace, positions, n, k)
            elif k <= 32:
                insertion_sort(workspace, positions, k)
            else:
                swapped = radix_sort(workspace, positions, other_keys, other_positions, counts, k, digits)
            final = other_positions if swapped == 1 else positions
            for i in range(k):
                position = int64(final[i])
                values[out + i * inner] = source[position * inner]
                indices[out + i * inner] = position


# ---------------------------------------------------------------- planners
def _key_of(dtype):
    compute = np.dtype(compute_type(dtype))
    if compute.kind == "f":
        return (key_float64, 8) if compute.itemsize == 8 else (key_float32, 4)
    return (key_int64, 8) if compute.itemsize == 8 else (key_small_integer, 4)


def plan_topk(dtype: str, outer: int, R: int, inner: int, k: int, descending: bool = True):
    """The k largest (or smallest) over R in order, equal ones in order of position.

    Addresses: x (outer, R, inner), values (outer, k, inner), indices (outer, k, inner) int64, workspace.
    """
    function, digits = _key_of(dtype)
    kernel = typed(sort, dtype, ("element*", "element*", "int64*", "uint64*", "int64*"), key=function)
    mask = 0 if not descending else 0xFFFFFFFF if digits == 4 else -1
    work, size = outer * R * inner, itemsize(dtype)
    parts = shares(outer, work, GRAIN)
    rows = [(stop - start, R, inner, k, digits, mask) for start, stop in parts]
    offsets = [(start * R * inner * size, start * k * inner * size, start * k * inner * 8, part * 32 * R)
               for part, (start, _) in enumerate(parts)]
    return prepare_parts(kernel, rows, offsets, work, worth_releasing=3_000, workspace=32 * R * len(parts))


def plan_sort(dtype: str, outer: int, R: int, inner: int, descending: bool = False, stable: bool = True):
    """Sorted values and where they were. Always stable; NaN is the greatest.

    Addresses: x (outer, R, inner), values and indices (int64) of the same shape, workspace. Values must not be x.
    """
    return plan_topk(dtype, outer, R, inner, R, descending)
