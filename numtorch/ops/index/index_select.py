"""Reading and writing by index tensors: `index_values` and `put_values`, and index_select and its kin, take and put on them.

`x[...]` itself is in ops/index/index.py, gather and scatter in ops/index/gather_scatter.py, embeddings in ops/nn/embedding.py,
masks in ops/index/mask.py.
"""
from __future__ import annotations

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes
from ...autograd.writes import mark_written
from ...dtypes import bool_
from ...layout import Layout, broadcast_shapes, broadcast_strides, wrap_dim
from ...scalars import number
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import as_operand, layout_of, method
from ..core.primitive import Primitive, derivative_of, new_plan_table, not_a_tensor, primitives
from ..memory.assign import copy_, filled
from ..memory.copies import clone, to_dtype
from ..memory.writing import share_memory
from ..pointwise import arithmetic
from ..reduce.reductions import sum_to_size
from ..shape.views import reshape, unsqueeze, view
from .index_op import (
    apart,
    at_least_1d,
    begin_write,
    check_index,
    end_write,
    finish,
    into_fresh,
    look_first,
    out_of_bounds,
    out_of_place,
    run_indexed,
    same_dtype,
)

_WRITES = primitives("index_put", "index_add", "index_copy", "index_fill", "put")

_INDEX = Primitive("index")
_INDEX_BACKWARD = Primitive("index_backward")


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


def plan_indices(layout, dims, layouts, wrap):
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
    plan.bounds = tuple((d, layout.shape[d], -layout.shape[d] if wrap else 0) for d in dims)
    plan.index_dtype = layouts[0].dtype.kernel
    plan.geometry = (shape, [broadcast_strides(each, shape) for each in layouts], [layout.shape[d] for d in dims],
                     [layout.strides[d] for d in dims], kept, [layout.strides[d] for d in rest])
    plan.prepared = None
    if 0 not in shape:
        plan.prepared = kernels(layout.device, "index.gather").plan_index(layout.dtype.itemsize, *plan.geometry,
                                                                    *plan.split(plan.out.strides), plan.index_dtype, wrap)
    return plan


def index_plan(layout, dims, indices, wrap=True):
    key = (layout, dims, indices[0].layout, wrap) if len(indices) == 1 else (layout, dims, *[i.layout for i in indices])
    plan = _index_plans.get(key)
    return plan if plan is not None else _index_plans.keep(key, plan_indices(layout, dims, [i.layout for i in indices], wrap))


def index_values(x: Tensor, dims: tuple, indices, wrap=True, complaint=out_of_bounds) -> Tensor:
    """x with `dims` indexed by index tensors of one dtype (int64, or a single int32), broadcast against each other.

    Their dimensions stand where `dims` stood when those are neighbours, else first. `wrap`: whether negative indices count from
    the end, as they do but where there is one index tensor.
    """
    plan = index_plan(x.layout, dims, indices, wrap)
    out = empty(plan.out)
    if plan.prepared is not None:
        run_indexed(plan.prepared, x, indices, out, plan.bounds, complaint)
    if x.node is not None and modes.grad and x.layout.dtype.category >= 2:
        out.node = GraphNode(_INDEX, (x.node,), indices, (x.layout, dims))
    return out


@_INDEX.derivative
def _index_vjp(node, grad):
    return (spread(grad, *node.attributes, node.tensors()),)


def spread(grad, layout, dims, indices):
    """Zeros of the indexed tensor's shape, with `grad` added where the indices point: the gradient of `index_values`."""
    out = filled(layout.dense(grad.layout.dtype), 0)
    into_fresh(write_values, out, dims, indices, grad, "add")
    if recording(grad):
        out.node = GraphNode(_INDEX_BACKWARD, (grad.node,), indices, dims)
    return out


@_INDEX_BACKWARD.derivative
def _spread_vjp(node, grad):
    return (index_values(grad, node.attributes, node.tensors()),)


