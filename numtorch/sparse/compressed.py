"""CSR and CSC tensors: how they are made, taken apart, and made of others and back."""
from __future__ import annotations

from typing import Any

from ..dtypes import as_dtype, int32, int64
from ..exchange import make
from ..layout import as_shape
from ..ops.memory.copies import to_dtype
from ..ops.pointwise import comparison
from ..ops.reduce import reductions
from ..ops.sort.scan import diff
from ..tensor import Tensor, alias
from .coo import coalesce, coo, dense_to_coo, stacked, to_coo, values_of, with_values
from .layouts import CSC, CSR, SparseLayout, expect
from .pattern import pointers_of, rows_of

WORDS = {CSR: ("crow", "col", "rows", "ncols", "nrows"), CSC: ("ccol", "row", "columns", "nrows", "ncols")}


# ---------------------------------------------------------------- made by users
def _part(data, dtype, device):
    made = data if isinstance(data, Tensor) else make(data, device=device)
    return made if dtype is None else to_dtype(made, dtype)


def _check(kind, pointers, plain, values, shape):
    """Raise RuntimeError for what PyTorch calls the invariants of a compressed layout: kernels believe them."""
    compressed, index, rows, within, _ = WORDS[kind]
    lines, across = (shape[0], shape[1]) if kind is CSR else (shape[1], shape[0])
    if pointers.layout.shape[-1] != lines + 1:
        raise RuntimeError(f"{compressed}_indices.shape[-1] must be equal to the number of {rows} + 1 (={lines + 1}), but got "
                           f"{pointers.layout.shape[-1]}")
    nnz = values.layout.shape[0]
    if plain.layout.shape[-1] != nnz:
        raise RuntimeError(f"{index}_indices.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[0], but got "
                           f"{plain.layout.shape[-1]}")
    if pointers[0].item():
        raise RuntimeError(f"`{compressed}_indices[..., 0] == 0` is not satisfied.")
    if pointers[-1].item() != nnz:
        raise RuntimeError(f"`{compressed}_indices[..., -1] == nnz` is not satisfied.")
    if lines:
        steps = diff(pointers)
        if reductions.amin(steps).item() < 0 or reductions.amax(steps).item() > across:
            raise RuntimeError(f"`0 <= {compressed}_indices[..., 1:] - {compressed}_indices[..., :-1] <= {within}` is not "
                               f"satisfied.")
    if nnz and (reductions.amin(plain).item() < 0 or reductions.amax(plain).item() >= across):
        raise RuntimeError(f"`0 <= {index}_indices < {within}` is not satisfied.")
    if nnz > 1:
        lines_of = rows_of(pointers, nnz)
        same = comparison.eq(lines_of[1:], lines_of[:-1])
        if reductions.any(comparison.logical_and(same, comparison.le(diff(plain), 0))).item():
            raise RuntimeError(f"`{index}_indices[..., {compressed}_indices[..., i - 1]:{compressed}_indices[..., i]] for all i = "
                               f"1, ..., {WORDS[kind][4]} are sorted and distinct along the last dimension values` is not "
                               f"satisfied.")


def _compressed(kind, pointers, plain, values, size, dtype, device, requires_grad):
    pointers, plain = [_part(p, None, device).detach() for p in (pointers, plain)]
    for name, part in ((WORDS[kind][0], pointers), (WORDS[kind][1], plain)):
        if part.layout.ndim != 1:
            raise NotImplementedError(f"{kind.title}: batches are not supported; expected {name}_indices of one dimension, got "
                                      f"{part.layout.ndim}")
        if part.layout.dtype not in (int32, int64):
            raise RuntimeError(f"expected {WORDS[kind][0]}_indices and {WORDS[kind][1]}_indices to be int32 or int64, got "
                               f"{part.layout.dtype}")
    pointers, plain = [to_dtype(p, int64).contiguous() for p in (pointers, plain)]
    values = _part(values, None if dtype is None else as_dtype(dtype), device).contiguous()
    if values.layout.ndim != 1:
        raise NotImplementedError(f"{kind.title}: dense dimensions are not supported; expected values of one dimension, got "
                                  f"{values.layout.ndim}")
    if not pointers.layout.numel:
        raise RuntimeError(f"{WORDS[kind][0]}_indices must not be empty")
    if size is None:
        across = reductions.amax(plain).item() + 1 if plain.layout.numel else 0
        lines = pointers.layout.numel - 1
        size = (lines, across) if kind is CSR else (across, lines)
    size = as_shape((size,), "size")
    if len(size) != 2:
        raise RuntimeError(f"size of a batched {kind.title} tensor is not supported: expected 2 dimensions, got {list(size)}")
    _check(kind, pointers, plain, values, size)
    out = with_values(kind.of(values.layout.dtype, size, 2, values.layout.device), (pointers, plain), True, values,
                      f"{kind.kind}_tensor")
    return out.requires_grad_() if requires_grad else out


