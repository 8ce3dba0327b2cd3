"""Distinct values, histograms and places on a GPU.

The number of an element's run is the running sum of where runs start (../scan/scan.py); then values, inverse and ends of runs are a
thread an element, and their lengths a thread a run. Counts of few bins are added up in shared memory first, in a table of each
block's, since all threads of a device may want to add to one word; those of many bins, and weights, meet by atomics in memory.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int32, int64

from ...cpu.sort import runs as host
from ...cpu.sort.runs import (
    BOUNDARIES,
    ELEMENTS,
    GREATEST,
    LEAST,
    LENGTH,
    ORDERED,
    PLACES,
    ROWS,
    SIGN,
    STEP,
    WITH_COUNTS,
    WITH_INVERSE,
)
from ...elementtypes import same
from ...intrinsics import offset
from ...threads import NOTHING, Prepared
from ..compiler import cuda
from ..environment import SMALL, THREADS
from ..parallel import Form, in_parallel
from ..runtime import runtime
from ..scan.scan import plan_scan
from ..serial import STATUS
from ..shared.atomics import NATIVE, add_at, add_to_shared, replaced
from ..shared.elements import launch, typed
from ..shared.lines import add_total_at, lanes_for, scalar
from ..warps import barrier, shared_address

T, INT, C = float32, int32, int64
load = store = same
RIGHT = False
LANES = 1
BINS = 4 if SMALL else 4096                              # of a block's table
EACH = 2 if SMALL else 16                                # elements that a thread counts


# ---------------------------------------------------------------- runs
def begins(x, r):
    """Whether a run begins at element r. A NaN equals nothing."""
    return r == 0 or load(x[r]) != load(x[r - 1])


def ends(x, r, n):
    return r == n - 1 or load(x[r]) != load(x[r + 1])


def count_runs(x, count, descriptor):
    cells = cuda.shared.array(THREADS, int64)
    me = int64(cuda.threadIdx.x)
    total, i = int64(0), int64(cuda.blockIdx.x) * THREADS + me
    while i < descriptor[ELEMENTS]:
        total += int64(begins(x, i))
        i += int64(cuda.gridDim.x) * THREADS
    add_total_at(count, cells, total, me)


def whether_begins(x, stride, r):
    return int64(begins(x, r))


def plus(x, stride, before, after):
    return before + after


def put_number(x, numbers, unused, stride, r, total):
    numbers[r] = total - 1


def write_runs(x, order, numbers, values, inverse, stops, descriptor):
    """`numbers`: of each element's run. `stops`: where runs end, and behind n of them their number."""
    n = descriptor[ELEMENTS]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < n:
        run = numbers[i]
        if begins(x, i):
            values[run] = x[i]
        if descriptor[WITH_INVERSE] != 0:
            place = i
            if descriptor[ORDERED] != 0:
                place = order[i]
            inverse[place] = run
        if descriptor[WITH_COUNTS] != 0 and ends(x, i, n):
            stops[run] = i + 1
            if i == n - 1:
                stops[n] = run + 1
        i += int64(cuda.gridDim.x) * THREADS


def run_lengths(stops, counts, descriptor):
    n = descriptor[ELEMENTS]
    run = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while run < stops[n]:
        before = int64(0)
        if run > 0:
            before = stops[run - 1]
        counts[run] = stops[run] - before
        run += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- the longest run of each row
def begin_if_any(x, stride, r):
    return r if begins(x, r) else int64(-1)


def later(x, stride, before, after):
    return max(before, after)


def put_begin(x, starts, unused, stride, r, total):
    starts[r] = total


def longest_runs(x, order, starts, values, indices, descriptor):
    """Of each row in order, the value of its first longest run, and where the last of it was. `starts`: of each element's run."""
    length_of = cuda.shared.array(THREADS, int64)
    last_of = cuda.shared.array(THREADS, int64)
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < rows:
        row = first + me // LANES
        a, longest, last = offset(x, row * n), int64(0), int64(0)
        if row < rows:
            for i in range(lane, n, LANES):
                if ends(a, i, n):
                    length = i + 1 - starts[row * n + i]
                    if length > longest:
                        longest, last = length, i
        length_of[me], last_of[me] = longest, last
        half = LANES // 2
        while half > 0:
            barrier()
            if lane < half:
                other = me + half
                longer = length_of[other] > length_of[me]
                if longer or (length_of[other] == length_of[me] and last_of[other] < last_of[me]):
                    length_of[me], last_of[me] = length_of[other], last_of[other]
            half //= 2
        if lane == 0 and row < rows:
            values[row] = a[last_of[me]]
            indices[row] = order[row * n + last_of[me]]
        barrier()                                        # the cells are the next rows'
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- limits
def begin_limits(x, extremes, descriptor):
    if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
        extremes[0] = int64(x[0])
        extremes[1] = int64(x[0])


def lower_at(target, value):
    old = target[0]
    while value < old and not replaced(target, old, value):
        old = target[0]


def raise_at(target, value):
    old = target[0]
    while value > old and not replaced(target, old, value):
        old = target[0]