def _plan_put(layout, dims, indices, source, reduce, wrap):
    plan = index_plan(layout, dims, indices, wrap)
    if 0 in plan.out.shape[plan.first:plan.first + plan.rank]:
        return None, plan.bounds, 0
    family, geometry = kernels(layout.device, "index.gather"), plan.geometry
    count, width = geometry[0][0] if plan.rank == 1 else 0, layout.strides[0] if layout.ndim else 0
    if reduce == "add" and dims == (0,) and layout.contiguous and source.contiguous and source.numel == count * width \
            and indices[0].layout.contiguous and layout.dtype.category == 2 and source.shape == plan.out.shape:
        prepared = family.plan_embedding_grad(layout.dtype.kernel, layout.shape[0], width, count, plan.index_dtype, wrap)
    else:
        prepared = family.plan_index_put(layout.dtype.kernel, *geometry, *plan.split(broadcast_strides(source, plan.out.shape)),
                                         reduce, plan.index_dtype, wrap)
    return prepared, plan.bounds, plan.out.numel


def _put_key(x, dims, indices, source, reduce, wrap):
    if not isinstance(source, Tensor):
        raise not_a_tensor(f"index_{reduce or 'copy'}", source, "source", 3)
    if len(indices) == 1:
        return x.layout, dims, source.layout, reduce, wrap, indices[0].layout
    return x.layout, dims, source.layout, reduce, wrap, *[i.layout for i in indices]


def write_values(x, dims, indices, source, reduce, wrap=True, complaint=out_of_bounds):
    """x[indices] = source, or combined with it. No tape, no checks but the indices'."""
    _run_put(_put_plan(x, dims, indices, source, reduce, wrap), x, indices, source, complaint)


def _put_plan(x, dims, indices, source, reduce, wrap):
    """The kernel of a write, the indices' bounds, and how many elements it writes."""
    key = _put_key(x, dims, indices, source, reduce, wrap)
    return _put_plans.get(key) or _put_plans.keep(key, _plan_put(x.layout, dims, indices, source.layout, reduce, wrap))


def _run_put(plan, x, indices, source, complaint):
    prepared, bounds, written = plan
    if prepared is not None:
        look_first(x, indices, bounds, written, complaint)
        run_indexed(prepared, x, indices, source, bounds, complaint)


def _fitted(x, dims, indices, source):
    """A source as it can be written: of the target's dtype, without leading dimensions that this lacks."""
    layout = x.layout
    shape = index_plan(layout, dims, indices).out.shape
    if source.layout.weak:
        source = to_dtype(source, layout.dtype)
    elif source.layout.dtype is not layout.dtype:
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {layout.dtype.name} for the "
                           f"destination and {source.layout.dtype.name} for the source.")
    if source.layout.ndim and source.layout.shape != shape:
        source = fit_value(source, shape, "indexing result")
    return source


def put_values(x: Tensor, dims: tuple, indices, source: Tensor, accumulate: bool, name="index_put", wrap=True,
               complaint=out_of_bounds) -> Tensor:
    """Write `source`, broadcast, to where index tensors point, or add it there; recorded. `wrap` as for `index_values`.

    Raises:
        RuntimeError: `source` does not broadcast to the indexed shape, or has another dtype.
    """
    reduce, storage = "add" if accumulate else None, x.storage
    if isinstance(source, Tensor) and share_memory(source, x):       # before it is planned: a copy may lie differently
        source = apart(source, x)
    for each in indices:
        if share_memory(each, x):
            indices = [apart(i, x) for i in indices]
            break
    found = _put_plans.get(_put_key(x, dims, indices, source, reduce, wrap))
    if found is None:
        source = _fitted(x, dims, indices, source)
        found = _put_plan(x, dims, indices, source, reduce, wrap)
    plain = x.node is None and source.node is None and x.layout.contiguous and not storage.inference
    graph = False if plain else begin_write(name, x, source)
    _run_put(found, x, indices, source, complaint)
    if plain:
        mark_written(storage, name + "_")
        return x
    return end_write(_WRITES[name], x, graph, (source,), indices, (dims, source.layout, accumulate))


@derivative_of(*[write for name, write in _WRITES.items() if name != "index_fill"])
def _put_vjp(node, grad):
    dims, source, accumulate = node.attributes
    indices = node.tensors()
    by_target = by_source = None
    if node.needs(0):
        by_target = grad if accumulate else put_values(clone(grad), dims, indices, number(0), False)
    if node.needs(1):
        by_source = sum_to_size(index_values(grad, dims, indices), source.shape)
    return by_target, by_source


