"""COO tensors: how they are made and taken apart, put in order, and made of dense tensors and back.

A sparse tensor is in the graph, its parts are not. All that is computed goes by its values (`entries`) and back (`coo`), which are
recorded; a gradient is that of the matrix, so that of an element is the sum of all that a gradient stores for its place.
"""
from __future__ import annotations

import functools
import math
from typing import Any

from ..autograd.graph import GraphNode, Leaf, Recorded, recording
from ..dtypes import as_dtype, bool_, int64
from ..exchange.construction import make
from ..layout import Layout, as_shape
from ..ops.core.arguments import expect_layout
from ..ops.core.backends import kernels, placed
from ..ops.core.operands import method
from ..ops.core.primitive import Primitive, miss
from ..ops.core.status import check_values, has_values
from ..ops.creation.fill import full, zeros
from ..ops.creation.ranges import arange
from ..ops.index.index_select import index_select, index_values, spread
from ..ops.index.mask import nonzero
from ..ops.memory.assign import filled
from ..ops.memory.copies import to_device, to_dtype
from ..ops.pointwise import arithmetic, comparison
from ..ops.reduce import reductions
from ..ops.shape.join import cat
from ..ops.shape.views import expand, reshape, unsqueeze
from ..ops.sort.search import searchsorted
from ..tensor import Tensor, alias, empty
from .layouts import COO, SparseLayout, expect, made
from .pattern import keys_of, order_of, remembered, rows_of

VALUES = Primitive("values", "The stored elements of a sparse tensor.", ("input",),
                   samples="coo(int64([[0, 1], [2, 0]]), T[2], (2, 3));")
TO_DENSE = Primitive("to_dense", parameters=("input",), samples="coo(int64([[0, 1], [2, 0]]), T[2], (2, 3));")
COALESCE = Primitive("coalesce", parameters=("input",), samples="coo(int64([[0, 0]]), T[2], (2,));")
PERMUTE, TO_SPARSE = Recorded("permute"), Recorded("to_sparse")
LINEAR = {COALESCE, PERMUTE}                             # whose derivatives take gradients of all elements, dense ones
SUM_SEGMENTS = Primitive("sum_segments", "The sums of rows that belong together.",
                         samples="T[3], int64([2, 0, 1]), int64([0, 2]);")


# ---------------------------------------------------------------- values, and tensors of them
def coordinates(x) -> tuple:
    """An index tensor for each sparse dimension."""
    return coordinates_in(x.layout, x.memory.parts)


def coordinates_in(layout, parts):
    if layout.kind == "sparse_coo":
        return tuple([parts[0][d] for d in range(layout.sparse_dim)])
    pointers, plain = parts[:2]
    lines = lines_of(pointers, plain.layout.shape[-1])
    if not layout.batch and not layout.blocksize:
        return (lines, plain) if layout.by_rows else (plain, lines)
    count = max(layout.lines()[0], 1)
    which, lines, plain = lines // count, lines % count, reshape(plain, -1)
    indices = list((lines, plain) if layout.by_rows else (plain, lines))
    for extent in reversed(layout.shape[:layout.batch]):
        indices.insert(0, which % max(extent, 1))
        which = which // max(extent, 1)
    if layout.blocksize:
        (h, w), device = layout.blocksize, layout.device
        rows = reshape(indices[-2], (-1, 1, 1)) * h + reshape(arange(h, device=device), (h, 1))
        columns = reshape(indices[-1], (-1, 1, 1)) * w + arange(w, device=device)
        every = (plain.layout.numel, h, w)
        indices = [reshape(expand(i, every), -1) for i in (*[reshape(i, (-1, 1, 1)) for i in indices[:-2]], rows, columns)]
    return tuple(indices)


def lines_of(pointers, nnz) -> Tensor:
    """The row, or column, of each stored element, counted through all matrices of a batch."""
    if pointers.layout.ndim == 1:
        return rows_of(pointers, nnz)
    count, device = math.prod(pointers.layout.shape[:-1]), pointers.layout.device
    each = reshape(pointers, (count, pointers.layout.shape[-1]))
    begins = reshape(each[:, :-1] + reshape(arange(count, device=device), (-1, 1)) * nnz, -1)
    return rows_of(cat((begins, full((1,), count * nnz, dtype=int64, device=device)), 0), count * nnz)


