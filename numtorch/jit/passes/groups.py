"""Calls that can be one: groups that grow along a graph (fusion.py and rowfusion.py say of what), and the call that stands for one.

A group stands at the place of its last call, so no other call between may use what it gives.
"""
from __future__ import annotations

from collections.abc import Callable

from ...dtypes import bool_, float32, float64
from ...ops.core.primitive import registry
from ...ops.pointwise.pointwise import PointwiseOp
from ..graphs.fused import FUSED
from ..graphs.graph import Graph, Node, Value
from ..graphs.rowwise import CONDITIONS

MOST_TENSORS = 12
_KINDS = ("arithmetic", "operands", "float", "expression", "power", "real")


class Group:
    """Calls that can be one.

    Args:
        shape: what all its tensors broadcast to.
        dtype: of its numbers.

    Attributes:
        nodes: the calls, in order.
    """

    def __init__(self, shape, dtype) -> None:
        self.shape, self.dtype, self.nodes = tuple(shape), dtype, list[Node]()

    @classmethod
    def begin(cls, node: Node) -> Group | None:
        """A group without calls, in which a call could be the first; None where it could be in none."""
        raise NotImplementedError

    def fits(self, node: Node, users: dict, places: dict) -> bool:
        """Whether a call can be part of it.

        Args:
            node: the call.
            users: the nodes that use each value.
            places: of the graph's nodes.
        """
        raise NotImplementedError

    def is_last(self, node: Node, users: dict, places: dict) -> bool:
        """Whether the calls can stand where another does that is to be one with them: nobody else needs them before that place.

        Args:
            node: the other one.
            users, places: as `fits` has them.
        """
        return not any(user not in self.nodes and user is not node and places[user] < places[node]
                       for member in self.nodes for value in member.outputs for user in users[value])


def groups_of(graph: Graph, kind: type[Group]) -> list[Group]:
    """Calls that can be one. A group grows from call to call; those that meet in one call are one.

    Args:
        graph: theirs.
        kind: what says which fit.
    """
    users = graph.users()
    places = {node: place for place, node in enumerate(graph.nodes)}
    member: dict[Node, Group] = {}
    groups: list[Group] = []
    for node in graph.nodes:
        candidates = list(dict.fromkeys(member[v.node] for v in node.values() if v.node in member))
        group = next((g for g in reversed(candidates) if g.fits(node, users, places)), None)
        if group is None:
            group = kind.begin(node)
            if group is None or not group.fits(node, users, places):
                continue
            groups.append(group)
        for other in candidates:
            if other is not group and (other.shape, other.dtype) == (group.shape, group.dtype):
                joined = kind(group.shape, group.dtype)
                joined.nodes = sorted([*other.nodes, *group.nodes], key=lambda member: places[member])
                if joined.fits(node, users, places):
                    group.nodes = joined.nodes
                    member.update(dict.fromkeys(other.nodes, group))
                    groups.remove(other)
        group.nodes.append(node)
        member[node] = group
    return groups


# ---------------------------------------------------------------- elementwise calls
def kind_of(node: Node, dtypes: tuple = (float32, float64)) -> str | None:
    """"value" or "condition" for a call that can be part of a formula.

    Args:
        node: the call.
        dtypes: of the numbers.
    """
    op = registry.get(node.op)
    if not isinstance(op, PointwiseOp) or node.writes or node.keeps or len(node.outputs) != 1:
        return None
    out = node.outputs[0].layout
    operands = [v.layout for n, v in zip(op.parameters, node.inputs) if isinstance(v, Value) and n not in op.bool_operands]
    if not out.numel or out.weak or any(v.layout.device is not out.device for v in node.values()):
        return None
    if op.kind in CONDITIONS:
        return "condition" if operands and out.dtype is bool_ else None
    if op.kind not in _KINDS or out.dtype not in dtypes or any(l.dtype is not out.dtype for l in operands):
        return None
    return "value"


def takes(node: Node, dtype) -> bool:
    """Whether an elementwise call takes conditions where its op does, and else numbers of a dtype.

    Args:
        node: the call.
        dtype: the dtype.
    """
    op = registry[node.op]
    return all(value.layout.dtype is (bool_ if name in op.bool_operands or op.kind == "logical" else dtype)
               for name, value in zip(op.parameters, node.inputs) if isinstance(value, Value))


# ---------------------------------------------------------------- the one call
def as_one(graph: Graph, nodes: list[Node], numbers: Callable[[Node], tuple] = lambda node: ()) -> tuple[Node, list[Value]]:
    """The call that can stand where the last of others does, and what it gives.

    Args:
        graph: theirs.
        nodes: them, in order.
        numbers: what of a node's attributes are operands of it as a part of the call.
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
        steps.append((node.op, *[operand(v) for v in node.inputs], *numbers(node)))
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
