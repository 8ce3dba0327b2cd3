"""Dropout: elements set to zero at random, the others scaled so that the expectation stays."""
from __future__ import annotations

from ..tensor import Tensor
from .copy import copy_
from .pointwise import pointwise
from .random import keep_mask


@pointwise(methods=False)
def masked_scale(x, mask, *, scale):
    """x * mask * scale"""
    return x * mask * scale


@masked_scale.derivative
def _(grad, x, mask, scale):
    return grad * mask * scale, grad * x * scale


def _check(name, input, p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p} ({name})")
    if not input.layout.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected a floating point input, got {input.layout.dtype}")


def _finish(input, out, inplace):
    return copy_(input, out) if inplace else out


def dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element set to 0 with probability p, the others divided by 1 - p; the input itself when not `training`.

    Raises:
        ValueError: p is outside [0, 1].
    """
    _check("dropout", input, p)
    if not training or p == 0.0:
        return input
    scale = 1.0 / (1.0 - p) if p < 1.0 else 0.0
    return _finish(input, masked_scale(input, keep_mask(input.layout.dense(), 1.0 - p), scale), inplace)


def feature_dropout(input, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Like `dropout`, but for whole channels: one draw for each (n, c) of an (N, C, ...) input."""
    _check("feature_dropout", input, p)
    if not training or p == 0.0:
        return input
    shape = input.layout.shape
    mask = keep_mask(input.new_empty(*shape[:2], *(1,) * (len(shape) - 2)).layout, 1.0 - p)
    return _finish(input, masked_scale(input, mask, 1.0 / (1.0 - p) if p < 1.0 else 0.0), inplace)


def alpha_dropout(input, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout to selu's negative limit, scaled and shifted so that mean 0 and variance 1 stay (Klambauer et al. 2017)."""
    _check("alpha_dropout", input, p)
    if not training or p == 0.0:
        return input
    if p == 1.0:
        return _finish(input, input * 0.0, inplace)
    low = -1.7580993408473766
    scale = (1.0 / ((1.0 - p) * (1.0 + p * low * low))) ** 0.5
    mask = keep_mask(input.layout.dense(), 1.0 - p)
    return _finish(input, masked_scale(input, mask, scale) + (1.0 - mask) * (low * scale) - low * scale * p, inplace)
