"""Softmax, log-softmax and logsumexp, forward and backward, over the middle axis of contiguous (outer, R, inner) data.

A row is shifted by its maximum before it is exponentiated, so that nothing overflows. Two traversals of one idea:

- `inner == 1`, the usual case, runs along rows: a vector maximum, then one loop that exponentiates, stores and sums.
- `inner > 1` runs along `inner`, BLOCK_COLUMNS at a time, with the columns' maxima and sums on the stack.

Rows of up to 256 elements pass through a buffer on the stack, filled up to whole vectors with what changes neither a maximum nor
a sum (`padded` in shared/elements.py says why); logarithms of their sums are taken for 16 rows together.

Sums are in the compute type: a row's sum runs over many vector lanes, so its error does not grow with every element.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, int32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import fabs, fmax, local_array, offset, select
from ...vectormath import exp, log
from ...vectormath.elementary import both
from ..shared.elements import from_order, order_of, padded, part_offsets, prepare_parts, shares, typed, whole

T = float32
load = store = same
RECOMPUTE = False                # 16-bit outputs would round exp before it is scaled, so it is computed twice
BLOCK_COLUMNS = 256
SHORT, TOGETHER = 256, 16       # the longest row that passes through a buffer; rows whose logarithms are taken together
NARROW = 32                      # columns below which they do not fill vectors
GRAIN = 16_000                   # elements that make a thread worth waking

# the descriptor: of rows the first two; of columns more: those to do, the steps of R and of outer, how many rows are taken as one
OUTER, LENGTH, COLUMNS, STEP, OUTER_STEP, FOLD = range(6)
ROWS = OUTER


def subtract_twice(x, shift, log_total):
    return (x - shift) - log_total


# A kernel's own arithmetic may be regrouped, and x - (shift + log_total) has lost log_total where shift is large.
log_probability = both(subtract_twice)


# ---------------------------------------------------------------- rows
shift_of = same


def row_maximum(x, n):
    """The maximum of numbers. NaN may go unseen, for it comes back from exp."""
    largest = order_of(load(x[0]))
    for i in range(n):
        largest = max(largest, order_of(load(x[i])))
    return from_order(largest)


def row_exp_sum(x, n, shift):
    total = T(0)
    for i in range(n):
        total += exp(load(x[i]) - shift)
    return total


def padded_row(x, buffer, n):
    """The row in a buffer, filled up with -inf, and its maximum."""
    largest = order_of(T(-np.inf))
    count = int32(n)
    for i in range(whole(n)):
        value = load(x[i])
        buffer[i] = value
        largest = max(largest, order_of(value))
    for i in range(whole(n), padded(n)):
        value = T(-np.inf)
        if int32(i) < count:
            value = load(x[i])
        buffer[i] = value
        largest = max(largest, order_of(value))
    return from_order(largest)


def padded_exp_sum(buffer, n, shift):
    total = T(0)
    for i in range(padded(n)):
        total += exp(buffer[i] - shift)
    return total


def padded_exp(buffer, n, shift):
    total = T(0)
    for i in range(padded(n)):
        e = exp(buffer[i] - shift)
        buffer[i] = e
        total += e
    return total


def softmax_rows(x, out, descriptor):
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    buffer = local_array(T, SHORT)
    if n == 0:
        return
    for row in range(rows):
        a = offset(x, row * n)
        b = offset(out, row * n)
        if n <= SHORT:
            shift = padded_row(a, buffer, n)
            scale = T(1) / padded_exp(buffer, n, shift)
            for i in range(whole(n)):
                b[i] = store(buffer[i] * scale)
            for i in range(whole(n), padded(n)):
                if int32(i) < int32(n):
                    b[i] = store(buffer[i] * scale)
        elif RECOMPUTE:
            shift = row_maximum(a, n)
            scale = T(1) / row_exp_sum(a, n, shift)
            for i in range(n):
                b[i] = store(exp(load(a[i]) - shift) * scale)
        else:
            shift = row_maximum(a, n)
            total = T(0)
            for i in range(n):
                e = exp(load(a[i]) - shift)
                b[i] = store(e)
                total += e
            scale = T(1) / total
            for i in range(n):
                b[i] = store(load(b[i]) * scale)


def short_rows(x, rows, n, buffer, shift, log_total):
    """Maxima of up to TOGETHER rows, and logarithms of the sums of exponentials below them."""
    for row in range(rows):
        shift[row] = shift_of(padded_row(offset(x, row * n), buffer, n))
        log_total[row] = padded_exp_sum(buffer, n, shift[row])
    for row in range(padded(rows)):
        log_total[row] = log(log_total[row])


def log_softmax_rows(x, out, descriptor):
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    buffer = local_array(T, SHORT)
    shift = local_array(T, TOGETHER)
    log_total = local_array(T, TOGETHER)
    if n == 0:
        return
    if n <= SHORT:
        for row in range(TOGETHER):
            log_total[row] = T(1)
        for first in range(0, rows, TOGETHER):
            count = min(rows - first, int64(TOGETHER))
            short_rows(offset(x, first * n), count, n, buffer, shift, log_total)
            for row in range(count):
                a = offset(x, (first + row) * n)
                b = offset(out, (first + row) * n)
                below, further = shift[row], log_total[row]
                for i in range(whole(n)):
                    b[i] = store(log_probability(load(a[i]), below, further))
                for i in range(whole(n), padded(n)):
                    if int32(i) < int32(n):
                        b[i] = store(log_probability(load(a[i]), below, further))
        return
    for row in range(rows):
        a = offset(x, row * n)
        b = offset(out, row * n)
        below = shift_of(row_maximum(a, n))
        further = log(row_exp_sum(a, n, below))
        for i in range(n):
            b[i] = store(log_probability(load(a[i]), below, further))


def softmax_grad_rows(grad, out, grad_x, descriptor):
    """grad_x = out * (grad - sum(grad * out))"""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    for row in range(rows):
        g = offset(grad, row * n)
        y = offset(out, row * n)
        gx = offset(grad_x, row * n)
        total = T(0)
        for i in range(n):
            total += load(g[i]) * load(y[i])
        for i in range(n):
            gx[i] = store(load(y[i]) * (load(g[i]) - total))


def exp_of_row(x, buffer, n, shift):
    """buffer = exp(x - shift)"""
    count = int32(n)
    for i in range(whole(n)):
        buffer[i] = exp(load(x[i]) - shift)
    for i in range(whole(n), padded(n)):
        value = shift
        if int32(i) < count:
            value = load(x[i])
        buffer[i] = exp(value - shift)


def log_softmax_grad_rows(grad, out, grad_x, descriptor):
    """grad_x = grad - exp(out) * sum(grad)"""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    buffer = local_array(T, SHORT)
    for row in range(rows):
        g = offset(grad, row * n)
        y = offset(out, row * n)
        gx = offset(grad_x, row * n)
        total = T(0)
        for i in range(n):
            total += load(g[i])
        if n <= SHORT:
            exp_of_row(y, buffer, n, T(0))
            for i in range(n):
                gx[i] = store(load(g[i]) - buffer[i] * total)
        else:
            for i in range(n):
                gx[i] = store(load(g[i]) - exp(load(y[i])) * total)


# ---------------------------------------------------------------- columns: inner > 1
# Blocks of BLOCK_COLUMNS keep the two accumulators in L1. A few columns do not fill vectors: then `fold` rows of them are taken as
# one, and their maxima and sums put together (logsumexp of (262144, 3) takes 27 times as long without).
def join_maxima(values, fold, width):
    """Every column's maximum over the `fold` rows that lie in one, in the place of each."""
    inner = width // fold
    for piece in range(1, fold):
        for j in range(inner):
            values[j] = fmax(values[j], values[piece * inner + j])
    for j in range(inner, width):
        values[j] = values[j - inner]


