"""The LLVM IR behind launching.py."""
from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

I32, I64, WORDS = ir.IntType(32), ir.IntType(64), 11


@intrinsic
def call_driver(typing_context, address, words):
    def codegen(context, builder, signature, values):
        given = [builder.load(builder.gep(values[1], [I64(i)])) for i in range(WORDS)]
        function = builder.inttoptr(values[0], ir.FunctionType(I32, [I64] * WORDS).as_pointer())
        return builder.zext(builder.call(function, given), I64)
    return types.int64(types.int64, words), codegen
