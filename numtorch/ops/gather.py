"""Elements by index tensors and masks: gather, scatter, index_select and its kin, embedding, nonzero, masked_select.

`x[...]` itself is in ops/index.py, which is built on `index_values` and `put_values` from here. Every kernel call checks every
index; a bad one is found again here, to be named in the error.
"""
from __future__ import annotations

import ctypes
import threading

from ..autograd.graph import GraphNode, mark_written, recording
from ..autograd.modes import modes
from ..dtypes import bool_, int32, int64, uint8
from ..kernels.intrinsics import select
from ..layout import Layout, broadcast_shapes, broadcast_strides, wrap_dim
from ..tensor import Tensor, empty, number, view_of
from . import arithmetic, comparison
from .backends import kernels
from .copy import clone, contiguous, copy_, filled, register, to_dtype
from .op import as_operand, method, new_plan_table, registry
from .pointwise import check_inplace_allowed, overlap_partly, pointwise, rebase_history
from .view import expand, place, reshape, unsqueeze, view

_MOST_INDICES = 64


class _Desk(threading.local):
    """A thread's words for the call it is making: the status, then the addresses of the second and later index arrays."""

    def __init__(self):
        self.words = (ctypes.c_int64 * (1 + _MOST_INDICES))()
        self.status = ctypes.addressof(self.words)
        self.more = self.status + 8


_desk = _Desk()


def _run(prepared, x, indices, other, bounds, message=None):
    """Run an indexing kernel.

    Args:
        bounds: for each index tensor, the dimension it indexes and that dimension's size.
        message: what to say of a bad index, when not where it is.

    Raises:
        IndexError: an index is out of bounds. Nothing has been written then, or only to a result nobody will see.
    """
    desk = _desk
    words, more = desk.words, 0
    if len(indices) > 1:
        for place_in_table in range(1, len(indices)):
            words[place_in_table] = indices[place_in_table].address
        more = desk.more
    prepared.call(x.address, indices[0].address, more, other.address, desk.status, prepared.walk)
    if words[0]:
        words[0] = 0
        raise IndexError(message or _bad_index(indices, bounds))


def _bad_index(indices, bounds):
    for index, (dim, size) in zip(indices, bounds):
        values = index.numpy().ravel()
        wrong = values[(values < -size) | (values >= size)]
        if wrong.size:
            return f"index {wrong[0]} is out of bounds for dimension {dim} with size {size}"
    return "index out of bounds"


def _check_index(name, index, wanted=(int64, int32)):
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.layout.dtype not in wanted:
        raise RuntimeError(f"{name}(): Expected dtype {' or '.join(d.name for d in wanted)} for index, got {index.layout.dtype.name}")
    return index


def _same_dtype(name, self, source):
    if self.layout.dtype is not source.layout.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {self.layout.dtype.name} and "
                           f"{source.layout.dtype.name}")


