"""Householder reflections (geqrf, householder_product, ormqr) and factorisations of low rank by random products."""
import numpy as np
import pytest
from test_linalg import matrices, near

import numtorch as torch
from numtorch import linalg
from numtorch.autograd import gradcheck

SHAPES = [(4, 3), (3, 4), (2, 5, 5), (6, 1), (0, 3, 2), (3, 0)]


@pytest.mark.parametrize("kind", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_reflections_multiply_back(shape, kind):
    x = matrices(*shape, kind=kind)
    m, n = shape[-2:]
    a, tau = torch.geqrf(x)
    near(torch.ormqr(a, tau, a.triu()), x)
    near(torch.ormqr(a, tau, x, transpose=True), a.triu())
    whole = torch.ormqr(a, tau, torch.eye(m, dtype=x.dtype).expand(*shape[:-2], m, m))
    near(whole @ whole.mH, torch.eye(m).expand(whole.shape))
    rows = matrices(*shape[:-2], 2, m, kind=kind, seed=1)
    near(torch.ormqr(a, tau, rows, left=False), rows @ whole)
    near(torch.ormqr(a, tau, rows, left=False, transpose=True), rows @ whole.mH)
    if m >= n:
        near(linalg.householder_product(a, tau), whole[..., :n])
        near(linalg.householder_product(a, tau[..., :1])[..., :min(n, 1)], whole[..., :min(n, 1)])


def test_by_the_definition():
    """I - tau v v^H, one after another, with factors that make none of them orthogonal."""
    a, tau = matrices(4, 3, kind="complex128"), matrices(3, 1, kind="complex128", seed=2)[:, 0]
    wanted = np.eye(4, dtype=complex)
    for i in range(3):
        v = np.concatenate([np.zeros(i), [1], a.numpy()[i + 1:, i]])
        wanted = wanted @ (np.eye(4) - tau[i].item() * np.outer(v, v.conj()))
    near(linalg.householder_product(a, tau), wanted[:, :3])


def test_derivatives_of_complex_reflections():
    a, tau = matrices(3, 2, kind="complex128").requires_grad_(), matrices(2, 1, kind="complex128", seed=1)[:, 0].requires_grad_()
    assert gradcheck(linalg.householder_product, (a, tau))
    with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented"):
        torch.geqrf(a)


@pytest.mark.parametrize("call, message", [
    (lambda x: torch.geqrf(x[0]), "at least 2 dimensions"),
    (lambda x: linalg.householder_product(x.mT, x[0]), "greater than or equal to input.shape"),
    (lambda x: linalg.householder_product(x, torch.ones(4)), "greater than or equal to tau.shape"),
    (lambda x: linalg.householder_product(x[None], torch.ones(2)), "one dimension less"),
    (lambda x: linalg.householder_product(x, torch.ones(2).double()), "does not match input dtype"),
    (lambda x: torch.ormqr(x, torch.ones(3), torch.ones(3, 3)), r"other.shape\[-2\] must be equal"),
    (lambda x: torch.ormqr(x, torch.ones(2), torch.ones(4, 3)), "tau.shape"),
    (lambda x: torch.ormqr(x[None], torch.ones(1, 3), torch.ones(4, 3)), "batch dimensions of other"),
    (lambda x: torch.geqrf(x.long()), "floating point or complex")])
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.ones(4, 3))


def test_low_rank():
    torch.manual_seed(0)
    for shape in ((2, 12, 9), (7, 12)):
        x = matrices(*shape[:-1], 3) @ matrices(*shape[:-2], 3, shape[-1], seed=1)
        u, s, v = torch.svd_lowrank(x, q=4)
        near((u * s.unsqueeze(-2)) @ v.mT, x)
        near(s, np.linalg.svd(x.numpy(), compute_uv=False)[..., :4])
        near(u.mT[..., :3, :] @ u[..., :3], np.broadcast_to(np.eye(3), (*shape[:-2], 3, 3)))
        near(torch.svd_lowrank(x, 4, M=x * 0.5)[1], s / 2)
    points = matrices(20, 5) * torch.tensor([10.0, 5, 1, 1, 1], dtype=torch.float64) + 3
    variances = np.linalg.eigvalsh(np.cov(points.numpy().T))[::-1]
    near(torch.pca_lowrank(points)[1] ** 2 / 19, variances)
    near(torch.pca_lowrank(points, center=False)[1], np.linalg.svd(points.numpy(), compute_uv=False))
    assert [tuple(t.shape) for t in torch.svd_lowrank(points[:4])] == [(4, 4), (4,), (5, 4)]     # no more than there are
    with pytest.raises(RuntimeError, match="must not be negative"):
        torch.svd_lowrank(points, -1)
    for q, niter in ((-1, 2), (6, 2), (2, -1)):
        with pytest.raises(ValueError, match="non-negative integer"):
            torch.pca_lowrank(points, q, niter=niter)


def test_iterations_sharpen():
    """Without a gap, subspace iteration is what finds the largest values."""
    u, _ = linalg.qr(matrices(60, 60))
    x = u * (0.9 ** torch.arange(60).double()) @ linalg.qr(matrices(60, 60, seed=1)).Q
    errors = []
    for niter in (0, 4):
        torch.manual_seed(1)
        errors.append(abs(torch.svd_lowrank(x, 6, niter)[1][0].item() - 1))
    assert errors[1] < 1e-4 < errors[0]
