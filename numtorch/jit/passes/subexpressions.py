"""What is computed twice is computed once (common subexpressions)."""
from __future__ import annotations

from ..graphs.graph import Graph, Value
from ..graphs.operations import CONSTANT


def _key(value):
    """What two equal arguments have in common: 1, 1.0 and True are different ones."""
    if isinstance(value, Value):
        return id(value)
    if isinstance(value, tuple):
        return tuple([_key(v) for v in value])
    return type(value), repr(value) if isinstance(value, float) else value


def merge_subexpressions(graph: Graph) -> int:
    """Have one call stand for those that compute the same. Returns how many went.

    Args:
        graph: it is changed.
    """
    ends = set(graph.ends())
    known: dict = {}
    kept, removed = [], 0
    for node in graph.nodes:
        key = node.op, _key(tuple(node.inputs)), _key(node.attributes), node.writes, node.keeps, node.wanted
        before = None if node.draws or node.op == CONSTANT or any(value in ends for value in node.outputs) else known.get(key)
        if before is None:
            if not node.draws:
                known.setdefault(key, node)
            kept.append(node)
            continue
        graph.replace(dict(zip(node.outputs, before.outputs)))
        removed += 1
    graph.nodes = kept
    return removed