# ---------------------------------------------------------------- writing in place
def _begin_write(name, self, *sources):
    """The checks of an in-place write. Returns whether it is to be recorded."""
    if self.layout.overlaps_itself():
        raise RuntimeError(f"unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           f"location. Please clone() the tensor before performing the operation. ({name}_)")
    graph = modes.grad and any(t.node is not None for t in (self, *sources))
    if graph:
        check_inplace_allowed(self, name)
    return graph


def _apart(source, target):
    """`source`, or a copy of it where it shares memory with what is about to be written."""
    same = source.storage is target.storage
    return clone(source) if same and (source.address == target.address or overlap_partly(source, target)) else source


def _end_write(name, self, graph, sources, saved, vjp, constants):
    mark_written(self.storage, name + "_")
    if graph and self.layout.dtype.category >= 2:
        rebase_history(self, GraphNode(name, (self.node, *[s.node for s in sources]), saved, vjp, constants))
    return self


def _out_of_place(inplace, name):
    """The form of an in-place op that writes to a copy."""
    def function(self, *args, **kwargs):
        return inplace(clone(self), *args, **kwargs)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A copy of the tensor after `{name}_`."
    return register(method(function))


# ---------------------------------------------------------------- several index tensors at once
class _IndexPlan:
    """What `x[index, ...]` must know: the result's layout, which of its strides belong to the index tensors, and to the rest."""

    __slots__ = ("out", "first", "rank", "geometry", "bounds", "prepared", "index_dtype")

    def split(self, strides):
        """Strides over the result, as (those of the index tensors' dimensions, the others)."""
        first, stop = self.first, self.first + self.rank
        return strides[first:stop], strides[:first] + strides[stop:]


_index_plans = new_plan_table()
_put_plans = new_plan_table()


def _plan_indices(layout, dims, layouts):
    plan = _IndexPlan()
    try:
        shape = broadcast_shapes(*[each.shape for each in layouts])
    except RuntimeError:
        listed = ", ".join(str(list(each.shape)) for each in layouts)
        raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}") from None
    rest = [d for d in range(layout.ndim) if d not in dims]
    together = dims == tuple(range(dims[0], dims[0] + len(dims)))
    plan.first, plan.rank = dims[0] if together else 0, len(shape)
    kept = tuple(layout.shape[d] for d in rest)
    plan.out = Layout.of(layout.dtype, kept[:plan.first] + shape + kept[plan.first:], None, layout.device)
    plan.bounds = tuple((d, layout.shape[d]) for d in dims)
    plan.index_dtype = layouts[0].dtype.kernel
    plan.geometry = (shape, [broadcast_strides(each, shape) for each in layouts], [layout.shape[d] for d in dims],
                     [layout.strides[d] for d in dims], kept, [layout.strides[d] for d in rest])
    plan.prepared = None
    if 0 not in shape:
        plan.prepared = kernels(layout.device, "gather").plan_index(layout.dtype.itemsize, *plan.geometry,
                                                                    *plan.split(plan.out.strides), plan.index_dtype)
    return plan


def _index_plan(layout, dims, indices):
    key = (layout, dims, indices[0].layout) if len(indices) == 1 else (layout, dims, *[i.layout for i in indices])
    plan = _index_plans.get(key)
    return plan if plan is not None else _index_plans.keep(key, _plan_indices(layout, dims, [i.layout for i in indices]))


def index_values(x: Tensor, dims: tuple, indices) -> Tensor:
    """x with `dims` indexed by index tensors of one dtype (int64, or a single int32), broadcast against each other.

    Their dimensions stand where `dims` stood when those are neighbours, else first.
    """
    plan = _index_plan(x.layout, dims, indices)
    out = empty(plan.out)
    if plan.prepared is not None:
        _run(plan.prepared, x, indices, out, plan.bounds)
    if x.node is not None and modes.grad and x.layout.dtype.category >= 2:
        out.node = GraphNode("index", (x.node,), indices, _index_vjp, (x.layout, dims))
    return out


def _index_vjp(node, grad):
    return (_spread(grad, *node.constants, node.tensors()),)


def _spread(grad, layout, dims, indices):
    """Zeros of the indexed tensor's shape, with `grad` added where the indices point: the gradient of `index_values`."""
    out = filled(layout.dense(grad.layout.dtype), 0)
    _write(out, dims, indices, grad, "add")
    if recording(grad):
        out.node = GraphNode("index_backward", (grad.node,), indices, _spread_vjp, dims)
    return out


def _spread_vjp(node, grad):
    return (index_values(grad, node.constants, node.tensors()),)


def _plan_put(layout, dims, indices, source, reduce):
    plan = _index_plan(layout, dims, indices)
    if 0 in plan.out.shape[plan.first:plan.first + plan.rank]:
        return None
    family, geometry = kernels(layout.device, "gather"), plan.geometry
    count, width = geometry[0][0] if plan.rank == 1 else 0, layout.strides[0] if layout.ndim else 0
    if reduce == "add" and dims == (0,) and layout.contiguous and source.contiguous and source.numel == count * width \
            and indices[0].layout.contiguous and layout.dtype.category == 2 and source.shape == plan.out.shape:
        return family.plan_embedding_grad(layout.dtype.kernel, layout.shape[0], width, count, plan.index_dtype)
    return family.plan_index_put(layout.dtype.kernel, *geometry, *plan.split(broadcast_strides(source, plan.out.shape)),
                                 reduce, plan.index_dtype)


