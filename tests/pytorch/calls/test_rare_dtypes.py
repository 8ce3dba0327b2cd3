"""Dtypes that an op is rarely called with, complex numbers without a size or an angle, and results that go into `out` of another dtype. Each test's body runs on PyTorch too."""
from __future__ import annotations

import numpy as np
import pytest

X = np.arange(12).reshape(3, 4) / 5 + 1j * np.arange(12)[::-1].reshape(3, 4) / 7
WEIGHT = np.array([1, 2j, 0.5, 1 - 1j])


def test_rms_norm_of_complex_numbers(torch):
    """With the mean of the squares, which is complex."""
    x, weight = [torch.tensor(a, requires_grad=True) for a in (X, WEIGHT)]
    out = torch.nn.functional.rms_norm(x, (4,), weight, 1e-3)
    np.testing.assert_allclose(out.detach().numpy(), X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-3) * WEIGHT)
    assert torch.autograd.gradcheck(lambda a, w: torch.nn.functional.rms_norm(a, (4,), w, 1e-3), (x, weight))
    assert torch.nn.functional.rms_norm(x.detach().to(torch.complex64), (4,)).dtype is torch.complex64
    with pytest.raises(NotImplementedError):
        torch.nn.functional.layer_norm(x, (4,))


@pytest.mark.parametrize("shape, size", [((2, 3, 4), 2), ((2, 5, 4), 3), ((2, 3, 2, 4), 2), ((1, 3, 4), 5)])
def test_response_norm_of_integers(torch, shape, size):
    """The mean of the squares is a whole number there."""
    x = np.arange(np.prod(shape)).reshape(shape)
    padded = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    mean = sum(padded[:, i:i + shape[1]] for i in range(size)) // size
    found = torch.nn.functional.local_response_norm(torch.tensor(x), size, alpha=0.5, beta=0.75, k=2.0)
    assert found.dtype is torch.float32
    np.testing.assert_allclose(found.numpy(), x / (mean * 0.5 + 2.0) ** 0.75, 1e-5)
    with pytest.raises(NotImplementedError):
        torch.nn.functional.local_response_norm(torch.tensor(x, dtype=torch.int32), size)


def test_complex_draws_in_place(torch):
    torch.manual_seed(0)
    x = torch.zeros(200_000, dtype=torch.complex64)
    assert x.normal_(1.0, 2.0) is x
    for part in (x.real, x.imag):
        assert abs(part.mean().item() - 1) < 0.02 and abs(part.std().item() - 2 ** 0.5) < 0.02
    x.uniform_(2.0, 5.0)
    for part in (x.real, x.imag):
        assert 2 <= part.min().item() < 2.01 and 4.99 < part.max().item() <= 5
    assert abs(np.corrcoef(x.real.numpy(), x.imag.numpy())[0, 1]) < 0.02
    grid = torch.zeros(4, 4, dtype=torch.complex64)
    grid[::2, 1].uniform_()
    assert int((grid != 0).sum()) == 2
    leaf = torch.zeros(3, dtype=torch.complex64, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"):
        leaf.normal_()
    (leaf * 1).uniform_().abs().sum().backward()
    assert leaf.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "uint8"])
def test_bernoulli_into_any_dtype(torch, dtype):
    out = torch.empty(3, dtype=getattr(torch, dtype))
    assert torch.bernoulli(torch.tensor([0.0, 1.0, 1.0]), out=out) is out and out.tolist() == [0, 1, 1]


def test_slice_scatter_into_out(torch):
    x, part = torch.zeros(4), torch.ones(2)
    for out in (torch.empty(4), torch.empty(0)):
        assert torch.slice_scatter(x, part, 0, 1, 3, out=out) is out and out.tolist() == [0, 1, 1, 0]
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
        torch.slice_scatter(x, part, 0, 1, 3, out=torch.empty(4, dtype=torch.float64))


# ---------------------------------------------------------------- complex numbers without a size or an angle
PARTS = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("name", ["exp", "exp2", "sinh", "cosh", "tanh", "sin", "cos", "tan", "sigmoid", "asinh", "acosh", "asin", "acos", "log"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_infinite_and_missing_parts(name, dtype):
    """C99's Annex G, as PyTorch has it."""
    import numtorch
    pytorch = pytest.importorskip("torch")
    points = [complex(x, y) for x in PARTS for y in PARTS]
    found, wanted = [getattr(t, name)(t.tensor(points, dtype=getattr(t, dtype))).numpy() for t in (numtorch, pytorch)]
    for part in ("real", "imag"):
        ours, theirs = getattr(found, part), getattr(wanted, part)
        np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6, err_msg=name)


def test_floats_of_eight_bits_have_names_and_limits(torch):
    """Language models ask whether a weight is one; numtorch's tensors never are."""
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
        dtype, limits = getattr(torch, name), torch.finfo(getattr(torch, name))
        assert repr(dtype) == f"torch.{name}" and dtype.itemsize == 1 and dtype.is_floating_point and not dtype.is_complex
        assert torch.ones(2).dtype not in (dtype, "no dtype") and dtype.is_signed is (name != "float8_e8m0fnu")
        found = limits.bits, limits.eps, limits.max, limits.min, limits.tiny, limits.smallest_normal, limits.resolution, limits.dtype
        assert found == LIMITS[name], name


LIMITS = {
    "float8_e4m3fn": (8, 0.125, 448.0, -448.0, 2.0 ** -6, 2.0 ** -6, 1.0, "float8_e4m3fn"),
    "float8_e4m3fnuz": (8, 0.125, 240.0, -240.0, 2.0 ** -7, 2.0 ** -7, 1.0, "float8_e4m3fnuz"),
    "float8_e5m2": (8, 0.25, 57344.0, -57344.0, 2.0 ** -14, 2.0 ** -14, 1.0, "float8_e5m2"),
    "float8_e5m2fnuz": (8, 0.125, 57344.0, -57344.0, 2.0 ** -15, 2.0 ** -15, 1.0, "float8_e5m2fnuz"),
    "float8_e8m0fnu": (8, 1.0, 2.0 ** 127, 2.0 ** -127, 2.0 ** -127, 2.0 ** -127, 1.0, "float8_e8m0fnu"),
}
