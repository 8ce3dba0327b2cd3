"""Views: other layouts over the same memory, and what the tape must know of them.

A view op asks the layout algebra for `(layout, offset)` and wraps it. Views remember their base, so that an in-place write
through one reaches the gradient of all: the base's history becomes a `CopySlices` node, and every live view of it stands
behind that again.
"""
from __future__ import annotations

import copy
from operator import index as as_index
from weakref import ref

from .. import viewalgebra as algebra
from ..autograd.graph import GraphNode, Node, recording
from ..autograd.modes import modes
from ..dtypes import dtype as dtype_class
from ..kernels.binding import ScalarBody
from ..layout import Layout, as_shape, wrap_dim
from ..tensor import Tensor, bare, lasting, view_of
from .backends import kernels
from .copy import clone, contiguous, copy_elements, filled, register
from .op import method, new_plan_table, registry
from .writing import live_views


# ---------------------------------------------------------------- making views
def make_view(x: Tensor, found, title: str, vjp=None, constants=None) -> Tensor:
    """A view of x with layout and offset `found`; without a vjp its gradient goes back into the region it covers."""
    layout, offset = found
    out = bare()
    out.storage = x.storage
    out.address = x.address + offset * layout.dtype.itemsize if offset else x.address
    out.layout = layout
    out.node = None
    if layout.dtype.category >= 2 and modes.grad:        # views made without recording are apart from the tape for good
        base = x._base
        if base is None:
            base = x
        elif "_origin" in x.__dict__:                    # what is so of a view is so of its parts
            out._origin = x._origin
        out._base = base
        views = base._views
        if views is None:
            base._views = [ref(out)]
        else:
            if len(views) >= 32 and not len(views) & (len(views) - 1):     # at powers of two, drop the dead
                views[:] = [v for v in views if v() is not None]
            views.append(ref(out))
        if x.node is not None:
            if vjp is None:
                vjp, constants = _region_vjp, (x.layout, layout, offset)
            out.node = GraphNode(title, (x.node,), (), vjp, constants)
    elif x.node is not None and layout.dtype.category >= 2:
        out._origin = "no_grad"
    return out


def make_views(x: Tensor, places) -> list:
    """Views of x of several layouts and offsets, that the caller records. Every other thing is done once for all."""
    storage, address, itemsize, tracked = x.storage, x.address, x.layout.dtype.itemsize, None
    if modes.grad and x.layout.dtype.category >= 2:
        base = x if x._base is None else x._base
        tracked = base._views
        if tracked is None:
            tracked = base._views = []
        elif len(tracked) >= 32 and len(tracked).bit_length() != (len(tracked) + len(places)).bit_length():
            tracked[:] = [v for v in tracked if v() is not None]
    views = []
    for layout, offset in places:
        out = bare()
        out.storage, out.address, out.layout, out.node = storage, address + offset * itemsize, layout, None
        if tracked is not None:
            out._base, out._origin = base, "several"
            tracked.append(ref(out))
        views.append(out)
    return views


def separate(x: Tensor) -> Tensor:
    """x, or a copy where several of its elements share memory and it is recorded: a region of such a tensor does not say
    which of the elements it was, so its gradient could not be put back."""
    layout = x.layout
    return contiguous(x) if not layout.contiguous and modes.grad and layout.overlaps_itself() else x


def _region_vjp(node, grad):
    base, layout, offset = node.constants
    return (place(grad, base, layout, offset),)


_accumulations = new_plan_table()


def _sum_of(x, y):
    return x + y


def add_into(region: Tensor, grad: Tensor):
    """region += grad where elements of the region may share memory: one thread, one element after another."""
    key = (region.layout, grad.layout)
    prepared = _accumulations.get(key)
    if prepared is None:
        if not region.layout.numel:
            return
        compute = region.layout.dtype.compute
        prepared = _accumulations.keep(key, kernels(region.layout.device, "pointwise").plan_pointwise(
            ScalarBody(_sum_of, compute), (region.layout.dtype.kernel, grad.layout.dtype.kernel), (region.layout.dtype.kernel,),
            region.layout.shape, [region.layout.strides, grad.layout.strides], compute=(compute,) * 2, written=0, cost=0))
    prepared.call(region.address, grad.address, prepared.walk)


