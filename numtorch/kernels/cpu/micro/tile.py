"""The register tile of this processor, and what the micro-kernels mean.

A matrix product is computed tile by tile: `rows` x `vectors * width` elements of C stay in registers while A and B
stream past. The functions below are Python twins, run under `NUMBA_DISABLE_JIT=1`; `microkernel.py` has the LLVM IR.
"""
from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

from ...intrinsics import Intrinsic
from ...targets.processor import name_and_features

SCALE, ACCUMULATE, COLUMN_BIAS, ROW_BIAS, RELU = 16, 1, 2, 4, 8  # flags of the epilogue, applied in this order
ASK_ROWS = 2                                             # beside `masked`: the rows of A behind a tile are asked for meanwhile


class Tile(NamedTuple):
    """`rows` x `vectors` accumulators of `width` elements; `masked` when the processor masks lanes for free."""

    rows: int
    vectors: int
    width: int
    masked: bool

    @property
    def columns(self) -> int:
        return self.vectors * self.width


@cache
def host_vector() -> tuple[int, int]:
    """Bytes of a vector register and number of them."""
    _, features = name_and_features()
    if features.get("avx512f"):
        return 64, 32
    if features.get("avx") and features.get("fma"):
        return 32, 16
    return 16, 32 if features.get("neon") else 16


@cache
def second_level_bytes() -> int:
    """Bytes of the second-level cache of a core; 2 MB where the system does not say."""
    try:
        with open("/sys/devices/system/cpu/cpu0/cache/index2/size") as file:
            return int(file.read().strip().removesuffix("K")) << 10
    except (OSError, ValueError):
        return 2 << 20


def host_tile(item_bytes: int) -> Tile:
    """The tile for elements of 4 or 8 bytes. `NUMTORCH_VECTOR_BYTES` narrows the vectors, for tests."""
    size, registers = host_vector()
    asked = int(os.environ.get("NUMTORCH_VECTOR_BYTES", size))
    if asked != size:
        size, registers = asked, 16
    width = size // item_bytes
    if size == 64:
        return Tile(14, 2, width, True)                  # 28 sums, 2 vectors of B and a broadcast fill 32 registers
    return Tile(8, 3, width, False) if registers == 32 else Tile(6, 2, width, False)


def _even_share(remaining, tiles):
    return min(((remaining + tiles - 1) // tiles + 1) // 2 * 2, remaining)


def tile_height(remaining, tallest):
    """Rows of the next tile, even while there are: what remains is shared, 15 = 8 + 7 and not 14 + 1."""
    if remaining <= tallest:
        return remaining
    if remaining <= 2 * tallest:
        return _even_share(remaining, 2)
    return _even_share(remaining, 3) if remaining <= 3 * tallest else tallest


def _multiply_tile(max_rows, vectors, width, masked, rows, depth, left, left_row, left_column, right, right_row, out, out_row,
                   columns, alpha, beta, bias, flags):
    """out[rows, vectors * width] = relu(alpha * left @ right + beta * out + bias), all but the product by their flags.

    Args:
        max_rows, vectors, width, masked: literals, the fields of a `Tile`; `masked` with ASK_ROWS or without.
        rows: the height of this tile, 1 to max_rows.
        left: element (i, k) is left[i * left_row + k * left_column].
        right: element (k, j) is right[k * right_row + j].
        columns: how many columns of `out` there are, when masked; unmasked, all of the tile is read and written.
        bias: `vectors * width` elements for COLUMN_BIAS, `rows` for ROW_BIAS.
    """
    for i in range(rows):
        for j in range(min(columns, vectors * width) if masked & 1 else vectors * width):
            total = type(alpha)(0)
            for k in range(depth):
                total += left[i * left_row + k * left_column] * right[k * right_row + j]
            if flags & SCALE:
                total = alpha * total
            if flags & ACCUMULATE:
                total += beta * out[i * out_row + j]
            if flags & COLUMN_BIAS:
                total += bias[j]
            if flags & ROW_BIAS:
                total += bias[i]
            if flags & RELU and total < 0:
                total = type(alpha)(0)
            out[i * out_row + j] = total


def _transpose_tile(rows, width, source, source_row, present, out):
    """out[k * rows + r] = source[r * source_row + k] for k < width and r < rows, where r >= present repeats row 0.

    The compiled form writes vectors, up to `width - 1` elements beyond the end of `out`.
    """
    for k in range(width):
        for r in range(rows):
            out[k * rows + r] = source[(r if r < present else 0) * source_row + k]


def _copy_row(vectors, width, masked, source, present, out):
    """out[j] = source[j] where j < present, else 0, for j < vectors * width. Only where lanes are masked."""
    for j in range(vectors * width):
        out[j] = source[j] if j < present else 0


def _sum_rows(vectors, width, weights, rows, stride, depth, columns, sums):
    """sums[j] = sum over k < depth of weights[k] * rows[k * stride + j], for columns <= vectors * width."""
    for j in range(columns):
        total = sums.dtype.type(0)
        for k in range(depth):
            total += weights[k] * rows[k * stride + j]
        sums[j] = total


def _prefetch(where):
    """Have the cache line of `where`, which need not exist, fetched into the second-level cache."""


def _micro(twin, name):
    twin.__name__ = name
    return Intrinsic(twin, module="numtorch.kernels.cpu.micro.microkernel")


multiply_tile = _micro(_multiply_tile, "multiply_tile")
transpose_tile = _micro(_transpose_tile, "transpose_tile")
sum_rows = _micro(_sum_rows, "sum_rows")
copy_row = _micro(_copy_row, "copy_row")
prefetch = _micro(_prefetch, "prefetch")
