"""Copies of elements that are not looked into: as words of their size, so that dtypes share kernels, and a bfloat16 is not widened
and rounded again.

Of every second, third or fourth element of rows LLVM makes a load and a store each, or gathers; here vectors are shuffled: of 512
rows of 150 bytes that takes 2 µs instead of 26, of float32 8 instead of 19. All other copies are pointwise.
"""
from __future__ import annotations

from math import prod

from ..binding import ScalarBody
from ..intrinsics import Intrinsic, offset
from ..walk import LEAST_BYTES, merge
from .elements import WORDS, prepare_parts, same, shares, typed
from .pointwise import plan_pointwise
from .rowmove import lanes

VECTOR_LANES = 16                                        # words of a vector; bound by `typed`
STEP, QUARTER = 2, 4                                     # from word to word, and words of a short vector; bound by the planner
LONGEST_STEP = 4


def _take_every(source, target, count, step, at_end):
    """target[i] = source[i * step] for `count` elements, or of each `step` elements the last; all three are constants.
    count * step elements are read."""
    for i in range(count):
        target[i] = source[i * step + (step - 1 if at_end else 0)]


_take_every.__name__ = "take_every"
take_every = Intrinsic(_take_every, module="numtorch.kernels.cpu.rowvector")


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


def take_rows(x, out, walk):
    """Rows of `out` are every STEPth element of rows of x.

    walk: first row, stop, words of a row, dims of rows, then for each (innermost first) its extent, and strides in x and out."""
    n, dims, extent, x_step, out_step = walk[2], walk[3], walk[4], walk[5], walk[6]
    row = walk[0]
    while row < walk[1]:
        rest = row // extent
        within = row - rest * extent
        count = min(walk[1] - row, extent - within)
        a, b = within * x_step, within * out_step
        for d in range(1, dims):
            place = rest % walk[4 + 3 * d]
            rest = rest // walk[4 + 3 * d]
            a += place * walk[5 + 3 * d]
            b += place * walk[6 + 3 * d]
        for r in range(count):
            take_row(offset(x, a + r * x_step), offset(out, b + r * out_step), n)
        row += count


def plan_move(size: int, shape: tuple, strides: tuple, out_strides: tuple):
    """A copy. Addresses: x, out.

    Args:
        size: bytes of an element: 1, 2, 4 or 8.
        shape: the extents walked, none of them 0.
        strides, out_strides: of x and out, in elements.
    """
    word = WORDS[size]
    return _plan_every_nth(size, shape, strides, out_strides) or plan_pointwise(
        ScalarBody(same, word), (word,), (word,), shape, [strides, out_strides], compute=(word,))


def _plan_every_nth(size: int, shape: tuple, strides: tuple, out_strides: tuple):
    """The same where x's elements lie 2 to 4 elements apart, and out's side by side; else None."""
    extents, steps = merge(shape, [strides, out_strides])
    if not extents or steps[-1][1] != 1 or not 2 <= steps[-1][0] <= LONGEST_STEP or extents[-1] < 4:
        return None
    n, step = extents.pop(), steps.pop()[0]
    rows, work = prod(extents), prod(shape) * size
    outer = [number for extent, (a, b) in zip(reversed(extents), reversed(steps)) for number in (extent, a, b)] or [1, 0, 0]
    kernel = typed(take_rows, WORDS[size], ("element*", "element*", "int64*"), STEP=step, QUARTER=lanes(size) // 4)
    if rows == 1:                                        # one row is cut
        parts = shares(n, work * 2, LEAST_BYTES, 64)
        return prepare_parts(kernel, [(0, 1, stop - start, 1, 1, 0, 0) for start, stop in parts],
                             [(start * step * size, start * size) for start, _ in parts], n * 2)
    parts = shares(rows, work * 2, LEAST_BYTES)
    return prepare_parts(kernel, [(start, stop, n, len(outer) // 3, *outer) for start, stop in parts], [(0, 0)] * len(parts),
                         prod(shape))