def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size=None, *, dtype=None, device=None,
                      pin_memory: bool = False, requires_grad: bool = False, check_invariants=None) -> Tensor:
    """A matrix of which only some elements are stored, row after row.

    Args:
        crow_indices: (rows + 1) integers, where the elements of each row begin, and how many there are.
        col_indices: (nnz) integers, the column of each element, in order within a row.
        values: (nnz), the elements.
        size: rows and columns; by default as small as the indices allow.
        dtype, device: those of the values when None.
        pin_memory, check_invariants: taken for PyTorch's sake; indices are checked always, and are int64.
        requires_grad: whether to record what is computed from it.

    Raises:
        RuntimeError: indices that describe no matrix of that size.
        NotImplementedError: batches, or values with dimensions.

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
        ccol_indices: (columns + 1) integers, where the elements of each column begin, and how many there are.
        row_indices: (nnz) integers, the row of each element, in order within a column.
        values, size, dtype, device, pin_memory, check_invariants, requires_grad: as for `sparse_csr_tensor`.

    Raises:
        RuntimeError: indices that describe no matrix of that size.
        NotImplementedError: batches, or values with dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_csc_tensor([0, 1, 1, 2], [1, 0], [4., 3.], (2, 3)).to_dense()
        tensor([[0., 0., 3.],
                [4., 0., 0.]])
    """
    return _compressed(CSC, ccol_indices, row_indices, values, size, dtype, device, requires_grad)


# ---------------------------------------------------------------- of others
def _flipped(x):
    """A coalesced COO matrix with its dimensions swapped, coalesced."""
    rows, columns = x.memory.parts[0][0], x.memory.parts[0][1]
    return coalesce(coo(stacked((columns, rows)), values_of(x), (x.layout.shape[1], x.layout.shape[0])))


def as_kind(x, kind: str) -> Tensor:
    """A sparse or dense matrix as a tensor of another sparse kind."""
    if x.layout.kind == kind:
        return x
    if not isinstance(x.layout, SparseLayout):
        x = dense_to_coo(x)
    elif x.layout.kind != "sparse_coo":
        x = to_coo(x)
    if kind == "sparse_coo":
        return x
    if x.layout.ndim != 2 or x.layout.sparse_dim != 2:
        raise RuntimeError(f"to_{kind}: expected a matrix without dense dimensions, got {x.layout.ndim} dimensions, of which "
                           f"{x.layout.dense_dim} are dense")
    x = coalesce(x)
    layout, shape = (CSR if kind == "sparse_csr" else CSC), x.layout.shape
    if layout is CSC:
        x = _flipped(x)
    lines, plain = x.memory.parts[0][0].contiguous(), x.memory.parts[0][1].contiguous()
    pointers = pointers_of(lines, shape[0] if layout is CSR else shape[1])
    return with_values(layout.of(x.layout.dtype, shape, 2, x.layout.device), (pointers, plain), True, values_of(x), f"to_{kind}")


def transposed(x) -> Tensor:
    """The transpose of a compressed matrix: of the other compressed kind, over the same parts."""
    layout, kind = x.layout, CSC if x.layout.kind == "sparse_csr" else CSR
    return with_values(kind.of(layout.dtype, layout.shape[::-1], 2, layout.device), x.memory.parts[:-1], True, values_of(x),
                       "transpose")


# ---------------------------------------------------------------- parts, for users
def part(x, name, kind, place):
    """The index part of a compressed tensor that `name` asks for."""
    expect(x, kind, name)
    return alias(x.memory.parts[place])
