"""Running sums and products against NumPy."""
import numpy as np
import pytest

from numtorch.kernels.cpu.scan import scan
from numtorch.kernels.cpu.shared.elements import shares
from numtorch.kernels.threads import get_num_threads, least_work, set_num_threads


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 3, 1), (3, 0, 2), (4, 37, 1), (3, 5, 7), (1, 9, 700), (2, 20_001, 1), (1, 60, 1000),
                                   (7, 20, 1), (2, 300, 2), (1, 300, 3), (2, 140, 8), (1, 130, 261)])
def test_scans(dtype, shape):
    rng = np.random.default_rng(0)
    for name, reverse in [("cumsum", False), ("cumsum", True), ("cumprod", False), ("cumprod", True)]:
        x = (rng.uniform(0.9, 1.1, shape) if name == "cumprod" and shape[1] < 100 else rng.integers(-1, 2, shape)).astype(dtype)
        raw = np.full(x.size + 64, 7, dtype)
        plan = getattr(scan, f"plan_{name}")(dtype, *shape, reverse)
        plan.call(x.ctypes.data, raw.ctypes.data + 32 * raw.itemsize, plan.descriptor)
        assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
        wide = {"c": complex, "f": float}.get(x.dtype.kind, np.int64)
        flip = (lambda a: a[:, ::-1]) if reverse else (lambda a: a)
        expected = flip(getattr(np, name)(flip(x).astype(wide), axis=1))
        tolerance = 2e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(raw[32:-32].reshape(shape), expected, tolerance, tolerance)
        plan.call(x.ctypes.data, x.ctypes.data, plan.descriptor)
        assert (x.reshape(-1) == raw[32:-32]).all()


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_sums_of_rows_of_every_length(dtype):
    """Eights and what is left of them: nothing is read or written beside, and what is no number spoils only what follows it."""
    rng = np.random.default_rng(1)
    for n in range(1, 35):
        x = rng.integers(-1000, 1000, (6, n)).astype(dtype)
        if dtype == "float32":
            x[1, n // 2], x[2, -1], x[4, 0] = np.nan, np.inf, -np.inf
            x[5, n // 3], x[5, n // 3 + 1:n // 3 + 2] = 2 ** 40, -2 ** 40    # summed in float64: the others are not lost in it
        raw = np.full(x.size + 64, 7, dtype)
        plan = scan.plan_cumsum(dtype, 6, n, 1)
        plan.call(x.ctypes.data, raw.ctypes.data + 32 * raw.itemsize, plan.descriptor)
        assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
        np.testing.assert_allclose(raw[32:-32].reshape(6, n), np.cumsum(x, 1, np.float64 if dtype == "float32" else None), 1e-6)
        plan.call(x.ctypes.data, x.ctypes.data, plan.descriptor)
        np.testing.assert_array_equal(x.reshape(-1), raw[32:-32])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("times", [False, True])
def test_recurrences(dtype, times):
    rng = np.random.default_rng(2)
    for shape in [(1, 1, 1), (4, 37, 1), (3, 5, 7), (1, 9, 700), (40, 600, 1)]:
        c, x, products = rng.uniform(-1, 1, (3, *shape)).astype(dtype)
        for reverse in (False, True):
            raw = np.full(x.size + 64, 7, dtype)
            plan = scan.plan_recurrence(dtype, *shape, reverse, times)
            plan.call(c.ctypes.data, x.ctypes.data, products.ctypes.data, raw.ctypes.data + 32 * raw.itemsize, plan.descriptor)
            assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
            expected = c.astype(np.result_type(dtype, np.float64))
            for r in range(shape[1] - 2, -1, -1) if reverse else range(1, shape[1]):
                expected[:, r] += x[:, r + 1] * expected[:, r + 1] if reverse else x[:, r] * expected[:, r - 1]
            if times:
                expected[:, 1:] *= products[:, :-1]
            np.testing.assert_allclose(raw[32:-32].reshape(shape), expected, 1e-5, 1e-5)


@pytest.fixture
def threads():
    before = get_num_threads()
    yield set_num_threads
    set_num_threads(before)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "recurrence"])
def test_a_part_may_be_one_column_of_several(name, threads):
    columns = 64 + 1                                     # parts begin at multiples of 64 columns
    shape = 1, 2 * least_work(scan.GRAIN_ABREAST) // columns + 1, columns
    rng = np.random.default_rng(3)
    x, c = rng.choice([-1, 0.5, 1, 2], (2, *shape)).astype("float32")
    plan_of = getattr(scan, f"plan_{name}")
    results = []
    for count in (1, 2):
        threads(count)
        assert len(shares(columns, shape[1] * columns, scan.GRAIN_ABREAST, multiple=64)) == count
        values, indices = np.zeros(shape, "float32"), np.zeros(shape, "int64")
        plan = plan_of("float32", *shape, True, False) if name == "recurrence" else plan_of("float32", *shape)
        inputs = {"recurrence": (c, x, x)}.get(name, (x,))
        outputs = (values, indices) if name in ("cummax", "cummin") else (values,)
        plan.call(*[a.ctypes.data for a in inputs + outputs], plan.descriptor)
        results.append((values, indices))
    for one, two in zip(*results):
        np.testing.assert_array_equal(one, two)
    if name in ("cummax", "cummin"):
        np.testing.assert_array_equal(results[0][0], getattr(np, {"cummax": "maximum", "cummin": "minimum"}[name]).accumulate(x, 1))
