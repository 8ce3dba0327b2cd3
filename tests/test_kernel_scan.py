"""Running sums and products against NumPy."""
import numpy as np
import pytest

from numtorch.kernels.cpu import scan


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64", "float16"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (0, 3, 1), (3, 0, 2), (4, 37, 1), (3, 5, 7), (1, 9, 700), (2, 20_001, 1), (1, 60, 1000)])
def test_scans(dtype, shape):
    rng = np.random.default_rng(0)
    for name, reverse in [("cumsum", False), ("cumsum", True), ("cumprod", False), ("cumprod", True)]:
        x = (rng.uniform(0.9, 1.1, shape) if name == "cumprod" and shape[1] < 100 else rng.integers(-1, 2, shape)).astype(dtype)
        raw = np.full(x.size + 64, 7, dtype)
        plan = getattr(scan, f"plan_{name}")(dtype, *shape, reverse)
        plan.call(x.ctypes.data, raw.ctypes.data + 32 * raw.itemsize, plan.walk)
        assert (raw[:32] == 7).all() and (raw[-32:] == 7).all()
        wide = {"c": complex, "f": float}.get(x.dtype.kind, np.int64)
        flip = (lambda a: a[:, ::-1]) if reverse else (lambda a: a)
        expected = flip(getattr(np, name)(flip(x).astype(wide), axis=1))
        tolerance = 2e-3 if dtype == "float16" else 1e-6
        np.testing.assert_allclose(raw[32:-32].reshape(shape), expected, tolerance, tolerance)
        plan.call(x.ctypes.data, x.ctypes.data, plan.walk)
        assert (x.reshape(-1) == raw[32:-32]).all()
