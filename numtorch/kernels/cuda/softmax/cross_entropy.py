"""Losses of classes and of probabilities on a GPU. Forward: lines along the classes, each with some threads, as softmax has them.
Backward and what only picks elements: a thread an element.

Descriptors and addresses are the host's (kernels/cpu/softmax/cross_entropy.py), and so are the formulas. Of several bad targets any
may be the one that is reported.
"""
from __future__ import annotations

import functools

from numpy import float32, int32, int64

from ...cpu.softmax import cross_entropy as host
from ...cpu.softmax.cross_entropy import (
    BATCH,
    BY_WEIGHT,
    CLASSES,
    DIVIDED,
    DIVISOR,
    EXTENT,
    GRAD_STEP,
    IGNORED,
    P_DIVISOR,
    P_GRAD_STEP,
    P_SMOOTHING,
    P_WEIGHTED,
    POSITIONS,
    SMOOTHING,
    WEIGHTED,
    class_weight,
)
from ...cpu.softmax.softmax import log_probability
from ...elementtypes import same
from ...intrinsics import local_like, offset
from ...vectormath import exp, log
from ..compiler import cuda
from ..environment import THREADS
from ..parallel import Form, in_parallel
from ..shared.lines import LOADS, WIDTH, WORDS, aligned, begin_of, joined, lanes_for, put, scalar, streamed
from .softmax import fetch_some, shift_and_total

T, INT = float32, int32
load = store = same
LANES = 1


def weights_of_share(weight, n, weighted, lane):
    """The sum of the classes' weights that a thread of a line has."""
    total = T(0)
    for c in range(lane, n, LANES):
        total += class_weight(weight, c, weighted)
    return total


def class_loss_lines(logits, target, weight, losses, weights, saved, status, descriptor):
    cells = cuda.shared.array(THREADS, T)
    inner, n, ignored = descriptor[EXTENT], descriptor[CLASSES], descriptor[IGNORED]
    weighted, smoothing = descriptor[WEIGHTED], scalar(descriptor, SMOOTHING)
    lines = descriptor[BATCH] * inner
    spread = smoothing / T(n)
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    everything = T(0)
    if smoothing != T(0):
        everything = joined(cells, weights_of_share(weight, n, weighted, lane), me, lane)
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < lines:
        line = first + me // LANES
        present = line < lines
        a = offset(logits, begin_of(min(line, lines - 1), n, inner))
        shift, total = shift_and_total(a, cells, present, n, inner, me, lane)
        far = T(0)
        if smoothing != T(0):
            if present:
                for c in range(lane, n, LANES):
                    far += class_weight(weight, c, weighted) * (shift - load(a[c * inner]))
            far = joined(cells, far, me, lane)
        if present and lane == 0:
            t = target[line]
            factor, loss = T(0), T(0)
            if t != ignored:
                if t < 0 or t >= n:
                    status[0] = line + 1
                else:
                    image = line // inner
                    kept = offset(saved, 2 * image * inner + (line - image * inner))
                    kept[0] = shift
                    kept[inner] = T(1) / total
                    factor = class_weight(weight, t, weighted)
                    loss = -factor * log_probability(load(a[t * inner]), shift, log(total))
                    if smoothing != T(0):
                        loss = loss * (T(1) - smoothing) + spread * (everything * log(total) + far)
            weights[line] = factor
            losses[line] = store(loss)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def class_loss_grad_elements(logits, saved, target, weight, grad, divisor, grad_logits, descriptor):
    cells = cuda.shared.array(THREADS, T)
    inner, n = descriptor[EXTENT], descriptor[CLASSES]
    weighted, smoothing = descriptor[WEIGHTED], scalar(descriptor, SMOOTHING)
    spread = smoothing / T(n)
    me = int64(cuda.threadIdx.x)
    everything = T(n)
    if smoothing != T(0) and weighted != 0:
        everything = joined(cells, weights_of_share(weight, n, weighted, me), me, me)
    e = int64(cuda.blockIdx.x) * THREADS + me
    while e < descriptor[BATCH] * n * inner:
        row = e // inner
        image = row // n
        c, j = row - image * n, e - row * inner
        t = target[image * inner + j]
        result = T(0)
        if t != descriptor[IGNORED]:
            incoming = load(grad[(image * inner + j) * descriptor[GRAD_STEP]])
            if descriptor[DIVIDED] != 0:
                incoming = incoming / divisor[0]
            kept = offset(saved, 2 * image * inner + j)
            own = incoming * class_weight(weight, t, weighted) * (T(1) - smoothing)
            scale = kept[inner] * (own + incoming * spread * everything)
            result = exp(load(logits[e]) - kept[0]) * scale
            if smoothing != T(0):
                result -= incoming * spread * class_weight(weight, c, weighted)
            if c == t:
                result -= own
        grad_logits[e] = store(result)
        e += int64(cuda.gridDim.x) * THREADS


