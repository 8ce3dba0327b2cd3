"""Methods that tensors have for the sake of sparse ones: questions, parts, and conversions."""
from __future__ import annotations

from ..layout import memory_layout
from ..ops.core.operands import method
from ..ops.memory.copies import to_dtype
from ..tensor import Tensor, alias
from . import compressed, conversions, coo
from .handler import replace
from .layouts import BY_COLUMNS, BY_ROWS, COMPRESSED, COO, SparseLayout, check_whole, expect, stored


def _property(name, function, doc):
    setattr(Tensor, name, property(function, doc=doc))


def _kind_is(kind):
    def of(self) -> bool:
        return self.layout.kind == kind
    return of


_property("is_sparse", _kind_is("sparse_coo"), """Whether the layout is COO.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).is_sparse, torch.eye(2).to_sparse().is_sparse
        (False, True)
    """)
_property("is_sparse_csr", _kind_is("sparse_csr"), """Whether the layout is CSR.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse_csr().is_sparse_csr
        True
    """)


# ---------------------------------------------------------------- questions
@method
def is_coalesced(self) -> bool:
    """Whether the coordinates of a COO tensor are known to be in order and distinct.

    Raises:
        RuntimeError: another layout.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().is_coalesced()
        True
    """
    expect(self, COO, "is_coalesced")
    return self.memory.coalesced


@method
def sparse_dim(self) -> int:
    """How many dimensions of a sparse tensor are indexed; 0 of a dense one.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().sparse_dim()
        2
    """
    return getattr(self.layout, "sparse_dim", 0)


@method
def dense_dim(self) -> int:
    """How many dimensions each stored element of a sparse tensor has; all of a dense one.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse(1).dense_dim()
        1
    """
    return getattr(self.layout, "dense_dim", self.layout.ndim)


def _nnz(self) -> int:
    """How many elements a sparse tensor stores.

    Raises:
        NotImplementedError: a dense tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse()._nnz()
        2
    """
    if not isinstance(self.layout, SparseLayout):
        check_whole("_nnz", self.layout)
        raise NotImplementedError("_nnz: expected a sparse tensor, got a dense one")
    return stored(self)


def _any_indices(self) -> Tensor:
    """The coordinates of a COO tensor's stored elements, in order or not.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse()._indices()
        tensor([[0, 1],
                [0, 1]])
    """
    expect(self, COO, "_indices")
    return alias(self.memory.parts[0])


def _any_values(self) -> Tensor:
    """The stored elements of a COO tensor, in order or not, apart from the graph.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse()._values()
        tensor([1., 1.])
    """
    expect(self, COO, "_values")
    return alias(self.memory.parts[-1])


Tensor._nnz, Tensor._indices, Tensor._values = _nnz, _any_indices, _any_values


# ---------------------------------------------------------------- parts
def _part_method(name, kinds, place, what):
    def part(self) -> Tensor:
        return compressed.part(self, name, kinds, place)
    part.__name__ = part.__qualname__ = name
    short = "csr" if kinds is BY_ROWS else "csc"
    part.__doc__ = f"""{what}

    Raises:
        RuntimeError: another layout.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse_{short}().{name}()
        tensor({[0, 1, 2] if place == 0 else [0, 1]})
    """
    method(part)


_part_method("crow_indices", BY_ROWS, 0, "Where the elements of each row of a CSR or BSR matrix begin; and their number.")
_part_method("col_indices", BY_ROWS, 1, "The column of each stored element of a CSR matrix, or block of a BSR one.")
_part_method("ccol_indices", BY_COLUMNS, 0, "Where the elements of each column of a CSC or BSC matrix begin; and their number.")
_part_method("row_indices", BY_COLUMNS, 1, "The row of each stored element of a CSC matrix, or block of a BSC one.")


# ---------------------------------------------------------------- conversions
@method
def coalesce(self) -> Tensor:
    """This COO tensor with its coordinates in order and distinct: itself where they are, else elements of one place are added.

    Raises:
        RuntimeError: another layout.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_coo_tensor([[1, 0, 1]], [1., 2., 3.]).coalesce().values()
        tensor([2., 4.])
    """
    return coo.coalesce(self)


@method
def _coalesced_(self, coalesced) -> Tensor:
    """Say whether the coordinates of a COO tensor are in order and distinct; what is not so is refused.

    Args:
        coalesced: whether they are.

    Raises:
        RuntimeError: another layout, or they are not.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse()._coalesced_(False).is_coalesced()
        False
    """
    expect(self, COO, "_coalesced_")
    if coalesced and coo.coalesce(self.detach()).memory.parts[0] is not self.memory.parts[0]:
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
    self.memory.coalesced = bool(coalesced)
    return self


@method
def to_dense(self, dtype=None, *, masked_grad=None) -> Tensor:
    """This tensor with all its elements, stored or not: itself where it is dense.

    Args:
        dtype: convert to this.
        masked_grad: taken for PyTorch's sake; the gradient is sparse as the tensor is.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse_coo_tensor([[1]], [5.], (3,)).to_dense()
        tensor([0., 5., 0.])
    """
    result = coo.to_dense(self)
    return result if dtype is None else to_dtype(result, dtype)


