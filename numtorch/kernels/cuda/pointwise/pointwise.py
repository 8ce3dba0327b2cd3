"""Pointwise kernels on a GPU: threads move vectors of 16 bytes where elements are side by side.

The same scalar bodies as in kernels/cpu/pointwise/pointwise.py, and the same interface. A thread has a *unit* of work, or several,
and reads all that it needs before it computes, so that enough bytes are under way. There are three forms:

    dense       every operand is contiguous or constant along one merged dimension: a unit is a vector, whose place is its number
    rows        so is the innermost of several dimensions, and rows are whole vectors: a unit is a vector, found by its coordinates
    strided     all else: UNITS elements that are a block apart, so that neighbouring threads write neighbours

Addresses that are not multiples of a vector's bytes a thread finds out: of dense operands a block then takes elements that are a
block apart.

Descriptor: units, dimensions; then per dimension (innermost first) its extent in units, the extent's divisor
(shared/coordinates.py) and per operand its stride in elements.
"""
from __future__ import annotations

import functools
import math

from ...binding import ScalarBody
from ...conversions import CONVERSION_NAMES, load_source, store_source
from ...elementtypes import itemsize, numpy_type
from ...intrinsics import address_of, offset
from ...loopnest import merge, pattern_of
from ...sources import compile_source
from ...threads import NOTHING, Prepared
from ..compiler import compile_kernel, prepare
from ..environment import MOST_BLOCKS, THREADS
from ..shared.coordinates import NARROW, divisor, numbers
from ..shared.vectors import VECTOR, load_vector, store_vector, vectors_of

COUNT, DIMS, HEADER = range(3)                           # of the descriptor
UNITS = 4                                                # elements that a thread of the strided form has
COSTLY = 100                                             # additions that an element is worth from which a thread has only one
SCOPE = dict(CONVERSION_NAMES, address_of=address_of, offset=offset, load_vector=load_vector, store_vector=store_vector)


def _found(operands, count, entry):
    """Lines that say where `count` units of a thread are, `p{operand}_{unit}`, whose numbers are `e{unit}`."""
    units, of_each = range(count), range(operands)

    def dimension(indent, divided, sign):
        lines = [f"stride{k} = P(descriptor[entry + {2 + k}])" for k in of_each]
        if divided:
            lines += ["extent, word = N(descriptor[entry]), descriptor[entry + 1]"]
            for u in units:
                lines += [f"q = quotient(r{u}, word)", f"j{u}, r{u} = N(r{u} - N(q * extent)), q"]
        lines += [f"p{k}_{u} {sign} P(P({'j' if divided else 'r'}{u}) * stride{k})" for k in of_each for u in units]
        return [" " * indent + each for each in lines]

    lines = [f"    n, entry, last = N(descriptor[{COUNT}]), {HEADER}, {HEADER} + {entry} * (descriptor[{DIMS}] - 1)",
             f"    e0 = N(N(N(cuda.blockIdx.x) * N({THREADS * count})) + N(cuda.threadIdx.x))", "    if e0 >= n:", "        return"]
    lines += [f"    e{u} = N(e0 + N({THREADS * u}))" for u in units[1:]]
    lines += [f"    r{u} = min(e{u}, N(n - N(1)))" for u in units] + dimension(4, True, "=")
    lines += [f"    entry += {entry}", "    while entry < last:", *dimension(8, True, "+="), f"        entry += {entry}"]
    return lines + dimension(4, False, "+=")


@functools.cache
def _source(inputs: tuple, outputs: tuple, pattern: str, written: int, compute: tuple, results: tuple | None, part: str, rows: bool,
            width: int):
    """The kernel's source; see the CPU's for what the arguments say. In the pattern, `s` stands for all operands or none."""
    count = len(inputs)
    names = [f"x{i}" for i in range(count)] + ([] if written >= 0 else [f"y{i}" for i in range(len(outputs))])
    dtypes = (*inputs, *(() if written >= 0 else outputs))
    targets = [written] if written >= 0 else range(count, len(names))
    strided = "s" in pattern
    units = range(width)
    still = [k for k in range(count) if pattern[k] == "b"]
    moving = [k for k in range(count) if k not in still]
    odd = " | ".join(f"(address_of({name}) & {min(width * itemsize(dtype), VECTOR) - 1})"
                     for name, dtype, letter in zip(names, dtypes, pattern) if letter == "c")
    line = ["def kernel(" + ", ".join(names) + ", descriptor):"]
    if strided or rows:
        line += _found(len(names), len(units) if strided else 1, 2 + len(names))
    if rows:
        line += [f"    whole = ({odd}) == 0"]
    elif not strided:
        tile = THREADS * width
        line += [f"    n, me = descriptor[{COUNT}], np_int64(cuda.threadIdx.x)", f"    first = np_int64(cuda.blockIdx.x) * {tile}",
                 "    at = first + me", "    if at >= n:", "        return", f"    whole = ({odd}) == 0 and first + {tile} <= n"]

    def element(k, u, clamp=True):
        if strided or rows:
            return f"{names[k]}[np_int64(p{k}_{u if strided else 0}){f' + {u}' if rows and k not in still else ''}]"
        return f"{names[k]}[{0 if k in still else f'min(at + {THREADS * u}, n - 1)' if clamp else f'at + {THREADS * u}'}]"

    vector = lambda k: f"offset({names[k]}, {f'np_int64(p{k}_0)' if rows else f'first + me * {width}'})"
    line += [f"    a{k}_0 = {element(k, 0)}" for k in still]
    if strided:
        line += [f"    a{k}_{u} = {element(k, u)}" for u in units for k in moving]
    elif moving:
        line += ["    if whole:"]
        line += [f"        {''.join(f'a{k}_{u}, ' for u in units)}= load_vector({vector(k)}, {width})" for k in moving]
        line += ["    else:"] + [f"        a{k}_{u} = {element(k, u)}" for u in units for k in moving]
    for u in units:
        given = [load_source(f"a{k}_{0 if k in still else u}", inputs[k], compute[k]).replace("C(", f"C{k}(") for k in range(count)]
        line.append(f"    r_ = fn({', '.join(given)})")
        for position, dtype in enumerate(outputs):
            value = "r_" if results is None else f"r_[{results[position]}]"
            line.append(f"    s{position}_{u} = {store_source(value, dtype, part, compute)}")
    if not strided:
        line += ["    if whole:"]
        line += [f"        store_vector({vector(k)}, ({''.join(f's{position}_{u}, ' for u in units)}))"
                 for position, k in enumerate(targets)]
        line += ["        return"]
    for u in units:
        there = "" if rows else f"if {f'e{u}' if strided else f'at + {THREADS * u}'} < n: "
        line += [f"    {there}{element(k, u, False)} = s{position}_{u}" for position, k in enumerate(targets)]
    return "\n".join(line) + "\n"


