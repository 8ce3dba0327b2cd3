"""The LLVM IR behind fragments.py."""
from __future__ import annotations

from llvmlite import ir
from numba.cuda import cgutils, types

from ..lowering import _named
from .fragments import _of_columns, places

I32, FLOAT = ir.IntType(32), ir.FloatType()


def _items(builder, value, count):
    return [builder.extract_value(value, i) for i in range(count)]


def _one(builder, text, constraints, *values):
    return builder.asm(ir.FunctionType(FLOAT, [v.type for v in values]), text, constraints, values, False)


def _of_rows(name, combine):
    """A number of each row, by `combine(builder, x, y)`."""
    def form(typing_context, x, rows):
        if not isinstance(rows, types.IntegerLiteral):
            return None
        count = rows.literal_value

        def codegen(context, builder, signature, values):
            found: list = [None] * (2 * count)
            for value, (row, _) in zip(_items(builder, values[0], len(x)), places(len(x), count)):
                found[row] = value if found[row] is None else combine(builder, found[row], value)
            return cgutils.pack_array(builder, found)
        return types.UniTuple(types.float32, 2 * count)(x, rows), codegen
    return _named(name, form)


maxima_of_rows = _of_rows("maxima_of_rows", lambda builder, x, y: _one(builder, "max.NaN.f32 $0, $1, $2;", "=f,f,f", x, y))
sums_of_rows = _of_rows("sums_of_rows", lambda builder, x, y: builder.fadd(x, y))


def _each(name, compute, kind=types.float32):
    """Of each number `compute(builder, number, the number of its row, the place of its column)`."""
    def form(typing_context, x, of_rows):
        def codegen(context, builder, signature, values):
            given, each = _items(builder, values[0], len(x)), _items(builder, values[1], len(of_rows))
            return cgutils.pack_array(builder, [compute(builder, value, each[row], column) for value, (row, column) in
                                                zip(given, places(len(x), len(of_rows) // 2))])
        return x(x, types.UniTuple(kind, len(of_rows))), codegen
    return _named(name, form)


def _seen(comparison):
    def compute(builder, value, limit, column):
        return builder.select(builder.icmp_signed(comparison, I32(column), limit), value, ir.Constant(FLOAT, float("-inf")))
    return compute


times_rows = _each("times_rows", lambda builder, value, factor, column: builder.fmul(value, factor))
seen_below, seen_above = _each("seen_below", _seen("<"), types.int32), _each("seen_above", _seen(">="), types.int32)


def _place(x, numbers, of_columns):
    """For each of x the place of the number that belongs to its row, or to its column."""
    rows = len(x) // (2 * len(numbers)) if of_columns else len(numbers) // 2
    return [_of_columns(column) if of_columns else row for row, column in places(len(x), rows)]


def _exponentials(name, of_columns):
    def form(typing_context, x, unit, shifts):
        def codegen(context, builder, signature, values):
            less = [builder.fsub(ir.Constant(FLOAT, -0.0), shift) for shift in _items(builder, values[2], len(shifts))]
            found = []
            for value, place in zip(_items(builder, values[0], len(x)), _place(x, shifts, of_columns)):
                power = builder.fma(value, values[1], less[place])
                found.append(_one(builder, "ex2.approx.ftz.f32 $0, $1;", "=f,f", power))
            return cgutils.pack_array(builder, found)
        return x(x, types.float32, shifts), codegen
    return _named(name, form)


exponentials_of_rows = _exponentials("exponentials_of_rows", False)
exponentials_of_columns = _exponentials("exponentials_of_columns", True)


def _slopes(name, of_columns):
    def form(typing_context, x, t, dots):
        def codegen(context, builder, signature, values):
            given = [_items(builder, value, len(kind)) for value, kind in zip(values, (x, t, dots))]
            return cgutils.pack_array(builder, [builder.fmul(p, builder.fsub(s, given[2][place]))
                                                for p, s, place in zip(given[0], given[1], _place(x, dots, of_columns))])
        return x(x, t, dots), codegen
    return _named(name, form)


slopes_of_rows, slopes_of_columns = _slopes("slopes_of_rows", False), _slopes("slopes_of_columns", True)
