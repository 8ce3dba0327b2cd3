"""Copies and casts: what moves elements without computing with them. Writing into tensors that exist is in `assign.py`."""
from __future__ import annotations

from operator import is_

from ...autograd.graph import GraphNode
from ...autograd.modes import modes
from ...devices import cpu
from ...dtypes import dtype as dtype_class
from ...kernels.binding import ScalarBody
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes, broadcast_strides, contiguous_format, formatted, kept_strides, lies_in
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.generate import ALLOCATION, allocation, make
from ..core.late import later
from ..core.operands import layout_of, method
from ..core.primitive import Plan, Primitive, derivative_of, miss

_TO_DEVICE = Primitive("to_device", samples="T[2, 3]; device")
TO_COPY = Primitive("to_copy", "A copy in another dtype.", samples="T[2, 3]; complex128")
CLONE = Primitive("clone", samples="T[2, 3]; T")
_COPY_ELEMENTS = Primitive("copy_elements", "Elements written, broadcast and cast, into a tensor of the same device.",
                           samples="T[2, 3], float32[3];")


def _identity(x):
    return x


@_COPY_ELEMENTS.planned
def _plan_elements(target, source):
    if broadcast_shapes(target.shape, source.shape) != target.shape:
        raise RuntimeError(f"copy: expected what broadcasts to {list(target.shape)}, got {list(source.shape)}")
    if not target.numel:
        return NOTHING
    strides, kind, device = broadcast_strides(source, target.shape), target.dtype, target.device
    if source.dtype is kind:
        return kernels(device, "move.words").plan_move(kind.itemsize, target.shape, strides, target.strides)
    narrowing = source.dtype.is_complex and not kind.is_complex
    compute = source.dtype.compute if narrowing else kind.compute
    return kernels(device, "pointwise.pointwise").plan_pointwise(
        ScalarBody(_identity, compute), (source.dtype.kernel,), (kind.kernel,), target.shape, [strides, target.strides],
        compute=(compute,), real_part=narrowing)


def plan_copy(source: Layout, target: Layout):
    """The prepared kernel that writes `source`, broadcast and cast, into `target`."""
    return _COPY_ELEMENTS.plans.get((target, source)) or _COPY_ELEMENTS.planned_for((target, source), ())


def copy_elements(source: Tensor, target: Tensor) -> None:
    """Write a tensor's elements, broadcast and cast, into another on the same device. No tape, no checks."""
    prepared = _COPY_ELEMENTS.plans.get((target.layout, source.layout))
    if prepared is None:
        miss(_COPY_ELEMENTS, (target, source))
    else:
        prepared.call(source.address, target.address, prepared.descriptor)


_COPY_ELEMENTS.execute = lambda prepared, target, source: copy_elements(source, target)


def _transfer(source: Tensor, target: Tensor, wait: bool) -> None:
    """Write a tensor into one of the same layout on another device."""
    mover = source if source.layout.device.type != "cpu" else target
    later[f"transfer_{mover.layout.device.type}"](source, target, wait)


# ---------------------------------------------------------------- dtype and device
def _plan_copied(source, wanted):
    """The plan of a copy: in a memory format or a layout, or of a dtype and with the strides kept where they are dense."""
    if type(wanted) is dtype_class:
        out = Layout.of(wanted, source.shape, kept_strides(source), source.device)
    elif type(wanted) is Layout:
        out = wanted
    else:
        out = formatted(source, wanted)
    return Plan(None, (source,), out, plan_copy(source, out))


@derivative_of(TO_COPY, CLONE)
def _copied_vjp(node, grad):
    source = node.attributes
    if grad.layout.dtype.is_complex and not source.is_complex:
        grad = later["real"](grad)
    return (to_dtype(grad, source),)


