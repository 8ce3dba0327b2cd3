"""Normal vectors: with any covariance, and with one of low rank beside a diagonal."""
from __future__ import annotations

import math

from ..layout import Size, broadcast_shapes
from ..ops.creation.fill import eye
from ..ops.index.rearrange import flip
from ..ops.index.triangles import diag_embed
from ..ops.linalg.factorise import cholesky
from ..ops.linalg.triangular import cholesky_inverse, solve_triangular
from ..ops.reduce.query import broadcast_tensors
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]


# ---------------------------------------------------------------- batches of matrices and vectors
def product(matrices, vectors):
    """Matrices (*, m, n) times vectors (*, n)."""
    return (matrices @ vectors.unsqueeze(-1)).squeeze(-1)


def mahalanobis(factor, x):
    """x^T (L L^T)^-1 x for factors L (batch, n, n) and vectors (*, batch, n): what is before the batch becomes columns."""
    own = x.ndim - 1 - (factor.ndim - 2)
    columns = x.reshape((-1,) + x.shape[own:]).movedim(0, -1)
    result = solve_triangular(factor, columns, upper=False).square().sum(-2)
    return result.movedim(-1, 0).reshape(x.shape[:-1])


def half_log_det(factor):
    """Half of the logarithm of det(L L^T)."""
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def factor_of_inverse(precision):
    """The Cholesky factor of the inverse: that of the matrix, read backwards, is upper triangular and inverted."""
    upper = flip(cholesky(flip(precision, (-2, -1))), (-2, -1)).mT
    return solve_triangular(upper, eye(precision.shape[-1], dtype=precision.dtype, device=precision.device), upper=False)


class OfTriangularFactor:
    """What a covariance gives, for distributions that keep its lower Cholesky factor as `_unbroadcasted_scale_tril`."""

    _unbroadcasted_scale_tril: Tensor
    _batch_shape: Size
    _event_shape: Size

    def _for_all(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape[-1:] * 2)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, (*, n, n)."""
        return self._for_all(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance, (*, n, n)."""
        return self._for_all(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, (*, n, n)."""
        return self._for_all(cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(OfTriangularFactor, Distribution):
    """Normal vectors of n numbers. One of the three matrices is given; the others are computed when they are read.

    Args:
        loc: the mean, (*, n).
        covariance_matrix: (*, n, n), positive definite.
        precision_matrix: (*, n, n), its inverse.
        scale_tril: (*, n, n), its lower Cholesky factor, which needs no factorisation.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: a number, several matrices, none, or one that is not allowed.

    Example:
        >>> import numtorch as torch
        >>> law = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
        >>> law.log_prob(torch.zeros(2))
        tensor(-1.8379)
    """

    arg_constraints = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                       "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix,
                                  scale_tril=scale_tril)
        if matrix.ndim < 2:
            raise ValueError(f"{name} matrix must be at least two-dimensional, with optional leading batch dimensions"
                             if name == "scale_tril" else
                             f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(MultivariateNormal, _instance, batch_shape, _MATRICES + ("loc",),
                              _unbroadcasted_scale_tril=self._unbroadcasted_scale_tril)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        normal = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + product(self._unbroadcasted_scale_tril, normal)

    def log_prob(self, value):
        self._validate(value)
        factor = self._unbroadcasted_scale_tril
        far = mahalanobis(factor, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + far) - half_log_det(factor)

    def entropy(self):
        result = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)
        return result.expand(self._batch_shape)


_MATRICES = ("covariance_matrix", "precision_matrix", "scale_tril")


def one_matrix(error, **matrices):
    """The name and the value of the one that is given."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given[0]


def factor_of(name, matrix):
    """The Cholesky factor of the covariance that a matrix of that name stands for."""
    if name == "scale_tril":
        return matrix
    return cholesky(matrix) if name == "covariance_matrix" else factor_of_inverse(matrix)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of n numbers with the covariance W W^T + diag(d), for which no n by n system is solved.

    Args:
        loc: the mean, (*, n).
        cov_factor: W, (*, n, m), where m is much smaller than n.
        cov_diag: d, (*, n), above 0.
        validate_args: whether arguments and values are checked.

    Raises:
        ValueError: shapes that do not go together, or a diagonal that is not above 0.

    Example:
        >>> import numtorch as torch
        >>> law = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.], [0.]]), torch.ones(2))
        >>> law.covariance_matrix
        tensor([[2., 0.],
                [0., 1.]])
    """

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.ndim < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.ndim < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            loc_, self.cov_factor, diag_ = broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            raise ValueError(f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag "
                             f"{cov_diag.shape}") from error
        self.loc, self.cov_diag = loc_[..., 0], diag_[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = cholesky(_identity_plus(_scaled(cov_factor, cov_diag) @ cov_factor))
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(LowRankMultivariateNormal, _instance, batch_shape, ("loc", "cov_factor", "cov_diag"),
                              _unbroadcasted_cov_factor=self._unbroadcasted_cov_factor,
                              _unbroadcasted_cov_diag=self._unbroadcasted_cov_diag, _capacitance_tril=self._capacitance_tril)

    def _for_all(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        result = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return result.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance, (*, n, n)."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / root
        return self._for_all(root * cholesky(_identity_plus(factor @ factor.mT)))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance, (*, n, n)."""
        factor = self._unbroadcasted_cov_factor
        return self._for_all(factor @ factor.mT + diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, (*, n, n)."""
        a = self._whitened()
        return self._for_all(diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - a.mT @ a)

    def _whitened(self):
        """C^-1 W^T D^-1, of the Cholesky factor C of I + W^T D^-1 W: the inverse covariance is D^-1 less its square (Woodbury)."""
        return solve_triangular(self._capacitance_tril, _scaled(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag),
                                upper=False)

    def _log_det(self):
        """By the matrix determinant lemma."""
        return 2 * half_log_det(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def _mahalanobis(self, x):
        """x^T covariance^-1 x, by Woodbury's identity."""
        scaled = _scaled(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag)
        return (x.square() / self._unbroadcasted_cov_diag).sum(-1) - mahalanobis(self._capacitance_tril, product(scaled, x))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        few = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        own = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + product(self._unbroadcasted_cov_factor, few) + self._unbroadcasted_cov_diag.sqrt() * own

    def log_prob(self, value):
        self._validate(value)
        far = self._mahalanobis(value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + far)

    def entropy(self):
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return result.expand(self._batch_shape)


def _scaled(factor, diagonal):
    """W^T D^-1."""
    return factor.mT / diagonal.unsqueeze(-2)


def _identity_plus(matrix):
    return matrix + eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
