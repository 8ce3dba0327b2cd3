"""The view algebra: what a view of a tensor makes of its layout.

A view op is a pure function from a layout to `(layout, offset)`, memoised on the layout it starts from; no memory is touched, and
CPU and CUDA share them. A special layout (ops/core/primitive.py) brings its own algebra: the `view(function, layout, *args)` of its
handler answers in the place of `function`, with an offset of 0.
"""
from __future__ import annotations

import functools
import math

from .layout import Layout, ints, wrap_dim, wrap_dims

_MEMO_LIMIT = 128                                        # views remembered per layout; then the memo starts over


def view_function(function):
    """Memoise a pure function `(layout, *hashable) -> (layout, offset)` on the layout it starts from.

    What is annotated as an int must be one: 0.0 and False are equal to 0, and would find what that has found.
    """
    name, code = function.__name__, function.__code__
    whole = [function.__annotations__.get(n) == "int" for n in code.co_varnames[1:code.co_argcount]]

    def first(layout, key, *args):
        if True in whole:
            plain = tuple([ints((a,), name)[0] if integer else a for a, integer in zip(args, whole)])
            key, args = (name, *plain), plain
        if layout.handler is not None:                   # a special layout brings its own algebra
            return layout.handler.view(function, layout, *args)
        result = function(layout, *args)
        if len(layout.views) >= _MEMO_LIMIT:
            layout.views.clear()
        layout.views[key] = result
        return result

    def of_one(layout, argument):
        key = (name, argument)
        return layout.views.get(key) or first(layout, key, argument)

    def of_several(layout, *args):
        key = (name, *args)
        return layout.views.get(key) or first(layout, key, *args)

    def of_int(layout, a):
        known = layout.views.get((name, a))
        return first(layout, None, a) if known is None or a.__class__ is not int else known

    def of_two_ints(layout, a, b):
        known = layout.views.get((name, a, b))
        return first(layout, None, a, b) if known is None or a.__class__ is not int or b.__class__ is not int else known

    def of_three_ints(layout, a, b, c):
        known = layout.views.get((name, a, b, c))
        if known is None or a.__class__ is not int or b.__class__ is not int or c.__class__ is not int:
            return first(layout, None, a, b, c)
        return known
    if whole and False not in whole:
        return functools.wraps(function)((of_int, of_two_ints, of_three_ints)[len(whole) - 1])
    return functools.wraps(function)(of_one if len(whole) == 1 else of_several)


def _derived(layout, shape, strides):
    return Layout.of(layout.dtype, tuple(shape), tuple(strides), layout.device)


@view_function
def as_strided(layout, shape, strides, offset):
    """Any shape and strides from an offset, all in elements. The caller checks that the storage is large enough."""
    return _derived(layout, shape, strides), offset


@view_function
def strided_within(layout, size, stride, own, start, nbytes):
    """Any shape and strides from element `start` of a storage of `nbytes`, in which the layout starts at element `own`."""
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(stride)} and {len(size)}")
    if any(n < 0 for n in size):
        raise RuntimeError(f"as_strided: sizes must not be negative, got {list(size)}")
    derived, itemsize = _derived(layout, size, stride), layout.dtype.itemsize
    low, high = derived.extent()
    if derived.numel and (start + low < 0 or (start + high) * itemsize > nbytes):
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start}, and itemsize "
                           f"{itemsize} requiring a storage size of {(start + high) * itemsize} are out of bounds for storage of "
                           f"size {nbytes}")
    return derived, start - own


@view_function
def permute(layout, dims):
    """Dimension `dims[i]` becomes dimension i."""
    if len(dims) != layout.ndim:
        raise RuntimeError(f"permute: number of dimensions in the tensor input does not match the length of the "
                           f"desired ordering of dimensions i.e. input.dim() = {layout.ndim} is not equal to len(dims) = "
                           f"{len(dims)}")
    wrapped = [wrap_dim(d, layout.ndim) for d in dims]
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _derived(layout, [layout.shape[d] for d in wrapped], [layout.strides[d] for d in wrapped]), 0


