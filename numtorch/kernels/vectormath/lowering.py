"""The compiled form of `settle_*`: a scalar function that LLVM's vectoriser may replace by a vector variant.

The attribute `vector-function-abi-variant` names, for each vector width, a function over whole vectors, which the
compiler inlines after vectorising; it tests all lanes together and goes on at once when none is out of range. So a loop
whose body must call the C library once in a million elements is vectorised all the same. Imported only when something
must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba.extending import intrinsic

from .ranges import LIMITS, QUOTIENT32, QUOTIENT64

_DOUBLE, _FLOAT = ir.DoubleType(), ir.FloatType()
PURE = ("nounwind", "readnone", "willreturn", "noinline")
WIDTHS = {_FLOAT: (2, 4, 8, 16), _DOUBLE: (2, 4, 8)}


def attribute(function, *texts):
    for text in texts:
        set.add(function.attributes, text)               # llvmlite's own list of attributes lacks some


def _magnitude(module, builder, x):
    vector = isinstance(x.type, ir.VectorType)
    element = "f32" if (x.type.element if vector else x.type) == _FLOAT else "f64"
    name = f"llvm.fabs.v{x.type.count}{element}" if vector else f"llvm.fabs.{element}"
    fabs = module.globals.get(name) or ir.Function(module, ir.FunctionType(x.type, [x.type]), name)
    return builder.call(fabs, [x])


def _exceeds(module, builder, arguments, limit):
    """Whether |x| > limit, or |x| > limit * |y|."""
    bound = limit
    if len(arguments) == 2:
        bound = builder.fmul(limit, _magnitude(module, builder, arguments[1]))
    return builder.fcmp_ordered(">", _magnitude(module, builder, arguments[0]), bound)


def _scalar_function(module, name, library_name, ty, arity, limit):
    """The last argument where the others are in range, else what the C library says of them."""
    library = module.globals.get(library_name) or ir.Function(module, ir.FunctionType(ty, [ty] * arity), library_name)
    function = ir.Function(module, ir.FunctionType(ty, [ty] * (arity + 1)), name)
    function.linkage = "linkonce_odr"
    builder = ir.IRBuilder(function.append_basic_block())
    *arguments, settled = function.args
    with builder.if_then(_exceeds(module, builder, arguments, ty(limit)), likely=False):
        builder.ret(builder.call(library, arguments))
    builder.ret(settled)
    return function


def _vector_function(module, scalar, ty, width, limit):
    """The same for a vector: one test for all lanes, and the scalar function for each lane when any is out of range."""
    vector = ir.VectorType(ty, width)
    function = ir.Function(module, ir.FunctionType(vector, [vector] * len(scalar.args)), f"{scalar.name}_v{width}")
    function.linkage = "linkonce_odr"
    attribute(function, "nounwind", "readnone", "willreturn", "alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    *arguments, settled = function.args
    lanes = _exceeds(module, builder, arguments, vector([ty(limit)] * width))
    word = ir.IntType(width)
    with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(lanes, word), word(0)), likely=False):
        result = settled
        for lane in range(width):
            index = ir.IntType(32)(lane)
            value = builder.call(scalar, [builder.extract_element(a, index) for a in function.args])
            result = builder.insert_element(result, value, index)
        builder.ret(result)
    builder.ret(settled)
    return function


def _settle(library_name, arity, limit32, limit64):
    def settle(context, builder, signature, values):
        module, ty = builder.module, values[0].type
        single = ty == _FLOAT
        limit = limit32 if single else limit64
        name = f"numtorch_settle_{library_name}_{'f32' if single else 'f64'}"
        scalar = module.globals.get(name)
        if scalar is None:
            scalar = _scalar_function(module, name, library_name + ("f" if single else ""), ty, arity, limit)
            variants = [_vector_function(module, scalar, ty, width, limit) for width in WIDTHS[ty]]
            arguments = "v" * (arity + 1)
            mapping = ",".join(f"_ZGV_LLVM_N{v.args[0].type.count}{arguments}_{name}({v.name})" for v in variants)
            attribute(scalar, *PURE, f'"vector-function-abi-variant"="{mapping}"')
            keep(module, variants)
        return builder.call(scalar, values)
    return settle


def keep(module, functions):
    """Nothing calls the variants until the vectoriser has run."""
    pointer = ir.IntType(8).as_pointer()
    kept = [f.bitcast(pointer) for f in functions]
    used = module.globals.get("llvm.compiler.used")
    if used is None:
        used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(kept)), "llvm.compiler.used")
        used.linkage, used.section = "appending", "llvm.metadata"
    else:
        kept = [*used.initializer.constant, *kept]
        used.value_type = ir.ArrayType(pointer, len(kept))
    used.initializer = ir.Constant(used.value_type, kept)


def _unary(name):
    codegen = _settle(name, 1, *LIMITS[name])

    def settle(typing_context, x, y):
        return x(x, y), codegen
    settle.__name__ = f"settle_{name}"
    return intrinsic(settle)


settle_sin, settle_cos, settle_tan = _unary("sin"), _unary("cos"), _unary("tan")
_fmod = _settle("fmod", 2, QUOTIENT32, QUOTIENT64)


@intrinsic
def settle_fmod(typing_context, x, y, r):
    return x(x, y, r), _fmod
