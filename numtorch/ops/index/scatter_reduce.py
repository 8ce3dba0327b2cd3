"""Sources combined into the places that indices name: scatter_reduce and index_reduce."""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...dtypes import integer_limits
from ...layout import wrap_dim
from ...tensor import Tensor
from ..core.arguments import check_truths, numpy_keywords
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..core.status import has_values
from ..memory.assign import copy_, filled
from ..memory.copies import clone, to_dtype
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh
from ..pointwise import arithmetic, bounds, comparison
from ..reduce.reductions import aminmax
from ..shape.slicing import narrow
from ..shape.views import expand, reshape
from .gather_scatter import (
    SCATTER_REDUCE,
    at_least_1d,
    gather,
    scatter,
    scatter_,
    scatter_add,
    scatter_add_,
    scatter_into,
    to_source,
)
from .index_op import check_index, out_of_self, same_dtype
from .index_select import combine_slices

_COMBINED = Primitive("scatter_reduced", "A copy with a source combined into places of it.",
                      samples="T[2, 3], int64([[0, 2], [1, 1]]), T[2, 2]; 1, 'amax', True")
_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _check_reduction(reduce):
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")


def _reduced_into(out, dim, index, src, reduce, include_self):
    """Combine `src` into a tensor that has no history."""
    if not include_self:
        start = {"prod": 1, "amax": _lowest(out.layout.dtype), "amin": _highest(out.layout.dtype)}.get(reduce, 0)
        scatter_(out, dim, index, start)
    scatter_into(SCATTER_REDUCE, out, dim, index, src, _REDUCTIONS[reduce])
    if reduce == "mean":
        count = _contributions(out, dim, index, src, include_self)
        copy_(out, out / count if out.layout.dtype.category >= 2 else arithmetic.floor_divide(out, count))
    return out


def _contributions(out, dim, index, src, include_self):
    """How many elements each mean is of; 1 where there are none."""
    ones = filled(out.layout.dense(), 1 if include_self else 0)
    return bounds.clamp_low(into_fresh(scatter_add_, ones, dim, index, filled(src.layout.dense(), 1)), 1)


def _lowest(dtype):
    return float("-inf") if dtype.category == 2 else integer_limits(dtype)[0]


def _highest(dtype):
    return float("inf") if dtype.category == 2 else integer_limits(dtype)[1]


@method
@numpy_keywords
def scatter_reduce(input, dim, index, src, reduce, *, include_self: bool = True, out=None) -> Tensor:
    """A copy of the tensor, with `src` combined into the places along a dimension that `index` names.

    Args:
        input: the tensor that is copied.
        dim, index, src: as for `scatter_`.
        reduce: "sum", "prod", "mean", "amax" or "amin". Elements that tie for an extreme share its gradient.
        include_self: whether the elements that were there before count.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: another `reduce`; the shapes or dtypes do not fit; an index is negative or out of bounds.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.scatter_reduce(0, torch.tensor([2, 2]), torch.tensor([7., 8.]), "amax")
        tensor([1., 2., 8.])
    """
    check_truths("scatter_reduce", include_self=include_self)
    _check_reduction(reduce)
    layout_of("scatter_reduce", input), layout_of("scatter_reduce", src, "src", 4)
    return into_exactly("scatter_reduce", out, _combined(input, index, src, dim, reduce, include_self))


@_COMBINED.composed
def _combined(input: Tensor, index: Tensor, src: Tensor, dim, reduce, include_self):
    result = _reduced_into(clone(input.detach()), dim, index, src.detach(), reduce, include_self)
    if recording(input, src) and result.layout.dtype.category >= 2:
        dim = wrap_dim(dim, input.layout.ndim)
        result.node = GraphNode(SCATTER_REDUCE, (input.node, src.node), (input, index, src),
                                (dim, reduce, include_self))
        result.node.save_results([result])
    return result


@SCATTER_REDUCE.derivative
def _scatter_reduce_vjp(node, grad, self, index, src, out):
    dim, reduce, include_self = node.attributes
    used = src
    for d, n in enumerate(index.layout.shape):
        used = narrow(used, d, 0, n)
    if reduce == "sum":
        by_self, by_source = grad, gather(grad, dim, index)
    elif reduce == "mean":
        share = grad / _contributions(out, dim, index, src, include_self)
        by_self, by_source = share, gather(share, dim, index)
    elif reduce == "prod":
        by_self, by_source = _product_gradients(self, dim, index, used, include_self, grad, out)
    else:
        hits, their = comparison.eq(self, out), comparison.eq(used, gather(out, dim, index))
        if not include_self:
            hits = scatter(hits, dim, index, False)
        number_of = scatter_add(to_dtype(hits, grad.layout.dtype), dim, index, to_dtype(their, grad.layout.dtype))
        share = grad / arithmetic.where(comparison.eq(number_of, 0), 1, number_of)
        by_self, by_source = arithmetic.where(hits, share, 0), arithmetic.where(their, gather(share, dim, index), 0)
        if not include_self:
            by_self = arithmetic.where(hits, by_self, grad)
    by_self = by_self if include_self else scatter(by_self, dim, index, 0)
    return by_self if node.needs(0) else None, to_source(by_source, src.layout, index) if node.needs(1) else None


