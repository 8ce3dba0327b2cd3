"""The kernels of `grid_sample` against the same in ops, which `test_resample.py` compares with PyTorch."""
import itertools

import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd import gradgradcheck
from numtorch.nn import functional as F
from numtorch.ops.spatial.grid_sample import _formula

RANDOM = np.random.default_rng(0)
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11}


def operands(dtype, shape=(3, 5, 7, 9), points=(9, 17), spread=1.6):
    return [torch.tensor(a, dtype=dtype, requires_grad=True) for a in
            (RANDOM.standard_normal(shape), RANDOM.uniform(-spread, spread, (shape[0], *points, 2)))]


@pytest.fixture(params=[1, 2, 3])
def thread_count(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("mode, padding, dtype", [
    *itertools.product(["bilinear", "nearest"], ["zeros", "border", "reflection"], [torch.float64]),
    ("bilinear", "reflection", torch.float32)])
def test_kernels_are_the_formula(mode, padding, dtype, thread_count):
    """More positions than a block holds, and more than one thread computes."""
    for corners, shape, points in ((False, (3, 5, 7, 9), (9, 17)), (True, (2, 3, 4, 6), (5, 6)), (True, (3, 30, 1, 8), (12, 14))):
        image, grid = operands(dtype, shape, points)
        got, want = F.grid_sample(image, grid, mode, padding, corners), _formula(image, grid, mode, padding, corners)
        assert got.grad_fn.name() == "GridSampler2DBackward0"
        weight = torch.tensor(RANDOM.standard_normal(got.shape), dtype=dtype)
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
        ours = torch.autograd.grad(got, (image, grid), weight)
        theirs = torch.autograd.grad(want, (image, grid), weight, allow_unused=True)
        for a, b in zip(ours, theirs):
            expected = np.zeros(a.shape) if b is None else b.numpy()
            np.testing.assert_allclose(a.numpy(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * max(1, abs(expected).max()))


def test_any_layout():
    image, grid = operands(torch.float64)
    want = F.grid_sample(image, grid, align_corners=False)
    transposed = image.transpose(2, 3).contiguous().transpose(2, 3), grid.flip(3).flip(3).transpose(1, 2).contiguous().transpose(1, 2)
    assert not transposed[0].is_contiguous() and not transposed[1].is_contiguous()
    assert torch.equal(F.grid_sample(*transposed, align_corners=False), want)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_gradients(padding):
    image, grid = operands(torch.float64, (1, 2, 4, 5), (2, 3), 1.2)
    assert gradgradcheck(lambda x, g: F.grid_sample(x, g, "bilinear", padding, False), (image, grid))
    assert gradgradcheck(lambda x: F.grid_sample(x, grid.detach(), "nearest", padding, False).square(), (image,))


def test_what_is_outside_is_not_read():
    image = torch.full((1, 1, 3, 3), float("nan"))
    image[..., 1:, 1:] = 1
    out = F.grid_sample(image, torch.tensor([[[[1., 1.], [9., 9.], [float("nan"), 0.], [float("inf"), 0.]]]]), align_corners=True)
    assert out.flatten().tolist() == [1, 0, 0, 0]


def test_nothing_moves_at_the_border():
    """A position on the last pixel has no slope, as one behind it: PyTorch's choice where the two sides differ."""
    image = torch.tensor([[[[1.0, 2.0, 4.0]]]], dtype=torch.float64)
    grid = torch.tensor([[[[-1.0, 0.0], [-0.5, 0.0], [0.5, 0.0], [1.0, 0.0]]]], dtype=torch.float64, requires_grad=True)
    F.grid_sample(image, grid, "bilinear", "border", True).sum().backward()
    assert grid.grad[0, 0, :, 0].tolist() == [0.0, 1.0, 2.0, 0.0]
