"""Order along a dimension: sort, topk, the k-th element, medians and quantiles, and search in what is sorted."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import float32, float64, int32, int64, uint8
from ...layout import Layout, ints, wrap_dim
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import as_operand, layout_of, method, result_dtype
from ..core.primitive import Primitive, derivative_of, new_plan_table
from ..core.return_types import Pair, pair
from ..creation.fill import as_tensor
from ..index.gather_scatter import gather, value_selecting_backward
from ..memory.assign import filled
from ..memory.copies import contiguous, to_dtype
from ..memory.resize import into
from ..pointwise import arithmetic, bounds, comparison, rounding
from ..reduce import reductions
from ..shape.views import expand, movedim, reshape, squeeze

_PAIRS = {name: pair(name) for name in ("sort", "topk", "kthvalue", "median", "nanmedian")}
_PICKED = {name: Primitive(name if name in ("sort", "topk", "kthvalue") else f"{name}_along") for name in _PAIRS}
_MEDIAN, _MEDIAN_OF_NONE = Primitive("median"), Primitive("median_of_none")


def around(shape, dim):
    """A shape as (outer, R, inner) around a dimension; without dimensions, R is 1."""
    outer = inner = 1
    for n in shape[:dim]:
        outer *= n
    for n in shape[dim + 1:]:
        inner *= n
    return outer, shape[dim] if shape else 1, inner


# ---------------------------------------------------------------- elements with their places
_plans, _topk_plans = new_plan_table(), new_plan_table()


class _OrderPlan:
    """The kernel, the layouts of values, indices and workspace, and how the values' gradient finds its way back."""

    __slots__ = ("prepared", "values", "indices", "workspace", "way_back")


def _plan(name, family, kind, layout, dim, keep, keepdim, arguments):
    """`keep` elements along a dimension; a single one drops the dimension unless `keepdim`."""
    if layout.dtype.is_complex:
        kind = RuntimeError if name in ("sort", "topk") else NotImplementedError         # PyTorch's
        raise kind(f"{name}: Sort does not support complex dtypes on CPU")
    shape = layout.shape[:dim] + ((keep,) if keepdim else ()) + layout.shape[dim + 1:]
    final = shape if layout.ndim else ()
    plan = _OrderPlan()
    plan.values, plan.indices = Layout.of(layout.dtype, final, None, layout.device), Layout.of(int64, final, None, layout.device)
    plan.prepared, plan.way_back = None, (dim, layout.shape, keepdim)
    if plan.values.numel:
        around_dim = around(layout.shape, dim) if layout.ndim else (1, 1, 1)
        plan.prepared = getattr(kernels(layout.device, family), "plan_" + kind)(layout.dtype.kernel, *around_dim, *arguments)
        plan.workspace = Layout.of(uint8, (plan.prepared.workspace,), None, layout.device)
    return plan


def _ordered(name, family, kind, x, dim, keep, keepdim, *arguments):
    """The elements that a kernel picks along a dimension, and where they were."""
    if not x.layout.contiguous:
        x = contiguous(x)
    key = (name, x.layout, dim, keep, keepdim, arguments)
    plan = _plans.get(key)
    if plan is None:
        plan = _plans.keep(key, _plan(name, family, kind, x.layout, dim, keep, keepdim, arguments))
    return _run(name, plan, x)


def _run(name, plan, x):
    """The same of contiguous elements, once the plan is known."""
    values, indices = empty(plan.values), empty(plan.indices)
    prepared = plan.prepared
    if prepared is not None:
        workspace = empty(plan.workspace)
        prepared.call(x.address, values.address, indices.address, workspace.address, prepared.walk)
    if x.node is not None and recording(x) and x.layout.dtype.category >= 2:
        values.node = GraphNode(_PICKED[name], (x.node,), (indices,), plan.way_back)
    return _PAIRS[name](values, indices)


@derivative_of(*_PICKED.values())
def _picked_vjp(node, grad):
    dim, shape, keepdim = node.attributes
    return (value_selecting_backward(grad, dim, node.tensors()[0], shape, keepdim),)


def _into(out, pair):
    return pair if out is None else type(pair)(*[into(o, r) for o, r in zip(out, pair)])


def _size(name, x, dim):
    """A dimension made positive, and its extent; a 0-dim tensor has one of extent 1."""
    layout = layout_of(name, x)
    dim = wrap_dim(dim, layout.ndim)
    return dim, layout.shape[dim] if layout.ndim else 1


