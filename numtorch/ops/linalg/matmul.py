"""Products of matrices and vectors: mm, bmm, matmul with broadcasting, mv, dot, outer."""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, recording
from ...autograd.modes import modes
from ...layout import Layout, broadcast_shapes
from ...storage import ring_for, take
from ...tensor import Tensor
from ..core.backends import kernels
from ..core.generate import ALLOCATION, allocation, make
from ..core.operands import layout_of, method
from ..core.primitive import Primitive, miss, not_a_tensor
from ..memory.resize import into, into_exactly
from ..pointwise import arithmetic
from ..reduce.reductions import sum_to_size
from ..reduce.total import total
from ..shape.views import expand, reshape, transpose, unsqueeze


class Product:
    """A planned product: its result's layout, the kernel, and the ring of scratch memory for it.

    The scratch is a storage held for the call, so that several threads may run one plan; both allocations are in line
    (`tensor.empty` twice takes longer than the product of two small matrices).
    """

    __slots__ = ("out", "ring", "call", "descriptor", "scratch", "prepared")

    def __init__(self, out, prepared):
        self.out, self.prepared, self.ring = out, prepared, ring_for(out.nbytes, out.device)
        self.call, self.descriptor = prepared.call, prepared.descriptor
        self.scratch = ring_for(prepared.workspace, out.device) if prepared.workspace else None

    run = make(f"""
def run(self, a, b, bias=None):
    ring = self.ring
{allocation("out", "ring", "self.out")}    out.node = None
    scratch = self.scratch
    if scratch is None:
        self.call(a.address, b.address, out_address, 0 if bias is None else bias.address, 0, self.descriptor)
        return out
    workspace = scratch[0]
    if getrefcount(workspace) > FREE:
        workspace = take(scratch)
    self.call(a.address, b.address, out_address, 0 if bias is None else bias.address, workspace.address, self.descriptor)
    return out
""", ALLOCATION, "run", (None,))

    def add_to(self, out, a, b):
        """The same into a result that is there, for a product planned with `beta`."""
        workspace = None if self.scratch is None else take(self.scratch)
        self.call(a.address, b.address, out.address, 0, 0 if workspace is None else workspace.address, self.descriptor)
        return out


class Outer:
    """A planned product of depth 1, whose every element is one product: elementwise, in an eighth of a matrix product's time."""

    __slots__ = ("out", "ring", "call", "descriptor", "prepared")

    def __init__(self, plan):
        self.out, self.call, self.descriptor, self.prepared = plan.out, plan.call, plan.descriptor, plan.prepared
        self.ring = ring_for(plan.out.nbytes, plan.out.device)

    run = make(f"""
def run(self, a, b):
    ring = self.ring
{allocation("out", "ring", "self.out")}    out.node = None
    self.call(a.address, b.address, out_address, self.descriptor)
    return out
""", ALLOCATION, "run")


def outer_of(a, b, out):
    """The plan of a product of columns and rows, which broadcast; None where elements would not come in the order of `out`."""
    if a.shape[-1] != 1 or not out.numel:
        return None
    plan = arithmetic.mul.op.planned_for([a, b], ())
    return Outer(plan) if plan.out is out else None


def check_operands(name, a, b):
    """Raise RuntimeError for layouts of two dtypes."""
    if a.dtype is not b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_c_name(a.dtype)} != {_c_name(b.dtype)} ({name})")


def _c_name(dtype):
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16"}.get(dtype.name, dtype.name)


def kernel_dtype(layout):
    return "uint8" if layout.dtype.name == "bool" else layout.dtype.kernel


# ---------------------------------------------------------------- primitives
MM = Primitive("mm", parameters=("input", "mat2"), samples="T[2, 3], T[3, 4];")
BMM = Primitive("bmm", parameters=("input", "mat2"), samples="T[2, 2, 3], T[2, 3, 4];")
MATMUL = Primitive("matmul", parameters=("input", "other"), samples="T[2, 2, 3], T[3, 4];")
MV = Primitive("mv", parameters=("input", "vec"), samples="T[2, 3], T[3];")
DOT = Primitive("dot", parameters=("input", "tensor"), samples="T[3], T[3];")


def _multiplication(primitive):
    """What runs a plan of a primitive of two factors and records the call."""
    def multiply(plan, a: Tensor, b: Tensor):
        result = plan.run(a, b)
        if recording(a, b) and plan.out.dtype.category >= 2:
            saved = a if b.node is not None else None, b if a.node is not None else None
            result.node = GraphNode(primitive, (a.node, b.node), saved, (a.layout.shape, b.layout.shape))
        return result
    return multiply


