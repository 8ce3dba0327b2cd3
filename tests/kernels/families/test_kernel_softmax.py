"""Softmax, log-softmax and cross entropy kernels against SciPy in float64."""
import itertools

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from numtorch.kernels.cpu.softmax import cross_entropy
from numtorch.kernels.cpu.softmax import softmax as softmax_kernels

TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}
SHAPES = [(1, 1, 1), (3, 1, 1), (5, 10, 1), (7, 129, 1), (2, 2500, 1), (3, 7, 5), (2, 10, 300), (1, 13, 1000), (0, 4, 1),
          (4, 0, 1), (4, 0, 3), (300, 400, 1), (1, 40, 3000), (70, 10, 67), (17, 16, 1), (33, 100, 1), (3, 256, 1), (3, 257, 1),
          (2, 1000, 7), (9, 12, 31), (5, 6, 2)]


def to_words(array, dtype):
    if dtype == "bfloat16":
        bits = np.asarray(array, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(array).astype(dtype).view(np.uint16 if dtype == "float16" else dtype)


def from_words(words, dtype):
    if dtype == "bfloat16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(float)
    return words.view(dtype).astype(float)


class Guarded:
    """An array between two guard strips that must survive the kernel."""

    def __init__(self, array):
        array = np.ascontiguousarray(array)
        size, edge = array.nbytes, 256
        self.raw = np.full(size + 2 * edge, 0xA5, np.uint8)
        self.array = self.raw[edge:edge + size].view(array.dtype).reshape(array.shape)
        self.array[...] = array
        self.edge, self.address = edge, self.array.ctypes.data if size else self.raw.ctypes.data + edge

    def check(self):
        assert (self.raw[:self.edge] == 0xA5).all() and (self.raw[len(self.raw) - self.edge:] == 0xA5).all()
        return self.array


def run(prepared, *arrays):
    guarded = [Guarded(a) if a is not None else None for a in arrays]
    prepared.call(*[g.address if g else 0 for g in guarded], prepared.descriptor)
    return [g.check() if g else None for g in guarded]


@pytest.mark.parametrize("length", [3, 16, 100, 256, 300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_not_finite(dtype, length):
    """Short rows take their maximum by integers and are filled up with -inf; neither may show."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, length)).astype(dtype)
    x[0], x[1, -1], x[2, 0], x[3, -1], x[4, 1] = -np.inf, np.inf, -np.inf, np.nan, -np.nan
    with np.errstate(all="ignore"):
        powers = np.exp(x.astype(float) - x.max(1, keepdims=True))
        total = powers.sum(1, keepdims=True)
        expected = {"softmax": powers / total, "log_softmax": x - x.max(1, keepdims=True) - np.log(total),
                    "logsumexp": np.log(np.exp(x.astype(float)).sum(1))}
    for name, reference in expected.items():
        _, out = run(getattr(softmax_kernels, f"plan_{name}")(dtype, 6, length, 1), x, np.zeros(reference.shape, dtype))
        np.testing.assert_allclose(out, reference, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], err_msg=name)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_softmax_and_gradients(dtype):
    rng = np.random.default_rng(0)
    shapes = SHAPES if dtype in ("float32", "float64") else SHAPES[2:9]
    for shape in shapes:
        x, grad = to_words(rng.normal(size=shape) * 5, dtype), to_words(rng.normal(size=shape), dtype)
        exact, g = from_words(x, dtype), from_words(grad, dtype)
        for name, reference in (("softmax", softmax), ("log_softmax", log_softmax)):
            if (dtype, name) in (("float16", "log_softmax"), ("bfloat16", "softmax")):       # words are read and written alike
                continue
            _, out = run(getattr(softmax_kernels, f"plan_{name}")(dtype, *shape), x, np.zeros_like(x))
            expected = reference(exact, axis=1) if shape[1] else exact
            tolerance = TOLERANCE[dtype]
            np.testing.assert_allclose(from_words(out, dtype), expected, tolerance, tolerance, err_msg=f"{name} {shape}")
            y = from_words(out, dtype)
            total = (g * y).sum(1, keepdims=True) if name == "softmax" else g.sum(1, keepdims=True)
            expected = y * (g - total) if name == "softmax" else g - np.exp(y) * total
            *_, gx = run(getattr(softmax_kernels, f"plan_{name}_grad")(dtype, *shape), grad, out, np.zeros_like(x))
            scale = tolerance * max(1, np.abs(total).max(initial=0))
            np.testing.assert_allclose(from_words(gx, dtype), expected, tolerance, scale, err_msg=f"{name} grad {shape}")


@pytest.mark.parametrize("inner", [1, 3])
def test_softmax_of_extremes(inner):
    rows = np.array([[1e4, 1e4 - 1, -1e30], [np.inf, 0, 0], [-np.inf] * 3, [np.nan, 0, 0], [-np.inf, 0, 1]], np.float32)
    with np.errstate(all="ignore"):
        expected = softmax(rows, axis=1), log_softmax(rows.astype(float), axis=1)
    expected[1][1] = np.nan                              # inf - inf, as in PyTorch
    x = np.ascontiguousarray(np.repeat(rows[:, :, None], inner, 2))
    for plan, value in zip((softmax_kernels.plan_softmax, softmax_kernels.plan_log_softmax), expected):
        out = run(plan("float32", 5, 3, inner), x, np.zeros_like(x))[1]
        np.testing.assert_allclose(out, np.repeat(value[:, :, None], inner, 2), 1e-6)


def test_softmax_in_place():
    x = np.random.default_rng(1).normal(size=(6, 50)).astype(np.float32)
    guarded, expected = Guarded(x), softmax(x, axis=1)
    plan = softmax_kernels.plan_softmax("float32", 6, 50, 1)
    plan.call(guarded.address, guarded.address, plan.descriptor)
    np.testing.assert_allclose(guarded.check(), expected, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_cross_entropy_stays_inside(dtype):
    """Between guard strips, with targets that are ignored and targets that are wrong."""
    rng = np.random.default_rng(2)
    wide = "float64" if dtype == "float64" else "float32"
    for (n, c, s), weighted, smoothing in itertools.product(
            [(5, 3, 1), (18, 16, 1), (33, 256, 1), (16, 257, 1), (2, 3, 300), (1, 4, 70)], [False, True], [0.0, 0.1]):
        logits, target = to_words(rng.normal(size=(n, c, s)), dtype), rng.integers(0, c, (n, s))
        target.flat[1::3] = -100
        weight = to_words(rng.uniform(0.5, 2, c), dtype) if weighted else None
        empty, numbers = np.zeros((n, s), logits.dtype), np.zeros((n, s), wide)
        plan = cross_entropy.plan_class_loss(dtype, n, c, s, -100, weighted, smoothing)
        *_, saved, status = run(plan, logits, target, weight, empty, numbers, np.zeros((n, 2, s), wide), np.zeros(1, np.int64))
        assert status[0] == 0
        plan = cross_entropy.plan_class_loss_grad(dtype, n, c, s, -100, weighted, smoothing, True, False)
        run(plan, logits, saved, target, weight, empty, None, logits)
        wrong = target.copy()
        wrong.flat[2] = [-1, c, 2**62, -2**63][(n + s) % 4]
        for kernel in (plan_with(cross_entropy.plan_class_loss, dtype, n, c, s, weighted, smoothing),
                       plan_with(cross_entropy.plan_likelihood_loss, dtype, n, c, s, weighted)):
            kept = [np.zeros((n, 2, s), wide)] if kernel[1] else []
            *_, status = run(kernel[0], logits, wrong, weight, empty, numbers, *kept, np.zeros(1, np.int64))
            assert status[0] == 3


def plan_with(planner, dtype, n, c, s, weighted, *smoothing):
    return planner(dtype, n, c, s, -100, weighted, *smoothing), bool(smoothing)


def test_float32_kernels_stay_in_float32():
    from numtorch.kernels.binding import DISABLE_JIT
    from numtorch.kernels.compiler import inspect_ir
    from numtorch.kernels.elementtypes import same
    if DISABLE_JIT:
        pytest.skip("nothing is compiled")
    of_log = dict(closed=softmax_kernels.log, result_of=softmax_kernels.log_probability, term=softmax_kernels.grad_alone,
                  slope=softmax_kernels.slope_of_log)
    kernels = [(softmax_kernels.softmax_rows, 2, {}), (softmax_kernels.softmax_columns, 2, {}),
               (softmax_kernels.softmax_columns, 2, of_log), (softmax_kernels.softmax_grad_rows, 3, {}),
               (softmax_kernels.softmax_grad_columns, 3, of_log)]
    for function, arrays, names in kernels:
        text = inspect_ir(function, ("float32*",) * arrays + ("int64*",),
                          {"T": np.float32, "load": same, "store": same, "RECOMPUTE": False, **names}, "float32")
        assert "double" not in text and "<" in text, function.__name__
