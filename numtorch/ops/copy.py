"""Copies, casts and fills: what moves elements without computing with them."""
from __future__ import annotations

from ..autograd.graph import GraphNode, Leaf, mark_written, recording
from ..autograd.modes import modes
from ..devices import cpu
from ..dtypes import as_dtype, dtype
from ..kernels.compiler import ScalarBody
from ..layout import Layout, broadcast_strides
from ..tensor import Tensor, empty, number, wrap
from .backends import kernels, placed
from .op import as_operand, method, new_plan_table, registry
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


def _transfer(source: Tensor, target: Tensor) -> None:
    """Write a tensor into one of the same layout on another device."""
    mover = source if source.layout.device.type != "cpu" else target
    registry[f"transfer_{mover.layout.device.type}"].function(source, target)


# ---------------------------------------------------------------- dtype and device
def _kept_strides(layout):
    return layout.strides if layout.non_overlapping_and_dense() else None


def _copied(x, layout, title):
    """A copy of x in a layout of the same shape on the same device, recorded under `title`."""
    out = empty(layout)
    copy_elements(x, out)
    if recording(x) and layout.dtype.category >= 2:
        out.node = GraphNode(title, (x.node,), (), _copied_vjp, x.layout.dtype)
    return out


def _copied_vjp(node, grad):
    source = node.constants
    if grad.layout.dtype.is_complex and not source.is_complex:
        grad = registry["real"].function(grad)
    return (to_dtype(grad, source),)


@register
def to_dtype(x: Tensor, dtype: dtype) -> Tensor:
    """x with another dtype; x itself when it has it."""
    if x.layout.dtype is dtype:
        return x
    return _copied(x, Layout.of(dtype, x.layout.shape, _kept_strides(x.layout), x.layout.device), "to_copy")


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
def to(self, *args, dtype=None, device=None, non_blocking: bool = False, copy: bool = False):
    """This tensor with another dtype, on another device, or as another tensor has them.

    Args:
        args: a dtype, a device, a device and a dtype, or a tensor to follow.
        copy: make a new tensor even when nothing changes.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.7]).to(torch.int64)
        tensor([1])
    """
    from ..dtypes import dtype as dtype_class
    for value in args:
        if isinstance(value, Tensor):
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
    return clone(out) if copy and out is self else out


@method
def type(self, dtype=None):
    """This tensor's type name, or this tensor with another dtype."""
    if dtype is None:
        names = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "uint8": "Byte", "bool": "Bool",
                 "int8": "Char", "int16": "Short", "float16": "Half", "bfloat16": "BFloat16"}
        where = "torch.cuda." if self.is_cuda else "torch."
        return f"{where}{names.get(self.layout.dtype.name, self.layout.dtype.name.capitalize())}Tensor"
    return to_dtype(self, as_dtype(dtype))


def _cast_method(name, target):
    def cast(self):
        return to_dtype(self, target)
    cast.__name__ = name
    cast.__doc__ = f"This tensor as {target.name}."
    method(cast)


for _name, _dtype in {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32",
                      "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64",
                      "cdouble": "complex128"}.items():
    _cast_method(_name, dtype.by_name[_dtype])


@method
def type_as(self, other):
    """This tensor with the dtype and device of another."""
    return self.to(other)


def _to_cpu(self):
    """This tensor in host memory."""
    return to_device(self, cpu)


method(_to_cpu, "cpu")


def _to_cuda(self, device=None):
    """This tensor on a CUDA device, the current one when none is given."""
    return self.to("cuda" if device is None else device)


method(_to_cuda, "cuda")


# ---------------------------------------------------------------- clone, contiguous, detach
@register
@method
def clone(self, *, memory_format=None):
    """A copy with memory of its own. Gradients pass through."""
    if memory_format == "contiguous":
        return _copied(self, self.layout.dense(), "clone")
    return _copied(self, Layout.of(self.layout.dtype, self.layout.shape, _kept_strides(self.layout), self.layout.device), "clone")


@register
@method
def contiguous(self, memory_format=None):
    """This tensor when it is row-major without gaps, else a row-major copy."""
    return self if self.layout.contiguous else _copied(self, self.layout.dense(), "clone")


@register
@method
def detach(self):
    """The same memory and version counter, apart from the graph."""
    return wrap(self.storage, self.address, self.layout)


@method
def detach_(self):
    """Take this tensor out of the graph, in place."""
    if self._base is not None:
        raise RuntimeError("Can't detach views in-place. Use detach() instead. ")
    self.node = None
    return self


def _data(self):
    """The same memory, apart from the graph, with a version counter of its own: writes to it are not noticed."""
    return wrap(self.storage.alias(), self.address, self.layout)


def _set_data(self, value):
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {value.__class__.__name__}")
    self.storage, self.address, self.layout = value.storage, value.address, value.layout
    if isinstance(self.node, Leaf):
        self.node.layout = value.layout


Tensor.data = property(_data, _set_data)


# ---------------------------------------------------------------- writing
@register
@method
def copy_(self, src, non_blocking: bool = False):
    """Write `src` (a tensor or number, broadcast and cast) into this tensor and return it.

    Raises:
        RuntimeError: `src` does not broadcast to this shape, or elements of this tensor share memory.
    """
    source = as_operand("copy_", src)
    if source is self:
        return self
    target = self.layout
    if source.layout.shape != target.shape:
        from ..layout import expand
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
    copy_elements(source, self)
    mark_written(self.storage, "copy_")
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
    """Set every element to `value` (a number or 0-dim tensor) and return this tensor."""
    source = as_operand("fill_", value)
    if source.layout.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {source.layout.ndim} dimensions.")
    return copy_(self, source)


@method
def zero_(self):
    """Set every element to 0 and return this tensor."""
    return copy_(self, number(0))


def filled(layout: Layout, value) -> Tensor:
    """A new tensor with every element `value`."""
    out = empty(layout)
    source = number(value)
    if layout.device is not cpu:
        source = to_device(source, layout.device)
    prepared = plan_copy(source.layout, layout)
    if prepared is not None:
        prepared.call(source.address, out.address, prepared.walk)
    return out
