"""Norms, powers, ranks and products of matrices."""
from __future__ import annotations

import functools
import math

from ...dtypes import as_dtype, float32, int64
from ...layout import wrap_dim, wrap_dims
from ...tensor import Tensor
from ..core.arguments import check_several, check_truths, expect_dtypes, integer, numpy_keywords
from ..core.late import provide
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..core.status import has_values
from ..creation.fill import eye
from ..creation.ranges import arange
from ..memory.assign import copy_
from ..memory.copies import clone, to_dtype
from ..memory.resize import into, into_exactly
from ..pointwise.functions import where
from ..reduce.reductions import amax, amin, norm, sum
from ..shape.slicing import diagonal as old_diagonal
from ..shape.views import expand
from . import lapack
from .factorise import eigvalsh
from .lu import inv_ex
from .matmul import chain_matmul, matmul
from .products import cross as old_cross
from .solve import inv, solve, tolerance
from .svd import svdvals

_NORM = Primitive("largest_norm", samples="T[2, 3, 3];")


# ---------------------------------------------------------------- norms
@numpy_keywords
def vector_norm(x, ord=2, dim=None, keepdim: bool = False, *, dtype=None, out=None) -> Tensor:
    """(sum |x|^ord)^(1/ord) over dimensions.

    Args:
        x: floating point or complex.
        ord: any number; inf and -inf give the largest and smallest magnitude, 0 the number of non-zeros.
        dim: an int or several; all elements when None.
        keepdim: whether the reduced dimensions stay, of extent 1.
        dtype: convert to this first.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: an integer tensor without a floating-point `dtype`; the extreme of nothing, or a negative `ord` of it.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
        tensor(5.)
    """
    layout = layout_of("linalg_vector_norm", x, "x")
    if not layout.numel and (ord < 0 or ord == math.inf):
        empty = [d for d in wrap_dims(dim, layout.ndim) if not layout.shape[d]]
        if empty:
            where = "an empty tensor" if dim is None else f"the dimension {empty[0]}, which is empty,"
            raise RuntimeError(f"linalg.vector_norm cannot compute the {float(ord)} norm on {where} because the operation does not "
                               f"have an identity")
    if ord == -math.inf:
        result = amin((x if dtype is None else to_dtype(x, as_dtype(dtype))).abs(), () if dim is None else dim, keepdim)
        return into_exactly("vector_norm", out, result)
    return into_exactly("vector_norm", out, norm(x, ord, dim, keepdim, dtype=dtype))


@provide
@numpy_keywords
def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim: bool = False, *, dtype=None, out=None) -> Tensor:
    """A norm of matrices.

    Args:
        A: (*, m, n), or with `dim` matrices in any two dimensions.
        ord: "fro" (Frobenius), "nuc" (the sum of the singular values), 2 or -2 (the largest or smallest of them), 1 or -1 (the
            largest or smallest sum of a column's magnitudes), inf or -inf (of a row's).
        dim: the two dimensions.
        keepdim: whether they stay, of extent 1.
        dtype: convert to this first.
        out: a tensor to write the result to.

    Returns:
        (*), real.

    Raises:
        RuntimeError: another `ord`, fewer than two dimensions, or one dimension twice.

    Example:
        >>> import numtorch as torch
        >>> A = torch.tensor([[3., 4.], [0., 0.]])
        >>> torch.linalg.matrix_norm(A), torch.linalg.matrix_norm(A, 1)
        (tensor(5.), tensor(4.))
    """
    check_truths("linalg.matrix_norm", keepdim=keepdim)
    if layout_of("linalg_matrix_norm", A, "A").ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    dim = (dim,) if isinstance(dim, int) else dim
    check_several("linalg.matrix_norm", "dim", dim)
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = (wrap_dim(d, A.layout.ndim) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if dtype is not None:
        A = to_dtype(A, as_dtype(dtype))
    if ord == "fro":
        return into_exactly("matrix_norm", out, norm(A, 2, dim, keepdim))
    pick = amin if not isinstance(ord, str) and ord < 0 else amax
    if ord in (1, -1, math.inf, -math.inf):
        summed, picked = (rows, columns) if ord in (1, -1) else (columns, rows)
        result = _kept(_extreme(pick, sum(A.abs(), summed), picked - (picked > summed)), A, rows, columns, keepdim)
        return into_exactly("matrix_norm", out, result)
    if ord not in (2, -2, "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    values = svdvals(A.movedim((rows, columns), (-2, -1)))
    result = _kept(sum(values, -1) if ord == "nuc" else _extreme(pick, values, -1), A, rows, columns, keepdim)
    return into_exactly("matrix_norm", out, result)


def _extreme(pick, values, dim):
    """The largest or smallest of what is not negative: the largest of nothing is 0."""
    return sum(values, dim) if pick is amax and not values.layout.shape[dim] else pick(values, dim)


def _kept(result, A, rows, columns, keepdim):
    if not keepdim:
        return result
    return result.reshape([1 if d in (rows, columns) else n for d, n in enumerate(A.layout.shape)])


@numpy_keywords
def linalg_norm(A, ord=None, dim=None, keepdim: bool = False, *, out=None, dtype=None) -> Tensor:
    """The norm of vectors or matrices: of a vector where `dim` is an int or A has one dimension, else of a matrix.

    Args:
        A: floating point or complex.
        ord: as for `vector_norm` or `matrix_norm`; when None the root of the sum of all squares, of any number of dimensions.
        dim: an int for vectors, two for matrices; None for all of one or two dimensions.
        keepdim: whether they stay, of extent 1.
        out: a tensor to write the result to.
        dtype: convert to this first.

    Raises:
        RuntimeError: an `ord` without a `dim` for more than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.norm(torch.tensor([[3., 4.], [0., 0.]]))
        tensor(5.)
    """
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if isinstance(dim, int) or (dim is None and A.layout.ndim == 1) or (dim is not None and len(dim) == 1):
        if isinstance(ord, str):
            raise RuntimeError(f"linalg.norm: order {ord!r} is of matrices: expected two dimensions, got {A.layout.ndim} and "
                               f"dim={dim}")
        return vector_norm(A, ord, dim, keepdim, dtype=dtype, out=out)
    if dim is None and A.layout.ndim != 2:
        raise RuntimeError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                           f"{A.layout.ndim}D.")
    return matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype, out=out)