@method
def sort(input, dim: int = -1, descending: bool = False, stable: bool = False, *, axis=None, out=None) -> Pair:
    """Elements in order along a dimension, as (values, indices). Always stable; NaN counts as greatest.

    Args:
        input: of any real dtype.
        dim, axis: the dimension to put in order, under PyTorch's name or NumPy's.
        descending: greatest first.
        stable: taken for PyTorch's sake; equal elements keep their order in any case.
        out: a pair of tensors to write the results to.

    Raises:
        RuntimeError: a complex tensor.

    Example:
        >>> import numtorch as torch
        >>> values, indices = torch.tensor([3, 1, 2]).sort()
        >>> values, indices
        (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    dim, size = _size("sort", input, dim if axis is None else axis)
    return _into(out, _ordered("sort", "sort.sort", "sort", input, dim, size, True, bool(descending)))


@method
def argsort(input, dim: int = -1, descending: bool = False, stable: bool = False, *, axis=None) -> Tensor:
    """The indices that put a dimension in order. Always stable; NaN counts as greatest.

    Args:
        input, dim, descending, stable, axis: as for `sort`.

    Returns:
        int64, of the input's shape.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3, 1, 2]).argsort(descending=True)
        tensor([0, 2, 1])
    """
    layout_of("argsort", input)
    return sort(input.detach(), dim, descending, axis=axis).indices


@method
def msort(input, *, out=None) -> Tensor:
    """Elements in order along the first dimension.

    Args:
        input: of any real dtype.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[3, 1], [2, 4]]).msort()
        tensor([[2, 1],
                [3, 4]])
    """
    result = sort(input, 0).values
    return into(out, result)


@method
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out=None) -> Pair:
    """The k largest (or smallest) elements along a dimension in order, as (values, indices). NaN counts as greatest.

    Args:
        input: of any real dtype.
        k: how many; the dimension's extent in the results.
        dim: the dimension along which to choose.
        largest: False for the smallest.
        sorted: taken for PyTorch's sake; they are in order in any case.
        out: a pair of tensors to write the results to.

    Raises:
        RuntimeError: k is negative or more than there are.

    Example:
        >>> import numtorch as torch
        >>> values, indices = torch.tensor([3., 9., 5.]).topk(2)
        >>> values, indices
        (tensor([9., 5.]), tensor([1, 2]))
    """
    layout = layout_of("topk", input)
    key = (layout, k, dim, largest) if type(k) is int and type(dim) is int else None
    plan = _topk_plans.get(key)
    if plan is None:                                     # what is checked and made only now took 2.4 us of a call, and takes 1.7
        along, size = _size("topk", input, dim)
        count, = ints((k,), "topk: k")
        if not 0 <= count <= size:
            raise RuntimeError("selected index k out of range")
        count = count if layout.ndim else 1              # of a tensor without dimensions there is always one
        if key is None or not layout.ndim or not layout.contiguous:
            return _into(out, _ordered("topk", "sort.topk", "topk", input, along, count, True, count, bool(largest)))
        plan = _topk_plans.keep(key, _plan("topk", "sort.topk", "topk", layout, along, count, True, (count, bool(largest))))
    return _into(out, _run("topk", plan, input))


@method
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False, *, out=None) -> Pair:
    """The k-th smallest element along a dimension, as (values, indices). NaN counts as greatest.

    Args:
        input: of any real dtype.
        k: counted from 1.
        dim: the dimension along which to choose.
        keepdim: whether the dimension stays, of extent 1.
        out: a pair of tensors to write the results to.

    Raises:
        RuntimeError: k is not between 1 and the size of the dimension.

    Example:
        >>> import numtorch as torch
        >>> values, indices = torch.tensor([3., 9., 5.]).kthvalue(2)
        >>> values, indices
        (tensor(5.), tensor(2))
    """
    dim, size = _size("kthvalue", input, dim)
    k, = ints((k,), "kthvalue: k")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return _into(out, _ordered("kthvalue", "sort.topk", "kth", input, dim, 1, bool(keepdim), k - 1))


@_MEDIAN.derivative
def _median_vjp(node, grad):
    """Elements that tie for the median of all share its gradient, as in PyTorch."""
    (x,), (out,) = node.tensors(), node.result_tensors()
    same = comparison.logical_or(comparison.eq(x, out), comparison.logical_and(comparison.isnan(x), comparison.isnan(out)))
    return (same * (grad / reductions.sum(same)),)


@_MEDIAN_OF_NONE.derivative
def _median_of_none_vjp(node, grad):
    return (expand(reshape(grad, [1] * len(node.attributes)), *node.attributes),)


_median_plans = new_plan_table()                         # of all elements, as one row


def _median(name, input, dim, keepdim, skip_nan, out):
    if dim is None:
        if out is not None:
            raise TypeError(f"{name}() missing 1 required positional argument: 'dim', without which there is no 'out'")
        if not layout_of(name, input).numel:
            out = to_dtype(filled(Layout.of(float64, (), None, input.layout.device), float("nan")), input.layout.dtype)
            if recording(input):
                out.node = GraphNode(_MEDIAN_OF_NONE, (input.node,), (), input.layout.shape)
            return out
        x = input if input.layout.contiguous else contiguous(input)
        plan = _median_plans.get((x.layout, skip_nan))
        if plan is None:
            row = Layout.of(x.layout.dtype, (x.layout.numel,), None, x.layout.device)
            plan = _median_plans.keep((x.layout, skip_nan), _plan(name, "sort.topk", "median", row, 0, 1, False, (skip_nan,)))
        out, indices, workspace = empty(plan.values), empty(plan.indices), empty(plan.workspace)
        plan.prepared.call(x.address, out.address, indices.address, workspace.address, plan.prepared.walk)
        if input.node is not None and recording(input):
            out.node = GraphNode(_MEDIAN, (input.node,), (input,))
            out.node.save_results([out])
        return out
    dim, size = _size(name, input, dim)
    if not size:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return _into(out, _ordered(name, "sort.topk", "median", input, dim, 1, bool(keepdim), skip_nan))


@method
def median(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None):
    """The middle element, the lower of two; with a dimension, (values, indices) along it. NaN where there is one.

    Args:
        input: of any real dtype.
        dim: the dimension along which to look; None for all elements.
        keepdim: whether the dimension stays, of extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: a pair of tensors to write the results to, with a dimension.

    Raises:
        IndexError: the dimension is empty.
        TypeError: an `out` without a dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3., 9., 5., 4.]).median()
        tensor(4.)
    """
    if axis is not None or keepdims is not None:
        dim, keepdim = reductions.numpy_names(dim, keepdim, axis, keepdims)
    return _median("median", input, dim, keepdim, False, out)


@method
def nanmedian(input, dim=None, keepdim: bool = False, *, out=None):
    """The middle element of those that are not NaN, otherwise as `median`.

    Args:
        input, dim, keepdim, out: as for `median`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3., float("nan"), 5., 4.]).nanmedian()
        tensor(4.)
    """
    return _median("nanmedian", input, dim, keepdim, True, out)


# ---------------------------------------------------------------- quantiles
_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _probabilities(name, input, q):
    if layout_of(name, input).dtype not in (float32, float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return as_tensor(q, dtype=input.layout.dtype, device=input.layout.device)
    if q.layout.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.layout.dtype is not input.layout.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not bool(reductions.all(comparison.logical_and(comparison.ge(q, 0), comparison.le(q, 1)))):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan, out):
    q = _probabilities(name, input, q)
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
                           f"{interpolation}")
    if not input.layout.numel:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    kept = (1,) * input.layout.ndim
    if dim is not None:
        axis = wrap_dim(dim, input.layout.ndim)
        kept = (*input.layout.shape[:axis], 1, *input.layout.shape[axis + 1:]) if input.layout.ndim else ()
    x = reshape(input, -1) if dim is None or not input.layout.ndim else movedim(input, axis, -1)
    size = x.layout.shape[-1]
    x = sort(x).values
    missing = comparison.isnan(x.detach())
    if skip_nan:
        last = bounds.clamp_low(reductions.sum(comparison.logical_not(missing), -1, True) - 1, 0)
        ranks = q * to_dtype(last, q.layout.dtype)
    else:
        ranks = arithmetic.where(reductions.any(missing, -1, True), size - 1, q * (size - 1))
    ranks = arithmetic.where(comparison.lt(ranks, 0), 0, ranks)
    if interpolation in ("lower", "higher", "nearest"):
        rounded = {"lower": rounding.floor, "higher": rounding.ceil, "nearest": rounding.round_to_even}[interpolation]
        result = gather(x, -1, to_dtype(rounded(ranks), int64))
    else:
        low = rounding.floor(ranks)
        weight = 0.5 if interpolation == "midpoint" else ranks - low
        result = arithmetic.lerp(gather(x, -1, to_dtype(low, int64)), gather(x, -1, to_dtype(rounding.ceil(ranks), int64)),
                                 weight)
    if not q.layout.ndim:
        result = reshape(result, kept) if keepdim else squeeze(result, -1)
    else:
        result = movedim(result, -1, 0)
        if keepdim:
            result = reshape(result, (q.layout.numel, *kept))
    return into(out, result)


@method
def quantile(input, q, dim=None, keepdim: bool = False, *, interpolation: str = "linear", out=None) -> Tensor:
    """The q-th quantiles along a dimension (of all elements, without one); NaN where there is one.

    Args:
        input: float32 or float64.
        q: a number in [0, 1], or a vector of them, which then is the first dimension of the result.
        dim: the dimension along which to look; None for all elements.
        keepdim: whether the dimension stays, of extent 1.
        interpolation: between the two nearest elements: "linear", "lower", "higher", "midpoint" or "nearest".
        out: a tensor to write the result to.

    Raises:
        RuntimeError: not float32 or float64, nothing to take quantiles of, or a q outside [0, 1].

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([0., 1., 2., 3.])
        >>> x.quantile(0.5), x.quantile(0.5, interpolation="lower")
        (tensor(1.5000), tensor(1.))
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False, out)


