"""Cross entropy and negative log likelihood of contiguous (N, C, S) scores, S being the extent of all that follows the classes.

With q the target distribution (one class or given probabilities, smoothed, times the classes' weights) and m its sum:

    loss = m * log(sum(exp(x - shift))) - sum(q * (x - shift))            grad_x = grad * (m * softmax(x) - q)

A position keeps two numbers, its maximum and 1 / sum of exponentials, instead of C log-probabilities: the gradient exponentiates
again, which costs less than writing and reading them back. Without S the kernels run along rows, with it BLOCK_COLUMNS at a time.
Rows of up to 256 classes pass through a buffer, and logarithms are taken for 16 rows together, as in `softmax.py`.
Smoothing is Szegedy et al.'s (Rethinking the Inception architecture, 2016). Kernels for class indices are compiled with it or
without, which has half the loops: they are among the first that a classifier waits for.
"""
from __future__ import annotations

from numpy import float32, float64, int64

from ...elementtypes import itemsize, same
from ...intrinsics import float_of, local_array, offset, select
from ...vectormath import exp, log
from ..shared.elements import bits, image_shares, padded, part_offsets, prepare_parts, shares, typed, wide
from .softmax import (
    BLOCK_COLUMNS,
    GRAIN,
    SHORT,
    TOGETHER,
    columns_shift_and_total,
    exp_of_row,
    log_probability,
    padded_exp_sum,
    padded_row,
    row_exp_sum,
    row_maximum,
)

T = float32
W = float64
SMOOTHED = True
load = store = same

# the descriptor of class indices: N, C, the columns to do and all of S, ignore_index, number of the first position, whether there
# is a weight, smoothing; then a gradient's step (0: one number serves all), and whether there is a divisor
BATCH, CLASSES, EXTENT, PITCH, IGNORED, FIRST, WEIGHTED, SMOOTHING, GRAD_STEP, DIVIDED = range(10)
P_WEIGHTED, P_SMOOTHING, P_GRAD_STEP, P_DIVISOR = range(CLASSES + 1, CLASSES + 5)          # of probabilities, behind N and C
POSITIONS, BY_WEIGHT, DIVISOR = range(3)                 # of a total, by the sum of the weights or by DIVISOR


def class_weight(weight, c, weighted):
    factor = T(1)
    if weighted != 0:
        factor = load(weight[c])
    return factor


def total_weight(weight, n, weighted):
    """The sum of all classes' weights."""
    total = T(n)
    if weighted != 0:
        total = T(0)
        for c in range(n):
            total += load(weight[c])
    return total


def distance_sum(x, weight, n, shift, weighted):
    """The sum of weight * (shift - x)."""
    total = T(0)
    if weighted != 0:
        for c in range(n):
            total += load(weight[c]) * (shift - load(x[c]))
    else:
        for c in range(n):
            total += shift - load(x[c])
    return total


def row_total(x, n, buffer, saved):
    """The sum of exponentials below the row's maximum; `saved` gets the maximum and the reciprocal of the sum."""
    if n <= SHORT:
        shift = padded_row(x, buffer, n)
        total = padded_exp_sum(buffer, n, shift)
    else:
        shift = row_maximum(x, n)
        total = row_exp_sum(x, n, shift)
    saved[0] = shift
    saved[1] = T(1) / total
    return total


# ---------------------------------------------------------------- class indices
# saved is (N, 2, S)
def class_loss_rows(logits, target, weight, losses, weights, saved, status, descriptor):
    rows, n, ignored = descriptor[BATCH], descriptor[CLASSES], descriptor[IGNORED]
    weighted, smoothing = descriptor[WEIGHTED], T(float_of(descriptor[SMOOTHING]))
    everything = T(0)
    buffer = local_array(T, SHORT)
    log_total = local_array(T, TOGETHER)
    if SMOOTHED:
        everything = total_weight(weight, n, weighted)
    for first in range(0, rows, TOGETHER):
        count = min(rows - first, int64(TOGETHER))
        for r in range(padded(count)):
            log_total[r] = T(1)
        for r in range(count):
            t = target[first + r]
            if t != ignored and t >= 0 and t < n:
                log_total[r] = row_total(offset(logits, (first + r) * n), n, buffer, offset(saved, 2 * (first + r)))
        for r in range(padded(count)):
            log_total[r] = log(log_total[r])
        for r in range(count):
            row = first + r
            t = target[row]
            weights[row] = T(0)
            losses[row] = store(T(0))
            if t == ignored:
                continue
            if t < 0 or t >= n:
                status[0] = descriptor[FIRST] + row + 1
                continue
            a = offset(logits, row * n)
            shift = saved[2 * row]
            factor = class_weight(weight, t, weighted)
            weights[row] = factor
            loss = -factor * log_probability(load(a[t]), shift, log_total[r])
            if SMOOTHED:
                far = everything * log_total[r] + distance_sum(a, weight, n, shift, weighted)
                loss = loss * (T(1) - smoothing) + smoothing / T(n) * far
            losses[row] = store(loss)


