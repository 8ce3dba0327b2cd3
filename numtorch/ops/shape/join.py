"""Tensors put together by copying: cat, stack and their kin, and grids. What rearranges one tensor is in ops/index/rearrange.py."""
from __future__ import annotations

import warnings

from ... import viewalgebra as algebra
from ...autograd.graph import GraphNode, recording
from ...dtypes import can_cast, promote_types
from ...kernels.loopnest import merge
from ...layout import Layout, format_of, formatted, wrap_dim
from ...tensor import Tensor, empty
from ..core.backends import has_planner, kernels
from ..core.operands import layout_of
from ..core.primitive import Primitive, class_of, miss
from ..core.status import MOST_ADDRESSES, table_of
from ..memory.copies import plan_copy, to_dtype
from ..memory.resize import into
from ..memory.writing import check_apart
from .slicing import narrow, select
from .views import expand, reshape, unsqueeze

_CAT = Primitive("cat", samples="T[2, 3], T[2, 1]; 1")
_STACK = Primitive("stack", samples="T[2, 3], T[2, 3]; 1")


# ---------------------------------------------------------------- cat and stack
class _JoinPlan:
    """What a cat or stack of given layouts must know: the result's layout, and one kernel that copies all tensors (`whole`), or
    where a dtype or a layout does not allow that, for each tensor the copy that puts it in its place. `pieces` says where in
    the result each tensor is (None: nowhere), and what its dtype is."""

    __slots__ = ("out", "whole", "parts", "pieces")


LEAST_BYTES = 1 << 15                                    # from which a call for each tensor costs more than a table of addresses


def _tensors_of(name, tensors):
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}")
    for each in tensors:
        if type(each) is not Tensor and not isinstance(each, Tensor):
            place_in_list = next(i for i, t in enumerate(tensors) if t is each)
            raise TypeError(f"expected Tensor as element {place_in_list} in argument 0, but got {class_of(each)}")
    return tensors


def _common(layouts):
    """The promoted dtype and the device of several layouts."""
    kind = layouts[0].dtype
    for layout in layouts[1:]:
        kind = promote_types(kind, layout.dtype)
    return kind, layouts[0].device


@_CAT.planned
def _plan_cat(*call):
    *layouts, dim = call
    for position, layout in enumerate(layouts):
        if not layout.ndim:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    real = [each for each in layouts if each.shape != (0,)] or layouts       # empty vectors go along with anything
    first = real[0]
    dim = wrap_dim(dim, first.ndim)
    total = 0
    for position, layout in enumerate(layouts):
        if layout.shape == (0,) and first.shape != (0,):
            continue
        if layout.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {layout.ndim}")
        for d, (n, m) in enumerate(zip(first.shape, layout.shape)):
            if d != dim and n != m:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for "
                                   f"tensor number {position} in the list.")
        total += layout.shape[dim]
    kind, device = _common(layouts)
    shape = first.shape[:dim] + (total,) + first.shape[dim + 1:]
    pieces, start = [], 0
    for layout in layouts:
        if layout.shape == (0,) and first.shape != (0,):
            pieces.append(None)
            continue
        pieces.append((dim, start, layout.shape[dim]))
        start += layout.shape[dim]
    out, kept = Layout.of(kind, shape, None, device), {format_of(each) for each in real}
    return _plan_join(layouts, formatted(out, kept.pop()) if len(kept) == 1 and None not in kept else out, pieces, narrow)


@_STACK.planned
def _plan_stack(*call):
    *layouts, dim = call
    for position, layout in enumerate(layouts):
        if layout.shape != layouts[0].shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(layouts[0].shape)} at entry 0 and "
                               f"{list(layout.shape)} at entry {position}")
    kind, device = _common(layouts)
    shape = layouts[0].shape
    dim = wrap_dim(dim, len(shape) + 1)
    out = Layout.of(kind, shape[:dim] + (len(layouts),) + shape[dim:], None, device)
    return _plan_join(layouts, out, [(dim, i) for i in range(len(layouts))], select)


