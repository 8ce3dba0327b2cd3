"""Copies, casts and fills: what moves elements without computing with them."""
from __future__ import annotations

from ..autograd.graph import GraphNode, Leaf, recording
from ..autograd.modes import modes
from ..autograd.writes import mark_written
from ..devices import cpu
from ..dtypes import as_dtype
from ..dtypes import dtype as dtype_class
from ..kernels.binding import ScalarBody
from ..layout import Layout, broadcast_strides, contiguous_format, formatted, lies_in
from ..layout import memory_format as memory_format_class
from ..scalars import NUMBERS, check_fits, number
from ..tensor import Tensor, bare, empty, fresh, wrap
from ..viewalgebra import expand
from .backends import kernels, placed
from .generate import ALLOCATION, allocation, make
from .op import Plan, as_operand, method, new_plan_table, nothing_to_do, registry
from .writing import check_inplace_allowed, check_writable, overlap_partly, rebase_history


class _Function:
    """A named entry of the registry for what is not an elementwise record."""

    def __init__(self, name, function):
        self.name, self.function = name, function
        registry[name] = self


def register(function, name=None):
    """Enter a plain function into the registry, where lower files find it by name."""
    _Function(name or function.__name__, function)
    return function


def _identity(x):
    return x


_copies = new_plan_table()


def plan_copy(source: Layout, target: Layout):
    """The prepared kernel that writes `source`, broadcast and cast, into `target`; None for no elements."""
    key = (source, target)
    found = _copies.get(key)
    if found is None and target.numel:
        narrowing = source.dtype.is_complex and not target.dtype.is_complex
        compute = source.dtype.compute if narrowing else target.dtype.compute
        found = _copies.keep(key, kernels(target.device, "pointwise").plan_pointwise(
            ScalarBody(_identity, compute), (source.dtype.kernel,), (target.dtype.kernel,), target.shape,
            [broadcast_strides(source, target.shape), target.strides], compute=(compute,), real_part=narrowing))
    return found


def copy_elements(source: Tensor, target: Tensor) -> None:
    """Write a tensor's elements, broadcast and cast, into another on the same device. No tape, no checks."""
    prepared = plan_copy(source.layout, target.layout)
    if prepared is not None:
        prepared.call(source.address, target.address, prepared.walk)


class _Writing:
    """A planned copy into a tensor of one layout: run as `call(source.address, target.address, walk)`."""

    __slots__ = ("call", "walk", "prepared")

    def __init__(self, source, target):
        prepared = self.prepared = plan_copy(source, target)     # kept: `walk` is an address in it
        self.call, self.walk = (prepared.call, prepared.walk) if prepared is not None else (nothing_to_do, 0)


def _transfer(source: Tensor, target: Tensor) -> None:
    """Write a tensor into one of the same layout on another device."""
    mover = source if source.layout.device.type != "cpu" else target
    registry[f"transfer_{mover.layout.device.type}"].function(source, target)


# ---------------------------------------------------------------- dtype and device
def _kept_strides(layout):
    return layout.strides if layout.non_overlapping_and_dense() else None


_made = new_plan_table()                                 # copies and casts by the layout and what is made of it


def _plan_made(source, wanted):
    """The plan of a copy: in a memory format or a layout, or of a dtype and with the strides kept where they are dense."""
    if type(wanted) is dtype_class:
        out = Layout.of(wanted, source.shape, _kept_strides(source), source.device)
    elif type(wanted) is Layout:
        out = wanted
    else:
        out = formatted(source, wanted)
    return _made.keep((source, wanted), Plan(None, (source,), out, plan_copy(source, out)))


def _copied_vjp(node, grad):
    source = node.constants
    if grad.layout.dtype.is_complex and not source.is_complex:
        grad = registry["real"].function(grad)
    return (to_dtype(grad, source),)


_copied = make(f"""
def copied(x, wanted, title):
    source = x.layout
    plan = made.get((source, wanted)) or plan_made(source, wanted)
    ring = plan.ring
{allocation("out", "ring", "plan.out")}    plan.call(x.address, out_address, plan.walk)
    out.node = None
    if x.node is not None and modes.grad and plan.out.dtype.category >= 2:
        out.node = GraphNode(title, (x.node,), (), vjp, source.dtype)
    return out
""", dict(ALLOCATION, made=_made, plan_made=_plan_made, modes=modes, GraphNode=GraphNode, vjp=_copied_vjp), "copied")
_copied.__doc__ = "A copy of x on the same device (see `_plan_made`), recorded under `title`."


@register
def to_dtype(x: Tensor, dtype: dtype_class) -> Tensor:
    """x with another dtype; x itself when it has it."""
    return x if x.layout.dtype is dtype else _copied(x, dtype, "to_copy")


def _moved(x, device):
    source = x.contiguous()
    out = empty(Layout.of(source.layout.dtype, source.layout.shape, None, device, source.layout.weak))
    _transfer(source, out)
    return out


def _number_on(x, device):
    """A number on another device. It is kept, so that `x * 2` in a loop sends its 2 once."""
    copies = x.__dict__.setdefault("_copies", {})
    found = copies.get(device)
    if found is None:
        found = copies[device] = _moved(x, device)
    return found


