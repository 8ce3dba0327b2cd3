"""The vector IR of `rows.py` and `words.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I32 = ir.IntType(32)


@intrinsic(prefer_literal=True)
def move_vector(typing_context, source, target, count, backward):
    lanes, transposed = count.literal_value, backward.literal_value

    def codegen(context, builder, signature, values):
        element = context.get_data_type(source.dtype)
        vector, size = ir.VectorType(element, lanes), context.get_abi_sizeof(element)
        held = builder.load(builder.bitcast(values[0], vector.as_pointer()), align=size)
        if transposed:
            order = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes - 1, -1, -1)))
            held = builder.shuffle_vector(held, ir.Constant(vector, ir.Undefined), order)
        builder.store(held, builder.bitcast(values[1], vector.as_pointer()), align=size)
        return context.get_dummy_value()
    return types.void(source, target, count, backward), codegen


@intrinsic(prefer_literal=True)
def take_every(typing_context, source, target, count, step, at_end):
    lanes, apart = count.literal_value, step.literal_value
    first = apart - 1 if at_end.literal_value else 0

    def codegen(context, builder, signature, values):
        element = context.get_data_type(source.dtype)
        whole, size = ir.VectorType(element, lanes * apart), context.get_abi_sizeof(element)
        held = builder.load(builder.bitcast(values[0], whole.as_pointer()), align=size)
        places = ir.Constant(ir.VectorType(I32, lanes), [first + i * apart for i in range(lanes)])
        taken = builder.shuffle_vector(held, ir.Constant(whole, ir.Undefined), places)
        builder.store(taken, builder.bitcast(values[1], ir.VectorType(element, lanes).as_pointer()), align=size)
        return context.get_dummy_value()
    return types.void(source, target, count, step, at_end), codegen
