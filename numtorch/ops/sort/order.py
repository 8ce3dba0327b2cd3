"""Order along a dimension: sort, topk, the k-th element, medians and quantiles. Search in what is sorted is in search.py."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import float32, float64, int64, uint8
from ...kernels.threads import NOTHING
from ...layout import Layout, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, numpy_keywords, refusal
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, derivative_of
from ..core.return_types import Pair, pair
from ..creation.data import as_tensor
from ..index.gather_scatter import gather, value_selecting_backward
from ..memory.assign import filled
from ..memory.copies import contiguous, to_dtype
from ..memory.resize import into_all, into_all_exactly, into_exactly
from ..pointwise import arithmetic, bounds, comparison, rounding
from ..reduce import reductions
from ..reduce.query import check_probabilities
from ..shape.views import movedim, reshape, squeeze

SORT = Primitive("sort", samples="T[2, 3]; 1, False")
TOPK = Primitive("topk", samples="T[2, 3]; 2, 1, True")
KTHVALUE = Primitive("kthvalue", samples="T[2, 3]; 2, 1, False")
MEDIAN_ALONG = Primitive("median_along", samples="T[2, 3]; 1, False")
NANMEDIAN_ALONG = Primitive("nanmedian_along", samples="T[2, 3]; 1, False")
MEDIAN = Primitive("median", samples="T[2, 3]; False")

_PAIRS = {each: pair(each.name.removesuffix("_along")) for each in (SORT, TOPK, KTHVALUE, MEDIAN_ALONG, NANMEDIAN_ALONG)}


def around(shape, dim):
    """A shape as (outer, R, inner) around a dimension; without dimensions, R is 1."""
    outer = inner = 1
    for n in shape[:dim]:
        outer *= n
    for n in shape[dim + 1:]:
        inner *= n
    return outer, shape[dim] if shape else 1, inner


# ---------------------------------------------------------------- elements with their places
class _OrderPlan:
    """The kernel, the layouts of values, indices and workspace, and how the values' gradient finds its way back."""

    __slots__ = ("prepared", "values", "indices", "workspace", "way_back")


def _plan(planner, layout, dim, keep, keepdim, *arguments):
    """`keep` elements along a dimension, all when None; a single one drops the dimension unless `keepdim`."""
    dim = wrap_dim(dim, layout.ndim)
    keep = layout.shape[dim] if keep is None and layout.ndim else keep
    shape = layout.shape[:dim] + ((keep,) if keepdim else ()) + layout.shape[dim + 1:]
    final = shape if layout.ndim else ()
    plan = _OrderPlan()
    plan.values, plan.indices = Layout.of(layout.dtype, final, None, layout.device), Layout.of(int64, final, None, layout.device)
    plan.prepared = planner(layout.dtype.kernel, *around(layout.shape, dim), *arguments) if plan.values.numel else NOTHING
    plan.workspace, plan.way_back = Layout.of(uint8, (plan.prepared.workspace,), None, layout.device), (dim, layout.shape, keepdim)
    return plan


def _check_order(name, layout, error):
    if layout.dtype.is_complex:
        raise error(f"{name}: Sort does not support complex dtypes on CPU")


def _extent(layout, dim):
    """A dimension's; a 0-dim tensor has one of extent 1."""
    dim = wrap_dim(dim, layout.ndim)
    return layout.shape[dim] if layout.ndim else 1


def _pick(primitive, plan, x):
    """The elements that a kernel picks, and where they were."""
    values, indices = empty(plan.values), empty(plan.indices)
    source, workspace = x if x.layout.contiguous else contiguous(x.detach()), empty(plan.workspace)
    plan.prepared.call(source.address, values.address, indices.address, workspace.address, plan.prepared.descriptor)
    if x.node is not None and recording(x):
        values.node = GraphNode(primitive, (x.node,), (indices,), plan.way_back)
    return _PAIRS[primitive](values, indices)


@derivative_of(*_PAIRS)
def picked_vjp(node, grad, indices):
    """The gradient of elements that were picked along a dimension, one each."""
    dim, shape, keepdim = node.attributes
    return (value_selecting_backward(grad, dim, indices, shape, keepdim),)


@SORT.planned
def _plan_sort(layout, dim, descending):
    _check_order("sort", layout, RuntimeError)
    return _plan(kernels(layout.device, "sort.sort").plan_sort, layout, dim, None, True, descending)


@SORT.run
def _sort(plan, input: Tensor, dim: int, descending: bool):
    return _pick(SORT, plan, input)


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
    if stable is not True and stable is not False and stable is not None:
        raise refusal("sort", "stable", "bool", stable)
    dim = dim if axis is None else axis
    return into_all_exactly("sort", out, _sort(input, dim, descending))


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
    return sort(input.detach(), dim, descending, stable, axis=axis).indices


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
    return into_exactly("msort", out, result)


@TOPK.planned
def _plan_topk(layout, k, dim, largest):
    _check_order("topk", layout, RuntimeError)
    if not 0 <= k <= _extent(layout, dim):
        raise RuntimeError("selected index k out of range")
    k = k if layout.ndim else 1                          # of a tensor without dimensions there is always one
    return _plan(kernels(layout.device, "sort.topk").plan_topk, layout, dim, k, True, k, largest)


@TOPK.run
def _topk(plan, input: Tensor, k: int, dim: int, largest: bool):
    return _pick(TOPK, plan, input)


