"""New tensors: filled, counted, copied from data."""
from __future__ import annotations

import math

import numpy as np

from ..devices import cpu
from ..dtypes import as_dtype, bool_, float64, get_default_dtype, int64
from ..exchange import from_numpy, make
from ..layout import Layout, as_shape, formatted
from ..tensor import Tensor, fresh, number, view_of
from ..viewalgebra import diagonal
from .backends import kernels
from .backends import placed as _device
from .complexparts import complex as join_parts
from .copy import ONE, ZERO, copy_elements, filled, filled_from, register, to_device, to_dtype
from .op import method, new_plan_table
from .resize import into


def _checked_shape(args, name):
    shape = as_shape(args, name)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _finish(made, requires_grad, out=None):
    """What a creation function returns: the new tensor, or `out` with its elements."""
    if out is not None:
        made = into(out, made)
    return made.requires_grad_() if requires_grad else made


_layouts = new_plan_table()                              # by the arguments of a call, which decide it on the CPU


def _layout_of(name, size, dtype, device):
    """The layout that a creation function's arguments ask for."""
    for n in size:
        if type(n) is not int:
            size = as_shape(size, name)
            break
    try:
        return _layouts[size, dtype, device]
    except (KeyError, TypeError):
        layout = Layout.of(as_dtype(dtype) if dtype else get_default_dtype(), _checked_shape(size, name), None, _device(device))
        return _layouts.keep((size, dtype, device), layout) if layout.device is cpu else layout


def empty(*size, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None, memory_format=None,
          pin_memory: bool = False) -> Tensor:
    """A tensor of uninitialised elements.

    Args:
        size: the shape, as ints or one sequence.
        dtype: the default dtype when None.
        device: the CPU when None.

    Raises:
        RuntimeError: a negative extent.
    """
    layout = _layout_of("empty", size, dtype, device)
    made = fresh(layout if memory_format is None else formatted(layout, memory_format))
    return _finish(made, requires_grad, out) if requires_grad or out is not None else made


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A tensor of uninitialised elements, with strides in elements.

    Raises:
        RuntimeError: lengths that differ, or something negative.
    """
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride) or any(n < 0 for n in size + stride):
        raise RuntimeError(f"empty_strided: expected as many sizes as strides, none negative, got {list(size)} and {list(stride)}")
    made = fresh(Layout.of(as_dtype(dtype) if dtype else get_default_dtype(), size, stride, _device(device)))
    return _finish(made, requires_grad)


def full(size, fill_value, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
         pin_memory: bool = False) -> Tensor:
    """A tensor with every element `fill_value`, whose kind decides the dtype when none is given.

    Example:
        >>> import numtorch as torch
        >>> torch.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
    if dtype is None and type(fill_value) is not float:
        kind = number(fill_value) if not isinstance(fill_value, Tensor) else fill_value
        if kind is None:
            raise TypeError(f"full: expected a number to fill with, got {type(fill_value).__name__}")
        dtype = {0: bool_, 1: int64, 2: get_default_dtype(), 3: get_default_dtype().to_complex()}[kind.layout.dtype.category]
    made = filled(_layout_of("full", size if type(size) is tuple else (size,), dtype, device), fill_value)
    return _finish(made, requires_grad, out) if requires_grad or out is not None else made


def zeros(*size, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None, pin_memory: bool = False) -> Tensor:
    """A tensor of zeros.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]])
    """
    made = filled_from(_layout_of("zeros", size, dtype, device), ZERO)
    return _finish(made, requires_grad, out) if requires_grad or out is not None else made


def ones(*size, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None, pin_memory: bool = False) -> Tensor:
    """A tensor of ones."""
    made = filled_from(_layout_of("ones", size, dtype, device), ONE)
    return _finish(made, requires_grad, out) if requires_grad or out is not None else made


_likes = new_plan_table()


