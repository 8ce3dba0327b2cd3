"""The PTX behind warps.py."""
from __future__ import annotations

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.extending import intrinsic

I32, I64, FLOAT, VOID = ir.IntType(32), ir.IntType(64), ir.FloatType(), ir.VoidType()


def _assembly(builder, results, values, text, constraints):
    """Inline PTX with several results."""
    kind = ir.LiteralStructType(results)
    out = builder.asm(ir.FunctionType(kind, [v.type for v in values]), text, constraints, values, True)
    return cgutils.pack_array(builder, [builder.extract_value(out, i) for i in range(len(results))])


def _statement(builder, values, text, constraints):
    builder.asm(ir.FunctionType(VOID, [v.type for v in values]), text, constraints, values, True)


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
def copy_async(typing_context, target, source, nbytes):
    def codegen(context, builder, signature, values):
        address, size = builder.ptrtoint(values[1], I64), builder.trunc(values[2], I32)
        _statement(builder, [values[0], address, size], "cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}")
        return context.get_dummy_value()
    return types.void(types.uint32, source, types.int64), codegen


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


@intrinsic
def lane_across(typing_context, x, mask):
    def codegen(context, builder, signature, values):
        mask = context.cast(builder, values[1], signature.args[1], types.int32)
        text = "shfl.sync.bfly.b32 $0, $1, $2, 0x1f, 0xffffffff;"
        return builder.asm(ir.FunctionType(FLOAT, [FLOAT, I32]), text, "=f,f,r", [values[0], mask], True)
    return types.float32(types.float32, mask), codegen


@intrinsic
def exponential2(typing_context, x):
    def codegen(context, builder, signature, values):
        return builder.asm(ir.FunctionType(FLOAT, [FLOAT]), "ex2.approx.ftz.f32 $0, $1;", "=f,f", [values[0]], False)
    return types.float32(types.float32), codegen


def _packed(name, kind):
    def form(typing_context, low, high):
        def codegen(context, builder, signature, values):
            text = f"cvt.rn.{kind}.f32 $0, $2, $1;"
            return builder.asm(ir.FunctionType(I32, [FLOAT, FLOAT]), text, "=r,f,f", values, False)
        return types.uint32(types.float32, types.float32), codegen
    form.__name__ = name
    return intrinsic(form)


packed_bfloat16, packed_float16 = _packed("packed_bfloat16", "bf16x2"), _packed("packed_float16", "f16x2")


def _plain(name, text):
    def form(typing_context):
        def codegen(context, builder, signature, values):
            _statement(builder, [], text, "~{memory}")
            return context.get_dummy_value()
        return types.void(), codegen
    form.__name__ = name
    return intrinsic(form)


commit_copies = _plain("commit_copies", "cp.async.commit_group;")
warp_barrier = _plain("warp_barrier", "bar.warp.sync 0xffffffff;")
await_groups_but_one = _plain("await_groups_but_one", "cp.async.wait_group 1;")


def _load(name, variant):
    def form(typing_context, address):
        def codegen(context, builder, signature, values):
            text = f"ldmatrix.sync.aligned.m8n8.x4{variant}.shared.b16 {{$0,$1,$2,$3}}, [$4];"
            return _assembly(builder, [I32] * 4, values, text, "=r,=r,=r,=r,r,~{memory}")
        return types.UniTuple(types.uint32, 4)(types.uint32), codegen
    form.__name__ = name
    return intrinsic(form)


load_matrices, load_matrices_transposed = _load("load_matrices", ""), _load("load_matrices_transposed", ".trans")


def _multiply(name, shape, kind):
    four, two, sums = types.UniTuple(types.uint32, 4), types.UniTuple(types.uint32, 2), types.UniTuple(types.float32, 4)

    def form(typing_context, a, b, c):
        def codegen(context, builder, signature, values):
            parts = [builder.extract_value(value, i) for value, count in zip(values, (4, 2, 4)) for i in range(count)]
            text = (f"mma.sync.aligned.{shape}.row.col.f32.{kind}.{kind}.f32 {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, {{$8,$9}}, "
                    "{$10,$11,$12,$13};")
            return _assembly(builder, [FLOAT] * 4, parts, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f")
        return sums(four, two, sums), codegen
    form.__name__ = name
    return intrinsic(form)


multiply_bfloat16 = _multiply("multiply_bfloat16", "m16n8k16", "bf16")
multiply_float16 = _multiply("multiply_float16", "m16n8k16", "f16")
multiply_tf32 = _multiply("multiply_tf32", "m16n8k8", "tf32")
