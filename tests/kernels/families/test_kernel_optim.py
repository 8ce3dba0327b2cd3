"""The walk over all parameters that optimisers' kernels share, with formulas of no, one and several states."""
import itertools

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.cpu.optim import optim

TOLERANCE = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3}
NUMELS = {"small": [0, 1, 7, 64, 0, 33, 257], "threaded": [40_000, 3, 0, 70_001, 17], "empty": []}


def plain(p, g, lr):
    return p - lr * g


def with_one(p, g, a, lr):
    a = a + g
    return p - lr * a, a


def with_four(p, g, a, b, c, d, lr, share):
    return p - lr * (a + b + c + d), a + share * g, b - g, c * 0.5 + g, d + p


FORMULAS = {plain: 0, with_one: 1, with_four: 4}


def guarded(array):
    raw = np.full(array.size + 64, 7, array.dtype)
    raw[32:32 + array.size] = array
    return raw


def inner(raws):
    for raw in raws:
        assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
    return [raw[32:-32].astype(float) for raw in raws]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", NUMELS)
@pytest.mark.parametrize("formula", FORMULAS)
def test_steps(formula, sizes, dtype):
    states, numels, rng = FORMULAS[formula], NUMELS[sizes], np.random.default_rng(0)
    own = [0.125, 0.25][:formula.__code__.co_argcount - 2 - states]
    plan = optim.plan_step(formula, states, len(own), dtype, numels)
    for sign, decay, shrink in [(1, 0, 1), (-1, 0.5, 0.75)]:
        columns = [[guarded(rng.normal(size=n).astype(dtype)) for n in numels] for _ in range(2 + states)]
        before = [inner(column) for column in columns]
        rows = [[c[i].ctypes.data + 32 * c[i].itemsize for c in columns] + [n] for i, n in enumerate(numels)]
        table = np.array(rows, np.int64).reshape(len(numels), 3 + states)
        values = np.array([sign, decay, shrink, *own])
        plan.call(table.ctypes.data, values.ctypes.data, plan.descriptor)
        after = [inner(column) for column in columns]
        for i in range(len(numels)):
            p, g, *rest = (column[i] for column in before)
            expected = formula(p * shrink, sign * g + decay * p, *rest, *own)
            found = [after[0][i], *(column[i] for column in after[2:])]
            for one, other in zip(found, expected if states else (expected,)):
                np.testing.assert_allclose(one, other, TOLERANCE[dtype], TOLERANCE[dtype])
            np.testing.assert_array_equal(after[1][i], g)


def test_parts_cover_every_element_once():
    before = threads.get_num_threads()
    for count, numels in itertools.product((1, 2, 5), (*NUMELS.values(), [0, 0], [500_000], [1] * 300 + [200_000])):
        threads.set_num_threads(count)
        seen = [np.zeros(n, int) for n in numels]
        for first, stop, start, end in optim.table_parts(list(numels)):
            for row in range(first, stop):
                seen[row][start if row == first else 0:end if row == stop - 1 else numels[row]] += 1
        assert all((s == 1).all() for s in seen)
    threads.set_num_threads(before)
