"""Names from before layouts: types such as `sparse.FloatTensor`, and products that say in their names what is sparse."""
from __future__ import annotations

from ..dtypes import dtype as dtype_class
from ..dtypes import int32, int64
from ..layout import ints
from ..ops.core.operands import layout_of, method
from ..ops.core.overloads import numbers_first
from ..ops.creation.ranges import arange
from ..ops.index.rearrange import repeat_interleave
from ..ops.memory.copies import to_dtype
from ..ops.memory.tensortypes import LegacyType, legacy
from ..ops.pointwise import arithmetic
from ..ops.reduce.reductions import norm
from ..ops.shape.join import stack
from ..ops.shape.view_copies import copy_of
from ..ops.shape.views import reshape, unsqueeze
from ..ops.sort.scan import diff
from ..ops.sort.search import searchsorted
from ..ops.sort.unique import unique
from ..tensor import Tensor
from .coo import coalesce, coo, coordinates, sparse_coo_tensor, stacked, values_of
from .handler import replace
from .layouts import COO, check_whole, expect, is_sparse, sparse_coo
from .products import check_factors, multiplied


# ---------------------------------------------------------------- types
class SparseType(LegacyType):
    """The type of `sparse.FloatTensor` and its like: a call makes a COO tensor of indices and values, or one of a shape."""

    is_sparse = True
    layout = sparse_coo

    def __call__(cls, *args, size=None, device=None) -> Tensor:
        device = ("cuda" if cls.is_cuda else "cpu") if device is None else device
        args = args if size is None else (*args, tuple(size))
        if args and isinstance(args[0], Tensor) and 2 <= len(args) <= 3:
            return sparse_coo_tensor(*args, dtype=cls.dtype, device=device)
        shape = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if not all(isinstance(extent, int) for extent in shape):
            raise TypeError(f"{cls.__module__}.{cls.__name__}: expected indices, values and a shape, or a shape; got "
                            f"{', '.join(type(a).__name__ for a in args)}")
        return sparse_coo_tensor(tuple(shape) or (0,), dtype=cls.dtype, device=device)