def _copying(primitive, name):
    """A copy of x on the same device (see `_plan_copied`), recorded as a call of `primitive`."""
    primitive.planned(_plan_copied)
    primitive.execute = lambda plan, x, wanted: copy(x, wanted)
    copy = make(f"""
def copied(x, wanted):
    plan = plans.get((x.layout, wanted))
    if plan is None:
        return miss(primitive, (x,), (wanted,))
    ring = plan.ring
{allocation("out", "ring", "plan.out")}    plan.call(x.address, out_address, plan.descriptor)
    out.node = None
    if x.node is not None and modes.grad and plan.out.dtype.category >= 2:
        out.node = GraphNode(primitive, (x.node,), (), x.layout.dtype)
    return out
""", dict(ALLOCATION, plans=primitive.plans, primitive=primitive, miss=miss, modes=modes, GraphNode=GraphNode), name)
    return copy


cast, copied = _copying(TO_COPY, "cast"), _copying(CLONE, "copied")


def to_dtype(x: Tensor, dtype: dtype_class) -> Tensor:
    """x with another dtype; x itself when it has it."""
    return x if x.layout.dtype is dtype else cast(x, dtype)


def _moved(x, device, wait=True):
    move = getattr(x.layout.handler, "moved", None)
    if move is not None:
        return move(x, device, wait)
    dtype, shape, strides = x.layout.dtype, x.layout.shape, kept_strides(x.layout)
    source = x if x.layout.strides == strides else copied(x, Layout.of(dtype, shape, strides, x.layout.device))
    layout = Layout.of(dtype, shape, strides, device, x.layout.weak)
    out = later["pinned"](layout) if not wait and device is cpu and x.layout.device.type == "cuda" else empty(layout)
    _transfer(source, out, wait)
    return out


def _number_on(x, device):
    """A number on another device. It is kept, so that `x * 2` in a loop sends its 2 once."""
    copies = x.__dict__.setdefault("_copies", {})
    copy = copies.get(device)
    if copy is None:
        copy = copies[device] = _moved(x, device)
    return copy


def numbers_there(operands) -> list | None:
    """Tensors of a device and numbers, with the copies of the numbers that it has; None where it lacks one or needs none."""
    there = None
    for x in operands:
        if not isinstance(x, Tensor):
            return None
        if x.layout.device is not cpu:
            there = x.layout.device
    if there is None:
        return None
    placed = [x.__dict__.get("_copies", {}).get(there) if x.layout.device is cpu else x for x in operands]
    return None if any(x is None for x in placed) or all(map(is_, placed, operands)) else placed


def to_device(x: Tensor, device, wait: bool = True) -> Tensor:
    """x on another device; x itself when it is there. Without `wait` the host goes on where its memory is pinned."""
    if x.layout.device is device:
        return x
    if x.layout.weak:
        return _number_on(x, device)
    out = _moved(x, device, wait)
    return _TO_DEVICE.recorded(out, (x,), (), x.layout.device)


@_TO_DEVICE.derivative
def _to_device_vjp(node, grad):
    return (to_device(grad, node.attributes),)


# ---------------------------------------------------------------- clone, contiguous
@method
def clone(input, *, memory_format=None) -> Tensor:
    """A copy with memory of its own. Gradients pass through.

    Args:
        input: (*).
        memory_format: the order of the copy's dimensions in memory; None or `torch.preserve_format` keeps that of `input`
            where it is without gaps.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2.])
        >>> y = x.clone()
        >>> y[0] = 5.
        >>> x
        tensor([1., 2.])
    """
    if memory_format is None or memory_format == "preserve_format":
        return copied(input, layout_of("clone", input).dtype)
    layout_of("clone", input)
    return copied(input, memory_format)


@method
def contiguous(self, memory_format=None) -> Tensor:
    """This tensor where it is row-major without gaps, else a row-major copy.

    Args:
        memory_format: another order of the dimensions in memory, such as `torch.channels_last`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.zeros(2, 3).t()
        >>> x.stride(), x.contiguous().stride()
        ((1, 3), (2, 1))
    """
    if memory_format is None or memory_format == "contiguous_format":
        return self if self.layout.contiguous else copied(self, contiguous_format)
    return self if lies_in(self.layout, memory_format) else copied(self, memory_format)


def in_format(x, memory_format):
    """x, copied where it has not the very strides of a memory format; None is for any."""
    return x if memory_format is None or x.layout is formatted(x.layout, memory_format) else copied(x, memory_format)

_TO_DEVICE.function = to_device
