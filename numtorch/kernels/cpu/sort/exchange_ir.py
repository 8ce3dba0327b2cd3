"""The vector IR of a sorting network's exchange, for eight rows at once.

Imported only when a kernel must be compiled; the Python twins are in `sort.py`.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

VECTOR = ir.VectorType(ir.IntType(64), 8)


def _places(builder, pointer, count):
    """Pointers to the first `count` vectors of a line."""
    return [builder.bitcast(builder.gep(pointer, [ir.IntType(64)(8 * i)]), VECTOR.as_pointer()) for i in range(count)]


def _exchange(builder, arguments, vectors):
    places = [_places(builder, pointer, vectors) for pointer in arguments]
    a, b = ([builder.load(place, align=8) for place in line] for line in places)
    swap = builder.icmp_unsigned(">", a[0], b[0])
    if vectors == 2:
        equal = builder.icmp_unsigned("==", a[0], b[0])
        swap = builder.or_(swap, builder.and_(equal, builder.icmp_unsigned(">", a[1], b[1])))
    for first, second, x, y in zip(*places, a, b):
        builder.store(builder.select(swap, y, x), first, align=8)
        builder.store(builder.select(swap, x, y), second, align=8)


def _exchange_of(vectors):
    @intrinsic
    def exchange(typing_context, a, b):
        def codegen(context, builder, signature, arguments):
            _exchange(builder, arguments, vectors)
            return context.get_dummy_value()
        return types.void(a, b), codegen
    return exchange


exchange_words, exchange_pairs = _exchange_of(1), _exchange_of(2)
