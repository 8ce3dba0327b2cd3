"""One tensor rearranged by copying: repeated, turned round, rolled, its channels dealt out as pixels."""
from __future__ import annotations

from math import prod

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, recording
from ...dtypes import int64
from ...layout import Layout, as_shape, ints, wrap_dim, wrap_dims
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import derivative_of, new_plan_table, primitives
from ..core.status import run_counting
from ..memory.copies import clone, contiguous, plan_copy
from ..reduce.reductions import sum
from ..shape.views import reshape, transpose
from .index_select import index_values

_MOVES = primitives("repeat", "repeat_interleave", "flip", "roll", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle")

_moves = new_plan_table()


class _Move:
    """The result's layout, and what puts it together: (offset in the source, offset in the result, kernel), in bytes."""

    __slots__ = ("out", "parts", "primitive", "attributes")


def _plan(key, primitive, layout, out, parts, attributes):
    """`parts` are pairs of views (layout, offset), of the source and of the result, of which one is copied to the other."""
    move, size = _Move(), layout.dtype.itemsize
    move.out, move.primitive, move.attributes = out, primitive, attributes
    move.parts = [(a * size, b * size, plan_copy(source, target)) for (source, a), (target, b) in parts if target.numel]
    return _moves.keep(key, move) if key is not None else move


def _moved(x, move):
    out = empty(move.out)
    for a, b, prepared in move.parts:
        prepared.call(x.address + a, out.address + b, prepared.walk)
    if x.node is not None and recording(x) and x.layout.dtype.category >= 2:
        out.node = GraphNode(move.primitive, (x.node,), (), move.attributes)
    return out


# ---------------------------------------------------------------- repeating
def _plan_repeat(key, layout, before, counts, primitive):
    """Each dimension becomes one of (count, extent), or with `before` of (extent, count), seen as one."""
    shape, strides, wide = [], [], []
    for n, stride, count in zip(layout.shape, layout.strides, counts):
        shape.append(n * count)
        strides += [stride, 0] if before else [0, stride]
        wide += [n, count] if before else [count, n]
    source = Layout.of(layout.dtype, tuple(wide), tuple(strides), layout.device)
    out = Layout.of(layout.dtype, tuple(shape), None, layout.device)
    dims = tuple(2 * d + (1 if before else 0) for d in range(len(counts)))
    return _plan(key, primitive, layout, out, [((source, 0), (source.dense(), 0))], (tuple(wide), dims))


@derivative_of(_MOVES["repeat"], _MOVES["repeat_interleave"])
def _repeat_vjp(node, grad):
    wide, dims = node.attributes
    return (sum(reshape(grad, wide), dims) if dims else grad,)


@method
def repeat(self, *counts, repeats=None) -> Tensor:
    """This tensor several times along its dimensions, copied.

    Args:
        counts, repeats: how often along each, as several ints or one tuple; those too many are new dimensions in front.

    Raises:
        RuntimeError: fewer repeats than dimensions, or a negative one.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).repeat(2, 2)
        tensor([[1, 2, 1, 2],
                [1, 2, 1, 2]])
    """
    repeats = counts if repeats is None else (repeats,)
    key = ("repeat", self.layout, repeats)
    try:
        return _moved(self, _moves[key])
    except (KeyError, TypeError):
        pass
    repeats = as_shape(repeats, "repeat")
    extra = len(repeats) - self.layout.ndim
    if extra < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * extra + self.layout.shape
    if any(r < 0 for r in repeats):
        final = [n * r for n, r in zip(shape, repeats)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(final)}: {final}")
    if extra:
        return repeat(reshape(self, shape), *repeats)
    return _moved(self, _plan_repeat(("repeat", self.layout, repeats), self.layout, False, repeats, _MOVES["repeat"]))


@method
def tile(input, *repeats, dims=None) -> Tensor:
    """Like `repeat`, with fewer repeats than dimensions allowed: they are for the last ones.

    Args:
        input: (*).
        repeats, dims: how often, as several ints or one tuple.

    Raises:
        RuntimeError: a negative one.

    Example:
        >>> import numtorch as torch
        >>> torch.tile(torch.tensor([[1, 2], [3, 4]]), (2,))
        tensor([[1, 2, 1, 2],
                [3, 4, 3, 4]])
    """
    dims = as_shape(repeats if dims is None else (dims,), "tile")
    return repeat(input, *(1,) * (layout_of("tile", input).ndim - len(dims)), *dims)


@method
def repeat_interleave(input, repeats=None, dim=None, *, output_size=None) -> Tensor:
    """Each element, or each slice of a dimension, several times in a row.

    Args:
        input: (*); alone, the counts themselves, and the positions come out.
        repeats: how often: an int, or an integer tensor with a count for each.
        dim: the dimension; the tensor is flattened when None.
        output_size: what the dimension's extent will be, which is checked.

    Raises:
        RuntimeError: negative counts, not one for each slice, or another extent than `output_size`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).repeat_interleave(2), torch.repeat_interleave(torch.tensor([5, 6]), torch.tensor([1, 2]))
        (tensor([1, 1, 2, 2]), tensor([5, 6, 6]))
    """
    if output_size is not None:
        output_size, = ints((output_size,), "repeat_interleave: output_size")
        found = repeat_interleave(input, repeats, dim)
        if found.layout.shape[0 if repeats is None or dim is None else dim] != output_size:
            raise RuntimeError("repeat_interleave: allocated size does not match required size")
        return found
    if repeats is None:
        return _positions(input)
    if dim is None:
        input, dim = reshape(input, -1), 0
    if type(repeats) is int:
        key = ("repeat_interleave", layout_of("repeat_interleave", input), repeats, dim)
        move = _moves.get(key)
        if move is not None:
            return _moved(input, move)
    dim = wrap_dim(dim, input.layout.ndim)
    size = input.layout.shape[dim]
    if not isinstance(repeats, Tensor) or repeats.layout.numel == 1:
        times, = ints((repeats.item() if isinstance(repeats, Tensor) else repeats,), "repeat_interleave: repeats")
        if times < 0:
            raise RuntimeError("Repeats must be non-negative")
        counts = [times if d == dim else 1 for d in range(input.layout.ndim)]
        key = ("repeat_interleave", input.layout, times, dim)
        return _moved(input, _moves.get(key) or _plan_repeat(key, input.layout, True, counts, _MOVES["repeat_interleave"]))
    if repeats.layout.numel != size:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.layout.numel} "
                           f"and input.size({dim}) = {size}")
    return index_values(input, (dim,), (_positions(repeats),))


