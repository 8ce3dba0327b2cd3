"""Pointwise loops around an op's scalar body.

One template serves every op: three nested levels (outer, middle, inner) over any number of operands, written for the
operands' number and dtypes. What differs is how an operand steps along the innermost dimension, its *pattern*: `c` (stride
1), `b` (the same element throughout), `s` (a stride from the descriptor). With `c` and `b` alone LLVM vectorises the loop.
An operand that is also written (`+`) has no output of its own, so that LLVM sees one address and still vectorises.

Descriptor: inner count, middle count, outer count, outer dimensions; then per operand its inner stride, per operand its
middle stride, and per outer dimension (innermost first) its extent and per operand its stride. All in elements.
"""
from __future__ import annotations

import functools

import numpy as np

from ..compiler import SCALAR_MATH, ScalarBody, compile_kernel
from ..intrinsics import bfloat16_to_float, float_to_bfloat16, float_to_half, half_to_float, offset
from ..pointers import element_type
from ..threads import Prepared, prepare
from ..walk import merge, pattern_of, split

HEADER = 4


def _load(expression, dtype, compute):
    """Source that turns a stored word into a value of the compute type."""
    if dtype == "float16":
        expression = f"half_to_float({expression})"
    elif dtype == "bfloat16":
        expression = f"bfloat16_to_float({expression})"
    if compute == "bool":
        return f"({expression} != 0)"
    if dtype == "bool":
        expression = f"({expression} != 0)"
    return f"C({expression})"


def _store(expression, dtype, part):
    """Source that turns a result into a stored word; `part` is ".real" where a complex result goes to a real dtype."""
    if part and not dtype.startswith("complex"):
        expression = f"({expression}){part}"
    if dtype == "float16":
        return f"float_to_half(float32({expression}))"
    if dtype == "bfloat16":
        return f"float_to_bfloat16(float32({expression}))"
    if dtype == "bool":
        return f"uint8(({expression}) != 0)"
    return f"np_{dtype}({expression})"


@functools.cache
def _source(inputs: tuple, outputs: tuple, pattern: str, written: int, compute: tuple, results: tuple | None, strided: bool,
            part: str):
    """The kernel's source. `written` is the input that is also the output (-1: none); `results` the parts of the body's
    tuple that are stored (None: it returns one value); `strided`: there are outer levels."""
    count = len(inputs)
    names = [f"x{i}" for i in range(count)] + ([] if written >= 0 else [f"y{i}" for i in range(len(outputs))])
    targets = [f"x{written}"] if written >= 0 else names[count:]
    operands = len(names)
    line = ["def kernel(" + ", ".join(names) + ", walk):", "    n = walk[0]"]
    indent = "    "
    here = {name: name for name in names}
    if strided:
        line += ["    m = walk[1]", "    outer = walk[2]", "    dims = walk[3]"]
        line += [f"    s{k} = walk[{HEADER + k}]" for k in range(operands) if pattern[k] == "s"]
        line += [f"    m{k} = walk[{HEADER + operands + k}]" for k in range(operands)]
        line += ["    for o in range(outer):", "        r = o"]
        line += [f"        p{k} = 0" for k in range(operands)]
        line += ["        for d in range(dims):", f"            e = {HEADER + 2 * operands} + d * {1 + operands}",
                 "            q = r // walk[e]", "            i = r - q * walk[e]", "            r = q"]
        line += [f"            p{k} += i * walk[e + {1 + k}]" for k in range(operands)]
        line += ["        for j in range(m):"]
        line += [f"            {name}_ = offset({name}, p{k} + j * m{k})" for k, name in enumerate(names)]
        here = {name: name + "_" for name in names}
        indent = "            "
    index = {"c": "i", "b": "0"}
    at = {name: f"{here[name]}[{index.get(pattern[k], f'i * s{k}')}]" for k, name in enumerate(names)}
    # what does not change along the row is read before it: the output might alias it for all LLVM knows
    for k in range(count):
        if pattern[k] == "b" and k != written:
            line.append(f"{indent}v{k} = {_load(at[f'x{k}'], inputs[k], compute[k])}".replace("C(", f"C{k}("))
    values = [f"v{k}" if pattern[k] == "b" and k != written else
              _load(at[f"x{k}"], inputs[k], compute[k]).replace("C(", f"C{k}(") for k in range(count)]
    line.append(f"{indent}for i in range(n):")
    line.append(f"{indent}    r_ = fn({', '.join(values)})")
    for position, (target, dtype) in enumerate(zip(targets, outputs)):
        value = "r_" if results is None else f"r_[{results[position]}]"
        line.append(f"{indent}    {at[target]} = {_store(value, dtype, part)}")
    return "\n".join(line) + "\n"


_NAMES = dict(half_to_float=half_to_float, bfloat16_to_float=bfloat16_to_float, float_to_half=float_to_half,
              float_to_bfloat16=float_to_bfloat16, offset=offset, float32=np.float32, uint8=np.uint8,
              **{"np_" + n: getattr(np, n) for n in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
                                                     "float32", "float64", "complex64", "complex128")})


def _kernel(body, inputs, outputs, pattern, compute, written, results, strided, part):
    scope = dict(_NAMES, fn=body)
    for k, name in enumerate(compute):
        scope[f"C{k}"] = np.bool_ if name == "bool" else getattr(np, name)
    source = _source(inputs, outputs, pattern, written, compute, results, strided, part)
    exec(compile(source, "<pointwise kernel>", "exec"), scope)
    signature = [d + "*" for d in inputs] + ([] if written >= 0 else [d + "*" for d in outputs]) + ["int64*"]
    return compile_kernel(scope["kernel"], signature, compute=body.compute, fastmath=SCALAR_MATH)


def plan_pointwise(body: ScalarBody, inputs: tuple, outputs: tuple, shape: tuple, strides: list, *, compute: tuple,
                   written: int = -1, results: tuple | None = None, cost: float = 1.0, real_part: bool = False) -> Prepared:
    """Prepare `body` to run over memory, called with the operands' addresses.

    Args:
        body: the scalar function.
        inputs, outputs: dtype names.
        shape: the extents walked, none of them 0.
        strides: for each input and then each output, its strides along `shape` in elements.
        compute: for each input, the dtype it is converted to for the body.
        written: the input that is overwritten with the one result (its strides are the output's too), or -1.
        results: which members of the tuple the body returns are stored, or None for a single value.
        cost: work of an element relative to an addition.
        real_part: store the real parts of complex results into real outputs.
    """
    if written >= 0:
        strides = [*strides, strides[written]]
    extents, steps = merge(shape, strides)
    if written >= 0:
        steps = [s[:-1] for s in steps]
    operands = len(inputs) + (0 if written >= 0 else len(outputs))
    last = steps[-1] if steps else (1,) * operands
    pattern = pattern_of(last, written if written >= 0 else operands - 1)
    itemsizes = [element_type(d).itemsize for d in (inputs if written >= 0 else inputs + outputs)]
    rows, offsets = split(extents, steps, itemsizes, cost)
    strided = len(extents) > 1 or "s" in pattern
    kernel = _kernel(body, inputs, outputs, pattern, compute, written, results, strided, ".real" if real_part else "")
    elements = 1
    for extent in extents:
        elements *= extent
    return prepare(kernel, rows, offsets, release_lock=elements * cost > 1 << 15)
