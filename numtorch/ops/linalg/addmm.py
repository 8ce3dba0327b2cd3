"""Products added to something: addmm, addbmm, addmv, baddbmm and addr, each beta * input + alpha * product.

The sum is the epilogue of the product's kernel: a row, a column or a number with beta = 1 goes in as its bias, anything else
is first copied to where the result will be, as BLAS wants it.
"""
from __future__ import annotations

import inspect
from functools import partial

from ...autograd.graph import GraphNode, recording
from ...dtypes import bool_
from ...layout import Layout, broadcast_shapes
from ...storage import take
from ...tensor import Tensor, empty
from ..core.backends import kernels
from ..core.operands import as_operand, common_device, layout_of, method, result_dtype
from ..core.overloads import numbers_first
from ..core.primitive import Primitive, derivative_of
from ..memory.assign import copy_
from ..memory.copies import plan_copy
from ..memory.resize import into, into_exactly, resize_
from ..memory.writing import share_memory
from ..pointwise import arithmetic, comparison
from ..reduce.reductions import sum_to_size
from ..shape.views import permute, reshape, unsqueeze
from .matmul import Product, adjoint, check_operands, kernel_dtype, outer


class _Sum(Product):
    """A planned product with something added.

    Attributes:
        copy: brings what is added to the result's memory, for the kernel to add to; None where it is a bias or absent.
        bias: `"row"`, `"column"` or None.
    """

    __slots__ = ("copy", "bias")

    def added(self, input, a, b):
        if self.copy is None:
            return self.run(a, b, input if self.bias else None)
        out = empty(self.out)
        self.copy.call(input.address, out.address, self.copy.descriptor)
        workspace = take(self.scratch) if self.scratch is not None else None
        self.call(a.address, b.address, out.address, 0, 0 if workspace is None else workspace.address, self.descriptor)
        return out


def _as_bias(input, shape, beta):
    """Whether `input` can be added as a bias to a result of this shape, as which, and its stride."""
    if beta != 1 or (input.ndim > 2 and input.shape[:-1].count(1) < input.ndim - 1):
        return None, 0
    rows, columns = (1, 1, *input.shape)[-2:]
    if len(shape) == 1:                                  # a vector is a product with one column
        return "row", input.strides[-1] if columns > 1 else 0
    if rows == 1:
        return "column", input.strides[-1] if columns > 1 else 0
    return ("row", input.strides[0]) if columns == 1 and input.ndim == 2 and len(shape) == 2 else (None, 0)


def _plan(name, ranks, input, a, b, beta, alpha):
    """The plan for layouts: matrices, batches of matrices, or a matrix and a vector."""
    check_operands(name, a, b)
    if input is not None:
        check_operands(name, input, a)
    for position, layout, rank in (("first", a, ranks[0]), ("second", b, ranks[1])):
        if layout.ndim != rank:
            raise RuntimeError(f"{name}(): expected the {position} factor to have {rank} dimensions, but got {layout.ndim}D")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner or (a.ndim == 3 and a.shape[0] != b.shape[0]):
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a.shape))} and "
                           f"{'x'.join(map(str, b.shape))}) ({name})")
    for title, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, complex) and not a.dtype.is_complex:
            raise RuntimeError(f"For non-complex input tensors, argument {title} must not be a complex number.")
    if a.dtype.category < 2:                             # PyTorch drops what is behind the point
        beta, alpha = int(beta), int(alpha)
    shape = (*a.shape[:-1], *b.shape[b.ndim - 1 if b.ndim > 1 else 1:])
    out = Layout.of(a.dtype, shape, None, a.device)
    bias, stride, copy = None, 0, None
    if input is not None and beta != 0:
        if broadcast_shapes(input.shape, shape) != shape:
            raise RuntimeError(f"The expanded size of the tensor ({list(shape)}) must match the existing size "
                               f"({list(input.shape)}) ({name})")
        bias, stride = _as_bias(input, shape, beta)
        copy = None if bias else plan_copy(input, out)
    columns = b.strides[-2:] if b.ndim > 1 else (b.strides[0], 1)
    batch = (a.shape[0], (a.strides[0], b.strides[0], out.strides[0])) if a.ndim == 3 else (1, (0, 0, 0))
    plan = _Sum(out, kernels(a.device, "gemm.gemm").plan_gemm(
        a.shape[-2], b.shape[-1] if b.ndim > 1 else 1, inner, kernel_dtype(a), a.strides[-2:], columns,
        out.strides[-2:] if b.ndim > 1 else (1, 1), batch=batch[0], batch_strides=batch[1], bias=bias, bias_stride=stride,
        alpha=alpha, beta=beta if copy is not None else 0))
    plan.bias, plan.copy = bias, copy
    return plan


