"""Views of whole tensors: dimensions in another order, expanded, or of another shape.

A view op asks the layout algebra for `(layout, offset)` and wraps it (`make_view`). Views of parts are in slicing.py.
"""
from __future__ import annotations

from ... import viewalgebra as algebra
from ...dtypes import dtype as dtype_class
from ...layout import as_shape, plain_dims, wrap_dim
from ...tensor import Tensor, view_of
from ..core.arguments import check_several, numpy_keywords
from ..core.late import later
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of, not_a_tensor
from ..memory.copies import contiguous
from .view_tape import make_view

VIEW, _EXPAND = Primitive("view", samples="T[2, 3]; (3, 2)"), Primitive("expand", samples="T[3]; (2, 3)")
_SQUEEZE, _UNSQUEEZE = Primitive("squeeze", samples="T[2, 1]; 1"), Primitive("unsqueeze", samples="T[2, 3]; 1")
_PERMUTE, _TRANSPOSE = Primitive("permute", samples="T[2, 3]; (1, 0)"), Primitive("transpose", samples="T[2, 3]; 0, 1")
_T = Primitive("t", samples="T[2, 3];")


# ---------------------------------------------------------------- rearranging
@method
def permute(input, *order, dims=None) -> Tensor:
    """Dimensions reordered: dimension `dims[i]` becomes dimension i.

    Args:
        input: (*).
        order, dims: each dimension once, as several ints or as one tuple; negative ones count from the end.

    Returns:
        A view.

    Raises:
        RuntimeError: not each dimension once.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
        torch.Size([4, 2, 3])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("permute", input)
    dims = as_shape(order if dims is None else (dims,), "permute")
    return make_view(input, algebra.permute(input.layout, dims), _PERMUTE, dims)


@_PERMUTE.derivative
def _permute_vjp(node, grad):
    dims = [wrap_dim(d, len(node.attributes)) for d in node.attributes]
    return (permute(grad, sorted(range(len(dims)), key=dims.__getitem__)),)       # the inverse


@method
def transpose(input, dim0, dim1) -> Tensor:
    """Two dimensions swapped.

    Args:
        input: (*).
        dim0, dim1: which; negative ones count from the end.

    Returns:
        A view.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
        torch.Size([4, 3, 2])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("transpose", input)
    return make_view(input, algebra.transpose(input.layout, dim0, dim1), _TRANSPOSE, (dim0, dim1))


@_T.derivative
def _t_vjp(node, grad):
    return (grad,)


@_TRANSPOSE.derivative
def _transpose_vjp(node, grad):
    return (transpose(grad, *node.attributes),)


swapdims = method(transpose, "swapdims")


@method
def swapaxes(input, axis0, axis1) -> Tensor:
    """Two dimensions swapped: `transpose` with NumPy's names.

    Args:
        input: (*).
        axis0, axis1: which; negative ones count from the end.

    Returns:
        A view.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.swapaxes(torch.tensor([[1, 2]]), 0, 1)
        tensor([[1],
                [2]])
    """
    return transpose(input, axis0, axis1)


@method
def t(input) -> Tensor:
    """The transpose of a matrix; vectors and 0-dim tensors stay.

    Args:
        input: (M, N), (N,) or ().

    Returns:
        A view: (N, M), (N,) or ().

    Raises:
        RuntimeError: more than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).t()
        tensor([[1, 3],
                [2, 4]])
    """
    try:
        ndim = input.layout.ndim
    except AttributeError:
        raise not_a_tensor("t", input) from None
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but input is {ndim}D")
    return transpose(input, 0, 1) if ndim == 2 else make_view(input, (input.layout, 0), _T)


def _reversed_dims(self) -> Tensor:
    """A view with the dimensions in reverse order.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).T.shape
        torch.Size([4, 3, 2])
    """
    ndim = self.layout.ndim
    return transpose(self, 0, 1) if ndim == 2 else permute(self, tuple(range(ndim))[::-1])


Tensor.T = property(_reversed_dims)


def _transposed_matrices(self) -> Tensor:
    """A view of matrices (..., M, N) transposed: (..., N, M); a number as it is.

    Raises:
        RuntimeError: one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).mT.shape
        torch.Size([2, 4, 3])
    """
    algebra.check_matrices(self.layout, "tensor.mT")
    return transpose(self, -2, -1) if self.layout.ndim else transpose(self, 0, -1)


