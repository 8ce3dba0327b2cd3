"""Triangles and diagonals of matrices."""
from __future__ import annotations

import builtins
from functools import partial

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, recording
from ...dtypes import int64, promote_types
from ...exchange.construction import make
from ...kernels.threads import NOTHING
from ...layout import Layout, ints, wrap_dim
from ...tensor import Tensor, empty, view_of
from ..core.backends import device_with, kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of, miss, primitives
from ..creation.asked import layout_for
from ..memory.assign import ZERO, copy_, filled_from
from ..memory.copies import clone, contiguous, copy_elements
from ..memory.resize import into_exactly
from ..reduce.reduce_op import SUM
from ..shape.join import _tensors_of, cast_gradient
from ..shape.slicing import diagonal as diagonal_view
from ..shape.slicing import narrow
from ..shape.view_tape import place
from ..shape.views import expand, reshape
from .index_op import begin_write, end_write

_TRIANGLES = primitives("tril", "triu", samples="T[3, 4]; 1")

_TRIANGLE_INDICES = Primitive("triangle_indices", "Row and column of every element in a triangle of a matrix.",
                              samples="; 3, 4, 1, True, device")
_DIAG_EMBED = Primitive("diag_embed", samples="T[2, 3]; 0, -2, -1")
_TRACE = Primitive("trace", samples="T[3, 3];")
_BLOCK_DIAG = Primitive("block_diag", samples="T[2, 3], T[1, 2];")


