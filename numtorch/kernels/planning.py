"""What planners plan for, where that is not the host with its memory: then kernels are named, and not compiled."""
from __future__ import annotations

import contextlib
import threading


class _Planning(threading.local):
    """What this thread plans for, where that is not the host: kernels are named then and not compiled."""

    without_memory = False
    named: dict | None = None                            # where kernels are listed that would be compiled, by their keys
    elsewhere: Elsewhere | None = None

    @property
    def does_nothing(self):
        """Whether what is planned now does nothing, so that no later call may find it."""
        return self.without_memory and self.named is None


class Elsewhere:
    """A device that runs the host's serial kernels, each part of a call in a thread of its own.

    Attributes:
        threads: how many parts a call may have.
        share: the part of the host's least work a thread that is worth one there.
    """

    threads, share = 1, 1.0

    def prepare(self, kernel, descriptors, offsets, workspace):
        """What `threads.prepare` gives, for this device."""
        raise NotImplementedError


planning = _Planning()


@contextlib.contextmanager
def without_memory():
    """Inside, planners make plans that do nothing, and no kernel is compiled."""
    before, planning.without_memory = planning.without_memory, True
    try:
        yield
    finally:
        planning.without_memory = before


@contextlib.contextmanager
def kernels_named():
    """`without_memory`, which gives a table of the kernels that would be compiled inside, by their keys. Plans are kept, so this is
    for a process that calls nothing afterwards."""
    with without_memory():
        planning.named = {}
        try:
            yield planning.named
        finally:
            planning.named = None


@contextlib.contextmanager
def planning_for(device: Elsewhere):
    """Inside, planners of the host make plans for another device."""
    before, planning.elsewhere = planning.elsewhere, device
    try:
        yield
    finally:
        planning.elsewhere = before
