"""The form that intrinsics have in CUDA kernels: LLVM IR for NVVM, which lacks many of LLVM's own functions, and calls of
libdevice where one of its functions is the instruction that is meant. Imported only when something must be compiled."""
from __future__ import annotations

from llvmlite import ir
from numba.cuda import cgutils, dispatcher, types
from numba.cuda.extending import intrinsic

from ..codegen import lowering as host
from ..vectormath.ranges import LIMITS, QUOTIENT32, QUOTIENT64

I16, I32, I64, FLOAT, DOUBLE = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.DoubleType()


def _libdevice(builder, name, values):
    """Call libdevice's `__nv_<name>`, with an `f` appended for float32."""
    ty = values[0].type
    kind = ir.FunctionType(ty, [v.type for v in values])
    function = cgutils.get_or_insert_function(builder.module, kind, f"__nv_{name}{'f' if ty == FLOAT else ''}")
    return builder.call(function, values)


def _named(name, form):
    form.__name__ = name
    return intrinsic(form)


def _of_floats(values, codegen):
    """The form for floats of one type, which is also the result's; None for others."""
    return (values[0](*values), codegen) if all(isinstance(v, types.Float) and v == values[0] for v in values) else None


def _float_function(name, arity):
    def codegen(context, builder, signature, values):
        return _libdevice(builder, name, values)

    return _named(name, {1: lambda typing_context, x: _of_floats((x,), codegen),
                         2: lambda typing_context, x, y: _of_floats((x, y), codegen),
                         3: lambda typing_context, x, y, z: _of_floats((x, y, z), codegen)}[arity])


fma, copysign = _float_function("fma", 3), _float_function("copysign", 2)
floor, ceil, trunc = _float_function("floor", 1), _float_function("ceil", 1), _float_function("trunc", 1)
rint, sqrt, fabs = _float_function("rint", 1), _float_function("sqrt", 1), _float_function("fabs", 1)


def _extreme(name, comparison):
    """The first where it wins or is NaN, else the second: a NaN on either side is the result."""
    def codegen(context, builder, signature, values):
        x, y = values
        first = builder.or_(builder.fcmp_ordered(comparison, x, y), builder.fcmp_unordered("uno", x, x))
        return builder.select(first, x, y)

    return _named(name, lambda typing_context, x, y: _of_floats((x, y), codegen))


fmax, fmin = _extreme("fmax", ">"), _extreme("fmin", "<")
# The host's LLVM IR, which means the same to NVVM.
divide, select, bits_of, float_of, bfloat16_to_float, as_pointer, address_of, offset = [
    intrinsic(form.__wrapped__) for form in (host.divide, host.select, host.bits_of, host.float_of, host.bfloat16_to_float,
                                             host.as_pointer, host.address_of, host.offset)]


@intrinsic
def scale_by_power(typing_context, x, n):
    def codegen(context, builder, signature, values):
        n = values[1] if values[1].type.width == 32 else builder.trunc(values[1], I32)
        return _libdevice(builder, "ldexp", [values[0], n])
    return x(x, n), codegen


# ---------------------------------------------------------------- out of the polynomials' range
def _settle(name, arity, limit32, limit64):
    """The last argument where |x| (or |x / y|) is in range, else what libdevice says of the others."""
    def codegen(context, builder, signature, values):
        *arguments, settled = values
        ty = settled.type
        bound = ty(limit32 if ty == FLOAT else limit64)
        if arity == 2:
            bound = builder.fmul(bound, _libdevice(builder, "fabs", [arguments[1]]))
        out = cgutils.alloca_once_value(builder, settled)
        outside = builder.fcmp_ordered(">", _libdevice(builder, "fabs", [arguments[0]]), bound)
        with builder.if_then(outside, likely=False):
            builder.store(_libdevice(builder, name, arguments), out)
        return builder.load(out)

    return _named(f"settle_{name}", {1: lambda typing_context, x, y: _of_floats((x, y), codegen),
                                     2: lambda typing_context, x, y, r: _of_floats((x, y, r), codegen)}[arity])


settle_sin, settle_cos = _settle("sin", 1, *LIMITS["sin"]), _settle("cos", 1, *LIMITS["cos"])
settle_tan, settle_fmod = _settle("tan", 1, *LIMITS["tan"]), _settle("fmod", 2, QUOTIENT32, QUOTIENT64)


# ---------------------------------------------------------------- 16-bit floats
def _assembly(builder, text, constraints, result, values):
    kind = ir.FunctionType(result, [v.type for v in values])
    return builder.call(ir.InlineAsm(kind, text, constraints), values)


@intrinsic
def half_to_float(typing_context, word):
    return types.float32(types.uint16), lambda c, b, s, a: _assembly(b, "cvt.f32.f16 $0, $1;", "=f,h", FLOAT, a)