def class_loss_grad_rows(logits, saved, target, weight, grad, divisor, grad_logits, descriptor):
    rows, n = descriptor[BATCH], descriptor[CLASSES]
    weighted, smoothing = descriptor[WEIGHTED], T(float_of(descriptor[SMOOTHING]))
    everything = T(0)
    buffer = local_array(T, SHORT)
    if SMOOTHED:
        everything = total_weight(weight, n, weighted)
    for row in range(rows):
        t = target[row]
        a = offset(logits, row * n)
        out = offset(grad_logits, row * n)
        if t == descriptor[IGNORED]:
            for i in range(n):
                out[i] = store(T(0))
            continue
        incoming = load(grad[row * descriptor[GRAD_STEP]])
        if descriptor[DIVIDED] != 0:
            incoming = incoming / divisor[0]
        own = incoming * class_weight(weight, t, weighted)
        shift = saved[2 * row]
        share = T(0)
        if SMOOTHED:
            own = own * (T(1) - smoothing)
            share = incoming * (smoothing / T(n))
        scale = saved[2 * row + 1] * (own + share * everything)
        if SMOOTHED and weighted != 0:
            for i in range(n):
                out[i] = store(exp(load(a[i]) - shift) * scale - share * load(weight[i]))
        elif n <= SHORT:
            exp_of_row(a, buffer, n, shift)
            for i in range(n):
                out[i] = store(buffer[i] * scale - share)
        else:
            for i in range(n):
                out[i] = store(exp(load(a[i]) - shift) * scale - share)
        out[t] = store(exp(load(a[t]) - shift) * scale - share * class_weight(weight, t, weighted) - own)


def class_loss_columns(logits, target, weight, losses, weights, saved, status, descriptor):
    n, size, weighted = descriptor[CLASSES], descriptor[EXTENT], descriptor[WEIGHTED]
    smoothing, step = T(float_of(descriptor[SMOOTHING])), descriptor[PITCH]
    shift = local_array(T, BLOCK_COLUMNS)
    total = local_array(T, BLOCK_COLUMNS)
    far = local_array(T, BLOCK_COLUMNS)
    everything = T(0)
    if SMOOTHED:
        everything = total_weight(weight, n, weighted)
    for image in range(descriptor[BATCH]):
        for first in range(0, size, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), size - first)
            place = image * step + first
            a = offset(logits, image * n * step + first)
            columns_shift_and_total(a, shift, total, n, width, step, int64(1))
            kept = offset(saved, 2 * image * step + first)
            for j in range(width):
                kept[j] = shift[j]
                far[j] = T(0)
            kept = offset(kept, step)
            for j in range(width):
                kept[j] = T(1) / total[j]
            for j in range(width):
                total[j] = log(total[j])
            if SMOOTHED:
                for c in range(n):
                    row = offset(a, c * step)
                    factor = class_weight(weight, c, weighted)
                    for j in range(width):
                        far[j] += factor * (shift[j] - load(row[j]))
            for j in range(width):
                t = target[place + j]
                weights[place + j] = T(0)
                losses[place + j] = store(T(0))
                if t == descriptor[IGNORED]:
                    continue
                if t < 0 or t >= n:
                    status[0] = descriptor[FIRST] + place + j + 1
                    continue
                factor = class_weight(weight, t, weighted)
                weights[place + j] = factor
                loss = -factor * log_probability(load(a[t * step + j]), shift[j], total[j])
                if SMOOTHED:
                    loss = loss * (T(1) - smoothing) + smoothing / T(n) * (everything * total[j] + far[j])
                losses[place + j] = store(loss)


