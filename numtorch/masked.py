"""`torch.masked`: sums, extremes, norms and the like of the elements where a mask is True.

A masked-out element becomes what changes nothing (0 in a sum, -inf in a maximum), and the op itself does the rest, so that
gradients come by themselves.
"""
from __future__ import annotations

from math import inf, nan

from . import linalg
from .dtypes import dtype as dtype_type
from .dtypes import float32, iinfo, int64
from .layout import wrap_dim
from .nn.functional import softmax as dense_softmax
from .nn.functional import softmin as dense_softmin
from .ops.core.operands import layout_of
from .ops.creation.fill import full, ones
from .ops.nn.softmax import log_softmax as dense_log_softmax
from .ops.nn.softmax import logsumexp as dense_logsumexp
from .ops.pointwise.bounds import clamp_min
from .ops.pointwise.elementary import sqrt
from .ops.pointwise.functions import conj, div, sub, where
from .ops.pointwise.real_functions import logaddexp as dense_logaddexp
from .ops.reduce.extremes import argmax as dense_argmax
from .ops.reduce.extremes import argmin as dense_argmin
from .ops.reduce.query import broadcast_shapes
from .ops.reduce.reductions import amax as dense_amax
from .ops.reduce.reductions import amin as dense_amin
from .ops.reduce.reductions import any as any_of
from .ops.reduce.reductions import prod as dense_prod
from .ops.reduce.reductions import sum as dense_sum
from .ops.sort.order import nanmedian
from .ops.sort.scan import cumprod as dense_cumprod
from .ops.sort.scan import cumsum as dense_cumsum
from .tensor import Tensor

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]


# ---------------------------------------------------------------- masks and what stands in masked-out places
def _mask_of(input, mask):
    """A mask as bools of the shape of `input`."""
    if mask.layout.ndim > input.layout.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    if tuple(broadcast_shapes(mask.shape, input.shape)) != input.layout.shape:
        raise RuntimeError(f"masked: expected a mask that broadcasts to {list(input.shape)}, got one of {list(mask.shape)}")
    return mask.bool().expand(input.layout.shape)


def _filled(name, input, mask, value):
    """`input` with `value` where the mask is False; without a mask, itself."""
    layout_of(name, input)
    if mask is None:
        return input
    layout_of(name, mask, "mask", 2)
    return where(_mask_of(input, mask), input, full((), value, dtype=input.dtype, device=input.device))


def _least(kind: dtype_type):
    """What no element of a dtype is below."""
    if kind.category == 3:
        raise NotImplementedError(f"identity of an extreme on {kind} input")
    return -inf if kind.category == 2 else iinfo(kind).min if kind.category else 0


def _most(kind: dtype_type):
    if kind.category == 3:
        raise NotImplementedError(f"identity of an extreme on {kind} input")
    return inf if kind.category == 2 else iinfo(kind).max if kind.category else 1


def _dims(dim, ndim):
    """Dimensions to reduce over as an ascending tuple; all of them for None and ()."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    result = [wrap_dim(d, ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(result)) != len(result):
        raise RuntimeError(f"dim={dim} appears multiple times in the list of dims")
    return tuple(sorted(result))


def _converted(result, dtype):
    return result if dtype is None else result.to(dtype=dtype)


def _summed(input, dtype):
    """The dtype of a sum: int64 of integers and bools."""
    return dtype or (int64 if input.dtype.category < 2 else input.dtype)


# ---------------------------------------------------------------- sums and products
def sum(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The sum of the elements where `mask` is True.

    Args:
        input: (*).
        dim: one or several dimensions; all when None.
        keepdim: keep them, of extent 1.
        dtype: of the result; that of `torch.sum` when None.
        mask: bools that broadcast to `input`, True for what counts; all counts when None.

    Returns:
        The sums; 0 where nothing counts.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.sum(torch.tensor([[1., 2.], [3., 4.]]), 1, mask=torch.tensor([[True, False], [True, True]]))
        tensor([1., 7.])
    """
    filled = _filled("masked.sum", input, mask, 0)
    return dense_sum(filled, _dims(dim, input.ndim), bool(keepdim), dtype=_summed(input, dtype))


