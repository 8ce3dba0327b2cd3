"""Convolution of (N, C, *sizes) by (O, C / groups, *kernel) over one to three dimensions, and its two gradients.

Here are the public planners. They choose among features as lanes (`lanes.py`), the packed matrix form (`panel.py`,
`weight.py`), fewer multiplications for kernels of 3 x 3 (`winograd.py`) and for gradients that would multiply padding
(`columns.py`), a copy of every tap's places and a product (`unfold.py`), direct windows for few features a group
(`window.py`), channels as lanes for depthwise ones of small images (`channels.py`), and for a kernel that sees every
element once a matrix product (`product.py`), of what lies there itself where it has one element (`gemm/gemm.py`).
Images whose channels are last are taken as they lie where that is simple (`channels_last.py`).
float32 and float64; 16-bit floats are widened by the caller.

Each family says by a rule of the shape how efficient it is: the share of its time in which it multiplies what the result needs, 1
being direct windows that fill their vectors. All else that it does, copies, sums that are added up again, lanes left empty, is
counted as so many multiply-adds. The most efficient one is taken.

A planner returns a `Prepared`, to be run with the addresses it lists; the last is always the workspace's (0 when
`Prepared.workspace` is 0). The families' own planners, of those three that a family computes, have other arguments and the same
addresses:

    plan_forward(dtype, shape, bias, relu)               what `plan_convolution` plans
    plan_input_grad(dtype, shape, bias)                  `plan_convolution_input_grad`
    plan_weight_grad(dtype, shape)                       `plan_convolution_weight_grad`

`shape` is the `Geometry` of families/windows.py, `bias` and `relu` whether there are such. Each file says what shapes are its own.
"""
from __future__ import annotations

import math

import numpy as np
from numpy import float32

from ... import threads
from ...compiler import compile_kernel
from ...families.windows import geometry
from ...program import Program, sequence
from ..gemm.gemm import plan_gemm
from ..micro.tile import host_tile
from . import channels as convchannels
from . import channels_last as convlast
from . import columns as convcolumns
from . import lanes, panel, unfold, weight, window, winograd
from . import product as convproduct

__all__ = ["plan_convolution", "plan_convolution_input_grad", "plan_convolution_weight_grad",
           "takes_channels_last"]

T = float32                                              # the dtype, bound by `_plan_fill`

WINDOW_FEATURES = 48                                     # beyond, a window's weights exceed the first-level cache
PRODUCT_WORK = 400_000                                   # multiply-adds of an image above which a call for each is nothing
PATCH_EFFICIENCY = 0.8                                   # of their product, in which other families are not worth trying
BLOCK_FEATURES = 14                                      # and channels as lanes pay from here


def takes_channels_last(dtype, x_shape, w_shape, stride, padding, dilation, groups, gradient=None) -> bool:
    """Whether the planners take images whose channels are last as they lie; `gradient`: that for the `"input"` or `"weight"`."""
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    return shape.multiply_adds > 0 and convlast.suits(dtype, shape, gradient)


def _is_copied_product(dtype, shape, transposed):
    """Whether a kernel of one element is one product once the places it sees are copied: those of a stride, or all images side by
    side."""
    return convproduct.cuts_places(shape) and (
        not convlast.is_product(shape) or convproduct.pays_side_by_side(dtype, shape, transposed))


