"""This machine's limits, measured: what memory and the multiply-add units give to nothing but a copy, a sum, an array
added to another, or an FMA.

Bandwidth is measured over footprints from the first cache to twice the last one, because what a case can reach depends on
where its data lies; STREAM's copy (McCalpin 1995) is the last of them. The FMA peak is a loop of independent chains of
vector multiply-adds without any memory. All run through numtorch's own threads.
"""
from __future__ import annotations

import os
import time
from functools import cache

import numpy as np
from numpy import float32

T = float32
LINE = 64                                                # bytes of a cache line; each part's result gets its own
CHAINS = 12                                              # more than latency (4) times issue width (2) of any core so far
FOOTPRINTS = [1 << b for b in (15, 17, 19, 21, 23, 25)]
SECONDS_EACH = 0.015
ELEMENTS, TIMES = range(2)                               # of the descriptor: of an array, and how often


# ---------------------------------------------------------------- kernels
def copy(source, out, descriptor):
    """Copy the elements so many times."""
    count = descriptor[ELEMENTS]
    for _ in range(descriptor[TIMES]):
        for i in range(count):
            out[i] = source[i]


def read(source, out, descriptor):
    """Sum the elements so many times."""
    count, total = descriptor[ELEMENTS], T(0)
    for _ in range(descriptor[TIMES]):
        for i in range(count):
            total += source[i]
    out[0] = total


def update(source, out, descriptor):
    """Add the elements to others in place, so many times."""
    count = descriptor[ELEMENTS]
    for _ in range(descriptor[TIMES]):
        for i in range(count):
            out[i] += source[i]


def _multiply_add_source(symbol, element, width):
    """LLVM IR of a kernel `(out, descriptor)`: `descriptor[0]` rounds of `CHAINS` independent vector FMAs. No loop that Numba is
    given
    keeps all chains in registers, so it is written out."""
    vector, suffix = f"<{width} x {element}>", f"v{width}{'f32' if element == 'float' else 'f64'}"
    splat = lambda value: "<" + ", ".join([f"{element} {value}"] * width) + ">"
    chains = range(CHAINS)
    starts = "\n".join(f"  %a{i} = phi {vector} [ {splat(float(i + 1))}, %entry ], [ %b{i}, %loop ]" for i in chains)
    steps = "\n".join(f"  %b{i} = call {vector} @llvm.fma.{suffix}({vector} %a{i}, {vector} {splat(0.5)}, {vector} {splat(1.0)})"
                      for i in chains)
    sums = "\n".join(f"  %s{i + 1} = fadd {vector} {'%b0' if i == 0 else f'%s{i}'}, %b{i + 1}" for i in chains[:-1])
    return f"""
declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})
define void @{symbol}(i64 %out, i64 %descriptor) {{
entry:
  %p = inttoptr i64 %out to ptr
  %w = inttoptr i64 %descriptor to ptr
  %rounds = load i64, ptr %w
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{starts}
{steps}
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %rounds
  br i1 %more, label %loop, label %done
done:
{sums}
  store {vector} %s{CHAINS - 1}, ptr %p, align 4
  ret void
}}
define void @{symbol}_py() {{
  ret void
}}
"""


@cache
def _multiply_add(dtype):
    """The FMA kernel for a dtype, and how many operations a round is."""
    from numtorch.kernels import compiler
    from numtorch.kernels.cpu.micro.tile import host_vector
    machine = compiler.machine()
    width = host_vector()[0] // np.dtype(dtype).itemsize
    symbol = f"bench_fma_{dtype}"
    module = machine.llvm.parse_assembly(_multiply_add_source(symbol, "float" if dtype == "float32" else "double", width))
    native, _ = machine.load(machine.target.emit_object(module), symbol)
    return compiler.Kernel("multiply_add", None, native, (dtype + "*", "int64*")), 2 * CHAINS * width


