"""Optimiser steps on a GPU: one launch for all parameters, in chunks of which each has a block.

The rule is the host's scalar formula (kernels/cpu/optim/optim.py), and so are the addresses: the table and the values are of the
host's memory and go along with the launch, which nothing waits for.
"""
from __future__ import annotations

import functools

from numpy import float32, int64

from ...binding import ScalarBody
from ...elementtypes import compute_type, same
from ...intrinsics import as_pointer, local_array, offset
from ...pointers import element_type
from ...sources import compile_source
from ...threads import NOTHING
from ..compiler import cuda
from ..environment import SMALL, THREADS
from ..serial import given
from ..shared.elements import launch, typed

T = W = float32                                          # W: the stored word
load = store = same
SHARED = 3                                               # coefficients of every rule: sign, decay, shrink
CHUNK = 2 * THREADS if SMALL else 16 * THREADS           # elements of one parameter that a block has
CHUNKS, ENTRIES = range(2)                               # of the descriptor: how many, then row and first element of each


@functools.cache
def _chunks_of(states, coefficients):
    """The kernel for a formula with so many states and coefficients of its own."""
    columns = 3 + states
    names = ["p", "g", *[f"s{k}" for k in range(states)]]
    targets = ["p", *names[2:]]
    own = "".join([f", load({n}[i])" for n in names[2:]] + [f", c{k}" for k in range(coefficients)])
    results = [f"r[{k}]" for k in range(states + 1)] if states else ["r"]
    lines = ["def step(table, values, descriptor):",
             "    like = local_array(W, 1)",
             "    sign, decay, shrink = T(values[0]), T(values[1]), T(values[2])",
             *[f"    c{k} = T(values[{SHARED + k}])" for k in range(coefficients)],
             "    chunk = int64(cuda.blockIdx.x)",
             f"    while chunk < descriptor[{CHUNKS}]:",
             f"        entry = offset(table, {columns} * descriptor[{ENTRIES} + 2 * chunk])",
             f"        first = descriptor[{ENTRIES + 1} + 2 * chunk]",
             f"        stop = min(first + {CHUNK}, entry[{columns - 1}])",
             *[f"        {n} = as_pointer(entry[{k}], like)" for k, n in enumerate(names)],
             f"        for i in range(first + cuda.threadIdx.x, stop, {THREADS}):",
             f"            r = formula(load(p[i]) * shrink, sign * load(g[i]) + decay * load(p[i]){own})",
             *[f"            {n}[i] = store({r})" for n, r in zip(targets, results)],
             "        chunk += cuda.gridDim.x"]
    scope = dict(T=T, W=W, load=load, store=store, int64=int64, as_pointer=as_pointer, local_array=local_array, offset=offset,
                 cuda=cuda, formula=None)
    compile_source("\n".join(lines) + "\n", "CUDA optimiser kernel", scope)
    return scope.pop("step")


def chunks_of(numels) -> list[int]:
    """Row and first element of each chunk, one after another."""
    return [word for row, numel in enumerate(numels) for first in range(0, numel, CHUNK) for word in (row, first)]


def plan_step(formula, states: int, coefficients: int, dtype: str, numels, device: int = 0):
    chunks = chunks_of(numels)
    if not chunks:
        return NOTHING
    names: dict = dict(W=element_type(dtype).type, formula=ScalarBody(formula, compute_type(dtype)))
    kernel = typed(_chunks_of(states, coefficients), dtype, ("int64*", "float64*", "int64*"), **names)
    count = len(chunks) // 2
    made = launch(kernel, [count, *chunks], count * THREADS, device)
    return given(made, {0: 8 * (3 + states) * len(numels), 1: 8 * (SHARED + coefficients)}, device, changing=(1,))