@intrinsic
def float_to_half(typing_context, x):
    return types.uint16(types.float32), lambda c, b, s, a: _assembly(b, "cvt.rn.f16.f32 $0, $1;", "=h,f", I16, a)


@intrinsic
def float_to_bfloat16(typing_context, x):
    def codegen(context, b, signature, a):
        if dispatcher.get_current_device().compute_capability >= (8, 0):         # the one that is compiled for (compiler.py)
            rounded = _assembly(b, "cvt.rn.bf16.f32 $0, $1;", "=h,f", I16, a)
        else:
            u = b.bitcast(a[0], I32)
            rounded = b.trunc(b.lshr(b.add(u, b.add(I32(0x7FFF), b.and_(b.lshr(u, I32(16)), I32(1)))), I32(16)), I16)
        return b.select(b.fcmp_unordered("uno", a[0], a[0]), I16(0x7FC0), rounded)
    return types.uint16(types.float32), codegen


@intrinsic
def halves_to_complex(typing_context, word):
    def codegen(context, b, signature, a):
        out = cgutils.create_struct_proxy(types.complex64)(context, b)
        halves = b.trunc(a[0], I16), b.trunc(b.lshr(a[0], I32(16)), I16)
        out.real, out.imag = [_assembly(b, "cvt.f32.f16 $0, $1;", "=f,h", FLOAT, [half]) for half in halves]
        return out._getvalue()
    return types.complex64(types.uint32), codegen


@intrinsic
def complex_to_halves(typing_context, x):
    def codegen(context, b, signature, a):
        given = cgutils.create_struct_proxy(types.complex64)(context, b, value=a[0])
        real, imag = [b.zext(_assembly(b, "cvt.rn.f16.f32 $0, $1;", "=h,f", I16, [part]), I32) for part in (given.real, given.imag)]
        return b.or_(real, b.shl(imag, I32(16)))
    return types.uint32(types.complex64), codegen


# ---------------------------------------------------------------- memory
@intrinsic
def moved(typing_context, pointer, nbytes):
    def codegen(context, builder, signature, values):
        start = builder.bitcast(values[0], ir.IntType(8).as_pointer())           # which memory it is in stays known
        return builder.bitcast(builder.gep(start, [values[1]]), values[0].type)
    return pointer(pointer, types.int64), codegen


def _local(builder, kind, count):
    array = cgutils.alloca_once(builder, ir.ArrayType(kind, count))
    return builder.bitcast(array, ir.PointerType(kind))


@intrinsic
def local_like(typing_context, pointer, count):
    if not isinstance(count, types.IntegerLiteral):
        return None
    return pointer(pointer, count), lambda c, b, s, a: _local(b, c.get_data_type(pointer.dtype), count.literal_value)


@intrinsic
def local_array(typing_context, dtype, count):
    if not isinstance(count, types.IntegerLiteral):
        return None
    kind = dtype.instance_type
    return types.CPointer(kind)(dtype, count), lambda c, b, s, a: _local(b, c.get_data_type(kind), count.literal_value)


