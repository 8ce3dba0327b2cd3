"""Timing: calls of several sides in turns, with the garbage collector at rest.

A call is repeated until a sample takes about a millisecond; turns of some samples alternate between the sides, so that
whatever else the machine does hits all of them. A turn starts with a rest, because the idle threads of another side's pool spin
for some time before they sleep (PyTorch's OpenMP took a core from the products of two threads that came after it, which then took
twice as long), and with calls that are not counted, because caches hold what that side used. The minimum is what the code can
do, the median what one gets.
"""
from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from functools import cache

import numpy as np

SAMPLE_SECONDS, TURN_SECONDS, SETTLE_SECONDS, REST_SECONDS = 1e-3, 12e-3, 2e-3, 15e-3
FEWEST_TURNS = 3


@dataclass
class Timing:
    """Seconds a call took, sample by sample."""

    samples: list = field(default_factory=list)

    def summary(self) -> dict:
        """Minimum, median, spread (the middle half's width over the median) and how many samples there are."""
        low, middle, high = np.percentile(self.samples, [25, 50, 75])
        return {"min": float(min(self.samples)), "median": float(middle), "spread": float((high - low) / middle),
                "samples": len(self.samples)}


@cache
def _sampler(arguments):
    """`sample(count, function, *arguments)`: seconds a call. Written out for a number of arguments: a star would cost 30 ns."""
    names = "".join(f", a{i}" for i in range(arguments))
    scope = {"now": time.perf_counter}
    exec(f"def sample(count, function{names}):\n"
         f"    turns = range(count)\n"
         f"    start = now()\n"
         f"    for _ in turns:\n"
         f"        function({names[2:]})\n"
         f"    return (now() - start) / count\n", scope)
    return scope["sample"]


class Call:
    """A function and its arguments, to be timed."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments
        self._sample, self.count = _sampler(len(arguments)), 1

    def __call__(self):
        return self.function(*self.arguments)

    def sample(self):
        return self._sample(self.count, self.function, *self.arguments)

    def settle(self):
        """Call for a while without counting."""
        stop = time.perf_counter() + SETTLE_SECONDS
        self.sample()
        while time.perf_counter() < stop:
            self.sample()

    def choose_count(self):
        """How many calls make a sample."""
        self.count = 1
        self.settle()
        fastest, tried = self.sample(), 1
        while tried < (5 if fastest < TURN_SECONDS else 2):      # one long sample may be another process's time slice
            fastest, tried = min(fastest, self.sample()), tried + 1
        self.count = max(1, round(SAMPLE_SECONDS / fastest))


def interleaved(calls, seconds) -> list[Timing]:
    """Time several calls in turns, for about `seconds` in all or a few turns each, whichever is longer."""
    timings = [Timing() for _ in calls]
    gc.collect()
    paused = gc.isenabled()
    gc.disable()
    try:
        for call in calls:
            call.choose_count()
        sides = list(zip(calls, timings))
        stop, turns = time.perf_counter() + seconds, 0
        while turns < FEWEST_TURNS or time.perf_counter() < stop:
            for call, timing in sides if turns % 2 == 0 else reversed(sides):
                time.sleep(REST_SECONDS)
                call.settle()
                end, taken = time.perf_counter() + TURN_SECONDS, 0
                while taken < 1 or time.perf_counter() < end:
                    timing.samples.append(call.sample())
                    taken += 1
            turns += 1
    finally:
        if paused:
            gc.enable()
    return timings
