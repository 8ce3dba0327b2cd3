"""Elementwise calls on sparse tensors: those that leave 0 where it is, sums, products, and copies."""
from __future__ import annotations

from ..autograd.graph import GraphNode, Recorded, recording
from ..autograd.writes import mark_written
from ..dtypes import dtype as dtype_class
from ..dtypes import promote_types
from ..layout import broadcast_shapes
from ..ops.core.operands import result_dtype
from ..ops.index.index_select import index_values, put_values
from ..ops.index.mask import nonzero
from ..ops.memory.copies import clone, to_dtype
from ..ops.pointwise import arithmetic, comparison
from ..ops.shape.join import cat
from ..ops.shape.views import expand, reshape, unsqueeze
from ..ops.sort.search import searchsorted
from ..tensor import Tensor
from .conversions import as_layout
from .coo import (
    LINEAR,
    coalesce,
    coo,
    coordinates,
    entries,
    in_list,
    like,
    taken,
    takes_all,
    through,
    to_coo,
    to_dense,
    values_of,
)
from .handler import WRITES, refusal, replace, rule
from .layouts import is_sparse
from .pattern import keys_of

# What is linear goes by elements that share a place as well; the others need their sum.
BY_PLACES = ("neg", "real", "imag", "conj", "conj_physical", "deg2rad", "rad2deg", "positive")
ZERO_TO_ZERO = """abs asin asinh atan atanh ceil erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p cube
    replace_nonfinite relu round sgn sign signbit sin sinh sqrt square tan tanh trunc""".split()


def of_values(primitive, x, *rest):
    """The call on the stored elements."""
    x, values = entries(x)
    return like(x, primitive.function(values, *rest), primitive.name)


rule(*BY_PLACES)(of_values)

_NEG, _CLONE, _CAST, _SCALED, _SHARED = [Recorded(name) for name in ("neg", "clone", "to_copy", "mul", "div")]
LINEAR.update((_NEG, _CLONE, _CAST, _SCALED, _SHARED))


@_NEG.derivative
def _neg_vjp(node, grad):
    return (arithmetic.neg(grad),)


@_CLONE.derivative
def _clone_vjp(node, grad):
    return (grad,)


@_CAST.derivative
def _cast_vjp(node, grad):
    return (to_dtype(grad, node.attributes),)


@_SCALED.derivative
def _scaled_vjp(node, grad, factor):
    return (to_dtype(arithmetic.mul(grad, arithmetic.conj(factor)), node.attributes),)


@_SHARED.derivative
def _shared_vjp(node, grad, divisor):
    return (to_dtype(arithmetic.div(grad, arithmetic.conj(divisor)), node.attributes),)


@rule("neg")
def _neg(primitive, x):
    return through(x, _NEG, arithmetic.neg) if recording(x) and takes_all(x.node) else of_values(primitive, x)


@rule(*ZERO_TO_ZERO)
def _unary(primitive, x, *rest):
    return of_values(primitive, coalesce(x) if x.layout.kind == "sparse_coo" else x, *rest)


@rule("pow")
def _pow(primitive, x, exponent):
    if not is_sparse(x) or is_sparse(exponent) or exponent.layout.ndim:
        raise refusal("pow", x, exponent)
    if not exponent.item():
        raise RuntimeError("pow: cannot raise to zero power on sparse tensor; it would make the result dense")
    return _unary(primitive, x, exponent)


# ---------------------------------------------------------------- copies
@rule("clone")
def _clone(primitive, x, *how):
    if recording(x) and takes_all(x.node):
        return through(x, _CLONE, clone)
    x, values = entries(x)
    parts = tuple([clone(p) for p in x.memory.parts[:-1]])
    out = like(x, clone(values), "clone")
    out.memory.parts = (*parts, out.memory.parts[-1])
    return out


@rule("to_copy")
def _to_copy(primitive, x, dtype):
    if not isinstance(dtype, dtype_class):
        return _clone(primitive, x)
    if recording(x) and takes_all(x.node) and dtype.category >= 2:
        return through(x, _CAST, lambda x: to_dtype(x, dtype), (), x.layout.dtype)
    x, values = entries(x)
    return like(x, to_dtype(values, dtype), "to_copy")


@rule("copy", among=WRITES)
def _copy_into(primitive, target, source, *how):
    if is_sparse(source) and is_sparse(target) and source.layout.kind == target.layout.kind:
        if source is target:
            return target
        return replace(target, clone(source), "copy_")
    if is_sparse(target) and not source.layout.ndim and not source.item():
        return _emptied(target, "zero_")
    if not source.layout.ndim:
        raise refusal("fill_", target, source)
    raise RuntimeError(f"copy_() between dense and sparse Tensors is not implemented! Found self type = {target.type()} and src "
                       f"type = {source.type()}")


rule("copy")(_copy_into)


