"""A tensor cut into views along a dimension. All the parts share one place in the graph, whose backward joins their
gradients: one pass over memory, where a place for each part would fill and add a whole tensor of zeros for each."""
from __future__ import annotations

from itertools import accumulate

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, attach_outputs
from ...autograd.modes import modes
from ...dtypes import int64
from ...layout import Layout, ints, is_sequence, wrap_dim
from ...tensor import Tensor, view_of
from ..core.arguments import numpy_keywords
from ..core.operands import layout_of, method, no_tensor_among
from ..core.primitive import Primitive, derivative_of
from ..memory.assign import ZERO, filled_from
from .join import cat, stack
from .slicing import SLICE, slice_view
from .view_tape import make_part, make_view, make_views

_UNBIND = Primitive("unbind", samples="T[2, 3]; 1")
_SPLIT = Primitive("split", samples="T[4, 3]; 2, 0")


def _parts(x, primitive, dim, views) -> tuple:
    """Views of x, of layouts and offsets in it: all along `dim`."""
    if x.node is None or x.layout.handler is not None:
        return tuple(make_views(x, views))
    if not modes.grad or x.layout.dtype.category < 2:
        return tuple([make_view(x, place, primitive) for place in views])
    node = GraphNode(primitive, (x.node,), (), (dim, tuple(views)), len(views))
    views = make_views(x, views)
    attach_outputs(node, views)
    return tuple(views)


@derivative_of(_UNBIND, _SPLIT)
def _parts_vjp(node, grads):
    (dim, places), join = node.attributes, stack if node.primitive is _UNBIND else cat
    grads = [grads] if isinstance(grads, Tensor) else grads
    return (join([_nothing(layout) if grad is None else grad for grad, (layout, _) in zip(grads, places)], dim),)


def _nothing(layout):
    """Zeros of a layout's shape, all of them one element: the gradient of a part that nothing was made of."""
    zero = filled_from(Layout.of(layout.dtype, (), (), layout.device), ZERO)
    return view_of(zero, Layout.of(layout.dtype, layout.shape, (0,) * layout.ndim, layout.device), 0)


@method
def unbind(input, dim: int = 0, *, axis=None) -> tuple[Tensor, ...]:
    """All slices along a dimension, without it.

    Args:
        input: (*), of one dimension at least.
        dim: along which.
        axis: NumPy's name of `dim`.

    Returns:
        A tuple of views, which are not written to while a gradient is recorded.

    Raises:
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).unbind()
        (tensor([1, 2]), tensor([3, 4]))
    """
    if axis is not None:
        dim = axis
    try:
        dim = wrap_dim(dim, input.layout.ndim)
    except AttributeError:
        raise no_tensor_among("unbind", input=input) from None
    return _parts(input, _UNBIND, dim, algebra.every(input.layout, dim))