@register
def to_device(x: Tensor, device) -> Tensor:
    """x on another device; x itself when it is there."""
    if x.layout.device is device:
        return x
    if x.layout.weak:
        return _number_on(x, device)
    out = _moved(x, device)
    if recording(x):
        out.node = GraphNode("to_copy", (x.node,), (), lambda node, grad: (to_device(grad, node.constants),), x.layout.device)
    return out


@method
def to(self, *args, dtype=None, device=None, non_blocking: bool = False, copy: bool = False, memory_format=None):
    """This tensor with another dtype, on another device, or as another tensor has them.

    Args:
        args: a dtype, a device, a device and a dtype, or a tensor to follow.
        dtype, device: the same by name.
        non_blocking: as in PyTorch; without a meaning.
        copy: make a new tensor even when nothing changes.
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Returns:
        The tensor itself where nothing changes, else a copy through which gradients pass.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).to(torch.int64)
        tensor([1])
    """
    if len(args) == 1 and type(args[0]) is dtype_class and dtype is None and device is None and not copy:
        return to_dtype(self, args[0])
    for value in args:
        if isinstance(value, memory_format_class):
            memory_format = value
        elif isinstance(value, str):
            device = value
        elif isinstance(value, Tensor):
            dtype, device = value.layout.dtype, value.layout.device
        elif isinstance(value, dtype_class) or value in (float, int, bool, complex):
            dtype = value
        elif value is not None and not isinstance(value, bool):       # a bool is non_blocking, which means nothing here
            device = value
    out = self
    if device is not None:
        out = to_device(out, placed(device))
    if dtype is not None:
        out = to_dtype(out, as_dtype(dtype))
    if memory_format is not None and memory_format != "preserve_format":
        out = contiguous(out, memory_format)
    return clone(out) if copy and out is self else out


def _type(self, dtype=None, non_blocking: bool = False):
    """This tensor's type as its name, or this tensor with another dtype.

    Args:
        dtype: a dtype, a tensor type or its name; None asks for the name.
        non_blocking: as in PyTorch; without a meaning.

    Raises:
        ValueError: a name that is none of a type.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).type(), torch.tensor([1.7]).type(torch.int64)
        ('torch.FloatTensor', tensor([1]))
    """
    if dtype is None:
        return f"torch.{'cuda.' if self.is_cuda else ''}{self.layout.dtype.title}Tensor"
    if isinstance(dtype, str):
        for kind in dtype_class.by_name.values():
            if dtype in (f"torch.{kind.title}Tensor", f"torch.cuda.{kind.title}Tensor"):
                moved = to_device(self, placed("cuda")) if ".cuda." in dtype else self
                return to_dtype(moved, kind)
        raise ValueError(f"invalid type: '{dtype}'")
    return to_dtype(self, as_dtype(getattr(dtype, "dtype", dtype)))


method(_type, "type")


def _cast_method(name, target):
    def cast(self, memory_format=None):
        out = self if self.layout.dtype is target else _copied(self, target, "to_copy")
        return out if memory_format is None or memory_format == "preserve_format" else contiguous(out, memory_format)
    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"""This tensor as {target.name}: itself where it is so, else a copy through which gradients pass.

    Args:
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([0, 1]).{name}().dtype
        torch.{target.name}
    """
    method(cast)


for _name, _dtype in {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32",
                      "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64",
                      "cdouble": "complex128"}.items():
    _cast_method(_name, dtype_class.by_name[_dtype])


@method
def type_as(self, other):
    """This tensor with the dtype and device of another.

    Args:
        other: whose they are.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).type_as(torch.tensor([1]))
        tensor([1])
    """
    have, wanted = self.layout, other.layout
    return to_dtype(self, wanted.dtype) if have.device is wanted.device else self.to(other)


def _to_cpu(self, memory_format=None):
    """This tensor in host memory: itself where it is there.

    Args:
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.]).cpu().device
        device(type='cpu')
    """
    return to_device(self, cpu) if memory_format is None else to(self, cpu, memory_format=memory_format)


method(_to_cpu, "cpu")


def _to_cuda(self, device=None, non_blocking: bool = False, memory_format=None):
    """This tensor on a CUDA device: itself where it is there.

    Args:
        device: which, as a number, a name or a `torch.device`; the current one when None.
        non_blocking: as in PyTorch; without a meaning.
        memory_format: the order of its dimensions in memory, such as `torch.channels_last`; kept when None.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> torch.zeros(2).cuda().device                 # doctest: +SKIP
        device(type='cuda', index=0)
    """
    return to(self, "cuda" if device is None else device, memory_format=memory_format)


method(_to_cuda, "cuda")


# ---------------------------------------------------------------- clone, contiguous, detach
@register
@method
def clone(input, *, memory_format=None):
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
        return _copied(input, input.layout.dtype, "clone")
    return _copied(input, memory_format, "clone")


@register
@method
def contiguous(self, memory_format=None):
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
        return self if self.layout.contiguous else _copied(self, contiguous_format, "clone")
    return self if lies_in(self.layout, memory_format) else _copied(self, memory_format, "clone")


