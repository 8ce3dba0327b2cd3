"""Batching rules of copies and casts, of what is put together, padded, and placed in zeros."""
from __future__ import annotations

from ...layout import Layout, formatted, wrap_dim
from ...ops.memory.copies import clone
from ...ops.shape.join import cat, stack
from ...ops.shape.pad import constant_pad_nd
from ...ops.shape.view_tape import place as place_in
from ..batching import aligned, every_sample, rule, writing
from .sizes import all_batched, call


def _of_all(wanted, layout, size):
    """A layout or memory format that is wanted of a sample, as one of all samples."""
    if isinstance(wanted, str) and wanted.startswith("channels"):
        wanted = formatted(Layout.of(layout.dtype, layout.shape[1:], None, layout.device), wanted)
    return every_sample(wanted, size) if isinstance(wanted, Layout) else wanted


@rule("clone", "to_copy")
def copied(level, primitive, values, has, attributes):
    value = values[0]
    return call(primitive, (value,), (_of_all(attributes[0], value.layout, level.size),))


@writing("copy", "copy_elements", "add_into")
def copy(level, primitive, values, has, attributes):
    target, source = values
    call(primitive, (target, aligned(source, target.layout.ndim - 1) if has[1] else source), attributes)


@rule("full")
def full(level, primitive, values, has, attributes):
    """Every element of a sample is the sample's number."""
    layout, value = attributes[0], values[0]
    return clone(value.to(layout.dtype).reshape(-1, *(1,) * layout.ndim).expand(-1, *layout.shape))


# ---------------------------------------------------------------- put together
@rule("cat")
def joined_along(level, primitive, values, has, attributes):
    dim, = attributes
    empty = [(v.layout.shape[1:] if h else v.layout.shape) == (0,) for v, h in zip(values, has)]
    kept = [v for v, e in zip(all_batched(level, values, has), empty) if not e]
    if not kept:
        kept = all_batched(level, values, has)
    return cat(kept, wrap_dim(dim, kept[0].layout.ndim - 1) + 1)


@rule("stack")
def stacked(level, primitive, values, has, attributes):
    dim, = attributes
    result = all_batched(level, values, has)
    return stack(result, wrap_dim(dim, result[0].layout.ndim) + 1)


@rule("block_diag")
def block_diag(level, primitive, values, has, attributes):
    """Rows of blocks, each with zeros on both sides."""
    blocks = [v.reshape(level.size, *(1,) * (3 - v.layout.ndim), *v.layout.shape[1:]) for v in all_batched(level, values, has)]
    width, column, rows = sum(b.layout.shape[2] for b in blocks), 0, []
    for block in blocks:
        own = block.layout.shape[2]
        rows.append(constant_pad_nd(block, (column, width - column - own)))
        column += own
    return cat(rows, 1)


# ---------------------------------------------------------------- padded
@rule("constant_pad_nd", "reflect_pad", "replicate_pad", "circular_pad")
def padded(level, primitive, values, has, attributes):
    """Widths are given from the last dimension on: samples get none."""
    x, value = values
    if has[1]:
        raise NotImplementedError("vmap: pad() with a value of each sample")
    return call(primitive, (x, value), attributes)


@rule("pad_grad")
def pad_grad(level, primitive, values, has, attributes):
    source, pad, mode = attributes
    grad = values[0]
    return call(primitive, (grad,), (Layout.of(source.dtype, (level.size, *source.shape), None, source.device), pad, mode))


@rule("place")
def place(level, primitive, values, has, attributes):
    """The region of every sample: samples lie one behind the other."""
    base, layout, offset = attributes
    low, high = base.extent()
    reach, size = max(high - low, 1), level.size
    whole = Layout.of(base.dtype, (size, *base.shape), (reach, *base.strides), base.device)
    region = Layout.of(layout.dtype, (size, *layout.shape), (reach, *layout.strides), layout.device)
    return place_in(values[0], whole, region, offset)