def split(tensor, split_size_or_sections, dim: int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension.

    Args:
        tensor: (*).
        split_size_or_sections: the size of each (the last may be smaller), or a list of all sizes.
        dim: which dimension.

    Returns:
        A tuple of views, which are not written to while a gradient is recorded.

    Raises:
        RuntimeError: a size that is not positive, or sizes that do not add up to the dimension's.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.arange(5).split([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    if not layout_of("split", tensor, "tensor").ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, tensor.layout.ndim)
    extent = tensor.layout.shape[dim]
    if not is_sequence(split_size_or_sections):
        size, = ints((split_size_or_sections,), "split: split_size")
        if size < 0 or (size == 0 and extent):
            wanted = "positive" if size == 0 else "non-negative"
            raise RuntimeError(f"split expects split_size be {wanted}, but got split_size={size}")
        return _parts(tensor, _SPLIT, dim, algebra.cut(tensor.layout, dim, size))
    sizes = list(ints(split_size_or_sections, "split: split_sizes"))
    if sum(sizes) != extent or any(s < 0 for s in sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension "
                           f"{dim}), but got split_sizes={sizes}")
    return _parts(tensor, _SPLIT, dim, [algebra.narrow(tensor.layout, dim, stop - size, size)
                                              for size, stop in zip(sizes, accumulate(sizes))])


def _split(self, split_size, dim: int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension: `split`, whose sizes have another name here.

    Args:
        split_size: the size of each part, or a list of all sizes.
        dim: which dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(3).split(split_size=2)
        (tensor([0, 1]), tensor([2]))
    """
    return split(self, split_size, dim)


method(_split, "split")


@method
def chunk(input, chunks, dim: int = 0, *, axis=None) -> tuple[Tensor, ...]:
    """At most so many parts of equal size along a dimension; the last may be smaller.

    Args:
        input: (*).
        chunks: how many at most: ceil(extent / chunks) indices are in each.
        dim: which dimension.
        axis: NumPy's name of `dim`.

    Returns:
        A tuple of views, which are not written to while a gradient is recorded.

    Raises:
        RuntimeError: no chunks, or a tensor without dimensions.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).chunk(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if axis is not None:
        dim = axis
    chunks, = ints((chunks,), "chunk: chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not layout_of("chunk", input).ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, input.layout.ndim)
    extent = input.layout.shape[dim]
    places = algebra.cut(input.layout, dim, max(1, -(-extent // chunks)))
    return _parts(input, _SPLIT, dim, places if extent else list(places) * chunks)


@method
def tensor_split(input, indices_or_sections, dim: int = 0, *, axis=None) -> tuple[Tensor, ...]:
    """Parts of a dimension as NumPy's array_split makes them.

    Args:
        input: (*).
        indices_or_sections: how many, whose sizes differ by 1 at most; or indices, before each of which is cut.
        dim: which dimension.
        axis: NumPy's name of `dim`.

    Returns:
        A tuple of views.

    Raises:
        RuntimeError: no sections.
        IndexError: there is no such dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).tensor_split(3)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.arange(5).tensor_split((1, 3))
        (tensor([0]), tensor([1, 2]), tensor([3, 4]))
    """
    if axis is not None:
        dim = axis
    if not layout_of("tensor_split", input).ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.layout.ndim)
    extent = input.layout.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        kind = indices_or_sections.layout.dtype
        if kind is not int64:
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {kind.title}")
        if indices_or_sections.layout.ndim > 1:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                               f"tensor, but got a tensor with {indices_or_sections.layout.ndim} dims")
        indices_or_sections = indices_or_sections.tolist()
    if not is_sequence(indices_or_sections):
        n, = ints((indices_or_sections,), "tensor_split: sections")
        if n <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {n}")
        if n <= extent and not extent % n:
            size = extent // n
            return tuple([make_part(input, SLICE, algebra.narrow, dim, start, size) for start in range(0, extent, size)])
        cuts = [extent // n * i + min(i, extent % n) for i in range(n + 1)]
    else:
        cuts = [0, *ints(indices_or_sections, "tensor_split: indices"), extent]
    return tuple([slice_view(input, dim, a, b, 1) for a, b in zip(cuts, cuts[1:])])


def _split_along(name, least, dim):
    shape = [2 if d == dim else 4 for d in range(3)]

    def function(input, indices_or_sections) -> tuple[Tensor, ...]:
        if layout_of(name, input).ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got "
                               f"a tensor with {input.layout.ndim} dimensions!")
        along = 0 if name == "hsplit" and input.layout.ndim == 1 else dim
        extent = input.layout.shape[along]
        if not is_sequence(indices_or_sections):
            indices_or_sections, = ints((indices_or_sections,), f"{name}: sections")
            if indices_or_sections <= 0 or extent % indices_or_sections:
                raise RuntimeError(f"torch.{name} attempted to split along dimension {along}, but the size of the dimension "
                                   f"{extent} is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, along)
    function.__name__ = function.__qualname__ = name
    along = f"dimension {dim}" + (", of a vector along its only one" if name == "hsplit" else "")
    function.__doc__ = f"""Parts along {along}.

    Args:
        input: of {least} dimension{'s' if least > 1 else ''} at least.
        indices_or_sections: how many equal ones, or indices, before each of which is cut.

    Returns:
        A tuple of views.

    Raises:
        RuntimeError: fewer dimensions, or an extent that so many do not divide.

    Example:
        >>> import numtorch as torch
        >>> [part.shape for part in torch.zeros(4, 4, 4).{name}(2)]
        [torch.Size({shape}), torch.Size({shape})]
    """
    return method(function)


hsplit, vsplit, dsplit = _split_along("hsplit", 1, 1), _split_along("vsplit", 2, 0), _split_along("dsplit", 3, 2)


@method
@numpy_keywords
def split_with_sizes(tensor, split_sizes, dim: int = 0) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension, of given sizes: `split`.

    Args:
        tensor: (*).
        split_sizes: the sizes.
        dim: which dimension.

    Raises:
        RuntimeError: sizes that do not add up to the dimension's.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).split_with_sizes([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    return split(tensor, list(ints(split_sizes, "split_with_sizes: split_sizes")), dim)


def _unsafe(function, example):
    def parts(input, *args, **kwargs) -> tuple[Tensor, ...]:
        result = function(input, *args, **kwargs)
        base = result[0]._base if result else None
        if base is not None:
            del base._views[-len(result):]
            for each in result:
                del each._base
                each.__dict__.pop("_origin", None)       # which those of dual tensors have not
        return result
    parts.__name__ = parts.__qualname__ = "unsafe_" + function.__name__
    parts.arguments_of = function
    parts.__doc__ = f"""`{function.__name__}` whose parts are no views to the tape: they may be written to, the tensor may not.

    Args:
        input, args, kwargs: those of `{function.__name__}`.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(4).unsafe_{function.__name__}({example})
        (tensor([0, 1]), tensor([2, 3]))
    """
    return method(parts)


unsafe_split, unsafe_chunk, unsafe_split_with_sizes = _unsafe(split, 2), _unsafe(chunk, 2), _unsafe(split_with_sizes, [2, 2])
