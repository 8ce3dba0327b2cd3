"""Losses: elementwise ones as formulas, negative log likelihood, and cross entropy as one kernel.

Cross entropy of class indices keeps three numbers a row (maximum, 1 / sum of exponentials, weight) and exponentiates again in
backward, which costs less than writing and reading log-probabilities. Everything else is made of other ops.
"""
from __future__ import annotations

import warnings
from ctypes import c_int64

from ..autograd.graph import GraphNode, recording
from ..autograd.modes import modes
from ..dtypes import int64, uint8
from ..layout import Layout, broadcast_shapes
from ..tensor import Tensor, empty
from . import comparison, creation
from .activation import sigmoid
from .arithmetic import abs, clamp_low, div, mul, sign, sub, where
from .backends import kernels
from .copy import contiguous, register, to_dtype
from .elementary import exp, log, log1p
from .op import new_plan_table
from .pointwise import pointwise
from .reduce import MEAN, SUM
from .softmax import log_softmax, softmax
from .view import expand, movedim, reshape, unsqueeze


# ---------------------------------------------------------------- elementwise
@pointwise(methods=False)
def squared_error(x, y):
    """(x - y)^2"""
    return (x - y) * (x - y)


@squared_error.derivative
def _(grad, x, y):
    slope = 2 * grad * (x - y)
    return slope, -slope


@pointwise(methods=False)
def absolute_error(x, y):
    """|x - y|"""
    return abs(x - y)


@absolute_error.derivative
def _(grad, x, y):
    slope = grad * sign(x - y)
    return slope, -slope


@pointwise(kind="float", methods=False)
def smooth_absolute_error(x, y, *, beta=1.0):
    """(x - y)^2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2 (Girshick 2015)."""
    return where(abs(x - y) < beta, 0.5 * (x - y) * (x - y) / beta, abs(x - y) - 0.5 * beta)


@smooth_absolute_error.derivative
def _(grad, x, y, beta):
    slope = grad * where(abs(x - y) < beta, (x - y) / beta, sign(x - y))
    return slope, -slope


@pointwise(kind="float", methods=False)
def huber_error(x, y, *, delta=1.0):
    """(x - y)^2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2) (Huber 1964)."""
    return where(abs(x - y) < delta, 0.5 * (x - y) * (x - y), delta * (abs(x - y) - 0.5 * delta))


@huber_error.derivative
def _(grad, x, y, delta):
    slope = grad * where(abs(x - y) < delta, x - y, delta * sign(x - y))
    return slope, -slope


@pointwise(kind="float", cost=12, methods=False)
def binary_cross_entropy_terms(p, y):
    """-(y log p + (1 - y) log(1 - p)), with logarithms held above -100."""
    return -(y * clamp_low(log(p), -100) + (1 - y) * clamp_low(log1p(-p), -100))


@binary_cross_entropy_terms.derivative
def _(grad, p, y):
    spread = p * (1 - p)
    return grad * (p - y) / where(spread > 1e-12, spread, 1e-12), grad * (clamp_low(log1p(-p), -100) - clamp_low(log(p), -100))


@pointwise(kind="float", cost=12, methods=False)
def logistic_terms(x, y):
    """Binary cross entropy of sigmoid(x), exact for large |x|: max(x, 0) - x y + log(1 + exp(-|x|))."""
    return where(x > 0, x, 0) - x * y + log1p(exp(where(x > 0, -x, x)))


@logistic_terms.derivative
def _(grad, x, y):
    return grad * (sigmoid(x) - y), -grad * x


@pointwise(kind="float", cost=12, methods=False)
def divergence_terms(log_q, p):
    """p (log p - log q), and 0 where p is 0."""
    return where(p > 0, p * (log(where(p > 0, p, 1)) - log_q), 0)


@divergence_terms.derivative
def _(grad, log_q, p):
    return -grad * p, grad * where(p > 0, log(where(p > 0, p, 1)) + 1 - log_q, 0)


@pointwise(kind="float", cost=12, methods=False)
def log_divergence_terms(log_q, log_p):
    """exp(log p) (log p - log q)."""
    return exp(log_p) * (log_p - log_q)


@log_divergence_terms.derivative
def _(grad, log_q, log_p):
    return -grad * exp(log_p), grad * exp(log_p) * (log_p - log_q + 1)


