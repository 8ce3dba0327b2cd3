"""Matrix products: mm, bmm, matmul with broadcasting, and what is made of them."""
from __future__ import annotations

from ..autograd.graph import GraphNode, recording
from ..autograd.modes import modes
from ..layout import Layout, broadcast_shapes
from ..storage import ring_for, take
from ..tensor import Tensor
from . import arithmetic, reduce
from .backends import kernels
from .copy import register
from .generate import ALLOCATION, allocation, make
from .op import method, new_plan_table, registry
from .view import expand, permute, reshape, transpose, unsqueeze


class Product:
    """A planned product: its result's layout, the kernel, and the ring of scratch memory for it.

    The scratch is a storage held for the call, so that several threads may run one plan; both allocations are in line
    (`tensor.empty` twice took longer than the product of two small matrices).
    """

    __slots__ = ("out", "ring", "call", "walk", "scratch", "prepared")

    def __init__(self, out, prepared):
        self.out, self.prepared, self.ring = out, prepared, ring_for(out.nbytes, out.device)
        self.call, self.walk = prepared.call, prepared.walk
        self.scratch = ring_for(prepared.workspace, out.device) if prepared.workspace else None

    run = make(f"""
def run(self, a, b, bias=None):
    ring = self.ring
{allocation("out", "ring", "self.out")}    out.node = None
    scratch = self.scratch
    if scratch is None:
        self.call(a.address, b.address, out_address, 0 if bias is None else bias.address, 0, self.walk)
        return out
    workspace = scratch[0]
    if getrefcount(workspace) > FREE:
        workspace = take(scratch)
    self.call(a.address, b.address, out_address, 0 if bias is None else bias.address, workspace.address, self.walk)
    return out
""", ALLOCATION, "run", (None,))

    def add_to(self, out, a, b):
        """The same into a result that is there, for a product planned with `beta`."""
        workspace = None if self.scratch is None else take(self.scratch)
        self.call(a.address, b.address, out.address, 0, 0 if workspace is None else workspace.address, self.walk)
        return out


_plans = new_plan_table()


def check_operands(name, a, b):
    if a.layout.device is not b.layout.device:
        raise RuntimeError(f"Expected all tensors to be on the same device, but found at least two devices, {a.layout.device} and "
                           f"{b.layout.device}! (when checking arguments for {name})")
    if a.layout.dtype is not b.layout.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_c_name(a.layout.dtype)} != "
                           f"{_c_name(b.layout.dtype)} ({name})")


def operand_layouts(name, x, y):
    """The operands' layouts. Raises TypeError for what is no tensor."""
    try:
        return x.layout, y.layout
    except AttributeError:
        wrong = x if not isinstance(x, Tensor) else y
        raise TypeError(f"{name}(): expected Tensors, got {type(wrong).__name__}") from None


def _c_name(dtype):
    return {"float32": "float", "float64": "double", "int64": "long int", "int32": "int", "float16": "c10::Half",
            "bfloat16": "c10::BFloat16"}.get(dtype.name, dtype.name)


def kernel_dtype(layout):
    return "uint8" if layout.dtype.name == "bool" else layout.dtype.kernel