def in_list(layout, values) -> Tensor:
    """Stored values as those of single elements, (nnz, *dense), whatever batches and blocks they lie in."""
    if not any(layout.structure):
        return values
    return reshape(values, (-1, *layout.shape[layout.ndim - layout.dense_dim:]))


def values_of(x) -> Tensor:
    """The values of a tensor whose coordinates are distinct where it is recorded: a tensor over the same memory."""
    out = alias(x.memory.parts[-1])
    if recording(x):
        out.node = GraphNode(VALUES, (x.node,), x.memory.parts[:-1], (x.layout, x.memory.coalesced))
    return out


def entries(x):
    """A sparse tensor, coalesced where it is recorded, and its values: what elementwise calls go by."""
    if recording(x) and x.layout.kind == "sparse_coo" and not x.memory.coalesced:
        x = coalesce(x)
    return x, values_of(x)


def takes_all(node) -> bool:
    """Whether a place in the graph takes a gradient of the elements that are not stored too: a leaf's, that of a dense tensor made
    sparse, and what is linear in these. Its gradient is dense where PyTorch's is."""
    pending = [node]
    for node in pending:
        if type(node) is Leaf:
            return True
        if isinstance(node, GraphNode):
            if node.primitive is TO_SPARSE:
                return True
            if node.primitive in LINEAR:
                pending += node.edges
    return False


def through(x, primitive, compute, saved=(), attributes=None) -> Tensor:
    """What `compute` makes of a sparse tensor, linear in it, recorded as one call: the primitive's derivative takes sparse
    gradients and dense ones."""
    out = compute(x.detach())
    out.node = GraphNode(primitive, (x.node,), saved, attributes)
    return out


@VALUES.derivative
def _values_vjp(node, grad, *indices):
    layout, coalesced = node.attributes
    return (with_values(layout, indices, coalesced, grad),)


@functools.cache
def _named(name):
    """What a sparse tensor of recorded values is recorded as."""
    made_of = Recorded(name)

    @made_of.derivative
    def vjp(node, grad, *indices):
        layout, coalesced = node.attributes
        return (taken(grad, layout, indices, coalesced),)
    return made_of


def check_ordinary(values, title):
    if values.layout.handler is not None:
        raise NotImplementedError(f"{title}: no sparse tensor can be made of values that are a batch or a dual number of "
                                  f"torch.func; use dense tensors inside the transform")


def with_values(layout: SparseLayout, index_parts, coalesced, values, name="sparse_coo_tensor_with_dims_and_tensors") -> Tensor:
    """A sparse tensor of recorded values at the places of another, with the values' dtype.

    Raises:
        NotImplementedError: the values are of another special layout, such as a batch of `vmap`.
    """
    check_ordinary(values, layout.title)
    out = made(layout.with_dtype(values.layout.dtype), (*index_parts, values.detach()), coalesced)
    if recording(values) and values.layout.dtype.category >= 2:
        out.node = GraphNode(_named(name), (values.node,), tuple(index_parts), (out.layout, coalesced))
    return out


def like(x, values, name="sparse_coo_tensor_with_dims_and_tensors") -> Tensor:
    """A sparse tensor of recorded values at the places of x."""
    return with_values(x.layout, x.memory.parts[:-1], x.memory.coalesced, values, name)


def coo(indices, values, shape, coalesced=False, name="sparse_coo_tensor_with_dims_and_tensors") -> Tensor:
    """A COO tensor of recorded values at coordinates that have been checked."""
    dims, nnz = indices.layout.shape
    layout = COO.of(values.layout.dtype, tuple(shape), dims, values.layout.device)
    return with_values(layout, (indices,), coalesced or nnz < 2, values, name)


