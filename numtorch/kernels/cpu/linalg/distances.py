"""Distances of points: p-norms of the differences of rows, of all pairs of two sets or of every two rows of one; and the gradient
of the latter, which goes to each row from all others."""
from __future__ import annotations

import numpy as np
from numpy import float32, int64

from ...elementtypes import itemsize
from ...intrinsics import float_of, fmax, offset
from ...threads import get_num_threads
from ...vectormath import pow, sqrt
from ..shared.elements import bits, prepare_parts, typed

T = float32
GRAIN = 20_000                   # differences
BLOCK = 1024
EVERY_TWO = False                # whether the rows after each row are the others
ALONG = False                    # whether there are many features
MANY_FEATURES = 24

# the descriptor: a part's first row and how many, how many others (of slopes all rows), their features, p; then of pairs the
# batches, and how far apart in y points and features are
FIRST, ROWS, OTHERS, FEATURES, POWER, BATCHES, POINT_STEP, FEATURE_STEP = range(8)


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


def pair_along(point, points, count, features, result, p):
    """Many features, a pair at a time: with a feature of all pairs at a time, 300 features take 2.3 times as long."""
    for j in range(count):
        other, total = offset(points, j * features), T(0)
        for f in range(features):
            total = join(total, term(point[f] - other[f], p))
        result[j] = finish(total, p)


def pair_norms(x, y, out, descriptor):
    """A feature at a time of up to 1024 others, whose sums so far stay in the first-level cache."""
    first, rows, others = descriptor[FIRST], descriptor[ROWS], descriptor[OTHERS]
    features, p = descriptor[FEATURES], T(float_of(descriptor[POWER]))
    apart, along = descriptor[POINT_STEP], descriptor[FEATURE_STEP]
    for batch in range(descriptor[BATCHES]):
        points = offset(y, batch * others * features)
        for i in range(first, first + rows):
            point = offset(x, (batch * rows + i) * features)
            start, place = int64(0), (batch * rows + i) * others
            if EVERY_TWO:
                start, place = i + 1, i * others - i * (i + 1) // 2
            if ALONG:
                pair_along(point, offset(points, start * features), others - start, features, offset(out, place), p)
                start = others
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


def share(grad, apart, p):
    """What of a distance's gradient goes to its difference, beside the slope of each coordinate."""
    return grad / apart


def slope(d, apart, p):
    return d


def whole_share(grad, apart, p):
    return grad


def direction(d, apart, p):
    return T(d > T(0)) - T(d < T(0))


def direction_of_largest(d, apart, p):
    return direction(d, apart, p) if abs(d) == apart else T(0)


def power_share(grad, apart, p):
    return grad / pow(apart, p - T(1))


def power_slope(d, apart, p):
    return direction(d, apart, p) * pow(abs(d), p - T(1)) if d != T(0) else T(0)


def slopes_of_every_two(x, grad, apart, out, descriptor):
    """out[i] = sum over j of the slope of the distance of rows i and j. Rows that are equal have none."""
    first, rows, count = descriptor[FIRST], descriptor[ROWS], descriptor[OTHERS]
    features, p = descriptor[FEATURES], T(float_of(descriptor[POWER]))
    for i in range(first, first + rows):
        point, total = offset(x, i * features), offset(out, i * features)
        for f in range(features):
            total[f] = T(0)
        for j in range(count):
            low, high = min(i, j), max(i, j)
            place = low * count - low * (low + 1) // 2 + high - low - 1
            if i != j and apart[place] != T(0):
                far, other = apart[place], offset(x, j * features)
                weight = share(grad[place], far, p)
                for f in range(features):
                    total[f] += weight * slope(point[f] - other[f], far, p)


_NORMS = {0.0: (unequal, itself, add), 1.0: (magnitude, itself, add), 2.0: (square, root, add), np.inf: (magnitude, itself, fmax)}


def goes_along(features: int, p: float) -> bool:
    """Whether a pair is taken at a time. Maxima, which LLVM keeps in order for the sake of NaN, are not."""
    return features >= MANY_FEATURES and p != np.inf


def _plan(dtype, rows, others, features, batches, p, every_two, columns):
    chosen = dict(zip(("term", "finish", "join"), _NORMS.get(p, (power, power_root, add))))
    kernel = typed(pair_norms, dtype, ("element*",) * 3 + ("int64*",), EVERY_TWO=every_two,
                   ALONG=goes_along(features, p), **chosen)
    pairs = rows * (rows - 1) // 2 if every_two else batches * rows * others
    work, power_bits = pairs * (features + 4), bits(p)
    parts = max(1, min(get_num_threads(), work // GRAIN))
    tail = (1, others) if columns else (features, 1)
    if batches > 1:
        edges, size = [batches * part // parts for part in range(parts + 1)], itemsize(dtype)
        descriptors = [(0, rows, others, features, power_bits, stop - start, *tail) for start, stop in zip(edges, edges[1:])]
        starts = [tuple(start * n * size for n in (rows * features, others * features, rows * others)) for start in edges[:-1]]
        return prepare_parts(kernel, descriptors, work, starts)
    shares = [part / parts for part in range(parts + 1)]
    if every_two:                                        # the first rows have the most others
        shares = [1 - (1 - share) ** 0.5 for share in shares]
    edges = [int(rows * share) for share in shares]
    descriptors = [(start, stop - start, others, features, power_bits, 1, *tail) for start, stop in zip(edges, edges[1:])]
    return prepare_parts(kernel, descriptors, work)


_SLOPES = {1.0: (whole_share, direction), 2.0: (share, slope), np.inf: (whole_share, direction_of_largest)}


def plan_slopes_of_every_two(dtype: str, rows: int, features: int, p: float):
    """The gradient of `plan_every_two` for p > 0: out[i] = the sum over j of gradient * slope of the distance of rows i and j. Rows
    that are equal have none.

    Addresses: x (rows, features), gradients and distances (rows (rows - 1) / 2), out (rows, features).
    """
    names = dict(zip(("share", "slope"), _SLOPES.get(p, (power_share, power_slope))))
    kernel = typed(slopes_of_every_two, dtype, ("element*",) * 4 + ("int64*",), **names)
    work = rows * rows * (features + 8)
    parts = max(1, min(get_num_threads(), work // GRAIN, rows))
    edges = [rows * part // parts for part in range(parts + 1)]
    descriptors = [(start, stop - start, rows, features, bits(p)) for start, stop in zip(edges, edges[1:])]
    return prepare_parts(kernel, descriptors, work)


def plan_pairs(dtype: str, rows: int, others: int, features: int, batches: int, p: float, columns: bool = False):
    """The p-norm of x[i] - y[j] for all i and j, `others` of these; of p = 0 how many coordinates differ. All are contiguous.

    Addresses: x (batches, rows, features), y (batches, others, features), or with `columns` (batches, features, others), which is
    faster where a pair is not taken at a time (`goes_along`, without `columns`), out (batches, rows, others).
    """
    return _plan(dtype, rows, others, features, batches, p, False, columns)


def plan_every_two(dtype: str, rows: int, features: int, p: float, columns: bool = False):
    """The same, by p too, of rows i < j of one x.

    Addresses: x (rows, features), the same again or with `columns` (features, rows), out (rows (rows - 1) / 2).
    """
    return _plan(dtype, rows, rows, features, 1, p, True, columns)
