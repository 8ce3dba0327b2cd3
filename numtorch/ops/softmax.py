"""Softmax and log-softmax along one dimension, with gradients of any order."""
from __future__ import annotations

from ..autograd.graph import GraphNode, recording
from ..dtypes import as_dtype
from ..layout import wrap_dim
from ..tensor import Tensor, empty
from .arithmetic import mul, sub
from .backends import kernels
from .copy import contiguous, register, to_dtype
from .elementary import exp
from .op import method, new_plan_table
from .reduce import SUM

_plans = new_plan_table()


def _plan(kind, layout, dim):
    """The row-major layout of the result, and the kernel over (outer, extent of dim, inner); None for no elements."""
    key = (kind, layout, dim)
    found = _plans.get(key)
    if found is None:
        if not layout.dtype.is_floating_point:
            raise RuntimeError(f'"{kind}" not implemented for \'{layout.dtype.name.capitalize()}\': expected a floating-point '
                               f'dtype; '
                               f"pass dtype= to convert first")
        axis = wrap_dim(dim, layout.ndim)
        outer, inner = 1, 1
        for extent in layout.shape[:axis]:
            outer *= extent
        for extent in layout.shape[axis + 1:]:
            inner *= extent
        prepared = None
        if layout.numel:
            planner = getattr(kernels(layout.device, "softmax"), f"plan_{kind}")
            prepared = planner(layout.dtype.kernel, outer, layout.shape[axis] if layout.ndim else 1, inner)
        found = _plans.keep(key, (layout.dense(), prepared))
    return found


def _run(kind, x, dim, vjp):
    layout, prepared = _plan(kind, x.layout, dim)
    out = empty(layout)
    if prepared is not None:
        source = x if x.layout.contiguous else contiguous(x.detach())
        prepared.call(source.address, out.address, prepared.walk)
    if x.node is not None and recording(x):
        node = out.node = GraphNode(kind, (x.node,), (), vjp, dim)
        node.save_results((out,))
    return out


def _run_gradient(kind, grad, out, dim, vjp):
    """A gradient's kernel, itself an op of the gradient that came and of the forward result."""
    layout, prepared = _plan(kind, out.layout, dim)
    result = empty(layout)
    if prepared is not None:
        incoming = grad if grad.layout.contiguous else contiguous(grad.detach())
        outgoing = out if out.layout.contiguous else contiguous(out.detach())
        prepared.call(incoming.address, outgoing.address, result.address, prepared.walk)
    if recording(grad, out):
        result.node = GraphNode(kind, (grad.node, out.node), (grad, out), vjp, dim)
    return result


# ---------------------------------------------------------------- softmax
@register
@method
def softmax(input, dim, dtype=None) -> Tensor:
    """exp(x) / sum(exp(x)) along a dimension.

    Args:
        dim: the dimension along which the results sum to 1.
        dtype: convert to this first.

    Raises:
        RuntimeError: the dtype is not floating-point.
        IndexError: `dim` is out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.softmax(torch.tensor([0., 0.]), dim=0)
        tensor([0.5000, 0.5000])
    """
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    return _run("softmax", input, dim, _softmax_vjp)


def _softmax_vjp(node, grad):
    out, = node.result_tensors()
    return (softmax_grad(grad, out, node.constants),)


def softmax_grad(grad, out, dim) -> Tensor:
    """out * (grad - sum(grad * out)): the gradient of softmax, from its result."""
    return _run_gradient("softmax_grad", grad, out, dim, _softmax_grad_vjp)


def _softmax_grad_vjp(node, u):
    grad, out = node.tensors()
    dim = node.constants
    by_out = None
    if node.needs(1):
        by_out = sub(mul(u, sub(grad, SUM.run(mul(grad, out), dim, True))), mul(grad, SUM.run(mul(u, out), dim, True)))
    return softmax_grad(u, out, dim) if node.needs(0) else None, by_out


# ---------------------------------------------------------------- log-softmax
@register
@method
def log_softmax(input, dim, dtype=None) -> Tensor:
    """log(softmax(x)) along a dimension, exact where softmax underflows. Arguments as for `softmax`."""
    if dtype is not None:
        input = to_dtype(input, as_dtype(dtype))
    return _run("log_softmax", input, dim, _log_softmax_vjp)


def _log_softmax_vjp(node, grad):
    out, = node.result_tensors()
    return (log_softmax_grad(grad, out, node.constants),)


def log_softmax_grad(grad, out, dim) -> Tensor:
    """grad - exp(out) * sum(grad): the gradient of log-softmax, from its result."""
    return _run_gradient("log_softmax_grad", grad, out, dim, _log_softmax_grad_vjp)


def _log_softmax_grad_vjp(node, u):
    grad, out = node.tensors()
    dim = node.constants
    probability = exp(out)
    by_grad = sub(u, SUM.run(mul(probability, u), dim, True)) if node.needs(0) else None
    by_out = mul(mul(u, probability), mul(SUM.run(grad, dim, True), -1)) if node.needs(1) else None
    return by_grad, by_out


def softmin(input, dim, dtype=None) -> Tensor:
    """softmax(-x) along a dimension."""
    return softmax(mul(input, -1), dim, dtype)

