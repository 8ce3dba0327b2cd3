"""Distinct values and how often they occur: unique, mode, bincount, histograms, membership."""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_, float32, float64, int8, int64
from ...layout import Layout, ints, wrap_dim
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import Primitive, new_plan_table, not_a_tensor
from ..core.return_types import Pair, pair
from ..core.status import run_counting, run_measuring
from ..creation.fill import zeros
from ..creation.ranges import linspace
from ..index.gather_scatter import scatter_, value_selecting_backward
from ..index.index_select import index_values
from ..index.mask import nonzero
from ..memory.assign import filled
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import into, into_all
from ..pointwise import arithmetic, comparison
from ..reduce import reductions
from ..shape.join import cat
from ..shape.slicing import narrow, select
from ..shape.views import movedim, reshape, transpose
from .order import sort
from .scan import cumsum, diff
from .search import searchsorted

_MODE = Primitive("mode")

_run_plans = new_plan_table()


def _plan(kind, device, *arguments):
    key = (kind, device, *arguments)
    found = _run_plans.get(key)
    return found if found is not None else _run_plans.keep(key, getattr(kernels(device, "sort.runs"), "plan_" + kind)(*arguments))


# ---------------------------------------------------------------- distinct values
def _distinct(x, order, return_inverse, return_counts):
    """The runs of a vector: (their values, for each element its run, their lengths). `order`: where its elements were."""
    layout = x.layout
    count, name, device = layout.numel, layout.dtype.kernel, layout.device
    number = run_counting(_plan("count_runs", device, name, count), x) if count else 0
    values = empty(Layout.of(layout.dtype, (number,), None, device))
    inverse = empty(Layout.of(int64, (count,), None, device)) if return_inverse else None
    counts = empty(Layout.of(int64, (number,), None, device)) if return_counts else None
    if count:
        prepared = _plan("write_runs", device, name, count, return_inverse, return_counts, order is not None)
        prepared.call(x.address, order.address if order is not None else 0, values.address,
                      inverse.address if return_inverse else 0, counts.address if return_counts else 0, prepared.walk)
    return values, inverse, counts


def _distinct_bytes(x, return_inverse, return_counts):
    """As `_distinct`, for the elements of a vector of bytes in any order: they are counted: 512 x 300 take 46 us, sorted 400."""
    layout = x.layout
    name, device = layout.dtype.kernel, layout.device
    counts = empty(Layout.of(int64, (256,), None, device))
    prepared = _plan("count_bytes", device, name, layout.numel)
    prepared.call(x.address, counts.address, prepared.walk)
    places = reshape(nonzero(counts), -1)
    values = to_dtype(places - 128 if layout.dtype is int8 else places, layout.dtype)
    inverse = None
    if return_inverse:
        ranks, inverse = cumsum(comparison.ne(counts, 0), 0) - 1, empty(Layout.of(int64, layout.shape, None, device))
        prepared = _plan("rank_bytes", device, name, layout.numel)
        prepared.call(x.address, ranks.address, inverse.address, prepared.walk)
    return values, inverse, index_values(counts, (0,), (places,)) if return_counts else None


def _distinct_rows(rows, order, return_inverse, return_counts):
    """As `_distinct`, for the rows of a matrix."""
    count = rows.layout.shape[0]
    start = filled(Layout.of(bool_, (min(count, 1),), None, rows.layout.device), True)
    differs = _rows_differ(narrow(rows, 0, 1, count - 1), narrow(rows, 0, 0, count - 1)) if count else zeros(0, dtype=bool_)
    starts = cat([start, differs])
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
    return reductions.any(comparison.ne(a, b), 1)


def _as_rows(x, dim):
    """The slices of a dimension as rows of a matrix, and how to make slices of such rows again."""
    dim = wrap_dim(dim, x.layout.ndim)
    moved = transpose(x, 0, dim)
    rest = moved.layout.shape[1:]
    return reshape(moved, x.layout.shape[dim], -1), lambda rows: transpose(reshape(rows, rows.layout.shape[0], *rest), 0, dim)


