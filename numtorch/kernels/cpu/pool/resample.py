"""Linear maps along the last three axes of (planes, D, H, W): interpolation, averages over regions, and their adjoints.

Each axis has a table: output i is a weighted sum of a few inputs. The adjoint of a map is the map with the transposed tables,
so forward and backward are one kernel that only gathers. For each row of outputs, the input rows it needs are summed
along vectors into one row of scratch; that row is then resampled along W, unless it has no map: as of channels that are last.
"""
from __future__ import annotations

import functools
import math
from itertools import pairwise

import numpy as np
from numpy import float32, int64

from ... import threads
from ...compiler import compile_kernel
from ...elementtypes import bindings, compute_type, itemsize, same, scalar_type
from ...intrinsics import offset, select

T = float32                                              # the compute type, bound by the planner
load = store = same
SPLIT_WORK = 20_000                                      # multiply-adds above which two threads win

# the descriptor: planes, extents of the input, of the output, taps along each axis
PLANES, DEPTH, HEIGHT, WIDTH, SLICES, ROWS, COLUMNS, TAPS_D, TAPS_H, TAPS_W = range(10)


def _scaled_row(row, x, weight, count):
    for i in range(count):
        row[i] = weight * load(x[i])


def _add_scaled_row(row, x, weight, count):
    for i in range(count):
        row[i] += weight * load(x[i])


def _gather_one(out, row, indices, weights, count):
    for i in range(count):
        out[i] = store(select(weights[i] == T(0), T(0), weights[i] * row[indices[i]]))


def _gather_two(out, row, indices, weights, count):
    for i in range(count):
        a, b = weights[i], weights[count + i]
        first = select(a == T(0), T(0), a * row[indices[i]])
        out[i] = store(first + select(b == T(0), T(0), b * row[indices[count + i]]))


def _gather(total, row, indices, weights, count):
    for i in range(count):
        total[i] += select(weights[i] == T(0), T(0), weights[i] * row[indices[i]])


def resample(x, out, indices, weights, scratch, descriptor):
    """Tables of an axis with n outputs and k taps are k rows of n, those of D before those of H before those of W."""
    planes, depth, height, width = descriptor[PLANES], descriptor[DEPTH], descriptor[HEIGHT], descriptor[WIDTH]
    slices, rows, columns = descriptor[SLICES], descriptor[ROWS], descriptor[COLUMNS]
    taps_d, taps_h, taps_w = descriptor[TAPS_D], descriptor[TAPS_H], descriptor[TAPS_W]
    h_table = taps_d * slices
    w_table = h_table + taps_h * rows
    w_indices, w_weights = offset(indices, w_table), offset(weights, w_table)
    total = offset(scratch, width)
    single, last, last_weight = taps_d * taps_h == 1, int64(-1), T(0)
    for line in range(planes * slices * rows):
        plane, piece, row = line // (slices * rows), line // rows % slices, line % rows
        fresh, target = True, offset(out, line * columns)
        if single:                                       # of one row, as the last one: twice as fast when each stands twice
            at = (plane * depth + indices[piece]) * height + indices[h_table + row]
            weight = weights[piece] * weights[h_table + row]
            if at == last and weight == last_weight:
                above = offset(target, -columns)
                for i in range(columns):
                    target[i] = above[i]
                continue
            last, last_weight = at, weight
        for a in range(taps_d):
            weight_d = weights[a * slices + piece]
            for b in range(taps_h):
                weight = weight_d * weights[h_table + b * rows + row]
                if weight == T(0):
                    continue
                at = (plane * depth + indices[a * slices + piece]) * height + indices[h_table + b * rows + row]
                if fresh:
                    _scaled_row(scratch, offset(x, at * width), weight, width)
                else:
                    _add_scaled_row(scratch, offset(x, at * width), weight, width)
                fresh = False
        if fresh:
            for i in range(columns):
                target[i] = store(T(0))
        elif taps_w == 0:
            for i in range(columns):
                target[i] = store(scratch[i])
        elif taps_w == 1:
            _gather_one(target, scratch, w_indices, w_weights, columns)
        elif taps_w == 2:
            _gather_two(target, scratch, w_indices, w_weights, columns)
        else:
            for i in range(columns):
                total[i] = T(0)
            for k in range(taps_w):
                _gather(total, scratch, offset(w_indices, k * columns), offset(w_weights, k * columns), columns)
            for i in range(columns):
                target[i] = store(total[i])


# ---------------------------------------------------------------- tables
def tables(maps, dtype):
    """Indices (int32) and weights of maps, one after another, and the taps of each; rows with fewer taps get weights of 0."""
    indices, weights, taps = [], [], []
    for rows in maps:
        if rows is None:
            taps.append(0)
            continue
        k = max(1, max(map(len, rows), default=1))
        taps.append(k)
        for tap in range(k):
            for row in rows:
                index, weight = row[tap] if tap < len(row) else (0, 0.0)
                indices.append(index)
                weights.append(weight)
    return np.array(indices, np.int32), np.array(weights, scalar_type(dtype)), taps


@functools.lru_cache(None)
def _kernel(dtype):
    names = bindings(dtype)
    own = names["T"].__name__ + "*"
    return compile_kernel(resample, (dtype + "*", dtype + "*", "int32*", own, own, "int64*"), names)


class Resampling:
    """A planned map: run it as `call(x, out, indices, weights, workspace, descriptor)`."""

    __slots__ = ("prepared", "indices", "weights")


def plan_resample(dtype, planes, sizes, maps) -> Resampling:
    """(planes, *sizes) of three axes, each mapped by itself: output i is the weighted sum of the inputs in its list.

    Addresses: as `Resampling` says.

    Args:
        dtype: `"float32"`, `"float64"`, `"float16"` or `"bfloat16"`.
        maps: for each axis, and each output along it, a list of (input, weight) pairs; the last may be None, for none.
    """
    plan = Resampling()
    plan.indices, plan.weights, taps = tables(maps, dtype)
    extents = [n if rows is None else len(rows) for n, rows in zip(sizes, maps)]
    lines = planes * extents[0] * extents[1]
    work = lines * (sizes[2] * taps[0] * taps[1] + extents[2] * taps[2] * 2)
    parts = min(threads.get_num_threads(), planes) if work > SPLIT_WORK else 1
    edges = [planes * part // parts for part in range(parts + 1)]
    size, own = itemsize(dtype), itemsize(compute_type(dtype))
    steps = (math.prod(sizes) * size, math.prod(extents) * size)
    rows = [(end - begin, *sizes, *extents, *taps) for begin, end in pairwise(edges)]
    offsets = [(begin * steps[0], begin * steps[1], 0, 0) for begin in edges[:-1]]
    plan.prepared = threads.prepare(_kernel(dtype), rows, offsets, workspace=(sizes[2] + extents[2]) * own,
                                    release_lock=work > SPLIT_WORK)
    return plan
