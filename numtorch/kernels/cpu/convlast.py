"""Convolutions of images whose channels are last, as they lie: a kernel of one element is one product over the places of all
images, depthwise ones have channels as lanes (`convchannels.py`) without turning planes over, and others features
(`convlanes.py`).

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses. Weights are row-major.
"""
from __future__ import annotations

from . import convchannels, convlanes, convwinograd
from .convimage import sequence
from .gemm import plan_gemm

LEAST_RESULTS = 12                                       # channels or features that are worth a vector


def is_product(shape):
    """A kernel of one element that sees every element once."""
    return shape.taps == 1 and shape.groups == 1 and shape.stride == (1, 1, 1) and not any(shape.padding)


def suits(dtype, shape, gradient):
    """Whether the planners here take it: what Winograd's method computes (`convwinograd.py`) is faster by way of copies."""
    if is_product(shape) or convchannels.pays_last(shape):
        return is_product(shape) or gradient != "input" or shape.stride == (1, 1, 1)
    results = shape.channels if gradient else shape.features
    return gradient != "weight" and shape.groups == 1 and results >= LEAST_RESULTS and not convwinograd.suits(dtype, shape) and (
        not gradient or shape.stride[2] <= 2)


def plan_forward(dtype, shape, bias, relu):
    if not is_product(shape):
        return (convlanes if shape.groups == 1 else convchannels).plan_forward(dtype, shape, bias, relu, True)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, O, C, dtype, (C, 1), (1, C), (O, 1), bias="column" if bias else None,
                        activation="relu" if relu else None)
    return sequence("x, weight, bias, out, workspace", [(product, "x, weight, out, bias, workspace")], product.workspace)


def plan_input_grad(dtype, shape, bias=False):
    if not is_product(shape):
        return (convlanes if shape.groups == 1 else convchannels).plan_input_grad(dtype, shape, bias, True)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, C, O, dtype, (O, 1), (C, 1), (C, 1), bias="column" if bias else None)
    return sequence("grad_out, weight, bias, grad_x, workspace", [(product, "grad_out, weight, grad_x, bias, workspace")],
                    product.workspace)


def plan_weight_grad(dtype, shape):
    if not is_product(shape):
        return convchannels.plan_weight_grad(dtype, shape, True)
    C, O = shape.channels, shape.features
    product = plan_gemm(O, C, shape.images * shape.places, dtype, (1, O), (C, 1), (C, 1))
    return sequence("grad_out, x, grad_weight, workspace", [(product, "grad_out, x, grad_weight, 0, workspace")], product.workspace)
