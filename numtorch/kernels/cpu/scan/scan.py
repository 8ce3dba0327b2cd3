"""Running sums, products, extremes and log-sums over the middle axis of contiguous (outer, R, inner) data.

Sums and products run forwards or backwards, in accumulators wider than the elements: float64 for floats, int64 for integers.
With `inner > 1` the chains of BLOCK_COLUMNS run side by side, those of few columns in registers. A row is one chain of additions,
and goes with three others, but for the sums of float32 and of integers, which take eight at a time: integers are exact in any
order, and float32 in float64 as good as.
A running log-sum keeps the largest element so far and the sum of exponentials below it (Milakov and Gimelshein, Online
normalizer calculation for softmax, 2018), so that nothing overflows.
"""
from __future__ import annotations

import numpy as np
from numpy import float32, float64, int64

from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import Intrinsic, local_array, offset, select
from ...vectormath import exp, log, log1p
from ..shared.elements import from_order, order_of, padded, prepare_parts, shares, typed

T = float32
A = float64                      # the accumulator's type
load = store = same
GRAIN = 2_000                    # one addition after another: two threads take 0.75 of the time at twice as many elements
GRAIN_ABREAST = 8_000            # where columns are summed side by side
BLOCK_COLUMNS = 256

# the descriptor: of (outer, R, inner), the columns to do, the steps of R and of outer, whether from the end
OUTER, LENGTH, COLUMNS, STEP, OUTER_STEP, REVERSE = range(6)


def add(running, x):
    return running + x


def multiply(running, x):
    return running * x


step, START = add, 0
EIGHT = 8                        # elements that running_sums takes at a time: rows of 8 to 128 take 0.45 to 0.6 of their time
EIGHTS = False                   # whether rows go through it


def _running_sums(x, out, total, count):
    """The running sums of `count` elements on from `total`, into out."""
    for i in range(count):
        total = total + x[i]
        out[i] = total


_running_sums.__name__ = "running_sums"
running_sums = Intrinsic(_running_sums, module="numtorch.kernels.cpu.scan.prefix_ir")
SHORT = 5                        # rows of fewer go with three others where EIGHTS, too
FEW = 8                          # columns that are kept in registers, by fours: (262144, 3) takes 0.4 of the time, (100000, 8) 0.8
ROWS = 128                       # that one such group of columns takes before the next


def scan_four(x, out, n):
    """Four rows, one after another in memory, side by side, as each addition waits for the one before: rows of 64 to 4096 in
    float64 take 0.6 to 0.7 of their time, products 0.4 to 0.6."""
    x1, x2, x3 = offset(x, n), offset(x, 2 * n), offset(x, 3 * n)
    out1, out2, out3 = offset(out, n), offset(out, 2 * n), offset(out, 3 * n)
    total, total1, total2, total3 = A(START), A(START), A(START), A(START)
    for r in range(n):
        total = step(total, A(load(x[r])))
        total1 = step(total1, A(load(x1[r])))
        total2 = step(total2, A(load(x2[r])))
        total3 = step(total3, A(load(x3[r])))
        out[r] = store(T(total))
        out1[r] = store(T(total1))
        out2[r] = store(T(total2))
        out3[r] = store(T(total3))


def scan_two(x, out, n, move):
    """Two columns: by scan_few they take a third longer."""
    total, total1 = A(START), A(START)
    for r in range(n):
        row, result = offset(x, r * move), offset(out, r * move)
        total = step(total, A(load(row[0])))
        total1 = step(total1, A(load(row[1])))
        result[0] = store(T(total))
        result[1] = store(T(total1))


def scan_few(x, out, running, count, n, move):
    """`count` columns, up to four, on from their totals in `running`. The last stands for those that are not there."""
    b, c, d = min(int64(1), count - 1), min(int64(2), count - 1), min(int64(3), count - 1)
    total, total1, total2, total3 = running[0], running[b], running[c], running[d]
    for r in range(n):
        row, result = offset(x, r * move), offset(out, r * move)
        total = step(total, A(load(row[0])))
        total1 = step(total1, A(load(row[b])))
        total2 = step(total2, A(load(row[c])))
        total3 = step(total3, A(load(row[d])))
        result[0] = store(T(total))
        result[b] = store(T(total1))
        result[c] = store(T(total2))
        result[d] = store(T(total3))
    running[0] = total
    running[b] = total1
    running[c] = total2
    running[d] = total3


