"""`replace_pattern`: wherever a graph computes one thing, have it compute another."""
from __future__ import annotations

import copy
from collections.abc import Callable
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


class ReplacedPatterns(NamedTuple):
    """Where a pattern was found, and what took its place.

    Attributes:
        anchor: the last node of it.
        nodes_map: the graph's nodes for the pattern's.
        replacements: the nodes that were made.
    """

    anchor: Node
    nodes_map: dict[Node, Any]
    replacements: list[Node]


class InternalMatch(NamedTuple):
    """An occurrence of a pattern, as filters are given it.

    Attributes:
        anchors: the pattern's last node.
        nodes_map: the graph's nodes for the pattern's.
        placeholder_nodes: those that stand for the pattern's arguments.
        returning_nodes: those that stand for its results.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any]
    placeholder_nodes: list[Any]
    returning_nodes: list[Node]


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
    return [Match(each.anchor, each.nodes_map) for each in replace_pattern_with_filters(gm, pattern, replacement)]


def replace_pattern_with_filters(gm: GraphModule, pattern: Any, replacement: Any = None,
                                 match_filters: list[Callable] | None = None, ignore_literals: bool = False,
                                 replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None
                                 ) -> list[ReplacedPatterns]:
    """Replace those occurrences of a pattern that filters let pass.

    Args:
        gm, pattern, replacement: as for `replace_pattern`.
        match_filters: functions of an `InternalMatch`, the graph and the pattern's graph: all must return True.
        ignore_literals: whether any number or text fits where the pattern has one.
        replacement_callback: gives the graph that takes the place of an occurrence, of what filters are given.

    Returns:
        Where the pattern was replaced, and by which nodes.

    Raises:
        AssertionError: neither `replacement` nor `replacement_callback` is given.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.fx.subgraph_rewriter import replace_pattern_with_filters
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + torch.relu(x + 1))
        >>> first = lambda match, graph, pattern: match.placeholder_nodes[0].op == "placeholder"
        >>> found = replace_pattern_with_filters(traced, lambda x: torch.relu(x), lambda x: torch.neg(x), [first])
        >>> len(found), traced(torch.tensor([1., -3.]))
        (1, tensor([1., 3.]))
    """
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either replacement or replacement_callback")
    searched = _graph_of(pattern)
    whole = None if replacement_callback is not None else _graph_of(replacement)
    replaced: dict[Node, Node] = {}
    result = []
    for match, before in _found(gm.graph, searched, ignore_literals):
        places = match.nodes_map
        said = InternalMatch([part for part, place in places.items() if place is match.anchor], places,
                             [places[part] for part in searched.nodes if part.op == "placeholder" and part in places],
                             [places[part] for part in _flat(searched.output_node().args[0])])
        if all(passes(said, gm.graph, searched) for passes in match_filters or ()):
            new = replacement_callback(said, gm.graph, searched) if replacement_callback is not None else whole
            result.append(ReplacedPatterns(*match, _replace(match, before, searched, new, replaced)))
    _bring_along(gm, replacement)
    gm.recompile()
    return result


def _found(graph, searched, any_literal) -> list[tuple[Match, Node]]:
    """Where a pattern is, with the node before which the replacement comes: the first that uses a result."""
    returned = _flat(searched.output_node().args[0])
    order = {node: place for place, node in enumerate(graph.nodes)}
    taken: set[Node] = set()
    result = []
    for places in _occurrences(graph, searched, returned, any_literal):
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


def _replace(match, before, searched, new, replaced) -> list[Node]:
    """Put a replacement in a place of the pattern, and give its nodes.

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
    made_nodes = [node for part, node in values.items() if part.op != "placeholder"]
    own = {*made_nodes, *[places.get(part) for part in searched.nodes if isinstance(places.get(part), Node)]}
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
    return made_nodes


def _flat(result) -> list[Node]:
    """The nodes that a graph returns, each as often as it does."""
    nodes: list[Node] = []
    map_arg(result, nodes.append)
    return nodes


def _occurrences(graph, searched, returned, any_literal):
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
            if _matches(anchors[number], node, further, any_literal):
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


def _matches(part: Any, place: Any, places: dict, any_literal: bool) -> bool:
    """Whether a graph's node computes what a pattern's does."""
    if not isinstance(part, Node):
        if isinstance(part, (tuple, list)):
            return isinstance(place, (tuple, list)) and len(part) == len(place) and all(
                _matches(p, q, places, any_literal) for p, q in zip(part, place))
        if isinstance(part, dict):
            return isinstance(place, dict) and part.keys() == place.keys() and all(
                _matches(part[k], place[k], places, any_literal) for k in part)
        return (type(part) is type(place) and part == place) or (any_literal and not isinstance(place, Node))
    if part in places:
        return places[part] is place
    if part.op == "placeholder":
        places[part] = place
        return True
    if not isinstance(place, Node) or part.op != place.op or part.target != place.target:
        return False
    if not all(_matches(a, b, places, any_literal) for a, b in ((part.args, place.args), (part.kwargs, place.kwargs))):
        return False
    places[part] = place
    return True
