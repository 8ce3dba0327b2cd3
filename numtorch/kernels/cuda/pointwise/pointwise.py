"""Pointwise kernels on a GPU: one thread an element, in strides of the grid.

The same scalar bodies as in kernels/cpu/pointwise/pointwise.py, and the same interface. Where every operand is dense or constant
along one merged dimension, an element's place is its number; else it is found by dividing the number by the extents.

Descriptor: elements, dimensions; then per dimension (innermost first) its extent and per operand its stride. In elements.
"""
from __future__ import annotations

import functools
import math

from ...binding import ScalarBody
from ...conversions import CONVERSION_NAMES, load_source, store_source
from ...elementtypes import numpy_type
from ...loopnest import merge, pattern_of
from ...threads import Prepared
from ..compiler import compile_kernel, prepare
from ..environment import THREADS

HEADER = 2


@functools.cache
def _source(inputs: tuple, outputs: tuple, pattern: str, written: int, compute: tuple, results: tuple | None, part: str):
    """The kernel's source; see the CPU's for what the arguments say. In the pattern, `s` stands for all operands or none."""
    count = len(inputs)
    names = [f"x{i}" for i in range(count)] + ([] if written >= 0 else [f"y{i}" for i in range(len(outputs))])
    targets = [f"x{written}"] if written >= 0 else names[count:]
    operands = len(names)
    strided = "s" in pattern
    place = {name: f"p{k}" if strided else "0" if pattern[k] == "b" else "i" for k, name in enumerate(names)}
    loaded = [load_source(f"x{k}[{place[f'x{k}']}]", inputs[k], compute[k]).replace("C(", f"C{k}(") for k in range(count)]
    line = ["def kernel(" + ", ".join(names) + ", descriptor):",
            "    n = descriptor[0]",
            "    i = np_int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x",
            "    step = np_int64(cuda.gridDim.x) * cuda.blockDim.x"]
    for k in range(count):
        if pattern[k] == "b" and k != written:
            line.append(f"    v{k} = {loaded[k]}")
            loaded[k] = f"v{k}"
    line.append("    while i < n:")                      # range() with a step of unknown sign is a third more code
    if strided:
        line += ["        r = i"]
        line += [f"        p{k} = np_int64(0)" for k in range(operands)]
        line += ["        for d in range(descriptor[1]):", f"            e = {HEADER} + d * {1 + operands}",
                 "            q = r // descriptor[e]", "            j = r - q * descriptor[e]", "            r = q"]
        line += [f"            p{k} += j * descriptor[e + {1 + k}]" for k in range(operands)]
    line.append(f"        r_ = fn({', '.join(loaded)})")
    for position, (target, dtype) in enumerate(zip(targets, outputs)):
        value = "r_" if results is None else f"r_[{results[position]}]"
        line.append(f"        {target}[{place[target]}] = {store_source(value, dtype, part, compute)}")
    line.append("        i += step")
    return "\n".join(line) + "\n"


def pointwise_kernel(body, inputs, outputs, pattern, compute, written=-1, results=None, part=""):
    """The kernel of a scalar body for dtypes, the operands' pattern, and the rest as `plan_pointwise` has it."""
    scope = dict(CONVERSION_NAMES, fn=body)
    for k, name in enumerate(compute):
        scope[f"C{k}"] = numpy_type(name)
    exec(compile(_source(inputs, outputs, pattern, written, compute, results, part), "<CUDA pointwise kernel>", "exec"), scope)
    signature = [d + "*" for d in inputs] + ([] if written >= 0 else [d + "*" for d in outputs]) + ["int64*"]
    return compile_kernel(scope.pop("kernel"), signature, compute=body.compute)


def plan_pointwise(body: ScalarBody, inputs: tuple, outputs: tuple, shape: tuple, strides: list, *, compute: tuple,
                   written: int = -1, results: tuple | None = None, cost: float = 1.0, real_part: bool = False,
                   device: int = 0) -> Prepared:
    """Prepare `body` to run over a device's memory. The arguments are those of the CPU's `plan_pointwise`.

    Args:
        cost: of no consequence here: a GPU has threads enough.
        device: the index of the device.
    """
    if written >= 0:
        strides = [*strides, strides[written]]
    extents, steps = merge(shape, strides)
    if written >= 0:
        steps = [s[:-1] for s in steps]
    operands = len(inputs) + (0 if written >= 0 else len(outputs))
    last = steps[-1] if steps else (1,) * operands
    pattern = "s" * operands if len(extents) > 1 else pattern_of(last, written if written >= 0 else operands - 1)
    row = [math.prod(extents), len(extents)]
    for extent, step in zip(reversed(extents), reversed(steps)):
        row += [extent, *step]
    kernel = pointwise_kernel(body, inputs, outputs, pattern, compute, written, results, ".real" if real_part else "")
    return prepare(kernel, row, -(-row[0] // THREADS), device)