def _plan_mm(a, b):
    """The product of two matrices' layouts."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})")
    out = Layout.of(a.dtype, (a.shape[0], b.shape[1]), None, a.device)
    prepared = kernels(a.device, "gemm").plan_gemm(a.shape[0], b.shape[1], a.shape[1], kernel_dtype(a), a.strides, b.strides,
                                                   out.strides)
    return Product(out, prepared)


@method
def mm(input, mat2, *, out=None) -> Tensor:
    """The product of two matrices.

    Args:
        input: (n, m).
        mat2: (m, p), of the same dtype.

    Returns:
        (n, p).

    Raises:
        RuntimeError: not matrices, inner sizes that differ, or different dtypes.
    """
    try:
        plan = _plans[input.layout, mat2.layout]
    except (KeyError, AttributeError):
        plan = _first_mm(input, mat2)
    result = plan.run(input, mat2)
    left, right = input.node, mat2.node
    if (left is not None or right is not None) and modes.grad and plan.out.dtype.category >= 2:
        result.node = GraphNode("mm", (left, right), (None if right is None else input, None if left is None else mat2), _mm_vjp)
    return result if out is None else registry["copy_"].function(out, result)


def _first_mm(input, mat2):
    a, b = operand_layouts("mm", input, mat2)
    for position, layout in (("self", a), ("mat2", b)):
        if layout.ndim != 2:
            raise RuntimeError(f"{position} must be a matrix (mm: expected 2 dimensions, got {layout.ndim})")
    check_operands("mm", input, mat2)
    return _plans.keep((a, b), _plan_mm(a, b))


def _mm_vjp(node, grad):
    a, b = node.tensors()
    return (mm(grad, adjoint(b)) if node.needs(0) else None, mm(adjoint(a), grad) if node.needs(1) else None)


def adjoint(x):
    """Matrices transposed and conjugated."""
    flipped = transpose(x, -2, -1)
    return arithmetic.conj_physical(flipped) if x.layout.dtype.is_complex else flipped


# ---------------------------------------------------------------- batches
def _plan_bmm(a, b):
    if a.shape[2] != b.shape[1]:
        raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
                           f"[{b.shape[0]}, {b.shape[1]}].")
    out = Layout.of(a.dtype, (a.shape[0], a.shape[1], b.shape[2]), None, a.device)
    prepared = kernels(a.device, "gemm").plan_gemm(
        a.shape[1], b.shape[2], a.shape[2], kernel_dtype(a), a.strides[1:], b.strides[1:], out.strides[1:], batch=a.shape[0],
        batch_strides=(a.strides[0], b.strides[0], out.strides[0]))
    return Product(out, prepared)


_batched = new_plan_table()


@method
def bmm(input, mat2, *, out=None) -> Tensor:
    """Products of two batches of matrices: (b, n, m) and (b, m, p) give (b, n, p)."""
    a, b = operand_layouts("bmm", input, mat2)
    plan = _batched.get((a, b))
    if plan is None:
        for position, layout in (("batch1", a), ("batch2", b)):
            if layout.ndim != 3:
                raise RuntimeError(f"{position} must be a 3D tensor (bmm: got {layout.ndim} dimensions)")
        if a.shape[0] != b.shape[0]:
            raise RuntimeError(f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, "
                               f"{a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}].")
        check_operands("bmm", input, mat2)
        plan = _batched.keep((a, b), _plan_bmm(a, b))
    result = plan.run(input, mat2)
    if recording(input, mat2) and a.dtype.category >= 2:
        result.node = GraphNode("bmm", (input.node, mat2.node), (input if mat2.node is not None else None,
                                                                mat2 if input.node is not None else None), _bmm_vjp)
    return result if out is None else registry["copy_"].function(out, result)


def _bmm_vjp(node, grad):
    a, b = node.tensors()
    return (bmm(grad, adjoint(b)) if node.needs(0) else None, bmm(adjoint(a), grad) if node.needs(1) else None)


@register
@method
def matmul(input, other, *, out=None) -> Tensor:
    """The matrix product, with NumPy's rules: vectors are rows or columns, and batch dimensions broadcast.

    Args:
        input, other: tensors of at least one dimension and of one dtype.

    Raises:
        RuntimeError: 0-dim tensors, sizes that do not match, or batch dimensions that do not broadcast.

    Example:
        >>> import numtorch as torch
        >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
        tensor([3., 3.])
    """
    result = _matmul(input, other)
    return result if out is None else registry["copy_"].function(out, result)


def _matmul(x, y):
    if not isinstance(y, Tensor):
        raise TypeError(f"matmul: expected a Tensor, got {type(y).__name__}")
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
    try:
        batch = broadcast_shapes(x.layout.shape[:-2], y.layout.shape[:-2])
    except RuntimeError as error:
        raise RuntimeError(f"{error} (matmul of {list(x.layout.shape)} and {list(y.layout.shape)})") from None
    size = 1
    for extent in batch:
        size *= extent
    left = reshape(expand(x, (*batch, *x.layout.shape[-2:])), (size, *x.layout.shape[-2:]))
    right = reshape(expand(y, (*batch, *y.layout.shape[-2:])), (size, *y.layout.shape[-2:]))
    result = bmm(left, right)
    return reshape(result, (*batch, result.layout.shape[1], result.layout.shape[2]))


def _drop(x, dim):
    shape = list(x.layout.shape)
    del shape[dim]
    return reshape(x, tuple(shape))


# ---------------------------------------------------------------- vectors
_vectors = new_plan_table()


def _plan_dot(x, y):
    for layout in (x, y):
        if layout.ndim != 1:
            raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.shape != y.shape:
        raise RuntimeError(f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have the same "
                           f"number of elements, but got {x.shape[0]} and {y.shape[0]} elements respectively")
    return Product(Layout.of(x.dtype, (), None, x.device), kernels(x.device, "gemm").plan_gemm(
        1, 1, x.shape[0], kernel_dtype(x), (0, x.strides[0]), (y.strides[0], 0), (1, 1)))


@method
def dot(input, other, *, out=None) -> Tensor:
    """The sum of the products of two vectors."""
    x, y = operand_layouts("dot", input, other)
    plan = _vectors.get((x, y))
    if plan is None:
        check_operands("dot", input, other)
        plan = _vectors.keep((x, y), _plan_dot(x, y))
    result = plan.run(input, other)
    if recording(input, other) and x.dtype.category >= 2:
        result.node = GraphNode("dot", (input.node, other.node), (input if other.node is not None else None,
                                                                  other if input.node is not None else None), _dot_vjp)
    return result if out is None else registry["copy_"].function(out, result)


def _dot_vjp(node, grad):
    x, y = node.tensors()
    return (arithmetic.mul(grad, arithmetic.conj(y)) if node.needs(0) else None,
            arithmetic.mul(grad, arithmetic.conj(x)) if node.needs(1) else None)


def _plan_mv(a, x):
    if a.ndim != 2 or x.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {a.ndim}, {x.ndim}")
    if a.shape[1] != x.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({x.shape[0]})")
    return Product(Layout.of(a.dtype, (a.shape[0],), None, a.device), kernels(a.device, "gemm").plan_gemm(
        a.shape[0], 1, a.shape[1], kernel_dtype(a), a.strides, (x.strides[0], 1), (1, 1)))


@method
def mv(input, vec, *, out=None) -> Tensor:
    """The product of a matrix (n, m) and a vector (m)."""
    a, x = operand_layouts("mv", input, vec)
    plan = _vectors.get((a, x))
    if plan is None:
        check_operands("mv", input, vec)
        plan = _vectors.keep((a, x), _plan_mv(a, x))
    result = plan.run(input, vec)
    if recording(input, vec) and a.dtype.category >= 2:
        result.node = GraphNode("mv", (input.node, vec.node), (input if vec.node is not None else None,
                                                               vec if input.node is not None else None), _mv_vjp)
    return result if out is None else registry["copy_"].function(out, result)


def _mv_vjp(node, grad):
    a, x = node.tensors()
    return (outer(grad, arithmetic.conj(x)) if node.needs(0) else None, mv(adjoint(a), grad) if node.needs(1) else None)


@method
def outer(input, vec2, *, out=None) -> Tensor:
    """The products of every element of one vector with every element of another, as a matrix."""
    x, y = operand_layouts("outer", input, vec2)
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {x.ndim}-D and {y.ndim}-D")
    result = arithmetic.mul(unsqueeze(input, 1), vec2)
    return result if out is None else registry["copy_"].function(out, result)


method(outer, "ger")


def chain_matmul(*matrices) -> Tensor:
    """The product of several matrices, from the left."""
    result = matrices[0]
    for matrix in matrices[1:]:
        result = mm(result, matrix)
    return result


def _product(shape):
    size = 1
    for extent in shape:
        size *= extent
    return size


Tensor.__matmul__ = matmul
Tensor.__rmatmul__ = lambda self, other: matmul(other, self)


# ---------------------------------------------------------------- sums over named dimensions
def tensordot(a, b, dims=2) -> Tensor:
    """The sum of products over the last `dims` dimensions of a and the first of b, or over two lists of dimensions."""
    if isinstance(dims, int):
        first = list(range(a.layout.ndim - dims, a.layout.ndim))
        second = list(range(dims))
    else:
        first, second = ([d % t.layout.ndim for d in ds] for t, ds in zip((a, b), dims))
    kept_a = [d for d in range(a.layout.ndim) if d not in first]
    kept_b = [d for d in range(b.layout.ndim) if d not in second]
    sizes = [a.layout.shape[d] for d in first]
    if sizes != [b.layout.shape[d] for d in second]:
        raise RuntimeError(f"contracted dimensions need to match, but first has sizes {sizes} in dims {first} and second has "
                           f"{[b.layout.shape[d] for d in second]} in dims {second} (tensordot)")
    inner = _product(sizes)
    left = reshape(permute(a, [*kept_a, *first]), (_product([a.layout.shape[d] for d in kept_a]), inner))
    right = reshape(permute(b, [*second, *kept_b]), (inner, _product([b.layout.shape[d] for d in kept_b])))
    return reshape(mm(left, right), tuple([a.layout.shape[d] for d in kept_a] + [b.layout.shape[d] for d in kept_b]))


def einsum(equation: str, *operands) -> Tensor:
    """Einstein summation, such as `einsum("bij,bjk->bik", a, b)`: operands are multiplied in pairs as batched products.

    Raises:
        RuntimeError: an equation that does not fit the operands.
    """
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    wrong = [o for o in operands if not isinstance(o, Tensor)]
    if wrong or not isinstance(equation, str):
        raise TypeError(f"einsum(): expected an equation and Tensors, got {type(wrong[0] if wrong else equation).__name__}")
    inputs, output, operands = _parse_einsum(equation.replace(" ", ""), operands)
    terms = [_diagonals(t, subscript) for t, subscript in zip(operands, inputs)]
    while len(terms) > 1:
        (x, sx), (y, sy) = terms[0], terms[1]
        later = set(output).union(*[s for _, s in terms[2:]])
        terms[:2] = [_contract(x, sx, y, sy, later)]
    x, subscript = terms[0]
    gone = tuple(i for i, c in enumerate(subscript) if c not in output)
    if gone:
        x = reduce.sum(x, gone)
        subscript = [c for c in subscript if c in output]
    return permute(x, [subscript.index(c) for c in output]) if subscript else x


def _parse_einsum(equation, operands):
    left, arrow, right = equation.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise RuntimeError(f"einsum(): more operands were provided than specified in the equation: expected {len(inputs)}, got "
                           f"{len(operands)}")
    widest = 0
    for subscript, operand in zip(inputs, operands):
        if "..." in subscript:
            widest = max(widest, operand.layout.ndim - len(subscript.replace("...", "")))
    names = [chr(0x3b1 + i) for i in range(widest)]
    spelled = []
    for subscript, operand in zip(inputs, operands):
        head, dots, tail = subscript.partition("...")
        count = operand.layout.ndim - len(head) - len(tail)
        if (count != 0 and not dots) or count < 0:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does not match the "
                               f"number of dimensions ({operand.layout.ndim}) for an operand")
        spelled.append([*head, *names[widest - count:], *tail] if dots else [*head])
    if arrow:
        output = [c for part in right.partition("...") for c in (names if part == "..." else part)]
    else:
        letters = [c for s in spelled for c in s]
        output = names + sorted({c for c in letters if letters.count(c) == 1 and c not in names})
    known = {c for s in spelled for c in s}
    for c in output:
        if c not in known or output.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} " + ("appears more than once in the output" if c in known else
                               "does not appear in the equation for any input operand"))
    wrong = [c for c in known if not c.isalpha()]
    if wrong:
        raise RuntimeError(f"einsum(): invalid subscript given: {wrong[0]!r}, subscripts must be in [a-zA-Z]")
    return spelled, output, operands


def _diagonals(x, subscript):
    """Repeated letters within one operand taken along their diagonal."""
    subscript = list(subscript)
    for letter in dict.fromkeys(subscript):
        while subscript.count(letter) > 1:
            first = subscript.index(letter)
            second = subscript.index(letter, first + 1)
            x = x.diagonal(0, first, second)
            del subscript[second], subscript[first]
            subscript.append(letter)
    return x, subscript


def _contract(x, sx, y, sy, later):
    """Two operands' product, summed over the letters that nothing later names."""
    batch = [c for c in sx if c in sy and c in later]
    inner = [c for c in sx if c in sy and c not in later]
    only_x = tuple(i for i, c in enumerate(sx) if c not in sy and c not in later)
    only_y = tuple(i for i, c in enumerate(sy) if c not in sx and c not in later)
    if only_x:
        x, sx = reduce.sum(x, only_x), [c for i, c in enumerate(sx) if i not in only_x]
    if only_y:
        y, sy = reduce.sum(y, only_y), [c for i, c in enumerate(sy) if i not in only_y]
    rows, columns = [c for c in sx if c not in sy], [c for c in sy if c not in sx]
    size = {}
    for tensor, letters in ((x, sx), (y, sy)):
        for extent, letter in zip(tensor.layout.shape, letters):
            if size.get(letter, 1) not in (1, extent) and extent != 1:
                raise RuntimeError(f"einsum(): subscript {letter} has size {extent} for one operand and {size[letter]} for another")
            size[letter] = max(size.get(letter, 1), extent)

    def arranged(tensor, letters, order, groups):
        tensor = permute(tensor, [letters.index(c) for c in order])
        tensor = expand(tensor, tuple(size[c] for c in order))
        return reshape(tensor, tuple(_product([size[c] for c in g]) for g in groups))

    left = arranged(x, sx, batch + rows + inner, (batch, rows, inner))
    right = arranged(y, sy, batch + inner + columns, (batch, inner, columns))
    result = reshape(bmm(left, right), tuple(size[c] for c in batch + rows + columns))
    return result, batch + rows + columns