def scan(x, out, descriptor):
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    stride, outer_stride = descriptor[STEP], descriptor[OUTER_STEP]
    running = local_array(A, BLOCK_COLUMNS)
    first, move = int64(0), stride
    if descriptor[REVERSE] != 0:
        first, move = (n - 1) * stride, -stride
    done = int64(0)
    if columns == 1 and move == 1 and outer_stride == n and (n < SHORT or not EIGHTS):
        while done + 4 <= outer:
            scan_four(offset(x, done * n), offset(out, done * n), n)
            done += 4
    for o in range(done, outer):
        base = o * outer_stride + first
        if columns == 1:
            total = A(START)
            if EIGHTS and move == 1:
                running_sums(offset(x, base), offset(out, base), total, n)
                continue
            for r in range(n):
                total = step(total, A(load(x[base + r * move])))
                out[base + r * move] = store(T(total))
            continue
        if columns == 2:
            scan_two(offset(x, base), offset(out, base), n, move)
            continue
        for left in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - left)
            for j in range(width):
                running[j] = A(START)
            if width <= FEW:
                for r in range(0, n, ROWS):
                    for j in range(0, width, 4):
                        at, count = base + left + r * move + j, min(int64(4), width - j)
                        scan_few(offset(x, at), offset(out, at), offset(running, j), count, min(ROWS, n - r), move)
                continue
            for r in range(n):
                row = offset(x, base + left + r * move)
                result = offset(out, base + left + r * move)
                for j in range(width):
                    running[j] = step(running[j], A(load(row[j])))
                    result[j] = store(T(running[j]))


# ---------------------------------------------------------------- linear recurrences
TIMES = False                    # whether each is multiplied by the product before it


def recurrence(c, x, products, out, descriptor):
    """s[r] = c[r] + x[r] s[r - 1]; from the end s[r] = c[r] + x[r + 1] s[r + 1].

    With TIMES, out is s[r] products[r - 1]: the gradient of running products. By sums of gradient times product over factor it
    takes 3.5 times as long, two scans of them for rows with a 0."""
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    stride, outer_stride = descriptor[STEP], descriptor[OUTER_STEP]
    running = local_array(A, BLOCK_COLUMNS)
    first, move, ahead = int64(0), stride, int64(0)
    if descriptor[REVERSE] != 0:
        first, move, ahead = (n - 1) * stride, -stride, stride
    for o in range(outer):
        base = o * outer_stride
        if columns == 1:
            s = A(load(c[base + first]))
            for r in range(n):
                at = first + r * move
                if r > 0:
                    s = A(load(c[base + at])) + A(load(x[base + at + ahead])) * s
                out[base + at] = store(T(s * A(load(products[base + at - stride])) if TIMES and at > 0 else s))
            continue
        for left in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - left)
            for r in range(n):
                at = first + r * move
                row, factor = offset(c, base + left + at), offset(x, base + left + at + ahead)
                product, result = offset(products, base + left + at - stride), offset(out, base + left + at)
                if r == 0:
                    for j in range(width):
                        running[j] = A(load(row[j]))
                else:
                    for j in range(width):
                        running[j] = A(load(row[j])) + A(load(factor[j])) * running[j]
                if TIMES and at > 0:
                    for j in range(width):
                        result[j] = store(T(running[j] * A(load(product[j]))))
                else:
                    for j in range(width):
                        result[j] = store(T(running[j]))


# ---------------------------------------------------------------- extremes with their places
def not_below(x, best):
    return x >= best


def not_above(x, best):
    return x <= best


reaches = not_below


def row_extreme(x, values, indices, n):
    """Along a row, by branches: an extreme is seldom passed, and selects would make each element wait for the one before."""
    r = int64(0)
    while r < n:
        word, at = x[r], r
        here = T(load(word))
        values[r] = word
        indices[r] = at
        r += 1
        while r < n:
            v = T(load(x[r]))
            if (v != v) | reaches(v, here):
                break
            values[r] = word
            indices[r] = at
            r += 1


def column_extreme(x, values, indices, n, move, word, at, first):
    """As row_extreme for n elements that lie `move` apart, on from the extreme `word` met at `at`; the first stands at `first`."""
    r = int64(0)
    while r < n:
        here = T(load(word))
        while r < n:
            v = T(load(x[r * move]))
            if (v != v) | reaches(v, here):
                break
            values[r * move] = word
            indices[r * move] = at
            r += 1
        if r < n:
            word, at = x[r * move], first + r
            values[r * move] = word
            indices[r * move] = at
            r += 1
    return word, at


