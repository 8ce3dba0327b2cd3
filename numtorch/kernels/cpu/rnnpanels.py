"""A weight laid out for products with few rows that are done again and again: panels of as many columns as a register tile has.

A step of a recurrent layer multiplies a handful of rows with a weight that stays the same from step to step. Read as it lies,
transposed and over as many pages as the weight has rows, that took twice as long as reading panels, one after another, from the
second-level cache. Turned over once a call, each panel is a matrix of its own to the product, the panels a batch.
"""
from __future__ import annotations

from numpy import float32, int64

from ..intrinsics import offset
from .elements import itemsize, prepare_parts, shares, typed
from .gemm import plan_gemm
from .tile import host_tile, transpose_tile

T = float32
NR, W = 32, 16
GRAIN = 60_000


def lay_panels(weight, panels, walk):
    """panels[j // NR][k][j % NR] = weight[k * row + j * column]; the last panel is as narrow as what is left."""
    depth, columns, row, column = walk[0], walk[1], walk[2], walk[3]
    for j in range(0, columns, NR):
        width = min(columns - j, int64(NR))
        source = offset(weight, j * column)
        out = offset(panels, j * depth)
        if width == NR and row == 1 and depth >= W:
            k = int64(0)
            while k < depth:
                k = min(k, depth - W)                    # the last block overlaps the one before
                transpose_tile(NR, W, offset(source, k), column, width, offset(out, k * NR))
                k += W
        elif width == NR and column == 1:
            for k in range(depth):
                line = offset(source, k * row)
                target = offset(out, k * NR)
                for c in range(NR):
                    target[c] = line[c]
        else:
            for k in range(depth):
                for c in range(width):
                    out[k * width + c] = source[k * row + c * column]


def plan_panels(dtype: str, depth: int, columns: int, strides):
    """Plan laying a weight, seen as (depth, columns) with these strides, into panels. Addresses: weight, panels (of its size)."""
    tile = host_tile(itemsize(dtype))
    kernel = typed(lay_panels, dtype, ("element*", "element*", "int64*"), NR=tile.columns, W=tile.width)
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
