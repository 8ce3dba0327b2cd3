"""Sort and top-k against NumPy's stable sort."""
import numpy as np
import pytest

from numtorch.kernels.cpu import sort

SHAPES = [(1, 1, 1), (0, 5, 1), (2, 0, 3), (3, 31, 1), (3, 33, 1), (2, 100, 3), (1, 5000, 1), (9, 1500, 1)]


def run(plan, x, shape):
    raw = np.full(int(np.prod(shape)) + 64, 7, x.dtype), np.full(int(np.prod(shape)) + 64, 7, np.int64)
    workspace = np.full(plan.workspace // 8 + 16, 9, np.uint64)
    plan.call(x.ctypes.data, *(r.ctypes.data + 32 * r.itemsize for r in raw), workspace.ctypes.data, plan.walk)
    assert all((r[:32] == r.dtype.type(7)).all() and (r[-32:] == r.dtype.type(7)).all() for r in raw) and (workspace[-16:] == 9).all()
    return [r[32:-32].reshape(shape) for r in raw]


def stable_order(x, descending):
    if not descending:
        return np.argsort(x, axis=1, kind="stable")
    back = np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]
    return x.shape[1] - 1 - back


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"])
def test_sort_and_topk(dtype):
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        x = (rng.normal(size=shape) * (30 if dtype != "bool" else 1)).round().astype(dtype)
        if x.dtype.kind == "f" and x.size:
            x[rng.random(shape) < 0.1] = np.nan
            x[rng.random(shape) < 0.1] = np.inf
            x[rng.random(shape) < 0.1] = -np.inf
            x[rng.random(shape) < 0.2] = 0.0
            x[rng.random(shape) < 0.1] = -0.0
        if dtype == "int64":
            x = x * 2**55
        for descending in (False, True):
            order = stable_order(x, descending)
            values, indices = run(sort.plan_sort(dtype, *shape, descending), x, shape)
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
            for k in {0, min(1, shape[1]), shape[1] // 3, max(0, shape[1] - 1)}:
                values, indices = run(sort.plan_topk(dtype, *shape, k, descending), x, (shape[0], k, shape[2]))
                np.testing.assert_array_equal(indices, order[:, :k])
                np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, :k], 1))
