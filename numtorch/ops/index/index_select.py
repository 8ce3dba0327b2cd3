"""Reading and writing by index tensors: `index_values` and `put_values`, and index_select and its kin on them.

`x[...]` itself is in ops/index/index.py, gather and scatter in ops/index/gather_scatter.py, embeddings in ops/nn/embedding.py,
masks in ops/index/mask.py.
"""
from __future__ import annotations

from functools import partial

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes
from ...autograd.writes import mark_written
from ...dtypes import bool_, float32
from ...exchange.scalars import number
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes, broadcast_strides, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import expect_layout, numpy_keywords, required_dim
from ..core.backends import kernels
from ..core.operands import common_device, layout_of, method
from ..core.primitive import Primitive, derivative_of, miss, not_a_tensor, primitives
from ..memory.assign import ZERO, filled, filled_from
from ..memory.copies import clone, to_device, to_dtype
from ..memory.resize import into_exactly
from ..memory.writing import into_fresh, share_memory
from ..pointwise import arithmetic
from ..reduce.reductions import sum_to_size
from ..shape.views import reshape, unsqueeze
from . import widened
from .index_op import (
    RULES,
    apart,
    begin_write,
    check_index,
    check_index_dtypes,
    end_write,
    look_first,
    number_like,
    out_of_place,
    run_indexed,
    same_dtype,
)

_WRITES = primitives("index_put", "index_add", "index_copy", "put", "index_reduce",
                     samples=("T[3, 4], T[2, 4], int64([2, 0]); (0,), None, 'index'",
                              "T[3, 4], T[2, 4], int64([2, 0]); (0,), 'add', 'additions'"))
_WRITES["index_fill"] = Primitive("index_fill", samples="T[3, 4], T[()], int64([2, 0]); (0,), None, 'index'")

_INDEX = Primitive("index", "Elements where index tensors point, of some dimensions.",
                   samples=("T[3, 4], int64([2, 0]); (1,), 'index'", "T[3, 4], int64([2, 0]), int64([1, -1]); (0, 1), 'index'"))
_INDEX_BACKWARD = Primitive("index_backward", "Zeros with a tensor added where index tensors point.",
                            samples="T[2, 4], int64([2, 0]); T[3, 4].layout, (0,)")
_INDEX_SELECT = Primitive("index_select", samples="T[3, 4], int64([2, 0]); 1")


# ---------------------------------------------------------------- several index tensors at once
class IndexPlan:
    """What `x[index, ...]`, read or written, must know: the result's layout, the dimensions, which of the result's strides belong
    to the index tensors and which to the rest, the bounds of indices and what is said of a bad one, and the kernel."""

    __slots__ = ("out", "dims", "first", "rank", "geometry", "bounds", "wrap", "complaint", "prepared", "index_dtype", "written",
                 "wide")

    def __init__(self, layout, dims, layouts, rule):
        try:
            shape = broadcast_shapes(*[each.shape for each in layouts])
        except RuntimeError:
            listed = ", ".join(str(list(each.shape)) for each in layouts)
            raise IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}") from None
        if 0 not in shape:
            check_index_dtypes(rule, layouts)
        dims = self.dims = tuple([wrap_dim(d, layout.ndim) for d in dims])
        rest = [d for d in range(layout.ndim) if d not in dims]
        kept = tuple([layout.shape[d] for d in rest])
        self.first, self.rank = _place_of(dims), len(shape)
        self.wrap, self.complaint = RULES[rule]
        self.out = Layout.of(layout.dtype, kept[:self.first] + shape + kept[self.first:], None, layout.device)
        self.bounds = tuple([(d, layout.shape[d], -layout.shape[d] if self.wrap else 0) for d in dims])
        self.index_dtype = layouts[0].dtype.kernel
        self.geometry = (shape, [broadcast_strides(each, shape) for each in layouts], [layout.shape[d] for d in dims],
                         [layout.strides[d] for d in dims], kept, [layout.strides[d] for d in rest])
        self.prepared, self.written, self.wide = NOTHING, 0 if 0 in shape else self.out.numel, False

    def split(self, strides):
        """Strides over the result, as (those of the index tensors' dimensions, the others)."""
        first, stop = self.first, self.first + self.rank
        return strides[first:stop], strides[:first] + strides[stop:]