def class_loss_grad_columns(logits, saved, target, weight, grad, divisor, grad_logits, descriptor):
    n, size, weighted = descriptor[CLASSES], descriptor[EXTENT], descriptor[WEIGHTED]
    smoothing, step = T(float_of(descriptor[SMOOTHING])), descriptor[PITCH]
    own = local_array(T, BLOCK_COLUMNS)
    scale = local_array(T, BLOCK_COLUMNS)
    share = local_array(T, BLOCK_COLUMNS)
    shift = local_array(T, BLOCK_COLUMNS)
    spread = smoothing / T(n)
    everything = total_weight(weight, n, weighted)
    for image in range(descriptor[BATCH]):
        for first in range(0, size, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), size - first)
            place = image * step + first
            base = image * n * step + first
            kept = offset(saved, 2 * image * step + first)
            for j in range(width):
                t = target[place + j]
                shift[j] = kept[j]
                own[j] = T(0)
                share[j] = T(0)
                scale[j] = T(0)
                if t != descriptor[IGNORED]:
                    incoming = load(grad[(place + j) * descriptor[GRAD_STEP]])
                    if descriptor[DIVIDED] != 0:
                        incoming = incoming / divisor[0]
                    own[j] = incoming * class_weight(weight, t, weighted) * (T(1) - smoothing)
                    share[j] = incoming * spread
                    scale[j] = kept[step + j] * (own[j] + share[j] * everything)
            for c in range(n):
                row = offset(logits, base + c * step)
                out = offset(grad_logits, base + c * step)
                factor = class_weight(weight, c, weighted)
                for j in range(width):
                    out[j] = store(exp(load(row[j]) - shift[j]) * scale[j] - share[j] * factor)
            for j in range(width):
                t = target[place + j]
                if t != descriptor[IGNORED]:
                    at = base + t * step + j
                    spared = share[j] * class_weight(weight, t, weighted) + own[j]
                    grad_logits[at] = store(exp(load(logits[at]) - shift[j]) * scale[j] - spared)


# ---------------------------------------------------------------- probabilities, along rows
def probability_loss_rows(logits, target, weight, losses, saved, descriptor):
    """saved: the maximum, 1 / sum of exponentials, and the sum of q."""
    n, smoothing = descriptor[CLASSES], T(float_of(descriptor[P_SMOOTHING]))
    keep = T(1) - smoothing
    spread = smoothing / T(n)
    buffer = local_array(T, SHORT)
    for row in range(descriptor[BATCH]):
        a = offset(logits, row * n)
        p = offset(target, row * n)
        total = row_total(a, n, buffer, offset(saved, 3 * row))
        shift = saved[3 * row]
        mass = T(0)
        far = T(0)
        if descriptor[P_WEIGHTED] != 0:
            for c in range(n):
                q = (load(p[c]) * keep + spread) * load(weight[c])
                mass += q
                far += q * (shift - load(a[c]))
        else:
            for c in range(n):
                q = load(p[c]) * keep + spread
                mass += q
                far += q * (shift - load(a[c]))
        saved[3 * row + 2] = mass
        losses[row] = store(mass * log(total) + far)


def probability_loss_grad_rows(logits, saved, target, weight, grad, grad_logits, descriptor):
    n, smoothing = descriptor[CLASSES], T(float_of(descriptor[P_SMOOTHING]))
    share = T(W(1) / float_of(descriptor[P_DIVISOR]))
    for row in range(descriptor[BATCH]):
        a = offset(logits, row * n)
        p = offset(target, row * n)
        out = offset(grad_logits, row * n)
        incoming = load(grad[row * descriptor[P_GRAD_STEP]]) * share
        shift = saved[3 * row]
        scale = saved[3 * row + 1] * saved[3 * row + 2] * incoming
        keep = incoming * (T(1) - smoothing)
        spread = incoming * smoothing / T(n)
        if descriptor[P_WEIGHTED] != 0:
            for c in range(n):
                out[c] = store(exp(load(a[c]) - shift) * scale - (load(p[c]) * keep + spread) * load(weight[c]))
        else:
            for c in range(n):
                out[c] = store(exp(load(a[c]) - shift) * scale - (load(p[c]) * keep + spread))


# ---------------------------------------------------------------- negative log likelihood
def pick_losses(x, target, weight, losses, weights, count, n, step, class_step, ignored, weighted):
    """losses[i] = -weight[t] * x[i * step + t * class_step] without a branch, so that it is gathered by vectors.

    Returns the first position whose target is wrong, or `count`.
    """
    wrong = count
    for i in range(count):
        t = target[i]
        skipped = t == ignored
        inside = (t >= 0) & (t < n) & (not skipped)
        safe = select(inside, t, int64(0))
        factor = T(1)
        if weighted != 0:
            factor = load(weight[safe])
        weights[i] = select(inside, factor, T(0))
        losses[i] = store(select(inside, -factor * load(x[i * step + safe * class_step]), T(0)))
        wrong = min(wrong, select(inside | skipped, count, int64(i)))
    return wrong


