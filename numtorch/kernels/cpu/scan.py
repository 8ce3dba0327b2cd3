"""Running sums and products over the middle axis of contiguous (outer, R, inner) data, forwards or backwards.

Accumulators are wider than the elements: float64 for floats, int64 for integers. Along a row the sum is one chain of
additions; with `inner > 1` the chains of 256 columns run side by side.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, float64, int64

from ..intrinsics import local_array, offset
from .elements import compute_type, itemsize, prepare_parts, same, shares, typed

T = float32
A = float64                      # the accumulator's type
load = store = same
GRAIN = 16_000


def add(running, x):
    return running + x


def multiply(running, x):
    return running * x


step, START = add, 0


# walk: outer, R, columns, step of R, step of outer, reverse.
def scan(x, out, walk):
    outer, n, columns, stride, outer_stride = walk[0], walk[1], walk[2], walk[3], walk[4]
    running = local_array(A, 256)
    first, move = int64(0), stride
    if walk[5] != 0:
        first, move = (n - 1) * stride, -stride
    for o in range(outer):
        base = o * outer_stride + first
        if columns == 1:
            total = A(START)
            for r in range(n):
                total = step(total, A(load(x[base + r * move])))
                out[base + r * move] = store(T(total))
            continue
        for left in range(0, columns, 256):
            width = min(int64(256), columns - left)
            for j in range(width):
                running[j] = A(START)
            for r in range(n):
                row = offset(x, base + left + r * move)
                result = offset(out, base + left + r * move)
                for j in range(width):
                    running[j] = step(running[j], A(load(row[j])))
                    result[j] = store(T(running[j]))


def _accumulator(dtype):
    kind = np.dtype(compute_type(dtype)).kind
    return {"f": np.float64, "c": np.complex128}.get(kind, np.int64)


def _plan(step_function, start, dtype, outer, R, inner, reverse):
    kernel = typed(scan, dtype, ("element*", "element*", "int64*"), A=_accumulator(dtype), step=step_function, START=start)
    work, size, tail = outer * R * inner, itemsize(dtype), (inner, R * inner, int(reverse))
    if outer > 1 or inner == 1:
        parts = shares(outer, work, GRAIN)
        rows = [(stop - begin, R, inner, *tail) for begin, stop in parts]
        offsets = [(begin * R * inner * size,) * 2 for begin, _ in parts]
    else:
        parts = shares(inner, work, GRAIN, multiple=64)
        rows = [(outer, R, stop - begin, *tail) for begin, stop in parts]
        offsets = [(begin * size,) * 2 for begin, _ in parts]
    return prepare_parts(kernel, rows, offsets, work)


def plan_cumsum(dtype: str, outer: int, R: int, inner: int, reverse: bool = False):
    """Running sums over R of contiguous (outer, R, inner), from the end if `reverse`. Addresses: x, out (may be x)."""
    return _plan(add, 0, dtype, outer, R, inner, reverse)


def plan_cumprod(dtype: str, outer: int, R: int, inner: int, reverse: bool = False):
    """Running products over R of contiguous (outer, R, inner), from the end if `reverse`. Addresses: x, out (may be x)."""
    return _plan(multiply, 1, dtype, outer, R, inner, reverse)