def _place_of(dims):
    """Where the index tensors' dimensions stand: in the place of those they index when these are neighbours, else first."""
    return dims[0] if dims == tuple(range(dims[0], dims[0] + len(dims))) else 0


def plan_indices(layout, dims, layouts, rule):
    """How `dims` of a layout are read by index tensors."""
    plan = IndexPlan(layout, dims, layouts, rule)
    if 0 not in plan.geometry[0]:
        plan.prepared = kernels(layout.device, "index.gather").plan_index(
            layout.dtype.itemsize, *plan.geometry, *plan.split(plan.out.strides), plan.index_dtype, plan.wrap)
    return plan


@_INDEX.planned
def _plan_index(layout, *call):
    *layouts, dims, rule = call
    return plan_indices(layout, dims, layouts, rule)


def index_values(x: Tensor, dims: tuple, indices, rule="index") -> Tensor:
    """x with `dims` indexed by index tensors of one dtype (int64, or a single int32), broadcast against each other.

    Their dimensions stand where `dims` stood when those are neighbours, else first. `rule`: see `RULES`.
    """
    key = (x.layout, indices[0].layout, dims, rule) if len(indices) == 1 else (x.layout, *[i.layout for i in indices], dims, rule)
    plan = _INDEX.plans.get(key)
    if plan is None:
        return miss(_INDEX, (x, *indices), (dims, rule))
    out = empty(plan.out)
    run_indexed(plan.prepared, x, indices, out, plan.bounds, plan.complaint)
    if x.node is not None and modes.grad and x.layout.dtype.category >= 2:
        out.node = GraphNode(_INDEX, (x.node,), indices, (x.layout, plan.dims))
    return out


_INDEX.execute = lambda plan, x, *call: index_values(x, call[-2], call[:-2], call[-1])


@derivative_of(_INDEX, _INDEX_SELECT)
def _index_vjp(node, grad, *indices):
    if node.primitive is _INDEX_SELECT and widened.is_needed(grad.layout, "add"):
        return (to_dtype(spread(to_dtype(grad, float32), *node.attributes, indices), grad.layout.dtype),)
    return (spread(grad, *node.attributes, indices),)


def spread(grad, layout, dims, indices):
    """Zeros of the indexed tensor's shape, with `grad` added where the indices point: the gradient of `index_values`."""
    key = (grad.layout, *[i.layout for i in indices], layout, dims)
    plan = _INDEX_BACKWARD.plans.get(key)
    if plan is None:
        return miss(_INDEX_BACKWARD, (grad, *indices), (layout, dims))
    out = filled_from(plan.out, ZERO)
    run_indexed(plan.prepared, out, indices, grad, plan.bounds)
    if recording(grad):
        out.node = GraphNode(_INDEX_BACKWARD, (grad.node,), indices, dims)
    return out


_INDEX_BACKWARD.execute = lambda plan, grad, *call: spread(grad, call[-2], call[-1], call[:-2])


@_INDEX_BACKWARD.planned
def _plan_spread(grad, *call):
    *layouts, layout, dims = call
    dense = layout.dense(grad.dtype)
    plan = _plan_put(dense, grad, *layouts, dims, "add", "index")
    plan.out = dense
    return plan


@_INDEX_BACKWARD.derivative
def _spread_vjp(node, grad, *indices):
    return (index_values(grad, node.attributes, indices),)


