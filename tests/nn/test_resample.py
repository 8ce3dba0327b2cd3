"""Interpolation, pooling in three dimensions, adaptive pooling, unpooling, folding, grid sampling: values, gradients, errors."""
from __future__ import annotations

import importlib
import importlib.util
import itertools
import math

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.nn import functional as F

RANDOM = np.random.default_rng(0)


def data(*shape):
    return RANDOM.standard_normal(shape)


def linear_map(along, rows):
    """The linear interpolation matrix of an axis, written down from its definition."""
    matrix = np.zeros((len(along), rows))
    for i, x in enumerate(along):
        x = max(x, 0.0)
        low = min(math.floor(x), rows - 1)
        matrix[i, low] += 1 - (x - low)
        matrix[i, min(low + 1, rows - 1)] += x - low
    return matrix


# ---------------------------------------------------------------- interpolation
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_nearest_repeats(dtype):
    x = torch.arange(6, dtype=getattr(torch, dtype)).reshape(1, 1, 2, 3)
    assert F.interpolate(x, scale_factor=2)[0, 0].tolist() == [[0, 0, 1, 1, 2, 2]] * 2 + [[3, 3, 4, 4, 5, 5]] * 2
    assert F.interpolate(x, size=(1, 2))[0, 0].tolist() == [[0, 1]]
    assert F.interpolate(x, size=(1, 2), mode="nearest-exact")[0, 0].tolist() == [[3, 5]]


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("sizes", [(9, 4), (3, 12), (1, 1), (6, 5)])
def test_bilinear_is_two_linear_maps(sizes, corners):
    x = data(2, 3, 6, 5)
    maps = []
    for n, o in zip((6, 5), sizes):
        along = [i * ((n - 1) / (o - 1) if o > 1 else 0) if corners else (i + 0.5) * n / o - 0.5 for i in range(o)]
        maps.append(linear_map(along, n))
    want = maps[0] @ x @ maps[1].T
    got = F.interpolate(torch.tensor(x), size=sizes, mode="bilinear", align_corners=corners)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-13)


def test_cubic_weights_are_those_of_keys():
    """Half-way between pixels with a = -0.75 they are -3/32, 19/32, 19/32, -3/32; they sum to 1 everywhere."""
    spike = torch.zeros(1, 1, 1, 9, dtype=torch.float64)
    spike[0, 0, 0, 4] = 1
    got = F.interpolate(spike, size=(1, 17), mode="bicubic", align_corners=True)[0, 0, 0].numpy()
    np.testing.assert_allclose(got[[5, 7, 8, 9, 11]], [-3 / 32, 19 / 32, 1, 19 / 32, -3 / 32], atol=1e-12)
    np.testing.assert_allclose(F.interpolate(torch.ones(1, 1, 5, 5), size=(9, 3), mode="bicubic").numpy(), 1, rtol=1e-6)


MODES = [("nearest", 1), ("nearest", 2), ("nearest", 3), ("nearest-exact", 2), ("linear", 1), ("bilinear", 2), ("bicubic", 2),
         ("trilinear", 3), ("area", 2)]


@pytest.mark.parametrize("mode, dims", MODES)
def test_interpolation_gradients_of_any_order(mode, dims):
    x = torch.tensor(data(1, 2, *(3, 4, 3)[:dims]), requires_grad=True)
    for size in ((5, 3, 4)[:dims], (2, 7, 1)[:dims]):
        run = lambda t, size=size: F.interpolate(t, size=size, mode=mode).square()
        assert gradcheck(run, (x,))
        assert gradgradcheck(run, (x,))


