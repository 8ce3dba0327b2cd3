"""Weights of recurrent layers as their products want them: in panels for the steps, and gradients turned over.

A step of a recurrent layer multiplies a handful of rows with a weight that stays the same from step to step. Read as it lies,
transposed and over as many pages as the weight has rows, that took twice as long as reading panels, one after another, from the
second-level cache. Turned over once a call, each panel is a matrix of its own to the product, the panels a batch: as many columns
as a register tile has.
"""
from __future__ import annotations

from numpy import float32, int64

from ..intrinsics import local_array, offset
from .elements import itemsize, prepare_parts, shares, typed
from .gemm import plan_gemm
from .tile import copy_row, host_tile, transpose_tile

T = float32
NR, NV, W = 32, 2, 16
GRAIN = 60_000


def lay_panels(weight, panels, walk):
    """panels[j // NR][k][j % NR] = weight[k * row + j * column]; the last panel is as narrow as what is left."""
    depth, columns, row, column = walk[0], walk[1], walk[2], walk[3]
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
    for k in range(depth):
        for c in range(columns - whole):
            panels[whole * depth + k * (columns - whole) + c] = weight[k * row + (whole + c) * column]


def turn_over(source, out, walk):
    """out[j][i] = source[i][j] for `rows` of the source, whose rows follow one another; block by block in registers: element by
    element, a weight of 512 x 128 took 40 us, and takes 9."""
    rows, columns, pitch = walk[0], walk[1], walk[2]
    block = local_array(T, 512)                          # W * W, and what `transpose_tile` writes beyond
    for i in range(0, rows, W):
        height = min(rows - i, int64(W))
        lines = offset(source, i * columns)
        j = int64(0)
        while j < columns:
            target = offset(out, j * pitch + i)
            if columns < W:
                for r in range(height):
                    target[r] = lines[r * columns + j]
                j += 1
                continue
            j = min(j, columns - W)                      # the last block overlaps the one before
            target = offset(out, j * pitch + i)
            transpose_tile(W, W, offset(lines, j), columns, height, block)
            for k in range(W):
                if height == W:
                    for r in range(W):
                        target[k * pitch + r] = block[k * W + r]
                else:
                    for r in range(height):
                        target[k * pitch + r] = block[k * W + r]
            j += W


def plan_turned(dtype: str, rows: int, columns: int):
    """Plan out[columns, rows] = source[rows, columns].T, both row-major, for float32 and float64. Addresses: source, out."""
    tile, item = host_tile(itemsize(dtype)), itemsize(dtype)
    kernel = typed(turn_over, dtype, ("element*", "element*", "int64*"), W=tile.width)
    parts = shares(rows, rows * columns, GRAIN, tile.width)
    walks = [(stop - start, columns, rows) for start, stop in parts]
    return prepare_parts(kernel, walks, [(start * columns * item, start * item) for start, _ in parts], rows * columns)


def plan_panels(dtype: str, depth: int, columns: int, strides):
    """Plan laying a weight, seen as (depth, columns) with these strides, into panels. Addresses: weight, panels (of its size)."""
    tile = host_tile(itemsize(dtype))
    kernel = typed(lay_panels, dtype, ("element*", "element*", "int64*"), NR=tile.columns, NV=tile.vectors, W=tile.width)
    parts = shares(columns, depth * columns, GRAIN, tile.columns)
    rows = [(depth, stop - start, *strides) for start, stop in parts]
    item = itemsize(dtype)
    offsets = [(start * strides[1] * item, start * depth * item) for start, _ in parts]
    return prepare_parts(kernel, rows, offsets, depth * columns)


def plan_products(dtype: str, rows: int, columns: int, depth: int, **options):
    """Plan C[rows, columns] = A[rows, depth] @ weight for a weight in panels, A and C row-major.

    Args:
        options: as for `plan_gemm`, but for a bias, which would have to move on with the panels.

    Returns:
        Prepared products, each with what it adds to the addresses of the weight and of C, in elements: the whole panels, and what
        is left.
    """
    wide = host_tile(itemsize(dtype)).columns
    panels, rest = divmod(columns, wide)
    found = []
    if panels:
        found.append((plan_gemm(rows, wide, depth, dtype, (depth, 1), (wide, 1), (columns, 1), batch=panels,
                                batch_strides=(0, wide * depth, wide), **options), 0, 0))
    if rest:
        found.append((plan_gemm(rows, rest, depth, dtype, (depth, 1), (rest, 1), (columns, 1), **options),
                      panels * wide * depth, panels * wide))
    return found


def worth_laying(dtype: str, sizes) -> bool:
    """Whether a weight used for steps of so many rows is laid into panels: not for a single step; not for single rows, whose
    products read it once from end to end as it lies; and 16-bit floats are widened in every product anyway."""
    return len(sizes) > 1 and sizes[0] > 1 and itemsize(dtype) >= 4
