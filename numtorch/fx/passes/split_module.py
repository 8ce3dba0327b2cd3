"""`split_module`: a graph as several modules, and one that calls them."""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...nn.modules.module import Module
from ..graph import Graph
from ..graph_module import GraphModule, attribute_at
from ..node import Node, map_arg


class Partition:
    """A part of a graph.

    Args:
        name: its own.

    Attributes:
        nodes: those of the graph that it computes.
        inputs, outputs: those that it is given, and gives.
        before, behind: the parts that it is given some of, and gives some to.
        graph, values: its own graph, and the nodes of that for those of the other.
        held: what its graph's paths lead to.
    """

    def __init__(self, name: str) -> None:
        self.name, self.graph = name, Graph()
        self.nodes: list[Node] = []
        self.inputs: dict[Node, None] = {}
        self.outputs: dict[Node, None] = {}
        self.before: set[Partition] = set()
        self.behind: dict[Partition, None] = {}
        self.values: dict[Node, Node] = {}
        self.held: dict[str, Any] = {}


def split_module(m: GraphModule, root_m: Module | None, split_callback: Callable[[Node], Any],
                 qualname_map: dict[str, str] | None = None, keep_original_order: bool = False,
                 keep_original_node_name: bool = False, keep_original_input_name: bool = True, *,
                 partition_affix: str | None = None, tuple_return: bool = False) -> GraphModule:
    """A module that calls parts of a graph, each of which is a submodule, `submod_0` and so on.

    Args:
        m: the module of the graph.
        root_m: taken for PyTorch's sake.
        split_callback: says of a call in which part it is.
        qualname_map: is given the paths of modules in `m` by those in the result.
        keep_original_order: call the parts in the order in which the graph has their first nodes, where what they need is there.
        keep_original_node_name: have the nodes of parts be called as those of the graph.
        keep_original_input_name: have the arguments of parts be called as the graph's nodes are, and not `arg_0` and so on.
        partition_affix: what stands in the names of submodules before the part.
        tuple_return: have parts that give one value return a tuple of it.

    Raises:
        RuntimeError: parts need each other.

    Example:
        >>> import numtorch as torch
        >>> from numtorch.fx.passes.split_module import split_module
        >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x).sum() * 2)
        >>> parts = split_module(traced, None, lambda node: int(node.name != "relu"))
        >>> [name for name, _ in parts.named_children()], parts(torch.tensor([-1., 3.]))
        (['submod_0', 'submod_1'], tensor(6.))
    """
    parts = _partitions(m.graph, split_callback, "" if partition_affix is None else f"{partition_affix}_")
    order = _in_order(parts, 0 if keep_original_order else -1)
    for part in order:
        for number, given in enumerate(part.inputs):
            name = given.name if keep_original_input_name else f"arg_{number}"
            part.values[given] = part.graph.placeholder(name, type_expr=given.type)
            part.values[given].meta = dict(given.meta)
    for part in order:
        _fill(part, m, keep_original_node_name, qualname_map)
    return _calling(m, order, keep_original_node_name, tuple_return)


def _partitions(graph, split_callback, affix):
    """The parts, in the order in which the graph has their first nodes."""
    parts: dict[str, Partition] = {}
    of: dict[Node, Partition] = {}
    for node in graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = f"{affix}{split_callback(node)}"
            of[node] = parts.setdefault(name, Partition(name))
            of[node].nodes.append(node)
    for node in graph.nodes:
        user = of.get(node)
        for used in node.all_input_nodes:
            maker = of.get(used)
            if maker is user:
                continue
            if maker is not None:
                maker.outputs.setdefault(used)
            if user is not None:
                user.inputs.setdefault(used)
            if maker is not None and user is not None:
                maker.behind.setdefault(user)
                user.before.add(maker)
    return list(parts.values())


def _in_order(parts, which):
    """The parts, each behind those that it needs; of several that could come next the first or the last, as `which` says."""
    waiting, order = {part: set(part.before) for part in parts}, []
    ready = [part for part in parts if not part.before]
    while ready:
        part = ready.pop(which)
        order.append(part)
        for each in part.behind:
            waiting[each].discard(part)
            if not waiting[each]:
                ready.append(each)
        if which == 0:
            ready.sort(key=parts.index)
    if len(order) < len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return order


def _fill(part, module, keeps_names, paths):
    """Give a part its nodes."""
    for node in part.nodes:
        target = node.target
        if node.op == "call_module":
            target = str(node.target).replace(".", "_")
            part.held[target] = attribute_at(module, str(node.target))
            if paths is not None:
                paths[f"submod_{part.name}.{target}"] = str(node.target)
        args, kwargs = map_arg((node.args, node.kwargs), part.values.__getitem__)
        name = node.name if keeps_names else None
        made = part.values[node] = part.graph.create_node(node.op, target, args, kwargs, name, node.type)
        made.meta = dict(node.meta)


def _calling(module, parts, keeps_names, as_tuples):
    """The module that calls the parts."""
    graph, values, held = Graph(), {}, {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            made = values[node] = graph.create_node("placeholder", node.name if keeps_names else node.target, node.args, {}, None,
                                                    node.type)
        elif node.op == "get_attr":
            made = values[node] = graph.get_attr(str(node.target))
            held[str(node.target)] = attribute_at(module, str(node.target))
        else:
            continue
        made.meta = dict(node.meta)
    for part in parts:
        results = tuple([part.values[each] for each in part.outputs])
        alone = len(results) == 1 and not as_tuples
        part.graph.output(results[0] if alone else results)
        name = f"submod_{part.name}"
        held[name] = GraphModule(part.held, part.graph)
        called = graph.call_module(name, tuple([values[each] for each in part.inputs]))
        for number, each in enumerate(part.outputs):
            values[each] = called if alone else graph.call_function(operator.getitem, (called, number))
            values[each].meta = dict(each.meta)
    output = module.graph.output_node()
    graph.output(map_arg(output.args[0], values.__getitem__), output.type).meta = dict(output.meta)
    made = GraphModule(held, graph)
    made.meta = dict(module.meta)
    return made