def _write(x, dims, indices, source, reduce):
    """x[indices] = source, or combined with it. No tape, no checks but the indices'."""
    key = (x.layout, dims, source.layout, reduce, *[i.layout for i in indices])
    found = _put_plans.get(key)
    if found is None:
        found = _put_plans.keep(key, (_plan_put(x.layout, dims, indices, source.layout, reduce),))
    if found[0] is not None:
        _run(found[0], x, indices, source, [(d, x.layout.shape[d]) for d in dims])


def put_values(x: Tensor, dims: tuple, indices, source: Tensor, accumulate: bool) -> Tensor:
    """Write `source`, broadcast, to where index tensors point, or add it there; recorded.

    Raises:
        RuntimeError: `source` does not broadcast to the indexed shape, or has another dtype.
    """
    layout = x.layout
    shape = _index_plan(layout, dims, indices).out.shape
    if source.layout.weak:
        source = to_dtype(source, layout.dtype)
    elif source.layout.dtype is not layout.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {layout.dtype.name} for the destination "
                           f"and {source.layout.dtype.name} for the source.")
    if source.layout.shape != shape:
        source = fit_value(source, shape, "indexing result")
    graph = _begin_write("index_put", x, source)
    source = _apart(source, x)
    indices = [_apart(i, x) for i in indices]
    _write(x, dims, indices, source, "add" if accumulate else None)
    return _end_write("index_put", x, graph, (source,), indices, _put_vjp, (dims, source.layout, accumulate))


def _put_vjp(node, grad):
    dims, source, accumulate = node.constants
    indices = node.tensors()
    by_target = by_source = None
    if node.needs(0):
        by_target = grad if accumulate else put_values(clone(grad), dims, indices, number(0), False)
    if node.needs(1):
        by_source = registry["sum_to_size"].function(index_values(grad, dims, indices), source.shape)
    return by_target, by_source


def fit_value(source, shape, what):
    """A value to be assigned, without leading dimensions of extent 1 that its target lacks.

    Raises:
        RuntimeError: it does not broadcast to `shape`.
    """
    have = source.layout.shape
    extra = max(0, len(have) - len(shape))
    kept = have[extra:]
    if any(n != 1 for n in have[:extra]) or any(n != m and n != 1 for n, m in zip(kept[::-1], shape[::-1])):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to {what} of shape {list(shape)}")
    return reshape(source, kept) if extra else source


# ---------------------------------------------------------------- one index tensor along one dimension
def _vector(name, index):
    if index.layout.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.layout.ndim} with type: "
                         f"{index.layout.dtype.name}, with size: {list(index.layout.shape)}")
    return index if index.layout.ndim else reshape(index, 1)


def _at_least_1d(x):
    return x if x.layout.ndim else unsqueeze(x, 0)


@method
def index_select(input, dim, index, *, out=None) -> Tensor:
    """The slices of a dimension that a vector of indices names, in its order.

    Raises:
        IndexError: an index out of bounds, or `index` has more than one dimension.
    """
    index = _vector("index_select", _check_index("index_select", index))
    dim = wrap_dim(dim, input.layout.ndim)
    result = index_values(_at_least_1d(input), (dim,), (index,))
    return _finish(out, result if input.layout.ndim else reshape(result, ()))


def _finish(out, result):
    return result if out is None else copy_(out, result.detach())


def _index_write(name, self, dim, index, source, accumulate):
    index = _vector(name, _check_index(name, index))
    dim = wrap_dim(dim, self.layout.ndim)
    if isinstance(source, Tensor) and not source.layout.weak:
        _same_dtype(name, self, source)
        wanted = (self.layout.shape[:dim] + index.layout.shape + self.layout.shape[dim + 1:]) if self.layout.ndim else ()
        if source.layout.ndim and source.layout.shape != wanted:
            raise IndexError(f"{name}(): Source/destination tensor must have same slice shapes. Expected source of shape "
                             f"{list(wanted)}, got {list(source.layout.shape)}")
    if self.layout.ndim:
        put_values(self, (dim,), (index,), source, accumulate)
    else:
        put_values(unsqueeze(self, 0), (0,), (index,), reshape(source, ()), accumulate)
    return self