def join_totals(values, fold, width):
    """As `join_maxima`, of sums."""
    inner = width // fold
    for piece in range(1, fold):
        for j in range(inner):
            values[j] += values[piece * inner + j]
    for j in range(inner, width):
        values[j] = values[j - inner]


def columns_shift_and_total(x, shift, total, n, width, step, fold):
    """Per column: the maximum, and the sum of exponentials below it."""
    for j in range(width):
        shift[j] = load(x[j])
        total[j] = T(0)
    for r in range(1, n):
        row = offset(x, r * step)
        for j in range(width):
            shift[j] = fmax(shift[j], load(row[j]))
    if fold > 1:
        join_maxima(shift, fold, width)
    for j in range(width):
        shift[j] = shift_of(shift[j])
    for r in range(n):
        row = offset(x, r * step)
        for j in range(width):
            total[j] += exp(load(row[j]) - shift[j])
    if fold > 1:
        join_totals(total, fold, width)


def reciprocal(total):
    return T(1) / total


def share(value, shift, scale):
    return exp(value - shift) * scale


def slope_of_share(grad, out, total):
    return out * (grad - total)


def slope_of_log(grad, out, total):
    return grad - exp(out) * total


def product(grad, out):
    return grad * out


def grad_alone(grad, out):
    return grad


closed, result_of, term, slope = reciprocal, share, product, slope_of_share


