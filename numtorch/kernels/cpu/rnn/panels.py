"""Weights of recurrent layers as their products want them: in panels for the steps, and gradients transposed.

A step of a recurrent layer multiplies a handful of rows with a weight that stays the same from step to step. Read as it lies,
transposed and over as many pages as the weight has rows, that takes twice as long as reading panels, one after another, from the
second-level cache. Transposed once a call, into panels of as many columns as a register tile has, nothing is left of a step's
product but the tiles.
"""
from __future__ import annotations

from numpy import float32, int64

from ...elementtypes import itemsize, same
from ...intrinsics import local_array, offset
from ...threads import prepare
from ..gemm.product import finish
from ..micro.tile import ACCUMULATE, COLUMN_BIAS, copy_row, host_tile, multiply_tile, tile_height, transpose_tile
from ..shared.elements import part_offsets, prepare_parts, shares, typed

T = float32
load = store = same
MR, NR, NV, W, MASKED = 14, 32, 2, 16, 1
GRAIN = 30_000
PRODUCT_GRAIN = 200_000                                  # multiply-adds: half of them takes as long as handing it over

# descriptors: of a weight that is laid out, its strides; of products, how C is made (micro/tile.py) and the length of its rows; of
# what is transposed, the length of the source's rows
DEPTH, COLUMNS, ROW_STEP, COLUMN_STEP = range(4)
ROWS, PRODUCT_DEPTH, FLAGS, PITCH = 0, 2, 3, 4
SOURCE_PITCH = COLUMNS + 1


def lay_panels(weight, panels, descriptor):
    """panels[j // NR][k][j % NR] = weight[k * row + j * column], and 0 in what the last panel has beyond the columns."""
    depth, columns, row, column = descriptor[DEPTH], descriptor[COLUMNS], descriptor[ROW_STEP], descriptor[COLUMN_STEP]
    whole = columns // NR * NR
    if column == 1:                                      # along the rows, in which memory is read in order
        for k in range(depth):
            line = offset(weight, k * row)
            for j in range(0, whole, NR):
                copy_row(NV, W, 0, offset(line, j), int64(NR), offset(panels, j * depth + k * NR))
    else:
        for j in range(0, whole, NR):
            source = offset(weight, j * column)
            out = offset(panels, j * depth)
            if row == 1 and depth >= W:
                k = int64(0)
                while k < depth:
                    k = min(k, depth - W)                # the last block overlaps the one before
                    transpose_tile(NR, W, offset(source, k), column, int64(NR), offset(out, k * NR))
                    k += W
            else:
                for k in range(depth):
                    for c in range(NR):
                        out[k * NR + c] = source[k * row + c * column]
    if whole < columns:
        for k in range(depth):
            line = offset(panels, whole * depth + k * NR)
            for c in range(columns - whole):
                line[c] = weight[k * row + (whole + c) * column]
            for c in range(columns - whole, NR):
                line[c] = T(0)


def multiply_panels(a, panels, c, bias, workspace, descriptor):
    """C = A @ weight for a weight in panels, and by `flags` what C was or a bias more; A and C are row-major, `pitch` is the length
    of C's rows. The addresses are a product's, the workspace is not used. As a batch of panels, each a planned product, it would
    take 1.5 times as long."""
    rows, columns, depth = descriptor[ROWS], descriptor[COLUMNS], descriptor[PRODUCT_DEPTH]
    flags, pitch = descriptor[FLAGS], descriptor[PITCH]
    sums = local_array(T, 256)                           # a tile at an edge, where lanes cannot be masked
    for j in range(0, columns, NR):
        panel = offset(panels, j * depth)
        i = int64(0)
        while i < rows:
            height = tile_height(rows - i, int64(MR))
            left, out = offset(a, i * depth), offset(c, i * pitch + j)
            if MASKED or columns - j >= NR:
                multiply_tile(MR, NV, W, MASKED, height, depth, left, depth, int64(1), panel, int64(NR), out, pitch, columns - j,
                              T(1), T(1), offset(bias, j), flags)
            else:
                multiply_tile(MR, NV, W, MASKED, height, depth, left, depth, int64(1), panel, int64(NR), sums, int64(NR),
                              columns - j, T(1), T(0), a, int64(0))
                finish(sums, int64(NR), out, pitch, int64(1), height, columns - j, T(1), T(1), offset(bias, j), flags)
            i += height


