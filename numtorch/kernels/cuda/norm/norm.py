"""Norms of rows on a GPU: lines, each with a block's threads or a part of them.

A line is read for its mean, for the deviations from it, whose sum corrects what rounding left in the mean, and for the result;
of up to some thousands of elements it stays in registers. The gradients of weight and bias are sums down the columns: a block has
`WIDE` columns of a range of rows, and `merge_sums` adds the ranges up, in the type that is computed in.

Formulas are the host's (kernels/cpu/norm/norm.py).
"""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.norm import norm as host
from ...cpu.norm.norm import BIASED, EPS, GRAD_WEIGHTED, LENGTH, PARTS, ROWS, WANTS_BIAS, WANTS_WEIGHT, WEIGHTED
from ...elementtypes import same
from ...intrinsics import local_array, local_like, offset, select, sqrt
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.elements import in_turn, launch, typed
from ..shared.lines import (
    HELD,
    WIDE,
    WIDTH,
    aligned,
    column_total,
    fetch,
    hold,
    joined,
    lanes_for,
    place_held,
    release,
    scalar,
    shape_of,
)

T, INT = float32, int32
load = store = same
CENTRED = True
LANES = COLUMNS = 1
RANGE_ROWS = 4 if WIDE == 2 else 64                      # rows that make another range of them worth its sums
MOST_RANGES = 64
RANGES, BLOCKS = LENGTH + 1, LENGTH + 2                  # of the descriptor of columns' sums: ranges of rows, blocks of columns


def line_moments(x, cells, present, n, me, lane):
    """The mean of n neighbours, and their squared deviations from it."""
    total = T(0)
    if present:
        for i in range(lane, n, LANES):
            total += load(x[i])
    mean = joined(cells, total, me, lane) / T(n)
    rest, squares = T(0), T(0)
    if present:
        for i in range(lane, n, LANES):
            deviation = load(x[i]) - mean
            rest += deviation
            squares += deviation * deviation
    rest = joined(cells, rest, me, lane) / T(n)
    squares = joined(cells, squares, me, lane)
    return mean + rest, max(squares - rest * rest * T(n), T(0)) if squares == squares else squares


def line_squares(x, cells, present, n, me, lane):
    """The sum of squares of n neighbours."""
    squares = T(0)
    if present:
        for i in range(lane, n, LANES):
            value = load(x[i])
            squares += value * value
    return joined(cells, squares, me, lane)


