"""The standard's functions that give arrays other shapes, join them, and pick elements of them."""
from __future__ import annotations

from ..layout import wrap_dim
from ..ops.index import gather_scatter, index_select, rearrange
from ..ops.memory.conversion import to_dtype
from ..ops.memory.copies import clone
from ..ops.reduce.query import broadcast_tensors
from ..ops.shape import join, split, views
from ..tensor import Tensor
from .promotion import promoted_dtype

__all__ = ["broadcast_arrays", "broadcast_to", "concat", "expand_dims", "flip", "matrix_transpose", "moveaxis", "permute_dims",
           "repeat", "reshape", "roll", "squeeze", "stack", "take", "take_along_axis", "tile", "unstack"]


def _alike(arrays):
    kind = promoted_dtype(*[x.dtype for x in arrays])
    return [to_dtype(x, kind) for x in arrays]


def _axes(axis, ndim):
    return [wrap_dim(a, ndim) for a in ((axis,) if isinstance(axis, int) else axis)]


def broadcast_arrays(*arrays) -> list[Tensor]:
    """Arrays expanded to one shape."""
    return list(broadcast_tensors(*arrays))


def broadcast_to(x, /, shape) -> Tensor:
    """An array expanded to a shape."""
    return views.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0) -> Tensor:
    """Arrays one after the other along an axis; all elements in a row for None."""
    arrays = _alike(arrays)
    if axis is None:
        return join.cat([views.reshape(x, -1) for x in arrays])
    return join.cat(arrays, axis)


def stack(arrays, /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape along a new axis."""
    return join.stack(_alike(arrays), axis)


def unstack(x, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The arrays along an axis."""
    return split.unbind(x, axis)


def expand_dims(x, /, axis: int) -> Tensor:
    """An axis of extent 1 more."""
    return views.unsqueeze(x, axis)


def squeeze(x, /, axis) -> Tensor:
    """Without axes of extent 1.

    Raises:
        ValueError: an axis of another extent.
    """
    axes = _axes(axis, x.ndim)
    if any(x.shape[a] != 1 for a in axes):
        raise ValueError(f"squeeze: expected axes of extent 1, got {axis} of {list(x.shape)}")
    return views.reshape(x, [n for d, n in enumerate(x.shape) if d not in axes])


def permute_dims(x, /, axes) -> Tensor:
    """Axes in another order."""
    return views.permute(x, axes)


def moveaxis(x, source, destination, /) -> Tensor:
    """Axes moved to other places."""
    return views.movedim(x, source, destination)


def matrix_transpose(x, /) -> Tensor:
    """The last two axes swapped."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least two dimensions, got {x.ndim}")
    return views.transpose(x, -2, -1)


def flip(x, /, *, axis=None) -> Tensor:
    """Elements in reverse order along axes; all when None."""
    axes = list(range(x.ndim)) if axis is None else _axes(axis, x.ndim)
    return rearrange.flip(x, axes) if axes else clone(x)


def roll(x, /, shift, *, axis=None) -> Tensor:
    """Elements moved along axes, those beyond the end to the beginning; in the order of memory when None."""
    if axis is None:
        return rearrange.roll(x, shift)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return rearrange.roll(x, (shift,) * len(axes) if isinstance(shift, int) else shift, axes)


def reshape(x, /, shape, *, copy=None) -> Tensor:
    """Another shape; `copy=False` never copies.

    Raises:
        ValueError: copy=False, and the shape takes a copy.
    """
    if copy is False:
        try:
            return views.view(x, shape)
        except RuntimeError as error:
            raise ValueError(f"reshape: {error}") from None
    result = views.reshape(x, shape)
    return clone(result) if copy and result.memory is x.memory else result


def tile(x, repetitions, /) -> Tensor:
    """The array so many times along each axis."""
    return rearrange.tile(x, tuple(repetitions)) if repetitions else clone(x)


def repeat(x, repeats, /, *, axis=None) -> Tensor:
    """Each element so many times, along an axis; of all elements in a row when None."""
    if isinstance(repeats, Tensor) and repeats.ndim == 1 and repeats.shape[0] == 1:
        repeats = int(repeats)
    return rearrange.repeat_interleave(x, repeats, axis)


def take(x, indices, /, *, axis=None) -> Tensor:
    """Elements of an axis by their numbers.

    Raises:
        ValueError: no axis, of an array of more than one.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError("take: expected an axis for an array of several dimensions")
        axis = 0
    indices = _counted(indices, x.shape[axis])
    if indices.ndim == 1:
        return index_select.index_select(x, axis, indices)
    axis = wrap_dim(axis, x.ndim)
    result = index_select.index_select(x, axis, views.reshape(indices, -1))
    return views.reshape(result, [*x.shape[:axis], *indices.shape, *x.shape[axis + 1:]])


def take_along_axis(x, indices, /, *, axis: int = -1) -> Tensor:
    """Elements along an axis, by numbers of their own for each place."""
    return gather_scatter.take_along_dim(x, _counted(indices, x.shape[axis]), axis)


def _counted(indices, extent):
    """Indices as int64, negative ones from the end."""
    indices = indices.long()
    return (indices < 0).long() * extent + indices