def likelihood_losses(x, target, weight, losses, weights, status, descriptor):
    """losses = -weight[t] * x[t]. The descriptor of class indices."""
    images, n, size = descriptor[BATCH], descriptor[CLASSES], descriptor[EXTENT]
    count, step, class_step = size, int64(1), size
    if size == 1:
        count, step, class_step, images = images, n, int64(1), int64(1)
    if n == 0:
        status[0] = int64(images * count > 0)
        return
    for image in range(images):
        place = image * size
        wrong = pick_losses(offset(x, image * n * size), offset(target, place), weight, offset(losses, place),
                            offset(weights, place), count, n, step, class_step, descriptor[IGNORED], descriptor[WEIGHTED])
        if wrong < count and status[0] == 0:
            status[0] = place + wrong + 1


def likelihood_grad(target, weight, grad, divisor, grad_x, descriptor):
    n, size = descriptor[CLASSES], descriptor[EXTENT]
    for image in range(descriptor[BATCH]):
        out = offset(grad_x, image * n * size)
        for i in range(n * size):
            out[i] = store(T(0))
        for j in range(size):
            t = target[image * size + j]
            if t != descriptor[IGNORED]:
                slope = -load(grad[(image * size + j) * descriptor[GRAD_STEP]]) * class_weight(weight, t, descriptor[WEIGHTED])
                if descriptor[DIVIDED] != 0:
                    slope = slope / divisor[0]
                out[t * size + j] = store(slope)


def loss_total(losses, weights, total, divisor, descriptor):
    """total = sum(losses) / divisor."""
    loss = W(0)
    weight = W(0)
    for i in range(descriptor[POSITIONS]):
        loss += W(load(losses[i]))
    if descriptor[BY_WEIGHT] != 0:
        for i in range(descriptor[POSITIONS]):
            weight += W(weights[i])
    else:
        weight = float_of(descriptor[DIVISOR])
    divisor[0] = T(weight)
    total[0] = store(T(loss / weight))


# ---------------------------------------------------------------- planners
def _class_descriptor(part, classes, size, ignored, weighted, smoothing, *of_gradient):
    image, images, column, columns = part
    return (images, classes, columns, size, ignored, image * size + column, int(weighted), bits(smoothing), *map(int, of_gradient))


def plan_class_loss(dtype: str, batch: int, classes: int, size: int, ignored: int, weighted: bool, smoothing: float):
    """Cross entropy with class indices, a loss for each position: -weight[t] * log_softmax(logits)[t], of which a share `smoothing`
    is the mean over all classes instead (label smoothing). Positions whose target is `ignored` have loss and weight 0.

    Addresses: logits (N, C, S), target (N, S) int64, weight (C) if `weighted`, losses (N, S), weights (N, S) and saved (N, 2, S) of
    the compute type, status int64. A target outside [0, C) that is not `ignored` is never used as an index; 1 + its position goes
    to `status`, which the caller has set to 0.

    Args:
        batch, classes, size: N, C and S.
    """
    signature = ("element*", "int64*", "element*", "element*", "compute*", "compute*", "int64*", "int64*")
    kernel = typed(class_loss_rows if size == 1 else class_loss_columns, dtype, signature, SMOOTHED=smoothing != 0)
    work, itself, own = batch * classes * size, itemsize(dtype), wide(dtype)
    rows, offsets = [], []
    for part in image_shares(batch, size, work, GRAIN):
        image, _, column, _ = part
        rows.append(_class_descriptor(part, classes, size, ignored, weighted, smoothing))
        position = image * size + column
        offsets.append(((image * classes * size + column) * itself, position * 8, 0, position * itself, position * own,
                        (2 * image * size + column) * own, 0))
    return prepare_parts(kernel, rows, work, offsets)


def plan_class_loss_grad(dtype: str, batch: int, classes: int, size: int, ignored: int, weighted: bool, smoothing: float,
                         each: bool, divided: bool):
    """Gradient of cross entropy with class indices. The forward call must have left its status at 0.

    Addresses: logits, saved and target as in the forward call, weight if `weighted`, grad (N, S) where `each` position has its own,
    else one number, divisor (of the gradient, read where `divided`), grad_logits (N, C, S).

    Args:
        batch, classes, size, ignored, smoothing: as the forward call's.
    """
    signature = ("element*", "compute*", "int64*", "element*", "element*", "compute*", "element*", "int64*")
    kernel = typed(class_loss_grad_rows if size == 1 else class_loss_grad_columns, dtype, signature, SMOOTHED=smoothing != 0)
    work, itself, own = batch * classes * size, itemsize(dtype), wide(dtype)
    rows, offsets = [], []
    for part in image_shares(batch, size, work, GRAIN):
        image, _, column, _ = part
        rows.append(_class_descriptor(part, classes, size, ignored, weighted, smoothing, each, divided))
        position, scores = image * size + column, (image * classes * size + column) * itself
        offsets.append((scores, (2 * image * size + column) * own, position * 8, 0, position * itself * each, 0, scores))
    return prepare_parts(kernel, rows, work, offsets)


