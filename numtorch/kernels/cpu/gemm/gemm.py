"""Matrix products: C = act(alpha * A @ B + beta * C + bias), batched, for every dtype.

The structure is that of GotoBLAS and BLIS (Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", 2008):
a register tile of C, and blocks of A and B that stay in the caches. Three kernels share it, and a plan compiles only the
one it takes:

- `_blocked`: float32 and float64. What is packed, which blocks are made and in which order tiles come is decided by the
  plan (`_wide_blocking`): often nothing is packed, or only panels of B.
- `_staged`: 16-bit floats and 8-bit integers are widened on their way in, or taken in pairs (`half.py`); sums are kept in
  the wider type and rounded once; also for a C without a unit stride.
- `_loops`: complex numbers, as plain loops.

Matrix times vector is in `gemv.py`, batches of tiny matrices are in `tiny.py`, packing is in `pack.py`, the register tile
in `micro/tile.py` and `micro/microkernel.py`. A thread runs the same kernel on its share of the batch, the rows or the columns; of
few rows and columns, on its share of the depth (`depth.py`).
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy import float32, int64

from ... import compiler, threads
from ...intrinsics import offset
from ..micro.tile import (
    ACCUMULATE,
    ASK_ROWS,
    COLUMN_BIAS,
    RELU,
    ROW_BIAS,
    SCALE,
    host_tile,
    multiply_tile,
    prefetch,
    second_level_bytes,
    tile_height,
)
from . import depth as gemmdepth
from . import gemv, half, tiny
from .half import widen_left, widen_right
from .pack import (
    copy_exactly,
    copy_masked,
    pack_columns,
    pack_left,
    pack_left_words,
    pack_right_words,
    pack_rows,
)
from .product import (
    A_BATCH,
    A_COLUMN,
    A_ROW,
    ALPHA,
    B_BATCH,
    B_COLUMN,
    B_ROW,
    BATCH,
    BETA,
    BIAS_STRIDE,
    C_BATCH,
    C_COLUMN,
    C_ROW,
    COLUMN_BLOCK,
    DEPTH_BLOCK,
    FLAGS,
    IN_PLACE,
    LEFT_SPACE,
    PACKED,
    PACKING,
    RIGHT_SPACE,
    ROW_BLOCK,
    SERIAL_WORK,
    SUM_SPACE,
    SWAP,
    TALLEST,
    TRANSPOSED,
    K,
    M,
    N,
    Problem,
    compile_for,
    complex_scalar,
    copy_bias,
    finish,
    float_scalar,
    prepare,
    round_up,
    same,
    space,
    split,
    tile_pitch,
)

T = float32                                              # bound by compile_kernel, like the names below
MR, NV, W, NR, MASKED, LEFT = 14, 2, 16, 32, 1, 16
BY_TILES = 1                                             # 0: no kernel for tiles packed one by one
LANES = 1                                                # MASKED, with ASK_ROWS where tiles ask for the rows of A to come
NARROW = 0                                               # 1: panels of one vector have tiles of their own
EDGE = 16                                                # what the columns read in place must be a multiple of
PACK_LEFT, PACK_RIGHT, ALONG_ROWS, PACK_TILES = 1, 2, 4, 8       # bits of the descriptor's PACKING
LEFT_GAP = 16                                            # between staged rows of A, which would be powers of two apart
load = store = same                                      # 16-bit words are widened and rounded by these
stage_left, stage_right, finish_rows = widen_left, widen_right, finish     # how they are brought in and out,
STEP = 1                                                 # and how many steps a word holds
scalar = float_scalar

# ---------------------------------------------------------------- one panel of tiles
def _tile(rows, depth, left, left_row, left_column, right, right_row, out, out_row, columns, alpha, beta, bias, flags, sums):
    """One register tile; where lanes cannot be masked, an edge goes through `sums`."""
    if NARROW and columns <= W:
        multiply_tile(MR, 1, W, LANES, rows, depth, left, left_row, left_column, right, right_row, out, out_row, columns,
                      alpha, beta, bias, flags)
    elif MASKED or columns >= NR:
        multiply_tile(MR, NV, W, LANES, rows, depth, left, left_row, left_column, right, right_row, out, out_row, columns,
                      alpha, beta, bias, flags)
    else:
        multiply_tile(MR, NV, W, MASKED, rows, depth, left, left_row, left_column, right, right_row, sums, int64(NR),
                      columns, T(1), T(0), bias, int64(0))
        finish(sums, int64(NR), out, out_row, int64(1), rows, columns, alpha, beta, bias, flags)


def _blocks(depth, block):
    """The size of the next of the blocks of the depth: two equal ones rather than a full and a small one."""
    return depth if depth <= block else block if depth >= 2 * block else (depth + 1) // 2


def _block_flags(flags, start, thick, depth):
    """The epilogue of one block of the depth: all but the first add to C, bias and activation belong to the last."""
    if start + thick < depth:
        flags &= ACCUMULATE | SCALE
    return flags | ACCUMULATE if start > 0 else flags


# ---------------------------------------------------------------- blocks
def _multiply_block(packing, tallest, rows, columns, depth, left, left_row, left_column, packed_left, coming, coming_rows,
                    coming_depth, right, right_row, packed_from, packed_right, out, out_row, alpha, beta, bias, flags, sums):
    """A block of rows of A times a block of columns of B, tile by tile: down the panels, or along the rows. The columns before
    `packed_from` are read where B lies. `coming` is what of A will be packed next: each tile asks for some steps of its depth.
    Packing A of 2048^3 of float32 takes 2 % of the whole so, and not 3 %."""
    left_packed, along_rows = packing & (PACK_LEFT | PACK_TILES), packing & ALONG_ROWS
    tiles = (columns + (NR - 1)) // NR * ((rows + (MR - 1)) // MR)
    asked, each = int64(0), (coming_depth + tiles - 1) // tiles
    i, j, tile = int64(0), int64(0), int64(0)
    height = tile_height(rows, tallest)
    while i < rows and j < columns:
        next_i, next_j, next_tile = i, j, tile           # decided before the tile: after it, the processor would wait for it
        if along_rows:
            next_j += NR
            if next_j >= columns:
                next_i, next_j, next_tile = i + height, int64(0), tile + 1
        else:
            next_i, next_tile = i + height, tile + 1
            if next_i >= rows:
                next_i, next_j, next_tile = int64(0), j + NR, int64(0)
        next_height = height if next_i == i else tile_height(rows - next_i, tallest)
        if BY_TILES and packing & PACK_TILES and j == 0:
            pack_left(offset(left, i * left_row), left_row, left_column, height, depth, packed_left)
        for k in range(asked, min(asked + each, coming_depth)):
            for r in range(0, coming_rows + (W - 1), W):
                prefetch(offset(coming, k * left_column + r))
        asked += each
        this_left = packed_left if packing & PACK_TILES else offset(left, tile * LEFT * depth if left_packed else i * left_row)
        in_place = j < packed_from
        _tile(height, depth, this_left, int64(1) if left_packed else left_row, int64(LEFT) if left_packed else left_column,
              offset(right, j) if in_place else offset(packed_right, (j - packed_from) * depth),
              right_row if in_place else int64(NR), offset(out, i * out_row + j), out_row, columns - j, alpha, beta,
              offset(bias, i if flags & ROW_BIAS else j), flags, sums)
        i, j, tile, height = next_i, next_j, next_tile, next_height


def _blocked(a, b, c, bias, workspace, descriptor):
    """Packing reads strides by itself: in front of the loops, where all rows of a panel begin would be computed for products that
    pack nothing. `range` would divide to know how often. Of 4x16x16, both were a fifth of the time."""
    rows, columns, depth = descriptor[M], descriptor[N], descriptor[K]
    a_row, a_column, b_row = descriptor[A_ROW], descriptor[A_COLUMN], descriptor[B_ROW]
    b_column, c_row = descriptor[B_COLUMN], descriptor[C_ROW]
    flags, alpha, beta = descriptor[FLAGS], scalar(descriptor, ALPHA), scalar(descriptor, BETA)
    left, right = (b, a) if descriptor[SWAP] else (a, b)
    copy_bias(descriptor, bias, workspace)
    packed_left = offset(workspace, descriptor[LEFT_SPACE])
    packed_right = offset(workspace, descriptor[RIGHT_SPACE])
    sums = offset(workspace, descriptor[SUM_SPACE])
    packing = descriptor[PACKING]
    asks = packing & PACK_LEFT and a_row == 1
    for index in range(descriptor[BATCH]):
        this_left = offset(left, index * descriptor[A_BATCH])
        this_right = offset(right, index * descriptor[B_BATCH])
        out = offset(c, index * descriptor[C_BATCH])
        jc = int64(0)
        while jc < columns:
            width = min(columns - jc, descriptor[COLUMN_BLOCK])
            packed_from = int64(0)
            if not packing & PACK_RIGHT:                 # whole panels are read in place; a vector must not read beyond a row
                packed_from = width if width % EDGE == 0 else width - width % NR
            pc = int64(0)
            while pc == 0 or pc < depth:
                thick = _blocks(depth - pc, descriptor[DEPTH_BLOCK])
                block_beta = beta if pc == 0 else T(1)
                block_flags = _block_flags(flags, pc, thick, depth)
                right_block = offset(this_right, pc * b_row + jc * b_column)
                pack_columns(offset(right_block, packed_from * descriptor[B_COLUMN]), descriptor[B_ROW], descriptor[B_COLUMN],
                             width - packed_from, thick, packed_right)
                ic = int64(0)
                while ic < rows:
                    high = min(rows - ic, descriptor[ROW_BLOCK])
                    left_block = offset(this_left, ic * a_row + pc * a_column)
                    if packing & PACK_LEFT:
                        pack_rows(left_block, descriptor[A_ROW], descriptor[A_COLUMN], high, thick, packed_left)
                        left_block = packed_left
                    next_ic, next_pc = ic + high, pc
                    if next_ic >= rows:
                        next_ic, next_pc = int64(0), pc + thick
                    this_bias = offset(workspace, ic if flags & ROW_BIAS else jc)
                    _multiply_block(packing, descriptor[TALLEST], high, width, thick, left_block, a_row, a_column, packed_left,
                                    offset(this_left, next_ic * a_row + next_pc * a_column),
                                    min(rows - next_ic, descriptor[ROW_BLOCK]), min(depth - next_pc, thick) if asks else int64(0),
                                    right_block, b_row, packed_from, packed_right, offset(out, ic * c_row + jc), c_row, alpha,
                                    block_beta, this_bias, block_flags, sums)
                    ic += high
                pc += max(thick, int64(1))
            jc += width


def _staged(a, b, c, bias, workspace, descriptor):
    """Sums of the whole depth are finished block by block of rows, while they are in the cache: 1024^3 of bfloat16 in 0.98 of the
    time."""
    rows, columns, depth = descriptor[M], descriptor[N], descriptor[K]
    a_row, a_column, b_row = descriptor[A_ROW], descriptor[A_COLUMN], descriptor[B_ROW]
    b_column, c_row = descriptor[B_COLUMN], descriptor[C_ROW]
    flags, alpha, beta = descriptor[FLAGS], scalar(descriptor, ALPHA), scalar(descriptor, BETA)
    left, right = (b, a) if descriptor[SWAP] else (a, b)
    copy_bias(descriptor, bias, workspace)
    packed_left = offset(workspace, descriptor[LEFT_SPACE])
    packed_right = offset(workspace, descriptor[RIGHT_SPACE])
    sums = offset(workspace, descriptor[SUM_SPACE])
    pitch = descriptor[COLUMN_BLOCK]                           # of the sums: `rows` x COLUMN_BLOCK, a multiple of the tile
    transposed = a_row == 1 and a_column != 1
    in_panels = descriptor[PACKING] & PACK_RIGHT
    for index in range(descriptor[BATCH]):
        this_left = offset(left, index * descriptor[A_BATCH])
        this_right = offset(right, index * descriptor[B_BATCH])
        out = offset(c, index * descriptor[C_BATCH])
        for jc in range(0, columns, pitch):
            width = min(columns - jc, pitch)
            whole = (width + NR - 1) // NR * NR
            right_pitch = int64(NR) if in_panels else whole
            pc = int64(0)
            while pc == 0 or pc < depth:
                thick = _blocks(depth - pc, descriptor[DEPTH_BLOCK])
                steps = (thick + (STEP - 1)) // STEP
                stage_right(offset(this_right, pc * b_row + jc * b_column), b_row, b_column, width, thick,
                            int64(0) if in_panels else right_pitch, packed_left, packed_right)
                this_bias = offset(workspace, jc if flags & COLUMN_BIAS else 0)
                for ic in range(0, rows, descriptor[ROW_BLOCK]):
                    high = min(rows - ic, descriptor[ROW_BLOCK])
                    these = sums if thick >= depth else offset(sums, ic * pitch)
                    left_pitch = steps + LEFT_GAP
                    stage_left(offset(this_left, ic * a_row + pc * a_column), a_row, a_column, high, thick, left_pitch,
                               packed_left)
                    packed_from = int64(0) if descriptor[PACKING] & PACK_RIGHT else whole
                    _multiply_block(descriptor[PACKING], descriptor[TALLEST], high, whole, steps, packed_left,
                                    int64(1) if transposed else left_pitch, high if transposed else int64(1), packed_left,
                                    packed_left, int64(0), int64(0), packed_right, right_pitch, packed_from, packed_right,
                                    these, pitch, T(1), T(1), workspace, int64(ACCUMULATE if pc > 0 else 0), sums)
                    if pc + thick >= depth:
                        finish_rows(these, pitch, offset(out, ic * c_row + jc * descriptor[C_COLUMN]), c_row, descriptor[C_COLUMN],
                                    high,
                                    width, alpha, beta, offset(this_bias, ic if flags & ROW_BIAS else 0), flags)
                pc += max(thick, int64(1))


# ---------------------------------------------------------------- complex numbers
def _loops(a, b, c, bias, workspace, descriptor):
    rows, columns, depth = descriptor[M], descriptor[N], descriptor[K]
    a_row, a_column, b_row, b_column = descriptor[A_ROW], descriptor[A_COLUMN], descriptor[B_ROW], descriptor[B_COLUMN]
    c_row, c_column, stride = descriptor[C_ROW], descriptor[C_COLUMN], descriptor[BIAS_STRIDE]
    flags, alpha, beta = descriptor[FLAGS], scalar(descriptor, ALPHA), scalar(descriptor, BETA)
    for index in range(descriptor[BATCH]):
        left = offset(a, index * descriptor[A_BATCH])
        right = offset(b, index * descriptor[B_BATCH])
        out = offset(c, index * descriptor[C_BATCH])
        for i in range(rows):
            for jc in range(0, columns, descriptor[COLUMN_BLOCK]):
                width = min(columns - jc, descriptor[COLUMN_BLOCK])
                for j in range(width):
                    workspace[j] = T(0)
                for k in range(depth):
                    x = left[i * a_row + k * a_column]
                    row = offset(right, k * b_row + jc * b_column)
                    if b_column == 1:
                        for j in range(width):
                            workspace[j] = T(workspace[j] + x * row[j])
                    else:
                        for j in range(width):
                            workspace[j] = T(workspace[j] + x * row[j * b_column])
                for j in range(width):
                    x = T(alpha * workspace[j])
                    at = i * c_row + (jc + j) * c_column
                    if flags & ACCUMULATE:
                        x = T(x + beta * out[at])
                    if flags & COLUMN_BIAS:
                        x = T(x + bias[(jc + j) * stride])
                    if flags & ROW_BIAS:
                        x = T(x + bias[i * stride])
                    out[at] = rectify(x) if flags & RELU else x


def _rectify(x):
    return T(0) if x < T(0) else x


rectify = _rectify


def _nothing(a, b, c, bias, workspace, descriptor):
    """A product without elements."""


# ---------------------------------------------------------------- planning
_STAGED_COLUMNS = 512                                    # the sums of a staged product are rows x columns of a block
_SERIAL_TRANSPOSED_WORK = 400_000                        # SERIAL_WORK of a transposed B: 64^3 gains nothing of a second thread
_STREAMED_BYTES = 1 << 20                                # a B as large as this comes from the L3 cache or memory
_IN_PLACE_BYTES = 5 << 18                                # of a block of B that stays in the L2 cache as it lies
_IN_PLACE_REACH = 55_000                                 # of 48 KB of first-level cache: not packing A pays at 200^3, not at 256^3
_TRANSPOSED_BYTES = 2 << 20                              # of a B in place whose A is packed tile by tile
_ASKED_BYTES = 512 << 10                                 # of all of A
_SET_SPACING = 4096                                      # bytes between addresses of one set of the first-level cache


def _tallest(problem, tile):
    """The rows of a tile. Rows of A that are a multiple of 4 KB apart share one set of the first-level cache, which holds 12 lines
    here and 8 on older processors; the panel of B passes through it as well. With tiles of 10 rows 1024^3 of float64 takes 0.98 of
    the time of 14. Rows 8000 bytes apart are faster by 14."""
    alike = problem.a[1] == 1 and problem.a[0] * problem.item % _SET_SPACING == 0
    return min(tile.rows, 10) if alike else tile.rows


def _asks(problem, packing):
    """Whether tiles ask for the rows of A to come: where A is long and serves few panels, rows come from beyond the second-level
    cache all the time. 65536x64x64 takes 0.7 of the time so, 96 products of 128x128x128 0.9. Where a tile stays for many panels,
    each would ask again: 512^3 of float64 takes 3 % longer."""
    streams = problem.batch * problem.m * problem.k * problem.item > _ASKED_BYTES and problem.n <= 256
    return streams and problem.a[1] == 1 and not packing & (PACK_LEFT | PACK_TILES)


class _Blocking(NamedTuple):
    """What is packed and in which order tiles come, and the blocks: elements of the depth, tiles of rows, columns."""

    packing: int
    depth: int
    row_tiles: int
    columns: int


_ALL = 1 << 30                                           # one block


def _wide_blocking(problem, tile):
    """The blocking for vectors of 64 bytes, found with 2 MB of second-level cache.

    Unpacked rows of A, tile after tile along them, keep A's rows in the first-level cache and write C in order: 2000x2000x8 takes
    half the time that it takes down the panels. Blocks 1024 deep go over C once where 2 KB of depth would four times: 1024^3 of
    float64 takes 0.95 of the time so, 2048^3 of float32 0.98, although A's rows then come from the second level. A tile of A across
    the depth is packed just before its first use, where B stays as it lies: copied with the whole block, it has left the first
    level again. Beside a packed B blocks are wide, since A is packed for each of them again, and so deep that a tile and what
    passes it of a panel stay in the first level: 2048^3 of float32 takes 0.96 of the time at 192, not 256, 1024^3 of float64 0.97
    at 128. A whole A, packed or transposed, would come back from the third level.
    """
    rows, item, right_bytes = problem.m, problem.item, problem.k * problem.n * problem.item
    if problem.b[1] != 1:
        if rows <= 128:                                  # a panel transposed is used at once, while it is in the L1 cache
            return _Blocking(PACK_RIGHT, (1024 if rows <= 16 else 4096) // item, 1, tile.columns)
    elif rows <= 70 and problem.n <= 2 * tile.columns:   # all of C is in registers, or nearly
        return _Blocking(ALONG_ROWS, 4096 // item, 5, _ALL)
    elif right_bytes > _STREAMED_BYTES and (rows <= 70 or (rows <= 128 and problem.a[1] == 1 and
                                                           problem.k * problem.n < (900_000 if item == 4 else 3_000_000))):
        # B is used a few times: slices, so that it is read in order and C stays in the cache (128x784x512 in 0.95 of the time in
        # panels of B, 96x784x384 in 0.89; 128x1000x1000 is faster in panels). Slices of float64 32 deep would go over C twice as
        # often, in 1.28 of the time. Of float32, many rows go over C in slices 192 deep in 0.90 to 0.97 of the time; a few rows do
        # not, and float64 takes 1.05 of it.
        depth = 192 if item == 4 and rows > 70 else 64
        return _Blocking(ALONG_ROWS, depth, 1, max(1024, round_up((1 << 19) // (rows * item), tile.columns)))
    reach = problem.k * (tile.rows * item + 3 * 64)      # the lines of a tile of A that lies across the depth, and of a panel of B
    apart = abs(problem.a[1]) * item >= 3072             # each column of A in another page, which takes 1.13 of the time
    columns = 64 if reach > 80_000 else 8 * tile.columns # that a packed tile must serve; in place takes up to 1.6 of the time
    transposed = problem.a[1] != 1 and (apart or reach > _IN_PLACE_REACH) and problem.n >= columns
    if transposed and problem.b[1] == 1:                     # where B stays as it lies, a tile of A is packed when it is first used
        block = _blocks(problem.k, 2560 // item) * problem.n * item
        if block <= _IN_PLACE_BYTES and (right_bytes <= _TRANSPOSED_BYTES or rows <= 256):
            return _Blocking(ALONG_ROWS | PACK_TILES, 2560 // item, 1, _ALL)
    elif problem.b[1] == 1 and right_bytes <= _STREAMED_BYTES // (1 if rows <= 128 else 4):
        return _Blocking(ALONG_ROWS, 2048 // item, 5, _ALL)
    if transposed:                                           # as it lies, column by column, 512x196x4096 takes 1.7 of the time
        return _Blocking(PACK_RIGHT | ALONG_ROWS | PACK_LEFT, 192 if item == 4 else 128, 7, 1024)
    depth = max(problem.k, 1) if problem.k <= 1024 else min(1024, (problem.k + 1) // 2)
    # half of the second level: in blocks as large as a cache of 1 MB, 1024^3 takes 1 to 5 % more
    columns = max(tile.columns, min(512, second_level_bytes() // 2 // (depth * item)) // tile.columns * tile.columns)
    return _Blocking(PACK_RIGHT | ALONG_ROWS, depth, 5, columns)


def _narrow_blocking(problem, tile):
    """The blocking for shorter vectors, whose lanes cannot be masked."""
    depth = 1536 // problem.item
    if problem.k * problem.n * problem.item <= _STREAMED_BYTES or problem.m <= 4 * tile.rows:
        ragged = problem.b[1] != 1 or problem.n % tile.columns != 0
        return _Blocking(PACK_RIGHT if ragged else 0, depth, 1, tile.columns if ragged else _ALL)
    return _Blocking(PACK_LEFT | PACK_RIGHT, depth, 16, 2048)


def _plan_blocked(problem, tile):
    packing, depth, row_tiles, columns = (_wide_blocking if tile.masked else _narrow_blocking)(problem, tile)
    depth, tallest = max(1, min(depth, problem.k)), _tallest(problem, tile)
    parts = split(problem, 1 if problem.m < 8 * tile.rows else tile.rows, tile.columns if problem.n > tile.columns else 1,
                  SERIAL_WORK if problem.b[1] == 1 else _SERIAL_TRANSPOSED_WORK,
                  costs=(PACKED if packing & (PACK_LEFT | PACK_TILES) else IN_PLACE,
                         IN_PLACE if not packing & PACK_RIGHT else PACKED if problem.b[1] == 1 else TRANSPOSED))
    height = max(bottom - top for _, (top, bottom), _ in parts)
    width = round_up(max(right - left for _, _, (left, right) in parts), tile.columns)
    rows = min(row_tiles * tile.rows, height) if packing & PACK_LEFT else height
    columns = min(columns, width)
    bias = max(height, width) if problem.bias else 0
    left = tile_pitch(tile) * depth * (rows // tile.rows + 2 if packing & PACK_LEFT else bool(packing & PACK_TILES))
    right = (columns if packing & PACK_RIGHT else tile.columns) * depth + tile.width
    spaces = space(bias, left, right, 0 if tile.masked else tile.rows * tile.columns)
    names = {"pack_left": pack_left_words, "pack_right": pack_right_words} if problem.item == 2 else {}
    narrow = tile.masked and problem.kind == "f"         # twice the code, which takes as long to compile
    kernel = compile_for(_blocked, problem, copy_left=copy_masked if tile.masked else copy_exactly, NARROW=int(narrow),
                         BY_TILES=int(tile.masked), EDGE=tile.width if narrow else tile.columns,
                         LANES=int(tile.masked) | (ASK_ROWS if _asks(problem, packing) else 0), **names)
    return prepare(kernel, problem, parts, (depth, rows, columns, packing, tallest), spaces[1:4], spaces[4])


def _plan_staged(problem, tile):
    names = half.staging(problem)
    item, step = np.dtype(problem.compute).itemsize, names.get("STEP", 1)
    depth, columns, packing = step * 2048 // item, _STAGED_COLUMNS, PACK_RIGHT
    if problem.m <= 70 and problem.b[1] == 1 and problem.n >= 8 * tile.columns and problem.k * problem.n > _STREAMED_BYTES // 4:
        # B is used a few times: thin slices, read in order (4x4096x1024 of int8 takes 4 times as long in panels)
        depth, columns, packing = step * (32 if problem.m <= 28 else 64), _STREAMED_BYTES // 8 // problem.m, ALONG_ROWS
    depth = min(depth, max(problem.k, 1))
    steps = -(-depth // step)
    parts = split(problem, 1 if problem.m < 8 * tile.rows else tile.rows, tile.columns)
    height = max(bottom - top for _, (top, bottom), _ in parts)
    width = max(right - left for _, _, (left, right) in parts)
    rows = min(5 * tile.rows, height)
    columns = min(round_up(columns, tile.columns), round_up(width, tile.columns))
    bias = max(problem.m, problem.n) if problem.bias else 0
    spaces = space(bias, max(rows * (steps + LEFT_GAP), tile.columns * tile.width), columns * steps + tile.width,
                   (rows if depth >= problem.k else height) * columns)
    kernel = compile_for(_staged, problem, BY_TILES=0, LANES=int(tile.masked), **names)
    return prepare(kernel, problem, parts, (depth, rows, columns, packing, tile.rows), spaces[1:4], spaces[4])


def _plan_loops(problem):
    """Complex numbers, and integers with an activation."""
    problem.compute = problem.dtype
    parts = split(problem, 1, 1)
    block = 1024
    kernel = compile_for(_loops, problem, **{"scalar": complex_scalar, "rectify": same} if problem.kind == "c" else {})
    return prepare(kernel, problem, parts, (0, 0, block, 0, 0), (0, 0, 0), block)


def plan_gemm(M, N, K, dtype, a_strides, b_strides, c_strides, *, batch=1, batch_strides=(0, 0, 0), bias=None, bias_stride=1,
              activation=None, alpha=1.0, beta=0.0, max_parts=None) -> threads.Prepared:
    """Plan C[M, N] = act(alpha * A[M, K] @ B[K, N] + beta * C + bias), for each of a batch.

    Run it as `prepared.call(A, B, C, bias, workspace, prepared.descriptor)`, always with these five addresses: 0 stands for an
    absent bias and for a workspace of no bytes. The workspace starts at a multiple of 64. A, B and C must not overlap C.

    Args:
        M, N, K: sizes; any may be 0, and K = 0 gives act(beta * C + bias).
        dtype: the name of the dtype of A, B, C and the bias. float16 and bfloat16 are summed in float32 and rounded once.
        a_strides, b_strides, c_strides: (row, column) strides in elements, any integers. Fastest when one is 1; a C of
            which neither is takes a path with more copying.
        batch: how many products; all addresses advance by `batch_strides` elements of A, B and C from one to the next.
        bias: `"column"` for N elements added to every row, `"row"` for M elements added to every column, or None.
        bias_stride: elements from one element of the bias to the next.
        activation: `"relu"` or None.
        alpha, beta: factors, complex for complex dtypes. With beta = 0, C is not read.
        max_parts: split over at most so many threads; 1 for a product inside of a part.

    Returns:
        The prepared call.
    """
    problem = Problem((M, N, K), dtype, a_strides, b_strides, c_strides, batch, batch_strides, bias, bias_stride, activation,
                       alpha, beta)
    problem.max_parts = max_parts
    if not (M and N and batch):
        kernel = compiler.compile_kernel(_nothing, ("int64",) * 5 + ("int64*",))
        return threads.prepare(kernel, [[0]])
    problem.join_batch()
    M, N = problem.m, problem.n
    if problem.kind == "c" or (problem.kind in "iu" and activation):
        return _plan_loops(problem)
    if tiny.pays(problem):
        problem.normalise()
        if problem.c[1] == 1:
            return tiny.plan(problem)
    if K and (M == 1 or N == 1 or gemv.are_dots(problem)):
        return gemv.plan(problem)
    problem.normalise()
    tile = host_tile(np.dtype(problem.compute).itemsize)
    if problem.dtype != problem.compute or problem.c[1] != 1:
        return _plan_staged(problem, tile)
    if gemmdepth.pays(problem):
        return gemmdepth.plan(problem, plan_gemm)
    return _plan_blocked(problem, tile)
