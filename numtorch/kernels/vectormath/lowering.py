"""The compiled form of `settle_*`: a scalar function that LLVM's vectoriser may replace by a vector variant.

The attribute `vector-function-abi-variant` names, for each vector width, a function over whole vectors; it tests all lanes
at once and returns at once when none is out of range. So a loop whose body must, once in a million elements, call the C
library is vectorised all the same. Imported only when something must be compiled.
"""
from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .ranges import LIMIT32, LIMIT64

_DOUBLE, _FLOAT = ir.DoubleType(), ir.FloatType()
_PURE = ("nounwind", "readnone", "willreturn", "noinline")
_WIDTHS = {_FLOAT: (2, 4, 8, 16), _DOUBLE: (2, 4, 8)}


def _attribute(function, *texts):
    for text in texts:
        set.add(function.attributes, text)               # llvmlite's own list of attributes lacks some


def _exceeds(module, builder, x, limit):
    suffix = "f32" if x.type in (_FLOAT,) or getattr(x.type, "element", None) == _FLOAT else "f64"
    if isinstance(x.type, ir.VectorType):
        suffix = f"v{x.type.count}{suffix}"
    name = f"llvm.fabs.{suffix}"
    fabs = module.globals.get(name) or ir.Function(module, ir.FunctionType(x.type, [x.type]), name)
    return builder.fcmp_ordered(">", builder.call(fabs, [x]), limit)


def _scalar_function(module, name, library_name, ty, limit):
    """y where |x| <= limit, else what the C library says of x."""
    library = module.globals.get(library_name) or ir.Function(module, ir.FunctionType(ty, [ty]), library_name)
    function = ir.Function(module, ir.FunctionType(ty, [ty, ty]), name)
    function.linkage = "linkonce_odr"
    builder = ir.IRBuilder(function.append_basic_block())
    x, y = function.args
    with builder.if_then(_exceeds(module, builder, x, ty(limit)), likely=False):
        builder.ret(builder.call(library, [x]))
    builder.ret(y)
    return function


def _vector_function(module, scalar, ty, width, limit):
    vector = ir.VectorType(ty, width)
    function = ir.Function(module, ir.FunctionType(vector, [vector, vector]), f"{scalar.name}_v{width}")
    function.linkage = "linkonce_odr"
    _attribute(function, *_PURE)
    builder = ir.IRBuilder(function.append_basic_block())
    x, y = function.args
    lanes = _exceeds(module, builder, x, vector([ty(limit)] * width))
    word = ir.IntType(width)
    with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(lanes, word), word(0)), likely=False):
        result = y
        for lane in range(width):
            index = ir.IntType(32)(lane)
            value = builder.call(scalar, [builder.extract_element(x, index), builder.extract_element(y, index)])
            result = builder.insert_element(result, value, index)
        builder.ret(result)
    builder.ret(y)
    return function


def _settle(library_name):
    def settle(typing_context, x, y):
        def codegen(context, builder, signature, values):
            module, ty = builder.module, values[0].type
            single = ty == _FLOAT
            limit = LIMIT32 if single else LIMIT64
            name = f"numtorch_settle_{library_name}_{'f32' if single else 'f64'}"
            scalar = module.globals.get(name)
            if scalar is None:
                scalar = _scalar_function(module, name, library_name + ("f" if single else ""), ty, limit)
                variants = [_vector_function(module, scalar, ty, width, limit) for width in _WIDTHS[ty]]
                mapping = ",".join(f"_ZGV_LLVM_N{v.args[0].type.count}vv_{name}({v.name})" for v in variants)
                _attribute(scalar, *_PURE, f'"vector-function-abi-variant"="{mapping}"')
                pointer = ir.IntType(8).as_pointer()
                used = ir.GlobalVariable(module, ir.ArrayType(pointer, len(variants)), "llvm.compiler.used")
                used.linkage, used.section = "appending", "llvm.metadata"
                used.initializer = ir.Constant(used.value_type, [v.bitcast(pointer) for v in variants])
            return builder.call(scalar, values)
        return x(x, y), codegen
    settle.__name__ = f"settle_{library_name}"
    return intrinsic(settle)


settle_sin, settle_cos, settle_tan = _settle("sin"), _settle("cos"), _settle("tan")
