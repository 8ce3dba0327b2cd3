"""Formulas around sums, norms and extremes of rows: a row is read once into the first cache, and gone over there in passes.

A kernel is a list of passes (`Pass`). Each computes a formula for every element of a row, and stores, keeps or folds what that
gives; then a formula of the folded numbers may follow. Softmax is three: a maximum; exponentials, kept, and their sum; their
products with one over it. What a pass keeps for a later one is in buffers on the stack, so rows are `LONGEST` at most. Where a few
rows fit the first cache, the first pass over the next row shares a loop with the second one over this row (`_is_ahead`).

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
from ..micro.tile import host_vector
from ..shared.elements import from_order, order_of, prepare_parts, shares

LONGEST = 4096                                           # elements of a row: a buffer of them is 16 KiB of float32
PIECE = 2048                                             # elements that are summed in the compute type
ROWS, LENGTH, HEADER = range(3)                          # of the descriptor; then the step of each operand from row to row
FIRST_CACHE = 1 << 15                                    # bytes
FEW = 8                                                  # rows of which one that is read in vain is no more than an eighth
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
def _source(passes, inputs, single, results, buffers, ahead):
    """The kernel's source.

    Args:
        passes: (operands, targets, rest operands, rest targets) of each.
        inputs: dtype names.
        single: for each input whether it has one number a row.
        results: how many.
        buffers: how many.
        ahead: whether the first pass is a row ahead (`_is_ahead`).
    """
    names = [f"x{k}" for k in range(len(inputs))] + [f"y{k}" for k in range(results)]
    doubled = [target for stored in passes[0][1] for target in stored if target[0] == "b"] if ahead else []
    rows_as_buffers = _rows_as_buffers(passes, doubled)
    lines = [f"def kernel({', '.join(names)}, descriptor):", f"    rows, n = descriptor[{ROWS}], descriptor[{LENGTH}]",
             "    share = W(1) / W(n)", *[f"    q{k} = descriptor[{HEADER + k}]" for k in range(len(names))],
             *[f"    b{k}_row = local_array(T, {LONGEST})" for k in range(buffers) if f"b{k}" not in rows_as_buffers],
             *[f"    {buffer}_next = local_array(T, {LONGEST})" for buffer in doubled]]

    def loaded(k, place, where):
        return load_source(f"x{k}_{where}[{place}]", inputs[k], "bool" if inputs[k] == "bool" else "T").replace("C(", "T(")

    def operand(name, where):
        kind, k = name[0], int(name[1:])
        if kind == "x":
            return f"s{k}_{where}" if single[k] else loaded(k, "i", where)
        return f"{name}_{where}[i]" if kind == "b" else name

    def places(where, number):
        return [*[f"{name}_{where} = offset({name}, {number} * q{k})" for k, name in enumerate(names)],
                *[f"s{k}_{where} = {loaded(k, 0, where)}" for k in range(len(inputs)) if single[k]]]

    def work(number, where):
        operands, targets, *_ = passes[number]
        return _Work(number, where, [operand(name, where) for name in operands], targets)
    if ahead:
        lines += _indented(1, places("next", 0) + _loop(work(0, "next")))
    lines += ["    for row in range(rows):", *_indented(2, places("row", "row"))]
    lines += [f"        {buffer}_row = {result}_row" for buffer, result in rows_as_buffers.items()]
    for number, (_, targets, rest_operands, rest_targets) in enumerate(passes):
        if ahead and number == 0:                        # what the loop of the second pass has done, one row before
            lines += [f"        {name} = {name}_next" for _, name in _folds(targets)]
            lines += [f"        {buffer}_row, {buffer}_next = {buffer}_next, {buffer}_row" for buffer in doubled]
            lines += _indented(2, places("next", "min(row + 1, rows - 1)"))
        elif targets:
            lines += _indented(2, _loop(work(number, "row"), *[work(0, "next")] * (ahead and number == 1)))
        if rest_targets:
            lines.append(f"        t = rest{number}({', '.join([operand(name, 'row') for name in rest_operands])})")
            for part, stored in enumerate(rest_targets):
                value = f"t[{part}]" if len(rest_targets) > 1 else "t"
                lines += [f"        {name + '_row[0]' if name[0] == 'y' else name} = {value}" for name in stored]
    return "\n".join(lines) + "\n"


def _rows_as_buffers(passes, doubled):
    """The buffers that a result's own row is instead, with that result: of those that are written before it and not read behind it,
    the last one. So a row of the result is on its way to the cache while a pass before its own computes."""
    written = {target: number for number, (_, targets, *_) in enumerate(passes) for stored in targets for target in stored
               if target[0] in "by"}
    read = {name: number for number, (operands, *_) in enumerate(passes) for name in operands if name[0] == "b"}
    rows: dict = {}
    for result in [target for target in written if target[0] == "y"]:
        free = [b for b in read if b not in (*rows, *doubled) and written[b] < written[result] and read[b] <= written[result]]
        if free:
            rows[max(free, key=written.__getitem__)] = result
    return rows


class _Work(NamedTuple):
    """What a pass does in a loop, with this row or the next one: `where` is "row" or "next"."""

    number: int
    where: str
    operands: list
    targets: tuple


def _loop(*works):
    """A loop along a row. What is behind its last whole vector is one under a mask, since LLVM would take its elements one by one.
    It comes first and is folded by itself: nothing waits for it then."""
    folds = [(kind, name if work.where == "row" else name + "_next") for work in works for kind, name in _folds(work.targets)]
    sums = [name for kind, name in folds if kind not in _EXTREMES]
    extremes = [name for kind, name in folds if kind in _EXTREMES]
    element = [line for work in works for line in _element(*work)]
    begin, end = ("first", f"first + min(int64({PIECE}), n - first)") if sums else ("int64(0)", "n")
    fresh = [*[f"p{name} = T(0)" for name in sums], *[f"m{name} = order_of(T(-inf))" for name in extremes]]
    loop = [f"end = {end}", "whole = end & -LANES", *fresh,
            "if whole < end:",
            "    for lane in range(LANES):", "        i = whole + lane",
            "        if int32(i) < int32(end):", *_indented(3, element),
            *[f"rest_{name} = {'p' if name in sums else 'm'}{name}" for _, name in folds], *fresh,
            f"for i in range({begin}, whole):", *_indented(1, element)]
    loop += [*[f"w{name} += W(p{name} + rest_{name})" for name in sums],
             *[f"w{name} = max(w{name}, max(m{name}, rest_{name}))" for name in extremes]]
    if sums:
        loop = [f"for first in range(0, n, {PIECE}):", *_indented(1, loop)]
    return [*[f"w{name} = order_of(T(-inf))" for name in extremes], *[f"w{name} = W(0)" for name in sums],
            *loop, *[f"{name} = {_CLOSED[kind].format(name)}" for kind, name in folds]]


def _folds(targets):
    return [target for stored in targets for target in stored if isinstance(target, tuple)]


def _element(number, where, operands, targets):
    """The lines that compute a pass's formula of element i, and do with the numbers what `targets` say."""
    lines = [f"t = each{number}({', '.join(operands)})"]
    for part, stored in enumerate(targets):
        value = f"t[{part}]" if len(targets) > 1 else "t"
        for target in stored:
            if not isinstance(target, tuple):
                lines.append(f"{target}_{where}[i] = {value}")
                continue
            kind, name = target[0], target[1] if where == "row" else target[1] + "_next"
            lines.append(f"m{name} = max(m{name}, order_of({_EXTREMES[kind].format(value)}))" if kind in _EXTREMES
                         else f"p{name} += {value}")
    return lines