@pointwise(kind="float", cost=6, methods=False)
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


# ---------------------------------------------------------------- classes
def _check_classes(name, input, target, weight, ignored):
    """Raise, as PyTorch words it, for shapes that do not go together."""
    shape, wanted = input.layout.shape, target.layout.shape
    if not shape:
        raise ValueError(f"{name}: Expected 1 or more dimensions (got 0)")
    if not input.layout.dtype.is_floating_point:
        raise RuntimeError(f"{name}: expected floating point scores, got {input.layout.dtype}")
    if target.layout.dtype.category != 1:
        raise RuntimeError(f"expected scalar type Long but found {target.layout.dtype.name.capitalize()} ({name}: class indices)")
    if len(shape) == 1 and wanted != ():
        raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(wanted)})")
    if len(shape) > 1 and shape[0] != (wanted[0] if wanted else None):
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({wanted[0] if wanted else 1}).")
    if len(shape) > 1 and shape[2:] != wanted[1:]:
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(wanted)}")
    classes = shape[0] if len(shape) == 1 else shape[1]
    if weight is not None and weight.layout.shape != (classes,):
        raise RuntimeError(f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
                           f"of "
                           f"shape: {list(weight.layout.shape)}")
    if weight is not None and weight.layout.dtype is not input.layout.dtype:
        raise RuntimeError(f"expected scalar type {input.layout.dtype.name.capitalize()} but found "
                           f"{weight.layout.dtype.name.capitalize()} ({name}: weight)")


def _class_dim(input):
    return 0 if input.layout.ndim == 1 else 1


def _picked(input, target, dim):
    """input[..., target, ...]: each position's own class."""
    found = input.gather(dim, unsqueeze(target, dim))
    return reshape(found, target.layout.shape)


def _class_weights(input, target, weight, ignored):
    """Each target's weight, 0 where it is ignored, and the targets with 0 in those places."""
    counted = comparison.ne(target, ignored)
    safe = where(counted, target, 0)
    weights = to_dtype(counted, input.layout.dtype)
    if weight is not None:
        own = weight.detach().index_select(0, reshape(safe, -1))
        weights = mul(weights, reshape(own, target.layout.shape))
    return weights, safe


def nll_loss(input, target, weight=None, ignore_index: int = -100, reduction: str = "mean") -> Tensor:
    """-weight[target] * input[target], for log-probabilities of shape (C), (N, C) or (N, C, ...) and class indices.

    The mean is over the targets' weights. Raises RuntimeError or ValueError for shapes that do not go together, IndexError
    for a class out of range.
    """
    check_reduction(reduction)
    _check_classes("nll_loss", input, target, weight, ignore_index)
    weights, safe = _class_weights(input, target, weight, ignore_index)
    _check_range(safe, input.layout.shape[_class_dim(input)])
    terms = where(comparison.eq(weights, 0), 0, mul(_picked(input, safe, _class_dim(input)), mul(weights, -1)))
    if reduction == "mean":
        return div(SUM.run(terms), SUM.run(weights))
    return reduced(terms, reduction)


def _check_range(target, classes):
    if not target.layout.numel:
        return
    low, high = target.min().item(), target.max().item()
    if low < 0 or high >= classes:
        raise IndexError(f"Target {low if low < 0 else high} is out of bounds.")