def softmax_columns(x, out, descriptor):
    """Softmax or its logarithm: `closed` is what becomes of the sum, `result_of` an element's result."""
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    step, outer_step = descriptor[STEP], descriptor[OUTER_STEP]
    shift = local_array(T, BLOCK_COLUMNS)
    total = local_array(T, BLOCK_COLUMNS)
    if n == 0:
        return
    for o in range(outer):
        for first in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - first)
            a = offset(x, o * outer_step + first)
            b = offset(out, o * outer_step + first)
            columns_shift_and_total(a, shift, total, n, width, step, descriptor[FOLD])
            for j in range(width):
                total[j] = closed(total[j])
            for r in range(n):
                row = offset(a, r * step)
                result = offset(b, r * step)
                for j in range(width):
                    result[j] = store(result_of(load(row[j]), shift[j], total[j]))


def softmax_grad_columns(grad, out, grad_x, descriptor):
    """`term` is what is summed, `slope` an element's gradient."""
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    step, outer_step = descriptor[STEP], descriptor[OUTER_STEP]
    total = local_array(T, BLOCK_COLUMNS)
    for o in range(outer):
        for first in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - first)
            base = o * outer_step + first
            for j in range(width):
                total[j] = T(0)
            for r in range(n):
                g = offset(grad, base + r * step)
                y = offset(out, base + r * step)
                for j in range(width):
                    total[j] += term(load(g[j]), load(y[j]))
            if descriptor[FOLD] > 1:
                join_totals(total, descriptor[FOLD], width)
            for r in range(n):
                g = offset(grad, base + r * step)
                y = offset(out, base + r * step)
                gx = offset(grad_x, base + r * step)
                for j in range(width):
                    gx[j] = store(slope(load(g[j]), load(y[j]), total[j]))


# ---------------------------------------------------------------- logsumexp
def finite(shift):
    """A maximum to subtract: 0 in the place of an infinite one, whose difference from itself would be NaN."""
    return select(fabs(shift) == T(np.inf), T(0), shift)


def logsumexp_rows(x, out, descriptor):
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    buffer = local_array(T, SHORT)
    shift = local_array(T, TOGETHER)
    log_total = local_array(T, TOGETHER)
    if n <= SHORT:
        for row in range(TOGETHER):
            log_total[row] = T(1)
        for first in range(0, rows, TOGETHER):
            count = min(rows - first, int64(TOGETHER))
            short_rows(offset(x, first * n), count, n, buffer, shift, log_total)
            for row in range(count):
                out[first + row] = store(log_total[row] + shift[row])
        return
    for row in range(rows):
        a = offset(x, row * n)
        below = shift_of(row_maximum(a, n))
        out[row] = store(log(row_exp_sum(a, n, below)) + below)


