"""Estimates of training steps: what each launch of one takes by the model of its kernel, and all of them, with and without graphs.

A step runs on a machine that keeps kernels and runs none, so launches are those of the program: their grids, descriptors, and the
memory that their addresses lie in. A launch takes until its first load is there and then as long as its bytes or its arithmetic
need, with as many bytes under way and as many multiprocessors at work as its grid has blocks for.
"""
from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from .code import Code, read
from .model import MACHINES, Machine, arithmetic_share, resident, under_way_needed

# Microseconds: between two kernels of a stream, and of a graph (A. Gray, "Getting Started with CUDA Graphs", NVIDIA, 2019: kernels
# of 2.9 that come every 3.8, and every 3.4), and what the host takes for a launch of an eager step: 9 are Python's part of LeNet's
# on 2 cores of x86-64, with launches that do nothing, and one is for the driver.
IN_STREAM, IN_GRAPH, HOST = 0.9, 0.5, 10.0
POINTED = 1 << 16                                        # bytes of a table of addresses, at most


class Launch(NamedTuple):
    """A kernel, its blocks, and the bytes and operations that it has to do with."""
    kernel: object
    blocks: int
    nbytes: int
    operations: int


class Step(NamedTuple):
    """What a step comes to on a machine, in microseconds: its kernels alone, and the step without and with graphs."""
    name: str
    machine: str
    launches: int
    megabytes: float
    gigaflops: float
    kernels: float
    eager: float
    graph: float


# ---------------------------------------------------------------- what a launch does
def _product(kernel, words, sizes):
    """Of tiles of products and convolutions: no operand is read further than its matrix. Where a convolution's depth is shared, a
    batch's number is a piece of it."""
    from numtorch.kernels.cuda.conv import operands
    in_pieces = kernel.names["depth_of"] is operands.depth_of_piece
    m, n, k = words[sizes.SIZE_M], words[sizes.SIZE_N], words[operands.SPAN if in_pieces else sizes.SIZE_K]
    images = words[sizes.ALL_TILES] // words[sizes.TILES]
    return 2 * m * n * k * images, [4 * images * elements for elements in (m * k, k * n, m * n, m + n)]


def _attention(products):
    """Of so many products of scores with rows of the depth, and of the width."""
    def work(kernel, words, sizes):
        scores = words[sizes.BATCH] * words[sizes.HEADS] * words[sizes.QUERIES] * words[sizes.KEYS]
        return 2 * scores * (products[0] * words[sizes.DEPTH] + products[1] * words[sizes.WIDTH]), []
    return work


def _gates(kernel, words, sizes):
    """Of a step of a recurrent layer: four gates a unit."""
    return 0, [16 * words[sizes.ALL]] * 8


def works():
    """Of kernels whose operands say too little: (module of their descriptor's names, operations and bytes an operand)."""
    from numtorch.kernels.cuda.attention import descriptor
    from numtorch.kernels.cuda.gemm import tiles
    from numtorch.kernels.cuda.rnn import gates
    return {"product_tiles": (tiles, _product), "attention": (descriptor, _attention((1, 1))),
            "attention_grad_q": (descriptor, _attention((2, 1))), "attention_grad_kv": (descriptor, _attention((2, 2))),
            "lstm": (gates, _gates), "lstm_grad": (gates, _gates)}


def launched(kernel, blocks, words, block_of) -> Launch:
    """The launch of a kernel on words, of which `block_of(address)` says in what memory they lie: (start, end), or None."""
    pointers = [w for w, kind in zip(words, kernel.kinds, strict=True) if kind is not None]
    ends = {w: found[1] for w in pointers if (found := block_of(w)) is not None}
    reached = {w: end - w for w, end in ends.items()}
    operations = 0
    if kernel.name in works():
        sizes, work = works()[kernel.name]
        descriptor = (ctypes.c_int64 * (reached[pointers[-1]] // 8)).from_address(pointers[-1])
        operations, most = work(kernel, descriptor, sizes)
        for w, limit in zip(pointers, most):
            if w in reached:
                reached[w] = min(reached[w], limit)
    for w, end in ends.items():                          # what is only named in a table, as an optimiser's parameters are
        if end - w <= POINTED and w % 8 == 0:
            named = (ctypes.c_int64 * ((end - w) // 8)).from_address(w)
            reached.update({a: found[1] - a for a in set(named) - {0} if a not in reached and (found := block_of(a)) is not None})
    return Launch(kernel, blocks, sum(reached.values()), operations)


# ---------------------------------------------------------------- how long that takes
def microseconds(launch: Launch, code: Code, machine: Machine) -> float:
    """What the model says that a launch takes."""
    blocks = min(launch.blocks, resident(code, launch.kernel.threads, machine) * machine.processors)
    under_way = blocks * launch.kernel.threads * max(code.loaded, 4)
    memory = launch.nbytes / (machine.bandwidth * min(1.0, under_way / (under_way_needed(machine) * machine.processors)))
    peak = (machine.tensor if code.products else 2 * machine.fused) * machine.clock * min(launch.blocks, machine.processors)
    arithmetic = launch.operations / (peak * arithmetic_share(code, launch.kernel.threads, machine)) if launch.operations else 0.0
    return (machine.latency + max(memory, arithmetic)) / 1e3


@functools.cache
def _code(kernel, capability):
    code = read(kernel.ptx(capability), kernel.cubin(capability))
    return code._replace(shared=code.shared + kernel.shared)


def estimate(name, launches, machine) -> Step:
    """The step of these launches on a machine: without graphs the host's part or the device's, whichever is longer."""
    count = len(launches)
    kernels = sum(microseconds(each, _code(each.kernel, machine.capability), machine) for each in launches)
    return Step(name, machine.name, count, sum(each.nbytes for each in launches) / 1e6,
                sum(each.operations for each in launches) / 1e9, kernels, max(kernels + count * IN_STREAM, count * HOST),
                kernels + count * IN_GRAPH)


def steps(recorder, chosen=""):
    """A Step for each of the benchmark's networks and each machine."""
    import numtorch

    from .measured import NETWORKS, training_step
    found = []
    for name, *parts in NETWORKS:
        if chosen in name:
            call = training_step(*parts)(numtorch)
            call()                                       # what the first step makes, none of the next does
            recorder.launches.clear()
            call()
            launches = list(recorder.launches)
            found += [estimate(f"step, {name}", launches, machine) for machine in MACHINES]
    return found


def table(found) -> list[str]:
    """Estimates as lines of a Markdown table."""
    heads = "launches", "MB", "GFLOP", "kernels alone", "eager", "with a graph"
    lines = [f"| | GPU | {' | '.join(heads)} |", "|---|---|" + "---:|" * len(heads)]
    lines += [f"| {s.name} | {s.machine} | {s.launches} | {s.megabytes:.0f} | {s.gigaflops:.2f} | {s.kernels:.0f} µs | "
              f"{s.eager:.0f} µs | {s.graph:.0f} µs |" for s in found]
    return lines
