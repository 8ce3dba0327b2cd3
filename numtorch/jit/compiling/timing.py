"""What calls take, by the clock, and which of several programs for one thing is the fastest."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from ..capturing.contents import wait_for

ROUNDS = 5


def timed(call: Callable, devices: Iterable) -> tuple[Any, float]:
    """What a call returns, and the seconds until devices have done what it told them.

    Args:
        call: it.
        devices: those that it may use.
    """
    wait_for(devices)
    start = time.perf_counter()
    result = call()
    wait_for(devices)
    return result, time.perf_counter() - start


def fastest(runs: list[Callable], devices: Iterable) -> int:
    """The place of the fastest, which takes the least time of a few calls.

    Args:
        runs: functions. Each is called once before, for what a first call does.
        devices: those that they may use.
    """
    if len(runs) == 1:
        return 0
    for run in runs:
        run()
    times = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for i, run in enumerate(runs):
            times[i] = min(times[i], timed(run, devices)[1])
    return times.index(min(times))
