"""Products of 16-bit floats and of bytes: how A and B are brought into the form that the micro-kernel reads.

Two forms, chosen by what the processor has:

- *Widened*: elements become float32 (bytes: int16) on their way into scratch memory, and the micro-kernel is the one of that
  type. A keeps its order, since rows are read by broadcasts of one element whatever their strides; B becomes panels.
- *Pairs*, for bfloat16: two steps of the depth, k and k + 1, share a word of 32 bits, and one instruction adds both products to
  a float32 sum: VDPBF16PS on x86-64, BFDOT on AArch64. A depth that is odd ends with a zero. Nothing is widened, so half the
  bytes go through the caches, and where the instruction is as fast as a multiply-add, twice the elements are done in a cycle.

That instruction takes subnormal inputs for zero and gives zero for subnormal sums; the second element's product is added before
the first's, each rounded to nearest even on x86-64, and on AArch64 both products are added to one another first, rounded to odd.
So sums differ from those of widened elements in their last bits. There is no such instruction for float16 that sums in float32:
AVX512-FP16 sums in float16, whose 11 bits are gone after a few thousand terms.

Pairs are used where they are faster. Zen 4 does as many pairs a second as float32 multiply-adds (iree-org/iree#15089), and so do
Arm's cores, by their optimisation guides. Sapphire Rapids and its successors, which have AMX for it, do a quarter as many: on an
Emerald Rapids core 512^3 takes 1.8 times as long by pairs as with widened elements. Emulated by shifts and multiply-adds, which any
processor can and the tests do, it takes 2.7 times as long.
"""
from __future__ import annotations

import os

import numpy as np
from numpy import float32, int16, int64

from ...elementtypes import CONVERSIONS, same
from ...intrinsics import Intrinsic, address_of, as_pointer, bfloat16_to_float, float_to_bfloat16, half_to_float, offset
from ...pointers import Pointer
from ...targets.processor import name_and_features
from ..micro.tile import multiply_tile, transpose_tile
from .product import BYTES, finish

T = float32                                              # bound by compile_kernel, like the names below
W, NR = 16, 32
RUN = 4                                                  # panels
load = same


# ---------------------------------------------------------------- pairs: where they are used, and what they mean
_ARMS_WITH_BFDOT = "apple-m", "neoverse-v", "neoverse-n2", "neoverse-n3"             # where LLVM tells no features
_FAST_ON_X86 = "znver", "cooperlake"


def pair_form() -> str:
    """How pairs are multiplied: "dot" (by the instruction), "halves" (emulated), or "" where elements are widened.

    `NUMTORCH_PAIRS` asks for a form, for tests: 0, halves, or dot, which without the instruction is halves.
    """
    name, features = name_and_features()
    on_arm = features.get("bf16", name.startswith(_ARMS_WITH_BFDOT) and name != "apple-m1")
    present = bool(features.get("avx512bf16") or on_arm)
    asked = os.environ.get("NUMTORCH_PAIRS")
    if asked:
        return "" if asked == "0" else "dot" if present and asked == "dot" else "halves"
    return "dot" if on_arm or (present and name.startswith(_FAST_ON_X86)) else ""


