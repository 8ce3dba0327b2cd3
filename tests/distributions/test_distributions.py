"""Every distribution with parameters against PyTorch's: log_prob, entropy, cdf, icdf, moments, gradients, shapes, names, errors; divergences of
every registered pair; values against SciPy, which needs no PyTorch."""
import functools
import inspect
import math
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy import stats

import numtorch as torch
from numtorch import distributions as D
from numtorch.distributions.kl import _KL_REGISTRY

R = np.random.default_rng(5)
P = [0.1, 0.35, 0.8]                                      # probabilities
L = [-1.5, 0.2, 2.0]                                      # numbers of either sign
S = [0.4, 1.3, 2.6]                                       # positive ones
U = [0.15, 0.5, 0.9]                                      # inside the unit interval
K = [[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]]                    # probabilities of classes
SPD = [[2.0, 0.5, 0.1], [0.5, 1.5, -0.3], [0.1, -0.3, 1.0]]
TRIL = np.linalg.cholesky(np.array(SPD)).tolist()
CORR = [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.2, 0.3, math.sqrt(1 - 0.13)]]
W = [[0.3, 1.0], [-0.5, 0.2], [0.8, 0.4]]

# name: arguments (numbers in lists become tensors), values
TABLE = {
    "Bernoulli": ({"probs": P}, [0.0, 1.0, 1.0]),
    "Bernoulli logits": ({"logits": L}, [0.0, 1.0, 1.0]),
    "Beta": ({"concentration1": S, "concentration0": S[::-1]}, U),
    "Binomial": ({"total_count": 5, "probs": P}, [0.0, 3.0, 5.0]),
    "Binomial logits": ({"total_count": [5.0, 5.0, 5.0], "logits": L}, [0.0, 3.0, 5.0]),
    "Categorical": ({"probs": K}, [2, 0]),
    "Categorical logits": ({"logits": [L, S]}, [2, 0]),
    "Cauchy": ({"loc": L, "scale": S}, [0.3, -1.0, 2.0]),
    "Chi2": ({"df": S}, S),
    "ContinuousBernoulli": ({"probs": [0.1, 0.5, 0.8]}, U),
    "ContinuousBernoulli logits": ({"logits": L}, U),
    "Dirichlet": ({"concentration": [S, [3.0, 4.0, 5.0], [0.5, 0.5, 0.5]]}, [*K, [0.2, 0.2, 0.6]]),
    "Exponential": ({"rate": S}, S),
    "FisherSnedecor": ({"df1": S, "df2": [1.5, 3.0, 7.0]}, S),
    "Gamma": ({"concentration": S, "rate": S[::-1]}, S),
    "GeneralizedPareto": ({"loc": L, "scale": S, "concentration": [-0.3, 0.0, 0.4]}, [-1.2, 0.9, 3.0]),
    "Geometric": ({"probs": P}, [0.0, 2.0, 5.0]),
    "Geometric logits": ({"logits": L}, [0.0, 2.0, 5.0]),
    "Gumbel": ({"loc": L, "scale": S}, [0.3, -1.0, 2.0]),
    "HalfCauchy": ({"scale": S}, S),
    "HalfNormal": ({"scale": S}, S),
    "InverseGamma": ({"concentration": S, "rate": S[::-1]}, S),
    "Kumaraswamy": ({"concentration1": S, "concentration0": [1.2, 0.7, 3.0]}, U),
    "LKJCholesky": ({"dim": 3, "concentration": S}, CORR),
    "Laplace": ({"loc": L, "scale": S}, [0.3, -1.0, 2.0]),
    "LogNormal": ({"loc": L, "scale": S}, S),
    "LogisticNormal": ({"loc": [L, L], "scale": [S, S]}, [[0.2, 0.3, 0.1, 0.4], [0.25, 0.25, 0.25, 0.25]]),
    "LowRankMultivariateNormal": ({"loc": [L, S], "cov_factor": W, "cov_diag": S}, [S, L]),
    "Multinomial": ({"total_count": 4, "probs": K}, [[1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]),
    "Multinomial logits": ({"total_count": 4, "logits": [L, S]}, [[1.0, 1.0, 2.0], [0.0, 4.0, 0.0]]),
    "MultivariateNormal": ({"loc": [L, S], "covariance_matrix": SPD}, [S, L]),
    "MultivariateNormal precision": ({"loc": L, "precision_matrix": SPD}, [S, L]),
    "MultivariateNormal tril": ({"loc": L, "scale_tril": [TRIL, CORR]}, [S, L]),
    "NegativeBinomial": ({"total_count": S, "probs": P}, [0.0, 3.0, 5.0]),
    "NegativeBinomial logits": ({"total_count": 3.0, "logits": L}, [0.0, 3.0, 5.0]),
    "Normal": ({"loc": L, "scale": S}, [0.3, -1.0, 2.0]),
    "OneHotCategorical": ({"probs": K}, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "OneHotCategoricalStraightThrough": ({"logits": [L, S]}, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "Pareto": ({"scale": S, "alpha": [0.7, 1.5, 3.0]}, [0.5, 2.0, 4.0]),
    "Poisson": ({"rate": S}, [0.0, 3.0, 5.0]),
    "RelaxedBernoulli": ({"temperature": 0.7, "probs": P}, U),
    "RelaxedBernoulli logits": ({"temperature": 0.7, "logits": L}, U),
    "RelaxedOneHotCategorical": ({"temperature": 0.7, "probs": K}, K),
    "StudentT": ({"df": [0.8, 1.6, 5.0], "loc": L, "scale": S}, [0.3, -1.0, 2.0]),
    "Uniform": ({"low": [-1.0, 0.0, 2.0], "high": [1.0, 0.5, 5.0]}, [0.3, 0.1, 4.0]),
    "VonMises": ({"loc": L, "concentration": [0.4, 3.0, 20.0]}, [0.3, -1.0, 2.0]),
    "Weibull": ({"scale": S, "concentration": [1.5, 1.0, 3.0]}, S),
    "Wishart": ({"df": 4.5, "covariance_matrix": SPD}, [SPD, np.eye(3).tolist()]),
    "Wishart precision": ({"df": [4.5, 6.0], "precision_matrix": SPD}, SPD),
    "Wishart tril": ({"df": 4.5, "scale_tril": TRIL}, SPD),
}
WHOLE = {"temperature": 0.7}                              # a tensor without dimensions
PROPERTIES = ("mean", "variance", "stddev", "mode")
LAZY = ("probs", "logits", "covariance_matrix", "precision_matrix", "scale_tril", "df", "concentration0", "concentration", "rate",
        "loc", "scale", "temperature")


def tensor(library, value):
    kind = library.int64 if isinstance(np.ravel(value)[0], np.integer) else library.float64
    return library.tensor(value, dtype=kind)


def law(library, row, arguments=None, **options):
    given = {name: tensor(library, v) if isinstance(v, list) or name in WHOLE else v
             for name, v in TABLE[row][0].items()} if arguments is None else arguments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(library.distributions, row.split()[0])(**given, **options)


def leaves(library, row):
    """The floating-point arguments as tensors that want gradients."""
    return {name: tensor(library, v).requires_grad_() if isinstance(v, list) or name in WHOLE else v
            for name, v in TABLE[row][0].items()}


def outcome(compute):
    """Numbers, or that there are none."""
    try:
        found = compute()
    except NotImplementedError:
        return "not implemented"
    return found.detach().numpy() if hasattr(found, "detach") else found


def agree(mine, theirs, rtol=1e-10, what=""):
    if isinstance(theirs, str) or isinstance(mine, str):
        assert isinstance(mine, str) and isinstance(theirs, str), what
    else:
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, what
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol, err_msg=what)


def near(row):
    """PyTorch's Bessel functions are polynomials good to 1e-7."""
    return 1e-6 if row == "VonMises" else 1e-9


@pytest.fixture(scope="module")
def pytorch():
    library = pytest.importorskip("torch")
    before = library.get_default_dtype()
    library.set_default_dtype(library.float64)           # some of its formulas make tensors of the default dtype on the way
    yield library
    library.set_default_dtype(before)


@pytest.mark.parametrize("row", TABLE)
def test_values_and_moments_are_pytorchs(row, pytorch):
    mine, theirs = law(torch, row), law(pytorch, row)
    assert tuple(mine.batch_shape) == tuple(theirs.batch_shape) and tuple(mine.event_shape) == tuple(theirs.event_shape)
    assert mine.has_rsample == theirs.has_rsample and mine.has_enumerate_support == theirs.has_enumerate_support
    assert repr(mine.support) == repr(theirs.support) or "tensor" in repr(theirs.support)
    assert mine.support.event_dim == theirs.support.event_dim and mine.support.is_discrete == theirs.support.is_discrete
    assert {k: type(v).__name__ for k, v in mine.arg_constraints.items()} == {
        k: type(v).__name__ for k, v in theirs.arg_constraints.items()}
    for name in (*PROPERTIES, *[n for n in LAZY if n in dir(theirs)]):
        agree(*[outcome(functools.partial(getattr, of, name)) for of in (mine, theirs)], near(row), name)
    value = TABLE[row][1]
    agree(outcome(lambda: mine.log_prob(tensor(torch, value))), outcome(lambda: theirs.log_prob(tensor(pytorch, value))),
          near(row), "log_prob")
    agree(outcome(lambda: mine.cdf(tensor(torch, value))), outcome(lambda: theirs.cdf(tensor(pytorch, value))), 1e-9, "cdf")
    agree(outcome(lambda: mine.icdf(tensor(torch, U))), outcome(lambda: theirs.icdf(tensor(pytorch, U))), 1e-9, "icdf")
    agree(outcome(mine.entropy), outcome(theirs.entropy), 1e-9, "entropy")
    for expand in (False, True):
        agree(*[outcome(functools.partial(of.enumerate_support, expand)) for of in (mine, theirs)], 0, "support")


@pytest.mark.parametrize("row", TABLE)
def test_gradients_are_pytorchs(row, pytorch):
    found = []
    for library in (torch, pytorch):
        given = leaves(library, row)
        wanted = [t for t in given.values() if hasattr(t, "requires_grad")]
        of = law(library, row, given, validate_args=False)
        values = tensor(library, TABLE[row][1])
        total = of.log_prob(values).sum()
        for extra in (lambda of, at: of.entropy(), lambda of, at: of.variance, lambda of, at: of.cdf(at)):
            try:
                more = extra(of, values).sum()
                library.autograd.grad(more, wanted, retain_graph=True, allow_unused=True)
                total = total + more.nan_to_num(0, 0, 0)
            except (NotImplementedError, RuntimeError):
                pass                                     # no such formula, no parameter in it, or no slope of an incomplete gamma
        total.backward()
        found.append([np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in wanted])
    for mine, theirs in zip(*found):
        if row == "Wishart tril":                        # PyTorch's cholesky_solve has slopes where it reads nothing
            mine, theirs = np.tril(mine), np.tril(theirs)
        if row == "GeneralizedPareto":                   # nor has it one by a concentration of 0
            mine, theirs = mine[::2], theirs[::2]
        np.testing.assert_allclose(mine, theirs, rtol=near(row), atol=near(row))


@pytest.mark.parametrize("row", TABLE)
def test_expansions(row, pytorch):
    mine, theirs = law(torch, row), law(pytorch, row)
    shape = (2, *mine.batch_shape)
    wide, other = mine.expand(shape), theirs.expand(shape)
    assert type(wide) is type(mine) and tuple(wide.batch_shape) == shape and wide.event_shape == mine.event_shape
    agree(outcome(lambda: wide.mean), outcome(lambda: other.mean), near(row))
    if "Multinomial" not in row:                         # PyTorch's has none once it is expanded
        agree(outcome(wide.entropy), outcome(other.entropy), near(row))
    torch.manual_seed(0)
    drawn = wide.sample((3, 1))
    assert drawn.shape == (3, 1, *shape, *mine.event_shape) and not drawn.requires_grad
    values = tensor(torch, TABLE[row][1])
    assert torch.allclose(*torch.broadcast_tensors(wide.log_prob(values), mine.log_prob(values)))
    assert mine.support.check(drawn).all()
    assert wide.expand((4, *shape)).batch_shape == (4, *shape)


@pytest.mark.parametrize("row", [r for r in TABLE if " " not in r])
def test_signatures_and_names_are_pytorchs(row, pytorch):
    mine, theirs = (inspect.signature(getattr(x.distributions, row)) for x in (torch, pytorch))
    assert [(p.name, p.default) for p in mine.parameters.values()] == [(p.name, p.default) for p in theirs.parameters.values()]
    public = {n for n in dir(getattr(pytorch.distributions, row)) if n[0] != "_"} - {"base_dist"}
    assert not public - set(dir(getattr(D, row))) - {"concentration_reciprocal"}
    assert repr(law(torch, row)).replace(", dtype=torch.float64", "") == repr(law(pytorch, row)).replace(", dtype=torch.float64", "")
    assert repr(pickle.loads(pickle.dumps(law(torch, row)))) == repr(law(torch, row))


def test_all_names_are_pytorchs(pytorch):
    assert set(D.__all__) == set(pytorch.distributions.__all__) and set(D.__all__) <= set(dir(D))
    assert set(D.constraints.__all__) == set(pytorch.distributions.constraints.__all__)
    assert set(D.transforms.__all__) == set(pytorch.distributions.transforms.__all__)
    assert not set(pytorch.distributions.utils.__all__) - set(dir(D.utils))
    missing = {n for n in vars(pytorch.distributions.Distribution) if n[0] != "_"} - set(dir(D.Distribution))
    assert not missing


# ---------------------------------------------------------------- divergences
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


# ---------------------------------------------------------------- SciPy
SCIPY = {
    "Bernoulli": stats.bernoulli(P), "Beta": stats.beta(S, S[::-1]), "Binomial": stats.binom(5, P), "Cauchy": stats.cauchy(L, S),
    "Chi2": stats.chi2(S), "Exponential": stats.expon(scale=1 / np.array(S)), "FisherSnedecor": stats.f(S, [1.5, 3.0, 7.0]),
    "Gamma": stats.gamma(S, scale=1 / np.array(S[::-1])), "Geometric": stats.geom(P, loc=-1), "Gumbel": stats.gumbel_r(L, S),
    "GeneralizedPareto": stats.genpareto([-0.3, 0.0, 0.4], L, S),
    "HalfCauchy": stats.halfcauchy(scale=S), "HalfNormal": stats.halfnorm(scale=S), "InverseGamma": stats.invgamma(S, scale=S[::-1]),
    "Laplace": stats.laplace(L, S), "LogNormal": stats.lognorm(S, scale=np.exp(L)), "Normal": stats.norm(L, S),
    "NegativeBinomial": stats.nbinom(S, 1 - np.array(P)), "Pareto": stats.pareto([0.7, 1.5, 3.0], scale=S), "Poisson": stats.poisson(S),
    "StudentT": stats.t([0.8, 1.6, 5.0], L, S), "Uniform": stats.uniform([-1.0, 0.0, 2.0], [2.0, 0.5, 3.0]),
    "VonMises": stats.vonmises([0.4, 3.0, 20.0], L), "Weibull": stats.weibull_min([1.5, 1.0, 3.0], scale=S),
}
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


# ---------------------------------------------------------------- distributions made of others
def test_mixtures_are_pytorchs(pytorch):
    found = []
    for x in (torch, pytorch):
        d = x.distributions
        numbers = d.MixtureSameFamily(d.Categorical(tensor(x, K)), d.Normal(tensor(x, [L, S]), tensor(x, [S, S])))
        vectors = d.MixtureSameFamily(d.Categorical(tensor(x, K[0])), d.Independent(d.Normal(tensor(x, SPD), tensor(x, [[0.5], [1.0], [2.0]])), 1))
        shared = d.MixtureSameFamily(d.Categorical(tensor(x, K[0])), d.Poisson(tensor(x, [S, S[::-1]])))
        found.append([numbers.log_prob(tensor(x, [0.3, 1.0])), numbers.cdf(tensor(x, [0.3, 1.0])), numbers.mean, numbers.variance,
                      vectors.log_prob(tensor(x, [L, S])), vectors.mean, vectors.variance, shared.mean, shared.log_prob(tensor(x, [2.0, 3.0])),
                      numbers.expand((4, 2)).mean])
        assert tuple(vectors.event_shape) == (3,) and tuple(vectors.batch_shape) == () and tuple(shared.batch_shape) == (2,)
        assert vectors.sample((5,)).shape == (5, 3) and numbers.sample().shape == (2,)
        assert repr(numbers.support) == "MixtureSameFamilyConstraint(Real())"
        assert repr(vectors).replace(" ", "").startswith("MixtureSameFamily(\nCategorical(")
    for mine, theirs in zip(*found):
        agree(mine.numpy(), theirs.numpy())
    assert D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Poisson(torch.ones(2, 3))).sample((5, 6)).shape == (5, 6, 2)
    drawn = D.MixtureSameFamily(D.Categorical(torch.tensor([0.25, 0.75])), D.Normal(torch.tensor([-5.0, 5.0]), 0.1)).sample((4000,))
    assert (drawn > 0).float().mean().item() == pytest.approx(0.75, abs=0.03)
    for wrong, message in ((lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(torch.zeros(2), 1.0)), "Mixture distribution"),
                           (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), 5), "Component distribution"),
                           (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(3), 1.0)), "does not equal"),
                           (lambda: D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), D.Normal(torch.zeros(4, 2), 1.0)), "not compatible")):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_independent_and_transformed_are_pytorchs(pytorch):
    found = []
    for x in (torch, pytorch):
        d = x.distributions
        rows = d.Independent(d.Normal(tensor(x, [L, S]), tensor(x, S)), 1)
        affine = d.AffineTransform(tensor(x, L), tensor(x, [-0.5, 2.0, -3.0]))
        falling = d.TransformedDistribution(d.Normal(tensor(x, L), tensor(x, S)), [affine, d.SigmoidTransform()])
        simplex = d.TransformedDistribution(rows, d.StickBreakingTransform())
        square = d.TransformedDistribution(d.Normal(tensor(x, [0.0] * 4), 1.0), d.ReshapeTransform((4,), (2, 2)))
        wide = d.TransformedDistribution(d.Normal(tensor(x, [0.0]), 1.0), d.AffineTransform(tensor(x, L), tensor(x, S)))
        found.append([rows.log_prob(tensor(x, S)), rows.entropy(), rows.mean, rows.variance, rows.stddev, rows.expand((4, 2)).log_prob(tensor(x, S)),
                      falling.log_prob(tensor(x, U)), falling.cdf(tensor(x, U)), falling.icdf(tensor(x, U)),
                      simplex.log_prob(tensor(x, [0.2, 0.3, 0.1, 0.4])), simplex.expand((5, 2)).log_prob(tensor(x, [0.2, 0.3, 0.1, 0.4])),
                      square.log_prob(tensor(x, [[1.0, 2.0], [0.5, 0.1]])), wide.log_prob(tensor(x, L))])
        assert repr(rows) == "Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1)"
        assert tuple(simplex.event_shape) == (4,) and tuple(square.event_shape) == (2, 2) and tuple(wide.batch_shape) == (3,)
        assert repr(simplex.support) == "Simplex()" and repr(wide.support) == "Real()" and rows.support.event_dim == 1
        with pytest.raises(ValueError, match="reinterpreted_batch_ndims"):
            d.Independent(d.Normal(0.0, 1.0), 1)
        with pytest.raises(NotImplementedError, match="cartesian"):
            d.Independent(d.Bernoulli(tensor(x, P)), 1).enumerate_support()
        for wrong in (5, [5], None):
            with pytest.raises(ValueError, match="transforms must be a Transform"):
                d.TransformedDistribution(d.Normal(0.0, 1.0), wrong)
        with pytest.raises(ValueError, match="at least 1"):
            d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform())
    for mine, theirs in zip(*found):
        agree(mine.numpy(), theirs.numpy())


