"""Losses of inputs and targets of one shape: a formula for the terms, and their mean or sum. Losses over classes are in
cross_entropy.py."""
from __future__ import annotations

import warnings

from ...layout import broadcast_shapes
from ...tensor import Tensor
from ..core.operands import layout_of
from ..pointwise import comparison
from ..pointwise.activation import sigmoid
from ..pointwise.arithmetic import FLOATS, UNORDERED, abs, mul, sgn, sign, sub, where
from ..pointwise.bounds import clamp_low
from ..pointwise.elementary import exp, log, log1p
from ..pointwise.pointwise import pointwise
from ..reduce.query import check_probabilities
from ..reduce.reduce_op import MEAN, SUM
from ..reduce.total import total
from ..shape.views import expand

_FLOAT_TARGETS = {**FLOATS, "an integer": "targets of integers: result type Float can't be cast to them. Expected targets of the "
                  "input's dtype (target.to(input.dtype))"}
_DIVERGENCE = {"complex": "kl_div: Complex inputs not supported.", "an integer": "kl_div: Integral inputs not supported."}


# ---------------------------------------------------------------- elementwise
@pointwise(methods=False, refuses=FLOATS)
def squared_error(x, y):
    """(x - y)^2"""
    return (x - y) * (x - y)


@squared_error.derivative
def _(grad, x, y):
    slope = 2 * grad * (x - y)
    return slope, -slope


@pointwise(kind="real", methods=False, refuses=sub.op.refuses)
def absolute_error(x, y):
    """|x - y|"""
    return abs(x - y)


@absolute_error.derivative
def _(grad, x, y):
    slope = grad * sgn(x - y)
    return slope, -slope


@pointwise(kind="float", methods=False, refuses=FLOATS)
def smooth_absolute_error(x, y, *, beta=1.0):
    """(x - y)^2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2 (Girshick 2015)."""
    return where(abs(x - y) < beta, 0.5 * (x - y) * (x - y) / beta, abs(x - y) - 0.5 * beta)


@smooth_absolute_error.derivative
def _(grad, x, y, beta):
    slope = grad * where(abs(x - y) >= beta, sign(x - y), (x - y) / beta)       # NaN goes the second way, and stays
    return slope, -slope


@pointwise(kind="float", methods=False, refuses=FLOATS)
def huber_error(x, y, *, delta=1.0):
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2) (Huber 1964)."""
    return where(abs(x - y) < delta, 0.5 * (x - y) * (x - y), delta * (abs(x - y) - 0.5 * delta))


@huber_error.derivative
def _(grad, x, y, delta):
    slope = grad * where(abs(x - y) >= delta, delta * sign(x - y), x - y)
    return slope, -slope


@pointwise(kind="float", cost=12, methods=False, refuses=_FLOAT_TARGETS)
def binary_cross_entropy_terms(p, y):
    """-(y log p + (1 - y) log(1 - p)), with logarithms held above -100."""
    return -(y * clamp_low(log(p), -100) + (1 - y) * clamp_low(log1p(-p), -100))


@binary_cross_entropy_terms.derivative
def _(grad, p, y):
    return grad * binary_cross_entropy_slope(p, y), grad * (log1p(-p) - log(p))


@pointwise(kind="float", cost=4, methods=False, refuses=UNORDERED)
def binary_cross_entropy_slope(p, y):
    """(p - y) / (p (1 - p)), with the divisor held above 1e-12, which keeps the slope of certain and wrong ones finite."""
    return (p - y) / where(p * (1 - p) > 1e-12, p * (1 - p), 1e-12)


@binary_cross_entropy_slope.derivative
def _(grad, p, y):
    spread = (p + 1e-12) * (1 - p + 1e-12)               # PyTorch's double backward: held apart from 0, not clamped
    return (grad * (p * p - 2 * p * y + y) / (spread * spread), -grad / where(p * (1 - p) > 1e-12, p * (1 - p), 1e-12))


@pointwise(kind="float", cost=12, methods=False, refuses=_FLOAT_TARGETS)
def logistic_terms(x, y):
    """Binary cross entropy of sigmoid(x), exact for large |x|: max(x, 0) - x y + log(1 + exp(-|x|))."""
    return where(x > 0, x, 0) - x * y + log1p(exp(where(x > 0, -x, x)))


@logistic_terms.derivative
def _(grad, x, y):
    return grad * (sigmoid(x) - y), -grad * x


@pointwise(kind="float", cost=12, methods=False, refuses=_DIVERGENCE)
def divergence_terms(log_q, p):
    """p (log p - log q), and 0 where p is 0."""
    return where(p == 0, 0, p * (log(where(p == 0, 1, p)) - log_q))


@divergence_terms.derivative
def _(grad, log_q, p):
    return -grad * p, grad * where(p == 0, 0, log(where(p == 0, 1, p)) + 1 - log_q)


@pointwise(kind="float", cost=12, methods=False, refuses=_DIVERGENCE)
def log_divergence_terms(log_q, log_p):
    """exp(log p) (log p - log q)."""
    return exp(log_p) * (log_p - log_q)


@log_divergence_terms.derivative
def _(grad, log_q, log_p):
    return -grad * exp(log_p), grad * exp(log_p) * (log_p - log_q + 1)


@pointwise(kind="float", cost=6, methods=False, refuses=UNORDERED)
def soft_margin_terms(x, y):
    """log(1 + exp(-x y)), exact for large |x y|."""
    return where(x * y < 0, -x * y, 0) + log1p(exp(where(x * y < 0, x * y, -x * y)))


@soft_margin_terms.derivative
def _(grad, x, y):
    return -grad * y * sigmoid(-x * y), -grad * x * sigmoid(-x * y)


# ---------------------------------------------------------------- reduction
REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction):
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average, reduce, reduction="mean"):
    """`reduction` as it was spelt before 0.4: `size_average` and `reduce`."""
    if size_average is None and reduce is None:
        return reduction
    warnings.warn("size_average and reduce args will be deprecated, please use reduction instead.", stacklevel=3)
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def reduced(terms: Tensor, reduction: str) -> Tensor:
    """The mean or the sum of all terms, or the terms.

    Raises:
        ValueError: `reduction` is not one of "none", "mean" and "sum".
    """
    if reduction == "mean":
        return MEAN.run(terms)
    if reduction == "sum":
        return SUM.run(terms)
    check_reduction(reduction)
    return terms


def reduced_terms(function, x, y, reduction: str, weight=None, option=None) -> Tensor:
    """`reduced` of an elementwise op's terms, each times its weight. Without weights nothing but the result is written."""
    if weight is None and (reduction == "mean" or reduction == "sum"):
        return total(function, x, y, option, mean=reduction == "mean")
    terms = function(x, y) if option is None else function(x, y, option)
    return reduced(terms if weight is None else mul(terms, weight), reduction)


