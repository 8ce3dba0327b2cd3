"""Bessel functions beside mpmath: accuracy over the pieces they are made of, and at the ends."""
import math

import numpy as np
import pytest

import numtorch as torch
from numtorch import special

mpmath = pytest.importorskip("mpmath")

INF, NAN = math.inf, math.nan
ENDS = [-1.0, 0.0, INF, -INF, NAN]

# name: the function in mpmath, how many ulps it may err, and what it is at the ends. What oscillates errs by ulps of its amplitude.
FUNCTIONS = {
    "bessel_j0": (lambda x: mpmath.besselj(0, x), 4, [0.7651976865579666, 1, 0, 0, NAN]),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), 4, [-0.44005058574493355, 0, 0, 0, NAN]),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), 4, [NAN, -INF, 0, NAN, NAN]),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), 4, [NAN, -INF, 0, NAN, NAN]),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), 8, [NAN, INF, 0, NAN, NAN]),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), 8, [NAN, INF, 0, NAN, NAN]),
    "scaled_modified_bessel_k0": (lambda x: mpmath.exp(x) * mpmath.besselk(0, x), 8, [NAN, INF, 0, NAN, NAN]),
    "scaled_modified_bessel_k1": (lambda x: mpmath.exp(x) * mpmath.besselk(1, x), 8, [NAN, INF, 0, NAN, NAN]),
    "spherical_bessel_j0": (mpmath.sinc, 2, [0.8414709848078965, 1, 0, 0, NAN]),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name, dtype):
    reference, ulps, _ = FUNCTIONS[name]
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(low, high, 20) for low, high in ((1e-6, 1), (1, 2), (2, 5), (5, 12), (12, 80))]).astype(dtype)
    found = getattr(special, name)(torch.from_numpy(x)).numpy()
    with mpmath.workdps(30):
        for at, value in zip(x.tolist(), found.tolist()):
            exact = reference(mpmath.mpf(at))
            amplitude = min(1, math.sqrt(2 / math.pi / at)) if name[:6] == "bessel" else 1 / at if name[:3] == "sph" else 0
            assert abs(value - exact) <= ulps * float(np.finfo(dtype).eps) * max(abs(exact), amplitude), at


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends(name):
    found = getattr(special, name)(torch.tensor(ENDS, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found, FUNCTIONS[name][2], rtol=1e-14, atol=0)


def test_odd_and_even():
    x = torch.linspace(0.1, 30, 50, dtype=torch.float64)
    assert torch.equal(special.bessel_j0(-x), special.bessel_j0(x)) and torch.equal(special.bessel_j1(-x), -special.bessel_j1(x))


def test_slope_of_the_spherical_function_near_zero():
    """Where (cos(x) - sin(x) / x) / x would lose its digits."""
    x = torch.tensor([0.0, 1e-4, 0.1, 0.69, 0.71], dtype=torch.float64, requires_grad=True)
    special.spherical_bessel_j0(x).sum().backward()
    with mpmath.workdps(40):
        exact = [0.0] + [float((mpmath.cos(t) - mpmath.sinc(t)) / t) for t in map(mpmath.mpf, x.tolist()[1:])]
    np.testing.assert_allclose(x.grad.numpy(), exact, rtol=4e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_airy(dtype):
    """On the left within ulps of the amplitude times the phase, on the right of the value times the exponent."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(low, high, 20) for low, high in ((-40, -2.09), (-2.09, 2.09), (2.09, 9), (9, 12))]).astype(dtype)
    with mpmath.workdps(30):
        for at, value in zip(x.tolist(), special.airy_ai(torch.from_numpy(x)).tolist()):
            exact, zeta = float(mpmath.airyai(at)), 2 / 3 * abs(at) ** 1.5
            amplitude = abs(exact) if at > 0 else max(abs(exact), 0.5642 / max(abs(at), 1) ** 0.25)
            assert abs(value - exact) <= (8 + 2 * zeta) * (16 if abs(at) < 2.09 else 1) * float(np.finfo(dtype).eps) * amplitude, at
    ends = special.airy_ai(torch.tensor([0.0, 104.0, INF, -INF, NAN], dtype=torch.float64)).tolist()
    assert ends[:2] == [pytest.approx(0.3550280538878172), 0] and all(math.isnan(v) for v in ends[2:])