def _emptied(x, name):
    from_none = arithmetic.mul(x.detach(), 0) if x.layout.kind != "sparse_coo" else coo(
        x.memory.parts[0][:, :0].contiguous(), x.memory.parts[1][:0], x.layout.shape)
    return replace(x, from_none, name)


# ---------------------------------------------------------------- sums
_SUM = Recorded("add")
LINEAR.add(_SUM)


@_SUM.derivative
def _sum_vjp(node, grad):
    return [to_dtype(grad, dtype) if node.needs(i) else None for i, dtype in enumerate(node.attributes)]


def added(x, y, name="add") -> Tensor:
    """x + y of two sparse tensors of one kind: the elements of both, in one where they are at the same places."""
    if x.layout.shape != y.layout.shape:
        raise RuntimeError(f"add: expected sizes of 'self' and 'other' to match, but {list(x.layout.shape)} != "
                           f"{list(y.layout.shape)}")
    if recording(x, y):
        out = added(x.detach(), y.detach(), name)
        out.node = GraphNode(_SUM, (x.node, y.node), (), (x.layout.dtype, y.layout.dtype))
        return out
    if x.layout.kind != "sparse_coo" or y.layout.kind != "sparse_coo":
        if x.layout is y.layout and all(a is b for a, b in zip(x.memory.parts[:2], y.memory.parts)):
            return like(x, arithmetic.add(values_of(x), values_of(y)), name)
        return as_layout(added(*[t if t.layout.kind == "sparse_coo" else to_coo(t) for t in (x, y)]), x.layout)
    dtype = result_dtype((x.layout, y.layout)) if x.layout.ndim else promote_types(x.layout.dtype, y.layout.dtype)
    a, b = to_dtype(x.memory.parts[1], dtype), to_dtype(y.memory.parts[1], dtype)
    if x.layout.sparse_dim != y.layout.sparse_dim:
        for other, indices, values in ((x, y.memory.parts[0], b), (y, x.memory.parts[0], a)):
            if not other.memory.parts[0].layout.shape[1]:        # nothing is of any number of them
                return coo(indices, values.clone(), x.layout.shape, (y if other is x else x).memory.coalesced, name)
        raise RuntimeError(f"add: expected 'self' and 'other' to have same number of sparse dimensions, but "
                           f"{x.layout.sparse_dim} != {y.layout.sparse_dim}")
    mine, others = x.memory.parts[0], y.memory.parts[0]
    if mine is others or (mine.layout is others.layout and mine.memory is others.memory and mine.address == others.address):
        return coo(mine, arithmetic.add(a, b), x.layout.shape, x.memory.coalesced, name)
    both = x.memory.coalesced and y.memory.coalesced
    out = coo(cat((mine, others), 1), cat((a, b), 0), x.layout.shape, False, name)
    return coalesce(out) if both or out._nnz() > out.layout.numel else out       # what is added up again and again is bounded


_WITH_ALL = Recorded("to_dense")


@_WITH_ALL.derivative
def _of_all(node, grad):
    return (grad,)


def _with_all(x):
    """`to_dense` of a leaf, whose gradient is dense where it is added to a dense tensor."""
    out = to_dense(x.detach())
    out.node = GraphNode(_WITH_ALL, (x.node,), ())
    return out


def onto_dense(dense, x) -> Tensor:
    """dense + x, dense."""
    shape = broadcast_shapes(dense.layout.shape, x.layout.shape)
    if shape != dense.layout.shape:
        raise RuntimeError(f"add: expected 'other' to be of the shape of 'self', but {list(x.layout.shape)} != "
                           f"{list(dense.layout.shape)}")
    if recording(dense, x) or x.layout.shape != shape or not x.layout.sparse_dim:
        return arithmetic.add(dense, _with_all(x) if recording(x) and takes_all(x.node) else to_dense(x))
    dtype = result_dtype((dense.layout, x.layout))
    return _add_at(clone(to_dtype(dense, dtype)), x)


def _add_at(dense, x):
    """Add the stored elements where they belong: as much work as there are elements."""
    indices = coordinates(x)
    values = to_dtype(in_list(x.layout, x.memory.parts[-1]), dense.layout.dtype)
    return put_values(dense, tuple(range(len(indices))), indices, values, True)


@rule("add")
def _add(primitive, x, y):
    if is_sparse(x) and is_sparse(y):
        return added(x, y)
    if is_sparse(x):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return onto_dense(x, y)


@rule("add_scaled")
def _add_scaled(primitive, x, y, alpha):
    if is_sparse(x) and not is_sparse(y):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return _add(primitive, x, arithmetic.mul(y, alpha))


@rule("sub")
def _sub(primitive, x, y):
    return _add(primitive, x, arithmetic.neg(y))


