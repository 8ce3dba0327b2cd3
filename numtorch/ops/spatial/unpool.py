"""Maxima put back to where pooling found them."""
from __future__ import annotations

from math import prod

from ...dtypes import int64
from ...layout import Layout
from ...tensor import Tensor
from ..core.operands import layout_of
from ..index.gather_scatter import scatter
from ..memory.assign import filled
from ..shape.views import reshape
from .windows import pair


def _max_unpool(input, indices, kernel_size, stride, padding, output_size, dims):
    name = f"max_unpool{dims}d"
    layout_of(name, input)
    if layout_of(name, indices, "indices", 2).dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.layout.dtype} ({name})")
    if indices.layout.shape != input.layout.shape or input.layout.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.layout.shape)}) but got "
                           f"indices tensor with shape: {list(indices.layout.shape)} ({name})")
    kernel, padding = pair(kernel_size, f"{name}: kernel_size", dims), pair(padding, f"{name}: padding", dims)
    stride = kernel if stride is None or (type(stride) in (tuple, list) and not stride) else pair(stride, f"{name}: stride", dims)
    extents = input.layout.shape[-dims:]
    usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(extents, stride, padding, kernel)]
    sizes = tuple(usual)
    if min(sizes) < 0:
        raise ValueError(f"{name}: expected windows that leave no negative extents, but got {list(sizes)}")
    if output_size is not None:
        sizes = tuple(output_size)[-dims:]
        if len(tuple(output_size)) not in (dims, input.layout.ndim):
            raise ValueError(f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                             f"'{len(tuple(output_size))}'")
        for size, middle, step in zip(sizes, usual, stride):
            if not middle - step < size < middle + step:
                raise ValueError(f'invalid output_size "{list(sizes)}" (dim must be between {middle - step} and {middle + step})')
    lead, plane = input.layout.shape[:-dims], prod(sizes)
    places = reshape(indices, *lead, -1)
    base = filled(Layout.of(input.layout.dtype, (*lead, plane), None, input.layout.device), 0)
    try:
        out = scatter(base, -1, places, reshape(input, *lead, -1))
    except RuntimeError:                                 # the shapes fit, so it is an index
        raise RuntimeError(f"Found an invalid max index: {places.max().item()} (output volumes are of size {list(sizes)}) "
                           f"({name})") from None
    return reshape(out, *lead, *sizes)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool1d` found them, zeros elsewhere.

    Args:
        input: the maxima, (N, C, L) or (C, L).
        indices: their places in the flattened row, int64 of the same shape.
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.
        output_size: the extents of what was pooled, with or without N and C, where several pool to the same.

    Returns:
        (N, C, L_out) or (C, L_out), with L_out = (L - 1) stride - 2 padding + kernel_size where `output_size` says nothing else.

    Raises:
        RuntimeError: places that are not int64, of another shape or out of range.
        ValueError: an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 3., 2., 4.]])
        >>> maxima, places = torch.nn.functional.max_pool1d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool1d(maxima, places, 2)
        tensor([[0., 3., 0., 4.]])
    """
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool2d` found them, zeros elsewhere.

    Args:
        input: the maxima, (N, C, H, W) or (C, H, W).
        indices: their places in the flattened plane, int64 of the same shape.
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.
        output_size: the extents of what was pooled, with or without N and C, where several pool to the same.

    Returns:
        (N, C, H_out, W_out) or (C, H_out, W_out), with H_out = (H - 1) stride - 2 padding + kernel_size, and W likewise where
        `output_size` says nothing else.

    Raises:
        RuntimeError: places that are not int64, of another shape or out of range.
        ValueError: an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[[1., 2.], [4., 3.]]])
        >>> maxima, places = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool2d(maxima, places, 2)
        tensor([[[0., 0.],
                 [4., 0.]]])
    """
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima put back to where `max_pool3d` found them, zeros elsewhere.

    Args:
        input: the maxima, (N, C, D, H, W) or (C, D, H, W).
        indices: their places in the flattened volume, int64 of the same shape.
        kernel_size, stride, padding: those of the pooling; the stride is the kernel's size when None.
        output_size: the extents of what was pooled, with or without N and C, where several pool to the same.

    Returns:
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), with H_out = (H - 1) stride - 2 padding + kernel_size, and D and W
        likewise where `output_size` says nothing else.

    Raises:
        RuntimeError: places that are not int64, of another shape or out of range.
        ValueError: an output size that pools to another shape.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[[[1., 2.], [4., 3.]], [[0., 0.], [0., 0.]]]])
        >>> maxima, places = torch.nn.functional.max_pool3d(x, 2, return_indices=True)
        >>> torch.nn.functional.max_unpool3d(maxima, places, 2)
        tensor([[[[0., 0.],
                  [4., 0.]],
        <BLANKLINE>
                 [[0., 0.],
                  [0., 0.]]]])
    """
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)
