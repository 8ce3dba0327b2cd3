"""Masks: where elements are not zero, and the elements where a mask holds, read and written."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_, int64
from ...exchange.scalars import NUMBERS, check_fits
from ...kernels.intrinsics import select
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, expect_layout, integer
from ..core.backends import kernels
from ..core.late import provide
from ..core.operands import layout_of, method
from ..core.primitive import PlanTable, Primitive
from ..core.status import has_values, run_counting
from ..memory.assign import copy_, filled
from ..memory.copies import contiguous, to_dtype
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh
from ..pointwise import comparison
from ..pointwise.arithmetic import where
from ..pointwise.pointwise import pointwise
from ..shape.slicing import narrow
from ..shape.split import unbind
from ..shape.view_tape import place
from ..shape.views import expand, reshape, view
from .index_op import apart, begin_write, end_write, out_of_place

_NONZERO = Primitive("nonzero", samples="T([[1, 0], [1, 1]]);")
_MASKED_SELECT = Primitive("masked_select", samples="T[2, 2], bool([[True, False], [True, True]]);")
_MASKED_SCATTER = Primitive("masked_scatter", samples="T[2, 2], bool([[True, False], [True, True]]), T[3];")
_NONZERO_STATIC = Primitive("nonzero_static", samples="T([[1, 0], [1, 1]]); 4, -1")
_NONZERO.counts = _MASKED_SELECT.counts = True


def _as_mask(x):
    layout = layout_of("nonzero", x)
    if layout.dtype.is_complex:
        x = comparison.ne(x, 0)
    elif layout.dtype is not bool_:
        x = to_dtype(x, bool_)                           # half the time of x != 0
    return x if x.layout.contiguous else contiguous(x)


@provide
@method
def nonzero(input, *, as_tuple: bool = False, out=None):
    """The indices of elements that are not zero, in row-major order.

    Args:
        input: (*), of any dtype.
        as_tuple: a vector for each dimension, with which a tensor can be indexed.
        out: an int64 tensor to write the result into; not with `as_tuple`.

    Returns:
        int64, (count, ndim); or with `as_tuple` a tuple of ndim tensors (count,).

    Raises:
        RuntimeError: both `as_tuple` and `out`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1, 0], [0, 2]])
        >>> x.nonzero()
        tensor([[0, 0],
                [1, 1]])
        >>> x[x.nonzero(as_tuple=True)]
        tensor([1, 2])
    """
    check_truths("nonzero", as_tuple=as_tuple)
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    mask = _as_mask(input)
    if as_tuple and not mask.layout.ndim:
        mask = reshape(mask, 1)
    result = _coordinates(mask)
    if not as_tuple:
        return result if out is None else into_exactly("nonzero", out, result)
    return unbind(result, 1)


@_NONZERO.planned
def _plan_nonzero(mask):
    """The kernels that count and that write coordinates, and the results' layouts by how many there are."""
    expect_layout("nonzero", "mask", mask, None, bool_)
    family = kernels(mask.device, "index.mask")
    prepared = family.plan_nonzero(mask.shape) if mask.numel and mask.ndim else NOTHING
    return family.plan_count_nonzero(mask.numel), prepared, PlanTable()


@_NONZERO.run
def _coordinates(plan, mask: Tensor):
    """Where a row-major mask holds, (count, ndim)."""
    (counting, prepared, layouts), mask = plan, contiguous(mask)
    count = run_counting(counting, mask)
    out = empty(layouts.get(count) or layouts.keep(count, Layout.of(int64, (count, mask.layout.ndim), None, mask.layout.device)))
    if count:
        prepared.call(mask.address, out.address, prepared.descriptor)
    return out


@method
def argwhere(input) -> Tensor:
    """The indices of elements that are not zero, in row-major order: `nonzero`.

    Args:
        input: (*), of any dtype.

    Returns:
        int64, (count, ndim).

    Example:
        >>> import numtorch as torch
        >>> torch.argwhere(torch.tensor([0, 3, 4]))
        tensor([[1],
                [2]])
    """
    return nonzero(input)


