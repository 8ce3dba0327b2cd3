"""Copies that join tensors or cut off rows, and positions that repeat. Elements are words of their size; 16 bytes are two. How rows
are moved is in rows.py."""
from __future__ import annotations

from numpy import int64

from ...intrinsics import as_pointer, offset
from ...loopnest import LEAST_BYTES
from ..shared.elements import WORDS, part_offsets, prepare_parts, shares, typed
from .rows import QUARTER, VECTOR_LANES, lanes, move_alone, move_row, move_vector, move_words, vectors

GRAIN = 10_000                   # two threads take 0.8 of the time at twice as many

# descriptors: of tensors that are joined, how many there are and how many rows are moved in turns, then for each its number, the
# first element and the step from row to row there, the same in `out`, rows, elements of a row; of what is rolled, a part's rows,
# their words, how many come first; of triangles, a part's rows, a matrix's, their words, those of an element, the diagonal,
# whether the upper part is kept; of triangles' places a matrix's rows and columns, the diagonal, whether the upper part is meant,
# how many elements it has; of counts, how many; and what classes there are
PIECES, IN_TURNS, FIRST_PIECE = range(3)
TENSOR, START, STEP, OUT_START, PITCH, ROWS, LENGTH, PIECE = range(8)
FIRST, STOP, ROLL_LENGTH, SHIFT = range(4)
MATRIX_ROWS, ROW_WORDS, WORDS_EACH, DIAGONAL, UPPER = range(STOP + 1, STOP + 6)
PLACED_ROWS, PLACED_COLUMNS, PLACED_DIAGONAL, PLACED_UPPER, PLACED = range(5)
COUNT, CLASSES = range(2)


def join_short_pairs(table, out, descriptor):
    """`join_rows` of two tensors, their short rows in turns. What stands in `descriptor` is read once, which halves the time: the
    compiler cannot know that `out` does not change it."""
    first, second = offset(descriptor, FIRST_PIECE), offset(descriptor, FIRST_PIECE + PIECE)
    a = offset(as_pointer(table[first[TENSOR]], out), first[START])
    b = offset(as_pointer(table[second[TENSOR]], out), second[START])
    a_step, b_step, pitch, rows = first[STEP], second[STEP], first[PITCH], descriptor[IN_TURNS]
    a_out, b_out = offset(out, first[OUT_START]), offset(out, second[OUT_START])
    if max(first[LENGTH], second[LENGTH]) <= QUARTER:
        for row in range(rows):
            move_vector(offset(a, row * a_step), offset(a_out, row * pitch), QUARTER, False)
            move_vector(offset(b, row * b_step), offset(b_out, row * pitch), QUARTER, False)
    else:
        for row in range(rows):
            move_vector(offset(a, row * a_step), offset(a_out, row * pitch), VECTOR_LANES, False)
            move_vector(offset(b, row * b_step), offset(b_out, row * pitch), VECTOR_LANES, False)


def join_rows(table, out, descriptor):
    """Rows of several tensors, whose addresses are in `table`, copied to their places in one.

    Rows of which some are shorter than a vector are moved in turns, one of each tensor: so what a vector writes behind a row is
    written over next: two of (64, 1000, 10) along the last dim take 0.4 of the time so.
    """
    in_turns = descriptor[IN_TURNS]
    taken = int64(0)
    if descriptor[PIECES] == 2 and max(descriptor[FIRST_PIECE + LENGTH], descriptor[FIRST_PIECE + PIECE + LENGTH]) < VECTOR_LANES:
        join_short_pairs(table, out, descriptor)
        taken = in_turns
    for row in range(taken, in_turns):
        for k in range(descriptor[PIECES]):
            piece = offset(descriptor, FIRST_PIECE + k * PIECE)
            a = offset(as_pointer(table[piece[TENSOR]], out), piece[START] + row * piece[STEP])
            b = offset(out, piece[OUT_START] + row * piece[PITCH])
            if piece[LENGTH] < VECTOR_LANES:
                move_vector(a, b, VECTOR_LANES, False)
            else:
                move_row(a, b, piece[LENGTH])
    for k in range(descriptor[PIECES]):
        piece = offset(descriptor, FIRST_PIECE + k * PIECE)
        n = piece[LENGTH]
        a = offset(as_pointer(table[piece[TENSOR]], out), piece[START])
        b, step, pitch = offset(out, piece[OUT_START]), piece[STEP], piece[PITCH]
        if n >= VECTOR_LANES:
            for row in range(in_turns, piece[ROWS]):
                move_row(offset(a, row * step), offset(b, row * pitch), n)
        else:
            for row in range(in_turns, piece[ROWS]):
                move_words(offset(a, row * step), offset(b, row * pitch), n)


