"""How often values occur: bincount, and histograms of one or several coordinates."""
from __future__ import annotations

from collections import namedtuple
from math import prod

from ...dtypes import float32, float64, int64
from ...layout import Layout, ints
from ...tensor import Tensor, empty
from ..core.arguments import check_several, check_truths, expect_dtypes, expect_layout, integer
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import PlanTable, Primitive
from ..core.status import run_measuring
from ..creation.ranges import linspace
from ..memory.copies import clone, contiguous, to_dtype
from ..memory.resize import into_all_exactly, into_exactly
from ..pointwise import arithmetic, comparison
from ..reduce import reductions
from ..shape.slicing import select
from ..shape.views import reshape, transpose
from .scan import diff
from .search import searchsorted

LIMITS = Primitive("limits", samples="T[6];")
BINCOUNT = Primitive("bincount", samples="T([0, 2, 2]), None; 0")
HISTC = Primitive("histc", samples="T[8]; 4, 0.0, 2.0")
HISTOGRAM = Primitive("histogram", samples="T[8], None, None; 4, None, False")
BINCOUNT.counts = True
BINS_OF_RANGE = Primitive("bins_of_range", "A histogram of equal bins from the smallest to the largest element.",
                          samples="T[8]; 4")


@LIMITS.planned
def _plan_limits(layout):
    expect_dtypes("limits", layout.dtype, "bool", "integer")
    return kernels(layout.device, "sort.runs").plan_limits(layout.dtype.kernel, layout.numel)


@LIMITS.run
def _limits(plan, x: Tensor):
    """The smallest and the largest of contiguous integers, as ints."""
    low, high = run_measuring(plan, x)
    return (low, high) if x.layout.dtype.is_signed else (low % (1 << 64), high % (1 << 64))          # the words are int64


@BINCOUNT.planned
def _plan_bincount(places, weights, least):
    """What is counted in, and the plans by how many integers are counted."""
    if places.ndim != 1 or places.dtype.category > 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None:
        expect_layout("bincount", "weights", weights, places.shape)
        if weights.dtype not in (float32, float64):
            raise RuntimeError(f"bincount: expected weights of float32 or float64, got {weights.dtype.name}")
    return int64 if weights is None else weights.dtype, PlanTable()


def _plan_counting(places, weights, kind, size):
    family = kernels(places.device, "sort.runs")
    prepared = family.plan_count_integers(places.dtype.kernel, places.numel, size) if weights is None else family.plan_add_weights(
        places.dtype.kernel, kind.kernel, places.numel, size)
    return Layout.of(kind, (size,), None, places.device), prepared


@BINCOUNT.run
def _counts(plan, places: Tensor, weights: Tensor | None, least: int):
    """How often each integer occurs, from 0 to the largest, or of `least` integers where that are more."""
    kind, plans = plan
    places, weights = contiguous(places), None if weights is None else contiguous(weights)
    low, high = _limits(places) if places.layout.numel else (0, -1)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    size = max(high + 1, least)
    layout, prepared = plans.get(size) or plans.keep(size, _plan_counting(places.layout, weights, kind, size))
    out = empty(layout)
    if weights is None:
        prepared.call(places.address, out.address, prepared.descriptor)
    else:
        prepared.call(places.address, weights.address, out.address, prepared.descriptor)
    return out


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
    minlength = integer("bincount", "minlength", minlength)
    if layout_of("bincount", input).ndim != 1 or input.layout.dtype.category > 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is not None and layout_of("bincount", weights, "weights", 2).shape != input.layout.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is not None:
        weights = to_dtype(weights.detach(), float32 if weights.layout.dtype is float32 else float64)
    return _counts(input, weights, minlength)


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
    if min == max:
        return into_exactly("histc", out, _bins_of_range(x, bins))
    return into_exactly("histc", out, _equal_bins(x, bins, *_widened("torch.histc", min, max, by=1.0)))


@BINS_OF_RANGE.composed
def _bins_of_range(x: Tensor, bins):
    expect_dtypes("histc", x.layout.dtype, "integer", "float")
    return _equal_bins(x, bins, *_widened("torch.histc", *_own_range(x), by=1.0))


@HISTC.planned
def _plan_equal_bins(layout, bins, low, high):
    expect_dtypes("histc", layout.dtype, "integer", "float")
    prepared = kernels(layout.device, "sort.runs").plan_count_bins(layout.dtype.kernel, layout.numel, bins, low, high)
    return Layout.of(layout.dtype, (bins,), None, layout.device), prepared


@HISTC.run
def _equal_bins(plan, x: Tensor, bins, low, high):
    layout, prepared = plan
    counts = empty(layout)
    prepared.call(x.address, counts.address, prepared.descriptor)
    return counts


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
    check_truths("histogram", density=density)
    layout_of("histogram", input)
    edges, bins = (bins, None) if isinstance(bins, Tensor) else (None, bins)
    return into_all_exactly("histogram", out, _histogram(input, edges, weight, bins, range, density))


@HISTOGRAM.composed
def _histogram(input: Tensor, edges: Tensor | None, weight: Tensor | None, bins, range, density):
    expect_dtypes("histogram_cpu", input.layout.dtype, "float32", "float64")
    x = contiguous(reshape(input.detach(), -1))
    edges = _equal_edges("torch.histogram", x, bins, range) if edges is None else edges.detach()
    places, inside = _places(x, edges)
    hist = _counted(places, inside, edges.layout.numel - 1, x.layout.dtype, weight)
    if density:
        hist = hist / reductions.sum(hist) / diff(edges)
    return _Histogram(hist, clone(edges))


def _equal_edges(name, x, bins, range):
    bins = integer(name, "bins", bins)
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _widened(name, *(_own_range(x) if range is None else range), by=0.5)
    return linspace(low, high, bins + 1, dtype=x.layout.dtype, device=x.layout.device)


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
    check_truths("histogramdd", density=density)
    if layout_of("histogramdd", input).dtype not in (float32, float64):
        raise NotImplementedError(f'"histogramdd" not implemented for \'{input.layout.dtype.title}\': expected float32 or float64')
    if input.layout.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions, but got "
                           f"{input.layout.ndim}")
    number = input.layout.shape[-1]
    if not isinstance(bins, int):
        check_several("histogramdd", "bins", bins)
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
        bin_of, within = _places(x, own)
        places = bin_of if places is None else places * (own.layout.numel - 1) + bin_of
        inside = within if inside is None else comparison.logical_and(inside, within)
        edges.append(own)
    shape = tuple([e.layout.numel - 1 for e in edges])
    hist = reshape(_counted(places, inside, prod(shape), input.layout.dtype, weight), shape)
    if density:
        hist = hist / reductions.sum(hist)
        for axis, own in enumerate(edges):
            hist = hist / reshape(diff(own), (-1, *(1,) * (number - 1 - axis)))
    return _HistogramDD(hist, tuple([clone(e) for e in edges]))
