"""Rows of words moved as they are or back to front, a vector at a time.

A row that no vector fits into is moved by one all the same: what the vector writes behind the row, the next row writes over. So a
row of 3 words takes a ninth of the time, and one of 10 a third. Only rows at the ends are moved word by word, where a vector would
read or write what is not the rows'.
"""
from __future__ import annotations

from ...intrinsics import Intrinsic, offset

VECTOR_LANES = 16                                        # words of a vector; bound by `typed`
EIGHTH, QUARTER, HALF, FOUR = 2, 4, 8, 64                # words of short vectors, and of four; bound by the planner
WIDTH, BACKWARD = 16, False                              # words of the vector that moves short rows, and how rows are; likewise


def lanes(size):
    """Words of a vector, of which elements of `size` bytes are made."""
    return 64 // min(size, 8)


def vectors(size):
    """The names that `move_alone` is bound to."""
    n = lanes(size)
    return dict(EIGHTH=n // 8, QUARTER=n // 4, HALF=n // 2, FOUR=n * 4)


def _move_vector(source, target, count, backward):
    """target[i] = source[i] for `count` elements, or source[count - 1 - i]; both `count` and `backward` are constants."""
    for i in range(count):                               # which do not overlap
        target[i] = source[count - 1 - i if backward else i]


_move_vector.__name__ = "move_vector"
move_vector = Intrinsic(_move_vector, module="numtorch.kernels.cpu.move.row_ir")


def move_words(a, b, n):
    """A row moved word by word."""
    for i in range(n):
        b[i] = a[n - 1 - i if BACKWARD else i]


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


def move_alone(a, b, n):
    """A row of which no neighbour is read or written: a short one by two vectors that may overlap; a long one is a memcpy."""
    if n > 8 * VECTOR_LANES:
        for i in range(n):
            b[i] = a[i]
    elif n >= VECTOR_LANES:
        move_row(a, b, n)
    elif n >= HALF:
        move_vector(a, b, HALF, False)
        move_vector(offset(a, n - HALF), offset(b, n - HALF), HALF, False)
    elif n >= QUARTER:
        move_vector(a, b, QUARTER, False)
        move_vector(offset(a, n - QUARTER), offset(b, n - QUARTER), QUARTER, False)
    elif n >= EIGHTH:
        move_vector(a, b, EIGHTH, False)
        move_vector(offset(a, n - EIGHTH), offset(b, n - EIGHTH), EIGHTH, False)
    else:
        for i in range(n):
            b[i] = a[i]


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


def move_long_rows(x, at, x_step, out, to, out_step, rows, n, low, high, end):
    """out[to + r * out_step + i] = x[at + r * x_step + i], or of BACKWARD rows x[.. + n - 1 - i], for rows of at least a vector."""
    for r in range(rows):
        if BACKWARD:
            reverse_row(offset(x, at + r * x_step), offset(out, to + r * out_step), n)
        else:
            move_row(offset(x, at + r * x_step), offset(out, to + r * out_step), n)


def vectors_stay(first, x_step, to, rows, n, low, high, end):
    """Whether vectors of rows, of which the first begins at `first`, stay in x[low:high] and out[:end]."""
    last = first + (rows - 1) * x_step
    return min(first, last) >= low and max(first, last) + WIDTH <= high and to + (rows - 1) * n + WIDTH <= end


def move_short_rows(x, at, x_step, out, to, out_step, rows, n, low, high, end):
    """The same for rows of up to WIDTH words, dense in `out`: by vectors, unless they would leave x[low:high] or out[:end]."""
    first = at + (n - WIDTH if BACKWARD else 0)
    edge = 0                                             # rows at both ends that are moved by words
    if not vectors_stay(first, x_step, to, rows, n, low, high, end):
        edge = min(max(WIDTH // max(abs(x_step), 1), WIDTH // n) + 1, rows)
        if not vectors_stay(first + edge * x_step, x_step, to + edge * n, rows - 2 * edge, n, low, high, end):
            edge = rows
    for r in range(edge):
        move_words(offset(x, at + r * x_step), offset(out, to + r * n), n)
    a, b = offset(x, first + edge * x_step), offset(out, to + edge * n)
    for r in range(rows - 2 * edge):
        move_vector(offset(a, r * x_step), offset(b, r * n), WIDTH, BACKWARD)
    for r in range(max(edge, rows - edge), rows):
        move_words(offset(x, at + r * x_step), offset(out, to + r * n), n)