def limits(x, extremes, descriptor):
    lows = cuda.shared.array(THREADS, int64)
    highs = cuda.shared.array(THREADS, int64)
    me = int64(cuda.threadIdx.x)
    low = high = int64(x[0])
    i = int64(cuda.blockIdx.x) * THREADS + me
    while i < descriptor[ELEMENTS]:
        low, high = min(low, int64(x[i])), max(high, int64(x[i]))
        i += int64(cuda.gridDim.x) * THREADS
    lows[me], highs[me] = low, high
    half = int64(THREADS // 2)
    while half > 0:
        barrier()
        if me < half:
            lows[me], highs[me] = min(lows[me], lows[me + half]), max(highs[me], highs[me + half])
        half //= 2
    if me == 0:
        lower_at(extremes, lows[0])
        raise_at(offset(extremes, 1), highs[0])


# ---------------------------------------------------------------- counts
def sizes_of(descriptor):
    """How many bins there are, and what `integer_bin` is not told."""
    return descriptor[PLACES], T(0), T(0), T(0)


def sizes_of_bytes(descriptor):
    return int64(256), T(0), T(0), T(0)


def sizes_of_bins(descriptor):
    """How many bins, the least and the greatest that count, and the bins of a unit."""
    low, high = scalar(descriptor, LEAST), scalar(descriptor, GREATEST)
    return descriptor[PLACES], low, high, T(descriptor[PLACES]) / (high - low)


def integer_bin(x, i, bins, low, high, scale, descriptor):
    return int64(x[i])


def byte_bin(x, i, bins, low, high, scale, descriptor):
    return int64(x[i]) ^ descriptor[SIGN]


def equal_bin(x, i, bins, low, high, scale, descriptor):
    """The bin of a number, or -1 for none."""
    value = T(load(x[i]))
    if value >= low and value <= high:
        return max(min(int64((value - low) * scale), bins - 1), int64(0))
    return int64(-1)


def count_one(target):
    add_at(target, C(1))


def count_one_stored(target):
    old = target[0]
    while not replaced(target, old, store(T(load(old) + T(1)))):
        old = target[0]


bins_and_sizes, bin_of, count_at = sizes_of, integer_bin, count_one


def count_few(x, counts, descriptor):
    """By way of a table of the block's."""
    cells = cuda.shared.array(BINS, int32)
    bins, low, high, scale = bins_and_sizes(descriptor)
    me = int64(cuda.threadIdx.x)
    for b in range(me, bins, THREADS):
        cells[b] = 0
    barrier()
    i = int64(cuda.blockIdx.x) * THREADS + me
    while i < descriptor[ELEMENTS]:
        b = bin_of(x, i, bins, low, high, scale, descriptor)
        if b >= 0:
            add_to_shared(shared_address(cells, b), int32(1))
        i += int64(cuda.gridDim.x) * THREADS
    barrier()
    for b in range(me, bins, THREADS):
        if cells[b] != 0:
            add_at(offset(counts, b), C(cells[b]))


def count_many(x, counts, descriptor):
    bins, low, high, scale = bins_and_sizes(descriptor)
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        b = bin_of(x, i, bins, low, high, scale, descriptor)
        if b >= 0:
            count_at(offset(counts, b))
        i += int64(cuda.gridDim.x) * THREADS


def add_weights(x, weights, sums, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        add_at(offset(sums, int64(x[i])), weights[i])
        i += int64(cuda.gridDim.x) * THREADS


def rank_bytes(x, ranks, out, descriptor):
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[ELEMENTS]:
        out[i] = ranks[int64(x[i]) ^ descriptor[SIGN]]
        i += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- binary search
def places(boundaries, x, out, descriptor):
    """A thread an element."""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < rows * n:
        edges, value = offset(boundaries, i // n * descriptor[STEP]), T(load(x[i]))
        low, left = int64(0), descriptor[BOUNDARIES]
        while left > 0:
            half = left // 2
            edge = T(load(edges[low + half]))
            before = not value < edge if RIGHT else not edge >= value
            if before:
                low += half + 1
                left -= half + 1
            else:
                left = half
        out[i] = C(low)
        i += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
class _Runs:
    """Runs by way of the elements' numbers, which are in scratch memory of this call's own; behind them are the runs' ends."""

    __slots__ = ("device", "measure", "n", "number", "write")

    def __init__(self, n, number, write, measure, device):
        self.n, self.number, self.write, self.measure, self.device = n, number, write, measure, device

    def __call__(self, x, order, values, inverse, counts, _):
        owner, numbers = runtime().allocate(8 * (2 * self.n + 1), self.device)
        stops = numbers + 8 * self.n
        self.number.call(x, numbers, numbers, self.number.descriptor)
        self.write.call(x, order, numbers, values, inverse, stops, self.write.descriptor)
        if counts:
            self.measure.call(stops, counts, self.measure.descriptor)      # the owner gives it back after this in stream order


class _Longest:
    """The longest runs of rows, by way of where each element's run begins, which is in scratch memory of this call's own."""

    __slots__ = ("begin", "choose", "count", "device")

    def __init__(self, count, begin, choose, device):
        self.count, self.begin, self.choose, self.device = count, begin, choose, device

    def __call__(self, x, order, values, indices, _):
        owner, starts = runtime().allocate(8 * self.count, self.device)
        self.begin.call(x, starts, starts, self.begin.descriptor)
        self.choose.call(x, order, starts, values, indices, self.choose.descriptor)


def plan_write_runs(dtype: str, n: int, inverse: bool, counts: bool, ordered: bool, device: int = 0):
    number = plan_scan(dtype, 1, n, 1, False, device, "int64*", "int64", out="int64*", step=plus, START=0, element=whether_begins,
                       put=put_number)
    if number is NOTHING:
        return NOTHING
    row = [n, int(inverse), int(counts), int(ordered)]
    writing = typed(write_runs, dtype, ("element*", "int64*", "int64*", "element*", "int64*", "int64*", "int64*"))
    write = launch(writing, row, n, device)
    measure = launch(typed(run_lengths, "int64", ("int64*", "int64*", "int64*")), row, n, device)
    return Prepared(_Runs(n, number, write, measure, device), 0, 0, (number, write, measure))


def plan_longest_run(dtype: str, rows: int, n: int, device: int = 0):
    begin = plan_scan(dtype, rows, n, 1, False, device, "int64*", "int64", out="int64*", step=later, START=-1, element=begin_if_any,
                      put=put_begin)
    if begin is NOTHING:
        return NOTHING
    lanes = lanes_for(n, 1)
    kernel = typed(longest_runs, dtype, ("element*", "int64*", "int64*", "element*", "int64*", "int64*"), LANES=lanes)
    choose = launch(kernel, [rows, n], rows * lanes, device)
    return Prepared(_Longest(rows * n, begin, choose, device), 0, 0, (begin, choose))


def _elements(row):
    return row[ELEMENTS]


def _whole_block(row, bound):
    return dict(LANES=THREADS)


def _by_atomics(row, bound):
    if np.dtype(bound["T"]).name in NATIVE and bound["load"] is same:
        return dict(count_at=count_one)
    return dict(count_at=count_one_stored)


def _counting(host_kernel, few, scalars=(), **names):
    """The form of a kernel that counts: by blocks' tables where bins are `few`, else in memory at once."""
    def bound(row, given):
        own = dict(names, C=names.get("C") or given["T"])
        return own if few else {**own, **_by_atomics(row, given), **own}

    function = count_few if few else count_many
    threads = (lambda row: -(-row[ELEMENTS] // EACH)) if few else _elements
    return {host_kernel: Form(function, threads, bound, scalars, cleared=lambda row: names.get("BINS", row[PLACES]))}


plan_count_runs = in_parallel(host.plan_count_runs, {host.count_runs: Form(count_runs, _elements, _whole_block)}, host={1: STATUS})
plan_limits = in_parallel(host.plan_limits, {host.limits: Form(limits, _elements, first=Form(begin_limits, lambda row: 1))},
                          host={1: 2 * STATUS})
_integers = dict(bins_and_sizes=sizes_of, bin_of=integer_bin, C=int64, count_at=count_one)
_plan_few_integers = in_parallel(host.plan_count_integers, _counting(host.count_integers, True, **_integers))
_plan_many_integers = in_parallel(host.plan_count_integers, _counting(host.count_integers, False, **_integers))
plan_count_bytes = in_parallel(host.plan_count_bytes, _counting(
    host.count_bytes, True, bins_and_sizes=sizes_of_bytes, bin_of=byte_bin, C=int64, BINS=256))
plan_rank_bytes = in_parallel(host.plan_rank_bytes, {host.rank_bytes: Form(rank_bytes, _elements)})
plan_add_weights = in_parallel(host.plan_add_weights, {host.add_weights: Form(
    add_weights, _elements, cleared=lambda row: row[PLACES])})
_bins = dict(bins_and_sizes=sizes_of_bins, bin_of=equal_bin)
_plan_few_bins = in_parallel(host.plan_count_bins, _counting(host.count_bins, True, (LEAST, GREATEST), **_bins))
_plan_many_bins = in_parallel(host.plan_count_bins, _counting(host.count_bins, False, (LEAST, GREATEST), **_bins))
plan_places = in_parallel(host.plan_places, {host.places: Form(places, lambda row: row[ROWS] * row[LENGTH])})


def plan_count_integers(dtype: str, n: int, size: int, device: int = 0):
    return (_plan_few_integers if size <= BINS else _plan_many_integers)(dtype, n, size, device=device)


def plan_count_bins(dtype: str, n: int, bins: int, low: float, high: float, device: int = 0):
    """Counts of 16-bit floats stop where one more is rounded away, as on the host, so they are added up one by one."""
    few = bins <= BINS and dtype in NATIVE
    return (_plan_few_bins if few else _plan_many_bins)(dtype, n, bins, low, high, device=device)