MM.run(_multiplication(MM))
_bmm, _mv, _dot = [primitive.run(_multiplication(primitive)) for primitive in (BMM, MV, DOT)]
_multiply_batches = _multiplication(MATMUL)


# ---------------------------------------------------------------- matrices
@MM.planned
def _plan_mm(a, b):
    for position, layout in (("self", a), ("mat2", b)):
        if layout.ndim != 2:
            raise RuntimeError(f"{position} must be a matrix (mm: expected 2 dimensions, got {layout.ndim})")
    check_operands("mm", a, b)
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    out = Layout.of(a.dtype, (a.shape[0], b.shape[1]), None, a.device)
    by_elements = outer_of(a, b, out)
    if by_elements is not None:
        return by_elements
    prepared = kernels(a.device, "gemm.gemm").plan_gemm(a.shape[0], b.shape[1], a.shape[1], kernel_dtype(a), a.strides, b.strides,
                                                   out.strides)
    return Product(out, prepared)


@method
def mm(input, mat2, *, out=None) -> Tensor:
    """The product of two matrices.

    Args:
        input: (n, m).
        mat2: (m, p), of the same dtype.
        out: a tensor to write the result to.

    Returns:
        (n, p).

    Raises:
        RuntimeError: not matrices, inner sizes that differ, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).mm(torch.tensor([[1.], [10.]]))
        tensor([[21.],
                [43.]])
    """
    try:
        plan = MM.plans.get((input.layout, mat2.layout))
    except AttributeError:
        plan = None
    if plan is None:
        return into_exactly("mm", out, miss(MM, (input, mat2)))
    result = plan.run(input, mat2)
    left, right = input.node, mat2.node
    if (left is not None or right is not None) and modes.grad and plan.out.dtype.category >= 2:
        result.node = GraphNode(MM, (left, right), (None if right is None else input, None if left is None else mat2))
    return result if out is None else into_exactly("mm", out, result)


@MM.derivative
def _mm_vjp(node, grad, input, mat2):
    return (mm(grad, adjoint(mat2)) if node.needs(0) else None, mm(adjoint(input), grad) if node.needs(1) else None)


def adjoint(x):
    """Matrices transposed and conjugated."""
    flipped = transpose(x, -2, -1)
    return arithmetic.conj_physical(flipped) if x.layout.dtype.is_complex else flipped


# ---------------------------------------------------------------- batches
@BMM.planned
def _plan_bmm(a, b):
    check_operands("bmm", a, b)
    for position, layout in (("batch1", a), ("batch2", b)):
        if layout.ndim != 3:
            raise RuntimeError(f"{position} must be a 3D tensor (bmm: got {layout.ndim} dimensions)")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
                           f"[{b.shape[0]}, {b.shape[1]}].")
    out = Layout.of(a.dtype, (a.shape[0], a.shape[1], b.shape[2]), None, a.device)
    by_elements = outer_of(a, b, out)
    if by_elements is not None:
        return by_elements
    prepared = kernels(a.device, "gemm.gemm").plan_gemm(
        a.shape[1], b.shape[2], a.shape[2], kernel_dtype(a), a.strides[1:], b.strides[1:], out.strides[1:], batch=a.shape[0],
        batch_strides=(a.strides[0], b.strides[0], out.strides[0]))
    return Product(out, prepared)


@method
def bmm(input, mat2, *, out=None) -> Tensor:
    """Products of two batches of matrices.

    Args:
        input: (b, n, m).
        mat2: (b, m, p), of the same dtype.
        out: a tensor to write the result to.

    Returns:
        (b, n, p).

    Raises:
        RuntimeError: not batches of matrices, sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5)).shape
        torch.Size([2, 3, 5])
    """
    return _bmm(input, mat2) if out is None else into_exactly("bmm", out, _bmm(input, mat2))


@BMM.derivative
def _bmm_vjp(node, grad, input, mat2):
    return (bmm(grad, adjoint(mat2)) if node.needs(0) else None, bmm(adjoint(input), grad) if node.needs(1) else None)


@method
def matmul(input, other, *, out=None) -> Tensor:
    """The matrix product, with NumPy's rules: vectors are rows or columns, and batch dimensions broadcast.

    Args:
        input, other: tensors of at least one dimension and of one dtype: (*, n, m) and (*, m, p), or vectors (m).
        out: a tensor to write the result to.

    Returns:
        (*, n, p), without n or p where a vector stood; of two vectors a 0-dim tensor.

    Raises:
        RuntimeError: 0-dim tensors, sizes that do not match, or batch dimensions that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
        tensor([3., 3.])
    """
    result = _matmul(input, other)
    return result if out is None else into_exactly("matmul", out, result)


