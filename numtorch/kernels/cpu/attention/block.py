"""A block of attention: queries of one head against some keys, and what forward and backward do with it alike.

Scores lie transposed, keys down and queries across: `ACROSS` queries, whole panels of the register tile of `micro/tile.py`. So
maxima, sums and corrections run along vectors without a sum across lanes; scores are the right operand of the product with V as
they stand; keys and values are only ever left operands, read in place from any layout; and a narrow head (8 elements) fills the
vectors all the same. The algorithm is in `attention.py`.
"""
from __future__ import annotations

from numpy import float32, inf, int64, uint64

from ...elementtypes import same
from ...intrinsics import address_of, as_pointer, float_of, local_array, offset, select
from ..micro.tile import multiply_tile, tile_height, transpose_tile
from ..random.philox import philox

T = float32                                              # the compute type; bound by compile_kernel, like the names below
MR, NV, W, NR = 14, 2, 16, 32
load = store = same
ACROSS = 64                                               # queries of a block, whole panels: 4 vectors in a row, as many as LLVM
                                                         # interleaves

# The descriptor: which items this part has, sizes, strides in elements (batch, head, row; of the mask also column), offsets
# into the workspace. In forward an item is a block of queries, in backward a batch and a head of K and V.
FIRST, END, HEADS, GROUP, QUERIES, KEYS, DEPTH, WIDTH, SCALE, MASK, CAUSAL, KEY_BLOCK, KEPT_BELOW, KEPT_SCALE = range(14)
Q, K, V, OUT, MASK_STRIDES, GRAD, GRAD_Q, GRAD_K, GRAD_V, SPACES = 14, 17, 20, 23, 26, 30, 33, 36, 39, 42
HEAD, ROW, COLUMN = range(1, 4)                          # of strides, behind that of batches
FLOAT_MASK, BOOL_MASK = 1, 2


# ---------------------------------------------------------------- tiles
def at(array, descriptor, strides, batch, head, row):
    return offset(array, batch * descriptor[strides] + head * descriptor[strides + HEAD] + row * descriptor[strides + ROW])


def whole_panels(columns):
    return (columns + NR - 1) // NR * NR


def product(rows, depth, left, left_row, left_column, right, right_row, out, out_row, flags):
    """One panel of `out` (+)= left @ right, all of its NR columns."""
    i = int64(0)
    while i < rows:
        height = tile_height(rows - i, int64(MR))
        multiply_tile(MR, NV, W, 0, height, depth, offset(left, i * left_row), left_row, left_column, right, right_row,
                      offset(out, i * out_row), out_row, int64(NR), T(1), T(1), out, flags)
        i += height


def in_place(source, row, rows, columns, room):
    return source


def widened(source, row, rows, columns, room):
    """Rows of 16-bit words as rows of the compute type."""
    for i in range(rows):
        line = offset(source, i * row)
        to = offset(room, i * columns)
        for j in range(columns):
            to[j] = load(line[j])
    return room


def own_row(row, columns):
    return row


def packed_row(row, columns):
    return columns


rows_of, row_of = in_place, own_row                      # how K and V become operands, and the stride of their rows then


def transpose_in(source, row, present, depth, scale, room, out):
    """out[k * ACROSS + r] = scale * source[r * row + k] for r < ACROSS, where absent rows repeat the first."""
    lines = rows_of(source, row, present, depth, room)
    step = row_of(row, depth)
    if depth >= W:
        k = int64(0)
        while k < depth:
            k = min(k, depth - W)                        # the last block overlaps the one before
            transpose_tile(ACROSS, W, offset(lines, k), step, present, offset(out, k * ACROSS))
            k += W
    else:
        for r in range(ACROSS):
            line = offset(lines, select(r < present, r * step, int64(0)))
            for k in range(depth):
                out[k * ACROSS + r] = line[k]
    for i in range(depth * ACROSS):
        out[i] *= scale


