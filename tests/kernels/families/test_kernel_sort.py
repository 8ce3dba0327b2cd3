"""Sort, top-k and the k-th element against NumPy's stable sort."""
import numpy as np
import pytest

from numtorch.kernels.cpu.sort import sort, topk

SHAPES = [(1, 1, 1), (0, 5, 1), (2, 0, 3), (3, 31, 1), (3, 96, 1), (2, 100, 11), (1, 9000, 1), (9, 1500, 1)]


def run(plan, x, shape):
    raw = np.full(int(np.prod(shape)) + 64, 7, x.dtype), np.full(int(np.prod(shape)) + 64, 7, np.int64)
    workspace = np.full(plan.workspace // 8 + 16, 9, np.uint64)
    plan.call(x.ctypes.data, *(r.ctypes.data + 32 * r.itemsize for r in raw), workspace.ctypes.data, plan.descriptor)
    assert all((r[:32] == r.dtype.type(7)).all() and (r[-32:] == r.dtype.type(7)).all() for r in raw) and (workspace[-16:] == 9).all()
    return [r[32:-32].reshape(shape) for r in raw]


def stable_order(x, descending):
    if not descending:
        return np.argsort(x, axis=1, kind="stable")
    back = np.argsort(x[:, ::-1], axis=1, kind="stable")[:, ::-1]
    return x.shape[1] - 1 - back


# Elements become keys in the same way for all three: each dtype is sorted, and chosen from in one way or the other.
TOPK, KTH = ("float32", "float16", "int64", "uint8"), ("float32", "float64", "int32", "int8", "bool")


@pytest.mark.parametrize("dtype", sorted({*TOPK, *KTH}))
def test_sort_topk_and_kth(dtype):
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
            for k in {min(1, shape[1]), shape[1] // 3, max(0, shape[1] - 1)} - {0} if dtype in TOPK else ():
                values, indices = run(topk.plan_topk(dtype, *shape, k, descending), x, (shape[0], k, shape[2]))
                np.testing.assert_array_equal(indices, order[:, :k])
                np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, :k], 1))
        for k in {0, shape[1] // 2, shape[1] - 1} if shape[1] and dtype in KTH else ():
            order = stable_order(x, False)[:, k]
            values, indices = run(topk.plan_kth(dtype, *shape, k), x, (shape[0], shape[2]))
            np.testing.assert_array_equal(indices, order)
            np.testing.assert_array_equal(values, np.take_along_axis(x, order[:, None], 1)[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows_of_every_length_side_by_side(dtype):
    """Each length has exchanges of its own, for eight rows or columns together, fewer that are left, and shares of threads."""
    rng = np.random.default_rng(0)
    shapes = [shape for n in (*range(1, 67), 96, 97, 255, 256, 257) for shape in ((11, n, 1), (1, n, 10))]
    for turn, (rows, n, columns) in enumerate([*shapes, (70, 96, 1), (3, 64, 40)]):
        shape, descending = (rows, n, columns), turn % 4 < 2
        x = rng.integers(0, n // 2 + 1, shape).astype(dtype)
        x[rng.random(shape) < 0.1] = np.nan
        order = stable_order(x, descending)
        values, indices = run(sort.plan_sort(dtype, *shape, descending), x, shape)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
        order, nans = stable_order(x, False), np.isnan(x).sum(1, keepdims=True)
        for skip in (False, True):
            middle = np.where((nans > 0) & (not skip), n - nans, np.maximum((n - nans - 1) // 2, 0))
            expected = np.take_along_axis(order, middle, 1)
            values, indices = run(topk.plan_median(dtype, *shape, skip), x, (rows, columns))
            np.testing.assert_array_equal(indices[:, None], expected)
            np.testing.assert_array_equal(values[:, None], np.take_along_axis(x, expected, 1))


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_keys_that_agree_in_their_leading_bits(dtype):
    """Far outliers leave too few bits to tell the others apart, which are then sorted by the rest."""
    rng = np.random.default_rng(0)
    near = rng.integers(0, 50, 3000)
    x = np.where(rng.random(3000) < 0.3, near * 2**10, near) if dtype == "int64" else 1 + near * np.finfo(float).eps
    x = x.astype(dtype)
    x[[5, 70]] = (-2**62, 2**62) if dtype == "int64" else (-1e300, 1e300)
    x = x.reshape(1, -1, 1)
    values, indices = run(sort.plan_sort(dtype, *x.shape), x, x.shape)
    np.testing.assert_array_equal(indices, np.argsort(x, 1, kind="stable"))
    for k in (3, 40, 2900):
        _, indices = run(topk.plan_topk(dtype, 1, 3000, 1, k, False), x, (1, k, 1))
        np.testing.assert_array_equal(indices, np.argsort(x, 1, kind="stable")[:, :k])


def test_median():
    nan = np.nan
    x = np.array([[3, nan, 1, nan, 2], [5, 4, 3, 2, 1], [nan] * 5])[..., None]
    for skip, wanted in ((False, (1, 2, 0)), (True, (4, 2, 0))):
        values, indices = run(topk.plan_median("float64", 3, 5, 1, skip), x, (3, 1))
        assert indices.ravel().tolist() == list(wanted)
        np.testing.assert_array_equal(values, np.take_along_axis(x, indices[:, None], 1)[:, 0])