@register
def place(grad: Tensor, base: Layout, layout: Layout, offset: int) -> Tensor:
    """Zeros of the base's shape with `grad` added where the view `(layout, offset)` of the base lies."""
    out = lasting(Layout.of(grad.layout.dtype, base.shape, base.strides, base.device))
    copy_elements(filled(Layout.of(grad.layout.dtype, (), (), base.device), 0), out)
    region = view_of(out, Layout.of(grad.layout.dtype, layout.shape, layout.strides, base.device), offset)
    if layout.overlaps_itself():
        add_into(region, grad)
    else:
        copy_elements(grad, region)
    if recording(grad):
        out.node = GraphNode("place", (grad.node,), (), _place_vjp, (base, layout, offset))
    return contiguous(out) if not out.layout.contiguous else out


def _place_vjp(node, grad):
    base, layout, offset = node.constants
    wanted = Layout.of(grad.layout.dtype, base.shape, base.strides, base.device)
    if grad.layout is not wanted:
        moved = lasting(wanted)
        copy_elements(grad, moved)
        if recording(grad):
            moved.node = GraphNode("clone", (grad.node,), (), lambda node, g: (g,))
        grad = moved
    return (make_view(grad, (Layout.of(grad.layout.dtype, layout.shape, layout.strides, base.device), offset), "as_strided"),)


# ---------------------------------------------------------------- writing through views
class CopySlices(Node):
    """The history of a tensor after an in-place write to a view of it: outside the view the gradient passes on, inside it
    goes through the write."""

    __slots__ = ("inner", "base", "layout", "offset")

    def __init__(self, base_node, inner, base, layout, offset):
        self.edges, self.extras = (base_node, *inner.edges[1:]), None
        self.inner, self.base, self.layout, self.offset = inner, base, layout, offset

    def name(self):
        return "CopySlices"

    @property
    def saved(self):
        """What the inner node saved, which goes when this node's does."""
        return self.inner.saved

    @saved.setter
    def saved(self, value):
        self.inner.saved = value

    def backward(self, grad):
        base = Layout.of(grad.layout.dtype, self.base.shape, self.base.strides, self.base.device)
        whole = lasting(base)
        copy_elements(grad, whole)
        if recording(grad):
            whole.node = GraphNode("clone", (grad.node,), (), lambda node, g: (g,))
        region = (Layout.of(grad.layout.dtype, self.layout.shape, self.layout.strides, base.device), self.offset)
        # Recorded, an inner node may put its saved result behind itself, where it would run and be freed before its turn here.
        run = copy.copy(self.inner).differentiable_backward if modes.grad else self.inner.backward
        outgoing = run(clone(make_view(whole, region, "as_strided")))
        part = make_view(whole, region, "as_strided")
        inside = outgoing[0]
        if inside is None:
            inside = filled(Layout.of(grad.layout.dtype, (), (), base.device), 0)
        registry["copy_"].function(part, inside)
        return (whole if whole.layout.contiguous else contiguous(whole), *outgoing[1:])


@register
def write_through_view(base: Tensor, view: Tensor, node: Node) -> None:
    """Make `node`, the in-place write to `view`, part of the history of the base and of all its views."""
    offset = (view.address - base.address) // base.layout.dtype.itemsize
    base.node = CopySlices(base.node, node, base.layout, view.layout, offset)
    for each in live_views(base):
        refresh_view(base, each)


@register
def refresh_view(base: Tensor, view: Tensor) -> None:
    """Put a view behind its base's new history."""
    offset = (view.address - base.address) // base.layout.dtype.itemsize
    if view.__dict__.get("_origin") == "function":
        view.node = GraphNode("as_strided", (base.node,), (), _refuse)
        return
    if view.layout.dtype is not base.layout.dtype:
        view.node = GraphNode("as_strided", (base.node,), (), _refuse_parts)
        return
    view.node = GraphNode("as_strided", (base.node,), (), _region_vjp, (base.layout, view.layout, offset))


def _refuse(node, grad):
    raise RuntimeError("The output of a custom Function is a view and its base or another view of its base has been modified "
                       "inplace. This would override the custom backward associated with the custom Function, leading to incorrect "
                       "gradients. You can fix this by cloning the output of the custom Function.")


def _refuse_parts(node, grad):
    raise RuntimeError("A tensor was modified inplace while there was a view of it as real or complex numbers. Make that view "
                       "again after the write.")


