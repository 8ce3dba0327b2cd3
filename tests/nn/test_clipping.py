"""Norms of all gradients together, and clipping by them."""
from __future__ import annotations

import math

import numpy as np
import pytest

import numtorch as torch
from numtorch import nn

SHAPES = [(3, 5), (), (0, 4), (70_000,), (2, 3, 4), (33,)]


def parameters(dtype=torch.float64, shapes=SHAPES, scale=1.0):
    rng, found = np.random.default_rng(0), []
    for shape in shapes:
        value = rng.normal(size=shape) * scale + (1j * rng.normal(size=shape) * scale if dtype.is_complex else 0)
        found.append(nn.Parameter(torch.zeros(shape, dtype=dtype)))
        found[-1].grad = torch.tensor(value).to(dtype)
    return found


def all_elements(found):
    return np.concatenate([p.grad.numpy().reshape(-1) for p in found])


@pytest.mark.parametrize("order", [2, 1, math.inf, -math.inf, 0, 3, 0.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_norms(order, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = parameters()
        values = all_elements(found)
        norm = nn.utils.clip_grad_norm_(found, 0.25, order)
        expected = np.linalg.norm(values, order)
        if order == 0:                                   # of the tensors' norms, as in PyTorch: how many are not 0
            expected = sum(p.grad.numel() > 0 for p in found)
        assert norm.item() == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(all_elements(found), values * min(1, 0.25 / (expected + 1e-6)), 1e-12)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.complex128])
def test_dtypes(dtype):
    found = parameters(dtype, [(3, 5), (7,)])
    values = all_elements(found) if dtype is not torch.bfloat16 else None
    norm = nn.utils.clip_grad_norm_(found, 1.0)
    assert norm.dtype is dtype.to_real()
    if values is not None:
        tolerance = 1e-2 if dtype is torch.float16 else 1e-6
        expected = np.linalg.norm(values)
        assert norm.item() == pytest.approx(float(expected), rel=tolerance)
        np.testing.assert_allclose(all_elements(found), values / expected, tolerance)


def test_what_is_small_enough_stays():
    found = parameters(scale=1e-3)
    before, kept = all_elements(found), [p.grad for p in found]
    nn.utils.clip_grad_norm_(found, 10.0)
    np.testing.assert_array_equal(all_elements(found), before)
    assert all(p.grad is g for p, g in zip(found, kept))


def test_what_is_not_finite_reaches_all():
    found = parameters(torch.float32, [(3,), (4,)])
    found[0].grad[1] = math.nan
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        nn.utils.clip_grad_norm_(found, 1.0, error_if_nonfinite=True)
    assert math.isnan(nn.utils.clip_grad_norm_(found, 1.0).item())
    assert np.isnan(all_elements(found)).all()


def test_mixed_and_strided():
    """Gradients of several dtypes, and some whose elements do not fill their memory."""
    found = parameters(torch.float64, [(4, 3), (5,)]) + parameters(torch.float32, [(6,)])
    wide = nn.Parameter(torch.zeros(3, 2, dtype=torch.float64))
    wide.grad = torch.arange(12, dtype=torch.float64).reshape(3, 4)[:, ::2]
    transposed = nn.Parameter(torch.zeros(2, 3, dtype=torch.float64))
    transposed.grad = torch.arange(6, dtype=torch.float64).reshape(3, 2).t()
    found += [wide, transposed]
    values = [p.grad.numpy().copy() for p in found]
    expected = math.sqrt(sum((v.astype(float) ** 2).sum() for v in values))
    assert nn.utils.clip_grad_norm_(found, 1.0).item() == pytest.approx(expected, rel=1e-6)
    for parameter, value in zip(found, values):
        np.testing.assert_allclose(parameter.grad.numpy(), value / expected, 1e-5)


def test_no_gradients_and_a_single_tensor():
    lone = nn.Parameter(torch.zeros(2))
    assert nn.utils.clip_grad_norm_(lone, 1.0).item() == 0
    lone.grad = torch.tensor([3.0, 4.0])
    assert nn.utils.clip_grad_norm_(lone, 1.0).item() == 5


def test_clipping_is_a_write():
    x = torch.ones(3, requires_grad=True)
    lone = nn.Parameter(torch.zeros(3))
    lone.grad = torch.full((3,), 2.0)
    loss = (x * lone.grad * x).sum()
    nn.utils.clip_grad_norm_(lone, 1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_like_pytorch():
    reference, found = pytest.importorskip("torch"), []
    for module in (torch, reference):
        rng = np.random.default_rng(0)
        weights = [module.nn.Parameter(module.zeros(*shape)) for shape in [(4, 3), (5,)]]
        for w in weights:
            w.grad = module.from_numpy(rng.normal(size=tuple(w.shape)).astype(np.float32))
        norms = [module.nn.utils.clip_grad_norm_(weights, bound, order).item() for bound, order in [(2.0, 2.0), (1.0, 3.0), (9.0, 1.0)]]
        found.append((norms, [w.grad.numpy() for w in weights]))
    np.testing.assert_allclose(found[0][0], found[1][0], 1e-6)
    for one, other in zip(found[0][1], found[1][1]):
        np.testing.assert_allclose(one, other, 1e-6)