# ---------------------------------------------------------------- written
def _plan_put(layout, source, *call):
    *layouts, dims, reduce, rule = call
    plan = IndexPlan(layout, dims, layouts, rule)
    expect_layout("index_put", "source", source, None, layout.dtype)
    if broadcast_shapes(source.shape, plan.out.shape) != plan.out.shape:
        raise RuntimeError(f"index_put: expected a source that broadcasts to {list(plan.out.shape)}, got {list(source.shape)}")
    if not plan.written:
        return plan
    if rule in ("index_add", "additions", "index_reduce"):
        wide, layout, source = widened.layouts(layout, source, reduce)
        if wide:
            plan = IndexPlan(layout, dims, layouts, rule)
            plan.wide = True
    family, geometry = kernels(layout.device, "index.gather"), plan.geometry
    count, width = geometry[0][0] if plan.rank == 1 else 0, layout.strides[0] if layout.ndim else 0
    if reduce == "add" and plan.dims == (0,) and layout.contiguous and source.contiguous and source.numel == count * width \
            and layouts[0].contiguous and layout.dtype.category == 2 and source.shape == plan.out.shape:
        plan.prepared = family.plan_embedding_grad(layout.dtype.kernel, layout.shape[0], width, count, plan.index_dtype, plan.wrap)
    else:
        strides = plan.split(broadcast_strides(source, plan.out.shape))
        plan.prepared = family.plan_index_put(layout.dtype.kernel, *geometry, *strides, reduce, plan.index_dtype, plan.wrap)
    return plan


def _fitted(x, dims, indices, source):
    """A source as it can be written: a number on the target's device, of its dtype, without leading dimensions that this lacks."""
    layout = x.layout
    if not source.layout.ndim:
        source = to_device(source, common_device("index_put_", (layout, source.layout)))
    if source.layout.weak:
        source = to_dtype(source, layout.dtype)
    elif source.layout.dtype is not layout.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {layout.dtype.name} for the "
                           f"destination and {source.layout.dtype.name} for the source.")
    if source.layout.ndim:
        shape = IndexPlan(layout, dims, [i.layout for i in indices], "index").out.shape
        if source.layout.shape != shape:
            source = fit_value(source, shape)
    return source


def put_values(x: Tensor, dims: tuple, indices, source: Tensor, accumulate: bool) -> Tensor:
    """Write `source`, broadcast, to where index tensors point, or add it there; recorded.

    Raises:
        RuntimeError: `source` does not broadcast to the indexed shape, or has another dtype.
    """
    return _put(_WRITES["index_put"], x, dims, indices, source, "add" if accumulate else None, "index")


def _put(primitive, x, dims, indices, source, reduce, rule):
    storage = x.memory
    if not isinstance(source, Tensor):
        raise not_a_tensor(primitive.name, source, "source", 3)
    if share_memory(source, x):                          # before it is planned: a copy may lie differently
        source = apart(source, x)
    for each in indices:
        if share_memory(each, x):
            indices = [apart(i, x) for i in indices]
            break
    if len(indices) == 1:
        plan = primitive.plans.get((x.layout, source.layout, indices[0].layout, dims, reduce, rule))
    else:
        plan = primitive.plans.get((x.layout, source.layout, *[i.layout for i in indices], dims, reduce, rule))
    if plan is None:
        fitted = _fitted(x, dims, indices, source)
        if fitted is not source:
            return _put(primitive, x, dims, indices, fitted, reduce, rule)
        return miss(primitive, (x, source, *indices), (dims, reduce, rule))
    plain = x.node is None and source.node is None and x.layout.contiguous and not storage.inference
    graph = False if plain else begin_write(primitive.name, x, source)
    look_first(x, indices, plan.bounds, plan.written, plan.complaint)
    (widened.run if plan.wide else run_indexed)(plan.prepared, x, indices, source, plan.bounds, plan.complaint)
    if plain:
        mark_written(storage, primitive.name + "_")
        return x
    return end_write(primitive, x, graph, (source,), indices, (plan.dims, source.layout, reduce))


def _execute_put(primitive, plan, x, source, *call):
    *indices, dims, reduce, rule = call
    return _put(primitive, x, dims, indices, source, reduce, rule)


for _primitive in _WRITES.values():
    _primitive.plan, _primitive.execute = _plan_put, partial(_execute_put, _primitive)


@derivative_of(*[write for name, write in _WRITES.items() if name not in ("index_fill", "index_reduce")])
def _put_vjp(node, grad, *indices):
    dims, source, reduce = node.attributes
    by_target = by_source = None
    if node.needs(0):
        by_target = grad if reduce else put_values(clone(grad), dims, indices, number(0), False)
    if node.needs(1):
        by_source = sum_to_size(index_values(grad, dims, indices), source.shape)
    return by_target, by_source