def _positions(counts):
    """Each position as often as a vector of counts says."""
    if counts.layout.ndim != 1 or counts.layout.dtype.category != 1:
        raise RuntimeError("repeat_interleave only accepts 1D vector of integers as repeat")
    counts = contiguous(counts)
    layout = counts.layout
    plans = _moves.get(("positions", layout))
    if plans is None:
        family = kernels(layout.device, "move.rearrange")
        plans = _moves.keep(("positions", layout), [getattr(family, f"plan_{name}")(layout.dtype.kernel, layout.numel)
                                                    for name in ("total", "repeated_positions")])
    total = run_counting(plans[0], counts)
    if total < 0:
        raise RuntimeError("repeats can not be negative")
    out = empty(Layout.of(int64, (total,), None, layout.device))
    plans[1].call(counts.address, out.address, plans[1].walk)
    return out


# ---------------------------------------------------------------- turning round
@method
def flip(input, *along, dims=None) -> Tensor:
    """The order of elements reversed along dimensions, copied.

    Args:
        input: (*).
        along, dims: the dimensions, as several ints or one tuple.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: one named twice.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).flip(1)
        tensor([[2, 1],
                [4, 3]])
    """
    dims = along if dims is None else (tuple(dims),)
    try:
        return _moved(input, _moves["flip", input.layout, dims])
    except (KeyError, TypeError, AttributeError):
        pass
    return _moved(input, _plan_flip(layout_of("flip", input), dims))


def _plan_flip(layout, dims):
    source, offset = layout, 0
    wrapped = wrap_dims(as_shape(dims, "flip"), layout.ndim)
    for d in wrapped if layout.ndim else ():
        source, more = algebra.slice_dim(source, d, None, None, -1)
        offset += more
    key = ("flip", layout, dims) if all(type(d) in (int, tuple) for d in dims) else None
    return _plan(key, _MOVES["flip"], layout, layout.dense(), [((source, offset), (layout.dense(), 0))], wrapped)


