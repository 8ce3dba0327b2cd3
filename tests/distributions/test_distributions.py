"""Every distribution with parameters against PyTorch's: log_prob, entropy, cdf, icdf, moments, gradients, shapes, names, errors."""
import functools
import inspect
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from distributionrows import SPD, TABLE, K, L, P, S, U, agree, law, leaves, near, outcome, tensor

import numtorch as torch
from numtorch import distributions as D

PROPERTIES = ("mean", "variance", "stddev", "mode")
LAZY = ("probs", "logits", "covariance_matrix", "precision_matrix", "scale_tril", "df", "concentration0", "concentration", "rate",
        "loc", "scale", "temperature")


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
