"""New tensors: filled, and like others. Those that count are in ranges.py, those of given data in data.py."""
from __future__ import annotations

from ...dtypes import as_dtype, bool_, get_default_dtype, int64
from ...exchange.construction import make
from ...exchange.scalars import number
from ...layout import Layout, as_shape, formatted, kept_strides
from ...tensor import Tensor, fresh, view_of
from ...viewalgebra import diagonal
from ..core.arguments import check_several
from ..core.backends import placed
from ..core.late import later, provide
from ..core.operands import layout_of, method
from ..core.primitive import new_plan_table
from ..memory.assign import ONE, ZERO, filled, filled_from
from ..memory.copies import copy_elements, to_device
from .asked import check_strided, device_for, finish_made, layout_for, sparse_layout

_likes = new_plan_table()                                # no plans, but emptied with them: layouts like others


def empty(*shape, size=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None, memory_format=None,
          pin_memory: bool = False) -> Tensor:
    """A tensor of uninitialised elements.

    Args:
        shape: the extents, as ints or one sequence; also under the name `size`.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; row-major when None.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too, or a sparse one.
        pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.

    Example:
        >>> import numtorch as torch
        >>> torch.empty(2, 3).shape
        torch.Size([2, 3])
    """
    if layout is not None and (sparse := sparse_layout("empty", layout)) is not None:
        return zeros(*shape, size=size, dtype=dtype, device=device).to_sparse(layout=sparse).requires_grad_(requires_grad)
    if out is not None:
        device = device_for(device, out)
    layout = layout_for("empty", shape if size is None else (size,), dtype, device)
    made = fresh(layout if memory_format is None else formatted(layout, memory_format))
    return finish_made(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                  pin_memory: bool = False) -> Tensor:
    """A tensor of uninitialised elements, of any strides.

    Args:
        size: the extents.
        stride: as many strides, in elements; they may be 0, and elements may overlap.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: lengths that differ, or something negative.

    Example:
        >>> import numtorch as torch
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    if layout is not None:
        check_strided("empty_strided", layout)
    check_several("empty_strided", "size", size)
    check_several("empty_strided", "stride", stride)
    size, stride = as_shape((size,)), as_shape((stride,))
    if len(size) != len(stride) or any(n < 0 for n in size + stride):
        raise RuntimeError(f"empty_strided: expected as many sizes as strides, none negative, got {list(size)} and {list(stride)}")
    made = fresh(Layout.of(as_dtype(dtype) if dtype else get_default_dtype(), size, stride, placed(device)))
    return finish_made(made, requires_grad, pin_memory=pin_memory)


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad: bool = False,
                   pin_memory: bool = False) -> Tensor:
    """A tensor of uninitialised elements whose dimensions lie in memory in another order.

    Args:
        size: the extents.
        physical_layout: the dimensions from the outermost in memory to the innermost; (0, 2, 3, 1) is channels last.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: not each dimension once.

    Example:
        >>> import numtorch as torch
        >>> torch.empty_permuted((2, 3), (1, 0)).stride()
        (1, 2)
    """
    if layout is not None:
        check_strided("empty_permuted", layout)
    size, order = as_shape((size,)), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(order)}")
    if any(not 0 <= d < len(size) for d in order):
        raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {list(order)})")
    if len(set(order)) != len(order):
        raise RuntimeError(f"Duplicate dim not allowed, got {list(order)}")
    stride, step = [1] * len(size), 1
    for d in reversed(order):
        stride[d], step = step, step * max(size[d], 1)
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def full(size, fill_value, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
         pin_memory: bool = False) -> Tensor:
    """A tensor with every element `fill_value`, whose kind decides the dtype when none is given.

    Args:
        size: the extents.
        fill_value: a bool (dtype bool), an int (int64), a float or a complex number (the default dtypes).
        dtype, device: the default device when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent, or a number that `dtype` cannot hold.

    Example:
        >>> import numtorch as torch
        >>> torch.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
    """
    if layout is not None:
        check_strided("full", layout)
    wanted = dtype
    if dtype is None and type(fill_value) is not float:
        kind = number(fill_value) if not isinstance(fill_value, Tensor) else fill_value
        if kind is None:
            raise TypeError(f"full: expected a number to fill with, got {type(fill_value).__name__}")
        dtype = {0: bool_, 1: int64, 2: get_default_dtype(), 3: get_default_dtype().to_complex()}[kind.layout.dtype.category]
    if out is not None:
        device = device_for(device, out)
    made = filled(layout_for("full", size if type(size) is tuple else (size,), dtype, device), fill_value)
    return finish_made(made, requires_grad, out, wanted, pin_memory) if requires_grad or out is not None or pin_memory else made


def zeros(*shape, size=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
          pin_memory: bool = False) -> Tensor:
    """A tensor of zeros.

    Args:
        shape: the extents, as ints or one sequence; also under the name `size`.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too, or a sparse one.
        pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(2, 2)
        tensor([[0., 0.],
                [0., 0.]])
    """
    if layout is not None and (sparse := sparse_layout("zeros", layout)) is not None:
        return zeros(*shape, size=size, dtype=dtype, device=device).to_sparse(layout=sparse).requires_grad_(requires_grad)
    if out is not None:
        device = device_for(device, out)
    made = filled_from(layout_for("zeros", shape if size is None else (size,), dtype, device), ZERO)
    return finish_made(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made


def ones(*shape, size=None, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
         pin_memory: bool = False) -> Tensor:
    """A tensor of ones.

    Args:
        shape: the extents, as ints or one sequence; also under the name `size`.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.

    Example:
        >>> import numtorch as torch
        >>> torch.ones(2, dtype=torch.int64)
        tensor([1, 1])
    """
    if layout is not None:
        check_strided("ones", layout)
    if out is not None:
        device = device_for(device, out)
    made = filled_from(layout_for("ones", shape if size is None else (size,), dtype, device), ONE)
    return finish_made(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made


def like_layout(input, dtype, device, memory_format=None, name="empty_like"):
    """The layout of a tensor like another: its shape and dense strides, and its dtype and device unless others are given."""
    source = layout_of(name, input)
    layout = _likes.get((source, dtype))
    if layout is None:
        layout = Layout.of(as_dtype(dtype) if dtype else source.dtype, source.shape, kept_strides(source), source.device)
        if source.handler is None:
            _likes.keep((source, dtype), layout)
    if device is not None and (device := placed(device)) is not layout.device:
        layout = Layout.of(layout.dtype, layout.shape, layout.strides, device)
    return layout if memory_format is None else formatted(layout, memory_format)


def _alike(input, made):
    """What was made like another tensor, which inside of `vmap` has elements for each sample where the other has."""
    handler = input.layout.handler
    each = None if handler is None else getattr(handler, "each_like", None)
    return made if each is None else each(input, made)


def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
               pin_memory: bool = False) -> Tensor:
    """Uninitialised, with the shape, dtype, device and dense strides of another tensor.

    Args:
        input: the other tensor.
        dtype, device: those of `input` when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; the other tensor's when None.
        layout: `torch.strided`, which None is too, or a sparse one.
        pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.empty_like(torch.tensor([[1, 2], [3, 4]]).t()).stride()
        (1, 2)
    """
    if layout is not None and (sparse := sparse_layout("empty_like", layout)) is not None:
        return zeros_like(input, dtype=dtype, device=device).to_sparse(layout=sparse).requires_grad_(requires_grad)
    try:
        like = like_layout(input, dtype, device, memory_format)
    except NotImplementedError:
        return _none_like(input, dtype, device, requires_grad)
    return _alike(input, finish_made(fresh(like), requires_grad, pin_memory=pin_memory))


def _none_like(input, dtype, device, requires_grad):
    """A sparse tensor like another that stores nothing."""
    return later["none_like"](input, dtype, device).requires_grad_(requires_grad)


def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
              pin_memory: bool = False) -> Tensor:
    """Every element `fill_value`, with the shape, dtype, device and dense strides of another tensor.

    Args:
        input: the other tensor.
        fill_value: a number.
        dtype, device: those of `input` when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; the other tensor's when None.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a number that the dtype cannot hold.

    Example:
        >>> import numtorch as torch
        >>> torch.full_like(torch.tensor([1., 2.]), 7)
        tensor([7., 7.])
    """
    if layout is not None:
        check_strided("full_like", layout)
    made = filled(like_layout(input, dtype, device, memory_format, "full_like"), fill_value)
    return _alike(input, finish_made(made, requires_grad, pin_memory=pin_memory))


@provide
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
               pin_memory: bool = False) -> Tensor:
    """Zeros, with the shape, dtype, device and dense strides of another tensor.

    Args:
        input: the other tensor.
        dtype, device: those of `input` when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; the other tensor's when None.
        layout: `torch.strided`, which None is too, or a sparse one.
        pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros_like(torch.tensor([1., 2.]))
        tensor([0., 0.])
    """
    if layout is not None and (sparse := sparse_layout("zeros_like", layout)) is not None:
        return zeros_like(input, dtype=dtype, device=device).to_sparse(layout=sparse).requires_grad_(requires_grad)
    try:
        like = like_layout(input, dtype, device, memory_format, "zeros_like")
    except NotImplementedError:
        return _none_like(input, dtype, device, requires_grad)
    return _alike(input, finish_made(filled_from(like, ZERO), requires_grad, pin_memory=pin_memory))


def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad: bool = False, memory_format=None,
              pin_memory: bool = False) -> Tensor:
    """Ones, with the shape, dtype, device and dense strides of another tensor.

    Args:
        input: the other tensor.
        dtype, device: those of `input` when None. requires_grad: whether to record what is computed from it.
        memory_format: the order of the dimensions in memory; the other tensor's when None.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.ones_like(torch.tensor([1., 2.]))
        tensor([1., 1.])
    """
    if layout is not None:
        check_strided("ones_like", layout)
    made = filled_from(like_layout(input, dtype, device, memory_format, "ones_like"), ONE)
    return _alike(input, finish_made(made, requires_grad, pin_memory=pin_memory))


def eye(n, m=None, *, dtype=None, layout=None, device=None, requires_grad: bool = False, out=None,
        pin_memory: bool = False) -> Tensor:
    """An n x m matrix (square when m is None) with ones on the diagonal.

    Args:
        n, m: rows and columns.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        out: a tensor to write the result to.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2)
        tensor([[1., 0.],
                [0., 1.]])
    """
    if layout is not None:
        check_strided("eye", layout)
    m = n if m is None else m
    for position, (name, size) in enumerate((("n", n), ("m", m)), 1):
        if not hasattr(size, "__index__"):
            raise TypeError(f"eye(): argument '{name}' (position {position}) must be int, not {type(size).__name__}")
    if n < 0 or m < 0:
        raise RuntimeError(f"n must be greater or equal to 0, got {min(n, m)}")
    if out is not None:
        device = device_for(device, out)
    made = zeros(n, m, dtype=dtype, device=device)
    layout, _ = diagonal(made.layout, 0, 0, 1)
    if layout.numel:
        copy_elements(to_device(ONE, layout.device), view_of(made, layout, 0))
    return finish_made(made, requires_grad, out, dtype, pin_memory) if requires_grad or out is not None or pin_memory else made


# ---------------------------------------------------------------- from data
tensor = make


def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad: bool = False, pin_memory: bool = False) -> Tensor:
    """A 0-dim tensor holding a number.

    Args:
        s: the number.
        dtype, device: the default ones when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.scalar_tensor(2)
        tensor(2.)
    """
    if layout is not None:
        check_strided("scalar_tensor", layout)
    return full((), s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad, pin_memory=pin_memory)


# ---------------------------------------------------------------- methods
def _own(x, dtype, device):
    """What is asked for of dtype and device, a tensor's where nothing is: 0 is a device, too."""
    return dtype or x.layout.dtype, x.layout.device if device is None else device


