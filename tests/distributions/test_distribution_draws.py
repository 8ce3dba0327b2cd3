"""Samples of every distribution follow its law (Kolmogorov and Smirnov's test, chi-square, moments), with fixed seeds; and move with its
parameters as their gradients say."""
import math

import numpy as np
import pytest
from distributionrows import SCIPY, SPD, TABLE, L, P, S, W, law, leaves, tensor
from scipy import stats

import numtorch as torch
from numtorch import distributions as D
from numtorch.ops.random.distributions import von_mises

N = 20_000
CONTINUOUS = [row for row in SCIPY if hasattr(SCIPY[row].dist, "logpdf") and row != "VonMises"]
COUNTS = [row for row in SCIPY if row not in CONTINUOUS and row != "VonMises"]


@pytest.mark.parametrize("row", CONTINUOUS)
def test_numbers_follow_their_law(row):
    torch.manual_seed(1)
    drawn = law(torch, row).sample((N,)).numpy()
    for column, shares in enumerate(SCIPY[row].cdf(drawn).T):
        assert stats.kstest(shares, "uniform").pvalue > 1e-3, column


@pytest.mark.parametrize("row", COUNTS)
def test_counts_follow_their_law(row):
    torch.manual_seed(2)
    drawn = law(torch, row).sample((N,)).numpy()
    values = np.arange(400)[:, None]
    expected = SCIPY[row].pmf(values) * N
    for column in range(drawn.shape[1]):
        seen = np.bincount(drawn[:, column].astype(int), minlength=400)[:400]
        common = expected[:, column] > 5
        pairs = [np.append(x[common], N - x[common].sum()) for x in (seen, expected[:, column])]
        if pairs[1][-1] < 5:
            pairs = [np.append(x[:-2], x[-2] + x[-1]) for x in pairs]
        assert stats.chisquare(pairs[0], pairs[1] * pairs[0].sum() / pairs[1].sum()).pvalue > 1e-3, column


@pytest.mark.parametrize("concentration", [1e-7, 0.1, 2.0, 50.0, 1e4, 1e7])
def test_angles_follow_their_law(concentration):
    torch.manual_seed(3)
    drawn = D.VonMises(torch.tensor(2.5, dtype=torch.float64), torch.tensor(concentration, dtype=torch.float64)).sample((N,)).numpy()
    assert (drawn >= -math.pi).all() and (drawn < math.pi).all()
    around = (drawn - 2.5 + math.pi) % (2 * math.pi) - math.pi
    assert stats.kstest(around, stats.vonmises(concentration).cdf).pvalue > 1e-3
    assert von_mises(torch.zeros(3), torch.tensor([-1.0, 0.0, math.nan])).isnan().all()


VECTORS = ["Categorical", "Dirichlet", "LogisticNormal", "LowRankMultivariateNormal", "Multinomial", "MultivariateNormal",
           "MultivariateNormal precision", "OneHotCategorical", "ContinuousBernoulli", "Kumaraswamy", "Wishart", "Wishart precision",
           "Wishart tril"]


@pytest.mark.parametrize("row", VECTORS)
def test_means_and_variances_of_samples(row):
    torch.manual_seed(7)
    of = law(torch, row)
    drawn = of.sample((N,)).double()
    if row == "Categorical":
        shares = torch.nn.functional.one_hot(drawn.long(), 3).double().mean(0)
        assert torch.allclose(shares, of.probs, atol=0.02)
    elif row == "LogisticNormal":
        back = D.StickBreakingTransform().inv(drawn)
        assert torch.allclose(back.mean(0), of.loc, atol=0.1) and torch.allclose(back.std(0), of.scale, rtol=0.05)
    else:
        error = of.stddev / N**0.5
        assert ((drawn.mean(0) - of.mean).abs() <= 5 * error + 1e-12).all()
        assert torch.allclose(drawn.var(0), of.variance, rtol=0.15, atol=1e-12)
    if "MultivariateNormal" in row:
        centred = (drawn - of.mean).reshape(N, -1, 3)[:, 0]
        covariance = of.covariance_matrix.reshape(-1, 3, 3)[0]
        assert torch.allclose(centred.t() @ centred / N, covariance, atol=0.1)


