"""The LLVM IR behind `kernels/intrinsics.py`. Imported only when something must be compiled, since it imports Numba."""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .. import debugmemory
from ..debugmemory.poison import POISON

I16, I32, I64, F16, F32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.HalfType(), ir.FloatType()


def _float_intrinsic(name, llvm_name, arity):
    """An LLVM intrinsic over `arity` floats of one type, overloaded by that type."""
    def typed(typing_context, args):
        if not all(isinstance(a, types.Float) and a == args[0] for a in args):
            return None

        def codegen(context, builder, signature, values):
            ty = values[0].type
            suffix = "f32" if isinstance(ty, ir.FloatType) else "f64"
            fn = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ty, [ty] * arity), f"llvm.{llvm_name}.{suffix}")
            return builder.call(fn, values)
        return args[0](*args), codegen

    forms = {1: lambda typing_context, x: typed(typing_context, (x,)),
             2: lambda typing_context, x, y: typed(typing_context, (x, y)),
             3: lambda typing_context, x, y, z: typed(typing_context, (x, y, z))}
    form = forms[arity]
    form.__name__ = name
    return intrinsic(form)


fma = _float_intrinsic("fma", "fma", 3)
copysign = _float_intrinsic("copysign", "copysign", 2)
fmax = _float_intrinsic("fmax", "maximum", 2)
fmin = _float_intrinsic("fmin", "minimum", 2)
floor = _float_intrinsic("floor", "floor", 1)
ceil = _float_intrinsic("ceil", "ceil", 1)
trunc = _float_intrinsic("trunc", "trunc", 1)
rint = _float_intrinsic("rint", "rint", 1)
sqrt = _float_intrinsic("sqrt", "sqrt", 1)
fabs = _float_intrinsic("fabs", "fabs", 1)


@intrinsic
def divide(typing_context, x, y):
    def codegen(context, builder, signature, values):
        return (builder.sdiv if x.signed else builder.udiv)(*values)
    return x(x, x), codegen


@intrinsic
def select(typing_context, condition, x, y):
    if x != y:
        x = y = typing_context.unify_types(x, y)

    def codegen(context, builder, signature, values):
        c, a, b = values
        a = context.cast(builder, a, signature.args[1], signature.return_type)
        b = context.cast(builder, b, signature.args[2], signature.return_type)
        c = context.cast(builder, c, signature.args[0], types.boolean)
        return builder.select(c, a, b)
    return x(condition, x, y), codegen


@intrinsic
def bits_of(typing_context, x):
    out = types.int32 if x == types.float32 else types.int64
    return out(x), lambda c, b, s, a: b.bitcast(a[0], I32 if s.return_type == types.int32 else I64)


@intrinsic
def float_of(typing_context, bits):
    out = types.float32 if bits == types.int32 else types.float64
    return out(bits), lambda c, b, s, a: b.bitcast(a[0], F32 if s.return_type == types.float32 else ir.DoubleType())


@intrinsic
def scale_by_power(typing_context, x, n):
    def codegen(context, builder, signature, values):
        ty = values[0].type
        n = values[1] if values[1].type.width == 32 else builder.trunc(values[1], I32)
        suffix = "f32" if isinstance(ty, ir.FloatType) else "f64"
        fn = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ty, [ty, I32]), f"llvm.ldexp.{suffix}.i32")
        return builder.call(fn, [values[0], n])
    return x(x, n), codegen


# ---------------------------------------------------------------- 16-bit floats
@intrinsic
def half_to_float(typing_context, word):
    return types.float32(types.uint16), lambda c, b, s, a: b.fpext(b.bitcast(a[0], F16), F32)


@intrinsic
def float_to_half(typing_context, x):
    return types.uint16(types.float32), lambda c, b, s, a: b.bitcast(b.fptrunc(a[0], F16), I16)


@intrinsic
def bfloat16_to_float(typing_context, word):
    return types.float32(types.uint16), lambda c, b, s, a: b.bitcast(b.shl(b.zext(a[0], I32), I32(16)), F32)


@intrinsic
def float_to_bfloat16(typing_context, x):
    def codegen(context, b, signature, a):
        u = b.bitcast(a[0], I32)
        rounded = b.lshr(b.add(u, b.add(I32(0x7FFF), b.and_(b.lshr(u, I32(16)), I32(1)))), I32(16))
        return b.trunc(b.select(b.fcmp_unordered("uno", a[0], a[0]), I32(0x7FC0), rounded), I16)
    return types.uint16(types.float32), codegen


@intrinsic
def halves_to_complex(typing_context, word):
    def codegen(context, b, signature, a):
        out = cgutils.create_struct_proxy(types.complex64)(context, b)
        out.real = b.fpext(b.bitcast(b.trunc(a[0], I16), F16), F32)
        out.imag = b.fpext(b.bitcast(b.trunc(b.lshr(a[0], I32(16)), I16), F16), F32)
        return out._getvalue()
    return types.complex64(types.uint32), codegen


@intrinsic
def complex_to_halves(typing_context, x):
    def codegen(context, b, signature, a):
        given = cgutils.create_struct_proxy(types.complex64)(context, b, value=a[0])
        real, imag = [b.zext(b.bitcast(b.fptrunc(part, F16), I16), I32) for part in (given.real, given.imag)]
        return b.or_(real, b.shl(imag, I32(16)))
    return types.uint32(types.complex64), codegen


# ---------------------------------------------------------------- memory
@intrinsic
def as_pointer(typing_context, address, like):
    return like(types.int64, like), lambda c, b, s, a: b.inttoptr(a[0], c.get_value_type(s.return_type))


@intrinsic
def address_of(typing_context, pointer):
    return types.int64(pointer), lambda c, b, s, a: b.ptrtoint(a[0], I64)


