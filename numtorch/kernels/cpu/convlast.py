"""Convolutions of images whose channels are last, as they lie: a kernel of one element is one product over the places of all
images, which are copied together where there are strides; depthwise ones have channels as lanes (`convdepthlast.py`), and
others features (`convlanes.py`).

float32 and float64. The planners here take a `Geometry`; `conv.py` chooses. Weights are row-major.
"""
from __future__ import annotations

import numpy as np

from ..intrinsics import offset
from . import convdepthlast, convlanes, convwinograd
from .convimage import copy_run, sequence
from .convproduct import copy_in_parts, cuts_places
from .gemm import plan_gemm

LEAST_RESULTS = 12                                       # channels or features that are worth a vector


def is_product(shape):
    """A kernel of one element that sees every element once."""
    return shape.taps == 1 and shape.groups == 1 and shape.stride == (1, 1, 1) and not any(shape.padding)


FIRST, END, CHANNELS, PLANES, LINES, ACROSS, STEP_DEEP, STEP_DOWN, STEP, X_DEEP, X_DOWN, X_WIDE = range(12)


def gather_places(x, out, walk):
    """out[image, place] = x[image, place * stride], of all channels, for lines first..end of all images."""
    channels = walk[CHANNELS]
    for unit in range(walk[FIRST], walk[END]):
        y, rest = unit % walk[LINES], unit // walk[LINES]
        z, image = rest % walk[PLANES], rest // walk[PLANES]
        line = ((image * walk[X_DEEP] + z * walk[STEP_DEEP]) * walk[X_DOWN] + y * walk[STEP_DOWN]) * walk[X_WIDE]
        source, to = offset(x, line * channels), offset(out, unit * walk[ACROSS] * channels)
        for column in range(walk[ACROSS]):
            copy_run(offset(source, column * walk[STEP] * channels), offset(to, column * channels), channels)


def _gathering(dtype, shape):
    """The copy of the places that a kernel of one element sees, and the bytes they take."""
    elements = shape.images * shape.places * shape.channels
    lines = shape.images * shape.out[0] * shape.out[1]
    return copy_in_parts(gather_places, dtype, lines, elements, 2, (shape.channels, *shape.out, *shape.stride, *shape.size)), \
        -(-elements * np.dtype(dtype).itemsize // 64) * 64


def suits(dtype, shape, gradient):
    """Whether the planners here take it: what Winograd's method computes (`convwinograd.py`) is faster by way of copies."""
    if is_product(shape) or convdepthlast.suits(dtype, shape):
        return True
    if gradient != "input" and cuts_places(shape):
        return True
    results = shape.channels if gradient else shape.features
    return gradient != "weight" and shape.groups == 1 and results >= LEAST_RESULTS and not convwinograd.suits(dtype, shape) and (
        not gradient or shape.stride[2] <= 2)


def plan_forward(dtype, shape, bias, relu):
    if not cuts_places(shape):
        return convlanes.plan_forward(dtype, shape, bias, relu, True) if shape.groups == 1 else \
            convdepthlast.plan_forward(dtype, shape, bias, relu)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, O, C, dtype, (C, 1), (1, C), (O, 1), bias="column" if bias else None,
                        activation="relu" if relu else None)
    if is_product(shape):
        return sequence("x, weight, bias, out, workspace", [(product, "x, weight, out, bias, workspace")], product.workspace)
    gather, space = _gathering(dtype, shape)
    launches = [(gather, "x, workspace"), (product, f"workspace, weight, out, bias, workspace + {space}")]
    return sequence("x, weight, bias, out, workspace", launches, space + product.workspace)


def plan_input_grad(dtype, shape, bias=False):
    if not is_product(shape):
        return convlanes.plan_input_grad(dtype, shape, bias, True) if shape.groups == 1 else \
            convdepthlast.plan_input_grad(dtype, shape, bias)
    C, O = shape.channels, shape.features
    product = plan_gemm(shape.images * shape.places, C, O, dtype, (O, 1), (C, 1), (C, 1), bias="column" if bias else None)
    return sequence("grad_out, weight, bias, grad_x, workspace", [(product, "grad_out, weight, grad_x, bias, workspace")],
                    product.workspace)


def plan_weight_grad(dtype, shape):
    if not cuts_places(shape):
        return convdepthlast.plan_weight_grad(dtype, shape)
    C, O = shape.channels, shape.features
    product = plan_gemm(O, C, shape.images * shape.places, dtype, (1, O), (C, 1), (C, 1))
    if is_product(shape):
        return sequence("grad_out, x, grad_weight, workspace", [(product, "grad_out, x, grad_weight, 0, workspace")],
                        product.workspace)
    gather, space = _gathering(dtype, shape)
    launches = [(gather, "x, workspace"), (product, f"grad_out, workspace, grad_weight, 0, workspace + {space}")]
    return sequence("grad_out, x, grad_weight, workspace", launches, space + product.workspace)