def test_correlations_of_lkj():
    """The marginal of a correlation is a beta number on [-1, 1] of both shapes concentration - 1 + dim / 2 (Lewandowski et al., 2009)."""
    torch.manual_seed(8)
    factor = D.LKJCholesky(3, tensor(torch, [0.5, 1.0, 4.0])).sample((N,))
    correlation = (factor @ factor.mT).numpy()
    for column, concentration in enumerate((0.5, 1.0, 4.0)):
        known = stats.beta(concentration + 0.5, concentration + 0.5, loc=-1, scale=2)
        for i, j in ((1, 0), (2, 0), (2, 1)):
            assert stats.kstest(correlation[:, column, i, j], known.cdf).pvalue > 1e-3
    np.testing.assert_allclose(correlation[..., [0, 1, 2], [0, 1, 2]], 1, rtol=1e-12)


@pytest.mark.parametrize("row, other", [("RelaxedBernoulli", None), ("RelaxedOneHotCategorical", None)])
def test_relaxed_numbers_are_nearest_to_their_class(row, other):
    """Whatever the temperature, the greatest element is a class as often as its probability says (Maddison et al., 2017)."""
    torch.manual_seed(9)
    of = law(torch, row)
    drawn = of.rsample((N,))
    if row == "RelaxedBernoulli":
        assert torch.allclose((drawn > 0.5).double().mean(0), of.probs, atol=0.02)
    else:
        shares = torch.nn.functional.one_hot(drawn.argmax(-1), 3).double().mean(0)
        assert torch.allclose(shares, of.probs, atol=0.02)


# ---------------------------------------------------------------- gradients of samples
IMPLICIT = [row for row in CONTINUOUS if hasattr(getattr(D, row), "rsample") and law(torch, row).has_rsample and row != "StudentT"
            and row != "FisherSnedecor"]
ARGUMENTS = {                                            # SciPy's law from the table's arguments
    "Beta": stats.beta, "Cauchy": stats.cauchy, "Chi2": stats.chi2, "Exponential": lambda r: stats.expon(scale=1 / r),
    "Gamma": lambda a, r: stats.gamma(a, scale=1 / r), "Gumbel": stats.gumbel_r, "HalfCauchy": lambda s: stats.halfcauchy(scale=s),
    "GeneralizedPareto": lambda m, s, c: stats.genpareto(c, m, s), "HalfNormal": lambda s: stats.halfnorm(scale=s),
    "InverseGamma": lambda a, r: stats.invgamma(a, scale=r), "Laplace": stats.laplace, "Normal": stats.norm,
    "LogNormal": lambda m, s: stats.lognorm(s, scale=np.exp(m)), "Pareto": lambda s, a: stats.pareto(a, scale=s),
    "Uniform": lambda a, b: stats.uniform(a, b - a), "Weibull": lambda s, c: stats.weibull_min(c, scale=s),
}


@pytest.mark.parametrize("row", IMPLICIT)
def test_samples_move_with_their_parameters(row):
    """At a fixed share of the distribution: d x / d theta = -(d cdf / d theta) / density."""
    torch.manual_seed(10)
    values = {name: np.array(v) for name, v in TABLE[row][0].items()}
    for name in values:
        given = {k: torch.tensor(v, requires_grad=True) for k, v in values.items()}
        x = getattr(D, row)(**given).rsample()
        slope, = torch.autograd.grad(x.sum(), given[name])
        at, step = x.detach().numpy(), 1e-6
        above, below = ({**values, name: values[name] + s} for s in (step, -step))
        change = (ARGUMENTS[row](*above.values()).cdf(at) - ARGUMENTS[row](*below.values()).cdf(at)) / (2 * step)
        wanted = -change / ARGUMENTS[row](*values.values()).pdf(at)
        np.testing.assert_allclose(slope.numpy(), wanted, rtol=2e-4, atol=1e-5, err_msg=name)


def reseeded(make):
    def sample(*parameters):
        torch.manual_seed(11)
        return make(*parameters).rsample((2,))
    return sample


MOVING = {"covariance": "MultivariateNormal", "precision": "MultivariateNormal", "low rank": "LowRankMultivariateNormal", "logistic": "LogisticNormal",
          "bernoulli": "ContinuousBernoulli", "kumaraswamy": "Kumaraswamy", "relaxed": "RelaxedBernoulli", "relaxed one hot": "RelaxedOneHotCategorical",
          "wishart": "Wishart", "t": "StudentT"}


