"""The compiled form of `instructions.py`: scalar functions whose vector variants are AVX-512 instructions.

LLVM's vectoriser does not know these instructions. The attribute `vector-function-abi-variant` names, for each width, a
function over whole vectors, which is inlined once the loop has been vectorised. Narrower vectors and scalars (what is left
over at a loop's end) use the same instruction on a part of a register, so that a value does not depend on its place.
Imported only when something must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .instructions import TABLES
from .lowering import PURE, attribute, keep
from .ranges import ROOT_RANGE

I8, I16, I32, I64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
LANES = {FLOAT: 16, DOUBLE: 8, I32: 16, I64: 8}
WIDTHS = {FLOAT: (8, 16), DOUBLE: (4, 8)}               # each must be compiled; narrower loops are not worth it
SUFFIX = {FLOAT: "ps", DOUBLE: "pd"}
MASK = {FLOAT: I16(-1), DOUBLE: I8(-1)}
CURRENT_ROUNDING, ROUNDING_DOWN = I32(4), I32(9)


def _declared(module, name, result, arguments):
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, arguments), name)


def _resized(builder, value, count):
    """The first lanes of a vector, or a vector with lanes added that are copies of the first."""
    mask = ir.Constant(ir.VectorType(I32, count), [I32(i if i < value.type.count else 0) for i in range(count)])
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), mask)


def _define(module, name, result, arguments, width, emit):
    """A function over vectors of `width` elements (1: over scalars) around `emit(module, builder, 512-bit values)`."""
    def shaped(ty):
        return ty if width == 1 else ir.VectorType(ty, width)

    function = ir.Function(module, ir.FunctionType(shaped(result), [shaped(a) for a in arguments]), name)
    function.linkage = "linkonce_odr"
    builder = ir.IRBuilder(function.append_basic_block())
    values = []
    for value, ty in zip(function.args, arguments):
        if width == 1:
            value = builder.insert_element(ir.Constant(ir.VectorType(ty, 1), ir.Undefined), value, I32(0))
        if width < LANES[ty]:
            value = _resized(builder, value, LANES[ty])
        values.append(value)
    out = emit(module, builder, values)
    if width == 1:
        out = builder.extract_element(out, I32(0))
    elif width < LANES[result]:
        out = _resized(builder, out, width)
    builder.ret(out)
    return function


def _function(module, name, result, arguments, emit):
    """The scalar function of this name with its vector variants, made on first use in a module."""
    scalar = module.globals.get(name)
    if scalar is None:
        scalar = _define(module, name, result, arguments, 1, emit)
        variants = []
        for width in WIDTHS[result]:
            variant = _define(module, f"{name}_v{width}", result, arguments, width, emit)
            attribute(variant, "nounwind", "readnone", "willreturn", "alwaysinline")
            variants.append(variant)
        letters = "v" * len(arguments)
        mapping = ",".join(f"_ZGV_LLVM_N{width}{letters}_{name}({v.name})" for width, v in zip(WIDTHS[result], variants))
        attribute(scalar, *PURE, f'"vector-function-abi-variant"="{mapping}"')
        keep(module, [scalar, *variants])                # the scalar one too: no argument of it may be optimised away
    return scalar


def _form(name, arity, emit):
    """The Numba intrinsic of a function of `arity` floats of one type."""
    def codegen(context, builder, signature, values):
        ty = values[0].type
        function = _function(builder.module, f"numtorch_{name}_{SUFFIX[ty]}", ty, [ty] * arity, emit)
        return builder.call(function, values)

    if arity == 1:
        def typed(typing_context, x):
            return x(x), codegen
    elif arity == 2:
        def typed(typing_context, x, y):
            return x(x, y), codegen
    else:
        def typed(typing_context, x, y, z):
            return x(x, y, z), codegen
    typed.__name__ = name
    return intrinsic(typed)


def _undefined(vector):
    return ir.Constant(vector, ir.Undefined)


def _masked(operation, *constants):
    """An instruction whose LLVM name is `mask.<operation>`: sources, constants, what masked-off lanes keep, mask, rounding."""
    def emit(module, builder, values):
        vector = values[0].type
        given = [*values, *constants, _undefined(vector), MASK[vector.element], CURRENT_ROUNDING]
        name = f"llvm.x86.avx512.mask.{operation}.{SUFFIX[vector.element]}.512"
        return builder.call(_declared(module, name, vector, [g.type for g in given]), given)
    return emit


def _estimate(operation):
    def emit(module, builder, values):
        vector = values[0].type
        given = [*values, _undefined(vector), MASK[vector.element]]
        name = f"llvm.x86.avx512.{operation}.{SUFFIX[vector.element]}.512"
        return builder.call(_declared(module, name, vector, [g.type for g in given]), given)
    return emit


def _fused_down(module, builder, values):
    vector, given = values[0].type, [*values, ROUNDING_DOWN]
    name = f"llvm.x86.avx512.vfmadd.{SUFFIX[vector.element]}.512"
    return builder.call(_declared(module, name, vector, [g.type for g in given]), given)


exponent_of = _form("exponent_of", 1, _masked("getexp"))
mantissa_of = _form("mantissa_of", 1, _masked("getmant", I32(0b1000)))          # in [1, 2), NaN for negative numbers
scale_by_floor = _form("scale_by_floor", 2, _masked("scalef"))
within = _form("within", 2, _masked("range", I32(0b0010)))                      # the smaller magnitude, the first one's sign
reciprocal_estimate = _form("reciprocal_estimate", 1, _estimate("rcp14"))
root_estimate = _form("root_estimate", 1, _estimate("rsqrt14"))
beside_sixteenth = _form("beside_sixteenth", 1, _masked("reduce", I32(0b01001000)))
fma_down = _form("fma_down", 3, _fused_down)


def _settled_root(module, builder, values):
    """The second argument, and zeros for zeros, or where any other lane of the first is out of `ROOT_RANGE` the processor's square
    roots. Zeros are no reason to branch: they come and go, behind relu say, and a branch that is guessed wrong throws away what was
    under way."""
    x, settled = values
    vector = x.type
    low, high, zero = (vector([DOUBLE(bound)] * vector.count) for bound in (*ROOT_RANGE, 0.0))
    other = builder.fcmp_unordered("!=", x, zero)
    settled = builder.select(other, settled, x)
    outside = builder.and_(other, builder.or_(builder.fcmp_unordered("<", x, low), builder.fcmp_unordered(">", x, high)))
    before, word = builder.block, ir.IntType(vector.count)
    with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(outside, word), word(0)), likely=False):
        root = _declared(module, f"llvm.sqrt.v{vector.count}f64", vector, [vector])
        exact, during = builder.call(root, [x]), builder.block
    result = builder.phi(vector)
    result.add_incoming(settled, before)
    result.add_incoming(exact, during)
    return result


settle_root = _form("settle_root", 2, _settled_root)


def _over_lanes(context, builder, name, slow, x, ty):
    """A function of two pointers that puts `slow` of as many elements as a register has into the second.

    It is a loop that the vectoriser is told to make one step of; by itself it would not for so few.
    """
    module, lanes = builder.module, LANES[ty]

    def element(x):
        return slow(x)
    made = context.compile_subroutine(builder, element, x(x))
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [ty.as_pointer()] * 2), name)
    function.linkage = "linkonce_odr"
    attribute(function, "noinline")
    for pointer in function.args:
        pointer.add_attribute("noalias")
    entry, loop, end = [function.append_basic_block() for _ in range(3)]
    ir.IRBuilder(entry).branch(loop)
    builder = ir.IRBuilder(loop)
    index = builder.phi(I64)
    source, target = [builder.gep(pointer, [index]) for pointer in function.args]
    result = context.call_internal_no_propagate(builder, made.fndesc, made.signature, [builder.load(source)])[1]
    builder.store(result, target)
    following = builder.add(index, I64(1))
    index.add_incoming(I64(0), entry)
    index.add_incoming(following, builder.block)
    back = builder.cbranch(builder.icmp_unsigned("<", following, I64(lanes)), loop, end)
    width = module.add_metadata([ir.MetaDataString(module, "llvm.loop.vectorize.width"), I32(lanes)])
    identity = module.add_metadata([I32(len(module.metadata)), width])
    identity.operands = identity, width                  # a loop's metadata names itself first
    back.set_metadata("llvm.loop", identity)
    ir.IRBuilder(end).ret_void()
    return function


@intrinsic
def beyond(typing_context, x, t, bound, y, slow):
    """One test for all lanes; where any is out of range, all go through memory and `slow`."""
    def codegen(context, builder, signature, values):
        module, ty = builder.module, values[0].type
        lanes, vector = LANES[ty], ir.VectorType(ty, LANES[ty])
        name = f"numtorch_beyond_{slow.dispatcher.py_func.__name__}_{SUFFIX[ty]}"
        far = module.globals.get(name + "_far") or _over_lanes(context, builder, name + "_far", slow.dispatcher, x, ty)

        def emit(module, builder, given):
            x, t, bound, y = given
            outside = builder.fcmp_ordered(">", t, bound)
            source, target = builder.alloca(vector), builder.alloca(vector)
            before, word = builder.block, ir.IntType(lanes)
            with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(outside, word), word(0)), likely=False):
                builder.store(x, source)
                builder.call(far, [builder.bitcast(place, ty.as_pointer()) for place in (source, target)])
                mended, during = builder.select(outside, builder.load(target), y), builder.block
            result = builder.phi(vector)
            result.add_incoming(y, before)
            result.add_incoming(mended, during)
            return result
        return builder.call(_function(module, name, ty, [ty] * 4, emit), values[:4])
    return x(x, t, bound, y, slow), codegen


def _lookup(name, values):
    ty, word = (FLOAT, I32) if values[0].itemsize == 4 else (DOUBLE, I64)
    lanes = LANES[ty]
    vector, words = ir.VectorType(ty, lanes), ir.VectorType(word, lanes)
    halves = [ir.Constant(vector, [ty(float(v)) for v in values[i:i + lanes]]) for i in range(0, len(values), lanes)]

    def emit(module, builder, arguments):
        bits = arguments[0]
        if len(halves) == 4:
            return _of_two(module, builder, bits)
        if len(halves) == 1:
            permute = _declared(module, f"llvm.x86.avx512.permvar.{'sf' if ty == FLOAT else 'df'}.512", vector, [vector, words])
            return builder.call(permute, [halves[0], bits])
        return _of_pair(module, builder, bits, *halves)

    def _of_pair(module, builder, bits, low, high):
        permute = _declared(module, f"llvm.x86.avx512.vpermi2var.{SUFFIX[ty]}.512", vector, [vector, words, vector])
        return builder.call(permute, [low, bits, high])

    def _of_two(module, builder, bits):
        """From the first pair of registers or the second: the bit above those of a pair says which."""
        bit = builder.and_(bits, words([2 * lanes] * lanes))
        second = builder.icmp_unsigned("!=", bit, words([0] * lanes))
        low, high = _of_pair(module, builder, bits, *halves[:2]), _of_pair(module, builder, bits, *halves[2:])
        return builder.select(second, high, low)

    def codegen(context, builder, signature, arguments):
        return builder.call(_function(builder.module, "numtorch_" + name, ty, [word], emit), arguments)

    def entry(typing_context, bits):
        return (types.float32 if ty == FLOAT else types.float64)(types.int32 if ty == FLOAT else types.int64), codegen
    entry.__name__ = name
    return intrinsic(entry)


def __getattr__(name):
    """The tables, by name."""
    if name not in TABLES:
        raise AttributeError(name)
    form = globals()[name] = _lookup(name, TABLES[name])
    return form