# ---------------------------------------------------------------- rearranging
@method
def permute(self, *dims):
    """Dimensions reordered: dimension `dims[i]` becomes dimension i."""
    dims = as_shape(dims, "permute")
    return make_view(self, algebra.permute(self.layout, dims), "permute", _permute_vjp, dims)


def _permute_vjp(node, grad):
    dims = [wrap_dim(d, len(node.constants)) for d in node.constants]
    inverse = [0] * len(dims)
    for i, d in enumerate(dims):
        inverse[d] = i
    return (permute(grad, inverse),)


@method
def transpose(self, dim0, dim1):
    """Two dimensions swapped.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
        torch.Size([4, 3, 2])
    """
    return make_view(self, algebra.transpose(self.layout, dim0, dim1), "transpose", _transpose_vjp, (dim0, dim1))


def _transpose_vjp(node, grad):
    return (transpose(grad, *node.constants),)


swapaxes = swapdims = transpose
method(transpose, "swapaxes")
method(transpose, "swapdims")


@method
def t(self):
    """The transpose of a matrix; vectors and 0-dim tensors stay."""
    if self.layout.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.layout.ndim}D")
    return transpose(self, 0, 1) if self.layout.ndim == 2 else make_view(self, (self.layout, 0), "t", lambda node, g: (g,))


def _reversed_dims(self):
    """The dimensions in reverse order."""
    ndim = self.layout.ndim
    return transpose(self, 0, 1) if ndim == 2 else permute(self, tuple(range(ndim))[::-1])


Tensor.T = property(_reversed_dims)


def _transposed_matrices(self) -> Tensor:
    """(..., M, N) as (..., N, M). Raises RuntimeError for fewer than two dimensions."""
    if self.layout.ndim < 2:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.layout.ndim}-D tensor.")
    return transpose(self, -2, -1)


Tensor.mT = property(_transposed_matrices)


@method
def movedim(self, source, destination):
    """Dimensions `source` (an int or several) moved to `destination`; the others keep their order."""
    if type(source) is not int or type(destination) is not int:
        source, destination = [d if isinstance(d, int) else tuple(d) for d in (source, destination)]
    order = algebra.moved_order(self.layout, source, destination)
    return make_view(self, algebra.permute(self.layout, order), "permute", _permute_vjp, order)


method(movedim, "moveaxis")


@register
@method
def expand(self, *sizes):
    """Broadcast to a shape without copying; -1 keeps an extent."""
    sizes = as_shape(sizes, "expand")
    return make_view(self, algebra.expand(self.layout, sizes), "expand", _expand_vjp, self.layout.shape)


def _expand_vjp(node, grad):
    return (registry["sum_to_size"].function(grad, node.constants),)


@method
def expand_as(self, other):
    """Broadcast to the shape of another tensor."""
    return expand(self, *other.layout.shape)


@method
def broadcast_to(self, size):
    """Broadcast to a shape without copying."""
    return expand(self, *size)


# ---------------------------------------------------------------- reshaping
def reshape_vjp(node, grad):
    return (reshape(grad, node.constants),)


@method
def view(self, *shape):
    """The same elements under another shape, without copying; or, given a dtype, the same bytes read as that.

    Raises:
        RuntimeError: the strides do not allow it without a copy (use `reshape`), or the elements do not fit.
    """
    for n in shape:                                      # ints, as they nearly always are, need no more reading
        if type(n) is not int:
            if type(n) is dtype_class and len(shape) == 1:
                return _view_as_dtype(self, n)
            shape = as_shape(shape, "view")
            break
    found = algebra.try_view(self.layout, shape)
    if found is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension spans across "
                           "two contiguous subspaces). Use .reshape(...) instead.")
    return make_view(self, found, "view", reshape_vjp, self.layout.shape)


def _view_as_dtype(x, kind):
    layout, _ = algebra.reread(x.layout, kind)
    if kind.itemsize > x.layout.dtype.itemsize and x.address % kind.itemsize:
        raise RuntimeError(f"view: the offset must be divisible by {kind.itemsize // x.layout.dtype.itemsize} to view "
                           f"{x.layout.dtype} as {kind}")
    return view_of(x, layout, 0)


