"""Products of sparse matrices: with dense matrices and vectors, with sparse ones, and sampled at the places of one.

A product with a dense matrix goes row by row of the sparse one, or of its transpose, as `Rows` has it. The gradient of the dense
matrix is the same product with the transpose; that of the sparse one is sampled at its places, and itself such a product's input.
"""
from __future__ import annotations

from ..autograd.graph import GraphNode, Recorded, recording
from ..dtypes import float32, int64
from ..exchange.construction import make
from ..kernels.threads import get_num_threads
from ..layout import Layout
from ..ops.core.arguments import expect_dtypes, expect_layout, scalar
from ..ops.core.backends import kernels
from ..ops.core.operands import layout_of, method
from ..ops.core.primitive import Primitive, class_of, handler_of, miss
from ..ops.creation.fill import zeros
from ..ops.creation.ranges import arange
from ..ops.index.index_select import index_select
from ..ops.index.rearrange import repeat_interleave
from ..ops.index.scatter_reduce import scatter_reduce
from ..ops.linalg.addmm import addmm as dense_addmm
from ..ops.linalg.matmul import bmm as dense_bmm
from ..ops.linalg.matmul import mm as dense_mm
from ..ops.memory.copies import contiguous, to_dtype
from ..ops.pointwise import arithmetic
from ..ops.pointwise.bounds import clamp_min
from ..ops.shape.views import expand, movedim, reshape, squeeze, transpose, unsqueeze
from ..ops.sort.scan import cumsum, diff
from ..tensor import Tensor, empty
from .conversions import as_kind
from .coo import (
    check_ordinary,
    coalesce,
    coo,
    coordinates,
    entries,
    like,
    stacked,
    taken,
    takes_all,
    to_coo,
    values_of,
    with_values,
)
from .elementwise import added
from .handler import HANDLER, refusal, replace, rule
from .layouts import BY_ROWS, Compressed, check_whole, expect, is_sparse, title_of
from .pattern import compressed_columns, compressed_rows, coordinate_rows

_MM = Recorded("mm")
_SAMPLED = Primitive("sampled_product", "The elements of a dense product at the places of a sparse matrix.",
                     samples="int64([0, 1]), int64([2, 0]), T[2, 4], T[3, 4];")
_SPARSE_ADDMM, _BMM = Recorded("sparse_addmm"), Recorded("bmm")


# ---------------------------------------------------------------- sparse @ dense
def _lines(layout, index_parts, flipped):
    """The rows of a sparse matrix, or of its transpose."""
    if layout.kind == "sparse_coo":
        return coordinate_rows(index_parts[0], layout.shape, flipped)
    if layout.by_rows != flipped:
        return compressed_rows(*index_parts, layout.shape[::-1] if flipped else layout.shape)
    shape = layout.shape if layout.by_rows else layout.shape[::-1]
    return compressed_columns(*index_parts, shape)


def _multiply(rows, values, dense):
    """The product of a sparse matrix's rows and a dense matrix, unrecorded. Kernels know no 16-bit floats: these are widened."""
    kind = values.layout.dtype
    if kind.category == 2 and kind.itemsize == 2:
        return to_dtype(_multiply(rows, to_dtype(values.detach(), float32), to_dtype(dense.detach(), float32)), kind)
    if rows.places is not None:                          # in order, so that the kernel reads one after another
        values = index_select(values.detach(), 0, rows.places)
    width, layout = dense.layout.shape[1], values.layout
    if dense.layout.strides[1] != 1 and width > 1:
        dense = contiguous(dense)
    step = dense.layout.strides[0] if dense.layout.shape[0] > 1 else width
    out = empty(Layout.of(layout.dtype, (rows.shape[0], width), None, layout.device))
    if not out.layout.numel:
        return out
    work = rows.columns.layout.numel * width
    edges = rows.edges(work)
    key = layout.dtype, width, step, len(edges)
    prepared = rows.plans.get(key)
    if prepared is None:
        prepared = rows.plans[key] = kernels(layout.device, "sparse.product").plan_multiply_rows(
            layout.dtype.kernel, rows.columns.layout.dtype.kernel, edges, width, step, rows.columns.layout.numel)
    prepared.call(rows.pointers.address, rows.columns.address, values.address, dense.address, out.address, prepared.descriptor)
    return out