@pytest.mark.parametrize("make, parameters", [
    (lambda m, c: D.MultivariateNormal(m, c @ c.mT + torch.eye(3, dtype=torch.float64)), (L, SPD)),
    (lambda m, c: D.MultivariateNormal(m, precision_matrix=c @ c.mT + torch.eye(3, dtype=torch.float64)), (L, SPD)),
    (D.LowRankMultivariateNormal, (L, W, S)), (D.LogisticNormal, (L, S)), (D.ContinuousBernoulli, (P,)), (D.Kumaraswamy, (S, S)),
    (lambda t, p: D.RelaxedBernoulli(t, p), (0.7, P)), (lambda t, p: D.RelaxedOneHotCategorical(t, logits=p), (0.7, L)),
    (lambda c: D.Wishart(4.5, c @ c.mT + torch.eye(3, dtype=torch.float64)), (SPD,)),
    (lambda m, s: D.StudentT(torch.tensor([3.0] * 3, dtype=torch.float64), m, s), (L, S)),
], ids=list(MOVING))
def test_samples_of_one_seed_move_with_their_parameters(make, parameters):
    """Draws take as many numbers from the stream whatever the parameters: finite differences see the same ones."""
    given = [torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in parameters]
    assert torch.autograd.gradcheck(reseeded(make), given)


@pytest.mark.parametrize("make", [lambda df: D.StudentT(df), lambda df: D.FisherSnedecor(df, 9.0), lambda df: D.FisherSnedecor(9.0, df)])
def test_expectations_move_with_degrees_of_freedom(make):
    """The gradient of a mean of samples is, up to noise, that of the expectation: of log(1 + x**2), by a difference of SciPy's integrals."""
    torch.manual_seed(12)
    df = torch.tensor(6.0, dtype=torch.float64, requires_grad=True)
    x = make(df).rsample((100_000,))
    slope, = torch.autograd.grad((x * x).log1p().mean(), df)

    def expectation(n):
        known = make(torch.tensor(n, dtype=torch.float64))
        grid = np.linspace(1e-4, 200, 400_001) if isinstance(known, D.FisherSnedecor) else np.linspace(-200, 200, 400_001)
        return np.trapezoid(np.log1p(grid**2) * known.log_prob(torch.tensor(grid)).exp().numpy(), grid)
    assert slope.item() == pytest.approx((expectation(6.05) - expectation(5.95)) / 0.1, abs=3e-3)


def test_dirichlet_gradients_are_those_of_expectations():
    torch.manual_seed(13)
    shapes = torch.tensor([0.5, 2.0, 4.0], dtype=torch.float64, requires_grad=True)
    x = D.Dirichlet(shapes).rsample((100_000,))
    second, = torch.autograd.grad((x * x).mean(0).sum(), shapes)
    known = D.Dirichlet(shapes)
    wanted, = torch.autograd.grad((known.variance + known.mean.square()).sum(), shapes)
    np.testing.assert_allclose(second.numpy(), wanted.numpy(), atol=2e-3)


def test_small_shapes_are_never_zero():
    torch.manual_seed(14)
    for of in (D.Gamma(torch.tensor(1e-4), 1.0), D.Beta(torch.tensor(1e-4), 1e-4), D.Gamma(torch.tensor(1e-3), 1e30), D.Chi2(torch.tensor(1e-4))):
        drawn = of.sample((1000,))
        assert (drawn > 0).all() and of.log_prob(drawn).isfinite().all()


def test_gradients_of_expanded_batches_reach_parameters():
    scale = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    loc = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    x = D.Normal(loc, scale).expand((5, 2)).rsample((7,))
    x.sum().backward()
    assert loc.grad.tolist() == [35, 35] and torch.allclose(scale.grad, (x.detach() / scale.detach()).sum((0, 1)))
    assert D.OneHotCategoricalStraightThrough(logits=loc).rsample((3,)).requires_grad


def test_streams_are_used():
    """Two calls draw other numbers, one seed the same."""
    of = D.Gamma(torch.ones(4), 1.0)
    torch.manual_seed(15)
    first, second = of.sample(), of.sample()
    torch.manual_seed(15)
    assert torch.equal(of.sample(), first) and not torch.equal(first, second)


def test_singular_matrices_are_drawn_again():
    """Of so few degrees of freedom rounding makes some samples singular."""
    torch.manual_seed(16)
    with pytest.warns(UserWarning, match="Low df values"):
        of = D.Wishart(torch.tensor(1.001), torch.eye(2))
    with pytest.warns(UserWarning, match="Singular sample detected"):
        drawn = of.sample((2000,))
    before = torch.linalg.cholesky_ex(drawn).info.ne(0).sum()
    assert drawn.shape == (2000, 2, 2) and before <= 20