def _width(dtypes, pattern, rows, extents, steps):
    """The elements of a vector: 16 bytes of the widest operand, or less where rows do not consist of so many."""
    width = vectors_of(max(itemsize(dtype) for dtype, letter in zip(dtypes, pattern) if letter != "b"))
    while rows and width > 1 and any(n % width for n in (extents[-1], *[
            step for outer in steps[:-1] for step, letter in zip(outer, pattern) if letter == "c"])):
        width //= 2
    return width


def pointwise_kernel(body, inputs, outputs, pattern, compute, written=-1, results=None, part="", rows=False, width=None,
                     narrow=True):
    """The kernel of a scalar body for dtypes, the operands' pattern, and the rest as `plan_pointwise` has it.

    Args:
        rows: whether vectors are found by their coordinates.
        width: the elements of a vector, or of a thread where they lie otherwise; as many as can be when None.
        narrow: whether places are of 31 bits, where they are found by coordinates.
    """
    dtypes = (*inputs, *(() if written >= 0 else outputs))
    strided = "s" in pattern
    if width is None:
        width = UNITS if strided else _width(dtypes, pattern, False, None, None)
    scope = dict(SCOPE, fn=body)
    if strided or rows:
        scope.update(numbers(narrow))
    for k, name in enumerate(compute):
        scope[f"C{k}"] = numpy_type(name)
    source = _source(inputs, outputs, pattern, written, compute, results, part, rows, width)
    compile_source(source, "CUDA pointwise kernel", scope)
    signature = [d + "*" for d in dtypes] + ["int64*"]
    return compile_kernel(scope.pop("kernel"), signature, compute=body.compute)


def plan_pointwise(body: ScalarBody, inputs: tuple, outputs: tuple, shape: tuple, strides: list, *, compute: tuple,
                   written: int = -1, results: tuple | None = None, cost: float = 1.0, real_part: bool = False,
                   device: int = 0) -> Prepared:
    if written >= 0:
        strides = [*strides, strides[written]]
    extents, steps = merge(shape, strides)
    if written >= 0:
        steps = [s[:-1] for s in steps]
    total = math.prod(extents)
    if not total:
        return NOTHING
    dtypes = (*inputs, *(() if written >= 0 else outputs))
    operands = len(dtypes)
    pattern = pattern_of(steps[-1] if steps else (1,) * operands, written if written >= 0 else operands - 1)
    rows = len(extents) > 1 and "s" not in pattern and cost < COSTLY
    width = 1 if "s" in pattern or cost >= COSTLY else _width(dtypes, pattern, rows, extents, steps)
    if len(extents) > 1 and width == 1:
        pattern, rows = "s" * operands, False
    found = rows or "s" in pattern                       # by coordinates
    spans = (sum(abs(step[k]) * (n - 1) for n, step in zip(extents, steps)) for k in range(operands))
    narrow = max(total, *spans) < NARROW
    units, row = total, [total, len(extents)]
    if found:
        units = total // width
        row = [units, max(len(extents), 2)]
        inner = extents[-1] // width, [step * width for step in steps[-1]]
        for extent, step in [inner, *zip(extents[-2::-1], steps[-2::-1])] + [(1, (0,) * operands)] * (len(extents) == 1):
            row += [extent, divisor(extent, narrow), *step]
    each = UNITS if "s" in pattern and cost < COSTLY else width
    kernel = pointwise_kernel(body, inputs, outputs, pattern, compute, written, results, ".real" if real_part else "", rows, each,
                              narrow or not found)
    return prepare(kernel, row, -(-units // (THREADS * (1 if rows else each))), device, most=MOST_BLOCKS)
