"""Connectionist temporal classification: the loss of all alignments of a label sequence with time, and its gradient.

Graves, Fernandez, Gomez and Schmidhuber (Connectionist temporal classification, 2006), in logarithms. The labels are put between
blanks, 2 L + 1 states; a state is reached from itself, from the one before, and from the one before that unless it is a blank or
the same label. Rows of states have two more at the left, which nothing reaches, so that a step in time is one loop without cases.
"""
from __future__ import annotations

from numpy import float32, inf

from ...elementtypes import itemsize, same
from ...intrinsics import offset, select
from ...vectormath import exp, log
from ..shared.elements import prepare_parts, shares, typed

T = float32
load = store = same
GRAIN = 2_000                    # states times steps that make a thread worth waking: each is three exponentials and a logarithm

# the descriptor: N (of this part), N (of all), T, C, W (states of a row), blank, whether infinite losses have no gradient
COUNT, BATCH, STEPS, CLASSES, WIDTH, BLANK, ZERO_INFINITY = range(7)


def log_sum(x, y, z):
    """log(exp(x) + exp(y) + exp(z)), of -inf too."""
    larger = max(x, y)
    largest = max(larger, z)
    shift = select(largest == T(-inf), T(0), largest)
    return shift + log(exp(x - shift) + exp(y - shift) + exp(z - shift))


def extend(labels, length, blank, states, skips):
    """The classes of the 2 L + 1 states (and of two after them), and 0 or -inf for whether each is reached from two before it."""
    for s in range(2 * length + 3):
        states[s] = blank
        skips[s] = T(-inf)
    for i in range(length):
        states[2 * i + 1] = labels[i]
        if i > 0 and labels[i] != labels[i - 1]:
            skips[2 * i + 1] = T(0)


def reach(before, skip, row, count):
    """How each state is reached. A loop of its own: with the look-up of the scores in it, it would not be vectorised."""
    for s in range(count):
        row[s] = log_sum(before[s + 2], before[s + 1], before[s] + skip[s])


def reach_back(after, skip, row, count):
    """How the end is reached from each state."""
    for s in range(count):
        row[s] = log_sum(after[s], after[s + 1], after[s + 2] + skip[s])


def share_states(reached, left, loss, share, count):
    """The share of the alignments that are in each state at a time, of how it is reached and what is left to do from it."""
    for s in range(count):
        share[s] = exp(reached[s] + left[s] + loss)


def ctc_loss(log_probs, targets, starts, lengths, times, losses, alpha, states, skips, descriptor):
    classes, width, step = descriptor[CLASSES], descriptor[WIDTH], descriptor[BATCH] * descriptor[CLASSES]
    for n in range(descriptor[COUNT]):
        length, count = lengths[n], times[n]
        own, skip = offset(states, n * width), offset(skips, n * width)
        extend(offset(targets, starts[n]), length, descriptor[BLANK], own, skip)
        if count == 0:
            losses[n] = select(length == 0, T(0), T(inf))
            continue
        scores = offset(log_probs, n * classes)
        row = offset(alpha, n * descriptor[STEPS] * width)
        for s in range(width):
            row[s] = T(-inf)
        row[STEPS] = scores[descriptor[BLANK]]
        if length > 0:
            row[CLASSES] = scores[own[1]]
        for t in range(1, count):
            before = row
            row = offset(row, width)
            scores = offset(scores, step)
            row[COUNT] = T(-inf)
            row[BATCH] = T(-inf)
            reach(before, skip, offset(row, 2), 2 * length + 1)
            for s in range(2 * length + 1):
                row[s + 2] += scores[own[s]]
        last = T(-inf)
        if length > 0:
            last = row[2 * length + 1]
        losses[n] = -log_sum(row[2 * length + 2], last, T(-inf))


