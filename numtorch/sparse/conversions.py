"""Compressed tensors made of COO and dense ones, and of compressed ones of another kind."""
from __future__ import annotations

import math

from ..autograd.graph import Recorded, recording
from ..dtypes import as_dtype, int64
from ..ops.core.backends import placed
from ..ops.core.late import provide
from ..ops.creation.fill import full, zeros
from ..ops.creation.ranges import arange
from ..ops.index.index_select import put_values
from ..ops.pointwise import comparison
from ..ops.reduce import reductions
from ..ops.shape.join import cat
from ..ops.shape.views import reshape, transpose
from ..ops.sort.unique import unique
from ..tensor import Tensor
from .coo import (
    LINEAR,
    coalesce,
    coo,
    coordinates,
    dense_to_coo,
    empty_coo,
    of_dense,
    stacked,
    stored_of,
    takes_all,
    through,
    to_coo,
    values_of,
    with_values,
)
from .layouts import BSC, BSR, COMPRESSED, CSC, CSR, Compressed, SparseLayout
from .pattern import pointers_of

_CONVERTED = Recorded("to_sparse")
LINEAR.add(_CONVERTED)
_TRANSPOSES = {CSR: CSC, CSC: CSR, BSR: BSC, BSC: BSR}


def _pair(blocksize, name):
    """A size of blocks as rows and columns. Raises RuntimeError where it is none."""
    pair = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    if len(pair) != 2:
        raise RuntimeError(f"{name}: expected blocksize to be a pair of integers, got {list(pair)}")
    if min(pair) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(pair)}")
    return pair


def as_kind(x, kind: str, blocksize=None, dense_dim=0) -> Tensor:
    """A sparse or dense tensor as one of another sparse kind.

    Args:
        x: the tensor.
        kind: the name of the layout.
        blocksize: of BSR and BSC.
        dense_dim: of a dense tensor, how many of its last dimensions a stored element has.
    """
    cls, own = COMPRESSED.get(kind), x.layout
    if cls is not None and cls.in_blocks:
        if blocksize is None:
            raise TypeError(f'to_{kind}() missing 1 required positional arguments: "blocksize"')
        blocksize = _pair(blocksize, f"to_{kind}")
    elif blocksize is not None:
        raise RuntimeError(f"to_{kind}: expected no blocksize, got {blocksize}")
    if own.kind == kind:
        if cls is not None and own.blocksize != (blocksize or ()):
            title = f"Sparse{kind[-3:].capitalize()}"
            raise RuntimeError(f"to_{kind}: conversion from {title} to {title} with blocksize changed from {list(own.blocksize)} "
                               f"to {list(blocksize)} is not supported")
        return x
    if not isinstance(own, SparseLayout):
        return dense_to_coo(x) if cls is None else of_dense(x, cls.title, _compressed_of, cls, blocksize or (), dense_dim)
    if recording(x) and takes_all(x.node):
        return through(x, _CONVERTED, lambda x: as_kind(x, kind, blocksize), (), own)
    x = to_coo(x) if isinstance(own, Compressed) else x
    return x if cls is None else _of_coo(x, cls, blocksize or ())


@_CONVERTED.derivative
def _converted_vjp(node, grad):
    """That of a COO tensor is one. Of a compressed one it stays as it is: each matrix of a batch would have to store as much."""
    own = node.attributes
    return (as_kind(grad, own.kind) if own.kind == "sparse_coo" else grad,)


def as_layout(x, layout) -> Tensor:
    """A COO tensor as one of the kind, and the blocks, of another layout."""
    return as_kind(x, layout.kind, getattr(layout, "blocksize", None) or None)


@provide
def none_like(x, dtype, device) -> Tensor:
    """A sparse tensor of the layout and shape of another that stores nothing."""
    layout = x.layout
    if not isinstance(layout, SparseLayout):
        raise NotImplementedError("zeros_like: what one sample of a sparse tensor stores is not known inside of vmap; use "
                                  "`to_dense()` there")
    kind, device = layout.dtype if dtype is None else as_dtype(dtype), layout.device if device is None else placed(device)
    if not isinstance(layout, Compressed):
        return empty_coo(kind, layout.shape, layout.sparse_dim, device)
    lead, dense = layout.shape[:layout.batch], layout.shape[layout.ndim - layout.dense_dim:]
    parts = [zeros((*lead, extent), dtype=int64, device=device) for extent in (layout.lines()[0] + 1, 0)]
    values = zeros((*lead, 0, *layout.blocksize, *dense), dtype=kind, device=device)
    made = type(layout).of(kind, layout.shape, 2, device, layout.batch, layout.blocksize)
    return with_values(made, parts, True, values, "zeros_like")


def _check_blocks(cls, extents, blocksize, name):
    for extent, block in zip(extents, blocksize):
        if extent % block:
            raise RuntimeError(f"{name}_to_{cls.kind}: tensor sparse size ({','.join(map(str, extents))}) must be divisible by "
                               f"given blocksize ({','.join(map(str, blocksize))})")