# ---------------------------------------------------------------- triangles
def _plan_triangle(name, layout, diagonal):
    diagonal, = ints((diagonal,), f"{name}: diagonal")
    if layout.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    if not layout.numel:
        return NOTHING
    rows, columns = layout.shape[-2:]
    return kernels(layout.device, "move.rearrange").plan_triangle(
        layout.dtype.itemsize, layout.numel // (rows * columns), rows, columns, diagonal, name == "triu")


def _triangle(name):
    primitive = _TRIANGLES[name]
    primitive.planned(partial(_plan_triangle, name))

    @primitive.run
    def triangle(prepared, x: Tensor, diagonal: int):
        source = contiguous(x)
        out = empty(source.layout)
        prepared.call(source.address, out.address, prepared.descriptor)
        if x.node is not None and recording(x) and x.layout.dtype.category >= 2:
            out.node = GraphNode(primitive, (x.node,), (), diagonal)
        return out
    return triangle


_lower, _upper = _triangle("tril"), _triangle("triu")


@derivative_of(*_TRIANGLES.values())
def _triangle_vjp(node, grad):
    return ((_lower if node.primitive is _TRIANGLES["tril"] else _upper)(grad, node.attributes),)


@method
def tril(input, diagonal: int = 0, *, out=None) -> Tensor:
    """The lower triangle of matrices, 0 above a diagonal.

    Args:
        input: (*, m, n).
        diagonal: the last diagonal that stays: 0 is the main one, positive ones lie above it.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2, 3).tril()
        tensor([[1., 0., 0.],
                [1., 1., 0.]])
    """
    return into_exactly("tril", out, _lower(input, diagonal))


@method
def triu(input, diagonal: int = 0, *, out=None) -> Tensor:
    """The upper triangle of matrices, 0 below a diagonal.

    Args:
        input: (*, m, n).
        diagonal: the first diagonal that stays: 0 is the main one, positive ones lie above it.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2, 3).triu(1)
        tensor([[0., 1., 1.],
                [0., 0., 1.]])
    """
    return into_exactly("triu", out, _upper(input, diagonal))


def _in_place(function, upper):
    name, primitive = function.__name__, _TRIANGLES[function.__name__]

    def inplace(self, diagonal: int = 0) -> Tensor:
        if not self.layout.contiguous or self.layout.handler is not None:
            return copy_(self, function(self, diagonal))
        graph = begin_write(name, self)
        prepared = primitive.plans.get((self.layout, diagonal))
        if prepared is None or type(diagonal) is not int:
            prepared = primitive.planned_for((self.layout,), ints((diagonal,), f"{name}_: diagonal"))
        prepared.call(self.address, self.address, prepared.descriptor)
        return end_write(primitive, self, graph, (), (), diagonal)
    inplace.__name__ = inplace.__qualname__ = name + "_"
    inplace.__doc__ = f"""In-place form of `{name}`: sets what it leaves out of this tensor to 0, and returns it.

    Args:
        diagonal: the {"first" if upper else "last"} diagonal that stays: 0 is the main one, positive ones lie above it.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2, 2).{name}_()
        {"tensor([[1., 1.]," if upper else "tensor([[1., 0.],"}
                {"[0., 1.]])" if upper else "[1., 1.]])"}
    """
    return method(inplace)


tril_, triu_ = _in_place(tril, False), _in_place(triu, True)


def _below(rows, columns, offset):
    """How many elements of a matrix are on a diagonal or below it."""
    first, full = min(max(-offset, 0), rows), min(max(columns - offset, 0), rows)    # the first rows with any, and with all, there
    return (full - first) * (first + full + 1 + 2 * offset) // 2 + (rows - full) * columns


def _triangle_indices(name, row, col, offset, upper, dtype, device):
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: row and col must be non-negative, got {row} and {col}")
    target = layout_for(name, (), int64, device).device
    out = _places(row, col, offset, upper, device_with(target, "move.rearrange"))
    return out if dtype is None and out.layout.device is target else out.to(dtype=dtype, device=target)


@_TRIANGLE_INDICES.planned
def _plan_places(row, col, offset, upper, device):
    row, col, offset = ints((row, col, offset), "tril_indices")
    count = row * col - _below(row, col, offset - 1) if upper else _below(row, col, offset)
    layout = Layout.of(int64, (2, count), None, device)
    family = kernels(device, "move.rearrange")
    return layout, family.plan_triangle_places(row, col, offset, upper, count) if count else NOTHING


@_TRIANGLE_INDICES.run
def _places(plan, row: int, col: int, offset: int, upper, device):
    layout, prepared = plan
    out = empty(layout)
    prepared.call(out.address, prepared.descriptor)
    return out


def tril_indices(row, col, offset: int = 0, *, dtype=None, device=None) -> Tensor:
    """Row and column of every element in the lower triangle of a matrix.

    Args:
        row, col: how many rows and columns it has.
        offset: the last diagonal: 0 is the main one, positive ones lie above it.
        dtype, device: int64 and the CPU when None.

    Returns:
        (2, count), row by row.

    Raises:
        RuntimeError: a negative number of rows or columns.

    Example:
        >>> import numtorch as torch
        >>> torch.tril_indices(2, 2)
        tensor([[0, 1, 1],
                [0, 0, 1]])
    """
    return _triangle_indices("tril_indices", row, col, offset, False, dtype, device)


def triu_indices(row, col, offset: int = 0, *, dtype=None, device=None) -> Tensor:
    """Row and column of every element in the upper triangle of a matrix.

    Args:
        row, col: how many rows and columns it has.
        offset: the first diagonal: 0 is the main one, positive ones lie above it.
        dtype, device: int64 and the CPU when None.

    Returns:
        (2, count), row by row.

    Raises:
        RuntimeError: a negative number of rows or columns.

    Example:
        >>> import numtorch as torch
        >>> torch.triu_indices(2, 2)
        tensor([[0, 0, 1],
                [0, 1, 1]])
    """
    return _triangle_indices("triu_indices", row, col, offset, True, dtype, device)


# ---------------------------------------------------------------- diagonals
@_DIAG_EMBED.planned
def _plan_diagonal(layout, offset, dim1, dim2):
    ndim = layout.ndim + 1
    a, b, (offset,) = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim), ints((offset,), "diag_embed: offset")
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    size = layout.shape[-1] + (offset if offset >= 0 else -offset)
    others = iter(layout.shape[:-1])
    base = Layout.of(layout.dtype, tuple([size if d in (a, b) else next(others) for d in range(ndim)]), None, layout.device)
    return base, *algebra.diagonal(base, offset, a, b)


