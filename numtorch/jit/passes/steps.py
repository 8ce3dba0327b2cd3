"""Updates of single parameters that are one step of an optimiser, which takes all of them at once."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..graphs.graph import CONSTANT, Graph, Node
from ..graphs.updates import UPDATE
from .inplace import is_view, writes_in_place, written_values


class Unsuited(Exception):
    """A graph cannot be run in the place of a call: why."""


def steps_of(graph: Graph, optimizers: Mapping[str, Any]) -> dict[Node, list[Node]]:
    """For each update, all those that are one step with it, in order: of one optimiser, each of another parameter, with nothing
    computed between them.

    Args:
        graph: it stays as it is.
        optimizers: by the names of the constants that their coefficients are.

    Raises:
        Unsuited: what a step gives is returned, what it overwrites is used after it, or an optimiser is not known.
    """
    in_place = writes_in_place(graph)
    steps: dict[Node, list[Node]] = {}
    step: list[Node] = []
    for node in graph.nodes:
        if node.op != UPDATE.name:
            step = [] if node.op != CONSTANT and not is_view(node) else step
            continue
        written = written_values(node)
        if any(value in graph.results for value in written):
            raise Unsuited("what an optimiser's step gives is returned")
        if len(in_place.get(node, ())) < len(node.writes):
            raise Unsuited("what was there before an optimiser's step is used after it")
        optimizer = optimizer_of(node, optimizers)
        if not step or optimizer_of(step[0], optimizers) is not optimizer or node.inputs[1] in written_values(step[0]):
            step = []                                    # another step, before which something else is computed, or right after
        step.append(node)
        steps[node] = step
    return steps


def optimizer_of(node: Node, optimizers: Mapping[str, Any]) -> Any:
    """The optimiser that makes an update.

    Args:
        node: the update.
        optimizers: by the names of the constants that their coefficients are.

    Raises:
        Unsuited: it is not known.
    """
    held = getattr(node.inputs[0], "node", None)
    if held is None or held.op != CONSTANT or held.attributes[0] not in optimizers:
        raise Unsuited("a step of an optimiser that is not known")
    return optimizers[held.attributes[0]]