@method
def nanquantile(input, q, dim=None, keepdim: bool = False, *, interpolation: str = "linear", out=None) -> Tensor:
    """The q-th quantiles of the elements that are not NaN, otherwise as `quantile`.

    Args:
        input, q, dim, keepdim, interpolation, out: as for `quantile`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([0., float("nan"), 2., 3.]).nanquantile(0.5)
        tensor(2.)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True, out)


# ---------------------------------------------------------------- search in what is sorted
def _plan_search(edges, x, right, out_int32):
    rows, shared = 1, edges.ndim == 1
    for n in edges.shape[:-1]:
        rows *= n
    per_row = x.numel // rows if rows else 0
    return kernels(x.device, "sort.runs").plan_places(x.dtype.kernel, rows, per_row, edges.shape[-1], shared, right, out_int32)


def _search(name, edges, x, out_int32, right):
    if edges.layout.dtype is not x.layout.dtype:
        common = result_dtype([edges.layout, x.layout])
        edges, x = to_dtype(edges, common), to_dtype(x, common)
    if edges.layout.dtype.is_complex:
        raise NotImplementedError(f'"{name}" not implemented for \'{edges.layout.dtype.title}\': complex numbers have no order')
    edges, x = contiguous(edges.detach()), contiguous(x.detach())
    out = empty(Layout.of(int32 if out_int32 else int64, x.layout.shape, None, x.layout.device))
    if out.layout.numel:
        key = ("search", edges.layout, x.layout, right, out_int32)
        prepared = _plans.get(key)
        if prepared is None:
            prepared = _plans.keep(key, _plan_search(edges.layout, x.layout, right, out_int32))
        prepared.call(edges.address, x.address, out.address, prepared.walk)
    return out


def searchsorted(sorted_sequence, input, *, out_int32: bool = False, right: bool = False, side=None, sorter=None,
                 out=None) -> Tensor:
    """Where elements would be inserted into sorted ones to keep these sorted: before equal ones, or behind them.

    Args:
        sorted_sequence: sorted along the last dimension: a vector, or with the leading dimensions of `input`.
        input: a tensor or a number.
        out_int32: whether the result is int32 rather than int64.
        right, side: behind equal elements, with `right=True` or `side="right"`.
        sorter: indices that sort an unsorted `sorted_sequence`.
        out: a tensor to write the result to.

    Returns:
        Of the shape of `input`.

    Raises:
        RuntimeError: the shapes or dtypes do not fit, or `side` and `right` disagree.

    Example:
        >>> import numtorch as torch
        >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
        tensor([1, 3])
    """
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError("torch.searchsorted(): side and right can't be set to opposites, got side of left while right was "
                               "True")
        right = side == "right"
    x = as_operand("searchsorted", input)
    if not layout_of("searchsorted", sorted_sequence, "sorted_sequence").ndim:
        raise RuntimeError("torch.searchsorted(): sorted_sequence should have at least 1 dimension, but got a 0-dim tensor")
    if sorter is not None:
        if layout_of("searchsorted", sorter, "sorter").shape != sorted_sequence.layout.shape:
            raise RuntimeError("torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                               f"{list(sorted_sequence.layout.shape)} and got sorter tensor {list(sorter.layout.shape)}")
        sorted_sequence = gather(sorted_sequence.detach(), -1, sorter)
    if sorted_sequence.layout.ndim > 1 and sorted_sequence.layout.shape[:-1] != x.layout.shape[:-1]:
        raise RuntimeError(f"torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                           f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
                           f"{list(sorted_sequence.layout.shape)} and input value tensor {list(x.layout.shape)}")
    result = _search("searchsorted", sorted_sequence, x, bool(out_int32), bool(right))
    return into(out, result)


def bucketize(input, boundaries, *, out_int32: bool = False, right: bool = False, out=None) -> Tensor:
    """The number of the bucket that each element belongs to, between a vector of sorted boundaries.

    Args:
        input: a tensor or a number.
        boundaries: (n,), sorted, of the input's dtype. Bucket 0 lies below the first, bucket n above the last.
        out_int32: whether the result is int32 rather than int64.
        right: whether a bucket contains its lower boundary rather than its upper one.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: boundaries of more than one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.bucketize(torch.tensor([0, 3, 6]), torch.tensor([1, 3, 5]))
        tensor([0, 1, 3])
    """
    if layout_of("bucketize", boundaries, "boundaries", 2).ndim != 1:
        raise RuntimeError(f"torch.bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.layout.ndim})")
    x = as_operand("bucketize", input)
    result = _search("bucketize", boundaries, x, bool(out_int32), bool(right))
    return into(out, result)
