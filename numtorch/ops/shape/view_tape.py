"""Making views: other layouts over the same memory, and what the tape must know of them.

Views remember their base, so that an in-place write through one reaches the gradient of all: the base's history becomes a
`CopySlices` node, and every live view of it stands behind that again. The view ops are in views.py and slicing.py.
"""
from __future__ import annotations

import copy
from weakref import ref

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, Leaf, Node, Recorded
from ...autograd.modes import modes
from ...kernels.threads import NOTHING
from ...layout import Layout
from ...tensor import Tensor, bare, empty, lasting, view_of
from ..core.arguments import expect_layout
from ..core.backends import kernels
from ..core.late import later, provide
from ..core.operands import as_operand
from ..core.primitive import Primitive, miss
from ..memory.assign import copy_, filled
from ..memory.copies import clone, contiguous, copy_elements, plan_copy, to_device
from ..memory.writing import into_fresh, live_views, move

SHARED_STRIDED = Primitive("as_strided")                 # of a base whose elements share memory, or reaching outside of it
_PLACE = Primitive("place", "Zeros with a tensor added in the region that a view covers.",
                   samples="T[2]; T[2, 3].layout, T[2, 3].select(1, 0).layout, 1")
_AS_IT_IS = Recorded("clone")
_ADD_INTO = Primitive("add_into", "A sum written into a tensor whose elements may share memory.", samples="T[2, 3], T[2, 3];")
_REFUSING, _PART = Recorded("as_strided"), Recorded("as_strided")


class View(Primitive):
    """A view op. Without a derivative of its own, its gradient goes back into the region that the view covers."""

    def __init__(self, name, samples=()):
        super().__init__(name, samples=samples)
        self.derivative(region_vjp)


# ---------------------------------------------------------------- with their place in the graph
def make_view(x: Tensor, place, primitive: Primitive, attributes=None) -> Tensor:
    """A view of x at a place, which is its layout and offset, made by a primitive."""
    layout, offset = place
    out = bare()
    out.memory = x.memory
    try:
        out.address = x.address + offset * layout.dtype.itemsize if offset else x.address
    except AttributeError:                               # a special layout that is of tensors: its algebra has made the view
        return x.layout.handler.viewed(x, layout)
    out.layout = layout
    out.node = None
    if layout.dtype.category >= 2 and modes.grad:        # views made without recording are apart from the tape for good
        base = x._base
        if base is None or type(x.node) is Leaf:         # a view that was made a leaf is what its own views are views of
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
            if primitive.vjp is region_vjp and attributes is None:
                attributes = (x.layout, layout, offset)
            out.node = GraphNode(primitive, (x.node,), (), attributes)
    elif x.node is not None and layout.dtype.category >= 2:
        out._origin, out.node = "no_grad", Leaf(out)     # as in PyTorch, where such a view is a leaf that requires grad
    return out


def make_views(x: Tensor, places) -> list:
    """Views of x of several layouts and offsets, that the caller records. Every other thing is done once for all."""
    try:
        storage, address, itemsize, tracked = x.memory, x.address, x.layout.dtype.itemsize, None
    except AttributeError:
        return [x.layout.handler.viewed(x, layout) for layout, _ in places]
    if modes.grad and x.layout.dtype.category >= 2:
        base = x if x._base is None or type(x.node) is Leaf else x._base
        tracked = base._views
        if tracked is None:
            tracked = base._views = []
        elif len(tracked) >= 32 and len(tracked).bit_length() != (len(tracked) + len(places)).bit_length():
            tracked[:] = [v for v in tracked if v() is not None]
    views = []
    for layout, offset in places:
        out = bare()
        out.memory, out.address, out.layout, out.node = storage, address + offset * itemsize, layout, None
        if tracked is not None:
            out._base, out._origin = base, "several"
            tracked.append(ref(out))
        elif x.node is not None:
            out._origin, out.node = "several", Leaf(out)
        views.append(out)
    return views


