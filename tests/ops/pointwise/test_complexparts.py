"""Complex numbers and their parts: views that share memory, numbers made of parts, angles, variances, and gradients of all."""
import numpy as np
import pytest

import numtorch as torch
from numtorch.autograd import gradcheck, gradgradcheck

X = np.array([[1 + 2j, 3 - 1j, 0.5j], [2, -1j, 1]])


def test_parts_are_views():
    x = torch.tensor(X)
    assert x.real.data_ptr() == x.data_ptr() and x.imag.data_ptr() == x.data_ptr() + 8
    x.real.zero_()
    x.imag[0] = 7
    np.testing.assert_array_equal(x.numpy(), [[7j, 7j, 7j], [0, -1j, 0]])
    x.real = torch.ones(3)
    assert x.real.tolist() == [[1, 1, 1], [1, 1, 1]] and x._version == 3
    pairs = torch.view_as_real(x.t())
    assert pairs.shape == (3, 2, 2) and torch.equal(torch.view_as_complex(pairs), x.t())
    assert torch.view_as_real(x[1:])._base is x and x[1:].imag._base is x


@pytest.mark.parametrize("call, message", [
    (lambda: torch.view_as_real(torch.ones(2)), "only supported for complex"),
    (lambda: torch.view_as_complex(torch.ones(3)), "last dimension of size 2"),
    (lambda: torch.view_as_complex(torch.ones(2, 2).t()), "last dimension with stride 1"),
    (lambda: torch.view_as_complex(torch.ones(2, 3)[:, :2]), "stride divisible by 2"),
    (lambda: torch.view_as_complex(torch.ones(5)[1:3]), "storage_offset divisible by 2"),
    (lambda: torch.view_as_complex(torch.ones(2, dtype=torch.int64)), "only supported for half, float and double"),
    (lambda: torch.imag(torch.ones(2)), "not implemented for tensors with non-complex dtypes"),
    (lambda: torch.complex(torch.ones(2), torch.ones(2, dtype=torch.float64)), "Expected object of scalar type Float"),
])
def test_what_has_no_such_view_is_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


def test_numbers_of_parts_and_of_angles():
    made = torch.complex(torch.tensor([1.0, 2.0]), torch.tensor([[1.0], [float("inf")]]))
    np.testing.assert_array_equal(made.numpy(), np.array([[1 + 1j, 2 + 1j], [complex(1, np.inf), complex(2, np.inf)]], np.complex64))
    x = torch.tensor(X)
    np.testing.assert_allclose(torch.polar(x.abs(), x.angle()).numpy(), X, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x.angle().numpy(), np.angle(X))
    np.testing.assert_allclose(torch.angle(torch.tensor([-2.0, 0.0, 3.0, float("nan")])).numpy(), [np.pi, 0, 0, np.nan], rtol=1e-6)
    np.testing.assert_array_equal(x.mH.numpy(), X.conj().T)


@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": 0, "keepdim": True}, {"correction": 0}, {"dim": (0, 1)}])
def test_variance(options):
    axis = options.get("dim")
    wanted = np.var(X, axis=axis, ddof=options.get("correction", 1), keepdims=options.get("keepdim", False))
    for dtype, tolerance in ((torch.complex128, 1e-12), (torch.complex64, 1e-6)):
        x = torch.tensor(X, dtype=dtype)
        assert x.var(**options).dtype is dtype.to_real()
        np.testing.assert_allclose(x.var(**options).numpy(), wanted, rtol=tolerance)
        np.testing.assert_allclose(x.std(**options).numpy(), np.sqrt(wanted), rtol=tolerance)
    assert torch.tensor(1 + 1j).var().isnan() and torch.tensor(1 + 1j).var(correction=0).item() == 0


@pytest.mark.parametrize("function", [
    lambda x: x.real, lambda x: x.imag * x.real, lambda x: torch.view_as_real(x) * 2, lambda x: x.angle(), lambda x: x.var(1),
    lambda x: torch.view_as_complex(torch.view_as_real(x) * 3).abs(), lambda x: torch.complex(x.real * 2, x.imag[:1]).abs(),
    lambda x: torch.polar(x.abs(), x.angle()).abs(), lambda x: x.std(),
])
def test_gradients(function):
    point = torch.tensor(X[:, :2] + 0.3, requires_grad=True)
    assert gradcheck(function, (point,)) and gradgradcheck(function, (point,))


