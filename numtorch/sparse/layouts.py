"""What a sparse tensor is: a layout of its own class, and a storage that holds the stored elements as tensors.

A layout says what PyTorch calls `layout`, the shape, and how many of its dimensions are indexed (`sparse_dim`) and how many each
stored element has (`dense_dim`). It has no strides, and whoever asks for them raises: so a call that no handler has taken over
ends before it reaches a kernel. How many elements are stored, and where, is in the storage (`parts`), as values are elsewhere.
"""
from __future__ import annotations

import math
import threading
import weakref

from ..kernels.forks import survive_fork
from ..layout import Layout, Size, memory_layout
from ..storage import Storage
from ..tensor import Tensor, bare

sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = [
    memory_layout(name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")]


class SparseStorage(Storage):
    """The stored elements of a sparse tensor.

    Attributes:
        parts: COO: indices (sparse_dim, nnz) and values (nnz, *dense). Compressed: pointers (*batch, lines + 1), plain indices
            (*batch, nnz) and values (*batch, nnz, *block, *dense). None of them is part of a graph: the sparse tensor itself is.
        coalesced: whether a COO tensor's indices are in order and distinct.
    """

    __slots__ = ("parts", "coalesced")

    def __init__(self, parts, device, coalesced=False):
        super().__init__(0, 0, None, device)
        self.parts, self.coalesced = parts, coalesced

    def alias(self):
        return SparseStorage(self.parts, self.device, self.coalesced)


class SparseLayout(Layout):
    """A sparse tensor's layout. Make one with `of`, which interns it.

    Attributes:
        sparse_dim, dense_dim: how many dimensions are indexed, and how many each stored element has.
    """

    __slots__ = ("sparse_dim", "dense_dim")
    title = ""                                           # as messages name it
    structure: tuple = ()                                # what else a layout of its class has
    contiguous = False
    _sparse: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
    _sparse_lock = survive_fork(threading.Lock())

    @classmethod
    def of(cls, dtype, shape, sparse_dim, device, *structure):
        key = (cls, dtype, shape, sparse_dim, device, *structure)
        layout = SparseLayout._sparse.get(key)
        if layout is None:
            with SparseLayout._sparse_lock:
                layout = SparseLayout._sparse[key] = cls._made(*key[1:])
        return layout

    @classmethod
    def _made(cls, dtype, shape, sparse_dim, device):
        if any(n < 0 for n in shape):
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
        made = object.__new__(cls)
        made.dtype, made.shape, made.device, made.size = dtype, shape, device, Size(shape)
        made.numel, made.ndim, made.weak, made.views, made.ring = math.prod(shape), len(shape), False, {}, None
        if made.numel >= 1 << 63:
            raise RuntimeError(f"numel: integer multiplication overflow, of sizes={list(shape)}")
        made.sparse_dim, made.dense_dim = sparse_dim, made.ndim - sparse_dim
        try:                                             # the order that a leaf of this layout wants of a dense gradient
            made.views["formatted", "preserve_format"] = Layout.of(dtype, shape, None, device)
        except RuntimeError:
            made.views["formatted", "preserve_format"] = made
        return made

    @property
    def strides(self):
        raise NotImplementedError(f"{self.title} has no strides; use `to_dense()`")

    @property
    def nbytes(self):
        raise RuntimeError("nbytes is not defined for sparse tensors.  If you want the size of the constituent tensors, add the "
                           "nbytes of the indices and values.  If you want the size of the  equivalent dense tensor, multiply "
                           "numel() by element_size()")

    def with_dtype(self, dtype):
        return type(self).of(dtype, self.shape, self.sparse_dim, self.device, *self.structure)

    def on(self, device):
        """The layout of a copy on another device."""
        return type(self).of(self.dtype, self.shape, self.sparse_dim, device, *self.structure)

    def overlaps_itself(self):
        return False

    def non_overlapping_and_dense(self):
        return False

    def __repr__(self):
        return f"torch.{self.kind}"

    def __reduce__(self):
        return type(self).of, (self.dtype, self.shape, self.sparse_dim, self.device, *self.structure)


class COO(SparseLayout):
    """Coordinates of each stored element."""

    __slots__ = ()
    kind, title = "sparse_coo", "sparse COO"


class Compressed(SparseLayout):
    """Rows, or columns, whose elements lie one after another: where each begins, and the place of each element in it.

    Attributes:
        batch: how many of the first dimensions count matrices, which all store as many elements.
        blocksize: rows and columns of the blocks that are stored; () where it is single elements.
    """

    __slots__ = ("batch", "blocksize")
    by_rows, in_blocks = True, False

    @classmethod
    def _made(cls, dtype, shape, sparse_dim, device, batch=0, blocksize=()):
        layout = super()._made(dtype, shape, sparse_dim, device)
        layout.batch, layout.blocksize, layout.dense_dim = batch, blocksize, layout.dense_dim - batch
        return layout

    @property
    def structure(self):
        return self.batch, self.blocksize

    @property
    def is_matrix(self):
        """Whether this is one matrix of numbers."""
        return self.ndim == 2 and not self.blocksize

    def lines(self):
        """How many rows, or columns, there are, of blocks where these are stored, and how many places each has."""
        extents = [n // b for n, b in zip(self.shape[self.batch:self.batch + 2], self.blocksize or (1, 1))]
        return tuple(extents if self.by_rows else extents[::-1])


class CSR(Compressed):
    """Compressed rows: where each row's elements begin, and the column of each."""

    __slots__ = ()
    kind, title = "sparse_csr", "sparse CSR"


class CSC(Compressed):
    """Compressed columns."""

    __slots__ = ()
    kind, title, by_rows = "sparse_csc", "sparse CSC", False


class BSR(Compressed):
    """Compressed rows of blocks."""

    __slots__ = ()
    kind, title, in_blocks = "sparse_bsr", "sparse BSR", True


class BSC(Compressed):
    """Compressed columns of blocks."""

    __slots__ = ()
    kind, title, by_rows, in_blocks = "sparse_bsc", "sparse BSC", False, True


COMPRESSED = {each.kind: each for each in (CSR, CSC, BSR, BSC)}
BY_ROWS, BY_COLUMNS = (CSR, BSR), (CSC, BSC)


def check_whole(name, layout):
    """Raise NotImplementedError for one sample of a sparse tensor in a map, of which nothing tells what it stores."""
    if layout.kind != "strided" and not isinstance(layout, SparseLayout):
        raise NotImplementedError(f"{name}: what one sample of a sparse tensor stores is not known inside of vmap; use "
                                  f"`to_dense()` there, or {name} outside of it")


def is_sparse(x) -> bool:
    """Whether a value is a sparse tensor of any kind."""
    return isinstance(x, Tensor) and isinstance(x.layout, SparseLayout)


def made(layout: SparseLayout, parts, coalesced=False) -> Tensor:
    """A sparse tensor of parts that are apart from the graph."""
    out = bare()                                         # without an address: who asks for one raises, and runs no kernel
    out.memory, out.layout, out.node = SparseStorage(parts, layout.device, coalesced), layout, None
    return out


def stored(x) -> int:
    """How many elements, or blocks, a sparse tensor stores; of a batch, each of its matrices."""
    parts = x.memory.parts
    return parts[1].layout.shape[-1] if isinstance(x.layout, Compressed) else parts[-1].layout.shape[0]


def title_of(layout) -> str:
    """A layout's name in PyTorch's messages."""
    return {"strided": "Strided", "sparse_coo": "Sparse"}.get(layout.kind) or "Sparse" + layout.kind[-3:].capitalize()


def expect(x, kinds, name) -> SparseLayout:
    """The layout of a tensor that has to be of some kinds. Raises RuntimeError, as PyTorch words it, where it is of another."""
    layout = x.layout
    if not isinstance(layout, kinds):
        check_whole(name, layout)
        wanted = {COO: "coordinate tensor", BY_ROWS: "row compressed tensor", BY_COLUMNS: "column compressed tensor"}[kinds]
        raise RuntimeError(f"{name} expected sparse {wanted} layout but got {title_of(layout)}")
    return layout
