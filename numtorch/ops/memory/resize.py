"""Tensors that take on another shape or other memory: `resize_`, `set_`, and results that go into `out`.

Memory grows by moving: a tensor whose storage is too small for its new shape gets one of its own, with its elements copied, and
what else lay over the old one stays there. PyTorch grows the storage itself, under all of its views; an address here is fixed.
"""
from __future__ import annotations

import warnings

from ...autograd.graph import Leaf
from ...autograd.modes import modes
from ...autograd.writes import check_mode, mark_written
from ...dtypes import can_cast
from ...layout import Layout, as_shape, format_of, formatted
from ...storage import new_storage
from ...tensor import Tensor, fresh
from ..core.operands import layout_of, method
from .assign import copy_
from .typed import TypedStorage
from .untyped import StorageBase, copy_memory
from .writing import check_apart


def _take_on(x, layout):
    """Give a tensor another layout from where its first element is, in larger memory where it does not fit."""
    if x.node is not None:
        raise RuntimeError("cannot resize variables that require grad (resize_)")
    storage = x.memory
    check_mode(storage, "resize_")
    lowest, stop = layout.extent() if layout.numel else (0, 0)
    offset = x.address - storage.address
    wanted = offset + stop * layout.dtype.itemsize
    if wanted > storage.nbytes:
        larger = new_storage(wanted, storage.device)
        copy_memory(storage, larger)
        larger.version, larger.writer = storage.version + 1, "resize_"
        x.memory, x.address = larger, larger.address + offset
        _leave_views(x)
    x.layout = layout
    return x


def _leave_views(x):
    """With memory of its own, a tensor is neither a view nor seen through one any longer."""
    x.__dict__.pop("_base", None)
    x.__dict__.pop("_views", None)


@method
def resize_(self, *sizes, size=None, memory_format=None) -> Tensor:
    """Change the shape of this tensor itself, to any number of elements; those that are new are not initialised.

    Elements lie in row-major order afterwards, and the first ones keep their values. A tensor of that shape stays as it is.

    Args:
        sizes, size: the shape, as several ints or one tuple.
        memory_format: the order of the dimensions in memory, such as `torch.channels_last`; row-major when None.

    Raises:
        RuntimeError: the tensor requires grad, an extent is negative, or the format is `preserve_format`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3, 4, 5, 6]).resize_(2, 2)
        tensor([[1, 2],
                [3, 4]])
    """
    shape = as_shape(sizes if size is None else (size,), "resize_")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)} (resize_)")
    if memory_format == "preserve_format":
        raise RuntimeError(f"Unsupported memory format {memory_format} (resize_: name another, or use resize_as_)")
    layout = self.layout
    if shape != layout.shape:
        layout = Layout.of(layout.dtype, shape, None, layout.device)
    return _take_on(self, layout if memory_format is None else formatted(layout, memory_format))


@method
def resize_as_(self, the_template, *, memory_format=None) -> Tensor:
    """Change this tensor's shape to that of another; see `resize_`.

    Args:
        the_template: the tensor whose shape it is to have.
        memory_format: the order of the dimensions in memory; row-major when None, that of `the_template` for `preserve_format`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3, 4]).resize_as_(torch.zeros(2, 1))
        tensor([[1],
                [2]])
    """
    template = layout_of("resize_as_", the_template, "the_template")
    if memory_format == "preserve_format":
        memory_format = format_of(template) or "contiguous_format"
    return resize_(self, template.shape, memory_format=memory_format)


@method
def as_strided_(self, size, stride, storage_offset=None) -> Tensor:
    """See this tensor's memory under another shape and strides from now on; see `as_strided`.

    Args:
        size, stride: as many of each; strides in elements.
        storage_offset: the first element's place in the storage; this tensor's when None.

    Raises:
        RuntimeError: the tensor requires grad, or the view would reach outside the storage.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2, 3, 4]).as_strided_((2,), (2,))
        tensor([1, 3])
    """
    view = self.as_strided(size, stride, storage_offset)
    if self.node is not None:
        raise RuntimeError("as_strided_: expected a tensor without a gradient; use as_strided")
    self.layout, self.address = view.layout, view.address
    return self