@method
def index_copy_(self, dim, index, source):
    """Write the slices of `source` to the places in a dimension that `index` names, and return this tensor."""
    return _index_write("index_copy", self, dim, index, source, False)


@method
def index_add_(self, dim, index, source, *, alpha=1):
    """Add `alpha` times the slices of `source` at the places in a dimension that `index` names, and return this tensor."""
    return _index_write("index_add", self, dim, index, source if alpha == 1 else arithmetic.mul(source, alpha), True)


@method
def index_fill_(self, dim, index, value):
    """Set the slices of a dimension that `index` names to a number or 0-dim tensor, and return this tensor."""
    value = as_operand("index_fill_", value)
    if value.layout.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.layout.ndim} "
                           f"dimension(s).")
    return _index_write("index_fill", self, dim, index, to_dtype(value, self.layout.dtype), False)


index_copy = _out_of_place(index_copy_, "index_copy")
index_add = _out_of_place(index_add_, "index_add")
index_fill = _out_of_place(index_fill_, "index_fill")


# ---------------------------------------------------------------- gather and scatter
_gather_plans = new_plan_table()


def _plan_gather(layout, dim, index, out):
    if not index.numel:
        return (None,)
    return (kernels(layout.device, "gather").plan_gather(layout.dtype.itemsize, dim, layout.shape, layout.strides, index.shape,
                                                         index.strides, out.strides, index.dtype.kernel),)


def _check_gathered(name, shape, index, dim, ndim):
    if index.layout.ndim != len(shape):
        raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    for d, (n, m) in enumerate(zip(index.layout.shape, shape)):
        if d != dim and n > m:
            raise RuntimeError(f"Size does not match at dimension {d} expected index {list(index.layout.shape)} to be no larger than "
                               f"self {list(shape)} apart from dimension {dim}")


@method
def gather(input, dim, index, *, sparse_grad: bool = False, out=None) -> Tensor:
    """Elements along a dimension, one for each index: `out[i][j] = input[index[i][j]][j]` for dim 0.

    Args:
        index: of as many dimensions as `input`, no larger than it but along `dim`; int64.

    Raises:
        RuntimeError: the shapes do not fit, or a wrong dtype. IndexError: an index out of bounds.
    """
    _check_index("gather", index)
    dim = wrap_dim(dim, input.layout.ndim)
    if index.layout.numel == 0:
        return _finish(out, empty(Layout.of(input.layout.dtype, index.layout.shape, None, input.layout.device)))
    x, places = _at_least_1d(input), _at_least_1d(index)
    _check_gathered("input", x.layout.shape, places, dim, x.layout.ndim)
    key = (x.layout, dim, places.layout)
    result = empty(Layout.of(x.layout.dtype, places.layout.shape, None, x.layout.device))
    found = _gather_plans.get(key)
    if found is None:
        found = _gather_plans.keep(key, _plan_gather(x.layout, dim, places.layout, result.layout))
    _run(found[0], x, (places,), result, ((dim, x.layout.shape[dim]),))
    if recording(x) and x.layout.dtype.category >= 2:
        result.node = GraphNode("gather", (x.node,), (places,), _gather_vjp, (x.layout, dim))
    return _finish(out, result if index.layout.ndim else reshape(result, ()))


def _gather_vjp(node, grad):
    layout, dim = node.constants
    return (scatter_add_(filled(layout.dense(grad.layout.dtype), 0), dim, node.tensors()[0], grad),)


_scatter_plans = new_plan_table()


