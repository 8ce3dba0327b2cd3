"""A matrix product as kernels see it: its descriptor, its split over threads, and how elements are read and written.

Shared by `gemm.py` and `gemv.py`.
"""
from __future__ import annotations

import numpy as np
from numpy import complex128, float32, int64

from ... import compiler, threads
from ...elementtypes import compute_type, itemsize, same
from ...intrinsics import float_of
from ..micro.tile import ACCUMULATE, COLUMN_BIAS, RELU, ROW_BIAS, SCALE, host_tile
from ..shared.elements import bits

T = float32                                              # the compute type; bound by compile_kernel

# The descriptor. Strides are in elements; blocks and workspace offsets too (of the compute type).
BATCH, A_BATCH, B_BATCH, C_BATCH = 0, 1, 2, 3
M, N, K, A_ROW, A_COLUMN, B_ROW, B_COLUMN, C_ROW, C_COLUMN = 4, 5, 6, 7, 8, 9, 10, 11, 12
SWAP, FLAGS, ALPHA, BETA, BIAS_STRIDE = 13, 14, 15, 17, 19       # alpha and beta are two words: real, imaginary
DEPTH_BLOCK, ROW_BLOCK, COLUMN_BLOCK, PACKING, TALLEST = 20, 21, 22, 23, 24
LEFT_SPACE, RIGHT_SPACE, SUM_SPACE = 25, 26, 27


# ---------------------------------------------------------------- how elements are read and written
load = store = same                                     # 16-bit words are widened and rounded by these


def float_scalar(descriptor, at):
    return T(float_of(descriptor[at]))


def integer_scalar(descriptor, at):
    return T(descriptor[at])


def complex_scalar(descriptor, at):
    return T(complex128(complex(float_of(descriptor[at]), float_of(descriptor[at + 1]))))


scalar = float_scalar


def copy_bias(descriptor, bias, workspace):
    """Bring the bias to unit stride and the compute type, at the start of the workspace."""
    flags = descriptor[FLAGS]
    count = descriptor[N] if flags & COLUMN_BIAS else descriptor[M] if flags & ROW_BIAS else int64(0)
    stride = descriptor[BIAS_STRIDE]
    for i in range(count):
        workspace[i] = load(bias[i * stride])


def finish(sums, pitch, out, out_row, out_column, rows, columns, alpha, beta, bias, flags):
    """The epilogue for sums that could not be stored from registers."""
    zero = T(0)
    for i in range(rows):
        for j in range(columns):
            x = alpha * sums[i * pitch + j]
            if flags & ACCUMULATE:
                x += beta * load(out[i * out_row + j * out_column])
            if flags & COLUMN_BIAS:
                x += bias[j]
            if flags & ROW_BIAS:
                x += bias[i]
            if flags & RELU:
                x = zero if x < zero else x
            out[i * out_row + j * out_column] = store(x)


# ---------------------------------------------------------------- planning
BYTES = "int8", "uint8"                                  # computed in int16: sums agree in the low eight bits


def _words(value, kind):
    """A scalar as two words of the descriptor: real and imaginary part, as float64 bits unless it is an integer."""
    if kind in "iu":
        return [int(value), 0]
    value = complex(value)
    return [bits(value.real), bits(value.imag)]


