"""Elementwise calls as one: their formulas, put together, are a formula, for which there is one loop over memory.

A group grows from call to call while all its tensors are of one shape (operands may broadcast to it) and one floating-point dtype;
conditions may be made and used in it. It stands at the place of its last call, so no other call between may use what it gives.
"""
from __future__ import annotations

from ...dtypes import bool_, float32, float64
from ...layout import broadcast_shapes
from ...ops.core.primitive import registry
from ...ops.pointwise.pointwise import PointwiseOp
from ..fused import FUSED
from ..graph import Graph, Node, Value

MOST_CALLS, MOST_TENSORS = 48, 12
_KINDS = ("arithmetic", "float", "expression", "power", "real")
_CONDITIONS = ("comparison", "logical")


class _Group:
    def __init__(self, shape, dtype) -> None:
        self.shape, self.dtype, self.nodes = shape, dtype, []

    def inputs(self):
        inside = {value for node in self.nodes for value in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes for v in node.values() if v not in inside))


def kind_of(node: Node) -> str | None:
    """"value" or "condition" for a call that can be part of a formula."""
    op = registry.get(node.op)
    if not isinstance(op, PointwiseOp) or node.writes or node.keeps or len(node.outputs) != 1:
        return None
    out = node.outputs[0].layout
    operands = [v.layout for n, v in zip(op.parameters, node.inputs) if isinstance(v, Value) and n not in op.bool_operands]
    if not out.numel or out.device.type != "cpu" or out.weak:
        return None
    if op.kind in _CONDITIONS:
        return "condition" if operands and out.dtype is bool_ else None
    if op.kind not in _KINDS or out.dtype not in (float32, float64) or any(l.dtype is not out.dtype for l in operands):
        return None
    return "value"


def _fits(group, node, kind, users, places):
    """Whether a call can be part of a group."""
    out = node.outputs[0].layout
    if out.shape != group.shape or len(group.nodes) >= MOST_CALLS:
        return False
    if kind == "value" and out.dtype is not group.dtype:
        return False
    inside = {value for member in group.nodes for value in member.outputs}
    return takes(node, group.dtype) and is_last(group.nodes, node, users, places) and \
        len([v for v in {*group.inputs(), *node.values()} if v not in inside]) <= MOST_TENSORS


def takes(node: Node, dtype) -> bool:
    """Whether an elementwise call takes conditions where its op does, and else numbers of a dtype.

    Args:
        node: the call.
        dtype: the dtype.
    """
    op = registry[node.op]
    return all(value.layout.dtype is (bool_ if name in op.bool_operands or op.kind == "logical" else dtype)
               for name, value in zip(op.parameters, node.inputs) if isinstance(value, Value))


def is_last(nodes: list[Node], node: Node, users: dict, places: dict) -> bool:
    """Whether calls can stand where another does that is to be one with them: nobody else needs them before that place.

    Args:
        nodes: the calls.
        node: the other one.
        users: the nodes that use each value.
        places: of the graph's nodes.
    """
    return not any(user not in nodes and user is not node and places[user] < places[node]
                   for member in nodes for value in member.outputs for user in users[value])


def groups_of(graph: Graph) -> list[list[Node]]:
    """Calls that can be one, each group in order.

    Args:
        graph: it.
    """
    users, ends = graph.users(), set(graph.ends())
    places = {node: place for place, node in enumerate(graph.nodes)}
    member: dict[Node, _Group] = {}
    groups: list[_Group] = []
    for node in graph.nodes:
        kind = kind_of(node)
        if kind is None:
            continue
        candidates = list(dict.fromkeys(member[v.node] for v in node.values() if v.node in member))
        group = next((g for g in reversed(candidates) if _fits(g, node, kind, users, places)), None)
        if group is None:
            dtype = next((v.layout.dtype for v in node.values() if v.layout.dtype in (float32, float64)), None)
            if dtype is None:
                continue
            group = _Group(node.outputs[0].layout.shape, dtype)
            if not _fits(group, node, kind, users, places):
                continue
            groups.append(group)
        for other in candidates:
            if other is not group and (other.shape, other.dtype) == (group.shape, group.dtype):
                joined = _Group(group.shape, group.dtype)
                joined.nodes = sorted([*other.nodes, *group.nodes], key=lambda member: places[member])
                if _fits(joined, node, kind, users, places):
                    group.nodes = joined.nodes
                    member.update(dict.fromkeys(other.nodes, group))
                    groups.remove(other)
        group.nodes.append(node)
        member[node] = group
    result = []
    for group in groups:
        inside = set(group.nodes)
        outs = [v for n in group.nodes for v in n.outputs if v in ends or any(u not in inside for u in users[v])]
        if len(group.nodes) > 1 and outs and all(v.layout.dtype is group.dtype for v in outs) \
                and len(outs) + len(group.inputs()) <= MOST_TENSORS \
                and broadcast_shapes(*[v.layout.shape for v in group.inputs()], group.shape) == group.shape:
            result.append(group.nodes)
    return result


def fuse(graph: Graph) -> int:
    """Put elementwise calls together. Returns how many groups there are.

    Args:
        graph: it is changed.
    """
    groups = groups_of(graph)
    for nodes in groups:
        put_together(graph, nodes, *as_one(graph, nodes))
    return len(groups)


def as_one(graph: Graph, nodes: list[Node]) -> tuple[Node, list[Value]]:
    """The call that can stand where the last of others does, and what it gives.

    Args:
        graph: theirs.
        nodes: them, in order.
    """
    users, ends, inside = graph.users(), set(graph.ends()), set(nodes)
    values: dict[Value, tuple] = {}
    inputs: list[Value] = []
    steps = []

    def operand(value):
        if not isinstance(value, Value):
            return value
        if value not in values:
            values[value] = "x", len(inputs)
            inputs.append(value)
        return values[value]
    for number, node in enumerate(nodes):
        steps.append((node.op, *[operand(v) for v in node.inputs]))
        values[node.outputs[0]] = "v", number
    outs = [v for n in nodes for v in n.outputs if v in ends or any(u not in inside for u in users[v])]
    attributes = tuple(steps), tuple([values[v][1] for v in outs]), tuple([v.layout for v in outs])
    return Node(FUSED.name, inputs, attributes), outs


def put_together(graph: Graph, nodes: list[Node], made: Node, outs: list[Value]) -> None:
    """Have a call stand where the last of others does.

    Args:
        graph: theirs; it is changed.
        nodes, made, outs: as `as_one` gives them.
    """
    made.outputs = outs
    for value in outs:
        value.node = made
    inside = set(nodes)
    graph.nodes[graph.nodes.index(nodes[-1])] = made
    graph.nodes = [node for node in graph.nodes if node not in inside]
