"""SGD and Adam over all parameters in one call.

The parameters are rows of an int64 table of addresses whose place may change every step, and the hyper-parameters a
float64 array, so a plan depends only on the dtype and the sizes. Threads get equal numbers of elements: a part is a range
of rows, the first and last of which may be cut. The update rules are PyTorch's.
"""
from __future__ import annotations

from numpy import float32, float64, int64

from ..intrinsics import as_pointer, local_array, offset, sqrt
from ..pointers import element_type
from .elements import prepare_parts, same, shares, typed

T = W = float32                  # W: the stored word
load = store = same
GRAIN = 25_000


# walk: first row, stop row, first element of the first row, stop element of the last row.
def sgd(table, hyper, walk):
    """Row: param, grad, momentum buffer or 0, numel. hyper: lr, momentum, dampening, weight_decay, nesterov, maximize, first."""
    like = local_array(W, 1)
    lr = T(hyper[0])
    momentum = T(hyper[1])
    kept = T(1.0 - hyper[2])
    decay = T(hyper[3])
    nesterov = hyper[4] != 0.0
    sign = T(-1) if hyper[5] != 0.0 else T(1)
    if hyper[6] != 0.0:
        kept = T(1)                                      # the first step's buffer is the gradient itself
    for row in range(walk[0], walk[1]):
        entry = offset(table, 4 * row)
        start = walk[2] if row == walk[0] else int64(0)
        stop = walk[3] if row == walk[1] - 1 else entry[3]
        p = offset(as_pointer(entry[0], like), start)
        g = offset(as_pointer(entry[1], like), start)
        if entry[2] == 0:
            for i in range(stop - start):
                step = sign * load(g[i]) + decay * load(p[i])
                p[i] = store(load(p[i]) - lr * step)
        else:
            buffer = offset(as_pointer(entry[2], like), start)
            carried = T(0) if hyper[6] != 0.0 else momentum
            for i in range(stop - start):
                step = sign * load(g[i]) + decay * load(p[i])
                old = load(buffer[i])
                moved = kept * step + (T(0) if carried == T(0) else carried * old)
                buffer[i] = store(moved)
                if nesterov:
                    moved = step + momentum * moved
                p[i] = store(load(p[i]) - lr * moved)


def power(base, exponent):
    result = float64(1.0)
    while exponent > 0:
        if exponent % 2 == 1:
            result *= base
        base *= base
        exponent //= 2
    return result


def adam(table, hyper, walk):
    """Row: param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq or 0, numel.

    hyper: lr, beta1, beta2, eps, weight_decay, maximize, decoupled (AdamW), step (1 at the first).
    """
    like = local_array(W, 1)
    beta1 = T(hyper[1])
    beta2 = T(hyper[2])
    rest1 = T(1.0 - hyper[1])
    rest2 = T(1.0 - hyper[2])
    eps = T(hyper[3])
    steps = int64(hyper[7])
    step_size = T(hyper[0] / (1.0 - power(hyper[1], steps)))
    root = T(1.0 / sqrt(1.0 - power(hyper[2], steps)))
    sign = T(-1) if hyper[5] != 0.0 else T(1)
    decay = T(hyper[4])
    shrink = T(1)
    if hyper[6] != 0.0:
        shrink = T(1.0 - hyper[0] * hyper[4])
        decay = T(0)
    for row in range(walk[0], walk[1]):
        entry = offset(table, 6 * row)
        start = walk[2] if row == walk[0] else int64(0)
        stop = walk[3] if row == walk[1] - 1 else entry[5]
        p = offset(as_pointer(entry[0], like), start)
        g = offset(as_pointer(entry[1], like), start)
        m = offset(as_pointer(entry[2], like), start)
        v = offset(as_pointer(entry[3], like), start)
        if entry[4] == 0:
            for i in range(stop - start):
                old = load(p[i])
                grad = sign * load(g[i]) + decay * old
                average = beta1 * load(m[i]) + rest1 * grad
                square = beta2 * load(v[i]) + rest2 * grad * grad
                m[i] = store(average)
                v[i] = store(square)
                p[i] = store(old * shrink - step_size * average / (sqrt(square) * root + eps))
        else:
            largest = offset(as_pointer(entry[4], like), start)
            for i in range(stop - start):
                old = load(p[i])
                grad = sign * load(g[i]) + decay * old
                average = beta1 * load(m[i]) + rest1 * grad
                square = beta2 * load(v[i]) + rest2 * grad * grad
                m[i] = store(average)
                v[i] = store(square)
                top = load(largest[i])
                top = square if square > top or square != square else top
                largest[i] = store(top)
                p[i] = store(old * shrink - step_size * average / (sqrt(top) * root + eps))


# ---------------------------------------------------------------- planners
def _parts(numels):
    """(first row, stop row, first element, stop element) a thread, for equal numbers of elements."""
    total, rows = sum(numels), []
    for start, stop in shares(total, total, GRAIN, multiple=16):
        row, before = 0, 0
        while row < len(numels) - 1 and before + numels[row] <= start:
            before, row = before + numels[row], row + 1
        first, first_element = row, start - before
        while row < len(numels) - 1 and before + numels[row] < stop:
            before, row = before + numels[row], row + 1
        rows.append((first, row + 1, first_element, stop - before))
    return rows if numels else [(0, 0, 0, 0)]


def _plan(function, dtype, numels):
    kernel = typed(function, dtype, ("int64*", "float64*", "int64*"), W=element_type(dtype).type)
    rows = _parts(list(numels))
    return prepare_parts(kernel, rows, [(0, 0)] * len(rows), sum(numels))


def plan_sgd(dtype: str, numels):
    """One SGD step over contiguous parameters of `numels` elements.

    Addresses: table int64 (rows, 4) of param, grad, momentum buffer or 0, numel; hyper float64 (7) of lr, momentum,
    dampening, weight_decay, nesterov, maximize, first step (1 fills the momentum buffers without reading them).
    """
    return _plan(sgd, dtype, numels)


def plan_adam(dtype: str, numels):
    """One Adam or AdamW step over contiguous parameters of `numels` elements.

    Addresses: table int64 (rows, 6) of param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq (0 without amsgrad), numel; hyper
    float64 (8) of lr, beta1, beta2, eps, weight_decay, maximize, decoupled (AdamW), step (1 at the first).
    """
    return _plan(adam, dtype, numels)