Tensor.mT = property(_transposed_matrices)


@method
def movedim(input, source, destination) -> Tensor:
    """Dimensions moved to other places; the others keep their order.

    Args:
        input: (*).
        source, destination: ints, or as many in one tuple as in the other; negative ones count from the end.

    Returns:
        A view.

    Raises:
        RuntimeError: a dimension named twice, or not as many sources as destinations.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
        torch.Size([3, 4, 2])
    """
    if type(source) is not int or type(destination) is not int:
        source, destination = plain_dims(source), plain_dims(destination)
    order = algebra.moved_order(layout_of("movedim", input), source, destination)
    return make_view(input, algebra.permute(input.layout, order), _PERMUTE, order)


method(movedim, "moveaxis")


@method
def expand(input, *sizes, size=None) -> Tensor:
    """Broadcast to a shape without copying.

    Args:
        input: (*).
        sizes, size: the shape, as several ints or one tuple; -1 keeps an extent, and further dimensions come in front.

    Returns:
        A view in which elements occur several times in memory: clone it before writing to it.

    Raises:
        RuntimeError: an extent that is not 1 is to change, or fewer dimensions than there are.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    sizes = as_shape(sizes if size is None else (size,), "expand")
    layout = layout_of("expand", input)
    return make_view(input, algebra.expand(layout, sizes), _EXPAND, layout.shape)


@_EXPAND.derivative
def _expand_vjp(node, grad):
    return (later["sum_to_size"](grad, node.attributes),)


@method
def expand_as(self, other) -> Tensor:
    """Broadcast to the shape of another tensor without copying: `expand`.

    Args:
        other: whose shape.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 3))
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return expand(self, *layout_of("expand_as", other, "other").shape)


@method
def broadcast_to(input, size, *further) -> Tensor:
    """Broadcast to a shape without copying: `expand`.

    Args:
        input: (*).
        size: the shape, as a sequence or as ints one by one; -1 keeps an extent.

    Example:
        >>> import numtorch as torch
        >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]])
    """
    return expand(input, as_shape((size, *further), "broadcast_to"))


# ---------------------------------------------------------------- reshaping
@derivative_of(VIEW, _SQUEEZE, _UNSQUEEZE)
def reshape_vjp(node, grad):
    return (reshape(grad, node.attributes),)


@method
def view(self, *shape, size=None, dtype=None) -> Tensor:
    """The same elements under another shape, without copying; or, given a dtype, the same bytes read as that.

    Args:
        shape, size, dtype: the shape as several ints or one tuple, of which one may be -1: what is left; or a dtype.

    Returns:
        A view: what is written to it reaches this tensor.

    Raises:
        RuntimeError: the strides do not allow it without a copy (use `reshape`), or the elements do not fit.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 4.]])
        >>> x.view(-1), torch.tensor(1.).view(torch.int32)
        (tensor([1., 2., 3., 4.]), tensor(1065353216, dtype=torch.int32))
    """
    if size is not None:
        shape = as_shape((size,), "view")
    if dtype is not None:
        shape = (*shape, dtype)                          # a shape beside it is refused below
    for n in shape:                                      # ints, as they nearly always are, need no more reading
        if type(n) is not int:
            if type(n) is dtype_class and len(shape) == 1:
                return _view_as_dtype(self, n)
            shape = as_shape(shape, "view")
            break
    result = algebra.try_view(self.layout, shape)
    if result is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                           "two contiguous subspaces). Use .reshape(...) instead.")
    return make_view(self, result, VIEW, self.layout.shape)


def _view_as_dtype(x, kind):
    layout, _ = algebra.reread(x.layout, kind)
    try:
        address = x.address
    except AttributeError:                               # a special layout that is of tensors
        return x.layout.handler.viewed(x, layout)
    if kind.itemsize > x.layout.dtype.itemsize and address % kind.itemsize:
        raise RuntimeError(f"view: the offset must be divisible by {kind.itemsize // x.layout.dtype.itemsize} to view "
                           f"{x.layout.dtype} as {kind}")
    return view_of(x, layout, 0)