def _plan_join(layouts, out, pieces, view):
    plan = _JoinPlan()
    plan.out, plan.pieces = out, tuple(zip(pieces, [each.dtype for each in layouts]))
    regions = [getattr(algebra, view.__name__)(out, *piece) if layout.numel else None for layout, piece in zip(layouts, pieces)]
    plan.whole = _plan_whole(layouts, out, regions)
    plan.parts = []
    for position, (layout, region) in enumerate(zip(layouts, regions)):
        if region is not None and plan.whole is None:
            target, offset = region
            # kept as a whole: its descriptor is where `descriptor` points to, and the table of copies may let go of it
            plan.parts.append((position, offset * out.dtype.itemsize, plan_copy(layout, target)))
    return plan


def _plan_whole(layouts, out, regions):
    """The kernel that copies all, where every tensor is rows of elements in both places and there is much to copy; else None."""
    pieces = []
    for layout, region in zip(layouts, regions):
        if region is None or layout.dtype is not out.dtype:
            return None
        extents, steps = merge(layout.shape, [layout.strides, region[0].strides])
        if len(extents) > 2 or (extents and steps[-1] != (1, 1)):
            return None
        rows, (step, out_step) = (extents[0], steps[0]) if len(extents) == 2 else (1, (0, 0))
        pieces.append((rows, extents[-1] if extents else 1, step, region[1], out_step))
    size = out.dtype.itemsize
    short = min(width for _, width, *_ in pieces) * size < 64        # of which a copy by strides takes three times as long
    least = LEAST_BYTES // 8 if short else LEAST_BYTES
    if out.numel * size < least or len(pieces) > MOST_ADDRESSES or not has_planner(out.device, "move.rearrange", "plan_join"):
        return None
    return kernels(out.device, "move.rearrange").plan_join(size, pieces)


def _joined(primitive, plan, tensors):
    out = empty(plan.out)
    address, whole = out.address, plan.whole
    if whole is not None:
        whole.call(table_of(tensors), address, whole.descriptor)
    for position, offset, copy in plan.parts:
        copy.call(tensors[position].address, address + offset, copy.descriptor)
    for each in tensors:
        if each.node is not None:
            if recording(each) and plan.out.dtype.category >= 2:
                out.node = GraphNode(primitive, tuple([t.node for t in tensors]), (), plan.pieces)
            break
    return out


_CAT.execute = lambda plan, *call: _joined(_CAT, plan, call[:-1])
_STACK.execute = lambda plan, *call: _joined(_STACK, plan, call[:-1])


@_CAT.derivative
def _cat_vjp(node, grad):
    return _cut(node, grad, narrow)


@_STACK.derivative
def _stack_vjp(node, grad):
    return _cut(node, grad, select)


def _cut(node, grad, view):
    return [cast_gradient(view(grad, *piece), kind) if piece is not None and node.needs(position) else None
            for position, (piece, kind) in enumerate(node.attributes)]


def cast_gradient(grad, kind):
    """A gradient in the dtype of what it is of."""
    if grad.layout.dtype.is_complex and not kind.is_complex:
        grad = grad.real
    return to_dtype(grad, kind)


def cat(tensors, dim: int = 0, *, axis=None, out=None) -> Tensor:
    """Tensors one after another along a dimension. Dtypes are promoted.

    Args:
        tensors: a list or tuple of them, of which the other extents agree; vectors without elements go along with any.
        dim, axis: along which; negative ones count from the end.
        out: a tensor to write the result into.

    Raises:
        ValueError: no tensors.
        RuntimeError: the shapes do not fit, or `out` shares memory with what is joined.
        TypeError: something that is not a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.cat([torch.zeros(1, 2), torch.ones(2, 2)])
        tensor([[0., 0.],
                [1., 1.],
                [1., 1.]])
    """
    if axis is not None:
        dim = axis
    try:
        plan = _CAT.plans.get((*[t.layout for t in tensors], dim) if type(tensors) is list or type(tensors) is tuple else None)
    except AttributeError:
        plan = None
    if plan is not None and dim.__class__ is int:
        result = _joined(_CAT, plan, tensors)
    elif _tensors_of("cat", tensors):
        result = miss(_CAT, tuple(tensors), (dim,))
    else:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    if out is None:
        return result
    if isinstance(out, Tensor):
        check_apart("cat", out, tensors)
    return _joined_into(out, result)


