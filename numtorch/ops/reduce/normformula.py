"""Norms as a formula over other ops: gradients of gradients, and devices without the kernels of nn/norm.py, take it."""
from __future__ import annotations

from typing import NamedTuple

from ..pointwise.arithmetic import add, mul, sub
from ..pointwise.elementary import rsqrt
from ..shape.views import reshape
from .reduce_op import MEAN, SUM


class Form(NamedTuple):
    """How a norm sees its data: as `view`, with one mean over `dims`, and weights of shape `affine` that span all but `spread`."""

    view: tuple
    affine: tuple
    dims: tuple
    spread: tuple
    eps: float
    centred: bool = True


def _standardised(x, form, running=None):
    """The standardised data and 1 / deviation, from the data's own or from running statistics."""
    if running is not None:
        scale = rsqrt(add(reshape(running[1], form.affine), form.eps))
        return mul(sub(x, reshape(running[0], form.affine)), scale), scale
    if form.centred:
        x = sub(x, MEAN.run(x, form.dims, True))
    scale = rsqrt(add(MEAN.run(mul(x, x), form.dims, True), form.eps))
    return mul(x, scale), scale


def composed(form, input, weight, bias, running=None):
    out, _ = _standardised(reshape(input, form.view), form, running)
    if weight is not None:
        out = mul(out, reshape(weight, form.affine))
    if bias is not None:
        out = add(out, reshape(bias, form.affine))
    return reshape(out, input.layout.shape)


def composed_gradients(node, form, grad, input, weight, vector, running=None):
    """The gradients that the kernels compute, out of ops that can be differentiated again; `vector` is the shape of the bias."""
    grad = reshape(grad, form.view)
    out, scale = _standardised(reshape(input, form.view), form, running)
    by_input = by_weight = by_bias = None
    if node.needs(0):
        slope = grad if weight is None else mul(grad, reshape(weight, form.affine))
        if running is None:
            along = mul(out, MEAN.run(mul(slope, out), form.dims, True))
            slope = sub(sub(slope, MEAN.run(slope, form.dims, True)) if form.centred else slope, along)
        by_input = reshape(mul(slope, scale), input.layout.shape)
    if node.needs(1):
        by_weight = reshape(SUM.run(mul(grad, out), form.spread), weight.layout.shape)
    if node.needs(2):
        by_bias = reshape(SUM.run(grad, form.spread), vector)
    return by_input, by_weight, by_bias
