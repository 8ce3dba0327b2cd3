"""Compressed tensors, of rows or columns, of elements or blocks (CSR, CSC, BSR, BSC): how users make them of their parts."""
from __future__ import annotations

from typing import Any

from ..dtypes import as_dtype, int32, int64
from ..layout import as_shape, memory_layout
from ..ops.core.status import has_values
from ..ops.memory.copies import to_dtype
from ..ops.pointwise import comparison
from ..ops.reduce import reductions
from ..ops.shape.views import reshape
from ..ops.sort.scan import diff
from ..tensor import Tensor, alias
from .coo import lines_of, there, with_values
from .layouts import BSC, BSR, COMPRESSED, CSC, CSR, expect

WORDS = {True: ("crow", "col", "rows", "ncols", "nrows"), False: ("ccol", "row", "columns", "nrows", "ncols")}


def _part(data, dtype, device):
    made = there(data, device)
    return made if dtype is None else to_dtype(made, dtype)


def _check(kind, pointers, plain, values, size, batch, blocksize):
    """Raise RuntimeError for what PyTorch calls the invariants of a compressed layout: kernels believe them."""
    compressed, index, rows, within, count = WORDS[kind.by_rows]
    for d, (extent, block) in enumerate(zip(size[batch:], blocksize)):
        if not block or extent % block:
            raise RuntimeError(f"tensor shape[{batch + d}] (={extent}) must be divisible with blocksize[{d}] (={block}) as defined "
                               f"by values shape")
    extents = [n // b for n, b in zip(size[batch:batch + 2], blocksize or (1, 1))]
    lines, across = extents if kind.by_rows else extents[::-1]
    if pointers.layout.shape[-1] != lines + 1:
        raise RuntimeError(f"{compressed}_indices.shape[-1] must be equal to the number of {rows} + 1 (={lines + 1}), but got "
                           f"{pointers.layout.shape[-1]}")
    nnz = values.layout.shape[batch]
    if plain.layout.shape[-1] != nnz:
        raise RuntimeError(f"{index}_indices.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch}], but got "
                           f"{plain.layout.shape[-1]}")
    leads = [list(lead) for lead in (pointers.layout.shape[:-1], plain.layout.shape[:-1], values.layout.shape[:batch],
                                     size[:batch])]
    if any(lead != leads[0] for lead in leads):
        raise RuntimeError(f"all batch dimensions of {compressed}_indices (={leads[0]}), {index}_indices (={leads[1]}), values "
                           f"(={leads[2]}) and tensor dimensions (={leads[3]}) must be equal to tensor batch dimensions (={batch})")
    if values.layout.shape[batch + 1 + len(blocksize):] != size[batch + 2:]:
        raise RuntimeError(f"values must have dense dimensions {list(size[batch + 2:])}, as the size has, got "
                           f"{list(values.layout.shape[batch + 1 + len(blocksize):])}")
    if not pointers.layout.numel or not has_values(pointers):
        return
    if reductions.any(pointers[..., 0]).item():
        raise RuntimeError(f"`{compressed}_indices[..., 0] == 0` is not satisfied.")
    if reductions.any(comparison.ne(pointers[..., -1], nnz)).item():
        raise RuntimeError(f"`{compressed}_indices[..., -1] == nnz` is not satisfied.")
    if lines:
        steps = diff(pointers)
        if reductions.amin(steps).item() < 0 or reductions.amax(steps).item() > across:
            raise RuntimeError(f"`0 <= {compressed}_indices[..., 1:] - {compressed}_indices[..., :-1] <= {within}` is not "
                               f"satisfied.")
    if not plain.layout.numel:
        return
    if reductions.amin(plain).item() < 0 or reductions.amax(plain).item() >= across:
        raise RuntimeError(f"`0 <= {index}_indices < {within}` is not satisfied.")
    if plain.layout.numel > 1:
        of_each = lines_of(pointers, nnz)
        same = comparison.eq(of_each[1:], of_each[:-1])
        if reductions.any(comparison.logical_and(same, comparison.le(diff(reshape(plain, -1)), 0))).item():
            raise RuntimeError(f"`{index}_indices[..., {compressed}_indices[..., i - 1]:{compressed}_indices[..., i]] for all i = "
                               f"1, ..., {count} are sorted and distinct along the last dimension values` is not "
                               f"satisfied.")


def _compressed(kind, pointers, plain, values, size, dtype, device, requires_grad):
    compressed, index = WORDS[kind.by_rows][:2]
    pointers, plain = [_part(p, None, device).detach() for p in (pointers, plain)]
    if not pointers.layout.ndim or pointers.layout.ndim != plain.layout.ndim:
        raise RuntimeError(f"{kind.title}: expected {compressed}_indices and {index}_indices of as many dimensions, at least one, "
                           f"got {pointers.layout.ndim} and {plain.layout.ndim}")
    for part in (pointers, plain):
        if part.layout.dtype not in (int32, int64):
            raise RuntimeError(f"expected {compressed}_indices and {index}_indices to be int32 or int64, got {part.layout.dtype}")
    pointers, plain = [to_dtype(p, int64).contiguous() for p in (pointers, plain)]
    values = _part(values, None if dtype is None else as_dtype(dtype), device).contiguous()
    batch, within = pointers.layout.ndim - 1, 2 if kind.in_blocks else 0
    if values.layout.ndim < batch + 1 + within:
        raise RuntimeError(f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {within}) but "
                           f"got {values.layout.ndim}")
    if not pointers.layout.shape[-1]:
        raise RuntimeError(f"{compressed}_indices must not be empty")
    blocksize = values.layout.shape[batch + 1:batch + 1 + within]
    if size is None:
        across = reductions.amax(plain).item() + 1 if plain.layout.numel else 0
        extents = (pointers.layout.shape[-1] - 1, across)
        extents = [n * b for n, b in zip(extents if kind.by_rows else extents[::-1], blocksize or (1, 1))]
        size = (*pointers.layout.shape[:-1], *extents, *values.layout.shape[batch + 1 + within:])
    size = as_shape((size,), "size")
    if len(size) != values.layout.ndim + 1 - within:
        raise RuntimeError(f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch} + 2 + "
                           f"{values.layout.ndim - batch - 1 - within}) but got {len(size)}")
    _check(kind, pointers, plain, values, size, batch, blocksize)
    layout = kind.of(values.layout.dtype, size, 2, values.layout.device, batch, blocksize)
    out = with_values(layout, (pointers, plain), True, values, f"{kind.kind}_tensor")
    return out.requires_grad_() if requires_grad else out


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size=None, *, dtype=None, device=None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A matrix of which only some elements are stored, row after row.

    Args:
        crow_indices: (*, rows + 1) integers, where the elements of each row begin, and how many there are.
        col_indices: (*, nnz) integers, the column of each element, in order within a row.
        values: (*, nnz, ...), the elements, which may have dimensions.
        size: those of a batch, rows and columns, those of an element; by default as small as the indices allow.
        dtype, device: those of the values when None.
        pin_memory, check_invariants: taken for PyTorch's sake; indices are checked always, and are int64.
        requires_grad: whether to record what is computed from it.

    Raises:
        RuntimeError: indices that describe no matrices of that size.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_csr_tensor([0, 1, 2], [2, 0], [3., 4.], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    return _compressed(CSR, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size=None, *, dtype=None, device=None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A matrix of which only some elements are stored, column after column.

    Args:
        ccol_indices: (*, columns + 1) integers, where the elements of each column begin, and how many there are.
        row_indices: (*, nnz) integers, the row of each element, in order within a column.
        values, size, dtype, device, pin_memory, check_invariants, requires_grad: as for `sparse_csr_tensor`.

    Raises:
        RuntimeError: indices that describe no matrices of that size.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4., 3.], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    return _compressed(CSC, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size=None, *, dtype=None, device=None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A matrix of which only some blocks are stored, one row of blocks after another.

    Args:
        crow_indices: (*, rows of blocks + 1) integers, where the blocks of each row begin, and how many there are.
        col_indices: (*, nnz) integers, the column of each block, counted in blocks, in order within a row.
        values: (*, nnz, height, width, ...), the blocks.
        size, dtype, device, pin_memory, check_invariants, requires_grad: as for `sparse_csr_tensor`.

    Raises:
        RuntimeError: indices that describe no matrices of that size, or one that blocks do not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_bsr_tensor([0, 1, 1], [1], [[[1., 2.]]], (2, 4)).to_dense()
        tensor([[0., 0., 1., 2.],
                [0., 0., 0., 0.]])
    """
    return _compressed(BSR, crow_indices, col_indices, values, size, dtype, device, requires_grad)


def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size=None, *, dtype=None, device=None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A matrix of which only some blocks are stored, one column of blocks after another.

    Args:
        ccol_indices: (*, columns of blocks + 1) integers, where the blocks of each column begin, and how many there are.
        row_indices: (*, nnz) integers, the row of each block, counted in blocks, in order within a column.
        values: (*, nnz, height, width, ...), the blocks.
        size, dtype, device, pin_memory, check_invariants, requires_grad: as for `sparse_csr_tensor`.

    Raises:
        RuntimeError: indices that describe no matrices of that size, or one that blocks do not divide.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_bsc_tensor([0, 0, 1], [1], [[[1., 2.]]], (2, 4)).to_dense()
        tensor([[0., 0., 0., 0.],
                [0., 0., 1., 2.]])
    """
    return _compressed(BSC, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size=None, *, dtype=None, layout=None,
                             device=None, pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A tensor of any compressed layout: `sparse_csr_tensor` and its kin by name.

    Args:
        compressed_indices: where each row, or column, begins, and how many elements there are.
        plain_indices: the place of each element in its row or column.
        values, size, dtype, device, pin_memory, check_invariants, requires_grad: as for `sparse_csr_tensor`.
        layout: `torch.sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`.

    Raises:
        RuntimeError: another layout, or indices that describe no matrices of that size.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_compressed_tensor([0, 1, 2], [2, 0], [3., 4.], (2, 3), layout=torch.sparse_csr).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    kind = COMPRESSED.get(layout.kind) if isinstance(layout, memory_layout) else None
    if kind is None:
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got "
                           f"{'none' if layout is None else layout}")
    return _compressed(kind, compressed_indices, plain_indices, values, size, dtype, device, requires_grad)


# ---------------------------------------------------------------- parts, for users
def part(x, name, kinds, place):
    """The index part of a compressed tensor that `name` asks for."""
    expect(x, kinds, name)
    return alias(x.memory.parts[place])
