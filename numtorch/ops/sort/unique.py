"""Distinct values: unique, mode and membership. Counts are in histograms.py."""
from __future__ import annotations

from math import prod

from ...autograd.graph import GraphNode, Recorded, recording
from ...dtypes import bool_, int8, int64
from ...kernels.threads import NOTHING
from ...layout import Layout, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, expect_layout, numpy_keywords
from ..core.backends import kernels
from ..core.operands import as_operand, common_device, layout_of, method
from ..core.primitive import Primitive, not_a_tensor
from ..core.return_types import Pair, pair
from ..core.status import run_counting, run_measuring
from ..index.gather_scatter import scatter_
from ..index.index_select import index_values
from ..index.mask import nonzero
from ..memory.assign import filled
from ..memory.copies import contiguous, to_device, to_dtype
from ..memory.resize import into_all_exactly, into_exactly
from ..pointwise import arithmetic, comparison
from ..reduce import reductions
from ..shape.join import cat
from ..shape.slicing import narrow
from ..shape.views import movedim, reshape, transpose
from .order import picked_vjp, sort
from .scan import cumsum

UNIQUE = Primitive("unique", samples="T[6], None; True, True")
COUNT_BYTES = Primitive("count_bytes", "How often each of 256 bytes occurs.", samples="T[6];")
RANK_BYTES = Primitive("rank_bytes", samples="T[6], int64[256];")
ORDER_ROWS = Primitive("order_rows", samples="T[4, 2];")
MODE = Primitive("mode", samples="T[2, 3]; 1, False")
ISIN = Primitive("isin", samples="T[4], T[2];")
UNIQUE.counts = True
_REFUSING = {name: Recorded(name) for name in ("_unique2", "unique_dim", "unique_consecutive")}        # of what has no derivative


# ---------------------------------------------------------------- distinct values
@UNIQUE.planned
def _plan_distinct(x, order, return_inverse, return_counts):
    """The kernels that count runs, that write them, and that look at the order; None for no elements."""
    if x.ndim != 1 or x.dtype.is_complex:
        raise RuntimeError(f"unique: expected a vector of real numbers, got {x}")
    if order is not None:
        expect_layout("unique", "order", order, x.shape, int64)
    if not x.numel:
        return None
    family, name = kernels(x.device, "sort.runs"), x.dtype.kernel
    return (family.plan_count_runs(name, x.numel),
            family.plan_write_runs(name, x.numel, return_inverse, return_counts, order is not None),
            family.plan_limits("int64", x.numel) if order is not None and return_inverse else None)


@UNIQUE.run
def _distinct(plan, x: Tensor, order: Tensor | None, return_inverse, return_counts):
    """The runs of a vector: (their values, for each element its run, their lengths). `order`: where its elements were."""
    layout, x, order = x.layout, contiguous(x), None if order is None else contiguous(order)
    number = run_counting(plan[0], x) if plan else 0
    if plan and plan[2] is not None:
        low, high = run_measuring(plan[2], order)
        if low < 0 or high >= layout.numel:
            raise RuntimeError(f"unique: expected an order of {layout.numel} elements, got places from {low} to {high}")
    values = empty(Layout.of(layout.dtype, (number,), None, layout.device))
    inverse = empty(Layout.of(int64, (layout.numel,), None, layout.device)) if return_inverse else None
    counts = empty(Layout.of(int64, (number,), None, layout.device)) if return_counts else None
    if plan:
        prepared = plan[1]
        prepared.call(x.address, order.address if order is not None else 0, values.address,
                      inverse.address if return_inverse else 0, counts.address if return_counts else 0, prepared.descriptor)
    return values, inverse, counts


def _expect_bytes(layout):
    if layout.dtype.itemsize != 1 or layout.ndim != 1:
        raise RuntimeError(f"unique: expected a vector of bytes, got {layout}")


