"""Products of vectors and of all elements with all: inner, vdot, cross, kron, powers, combinations."""
from __future__ import annotations

import itertools
from math import comb

from ...dtypes import int64, promote_types
from ...exchange.construction import make
from ...kernels.binding import ScalarBody
from ...kernels.threads import NOTHING
from ...layout import Layout, broadcast_shapes, broadcast_strides, contiguous_strides, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import check_truths, integer, numpy_keywords
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..creation.ranges import arange
from ..index.index_select import index_select
from ..index.triangles import triu_indices
from ..memory.copies import to_dtype
from ..memory.resize import into, into_exactly
from ..pointwise.arithmetic import conj, mul, sub
from ..pointwise.power import pow
from ..reduce.reductions import sum_to_size
from ..shape.join import stack
from ..shape.views import reshape, transpose, unsqueeze
from .einsum import tensordot
from .matmul import dot, matmul

CROSS = Primitive("linalg_cross", samples="T[2, 3], T[2, 3]; 1")
KRON = Primitive("kron", samples="T[2, 3], T[3];")


@method
def inner(input, other, *, out=None) -> Tensor:
    """The sums of products over the last dimension of both: (..., n) and (***, n) give (..., ***).

    Args:
        input, other: of one dtype; a 0-dim one multiplies the other.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: last dimensions of two sizes.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).inner(torch.tensor([1., 10.]))
        tensor([21., 43.])
    """
    x, y = layout_of("inner", input).shape, layout_of("inner", other, "other", 2).shape
    if not x or not y:
        return into_exactly("inner", out, mul(input, other))
    if x[-1] != y[-1]:
        raise RuntimeError(f"inner() the last dimension must match on both input tensors but got shapes {list(x)} and {list(y)}")
    if len(x) == len(y) == 1:
        return into_exactly("inner", out, dot(input, other))
    result = matmul(input, transpose(other, 0, 1)) if len(x) <= len(y) == 2 else tensordot(input, other, ([-1], [-1]))
    return into_exactly("inner", out, result)


@method
def vdot(input, other, *, out=None) -> Tensor:
    """The sum of the products of two vectors, the first conjugated.

    Args:
        input, other: (n,) of one dtype.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: not vectors, or of two lengths.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1.j]).vdot(torch.tensor([1.j]))
        tensor(1.+0.j)
    """
    return into_exactly("vdot", out, dot(conj(input), other))


@method
@numpy_keywords
def cross(input, other, dim=None, *, out=None) -> Tensor:
    """The vector products of vectors of three elements along `dim`, by default the input's first dimension of that size.

    Args:
        input, other: of as many dimensions and shapes that broadcast in the others.
        dim: the dimension of the vectors.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: no dimension of size 3, or one that has another size; numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 0., 0.]).cross(torch.tensor([0., 1., 0.]))
        tensor([0., 0., 1.])
    """
    return _cross(input, other, dim) if out is None else into_exactly("cross", out, _cross(input, other, dim))


def _components(x0, x1, x2, y0, y1, y2):
    return x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0


@CROSS.planned
def _plan_cross(first, second, dim):
    """The result's layout, how many bytes apart the components of the two and of the result are, and the kernel."""
    if first.ndim != second.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    shape = broadcast_shapes(first.shape, second.shape)
    if dim is None:
        dim = next((i for i, extent in enumerate(first.shape) if extent == 3), None)
        if dim is None:
            raise RuntimeError(f"no dimension of size 3 in input (cross of shapes {list(first.shape)} and {list(second.shape)})")
    dim = wrap_dim(dim, len(shape))
    extents = first.shape[dim], second.shape[dim]
    if extents != (3, 3):
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {extents[0]} and {extents[1]}")
    kind, device = first.dtype, first.device
    if kind.category == 0:
        raise NotImplementedError(f'"cross" not implemented for \'{kind.title}\'')
    if second.dtype is not kind:
        raise RuntimeError(f"expected scalar type {kind.title} but found {second.dtype.title} (linalg.cross: other)")
    out = Layout.of(kind, shape, None, device)
    strides = [broadcast_strides(first, shape), broadcast_strides(second, shape), out.strides]
    apart = tuple(s[dim] * layout.dtype.itemsize for s, layout in zip(strides, (first, second, out)))
    rest = [s[:dim] + s[dim + 1:] for s in strides for _ in range(3)]
    names = [layout.dtype.kernel for layout in (first, second, out) for _ in range(3)]
    prepared = kernels(device, "pointwise.pointwise").plan_pointwise(
        ScalarBody(_components, kind.compute), tuple(names[:6]), tuple(names[6:]), shape[:dim] + shape[dim + 1:], rest,
        compute=(kind.compute,) * 6, results=(0, 1, 2), cost=6.0) if out.numel else NOTHING
    return out, prepared, apart, dim - out.ndim


@CROSS.run
def _cross(plan, input: Tensor, other: Tensor, dim: int | None):
    layout, prepared, apart, dim = plan
    out, (a, b, c) = empty(layout), apart
    i, j, k = input.address, other.address, out.address
    prepared.call(i, i + a, i + 2 * a, j, j + b, j + 2 * b, k, k + c, k + 2 * c, prepared.descriptor)
    return CROSS.recorded(out, (input, other), (input, other), dim)


