"""The vector IR of `product.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

I32, I64 = ir.IntType(32), ir.IntType(64)
AHEAD = 2                                                # elements of a row at a time


def _emit(b, element, values, places, columns, first, stop, table, step, target, width, lanes):
    """Elements of the row two at a time, then what is left; the sums of all columns in registers throughout."""
    vector = ir.VectorType(element, lanes)
    size = 8 if isinstance(element, ir.DoubleType) else 4
    undefined = ir.Constant(vector, ir.Undefined)
    sums, done = [ir.Constant(vector, None)] * (width // lanes), first
    fma = ir.FunctionType(vector, [vector] * 3)
    name = f"llvm.fma.v{lanes}f{8 * size}"
    multiply_add = b.module.globals.get(name) or ir.Function(b.module, fma, name)

    def at(pointer, place):
        return b.load(b.gep(pointer, [place]))

    for count in (AHEAD, 1):
        before, (head, body, end) = b.block, [b.append_basic_block(f"elements_{i}") for i in range(3)]
        b.branch(head)
        b.position_at_end(head)
        i, *totals = [b.phi(I64), *(b.phi(vector) for _ in sums)]
        after = b.add(i, I64(count))
        b.cbranch(b.icmp_signed("<=", after, stop), body, end)
        b.position_at_end(body)
        i.add_incoming(done, before)
        i.add_incoming(after, body)
        found = list(totals)
        for k in range(count):
            place = b.add(i, I64(k))
            scalar = at(values, at(places, place))
            factor = b.shuffle_vector(b.insert_element(undefined, scalar, I32(0)), undefined,
                                      ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))
            row = b.gep(table, [b.mul(at(columns, place), step)])
            for j in range(len(sums)):
                part = b.bitcast(b.gep(row, [I64(j * lanes)]), vector.as_pointer())
                found[j] = b.call(multiply_add, [factor, b.load(part, align=size), found[j]])
        for phi, start, total in zip(totals, sums, found):
            phi.add_incoming(start, before)
            phi.add_incoming(total, body)
        b.branch(head)
        b.position_at_end(end)
        done, sums = i, totals
    for j, total in enumerate(sums):
        b.store(total, b.bitcast(b.gep(target, [I64(j * lanes)]), vector.as_pointer()), align=size)


@intrinsic(prefer_literal=True)
def fold_named_rows(typing_context, values, places, columns, first, stop, table, step, target, width, lanes):
    wide, of = width.literal_value, lanes.literal_value

    def codegen(context, builder, signature, arguments):
        _emit(builder, context.get_data_type(target.dtype), *arguments[:8], wide, of)
        return context.get_dummy_value()
    return types.void(values, places, columns, types.int64, types.int64, table, types.int64, target, width, lanes), codegen
