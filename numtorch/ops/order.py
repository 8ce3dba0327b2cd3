"""Order along a dimension: sort, topk, medians, distinct values, counts, running sums and products."""
from __future__ import annotations

from collections import namedtuple

from ..autograd.graph import GraphNode, recording
from ..dtypes import as_dtype, bool_, float32, float64, int64, uint8
from ..layout import Layout, wrap_dim
from ..tensor import Tensor, empty
from . import arithmetic, comparison, reduce
from .backends import kernels
from .copy import contiguous, copy_, copy_elements, filled, to_dtype
from .creation import arange, zeros
from .gather import index_values, put_values
from .join import cat
from .mask import nonzero
from .op import method, new_plan_table
from .scatter import gather, scatter_, value_selecting_backward
from .view import narrow, reshape, select, transpose

_Pair = {name: namedtuple(name, ["values", "indices"]) for name in ("sort", "topk", "kthvalue", "median", "nanmedian")}


def _around(shape, dim):
    """A shape as (outer, R, inner) around a dimension."""
    outer = inner = 1
    for n in shape[:dim]:
        outer *= n
    for n in shape[dim + 1:]:
        inner *= n
    return outer, shape[dim], inner


# ---------------------------------------------------------------- sorting
_sort_plans = new_plan_table()


def _plan_sort(layout, dim, keep, descending):
    """(prepared, values' layout, indices' layout, workspace's layout)"""
    shape = layout.shape[:dim] + (keep,) + layout.shape[dim + 1:]
    values, indices = Layout.of(layout.dtype, shape, None, layout.device), Layout.of(int64, shape, None, layout.device)
    if not values.numel:
        return None, values, indices, None
    family, (outer, size, inner) = kernels(layout.device, "sort"), _around(layout.shape, dim)
    if keep == size:
        prepared = family.plan_sort(layout.dtype.kernel, outer, size, inner, descending)
    else:
        prepared = family.plan_topk(layout.dtype.kernel, outer, size, inner, keep, descending)
    return prepared, values, indices, Layout.of(uint8, (prepared.workspace,), None, layout.device)


def _sorted(name, x, dim, keep, descending):
    """The first `keep` of x in order along a dimension, and where they were."""
    if x.layout.dtype.is_complex:
        raise RuntimeError(f"{name}: Sort does not support complex dtypes on CPU")
    whole = x
    if not x.layout.ndim:
        x = reshape(x, 1)
    dim = wrap_dim(dim, x.layout.ndim)
    size = x.layout.shape[dim]
    keep = size if keep is None else keep
    if not 0 <= keep <= size:
        raise RuntimeError("selected index k out of range")
    x = contiguous(x)
    key = (x.layout, dim, keep, descending)
    plan = _sort_plans.get(key)
    if plan is None:
        plan = _sort_plans.keep(key, _plan_sort(x.layout, dim, keep, descending))
    prepared, of_values, of_indices, of_workspace = plan
    values, indices = empty(of_values), empty(of_indices)
    if prepared is not None:
        workspace = empty(of_workspace)
        prepared.call(x.address, values.address, indices.address, workspace.address, prepared.walk)
    if x.node is not None and recording(x) and x.layout.dtype.category >= 2:
        values.node = GraphNode(name, (x.node,), (indices,), _sorted_vjp, (dim, x.layout.shape))
    if not whole.layout.ndim:
        values, indices = reshape(values, ()), reshape(indices, ())
    return _Pair[name](values, indices)


def _sorted_vjp(node, grad):
    dim, shape = node.constants
    return (value_selecting_backward(grad, dim, node.tensors()[0], shape, True),)


def _into(out, pair):
    if out is None:
        return pair
    copy_(out[0], pair[0].detach())
    copy_(out[1], pair[1])
    return type(pair)(*out)


@method
def sort(input, dim: int = -1, descending: bool = False, stable: bool = False, *, out=None):
    """Elements in order along a dimension, as (values, indices). Always stable; NaN counts as greatest.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 2]).sort().indices
        tensor([1, 2, 0])
    """
    return _into(out, _sorted("sort", input, dim, None, bool(descending)))


