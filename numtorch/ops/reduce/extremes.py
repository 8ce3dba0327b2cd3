"""Largest and smallest elements with their places: argmax, argmin, max and min along a dimension; and places as coordinates."""
from __future__ import annotations

from functools import partial

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_, int64
from ...kernels.threads import NOTHING
from ...layout import Layout, as_shape, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of
from ..core.return_types import pair
from ..core.status import has_values
from ..memory.resize import into, into_all_exactly, into_exactly
from ..pointwise import bounds
from ..pointwise.arithmetic import floor_divide, remainder
from .reduce_op import MAX, MIN
from .reductions import numpy_names

_EXTREMES = {kind: Primitive(f"{kind}_along", samples="T[2, 3]; 1, False") for kind in ("max", "min")}
_PLACES = {kind: Primitive(kind, samples=("T[2, 3]; 1, False", "T[2, 3]; None, False")) for kind in ("argmax", "argmin")}
_PAIRS = {name: pair(name) for name in ("max", "min")}


class _Plan:
    """The layouts of places and of values, and the kernel, or None."""

    __slots__ = ("places", "values", "prepared")

    def __init__(self, kind, layout, dim, keepdim):
        expect_dtypes(kind, layout.dtype, "bool", "integer", "float")
        if kind.startswith("arg") and layout.dtype is bool_:
            raise RuntimeError(f"{kind}(): does not support bool input")
        axis = None if dim is None else wrap_dim(dim, layout.ndim)
        if layout.numel == 0 and (axis is None or (layout.ndim and layout.shape[axis] == 0)):
            what = "to be specified for input.numel() == 0" if axis is None else f"{axis} to have non-zero size"
            raise IndexError(f"{kind}(): Expected reduction dim {what}.")
        kept = tuple(1 if axis is None or i == axis else n for i, n in enumerate(layout.shape))
        final = kept if keepdim else () if axis is None else tuple(n for i, n in enumerate(layout.shape) if i != axis)
        strides = tuple(0 if axis is None or i == axis else s
                        for i, s in enumerate(Layout.of(int64, kept, None, layout.device).strides))
        self.places, self.prepared = Layout.of(int64, final, None, layout.device), NOTHING
        self.values = self.places.dense(layout.dtype)
        if layout.numel:
            module = kernels(layout.device, "reduce.argreduce")
            shape, steps = (layout.shape, layout.strides) if layout.ndim else ((1,), (1,))
            if not layout.ndim:
                strides, axis = (0,), 0 if axis is not None else None
            planner = module.plan_argreduce if kind.startswith("arg") else module.plan_extreme_with_index
            self.prepared = planner(kind, layout.dtype.kernel, shape, steps, axis, strides)


def _place_of(primitive):
    """The place of an extreme: the call of a primitive."""
    primitive.planned(partial(_Plan, primitive.name))

    @primitive.run
    def place(plan, input: Tensor, dim: int | None, keepdim: bool):
        out = empty(plan.places)
        plan.prepared.call(input.address, out.address, plan.prepared.descriptor)
        return out
    return place


_argmax, _argmin = _place_of(_PLACES["argmax"]), _place_of(_PLACES["argmin"])