def _indented(steps, lines):
    return ["    " * steps + line for line in lines]


def _is_ahead(passes, streams, rows):
    """Whether the first pass goes a row ahead, in the loop of the second one: what it waits for from further caches then comes
    while that computes, which takes 0.75 to 0.95 of the time. In the last row it reads that again, in vain.

    Args:
        passes: as `_source` has them.
        streams: bytes of the rows that are read, written and kept.
        rows: the least that a thread goes over.
    """
    if len(passes) < 2 or streams > FIRST_CACHE or rows < FEW:
        return False
    first, second = [targets for _, targets, *_ in passes[:2]]
    return bool(first and second) and not any(target[0] == "y" for stored in first for target in stored)


_EXTREMES = {"max": "{0}", "largest": "select({0} == {0}, {0}, T(nan))"}     # a NaN may be negative, and below all
_CLOSED = {"max": "from_order(w{0})", "largest": "from_order(w{0})", "sum": "T(w{0})", "mean": "T(w{0} * share)",
           "root": "T(sqrt(w{0}))"}
_NAMES = dict(CONVERSION_NAMES, offset=offset, local_array=local_array, order_of=order_of, from_order=from_order, inf=np.inf,
              nan=np.nan, W=np.float64, int64=np.int64, int32=np.int32, select=select, sqrt=sqrt)


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
    names = dict(_NAMES, T=scalar_type(dtype), LANES=host_vector()[0] // itemsize(dtype))
    for number, each in enumerate(passes):
        names[f"each{number}"], names[f"rest{number}"] = each.body, each.rest
    buffers = len({t for each in passes for outputs in each.targets for t in outputs if t[0] == "b"})
    scope = {name: value for name, value in names.items() if value is not None}
    shown = tuple([(p.operands, p.targets, p.rest_operands, p.rest_targets) for p in passes])
    sizes = [*[itemsize(d) for d in inputs], *[itemsize(dtype)] * results]
    work = int(rows * n * cost)
    parts = shares(rows, work, GRAIN)
    ahead = _is_ahead(shown, n * (sum(sizes) + buffers * itemsize(dtype)), rows // len(parts))
    compile_source(_source(shown, inputs, single, results, buffers, ahead), "row kernel", scope)
    kernel = scope.pop("kernel")                         # a function among the names it sees would wait for the garbage collector
    kernel.__name__ = "rows"
    compiled = compile_kernel(kernel, (*[d + "*" for d in inputs], *[dtype + "*"] * results, "int64*"), compute=dtype)
    return prepare_parts(compiled, [(last - first, n, *steps) for first, last in parts], work,
                         [tuple([first * step * size for step, size in zip(steps, sizes)]) for first, _ in parts])