@pytest.mark.parametrize("mode, dims", MODES)
def test_interpolation_against_pytorch(mode, dims):
    other = pytest.importorskip("torch")
    x = data(2, 3, *(6, 5, 8)[:dims])
    corners = (None,) if mode in ("nearest", "nearest-exact", "area") else (None, False, True)
    for options in ({"size": (7, 5, 9)[:dims]}, {"scale_factor": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6},
                    {"scale_factor": (1.3, 0.7, 2.1)[:dims], "recompute_scale_factor": True}):
        for align in corners:
            theirs, ours = other.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
            want = other.nn.functional.interpolate(theirs, mode=mode, align_corners=align, **options)
            got = F.interpolate(ours, mode=mode, align_corners=align, **options)
            g = np.cos(np.arange(want.numel())).reshape(want.shape)
            want.backward(other.tensor(g))
            got.backward(torch.tensor(g))
            np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-10, atol=1e-11)
            np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_factor_that_changes_no_extent(dims):
    """As in PyTorch, linear modes copy; so does the nearest element of images, where a doubled extent repeats each element."""
    x, more = torch.tensor(data(2, 2, *(2,) * dims)), torch.tensor(data(2, 2, *(3,) * dims))
    linear = ("linear", "bilinear", "trilinear")[dims - 1]
    assert torch.equal(F.interpolate(x, scale_factor=1.4, mode=linear), x)
    assert torch.equal(F.interpolate(more, scale_factor=1.3, mode=linear), more)
    assert torch.equal(F.interpolate(x, scale_factor=1.4, mode=linear, align_corners=True), x)
    assert torch.equal(F.interpolate(x, scale_factor=1.4, mode="nearest-exact"), x)
    nearest = F.interpolate(x, scale_factor=1.4)
    assert torch.equal(nearest, x if dims == 2 else x[(..., *(slice(1),) * dims)].expand(x.shape))
    if dims == 2:
        for mode in ("bilinear", "bicubic"):
            assert torch.equal(F.interpolate(x, scale_factor=1.4, mode=mode, antialias=True), x)
        assert torch.equal(F.interpolate(x, scale_factor=2.4), F.interpolate(x, scale_factor=2))
    if importlib.util.find_spec("torch"):
        installed = importlib.import_module("torch")
        for mode, factor in itertools.product(("nearest", "nearest-exact", linear), (1.3, 1.4, 2.4)):
            expected = installed.nn.functional.interpolate(installed.from_numpy(x.numpy()), scale_factor=factor, mode=mode)
            np.testing.assert_allclose(F.interpolate(x, scale_factor=factor, mode=mode).numpy(), expected.numpy(), rtol=1e-12)


@pytest.mark.parametrize("factor", [math.inf, -math.inf, math.nan])
def test_factors_that_are_no_numbers(factor):
    with pytest.raises(RuntimeError, match="finite scale factors"):
        F.interpolate(torch.ones(1, 2, 3), scale_factor=factor)


def test_means_of_no_channels():
    assert F.interpolate(torch.ones(2, 0, 3), scale_factor=2, mode="area").shape == (2, 0, 6)
    assert F.interpolate(torch.ones(2, 1, 3), scale_factor=0.2, mode="area").shape == (2, 1, 0)
    with pytest.raises(RuntimeError, match="greater than 0"):
        F.interpolate(torch.ones(2, 0, 3), scale_factor=2)


def test_infinity_stays_where_it_is():
    x = torch.ones(1, 1, 4)
    x[0, 0, 3] = math.inf
    assert F.interpolate(x, size=2, mode="linear", align_corners=True).tolist() == [[[1.0, math.inf]]]
    x.requires_grad_()
    F.interpolate(x, size=2).backward(torch.tensor([[[math.inf, 1.0]]]))
    assert x.grad.tolist() == [[[math.inf, 0.0, 1.0, 0.0]]]
    y = torch.tensor([[[math.inf, 1.0, 1.0, 1.0, 1.0]]])                       # regions of 2, 3 and 2
    assert F.adaptive_avg_pool1d(y, 3).tolist() == [[[math.inf, 1.0, 1.0]]]


def test_threads_agree():
    x = torch.randn(4, 3, 40, 40)
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            results.append([F.interpolate(x, scale_factor=2, mode="bilinear"), F.max_pool2d(x, 3, 2, 1), F.adaptive_max_pool2d(x, 7),
                            F.max_pool3d(x, 3)])
    finally:
        torch.set_num_threads(before)
    for a, b in zip(*results):
        assert torch.equal(a, b)


def test_shuffles_are_inverse():
    x = torch.tensor(data(2, 8, 3, 5))
    up = F.pixel_shuffle(x, 2)
    assert up.shape == (2, 2, 6, 10) and up[1, 1, 3, 4].item() == x[1, 1 * 4 + 1 * 2 + 0, 1, 2].item()
    assert torch.equal(F.pixel_unshuffle(up, 2), x) and torch.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)
    assert torch.equal(F.channel_shuffle(F.channel_shuffle(x, 2), 4), x)
    for view in (x.transpose(2, 3), x.flip(1)[:, :, ::2], x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)):
        for function in (lambda x: F.pixel_shuffle(x, 2), lambda x: F.channel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 1)):
            assert torch.equal(function(view), function(view.contiguous()))


