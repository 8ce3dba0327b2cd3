"""Multi-tensor SGD and Adam against their formulas in float64, and against PyTorch where it is installed."""
import itertools

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.cpu import optim

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 2e-2}
NUMELS = {"small": [0, 1, 7, 64, 0, 33], "threaded": [40_000, 3, 0, 70_001, 17], "empty": []}


def guarded(array):
    raw = np.full(array.size + 64, 7, array.dtype)
    raw[32:32 + array.size] = array
    return raw


def arrays(rng, numels, dtype, scale=1.0, square=False):
    return [guarded((np.abs(x) if square else x).astype(dtype)) for x in (rng.normal(size=n) * scale for n in numels)]


def inner(raws):
    for raw in raws:
        assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
    return [raw[32:-32].astype(float) for raw in raws]


def table(numels, *columns):
    rows = [[column[i].ctypes.data + 32 * column[i].itemsize if column else 0 for column in columns] + [n]
            for i, n in enumerate(numels)]
    return np.array(rows, np.int64).reshape(len(numels), len(columns) + 1)


def close(raws, expected, dtype):
    for actual, value in zip(inner(raws), expected):
        np.testing.assert_allclose(actual, value, TOLERANCE[dtype], TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", NUMELS)
def test_sgd(dtype, sizes):
    numels, rng = NUMELS[sizes], np.random.default_rng(0)
    plan = optim.plan_sgd(dtype, numels)
    for momentum, dampening, decay, nesterov, maximize in [(0, 0, 0, 0, 0), (0, 0, 0.1, 0, 1), (0.9, 0, 0, 0, 0),
                                                           (0.9, 0.3, 0.1, 0, 1), (0.9, 0, 0.1, 1, 0)]:
        params = arrays(rng, numels, dtype)
        buffers = [guarded(np.full(n, np.nan, dtype)) for n in numels] if momentum else []
        exact, moved = inner(params), None
        for step in range(3):
            grads = arrays(rng, numels, dtype)
            rows = table(numels, params, grads, buffers)
            hyper = np.array([0.1, momentum, dampening, decay, nesterov, maximize, step == 0], float)
            plan.call(rows.ctypes.data, hyper.ctypes.data, plan.walk)
            g = [(-x if maximize else x) + decay * p for x, p in zip(inner(grads), exact)]
            if momentum:
                moved = g if step == 0 else [momentum * b + (1 - dampening) * x for b, x in zip(moved, g)]
                g = [x + momentum * b for x, b in zip(g, moved)] if nesterov else moved
            exact = [p - 0.1 * x for p, x in zip(exact, g)]
        close(params, exact, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", NUMELS)
def test_adam(dtype, sizes):
    numels, rng = NUMELS[sizes], np.random.default_rng(1)
    plan = optim.plan_adam(dtype, numels)
    for amsgrad, maximize, decoupled in itertools.product((0, 1), repeat=3):
        params, grads = arrays(rng, numels, dtype), None
        m, v = [guarded(np.zeros(n, dtype)) for n in numels], [guarded(np.zeros(n, dtype)) for n in numels]
        top = [guarded(np.zeros(n, dtype)) for n in numels] if amsgrad else []
        p = inner(params)
        em, ev, et = ([np.zeros(n) for n in numels] for _ in range(3))
        for step in range(1, 4):
            grads = arrays(rng, numels, dtype, 1 / step)
            rows = table(numels, params, grads, m, v, top)
            hyper = np.array([0.01, 0.9, 0.999, 1e-8, 0.1, maximize, decoupled, step], float)
            plan.call(rows.ctypes.data, hyper.ctypes.data, plan.walk)
            for k, g in enumerate(inner(grads)):
                g = -g if maximize else g
                if decoupled:
                    p[k] = p[k] * (1 - 0.01 * 0.1)
                else:
                    g = g + 0.1 * p[k]
                em[k], ev[k] = 0.9 * em[k] + 0.1 * g, 0.999 * ev[k] + 0.001 * g * g
                et[k] = np.maximum(et[k], ev[k])
                root = np.sqrt(et[k] if amsgrad else ev[k]) / np.sqrt(1 - 0.999**step)
                p[k] = p[k] - 0.01 / (1 - 0.9**step) * em[k] / (root + 1e-8)
        close(params, p, dtype)
        close(m, em, dtype)
        close(v, ev, dtype)


def test_parts_cover_every_element_once():
    before = threads.get_num_threads()
    for count, numels in itertools.product((1, 2, 5), (*NUMELS.values(), [0, 0], [500_000], [1] * 300 + [200_000])):
        threads.set_num_threads(count)
        seen = [np.zeros(n, int) for n in numels]
        for first, stop, start, end in optim._parts(list(numels)):
            for row in range(first, stop):
                seen[row][start if row == first else 0:end if row == stop - 1 else numels[row]] += 1
        assert all((s == 1).all() for s in seen)
    threads.set_num_threads(before)


def test_against_pytorch():
    torch = pytest.importorskip("torch")
    rng, n = np.random.default_rng(2), 100
    for name, options, hyper in [("Adam", dict(weight_decay=0.1, amsgrad=True), [0, 0]), ("AdamW", dict(weight_decay=0.1), [0, 1])]:
        raw, m, v, top = (arrays(rng, [n], "float32", s) for s in (1, 0, 0, 0))
        p = torch.tensor(raw[0][32:-32], requires_grad=True)
        optimizer, plan = getattr(torch.optim, name)([p], lr=0.01, **options), optim.plan_adam("float32", [n])
        for step in range(1, 6):
            grads = arrays(rng, [n], "float32")
            p.grad = torch.tensor(grads[0][32:-32])
            optimizer.step()
            rows = table([n], raw, grads, m, v, top if "amsgrad" in options else [])
            values = np.array([0.01, 0.9, 0.999, 1e-8, 0.1, *hyper, step])
            plan.call(rows.ctypes.data, values.ctypes.data, plan.walk)
        np.testing.assert_allclose(inner(raw)[0], p.detach().numpy(), 1e-5, 1e-6)