# ---------------------------------------------------------------- measuring
def _fastest(run):
    """Seconds of the fastest of a few runs."""
    best, end, runs = float("inf"), time.perf_counter() + SECONDS_EACH, 0
    while runs < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        best, runs = min(best, time.perf_counter() - start), runs + 1
    return best


def _flops(dtype, threads, rounds=20_000):
    from numtorch.kernels.threads import prepare
    kernel, per_round = _multiply_add(dtype)
    out = np.zeros((threads, 4 * LINE), np.uint8)
    prepared = prepare(kernel, [[rounds]] * threads, [(p * out.strides[0],) for p in range(threads)], release_lock=True)
    return threads * rounds * per_round / _fastest(lambda: prepared.call(out.ctypes.data, prepared.descriptor))


def _bandwidth(kernel, threads, moved, source, out, streams):
    """Bytes a second of a kernel that moves `moved` bytes in as many streams, of one of which it reads the source."""
    from numtorch.kernels.threads import prepare
    share = moved // (streams * threads * LINE) * LINE
    repeats = max(1, (1 << 23) // moved)                 # so that starting the threads does not count
    places = [(p * share, p * (share if streams > 1 else LINE)) for p in range(threads)]
    prepared = prepare(kernel, [[share // 4, repeats]] * threads, places, release_lock=True)
    seconds = _fastest(lambda: prepared.call(source.ctypes.data, out.ctypes.data, prepared.descriptor))
    return threads * repeats * share * streams / seconds


def last_cache_bytes() -> int:
    """The size of the last cache, or 32 MiB where the system does not say."""
    sizes = []
    folder = "/sys/devices/system/cpu/cpu0/cache"
    for index in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        try:
            with open(os.path.join(folder, index, "size")) as file:
                sizes.append(int(file.read().strip().rstrip("K")) << 10)
        except (OSError, ValueError):
            continue
    return max(sizes, default=32 << 20)


@cache
def measured(threads: int) -> dict:
    """FLOP/s by dtype, and bytes a second of copying, reading and adding in place by how many are moved, on `threads` threads.

    `{"flops": {dtype: rate}, "copy": [[bytes, rate], ...], "read": [[bytes, rate], ...], "update": ...}`; kept for the run.
    """
    from numtorch.kernels.compiler import compile_kernel
    signature = ("float32*", "float32*", "int64*")
    kernels = {"read": (read, 1), "copy": (copy, 2), "update": (update, 3)}
    largest = 2 * min(last_cache_bytes(), 512 << 20)
    source, out = np.ones(largest // 8, np.float32), np.zeros(largest // 8, np.float32)
    out[:] = 0                                           # its pages exist only once they are written
    limits = {"flops": {dtype: _flops(dtype, threads) for dtype in ("float32", "float64")}}
    for name, (function, streams) in kernels.items():
        kernel = compile_kernel(function, signature)
        sizes = [f for f in FOOTPRINTS if f < largest] + [largest // 2 * min(streams, 2)]
        limits[name] = [[f, _bandwidth(kernel, threads, f, source, out, streams)] for f in sizes]
    return limits


def rate_at(curve, footprint) -> float:
    """Bytes a second at a footprint, between the measured ones."""
    sizes, rates = zip(*curve)
    return float(np.interp(np.log(max(footprint, 1)), np.log(sizes), rates))


def shortest_time(limits, dtype, flops, read_bytes, written_bytes, in_place=False) -> float:
    """Seconds that the limits allow (Williams' roofline, 2009): the longer of computing and of moving. What is written in place is
    in the cache already, where a copy fetches it first: an optimiser's step would be at 160 % of a copy's limit."""
    moved = read_bytes + written_bytes
    curve = limits["update" if in_place else "copy" if 8 * written_bytes > read_bytes else "read"]
    peak = limits["flops"]["float64" if dtype == "float64" else "float32"]
    return max(flops / peak, moved / rate_at(curve, moved))
