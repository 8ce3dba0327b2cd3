"""`replace_pattern`: wherever a graph computes one thing, have it compute another."""
from __future__ import annotations

import copy
from typing import Any, NamedTuple

from ..nn.modules.module import Module
from .graph import Graph, leads_somewhere
from .graph_module import GraphModule, _copy_attr
from .node import Node, map_aggregate, map_arg
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
    found = _found(gm.graph, searched)
    replaced: dict[Node, Node] = {}
    for match, before in found:
        _replace(match, before, searched, new, replaced)
    _bring_along(gm, replacement)
    gm.recompile()
    return [match for match, _ in found]


def _found(graph, searched) -> list[tuple[Match, Node]]:
    """Where a pattern is, with the node before which the replacement comes: the first that uses a result."""
    returned = _flat(searched.output_node().args[0])
    order = {node: place for place, node in enumerate(graph.nodes)}
    taken: set[Node] = set()
    result = []
    for places in _occurrences(graph, searched, returned):
        inside = {place for part, place in places.items() if part.op != "placeholder" and isinstance(place, Node)}
        given = [place for part, place in places.items() if part.op == "placeholder" and isinstance(place, Node)]
        ends = {places[output] for output in returned}
        if inside & taken or any(user not in inside for place in inside - ends for user in place.users):
            continue
        anchor = max(ends, key=order.__getitem__)
        before = min([user for end in ends for user in end.users if user not in inside], key=order.__getitem__, default=anchor)
        if all(order[place] < order[before] for place in given):      # else a result is used before all arguments are there
            taken |= inside
            result.append((Match(anchor, places), before))
    return result


def _replace(match, before, searched, new, replaced) -> None:
    """Put a replacement in a place of the pattern.

    Args:
        match, before: the place.
        searched, new: the graphs of pattern and replacement.
        replaced: results so far by those that they stand for, as what is found here may use them.
    """
    graph, places = before.graph, match.nodes_map
    arguments = map_aggregate([places.get(node) for node in searched.nodes if node.op == "placeholder"],
                              lambda value: _latest(value, replaced) if isinstance(value, Node) else value)
    values: dict[Node, Any] = dict(zip([n for n in new.nodes if n.op == "placeholder"], arguments))
    with graph.inserting_before(before):
        results = _flat(graph.graph_copy(new, values))
    own = {node for part, node in values.items() if part.op != "placeholder"} | {places.get(part) for part in searched.nodes}
    returned = _flat(searched.output_node().args[0])
    if len(results) != len(returned):
        raise ValueError(f"replace_pattern: the pattern returns {len(returned)} values, and the replacement {len(results)}")
    for output, made in zip(returned, results):
        old = places[output]
        if old is not made and old not in replaced:
            old.replace_all_uses_with(made, lambda user: user not in own)
            replaced[old] = made
    for part in reversed(list(searched.nodes)):
        place = places.get(part)
        if part.op not in ("placeholder", "output") and isinstance(place, Node) and not place.users:
            graph.erase_node(place)


def _flat(result) -> list[Node]:
    """The nodes that a graph returns, each as often as it does."""
    nodes: list[Node] = []
    map_arg(result, nodes.append)
    return nodes


def _occurrences(graph, searched, returned):
    """The places of a pattern's nodes in a graph, wherever it is there: those that nothing else of the pattern uses are looked for
    one after another, and what they are computed from is found from them."""
    anchors = list(dict.fromkeys(node for node in returned if len(node.users) == 1)) or returned[-1:]

    def search(number, places):
        if number == len(anchors):
            if all(output in places for output in returned):
                yield places
            return
        for node in [node for node in graph.nodes if node not in places.values()]:
            further = dict(places)
            if _matches(anchors[number], node, further):
                yield from search(number + 1, further)
    yield from search(0, {})


def _bring_along(gm, replacement) -> None:
    """Have a module what a replacement's paths lead to, where it has nothing there, and nothing that its graph does not use."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, Module):
        for node in gm.graph.nodes:
            if node.op in ("call_module", "get_attr") and not leads_somewhere(gm, str(node.target)):
                _copy_attr(copy.deepcopy(replacement), gm, str(node.target))


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