def _scatter_(name, self, dim, index, source, how):
    """self[index[i][j]][j] = source[i][j], or combined with it, for dim 0."""
    _check_index(name, index)
    dim = wrap_dim(dim, self.layout.ndim)
    source = as_operand(name, source)
    if source.layout.weak or (source.layout.ndim == 0 and index.layout.ndim):
        source = expand(to_dtype(source, self.layout.dtype), index.layout.shape)
    _same_dtype(name, self, source)
    if not index.layout.numel:
        return self
    target, places, values = (_at_least_1d(t) for t in (self, index, source))
    _check_gathered("self", target.layout.shape, places, dim, target.layout.ndim)
    if values.layout.ndim != places.layout.ndim or any(n > m for n, m in zip(places.layout.shape, values.layout.shape)):
        raise RuntimeError(f"Expected index {list(index.layout.shape)} to be no larger than src {list(source.layout.shape)}")
    graph = _begin_write(name, target, values)
    places, values = _apart(places, target), _apart(values, target)
    key = (target.layout, dim, places.layout, values.layout, how)
    prepared = _scatter_plans.get(key)
    if prepared is None:
        prepared = _scatter_plans.keep(key, kernels(target.layout.device, "gather").plan_scatter(
            target.layout.dtype.kernel, dim, target.layout.shape, target.layout.strides, places.layout.shape, places.layout.strides,
            values.layout.strides, how, places.layout.dtype.kernel))
    _run(prepared, target, (places,), values, ((dim, target.layout.shape[dim]),))
    _end_write(name, target, graph, (values,), (places,), _scatter_vjp, (dim, values.layout, how))
    return self


def _scatter_vjp(node, grad):
    dim, source, how = node.constants
    places, = node.tensors()
    by_target = by_source = None
    if how not in (None, "add"):
        raise NotImplementedError(f"scatter with reduce='{how}' is not differentiable; expected None or 'add'")
    if node.needs(0):
        by_target = grad if how == "add" else _scatter_("scatter", clone(grad), dim, places, number(0), None)
    if node.needs(1):
        by_source = gather(grad, dim, places)
        if source.shape != places.layout.shape:          # the part of src that was used
            region = Layout.of(source.dtype, places.layout.shape, source.dense().strides, source.device)
            by_source = place(by_source, source.dense(), region, 0)
    return by_target, by_source


_SCATTER_REDUCTIONS = {None: None, "add": "add", "multiply": "multiply"}
_REDUCTIONS = {"sum": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


@method
def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    """Write `src` (a tensor, or a number) to the places along a dimension that `index` names, and return this tensor.

    Args:
        reduce: None to overwrite, "add" or "multiply" to combine.

    Raises:
        RuntimeError: the shapes or dtypes do not fit. IndexError: an index out of bounds.
    """
    if reduce not in _SCATTER_REDUCTIONS:
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter_("scatter", self, dim, index, value if src is None else src, _SCATTER_REDUCTIONS[reduce])


@method
def scatter_add_(self, dim, index, src):
    """Add `src` at the places along a dimension that `index` names, and return this tensor."""
    return _scatter_("scatter_add", self, dim, index, src, "add")


@method
def scatter_reduce_(self, dim, index, src, reduce, *, include_self: bool = True):
    """Combine `src` into the places along a dimension that `index` names, and return this tensor.

    Args:
        reduce: "sum", "prod", "mean", "amax" or "amin"; only "sum" and "mean" have gradients.
        include_self: whether the elements that were there before count.
    """
    if reduce not in _REDUCTIONS and reduce != "mean":
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    if not include_self:
        start = {"prod": 1, "amax": _lowest(self.layout.dtype), "amin": _highest(self.layout.dtype)}.get(reduce, 0)
        scatter_(self, dim, index, start)
    _scatter_("scatter_reduce", self, dim, index, src, "add" if reduce == "mean" else _REDUCTIONS[reduce])
    if reduce == "mean":
        ones = filled(self.layout.dense(), 1 if include_self else 0)
        hits = scatter_add_(ones, dim, index, filled(src.layout.dense(), 1))
        count = arithmetic.clamp_low(hits, 1)
        copy_(self, self / count if self.layout.dtype.category >= 2 else arithmetic.floor_divide(self, count))
    return self


def _lowest(dtype):
    return float("-inf") if dtype.category == 2 else _integer_limits(dtype)[0]


def _highest(dtype):
    return float("inf") if dtype.category == 2 else _integer_limits(dtype)[1]


def _integer_limits(dtype):
    bits = dtype.itemsize * 8
    return (-2 ** (bits - 1), 2 ** (bits - 1) - 1) if dtype.is_signed else (0, 2 ** bits - 1)


scatter = _out_of_place(scatter_, "scatter")
scatter_add = _out_of_place(scatter_add_, "scatter_add")
scatter_reduce = _out_of_place(scatter_reduce_, "scatter_reduce")


@register
def value_selecting_backward(grad, dim, indices, shape, keepdim):
    """The gradient of picking one element along a dimension: `grad` at `indices` in zeros of `shape`."""
    if not shape:
        return reshape(grad, ())
    if not keepdim:
        grad, indices = unsqueeze(grad, dim), unsqueeze(indices, dim)
    zeros = filled(Layout.of(grad.layout.dtype, tuple(shape), None, grad.layout.device), 0)
    return scatter_(zeros, dim, indices, grad)


@method
def take(input, index) -> Tensor:
    """The elements at `index` of the flattened tensor, in the shape of `index`."""
    _check_index("take", index)
    return index_values(reshape(input, -1), (0,), (index,))


@method
def take_along_dim(input, indices, dim=None, *, out=None) -> Tensor:
    """`gather`, with `input` and `indices` broadcast against each other but along `dim`; flattened without a dim."""
    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1), out=out)
    if input.layout.ndim != indices.layout.ndim:
        raise RuntimeError(f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
                           f"{input.layout.ndim} dimensions for input, and {indices.layout.ndim} dimensions for indices")
    dim = wrap_dim(dim, input.layout.ndim)
    common = list(broadcast_shapes(*[s[:dim] + (1,) + s[dim + 1:] for s in (input.layout.shape, indices.layout.shape)]))
    shapes = [(*common[:dim], t.layout.shape[dim], *common[dim + 1:]) for t in (input, indices)]
    return gather(expand(input, shapes[0]), dim, expand(indices, shapes[1]), out=out)