def plan_probability_loss(dtype: str, rows: int, classes: int, weighted: bool, smoothing: float):
    """Cross entropy against probabilities, -sum(target * weight * log_softmax(logits)), the targets mixed with 1 / C by
    `smoothing`.

    Addresses: logits and target (N, C), weight (C) if `weighted`, losses (N), saved (N, 3) of the compute type.

    Args:
        rows, classes: N and C.
    """
    kernel = typed(probability_loss_rows, dtype, ("element*",) * 4 + ("compute*", "int64*"))
    work, itself = rows * classes, itemsize(dtype)
    parts = shares(rows, work, GRAIN)
    descriptors = [(stop - start, classes, int(weighted), bits(smoothing)) for start, stop in parts]
    offsets = part_offsets(parts, classes * itself, classes * itself, 0, itself, 3 * wide(dtype))
    return prepare_parts(kernel, descriptors, work, offsets)


def plan_probability_loss_grad(dtype: str, rows: int, classes: int, weighted: bool, smoothing: float, each: bool,
                               divisor: float):
    """Its gradient, divided by `divisor`.

    Addresses: logits, saved and target as in the forward call, weight if `weighted`, grad (N, or one number where not `each`),
    grad_logits (N, C).

    Args:
        rows, classes, smoothing: as the forward call's.
    """
    kernel = typed(probability_loss_grad_rows, dtype, ("element*", "compute*") + ("element*",) * 4 + ("int64*",))
    work, itself = rows * classes, itemsize(dtype)
    parts = shares(rows, work, GRAIN)
    descriptors = [(stop - start, classes, int(weighted), bits(smoothing), int(each), bits(divisor)) for start, stop in parts]
    offsets = part_offsets(parts, classes * itself, 3 * wide(dtype), classes * itself, 0, itself * each, classes * itself)
    return prepare_parts(kernel, descriptors, work, offsets)


def plan_likelihood_loss(dtype: str, batch: int, classes: int, size: int, ignored: int, weighted: bool):
    """Negative log likelihood, -weight[t] * x[t] for each position; ignored and bad targets are treated as by `plan_class_loss`.

    Addresses: log-probabilities x, target, weight, losses, weights, status as there.

    Args:
        batch, classes, size, ignored, weighted: as there.
    """
    kernel = typed(likelihood_losses, dtype, ("element*", "int64*", "element*", "element*", "compute*", "int64*", "int64*"))
    descriptor = _class_descriptor((0, batch, 0, size), classes, size, ignored, weighted, 0.0)
    return prepare_parts(kernel, [descriptor], batch * size)


def plan_likelihood_grad(dtype: str, batch: int, classes: int, size: int, ignored: int, weighted: bool, each: bool, divided: bool):
    """Its gradient.

    Addresses: target, weight if `weighted`, grad (N, S where `each` position has its own, else one number), divisor (read where
    `divided`), grad_x (N, C, S), which is written whole.

    Args:
        batch, classes, size, ignored: as the forward call's.
    """
    kernel = typed(likelihood_grad, dtype, ("int64*", "element*", "element*", "compute*", "element*", "int64*"))
    work, itself = batch * classes * size, itemsize(dtype)
    rows, offsets = [], []
    for start, stop in shares(batch, work, 8 * GRAIN):
        part = (start, stop - start, 0, size)
        rows.append(_class_descriptor(part, classes, size, ignored, weighted, 0.0, each, divided))
        offsets.append((start * size * 8, 0, start * size * itself * each, 0, start * classes * size * itself))
    return prepare_parts(kernel, rows, work, offsets)


def plan_loss_total(dtype: str, positions: int, weighted: bool, divisor: float = 1.0):
    """The sum of the losses of so many positions over the sum of the targets' weights, or over `divisor`. The mean of nothing is
    NaN.

    Addresses: losses, weights of the compute type (read where `weighted`), total (1), divisor (1) of the compute type.
    """
    kernel = typed(loss_total, dtype, ("element*", "compute*", "element*", "compute*", "int64*"))
    return prepare_parts(kernel, [(positions, int(weighted), bits(divisor))], positions)
