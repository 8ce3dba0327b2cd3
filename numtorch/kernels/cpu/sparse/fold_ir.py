"""The vector IR of `product.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

I32, I64 = ir.IntType(32), ir.IntType(64)
AHEAD = 2                                                # elements of a row at a time


def _emit(b, element, values, columns, first, stop, table, step, target, vectors, lanes, count=None):
    """Elements of the row two at a time, then what is left; the sums of all columns in registers throughout.

    Args:
        vectors: how many registers of sums.
        count: of a single register, how many lanes are columns; the others are neither read nor written. None: all.
    """
    vector = ir.VectorType(element, lanes)
    size = 8 if isinstance(element, ir.DoubleType) else 4
    sums, done = [ir.Constant(vector, None)] * vectors, first
    suffix = f"v{lanes}f{8 * size}"
    multiply_add = cgutils.get_or_insert_function(b.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.{suffix}")
    first_lanes = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)

    def splat(scalar):
        undefined = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
        return b.shuffle_vector(b.insert_element(undefined, scalar, I32(0)), undefined, first_lanes)

    mask = None
    if count is not None:
        mask = b.icmp_signed("<", ir.Constant(ir.VectorType(I32, lanes), list(range(lanes))), splat(b.trunc(count, I32)))

    def read(pointer):
        pointer = b.bitcast(pointer, vector.as_pointer())
        if mask is None:
            return b.load(pointer, align=size)
        kind = ir.FunctionType(vector, [pointer.type, I32, mask.type, vector])
        return b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.masked.load.{suffix}.p0"),
                      [pointer, I32(size), mask, ir.Constant(vector, None)])

    def write(total, pointer):
        pointer = b.bitcast(pointer, vector.as_pointer())
        if mask is None:
            b.store(total, pointer, align=size)
            return
        kind = ir.FunctionType(ir.VoidType(), [vector, pointer.type, I32, mask.type])
        b.call(cgutils.get_or_insert_function(b.module, kind, f"llvm.masked.store.{suffix}.p0"), [total, pointer, I32(size), mask])

    for ahead in (AHEAD, 1):
        before, (head, body, end) = b.block, [b.append_basic_block(f"elements_{i}") for i in range(3)]
        b.branch(head)
        b.position_at_end(head)
        i, *totals = [b.phi(I64), *(b.phi(vector) for _ in sums)]
        after = b.add(i, I64(ahead))
        b.cbranch(b.icmp_signed("<=", after, stop), body, end)
        b.position_at_end(body)
        i.add_incoming(done, before)
        i.add_incoming(after, body)
        updated = list(totals)
        for k in range(ahead):
            place = b.add(i, I64(k))
            factor = splat(b.load(b.gep(values, [place])))
            column = b.load(b.gep(columns, [place]))
            row = b.gep(table, [b.mul(column if column.type == I64 else b.sext(column, I64), step)])
            for j in range(len(sums)):
                updated[j] = b.call(multiply_add, [factor, read(b.gep(row, [I64(j * lanes)])), updated[j]])
        for phi, start, total in zip(totals, sums, updated):
            phi.add_incoming(start, before)
            phi.add_incoming(total, body)
        b.branch(head)
        b.position_at_end(end)
        done, sums = i, totals
    for j, total in enumerate(sums):
        write(total, b.gep(target, [I64(j * lanes)]))


@intrinsic(prefer_literal=True)
def fold_named_rows(typing_context, values, columns, first, stop, table, step, target, vectors, lanes):
    count, of = vectors.literal_value, lanes.literal_value

    def codegen(context, builder, signature, arguments):
        _emit(builder, context.get_data_type(target.dtype), *arguments[:7], count, of)
        return context.get_dummy_value()
    return types.void(values, columns, types.int64, types.int64, table, types.int64, target, vectors, lanes), codegen


@intrinsic(prefer_literal=True)
def fold_named_columns(typing_context, values, columns, first, stop, table, step, target, count, lanes):
    of = lanes.literal_value

    def codegen(context, builder, signature, arguments):
        _emit(builder, context.get_data_type(target.dtype), *arguments[:7], 1, of, arguments[7])
        return context.get_dummy_value()
    return types.void(values, columns, types.int64, types.int64, table, types.int64, target, types.int64, lanes), codegen
