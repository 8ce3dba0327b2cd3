"""Distinct values, from the runs of equal neighbours in data that is in order (or taken as it comes); and counts: how often
each integer occurs, how many values fall into each bin, and where values would stand in sorted ones."""
from __future__ import annotations

from numpy import float32, float64, int32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import float_of, local_array, offset, select
from ..shared.elements import bits, part_offsets, prepare_parts, shares, typed

T = float32
load = store = same
C = int64                        # what is counted in
RIGHT = False
GRAIN = 4_000

# descriptors: of runs, what to write besides their values, and whether x was put in order; of counts, the places that have one, or
# what is put over a byte by exclusive or to give its place (128 for signed ones, so that they are in order), and what bins span
ELEMENTS, WITH_INVERSE, WITH_COUNTS, ORDERED = range(4)
PLACES, LEAST, GREATEST = range(ELEMENTS + 1, ELEMENTS + 4)
SIGN = PLACES
ROWS, LENGTH, BOUNDARIES, STEP = range(4)                # of rows; boundaries of one, and from one row of these to the next


# ---------------------------------------------------------------- runs
def count_runs(x, count, descriptor):
    """How many runs of equal neighbours x has. A NaN equals nothing."""
    n = descriptor[ELEMENTS]
    total = int64(n > 0)
    behind = offset(x, 1)
    for i in range(n - 1):
        total += int64(load(behind[i]) != load(x[i]))
    count[0] = total


def write_runs(x, order, values, inverse, counts, descriptor):
    """The runs' values, for each element the number of its run, and the runs' lengths.

    `order` says where x's elements were before they were put in order.
    """
    n, ordered = descriptor[ELEMENTS], descriptor[ORDERED]
    with_inverse, with_counts = descriptor[WITH_INVERSE], descriptor[WITH_COUNTS]
    run = int64(-1)
    began = int64(0)
    for i in range(n):
        if i == 0 or load(x[i]) != load(x[i - 1]):
            if with_counts != 0 and run >= 0:
                counts[run] = i - began
            run += 1
            began = int64(i)
            values[run] = x[i]
        if with_inverse != 0:
            place = order[i] if ordered != 0 else int64(i)
            inverse[place] = run
    if with_counts != 0 and run >= 0:
        counts[run] = n - began


def longest_run(x, order, values, indices, descriptor):
    """Of each row in order, the value of its first longest run, and where the last of it was."""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    for row in range(rows):
        a = offset(x, row * n)
        longest = length = int64(0)
        last = int64(0)
        for i in range(n):
            length += 1
            if i == n - 1 or load(a[i]) != load(a[i + 1]):
                if length > longest:
                    longest, last = length, int64(i)
                length = int64(0)
        values[row] = a[last]
        indices[row] = order[row * n + last]


# ---------------------------------------------------------------- counting integers, and values in bins
def limits(x, extremes, descriptor):
    """The least and the greatest of integers, of which there is one."""
    low = high = x[0]
    for i in range(descriptor[ELEMENTS]):
        low = min(low, x[i])
        high = max(high, x[i])
    extremes[0] = int64(low)
    extremes[1] = int64(high)


def count_integers(x, counts, descriptor):
    """counts[x[i]] += 1 for integers that are in range."""
    for place in range(descriptor[PLACES]):
        counts[place] = 0
    for i in range(descriptor[ELEMENTS]):
        counts[int64(x[i])] += 1