# ---------------------------------------------------------------- embedding
@register
def embedding(weight, indices, padding_idx: int = -1, scale_grad_by_freq: bool = False) -> Tensor:
    """Rows of `weight` (V, D) by an integer tensor of any shape (*): (*, D).

    Args:
        padding_idx: a row that gets no gradient; -1 for none.
        scale_grad_by_freq: divide a row's gradient by how often it was named.

    Raises:
        IndexError: an index that is negative or not below V.
    """
    _check_index("embedding", indices)
    layout = weight.layout
    if layout.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {layout.ndim}-D")
    plan = _index_plan(layout, (0,), (indices,))
    out = empty(plan.out)
    if plan.prepared is not None:
        _run(plan.prepared, weight, (indices,), out, plan.bounds, "index out of range in self")
    if recording(weight):
        out.node = GraphNode("embedding", (weight.node,), (indices,), _embedding_vjp, (layout, padding_idx, scale_grad_by_freq))
    return out


def _embedding_vjp(node, grad):
    layout, padding, by_frequency = node.constants
    indices, = node.tensors()
    if padding >= 0:
        grad = arithmetic.where(unsqueeze(comparison.eq(indices, padding), -1), 0, grad)
    if by_frequency:
        counts = filled(Layout.of(grad.layout.dtype, layout.shape[:1], None, layout.device), 0)
        one = filled(Layout.of(grad.layout.dtype, (), None, layout.device), 1)
        put_values(counts, (0,), (indices,), one, True)
        grad = grad / unsqueeze(index_values(counts, (0,), (indices,)), -1)
    return (_spread(grad, layout, (0,), (indices,)),)


# ---------------------------------------------------------------- masks
_mask_plans = new_plan_table()


def _mask_plan(kind, device, *arguments):
    key = (kind, device, *arguments)
    found = _mask_plans.get(key)
    return found if found is not None else _mask_plans.keep(key, getattr(kernels(device, "gather"), kind)(*arguments))


def _count_true(mask):
    prepared = _mask_plan("plan_count_nonzero", mask.layout.device, mask.layout.numel)
    count = empty(Layout.of(int64, (), None, mask.layout.device))
    prepared.call(mask.address, count.address, prepared.walk)
    return count.item()


def _as_mask(x):
    return contiguous(x if x.layout.dtype is bool_ else comparison.ne(x, 0))