def _sum(name, first, second, ranks):
    """The primitive of factors of these names and dimensions, and its call: without `input`, alpha * product."""
    factors = f"T{[2, 2, 3][3 - ranks[0]:]}, T{[2, 3, 4][3 - max(ranks):][:ranks[1]]}"
    primitive = Primitive(name, parameters=("input", first, second, "beta", "alpha"), module=__name__,
                          samples=(f"None, {factors}; 0, 3", f"T[()], {factors}; 2, 3"))
    primitive.planned(partial(_plan, name, ranks))

    @primitive.run
    def add(plan, input: Tensor | None, a: Tensor, b: Tensor, beta: complex, alpha: complex):
        result = plan.added(input, a, b)
        if recording(input, a, b) and plan.out.dtype.category >= 2:
            added, shape = (None, None) if input is None else (input.node, input.layout.shape)
            saved = a if b.node is not None else None, b if a.node is not None else None
            result.node = GraphNode(primitive, (added, a.node, b.node), saved, (beta, alpha, shape))
        return result
    return primitive, add


ADDMM, _addmm = _sum("addmm", "mat1", "mat2", (2, 2))
ADDMV, _addmv = _sum("addmv", "mat", "vec", (2, 1))
BADDBMM, _baddbmm = _sum("baddbmm", "batch1", "batch2", (3, 3))


@derivative_of(ADDMM, ADDMV, BADDBMM)
def _added_vjp(node, grad, a, b):
    beta, alpha, shape = node.attributes
    if isinstance(beta, complex) or isinstance(alpha, complex):
        beta, alpha = complex(beta).conjugate(), complex(alpha).conjugate()
    product = node.primitive.function
    by_input = by_a = by_b = None
    if node.needs(0):
        by_input = sum_to_size(_scaled(grad, beta), *shape)
    if node.needs(1):
        vector = node.primitive is ADDMV
        by_a = _scaled(outer(grad, arithmetic.conj(b)), alpha) if vector else product(None, grad, adjoint(b), 0, alpha)
    if node.needs(2):
        by_b = product(None, adjoint(a), grad, 0, alpha)
    return by_input, by_a, by_b


def _scaled(x, factor):
    return x if factor == 1 else arithmetic.mul(x, factor)