@intrinsic
def offset(typing_context, pointer, elements):
    def codegen(context, builder, signature, values):
        return builder.gep(values[0], [values[1]])
    return pointer(pointer, types.int64), codegen


@intrinsic
def transpose_block(typing_context, source, stride, target, step):
    """Rows as vectors; then for each bit of a position, the halves of pairs of rows that differ in it change places."""
    def codegen(context, builder, signature, values):
        element = context.get_data_type(source.dtype)
        vector, size = ir.VectorType(element, 8), context.get_abi_sizeof(element)

        def place(pointer, step, i):
            return builder.bitcast(builder.gep(pointer, [builder.mul(step, I64(i))]), vector.as_pointer())
        rows = [builder.load(place(values[0], values[1], i), align=size) for i in range(8)]
        for bit in (1, 2, 4):
            kept = [c if not c & bit else 8 + (c ^ bit) for c in range(8)]
            moved = [c ^ bit if not c & bit else 8 + c for c in range(8)]
            masks = [ir.Constant(ir.VectorType(I32, 8), mask) for mask in (kept, moved)]
            for i in range(8):
                if not i & bit:
                    pair = rows[i], rows[i | bit]
                    rows[i], rows[i | bit] = [builder.shuffle_vector(*pair, mask) for mask in masks]
        for i, row in enumerate(rows):
            builder.store(row, place(values[2], values[3], i), align=size)
        return context.get_dummy_value()
    return types.void(source, types.int64, target, types.int64), codegen


LINE = 64                                                # bytes of a line of the cache, and of the longest vector


def _on_the_stack(context, builder, element, count):
    """Elements on the stack of this call. Numba's `alloca_once` also stores zeros, as one value of thousands of numbers, which LLVM
    takes apart again and again: a loop over tiles took twice as long to compile, and each call wrote 8 KiB of zeros."""
    with builder.goto_entry_block():
        block = builder.alloca(ir.ArrayType(element, count))
        if context.get_abi_sizeof(element) * count >= LINE:
            block.align = LINE                           # else every vector of 64 bytes is in two lines of the cache
    if debugmemory.FILLS_THE_STACK:
        halves = builder.bitcast(block, I16.as_pointer())
        with cgutils.for_range(builder, I64(context.get_abi_sizeof(element) * count // 2)) as loop:
            builder.store(I16(POISON), builder.gep(halves, [loop.index]))
    return builder.bitcast(block, element.as_pointer())


@intrinsic(prefer_literal=True)
def local_like(typing_context, pointer, count):
    n = count.literal_value

    def codegen(context, builder, signature, values):
        return _on_the_stack(context, builder, context.get_data_type(pointer.dtype), n)
    return pointer(pointer, count), codegen


@intrinsic(prefer_literal=True)
def local_array(typing_context, dtype, count):
    pointer, n = types.CPointer(dtype.dtype), count.literal_value

    def codegen(context, builder, signature, values):
        return _on_the_stack(context, builder, context.get_data_type(pointer.dtype), n)
    return pointer(dtype, count), codegen


MAX_ARGUMENTS = 24


@intrinsic
def call_native(typing_context, address, arguments, count):
    def codegen(context, builder, signature, values):
        address, arguments, count = values
        done = builder.append_basic_block("called")
        switch = builder.switch(count, done)
        for n in range(1, MAX_ARGUMENTS + 1):
            block = builder.append_basic_block(f"call{n}")
            switch.add_case(I64(n), block)
            builder.position_at_end(block)
            words = [builder.load(builder.gep(arguments, [I64(i)])) for i in range(n)]
            builder.call(builder.inttoptr(address, ir.FunctionType(ir.VoidType(), [I64] * n).as_pointer()), words)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()
    return types.void(types.int64, arguments, types.int64), codegen


@intrinsic
def call_c(typing_context, address, a, b, c):
    def codegen(context, builder, signature, values):
        kind = ir.FunctionType(I64, [I64] * 3)
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])
    return types.int64(*[types.int64] * 4), codegen


# ---------------------------------------------------------------- atomics
ORDER = "seq_cst"                                        # launches are rare enough for the simplest order there is


@intrinsic
def atomic_load(typing_context, pointer):
    def codegen(context, builder, signature, values):
        return builder.load_atomic(values[0], ORDER, 8)
    return types.int64(pointer), codegen


@intrinsic
def atomic_store(typing_context, pointer, value):
    def codegen(context, builder, signature, values):
        builder.store_atomic(values[1], values[0], ORDER, 8)
        return context.get_dummy_value()
    return types.void(pointer, types.int64), codegen


@intrinsic
def atomic_add(typing_context, pointer, value):
    def codegen(context, builder, signature, values):
        return builder.atomic_rmw("add", values[0], values[1], ORDER)
    return types.int64(pointer, types.int64), codegen


@intrinsic
def compare_exchange(typing_context, pointer, expected, value):
    def codegen(context, builder, signature, values):
        return builder.extract_value(builder.cmpxchg(*values, ORDER, ORDER), 1)
    return types.boolean(pointer, types.int64, types.int64), codegen


@intrinsic
def pause(typing_context):
    def codegen(context, builder, signature, values):
        module = builder.module
        if module.triple.startswith("x86_64"):
            builder.call(cgutils.get_or_insert_function(module, ir.FunctionType(ir.VoidType(), []), "llvm.x86.sse2.pause"), [])
        elif module.triple.startswith(("aarch64", "arm64")):
            hint = ir.FunctionType(ir.VoidType(), [I32])
            builder.call(cgutils.get_or_insert_function(module, hint, "llvm.aarch64.hint"), [I32(1)])
        return context.get_dummy_value()
    return types.void(), codegen
