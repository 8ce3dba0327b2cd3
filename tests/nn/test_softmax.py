"""Log-sum-exp, vectors of length one and local response norm, against SciPy and NumPy in float64; softmax's gradients."""
import itertools

import numpy as np
import pytest
from scipy import special

import numtorch as torch
from numtorch import nn
from numtorch.autograd import gradcheck, gradgradcheck
from numtorch.nn import functional as F

TOLERANCE = {"float32": 3e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 2e-2}


def values(tensor):
    return tensor.detach().to(torch.float64).numpy()


def made(array, dtype="float64", grad=False):
    return torch.from_numpy(np.ascontiguousarray(array)).to(getattr(torch, dtype)).requires_grad_(grad)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_logsumexp(dtype):
    rng = np.random.default_rng(0)
    for shape, dim in [((7,), 0), ((5, 300), 1), ((5, 300), 0), ((3, 4, 5), 1), ((3, 4, 5), (0, 1)), ((3, 4, 5), (0, 2)), ((3, 4, 5), ()),
                       ((2, 3, 4, 5), (-1, 1)), ((1, 1), (0, 1)), ((40, 70, 9), 1)]:
        for keepdim in (False, True):
            x = made(rng.normal(size=shape) * 4, dtype, True)
            out = torch.logsumexp(x, dim, keepdim)
            axes = dim if dim != () else tuple(range(len(shape)))
            expected = special.logsumexp(values(x), axes, keepdims=keepdim)
            assert out.shape == np.shape(expected) and out.dtype is x.dtype
            np.testing.assert_allclose(values(out), expected, TOLERANCE[dtype], TOLERANCE[dtype], err_msg=f"{shape} {dim}")
            out.sum().backward()
            spread = special.logsumexp(values(x), axes, keepdims=True)
            np.testing.assert_allclose(values(x.grad), np.exp(values(x) - spread), 20 * TOLERANCE[dtype], TOLERANCE[dtype])


def test_logsumexp_of_extremes():
    inf = float("inf")
    for rows in ([[inf, 0], [-inf, -inf], [inf, -inf], [np.nan, 0], [1e4, 1e4], [-inf, 3]],):
        x = np.array(rows, np.float32)
        for array, dim in ((x, 1), (x.T, 0)):
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(torch.logsumexp(made(array, "float32"), dim).numpy(), special.logsumexp(x.astype(float), 1), 1e-6)
    x = made(np.full((2, 2), -inf), "float32", True)
    torch.logsumexp(x, 1).sum().backward()
    assert x.grad.tolist() == [[0, 0], [0, 0]]
    assert torch.logsumexp(torch.zeros(3, 0), 1).tolist() == [-inf] * 3
    assert torch.logsumexp(torch.tensor(2.5), 0).item() == 2.5
    assert torch.logsumexp(torch.tensor([1, 2]), 0).item() == pytest.approx(2.3132617)
    with pytest.raises(IndexError):
        torch.logsumexp(torch.zeros(3), 1)


def unit(x, axis, eps):
    return x / np.maximum(np.sqrt((x * x).sum(axis, keepdims=True)), eps)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_normalize(dtype):
    rng = np.random.default_rng(1)
    for shape, dim in [((5, 7), 1), ((5, 7), 0), ((3, 2600), 1), ((300, 600), 0), ((2, 5, 300), 1), ((4,), 0), ((3, 4, 5), -1)]:
        x = made(rng.normal(size=shape), dtype)
        tolerance = TOLERANCE[dtype]
        np.testing.assert_allclose(values(F.normalize(x, dim=dim)), unit(values(x), dim, 1e-12), 2 * tolerance, tolerance)
        np.testing.assert_allclose(values(F.normalize(x, dim=dim, eps=2.0)), unit(values(x), dim, 2.0), 2 * tolerance, tolerance)
    for p in (1.0, 3.0):
        x = rng.normal(size=(4, 5))
        np.testing.assert_allclose(values(F.normalize(made(x), p)), x / (np.abs(x) ** p).sum(1, keepdims=True) ** (1 / p), 1e-12)