@derivative_of(_WRITES["index_fill"])
def _fill_vjp(node, grad):
    """As `_put_vjp`, but what is filled counts once, however often the index names it."""
    (dim,), _, _ = node.attributes
    (index,), layout = node.tensors(), grad.layout
    by_target = put_values(clone(grad), (dim,), (index,), number(0), False) if node.needs(0) else None
    if not node.needs(1):
        return by_target, None
    extent = layout.shape[dim]
    filled_places = put_values(filled(Layout.of(bool_, (extent,), None, layout.device), False), (0,), (index,), number(True), False)
    mask = reshape(filled_places, (extent, *(1,) * (layout.ndim - 1 - dim)))
    return by_target, sum_to_size(arithmetic.where(mask, grad, 0))


def fit_value(source, shape, what):
    """A value to be assigned, without leading dimensions of extent 1 that its target lacks.

    Raises:
        RuntimeError: it does not broadcast to `shape`.
    """
    have = source.layout.shape
    extra = max(0, len(have) - len(shape))
    kept = have[extra:]
    if any(n != 1 for n in have[:extra]) or any(n != m and n != 1 for n, m in zip(kept[::-1], shape[::-1])):
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to {what} of shape "
                           f"{list(shape)}")
    return reshape(source, kept) if extra else source


# ---------------------------------------------------------------- one index tensor along one dimension
def out_of_self(name):
    """What embedding and its kin say of a bad index: negative ones do not count from the end."""
    def complaint(index, position, dim, size):
        return IndexError(f"index out of range in self ({name}: expected 0 <= index < {size} for dimension {dim}, got {index})")
    return complaint


def _beyond_flattened(index, position, dim, size):
    return IndexError(f"out of range: tried to access index {index} on a tensor of {size} elements.")


def _copied_beyond(*where):
    return IndexError(f"index_copy_(): {out_of_bounds(*where)}")


def _added_beyond(*where):
    return RuntimeError(str(out_of_bounds(*where)))


_not_selected = out_of_self("index_select")
_COMPLAINTS = {"index_add": out_of_self("index_add"), "index_copy": _copied_beyond}      # of those whose indices do not wrap


def _vector(name, index):
    if index.layout.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.layout.ndim} with type: "
                         f"{index.layout.dtype.name}, with size: {list(index.layout.shape)}")
    return index if index.layout.ndim else reshape(index, 1)


_along = new_plan_table()                                # (dimension,) where nothing about a call is out of the ordinary