def norm_held(x, weight, bias, out, stats, cells, present, n, eps, weighted, biased, me, lane):
    """A line that its threads hold."""
    held = local_array(T, HELD)
    words = local_like(x, WIDTH)
    hold(held, x, n, lane, T(0))
    mean, rest, squares = T(0), T(0), T(0)
    if CENTRED:
        for i in range(HELD):
            mean += held[i]
        mean = joined(cells, mean, me, lane) / T(n)
        for i in range(HELD):
            held[i] = select(place_held(i // WIDTH, lane) < n, held[i] - mean, T(0))
            rest += held[i]
    for i in range(HELD):
        squares += held[i] * held[i]
    squares = joined(cells, squares, me, lane)
    if CENTRED:
        rest = joined(cells, rest, me, lane) / T(n)
        squares = max(squares - rest * rest * T(n), T(0)) if squares == squares else squares
    scale = T(1) / sqrt(squares / T(n) + eps)
    for i in range(HELD):
        held[i] = (held[i] - rest) * scale
    if weighted != 0:
        whole = aligned(weight)
        for k in range(HELD // WIDTH):
            fetch(words, 0, offset(weight, min(place_held(k, lane), n - WIDTH)), whole)
            for j in range(WIDTH):
                held[k * WIDTH + j] *= load(words[j])
    if biased != 0:
        whole = aligned(bias)
        for k in range(HELD // WIDTH):
            fetch(words, 0, offset(bias, min(place_held(k, lane), n - WIDTH)), whole)
            for j in range(WIDTH):
                held[k * WIDTH + j] += load(words[j])
    if present:
        if lane == 0:
            stats[0] = mean + rest
            stats[1] = scale
        release(held, out, n, lane)


def norm_streamed(x, weight, bias, out, stats, cells, present, n, eps, weighted, biased, me, lane):
    mean = T(0)
    if CENTRED:
        mean, squares = line_moments(x, cells, present, n, me, lane)
    else:
        squares = line_squares(x, cells, present, n, me, lane)
    scale = T(1) / sqrt(squares / T(max(n, int64(1))) + eps)
    if present:
        if lane == 0:
            stats[0] = mean
            stats[1] = scale
        for i in range(lane, n, LANES):
            value = (load(x[i]) - mean) * scale
            if weighted != 0:
                value *= load(weight[i])
            if biased != 0:
                value += load(bias[i])
            out[i] = store(value)


normed = norm_streamed


def norm_lines(x, weight, bias, out, stats, descriptor):
    cells = cuda.shared.array(THREADS, T)
    rows, n, eps = descriptor[ROWS], descriptor[LENGTH], scalar(descriptor, EPS)
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < rows:
        row = first + me // LANES
        known = min(row, rows - 1)
        normed(offset(x, known * n), weight, bias, offset(out, known * n), offset(stats, 2 * known), cells, row < rows, n, eps,
               descriptor[WEIGHTED], descriptor[BIASED], me, lane)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def factor_of(weight, i, weighted):
    factor = T(1)
    if weighted != 0:
        factor = load(weight[i])
    return factor


def norm_grad_lines(grad, x, stats, weight, grad_x, descriptor):
    cells = cuda.shared.array(THREADS, T)
    rows, n, weighted = descriptor[ROWS], descriptor[LENGTH], descriptor[GRAD_WEIGHTED]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < rows:
        row = first + me // LANES
        known = min(row, rows - 1)
        g, a, out = offset(grad, known * n), offset(x, known * n), offset(grad_x, known * n)
        mean, scale = stats[2 * known], stats[2 * known + 1]
        plain, along = T(0), T(0)
        if row < rows:
            for i in range(lane, n, LANES):
                value = load(g[i]) * factor_of(weight, i, weighted)
                plain += value
                along += value * ((load(a[i]) - mean) * scale)
        along = joined(cells, along, me, lane) / T(n)
        if CENTRED:
            plain = joined(cells, plain, me, lane) / T(n)
        else:
            plain = T(0)
        if row < rows:
            for i in range(lane, n, LANES):
                value = load(g[i]) * factor_of(weight, i, weighted)
                out[i] = store(scale * (value - plain - (load(a[i]) - mean) * scale * along))
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def norm_column_sums(grad, x, stats, sums, descriptor):
    """Of a range of rows: sums[range, 0] of grad * h, sums[range, 1] of grad."""
    cells = cuda.shared.array(THREADS, T)
    rows, n, ranges, blocks = descriptor[ROWS], descriptor[LENGTH], descriptor[RANGES], descriptor[BLOCKS]
    me = int64(cuda.threadIdx.x)
    task = int64(cuda.blockIdx.x)
    while task < ranges * blocks:
        part = task // blocks
        column = (task - part * blocks) * COLUMNS + me % COLUMNS
        by_weight, by_bias = T(0), T(0)
        if column < n:
            for row in range(part * rows // ranges + me // COLUMNS, (part + 1) * rows // ranges, THREADS // COLUMNS):
                value = load(grad[row * n + column])
                by_weight += value * ((load(x[row * n + column]) - stats[2 * row]) * stats[2 * row + 1])
                by_bias += value
        by_weight = column_total(cells, by_weight, me)
        by_bias = column_total(cells, by_bias, me)
        if column < n and me < COLUMNS:
            sums[part * 2 * n + column] = by_weight
            sums[part * 2 * n + n + column] = by_bias
        task += cuda.gridDim.x


def merge_columns(sums, grad_weight, grad_bias, descriptor):
    """A thread a column."""
    ranges, n = descriptor[PARTS], descriptor[LENGTH]
    column = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while column < n:
        by_weight, by_bias = T(0), T(0)
        for part in range(ranges):
            by_weight += sums[part * 2 * n + column]
            by_bias += sums[part * 2 * n + n + column]
        if descriptor[WANTS_WEIGHT] != 0:
            grad_weight[column] = store(by_weight)
        if descriptor[WANTS_BIAS] != 0:
            grad_bias[column] = store(by_bias)
        column += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
def _row_forms(dtype, rows, n, *options):
    shape = shape_of(dtype, n)
    names = dict(shape, normed=norm_held if shape["HELD"] else norm_streamed)
    return {host.norm_rows: Form(norm_lines, lambda row: row[ROWS] * shape["LANES"], lambda row, bound: names, (EPS,))}


plan_row_norm = in_parallel(host.plan_row_norm, _row_forms)


def plan_row_norm_grad(dtype: str, rows: int, n: int, weighted: bool, centred: bool, wants_x: bool, wants_sums: bool,
                       device: int = 0):
    """The sums are of the compute type, for `plan_merge_sums` of this device."""
    launches: list = []
    lanes, ranges = lanes_for(n, 1), max(1, min(MOST_RANGES, rows // RANGE_ROWS))
    if wants_x and rows * n:
        signature = ("element*", "element*", "compute*", "element*", "element*", "int64*")
        kernel = typed(norm_grad_lines, dtype, signature, CENTRED=centred, LANES=lanes)
        launches.append((launch(kernel, [rows, n, int(weighted)], rows * lanes, device), (0, 1, 2, 3, 4)))
    if wants_sums and n:
        kernel = typed(norm_column_sums, dtype, ("element*", "element*", "compute*", "compute*", "int64*"), COLUMNS=WIDE)
        blocks = -(-n // WIDE)
        launches.append((launch(kernel, [rows, n, ranges, blocks], ranges * blocks * THREADS, device), (0, 1, 2, 5)))
    return in_turn(*launches), ranges


def plan_merge_sums(dtype: str, parts: int, n: int, wants_weight: bool, wants_bias: bool, device: int = 0):
    kernel = typed(merge_columns, dtype, ("compute*", "element*", "element*", "int64*"))
    return launch(kernel, [parts, n, int(wants_weight), int(wants_bias)], n, device)
