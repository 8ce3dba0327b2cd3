"""Calls that nobody uses go. A draw of random numbers stays, as the stream moves on, and so does a check that may raise."""
from __future__ import annotations

from ..graphs.graph import Graph, Node
from ..graphs.operations import CHECKS, CONSTANT


def dead_code(graph: Graph) -> int:
    """Take out calls whose values nobody uses. Returns how many.

    Args:
        graph: it is changed.
    """
    needed = {*graph.ends(), *[target for target, _ in (*graph.writes, *graph.gradients)]}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.draws or node.op in CHECKS or any(value in needed for value in node.outputs):
            needed.update(node.values())
            kept.append(node)
        elif node.op == CONSTANT:
            graph.constants.pop(node.attributes[0], None)
    removed = len(graph.nodes) - len(kept)
    graph.nodes = kept[::-1]
    graph.forget_kept()
    return removed
