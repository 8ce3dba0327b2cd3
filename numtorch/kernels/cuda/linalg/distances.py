"""Distances on a GPU: a thread a pair of points, and for the gradient a coordinate of a point. Norms are the host's
(kernels/cpu/linalg/distances.py)."""
from __future__ import annotations

from numpy import float32, int32, int64

from ...cpu.linalg import distances as host
from ...cpu.linalg.distances import (
    BATCHES,
    FEATURE_STEP,
    FEATURES,
    OTHERS,
    POINT_STEP,
    POWER,
    ROWS,
    add,
    root,
    share,
    slope,
    square,
)
from ...intrinsics import offset
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import scalar

T, INT = float32, int32
EVERY_TWO = False
term, finish, join = square, root, add


def goes_along(features: int, p: float) -> bool:
    """Whether the others' features are side by side; here the others themselves always are, for neighbouring threads."""
    return False


def pair_norms(x, y, out, descriptor):
    rows, others, features, p = descriptor[ROWS], descriptor[OTHERS], descriptor[FEATURES], scalar(descriptor, POWER)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[BATCHES] * rows * others:
        row = e // others
        j, batch = e - row * others, row // rows
        i, place = row - batch * rows, e
        if EVERY_TWO:
            place = i * others - i * (i + 1) // 2 + j - i - 1
        if not EVERY_TWO or j > i:
            point, other, total = offset(x, row * features), offset(y, batch * others * features + j * descriptor[POINT_STEP]), T(0)
            for f in range(features):
                total = join(total, term(point[f] - other[f * descriptor[FEATURE_STEP]], p))
            out[place] = finish(total, p)
        e += int64(cuda.gridDim.x) * THREADS


def slopes_of_every_two(x, grad, apart, out, descriptor):
    count, features, p = descriptor[OTHERS], descriptor[FEATURES], scalar(descriptor, POWER)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < count * features:
        i = e // features
        f, total = e - i * features, T(0)
        for j in range(count):
            low, high = min(i, int64(j)), max(i, int64(j))
            place = low * count - low * (low + 1) // 2 + high - low - 1
            if i != j and apart[place] != T(0):
                far = apart[place]
                total += share(grad[place], far, p) * slope(x[e] - x[j * features + f], far, p)
        out[e] = total
        e += int64(cuda.gridDim.x) * THREADS


_forms = {host.pair_norms: Form(pair_norms, lambda row: row[BATCHES] * row[ROWS] * row[OTHERS], scalars=(POWER,))}
plan_pairs = in_parallel(host.plan_pairs, _forms)
plan_every_two = in_parallel(host.plan_every_two, _forms)
plan_slopes_of_every_two = in_parallel(host.plan_slopes_of_every_two, {host.slopes_of_every_two: Form(
    slopes_of_every_two, lambda row: row[OTHERS] * row[FEATURES], scalars=(POWER,))})