def _elements(pointer, rows, row, columns, column):
    """Rows of pairs as float32 elements, in the order in which they are added."""
    words = Pointer(pointer.address, np.uint16)
    out = np.zeros((rows, 2 * columns), np.uint32)
    for i in range(rows):
        for k in range(2 * columns):
            out[i, k] = words[2 * (i * row + k // 2 * column) + (k + 1) % 2]
    return (out << 16).view(np.float32)


def _multiply_pairs(max_rows, vectors, width, masked, rows, depth, left, left_row, left_column, right, right_row, out, out_row,
                    columns, alpha, beta, bias, flags):
    """`multiply_tile` over A and B in pairs: strides and the depth count words, of two bfloat16 each."""
    lanes = vectors * width
    a = _elements(left, rows, left_row, depth, left_column)
    b = np.ascontiguousarray(_elements(right, lanes, 1, depth, right_row).T)
    multiply_tile(max_rows, vectors, width, masked, rows, 2 * depth, Pointer(a.ctypes.data, np.float32), 2 * depth, 1,
                  Pointer(b.ctypes.data, np.float32), lanes, out, out_row, columns, alpha, beta, bias, flags)


def _micro(twin, name):
    def named(*arguments):
        return twin(*arguments)
    named.__name__, named.__doc__ = name, twin.__doc__
    return Intrinsic(named, module="numtorch.kernels.cpu.gemm.half_tile_ir")


PAIR_TILES = {form: _micro(_multiply_pairs, f"multiply_pairs_by_{form}") for form in ("dot", "halves")}


# ---------------------------------------------------------------- widened
def _widen_each(count, width, source, out):
    for j in range(count):
        out[j] = load(source[j])


def _vectors_of(word):
    """`widen_row` by vectors: of so short a loop over float16, LLVM makes scalars (2x128x128 takes 6 times as long)."""
    def widen(count, width, source, out):
        for j in range(count):
            out[j] = word(source[j])
    return widen


WIDEN_ROWS = {half_to_float: _micro(_vectors_of(half_to_float), "widen_float16"),    # by how a word is loaded
              bfloat16_to_float: _micro(_vectors_of(bfloat16_to_float), "widen_bfloat16")}
WIDEN_BYTES = _micro(_vectors_of(int16), "widen_bytes")
widen_row = _widen_each


def widen_left(source, row, column, rows, depth, pitch, out):
    """A block of A in the type of the sums, its longer runs first: out[i * pitch + k], or out[k * rows + i] where row == 1."""
    if column == 1:
        for i in range(rows):
            this, wide = offset(source, i * row), offset(out, i * pitch)
            for k in range(depth):
                wide[k] = load(this[k])
    elif row == 1:
        for k in range(depth):
            this, wide = offset(source, k * column), offset(out, k * rows)
            for i in range(rows):
                wide[i] = load(this[i])
    else:
        for i in range(rows):
            for k in range(depth):
                out[i * pitch + k] = load(source[i * row + k * column])


def _widen_strided(source, row, column, present, depth, out):
    """One panel: out[k * NR + j] = source[k * row + j * column], what is absent 0."""
    for k in range(depth):
        for j in range(present):
            out[k * NR + j] = load(source[k * row + j * column])
        for j in range(present, NR):
            out[k * NR + j] = T(0)


def _widen_transposed(source, column, present, depth, scratch, out):
    """One panel whose columns lie along the depth: W steps are widened, then transposed in registers."""
    k = 0
    while k < depth:
        k = min(k, depth - W)                            # the last block overlaps the one before
        for j in range(present):
            widen_row(W, W, offset(source, k + j * column), offset(scratch, j * W))
        transpose_tile(NR, W, scratch, int64(W), present, offset(out, k * NR))
        k += W


def _widen_one_by_one(source, column, present, depth, scratch, out):
    """For types that cannot be transposed in registers."""
    _widen_strided(source, int64(1), column, present, depth, out)


widen_panel = _widen_transposed


def widen_right(source, row, column, columns, depth, pitch, scratch, out):
    """A block of B as panels of NR columns, each with its depth in order; with a pitch, as rows whose ends stay as they are."""
    if pitch:
        for k in range(depth):
            line, wide = offset(source, k * row), offset(out, k * pitch)
            for j in range(0, columns - (NR - 1), NR):
                widen_row(NR, W, offset(line, j), offset(wide, j))
            for j in range(columns - columns % NR, columns):
                wide[j] = load(line[j])
        return
    j = int64(0)
    while column == 1 and j + NR <= columns:             # RUN panels at a time: rows of B are read in longer runs
        last = min(columns - columns % NR, j + RUN * NR)
        for k in range(depth):
            for panel in range(j, last, NR):
                widen_row(NR, W, offset(source, k * row + panel), offset(out, panel * depth + k * NR))
        j = last
    while j < columns:
        panel, this, present = offset(out, j * depth), offset(source, j * column), min(columns - j, int64(NR))
        if row == 1 and depth >= W:
            widen_panel(this, column, present, depth, scratch, panel)
        else:
            _widen_strided(this, row, column, present, depth, panel)
        j += NR


# ---------------------------------------------------------------- in pairs
def _interleave_rows(count, first, second, out):
    """Two rows as one of pairs, in vectors."""
    for r in range(count):
        out[2 * r], out[2 * r + 1] = first[r], second[r]


interleave_rows = _micro(_interleave_rows, "interleave_rows")


def pair_left(source, row, column, rows, depth, pitch, out):
    """A block of A in pairs, its longer runs first: out[i * pitch + k / 2], or out[k / 2 * rows + i] where row == 1."""
    words = as_pointer(address_of(out), source)
    if row == 1 and column != 1:
        _interleave(source, column, rows, rows, depth, words)
        return
    for i in range(rows):
        this, pairs = offset(source, i * row), offset(words, 2 * i * pitch)
        if column == 1:
            for k in range(depth):
                pairs[k] = this[k]
        else:
            for k in range(depth):
                pairs[k] = this[k * column]
        if depth & 1:
            pairs[depth] = 0


def _interleave(source, step, present, pitch, depth, words):
    """Word r of pair k is source[k * step + r] and source[(k + 1) * step + r]; what is absent becomes 0."""
    for k in range(0, depth, 2):
        first, pairs = offset(source, k * step), offset(words, k * pitch)
        if k + 1 < depth:
            second = offset(first, step)
            for r in range(present):
                pairs[2 * r], pairs[2 * r + 1] = first[r], second[r]
        else:
            for r in range(present):
                pairs[2 * r], pairs[2 * r + 1] = first[r], 0
        for r in range(2 * present, 2 * pitch):
            pairs[r] = 0


def _interleave_strided(source, row, column, present, depth, panel):
    for k in range(0, depth, 2):
        line = offset(panel, k * NR)
        for lane in range(present):
            at = lane * column + k * row
            line[2 * lane] = source[at]
            line[2 * lane + 1] = source[at + row] if k + 1 < depth else 0
        for r in range(2 * present, 2 * NR):
            line[r] = 0


def pair_right(source, row, column, columns, depth, pitch, scratch, out):
    """A block of B in pairs, as panels of NR columns; with a pitch, as rows of it."""
    words = as_pointer(address_of(out), source)
    if pitch:
        _interleave(source, row, columns, pitch, depth, words)
        return
    pairs = (depth + 1) // 2
    j = int64(0)
    while column == 1 and j + NR <= columns:             # RUN panels at a time, as above
        last = min(columns - columns % NR, j + RUN * NR)
        for k in range(0, depth, 2):
            for panel in range(j, last, NR):
                first, target = offset(source, k * row + panel), offset(words, 2 * panel * pairs + k * NR)
                if k + 1 < depth:
                    interleave_rows(NR, first, offset(first, row), target)
                else:
                    _interleave(first, row, int64(NR), int64(NR), int64(1), target)
        j = last
    while j < columns:
        this, panel, present = offset(source, j * column), offset(words, 2 * j * pairs), min(columns - j, int64(NR))
        if column == 1:
            _interleave(this, row, present, int64(NR), depth, panel)
        else:
            _interleave_strided(this, row, column, present, depth, panel)
        j += NR


narrow_row = _micro(_vectors_of(float_to_bfloat16), "narrow_bfloats")


def finish_by_dot(sums, pitch, out, out_row, out_column, rows, columns, alpha, beta, bias, flags):
    """`finish`, which rounds plain sums by an instruction: it takes subnormal numbers for zero, and among these sums are none."""
    whole = columns - columns % NR if flags == 0 and out_column == 1 else int64(0)
    for i in range(rows):
        for j in range(0, whole, NR):
            narrow_row(NR, W, offset(sums, i * pitch + j), offset(out, i * out_row + j))
    if whole < columns:
        finish(offset(sums, whole), pitch, offset(out, whole), out_row, out_column, rows, columns - whole, alpha, beta, bias,
                    flags)


# ---------------------------------------------------------------- what a plan binds
def staging(problem) -> dict:
    """The names that `_staged` takes for this product."""
    load, store = CONVERSIONS[problem.dtype]
    form = pair_form() if problem.dtype == "bfloat16" else ""
    if form:
        return dict(load=load, store=store, stage_left=pair_left, stage_right=pair_right, multiply_tile=PAIR_TILES[form], STEP=2,
                    finish_rows=finish_by_dot if form == "dot" else finish)
    return dict(load=load, store=store, widen_panel=_widen_transposed if problem.kind == "f" else _widen_one_by_one,
                widen_row=WIDEN_BYTES if problem.dtype in BYTES else WIDEN_ROWS.get(load, _widen_each))
