"""Cross entropy of class indices, forward and backward, over the rows of contiguous (N, C) scores.

A row keeps two numbers, its maximum and 1 / sum of exponentials, instead of C log-probabilities: the gradient exponentiates
again, which costs less than writing and reading them back.
"""
from __future__ import annotations

from numpy import float32

from ..intrinsics import address_of, offset
from ..vectormath import exp, log
from .elements import itemsize, prepare_parts, same, shares, typed
from .softmax import GRAIN, log_probability, row_exp_sum, row_maximum

T = float32
load = store = same


# ---------------------------------------------------------------- cross entropy
def cross_entropy_rows(logits, target, weight, losses, saved, status, walk):
    """losses[i] = weight[t] * (log(sum(exp(logits[i]))) - logits[i, t]); saved[i] = maximum, 1 / sum, weight.

    walk: rows, classes, ignore_index, number of the first row.
    """
    rows, n, ignored, first = walk[0], walk[1], walk[2], walk[3]
    weighted = address_of(weight) != 0
    for row in range(rows):
        t = target[row]
        keep = offset(saved, 3 * row)
        keep[0] = T(0)
        keep[1] = T(0)
        keep[2] = T(0)
        losses[row] = store(T(0))
        if t == ignored:
            continue
        if t < 0 or t >= n:
            status[0] = first + row + 1
            continue
        a = offset(logits, row * n)
        shift = row_maximum(a, n)
        total = row_exp_sum(a, n, shift)
        factor = T(1)
        if weighted:
            factor = load(weight[t])
        keep[0] = shift
        keep[1] = T(1) / total
        keep[2] = factor
        losses[row] = store(-factor * log_probability(load(a[t]), shift, log(total)))


def cross_entropy_total(losses, saved, total, weights, walk):
    """total = sum(losses) / sum(weights) (mean) or sum(losses); weights = what it was divided by. walk: rows, mean."""
    loss = 0.0
    weight = 0.0
    for row in range(walk[0]):
        loss += load(losses[row])
        weight += saved[3 * row + 2]
    if walk[1] == 0:
        weight = 1.0
    weights[0] = T(weight)
    total[0] = store(T(loss / weight))


def cross_entropy_grad_rows(logits, saved, target, grad, weights, grad_logits, walk):
    """grad_logits[i] = grad[i] * weight / divisor * (softmax(logits[i]) - onehot(target[i])).

    walk: rows, classes, step of grad (0 where one number serves every row).
    """
    rows, n, grad_step = walk[0], walk[1], walk[2]
    divided = address_of(weights) != 0
    for row in range(rows):
        keep = offset(saved, 3 * row)
        a = offset(logits, row * n)
        out = offset(grad_logits, row * n)
        if keep[1] == T(0) and keep[2] == T(0):          # an ignored row
            for i in range(n):
                out[i] = store(T(0))
            continue
        factor = load(grad[row * grad_step]) * keep[2]
        if divided:
            factor = factor / weights[0]
        shift = keep[0]
        scale = keep[1] * factor
        for i in range(n):
            out[i] = store(exp(load(a[i]) - shift) * scale)
        t = target[row]
        out[t] = store(exp(load(a[t]) - shift) * scale - factor)


def plan_cross_entropy(dtype: str, N: int, C: int, ignore_index: int = -100):
    """Cross entropy of contiguous (N, C) logits with class indices, a loss a row.

    Addresses: logits (N, C), target (N) int64, weight (C) or 0, losses (N), saved (N, 3) of the compute type, status int64.
    A target outside [0, C) that is not `ignore_index` is never used as an index; 1 + its position goes to `status`,
    which the caller has set to 0.
    """
    signature = ("element*", "int64*", "element*", "element*", "compute*", "int64*", "int64*")
    kernel = typed(cross_entropy_rows, dtype, signature)
    parts = shares(N, N * C, GRAIN)
    size, wide = itemsize(dtype), max(4, itemsize(dtype))
    rows = [(stop - start, C, ignore_index, start) for start, stop in parts]
    offsets = [(start * C * size, start * 8, 0, start * size, start * 3 * wide, 0) for start, _ in parts]
    return prepare_parts(kernel, rows, offsets, N * C)


def plan_cross_entropy_total(dtype: str, N: int, mean: bool):
    """The mean (divided by the targets' weights) or the sum of the losses.

    Addresses: losses (N), saved (N, 3), total (1), divisor (1) of the compute type. The mean of nothing is NaN.
    """
    kernel = typed(cross_entropy_total, dtype, ("element*", "compute*", "element*", "compute*", "int64*"))
    return prepare_parts(kernel, [(N, int(mean))], None, N)


def plan_cross_entropy_grad(dtype: str, N: int, C: int, grad_stride: int):
    """Gradient of cross entropy with respect to the logits.

    Addresses: logits, saved and target as in the forward call, grad (N, or one number with `grad_stride` 0), divisor
    from `plan_cross_entropy_total` or 0, grad_logits (N, C). The forward call must have left its status at 0.
    """
    signature = ("element*", "compute*", "int64*", "element*", "compute*", "element*", "int64*")
    kernel = typed(cross_entropy_grad_rows, dtype, signature)
    parts = shares(N, N * C, GRAIN)
    size, wide = itemsize(dtype), max(4, itemsize(dtype))
    rows = [(stop - start, C, grad_stride) for start, stop in parts]
    offsets = [(start * C * size, start * 3 * wide, start * 8, start * grad_stride * size, 0, start * C * size)
               for start, _ in parts]
    return prepare_parts(kernel, rows, offsets, N * C)