def _rows_in_order(rows):
    """The order of rows by their first column, then the second, ..."""
    layout = rows.layout
    if layout.dtype.is_complex:
        raise NotImplementedError(f'"unique" not implemented for \'{layout.dtype.title}\': complex numbers have no order')
    count, width = layout.shape
    order, scratch = (empty(Layout.of(int64, (count,), None, layout.device)) for _ in range(2))
    if count:
        key = ("order_rows", layout.device, layout.dtype.kernel, count, width)
        prepared = _run_plans.get(key) or _run_plans.keep(key, kernels(layout.device, "sort.row_order").plan_order_rows(*key[2:]))
        prepared.call(rows.address, order.address, scratch.address, prepared.walk)
    return order


def _results(values, inverse, counts, return_inverse, return_counts):
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


@method
def unique(input, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """The distinct elements in order; with `dim`, the distinct slices along it. Every NaN is distinct.

    Args:
        input: of any real dtype.
        sorted: taken for PyTorch's sake; the result is in order in any case.
        return_inverse: also where each element (slice) is in the result, in the input's shape (the dimension's length).
        return_counts: also how often each occurs.
        dim: the dimension whose slices are compared; None for single elements.

    Returns:
        The distinct elements, or a tuple of these with what else was asked for.

    Raises:
        NotImplementedError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    layout_of("unique", input)
    x = input.detach()
    if dim is None:
        if x.layout.dtype.is_complex:
            raise NotImplementedError(f'"unique" not implemented for \'{x.layout.dtype.title}\': complex numbers have no order')
        if x.layout.dtype.itemsize == 1 and x.layout.numel >= 1000:          # of fewer the sorting takes as long
            values, inverse, counts = _distinct_bytes(contiguous(reshape(x, -1)), return_inverse, return_counts)
        else:
            ordered, order = sort(reshape(x, -1))
            values, inverse, counts = _distinct(ordered, order, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        rows = contiguous(rows)
        order = _rows_in_order(rows)
        values, inverse, counts = _distinct_rows(index_values(rows, (0,), (order,)), order, return_inverse,
                                                 return_counts)
        values = contiguous(back(values))
    return _results(values, inverse, counts, return_inverse, return_counts)


@method
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """One element (or slice along `dim`) of each run of equal neighbours.

    Args:
        input, return_inverse, return_counts, dim: as for `unique`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 3, 1, 3]).unique_consecutive(return_counts=True)
        (tensor([3, 1, 3]), tensor([2, 1, 1]))
    """
    layout_of("unique_consecutive", input)
    x = input.detach()
    if dim is None:
        values, inverse, counts = _distinct(contiguous(reshape(x, -1)), None, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        values, inverse, counts = _distinct_rows(rows, None, return_inverse, return_counts)
        values = contiguous(back(values))
    return _results(values, inverse, counts, return_inverse, return_counts)


# ---------------------------------------------------------------- the commonest value
_Mode = pair("mode")


@method
def mode(input, dim: int = -1, keepdim: bool = False, *, out=None) -> Pair:
    """The commonest element along a dimension, the smallest of several, and the last place of it, as (values, indices).

    No NaN equals another, as in `unique`: one is the result only where there is nothing else.

    Args:
        input: of any real dtype.
        dim: the dimension along which to count.
        keepdim: whether the dimension stays, of extent 1.
        out: a pair of tensors to write the results to.

    Raises:
        IndexError: the dimension is empty.

    Example:
        >>> import numtorch as torch
        >>> values, indices = torch.tensor([3, 1, 3]).mode()
        >>> values, indices
        (tensor(3), tensor(2))
    """
    dim = wrap_dim(dim, layout_of("mode", input).ndim)
    if input.layout.ndim and not input.layout.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    moved = movedim(input.detach(), dim, -1) if input.layout.ndim else reshape(input.detach(), 1)
    ordered, order = sort(moved)
    rows = moved.layout.shape[:-1]
    device, count = ordered.layout.device, 1
    for n in rows:
        count *= n
    values = empty(Layout.of(input.layout.dtype, rows, None, device))
    indices = empty(Layout.of(int64, rows, None, device))
    if count:
        prepared = _plan("longest_run", device, input.layout.dtype.kernel, count, moved.layout.shape[-1])
        prepared.call(ordered.address, order.address, values.address, indices.address, prepared.walk)
    if keepdim and input.layout.ndim:
        kept = (*input.layout.shape[:dim], 1, *input.layout.shape[dim + 1:])
        values, indices = reshape(values, kept), reshape(indices, kept)
    if recording(input) and input.layout.dtype.category >= 2:
        values.node = GraphNode(_MODE, (input.node,), (indices,), (dim, input.layout.shape, keepdim))
    found = _Mode(values, indices)
    return found if out is None else _Mode(*[into(o, r) for o, r in zip(out, found)])


@_MODE.derivative
def _mode_vjp(node, grad):
    dim, shape, keepdim = node.attributes
    return (value_selecting_backward(grad, dim, node.tensors()[0], shape, keepdim),)


# ---------------------------------------------------------------- counts
@method
def bincount(input, weights=None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights where it does.

    Args:
        input: (n,) integers, none negative.
        weights: (n,) what each counts; 1 when None.
        minlength: the least length of the result.

    Returns:
        (max + 1,) or longer, int64; with weights float32 of float32, else float64.

    Raises:
        RuntimeError: not a vector of non-negative integers, or weights of another length.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 3, 1]).bincount()
        tensor([0, 2, 0, 1])
    """
    if layout_of("bincount", input).ndim != 1 or input.layout.dtype.category > 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and layout_of("bincount", weights, "weights", 2).shape != input.layout.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    places = contiguous(input)
    kind = int64 if weights is None else float32 if weights.layout.dtype is float32 else float64
    count, name, device = places.layout.numel, places.layout.dtype.kernel, places.layout.device
    if not count:
        return zeros(minlength, dtype=kind, device=device)
    low, high = run_measuring(_plan("limits", device, name, count), places)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    size = max(high + 1, minlength)
    out = empty(Layout.of(kind, (size,), None, device))
    if weights is None:
        prepared = _plan("count_integers", device, name, count, size)
        prepared.call(places.address, out.address, prepared.walk)
    else:
        added = contiguous(to_dtype(weights.detach(), kind))
        prepared = _plan("add_weights", device, name, kind.kernel, count, size)
        prepared.call(places.address, added.address, out.address, prepared.walk)
    return out


