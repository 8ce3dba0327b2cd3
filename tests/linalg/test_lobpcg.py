"""LOBPCG beside dense eigenvalues: both ends, generalised, preconditioned, in batches, with gradients; and when it stops."""
import numpy as np
import pytest
from test_linalg import matrices, near

import numtorch as torch
from numtorch import linalg
from numtorch.autograd import gradcheck, gradgradcheck


def symmetric(*shape, seed=0):
    x = matrices(*shape, seed=seed)
    return x + x.mT


@pytest.mark.parametrize("largest", [True, False])
def test_ends_of_the_spectrum(largest):
    torch.manual_seed(0)
    a, b = symmetric(24, 24), matrices(24, 24, seed=1)
    b = b @ b.mT / 24 + torch.eye(24)
    for other in (None, b):
        lower = torch.eye(24).double() if other is None else linalg.cholesky(b)
        wanted = np.linalg.eigvalsh(np.linalg.solve(lower.numpy(), np.linalg.solve(lower.numpy(), a.numpy()).T))
        values, vectors = torch.lobpcg(a, 3, B=other, largest=largest, tol=1e-10)
        near(values, wanted[::-1][:3] if largest else wanted[:3])
        left = vectors if other is None else b @ vectors
        near(vectors.mT @ left, np.eye(3))
        near(a @ vectors, left * values, 1e-7)


def test_batches_starts_and_precision():
    torch.manual_seed(0)
    a = symmetric(2, 1, 15, 15)
    values, vectors = torch.lobpcg(a, 2, X=matrices(2, 1, 15, 4), tol=1e-10)
    near(values, linalg.eigvalsh(a).flip(-1)[..., :2])
    assert vectors.shape == (2, 1, 15, 2) and torch.lobpcg(a[0, 0])[0].shape == (1,)
    near(torch.lobpcg(a.float(), 2, n=3)[0], linalg.eigvalsh(a.float()).flip(-1)[..., :2], 1e-3)


def test_a_preconditioner_saves_steps():
    """The smallest values of a chain of springs: the inverse finds in 12 steps what takes hundreds without."""
    a = 2 * torch.eye(100).double() - torch.eye(100).roll(1, 0).triu(-1).tril(-1).double()
    a = a.tril() + a.tril(-1).mT
    start, wanted = matrices(100, 3), np.linalg.eigvalsh(a.numpy())[:2]
    near(torch.lobpcg(a, 2, X=start, iK=linalg.inv(a), largest=False, niter=12, tol=0)[0], wanted, 1e-10)
    assert abs(torch.lobpcg(a, 2, X=start, largest=False, niter=12, tol=0)[0].numpy() - wanted).max() > 1e-6
    assert torch.lobpcg(a, 2, X=start, largest=False, niter=0)[0].shape == (2,)


def test_nothing_left_to_find():
    for a in (torch.eye(6), torch.zeros(6, 6)):
        near(torch.lobpcg(a, 2, niter=50, tol=0)[0], a.diagonal()[:2])


def test_derivatives():
    start = matrices(7, 2)

    def pairs(x):
        values, vectors = torch.lobpcg((x + x.mT) / 2, 2, X=start, tol=1e-13)
        return values, vectors * vectors                 # a vector's sign is free
    x = matrices(7, 7, seed=1).requires_grad_()
    assert gradcheck(pairs, (x,)) and gradgradcheck(pairs, (x,))


@pytest.mark.parametrize("call, error, message", [
    (lambda a: torch.lobpcg(a, 2), ValueError, "smaller than 3 x"),
    (lambda a: torch.lobpcg(a, 2, n=1), ValueError, "1 <= k <= n"),
    (lambda a: torch.lobpcg(a[:2]), RuntimeError, "square matrices"),
    (lambda a: torch.lobpcg(a.cfloat()), NotImplementedError, "complex"),
    (lambda a: torch.lobpcg(a, tracker=print), NotImplementedError, "tracker"),
    (lambda a: torch.lobpcg(a, B=a.clone().requires_grad_()), NotImplementedError, "derivative")])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call(torch.eye(5))