def _joined_into(out, result):
    """`into`, with the exception that PyTorch has here for what cannot be cast."""
    if isinstance(out, Tensor) and not can_cast(result.layout.dtype, out.layout.dtype):
        raise TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.layout.dtype.title}")
    return into(out, result)


concat = concatenate = cat


def stack(tensors, dim: int = 0, *, axis=None, out=None) -> Tensor:
    """Tensors of one shape along a new dimension. Dtypes are promoted.

    Args:
        tensors: a list or tuple of them.
        dim: the place of the new dimension; -1 is behind the last.
        axis: NumPy's name of `dim`.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: no tensors, or shapes that differ.
        TypeError: something that is not a tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.stack((torch.tensor([1, 2]), torch.tensor([3, 4])), 1)
        tensor([[1, 3],
                [2, 4]])
    """
    if axis is not None:
        dim = axis
    if not _tensors_of("stack", tensors):
        raise RuntimeError("stack expects a non-empty TensorList")
    plan = _STACK.plans.get((*[t.layout for t in tensors], dim))
    planned = plan is not None and dim.__class__ is int
    result = _joined(_STACK, plan, tensors) if planned else miss(_STACK, tuple(tensors), (dim,))
    return result if out is None else _joined_into(out, result)


def atleast_1d(*tensors):
    """Tensors with at least one dimension.

    Args:
        tensors: one, several, or a list of them.

    Returns:
        One tensor, or a tuple for several; views.

    Example:
        >>> import numtorch as torch
        >>> torch.atleast_1d(torch.tensor(1.))
        tensor([1.])
    """
    return _each(lambda x: x if layout_of("atleast_1d", x, "tensors").ndim else reshape(x, 1), tensors)


def atleast_2d(*tensors):
    """Tensors with at least two dimensions; vectors become rows.

    Args:
        tensors: one, several, or a list of them.

    Returns:
        One tensor, or a tuple for several; views.

    Example:
        >>> import numtorch as torch
        >>> torch.atleast_2d(torch.tensor([1., 2.]))
        tensor([[1., 2.]])
    """
    return _each(lambda x: x if layout_of("atleast_2d", x, "tensors").ndim > 1 else reshape(x, 1, -1), tensors)


def atleast_3d(*tensors):
    """Tensors with at least three dimensions; vectors become (1, n, 1), matrices (n, m, 1).

    Args:
        tensors: one, several, or a list of them.

    Returns:
        One tensor, or a tuple for several; views.

    Example:
        >>> import numtorch as torch
        >>> torch.atleast_3d(torch.zeros(2, 3)).shape
        torch.Size([2, 3, 1])
    """
    return _each(lambda x: x if layout_of("atleast_3d", x, "tensors").ndim > 2 else unsqueeze(atleast_2d(x), -1), tensors)


