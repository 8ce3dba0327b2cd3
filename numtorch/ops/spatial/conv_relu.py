"""relu(convolution(x)) as one kernel, where nothing is recorded."""
from __future__ import annotations

from ...autograd.graph import recording
from ...tensor import Tensor
from ..core.primitive import Primitive
from ..pointwise.activation import relu
from .conv import convolution, plan_convolution

CONVOLUTION_RELU = Primitive("convolution_relu", samples="T[1, 2, 5, 5], T[2, 2, 3, 3], T[2]; ((1, 1), (1, 1), (1, 1), 1)")


@CONVOLUTION_RELU.planned
def _plan(x, w, bias, window):
    return plan_convolution(x, w, bias, window, "relu")


@CONVOLUTION_RELU.run
def convolution_relu(plan, input: Tensor, weight: Tensor, bias: Tensor | None, window):
    """The activation of (N, C, *sizes) with (O, C / groups, *kernel), which is done before a result is stored: as two calls, all of
    it is written and read once more."""
    if recording(input, weight, bias):
        return relu(convolution(input, weight, bias, window))
    return plan.run(input, weight, bias)