def roll_rows(x, out, descriptor):
    """The last words of each row come first.

    Both pieces of a row at once: all first ones and then all others take 1.5 times as long for rows of 256 bytes."""
    n, shift = descriptor[ROLL_LENGTH], descriptor[SHIFT]
    for row in range(descriptor[FIRST], descriptor[STOP]):
        a, b = offset(x, row * n), offset(out, row * n)
        move_alone(offset(a, n - shift), b, shift)
        move_alone(a, offset(b, shift), n - shift)


def triangle(x, out, descriptor):
    """The part of each row on one side of a diagonal; 0 elsewhere."""
    rows, n, words = descriptor[MATRIX_ROWS], descriptor[ROW_WORDS], descriptor[WORDS_EACH]
    diagonal, upper = descriptor[DIAGONAL], descriptor[UPPER]
    for row in range(descriptor[FIRST], descriptor[STOP]):
        a = offset(x, row * n)
        b = offset(out, row * n)
        cut = min(max((row % rows + diagonal + 1 - upper) * words, int64(0)), n)
        if upper != 0:
            for i in range(cut):
                b[i] = 0
            behind, to = offset(a, cut), offset(b, cut)
            for i in range(n - cut):
                to[i] = behind[i]
        else:
            for i in range(cut):
                b[i] = a[i]
            to = offset(b, cut)
            for i in range(n - cut):
                to[i] = 0


def triangle_places(out, descriptor):
    """The row of every element on one side of a diagonal, then the column of each."""
    columns, diagonal, upper = descriptor[PLACED_COLUMNS], descriptor[PLACED_DIAGONAL], descriptor[PLACED_UPPER]
    at = int64(0)
    for row in range(descriptor[PLACED_ROWS]):
        cut = min(max(row + diagonal + 1 - upper, int64(0)), columns)
        first = cut if upper != 0 else int64(0)
        count = columns - cut if upper != 0 else cut
        a, b = offset(out, at), offset(out, descriptor[PLACED] + at)
        for i in range(count):
            a[i] = row
        for i in range(count):
            b[i] = first + i
        at += count


def one_hot(classes, out, status, descriptor):
    """A row of zeros for each class, with a 1 at its place. status: 1 where a class has none, at which this part stops."""
    width = descriptor[CLASSES]
    for row in range(descriptor[COUNT]):
        place = int64(classes[row])
        if place < 0 or place >= width:
            status[0] = 1
            return
        b = offset(out, row * width)
        for i in range(width):
            b[i] = 0
        b[place] = 1


def total_of(counts, total, descriptor):
    """The sum of counts, at most 2^60: more would come round to a size that is there. -1 where one is negative."""
    sum_of_counts = negative = int64(0)
    for i in range(descriptor[COUNT]):
        sum_of_counts = min(sum_of_counts + min(int64(counts[i]), int64(1 << 60)), int64(1 << 60))
        negative += int64(int64(counts[i]) < 0)
    total[0] = sum_of_counts if negative == 0 else int64(-1)


def repeated_positions(counts, out, descriptor):
    """Each position as often as its count says."""
    filled = int64(0)
    for i in range(descriptor[COUNT]):
        for _ in range(int64(counts[i])):
            out[filled] = i
            filled += 1


# ---------------------------------------------------------------- planners
def _copying(function, size):
    return typed(function, WORDS[min(size, 8)], ("element*", "element*", "int64*")), 2 if size == 16 else 1


