"""Batching rules of products: a product of samples is a batched product; where one factor is the same for all, a taller one."""
from __future__ import annotations

from ...dtypes import promote_types
from ...layout import wrap_dim
from ...ops.core.primitive import registry
from ...ops.index.triangles import triu_indices
from ...ops.linalg.matmul import matmul
from ...ops.memory.copies import to_dtype
from ...ops.nn.linear import linear as linear_of
from ...ops.pointwise.activation import relu
from ...ops.reduce.reductions import norm
from ..batching import aligned, rule, sample_by_sample
from .sizes import all_batched, call

_DIMENSIONS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}


def _check(primitive, values, has):
    """Raise RuntimeError where samples have other dimensions than the product is of: `matmul` takes any."""
    found = tuple([v.layout.ndim - h for v, h in zip(values, has)])
    wanted = found if primitive is None else _DIMENSIONS.get(primitive.name, found)     # None: a part of another rule
    if found != wanted:
        raise RuntimeError(f"Shape mismatch: Got incorrect dims for {primitive.name}(a, b). a has dim {found[0]} and b has dim "
                           f"{found[1]} but expected them to have dim {wanted[0]} and dim {wanted[1]}")


@rule("mm", "bmm", "matmul")
def product(level, primitive, values, has, attributes):
    _check(primitive, values, has)
    if any(h and v.layout.kind != "strided" for v, h in zip(values, has)):
        return _sparse_product(level, primitive, values, has)
    ndim = max([v.layout.ndim - h for v, h in zip(values, has)])
    return matmul(*[aligned(v, ndim) if h else v for v, h in zip(values, has)])


def _sparse_product(level, primitive, values, has):
    """A sparse matrix of each sample: with dense ones a product of batches. Two sparse ones are multiplied sample by sample."""
    a, b = values
    if a.layout.kind != "strided" and b.layout.kind != "strided":
        return sample_by_sample(level, primitive, values, has, ())
    a, b = all_batched(level, values, has)
    if a.layout.kind != "strided":
        return call(registry["bmm"], (a, b))
    return call(registry["bmm"], (b.transpose(1, 2), a.transpose(1, 2))).transpose(1, 2)


@rule("mv")
def matrix_vector(level, primitive, values, has, attributes):
    _check(primitive, values, has)
    a, v = values
    if has[0] and a.layout.kind != "strided":
        return product(level, registry["mm"], (a, v.unsqueeze(-1)), has, ()).squeeze(2)
    if has[0] and has[1]:
        return matmul(a, v.unsqueeze(2)).squeeze(2)
    return matmul(a, v) if has[0] else linear_of(v, a)


@rule("dot")
def dot(level, primitive, values, has, attributes):
    _check(primitive, values, has)
    a, b = values
    if all(has):
        return matmul(a.unsqueeze(1), b.unsqueeze(2)).reshape(a.layout.shape[0])
    return matmul(a, b) if has[0] else matmul(b, a)


@rule("linear")
def linear(level, primitive, values, has, attributes):
    x, weight, bias = values
    if has[1]:
        out = _by_own_weights(x, has[0], weight)
    elif bias is None or not has[2]:
        return linear_of(x, weight, bias)
    else:
        out = linear_of(x, weight)
        if not has[0]:
            out = out.unsqueeze(0)
    if bias is None:
        return out
    return out + (aligned(bias, out.layout.ndim - 1) if has[2] else bias)


@rule("linear_relu")
def linear_relu(level, primitive, values, has, attributes):
    return relu(linear(level, primitive, values, has, attributes))


def _by_own_weights(x, each, weight):
    """x times the weights of each sample."""
    if each and x.layout.ndim == 2:                      # weights times columns, so that their gradients lie as they do
        return matmul(weight, x.unsqueeze(2)).squeeze(2)
    across = weight.transpose(1, 2)
    if each:
        rows = x if x.layout.ndim == 3 else x.flatten(1, -2)
        return matmul(rows, across).reshape(*x.layout.shape[:-1], weight.layout.shape[1])
    if x.layout.ndim == 1:
        return matmul(weight, x)
    rows = x if x.layout.ndim == 2 else x.flatten(0, -2)
    return matmul(rows, across).reshape(weight.layout.shape[0], *x.layout.shape[:-1], weight.layout.shape[1])


@rule("addmm", "addmv", "baddbmm")
def added(level, primitive, values, has, attributes):
    input, a, b = values
    beta, alpha = attributes
    rules = {"addmm": product, "addmv": matrix_vector, "baddbmm": product}
    out = rules[primitive.name](level, None, (a, b), has[1:], ()) if any(has[1:]) else \
        matmul(a, b).unsqueeze(0)
    if alpha != 1:
        out = out * alpha
    if input is None or beta == 0:
        return out if any(has[1:]) else out.expand(level.size, *out.layout.shape[1:])
    if has[0]:
        input = aligned(input, out.layout.ndim - 1)
    return out + (input if beta == 1 else input * beta)


@rule("linalg_cross")
def cross(level, primitive, values, has, attributes):
    a, b = all_batched(level, values, has)
    ndim = max(a.layout.ndim, b.layout.ndim) - 1
    a, b, (dim,) = aligned(a, ndim), aligned(b, ndim), attributes
    if dim is None:                                      # the first of the input that is 3 long
        dim = next((d for d, n in enumerate(a.layout.shape[1:]) if n == 3), 0)
    return call(primitive, (a, b), (wrap_dim(dim, ndim) + 1,))


@rule("cdist")
def cdist(level, primitive, values, has, attributes):
    """The primitive takes contiguous sets of one batch shape."""
    return call(primitive, [v.contiguous() for v in all_batched(level, values, has)], attributes)


@rule("kron")
def kron(level, primitive, values, has, attributes):
    """Every dimension is two: the first factor's, along which the second stands still, and the second's."""
    kind = promote_types(*[v.layout.dtype for v in values])
    ndim = max([v.layout.ndim - h for v, h in zip(values, has)])
    a, b = [aligned(to_dtype(v, kind) if h else to_dtype(v, kind).unsqueeze(0), ndim) for v, h in zip(values, has)]
    (_, *m), (_, *n) = a.layout.shape, b.layout.shape
    wide = a.reshape(a.layout.shape[0], *[k for extent in m for k in (extent, 1)]) * \
        b.reshape(b.layout.shape[0], *[k for extent in n for k in (1, extent)])
    return wide.reshape(level.size, *[i * j for i, j in zip(m, n)])


@rule("pdist")
def pdist(level, primitive, values, has, attributes):
    """The rows of all pairs, for all samples."""
    x, (p,) = values[0], attributes
    first, second = triu_indices(x.layout.shape[1], x.layout.shape[1], 1, device=x.layout.device).unbind()
    return norm(x.index_select(1, first) - x.index_select(1, second), p, -1)
