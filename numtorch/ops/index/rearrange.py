"""One tensor rearranged by copying: repeated, flipped, rolled. Channels that become pixels are in pixels.py."""
from __future__ import annotations

from functools import partial
from math import prod

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, recording
from ...dtypes import int64
from ...layout import Layout, as_shape, formatted, ints, wrap_dim, wrap_dims
from ...tensor import Tensor, empty
from ..core.arguments import check_several, integer
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of, miss
from ..core.status import run_counting
from ..memory.copies import clone, contiguous, plan_copy
from ..reduce.reductions import sum
from ..shape.inplace_views import transpose_
from ..shape.views import reshape
from .index_select import index_values

_REPEAT = Primitive("repeat", samples="T[2, 3]; (2, 1)")
_REPEAT_INTERLEAVE = Primitive("repeat_interleave", samples="T[2, 3]; 2, 1")
_FLIP = Primitive("flip", samples="T[2, 3]; (0, 1)")
_ROLL = Primitive("roll", samples="T[2, 3]; 1, 1")
_POSITIONS = Primitive("repeated_positions", "Each position as often as a vector of counts says.", samples="T([2, 0, 1]);")
_POSITIONS.counts = True


class Move:
    """The result's layout, what puts it together: (offset in the source, offset in the result, kernel), in bytes, and what the
    derivative must know."""

    __slots__ = ("out", "copies", "attributes")

    def __init__(self, layout, out, pairs, attributes):
        """`pairs` are views (layout, offset), of the source and of the result, of which one is copied to the other."""
        size = layout.dtype.itemsize
        self.out, self.attributes = out, attributes
        self.copies = [(a * size, b * size, plan_copy(source, target)) for (source, a), (target, b) in pairs if target.numel]


def _moved(primitive, x, *attributes):
    plan = primitive.plans.get((x.layout, *attributes))
    return miss(primitive, (x,), attributes) if plan is None else run_move(primitive, plan, x)


def run_move(primitive, plan, x, *attributes):
    out = empty(plan.out)
    for a, b, prepared in plan.copies:
        prepared.call(x.address + a, out.address + b, prepared.descriptor)
    if x.node is not None and recording(x) and x.layout.dtype.category >= 2:
        out.node = GraphNode(primitive, (x.node,), (), plan.attributes)
    return out


for _primitive in (_REPEAT, _REPEAT_INTERLEAVE, _FLIP, _ROLL):
    _primitive.execute = partial(run_move, _primitive)


# ---------------------------------------------------------------- repeating
def _plan_repeats(layout, before, counts):
    """Each dimension becomes one of (count, extent), or with `before` of (extent, count), seen as one."""
    shape, strides, wide = [], [], []
    for n, stride, count in zip(layout.shape, layout.strides, counts):
        shape.append(n * count)
        strides += [stride, 0] if before else [0, stride]
        wide += [n, count] if before else [count, n]
    source = Layout.of(layout.dtype, tuple(wide), tuple(strides), layout.device)
    out = Layout.of(layout.dtype, tuple(shape), None, layout.device)
    dims = tuple(2 * d + (1 if before else 0) for d in range(len(counts)))
    return Move(layout, out, [((source, 0), (source.dense(), 0))], (tuple(wide), dims))


@_REPEAT.planned
def _plan_repeat(layout, counts):
    return _plan_repeats(layout, False, counts)


@_REPEAT_INTERLEAVE.planned
def _plan_interleave(layout, times, dim):
    return _plan_repeats(layout, True, [times if d == dim else 1 for d in range(layout.ndim)])


@derivative_of(_REPEAT, _REPEAT_INTERLEAVE)
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
    if repeats is None:
        repeats = counts
    if type(repeats) is not tuple:
        repeats = (repeats,)
    for n in repeats:
        if n.__class__ is not int:
            repeats = as_shape(repeats, "repeat")
            break
    plan = _REPEAT.plans.get((self.layout, repeats))
    if plan is not None:
        return run_move(_REPEAT, plan, self)
    extra = len(repeats) - self.layout.ndim
    if extra < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * extra + self.layout.shape
    if any(r < 0 for r in repeats):
        final = [n * r for n, r in zip(shape, repeats)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(final)}: {final}")
    if extra:
        return repeat(reshape(self, shape), *repeats)
    return _moved(_REPEAT, self, repeats)


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
def repeat_interleave(input, repeats=None, dim=None, *, axis=None, output_size=None) -> Tensor:
    """Each element, or each slice of a dimension, several times in a row.

    Args:
        input: (*); alone, the counts themselves, and the positions come out.
        repeats: how often: an int, or an integer tensor with a count for each.
        dim: the dimension; the tensor is flattened when None.
        axis: NumPy's name of `dim`.
        output_size: what the dimension's extent will be, which is checked.

    Raises:
        RuntimeError: negative counts, not one for each slice, or another extent than `output_size`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).repeat_interleave(2), torch.repeat_interleave(torch.tensor([5, 6]), torch.tensor([1, 2]))
        (tensor([1, 1, 2, 2]), tensor([5, 6, 6]))
    """
    if axis is not None:
        dim = axis
    if output_size is not None:
        output_size, = ints((output_size,), "repeat_interleave: output_size")
        result = repeat_interleave(input, repeats, dim)
        if result.layout.shape[0 if repeats is None or dim is None else dim] != output_size:
            raise RuntimeError("repeat_interleave: allocated size does not match required size")
        return result
    if repeats is None:
        return _positions(input)
    if dim is None:
        input, dim = reshape(input, -1), 0
    layout_of("repeat_interleave", input)
    if type(repeats) is type(dim) is int:
        plan = _REPEAT_INTERLEAVE.plans.get((input.layout, repeats, dim))
        if plan is not None:
            return run_move(_REPEAT_INTERLEAVE, plan, input)
    dim = wrap_dim(dim, layout_of("repeat_interleave", input).ndim)
    size = input.layout.shape[dim]
    if not isinstance(repeats, Tensor) or repeats.layout.numel == 1:
        times, = ints((repeats.item() if isinstance(repeats, Tensor) else repeats,), "repeat_interleave: repeats")
        if times < 0:
            raise RuntimeError("Repeats must be non-negative")
        return _moved(_REPEAT_INTERLEAVE, input, times, dim)
    if repeats.layout.numel != size:
        raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.layout.numel} "
                           f"and input.size({dim}) = {size}")
    return index_values(input, (dim,), (_positions(repeats),))


