"""Convolution kernels against NumPy in float64; gradients by <conv(x, w), g> = <x, dx> = <w, dw>."""
from types import SimpleNamespace

import numpy as np
import pytest

from numtorch.kernels import threads
from numtorch.kernels.cpu.conv import channels_last as convlast
from numtorch.kernels.cpu.conv import columns, conv, depthwise_last, lanes, product, unfold, weight
from numtorch.kernels.cpu.conv.image import edges_of_panels
from numtorch.kernels.families import windows

GUARD = 64
DTYPES = ["float32", "float64"]
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


class Guarded:
    """Memory of a dtype between two guards that must not change."""

    def __init__(self, dtype, shape, values=None):
        self.dtype, self.shape, self.count = dtype, tuple(shape), int(np.prod(shape))
        self.memory = np.full(self.count + 2 * GUARD, 12345, dtype)
        self.inner = self.memory[GUARD:GUARD + self.count]
        if values is not None:
            self.inner[:] = np.asarray(values, dtype).ravel()

    @property
    def address(self):
        return self.inner.ctypes.data if self.count else self.memory.ctypes.data + GUARD * self.memory.itemsize

    def numpy(self):
        assert (self.memory[:GUARD] == 12345).all(), "wrote before the start"
        assert (self.memory[GUARD + self.count:] == 12345).all(), "wrote past the end"
        return self.inner.astype(np.float64).reshape(self.shape)


def run(prepared, *addresses):
    workspace = np.full(prepared.workspace + 128, 0xFF, np.uint8)        # NaN: nothing may rely on zeros
    start = -workspace.ctypes.data % 64
    prepared.call(*addresses, workspace.ctypes.data + start, prepared.descriptor)
    assert (workspace[start + prepared.workspace:] == 0xFF).all(), "wrote past the workspace"


def reference(x, w, stride, padding, dilation, groups):
    """Tap by tap, over any number of dimensions."""
    out = [windows.output_size(*axis) for axis in zip(x.shape[2:], w.shape[2:], stride, padding, dilation)]
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    grouped = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    total = np.zeros((x.shape[0], groups, w.shape[0] // groups, *out))
    for tap in np.ndindex(*w.shape[2:]):
        places = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, out, stride)]
        part = padded[(..., *places)].reshape(x.shape[0], groups, w.shape[1], *out)
        total += np.einsum("ngc...,goc->ngo...", part, grouped[(..., *tap)], optimize=True)
    return total.reshape(x.shape[0], w.shape[0], *out)


def input_and_weight_gradients(x, w, g, stride, padding, dilation, groups):
    """Tap by tap, as `reference`."""
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    grouped, grad_x, grad_w = w.reshape(groups, -1, *w.shape[1:]), np.zeros(padded.shape), np.zeros(w.shape)
    grads = g.reshape(g.shape[0], groups, -1, *g.shape[2:])
    for tap in np.ndindex(*w.shape[2:]):
        places = (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, g.shape[2:], stride)))
        part = padded[places].reshape(x.shape[0], groups, -1, *g.shape[2:])
        grad_x[places] += np.einsum("ngo...,goc->ngc...", grads, grouped[(..., *tap)], optimize=True).reshape(padded[places].shape)
        inside = (x.shape[0], groups, -1, int(np.prod(g.shape[2:])))
        grad_w[(..., *tap)] = np.einsum("ngop,ngcp->goc", grads.reshape(inside), part.reshape(inside), optimize=True).reshape(w.shape[:2])
    return grad_x[(..., *(slice(p, p + n) for p, n in zip(padding, x.shape[2:])))], grad_w