def count_bytes(x, counts, descriptor):
    """How often each byte occurs. A count waits for the one before in its place, so four neighbours have tables of their own."""
    n, sign = descriptor[ELEMENTS], descriptor[SIGN]
    a = local_array(int64, 1024)
    b, c, d = offset(a, 256), offset(a, 512), offset(a, 768)
    for i in range(1024):
        a[i] = 0
    for i in range(0, n // 4 * 4, 4):
        a[int64(x[i])] += 1
        b[int64(x[i + 1])] += 1
        c[int64(x[i + 2])] += 1
        d[int64(x[i + 3])] += 1
    for i in range(n // 4 * 4, n):
        a[int64(x[i])] += 1
    for byte in range(256):
        counts[byte ^ sign] = a[byte] + b[byte] + c[byte] + d[byte]


def rank_bytes(x, ranks, out, descriptor):
    """out[i] = ranks[x[i]], in the places of `count_bytes`."""
    sign = descriptor[SIGN]
    for i in range(descriptor[ELEMENTS]):
        out[i] = ranks[int64(x[i]) ^ sign]


def add_weights(x, weights, sums, descriptor):
    """sums[x[i]] += weights[i] for integers that are in range."""
    for place in range(descriptor[PLACES]):
        sums[place] = C(0)
    for i in range(descriptor[ELEMENTS]):
        sums[int64(x[i])] += weights[i]


def count_bins(x, out, descriptor):
    """How many elements fall into each of equal bins from `low` to `high`, the last of which is closed."""
    n, bins = descriptor[ELEMENTS], descriptor[PLACES]
    low = T(float_of(descriptor[LEAST]))
    high = T(float_of(descriptor[GREATEST]))
    scale = T(bins) / (high - low)
    for bin in range(bins):
        out[bin] = store(T(0))
    for i in range(n):
        value = T(load(x[i]))
        if value >= low and value <= high:
            bin = max(min(int64((value - low) * scale), bins - 1), int64(0))        # NaN, where both ends are rounded to one number
            out[bin] = store(T(load(out[bin]) + T(1)))


# ---------------------------------------------------------------- binary search
def places(boundaries, x, out, descriptor):
    """Where each element would be inserted into its row of sorted boundaries: before equal ones, or behind them if RIGHT."""
    rows, n, m, step = descriptor[ROWS], descriptor[LENGTH], descriptor[BOUNDARIES], descriptor[STEP]
    for row in range(rows):
        edges = offset(boundaries, row * step)
        a = offset(x, row * n)
        b = offset(out, row * n)
        for i in range(n):
            value = T(load(a[i]))
            low = int64(0)
            left = m
            while left > 0:
                half = left // 2
                edge = T(load(edges[low + half]))
                before = not (value < edge) if RIGHT else not (edge >= value)
                low = select(before, low + half + 1, low)
                left = select(before, left - half - 1, half)
            b[i] = C(low)


# ---------------------------------------------------------------- planners
def plan_count_runs(dtype: str, n: int):
    """How many runs of equal neighbours x has; a NaN equals nothing. Addresses: x (n), count int64."""
    return prepare_parts(typed(count_runs, dtype, ("element*", "int64*", "int64*")), [(n,)], n)


def plan_write_runs(dtype: str, n: int, inverse: bool, counts: bool, ordered: bool):
    """The value of each run of equal neighbours in x, for each element the number of its run if `inverse`, and the runs' lengths if
    `counts`. With `ordered`, x was put in order, and the inverse goes where its elements were.

    Addresses: x (n), order (n) int64: where elements were, values (runs), inverse (n) int64, counts (runs) int64; those not asked
    for may be 0.
    """
    kernel = typed(write_runs, dtype, ("element*", "int64*", "element*", "int64*", "int64*", "int64*"))
    return prepare_parts(kernel, [(n, int(inverse), int(counts), int(ordered))], n)


def plan_longest_run(dtype: str, rows: int, n: int):
    """Of each row in order, the value of its first longest run, and where the last of it was.

    Addresses: x (rows, n) in order, order (rows, n) int64: where elements were, values (rows), indices (rows) int64.
    """
    kernel = typed(longest_run, dtype, ("element*", "int64*", "element*", "int64*", "int64*"))
    parts, size = shares(rows, rows * n, GRAIN), itemsize(dtype)
    return prepare_parts(kernel, [(stop - start, n) for start, stop in parts], rows * n,
                         part_offsets(parts, n * size, n * 8, size, 8))


def plan_limits(dtype: str, n: int):
    """The least and the greatest. Addresses: x (n > 0) of integers, two int64."""
    return prepare_parts(typed(limits, dtype, ("element*", "int64*", "int64*")), [(n,)], n)


def plan_count_integers(dtype: str, n: int, size: int):
    """How often each integer occurs. Addresses: x (n) of integers in 0 .. size-1, counts (size) int64."""
    return prepare_parts(typed(count_integers, dtype, ("element*", "int64*", "int64*")), [(n, size)], n)


def plan_count_bytes(dtype: str, n: int):
    """How often each value occurs. Addresses: x (n) of a dtype of one byte, counts (256) int64, from the least value on."""
    kernel = typed(count_bytes, "uint8", ("element*", "int64*", "int64*"))
    return prepare_parts(kernel, [(n, 128 if dtype == "int8" else 0)], n)


def plan_rank_bytes(dtype: str, n: int):
    """out[i] = ranks[x[i]]. Addresses: x (n) of a dtype of one byte, ranks (256) int64, from the least value on, out (n) int64."""
    kernel = typed(rank_bytes, "uint8", ("element*", "int64*", "int64*", "int64*"))
    return prepare_parts(kernel, [(n, 128 if dtype == "int8" else 0)], n)


def plan_add_weights(dtype: str, kind: str, n: int, size: int):
    """sums[v] = the sum of weights[i] where x[i] is v.

    Addresses: x (n) of integers in 0 .. size-1, weights (n) and sums (size), both of the float type `kind`.
    """
    kernel = typed(add_weights, dtype, ("element*", kind + "*", kind + "*", "int64*"), C=float32 if kind == "float32" else float64)
    return prepare_parts(kernel, [(n, size)], n)


def plan_count_bins(dtype: str, n: int, bins: int, low: float, high: float):
    """How many elements fall into each of so many equal bins from `low` to `high`, low < high, the last of which is closed. Others
    and NaN count nowhere.

    Addresses: x (n), out (bins), both of a float dtype.
    """
    kernel = typed(count_bins, dtype, ("element*", "element*", "int64*"))
    return prepare_parts(kernel, [(n, bins, bits(low), bits(high))], n)


def plan_places(dtype: str, rows: int, n: int, m: int, shared: bool, right: bool, int32_out: bool):
    """Where each element would be inserted into its row of sorted boundaries: before equal ones, or behind them if `right`.

    Addresses: boundaries (rows, m), or (m) if `shared`; x (rows, n); out (rows, n) of int64, or int32 if `int32_out`.
    """
    kernel = typed(places, dtype, ("element*", "element*", "int32*" if int32_out else "int64*", "int64*"), RIGHT=right,
                   C=int32 if int32_out else int64)
    size, wide = itemsize(dtype), 4 if int32_out else 8
    work = rows * n * max(1, m.bit_length()) * 2
    if rows > 1 and not shared:
        parts = shares(rows, work, 30_000)
        return prepare_parts(kernel, [(stop - start, n, m, m) for start, stop in parts], work,
                             part_offsets(parts, m * size, n * size, n * wide))
    parts = shares(rows * n, work, 30_000)
    return prepare_parts(kernel, [(1, stop - start, m, 0) for start, stop in parts], work, part_offsets(parts, 0, size, wide))