def round_up(value, multiple):
    return -(-value // multiple) * multiple


class Problem:
    """The product being planned, and its descriptor by name."""

    def __init__(self, sizes, dtype, a_strides, b_strides, c_strides, batch, batch_strides, bias, bias_stride, activation,
                 alpha, beta):
        if dtype == "complex32":
            raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'ComplexHalf'")
        self.m, self.n, self.k = sizes
        self.dtype, self.batch = dtype, batch
        self.item = itemsize(dtype)
        self.compute = "int16" if dtype in BYTES else compute_type(dtype)
        self.kind = np.dtype(self.compute).kind
        self.a, self.b, self.c = tuple(a_strides), tuple(b_strides), tuple(c_strides)
        self.batch_strides = tuple(batch_strides)
        self.bias, self.bias_stride = bias, bias_stride if bias else 0
        self.swap = 0
        self.flags = ((SCALE if alpha != 1 else 0) | (ACCUMULATE if beta != 0 else 0) | (RELU if activation == "relu" else 0))
        self.alpha, self.beta = _words(alpha, self.kind), _words(beta, self.kind)
        self.max_parts = None                            # at most so many threads; None: as many as there are

    def transpose(self):
        """The same product as C^T = B^T @ A^T."""
        self.m, self.n = self.n, self.m
        self.a, self.b, self.c = self.b[::-1], self.a[::-1], self.c[::-1]
        self.batch_strides = (self.batch_strides[1], self.batch_strides[0], self.batch_strides[2])
        self.bias = {"row": "column", "column": "row"}.get(self.bias)
        self.swap ^= 1

    def join_batch(self):
        """One taller product instead of a batch, or a wider one, where a factor is the same for all, and the other's rows (or
        columns) and C's go on from one product to the next."""
        by_a, by_b, _ = self.batch_strides
        if self.batch > 1 and not by_b and self.bias != "row" and self._rows_go_on():
            self._join_rows()
        elif self.batch > 1 and not by_a and self.bias != "column":
            self.transpose()
            if self._rows_go_on():
                self._join_rows()
            self.transpose()

    def _rows_go_on(self):
        by_a, _, by_c = self.batch_strides
        return self.m == 1 or (by_a == self.m * self.a[0] and by_c == self.m * self.c[0])

    def _join_rows(self):
        if self.m == 1:
            self.a, self.c = (self.batch_strides[0], self.a[1]), (self.batch_strides[2], self.c[1])
        self.m, self.batch, self.batch_strides = self.m * self.batch, 1, (0, 0, 0)

    def normalise(self):
        """Give C a unit column stride if transposing or a size of 1 allows it."""
        if self.n > 1 and self.c[1] != 1 and (self.c[0] == 1 or self.m == 1):
            self.transpose()
        if self.n == 1:
            self.c = self.c[0], 1

    def row(self, part, blocks, spaces):
        """The descriptor for a part (batch, rows and columns from and to)."""
        (first, last), (top, bottom), (left, right) = part
        flags = self.flags | {"column": COLUMN_BIAS, "row": ROW_BIAS}.get(self.bias, 0)
        return [last - first, *self.batch_strides, bottom - top, right - left, self.k, *self.a, *self.b, *self.c, self.swap,
                flags, *self.alpha, *self.beta, self.bias_stride, *blocks, *spaces]

    def offsets(self, part):
        """What a part adds to the four addresses before the workspace's, in bytes."""
        (first, _), (top, _), (left, _) = part
        a = (first * self.batch_strides[0] + top * self.a[0]) * self.item
        b = (first * self.batch_strides[1] + left * self.b[1]) * self.item
        c = (first * self.batch_strides[2] + top * self.c[0] + left * self.c[1]) * self.item
        bias = {"column": left, "row": top}.get(self.bias, 0) * self.bias_stride * self.item
        return [b, a, c, bias] if self.swap else [a, b, c, bias]


def share(count, parts, unit):
    """`count` split into at most `parts` ranges whose ends are multiples of `unit`."""
    units = -(-count // unit)
    ends = [min(count, units * (p + 1) // parts * unit) for p in range(parts)]
    return [(start, end) for start, end in zip([0, *ends], ends) if end > start]


# float32 multiply-adds (float64 ones count twice) below which one thread is as fast: it is at 48³, and at 64³ two take 0.8 of its
# time.
SERIAL_WORK = 250_000


# What a part spends on each of its rows of A and columns of B, in rows of C: a tall A that both parts read takes 1.4 times as long,
# 256x64x256 with B transposed 1.1 times as long by rows as by columns.
IN_PLACE, PACKED, TRANSPOSED = 2, 8, 20


def split(problem, rows_unit, columns_unit, serial_work=SERIAL_WORK, costs=(PACKED, PACKED)):
    """The parts for the threads: the batch when it can be shared evenly, else a grid over rows and columns.

    costs: of a row of A and of a column of B.
    """
    whole = [(0, problem.batch)], [(0, problem.m)], [(0, problem.n)]
    count = problem.max_parts or threads.get_num_threads()
    work = problem.batch * problem.m * problem.n * max(problem.k, 1) * max(1, np.dtype(problem.compute).itemsize // 4)
    if count == 1 or work < serial_work:
        return [tuple(side[0] for side in whole)]
    if problem.batch >= 4 * count or problem.batch % count == 0:
        return [(batch, (0, problem.m), (0, problem.n)) for batch in share(problem.batch, count, 1)]
    best = None
    for down in range(1, count + 1):
        if count % down:
            continue
        rows, columns = share(problem.m, down, rows_unit), share(problem.n, count // down, columns_unit)
        height = max(end - start for start, end in rows)
        width = max(end - start for start, end in columns)
        width = round_up(width, columns_unit)
        # Pieces of rows of C cost the more the smaller the depth is: 1000x16x1000 takes 1.5 times as long by columns as by rows,
        # 256^3 of float64 as long
        pieces = 64000 / max(problem.k, 1) ** 2
        cost = width * height + costs[1] * width + (costs[0] + pieces) * height
        if best is None or cost < best[0]:
            best = cost, [((0, problem.batch), r, c) for r in rows for c in columns]
    return best[1]


def prepare(kernel, problem, parts, blocks, spaces, size):
    """`spaces` are the offsets into a part's workspace and `size` its length, both in elements of the compute type."""
    rows = [problem.row(part, blocks, spaces) for part in parts]
    work = problem.batch * problem.m * problem.n * max(problem.k, 1)
    return threads.prepare(kernel, rows, [problem.offsets(part) for part in parts],
                           workspace=size * np.dtype(problem.compute).itemsize, release_lock=work > 1 << 20)


def tile_pitch(tile):
    """Elements of packed A a step of the depth: the tile's rows, up to whole vectors where they are copied by vectors."""
    return round_up(tile.rows, tile.width) if tile.masked else tile.rows


def compile_for(function, problem, **names):
    tile = host_tile(np.dtype(problem.compute).itemsize) if problem.kind != "c" else None
    names["T"] = np.dtype(problem.compute).type
    if problem.kind in "iu":
        names["scalar"] = integer_scalar
    if tile:
        names.update(MR=tile.rows, LV=-(-tile.rows // tile.width), LEFT=tile_pitch(tile), NV=tile.vectors, W=tile.width,
                     NR=tile.columns, MASKED=int(tile.masked))
    word, own = problem.dtype + "*", problem.compute + "*"
    return compiler.compile_kernel(function, (word, word, word, word, own, "int64*"), names)


def space(*sizes):
    """Offsets of consecutive arrays that start at multiples of 64 bytes, and the end."""
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + round_up(size, 16))
    return offsets
