"""Bunch and Kaufman's factorisation: L D L^H multiplied back from LAPACK's format, systems, and what it refuses."""
import numpy as np
import pytest
from test_linalg import matrices, near

import numtorch as torch
from numtorch import linalg
from numtorch.autograd import gradcheck

KINDS = [("float64", False), ("complex128", False), ("complex128", True), ("float32", False)]


def symmetric(n, kind, hermitian, batch=()):
    """Indefinite, with zeros on the diagonal, so that there are blocks of two rows and exchanges."""
    x = matrices(*batch, n, n, kind=kind)
    x = x + (x.mH if hermitian else x.mT)
    return x * (1 - torch.eye(n) * (torch.arange(n) % 3 == 0)).to(x.dtype)


def multiplied(ld, pivots, hermitian):
    """P L D L^H P^T by the definition: the exchanges before the columns that they came with."""
    n, turn = len(pivots), np.conj if hermitian else np.asarray
    left, middle, k = np.eye(n, dtype=ld.dtype), np.zeros((n, n), ld.dtype), 0
    while k < n:
        rows = 1 if pivots[k] > 0 else 2
        lower, exchange = np.eye(n, dtype=ld.dtype), np.eye(n)
        lower[k + rows:, k:k + rows] = ld[k + rows:, k:k + rows]
        first, second = k + rows - 1, abs(pivots[k]) - 1
        exchange[[first, second]] = exchange[[second, first]]
        left = left @ exchange @ lower
        block = np.tril(ld[k:k + rows, k:k + rows])
        middle[k:k + rows, k:k + rows] = block + turn(np.tril(block, -1).T)
        k += rows
    return left @ middle @ turn(left.T)


@pytest.mark.parametrize("kind,hermitian", KINDS)
def test_factors_and_solutions(kind, hermitian):
    sizes = set()
    for n in (1, 2, 3, 8, 13):
        a = symmetric(n, kind, hermitian) + (torch.eye(n) if n == 1 else 0)
        ld, pivots, info = linalg.ldl_factor_ex(a.tril(), hermitian=hermitian)
        near(multiplied(ld.numpy(), pivots.tolist(), hermitian), a, 2e-3 if kind == "float32" else 1e-9)
        near(ld.triu(1), torch.zeros(n, n))
        sizes |= set((pivots > 0).tolist())
        b = matrices(n, 2, kind=kind, seed=1)
        near(a @ linalg.ldl_solve(ld, pivots, b, hermitian=hermitian), b, 1e-2 if kind == "float32" else 1e-9)
        assert info.item() == 0 and pivots.dtype is torch.int32
    assert sizes == {True, False}


def test_batches():
    a, b = symmetric(5, "float64", False, (2, 3)), matrices(3, 5, 2)
    ld, pivots = linalg.ldl_factor(a)
    near(linalg.ldl_solve(ld, pivots, b), np.linalg.solve(a.numpy(), b.numpy()))
    near(linalg.ldl_solve(ld[0, 0], pivots[0, 0].long(), b), np.linalg.solve(a[0, 0].numpy(), b.numpy()))
    assert linalg.ldl_factor(torch.ones(0, 3, 3)).pivots.shape == (0, 3)
    assert linalg.ldl_solve(torch.ones(0, 0), torch.ones(0, dtype=torch.int32), torch.ones(0, 2)).shape == (0, 2)


@pytest.mark.parametrize("kind,hermitian", KINDS[1:3])
def test_derivatives_of_solutions(kind, hermitian):
    ld, pivots = linalg.ldl_factor(symmetric(3, kind, hermitian), hermitian=hermitian)
    b = matrices(3, 2, kind=kind, seed=1).requires_grad_()
    assert gradcheck(lambda x: linalg.ldl_solve(ld, pivots, x, hermitian=hermitian), (b,))


def test_zero_blocks():
    found = linalg.ldl_factor_ex(torch.diag(torch.tensor([1.0, 0.0, 2.0])))
    assert found.info.item() == 2 and found.LD.diagonal().tolist() == [1, 0, 2]
    with pytest.raises(linalg.LinAlgError, match="block 2 of D is zero"):
        linalg.ldl_factor(torch.diag(torch.tensor([1.0, 0.0, 2.0])))


@pytest.mark.parametrize("call, error, message", [
    (lambda a, p: linalg.ldl_factor(a[:2]), RuntimeError, "square matrices"),
    (lambda a, p: linalg.ldl_factor(a.clone().requires_grad_()), NotImplementedError, "derivative"),
    (lambda a, p: linalg.ldl_solve(a.clone().requires_grad_(), p, a), NotImplementedError, "derivative"),
    (lambda a, p: linalg.ldl_solve(a, p[:2], a), RuntimeError, "pivots with shape"),
    (lambda a, p: linalg.ldl_solve(a, p.float(), a), RuntimeError, "to be integers"),
    (lambda a, p: linalg.ldl_solve(a, p + 1, a), RuntimeError, "pivots between 1 and 3"),
    (lambda a, p: linalg.ldl_solve(a, -p, a), RuntimeError, "in pairs"),
    (lambda a, p: linalg.ldl_solve(a, p, a.double()), RuntimeError, "same dtype"),
    (lambda a, p: linalg.ldl_solve(a, p, a[:2]), RuntimeError, "3 by 3 but each b matrix is 2 by 3")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.eye(3), torch.tensor([1, 2, 3], dtype=torch.int32))