@register
@method
def nonzero(input, *, as_tuple: bool = False):
    """The indices of elements that are not zero, row-major: (count, ndim), or one vector a dimension with `as_tuple`."""
    mask = _as_mask(input)
    if as_tuple and not mask.layout.ndim:
        mask = reshape(mask, 1)
    shape = mask.layout.shape
    out = empty(Layout.of(int64, (_count_true(mask), len(shape)), None, mask.layout.device))
    if out.layout.numel:
        prepared = _mask_plan("plan_nonzero", mask.layout.device, shape)
        prepared.call(mask.address, out.address, prepared.walk)
    if not as_tuple:
        return out
    column = Layout.of(int64, out.layout.shape[:1], (len(shape),), mask.layout.device)
    return tuple([view_of(out, column, d) for d in range(len(shape))])


def _both(name, input, mask):
    if mask.layout.dtype not in (bool_, uint8):
        raise RuntimeError(f"{name}: expected BoolTensor for mask, got {mask.layout.dtype.name}")
    return _as_mask(mask)


@method
def masked_select(input, mask, *, out=None) -> Tensor:
    """The elements where the mask holds, in one dimension; the two are broadcast against each other."""
    mask = _both("masked_select", input, mask)
    if input.layout.shape != mask.layout.shape:
        shape = broadcast_shapes(input.layout.shape, mask.layout.shape)
        input, mask = expand(input, shape), contiguous(expand(mask, shape))
    return _finish(out, select_true(input, mask))


def select_true(x, mask):
    """x where a contiguous bool mask of its shape holds."""
    x = contiguous(x)
    layout = x.layout
    out = empty(Layout.of(layout.dtype, (_count_true(mask),), None, layout.device))
    prepared = _mask_plan("plan_masked_select", layout.device, layout.dtype.itemsize, layout.numel)
    prepared.call(x.address, mask.address, out.address, prepared.walk)
    if x.node is not None and recording(x) and layout.dtype.category >= 2:
        out.node = GraphNode("masked_select", (x.node,), (mask,), _select_true_vjp, layout)
    return out


def _select_true_vjp(node, grad):
    return (masked_scatter_(filled(node.constants.dense(), 0), node.tensors()[0], grad),)


@method
def masked_scatter_(self, mask, source):
    """Write the elements of `source`, in order, to where the mask holds, and return this tensor.

    Raises:
        RuntimeError: `source` has too few elements or another dtype.
    """
    mask = _both("masked_scatter_", self, mask)
    if source.layout.dtype is not self.layout.dtype:
        raise RuntimeError(f"masked_scatter_: expected self and source to have same dtypes but got {self.layout.dtype.name} and "
                           f"{source.layout.dtype.name}")
    if mask.layout.shape != self.layout.shape:
        mask = contiguous(expand(mask, self.layout.shape))
    if source.layout.numel < _count_true(mask):
        raise RuntimeError(f"Number of elements of source < number of ones in mask ({source.layout.numel} < {_count_true(mask)})")
    graph = _begin_write("masked_scatter", self, source)
    source, mask = contiguous(_apart(source, self)), _apart(mask, self)
    target = contiguous(self.detach())
    prepared = _mask_plan("plan_masked_scatter", target.layout.device, target.layout.dtype.itemsize, target.layout.numel)
    prepared.call(target.address, mask.address, source.address, prepared.walk)
    if target.storage is not self.storage:
        copy_(self.detach(), target)
    return _end_write("masked_scatter", self, graph, (source,), (mask,), _masked_scatter_vjp, source.layout)


def _masked_scatter_vjp(node, grad):
    source, (mask,) = node.constants, node.tensors()
    by_target = arithmetic.where(mask, 0, grad) if node.needs(0) else None
    if not node.needs(1):
        return by_target, None
    used = select_true(grad, mask)
    if used.layout.numel != source.numel:
        used = place(used, Layout.of(source.dtype, (source.numel,), None, source.device), used.layout, 0)
    return by_target, view(used, source.shape)


masked_scatter = _out_of_place(masked_scatter_, "masked_scatter")


@pointwise(bool_operands=("mask",), methods=False)
def replace_where(x, mask, value):
    """`value` where the mask holds, else x; in place, it writes to x."""
    return select(mask, value, x)


@replace_where.derivative
def _(grad, mask):
    return arithmetic.where(mask, 0, grad), 0, arithmetic.where(mask, grad, 0)