def _each(function, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return function(tensors[0])
    return tuple([function(x) for x in (tensors[0] if len(tensors) == 1 else tensors)])


def _not_empty(name, tensors):
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")


def _vectors(tensors):
    """The tensors as a tuple, and whether all are vectors of one length, which `stack` joins as they are."""
    tensors = tuple(tensors)
    shape = tensors[0].layout.shape if tensors and isinstance(tensors[0], Tensor) else ()
    return tensors, len(shape) == 1 and all(isinstance(t, Tensor) and t.layout.shape == shape for t in tensors)


def hstack(tensors, *, out=None) -> Tensor:
    """Tensors side by side: along dimension 1, or 0 for vectors.

    Args:
        tensors: a list or tuple of them.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.hstack((torch.tensor([[1], [2]]), torch.tensor([[3], [4]])))
        tensor([[1, 3],
                [2, 4]])
    """
    tensors = tuple([x if layout_of("hstack", x, "tensors").ndim else reshape(x, 1) for x in tensors])
    _not_empty("hstack", tensors)
    return cat(tensors, 0 if tensors and tensors[0].layout.ndim == 1 else 1, out=out)


def vstack(tensors, *, out=None) -> Tensor:
    """Tensors below each other; vectors are rows.

    Args:
        tensors: a list or tuple of them.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.vstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
        tensor([[1, 2],
                [3, 4]])
    """
    tensors, alike = _vectors(tensors)
    _not_empty("vstack", tensors)
    return stack(tensors, 0, out=out) if alike else cat(atleast_2d(tensors), 0, out=out)


row_stack = vstack


def dstack(tensors, *, out=None) -> Tensor:
    """Tensors along dimension 2; vectors become (1, n, 1), matrices (n, m, 1).

    Args:
        tensors: a list or tuple of them.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.dstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
        tensor([[[1, 3],
                 [2, 4]]])
    """
    tensors = tuple(tensors)
    _not_empty("dstack", tensors)
    shape = tensors[0].layout.shape if isinstance(tensors[0], Tensor) else ()
    if len(shape) == 2 and all(isinstance(t, Tensor) and t.layout.shape == shape for t in tensors):
        return stack(tensors, 2, out=out)
    return cat(atleast_3d(tuple(tensors)), 2, out=out)


def column_stack(tensors, *, out=None) -> Tensor:
    """Tensors side by side; vectors are columns.

    Args:
        tensors: a list or tuple of them.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: no tensors, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.column_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
        tensor([[1, 3],
                [2, 4]])
    """
    tensors, alike = _vectors(tensors)
    _not_empty("column_stack", tensors)
    if alike:
        return stack(tensors, 1, out=out)
    return cat([x if layout_of("column_stack", x, "tensors").ndim > 1 else reshape(x, -1, 1) for x in tensors], 1, out=out)


# ---------------------------------------------------------------- grids
def meshgrid(*tensors, indexing=None) -> tuple[Tensor, ...]:
    """Vectors expanded to the grid that they span.

    Args:
        tensors: vectors or 0-dim tensors, or a list of them.
        indexing: "ij" (the first tensor runs along dimension 0; default, with a warning) or "xy" (along dimension 1).

    Returns:
        A tuple of views, one for each, of the grid's shape.

    Raises:
        RuntimeError: more than one dimension, several dtypes, or another `indexing`.

    Example:
        >>> import numtorch as torch
        >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")
        (tensor([[1, 1],
                [2, 2]]), tensor([[3, 4],
                [3, 4]]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", stacklevel=2)
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if len({layout_of("meshgrid", each, "tensors").dtype for each in tensors}) > 1:
        raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    for each in tensors:
        if each.layout.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape "
                               f"{list(each.layout.shape)}")
    swap = indexing == "xy" and len(tensors) > 1
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = tuple(t.layout.numel for t in tensors)
    grids = [expand(reshape(t, *[-1 if i == d else 1 for i in range(len(shape))]), shape) for d, t in enumerate(tensors)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors) -> Tensor:
    """All combinations of the elements of vectors.

    Args:
        tensors: vectors, of one dtype.

    Returns:
        (their number, how many vectors), the last running fastest; a single vector itself.

    Raises:
        RuntimeError: a tensor that is no vector.

    Example:
        >>> import numtorch as torch
        >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
        tensor([[1, 3],
                [1, 4],
                [2, 3],
                [2, 4]])
    """
    for each in tensors:
        if layout_of("cartesian_prod", each, "tensors").ndim != 1:
            raise RuntimeError(f"cartesian_prod: expected vectors, got shape {list(each.layout.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([reshape(g, -1) for g in meshgrid(*tensors, indexing="ij")], 1)