@method
def topk(input, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, axis=None, out=None) -> Pair:
    """The k largest (or smallest) elements along a dimension in order, as (values, indices). NaN counts as greatest.

    Args:
        input: of any real dtype.
        k: how many; the dimension's extent in the results.
        dim: the dimension along which to choose.
        axis: NumPy's name of `dim`.
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
    if axis is not None:
        dim = axis
    if sorted is not True and sorted is not False:
        raise refusal("topk", "sorted", "bool", sorted)
    return into_all_exactly("topk", out, _topk(input, k, dim, largest))


@KTHVALUE.planned
def _plan_kthvalue(layout, k, dim, keepdim):
    _check_order("kthvalue", layout, NotImplementedError)
    if not 1 <= k <= _extent(layout, dim):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {wrap_dim(dim, layout.ndim)}")
    return _plan(kernels(layout.device, "sort.topk").plan_kth, layout, dim, 1, keepdim, k - 1)


@KTHVALUE.run
def _kthvalue(plan, input: Tensor, k: int, dim: int, keepdim: bool):
    return _pick(KTHVALUE, plan, input)


@method
@numpy_keywords
def kthvalue(input, k: int, dim: int = -1, keepdim: bool = False, *, axis=None, out=None) -> Pair:
    """The k-th smallest element along a dimension, as (values, indices). NaN counts as greatest.

    Args:
        input: of any real dtype.
        k: counted from 1.
        dim: the dimension along which to choose.
        axis: NumPy's name of `dim`.
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
    if axis is not None:
        dim = axis
    return into_all_exactly("kthvalue", out, _kthvalue(input, k, dim, keepdim), input)


# ---------------------------------------------------------------- medians
def _plan_median(layout, dim, keepdim, skip_nan):
    name = "nanmedian" if skip_nan else "median"
    _check_order(name, layout, NotImplementedError)
    if not _extent(layout, dim):
        raise IndexError(f"{name}(): Expected reduction dim {wrap_dim(dim, layout.ndim)} to have non-zero size.")
    return _plan(kernels(layout.device, "sort.topk").plan_median, layout, dim, 1, keepdim, skip_nan)


def _along(primitive, skip_nan):
    @primitive.planned
    def plan(layout, dim, keepdim):
        return _plan_median(layout, dim, keepdim, skip_nan)

    @primitive.run
    def median_along(plan, input: Tensor, dim: int, keepdim: bool):
        return _pick(primitive, plan, input)
    return median_along


_median_along, _nanmedian_along = _along(MEDIAN_ALONG, False), _along(NANMEDIAN_ALONG, True)


@MEDIAN.planned
def _plan_median_of_all(layout, skip_nan):
    """Of all elements as one row; None where there are none."""
    row = Layout.of(layout.dtype, (layout.numel,), None, layout.device)
    return _plan_median(row, 0, False, skip_nan) if layout.numel else None


@MEDIAN.run
def _median_of_all(plan, input: Tensor, skip_nan):
    if plan is None:
        out = to_dtype(filled(Layout.of(float64, (), None, input.layout.device), float("nan")), input.layout.dtype)
    else:
        out, place, workspace = empty(plan.values), empty(plan.indices), empty(plan.workspace)
        source = input if input.layout.contiguous else contiguous(input.detach())
        plan.prepared.call(source.address, out.address, place.address, workspace.address, plan.prepared.descriptor)
    if input.node is not None and recording(input):
        out.node = GraphNode(MEDIAN, (input.node,), (input,))
        out.node.save_results([out])
    return out


@MEDIAN.derivative
def _median_vjp(node, grad, x, out):
    """Elements that tie for the median of all share its gradient, as in PyTorch."""
    same = comparison.logical_or(comparison.eq(x, out), comparison.logical_and(comparison.isnan(x), comparison.isnan(out)))
    return (same * (grad / reductions.sum(same)),)


def _median(name, along, input, dim, keepdim, skip_nan, out):
    if dim is not None:
        return into_all(name, out, along(input, dim, keepdim))
    if out is not None:
        raise TypeError(f"{name}() missing 1 required positional argument: 'dim', without which there is no 'out'")
    return _median_of_all(input, skip_nan)


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
    return _median("median", _median_along, input, dim, keepdim, False, out)


@method
@numpy_keywords
def nanmedian(input, dim=None, keepdim: bool = False, *, out=None):
    """The middle element of those that are not NaN, otherwise as `median`.

    Args:
        input, dim, keepdim, out: as for `median`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([3., float("nan"), 5., 4.]).nanmedian()
        tensor(4.)
    """
    return _median("nanmedian", _nanmedian_along, input, dim, keepdim, True, out)


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
    check_probabilities(q, f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan, out):
    check_truths(name, keepdim=keepdim)
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
    return into_exactly("quantile", out, result)


@method
def quantile(input, q, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, interpolation: str = "linear",
             out=None) -> Tensor:
    """The q-th quantiles along a dimension (of all elements, without one); NaN where there is one.

    Args:
        input: float32 or float64.
        q: a number in [0, 1], or a vector of them, which then is the first dimension of the result.
        dim, axis: the dimension along which to look, under PyTorch's name or NumPy's; None for all elements.
        keepdim, keepdims: whether the dimension stays, of extent 1.
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
    dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False, out)


@method
def nanquantile(input, q, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, interpolation: str = "linear",
                out=None) -> Tensor:
    """The q-th quantiles of the elements that are not NaN, otherwise as `quantile`.

    Args:
        input, q, dim, axis, keepdim, keepdims, interpolation, out: as for `quantile`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([0., float("nan"), 2., 3.]).nanquantile(0.5)
        tensor(2.)
    """
    dim, keepdim = dim if axis is None else axis, keepdim if keepdims is None else keepdims
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True, out)