# ---------------------------------------------------------------- laws of what has no law of its own in SciPy
def shares_of(law, *arguments):
    return lambda drawn, of: law(drawn, *[a(of) if callable(a) else a for a in arguments])


def whitened(drawn, of):
    """Independent standard normal numbers, where the covariance is the one that is said."""
    factor = np.linalg.cholesky(of.covariance_matrix.numpy())
    centred = drawn - of.mean.numpy()
    return stats.norm.cdf(np.linalg.solve(factor, centred[..., None])[..., 0])


def of_betas(drawn, of):
    """A share of a Dirichlet vector is a beta number."""
    shape = of.concentration.numpy()
    return stats.beta.cdf(drawn, shape, shape.sum(-1, keepdims=True) - shape)


def of_diagonals(drawn, of):
    """An element of the diagonal over that of the covariance is a chi-square number (Muirhead, 1982)."""
    scale = np.diagonal(of.covariance_matrix.numpy(), 0, -2, -1)
    return stats.chi2.cdf(np.diagonal(drawn, 0, -2, -1) / scale, of.df.numpy()[..., None])


def of_logistic(drawn, of):
    """The logit times the temperature is a logistic number around that of the probability (Maddison et al., 2017)."""
    logits = np.log(drawn) - np.log1p(-drawn)
    return stats.logistic.cdf(logits * float(of.temperature) - of.logits.numpy())


def of_relaxed_classes(drawn, of):
    """The difference of two logarithms, times the temperature, is a logistic number around that of the logits."""
    logs, logits = np.log(drawn), of.logits.numpy()
    pairs = [(0, 1), (1, 2), (2, 0)]
    return np.stack([stats.logistic.cdf((logs[..., i] - logs[..., j]) * float(of.temperature) - (logits[..., i] - logits[..., j]))
                     for i, j in pairs], -1)


UNIFORM = {                                              # what is uniform in [0, 1] when the samples follow their law
    "ContinuousBernoulli": lambda drawn, of: of.cdf(torch.tensor(drawn)).numpy(), "Kumaraswamy": lambda drawn, of: of.cdf(torch.tensor(drawn)).numpy(),
    "Dirichlet": of_betas, "LowRankMultivariateNormal": whitened, "MultivariateNormal": whitened, "MultivariateNormal precision": whitened,
    "MultivariateNormal tril": whitened, "RelaxedBernoulli": of_logistic, "RelaxedOneHotCategorical": of_relaxed_classes, "Wishart": of_diagonals, "Wishart precision": of_diagonals,
    "Wishart tril": of_diagonals,
    "LogisticNormal": lambda drawn, of: stats.norm.cdf(D.StickBreakingTransform().inv(torch.tensor(drawn)).numpy(), of.loc.numpy(), of.scale.numpy()),
}


@pytest.mark.parametrize("row", UNIFORM)
def test_vectors_and_shares_follow_their_law(row):
    torch.manual_seed(12)
    of = law(torch, row)
    shares = UNIFORM[row](of.sample((N,)).double().numpy(), of).reshape(N, -1)
    for column in shares.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


CLASSES = ["Categorical", "OneHotCategorical", "OneHotCategoricalStraightThrough", "Multinomial"]


@pytest.mark.parametrize("row", CLASSES)
def test_classes_follow_their_law(row):
    """Counts of classes by chi-square; of several trials, one class's counts, which are binomial."""
    torch.manual_seed(13)
    of = law(torch, row)
    drawn, probs = of.sample((N,)).numpy(), np.atleast_2d(of.probs.numpy())
    for column, shares in enumerate(probs):
        if row == "Multinomial":
            for k, share in enumerate(shares):
                seen = np.bincount(drawn[:, column, k].astype(int), minlength=5)
                assert stats.chisquare(seen, stats.binom.pmf(np.arange(5), 4, share) * N).pvalue > 1e-3
        else:
            classes = drawn[:, column] if row == "Categorical" else drawn[:, column].argmax(-1)
            assert stats.chisquare(np.bincount(classes.reshape(N).astype(int), minlength=3), shares * N).pvalue > 1e-3


MADE_OF_OTHERS = {"Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution"}
NAMES = {name for name in D.__all__ if isinstance(getattr(D, name), type) and issubclass(getattr(D, name), D.Distribution)} - MADE_OF_OTHERS