def _product_gradients(self, dim, index, src, include_self, grad, out):
    """The product of all the others: by division, and by a product of its own for what is 0."""
    zero_self, zero_source = comparison.eq(self, 0), comparison.eq(src, 0)
    kind = grad.layout.dtype
    nonzero_self = arithmetic.where(zero_self, 1, self)
    without = scatter_reduce(nonzero_self, dim, index, src, "prod", include_self=include_self)
    by_self = grad * without / nonzero_self
    counted = into_fresh(scatter_add_, filled(self.layout.dense(kind), 0), dim, index, to_dtype(zero_source, kind))
    zeros = gather(counted, dim, index)
    single = comparison.logical_and(zero_source, comparison.eq(zeros, 1))
    others = scatter_reduce(self, dim, index, arithmetic.where(single, 1, src), "prod", include_self=include_self)
    by_division = gather(grad * out, dim, index) / arithmetic.where(zero_source, 1, src)
    return by_self, arithmetic.where(single, gather(grad * others, dim, index), by_division)


@method
@numpy_keywords
def scatter_reduce_(self, dim, index, src, reduce, *, include_self: bool = True) -> Tensor:
    """Combine `src` into the places along a dimension that `index` names, and return this tensor.

    Args:
        dim, index, src, reduce, include_self: as for `scatter_reduce`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.scatter_reduce_(0, torch.tensor([2, 2]), torch.tensor([7., 8.]), "amax")
        tensor([1., 2., 8.])
    """
    check_truths("scatter_reduce_", include_self=include_self)
    layout_of("scatter_reduce_", src, "src", 3)
    if recording(self, src):                             # the gradient wants what was there before
        return copy_(self, scatter_reduce(clone(self), dim, index, src, reduce, include_self=include_self))
    _check_reduction(reduce)
    return _reduced_into(self, dim, index, src, reduce, include_self)


def _check_within(index, dim, size):
    if index.layout.numel and has_values(index):
        for extreme in aminmax(index):
            if not 0 <= extreme.item() < size:
                raise out_of_self("index_reduce")(extreme.item(), 0, dim, size)


@method
@numpy_keywords
def index_reduce(input, dim, index, source, reduce, *, include_self: bool = True, out=None) -> Tensor:
    """A copy of the tensor, with the slices of `source` combined into the places in a dimension that a vector `index` names.

    Args:
        input: the tensor that is copied.
        dim: the dimension of the slices.
        index: (n,) int64 or int32; negative ones do not count from the end.
        source: the input's shape with n in place of the dimension's extent, and its dtype.
        reduce: "prod", "mean", "amax" or "amin".
        include_self: whether the elements that were there before count.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: another `reduce`, another dtype, or shapes that do not fit.
        IndexError: an index out of bounds, or more than one dimension of them.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.index_reduce(0, torch.tensor([2, 2]), torch.tensor([7., 8.]), "amax")
        tensor([1., 2., 8.])
    """
    check_truths("index_reduce", include_self=include_self)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax, or amin but got {reduce}.")
    check_index("index_reduce", index)
    if index.layout.ndim > 1:
        raise IndexError("index_reduce(): Index is supposed to be a vector")
    same_dtype("index_reduce", input, source)
    dim = wrap_dim(dim, input.layout.ndim)
    have, count = source.layout.shape, index.layout.numel
    if count != (have[dim] if have else 1):
        raise RuntimeError(f"index_reduce(): Number of indices ({count}) should be equal to source.size(dim): ({list(have)}), "
                           f"for dim: {dim}")
    if include_self and reduce != "mean" and not recording(input, source) and index.layout.ndim and input.layout.ndim \
            and have == input.layout.shape[:dim] + index.layout.shape + input.layout.shape[dim + 1:]:
        result = clone(input.detach())
        into_fresh(combine_slices, result, dim, index, source.detach(), _REDUCTIONS[reduce])
        return result if out is None else into_exactly("index_reduce", out, result)
    _check_within(index, dim, at_least_1d(input.layout)[0][dim])
    places = expand(reshape(index, [count if d == dim else 1 for d in range(len(have))]), have)
    return scatter_reduce(input, dim, places, source, reduce, include_self=include_self, out=out)


@method
@numpy_keywords
def index_reduce_(self, dim, index, source, reduce, *, include_self: bool = True) -> Tensor:
    """Combine the slices of `source` into the places in a dimension that `index` names, and return this tensor.

    Args:
        dim, index, source, reduce, include_self: as for `index_reduce`.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([1., 2., 3.])
        >>> x.index_reduce_(0, torch.tensor([2, 2]), torch.tensor([7., 8.]), "amax")
        tensor([1., 2., 8.])
    """
    layout_of("index_reduce_", source, "source", 3)
    before = clone(self) if recording(self, source) else self
    return copy_(self, index_reduce(before, dim, index, source, reduce, include_self=include_self))
