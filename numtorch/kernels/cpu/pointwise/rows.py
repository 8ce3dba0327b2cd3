"""Formulas around sums, norms and extremes of rows: a row is read once into the first cache, and gone over there in passes.

A kernel is a list of passes (`Pass`). Each computes a formula for every element of a row, and stores, keeps or folds what that
gives; then a formula of the folded numbers may follow. Softmax is three: a maximum; exponentials, kept, and their sum; their
products with one over it. What a pass keeps for a later one is in buffers on the stack, so rows are `LONGEST` at most.

Sums are taken of `PIECE` elements at a time in the compute type, and of these in float64.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...binding import ScalarBody
from ...compiler import compile_kernel
from ...conversions import CONVERSION_NAMES, load_source
from ...elementtypes import itemsize, scalar_type
from ...intrinsics import local_array, offset, select, sqrt
from ...sources import compile_source
from ...threads import Prepared
from ..shared.elements import from_order, order_of, prepare_parts, shares

LONGEST = 4096                                           # elements of a row: a buffer of them is 16 KiB of float32
PIECE = 2048                                             # elements that are summed in the compute type
ROWS, LENGTH, HEADER = range(3)                          # of the descriptor; then the step of each operand from row to row
GRAIN = 16_000                                           # elements, times cost, that make a thread worth waking


class Pass(NamedTuple):
    """One pass over a row.

    Attributes:
        body: the formula of an element; it gives one number, or a tuple; None where there is nothing to compute.
        operands: what it takes: "x0" (an input), "b0" (a buffer), "v0" (a number of the row).
        targets: for each number that it gives where that goes, any number: of "y0" (a result), "b0" (a buffer), and what is folded
            with the number of the row that this is, as ("sum", "v0"). Folds are "sum", "mean", "root" (of the sum), "largest"
            (a NaN wins), and "max" (for which a NaN may be lost).
        rest: the formula of the row's numbers that follows, or None.
        rest_operands: what that takes, of "v0" and of inputs that have one number a row.
        rest_targets: for each number that it gives its name, "v1", and of the results that it is, "y0".
    """

    body: ScalarBody | None
    operands: tuple
    targets: tuple
    rest: ScalarBody | None
    rest_operands: tuple
    rest_targets: tuple


@functools.cache
def _source(passes, inputs, single, results, buffers):
    """The kernel's source.

    Args:
        passes: (operands, targets, rest operands, rest targets) of each.
        inputs: dtype names.
        single: for each input whether it has one number a row.
        results: how many.
        buffers: how many.
    """
    names = [f"x{k}" for k in range(len(inputs))] + [f"y{k}" for k in range(results)]
    rows_as_buffers = _rows_as_buffers(passes)
    lines = [f"def kernel({', '.join(names)}, descriptor):", f"    n = descriptor[{LENGTH}]", "    share = W(1) / W(n)",
             *[f"    q{k} = descriptor[{HEADER + k}]" for k in range(len(names))],
             *[f"    b{k} = local_array(T, {LONGEST})" for k in range(buffers) if f"b{k}" not in rows_as_buffers],
             f"    for row in range(descriptor[{ROWS}]):",
             *[f"        {name}_ = offset({name}, row * q{k})" for k, name in enumerate(names)],
             *[f"        {buffer} = {result}_" for buffer, result in rows_as_buffers.items()]]

    def loaded(k, place):
        return load_source(f"x{k}_[{place}]", inputs[k], "bool" if inputs[k] == "bool" else "T").replace("C(", "T(")
    lines += [f"        s{k} = {loaded(k, 0)}" for k in range(len(inputs)) if single[k]]

    def operand(name):
        kind, k = name[0], int(name[1:])
        if kind == "x":
            return f"s{k}" if single[k] else loaded(k, "i")
        return f"{name}[i]" if kind == "b" else name
    for number, (operands, targets, rest_operands, rest_targets) in enumerate(passes):
        if targets:
            lines += _loop(number, [operand(name) for name in operands], targets)
        if rest_targets:
            lines.append(f"        t = rest{number}({', '.join(map(operand, rest_operands))})")
            for part, stored in enumerate(rest_targets):
                value = f"t[{part}]" if len(rest_targets) > 1 else "t"
                lines += [f"        {name + '_[0]' if name[0] == 'y' else name} = {value}" for name in stored]
    return "\n".join(lines) + "\n"


def _rows_as_buffers(passes):
    """The buffers that a result's own row is instead, with that result: of those that are written before it and not read behind it,
    the last one. So a row of the result is on its way to the cache while a pass before its own computes."""
    written = {target: number for number, (_, targets, *_) in enumerate(passes) for stored in targets for target in stored
               if target[0] in "by"}
    read = {name: number for number, (operands, *_) in enumerate(passes) for name in operands if name[0] == "b"}
    rows: dict = {}
    for result in [target for target in written if target[0] == "y"]:
        free = [b for b in read if b not in rows and written[b] < written[result] and read[b] <= written[result]]
        if free:
            rows[max(free, key=written.__getitem__)] = result
    return rows


def _loop(number, operands, targets):
    folds = [fold for outputs in targets for fold in outputs if isinstance(fold, tuple)]
    sums = [name for kind, name in folds if kind not in _EXTREMES]
    lines = [f"        m{name} = order_of(T(-inf))" for kind, name in folds if kind in _EXTREMES]
    lines += [f"        w{name} = W(0)" for name in sums]
    begin, end, indent = "0", "n", "        "
    if sums:
        lines.append(f"        for first in range(0, n, {PIECE}):")
        lines += [f"            p{name} = T(0)" for name in sums]
        begin, end, indent = "first", f"first + min(int64({PIECE}), n - first)", "            "
    lines += [f"{indent}for i in range({begin}, {end}):", f"{indent}    t = each{number}({', '.join(operands)})"]
    for part, outputs in enumerate(targets):
        value = f"t[{part}]" if len(targets) > 1 else "t"
        for target in outputs:
            if not isinstance(target, tuple):
                lines.append(f"{indent}    {target}{'_' if target[0] == 'y' else ''}[i] = {value}")
            elif target[0] in _EXTREMES:
                lines.append(f"{indent}    m{target[1]} = max(m{target[1]}, order_of({_EXTREMES[target[0]].format(value)}))")
            else:
                lines.append(f"{indent}    p{target[1]} += {value}")
    lines += [f"            w{name} += W(p{name})" for name in sums]
    return lines + [f"        {name} = {_CLOSED[kind].format(name)}" for kind, name in folds]


_EXTREMES = {"max": "{0}", "largest": "select({0} == {0}, {0}, T(nan))"}     # a NaN may be negative, and below all
_CLOSED = {"max": "from_order(m{0})", "largest": "from_order(m{0})", "sum": "T(w{0})", "mean": "T(w{0} * share)",
           "root": "T(sqrt(w{0}))"}
_NAMES = dict(CONVERSION_NAMES, offset=offset, local_array=local_array, order_of=order_of, from_order=from_order, inf=np.inf,
              nan=np.nan, W=np.float64, int64=np.int64, select=select, sqrt=sqrt)


def plan_rows(passes: tuple, inputs: tuple, results: int, dtype: str, rows: int, n: int, steps: tuple, single: tuple,
              cost: float = 1.0) -> Prepared:
    """Prepare passes over rows, called with the addresses of inputs and results.

    Args:
        passes: what is done with each row.
        inputs: dtype names, of `dtype` and "bool".
        results: how many there are, all of `dtype`.
        dtype: float32 or float64.
        rows: how many there are.
        n: elements of each, 1 to `LONGEST`.
        steps: for each input and result, how many elements lie between rows.
        single: for each input whether it has one number a row; the elements of others are neighbours.
        cost: work of an element relative to an addition.
    """
    names = dict(_NAMES, T=scalar_type(dtype))
    for number, each in enumerate(passes):
        names[f"each{number}"], names[f"rest{number}"] = each.body, each.rest
    buffers = len({t for each in passes for outputs in each.targets for t in outputs if t[0] == "b"})
    scope = {name: value for name, value in names.items() if value is not None}
    shown = tuple([(p.operands, p.targets, p.rest_operands, p.rest_targets) for p in passes])
    source = _source(shown, inputs, single, results, buffers)
    compile_source(source, "row kernel", scope)
    kernel = scope.pop("kernel")                         # a function among the names it sees would wait for the garbage collector
    kernel.__name__ = "rows"
    compiled = compile_kernel(kernel, (*[d + "*" for d in inputs], *[dtype + "*"] * results, "int64*"), compute=dtype)
    sizes = [*[itemsize(d) for d in inputs], *[itemsize(dtype)] * results]
    work = int(rows * n * cost)
    parts = shares(rows, work, GRAIN)
    return prepare_parts(compiled, [(last - first, n, *steps) for first, last in parts], work,
                         [tuple([first * step * size for step, size in zip(steps, sizes)]) for first, _ in parts])
