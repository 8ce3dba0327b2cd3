"""A step of an optimiser over all its parameters as one call.

The parameters are rows of an int64 table of addresses whose place may change every step, and the coefficients a float64 array, so a
plan depends only on the rule, the dtype and the sizes. Threads get equal numbers of elements: a part is a range of rows, the first
and last of which may be cut.

What a rule does to an element is a scalar formula, `formula(p, g, *states, *coefficients)`, that gives the new parameter, or the
new parameter and the new states. All rules share what comes before: g is the gradient (or, to maximise, minus the gradient) plus
`decay` times the parameter, and p the parameter times `shrink`.
"""
from __future__ import annotations

import functools

from numpy import float32, int64

from ...binding import ScalarBody
from ...elementtypes import compute_type, same
from ...intrinsics import as_pointer, local_array, offset
from ...pointers import element_type
from ...sources import compile_source
from ..shared.elements import prepare_parts, shares, typed

T = W = float32                                          # W: the stored word
load = store = same
GRAIN = 25_000
SHARED = 3                                               # coefficients of every rule: sign, decay, shrink
BLOCK = 256

FIRST, STOP, START, END = range(4)                       # of a part: rows, the first element of the first, the end in the last


@functools.cache
def _loop_of(states, coefficients):
    """The kernel's function for a formula with so many states and coefficients of its own.

    LLVM checks whether what a loop writes overlaps what it reads, and does without vectors where that takes more than 8
    comparisons, as it does from three states on: then new values pass through buffers on the stack, a quarter of the time of a step
    of Adam's two states.
    """
    columns, block = 3 + states, BLOCK if states > 2 else 1 << 40
    names = ["p", "g", *[f"s{k}" for k in range(states)]]
    targets = ["p", *names[2:]]
    buffers = [f"b{k}" for k in range(states + 1)] if states > 2 else []
    own = "".join([f", load({n}[i])" for n in names[2:]] + [f", c{k}" for k in range(coefficients)])
    results = [f"r[{k}]" for k in range(states + 1)] if states else ["r"]
    stores = [f"{b}[i] = {r}" for b, r in zip(buffers, results)] or [f"{n}[i] = store({r})" for n, r in zip(targets, results)]
    lines = ["def step(table, values, descriptor):",
             "    like = local_array(W, 1)",
             "    sign, decay, shrink = T(values[0]), T(values[1]), T(values[2])",
             *[f"    c{k} = T(values[{SHARED + k}])" for k in range(coefficients)],
             *[f"    {b} = local_array(T, {BLOCK})" for b in buffers],
             f"    for row in range(descriptor[{FIRST}], descriptor[{STOP}]):",
             f"        entry = offset(table, {columns} * row)",
             f"        start = descriptor[{START}] if row == descriptor[{FIRST}] else int64(0)",
             f"        stop = descriptor[{END}] if row == descriptor[{STOP}] - 1 else entry[{columns - 1}]",
             f"        for first in range(start, stop, {block}):",
             f"            n = min(int64({block}), stop - first)",
             *[f"            {n} = offset(as_pointer(entry[{k}], like), first)" for k, n in enumerate(names)],
             "            for i in range(n):",
             f"                r = formula(load(p[i]) * shrink, sign * load(g[i]) + decay * load(p[i]){own})",
             *[f"                {line}" for line in stores]]
    for buffer, target in zip(buffers, targets):
        lines += ["            for i in range(n):", f"                {target}[i] = store({buffer}[i])"]
    scope = dict(T=T, W=W, load=load, store=store, int64=int64, as_pointer=as_pointer, local_array=local_array, offset=offset)
    compile_source("\n".join(lines) + "\n", "optimiser kernel", scope)
    return scope.pop("step")


def table_parts(numels) -> list[tuple[int, int, int, int]]:
    """(first row, stop row, first element, stop element) a thread, for equal numbers of elements."""
    total, rows = sum(numels), []
    for start, stop in shares(total, total, GRAIN, multiple=16):
        row, before = 0, 0
        while row < len(numels) - 1 and before + numels[row] <= start:
            before, row = before + numels[row], row + 1
        first, first_element = row, start - before
        while row < len(numels) - 1 and before + numels[row] < stop:
            before, row = before + numels[row], row + 1
        rows.append((first, row + 1, first_element, stop - before))
    return rows if numels else [(0, 0, 0, 0)]


def plan_step(formula, states: int, coefficients: int, dtype: str, numels):
    """Plan a step of a rule over contiguous parameters of `numels` elements.

    Args:
        formula: the rule as a function of scalars.
        states, coefficients: how many of each the formula takes.

    Addresses: table int64 (rows, 3 + states) of parameter, gradient, states, numel; values float64 (3 + coefficients) of sign,
    decay and shrink, and the formula's own.
    """
    names: dict = dict(W=element_type(dtype).type, formula=ScalarBody(formula, compute_type(dtype)))
    kernel = typed(_loop_of(states, coefficients), dtype, ("int64*", "float64*", "int64*"), **names)
    rows = table_parts(list(numels))
    return prepare_parts(kernel, rows, sum(numels))
