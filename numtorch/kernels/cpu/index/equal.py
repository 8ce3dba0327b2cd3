"""Whether something is found among elements: where two tensors differ, an index or a probability that is out of bounds, looked at
until the first block that holds it, each part leaving its answer in a word of its own; and which elements are among others."""
from __future__ import annotations

from numpy import int32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import offset
from ..shared.elements import part_offsets, prepare_parts, shares, typed

load = same
BLOCK = 512                                              # elements between two looks at the answer
GRAIN = 50_000
MOST_PARTS = 32                                          # words that a caller has for answers

# the descriptor: elements; of indices, the least good one and the first that is too large; of membership, the tests
ELEMENTS, LEAST, END = range(3)
TESTS = ELEMENTS + 1


def differs(x, y, out, descriptor):
    """`out` is 1 where some differ, else 0."""
    n = descriptor[ELEMENTS]
    out[0] = 0
    for start in range(0, n, BLOCK):
        a, b = offset(x, start), offset(y, start)
        unlike = int32(0)
        for i in range(min(n - start, BLOCK)):
            unlike = int32(unlike + int32(load(a[i]) != load(b[i])))
        if unlike != 0:
            out[0] = 1
            return


def beyond(index, out, descriptor):
    """`out` is 1 where one is out of bounds, else 0."""
    n, least, end = descriptor[ELEMENTS], descriptor[LEAST], descriptor[END]
    out[0] = 0
    for start in range(0, n, BLOCK):
        a = offset(index, start)
        wrong = int32(0)
        for i in range(min(n - start, BLOCK)):
            wrong = int32(wrong + int32((int64(a[i]) < least) | (int64(a[i]) >= end)))
        if wrong != 0:
            out[0] = 1
            return


def outside_unit(x, out, descriptor):
    """`out` is 1 where one is below 0, above 1 or NaN, else 0."""
    n = descriptor[ELEMENTS]
    out[0] = 0
    for start in range(0, n, BLOCK):
        a = offset(x, start)
        good = int32(0)
        for i in range(min(n - start, BLOCK)):
            value = load(a[i])
            good = int32(good + int32((value >= 0) & (value <= 1)))
        if good != min(n - start, BLOCK):
            out[0] = 1
            return


FEW = 24                                                 # numbers that are compared with faster than they are searched


def among(x, tests, out, descriptor):
    """The tests are in order where they are more than FEW; NaN, which comes last, equals nothing."""
    n, count = descriptor[ELEMENTS], descriptor[TESTS]
    if count > FEW:
        for i in range(n):
            value = load(x[i])
            low, high = int64(0), count
            while low < high:
                middle = (low + high) >> 1
                if load(tests[middle]) < value:
                    low = middle + 1
                else:
                    high = middle
            out[i] = low < count and load(tests[min(low, count - 1)]) == value
        return
    for start in range(0, n, BLOCK):
        a, b = offset(x, start), offset(out, start)
        width = min(n - start, BLOCK)
        for i in range(width):
            b[i] = False
        for j in range(count):
            test = load(tests[j])
            for i in range(width):
                b[i] |= load(a[i]) == test


# ---------------------------------------------------------------- planners
def plan_among(dtype: str, n: int, count: int):
    """out[i] = whether x[i] equals one of the tests; NaN equals nothing.

    Addresses: x (n), tests (`count`, in order if they are more than FEW), out (n, bool); all dense.
    """
    work = n * min(count, FEW)
    parts = shares(n, work, GRAIN)
    return prepare_parts(typed(among, dtype, ("element*", "element*", "bool*", "int64*")),
                         [(stop - start, count) for start, stop in parts], work, part_offsets(parts, itemsize(dtype), 0, 1))


def _plan(kernel, dtype, arrays, n, *numbers):
    parts = shares(n, n, max(GRAIN, n // MOST_PARTS + 1), BLOCK)
    size = itemsize(dtype)
    return prepare_parts(typed(kernel, dtype, ("element*",) * arrays + ("int64*", "int64*")),
                         [(stop - start, *numbers) for start, stop in parts], n,
                         [(start * size,) * arrays + (8 * place,) for place, (start, _) in enumerate(parts)]), len(parts)


def plan_differs(dtype: str, n: int):
    """Whether some x[i] != y[i]. Returns the kernel and how many parts it has.

    Addresses: x and y (n each, dense), an int64 for each part, which becomes 1 where its part has one, else 0.
    """
    return _plan(differs, dtype, 2, n)


def plan_beyond(dtype: str, n: int, least: int, end: int):
    """Whether some index is below `least`, or `end` or more. Returns what `plan_differs` does.

    Addresses: indices (n, dense), an int64 for each part, as there.
    """
    return _plan(beyond, dtype, 1, n, least, end)


def plan_outside_unit(dtype: str, n: int):
    """Whether some x[i] is below 0, above 1 or NaN. Returns what `plan_differs` does.

    Addresses: x (n, dense), an int64 for each part, as there.
    """
    return _plan(outside_unit, dtype, 1, n)
