"""Sparse tensors pickled, and in PyTorch's files: their parts, which are checked when they are read."""
from __future__ import annotations

import pickle
from collections.abc import Callable

from ..dtypes import int64
from ..layout import memory_layout, strided
from ..ops.core.status import has_values
from ..ops.memory.copies import to_dtype
from ..tensor import Tensor, alias
from .compressed import sparse_bsc_tensor, sparse_bsr_tensor, sparse_csc_tensor, sparse_csr_tensor
from .coo import check_within, coalesce, with_values
from .handler import reducers
from .layouts import COO, is_sparse, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr

_LAYOUTS = {str(each): each for each in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)}


def described(x):
    """A sparse tensor's kind and parts, as PyTorch pickles them."""
    layout, storage = x.layout, x.memory
    data = (*storage.parts, layout.size)
    return memory_layout(layout.kind), (*data, storage.coalesced) if layout.kind == "sparse_coo" else data


@reducers.append
def _reduced(x):
    return _rebuilt, (type(x), *described(x), x.requires_grad)


def _rebuilt(cls, kind, data, requires_grad):
    out = rebuild_sparse(kind, data)
    out = out if cls is Tensor else alias(out, cls)
    return out.requires_grad_() if requires_grad else out


def _coo(indices, values, size, coalesced=False):
    indices = to_dtype(indices.detach(), int64).contiguous()
    if indices.layout.ndim != 2 or not values.layout.ndim:
        raise TypeError("expected a sparse tensor's indices and values")
    dims, nnz = indices.layout.shape
    check_within(indices, size)
    if values.layout.shape != (nnz, *size[dims:]):
        raise RuntimeError(f"expected values of shape {[nnz, *size[dims:]]}, got {list(values.layout.shape)}")
    layout = COO.of(values.layout.dtype, tuple(size), dims, values.layout.device)
    out = with_values(layout, (indices,), False, values.detach().contiguous())
    out.memory.coalesced = bool(coalesced) and (not has_values(indices) or coalesce(out).memory.parts[0] is indices)
    return out


_BUILDERS: dict[str, Callable] = {"sparse_coo": _coo, "sparse_csr": sparse_csr_tensor, "sparse_csc": sparse_csc_tensor,
                                  "sparse_bsr": sparse_bsr_tensor, "sparse_bsc": sparse_bsc_tensor}


def rebuild_sparse(layout, data) -> Tensor:
    """A sparse tensor of its parts. What a file says of its indices is not believed.

    Raises:
        pickle.UnpicklingError: the parts are none of a sparse tensor's.
        RuntimeError: indices outside of the size, or that do not fit the values.
    """
    if not isinstance(layout, memory_layout) or layout.kind not in _BUILDERS or type(data) is not tuple or len(data) < 3 or not all(
            isinstance(part, Tensor) and not is_sparse(part) for part in data[:2]):
        raise pickle.UnpicklingError("load: the file describes a sparse tensor of unknown parts")
    try:
        return _BUILDERS[layout.kind](*data)
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        raise pickle.UnpicklingError(f"load: the file describes no sparse tensor: {error}") from None


def get_layout(name) -> memory_layout:
    """The layout of a name, as files have it. Raises pickle.UnpicklingError for an unknown one."""
    if name not in _LAYOUTS:
        raise pickle.UnpicklingError(f"load: the file names an unknown layout, {name!r}")
    return _LAYOUTS[name]