# ---------------------------------------------------------------- pooling
def region(x, i, n, o):
    return range(i * n // o, -(-(i + 1) * n // o))


@pytest.mark.parametrize("sizes", [(3,), (5, 4), (2, 3, 4), (1, 1), (7, 1, 3), (10,)])
def test_adaptive_pooling(sizes):
    dims = len(sizes)
    x = data(2, 3, *(7, 8, 9)[:dims])
    tensor = torch.tensor(x, requires_grad=True)
    mean, largest = np.empty((2, 3, *sizes)), np.empty((2, 3, *sizes))
    for at in np.ndindex(*sizes):
        part = x[(..., *[slice(r.start, r.stop) for r in map(region, (x,) * dims, at, x.shape[2:], sizes)])]
        mean[(..., *at)] = part.mean(tuple(range(2, 2 + dims)))
        largest[(..., *at)] = part.max(tuple(range(2, 2 + dims)))
    name = f"pool{dims}d"
    np.testing.assert_allclose(getattr(F, "adaptive_avg_" + name)(tensor, sizes).detach().numpy(), mean, rtol=1e-12, atol=1e-13)
    got, indices = getattr(F, "adaptive_max_" + name)(tensor, sizes, return_indices=True)
    np.testing.assert_array_equal(got.detach().numpy(), largest)
    flat = x.reshape(2, 3, -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, indices.numpy().reshape(2, 3, -1), 2).reshape(largest.shape), largest)
    assert getattr(F, "adaptive_avg_" + name)(torch.tensor(x[0]), sizes).shape == (3, *sizes)
    got.sum().backward()
    assert tensor.grad.sum().item() == got.numel()


def windows(x, kernel, stride, padding, dilation, count, fill):
    """(windows, taps) of the last three axes, filled outside."""
    wide = np.pad(x, [(0, 0)] * 2 + [(padding, padding + 9)] * 3, constant_values=fill)
    out = np.empty((*x.shape[:2], *count, kernel ** 3))
    for at in np.ndindex(*count):
        cut = tuple(slice(i * stride, i * stride + (kernel - 1) * dilation + 1, dilation) for i in at)
        out[(..., *at, slice(None))] = wide[(..., *cut)].reshape(*x.shape[:2], -1)
    return out


@pytest.mark.parametrize("kernel, stride, padding, dilation, ceil", [
    (2, 2, 0, 1, False), (3, 2, 1, 1, False), (3, 2, 1, 2, True), (2, 3, 1, 1, True), (1, 1, 0, 1, False)])
