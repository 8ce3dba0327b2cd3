"""Packing for the matrix products: blocks of A and B laid out as the micro-kernel reads them.

A block of A becomes tiles of MR rows at a pitch of LEFT, a block of B panels of NR columns, each with its depth in order (the
formats of GotoBLAS). Rows that lie along the depth are transposed in registers; rows that lie across it are copied, all tiles
of a block side by side, so that memory is read in long runs.
"""
from __future__ import annotations

from numpy import float32, int64

from ...intrinsics import offset
from ..micro.tile import copy_row, prefetch, tile_height, transpose_tile

T = float32                                              # bound by compile_kernel, like the names below
MR, LV, NV, W, NR, MASKED = 14, 1, 2, 16, 32, 1
LEFT = 16                                                # whole vectors: a pitch of 14 takes a third longer

# Rows of a panel of B are asked for so long before they are copied. They lie in different pages, and what a core reads of its own
# accord is limited by the 16 lines its first-level cache may wait for: packing takes 0.7 of the time so, and 0.9 where they are
# asked for into the first level.
AHEAD = 24


def _pack(source, stride, step, present, pitch_rows, depth, out):
    """out[k * pitch_rows + r] = source[r * stride + k * step], any strides; what is absent becomes 0."""
    for k in range(depth):
        for r in range(present):
            out[k * pitch_rows + r] = source[r * stride + k * step]
        for r in range(present, pitch_rows):
            out[k * pitch_rows + r] = T(0)


def copy_masked(source, present, out):
    copy_row(LV, W, MASKED, source, present, out)


def copy_exactly(source, present, out):
    for r in range(MR):
        out[r] = source[r]


copy_left = copy_masked


def _pack_left(source, row, column, present, depth, out):
    """One tile's rows of A."""
    if column == 1 and depth >= W:
        k = 0
        while k < depth:
            k = min(k, depth - W)                        # the last block overlaps the one before
            transpose_tile(LEFT, W, offset(source, k), row, present, offset(out, k * LEFT))
            k += W
    elif row == 1 and present == MR:                     # a mask that is known need not be made for each row
        for k in range(depth):
            copy_left(offset(source, k * column), int64(MR), offset(out, k * LEFT))
    elif row == 1 and MASKED:
        for k in range(depth):
            copy_left(offset(source, k * column), present, offset(out, k * LEFT))
    else:
        _pack(source, row, column, present, int64(LEFT), depth, out)


def _pack_right(source, row, column, present, depth, out):
    """One panel's columns of B, at a pitch of NR."""
    if row == 1 and depth >= W:
        k = 0
        while k < depth:
            k = min(k, depth - W)
            transpose_tile(NR, W, offset(source, k), column, present, offset(out, k * NR))
            k += W
    elif column == 1 and present == NR:
        for k in range(depth):
            for j in range(0, NR, W):
                prefetch(offset(source, (k + AHEAD) * row + j))
            copy_row(NV, W, 0, offset(source, k * row), present, offset(out, k * NR))
    elif column == 1 and MASKED:
        for k in range(depth):
            copy_row(NV, W, MASKED, offset(source, k * row), present, offset(out, k * NR))
    else:
        _pack(source, column, row, present, int64(NR), depth, out)


def pack_rows(left, a_row, a_column, rows, depth, out):
    tile, i = int64(0), int64(0)
    if MASKED and a_row == 1:             # whole tiles, all at a time: columns of A are read in long runs
        while tile_height(rows - i, int64(MR)) == MR:
            i += MR
        tile = i // MR
        for k in range(depth):
            for t in range(tile):
                copy_left(offset(left, k * a_column + t * MR), int64(MR), offset(out, (t * depth + k) * LEFT))
    while i < rows:
        height = tile_height(rows - i, int64(MR))
        pack_left(offset(left, i * a_row), a_row, a_column, height, depth, offset(out, tile * LEFT * depth))
        i += height
        tile += 1


def pack_columns(right, b_row, b_column, columns, depth, out):
    for j in range(0, columns, NR):
        pack_right(offset(right, j * b_column), b_row, b_column, min(columns - j, int64(NR)), depth,
                   offset(out, j * depth))


def pack_left_words(source, row, column, present, depth, out):
    _pack(source, row, column, present, int64(LEFT), depth, out)


def pack_right_words(source, row, column, present, depth, out):
    _pack(source, column, row, present, int64(NR), depth, out)


pack_left, pack_right = _pack_left, _pack_right
