"""Memory by address: which storages are alive, where tensors' elements lie, and what a word points into."""
from __future__ import annotations

import bisect
import gc
from collections import deque
from sys import getrefcount

from ...exchange.scalars import recent_numbers
from ...storage import Storage, _rings
from ...tensor import constants


def alive() -> list[Storage]:
    """All storages that are alive.

    An object refers to its class: what does so is found in a quarter of the time that it takes to look at all objects.
    """
    kinds = [Storage]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return [each for each in gc.get_referrers(*kinds) if issubclass(type(each), Storage)]


def _in_tables():
    """The storages that rings have, and those of numbers and of what plans keep."""
    rings = [each for ring in list(_rings.values()) for each in (ring, ring.twin) if each is not None]
    return [*[storage for ring in rings for storage in list(ring)],
            *[tensor.memory for tensor in list(recent_numbers.values())], *constants]


class Owners:
    """Which storages words point into: those that a call is known to touch, else those of tables, else any that is alive. Objects
    of the whole process are looked at for the last only.

    Args:
        known: the first.
        apart: identities of storages that are none.
    """

    def __init__(self, known, apart) -> None:
        self.apart, self.sources = set(apart), [_in_tables, alive]
        self.spans = [self._spans(known)]

    def _spans(self, storages):
        spans = {id(s): (s.address, s.nbytes, s) for s in storages if s.nbytes and id(s) not in self.apart}
        self.apart |= spans.keys()                       # each has as many references from here
        return Spans(spans.values())

    def find(self, address):
        """The storage that an address is in, or None."""
        for spans in self.spans:
            span = spans.find(address)
            if span is not None:
                return span[2]
        while self.sources:
            self.spans.append(self._spans(self.sources.pop(0)()))
            span = self.spans[-1].find(address)
            if span is not None:
                return span[2]
        return None


def _of_a_ring_alone():
    """What getrefcount says of a storage that `find` gave and that nobody but its ring has."""
    ring = deque([Storage(1 << 62, 8, None)])
    owners = Owners([], ())
    owners.sources = [lambda: list(ring)]
    storage = owners.find(1 << 62)
    return getrefcount(storage)


def version(storage):
    return 0 if storage.inference else storage.version


class Spans:
    """Spans of memory, by address."""

    def __init__(self, spans) -> None:
        self.spans = sorted(spans, key=lambda span: span[0])
        self.starts = [span[0] for span in self.spans]

    def find(self, address):
        """What is known of an address: (start, bytes, what), or None."""
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0:
            span = self.spans[i]
            if address < span[0] + span[1]:
                return span
        return None


def extents(tensor):
    """Where a tensor's elements begin, and how many bytes they reach over."""
    low, high = tensor.layout.extent()
    size = tensor.layout.dtype.itemsize
    return tensor.address + low * size, max((high - low) * size, 1)


class Slot:
    """A word that differs from call to call."""

    def __init__(self, start, size, kind, which) -> None:
        self.start, self.size, self.kind, self.which = start, size, kind, which


def is_in_place(grad, before) -> bool:
    """Whether a gradient is the one before, or a tensor in its place, as `zero_grad(set_to_none=False)` makes.

    Args:
        grad, before: gradients of a leaf of the tape, or None.
    """
    if grad is None or before is None:
        return grad is before
    return grad.memory is before.memory and grad.address == before.address and grad.layout is before.layout


def overlap(tensors):
    spans = sorted(extents(t) for t in tensors)
    return any(a + size > b for (a, size), (b, _) in zip(spans, spans[1:]))


UNUSED = _of_a_ring_alone()


def in_use(storages: list[Storage]) -> set[int]:
    """The identities of those among storages of rings that something has besides."""
    return {id(storage) for storage in storages if storage.pooled and getrefcount(storage) > UNUSED}
