"""Which of several programs for one thing is the fastest, by the clock."""
from __future__ import annotations

import time
from collections.abc import Callable

ROUNDS = 5


def fastest(runs: list[Callable]) -> int:
    """The place of the fastest, which takes the least time of a few calls.

    Args:
        runs: functions. Each is called once before, for what a first call does.
    """
    if len(runs) == 1:
        return 0
    for run in runs:
        run()
    times = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[i] = min(times[i], time.perf_counter() - start)
    return times.index(min(times))
