"""Calls along rows, as walks over each (kernels/cpu/pointwise/rows.py): elementwise ones around sums, means, extremes, norms and
softmax.

A call is as in fused.py; besides elementwise ops it may be one of `ALONG`, which are along the last dimension and keep it. A norm
has its order as a second operand.
"""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import bool_, float32, float64
from ...kernels.binding import ScalarBody
from ...kernels.elementtypes import CONVERSIONS, same
from ...kernels.intrinsics import select
from ...ops.core.backends import kernels
from ...ops.core.generate import make
from ...ops.core.primitive import registry
from ...ops.nn.softmax import log_softmax, log_softmax_grad, softmax, softmax_grad
from ...ops.reduce.reductions import amax, amin, mean, norm, sum

ALONG: dict[str, Callable] = {
    "sum": lambda x: sum(x, -1, True), "mean": lambda x: mean(x, -1, True), "max": lambda x: amax(x, -1, True),
    "min": lambda x: amin(x, -1, True), "norm": lambda x, order: norm(x, order, -1, True), "softmax": lambda x: softmax(x, -1),
    "log_softmax": lambda x: log_softmax(x, -1), "softmax_grad": lambda grad, out: softmax_grad(grad, out, -1),
    "log_softmax_grad": lambda grad, out: log_softmax_grad(grad, out, -1)}
REDUCTIONS = ("sum", "mean", "max", "min", "norm")
CONDITIONS = ("comparison", "logical")                   # kinds of elementwise ops that give no number
ORDERS = (1.0, 2.0, math.inf)                            # of norms
_FOLD = "fold"


INFINITY, MAGNITUDE, QUIET = np.uint16(0x7C00), np.uint16(0x7FFF), np.uint16(0x0200)        # bits of a float16


def _rounded(source):
    return f"widened(kept(narrowed({source})))"


def quiet(word):
    """A float16 as it is, for a NaN out of arithmetic is quiet: so LLVM does not see that the next call reads what this one rounds,
    and would, on a processor that multiplies and adds float16, round once for both."""
    return select(np.uint16(word & MAGNITUDE) > INFINITY, np.uint16(word | QUIET), word)


def named(operand) -> str:
    """An operand of a call as it stands in a formula."""
    return f"{operand[0]}{operand[1]}" if isinstance(operand, tuple) else repr(operand)


def formula(calls, operands, results, narrow: str = "") -> Callable:
    """A function of scalars.

    Args:
        calls: (number, op, operands) of each, in order; ("v", i) is what the call of that number gives.
        operands: what the function takes.
        results: what it gives: one alone, several as a tuple.
        narrow: the dtype of 16 bits to which each number is rounded that a call gives, as it is where calls are made one by one.
    """
    lines = []
    for i, op, *given in calls:
        compares = narrow and registry[op].kind == "comparison"      # with a number as that dtype has it
        inputs = ", ".join([_rounded(named(each)) if compares and not isinstance(each, tuple) else named(each) for each in given])
        call = f"op_{op}({inputs})"
        lines.append(f"    v{i} = {_rounded(call) if narrow and registry[op].kind not in CONDITIONS else call}")
    scope: dict[str, Any] = {f"op_{op}": registry[op].function for _, op, *_ in calls}
    if narrow:
        scope["widened"], scope["narrowed"] = CONVERSIONS[narrow]
        scope["kept"] = quiet if narrow == "float16" else same
    scope.update(__name__=__name__, inf=math.inf, nan=math.nan)      # named constants take the type that is computed in
    head = f"def fused({', '.join(map(named, operands))}):"
    return make("\n".join([head, *lines, f"    return {', '.join(map(named, results))}", ""]), scope, "fused")