def transpose_out(block, rows, present, scale, room, out, row):
    """out[j * row + r] = scale * block[r * ACROSS + j] for r < rows and j < present."""
    for top in range(0, rows, NR):
        width = min(rows - top, int64(NR))
        for first in range(0, present, W):
            transpose_tile(NR, W, offset(block, top * ACROSS + first), int64(ACROSS), width, room)
            for j in range(min(present - first, int64(W))):
                line = offset(out, (first + j) * row + top)
                values = offset(room, j * NR)
                for r in range(width):
                    line[r] = store(values[r] * scale)


# ---------------------------------------------------------------- masks
def mask_row(mask, kind, begin, column, keys, like, out):
    """A row of the mask as what is added to scores: a bool one is 0 where it holds, else -inf."""
    if kind == BOOL_MASK:
        flags = offset(mask, begin)
        if column == 1:
            for c in range(keys):
                out[c] = select(flags[c] != 0, T(0), T(-inf))
        else:
            for c in range(keys):
                out[c] = select(flags[c * column] != 0, T(0), T(-inf))
    else:
        values = offset(as_pointer(address_of(mask), like), begin)
        for c in range(keys):
            out[c] = load(values[c * column])


def add_mask(scores, keys, mask, like, descriptor, batch, head, first, present, start, room, transposed):
    """scores[c * ACROSS + j] += mask of query first + j and key start + c."""
    row, column = descriptor[MASK_STRIDES + ROW], descriptor[MASK_STRIDES + COLUMN]
    begin = batch * descriptor[MASK_STRIDES] + head * descriptor[MASK_STRIDES + HEAD] + first * row + start * column
    length, lanes = descriptor[KEY_BLOCK], whole_panels(present)
    if row == 0:                                         # the same for all queries, as a mask of padding is
        mask_row(mask, descriptor[MASK], begin, column, keys, like, room)
        for c in range(keys):
            line = offset(scores, c * ACROSS)
            for j in range(lanes):
                line[j] += room[c]
        return
    for r in range(present):
        mask_row(mask, descriptor[MASK], begin + r * row, column, keys, like, offset(room, r * length))
    for block in range(0, keys, W):                      # the length of a row is a multiple of W
        transpose_tile(ACROSS, W, offset(room, block), length, present, transposed)
        line = offset(scores, block * ACROSS)
        for i in range(min(keys - block, int64(W)) * ACROSS):
            line[i] += transposed[i]


def hide_future(scores, keys, lanes, first, start):
    """-inf for keys after the query."""
    for c in range(max(first + 1 - start, int64(0)), keys):
        line = offset(scores, c * ACROSS)
        reach = min(start + c - first, lanes)
        for j in range(reach):
            line[j] = T(-inf)


def panel_reach(descriptor, first, present, start, keys):
    """How many keys of a block the last query of a panel sees."""
    if descriptor[CAUSAL]:
        return max(min(keys, first + present - start), int64(0))
    return keys


# ---------------------------------------------------------------- dropout
def draw(kept, keys, descriptor, state, block, start):
    """kept[c * ACROSS + j] = 0, or 1 / (1 - p) for what is kept, of key start + c: a function of the generator's state, the number
    of the block of queries and the key alone, so that backward draws the same."""
    words = local_array(uint64, 128)
    limit, scale = uint64(descriptor[KEPT_BELOW]), T(float_of(descriptor[KEPT_SCALE]))
    chunks = (descriptor[KEYS] * ACROSS + 127) // 128           # of 128 words each; a block of keys starts with a chunk
    first = block * chunks + start * ACROSS // 128
    for i in range(0, keys * ACROSS, 128):
        philox(words, state[0], state[1] + (first + i // 128) * 32)
        values = offset(kept, i)
        for j in range(min(keys * ACROSS - i, int64(128))):
            values[j] = select(words[j] < limit, scale, T(0))


def multiply_by(block, factors, count):
    for i in range(count):
        block[i] *= factors[i]