def test_three_dimensional_windows(kernel, stride, padding, dilation, ceil):
    x = data(2, 3, 7, 8, 9)
    tensor = torch.tensor(x, requires_grad=True)
    got, indices = F.max_pool3d(tensor, kernel, stride, padding, dilation, ceil, return_indices=True)
    want = windows(x, kernel, stride, padding, dilation, got.shape[2:], -np.inf).max(-1)
    np.testing.assert_array_equal(got.detach().numpy(), want)
    flat = x.reshape(2, 3, -1)
    np.testing.assert_array_equal(np.take_along_axis(flat, indices.numpy().reshape(2, 3, -1), 2).reshape(want.shape), want)
    if dilation == 1:
        mean = F.avg_pool3d(tensor, kernel, stride, padding, ceil, count_include_pad=False)
        inside = windows(np.ones_like(x), kernel, stride, padding, 1, mean.shape[2:], 0).sum(-1)
        total = windows(x, kernel, stride, padding, 1, mean.shape[2:], 0).sum(-1)
        np.testing.assert_allclose(mean.detach().numpy(), total / inside, rtol=1e-11, atol=1e-12)
        fixed = F.avg_pool3d(tensor, kernel, stride, padding, ceil, divisor_override=5)
        np.testing.assert_allclose(fixed.detach().numpy(), total / 5, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name, run", [
    ("max_pool3d", lambda x: F.max_pool3d(x, 2, 1)),
    ("avg_pool3d", lambda x: F.avg_pool3d(x, 3, 2, 1).square()),
    ("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x[0], 3).square()),
    ("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x[0], 3).square()),
    ("adaptive_avg_pool3d", lambda x: F.adaptive_avg_pool3d(x, 1).square()),
    ("lp_pool2d", lambda x: F.lp_pool2d(x[0].abs() + 0.1, 3, 2)),
    ("fold", lambda x: F.fold(F.unfold(x[0], 2).square(), (4, 5), 2)),
    ("fold_padded", lambda x: F.fold(F.unfold(x[0], 3, padding=1, stride=2).square(), (4, 5), 3, padding=1, stride=2)),
    ("grid_sample", lambda x: F.grid_sample(x[0], torch.tanh(x[0, ..., :2]), align_corners=True)),
])
def test_gradients_of_any_order(name, run):
    x = torch.tensor(data(1, 2, 2, 4, 5), requires_grad=True)
    assert gradcheck(run, (x,))
    assert gradgradcheck(run, (x,))


def test_maxima_without_places_are_the_same():
    x = torch.tensor(data(2, 3, 11, 300), dtype=torch.float32)
    x[0, 0, 3, 7] = math.nan
    for options in ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": (2, 3), "dilation": 2},
                    {"kernel_size": 3, "stride": 4, "ceil_mode": True}, {"kernel_size": 3, "stride": 1}):
        plain = F.max_pool2d(x, **options)
        values, _ = F.max_pool2d(x, return_indices=True, **options)
        assert np.array_equal(plain.numpy(), values.numpy(), equal_nan=True)
        assert F.max_pool2d(x[0], **options).shape == values.shape[1:]
    line = x[:, :, 0]
    assert np.array_equal(F.max_pool1d(line, 3, 2, 1).numpy(), F.max_pool1d(line, 3, 2, 1, return_indices=True)[0].numpy())


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_puts_maxima_back(dims):
    x = torch.tensor(data(2, 3, *(4, 6, 8)[:dims]))
    pool, unpool = getattr(nn, f"MaxPool{dims}d")(2, return_indices=True), getattr(nn, f"MaxUnpool{dims}d")(2)
    values, indices = pool(x)
    back = unpool(values, indices)
    assert back.shape == x.shape
    assert back.sum().item() == pytest.approx(values.sum().item())
    assert torch.equal(back.reshape(2, 3, -1).gather(2, indices.reshape(2, 3, -1)), values.reshape(2, 3, -1))
    with pytest.raises(ValueError, match="output_size"):
        unpool(values, indices, output_size=[100] * dims)


def test_fold_counts_how_often_unfold_reads():
    ones = torch.ones(1, 1, 4, 5, dtype=torch.float64)
    for options in ({"kernel_size": 2}, {"kernel_size": (2, 3), "stride": 2, "padding": 1}, {"kernel_size": 2, "dilation": 2}):
        columns = F.unfold(ones, **options)
        counts = F.fold(columns, (4, 5), **options)
        x = torch.tensor(data(1, 1, 4, 5))
        np.testing.assert_allclose(F.fold(F.unfold(x, **options), (4, 5), **options).numpy(), (x * counts).numpy(), atol=1e-12)
    assert torch.equal(nn.Fold((4, 5), 2)(nn.Unfold(2)(x)), F.fold(F.unfold(x, 2), (4, 5), 2))


