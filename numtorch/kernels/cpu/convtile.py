"""The LLVM vector IR that convolution needs beside the matrix micro-kernel of `microkernel.py`.

The Python twins are in `convpanel.py`. Imported only when a kernel must be compiled.
"""
from __future__ import annotations

from numba import types
from numba.extending import intrinsic

from .microkernel import I64, _index, _Vectors


@intrinsic(prefer_literal=True)
def copy_vector(typing_context, width, source, out):
    lanes = width.literal_value

    def codegen(context, builder, signature, values):
        v = _Vectors(builder, context.get_value_type(signature.args[2].dtype), lanes)
        v.store(v.load(values[1]), values[2])
        return context.get_dummy_value()
    return types.void(width, source, out), codegen


def _emit_indirect(b, v, rows, vectors, plane, operands):
    """out += left @ right for one height, where the left operand is found by adding a row's and a column's offset."""
    depth, left, row_offsets, column_offsets, right, out, out_row = operands
    width = v.width
    lefts = [b.gep(left, [b.load(b.gep(row_offsets, [_index(i)]))]) for i in range(rows)]
    entry, loop, done = b.block, b.append_basic_block("depth"), b.append_basic_block("summed")
    b.branch(loop)
    b.position_at_end(loop)
    k = b.phi(I64)
    sums = [[b.phi(v.type) for _ in range(vectors)] for _ in range(rows)]
    column = b.load(b.gep(column_offsets, [k]))
    panel = b.gep(right, [b.mul(k, _index(width))])
    row = [v.load(b.gep(panel, [_index(j * plane)])) for j in range(vectors)]
    new = []
    for start, old in zip(lefts, sums):
        factor = v.splat(b.load(b.gep(start, [column])))
        new.append([v.fma(factor, x, y) for x, y in zip(row, old)])
    following = b.add(k, _index(1))
    k.add_incoming(_index(0), entry)
    k.add_incoming(following, loop)
    for old_row, new_row in zip(sums, new):
        for old, value in zip(old_row, new_row):
            old.add_incoming(v.zero, entry)
            old.add_incoming(value, loop)
    b.cbranch(b.icmp_signed("<", following, depth), loop, done)
    b.position_at_end(done)
    for i, new_row in enumerate(new):
        start = b.gep(out, [b.mul(out_row, _index(i))])
        for j, value in enumerate(new_row):
            to = b.gep(start, [_index(j * width)])
            v.store(b.fadd(v.load(to), value), to)


@intrinsic(prefer_literal=True)
def multiply_indirect(typing_context, max_rows, vectors, width, plane, rows, depth, left, row_offsets, column_offsets,
                      right, out, out_row):
    count, lanes, distance = [t.literal_value for t in (vectors, width, plane)]
    tallest = max_rows.literal_value

    def codegen(context, builder, signature, values):
        element = context.get_value_type(out.dtype)
        done = builder.append_basic_block("tile_done")
        switch = builder.switch(values[4], done)
        for height in range(1, tallest + 1):
            block = builder.append_basic_block(f"rows{height}")
            switch.add_case(_index(height), block)
            builder.position_at_end(block)
            _emit_indirect(builder, _Vectors(builder, element, lanes), height, count, distance, values[5:])
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(max_rows, vectors, width, plane, integer, integer, left, row_offsets, column_offsets, right, out,
                      integer), codegen