class _Steps:
    """Calls as elementwise ones and folds.

    Attributes:
        steps: of each value its op and operands; of a fold what is folded, and how.
        single: of each value whether it is one number a row.
        level: of each value how many walks are over before it can be computed.
        value: of each call, the value that it gives.
    """

    def __init__(self, calls, inputs) -> None:
        self.inputs = inputs                             # of each tensor whether it has one number a row
        self.steps: list[tuple] = []
        self.single: list[bool] = []
        self.level: list[int] = []
        self.value: list[tuple] = []
        for op, *operands in calls:
            given = [self.value[o[1]] if isinstance(o, tuple) and o[0] == "v" else o for o in operands]
            self.value.append(self._along(op, given) if op in ALONG else self._add(op, *given))

    def is_single(self, operand) -> bool:
        return not isinstance(operand, tuple) or (self.inputs if operand[0] == "x" else self.single)[operand[1]]

    def level_of(self, operand) -> int:
        return self.level[operand[1]] if isinstance(operand, tuple) and operand[0] == "v" else 0

    def _add(self, op, *operands):
        self.steps.append((op, *operands))
        self.single.append(all(map(self.is_single, operands)))
        self.level.append(max(map(self.level_of, operands)))
        return "v", len(self.steps) - 1

    def _fold(self, kind, x):
        if self.is_single(x):
            raise ValueError("fused: one number of a row is no row")
        self.steps.append((_FOLD, x, kind))
        self.single.append(True)
        self.level.append(self.level_of(x) + 1)
        return "v", len(self.steps) - 1

    def _along(self, op, given):
        add, fold = self._add, self._fold
        if len(given) != (2 if op == "norm" or op.endswith("_grad") else 1):
            raise ValueError(f"fused: {op} of {len(given)} operands")
        if op in ("sum", "mean"):
            return fold(op, *given)
        if op == "max":
            return fold("largest", *given)
        if op == "min":
            return add("neg", fold("largest", add("neg", *given)))
        if op == "norm":
            x, order = given
            if order not in ORDERS:
                raise ValueError(f"fused: expected a norm of order 1, 2 or inf, got {order!r}")
            return fold("root", add("mul", x, x)) if order == 2 else fold("sum" if order == 1 else "largest", add("abs", x))
        if op == "softmax_grad":
            grad, out = given
            return add("mul", out, add("sub", grad, fold("sum", add("mul", grad, out))))
        if op == "log_softmax_grad":
            grad, out = given
            return add("sub", grad, add("mul", add("exp", out), fold("sum", grad)))
        x, = given
        below = add("sub", x, fold("max", x))
        powers = add("exp", below)
        total = fold("sum", powers)
        return add("mul", powers, add("reciprocal", total)) if op == "softmax" else add("sub", below, add("log", total))

    def part(self, targets, member):
        """A formula for targets, and what it takes.

        Args:
            targets: values, and inputs that are given back.
            member: `member(i)` says whether the value is computed in it.
        """
        needed: set[int] = set()
        operands: dict = {}

        def need(operand):
            if not isinstance(operand, tuple) or operand in operands:
                return
            if operand[0] == "x" or not member(operand[1]):
                operands[operand] = None
            elif operand[1] not in needed:
                needed.add(operand[1])
                for each in self.steps[operand[1]][1:]:
                    need(each)
        for target in targets:
            need(target)
        return formula([(i, *self.steps[i]) for i in sorted(needed)], list(operands), targets), list(operands)


class Walks(NamedTuple):
    """What a kernel does.

    Attributes:
        walks: the arguments of each `Pass`.
        single: of each result whether it is one number a row.
    """

    walks: tuple
    single: tuple