@method
def reshape(input, *extents, shape=None) -> Tensor:
    """The same elements under another shape: a view where the strides allow it, else a copy.

    Args:
        input: (*).
        extents, shape: as several ints or one tuple, of which one may be -1: what is left.

    Raises:
        RuntimeError: another number of elements.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("reshape", input)
    shape = extents if shape is None else as_shape((shape,), "reshape")
    for n in shape:
        if type(n) is not int:
            shape = as_shape(shape, "reshape")
            break
    result = algebra.try_view(input.layout, shape)
    if result is None:
        dense = contiguous(input)
        result = algebra.try_view(dense.layout, shape)
        if dense.node is None:                           # nobody else has the copy
            dense.layout = result[0]
            return dense
        input = dense
    return make_view(input, result, VIEW, input.layout.shape)


@method
def view_as(self, other) -> Tensor:
    """A view with the shape of another tensor: `view`.

    Args:
        other: whose shape.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(4).view_as(torch.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return view(self, *layout_of("view_as", other, "other").shape)


@method
def reshape_as(self, other) -> Tensor:
    """These elements under the shape of another tensor: `reshape`.

    Args:
        other: whose shape.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return reshape(self, *layout_of("reshape_as", other, "other").shape)


@method
def flatten(input, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions from `start_dim` to `end_dim` merged into one: a view where the strides allow it, else a copy.

    Args:
        input: (*).
        start_dim, end_dim: the first and the last of them; negative ones count from the end.

    Raises:
        RuntimeError: `start_dim` behind `end_dim`.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).flatten(1).shape
        torch.Size([2, 12])
    """
    ndim = layout_of("flatten", input).ndim
    if ndim == 0:
        wrap_dim(start_dim, 0), wrap_dim(end_dim, 0)
        return reshape(input, 1)
    if start_dim == 0 and end_dim == -1 and type(start_dim) is type(end_dim) is int:
        return input if ndim == 1 else reshape(input, -1)
    first, last = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    shape = input.layout.shape
    merged = 1
    for extent in shape[first:last + 1]:
        merged *= extent
    return reshape(input, *shape[:first], merged, *shape[last + 1:])


@method
@numpy_keywords
def unflatten(input, dim, sizes) -> Tensor:
    """One dimension split into several.

    Args:
        input: (*).
        dim: which; negative ones count from the end.
        sizes: their extents, of which one may be -1: what is left.

    Returns:
        A view.

    Raises:
        RuntimeError: extents whose product is another.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 6).unflatten(1, (3, -1)).shape
        torch.Size([2, 3, 2])
    """
    layout = layout_of("unflatten", input)
    check_several("unflatten", "sizes", sizes)
    return make_view(input, algebra.unflatten(layout, plain_dims(dim), as_shape((sizes,), "unflatten: sizes")), VIEW, layout.shape)


@method
def ravel(input) -> Tensor:
    """All elements in one dimension, contiguous: a view of a contiguous tensor, else a copy.

    Args:
        input: (*).

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).ravel()
        tensor([1, 2, 3, 4])
    """
    layout_of("ravel", input)
    return reshape(contiguous(input), -1)


@method
def squeeze(input, dim=None, *further, axis=None) -> Tensor:
    """Without dimensions of extent 1.

    Args:
        input: (*).
        dim: which to remove if of extent 1, an int, a tuple or ints one by one; all when None. axis: NumPy's name of it.

    Returns:
        A view.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(1, 3, 1)
        >>> x.squeeze().shape, x.squeeze(0).shape
        (torch.Size([3]), torch.Size([3, 1]))
    """
    dims = plain_dims((dim, *further) if further else dim if axis is None else axis)
    if type(dims) is int:
        dims = (dims,)
    if not isinstance(input, Tensor):
        raise not_a_tensor("squeeze", input)
    return make_view(input, algebra.squeeze(input.layout, dims), _SQUEEZE, input.layout.shape)


@method
def unsqueeze(input, dim=None, *, axis=None) -> Tensor:
    """With a new dimension of extent 1 before `dim`.

    Args:
        input: (*).
        dim: its place; -1 is behind the last. axis: NumPy's name of it.

    Returns:
        A view.

    Raises:
        IndexError: a place beyond the dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(3).unsqueeze(0).shape, torch.zeros(3).unsqueeze(-1).shape
        (torch.Size([1, 3]), torch.Size([3, 1]))
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("unsqueeze", input)
    if dim is None and (dim := axis) is None:
        raise TypeError("unsqueeze() missing 1 required positional argument: 'dim'")
    return make_view(input, algebra.unsqueeze(input.layout, dim), _UNSQUEEZE, input.layout.shape)