def _set_real(x, y):
    x.real = y.real
    return x


def _written(x, part, write):
    """x after a write to a part of it, and the part, which stands behind the write too."""
    part = part(x)
    write(part)
    return torch.view_as_real(x).sum(-1) * x.imag + (part.sum() if not part.is_complex() else torch.view_as_real(part).sum())


WRITES = {
    "real": lambda x, y: _written(x, lambda x: x.real, lambda p: p.mul_(y.imag)),
    "imaginary": lambda x, y: _written(x, lambda x: x.imag[1:], lambda p: p.mul_(p).add_(y.real[0])),
    "an element": lambda x, y: _written(x, lambda x: x.t().real, lambda p: p[1].copy_(y.real[:, 1])),
    "pairs": lambda x, y: _written(x, torch.view_as_real, lambda p: p[:, 0].exp_()),
    "assigned": lambda x, y: _set_real(x, y).abs(),
    "both": lambda x, y: (x.real.mul_(2), x.imag.mul_(x.real), torch.view_as_real(x).sum(-1))[-1],
    "a part of a view": lambda x, y: (x[1].real.mul_(y[0].imag), x.mul_(y), x.real * x.imag)[-1],
    "views made before": lambda x, y: next((p.sum() * q.prod(), x.mul_(y)) and p * q for p, q in [(x.real, x.imag[0])]),
    "numbers of pairs": lambda x, y: next((torch.view_as_complex(r).mul_(y), r.square())[1] for r in [torch.view_as_real(x) * 3]),
    "their parts": lambda x, y: next((torch.view_as_complex(r)[1].imag.mul_(2), r.square())[1] for r in [torch.view_as_real(x) * 3]),
}


@pytest.mark.parametrize("name", WRITES)
def test_gradients_through_writes_to_parts(name):
    x, y = (torch.tensor(v, requires_grad=True) for v in (X[:, :2] + 0.3, X[:, 1:3] - 0.2))
    assert gradcheck(lambda x, y: WRITES[name](x.clone(), y), (x, y))
    assert gradgradcheck(lambda x, y: WRITES[name](x.clone(), y), (x, y))


def test_a_part_of_a_leaf_is_not_written():
    x = torch.tensor(X, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x.real.mul_(2)
    with torch.no_grad():
        x.real.mul_(2)
    z = torch.zeros(2, dtype=torch.complex128)
    scale = torch.ones(2, dtype=torch.float64, requires_grad=True)
    z.real = scale                                       # nothing of z was recorded before
    z.abs().sum().backward()
    assert scale.grad.tolist() == [1, 1]


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_division_by_zero_leaves_the_other_elements_alone(kind):
    """Numba's own complex division raises, which in a kernel ends it: all after the first 0 was whatever memory held."""
    x = torch.tensor([1 + 1j, 2, 3 - 1j, 4j] * 9, dtype=getattr(torch, kind))
    y = torch.tensor([0, 1j, 2, 0.5] * 9, dtype=x.dtype)
    whole = y != 0
    for quotient, wanted in ((x / y, x.numpy()[1:4] / y.numpy()[1:4]), (torch.reciprocal(y), 1 / y.numpy()[1:4])):
        assert np.allclose(quotient.numpy().reshape(9, 4)[:, 1:], wanted)
        assert np.isinf(quotient.numpy()[~whole.numpy()].real).all()
    assert np.allclose(torch.sgn(y).numpy(), np.tile([0, 1j, 1, 1], 9))
    y.requires_grad_()
    assert np.allclose(torch.autograd.grad(y.abs().sum(), y)[0].numpy(), np.tile([0, 1j, 1, 1], 9))


def test_complex_quotients_neither_overflow_nor_lose_digits():
    rng = np.random.default_rng(3)
    sizes = 10.0 ** rng.integers(-140, 140, (4, 3001))
    a, b = (u + 1j * v for u, v in zip(rng.standard_normal((2, 3001)) * sizes[:2], rng.standard_normal((2, 3001)) * sizes[2:]))
    assert (abs((torch.tensor(a) / torch.tensor(b)).numpy() / (a / b) - 1) < 1e-15).all()
