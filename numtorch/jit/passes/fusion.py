"""Elementwise calls as one: their formulas, put together, are a formula, for which there is one loop over memory.

A group (groups.py) is of calls whose tensors are of one shape (operands may broadcast to it) and one floating-point dtype;
conditions may be made and used in it. In one of 16 bits the formula rounds what each call gives, so that results are those of the
calls one by one, bit for bit: numbers that stay in float32 between calls would be nearer to the truth, but a model would not be the
one that was trained in eager.
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...layout import broadcast_shapes
from ..graphs.fused import NARROW
from ..graphs.graph import Graph, Value
from .groups import MOST_TENSORS, Group, as_one, groups_of, kind_of, put_together, takes

MOST_CALLS = 48
_DTYPES = (float32, float64, *NARROW)


class _Elements(Group):
    @classmethod
    def begin(cls, node):
        dtype = next((v.layout.dtype for v in node.values() if v.layout.dtype in _DTYPES), None)
        return None if dtype is None or kind_of(node, _DTYPES) is None else cls(node.outputs[0].layout.shape, dtype)

    def inputs(self):
        inside = {value for node in self.nodes for value in node.outputs}
        return list(dict.fromkeys(v for node in self.nodes for v in node.values() if v not in inside))

    def fits(self, node, users, places):
        kind = kind_of(node, _DTYPES)
        if kind is None:
            return False
        out = node.outputs[0].layout
        if out.shape != self.shape or len(self.nodes) >= MOST_CALLS or (kind == "value" and out.dtype is not self.dtype):
            return False
        inside = {value for member in self.nodes for value in member.outputs}
        return takes(node, self.dtype) and self.is_last(node, users, places) and \
            len([v for v in {*self.inputs(), *node.values()} if v not in inside]) <= MOST_TENSORS


def inner_values(graph: Graph) -> set[Value]:
    """The values that will never be in memory, as only the loop has them in which they are made.

    Args:
        graph: it stays as it is.
    """
    users, ends = graph.users(), set(graph.ends())
    return {value for group in groups_of(graph, _Elements) for node in group.nodes for value in node.outputs
            if value not in ends and all(user in group.nodes for user in users[value])}


def fuse(graph: Graph) -> int:
    """Put elementwise calls together. Returns how many groups there are.

    Args:
        graph: it is changed.
    """
    count = 0
    for group in groups_of(graph, _Elements):
        made, outs = as_one(graph, group.nodes)
        if len(group.nodes) > 1 and outs and all(v.layout.dtype is group.dtype for v in outs) \
                and len(outs) + len(made.inputs) <= MOST_TENSORS \
                and broadcast_shapes(*[v.layout.shape for v in made.values()], group.shape) == group.shape:
            put_together(graph, group.nodes, made, outs)
            count += 1
    return count
