"""Softmax and log-softmax along one dimension and logsumexp over several, with gradients of any order."""
from __future__ import annotations

from functools import partial
from math import prod

from ...autograd.graph import GraphNode, recording
from ...dtypes import as_dtype, get_default_dtype
from ...kernels.threads import NOTHING
from ...layout import Layout, plain_dims, wrap_dim, wrap_dims
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout, required_dim, truth
from ..core.backends import kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..memory.copies import contiguous, to_dtype
from ..memory.resize import into
from ..pointwise.arithmetic import mul, sub
from ..pointwise.complexparts import real
from ..pointwise.elementary import exp, log
from ..reduce.reduce_op import MAX, SUM
from ..shape.views import permute, reshape, squeeze

SOFTMAX = Primitive("softmax", samples="T[2, 3]; 1")
LOG_SOFTMAX = Primitive("log_softmax", samples="T[2, 3]; 1")
SOFTMAX_GRAD = Primitive("softmax_grad", samples="T[2, 3], T[2, 3]; 1")
LOG_SOFTMAX_GRAD = Primitive("log_softmax_grad", samples="T[2, 3], T[2, 3]; 1")


def _along(primitive, layout, dim):
    """The row-major layout of the result, and the kernel over (outer, extent of dim, inner)."""
    if not layout.dtype.is_floating_point:
        raise NotImplementedError(f'"{primitive.name}" not implemented for \'{layout.dtype.title}\': expected a floating-point '
                                  f'dtype; pass dtype= to convert first')
    axis = wrap_dim(dim, layout.ndim)
    outer, inner = prod(layout.shape[:axis]), prod(layout.shape[axis + 1:])
    planner = getattr(kernels(layout.device, "softmax.softmax"), f"plan_{primitive.name}")
    extent = layout.shape[axis] if layout.ndim else 1
    return layout.dense(), planner(layout.dtype.kernel, outer, extent, inner) if layout.numel else NOTHING


def _forward(primitive):
    primitive.planned(partial(_along, primitive))

    @primitive.run
    def forward(plan, input: Tensor, dim: int):
        layout, prepared = plan
        out, source = empty(layout), input if input.layout.contiguous else contiguous(input.detach())
        prepared.call(source.address, out.address, prepared.descriptor)
        if input.node is not None and recording(input):
            node = out.node = GraphNode(primitive, (input.node,), (), dim)
            node.save_results((out,))
        return out
    return forward


def _gradient(primitive):
    """A gradient's kernel, itself a primitive of the gradient that came and of the forward result."""
    @primitive.planned
    def plan(grad, out, dim):
        expect_layout(primitive.name, "grad", grad, out.shape, out.dtype)
        return _along(primitive, out, dim)

    @primitive.run
    def gradient(plan, grad: Tensor, out: Tensor, dim: int):
        layout, prepared = plan
        result = empty(layout)
        incoming = grad if grad.layout.contiguous else contiguous(grad.detach())
        outgoing = out if out.layout.contiguous else contiguous(out.detach())
        prepared.call(incoming.address, outgoing.address, result.address, prepared.descriptor)
        if recording(grad, out):
            result.node = GraphNode(primitive, (grad.node, out.node), (grad, out), dim)
        return result
    return gradient


_softmax, _log_softmax = _forward(SOFTMAX), _forward(LOG_SOFTMAX)
softmax_grad, log_softmax_grad = _gradient(SOFTMAX_GRAD), _gradient(LOG_SOFTMAX_GRAD)


def _written(out, result):
    if isinstance(out, Tensor) and out.layout.dtype is not result.layout.dtype:
        raise RuntimeError(f"Expected out tensor to have dtype {result.layout.dtype.name}, but got {out.layout.dtype.name} instead")
    return into(out, result)


