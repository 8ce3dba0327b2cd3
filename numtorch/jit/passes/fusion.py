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
_KINDS = ("arithmetic", "float", "expression")
_CONDITIONS = ("comparison", "logical")


class _Group:
    def __init__(self, shape, dtype) -> None:
        self.shape, self.dtype, self.nodes = shape, dtype, []

    def inputs(self):
        inside = {value for node in self.nodes for value in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes for v in node.values() if v not in inside))


def _kind(node: Node) -> str | None:
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


def _fits(group, node, kind, place, users, ends, places):
    """Whether a call can be part of a group."""
    out = node.outputs[0].layout
    if out.shape != group.shape or len(group.nodes) >= MOST_CALLS:
        return False
    if kind == "value" and out.dtype is not group.dtype:
        return False
    inside = {value for member in group.nodes for value in member.outputs}
    conditions = {v for v in inside if v.layout.dtype is bool_}
    op = registry[node.op]
    for name, value in zip(op.parameters, node.inputs):
        if isinstance(value, Value):
            as_condition = name in op.bool_operands or op.kind == "logical"
            if value in conditions and not as_condition:
                return False
            if value not in inside and value.layout.dtype is not (bool_ if as_condition else group.dtype):
                return False
    for value in inside:                                 # nobody else may need them before this place
        if any(user not in group.nodes and user is not node and places[user] < place for user in users[value]):
            return False
    return len([v for v in {*group.inputs(), *node.values()} if v not in inside]) <= MOST_TENSORS


def groups_of(graph: Graph) -> list[list[Node]]:
    """Calls that can be one, each group in order.

    Args:
        graph: it.
    """
    users, ends = graph.users(), set(graph.ends())
    places = {node: place for place, node in enumerate(graph.nodes)}
    member: dict[Node, _Group] = {}
    groups: list[_Group] = []
    for place, node in enumerate(graph.nodes):
        kind = _kind(node)
        if kind is None:
            continue
        candidates = list(dict.fromkeys(member[v.node] for v in node.values() if v.node in member))
        group = next((g for g in reversed(candidates) if _fits(g, node, kind, place, users, ends, places)), None)
        if group is None:
            dtype = next((v.layout.dtype for v in node.values() if v.layout.dtype in (float32, float64)), None)
            if dtype is None:
                continue
            group = _Group(node.outputs[0].layout.shape, dtype)
            if not _fits(group, node, kind, place, users, ends, places):
                continue
            groups.append(group)
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
    users, ends = graph.users(), set(graph.ends())
    groups = groups_of(graph)
    for nodes in groups:
        inside = set(nodes)
        values: dict[Value, tuple] = {}
        inputs: list[Value] = []
        steps = []

        def operand(value, values=values, inputs=inputs):
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
        made = Node(FUSED.name, inputs, (tuple(steps), tuple([values[v][1] for v in outs]), tuple([v.layout for v in outs])))
        made.outputs = outs
        for value in outs:
            value.node = made
        graph.nodes[graph.nodes.index(nodes[-1])] = made
        graph.nodes = [node for node in graph.nodes if node not in inside]
    return len(groups)