@derivative_of(_WRITES["index_fill"])
def _fill_vjp(node, grad, index):
    """As `_put_vjp`, but what is filled counts once, however often the index names it."""
    ((dim,), _, _), layout = node.attributes, grad.layout
    by_target = put_values(clone(grad), (dim,), (index,), number(0), False) if node.needs(0) else None
    if not node.needs(1):
        return by_target, None
    nowhere = filled(Layout.of(bool_, layout.shape[dim:dim + 1], None, layout.device), False)
    filled_places = into_fresh(put_values, nowhere, (0,), (index,), number(True), False)
    mask = reshape(filled_places, (-1, *(1,) * (layout.ndim - 1 - dim)))
    return by_target, sum_to_size(arithmetic.where(mask, grad, 0))


def fit_value(source, shape):
    """A value to be assigned, without leading dimensions of extent 1 that its target lacks.

    Raises:
        RuntimeError: it does not broadcast to `shape`.
    """
    have = source.layout.shape
    extra = max(0, len(have) - len(shape))
    kept = have[extra:]
    if any(n != 1 for n in have[:extra]) or any(n != m and n != 1 for n, m in zip(kept[::-1], shape[::-1])):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape "
                           f"{list(shape)}")
    return reshape(source, kept) if extra else source


# ---------------------------------------------------------------- one index tensor along one dimension
def _vector(name, index):
    if index.layout.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.layout.ndim} with type: "
                         f"{index.layout.dtype.name}, with size: {list(index.layout.shape)}")
    return index if index.layout.ndim else reshape(index, 1)


@method
def index_select(input, dim=None, index=None, *, axis=None, out=None) -> Tensor:
    """The slices of a dimension that a vector of indices names, in its order.

    Args:
        input: of any dtype.
        dim, axis: the dimension of the slices, under PyTorch's name or NumPy's.
        index: (n,) int64 or int32; negative ones do not count from the end.
        out: a tensor to write the result to.

    Returns:
        The input's shape with n in place of the dimension's extent.

    Raises:
        IndexError: an index out of bounds, or `index` has more than one dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2, 3], [4, 5, 6]]).index_select(1, torch.tensor([2, 0]))
        tensor([[3, 1],
                [6, 4]])
    """
    try:
        plan = _INDEX_SELECT.plans.get((input.layout, index.layout, dim))
    except AttributeError:
        plan = None
    if plan is None or dim.__class__ is not int:
        result = _first_select(input, required_dim("index_select", axis) if dim is None else dim, index)
    else:
        result = _select_rows(plan, input, index, dim)
    return result if out is None else into_exactly("index_select", out, result, input, index)


def _first_select(input, dim, index):
    """`index_select` of what has no plan: of a 0-dim tensor or index, as vectors."""
    vector = _vector("index_select", check_index("index_select", index))
    if layout_of("index_select", input).ndim:
        return miss(_INDEX_SELECT, (input, vector), (dim,))
    wrap_dim(dim, 0)
    return reshape(miss(_INDEX_SELECT, (reshape(input, 1), vector), (0,)), ())


@_INDEX_SELECT.planned
def _plan_select(layout, index, dim):
    return plan_indices(layout, (dim,), [index], "index_select")


def _select_rows(plan, input, index, dim):
    out = empty(plan.out)
    run_indexed(plan.prepared, input, (index,), out, plan.bounds, plan.complaint)
    if input.node is not None and modes.grad and input.layout.dtype.category >= 2:
        out.node = GraphNode(_INDEX_SELECT, (input.node,), (index,), (input.layout, plan.dims))
    return out


_INDEX_SELECT.execute = _select_rows


