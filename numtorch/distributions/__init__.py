"""`torch.distributions`: probability distributions, with gradients through their densities and, where they have any, samples.

distribution     what all share; independent, transformed_distribution and mixture_same_family make distributions of others
constraints      which values parameters and samples may have; constraint_registry finds transforms onto them
transforms       bijections, and their volumes
kl               divergences of pairs
utils            what distributions are built with; probabilities for those given by `probs` or `logits`

The others hold a family each: bernoulli, binomial (and other counts), categorical, cauchy, dirichlet, exponential, gamma, gumbel,
multivariate_normal, normal, pareto, relaxed_bernoulli, uniform, von_mises, wishart.
"""
import importlib as _importlib

from . import constraints as constraints
from . import transforms
from .bernoulli import Bernoulli, ContinuousBernoulli
from .binomial import Binomial, Geometric, Multinomial, NegativeBinomial, Poisson
from .categorical import Categorical, OneHotCategorical, OneHotCategoricalStraightThrough
from .cauchy import Cauchy, HalfCauchy, StudentT
from .constraint_registry import biject_to, transform_to
from .dirichlet import Beta, Dirichlet
from .distribution import Distribution, ExponentialFamily
from .exponential import Exponential, Laplace
from .gamma import Chi2, FisherSnedecor, Gamma, InverseGamma
from .gumbel import Gumbel, Weibull
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .multivariate_normal import LowRankMultivariateNormal, MultivariateNormal
from .normal import HalfNormal, LogisticNormal, LogNormal, Normal
from .pareto import GeneralizedPareto, Pareto
from .relaxed_bernoulli import RelaxedBernoulli, RelaxedOneHotCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import *
from .uniform import Kumaraswamy, Uniform
from .von_mises import VonMises
from .wishart import LKJCholesky, Wishart

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "ContinuousBernoulli", "Dirichlet", "Distribution",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Geometric", "Gumbel", "HalfCauchy",
    "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal",
    "LowRankMultivariateNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "RelaxedBernoulli",
    "RelaxedOneHotCategorical", "StudentT", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart",
    "biject_to", "kl_divergence", "register_kl", "transform_to",
]
__all__ += transforms.__all__


def __getattr__(name):
    """PyTorch's modules that are elsewhere here, and why others are not (alias)."""
    return _importlib.import_module("numtorch.alias").attribute(__name__, name)


def __dir__():
    return _importlib.import_module("numtorch.alias").listing(__name__)