@derivative_of(_MOVES["flip"])
def _flip_vjp(node, grad):
    return (flip(grad, *node.attributes),)


@method
def fliplr(input) -> Tensor:
    """Columns in reverse order, copied.

    Args:
        input: (*), of two dimensions at least.

    Raises:
        RuntimeError: fewer dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 1],
                [4, 3]])
    """
    if layout_of("fliplr", input).ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, 1)


@method
def flipud(input) -> Tensor:
    """Rows in reverse order, copied.

    Args:
        input: (*), of one dimension at least.

    Raises:
        RuntimeError: a 0-dim tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
        tensor([[3, 4],
                [1, 2]])
    """
    if layout_of("flipud", input).ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, 0)


@method
def rot90(input, k: int = 1, dims=(0, 1)) -> Tensor:
    """Turned by quarter turns in the plane of two dimensions, copied.

    Args:
        input: (*), of two dimensions at least.
        k: how many quarter turns, from the first dimension towards the second; negative ones turn back.
        dims: the two dimensions.

    Raises:
        RuntimeError: fewer than two dimensions, or one named twice.

    Example:
        >>> import numtorch as torch
        >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
        tensor([[2, 4],
                [1, 3]])
    """
    if layout_of("rot90", input).ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.layout.ndim}")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    a, b = (wrap_dim(d, input.layout.ndim) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k = ints((k,), "rot90: k")[0] % 4
    if k == 0:
        return clone(input)
    if k == 2:
        return flip(input, a, b)
    return transpose(flip(input, b if k == 1 else a), a, b)


# ---------------------------------------------------------------- rolling
@method
def roll(input, shifts, dims=None) -> Tensor:
    """Elements moved on along dimensions, those pushed off the end coming in at the start.

    Args:
        input: (*).
        shifts: by how many places, an int, or a tuple with one for each of `dims`.
        dims: along which; None: of the flattened tensor, which then has its shape again.

    Raises:
        RuntimeError: not one shift for each dimension.
        IndexError: a dimension out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(4).roll(1)
        tensor([3, 0, 1, 2])
    """
    if type(shifts) is int and (dims is None or type(dims) is int):
        move = _moves.get(("roll", layout_of("roll", input), shifts, dims))
        if move is not None:
            return _moved(input, move)
    shifts = as_shape((shifts,), "roll: shifts")
    dims = () if dims is None else as_shape((dims,), "roll: dims")
    if not dims and len(shifts) == 1:
        return _roll(input if input.layout.contiguous else contiguous(input), shifts[0], None)
    if len(shifts) != len(dims) or not shifts:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.layout.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    for shift, dim in zip(shifts, dims):
        input = _roll(input, shift, dim)
    return input


