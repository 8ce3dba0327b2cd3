"""Softmax, log-softmax and logsumexp on a GPU, of contiguous (outer, R, inner): lines along R, each with some threads.

What an element's result is, the host says (kernels/cpu/softmax/softmax.py). A line's threads take every `LANES`-th element, for
the maximum, the sum and the result, and join what they have by shuffles and in shared memory. Lines of up to some thousands are
read once and stay in registers. Long lines have all threads of a block, short ones a part; where lines are side by side in memory
(inner > 1) each has one thread, so that neighbours read neighbours.
"""
from __future__ import annotations

import functools

from numpy import float32, inf, int64

from ...cpu.softmax.softmax import finite, grad_alone, log_probability, product, reciprocal, share, slope_of_log, slope_of_share
from ...elementtypes import bindings, compute_type, same
from ...intrinsics import local_array, local_like, offset, select
from ...threads import NOTHING
from ...vectormath import exp, log
from ..compiler import compile_kernel, cuda, prepare
from ..environment import THREADS
from ..shared.lines import (
    HELD,
    LOADS,
    WIDTH,
    WORDS,
    aligned,
    begin_of,
    fetch,
    hold,
    joined,
    joined_highest,
    put,
    release,
    shape_of,
    streamed,
)

T = float32
load = store = same
LANES = 1
LINES, LENGTH, INNER = range(3)                          # of the descriptor
closed, result_of, term, slope = reciprocal, share, product, slope_of_share


def whole(value):
    return value


shift_of = whole


def fetch_some(words, x, v, vectors, step, whole):
    """Vectors number v, v + LANES and so on of a line; the last one in the place of those behind the end."""
    for k in range(LOADS):
        fetch(words, k * WIDTH, offset(x, min(v + k * LANES, vectors - 1) * WIDTH * step), whole)


def rescaled(total, highest, shift):
    """A sum of exponentials below `highest`, below `shift`. Nothing was summed but exp(-inf) where that is the highest."""
    return total * select(highest == T(-inf), T(1), exp(finite(highest) - shift))


def shift_and_total(x, cells, present, n, step, me, lane):
    """A line's maximum and the sum of exponentials below it, by one look: a greater maximum makes the sum until then smaller
    (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018)."""
    words, values, whole = local_like(x, WORDS), local_array(T, WORDS), aligned(x)
    highest, total, v, vectors = T(-inf), T(0), lane, n // WIDTH if present else int64(0)
    while v < vectors:
        fetch_some(words, x, v, vectors, step, whole)
        most = highest
        for k in range(LOADS):
            for j in range(WIDTH):
                value = select(v + k * LANES < vectors, load(words[k * WIDTH + j]), T(-inf))
                values[k * WIDTH + j], most = value, select(value > most, value, most)
        v += LOADS * LANES
        total = rescaled(total, highest, finite(most))
        highest = most
        for i in range(WORDS):
            total += exp(values[i] - finite(highest))
    shift = shift_of(joined_highest(cells, highest, me, lane))
    return shift, joined(cells, rescaled(total, highest, shift), me, lane)


def softmax_lines(x, out, descriptor):
    cells = cuda.shared.array(THREADS, T)
    lines, n, inner = descriptor[LINES], descriptor[LENGTH], descriptor[INNER]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    words, results = local_like(x, WORDS), local_like(out, WIDTH)
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < lines:
        line = first + me // LANES
        begin = begin_of(min(line, lines - 1), n, inner)
        a, b = offset(x, begin), offset(out, begin)
        shift, total = shift_and_total(a, cells, line < lines, n, inner, me, lane)
        total = closed(total)
        v, vectors, whole = lane, n // WIDTH if line < lines else int64(0), aligned(a) and aligned(b)
        while v < vectors:
            fetch_some(words, a, v, vectors, inner, whole)
            for k in range(LOADS):
                if v + k * LANES < vectors:
                    for j in range(WIDTH):
                        results[j] = store(result_of(load(words[k * WIDTH + j]), shift, total))
                    put(results, offset(b, (v + k * LANES) * WIDTH * inner), whole)
            v += LOADS * LANES
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def exponential(value, e):
    return e


def number_itself(value, e):
    return value


def scaled(kept, shift, total):
    return kept * total


kept_of, result_of_kept = exponential, scaled