def transpose_rows(source, out, descriptor):
    """out[j][i] = source[i][j] for `columns` of the source, whose rows are `pitch` long, block by block in registers; rows of `out`
    are finished before the next ones: along the source's rows, 128 x 512 from memory takes 1.6 times as long on two threads."""
    rows, columns, pitch = descriptor[ROWS], descriptor[COLUMNS], descriptor[SOURCE_PITCH]
    block = local_array(T, 512)                          # W * W, and what `transpose_tile` writes beyond
    j = int64(0)
    while j < columns:
        if columns < W:
            for i in range(rows):
                out[j * rows + i] = source[i * pitch + j]
            j += 1
            continue
        j = min(j, columns - W)                          # the last block overlaps the one before
        for i in range(0, rows, W):
            height = min(rows - i, int64(W))
            transpose_tile(W, W, offset(source, i * pitch + j), pitch, height, block)
            target = offset(out, j * rows + i)
            for k in range(W):
                if height == W:
                    for r in range(W):
                        target[k * rows + r] = block[k * W + r]
                else:
                    for r in range(height):
                        target[k * rows + r] = block[k * W + r]
        j += W


def plan_transposed(dtype: str, rows: int, columns: int):
    """Plan out[columns, rows] = source[rows, columns].T, both row-major, for float32 and float64. Addresses: source, out."""
    tile, item = host_tile(itemsize(dtype)), itemsize(dtype)
    kernel = typed(transpose_rows, dtype, ("element*", "element*", "int64*"), W=tile.width)
    parts = shares(columns, rows * columns, GRAIN, tile.width)
    descriptors = [(rows, stop - start, columns) for start, stop in parts]
    return prepare_parts(kernel, descriptors, rows * columns, part_offsets(parts, item, rows * item))


def plan_panels(dtype: str, depth: int, columns: int, strides):
    """Plan laying a weight, seen as (depth, columns) with these strides, into panels.

    Addresses: weight, panels (`size_of_panels` elements).
    """
    tile = host_tile(itemsize(dtype))
    kernel = typed(lay_panels, dtype, ("element*", "element*", "int64*"), NR=tile.columns, NV=tile.vectors, W=tile.width)
    parts = shares(columns, depth * columns, GRAIN, tile.columns)
    rows = [(depth, stop - start, *strides) for start, stop in parts]
    item = itemsize(dtype)
    offsets = part_offsets(parts, strides[1] * item, depth * item)
    return prepare_parts(kernel, rows, depth * columns, offsets)


def size_of_panels(dtype: str, depth: int, columns: int) -> int:
    """Elements of a weight in panels."""
    wide = host_tile(itemsize(dtype)).columns
    return -(-columns // wide) * wide * depth


def plan_product(dtype: str, rows: int, columns: int, depth: int, further: bool = False, bias: bool = False,
                 threaded: bool = False):
    """Plan C[rows, columns] = A[rows, depth] @ weight for a weight in panels, added to C if `further`, and with a bias of `columns`
    elements; if `threaded`, threads share the columns. Addresses: A, the panels, C, the bias, and one that is not used."""
    tile = host_tile(itemsize(dtype))
    kernel = typed(multiply_panels, dtype, ("element*",) * 5 + ("int64*",), MR=tile.rows, NR=tile.columns, NV=tile.vectors,
                   W=tile.width, MASKED=int(tile.masked))
    flags, item = ACCUMULATE * further | COLUMN_BIAS * bias, itemsize(dtype)
    parts = shares(columns, rows * columns * depth, PRODUCT_GRAIN, tile.columns) if threaded else [(0, columns)]
    descriptors = [(rows, stop - start, depth, flags, columns) for start, stop in parts]
    return prepare(kernel, descriptors, [(0, start * depth * item, start * item, start * item * bias, 0) for start, _ in parts])


def pays_to_pack(dtype: str, sizes) -> bool:
    """Whether a weight used for steps of so many rows is laid into panels: not for a single step; not for single rows, whose
    products read it once from end to end as it lies; and 16-bit floats are widened in every product anyway."""
    return len(sizes) > 1 and sizes[0] > 1 and itemsize(dtype) >= 4


TRANSPOSED_ROWS, TRANSPOSED_COLUMNS = 128, 256           # from and below which a weight's gradient is computed transposed


def pays_to_transpose(dtype: str, rows: int, width: int, features: int) -> bool:
    """Whether the gradient of a weight (width, features) from so many rows is computed transposed: a product lays the columns of
    its left side into panels, so the narrower matrix stands there, and to transpose the result costs less than is gained."""
    return features < min(width, TRANSPOSED_COLUMNS) and rows >= TRANSPOSED_ROWS and itemsize(dtype) >= 4
