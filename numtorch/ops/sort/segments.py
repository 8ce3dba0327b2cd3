"""Reductions of consecutive elements: `segment_reduce`."""
from __future__ import annotations

from math import inf, nan

from ...dtypes import int64
from ...layout import wrap_dim
from ...tensor import Tensor
from ..core.arguments import check_truths
from ..core.operands import layout_of
from ..core.status import has_values
from ..creation.fill import full, full_like
from ..creation.ranges import arange
from ..index.scatter_reduce import scatter_reduce
from ..pointwise.bounds import clamp_min
from ..pointwise.comparison import eq, lt
from ..pointwise.functions import div, where
from ..reduce.reductions import any as any_of
from ..reduce.reductions import sum as sum_of
from ..shape.slicing import narrow
from ..shape.views import expand, reshape
from .scan import cumsum, diff
from .search import searchsorted

_REDUCTIONS = {"sum": ("sum", 0), "mean": ("sum", 0), "prod": ("prod", 1), "max": ("amax", -inf), "min": ("amin", inf),
               "amax": ("amax", -inf), "amin": ("amin", inf)}


def segment_reduce(data, reduce: str, *, lengths=None, indices=None, offsets=None, axis: int = 0, unsafe: bool = False,
                   initial=None) -> Tensor:
    """Sums, means, products or extremes of consecutive elements along a dimension.

    Args:
        data: (*), of floating point.
        reduce: "sum", "mean", "prod", "max" or "min"; "amax" and "amin" are the last two.
        lengths: how many elements each segment has, along the last dimension, after the extents before `axis`.
        indices: not supported, as in PyTorch.
        offsets: instead of `lengths`, where each segment begins, and where the last one ends.
        axis: which dimension is reduced.
        unsafe: do not look whether the lengths add up to the extent.
        initial: what each reduction begins with; empty segments have it, and when None 0, NaN, 1, -inf and inf.

    Returns:
        The shape of `data` with the number of segments along `axis`.

    Raises:
        RuntimeError: shapes, dtypes or lengths that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.segment_reduce(torch.tensor([1., 2., 3., 4.]), "sum", lengths=torch.tensor([1, 3]))
        tensor([1., 9.])
    """
    check_truths("segment_reduce", unsafe=unsafe)
    layout = layout_of("segment_reduce", data)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"segment_reduce(): expected reduce to be one of {sorted(_REDUCTIONS)}, got {reduce!r}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"segment_reduce" not implemented for \'{layout.dtype.title}\'')
    if layout.ndim < 1 or layout.numel == 0:
        raise RuntimeError("segment_reduce(): expected data of at least one dimension, with elements")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): expected one of lengths and offsets")
    axis = wrap_dim(axis, layout.ndim)
    given = lengths if offsets is None else offsets
    before, extent = layout.shape[:axis], layout.shape[axis]
    if layout_of("segment_reduce", given, "lengths", 3).shape[:-1] != before or given.dtype.category != 1:
        raise RuntimeError(f"segment_reduce(): expected integer {'lengths' if offsets is None else 'offsets'} of shape "
                           f"{list(before)} + [segments], got {given.dtype} of {list(given.shape)}")
    if offsets is None:
        ends = cumsum(lengths.to(int64), -1)
        first = None
        counts = lengths
    else:
        ends, first, counts = narrow(offsets, -1, 1, offsets.shape[-1] - 1), narrow(offsets, -1, 0, 1), diff(offsets)
    if not unsafe and has_values(counts):
        if any_of(lt(counts, 0)):
            raise RuntimeError("lengths contains negative value!")
        if not bool((sum_of(counts, -1) == extent).all()):
            raise RuntimeError("segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) "
                               "when !unsafe.")
    return _reduced(data, reduce, ends.contiguous(), first, counts, axis, initial)


def _reduced(data, reduce, ends, first, counts, axis, initial):
    """Each element goes to the segment whose end is the first beyond its place; what lies in none goes to one more."""
    shape = data.layout.shape
    before, extent, after, segments = shape[:axis], shape[axis], shape[axis + 1:], ends.layout.shape[-1]
    places = expand(arange(extent, device=data.device), (*before, extent)).contiguous()
    segment = searchsorted(ends, places, right=True)
    if first is not None:
        segment = where(lt(places, first), segments, segment)
    segment = expand(reshape(segment, [*before, extent] + [1] * len(after)), shape)
    operation, neutral = _REDUCTIONS[reduce]
    start = full((*before, segments + 1, *after), neutral if initial is None else initial, dtype=data.dtype, device=data.device)
    result = narrow(scatter_reduce(start, axis, segment, data, operation), axis, 0, segments)
    if reduce != "mean":
        return result.contiguous()
    counts = reshape(counts, [*before, segments] + [1] * len(after))
    empty = full_like(result, nan) if initial is None else result
    return where(eq(counts, 0), empty, div(result, clamp_min(counts, 1)))