def _own_range(x):
    """From the smallest to the largest element."""
    return [limit.item() for limit in reductions.aminmax(x)] if x.layout.numel else (0.0, 1.0)


def _widened(name, low, high, by):
    """A histogram's range; of width 0, it reaches so far to both sides."""
    finite = low - low == 0 and high - high == 0
    if not finite:
        raise RuntimeError(f"{name}: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min, got [{low}, {high}]")
    return (low - by, high + by) if low == high else (float(low), float(high))


@method
def histc(input, bins: int = 100, min: float = 0, max: float = 0, *, out=None) -> Tensor:
    """How many elements fall into each of equal bins between `min` and `max` (the data's own range where these are equal).

    Args:
        input: real floating point.
        bins: how many.
        min, max: the outer edges, both inside; elements beyond are not counted.
        out: a tensor to write the result to.

    Returns:
        (bins,), of the input's dtype.

    Raises:
        RuntimeError: no bins, or an empty or infinite range.
        NotImplementedError: not floating point.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 1.]).histc(bins=4, min=0, max=3)
        tensor([0., 2., 1., 0.])
    """
    if layout_of("histc", input).dtype.category != 2:
        raise NotImplementedError(f'"histogram_cpu" not implemented for \'{input.layout.dtype.title}\': expected floating point')
    bins, = ints((bins,), "histc: bins")
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    x = contiguous(input.detach())
    low, high = _widened("torch.histc", *(_own_range(x) if min == max else (min, max)), by=1.0)
    counts = empty(Layout.of(x.layout.dtype, (int(bins),), None, x.layout.device))
    prepared = _plan("count_bins", x.layout.device, x.layout.dtype.kernel, x.layout.numel, int(bins), low, high)
    prepared.call(x.address, counts.address, prepared.walk)
    return into(out, counts)