def nonzero_static(input, *, size: int, fill_value: int = -1) -> Tensor:
    """The first rows of `nonzero`, as many as asked for.

    Args:
        input: (*), of any dtype.
        size: how many rows come out.
        fill_value: what stands in the rows for which there is no element.

    Returns:
        int64, (size, ndim).

    Example:
        >>> import numtorch as torch
        >>> torch.nonzero_static(torch.tensor([0, 3]), size=2)
        tensor([[ 1],
                [-1]])
    """
    size, fill_value = integer("nonzero_static", "size", size), integer("nonzero_static", "fill_value", fill_value)
    return _first_places(input, size, fill_value)


@_NONZERO_STATIC.composed
def _first_places(input: Tensor, size, fill_value):
    places = nonzero(input)
    out = filled(Layout.of(int64, (size, places.layout.shape[1]), None, places.layout.device), fill_value)
    count = min(size, places.layout.shape[0])
    copy_(narrow(out, 0, 0, count), narrow(places, 0, 0, count))
    return out


method(nonzero_static)


def _both(name, input, mask):
    layout_of(name, input)
    if layout_of(name, mask, "mask", 2).dtype is not bool_:
        raise RuntimeError(f"{name}: expected BoolTensor for mask, got {mask.layout.dtype.name}")
    return _as_mask(mask)


@method
def masked_select(input, mask, *, out=None) -> Tensor:
    """The elements where a mask holds, in one dimension.

    Args:
        input: (*).
        mask: bools, broadcast with `input`.
        out: a tensor to write the result into.

    Raises:
        RuntimeError: a mask of another dtype, or shapes that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1, 5, 3])
        >>> x.masked_select(x > 2)
        tensor([5, 3])
    """
    given, mask = input, _both("masked_select", input, mask)
    if input.layout.shape != mask.layout.shape:
        shape = broadcast_shapes(input.layout.shape, mask.layout.shape)
        input, mask = expand(input, shape), contiguous(expand(mask, shape))
    return into_exactly("masked_select", out, select_true(input, mask), given, mask)


@_MASKED_SELECT.planned
def _plan_select(layout, mask):
    """The kernels that count and that copy."""
    expect_layout("masked_select", "mask", mask, layout.shape, bool_)
    family = kernels(layout.device, "index.mask")
    return family.plan_count_nonzero(mask.numel), family.plan_masked_select(layout.dtype.itemsize, layout.numel)


@_MASKED_SELECT.run
def select_true(plan, x: Tensor, mask: Tensor):
    """x where a contiguous bool mask of its shape holds."""
    counting, prepared = plan
    x, mask = contiguous(x), contiguous(mask)
    layout = x.layout
    out = empty(Layout.of(layout.dtype, (run_counting(counting, mask),), None, layout.device))
    prepared.call(x.address, mask.address, out.address, prepared.descriptor)
    if x.node is not None and recording(x) and layout.dtype.category >= 2:
        out.node = GraphNode(_MASKED_SELECT, (x.node,), (mask,), layout)
    return out


@_MASKED_SELECT.derivative
def _select_true_vjp(node, grad, mask):
    return (into_fresh(masked_scatter_, filled(node.attributes.dense(), 0), mask, grad),)


@method
def masked_scatter_(self, mask, source) -> Tensor:
    """Write the elements of `source`, in order, to where the mask holds, and return this tensor.

    Args:
        mask: bools, broadcast to this tensor.
        source: of any shape, with as many elements as the mask has at least.

    Raises:
        RuntimeError: `source` has too few elements or another dtype; a mask of another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.zeros(3).masked_scatter_(torch.tensor([True, False, True]), torch.tensor([1., 2.]))
        tensor([1., 0., 2.])
    """
    mask = _both("masked_scatter_", self, mask)
    if layout_of("masked_scatter_", source, "source", 2).dtype is not self.layout.dtype:
        raise RuntimeError(f"masked_scatter_: expected self and source to have same dtypes but got {self.layout.dtype.name} and "
                           f"{source.layout.dtype.name}")
    if mask.layout.shape != self.layout.shape:
        mask = contiguous(expand(mask, self.layout.shape))
    return _scatter_where(self, mask, source)


