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

sparse_coo, sparse_csr, sparse_csc = memory_layout("sparse_coo"), memory_layout("sparse_csr"), memory_layout("sparse_csc")


class SparseStorage(Storage):
    """The stored elements of a sparse tensor.

    Attributes:
        parts: COO: indices (sparse_dim, nnz) and values (nnz, *dense); CSR and CSC: pointers, plain indices and values. None of
            them is part of a graph: the sparse tensor itself is.
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
    contiguous = False
    _sparse: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
    _sparse_lock = survive_fork(threading.Lock())

    @classmethod
    def of(cls, dtype, shape, sparse_dim, device):
        key = (cls, dtype, shape, sparse_dim, device)
        found = SparseLayout._sparse.get(key)
        if found is None:
            with SparseLayout._sparse_lock:
                found = SparseLayout._sparse[key] = cls._made(*key[1:])
        return found

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
        return type(self).of(dtype, self.shape, self.sparse_dim, self.device)

    def reshaped(self, shape, sparse_dim):
        """The layout of another shape."""
        return type(self).of(self.dtype, tuple(shape), sparse_dim, self.device)

    def overlaps_itself(self):
        return False

    def non_overlapping_and_dense(self):
        return False

    def __repr__(self):
        return f"torch.{self.kind}"

    def __reduce__(self):
        return type(self).of, (self.dtype, self.shape, self.sparse_dim, self.device)


class COO(SparseLayout):
    """Coordinates of each stored element."""

    __slots__ = ()
    kind, title = "sparse_coo", "sparse COO"


class CSR(SparseLayout):
    """Compressed rows: where each row's elements begin, and the column of each."""

    __slots__ = ()
    kind, title = "sparse_csr", "sparse CSR"


class CSC(SparseLayout):
    """Compressed columns."""

    __slots__ = ()
    kind, title = "sparse_csc", "sparse CSC"


def is_sparse(x) -> bool:
    """Whether a value is a sparse tensor of any kind."""
    return isinstance(x, Tensor) and isinstance(x.layout, SparseLayout)


def made(layout: SparseLayout, parts, coalesced=False) -> Tensor:
    """A sparse tensor of parts that are apart from the graph."""
    out = bare()                                         # without an address: who asks for one raises, and runs no kernel
    out.memory, out.layout, out.node = SparseStorage(parts, layout.device, coalesced), layout, None
    return out


def expect(x, kind, name) -> SparseLayout:
    """The layout of a tensor that has to be of one kind. Raises RuntimeError, as PyTorch words it, where it is of another."""
    layout = x.layout
    if not isinstance(layout, kind):
        wanted = {COO: "coordinate tensor", CSR: "row compressed tensor", CSC: "column compressed tensor"}.get(
            kind, "row or column compressed tensor")
        found = {"strided": "Strided", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc"}[layout.kind]
        raise RuntimeError(f"{name} expected sparse {wanted} layout but got {found}")
    return layout
