"""How long values live, and what memory that takes."""
from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

from ..capturing.memory import offsets_of
from ..graphs.graph import Graph, Value
from ..graphs.operations import CONSTANT
from .inplace import is_view

ALIGNMENT = 64


class Plan(NamedTuple):
    """Where a graph's intermediate values lie.

    Attributes:
        total: their bytes, each in memory of its own.
        peak: the most bytes of values that are needed at one time.
        arena: the bytes of one block in which each lies at its offset.
        offsets: the places in it.
    """

    total: int
    peak: int
    arena: int
    offsets: dict[str, int]


class Lives:
    """From where to where values are needed that have memory of their own: no inputs, constants, results or views.

    Args:
        graph: theirs.

    Attributes:
        sizes: bytes of each.
        first, last: the places of the nodes that make each, and that need it last.
        base: of each view, whose memory it is in.
        aliases: the values in the memory of each that has views, itself first.
        last_use: of all values, the place of the last node that has it as an input.
        outside: inputs, results and constants, and what these are views of.
    """

    def __init__(self, graph: Graph) -> None:
        self.base: dict[Value, Value] = {}
        self.aliases: dict[Value, list[Value]] = {}
        self.first: dict[Value, int] = {}
        self.last: dict[Value, int] = {}
        self.last_use: dict[Value, int] = {}
        self.outside = {*graph.inputs, *graph.ends()}
        own: list[Value] = []
        for place, node in enumerate(graph.nodes):
            for value in node.values():
                self.last[self.base.get(value, value)] = self.last_use[value] = place
            for value in node.outputs:
                if is_view(node):
                    source = node.values()[0]
                    root = self.base[value] = self.base.get(source, source)
                    self.aliases.setdefault(root, [root]).append(value)
                    if value in self.outside:
                        self.outside.add(root)
                elif node.op == CONSTANT:
                    self.outside.add(value)
                else:
                    own.append(value)
                    self.first[value], self.last[value] = place, place
        self.sizes = {value: -(-value.layout.nbytes // ALIGNMENT) * ALIGNMENT for value in own if value not in self.outside}

    def lasts(self, value: Value, place: int) -> bool:
        """Whether a value's memory is still needed at a place, or behind it.

        Args:
            value: it.
            place: of a node.
        """
        root = self.base.get(value, value)
        return root in self.outside or self.last.get(root, -1) >= place

    def lengthen(self, value: Value, other: Value) -> None:
        """A value is to stand for another one, as long as that is needed.

        Args:
            value, other: they.
        """
        root, last = self.base.get(value, value), self.last.get(self.base.get(other, other), -1)
        self.last[root] = max(self.last.get(root, -1), last)


def memory_plan(graph: Graph) -> Plan:
    """A place for each value that has memory of its own, such that those that live at one time do not overlap (`offsets_of`).

    Args:
        graph: it.
    """
    lives = Lives(graph)
    own, sizes = list(lives.sizes), list(lives.sizes.values())
    first, last = [lives.first[v] for v in own], [lives.last[v] for v in own]
    changes = [0] * (len(graph.nodes) + 1)
    for size, begin, end in zip(sizes, first, last):
        changes[begin] += size
        changes[end + 1] -= size
    peak = max(accumulate(changes))
    offsets, arena = offsets_of(sizes, first, last)
    return Plan(sum(sizes), peak, arena, {value.name: offset for value, offset in zip(own, offsets)})