@method
def index_select(input, dim, index, *, out=None) -> Tensor:
    """The slices of a dimension that a vector of indices names, in its order.

    Args:
        input: of any dtype.
        dim: the dimension of the slices.
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
        return finish(out, index_values(input, _along[input.layout, dim, index.layout], (index,), False, _not_selected))
    except (KeyError, AttributeError, TypeError):
        pass
    vector = _vector("index_select", check_index("index_select", index))
    dims = (wrap_dim(dim, layout_of("index_select", input).ndim),)
    if input.layout.ndim and vector is index:
        _along.keep((input.layout, dim, index.layout), dims)
    result = index_values(at_least_1d(input), dims, (vector,), False, _not_selected)
    return finish(out, result if input.layout.ndim else reshape(result, ()))


def _index_write(name, self, dim, index, source, accumulate):
    checks = name not in _COMPLAINTS, _COMPLAINTS.get(name, out_of_bounds)
    if name == "index_add" and self.layout.ndim > 1:     # where PyTorch's class and words are others
        checks = False, _added_beyond
    try:
        key = name, self.layout, dim, index.layout, source.layout
        dims = _along.get(key)
    except (AttributeError, TypeError):
        key = dims = None
    if dims is not None:
        return put_values(self, dims, (index,), source, accumulate, name, *checks)
    vector = _vector(name, check_index(name, index))
    dims = (wrap_dim(dim, self.layout.ndim),)
    if name == "index_copy" and layout_of(name, source, "source", 3).ndim and self.layout.ndim not in (0, source.layout.ndim):
        raise IndexError(f"index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
                         f"dimensionality ({source.layout.ndim}), destination dimensionality ({self.layout.ndim})")
    if isinstance(source, Tensor) and not source.layout.weak:
        same_dtype(name, self, source)
        wanted = (self.layout.shape[:dims[0]] + vector.layout.shape + self.layout.shape[dims[0] + 1:]) if self.layout.ndim else ()
        if source.layout.ndim and source.layout.shape != wanted:
            slices = [shape[:dims[0]] + shape[dims[0] + 1:] for shape in (source.layout.shape, wanted)]
            kind = IndexError if name == "index_copy" and slices[0] == slices[1] else RuntimeError       # PyTorch's
            raise kind(f"{name}(): Source/destination tensor must have same slice shapes. Expected source of shape {list(wanted)}, "
                       f"got {list(source.layout.shape)}")
    if self.layout.ndim:
        if key is not None and vector is index:
            _along.keep(key, dims)
        put_values(self, dims, (vector,), source, accumulate, name, *checks)
    else:
        put_values(unsqueeze(self, 0), (0,), (vector,), reshape(source, ()), accumulate, name, *checks)
    return self


@method
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
    return _index_write("index_copy", self, dim, index, source, False)


@method
def index_add_(self, dim, index, source, *, alpha=1) -> Tensor:
    """Add `alpha` times the slices of `source` at the places in a dimension that `index` names, and return this tensor.

    Args:
        dim, index, source: as for `index_copy_`; at equal indices all are added.
        alpha: a number.

    Raises:
        IndexError: an index out of bounds (RuntimeError in more than one dimension), or shapes that do not fit.
        RuntimeError: another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2., 3.]).index_add_(0, torch.tensor([2, 0]), torch.tensor([7., 8.]))
        tensor([ 9.,  2., 10.])
    """
    return _index_write("index_add", self, dim, index, source if alpha == 1 else arithmetic.mul(source, alpha), True)


@method
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
    value = as_operand("index_fill_", value)
    if value.layout.ndim:
        raise RuntimeError(f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.layout.ndim} "
                           f"dimension(s).")
    return _index_write("index_fill", self, dim, index, to_dtype(value, self.layout.dtype), False)


index_copy = out_of_place(index_copy_, "index_copy")
index_add = out_of_place(index_add_, "index_add")
index_fill = out_of_place(index_fill_, "index_fill")


@method
def take(input, index, *, out=None) -> Tensor:
    """The elements of the flattened tensor at `index`, in the shape of `index`.

    Args:
        input: of any dtype and shape.
        index: (*) int64 or int32, in row-major order; negative ones count from the end.
        out: a tensor to write the result to.

    Raises:
        IndexError: an index out of bounds.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2, 3], [4, 5, 6]]).take(torch.tensor([0, -1]))
        tensor([1, 6])
    """
    check_index("take", index)
    flat = input if layout_of("take", input).ndim == 1 else reshape(input, -1)
    return finish(out, index_values(flat, (0,), (index,), True, _beyond_flattened))


@method
def put_(self, index, source, accumulate: bool = False) -> Tensor:
    """Write the elements of `source` to places in this tensor seen as flattened, or add them there, and return this tensor.

    Args:
        index: (*) int64 or int32, in row-major order; negative ones count from the end.
        source: as many elements as `index`, of this tensor's dtype.
        accumulate: whether to add; else of equal indices the last wins.

    Raises:
        RuntimeError: another dtype.
        IndexError: an index out of bounds, or not as many elements as indices.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).put_(torch.tensor([0, 3]), torch.tensor([7., 8.]))
        tensor([[7., 2.],
                [3., 8.]])
    """
    check_index("put_", index)
    same_dtype("put_", self, source)
    if index.layout.numel != source.layout.numel:
        raise IndexError(f"put_(): Expected source and index to have the same number of elements, but got source.numel() = "
                         f"{source.layout.numel}, index.numel() = {index.layout.numel}")
    if self.layout.contiguous:
        if self.layout.ndim == index.layout.ndim == source.layout.ndim == 1:
            return put_values(self, (0,), (index,), source, accumulate, "put", True, _beyond_flattened)
        put_values(view(self, -1), (0,), (reshape(index, -1),), reshape(source, -1), accumulate, "put", True, _beyond_flattened)
        return self
    return copy_(self, put(self, index, source, accumulate))


@method
def put(input, index, source, accumulate: bool = False) -> Tensor:
    """A copy of the tensor after `put_`.

    Args:
        input: of any shape.
        index, source, accumulate: as for `put_`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).put(torch.tensor([0, 3]), torch.tensor([7., 8.]), accumulate=True)
        tensor([[ 8.,  2.],
                [ 3., 12.]])
    """
    return put_(clone(input, memory_format="contiguous_format"), index, source, accumulate)