# ---------------------------------------------------------------- softmax
@method
def softmax(input, dim=None, dtype=None, *, axis=None, out=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension, computed from x - max(x).

    Args:
        input: (*), floats.
        dim: the dimension along which the results sum to 1.
        axis: NumPy's name of `dim`.
        dtype: convert to this first.
        out: a tensor of the result's dtype to write it into.

    Returns:
        Of the shape of `input`.

    Raises:
        NotImplementedError: the dtype is not floating-point.
        IndexError: `dim` is out of range.
        RuntimeError: `out` has another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.softmax(torch.tensor([0., 0.]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = required_dim("softmax", axis)
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    return _softmax(input, dim) if out is None else _written(out, _softmax(input, dim))


@SOFTMAX.derivative
def _softmax_vjp(node, grad, out):
    return (softmax_grad(grad, out, node.attributes),)


@SOFTMAX_GRAD.derivative
def _softmax_grad_vjp(node, u, grad, out):
    """Of out * (grad - sum(grad * out))."""
    dim = node.attributes
    by_out = None
    if node.needs(1):
        by_out = sub(mul(u, sub(grad, SUM.run(mul(grad, out), dim, True))), mul(grad, SUM.run(mul(u, out), dim, True)))
    return softmax_grad(u, out, dim) if node.needs(0) else None, by_out


# ---------------------------------------------------------------- log-softmax
@method
def log_softmax(input, dim=None, dtype=None, *, axis=None, out=None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax underflows.

    Args:
        input: (*), floats.
        dim: the dimension along which the exponentials of the results sum to 1.
        axis: NumPy's name of `dim`.
        dtype: convert to this first.
        out: a tensor of the result's dtype to write it into.

    Returns:
        Of the shape of `input`.

    Raises:
        NotImplementedError: the dtype is not floating-point.
        IndexError: `dim` is out of range.
        RuntimeError: `out` has another dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.log_softmax(torch.tensor([0., 1000.]), dim=0)
        tensor([-1000.,     0.])
    """
    if dim is None:
        dim = required_dim("log_softmax", axis)
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    return _log_softmax(input, dim) if out is None else _written(out, _log_softmax(input, dim))


@LOG_SOFTMAX.derivative
def _log_softmax_vjp(node, grad, out):
    return (log_softmax_grad(grad, out, node.attributes),)


@LOG_SOFTMAX_GRAD.derivative
def _log_softmax_grad_vjp(node, u, grad, out):
    """Of grad - exp(out) * sum(grad)."""
    dim = node.attributes
    probability = exp(out)
    by_grad = sub(u, SUM.run(mul(probability, u), dim, True)) if node.needs(0) else None
    by_out = mul(mul(u, probability), mul(SUM.run(grad, dim, True), -1)) if node.needs(1) else None
    return by_grad, by_out


def softmin(input, dim, dtype=None) -> Tensor:
    """softmax(-x) along a dimension."""
    return softmax(mul(input, -1), dim, dtype)


# ---------------------------------------------------------------- logsumexp
class _LogSumExpPlan:
    """The kernel over (outer, R, inner), the result's layout, and what nodes know: its shape with the reduced dimensions, and the
    extents."""

    __slots__ = ("out", "kept", "forward")

    def __init__(self, layout, dim, keepdim):
        expect_dtypes("logsumexp", layout.dtype, "float")
        dims = wrap_dims(dim, layout.ndim)
        first, last = min(dims), max(dims)
        shape = layout.shape
        kept = tuple([1 if i in dims else n for i, n in enumerate(shape)])
        self.out = Layout.of(layout.dtype, kept if keepdim else shape[:first] + shape[last + 1:], None, layout.device)
        extents = prod(shape[:first]), prod(shape[first:last + 1]), prod(shape[last + 1:])
        self.kept = kept, extents
        self.forward = kernels(layout.device, "softmax.softmax").plan_logsumexp(layout.dtype.kernel, *extents)


LOGSUMEXP = Primitive("logsumexp", samples="T[2, 3]; 1, False")
LOGSUMEXP_GRAD = Primitive("logsumexp_grad", samples="T[2], T[2, 3], T[2]; (2, 3, 1)")
LOGSUMEXP.planned(_LogSumExpPlan)


@LOGSUMEXP.run
def _over_neighbours(plan, input: Tensor, dim, keepdim: bool):
    """Over dimensions that are neighbours."""
    out = empty(plan.out)
    source = input if input.layout.contiguous else contiguous(input.detach())
    plan.forward.call(source.address, out.address, plan.forward.descriptor)
    if input.node is not None and recording(input):
        node = out.node = GraphNode(LOGSUMEXP, (input.node,), (input,), plan.kept)
        node.save_results((out,))
    return out


@method
def logsumexp(input, dim=None, keepdim: bool = False, *, axis=None, keepdims=None, out=None) -> Tensor:
    """log(sum(exp(x))) along dimensions, shifted by the largest element so that nothing overflows.

    Args:
        input: (*), of any dtype; integers and bools give the default dtype.
        dim: an int, or several.
        keepdim: keep reduced dimensions with extent 1.
        axis, keepdims: NumPy's names of `dim` and `keepdim`.
        out: a tensor to write the result into.

    Raises:
        IndexError: a dimension out of range.
        RuntimeError: `out` cannot hold the result's dtype.

    Example:
        >>> import numtorch as torch
        >>> torch.logsumexp(torch.tensor([1000., 1000.]), dim=0)
        tensor(1000.6932)
    """
    if dim is None:
        dim = required_dim("logsumexp", axis)
    if keepdims is not None:
        keepdim = keepdims
    if out is not None:
        return into(out, logsumexp(input, dim, keepdim))
    dim = plain_dims(dim, "logsumexp")
    if (layout_of("logsumexp", input), dim, keepdim) in LOGSUMEXP.plans:
        return _over_neighbours(input, dim, keepdim)
    truth("logsumexp", "keepdim", keepdim)
    if input.layout.dtype.category < 2:
        input = to_dtype(input, get_default_dtype())
    layout = input.layout
    dims = sorted(wrap_dims(None if dim == () else dim, layout.ndim))
    if not layout.ndim and layout.dtype.is_complex:      # whose logarithm has an angle within one turn
        return reshape(_logsumexp_of_ops(reshape(input, 1), [0], False), ())
    dims = dims if layout.ndim else []
    if not layout.numel or not dims or layout.dtype.is_complex:
        return _logsumexp_of_ops(input, dims, keepdim)
    if dims[-1] - dims[0] >= len(dims):                  # others lie between them
        rest = [i for i in range(layout.ndim) if i not in dims]
        out = logsumexp(permute(input, rest + dims), tuple(range(len(rest), layout.ndim)))
        return reshape(out, tuple([1 if i in dims else n for i, n in enumerate(layout.shape)])) if keepdim else out
    return _over_neighbours(input, dim if dim != () else tuple(dims), keepdim)


def _logsumexp_of_ops(input, dims, keepdim):
    """Of nothing, -inf; of a single number, itself; of complex numbers, shifted by the largest real part."""
    if dims and input.layout.numel:
        shift = MAX.run(contiguous(real(input.detach())), tuple(dims), True)
        total = log(SUM.run(exp(input - shift), tuple(dims), True)) + shift
        return total if keepdim else squeeze(total, tuple(dims))
    return log(SUM.run(exp(input), tuple(dims), keepdim)) if dims else input * 1


@LOGSUMEXP.derivative
def _logsumexp_vjp(node, grad, x, out):
    kept, extents = node.attributes
    if recording(x, grad):
        return (mul(reshape(grad, kept), exp(sub(x, reshape(out, kept)))),)
    return (_logsumexp_grad(grad, x, out, extents),)


@LOGSUMEXP_GRAD.planned
def _plan_logsumexp_grad(grad, layout, out, extents):
    expect_dtypes("logsumexp_grad", layout.dtype, "float")
    expect_layout("logsumexp_grad", "grad", grad, out.shape, layout.dtype)
    outer, reduced, inner = extents
    if outer * reduced * inner != layout.numel or outer * inner != out.numel or out.dtype is not layout.dtype:
        raise RuntimeError(f"logsumexp_grad: expected {outer} x {inner} results of {reduced} elements each, got {list(out.shape)} "
                           f"of {list(layout.shape)}")
    return layout.dense(), kernels(layout.device, "softmax.softmax").plan_logsumexp_grad(layout.dtype.kernel, *extents)


@LOGSUMEXP_GRAD.run
def _logsumexp_grad(plan, grad: Tensor, x: Tensor, out: Tensor, extents):
    layout, prepared = plan
    result = empty(layout)
    x, grad = [t if t.layout.contiguous else contiguous(t) for t in (x, grad)]
    prepared.call(grad.address, x.address, out.address, result.address, prepared.descriptor)
    return result