# ---------------------------------------------------------------- grids
@pytest.mark.parametrize("dims", [2, 3])
def test_the_identity_grid_samples_every_pixel(dims):
    x = torch.tensor(data(2, 3, *(5, 6, 4)[:dims]))
    theta = torch.eye(dims, dims + 1, dtype=torch.float64).expand(2, dims, dims + 1)
    for corners in (False, True):
        grid = F.affine_grid(theta, x.shape, align_corners=corners)
        for mode in ("bilinear", "nearest"):
            np.testing.assert_allclose(F.grid_sample(x, grid, mode, align_corners=corners).numpy(), x.numpy(), atol=1e-12)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_against_pytorch(mode, padding):
    other = pytest.importorskip("torch")
    for dims in (2, 3)[:1 if mode == "bicubic" else 2]:
        x, grid = data(2, 3, *(5, 6, 7)[:dims]), RANDOM.uniform(-1.5, 1.5, (2, *(4, 5, 3)[:dims], dims))
        for corners in (False, True):
            theirs, ours = [[lib.tensor(a, requires_grad=True) for a in (x, grid)] for lib in (other, torch)]
            want = other.nn.functional.grid_sample(*theirs, mode, padding, corners)
            got = F.grid_sample(*ours, mode, padding, corners)
            want.square().sum().backward()
            got.square().sum().backward()
            np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-11)
            for a, b in zip(ours, theirs):
                np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize(("image", "grid"), [((3, 0, 4, 4), (3, 2, 2, 2)), ((0, 2, 4, 4), (0, 2, 2, 2)), ((2, 2, 4, 4), (2, 0, 2, 2)),
                                             ((3, 0, 4, 4, 4), (3, 2, 2, 2, 3)), ((2, 2, 4, 4, 4), (2, 2, 0, 2, 3))])
def test_a_sample_may_be_of_no_elements(image, grid, mode):
    x, points = torch.zeros(image, requires_grad=True), torch.zeros(grid, requires_grad=True)
    sampled = F.grid_sample(x, points, mode, align_corners=False)
    sampled.sum().backward()
    assert sampled.shape == (*image[:2], *grid[1:-1]) and x.grad.shape == image and points.grad.shape == grid


# ---------------------------------------------------------------- modules and errors
def test_modules_call_their_functions():
    x = torch.tensor(data(2, 4, 6, 8))
    volume = torch.tensor(data(2, 4, 6, 8, 4))
    for module, want in [
        (nn.Upsample(scale_factor=2, mode="bilinear"), F.interpolate(x, scale_factor=2, mode="bilinear")),
        (nn.UpsamplingNearest2d(size=(3, 4)), F.interpolate(x, size=(3, 4))),
        (nn.UpsamplingBilinear2d(scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)),
        (nn.LPPool2d(2, 2), F.lp_pool2d(x, 2.0, 2)), (nn.LPPool2d(float("inf"), 2), F.max_pool2d(x.abs(), 2)),
        (nn.LPPool2d(-float("inf"), 2), -F.max_pool2d(-x.abs(), 2)), (nn.ChannelShuffle(2), F.channel_shuffle(x, 2)),
        (nn.AdaptiveMaxPool2d((4, None)), F.adaptive_max_pool2d(x, (4, 8))),
    ]:
        assert torch.equal(module(x), want), module
    for module, want in [(nn.MaxPool3d(2), F.max_pool3d(volume, 2)), (nn.AvgPool3d(2, 1), F.avg_pool3d(volume, 2, 1)),
                         (nn.AdaptiveAvgPool3d(2), F.adaptive_avg_pool3d(volume, 2)),
                         (nn.AdaptiveMaxPool3d(3), F.adaptive_max_pool3d(volume, 3))]:
        assert torch.equal(module(volume), want), module
    assert repr(nn.Upsample(scale_factor=2)) == "Upsample(scale_factor=2.0, mode='nearest')"