# ---------------------------------------------------------------- targets of the same shape
def expect_within(input, *others):
    """Raise RuntimeError where a loss's terms would not have its input's shape, since what is combined with it does not broadcast
    to that. Others that are no tensors are left out."""
    shape = input.layout.shape
    for other in others:
        if isinstance(other, Tensor) and other.layout.shape != shape:
            wider = broadcast_shapes(other.layout.shape, shape)
            if wider != shape:
                raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(wider)}")


def binary_cross_entropy(input, target, weight=None, reduction: str = "mean") -> Tensor:
    """-(y log p + (1 - y) log(1 - p)) of probabilities p (input) and y (target).

    Raises:
        ValueError: shapes differ.
        RuntimeError: an element of the input or of the target is outside [0, 1], or a weight that does not broadcast to it.
    """
    if layout_of("binary_cross_entropy", input).shape != layout_of("binary_cross_entropy", target, "target", 2).shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
                         f"Please ensure they have the same size.")
    for name, given in (("input", input), ("target", target)):
        check_probabilities(given, f"all elements of {name} should be between 0 and 1")
    expect_within(input, weight)
    return reduced_terms(binary_cross_entropy_terms, input, target, reduction, weight)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction: str = "mean", pos_weight=None) -> Tensor:
    """Binary cross entropy of sigmoid(input); `pos_weight` multiplies the terms of positive targets."""
    name = "binary_cross_entropy_with_logits"
    if layout_of(name, input).shape != layout_of(name, target, "target", 2).shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    expect_within(input, weight, pos_weight)
    if pos_weight is None:
        return reduced_terms(logistic_terms, input, target, reduction, weight)
    softened = logistic_terms(input, 1)                  # (1 - y) x + (1 + (p - 1) y) (log(1 + exp(-|x|)) + max(-x, 0))
    terms = (1 - target) * input + ((pos_weight - 1) * target + 1) * softened
    return reduced(terms if weight is None else mul(terms, weight), reduction)


def broadcast_pair(name, input, target):
    """Both at one shape, with PyTorch's warning that they had to be stretched. Raises TypeError where one is no tensor."""
    shapes = layout_of(name, input).shape, layout_of(name, target, "target", 2).shape
    warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
                  f"lead to "
                  f"incorrect results due to broadcasting. Please ensure they have the same size. ({name})", stacklevel=4)
    shape = broadcast_shapes(*shapes)
    return expand(input, shape), expand(target, shape)


def paired_loss(name, function, input, target, reduction: str, weight=None, option=None) -> Tensor:
    """`reduced_terms` of two operands that should have one shape."""
    try:
        differ = input.layout.shape != target.layout.shape
    except AttributeError:                               # `broadcast_pair` says of what
        differ = True
    if differ:
        input, target = broadcast_pair(name, input, target)
    return reduced_terms(function, input, target, reduction, weight, option)


def hinge_terms(input, target, margin):
    """x where the target is 1, max(0, margin - x) where it is -1, both where it is neither."""
    return where(comparison.ne(target, -1), input, 0) + where(comparison.ne(target, 1), clamp_low(sub(margin, input), 0), 0)

