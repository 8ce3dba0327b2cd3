"""Convolution and pooling as ops: values against loops over windows in NumPy, gradients of first and second order."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import numtorch as torch
import numtorch.nn.functional as F
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.kernels.cpu.pool import window as pooling

RANDOM = np.random.default_rng(0)


def values(*shape):
    return RANDOM.standard_normal(shape)


def leaf(array):
    return torch.tensor(array, requires_grad=True)


# ---------------------------------------------------------------- references
def both(value):
    return value if isinstance(value, tuple) else (value, value)


def convolved(x, w, bias, stride, padding, dilation, groups):
    (sh, sw), (ph, pw), (dh, dw) = map(both, (stride, padding, dilation))
    x = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    n, c, h, width = x.shape
    features, depth, kh, kw = w.shape
    rows, columns = (h - dh * (kh - 1) - 1) // sh + 1, (width - dw * (kw - 1) - 1) // sw + 1
    out = np.zeros((n, features, rows, columns))
    for feature, i, j in itertools.product(range(features), range(rows), range(columns)):
        first = feature // (features // groups) * depth
        patch = x[:, first:first + depth, i * sh:i * sh + dh * (kh - 1) + 1:dh, j * sw:j * sw + dw * (kw - 1) + 1:dw]
        out[:, feature, i, j] = (patch * w[feature]).sum((1, 2, 3))
    return out if bias is None else out + bias[:, None, None]


def pooled(x, kernel, stride, padding, reduction):
    """Windows of a padded input reduced by a function of (elements inside)."""
    (kh, kw), (sh, sw), (ph, pw) = map(both, (kernel, stride, padding))
    rows, columns = (x.shape[2] + 2 * ph - kh) // sh + 1, (x.shape[3] + 2 * pw - kw) // sw + 1
    out = np.zeros((*x.shape[:2], rows, columns))
    for i, j in itertools.product(range(rows), range(columns)):
        top, left = i * sh - ph, j * sw - pw
        inside = x[:, :, max(top, 0):top + kh, max(left, 0):left + kw]
        out[:, :, i, j] = reduction(inside.reshape(*x.shape[:2], -1))
    return out


# ---------------------------------------------------------------- convolution
CONVOLUTIONS = [
    # x, weight, bias, stride, padding, dilation, groups
    ((2, 3, 6, 5), (4, 3, 3, 3), True, 1, 0, 1, 1),
    ((2, 3, 6, 5), (4, 3, 3, 2), True, (2, 1), (1, 2), 1, 1),
    ((1, 4, 7, 7), (6, 2, 3, 3), False, 2, 1, 2, 2),
    ((2, 4, 5, 5), (4, 1, 3, 3), True, 1, 1, 1, 4),
    ((1, 1, 1, 1), (1, 1, 1, 1), False, 1, 0, 1, 1),
    ((3, 2, 4, 9), (5, 2, 1, 5), True, 1, (0, 2), 1, 1),
]


@pytest.mark.parametrize(("x", "w", "bias", "stride", "padding", "dilation", "groups"), CONVOLUTIONS)
def test_conv2d(x, w, bias, stride, padding, dilation, groups):
    x, w, b = values(*x), values(*w), values(w[0]) if bias else None
    expected = convolved(x, w, b, stride, padding, dilation, groups)
    arguments = [leaf(a) for a in (x, w, b) if a is not None]

    def function(x, w, b=None):
        return F.conv2d(x, w, b, stride, padding, dilation, groups)

    np.testing.assert_allclose(function(*arguments).detach().numpy(), expected, rtol=1e-10, atol=1e-10)
    assert gradcheck(function, arguments)
    assert gradgradcheck(function, arguments)


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("float16", 2e-2), ("bfloat16", 1.5e-1)])
def test_conv2d_dtypes(dtype, tolerance):
    x, w = values(2, 3, 6, 6), values(4, 3, 3, 3)
    kind = getattr(torch, dtype)
    out = F.conv2d(torch.tensor(x).to(kind), torch.tensor(w).to(kind), padding=1)
    assert out.dtype is kind
    np.testing.assert_allclose(out.double().numpy(), convolved(x, w, None, 1, 1, 1, 1), rtol=tolerance, atol=tolerance)


def test_conv2d_takes_any_strides():
    x, w = values(2, 3, 6, 5), values(4, 3, 3, 3)
    expected = convolved(x, w, None, 1, 1, 1, 1)
    x_turned = torch.tensor(x.transpose(0, 2, 3, 1).copy()).permute(0, 3, 1, 2)
    w_turned = torch.tensor(w[:, :, ::-1].copy()).flip(2)
    np.testing.assert_allclose(F.conv2d(x_turned, w_turned, padding=1).numpy(), expected, rtol=1e-10, atol=1e-10)
    a, b = leaf(x), leaf(w)
    out = F.conv2d(a, b, padding=1)
    out.backward(torch.ones(1, dtype=torch.float64).expand(*out.shape))     # a gradient of strides 0
    c = leaf(x)
    F.conv2d(c, leaf(w), padding=1).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), c.grad.numpy())


@pytest.mark.parametrize(("length", "kernel", "stride", "padding", "dilation"),
                         [(7, 3, 1, 1, 1), (9, 4, 2, 0, 2), (5, 5, 1, "same", 1),
                                                                               (6, 4, 1, "same", 1), (6, 2, 1, "valid", 1)])
def test_conv1d(length, kernel, stride, padding, dilation):
    x, w, b = leaf(values(2, 3, length)), leaf(values(4, 3, kernel)), leaf(values(4))
    if padding == "same":
        total = dilation * (kernel - 1)
        padded = np.pad(x.detach().numpy(), ((0, 0), (0, 0), (total // 2, total - total // 2)))
        sides = 0
    else:
        padded, sides = x.detach().numpy(), 0 if padding == "valid" else padding
    expected = convolved(padded[:, :, None], w.detach().numpy()[:, :, None], b.detach().numpy(), (1, stride), (0, sides),
                         (1, dilation), 1)
    out = F.conv1d(x, w, b, stride, padding, dilation)
    np.testing.assert_allclose(out.detach().numpy(), expected[:, :, 0], rtol=1e-10, atol=1e-10)
    assert gradcheck(lambda x, w, b: F.conv1d(x, w, b, stride, padding, dilation), [x, w, b])


def test_unbatched_is_a_batch_of_one():
    x, w = torch.tensor(values(3, 6, 5)), torch.tensor(values(4, 3, 3, 3))
    assert torch.equal(F.conv2d(x, w), F.conv2d(x.unsqueeze(0), w).squeeze(0))
    assert torch.equal(F.max_pool2d(x, 2), F.max_pool2d(x.unsqueeze(0), 2).squeeze(0))


def test_empty_batch():
    out = F.conv2d(torch.zeros(0, 3, 6, 5), torch.zeros(4, 3, 3, 3), torch.zeros(4))
    assert out.shape == (0, 4, 4, 3)
    assert F.max_pool2d(torch.zeros(0, 3, 6, 6), 2).shape == (0, 3, 3, 3)


@pytest.mark.parametrize(("stride", "padding", "output_padding", "dilation", "groups"),
                         [(1, 0, 0, 1, 1), (2, 1, 1, 1, 2), (3, 0, 2, 2, 1)])
def test_conv_transpose2d_is_the_transpose(stride, padding, output_padding, dilation, groups):
    """<conv(y), x> = <y, transpose(x)> for the convolution that it transposes."""
    x, w, b = values(2, 4, 4, 5), values(4, 6 // groups, 3, 3), values(6)
    out = F.conv_transpose2d(torch.tensor(x), torch.tensor(w), None, stride, padding, output_padding, groups, dilation).numpy()
    y = values(*out.shape)
    there = convolved(y, w, None, stride, padding, dilation, groups)[:, :, :4, :5]
    np.testing.assert_allclose((there * x).sum(), (out * y).sum(), rtol=1e-9)
    assert gradcheck(lambda x, w, b: F.conv_transpose2d(x, w, b, stride, padding, output_padding, groups, dilation),
                     [leaf(x), leaf(w), leaf(b)])


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("sizes", "kernel", "stride", "padding", "output_padding", "dilation", "groups"), [
    ((4,), (2,), (1,), (0,), (1,), (2,), 1), ((3,), (1,), (2,), (1,), (3,), (4,), 2), ((1,), (1,), (1,), (2,), (4,), (5,), 1),
    ((3, 4), (3, 2), (1, 2), (0, 1), (2, 2), (3, 3), 1), ((2, 5), (2, 1), (2, 1), (1, 0), (1, 3), (2, 4), 2),
    ((2, 3, 2), (2, 1, 2), (1, 2, 1), (0, 0, 1), (1, 1, 2), (2, 2, 3), 1)])
def test_output_padding_of_a_stride_and_more(sizes, kernel, stride, padding, output_padding, dilation, groups, bias):
    """It is allowed below the dilation; what is added takes no element that is not there."""
    dims = len(sizes)
    x, w, b = values(2, 4, *sizes), values(4, 6 // groups, *kernel), values(6)
    whole = [(n - 1) * s + d * (k - 1) + 1 + o + p for n, s, d, k, o, p in zip(sizes, stride, dilation, kernel, output_padding, padding)]
    expected = np.zeros((2, 6, *whole))
    for place, tap in itertools.product(np.ndindex(*sizes), np.ndindex(*kernel)):
        at = tuple(i * s + k * d for i, s, k, d in zip(place, stride, tap, dilation))
        for group in range(groups):
            some, to = slice(group * 4 // groups, (group + 1) * 4 // groups), slice(group * 6 // groups, (group + 1) * 6 // groups)
            expected[(slice(None), to, *at)] += x[(slice(None), some, *place)] @ w[(some, slice(None), *tap)]
    expected = expected[(..., *[slice(p, n - 2 * p) for p, n in zip(padding, whole)])]
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[dims]
    arguments = [leaf(x), leaf(w)] + [leaf(b)] * bias

    def call(x, w, b=None):
        return function(x, w, b, stride, padding, output_padding, groups, dilation)

    np.testing.assert_allclose(call(*arguments).detach().numpy(), expected + (b.reshape(-1, *(1,) * dims) if bias else 0), rtol=1e-12,
                               atol=1e-12)
    assert gradcheck(call, arguments)


CONVOLUTION_ERRORS = [
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 4, 3, 3)),
     "expected input.* to have 4 channels, but got 3 channels"),
    (lambda: F.conv2d(torch.zeros(1, 3, 2, 2), torch.zeros(2, 3, 3, 3)), "Kernel size can't be greater than actual input size"),
    (lambda: F.conv2d(torch.zeros(5, 5), torch.zeros(2, 3, 3, 3)), r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d"),
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3).double()), "should be the same"),
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), torch.zeros(3)),
     "expected bias to be 1-dimensional with 2 elements"),
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), stride=0), "non-positive stride"),
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), padding=-1), "negative padding"),
    (lambda: F.conv2d(torch.zeros(1, 3, 5, 5), torch.zeros(2, 3, 3, 3), padding="same", stride=2),
     "padding='same' is not supported"),
    (lambda: F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, padding=2), "pad should be at most half of effective kernel size"),
    (lambda: F.max_pool2d(torch.zeros(1, 1, 9, 9), 2, padding=2, dilation=4), "pad should be at most half of effective kernel size"),
    (lambda: F.max_pool2d(torch.zeros(1, 1, 2, 2), 3), "Output size is too small"),
    (lambda: F.conv_transpose2d(torch.zeros(1, 1, 4, 4), torch.zeros(1, 1, 0, 2)), "kernel size should be greater than zero"),
    (lambda: F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, 0), "stride should be greater than zero"),
    (lambda: F.avg_pool1d(torch.zeros(1, 1, 4), 2, 0), "stride should be greater than zero"),
    (lambda: F.max_pool1d(torch.zeros(1, 1, 4), 1 << 33, 1, 1 << 32), "without overflow"),
    (lambda: F.lp_pool1d(torch.zeros(1, 1, 4), 2, 2, 0), "stride should be greater than zero"),
    (lambda: F.avg_pool2d(torch.zeros(1, 1, 4, 4), 2, divisor_override=0), "divisor must be not zero"),
]


@pytest.mark.parametrize(("call", "message"), CONVOLUTION_ERRORS)
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


# ---------------------------------------------------------------- pooling
POOLS = [((2, 3, 6, 5), 2, 2, 0), ((1, 2, 7, 8), 3, 2, 1), ((2, 1, 5, 5), (2, 3), (1, 2), (0, 1)), ((1, 1, 3, 3), 3, 3, 0)]


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), POOLS)
def test_max_pool2d(shape, kernel, stride, padding):
    x = RANDOM.permutation(np.arange(np.prod(shape), dtype=np.float64)).reshape(shape)
    out, indices = F.max_pool2d(torch.tensor(x), kernel, stride, padding, return_indices=True)
    np.testing.assert_array_equal(out.numpy(), pooled(x, kernel, stride, padding, lambda v: v.max(-1)))
    flat = x.reshape(*shape[:2], -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, indices.numpy().reshape(*shape[:2], -1), 2).reshape(out.shape),
                                  out.numpy())
    assert gradcheck(lambda x: F.max_pool2d(x, kernel, stride, padding), [leaf(x)])
    assert gradgradcheck(lambda x: F.max_pool2d(x, kernel, stride, padding), [leaf(x)])


@pytest.mark.parametrize(("shape", "kernel", "stride", "padding"), POOLS)
@pytest.mark.parametrize("include", [True, False])
def test_avg_pool2d(shape, kernel, stride, padding, include):
    x = values(*shape)
    area = np.prod(both(kernel))
    expected = pooled(x, kernel, stride, padding, (lambda v: v.sum(-1) / area) if include else (lambda v: v.mean(-1)))

    def function(x):
        return F.avg_pool2d(x, kernel, stride, padding, count_include_pad=include)

    np.testing.assert_allclose(function(torch.tensor(x)).numpy(), expected, rtol=1e-10, atol=1e-12)
    assert gradcheck(function, [leaf(x)])
    assert gradgradcheck(function, [leaf(x)])


def window_places(sizes, kernel, stride, padding, dilation, counts):
    """Which elements of a flattened plane each window has: of none where all of them are padding."""
    for window in itertools.product(*map(range, counts)):
        axes = [[p for p in (at * stride - padding + k * dilation for k in range(kernel)) if 0 <= p < n]
                for at, n in zip(window, sizes)]
        yield window, [int(np.ravel_multi_index(place, sizes)) for place in itertools.product(*axes)]


PADDED_WINDOWS = [                                       # size, kernel, stride, padding, dilation, ceil_mode
    (1, 2, 1, 1, 2, False), (1, 2, 3, 1, 3, True), (4, 3, 1, 1, 2, True), (3, 2, 2, 1, 4, True), (4, 2, 1, 1, 5, False),
    (5, 3, 2, 1, 3, True), (7, 2, 1, 1, 8, False), (7, 2, 3, 1, 2, True), (3, 4, 2, 2, 2, True),
]


@pytest.mark.parametrize("memory_format", ["contiguous", "channels last"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("size", "kernel", "stride", "padding", "dilation", "ceil_mode"), PADDED_WINDOWS)
def test_maxima_of_windows_in_the_padding(size, kernel, stride, padding, dilation, ceil_mode, dims, memory_format):
    """They are -inf, stand nowhere and have no gradient."""
    sizes, options = (size,) * dims, (kernel, stride, padding, dilation, ceil_mode)
    x = torch.tensor(values(2, 3, *sizes))
    if memory_format == "channels last":
        if dims == 1:
            pytest.skip("sequences have no such format")
        x = x.contiguous(memory_format=torch.channels_last if dims == 2 else torch.channels_last_3d)
    pool = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[dims]
    out, places = pool(x, *options, return_indices=True)
    assert torch.equal(pool(x, *options), out)
    expected, where = np.full(out.shape, -np.inf), np.full(out.shape, -1)
    flat, total = x.numpy().reshape(2, 3, -1), np.zeros((6, np.prod(sizes)))
    w = values(*out.shape)
    for window, inside in window_places(sizes, kernel, stride, padding, dilation, out.shape[2:]):
        if inside:
            expected[(..., *window)] = flat[..., inside].max(-1)
            where[(..., *window)] = np.array(inside)[flat[..., inside].argmax(-1)]
            np.add.at(total, (np.arange(6), where[(..., *window)].ravel()), w[(..., *window)].ravel())
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(places.numpy(), where)
    x.requires_grad_()
    grad, = torch.autograd.grad(pool(x, *options), x, w := torch.tensor(w, requires_grad=True), create_graph=True)
    np.testing.assert_allclose(grad.detach().numpy().reshape(6, -1), total, rtol=1e-12, atol=1e-12)
    back, = torch.autograd.grad((grad * x.detach()).sum(), w)           # each window's gradient is the element it chose, or 0
    np.testing.assert_array_equal(back.numpy(), np.where(np.isinf(expected), 0, expected))


@pytest.mark.parametrize(("shape", "kernel", "stride"), [((2, 3, 7), 2, 2), ((2, 3, 9), 4, 3), ((3, 2, 8), 3, 3), ((1, 5, 11), 5, 1),
                                                         ((2, 2, 40), 16, 9), ((4, 3, 20), 1, 3)])
def test_windows_over_the_end_of_a_row(shape, kernel, stride):
    """With `ceil_mode` the last window has what is left of its row, and nothing of the next."""
    x = np.abs(values(*shape))
    count = -(-(shape[-1] - kernel) // stride) + 1
    parts = [x[..., i * stride:i * stride + kernel] for i in range(count if (count - 1) * stride < shape[-1] else count - 1)]
    for lead, size in (((), kernel), ((1,), (1, kernel))):
        input, step = torch.tensor(x.reshape(*shape[:-1], *lead, shape[-1])), stride if lead == () else (1, stride)
        average, largest = (F.avg_pool1d, F.max_pool1d) if lead == () else (F.avg_pool2d, F.max_pool2d)
        mean, most = average(input, size, step, ceil_mode=True), largest(input, size, step, ceil_mode=True)
        np.testing.assert_allclose(mean.numpy().reshape(*shape[:2], -1), np.stack([p.mean(-1) for p in parts], -1), rtol=1e-12)
        np.testing.assert_array_equal(most.numpy().reshape(*shape[:2], -1), np.stack([p.max(-1) for p in parts], -1))
    power = F.lp_pool1d(torch.tensor(x), 2, kernel, stride, ceil_mode=True)
    np.testing.assert_allclose(power.numpy(), np.stack([np.sqrt((p * p).mean(-1) * kernel) for p in parts], -1), rtol=1e-12)


def test_one_dimension():
    x = values(2, 3, 9)
    expected = pooled(x[:, :, None], (1, 3), (1, 2), (0, 1), lambda v: v.max(-1))
    np.testing.assert_allclose(F.max_pool1d(torch.tensor(x), 3, 2, 1).numpy(), expected[:, :, 0])
    np.testing.assert_allclose(F.avg_pool1d(torch.tensor(x), 3).numpy(), x.reshape(2, 3, 3, 3).mean(-1))


def test_long_windows_side_by_side():
    x = values(2, 3, 36)
    parts = x.reshape(2, 3, 3, 12)
    np.testing.assert_array_equal(F.max_pool1d(torch.tensor(x), 12).numpy(), parts.max(-1))
    np.testing.assert_array_equal(F.max_pool1d(torch.tensor(x[0]), 12).numpy(), parts[0].max(-1))
    np.testing.assert_allclose(F.avg_pool1d(torch.tensor(x), 12).numpy(), parts.mean(-1))
    assert gradcheck(lambda x: F.max_pool1d(x, 12), [leaf(x)])
    with pytest.raises(RuntimeError, match="not implemented for"):
        F.max_pool1d(torch.arange(36)[None], 12)


def test_one_window():
    x = values(2, 3, 4, 5)
    np.testing.assert_allclose(F.avg_pool2d(torch.tensor(x), (4, 5)).numpy(), x.mean((2, 3), keepdims=True))
    assert gradcheck(lambda x: F.avg_pool2d(x, (4, 5)), [leaf(x)])
    assert F.avg_pool2d(torch.tensor(x[:0]), (4, 5)).shape == (0, 3, 1, 1)


@pytest.mark.parametrize("size", [1, 2, 3, (4, 3), (None, 5)])
def test_adaptive_avg_pool2d(size):
    x = values(2, 3, 6, 7)
    rows, columns = [n if o is None else o for o, n in zip(both(size), (6, 7))]
    expected = np.empty((2, 3, rows, columns))
    for i, j in itertools.product(range(rows), range(columns)):
        expected[:, :, i, j] = x[:, :, i * 6 // rows:-(-(i + 1) * 6 // rows),
                                 j * 7 // columns:-(-(j + 1) * 7 // columns)].mean((2, 3))
    np.testing.assert_allclose(F.adaptive_avg_pool2d(torch.tensor(x), size).numpy(), expected, rtol=1e-10, atol=1e-12)
    assert gradcheck(lambda x: F.adaptive_avg_pool2d(x, size), [leaf(x)])


# ---------------------------------------------------------------- windows as columns
def test_unfold_has_the_windows_as_columns():
    x, w = values(2, 3, 5, 6), values(4, 3, 3, 2)
    columns = F.unfold(torch.tensor(x), (3, 2), padding=1, stride=2)
    product = torch.tensor(w).reshape(4, -1) @ columns
    np.testing.assert_allclose(product.numpy().reshape(2, 4, 3, 4), convolved(x, w, None, 2, 1, 1, 1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("trained, wanted", [(True, "plan_max_pool2d"), (False, "plan_max_pool2d_values")])
def test_maxima_have_the_kernel_that_a_call_needs(monkeypatch, trained, wanted):
    """The places of maxima are found for gradients alone; no kernel is made that a program never calls."""
    planned = []
    for name in ("plan_max_pool2d", "plan_max_pool2d_values"):
        planner = getattr(pooling, name)
        monkeypatch.setattr(pooling, name, lambda *a, name=name, planner=planner: (planned.append(name), planner(*a))[1])
    x = torch.randn(2, 3, 6, 9 + trained, requires_grad=trained)
    for _ in range(2):
        F.max_pool2d(x, (3, 2))
    assert planned == [wanted]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_maxima_of_integers(dims):
    """Values, places and refusals beside PyTorch, of every dtype, with windows that hang over and the least number in them."""
    theirs = pytest.importorskip("torch")
    options = [{}, {"padding": 1}, {"padding": 1, "dilation": 2}, {"stride": 2, "ceil_mode": True}]
    for kind, more, places in itertools.product(("int64", "int32", "int16", "int8", "uint8", "uint16", "bool"), options, (False, True)):
        least = np.iinfo(kind).min if kind != "bool" else 0
        array = np.where(RANDOM.integers(0, 3, (2, 2, *(6,) * dims)) > 1, least + 1, least).astype(kind)
        outcomes = []
        for library in (torch, theirs):
            try:
                made = getattr(library.nn.functional, f"max_pool{dims}d")(library.tensor(array), 3, return_indices=places, **more)
                outcomes.append([(str(t.dtype), t.tolist()) for t in (made if places else (made,))])
            except Exception as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1], (kind, more, places)