def _moving(function, size, first):
    """A kernel that moves rows by vectors."""
    return typed(function, WORDS[min(size, 8)], (first, "element*", "int64*"), QUARTER=lanes(size) // 4, FOUR=lanes(size) * 4)


def plan_join(size: int, pieces):
    """Rows of several tensors, each copied to its places in `out`. Addresses: a table of the tensors' addresses, out.

    Args:
        size: bytes of an element.
        pieces: for each tensor (rows, elements of a row, step from row to row; place in out, step there), none empty.
    """
    kernel, words = _moving(join_rows, size, "int64*"), 2 if size == 16 else 1
    pieces = [(rows, width, step, place, out_step) if rows > 1 else (width, 1, 1, place, 1)      # a single row is cut anywhere
              for rows, width, step, place, out_step in pieces]
    total = sum(rows * width for rows, width, *_ in pieces)
    spans = shares(total, total * size, LEAST_BYTES // 2)
    abreast = len({(rows, out_step) for rows, _, _, _, out_step in pieces}) == 1 and pieces[0][0] >= len(spans)
    parts = []
    for start, stop in spans:
        part, before = [], 0
        for tensor, (rows, width, step, place, out_step) in enumerate(pieces):
            if abreast:                                  # each part takes rows of all: whole rows of `out` (1.2 times as fast)
                first, last = rows * start // total, rows * stop // total
            else:
                first, last = (min(max(-(-(edge - before) // width), 0), rows) for edge in (start, stop))
            count, length = (last - first, width) if width > 1 else (1, last - first)
            if first < last:
                part += [tensor, first * step * words, step * words, (place + first * out_step) * words, out_step * words, count,
                         length * words]
            before += rows * width
        parts.append(part)
    longest = max(len(part) for part in parts)
    descriptors = [[len(part) // PIECE, _rows_in_turns(part, lanes(size)) if abreast else 0, *part, *[0] * (longest - len(part))]
             for part in parts]
    return prepare_parts(kernel, descriptors, total)


def _rows_in_turns(pieces, width):
    """How many rows of pieces, of which some are shorter than a vector, a vector may take without reaching beyond the last."""
    pieces = [pieces[k:k + PIECE] for k in range(0, len(pieces), PIECE)]
    rows, pitch = pieces[0][ROWS], pieces[0][PITCH]
    if min(n for *_, n in pieces) >= width or min(step for _, _, step, *_ in pieces) <= 0 or sum(n for *_, n in pieces) != pitch:
        return 0
    reach = max(max(-(-(width - n) // step), 0) for _, _, step, _, _, _, n in pieces)
    return max(rows - max(reach, -(-width // pitch)), 0)


def plan_roll(size: int, rows: int, n: int, shift: int):
    """Rows of which the last `shift` elements come first.

    Addresses: x, out, both (rows, n), dense and of elements of `size` bytes.
    """
    words = 2 if size == 16 else 1
    kernel = typed(roll_rows, WORDS[min(size, 8)], ("element*", "element*", "int64*"), **vectors(size))
    parts = shares(rows, rows * n * size * 2, LEAST_BYTES)
    descriptors = [(start, stop, n * words, shift * words) for start, stop in parts]
    return prepare_parts(kernel, descriptors, rows * n)


def plan_triangle(size: int, matrices: int, rows: int, columns: int, diagonal: int, upper: bool):
    """Of each matrix the elements on and above a diagonal (0 is the main one, 1 the one above it) where `upper`, else on and below
    it; 0 elsewhere.

    Addresses: x, out, both (matrices, rows, columns), dense and of elements of `size` bytes.
    """
    kernel, words = _copying(triangle, size)
    work = matrices * rows * columns
    parts = shares(matrices * rows, work, GRAIN)
    return prepare_parts(kernel, [(start, stop, rows, columns * words, words, diagonal, int(upper)) for start, stop in parts], work)


def plan_triangle_places(rows: int, columns: int, diagonal: int, upper: bool, count: int):
    """The rows of those elements of a matrix of so many rows and columns, one after another, then the columns: where the diagonal
    is, and `upper`, as for `plan_triangle`.

    Addresses: out int64 (2, count), where so many elements are on that side.
    """
    kernel = typed(triangle_places, "int64", ("int64*", "int64*"))
    return prepare_parts(kernel, [(rows, columns, diagonal, int(upper), count)], count)


def plan_one_hot(n: int, classes: int):
    """A row of zeros for each class, with a 1 at its place. Addresses: n classes int64, out int64 (n, classes), status: 1 where a
    class is not in [0, classes).
    """
    parts = shares(n, n * classes * 8, LEAST_BYTES)
    return prepare_parts(typed(one_hot, "int64", ("int64*",) * 4), [(stop - start, classes) for start, stop in parts], n * classes,
                         part_offsets(parts, 8, classes * 8, 0))


def plan_total(dtype: str, n: int):
    """The sum of counts, at most 2^60; -1 where one is negative. Addresses: counts (n), total int64."""
    return prepare_parts(typed(total_of, dtype, ("element*", "int64*", "int64*")), [(n,)], n)


def plan_repeated_positions(dtype: str, n: int):
    """Each position as often as its count says. Addresses: counts (n), none negative; out int64, as many as the counts say."""
    return prepare_parts(typed(repeated_positions, dtype, ("element*", "int64*", "int64*")), [(n,)], n)