def softmax_held(x, out, descriptor):
    """Lines that are held; what is kept of an element between the sum and the result, `kept_of` says."""
    cells, held = cuda.shared.array(THREADS, T), local_array(T, HELD)
    lines, n = descriptor[LINES], descriptor[LENGTH]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < lines:
        line = first + me // LANES
        hold(held, offset(x, min(line, lines - 1) * n), n, lane, T(-inf))
        highest = held[0]
        for i in range(1, HELD):
            highest = select(held[i] > highest, held[i], highest)        # a NaN may go unseen, for it comes back from exp
        shift = joined_highest(cells, highest, me, lane)
        total = T(0)
        for i in range(HELD):
            e = exp(held[i] - shift)
            total += e
            held[i] = kept_of(held[i], e)
        total = closed(joined(cells, total, me, lane))
        for i in range(HELD):
            held[i] = result_of_kept(held[i], shift, total)
        if line < lines:
            release(held, offset(out, line * n), n, lane)
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def logsumexp_lines(x, out, descriptor):
    cells = cuda.shared.array(THREADS, T)
    lines, n, inner = descriptor[LINES], descriptor[LENGTH], descriptor[INNER]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < lines:
        line = first + me // LANES
        a = offset(x, begin_of(min(line, lines - 1), n, inner))
        shift, total = shift_and_total(a, cells, line < lines, n, inner, me, lane)
        if lane == 0 and line < lines:
            out[line] = store(shift + log(total))
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def softmax_grad_lines(grad, out, grad_x, descriptor):
    cells = cuda.shared.array(THREADS, T)
    lines, n, inner = descriptor[LINES], descriptor[LENGTH], descriptor[INNER]
    me = int64(cuda.threadIdx.x)
    lane = me % LANES
    first = int64(cuda.blockIdx.x) * (THREADS // LANES)
    while first < lines:
        line = first + me // LANES
        begin = begin_of(min(line, lines - 1), n, inner)
        g, y, gx = offset(grad, begin), offset(out, begin), offset(grad_x, begin)
        total = T(0)
        if line < lines:
            for r in range(lane, n, LANES):
                total += term(load(g[r * inner]), load(y[r * inner]))
        total = joined(cells, total, me, lane)
        if line < lines:
            for r in range(lane, n, LANES):
                gx[r * inner] = store(slope(load(g[r * inner]), load(y[r * inner]), total))
        first += int64(cuda.gridDim.x) * (THREADS // LANES)


def logsumexp_grad_elements(grad, x, out, grad_x, descriptor):
    """grad_x = grad * exp(x - out), and 0 where nothing was summed but exp(-inf): a thread an element."""
    lines, n, inner = descriptor[LINES], descriptor[LENGTH], descriptor[INNER]
    e = int64(cuda.blockIdx.x) * THREADS + int64(cuda.threadIdx.x)
    while e < lines * n:
        place = e // (n * inner)
        line = place * inner + e % inner
        value = load(out[line])
        grad_x[e] = store(load(grad[line]) * exp(load(x[e]) - select(value == T(-inf), T(0), value)))
        e += int64(cuda.gridDim.x) * THREADS


# ---------------------------------------------------------------- planners
@functools.cache
def _kernel(function, arrays, dtype, **names):
    return compile_kernel(function, (dtype + "*",) * arrays + ("int64*",), {**bindings(dtype), **names}, compute_type(dtype))


def _plan(function, arrays, dtype, outer, R, inner, device, **names):
    lines = outer * inner
    if not lines * R:
        return NOTHING
    shape = streamed(dtype, R, inner)
    kernel = _kernel(function, arrays, dtype, **shape, **names)
    return prepare(kernel, [lines, R, inner], -(-lines // (THREADS // shape["LANES"])), device)


def _plan_forward(dtype, outer, R, inner, device, result, kept):
    shape = shape_of(dtype, R, inner)
    if not outer * R * inner or not shape["HELD"]:
        return _plan(softmax_lines, 2, dtype, outer, R, inner, device, **result)
    kernel = _kernel(softmax_held, 2, dtype, **shape, **kept)
    return prepare(kernel, [outer, R, 1], -(-outer // (THREADS // shape["LANES"])), device)


def plan_softmax(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan_forward(dtype, outer, R, inner, device, dict(closed=reciprocal, result_of=share),
                         dict(closed=reciprocal, kept_of=exponential, result_of_kept=scaled))


def plan_log_softmax(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan_forward(dtype, outer, R, inner, device, dict(closed=log, result_of=log_probability),
                         dict(closed=log, kept_of=number_itself, result_of_kept=log_probability))


def plan_softmax_grad(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan(softmax_grad_lines, 3, dtype, outer, R, inner, device, term=product, slope=slope_of_share)


def plan_log_softmax_grad(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan(softmax_grad_lines, 3, dtype, outer, R, inner, device, term=grad_alone, slope=slope_of_log)


def plan_logsumexp(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    return _plan(logsumexp_lines, 2, dtype, outer, R, inner, device, shift_of=finite)


def plan_logsumexp_grad(dtype: str, outer: int, R: int, inner: int, device: int = 0):
    lines = outer * inner
    if not lines * R:
        return NOTHING
    kernel = _kernel(logsumexp_grad_elements, 4, dtype)
    return prepare(kernel, [lines, R, inner], -(-lines * R // THREADS), device)