_Histogram = namedtuple("histogram", ["hist", "bin_edges"])


@method
def histogram(input, bins=100, *, range=None, weight=None, density: bool = False, out=None) -> _Histogram:
    """Counts (or summed weights) of elements between bin edges, as (hist, bin_edges). The last bin is closed.

    Args:
        input: float32 or float64, of any shape.
        bins: how many equal bins, or a vector of increasing edges.
        range: the outer edges of equal bins; the data's own range when None.
        weight: of the input's shape, what each element counts; 1 when None.
        density: divide by the total and the bins' widths.
        out: a pair of tensors to write the results to.

    Raises:
        NotImplementedError: another dtype.
        RuntimeError: an infinite range, or no bins.

    Example:
        >>> import numtorch as torch
        >>> hist, edges = torch.tensor([1., 2., 1.]).histogram(2, range=(0., 2.))
        >>> hist, edges
        (tensor([0., 3.]), tensor([0., 1., 2.]))
    """
    if layout_of("histogram", input).dtype not in (float32, float64):
        raise NotImplementedError(f'"histogram_cpu" not implemented for \'{input.layout.dtype.title}\': expected float32 or '
                                  f'float64')
    x = contiguous(reshape(input.detach(), -1))
    if isinstance(bins, Tensor):
        edges = bins.detach()
    else:
        edges = _equal_edges("torch.histogram", x, bins, range)
    places, inside = _places(x, edges)
    hist = _counted(places, inside, edges.layout.numel - 1, x.layout.dtype, weight)
    if density:
        hist = hist / reductions.sum(hist) / diff(edges)
    return into_all(out, _Histogram(hist, clone(edges)))


def _equal_edges(name, x, bins, range):
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _widened(name, *(_own_range(x) if range is None else range), by=0.5)
    return linspace(low, high, int(bins) + 1, dtype=x.layout.dtype, device=x.layout.device)


def _places(x, edges):
    """The bin of each element of a vector, and whether it is in any."""
    number = edges.layout.numel - 1
    last = comparison.eq(x, select(edges, 0, number))
    places = searchsorted(edges, x, right=True) - 1 - to_dtype(last, int64)
    return places, comparison.logical_and(comparison.ge(places, 0), comparison.lt(places, number))


def _counted(places, inside, number, kind, weight):
    """How many elements are in each of so many bins, or the sum of their weights."""
    if weight is not None:
        layout_of("histogram", weight, "weight", 4)
    weights = arithmetic.where(inside, 1 if weight is None else reshape(weight.detach(), -1), 0)
    return bincount(arithmetic.where(inside, places, 0), to_dtype(weights, kind), number)


_HistogramDD = namedtuple("histogramdd", ["hist", "bin_edges"])


