"""What poolings share: their options, windows and how many there are, and how they are called.

A plan is made of the options as a caller gives them and of the input as it is, with a batch dimension or without; for the kernels,
one dimension is two with a height of 1.
"""
from __future__ import annotations

from operator import is_not

from ...kernels.families.windows import output_sizes
from ...layout import contiguous_format, ints, is_sequence
from ...tensor import Tensor
from ..core.arguments import check_truths
from ..core.late import later
from ..core.operands import layout_of
from ..core.primitive import Primitive, miss
from ..memory.copies import contiguous
from ..shape.views import unsqueeze

LONG = 8                                                 # elements: windows side by side that are as long are summed as rows


class Pooling(Primitive):
    """A primitive of one tensor and options, called by `pooled`."""

    def __init__(self, name, samples):
        super().__init__(name, parameters=("input",), samples=samples)
        self.required = frozenset((0,))


def pair(value, name: str, length: int = 2) -> tuple:
    """A number for every axis, or one for all. Raises TypeError or RuntimeError for anything else."""
    if type(value) is int:
        return (value,) * length
    if not is_sequence(value):
        if hasattr(value, "__index__"):
            return ints((value,), name) * length
        raise TypeError(f"{name}: expected an int or a tuple of ints, got {type(value).__name__}")
    values = ints(value, name)
    if len(values) == 1:
        return values * length
    if len(values) != length:
        raise RuntimeError(f"{name}: expected one number or {length}, got {list(values)}")
    return values


def dense(x, order=contiguous_format):
    """x for a kernel: row-major, or in the order of another memory format, and without its history where it is copied."""
    return x if x.layout.contiguous and order is contiguous_format else contiguous(x.detach(), order)


def batched(name, input, dims):
    """The input with a batch dimension, and whether it came without one. Raises RuntimeError for other dimensions."""
    ndim = layout_of(name, input).ndim
    if ndim == dims + 2:
        return input, False
    if ndim == dims + 1:
        return unsqueeze(input, 0), True
    raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                       f"{list(input.layout.shape)}")


def hashable(*options) -> tuple:
    """Options that may be lists as what plans are found by."""
    return tuple([tuple(v) if is_sequence(v) and type(v) is not str else v for v in options])


def pooled(primitive, input, *options):
    """The call of a pooling, with its options as they were given."""
    try:
        plan = primitive.plans.get((input.layout, *options))
    except (AttributeError, TypeError):                  # no tensor, or a list
        plan = None
    if plan is None:
        plain = hashable(*options)
        if isinstance(input, Tensor) and input.layout.dtype.category == 1:
            made = later["pool_integers"](primitive, input, plain)
            if made is not None:
                return made
        return pooled(primitive, input, *plain) if any(map(is_not, plain, options)) else miss(primitive, (input,), options)
    return primitive.execute(plan, input, *options)


# ---------------------------------------------------------------- what is common to all windows
def extents(name, layout, dims):
    """The extents of an input, batched or not, before its last `dims`, and these. Raises RuntimeError for other inputs."""
    if layout.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
                           f"{list(layout.shape)}")
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{name}" not implemented for \'{layout.dtype.title}\': expected a floating-point dtype')
    return layout.shape[:-dims], layout.shape[-dims:]


def check_channels(name, layout, dims):
    """Raises RuntimeError for images without channels: only the batch may be empty."""
    if 0 in layout.shape[-dims - 1:]:
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for "
                           f"input, but got: {list(layout.shape)}")


def check_window(name, kernel, stride, padding, dilation):
    """Raises RuntimeError for what is no window: it would lead a kernel outside its memory."""
    for what, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) <= 0:
            raise RuntimeError(f"{what} should be greater than zero, but got {list(values)} ({name})")
    if max(*kernel, *stride, *dilation) >= 1 << 31:
        raise RuntimeError(f"value cannot be converted to type int without overflow: {list(kernel + stride + dilation)} ({name})")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {min(padding)} ({name})")


def windows(name, lead, sizes, kernel_size, stride, padding, dilation, ceil_mode):
    """A window's options as tuples of `len(sizes)`, and how many windows there are along each axis."""
    dims = len(sizes)
    kernel, padding, dilation = [pair(v, f"{name}: {what}", dims) for v, what in
                                 ((kernel_size, "kernel_size"), (padding, "padding"), (dilation, "dilation"))]
    stride = kernel if stride is None or (type(stride) in (tuple, list) and not stride) else pair(stride, f"{name}: stride", dims)
    check_window(name, kernel, stride, padding, dilation)
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError(f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={kernel} "
                           f"({name})")
    check_truths(name, ceil_mode=ceil_mode)
    counts = output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode)
    if min(counts) < 1:
        raise RuntimeError(f"Given input size: ({'x'.join(map(str, lead[-1:] + sizes))}). Calculated output size: "
                           f"({'x'.join(map(str, lead[-1:] + counts))}). Output size is too small ({name})")
    return (kernel, stride, padding, dilation), counts


def in_two(options, dims):
    """Options of one dimension as those of two with a height of 1."""
    return options if dims == 2 else [(least, *option) for least, option in zip((1, 1, 0, 1), options)]


def side_by_side(lead, sizes, options):
    """The shape that has windows of one dimension as rows, where they are its parts and long enough to be reduced as such."""
    (length, *more), stride, padding, dilation = options
    if more or length < LONG or stride != (length,) or padding != (0,) or dilation != (1,) or sizes[0] % length:
        return None
    return (*lead, sizes[0] // length, length)
