"""Transforms of vectors and matrices: onto simplices and triangles, and into other shapes."""
from __future__ import annotations

import math
from collections.abc import Sequence

from ...dtypes import finfo
from ...layout import Size
from ...ops.creation.fill import eye
from ...ops.linalg.factorise import cholesky
from ...ops.pointwise.activation import logsigmoid, softplus
from ...ops.shape.pad import pad
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from .elementwise import _clipped_sigmoid
from .transform import OfOneKind, Transform


def _check_dims(shape, least):
    if len(shape) < least:
        raise ValueError("Too few dimensions on input")


class ReshapeTransform(Transform):
    """The last dimensions in another shape.

    Args:
        in_shape: what they are.
        out_shape: what they become, with as many elements.
        cache_size: 1 to keep the latest argument and result.

    Raises:
        ValueError: two numbers of elements, or a shape that does not end in `in_shape`.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def _with_cache(self, cache_size):
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(x.shape[:x.ndim - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[:y.ndim - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[:x.ndim - len(self.in_shape)])

    def forward_shape(self, shape):
        return _exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _exchanged(shape, self.out_shape, self.in_shape)


def _exchanged(shape, before, after):
    _check_dims(shape, len(before))
    cut = len(shape) - len(before)
    if shape[cut:] != before:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {before}")
    return shape[:cut] + after


class SoftmaxTransform(OfOneKind):
    """Softmax over the last dimension. Not bijective: the inverse is the logarithm.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(OfOneKind):
    """K numbers onto the simplex of K + 1: each says which share of what is left is broken off.

    Zeros give equal parts (Stan Development Team, "Stan reference manual", unit simplex).

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(3))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain, codomain = constraints.real_vector, constraints.simplex
    bijective = True

    def _call(self, x):
        z = _clipped_sigmoid(x - _left(x).log())
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y):
        parts = y[..., :-1]
        rest = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return parts.log() - rest.log() + _left(parts).log()

    def log_abs_det_jacobian(self, x, y):
        x = x - _left(x).log()
        return (logsigmoid(x) - x + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        _check_dims(shape, 1)
        return Size(shape[:-1]) + (shape[-1] - 1,)


def _left(x):
    """K, K - 1, ..., 1: into how many parts the rest is to be broken after each."""
    return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)


class CorrCholeskyTransform(Transform):
    """D (D - 1) / 2 numbers into the Cholesky factor of a correlation matrix.

    Their hyperbolic tangents are canonical partial correlations, by which the unit vectors of the rows are made (Lewandowski,
    Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method", 2009).

    Args:
        cache_size: 1 to keep the latest argument and result.

    Raises:
        ValueError: a number of elements that no triangle has.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain, codomain = constraints.real_vector, constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = x.tanh()
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r * r).sqrt().cumprod(-1)
        r = r + eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = 1 - (y * y).cumsum(-1)
        left = pad(left[..., :-1], [1, 0], value=1)
        return (tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()).atanh()

    def log_abs_det_jacobian(self, x, y):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        _check_dims(shape, 1)
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size(shape[:-1]) + (d, d)

    def inverse_shape(self, shape):
        _check_dims(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return Size(shape[:-2]) + (shape[-1] * (shape[-1] - 1) // 2,)


class LowerCholeskyTransform(OfOneKind):
    """Square matrices into lower triangular ones with a positive diagonal, by its exponential.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.LowerCholeskyTransform()(torch.tensor([[0., 5.], [2., 0.]]))
        tensor([[1., 0.],
                [2., 1.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(OfOneKind):
    """Square matrices into positive definite ones: L L^T of what `LowerCholeskyTransform` makes of them.

    Args:
        cache_size: 1 to keep the latest argument and result.

    Example:
        >>> import numtorch as torch
        >>> torch.distributions.PositiveDefiniteTransform()(torch.tensor([[0., 5.], [2., 0.]]))
        tensor([[1., 2.],
                [2., 5.]])
    """

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(cholesky(y))