@_MASKED_SCATTER.planned
def _plan_scatter(layout, mask, source):
    expect_layout("masked_scatter", "mask", mask, layout.shape, bool_)
    expect_layout("masked_scatter", "source", source, None, layout.dtype)
    family = kernels(layout.device, "index.mask")
    return family.plan_count_nonzero(mask.numel), family.plan_masked_scatter(layout.dtype.itemsize, layout.numel)


@_MASKED_SCATTER.run
def _scatter_where(plan, self: Tensor, mask: Tensor, source: Tensor):
    (counting, prepared), mask = plan, contiguous(mask)
    if source.layout.numel < mask.layout.numel and source.layout.numel < (wanted := run_counting(counting, mask)):
        raise RuntimeError(f"Number of elements of source < number of ones in mask ({source.layout.numel} < {wanted})")
    graph = begin_write("masked_scatter", self, source)
    source, mask = contiguous(apart(source, self)), apart(mask, self)
    target = self if self.layout.contiguous else contiguous(self.detach())
    prepared.call(target.address, mask.address, source.address, prepared.descriptor)
    if target.memory is not self.memory:
        copy_(self.detach(), target)
    return end_write(_MASKED_SCATTER, self, graph, (source,), (mask,), source.layout)


@_MASKED_SCATTER.derivative
def _masked_scatter_vjp(node, grad, mask):
    source = node.attributes
    by_target = where(mask, 0, grad) if node.needs(0) else None
    if not node.needs(1):
        return by_target, None
    used = select_true(grad, mask)
    if used.layout.numel != source.numel:
        used = place(used, Layout.of(source.dtype, (source.numel,), None, source.device), used.layout, 0)
    return by_target, view(used, source.shape)


def _as_wide(input, mask, source):
    """The input broadcast against the mask, as nothing that is written in place can be."""
    wanted = broadcast_shapes(layout_of("masked_scatter", input).shape, layout_of("masked_scatter", mask, "mask", 2).shape)
    return input if wanted == input.layout.shape else expand(input, wanted)


masked_scatter = out_of_place(masked_scatter_, "masked_scatter", _as_wide)


@pointwise(bool_operands=("mask",), methods=False)
def replace_where(x, mask, value):
    """`value` where the mask holds, else x; in place, it writes to x."""
    return select(mask, value, x)


@replace_where.derivative
def _(grad, mask):
    return where(mask, 0, grad), 0, where(mask, grad, 0)


# ---------------------------------------------------------------- filling
def masked_fill(input, mask, value) -> Tensor:
    """`value` where the mask holds, the tensor's own element elsewhere.

    Args:
        input: (*).
        mask: bools, broadcast with `input`.
        value: a number or a tensor of one, which is cast to the dtype of `input`.

    Raises:
        RuntimeError: a mask of another dtype; a `value` with dimensions or that the dtype cannot hold; shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., -2.]).masked_fill(torch.tensor([False, True]), 0.0)
        tensor([1., 0.])
    """
    _check_mask("masked_fill", input, mask, value)
    return to_dtype(replace_where(input, mask, value), layout_of("masked_fill", input).dtype)


def _check_mask(name, input, mask, value):
    kind = layout_of(name, input).dtype
    if layout_of(name, mask, "mask", 2).dtype is not bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.layout.dtype}")
    if type(value) in NUMBERS:
        check_fits(value, kind)
    elif isinstance(value, Tensor):
        if value.layout.ndim:
            raise RuntimeError(f"{name} only supports a 0-dimensional value tensor, but got tensor with {value.layout.ndim} "
                               f"dimension(s).")
        if value.layout.dtype is not kind and has_values(value):
            check_fits(value.item(), kind)


def _masked_fill_(self, mask, value) -> Tensor:
    """In-place form of `masked_fill`: writes `value` into this tensor where the mask holds, and returns it.

    Args:
        mask: bools, broadcast to this tensor.
        value: a number or a tensor of one, which is cast to this tensor's dtype.

    Raises:
        RuntimeError: as `masked_fill`; a leaf that requires a gradient.
    """
    _check_mask("masked_fill_", self, mask, value)
    kind = type(value)
    if self.layout.dtype.category >= {int: 1, float: 2}.get(kind, 4):
        return replace_where.op.inplace(self, mask, value)
    return copy_(self, masked_fill(self, mask, value))


method(masked_fill)
method(_masked_fill_, "masked_fill_")
