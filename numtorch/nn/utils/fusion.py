"""Batch normalisation folded into the layer before it, for evaluation: one layer computes what two did."""
from __future__ import annotations

import copy

from ..parameter import Parameter


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps: float, bn_w, bn_b, transpose: bool = False) -> tuple:
    """The weight and the bias of a convolution that normalises its result itself.

    Args:
        conv_w, conv_b: of the convolution, (C_out, *) and (C_out) or None.
        bn_rm, bn_rv, bn_eps: running mean and variance (C_out), and what is added to it.
        bn_w, bn_b: scale and shift (C_out), or None.
        transpose: whether `conv_w` has its outputs in dimension 1.

    Returns:
        A pair of parameters.

    Example:
        >>> import numtorch as torch
        >>> one = torch.ones(1)
        >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(torch.ones(1, 1, 2), None, one, 4 * one, 0.0, None, None)
        >>> weight.tolist(), bias.tolist()
        ([[[0.5, 0.5]]], [-0.5])
    """
    scale = (bn_rv + bn_eps).rsqrt()
    scale = scale if bn_w is None else scale * bn_w
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    bias = (-bn_rm if conv_b is None else conv_b - bn_rm) * scale
    bias = bias if bn_b is None else bias + bn_b
    learned = conv_b is not None and conv_b.requires_grad
    return (Parameter((conv_w * scale.reshape(shape)).detach().to(conv_w.dtype), conv_w.requires_grad),
            Parameter(bias.detach().to(conv_w.dtype if conv_b is None else conv_b.dtype), learned))


def _check(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv, bn, transpose: bool = False):
    """A convolution that computes bn(conv(x)).

    Args:
        conv, bn: a convolution and the batch normalisation behind it, both in evaluation.
        transpose: whether the convolution is a transposed one.

    Returns:
        A new module of the convolution's class.

    Raises:
        AssertionError: a module in training, or without running statistics.

    Example:
        >>> import numtorch as torch
        >>> conv, bn, x = torch.nn.Conv1d(2, 3, 2).eval(), torch.nn.BatchNorm1d(3).eval(), torch.ones(1, 2, 4)
        >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
        True
    """
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                    bn.bias, transpose)
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps: float, bn_w, bn_b) -> tuple:
    """The weight and the bias of a linear layer that normalises its result itself.

    Args:
        linear_w, linear_b: of the layer, (out_features, in_features) and (out_features) or None.
        bn_rm, bn_rv, bn_eps: running mean and variance (out_features) or (1), and what is added to it.
        bn_w, bn_b: scale and shift likewise.

    Returns:
        A pair of parameters.

    Example:
        >>> import numtorch as torch
        >>> one = torch.ones(1)
        >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(torch.ones(1, 2), None, one, 4 * one, 0.0, one, one)
        >>> weight.tolist(), bias.tolist()
        ([[0.5, 0.5]], [0.5])
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that computes bn(linear(x)).

    Args:
        linear, bn: a `Linear` and the batch normalisation behind it, both in evaluation.

    Returns:
        A new `Linear`.

    Raises:
        AssertionError: a module in training or without running statistics, or features that differ.

    Example:
        >>> import numtorch as torch
        >>> linear, bn, x = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval(), torch.ones(4, 2)
        >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
        True
    """
    _check(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(f"To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
                             f"{linear.out_features} and bn.num_features={bn.num_features}")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight,
                                                      bn.bias)
    return fused