def _matmul(x, y):
    if not isinstance(x, Tensor):
        raise not_a_tensor("matmul", x)
    if not isinstance(y, Tensor):
        raise not_a_tensor("matmul", y, "other", 2)
    m, n = x.layout.ndim, y.layout.ndim
    if m == 2 and n == 2:
        return mm(x, y)
    if m == 0 or n == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {m}D and {n}D")
    if m == 1 and n == 1:
        return dot(x, y)
    if m == 1 and n == 2:
        return mv(transpose(y, 0, 1), x) if y.layout.shape[0] == x.layout.shape[0] else _drop(mm(unsqueeze(x, 0), y), 0)
    if m == 2 and n == 1:
        return mv(x, y)
    if m == 1:
        return _drop(_matmul(unsqueeze(x, 0), y), -2)
    if n == 1:
        return _drop(_matmul(x, unsqueeze(y, 1)), -1)
    if n == 2 and x.layout.contiguous:                   # one tall product instead of a batch of small ones
        rows = reshape(x, (-1, x.layout.shape[-1])) if x.layout.numel else None
        if rows is not None:
            return reshape(mm(rows, y), (*x.layout.shape[:-1], y.layout.shape[1]))
    return _batches(x, y)


@MATMUL.run
def _batches(plan, a: Tensor, b: Tensor):
    """The products of the last two dimensions, over the others' broadcast."""
    if plan:
        return _multiply_batches(plan, a, b)
    batch = broadcast_shapes(a.layout.shape[:-2], b.layout.shape[:-2])      # what no stride spans is copied together
    left, right = (reshape(expand(t, (*batch, *t.layout.shape[-2:])), (math.prod(batch), *t.layout.shape[-2:])) for t in (a, b))
    return reshape(bmm(left, right), (*batch, left.layout.shape[1], right.layout.shape[2]))


@MATMUL.planned
def _plan_batches(a, b):
    """The product, or False where one of the operands is not a batch at one stride."""
    check_operands("matmul", a, b)
    try:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except RuntimeError as error:
        raise RuntimeError(f"{error} (matmul of {list(a.shape)} and {list(b.shape)})") from None
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(f"matmul: mat1 and mat2 shapes cannot be multiplied ({a.shape[-2]}x{a.shape[-1]} and "
                           f"{b.shape[-2]}x{b.shape[-1]}, of {list(a.shape)} and {list(b.shape)})")
    steps = _batch_stride(a, batch), _batch_stride(b, batch)
    out = Layout.of(a.dtype, (*batch, a.shape[-2], b.shape[-1]), None, a.device)
    by_elements = outer_of(a, b, out)
    if by_elements is not None:
        return by_elements
    if None in steps:
        return False
    return Product(out, kernels(a.device, "gemm.gemm").plan_gemm(
        a.shape[-2], b.shape[-1], a.shape[-1], kernel_dtype(a), a.strides[-2:], b.strides[-2:], out.strides[-2:],
        batch=math.prod(batch), batch_strides=(*steps, out.shape[-2] * out.shape[-1])))


def _batch_stride(layout, batch):
    """Elements from one matrix to the next where `layout`'s leading dimensions are broadcast to `batch`, or None."""
    extents, strides = layout.shape[:-2], layout.strides[:-2]
    strides = (0,) * (len(batch) - len(strides)) + tuple(s if e > 1 else 0 for e, s in zip(extents, strides))
    step = expected = None
    for extent, stride in zip(reversed(batch), reversed(strides)):
        if extent == 1:
            continue
        if step is None:
            step = stride
        elif stride != expected:
            return None
        expected = stride * extent
    return step or 0


@MATMUL.derivative
def _batches_vjp(node, grad, input, other):
    by_a = _sum_to(matmul(grad, adjoint(other)), node.attributes[0]) if node.needs(0) else None
    return by_a, _sum_to(matmul(adjoint(input), grad), node.attributes[1]) if node.needs(1) else None


def _sum_to(grad, shape):
    return grad if grad.layout.shape == shape else sum_to_size(grad, *shape)


def _drop(x, dim):
    shape = list(x.layout.shape)
    del shape[dim]
    return reshape(x, tuple(shape))