@COUNT_BYTES.planned
def _plan_count_bytes(x):
    _expect_bytes(x)
    return Layout.of(int64, (256,), None, x.device), kernels(x.device, "sort.runs").plan_count_bytes(x.dtype.kernel, x.numel)


@COUNT_BYTES.run
def _count_bytes(plan, x: Tensor):
    layout, prepared = plan
    counts, x = empty(layout), contiguous(x)
    prepared.call(x.address, counts.address, prepared.descriptor)
    return counts


@RANK_BYTES.planned
def _plan_rank_bytes(x, ranks):
    _expect_bytes(x)
    expect_layout("unique", "ranks", ranks, (256,), int64)
    return x.dense(int64), kernels(x.device, "sort.runs").plan_rank_bytes(x.dtype.kernel, x.numel)


@RANK_BYTES.run
def _rank_bytes(plan, x: Tensor, ranks: Tensor):
    """For each byte of a vector its rank, of a table of 256."""
    layout, prepared = plan
    out, x, ranks = empty(layout), contiguous(x), contiguous(ranks)
    prepared.call(x.address, ranks.address, out.address, prepared.descriptor)
    return out


def _distinct_bytes(x, return_inverse, return_counts):
    """As `_distinct`, for the elements of a vector of bytes in any order: they are counted, a ninth of the time of sorting."""
    layout, counts = x.layout, _count_bytes(x)
    places = reshape(nonzero(counts), -1)
    values = to_dtype(places - 128 if layout.dtype is int8 else places, layout.dtype)
    inverse = _rank_bytes(x, cumsum(comparison.ne(counts, 0), 0) - 1) if return_inverse else None
    return values, inverse, index_values(counts, (0,), (places,)) if return_counts else None


def _distinct_rows(rows, order, return_inverse, return_counts):
    """As `_distinct`, for the rows of a matrix."""
    count = rows.layout.shape[0]
    start = filled(Layout.of(bool_, (min(count, 1),), None, rows.layout.device), True)
    differs = _rows_differ(narrow(rows, 0, 1, count - 1), narrow(rows, 0, 0, count - 1)) if count else start
    starts = cat([start, differs])
    places, = nonzero(starts, as_tuple=True)
    values = index_values(rows, (0,), (places,))
    inverse = counts = None
    if return_inverse:
        inverse = cumsum(starts, 0) - 1
        if order is not None:
            inverse = scatter_(filled(inverse.layout, 0), 0, order, inverse)
    if return_counts:
        stops = filled(Layout.of(int64, (min(count, 1),), None, places.layout.device), count)
        counts = cat([narrow(places, 0, 1, places.layout.numel - 1), stops]) - places if count else contiguous(places)
    return values, inverse, counts


def _rows_differ(a, b):
    return reductions.any(comparison.ne(a, b), 1)


def _as_rows(x, dim):
    """The slices of a dimension as rows of a matrix, and how to make slices of such rows again."""
    dim = wrap_dim(dim, x.layout.ndim)
    moved = transpose(x, 0, dim)
    rest = moved.layout.shape[1:]
    flat = reshape(moved, x.layout.shape[dim], prod(rest))
    return flat, lambda rows: transpose(reshape(rows, rows.layout.shape[0], *rest), 0, dim)


@ORDER_ROWS.planned
def _plan_order_rows(layout):
    """The layout of the order, and the kernel."""
    if layout.dtype.is_complex:
        raise NotImplementedError(f'"unique" not implemented for \'{layout.dtype.title}\': complex numbers have no order')
    family, order = kernels(layout.device, "sort.row_order"), Layout.of(int64, layout.shape[:1], None, layout.device)
    return order, family.plan_order_rows(layout.dtype.kernel, *layout.shape) if layout.shape[0] else NOTHING


@ORDER_ROWS.run
def _rows_in_order(plan, rows: Tensor):
    """The order of rows by their first column, then the second, ..."""
    layout, prepared = plan
    order, scratch, rows = empty(layout), empty(layout), contiguous(rows)
    prepared.call(rows.address, order.address, scratch.address, prepared.descriptor)
    return order