def ctc_loss_grad(log_probs, targets, starts, lengths, times, losses, alpha, states, skips, beta, grad, out, descriptor):
    classes, width, step = descriptor[CLASSES], descriptor[WIDTH], descriptor[BATCH] * descriptor[CLASSES]
    for n in range(descriptor[COUNT]):
        length, count, loss, scale = lengths[n], times[n], losses[n], grad[n]
        own, skip = offset(states, n * width), offset(skips, n * width)
        extend(offset(targets, starts[n]), length, descriptor[BLANK], own, skip)
        infinite = loss == T(inf)
        filled = T(0)
        if infinite and descriptor[ZERO_INFINITY] == 0:
            filled = loss - loss                         # NaN, as nothing could be made more probable
        for t in range(descriptor[STEPS]):
            place = offset(out, t * step + n * classes)
            if t >= count or infinite:
                for c in range(classes):
                    place[c] = select(t >= count, T(0), filled)
            else:
                scores = offset(log_probs, t * step + n * classes)
                for c in range(classes):
                    place[c] = exp(scores[c]) * scale
        if infinite:
            continue
        after, row = offset(beta, 2 * n * width), offset(beta, (2 * n + 1) * width)
        for s in range(width):
            after[s] = T(-inf)
            row[s] = T(-inf)
        for back in range(count):
            t = count - 1 - back
            scores = offset(log_probs, t * step + n * classes)
            reached = offset(alpha, (n * descriptor[STEPS] + t) * width + 2)
            place = offset(out, t * step + n * classes)
            if back == 0:
                row[2 * length] = T(0)
                if length > 0:
                    row[2 * length - 1] = T(0)
            else:
                reach_back(after, offset(skip, 2), row, 2 * length + 1)
            share_states(reached, row, loss, after, 2 * length + 1)
            for s in range(2 * length + 1):
                place[own[s]] -= after[s] * scale
                row[s] += scores[own[s]]
            after, row = row, after


# ---------------------------------------------------------------- planners
def _descriptors(batch, steps, classes, width, blank, zero_infinity):
    """A part's descriptor, with its first sequence."""
    return [((stop - start, batch, steps, classes, width, blank, zero_infinity), start)
            for start, stop in shares(batch, batch * steps * width, GRAIN)]


def plan_ctc_loss(dtype: str, batch: int, steps: int, classes: int, width: int, blank: int):
    """The losses of N sequences, -log of the probability of their labels; infinite where no alignment of them has the sequence's
    steps.

    Addresses: log-probabilities (T, N, C), labels in [0, C) one after another, and for each sequence where its labels start, how
    many there are and how many steps it has (int64, (N,) each); the losses (N), alpha (N, T, W), whose rows up to the last step of
    a sequence are written, and scratch: states (N, W) int64 and skips (N, W).

    Args:
        batch, steps, classes, width: N, T, C and W, which is at least 2 L + 3 for the most labels L.
        blank: the class that is no label.
    """
    kernel = typed(ctc_loss, dtype, ("element*", *("int64*",) * 4, "element*", "element*", "int64*", "element*", "int64*"))
    size = itemsize(dtype)
    parts = _descriptors(batch, steps, classes, width, blank, 0)
    offsets = [(n * classes * size, 0, n * 8, n * 8, n * 8, n * size, n * steps * width * size, n * width * 8, n * width * size)
               for _, n in parts]
    return prepare_parts(kernel, [descriptor for descriptor, _ in parts], batch * steps * width * 20, offsets)


def plan_ctc_loss_grad(dtype: str, batch: int, steps: int, classes: int, width: int, blank: int, zero_infinity: bool):
    """The gradient for the log-probabilities; with `zero_infinity`, of an infinite loss 0, else NaN.

    Addresses: as for `plan_ctc_loss`, then scratch beta (N, 2, W), the losses' gradients (N), and the gradient (T, N, C).

    Args:
        batch, steps, classes, width, blank: as there.
    """
    kernel = typed(ctc_loss_grad, dtype, ("element*", *("int64*",) * 4, "element*", "element*", "int64*", *("element*",) * 4,
                                          "int64*"))
    size = itemsize(dtype)
    parts = _descriptors(batch, steps, classes, width, blank, int(zero_infinity))
    offsets = [(n * classes * size, 0, n * 8, n * 8, n * 8, n * size, n * steps * width * size, n * width * 8, n * width * size,
                2 * n * width * size, n * size, n * classes * size) for _, n in parts]
    return prepare_parts(kernel, [descriptor for descriptor, _ in parts], batch * steps * width * 20, offsets)
