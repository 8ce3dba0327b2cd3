"""Running sums, products, log-sums and extremes on a GPU.

A line is gone through in tiles: each thread joins its few elements, which are loaded as vectors where they can be, the threads'
totals are joined by doubling distances in warps (Hillis and Steele 1986) and then over warps, and each thread goes through its
elements again with what is before them. Few long lines are cut into chunks that blocks share: one launch leaves the chunks' totals,
one makes running totals of these, and one scans the chunks. Where lines are side by side in memory, each has a thread.

What is joined is a number of the compute type, or for extremes the place of the last largest, since the number is found there. The
recurrence behind the gradient of running products is the host's kernel, a thread a part (../serial.py).
"""
from __future__ import annotations

import math

import numpy as np
from numpy import float32, int64

from ...cpu.scan import scan as host
from ...cpu.scan.scan import log_of_sum, not_above, not_below
from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import fmax, fmin, local_array, local_like, offset
from ...threads import NOTHING, Prepared
from ...vectormath import exp, log1p
from ..compiler import cuda
from ..environment import SMALL, THREADS
from ..runtime import runtime
from ..serial import on_device
from ..shared.elements import launch, typed
from ..shared.lines import PACKED, WARP, WIDTH, aligned
from ..shared.vectors import load_vector, store_vector, vectors_of
from ..warps import barrier, lane_before

T = A = float32
load = store = same
packed, BY_VECTORS = PACKED[WIDTH], False                # whether elements of lines are what is joined
ITEMS = 2 if SMALL else 4                                # elements of a tile that a thread has
TILES = 2 if SMALL else 8                                # least tiles of a chunk
FILLED = 3 if SMALL else 512                             # blocks beyond which lines are not cut

# the descriptor: lines, their length and how far apart neighbours are, chunks of a line, elements of one, whether from the end
LINES, LENGTH, INNER, CHUNKS, SPAN, REVERSE = range(6)


# ---------------------------------------------------------------- what is joined: step(x, stride, before, after)
def plus(x, stride, before, after):
    return A(before + after)


def times(x, stride, before, after):
    return A(before * after)


def log_plus(x, stride, before, after):
    """log(exp(before) + exp(after))"""
    larger = fmax(before, after)
    if larger == larger and larger - larger == T(0):
        return larger + log1p(exp(fmin(before, after) - larger))
    return larger


def log_plus_complex(x, stride, before, after):
    return A(log_of_sum(before, after))


reaches = not_below


def later_extreme(x, stride, before, after):
    """The place of the extreme of two; the later of equal ones, and a NaN before all."""
    if before < 0 or after < 0:
        return max(before, after)
    value = T(load(x[after * stride]))
    return after if value != value or reaches(value, T(load(x[before * stride]))) else before


def element_of(x, stride, r):
    return A(load(x[r * stride]))


def number_of(x, stride, r):
    return r


def put_total(x, out, places, stride, r, total):
    out[r * stride] = store(T(total))


def put_extreme(x, out, places, stride, r, total):
    out[r * stride] = x[total * stride]
    places[r * stride] = total


step, element, put, START = plus, element_of, put_total, 0


# ---------------------------------------------------------------- kernels
# `totals` is of A.
def place_of(r, n, reverse):
    return n - 1 - r if reverse != 0 else r