def _results(values, inverse, counts, return_inverse, return_counts):
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def _refuse_in_backward(values, name, input):
    """Record what has no derivative: without a node its gradient would silently be none."""
    _REFUSING[name].recorded(values, (input,))


def _no_derivative(node, grad):
    raise NotImplementedError(f"the derivative for '{node.primitive.name}' is not implemented.")


for _recorded in _REFUSING.values():
    _recorded.derivative(_no_derivative)


@method
def unique(input, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """The distinct elements in order; with `dim`, the distinct slices along it. Every NaN is distinct.

    Args:
        input: of any real dtype.
        sorted: taken for PyTorch's sake; the result is in order in any case.
        return_inverse: also where each element (slice) is in the result, in the input's shape (the dimension's length).
        return_counts: also how often each occurs.
        dim: the dimension whose slices are compared; None for single elements.

    Returns:
        The distinct elements, or a tuple of these with what else was asked for.

    Raises:
        NotImplementedError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 3]).unique(return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
    """
    check_truths("unique", sorted=sorted, return_inverse=return_inverse, return_counts=return_counts)
    layout_of("unique", input)
    x = input.detach()
    if dim is None:
        if x.layout.dtype.is_complex:
            raise NotImplementedError(f'"unique" not implemented for \'{x.layout.dtype.title}\': complex numbers have no order')
        if x.layout.dtype.itemsize == 1 and x.layout.numel >= 1000:          # of fewer the sorting takes as long
            values, inverse, counts = _distinct_bytes(contiguous(reshape(x, -1)), return_inverse, return_counts)
        else:
            ordered, order = sort(reshape(x, -1))
            values, inverse, counts = _distinct(ordered, order, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        rows = contiguous(rows)
        order = _rows_in_order(rows)
        values, inverse, counts = _distinct_rows(index_values(rows, (0,), (order,)), order, return_inverse,
                                                 return_counts)
        values = contiguous(back(values))
    _refuse_in_backward(values, "_unique2" if dim is None else "unique_dim", input)
    return _results(values, inverse, counts, return_inverse, return_counts)


@method
def unique_consecutive(input, return_inverse: bool = False, return_counts: bool = False, dim=None):
    """One element (or slice along `dim`) of each run of equal neighbours.

    Args:
        input, return_inverse, return_counts, dim: as for `unique`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 3, 1, 3]).unique_consecutive(return_counts=True)
        (tensor([3, 1, 3]), tensor([2, 1, 1]))
    """
    check_truths("unique_consecutive", return_inverse=return_inverse, return_counts=return_counts)
    layout_of("unique_consecutive", input)
    x = input.detach()
    if dim is None:
        values, inverse, counts = _distinct(contiguous(reshape(x, -1)), None, return_inverse, return_counts)
        inverse = reshape(inverse, x.layout.shape) if return_inverse else None
    else:
        rows, back = _as_rows(x, dim)
        values, inverse, counts = _distinct_rows(rows, None, return_inverse, return_counts)
        values = contiguous(back(values))
    _refuse_in_backward(values, "unique_consecutive", input)
    return _results(values, inverse, counts, return_inverse, return_counts)


# ---------------------------------------------------------------- the commonest value
_Mode = pair("mode")


@method
@numpy_keywords
def mode(input, dim: int = -1, keepdim: bool = False, *, axis=None, out=None) -> Pair:
    """The commonest element along a dimension, the smallest of several, and the last place of it, as (values, indices).

    No NaN equals another, as in `unique`: one is the result only where there is nothing else.

    Args:
        input: of any real dtype.
        dim: the dimension along which to count.
        axis: NumPy's name of `dim`.
        keepdim: whether the dimension stays, of extent 1.
        out: a pair of tensors to write the results to.

    Raises:
        IndexError: the dimension is empty.

    Example:
        >>> import numtorch as torch
        >>> values, indices = torch.tensor([3, 1, 3]).mode()
        >>> values, indices
        (tensor(3), tensor(2))
    """
    if axis is not None:
        dim = axis
    return into_all_exactly("mode", out, _mode(input, dim, keepdim))


@MODE.planned
def _plan_mode(layout, dim, keepdim):
    """The dimension counted from the first, the results' shape, their layouts, and the kernel."""
    dim = wrap_dim(dim, layout.ndim)
    if layout.ndim and not layout.shape[dim]:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    before, after = layout.shape[:dim], layout.shape[dim + 1:]
    values = Layout.of(layout.dtype, before + (1,) * (keepdim and layout.ndim > 0) + after, None, layout.device)
    length, family = layout.shape[dim] if layout.ndim else 1, kernels(layout.device, "sort.runs")
    prepared = family.plan_longest_run(layout.dtype.kernel, values.numel, length) if values.numel else NOTHING
    return dim, values, values.dense(int64), prepared


@MODE.run
def _mode(plan, input: Tensor, dim: int, keepdim: bool):
    axis, layout, places, prepared = plan
    values, indices = empty(layout), empty(places)
    ordered, order = sort(movedim(input.detach(), axis, -1) if input.layout.ndim else input.detach())
    prepared.call(ordered.address, order.address, values.address, indices.address, prepared.descriptor)
    if input.node is not None and recording(input):
        values.node = GraphNode(MODE, (input.node,), (indices,), (axis, input.layout.shape, keepdim))
    return _Mode(values, indices)


MODE.derivative(picked_vjp)


# ---------------------------------------------------------------- membership
def isin(elements, test_elements, *, assume_unique: bool = False, invert: bool = False, out=None) -> Tensor:
    """Whether each element is one of `test_elements`.

    Args:
        elements, test_elements: tensors of any shapes; either may be a number.
        assume_unique: taken for PyTorch's sake; nothing is faster for it.
        invert: whether each element is none of them.
        out: a tensor of bools to write the result to.

    Returns:
        Bools of the shape of `elements`.

    Raises:
        RuntimeError: complex tensors.

    Example:
        >>> import numtorch as torch
        >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
        tensor([False,  True,  True])
    """
    check_truths("isin", assume_unique=assume_unique, invert=invert)
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise not_a_tensor("isin", elements, "elements")
    elements, tests = as_operand("isin", elements), as_operand("isin", test_elements)
    if elements.layout.dtype is not tests.layout.dtype:
        kind = arithmetic.mul(elements.detach(), tests.detach().reshape(-1)[:0].sum()).layout.dtype
        elements, tests = to_dtype(elements.detach(), kind), to_dtype(tests.detach(), kind)
    device = common_device("isin", (elements.layout, tests.layout))
    elements, tests = to_device(elements, device), to_device(tests, device)
    if not elements.layout.numel or not tests.layout.numel:
        result = filled(elements.layout.dense(bool_), bool(invert))
    else:
        result = _among(elements, tests)
        result = comparison.logical_not(result) if invert else result
    return into_exactly("isin", out, result)


@ISIN.planned
def _plan_among(elements, tests):
    """The result's layout, whether what is looked for must be in order, and the kernel."""
    if elements.dtype.is_complex:
        raise RuntimeError("Unsupported input type encountered for isin(): " + elements.dtype.title)
    family, count = kernels(elements.device, "index.equal"), tests.numel
    return elements.dense(bool_), count > family.FEW, family.plan_among(elements.dtype.kernel, elements.numel, count)


@ISIN.run
def _among(plan, elements: Tensor, tests: Tensor):
    layout, in_order, prepared = plan
    elements = elements if elements.layout.contiguous else contiguous(elements.detach())
    tests = tests if tests.layout.contiguous else contiguous(tests.detach())
    if in_order:
        tests = sort(reshape(tests.detach(), -1)).values
    out = empty(layout)
    prepared.call(elements.address, tests.address, out.address, prepared.descriptor)
    return out
