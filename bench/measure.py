"""Timing: interleaved with the peer, calibrated, and honest about a machine that is busy with something else.

Each side's call is repeated until a sample takes about a millisecond; turns of some samples alternate between the sides, so that
whatever else the machine does hits both. A turn starts with calls that are not counted: idle threads of the other side's
pool spin for a while before they sleep. The minimum is what the code can do, the median what one gets. On a busy machine
PyTorch's OpenMP barriers wait for whole time slices, so such a machine must be named.
"""
from __future__ import annotations

import hashlib
import statistics
import threading
import time
from dataclasses import dataclass, field

SAMPLE_SECONDS, TURN_SECONDS, SETTLE_SECONDS = 1e-3, 20e-3, 10e-3


@dataclass
class Case:
    """One row: how to make a callable per side, and what it must return alike.

    Attributes:
        name: what the row is called.
        make: `make(torch, inputs) -> callable`, the same for numtorch and PyTorch; `inputs` are NumPy arrays.
        inputs: `inputs(random_generator) -> list of NumPy arrays`.
        budget: the ratio to PyTorch's time that is not to be exceeded.
        tolerance: relative difference allowed between the two sides' results.
        flops: floating-point operations a call, 0 where they do not matter.
    """

    name: str
    make: object
    inputs: object
    budget: float | None = None
    tolerance: float = 1e-4
    flops: float = 0.0
    group: str = ""


@dataclass
class Timing:
    """Seconds a call took, sample by sample."""

    samples: list = field(default_factory=list)

    @property
    def minimum(self):
        return min(self.samples)

    @property
    def median(self):
        return statistics.median(self.samples)


def _sample(function, count):
    start = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - start) / count


def _settle(function):
    """Call for a while without counting."""
    stop = time.perf_counter() + SETTLE_SECONDS
    calls = 0
    while calls < 3 or time.perf_counter() < stop:
        function()
        calls += 1


def _repeats(function):
    """How many calls make a sample."""
    _settle(function)
    return max(1, round(SAMPLE_SECONDS / min(_sample(function, 1) for _ in range(5))))


def interleaved(functions, seconds=0.5) -> list[Timing]:
    """Time several callables in turns for about `seconds` in all (at least three turns each)."""
    counts = [_repeats(f) for f in functions]
    timings = [Timing() for _ in functions]
    stop = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or time.perf_counter() < stop:
        turns = list(enumerate(functions))
        for i, function in turns if rounds % 2 == 0 else reversed(turns):
            _settle(function)
            end, taken = time.perf_counter() + TURN_SECONDS, 0
            while taken < 3 or time.perf_counter() < end:
                timings[i].samples.append(_sample(function, counts[i]))
                taken += 1
        rounds += 1
    return timings


_BLOCK = bytes(2_000_000)


def _work():
    hashlib.sha256(_BLOCK).digest()                      # lets other Python threads run meanwhile


def _on_threads(count):
    """Seconds that `count` threads take to do a fixed piece of work each."""
    threads = [threading.Thread(target=_work) for _ in range(count)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


class Calibration:
    """A fixed piece of work on every thread, repeated between cases: as fast as on one thread unless the machine is shared."""

    def __init__(self, threads):
        self.threads = threads
        self.fastest = min(_on_threads(1) for _ in range(20))
        self.samples = []

    def check(self):
        """Do the work again, a few times."""
        self.samples += [_on_threads(self.threads) for _ in range(8)]

    @property
    def slowdown(self):
        """How much longer the work takes in the mean than at its fastest on one thread."""
        return statistics.fmean(self.samples or [self.fastest]) / self.fastest

    @property
    def contended(self):
        return self.slowdown > 1.35