def prod(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The product of the elements where `mask` is True; 1 where nothing counts.

    Args:
        input, dim, keepdim, dtype, mask: as for `sum`.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.prod(torch.tensor([2., 3., 4.]), mask=torch.tensor([True, False, True]))
        tensor(8.)
    """
    filled, kind = _filled("masked.prod", input, mask, 1), _summed(input, dtype)
    for d in reversed(_dims(dim, input.ndim)):
        filled = dense_prod(filled, d, bool(keepdim), dtype=kind)
    return _converted(filled, kind)


def cumsum(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running sums along a dimension of the elements where `mask` is True, in the dtype of `input`.

    Args:
        input, dtype, mask: as for `sum`; dim: along which.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.cumsum(torch.tensor([1., 2., 3.]), 0, mask=torch.tensor([True, False, True]))
        tensor([1., 1., 4.])
    """
    kind = dtype or input.dtype
    return _converted(dense_cumsum(_filled("masked.cumsum", input, mask, 0), *_dims(dim, input.ndim), dtype=kind), kind)


def cumprod(input, dim, *, dtype=None, mask=None) -> Tensor:
    """Running products along a dimension of the elements where `mask` is True, in the dtype of `input`.

    Args:
        input, dtype, mask: as for `sum`; dim: along which.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.cumprod(torch.tensor([2., 3., 4.]), 0, mask=torch.tensor([True, False, True]))
        tensor([2., 2., 8.])
    """
    kind = dtype or input.dtype
    return _converted(dense_cumprod(_filled("masked.cumprod", input, mask, 1), *_dims(dim, input.ndim), dtype=kind), kind)


# ---------------------------------------------------------------- extremes
def amax(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The largest of the elements where `mask` is True; the least value of the dtype where nothing counts.

    Args:
        input, dim, keepdim, mask: as for `sum`; dtype: of the result, that of `input` when None.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.amax(torch.tensor([1., 5., 3.]), mask=torch.tensor([True, False, True]))
        tensor(3.)
    """
    filled = _filled("masked.amax", input, mask, _least(input.dtype))
    return _converted(dense_amax(filled, _dims(dim, input.ndim), bool(keepdim)), dtype)


def amin(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The smallest of the elements where `mask` is True; the greatest value of the dtype where nothing counts.

    Args:
        input, dim, keepdim, mask: as for `sum`; dtype: of the result, that of `input` when None.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.amin(torch.tensor([1., 5., 3.]), mask=torch.tensor([False, True, True]))
        tensor(3.)
    """
    filled = _filled("masked.amin", input, mask, _most(input.dtype))
    return _converted(dense_amin(filled, _dims(dim, input.ndim), bool(keepdim)), dtype)


def argmax(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """Where the largest of the elements is for which `mask` is True.

    Args:
        input, keepdim, mask: as for `sum`; dim: one dimension, or None for the place among all elements.
        dtype: of the result; that of `input` when None, as in PyTorch.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.argmax(torch.tensor([1, 5, 3]), mask=torch.tensor([True, False, True]))
        tensor(2)
    """
    result = dense_argmax(_filled("masked.argmax", input, mask, _least(input.dtype)), dim, bool(keepdim))
    return result.to(dtype=dtype or input.dtype)


def argmin(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """Where the smallest of the elements is for which `mask` is True.

    Args:
        input, dim, keepdim, dtype, mask: as for `argmax`.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.argmin(torch.tensor([1, 5, 3]), mask=torch.tensor([False, True, True]))
        tensor(2)
    """
    result = dense_argmin(_filled("masked.argmin", input, mask, _most(input.dtype)), dim, bool(keepdim))
    return result.to(dtype=dtype or input.dtype)


# ---------------------------------------------------------------- means and norms
def _count(input, dims, keepdim, mask):
    counted = ones(input.layout.shape, dtype=int64, device=input.device) if mask is None else _mask_of(input, mask)
    return dense_sum(counted, dims, keepdim)


def mean(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The mean of the elements where `mask` is True; NaN where nothing counts.

    Args:
        input, dim, keepdim, mask: as for `sum`; dtype: of the result, that of `input` when None.

    Raises:
        ValueError: a dtype that is neither of floats nor complex.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.mean(torch.tensor([1., 5., 3.]), mask=torch.tensor([True, False, True]))
        tensor(2.)
    """
    kind = dtype or input.dtype
    if kind.category < 2:
        raise ValueError(f"mean(): Could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must be either a "
                         f"floating point or complex dtype. Got: {kind}")
    total = sum(input, dim, keepdim=keepdim, dtype=kind, mask=mask)
    return div(total, _count(input, _dims(dim, input.ndim), bool(keepdim), mask))


def median(input, dim: int = -1, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The middle one, along a dimension, of the elements where `mask` is True; NaN where nothing counts.

    Args:
        input, keepdim, mask: as for `sum`; dim: along which; dtype: of the result, that of `input` when None.

    Raises:
        ValueError: integers of which nothing counts.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.median(torch.tensor([1., 5., 3.]), 0, mask=torch.tensor([True, False, True]))
        tensor(1.)
    """
    floats = input.dtype.category >= 2
    filled = _filled("masked.median", input if floats else input.float(), mask, nan)
    result = nanmedian(filled, *_dims(dim, input.ndim), keepdim).values
    if floats:
        return result
    if any_of(result.isnan()):
        raise ValueError("masked median expected no fully masked out rows if dtype is not floating point")
    return result.to(dtype=dtype or input.dtype)


def norm(input, ord=2.0, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """(sum |x|^ord)^(1/ord) of the elements where `mask` is True.

    Args:
        input, dim, keepdim, mask: as for `sum`; ord: the order; dtype: to compute in.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.norm(torch.tensor([3., 9., 4.]), mask=torch.tensor([True, False, True]))
        tensor(5.)
    """
    filled = _filled("masked.norm", input, mask, inf if ord == -inf else 0)
    return linalg.vector_norm(filled, ord, _dims(dim, input.ndim), bool(keepdim), dtype=dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    removed = correction if correction is not None else 1 if unbiased is None or unbiased else 0
    kind = dtype or (float32 if input.dtype.category < 2 else input.dtype)
    dims = _dims(dim, input.ndim)
    average = div(sum(input, dim, keepdim=True, dtype=kind, mask=mask), _count(input, dims, True, mask))
    deviation = sub(input, average)
    computed = float32 if kind.category < 2 else kind
    total = sum(deviation * conj(deviation), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count = _count(input, dims, bool(keepdim), mask)
    if removed:
        count = clamp_min(sub(count.to(total.real.dtype), removed), 0)
    return div(total, count).to(kind)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The variance of the elements where `mask` is True.

    Args:
        input, dim, keepdim, mask: as for `sum`; dtype: of the result.
        unbiased: divide by one less than their number (the default) or by it; correction: by how much less.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.var(torch.tensor([1., 9., 3.]), mask=torch.tensor([True, False, True]))
        tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """The square root of `var`.

    Args:
        input, dim, unbiased, correction, keepdim, dtype, mask: as for `var`.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.std(torch.tensor([1., 9., 5.]), unbiased=False, mask=torch.tensor([True, False, True]))
        tensor(2.)
    """
    return sqrt(_variance(input, dim, unbiased, correction, keepdim, dtype, mask))


# ---------------------------------------------------------------- exponentials
def softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension over the elements where `mask` is True; 0 for the others.

    Args:
        input, mask: as for `sum`; dim: along which; dtype: to compute in.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.softmax(torch.tensor([1., 9., 1.]), 0, mask=torch.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    filled = _filled("masked.softmax", input, mask, _least(input.dtype))
    return dense_softmax(filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def log_softmax(input, dim, *, dtype=None, mask=None) -> Tensor:
    """The logarithm of `softmax`.

    Args:
        input, dim, dtype, mask: as for `softmax`.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.log_softmax(torch.tensor([1., 9., 1.]), 0, mask=torch.tensor([True, False, True]))
        tensor([-0.6931,    -inf, -0.6931])
    """
    filled = _filled("masked.log_softmax", input, mask, _least(input.dtype))
    return dense_log_softmax(filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def softmin(input, dim, *, dtype=None, mask=None) -> Tensor:
    """softmax(-x) along a dimension over the elements where `mask` is True.

    Args:
        input, dim, dtype, mask: as for `softmax`.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.softmin(torch.tensor([1., 0., 1.]), 0, mask=torch.tensor([True, False, True]))
        tensor([0.5000, 0.0000, 0.5000])
    """
    filled = _filled("masked.softmin", input, mask, _most(input.dtype))
    return dense_softmin(filled, *_dims(dim, input.ndim), dtype=dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim: bool = False, dtype=None, mask=None) -> Tensor:
    """log(sum(exp(x))) over the elements where `mask` is True.

    Args:
        input, dim, keepdim, mask: as for `sum`; dtype: of the result.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.logsumexp(torch.tensor([0., 9., 0.]), 0, mask=torch.tensor([True, False, True]))
        tensor(0.6931)
    """
    least = -inf if input.dtype.category >= 2 else _least(input.dtype)
    result = dense_logsumexp(_filled("masked.logsumexp", input, mask, least), _dims(dim, input.ndim), keepdim=keepdim)
    return result.to(dtype=dtype or input.dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None) -> Tensor:
    """log(exp(x) + exp(y)), where what a mask leaves out adds nothing.

    Args:
        input, other: tensors of floats; input_mask, other_mask: which elements of each count; dtype: of the result.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.logaddexp(torch.tensor([0., 1.]), torch.tensor([0., 9.]), other_mask=torch.tensor([True, False]))
        tensor([0.6931, 1.0000])
    """
    result = dense_logaddexp(_filled("masked.logaddexp", input, input_mask, _least(input.dtype)),
                            _filled("masked.logaddexp", other, other_mask, _least(other.dtype)))
    return result.to(dtype=dtype or input.dtype)


def normalize(input, ord, dim, *, eps: float = 1e-12, dtype=None, mask=None) -> Tensor:
    """Elements divided by the norm, along a dimension, of those where `mask` is True; 0 for the others.

    Args:
        input, mask: as for `sum`; ord, dim, dtype: as for `norm`; eps: the least to divide by.

    Example:
        >>> import numtorch as torch
        >>> torch.masked.normalize(torch.tensor([3., 9., 4.]), 2.0, 0, mask=torch.tensor([True, False, True]))
        tensor([0.6000, 0.0000, 0.8000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return div(_filled("masked.normalize", input, mask, 0), clamp_min(size, eps))


def __getattr__(name):
    """PyTorch's names that are not here, and why (alias)."""
    from .alias import attribute
    return attribute(__name__, name)
