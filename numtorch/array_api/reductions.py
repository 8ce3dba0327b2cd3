"""The standard's functions that reduce, search, sort and count."""
from __future__ import annotations

from typing import NamedTuple

from ..dtypes import bool_, int64
from ..layout import wrap_dim
from ..ops.creation.fill import full
from ..ops.creation.ranges import arange
from ..ops.index.mask import nonzero as places
from ..ops.index.scatter_reduce import scatter_reduce
from ..ops.memory.conversion import to_dtype
from ..ops.memory.copies import clone
from ..ops.pointwise.functions import where as choose
from ..ops.reduce import extremes, reductions
from ..ops.shape.join import cat
from ..ops.shape.views import flatten, reshape
from ..ops.sort import order, scan, search, unique
from ..tensor import Tensor
from .promotion import arrays, default_of

__all__ = ["all", "any", "argmax", "argmin", "argsort", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean",
           "min", "nonzero", "prod", "searchsorted", "sort", "std", "sum", "unique_all", "unique_counts", "unique_inverse",
           "unique_values", "var", "where"]


def _axes(axis, ndim):
    """Axes as an ascending tuple; all of them for None."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted({wrap_dim(a, ndim) for a in ((axis,) if isinstance(axis, int) else axis)}))


def _over(op, x, axis, keepdims, **options):
    """A reduction over axes; over none where there are none."""
    axes = _axes(axis, x.ndim)
    return op(x, axes, keepdim=keepdims, **options) if axes or not x.ndim else _over_none(op, x, **options)


def _over_none(op, x, **options):
    return reshape(op(reshape(x, [*x.shape, 1]), (-1,), **options), x.shape)


# ---------------------------------------------------------------- sums
def sum(x, /, *, axis=None, dtype=None, keepdims: bool = False) -> Tensor:
    """Sums over axes; integers are added as the widest of their kind."""
    kind = dtype or default_of(x.dtype)
    return to_dtype(_over(reductions.sum, to_dtype(x, kind), axis, keepdims), kind)      # int64 has the bits of uint64's sum


def prod(x, /, *, axis=None, dtype=None, keepdims: bool = False) -> Tensor:
    """Products over axes; integers are multiplied as the widest of their kind."""
    out = clone(to_dtype(x, dtype or default_of(x.dtype)))
    for a in reversed(_axes(axis, x.ndim)):
        out = reductions.prod(out, a, keepdims)
    return to_dtype(out, dtype or default_of(x.dtype))


def mean(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """Means over axes."""
    return _over(reductions.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims: bool = False) -> Tensor:
    """Variances over axes, divided by the number of elements less `correction`."""
    return _over(reductions.var, x, axis, keepdims, correction=correction)


def std(x, /, *, axis=None, correction=0.0, keepdims: bool = False) -> Tensor:
    """The square roots of `var`."""
    return _over(reductions.std, x, axis, keepdims, correction=correction)


def max(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """The largest elements over axes."""
    return _over(reductions.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """The smallest elements over axes."""
    return _over(reductions.amin, x, axis, keepdims)


def all(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """Whether every element over axes is not zero."""
    return _over(reductions.all, to_dtype(x, bool_), axis, keepdims)


def any(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """Whether some element over axes is not zero."""
    return _over(reductions.any, to_dtype(x, bool_), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """How many elements over axes are not zero."""
    return _over(reductions.sum, to_dtype(to_dtype(x, bool_), int64), axis, keepdims)


def _running(op, neutral):
    def cumulative(x, axis, dtype, include_initial):
        if axis is None:
            if x.ndim != 1:
                raise ValueError("cumulative sums and products: expected an axis for an array that is not one-dimensional")
            axis = 0
        kind = dtype or default_of(x.dtype)
        result = to_dtype(op(to_dtype(x, kind), axis), kind)
        if not include_initial:
            return result
        shape = [1 if d == wrap_dim(axis, x.ndim) else n for d, n in enumerate(x.shape)]
        return cat([full(shape, neutral, dtype=kind, device=x.device), result], axis)
    return cumulative


_cumulative_sum, _cumulative_prod = _running(scan.cumsum, 0), _running(scan.cumprod, 1)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial: bool = False) -> Tensor:
    """Running sums along an axis, after a 0 if `include_initial`."""
    return _cumulative_sum(x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial: bool = False) -> Tensor:
    """Running products along an axis, after a 1 if `include_initial`."""
    return _cumulative_prod(x, axis, dtype, include_initial)


def diff(x, /, *, axis: int = -1, n: int = 1, prepend=None, append=None) -> Tensor:
    """Differences of neighbours along an axis, n times."""
    return scan.diff(x, n, axis, prepend, append)


# ---------------------------------------------------------------- places
def argmax(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """Where the largest element is, along an axis or among all."""
    return extremes.argmax(x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims: bool = False) -> Tensor:
    """Where the smallest element is, along an axis or among all."""
    return extremes.argmin(x, axis, keepdims)


def nonzero(x, /) -> tuple[Tensor, ...]:
    """Where elements are that are not zero: an array for each axis.

    Raises:
        ValueError: an array without dimensions.
    """
    if x.ndim == 0:
        raise ValueError("nonzero: expected at least one dimension")
    return places(x, as_tuple=True)


def where(condition, x1, x2, /) -> Tensor:
    """Elements of `x1` where the condition holds, of `x2` elsewhere."""
    return choose(condition, *arrays(x1, x2))


def searchsorted(x1, x2, /, *, side: str = "left", sorter=None) -> Tensor:
    """Where elements of `x2` belong in the ascending `x1`."""
    x1, x2 = arrays(x1, x2)
    return search.searchsorted(x1, x2.contiguous(), side=side, sorter=sorter)


def sort(x, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Elements in order along an axis."""
    return order.sort(x, axis, descending, stable).values


def argsort(x, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Where the elements of the sorted array are."""
    return order.sort(x, axis, descending, stable).indices


# ---------------------------------------------------------------- sets
class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x, /) -> UniqueAll:
    """The distinct elements, where each is first, which one stands in each place, and how often."""
    values, inverse, counts = unique.unique(x, return_inverse=True, return_counts=True)
    flat = flatten(inverse)
    count = flat.shape[0]
    numbers = arange(count, device=x.device)
    first = scatter_reduce(full((values.shape[0],), count, dtype=int64, device=x.device), 0, flat, numbers, "amin")
    return UniqueAll(values, first, reshape(inverse, x.shape), counts)


def unique_counts(x, /) -> UniqueCounts:
    """The distinct elements, and how often each occurs."""
    return UniqueCounts(*unique.unique(x, return_counts=True))


def unique_inverse(x, /) -> UniqueInverse:
    """The distinct elements, and which one stands in each place."""
    values, inverse = unique.unique(x, return_inverse=True)
    return UniqueInverse(values, reshape(inverse, x.shape))


def unique_values(x, /) -> Tensor:
    """The distinct elements."""
    return unique.unique(x)
