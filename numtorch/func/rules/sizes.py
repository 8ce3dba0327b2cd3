"""What rules share: dimensions counted behind the samples', and samples joined with a batch dimension and parted again."""
from __future__ import annotations

from ...layout import wrap_dim, wrap_dims
from ...ops.core.primitive import miss
from ...ops.core.status import has_values
from ...tensor import Tensor
from ..levels import innermost


def along(value, dim):
    """All samples and the dimension that is `dim` of one: of a sample without dimensions, one more.

    Returns:
        The tensor, the dimension, whether there was none.
    """
    ndim = value.layout.ndim - 1
    result = wrap_dim(dim, ndim) + 1
    return (value.unsqueeze(1), 1, True) if not ndim else (value, result, False)


def dims_behind(dims, ndim):
    """Dimensions of a sample of `ndim` dimensions, an int, several or None for all, as those of all samples."""
    if ndim == 0:
        wrap_dims(dims, 0)
        return ()
    return tuple([d + 1 for d in wrap_dims(dims, ndim)])


def call(primitive, tensors, attributes=()):
    """A primitive's call."""
    return miss(primitive, tuple(tensors), tuple(attributes))


def check_indices(indices, size):
    """Raise IndexError for an index that names a row of another sample's."""
    whole = innermost(indices)
    if has_values(whole) and whole.layout.numel and bool(((whole < 0) | (whole >= size)).any()):
        raise IndexError(f"index out of range in self (vmap: expected 0 <= index < {size} in every sample)")


def mapped(function, result):
    """`function` of each tensor of a result."""
    if isinstance(result, Tensor):
        return function(result)
    if isinstance(result, (tuple, list)):
        parts = [mapped(function, r) for r in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def joined(value):
    """All samples of (N, ...) as (samples * N, ...)."""
    return value.flatten(0, 1)


def parted(result, size):
    """(samples * N, ...) as (samples, N, ...), each tensor of a result."""
    return mapped(lambda t: t.reshape(size, t.layout.shape[0] // size if size else 0, *t.layout.shape[1:]), result)


def all_batched(level, values, has):
    """The tensors of all samples, those that do not depend on the sample expanded; None stays."""
    return [v if h or v is None else level.all_samples(v) for v, h in zip(values, has)]
