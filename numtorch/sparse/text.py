"""How a sparse tensor looks: PyTorch's text, character for character."""
from __future__ import annotations

from ..printing import contents, dtype_suffix, node_suffix, with_suffixes
from .handler import writers
from .layouts import stored

_ROWS, _COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_PARTS = {"sparse_coo": ("indices", "values"), "sparse_csr": _ROWS, "sparse_csc": _COLUMNS, "sparse_bsr": _ROWS,
          "sparse_bsc": _COLUMNS}


def _part(name, tensor, indent):
    start = f"{name}=tensor("
    text = start + contents(tensor, indent + len(start))
    return text + (")" if tensor.layout.numel else f", size={tensor.layout.shape})")


def _suffixes(x):
    layout = x.layout
    yield f"size={layout.shape}"
    yield f"nnz={stored(x)}"
    yield from dtype_suffix(layout.dtype)
    yield f"layout={layout}"
    yield from node_suffix(x.node)


@writers.append
def sparse_text(x, prefix) -> str:
    """The text of a sparse tensor."""
    indent = len(prefix)
    parts = [_part(name, part, indent) for name, part in zip(_PARTS[x.layout.kind], x.memory.parts)]
    return with_suffixes(prefix + (",\n" + " " * indent).join(parts), _suffixes(x), indent, x.layout.kind == "sparse_coo")
