"""Sums, means and softmax along the last dimension as one with the elementwise calls before and after them, for which rows are read
once.

A group grows from call to call as in fusion.py. Its tensors are of one shape, or have one number for each of its rows; operands may
broadcast to it. It has at least one call that is along rows, and rows that are long enough to fill vectors.
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...kernels.planning import without_memory
from ...layout import broadcast_shapes
from ..graph import Graph, Node
from ..rowwise import ALONG, plan_rows
from .fusion import MOST_TENSORS, as_one, is_last, kind_of, put_together, takes

SHORTEST, LONGEST = 64, 4096
MOST_CALLS = 32


def _along(node: Node) -> bool:
    """Whether a call is along the rows of its operands, all of them floats."""
    if node.op not in ALONG or node.writes or node.keeps or len(node.outputs) != 1 or len(node.values()) != len(node.inputs):
        return False
    first, out = node.values()[0].layout, node.outputs[0].layout
    if first.dtype not in (float32, float64) or first.ndim < 1 or out.device.type != "cpu" or \
            any(v.layout.dtype is not first.dtype or v.layout.shape != first.shape for v in node.values()):
        return False
    if node.op in ("sum", "mean"):
        dims, keepdim, options = node.attributes
        dim = dims[0] if isinstance(dims, tuple) and len(dims) == 1 else dims
        return dim in (-1, first.ndim - 1) and keepdim is True and not options
    return node.attributes[0] in (-1, first.ndim - 1)


class _Group:
    def __init__(self, shape, dtype) -> None:
        self.shape, self.dtype, self.nodes = tuple(shape), dtype, []

    def fits(self, node, users, places):
        """Whether a call can be part of it."""
        shape = tuple(node.outputs[0].layout.shape)
        single = (*self.shape[:-1], 1)
        if len(self.nodes) >= MOST_CALLS or shape not in (self.shape, single) or not is_last(self.nodes, node, users, places):
            return False
        if _along(node):
            first = node.values()[0].layout
            return tuple(first.shape) == self.shape and first.dtype is self.dtype
        kind = kind_of(node)
        return kind is not None and takes(node, self.dtype) and (kind == "value" or shape == self.shape)


def groups_of(graph: Graph) -> list[list[Node]]:
    """Calls that can be one, each group in order.

    Args:
        graph: it.
    """
    users = graph.users()
    places = {node: place for place, node in enumerate(graph.nodes)}
    member: dict[Node, _Group] = {}
    groups: list[_Group] = []
    for node in graph.nodes:
        candidates = list(dict.fromkeys(member[v.node] for v in node.values() if v.node in member))
        group = next((g for g in reversed(candidates) if g.fits(node, users, places)), None)
        if group is None:
            layouts = [v.layout for v in node.values() if v.layout.dtype in (float32, float64)]
            if not (_along(node) or kind_of(node)) or not layouts:
                continue
            shape = layouts[0].shape if _along(node) else node.outputs[0].layout.shape
            group = _Group(shape, layouts[0].dtype)
            if not shape or not SHORTEST <= shape[-1] <= LONGEST or not group.fits(node, users, places):
                continue
            groups.append(group)
        for other in candidates:
            if other is not group and (other.shape, other.dtype) == (group.shape, group.dtype):
                joined = _Group(group.shape, group.dtype)
                joined.nodes = sorted([*other.nodes, *group.nodes], key=lambda member: places[member])
                if joined.fits(node, users, places):
                    group.nodes = joined.nodes
                    member.update(dict.fromkeys(other.nodes, group))
                    groups.remove(other)
        group.nodes.append(node)
        member[node] = group
    return [group.nodes for group in groups if len(group.nodes) > 1 and any(map(_along, group.nodes))]


def fuse_rows(graph: Graph) -> int:
    """Put calls along rows together with what is elementwise around them. Returns how many groups there are.

    Args:
        graph: it is changed.
    """
    count = 0
    for nodes in groups_of(graph):
        made, outs = as_one(graph, nodes)
        calls, results, layouts = made.attributes
        inputs = [value.layout for value in made.values()]
        if not outs or len(outs) + len(inputs) > MOST_TENSORS:
            continue
        try:
            with without_memory():
                plan_rows(calls, results, inputs, layouts, broadcast_shapes(*[l.shape for l in inputs]))
        except ValueError:                               # what lies otherwise, and what no such kernel does
            continue
        put_together(graph, nodes, made, outs)
        count += 1
    return count
