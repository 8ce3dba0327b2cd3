"""What is computed twice is computed once (common subexpressions)."""
from __future__ import annotations

from ..graphs.graph import Graph, Value
from ..graphs.operations import CONSTANT
from .memory import Lives, memory_plan


def _key(value):
    """What two equal arguments have in common: 1, 1.0 and True are different ones."""
    if isinstance(value, Value):
        return id(value)
    if isinstance(value, tuple):
        return tuple([_key(v) for v in value])
    return type(value), repr(value) if isinstance(value, float) else value


def merge_subexpressions(graph: Graph) -> int:
    """Have one call stand for those that compute the same. Returns how many went.

    Where the result of the first would have to be kept for the second, both stay if more memory is needed otherwise: a checkpoint
    computes again what is not to be kept.

    Args:
        graph: it is changed.
    """
    removed = _merge(graph, Lives(graph))
    merged = graph.copy()
    if _merge(merged, None) and memory_plan(merged).peak <= memory_plan(graph).peak:
        removed += _merge(graph, None)
    return removed


def _merge(graph, lives):
    """Merge all, or those where `lives` says that the first result is still there. Returns how many went."""
    ends = set(graph.ends())
    known: dict = {}
    kept, removed = [], 0
    for place, node in enumerate(graph.nodes):
        key = node.op, _key(tuple(node.inputs)), _key(node.attributes), node.writes, node.keeps, node.wanted
        before = None if node.draws or node.op == CONSTANT or any(value in ends for value in node.outputs) else known.get(key)
        if before is None or (lives is not None and not all(lives.lasts(value, place) for value in before.outputs)):
            if not node.draws:
                known[key] = node
            kept.append(node)
            continue
        if lives is not None:
            for value, other in zip(before.outputs, node.outputs):
                lives.lengthen(value, other)
        graph.replace(dict(zip(node.outputs, before.outputs)))
        removed += 1
    graph.nodes = kept
    return removed