@method
def set_(self, source=None, storage_offset: int = 0, size=None, stride=None) -> Tensor:
    """Take on the memory of a tensor or a storage, or none at all.

    Args:
        source: a tensor of this dtype, a storage, or None for an empty tensor.
        storage_offset: where the first element is in a storage, in elements.
        size, stride: the shape and strides; all of a storage in one dimension when None.

    Raises:
        RuntimeError: another dtype or device, what does not fit the storage, or a tensor with a history, or that requires grad
            outside of `no_grad`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1, 2, 3, 4])
        >>> torch.tensor([0]).set_(x.untyped_storage(), 1, (2,))
        tensor([2, 3])
    """
    own = self.layout
    if self.node is not None:
        if not isinstance(self.node, Leaf):
            raise RuntimeError("set_: expected a tensor without a history")
        if modes.grad:
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    if source is None:
        source = fresh(Layout.of(own.dtype, (0,), None, own.device))
    if isinstance(source, Tensor):
        if source.layout.dtype is not own.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.layout.dtype} to a tensor of type {own.dtype} (set_)")
        if size is None:
            return _taking(self, source.memory, source.address, source.layout)
        source = source.memory
    elif isinstance(source, StorageBase):
        if isinstance(source, TypedStorage) and source.dtype is not own.dtype:
            raise RuntimeError(f"Expected a Storage of type {own.dtype.title} or an UntypedStorage, but got type "
                               f"{source.dtype.title} for argument 1 'storage'")
        source = source.memory
    else:
        raise TypeError(f"set_(): argument 'source' must be Tensor or Storage, not {type(source).__name__}")
    if source.device is not own.device:
        raise RuntimeError(f"set_: expected a storage on {own.device}, got one on {source.device}")
    itemsize = own.dtype.itemsize
    shape = (source.nbytes // itemsize - storage_offset,) if size is None else as_shape((size,), "set_")
    layout = Layout.of(own.dtype, shape, None if stride is None else as_shape((stride,), "set_"), own.device)
    first, stop = layout.extent() if layout.numel else (0, 0)
    if storage_offset + first < 0 or (storage_offset + stop) * itemsize > source.nbytes:
        raise RuntimeError(f"setStorage: sizes {list(shape)}, strides {list(layout.strides)}, storage offset {storage_offset}, "
                           f"and itemsize {itemsize} requiring a storage size of {(storage_offset + stop) * itemsize} are out of "
                           f"bounds for storage of size {source.nbytes}")
    return _taking(self, source, source.address + storage_offset * itemsize, layout)


def _taking(x, storage, address, layout):
    if storage is x.memory:                              # other memory has a version of its own
        mark_written(storage, "set_")
    x.memory, x.address, x.layout = storage, address, layout
    if x.node is not None:
        x.node.lie_as(layout)
    _leave_views(x)
    return x


# ---------------------------------------------------------------- results
def check_out_device(out, device) -> None:
    """Raise RuntimeError where `out` is on another device than the result, which only `copy_` takes across."""
    if out.layout.device is not device:
        raise RuntimeError(f"Expected out tensor to have device {device}, but got {out.layout.device} instead")


def fit_out(out, shape) -> None:
    """Give `out` the shape of a result, as PyTorch does: silently where it has no elements, with a warning else."""
    if out.layout.shape == shape:
        return
    if out.layout.numel:
        warnings.warn(f"An output with one or more elements was resized since it had shape {list(out.layout.shape)}, which does "
                      f"not match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
                      f"release outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor "
                      f"t by resizing it, inplace, to zero elements with t.resize_(0).", UserWarning, stacklevel=4)
    _take_on(out, Layout.of(out.layout.dtype, shape, None, out.layout.device))


def into(out, result):
    """A result, written to `out` where one is given.

    Raises:
        TypeError: `out` is not a Tensor.
        RuntimeError: another device, or a dtype that cannot hold the result.
    """
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    check_out_device(out, result.layout.device)
    if not can_cast(result.layout.dtype, out.layout.dtype):
        raise RuntimeError(f"result type {result.layout.dtype.title} can't be cast to the desired output type "
                           f"{out.layout.dtype.title}")
    fit_out(out, result.layout.shape)
    return copy_(out, result.detach())


def into_exactly(name, out, result, *inputs):
    """`into` for the ops that PyTorch computes in `out` itself: it has their dtype, and shares no memory with what they read.

    Args:
        inputs: the tensors that they read; what is no tensor is left out.

    Raises:
        TypeError: `out` is not a Tensor.
        RuntimeError: another dtype, or memory that elements of `out` share with each other or with an input.
    """
    if out is None:
        return result
    if isinstance(out, Tensor):
        wanted, actual = result.layout.dtype, out.layout.dtype
        if wanted is not actual:
            raise RuntimeError(f"Expected out tensor to have dtype {wanted.name}, but got {actual.name} instead ({name})")
        check_apart(name, out, inputs)
    return into(out, result)


def check_outs(name, out, count) -> None:
    """Raise TypeError where `out` is no tuple or list of as many tensors as there are results: the rows of a tensor are none."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
    if len(out) != count:
        raise TypeError(f"{name}(): expected tuple of {count} elements but got {len(out)} (argument 'out')")
    for index, each in enumerate(out):
        if not isinstance(each, Tensor):
            raise TypeError(f"{name}(): expected Tensor as element {index} in argument 'out', but got {type(each).__name__}")


def into_all(name, out, results):
    """Several results, written to the tensors of `out` where they are given."""
    if out is None:
        return results
    check_outs(name, out, len(results))
    return type(results)(*[into(o, r) for o, r in zip(out, results)])


def into_all_exactly(name, out, results, *inputs):
    """Several results, written to the tensors of `out` where they are given, each as by `into_exactly`."""
    if out is None:
        return results
    check_outs(name, out, len(results))
    return type(results)(*[into_exactly(name, o, r, *inputs) for o, r in zip(out, results)])