def logsumexp_columns(x, out, descriptor):
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    step, outer_step, fold = descriptor[STEP], descriptor[OUTER_STEP], descriptor[FOLD]
    shift = local_array(T, BLOCK_COLUMNS)
    total = local_array(T, BLOCK_COLUMNS)
    for o in range(outer):
        for first in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - first)
            columns_shift_and_total(offset(x, o * outer_step + first), shift, total, n, width, step, fold)
            result = offset(out, o * (step // fold) + first)
            for j in range(width // fold):
                result[j] = store(log(total[j]) + shift[j])


def logsumexp_grad_rows(grad, x, out, grad_x, descriptor):
    """grad_x = grad * exp(x - out), and 0 where nothing was summed but exp(-inf)."""
    rows, n = descriptor[ROWS], descriptor[LENGTH]
    buffer = local_array(T, SHORT)
    for row in range(rows):
        a = offset(x, row * n)
        gx = offset(grad_x, row * n)
        incoming = load(grad[row])
        shift = load(out[row])
        if shift == T(-np.inf):
            shift = T(0)
        if n <= SHORT:
            exp_of_row(a, buffer, n, shift)
            for i in range(n):
                gx[i] = store(incoming * buffer[i])
        else:
            for i in range(n):
                gx[i] = store(incoming * exp(load(a[i]) - shift))


def logsumexp_grad_columns(grad, x, out, grad_x, descriptor):
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    step, outer_step, fold = descriptor[STEP], descriptor[OUTER_STEP], descriptor[FOLD]
    shift = local_array(T, BLOCK_COLUMNS)
    incoming = local_array(T, BLOCK_COLUMNS)
    for o in range(outer):
        for first in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - first)
            inner = width // fold
            g = offset(grad, o * (step // fold) + first)
            y = offset(out, o * (step // fold) + first)
            for j in range(inner):
                incoming[j] = load(g[j])
            for j in range(inner):
                value = load(y[j])
                shift[j] = select(value == T(-np.inf), T(0), value)
            for j in range(inner, width):
                incoming[j] = incoming[j - inner]
                shift[j] = shift[j - inner]
            for r in range(n):
                row = offset(x, o * outer_step + r * step + first)
                gx = offset(grad_x, o * outer_step + r * step + first)
                for j in range(width):
                    gx[j] = store(incoming[j] * exp(load(row[j]) - shift[j]))


# ---------------------------------------------------------------- planners
def _fold(R, inner):
    """How many rows of a few columns are taken as one: a divisor of R, so that all are."""
    if inner >= NARROW:
        return 1
    return max(fold for fold in range(1, SHORT // inner + 1) if R % fold == 0)


def _plan(rows_kernel, columns_kernel, extents, dtype, outer, R, inner, rows_names=None, columns_names=None):
    """A row kernel splits over rows; a column kernel over outer, or over columns where there is a single outer.

    `extents`: along the middle axis, for each array: R, or 1 where that axis is reduced. The names are what each kernel binds.
    """
    arrays = len(extents)
    work, size = outer * R * inner, itemsize(dtype)
    signature = ("element*",) * arrays + ("int64*",)
    if inner == 1:
        kernel = typed(rows_kernel, dtype, signature, **(rows_names or {}))
        parts = shares(outer, work, GRAIN)
        rows = [(stop - start, R) for start, stop in parts]
        offsets = [tuple([start * extent * size for extent in extents]) for start, _ in parts]
        return prepare_parts(kernel, rows, work, offsets)
    kernel = typed(columns_kernel, dtype, signature, **(columns_names or {}))
    if outer > 1 or inner < NARROW:
        fold = _fold(R, inner)
        parts = shares(outer, work, GRAIN)
        rows = [(stop - start, R // fold, inner * fold, inner * fold, R * inner, fold) for start, stop in parts]
        offsets = [tuple([start * extent * inner * size for extent in extents]) for start, _ in parts]
    else:
        # Threads that write lines side by side take them from each other: softmax of (32768, 100) takes 2.3 times as long by 16.
        parts = shares(inner, work, GRAIN, multiple=64 if extents[-1] == R else 16)
        rows = [(outer, R, stop - start, inner, R * inner, 1) for start, stop in parts]
        offsets = part_offsets(parts, *[size] * arrays)
    return prepare_parts(kernel, rows, work, offsets)


def plan_softmax(dtype: str, outer: int, R: int, inner: int):
    """Softmax over R of contiguous (outer, R, inner). Addresses: x, out (may be x)."""
    return _plan(softmax_rows, softmax_columns, (R, R), dtype, outer, R, inner, dict(RECOMPUTE=itemsize(dtype) == 2),
                 dict(closed=reciprocal, result_of=share))


def plan_log_softmax(dtype: str, outer: int, R: int, inner: int):
    """Log-softmax over R of contiguous (outer, R, inner). Addresses: x, out (may be x)."""
    return _plan(log_softmax_rows, softmax_columns, (R, R), dtype, outer, R, inner, None,
                 dict(closed=log, result_of=log_probability))


def plan_softmax_grad(dtype: str, outer: int, R: int, inner: int):
    """Gradient of softmax over R from its result, all (outer, R, inner). Addresses: grad, out, grad_x (may be grad)."""
    return _plan(softmax_grad_rows, softmax_grad_columns, (R, R, R), dtype, outer, R, inner, None,
                 dict(term=product, slope=slope_of_share))


def plan_log_softmax_grad(dtype: str, outer: int, R: int, inner: int):
    """Gradient of log-softmax over R from its result, all (outer, R, inner). Addresses: grad, out, grad_x (may be grad)."""
    return _plan(log_softmax_grad_rows, softmax_grad_columns, (R, R, R), dtype, outer, R, inner, None,
                 dict(term=grad_alone, slope=slope_of_log))


def plan_logsumexp(dtype: str, outer: int, R: int, inner: int):
    """log(sum(exp(x))) over R of contiguous (outer, R, inner), R > 0. Addresses: x, out (outer, inner)."""
    return _plan(logsumexp_rows, logsumexp_columns, (R, 1), dtype, outer, R, inner, dict(shift_of=finite), dict(shift_of=finite))


def plan_logsumexp_grad(dtype: str, outer: int, R: int, inner: int):
    """Gradient of logsumexp, grad * exp(x - out); 0 where out is -inf.

    Addresses: grad (outer, inner), x, out (outer, inner), grad_x (outer, R, inner).
    """
    return _plan(logsumexp_grad_rows, logsumexp_grad_columns, (1, R, 1, R), dtype, outer, R, inner)