def _new(name, value):
    def made(self, *shape, size=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
        if layout is not None:
            check_strided(f"new_{name}", layout)
        layout = layout_for(name, shape if size is None else (size,), *_own(self, dtype, device))
        out = fresh(layout) if value is None else filled_from(layout, value)
        return _alike(self, finish_made(out, requires_grad, pin_memory=pin_memory))
    made.__name__ = made.__qualname__ = f"new_{name}"
    filled_with = "uninitialised elements" if value is None else name
    shown = {"empty": "new_empty(2).shape\n        torch.Size([2])", "zeros": "new_zeros(2)\n        tensor([0, 0])",
             "ones": "new_ones(2)\n        tensor([1, 1])"}[name]
    made.__doc__ = f"""A tensor of {filled_with}, of this one's dtype and device unless others are given.

    Args:
        shape: the extents, as ints or one sequence; also under the name `size`.
        dtype, device: this tensor's when None.
        requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Raises:
        RuntimeError: a negative extent.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).{shown}
    """
    return made


method(_new("empty", None), "new_empty")
method(_new("zeros", ZERO), "new_zeros")
method(_new("ones", ONE), "new_ones")


@method
def new_full(self, size, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A tensor with every element `fill_value`, of this one's dtype and device unless others are given.

    Args:
        size: the extents.
        fill_value: a number.
        dtype, device: this tensor's when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).new_full((2,), 7)
        tensor([7, 7])
    """
    if layout is not None:
        check_strided("new_full", layout)
    check_several("new_full", "size", size)
    dtype, device = _own(self, dtype, device)
    return _alike(self, full(size, fill_value, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory))


@method
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A tensor of uninitialised elements and any strides, of this one's dtype and device unless others are given.

    Args:
        size, stride: the extents, and as many strides in elements.
        dtype, device: this tensor's when None. requires_grad: whether to record what is computed from it.
        layout: `torch.strided`, which None is too. pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    if layout is not None:
        check_strided("new_empty_strided", layout)
    dtype, device = _own(self, dtype, device)
    return _alike(self, empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory))


@method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False) -> Tensor:
    """A copy of `data`, of this tensor's dtype and device unless others are given.

    Args:
        data: what `tensor` takes.
        dtype, device: this tensor's when None. requires_grad: whether to record what is computed from it.
        pin_memory: see `Tensor.pin_memory`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.0]).new_tensor([2, 3])
        tensor([2., 3.])
    """
    dtype, device = _own(self, dtype, device)
    return make(data, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)