def make_part(x: Tensor, primitive: View, find, *arguments) -> Tensor:
    """A view of the part that `find(layout, *arguments)` finds, as a layout and an offset."""
    place = find(x.layout, *arguments)
    if x.node is None or x.layout.contiguous or not x.layout.overlaps_itself():
        return make_view(x, place, primitive)
    # where elements share memory, a region of it does not say which of them a part is: its place among row-major ones does
    dense = x.layout.dense()
    return make_view(x, place, primitive, (dense, *find(dense, *arguments)))


def region_vjp(node, grad):
    base, layout, offset = node.attributes
    return (place(grad, base, layout, offset),)


@_ADD_INTO.planned
def _plan_add_into(region, grad):
    expect_layout("add_into", "grad", grad, region.shape, region.dtype)
    if not region.numel:
        return NOTHING
    planner = kernels(region.device, "move.overlap").plan_add_overlapping
    return planner(region.dtype.kernel, region.shape, region.strides, grad.strides)


@_ADD_INTO.run
def add_into(prepared, region: Tensor, grad: Tensor):
    """region += grad, of the same dtype, where elements of the region may share memory."""
    prepared.call(region.address, grad.address, prepared.descriptor)


class _Placing:
    """What `place` does for one layout of gradients and one view: the layouts it makes and the kernels that write them."""

    __slots__ = ("out", "region", "start", "zero", "fill", "write")

    def __init__(self, grad, base, layout, offset):
        dtype, device = grad.dtype, base.device
        (low, high), (first, last) = layout.extent(), base.extent()
        if layout.numel and not first <= offset + low <= offset + high <= last:
            raise RuntimeError(f"place: expected a region of a base of {last} elements, got {list(layout.shape)} from {offset} on")
        self.out = Layout.of(dtype, base.shape, base.strides, device)
        self.region = Layout.of(dtype, layout.shape, layout.strides, device)
        self.start, self.zero = offset * dtype.itemsize, to_device(as_operand("place", 0), device)
        self.fill = plan_copy(self.zero.layout, self.out)
        self.write = None if layout.overlaps_itself() else plan_copy(grad, self.region)


_PLACE.planned(_Placing)


@_PLACE.call
def place(grad: Tensor, base: Layout, layout: Layout, offset: int) -> Tensor:
    """Zeros of the base's shape with `grad` added where the view `(layout, offset)` of the base lies."""
    plan = _PLACE.plans.get((grad.layout, base, layout, offset))
    if plan is None:
        return miss(_PLACE, (grad,), (base, layout, offset))
    out = empty(plan.out) if plan.out.contiguous else lasting(plan.out)
    plan.fill.call(plan.zero.address, out.address, plan.fill.descriptor)
    if plan.write is not None:
        plan.write.call(grad.address, out.address + plan.start, plan.write.descriptor)
    elif layout.numel:
        add_into(view_of(out, plan.region, offset), grad)
    _PLACE.recorded(out, (grad,), (), (base, layout, offset))
    return out if out.layout.contiguous else contiguous(out)


@_PLACE.derivative
def _place_vjp(node, grad):
    base, layout, offset = node.attributes
    whole, start = _in_memory_order(grad, base)
    return (_strided(whole, layout, start + offset),)


def _in_memory_order(grad, base):
    """A tensor's elements in memory where those of a base of its shape lie, and the offset of the base's first one."""
    wanted = Layout.of(grad.layout.dtype, base.shape, base.strides, base.device)
    if grad.layout is wanted:
        return grad, 0
    return _copied_in_memory_order(grad, base)


def _copied_in_memory_order(grad, base):
    if grad.layout.handler is not None:                  # whose elements have no places of their own
        low, high = base.extent()
        return place(grad, Layout.of(base.dtype, (high - low,), None, base.device), base, -low), -low
    out = lasting(Layout.of(grad.layout.dtype, base.shape, base.strides, base.device))
    copy_elements(grad, out)
    _AS_IT_IS.recorded(out, (grad,))
    return out, 0


def _strided(x, layout, offset):
    """The view of a tensor with a layout's shape and strides, from an offset on."""
    return make_view(x, algebra.as_strided(x.layout, layout.shape, layout.strides, offset), AS_STRIDED)


