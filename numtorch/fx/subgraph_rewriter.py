"""`replace_pattern`: wherever a graph computes one thing, have it compute another."""
from __future__ import annotations

from typing import Any, NamedTuple, cast

from ..nn.modules.module import Module
from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate
from .tracer import symbolic_trace


class Match(NamedTuple):
    """Where a pattern was found.

    Attributes:
        anchor: the last node of it.
        nodes_map: the graph's nodes for the pattern's.
    """

    anchor: Node
    nodes_map: dict[Node, Any]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace each occurrence of a pattern in a module's graph.

    Args:
        gm: the module. It is changed.
        pattern: a function or module: what is looked for. Its arguments stand for anything.
        replacement: a function or module of the same arguments.

    Returns:
        Where the pattern was. Occurrences do not overlap.

    Example:
        >>> import numtorch as torch
        >>> traced = torch.fx.symbolic_trace(lambda x, w: torch.add(x, w).relu())
        >>> _ = torch.fx.replace_pattern(traced, lambda a, b: torch.add(a, b), lambda a, b: torch.mul(a, b))
        >>> traced(torch.tensor([2.]), torch.tensor([3.]))
        tensor([6.])
    """
    searched, new = _graph_of(pattern), _graph_of(replacement)
    graph = gm.graph
    end = searched.output_node()
    last = end.args[0] if isinstance(end.args[0], Node) else None
    outputs = end.all_input_nodes
    anchor = last if last is not None else outputs[-1]
    given = [node for node in searched.nodes if node.op == "placeholder"]
    taken: set[Node] = set()
    matches: list[Match] = []
    for node in list(graph.nodes):
        places: dict[Node, Any] = {}
        if not _matches(anchor, node, places):
            continue
        if any(output not in places for output in outputs):
            continue
        inside = {place for part, place in places.items() if part.op != "placeholder" and isinstance(place, Node)}
        ends = {places[output] for output in outputs}
        if inside & taken or any(user not in inside for place in inside - ends for user in place.users):
            continue
        taken |= inside
        matches.append(Match(node, places))
    replaced: dict[Node, Node] = {}
    for match in matches:
        arguments = map_aggregate([match.nodes_map.get(node) for node in given],
                                  lambda value: _latest(value, replaced) if isinstance(value, Node) else value)
        values: dict[Node, Any] = dict(zip([n for n in new.nodes if n.op == "placeholder"], arguments))
        with graph.inserting_before(match.anchor):
            result = graph.graph_copy(new, values)
        results = [result] if isinstance(result, Node) else list(result) if isinstance(result, (tuple, list)) else [result]
        ends_in_order = [match.nodes_map[output] for output in outputs]
        for old, made in zip(ends_in_order, results):
            old.replace_all_uses_with(made)
            replaced[old] = made
        for part in reversed(list(searched.nodes)):
            place = match.nodes_map.get(part)
            if part.op not in ("placeholder", "output") and isinstance(place, Node) and not place.users:
                graph.erase_node(place)
    if isinstance(replacement, Module):
        for node in new.nodes:
            if node.op in ("call_module", "get_attr"):
                gm.add_submodule(str(node.target), cast(Module, replacement.get_submodule(str(node.target))))
    gm.recompile()
    return matches


def _latest(node, replaced):
    while node in replaced:
        node = replaced[node]
    return node


def _graph_of(program) -> Graph:
    if isinstance(program, Graph):
        return program
    return program.graph if isinstance(program, GraphModule) else symbolic_trace(program).graph


def _matches(part: Any, place: Any, places: dict) -> bool:
    """Whether a graph's node computes what a pattern's does."""
    if not isinstance(part, Node):
        if isinstance(part, (tuple, list)):
            return isinstance(place, (tuple, list)) and len(part) == len(place) and all(
                _matches(p, q, places) for p, q in zip(part, place))
        if isinstance(part, dict):
            return isinstance(place, dict) and part.keys() == place.keys() and all(
                _matches(part[k], place[k], places) for k in part)
        return type(part) is type(place) and part == place
    if part in places:
        return places[part] is place
    if part.op == "placeholder":
        places[part] = place
        return True
    if not isinstance(place, Node) or part.op != place.op or part.target != place.target:
        return False
    if not _matches(part.args, place.args, places) or not _matches(part.kwargs, place.kwargs, places):
        return False
    places[part] = place
    return True
