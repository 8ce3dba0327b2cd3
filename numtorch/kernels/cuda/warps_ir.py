"""The PTX behind warps.py."""
from __future__ import annotations

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic

from .lowering import _named

I32, I64, FLOAT, VOID = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.VoidType()


def _assembly(builder, results, values, text, constraints):
    """Inline PTX with several results."""
    kind = ir.LiteralStructType(results)
    out = builder.asm(ir.FunctionType(kind, [v.type for v in values]), text, constraints, values, True)
    return cgutils.pack_array(builder, [builder.extract_value(out, i) for i in range(len(results))])


def _statement(builder, values, text, constraints):
    builder.asm(ir.FunctionType(VOID, [v.type for v in values]), text, constraints, values, True)


def _instruction(name, text, constraints, result, *arguments, effects=True):
    """An intrinsic that is one piece of PTX, by what it gives and takes; `effects`: it may not be moved or left out."""
    def codegen(context, builder, signature, values):
        if isinstance(result, types.UniTuple):
            return _assembly(builder, [context.get_value_type(result.dtype)] * result.count, values, text, constraints)
        kind = VOID if result is types.void else context.get_value_type(result)
        made = builder.asm(ir.FunctionType(kind, [v.type for v in values]), text, constraints, values, effects)
        return context.get_dummy_value() if result is types.void else made

    made = result(*arguments), codegen                   # Numba takes no `*arguments` here
    forms = (lambda typing_context: made), (lambda typing_context, a: made), (lambda typing_context, a, b: made)
    return _named(name, forms[len(arguments)])


_FOUR, _MATRICES = types.UniTuple(types.uint32, 4), "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{$0,$1,$2,$3}}, [$4];"
shared_word = _instruction("shared_word", "ld.shared.b32 $0, [$1];", "=r,r,~{memory}", types.uint32, types.uint32)
shared_words = _instruction("shared_words", "ld.shared.v4.b32 {$0,$1,$2,$3}, [$4];", "=r,=r,=r,=r,r,~{memory}", _FOUR, types.uint32)
shared_pair = _instruction("shared_pair", "ld.shared.v2.f32 {$0,$1}, [$2];", "=f,=f,r,~{memory}", types.UniTuple(types.float32, 2),
                           types.uint32)
load_matrices, load_matrices_transposed = [
    _instruction("load_matrices" + name, _MATRICES.format(variant), "=r,=r,=r,=r,r,~{memory}", _FOUR, types.uint32)
    for name, variant in (("", ""), ("_transposed", ".trans"))]
lanes_alike = _instruction("lanes_alike", "match.any.sync.b32 $0, $1, 0xffffffff;", "=r,r", types.uint32, types.uint32)
exponential2 = _instruction("exponential2", "ex2.approx.ftz.f32 $0, $1;", "=f,f", types.float32, types.float32, effects=False)
packed_bfloat16, packed_float16 = [
    _instruction(f"packed_{name}", f"cvt.rn.{kind}.f32 $0, $2, $1;", "=r,f,f", types.uint32, types.float32, types.float32,
                 effects=False)
    for name, kind in (("bfloat16", "bf16x2"), ("float16", "f16x2"))]
commit_copies = _instruction("commit_copies", "cp.async.commit_group;", "~{memory}", types.void)
warp_barrier = _instruction("warp_barrier", "bar.warp.sync 0xffffffff;", "~{memory}", types.void)
fence_async = _instruction("fence_async", "fence.proxy.async.shared::cta;", "~{memory}", types.void)


@intrinsic
def shared_address(typing_context, array, index):
    if not isinstance(array, types.Array):
        return None

    def codegen(context, builder, signature, values):
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        address = builder.ptrtoint(builder.gep(data, [values[1]]), I64)
        text = "{ .reg .u64 t; cvta.to.shared.u64 t, $1; cvt.u32.u64 $0, t; }"
        return builder.asm(ir.FunctionType(I32, [I64]), text, "=r,l", [address], False)
    return types.uint32(array, types.int64), codegen


@intrinsic
def further(typing_context, address, nbytes):
    def codegen(context, builder, signature, values):
        return builder.add(values[0], context.cast(builder, values[1], signature.args[1], types.int32))
    return types.uint32(types.uint32, nbytes), codegen


