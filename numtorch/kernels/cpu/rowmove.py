"""Rows of words moved as they are or back to front, a vector at a time.

A row that no vector fits into is moved by one all the same: what the vector writes behind the row, the next row writes over. So a
row of 3 words takes 0.3 ns instead of 2.8, and one of 10 1.0 instead of 3.4. Only rows at the ends are moved word by word, where a
vector would read or write what is not the rows'.
"""
from __future__ import annotations

from ..intrinsics import Intrinsic, offset

VECTOR_LANES = 16                                        # words of a vector; bound by `typed`
QUARTER, FOUR = 4, 64                                    # words of a short vector, and of four; bound by the planner


def lanes(size):
    """Words of a vector, of which elements of `size` bytes are made."""
    return 64 // min(size, 8)


def _move_vector(source, target, count, backward):
    """target[i] = source[i] for `count` elements, or source[count - 1 - i]; both `count` and `backward` are constants."""
    kept = [source[i] for i in range(count)]
    for i in range(count):
        target[i] = kept[count - 1 - i if backward else i]


_move_vector.__name__ = "move_vector"
move_vector = Intrinsic(_move_vector, module="numtorch.kernels.cpu.rowvector")


def move_words(a, a_step, b, b_step, rows, n, backward):
    """Rows moved word by word."""
    for r in range(rows):
        source, target = offset(a, r * a_step), offset(b, r * b_step)
        if backward:
            for i in range(n):
                target[i] = source[n - 1 - i]
        else:
            for i in range(n):
                target[i] = source[i]


def move_row(a, b, n):
    """A row of at least a vector."""
    done = 0
    while done + FOUR <= n:
        move_vector(offset(a, done), offset(b, done), FOUR, False)
        done += FOUR
    while done + VECTOR_LANES <= n:
        move_vector(offset(a, done), offset(b, done), VECTOR_LANES, False)
        done += VECTOR_LANES
    if done < n:
        move_vector(offset(a, n - VECTOR_LANES), offset(b, n - VECTOR_LANES), VECTOR_LANES, False)


def reverse_row(a, b, n):
    """A row of at least a vector, back to front."""
    done = 0
    while done + FOUR <= n:
        move_vector(offset(a, n - FOUR - done), offset(b, done), FOUR, True)
        done += FOUR
    while done + VECTOR_LANES <= n:
        move_vector(offset(a, n - VECTOR_LANES - done), offset(b, done), VECTOR_LANES, True)
        done += VECTOR_LANES
    if done < n:
        move_vector(a, offset(b, n - VECTOR_LANES), VECTOR_LANES, True)


def rows_beyond(step, n, width):
    """How many rows, from the end of memory that a vector reaches beyond a row on, have no `width` words there."""
    return (width - n + abs(step) - 1) // max(abs(step), 1)


def move_rows(a, a_step, b, b_step, rows, n, backward):
    """b[r, i] = a[r, i], or a[r, n - 1 - i], for rows of n words. Those shorter than a vector are dense in b."""
    if n >= VECTOR_LANES:
        for r in range(rows):
            if backward:
                reverse_row(offset(a, r * a_step), offset(b, r * b_step), n)
            else:
                move_row(offset(a, r * a_step), offset(b, r * b_step), n)
        return
    width = QUARTER if n <= QUARTER else VECTOR_LANES
    reach = rows_beyond(a_step, n, width)
    first, stop = 0, rows - rows_beyond(n, n, width)
    if (a_step < 0) != backward:                         # the vectors of the first rows reach out of a
        first = reach
    else:
        stop = min(stop, rows - reach)
    if a_step == 0 or stop <= first:
        move_words(a, a_step, b, n, rows, n, backward)
        return
    move_words(a, a_step, b, n, first, n, backward)
    a_first, b_first = offset(a, first * a_step), offset(b, first * n)
    if backward:
        a_first = offset(a_first, n - width)
        if width == QUARTER:
            for r in range(stop - first):
                move_vector(offset(a_first, r * a_step), offset(b_first, r * n), QUARTER, True)
        else:
            for r in range(stop - first):
                move_vector(offset(a_first, r * a_step), offset(b_first, r * n), VECTOR_LANES, True)
    elif width == QUARTER:
        for r in range(stop - first):
            move_vector(offset(a_first, r * a_step), offset(b_first, r * n), QUARTER, False)
    else:
        for r in range(stop - first):
            move_vector(offset(a_first, r * a_step), offset(b_first, r * n), VECTOR_LANES, False)
    move_words(offset(a, stop * a_step), a_step, offset(b, stop * n), n, rows - stop, n, backward)
