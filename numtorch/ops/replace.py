"""Copies of a tensor in which a view of it is replaced: select_scatter, slice_scatter, diagonal_scatter."""
from __future__ import annotations

from ..tensor import Tensor
from .copy import clone, copy_
from .op import method
from .view import as_strided, diagonal, select, slice_view


def _replaced(name, input, src, view, *arguments):
    out = clone(input, memory_format="contiguous_format")
    part = view(out, *arguments)
    if part.layout.shape != src.layout.shape:
        raise RuntimeError(f"expected src to have a size equal to the {name} of self. src size = {list(src.layout.shape)}, {name} "
                           f"size = {list(part.layout.shape)}")
    copy_(part, src)
    return out


@method
def select_scatter(input, src, dim, index) -> Tensor:
    """A copy of `input` with `src` in the place of `input.select(dim, index)`."""
    return _replaced("slice", input, src, select, dim, index)


@method
def slice_scatter(input, src, dim: int = 0, start=None, end=None, step: int = 1) -> Tensor:
    """A copy of `input` with `src` in the place of the slice `start:end:step` of a dimension."""
    return _replaced("slice", input, src, slice_view, dim, start, end, step)


@method
def diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` in the place of `input.diagonal(offset, dim1, dim2)`."""
    return _replaced("diagonal", input, src, diagonal, offset, dim1, dim2)


@method
def as_strided_scatter(input, src, size, stride, storage_offset: int = 0) -> Tensor:
    """A copy of `input` with `src` in the place of `input.as_strided(size, stride, storage_offset)`."""
    return _replaced("slice", input, src, as_strided, size, stride, storage_offset)