@CROSS.derivative
def _cross_vjp(node, grad, x, y):
    """Of x it is y x grad, of y grad x x: the triple product stays when its factors go round."""
    dim = node.attributes
    return (_fitted(_cross(conj(y), grad, dim), x.layout) if node.needs(0) else None,
            _fitted(_cross(grad, conj(x), dim), y.layout) if node.needs(1) else None)


def _fitted(grad, layout):
    """A gradient summed to the shape and in the dtype of what it belongs to."""
    grad = grad if grad.layout.shape == layout.shape else grad.sum_to_size(layout.shape)
    return grad if grad.layout.dtype is layout.dtype else to_dtype(grad, layout.dtype)


@KRON.planned
def _plan_kron(first, second):
    """Every dimension of the result is two: the first's, along which the second stands still, and the second's."""
    kind, device = promote_types(first.dtype, second.dtype), first.device
    ndim = max(first.ndim, second.ndim)
    (m, a), (n, b) = (((1,) * (ndim - layout.ndim) + layout.shape, (0,) * (ndim - layout.ndim) + layout.strides)
                      for layout in (first, second))
    out, shape = Layout.of(kind, tuple(i * j for i, j in zip(m, n)), None, device), tuple(i for pair in zip(m, n) for i in pair)
    strides = [tuple(s for step in a for s in (step, 0)), tuple(s for step in b for s in (0, step)), contiguous_strides(shape)]
    return out, kernels(device, "pointwise.pointwise").plan_pointwise(
        mul.scalar(kind.compute), (first.dtype.kernel, second.dtype.kernel), (kind.kernel,), shape, strides,
        compute=(kind.compute,) * 2) if out.numel else NOTHING


@KRON.run
def _kron(plan, input: Tensor, other: Tensor):
    layout, prepared = plan
    out = empty(layout)
    prepared.call(input.address, other.address, out.address, prepared.descriptor)
    return KRON.recorded(out, (input, other), (input, other))


@method
def kron(input, other, *, out=None) -> Tensor:
    """Kronecker's product: every element of the first times the whole of the second, in its place.

    Args:
        input, other: of any shapes; the one of fewer dimensions gets leading ones.
        out: a tensor to write the result to.

    Returns:
        Each extent is the product of theirs.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1, 2]]).kron(torch.tensor([[1, 10]]))
        tensor([[ 1, 10,  2, 20]])
    """
    return _kron(input, other) if out is None else into(out, _kron(input, other))


@KRON.derivative
def _kron_vjp(node, grad, x, y):
    """Every dimension of the gradient is two again, of which that of the other factor is summed over."""
    m, n = ((1,) * (grad.layout.ndim - t.layout.ndim) + t.layout.shape for t in (x, y))
    grad = reshape(grad, tuple(extent for pair in zip(m, n) for extent in pair))
    left, right = tuple(i for extent in m for i in (extent, 1)), tuple(i for extent in n for i in (1, extent))
    by_x = sum_to_size(mul(grad, reshape(conj(y), right)), *left) if node.needs(0) else None
    by_y = sum_to_size(mul(grad, reshape(conj(x), left)), *right) if node.needs(1) else None
    return (None if by_x is None else _fitted(reshape(by_x, x.layout.shape), x.layout),
            None if by_y is None else _fitted(reshape(by_y, y.layout.shape), y.layout))


@method
def vander(x, N=None, increasing: bool = False) -> Tensor:
    """Vandermonde's matrix: a row for each element of a vector, with its powers N-1 to 0.

    Args:
        x: (n,).
        N: how many powers; n when None.
        increasing: from power 0 to N-1 instead.

    Returns:
        (n, N).

    Raises:
        RuntimeError: not a vector, or a negative N.

    Example:
        >>> import numtorch as torch
        >>> torch.vander(torch.tensor([2, 3]), 3)
        tensor([[4, 2, 1],
                [9, 3, 1]])
    """
    check_truths("vander", increasing=increasing)
    if layout_of("vander", x).ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor (vander: got {x.layout.ndim} dimensions)")
    count = x.layout.shape[0] if N is None else integer("vander", "N", N)
    if count < 0:
        raise RuntimeError(f"N must be non-negative (vander: got {count})")
    powers = arange(count, device=x.layout.device) if increasing else sub(count - 1, arange(count, device=x.layout.device))
    return pow(unsqueeze(x, 1), powers)


def combinations(input, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each, in the order of `itertools.combinations`.

    Args:
        input: (n,).
        r: how many are chosen.
        with_replacement: whether an element may be chosen again.

    Returns:
        (choices, r).

    Raises:
        RuntimeError: not a vector, a negative r, or more choices than there is memory for.

    Example:
        >>> import numtorch as torch
        >>> torch.combinations(torch.tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    check_truths("combinations", with_replacement=with_replacement)
    if layout_of("combinations", input).ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.layout.shape)} (combinations)")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r} (combinations)")
    n = input.layout.shape[0]
    if r == 2:
        first, second = triu_indices(n, n, 0 if with_replacement else 1, device=input.layout.device).unbind()
        return stack([index_select(input, 0, first), index_select(input, 0, second)], 1)
    count = (comb(n + r - 1, r) if with_replacement and n else comb(n, r)) if r else 0
    empty(Layout.of(int64, (count, r), None, input.layout.device))       # before counting so far: is there the memory?
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = choose(range(n), r) if count else ()
    places = make([place for row in rows for place in row], int64, input.layout.device)
    return reshape(index_select(input, 0, places), (count, r) if r else (0,))
