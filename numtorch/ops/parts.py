"""A tensor cut into views along a dimension. All the parts share one place in the graph, whose backward joins their
gradients: one pass over memory, where a place for each part would fill and add a whole tensor of zeros for each."""
from __future__ import annotations

from itertools import accumulate

from .. import viewalgebra as algebra
from ..autograd.graph import GraphNode, Output
from ..autograd.modes import modes
from ..layout import wrap_dim
from ..tensor import Tensor
from .copy import filled
from .join import cat, stack
from .op import method
from .view import make_view, make_views, separate, slice_view


def _parts(x, title, join, dim, views) -> tuple:
    """Views of x, of layouts and offsets in it, which `join` along `dim` puts together again."""
    if x.node is None:
        return tuple(make_views(x, views))
    if not modes.grad or x.layout.dtype.category < 2:
        return tuple([make_view(x, found, title) for found in views])
    views = make_views(x, views)
    node = GraphNode(title, (x.node,), (), _parts_vjp, (join, dim, [v.layout for v in views]), outputs=len(views))
    for position, each in enumerate(views):
        each.node = Output(node, position)
    return tuple(views)


def _parts_vjp(node, grads):
    join, dim, layouts = node.constants
    grads = [grads] if isinstance(grads, Tensor) else grads
    zeros = {layout: filled(layout.dense(), 0) for grad, layout in zip(grads, layouts) if grad is None}
    return (join([zeros[layout] if grad is None else grad for grad, layout in zip(grads, layouts)], dim),)


@method
def unbind(self, dim: int = 0):
    """A tuple of all slices along a dimension, without it."""
    dim = wrap_dim(dim, self.layout.ndim)
    x = self if self.node is None else separate(self)
    return _parts(x, "unbind", stack, dim, algebra.every(x.layout, dim))


@method
def split(self, split_size_or_sections, dim: int = 0):
    """Views of consecutive parts of a dimension: of one size (the last may be smaller), or of the given sizes.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).split(2)
        (tensor([0, 1]), tensor([2, 3]), tensor([4]))
        >>> torch.arange(5).split([1, 4])
        (tensor([0]), tensor([1, 2, 3, 4]))
    """
    x = self if self.node is None else separate(self)
    dim = wrap_dim(dim, x.layout.ndim)
    extent = x.layout.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and extent):
            wanted = "positive" if size == 0 else "non-negative"
            raise RuntimeError(f"split expects split_size be {wanted}, but got split_size={size}")
        return _parts(x, "split", cat, dim, algebra.cut(x.layout, dim, size))
    sizes = list(split_size_or_sections)
    if sum(sizes) != extent or any(s < 0 for s in sizes):
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's size at dimension "
                           f"{dim}), but got split_sizes={sizes}")
    return _parts(x, "split", cat, dim, [algebra.narrow(x.layout, dim, stop - size, size)
                                         for size, stop in zip(sizes, accumulate(sizes))])


@method
def chunk(self, chunks, dim: int = 0):
    """At most `chunks` views of equal size (the last may be smaller) along a dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).chunk(2)
        (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    x = self if self.node is None else separate(self)
    dim = wrap_dim(dim, x.layout.ndim)
    return _parts(x, "split", cat, dim, algebra.cut(x.layout, dim, max(1, -(-x.layout.shape[dim] // chunks))))


@method
def tensor_split(self, indices_or_sections, dim: int = 0):
    """Parts of a dimension as NumPy's array_split makes them: a number of parts, or cut before each index."""
    dim = wrap_dim(dim, self.layout.ndim)
    extent = self.layout.shape[dim]
    if isinstance(indices_or_sections, int) or (isinstance(indices_or_sections, Tensor) and not indices_or_sections.layout.ndim):
        n = int(indices_or_sections)
        if n <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {n}")
        if n <= extent and not extent % n:
            x = self if self.node is None else separate(self)
            return tuple([make_view(x, found, "slice") for found in algebra.cut(x.layout, dim, extent // n)])
        cuts = [extent // n * i + min(i, extent % n) for i in range(n + 1)]
    else:
        if isinstance(indices_or_sections, Tensor):
            indices_or_sections = indices_or_sections.tolist()
        cuts = [0, *indices_or_sections, extent]
    return tuple([slice_view(self, dim, a, b, 1) for a, b in zip(cuts, cuts[1:])])


def _split_along(name, least, dim):
    def function(self, indices_or_sections):
        if self.layout.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension{'s' if least > 1 else ''}, but got "
                               f"a tensor with {self.layout.ndim} dimensions!")
        along = 0 if name == "hsplit" and self.layout.ndim == 1 else dim
        extent = self.layout.shape[along]
        if isinstance(indices_or_sections, int) and (indices_or_sections <= 0 or extent % indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along dimension {along}, but the size of the dimension {extent} "
                               f"is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(self, indices_or_sections, along)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"Parts of dimension {dim}: a number of equal ones, or cut before each index."
                        + (" A vector is cut along its only dimension." if name == "hsplit" else ""))
    return method(function)


hsplit, vsplit, dsplit = _split_along("hsplit", 1, 1), _split_along("vsplit", 2, 0), _split_along("dsplit", 3, 2)


@method
def split_with_sizes(self, split_sizes, dim: int = 0):
    """Views of consecutive parts of a dimension, of the given sizes."""
    return split(self, list(split_sizes), dim)


def _unsafe(function):
    def parts(self, *args, **kwargs):
        found = function(self, *args, **kwargs)
        base = found[0]._base if found else None
        if base is not None:
            del base._views[-len(found):]
            for each in found:
                del each._base, each._origin
        return found
    parts.__name__ = parts.__qualname__ = "unsafe_" + function.__name__
    parts.__doc__ = f"`{function.__name__}` whose parts are no views to the tape: they may be written to, the tensor may not."
    return method(parts)


unsafe_split, unsafe_chunk, unsafe_split_with_sizes = _unsafe(split), _unsafe(chunk), _unsafe(split_with_sizes)
