"""How long values live, and what memory that takes."""
from __future__ import annotations

from typing import NamedTuple

from ..graph import Graph, Value
from ..memory import offsets_of
from ..operations import CONSTANT

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


def memory_plan(graph: Graph) -> Plan:
    """A place for each value that is neither an input, a constant, a result nor a view, such that those that live at one time do
    not overlap (`offsets_of`).

    Args:
        graph: it.
    """
    base: dict[Value, Value] = {}
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    own: list[Value] = []
    outside = {*graph.inputs, *graph.ends()}
    for place, node in enumerate(graph.nodes):
        view = node.op.startswith("view.") or node.op in ("part", "detach")
        for value in node.values():
            last[base.get(value, value)] = place
        for value in node.outputs:
            if view:
                source = node.values()[0]
                base[value] = base.get(source, source)
                if value in outside:
                    outside.add(base[value])
            elif node.op != CONSTANT:
                own.append(value)
                first[value], last[value] = place, place
    own = [value for value in own if value not in outside]
    sizes = {value: -(-value.layout.nbytes // ALIGNMENT) * ALIGNMENT for value in own}
    peak = max([sum(sizes[v] for v in own if first[v] <= place <= last[v]) for place in range(len(graph.nodes))], default=0)
    offsets, arena = offsets_of([sizes[v] for v in own], [first[v] for v in own], [last[v] for v in own])
    return Plan(sum(sizes.values()), peak, arena, {value.name: offset for value, offset in zip(own, offsets)})