@method
def argmax(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The index of the first largest element, of all (row-major) or along a dimension. NaN counts as largest.

    Args:
        input: of any real dtype but bool.
        dim: the dimension along which to look; None for the flattened tensor.
        keepdim: whether the dimension stays, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: an int64 tensor to write the result to.

    Raises:
        IndexError: there is no such dimension, or nothing to choose from.
        RuntimeError: bools.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.argmax(), x.argmax(1)
        (tensor(1), tensor([1, 0]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    result = _argmax(input, dim, keepdim)
    return result if out is None else into_exactly("argmax", out, result)


@method
def argmin(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The index of the first smallest element, of all (row-major) or along a dimension. NaN counts as smallest.

    Args:
        input, dim, keepdim, axis, keepdims, out: as for `argmax`.

    Raises:
        IndexError: there is no such dimension, or nothing to choose from.
        RuntimeError: bools.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.argmin(), x.argmin(1)
        (tensor(0), tensor([0, 1]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    result = _argmin(input, dim, keepdim)
    return result if out is None else into_exactly("argmin", out, result)


def _with_place(kind):
    """An extreme along a dimension, and its place: the call of a primitive."""
    primitive, pair_of = _EXTREMES[kind], _PAIRS[kind]
    primitive.planned(partial(_Plan, kind))

    @primitive.run
    def extreme(plan, input: Tensor, dim: int, keepdim: bool):
        values, indices = empty(plan.values), empty(plan.places)
        plan.prepared.call(input.address, values.address, indices.address, plan.prepared.descriptor)
        if recording(input) and input.layout.dtype.category >= 2:
            values.node = GraphNode(primitive, (input.node,), (indices,), (input.layout, dim, keepdim))
        return pair_of(values, indices)
    return extreme


_along = {kind: _with_place(kind) for kind in _EXTREMES}


@derivative_of(*_EXTREMES.values())
def _extreme_along_vjp(node, grad, indices):
    layout, dim, keepdim = node.attributes
    return (later["value_selecting_backward"](grad, dim, indices, layout.shape, keepdim),)


def _max_or_min(kind, total, pairwise, input, dim, keepdim, out):
    if isinstance(dim, Tensor):
        return pairwise(input, dim, out=out)
    if dim is None:
        if layout_of(kind, input).numel == 0:
            raise RuntimeError(f"{kind}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction "
                               f"dim with the 'dim' argument.")
        return into(out, total.run(input))
    result = _along[kind](input, dim, keepdim)
    return into_all_exactly(kind, out, result)


@method
def max(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None):
    """The largest element; with a dimension, (values, indices) along it; with a second tensor, `maximum`. NaN where there is one.

    Args:
        input: of any real dtype.
        dim: the dimension along which the largest are found, or a tensor to compare with. None: of all elements.
        keepdim: whether the dimension stays, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: a tensor to write the result to; with a dimension, a pair.

    Raises:
        IndexError: there is no such dimension, or it is empty.
        RuntimeError: an empty tensor without a dimension.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.max()
        tensor(5.)
        >>> values, indices = x.max(1)
        >>> values, indices
        (tensor([5., 4.]), tensor([1, 0]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return _max_or_min("max", MAX, bounds.maximum, input, dim, keepdim, out)


@method
def min(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None):
    """The smallest element; with a dimension, (values, indices) along it; with a second tensor, `minimum`. NaN where there is one.

    Args:
        input, dim, keepdim, axis, keepdims, out: as for `max`.

    Raises:
        IndexError: there is no such dimension, or it is empty.
        RuntimeError: an empty tensor without a dimension.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.min(), x.min(1).indices
        (tensor(1.), tensor([0, 1]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return _max_or_min("min", MIN, bounds.minimum, input, dim, keepdim, out)


def unravel_index(indices, shape) -> tuple[Tensor, ...]:
    """The places in a tensor of a shape that flat places stand for.

    Args:
        indices: (*), integers: places in row-major order.
        shape: the shape they are places of.

    Returns:
        A tensor (*) of indices for each dimension of `shape`, as a tuple.

    Raises:
        ValueError: a flat place beyond the shape.
        TypeError: indices that are no integers.

    Example:
        >>> import numtorch as torch
        >>> torch.unravel_index(torch.tensor([5, 3]), (2, 3))
        (tensor([1, 1]), tensor([2, 0]))
    """
    shape = as_shape((shape,), "unravel_index")
    if layout_of("unravel_index", indices, "indices").dtype.category != 1:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.layout.dtype}")
    count = 1
    for n in shape:
        count *= n
    if indices.layout.numel and has_values(indices) and (indices.min().item() < 0 or indices.max().item() >= count):
        raise ValueError(f"'indices' must be in [0, {count}) for shape {tuple(shape)}")
    result = []
    for n in reversed(shape):
        result.append(remainder(indices, n))
        indices = floor_divide(indices, n)
    return tuple(reversed(result))