@method
def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None) -> Tensor:
    """The elements that are not 0, with their coordinates.

    Args:
        sparse_dim: how many dimensions are indexed, the first ones; all when None. A `torch.layout` stands for `layout`.
        layout: `torch.sparse_coo`, which None is too, `sparse_csr`, `sparse_csc`, `sparse_bsr` or `sparse_bsc`.
        blocksize: rows and columns of a block, of the last two.
        dense_dim: of compressed layouts, how many of the last dimensions each stored element has.

    Raises:
        RuntimeError: more dimensions than there are, or blocks that do not divide the size.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[0., 2.], [0., 0.]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    if isinstance(sparse_dim, memory_layout):
        sparse_dim, layout = None, sparse_dim
    kind = "sparse_coo" if layout is None else layout.kind
    if kind == "strided":
        return coo.to_dense(self)
    if isinstance(self.layout, SparseLayout):
        return alias(self) if kind == self.layout.kind and blocksize is None else conversions.as_kind(self, kind, blocksize)
    if kind in COMPRESSED and sparse_dim is None:
        return conversions.as_kind(self, kind, blocksize, dense_dim or 0)
    if blocksize is not None:
        raise RuntimeError(f"to_sparse: expected no blocksize with layout {kind}, got {blocksize}")
    return conversions.as_kind(coo.dense_to_coo(self, sparse_dim), kind)


@method
def to_sparse_coo(self) -> Tensor:
    """This tensor as a COO tensor: `to_sparse`.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse_csr().to_sparse_coo().layout
        torch.sparse_coo
    """
    return to_sparse(self)


def _compressing(name, line, pointers):
    kind = name.removeprefix("to_")

    def to_compressed(self, dense_dim=None) -> Tensor:
        return conversions.as_kind(self, kind, None, dense_dim or 0)
    to_compressed.__name__ = to_compressed.__qualname__ = name
    to_compressed.__doc__ = f"""This matrix, or batch of matrices, with its elements that are not 0, {line} after {line}.

    Args:
        dense_dim: how many of the last dimensions each stored element has; 0 when None.

    Raises:
        RuntimeError: less than two dimensions, or matrices that do not store as many elements each.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).{name}().{pointers}()
        tensor([0, 1, 2])
    """
    method(to_compressed)


def _compressing_blocks(name, line, pointers):
    kind = name.removeprefix("to_")

    def to_blocks(self, blocksize, dense_dim=None) -> Tensor:
        return conversions.as_kind(self, kind, blocksize, dense_dim or 0)
    to_blocks.__name__ = to_blocks.__qualname__ = name
    to_blocks.__doc__ = f"""This matrix, or batch of matrices, with its blocks in which something is not 0, {line} after {line}.

    Args:
        blocksize: rows and columns of a block, which divide those of the matrix; one number stands for both.
        dense_dim: how many of the last dimensions each stored element has; 0 when None.

    Raises:
        RuntimeError: blocks that do not divide the size, or matrices that do not store as many each.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(4).{name}((2, 2)).{pointers}()
        tensor([0, 1, 2])
    """
    method(to_blocks)


_compressing("to_sparse_csr", "row", "crow_indices")
_compressing("to_sparse_csc", "column", "ccol_indices")
_compressing_blocks("to_sparse_bsr", "row", "crow_indices")
_compressing_blocks("to_sparse_bsc", "column", "ccol_indices")


# ---------------------------------------------------------------- sizes
def _resized(x, size, sparse_dim, dense_dim, cleared):
    expect(x, COO, "sparse_resize_")
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
                           f"{sparse_dim}, dense_dim = {dense_dim}")
    indices, values = x.memory.parts
    if cleared or not values.layout.shape[0]:
        result = coo.empty_coo(x.layout.dtype, size, sparse_dim, x.layout.device)
    else:
        if sparse_dim != x.layout.sparse_dim or size[sparse_dim:] != x.layout.shape[sparse_dim:]:
            raise RuntimeError("changing the number of dimensions or the dense sizes of a non-empty sparse tensor is not supported")
        if any(n < m for n, m in zip(size, x.layout.shape)):
            raise RuntimeError("shrinking the size of sparse dimensions on a non-empty sparse tensor is not supported.")
        result = coo.coo(indices, values, size, x.memory.coalesced)
    x.layout = result.layout
    return replace(x, result, "sparse_resize_")


@method
def sparse_resize_(self, size, sparse_dim, dense_dim) -> Tensor:
    """Give this COO tensor another size, in place; what it stores stays.

    Args:
        size: the shape.
        sparse_dim, dense_dim: how many dimensions are indexed, and how many each element has.

    Raises:
        RuntimeError: elements would lie outside.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().sparse_resize_((3, 3), 2, 0).shape
        torch.Size([3, 3])
    """
    return _resized(self, size, sparse_dim, dense_dim, False)


@method
def sparse_resize_and_clear_(self, size, sparse_dim, dense_dim) -> Tensor:
    """Give this COO tensor another size, in place, and forget what it stores.

    Args:
        size: the shape.
        sparse_dim, dense_dim: how many dimensions are indexed, and how many each element has.

    Raises:
        RuntimeError: numbers of dimensions that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().sparse_resize_and_clear_((3,), 1, 0).to_dense()
        tensor([0., 0., 0.])
    """
    return _resized(self, size, sparse_dim, dense_dim, True)
