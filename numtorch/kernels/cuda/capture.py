"""Captures: launches that are noted instead of made, to be made again and again.

While a capture is on, what runtimes launch goes to its list and does not run, and the memory that they give is kept for as long as
the capture is, since the launches name it. What waits for a device, or copies to and from the host, cannot be captured and raises.
"""
from __future__ import annotations


class Capture:
    """Launches in order, as (function, words), and the memory that they name. A driver that captures has its own (gpu.py)."""

    __slots__ = ("kept", "launches")

    def __init__(self):
        self.launches: list = []
        self.kept: list = []

    def replay(self):
        for launch, words in self.launches:
            launch(*words)


active: list[Capture | None] = [None]                    # the one that is on; there is one at a time


def refuse(what) -> None:
    """Raise RuntimeError while a capture is on, for what waits for a device."""
    if active[0] is not None:
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({what})")


def keep(owner) -> None:
    """Memory that was given just now."""
    if active[0] is not None:
        active[0].kept.append(owner)


def capturable(launch):
    """A launch as a function of its words that a capture notes instead."""
    def call(*words):
        capture = active[0]
        if capture is None:
            launch(*words)
        else:
            capture.launches.append((launch, words))
    return call