def product(x, dense, flipped=False, kind=_MM) -> Tensor:
    """x @ dense, or its transpose @ dense, for a sparse matrix x."""
    if recording(x):
        x, _ = entries(x)
    layout, storage = x.layout, x.memory
    out = _multiply(_lines(layout, storage.parts[:-1], flipped), contiguous(storage.parts[-1]), dense)
    if recording(x, dense):
        out.node = GraphNode(kind, (x.node, dense.node), (x, dense), flipped)
    return out


def _product_vjp(node, grad, x, dense):
    flipped, by_x, by_dense = node.attributes, None, None
    if node.needs(0):
        a, b = (_conjugated(dense), _conjugated(grad)) if flipped else (grad, dense)
        if node.primitive is _MM and takes_all(node.edges[0]):
            by_x = dense_mm(a, transpose(_conjugated(b), 0, 1))
        else:
            by_x = sampled(x, a, b)
    if node.needs(1):
        by_dense = product(_conjugated(x), grad, not flipped)
    return by_x, by_dense


_MM.derivative(_product_vjp)
_SPARSE_ADDMM.derivative(_product_vjp)


def _conjugated(x):
    return arithmetic.conj_physical(x) if x.layout.dtype.is_complex else x


# ---------------------------------------------------------------- sampled
@_SAMPLED.planned
def _plan_sampled(rows, columns, a, b):
    count, length = rows.numel, a.shape[1]
    for name, index in (("rows", rows), ("columns", columns)):
        expect_layout("sampled_product", name, index, (count,), int64)
    expect_dtypes("sampled_product", a.dtype, "bool", "integer", "float32", "float64", "complex64", "complex128")
    expect_layout("sampled_product", "b", b, (b.shape[0], length), a.dtype)
    parts = max(1, min(get_num_threads(), count * length // 20_000))
    edges = [count * part // parts for part in range(parts + 1)]
    out = Layout.of(a.dtype, (count,), None, a.device)
    return out, kernels(a.device, "sparse.product").plan_sample_products(
        a.dtype.kernel, list(zip(edges[:-1], edges[1:])), length, a.strides[0], b.strides[0]) if count else None


@_SAMPLED.run
def _sampled(plan, rows: Tensor, columns: Tensor, a: Tensor, b: Tensor):
    layout, prepared = plan
    out = empty(layout)
    if prepared is not None:
        prepared.call(rows.address, columns.address, a.address, b.address, out.address, prepared.descriptor)
    if recording(a, b):
        out.node = GraphNode(_SAMPLED, (None, None, a.node, b.node), (rows, columns, a, b))
    return out


@_SAMPLED.derivative
def _sampled_vjp(node, grad, rows, columns, a, b):
    weights = coo(stacked((rows, columns)), grad, (a.layout.shape[0], b.layout.shape[0]))
    return (None, None, product(weights, arithmetic.conj(b)) if node.needs(2) else None,
            product(weights, arithmetic.conj(a), True) if node.needs(3) else None)


def sampled(x, a, b) -> Tensor:
    """a @ b^H at the places of a sparse matrix of distinct elements, sparse."""
    for factor in (a, b):
        check_ordinary(factor, x.layout.title)
    b = arithmetic.conj_physical(b) if b.layout.dtype.is_complex else b
    rows, columns = coordinates(x)
    kind = a.layout.dtype
    if kind.category == 2 and kind.itemsize == 2:
        a, b = to_dtype(a, float32), to_dtype(b, float32)
    values = to_dtype(_sampled(contiguous(rows), contiguous(columns), contiguous(a), contiguous(b)), kind)
    return with_values(x.layout, x.memory.parts[:-1], x.memory.coalesced, values)


# ---------------------------------------------------------------- sparse @ sparse
def _sparse_product(a, b, kind):
    """All products of an element of a and one of the row of b that it meets, added up where they belong."""
    (a, x), (b, y) = entries(to_coo(a) if a.layout.kind != "sparse_coo" else a), entries(coalesce(as_kind(b, "sparse_coo")))
    rows = coordinate_rows(b.memory.parts[0], b.layout.shape)
    left, middle = coordinates(a)
    begins = index_select(rows.pointers, 0, middle)
    counts = index_select(rows.pointers, 0, middle + 1) - begins
    from_a = repeat_interleave(counts)
    within = arange(from_a.layout.numel, device=from_a.layout.device) - index_select(cumsum(counts, 0) - counts, 0, from_a)
    from_b = index_select(begins, 0, from_a) + within
    values = arithmetic.mul(index_select(x, 0, from_a), index_select(y, 0, from_b))
    indices = stacked((index_select(left, 0, from_a), index_select(coordinates(b)[1], 0, from_b)))
    return as_kind(coalesce(coo(indices, values, (a.layout.shape[0], b.layout.shape[1]), False, "mm")), kind)


# ---------------------------------------------------------------- rules
def _elements(x):
    """A factor; of blocks, or a batch of compressed matrices, as coordinates of single elements."""
    return as_kind(x, "sparse_coo") if isinstance(x.layout, Compressed) and not x.layout.is_matrix else x


def check_factors(name, a, b):
    for position, layout in (("self", a), ("mat2", b)):
        if layout.ndim != 2 or (layout.kind == "sparse_coo" and layout.sparse_dim != 2):
            raise RuntimeError(f"{name}: {position} must be a matrix without dense dimensions, got {layout.ndim} dimensions")
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {a.dtype.title} but found {b.dtype.title} ({name})")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"{name}: mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and "
                           f"{b.shape[0]}x{b.shape[1]})")


def multiplied(a, b, kind=_MM) -> Tensor:
    """The product of two matrices of which one at least is sparse."""
    a, b = _elements(a), _elements(b)
    check_factors("mm", a.layout, b.layout)
    if not (is_sparse(a) or is_sparse(b)):
        raise NotImplementedError("a product of dense matrices added to a sparse tensor has no sparse result; use `to_dense()`")
    if is_sparse(a) and is_sparse(b):
        return _sparse_product(a, b, a.layout.kind)
    if is_sparse(a):
        return product(a, b, kind=kind)
    return transpose(product(b, transpose(a, 0, 1), True, kind), 0, 1)


@rule("mm")
def _mm(primitive, a, b):
    return multiplied(a, b)


@rule("mv")
def _mv(primitive, a, x):
    if is_sparse(x) and is_sparse(a):
        raise refusal("mv of a sparse vector", a, x)
    if a.layout.ndim != 2 or x.layout.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {a.layout.ndim}, {x.layout.ndim}")
    if a.layout.shape[1] != x.layout.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return squeeze(multiplied(a, unsqueeze(x, 1)), 1)


@rule("matmul")
def _matmul(primitive, a, b):
    """A sparse matrix times a batch of dense ones, or these times it: one product."""
    if a.layout.ndim == 3 and b.layout.ndim == 3 and is_sparse(a):
        return _bmm(primitive, a, b)
    if is_sparse(a) and a.layout.ndim == 2 and not is_sparse(b):
        across = movedim(b, -2, 0)
        result = multiplied(a, reshape(across, (b.layout.shape[-2], -1)))
        return movedim(reshape(result, (a.layout.shape[0], *across.layout.shape[1:])), 0, -2)
    if is_sparse(b) and b.layout.ndim == 2 and not is_sparse(a):
        result = multiplied(reshape(a, (-1, a.layout.shape[-1])), b)
        return reshape(result, (*a.layout.shape[:-1], b.layout.shape[1]))
    raise refusal("matmul of batches", a, b)


@rule("addmm")
def _addmm(primitive, input, a, b, beta=1, alpha=1, kind=_MM):
    result = multiplied(a, b, kind)
    if alpha != 1:
        result = arithmetic.mul(result, alpha)
    if input is None or beta == 0:
        return result
    added_to = input if beta == 1 else arithmetic.mul(input, beta)
    if is_sparse(added_to) and not is_sparse(result):
        raise RuntimeError(f"addmm: expected a strided tensor to add, got one with layout {input.layout}")
    return arithmetic.add(added_to, result)


@rule("addmv")
def _addmv(primitive, input, a, x, beta=1, alpha=1):
    result = arithmetic.mul(_mv(primitive, a, x), alpha)
    return result if beta == 0 else arithmetic.add(arithmetic.mul(input, beta), result)


@rule("bmm")
def _bmm(primitive, a, b):
    a = _elements(a)
    if not is_sparse(a) or is_sparse(b) or a.layout.kind != "sparse_coo" or a.layout.sparse_dim != 3 or b.layout.ndim != 3:
        raise refusal("bmm", a, b)
    (batch, n, m), (also, inner, p) = a.layout.shape, b.layout.shape
    if batch != also or m != inner:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {m}] but got: [{also}, "
                           f"{inner}].")
    if takes_all(a.node) and recording(a):
        out = _bmm(primitive, a.detach(), b.detach())
        out.node = GraphNode(_BMM, (a.node, b.node), (a, b))
        return out
    a, values = entries(a)                               # one matrix, with those of the batch along its diagonal
    which, rows, columns = coordinates(a)
    whole = coo(stacked((which * n + rows, which * m + columns)), values, (batch * n, batch * m), a.memory.coalesced)
    return reshape(product(whole, reshape(b, (batch * m, p))), (batch, n, p))


@_BMM.derivative
def _bmm_vjp(node, grad, a, b):
    return (dense_bmm(grad, transpose(_conjugated(b), 1, 2)) if node.needs(0) else None,
            _bmm(None, transpose(_conjugated(a), 1, 2), grad) if node.needs(1) else None)


@rule("linear")
def _linear(primitive, input, weight, bias=None):
    if is_sparse(weight):
        flat = input if input.layout.ndim == 2 or is_sparse(input) else reshape(input, (-1, input.layout.shape[-1]))
        result = multiplied(flat, transpose(weight, 0, 1)) if is_sparse(flat) else transpose(
            multiplied(weight, transpose(flat, 0, 1)), 0, 1)
        result = result if flat is input else reshape(result, (*input.layout.shape[:-1], weight.layout.shape[0]))
    else:
        result = multiplied(input, transpose(weight, 0, 1))
    if bias is None:
        return result
    if is_sparse(result):
        raise refusal("linear with a bias", result)
    return arithmetic.add(bias, result)


def _reduced(a, b, reduce):
    """The product of a CSR and a dense matrix, whose terms are put together in another way than by their sum."""
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(f"sparse_mm_reduce: reduce type of {reduce} has not been enabled.")
    for name, x, title in (("self", a, "SparseCsr"), ("mat2", b, "Strided")):
        if title_of(x.layout) != title:
            raise NotImplementedError(f"sparse_mm_reduce: expect {name} to be {title}, got {title_of(x.layout)}")
    check_factors("mm", a.layout, b.layout)
    if reduce == "sum":
        return multiplied(a, b, _SPARSE_ADDMM)
    rows, columns = coordinates(a)
    if reduce == "mean":
        counts = to_dtype(clamp_min(diff(a.memory.parts[0]), 1), b.layout.dtype)
        return arithmetic.div(multiplied(a, b, _SPARSE_ADDMM), unsqueeze(counts, 1))
    terms = arithmetic.mul(unsqueeze(values_of(a), 1), index_select(b, 0, columns))
    start = zeros((a.layout.shape[0], b.layout.shape[1]), dtype=b.layout.dtype, device=b.layout.device)
    return scatter_reduce(start, 0, expand(unsqueeze(rows, 1), terms.layout.shape), terms, reduce, include_self=False)


_STORED = Primitive("stored_alone", "A sparse tensor whose gradient is that of its stored elements.", ("input",),
                    samples="coo(int64([[0, 1], [2, 0]]), T[2], (2, 3));")


def _stored_alone(x):
    """A factor whose gradient is, as `sparse.mm` has it, that of the stored elements alone."""
    if x.layout.kind == "strided":
        return x
    return like(*entries(x)) if is_sparse(x) else miss(_STORED, (x,))


_STORED.function = _stored_alone


# ---------------------------------------------------------------- public
def mm(mat1, mat2, reduce=None) -> Tensor:
    """The product of two matrices of which one at least is sparse; of two sparse ones it is sparse.

    Args:
        mat1: (n, m).
        mat2: (m, p), of the same dtype.
        reduce: how the products of an element of the result are put together: "sum", "mean", "amax" or "amin" of those that are
            stored, 0 where none is. With it `mat1` is CSR and `mat2` is dense. None is "sum" of any two.

    Raises:
        RuntimeError: not matrices, inner sizes that differ, different dtypes, or another `reduce`.
        NotImplementedError: `reduce` with other layouts.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.tensor([[1., 2.], [3., 4.]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    if reduce is not None:
        return _reduced(mat1, mat2, reduce)
    if mat1.layout.kind == mat2.layout.kind == "strided":
        raise RuntimeError("sparse.mm: expected a sparse matrix among the factors")
    if handler_of((mat1, mat2)) is not HANDLER:          # a transform of torch.func decides
        return dense_mm(*map(_stored_alone, (mat1, mat2)))
    return multiplied(mat1, mat2, _SPARSE_ADDMM)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), with a sparse `mat1`.

    Args:
        mat: (n, p).
        mat1: (n, m), sparse.
        mat2: (m, p).
        beta, alpha: the factors.

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.tensor([[1.], [2.]]))
        tensor([[2.],
                [3.]])
    """
    if handler_of((mat, mat1, mat2)) is not HANDLER:
        return dense_addmm(mat, *map(_stored_alone, (mat1, mat2)), beta=beta, alpha=alpha)
    return _addmm(None, mat, mat1, mat2, beta, alpha, _SPARSE_ADDMM)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2) at the places that `input` stores.

    Args:
        input: (n, p), CSR.
        mat1: (n, m), dense.
        mat2: (m, p), dense.
        beta, alpha: the factors.
        out: a CSR tensor of this dtype, which takes on the result's size and places.

    Raises:
        RuntimeError: another layout, sizes that do not match, different dtypes, or complex factors of real numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
        tensor([4., 4.])
    """
    if not expect(input, BY_ROWS, "sampled_addmm").is_matrix:
        raise refusal("sampled_addmm of blocks or batches", input)
    if is_sparse(mat1) or is_sparse(mat2) or mat1.layout.ndim != 2 or mat2.layout.ndim != 2:
        raise RuntimeError("sampled_addmm: expected dense matrices as factors")
    shapes = mat1.layout.shape, mat2.layout.shape
    if shapes[0][1] != shapes[1][0] or (shapes[0][0], shapes[1][1]) != input.layout.shape:
        raise RuntimeError(f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({shapes[0][0]}x{shapes[0][1]} and "
                           f"{shapes[1][0]}x{shapes[1][1]}) into {list(input.layout.shape)}")
    if not input.layout.dtype is mat1.layout.dtype is mat2.layout.dtype:
        raise RuntimeError(f"sampled_addmm: expected one dtype, got {input.layout.dtype}, {mat1.layout.dtype}, {mat2.layout.dtype}")
    alpha, beta = scalar("sampled_addmm", "alpha", alpha), scalar("sampled_addmm", "beta", beta)
    if not input.layout.dtype.is_complex and (isinstance(alpha, complex) or isinstance(beta, complex)):
        raise RuntimeError("sampled_addmm: value cannot be converted to type float without overflow")
    result = arithmetic.mul(sampled(input, mat1, transpose(arithmetic.conj(mat2), 0, 1)), alpha)
    result = added(arithmetic.mul(input, beta), result) if beta else result
    return result if out is None else _into(out, result)


def _into(out, result):
    """A CSR result written to another CSR tensor."""
    layout_of("sampled_addmm", out, "out")
    if out.layout.kind != "sparse_csr":
        raise RuntimeError(f"sampled_addmm: Expected result to have sparse csr layout, but got {out.layout.kind}")
    if out.layout.dtype is not result.layout.dtype:
        raise RuntimeError(f"sampled_addmm: Expected result and self to have the same dtype, but got {out.layout.dtype.title} and "
                           f"{result.layout.dtype.title}")
    out.layout = result.layout
    return replace(out, result.detach().clone(), "sampled_addmm")


def spdiags(diagonals, offsets, shape, layout=None) -> Tensor:
    """A sparse matrix of diagonals.

    Args:
        diagonals: (k, m), the elements of each diagonal, at the columns where they stand.
        offsets: (k) integers, how far above the main diagonal each is.
        shape: rows and columns.
        layout: `torch.sparse_coo`, which None is too, `sparse_csr` or `sparse_csc`.

    Raises:
        ValueError: an offset that occurs twice, or sizes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.sparse.spdiags(torch.tensor([[1., 2.]]), torch.tensor([1]), (2, 2)).to_dense()
        tensor([[0., 2.],
                [0., 0.]])
    """
    diagonals = diagonals if diagonals.layout.ndim == 2 else unsqueeze(diagonals, 0)
    wanted = [int(o) for o in reshape(offsets, -1).tolist()]
    if len(wanted) != diagonals.layout.shape[0]:
        raise ValueError(f"Number of diagonals ({diagonals.layout.shape[0]}) does not match the number of offsets ({len(wanted)})")
    if len(set(wanted)) != len(wanted):
        raise ValueError("Offset tensor contains duplicate values")
    rows, columns, taken_from = [], [], []
    for number, k in enumerate(wanted):
        first, stop = max(0, k), min(shape[1], diagonals.layout.shape[1], shape[0] + k)
        rows += range(first - k, max(stop, first) - k)
        columns += range(first, max(stop, first))
        taken_from += [number * diagonals.layout.shape[1] + j for j in range(first, max(stop, first))]
    made = [make(part, dtype=int64) for part in (rows, columns, taken_from)]
    result = coo(stacked(made[:2]), index_select(reshape(diagonals, -1), 0, made[2]), tuple(shape))
    return as_kind(result, "sparse_coo" if layout is None else layout.kind)


# ---------------------------------------------------------------- values at the places of another
@method
def sparse_mask(self, mask) -> Tensor:
    """The elements of this tensor at the places that a sparse tensor stores.

    Args:
        mask: a sparse tensor of the same shape; its values do not matter.

    Raises:
        RuntimeError: another shape.
        NotImplementedError: a dense mask.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).sparse_mask(torch.eye(2).to_sparse()).values()
        tensor([1., 4.])
    """
    if not is_sparse(mask):
        if not isinstance(mask, Tensor):
            raise TypeError(f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {class_of(mask)}")
        check_whole("sparse_mask", mask.layout)
        raise NotImplementedError("sparse_mask: expected a sparse mask, got a dense one")
    if self.layout.shape != mask.layout.shape:
        raise RuntimeError(f"sparse_mask(): operands have incompatible sizes; self has size {list(self.layout.shape)} but mask has "
                           f"size {list(mask.layout.shape)}")
    parts, coalesced = mask.memory.parts[:-1], mask.memory.coalesced
    return with_values(mask.layout, parts, coalesced, taken(self, mask.layout, parts, coalesced), "sparse_mask")