def taken(x, layout, index_parts, coalesced=False) -> Tensor:
    """The values that a tensor, sparse or dense, has at the places of a layout with these index parts: (nnz, *dense)."""
    if isinstance(x.layout, SparseLayout):
        own = x.memory.parts[:-1]
        if x.layout.kind == layout.kind and (coalesced or layout.kind != "sparse_coo") and all(
                a is b for a, b in zip(own, index_parts)):
            return values_of(x)
        return _searched(x, layout, index_parts)
    indices = coordinates_in(layout, index_parts)
    if not indices:
        return expand(unsqueeze(x, 0), index_parts[0].layout.shape[1], *x.layout.shape)
    return _as_stored(layout, index_parts, index_values(x, tuple(range(len(indices))), indices))


def _as_stored(layout, index_parts, values):
    """`in_list` undone."""
    if not any(layout.structure):
        return values
    return reshape(values, (*index_parts[1].layout.shape, *layout.blocksize, *layout.shape[layout.ndim - layout.dense_dim:]))


def _searched(x, layout, index_parts):
    """`taken` of a sparse tensor of other places: 0 where it has none."""
    if x.layout.kind != "sparse_coo":
        x = to_coo(x)
    x, shape = coalesce(x), layout.shape[:layout.ndim - layout.dense_dim]
    indices = index_parts[0] if layout.kind == "sparse_coo" else stacked(coordinates_in(layout, index_parts))
    keys, known = keys_of(indices, shape)[0], keys_of(x.memory.parts[0], shape)[0]
    values = values_of(x)
    if not known.layout.numel:
        nothing = zeros((keys.layout.numel, *values.layout.shape[1:]), dtype=values.layout.dtype, device=values.layout.device)
        return _as_stored(layout, index_parts, nothing)
    places = searchsorted(known, keys)
    places = arithmetic.mul(places, comparison.lt(places, known.layout.numel))       # behind the last: compared with the first
    there = comparison.eq(index_select(known, 0, places), keys)
    there = reshape(there, (-1, *(1,) * (values.layout.ndim - 1)))
    return _as_stored(layout, index_parts, arithmetic.where(there, index_select(values, 0, places), 0))


def stacked(indices) -> Tensor:
    """Index tensors as the rows of one."""
    out = empty(Layout.of(int64, (len(indices), indices[0].layout.numel), None, indices[0].layout.device))
    for row, each in zip(out, indices):
        row.copy_(each)
    return out


# ---------------------------------------------------------------- made by users
def there(data, device):
    """A part of a sparse tensor that is made, on the device that is asked for."""
    if not isinstance(data, Tensor):
        return make(data, device=device)
    return data if device is None else to_device(data, placed(device))


def _as_indices(indices, device):
    indices = there(indices, device)
    if indices.layout.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.layout.shape)}")
    return to_dtype(indices.detach(), int64).contiguous()