@method
def diag_embed(input, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in dimensions dim1 and dim2, zero but for a diagonal, which the last dimension of `input` holds.

    Args:
        input: (*, n).
        offset: which diagonal: 0 is the main one, positive ones lie above it.
        dim1, dim2: where the rows and columns are in the result.

    Returns:
        One dimension more, with n + |offset| rows and columns.

    Raises:
        RuntimeError: `dim1` and `dim2` are the same.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).diag_embed(1)
        tensor([[0, 1, 0],
                [0, 0, 2],
                [0, 0, 0]])
    """
    return _embedded(input, offset, dim1, dim2)


@_DIAG_EMBED.run
def _embedded(plan, input: Tensor, offset: int, dim1: int, dim2: int):
    base, region, start = plan
    out = filled_from(base, ZERO)
    copy_elements(input, view_of(out, region, start))
    if input.node is not None and recording(input) and base.dtype.category >= 2:
        out.node = GraphNode(_DIAG_EMBED, (input.node,), (), (offset, dim1, dim2))
    return out


@_DIAG_EMBED.derivative
def _diag_embed_vjp(node, grad):
    return (diagonal_view(grad, *node.attributes),)


@method
def diag(input, diagonal: int = 0, *, out=None) -> Tensor:
    """A matrix with a vector as its diagonal, or the diagonal of a matrix, in memory of its own.

    Args:
        input: (n,) or (m, n).
        diagonal: which: 0 is the main one, positive ones lie above it.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: neither a vector nor a matrix.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).diag()
        tensor([[1, 0],
                [0, 2]])
    """
    if layout_of("diag", input).ndim == 1:
        return into_exactly("diag", out, diag_embed(input, diagonal))
    if input.layout.ndim == 2:
        return into_exactly("diag", out, clone(input.diagonal(diagonal)))
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.layout.ndim}D")


@method
def diagflat(input, offset: int = 0) -> Tensor:
    """A matrix with all elements of a tensor as its diagonal, in row-major order.

    Args:
        input: of any shape.
        offset: which diagonal: 0 is the main one, positive ones lie above it.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1], [2]]).diagflat()
        tensor([[1, 0],
                [0, 2]])
    """
    return diag_embed(reshape(input, -1), offset)


@method
def trace(input) -> Tensor:
    """The sum of a matrix's main diagonal.

    Args:
        input: (m, n); integers sum as int64.

    Raises:
        RuntimeError: not a matrix.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).trace()
        tensor(5)
    """
    return _trace(input)


@_TRACE.planned
def _plan_trace(layout):
    if layout.ndim != 2:
        raise RuntimeError("trace: expected a matrix")
    return SUM.planned_for((algebra.diagonal(layout, 0, 0, 1)[0],), (None, False, ()))         # which begins where the matrix does


@_TRACE.run
def _trace(plan, input: Tensor):
    out = empty(plan.out)
    plan.call(input.address, out.address, plan.descriptor)
    if input.node is not None and recording(input) and input.layout.dtype.category >= 2:
        out.node = GraphNode(_TRACE, (input.node,), (), input.layout)
    return out


@_TRACE.derivative
def _trace_vjp(node, grad):
    layout = node.attributes.dense(grad.layout.dtype)
    region, start = algebra.diagonal(layout, 0, 0, 1)
    return (place(expand(grad, region.shape), layout, region, start),)


@method
def fill_diagonal_(self, fill_value, wrap: bool = False) -> Tensor:
    """Write a number to the main diagonal (of a matrix, or of dimensions that are all of one extent), and return this tensor.

    Args:
        fill_value: the number.
        wrap: begin the diagonal again below the end of a tall matrix, one row after it.

    Raises:
        RuntimeError: fewer than two dimensions, or more of several extents.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3).fill_diagonal_(7.0)
        tensor([[7., 0., 0.],
                [0., 7., 0.]])
    """
    shape, strides = self.layout.shape, self.layout.strides
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and any(n != shape[0] for n in shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    height, width = shape[0], shape[1] if len(shape) == 2 else shape[0]
    step = 0
    for stride in strides:
        step += stride
    count = height if height < width else width
    if wrap and len(shape) == 2 and height > width + 1:
        for first in range(0, height, width + 1):
            _diagonal_of(self, first * strides[0], step, min(width, height - first)).fill_(fill_value)
    else:
        _diagonal_of(self, 0, step, count).fill_(fill_value)
    return self


def _diagonal_of(x, start, step, count):
    offset = (x.address - x.memory.address) // x.layout.dtype.itemsize
    return x.as_strided((count,), (step,), offset + start)


def block_diag(*tensors) -> Tensor:
    """A matrix with these along its diagonal, and 0 elsewhere.

    Args:
        tensors: numbers, vectors (taken for rows) and matrices.

    Raises:
        RuntimeError: one of more than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.block_diag(torch.tensor([1, 2]), torch.tensor([[3], [4]]))
        tensor([[1, 2, 0],
                [0, 0, 3],
                [0, 0, 4]])
    """
    blocks = _tensors_of("block_diag", tensors)
    if not blocks:
        return make([[]])
    layouts = tuple([b.layout for b in blocks])
    plan = _BLOCK_DIAG.plans.get(layouts if len(layouts) > 1 else layouts[0])
    return miss(_BLOCK_DIAG, tuple(blocks)) if plan is None else _join_blocks(plan, *blocks)


def _join_blocks(plan, *blocks):
    layout, places = plan
    out = filled_from(layout, ZERO)
    for block, (within, offset) in zip(blocks, places):
        copy_elements(block, view_of(out, within, offset))
    if recording(*blocks) and layout.dtype.category >= 2:
        out.node = GraphNode(_BLOCK_DIAG, tuple([b.node for b in blocks]), (),
                             tuple([(b.layout.dtype, *place) for b, place in zip(blocks, places)]))
    return out


_BLOCK_DIAG.execute = _join_blocks


@_BLOCK_DIAG.planned
def _plan_blocks(*layouts):
    """The result's layout, and of each block its layout in the result and where it begins."""
    kind, sizes = layouts[0].dtype, []
    for layout in layouts:
        if layout.ndim > 2:
            raise RuntimeError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Got {layout.ndim}")
        kind = promote_types(kind, layout.dtype)
        sizes.append((1,) * (2 - layout.ndim) + layout.shape)
    shape = (builtins.sum(h for h, _ in sizes), builtins.sum(w for _, w in sizes))
    out, places, row, column = Layout.of(kind, shape, None, layouts[0].device), [], 0, 0
    for layout, (height, width) in zip(layouts, sizes):
        strides = (shape[1], 1)[2 - layout.ndim:]
        places.append((Layout.of(kind, layout.shape, strides, layout.device), row * shape[1] + column))
        row, column = row + height, column + width
    return out, places


@_BLOCK_DIAG.derivative
def _block_diag_vjp(node, grad):
    (rows, width), grads = grad.layout.shape, []
    for position, (kind, within, offset) in enumerate(node.attributes):
        height, columns = (1,) * (2 - within.ndim) + within.shape
        row, column = divmod(offset, width) if width else (0, 0)
        block = narrow(narrow(grad, 0, min(row, rows - height), height), 1, min(column, width - columns), columns)
        grads.append(cast_gradient(reshape(block, within.shape), kind) if node.needs(position) else None)
    return grads
