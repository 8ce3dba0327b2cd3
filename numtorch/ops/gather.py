"""Reading and writing by index tensors: `index_values` and `put_values`, and index_select and its kin, take and embedding on them.

`x[...]` itself is in ops/index.py, gather and scatter in ops/scatter.py, masks in ops/mask.py.
Every kernel call checks every index; a bad one is found again here, to be named in the error.
"""
from __future__ import annotations

import ctypes
import threading

from ..autograd.graph import GraphNode, mark_written, recording
from ..autograd.modes import modes
from ..dtypes import int32, int64
from ..layout import Layout, broadcast_shapes, broadcast_strides, wrap_dim
from ..tensor import Tensor, empty, number
from . import arithmetic, comparison
from .backends import kernels
from .copy import clone, copy_, filled, register, to_dtype
from .op import as_operand, method, new_plan_table, registry
from .view import reshape, unsqueeze
from .writing import check_inplace_allowed, overlap_partly, rebase_history

_MOST_INDICES = 64


class _Desk(threading.local):
    """A thread's words for the call it is making: the status, then the addresses of the second and later index arrays."""

    def __init__(self):
        self.words = (ctypes.c_int64 * (1 + _MOST_INDICES))()
        self.status = ctypes.addressof(self.words)
        self.more = self.status + 8


_desk = _Desk()


def run_indexed(prepared, x, indices, other, bounds, message=None):
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


def run_counting(prepared, mask) -> int:
    """Run a kernel that counts, and return the count."""
    desk = _desk
    prepared.call(mask.address, desk.status, prepared.walk)
    count, desk.words[0] = desk.words[0], 0
    return count


def run_measuring(prepared, x):
    """Run a kernel that leaves two integers, and return these."""
    desk = _desk
    prepared.call(x.address, desk.status, prepared.walk)
    words = desk.words
    found = words[0], words[1]
    words[0] = 0
    return found


def _bad_index(indices, bounds):
    for index, (dim, size) in zip(indices, bounds):
        values = index.numpy().ravel()
        wrong = values[(values < -size) | (values >= size)]
        if wrong.size:
            return f"index {wrong[0]} is out of bounds for dimension {dim} with size {size}"
    return "index out of bounds"


def check_index(name, index, wanted=(int64, int32)):
    if not isinstance(index, Tensor):
        raise TypeError(f"{name}(): argument 'index' must be Tensor, not {type(index).__name__}")
    if index.layout.dtype not in wanted:
        raise RuntimeError(f"{name}(): Expected dtype {' or '.join(d.name for d in wanted)} for index, got "
                           f"{index.layout.dtype.name}")
    return index


def same_dtype(name, self, source):
    if self.layout.dtype is not source.layout.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype, got {self.layout.dtype.name} and "
                           f"{source.layout.dtype.name}")


# ---------------------------------------------------------------- writing in place
def begin_write(name, self, *sources):
    """The checks of an in-place write. Returns whether it is to be recorded."""
    if not self.layout.contiguous and self.layout.overlaps_itself():
        raise RuntimeError(f"unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           f"location. Please clone() the tensor before performing the operation. ({name}_)")
    if recording(self, *sources):
        check_inplace_allowed(self, name)
        return True
    return False


def apart(source, target):
    """`source`, or a copy of it where it shares memory with what is about to be written."""
    same = source.storage is target.storage
    return clone(source) if same and (source.address == target.address or overlap_partly(source, target)) else source


def end_write(name, self, graph, sources, saved, vjp, constants):
    mark_written(self.storage, name + "_")
    if graph and self.layout.dtype.category >= 2:
        rebase_history(self, GraphNode(name, (self.node, *[s.node for s in sources]), saved, vjp, constants))
    return self


def out_of_place(inplace, name):
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
        run_indexed(plan.prepared, x, indices, out, plan.bounds)
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
        run_indexed(found[0], x, indices, source, [(d, x.layout.shape[d]) for d in dims])


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
        raise RuntimeError(f"Index put requires the source and destination dtypes match, got {layout.dtype.name} for the "
                           f"destination and {source.layout.dtype.name} for the source.")
    if source.layout.ndim and source.layout.shape != shape:
        source = fit_value(source, shape, "indexing result")
    graph = begin_write("index_put", x, source)
    source = apart(source, x)
    indices = [apart(i, x) for i in indices]
    _write(x, dims, indices, source, "add" if accumulate else None)
    return end_write("index_put", x, graph, (source,), indices, _put_vjp, (dims, source.layout, accumulate))


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
        raise RuntimeError(f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to {what} of shape "
                           f"{list(shape)}")
    return reshape(source, kept) if extra else source


# ---------------------------------------------------------------- one index tensor along one dimension
def _vector(name, index):
    if index.layout.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector, but got dim: {index.layout.ndim} with type: "
                         f"{index.layout.dtype.name}, with size: {list(index.layout.shape)}")
    return index if index.layout.ndim else reshape(index, 1)


def at_least_1d(x):
    return x if x.layout.ndim else unsqueeze(x, 0)


@method
def index_select(input, dim, index, *, out=None) -> Tensor:
    """The slices of a dimension that a vector of indices names, in its order.

    Raises:
        IndexError: an index out of bounds, or `index` has more than one dimension.
    """
    index = _vector("index_select", check_index("index_select", index))
    dim = wrap_dim(dim, input.layout.ndim)
    result = index_values(at_least_1d(input), (dim,), (index,))
    return finish(out, result if input.layout.ndim else reshape(result, ()))


def finish(out, result):
    return result if out is None else copy_(out, result.detach())


def _index_write(name, self, dim, index, source, accumulate):
    index = _vector(name, check_index(name, index))
    dim = wrap_dim(dim, self.layout.ndim)
    if isinstance(source, Tensor) and not source.layout.weak:
        same_dtype(name, self, source)
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


index_copy = out_of_place(index_copy_, "index_copy")
index_add = out_of_place(index_add_, "index_add")
index_fill = out_of_place(index_fill_, "index_fill")


@method
def take(input, index) -> Tensor:
    """The elements at `index` of the flattened tensor, in the shape of `index`."""
    check_index("take", index)
    return index_values(reshape(input, -1), (0,), (index,))


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
    check_index("embedding", indices)
    layout = weight.layout
    if layout.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {layout.ndim}-D")
    plan = _index_plan(layout, (0,), (indices,))
    out = empty(plan.out)
    if plan.prepared is not None:
        run_indexed(plan.prepared, weight, (indices,), out, plan.bounds, "index out of range in self")
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
