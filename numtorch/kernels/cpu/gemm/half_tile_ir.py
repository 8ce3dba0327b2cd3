"""The LLVM vector IR of products of 16-bit floats: `half.py` says what it means and where it is used.

A word of 32 bits holds two elements that follow each other along the depth. It travels as a float32 of the same bits, which is
never computed with: only the step of the tile is another one.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..micro.microkernel import I32, _index, _Tile, tile_intrinsic


# ---------------------------------------------------------------- pairs
class _BFloat(ir.Type):
    """bfloat, which llvmlite's IR has no name for."""

    def _to_string(self):
        return "bfloat"

    def __eq__(self, other):
        return isinstance(other, _BFloat)

    def __hash__(self):
        return hash(_BFloat)


class _DotTile(_Tile):
    """Pairs by the processor's own instruction."""

    def _step(self, factor, x, total):
        v = self.v
        pairs = ir.VectorType(_BFloat(), 2 * self.width)
        if self.b.module.triple.startswith(("aarch64", "arm64")):
            name = f"llvm.aarch64.neon.bfdot.v{self.width}f32.v{2 * self.width}bf16"
        else:
            name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * self.width}"
        return self.b.call(v.declare(name, v.type, [v.type, pairs, pairs]),
                           [total, self.b.bitcast(factor, pairs), self.b.bitcast(x, pairs)])


class _HalvesTile(_Tile):
    """Pairs by two multiply-adds: the second elements first, as VDPBF16PS has it."""

    def _step(self, factor, x, total):
        for half in (self._second, self._first):
            total = self.v.fma(half(factor), half(x), total)
        return total

    def _second(self, pairs):
        words = ir.VectorType(I32, self.width)
        mask = ir.Constant(words, [-0x10000] * self.width)
        return self.b.bitcast(self.b.and_(self.b.bitcast(pairs, words), mask), self.v.type)

    def _first(self, pairs):
        words = ir.VectorType(I32, self.width)
        sixteen = ir.Constant(words, [16] * self.width)
        return self.b.bitcast(self.b.shl(self.b.bitcast(pairs, words), sixteen), self.v.type)


multiply_pairs_by_dot = tile_intrinsic(_DotTile)
multiply_pairs_by_halves = tile_intrinsic(_HalvesTile)


# ---------------------------------------------------------------- rows of elements to wider ones, and narrower
def _row_of(widen):
    @intrinsic(prefer_literal=True)
    def row(typing_context, count, width, source, out):
        size, lanes = count.literal_value, width.literal_value

        def codegen(context, builder, signature, values):
            _, _, source_at, out_at = values
            narrow, wide = (ir.VectorType(context.get_value_type(p.dtype), lanes) for p in (source, out))
            for j in range(0, size, lanes):
                loaded = builder.load(builder.bitcast(builder.gep(source_at, [_index(j)]), narrow.as_pointer()))
                loaded.align = source.dtype.bitwidth // 8
                target = builder.bitcast(builder.gep(out_at, [_index(j)]), wide.as_pointer())
                builder.store(widen(builder, loaded, wide, source.dtype), target).align = out.dtype.bitwidth // 8
            return context.get_dummy_value()

        return types.void(count, width, source, out), codegen
    return row


def _halves(builder, words, floats, kind):
    return builder.fpext(builder.bitcast(words, ir.VectorType(ir.HalfType(), floats.count)), floats)


def _bfloats(builder, words, floats, kind):
    wide = ir.VectorType(I32, floats.count)
    return builder.bitcast(builder.shl(builder.zext(words, wide), ir.Constant(wide, [16] * floats.count)), floats)


def _narrowed(builder, floats, words, kind):
    return builder.bitcast(builder.fptrunc(floats, ir.VectorType(_BFloat(), floats.type.count)), words)


def _bytes(builder, values, wide, kind):
    return (builder.sext if kind.signed else builder.zext)(values, wide)


widen_float16, widen_bfloat16, widen_bytes = _row_of(_halves), _row_of(_bfloats), _row_of(_bytes)
narrow_bfloats = _row_of(_narrowed)                      # by VCVTNEPS2BF16


# ---------------------------------------------------------------- two rows to one of pairs
@intrinsic(prefer_literal=True)
def interleave_rows(typing_context, count, first, second, out):
    size = count.literal_value

    def codegen(context, builder, signature, values):
        element = context.get_value_type(first.dtype)
        rows = [builder.load(builder.bitcast(row, ir.VectorType(element, size).as_pointer())) for row in values[1:3]]
        for row in rows:
            row.align = first.dtype.bitwidth // 8
        order = ir.Constant(ir.VectorType(I32, 2 * size), [r + half for r in range(size) for half in (0, size)])
        target = builder.bitcast(values[3], ir.VectorType(element, 2 * size).as_pointer())
        builder.store(builder.shuffle_vector(*rows, order), target).align = first.dtype.bitwidth // 8
        return context.get_dummy_value()
    return types.void(count, first, second, out), codegen