def cond(A, p=None, *, out=None) -> Tensor:
    """How much solving with a matrix can enlarge an error: norm(A) * norm(inv(A)).

    Args:
        A: (*, m, n); square for a p other than None, 2 and -2.
        p: as `ord` of `matrix_norm`; when None or 2 the largest singular value over the smallest.
        out: a tensor to write the result to.

    Returns:
        (*), real; infinite for singular matrices, and 0 for those without elements.

    Raises:
        RuntimeError: what are no matrices, or not square where they must be, or another `p`.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.cond(torch.tensor([[4., 0.], [0., 2.]]))
        tensor(2.)
    """
    lapack.matrices("cond", A, square=isinstance(p, str), floats=False)
    if p not in (None, 1, -1, 2, -2, math.inf, -math.inf, "fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not A.layout.numel:
        return into(out, A.new_zeros(A.layout.shape[:-2], dtype=A.layout.dtype.to_real()))
    if p in (None, 2, -2):
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return into(out, first / last if p != -2 else last / first)
    lapack.matrices("cond", A, square=True)
    inverse, info = inv_ex(A)
    singular = info != 0
    inverse = where(singular[..., None, None], 0, inverse)
    return into(out, where(singular, math.inf, matrix_norm(A, p) * matrix_norm(inverse, p)))


def matrix_rank(A, tol=None, hermitian: bool = False, *, atol=None, rtol=None, out=None) -> Tensor:
    """How many singular values of each matrix are above max(atol, rtol * the largest).

    Args:
        A: (*, m, n).
        tol: an older name of `atol`.
        atol, rtol: 0 and max(m, n) times the dtype's epsilon when None.
        hermitian: whether to take the magnitudes of eigenvalues, which for Hermitian matrices are the same.
        out: a tensor to write the result to.

    Returns:
        (*), int64.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.matrix_rank(torch.tensor([[1., 2.], [2., 4.]]))
        tensor(1)
    """
    check_truths("linalg.matrix_rank", hermitian=hermitian)
    lapack.matrices("matrix_rank", A, square=hermitian)
    values = eigvalsh(A.detach()).abs().sort(-1, descending=True)[0] if hermitian else svdvals(A.detach())
    return into(out, (values > tolerance(A, values, atol if tol is None else tol, rtol)).sum(-1))


# ---------------------------------------------------------------- powers
def _identity(like):
    """The identity of matrices like these."""
    layout = like.layout
    return eye(layout.shape[-1], dtype=layout.dtype, device=layout.device)


@method
def matrix_power(input, n: int, *, out=None) -> Tensor:
    """Square matrices times themselves, n times; inverted first for a negative n.

    Args:
        input: (*, n, n); of integers for an exponent that is not negative.
        n: the exponent; 0 gives the identity.
        out: a tensor to write the result to.

    Raises:
        LinAlgError: a negative exponent of a singular matrix.

    Example:
        >>> import numtorch as torch
        >>> torch.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 5)
        tensor([[1., 5.],
                [0., 1.]])
    """
    n = integer("matrix_power", "n", n)
    lapack.matrices("matrix_power", input, square=True, floats=n < 0)
    if n == 0:
        return into(out, copy_(clone(input), expand(_identity(input), input.layout.shape)))     # recorded, with a gradient of 0
    if n < 0:
        input, n = inv(input), -n
    result = None
    while True:
        if n & 1:
            result = input if result is None else matmul(result, input)
        n >>= 1
        if not n:
            return into(out, result.clone() if result is input else result)
        input = matmul(input, input)


@_NORM.composed
def _norm(matrices: Tensor):
    """The largest of the matrices' 1-norms, as a float."""
    expect_dtypes("largest_norm", matrices.layout.dtype, "float", "complex")
    return amax(sum(matrices.abs(), -2)).item() if has_values(matrices) else 0.0


@method
def matrix_exp(input) -> Tensor:
    """The sum of A^k / k!, of square matrices.

    Scaled to a norm of at most 1, of float32 3, summed, and squared as often (Moler and Van Loan, "Nineteen dubious ways to compute
    the exponential of a matrix", 2003, method 3): 18 terms leave 1e-17 and 1e-8 of that, and each squaring doubles what is rounded.

    Args:
        input: (*, n, n).

    Example:
        >>> import numtorch as torch
        >>> torch.matrix_exp(torch.tensor([[0., 1.], [0., 0.]]))
        tensor([[1., 1.],
                [0., 1.]])
    """
    if layout_of("linalg_matrix_exp", input).dtype.itemsize == 2 and input.layout.dtype.is_floating_point:
        return to_dtype(matrix_exp(to_dtype(input, float32)), input.layout.dtype)
    lapack.matrices("matrix_exp", input, square=True)
    unit = input.detach() * 0 + _identity(input)
    if not input.layout.numel:
        return input.clone()
    size = _norm(input.detach())
    bound = 3.0 if input.layout.dtype.to_real() is float32 else 1.0
    halvings = max(0, math.ceil(math.log2(size / bound))) if math.isfinite(size) and size > bound else 0
    scaled = input * 0.5 ** halvings
    result = unit + scaled * (1 / 18)
    for k in range(17, 0, -1):                           # Horner's rule
        result = unit + matmul(scaled, result) * (1 / k)
    for _ in range(halvings):
        result = matmul(result, result)
    return result


# ---------------------------------------------------------------- products
def multi_dot(tensors, *, out=None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest operations; the first and last may be vectors.

    Args:
        tensors: (n,) or (m, n), ..., of shapes that can be multiplied.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: fewer than two tensors, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> row, square = torch.tensor([1., 2.]), torch.tensor([[0., 1.], [1., 0.]])
        >>> torch.linalg.multi_dot([row, square, row])
        tensor(4.)
    """
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(tensors)))
    for tensor in tensors:
        layout_of("linalg_multi_dot", tensor, "tensors")
    row, column = tensors[0].layout.ndim == 1, tensors[-1].layout.ndim == 1
    if row:
        tensors[0] = tensors[0].unsqueeze(0)
    if column:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    for i, t in enumerate(tensors):
        if t.layout.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.layout.ndim}D")
    result = _ordered(tensors, *_orders((*[t.layout.shape[0] for t in tensors], tensors[-1].layout.shape[1])))
    if row:
        result = result.squeeze(0)
    return into_exactly("multi_dot", out, result.squeeze(-1) if column else result)


@functools.lru_cache(maxsize=256)
def _orders(sizes):
    """Where to split each run of factors (Cormen et al., "Introduction to Algorithms", 15.2)."""
    count = len(sizes) - 1
    cost, split = [[0] * count for _ in range(count)], [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min((cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                                          for k in range(i, j))
    return split, 0, count - 1


def _ordered(tensors, split, i, j):
    if i == j:
        return tensors[i]
    if j == i + 1:
        return chain_matmul(tensors[i], tensors[j])
    k = split[i][j]
    return matmul(_ordered(tensors, split, i, k), _ordered(tensors, split, k + 1, j))


@numpy_keywords
def vecdot(x, y, *, dim: int = -1, out=None) -> Tensor:
    """The sums of products along a dimension, the first conjugated.

    Args:
        x, y: of shapes that broadcast.
        dim: the dimension of the vectors.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.vecdot(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 10.]))
        tensor([21., 43.])
    """
    layout_of("linalg_vecdot", x, "x")
    return into_exactly("vecdot", out, sum(x.conj() * y, dim))


@numpy_keywords
def cross(input, other, *, dim: int = -1, out=None) -> Tensor:
    """The vector products of vectors of three elements along `dim`.

    Args:
        input, other: of as many dimensions and shapes that broadcast, with 3 elements along `dim`.
        dim: the dimension of the vectors.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: another number of elements, or numbers of dimensions that differ.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.cross(torch.tensor([1., 0., 0.]), torch.tensor([0., 1., 0.]))
        tensor([0., 0., 1.])
    """
    return old_cross(input, other, dim, out=out)


def diagonal(A, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view.

    Args:
        A: (*, m, n), or with `dim1` and `dim2` matrices in any two dimensions.
        offset: which diagonal: 0 is the main one, positive ones lie above it.
        dim1, dim2: rows and columns.

    Returns:
        (*, k), the diagonal as the last dimension.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.diagonal(torch.tensor([[1., 2.], [3., 4.]]))
        tensor([1., 4.])
    """
    return old_diagonal(A, offset, dim1, dim2)


