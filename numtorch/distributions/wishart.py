"""Distributions of matrices: covariances (Wishart), and factors of correlations (LKJCholesky)."""
from __future__ import annotations

import math
import warnings

from ..autograd.modes import no_grad
from ..dtypes import finfo
from ..layout import Size, broadcast_shapes
from ..ops.creation.fill import tensor
from ..ops.creation.ranges import arange
from ..ops.index.triangles import diag_embed
from ..ops.linalg.matrices import vector_norm
from ..ops.linalg.solve import slogdet
from ..ops.linalg.triangular import cholesky_solve
from ..ops.pointwise.functions import where
from ..ops.pointwise.special import mvlgamma
from ..ops.random.draws import randn
from ..tensor import Tensor
from . import constraints
from .dirichlet import Beta
from .distribution import Distribution, ExponentialFamily
from .gamma import Chi2
from .multivariate_normal import _MATRICES, OfTriangularFactor, factor_of, half_log_det, one_matrix
from .utils import Number, broadcast_all, holds, vec_to_tril_matrix

__all__ = ["LKJCholesky", "Wishart"]


class Wishart(OfTriangularFactor, ExponentialFamily):
    """Positive definite matrices: of `df` normal vectors with a covariance, the sum of their products with themselves.

    One of the three matrices is given; the others are computed when they are read. Samples are drawn by Bartlett's decomposition
    (Sawyer, "Wishart distributions and inverse-Wishart sampling", 2007).

    Args:
        df: degrees of freedom, above p - 1; they need not be whole.
        covariance_matrix: (*, p, p), positive definite.
        precision_matrix: (*, p, p), its inverse.
        scale_tril: (*, p, p), its lower Cholesky factor.
        validate_args: whether arguments and values are checked.

    Raises:
        AssertionError: several matrices, or none.
        ValueError: a vector, too few degrees of freedom, or a matrix that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.Wishart(torch.tensor(3.), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, df: Tensor | float, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        name, matrix = one_matrix(AssertionError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
                                  scale_tril=scale_tril)
        if matrix.ndim < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        given = tensor(df, dtype=matrix.dtype, device=matrix.device) if isinstance(df, Number) else df
        batch_shape, event_shape = broadcast_shapes(matrix.shape[:-2], given.shape), matrix.shape[-2:]
        self.df = given.expand(batch_shape)
        p = event_shape[-1]
        if not holds(self.df > p - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {p - 1}.")
        if not holds(self.df >= p):
            warnings.warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                          stacklevel=2)
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - arange(p, dtype=matrix.dtype, device=matrix.device))

    @property
    def arg_constraints(self):
        return {"covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
                "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self.event_shape[-1] - 1)}

    def expand(self, batch_shape, _instance=None):
        chi2 = self._dist_chi2.expand(Size(batch_shape) + self._event_shape[:1])
        return self._expanded(Wishart, _instance, batch_shape, _MATRICES + ("df",), _dist_chi2=chi2,
                              _unbroadcasted_scale_tril=self._unbroadcasted_scale_tril)

    def _times(self, factor):
        return factor.reshape(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mean(self):
        return self._times(self.df)

    @property
    def mode(self):
        factor = self.df - self._event_shape[-1] - 1
        return self._times(where(factor <= 0, math.nan, factor))

    @property
    def variance(self):
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self.df.reshape(self._batch_shape + (1, 1)) * (covariance.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape):
        p = self._event_shape[-1]
        root = self._dist_chi2.rsample(sample_shape).sqrt()
        factor = diag_embed(root.clamp(min=finfo(root.dtype).eps))
        if p > 1:
            normal = randn(Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,), dtype=root.dtype, device=root.device)
            factor = factor + vec_to_tril_matrix(normal, diag=-1)
        factor = self._unbroadcasted_scale_tril @ factor
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction: int | None = None):
        """Samples, through which gradients go to the parameters; those that rounding made singular are drawn again.

        Args:
            sample_shape: how many, () for one.
            max_try_correction: how often, 10 times when None.
        """
        sample = self._bartlett_sampling(sample_shape)
        regular = self.support.check(sample)
        if not holds(regular):
            warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            if holds(regular):
                break
            sample = where(regular[..., None, None], sample, self._bartlett_sampling(sample_shape))
            regular = self.support.check(sample)
        return sample

    def log_prob(self, value):
        self._validate(value)
        df, p, factor = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        trace = cholesky_solve(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return ((df - p - 1) / 2 * slogdet(value).logabsdet - trace / 2 - df * (p * math.log(2) / 2 + half_log_det(factor))
                - mvlgamma(df / 2, p))

    def entropy(self):
        df, p = self.df, self._event_shape[-1]
        digammas = (df.unsqueeze(-1) / 2 - arange(p, dtype=df.dtype, device=df.device) / 2).digamma().sum(-1)
        return ((p + 1) * (p * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril)) + mvlgamma(df / 2, p)
                - (df - p - 1) / 2 * digammas + df * p / 2)

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        half_df = y + (p + 1) / 2
        return half_df * (p * math.log(2) - slogdet(-2 * x).logabsdet) + mvlgamma(half_df, p)


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices, whose density is proportional to det(correlation) ** (concentration - 1).

    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009. Drawn
    as an onion: each row's length within those before is a beta number, its direction uniform.

    Args:
        dim: how many rows, at least 2.
        concentration: above 0; 1 (the default) makes all correlation matrices as probable, more gathers them around the identity.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a `dim` below 2, or a concentration that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> factor = torch.distributions.LKJCholesky(3, 0.5).sample()
        >>> (factor @ factor.mT).diagonal().round(decimals=3)
        tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self.concentration, = broadcast_all(concentration)
        offset = (arange(dim, dtype=self.concentration.dtype, device=self.concentration.device) - 1).clamp(min=0)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)
        self._beta = Beta(0.5 * offset + 0.5, (self.concentration + 0.5 * (dim - 2)).unsqueeze(-1) - 0.5 * offset)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(LKJCholesky, _instance, batch_shape, ("concentration",), dim=self.dim,
                              _beta=self._beta.expand(Size(batch_shape) + (self.dim,)))

    def sample(self, sample_shape=()):
        with no_grad():
            inside = self._beta.sample(sample_shape).unsqueeze(-1)
            tiny = finfo(inside.dtype).tiny
            normal = randn(self._extended_shape(sample_shape), dtype=inside.dtype, device=inside.device).tril(-1)
            rows = inside.sqrt() * normal / vector_norm(normal, dim=-1, keepdim=True).clamp(min=tiny)     # the first one is 0
            return rows + diag_embed((1 - rows.square().sum(-1)).clamp(min=tiny).sqrt())

    def log_prob(self, value):
        self._validate(value)
        dim, concentration = self.dim, self.concentration
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (concentration - 1).unsqueeze(-1) + dim - arange(2, dim + 1, device=concentration.device)
        alpha = concentration + 0.5 * (dim - 1)
        log_normalizer = 0.5 * (dim - 1) * math.log(math.pi) + mvlgamma(alpha - 0.5, dim - 1) - alpha.lgamma() * (dim - 1)
        return (order * diagonal.log()).sum(-1) - log_normalizer
