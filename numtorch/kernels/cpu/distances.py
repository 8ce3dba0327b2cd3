"""Distances of points: p-norms of the differences of rows, of all pairs of two sets or of every two rows of one."""
from __future__ import annotations

import struct

import numpy as np
from numpy import float32, int64

from ..intrinsics import float_of, fmax, offset
from ..threads import get_num_threads
from ..vectormath import pow, sqrt
from .elements import itemsize, prepare_parts, typed

T = float32
GRAIN = 20_000                   # differences
BLOCK = 1024
EVERY_TWO = False                # whether the rows after each row are the others


def square(d, p):
    return d * d


def root(total, p):
    return sqrt(total)


def magnitude(d, p):
    return abs(d)


def itself(total, p):
    return total


def unequal(d, p):
    return T(d != T(0))


def power(d, p):
    return pow(abs(d), p)


def power_root(total, p):
    return pow(total, T(1) / p)


def add(a, b):
    return a + b


term, finish, join = square, root, add


# walk: first row, rows, others, features, bits of p, batches, and how far apart in y points and features are
def pair_norms(x, y, out, walk):
    """A feature at a time of up to 1024 others, whose sums so far stay in the first-level cache."""
    first, rows, others, features, p = walk[0], walk[1], walk[2], walk[3], T(float_of(walk[4]))
    apart, along = walk[6], walk[7]
    for batch in range(walk[5]):
        points = offset(y, batch * others * features)
        for i in range(first, first + rows):
            point = offset(x, (batch * rows + i) * features)
            start, place = int64(0), (batch * rows + i) * others
            if EVERY_TWO:
                start, place = i + 1, i * others - i * (i + 1) // 2
            for low in range(start, others, BLOCK):
                count = min(int64(BLOCK), others - low)
                result = offset(out, place + low - start)
                for j in range(count):
                    result[j] = T(0)
                for f in range(features):
                    value, column = point[f], offset(points, low * apart + f * along)
                    if apart == 1:
                        for j in range(count):
                            result[j] = join(result[j], term(value - column[j], p))
                    else:
                        for j in range(count):
                            result[j] = join(result[j], term(value - column[j * apart], p))
                for j in range(count):
                    result[j] = finish(result[j], p)


_NORMS = {0.0: (unequal, itself, add), 1.0: (magnitude, itself, add), 2.0: (square, root, add), np.inf: (magnitude, itself, fmax)}


def _plan(dtype, rows, others, features, batches, p, every_two, columns):
    chosen = dict(zip(("term", "finish", "join"), _NORMS.get(p, (power, power_root, add))))
    kernel = typed(pair_norms, dtype, ("element*",) * 3 + ("int64*",), EVERY_TWO=every_two, **chosen)
    pairs = rows * (rows - 1) // 2 if every_two else batches * rows * others
    work, bits = pairs * (features + 4), struct.unpack("<q", struct.pack("<d", p))[0]
    parts = max(1, min(get_num_threads(), work // GRAIN))
    tail = (1, others) if columns else (features, 1)
    if batches > 1:
        edges, size = [batches * part // parts for part in range(parts + 1)], itemsize(dtype)
        walks = [(0, rows, others, features, bits, stop - start, *tail) for start, stop in zip(edges, edges[1:])]
        starts = [tuple(start * n * size for n in (rows * features, others * features, rows * others)) for start in edges[:-1]]
        return prepare_parts(kernel, walks, starts, work)
    shares = [part / parts for part in range(parts + 1)]
    if every_two:                                        # the first rows have the most others
        shares = [1 - (1 - share) ** 0.5 for share in shares]
    edges = [int(rows * share) for share in shares]
    walks = [(start, stop - start, others, features, bits, 1, *tail) for start, stop in zip(edges, edges[1:])]
    return prepare_parts(kernel, walks, [(0, 0, 0)] * parts, work)


def plan_pairs(dtype: str, rows: int, others: int, features: int, batches: int, p: float, columns: bool = False):
    """Addresses: x (batches, rows, features), y (batches, others, features), or with `columns` (batches, features, others), which
    is faster, out (batches, rows, others), all contiguous."""
    return _plan(dtype, rows, others, features, batches, p, False, columns)


def plan_every_two(dtype: str, rows: int, features: int, p: float, columns: bool = False):
    """Addresses: x (rows, features), the same again or with `columns` (features, rows), out (rows (rows - 1) / 2)."""
    return _plan(dtype, rows, rows, features, 1, p, True, columns)
