"""Copies of a tensor in which a view of it is replaced: select_scatter, slice_scatter, diagonal_scatter."""
from __future__ import annotations

from ...tensor import Tensor
from ..core.arguments import integer, numpy_keywords
from ..core.operands import layout_of, method
from ..memory.assign import copy_
from ..memory.copies import clone
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh
from .slicing import as_strided, diagonal, select, slice_view


def _replaced(name, input, src, view, *arguments):
    out = clone(input, memory_format="contiguous_format")
    part = view(out, *arguments)
    if part.layout.shape != layout_of(f"{name}_scatter", src, "src", 2).shape:
        raise RuntimeError(f"expected src to have a size equal to the {name} of self. src size = {list(src.layout.shape)}, {name} "
                           f"size = {list(part.layout.shape)}")
    return into_fresh(_put, out, part, src)


def _put(out, part, src):
    copy_(part, src)
    return out


@method
@numpy_keywords
def select_scatter(input, src, dim, index) -> Tensor:
    """A copy of `input` with `src` in the place of `input.select(dim, index)`.

    Args:
        input: the tensor to copy.
        src: what is put in, of the shape of `input` without `dim`.
        dim, index: which row to replace; either may count from the end.

    Returns:
        A contiguous tensor of the shape of `input`. Both `input` and `src` get gradients.

    Raises:
        RuntimeError: `src` has another shape.
        IndexError: there is no such dimension or row.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3).select_scatter(torch.tensor([1., 2., 3.]), 0, 1)
        tensor([[0., 0., 0.],
                [1., 2., 3.]])
    """
    return _replaced("slice", input, src, select, dim, index)


@method
@numpy_keywords
def slice_scatter(input, src, dim: int = 0, start=None, end=None, step: int = 1, *, out=None) -> Tensor:
    """A copy of `input` with `src` in the place of the slice `start:end:step` of a dimension.

    Args:
        input: the tensor to copy.
        src: what is put in, of the slice's shape.
        dim: the dimension that is cut.
        start, end, step: as in Python; None for the ends, and the step positive.
        out: a tensor of the dtype of `input` to write the result to.

    Returns:
        A contiguous tensor of the shape of `input`. Both `input` and `src` get gradients.

    Raises:
        RuntimeError: `src` has another shape, or `out` another dtype.
        IndexError: there is no such dimension.
        ValueError: a step that is not positive.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 4).slice_scatter(torch.ones(2, 2), dim=1, start=1, end=3)
        tensor([[0., 1., 1., 0.],
                [0., 1., 1., 0.]])
    """
    dim = integer("slice_scatter", "dim", dim)
    start, end = [None if place is None else integer("slice_scatter", argument, place)
                  for argument, place in (("start", start), ("end", end))]
    result = _replaced("slice", input, src, slice_view, dim, start, end, integer("slice_scatter", "step", step))
    return into_exactly("slice_scatter", out, result, input, src)


@method
def diagonal_scatter(input, src, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of `input` with `src` in the place of `input.diagonal(offset, dim1, dim2)`.

    Args:
        input: the tensor to copy.
        src: what is put in, of the diagonal's shape: the other dimensions, then the length of the diagonal.
        offset: which diagonal: above the main one (positive) or below.
        dim1, dim2: the dimensions it runs through.

    Returns:
        A contiguous tensor of the shape of `input`. Both `input` and `src` get gradients.

    Raises:
        RuntimeError: `src` has another shape.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 2).diagonal_scatter(torch.tensor([1., 2.]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    return _replaced("diagonal", input, src, diagonal, offset, dim1, dim2)


@method
def as_strided_scatter(input, src, size, stride, storage_offset=None) -> Tensor:
    """A copy of `input` with `src` in the place of `input.as_strided(size, stride, storage_offset)`.

    Args:
        input: the tensor to copy, with its strides, and what else lies in its storage, unless elements of it share memory.
        src: what is put in, of shape `size`.
        size, stride: shape of the view and its steps in elements of the storage.
        storage_offset: the first element's place in the storage; that of `input` when None.

    Returns:
        A tensor of the shape of `input`. Both `input` and `src` get gradients.

    Raises:
        RuntimeError: `src` has another shape, or the view leaves the tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 2).as_strided_scatter(torch.tensor([1., 2.]), (2,), (3,))
        tensor([[1., 0.],
                [0., 2.]])
    """
    layout = layout_of("as_strided", input)
    own = input.storage_offset() if layout.handler is None else 0
    if layout.handler is not None or layout.overlaps_itself() or (layout.contiguous and not own):
        return _replaced("slice", input, src, as_strided, size, stride, storage_offset)
    memory = as_strided(input, (input.memory.nbytes // layout.dtype.itemsize,), (1,), 0)
    out = _replaced("slice", memory, src, as_strided, size, stride, own if storage_offset is None else storage_offset)
    return as_strided(out, layout.shape, layout.strides, own)
