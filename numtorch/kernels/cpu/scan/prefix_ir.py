"""The vector IR of running sums: eight elements at a time, by shifting and adding thrice (Hillis and Steele, "Data parallel
algorithms", CACM 29, 1986). One after another they would wait four cycles each for the sum before.

Imported only when a kernel must be compiled; the Python twin is in `scan.py`.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ...vectormath.elementary import has_avx512
from ..micro.blocks_ir import I64, repeat, when
from ..micro.microkernel import I32, _Vectors
from .scan import EIGHT


@intrinsic
def running_sums(typing_context, x, out, total, count):
    def codegen(context, builder, signature, values):
        b, (source, target, before, count) = builder, values
        sums, stored = (_Vectors(b, element, EIGHT) for element in (before.type, source.type.pointee))
        widened = stored.type != sums.type
        nothing = sums.zero
        if has_avx512():                                 # with zeros that it knows LLVM takes vexpandpd, three times as slow
            nothing = b.asm(ir.FunctionType(sums.type, [sums.type]), "", "=v,0", [nothing], False)

        def shuffled(x, y, lanes):
            return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, EIGHT), [I32(i) for i in lanes]))

        def eight(at, totals, mask=None):
            """Each lane with all before it: thrice the sum with what stands 1, 2 and 4 lanes before. The total for what follows
            waits for nothing but the total before."""
            words = stored.load(b.gep(source, [at]), mask)
            lanes, step = b.fpext(words, sums.type) if widened else words, 1
            while step < EIGHT:
                lanes = sums.add(lanes, shuffled(nothing, lanes, range(EIGHT - step, 2 * EIGHT - step)))
                step *= 2
            result = sums.add(lanes, totals[0])
            stored.store(b.fptrunc(result, stored.type) if widened else result, b.gep(target, [at]), mask)
            return [sums.add(totals[0], shuffled(lanes, lanes, [EIGHT - 1] * EIGHT))]

        whole, start = b.and_(count, I64(-EIGHT)), [sums.splat(before)]
        totals = when(b, b.icmp_signed(">", whole, I64(0)), start, lambda: repeat(b, whole, "eights", start, eight, EIGHT))
        with b.if_then(b.icmp_signed("<", whole, count)):    # the last few: what is masked off reads as 0 and is not written
            eight(whole, totals, stored.first(b.sub(count, whole), 0))
        return context.get_dummy_value()
    return types.void(x, out, total, count), codegen
