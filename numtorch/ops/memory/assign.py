"""Writing elements that are not computed into tensors: `copy_`, `fill_`, `zero_`, and new tensors of one value."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes, no_grad
from ...autograd.writes import check_mode, mark_written
from ...exchange.scalars import NUMBERS, check_fits, number
from ...layout import Layout, formatted
from ...tensor import Tensor, fresh, lasting
from ...viewalgebra import expand
from ..core.late import later
from ..core.operands import as_operand, method
from ..core.primitive import Primitive, check_one_device, miss
from .copies import clone, plan_copy, to_device, to_dtype
from .writing import check_inplace_allowed, check_writable, overlap_partly, rebase_history

_COPY = Primitive("copy", "Elements written, broadcast and cast, into a tensor.", samples="T[2, 3], T[2, 3];")
_FULL = Primitive("full", "A new tensor of a layout with every element a number.", samples="T(1); T[2, 3].layout")


@_COPY.planned
def _plan_write(target, source):
    if source.shape != target.shape:
        expand(source, target.shape)
    check_writable("copy_", target, target.dtype, target.shape)
    return plan_copy(source, target)


@method
def copy_(self, src, non_blocking: bool = False) -> Tensor:
    """Write `src` into this tensor and return it.

    Args:
        src: a tensor or number, broadcast and cast to this tensor.
        non_blocking: do not wait for a copy between a GPU and pinned memory.

    Raises:
        RuntimeError: `src` does not broadcast to this shape, elements of this tensor share memory, or it is a leaf that
            requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 2).copy_(torch.tensor([1., 2.]))
        tensor([[1., 2.],
                [1., 2.]])
    """
    try:
        prepared = _COPY.plans.get((self.layout, src.layout))
    except AttributeError:                               # a number
        prepared = None
    if prepared is None:
        return _write(self, as_operand("copy_", src), not non_blocking)
    storage = self.memory
    if self.node is not None or src.node is not None or src.memory is storage or storage.watched:
        return _write(self, src, not non_blocking)
    mark_written(storage, "copy_")
    prepared.call(src.address, self.address, prepared.descriptor)
    return self


def written_back(x, function, *args, **kwargs):
    """The result of a function of `x`, written into it: of a copy where the tape may save what is overwritten.

    Raises:
        RuntimeError: other arguments took it to their device.
    """
    result = function(clone(x) if recording(x) else x, *args, **kwargs)
    check_one_device(function.__name__ + "_", (result.layout, x.layout))
    return copy_(x, result)


def _write(self, source, wait=True):
    """`copy_` of what may be recorded, of another device, or of the very memory that is written."""
    if source is self:
        if modes.grad and self.node is not None:
            check_inplace_allowed(self, "copy")
        mark_written(self.memory, "copy_")
        return self
    graph = recording(self, source)
    if source.layout.device is not self.layout.device:
        source = to_device(source if graph or source.node is None else source.detach(), self.layout.device, wait)
    if overlap_partly(source, self):
        source = clone(source)
    return _write_recorded(self, source)


@_COPY.run
def _write_recorded(prepared, self: Tensor, source: Tensor):
    graph = recording(self, source)
    if graph:
        check_inplace_allowed(self, "copy")
    mark_written(self.memory, "copy_")
    prepared.call(source.address, self.address, prepared.descriptor)
    if graph and self.layout.dtype.category >= 2:
        node = GraphNode(_COPY, (self.node, source.node), (), source.layout)
        rebase_history(self, node)
    return self


def _width(dtype):
    """Bytes of a number, or of each part of a complex one."""
    return dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize


@_COPY.derivative
def _copy_into_vjp(node, grad):
    layout = node.attributes
    by_source = None
    if node.needs(1):
        if _width(layout.dtype) > _width(grad.layout.dtype):             # summed in the wider of the two
            grad = to_dtype(grad, layout.dtype)
        by_source = to_dtype(later["sum_to_size"](grad, layout.shape), layout.dtype)
    return (later["zeros_like"](grad) if node.needs(0) else None, by_source)


@method
def fill_(self, value) -> Tensor:
    """Set every element to a value and return this tensor.

    Args:
        value: a number that the dtype can hold, or a 0-dim tensor, which is cast.

    Raises:
        RuntimeError: a number that the dtype cannot hold, a tensor with dimensions, or a leaf that requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2).fill_(3)
        tensor([3., 3.])
    """
    if type(value) in NUMBERS:
        check_fits(value, self.layout.dtype)
        return _fill(self, number(value), "fill_")
    source = as_operand("fill_", value)
    if source.layout.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {source.layout.ndim} dimensions.")
    return copy_(self, source)


def _fill(self, source, name):
    """`copy_` of a number under another name. Elements of this tensor may share memory: all take the same value."""
    layout, storage = self.layout, self.memory
    prepared = _COPY.plans.get((layout, source.layout))
    if prepared is not None and self.node is None and not storage.watched:
        mark_written(storage, name)
        prepared.call(source.address, self.address, prepared.descriptor)
        return self
    recorded = recording(self)
    if layout.handler is None:
        check_mode(storage, name)
        if recorded:
            check_inplace_allowed(self, name[:-1])
    if layout.contiguous or not layout.overlaps_itself():
        copy_(self, source)
        if layout.handler is None and not modes.anomaly:
            storage.writer = name
        return self
    dim = layout.strides.index(0) if 0 in layout.strides else 0
    for index in range(layout.shape[dim] if layout.strides[dim] else 1):
        _fill(self.select(dim, index), source, name)
    return self


def fill(input, value) -> Tensor:
    """A tensor like `input` with every element `value`; the gradient of `input` is 0.

    Args:
        input: (*), for the shape and dtype.
        value: a number that the dtype can hold, or a 0-dim tensor, which is cast.

    Raises:
        RuntimeError: a number that the dtype cannot hold, or a tensor with dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.fill(torch.zeros(2), 3)
        tensor([3., 3.])
    """
    return fill_(clone(input), value)


def lasting_copy(x) -> Tensor:
    """A copy of a tensor in memory that is in no ring, for what tables keep and graphs hold: what a captured call takes from the
    rings is scratch memory, which nobody may hold.

    Args:
        x: the tensor.
    """
    with no_grad():
        return copy_(lasting(formatted(x.layout, "preserve_format")), x)


@method
def zero_(self) -> Tensor:
    """Set every element to 0 and return this tensor.

    Raises:
        RuntimeError: a leaf that requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).zero_()
        tensor([0., 0.])
    """
    return _fill(self, ZERO, "zero_")


ZERO, ONE = as_operand("zeros", 0), as_operand("ones", 1)


def filled(layout: Layout, value) -> Tensor:
    """A new tensor with every element `value`, a number or a 0-dim tensor. Its memory counts writes from 0.

    Raises:
        RuntimeError: a number that the dtype cannot hold.
        TypeError: a tensor with dimensions.
    """
    if type(value) in NUMBERS:
        check_fits(value, layout.dtype)
    source = as_operand("full", value)
    if source.layout.ndim:
        raise TypeError("full(): argument 'fill_value' (position 2) must be Number, not Tensor")
    return filled_from(layout, source)


def filled_from(layout: Layout, source: Tensor) -> Tensor:
    """`filled` with a number that is a tensor already."""
    prepared = _FULL.plans.get((source.layout, layout))
    if prepared is None:
        return miss(_FULL, (to_device(source, layout.device),), (layout,))
    out = fresh(layout)
    prepared.call(source.address, out.address, prepared.descriptor)
    return out


_FULL.planned(plan_copy)
_FULL.execute = lambda prepared, source, layout: filled_from(layout, source)