_KINDS = [*map(dtype_class.by_name.__getitem__, (
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8"))]
TYPES = [legacy(kind, "torch.sparse", SparseType) for kind in _KINDS]
CUDA = [legacy(kind, "torch.cuda.sparse", SparseType) for kind in _KINDS]


# ---------------------------------------------------------------- products
def _checked(name, dense, **sparse):
    """The one dense factor, after what must be COO is seen to be so."""
    layout_of(name, dense, "mat2", len(sparse) + 1)
    for position, (argument, x) in enumerate(sparse.items(), 1):
        layout_of(name, x, argument, position)
        if not is_sparse(x):
            check_whole(name, x.layout)
            raise NotImplementedError(f"{name}: expected {argument} to be a sparse tensor, got a dense one; torch.mm and "
                                      f"torch.addmm take both")
        expect(x, COO, name)
    if is_sparse(dense):
        raise RuntimeError(f"{name}: expected 'mat2' to have strided layout, got 'mat2' with layout {dense.layout}; torch.mm "
                           f"multiplies two sparse matrices")


def _into(name, out, result) -> Tensor:
    """A COO result, or a COO tensor that it is written to."""
    if out is None:
        return result
    layout_of(name, out, "out")
    expect(out, COO, name)
    if out.layout.dtype is not result.layout.dtype:
        raise RuntimeError(f"{name}: expected out to have dtype {result.layout.dtype}, got {out.layout.dtype}")
    out.layout = result.layout
    return replace(out, result.detach(), name)


def _product_of_rows(a, dense):
    """The rows of a sparse matrix that store anything, in order, and their product with a dense one."""
    rows, columns = coordinates(a)
    rows, places = unique(rows, return_inverse=True)
    packed = coo(stacked((places, columns)), values_of(a), (rows.layout.shape[0], a.layout.shape[1]), a.memory.coalesced)
    return rows, multiplied(packed, dense)


def hspmm(mat1, mat2, *, out=None) -> Tensor:
    """The product of a sparse and a dense matrix, of which the rows that `mat1` stores anything in are stored, whole.

    Args:
        mat1: (N, K), COO.
        mat2: (K, M), dense.
        out: a COO tensor to write into.

    Returns:
        (N, M), COO with one sparse and one dense dimension.

    Raises:
        RuntimeError: other layouts, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.hspmm(torch.sparse_coo_tensor([[1], [0]], [2.], (3, 2)), torch.ones(2, 2))
        tensor(indices=tensor([[1]]),
               values=tensor([[2., 2.]]),
               size=(3, 2), nnz=1, layout=torch.sparse_coo)
    """
    _checked("hspmm", mat2, mat1=mat1)
    check_factors("hspmm", mat1.layout, mat2.layout)
    rows, values = _product_of_rows(mat1, mat2)
    return _into("hspmm", out, coo(unsqueeze(rows, 0), values, (mat1.layout.shape[0], mat2.layout.shape[1]), True))


def smm(input, mat2) -> Tensor:
    """The product of a sparse and a dense matrix as a sparse matrix, which stores the rows that `input` stores anything in.

    Args:
        input: (N, K), COO.
        mat2: (K, M), dense.

    Returns:
        (N, M), COO.

    Raises:
        RuntimeError: other layouts, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> torch.smm(torch.eye(2).to_sparse(), torch.tensor([[1.], [2.]]))
        tensor(indices=tensor([[0, 1],
                               [0, 0]]),
               values=tensor([1., 2.]),
               size=(2, 1), nnz=2, layout=torch.sparse_coo)
    """
    _checked("smm", mat2, input=input)
    check_factors("smm", input.layout, mat2.layout)
    rows, values = _product_of_rows(input, mat2)
    count, width = values.layout.shape
    indices = stacked((repeat_interleave(rows, width), arange(width, device=rows.layout.device).repeat(count)))
    return coo(indices, reshape(values, -1), (input.layout.shape[0], width), True)


def sspaddmm(input, mat1, mat2, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * mat1 @ mat2, of sparse matrices and a dense one, as a sparse matrix.

    Args:
        input: (N, M), COO.
        mat1: (N, K), COO.
        mat2: (K, M), dense.
        beta, alpha: factors.
        out: a COO tensor to write into.
        deprecated: `sspaddmm(beta, input, alpha, mat1, mat2)`, the order of old programs, is taken too; alpha may be left out.

    Raises:
        RuntimeError: other layouts, or shapes that do not fit.

    Example:
        >>> import numtorch as torch
        >>> eye = torch.eye(2).to_sparse()
        >>> torch.sspaddmm(eye, eye, torch.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    if deprecated:
        return numbers_first(sspaddmm, (input, mat1, mat2, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    _checked("sspaddmm", mat2, input=input, mat1=mat1)
    return _into("sspaddmm", out, arithmetic.add(arithmetic.mul(input, beta), arithmetic.mul(smm(mat1, mat2), alpha)))


def native_norm(input, p=2, dim=(), keepdim: bool = False, dtype=None) -> Tensor:
    """The p-norm of a sparse tensor's elements, all together.

    Args:
        input: (*), sparse.
        p: the order.
        dim: all dimensions, or none, which means the same.
        keepdim: taken for PyTorch's sake.
        dtype: convert to this first.

    Raises:
        NotImplementedError: a dense tensor.
        RuntimeError: some of the dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.native_norm(torch.tensor([0., 3., 4.]).to_sparse())
        tensor(5.)
    """
    if not is_sparse(input) if isinstance(input, Tensor) else layout_of("native_norm", input):
        raise NotImplementedError("native_norm: expected a sparse tensor, got a dense one; use torch.linalg.vector_norm")
    if 0 < len(ints(dim, "dim")) < input.layout.ndim:
        raise RuntimeError("norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all "
                           "dimensions of the input")
    values = coalesce(input).values() if input.layout.kind == "sparse_coo" else input.values()
    return norm(values, p, dtype=dtype)


@method
def resize_as_sparse_(self, the_template) -> Tensor:
    """Give this COO tensor the size of another, in place; what it stores stays.

    Args:
        the_template: COO.

    Raises:
        RuntimeError: another layout, or a size that is too small for what is stored.

    Example:
        >>> import numtorch as torch
        >>> torch.eye(2).to_sparse().resize_as_sparse_(torch.eye(3).to_sparse()).shape
        torch.Size([3, 3])
    """
    shape = layout_of("resize_as_sparse_", the_template, "the_template").shape
    expect(the_template, COO, "resize_as_sparse_")
    return self.sparse_resize_(shape, the_template.sparse_dim(), the_template.dense_dim())


method(smm)
method(sspaddmm)


# ---------------------------------------------------------------- parts, copied
def _copied(name, arguments, shown):
    def part(input) -> Tensor:
        return getattr(input, name)()
    return copy_of(name, part, arguments, shown)


indices_copy = _copied("indices", "torch.eye(2).to_sparse()", "tensor([[0, 1],\n                [0, 1]])")
values_copy = _copied("values", "torch.eye(2).to_sparse()", "tensor([1., 1.])")
crow_indices_copy = _copied("crow_indices", "torch.eye(2).to_sparse_csr()", "tensor([0, 1, 2])")
col_indices_copy = _copied("col_indices", "torch.eye(2).to_sparse_csr()", "tensor([0, 1])")
ccol_indices_copy = _copied("ccol_indices", "torch.eye(2).to_sparse_csc()", "tensor([0, 1, 2])")
row_indices_copy = _copied("row_indices", "torch.eye(2).to_sparse_csc()", "tensor([0, 1])")


# ---------------------------------------------------------------- indices by themselves
def _convert_indices_from_coo_to_csr(self, size: int, *, out_int32: bool = False) -> Tensor:
    """Where each row begins among the stored elements, from their rows, which ascend."""
    rows = arange(size + 1, dtype=self.dtype, device=self.device)
    return searchsorted(self.contiguous(), rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(crow_indices, col_indices, *, out_int32: bool = False, transpose: bool = False) -> Tensor:
    """Rows and columns of the stored elements, a column of the result each, from where each row begins."""
    dtype = int32 if out_int32 else int64
    rows = repeat_interleave(arange(crow_indices.shape[-1] - 1, device=crow_indices.device), diff(crow_indices))
    pair = (col_indices, rows) if transpose else (rows, col_indices)
    return stack([to_dtype(x, dtype) for x in pair])