def _like_layout(input, dtype, device):
    source = input.layout
    found = _likes.get((source, dtype))
    if found is None:
        kept = source.strides if source.non_overlapping_and_dense() else None
        found = Layout.of(as_dtype(dtype) if dtype else source.dtype, source.shape, kept, source.device)
        _likes.keep((source, dtype), found)
    if device is not None and (device := _device(device)) is not found.device:
        return Layout.of(found.dtype, found.shape, found.strides, device)
    return found


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
               pin_memory: bool = False) -> Tensor:
    """Uninitialised, with the shape, dtype, device and dense strides of another tensor."""
    layout = _like_layout(input, dtype, device)
    if memory_format is not None and memory_format != "preserve_format":
        layout = formatted(layout, memory_format)
    return _finish(fresh(layout), requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
              pin_memory: bool = False) -> Tensor:
    """Every element `fill_value`, otherwise like another tensor."""
    return _finish(filled(_like_layout(input, dtype, device), fill_value), requires_grad)


@register
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
               pin_memory: bool = False) -> Tensor:
    """Zeros, otherwise like another tensor."""
    return _finish(filled_from(_like_layout(input, dtype, device), ZERO), requires_grad)


@register
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
              pin_memory: bool = False) -> Tensor:
    """Ones, otherwise like another tensor."""
    return _finish(filled_from(_like_layout(input, dtype, device), ONE), requires_grad)


# ---------------------------------------------------------------- counting
def _counted(values, dtype, device, requires_grad, into=None):
    """A tensor of computed positions. NumPy counts here; no tensor is computed with."""
    out = make(values, dtype=dtype)
    return _finish(to_device(out, _device(device)), requires_grad, into)


_counts, _powers = new_plan_table(), new_plan_table()


def _count(layout, start, end, step, half):
    """`layout.numel` numbers `step` apart, of which `half` are counted from the start and the others back from the end."""
    device, kind = layout.device, layout.dtype
    if device is not cpu:
        layout = Layout.of(kind, layout.shape)
    whole = type(start) is int and type(step) is int and kind.category == 1
    numbers = (start, end, step) if whole else (float(start), float(end), float(step))
    plan = _counts.get((layout, whole, half))
    if plan is None:
        prepared = kernels(cpu, "count").plan_count(kind.kernel, "int64" if whole else "float64", layout.numel, half)
        plan = _counts.keep((layout, whole, half), prepared)
    out = fresh(layout)
    low, high, apart = number(numbers[0]), number(numbers[1]), number(numbers[2])
    plan.call(low.address, high.address, apart.address, out.address, plan.walk)
    return out if device is cpu else to_device(out, device)


def _plain(value):
    return value.item() if isinstance(value, Tensor) else value