def vander(x, *, N=None) -> Tensor:
    """The powers 0 to N-1 of each element of vectors, in rows (Vandermonde's matrix).

    Args:
        x: (*, n).
        N: how many powers; n when None.

    Returns:
        (*, n, N), int64 of integers.

    Raises:
        RuntimeError: a 0-dim tensor without N, an N of 1 or less, or bools.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.vander(torch.tensor([2., 3.]), N=3)
        tensor([[1., 2., 4.],
                [1., 3., 9.]])
    """
    if layout_of("linalg_vander", x, "x").ndim == 0 and N is None:
        raise RuntimeError("Expected a non-scalar tensor, but got 0 dimensions (linalg.vander)")
    if not x.layout.dtype.category:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, but got Bool")
    count = x.layout.shape[-1] if N is None else integer("linalg_vander", "N", N)
    x = x if x.layout.ndim else x.reshape(1)
    if N is not None and N <= 1:
        raise RuntimeError(f"N must be greater than 1 (linalg.vander: got {N})")
    powers = arange(count, dtype=int64 if x.layout.dtype.category < 2 else x.layout.dtype, device=x.layout.device)
    return x.unsqueeze(-1) ** powers


def tensorinv(A, ind: int = 2, *, out=None) -> Tensor:
    """The inverse of a tensor as a map from its last dimensions to its first `ind`.

    Args:
        A: the product of its first `ind` extents is that of the others.
        ind: how many dimensions come first.
        out: a tensor to write the result to.

    Returns:
        The last dimensions followed by the first.

    Raises:
        RuntimeError: an `ind` of 0 or less, or extents that are not square so.
        LinAlgError: the map is singular.

    Example:
        >>> import numtorch as torch
        >>> torch.linalg.tensorinv(torch.eye(4).reshape(2, 2, 4)).shape
        torch.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = layout_of("linalg_tensorinv", A, "A").shape[:ind], A.layout.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
                           f"{math.prod(last)} != {math.prod(first)}")
    return into(out, inv(A.reshape(math.prod(first), math.prod(last))).reshape(*last, *first))


def tensorsolve(A, B, dims=None, *, out=None) -> Tensor:
    """The X with tensordot(A, X, X.ndim) = B.

    Args:
        A: B's extents followed by X's, whose products are the same.
        B: the right-hand side.
        dims: dimensions of A that are moved to its end first.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: extents that do not fit.
        LinAlgError: the system is singular.

    Example:
        >>> import numtorch as torch
        >>> A = 2 * torch.eye(4).reshape(2, 2, 4)
        >>> torch.linalg.tensorsolve(A, torch.tensor([[2., 4.], [6., 8.]]))
        tensor([1., 2., 3., 4.])
    """
    layout_of("linalg_tensorsolve", A, "A")
    layout_of("linalg_tensorsolve", B, "B", 2)
    if dims is not None:
        check_several("linalg.tensorsolve", "dims", dims)
        A = A.movedim(tuple(dims), tuple(range(A.layout.ndim - len(dims), A.layout.ndim)))
    shape = A.layout.shape[B.layout.ndim:]
    if math.prod(shape) != B.layout.numel:
        raise RuntimeError("Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
                           f"prod(self.shape[:other.ndim]), but got {math.prod(shape)} != {B.layout.numel}")
    return into(out, solve(A.reshape(B.layout.numel, math.prod(shape)), B.reshape(B.layout.numel)).reshape(*shape))