@method
def argsort(input, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that put a dimension in order. Always stable; NaN counts as greatest."""
    return _sorted("sort", input.detach(), dim, None, bool(descending)).indices


@method
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out=None):
    """The k largest (or smallest) elements along a dimension in order, as (values, indices). NaN counts as greatest.

    Raises:
        RuntimeError: k is negative or more than there are.
    """
    return _into(out, _sorted("topk", input, dim, int(k), bool(largest)))


@method
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False, *, out=None):
    """The k-th smallest element along a dimension, counted from 1, as (values, indices).

    Raises:
        RuntimeError: k is not between 1 and the size of the dimension.
    """
    x = input if input.layout.ndim else reshape(input, 1)
    dim = wrap_dim(dim, x.layout.ndim)
    if not 1 <= k <= x.layout.shape[dim]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    values, indices = _sorted("topk", x, dim, k, False)
    return _into(out, _Pair["kthvalue"](*[_one(t, dim, k - 1, keepdim and input.layout.ndim) for t in (values, indices)]))


def _one(x, dim, index, keepdim):
    return narrow(x, dim, index, 1) if keepdim else select(x, dim, index)


def _median(name, input, dim, keepdim, skip_nan):
    if dim is None:
        flat = reshape(input, -1)
        if not flat.layout.numel:
            return filled(Layout.of(flat.layout.dtype, (), None, flat.layout.device), float("nan"))
        return _median(name, flat, 0, False, skip_nan).values
    x = input if input.layout.ndim else reshape(input, 1)
    dim = wrap_dim(dim, x.layout.ndim)
    size = x.layout.shape[dim]
    if not size:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    values, indices = _sorted("sort", x, dim, None, False)
    if x.layout.dtype.category == 2:                     # NaN are last: the median is the middle of the rest, or one of them
        numbers = reduce.sum(to_dtype(comparison.logical_not(comparison.isnan(values.detach())), int64), dim, True)
        if skip_nan:
            middle = arithmetic.clamp_low(arithmetic.floor_divide(numbers - 1, 2), 0)
        else:
            middle = arithmetic.where(comparison.eq(numbers, size), (size - 1) // 2, size - 1)
        values, indices = gather(values, dim, middle), gather(indices, dim, middle)
        if keepdim and input.layout.ndim:
            return _Pair[name](values, indices)
        return _Pair[name](select(values, dim, 0), select(indices, dim, 0))
    return _Pair[name](*[_one(t, dim, (size - 1) // 2, keepdim and input.layout.ndim) for t in (values, indices)])


@method
def median(input, dim=None, keepdim: bool = False):
    """The middle element, the lower of two; with a dimension, (values, indices) along it. NaN where there is one."""
    return _median("median", input, dim, keepdim, False)


@method
def nanmedian(input, dim=None, keepdim: bool = False):
    """Like `median`, with NaN left out."""
    return _median("nanmedian", input, dim, keepdim, True)


# ---------------------------------------------------------------- distinct values
def _runs(differs, count):
    """Where runs of equal neighbours start, from whether each element but the first differs from the one before it."""
    start = filled(Layout.of(bool_, (min(count, 1),), None, differs.layout.device), True)
    return cat([start, differs])


def _distinct(rows, order, compare, return_inverse, return_counts):
    """Runs of `rows`, already in order: (first of each, run of each original row, lengths)."""
    count = rows.layout.shape[0]
    differs = compare(narrow(rows, 0, 1, count - 1), narrow(rows, 0, 0, count - 1)) if count else zeros(0, dtype=bool_)
    starts = _runs(differs, count)
    places, = nonzero(starts, as_tuple=True)
    values = index_values(rows, (0,), (places,))
    inverse = counts = None
    if return_inverse:
        inverse = cumsum(starts, 0) - 1
        if order is not None:
            inverse = scatter_(filled(inverse.layout, 0), 0, order, inverse)
    if return_counts:
        stops = filled(Layout.of(int64, (min(count, 1),), None, places.layout.device), count)
        counts = cat([narrow(places, 0, 1, places.layout.numel - 1), stops]) - places if count else contiguous(places)
    return values, inverse, counts


def _rows_differ(a, b):
    return reduce.any(comparison.ne(a, b), 1)


def _as_rows(x, dim):
    """The slices of a dimension as rows of a matrix, and how to make slices of such rows again."""
    dim = wrap_dim(dim, x.layout.ndim)
    moved = transpose(x, 0, dim)
    rest = moved.layout.shape[1:]
    return reshape(moved, x.layout.shape[dim], -1), lambda rows: transpose(reshape(rows, rows.layout.shape[0], *rest), 0, dim)


def _rows_in_order(rows):
    """The order of rows by their first column, then the second, ...: stable sorts from the last column on."""
    order = arange(rows.layout.shape[0], device=rows.layout.device)
    for column in reversed(range(rows.layout.shape[1])):
        keys = index_values(select(rows, 1, column), (0,), (order,))
        order = index_values(order, (0,), (argsort(keys, 0),))
    return order


def _results(values, inverse, counts, return_inverse, return_counts):
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


@method
def unique(input, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """The distinct elements in order; with `dim`, the distinct slices along it. Every NaN is distinct.

    Args:
        return_inverse: also where each element (slice) is in the result.
        return_counts: also how often each occurs.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    x = input.detach()
    if dim is None:
        rows, order = _sorted("sort", reshape(x, -1), 0, None, False)
        values, inverse, counts = _distinct(rows, order, comparison.ne, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        order = _rows_in_order(rows)
        values, inverse, counts = _distinct(index_values(rows, (0,), (order,)), order, _rows_differ, return_inverse, return_counts)
        values = contiguous(back(values))
    return _results(values, inverse, counts, return_inverse, return_counts)


@method
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """One element (or slice along `dim`) of each run of equal neighbours. Arguments as for `unique`."""
    x = input.detach()
    if dim is None:
        values, inverse, counts = _distinct(reshape(x, -1), None, comparison.ne, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        values, inverse, counts = _distinct(rows, None, _rows_differ, return_inverse, return_counts)
        values = contiguous(back(values))
    return _results(values, inverse, counts, return_inverse, return_counts)


@method
def bincount(input, weights=None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights where it does.

    Raises:
        RuntimeError: not a vector of non-negative integers, or weights of another length.
    """
    if input.layout.ndim != 1 or input.layout.dtype.category > 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and weights.layout.shape != input.layout.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    places = to_dtype(input, int64)
    size = minlength
    if places.layout.numel:
        low, high = (extreme.item() for extreme in reduce.aminmax(places))
        if low < 0:
            raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
        size = high + 1 if high >= minlength else minlength
    kind = int64 if weights is None else float32 if weights.layout.dtype is float32 else float64
    out = zeros(size, dtype=kind, device=input.layout.device)
    if not places.layout.numel:
        return out
    added = filled(Layout.of(kind, (), None, input.layout.device), 1) if weights is None else to_dtype(weights.detach(), kind)
    return put_values(out, (0,), (places,), added, True)


# ---------------------------------------------------------------- running sums and products
_scan_plans = new_plan_table()


def _scan(kind, x, dim, reverse=False):
    """A running `kind` ("cumsum", "cumprod") of a tensor of the result's dtype."""
    dim = wrap_dim(dim, x.layout.ndim)
    x = contiguous(x)
    layout = x.layout
    out = empty(layout)
    if not layout.numel or not layout.ndim:
        copy_elements(x, out)
    else:
        key = (kind, layout, dim, reverse)
        prepared = _scan_plans.get(key)
        if prepared is None:
            planner = getattr(kernels(layout.device, "scan"), "plan_" + kind)
            prepared = _scan_plans.keep(key, planner(layout.dtype.kernel, *_around(layout.shape, dim), reverse))
        prepared.call(x.address, out.address, prepared.walk)
    if recording(x) and layout.dtype.category >= 2:
        if kind == "cumsum":
            out.node = GraphNode(kind, (x.node,), (), _cumsum_vjp, (dim, reverse))
        else:
            out.node = GraphNode(kind, (x.node,), (x,), _cumprod_vjp, dim)
            out.node.save_results([out])
    return out


def _cumsum_vjp(node, grad):
    dim, reverse = node.constants
    return (_scan("cumsum", grad, dim, not reverse),)


def _cumprod_vjp(node, grad):
    """d out[j] / d x[i] = out[j] / x[i] for j >= i. At the first 0 of a row it is the product of the others, behind it 0."""
    x, = node.tensors()
    out, = node.result_tensors()
    dim = node.constants
    conj = arithmetic.conj_physical if x.layout.dtype.is_complex else lambda t: t
    is_zero = comparison.eq(x, 0)
    zeros_so_far = _scan("cumsum", to_dtype(is_zero, int64), dim)
    first = comparison.logical_and(is_zero, comparison.eq(zeros_so_far, 1))
    others = arithmetic.where(first, _like(x, 1), x)
    safe = arithmetic.where(is_zero, _like(x, 1), x)
    before = _scan("cumsum", grad * conj(out), dim, True) / conj(safe)
    at = _scan("cumsum", grad * conj(_scan("cumprod", others, dim)), dim, True)
    return (arithmetic.where(first, at, arithmetic.where(comparison.eq(zeros_so_far, 0), before, _like(x, 0))),)


def _like(x, value):
    return filled(Layout.of(x.layout.dtype, (), None, x.layout.device), value)


def _accumulated(kind, input, dim, dtype, out):
    wanted = as_dtype(dtype) if dtype is not None else int64 if input.layout.dtype.category < 2 else input.layout.dtype
    result = _scan(kind, to_dtype(input, wanted), dim)
    return result if out is None else copy_(out, result.detach())


@method
def cumsum(input, dim, *, dtype=None, out=None) -> Tensor:
    """Running sums along a dimension. Integers and bools sum as int64 unless a dtype is given.

    Raises:
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).cumsum(0)
        tensor([1, 3, 6])
    """
    return _accumulated("cumsum", input, dim, dtype, out)


@method
def cumprod(input, dim, *, dtype=None, out=None) -> Tensor:
    """Running products along a dimension. Integers and bools multiply as int64 unless a dtype is given."""
    return _accumulated("cumprod", input, dim, dtype, out)
