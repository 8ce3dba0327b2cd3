"""Memory by address: which storages and prepared kernels are alive, where tensors' elements lie, and what a word points into."""
from __future__ import annotations

import bisect
import copy
import gc

from ..kernels.threads import Prepared
from ..storage import Storage


def alive():
    """All storages that are alive, and all prepared kernels by their descriptors.

    An object refers to its class: what does so is found in a quarter of the time that it takes to look at all objects.
    """
    storages: list = []
    prepared: dict = {}
    kinds = [Storage]
    for kind in kinds:
        kinds += kind.__subclasses__()
    for each in gc.get_referrers(Prepared, *kinds):
        if type(each) is Prepared:
            prepared.setdefault(each.descriptor, []).append(each)              # each may keep more than the other
        elif issubclass(type(each), Storage):
            storages.append(each)
    return storages, prepared


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


def spent(tensor):
    """What a result has for a node: one whose graph was walked and let go, as the result's own was."""
    node = tensor.node
    if node is not None:
        node = tensor.node = copy.copy(node)
        node.edges = (None,) * len(node.edges)
    return node


def reached(roots):
    """All nodes that are reached from nodes."""
    found, pending = set(), list(roots)
    while pending:
        node = pending.pop()
        if node is not None and node not in found:
            found.add(node)
            pending += node.edges
    return found


def overlap(tensors):
    spans = sorted(extents(t) for t in tensors)
    return any(a + size > b for (a, size), (b, _) in zip(spans, spans[1:]))