def _index_write(name, self, dim, index, source, reduce, rule):
    primitive = _WRITES[name]
    try:
        known = (self.layout, source.layout, index.layout, (dim,), reduce, rule) in primitive.plans
    except AttributeError:
        known = False
    if known and dim.__class__ is int:
        return _put(primitive, self, (dim,), (index,), source, reduce, rule)
    vector = _vector(name, check_index(name, index))
    dims = (wrap_dim(dim, self.layout.ndim),)
    if name == "index_copy" and layout_of(name, source, "source", 3).ndim and self.layout.ndim not in (0, source.layout.ndim):
        raise IndexError(f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                         f"dimensionality ({source.layout.ndim}), destination dimensionality ({self.layout.ndim})")
    if isinstance(source, Tensor) and not source.layout.weak:
        same_dtype(name, self, source)
        wanted = (self.layout.shape[:dims[0]] + vector.layout.shape + self.layout.shape[dims[0] + 1:]) if self.layout.ndim else ()
        if source.layout.ndim and source.layout.shape != (wanted if self.layout.ndim else (1,)):
            slices = [shape[:dims[0]] + shape[dims[0] + 1:] for shape in (source.layout.shape, wanted)]
            kind = IndexError if name == "index_copy" and slices[0] == slices[1] else RuntimeError       # PyTorch's
            raise kind(f"{name}(): Source/destination tensor must have same slice shapes. Expected source of shape {list(wanted)}, "
                       f"got {list(source.layout.shape)}")
    if self.layout.ndim:
        _put(primitive, self, (dim if type(dim) is int else dims[0],), (vector,), source, reduce, rule)
    else:
        _put(primitive, unsqueeze(self, 0), (0,), (vector,), reshape(source, ()), reduce, rule)
    return self


@method
@numpy_keywords
def index_copy_(self, dim, index, source) -> Tensor:
    """Write the slices of `source` to the places in a dimension that `index` names, and return this tensor.

    Args:
        dim: the dimension of the slices.
        index: (n,) int64 or int32; of equal ones the last wins.
        source: this tensor's shape with n in place of the dimension's extent, and its dtype.

    Raises:
        IndexError: an index out of bounds, or shapes that do not fit.
        RuntimeError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3.]).index_copy_(0, torch.tensor([2, 0]), torch.tensor([7., 8.]))
        tensor([8., 2., 7.])
    """
    return _index_write("index_copy", self, dim, index, source, None, "index_copy")


@method
def index_add_(self, dim=None, index=None, source=None, *, alpha=1, axis=None) -> Tensor:
    """Add `alpha` times the slices of `source` at the places in a dimension that `index` names, and return this tensor.

    Args:
        dim, index, source: as for `index_copy_`; at equal indices all are added.
        alpha: a number.
        axis: NumPy's name for `dim`.

    Raises:
        IndexError: an index out of bounds (RuntimeError in more than one dimension), or shapes that do not fit.
        RuntimeError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3.]).index_add_(0, torch.tensor([2, 0]), torch.tensor([7., 8.]))
        tensor([ 9.,  2., 10.])
    """
    source = source if alpha == 1 else arithmetic.mul(source, number_like("index_add_", alpha, self.layout))
    dim = required_dim("index_add_", axis) if dim is None else dim
    return _index_write("index_add", self, dim, index, source, "add", "index_add" if self.layout.ndim < 2 else "additions")


@method
@numpy_keywords
def index_fill_(self, dim, index, value) -> Tensor:
    """Set the slices of a dimension that `index` names, and return this tensor.

    Args:
        dim: the dimension of the slices.
        index: (n,) int64 or int32; negative ones count from the end.
        value: a number or a 0-dim tensor.

    Raises:
        IndexError: an index out of bounds.
        RuntimeError: a value with dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3.]).index_fill_(0, torch.tensor([2, 0]), 9.0)
        tensor([9., 2., 9.])
    """
    value = number_like("index_fill_", value, self.layout)
    if value.layout.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)")
    return _index_write("index_fill", self, dim, index, value, None, "index")


def combine_slices(x, dim, index, source, how):
    """Slices combined with those of a dimension that a vector of indices names; of tensors without a history."""
    _put(_WRITES["index_reduce"], x, (dim,), (index,), source, how, "index_reduce")


index_copy = out_of_place(index_copy_, "index_copy")
index_add = out_of_place(index_add_, "index_add")
index_fill = out_of_place(index_fill_, "index_fill")


def put_flat(self, index, source, reduce):
    """Write to places of a vector, counted from the end where they are negative."""
    return _put(_WRITES["put"], self, (0,), (index,), source, reduce, "flattened")
