"""Largest and smallest elements with their places: argmax, argmin, max and min along a dimension; and places as coordinates."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import int64
from ...layout import Layout, as_shape, wrap_dim
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.late import later
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of, new_plan_table
from ..core.return_types import pair
from ..core.status import has_values
from ..memory.resize import into
from ..pointwise import bounds
from ..pointwise.arithmetic import floor_divide, remainder
from .reduce_op import MAX, MIN
from .reductions import numpy_names

_EXTREMES = {kind: Primitive(f"{kind}_along") for kind in ("max", "min")}

_arg_plans = new_plan_table()
_PAIRS = {name: pair(name) for name in ("max", "min")}


def _arg_plan(kind, layout, dim, keepdim):
    key = (kind, layout, dim, keepdim)
    found = _arg_plans.get(key)
    if found is None:
        if layout.dtype.is_complex:
            raise NotImplementedError(f'"{kind}" not implemented for \'{layout.dtype.title}\': complex numbers have no order')
        axis = None if dim is None else wrap_dim(dim, layout.ndim)
        if layout.numel == 0 and (axis is None or (layout.ndim and layout.shape[axis] == 0)):
            what = "to be specified for input.numel() == 0" if axis is None else f"{axis} to have non-zero size"
            raise IndexError(f"{kind}(): Expected reduction dim {what}.")
        kept = tuple(1 if axis is None or i == axis else n for i, n in enumerate(layout.shape))
        final = kept if keepdim else () if axis is None else tuple(n for i, n in enumerate(layout.shape) if i != axis)
        strides = tuple(0 if axis is None or i == axis else s
                        for i, s in enumerate(Layout.of(int64, kept, None, layout.device).strides))
        module = kernels(layout.device, "reduce.argreduce")
        prepared = None
        if layout.numel:
            shape, steps = (layout.shape, layout.strides) if layout.ndim else ((1,), (1,))
            if not layout.ndim:
                strides, axis = (0,), 0 if axis is not None else None
            planner = module.plan_argreduce if kind.startswith("arg") else module.plan_extreme_with_index
            prepared = planner(kind, layout.dtype.kernel, shape, steps, axis, strides)
        found = _arg_plans.keep(key, (prepared, final))
    return found


def _arg(kind, x, dim, keepdim):
    prepared, final = _arg_plan(kind, layout_of(kind, x), dim, keepdim)
    out = empty(Layout.of(int64, final, None, x.layout.device))
    if prepared is not None:
        prepared.call(x.address, out.address, prepared.walk)
    return out


@method
def argmax(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The index of the first largest element, of all (row-major) or along a dimension. NaN counts as largest.

    Args:
        input: of any real dtype.
        dim: the dimension along which to look; None for the flattened tensor.
        keepdim: whether the dimension stays, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: an int64 tensor to write the result to.

    Raises:
        IndexError: there is no such dimension, or nothing to choose from.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.argmax(), x.argmax(1)
        (tensor(1), tensor([1, 0]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return into(out, _arg("argmax", input, dim, keepdim))


@method
def argmin(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """The index of the first smallest element, of all (row-major) or along a dimension. NaN counts as smallest.

    Args:
        input, dim, keepdim, axis, keepdims, out: as for `argmax`.

    Raises:
        IndexError: there is no such dimension, or nothing to choose from.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 5.], [4., 2.]])
        >>> x.argmin(), x.argmin(1)
        (tensor(0), tensor([0, 1]))
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = numpy_names(dim, keepdim, axis, keepdims)
    return into(out, _arg("argmin", input, dim, keepdim))


def _extreme_along(kind, x, dim, keepdim):
    prepared, final = _arg_plan(kind, layout_of(kind, x), dim, keepdim)
    values = empty(Layout.of(x.layout.dtype, final, None, x.layout.device))
    indices = empty(Layout.of(int64, final, None, x.layout.device))
    if prepared is not None:
        prepared.call(x.address, values.address, indices.address, prepared.walk)
    if recording(x) and x.layout.dtype.category >= 2:
        values.node = GraphNode(_EXTREMES[kind], (x.node,), (indices,), (x.layout, dim, keepdim))
    return _PAIRS[kind](values, indices)


@derivative_of(*_EXTREMES.values())
def _extreme_along_vjp(node, grad):
    indices, = node.tensors()
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
    found = _extreme_along(kind, input, dim, keepdim)
    return found if out is None else type(found)(*[into(o, t) for o, t in zip(out, found)])


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
    found = []
    for n in reversed(shape):
        found.append(remainder(indices, n))
        indices = floor_divide(indices, n)
    return tuple(reversed(found))
