"""What depends on frozen constants alone is computed now (constant folding)."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...autograd.modes import no_grad
from ...ops.memory.copies import clone
from ...ops.memory.detach import detach
from ..graphs.graph import Graph
from ..graphs.operations import CONSTANT, run_op

MOST_BYTES = 1 << 26                                     # of a result, beyond which it is rather computed each time


def fold_constants(graph: Graph, frozen: Mapping[str, Any]) -> int:
    """Compute calls whose inputs are all frozen. Returns how many.

    Args:
        graph: it is changed.
        frozen: the constants whose values will not change, by name; those made here are in the graph.
    """
    written = {target for target, _ in (*graph.writes, *graph.gradients)}
    values = {node.outputs[0]: graph.constants[node.attributes[0]] for node in graph.nodes
              if node.op == CONSTANT and node.outputs[0] not in written
              and (node.attributes[0] in frozen or str(node.attributes[0]).startswith("folded"))}
    ends, count = set(graph.ends()), 0
    for node in list(graph.nodes):
        if node.op == CONSTANT or node.draws or node.keeps or not node.inputs or any(value in ends for value in node.outputs) \
                or any(value not in values for value in node.values()) or sum(v.layout.nbytes for v in node.outputs) > MOST_BYTES:
            continue
        with no_grad():
            results = run_op(node.op, [values.get(v, v) if not isinstance(v, (int, float, complex)) else v for v in node.inputs],
                             node.attributes, node.writes)
        new = {}
        for value, result in zip(node.outputs, results):
            held = detach(result) if result.layout is value.layout else clone(detach(result), memory_format=value.layout)
            new[value] = graph.constant("folded", held, value.layout)
            values[new[value]] = held
        graph.nodes.remove(node)
        graph.replace(new)
        count += 1
    return count