def _compressed_of(x, cls, blocksize, dense_dim):
    shape, batch = x.layout.shape, x.layout.ndim - 2 - dense_dim
    if batch < 0 or dense_dim < 0:
        raise RuntimeError(f"dense_to_{cls.kind}: expected at least 2 dimensions and {dense_dim} dense ones, got {x.layout.ndim}")
    lead, (n, m), rest = shape[:batch], shape[batch:batch + 2], shape[batch + 2:]
    if blocksize:
        _check_blocks(cls, (n, m), blocksize, "dense")
        h, w = blocksize
        x = transpose(reshape(x, (*lead, n // h, h, m // w, w, *rest)), batch + 1, batch + 2)
    if not cls.by_rows:
        x = transpose(x, batch, batch + 1)
    return _compress(stored_of(x, batch + 2), cls.of(x.layout.dtype, shape, 2, x.layout.device, batch, blocksize))


def _of_coo(x, cls, blocksize):
    layout = x.layout
    batch, shape = layout.sparse_dim - 2, layout.shape
    if batch < 0:
        raise RuntimeError(f"to_{cls.kind}: expected a matrix, or a batch of them, got {layout.ndim} dimensions, of which "
                           f"{layout.dense_dim} are dense")
    x = coalesce(x)
    if blocksize:
        _check_blocks(cls, shape[batch:batch + 2], blocksize, "sparse_coo")
        x = _gathered(x, batch, blocksize)
    if not cls.by_rows:
        order = list(range(batch + 2))
        order[-2:] = order[:-3:-1]
        rows = coordinates(x)
        x = coalesce(coo(stacked([rows[d] for d in order]), values_of(x),
                         (*[x.layout.shape[d] for d in order], *x.layout.shape[batch + 2:])))
    return _compress(x, cls.of(layout.dtype, shape, 2, layout.device, batch, blocksize))


def _gathered(x, batch, blocksize):
    """Elements in blocks: a COO tensor of these."""
    (*which, rows, columns), (h, w), layout = coordinates(x), blocksize, x.layout
    n, m = layout.shape[batch] // h, layout.shape[batch + 1] // w
    places = stacked((*which, rows // h, columns // w))
    blocks, number = unique(places, return_inverse=True, dim=1)
    values = zeros((blocks.layout.shape[1], h, w, *layout.shape[batch + 2:]), dtype=layout.dtype, device=layout.device)
    values = put_values(values, (0, 1, 2), (number, rows % h, columns % w), values_of(x), False)
    return coo(blocks.contiguous(), values, (*layout.shape[:batch], n, m, *values.layout.shape[1:]), True)


def _compress(x, layout) -> Tensor:
    """A coalesced COO tensor, indexed by batch, line and place, as a compressed one."""
    *which, lines, plain = [each.contiguous() for each in coordinates(x)]
    count, device = layout.lines()[0], layout.device
    lead, values = layout.shape[:layout.batch], values_of(x)
    if not which:
        return with_values(layout, (pointers_of(lines, count), plain), True, values, f"to_{layout.kind}")
    for extent, each in zip(reversed(lead), reversed(which)):
        lines, count = lines + each * count, count * extent
    matrices = math.prod(lead)
    if not matrices:
        raise RuntimeError(f"to_{layout.kind}: Expected product of batch dimensions to be non-zero.")
    nnz = plain.layout.numel // matrices
    pointers = pointers_of(lines, count)
    if nnz * matrices != plain.layout.numel or (count and reductions.any(comparison.ne(
            pointers[::count // matrices], arange(matrices + 1, device=device) * nnz)).item()):
        raise RuntimeError("Expect the same number of specified elements per batch.")
    before = reshape(arange(matrices, device=device), (-1, 1)) * nnz
    ends = full((matrices, 1), nnz, dtype=int64, device=device)
    each = cat((reshape(pointers[:-1], (matrices, layout.lines()[0])) - before, ends), 1)
    parts = reshape(each, (*lead, layout.lines()[0] + 1)).contiguous(), reshape(plain, (*lead, nnz))
    return with_values(layout, parts, True, reshape(values, (*lead, nnz, *values.layout.shape[1:])), f"to_{layout.kind}")


def transposed(x) -> Tensor:
    """Compressed matrices with rows and columns swapped: of the other compressed kind, over the same indices."""
    layout, values = x.layout, values_of(x)
    batch, shape = layout.batch, list(layout.shape)
    shape[batch], shape[batch + 1] = shape[batch + 1], shape[batch]
    if layout.blocksize:
        values = transpose(values, batch + 1, batch + 2).contiguous()
    kind = _TRANSPOSES[type(layout)].of(layout.dtype, tuple(shape), 2, layout.device, batch, layout.blocksize[::-1])
    return with_values(kind, x.memory.parts[:-1], True, values, "transpose")


def of_batch(x, dim, index) -> Tensor:
    """One of a batch of compressed tensors."""
    layout, (pointers, plain, _) = x.layout, x.memory.parts
    shape = layout.shape[:dim] + layout.shape[dim + 1:]
    kind = type(layout).of(layout.dtype, shape, 2, layout.device, layout.batch - 1, layout.blocksize)
    parts = [part.select(dim, index).contiguous() for part in (pointers, plain)]
    return with_values(kind, parts, True, values_of(x).select(dim, index).contiguous(), "select")