def in_format(x, memory_format):
    """x, copied where it has not the very strides of a memory format; None is for any."""
    return x if memory_format is None or x.layout is formatted(x.layout, memory_format) else _copied(x, memory_format, "clone")


@register
@method
def detach(input):
    """A tensor over the same memory, apart from the graph: no gradient passes.

    Args:
        input: (*).

    Returns:
        A tensor that shares memory and version with `input`: a write to it is noticed.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1.], requires_grad=True)
        >>> x.detach().requires_grad
        False
    """
    out = bare()
    out.storage, out.address, out.layout, out.node = input.storage, input.address, input.layout, None
    return out


@method
def detach_(self):
    """Take this tensor out of the graph, in place, and return it.

    Raises:
        RuntimeError: a view.

    Example:
        >>> import numtorch as torch
        >>> y = torch.tensor([1., 2.], requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
    """
    if self._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. ")
    self.node = None
    return self


def _data(self):
    """The same memory, apart from the graph, with a version counter of its own: writes to it are not noticed.

    Assigned to, this tensor takes on the memory, shape and dtype of another.

    Raises:
        TypeError: what is assigned is not a tensor.
        RuntimeError: integers are assigned to a tensor that requires grad.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1.], requires_grad=True)
        >>> x.data.mul_(3)
        tensor([3.])
        >>> x
        tensor([3.], requires_grad=True)
    """
    return wrap(self.storage.alias(), self.address, self.layout)


def _set_data(self, value):
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
    if self.node is not None and value.layout.dtype.category < 2:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    self.storage, self.address, self.layout = value.storage, value.address, value.layout
    if isinstance(self.node, Leaf):
        self.node.lie_as(value.layout)


Tensor.data = property(_data, _set_data)


# ---------------------------------------------------------------- writing
@register
@method
def copy_(self, src, non_blocking: bool = False):
    """Write `src` into this tensor and return it.

    Args:
        src: a tensor or number, broadcast and cast to this tensor.
        non_blocking: as in PyTorch; without a meaning.

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
        writing = _writings[src.layout, self.layout]
    except (KeyError, AttributeError):
        return _write(self, as_operand("copy_", src))
    if self.node is not None or src.node is not None or src.storage is self.storage:
        return _write(self, src)
    mark_written(self.storage, "copy_")
    writing.call(src.address, self.address, writing.walk)
    return self


_writings = new_plan_table()                             # copies into tensors whose layouts have passed every check


def _write(self, source):
    """`copy_` with every check that PyTorch makes."""
    if source is self:
        return self
    target = self.layout
    if source.layout.shape != target.shape:
        expand(source.layout, target.shape)
    check_writable("copy_", target, target.dtype, target.shape)
    graph = modes.grad and (self.node is not None or source.node is not None)
    if graph:
        check_inplace_allowed(self, "copy")
    if source.layout.device is not target.device:
        moved = to_device(source.detach() if not graph else source, target.device)
        return copy_(self, moved)
    if overlap_partly(source, self):
        source = clone(source)
    key = (source.layout, target)
    writing = _writings.get(key) or _writings.keep(key, _Writing(*key))
    mark_written(self.storage, "copy_")
    writing.call(source.address, self.address, writing.walk)
    if graph and target.dtype.category >= 2:
        node = GraphNode("copy", (self.node, source.node), (), _copy_into_vjp, source.layout)
        rebase_history(self, node)
    return self


def _copy_into_vjp(node, grad):
    layout = node.constants
    by_source = None
    if node.needs(1):
        by_source = to_dtype(registry["sum_to_size"].function(grad, layout.shape), layout.dtype)
    return (registry["zeros_like"].function(grad) if node.needs(0) else None, by_source)


@register
@method
def fill_(self, value):
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
        return copy_(self, number(value))
    source = as_operand("fill_", value)
    if source.layout.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {source.layout.ndim} dimensions.")
    return copy_(self, source)


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


@method
def zero_(self):
    """Set every element to 0 and return this tensor.

    Raises:
        RuntimeError: a leaf that requires a gradient.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).zero_()
        tensor([0., 0.])
    """
    return copy_(self, ZERO)


ZERO, ONE = as_operand("zeros", 0), as_operand("ones", 1)
_fillings = new_plan_table()


def filled(layout: Layout, value) -> Tensor:
    """A new tensor with every element `value`, a number or a 0-dim tensor. Its memory counts writes from 0.

    Raises:
        RuntimeError: a number that the dtype cannot hold.
    """
    if type(value) in NUMBERS:
        check_fits(value, layout.dtype)
    return filled_from(layout, as_operand("full", value))


def filled_from(layout: Layout, source: Tensor) -> Tensor:
    """`filled` with a number that is a tensor already."""
    if source.layout.device is not layout.device:
        source = to_device(source, layout.device)
    key = (source.layout, layout)
    plan = _fillings.get(key) or _fillings.keep(key, _Writing(*key))
    out = fresh(layout)
    plan.call(source.address, out.address, plan.walk)
    return out