def _most_efficient(dtype, items, rows, lines, columns, others, share=1.0, direct=1.0):
    """Who computes the `rows` results of `items` groups of images, whose planes have so many lines and columns. `others` are
    (efficiency, family).

    Direct windows lose the lanes that are not filled, a single row's sums wait for one another, and a thread takes whole items;
    panels, each packed for all rows, cost as much as 9 more rows. `share` of that is left where results are scattered, and `direct`
    of the windows' where much is copied for few places.
    """
    width = host_tile(4 if dtype == "float32" else 8).width
    filled = columns / (-(-columns // width) * width) if lines > 1 else 1
    families = [(0.97 * share * rows / (rows + 9), panel), *others]
    if rows <= WINDOW_FEATURES:
        shared = min(items / threads.get_num_threads(), 1)
        families.append((share * direct * filled * shared * (0.6 if rows == 1 else 1), window))
    return _first_of(families)


def _first_of(families):
    """Of (efficiency, family) pairs the family of the highest."""
    return max(families, key=lambda family: family[0])[1]


IMAGES, FEATURES, PLACES, HAS_BIAS, RELU_FLAG = range(5)  # of the descriptor where there is nothing to multiply


def _fill(bias, out, descriptor):
    images, features, places = descriptor[IMAGES], descriptor[FEATURES], descriptor[PLACES]
    for plane in range(images * features):
        value = bias[plane % features] if descriptor[HAS_BIAS] != 0 else T(0)
        if descriptor[RELU_FLAG] != 0 and value < T(0):
            value = T(0)
        for i in range(places):
            out[plane * places + i] = value


def _plan_fill(dtype, images, features, places, bias, relu, taken):
    """Where there is nothing to multiply: the bias, or zeros."""
    kernel = compile_kernel(_fill, (dtype + "*", dtype + "*", "int64*"), {"T": np.dtype(dtype).type})
    prepared = threads.prepare(kernel, [(images, features, places, int(bias), int(relu))])
    return sequence(taken, [(prepared, "bias, out")], prepared.workspace)


def _plan_product_weight(dtype, shape):
    """The weight's gradient of a kernel of one element: grad_out @ x^T, added up image by image."""
    O, C, P, images = shape.features, shape.channels, shape.places, shape.images
    first, more = (plan_gemm(O, C, P, dtype, (P, 1), (1, P), (C, 1), beta=beta) for beta in (0.0, 1.0))
    size = np.dtype(dtype).itemsize
    program = Program("grad_out", "x", "grad_weight", "workspace")
    for image in range(images):
        product = more if image else first
        grad_out, x = program.word("grad_out", image * O * P * size), program.word("x", image * C * P * size)
        program.add([program.launch(product, grad_out, x, program.word("grad_weight"), program.constant(),
                                    program.word("workspace"))])
    return program.prepare(program.workspace)


# ---------------------------------------------------------------- planners
def plan_convolution(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, activation=None, *,
                     channels_last=False) -> threads.Prepared:
    """Convolution, which multiplies by the kernel as it is (a cross-correlation).

    Addresses: x, weight, bias or 0, out, workspace.

    Args:
        dtype: `"float32"` or `"float64"`.
        x_shape: (N, C, *sizes) of one to three sizes.
        w_shape: (O, C / groups, *kernel).
        stride, padding, dilation: a number for each size.
        groups: into how many parts the channels are divided, each with features of its own.
        bias: whether there is a bias of shape (O,).
        activation: None or `"relu"`.
        channels_last: x and out are (N, *sizes, C) in memory, where `takes_channels_last`.
    """
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    if channels_last:
        return convlast.plan_forward(dtype, shape, bias, activation == "relu")
    if shape.multiply_adds and (convproduct.covers(shape) or _is_copied_product(dtype, shape, False)):
        return convproduct.plan_forward(dtype, shape, bias, activation == "relu")
    if shape.multiply_adds and convlast.is_product(shape):
        O, C, P = shape.features, shape.channels, shape.places
        product = plan_gemm(O, P, C, dtype, (C, 1), (P, 1), (P, 1), batch=shape.images, batch_strides=(0, C * P, O * P),
                            bias="row" if bias else None, activation=activation)
        return sequence("x, weight, bias, out, workspace", [(product, "weight, x, out, bias, workspace")], product.workspace)
    if not shape.multiply_adds:
        return _plan_fill(dtype, shape.images, shape.features, shape.places, bias, activation == "relu",
                          "x, weight, bias, out, workspace")
    if unfold.pays_forward(dtype, shape):
        return unfold.plan_forward(dtype, shape, bias, activation == "relu")
    if convchannels.pays(shape, shape.out):
        return convchannels.plan_forward(dtype, shape, bias, activation == "relu")
    _, lines, columns = shape.out
    others = []
    if shape.taps > 1 or shape.stride[2] == 1:           # else lines of every channel are read for little
        others.append((lanes.efficiency(dtype, lanes.forward_sums(shape), shape.multiply_adds), lanes))
    if convproduct.cuts_patches(shape, convproduct.LONG_TAPS):   # a panel of these is packed element by element
        family = _first_of([*others, (convproduct.efficiency(shape), convproduct)])
    elif winograd.suits(dtype, shape):
        family = winograd
    else:
        direct = 0.8 if min(shape.stride) > 1 else 1.0   # of volumes
        family = _most_efficient(dtype, shape.images * groups, shape.features // groups, lines, columns, others, direct=direct)
    return family.plan_forward(dtype, shape, bias, activation == "relu")


def plan_convolution_input_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, bias=False, *,
                                channels_last=False) -> threads.Prepared:
    """The gradient for the input, or with a bias of shape (C,) a transposed convolution.

    Addresses: grad_out, weight, bias or 0, grad_x, workspace.

    Args:
        x_shape, w_shape, stride, padding, dilation, groups, channels_last: as for `plan_convolution`.
        bias: whether there is a bias of shape (C,).
    """
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    if channels_last:
        return convlast.plan_input_grad(dtype, shape, bias)
    if shape.multiply_adds and (convproduct.covers(shape) or convproduct.cuts_patches(shape, convproduct.SHORT_TAPS)
                                or _is_copied_product(dtype, shape, True)):
        return convproduct.plan_input_grad(dtype, shape, bias)
    if shape.multiply_adds and convlast.is_product(shape):
        if shape.images == 1 and convproduct.transposes(shape.places, shape.features):
            return convproduct.plan_input_grad_of_few(dtype, shape, bias)
        O, C, P = shape.features, shape.channels, shape.places
        product = plan_gemm(C, P, O, dtype, (1, C), (P, 1), (P, 1), batch=shape.images, batch_strides=(0, O * P, C * P),
                            bias="row" if bias else None)
        return sequence("grad_out, weight, bias, grad_x, workspace", [(product, "weight, grad_out, grad_x, bias, workspace")],
                        product.workspace)
    if not shape.multiply_adds:
        return _plan_fill(dtype, shape.images, shape.channels, math.prod(shape.size), bias, False,
                          "grad_out, weight, bias, out, workspace")
    if unfold.pays_input_grad(shape):
        return (convcolumns if convcolumns.pays_for_few(dtype, shape) else unfold).plan_input_grad(dtype, shape, bias)
    if shape.stride == (1, 1, 1) and convchannels.pays(shape, shape.size):
        return convchannels.plan_input_grad(dtype, shape, bias)
    lines, columns = (-(-n // s) for n, s in zip(shape.size[1:], shape.stride[1:]))
    others = []
    if shape.stride[2] <= 2:
        sums = shape.multiply_adds
        if shape.stride == (1, 1, 1):                    # the others' are of the input's places
            useful = math.prod(shape.size) / shape.places
            sums = int(sums * useful)
            others.append((convcolumns.efficiency(dtype, shape) * useful, convcolumns))
        others.append((lanes.efficiency(dtype, lanes.gradient_sums(shape), sums), lanes))
    family = winograd if winograd.suits(dtype, shape) else _most_efficient(
        dtype, shape.images * groups, shape.channels // groups, lines, columns, others, 1.0 if shape.stride == (1, 1, 1) else 0.65)
    return family.plan_input_grad(dtype, shape, bias)


def plan_convolution_weight_grad(dtype, x_shape, w_shape, stride, padding, dilation, groups, *,
                                 channels_last=False) -> threads.Prepared:
    """The gradient for the weight.

    Addresses: grad_out, x, grad_weight, workspace.

    Args:
        x_shape, w_shape, stride, padding, dilation, groups, channels_last: as for `plan_convolution`.
    """
    shape = geometry(x_shape, w_shape, stride, padding, dilation, groups)
    if channels_last:
        return convlast.plan_weight_grad(dtype, shape)
    if not shape.multiply_adds:
        return _plan_fill(dtype, 1, shape.features, shape.channels // groups * shape.taps, False, False,
                          "bias, x, out, workspace")
    channels, features = shape.channels // groups, shape.features // groups
    if convchannels.pays_for_weight(shape):
        return convchannels.plan_weight_grad(dtype, shape)
    if channels == 1 and features < 8:
        return window.plan_depthwise_weight(dtype, shape)
    if convproduct.cuts_places(shape) and not convlast.is_product(shape) and shape.places >= convproduct.PLACES:
        return unfold.plan_weight_grad(dtype, shape)
    if convproduct.covers(shape) or (convproduct.cuts_places(shape) and not convlast.is_product(shape)) or (
            convproduct.cuts_patches(shape) and convproduct.efficiency(shape) > PATCH_EFFICIENCY):
        return convproduct.plan_weight_grad(dtype, shape)
    if convlast.is_product(shape) and channels * features * shape.places > PRODUCT_WORK:
        return _plan_product_weight(dtype, shape)
    columns = host_tile(4 if dtype == "float32" else 8).columns
    families = [(weight.efficiency_of_totals(dtype, shape), weight.plan_totals)]
    if channels >= columns and channels * groups >= columns * threads.get_num_threads() and features >= BLOCK_FEATURES:
        families.append((weight.efficiency_of_blocks(dtype, shape), weight.plan_blocks))
    if not convproduct.cuts_patches(shape, convproduct.LONG_TAPS):
        families.append((unfold.efficiency_of_weight(dtype, shape) / 0.9, unfold.plan_weight_grad))
    return _first_of(families)(dtype, shape)