# ---------------------------------------------------------------- vectors
@DOT.planned
def _plan_dot(x, y):
    check_operands("dot", x, y)
    for layout in (x, y):
        if layout.ndim != 1:
            raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have the same "
                           f"number of elements, but got {x.shape[0]} and {y.shape[0]} elements respectively")
    return Product(Layout.of(x.dtype, (), None, x.device), kernels(x.device, "gemm.gemm").plan_gemm(
        1, 1, x.shape[0], kernel_dtype(x), (0, x.strides[0]), (y.strides[0], 0), (1, 1)))


@method
def dot(input, tensor, *, out=None) -> Tensor:
    """The sum of the products of two vectors.

    Args:
        input, tensor: (n,) of one dtype.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: not vectors, or of two lengths or dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1., 2.]).dot(torch.tensor([1., 10.]))
        tensor(21.)
    """
    try:
        layout = input.layout
        same = layout is tensor.layout
    except AttributeError:
        same = False
    if not same or layout.ndim != 1 or not layout.contiguous or layout.dtype.name not in ("float32", "float64") or out is not None:
        return into_exactly("dot", out, _dot(input, tensor))
    if not recording(input, tensor):
        return total(arithmetic.mul, input, tensor, mean=False)       # half the time of a product of a row and a column
    result = total(arithmetic.mul, input.detach(), tensor.detach(), mean=False)
    saved = input if tensor.node is not None else None, tensor if input.node is not None else None
    result.node = GraphNode(DOT, (input.node, tensor.node), saved)
    return result


@DOT.derivative
def _dot_vjp(node, grad, input, tensor):
    return (arithmetic.mul(grad, arithmetic.conj(tensor)) if node.needs(0) else None,
            arithmetic.mul(grad, arithmetic.conj(input)) if node.needs(1) else None)


@MV.planned
def _plan_mv(a, x):
    check_operands("mv", a, x)
    if a.ndim != 2 or x.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {a.ndim}, {x.ndim}")
    if a.shape[1] != x.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({x.shape[0]})")
    return Product(Layout.of(a.dtype, (a.shape[0],), None, a.device), kernels(a.device, "gemm.gemm").plan_gemm(
        a.shape[0], 1, a.shape[1], kernel_dtype(a), a.strides, (x.strides[0], 1), (1, 1)))


@method
def mv(input, vec, *, out=None) -> Tensor:
    """The product of a matrix and a vector.

    Args:
        input: (n, m).
        vec: (m,), of the same dtype.
        out: a tensor to write the result to.

    Returns:
        (n,)

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[1., 2.], [3., 4.]]).mv(torch.tensor([1., 10.]))
        tensor([21., 43.])
    """
    return _mv(input, vec) if out is None else into_exactly("mv", out, _mv(input, vec))


@MV.derivative
def _mv_vjp(node, grad, input, vec):
    return (outer(grad, arithmetic.conj(vec)) if node.needs(0) else None, mv(adjoint(input), grad) if node.needs(1) else None)


@method
def outer(input, vec2, *, out=None) -> Tensor:
    """The products of every element of one vector with every element of another, as a matrix.

    Args:
        input: (n,).
        vec2: (m,).
        out: a tensor to write the result to.

    Returns:
        (n, m).

    Raises:
        RuntimeError: not vectors.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([1, 2]).outer(torch.tensor([3, 4]))
        tensor([[3, 4],
                [6, 8]])
    """
    x, y = layout_of("outer", input), layout_of("outer", vec2, "vec2", 2)
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {x.ndim}-D and {y.ndim}-D")
    result = arithmetic.mul(unsqueeze(input, 1), vec2)
    return result if out is None else into(out, result)


method(outer, "ger")


def chain_matmul(*matrices, out=None) -> Tensor:
    """The product of several matrices, from the left; `linalg.multi_dot` looks for the best order.

    Args:
        matrices: (n, m), (m, p), ..., at least one.
        out: a tensor to write the result to.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor([[1., 2.], [3., 4.]])
        >>> torch.chain_matmul(x, x, torch.tensor([[1.], [0.]]))
        tensor([[ 7.],
                [15.]])
    """
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices, got none")
    result = matrices[0]
    for matrix in matrices[1:]:
        result = mm(result, matrix)
    return result if out is None else into_exactly("chain_matmul", out, result)


def _product(self, other) -> Tensor:
    """`self @ other`. What is no tensor is asked for its own @: an array's gives the tensor of NumPy's product, as in PyTorch."""
    return _matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _reflected_product(self, other) -> Tensor:
    return _matmul(other, self) if isinstance(other, Tensor) else NotImplemented


Tensor.__matmul__, Tensor.__rmatmul__ = _product, _reflected_product