def test_every_distribution_has_a_test_of_its_law_and_of_its_gradients():
    """By Kolmogorov and Smirnov's test or by chi-square; those that can, of how samples move with their parameters."""
    tested = {*CONTINUOUS, *COUNTS, *UNIFORM, *CLASSES, "VonMises", "LKJCholesky"}
    assert NAMES == {row.split()[0] for row in tested} == {row.split()[0] for row in TABLE}
    moving = {row.split()[0] for row in TABLE if law(torch, row).has_rsample}
    assert moving == {*IMPLICIT, *MOVING.values(), "StudentT", "FisherSnedecor", "Dirichlet", "OneHotCategoricalStraightThrough"}


def test_straight_through_samples_have_the_gradient_of_their_probabilities():
    probs = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64, requires_grad=True)
    of, weights = D.OneHotCategoricalStraightThrough(probs=probs), torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    torch.manual_seed(17)
    drawn = of.rsample((4,))
    torch.testing.assert_close(drawn.detach().sum(-1), torch.ones(4, dtype=torch.float64))
    slope, = torch.autograd.grad((drawn * weights).sum(), probs, retain_graph=True)
    wanted, = torch.autograd.grad((of.probs * weights).sum() * 4, probs)
    torch.testing.assert_close(slope, wanted)


def test_mixtures_and_transformed_numbers_follow_their_law():
    torch.manual_seed(14)
    mixture = D.MixtureSameFamily(D.Categorical(tensor(torch, [0.2, 0.5, 0.3])), D.Normal(tensor(torch, L), tensor(torch, S)))
    moved = D.TransformedDistribution(D.Normal(tensor(torch, L), tensor(torch, S)), [D.TanhTransform(), D.AffineTransform(1.0, 2.0)])
    for of in (mixture, D.Independent(D.Gumbel(tensor(torch, L), tensor(torch, S)), 1), moved):
        drawn = of.sample((N,))
        shares = of.base_dist.cdf(drawn) if isinstance(of, D.Independent) else of.cdf(drawn)
        for column in shares.reshape(N, -1).numpy().T:
            assert stats.kstest(column, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("randomness", ["different", "same"])
def test_samplers_under_vmap(randomness):
    """Each sample's numbers are its own, at its own parameters, and drawn at once; or the same stream for all."""
    rates = torch.tensor([0.5, 2.0, 8.0], dtype=torch.float64)
    for make, cdf in ((D.Exponential, lambda x, r: stats.expon.cdf(x, scale=1 / r)), (lambda r: D.Normal(r, 1.0), stats.norm.cdf),
                      (lambda r: D.Gamma(r, 1.0), stats.gamma.cdf), (lambda r: D.Cauchy(r, 1.0), stats.cauchy.cdf),
                      (lambda r: D.Laplace(r, 1.0), stats.laplace.cdf), (lambda r: D.Beta(r, 2.0), lambda x, r: stats.beta.cdf(x, r, 2.0))):
        torch.manual_seed(15)
        drawn = torch.func.vmap(lambda r, make=make: make(r).sample((N // 4,)), randomness=randomness)(rates).numpy()
        shares = [cdf(x, r) for x, r in zip(drawn, rates.tolist())]
        for x in shares:
            assert stats.kstest(x, "uniform").pvalue > 1e-3
        if randomness == "different":
            assert abs(np.corrcoef(shares)[0, 1]) < 0.05


@pytest.mark.parametrize("row", TABLE)
def test_every_sampler_under_vmap(row):
    """Refused, of each sample its own, or the same for all: where parameters are shared, and where each sample has its own."""
    def draw(lead):
        given = {name: torch.stack([v.detach()] * 4) if lead and v.ndim else v.detach() for name, v in leaves(torch, row).items()
                 if isinstance(v, torch.Tensor)}
        rest = {name: v for name, v in leaves(torch, row).items() if not isinstance(v, torch.Tensor)}
        dims = {name: 0 if lead and v.ndim else None for name, v in given.items()}

        def one(_, given):
            return law(torch, row, {**given, **rest}).sample((50,))
        return lambda **options: torch.func.vmap(one, (0, dims), **options)(torch.zeros(4), given)
    for lead in (False, True):
        run = draw(lead)
        with pytest.raises(RuntimeError, match="randomness"):
            run()
        torch.manual_seed(18)
        different, same = run(randomness="different"), run(randomness="same")
        assert different.shape == same.shape == (4, *law(torch, row).sample((50,)).shape)
        assert all(torch.equal(same[0], same[i]) for i in range(1, 4))
        assert all(not torch.equal(different[i], different[j]) for i in range(4) for j in range(i))
        assert law(torch, row).support.check(different).all()