@functools.cache
def walks_of(calls: tuple, results: tuple, inputs: tuple, dtype: str) -> Walks:
    """What a kernel does with a row.

    Args:
        calls, results: as in fused.py.
        inputs: for each tensor whether it has one number a row.
        dtype: what is computed in.

    Raises:
        ValueError: a condition is needed by a later walk, or one number is folded.
    """
    known = _Steps(calls, inputs)
    steps, level, single = known.steps, known.level, known.single
    wanted: dict[tuple, list] = {}                       # where what is computed goes
    for place, result in enumerate(results):
        wanted.setdefault(known.value[result], []).append(f"y{place}")
    for i, (op, *operands) in enumerate(steps):
        if op == _FOLD:
            wanted.setdefault(operands[0], []).append((operands[1], f"v{i}"))
    kept: dict[tuple, str] = {}
    for i, (op, *operands) in enumerate(steps):
        for operand in operands if op != _FOLD and not single[i] else ():
            if isinstance(operand, tuple) and operand[0] == "v" and operand not in kept and not single[operand[1]] \
                    and level[operand[1]] < level[i]:
                if registry[steps[operand[1]][0]].kind in ("comparison", "logical"):
                    raise ValueError("fused: a condition is needed by a later walk")
                kept[operand] = f"b{len(kept)}"
                wanted.setdefault(operand, []).append(kept[operand])
    walks = []
    for now in range(-1, max(level) + 1):                # before the first walk there is what depends on single numbers only
        here = [v for v in wanted if not known.is_single(v) and known.level_of(v) == now]
        numbers = [("v", i) for i in range(len(steps)) if single[i] and level[i] == now + 1 and (steps[i][0] != _FOLD or any(
            target[0] == "y" for target in wanted.get(("v", i), ())))]
        body = rest = None
        operands, rest_operands = [], []
        if here:
            body, operands = known.part(here, lambda i, now=now: level[i] == now and not single[i])
        if numbers:
            rest, rest_operands = known.part(numbers, lambda i, now=now: level[i] == now + 1 and steps[i][0] != _FOLD and single[i])
        if here or numbers:
            walks.append((
                body and ScalarBody(body, dtype), tuple([kept.get(o) or named(o) for o in operands]),
                tuple([tuple(wanted[v]) for v in here]),
                rest and ScalarBody(rest, dtype), tuple(map(named, rest_operands)),
                tuple([(named(v), *wanted.get(v, ())) for v in numbers])))
    return Walks(tuple(walks), tuple([known.is_single(known.value[result]) for result in results]))


def plan_rows(calls: tuple, results: tuple, layouts, outs, shape):
    """The kernel of calls, some of which are along rows.

    Args:
        calls, results: as in fused.py.
        layouts, outs: of tensors and results.
        shape: what all tensors broadcast to.

    Raises:
        ValueError: there is no such kernel.
    """
    if outs[0].device.type not in ("cpu", "meta"):
        raise ValueError("fused: only the host walks along rows")
    planner = kernels(outs[0].device, "pointwise.rows")
    n, dtype = (shape or (0,))[-1], outs[0].dtype
    steps = [row_step(layout, shape) for layout in (*layouts, *outs)]
    inputs = tuple([layout.ndim == 0 or layout.shape[-1] == 1 or layout.strides[-1] == 0 for layout in layouts])
    if None in steps or 0 in shape or not 2 <= n <= planner.LONGEST or dtype not in (float32, float64) or \
            any(l.dtype is not dtype or not l.contiguous for l in outs) or any(l.dtype not in (dtype, bool_) for l in layouts):
        raise ValueError(f"fused: no kernel walks along rows of {tuple(shape)}")
    given = walks_of(calls, results, inputs, dtype.compute)
    for out, one in zip(outs, given.single, strict=True):
        if tuple(out.shape) != ((*shape[:-1], 1) if one else tuple(shape)):
            raise ValueError(f"fused: a result along rows of {tuple(shape)} is not of shape {tuple(out.shape)}")
    walks = tuple([planner.Pass(*walk) for walk in given.walks])
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    cost = 0
    for op, *_ in calls:
        cost += getattr(registry[op], "cost", _COSTS.get(op, 1.0))
    types = tuple([layout.dtype.kernel for layout in layouts])
    return planner.plan_rows(walks, types, len(outs), dtype.kernel, rows, n, tuple(steps), inputs, cost)


_COSTS = {"softmax": 6.0, "log_softmax": 6.0, "log_softmax_grad": 6.0}


def row_step(layout, shape) -> int | None:
    """How many elements lie between rows of a tensor that broadcasts to a shape; None where that differs from row to row, or where
    the elements of a row are neither neighbours nor one.

    Args:
        layout: the tensor's.
        shape: the shape.
    """
    missing = len(shape) - layout.ndim
    if missing < 0 or (layout.ndim and layout.shape[-1] != 1 and layout.strides[-1] not in (0, 1)):
        return None
    sizes = (1,) * missing + tuple(layout.shape)
    strides = (0,) * missing + tuple(layout.strides)
    step, span = 0, None                                 # what follows must be `span` apart
    for extent, size, stride in zip(reversed(shape[:-1]), reversed(sizes[:-1]), reversed(strides[:-1])):
        if extent == 1:
            continue
        stride = stride if size != 1 else 0
        if span is None:
            step = stride
        elif stride != span:
            return None
        span = stride * extent
    return step