def _write_sum(sign):
    def write(primitive, target, source, alpha=None):
        if alpha is not None:
            source = arithmetic.mul(source, alpha)
        if is_sparse(target):
            if not is_sparse(source):
                raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
            return replace(target, added(target, source if sign > 0 else arithmetic.neg(source)), primitive.name + "_")
        source = source if sign > 0 else arithmetic.neg(source)
        if recording(target, source) or not source.layout.sparse_dim:
            return arithmetic.add.op.inplace(target, to_dense(source))
        if source.layout.shape != target.layout.shape:
            raise RuntimeError(f"add: expected 'other' to be of the shape of 'self', but {list(source.layout.shape)} != "
                               f"{list(target.layout.shape)}")
        _add_at(target.detach(), source)
        mark_written(target.memory, primitive.name + "_")
        return target
    return write


rule("add", "add_scaled", among=WRITES)(_write_sum(1))
rule("sub", among=WRITES)(_write_sum(-1))


# ---------------------------------------------------------------- products
@rule("mul")
def _mul(primitive, x, y):
    if is_sparse(x) and is_sparse(y):
        return _intersection(x, y)
    sparse, other = (x, y) if is_sparse(x) else (y, x)
    if recording(sparse) and not recording(other) and takes_all(sparse.node):
        return through(sparse, _SCALED, lambda x: arithmetic.mul(x, other), (other,), sparse.layout.dtype)
    if not other.layout.ndim:
        kept, values = entries(sparse)
        dtype = result_dtype((sparse.layout, other.layout))
        return like(kept, to_dtype(arithmetic.mul(values, other), dtype), "mul")
    layout = sparse.layout
    if broadcast_shapes(layout.shape, other.layout.shape) != layout.shape:
        raise RuntimeError(f"mul(sparse, dense): expected the dense operand to broadcast to {list(layout.shape)}, got "
                           f"{list(other.layout.shape)}")
    kept, values = entries(sparse)
    if any(layout.structure):
        return like(kept, arithmetic.mul(values, taken(expand(other, layout.shape), layout, kept.memory.parts[:-1])), "mul")
    return like(kept, arithmetic.mul(values, _at_places(other, kept)), "mul")


def _at_places(dense, x):
    """The values of a dense tensor, broadcast, at the places of x: dimensions of extent 1 are not copied."""
    layout = x.layout
    missing = layout.ndim - dense.layout.ndim
    dense = reshape(dense, (*(1,) * missing, *dense.layout.shape))
    kept = [d for d in range(layout.sparse_dim) if dense.layout.shape[d] != 1]
    if len(kept) == layout.sparse_dim:
        return taken(dense, layout, x.memory.parts[:-1])
    rest = reshape(dense, (*[dense.layout.shape[d] for d in kept], *dense.layout.shape[layout.sparse_dim:]))
    if not kept:
        return unsqueeze(rest, 0)
    places = coordinates(x)
    return index_values(rest, tuple(range(len(kept))), tuple([places[d] for d in kept]))


def _intersection(x, y):
    """The products of what both store."""
    if x.layout.shape != y.layout.shape:
        raise RuntimeError(f"mul operands have incompatible sizes: {list(x.layout.shape)} and {list(y.layout.shape)}")
    if x.layout.kind != "sparse_coo" or y.layout.kind != "sparse_coo":
        return as_layout(_intersection(*[t if t.layout.kind == "sparse_coo" else to_coo(t) for t in (x, y)]), x.layout)
    x, y = coalesce(x), coalesce(y)
    shape = x.layout.shape[:x.layout.sparse_dim]
    mine, others = keys_of(x.memory.parts[0], shape)[0], keys_of(y.memory.parts[0], shape)[0]
    if not mine.layout.numel or not others.layout.numel:
        return _selected(x, nonzero(comparison.lt(mine, 0))[:, 0], 0)
    places = searchsorted(others, mine)
    places = arithmetic.mul(places, comparison.lt(places, others.layout.numel))
    kept = nonzero(comparison.eq(index_values(others, (0,), (places,)), mine))[:, 0]
    return _selected(x, kept, index_values(values_of(y), (0,), (index_values(places, (0,), (kept,)),)))


def _selected(x, kept, factor):
    values = arithmetic.mul(index_values(values_of(x), (0,), (kept,)), factor)
    return coo(x.memory.parts[0].index_select(1, kept), values, x.layout.shape, True, "mul")


def _divided(primitive, x, y):
    if not is_sparse(x):
        raise refusal("reciprocal", x, y)
    if is_sparse(y) or y.layout.ndim:
        raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(y.layout.shape)} "
                           f"for divisor)")
    rounded = primitive.name != "div"
    if not rounded and recording(x) and not recording(y) and takes_all(x.node):
        return through(x, _SHARED, lambda x: arithmetic.div(x, y), (y,), x.layout.dtype)
    x, values = entries(coalesce(x) if rounded and x.layout.kind == "sparse_coo" else x)
    return like(x, primitive.function(values, y), "div")


rule("div", "floor_divide", "trunc_divide")(_divided)