# ---------------------------------------------------------------- errors
WRONG = [
    (lambda d, x: d.Normal(x.zeros(2), x.tensor([1.0, -1.0])), ValueError),
    (lambda d, x: d.Normal(x.tensor([math.nan]), 1.0), ValueError),
    (lambda d, x: d.Normal("0", 1.0), ValueError),
    (lambda d, x: d.Normal(0.0, 1.0).log_prob(x.tensor(math.nan)), ValueError),
    (lambda d, x: d.Normal(0.0, 1.0).log_prob(0.0), ValueError),
    (lambda d, x: d.Normal(x.zeros(3), 1.0).log_prob(x.zeros(2)), ValueError),
    (lambda d, x: d.Bernoulli(), ValueError),
    (lambda d, x: d.Bernoulli(0.5, 0.5), ValueError),
    (lambda d, x: d.Bernoulli(x.tensor([1.5])), ValueError),
    (lambda d, x: d.Bernoulli(x.tensor([0.5])).log_prob(x.tensor([0.5])), ValueError),
    (lambda d, x: d.Categorical(x.tensor(0.5)), ValueError),
    (lambda d, x: d.Categorical(x.tensor([-0.5, 1.0])), ValueError),
    (lambda d, x: d.Categorical(x.ones(2)).log_prob(x.tensor(2)), ValueError),
    (lambda d, x: d.Uniform(x.tensor([1.0]), 0.0), ValueError),
    (lambda d, x: d.Uniform(0.0, 1.0).log_prob(x.tensor(1.5)), ValueError),
    (lambda d, x: d.Geometric(x.tensor([0.0])), ValueError),
    (lambda d, x: d.Dirichlet(x.tensor(1.0)), ValueError),
    (lambda d, x: d.Dirichlet(x.ones(2)).log_prob(x.ones(3)), ValueError),
    (lambda d, x: d.Multinomial(x.tensor([1, 2]), x.ones(2)), NotImplementedError),
    (lambda d, x: d.Binomial(x.tensor([1.0, 2.0]), x.tensor(0.5)).entropy(), NotImplementedError),
    (lambda d, x: d.MultivariateNormal(x.zeros(2)), ValueError),
    (lambda d, x: d.MultivariateNormal(x.tensor(0.0), x.eye(2)), ValueError),
    (lambda d, x: d.MultivariateNormal(x.zeros(2), x.ones(2)), ValueError),
    (lambda d, x: d.MultivariateNormal(x.zeros(2), -x.eye(2)), ValueError),
    (lambda d, x: d.MultivariateNormal(x.zeros(2), scale_tril=x.ones(2, 2)), ValueError),
    (lambda d, x: d.LowRankMultivariateNormal(x.zeros(2), x.ones(3, 1), x.ones(2)), ValueError),
    (lambda d, x: d.LowRankMultivariateNormal(x.zeros(2), x.ones(2, 1), x.ones(3)), ValueError),
    (lambda d, x: d.LowRankMultivariateNormal(x.zeros(3, 2), x.ones(4, 2, 1), x.ones(2)), ValueError),
    (lambda d, x: d.Wishart(x.tensor(3.0)), AssertionError),
    (lambda d, x: d.Wishart(x.tensor(0.5), x.eye(2)), ValueError),
    (lambda d, x: d.LKJCholesky(1), ValueError),
    (lambda d, x: d.VonMises(x.tensor(0.0), x.tensor(-1.0)), ValueError),
    (lambda d, x: d.VonMises(x.tensor(0.0), x.tensor(1.0)).cdf(x.tensor(0.0)), NotImplementedError),
    (lambda d, x: d.Poisson(x.tensor(1.0)).rsample(), NotImplementedError),
    (lambda d, x: d.Distribution.set_default_validate_args(None), ValueError),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_errors_are_pytorchs(number, pytorch):
    attempt, error = WRONG[number]
    told = []
    for library in (torch, pytorch):
        with pytest.raises(error) as caught:
            attempt(library.distributions, library)
        told.append(str(caught.value).replace("numtorch", "torch"))
    assert told[0].split("\n")[0] == told[1].split("\n")[0]


def test_checks_can_be_left_out():
    assert D.Normal(0.0, -1.0, validate_args=False).log_prob(torch.tensor(0.0)).isnan()
    try:
        D.Distribution.set_default_validate_args(False)
        D.Normal(0.0, -1.0)
        with pytest.raises(ValueError):
            D.Normal(0.0, -1.0, validate_args=True)
    finally:
        D.Distribution.set_default_validate_args(True)
    assert not D.Normal(0.0, -1.0, validate_args=False).expand((2,))._validate_args


def test_distributions_of_users():
    """A subclass says as little as in PyTorch."""
    class Triangle(D.Distribution):
        arg_constraints = {"width": D.constraints.positive}
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width, = D.utils.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        @D.constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return D.constraints.interval(0, self.width)

        def rsample(self, sample_shape=()):
            return self.width * torch.rand(self._extended_shape(sample_shape)).sqrt()

    class Named(D.Normal):
        def __init__(self, name):
            super().__init__(0.0, 1.0)

    of = Triangle(torch.tensor([1.0, 2.0]))
    assert of.sample((4,)).shape == (4, 2) and repr(of) == "Triangle(width: torch.Size([2]))"
    assert D.constraints.is_dependent(Triangle.support) and of.support.event_dim == 0
    for missing in (lambda: of.mean, lambda: of.mode, lambda: of.expand((3, 2)), lambda: of.entropy(), lambda: of.log_prob(torch.zeros(2))):
        with pytest.raises(NotImplementedError):
            missing()
    with pytest.raises(ValueError, match="Expected parameter width"):
        Triangle(-1.0)
    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand"):
        Named("x").expand((2,))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        D.Distribution()
    with pytest.warns(FutureWarning, match="sample_n"):
        assert of.sample_n(3).shape == (3, 2)
    assert D.Categorical(torch.ones(4)).perplexity().item() == pytest.approx(4)


def test_loaded_on_first_use():
    code = "import sys, numtorch; assert 'numtorch.distributions' not in sys.modules; numtorch.distributions.Normal"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