@pytest.mark.parametrize("call, kind, words", [
    (lambda x: F.interpolate(x), ValueError, "either size or scale_factor"),
    (lambda x: F.interpolate(x, 2, 2), ValueError, "only one of"),
    (lambda x: F.interpolate(x, 2, mode="trilinear"), NotImplementedError, "trilinear"),
    (lambda x: F.interpolate(x, 2, mode="lanczos"), NotImplementedError, "unknown mode"),
    (lambda x: F.interpolate(x, 2, align_corners=True), ValueError, "align_corners"),
    (lambda x: F.interpolate(x, (2, 2, 2)), ValueError, "same number of spatial dimensions"),
    (lambda x: F.interpolate(x, 0), RuntimeError, "greater than 0"),
    (lambda x: F.pixel_shuffle(x, 2), RuntimeError, "divisible"),
    (lambda x: F.max_pool3d(x[0], 2), RuntimeError, "max_pool3d"),
    (lambda x: F.max_pool3d(x, 2, padding=2), RuntimeError, "pad should be"),
    (lambda x: F.avg_pool3d(x[None], 2, divisor_override=0), RuntimeError, "divisor"),
    (lambda x: F.adaptive_avg_pool2d(x, (1, 2, 3)), RuntimeError, "output sizes"),
    (lambda x: F.fold(x[0], 4, 3), RuntimeError, "divisible"),
    (lambda x: F.fold(x[0], 4, 0), RuntimeError, "kernel size should be greater than zero"),
    (lambda x: F.fold(x[0], 4, 2, stride=0), RuntimeError, "stride should be greater than zero"),
    (lambda x: F.unfold(x, -1), RuntimeError, "kernel size should be greater than zero"),
    (lambda x: F.unfold(x, 2, dilation=-1), RuntimeError, "dilation should be greater than zero"),
    (lambda x: F.unfold(x, 2, padding=-1), RuntimeError, "pad must be non-negative"),
    (lambda x: F.grid_sample(x, x), RuntimeError, "grid"),
    (lambda x: F.grid_sample(x, x, mode="cubic"), ValueError, "mode"),
    (lambda x: F.affine_grid(x, (2, 3, 4, 4)), ValueError, "affine"),
    (lambda x: F.max_unpool2d(x, x, 2), RuntimeError, "int64"),
])
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call(torch.randn(2, 3, 4, 5))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_images_of_bytes(mode):
    """Elements that are picked, or sums rounded and cut off after each axis: to the last byte PyTorch's, and near exact ones where
    nothing is cut off."""
    random = np.random.default_rng(4)
    peer = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    options = [{"antialias": a, "align_corners": c} for a in (False, True) for c in (None, True)] if "bi" in mode else [{}]
    for shape, size in (((2, 3, 9, 12), (4, 5)), ((1, 4, 5, 7), (11, 20)), ((1, 1, 30, 8), (7, 8)), ((2, 5, 6, 15), (7, 2)), ((1, 3, 4, 4), (4, 4))):
        image = random.integers(0, 256, shape).astype(np.uint8)
        image[0] = np.where(image[0] < 128, 0, 255)
        for more in options:
            found = F.interpolate(torch.from_numpy(image), size, mode=mode, **more)
            assert found.dtype is torch.uint8 and found.shape == (*shape[:2], *size)
            grey = torch.from_numpy(image // 2 + 64)
            exact = F.interpolate(grey.double(), size, mode=mode, **more)
            assert abs(F.interpolate(grey, size, mode=mode, **more).double() - exact).max() < 1.5
            if peer is not None:
                theirs = peer.nn.functional.interpolate(peer.from_numpy(image), size, mode=mode, **more)
                np.testing.assert_array_equal(found.numpy(), theirs.numpy())
    across = F.interpolate(torch.from_numpy(image).to(memory_format=torch.channels_last), (6, 3), mode=mode)
    assert across.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(across, F.interpolate(torch.from_numpy(image), (6, 3), mode=mode))
    with pytest.raises(NotImplementedError, match="uint8 in one of the modes"):
        F.interpolate(torch.from_numpy(image), 3, mode="area")


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_smoothing_what_is_made_smaller(mode):
    x = torch.tensor(np.random.default_rng(3).standard_normal((2, 3, 9, 12)), requires_grad=True)
    for size in ((3, 5), (9, 12), (20, 7), (1, 1)):
        found = F.interpolate(x, size, mode=mode, antialias=True)
        assert torch.allclose(F.interpolate(x * 0 + 3, size, mode=mode, antialias=True), torch.full((2, 3, *size), 3.0).double())
        if importlib.util.find_spec("torch"):
            peer = importlib.import_module("torch")
            for corners in (None, True):
                ours = F.interpolate(x, size, mode=mode, antialias=True, align_corners=corners)
                theirs = peer.nn.functional.interpolate(peer.tensor(x.detach().numpy()), size, mode=mode, antialias=True,
                                                        align_corners=corners)
                assert np.allclose(ours.detach().numpy(), theirs.numpy(), atol=1e-12)
        assert found.shape == (2, 3, *size)
    assert gradcheck(lambda x: F.interpolate(x, (3, 5), mode=mode, antialias=True), (x,), fast_mode=True)
    whole = F.interpolate(x, (9, 12), mode=mode, antialias=True)
    assert torch.allclose(whole, x)                      # nothing to smooth
    with pytest.raises(ValueError, match="restricted to bilinear and bicubic"):
        F.interpolate(x, (3, 3), mode="nearest", antialias=True)
