"""Batching rules of what counts and looks for values, and of masks: samples get places of their own among all.

What depends on the values of one sample is looked at in all of them (`limits`); a result whose size would is refused.
"""
from __future__ import annotations

from ...dtypes import int64
from ...ops.core.primitive import registry
from ...ops.creation.ranges import arange
from ...ops.memory.copies import to_dtype
from ...ops.pointwise.arithmetic import where
from ...ops.shape.join import stack
from ...ops.shape.pad import constant_pad_nd
from ...ops.sort.order import sort
from ...ops.sort.search import searchsorted
from ..batching import rule, writing
from ..levels import innermost
from .sizes import call


# ---------------------------------------------------------------- what depends on values
@rule("unique", "order_rows", "nonzero", "repeated_positions")
def of_unknown_size(level, primitive, values, has, attributes):
    raise RuntimeError(f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                       f"{primitive.name}, whose result's size depends on the values of a sample")


@rule("equal")
def compared(level, primitive, values, has, attributes):
    raise RuntimeError("vmap over torch.equal isn't supported: it would be a bool of Python for each sample")


@rule("limits", "largest_norm")
def limits(level, primitive, values, has, attributes):
    """Of all samples."""
    return call(primitive, [innermost(values[0]).contiguous()])


@rule("out_of_range")
def out_of_range(level, primitive, values, has, attributes):
    return call(primitive, [innermost(values[0]).contiguous()], attributes)


# ---------------------------------------------------------------- how often
@rule("bincount")
def counts(level, primitive, values, has, attributes):
    """Each sample counts in a part of one vector. All are as long as the longest."""
    places, weights = values
    places = to_dtype(places if has[0] else level.all_samples(places), int64)
    low, high = call(registry["limits"], (places.contiguous(),)) if places.layout.numel else (0, -1)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    size = max(high + 1, *attributes)
    if weights is not None:
        weights = (weights if has[1] else level.all_samples(weights)).reshape(-1)
    first = arange(level.size, device=places.layout.device).mul(size).unsqueeze(1)
    return call(primitive, ((places + first).reshape(-1), weights), (size * level.size,)).reshape(level.size, size)


@rule("histc")
def equal_bins(level, primitive, values, has, attributes):
    """The kernel's arithmetic, in which every sample and what lies outside have bins of their own."""
    x, (bins, low, high) = values[0], attributes
    x = x.reshape(level.size, -1)
    inside = (x >= low) & (x <= high)
    scale = x.new_tensor(float(bins)) / (x.new_tensor(high) - x.new_tensor(low))
    places = to_dtype(where(inside, (x - low) * scale, 0.0), int64).clamp(0, bins - 1)
    places = where(inside, places, bins) + arange(level.size, device=x.layout.device).mul(bins + 1).unsqueeze(1)
    whole = call(registry["bincount"], (places.reshape(-1), None), ((bins + 1) * level.size,))
    return to_dtype(whole.reshape(level.size, bins + 1)[:, :bins], x.layout.dtype)


@rule("isin")
def among(level, primitive, values, has, attributes):
    """Where each sample has tests of its own, they are put in order and looked up."""
    x, tests = values
    if not has[1]:
        return call(primitive, (x, tests))
    shape = x.layout.shape if has[0] else (level.size, *x.layout.shape)
    wanted = (x if has[0] else level.all_samples(x)).reshape(level.size, -1)
    tests = sort(tests.reshape(level.size, -1), 1).values
    places = searchsorted(tests, wanted.contiguous()).clamp(max=tests.layout.shape[1] - 1)
    return (tests.gather(1, places) == wanted).reshape(shape)


# ---------------------------------------------------------------- masks
@rule("masked_select")
def select_true(level, primitive, values, has, attributes):
    x, mask = values
    if has[1]:
        raise RuntimeError("vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because "
                           "for each batch this would return a differently shaped Tensor.")
    return x.flatten(1)[:, mask.reshape(-1)] if x.layout.ndim > 1 else x.unsqueeze(1)[:, mask.reshape(-1)]


@writing("masked_scatter")
def scatter_true(level, primitive, values, has, attributes):
    """Every place takes the element of its rank among those where the mask holds."""
    x, mask, source = values
    size = level.size
    mask = mask.reshape(size, -1) if has[1] else level.all_samples(mask).reshape(size, -1)
    source = (source if has[2] else level.all_samples(source)).reshape(size, -1)
    if not mask.layout.numel:
        return
    wanted, have = int(innermost(mask.sum(1)).max().item()), source.layout.shape[1]
    if have < wanted:
        raise RuntimeError(f"Number of elements of source < number of ones in mask ({have} < {wanted})")
    if not have:
        return
    ranks = (mask.cumsum(1) - 1).clamp(0, source.layout.shape[1] - 1)
    x.copy_(where(mask, source.gather(1, ranks), x.reshape(size, -1)).reshape(x.layout.shape))


@rule("nonzero_static")
def first_true(level, primitive, values, has, attributes):
    """The flat places where elements are not zero stand first in a stable order."""
    x, (size, fill) = values[0], attributes
    shape = x.layout.shape[1:]
    held = (x != 0).reshape(level.size, -1)
    order = to_dtype(held, int64).sort(1, descending=True, stable=True).indices[:, :size]
    if order.layout.shape[1] < size:
        order = constant_pad_nd(order, (0, size - order.layout.shape[1]))
    kept = (arange(size, device=x.layout.device) < held.sum(1, keepdim=True)).unsqueeze(2)
    steps, columns = 1, []
    for extent in reversed(shape):
        columns.insert(0, order.div(steps, rounding_mode="floor") % max(extent, 1))
        steps *= max(extent, 1)
    places = stack(columns, 2) if columns else order.new_empty((level.size, size, 0))
    return where(kept, places, fill)
