"""The vector IR of `rowmove.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I32 = ir.IntType(32)


@intrinsic(prefer_literal=True)
def move_vector(typing_context, source, target, count, backward):
    lanes, turned = count.literal_value, backward.literal_value

    def codegen(context, builder, signature, values):
        element = context.get_data_type(source.dtype)
        vector, size = ir.VectorType(element, lanes), context.get_abi_sizeof(element)
        held = builder.load(builder.bitcast(values[0], vector.as_pointer()), align=size)
        if turned:
            order = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes - 1, -1, -1)))
            held = builder.shuffle_vector(held, ir.Constant(vector, ir.Undefined), order)
        builder.store(held, builder.bitcast(values[1], vector.as_pointer()), align=size)
        return context.get_dummy_value()
    return types.void(source, target, count, backward), codegen
