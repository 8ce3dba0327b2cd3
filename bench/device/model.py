"""Estimates: what share of a GPU's peak a kernel can reach, from its code and the machine's published figures.

Nothing here is measured. Two limits are put together. *Memory*: a multiprocessor keeps the bandwidth busy only while enough
bytes are under way, which are the loads of its resident threads (Little's law). *Issue*: of the cycles that a pass through the
busiest loop takes, in the slowest of instruction issue, arithmetic and shared memory, so many do arithmetic. What is left out:
caches, the tail of a grid, launches, clocks under load; real figures are below these.
"""
from __future__ import annotations

from typing import NamedTuple

from .code import Code, read


class Machine(NamedTuple):
    """A GPU's published figures: multiprocessors, GHz, bytes a nanosecond of memory, nanoseconds until a load is there, and, of a
    multiprocessor, registers, bytes of shared memory, threads, multiply-adds a cycle, floating-point operations of dense `mma` a
    cycle; and the share of these that `mma.sync` reaches (Hopper's tensor cores ask for `wgmma`)."""
    name: str
    capability: tuple
    processors: int
    clock: float
    bandwidth: float
    latency: float
    registers: int
    shared: int
    threads: int
    fused: int
    tensor: int
    sync: float


MACHINES = (Machine("A100", (8, 0), 108, 1.41, 1555.0, 600.0, 65536, 164 << 10, 2048, 64, 2048, 1.0),
            Machine("H100", (9, 0), 132, 1.755, 3350.0, 650.0, 65536, 228 << 10, 2048, 128, 4096, 0.62))


