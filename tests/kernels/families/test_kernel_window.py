"""Pooling kernels against a window-by-window NumPy reference in float64, and against PyTorch where it is installed."""
import itertools

import numpy as np
import pytest
from fenced import Fenced, fenced_only

from numtorch.kernels.cpu.pool import max_region, window
from numtorch.kernels.families.windows import output_size

try:
    import torch
except ImportError:
    torch = None

GUARD = 64
DTYPES = ["float32", "float64", "float16", "bfloat16"]
TOLERANCE = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}

# (N, C, H, W), kernel, stride, padding, dilation, ceil_mode
CASES = [
    ((2, 3, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((1, 1, 1, 1), (1, 1), (1, 1), (0, 0), (1, 1), False),
    ((2, 2, 7, 9), (3, 3), (1, 1), (1, 1), (1, 1), False),
    ((1, 2, 9, 7), (3, 2), (2, 3), (1, 1), (1, 1), True),
    ((1, 3, 5, 5), (2, 2), (2, 2), (1, 1), (1, 1), True),
    ((1, 2, 11, 13), (3, 3), (2, 1), (1, 0), (2, 3), False),
    ((1, 2, 11, 13), (2, 3), (3, 2), (1, 1), (4, 2), True),
    ((3, 1, 4, 300), (2, 5), (1, 1), (1, 2), (1, 1), False),
    ((2, 1, 3, 290), (3, 2), (3, 2), (0, 0), (1, 1), False),
    ((1, 5, 7, 7), (7, 7), (1, 1), (0, 0), (1, 1), False),
    ((1, 1, 1, 17), (1, 4), (1, 4), (0, 2), (1, 1), True),
    ((4, 16, 24, 24), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((1, 2, 3, 1300), (2, 700), (1, 300), (1, 350), (1, 1), False),
    ((1, 2, 3, 1300), (2, 20), (1, 7), (1, 10), (1, 30), True),
    ((2, 1, 5, 700), (3, 2), (2, 300), (1, 1), (2, 1), False),
    ((3, 5, 1, 34), (1, 2), (1, 2), (0, 0), (1, 1), False),
    ((7, 1, 1, 100), (1, 2), (1, 4), (0, 0), (1, 3), False),
    ((2, 3, 1, 35), (1, 3), (1, 2), (0, 1), (1, 1), False),
    ((1, 2, 4, 270), (2, 3), (2, 2), (0, 1), (1, 1), False),
    ((0, 3, 6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((2, 0, 6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
]


def to_words(dtype, values):
    if dtype == "float16":
        return values.astype(np.float16).view(np.uint16)
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(dtype)


def from_words(dtype, words):
    if dtype == "float16":
        return words.view(np.float16).astype(np.float64)
    if dtype == "bfloat16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return words.astype(np.float64)


class Guarded:
    """Memory of a dtype between two guards that must not change. Half types are held as words."""

    def __init__(self, dtype, shape, values=None):
        self.dtype, self.shape, self.count = dtype, tuple(shape), int(np.prod(shape))
        self.memory = np.full(self.count + 2 * GUARD, 12345, np.uint16 if dtype.endswith("float16") else dtype)
        if values is not None:
            self.memory[GUARD:GUARD + self.count] = to_words(dtype, values.ravel())
        self.address = self.memory.ctypes.data + GUARD * self.memory.itemsize

    def numpy(self):
        assert (self.memory[:GUARD] == 12345).all(), "wrote before the start"
        assert (self.memory[GUARD + self.count:] == 12345).all(), "wrote past the end"
        return from_words(self.dtype, self.memory[GUARD:GUARD + self.count]).reshape(self.shape)


def output_shape(shape, kernel, stride, padding, dilation, ceil_mode):
    N, C, *size = shape
    return N, C, *(output_size(*axis, ceil_mode) for axis in zip(size, kernel, stride, padding, dilation))


def places(shape, kernel, stride, padding, dilation, row, column):
    """The rows and columns of the input that one window holds."""
    axes = []
    for i, at in enumerate((row, column)):
        start = at * stride[i] - padding[i]
        axes.append([p for p in (start + k * dilation[i] for k in range(kernel[i])) if 0 <= p < shape[2 + i]])
    return axes


def windows(case):
    shape, *rest, ceil_mode = case
    _, _, rows, columns = output_shape(*case)
    for row in range(rows):
        for column in range(columns):
            yield row, column, *places(shape, *rest, row, column)


def samples(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_maximum(dtype, case):
    shape = case[0]
    N, C, H, W = shape
    x = Guarded(dtype, shape, samples(shape))
    out, indices = Guarded(dtype, output_shape(*case)), Guarded("int64", output_shape(*case))
    plan = window.plan_max_pool2d(dtype, *shape, *case[1:])
    plan.call(x.address, out.address, indices.address, plan.descriptor)
    values, found, where = x.numpy(), out.numpy(), indices.numpy().astype(np.int64)
    alone = Guarded(dtype, output_shape(*case))
    plan = window.plan_max_pool2d_values(dtype, *shape, *case[1:])
    plan.call(x.address, alone.address, plan.descriptor)
    np.testing.assert_array_equal(alone.numpy(), found)
    grad = Guarded(dtype, out.shape, samples(out.shape, 1))
    grad_x, expected = Guarded(dtype, shape), np.zeros(shape)
    for row, column, ys, xs in windows(case):
        block = values[:, :, ys][..., xs].reshape(N, C, len(ys) * len(xs))
        np.testing.assert_array_equal(found[:, :, row, column], block.max(-1))
        at = block.argmax(-1)
        flat = np.array([y * W + z for y in ys for z in xs])[at]
        np.testing.assert_array_equal(where[:, :, row, column], flat)
        for n, c in np.ndindex(N, C):
            expected.reshape(N, C, H * W)[n, c, flat[n, c]] += grad.numpy()[n, c, row, column]
    plan = window.plan_max_pool_grad(dtype, N * C, H * W, out.shape[2] * out.shape[3])
    plan.call(grad.address, indices.address, grad_x.address, plan.descriptor)
    np.testing.assert_allclose(grad_x.numpy(), expected, rtol=4 * TOLERANCE[dtype], atol=8 * TOLERANCE[dtype])


@fenced_only
@pytest.mark.parametrize("far", [False, True])
def test_maxima_look_at_nothing_else(far, monkeypatch):
    """Vectors that reach beyond short rows stay in the memory of x; and places that need 64 bits."""
    if far:
        monkeypatch.setattr(window, "_farthest_place", lambda *_: 1 << 31)
    shapes = [(2, 3, 14, 14), (1, 5, 7, 7), (3, 40, 1, 3), (1, 1, 2, 50), (1, 2, 3, 300), (4, 9, 5, 1)]
    for shape, kernel, stride, padded in itertools.product(shapes, [(1, 2), (2, 1), (3, 3), (1, 3)], (1, 2, 3), (0, 1)):
        padding = kernel[0] // 2 * padded, kernel[1] // 2 * padded
        if min(side + 2 * pad - extent for side, pad, extent in zip(shape[2:], padding, kernel)) < 0:
            continue
        case = shape, kernel, (stride, stride), padding, (1, 1), False
        for at_end in (False, True):
            x = Fenced(samples(shape), at_end)
            out, indices = Fenced(np.zeros(output_shape(*case)), at_end), Fenced(np.zeros(output_shape(*case), np.int64), at_end)
            plan = window.plan_max_pool2d("float64", *shape, *case[1:])
            plan.call(x.address, out.address, indices.address, plan.descriptor)
            assert indices.array.min() >= 0
            alone = Fenced(np.zeros(output_shape(*case)), at_end)
            plan = window.plan_max_pool2d_values("float64", *shape, *case[1:])
            plan.call(x.address, alone.address, plan.descriptor)
            np.testing.assert_array_equal(alone.array, out.array)
            planes, places_of = (each.array.reshape(*shape[:2], -1) for each in (x, indices))
            np.testing.assert_array_equal(np.take_along_axis(planes, places_of, 2), out.array.reshape(*shape[:2], -1))
            for row, column, ys, xs in windows(case):
                np.testing.assert_array_equal(out.array[:, :, row, column], x.array[:, :, ys][..., xs].max((2, 3)))


@pytest.mark.parametrize("case", [case for case in CASES if case[4] == (1, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("include, override", [(True, None), (False, None), (True, 3)])
def test_average(dtype, case, include, override):
    shape, kernel, stride, padding, _, ceil_mode = case
    N, C, H, W = shape
    x, out = Guarded(dtype, shape, samples(shape)), Guarded(dtype, output_shape(*case))
    plan = window.plan_avg_pool2d(dtype, *shape, kernel, stride, padding, ceil_mode, include, override)
    plan.call(x.address, out.address, plan.descriptor)
    values, found = x.numpy(), out.numpy()
    grad = Guarded(dtype, out.shape, samples(out.shape, 1))
    grad_x, expected = Guarded(dtype, shape), np.zeros(shape)
    for row, column, ys, xs in windows(case):
        divisor = len(ys) * len(xs)
        if override:
            divisor = override
        elif include:
            top, left = row * stride[0] - padding[0], column * stride[1] - padding[1]
            divisor = (min(top + kernel[0], H + padding[0]) - top) * (min(left + kernel[1], W + padding[1]) - left)
        block = values[:, :, ys][..., xs]
        np.testing.assert_allclose(found[:, :, row, column], block.sum((-1, -2)) / divisor, rtol=TOLERANCE[dtype],
                                   atol=TOLERANCE[dtype])
        share = grad.numpy()[:, :, row, column] / divisor
        expected[:, :, ys[0]:ys[-1] + 1, xs[0]:xs[-1] + 1] += share[..., None, None]
    plan = window.plan_avg_pool2d_grad(dtype, *shape, kernel, stride, padding, ceil_mode, include, override)
    plan.call(grad.address, grad_x.address, plan.descriptor)
    np.testing.assert_allclose(grad_x.numpy(), expected, rtol=8 * TOLERANCE[dtype], atol=8 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_and_infinity_reach_the_output(dtype):
    x = Guarded(dtype, (1, 1, 2, 8), np.array([[1, np.nan, 2, 3, -np.inf, -np.inf, np.inf, 0],
                                               [np.nan, 0, 1, 5, -np.inf, -np.inf, 7, 1.0]]))
    out, indices = Guarded(dtype, (1, 1, 1, 4)), Guarded("int64", (1, 1, 1, 4))
    plan = window.plan_max_pool2d(dtype, 1, 1, 2, 8, (2, 2), (2, 2), (0, 0))
    plan.call(x.address, out.address, indices.address, plan.descriptor)
    np.testing.assert_array_equal(out.numpy().ravel(), [np.nan, 5, -np.inf, np.inf])
    np.testing.assert_array_equal(indices.numpy().ravel(), [8, 11, 4, 6])     # the last NaN; of equals, the first


def first_of_largest(values, places):
    """The last NaN; without one, the first of the largest."""
    missing = np.flatnonzero(np.isnan(values))
    return places[missing[-1]] if len(missing) else places[int(values.argmax())]


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", [
    ((2, 2, 7, 40), (3, 3), (1, 1), (1, 1), (1, 1)), ((2, 2, 9, 40), (4, 5), (2, 3), (2, 2), (1, 2)),
    ((2, 2, 9, 9), (3, 3), (2, 1), (1, 1), (1, 1)), ((1, 1, 3, 900), (3, 600), (1, 1), (1, 2), (1, 1))])
@pytest.mark.parametrize("family", ["windows", "regions"])
def test_which_of_equals_and_of_nan(shape, kernel, stride, padding, dilation, family):
    N, C, H, W = shape
    draw = np.random.default_rng(3)
    values = draw.integers(0, 3, shape).astype(float)
    values[draw.random(shape) < 0.03] = np.nan
    values[draw.random(shape) < 0.5] = -np.inf
    values[0, 0] = -np.inf
    case = shape, kernel, stride, padding, dilation, False
    x, out, indices = Guarded("float32", shape, values), Guarded("float32", output_shape(*case)), Guarded("int64", output_shape(*case))
    if family == "windows":
        plan = window.plan_max_pool2d("float32", *shape, *case[1:])
    else:
        axes = [((0, 1),)]
        for axis in range(2):
            inside = [[p for p in (at * stride[axis] - padding[axis] + k * dilation[axis] for k in range(kernel[axis]))
                       if 0 <= p < shape[2 + axis]] for at in range(out.shape[2 + axis])]
            axes.append(tuple((p[0], p[-1] + 1) for p in inside))
        plan = max_region.plan_max_region("float32", N * C, (1, H, W), axes, (1, *dilation))
    plan.call(x.address, out.address, indices.address, plan.descriptor)
    found, where = out.numpy(), indices.numpy().astype(np.int64)
    for row, column, ys, xs in windows(case):
        flat = [y * W + z for y in ys for z in xs]
        for n, c in np.ndindex(N, C):
            place = first_of_largest(values[n, c].ravel()[flat], flat)
            assert where[n, c, row, column] == place
            np.testing.assert_array_equal(found[n, c, row, column], values[n, c].ravel()[place])


@pytest.mark.skipif(torch is None, reason="compares with PyTorch")
@pytest.mark.parametrize("case", [case for case in CASES if min(case[0]) > 0])
def test_against_torch(case):
    shape, kernel, _, padding, _, _ = case
    if any(2 * p > k for p, k in zip(padding, kernel)):
        pytest.skip("PyTorch allows padding up to half the kernel")
    x = np.float32(samples(shape, 5))
    x[x > 0.9] = np.nan
    expected, where = torch.nn.functional.max_pool2d(torch.from_numpy(x), *case[1:], return_indices=True)
    out, indices = np.empty(expected.shape, np.float32), np.empty(expected.shape, np.int64)
    plan = window.plan_max_pool2d("float32", *shape, *case[1:])
    plan.call(x.ctypes.data, out.ctypes.data, indices.ctypes.data, plan.descriptor)
    np.testing.assert_array_equal(out, expected.numpy())
    np.testing.assert_array_equal(indices, where.numpy())


@pytest.mark.parametrize("size, kernel, stride, padding, dilation, ceil_mode, expected", [
    (8, 2, 2, 0, 1, False, 4), (9, 2, 2, 0, 1, False, 4), (9, 2, 2, 0, 1, True, 5), (5, 2, 2, 1, 1, True, 3),
    (3, 2, 2, 1, 1, True, 2), (7, 3, 2, 1, 2, False, 3), (4, 1, 3, 0, 1, True, 2)])
def test_output_size(size, kernel, stride, padding, dilation, ceil_mode, expected):
    assert output_size(size, kernel, stride, padding, dilation, ceil_mode) == expected
