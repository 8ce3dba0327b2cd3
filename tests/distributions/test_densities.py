"""Densities, moments and entropies against SciPy, integration and Bregman divergences, none of which needs PyTorch."""
import numpy as np
import pytest
from distributionrows import SCIPY, SPD, TABLE, K, L, S, U, W, law, outcome, tensor
from scipy import stats

import numtorch as torch
from numtorch import distributions as D

R = np.random.default_rng(5)
UNLIKE = {("VonMises", "variance"), ("VonMises", "mean")}          # SciPy's are those of numbers, not of angles


@pytest.mark.parametrize("row", SCIPY)
def test_values_are_scipys(row):
    mine, other, value = law(torch, row), SCIPY[row], np.array(TABLE[row][1])
    density = other.logpdf if hasattr(other.dist, "logpdf") else other.logpmf
    np.testing.assert_allclose(mine.log_prob(torch.tensor(value)).numpy(), density(value), rtol=1e-9)
    for name, theirs in (("mean", other.mean()), ("variance", other.var())):
        if (row, name) not in UNLIKE:
            have = getattr(mine, name).numpy()
            known = np.isfinite(have) & np.isfinite(theirs)
            np.testing.assert_allclose(have[known], np.asarray(theirs)[known], rtol=1e-9, err_msg=name)
    for compute, theirs in ((lambda: mine.cdf(torch.tensor(value)), other.cdf(value)), (lambda: mine.icdf(tensor(torch, U)), other.ppf(U)),
                            (mine.entropy, other.entropy())):
        have = outcome(compute)
        if not isinstance(have, str):
            np.testing.assert_allclose(have, theirs, rtol=1e-7)


# What SciPy has not: an element's law on an interval, of (the distribution, what makes an event of the element).
def pairs(x):
    return torch.stack((x, 1 - x), -1)


def correlations(x):
    return torch.stack((torch.stack((torch.ones_like(x), torch.zeros_like(x)), -1), torch.stack((x, (1 - x * x).sqrt()), -1)), -2)


def number(x):
    return torch.tensor(x, dtype=torch.float64)


INTEGRATED = {
    "ContinuousBernoulli": (lambda: D.ContinuousBernoulli(number(0.3)), 0, None), "Kumaraswamy": (lambda: D.Kumaraswamy(number(1.7), number(2.2)), 0, None),
    "RelaxedBernoulli": (lambda: D.RelaxedBernoulli(number(0.7), number(0.35)), 0, None), "LogisticNormal": (lambda: D.LogisticNormal(number([0.3]), number([0.8])), 0, pairs),
    "RelaxedOneHotCategorical": (lambda: D.RelaxedOneHotCategorical(number(0.7), number([0.4, 0.6])), 0, pairs), "LKJCholesky": (lambda: D.LKJCholesky(2, number(1.8)), -1, correlations),
}
VECTORS = {"Categorical", "Dirichlet", "LowRankMultivariateNormal", "Multinomial", "MultivariateNormal", "OneHotCategorical",
           "OneHotCategoricalStraightThrough", "Wishart"}


def test_every_distribution_is_compared_with_scipy_or_integrated():
    assert {row.split()[0] for row in TABLE} == {*SCIPY, *INTEGRATED, *VECTORS}


@pytest.mark.parametrize("name", INTEGRATED)
def test_densities_that_scipy_has_not_are_integrated(name):
    """The whole is 1, the mean, the variance and the entropy are integrals of the density, and so is the distribution function."""
    make, low, event = INTEGRATED[name]
    of = make()
    share = 1 / (1 + np.exp(-np.linspace(-30, 30, 60_001)))                # close together at both ends
    x = low + (1 - low) * share
    logs = of.log_prob(torch.tensor(x) if event is None else event(torch.tensor(x)).double()).numpy()
    inside = np.isfinite(logs)
    x, density, logs = x[inside], np.exp(logs[inside]), logs[inside]
    integral = lambda f: np.trapezoid(f * density, x)
    assert integral(1) == pytest.approx(1, abs=1e-5)
    if event is None:
        first, second = outcome(lambda: of.mean), outcome(lambda: of.variance)
        if not isinstance(first, str):
            assert first == pytest.approx(integral(x), abs=1e-5) and second == pytest.approx(integral(x * x) - integral(x)**2, abs=1e-5)
        found = outcome(lambda: of.cdf(number(0.4)))
        if not isinstance(found, str):
            below = x < 0.4
            assert found == pytest.approx(np.trapezoid(density[below], x[below]), abs=1e-3)
    entropy = outcome(of.entropy)
    if not isinstance(entropy, str):
        assert entropy == pytest.approx(-integral(logs), abs=1e-4)