# (N, C, *sizes), (O, *kernel), stride, padding, dilation, groups
CASES = [
    ((2, 3, 7, 9), (4, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((1, 1, 1, 1), (1, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((1, 5, 6, 6), (7, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((3, 2, 8, 8), (16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 1, 28, 28), (10, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((2, 10, 12, 12), (20, 5, 5), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 23, 21), (9, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    ((2, 4, 11, 10), (6, 3, 2), (3, 2), (2, 1), (1, 1), 1),
    ((1, 4, 13, 17), (5, 3, 3), (2, 3), (2, 4), (2, 3), 1),
    ((2, 6, 9, 8), (4, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    ((2, 6, 9, 8), (12, 3, 3), (2, 1), (1, 0), (1, 2), 6),
    ((2, 8, 5, 5), (8, 3, 3), (1, 1), (1, 1), (1, 1), 8),
    ((2, 8, 9, 19), (8, 3, 3), (1, 1), (1, 1), (1, 1), 8),                               # depthwise, seven rows at a time
    ((1, 8, 17, 9), (8, 5, 5), (1, 1), (2, 2), (1, 1), 8),
    ((1, 8, 14, 37), (8, 7, 7), (1, 1), (3, 3), (1, 1), 8),
    ((2, 8, 13, 40), (8, 5, 1), (1, 1), (2, 0), (1, 1), 8),
    ((2, 8, 13, 20), (8, 3, 5), (1, 1), (1, 4), (1, 2), 8),
    ((2, 8, 13, 20), (8, 3, 3), (1, 1), (2, 2), (2, 2), 8),                              # whose rows are further apart
    ((2, 8, 17, 21), (8, 7, 7), (1, 2), (3, 3), (1, 1), 8),
    ((2, 19, 7, 7), (19, 5, 5), (1, 1), (2, 2), (1, 1), 19),                             # and channels as lanes
    ((1, 33, 9, 15), (33, 3, 3), (2, 2), (1, 1), (1, 1), 33),
    ((2, 16, 5, 3), (16, 3, 3), (1, 1), (4, 3), (2, 1), 16),                             # taps that are nowhere inside
    ((1, 20, 50), (20, 17), (1,), (8,), (1,), 20),
    ((2, 18, 11, 13), (18, 5, 5), (2, 3), (2, 1), (1, 2), 18),                           # channels last: columns of six kinds,
    ((1, 17, 5, 7), (17, 1, 1), (2, 2), (1, 0), (1, 1), 17),                             # and places without a tap
    ((1, 9, 16, 20), (9, 5, 5), (1, 1), (0, 1), (1, 2), 9),
    ((1, 8, 9, 9, 9), (8, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 8),
    ((1, 40, 6, 7), (40, 3, 3), (1, 2), (1, 1), (1, 1), 2),
    ((1, 3, 1, 41), (5, 1, 5), (1, 2), (0, 2), (1, 1), 1),
    ((2, 3, 4, 4), (3, 3, 3), (1, 1), (4, 4), (1, 1), 1),
    ((1, 2, 6, 6), (3, 2, 2), (5, 5), (0, 0), (1, 1), 1),
    ((1, 2, 5, 40), (33, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 70, 9, 9), (31, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((8, 16, 14, 14), (32, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((4, 16, 14, 14), (32, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((2, 5, 25, 28), (9, 1, 1), (2, 2), (0, 0), (1, 1), 1),                              # images alone
    ((1, 64, 20, 20), (64, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 5, 4, 7), (6, 1, 1, 1), (2, 1, 3), (0, 0, 0), (1, 1, 1), 1),
    ((5, 256, 7, 7), (260, 1, 1), (1, 1), (0, 0), (1, 1), 1),                            # images side by side
    ((3, 3, 17, 24), (20, 8, 8), (8, 8), (0, 0), (1, 1), 1),                             # patches
    ((1, 2, 29, 44), (9, 14, 14), (14, 14), (0, 0), (1, 1), 1),
    ((3, 5, 41), (12, 20), (20,), (0,), (1,), 1),
    ((2, 3, 4, 9, 11), (6, 2, 3, 3), (2, 3, 3), (0, 0, 0), (1, 1, 1), 1),
    ((3, 8, 5, 6), (10, 5, 6), (1, 1), (0, 0), (1, 1), 1),                               # the kernel covers the image
    ((0, 3, 5, 5), (2, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 40, 14, 15), (34, 3, 3), (1, 1), (1, 1), (1, 1), 1),                            # Winograd, with tiles that hang over
    ((3, 64, 9, 13), (64, 3, 3), (1, 1), (0, 2), (1, 1), 2),
    ((5, 32, 7, 7), (48, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((3, 128, 6, 5), (160, 3, 3), (2, 2), (1, 1), (1, 1), 1),                            # a weight beyond the cache
    ((9, 36, 7, 7), (35, 5, 5), (1, 1), (2, 2), (1, 1), 1),                              # images side by side
    ((2, 33, 5, 6), (30, 1, 1), (3, 2), (1, 0), (1, 1), 1),
    ((2, 5, 9, 20), (10, 3, 3), (1, 1), (1, 1), (1, 1), 5),                              # few features
    ((2, 6, 7, 33), (6, 3, 4), (2, 2), (2, 1), (1, 2), 6),
    ((1, 3, 19, 70), (3, 5, 5), (1, 3), (2, 0), (2, 1), 3),
    ((6, 20, 12, 12), (50, 5, 5), (1, 1), (0, 0), (1, 1), 1),                            # gradients that would multiply padding
    ((3, 6, 13, 21), (34, 3, 4), (1, 1), (0, 1), (2, 3), 2),
    ((1, 3, 9, 9), (20, 2, 9), (1, 1), (3, 0), (1, 1), 1),
    ((2, 2, 5, 6, 6), (40, 2, 3, 3), (1, 1, 1), (0, 0, 0), (2, 1, 1), 1),
    ((2, 4, 11, 41), (4, 3, 3), (2, 2), (1, 1), (1, 1), 4),                              # two phases at a time
    ((1, 3, 10, 2), (3, 3, 3), (2, 2), (1, 1), (1, 1), 3),
    ((1, 3, 6, 1), (3, 3, 3), (2, 2), (1, 1), (1, 1), 3),
    ((1, 3, 5, 9), (3, 1, 1), (2, 2), (0, 0), (1, 1), 3),
    ((2, 3, 77), (3, 3), (2,), (1,), (1,), 3),
    ((2, 5, 150), (40, 5), (1,), (2,), (1,), 1),
    ((2, 6, 77), (6, 3), (2,), (4,), (3,), 6),
    ((2, 30, 40), (31, 4), (1,), (0,), (2,), 1),
    ((1, 3, 50, 52), (60, 7, 7), (2, 1), (3, 2), (1, 1), 1),                             # taps' places in two blocks: of lines,
    ((1, 2, 6, 31, 30), (40, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),              # of planes,
    ((1, 1, 60001), (20, 4), (2,), (1,), (1,), 1),                                       # and of columns
    ((3, 5, 81), (256, 3), (2,), (1,), (1,), 1),
    ((2, 300, 9, 7), (257, 3, 3), (2, 3), (1, 0), (1, 1), 1),
    ((2, 5, 9, 8), (7, 2, 2), (2, 2), (0, 0), (1, 1), 1),
    ((2, 3, 5, 7, 40), (8, 3, 2, 2), (3, 2, 2), (0, 0, 0), (1, 1, 1), 1),                # patches two columns wide
    ((1, 1, 70001), (16, 2), (2,), (0,), (1,), 1),
    ((1, 35, 9, 8), (257, 1, 1), (1, 1), (0, 0), (1, 1), 1),                             # products as their transposes
    ((1, 35, 9, 8), (257, 1, 1), (2, 1), (0, 0), (1, 1), 1),
    ((2, 3, 5, 6, 7), (4, 2, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1),
    ((1, 32, 4, 7, 6), (40, 3, 3, 2), (2, 1, 2), (1, 2, 1), (1, 2, 1), 1),
    ((2, 4, 5, 5, 9), (8, 3, 3, 3), (2, 2, 2), (1, 1, 1), (1, 1, 1), 4),
]


def sizes(case):
    x_shape, (features, *kernel), *rest = case
    return x_shape, (features, x_shape[1] // rest[-1], *kernel), *rest


def operands(case, dtype, seed=0):
    x_shape, w_shape, stride, padding, dilation, _ = sizes(case)
    random = np.random.default_rng(seed)
    out = [windows.output_size(*axis) for axis in zip(x_shape[2:], w_shape[2:], stride, padding, dilation)]
    shapes = x_shape, w_shape, (x_shape[0], w_shape[0], *out), (w_shape[0],)
    return [Guarded(dtype, s, random.uniform(-1, 1, s)) for s in shapes]


def close(got, expected, dtype, terms):
    scale = TOLERANCE[dtype] * max(1.0, terms ** 0.5)
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype], atol=scale)


def channels_last(values):
    """The elements of (N, C, *sizes) in the order of (N, *sizes, C)."""
    return np.moveaxis(values, 1, -1).ravel()


TABLE = [(dtype, case) for dtype in DTYPES for case in CASES]


@pytest.mark.parametrize("dtype, case", TABLE)
@pytest.mark.parametrize("bias, activation", [(False, None), (True, "relu")])
def test_forward(dtype, case, bias, activation):
    x, w, g, b = operands(case, dtype)
    out = Guarded(dtype, g.shape)
    plan = conv.plan_convolution(dtype, *sizes(case), bias, activation)
    run(plan, x.address, w.address, b.address if bias else 0, out.address)
    expected = reference(x.numpy(), w.numpy(), *case[2:])
    if bias:
        expected = expected + b.numpy().reshape(-1, *[1] * (len(x.shape) - 2))
    if activation:
        expected = np.maximum(expected, 0)
    close(out.numpy(), expected, dtype, np.prod(w.shape[1:]))


@pytest.mark.parametrize("dtype, case", TABLE)
def test_gradients_are_adjoint(dtype, case):
    x, w, g, _ = operands(case, dtype, 1)
    grad_x, grad_w = Guarded(dtype, x.shape), Guarded(dtype, w.shape)
    run(conv.plan_convolution_input_grad(dtype, *sizes(case)), g.address, w.address, 0, grad_x.address)
    run(conv.plan_convolution_weight_grad(dtype, *sizes(case)), g.address, x.address, grad_w.address)
    random = np.random.default_rng(2)
    probe_x, probe_w = random.uniform(-1, 1, x.shape), random.uniform(-1, 1, w.shape)
    scale = max(1.0, np.sqrt(g.count * np.prod(w.shape[1:])))
    assert abs((reference(probe_x, w.numpy(), *case[2:]) * g.numpy()).sum() - (grad_x.numpy() * probe_x).sum()) \
        <= TOLERANCE[dtype] * scale * 2
    assert abs((reference(x.numpy(), probe_w, *case[2:]) * g.numpy()).sum() - (grad_w.numpy() * probe_w).sum()) \
        <= TOLERANCE[dtype] * scale * 2


@pytest.mark.parametrize("dtype, case", TABLE)
def test_features_as_lanes(dtype, case, monkeypatch):
    """Of every shape, also those that others compute faster, in each form and order of elements."""
    x, w, g, b = operands(case, dtype, 7)
    shape, out, grad_x = windows.geometry(*sizes(case)), Guarded(dtype, g.shape), Guarded(dtype, x.shape)
    if not shape.multiply_adds:
        return
    exact = np.maximum(reference(x.numpy(), w.numpy(), *case[2:]) + b.numpy().reshape(-1, *[1] * (len(x.shape) - 2)), 0)
    exact_x = input_and_weight_gradients(x.numpy(), w.numpy(), g.numpy(), *case[2:])[0]
    for last in (False, True)[:1 + (shape.groups == 1)]:
        order = channels_last if last else np.ravel
        first_x, first_g = (Guarded(dtype, a.shape, order(a.numpy())) for a in (x, g))
        for form in (lanes.DEEP, lanes.ROWS, lanes.ROWS_APART):
            monkeypatch.setattr(lanes, "_form", lambda dtype, sums, form=form: form)
            run(lanes.plan_forward(dtype, shape, True, True, last), first_x.address, w.address, b.address, out.address)
            close(out.numpy().ravel(), order(exact), dtype, np.prod(w.shape[1:]))
            if shape.stride[2] <= 2:
                run(lanes.plan_input_grad(dtype, shape, False, last), first_g.address, w.address, 0, grad_x.address)
                close(grad_x.numpy().ravel(), order(exact_x), dtype, w.count // w.shape[1])


@pytest.mark.parametrize("dtype, case", [row for row in TABLE if 8 <= row[1][0][1] == row[1][1][0] == row[1][-1]
                                         or set(row[1][1][1:]) == {1}])
@pytest.mark.parametrize("count", [1, 2])
def test_depthwise_and_products_channels_last(dtype, case, count, monkeypatch):
    """As a whole and in bands of a line."""
    if not conv.takes_channels_last(dtype, *sizes(case)):
        return
    monkeypatch.setattr(depthwise_last, "BAND_BYTES", depthwise_last.BAND_BYTES if count == 1 else 1)
    monkeypatch.setattr(depthwise_last, "SPLIT_WORK", 0)
    monkeypatch.setattr(threads, "get_num_threads", lambda: count)
    x, w, g, b = operands(case, dtype, 8)
    exact_x, exact_w = input_and_weight_gradients(x.numpy(), w.numpy(), g.numpy(), *case[2:])
    exact = np.maximum(reference(x.numpy(), w.numpy(), *case[2:]) + b.numpy().reshape(-1, *[1] * (len(x.shape) - 2)), 0)
    out, grad_x, grad_w = (Guarded(dtype, a.shape) for a in (g, x, w))
    x, g = (Guarded(dtype, a.shape, channels_last(a.numpy())) for a in (x, g))
    run(conv.plan_convolution(dtype, *sizes(case), True, "relu", channels_last=True), x.address, w.address, b.address, out.address)
    close(out.numpy().ravel(), channels_last(exact), dtype, np.prod(w.shape[1:]))
    if conv.takes_channels_last(dtype, *sizes(case), "weight"):
        run(conv.plan_convolution_weight_grad(dtype, *sizes(case), channels_last=True), g.address, x.address, grad_w.address)
        close(grad_w.numpy(), exact_w, dtype, g.count // g.shape[1])
    if conv.takes_channels_last(dtype, *sizes(case), "input"):
        run(conv.plan_convolution_input_grad(dtype, *sizes(case), channels_last=True), g.address, w.address, 0, grad_x.address)
        close(grad_x.numpy().ravel(), channels_last(exact_x), dtype, w.count // w.shape[1])


@pytest.mark.parametrize("dtype, case", [row for row in TABLE if row[1][-1] == 1 and row[1][0][0]])
def test_weight_gradient_channels_last(dtype, case, monkeypatch):
    """As one block of lines and in blocks of one, of two threads."""
    x, w, g, _ = operands(case, dtype, 9)
    exact = input_and_weight_gradients(x.numpy(), w.numpy(), g.numpy(), *case[2:])[1]
    x, g = (Guarded(dtype, a.shape, channels_last(a.numpy())) for a in (x, g))
    monkeypatch.setattr(convlast, "SPLIT_ELEMENTS", 0)
    monkeypatch.setattr(threads, "get_num_threads", lambda: 2)
    for most in (convlast.BLOCK_BYTES, 1):
        monkeypatch.setattr(convlast, "BLOCK_BYTES", most)
        grad_w = Guarded(dtype, w.shape)
        run(convlast.plan_weight_grad(dtype, windows.geometry(*sizes(case))), g.address, x.address, grad_w.address)
        close(grad_w.numpy(), exact, dtype, g.count // g.shape[1])


@pytest.mark.parametrize("dtype, case", [row for row in TABLE if row[1][0][0]])
def test_transposed_with_bias(dtype, case):
    """The gradient for the input with a bias added: what a transposed convolution is."""
    x, w, g, _ = operands(case, dtype, 4)
    b = Guarded(dtype, (x.shape[1],), np.random.default_rng(5).uniform(-1, 1, x.shape[1]))
    plain, shifted = Guarded(dtype, x.shape), Guarded(dtype, x.shape)
    run(conv.plan_convolution_input_grad(dtype, *sizes(case)), g.address, w.address, 0, plain.address)
    run(conv.plan_convolution_input_grad(dtype, *sizes(case), True), g.address, w.address, b.address, shifted.address)
    close(shifted.numpy(), plain.numpy() + b.numpy().reshape(-1, *[1] * (len(x.shape) - 2)), dtype, 1)


# Above a million multiply-adds, so that threads share the work; one for each way of sharing it.
SHARED = [
    ((2, 64, 16, 16), (64, 3, 3), (1, 1), (1, 1), (1, 1), 1),                            # Winograd: panels
    ((1, 64, 21, 20), (64, 3, 3), (1, 1), (1, 1), (1, 1), 1),                            # and those of a single image
    ((1, 150, 14, 13), (170, 3, 3), (1, 1), (1, 1), (1, 1), 1),                          # and features, of a heavy weight
    ((4, 128, 8, 8), (96, 3, 3), (2, 2), (1, 1), (1, 1), 1),                             # rows of a large weight
    ((1, 128, 9, 9), (160, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((5, 36, 12, 12), (35, 5, 5), (1, 1), (2, 2), (1, 1), 1),                            # blocks of images
    ((1, 52, 20, 20), (60, 4, 3), (1, 1), (1, 1), (1, 1), 2),                            # groups
    ((3, 16, 41, 40), (16, 3, 3), (1, 1), (1, 1), (1, 1), 16),                           # depthwise
    ((3, 16, 81, 80), (16, 3, 3), (2, 2), (1, 1), (1, 1), 16),
    ((5, 100, 7, 7), (100, 3, 3), (1, 1), (1, 1), (1, 1), 100),                          # channels as lanes
    ((5, 64, 9, 8), (96, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    ((8, 256, 7, 7), (256, 1, 1), (1, 1), (0, 0), (1, 1), 1),                            # images side by side
    ((4, 3, 70, 64), (40, 16, 16), (16, 16), (0, 0), (1, 1), 1),                         # patches
    ((3, 24, 20, 20), (64, 1, 1), (1, 1), (0, 0), (1, 1), 1),                            # a product for each image
    ((7, 20, 12, 12), (50, 5, 5), (1, 1), (0, 0), (1, 1), 1),                            # products of each tap
    ((1, 150, 12, 12), (34, 5, 5), (1, 1), (0, 0), (1, 1), 1),                           # and chunks of channels
    ((1, 8, 6, 20, 20), (16, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((3, 24, 20, 28), (48, 3, 3), (2, 1), (1, 1), (1, 1), 1),                            # features as lanes: lines of an image
    ((1, 24, 9, 14, 13), (40, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),             # planes
    ((1, 40, 1500), (40, 5), (1,), (2,), (1,), 1),                                       # columns
    ((2, 128, 7, 7), (256, 3, 3), (1, 1), (1, 1), (1, 1), 1),                            # blocks of features
]


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("turn, case", enumerate(SHARED))
def test_threads(turn, case, count):
    dtype = DTYPES[(turn + count) % 2]
    x, w, g, b = operands(case, dtype, 6)
    before = threads.get_num_threads()
    threads.set_num_threads(count)
    try:
        forward = conv.plan_convolution(dtype, *sizes(case), True)
        to_x, to_w = conv.plan_convolution_input_grad(dtype, *sizes(case)), conv.plan_convolution_weight_grad(dtype, *sizes(case))
    finally:
        threads.set_num_threads(before)
    exact_x, exact_w = input_and_weight_gradients(x.numpy(), w.numpy(), g.numpy(), *case[2:])
    exact = reference(x.numpy(), w.numpy(), *case[2:]) + b.numpy().reshape(-1, *[1] * (len(x.shape) - 2))
    for _ in range(3):                                   # a race does not show every time
        out, grad_x, grad_w = (Guarded(dtype, a.shape) for a in (g, x, w))
        run(forward, x.address, w.address, b.address, out.address)
        run(to_x, g.address, w.address, 0, grad_x.address)
        run(to_w, g.address, x.address, grad_w.address)
        close(out.numpy(), exact, dtype, np.prod(w.shape[1:]))
        close(grad_x.numpy(), exact_x, dtype, w.count // w.shape[1])
        close(grad_w.numpy(), exact_w, dtype, g.count // g.shape[1])


@pytest.mark.parametrize("images, groups, side, places, parts",
                         [(16, 1, 6, 196, 2), (16, 3, 6, 196, 4), (1, 1, 1, 784, 2), (5, 2, 2, 3, 3)])
def test_parts_have_as_many_panels(images, groups, side, places, parts):
    """Of those that hold something: items of the last images have fewer."""
    ends = edges_of_panels(SimpleNamespace(images=images, groups=groups), side, places, parts, 32)
    panels, blocks = -(-places * side // 32), -(-images // side)
    rest = images - (blocks - 1) * side
    holds = [panel * 32 < places * (rest if block == blocks - 1 else side)
             for block in range(blocks) for _ in range(groups) for panel in range(panels)]
    assert ends[0] == 0 and ends[-1] == len(holds)
    shares = [sum(holds[first:end]) for first, end in zip(ends, ends[1:])]
    assert max(shares) - min(shares) <= 1 and sum(shares) == sum(holds)


def test_relu_lets_nan_through():
    x, w, out = Guarded("float32", (1, 1, 2, 2), [np.nan, -1, 2, -3]), Guarded("float32", (1, 1, 1, 1), [1]), \
        Guarded("float32", (1, 1, 2, 2))
    plan = conv.plan_convolution("float32", (1, 1, 2, 2), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1), 1, False, "relu")
    run(plan, x.address, w.address, 0, out.address)
    np.testing.assert_array_equal(out.numpy().ravel(), [np.nan, 0, 2, 0])


@pytest.mark.parametrize("size, kernel, stride, padding, dilation, expected", [
    (28, 5, 1, 0, 1, 24), (224, 7, 2, 3, 1, 112), (5, 3, 2, 1, 2, 2), (1, 1, 1, 0, 1, 1)])
def test_output_size(size, kernel, stride, padding, dilation, expected):
    assert windows.output_size(size, kernel, stride, padding, dilation) == expected


def test_families_say_how_efficient_they_are_as_a_share(monkeypatch):
    """Choices between families are by rules of shape: the share of multiply-adds in a family's time, the same whatever a processor
    does in a second. None promises more than full tiles give, and each loses where there is less to multiply beside."""
    monkeypatch.setattr(threads, "get_num_threads", lambda: 1)

    def efficiencies(images, channels, features, places, kernel):
        shape = windows.geometry((images, channels, places, places), (features, channels, kernel, kernel), (1, 1), (kernel // 2,) * 2,
                               (1, 1), 1)
        return [lanes.efficiency("float32", lanes.forward_sums(shape), shape.multiply_adds), columns.efficiency("float32", shape),
                product.efficiency(shape), weight.efficiency_of_totals("float32", shape), weight.efficiency_of_blocks("float32", shape),
                unfold.efficiency_of_weight("float32", shape)]
    few, many = efficiencies(2, 16, 16, 14, 3), efficiencies(16, 256, 256, 32, 3)
    assert all(0 <= a < b <= 1.04 for a, b in zip(few, many)), (few, many)


@pytest.mark.parametrize("dims, stride, channels, features, expected", [
    (2, 1, 1, 16, True), (2, 1, 3, 16, False), (2, 1, 3, 32, True), (2, 2, 3, 32, False), (2, 2, 3, 64, True), (2, 2, 4, 64, False),
    (3, 1, 1, 16, False), (3, 1, 1, 32, True), (3, 2, 2, 32, False), (3, 2, 2, 64, True), (2, 1, 5, 512, False)])
def test_gradients_for_few_channels_are_products_where_features_are_many(monkeypatch, dims, stride, channels, features, expected):
    """What every tap adds is written, and added up, once for all features: windows, which do neither, are faster where these are few,
    but need an image for each thread."""
    shape = windows.geometry((4, channels, *[16] * dims), (features, channels, *[3] * dims), (stride,) * dims, (1,) * dims, (1,) * dims, 1)
    monkeypatch.setattr(threads, "get_num_threads", lambda: 4)
    assert unfold.pays_input_grad(shape) == expected
    monkeypatch.setattr(threads, "get_num_threads", lambda: 5)
    assert unfold.pays_input_grad(shape) == (channels < 5)