def histogramdd(input, bins, *, range=None, weight=None, density: bool = False) -> _HistogramDD:
    """Counts (or summed weights) of points in boxes, as (hist, bin_edges). The last bin of each dimension is closed.

    Args:
        input: (..., N) points of N coordinates.
        bins: how many equal bins each dimension has (one number, or N), or N vectors of increasing edges.
        range: the outer edges of equal bins, 2 N numbers; the data's own ranges when None.
        weight: (...), a weight for each point.
        density: divide by the total and the boxes' volumes.

    Raises:
        RuntimeError: other numbers of bins or edges than coordinates.

    Example:
        >>> import numtorch as torch
        >>> points = torch.tensor([[0., 1.], [1., 0.], [2., 0.], [2., 2.]])
        >>> torch.histogramdd(points, bins=[3, 3]).hist.sum()
        tensor(4.)
    """
    if layout_of("histogramdd", input).dtype not in (float32, float64):
        raise NotImplementedError(f'"histogramdd" not implemented for \'{input.layout.dtype.title}\': expected float32 or float64')
    if input.layout.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got "
                           f"{input.layout.ndim}")
    number = input.layout.shape[-1]
    bins = [bins] * number if isinstance(bins, int) else list(bins)
    if len(bins) != number:
        raise RuntimeError(f"torch.histogramdd: The size of bins must be equal to the innermost dimension of the input. Got "
                           f"{len(bins)} for {number}")
    if range is not None and len(range) != 2 * number:
        raise RuntimeError(f"torch.histogramdd: range should have {2 * number} elements, but got {len(range)}")
    points = transpose(reshape(input.detach(), (-1, number)), 0, 1)
    edges, places, inside = [], None, None
    for axis, each in enumerate(bins):
        x = contiguous(select(points, 0, axis))
        own = each.detach() if isinstance(each, Tensor) else _equal_edges(
            "torch.histogramdd", x, each, None if range is None else range[2 * axis:2 * axis + 2])
        found, within = _places(x, own)
        places = found if places is None else places * (own.layout.numel - 1) + found
        inside = within if inside is None else comparison.logical_and(inside, within)
        edges.append(own)
    shape = tuple([e.layout.numel - 1 for e in edges])
    hist = reshape(_counted(places, inside, prod(shape), input.layout.dtype, weight), shape)
    if density:
        hist = hist / reductions.sum(hist)
        for axis, own in enumerate(edges):
            hist = hist / reshape(diff(own), (-1, *(1,) * (number - 1 - axis)))
    return _HistogramDD(hist, tuple([clone(e) for e in edges]))


def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of `test_elements`.

    Args:
        elements, test_elements: tensors of any shapes; either may be a number.
        assume_unique: taken for PyTorch's sake; nothing is faster for it.
        invert: whether each element is none of them.

    Returns:
        Bools of the shape of `elements`.

    Raises:
        RuntimeError: complex tensors.

    Example:
        >>> import numtorch as torch
        >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
        tensor([False,  True,  True])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise not_a_tensor("isin", elements, "elements")
    elements, tests = as_operand("isin", elements), as_operand("isin", test_elements)
    if elements.layout.dtype is not tests.layout.dtype:
        kind = arithmetic.mul(elements.detach(), tests.detach().reshape(-1)[:0].sum()).layout.dtype
        elements, tests = to_dtype(elements.detach(), kind), to_dtype(tests.detach(), kind)
    layout, count = elements.layout, tests.layout.numel
    if not layout.numel or not count:
        return filled(layout.dense(bool_), bool(invert))
    if layout.dtype.is_complex:
        raise RuntimeError("Unsupported input type encountered for isin(): " + layout.dtype.title)
    key = layout, count
    plan = _memberships.get(key)
    if plan is None:
        family = kernels(layout.device, "index.equal")
        plan = _memberships.keep(key, (layout.dense(bool_), count > family.FEW,
                                       family.plan_among(layout.dtype.kernel, layout.numel, count)))
    shape, in_order, prepared = plan
    elements, tests = contiguous(elements), contiguous(tests)
    if in_order:
        tests = sort(reshape(tests.detach(), -1)).values
    found = empty(shape)
    prepared.call(elements.address, tests.address, found.address, prepared.walk)
    return comparison.logical_not(found) if invert else found


_memberships = new_plan_table()
