"""The vector IR of running sums: eight elements at a time, by shifting and adding thrice (Hillis and Steele, "Data parallel
algorithms", CACM 29, 1986). One after another they would wait four cycles each for the sum before.

Imported only when a kernel must be compiled; the Python twin is in `scan.py`.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ...vectormath.elementary import has_avx512
from .scan import EIGHT

I32, I64 = ir.IntType(32), ir.IntType(64)
LANES = ir.VectorType(I32, EIGHT)


def _shuffled(builder, a, b, lanes):
    return builder.shuffle_vector(a, b, ir.Constant(LANES, [I32(i) for i in lanes]))


@intrinsic
def running_sums(typing_context, x, out, total, count):
    def codegen(context, builder, signature, values):
        module = builder.module
        source, target, before, count = values
        kind, element = before.type, source.type.pointee
        vector, stored = ir.VectorType(kind, EIGHT), ir.VectorType(element, EIGHT)
        align = 4 if element == ir.FloatType() else 8
        add = builder.add if isinstance(kind, ir.IntType) else builder.fadd
        nothing = ir.Constant(vector, [kind(0)] * EIGHT)
        if has_avx512():                                 # with zeros that it knows LLVM takes vexpandpd, three times as slow
            nothing = builder.asm(ir.FunctionType(vector, [vector]), "", "=v,0", [nothing], False)
        held = builder.insert_element(ir.Constant(vector, ir.Undefined), before, I32(0))
        held = _shuffled(builder, held, held, [0] * EIGHT)

        def place(pointer, index):
            return builder.bitcast(builder.gep(pointer, [index]), stored.as_pointer())

        def summed(sums):
            """Each lane with all before it: thrice the sum with what stands 1, 2 and 4 lanes before."""
            if stored != vector:
                sums = builder.fpext(sums, vector)
            step = 1
            while step < EIGHT:
                sums = add(sums, _shuffled(builder, nothing, sums, range(EIGHT - step, 2 * EIGHT - step)))
                step *= 2
            return sums

        def carried_on(carried, sums):
            """What to store, and the total for what follows, which waits for nothing but the total before."""
            here = add(sums, carried)
            return (builder.fptrunc(here, stored) if stored != vector else here,
                    add(carried, _shuffled(builder, sums, sums, [EIGHT - 1] * EIGHT)))
        entry, loop, check, rest, end = [builder.block, *[builder.append_basic_block() for _ in range(4)]]
        whole = builder.and_(count, I64(-EIGHT))
        builder.cbranch(builder.icmp_signed(">", whole, I64(0)), loop, check)

        builder.position_at_end(loop)
        index, carried = builder.phi(I64), builder.phi(vector)
        result, following = carried_on(carried, summed(builder.load(place(source, index), align=align)))
        builder.store(result, place(target, index), align=align)
        done = builder.add(index, I64(EIGHT))
        builder.cbranch(builder.icmp_signed("<", done, whole), loop, check)
        for phi, first, then in ((index, I64(0), done), (carried, held, following)):
            phi.add_incoming(first, entry)
            phi.add_incoming(then, loop)

        builder.position_at_end(check)
        total = builder.phi(vector)
        total.add_incoming(held, entry)
        total.add_incoming(following, loop)
        builder.cbranch(builder.icmp_signed("<", whole, count), rest, end)

        builder.position_at_end(rest)                    # the last few: what is masked off reads as 0 and is not written
        left = builder.insert_element(ir.Constant(LANES, ir.Undefined), builder.trunc(builder.sub(count, whole), I32), I32(0))
        mask = builder.icmp_signed("<", ir.Constant(LANES, list(range(EIGHT))), _shuffled(builder, left, left, [0] * EIGHT))
        suffix = f"v{EIGHT}{'f' if align == 4 else 'i'}{8 * align}"
        pointer = stored.as_pointer()
        read = ir.FunctionType(stored, [pointer, I32, mask.type, stored])
        write = ir.FunctionType(ir.VoidType(), [stored, pointer, I32, mask.type])
        words = builder.call(cgutils.get_or_insert_function(module, read, f"llvm.masked.load.{suffix}.p0"),
                             [place(source, whole), I32(align), mask, ir.Constant(stored, [element(0)] * EIGHT)])
        result, last = carried_on(total, summed(words))
        builder.call(cgutils.get_or_insert_function(module, write, f"llvm.masked.store.{suffix}.p0"),
                     [result, place(target, whole), I32(align), mask])
        builder.branch(end)
        builder.position_at_end(end)
        return context.get_dummy_value()
    return types.void(x, out, total, count), codegen