def response(x, size, alpha, beta, k):
    padded = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
    window = sum(padded[:, i:i + x.shape[1]] for i in range(size))
    return x / (k + alpha * window / size) ** beta


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_local_response_norm(dtype):
    rng = np.random.default_rng(2)
    for shape, size in itertools.product([(2, 7, 3), (1, 6, 20, 30), (3, 2, 2, 2, 2)], (1, 2, 5)):
        x = made(rng.normal(size=shape) * 3, dtype)
        for options in (dict(), dict(alpha=0.5, beta=1.3, k=2.0)):
            expected = response(values(x), size, **{"alpha": 1e-4, "beta": 0.75, "k": 1.0, **options})
            np.testing.assert_allclose(values(F.local_response_norm(x, size, **options)), expected, 3 * TOLERANCE[dtype], TOLERANCE[dtype])
    assert repr(nn.LocalResponseNorm(3)) == "LocalResponseNorm(3, alpha=0.0001, beta=0.75, k=1.0)"
    x = made(rng.normal(size=(2, 4, 3)))
    assert torch.equal(nn.CrossMapLRN2d(3, 0.2)(x), F.local_response_norm(x, 3, 0.2))
    with pytest.raises(ValueError, match="3D or higher"):
        F.local_response_norm(torch.ones(2, 3), 2)
    assert F.local_response_norm(torch.ones(0, 3, 2), 2).shape == (0, 3, 2)


GRADIENTS = {
    "softmax": ((3, 4), lambda x: torch.softmax(x, 1)), "softmax of columns": ((4, 3, 2), lambda x: torch.softmax(x, 0)),
    "log_softmax": ((3, 4), lambda x: torch.log_softmax(x, 1)), "log_softmax in the middle": ((2, 4, 3), lambda x: torch.log_softmax(x, 1)),
    "logsumexp": ((3, 4), lambda x: torch.logsumexp(x, 1)), "logsumexp of columns": ((4, 3), lambda x: torch.logsumexp(x, 0, True)),
    "logsumexp of two": ((2, 3, 4), lambda x: torch.logsumexp(x, (0, 2))),
    "normalize": ((3, 4), F.normalize), "normalize columns": ((4, 3, 2), lambda x: F.normalize(x, dim=0)),
    "normalize short ones": ((3, 4), lambda x: F.normalize(x, eps=100.0)),
    "local_response_norm": ((2, 5, 3), lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 1.0)),
    "local_response_norm of two": ((2, 5, 3), lambda x: F.local_response_norm(x, 2, 0.7, 1.2, 2.0)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    shape, call = GRADIENTS[name]
    x = made(np.random.default_rng(3).normal(size=shape), grad=True)
    assert gradcheck(call, (x,)) and gradgradcheck(call, (x,))
    swapped = made(np.random.default_rng(4).normal(size=shape[::-1]), grad=True)
    assert gradcheck(lambda y: call(y.permute(*reversed(range(len(shape))))), (swapped,))


@pytest.mark.parametrize("name", GRADIENTS)
def test_large_gradients_equal_the_formula(name):
    _, call = GRADIENTS[name]
    before = torch.get_num_threads()
    shape = (40, 700, 5) if len(GRADIENTS[name][0]) == 3 else (90, 1300)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        try:
            x = made(np.random.default_rng(5).normal(size=shape), grad=True)
            out = call(x)
            seed = made(np.random.default_rng(6).normal(size=out.shape))
            fused, = torch.autograd.grad(out, x, seed, retain_graph=True)
            composed, = torch.autograd.grad(out, x, seed, create_graph=True)
        finally:
            torch.set_num_threads(before)
        np.testing.assert_allclose(values(fused), values(composed), 1e-9, 1e-11)
