"""The orthogonal polynomials of torch.special against SciPy, with gradients of any order."""
import numpy as np
import pytest
import scipy.special as scipy

import numtorch as torch
from numtorch import special
from numtorch.autograd import gradcheck, gradgradcheck

REFERENCES = {
    "chebyshev_polynomial_t": scipy.eval_chebyt, "chebyshev_polynomial_u": scipy.eval_chebyu,
    "chebyshev_polynomial_v": lambda n, x: scipy.eval_chebyu(n, x) - (scipy.eval_chebyu(n - 1, x) if n > 0 else 0),
    "chebyshev_polynomial_w": lambda n, x: scipy.eval_chebyu(n, x) + (scipy.eval_chebyu(n - 1, x) if n > 0 else 0),
    "hermite_polynomial_h": scipy.eval_hermite, "hermite_polynomial_he": scipy.eval_hermitenorm,
    "laguerre_polynomial_l": scipy.eval_laguerre, "legendre_polynomial_p": scipy.eval_legendre,
    "shifted_chebyshev_polynomial_t": scipy.eval_sh_chebyt, "shifted_chebyshev_polynomial_u": scipy.eval_sh_chebyu,
}
POINTS = np.linspace(-1.4, 1.4, 29)


@pytest.mark.parametrize("name", REFERENCES)
def test_values(name):
    """For degrees as numbers and as a tensor; 0 for negative ones."""
    function, reference = getattr(torch.special, name), REFERENCES[name]
    x = torch.tensor(POINTS)
    for n in (0, 1, 2, 7, 20):
        expected = reference(n, POINTS)
        np.testing.assert_allclose(function(x, n).numpy(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    degrees = np.arange(29) % 5
    np.testing.assert_allclose(function(x, torch.tensor(degrees)).numpy(), [reference(int(n), v) for n, v in zip(degrees, POINTS)], rtol=1e-9, atol=1e-9)
    assert function(x, -1).tolist() == [0.0] * 29


@pytest.mark.parametrize("name", REFERENCES)
def test_gradients(name):
    x = torch.tensor([-0.9, -0.2, 0.3, 1.0], dtype=torch.float64, requires_grad=True)
    degrees = torch.tensor([0, 1, 5, 4])
    assert gradcheck(lambda x: getattr(torch.special, name)(x, degrees), (x,), fast_mode=True)
    assert gradgradcheck(lambda x: getattr(torch.special, name)(x, degrees), (x,), fast_mode=True)


def test_the_second_kind_is_exact_at_the_ends():
    """U of n is n + 1 at 1, up to sign at -1, whatever rounding there may be in between."""
    degrees = torch.tensor([1.0, 10.0, 1000.0, 100000.0])
    assert special.chebyshev_polynomial_u(torch.ones(4), degrees).tolist() == [2, 11, 1001, 100001]
    assert special.chebyshev_polynomial_v(torch.ones(4), degrees).tolist() == [1] * 4
    assert special.chebyshev_polynomial_w(-torch.ones(4), degrees).tolist() == [-1, 1, 1, 1]


@pytest.mark.parametrize("name", REFERENCES)
def test_degrees_without_end(name):
    """What would count for hours, or in float32 forever, is NaN."""
    degrees = torch.tensor([2.0 ** 20, 1e12, float("inf"), float("nan")])
    assert getattr(special, name)(torch.full((4,), 0.3), degrees).isnan().all()
    assert getattr(special, name)(torch.tensor(float("inf")), 999_999.0).isfinite().item() is False
