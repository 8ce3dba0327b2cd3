"""Elements added around the edges of a tensor."""
from __future__ import annotations

from functools import partial

from ...autograd.graph import GraphNode, recording
from ...exchange.scalars import check_fits
from ...layout import Layout, format_of, formatted, ints, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout, integer, scalar
from ..core.backends import kernels
from ..core.operands import as_operand, layout_of
from ..core.primitive import Primitive, derivative_of, miss, not_a_tensor
from ..memory.copies import contiguous, to_dtype
from .join import cat

MODES = ("constant", "reflect", "replicate", "circular")
PADS = {mode: Primitive("constant_pad_nd" if mode == "constant" else f"{mode}_pad", f"Padding of mode {mode!r}.",
                        ("input", "value", "pad"), samples="T[1, 2, 3], NOTHING; (1, 1)") for mode in MODES}
PAD_GRAD = Primitive("pad_grad", "What every element was copied to by padding, added up.",
                     samples="T[1, 2, 5]; T[1, 2, 3].layout, (1, 1), 'reflect'")
NOTHING = as_operand("pad", 0j)                          # 16 bytes of zeros: 0 in every dtype


def _memory_order(source, mode):
    """The order in which the result's dimensions lie in memory, and its name."""
    kept = None if mode == "circular" else format_of(source)
    return (range(source.ndim), "contiguous_format") if kept is None else ((0, *range(2, source.ndim), 1), kept)


def _permuted(order, *properties):
    return [tuple(values[d] for d in order) for values in properties]


def _plan(mode, source, value, pad):
    """The result's layout, the memory format that the source must be copied to (None where it is read as it lies), the kernel, and
    the widths themselves: other objects that are equal may be floats. The value is in the host's memory, where it is read."""
    nothing = NOTHING.layout
    if value.ndim or (value.dtype is not source.dtype and value.dtype is not nothing.dtype) or \
            (value.device is not nothing.device and source.device.type != "meta"):
        raise RuntimeError(f"{mode} padding: expected value to be a number of dtype {source.dtype} in the host's memory, got shape "
                           f"{list(value.shape)} and dtype {value.dtype} on {value.device}")
    widths, (order, memory_format) = _widths(source.shape, pad, mode), _memory_order(source, mode)
    out = Layout.of(source.dtype, tuple(b + n + a for n, (b, a) in zip(source.shape, widths)), None, source.device)
    out = formatted(out, memory_format)
    last = order[-1] if source.ndim else 0
    as_is = source.ndim == 0 or source.shape[last] == 1 or source.strides[last] == 1
    if not out.numel:
        return out, None, None, pad
    strides = source.strides if as_is else formatted(source, memory_format).strides
    return out, None if as_is else memory_format, kernels(source.device, "move.pad").plan_pad(
        mode, source.dtype.itemsize, *_permuted(order, source.shape, strides, widths)), pad


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


def _padded(primitive, plan, x, value, pad):
    layout, memory_format, prepared, _ = plan
    out = empty(layout)
    if prepared is not None:
        source = x if memory_format is None else contiguous(x.detach(), memory_format)
        prepared.call(source.address, value.address, out.address, prepared.descriptor)
    if x.node is not None and recording(x) and layout.dtype.category >= 2:
        out.node = GraphNode(primitive, (x.node,), (), (x.layout, pad))
    return out


for _mode, _primitive in PADS.items():
    _primitive.plan, _primitive.execute, _primitive.mixes_devices = partial(_plan, _mode), partial(_padded, _primitive), True


def _cut_and_padded(x, widths):
    _widths(x.layout.shape, widths, "circular")
    return pad(pad(x, [min(n, 0) for n in widths]), [max(n, 0) for n in widths], "circular")


@derivative_of(*PADS.values())
def _vjp(node, grad):
    source, widths = node.attributes
    if node.primitive is PADS["constant"] or not grad.layout.numel:
        return (pad(grad, [-n for n in widths]),)
    return (_pad_grad(grad, source, widths, next(mode for mode in MODES if PADS[mode] is node.primitive)),)


