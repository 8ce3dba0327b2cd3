"""Divergences of every registered pair against PyTorch's, at the edges, and those that users register."""
import math

import pytest
from distributionrows import CORR, TRIL, K, L, P, S, W, agree, tensor

import numtorch as torch
from numtorch import distributions as D
from numtorch.distributions.kl import _KL_REGISTRY

MADE = {
    "Independent": lambda x, shift: x.distributions.Independent(PAIRED["Normal"](x, shift), 1),
    "TransformedDistribution": lambda x, shift: x.distributions.TransformedDistribution(
        PAIRED["Normal"](x, shift), [x.distributions.ExpTransform()]),
    "HalfNormal": lambda x, shift: x.distributions.HalfNormal(tensor(x, S) + shift),
    "ExponentialFamily": lambda x, shift: x.distributions.Exponential(tensor(x, S) + shift),
}


def _paired(name, **arguments):
    """A distribution whose parameters move with a shift."""
    return lambda x, shift: getattr(x.distributions, name)(
        **{k: v(x, shift) if callable(v) else tensor(x, v) if isinstance(v, list) else v for k, v in arguments.items()})


def moved(values, by=1.0):
    return lambda x, shift: tensor(x, values) + by * shift


PAIRED = {
    "Bernoulli": _paired("Bernoulli", probs=moved(P, 0.1)), "Beta": _paired("Beta", concentration1=moved(S), concentration0=S[::-1]),
    "Binomial": _paired("Binomial", total_count=[5.0, 5.0, 5.0], probs=moved(P, 0.1)),
    "Categorical": _paired("Categorical", probs=moved(K, 0.3)), "Cauchy": _paired("Cauchy", loc=moved(L), scale=S),
    "ContinuousBernoulli": _paired("ContinuousBernoulli", probs=moved(P, 0.1)),
    "Dirichlet": _paired("Dirichlet", concentration=moved([S, S[::-1]], 0.7)), "Exponential": _paired("Exponential", rate=moved(S)),
    "Gamma": _paired("Gamma", concentration=moved(S), rate=S[::-1]), "Geometric": _paired("Geometric", probs=moved(P, 0.1)),
    "Gumbel": _paired("Gumbel", loc=moved(L), scale=moved(S)), "Laplace": _paired("Laplace", loc=moved(L), scale=moved(S)),
    "LowRankMultivariateNormal": _paired("LowRankMultivariateNormal", loc=moved(L), cov_factor=moved(W), cov_diag=S),
    "MultivariateNormal": _paired("MultivariateNormal", loc=moved(L), scale_tril=[TRIL, CORR]),
    "Normal": _paired("Normal", loc=moved(L), scale=moved(S)), "OneHotCategorical": _paired("OneHotCategorical", probs=moved(K, 0.3)),
    "Pareto": _paired("Pareto", scale=moved(S, -0.2), alpha=moved([0.7, 1.5, 3.0])), "Poisson": _paired("Poisson", rate=moved(S)),
    "Uniform": _paired("Uniform", low=moved([-1.0, 0.1, 0.5], -0.05), high=moved([1.0, 0.5, 0.9], 0.2)), **MADE,
}


@pytest.mark.parametrize("pair", sorted((p.__name__, q.__name__) for p, q in _KL_REGISTRY), ids="-".join)
def test_divergences_are_pytorchs(pair, pytorch):
    p, q = pair
    found = []
    for library in (torch, pytorch):
        first, second = PAIRED[p](library, 0.0), PAIRED[q](library, 0.5)
        found.append(library.distributions.kl_divergence(first, second).numpy())
    agree(*found)
    assert (found[0] >= -1e-12).all()


def test_every_pair_is_registered(pytorch):
    from torch.distributions.kl import _KL_REGISTRY as theirs
    ours = [(p, q) for p, q in _KL_REGISTRY if getattr(D, p.__name__, None) is p and getattr(D, q.__name__, None) is q]   # no example's
    assert {(p.__name__, q.__name__) for p, q in ours} == {(p.__name__, q.__name__) for p, q in theirs}


def test_divergences_at_the_edges():
    """Where p has what q has not, the divergence is infinite; what p has not either costs nothing."""
    half = torch.tensor([0.0, 0.5, 1.0])
    found = D.kl_divergence(D.Bernoulli(half), D.Bernoulli(torch.tensor([0.0, 0.0, 1.0]))).tolist()
    assert found == [0.0, math.inf, 0.0]
    point, other = D.Categorical(torch.tensor([1.0, 0.0])), D.Categorical(torch.tensor([0.5, 0.5]))
    assert D.kl_divergence(other, point).item() == math.inf
    assert D.kl_divergence(point, other).item() == pytest.approx(math.log(2), rel=1e-5)
    assert D.kl_divergence(D.Uniform(torch.tensor(0.0), 2.0), D.Uniform(0.0, 1.0)).item() == math.inf
    assert D.kl_divergence(D.Pareto(torch.tensor(1.0), 3.0), D.Pareto(2.0, 3.0)).item() == math.inf
    with pytest.raises(NotImplementedError, match=r"p type VonMises and q type Normal"):
        D.kl_divergence(D.VonMises(0.0, 1.0), D.Normal(0.0, 1.0))
    with pytest.raises(NotImplementedError, match="total_count"):
        D.kl_divergence(D.Binomial(3, torch.tensor(0.5)), D.Binomial(4, torch.tensor(0.5)))
    with pytest.raises(NotImplementedError):
        D.kl_divergence(D.LogNormal(0.0, 1.0), D.TransformedDistribution(D.Normal(0.0, 1.0), D.SigmoidTransform()))


def test_registered_divergences_are_looked_up_by_the_nearest_classes():
    class Own(D.Normal):
        pass

    class Further(Own):
        pass
    plain = D.Normal(torch.tensor(0.0), 1.0)
    try:
        D.register_kl(Own, D.Normal)(lambda p, q: torch.tensor(1.0))
        assert D.kl_divergence(Own(0.0, 1.0), plain) == D.kl_divergence(Further(0.0, 1.0), plain) == 1
        assert D.kl_divergence(plain, Own(0.0, 1.0)) == 0
        D.register_kl(D.Normal, Own)(lambda p, q: torch.tensor(2.0))
        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Own, Own\). Please register_kl\(Own, Own\)"):
            assert D.kl_divergence(Own(0.0, 1.0), Own(0.0, 1.0)) == 1
        D.register_kl(Own, Own)(lambda p, q: torch.tensor(3.0))
        assert D.kl_divergence(Own(0.0, 1.0), Further(0.0, 1.0)) == 3
    finally:
        for pair in [k for k in _KL_REGISTRY if {Own, Further} & set(k)]:
            del _KL_REGISTRY[pair]
    with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass"):
        D.register_kl(D.Normal, int)
