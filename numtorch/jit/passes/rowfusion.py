"""Sums, means, extremes, norms and softmax along the last dimension as one with the elementwise calls before and after them, for
which rows are read once.

A group (groups.py) is of calls whose tensors are of one shape, or have one number for each of its rows; operands may
broadcast to it. It has at least one call that is along rows, and rows that are long enough to fill vectors.
"""
from __future__ import annotations

from ...dtypes import float32, float64
from ...kernels.planning import without_memory
from ...layout import broadcast_shapes
from ..graphs.graph import Graph, Node
from ..graphs.rowwise import ALONG, ORDERS, REDUCTIONS, plan_rows
from .algebra import simplify
from .deadcode import dead_code
from .groups import MOST_TENSORS, Group, as_one, groups_of, kind_of, put_together, takes
from .keptdims import LONGEST, SHORTEST, keep_dims, reduces_rows
from .rownorms import open_norms

MOST_CALLS = 32


def _along(node: Node) -> bool:
    """Whether a call is along the rows of its operands, all of them floats."""
    if node.op not in ALONG or node.writes or node.keeps or len(node.outputs) != 1 or len(node.values()) != len(node.inputs):
        return False
    first, out = node.values()[0].layout, node.outputs[0].layout
    if first.dtype not in (float32, float64) or first.ndim < 1 or out.device.type != "cpu" or \
            any(v.layout.dtype is not first.dtype or v.layout.shape != first.shape for v in node.values()):
        return False
    if node.op in REDUCTIONS:
        return reduces_rows(node, first) and node.attributes[1] is True and (node.op != "norm" or _order(node)[0] in ORDERS)
    return node.attributes[0] in (-1, first.ndim - 1)


def _order(node: Node) -> tuple:
    """The order of a norm, which it has as an operand in a fused call."""
    return (dict(node.attributes[2])["exponent"],) if node.op == "norm" else ()


class _Rows(Group):
    @classmethod
    def begin(cls, node):
        layouts = [v.layout for v in node.values() if v.layout.dtype in (float32, float64)]
        if not (_along(node) or kind_of(node)) or not layouts:
            return None
        shape = layouts[0].shape if _along(node) else node.outputs[0].layout.shape
        return cls(shape, layouts[0].dtype) if shape and SHORTEST <= shape[-1] <= LONGEST else None

    def fits(self, node, users, places):
        along, kind = _along(node), kind_of(node)
        if not (along or kind) or len(self.nodes) >= MOST_CALLS or not self.is_last(node, users, places):
            return False
        shape = tuple(node.outputs[0].layout.shape)
        if shape not in (self.shape, (*self.shape[:-1], 1)):
            return False
        if along:
            first = node.values()[0].layout
            return tuple(first.shape) == self.shape and first.dtype is self.dtype
        return takes(node, self.dtype) and (kind == "value" or shape == self.shape)


def fuse_rows(graph: Graph) -> int:
    """Put calls along rows together with what is elementwise around them. Returns how many groups there are.

    Args:
        graph: it is changed.
    """
    count = 0
    _open_norms(graph)
    if keep_dims(graph):
        simplify(graph)
        dead_code(graph)
    for group in groups_of(graph, _Rows):
        one = _as_one(graph, group)
        if one is not None:
            put_together(graph, group.nodes, *one)
            count += 1
    return count


def _as_one(graph, group):
    """The call that a group becomes, and what it gives; None where it stays as it is."""
    if len(group.nodes) < 2 or not any(map(_along, group.nodes)):
        return None
    made, outs = as_one(graph, group.nodes, _order)
    calls, results, layouts = made.attributes
    inputs = [value.layout for value in made.values()]
    if not outs or len(outs) + len(inputs) > MOST_TENSORS:
        return None
    try:
        with without_memory():
            plan_rows(calls, results, inputs, layouts, broadcast_shapes(*[l.shape for l in inputs]))
    except ValueError:                                   # what lies otherwise, and what no such kernel does
        return None
    return made, outs


def _open_norms(graph):
    """Have those norms be the calls that they are made of that are one with others then."""
    trial = graph.copy()
    opened = open_norms(trial)
    whole = [set(group.nodes) for group in groups_of(trial, _Rows) if _as_one(trial, group) is not None] if opened else []
    open_norms(graph, {name for name, nodes in opened.items() if any(set(nodes) < each for each in whole)})