# ---------------------------------------------------------------- public
@method
def addmm(input, mat1, mat2, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), in one kernel; with beta 0 the input is not read.

    Args:
        input: broadcasts to (n, p).
        mat1: (n, m).
        mat2: (m, p).
        beta, alpha: numbers; of integers their whole part.
        out: a tensor to write the result to.
        deprecated: `addmm(beta, input, alpha, mat1, mat2)`, the order of old programs, is taken too; alpha may be left out.

    Returns:
        (n, p).

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.addmm(torch.tensor([1.]), torch.tensor([[1., 2.]]), torch.tensor([[3.], [4.]]), alpha=2)
        tensor([[23.]])
    """
    if deprecated:
        return numbers_first(addmm, (input, mat1, mat2, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    result = _addmm(input, mat1, mat2, beta, alpha)
    return result if out is None else into_exactly("addmm", out, result)


@method
def addmv(input, mat, vec, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * (mat @ vec); with beta 0 the input is not read.

    Args:
        input: broadcasts to (n).
        mat: (n, m).
        vec: (m,).
        beta, alpha: numbers; of integers their whole part.
        out: a tensor to write the result to.
        deprecated: `addmv(beta, input, alpha, mat, vec)`, the order of old programs, is taken too; alpha may be left out.

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.addmv(torch.tensor([1.]), torch.tensor([[1., 2.]]), torch.tensor([3., 4.]))
        tensor([12.])
    """
    if deprecated:
        return numbers_first(addmv, (input, mat, vec, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    result = _addmv(input, mat, vec, beta, alpha)
    return result if out is None else into_exactly("addmv", out, result)


@method
def baddbmm(input, batch1, batch2, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2); with beta 0 the input is not read.

    Args:
        input: broadcasts to (b, n, p).
        batch1: (b, n, m).
        batch2: (b, m, p).
        beta, alpha: numbers; of integers their whole part.
        out: a tensor to write the result to.
        deprecated: `baddbmm(beta, input, alpha, batch1, batch2)`, the order of old programs, is taken too; alpha may be left out.

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.baddbmm(torch.tensor([1.]), torch.tensor([[[1., 2.]]]), torch.tensor([[[3.], [4.]]]))
        tensor([[[12.]]])
    """
    if deprecated:
        return numbers_first(baddbmm, (input, batch1, batch2, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    result = _baddbmm(input, batch1, batch2, beta, alpha)
    return result if out is None else into_exactly("baddbmm", out, result)


@method
def addbmm(input, batch1, batch2, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * the sum of the products of two batches, as one product of depth b * m.

    Args:
        input: broadcasts to (n, p).
        batch1: (b, n, m).
        batch2: (b, m, p).
        beta, alpha: numbers; of integers their whole part.
        out: a tensor to write the result to.
        deprecated: `addbmm(beta, input, alpha, batch1, batch2)`, the order of old programs, is taken too; alpha may be left out.

    Returns:
        (n, p).

    Raises:
        RuntimeError: sizes that do not match, or different dtypes.

    Example:
        >>> import numtorch as torch
        >>> torch.addbmm(torch.tensor([1.]), torch.ones(3, 1, 2), torch.ones(3, 2, 1))
        tensor([[7.]])
    """
    if deprecated:
        return numbers_first(addbmm, (input, batch1, batch2, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    a, b = layout_of("addbmm", batch1, "batch1", 2), layout_of("addbmm", batch2, "batch2", 3)
    if a.ndim != 3 or b.ndim != 3 or a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(f"addbmm(): expected batches of matrices that can be multiplied, but got {list(a.shape)} and "
                           f"{list(b.shape)}")
    depth = a.shape[0] * a.shape[2]
    left = reshape(permute(batch1, (1, 0, 2)), (a.shape[1], depth))
    return into_exactly("addbmm", out, _addmm(input, left, reshape(batch2, (depth, b.shape[2])), beta, alpha))


@method
def addr(input, vec1, vec2, *deprecated, beta=1, alpha=1, out=None) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2); with beta 0 the input is not read.

    Args:
        input: broadcasts to (n, m).
        vec1, vec2: (n,) and (m,).
        beta, alpha: numbers; where all are bools, whether the input and whether the product counts.
        out: a tensor to write the result to.
        deprecated: `addr(beta, input, alpha, vec1, vec2)`, the order of old programs, is taken too; alpha may be left out.

    Raises:
        RuntimeError: not vectors, or an input of another shape; a fraction as a factor of integers, or a bool as one of numbers.

    Example:
        >>> import numtorch as torch
        >>> torch.addr(torch.tensor([1.]), torch.tensor([1., 2.]), torch.tensor([3., 4.]))
        tensor([[4., 5.],
                [7., 9.]])
    """
    if deprecated:
        return numbers_first(addr, (input, vec1, vec2, *deprecated), {"beta": beta, "alpha": alpha}, out=out)
    for layout in (layout_of("addr", vec1, "vec1", 2), layout_of("addr", vec2, "vec2", 3)):
        if layout.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec1 and vec2, but got {vec1.layout.ndim}-D and {vec2.layout.ndim}-D")
    layouts = layout_of("addr", input), vec1.layout, vec2.layout
    shape = (*vec1.layout.shape, *vec2.layout.shape)
    if broadcast_shapes(input.layout.shape, shape) != shape:
        raise RuntimeError(f"addr: expected an input that expands to shape {list(shape)}, got {list(input.layout.shape)}")
    common_device("addr", layouts)                       # where beta is 0, nothing else sees the input beside the vectors
    kind = result_dtype(layouts)
    for title, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and kind is not bool_:
            raise RuntimeError(f"Boolean {title} only supported for Boolean results.")
        if isinstance(value, (float, complex)) and kind.category < 2:
            raise RuntimeError(f"For integral input tensors, argument {title} must not be a floating point number.")
    if kind is bool_:
        result = comparison.logical_or(arithmetic.mul(input, bool(beta)), arithmetic.mul(outer(vec1, vec2), bool(alpha)))
    elif beta == 0:
        result = _scaled(outer(vec1, vec2), alpha)
        if recording(input):                             # its gradient is 0, which is not the same as none
            result = arithmetic.where(as_operand("addr", False), input, result)
    else:
        result = arithmetic.addcmul(_scaled(input, beta), unsqueeze(vec1, 1), vec2, value=alpha)
    return result if out is None else into(out, result)


def _where_it_lies(primitive, x, a, b, beta, alpha) -> bool:
    """Add to `x` in the product's kernel, where nothing is recorded, the plan is known and no factor shares its memory."""
    if not (type(x) is type(a) is type(b) is Tensor) or x._base is not None or x.node is not None or a.node is not None \
            or b.node is not None:
        return False
    plan = primitive.plans.get((x.layout, a.layout, b.layout, beta, alpha))
    if plan is None or plan.copy is None or plan.out is not x.layout or x.layout.dtype.category < 2 or share_memory(x, a) \
            or share_memory(x, b):
        return False
    plan.add_to(x, a, b)
    x.memory.version += 1
    x.memory.writer = f"{primitive.name}_"
    return True


def _in_place(function, shown, primitive=None):
    factors, name = ", ".join(list(inspect.signature(function).parameters)[1:3]), function.__name__

    def form(self, first=None, second=None, *deprecated, beta=1, alpha=1, **named) -> Tensor:
        if deprecated:
            return numbers_first(form, (self, first, second, *deprecated), {"beta": beta, "alpha": alpha}, **named)
        if named:
            factors = [f for f in (first, second) if f is not None]
            result = function(self, *factors, beta=beta, alpha=alpha, **named)
        elif primitive is not None and _where_it_lies(primitive, self, first, second, beta, alpha):
            return self
        else:
            result = function(self, first, second, beta=beta, alpha=alpha)
        if function is addbmm and self.layout.shape != result.layout.shape:      # alone among them, it takes on the sum's shape
            resize_(self, result.layout.shape)
        return copy_(self, result)

    form.__name__ = form.__qualname__ = f"{name}_"
    form.arguments_of = function
    form.__doc__ = f"""The in-place form of `{name}`: this tensor is its input and takes the result.

    Args:
        first, second: the factors, under the names that they have there ({factors}) too.
        beta, alpha: as there.
        deprecated: `{name}_(beta, alpha, first, second)`, the order of old programs, is taken too; alpha may be left out.

    Example:
        >>> import numtorch as torch
        >>> x = torch.tensor({shown[0]})
        >>> {shown[1]}
        {shown[2]}
    """
    return method(form)


_A, _B = "torch.tensor([[1., 2.]])", "torch.tensor([[3.], [4.]])"
addmm_ = _in_place(addmm, ("[[1.]]", f"x.addmm_({_A}, {_B})", "tensor([[12.]])"), ADDMM)
addmv_ = _in_place(addmv, ("[1.]", f"x.addmv_({_A}, torch.tensor([3., 4.]))", "tensor([12.])"))
baddbmm_ = _in_place(baddbmm, ("[[[1.]]]", f"x.baddbmm_({_A}[None], {_B}[None])", "tensor([[[12.]]])"), BADDBMM)
addbmm_ = _in_place(addbmm, ("[[1.]]", f"x.addbmm_({_A}[None], {_B}[None])", "tensor([[12.]])"))
addr_ = _in_place(addr, ("[[1., 1.]]", "x.addr_(torch.tensor([2.]), torch.tensor([3., 4.]))", "tensor([[7., 9.]])"))