def _roll(x, shift, dim):
    key = ("roll", x.layout, shift, dim)
    move = _moves.get(key)
    if move is None:
        source, target, axis = x.layout, x.layout.dense(), 0 if dim is None else wrap_dim(dim, x.layout.ndim)
        if dim is None:
            source = target = Layout.of(source.dtype, (source.numel,), None, source.device)
        size = source.shape[axis] if source.ndim else 1
        parts, step = [((source, 0), (target, 0))], shift % size if size else 0
        if step:
            parts = [(algebra.narrow(source, axis, a, n), algebra.narrow(target, axis, b, n))
                     for a, b, n in ((0, step, size - step), (size - step, 0, step))]
        rows, itemsize = prod(source.shape[:axis]), source.dtype.itemsize
        by_rows = step and rows >= 8 and source.numel * itemsize >= 64 * rows and source.contiguous and source.device.type == "cpu"
        move = _plan(key, _MOVES["roll"], x.layout, x.layout.dense(), [] if by_rows else parts, (shift, dim))
        if by_rows:
            n = source.numel // rows
            move.parts = [(0, 0, kernels(source.device, "move.rearrange").plan_roll(itemsize, rows, n, step * (n // size)))]
    return _moved(x, move)


@derivative_of(_MOVES["roll"])
def _roll_vjp(node, grad):
    shift, dim = node.attributes
    return (_roll(contiguous(grad), -shift, dim),)


# ---------------------------------------------------------------- channels and pixels
def _dealt(name, input, factor, wide_of):
    """The copy of a tensor seen in more dimensions and in another order of them: `wide_of` says which, and the result's shape."""
    key = (name, layout_of(name, input), factor)
    move = _moves.get(key)
    if move is None:
        wide, order, shape = wide_of(input.layout.shape, factor)
        found = algebra.try_view(input.layout, wide)
        if found is None:
            return _dealt(name, contiguous(input), factor, wide_of)
        source, _ = algebra.permute(found[0], order)
        out = Layout.of(input.layout.dtype, tuple(shape), None, input.layout.device)
        move = _plan(key, _MOVES[name], input.layout, out, [((source, 0), (source.dense(), 0))], factor)
    return _moved(input, move)


def _image(shape, name):
    if len(shape) < 3:
        raise RuntimeError(f"{name} expects input to have at least 3 dimensions, but got input with {len(shape)} dimension(s)")
    return shape


def _shuffled(shape, r):
    *lead, channels, height, width = _image(shape, "pixel_shuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if channels % (r * r):
        raise RuntimeError(f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    n, left = len(lead), channels // (r * r)
    return (*lead, left, r, r, height, width), (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*lead, left, height * r, width * r)


def _unshuffled(shape, r):
    *lead, channels, height, width = _image(shape, "pixel_unshuffle")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but got {height} and "
                           f"{width} with {r}")
    n, rows, columns = len(lead), height // r, width // r
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return (*lead, channels, rows, r, columns, r), order, (*lead, channels * r * r, rows, columns)


def _regrouped(shape, groups):
    if len(shape) < 3 or groups <= 0 or shape[1] % groups:
        raise RuntimeError(f"channel_shuffle expects an input of at least 3 dimensions whose channels are divisible by groups, but "
                           f"got {list(shape)} and {groups}")
    return (shape[0], groups, shape[1] // groups, prod(shape[2:])), (0, 2, 1, 3), shape


def pixel_shuffle(input, upscale_factor: int) -> Tensor:
    """Groups of channels become pixels (Shi et al. 2016).

    Args:
        input: (*, C r^2, H, W).
        upscale_factor: r.

    Returns:
        (*, C, H r, W r).

    Raises:
        RuntimeError: fewer than three dimensions, or channels that r^2 does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.pixel_shuffle(torch.arange(4).view(4, 1, 1), 2)
        tensor([[[0, 1],
                 [2, 3]]])
    """
    return _dealt("pixel_shuffle", input, upscale_factor, _shuffled)


@derivative_of(_MOVES["pixel_shuffle"])
def _pixel_shuffle_vjp(node, grad):
    return (pixel_unshuffle(grad, node.attributes),)


def pixel_unshuffle(input, downscale_factor: int) -> Tensor:
    """Pixels become channels: the inverse of `pixel_shuffle`.

    Args:
        input: (*, C, H r, W r).
        downscale_factor: r.

    Returns:
        (*, C r^2, H, W).

    Raises:
        RuntimeError: fewer than three dimensions, or extents that r does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.pixel_unshuffle(torch.arange(4).view(1, 2, 2), 2).flatten()
        tensor([0, 1, 2, 3])
    """
    return _dealt("pixel_unshuffle", input, downscale_factor, _unshuffled)


@derivative_of(_MOVES["pixel_unshuffle"])
def _pixel_unshuffle_vjp(node, grad):
    return (pixel_shuffle(grad, node.attributes),)


def channel_shuffle(input, groups: int) -> Tensor:
    """Channels dealt out over groups in turn (Zhang et al. 2018).

    Args:
        input: (N, C, *).
        groups: how many; it divides the channels.

    Returns:
        The input's shape: channel g + groups * i is what i + C / groups * g was.

    Raises:
        RuntimeError: fewer than three dimensions, or channels that `groups` does not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.channel_shuffle(torch.arange(4).view(1, 4, 1), 2).flatten()
        tensor([0, 2, 1, 3])
    """
    return _dealt("channel_shuffle", input, groups, _regrouped)


@derivative_of(_MOVES["channel_shuffle"])
def _channel_shuffle_vjp(node, grad):
    return (channel_shuffle(grad, grad.layout.shape[1] // node.attributes),)
