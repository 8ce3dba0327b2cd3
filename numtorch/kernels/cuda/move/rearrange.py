"""Rows rolled and cut to triangles, classes as rows of zeros and a one, and positions that repeat, on a GPU: a thread has a few.

Tensors are joined by copies (words.py), a launch each, for which the host need not hand over a table of addresses.
"""
from __future__ import annotations

from numpy import int64, uint32

from ...cpu.move import rearrange as host
from ...cpu.move.rearrange import (
    CLASSES,
    COUNT,
    DIAGONAL,
    MATRIX_ROWS,
    PLACED,
    PLACED_COLUMNS,
    PLACED_DIAGONAL,
    PLACED_ROWS,
    PLACED_UPPER,
    ROLL_LENGTH,
    ROW_WORDS,
    SHIFT,
    STOP,
    UPPER,
    WORDS_EACH,
)
from ...intrinsics import local_like
from ...threads import NOTHING, Prepared
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..scan.scan import OneResult, plan_scan
from ..serial import STATUS
from ..shared.atomics import replaced
from ..shared.coordinates import quotient31 as quotient

MOST = 1 << 60                                           # what sums of counts stop at
# behind the host's descriptors
ROLL_DIVISOR, LINE_DIVISOR, MATRIX_DIVISOR, CLASS_DIVISOR = SHIFT + 1, UPPER + 1, UPPER + 2, CLASSES + 1

N = uint32
ITEMS = 4                                                # of a thread, a block apart; all are asked for before the first is written


def roll_elements(x, out, descriptor):
    n, shift = N(descriptor[ROLL_LENGTH]), N(descriptor[SHIFT])
    total = N(N(descriptor[STOP]) * n)
    first = N(N(N(cuda.blockIdx.x) * N(ITEMS * THREADS)) + N(cuda.threadIdx.x))
    if first >= total:
        return
    words = local_like(x, ITEMS)
    for u in range(ITEMS):
        e = min(N(first + N(u * THREADS)), N(total - N(1)))
        i = N(e - N(quotient(e, descriptor[ROLL_DIVISOR]) * n))
        words[u] = x[N(e - shift) if i >= shift else N(N(e - shift) + n)]
    for u in range(ITEMS):
        e = N(first + N(u * THREADS))
        if e < total:
            out[e] = words[u]


def triangle_elements(x, out, descriptor):
    rows, n, words = descriptor[MATRIX_ROWS], descriptor[ROW_WORDS], descriptor[WORDS_EACH]
    diagonal, upper = descriptor[DIAGONAL], descriptor[UPPER]
    total = N(N(descriptor[STOP]) * N(n))
    first = N(N(N(cuda.blockIdx.x) * N(ITEMS * THREADS)) + N(cuda.threadIdx.x))
    if first >= total:
        return
    kept = local_like(x, ITEMS)
    for u in range(ITEMS):
        e = min(N(first + N(u * THREADS)), N(total - N(1)))
        line = quotient(e, descriptor[LINE_DIVISOR])
        row, column = N(line - N(quotient(line, descriptor[MATRIX_DIVISOR]) * N(rows))), N(e - N(line * N(n)))
        kept[u] = 0
        if (int64(column) < (int64(row) + diagonal + 1 - upper) * words) != (upper != 0):
            kept[u] = x[e]
    for u in range(ITEMS):
        e = N(first + N(u * THREADS))
        if e < total:
            out[e] = kept[u]


def kept_before(row, low, columns):
    """How many elements lie before a diagonal in the rows before one: of row k, `k + low` kept to 0 .. columns."""
    first = min(max(-low, int64(0)), row)
    full = min(max(columns - low, first), row)
    return (full - first) * low + (full * (full - 1) - first * (first - 1)) // 2 + columns * (row - full)


def triangle_places(out, descriptor):
    """A thread an element of the matrix."""
    columns, upper = descriptor[PLACED_COLUMNS], descriptor[PLACED_UPPER]
    low = descriptor[PLACED_DIAGONAL] + 1 - upper
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[PLACED_ROWS] * columns:
        row = e // columns
        column, cut = e - row * columns, min(max(row + low, int64(0)), columns)
        at = kept_before(row, low, columns) + column
        kept = column < cut
        if upper != 0:
            at, kept = row * columns - kept_before(row, low, columns) + column - cut, column >= cut
        if kept:
            out[at] = row
            out[descriptor[PLACED] + at] = column
        e += int64(cuda.gridDim.x) * THREADS


def one_hot_elements(classes, out, status, descriptor):
    width = N(descriptor[CLASSES])
    e = N(N(N(cuda.blockIdx.x) * N(THREADS)) + N(cuda.threadIdx.x))
    row = quotient(e, descriptor[CLASS_DIVISOR])
    if row < descriptor[COUNT]:
        place = classes[row]
        if place < 0 or place >= descriptor[CLASSES]:
            status[0] = 1
        out[e] = int64(place == int64(N(e - N(row * width))))


# ---------------------------------------------------------------- counts
def add_count(target, value):
    """The sum, at most MOST; -1 where one is negative."""
    old = target[0]
    while not replaced(target, old, int64(-1) if old < 0 or value < 0 else min(old + value, int64(MOST))):
        old = target[0]


def total_of(counts, total, descriptor):
    mine = int64(0)
    i = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while i < descriptor[COUNT]:
        count = int64(counts[i])
        mine = int64(-1) if mine < 0 or count < 0 else min(mine + min(count, int64(MOST)), int64(MOST))
        i += int64(cuda.gridDim.x) * THREADS
    if mine != 0:
        add_count(total, mine)


def count_of(counts, stride, r):
    return int64(counts[r * stride])


def plus(counts, stride, before, after):
    return before + after


def put_position(counts, out, unused, stride, r, total):
    for k in range(total - int64(counts[r]), total):
        out[k] = r


# ---------------------------------------------------------------- planners
plan_roll = in_parallel(host.plan_roll, {host.roll_rows: Form(
    roll_elements, lambda row: -(-row[STOP] * row[ROLL_LENGTH] // ITEMS), divisors=lambda row: (row[ROLL_LENGTH],),
    largest=lambda row: row[STOP] * row[ROLL_LENGTH])})
plan_triangle = in_parallel(host.plan_triangle, {host.triangle: Form(
    triangle_elements, lambda row: -(-row[STOP] * row[ROW_WORDS] // ITEMS), divisors=lambda row: (row[ROW_WORDS], row[MATRIX_ROWS]),
    largest=lambda row: row[STOP] * row[ROW_WORDS])})
plan_triangle_places = in_parallel(host.plan_triangle_places, {host.triangle_places: Form(
    triangle_places, lambda row: row[PLACED_ROWS] * row[PLACED_COLUMNS])})
plan_one_hot = in_parallel(host.plan_one_hot, {host.one_hot: Form(
    one_hot_elements, lambda row: row[COUNT] * row[CLASSES], divisors=lambda row: (row[CLASSES],))}, host={2: STATUS})
plan_total = in_parallel(host.plan_total, {host.total_of: Form(total_of, lambda row: -(-row[COUNT] // 16))}, host={1: STATUS})


def plan_repeated_positions(dtype: str, n: int, device: int = 0):
    scan = plan_scan(dtype, 1, n, 1, False, device, "int64*", "int64", out="int64*", step=plus, START=0, element=count_of,
                     put=put_position)
    return scan if scan is NOTHING else Prepared(OneResult(scan.call), scan.descriptor, 0, scan)