@view_function
def moved_order(layout, source, destination):
    """The order of dimensions in which those of `source` stand at `destination` and the others as they stood."""
    sources = [wrap_dim(d, layout.ndim) for d in ((source,) if isinstance(source, int) else source)]
    targets = [wrap_dim(d, layout.ndim) for d in ((destination,) if isinstance(destination, int) else destination)]
    if len(sources) != len(targets):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({sources} dims) should contain the same number "
                           f"of dims as destination ({targets} dims)")
    for name, dims in (("source", sources), ("destination", targets)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    rest = iter([d for d in range(layout.ndim) if d not in sources])
    moved = dict(zip(targets, sources))
    return tuple([moved[d] if d in moved else next(rest) for d in range(layout.ndim)])


@view_function
def transpose(layout, a: int, b: int):
    """Dimensions a and b swapped."""
    a, b = wrap_dim(a, layout.ndim), wrap_dim(b, layout.ndim)
    if a == b:
        return _derived(layout, layout.shape, layout.strides), 0
    shape, strides = list(layout.shape), list(layout.strides)
    shape[a], shape[b] = shape[b], shape[a]
    strides[a], strides[b] = strides[b], strides[a]
    return _derived(layout, shape, strides), 0


def check_matrices(layout, name, batches=True) -> None:
    """Raise RuntimeError where a layout is of no matrices, and of no number, which PyTorch lets pass."""
    if layout.ndim == 1 or (layout.ndim > 2 and not batches):
        raise RuntimeError(f"{name} is only supported on matrices{' or batches of matrices' if batches else ' (2-D tensors)'}. "
                           f"Got {layout.ndim}-D tensor.{' For batches of matrices, use mH.' if layout.ndim > 2 else ''}")


@view_function
def expand(layout, shape):
    """Broadcast to `shape`; -1 keeps an extent. Stretched dimensions get stride 0, new ones of extent 1 what lies behind them."""
    shift = len(shape) - layout.ndim
    if shift < 0:
        raise RuntimeError(f"expand: the number of sizes provided ({len(shape)}) must be greater or equal to the number of "
                           f"dimensions in the tensor ({layout.ndim})")
    out, strides = [], []
    for i, wanted in enumerate(shape):
        have, stride = (layout.shape[i - shift], layout.strides[i - shift]) if i >= shift else (1, 0)
        if wanted == -1:
            if i < shift:
                raise RuntimeError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
            wanted = have
        if wanted < 0:
            raise RuntimeError(f"expand: sizes must not be negative, got {list(shape)}")
        if have != wanted and have != 1:
            raise RuntimeError(f"The expanded size of the tensor ({wanted}) must match the existing size ({have}) at "
                               f"non-singleton dimension {i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(layout.shape)}")
        out.append(wanted)
        strides.append(stride if have == wanted else 0)
    for i in range(shift - 1, -1, -1):
        if out[i] == 1:
            strides[i] = out[i + 1] * strides[i + 1] if i + 1 < len(out) else 1
    return _derived(layout, out, strides), 0


def resolve_shape(shape: tuple, numel: int) -> tuple:
    """`shape` with a single -1 filled in. Raises RuntimeError when the elements do not fit."""
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {next(n for n in shape if n < -1)}")
    known = math.prod(n for n in shape if n != -1)
    if -1 in shape:
        if known == 0:
            raise RuntimeError(f"cannot reshape tensor of {numel} elements into shape {list(shape)} because the unspecified "
                               f"dimension size -1 can be any value and is ambiguous")
        if numel % known:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return tuple(numel // known if n == -1 else n for n in shape)
    if known != numel:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return shape


@view_function
def try_view(layout, shape):
    """`(layout, 0)` for another shape over the same elements, or None where the strides do not allow it."""
    shape = resolve_shape(shape, layout.numel)
    dense = Layout.of(layout.dtype, layout.shape, None, layout.device)
    if layout is dense or layout.numel == 0 or not layout.ndim:          # a contiguous one may have any strides where extents are 1
        return layout if shape == layout.shape else Layout.of(layout.dtype, shape, None, layout.device), 0
    strides, wanted = [1] * len(shape), len(shape) - 1
    base, extent, inside = layout.strides[-1], 1, 1      # of a run of dimensions that memory holds as one
    for d in reversed(range(layout.ndim)):
        extent *= layout.shape[d]
        if d and (layout.shape[d - 1] == 1 or layout.strides[d - 1] == extent * base):
            continue
        while wanted >= 0 and (inside < extent or shape[wanted] == 1):
            strides[wanted] = inside * base              # of extents of 1 too, as PyTorch has them
            inside *= shape[wanted]
            wanted -= 1
        if inside != extent:
            return None
        base, extent, inside = layout.strides[d - 1] if d else 0, 1, 1
    return _derived(layout, shape, strides), 0


@view_function
def reread(layout, kind):
    """The same bytes as elements of another dtype, more or fewer of them in the last dimension where their sizes differ."""
    have, want = layout.dtype.itemsize, kind.itemsize
    if have == want:
        return layout.with_dtype(kind), 0
    if not layout.ndim or layout.strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 to view {layout.dtype} as {kind} (different element sizes)")
    shape, strides = list(layout.shape), list(layout.strides)
    if have < want:
        ratio = want // have
        if shape[-1] % ratio or any(s % ratio for s in strides[:-1]):
            raise RuntimeError(f"view: the last dimension ({shape[-1]}), the strides and the offset must be divisible by {ratio} "
                               f"to view {layout.dtype} as {kind}")
        shape[-1] //= ratio
        strides = [s // ratio for s in strides[:-1]] + [1]
    else:
        ratio = have // want
        shape[-1] *= ratio
        strides = [s * ratio for s in strides[:-1]] + [1]
    return Layout.of(kind, tuple(shape), tuple(strides), layout.device), 0


@view_function
def unflatten(layout, dim, sizes):
    """One dimension split into several; one of `sizes` may be -1."""
    dim = wrap_dim(dim, layout.ndim)
    if not layout.ndim:
        raise RuntimeError(f"unflatten: expected a tensor with a dimension to split into {list(sizes)}, got one of no dimensions")
    sizes = resolve_shape(sizes, layout.shape[dim])
    return try_view(layout, (*layout.shape[:dim], *sizes, *layout.shape[dim + 1:]))


@view_function
def select(layout, dim: int, index: int):
    """Index one dimension away."""
    if layout.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, layout.ndim)
    extent = layout.shape[dim]
    if not -extent <= index < extent:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {extent}")
    index += extent if index < 0 else 0
    return (_derived(layout, layout.shape[:dim] + layout.shape[dim + 1:], layout.strides[:dim] + layout.strides[dim + 1:]),
            index * layout.strides[dim])


@view_function
def every(layout, dim: int):
    """The `select`s of all indices of a dimension."""
    dim = wrap_dim(dim, layout.ndim)
    if not layout.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return tuple([select(layout, dim, i) for i in range(layout.shape[dim])])


@view_function
def slice_dim(layout, dim, start, stop, step):
    """`[start:stop:step]` along one dimension, clamped as Python does. Steps may be negative."""
    dim = wrap_dim(dim, layout.ndim)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start, stop, step = slice(start, stop, step).indices(layout.shape[dim])
    count = len(range(start, stop, step))
    shape, strides = list(layout.shape), list(layout.strides)
    shape[dim] = count
    offset = start * strides[dim] if count else 0
    strides[dim] *= step
    return _derived(layout, shape, strides), offset


@view_function
def narrow(layout, dim: int, start: int, length: int):
    """`length` elements of a dimension from `start`."""
    if layout.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, layout.ndim)
    extent = layout.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -extent <= start <= extent:
        raise IndexError(f"start out of range (expected to be in range of [{-extent}, {extent}], but got {start})")
    start += extent if start < 0 else 0
    if start + length > extent:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    shape = layout.shape[:dim] + (length,) + layout.shape[dim + 1:]
    return _derived(layout, shape, layout.strides), start * layout.strides[dim]


@view_function
def cut(layout, dim: int, size: int):
    """The `narrow`s of consecutive parts of a dimension, `size` long; the last may be shorter. One empty part of no elements."""
    dim = wrap_dim(dim, layout.ndim)
    extent = layout.shape[dim]
    return tuple([narrow(layout, dim, start, min(size, extent - start)) for start in range(0, extent, size)] if extent
                 else [narrow(layout, dim, 0, 0)])


@view_function
def unsqueeze(layout, dim: int):
    """A new dimension of extent 1 before `dim`."""
    dim = wrap_dim(dim, layout.ndim + 1)
    stride = layout.shape[dim] * layout.strides[dim] if dim < layout.ndim else 1
    return (_derived(layout, layout.shape[:dim] + (1,) + layout.shape[dim:],
                     layout.strides[:dim] + (stride,) + layout.strides[dim:]), 0)


@view_function
def squeeze(layout, dims):
    """Without those of the dimensions `dims` (all, when None) that have extent 1."""
    dims = wrap_dims(dims, layout.ndim)
    kept = [i for i in range(layout.ndim) if not (i in dims and layout.shape[i] == 1)]
    return _derived(layout, [layout.shape[i] for i in kept], [layout.strides[i] for i in kept]), 0


@view_function
def unfold(layout, dim: int, size: int, step: int):
    """Windows of `size` along `dim`, `step` apart, as a new last dimension."""
    dim = wrap_dim(dim, layout.ndim)
    extent = layout.shape[dim] if layout.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > extent:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {extent} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if layout.ndim == 0:
        return _derived(layout, (size,), (1,)), 0
    shape, strides = list(layout.shape), list(layout.strides)
    shape[dim] = (extent - size) // step + 1
    stride = strides[dim]
    strides[dim] = stride * step
    return _derived(layout, [*shape, size], [*strides, stride]), 0


@view_function
def diagonal(layout, offset: int, a: int, b: int):
    """The diagonal of dimensions a and b, `offset` above the main one, as a new last dimension."""
    a, b = wrap_dim(a, layout.ndim), wrap_dim(b, layout.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {a}, {b}")
    rows, columns = layout.shape[a], layout.shape[b]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    start = 0
    if length:
        start = offset * layout.strides[b] if offset >= 0 else -offset * layout.strides[a]
    kept = [i for i in range(layout.ndim) if i not in (a, b)]
    return (_derived(layout, [layout.shape[i] for i in kept] + [length],
                     [layout.strides[i] for i in kept] + [layout.strides[a] + layout.strides[b]]), start)


@view_function
def pairs(layout):
    """Complex numbers as pairs of their parts."""
    return Layout.of(layout.dtype.to_real(), (*layout.shape, 2), (*[2 * s for s in layout.strides], 1), layout.device), 0