def running_extreme(x, values, indices, descriptor):
    """The extreme so far and the last place where it was met; a NaN is one from where it stands on."""
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    stride, outer_stride = descriptor[STEP], descriptor[OUTER_STEP]
    best = local_array(T, BLOCK_COLUMNS)
    place = local_array(int64, BLOCK_COLUMNS)
    if n == 0:
        return
    for o in range(outer):
        base = o * outer_stride
        if stride == 1:                                  # a part may be one column of several
            row_extreme(offset(x, base), offset(values, base), offset(indices, base), n)
            continue
        for left in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - left)
            for j in range(width):
                best[j] = T(load(x[base + left + j]))
                place[j] = 0
            if width <= FEW:
                for r in range(0, n, ROWS):
                    for j in range(width):
                        at = base + left + r * stride + j
                        word, place[j] = column_extreme(offset(x, at), offset(values, at), offset(indices, at), min(ROWS, n - r),
                                                        stride, store(best[j]), place[j], r)
                        best[j] = T(load(word))
                continue
            for r in range(n):
                row = offset(x, base + left + r * stride)
                value = offset(values, base + left + r * stride)
                index = offset(indices, base + left + r * stride)
                for j in range(width):
                    v, here = T(load(row[j])), best[j]
                    better = (v != v) | reaches(v, here)     # which no number does to a NaN
                    here = select(better, v, here)
                    at = select(better, int64(r), place[j])
                    best[j] = here
                    place[j] = at
                    value[j] = store(here)
                    index[j] = at


# ---------------------------------------------------------------- log-sums
LOWEST = -float("inf")


def log_step(v, shift, total):
    """The shift, and the sum of exponentials below it, after one more element."""
    larger = select(v > shift, v, shift)
    larger = select(v != v, v, larger)
    fixed = select(larger == T(LOWEST), T(0), larger)     # -inf - -inf is NaN
    added = select(v == larger, T(1), exp(v - fixed))
    kept = select(shift == larger, total, total * exp(shift - fixed))
    return larger, select(larger == T(LOWEST), T(0), kept + added)


BLOCK, NEAR = 128, 16            # elements that go together where none is more than this below another: an eighth of the time


def log_row(x, out, n, move):
    """Along a row. A block whose elements are near each other has one shift, so that exponentials and logarithms are taken in
    vectors; differences from it are rounded as NEAR is, 8 times as much as 1."""
    block = local_array(T, BLOCK)
    shift, total = T(LOWEST), T(0)
    done = int64(0)
    while done < n:
        count = min(int64(BLOCK), n - done)
        whole = padded(count)
        source, target = offset(x, done * move), offset(out, done * move)
        for i in range(whole):
            block[i] = T(load(source[0]))
        for i in range(count):
            block[i] = T(load(source[i * move]))
        most, least = order_of(block[0]), order_of(block[0])
        for i in range(whole):
            most, least = max(most, order_of(block[i])), min(least, order_of(block[i]))
        top = from_order(most)
        if top - from_order(least) < T(NEAR) and shift < T(-LOWEST):     # all finite
            larger = select(shift > top, shift, top)
            total = total * exp(shift - larger)
            shift = larger
            for i in range(whole):
                block[i] = exp(block[i] - larger)
            for i in range(count):
                total += block[i]
                block[i] = total
            for i in range(whole):
                block[i] = larger + log(block[i])
        else:
            for i in range(count):
                shift, total = log_step(block[i], shift, total)
                block[i] = shift + log(total)
        for i in range(count):
            target[i * move] = store(block[i])
        done += count


def log_scan(x, out, descriptor):
    outer, n, columns = descriptor[OUTER], descriptor[LENGTH], descriptor[COLUMNS]
    stride, outer_stride = descriptor[STEP], descriptor[OUTER_STEP]
    shifts = local_array(T, BLOCK_COLUMNS)
    totals = local_array(T, BLOCK_COLUMNS)
    first, move = int64(0), stride
    if descriptor[REVERSE] != 0:
        first, move = (n - 1) * stride, -stride
    for o in range(outer):
        base = o * outer_stride + first
        if columns == 1:
            log_row(offset(x, base), offset(out, base), n, move)
            continue
        for left in range(0, columns, BLOCK_COLUMNS):
            width = min(int64(BLOCK_COLUMNS), columns - left)
            for j in range(width):
                shifts[j] = T(LOWEST)
                totals[j] = T(0)
            for r in range(n):
                row = offset(x, base + left + r * move)
                result = offset(out, base + left + r * move)
                for j in range(width):
                    shift, total = log_step(T(load(row[j])), shifts[j], totals[j])
                    shifts[j] = shift
                    totals[j] = total
                    result[j] = store(shift + log(total))


