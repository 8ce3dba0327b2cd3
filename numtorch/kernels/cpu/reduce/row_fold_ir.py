"""The vector IR of `row_fold.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...intrinsics import bfloat16_to_float, half_to_float
from ..micro.blocks_ir import sweep, when
from ..micro.microkernel import _prefetch
from .row_fold import COMBINES, LIFTS, LOADS, ROWS

AHEAD = 8192                     # bytes: the processor sees no stream in rows in turns. Without, rows of 100 take a third longer

I32, I64 = ir.IntType(32), ir.IntType(64)


class _Fold:
    """Emits the reduction of rows or of columns of `source` elements, in `result`: Numba's types."""

    def __init__(self, context, builder, source, result, lanes, combine, lift):
        self.b, self.lanes, self.how, self.lift = builder, lanes, COMBINES[combine], LIFTS[lift % 3]
        self.word = LOADS[lift // 3]
        self.integer, self.signed = isinstance(result, types.Integer), getattr(source, "signed", True)
        self.source, self.result = context.get_data_type(source), context.get_data_type(result)
        self.source_size, self.size = source.bitwidth // 8, result.bitwidth // 8

    def call(self, name, *vectors):
        kind = vectors[0].type
        function = ir.FunctionType(kind, [kind] * len(vectors))
        name = f"llvm.{name}.v{kind.count}f{8 * self.size}"
        return self.b.call(cgutils.get_or_insert_function(self.b.module, function, name), vectors, fastmath=("nsz",))

    def beats(self, x, y):
        compare = self.b.icmp_signed if self.signed else self.b.icmp_unsigned
        return compare(">" if self.how == "larger" else "<", x, y)

    def combine(self, x, y):
        if self.how == "add":
            return self.b.add(x, y) if self.integer else self.b.fadd(x, y)
        if self.how == "multiply":
            return self.b.mul(x, y) if self.integer else self.b.fmul(x, y)
        if self.integer:
            return self.b.select(self.beats(x, y), x, y)
        return self.call("maximum" if self.how == "larger" else "minimum", x, y)

    def lifted(self, x):
        if self.lift == "squared":
            return self.b.mul(x, x) if self.integer else self.b.fmul(x, x)
        if self.lift == "magnitude":
            if self.integer:
                return self.b.select(self.b.icmp_signed("<", x, ir.Constant(x.type, None)), self.b.neg(x), x)
            return self.call("fabs", x)
        return x

    def load(self, pointer):
        place = self.b.bitcast(pointer, ir.VectorType(self.source, self.lanes).as_pointer())
        x = self.b.load(place, align=self.source_size)
        floats, integers = (ir.VectorType(kind, self.lanes) for kind in (ir.FloatType(), I32))
        if self.word is half_to_float:
            x = self.b.fpext(self.b.bitcast(x, ir.VectorType(ir.HalfType(), self.lanes)), floats)
        elif self.word is bfloat16_to_float:
            upper = ir.Constant(integers, [16] * self.lanes)
            x = self.b.bitcast(self.b.shl(self.b.zext(x, integers), upper), floats)
        elif self.source_size != self.size:
            x = (self.b.sext if self.signed else self.b.zext)(x, ir.VectorType(self.result, self.lanes))
        return self.lifted(x)

    def shuffle(self, x, y, places):
        return self.b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, len(places)), places))

    def splat(self, scalar):
        undefined = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        return self.shuffle(self.b.insert_element(undefined, scalar, I32(0)), undefined, [0] * self.lanes)

    def last_vectors(self, rows, n, identity):
        """The vectors that end with the rows, with the identity for what a whole vector or another row has.

        The mask is read from memory, as a select would become loads under a mask (see `elements.whole`).
        """
        b, word = self.b, ir.IntType(8 * self.size)
        words = ir.VectorType(word, self.lanes)
        bits = ir.Constant(ir.ArrayType(word, 2 * self.lanes), [0] * self.lanes + [-1] * self.lanes)
        first = b.sub(I64(self.lanes), b.and_(b.neg(n), I64(self.lanes - 1)))
        place = b.gep(cgutils.global_constant(b.module, "row_mask", bits), [I64(0), first])
        mask = b.load(b.bitcast(place, words.as_pointer()), align=self.size)
        nothing = b.and_(b.not_(mask), b.bitcast(identity, words))
        result = [b.bitcast(self.load(b.gep(row, [b.sub(n, I64(self.lanes))])), words) for row in rows]
        return [b.bitcast(b.or_(b.and_(x, mask), nothing), identity.type) for x in result]

    def columns(self, x, step, n, target, identity, width):
        """Four rows at a time: the next addition to a column waits for the last a quarter as often."""
        b, identity = self.b, self.splat(identity)
        first, sums = I64(0), [identity] * (width // self.lanes)

        def added(r, totals, rows):
            places, new = [b.gep(x, [b.mul(b.add(r, I64(i)), step)]) for i in range(rows)], []
            for j, total in enumerate(totals):
                partial = [self.load(b.gep(place, [I64(j * self.lanes)])) for place in places]
                while len(partial) > 1:
                    partial = [self.combine(*pair) for pair in zip(partial[::2], partial[1::2])]
                new.append(self.combine(total, partial[0]))
            return new

        for rows in (4, 1):
            first, sums = sweep(b, first, n, rows, sums, added)
        for j, total in enumerate(sums):
            place = b.gep(target, [I64(j * self.lanes)])
            b.store(total, b.bitcast(place, total.type.as_pointer()), align=self.size)

    def rows(self, x, step, n, target, identity):
        b = self.b
        rows = [b.gep(x, [b.mul(step, I64(r))]) for r in range(ROWS)]
        identity = self.splat(identity)
        whole = b.and_(n, I64(-self.lanes))
        entry, head, body, rest = b.block, *(b.append_basic_block(f"rows_{i}") for i in range(3))
        b.branch(head)
        b.position_at_end(head)
        i, *sums = [b.phi(I64), *(b.phi(identity.type) for _ in rows)]
        b.cbranch(b.icmp_signed("<", i, whole), body, rest)
        b.position_at_end(body)
        i.add_incoming(I64(0), entry)
        i.add_incoming(b.add(i, I64(self.lanes)), body)
        for r, (phi, row) in enumerate(zip(sums, rows)):
            ahead = I64(r * self.lanes + AHEAD // self.source_size)
            _prefetch(b, b.gep(x, [b.add(b.mul(i, I64(ROWS)), ahead)]), 0)
            phi.add_incoming(identity, entry)
            phi.add_incoming(self.combine(phi, self.load(b.gep(row, [i]))), body)
        b.branch(head)
        b.position_at_end(rest)
        result = self.halved(when(b, b.icmp_signed("<", whole, n), sums, lambda: [
            self.combine(*pair) for pair in zip(sums, self.last_vectors(rows, n, identity))]))
        b.store(result, b.bitcast(target, result.type.as_pointer()), align=self.size)

    def halved(self, vectors):
        """Two vectors become one by combining the halves of each row's lanes; the last one by itself, to a lane a row."""
        part = self.lanes                                # lanes of a row in a vector
        while part > 1:
            pairs = list(zip(vectors[::2], vectors[1::2])) or [(vectors[0], vectors[0])]
            places = range(vectors[0].type.count * min(len(vectors), 2))
            low, high = ([i for i in places if (i % part >= part // 2) == upper] for upper in (False, True))
            vectors = [self.combine(self.shuffle(*pair, low), self.shuffle(*pair, high)) for pair in pairs]
            part //= 2
        return vectors[0]


@intrinsic(prefer_literal=True)
def fold_rows(typing_context, x, step, n, target, lanes, combine, lift, identity):
    how = lanes.literal_value, combine.literal_value, lift.literal_value

    def codegen(context, builder, signature, values):
        nothing = context.cast(builder, values[7], signature.args[7], target.dtype)
        _Fold(context, builder, x.dtype, target.dtype, *how).rows(*values[:4], nothing)
        return context.get_dummy_value()
    return types.void(x, types.int64, types.int64, target, lanes, combine, lift, identity), codegen


@intrinsic(prefer_literal=True)
def fold_columns(typing_context, x, step, n, target, columns, lanes, combine, lift, identity):
    width, *how = (literal.literal_value for literal in (columns, lanes, combine, lift))

    def codegen(context, builder, signature, values):
        nothing = context.cast(builder, values[8], signature.args[8], target.dtype)
        _Fold(context, builder, x.dtype, target.dtype, *how).columns(*values[:4], nothing, width)
        return context.get_dummy_value()
    return types.void(x, types.int64, types.int64, target, columns, lanes, combine, lift, identity), codegen