@PAD_GRAD.planned
def _plan_grad(grad, source, pad, mode):
    added = [0] * (2 * source.ndim - len(pad)) + [n for side in zip(pad[-2::-2], pad[::-2]) for n in side]
    padded = [n + before + after for n, before, after in zip(source.shape, added[::2], added[1::2])]
    expect_layout("pad_grad", "grad", grad, padded, source.dtype)
    order, memory_format = _memory_order(source, mode)
    prepared = kernels(source.device, "move.pad").plan_pad_grad(
        mode, source.dtype.to_real().kernel, 1 + source.dtype.is_complex,
        *_permuted(order, source.shape, _widths(source.shape, pad, mode)))
    return formatted(source, memory_format), memory_format, prepared


@PAD_GRAD.run
def _pad_grad(plan, grad: Tensor, source, pad, mode):
    """What every element of the source was copied to, added up."""
    layout, memory_format, prepared = plan
    out, grads = empty(layout), contiguous(grad.detach(), memory_format)
    prepared.call(grads.address, out.address, prepared.descriptor)
    return PAD_GRAD.recorded(out, (grad,), (), (pad, mode))


@PAD_GRAD.derivative
def _pad_grad_vjp(node, u):
    return (pad(u, *node.attributes),)


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
    if value is not None:
        if mode != "constant" and mode in MODES:
            raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
        if isinstance(value, complex) and not layout.dtype.is_complex:
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
    if layout.dtype.category == 1 and type(value) in (int, float):
        check_fits(float(value), layout.dtype)           # a float to PyTorch
    if isinstance(value, Tensor) and value.layout.device is not NOTHING.layout.device:
        value = value.item()
    value = NOTHING if value is None else to_dtype(as_operand("pad", value), layout.dtype)
    try:
        plan = PADS[mode].plans.get((layout, value.layout, pad))
    except (KeyError, TypeError):                        # TypeError: a list
        plan = None
    if plan is None or (pad is not plan[3] and ints(pad, "pad") is not pad):
        if type(mode) is not str:
            raise TypeError(f"pad(): argument 'mode' (position 3) must be str, not {type(mode).__name__}")
        if mode not in MODES:
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        pad = ints(pad, "pad")
        if mode == "circular" and min(pad, default=0) < 0:       # what stays is what goes round
            return _cut_and_padded(input, pad)
        return miss(PADS[mode], (input, value), (pad,))
    return _padded(PADS[mode], plan, input, value, pad)


def constant_pad_nd(input, pad, value=0) -> Tensor:
    """`nn.functional.pad` in constant mode, under the name that it has among PyTorch's primitive ops.

    Args:
        input: (*).
        pad: (before, after) for the last dimension, then for the one before it, and so on.
        value: what to add.

    Example:
        >>> import numtorch as torch
        >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 0), 9)
        tensor([9, 1, 2])
    """
    return _pad(input, pad, "constant", scalar("constant_pad_nd", "value", value))


_pad = pad                                               # whose name is that of its argument


def _chunk_cat(tensors, dim: int, num_chunks: int, *, out=None) -> Tensor:
    """Tensors in as many chunks each, filled up with zeros, and equal chunks joined as rows.

    Args:
        tensors: the tensors, whose extents before `dim` are equal.
        dim: the dimension that is cut.
        num_chunks: into how many chunks.
        out: a tensor to write the result to.

    Returns:
        Of the extents before `dim`, `num_chunks`, and the elements of a chunk of each tensor.

    Example:
        >>> import numtorch as torch
        >>> torch._chunk_cat([torch.tensor([1, 2, 3]), torch.tensor([4, 5])], 0, 2)
        tensor([[1, 2, 4],
                [3, 0, 5]])
    """
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    num_chunks = integer("_chunk_cat", "num_chunks", num_chunks)
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    dim, rows = wrap_dim(dim, layout_of("_chunk_cat", tensors[0], "tensors").ndim), []
    for each in tensors:
        layout = layout_of("_chunk_cat", each, "tensors")
        if not layout.numel:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if dim >= layout.ndim or layout.shape[:dim] != tensors[0].layout.shape[:dim]:
            raise RuntimeError(f"_chunk_cat expects tensors of more than {dim} dimensions and equal extents before that")
        missing = -layout.shape[dim] % num_chunks
        filled = constant_pad_nd(each, (0, 0) * (layout.ndim - 1 - dim) + (0, missing)) if missing else each
        rows.append(filled.reshape(*layout.shape[:dim], num_chunks, -1))
    return cat(rows, dim + 1, out=out)
