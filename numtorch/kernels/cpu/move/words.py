"""Copies of elements that are not looked into: as words of their size, so that dtypes share kernels, and a bfloat16 is not widened
and rounded again.

Of every second, third or fourth element of rows LLVM makes a load and a store each, or gathers; here vectors are shuffled: rows of
bytes take a thirteenth of the time so, of float32 0.4. Rows as they are and back to front are moved by vectors (rows.py), in a
quarter to 0.4 of the time. All other copies are pointwise.
"""
from __future__ import annotations

from math import prod

from ...binding import ScalarBody
from ...elementtypes import same
from ...intrinsics import Intrinsic, offset
from ...loopnest import LEAST_BYTES, merge
from ...threads import get_num_threads
from ..pointwise.pointwise import plan_pointwise
from ..shared.elements import WORDS, part_offsets, prepare_parts, shares, typed
from .rows import QUARTER, VECTOR_LANES, lanes, move_long_rows, move_short_rows

STEP = 2                                                 # from word to word; bound by the planner
LONGEST_STEP = 4
LONGEST_ROW = 512                                        # bytes: of longer ones, a loop that LLVM knows to be a memcpy is faster

# the descriptor: a part's rows, their words, where the first one begins in x, the first word of x and the end, dims of rows; then
# for each (innermost first) its extent, and strides in x and out
FIRST, STOP, LENGTH, START, LOW, HIGH, DIMS, EXTENT, X_STEP, OUT_STEP = range(10)
DIM = 3


def _take_every(source, target, count, step, at_end):
    """target[i] = source[i * step] for `count` elements, or of each `step` elements the last; all three are constants.
    count * step elements are read."""
    for i in range(count):
        target[i] = source[i * step + (step - 1 if at_end else 0)]


_take_every.__name__ = "take_every"
take_every = Intrinsic(_take_every, module="numtorch.kernels.cpu.move.row_ir")


def take_row(a, b, n):
    """b[i] = a[i * STEP] for n elements. The last vector of them ends with the row, so that nothing behind it is read."""
    done = 0
    if n > VECTOR_LANES:
        while done + VECTOR_LANES < n:
            take_every(offset(a, done * STEP), offset(b, done), VECTOR_LANES, STEP, False)
            done += VECTOR_LANES
        done = n - VECTOR_LANES
        take_every(offset(a, done * STEP - (STEP - 1)), offset(b, done), VECTOR_LANES, STEP, True)
    elif n > QUARTER:
        while done + QUARTER < n:
            take_every(offset(a, done * STEP), offset(b, done), QUARTER, STEP, False)
            done += QUARTER
        done = n - QUARTER
        take_every(offset(a, done * STEP - (STEP - 1)), offset(b, done), QUARTER, STEP, True)
    else:
        for i in range(n):
            b[i] = a[i * STEP]


def take_rows(x, at, x_step, out, to, out_step, rows, n, low, high, end):
    for r in range(rows):
        take_row(offset(x, at + r * x_step), offset(out, to + r * out_step), n)


move = move_long_rows                                    # how rows one after another are moved; bound by the planner


def move_all_rows(x, out, descriptor):
    """Rows of `out` are rows of x."""
    n, dims = descriptor[LENGTH], descriptor[DIMS]
    extent, x_step, out_step = descriptor[EXTENT], descriptor[X_STEP], descriptor[OUT_STEP]
    row = descriptor[FIRST]
    while row < descriptor[STOP]:
        rest = row // extent
        within = row - rest * extent
        rows = min(descriptor[STOP] - row, extent - within)           # that are evenly apart
        at, to = descriptor[START] + within * x_step, within * out_step
        for d in range(1, dims):
            place = rest % descriptor[EXTENT + DIM * d]
            rest = rest // descriptor[EXTENT + DIM * d]
            at += place * descriptor[X_STEP + DIM * d]
            to += place * descriptor[OUT_STEP + DIM * d]
        move(x, at, x_step, out, to, out_step, rows, n, descriptor[LOW], descriptor[HIGH], descriptor[STOP] * n)
        row += rows