def resident(code: Code, threads: int, machine: Machine) -> int:
    """The blocks that a multiprocessor has room for, by registers, shared memory and threads."""
    of_warp = -(-max(code.registers, 16) * 32 // 256) * 256          # registers are given to warps in units of 256
    return min(machine.threads // threads, machine.registers // (of_warp * -(-threads // 32)), 32,
               machine.shared // (code.shared + 1024))


def occupancy(code: Code, threads: int, machine: Machine) -> float:
    """The share of a multiprocessor's threads that are resident."""
    return resident(code, threads, machine) * threads / machine.threads


def under_way_needed(machine: Machine) -> float:
    """The bytes of a multiprocessor that must be under way for the bandwidth to be busy."""
    return machine.bandwidth / machine.processors * machine.latency


def memory_share(code: Code, threads: int, machine: Machine) -> float:
    """The share of the bandwidth that the bytes under way keep busy."""
    under_way = occupancy(code, threads, machine) * machine.threads * max(code.loaded, 4)
    return min(1.0, under_way / under_way_needed(machine))


def arithmetic_share(code: Code, threads: int, machine: Machine) -> float:
    """The share of the peak of arithmetic, or of `mma`, that a pass through the busiest loop has, for a warp of each of the four
    schedulers."""
    issue, shared = code.issued, code.shared_words       # cycles; shared memory gives 32 words a cycle to one warp of the four
    if code.products:
        work = code.products * 4096 * 4 / machine.tensor             # of m16n8k16, on a quarter of the tensor cores
        return work / max(issue, work / machine.sync, 4 * shared)
    work = code.work * 128 / machine.fused
    return work / max(issue, work, 4 * shared)


class Row(NamedTuple):
    """An estimate: what is asked of it, the kernel, and what the model says."""
    name: str
    machine: str
    wanted: float
    of: str
    registers: int
    shared: int
    instructions: int
    occupancy: float
    share: float
    microseconds: float


def estimate(name, wanted, bound, nbytes, operations, kernel, threads, machine) -> Row:
    """The model's row of a kernel on a machine; `bound` is "memory" or "arithmetic"."""
    code = read(kernel.ptx(machine.capability), kernel.cubin(machine.capability))
    code = code._replace(shared=code.shared + kernel.shared)
    if bound == "memory":
        share, of = memory_share(code, threads, machine), "bandwidth"
        taken = nbytes / machine.bandwidth / share
    else:
        share, of = arithmetic_share(code, threads, machine), "mma" if code.products else "float32"
        peak = (machine.tensor if code.products else 2 * machine.fused) * machine.processors * machine.clock
        taken = operations / peak / share
    return Row(name, machine.name, wanted, of, code.registers, code.shared, code.instructions, occupancy(code, threads, machine),
               share, taken / 1e3)


# ---------------------------------------------------------------- what is estimated
N, LINES, LINE, SIDE, BATCH, HEADS, LENGTH, WIDTH = 1 << 26, 1 << 14, 1 << 12, 4096, 4, 16, 2048, 64


def rows():
    """(name, share that is asked for, bound, bytes, operations, family, planner, arguments, options) of the issue's list."""
    from numtorch.ops.core.primitive import registry
    heads = (HEADS * LENGTH * WIDTH, LENGTH * WIDTH, WIDTH)
    add = registry["add"].scalar("float32")
    products = 2 * SIDE ** 3
    return [
        ("a + b, 2²⁶ float32", 0.9, "memory", 12 * N, 0, "pointwise.pointwise", "plan_pointwise",
         (add, ("float32",) * 2, ("float32",), (N,), [(1,)] * 3), dict(compute=("float32",) * 2)),
        ("sum of 2²⁶ float32", 0.85, "memory", 4 * N, 0, "reduce.reduce", "plan_reduce",
         ("sum", "float32", "float32", (N,), (1,), (0,), ()), {}),
        ("softmax, 2¹⁴ lines of 4096", 0.85, "memory", 8 * LINES * LINE, 0, "softmax.softmax", "plan_softmax",
         ("float32", LINES, LINE, 1), {}),
        ("layer norm, 2¹⁴ lines of 4096", 0.85, "memory", 8 * LINES * LINE, 0, "norm.norm", "plan_row_norm",
         ("float32", LINES, LINE, 1e-5, True, True, True), {}),
        ("product 4096³, float32", 0.9, "arithmetic", 0, products, "gemm.gemm", "plan_gemm",
         (SIDE, SIDE, SIDE, "float32", (SIDE, 1), (SIDE, 1), (SIDE, 1)), {}),
        ("product 4096³, bfloat16", 0.7, "arithmetic", 0, products, "gemm.gemm", "plan_gemm",
         (SIDE, SIDE, SIDE, "bfloat16", (SIDE, 1), (SIDE, 1), (SIDE, 1)), {}),
        ("attention, 4 x 16 heads of 2048 x 64, bfloat16", 0.6, "arithmetic", 0, 4 * BATCH * HEADS * LENGTH * LENGTH * WIDTH,
         "attention.attention", "plan_attention",
         ("bfloat16", BATCH, HEADS, 1, LENGTH, LENGTH, WIDTH, WIDTH, 0.125, False, [heads] * 4), {}),
    ]


def estimates(recorder, chosen=""):
    """A Row for each of `rows` and each machine."""
    from numtorch.devices import device
    from numtorch.ops.core.backends import kernels
    found = []
    for name, wanted, bound, nbytes, operations, family, planner, arguments, options in rows():
        if chosen not in name:
            continue
        recorder.kernels.clear()
        getattr(kernels(device("cuda:0"), family), planner)(*arguments, **options)
        kernel = recorder.kernels[-1 if bound == "arithmetic" else 0]            # the first of two goes over the data
        found += [estimate(name, wanted, bound, nbytes, operations, kernel, kernel.threads, each) for each in MACHINES]
    return found


def table(found) -> list[str]:
    """Estimates as lines of a Markdown table."""
    heads = "registers", "shared memory", "instructions", "occupancy", "estimate", "asked for", "time"
    lines = [f"| | GPU | {' | '.join(heads)} |", "|---|---|" + "---:|" * len(heads)]
    lines += [f"| {r.name} | {r.machine} | {r.registers} | {r.shared} | {r.instructions} | {r.occupancy:.2f} | "
              f"{r.share:.2f} of {r.of} | {r.wanted:.2f} | {r.microseconds:.0f} µs |" for r in found]
    return lines