@pytest.mark.parametrize("name", ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough"])
def test_classes_are_scipys(name):
    of = getattr(D, name)(tensor(torch, K))
    for row, probs in enumerate(K):
        other = stats.multinomial(1, probs)
        for k, event in enumerate(np.eye(3)):
            value = torch.tensor(event if "Hot" in name else float(k))
            assert of.log_prob(value)[row].item() == pytest.approx(other.logpmf(event))
        assert of.entropy()[row].item() == pytest.approx(other.entropy())


def test_vectors_and_matrices_are_scipys():
    value = R.normal(size=(4, 3))
    mine = D.MultivariateNormal(tensor(torch, L), tensor(torch, SPD))
    other = stats.multivariate_normal(L, SPD)
    np.testing.assert_allclose(mine.log_prob(torch.tensor(value)).numpy(), other.logpdf(value))
    np.testing.assert_allclose(mine.entropy().item(), other.entropy())
    narrow = D.LowRankMultivariateNormal(tensor(torch, L), tensor(torch, W), tensor(torch, S))
    other = stats.multivariate_normal(L, np.array(W) @ np.array(W).T + np.diag(S))
    np.testing.assert_allclose(narrow.log_prob(torch.tensor(value)).numpy(), other.logpdf(value))
    for known in (mine, narrow):
        np.testing.assert_allclose((known.covariance_matrix @ known.precision_matrix).numpy(), np.eye(3), atol=1e-12)
        np.testing.assert_allclose((known.scale_tril @ known.scale_tril.mT).numpy(), known.covariance_matrix.numpy(), atol=1e-12)
    other = stats.wishart(4.5, SPD)
    mine = D.Wishart(4.5, tensor(torch, SPD))
    np.testing.assert_allclose(mine.log_prob(torch.eye(3, dtype=torch.float64)).item(), other.logpdf(np.eye(3)))
    np.testing.assert_allclose(mine.entropy().item(), other.entropy())
    np.testing.assert_allclose(mine.variance.numpy(), other.var())
    other = stats.dirichlet(S)
    mine = D.Dirichlet(tensor(torch, S))
    np.testing.assert_allclose(mine.log_prob(tensor(torch, K[0])).item(), other.logpdf(K[0]))
    np.testing.assert_allclose(mine.entropy().item(), other.entropy())
    other, mine = stats.multinomial(4, K[0]), D.Multinomial(4, tensor(torch, K[0]))
    np.testing.assert_allclose(mine.log_prob(tensor(torch, [1.0, 1.0, 2.0])).item(), other.logpmf([1, 1, 2]))
    np.testing.assert_allclose(mine.entropy().item(), other.entropy())


@pytest.mark.parametrize("row", ["Bernoulli", "Beta", "ContinuousBernoulli", "Dirichlet", "Exponential", "Gamma", "Normal", "Wishart"])
def test_entropies_by_bregman_divergence(row):
    """The formula for all exponential families gives what the shorter ones give."""
    of = law(torch, row)
    type(of)._mean_carrier_measure, before = 0, vars(type(of)).get("_mean_carrier_measure")
    try:
        found = D.ExponentialFamily.entropy(of)
    finally:
        if before is None:
            del type(of)._mean_carrier_measure
    wanted = of.entropy()
    if row in ("Beta", "Dirichlet"):                     # their carrier measure is 1 / x: its mean logarithm is added
        a = of._natural_params
        total = sum(a) if row == "Beta" else a[0].sum(-1)
        logs = sum(x.digamma() - total.digamma() for x in a) if row == "Beta" else (a[0].digamma() - total.digamma().unsqueeze(-1)).sum(-1)
        found = found + logs
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-9)