def check_within(indices, shape):
    """Raise RuntimeError for a coordinate outside of a shape: kernels believe them."""
    if not indices.layout.numel or not has_values(indices):
        return
    low, high = reductions.amin(indices, 1).tolist(), reductions.amax(indices, 1).tolist()
    for d, (least, most) in enumerate(zip(low, high)):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {d}")
        if most >= shape[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {shape[d]} but found index {most}")


def sparse_coo_tensor(indices: Any, values: Any = None, size=None, *, dtype=None, device=None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants=None, is_coalesced=None) -> Tensor:
    """A tensor of which only some elements are stored, each with its coordinates; those stored twice count twice.

    Args:
        indices: (sparse_dim, nnz) integers, the coordinates of each stored element; or the size of an empty tensor.
        values: (nnz, *dense), a number or a tensor for each.
        size: the shape; by default as small as the indices allow.
        dtype, device: those of the values when None.
        pin_memory, check_invariants: taken for PyTorch's sake; indices are checked always.
        requires_grad: whether to record what is computed from it.
        is_coalesced: True where the indices are in order and distinct.

    Raises:
        RuntimeError: indices outside of the size, or that do not fit the values; or said to be in order and not.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3., 4.], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    if values is None:
        return _empty(as_shape((size if size is not None else indices,), "size"), dtype, device, requires_grad)
    indices = _as_indices(indices, device)
    values = there(values, device)
    if dtype is not None:
        values = to_dtype(values, as_dtype(dtype))
    dims, nnz = indices.layout.shape
    if not values.layout.ndim:
        values = reshape(values, 1)
    if values.layout.shape[0] != nnz:
        raise RuntimeError(f"indices and values must have same nnz, but got nnz from indices: {nnz}, nnz from values: "
                           f"{values.layout.shape[0]}")
    dense = values.layout.shape[1:]
    if size is None:
        size = (*[n + 1 for n in reductions.amax(indices, 1).tolist()], *dense) if nnz and dims else (*(0,) * dims, *dense)
    size = as_shape((size,), "size")
    if len(size) != dims + len(dense):
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {dims}, "
                           f"dense_dim = {len(dense)}")
    if size[dims:] != dense:
        raise RuntimeError(f"values has incorrect size, expected {[nnz, *size[dims:]]}, got {list(values.layout.shape)}")
    check_within(indices, size)
    if is_coalesced and has_values(indices) and keys_of(indices, size[:dims])[1]:
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    out = coo(indices, values.contiguous(), size, bool(is_coalesced))
    return out.requires_grad_() if requires_grad else out


def _empty(shape, dtype, device, requires_grad):
    device = placed(device)
    indices = empty(Layout.of(int64, (len(shape), 0), None, device))
    out = coo(indices, zeros(0, dtype=dtype, device=device), shape, False)
    return out.requires_grad_() if requires_grad else out


def empty_coo(dtype, shape, dims, device) -> Tensor:
    """A COO tensor that stores nothing."""
    return coo(empty(Layout.of(int64, (dims, 0), None, device)), empty(Layout.of(dtype, (0, *shape[dims:]), None, device)), shape)


# ---------------------------------------------------------------- in order
def coalesce(x, kind=COALESCE) -> Tensor:
    """The tensor with its coordinates in order and distinct; values of the same place added. `kind`: what that is recorded as."""
    if x.layout.kind == "sparse_coo" and not isinstance(x.layout, COO):
        return miss(COALESCE, (x,))
    expect(x, COO, "coalesce")
    if x.memory.coalesced:
        return x
    layout, (indices, values) = x.layout, x.memory.parts
    shape = layout.shape[:layout.sparse_dim]
    if indices.layout.shape[1] > 1:
        check_values(indices)                            # how many are distinct
    if indices.layout.shape[1] < 2 or not keys_of(indices, shape)[1]:
        out = made(layout, (indices, values), True)
    else:
        order = order_of(indices, shape)
        out = made(layout, (order.indices, _sum_segments(values.contiguous(), order.order, order.starts)), True)
    if recording(x):
        out.node = GraphNode(kind, (x.node,), ())
    return out


@COALESCE.derivative
def _coalesce_vjp(node, grad):
    return (grad,)


@SUM_SEGMENTS.planned
def _plan_segments(values, order, starts):
    expect_layout("coalesce", "order", order, values.shape[:1], int64)
    expect_layout("coalesce", "starts", starts, (starts.numel,), int64)
    out = Layout.of(values.dtype, (starts.numel, *values.shape[1:]), None, values.device)
    if not out.numel:
        return out, None
    return out, kernels(values.device, "sparse.coalesce").plan_sum_segments(
        values.dtype.kernel, starts.numel, order.numel, out.numel // starts.numel)


@SUM_SEGMENTS.run
def _sum_segments(plan, values: Tensor, order: Tensor, starts: Tensor):
    """The sums of the values that share a place, (places, *dense)."""
    layout, prepared = plan
    out = empty(layout)
    if prepared is not None:
        prepared.call(values.address, order.address, starts.address, out.address, prepared.descriptor)
    return out


# ---------------------------------------------------------------- dense
def to_dense(x) -> Tensor:
    """All elements, stored or not."""
    if not isinstance(x.layout, SparseLayout):
        return x if x.layout.kind == "strided" else miss(TO_DENSE, (x,))
    if recording(x):
        x, _ = entries(x)
    layout, indices, values = x.layout, coordinates(x), in_list(x.layout, x.memory.parts[-1])
    if layout.dtype is bool_:
        out = to_dtype(to_dense(like(x.detach(), to_dtype(x.memory.parts[-1], int64))), bool_)
    elif indices:
        whole = Layout.of(layout.dtype, layout.shape, None, layout.device)
        out = spread(values.contiguous(), whole, tuple(range(len(indices))), indices)
    else:
        out = reductions.sum(values, 0) if values.layout.shape[0] else filled(Layout.of(layout.dtype, layout.shape), 0)
    if recording(x):
        out.node = GraphNode(TO_DENSE, (x.node,), x.memory.parts[:-1], (layout, x.memory.coalesced))
    return out


VALUES.function = values_of
COALESCE.function, TO_DENSE.function = coalesce, to_dense          # which of all samples of vmap are the same of each


@TO_DENSE.derivative
def _to_dense_vjp(node, grad, *indices):
    layout, coalesced = node.attributes
    return (with_values(layout, indices, coalesced, taken(grad, layout, indices, coalesced)),)


def of_dense(x, title, convert, *options) -> Tensor:
    """What `convert` makes of a dense tensor: a sparse one, whose gradient is that of all elements, stored or not."""
    check_ordinary(x, title)
    out = convert(x.detach(), *options)
    if recording(x):
        out.node = GraphNode(TO_SPARSE, (x.node,), ())
    return out


@TO_SPARSE.derivative
def _to_sparse_vjp(node, grad):
    return (to_dense(grad),)


def dense_to_coo(x, sparse_dim=None) -> Tensor:
    """A COO tensor of the elements that are not 0: of the first `sparse_dim` dimensions, where something is not."""
    return of_dense(x, COO.title, stored_of, sparse_dim)


def stored_of(x, sparse_dim=None) -> Tensor:
    """`dense_to_coo`, unrecorded."""
    layout = x.layout
    sparse_dim = layout.ndim if sparse_dim is None else sparse_dim
    if not 0 <= sparse_dim <= layout.ndim or (layout.ndim and not sparse_dim):
        low = 1 if layout.ndim and not sparse_dim else 0
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [{low},{layout.ndim}] range, but {sparse_dim} is "
                           f"given")
    if not layout.ndim:
        count = int(bool(x != 0))
        indices = empty(Layout.of(int64, (0, count), None, layout.device))
        return coo(indices, reshape(x, 1)[:count], (), True)
    some = comparison.ne(x, 0)
    if sparse_dim < layout.ndim:
        some = reductions.any(reshape(some, (*layout.shape[:sparse_dim], math.prod(layout.shape[sparse_dim:]))), -1)
    indices = nonzero(some).t().contiguous()
    values = index_values(x, tuple(range(sparse_dim)), tuple([indices[d] for d in range(sparse_dim)]))
    return coo(indices, values, layout.shape, True)


def to_coo(x) -> Tensor:
    """A compressed tensor as a coalesced COO tensor: a batch's dimensions are indexed too."""
    layout = x.layout
    pointers, plain, _ = x.memory.parts
    indices = remembered(pointers, ("coordinates", layout), lambda: stacked(coordinates(x)), plain)
    out = coo(indices, in_list(layout, values_of(x)), layout.shape, layout.by_rows and not layout.blocksize)
    return out if out.memory.coalesced else coalesce(out)


# ---------------------------------------------------------------- parts, for users
def _ordered_part(x, name, place):
    expect(x, COO, name)
    if not x.memory.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return x.memory.parts[place]


def _indices(self) -> Tensor:
    """The coordinates of the stored elements of a coalesced COO tensor, (sparse_dim, nnz).

    Raises:
        RuntimeError: another layout, or not coalesced.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
    """
    return alias(_ordered_part(self, "indices", 0))


def _values(self) -> Tensor:
    """The stored elements of a coalesced COO tensor, (nnz, *dense), or of a compressed one, (*batch, nnz, *block, *dense).

    Raises:
        RuntimeError: a tensor that is not sparse, or not coalesced.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().values()
        tensor([1., 1.])
    """
    if self.layout.kind in ("strided", "sparse_coo"):
        _ordered_part(self, "values", 1)
    return values_of(self)


method(_indices, "indices")
method(_values, "values")