def class_loss_grad_lines(logits, saved, target, weight, grad, divisor, grad_logits, descriptor):
    """The same of classes that are side by side: a line has some threads, who find out once what it is multiplied by."""
    cells = cuda.shared.array(THREADS, T)
    lines, n = descriptor[BATCH], descriptor[CLASSES]
    weighted, smoothing = descriptor[WEIGHTED], scalar(descriptor, SMOOTHING)
    spread = smoothing / T(n)
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    everything = T(n)
    if smoothing != T(0) and weighted != 0:
        everything = joined(cells, weights_of_share(weight, n, weighted, lane), me, lane)
    words, results = local_like(logits, WORDS), local_like(grad_logits, WIDTH)
    line = int64(cuda.blockIdx.x) * (THREADS // LANES) + me // LANES
    while line < lines:
        a, b, t = offset(logits, line * n), offset(grad_logits, line * n), target[line]
        incoming, scale, own, shift = T(0), T(0), T(0), T(0)
        if t != descriptor[IGNORED]:
            incoming = load(grad[line * descriptor[GRAD_STEP]])
            if descriptor[DIVIDED] != 0:
                incoming = incoming / divisor[0]
            own = incoming * class_weight(weight, t, weighted) * (T(1) - smoothing)
            shift, scale = saved[2 * line], saved[2 * line + 1] * (own + incoming * spread * everything)
        v, vectors, whole = lane, n // WIDTH, aligned(a) and aligned(b)
        while v < vectors:
            fetch_some(words, a, v, vectors, 1, whole)
            for k in range(LOADS):
                if v < vectors:
                    for j in range(WIDTH):
                        c, result = v * WIDTH + j, T(0)
                        if t != descriptor[IGNORED]:
                            result = exp(load(words[k * WIDTH + j]) - shift) * scale
                            if smoothing != T(0):
                                result -= incoming * spread * class_weight(weight, c, weighted)
                            if c == t:
                                result -= own
                        results[j] = store(result)
                    put(results, offset(b, v * WIDTH), whole)
                v += LANES
        line += int64(cuda.gridDim.x) * (THREADS // LANES)


# ---------------------------------------------------------------- probabilities
def probability_loss_lines(logits, target, weight, losses, saved, descriptor):
    cells = cuda.shared.array(THREADS, T)
    rows, n = descriptor[BATCH], descriptor[CLASSES]
    weighted, smoothing = descriptor[P_WEIGHTED], scalar(descriptor, P_SMOOTHING)
    keep = T(1) - smoothing
    spread = smoothing / T(n)
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < rows:
        row = first + me // LANES
        place = min(row, rows - 1) * n
        a, p = offset(logits, place), offset(target, place)
        shift, total = shift_and_total(a, cells, row < rows, n, 1, me, lane)
        mass, far = T(0), T(0)
        if row < rows:
            for c in range(lane, n, LANES):
                q = (load(p[c]) * keep + spread) * class_weight(weight, c, weighted)
                mass += q
                far += q * (shift - load(a[c]))
        mass = joined(cells, mass, me, lane)
        far = joined(cells, far, me, lane)
        if row < rows and lane == 0:
            saved[3 * row] = shift
            saved[3 * row + 1] = T(1) / total
            saved[3 * row + 2] = mass
            losses[row] = store(mass * log(total) + far)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def probability_loss_grad_elements(logits, saved, target, weight, grad, grad_logits, descriptor):
    n, smoothing, divisor = descriptor[CLASSES], scalar(descriptor, P_SMOOTHING), scalar(descriptor, P_DIVISOR)
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[BATCH] * n:
        row = e // n
        incoming = load(grad[row * descriptor[P_GRAD_STEP]]) / divisor
        q = (load(target[e]) * (T(1) - smoothing) + smoothing / T(n)) * class_weight(weight, e - row * n, descriptor[P_WEIGHTED])
        share = exp(load(logits[e]) - saved[3 * row]) * saved[3 * row + 1]
        grad_logits[e] = store(incoming * (share * saved[3 * row + 2] - q))
        e += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- negative log likelihood
def likelihood_loss_elements(x, target, weight, losses, weights, status, descriptor):
    inner, n = descriptor[EXTENT], descriptor[CLASSES]
    line = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while line < descriptor[BATCH] * inner:
        t = target[line]
        factor, loss = T(0), T(0)
        if t != descriptor[IGNORED]:
            if t < 0 or t >= n:
                status[0] = line + 1
            else:
                factor = class_weight(weight, t, descriptor[WEIGHTED])
                loss = -factor * load(x[begin_of(line, n, inner) + t * inner])
        weights[line] = factor
        losses[line] = store(loss)
        line += int64(cuda.gridDim.x) * THREADS


def likelihood_grad_elements(target, weight, grad, divisor, grad_x, descriptor):
    inner, n = descriptor[EXTENT], descriptor[CLASSES]
    e = int64(cuda.blockIdx.x) * THREADS + cuda.threadIdx.x
    while e < descriptor[BATCH] * n * inner:
        row = e // inner
        image = row // n
        c, line = row - image * n, image * inner + (e - row * inner)
        t = target[line]
        slope = T(0)
        if t == c and t != descriptor[IGNORED]:
            slope = -load(grad[line * descriptor[GRAD_STEP]]) * class_weight(weight, t, descriptor[WEIGHTED])
            if descriptor[DIVIDED] != 0:
                slope = slope / divisor[0]
        grad_x[e] = store(slope)
        e += int64(cuda.gridDim.x) * THREADS


def loss_total_block(losses, weights, total, divisor, descriptor):
    cells = cuda.shared.array(THREADS, T)
    me = int64(cuda.threadIdx.x)
    loss, weight = T(0), T(0)
    for i in range(me, descriptor[POSITIONS], THREADS):
        loss += load(losses[i])
    loss = joined(cells, loss, me, me)
    if descriptor[BY_WEIGHT] != 0:
        for i in range(me, descriptor[POSITIONS], THREADS):
            weight += weights[i]
        weight = joined(cells, weight, me, me)
    else:
        weight = scalar(descriptor, DIVISOR)
    if me == 0:
        divisor[0] = weight
        total[0] = store(loss / weight)


# ---------------------------------------------------------------- planners
def _whole_block(row, bound):
    return dict(LANES=THREADS)


def _line_threads(row):
    return row[BATCH] * row[EXTENT] * lanes_for(row[CLASSES], row[EXTENT])


def _elements(row):
    return row[BATCH] * row[CLASSES] * row[EXTENT]


@functools.cache
def _class_forms(dtype):
    lines = lambda row, bound: streamed(dtype, row[CLASSES], row[EXTENT])
    losses = Form(class_loss_lines, _line_threads, lines, (SMOOTHING,))
    return ({host.class_loss_rows: losses, host.class_loss_columns: losses},
            {host.class_loss_grad_rows: Form(class_loss_grad_lines, _line_threads, lines, (SMOOTHING,)),
             host.class_loss_grad_columns: Form(class_loss_grad_elements, _elements, _whole_block, (SMOOTHING,))})


@functools.cache
def _probability_forms(dtype):
    return {host.probability_loss_rows: Form(
        probability_loss_lines, lambda row: row[BATCH] * lanes_for(row[CLASSES], 1),
        lambda row, bound: streamed(dtype, row[CLASSES]), (P_SMOOTHING,))}


plan_class_loss = in_parallel(host.plan_class_loss, lambda dtype, *sizes: _class_forms(dtype)[0])
plan_class_loss_grad = in_parallel(host.plan_class_loss_grad, lambda dtype, *sizes: _class_forms(dtype)[1])
plan_probability_loss = in_parallel(host.plan_probability_loss, lambda dtype, *sizes: _probability_forms(dtype))
plan_probability_loss_grad = in_parallel(host.plan_probability_loss_grad, {host.probability_loss_grad_rows: Form(
    probability_loss_grad_elements, lambda row: row[BATCH] * row[CLASSES], scalars=(P_SMOOTHING, P_DIVISOR))})
plan_likelihood_loss = in_parallel(host.plan_likelihood_loss, {host.likelihood_losses: Form(
    likelihood_loss_elements, lambda row: row[BATCH] * row[EXTENT])})
plan_likelihood_grad = in_parallel(host.plan_likelihood_grad, {host.likelihood_grad: Form(likelihood_grad_elements, _elements)})
plan_loss_total = in_parallel(host.plan_loss_total, {host.loss_total: Form(
    loss_total_block, lambda row: THREADS, _whole_block, (DIVISOR,))})
