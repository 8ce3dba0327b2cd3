"""LU factorisations against SciPy's, with gradients, and what they refuse."""
import numpy as np
import pytest
import scipy.linalg

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck

SHAPES = [(1, 1), (3, 3), (5, 3), (3, 6), (2, 9, 9), (17, 17), (2, 2, 20, 12), (40, 33), (0, 3), (2, 0, 0)]


def matrix(shape, dtype="float64"):
    rng = np.random.default_rng(sum(shape))
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.startswith("c") else values).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_factors(shape, dtype):
    """P L U is A, the factors are SciPy's, and lu_factor holds the same."""
    a = matrix(shape, dtype)
    tolerance = 1e-11 if dtype == "float64" else 2e-5
    p, lower, upper = (t.numpy() for t in torch.linalg.lu(torch.tensor(a)))
    np.testing.assert_allclose(p.astype(dtype) @ lower @ upper, a, atol=tolerance)
    if a.size:
        for at in np.ndindex(shape[:-2]):
            for found, expected in zip((p[at], lower[at], upper[at]), scipy.linalg.lu(a[at])):
                np.testing.assert_allclose(found, expected, atol=tolerance)
    packed, pivots = torch.linalg.lu_factor(torch.tensor(a))
    assert pivots.dtype is torch.int32 and pivots.shape == (*shape[:-2], min(shape[-2:]))
    for found, expected in zip(torch.lu_unpack(packed, pivots), (p, lower, upper)):
        np.testing.assert_array_equal(found.numpy(), expected)


def test_threads_share_matrices():
    a = torch.tensor(matrix((8, 30, 30)))
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(torch.linalg.lu_factor(a).LU.numpy())
    torch.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solve(left, adjoint):
    a, b = matrix((2, 5, 5), "complex128"), matrix((2, 5, 3) if left else (2, 3, 5), "complex128")
    x = torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.tensor(a)), torch.tensor(b), left=left, adjoint=adjoint).numpy()
    operator = a.conj().swapaxes(-1, -2) if adjoint else a
    np.testing.assert_allclose(operator @ x if left else x @ operator, b, atol=1e-11)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 5), (2, 2, 2)], ids=str)
def test_gradients(shape):
    for dtype in ("float64", "complex128"):
        a = torch.tensor(matrix(shape, dtype), requires_grad=True)
        assert gradcheck(lambda a: tuple(torch.linalg.lu(a)[1:]), (a,), fast_mode=True)
    a = torch.tensor(matrix(shape), requires_grad=True)
    assert gradgradcheck(lambda a: tuple(torch.linalg.lu(a)[1:]), (a,), fast_mode=True)


def test_singular():
    """lu takes it, lu_factor_ex says which pivot is 0, and lu_factor refuses."""
    a = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert torch.linalg.lu_factor_ex(a).info.item() == 2 and torch.linalg.lu_factor_ex(torch.eye(2)).info.item() == 0
    p, lower, upper = torch.linalg.lu(a)
    assert torch.equal(p @ lower @ upper, a)
    with pytest.raises(RuntimeError, match="U\\[2,2\\] is zero and using it on lu_solve would result in a division by zero"):
        torch.linalg.lu_factor(a)


def pivots(*rows):
    return torch.tensor(rows, dtype=torch.int32)


@pytest.mark.parametrize("call, message", [
    (lambda: torch.linalg.lu(torch.ones(3)), "must have at least 2 dimensions"),
    (lambda: torch.linalg.lu(torch.ones(2, 2, dtype=torch.int64)), "Expected a floating point or complex tensor"),
    (lambda: torch.linalg.lu_factor(torch.eye(2), pivot=False), "LU without pivoting is not implemented on the CPU"),
    (lambda: torch.linalg.lu_solve(torch.eye(2), torch.tensor([1, 2]), torch.ones(2, 1)), "Expected pivots to be a Tensor of torch.int32"),
    (lambda: torch.linalg.lu_solve(torch.eye(2), pivots(0, 1), torch.ones(2, 1)), "pivots .* must be between 1 and LU.size\\(-2\\) = 2"),
    (lambda: torch.lu_unpack(torch.eye(2), pivots(2, 3)), "pivots .* must be between 1 and LU.size\\(-2\\) = 2"),
    (lambda: torch.lu_unpack(torch.eye(2), pivots(1, 2, 2)), "expected pivots .* no more than the 2 rows, got \\[3\\]"),
    (lambda: torch.lu_unpack(torch.eye(2), torch.tensor([1, 2])), "expected pivots .* of torch.int64"),
    (lambda: torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.eye(2)), torch.ones(3, 1)), "Incompatible shapes of A and B"),
    (lambda: torch.linalg.lu_solve(*torch.linalg.lu_factor(torch.eye(2)), torch.ones(2, 1).double()), "the same dtype"),
])
def test_refuses(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_more_factors_than_right_sides():
    factors = torch.randn(2, 1, 3, 4, 4) + 4 * torch.eye(4)
    right = torch.randn(4, 6)
    wanted = torch.linalg.solve(factors, right)
    lu, pivots = torch.linalg.lu_factor(factors)
    for found in (torch.lu_solve(right, lu, pivots), torch.linalg.lu_solve(lu, pivots, right)):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
