"""Elements added around the edges of a tensor."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...layout import Layout, format_of, formatted, ints
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import as_operand
from ..core.primitive import Primitive, derivative_of, new_plan_table, not_a_tensor
from ..memory.copies import contiguous, to_dtype

_PADS = {mode: Primitive("constant_pad_nd" if mode == "constant" else f"{mode}_pad")
         for mode in ("constant", "reflect", "replicate", "circular")}

_PAD_GRAD = Primitive("pad_grad")

_plans = new_plan_table()
MODES = ("constant", "reflect", "replicate", "circular")
NOTHING = as_operand("pad", 0j)                          # 16 bytes of zeros: 0 in every dtype


class _Plan:
    """The result's layout and the kernel that writes it; the gradient's comes when it is needed."""

    __slots__ = ("source", "pad", "mode", "widths", "out", "order", "format", "as_is", "prepared", "backward")

    def __init__(self, source, pad, mode):
        self.source, self.pad, self.mode = source, pad, mode
        self.widths = _widths(source.shape, pad, mode)
        self.out = Layout.of(source.dtype, tuple(b + n + a for n, (b, a) in zip(source.shape, self.widths)), None, source.device)
        self.order, self.format = range(source.ndim), "contiguous_format"        # of the dimensions in memory
        if mode != "circular" and format_of(source) is not None:
            self.order, self.format = (0, *range(2, source.ndim), 1), format_of(source)
            self.out = formatted(self.out, self.format)
        last = self.order[-1] if source.ndim else 0
        self.as_is = source.ndim == 0 or source.shape[last] == 1 or source.strides[last] == 1
        self.prepared = self.backward = None
        if self.out.numel:
            strides = source.strides if self.as_is else formatted(source, self.format).strides
            self.prepared = kernels(source.device, "move.pad").plan_pad(
                mode, source.dtype.itemsize, *self._in_order(source.shape, strides, self.widths))

    def _in_order(self, *properties):
        return [tuple(values[d] for d in self.order) for values in properties]

    def plan_backward(self):
        kind = self.source.dtype
        self.backward = kernels(self.source.device, "move.pad").plan_pad_grad(self.mode, kind.to_real().kernel, 1 + kind.is_complex,
                                                                         *self._in_order(self.source.shape, self.widths))
        return self.backward


def _widths(shape, pad, mode):
    """(before, after) for each dimension. Raises RuntimeError for what does not fit."""
    if len(pad) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2 (got {len(pad)})")
    if len(pad) > 2 * len(shape):
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(pad)} and input of dimension {len(shape)}")
    widths = ((0, 0),) * (len(shape) - len(pad) // 2) + tuple((pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2))
    for dim, (extent, width) in enumerate(zip(shape, widths)):
        most = {"reflect": extent - 1, "circular": extent, "replicate": max(width) if extent else 0}.get(mode)
        if most is not None and max(width) > max(most, 0):
            raise RuntimeError(f"Padding size should be less than the corresponding input dimension, but got: padding {width} at "
                               f"dimension {dim} of input {list(shape)} ({mode})")
        cut = sum([min(n, 0) for n in width]) if mode == "constant" else sum(width)        # first cut, then padded
        if extent + cut < 0:
            raise RuntimeError(f"The input size {extent}, plus negative padding {width[0]} and {width[1]} resulted in a negative "
                               f"output size, which is invalid. Check dimension {dim} of your input.")
    return widths


def _padded(x, plan, value):
    out = empty(plan.out)
    if plan.prepared is not None:
        source = x if plan.as_is else contiguous(x.detach(), plan.format)
        plan.prepared.call(source.address, value.address, out.address, plan.prepared.walk)
    if x.node is not None and recording(x) and plan.out.dtype.category >= 2:
        out.node = GraphNode(_PADS[plan.mode], (x.node,), (), plan)
    return out


def _cut_and_padded(x, widths):
    _widths(x.layout.shape, widths, "circular")
    return pad(pad(x, [min(n, 0) for n in widths]), [max(n, 0) for n in widths], "circular")


@derivative_of(*_PADS.values())
def _vjp(node, grad):
    plan = node.attributes
    if plan.mode == "constant":
        return (pad(grad, [-n for n in plan.pad]),)
    return (_pad_grad(grad, plan),)


def _pad_grad(grad, plan):
    """What every element of the source was copied to, added up."""
    if plan.prepared is None:
        return pad(grad, [-n for n in plan.pad])
    out = empty(formatted(plan.source, plan.format))
    backward, source = plan.backward or plan.plan_backward(), contiguous(grad.detach(), plan.format)
    backward.call(source.address, out.address, backward.walk)
    if recording(grad):
        out.node = GraphNode(_PAD_GRAD, (grad.node,), (), plan)
    return out


@_PAD_GRAD.derivative
def _pad_grad_vjp(node, u):
    plan = node.attributes
    return (pad(u, plan.pad, plan.mode),)


def pad(input, pad, mode: str = "constant", value=None) -> Tensor:
    """Elements added at both ends of the last dimensions.

    Args:
        input: of any shape and dtype.
        pad: (before, after) for the last dimension, then for the one before it, and so on; negative numbers cut off.
        mode: `"constant"`, `"reflect"` (the mirror image without the edge), `"replicate"` (the edge), `"circular"` (the other
            end).
        value: what to add in constant mode; 0 when None.

    Returns:
        The input's shape with before + after added to each extent.

    Raises:
        RuntimeError: an odd number of widths, more than there are dimensions, or wider than a mode allows.
        NotImplementedError: another mode.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.pad(torch.tensor([1, 2, 3]), (2, 1), "reflect")
        tensor([3, 2, 1, 2, 3, 2])
    """
    if not isinstance(input, Tensor):
        raise not_a_tensor("pad", input)
    layout = input.layout
    value = NOTHING if value is None else to_dtype(as_operand("pad", value), layout.dtype)
    try:
        plan = _plans[layout, pad, mode]
    except (KeyError, TypeError):                        # TypeError: a list
        plan = None
    if plan is None:
        if type(mode) is not str:
            raise TypeError(f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}")
        if mode not in MODES:
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        pad = ints(pad, "pad")
        if mode == "circular" and min(pad, default=0) < 0:       # what stays is what goes round
            return _cut_and_padded(input, pad)
        plan = _plans.get((layout, pad, mode)) or _plans.keep((layout, pad, mode), _Plan(layout, pad, mode))
    return _padded(input, plan, value)
