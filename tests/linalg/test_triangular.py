"""Triangular systems: the kernel's substitution and halving around products, on any layout, and what is made of Cholesky factors."""
import numpy as np
import pytest
from test_linalg import matrices, near

import numtorch as torch
from numtorch import linalg
from numtorch.kernels.cpu.linalg import triangular


def triangle(a, upper, unit):
    x = np.triu(a) if upper else np.tril(a)
    n = a.shape[-1]
    return np.where(np.eye(n, dtype=bool), 1, x) if unit else x


@pytest.mark.parametrize("kind", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("of_a,of_b", [((1, 1), (1, 1)), ((7, 7), (7, 1)), ((17, 17), (17, 5)), ((2, 3, 9, 9), (2, 3, 9, 2)), ((2, 19, 19), (2, 19, 1)),
                                       ((9, 9), (2, 9, 3)), ((2, 1, 4, 4), (3, 4, 2)), ((0, 3, 3), (0, 3, 1)), ((3, 3), (3, 0)), ((0, 0), (0, 2))])
def test_both_sides_of_both_triangles(of_a, of_b, kind):
    a, b = matrices(*of_a, kind=kind) + 2 * torch.eye(of_a[-1]), matrices(*of_b, kind=kind, seed=1)
    for count, (upper, unit) in enumerate([(False, False), (True, False), (False, True), (True, True)]):
        given = a.mT.contiguous().mT if count % 2 else a
        wanted = np.linalg.solve(triangle(a.numpy(), upper, unit), b.numpy())
        near(linalg.solve_triangular(given, b, upper=upper, unitriangular=unit), wanted)
        near(linalg.solve_triangular(given.mT, b.mT, upper=not upper, left=False, unitriangular=unit), np.swapaxes(wanted, -1, -2))


@pytest.mark.parametrize("upper", [False, True])
def test_large_systems_are_halved(upper, monkeypatch):
    a, b = matrices(2, 50, 50) + 8 * torch.eye(50), matrices(2, 50, 3)
    whole = linalg.solve_triangular(a, b, upper=upper)
    monkeypatch.setattr(triangular, "HALVED", 7)
    near(linalg.solve_triangular(a, b, upper=upper), whole)
    near(linalg.solve_triangular(a[0], b, upper=upper), np.linalg.solve(triangle(a[:1].numpy(), upper, False), b.numpy()))


def test_the_other_triangle_is_not_read():
    a = matrices(12, 12)
    spoilt = a.tril() + torch.full((12, 12), float("nan")).triu(1)
    for b in (matrices(12, 2), matrices(12, 1)):
        assert torch.equal(linalg.solve_triangular(spoilt, b, upper=False), linalg.solve_triangular(a, b, upper=False))
        assert torch.equal(linalg.solve_triangular(spoilt.mT.contiguous().mT, b, upper=False),
                           linalg.solve_triangular(a.mT.contiguous().mT, b, upper=False))
    spoilt = spoilt.tril(-1) + torch.full((12, 12), float("nan")).triu()
    assert bool(linalg.solve_triangular(spoilt, matrices(12, 2), upper=False, unitriangular=True).isfinite().all())


def test_zeros_on_the_diagonal_give_infinities():
    a = torch.tensor([[1.0, 0.0], [2.0, 0.0]])
    assert linalg.solve_triangular(a, torch.tensor([[1.0], [1.0]]), upper=False).tolist() == [[1.0], [-np.inf]]


def test_cholesky_factors():
    a = matrices(2, 5, 5, kind="complex128")
    a, b = a @ a.mH + torch.eye(5), matrices(2, 5, 3, kind="complex128", seed=1)
    for upper in (False, True):
        factor = linalg.cholesky(a, upper=upper)
        near(torch.cholesky_solve(b, factor, upper=upper), np.linalg.solve(a.numpy(), b.numpy()))
        near(torch.cholesky_inverse(factor, upper=upper), np.linalg.inv(a.numpy()))


@pytest.mark.parametrize("call, error, message", [
    (lambda a: linalg.solve_triangular(a, 1.0, upper=True), TypeError, "must be Tensor"),
    (lambda a: linalg.solve_triangular(a, a.double(), upper=True), RuntimeError, "Expected A and B to have the same dtype"),
    (lambda a: linalg.solve_triangular(a, torch.ones(2, 1), upper=True), RuntimeError, r"Incompatible shapes .* AX = B \(3x3 and 2x1\)"),
    (lambda a: linalg.solve_triangular(a, torch.ones(3, 1), upper=True, left=False), RuntimeError, r"XA = B \(3x3 and 3x1\)"),
    (lambda a: linalg.solve_triangular(a, torch.ones(3), upper=True), RuntimeError, "Incompatible shapes"),
    (lambda a: linalg.solve_triangular(torch.ones(3, 2), a, upper=True), RuntimeError, "square matrices")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.ones(3, 3))
