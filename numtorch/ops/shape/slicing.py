"""Views of parts of a tensor: an index or a range of a dimension, windows, diagonals, and any strides."""
from __future__ import annotations

from ... import viewalgebra as algebra
from ...layout import as_shape, ints
from ...tensor import Tensor
from ..core.arguments import check_several, numpy_keywords, required_dim
from ..core.operands import layout_of, method
from ..core.primitive import not_a_tensor
from ..memory.copies import clone
from ..memory.resize import into_exactly
from .view_tape import AS_STRIDED, SHARED_STRIDED, View, make_part, make_view

SELECT = View("select", samples="T[3, 4]; 1, 2")
NARROW = View("narrow", samples="T[3, 4]; 1, 1, 2")
SLICE = View("slice", samples="T[3, 4]; 1, 0, 4, 2")
UNFOLD = View("unfold", samples="T[3, 4]; 1, 2, 1")
DIAGONAL = View("diagonal", samples="T[3, 4]; 1, 0, 1")


@method
def select(input, dim=None, index=None, *, axis=None) -> Tensor:
    """One index of a dimension, which goes away.

    Args:
        input: (*).
        dim, index: which; negative ones count from the end.
        axis: NumPy's name of `dim`.

    Returns:
        A view.

    Raises:
        IndexError: there is no such dimension or index.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).select(1, 0)
        tensor([1, 3])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("select", input)
    if dim is None:
        dim = required_dim("select", axis)
    return make_part(input, SELECT, algebra.select, dim, index)


@method
@numpy_keywords
def narrow_copy(input, dim, start, length, *, out=None) -> Tensor:
    """`narrow` with memory of its own.

    Args:
        input: (*).
        dim: which dimension.
        start: the first index; a negative one counts from the end.
        length: how many.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: they reach beyond the dimension, or there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(6).narrow_copy(0, 2, 3)
        tensor([2, 3, 4])
    """
    if dim >= layout_of("narrow_copy", input).ndim:
        raise RuntimeError(f"narrow_copy: Expected dim < {input.layout.ndim}, but got {dim}")
    part = narrow(input, dim, start, length)
    return clone(part) if out is None else into_exactly("narrow_copy", out, part)


@method
def narrow(input, dim=None, start=None, length=None, *, axis=None) -> Tensor:
    """`length` indices of a dimension from `start`.

    Args:
        input: (*).
        dim, axis: which dimension, under PyTorch's name or NumPy's.
        start: the first index, an int or a tensor of one; a negative one counts from the end.
        length: how many.

    Returns:
        A view.

    Raises:
        RuntimeError: they reach beyond the dimension, or `start` is another tensor.
        IndexError: there is no such dimension or start.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(6).narrow(0, 2, 3)
        tensor([2, 3, 4])
    """
    if isinstance(start, Tensor):
        if start.layout.ndim or start.layout.dtype.category != 1:
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    if not isinstance(input, Tensor):
        raise not_a_tensor("narrow", input)
    if dim is None:
        dim = required_dim("narrow", axis)
    return make_part(input, NARROW, algebra.narrow, dim, start, length)


def slice_view(x, dim, start, stop, step):
    """`[start:stop:step]` of one dimension."""
    return make_part(x, SLICE, algebra.slice_dim, dim, start, stop, step)


@method
def unfold(input, dimension, size, step) -> Tensor:
    """Windows along a dimension, as a new last dimension.

    Args:
        input: (*).
        dimension: along which.
        size: of a window.
        step: from one to the next.

    Returns:
        A view: (..., (L - size) // step + 1, ..., size) for an extent L.

    Raises:
        RuntimeError: a window larger than the dimension, or a step that is not positive.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).unfold(0, 3, 2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    return make_part(input, UNFOLD, algebra.unfold, dimension, size, step)


@method
def diagonal(input, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A diagonal of two dimensions, as a new last dimension.

    Args:
        input: (*), of two dimensions at least.
        offset: which diagonal: above the main one (positive) or below it.
        dim1, dim2: the two dimensions, which go away.

    Returns:
        A view.

    Raises:
        RuntimeError: the same dimension twice.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> x = torch.arange(9).view(3, 3)
        >>> x.diagonal(), x.diagonal(1)
        (tensor([0, 4, 8]), tensor([1, 5]))
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("diagonal", input)
    return make_part(input, DIAGONAL, algebra.diagonal, offset, dim1, dim2)


@method
def as_strided(input, size, stride, storage_offset=None) -> Tensor:
    """Any shape and strides over this tensor's storage.

    Args:
        input: the tensor whose storage it is.
        size, stride: as many of each; strides in elements.
        storage_offset: the first element's place in the storage; that of `input` when None.

    Returns:
        A view.

    Raises:
        RuntimeError: the view would reach outside the storage, or lengths differ.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).as_strided((3, 2), (1, 1))
        tensor([[0, 1],
                [1, 2],
                [2, 3]])
    """
    layout = layout_of("as_strided", input)
    check_several("as_strided", "size", size)
    check_several("as_strided", "stride", stride)
    if layout.handler is not None:
        size, stride = as_shape((size,)), as_shape((stride,))
        return make_view(input, algebra.as_strided(layout, size, stride, storage_offset), AS_STRIDED)
    own = input.storage_offset()
    start = own if storage_offset is None else ints((storage_offset,), "as_strided: storage_offset")[0]
    result = algebra.strided_within(layout, as_shape((size,)), as_shape((stride,)), own, start, input.memory.nbytes)
    if input.node is not None:
        (low, high), (first, last) = layout.extent(), result[0].extent()
        if first + result[1] < low or last + result[1] > high or layout.overlaps_itself():
            return make_view(input, result, SHARED_STRIDED, (layout, *result))
    return make_view(input, result, AS_STRIDED)

SLICE.function = slice_view