def before_and_total(x, cells, value, me):
    """What the threads before this one have, joined, and what all have."""
    through, distance, lane = value, 1, me % WARP
    while distance < WARP:
        other = lane_before(through, distance)
        if lane >= distance:
            through = step(x, int64(1), other, through)
        distance *= 2
    if lane == WARP - 1:
        cells[me // WARP] = through
    barrier()
    before, total = A(START), A(START)
    for warp in range(THREADS // WARP):
        if warp == me // WARP:
            before = total
        total = step(x, int64(1), total, cells[warp])
    barrier()
    other = lane_before(through, 1)
    if lane > 0:
        before = step(x, int64(1), before, other)
    return before, total


def take_items(items, x, first, stop, n, reverse, whole):
    """A thread's elements of a tile; behind its end what changes nothing."""
    if whole and reverse == 0 and first + ITEMS <= stop:
        for k in range(ITEMS // WIDTH):
            loaded = load_vector(offset(x, first + k * WIDTH), WIDTH)
            for j in range(WIDTH):
                items[k * WIDTH + j] = A(load(loaded[j]))
    else:
        for i in range(ITEMS):
            items[i] = element(x, int64(1), place_of(min(first + i, n - 1), n, reverse)) if first + i < stop else A(START)


def put_items(items, out, first, stop, n, reverse, whole):
    """The results of a thread's elements."""
    if whole and reverse == 0 and first + ITEMS <= stop:
        words = local_like(out, WIDTH)
        for k in range(ITEMS // WIDTH):
            for j in range(WIDTH):
                words[j] = store(T(items[k * WIDTH + j]))
            store_vector(offset(out, first + k * WIDTH), packed(words))
    else:
        for i in range(ITEMS):
            if first + i < stop:
                out[place_of(first + i, n, reverse)] = store(T(items[i]))


def own_of_tile(x, first, stop, n, reverse):
    """What a thread has of a tile, joined."""
    mine = A(START)
    for r in range(first, min(first + ITEMS, stop)):
        mine = step(x, int64(1), mine, element(x, int64(1), place_of(r, n, reverse)))
    return mine


def joined_items(items, x):
    total = items[0]
    for i in range(1, ITEMS):
        total = step(x, int64(1), total, items[i])
    return total


def chunk_totals(x, totals, descriptor):
    cells = cuda.shared.array(THREADS, A)
    items = local_array(A, ITEMS)
    n, chunks, span = descriptor[LENGTH], descriptor[CHUNKS], descriptor[SPAN]
    me = int64(cuda.threadIdx.x)
    task = int64(cuda.blockIdx.x)
    while task < descriptor[LINES] * chunks:
        line = task // chunks
        first = (task - line * chunks) * span
        stop, a, running = min(first + span, n), offset(x, line * n), A(START)
        while first < stop:
            if BY_VECTORS:
                take_items(items, a, first + me * ITEMS, stop, n, descriptor[REVERSE], aligned(a))
                mine = joined_items(items, a)
            else:
                mine = own_of_tile(a, first + me * ITEMS, stop, n, descriptor[REVERSE])
            _, total = before_and_total(a, cells, mine, me)
            running = step(a, int64(1), running, total)
            first += THREADS * ITEMS
        if me == 0:
            totals[task] = running
        task += cuda.gridDim.x


def running_totals(x, totals, descriptor):
    """A block a line: of its chunks' totals the running ones."""
    cells = cuda.shared.array(THREADS, A)
    n, chunks = descriptor[LENGTH], descriptor[CHUNKS]
    me = int64(cuda.threadIdx.x)
    line = int64(cuda.blockIdx.x)
    while line < descriptor[LINES]:
        a, running, first = offset(x, line * n), A(START), int64(0)
        while first < chunks:
            chunk, mine = line * chunks + first + me, A(START)
            if first + me < chunks:
                mine = totals[chunk]
            before, total = before_and_total(a, cells, mine, me)
            if first + me < chunks:
                totals[chunk] = step(a, int64(1), step(a, int64(1), running, before), mine)
            running = step(a, int64(1), running, total)
            first += THREADS
        line += cuda.gridDim.x


def scan_chunks(x, out, places, totals, descriptor):
    cells = cuda.shared.array(THREADS, A)
    items, coming = local_array(A, ITEMS), local_array(A, ITEMS)
    n, chunks, span, reverse = descriptor[LENGTH], descriptor[CHUNKS], descriptor[SPAN], descriptor[REVERSE]
    me = int64(cuda.threadIdx.x)
    task = int64(cuda.blockIdx.x)
    while task < descriptor[LINES] * chunks:
        line = task // chunks
        first = (task - line * chunks) * span
        stop, a, running = min(first + span, n), offset(x, line * n), A(START)
        b, c = offset(out, line * n), offset(places, line * n)
        if first > 0:
            running = totals[task - 1]
        if BY_VECTORS:
            take_items(coming, a, first + me * ITEMS, stop, n, reverse, aligned(a))
        while first < stop:
            mine = A(START)
            if BY_VECTORS:
                for i in range(ITEMS):
                    items[i] = coming[i]
                take_items(coming, a, first + (THREADS + me) * ITEMS, stop, n, reverse, aligned(a))      # while these are joined
                mine = joined_items(items, a)
            else:
                mine = own_of_tile(a, first + me * ITEMS, stop, n, reverse)
            before, total = before_and_total(a, cells, mine, me)
            mine = step(a, int64(1), running, before)
            if BY_VECTORS:
                for i in range(ITEMS):
                    mine = step(a, int64(1), mine, items[i])
                    items[i] = mine
                put_items(items, b, first + me * ITEMS, stop, n, reverse, aligned(b))
            else:
                for r in range(first + me * ITEMS, min(first + me * ITEMS + ITEMS, stop)):
                    at = place_of(r, n, reverse)
                    mine = step(a, int64(1), mine, element(a, int64(1), at))
                    put(a, b, c, int64(1), at, mine)
            running = step(a, int64(1), running, total)
            first += THREADS * ITEMS
        task += cuda.gridDim.x


def scan_columns(x, out, places, descriptor):
    """A thread a line."""
    n, inner, reverse = descriptor[LENGTH], descriptor[INNER], descriptor[REVERSE]
    line = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while line < descriptor[LINES] * inner:
        start = line // inner * n * inner + line % inner
        a, b, c, running = offset(x, start), offset(out, start), offset(places, start), A(START)
        for r in range(n):
            at = place_of(r, n, reverse)
            running = step(a, inner, running, element(a, inner, at))
            put(a, b, c, inner, at, running)
        line += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
class _Chunks:
    """The three launches for few long lines, with memory for the totals of this call's own."""

    __slots__ = ("device", "launches", "nbytes")

    def __init__(self, launches, nbytes, device):
        self.launches, self.nbytes, self.device = launches, nbytes, device

    def __call__(self, x, out, places, descriptor):
        owner, scratch = runtime().allocate(self.nbytes, self.device)
        first, second, last = self.launches
        first.call(x, scratch, first.descriptor)
        second.call(x, scratch, second.descriptor)
        last.call(x, out, places, scratch, last.descriptor)    # the owner gives the memory back after this in stream order


class OneResult:
    """A call without places, for which the result stands."""

    __slots__ = ("call",)

    def __init__(self, call):
        self.call = call

    def __call__(self, x, out, descriptor):
        self.call(x, out, out, descriptor)


class _OneChunk(OneResult):
    """A scan of whole lines, which have no totals."""

    __slots__ = ()

    def __call__(self, x, out, places, descriptor):
        self.call(x, out, places, 0, descriptor)


def plan_scan(dtype, outer, n, inner, reverse, device, places, total, out="element*", items=ITEMS, **names):
    """Contiguous (outer, n, inner) scanned over n, from the end if `reverse`. Addresses: x, out, places.

    Args:
        places, out, total: the types of what is written beside the result, of the result, and of what is joined.
        items: how many neighbours a thread has of a tile.
        names: what the kernels bind: `step`, `START`, `element` and `put`.
    """
    if not outer * n * inner:
        return NOTHING
    kept, width = total + "*", min(vectors_of(itemsize(dtype)), items)
    plain = names.get("element") is None and out == "element*" and dtype != "bool" and not dtype.startswith("complex")
    width = width if plain and n % width == 0 else 1
    names = dict(names, A=np.dtype(total).type, ITEMS=items, WIDTH=width, SIZE=itemsize(dtype), packed=PACKED[width],
                 BY_VECTORS=width > 1)
    if inner > 1:
        kernel = typed(scan_columns, dtype, ("element*", out, places, "int64*"), **names)
        return launch(kernel, [outer, n, inner, 1, n, int(reverse)], outer * inner, device)
    tile = items * THREADS
    chunks = max(1, min(FILLED // outer, n // (TILES * tile)))
    span = -(-n // (chunks * tile)) * tile
    chunks = -(-n // span)
    row = [outer, n, 1, chunks, span, int(reverse)]
    whole = typed(scan_chunks, dtype, ("element*", out, places, kept, "int64*"), **names)
    last = launch(whole, row, outer * chunks * THREADS, device)
    if chunks == 1:
        return Prepared(_OneChunk(last.call), last.descriptor, 0, last)
    first = launch(typed(chunk_totals, dtype, ("element*", kept, "int64*"), **names), row, outer * chunks * THREADS, device)
    second = launch(typed(running_totals, dtype, ("element*", kept, "int64*"), **names), row, outer * THREADS, device)
    launches = first, second, last
    return Prepared(_Chunks(launches, outer * chunks * np.dtype(total).itemsize, device), 0, 0, launches)


def _plan_running(dtype, outer, n, inner, reverse, device, function, start):
    compute = compute_type(dtype)
    total = compute if np.dtype(compute).kind in "fc" else "int64"
    made = plan_scan(dtype, outer, n, inner, reverse, device, "element*", total, step=function, START=start)
    return Prepared(OneResult(made.call), made.descriptor, 0, made) if made is not NOTHING else made


def _plan_extreme(dtype, outer, n, inner, device, test):
    return plan_scan(dtype, outer, n, inner, False, device, "int64*", "int64", step=later_extreme, element=number_of,
                     put=put_extreme, reaches=test, START=-1)


def plan_cumsum(dtype: str, outer: int, R: int, inner: int, reverse: bool = False, device: int = 0):
    return _plan_running(dtype, outer, R, inner, reverse, device, plus, 0)


def plan_cumprod(dtype: str, outer: int, R: int, inner: int, reverse: bool = False, device: int = 0):
    return _plan_running(dtype, outer, R, inner, reverse, device, times, 1)


def plan_logcumsumexp(dtype: str, outer: int, R: int, inner: int, reverse: bool = False, device: int = 0):
    function = log_plus_complex if dtype.startswith("complex") else log_plus
    return _plan_running(dtype, outer, R, inner, reverse, device, function, -math.inf)


def plan_cummax(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan_extreme(dtype, outer, R, inner, device, not_below)


def plan_cummin(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan_extreme(dtype, outer, R, inner, device, not_above)


plan_recurrence = on_device(host.plan_recurrence)
