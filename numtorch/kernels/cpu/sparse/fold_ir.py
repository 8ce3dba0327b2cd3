"""The vector IR of `product.py`. Imported only when a kernel must be compiled."""
from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from ..micro.blocks_ir import I64, sweep
from ..micro.microkernel import _Vectors

AHEAD = 2                                                # elements of a row at a time


def _emit(v, values, columns, first, stop, table, step, target, vectors, count=None):
    """Elements of the row two at a time, then what is left; the sums of all columns in registers throughout.

    Args:
        vectors: how many registers of sums.
        count: of a single register, how many lanes are columns; the others are neither read nor written. None: all.
    """
    b, sums = v.builder, [v.zero] * vectors
    mask = None if count is None else v.first(count, 0)

    def added(i, totals, ahead):
        for k in range(ahead):
            place = b.add(i, I64(k))
            factor = v.splat(b.load(b.gep(values, [place])))
            column = b.load(b.gep(columns, [place]))
            row = b.gep(table, [b.mul(column if column.type == I64 else b.sext(column, I64), step)])
            totals = [v.fma(factor, v.load(b.gep(row, [I64(j * v.width)]), mask), total) for j, total in enumerate(totals)]
        return totals

    for ahead in (AHEAD, 1):
        first, sums = sweep(b, first, stop, ahead, sums, added)
    for j, total in enumerate(sums):
        v.store(total, b.gep(target, [I64(j * v.width)]), mask)


@intrinsic(prefer_literal=True)
def fold_named_rows(typing_context, values, columns, first, stop, table, step, target, vectors, lanes):
    count, of = vectors.literal_value, lanes.literal_value

    def codegen(context, builder, signature, arguments):
        _emit(_Vectors(builder, context.get_data_type(target.dtype), of), *arguments[:7], count)
        return context.get_dummy_value()
    return types.void(values, columns, types.int64, types.int64, table, types.int64, target, vectors, lanes), codegen


@intrinsic(prefer_literal=True)
def fold_named_columns(typing_context, values, columns, first, stop, table, step, target, count, lanes):
    of = lanes.literal_value

    def codegen(context, builder, signature, arguments):
        _emit(_Vectors(builder, context.get_data_type(target.dtype), of), *arguments[:7], 1, arguments[7])
        return context.get_dummy_value()
    return types.void(values, columns, types.int64, types.int64, table, types.int64, target, types.int64, lanes), codegen
