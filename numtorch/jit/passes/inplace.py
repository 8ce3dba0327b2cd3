"""Writes that may go into the memory that they name, instead of a copy of it: where nobody needs any more what was there."""
from __future__ import annotations

from ..graphs.graph import CONSTANT, Graph, Node, Value

_PUT = "put_part"


def is_view(node: Node) -> bool:
    """Whether what a call gives is in the memory of its first argument."""
    return node.op.startswith("view.") or node.op in ("part", "detach")


def written_values(node: Node) -> list[Value]:
    """The values that stand for what a call writes to, in the order of its `writes`."""
    stop = len(node.outputs) - len(node.keeps)
    return node.outputs[stop - len(node.writes):stop]


def writes_in_place(graph: Graph) -> dict[Node, frozenset[int]]:
    """For each call, the places of those inputs that it may write to as they lie.

    Args:
        graph: it stays as it is.
    """
    end = len(graph.nodes)
    last: dict[Value, int] = dict.fromkeys((r for r in graph.results if isinstance(r, Value)), end)
    for place, node in enumerate(graph.nodes):
        for value in node.values():
            last[value] = max(place, last.get(value, -1))
    for _, value in (*graph.writes, *graph.gradients):
        last[value] = end
    changed = {target for target, _ in graph.writes}
    root: dict[Value, Value] = {}                        # of memory that is not a value's own
    over: dict[Value, list[Value]] = {}                  # the values in a root's memory as it is now
    written: dict[Node, frozenset[int]] = {}

    def memory(value):
        return root.get(value, value)
    for place, node in enumerate(graph.nodes):
        if is_view(node):
            for value in node.outputs:
                root[value] = memory(node.inputs[0])
                over.setdefault(root[value], [root[value]]).append(value)
            continue
        if not node.writes and node.op != _PUT:
            continue
        places = set()
        outs = dict(zip(node.writes, written_values(node))) if node.writes else {0: node.outputs[0]}
        for i, out in outs.items():
            value = node.inputs[i]
            home = memory(value)
            given = home.node is None or home.node.op == CONSTANT            # an argument's or a constant's memory
            others = [v for v in over.get(home, [home]) if v is not value]
            beside = [v for j, v in enumerate(node.inputs) if j != i and isinstance(v, Value) and memory(v) is home]
            if (given and home not in changed) or beside or last.get(value, -1) > place or out.layout is not value.layout \
                    or any(last.get(v, -1) > place for v in others):
                continue
            places.add(i)
            root[out], over[home] = home, [out]
        written[node] = frozenset(places)
    return written