# ---------------------------------------------------------------- cross entropy
class _Plan:
    """The kernels of cross entropy for one combination of layouts.

    Memory for `status` (64 bytes), the saved numbers of each row, the divisor and the losses is one block: `scratch`.
    """

    __slots__ = ("forward", "total", "backward", "out", "scratch", "saved", "divisor", "losses", "mean", "reduction", "layout")

    def __init__(self, layout, weight, ignored, reduction):
        device, dtype = layout.device, layout.dtype
        rows, classes = layout.shape
        module = kernels(device, "crossentropy")
        wide = max(4, dtype.itemsize)
        self.saved = 64
        self.divisor = self.saved + -(-3 * rows * wide // 64) * 64
        self.losses = self.divisor + 64
        self.reduction, self.mean, self.layout = reduction, reduction == "mean", layout
        self.scratch = Layout.of(uint8, (self.losses + rows * dtype.itemsize,), None, device)
        self.out = Layout.of(dtype, (rows,) if reduction == "none" else (), None, device)
        self.forward = module.plan_cross_entropy(dtype.kernel, rows, classes, ignored)
        self.total = None if reduction == "none" else module.plan_cross_entropy_total(dtype.kernel, rows, self.mean)
        self.backward = module.plan_cross_entropy_grad(dtype.kernel, rows, classes, int(reduction == "none"))


_plans = new_plan_table()


def _fused(input, target, weight, ignored, reduction):
    """Cross entropy of (N, C) scores and N class indices. Forward runs one kernel a row and one for the total."""
    key = (input.layout, target.layout, None if weight is None else weight.layout, ignored, reduction)
    plan = _plans.get(key)
    if plan is None:
        check_reduction(reduction)
        _check_classes("cross_entropy", input, target, weight, ignored)
        plan = _plans.keep(key, _Plan(input.layout.dense(), weight, ignored, reduction))
    scores = input if input.layout.contiguous else contiguous(input.detach())
    if target.layout.dtype is not int64 or not target.layout.contiguous:
        target = contiguous(to_dtype(target, int64))
    if weight is not None and not weight.layout.contiguous:
        weight = contiguous(weight.detach())
    scratch, out = empty(plan.scratch), empty(plan.out)
    address = scratch.address
    status = c_int64.from_address(address)
    status.value = 0
    forward, total = plan.forward, plan.total
    forward.call(scores.address, target.address, 0 if weight is None else weight.address,
                 out.address if total is None else address + plan.losses, address + plan.saved, address, forward.walk)
    if status.value:
        raise IndexError(f"Target {reshape(target, -1)[status.value - 1].item()} is out of bounds.")
    if total is not None:
        total.call(address + plan.losses, address + plan.saved, out.address, address + plan.divisor, total.walk)
    if input.node is not None and modes.grad:
        out.node = GraphNode("cross_entropy", (input.node,), (input, target, scratch, weight), _cross_entropy_vjp, (plan, ignored))
    return out


def _cross_entropy_vjp(node, grad):
    input, target, scratch, weight = node.tensors()
    plan, ignored = node.constants
    if modes.grad and recording(input, grad):
        return (_composed_gradient(input, target, weight, ignored, plan, grad),)
    scores = input if input.layout.contiguous else contiguous(input.detach())
    if not grad.layout.contiguous:
        grad = contiguous(grad)
    out = empty(plan.layout)
    backward, address = plan.backward, scratch.address
    backward.call(scores.address, address + plan.saved, target.address, grad.address, address + plan.divisor if plan.mean else 0,
                  out.address, backward.walk)
    return (out,)


def _composed_gradient(input, target, weight, ignored, plan, grad):
    """The same gradient out of ops, for gradients of gradients: grad * weight / divisor * (softmax - onehot)."""
    weights, safe = _class_weights(input, target, weight, ignored)
    hit = comparison.eq(unsqueeze(safe, 1), creation.arange(input.layout.shape[1], device=input.layout.device))
    factor = mul(grad, div(weights, SUM.run(weights)) if plan.mean else weights)
    return mul(sub(softmax(input, 1), to_dtype(hit, input.layout.dtype)), unsqueeze(factor, 1))


def _probability_cross_entropy(input, target, weight, reduction, smoothing):
    """Cross entropy against probabilities of the input's own shape."""
    dim = _class_dim(input)
    if target.layout.shape != input.layout.shape:
        raise RuntimeError(f"cross_entropy: expected probabilities of the input's shape {list(input.layout.shape)}, got "
                           f"{list(target.layout.shape)}")
    classes = input.layout.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    terms = mul(log_softmax(input, dim), mul(target, -1))
    if weight is not None:
        terms = mul(terms, _along_classes(weight, input.layout.ndim))
    if reduction == "mean":
        return div(SUM.run(terms), terms.layout.numel // classes if classes else 0)
    return reduced(SUM.run(terms, dim), reduction)


def _along_classes(weight, ndim):
    return weight if ndim == 1 else reshape(weight, (-1,) + (1,) * (ndim - 2))


def _smoothed_cross_entropy(input, target, weight, ignored, reduction, smoothing):
    """(1 - s) * cross entropy + s * the mean over all classes (Szegedy et al. 2016)."""
    _check_classes("cross_entropy", input, target, weight, ignored)
    dim = _class_dim(input)
    logs = log_softmax(input, dim)
    weights, safe = _class_weights(input, target, weight, ignored)
    _check_range(safe, input.layout.shape[dim])
    own = mul(_picked(logs, safe, dim), mul(weights, -1))
    every = mul(SUM.run(logs if weight is None else mul(logs, _along_classes(weight, input.layout.ndim)), dim), -1)
    every = where(comparison.eq(target, ignored), 0, every)
    terms = own * (1 - smoothing) + every * (smoothing / input.layout.shape[dim])
    if reduction == "mean":
        return div(SUM.run(terms), SUM.run(weights))
    return reduced(terms, reduction)


@register
def cross_entropy(input, target, weight=None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log softmax(input)[target].

    Args:
        input: scores of shape (C), (N, C) or (N, C, ...).
        target: class indices of shape (), (N) or (N, ...), or probabilities of the input's shape.
        weight: a weight for each class, shape (C).
        ignore_index: targets with this index count for nothing.
        reduction: "mean" (over the targets' weights), "sum" or "none".
        label_smoothing: how much of each target is spread evenly over all classes, from 0 to 1.

    Raises:
        IndexError: a class out of range.
        RuntimeError, ValueError: shapes, dtypes or options that do not fit.
    """
    if target.layout.dtype.category >= 2:
        check_reduction(reduction)
        return _probability_cross_entropy(input, target, weight, reduction, label_smoothing)
    if label_smoothing:
        if not 0.0 <= label_smoothing <= 1.0:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
        check_reduction(reduction)
        return _smoothed_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    if input.layout.ndim == 2:
        return _fused(input, target, weight, ignore_index, reduction)
    _check_classes("cross_entropy", input, target, weight, ignore_index)
    shape = target.layout.shape
    rows = unsqueeze(input, 0) if input.layout.ndim == 1 else reshape(movedim(input, 1, -1), -1, input.layout.shape[1])
    out = _fused(rows, reshape(target, -1), weight, ignore_index, reduction)
    return reshape(out, shape) if reduction == "none" else out


# ---------------------------------------------------------------- targets of the same shape
def binary_cross_entropy(input, target, weight=None, reduction: str = "mean") -> Tensor:
    """-(y log p + (1 - y) log(1 - p)) of probabilities p (input) and y (target).

    Raises:
        ValueError: shapes differ.
        RuntimeError: an element of the input is outside [0, 1].
    """
    if input.layout.shape != target.layout.shape:
        raise ValueError(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
                         f"Please ensure they have the same size.")
    if input.layout.numel and (input.min().item() < 0 or input.max().item() > 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    terms = binary_cross_entropy_terms(input, target)
    return reduced(terms if weight is None else mul(terms, weight), reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction: str = "mean", pos_weight=None) -> Tensor:
    """Binary cross entropy of sigmoid(input); `pos_weight` multiplies the terms of positive targets."""
    if input.layout.shape != target.layout.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is None:
        terms = logistic_terms(input, target)
    else:                                                # (1 - y) x + (1 + (p - 1) y) (log(1 + exp(-|x|)) + max(-x, 0))
        softened = logistic_terms(input, 1)
        terms = (1 - target) * input + ((pos_weight - 1) * target + 1) * softened
    return reduced(terms if weight is None else mul(terms, weight), reduction)


def broadcast_pair(name, input, target):
    """Both at one shape, with PyTorch's warning where they had to be stretched."""
    if input.layout.shape == target.layout.shape:
        return input, target
    warnings.warn(f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
                  f"lead to "
                  f"incorrect results due to broadcasting. Please ensure they have the same size. ({name})", stacklevel=4)
    shape = broadcast_shapes(input.layout.shape, target.layout.shape)
    return expand(input, shape), expand(target, shape)


def hinge_terms(input, target, margin):
    """x where the target is 1, max(0, margin - x) where it is -1."""
    return where(comparison.eq(target, 1), input, 0) + where(comparison.eq(target, -1), clamp_low(sub(margin, input), 0), 0)