def _positions(counts):
    """Each position as often as a vector of counts says."""
    layout_of("repeat_interleave", counts)
    return _write_positions(counts)


@_POSITIONS.planned
def _plan_positions(counts):
    if counts.ndim != 1 or counts.dtype.category != 1:
        raise RuntimeError("repeat_interleave only accepts 1D vector of integers as repeat")
    family = kernels(counts.device, "move.rearrange")
    return family.plan_total(counts.dtype.kernel, counts.numel), family.plan_repeated_positions(counts.dtype.kernel, counts.numel)


@_POSITIONS.run
def _write_positions(plan, counts: Tensor):
    (counting, prepared), counts = plan, contiguous(counts)
    total = run_counting(counting, counts)
    if total < 0:
        raise RuntimeError("repeats can not be negative")
    out = empty(Layout.of(int64, (total,), None, counts.layout.device))
    prepared.call(counts.address, out.address, prepared.descriptor)
    return out


# ---------------------------------------------------------------- flipping
@method
def flip(input, *along, dims=None) -> Tensor:
    """The order of elements reversed along dimensions, copied, in memory as the input lies.

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
    if dims is None:
        if not along:
            raise TypeError('flip() missing 1 required positional argument: "dims"')
        dims = along
    elif along:
        raise TypeError("flip() got multiple values for argument 'dims'")
    elif type(dims) is not tuple:
        check_several("flip", "dims", dims)
        dims = tuple([integer("flip", "dims", d) for d in dims])
    for n in dims:
        if n.__class__ is not int:
            dims = as_shape(dims, "flip")
            break
    plan = _FLIP.plans.get((layout_of("flip", input), dims))
    return miss(_FLIP, (input,), (dims,)) if plan is None else run_move(_FLIP, plan, input)


@_FLIP.planned
def _plan_flip(layout, dims):
    source, offset = layout, 0
    wrapped = wrap_dims(dims, layout.ndim)
    for d in wrapped if layout.ndim else ():
        source, more = algebra.slice_dim(source, d, None, None, -1)
        offset += more
    out = formatted(layout, "preserve_format")
    return Move(layout, out, [((source, offset), (out, 0))], wrapped)


@derivative_of(_FLIP)
def _flip_vjp(node, grad):
    return (flip(grad, dims=node.attributes),)


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
    dims = ints(dims, "rot90: dims")
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
    return transpose_(flip(input, b if k == 1 else a), a, b)            # itself, not a view of what nobody else has


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
    layout_of("roll", input)
    if type(shifts) is int and (dims is None or type(dims) is int):
        plan = _ROLL.plans.get((input.layout, shifts, dims))
        if plan is not None:
            return run_move(_ROLL, plan, input)
    shifts = as_shape((shifts,), "roll: shifts")
    dims = () if dims is None else as_shape((dims,), "roll: dims")
    if not dims and len(shifts) == 1:
        return _moved(_ROLL, input if input.layout.contiguous else contiguous(input), shifts[0], None)
    if len(shifts) != len(dims) or not shifts:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.layout.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    for shift, dim in zip(shifts, dims):
        input = _moved(_ROLL, input, shift, dim)
    return input


@_ROLL.planned
def _plan_roll(layout, shift, dim):
    source, target, axis = layout, layout.dense(), 0 if dim is None else wrap_dim(dim, layout.ndim)
    if dim is None:
        source = target = Layout.of(source.dtype, (source.numel,), None, source.device)
    size = source.shape[axis] if source.ndim else 1
    pairs, step = [((source, 0), (target, 0))], shift % size if size else 0
    if step:
        pairs = [(algebra.narrow(source, axis, a, n), algebra.narrow(target, axis, b, n))
                 for a, b, n in ((0, step, size - step), (size - step, 0, step))]
    rows, itemsize = prod(source.shape[:axis]), source.dtype.itemsize
    by_rows = step and rows >= 8 and source.numel * itemsize >= 64 * rows and source.contiguous
    plan = Move(layout, layout.dense(), [] if by_rows else pairs, (shift, dim))
    if by_rows:
        n = source.numel // rows
        plan.copies = [(0, 0, kernels(source.device, "move.rearrange").plan_roll(itemsize, rows, n, step * (n // size)))]
    return plan


@derivative_of(_ROLL)
def _roll_vjp(node, grad):
    shift, dim = node.attributes
    return (_moved(_ROLL, contiguous(grad), -shift, dim),)
