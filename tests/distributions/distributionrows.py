"""Every distribution with parameters: what it is made of here and in PyTorch, values of it, and what SciPy has of it."""
import math
import warnings

import numpy as np
from scipy import stats

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
        result = compute()
    except NotImplementedError:
        return "not implemented"
    return result.detach().numpy() if hasattr(result, "detach") else result


def agree(mine, theirs, rtol=1e-10, what=""):
    if isinstance(theirs, str) or isinstance(mine, str):
        assert isinstance(mine, str) and isinstance(theirs, str), what
    else:
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype, what
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol, err_msg=what)


def near(row):
    """PyTorch's Bessel functions are polynomials good to 1e-7."""
    return 1e-6 if row == "VonMises" else 1e-9