# ---------------------------------------------------------------- writing through views
@SHARED_STRIDED.derivative
def _shared_strided_vjp(node, grad):
    """The gradient of `as_strided` where elements of the base share memory, or the view reaches outside of it: by way of a block of
    memory that holds both. An element of it belongs in equal shares to all of the base's that lie there, as in PyTorch."""
    base, layout, offset = node.attributes
    low, high = base.extent()
    first, last = layout.extent()
    low, high = min(low, offset + first), max(high, offset + last)
    block = Layout.of(base.dtype, (high - low,), None, base.device)
    result = _strided(place(grad, block, layout, offset - low), base, -low)
    if not base.overlaps_itself():
        return (result,)
    return (result / _strided(place(filled(base.dense(), 1), block, base, -low), base, -low),)


class CopySlices(Node):
    """The history of a tensor after an in-place write to a view of it: outside the view the gradient passes on, inside it
    goes through the write. The offset of a view of parts of complex numbers, or of parts as complex numbers, counts real ones."""

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
        if base.overlaps_itself():
            raise RuntimeError(f"{self.inner.name()}: it wrote to a view of a tensor of which several elements share memory, and "
                               f"their gradients cannot be told apart. Please clone() the tensor before performing the operation.")
        whole, start = _copied_in_memory_order(grad, base)
        # Recorded, an inner node may put its saved result behind itself, where it would run and be freed before its turn here.
        run = copy.copy(self.inner).differentiable_backward if modes.grad else self.inner.backward
        outgoing = run(clone(self._region(whole, start)))
        inside = outgoing[0]
        if inside is None:
            inside = filled(Layout.of(grad.layout.dtype, (), (), base.device), 0)
        into_fresh(lambda _: copy_(self._region(whole, start), inside), whole)
        outside = whole if start == 0 and whole.layout.shape == base.shape else _strided(whole, base, start)
        return (outside if outside.layout.contiguous else contiguous(outside), *outgoing[1:])

    def _region(self, whole, start):
        """The part of the gradient that lies where the view did."""
        layout = self.layout
        if layout.dtype is self.base.dtype:
            return _strided(whole, layout, start + self.offset)
        if layout.dtype.is_complex:
            return later["view_as_complex"](_strided(whole, algebra.pairs(layout)[0], start + self.offset))
        return _strided(later["view_as_real"](whole), layout, 2 * start + self.offset)


@provide
def write_through_view(base: Tensor, view: Tensor, node: Node) -> None:
    """Make `node`, the in-place write to `view`, part of the history of the base and of all its views."""
    move(base, CopySlices(base.node, node, base.layout, view.layout, _offset(base, view)))
    for each in live_views(base):
        refresh_view(base, each)


def _offset(base, view):
    """How many elements into a base a view begins, counted in real numbers where one of the two has those of the other as parts."""
    size = min(base.layout.dtype.itemsize, view.layout.dtype.itemsize)
    return (view.address - base.address) // size


@provide
def refresh_view(base: Tensor, view: Tensor) -> None:
    """Put a view behind its base's new history."""
    if view.__dict__.get("_origin") == "function":
        primitive, attributes = _REFUSING, None
    else:
        primitive = AS_STRIDED if view.layout.dtype is base.layout.dtype else _PART
        attributes = base.layout, view.layout, _offset(base, view)
    move(view, GraphNode(primitive, (base.node,), (), attributes))


AS_STRIDED = View("as_strided", samples="T[2, 3]; (2, 2), (1, 2)")


@_AS_IT_IS.derivative
def _as_it_is_vjp(node, grad):
    return (grad,)


@_REFUSING.derivative
def _refuse(node, grad):
    raise RuntimeError("The output of a custom Function is a view and its base or another view of its base has been modified "
                       "inplace. This would override the custom backward associated with the custom Function, leading to incorrect "
                       "gradients. You can fix this by cloning the output of the custom Function.")


@_PART.derivative
def _part_vjp(node, grad):
    base, layout, offset = node.attributes
    if not base.dtype.is_complex:
        return (place(later["view_as_real"](contiguous(grad)), base, algebra.pairs(layout)[0], offset),)
    return (later["view_as_complex"](place(grad, algebra.pairs(base)[0], layout, offset)),)
