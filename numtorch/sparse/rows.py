"""The gradient of an embedding as some rows of a matrix: what `sparse=True` asks for."""
from __future__ import annotations

from ..dtypes import int64
from ..ops.core.late import provide
from ..ops.index.index_select import index_values
from ..ops.index.mask import nonzero
from ..ops.memory.copies import to_dtype
from ..ops.pointwise import comparison
from ..ops.shape.views import reshape
from .coo import coo


@provide
def sparse_rows(grad, indices, layout, padding_idx):
    """The gradient of a table's rows, each where it was named; those of the padding index are left out."""
    places = reshape(to_dtype(indices, int64), -1)
    rows = reshape(grad, (places.shape[0], layout.shape[1]))            # which may be of no elements
    if padding_idx >= 0:
        kept = nonzero(comparison.ne(places, padding_idx))[:, 0]
        places, rows = index_values(places, (0,), (kept,)), index_values(rows, (0,), (kept,))
    return coo(reshape(places, (1, -1)), rows, layout.shape)