# ---------------------------------------------------------------- vectors (shared/vectors.py)
def _words_of(context, element, count):
    """A part of an element, how many an element has, and its bits; the word that is moved and its bits; and how many words each
    instruction moves. Parts of less than 32 bits are cut out of words: a vector of them would be moved in pieces."""
    kind = context.get_data_type(element)
    part, parts = (kind.elements[0], 2) if isinstance(element, types.Complex) else (kind, 1)
    bits = 32 if part == FLOAT else 64 if part == DOUBLE else part.width
    nbytes = count * parts * bits // 8
    size = max(bits, min(8 * nbytes, 32))
    each = min(nbytes, 16)
    return part, parts, bits, part if size == bits else ir.IntType(size), size, [8 * each // size] * (nbytes // each)


def _vector_place(builder, pointer, word, width, number):
    kind = ir.VectorType(word, width) if width > 1 else word
    return builder.gep(builder.bitcast(pointer, ir.PointerType(kind)), [I64(number)]), kind


@intrinsic
def load_vector(typing_context, pointer, count):
    if not isinstance(count, types.IntegerLiteral):
        return None
    element, literal, count = pointer.dtype, count, count.literal_value

    def codegen(context, b, signature, a):
        part, parts, bits, word, size, widths = _words_of(context, element, count)
        values = []
        for number, width in enumerate(widths):
            place, _ = _vector_place(b, a[0], word, width, number)
            loaded = b.load(place, align=width * size // 8)
            words = [b.extract_element(loaded, I32(k)) for k in range(width)] if width > 1 else [loaded]
            for each in words:
                values += [each] if size == bits else [b.trunc(b.lshr(each, word(shift)), part) for shift in range(0, size, bits)]
        if parts == 2:
            made = []
            for real, imag in zip(values[::2], values[1::2]):
                out = cgutils.create_struct_proxy(element)(context, b)
                out.real, out.imag = real, imag
                made.append(out._getvalue())
            values = made
        return context.make_tuple(b, signature.return_type, values)
    return types.UniTuple(element, count)(pointer, literal), codegen


@intrinsic
def store_vector(typing_context, pointer, values):
    element, count = pointer.dtype, len(values)

    def codegen(context, b, signature, a):
        part, parts, bits, word, size, widths = _words_of(context, element, count)
        given = [context.cast(b, b.extract_value(a[1], k), values[k], element) for k in range(count)]
        if parts == 2:
            given = [b.extract_value(each, k) for each in given for k in range(2)]
        if bits < size:
            share, joined = size // bits, []
            for first in range(0, len(given), share):
                whole = b.zext(given[first], word)
                for k in range(1, share):
                    whole = b.or_(whole, b.shl(b.zext(given[first + k], word), word(k * bits)))
                joined.append(whole)
            given = joined
        at = 0
        for number, width in enumerate(widths):
            place, kind = _vector_place(b, a[0], word, width, number)
            value = given[at]
            if width > 1:
                value = ir.Constant(kind, ir.Undefined)
                for k in range(width):
                    value = b.insert_element(value, given[at + k], I32(k))
            b.store(value, place, align=width * size // 8)
            at += width
        return context.get_dummy_value()
    return types.void(pointer, values), codegen


# ---------------------------------------------------------------- atomics
def _bits(builder, value):
    """A number as an integer of its size."""
    if isinstance(value.type, (ir.FloatType, ir.DoubleType)):
        return builder.bitcast(value, I32 if value.type == FLOAT else I64)
    return value


@intrinsic
def add_at(typing_context, target, value):
    """Of float32, float64, int32 and int64."""
    element = target.dtype

    def codegen(context, b, signature, a):
        value = context.cast(b, a[1], signature.args[1], element)
        kind = {FLOAT: ("f32", "f"), DOUBLE: ("f64", "d"), I32: ("u32", "r"), I64: ("u64", "l")}[value.type]
        call = ir.FunctionType(value.type, [I64, value.type])
        text, constraints = f"atom.add.{kind[0]} $0, [$1], $2;", f"={kind[1]},l,{kind[1]},~{{memory}}"
        b.asm(call, text, constraints, [b.ptrtoint(a[0], I64), value], True)
        return context.get_dummy_value()
    return types.void(target, value), codegen


@intrinsic
def add_to_shared(typing_context, address, value):
    if value != types.int32:
        return None

    def codegen(context, b, signature, a):
        call = ir.FunctionType(ir.VoidType(), [I32, I32])
        b.asm(call, "red.shared.add.u32 [$0], $1;", "r,r,~{memory}", a, True)
        return context.get_dummy_value()
    return types.void(address, value), codegen


def _replaced_in_word(b, address, before, after):
    """A byte, for which there is no instruction, by way of the word of 32 bits that it is in: another byte of it that has changed
    meanwhile makes this false too."""
    shift = b.trunc(b.shl(b.and_(address, I64(3)), I64(3)), I32)
    aligned = b.and_(address, I64(-4))
    word = b.asm(ir.FunctionType(I32, [I64]), "ld.volatile.u32 $0, [$1];", "=r,l,~{memory}", [aligned], True)
    rest = b.and_(word, b.not_(b.shl(I32(255), shift)))
    old, new = (b.or_(rest, b.shl(b.zext(byte, I32), shift)) for byte in (before, after))
    call = ir.FunctionType(I32, [I64, I32, I32])
    previous = b.asm(call, "atom.cas.b32 $0, [$1], $2, $3;", "=r,l,r,r,~{memory}", [aligned, old, new], True)
    return b.icmp_unsigned("==", previous, old)


@intrinsic
def replaced(typing_context, target, old, new):
    element = target.dtype

    def codegen(context, b, signature, a):
        before, after = (_bits(b, context.cast(b, v, s, element)) for v, s in zip(a[1:], signature.args[1:]))
        width = before.type.width
        if width == 8:
            return _replaced_in_word(b, b.ptrtoint(a[0], I64), before, after)
        letter = {16: "h", 32: "r", 64: "l"}[width]
        call = ir.FunctionType(before.type, [I64, before.type, before.type])
        previous = b.asm(call, f"atom.cas.b{width} $0, [$1], $2, $3;", f"={letter},l,{letter},{letter},~{{memory}}",
                         [b.ptrtoint(a[0], I64), before, after], True)
        return b.icmp_unsigned("==", previous, before)
    return types.boolean(target, old, new), codegen
