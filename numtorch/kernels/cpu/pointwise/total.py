"""The sum or the mean of a formula over all elements, in one pass: the terms are never written.

A block's terms are added in the compute type, in as many lanes as LLVM likes, and blocks in float64. Several parts leave a
partial sum each, which the same kernel adds up with the identity for a formula.
"""
from __future__ import annotations

import functools

import numpy as np

from ...binding import ScalarBody
from ...compiler import compile_kernel
from ...elementtypes import itemsize, same
from ...intrinsics import float_of, offset
from ...sources import compile_source
from ...threads import Prepared
from ..shared.elements import prepare_parts, shares

BLOCK = 2048
GRAIN = 50_000
ELEMENTS, DIVISOR = range(2)     # of the descriptor: how many, and the bits of the float64 that their sum is divided by


@functools.cache
def _source(pattern):
    names = [f"x{k}" for k in range(len(pattern))]
    rows = "".join(f"        a{k} = offset({n}, start)\n" for k, n in enumerate(names) if pattern[k] == "c")
    values = ", ".join(f"T(a{k}[i])" if letter == "c" else f"T(x{k}[0])" for k, letter in enumerate(pattern))
    return f"""
def total({', '.join(names)}, out, descriptor):
    n = descriptor[{ELEMENTS}]
    wide = float64(0)
    for start in range(0, n, BLOCK):
{rows}        block = T(0)
        for i in range(min(n - start, BLOCK)):
            block += fn({values})
        wide += float64(block)
    out[0] = OUT(wide / float_of(descriptor[{DIVISOR}]))
"""


_IDENTITY = ScalarBody(same, "float64")


@functools.cache
def _kernel(body, inputs, pattern, out):
    scope = dict(fn=body, offset=offset, float_of=float_of, float64=np.float64, BLOCK=np.int64(BLOCK),
                 T=getattr(np, body.compute), OUT=getattr(np, out))
    compile_source(_source(pattern), "total kernel", scope)
    return compile_kernel(scope["total"], (*[d + "*" for d in inputs], out + "*", "int64*"), compute=body.compute)


def plan_total(body: ScalarBody, inputs: tuple, pattern: str, count: int, *, cost: float = 1.0,
               mean: bool = False) -> tuple[Prepared, Prepared | None]:
    """Prepare the sum of `body` over `count` elements, in the type it computes in (float32 or float64).

    Args:
        body: the formula as a scalar function.
        inputs: the operands' dtype names.
        pattern: a letter for each operand: "c" one with an element for each term, "b" a single number.
        count: how many terms, at least 1.
        cost: work of a term relative to an addition.
        mean: divide by the count.

    Returns:
        The kernel, called with the operands' addresses and the result's, and None; or, where threads share the work, a kernel
        that writes float64 partial sums in place of the result, and one called with their address and the result's.
    """
    dtype = body.compute
    divisor = int(np.float64(count if mean else 1).view(np.int64))
    parts = shares(count, int(count * cost), GRAIN, BLOCK)
    one = int(np.float64(1).view(np.int64))
    if len(parts) == 1:
        return prepare_parts(_kernel(body, inputs, pattern, dtype), [(count, divisor)], count * cost), None
    rows = [(stop - start, one) for start, stop in parts]
    steps = [itemsize(name) if letter == "c" else 0 for name, letter in zip(inputs, pattern)]
    offsets = [(*[start * step for step in steps], 8 * place) for place, (start, _) in enumerate(parts)]
    first = prepare_parts(_kernel(body, inputs, pattern, "float64"), rows, count * cost, offsets)
    first.workspace = 8 * len(parts)
    last = _kernel(_IDENTITY, ("float64",), "c", dtype)
    return first, prepare_parts(last, [(len(parts), divisor)], 1)