def plan_move(size: int, shape: tuple, strides: tuple, out_strides: tuple):
    """A copy: out[i...] = x[i...]. Addresses: x, out.

    Args:
        size: bytes of an element: 1, 2, 4, 8 or 16.
        shape: the extents walked, none of them 0.
        strides, out_strides: of x and out, in elements.
    """
    if size == 16:                                       # elements are rows of two words
        size, shape = 8, (*shape, 2)
        strides, out_strides = [(*(2 * step for step in each), 1) for each in (strides, out_strides)]
    extents, steps = merge(shape, [strides, out_strides])
    n, outer = extents[-1] if extents else 1, steps[:-1]
    if outer and steps[-1] == (1, 1) and n * size in WORDS and all(step % n == 0 for both in outer for step in both):
        narrower = zip(*[[step // n for step in both] for both in outer])            # rows of up to 8 bytes are words
        size, (extents, steps) = n * size, merge(extents[:-1], list(narrower))
    word = WORDS[size]
    return _plan_rows(size, extents, steps) or plan_pointwise(
        ScalarBody(same, word), (word,), (word,), tuple(extents), list(zip(*steps)) or [(), ()], compute=(word,))


def _plan_rows(size, extents, steps):
    """The same by rows, where x and out have them; None where a pointwise copy does as well."""
    extents, steps, work = list(extents), list(steps), prod(extents) * size * 2
    n, (step, out_step) = (extents.pop(), steps.pop()) if extents else (1, (0, 0))
    if out_step != 1 or not -1 <= step <= LONGEST_STEP or step == 0 or not _rows_pay(size, n, step, extents, steps):
        return None
    rows, backward = prod(extents), step == -1
    ends = [(extent - 1) * a for extent, (a, _) in zip([*extents, n], [*steps, (step, 1)])]
    seen = [sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends) + 1]
    outer = [number for extent, (a, b) in zip(reversed(extents), reversed(steps)) for number in (extent, a, b)] or [1, n, n]
    outer = [*seen, len(outer) // 3, *outer]
    width = lanes(size)
    kernel = _rows_moved(size, abs(step), backward, 0 if n >= width else width if n > width // 4 else width // 4)
    if rows < 4 * get_num_threads() and n >= 1024:       # few long rows are cut
        parts = [(start * 64, stop * 64 if stop < n // 64 else n) for start, stop in shares(n // 64, work, LEAST_BYTES)]
        descriptors = [(0, rows, stop - start, 1 - stop if backward else start * step, *outer) for start, stop in parts]
        return prepare_parts(kernel, descriptors, work, part_offsets(parts, 0, size))
    parts = shares(rows, max(work, rows * 64), LEAST_BYTES)
    descriptors = [(start, stop, n, 1 - n if backward else 0, *outer) for start, stop in parts]
    return prepare_parts(kernel, descriptors, work)


def _rows_moved(size, step, backward, short):
    """The kernel for rows. short: words of the vector that moves those shorter than it; 0 for others."""
    names = dict(move=take_rows, STEP=step, QUARTER=lanes(size) // 4)
    if step == 1:
        names = dict(move=move_short_rows, BACKWARD=backward, WIDTH=short) if short else \
            dict(move=move_long_rows, BACKWARD=backward, FOUR=4 * lanes(size))
    return typed(move_all_rows, WORDS[size], ("element*", "element*", "int64*"), **names)


def _rows_pay(size, n, step, extents, steps):
    """Whether rows are moved faster so than pointwise. Those shorter than a vector must be dense in out."""
    if step > 1:
        return n >= 4
    place = n                                            # where the next row is
    for extent, (_, out_step) in zip(reversed(extents), reversed(steps)):
        if n < lanes(size) and out_step != place:
            return False
        place *= extent
    return step == -1 or (len(extents) > 0 and n * size <= LONGEST_ROW)