@register
@method
def reshape(self, *shape):
    """The same elements under another shape: a view where the strides allow it, else a copy. One extent may be -1."""
    for n in shape:
        if type(n) is not int:
            shape = as_shape(shape, "reshape")
            break
    found = algebra.try_view(self.layout, shape)
    if found is None:
        dense = contiguous(self)
        found = algebra.try_view(dense.layout, shape)
        if dense.node is None:                           # nobody else has the copy
            dense.layout = found[0]
            return dense
        self = dense
    return make_view(self, found, "view", reshape_vjp, self.layout.shape)


@method
def view_as(self, other):
    """A view with the shape of another tensor."""
    return view(self, *other.layout.shape)


@method
def reshape_as(self, other):
    """These elements under the shape of another tensor."""
    return reshape(self, *other.layout.shape)


@method
def flatten(self, start_dim: int = 0, end_dim: int = -1):
    """Dimensions from `start_dim` to `end_dim` merged into one.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 3, 4).flatten(1).shape
        torch.Size([2, 12])
    """
    ndim = self.layout.ndim
    if ndim == 0:
        return reshape(self, 1)
    if start_dim == 0 and end_dim == -1:
        return self if ndim == 1 else reshape(self, -1)
    first, last = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return self
    shape = self.layout.shape
    merged = 1
    for extent in shape[first:last + 1]:
        merged *= extent
    return reshape(self, *shape[:first], merged, *shape[last + 1:])


@method
def unflatten(self, dim, sizes):
    """One dimension split into several; one extent may be -1."""
    return make_view(self, algebra.unflatten(self.layout, dim, tuple(sizes)), "view", reshape_vjp, self.layout.shape)


@method
def ravel(self):
    """All elements in one dimension."""
    return reshape(self, -1)


@method
def squeeze(self, dim=None):
    """Without dimensions of extent 1: all of them, or those among `dim`."""
    dims = None if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    return make_view(self, algebra.squeeze(self.layout, dims), "squeeze", reshape_vjp, self.layout.shape)


@method
def unsqueeze(self, dim):
    """With a new dimension of extent 1 before `dim`."""
    return make_view(self, algebra.unsqueeze(self.layout, dim), "unsqueeze", reshape_vjp, self.layout.shape)


# ---------------------------------------------------------------- parts
@method
def select(self, dim, index):
    """One index of a dimension, which goes away."""
    x = self if self.node is None else separate(self)
    return make_view(x, algebra.select(x.layout, dim, as_index(index)), "select")


@register
@method
def narrow_copy(self, dim, start, length):
    """`narrow` with memory of its own."""
    return clone(narrow(self, dim, start, length))


@method
def narrow(self, dim, start, length):
    """`length` indices of a dimension from `start`.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(6).narrow(0, 2, 3)
        tensor([2, 3, 4])
    """
    start = start.item() if isinstance(start, Tensor) else start
    x = self if self.node is None else separate(self)
    return make_view(x, algebra.narrow(x.layout, dim, start, length), "narrow")


def slice_view(x, dim, start, stop, step):
    """`[start:stop:step]` of one dimension."""
    x = x if x.node is None else separate(x)
    return make_view(x, algebra.slice_dim(x.layout, dim, start, stop, step), "slice")


@method
def unfold(self, dimension, size, step):
    """Windows of `size`, `step` apart, along a dimension, as a new last dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(5).unfold(0, 3, 2)
        tensor([[0, 1, 2],
                [2, 3, 4]])
    """
    x = self if self.node is None else separate(self)
    return make_view(x, algebra.unfold(x.layout, dimension, size, step), "unfold")


@method
def diagonal(self, offset: int = 0, dim1: int = 0, dim2: int = 1):
    """A diagonal of two dimensions, as a new last dimension."""
    x = self if self.node is None else separate(self)
    return make_view(x, algebra.diagonal(x.layout, offset, dim1, dim2), "diagonal")


@method
def as_strided(self, size, stride, storage_offset=None):
    """Any shape and strides (in elements) over this tensor's storage.

    Raises:
        RuntimeError: the view would reach outside the storage, or lengths differ.
    """
    own = self.storage_offset()
    start = own if storage_offset is None else storage_offset
    return make_view(self, algebra.strided_within(self.layout, as_shape((size,)), as_shape((stride,)), own, start,
                                                  self.storage.nbytes), "as_strided")