@intrinsic
def bytes_within(typing_context, count):
    def codegen(context, builder, signature, values):
        given = context.cast(builder, values[0], signature.args[0], types.int32)
        text = "{ .reg .s32 t; max.s32 t, $1, 0; min.s32 $0, t, 16; }"
        return builder.asm(ir.FunctionType(I32, [I32]), text, "=r,r", [given], False)
    return types.int32(count), codegen


@intrinsic
def put_rows(typing_context, address, sums, pitch):
    if not isinstance(pitch, types.IntegerLiteral):
        return None

    def codegen(context, builder, signature, values):
        for place in range(0, len(sums), 2):
            matrix, half = divmod(place, 4)
            at = builder.add(values[0], I32(32 * matrix + half // 2 * 32 * pitch.literal_value))
            pair = [builder.extract_value(values[1], place + q) for q in range(2)]
            _statement(builder, [at, *pair], "st.shared.v2.f32 [$0], {$1, $2};", "r,f,f,~{memory}")
        return context.get_dummy_value()
    return types.void(types.uint32, sums, pitch), codegen


@intrinsic
def store_words(typing_context, pointer, words):
    def codegen(context, builder, signature, values):
        given = [builder.ptrtoint(values[0], I64), *[builder.extract_value(values[1], i) for i in range(4)]]
        _statement(builder, given, "st.global.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}")
        return context.get_dummy_value()
    return types.void(pointer, types.UniTuple(types.uint32, 4)), codegen


def _copy(name, text):
    def form(typing_context, target, source, nbytes):
        def codegen(context, builder, signature, values):
            address, size = builder.ptrtoint(values[1], I64), context.cast(builder, values[2], signature.args[2], types.int32)
            _statement(builder, [values[0], address, size], text, "r,l,r,~{memory}")
            return context.get_dummy_value()
        return types.void(types.uint32, source, nbytes), codegen
    return _named(name, form)


copy_async = _copy("copy_async", "cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2;")
copy_word_async = _copy("copy_word_async", "cp.async.ca.shared.global [$0], [$1], 4, $2;")


@intrinsic
def barrier(typing_context):
    def codegen(context, builder, signature, values):
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(VOID, ()), "llvm.nvvm.barrier0")
        builder.call(function, ())
        return context.get_dummy_value()
    return types.void(), codegen


@intrinsic
def rounded_to_tf32(typing_context, words):
    def codegen(context, builder, signature, values):
        text = " ".join(f"cvt.rna.tf32.f32 ${i}, ${i + 4};" for i in range(4))
        floats = [builder.bitcast(builder.extract_value(values[0], i), FLOAT) for i in range(4)]
        return _assembly(builder, [I32] * 4, floats, text, "=r,=r,=r,=r,f,f,f,f")
    return words(words), codegen


def _shuffled(builder, value, mode, at):
    """A value of another lane, by words of 32 bits; of a struct each part."""
    kind = value.type
    if isinstance(kind, ir.LiteralStructType):
        for i in range(len(kind.elements)):
            value = builder.insert_value(value, _shuffled(builder, builder.extract_value(value, i), mode, at), i)
        return value
    if isinstance(kind, (ir.FloatType, ir.DoubleType)):
        bits = builder.bitcast(value, I32 if kind == FLOAT else I64)
        return builder.bitcast(_shuffled(builder, bits, mode, at), kind)
    if kind.width == 64:
        halves = [builder.trunc(half, I32) for half in (value, builder.lshr(value, I64(32)))]
        low, high = [builder.zext(_shuffled(builder, half, mode, at), I64) for half in halves]
        return builder.or_(low, builder.shl(high, I64(32)))
    if kind.width < 32:
        return builder.trunc(_shuffled(builder, builder.zext(value, I32), mode, at), kind)
    text = f"shfl.sync.{mode} $0, $1, $2, {'0x0' if mode.startswith('up') else '0x1f'}, 0xffffffff;"
    return builder.asm(ir.FunctionType(I32, [I32, I32]), text, "=r,r,r", [value, at], True)


def _from_lane(name, mode):
    def form(typing_context, x, at):
        def codegen(context, builder, signature, values):
            return _shuffled(builder, values[0], mode, context.cast(builder, values[1], signature.args[1], types.int32))
        return x(x, at), codegen
    return _named(name, form)


lane_across, lane_before = _from_lane("lane_across", "bfly.b32"), _from_lane("lane_before", "up.b32")


@intrinsic
def count_bits(typing_context, x):
    def codegen(context, builder, signature, values):
        return builder.zext(builder.asm(ir.FunctionType(I32, [I32]), "popc.b32 $0, $1;", "=r,r", values, False), I64)
    return types.int64(types.uint32), codegen


def _await(name, instruction):
    def form(typing_context, left):
        if not isinstance(left, types.IntegerLiteral):
            return None

        def codegen(context, builder, signature, values):
            _statement(builder, [], f"{instruction} {left.literal_value};", "~{memory}")
            return context.get_dummy_value()
        return types.void(left), codegen
    return _named(name, form)


await_groups = _await("await_groups", "cp.async.wait_group")
await_products = _await("await_products", "wgmma.wait_group.sync.aligned")


def _add_products(name, shape, kind):
    text = (f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32 {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, {{$8,$9}}, "
            "{$10,$11,$12,$13};")

    def form(typing_context, a, b, sums):
        def codegen(context, builder, signature, values):
            left, right = ([[builder.extract_value(value, (k, i)) for i in range(4)] for k in range(len(kind))]
                           for value, kind in zip(values, (a, b)))
            total = [builder.extract_value(values[2], i) for i in range(len(sums))]
            columns, result = 2 * len(b), ir.LiteralStructType([FLOAT] * 4)
            for r in range(len(a)):
                for s in range(columns) if r % 2 == 0 else reversed(range(columns)):     # neighbours share an operand
                    at = 4 * (r * columns + s)
                    given = [*left[r], *right[s // 2][2 * (s % 2):2 * (s % 2) + 2], *total[at:at + 4]]
                    call = ir.FunctionType(result, [v.type for v in given])
                    out = builder.asm(call, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", given, False)
                    total[at:at + 4] = [builder.extract_value(out, i) for i in range(4)]
            return cgutils.pack_array(builder, total)
        return sums(a, b, sums), codegen
    return _named(name, form)


add_products_bfloat16 = _add_products("add_products_bfloat16", "m16n8k16", "bf16")
add_products_float16 = _add_products("add_products_float16", "m16n8k16", "f16")
add_products_tf32 = _add_products("add_products_tf32", "m16n8k8", "tf32")


# ---------------------------------------------------------------- sixteen bytes at once
def _sixteen(context, builder, kind, value, index):
    """A pointer to the vector from an element on, and how many elements it has."""
    data = context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
    count = 16 // (kind.dtype.bitwidth // 8)
    vector = ir.VectorType(context.get_data_type(kind.dtype), count)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer()), count


@intrinsic
def neighbours(typing_context, source, index):
    def codegen(context, builder, signature, values):
        at = context.cast(builder, values[1], signature.args[1], types.int64)
        pointer, count = _sixteen(context, builder, signature.args[0], values[0], at)
        loaded = builder.load(pointer, align=16)
        return cgutils.pack_array(builder, [builder.extract_element(loaded, I32(i)) for i in range(count)])
    return types.UniTuple(source.dtype, 128 // source.dtype.bitwidth)(source, index), codegen


@intrinsic
def put_neighbours(typing_context, target, index, values):
    def codegen(context, builder, signature, arguments):
        at = context.cast(builder, arguments[1], signature.args[1], types.int64)
        pointer, count = _sixteen(context, builder, signature.args[0], arguments[0], at)
        vector = ir.Constant(pointer.type.pointee, ir.Undefined)
        for i in range(count):
            vector = builder.insert_element(vector, builder.extract_value(arguments[2], i), I32(i))
        builder.store(vector, pointer, align=16)
        return context.get_dummy_value()
    return types.void(target, index, values), codegen


# ---------------------------------------------------------------- warp groups (Hopper)
SWIZZLED = 1 << 62                                       # a matrix descriptor's mode: 128 bytes


def _descriptor(panel):
    """What a matrix descriptor says but for the address: in bits 16 to 29 and 32 to 45 distances in units of 16 bytes. Along the
    depth the second is that from eight lines to the next eight, and the first has no meaning; across it the first is that from
    panel to panel, and the second that from eight steps of the depth to the next (PTX ISA, "Shared Memory Matrix Layout")."""
    return SWIZZLED | (1024 >> 4) << 32 | (panel >> 4 if panel else 1) << 16


def _add_group_products(name, kind):
    def form(typing_context, sums, a, b, a_panel, b_panel):
        if not all(isinstance(panel, types.IntegerLiteral) for panel in (a_panel, b_panel)):
            return None
        count, panels = len(sums), (a_panel.literal_value, b_panel.literal_value)

        def codegen(context, builder, signature, values):
            given = []
            for address, panel in zip(values[1:3], panels):
                start = builder.zext(builder.and_(builder.lshr(address, I32(4)), I32(0x3FFF)), I64)
                given.append(builder.or_(start, I64(_descriptor(panel))))
            given += [builder.extract_value(values[0], i) for i in range(count)]
            totals = "{" + ",".join(f"${i}" for i in range(count)) + "}"
            # a step of 16 of the depth is 32 bytes of a line, or 16 lines
            ahead = [2048 >> 4 if panel else 32 >> 4 for panel in panels]
            transposed = ", ".join(str(int(panel > 0)) for panel in panels)
            text = ("{ .reg .b64 a, b; .reg .pred p; setp.ne.b32 p, 1, 0; "
                    f"mov.b64 a, ${count}; mov.b64 b, ${count + 1}; wgmma.fence.sync.aligned; ")
            product = f"wgmma.mma_async.sync.aligned.m64n{count * 2}k16.f32.{kind}.{kind} {totals}, a, b, p, 1, 1, {transposed}; "
            text += f"add.s64 a, a, {ahead[0]}; add.s64 b, b, {ahead[1]}; ".join([product] * 4)
            text += "wgmma.commit_group.sync.aligned; }"
            constraints = ",".join(["=f"] * count + ["l", "l", *map(str, range(count)), "~{memory}"])
            return _assembly(builder, [FLOAT] * count, given, text, constraints)
        return sums(sums, a, b, a_panel, b_panel), codegen
    return _named(name, form)


add_group_products_bfloat16 = _add_group_products("add_group_products_bfloat16", "bf16")
add_group_products_float16 = _add_group_products("add_group_products_float16", "f16")


@intrinsic
def await_sums(typing_context, sums):
    def codegen(context, builder, signature, values):
        given = [builder.extract_value(values[0], i) for i in range(len(sums))]
        constraints = ",".join(["=f"] * len(given) + [*map(str, range(len(given))), "~{memory}"])
        return _assembly(builder, [FLOAT] * len(given), given, "wgmma.wait_group.sync.aligned 0;", constraints)
    return sums(sums), codegen


# ---------------------------------------------------------------- sums of a thread
def _multiply_add(builder, kind, x, y, total):
    """x * y + total: one instruction of floats, four of complex numbers."""
    if isinstance(kind, types.Complex):
        (a, b), (c, d), (real, imag) = ([builder.extract_value(value, part) for part in range(2)] for value in (x, y, total))
        real = builder.fma(builder.fsub(a.type(-0.0), b), d, builder.fma(a, c, real))
        imag = builder.fma(b, c, builder.fma(a, d, imag))
        return builder.insert_value(builder.insert_value(total, real, 0), imag, 1)
    if isinstance(kind, types.Float):
        return builder.fma(x, y, total)
    return builder.add(builder.mul(x, y), total)


@intrinsic
def add_outer_product(typing_context, sums, left, right):
    def codegen(context, builder, signature, values):
        rows, columns, total = ([builder.extract_value(value, i) for i in range(kind.count)]
                                for value, kind in zip((*values[1:], values[0]), (left, right, sums)))
        for r, x in enumerate(rows):
            for s in range(len(columns)) if r % 2 == 0 else reversed(range(len(columns))):      # neighbours share an operand
                at = r * len(columns) + s
                total[at] = _multiply_add(builder, sums.dtype, x, columns[s], total[at])
        return cgutils.pack_array(builder, total)
    return sums(sums, left, right), codegen


@intrinsic
def rectified(typing_context, sums):
    def codegen(context, builder, signature, values):
        total = [builder.extract_value(values[0], i) for i in range(sums.count)]
        below = builder.fcmp_ordered if isinstance(sums.dtype, types.Float) else builder.icmp_signed
        return cgutils.pack_array(builder, [builder.select(below("<", x, x.type(0)), x.type(0), x) for x in total])
    return sums(sums), codegen