def log_of_sum(x, y):
    """log(exp(x) + exp(y)) of complex numbers, from the one whose real part is larger."""
    if x.real < y.real:
        x, y = y, x
    if x.real == y.real and x.real - x.real != 0:
        if x.real < -x.real:                             # literals are complex here
            return y
        return log(exp(x) + exp(y))
    return x + log1p(exp(y - x))


# ---------------------------------------------------------------- planners
def _accumulator(dtype):
    kind = np.dtype(compute_type(dtype)).kind
    return {"f": np.float64, "c": np.complex128}.get(kind, np.int64)


def _plan(kernel, dtype, outputs, outer, R, inner, reverse, cost=1):
    """outputs: the bytes of an element of each of the outputs, which are laid out as x."""
    work, size, tail = outer * R * inner * cost, (itemsize(dtype), *outputs), (inner, R * inner, int(reverse))
    grain = GRAIN if inner == 1 else GRAIN_ABREAST
    if outer > 1 or inner == 1:
        parts = shares(outer, work, grain)
        rows = [(stop - begin, R, inner, *tail) for begin, stop in parts]
        starts = [begin * R * inner for begin, _ in parts]
    else:
        parts = shares(inner, work, grain, multiple=64)
        rows = [(outer, R, stop - begin, *tail) for begin, stop in parts]
        starts = [begin for begin, _ in parts]
    return prepare_parts(kernel, rows, work, [tuple(start * bytes for bytes in size) for start in starts])


def _plan_running(step_function, start, dtype, outer, R, inner, reverse):
    kernel = typed(scan, dtype, ("element*", "element*", "int64*"), A=_accumulator(dtype), step=step_function, START=start,
                   **(dict(EIGHTS=True) if step_function is add and dtype in ("float32", "int64") else {}))
    return _plan(kernel, dtype, (itemsize(dtype),), outer, R, inner, reverse)


def plan_cumsum(dtype: str, outer: int, R: int, inner: int, reverse: bool = False):
    """Running sums over R of contiguous (outer, R, inner), from the end if `reverse`. Addresses: x, out (may be x)."""
    return _plan_running(add, 0, dtype, outer, R, inner, reverse)


def plan_cumprod(dtype: str, outer: int, R: int, inner: int, reverse: bool = False):
    """Running products over R of contiguous (outer, R, inner), from the end if `reverse`. Addresses: x, out (may be x)."""
    return _plan_running(multiply, 1, dtype, outer, R, inner, reverse)


def plan_recurrence(dtype: str, outer: int, R: int, inner: int, reverse: bool, times: bool):
    """s[r] = c[r] + x[r] s[r - 1] over R of contiguous (outer, R, inner); from the end if `reverse`, s[r] = c[r] + x[r + 1] s[r +
    1]. With `times`, out is s[r] products[r - 1].

    Addresses: c, x, products (read if `times`), out.
    """
    kernel = typed(recurrence, dtype, ("element*",) * 4 + ("int64*",), A=_accumulator(dtype), TIMES=times)
    return _plan(kernel, dtype, (itemsize(dtype),) * 3, outer, R, inner, reverse)


def plan_logcumsumexp(dtype: str, outer: int, R: int, inner: int, reverse: bool = False):
    """log of the running sums of exponentials over R of contiguous (outer, R, inner), from the end if `reverse`. Addresses: x, out
    (may be x).
    """
    if dtype.startswith("complex"):
        kernel = typed(scan, dtype, ("element*", "element*", "int64*"), A=np.complex64 if dtype == "complex64" else np.complex128,
                       step=log_of_sum, START=LOWEST)
        return _plan(kernel, dtype, (itemsize(dtype),), outer, R, inner, reverse, cost=20)
    kernel = typed(log_scan, dtype, ("element*", "element*", "int64*"))
    return _plan(kernel, dtype, (itemsize(dtype),), outer, R, inner, reverse, cost=10)


def _plan_extreme(test, dtype, outer, R, inner):
    kernel = typed(running_extreme, dtype, ("element*", "element*", "int64*", "int64*"), reaches=test)
    return _plan(kernel, dtype, (itemsize(dtype), 8), outer, R, inner, False)


def plan_cummax(dtype: str, outer: int, R: int, inner: int):
    """Running maxima and their last places over R of contiguous (outer, R, inner). Addresses: x, values, indices (int64)."""
    return _plan_extreme(not_below, dtype, outer, R, inner)


def plan_cummin(dtype: str, outer: int, R: int, inner: int):
    """Running minima and their last places over R of contiguous (outer, R, inner). Addresses: x, values, indices (int64)."""
    return _plan_extreme(not_above, dtype, outer, R, inner)
