"""Vectors divided by their length along a dimension: a kernel forward and a kernel backward; other norms than 2 as a formula.
Slices held to a norm."""
from __future__ import annotations

import math

from ...autograd.graph import GraphNode, recording
from ...dtypes import dtype as named
from ...layout import Layout, wrap_dim
from ...tensor import Tensor, empty
from ..core.arguments import expect_dtypes, expect_layout, numpy_keywords, real
from ..core.backends import has_kernels, kernels
from ..core.operands import layout_of, method
from ..core.primitive import Primitive
from ..memory.assign import written_back
from ..memory.copies import contiguous
from ..memory.resize import into_exactly
from ..pointwise.arithmetic import div, where
from ..pointwise.bounds import clamp_low
from ..pointwise.comparison import gt
from ..reduce.reduce_op import SUM
from ..reduce.reductions import norm

NORMALIZE = Primitive("normalize", samples="T[2, 3]; 1, 1e-12")
NORMALIZE_GRAD = Primitive("normalize_grad", samples="T[2, 3], T[2, 3], T.compute[2, 1]; 1, 1e-12")


@NORMALIZE.planned
class _Plan:
    """The kernels over (outer, extent of dim, inner); `forward` is None where the formula serves."""

    __slots__ = ("out", "lengths", "forward")

    def __init__(self, layout, dim, eps):
        self.forward = None
        if not (layout.numel and layout.ndim and layout.dtype.is_floating_point and has_kernels(layout.device, "norm.unit_norm")):
            return
        real("normalize", "eps", eps)
        outer, extent, inner = _around(layout, wrap_dim(dim, layout.ndim))
        self.out = layout.dense()
        self.lengths = Layout.of(named.by_name[layout.dtype.compute], (outer, inner), None, layout.device)
        self.forward = kernels(layout.device, "norm.unit_norm").plan_unit(layout.dtype.kernel, outer, extent, inner, eps)


def _around(layout, axis):
    return math.prod(layout.shape[:axis]), layout.shape[axis], math.prod(layout.shape[axis + 1:])


def normalize(input, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out=None) -> Tensor:
    """Divided by its p-norm along a dimension (at least eps).

    Args:
        input: of any shape.
        p: the norm's order.
        dim: a dimension, or several.
        eps: the least norm that is divided by.
        out: where to put the result.

    Returns:
        The input's shape and dtype.

    Raises:
        IndexError: `dim` is out of range.

    Example:
        >>> import numtorch as torch
        >>> torch.nn.functional.normalize(torch.tensor([[3., 4.]]))
        tensor([[0.6000, 0.8000]])
    """
    if p == 2 and out is None and type(dim) is int:
        return _unit(input, dim, eps)
    layout_of("normalize", input)
    return _divided(input, p, dim, eps, out)


def _divided(input, p, dim, eps, out=None):
    return div(input, clamp_low(norm(input, p, dim, keepdim=True), eps), out=out)


@NORMALIZE.run
def _unit(plan, input: Tensor, dim: int, eps: float):
    if plan.forward is None:
        return _divided(input, 2, dim, eps)
    result, lengths = empty(plan.out), empty(plan.lengths)
    x = input if input.layout.contiguous else contiguous(input.detach())
    plan.forward.call(x.address, result.address, lengths.address, plan.forward.descriptor)
    if recording(input):
        result.node = GraphNode(NORMALIZE, (input.node,), (input, lengths), (dim, eps))
    return result


@NORMALIZE.derivative
def _vjp(node, grad, input, lengths):
    dim, eps = node.attributes
    if recording(input, grad):
        length = clamp_low(norm(input, 2, dim, keepdim=True), eps)
        unit = div(input, length)
        return (_composed_gradient(grad, unit, length, dim, eps),)
    return (_gradient(grad, input, lengths, dim, eps),)


@NORMALIZE_GRAD.planned
def _plan_gradient(grad, input, lengths, dim, eps):
    expect_dtypes("normalize_grad", input.dtype, "float")
    sizes = outer, _, inner = _around(input, wrap_dim(dim, input.ndim))
    expect_layout("normalize_grad", "grad", grad, input.shape, input.dtype)
    expect_layout("normalize_grad", "lengths", lengths, (outer, inner), named.by_name[input.dtype.compute])
    return input.dense(), kernels(input.device, "norm.unit_norm").plan_unit_grad(input.dtype.kernel, *sizes, eps)


@NORMALIZE_GRAD.run
def _gradient(plan, grad: Tensor, input: Tensor, lengths: Tensor, dim, eps):
    layout, prepared = plan
    out = empty(layout)
    x, grad = [t if t.layout.contiguous else contiguous(t) for t in (input.detach(), grad)]
    prepared.call(grad.address, x.address, lengths.address, out.address, prepared.descriptor)
    return out


def _composed_gradient(grad, unit, length, dim, eps):
    """(grad - unit * sum(grad * unit)) / length; the sum counts where the length is not held at eps."""
    along = SUM.run(grad * unit, dim, True) * (length.detach() > eps)
    return div(grad - unit * along, length)


@method
@numpy_keywords
def renorm(input, p, dim, maxnorm, *, out=None) -> Tensor:
    """The tensor with those slices of a dimension whose p-norm is above `maxnorm` scaled down to it.

    Args:
        input: at least two dimensions, floating point or complex.
        p: above 0.
        dim: the dimension whose slices are held.
        maxnorm: the largest norm a slice keeps, 0 or more.
        out: a tensor to write the result to.

    Raises:
        RuntimeError: a p or a `maxnorm` out of range, or fewer than two dimensions.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[3., 4.], [0., 1.]]).renorm(2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if layout_of("renorm", input).ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.layout.ndim} dimensions")
    dim = wrap_dim(dim, input.layout.ndim)
    size = norm(input, p, tuple(d for d in range(input.layout.ndim) if d != dim), True)
    result = input * where(gt(size, maxnorm), maxnorm / (size + 1e-7), 1)
    return into_exactly("renorm", out, result)


@method
@numpy_keywords
def renorm_(self, p, dim, maxnorm) -> Tensor:
    """Scale those slices of a dimension of this tensor whose p-norm is above `maxnorm` down to it.

    Args:
        p, dim, maxnorm: as for `renorm`.

    Example:
        >>> import numtorch as torch
        >>> torch.tensor([[3., 4.], [0., 1.]]).renorm_(2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    return written_back(self, renorm, p, dim, maxnorm)