def arange(start, end=None, step=1, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
           pin_memory: bool = False) -> Tensor:
    """`start, start + step, ...` up to but without `end`; from 0 when only one bound is given.

    Raises:
        RuntimeError: a step of 0, or bounds that the step leads away from.

    Example:
        >>> import numtorch as torch
        >>> torch.arange(1, 7, 2)
        tensor([1, 3, 5])
    """
    if end is None:
        start, end = 0, start
    whole = type(start) is type(end) is type(step) is int
    if not whole:
        start, end, step = _plain(start), _plain(end), _plain(step)
        whole = isinstance(start, int) and isinstance(end, int) and isinstance(step, int)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if whole:
        kind, count = dtype or int64, -((start - end) // step)
    else:
        kind, count = dtype, math.ceil((end - start) / step)
    layout = _layout_of("arange", (count,), kind, device)
    if layout.dtype.category in (1, 2):
        made = _count(layout, start, end, step, count)
        return _finish(made, requires_grad, out) if requires_grad or out is not None else made
    return _counted(np.arange(count) * step + start, layout.dtype, device, requires_grad, out)


def range_inclusive(start=0, end=None, step=1, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
                    pin_memory: bool = False) -> Tensor:
    """`start, start + step, ...` up to and with `end` (PyTorch's old `range`)."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.floor((end - start) / step) + 1
    return _finish(_count(_layout_of("range", (count,), dtype, device), float(start), end, step, count), requires_grad, out)


def linspace(start, end, steps, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
             pin_memory: bool = False) -> Tensor:
    """`steps` values from `start` to `end`, both included, evenly spaced.

    Example:
        >>> import numtorch as torch
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = _plain(start), _plain(end)
    natural = get_default_dtype().to_complex() if isinstance(start, complex) or isinstance(end, complex) else get_default_dtype()
    kind = as_dtype(dtype) if dtype else natural
    if kind.category < natural.category and natural.is_complex:
        raise RuntimeError(f"linspace: inferred dtype {natural} can't be safely cast to passed dtype {kind}")
    if kind.category in (1, 2):
        step = (end - start) / (steps - 1) if steps > 1 else 0
        made = _count(_layout_of("linspace", (steps,), kind, device), float(start), end, step, (steps + 1) // 2)
        return _finish(made, requires_grad, out)
    if kind.category == 0:
        raise NotImplementedError(f'"linspace_cpu" not implemented for \'{kind.title}\'')
    start, end = complex(start), complex(end)
    parts = [linspace(low, high, steps, dtype=kind.to_real(), device=device)
             for low, high in ((start.real, end.real), (start.imag, end.imag))]
    return _finish(join_parts(*parts), requires_grad, out)


def logspace(start, end, steps, base: float = 10.0, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
             pin_memory: bool = False) -> Tensor:
    """`steps` values from base**start to base**end, both included, evenly spaced in the exponent; whole powers are exact."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = as_dtype(dtype) if dtype else get_default_dtype()
    exponents = linspace(start, end, steps, dtype=float64, device=cpu)
    made = fresh(exponents.layout)
    if steps:
        plan = _powers.get(steps) or _powers.keep(steps, kernels(cpu, "count").plan_powers(steps))
        plan.call(number(float(_plain(base))).address, exponents.address, made.address, plan.walk)
    return _finish(to_device(to_dtype(made, kind), _device(device)), requires_grad, out)


def eye(n, m=None, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
        pin_memory: bool = False) -> Tensor:
    """An n x m matrix (square when m is None) with ones on the diagonal.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    m = n if m is None else m
    if n < 0 or m < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, m)}")
    made = zeros(n, m, dtype=dtype, device=device)
    layout, _ = diagonal(made.layout, 0, 0, 1)
    if layout.numel:
        copy_elements(ONE if layout.device is cpu else to_device(ONE, layout.device), view_of(made, layout, 0))
    return _finish(made, requires_grad, out) if requires_grad or out is not None else made


# ---------------------------------------------------------------- from data
tensor = make


def as_tensor(data, dtype=None, device=None) -> Tensor:
    """`data` as a tensor, sharing its memory where it can: a tensor is returned, a NumPy array wrapped, the rest copied."""
    if isinstance(data, np.ndarray):
        data = from_numpy(data)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    return make(data, dtype=dtype, device=device)


asarray = as_tensor


def scalar_tensor(value, *, dtype=None, device=None) -> Tensor:
    """A 0-dim tensor holding a number."""
    return full((), value, dtype=dtype or get_default_dtype(), device=device)


# ---------------------------------------------------------------- methods
def _new(name, value):
    def made(self, *size, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
        own = self.layout
        layout = _layout_of(name, size, dtype or own.dtype, device or own.device)
        out = fresh(layout) if value is None else filled_from(layout, value)
        return out.requires_grad_() if requires_grad else out
    made.__doc__ = f"Like `{name}`, with this tensor's dtype and device unless others are given."
    return made


method(_new("empty", None), "new_empty")
method(_new("zeros", ZERO), "new_zeros")
method(_new("ones", ONE), "new_ones")


@method
def new_full(self, size, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Like `full`, with this tensor's dtype and device unless others are given."""
    return full(size, fill_value, dtype=dtype or self.layout.dtype, device=device or self.layout.device,
                requires_grad=requires_grad)


@method
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Like `empty_strided`, with this tensor's dtype and device unless others are given."""
    return empty_strided(size, stride, dtype=dtype or self.layout.dtype, device=device or self.layout.device,
                         requires_grad=requires_grad)


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A copy of `data` with this tensor's dtype and device unless others are given."""
    return make(data, dtype=dtype or self.layout.dtype, device=device or self.layout.device, requires_grad=requires_grad)
